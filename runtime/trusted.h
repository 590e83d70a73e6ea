/* SPDX-License-Identifier: Apache-2.0
 * trusted: files that become code (the caches of compiled programs and of cycle models) must be
 * nobody else's. Private to Wick. */
#ifndef WICK_TRUSTED_H
#define WICK_TRUSTED_H

#include <stddef.h>

/* Why an open file or folder may hold what somebody else wrote: it belongs to another user (root
 * is none), or its group or everybody may write it. NULL: it may not. Static storage. */
const char *wick_untrusted(int fd);

/* Opens a folder (flags: O_DIRECTORY) or a file as open(2) does, but follows no link at its end,
 * and refuses what wick_untrusted does. -1: *why says why not, or is NULL and errno does. */
int wick_open_trusted(const char *path, int flags, const char **why);

/* The folder of caches, $WICK_CACHE, else $XDG_CACHE_HOME/wick, else ~/.cache/wick, and the folder
 * `sub` of it (NULL: none), whose path it writes. Both are made, and refused if they are links or
 * wick_untrusted. NULL: it is there and ours alone. Otherwise what is wrong, static storage, with
 * *reason as of errno or 0, and in `path` with which of the two; "": no variable names one. */
const char *wick_cache_folder(const char *sub, char *path, size_t size, int *reason);

#endif
