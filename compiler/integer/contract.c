/* SPDX-License-Identifier: Apache-2.0
 * Convolutions and matrix products of quantised operands: 8-bit operands, i32 sums, the zero points
 * algebra (quant.h), one rescaling in the epilogue. */
#include <math.h>

#include "compiler/integer/rules.h"

#define MAX_CHANNELS (1 << 20)

typedef struct {
  wk_op op;
  const void *attrs;
  const char *name;
  wk_affine x;
  wk_affine w;           /* a product of two activations */
  wk_value_id weights;   /* a constant [oc,c/group,k…] or [k,n]; WK_NONE: w */
  double *w_scale;       /* per output channel */
  double *w_zero;        /* of the first n_weights channels, which repeat */
  int64_t channels, n_weights;
  double y_scale;       /* of the result; 0: it is real */
  double *real_bias;    /* per output channel, of a real result; NULL: none */
  wk_value_id bias;     /* i32 constant or WK_NONE */
  wk_value_id extra[4]; /* operands of the epilogue */
  uint32_t n_extra;
} contraction;

static bool is_plain(const wk_node *n) {
  return wk_op_takes_extras(n->op) && !wk_op_epilogue(n->op, n->attrs) && n->n_in <= 3;
}

static int64_t *ints(wk_rewrite *r, int64_t n) {
  return wk_arena_alloc(r->c->scratch, (size_t)n * sizeof(int64_t));
}

/* Axis of the weights that is the output channel, and of the result. */
static int weight_axis(const contraction *c, const wk_type *w) {
  return c->op == WK_OP_MATMUL ? w->rank - 1 : c->op == WK_OP_CONV ? 0 : 1;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* A constant parameter of the weights as one number per output channel. */
static bool per_channel(wk_rewrite *r, const wk_type *w, int axis, int64_t n, wk_value_id v,
                        double *out) {
  v = wk_rewrite_folded(r, v); /* many are a view of the model's */
  if (v == WK_NONE) return false;
  const wk_value *p = wk_val(r->g, v);
  int64_t count = wk_type_count(&p->type);
  int own = axis - (w->rank - p->type.rank);
  bool along = own >= 0 && own < p->type.rank && p->type.dims[own] == count;
  if (count != 1 && (count != n || !along)) return false;
  for (int64_t i = 0; i < n; i++) out[i] = wk_load_f64(p->data, p->type.dtype, count == 1 ? 0 : i);
  return true;
}

/* Weights less their zero points as i8, or i16 where that does not fit, times the sign of their
 * scale: 0 where that is 0. Those that this leaves as they are are used so. */
static wk_value_id centred_weights(wk_rewrite *r, wk_value_id v, int axis, const double *zero,
                                   const double *scale, int64_t channels) {
  const wk_type t = *wk_type_of(r, v);
  bool any = t.dtype != WK_I8;
  for (int64_t i = 0; i < channels; i++) any |= zero[i] != 0 || !(scale[i] > 0);
  if (!any) return v;
  int64_t n = wk_type_count(&t), inner = 1, *q = ints(r, n), least = 0, most = 0;
  for (int k = axis + 1; k < t.rank; k++) inner *= t.dims[k];
  for (int64_t i = 0; i < n; i++) {
    int64_t channel = i / inner % channels, sign = (scale[channel] > 0) - (scale[channel] < 0);
    q[i] = (wk_load_i64(wk_val(r->g, v)->data, t.dtype, i) - (int64_t)zero[channel]) * sign;
    if (q[i] < least) least = q[i];
    if (q[i] > most) most = q[i];
  }
  void *data;
  wk_type narrow = wk_type_make(least >= -128 && most <= 127 ? WK_I8 : WK_I16, t.rank, t.dims);
  wk_value_id y = wk_rewrite_constant(r, &narrow, &data);
  for (int64_t i = 0; y != WK_NONE && i < n; i++) wk_store_i64(data, narrow.dtype, i, q[i]);
  return y;
}

static bool take_weights(wk_rewrite *r, contraction *c, wk_value_id v) {
  const wk_node *d = wk_made_by(r, v, WK_OP_DEQUANTIZE);
  if (!d) return false;
  wk_value_id in[3] = {d->in[0], d->in[1], d->in[2]}, q = wk_rewrite_folded(r, in[0]);
  if (q == WK_NONE) return false;
  const wk_type w = *wk_type_of(r, q);
  int axis = weight_axis(c, &w);
  int64_t n = w.dims[axis], groups = 1; /* of one group: parameters repeat from group to group */
  if (c->op == WK_OP_CONV_TRANSPOSE) groups = ((const wk_attr_conv_transpose *)c->attrs)->group;
  if ((w.dtype != WK_I8 && w.dtype != WK_U8) || n < 1 || n * groups > MAX_CHANNELS) return false;
  c->channels = n * groups;
  double *scale = wk_arena_alloc(r->c->scratch, 2 * (size_t)c->channels * sizeof *scale);
  c->w_zero = scale + c->channels;
  if (!per_channel(r, &w, axis, n, in[1], scale) || !per_channel(r, &w, axis, n, in[2], c->w_zero))
    return false;
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(scale[i])) return false;
  for (int64_t i = n; i < c->channels; i++) scale[i] = scale[i % n];
  c->weights = q;
  c->w_scale = scale;
  c->n_weights = n;
  return true;
}

/* Factors of the channels go into the scales of their weights. Those that groups share have one
 * sign. */
static bool scale_weights(contraction *c, const double *gain) {
  bool is_shared = c->n_weights < c->channels;
  for (int64_t i = 0; i < c->channels; i++) {
    if (is_shared && !(gain[i] > 0)) return false;
    c->w_scale[i] *= gain[i];
  }
  return true;
}

static bool centre_weights(wk_rewrite *r, contraction *c) {
  int axis = weight_axis(c, wk_type_of(r, c->weights));
  c->weights = centred_weights(r, c->weights, axis, c->w_zero, c->w_scale, c->n_weights);
  for (int64_t i = 0; i < c->channels; i++) c->w_scale[i] = fabs(c->w_scale[i]);
  return c->weights != WK_NONE;
}

/* Most are bytes, and there are many. */
static int64_t weight_at(const wk_value *v, int64_t i) {
  return v->type.dtype == WK_I8 ? ((const int8_t *)v->data)[i]
                                : wk_load_i64(v->data, v->type.dtype, i);
}

/* Sum of the weights of each output channel; not for transposed convolutions. */
static int64_t *weight_sums(wk_rewrite *r, const contraction *c) {
  const wk_value *v = wk_val(r->g, c->weights);
  int axis = weight_axis(c, &v->type);
  int64_t n = wk_type_count(&v->type), inner = 1, *sum = ints(r, c->channels);
  for (int k = axis + 1; k < v->type.rank; k++) inner *= v->type.dims[k];
  for (int64_t i = 0, channel = 0; i < n; i += inner, channel++) {
    if (channel == c->channels) channel = 0;
    for (int64_t k = i; k < i + inner; k++) sum[channel] += weight_at(v, k);
  }
  return sum;
}

/* ---- bias ------------------------------------------------------------------------------------ */

static bool is_dead_channel(const wk_rewrite *r, const contraction *c, int64_t channel) {
  const wk_value *v = wk_val(r->g, c->weights);
  int axis = weight_axis(c, &v->type);
  int64_t n = wk_type_count(&v->type), inner = 1, along = v->type.dims[axis];
  for (int k = axis + 1; k < v->type.rank; k++) inner *= v->type.dims[k];
  for (int64_t i = 0; i < n; i++)
    if (i / inner % along == channel % along && wk_load_i64(v->data, v->type.dtype, i))
      return false;
  return true;
}

/* The bias in units of the accumulator, of which it leaves half to the products. What that rounds
 * has to be small beside a step of the result. A channel whose weights are all 0 may have any
 * scale: one in which its bias fits. */
static bool add_bias(wk_rewrite *r, const contraction *c, const double *bias, int64_t *sum) {
  for (int64_t i = 0; i < c->channels; i++) {
    if (c->w_scale[i] == 0 && bias[i] == 0) continue; /* there is nothing to scale */
    if (fabs(bias[i]) >= c->x.scale * c->w_scale[i] * 0x1p29 && is_dead_channel(r, c, i))
      c->w_scale[i] = fabs(bias[i]) / c->x.scale * 0x1p-24;
    double unit = c->x.scale * c->w_scale[i], exact = bias[i] / unit, whole = nearbyint(exact);
    if (!(fabs(whole) < 0x1p30)) return false;
    if (fabs(exact - whole) * unit > c->y_scale * 0x1p-7) return false;
    sum[i] += (int64_t)whole;
  }
  return true;
}

static bool store_bias(wk_rewrite *r, contraction *c, const int64_t *sum) {
  bool any = false;
  void *data;
  for (int64_t i = 0; i < c->channels; i++) any |= (int32_t)sum[i] != 0;
  c->bias = WK_NONE;
  if (!any) return true;
  wk_type t = wk_type_make(WK_I32, 1, &c->channels);
  c->bias = wk_rewrite_constant(r, &t, &data);
  for (int64_t i = 0; c->bias != WK_NONE && i < c->channels; i++)
    ((int32_t *)data)[i] = (int32_t)(uint32_t)sum[i];
  return c->bias != WK_NONE;
}

/* ---- operands -------------------------------------------------------------------------------- */

static wk_value_id widened(wk_rewrite *r, wk_value_id q, int64_t zero) {
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t v = wk_expr_cast(b, WK_I16, wk_expr_input(b, 0, wk_type_of(r, q)->dtype));
  if (zero) v = wk_expr_2(b, WK_EX_SUB, v, wk_expr_i(b, WK_I16, zero));
  return wk_integer_map(r, b, v, 1, &q);
}

static wk_value_id widened_weights(wk_rewrite *r, wk_value_id v) {
  wk_type t = *wk_type_of(r, v);
  void *data;
  t.dtype = WK_I16;
  wk_value_id y = wk_rewrite_constant(r, &t, &data);
  const wk_value *from = wk_val(r->g, v);
  for (int64_t i = 0; y != WK_NONE && i < wk_type_count(&t); i++)
    ((int16_t *)data)[i] = (int16_t)wk_load_i64(from->data, from->type.dtype, i);
  return y;
}

/* Weights of a product that differ from batch to batch: so do their sums. */
static bool is_batched(const contraction *c, const wk_type *w) {
  int64_t batch = 1;
  for (int k = 0; k < w->rank - 2; k++) batch *= w->dims[k];
  return c->op == WK_OP_MATMUL && batch != 1;
}

/* x as the weights want it. A transposed convolution has holes where nothing is padded, and weights
 * of more than 8 bits need as much for x: there, and where the weights vary along the batch, x
 * loses its zero point first. */
static bool settle_operands(wk_rewrite *r, contraction *c, int64_t *sum) {
  bool wide = wk_type_of(r, c->weights)->dtype == WK_I16;
  bool varies = c->op == WK_OP_CONV_TRANSPOSE || is_batched(c, wk_type_of(r, c->weights));
  if (wide || (varies && c->x.zero)) {
    c->x.q = widened(r, c->x.q, c->x.zero);
    c->x.zero = 0;
    if (!wide) c->weights = widened_weights(r, c->weights);
  }
  if (c->x.q == WK_NONE || c->weights == WK_NONE) return false;
  if (c->x.zero == 0) return true;
  const int64_t *weights = weight_sums(r, c);
  for (int64_t i = 0; i < c->channels; i++) sum[i] -= c->x.zero * weights[i];
  return true;
}

/* ---- epilogues ------------------------------------------------------------------------------- */

/* A constant operand of the epilogue, one number per output channel. */
static uint16_t channel_operand(wk_rewrite *r, contraction *c, wk_expr_builder *b, wk_dtype t,
                                const double *v, int y_rank) {
  int64_t dims[WK_MAX_RANK], n = c->channels;
  int rank = c->op == WK_OP_MATMUL ? 1 : y_rank - 1;
  void *data;
  bool same = true;
  for (int64_t i = 1; i < n; i++) same &= v[i] == v[0];
  if (same)
    return wk_dtype_is_float(t) ? wk_expr_f(b, t, v[0]) : wk_expr_i(b, WK_I64, (int64_t)v[0]);
  for (int k = 0; k < rank; k++) dims[k] = k ? 1 : n;
  wk_type type = wk_type_make(t, rank, dims);
  wk_value_id id = wk_rewrite_constant(r, &type, &data);
  for (int64_t i = 0; id != WK_NONE && i < n; i++) wk_store_f64(data, t, i, v[i]);
  c->extra[c->n_extra++] = id;
  uint16_t in = wk_expr_input(b, c->n_extra, t);
  return wk_dtype_is_float(t) ? in : wk_expr_cast(b, WK_I64, in);
}

static bool rescale_operands(wk_rewrite *r, contraction *c, wk_expr_builder *b, double y_scale,
                             int y_rank, uint16_t *mult, uint16_t *shift) {
  double *m = wk_arena_alloc(r->c->scratch, 2 * (size_t)c->channels * sizeof *m),
         *s = m + c->channels;
  for (int64_t i = 0; i < c->channels; i++) {
    wk_rescale scale;
    float factor = (float)c->x.scale * (float)c->w_scale[i] / (float)y_scale;
    if (factor < 0x1p-60f) scale = (wk_rescale){0, 1}; /* nothing of it is left */
    else if (!wk_rescale_of(factor, &scale)) return false;
    m[i] = (double)scale.mult;
    s[i] = scale.shift;
  }
  *mult = channel_operand(r, c, b, WK_I32, m, y_rank);
  *shift = channel_operand(r, c, b, WK_I32, s, y_rank);
  return true;
}

/* Of two activations, which keep their zero points. */
static wk_value_id product(wk_rewrite *r, const contraction *c, const wk_expr *epilogue) {
  wk_attr_integer_matmul *a = wk_attrs_new(r->arena, WK_OP_INTEGER_MATMUL);
  a->a_zero = c->x.zero;
  a->b_zero = c->w.zero;
  a->epilogue = epilogue;
  return wk_rewrite_2(r, WK_OP_INTEGER_MATMUL, a, c->x.q, c->w.q);
}

static wk_value_id finish(wk_rewrite *r, const contraction *c, wk_expr_builder *b,
                          uint16_t result) {
  const wk_expr *e = wk_expr_finish(b, &result, 1);
  r->name = c->name;
  if (c->weights == WK_NONE) return product(r, c, e);
  void *attrs = wk_attrs_clone(r->arena, c->op, c->attrs);
  wk_op_set_epilogue(c->op, attrs, e);
  if (c->op == WK_OP_CONV) ((wk_attr_conv *)attrs)->pad_value = c->x.zero;
  wk_value_id in[8] = {c->x.q, c->weights, c->bias};
  uint32_t n = c->bias == WK_NONE && !c->n_extra ? 2 : 3;
  for (uint32_t k = 0; k < c->n_extra; k++) {
    if (c->extra[k] == WK_NONE) return WK_NONE;
    in[n++] = c->extra[k];
  }
  return wk_rewrite_add(r, c->op, attrs, n, in);
}

/* ---- the rules ------------------------------------------------------------------------------- */

/* Of constant weights, with all that is computed per channel afterwards. */
static bool settle_weights(wk_rewrite *r, contraction *c, wk_value_id own,
                           const wk_channel_steps *steps, int from_end) {
  size_t size = (size_t)c->channels * sizeof(double);
  double *gain = wk_arena_alloc(r->c->scratch, size), *bias = wk_arena_alloc(r->c->scratch, size);
  int64_t *sum = ints(r, c->channels);
  for (int64_t i = 0; i < c->channels; i++) gain[i] = 1;
  if (own != WK_NONE && !wk_channel_reals(r, own, c->channels, 0, bias)) return false;
  if (steps->n && !wk_channel_steps_apply(r, steps, c->channels, from_end, gain, bias))
    return false;
  if (!scale_weights(c, gain) || !centre_weights(r, c)) return false;
  if (c->y_scale == 0 && own != WK_NONE) c->real_bias = bias;
  if (c->y_scale > 0 && !add_bias(r, c, bias, sum)) return false;
  return settle_operands(r, c, sum) && store_bias(r, c, sum);
}

/* Of two activations, multiplied by a number. */
static bool settle_product(wk_rewrite *r, contraction *c, const wk_channel_steps *steps) {
  double gain = 1, shift = 0;
  if (!wk_channel_steps_apply(r, steps, 1, 0, &gain, &shift) || !(gain > 0) || shift != 0)
    return false;
  c->channels = 1;
  gain *= c->w.scale;
  c->w_scale = wk_arena_memdup(r->c->scratch, &gain, sizeof gain);
  return true;
}

/* The contraction n, of which `steps` are computed; sums are ready for an epilogue. */
static bool begin(wk_rewrite *r, const wk_node *n, const wk_channel_steps *steps, double y_scale,
                  contraction *c) {
  *c = (contraction){.op = n->op,
                     .attrs = n->attrs,
                     .name = n->name,
                     .weights = WK_NONE,
                     .bias = WK_NONE,
                     .y_scale = y_scale};
  if (!is_plain(n) || n->predicate != WK_NONE || !wk_affine_of(r, n->in[0], &c->x)) return false;
  wk_value_id own = n->n_in > 2 ? n->in[2] : WK_NONE, w = n->in[1];
  int from_end = n->op == WK_OP_MATMUL ? 0 : wk_type_of(r, n->out[0])->rank - 2;
  if (take_weights(r, c, w)) return settle_weights(r, c, own, steps, from_end);
  if (n->op != WK_OP_MATMUL || own != WK_NONE || !wk_affine_of(r, w, &c->w)) return false;
  return settle_product(r, c, steps);
}

/* The contraction behind v, and behind what is computed of it channel by channel. */
static bool find(wk_rewrite *r, wk_value_id v, double y_scale, contraction *c) {
  wk_channel_steps steps;
  if (!wk_once(r, v)) return false;
  v = wk_channel_steps_of(r, v, &steps);
  const wk_node *def = v == WK_NONE ? NULL : wk_def(r->g, v);
  if (!def) return false;
  const wk_node n = *def;
  return begin(r, &n, &steps, y_scale, c);
}

wk_value_id wk_integer_contraction(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  contraction c;
  uint16_t mult, shift;
  (void)def;
  if (!find(r, y->from, y->scale, &c)) return WK_NONE;
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t acc = wk_expr_input(b, 0, WK_I32);
  if (!rescale_operands(r, &c, b, y->scale, y->type->rank, &mult, &shift)) return WK_NONE;
  acc = wk_expr_rescale(b, acc, mult, shift);
  acc = wk_expr_requantized(b, acc, y->zero, y->dtype, y->lo, y->hi);
  return finish(r, &c, b, acc);
}

wk_value_id wk_integer_to_real(wk_rewrite *r, const wk_node *n) {
  contraction c;
  const wk_type y = *wk_type_of(r, n->out[0]);
  const wk_channel_steps none = {.n = 0};
  if (y.dtype != WK_F32 || !begin(r, n, &none, 0, &c)) return WK_NONE;
  double *scale = wk_arena_alloc(r->c->scratch, (size_t)c.channels * sizeof *scale);
  for (int64_t i = 0; i < c.channels; i++) scale[i] = (float)(c.x.scale * c.w_scale[i]);
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t acc = wk_expr_input(b, 0, WK_I32);
  uint16_t factor = channel_operand(r, &c, b, WK_F32, scale, y.rank);
  uint16_t v = wk_expr_2(b, WK_EX_MUL, wk_expr_cast(b, WK_F32, acc), factor);
  if (c.real_bias)
    v = wk_expr_2(b, WK_EX_ADD, v, channel_operand(r, &c, b, WK_F32, c.real_bias, y.rank));
  return finish(r, &c, b, v);
}
