/* SPDX-License-Identifier: Apache-2.0
 * Layer and RMS normalisation of a quantised tensor: sums of a row, its 1/sqrt as a mantissa and a
 * shift, and one map (quant.h). */
#include <string.h>

#include "compiler/integer/rules.h"
#include "compiler/passes/recognise.h"

typedef struct {
  wk_standardised of;
  wk_value_id scale, bias; /* WK_NONE: there is none */
  wk_affine x;
  wk_type row;                                        /* dims of the normalised axes */
  int64_t n;                                          /* its elements */
  wk_value_id sum, squares, variance, shift, inverse; /* per row */
} norm;

/* ---- what is normalised ---------------------------------------------------------------------- */

static bool is_parameter(wk_rewrite *r, wk_value_id v) {
  wk_type t;
  return wk_constant_reals(r, v, WK_NORM_ROW, &t) != NULL;
}

/* v is x combined with a constant: x, and the constant in *parameter; else v. */
static wk_value_id without(wk_rewrite *r, wk_op op, wk_value_id v, wk_value_id *parameter) {
  const wk_node *n = wk_made_by(r, v, op);
  const wk_value_id in[2] = {n ? n->in[0] : v, n ? n->in[1] : v};
  *parameter = WK_NONE;
  for (int k = 0; n && k < 2; k++) {
    if (!wk_once(r, in[k]) || !wk_type_equal(wk_type_of(r, in[k]), wk_type_of(r, v))) continue;
    if (!is_parameter(r, in[1 - k])) continue;
    *parameter = in[1 - k];
    return in[k];
  }
  return v;
}

static bool find(wk_rewrite *r, const wk_node *def, wk_value_id v, norm *o) {
  if (def->op == WK_OP_LAYER_NORM) {
    const wk_attr_layer_norm *a = WK_ATTR(def, layer_norm);
    for (uint32_t k = 1; k < def->n_out; k++)
      if (def->out[k] != WK_NONE && r->uses[def->out[k]]) return false; /* mean, 1/deviation */
    o->of = (wk_standardised){def->in[0], a->axis, a->epsilon, true};
    o->scale = def->in[1];
    o->bias = def->n_in > 2 ? def->in[2] : WK_NONE;
    return true;
  }
  v = without(r, WK_OP_ADD, v, &o->bias);
  v = without(r, WK_OP_MUL, v, &o->scale);
  def = wk_def(r->g, v);
  return def && def->predicate == WK_NONE && wk_match_standardised(r, def, &o->of);
}

/* A constant along the row, or one number. */
static bool read_parameter(wk_rewrite *r, const norm *o, wk_value_id v, double without_it,
                           double *out) {
  wk_type t;
  const double *of = v == WK_NONE ? &without_it : wk_constant_reals(r, v, o->n, &t);
  int64_t n = v == WK_NONE || !of ? 1 : wk_type_count(&t);
  if (!of || (n != 1 && n != o->n)) return false;
  for (int k = 1; n != 1 && k <= o->row.rank; k++)
    if (k > t.rank ? o->row.dims[o->row.rank - k] != 1
                   : t.dims[t.rank - k] != o->row.dims[o->row.rank - k])
      return false;
  for (int64_t i = 0; i < o->n; i++) out[i] = of[n == 1 ? 0 : i];
  return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* q as the expressions want it: RMS normalisation measures from the zero point. */
static uint16_t operand(const norm *o, wk_expr_builder *b) {
  return wk_expr_centred(b, wk_expr_input(b, 0, o->x.dtype), o->of.is_centred ? 0 : o->x.zero);
}

static wk_value_id summed(wk_rewrite *r, const norm *o, bool squared) {
  int64_t axes[WK_MAX_RANK];
  for (int k = 0; k < o->row.rank; k++) axes[k] = o->of.axis + k;
  wk_attr_reduce *a = wk_attrs_new(r->arena, WK_OP_REDUCE);
  a->kind = "sum";
  a->axes = wk_ints_dup(r->arena, axes, o->row.rank);
  a->keepdims = 1;
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t v = operand(o, b);
  if (squared) v = wk_expr_2(b, WK_EX_MUL, v, v);
  a->pre = wk_expr_finish(b, &v, 1);
  a->post = wk_expr_identity(r->arena, WK_I32);
  return wk_rewrite_add(r, WK_OP_REDUCE, a, 1, &o->x.q);
}

static bool make_rows(wk_rewrite *r, norm *o, int64_t e) {
  o->squares = summed(r, o, true);
  o->sum = o->of.is_centred ? summed(r, o, false) : WK_NONE;
  const wk_value_id sums[] = {o->squares, o->sum};
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t squares = wk_expr_input(b, 0, WK_I32);
  uint16_t sum = o->of.is_centred ? wk_expr_input(b, 1, WK_I32) : wk_expr_i(b, WK_I32, 0);
  uint16_t v = wk_expr_norm_variance(b, sum, squares, o->n, e);
  o->variance = wk_integer_map(r, b, v, o->of.is_centred ? 2 : 1, sums);
  b = wk_expr_begin(r->arena);
  v = wk_expr_norm_shift(b, wk_expr_input(b, 0, WK_I64));
  o->shift = wk_integer_map(r, b, v, 1, &o->variance);
  b = wk_expr_begin(r->arena);
  v = wk_expr_norm_inverse(b, wk_expr_input(b, 0, WK_I64), wk_expr_input(b, 1, WK_I32));
  o->inverse = wk_integer_map(r, b, v, 2, (const wk_value_id[]){o->variance, o->shift});
  return o->inverse != WK_NONE;
}

/* ---- columns --------------------------------------------------------------------------------- */

typedef struct {
  wk_value_id in[6];
  uint32_t n;
  bool failed;
} operands;

static uint16_t add_operand(operands *to, wk_expr_builder *b, wk_value_id v, wk_dtype t) {
  to->failed |= v == WK_NONE;
  to->in[to->n++] = v;
  return wk_expr_input(b, to->n - 1, t);
}

/* Numbers of the columns; a literal when all are the same. */
static uint16_t columns(wk_rewrite *r, const norm *o, operands *to, wk_expr_builder *b,
                        const int32_t *v) {
  void *data;
  bool same = true;
  for (int64_t i = 1; i < o->n; i++) same &= v[i] == v[0];
  if (same) return wk_expr_i(b, WK_I32, v[0]);
  wk_value_id id = wk_rewrite_constant(r, &o->row, &data);
  if (id != WK_NONE) memcpy(data, v, (size_t)o->n * sizeof *v);
  return add_operand(to, b, id, WK_I32);
}

/* A result without bias is rescaled like any other. */
static uint16_t scaled(wk_rewrite *r, const norm *o, operands *to, wk_expr_builder *b, uint16_t x,
                       const int32_t *g, int shift) {
  const int32_t *bias = g + o->n;
  bool has_bias = false;
  for (int64_t i = 0; i < o->n; i++) has_bias |= bias[i] != 0;
  uint16_t factor = columns(r, o, to, b, g);
  if (has_bias) return wk_expr_norm_scaled(b, x, factor, columns(r, o, to, b, bias), shift);
  return wk_expr_rescale(b, x, wk_expr_cast(b, WK_I64, factor), wk_expr_i(b, WK_I64, shift));
}

static bool read_factors(wk_rewrite *r, const norm *o, double y_scale, int32_t *g, int *shift) {
  double *gamma = wk_arena_alloc(r->c->scratch, 2 * (size_t)o->n * sizeof *gamma);
  double *beta = gamma + o->n;
  return read_parameter(r, o, o->scale, 1, gamma) && read_parameter(r, o, o->bias, 0, beta) &&
         wk_norm_factors(gamma, beta, o->n, y_scale, g, g + o->n, shift);
}

static wk_value_id normalised(wk_rewrite *r, const norm *o, const int32_t *g, int shift,
                              const wk_integer_result *y) {
  operands in = {.n = 0};
  wk_expr_builder *b = wk_expr_begin(r->arena);
  add_operand(&in, b, o->x.q, o->x.dtype);
  uint16_t inverse = add_operand(&in, b, o->inverse, WK_I32),
           down = add_operand(&in, b, o->shift, WK_I32);
  uint16_t sum = o->of.is_centred ? add_operand(&in, b, o->sum, WK_I32) : wk_expr_i(b, WK_I32, 0);
  uint16_t v = wk_expr_norm_standard(b, operand(o, b), sum, inverse, down, o->n);
  v = scaled(r, o, &in, b, v, g, shift);
  v = wk_expr_requantized(b, v, y->zero, y->dtype, y->lo, y->hi);
  return in.failed ? WK_NONE : wk_integer_map(r, b, v, in.n, in.in);
}

/* ---- the rule -------------------------------------------------------------------------------- */

wk_value_id wk_integer_norm(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  norm o = {.scale = WK_NONE, .bias = WK_NONE, .n = 1};
  int64_t e;
  int shift;
  if (!find(r, def, y->from, &o) || !wk_affine_of(r, o.of.x, &o.x)) return WK_NONE;
  const wk_type t = *wk_type_of(r, o.x.q);
  if (!wk_shape_equal(&t, y->type)) return WK_NONE;
  o.row = wk_type_make(WK_I32, t.rank - (int)o.of.axis, t.dims + o.of.axis);
  o.n = wk_type_count(&o.row);
  if (!wk_norm_epsilon(o.n, o.of.epsilon, o.x.scale, &e)) return WK_NONE;
  int32_t *g = wk_arena_alloc(r->c->scratch, 2 * (size_t)o.n * sizeof *g);
  if (!read_factors(r, &o, y->scale, g, &shift) || !make_rows(r, &o, e)) return WK_NONE;
  return normalised(r, &o, g, shift, y);
}
