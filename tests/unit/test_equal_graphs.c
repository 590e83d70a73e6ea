/* SPDX-License-Identifier: Apache-2.0
 * Equal graphs cost the same: networks that are written in several ways (tests/random_rewritings)
 * take as many cycles on the accelerator, by its schedule model, as in the form that takes least,
 * and no form has more on the host than another. Prints the worst pair of each rewriting. The first
 * draws are run on the functional model, too, and compute what the evaluator does.
 *   test_equal_graphs [FIRST_SEED [COUNT [NAME]]]   10 draws of each in every run; NAME: of one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/integer/integer.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"
#include "tests/random_rewritings.h"
#include "tests/unit/accel_package.h"

enum { RUN_SEEDS = 2 };
static uint64_t first_seed = 1, n_seeds = RANDOM_COUNT(10);
static const char *only;

/* What a graph became. */
typedef struct {
  int64_t cycles, macs, refused; /* of the accelerator; operators that are left to the host */
} cost;

static cost cost_of(wk_module *m) {
  wk_targets t;
  wk_parts *parts = NULL;
  wk_pipeline_report report = {0};
  wk_emit_result result = {.scratch_bytes = -1};
  cost y = {0};
  const wk_target_args args = {.target = "accel:base", .cpu = "avx2",
                               .settings = WK_SETTINGS({"effort", "1"})};
  wk_status s = wk_targets_open(&args, &t);
  if (!s) s = wk_pipeline_run(m, &(wk_pipeline_options){.targets = &t}, &report, &parts);
  if (!s)
    s = wk_emit_package(&t, &(wk_emit_entry){"", parts}, 1,
                        &(wk_emit_options){.model_name = "equal", .command = ""}, package_file,
                        &result);
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
  y.cycles = result.predicted_cycles;
  for (size_t i = 0; i < parts->parts.n; i++) {
    const wk_part *p = &parts->parts.data[i];
    if (!strcmp(p->instance->target->name, "accel")) y.macs += p->macs;
  }
  y.refused = (int64_t)parts->reasons.n;
  for (size_t i = 0; only && i < parts->reasons.n; i++)
    print_message("    %s %s: %s\n", parts->reasons.data[i].op, parts->reasons.data[i].node,
                  parts->reasons.data[i].reason);
  wk_parts_free(parts);
  wk_pipeline_report_free(&report);
  wk_targets_close(&t);
  return y;
}

/* The package in package_file computes what the evaluator computes of the integers of m. */
static void check_results(const wk_module *m, const char *name, const char *form) {
  int64_t changes;
  wk_module *integers = wk_module_clone(m);
  const wk_graph *g = integers->main;
  wk_tensor want = {0}, got = {0};
  wk_str why = {0};
  wk_status s = wk_integer_convert(integers, &changes);
  wk_tensor *in = random_integer_inputs(g, 1);
  if (!s) s = wk_eval_graph(g, in, &want, NULL, NULL);
  if (!s) s = accel_run(package_file, g, in, &got);
  if (s) fail_msg("%s, %s: %s", name, form, s->message);
  if (!random_same(g, &got, &want, &why)) fail_msg("%s, %s: %s", name, form, why.s);
  random_tensors_free(in, g->inputs.n);
  wk_tensor_free(&want);
  wk_tensor_free(&got);
  wk_module_free(integers);
}

/* Of all draws of a rewriting, the one whose dearest form is the farthest from its cheapest one. */
typedef struct {
  double excess;
  uint64_t seed;
  int least, most;
  cost of_least, of_most;
} worst;

static void check_seed(size_t which, const random_rewriting *of, uint64_t seed, worst *w) {
  worst x = {.seed = seed};
  for (int form = 0; of->forms[form]; form++) {
    wk_module *m = random_rewritten(which, form, seed), *was = wk_module_clone(m);
    cost y = cost_of(m);
    if (seed < first_seed + RUN_SEEDS) check_results(was, of->name, of->forms[form]);
    wk_module_free(was);
    wk_module_free(m);
    if (only)
      print_message("  seed %llu %-24s %lld cycles, %lld operators on the host\n",
                    (unsigned long long)seed, of->forms[form], (long long)y.cycles,
                    (long long)y.refused);
    if (!form || y.cycles < x.of_least.cycles) x.least = form, x.of_least = y;
    if (!form || y.cycles > x.of_most.cycles) x.most = form, x.of_most = y;
  }
  if (x.of_least.refused != x.of_most.refused)
    fail_msg("%s, seed %llu: %lld operators on the host, %lld", of->name, (unsigned long long)seed,
             (long long)x.of_least.refused, (long long)x.of_most.refused);
  x.excess = (double)x.of_most.cycles / (double)x.of_least.cycles - 1;
  if (x.excess >= w->excess) *w = x;
}

static void forms_cost_the_same(void **state) {
  int bad = 0;
  (void)state;
  for (size_t i = 0; random_rewriting_at(i); i++) {
    const random_rewriting *of = random_rewriting_at(i);
    worst w = {.excess = -1};
    if (only && strcmp(only, of->name) != 0) continue;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++)
      check_seed(i, of, seed, &w);
    bool is_bad = w.excess > of->bound;
    bad += is_bad;
    print_message("%-18s %6.2f %%%s, at most %.0f%s%s; seed %llu: %s %lld cycles, %s %lld cycles\n",
                  of->name, 100 * w.excess, is_bad ? " FAR" : "", 100 * of->bound,
                  of->why ? ", as " : "", of->why ? of->why : "", (unsigned long long)w.seed,
                  of->forms[w.least], (long long)w.of_least.cycles, of->forms[w.most],
                  (long long)w.of_most.cycles);
  }
  assert_int_equal(bad, 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(forms_cost_the_same)};
  if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) n_seeds = strtoull(argv[2], NULL, 10);
  if (argc > 3) only = argv[3];
  return cmocka_run_group_tests(tests, open_package_file, remove_package_file);
}
