/* SPDX-License-Identifier: Apache-2.0
 * For tests of whole commands: what one prints and says, in this process; files of a folder. */
#ifndef WICK_TEST_COMMAND_OUTPUT_H
#define WICK_TEST_COMMAND_OUTPUT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "compiler/onnx/onnx.h"
#include "tests/unit/captured.h"

/* A folder of the test's own, which becomes the current one. */
static char command_folder[] = "/tmp/wick-command-XXXXXX";

static inline int enter_folder(void **state) {
  (void)state;
  return mkdtemp(command_folder) ? chdir(command_folder) : -1;
}

static inline int leave_folder(void **state) {
  char command[64];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", command_folder);
  return chdir("/") || system(command);
}

static inline void put_file(const char *path, const char *text) {
  assert_null(wk_write_file(path, text, strlen(text)));
}

/* A matrix, as NumPy stores it. */
static inline void put_npy(const char *path, int rows, int columns, const float *values) {
  const wk_tensor t = {wk_type_make(WK_F32, 2, (const int64_t[]){rows, columns}), (void *)values};
  assert_null(wk_tensor_write_npy(path, &t));
}

/* The file's text, for free(). */
static inline char *file_text(const char *path) {
  wk_file f;
  assert_null(wk_file_map(path, &f));
  wk_str b = {0};
  wk_str_addn(&b, (const char *)f.data, f.size);
  wk_file_unmap(&f);
  return b.s;
}

/* The words begin with the command's name and end with NULL. What goes to standard output is
 * appended to out. */
static inline wk_status run_words(const wk_cmd *c, char *const *words, wk_str *out) {
  int n = 0;
  wk_strings args = {0};
  bool wants_help;
  void *values = wk_xcalloc(1, c->size);
  while (words[n]) n++;
  if (c->defaults) memcpy(values, c->defaults, c->size);
  capture printed = capture_begin();
  wk_status s = wk_options_parse(&c->command, n, (char **)words, values, &args, &wants_help);
  if (!s) s = c->run(values, &args);
  capture_end(&printed, out);
  wk_options_free(&c->command, values);
  wk_vec_free(&args);
  free(values);
  return s;
}
#define W(word) (char *)(word)
#define WORDS(...) ((char *const[]){__VA_ARGS__, NULL})

/* The command succeeds and prints this. */
static inline void expect_printed(const wk_cmd *c, char *const *words, const char *wanted) {
  wk_str out = {0};
  wk_status s = run_words(c, words, &out);
  if (s) fail_msg("%s: %s", words[0], s->message);
  if (strcmp(out.s, wanted) != 0) {
    fputs(out.s, stderr);
    fail_msg("%s prints this", words[0]);
  }
  wk_str_free(&out);
}

/* The command prints nothing and ends with this; place: NULL says that there is none. */
static inline void expect_refused(const wk_cmd *c, char *const *words, wk_code code,
                                  const char *place, const char *message) {
  wk_str out = {0};
  wk_status s = run_words(c, words, &out);
  if (!s) fail_msg("%s: is not refused: %s", words[0], message);
  assert_string_equal(s->message, message);
  assert_string_equal(s->place ? s->place : "", place ? place : "");
  assert_int_equal(s->code, code);
  assert_int_equal(out.n, 0);
  wk_status_free(s);
  wk_str_free(&out);
}

#endif
