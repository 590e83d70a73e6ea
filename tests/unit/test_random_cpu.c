/* SPDX-License-Identifier: Apache-2.0
 * The whole compiler against the evaluator: random graphs are compiled for this processor's
 * instruction sets in turn, loaded, run and compared. A failure prints the seed and the shrunk
 * graph.
 *   test_random_cpu [FIRST_SEED [COUNT]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pipeline/runner.h"
#include "targets/cpu/simd.h"
#include "tests/random_graph.h"

static uint64_t first_seed = 1, n_seeds = RANDOM_COUNT(240);

typedef struct {
  const char *cpu; /* NULL: the host */
  int64_t threads;
  wk_str text;     /* what went wrong last */
} setting;

static wk_status on_cpu(void *ctx, const wk_module *m, const wk_tensor *in, wk_tensor *out) {
  const setting *s = ctx;
  const wk_runner_options o = {.target = {.cpu = s->cpu}, .threads = s->threads,
                               .model_name = "random"};
  wk_runner *r = NULL;
  WK_TRY(wk_runner_of_module(wk_module_clone(m), &o, &r));
  wk_status st = wk_runner_run(r, in, out);
  wk_runner_free(r);
  return st;
}

/* random_check */
static bool differs(void *ctx, const wk_module *m) {
  setting *s = ctx;
  return random_differs(m, on_cpu, s, &s->text);
}

static void report(setting *s, const wk_module *m, uint64_t seed) {
  wk_str text = {0};
  wk_module *small = random_reduce(m, differs, s);
  differs(s, small);
  wk_module_print(&text, small, WK_PRINT_SHORT);
  print_error("seed %llu, %s, %d threads: %s\n%s\n", (unsigned long long)seed,
              s->cpu ? s->cpu : "host", (int)s->threads, s->text.s, text.s);
  wk_str_free(&text);
  wk_module_free(small);
}

static void test_random_graphs(void **state) {
  (void)state;
  static const char *const cpus[] = {NULL, "x86-64-v3", "x86-64"};
  int bad = 0;
  print_message("seeds %llu to %llu\n", (unsigned long long)first_seed,
                (unsigned long long)(first_seed + n_seeds - 1));
  for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
    const random_options o = {.nodes = 2 + (int)(seed % 5) * 5, .only = WK_OP_COUNT};
    wk_module *m = random_graph(seed, &o);
    setting s = {.cpu = cpus[seed % WK_COUNTOF(cpus)], .threads = 1 + (int64_t)(seed / 3 % 2)};
    if (m->main->outputs.n && differs(&s, m)) {
      report(&s, m, seed);
      bad++;
    }
    wk_str_free(&s.text);
    wk_module_free(m);
  }
  assert_int_equal(bad, 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_graphs)};
  if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) n_seeds = strtoull(argv[2], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
