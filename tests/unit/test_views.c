/* SPDX-License-Identifier: Apache-2.0 */
/* Views by themselves: what lies behind one as a dense tensor, the dims that two shapes have in
 * common, which views are alike, cover their buffers, or share bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/view.h"
#include "compiler/ir/program_check.h"
#include "compiler/lower/generate.h"
#include "compiler/lower/inst.h"

static const int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

/* The view's elements are `want`, of these dims. */
static void gathers(const wk_view *v, int64_t n, const int32_t *want, const int64_t *dims) {
  wk_tensor t;
  assert_null(wk_view_gather(v, numbers, &t));
  assert_int_equal(t.type.rank, v->rank);
  for (int i = 0; i < v->rank; i++) assert_int_equal(t.type.dims[i], dims[i]);
  assert_int_equal(wk_type_count(&t.type), n);
  assert_memory_equal(t.data, want, (size_t)n * sizeof *want);
  wk_tensor_free(&t);
}

static void test_gather(void **state) {
  (void)state;
  const wk_view transposed = {.dtype = WK_I32, .rank = 2, .dims = {3, 2}, .strides = {1, 4},
                              .offset = 4};
  gathers(&transposed, 6, (const int32_t[]){1, 5, 2, 6, 3, 7}, (const int64_t[]){3, 2});
  const wk_view backwards = {.dtype = WK_I32, .rank = 3, .dims = {2, 2, 2},
                             .strides = {6, -3, 1}, .offset = 3 * 4};
  gathers(&backwards, 8, (const int32_t[]){3, 4, 0, 1, 9, 10, 6, 7}, (const int64_t[]){2, 2, 2});
  const wk_view repeated = {.dtype = WK_I32, .rank = 2, .dims = {5, 3}, .strides = {0, 2}};
  gathers(&repeated, 3, (const int32_t[]){0, 2, 4}, (const int64_t[]){1, 3});
  const wk_view scalar = {.dtype = WK_I32, .offset = 7 * 4};
  gathers(&scalar, 1, (const int32_t[]){7}, NULL);
  const wk_view nothing = {.dtype = WK_I32, .rank = 2, .dims = {3, 0}, .strides = {1, 1}};
  gathers(&nothing, 0, numbers, (const int64_t[]){3, 0});
}

/* rank < 0: there are no common dims. */
static void refines(wk_view a, wk_view b, int rank, const int64_t *want) {
  int64_t dims[WK_MAX_RANK];
  for (int turn = 0; turn < 2; turn++) {
    int n = -1;
    assert_int_equal(wk_dims_refine(turn ? &b : &a, turn ? &a : &b, &n, dims), rank >= 0);
    if (rank < 0) continue;
    assert_int_equal(n, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(dims[i], want[i]);
  }
}

#define DIMS(n, ...) ((wk_view){.rank = n, .dims = {__VA_ARGS__}})

static void test_refine(void **state) {
  (void)state;
  refines(DIMS(1, 24), DIMS(3, 2, 3, 4), 3, (const int64_t[]){2, 3, 4});
  refines(DIMS(2, 6, 4), DIMS(2, 2, 12), 3, (const int64_t[]){2, 3, 4});
  refines(DIMS(3, 5, 1, 7), DIMS(2, 5, 7), 2, (const int64_t[]){5, 7});
  refines(DIMS(2, 1, 1), DIMS(1, 1), 0, NULL);
  refines(DIMS(2, 2, 3), DIMS(2, 3, 2), -1, NULL);
  refines(DIMS(2, 4, 0), DIMS(2, 2, 0), -1, NULL);
  refines(DIMS(8, 2, 2, 2, 2, 2, 2, 2, 2), DIMS(1, 256), 8,
          (const int64_t[]){2, 2, 2, 2, 2, 2, 2, 2});
  refines(DIMS(8, 2, 2, 2, 2, 2, 2, 2, 6), DIMS(2, 384, 2), -1, NULL);
}

/* ---- views of programs ----------------------------------------------------------------------- */

/* What lies beyond the rank does not matter. */
static wk_view view_of(int rank, int64_t d0, int64_t d1, int64_t s0, int64_t s1) {
  return (wk_view){.dtype = WK_F32, .rank = rank, .dims = {d0, d1, 3, 9}, .strides = {s0, s1, 5, 7},
                   .offset = 8, .step = 4};
}

static void test_same_shape(void **state) {
  (void)state;
  const wk_view a = view_of(2, 2, 3, 3, 1);
  wk_view b = a;
  assert_true(wk_view_same_shape(&a, &b));
  b.buffer = 7, b.dtype = WK_I32, b.role = WK_ROLE_OUT;
  assert_true(wk_view_same_shape(&a, &b));
  b.dims[2] = 4, b.dims[3] = 8, b.strides[2] = 1, b.strides[3] = 2;
  assert_true(wk_view_same_shape(&a, &b));
  for (int k = 0; k < 8; k++) {
    b = a;
    switch (k) {
    case 0: b.rank = 1; break;
    case 1: b.rank = 3; break;
    case 2: b.offset += 4; break;
    case 3: b.step += 4; break;
    case 4: b.dtype = WK_F16; break;
    case 5: b.dims[0] = 3; break;
    case 6: b.dims[1] = 4; break;
    default: b.strides[1] = 2; break;
    }
    if (wk_view_same_shape(&a, &b) || wk_view_same_shape(&b, &a)) fail_msg("difference %d", k);
  }
  b = a;
  b.strides[0] = 4;
  assert_false(wk_view_same_shape(&a, &b));
  /* along one element, strides are nothing */
  const wk_view c = view_of(2, 1, 3, 3, 1), d = view_of(2, 1, 3, 50, 1),
                e = view_of(2, 2, 1, 3, 1), f = view_of(2, 2, 1, 3, 50);
  assert_true(wk_view_same_shape(&c, &d));
  assert_true(wk_view_same_shape(&e, &f));
  const wk_view g = view_of(0, 2, 3, 3, 1), h = view_of(0, 4, 5, 6, 7);
  assert_true(wk_view_same_shape(&g, &h));
}

/* As many elements as the buffer has bytes for, each once. */
static void test_covers(void **state) {
  (void)state;
  static const struct { int rank; int64_t d0, d1, s0, s1, bytes; bool covers; } cases[] = {
      {2, 2, 3, 3, 1, 24, true},   {2, 2, 3, 3, 1, 23, false}, {2, 2, 3, 3, 1, 25, false},
      {2, 2, 3, 1, 2, 24, true},   {2, 2, 3, 0, 1, 24, false}, {2, 2, 3, 0, 1, 12, true},
      {2, 2, 3, 3, 0, 24, false},  {2, 2, 3, 3, 0, 8, true},   {2, 1, 3, 0, 1, 12, true},
      {2, 1, 1, 0, 0, 4, true},    {1, 2, 3, 1, 0, 8, true},   {1, 2, 3, 1, 0, 24, false},
      {0, 2, 3, 1, 1, 4, true},    {0, 2, 3, 1, 1, 8, false}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_view v = view_of(cases[i].rank, cases[i].d0, cases[i].d1, cases[i].s0, cases[i].s1);
    wk_buffer buffers[] = {{.size = 400}, {.size = cases[i].bytes}};
    wk_program p = {0};
    p.buffers.data = buffers;
    p.buffers.n = 2;
    v.buffer = 1;
    assert_false(wk_view_covers(&p, &v)); /* it moves with a loop */
    v.step = 0;
    if (wk_view_covers(&p, &v) != cases[i].covers) fail_msg("case %zu", i);
  }
}

/* ---- views that share bytes ------------------------------------------------------------------ */

static bool touches(const wk_view *v, int64_t shift, uint8_t *bytes, uint8_t mark, uint8_t seen) {
  bool shared = false;
  for (int64_t i = 0; i < wk_view_count(v); i++) {
    int64_t at = v->offset + shift, left = i;
    for (int d = v->rank; d-- > 0; left /= v->dims[d])
      at += left % v->dims[d] * v->strides[d] * wk_dtype_size(v->dtype);
    for (int k = 0; k < wk_dtype_size(v->dtype); k++) {
      shared |= bytes[at + k] == seen;
      bytes[at + k] = mark;
    }
  }
  return shared;
}

/* Byte by byte, in the iteration in which both are read: disjoint in each one and only then. */
static bool disjoint(const wk_view *a, const wk_view *b, int64_t trip) {
  for (int64_t t = 0; t < trip; t++) {
    uint8_t bytes[1024] = {0};
    touches(a, 256 + t * a->step, bytes, 1, 9);
    if (touches(b, 256 + t * b->step, bytes, 2, 1)) return false;
  }
  return true;
}

static wk_view drawn_view(wk_rng *r) {
  static const wk_dtype types[] = {WK_U8, WK_F16, WK_F32};
  wk_view v = {.dtype = types[wk_rng_range(r, 0, 2)], .rank = (int)wk_rng_range(r, 0, 3)};
  int64_t size = wk_dtype_size(v.dtype);
  for (int d = 0; d < v.rank; d++) {
    v.dims[d] = wk_rng_range(r, 1, 4);
    v.strides[d] = wk_rng_range(r, -6, 8);
  }
  v.offset = size * wk_rng_range(r, 0, 24);
  v.step = size * wk_rng_range(r, -4, 8);
  return v;
}

static void test_disjoint(void **state) {
  (void)state;
  wk_rng r = {5};
  int apart[5] = {0};
  for (int round = 0; round < 6000; round++) {
    wk_view a = drawn_view(&r), b = drawn_view(&r);
    if (wk_rng_range(&r, 0, 2) == 0) b.step = a.step;
    int64_t trip = wk_rng_range(&r, 1, 4);
    bool want = disjoint(&a, &b, trip);
    apart[trip] += want;
    if (wk_view_disjoint_in_loop(&a, &b, trip) != want ||
        wk_view_disjoint_in_loop(&b, &a, trip) != want)
      fail_msg("round %d, %lld iterations", round, (long long)trip);
    if (a.step == b.step) assert_int_equal(wk_view_disjoint(&a, &b), disjoint(&a, &b, 1));
    else assert_false(wk_view_disjoint(&a, &b)); /* nobody says how often */
  }
  for (int k = 1; k <= 4; k++) assert_true(apart[k] > 100);
}

/* Numbers near the ends of 64 bits: what cannot be computed is taken to overlap. */
static void test_far_views(void **state) {
  (void)state;
  const int64_t far = INT64_C(1) << 60, most = INT64_MAX;
  const struct { int64_t dim, stride, offset, step, trip; bool apart; } cases[] = {
      {2, 4, 100, 0, 1, true},         {2, 4, far - 1, 0, 1, true},
      {2, 4, far, 0, 1, false},        {2, 4, -far + 1, 0, 1, true},
      {2, 4, -far, 0, 1, false},       {2, 4, most, 0, 1, false},
      {2, 4, INT64_MIN, 0, 1, false},  {2, far / 2 - 1, 100, 0, 1, true},
      {2, far / 2, 100, 0, 1, false},  {2, -far / 2 + 1, 100, 0, 1, true},
      {2, -far / 2, 100, 0, 1, false}, {2, most, 100, 0, 1, false},
      {2, most / 2 + 1, 100, 0, 1, false}, {2, 4, 100, 1, 100, true},
      {2, 4, 100, -1, 90, true},       {2, 4, 100, -1, 100, false},
      {2, 4, 100, far / 100 - 1, 100, true}, {2, 4, 100, far / 100 + 1, 100, false},
      {2, 4, 100, most, 2, false},     {2, 4, 100, most, 1, true},
      {2, 4, 100, far - 1, 1, true},   {2, 4, 100, INT64_MIN, 2, false},
      {2, 4, 100, -far / 100 - 1, 100, false}, {2, 4, 0, 0, 1, false},
      {0, 4, 0, 0, 1, true},           {0, 1, 0, 0, 1, true},
      {0, 1, 1, 0, 1, true}};
  const wk_view a = {.dtype = WK_U8, .rank = 1, .dims = {3}, .strides = {1}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    const wk_view b = {.dtype = WK_U8, .rank = 1, .dims = {cases[i].dim},
                       .strides = {cases[i].stride}, .offset = cases[i].offset,
                       .step = cases[i].step};
    bool got = wk_view_disjoint_in_loop(&a, &b, cases[i].trip);
    if (got != cases[i].apart || wk_view_disjoint_in_loop(&b, &a, cases[i].trip) != got)
      fail_msg("case %zu", i);
  }
  /* together too far, each of them not */
  const wk_view wide = {.dtype = WK_U8, .rank = 3, .dims = {2, 2, 2},
                        .strides = {far / 2 - 1, far / 2 - 5, far / 2 - 9}, .offset = 100};
  assert_false(wk_view_disjoint_in_loop(&a, &wide, 1));
  const int64_t n = far * 4;
  const wk_view again = {.dtype = WK_U8, .rank = 4, .dims = {n, n, n, n}, .strides = {4, 4, 4, 4},
                         .offset = 1};
  assert_false(wk_view_disjoint_in_loop(&a, &again, 1));
}

/* Axes that have nothing in common: as many unknowns as there can be. */
static void test_many_axes(void **state) {
  (void)state;
  wk_view a = {.dtype = WK_U8, .rank = WK_MAX_RANK, .step = 3}, b = a;
  int64_t reach = 0;
  b.step = 8;
  for (int d = 0; d < WK_MAX_RANK; d++) {
    a.dims[d] = b.dims[d] = 2;
    a.strides[d] = 11 + 2 * d;
    b.strides[d] = 12 + 2 * d;
    reach += a.strides[d];
  }
  assert_false(wk_view_disjoint_in_loop(&a, &b, 2));
  b.offset = reach;
  assert_false(wk_view_disjoint_in_loop(&a, &b, 2));
  b.offset = reach + 1;
  assert_true(wk_view_disjoint_in_loop(&a, &b, 2));
  b.step = -9; /* 12 nearer, and 11 back */
  assert_false(wk_view_disjoint_in_loop(&a, &b, 2));
}

/* The search ends after 4096 steps; two for each value of the farthest axis are enough where the
 * order of axes in memory is another than theirs. */
static void test_search(void **state) {
  (void)state;
  wk_view a = {.dtype = WK_U8, .rank = 2, .dims = {5000, 5000}, .strides = {1, 10000}}, b = a;
  b.offset = 5000;
  assert_true(wk_view_disjoint(&a, &b));
  b.offset = 4999;
  assert_false(wk_view_disjoint(&a, &b));
  const wk_view element = {.dtype = WK_U8, .offset = 100001};
  for (int64_t n = 2047; n <= 2048; n++) {
    const wk_view c = {.dtype = WK_U8, .rank = 3, .dims = {n, 1, 100000}, .strides = {6, 50, 4}};
    if (wk_view_disjoint(&c, &element) != (n == 2047)) fail_msg("%lld values", (long long)n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gather),     cmocka_unit_test(test_refine),
      cmocka_unit_test(test_same_shape), cmocka_unit_test(test_covers),
      cmocka_unit_test(test_disjoint),   cmocka_unit_test(test_far_views),
      cmocka_unit_test(test_many_axes),  cmocka_unit_test(test_search)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
