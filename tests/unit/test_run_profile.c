/* SPDX-License-Identifier: Apache-2.0
 * The table of `wick run --profile` for the evaluator, with a clock that says what the test wants:
 * times, parts of the whole, rates, and the sums of each operator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/run.h"
#include "tests/unit/captured.h"

/* ---- the clock ------------------------------------------------------------------------------- */

enum { NODES = 6 };

/* Microseconds of each node, run by run; between nodes another second goes by. */
static const double *nodes;
static size_t calls;
static double now;

/* Each node is between two calls, the first of which is that behind the node before. */
double wk_clock(void) {
  size_t of_run = calls++ % (2 * NODES + 1);
  now += of_run % 2 ? 1e-6 * *nodes++ : 1;
  return now;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char text[] =
    "module \"m\" {\n  graph @main(%x: f32[10,20], %w: f32[20,50]) {\n"
    "%a = matmul(%x, %w)\n%b = relu(%a)\n%c = transpose(%b) {perm=[1,0]}\n%d = matmul(%b, %c)\n"
    "%e = relu(%d)\n%f = neg(%e)\noutput %f\n  }\n}\n";

static char *profile(int64_t repeat, const double *times) {
  wk_module *m;
  wk_run_job job = {.arena = wk_arena_new()};
  const wk_runner_options ro = {.target = {.target = WK_TARGET_EVAL}};
  const wk_run_opts o = {.repeat = repeat, .profile = true};
  wk_tensor in[2], out[1] = {0};
  wk_rng rng = {1};
  wk_status s = wk_module_parse(text, "t", &m);
  if (s) fail_msg("%s", s->message);
  assert_null(wk_runner_of_module(m, &ro, &job.runner));
  for (size_t i = 0; i < 2; i++)
    assert_null(wk_tensor_random(wk_runner_input_type(job.runner, i), &rng, &in[i]));
  job.in = in;
  capture printed = capture_begin();
  calls = 0;
  nodes = times;
  s = wk_run_profile(&o, &job, out);
  wk_str shown = {0};
  capture_end(&printed, &shown);
  assert_null(s);
  for (size_t i = 0; i < 2; i++) wk_tensor_free(&in[i]);
  wk_tensor_free(&out[0]);
  wk_runner_free(job.runner);
  wk_arena_free(job.arena);
  return shown.s;
}

/* Means of the runs; operators by their time, of the same time by name. */
static void profiles(void **state) {
  (void)state;
  static const struct {
    const char *what;
    int64_t repeat;
    double times[2 * NODES];
    const char *text;
  } cases[] = {
      {"one run", 1, {4, 1, 2, 9, 3, 2},
       "   MS      %  GFLOP/S  OP         NODE  OPERANDS\n"
       "0.004   19.0      5.0  matmul           f32[10,50]\n"
       "0.001    4.8        -  relu             f32[10,50]\n"
       "0.002    9.5        -  transpose        f32[50,10]\n"
       "0.009   42.9      1.1  matmul           f32[10,10]\n"
       "0.003   14.3        -  relu             f32[10,10]\n"
       "0.002    9.5        -  neg              f32[10,10]\n"
       "0.013   61.9      2.3  matmul     all\n"
       "0.004   19.0        -  relu       all\n"
       "0.002    9.5        -  neg        all\n"
       "0.002    9.5        -  transpose  all\n"
       "0.021  100.0           total\n"
       "\n"},
      {"two runs", 2, {4, 1, 2, 9, 3, 2, 8, 3, 4, 17, 5, 4},
       "   MS      %  GFLOP/S  OP         NODE  OPERANDS\n"
       "0.006   19.4      3.3  matmul           f32[10,50]\n"
       "0.002    6.5        -  relu             f32[10,50]\n"
       "0.003    9.7        -  transpose        f32[50,10]\n"
       "0.013   41.9      0.8  matmul           f32[10,10]\n"
       "0.004   12.9        -  relu             f32[10,10]\n"
       "0.003    9.7        -  neg              f32[10,10]\n"
       "0.019   61.3      1.6  matmul     all\n"
       "0.006   19.4        -  relu       all\n"
       "0.003    9.7        -  neg        all\n"
       "0.003    9.7        -  transpose  all\n"
       "0.031  100.0           total\n"
       "\n"},
      {"no time at all", 1, {0, 0, 0, 0, 0, 0},
       "   MS      %  GFLOP/S  OP         NODE  OPERANDS\n"
       "0.000    0.0        -  matmul           f32[10,50]\n"
       "0.000    0.0        -  relu             f32[10,50]\n"
       "0.000    0.0        -  transpose        f32[50,10]\n"
       "0.000    0.0        -  matmul           f32[10,10]\n"
       "0.000    0.0        -  relu             f32[10,10]\n"
       "0.000    0.0        -  neg              f32[10,10]\n"
       "0.000    0.0        -  matmul     all\n"
       "0.000    0.0        -  neg        all\n"
       "0.000    0.0        -  relu       all\n"
       "0.000    0.0        -  transpose  all\n"
       "0.000  100.0           total\n"
       "\n"},
  };
  bool is_wrong = false;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    char *got = profile(cases[i].repeat, cases[i].times);
    if (strcmp(got, cases[i].text) != 0) {
      fprintf(stderr, "@@ %s\n%s@@ end\n", cases[i].what, got);
      is_wrong = true;
    }
    free(got);
  }
  assert_false(is_wrong);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(profiles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
