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

#include "cli/text.h"
#include "tests/unit/command_output.h"

#define COMPILE(...) &wk_cmd_compile, WORDS(W("compile"), W("--cpu=x86-64"), __VA_ARGS__)

static int make_models(void **state) {
  if (enter_folder(state)) return -1;
  put_file("one.onnxtxt",
           "ir_version: 8 opset_import { version: 17 } graph { name: \"g\"\n"
           "input { name: \"x\" type { tensor_type { elem_type: 1 shape { "
           "dim { dim_param: \"n\" } } } } }\n"
           "node { op_type: \"Relu\" name: \"relu\" input: \"x\" output: \"y\" }\n"
           "output { name: \"y\" type { tensor_type { elem_type: 1 } } } }\n");
  put_file("chain.onnxtxt",
           "ir_version: 8 opset_import { version: 17 } graph { name: \"g\"\n"
           "input { name: \"x\" type { tensor_type { elem_type: 1 shape { "
           "dim { dim_param: \"n\" } } } } }\n"
           "node { op_type: \"Identity\" name: \"a\" input: \"x\" output: \"y\" }\n"
           "node { op_type: \"Exp\" name: \"b\" input: \"y\" output: \"z\" }\n"
           "node { op_type: \"Sqrt\" name: \"c\" input: \"z\" output: \"u\" }\n"
           "output { name: \"u\" type { tensor_type { elem_type: 1 } } } }\n");
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

typedef struct {
  double seconds;
  int64_t runs, changes;
} step_sums;

/* What the report has of a step, of all bindings; of the import with the name "import". */
static step_sums sums_of(const json_t *report, const char *step) {
  json_t *binding, *row;
  size_t i, k;
  step_sums x = {0};
  json_array_foreach(json_object_get(report, "bindings"), i, binding) {
    char key[48];
    snprintf(key, sizeof key, "%s_seconds", step);
    json_t *whole = json_object_get(binding, key);
    if (whole) x.seconds += json_number_value(whole), x.runs++;
    json_array_foreach(json_object_get(binding, "steps"), k, row) {
      if (strcmp(json_string_value(json_object_get(row, "name")), step) != 0) continue;
      x.seconds += json_number_value(json_object_get(row, "seconds"));
      x.changes += json_integer_value(json_object_get(row, "changes"));
      x.runs++;
    }
  }
  if (x.runs) return x;
  x.runs = 1;
  x.seconds = json_number_value(json_object_get(report, !strcmp(step, "total") ? "seconds"
                                                                               : "emit_seconds"));
  return x;
}

/* Steps of the table have the times of the report, and their parts of the whole. */
static void times_of_steps(void **state) {
  (void)state;
  char *save = NULL, *said = printed(COMPILE(W("chain.onnxtxt"), W("--bind=n=3"), W("--bind=n=4"),
                                             W("-o"), W("p.wick"), W("--time-passes"),
                                             W("--report=r.json")));
  json_t *report = json_load_file("r.json", 0, NULL);
  double all = sums_of(report, "total").seconds;
  int64_t runs_of_all = 0, changes_of_all = 0;
  char summary[160], before[64] = "", words[64];
  snprintf(summary, sizeof summary, "  %s (import %s, passes %s, output %s)\n",
           wk_text_seconds(all).s, wk_text_seconds(sums_of(report, "import").seconds).s,
           wk_text_seconds(sums_of(report, "pipeline").seconds).s,
           wk_text_seconds(sums_of(report, "output").seconds).s);
  if (!strstr(said, summary)) fail_msg("no %s in\n%s", summary, said);
  assert_int_equal(sscanf(said, "STEP RUNS CHANGES MS %63s", words), 1);
  for (char *line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    char step[64];
    long long runs, changes;
    double ms, percent;
    if (sscanf(line, "%63s %lld %lld %lf %lf", step, &runs, &changes, &ms, &percent) != 5) continue;
    step_sums want = sums_of(report, step);
    if (!*before) assert_string_equal(step, "import");
    if (!strcmp(step, "total")) assert_string_equal(before, "output");
    if (fabs(ms - 1e3 * want.seconds) > 0.006 || fabs(percent - 100 * want.seconds / all) > 0.06 ||
        runs != want.runs || changes != want.changes)
      fail_msg("%s: %g s of %g s", line, want.seconds, all);
    snprintf(before, sizeof before, "%s", step);
    runs_of_all += runs;
    changes_of_all += changes;
  }
  assert_string_equal(before, "total");
  size_t steps = json_array_size(json_object_get(json_array_get(json_object_get(
      report, "bindings"), 0), "steps"));
  assert_int_equal(runs_of_all, 2 * (1 + steps) + 2);
  assert_true(changes_of_all > 0);
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
