/* SPDX-License-Identifier: Apache-2.0
 * Weights that become whole numbers in blocks: how far off they are, products of all shapes with
 * them, and what is shared. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/lower/lower.h"

static uint32_t seed;

/* -1 to 1, in 16 bits. */
static double draw(void) {
  seed = seed * 1664525u + 1013904223u;
  return (double)(int16_t)(seed >> 16) / 32768;
}

static void must(wk_status s) {
  if (s) fail_msg("%s", s->message);
}

typedef struct {
  int64_t rows, k, n, block;
  int bits;
  wk_dtype dtype;
  bool is_turned; /* the constant is [n, k] */
} shape;

/* x [rows, k] times a constant, which `fill` gives element (k, n) of. */
static wk_module *product(const shape *s, double (*fill)(int64_t k, int64_t n)) {
  wk_module *m = wk_module_new("m");
  wk_graph *g = wk_graph_new(m, "main");
  const int64_t dims[] = {s->rows, s->k}, plain[] = {s->k, s->n}, turned[] = {s->n, s->k};
  const wk_type x = wk_type_make(s->dtype, 2, dims);
  const wk_type w = wk_type_make(s->dtype, 2, s->is_turned ? turned : plain);
  wk_value_id a = wk_graph_input(g, "x", &x), b;
  void *data;
  must(wk_graph_constant_alloc(g, "w", &w, &b, &data));
  for (int64_t i = 0; i < s->k; i++)
    for (int64_t j = 0; j < s->n; j++)
      wk_store_f64(data, s->dtype, s->is_turned ? j * s->k + i : i * s->n + j, fill(i, j));
  if (s->is_turned) {
    wk_attr_transpose *t = wk_attrs_new(m->arena, WK_OP_TRANSPOSE);
    t->perm = wk_ints_dup(m->arena, (const int64_t[]){1, 0}, 2);
    b = wk_build(g, WK_OP_TRANSPOSE, t, 1, b);
  }
  wk_graph_output(g, "y", wk_build(g, WK_OP_MATMUL, NULL, 2, a, b));
  return m;
}

static wk_tensor run(const wk_module *m) {
  wk_tensor x, y;
  must(wk_tensor_alloc(&wk_val(m->main, m->main->inputs.data[0])->type, &x));
  seed = 1;
  for (int64_t i = 0; i < wk_type_count(&x.type); i++)
    wk_store_f64(x.data, x.type.dtype, i, draw());
  must(wk_eval_graph(m->main, &x, &y, NULL, NULL));
  wk_tensor_free(&x);
  return y;
}

/* Root of the sum of squares of the difference, by that of what is wanted. */
static double distance(const wk_tensor *got, const wk_tensor *want) {
  double error = 0, all = 0;
  assert_true(wk_type_equal(&got->type, &want->type));
  for (int64_t i = 0; i < wk_type_count(&want->type); i++) {
    double x = wk_load_f64(want->data, want->type.dtype, i);
    double d = wk_load_f64(got->data, got->type.dtype, i) - x;
    error += d * d;
    all += x * x;
  }
  return sqrt(error / all);
}

/* How far the results move; *lost: what the report says that the weights did. */
static double moved(const shape *s, double (*fill)(int64_t, int64_t), double *lost) {
  wk_module *m = product(s, fill);
  wk_block_report r = {0};
  int64_t changes = 0;
  wk_tensor want = run(m);
  must(wk_convert_blocks(m, s->bits, s->block, &r, &changes));
  must(wk_module_verify(m));
  assert_int_equal(changes, 1);
  assert_int_equal(r.products, 1);
  assert_int_equal(r.rows.n, 1);
  assert_true(r.bytes <= r.was * 3 / 4);
  wk_tensor got = run(m);
  double d = distance(&got, &want);
  *lost = r.error;
  wk_tensor_free(&got);
  wk_tensor_free(&want);
  wk_block_report_free(&r);
  wk_module_free(m);
  return d;
}

static const shape shapes[] = {
    {1, 256, 64, 32, 4, WK_F32, false},   {1, 300, 100, 32, 4, WK_F32, false},
    {3, 257, 65, 128, 4, WK_F32, true},   {16, 128, 129, 16, 4, WK_F32, false},
    {17, 128, 129, 16, 4, WK_F32, true},  {40, 4100, 600, 64, 4, WK_F32, false},
    {1, 256, 64, 32, 8, WK_F32, true},    {2, 1000, 17, 128, 8, WK_F32, false},
    {33, 300, 100, 64, 8, WK_F32, false}, {1, 300, 100, 32, 4, WK_F16, false},
    {20, 300, 100, 32, 4, WK_BF16, true}, {5, 300, 100, 32, 8, WK_F16, true},
};

static double any(int64_t k, int64_t n) {
  (void)k, (void)n;
  return draw();
}

/* Steps of 4 bits are 0.53 to 0.6 thirds of an eighth of the largest: uniform floats have that much
 * of their size; with weights that are off by so much, results are. */
static void errors(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(shapes); i++) {
    const shape *s = &shapes[i];
    double lost, most = s->bits == 4 ? 0.08 : 0.005, least = s->bits == 4 ? 0.05 : 0.003;
    seed = 7 + (uint32_t)i;
    double d = moved(s, any, &lost);
    if (!(lost > least && lost < most && d > lost / 2 && d < lost * 2))
      fail_msg("shape %zu: weights lose %g, results move by %g", i, lost, d);
  }
}

/* Whole numbers of which each block has the least; by powers of two, which differ by column. */
static double whole(int64_t k, int64_t n) {
  int64_t x = k % 16 == 0 ? -8 : (k * 5 + n * 3) % 16 - 8;
  return ldexp((double)x, (int)(n % 5) - 3);
}

static void exact(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(shapes); i++) {
    double lost, most = shapes[i].dtype == WK_F32 ? 2e-6 : 5e-3;
    if (shapes[i].bits != 4) continue;
    double d = moved(&shapes[i], whole, &lost);
    if (lost != 0 || d > most) fail_msg("shape %zu: %g lost, moved by %g", i, lost, d);
  }
}

static double infinite(int64_t k, int64_t n) { return k == 200 && n == 3 ? INFINITY : 1; }
static double huge(int64_t k, int64_t n) { return k == 200 && n == 3 ? 1e30 : 1; }
static double zero(int64_t k, int64_t n) {
  (void)k, (void)n;
  return 0;
}
static double tiny(int64_t k, int64_t n) { return k < 32 && n < 16 ? 0x1p-140 : any(k, n); }

static void check_stays(const shape *s, double (*weight)(int64_t, int64_t)) {
  wk_block_report r = {0};
  int64_t changes = 0;
  wk_module *m = product(s, weight);
  must(wk_convert_blocks(m, 4, 32, &r, &changes));
  assert_int_equal(changes, 0);
  assert_int_equal(r.rows.n, 0);
  wk_block_report_free(&r);
  wk_module_free(m);
}

/* Floats that are no numbers, or huge, stay; zeros, and what has no inverse, are zeros. */
static void odd_floats(void **state) {
  const shape s = {1, 256, 64, 32, 4, WK_F32, false};
  double lost;
  (void)state;
  check_stays(&s, infinite);
  check_stays(&s, huge);
  assert_true(isnan(moved(&s, zero, &lost)));
  assert_true(lost == 0);
  assert_true(moved(&s, tiny, &lost) < 0.2);
}

/* Two products by one constant, one of them by its transpose, and a lookup. */
static void shared(void **state) {
  const shape s = {1, 256, 256, 32, 4, WK_F32, true};
  wk_block_report r = {0};
  int64_t changes = 0;
  (void)state;
  seed = 3;
  wk_module *m = product(&s, any);
  wk_graph *g = m->main;
  wk_value_id y = g->outputs.data[0], turned = wk_nod(g, wk_val(g, y)->node)->in[1];
  wk_value_id w = wk_nod(g, wk_val(g, turned)->node)->in[0];
  const wk_type index = wk_type_make(WK_I64, 1, (const int64_t[]){2});
  void *data;
  wk_value_id i;
  must(wk_graph_constant_alloc(g, "i", &index, &i, &data));
  ((int64_t *)data)[1] = 255;
  wk_graph_output(g, "again", wk_build(g, WK_OP_MATMUL, NULL, 2, y, turned));
  wk_graph_output(g, "plain", wk_build(g, WK_OP_MATMUL, NULL, 2, y, w));
  wk_graph_output(g, "rows", wk_build(g, WK_OP_GATHER, NULL, 2, w, i));
  must(wk_convert_blocks(m, 4, 32, &r, &changes));
  must(wk_module_verify(m));
  assert_int_equal(changes, 4);
  assert_int_equal(r.products, 3);
  assert_int_equal(r.tables, 1);
  assert_int_equal(r.rows.n, 3); /* as it is, turned, and by rows */
  assert_int_equal(wk_val(g, g->outputs.data[3])->type.dtype, WK_F32);
  wk_block_report_free(&r);
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors),
      cmocka_unit_test(exact),
      cmocka_unit_test(odd_floats),
      cmocka_unit_test(shared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
