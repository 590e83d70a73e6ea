/* SPDX-License-Identifier: Apache-2.0
 * wick run by the evaluator: least, most and mean of results, and the highest of those that look
 * like scores. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/command_output.h"


static const struct {
  int rows, columns;
  float values[12];
  const char *printed; /* behind the type */
} cases[] = {
    {1, 10, {0},
     "min 0 max 0 mean 0\n  top 0 (0), 1 (0), 2 (0), 3 (0), 4 (0)\n"},
    {10, 1, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
     "min 0 max 9 mean 4.5\n  top 0 (9), 1 (8), 2 (7), 3 (6), 4 (5)\n"},
    {1, 10, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
     "min 0 max 9 mean 4.5\n  top 9 (9), 8 (8), 7 (7), 6 (6), 5 (5)\n"},
    {1, 12, {3, 5, NAN, 5, -1, 3, 7, NAN, 3, 5, 3, 2},
     "min -1 max 7 mean 3.5 NaN 2\n  top 6 (7), 1 (5), 3 (5), 9 (5), 0 (3)\n"},
    {1, 11, {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 2, NAN},
     "min 2 max 2 mean 2 NaN 10\n  top 9 (2)\n"},
    {1, 10, {INFINITY, -INFINITY, 1},
     "min -inf max inf mean nan\n  top 0 (inf), 2 (1), 3 (0), 4 (0), 5 (0)\n"},
    {1, 9, {1, 2},
     "min 0 max 2 mean 0.333333\n"},
    {2, 5, {1, 2},
     "min 0 max 2 mean 0.3\n"},
    {2, 6, {1, -2, 4},
     "min -2 max 4 mean 0.25\n"},
};

static void what_is_said_of_results(void **state) {
  (void)state;
  put_file("net.onnxtxt",
           "ir_version: 8 opset_import { version: 17 } graph { name: \"g\"\n"
           "input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { dim_param: \"n\" } "
           "dim { dim_param: \"m\" } } } } }\n"
           "node { op_type: \"Identity\" input: \"x\" output: \"y\" }\n"
           "output { name: \"y\" type { tensor_type { elem_type: 1 } } } }\n");
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str out = {0};
    put_npy("x.npy", cases[i].rows, cases[i].columns, cases[i].values);
    assert_null(run_words(&wk_cmd_run, WORDS(W("run"), W("net.onnxtxt"), W("--target=eval"),
                                             W("--input=x=x.npy")), &out));
    const char *said = strstr(out.s, "] ");
    assert_non_null(said);
    assert_string_equal(said + 2, cases[i].printed);
    wk_str_free(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_said_of_results)};
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
