/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/ir/taps.h"

static uint16_t i64(wk_expr_builder *b, int64_t v) { return wk_expr_i(b, WK_I64, v); }

static uint16_t with(wk_expr_builder *b, wk_expr_op op, uint16_t x, int64_t v) {
  return wk_expr_2(b, op, x, i64(b, v));
}

/* x / inner mod n */
static uint16_t digit(wk_expr_builder *b, uint16_t x, int64_t inner, int64_t n) {
  return with(b, WK_EX_MOD, with(b, WK_EX_DIV, x, inner), n);
}

/* Where the window begins along axis k, which may be before x. */
static uint16_t begins(wk_expr_builder *b, const wk_taps *w, int k) {
  uint16_t at = with(b, WK_EX_MUL, wk_expr_index(b, k), w->strides->v[k - 2]);
  return with(b, WK_EX_SUB, at, w->pads->v[k - 2]);
}

static int64_t inner_of(const int64_t *v, int k, int n) {
  int64_t inner = 1;
  while (++k < n) inner *= v[k];
  return inner;
}

const wk_expr *wk_taps_place(wk_arena *a, const wk_taps *w, wk_dtype t) {
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t tap = wk_expr_cast(b, WK_I64, wk_expr_input(b, 0, t)), is_in = 0;
  uint16_t place = with(b, WK_EX_MUL, wk_expr_index(b, 0), w->dims[1]);
  place = wk_expr_2(b, WK_EX_ADD, place, wk_expr_index(b, 1));
  for (int k = 2; k < w->rank; k++) {
    int64_t inner = inner_of(w->kernel->v, k - 2, w->rank - 2);
    uint16_t at = digit(b, tap, inner, w->kernel->v[k - 2]);
    at = with(b, WK_EX_MUL, at, w->dilations->v[k - 2]);
    at = wk_expr_2(b, WK_EX_ADD, begins(b, w, k), at);
    uint16_t here = wk_expr_2(b, WK_EX_AND, with(b, WK_EX_GE, at, 0),
                              with(b, WK_EX_LT, at, w->dims[k]));
    is_in = k == 2 ? here : wk_expr_2(b, WK_EX_AND, is_in, here);
    place = wk_expr_2(b, WK_EX_ADD, with(b, WK_EX_MUL, place, w->dims[k]), at);
  }
  place = wk_expr_3(b, WK_EX_SELECT, is_in, place, i64(b, -1));
  return wk_expr_finish(b, &place, 1);
}

const wk_expr *wk_taps_number(wk_arena *a, const wk_taps *w, wk_dtype t) {
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t place = wk_expr_input(b, 0, WK_I64), tap = i64(b, 0);
  for (int k = 2; k < w->rank; k++) {
    uint16_t at = digit(b, place, inner_of(w->dims, k, w->rank), w->dims[k]);
    at = wk_expr_2(b, WK_EX_SUB, at, begins(b, w, k));
    at = with(b, WK_EX_DIV, at, w->dilations->v[k - 2]);
    tap = wk_expr_2(b, WK_EX_ADD, with(b, WK_EX_MUL, tap, w->kernel->v[k - 2]), at);
  }
  tap = wk_expr_cast(b, t, tap);
  return wk_expr_finish(b, &tap, 1);
}

/* Of n taps at first, first + step, …: how many lie below the limit. */
static int64_t taps_below(int64_t limit, int64_t first, int64_t step, int64_t n) {
  if (limit <= first) return 0;
  int64_t some = (limit - first - 1) / step + 1;
  return some < n ? some : n;
}

int64_t wk_pool_count(const wk_attr_integer_avg_pool *p, const wk_type *x, const int64_t *o) {
  int64_t axes = p->kernel.n, count = 1;
  for (int64_t k = 0; k < axes; k++) {
    int64_t first = o[k] * p->strides.v[k] - p->pads.v[k];
    int64_t end = x->dims[2 + k] + p->real_pads.v[k + axes];
    count *= taps_below(end, first, p->dilations.v[k], p->kernel.v[k]) -
             taps_below(-p->real_pads.v[k], first, p->dilations.v[k], p->kernel.v[k]);
  }
  return count > 0 ? count : 1;
}
