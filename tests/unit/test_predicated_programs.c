/* SPDX-License-Identifier: Apache-2.0
 * Drawn graphs in which selects choose rows by predicates: the program that leaves out what these
 * do not want has the results of the graph, with all that it leaves out poisoned.
 *   test_predicated_programs [SEED [COUNT]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/middle.h"

enum { ROWS = 12, PREDICATES = 5 };

static struct { uint64_t first, count; } range = {1, 400};

static const char head[] =
    "module \"m\" { graph @main(%v0: f32[12,8], %v1: f32[12,8], %w0: f32[8,8], %w1: f32[8,8], "
    "%p0: bool[12], %q: bool[3,4,1], %n: i64[]) {\n"
    "  %i = constant i64[12] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}\n"
    "  %p1 = reshape(%q) {shape=[12]}\n"
    "  %p2 = map(%p0) {body=\"not(%0)\"}\n"
    "  %p3 = map(%p0, %p1) {body=\"and(%0, %1)\"}\n"
    "  %p4 = map(%i, %n) {body=\"lt(%0, %1)\"}\n"
    "  %m0 = reshape(%p0) {shape=[12,1]}\n  %m1 = reshape(%p1) {shape=[12,1]}\n"
    "  %m2 = reshape(%p2) {shape=[12,1]}\n  %m3 = reshape(%p3) {shape=[12,1]}\n"
    "  %m4 = reshape(%p4) {shape=[12,1]}\n";

/* Any value so far, the latest more often. */
static int pick(wk_rng *r, int n) {
  return wk_rng_range(r, 0, 2) ? n - 1 : (int)wk_rng_range(r, 0, n - 1);
}

/* Value n of [12,8] from those before it. */
static void draw_value(wk_rng *r, wk_str *b, int n) {
  int x = pick(r, n), y = pick(r, n);
  switch (wk_rng_range(r, 0, 8)) {
    case 0:
    case 1:
    case 2: wk_str_printf(b, "  %%v%d = matmul(%%v%d, %%w%d)\n", n, x, n % 2); return;
    case 3: wk_str_printf(b, "  %%v%d = map(%%v%d) {body=\"tanh(%%0)\"}\n", n, x); return;
    case 4:
      wk_str_printf(b, "  %%s%d = reduce(%%v%d) {axes=[1]}\n"
                    "  %%v%d = map(%%v%d, %%s%d) {body=\"add(%%0, mul(%%1, 0.1f32))\"}\n", n, x, n,
                    y, n);
      return;
    case 5:
      wk_str_printf(b, "  %%s%d = reduce(%%v%d) {axes=[0], kind=\"max\"}\n"
                    "  %%v%d = map(%%v%d, %%s%d) {body=\"add(%%0, mul(%%1, 0.1f32))\"}\n", n, x, n,
                    y, n);
      return;
    case 6:
      wk_str_printf(b, "  %%s%d = reshape(%%v%d) {shape=[3,4,8]}\n"
                    "  %%t%d = matmul(%%s%d, %%w0)\n"
                    "  %%u%d = map(%%q, %%t%d, %%s%d) {body=\"select(%%0, %%1, %%2)\"}\n"
                    "  %%v%d = reshape(%%u%d) {shape=[12,8]}\n", n, x, n, n, n, n, n, n, n);
      return;
    default:
      wk_str_printf(b, "  %%v%d = map(%%m%d, %%v%d, %%v%d) {body=\"select(%%0, %%1, %%2)\"}\n", n,
                    (int)wk_rng_range(r, 0, PREDICATES - 1), x, y);
  }
}

static wk_module *draw(uint64_t seed) {
  wk_rng r = {seed};
  wk_str b = {0};
  wk_module *m;
  int n = 2, most = 8 + (int)wk_rng_range(&r, 0, 8);
  wk_str_add(&b, head);
  while (n < most) draw_value(&r, &b, n++);
  wk_str_printf(&b, "  %%y = map(%%m%d, %%v%d, %%v0) {body=\"select(%%0, %%1, %%2)\"}\n"
                "  output %%y\n",
                (int)wk_rng_range(&r, 0, PREDICATES - 1), n - 1);
  wk_str_printf(&b, "  %%z = map(%%m%d, %%v%d) {body=\"select(%%0, %%1, 0.0f32)\"}\n"
                "  output %%z\n}}",
                (int)wk_rng_range(&r, 0, PREDICATES - 1), n - 2);
  wk_status s = wk_module_parse(b.s, "drawn", &m);
  if (s) fail_msg("%s\n%s", b.s, s->message);
  if (range.count == 1) fputs(b.s, stderr);
  wk_str_free(&b);
  return m;
}

/* Flags of all kinds: none, all, some; sizes from 0 on. */
static wk_tensor *inputs_of(const wk_graph *g, uint64_t seed) {
  wk_rng r = {seed + 7};
  wk_tensor *in = wk_xcalloc(g->inputs.n, sizeof *in);
  for (size_t i = 0; i < g->inputs.n; i++) {
    const wk_type *t = &wk_val(g, g->inputs.data[i])->type;
    int64_t share = wk_rng_range(&r, 0, 4);
    if (wk_tensor_alloc(t, &in[i])) fail();
    for (int64_t k = 0; k < wk_type_count(t); k++) {
      if (t->dtype == WK_BOOL)
        wk_store_i64(in[i].data, t->dtype, k, wk_rng_range(&r, 0, 3) < share);
      else if (t->dtype == WK_I64) wk_store_i64(in[i].data, t->dtype, k, wk_rng_range(&r, 0, ROWS));
      else wk_store_f64(in[i].data, t->dtype, k, (double)wk_rng_range(&r, -8, 8) / 8);
    }
  }
  return in;
}

static size_t count_lists(const wk_program *p) {
  wk_arena *scratch = wk_arena_new();
  wk_inst_pos *flat;
  size_t n = wk_program_flatten(p, scratch, &flat), lists = 0;
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < flat[i].inst->n_limits; k++)
      lists += wk_limit_has_rows(&flat[i].inst->limits[k]);
  wk_arena_free(scratch);
  return lists;
}

static void results_are_equal(void **state) {
  size_t with_lists = 0;
  (void)state;
  for (uint64_t seed = range.first; seed < range.first + range.count; seed++) {
    const middle_options o = {.passes = seed % 3 > 0, .order = seed % 2 == 0};
    wk_str why = {0};
    wk_program *p = NULL;
    wk_module *m = draw(seed);
    size_t n_in = m->main->inputs.n;
    wk_tensor *in = inputs_of(m->main, seed);
    if (!middle_agrees(m, in, &o, &p, &why))
      fail_msg("seed %llu: %s", (unsigned long long)seed, why.s);
    with_lists += count_lists(p) > 0;
    middle_free(in, n_in);
    wk_program_free(p);
    wk_module_free(m);
    wk_str_free(&why);
  }
  if (range.count > 1) assert_true(with_lists > range.count / 2);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_equal)};
  if (argc > 1) {
    range.first = strtoull(argv[1], NULL, 10);
    range.count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
