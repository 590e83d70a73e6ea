/* SPDX-License-Identifier: Apache-2.0
 * What is said of an operator of Caffe2 that is refused, and what is taken just beside that. */
#include <unistd.h>

#include "tests/hostile/hostile.h"
#include "tests/unit/caffe2_net.h"

/* One operator: see caffe2_net.h. message: "" where it is taken. */
static const struct {
  const char *message, *type, *in, *out, *arguments;
} rows[] = {
#define MESSAGE(message, type, in, out, arguments) {message, type, in, out, arguments},
#include "tests/unit/caffe2_messages.def"
#undef MESSAGE
};

static wk_str import(size_t row) {
  caffe2_net net =
      caffe2_net_of(rows[row].type, rows[row].in, rows[row].out, rows[row].arguments);
  wk_str out = {0};
  wk_import_options o = {.shapes = net.shapes, .n_shapes = net.n_shapes};
  wk_import_report report;
  wk_module *m = NULL;
  char path[64];
  int fd;
  feed_with_file(&net.text, path, &fd);
  wk_status s = wk_net_import(path, &o, &report, &m);
  wk_str_add(&out, "");
  if (s) wk_str_printf(&out, "%s: %s", s->message, s->notes ? s->notes : "");
  wk_import_report_free(&report);
  wk_status_free(s);
  wk_module_free(m);
  close(fd);
  caffe2_net_free(&net);
  return out;
}

static void test_messages(void **state) {
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_str got = import(i);
    bool good = *rows[i].message ? strstr(got.s, rows[i].message) != NULL : !*got.s;
    if (!good)
      print_error("%s %s {%s}\n  is '%s', not '%s'\n", rows[i].type, rows[i].in,
                  rows[i].arguments, got.s, rows[i].message);
    bad += !good;
    wk_str_free(&got);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
