/* SPDX-License-Identifier: Apache-2.0
 * A text as a file of the same name each time, since answers may say it. */
#ifndef WICK_TEST_NEAR_FILE_H
#define WICK_TEST_NEAR_FILE_H

#include <unistd.h>

#include "tests/hostile/hostile.h"

/* Until the next call. */
static inline const char *near_file(const wk_str *text) {
  enum { FILE = 199 };
  char path[64];
  int fd;
  feed_with_file(text, path, &fd);
  assert_int_equal(dup2(fd, FILE), FILE);
  close(fd);
  return "/proc/self/fd/199";
}

#endif
