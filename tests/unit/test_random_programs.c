/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs through the middle of the compiler: the graph, its lowering, the program after each
 * step and the placed program must agree.
 *   test_random_programs [SEED [COUNT]]   seeds from SEED on; prints graph and program of a failure
 *                                         when there is one seed only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/random_middle.h"
#include "tests/unit/middle.h"

static struct { uint64_t first, count; } range = {1, 2000};

static int node_count(uint64_t seed) { return 4 + (int)(seed % 41 < 36 ? seed % 12 : seed % 41); }

static void print_module(const wk_module *m) {
  wk_str s = {0};
  wk_module_print(&s, m, WK_PRINT_SHORT);
  fputs(s.s, stderr);
  wk_str_free(&s);
}

/* The program as generated, for looking at. */
static void print_program(uint64_t seed, const middle_options *o) {
  wk_module *m = random_middle_graph(seed, node_count(seed));
  wk_program *p = NULL;
  int64_t before, after;
  wk_status s = wk_lower_nodes(m, NULL, NULL);
  if (!s && o->passes) s = wk_passes_run(m, WK_STAGE_PRIMITIVE, NULL, NULL, NULL);
  if (!s) s = wk_layout_assign(m, o->channels_last);
  if (!s && o->order) s = wk_order_nodes(m, &before, &after);
  print_module(m);
  if (!s) s = wk_generate(m, 1, &p);
  for (size_t i = 0; !s && i < wk_inst_passes_count + 2; i++) {
    wk_str text = {0};
    wk_arena *scratch = wk_arena_new();
    int64_t changes = 0;
    wk_program_print(&text, p, WK_PRINT_SHORT);
    const wk_inst_pass *pass = middle_pass(i);
    fprintf(stderr, "---- before %s\n%s", pass ? pass->name : "end", text.s);
    if (pass) s = pass->run(p, scratch, &changes);
    wk_arena_free(scratch);
    wk_str_free(&text);
  }
  wk_status_free(s);
  wk_program_free(p);
  wk_module_free(m);
}

static void test_seeds(void **state) {
  (void)state;
  for (uint64_t seed = range.first; seed < range.first + range.count; seed++) {
    wk_str why = {0};
    middle_options o = {.channels_last = seed % 3 == 0, .order = seed % 2 == 0,
                        .passes = seed % 5 < 2,
                        .rtol = random_middle_is_coarse(seed) ? 1e30 : 1e-6};
    wk_module *m = random_middle_graph(seed, node_count(seed));
    wk_tensor *in = random_middle_inputs(m->main, seed);
    size_t n_in = m->main->inputs.n;
    if (range.count == 1) print_module(m);
    bool ok = middle_ok(wk_module_verify(m), "graph", &why) && middle_agrees(m, in, &o, NULL, &why);
    middle_free(in, n_in);
    wk_module_free(m);
    if (!ok && range.count == 1) print_program(seed, &o);
    if (!ok) fail_msg("seed %llu: %s", (unsigned long long)seed, why.s);
    wk_str_free(&why);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds)};
  if (argc > 1) {
    range.first = strtoull(argv[1], NULL, 10);
    range.count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
