/* SPDX-License-Identifier: Apache-2.0
 * Where elements lie (operand.h): chains of drawn transposes, slices and reshapes of a tensor in
 * blocks. After each, every element is at the address where the tensor has it; what cannot be said
 * is left out, and how often it can is counted: fewer would be copies that were addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/compile/operand.h"

enum { N = 4, CHAINS = 20000, STEPS = 4, MOST = 4096 };

/* A value: what each of its elements, in order, is of the tensor's. */
typedef struct {
  wk_accel_operand at;
  int64_t count, element[MOST];
} value;

static int64_t byte_of[MOST]; /* of the tensor's elements */

/* As operand.h says it. */
static int64_t address(const wk_accel_operand *x, const int64_t *index) {
  int64_t at = x->offset;
  for (int k = 0; k < x->rank; k++) {
    int64_t q = index[k] + (k == x->lane ? x->first : 0);
    at += k == x->lane ? q / N * x->strides[k] + q % N : q * x->strides[k];
  }
  return at + (x->lane < 0 ? x->first : 0);
}

static void unravel(const wk_accel_operand *x, int64_t i, int64_t *index) {
  for (int k = x->rank; k-- > 0; i /= x->dims[k]) index[k] = i % x->dims[k];
}

static int64_t ravel(const wk_accel_operand *x, const int64_t *index) {
  int64_t i = 0;
  for (int k = 0; k < x->rank; k++) i = i * x->dims[k] + index[k];
  return i;
}

static int64_t count_of(const wk_accel_operand *x) {
  int64_t n = 1;
  for (int k = 0; k < x->rank; k++) n *= x->dims[k];
  return n;
}

static void check(const value *v, const char *what, int chain) {
  int64_t index[WK_MAX_RANK];
  assert_int_equal(v->count, count_of(&v->at));
  for (int64_t i = 0; i < v->count; i++) {
    unravel(&v->at, i, index);
    if (address(&v->at, index) != byte_of[v->element[i]])
      fail_msg("chain %d, %s: element %lld is at %lld, not %lld", chain, what, (long long)i,
               (long long)address(&v->at, index), (long long)byte_of[v->element[i]]);
  }
}

/* All bytes of the tensor, in order, with a block as the last axis. */
static bool is_laid(const value *v, int64_t bytes) {
  const wk_accel_operand *x = &v->at;
  if (x->lane < 0 || x->lane != x->rank - 1 || x->dims[x->lane] != N || v->count != bytes)
    return false;
  for (int64_t i = 0; i < v->count; i++)
    if (byte_of[v->element[i]] != i) return false;
  return true;
}

/* ---- one tensor ------------------------------------------------------------------------------ */

static wk_type draw_type(wk_rng *r) {
  static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 8, 12};
  wk_type t = {.dtype = WK_I8, .rank = (int)wk_rng_range(r, 1, 5)};
  do
    for (int k = 0; k < t.rank; k++) t.dims[k] = sizes[wk_rng_range(r, 0, 7)];
  while (wk_type_count(&t) > 600);
  return t;
}

/* The edge of a part has its axes in the same order: blocks in place of the lanes' axis, and the
 * lanes innermost. */
static void check_layout(const wk_accel_operand *x) {
  wk_edge_layout y;
  int64_t stride = 1;
  wk_operand_layout(N, x->rank, x->lane, &y);
  assert_int_equal(y.split, x->lane);
  assert_int_equal(y.block, N);
  for (int i = x->rank; i >= 0; i--) {
    int k = y.order[i];
    if (k < x->rank) assert_int_equal(x->strides[k], stride);
    stride *= k == x->rank ? N : k == x->lane ? (x->dims[k] + N - 1) / N : x->dims[k];
  }
}

/* As it enters a part: one element after the other, the last axis a block or not. */
static void draw_laid(wk_rng *r, value *v) {
  wk_type t = draw_type(r);
  if (wk_rng_range(r, 0, 3)) t.dims[t.rank - 1] = N;
  v->at = wk_operand_laid(N, 7, &t);
  v->count = wk_type_count(&t);
  assert_int_equal(v->at.lane, t.dims[t.rank - 1] == N ? t.rank - 1 : -1);
  for (int64_t i = 0; i < v->count; i++) v->element[i] = byte_of[i] = i;
}

/* No two elements share a byte, and none lies behind the tensor's. */
static void draw_tensor(wk_rng *r, value *v, int chain) {
  static bool used[MOST * N];
  const wk_type t = draw_type(r);
  int64_t bytes, index[WK_MAX_RANK], blocks;
  int lane = (int)wk_rng_range(r, 0, t.rank - 1);
  v->at = wk_operand_new(N, 7, &t, lane, &bytes);
  v->count = wk_type_count(&t);
  assert_int_equal(v->at.tensor, 7);
  assert_int_equal(v->at.lane, lane);
  blocks = (t.dims[lane] + N - 1) / N;
  assert_int_equal(bytes, v->count / t.dims[lane] * blocks * N);
  memset(used, 0, sizeof used);
  for (int64_t i = 0; i < v->count; i++) {
    unravel(&v->at, i, index);
    int64_t at = address(&v->at, index);
    if (at < 0 || at >= bytes || used[at]) fail_msg("chain %d: element %d", chain, (int)i);
    used[at] = true;
    v->element[i] = i;
    byte_of[i] = at;
  }
  check_layout(&v->at);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool transpose(wk_rng *r, const value *v, value *y) {
  int64_t perm[WK_MAX_RANK], index[WK_MAX_RANK], from[WK_MAX_RANK];
  for (int k = 0; k < v->at.rank; k++) perm[k] = k;
  for (int k = v->at.rank - 1; k > 0; k--) {
    int other = (int)wk_rng_range(r, 0, k);
    int64_t t = perm[k];
    perm[k] = perm[other], perm[other] = t;
  }
  wk_operand_transpose(&v->at, perm, &y->at);
  for (int64_t i = 0; i < v->count; i++) {
    unravel(&y->at, i, index);
    for (int k = 0; k < v->at.rank; k++) from[perm[k]] = index[k];
    y->element[i] = v->element[ravel(&v->at, from)];
  }
  y->count = v->count;
  return true;
}

/* Of the lanes every element, or one. */
static bool slice(wk_rng *r, const value *v, value *y) {
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK] = {0}, steps[WK_MAX_RANK] = {0};
  int64_t index[WK_MAX_RANK];
  bool is_had = true;
  for (int k = 0; k < v->at.rank; k++) {
    int64_t n = v->at.dims[k];
    steps[k] = wk_rng_range(r, 0, 3) ? 1 : wk_rng_range(r, 0, 1) ? 2 : -1;
    starts[k] = steps[k] < 0 ? n - 1 : wk_rng_range(r, 0, 1) ? 0 : wk_rng_range(r, 0, n - 1);
    int64_t most = steps[k] < 0 ? n : (n - starts[k] - 1) / steps[k] + 1;
    sizes[k] = wk_rng_range(r, 0, 1) ? most : wk_rng_range(r, 1, most);
    is_had = is_had && (k != v->at.lane || steps[k] == 1 || sizes[k] == 1);
  }
  assert_int_equal(wk_operand_slice(N, &v->at, starts, sizes, steps, &y->at), is_had);
  if (!is_had) return false;
  y->count = count_of(&y->at);
  for (int64_t i = 0; i < y->count; i++) {
    unravel(&y->at, i, index);
    for (int k = 0; k < v->at.rank; k++) index[k] = starts[k] + index[k] * steps[k];
    y->element[i] = v->element[ravel(&v->at, index)];
  }
  return true;
}

/* Axes are cut at divisors of their product, wherever. */
static int draw_dims(wk_rng *r, int64_t count, int64_t *dims) {
  int rank = (int)wk_rng_range(r, 1, 5);
  for (int k = 0; k + 1 < rank; k++) {
    int64_t d = wk_rng_range(r, 1, count < 16 ? count : 16);
    while (count % d) d--;
    dims[k] = d, count /= d;
  }
  dims[rank - 1] = count;
  for (int k = rank - 1; k > 0; k--) {
    int other = (int)wk_rng_range(r, 0, k);
    int64_t t = dims[k];
    dims[k] = dims[other], dims[other] = t;
  }
  return rank;
}

static bool reshape(wk_rng *r, const value *v, value *y) {
  int64_t dims[WK_MAX_RANK];
  int rank = draw_dims(r, v->count, dims);
  if (!wk_operand_reshape(N, &v->at, rank, dims, &y->at)) return false;
  assert_int_equal(y->at.rank, rank);
  assert_memory_equal(y->at.dims, dims, (size_t)rank * sizeof *dims);
  y->count = v->count;
  memcpy(y->element, v->element, sizeof y->element);
  return true;
}

static const struct {
  const char *name;
  bool (*step)(wk_rng *r, const value *v, value *y);
} steps[] = {{"transpose", transpose}, {"slice", slice}, {"reshape", reshape}};

/* ---- tests ----------------------------------------------------------------------------------- */

static void chains(void **state) {
  static value v, y;
  int tried[3] = {0}, had[3] = {0}, in_blocks = 0, laid = 0;
  (void)state;
  for (int chain = 0; chain < CHAINS; chain++) {
    wk_rng r = {(uint64_t)chain};
    if (chain % 4) draw_tensor(&r, &v, chain);
    else draw_laid(&r, &v);
    check(&v, "tensor", chain);
    for (int i = 0; i < STEPS; i++) {
      int64_t k = wk_rng_range(&r, 0, 2);
      tried[k]++;
      memset(&y.at, 0xa5, sizeof y.at);
      if (!steps[k].step(&r, &v, &y)) continue;
      check(&y, steps[k].name, chain);
      assert_int_equal(y.at.tensor, 7);
      had[k]++;
      in_blocks += y.at.lane >= 0;
      laid += is_laid(&y, y.count);
      assert_int_equal(wk_operand_is_laid(N, &y.at, y.count), is_laid(&y, y.count));
      assert_false(wk_operand_is_laid(N, &y.at, y.count + 1));
      v = y;
    }
  }
  print_message("%d of %d transposes, %d of %d slices, %d of %d reshapes; %d with lanes, %d laid\n",
                had[0], tried[0], had[1], tried[1], had[2], tried[2], in_blocks, laid);
  assert_int_equal(had[0], tried[0]);
  assert_int_equal(had[2], 12415); /* more is better: take it over */
  assert_int_equal(in_blocks, 56287);
  assert_int_equal(laid, 3365);
}

/* A lane axis of one element: which axis of a reshape gets it. Of four axes the second, else the
 * last, if it has one element; else the first that has. */
static void lanes_of_one_element(void **state) {
  static const struct {
    int rank;
    int64_t dims[5];
    int lane;
  } cases[] = {
      {4, {1, 1, 5, 1}, 1},    {4, {1, 1, 1, 5}, 1}, {4, {1, 5, 1, 1}, 0}, {4, {5, 1, 1, 1}, 1},
      {3, {1, 5, 1}, 2},       {3, {1, 1, 5}, 0},    {3, {5, 1, 1}, 2},    {2, {1, 5}, 0},
      {2, {5, 1}, 1},          {1, {5}, -1},         {5, {1, 1, 5, 1, 1}, 4},
      {5, {5, 1, 1, 1, 1}, 4}, {5, {1, 1, 1, 1, 5}, 0},
  };
  const wk_type t = {.dtype = WK_I8, .rank = 2, .dims = {5, 1}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    int64_t bytes;
    wk_accel_operand x = wk_operand_new(N, 7, &t, 1, &bytes), y;
    assert_true(wk_operand_reshape(N, &x, cases[i].rank, cases[i].dims, &y));
    if (y.lane != cases[i].lane) fail_msg("case %zu: %d", i, y.lane);
    if (y.lane >= 0) assert_int_equal(y.strides[y.lane], x.strides[1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(chains),
                                     cmocka_unit_test(lanes_of_one_element)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
