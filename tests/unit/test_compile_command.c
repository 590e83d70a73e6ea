/* SPDX-License-Identifier: Apache-2.0
 * wick compile: how large what it wrote is, what the options of a package are, and that tables
 * stand apart. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "compiler/driver/text.h"
#include "tests/unit/command_output.h"

#define W(word) (char *)(word)
#define COMPILE(...) &wk_cmd_compile, WORDS(W("compile"), W("--cpu=x86-64"), __VA_ARGS__)

static int make_models(void **state) {
  if (enter_folder(state)) return -1;
  put_file("one.onnxtxt",
           "ir_version: 8 opset_import { version: 17 } graph { name: \"g\"\n"
           "input { name: \"x\" type { tensor_type { elem_type: 1 shape { "
           "dim { dim_param: \"n\" } } } } }\n"
           "node { op_type: \"Relu\" name: \"relu\" input: \"x\" output: \"y\" }\n"
           "output { name: \"y\" type { tensor_type { elem_type: 1 } } } }\n");
  put_file("other.onnxtxt",
           "ir_version: 8 opset_import { version: 17 } graph { name: \"g\"\n"
           "input { name: \"x\" type { tensor_type { elem_type: 1 shape { "
           "dim { dim_value: 3 } } } } }\n"
           "node { op_type: \"Relu\" name: \"other\" input: \"x\" output: \"z\" }\n"
           "output { name: \"z\" type { tensor_type { elem_type: 1 } } } }\n");
  put_file("list.onnxtxt",
           "ir_version: 8 opset_import { version: 17 } graph { name: \"g\"\n"
           "input { name: \"x\" type { sequence_type { elem_type { tensor_type { elem_type: 1 "
           "shape { dim { dim_value: 2 } } } } } } }\n"
           "node { op_type: \"ConcatFromSequence\" name: \"all\" input: \"x\" output: \"y\" "
           "attribute { name: \"axis\" type: INT i: 0 } }\n"
           "output { name: \"y\" type { tensor_type { elem_type: 1 } } } }\n");
  return 0;
}

static char *printed(const wk_cmd *c, char *const *words) {
  wk_str out = {0};
  wk_status s = run_words(c, words, &out);
  if (s) fail_msg("%s: %s", words[0], s->message);
  wk_str_add(&out, "");
  return out.s;
}

/* ---- what was written ------------------------------------------------------------------------ */

/* Of several files their sum; of what keeps nothing there is no size. */
static void sizes_of_what_was_written(void **state) {
  (void)state;
  static const char *const files[] = {"b.o", "b.h", "b.weights"};
  int64_t sum = 0;
  char *said = printed(COMPILE(W("one.onnxtxt"), W("--bind=n=3"), W("--emit=bundle"), W("-o"),
                               W("b"), W("--report=r.json")));
  for (size_t i = 0; i < WK_COUNTOF(files); i++) {
    struct stat st;
    assert_int_equal(stat(files[i], &st), 0);
    sum += st.st_size;
  }
  json_t *report = json_load_file("r.json", 0, NULL);
  assert_int_equal(json_integer_value(json_object_get(report, "output_bytes")), sum);
  json_decref(report);
  char line[128];
  snprintf(line, sizeof line, "\noutput                b.o, b.h, b.weights, %s\n",
           wk_bytes_text((uint64_t)sum).s);
  assert_non_null(strstr(said, line));
  free(said);
  said = printed(COMPILE(W("one.onnxtxt"), W("--bind=n=3"), W("-o"), W("/dev/null"),
                         W("--report=r.json")));
  assert_null(strstr(said, "\noutput "));
  report = json_load_file("r.json", 0, NULL);
  assert_int_equal(json_integer_value(json_object_get(report, "output_bytes")), -1);
  json_decref(report);
  free(said);
}

/* ---- options --------------------------------------------------------------------------------- */

static void expect_row(const char *said, const char *key, const char *value) {
  char line[256];
  snprintf(line, sizeof line, "%-26s%s\n", key, value);
  if (!strstr(said, line)) fail_msg("there is no '%s' in\n%s", line, said);
}

/* All that the package depends on is one of its options; entries are named after bindings. */
static void options_of_packages(void **state) {
  (void)state;
  free(printed(COMPILE(W("list.onnxtxt"), W("-q"), W("-o"), W("p.wick"), W("--length=x=2"))));
  char *said = printed(&wk_cmd_inspect, WORDS(W("inspect"), W("p.wick")));
  expect_row(said, "options", "--cpu=x86-64 --length=x=2");
  expect_row(said, "entry 0", "x=2");
  free(said);
  free(printed(COMPILE(W("one.onnxtxt"), W("-q"), W("-o"), W("p.wick"), W("--bind=n=3"),
                       W("--shape=x=3"), W("--convert=f16"), W("--memory-budget=1MiB"))));
  said = printed(&wk_cmd_inspect, WORDS(W("inspect"), W("p.wick")));
  expect_row(said, "options", "--cpu=x86-64 --convert=f16 --memory-budget=1MiB --bind=n=3 "
             "--shape=x=3");
  expect_row(said, "entry 0", "n=3,x=3");
  free(said);
  free(printed(COMPILE(W("one.onnxtxt"), W("-q"), W("-o"), W("p.wick"), W("--bind=n=3"),
                       W("--bind=n=4"))));
  said = printed(&wk_cmd_inspect, WORDS(W("inspect"), W("p.wick")));
  expect_row(said, "entry 0", "n=3");
  expect_row(said, "entry 1", "n=4");
  free(said);
}

/* ---- packages and models --------------------------------------------------------------------- */

static void packages_of_other_models(void **state) {
  (void)state;
  free(printed(COMPILE(W("one.onnxtxt"), W("-q"), W("-o"), W("p.wick"), W("--bind=n=3"))));
  char *said = printed(&wk_cmd_compare, WORDS(W("compare"), W("one.onnxtxt"), W("--bind=n=3"),
                                              W("--package=p.wick")));
  assert_string_equal(said, "all 1 steps agree\n");
  free(said);
  expect_refused(&wk_cmd_compare, WORDS(W("compare"), W("other.onnxtxt"), W("--package=p.wick")),
                 WK_INPUT, "p.wick", "no step of the package leaves a tensor of the model's");
  expect_refused(&wk_cmd_compare, WORDS(W("compare"), W("one.onnxtxt"), W("--bind=n=4"),
                                        W("--package=p.wick")), WK_INPUT, "p.wick",
                 "no binding of the package has the inputs that the model has here");
}

/* ---- tables ---------------------------------------------------------------------------------- */

#define PARTS                                                               \
  "row 0: part 0 on cpu: 1 operator, 0 MACs, 24 bytes in and out\n"         \
  "    in  x f32[3]\n    out y f32[3]\n"                                    \
  "edges: 0 bytes of memory\n"

/* An empty line is between two tables, and behind none. */
static void tables_stand_apart(void **state) {
  (void)state;
  char *said = printed(COMPILE(W("one.onnxtxt"), W("--bind=n=3"), W("-q"), W("-o"), W("p.wick"),
                               W("--print-parts"), W("--print-integer")));
  assert_string_equal(said, "OPERATOR  ARITHMETIC  NODE  REASON\n" PARTS);
  free(said);
  said = printed(COMPILE(W("one.onnxtxt"), W("--bind=n=3"), W("-o"), W("p.wick"),
                         W("--print-parts"), W("--print-integer")));
  assert_ptr_equal(strstr(said, "OPERATOR  ARITHMETIC  NODE  REASON\n\n" PARTS "\nmodel "), said);
  free(said);
  said = printed(COMPILE(W("one.onnxtxt"), W("--bind=n=3"), W("-q"), W("-o"), W("p.wick"),
                         W("--time-passes")));
  assert_null(strstr(said, "\n\n"));
  assert_non_null(strstr(said, "  100.0\n"));
  free(said);
  said = printed(COMPILE(W("one.onnxtxt"), W("--bind=n=3"), W("-o"), W("p.wick"),
                         W("--time-passes")));
  assert_non_null(strstr(said, "  100.0\n\nmodel "));
  free(said);
}

/* What the report has of a step, in all of its runs and bindings. */
static double seconds_of(const json_t *report, const char *step) {
  json_t *binding, *row;
  size_t i, k;
  double sum = 0;
  if (!strcmp(step, "total")) return json_number_value(json_object_get(report, "seconds"));
  if (!strcmp(step, "output")) return json_number_value(json_object_get(report, "emit_seconds"));
  json_array_foreach(json_object_get(report, "bindings"), i, binding) {
    if (!strcmp(step, "import") || !strcmp(step, "pipeline")) {
      char key[32];
      snprintf(key, sizeof key, "%s_seconds", step);
      sum += json_number_value(json_object_get(binding, key));
    }
    json_array_foreach(json_object_get(binding, "steps"), k, row)
      if (!strcmp(json_string_value(json_object_get(row, "name")), step))
        sum += json_number_value(json_object_get(row, "seconds"));
  }
  return sum;
}

/* Steps of the table have the times of the report, and their parts of the whole. */
static void times_of_steps(void **state) {
  (void)state;
  char *save = NULL, *said = printed(COMPILE(W("one.onnxtxt"), W("--bind=n=3"), W("--bind=n=4"),
                                             W("-o"), W("p.wick"), W("--time-passes"),
                                             W("--report=r.json")));
  json_t *report = json_load_file("r.json", 0, NULL);
  double all = seconds_of(report, "total");
  size_t rows = 0;
  char line_of_all[160];
  snprintf(line_of_all, sizeof line_of_all,
           "  %s (import %s, passes %s, output %s)\n",
           wk_text_seconds(all).s, wk_text_seconds(seconds_of(report, "import")).s,
           wk_text_seconds(seconds_of(report, "pipeline")).s,
           wk_text_seconds(seconds_of(report, "output")).s);
  if (!strstr(said, line_of_all)) fail_msg("no %s in\n%s", line_of_all, said);
  for (char *line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    char step[64];
    long runs, changes;
    double ms, percent;
    if (sscanf(line, "%63s %ld %ld %lf %lf", step, &runs, &changes, &ms, &percent) != 5) continue;
    double seconds = seconds_of(report, step);
    if (fabs(ms - 1e3 * seconds) > 0.006 || fabs(percent - 100 * seconds / all) > 0.06)
      fail_msg("%s: %g s of %g s", line, seconds, all);
    assert_int_equal(runs % 2, strcmp(step, "output") && strcmp(step, "total") ? 0 : 1);
    rows++;
  }
  assert_true(rows > 20);
  json_decref(report);
  free(said);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_of_what_was_written),
                                     cmocka_unit_test(options_of_packages),
                                     cmocka_unit_test(packages_of_other_models),
                                     cmocka_unit_test(tables_stand_apart),
                                     cmocka_unit_test(times_of_steps)};
  return cmocka_run_group_tests(tests, make_models, leave_folder);
}
