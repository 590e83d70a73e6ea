/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise rules. The shape is the broadcast of the operands; the element type is what the rule
 * says, and the operator's own expression must give it: that also checks that the operands' element
 * types fit the operation. */
#include "compiler/ir/infer.h"
#include "compiler/ir/node_expr.h"

static wk_status check_template(const wk_infer *i, wk_dtype out) {
  wk_dtype dtypes[4];
  for (uint32_t k = 0; k < i->n_in && k < WK_COUNTOF(dtypes); k++) dtypes[k] = i->in[k]->dtype;
  wk_arena *scratch = wk_arena_new();
  wk_expr *e = NULL;
  wk_status s = wk_op_expr(i->op, i->attrs, dtypes, (int)i->n_in, out, scratch, &e);
  if (!s && e->nodes[e->results[0]].dtype != out)
    s = BAD(i, "the result is %s, %s is expected", wk_dtype_name(e->nodes[e->results[0]].dtype),
            wk_dtype_name(out));
  wk_arena_free(scratch);
  return s;
}

static wk_status result(const wk_infer *i, wk_dtype t) {
  WK_TRY(wk_infer_broadcast_all(i, 0, &i->out[0]));
  i->out[0].dtype = t;
  return check_template(i, t);
}

wk_status wk_infer_same(const wk_infer *i) {
  if (i->op != WK_OP_IDENTITY) return result(i, i->in[0]->dtype);
  i->out[0] = *i->in[0];
  return NULL;
}

wk_status wk_infer_predicate(const wk_infer *i) { return result(i, WK_BOOL); }

wk_status wk_infer_broadcast(const wk_infer *i) {
  if (i->op != WK_OP_POW) WK_TRY(wk_want_same_dtype(i, 1, 0));
  return result(i, i->in[0]->dtype);
}

wk_status wk_infer_compare(const wk_infer *i) {
  WK_TRY(wk_want_same_dtype(i, 1, 0));
  return result(i, WK_BOOL);
}

wk_status wk_infer_rescale(const wk_infer *i) { return result(i, WK_I32); }

wk_status wk_infer_where(const wk_infer *i) {
  if (i->in[0]->dtype != WK_BOOL)
    return BAD(i, "c must be bool, not %s", wk_dtype_name(i->in[0]->dtype));
  WK_TRY(wk_want_same_dtype(i, 2, 1));
  return result(i, i->in[1]->dtype);
}

static wk_status want_dtype_attr(const wk_infer *i, int64_t t) {
  if (t > WK_DTYPE_NONE && t < WK_DTYPE_COUNT) return NULL;
  return BAD(i, "to is not an element type (%lld)", wk_ll(t));
}

wk_status wk_infer_cast(const wk_infer *i) {
  int64_t to = wk_infer_attr_int(i, "to");
  WK_TRY(want_dtype_attr(i, to));
  return result(i, (wk_dtype)to);
}

wk_status wk_infer_bitcast(const wk_infer *i) {
  int64_t to = wk_infer_attr_int(i, "to");
  WK_TRY(want_dtype_attr(i, to));
  if (wk_dtype_bits((wk_dtype)to) == wk_dtype_bits(i->in[0]->dtype))
    return result(i, (wk_dtype)to);
  return BAD(i, "elements of %s have %d bits, those of %s %d", wk_dtype_name(i->in[0]->dtype),
             wk_dtype_bits(i->in[0]->dtype), wk_dtype_name((wk_dtype)to),
             wk_dtype_bits((wk_dtype)to));
}

/* Scale and zero point follow x: they may not enlarge it. */
static wk_status follow_x(const wk_infer *i) {
  WK_TRY(wk_want_float(i, 1));
  WK_TRY(wk_want_broadcast_to(i, 1, i->in[0]));
  return wk_want_broadcast_to(i, 2, i->in[0]);
}

wk_status wk_infer_quantize(const wk_infer *i) {
  int64_t to = wk_infer_attr_int(i, "to");
  WK_TRY(want_dtype_attr(i, to));
  if (!wk_dtype_is_int((wk_dtype)to))
    return BAD(i, "to must be an integer type, not %s", wk_dtype_name((wk_dtype)to));
  if (i->in[2]->dtype != (wk_dtype)to)
    return BAD(i, "zero is %s but the result is %s", wk_dtype_name(i->in[2]->dtype),
               wk_dtype_name((wk_dtype)to));
  WK_TRY(follow_x(i));
  return result(i, (wk_dtype)to);
}

wk_status wk_infer_fake_quantize(const wk_infer *i) {
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(wk_want_same_dtype(i, 1, 0));
  WK_TRY(wk_want_same_dtype(i, 2, 0));
  WK_TRY(follow_x(i));
  return result(i, i->in[0]->dtype);
}

wk_status wk_infer_dequantize(const wk_infer *i) {
  if (!wk_dtype_is_int(i->in[0]->dtype))
    return BAD(i, "x must be an integer tensor, not %s", wk_dtype_name(i->in[0]->dtype));
  WK_TRY(wk_want_same_dtype(i, 2, 0));
  WK_TRY(follow_x(i));
  return result(i, i->in[1]->dtype);
}
