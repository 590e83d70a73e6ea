/* SPDX-License-Identifier: Apache-2.0
 * What is written to standard output between two calls, by this process and its children. */
#ifndef WICK_TEST_CAPTURED_H
#define WICK_TEST_CAPTURED_H

#include <stdio.h>
#include <unistd.h>

#include "compiler/support/support.h"

typedef struct {
  FILE *file;
  int own;
} capture;

static inline capture capture_begin(void) {
  fflush(stdout);
  capture c = {tmpfile(), dup(STDOUT_FILENO)};
  assert_non_null(c.file);
  assert_int_equal(dup2(fileno(c.file), STDOUT_FILENO), STDOUT_FILENO);
  return c;
}

/* Appends it to out, which then ends in a zero, also when that is all. */
static inline void capture_end(capture *c, wk_str *out) {
  char buffer[4096];
  fflush(stdout);
  dup2(c->own, STDOUT_FILENO);
  close(c->own);
  rewind(c->file);
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, c->file));) wk_str_addn(out, buffer, n);
  wk_str_add(out, "");
  fclose(c->file);
}

#endif
