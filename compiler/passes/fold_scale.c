/* SPDX-License-Identifier: Apache-2.0
 * y = s * x + t per channel with constant s and t (batch norm, and mul, div, add, sub by constants)
 * folded into a neighbour:
 *   behind   a convolution or product whose result nobody else uses: its weights and bias
 *   before   a convolution or product: likewise; t only where it is small and no padding is added
 *   behind   another batch norm: its scale and bias
 * New constants are computed in f64. Weights that others share stay as they are, and so does what
 * is f16 or bf16: one rounding less is another result. */
#include <math.h>
#include <string.h>

#include "compiler/passes/rewrite.h"

#define MAX_CHANNELS (1 << 20)

/* How many times what x varies by a shift may be to go through a contraction. Where s x + t is
 * small, sums of (w s) x are as large as w t and are rounded as such: the result loses as many bits
 * as the shift is larger than what it leaves. 8 of 24 bits may go: numbers from 0 to 255 may be
 * centred. */
#define MAX_SHIFT 256

/* s and t of a node over channel axis `axis` of its operand x; arrays of n in scratch. */
typedef struct {
  wk_value_id x;
  int axis;
  int64_t n;
  double *s, *t;
  bool shifts, scales; /* some t != 0; some s != 1 */
  bool cancels;        /* some t is far larger than what s x varies by */
} affine;

static bool is_real(const wk_rewrite *r, wk_value_id v) {
  const wk_type *t = wk_type_of(r, v);
  return wk_dtype_is_float(t->dtype) && !t->quant;
}

/* ---- what a node computes per channel ------------------------------------------------------- */

/* Element of constant v for channel i when v broadcasts to y and differs along the axis at most. */
static bool channel_values(const wk_rewrite *r, wk_value_id v, const wk_type *y, int axis,
                           double *values) {
  if (!wk_known(r, v) || !is_real(r, v)) return false;
  const wk_value *c = wk_val(r->g, v);
  int own = axis - (y->rank - c->type.rank);
  int64_t count = wk_type_count(&c->type);
  bool along = own >= 0 && c->type.dims[own] == y->dims[axis];
  if (c->type.rank > y->rank || count != (along ? y->dims[axis] : 1)) return false;
  for (int64_t i = 0; i < y->dims[axis]; i++)
    values[i] = wk_load_f64(c->data, c->type.dtype, count == 1 ? 0 : i);
  return true;
}

static bool affine_of_norm(const wk_rewrite *r, const wk_node *n, affine *a) {
  const wk_value *c[4];
  for (uint32_t k = 0; k < 4; k++) {
    if (!wk_known(r, n->in[k + 1])) return false;
    c[k] = wk_val(r->g, n->in[k + 1]);
  }
  double epsilon = WK_ATTR(n, batch_norm)->epsilon;
  for (int64_t i = 0; i < a->n; i++) {
    double v[4];
    for (int k = 0; k < 4; k++) v[k] = wk_load_f64(c[k]->data, c[k]->type.dtype, i);
    a->s[i] = v[0] / sqrt(v[3] + epsilon);
    a->t[i] = v[1] - v[2] * a->s[i];
    a->cancels |= fabs(v[2]) > MAX_SHIFT * sqrt(v[3] + epsilon);
  }
  return true;
}

/* mul, div, add, sub of x and a constant; x is taken to vary by about 1. */
static bool affine_of_pair(const wk_rewrite *r, const wk_node *n, uint32_t x, affine *a) {
  double *c = wk_arena_alloc(r->c->scratch, (size_t)a->n * sizeof *c);
  if (!channel_values(r, n->in[1 - x], wk_type_of(r, n->out[0]), a->axis, c)) return false;
  for (int64_t i = 0; i < a->n; i++) {
    a->s[i] = 1;
    a->t[i] = 0;
    switch (n->op) {
    case WK_OP_ADD: a->t[i] = c[i]; break;
    case WK_OP_MUL: a->s[i] = c[i]; break;
    case WK_OP_SUB:
      a->s[i] = x ? -1 : 1;
      a->t[i] = x ? c[i] : -c[i];
      break;
    default:
      if (x) return false; /* c / x */
      a->s[i] = 1 / c[i];
      break;
    }
    a->cancels |= fabs(a->t[i]) > MAX_SHIFT;
  }
  return true;
}

/* n as s * x + t with x = operand k; axis counts from the left. */
static bool affine_of(const wk_rewrite *r, const wk_node *n, uint32_t k, int axis, affine *a) {
  const wk_type *x = wk_type_of(r, n->in[k]), *y = wk_type_of(r, n->out[0]);
  bool norm = n->op == WK_OP_BATCH_NORM;
  if (!is_real(r, n->in[k]) || !wk_type_equal(x, y) || axis >= y->rank || (norm && axis != 1))
    return false;
  *a = (affine){.x = n->in[k], .axis = axis, .n = y->dims[axis]};
  if (a->n < 1 || a->n > MAX_CHANNELS) return false;
  a->s = wk_arena_alloc(r->c->scratch, 2 * (size_t)a->n * sizeof *a->s);
  a->t = a->s + a->n;
  if (!(norm ? affine_of_norm(r, n, a) : affine_of_pair(r, n, k, a))) return false;
  for (int64_t i = 0; i < a->n; i++) {
    if (!isfinite(a->s[i]) || !isfinite(a->t[i])) return false;
    a->scales |= a->s[i] != 1;
    a->shifts |= a->t[i] != 0;
  }
  return true;
}

static bool is_affine_op(wk_op op) {
  return op == WK_OP_BATCH_NORM || op == WK_OP_MUL || op == WK_OP_DIV || op == WK_OP_ADD ||
         op == WK_OP_SUB;
}

/* The node that makes v as an affine map of one of its operands. */
static bool affine_at(const wk_rewrite *r, wk_value_id v, int axis, affine *a) {
  const wk_node *n = wk_def(r->g, v);
  if (!n || n->dead || n->predicate != WK_NONE || !is_affine_op(n->op) || !wk_once(r, v))
    return false;
  uint32_t operands = n->op == WK_OP_BATCH_NORM ? 1 : 2;
  for (uint32_t k = 0; k < operands; k++)
    if (affine_of(r, n, k, axis, a)) return true;
  return false;
}

/* ---- contractions --------------------------------------------------------------------------- */

static bool is_plain_contraction(const wk_rewrite *r, const wk_node *n) {
  if (!wk_op_takes_extras(n->op)) return false;
  return !wk_op_epilogue(n->op, n->attrs) && n->n_in <= 3 && n->n_out == 1 &&
         n->predicate == WK_NONE && is_real(r, n->in[0]);
}

static int output_axis(const wk_node *n, const wk_type *y) {
  return n->op == WK_OP_MATMUL ? y->rank - 1 : 1;
}

/* Weights as rows of `minor` times `inner` elements. Rows belong to one kind of channel, the
 * position within a row, counted from the group's first, to the other. */
typedef struct {
  bool row_is_output;
  int64_t rows, minor, inner, group, channels; /* channels: of the row's kind */
} weight_map;

static weight_map map_weights(const wk_node *n, const wk_type *w) {
  if (n->op == WK_OP_MATMUL) {
    int64_t k = w->dims[w->rank - 2], columns = w->dims[w->rank - 1];
    int64_t rows = columns ? wk_type_count(w) / columns : 0;
    return (weight_map){false, rows, columns, 1, 1, k};
  }
  bool conv = n->op == WK_OP_CONV;
  weight_map m = {conv, w->dims[0], w->dims[1], 1, 1, w->dims[0]};
  m.group = conv ? WK_ATTR(n, conv)->group : WK_ATTR(n, conv_transpose)->group;
  for (int i = 2; i < w->rank; i++) m.inner *= w->dims[i];
  return m;
}

/* Channel of the first position of a row. */
static int64_t first_of_row(const weight_map *m, int64_t row) {
  return m->group == 1 ? 0 : row / (m->rows / m->group) * m->minor;
}

static bool store_all(void *data, wk_dtype t, const double *v, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    wk_store_f64(data, t, i, v[i]);
    if (!isfinite(wk_load_f64(data, t, i))) return false;
  }
  return true;
}

/* A constant [n] of these values; WK_NONE when one does not fit the element type. */
static wk_value_id vector_constant(wk_rewrite *r, wk_dtype t, const double *v, int64_t n) {
  void *data;
  wk_type type = wk_type_make(t, 1, &n);
  wk_value_id id = wk_rewrite_constant(r, &type, &data);
  return id != WK_NONE && store_all(data, t, v, n) ? id : WK_NONE;
}

/* One row times one factor per position, or one for all of it; false when a finite weight
 * overflows. */
static bool scale_row(const weight_map *m, wk_dtype t, const void *from, void *to, int64_t row,
                      const double *factor, bool each) {
  int64_t at = row * m->minor * m->inner, n = each ? m->inner : m->minor * m->inner;
  int64_t parts = each ? m->minor : 1;
  bool finite = true;
  for (int64_t j = 0; j < parts; j++, at += n) {
    const float *x = (const float *)from + at;
    float *y = (float *)to + at;
    for (int64_t k = 0; t == WK_F32 && k < n; k++) {
      y[k] = (float)(x[k] * factor[j]);
      finite &= isfinite(y[k]) || !isfinite(x[k]);
    }
    for (int64_t k = at; t != WK_F32 && k < at + n; k++) {
      double v = wk_load_f64(from, t, k);
      wk_store_f64(to, t, k, v * factor[j]);
      finite &= isfinite(wk_load_f64(to, t, k)) || !isfinite(v);
    }
  }
  return finite;
}

/* Weights times s, by output or by input channel. */
static wk_value_id scaled_weights(wk_rewrite *r, const wk_node *n, const affine *a, bool by_input) {
  const wk_type t = *wk_type_of(r, n->in[1]);
  void *data;
  if (!a->scales) return n->in[1];
  wk_value_id source = wk_rewrite_folded(r, n->in[1]);
  if (source == WK_NONE) return source;
  const void *from = wk_val(r->g, source)->data;
  wk_value_id id = wk_rewrite_constant(r, &t, &data);
  if (id == WK_NONE) return id;
  weight_map m = map_weights(n, &t);
  bool by_row = m.row_is_output != by_input;
  for (int64_t row = 0; row < m.rows; row++) {
    const double *factor = a->s + (by_row ? row % m.channels : first_of_row(&m, row));
    if (!scale_row(&m, t.dtype, from, data, row, factor, !by_row)) return WK_NONE;
  }
  return id;
}

/* bias += weights times t of the input channels. */
static void add_products(const weight_map *m, const void *weights, wk_dtype type, const double *t,
                         double *bias) {
  int64_t at = 0;
  for (int64_t row = 0; row < m->rows; row++) {
    int64_t first = first_of_row(m, row);
    for (int64_t j = 0; j < m->minor; j++) {
      double sum = 0;
      for (int64_t k = 0; k < m->inner; k++) sum += wk_load_f64(weights, type, at++);
      if (m->row_is_output) bias[row] += sum * t[first + j];
      else bias[first + j] += sum * t[row % m->channels];
    }
  }
}

static bool bias_is_open(const wk_rewrite *r, const wk_node *n) {
  return n->n_in < 3 || n->in[2] == WK_NONE || wk_known(r, n->in[2]);
}

static double *bias_values(const wk_rewrite *r, const wk_node *n, int64_t channels) {
  double *b = wk_arena_alloc(r->c->scratch, (size_t)channels * sizeof *b);
  const wk_value *v = n->n_in > 2 && n->in[2] != WK_NONE ? wk_val(r->g, n->in[2]) : NULL;
  for (int64_t i = 0; v && i < channels; i++) b[i] = wk_load_f64(v->data, v->type.dtype, i);
  return b;
}

/* May the weights be replaced: a constant, or the transpose of one, that nobody else uses. */
static bool owns_weights(const wk_rewrite *r, const wk_node *n) {
  const wk_node *t = wk_made_by(r, n->in[1], WK_OP_TRANSPOSE);
  if (!is_real(r, n->in[1]) || !wk_once(r, n->in[1])) return false;
  return wk_known(r, n->in[1]) || (t && wk_known(r, t->in[0]) && wk_once(r, t->in[0]));
}

static wk_value_id rebuild(wk_rewrite *r, const wk_node *n, wk_value_id x, wk_value_id w,
                           const double *bias, int64_t channels, bool without_bias) {
  wk_value_id b = WK_NONE;
  if (w == WK_NONE) return WK_NONE;
  if (!without_bias) {
    b = vector_constant(r, wk_type_of(r, x)->dtype, bias, channels);
    if (b == WK_NONE) return WK_NONE;
  }
  const wk_value_id in[] = {x, w, b};
  return wk_rewrite_add(r, n->op, wk_attrs_clone(r->arena, n->op, n->attrs), without_bias ? 2 : 3,
                        in);
}

/* ---- rules ---------------------------------------------------------------------------------- */

static bool has_bias(const wk_node *n) { return n->n_in > 2 && n->in[2] != WK_NONE; }

/* An affine map of a contraction. */
static bool into_producer(wk_rewrite *r, const wk_node *n, uint32_t k) {
  affine a;
  const wk_node *def = wk_def(r->g, n->in[k]);
  if (!def || def->dead || !is_plain_contraction(r, def) || !wk_once(r, n->in[k]) ||
      !bias_is_open(r, def))
    return false;
  const wk_node p = *def;
  const wk_type y = *wk_type_of(r, n->out[0]);
  if (!affine_of(r, n, k, output_axis(&p, &y), &a) || (a.scales && !owns_weights(r, &p)))
    return false;
  double *b = bias_values(r, &p, a.n);
  for (int64_t i = 0; i < a.n; i++) b[i] = b[i] * a.s[i] + a.t[i];
  wk_value_id w = scaled_weights(r, &p, &a, false);
  return wk_rewrite_replace(r, n->out[0], rebuild(r, &p, p.in[0], w, b, a.n,
                                                  !has_bias(&p) && !a.shifts));
}

/* An affine map of a batch norm with known scale and bias. */
static bool into_norm(wk_rewrite *r, const wk_node *n, uint32_t k) {
  affine a;
  const wk_node *def = wk_made_once_by(r, n->in[k], WK_OP_BATCH_NORM);
  if (!def || !wk_known(r, def->in[1]) || !wk_known(r, def->in[2]) || !affine_of(r, n, k, 1, &a))
    return false;
  const wk_node p = *def;
  const wk_value *scale = wk_val(r->g, p.in[1]), *bias = wk_val(r->g, p.in[2]);
  double *v = wk_arena_alloc(r->c->scratch, 2 * (size_t)a.n * sizeof *v), *b = v + a.n;
  for (int64_t i = 0; i < a.n; i++) {
    v[i] = wk_load_f64(scale->data, scale->type.dtype, i) * a.s[i];
    b[i] = wk_load_f64(bias->data, bias->type.dtype, i) * a.s[i] + a.t[i];
  }
  wk_dtype t = scale->type.dtype;
  const wk_value_id in[] = {p.in[0], vector_constant(r, t, v, a.n), vector_constant(r, t, b, a.n),
                            p.in[3], p.in[4]};
  if (in[1] == WK_NONE || in[2] == WK_NONE) return false;
  void *attrs = wk_attrs_clone(r->arena, WK_OP_BATCH_NORM, p.attrs);
  return wk_rewrite_replace(r, n->out[0], wk_rewrite_add(r, WK_OP_BATCH_NORM, attrs, 5, in));
}

static bool has_padding(const wk_node *n) {
  if (n->op == WK_OP_MATMUL) return false;
  wk_ints pads = WK_ATTR(n, conv)->pads;
  for (int64_t i = 0; i < pads.n; i++)
    if (pads.v[i]) return true;
  return false;
}

/* A contraction of an affine map: sum w (s x + t) = sum (w s) x + sum w t. */
static bool into_consumer(wk_rewrite *r, const wk_node *n) {
  affine a;
  const wk_type x = *wk_type_of(r, n->in[0]), w = *wk_type_of(r, n->in[1]);
  if (n->op == WK_OP_CONV_TRANSPOSE || !is_plain_contraction(r, n) || !owns_weights(r, n) ||
      !bias_is_open(r, n) || (n->op == WK_OP_MATMUL && w.rank != 2))
    return false;
  int axis = n->op == WK_OP_MATMUL ? x.rank - 1 : 1;
  if (!affine_at(r, n->in[0], axis, &a) || (a.shifts && (a.cancels || has_padding(n))))
    return false;
  const wk_type y = *wk_type_of(r, n->out[0]);
  int64_t channels = y.dims[output_axis(n, &y)];
  double *b = bias_values(r, n, channels);
  weight_map m = map_weights(n, &w);
  wk_value_id known = a.shifts ? wk_rewrite_folded(r, n->in[1]) : WK_NONE;
  if (known != WK_NONE) add_products(&m, wk_val(r->g, known)->data, w.dtype, a.t, b);
  else if (a.shifts) return false;
  wk_value_id scaled = scaled_weights(r, n, &a, true);
  return wk_rewrite_replace(r, n->out[0], rebuild(r, n, a.x, scaled, b, channels,
                                                  !has_bias(n) && !a.shifts));
}

static bool fold(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  bool is_contraction = n->op == WK_OP_CONV || n->op == WK_OP_MATMUL;
  (void)id;
  if (!is_contraction && !is_affine_op(n->op)) return false;
  wk_dtype t = wk_type_of(r, n->out[0])->dtype;
  if (wk_compute_dtype(t) != t) return false; /* each operator rounds to it */
  if (is_contraction) return into_consumer(r, n);
  uint32_t operands = n->op == WK_OP_BATCH_NORM ? 1 : 2;
  for (uint32_t k = 0; k < operands; k++)
    if (into_producer(r, n, k) || into_norm(r, n, k)) return true;
  return false;
}

wk_status wk_pass_fold_scale(wk_graph *g, wk_pass_ctx *c) { return wk_rewrite_run(g, c, fold); }
