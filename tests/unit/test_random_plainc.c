/* SPDX-License-Identifier: Apache-2.0
 * Random graphs on the target of examples/target, what it does not take on the processor, against
 * the evaluator. A failure prints the seed and the shrunk graph.
 *   test_random_plainc [FIRST_SEED [COUNT]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pipeline/plugin.h"
#include "compiler/pipeline/runner.h"
#include "tests/random_graph.h"

static uint64_t first_seed = 1, n_seeds = 60;
static const char *files[] = {WICK_PLAINC, WICK_PLAINC_DEVICE};

static wk_status on_plainc(void *ctx, const wk_module *m, const wk_tensor *in, wk_tensor *out) {
  const wk_runner_options o = {.target = {.target = "plainc"}, .threads = 1,
                               .model_name = "random"};
  wk_runner *r = NULL;
  (void)ctx;
  WK_TRY(wk_runner_of_module(wk_module_clone(m), &o, &r));
  wk_status s = wk_runner_run(r, in, out);
  wk_runner_free(r);
  return s;
}

/* random_check */
static bool differs(void *ctx, const wk_module *m) {
  return random_differs(m, on_plainc, NULL, ctx);
}

static void test_random_graphs(void **state) {
  int bad = 0;
  (void)state;
  wk_status s = wk_plugins_load(&(wk_strings){.data = files, .n = 2});
  if (s) fail_msg("%s", s->message);
  for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
    const random_options o = {.nodes = 2 + (int)(seed % 5) * 5, .only = WK_OP_COUNT};
    wk_module *m = random_graph(seed, &o);
    wk_str text = {0};
    if (m->main->outputs.n && differs(&text, m)) {
      wk_str graph = {0};
      wk_module *small = random_reduce(m, differs, &text);
      differs(&text, small);
      wk_module_print(&graph, small, WK_PRINT_SHORT);
      print_error("seed %llu: %s\n%s\n", (unsigned long long)seed, text.s, graph.s);
      wk_str_free(&graph);
      wk_module_free(small);
      bad++;
    }
    wk_str_free(&text);
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
