/* SPDX-License-Identifier: Apache-2.0
 * Quantised graphs become integer graphs. Rules take turns: a dequantisation sinks below what only
 * chooses values (movement, maxima of windows, joints of tensors of one scale), a quantisation or a
 * clamp rises above movement of computed values, and a quantisation whose operand is made of
 * dequantised values becomes the integer operator of the table below. What no rule fits stays real.
 */
#include "compiler/integer/rules.h"

#include <math.h>
#include <string.h>

#define FOLD_BYTES (1 << 16) /* parameters that are computed in the graph */

bool wk_scalar_of(const wk_rewrite *r, wk_value_id v, double *out) {
  return wk_known(r, v) && wk_const_splat(r->g, v, out);
}

static bool is_8_bit(wk_dtype t) { return t == WK_I8 || t == WK_U8; }

bool wk_affine_of(const wk_rewrite *r, wk_value_id v, wk_affine *out) {
  const wk_node *n = wk_made_by(r, v, WK_OP_DEQUANTIZE);
  double zero;
  if (!n || !wk_scalar_of(r, n->in[1], &out->scale) || !wk_scalar_of(r, n->in[2], &zero))
    return false;
  out->q = n->in[0];
  out->dtype = wk_type_of(r, n->in[0])->dtype;
  out->zero = (int64_t)zero;
  return is_8_bit(out->dtype) && wk_scale_is_valid(out->scale);
}

/* Numbers, real or dequantised. */
typedef struct {
  const wk_value *q, *scales; /* scales NULL: they are real */
  int64_t n, n_scales;
  double zero;
} numbers;

static bool numbers_of(wk_rewrite *r, wk_value_id v, int64_t most, numbers *x) {
  const wk_node *d = wk_made_by(r, v, WK_OP_DEQUANTIZE);
  wk_value_id of = d ? d->in[0] : v, by = d ? d->in[1] : WK_NONE;
  *x = (numbers){.n_scales = 1};
  if (d && (!wk_scalar_of(r, d->in[2], &x->zero) || !wk_known(r, by))) return false;
  wk_value_id q = wk_rewrite_folded(r, of);
  if (q == WK_NONE) return false;
  x->q = wk_val(r->g, q);
  x->n = wk_type_count(&x->q->type);
  if (by != WK_NONE) x->scales = wk_val(r->g, by), x->n_scales = wk_type_count(&x->scales->type);
  return x->n <= most && (x->n_scales == 1 || x->n_scales == x->n);
}

bool wk_is_constant_reals(wk_rewrite *r, wk_value_id v, int64_t most) {
  numbers x;
  return numbers_of(r, v, most, &x);
}

const double *wk_constant_reals(wk_rewrite *r, wk_value_id v, int64_t most, wk_type *type) {
  numbers x;
  double scale = 1;
  if (!numbers_of(r, v, most, &x)) return NULL;
  *type = x.q->type;
  double *out = wk_arena_alloc(r->c->scratch, (size_t)x.n * sizeof *out);
  for (int64_t i = 0; i < x.n; i++) {
    const wk_value *s = x.scales;
    if (s) scale = wk_load_f64(s->data, s->type.dtype, x.n_scales == 1 ? 0 : i);
    out[i] = (wk_load_f64(x.q->data, type->dtype, i) - x.zero) * scale;
  }
  return out;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Bounds that the operator that makes v applies to its operand. */
static bool clamp_of(const wk_rewrite *r, wk_value_id v, double *lo, double *hi,
                     wk_value_id *operand) {
  const wk_node *n = wk_def(r->g, v);
  double bound;
  if (!n || !n->n_in || n->predicate != WK_NONE || !wk_once(r, v)) return false;
  *lo = -INFINITY;
  *hi = INFINITY;
  *operand = n->in[0];
  switch (n->op) {
    case WK_OP_RELU: *lo = 0; return true;
    case WK_OP_CLIP:
      *lo = WK_ATTR(n, clip)->lo;
      *hi = WK_ATTR(n, clip)->hi;
      if (*lo > *hi) *lo = *hi;
      return true;
    case WK_OP_MAX:
    case WK_OP_MIN:
      for (uint32_t k = 0; k < 2; k++) {
        if (!wk_scalar_of(r, n->in[k], &bound)) continue;
        *operand = n->in[1 - k];
        *(n->op == WK_OP_MAX ? lo : hi) = bound;
        return wk_shape_equal(wk_type_of(r, *operand), wk_type_of(r, v));
      }
      return false;
    default: return false;
  }
}

static bool result_of(const wk_rewrite *r, const wk_node *n, wk_integer_result *y) {
  double zero, least = -INFINITY, most = INFINITY, lo, hi;
  if (!wk_scalar_of(r, n->in[1], &y->scale) || !wk_scalar_of(r, n->in[2], &zero)) return false;
  y->type = wk_type_of(r, n->out[0]);
  y->dtype = y->type->dtype;
  y->zero = (int64_t)zero;
  y->from = n->in[0];
  if (!is_8_bit(y->dtype) || !wk_scale_is_valid(y->scale)) return false;
  for (wk_value_id operand; clamp_of(r, y->from, &lo, &hi, &operand); y->from = operand) {
    if (lo > least) least = lo > most ? most : lo;
    if (hi < most) most = hi < least ? least : hi;
  }
  y->lo = wk_quantize_value(least, y->scale, y->zero, y->dtype);
  y->hi = wk_quantize_value(most, y->scale, y->zero, y->dtype);
  return true;
}

/* ---- shared ---------------------------------------------------------------------------------- */

wk_value_id wk_integer_map(wk_rewrite *r, wk_expr_builder *b, uint16_t result, uint32_t n_in,
                           const wk_value_id *in) {
  wk_attr_map *a = wk_attrs_new(r->arena, WK_OP_MAP);
  a->body = wk_expr_finish(b, &result, 1);
  return wk_rewrite_add(r, WK_OP_MAP, a, n_in, in);
}

wk_value_id wk_integer_requantized(wk_rewrite *r, const wk_affine *x, const wk_integer_result *y) {
  int64_t least = y->dtype == WK_I8 ? -128 : 0, mult;
  int shift;
  double factor = x->scale / y->scale;
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t v = wk_expr_input(b, 0, x->dtype), q = v;
  if (x->scale == y->scale) {
    if (x->dtype == y->dtype && x->zero == y->zero && y->lo == least && y->hi == least + 255)
      return x->q;
    q = wk_expr_centred(b, v, x->zero);
  } else {
    if (!wk_rescale_common(&factor, 1, WK_RESCALE_BITS_8, &mult, &shift) || shift < 1)
      return WK_NONE;
    q = wk_expr_2(b, WK_EX_MUL, wk_expr_centred(b, v, x->zero), wk_expr_i(b, WK_I32, mult));
    q = wk_expr_2(b, WK_EX_SHR_ROUND, q, wk_expr_i(b, WK_I32, shift));
  }
  q = wk_expr_requantized(b, q, y->zero, y->dtype, y->lo, y->hi);
  return wk_integer_map(r, b, q, 1, &x->q);
}

/* ---- movement -------------------------------------------------------------------------------- */

/* Operators that only choose values of their first operand. */
static bool only_moves(const wk_rewrite *r, const wk_node *n) {
  double fill;
  switch (n->op) {
    case WK_OP_RESHAPE:
    case WK_OP_TRANSPOSE:
    case WK_OP_SLICE:
    case WK_OP_EXPAND:
    case WK_OP_TILE:
    case WK_OP_IDENTITY:
    case WK_OP_GATHER: return true;
    case WK_OP_RESIZE:
      return !strcmp(WK_ATTR(n, resize)->mode, "nearest") &&
             strcmp(WK_ATTR(n, resize)->coordinates, "tf_crop_and_resize") != 0;
    case WK_OP_PAD: /* real 0 is the zero point */
      return strcmp(WK_ATTR(n, pad)->mode, "constant") != 0 || n->n_in < 2 || n->in[1] == WK_NONE ||
             (wk_scalar_of(r, n->in[1], &fill) && fill == 0);
    default: return false;
  }
}

/* The one number of which all elements of v are; WK_NONE: there is none. */
static wk_value_id one_of(wk_rewrite *r, wk_value_id v) {
  double value;
  const wk_type *t = wk_type_of(r, v);
  if (!wk_scalar_of(r, v, &value)) return WK_NONE;
  return t->rank == 0 ? v : wk_rewrite_scalar(r, t->dtype, value);
}

/* y is made of integers, and dequantised then. */
static bool dequantise_last(wk_rewrite *r, wk_value_id y, wk_value_id q, wk_value_id scale,
                            wk_value_id zero) {
  const wk_value_id in[] = {q, scale, zero};
  return q != WK_NONE &&
         wk_rewrite_replace(r, y, wk_rewrite_add(r, WK_OP_DEQUANTIZE, NULL, 3, in));
}

/* The parameters of a dequantisation behind the movement n; they may lie along an axis when n is a
 * transposition. */
static bool moved_parameter(wk_rewrite *r, const wk_node *n, wk_value_id v, wk_value_id *out) {
  const wk_type *t = wk_type_of(r, v);
  *out = one_of(r, v);
  if (*out != WK_NONE) return true;
  if (n->op != WK_OP_TRANSPOSE || t->rank != wk_type_of(r, n->in[0])->rank) return false;
  *out = wk_rewrite_folded(r, wk_rewrite_transpose(r, v, WK_ATTR(n, transpose)->perm.v));
  return *out != WK_NONE;
}

static bool sink(wk_rewrite *r, const wk_node *n) {
  const wk_node *d = wk_made_by(r, n->in[0], WK_OP_DEQUANTIZE);
  double zero = 0;
  if (!d || n->n_out != 1) return false;
  wk_value_id q = d->in[0], scale, fill, parameters[2] = {d->in[1], d->in[2]};
  if (!moved_parameter(r, n, parameters[0], &scale) ||
      !moved_parameter(r, n, parameters[1], &parameters[1]))
    return false;
  wk_value_id *in = wk_arena_memdup(r->c->scratch, n->in, n->n_in * sizeof *in);
  in[0] = q;
  if (n->op == WK_OP_PAD && !strcmp(WK_ATTR(n, pad)->mode, "constant")) {
    if (!wk_scalar_of(r, parameters[1], &zero)) return false;
    fill = wk_rewrite_scalar(r, wk_type_of(r, q)->dtype, zero);
    wk_value_id pair[] = {q, fill};
    in = wk_arena_memdup(r->c->scratch, pair, sizeof pair);
  }
  uint32_t n_in = n->op == WK_OP_PAD && zero != 0 ? 2 : n->op == WK_OP_PAD ? 1 : n->n_in;
  wk_op op = n->op;
  wk_value_id y = n->out[0], moved = wk_rewrite_add(r, op, n->attrs, n_in, in);
  if (moved == WK_NONE) return false;
  wk_value_id folded = wk_rewrite_folded(r, moved);
  return dequantise_last(r, y, folded != WK_NONE ? folded : moved, scale, parameters[1]);
}

/* The greatest of quantised values is that of their integers. */
static bool sink_pool(wk_rewrite *r, const wk_node *n) {
  const wk_node *d = wk_made_by(r, n->in[0], WK_OP_DEQUANTIZE);
  wk_affine x;
  if (!d || wk_gives_positions(r, n) || !wk_affine_of(r, n->in[0], &x)) return false;
  const wk_value_id y = n->out[0], parameters[2] = {d->in[1], d->in[2]};
  wk_value_id q = wk_rewrite_1(r, n->op, n->attrs, x.q);
  return dequantise_last(r, y, q, one_of(r, parameters[0]), one_of(r, parameters[1]));
}

/* Values of one scale are joined before they are dequantised. */
static bool sink_concat(wk_rewrite *r, const wk_node *n) {
  wk_affine first, x;
  const wk_node *d = wk_made_by(r, n->in[0], WK_OP_DEQUANTIZE);
  if (!d || !wk_affine_of(r, n->in[0], &first)) return false;
  const wk_value_id y = n->out[0], parameters[2] = {d->in[1], d->in[2]};
  wk_value_id *in = wk_arena_alloc(r->c->scratch, n->n_in * sizeof *in);
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (!wk_affine_of(r, n->in[k], &x) || x.dtype != first.dtype || x.scale != first.scale ||
        x.zero != first.zero)
      return false;
    in[k] = x.q;
  }
  wk_value_id q = wk_rewrite_add(r, n->op, n->attrs, n->n_in, in);
  return dequantise_last(r, y, q, one_of(r, parameters[0]), one_of(r, parameters[1]));
}

/* A split of quantised values as slices, which can sink. */
static bool cut(wk_rewrite *r, const wk_node *n) {
  if (n->op != WK_OP_SPLIT || !wk_made_by(r, n->in[0], WK_OP_DEQUANTIZE)) return false;
  const wk_attr_split *a = WK_ATTR(n, split);
  const wk_type x = *wk_type_of(r, n->in[0]);
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK];
  wk_value_id from = n->in[0], *out = wk_arena_memdup(r->c->scratch, n->out,
                                                      n->n_out * sizeof *out);
  bool any = false;
  memcpy(sizes, x.dims, sizeof sizes);
  for (uint32_t k = 0, parts = n->n_out; k < parts; k++) {
    sizes[a->axis] = a->sizes.v[k];
    if (out[k] != WK_NONE && r->uses[out[k]])
      any |= wk_rewrite_replace(r, out[k], wk_rewrite_slice(r, from, starts, sizes, NULL));
    starts[a->axis] += sizes[a->axis];
  }
  return any;
}

/* Movement that neither drops nor repeats values. */
static bool only_reorders(const wk_node *n) {
  return n->op == WK_OP_RESHAPE || n->op == WK_OP_TRANSPOSE;
}

/* What is computed, moved, then quantised is quantised before it moves. */
static bool rise(wk_rewrite *r, const wk_node *n) {
  double parameter;
  const wk_node *m = wk_def(r->g, n->in[0]);
  if (!m || !only_reorders(m) || m->predicate != WK_NONE || !wk_once(r, n->in[0])) return false;
  const wk_node *of = wk_def(r->g, m->in[0]), moved = *m;
  if (!of || of->op == WK_OP_DEQUANTIZE || !wk_once(r, m->in[0])) return false;
  if (!wk_scalar_of(r, n->in[1], &parameter) || !wk_scalar_of(r, n->in[2], &parameter))
    return false;
  const wk_value_id in[] = {moved.in[0], n->in[1], n->in[2]}, old = n->out[0];
  wk_value_id q = wk_rewrite_add(r, n->op, n->attrs, 3, in);
  return q != WK_NONE && wk_rewrite_replace(r, old, wk_rewrite_1(r, moved.op, moved.attrs, q));
}

/* What is computed, moved, then clamped is clamped before it moves, so that the clamp becomes the
 * range of what computes it. Bounds of integers may be no doubles. */
static bool rise_clamp(wk_rewrite *r, const wk_node *n) {
  double lo, hi;
  wk_value_id operand;
  if (!wk_dtype_is_float(wk_type_of(r, n->out[0])->dtype) ||
      !clamp_of(r, n->out[0], &lo, &hi, &operand) || !wk_once(r, operand))
    return false;
  const wk_node *m = wk_def(r->g, operand);
  if (!m || !only_reorders(m) || m->predicate != WK_NONE || !wk_once(r, m->in[0])) return false;
  const wk_node *of = wk_def(r->g, m->in[0]), moved = *m;
  if (!of || of->op == WK_OP_DEQUANTIZE) return false;
  wk_attr_clip *a = wk_attrs_new(r->arena, WK_OP_CLIP);
  a->lo = lo, a->hi = hi;
  wk_value_id y = n->out[0], clamped = wk_rewrite_1(r, WK_OP_CLIP, a, moved.in[0]);
  return clamped != WK_NONE &&
         wk_rewrite_replace(r, y, wk_rewrite_1(r, moved.op, moved.attrs, clamped));
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct {
  wk_op op;
  wk_integer_rule rule;
  wk_op form; /* what the operator becomes by itself */
} rules[] = {
    {WK_OP_CONV, wk_integer_contraction, WK_OP_CONV},
    {WK_OP_CONV_TRANSPOSE, wk_integer_contraction, WK_OP_CONV_TRANSPOSE},
    {WK_OP_MATMUL, wk_integer_contraction, WK_OP_MATMUL},
    {WK_OP_ADD, wk_integer_contraction, WK_OP_MAP}, /* of a product and its bias */
    {WK_OP_ADD, wk_integer_sum, WK_OP_MAP},
    {WK_OP_SUB, wk_integer_sum, WK_OP_MAP},
    {WK_OP_MUL, wk_integer_product, WK_OP_MAP},
    {WK_OP_WHERE, wk_integer_choice, WK_OP_MAP},
    {WK_OP_DEQUANTIZE, wk_integer_rescaled, WK_OP_MAP},
    {WK_OP_CONCAT, wk_integer_concat, WK_OP_CONCAT},
    {WK_OP_MAX_POOL, wk_integer_max_pool, WK_OP_MAX_POOL},
    {WK_OP_AVG_POOL, wk_integer_avg_pool, WK_OP_INTEGER_AVG_POOL},
    {WK_OP_RESIZE, wk_integer_resize, WK_OP_INTEGER_RESIZE},
    {WK_OP_REDUCE_MEAN, wk_integer_mean, WK_OP_REDUCE},
    {WK_OP_REDUCE_MAX, wk_integer_extreme, WK_OP_REDUCE_MAX},
    {WK_OP_REDUCE_MIN, wk_integer_extreme, WK_OP_REDUCE_MIN},
    {WK_OP_SOFTMAX, wk_integer_softmax, WK_OP_INTEGER_SOFTMAX},
    {WK_OP_LAYER_NORM, wk_integer_norm, WK_OP_INTEGER_NORM},
    {WK_OP_ADD, wk_integer_norm, WK_OP_MAP}, /* written out: its bias, its scale, its quotient */
    {WK_OP_MUL, wk_integer_norm, WK_OP_MAP},
    {WK_OP_DIV, wk_integer_norm, WK_OP_GATHER},
    {WK_OP_DIV, wk_integer_softmax, WK_OP_GATHER}, /* likewise */
    {WK_OP_MUL, wk_integer_softmax, WK_OP_MAP},
    {WK_OP_SUB, wk_integer_contraction, WK_OP_MAP}, /* of a product, channel by channel */
    {WK_OP_MUL, wk_integer_contraction, WK_OP_MAP},
    {WK_OP_DIV, wk_integer_contraction, WK_OP_GATHER},
    {WK_OP_BATCH_NORM, wk_integer_contraction, WK_OP_COUNT},
};

/* Movement that sinks below a dequantisation stays what it is. */
static wk_op moved_form(wk_op op) {
  bool moves = wk_op_get(op)->cls == WK_CLASS_MOVEMENT || op == WK_OP_IDENTITY ||
               op == WK_OP_GATHER || op == WK_OP_RESIZE;
  return moves ? op : WK_OP_COUNT;
}

/* Elementwise operators whose results, or operands, are no quantised reals. */
static const wk_op unreal[] = {
    WK_OP_CAST, WK_OP_BITCAST, WK_OP_NOT, WK_OP_BIT_NOT, WK_OP_AND, WK_OP_OR, WK_OP_XOR,
    WK_OP_BIT_AND, WK_OP_BIT_OR, WK_OP_BIT_XOR, WK_OP_SHIFT_LEFT, WK_OP_SHIFT_RIGHT,
    WK_OP_SHIFT_RIGHT_ROUND, WK_OP_RESCALE, WK_OP_EQUAL, WK_OP_LESS, WK_OP_LESS_EQUAL,
    WK_OP_GREATER, WK_OP_GREATER_EQUAL, WK_OP_IS_NAN, WK_OP_IS_INF};

wk_op wk_integer_form_of(wk_op op) {
  bool is_real = wk_op_get(op)->cls == WK_CLASS_ELEMENTWISE;
  for (size_t k = 0; k < WK_COUNTOF(rules); k++)
    if (rules[k].op == op) return rules[k].form;
  for (size_t k = 0; k < WK_COUNTOF(unreal); k++) is_real = is_real && unreal[k] != op;
  if (op == WK_OP_QUANTIZE) return WK_OP_MAP;
  return is_real && op != WK_OP_IDENTITY ? WK_OP_GATHER : moved_form(op);
}

static bool convert(wk_rewrite *r, const wk_node *n) {
  wk_integer_result y;
  wk_value_id old = n->out[0], new = WK_NONE;
  if (!result_of(r, n, &y)) return false;
  const wk_node *def = wk_def(r->g, y.from);
  if (!def || def->predicate != WK_NONE || def->out[0] != y.from) return false;
  wk_type type = *y.type;
  y.type = &type;
  r->name = def->name; /* reports speak of the operator, not of its quantisation */
  for (size_t i = 0; i < WK_COUNTOF(rules) && new == WK_NONE; i++)
    if (rules[i].op == wk_def(r->g, y.from)->op) new = rules[i].rule(r, wk_def(r->g, y.from), &y);
  if (new == WK_NONE) new = wk_integer_table(r, wk_def(r->g, y.from), &y);
  return wk_rewrite_replace(r, old, new);
}

static bool rewrite(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->predicate != WK_NONE) return false;
  if (n->op == WK_OP_QUANTIZE) return convert(r, n) || rise(r, n);
  if (n->op == WK_OP_MAX_POOL) return sink_pool(r, n);
  if (n->op == WK_OP_CONCAT) return sink_concat(r, n);
  return cut(r, n) || rise_clamp(r, n) || (only_moves(r, n) && sink(r, n));
}

static bool rewrite_rest(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->predicate != WK_NONE || (n->op != WK_OP_CONV && n->op != WK_OP_MATMUL)) return false;
  return wk_rewrite_replace(r, n->out[0], wk_integer_to_real(r, n));
}

/* Scales that the graph computes from constants. Weights stay as they are. */
static wk_status fold_parameters(wk_graph *g) {
  size_t n = g->nodes.n;
  for (size_t i = 0; i < n; i++) {
    bool folded;
    if (wk_eval_widens(g, &g->nodes.data[i])) continue;
    WK_TRY(wk_eval_fold(g, (wk_node_id)i, FOLD_BYTES, &folded));
  }
  return wk_graph_normalise(g);
}

/* Again while it finds something: what sinks late makes an operator of integers of what stands
 * before it in the order of nodes. */
static wk_status rewrite_all(wk_graph *g, wk_pass_ctx *c) {
  enum { MOST_TIMES = 64 };
  int64_t before = -1;
  for (int i = 0; i < MOST_TIMES && c->changes != before; i++) {
    before = c->changes;
    WK_TRY(wk_rewrite_run(g, c, rewrite));
  }
  return NULL;
}

static wk_status convert_graph(wk_graph *g, wk_pass_ctx *c) {
  bool is_quantised = false;
  for (size_t i = 0; i < g->nodes.n; i++) is_quantised |= g->nodes.data[i].op == WK_OP_DEQUANTIZE;
  if (!is_quantised) return NULL;
  WK_TRY(fold_parameters(g));
  WK_TRY(wk_integer_states(g, c));
  WK_TRY(rewrite_all(g, c));
  WK_TRY(wk_rewrite_run(g, c, rewrite_rest));
  return wk_integer_compose_graph(g, c);
}

wk_status wk_integer_convert(wk_module *m, int64_t *changes) {
  static const wk_pass step = {.name = "integer", .run = convert_graph};
  wk_module_note_quantised(m);
  return wk_pass_run_one(m, &step, NULL, changes);
}
