/* SPDX-License-Identifier: Apache-2.0
 * The files that a command reads and writes. None that is written may take the
 * place of another one, and all can be written: what a slip of the keyboard forbids shall not cost
 * the work. */
#ifndef WICK_CLI_PATHS_H
#define WICK_CLI_PATHS_H

#include "compiler/support/options.h"

typedef struct wk_path_use wk_path_use;
typedef struct {
  WK_VEC(wk_path_use) uses;
  wk_strings files, folders; /* that are written */
} wk_paths;

/* what: the option ("--report"), or a name for what has none ("the model"). Texts are borrowed
 * until the check. A path that is NULL counts as none, and so does what is no regular file, what is
 * read and does not exist, and "-" for what is written. */
void wk_paths_read(wk_paths *p, const char *what, const char *path);
void wk_paths_write(wk_paths *p, const char *what, const char *path);
/* A folder that is made if there is none, and a file in it. */
void wk_paths_folder(wk_paths *p, const char *folder);
void wk_paths_write_in(wk_paths *p, const char *what, const char *path);
/* The FILE of every "NAME=FILE", as --value has them. */
void wk_paths_read_named(wk_paths *p, const char *what, const wk_strings *args);

/* WK_USAGE when a file that is written is also read, or written under another `what`: whatever
 * links and folders the paths go through, and whether the file exists or not. Then WK_IO when one
 * of them, or a folder, could not be written now; nothing is left of the attempt. Frees p's memory,
 * without which p is as new. */
wk_status wk_paths_check(wk_paths *p) WK_MUST_CHECK;

#endif
