/* SPDX-License-Identifier: Apache-2.0
 * Integer operators as the sums, tables and maps that quant.h defines them by. */
#include <string.h>

#include "compiler/expr/quant.h"
#include "compiler/ir/taps.h"
#include "compiler/lower/build.h"

/* ---- building -------------------------------------------------------------------------------- */

/* A map under construction: operands in order of their inputs. */
typedef struct {
  wk_low *l;
  wk_expr_builder *b;
  wk_value_id in[6];
  uint32_t n;
} map;

static map begin(wk_low *l) { return (map){.l = l, .b = wk_expr_begin(l->arena)}; }

static uint16_t operand(map *m, wk_value_id v) {
  m->in[m->n] = v;
  wk_dtype t = m->l->status ? WK_I32 : wk_low_type(m->l, v)->dtype;
  return wk_expr_input(m->b, m->n++, t);
}

static wk_value_id end(map *m, uint16_t result) {
  wk_attr_map *a = wk_attrs_new(m->l->arena, WK_OP_MAP);
  a->body = wk_expr_finish(m->b, &result, 1);
  return wk_low_add(m->l, WK_OP_MAP, a, m->in, m->n, 1, NULL);
}

/* A fold of pre over axes from..to-1 that keeps them; its result is of pre's type. */
static wk_value_id folded(wk_low *l, const char *kind, wk_value_id x, int64_t from, int64_t to,
                          const wk_expr *pre) {
  int64_t axes[WK_MAX_RANK];
  for (int64_t k = from; k < to; k++) axes[k - from] = k;
  wk_attr_reduce *a = wk_attrs_new(l->arena, WK_OP_REDUCE);
  a->kind = kind;
  a->axes = wk_ints_dup(l->arena, axes, to - from);
  a->keepdims = 1;
  a->pre = pre;
  a->post = wk_expr_identity(l->arena, pre->nodes[pre->results[0]].dtype);
  return wk_low_add(l, WK_OP_REDUCE, a, &x, 1, 1, NULL);
}

/* ---- products -------------------------------------------------------------------------------- */

static wk_value_id sums_along(wk_low *l, wk_value_id q, int64_t axis) {
  wk_value_id wide = wk_low_map(l, WK_I32, "out(a)", 1, q);
  return wk_low_reduce(l, wk_low_type(l, wide)->dtype, "sum", wide, &axis, 1, true, NULL, NULL);
}

/* sum a*b - za * sum b - zb * sum a + k * za * zb, the sums as operands of the epilogue. */
void wk_lower_integer_matmul(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_integer_matmul *at = WK_ATTR(n, integer_matmul);
  const wk_type a = *wk_low_type(l, n->in[0]), b = *wk_low_type(l, n->in[1]);
  const struct {
    wk_value_id q;
    int axis;
    int64_t zero;
  } sides[] = {{n->in[1], b.rank - 2, at->a_zero}, {n->in[0], a.rank - 1, at->b_zero}};
  wk_value_id in[] = {n->in[0], n->in[1], WK_NONE, WK_NONE, WK_NONE};
  uint32_t n_in = 3;
  wk_expr_builder *e = wk_expr_begin(l->arena);
  uint16_t acc = wk_expr_input(e, 0, WK_I32);
  for (size_t i = 0; i < WK_COUNTOF(sides); i++) {
    if (!sides[i].zero) continue;
    in[n_in++] = sums_along(l, sides[i].q, sides[i].axis);
    uint16_t sum = wk_expr_input(e, n_in - 3, WK_I32);
    sum = wk_expr_2(e, WK_EX_MUL, sum, wk_expr_i(e, WK_I32, sides[i].zero));
    acc = wk_expr_2(e, WK_EX_SUB, acc, sum);
  }
  uint64_t rest = (uint64_t)a.dims[a.rank - 1] * (uint64_t)(at->a_zero * at->b_zero);
  if ((uint32_t)rest)
    acc = wk_expr_2(e, WK_EX_ADD, acc, wk_expr_i(e, WK_I32, (int32_t)(uint32_t)rest));
  if (at->epilogue) acc = wk_expr_inline(e, at->epilogue, &acc, 0);
  wk_attr_matmul *m = wk_attrs_new(l->arena, WK_OP_MATMUL);
  m->epilogue = wk_expr_finish(e, &acc, 1);
  out[0] = wk_low_add(l, WK_OP_MATMUL, m, in, n_in > 3 ? n_in : 2, 1, NULL);
}

/* ---- averages -------------------------------------------------------------------------------- */

/* Multipliers and shifts over the output positions, two tensors [1,s…], or, where all are the same,
 * that one. */
static bool edge_scales(wk_low *l, const wk_node *n, wk_value_id out[2], wk_rescale *same) {
  const wk_attr_integer_avg_pool *p = WK_ATTR(n, integer_avg_pool);
  const wk_type x = *wk_low_type(l, n->in[0]), y = *wk_low_type(l, n->out[0]);
  int sp = x.rank - 2;
  int64_t dims[WK_MAX_RANK] = {1}, at[WK_MAX_RANK] = {0}, count = 1;
  for (int i = 0; i < sp; i++) count *= dims[1 + i] = y.dims[2 + i];
  int32_t *v = wk_low_table(l, 2 * count, sizeof *v);
  bool uniform = true;
  for (int64_t i = 0; v && i < count; i++) {
    wk_rescale s;
    if (!wk_rescale_of(p->factor / (double)wk_pool_count(p, &x, at), &s)) {
      wk_low_fail(l, wk_error(WK_INPUT, "factor %g has no integer form", p->factor));
      return false;
    }
    if (i == 0) *same = s;
    uniform &= s.mult == same->mult && s.shift == same->shift;
    v[i] = (int32_t)s.mult;
    v[count + i] = s.shift;
    for (int k = sp - 1; k >= 0 && ++at[k] == y.dims[2 + k]; k--) at[k] = 0;
  }
  for (int k = 0; v && !uniform && k < 2; k++)
    out[k] = wk_low_const_i32(l, sp + 1, dims, v + k * count);
  return !uniform;
}

/* The sum is a depthwise convolution with weights of 1, padded with the zero point. */
void wk_lower_integer_avg_pool(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_integer_avg_pool *p = WK_ATTR(n, integer_avg_pool);
  const wk_type x = *wk_low_type(l, n->in[0]);
  wk_value_id in[] = {n->in[0], WK_NONE, WK_NONE, WK_NONE, WK_NONE};
  wk_rescale same = {0, 1};
  if (x.dims[1] == 0) { /* as many groups are none */
    const wk_type y = *wk_low_type(l, n->out[0]);
    out[0] = wk_low_map(l, y.dtype, y.dtype == WK_U8 ? "u8(a)" : "i8(a)", 1,
                        wk_low_reshape(l, n->in[0], y.rank, y.dims));
    return;
  }
  bool has_edges = edge_scales(l, n, in + 3, &same);
  int64_t dims[WK_MAX_RANK] = {x.dims[1], 1}, window = 1;
  for (int i = 2; i < x.rank; i++) window *= dims[i] = p->kernel.v[i - 2];
  in[1] = wk_low_ones(l, WK_I8, x.rank, dims);
  wk_attr_conv *a = wk_attrs_new(l->arena, WK_OP_CONV);
  a->strides = p->strides;
  a->pads = p->pads;
  a->dilations = p->dilations;
  a->group = x.dims[1];
  a->pad_value = p->x_zero;
  wk_expr_builder *b = wk_expr_begin(l->arena);
  uint16_t v = wk_expr_centred(b, wk_expr_input(b, 0, WK_I32), p->x_zero * window);
  uint16_t mult = has_edges ? wk_expr_cast(b, WK_I64, wk_expr_input(b, 1, WK_I32))
                            : wk_expr_i(b, WK_I64, same.mult);
  uint16_t shift = has_edges ? wk_expr_cast(b, WK_I64, wk_expr_input(b, 2, WK_I32))
                             : wk_expr_i(b, WK_I64, same.shift);
  v = wk_expr_rescale(b, v, mult, shift);
  v = wk_expr_requantized(b, v, p->zero, (wk_dtype)p->to, p->lo, p->hi);
  a->epilogue = wk_expr_finish(b, &v, 1);
  out[0] = wk_low_add(l, WK_OP_CONV, a, in, has_edges ? 5 : 2, 1, NULL);
}

/* ---- softmax --------------------------------------------------------------------------------- */

static const wk_expr *widened(wk_low *l, wk_dtype from, wk_dtype to) {
  wk_expr_builder *b = wk_expr_begin(l->arena);
  uint16_t v = wk_expr_cast(b, to, wk_expr_input(b, 0, from));
  return wk_expr_finish(b, &v, 1);
}

static wk_value_id exponentials(wk_low *l, wk_value_id x, const wk_attr_integer_softmax *a) {
  wk_dtype t = wk_low_type(l, x)->dtype;
  int32_t exponential[256];
  int64_t entries = 256;
  wk_softmax_table(a->scale, a->far, exponential);
  wk_value_id table = wk_low_const_i32(l, 1, &entries, exponential);
  wk_value_id most = folded(l, "max", x, a->axis, a->axis + 1, widened(l, t, WK_I32));
  map m = begin(l);
  uint16_t q = wk_expr_cast(m.b, WK_I32, operand(&m, x));
  uint16_t d = wk_expr_2(m.b, WK_EX_SUB, operand(&m, most), q);
  return wk_low_gather(l, table, end(&m, wk_expr_cast(m.b, WK_U8, d)), 0);
}

/* One division per row, then all are rescaled. */
void wk_lower_integer_softmax(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_integer_softmax *a = WK_ATTR(n, integer_softmax);
  wk_value_id e = exponentials(l, n->in[0], a);
  wk_value_id sum = folded(l, "sum", e, a->axis, a->axis + 1, widened(l, WK_I32, WK_I64));
  map m = begin(l);
  wk_value_id bits = end(&m, wk_expr_softmax_bits(m.b, operand(&m, sum)));
  m = begin(l);
  uint16_t v = operand(&m, sum);
  wk_value_id quotient = end(&m, wk_expr_softmax_quotient(m.b, v, operand(&m, bits), a->mult));
  m = begin(l);
  wk_value_id mult = end(&m, wk_expr_softmax_mult(m.b, operand(&m, quotient)));
  m = begin(l);
  v = operand(&m, quotient);
  wk_value_id shift = end(&m, wk_expr_softmax_shift(m.b, v, operand(&m, bits), (int)a->shift));
  m = begin(l);
  v = operand(&m, e);
  uint16_t by = wk_expr_cast(m.b, WK_I64, operand(&m, mult));
  v = wk_expr_rescale(m.b, v, by, wk_expr_cast(m.b, WK_I64, operand(&m, shift)));
  out[0] = end(&m, wk_expr_requantized(m.b, v, a->zero, (wk_dtype)a->to, a->lo, a->hi));
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* q as the steps want it: RMS normalisation measures from the zero point. */
static uint16_t centred(const wk_attr_integer_norm *a, wk_expr_builder *b, uint16_t q) {
  return wk_expr_centred(b, q, a->centred ? 0 : a->x_zero);
}

static wk_value_id row_sum(wk_low *l, const wk_node *n, bool squared) {
  const wk_attr_integer_norm *a = WK_ATTR(n, integer_norm);
  const wk_type x = *wk_low_type(l, n->in[0]);
  wk_expr_builder *b = wk_expr_begin(l->arena);
  uint16_t v = centred(a, b, wk_expr_input(b, 0, x.dtype));
  if (squared) v = wk_expr_2(b, WK_EX_MUL, v, v);
  return folded(l, "sum", n->in[0], a->axis, x.rank, wk_expr_finish(b, &v, 1));
}

/* Gain or bias: a literal where it is the same number everywhere and known. */
static uint16_t column(map *m, wk_value_id v) {
  const wk_value *c = wk_val(m->l->g, v);
  bool is_known = wk_is_const(m->l->g, v) && !c->is_public && c->type.rank == 0;
  return is_known ? wk_expr_i(m->b, WK_I32, *(const int32_t *)c->data) : operand(m, v);
}

static bool is_zero(const wk_low *l, wk_value_id v) {
  const wk_value *c = wk_val(l->g, v);
  return wk_is_const(l->g, v) && !c->is_public && c->type.rank == 0 && !*(const int32_t *)c->data;
}

void wk_lower_integer_norm(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_integer_norm *a = WK_ATTR(n, integer_norm);
  const wk_type x = *wk_low_type(l, n->in[0]);
  int64_t count = 1;
  for (int k = (int)a->axis; k < x.rank; k++) count *= x.dims[k];
  wk_value_id squares = row_sum(l, n, true), sum = a->centred ? row_sum(l, n, false) : WK_NONE;
  map m = begin(l);
  uint16_t v = operand(&m, squares), s = a->centred ? operand(&m, sum) : wk_expr_i(m.b, WK_I32, 0);
  wk_value_id variance = end(&m, wk_expr_norm_variance(m.b, s, v, count, a->epsilon));
  m = begin(l);
  wk_value_id shift = end(&m, wk_expr_norm_shift(m.b, operand(&m, variance)));
  m = begin(l);
  v = operand(&m, variance);
  wk_value_id inverse = end(&m, wk_expr_norm_inverse(m.b, v, operand(&m, shift)));
  m = begin(l);
  v = operand(&m, n->in[0]);
  uint16_t r = operand(&m, inverse), down = operand(&m, shift);
  s = a->centred ? operand(&m, sum) : wk_expr_i(m.b, WK_I32, 0);
  v = wk_expr_norm_standard(m.b, centred(a, m.b, v), s, r, down, count);
  uint16_t g = column(&m, n->in[1]);
  if (is_zero(l, n->in[2]))
    v = wk_expr_rescale(m.b, v, wk_expr_cast(m.b, WK_I64, g), wk_expr_i(m.b, WK_I64, a->shift));
  else v = wk_expr_norm_scaled(m.b, v, g, column(&m, n->in[2]), (int)a->shift);
  out[0] = end(&m, wk_expr_requantized(m.b, v, a->zero, (wk_dtype)a->to, a->lo, a->hi));
}

/* ---- resize ---------------------------------------------------------------------------------- */

static wk_value_id picked(wk_low *l, wk_value_id x, wk_ints at, int64_t axis) {
  return wk_low_gather(l, x, wk_low_const_i64(l, 1, &at.n, at.v), axis);
}

/* Multipliers along an axis. */
static wk_value_id along(wk_low *l, wk_ints mults, int rank, int64_t axis) {
  int64_t dims[WK_MAX_RANK];
  int32_t *v = wk_low_table(l, mults.n, sizeof *v);
  for (int k = 0; k < rank; k++) dims[k] = k == axis ? mults.n : 1;
  for (int64_t k = 0; v && k < mults.n; k++) v[k] = (int32_t)mults.v[k];
  return v ? wk_low_const_i32(l, rank, dims, v) : 0;
}

void wk_lower_integer_resize(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_integer_resize *a = WK_ATTR(n, integer_resize);
  const wk_ints at[] = {a->near, a->far}, mults[] = {a->near_mult, a->far_mult};
  int rank = wk_low_type(l, n->in[0])->rank;
  map m = begin(l);
  uint16_t term[2];
  for (int k = 0; k < 2; k++) {
    uint16_t x = operand(&m, picked(l, n->in[0], at[k], a->axis));
    term[k] = wk_expr_centred(m.b, x, a->x_zero);
    term[k] = wk_expr_2(m.b, WK_EX_MUL, term[k], operand(&m, along(l, mults[k], rank, a->axis)));
  }
  uint16_t v = wk_expr_2(m.b, WK_EX_ADD, term[0], term[1]);
  v = wk_expr_2(m.b, WK_EX_SHR_ROUND, v, wk_expr_i(m.b, WK_I32, a->shift));
  out[0] = end(&m, wk_expr_requantized(m.b, v, a->zero, (wk_dtype)a->to, a->lo, a->hi));
}
