/* SPDX-License-Identifier: Apache-2.0
 * remove_folder: a folder that a test has made, with all that is in it. */
#ifndef WICK_TESTS_UNIT_REMOVE_FOLDER_H
#define WICK_TESTS_UNIT_REMOVE_FOLDER_H

#include <ftw.h>
#include <stdio.h>

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *f) {
  (void)s, (void)kind, (void)f;
  return remove(path);
}

/* 0, or what nftw gives. */
static inline int remove_folder(const char *path) {
  return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
