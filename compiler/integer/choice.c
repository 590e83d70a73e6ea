/* SPDX-License-Identifier: Apache-2.0
 * where(bools, x, y) of quantised tensors and numbers: the lesser of a tensor and a byte that is
 * the greatest where it is chosen, the least elsewhere; the greater of both sides. */
#include <math.h>

#include "compiler/integer/rules.h"

static int64_t least_of(wk_dtype t) { return t == WK_I8 ? INT8_MIN : 0; }

/* A byte for each bool. */
wk_value_id wk_integer_bytes(wk_rewrite *r, wk_value_id bools, wk_dtype t, int64_t yes,
                             int64_t no) {
  const wk_type m = *wk_type_of(r, bools), as = wk_type_make(t, m.rank, m.dims);
  if (!wk_known(r, bools)) {
    wk_expr_builder *b = wk_expr_begin(r->arena);
    uint16_t v = wk_expr_3(b, WK_EX_SELECT, wk_expr_input(b, 0, WK_BOOL), wk_expr_i(b, t, yes),
                           wk_expr_i(b, t, no));
    return wk_integer_map(r, b, v, 1, &bools);
  }
  void *data;
  wk_value_id bytes = wk_rewrite_constant(r, &as, &data);
  const uint8_t *from = wk_val(r->g, bools)->data;
  for (int64_t i = 0, n = wk_type_count(&m); bytes != WK_NONE && i < n; i++)
    wk_store_i64(data, t, i, from[i] ? yes : no);
  return bytes;
}

/* What is chosen on one side. */
typedef struct {
  wk_value_id q; /* WK_NONE: the number */
  int64_t number;
} side;

static bool side_of(wk_rewrite *r, wk_value_id v, const wk_integer_result *y, side *out) {
  double number;
  wk_affine x;
  *out = (side){.q = WK_NONE};
  if (wk_scalar_of(r, v, &number)) {
    int64_t q = wk_quantize_value(number, y->scale, y->zero, y->dtype);
    out->number = q < y->lo ? y->lo : q > y->hi ? y->hi : q;
    return !isnan(number);
  }
  if (!wk_shape_equal(wk_type_of(r, v), y->type)) return false;
  wk_integer_result as = *y;
  as.from = v;
  if (wk_affine_of(r, v, &x)) out->q = wk_integer_requantized(r, &x, &as);
  const wk_node *n = out->q == WK_NONE ? wk_def(r->g, v) : NULL;
  if (n) out->q = wk_integer_table(r, n, &as);
  return out->q != WK_NONE;
}

static wk_value_id of_both(wk_rewrite *r, wk_expr_op op, wk_dtype t, wk_value_id x,
                           wk_value_id y) {
  if (x == WK_NONE || y == WK_NONE) return WK_NONE;
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t v = wk_expr_2(b, op, wk_expr_input(b, 0, t), wk_expr_input(b, 1, t));
  return wk_integer_map(r, b, v, 2, (const wk_value_id[]){x, y});
}

wk_value_id wk_integer_choice(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  const wk_value_id bools = def->in[0], in[2] = {def->in[1], def->in[2]};
  const wk_dtype t = y->dtype;
  const int64_t least = least_of(t), most = least + UINT8_MAX;
  side s[2];
  wk_value_id part[2];
  for (int i = 0; i < 2; i++)
    if (!side_of(r, in[i], y, &s[i])) return WK_NONE;
  if (s[0].q == WK_NONE && s[1].q == WK_NONE) return WK_NONE;
  for (int i = 0; i < 2; i++) {
    const int64_t chosen = s[i].q == WK_NONE ? s[i].number : most;
    part[i] = wk_integer_bytes(r, bools, t, i ? least : chosen, i ? chosen : least);
    if (s[i].q != WK_NONE) part[i] = of_both(r, WK_EX_MIN, t, s[i].q, part[i]);
  }
  for (int i = 0; i < 2; i++)
    if (s[i].q == WK_NONE && s[i].number == least) return part[1 - i];
  return of_both(r, WK_EX_MAX, t, part[0], part[1]);
}
