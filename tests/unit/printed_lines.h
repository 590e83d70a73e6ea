/* SPDX-License-Identifier: Apache-2.0
 * Long texts that are compared whole, line by line, with C strings in a .def, and printed so. */
#ifndef WICK_TEST_PRINTED_LINES_H
#define WICK_TEST_PRINTED_LINES_H

#include <stdio.h>
#include <string.h>

#include "compiler/support/support.h"

/* What comes out has these lines, and no more. */
static inline void expect_lines(wk_str *b, const char *const *wanted, size_t n_wanted) {
  size_t n = 0;
  for (char *at = b->s, *end; *at; at = end + 1, n++) {
    end = strchr(at, '\n');
    *end = 0;
    if (n == n_wanted) fail_msg("more than is wanted: %s", at);
    if (strcmp(at, wanted[n]) != 0) fail_msg("line %zu:\n%s\nnot\n%s", n, at, wanted[n]);
  }
  if (n != n_wanted) fail_msg("%zu lines, and no more: %s", n, wanted[n]);
  wk_str_free(b);
}

/* The .def; strings are cut so that none is too long for a line. */
static inline int print_lines(wk_str *b, const char *what) {
  printf("/* SPDX-License-Identifier: Apache-2.0\n * What %s, line by line. */\n", what);
  for (const char *at = b->s; *at; at++) {
    printf("\"");
    for (int n = 1; *at != '\n'; at++, n++) {
      if (n > 88 && (*at & 0xc0) != 0x80) n = (printf("\"\n    \""), 5);
      printf(*at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    }
    puts("\",");
  }
  wk_str_free(b);
  return 0;
}

#endif
