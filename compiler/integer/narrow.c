/* SPDX-License-Identifier: Apache-2.0
 * Weights that, less their zero point, have more than 8 bits, for targets that multiply bytes: they
 * are sums of weights that have not. A contraction sums over its input channels, so each summand
 * has channels of its own, whose input is the same. */
#include <string.h>

#include "compiler/integer/rules.h"

enum { MOST_PIECES = 3 }; /* 255 = 127 + 127 + 1 */

/* What conversion makes of an input that such weights meet: i16(q) - zero. */
static bool widened_of(const wk_rewrite *r, wk_value_id v, wk_value_id *q, int64_t *zero) {
  const wk_node *n = wk_made_by(r, v, WK_OP_MAP);
  if (!n || n->n_in != 1 || n->predicate != WK_NONE) return false;
  const wk_expr *x = WK_ATTR(n, map)->body;
  const wk_expr_node *e = &x->nodes[x->results[0]];
  *zero = 0;
  if (e->op == WK_EX_SUB) {
    const wk_expr_node *by = &x->nodes[e->arg[1]];
    if (by->op != WK_EX_CONST) return false;
    *zero = by->imm.i;
    e = &x->nodes[e->arg[0]];
  }
  if (e->op != WK_EX_CAST || e->dtype != WK_I16 || x->nodes[e->arg[0]].op != WK_EX_INPUT)
    return false;
  wk_dtype t = x->nodes[e->arg[0]].dtype;
  *q = n->in[0];
  return (t == WK_U8 && *zero >= 0 && *zero <= 255) ||
         (t == WK_I8 && *zero >= -128 && *zero <= 127);
}

/* Of weights [out, in, k...] of a convolution, [k, n] of a product. */
typedef struct {
  wk_type type;
  const int16_t *data; /* stays where it is when values are added */
  int in_axis, out_axis;
  int64_t inner; /* elements behind the input axis */
  int64_t pieces;
} wide;

static bool is_plain_contraction(const wk_node *n) {
  if (n->predicate != WK_NONE) return false;
  if (n->op == WK_OP_CONV) return WK_ATTR(n, conv)->group == 1;
  return n->op == WK_OP_MATMUL;
}

static bool wide_of(const wk_rewrite *r, const wk_node *n, wide *out) {
  wk_value_id v = n->in[1];
  if (!wk_known(r, v) || wk_type_of(r, v)->dtype != WK_I16) return false;
  *out = (wide){.type = *wk_type_of(r, v), .data = wk_val(r->g, v)->data, .pieces = 1, .inner = 1,
                .in_axis = n->op == WK_OP_CONV, .out_axis = n->op == WK_OP_MATMUL};
  const wk_type *t = &out->type;
  if (t->rank != (n->op == WK_OP_MATMUL ? 2 : 4) || !wk_type_count(t)) return false;
  for (int k = out->in_axis + 1; k < t->rank; k++) out->inner *= t->dims[k];
  for (int64_t i = 0, count = wk_type_count(t); i < count; i++) {
    int64_t v16 = out->data[i], need = 1;
    while (v16 < -128 * need || v16 > 127 * need) need++;
    if (need > out->pieces) out->pieces = need;
  }
  return out->pieces <= MOST_PIECES;
}

static int64_t clamped(int64_t v) { return v < -128 ? -128 : v > 127 ? 127 : v; }

/* The summands behind one another along the input axis. */
static wk_value_id split_weights(wk_rewrite *r, const wide *x) {
  wk_type t = x->type;
  void *data;
  int64_t own = t.dims[x->in_axis] * x->inner, outer = wk_type_count(&t) / own;
  t.dtype = WK_I8;
  t.dims[x->in_axis] *= x->pieces;
  wk_value_id y = wk_rewrite_constant(r, &t, &data);
  if (y == WK_NONE) return y;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < own; i++) {
      int64_t rest = x->data[o * own + i];
      for (int64_t p = 0; p < x->pieces; p++) {
        ((int8_t *)data)[(o * x->pieces + p) * own + i] = (int8_t)clamped(rest);
        rest -= clamped(rest);
      }
    }
  return y;
}

static wk_value_id repeated(wk_rewrite *r, wk_value_id q, int axis, int64_t times) {
  wk_attr_concat *a = wk_attrs_new(r->arena, WK_OP_CONCAT);
  wk_value_id in[MOST_PIECES];
  a->axis = axis;
  for (int64_t i = 0; i < times; i++) in[i] = q;
  return times == 1 ? q : wk_rewrite_add(r, WK_OP_CONCAT, a, (uint32_t)times, in);
}

/* The bias, less the zero point of the input times the weights of each output. */
static wk_value_id bias_of(wk_rewrite *r, const wk_node *n, const wide *x, int64_t zero) {
  wk_value_id old = n->n_in > 2 ? n->in[2] : WK_NONE;
  int64_t channels = x->type.dims[x->out_axis], count = wk_type_count(&x->type);
  int64_t behind = x->out_axis ? 1 : count / channels;
  void *data;
  if (!zero) return old;
  if (old != WK_NONE && !wk_known(r, old)) return WK_NONE;
  wk_type t = wk_type_make(WK_I32, 1, &channels);
  wk_value_id y = wk_rewrite_constant(r, &t, &data);
  if (y == WK_NONE) return y;
  uint32_t *sum = data;
  if (old != WK_NONE) memcpy(sum, wk_val(r->g, old)->data, (size_t)channels * sizeof *sum);
  for (int64_t i = 0; i < count; i++)
    sum[i / behind % channels] -= (uint32_t)(zero * x->data[i]);
  return y;
}

static bool narrow(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  wk_value_id q;
  int64_t zero;
  wide x;
  if (!is_plain_contraction(n) || !widened_of(r, n->in[0], &q, &zero) || !wide_of(r, n, &x))
    return false;
  void *attrs = wk_attrs_clone(r->arena, n->op, n->attrs);
  if (n->op == WK_OP_CONV) ((wk_attr_conv *)attrs)->pad_value = zero;
  int axis = n->op == WK_OP_CONV ? 1 : wk_type_of(r, q)->rank - 1;
  bool had_bias = n->n_in > 2 && n->in[2] != WK_NONE;
  wk_value_id in[8], bias = bias_of(r, n, &x, zero);
  if (n->n_in > WK_COUNTOF(in) || ((had_bias || zero) && bias == WK_NONE)) return false;
  memcpy(in, n->in, n->n_in * sizeof *in);
  r->name = n->name;
  in[0] = repeated(r, q, axis, x.pieces);
  in[1] = split_weights(r, &x);
  in[2] = bias;
  if (in[0] == WK_NONE || in[1] == WK_NONE) return false;
  uint32_t n_in = n->n_in > 2 ? n->n_in : bias == WK_NONE ? 2 : 3;
  wk_node made = *n;
  made.counted.pieces = (uint8_t)x.pieces;
  return wk_rewrite_replace(r, n->out[0], wk_rewrite_like(r, &made, attrs, n_in, in));
}

static wk_status narrow_graph(wk_graph *g, wk_pass_ctx *c) { return wk_rewrite_run(g, c, narrow); }

wk_status wk_integer_narrow(wk_module *m, int64_t *changes) {
  static const wk_pass step = {.name = "narrow", .run = narrow_graph};
  return wk_pass_run_one(m, &step, NULL, changes);
}
