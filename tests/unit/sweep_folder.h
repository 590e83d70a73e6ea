/* SPDX-License-Identifier: Apache-2.0
 * For tests of sweeps and searches: models of one operator, and the files of FOLDER/out. */
#ifndef WICK_TEST_SWEEP_FOLDER_H
#define WICK_TEST_SWEEP_FOLDER_H

#include <stdio.h>
#include <string.h>

#include "compiler/zoo/builder.h"

/* y = relu(x) of n numbers, 1 or 2; the file's path, until the next one of as many. */
/* y = relu(x) of n numbers. */
static inline const char *relu_model(const char *folder, const char *name, int n) {
  static char path[2][64];
  const int64_t dims[] = {1, n};
  wk_module *m;
  wick_builder *b = wick_builder_new(name, 1);
  wick_output(b, "y", wick_relu(b, wick_input(b, "x", WK_F32, 2, dims)));
  assert_null(wick_builder_finish(b, &m));
  snprintf(path[n - 1], sizeof *path, "%s/%s.onnx", folder, n == 1 ? "one" : "two<&>");
  assert_null(wk_export_onnx(m, path[n - 1]));
  wk_module_free(m);
  return path[n - 1];
}

/* The lines of a file, of a page those behind its style; each by add_line. */
static inline void add_written(wk_str *b, const char *folder, const char *name,
                               void (*add_line)(wk_str *b, const char *at, size_t n,
                                                const void *context),
                               const void *context) {
  char path[80];
  wk_file f;
  snprintf(path, sizeof path, "%s/out/%s", folder, name);
  assert_null(wk_file_map(path, &f));
  wk_str_printf(b, "---- %s\n", name);
  const char *text = (const char *)f.data, *end = text + f.size, *body = strstr(text, "<h1>");
  for (const char *at = body ? body : text, *next; at < end; at = next) {
    next = memchr(at, '\n', (size_t)(end - at));
    next = next ? next + 1 : end;
    add_line(b, at, (size_t)(next - at), context);
  }
  if (end > text && end[-1] != '\n') wk_str_add(b, "\n");
  wk_file_unmap(&f);
}

#endif
