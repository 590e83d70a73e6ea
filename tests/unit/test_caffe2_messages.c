/* SPDX-License-Identifier: Apache-2.0
 * What is said of an operator of Caffe2 that is refused, and what is taken just beside that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/caffe2/caffe2.h"
#include "tests/hostile/hostile.h"

/* One operator: inputs as "x=1x3x8x8 w=4x3x3x3", outputs as "y z", arguments as
 * kernel=3 pads=[1,2] scale=0.5 mode="edge". message: "" where it is taken. */
static const struct {
  const char *message, *type, *in, *out, *arguments;
} rows[] = {
#define MESSAGE(message, type, in, out, arguments) {message, type, in, out, arguments},
#include "tests/unit/caffe2_messages.def"
#undef MESSAGE
};

enum { MAX_INPUTS = 8 };

/* The next word; NULL: there is none. */
static char *word(char **p) {
  char *s = strsep(p, " ");
  return s && *s ? s : NULL;
}

static void add_argument(wk_str *s, char *argument) {
  char *value = strchr(argument, '=');
  assert_non_null(value);
  *value++ = 0;
  bool is_list = *value == '[', is_text = strchr(value, '"') != NULL;
  const char *kind = is_text ? "s" : strchr(value, '.') ? "f" : "i";
  const char *field = !is_list ? kind : is_text ? "strings" : *kind == 'f' ? "floats" : "ints";
  wk_str_printf(s, "arg { name: \"%s\" %s: %s } ", argument, field, value);
}

static void add_shape(wk_bind_shape *s, char *input) {
  char *dims = strchr(input, '=');
  assert_non_null(dims);
  *dims++ = 0;
  *s = (wk_bind_shape){.input = input};
  for (; *dims; dims += *dims == 'x') s->dims[s->rank++] = strtoll(dims, &dims, 10);
}

static wk_str import(size_t row) {
  wk_str net = {0}, out = {0};
  wk_bind_shape shapes[MAX_INPUTS];
  wk_import_options o = {.shapes = shapes};
  wk_import_report report;
  wk_module *m = NULL;
  char *in = strdup(rows[row].in), *results = strdup(rows[row].out),
       *arguments = strdup(rows[row].arguments), *p = in, *w, path[64];
  int fd;
  wk_str_printf(&net, "op { type: \"%s\" ", rows[row].type);
  while ((w = word(&p))) {
    assert_true(o.n_shapes < MAX_INPUTS);
    add_shape(&shapes[o.n_shapes++], w);
    wk_str_printf(&net, "input: \"%s\" ", w);
  }
  for (p = results; (w = word(&p));) wk_str_printf(&net, "output: \"%s\" ", w);
  for (p = arguments; (w = word(&p));) add_argument(&net, w);
  wk_str_printf(&net, "}\nexternal_output: \"%s\"\n", results);
  if (!o.n_shapes) /* a net does not only fill */
    wk_str_printf(&net, "op { type: \"Copy\" input: \"%s\" output: \"copy\" }\n", results);
  feed_with_file(&net, path, &fd);
  wk_status s = wk_net_import(path, &o, &report, &m);
  wk_str_add(&out, "");
  if (s) wk_str_printf(&out, "%s: %s", s->message, s->notes ? s->notes : "");
  wk_import_report_free(&report);
  wk_status_free(s);
  wk_module_free(m);
  close(fd);
  wk_str_free(&net);
  free(in);
  free(results);
  free(arguments);
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
