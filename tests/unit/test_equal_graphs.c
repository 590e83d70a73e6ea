/* SPDX-License-Identifier: Apache-2.0
 * Equal graphs cost the same: networks that are written in several ways (tests/random_rewritings)
 * take as many cycles on the accelerator, by its schedule model, as in the form that takes least,
 * and nothing of one falls to the host that in another does not. Prints the worst pair of each
 * rewriting.
 *   test_equal_graphs [FIRST_SEED [COUNT [NAME]]]   10 draws of each in every run; NAME: of one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/targets.h"
#include "tests/random_rewritings.h"

static uint64_t first_seed = 1, n_seeds = 10;
static const char *only, *effort = "1";
static char package_file[] = "/tmp/wick-equal-XXXXXX";

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
                               .settings = WK_SETTINGS({"effort", effort})};
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
    wk_module *m = random_rewritten(which, form, seed);
    if (getenv("DUMP")) { wk_str b = {0}; wk_module_print(&b, m, WK_PRINT_SHORT); printf("%s", b.s); wk_str_free(&b); }
    cost y = cost_of(m);
    if (getenv("DUMP")) { wk_str b = {0}; wk_module_print(&b, m, WK_PRINT_SHORT); printf("after:\n%s", b.s); wk_str_free(&b); }
    wk_module_free(m);
    if (only)
      print_message("  seed %llu %-24s %lld cycles, %lld operators on the host\n",
                    (unsigned long long)seed, of->forms[form], (long long)y.cycles,
                    (long long)y.refused);
    if (!form || y.cycles < x.of_least.cycles) x.least = form, x.of_least = y;
    if (!form || y.cycles > x.of_most.cycles) x.most = form, x.of_most = y;
  }
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
    print_message("%-18s %6.2f %% of %.0f %s seed %llu: %s %lld cycles, %s %lld cycles\n", of->name,
                  100 * w.excess, 100 * of->bound, is_bad ? "FAR" : "   ",
                  (unsigned long long)w.seed, of->forms[w.least], (long long)w.of_least.cycles,
                  of->forms[w.most], (long long)w.of_most.cycles);
  }
  assert_int_equal(bad, 0);
}

static int setup(void **state) {
  (void)state;
  int fd = mkstemp(package_file);
  return fd < 0 || close(fd);
}

static int teardown(void **state) {
  (void)state;
  return unlink(package_file);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(forms_cost_the_same)};
  if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) n_seeds = strtoull(argv[2], NULL, 10);
  if (argc > 3) only = argv[3];
  if (getenv("E")) effort = getenv("E");
  return cmocka_run_group_tests(tests, setup, teardown);
}
