/* SPDX-License-Identifier: Apache-2.0
 * How many files this process has open: as many behind a test as before it. */
#ifndef WICK_TEST_OPEN_FILES_H
#define WICK_TEST_OPEN_FILES_H

#include <fcntl.h>

static inline int open_files(void) {
  enum { LOOKED_AT = 512 };
  int n = 0;
  for (int fd = 0; fd < LOOKED_AT; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

#endif
