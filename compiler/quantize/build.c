/* SPDX-License-Identifier: Apache-2.0
 * The quantised module: the float graph copied node by node, with pairs of quantize and dequantize
 * where the plan wants them, constants as integers behind a dequantize, and biases as i32 in the
 * scale of the products that they are added to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/expr/quant.h"
#include "compiler/quantize/rms_norm.h"
#include "compiler/quantize/weights.h"

typedef struct {
  wk_value_id from, to; /* a constant and its dequantised form */
  bool activation;      /* as an operand like others, not as weights */
  float *scale;
  int64_t n;
  int8_t *q;
} known_constant;

typedef struct {
  const wk_quantize_build_args *a;
  const wk_quantize_plan *p;
  const wk_graph *g;  /* float */
  wk_module *m;
  wk_graph *to;
  wk_value_id *plain; /* by value of g: its copy */
  wk_value_id *pair;  /* … behind its pair */
  wk_value_id *at;    /* the caller's */
  bool *is_output;
  WK_VEC(known_constant) constants;
} builder;

static const char *text(builder *b, const char *name, const char *suffix) {
  return wk_arena_printf(b->m->arena, "%s_%s", name, suffix);
}

/* ---- small pieces ---------------------------------------------------------------------------- */

static wk_status add_node(builder *b, wk_op op, const char *name, void *attrs, uint32_t n,
                          const wk_value_id *in, const char *out_name, wk_value_id *out) {
  wk_node_desc d = {.op = op, .name = name, .attrs = attrs, .in = in, .n_in = n, .n_out = 1,
                    .out_names = &out_name};
  return wk_graph_add(b->to, &d, out);
}

static wk_value_id constant(builder *b, const char *name, wk_dtype t, int rank, const int64_t *dims,
                            const void *data) {
  wk_type type = wk_type_make(t, rank, dims);
  void *copy = wk_arena_memdup(b->m->arena, data, (size_t)wk_type_bytes(&type));
  return wk_graph_constant(b->to, name, &type, copy);
}

/* Scale and zero point for a tensor of this rank: scalars, or vectors along the axis. */
typedef struct {
  wk_value_id scale, zero;
} params;

static params add_params(builder *b, const char *name, wk_dtype t, int rank, int axis, int64_t n,
                         const float *scale, int32_t zero) {
  int64_t dims[WK_MAX_RANK], count = axis < 0 ? 1 : n;
  uint8_t *zeros = wk_arena_alloc(b->m->arena, (size_t)count * 4);
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? n : 1;
  if (t == WK_I32) memset(zeros, 0, (size_t)count * 4);
  else memset(zeros, (uint8_t)zero, (size_t)count);
  int own = axis < 0 ? 0 : rank;
  return (params){constant(b, text(b, name, "scale"), WK_F32, own, dims, scale),
                  constant(b, text(b, name, "zero_point"), t, own, dims, zeros)};
}

/* Weights or a bias as integers and their dequantised form; as that alone in a simulation, whose
 * compiler need not fold it first. */
typedef struct {
  const char *name;
  wk_dtype type;
  int rank, axis;      /* axis -1: one scale */
  const int64_t *dims;
  const void *q;
  const float *scale;
} integers;

static wk_value_id add_reals(builder *b, const integers *k) {
  wk_type t = wk_type_make(WK_F32, k->rank, k->dims);
  int64_t n = wk_type_count(&t), inner = 1, channels = k->axis < 0 ? 1 : k->dims[k->axis];
  float *x = wk_arena_alloc(b->m->arena, (size_t)n * sizeof *x);
  for (int i = k->axis + 1; i < k->rank; i++) inner *= k->dims[i];
  for (int64_t i = 0; i < n; i++) {
    float scale = k->scale[k->axis < 0 ? 0 : i / inner % channels];
    x[i] = k->type == WK_I8 ? (float)((const int8_t *)k->q)[i] * scale
                            : (float)((const int32_t *)k->q)[i] * scale;
  }
  return wk_graph_constant(b->to, text(b, k->name, "dequantized"), &t, x);
}

static wk_status add_dequantize(builder *b, const char *name, wk_value_id q, params p,
                                const char *out_name, wk_value_id *out) {
  const wk_value_id in[] = {q, p.scale, p.zero};
  return add_node(b, WK_OP_DEQUANTIZE, text(b, name, "DequantizeLinear"), NULL, 3, in, out_name,
                  out);
}

static wk_status add_integers(builder *b, const integers *k, wk_value_id *out) {
  if (b->a->isolated || b->a->simulated) {
    *out = add_reals(b, k);
    return NULL;
  }
  wk_type t = wk_type_make(k->type, k->rank, k->dims);
  wk_value_id x = wk_graph_constant(b->to, text(b, k->name, "quantized"), &t, k->q);
  int64_t n = k->axis < 0 ? 1 : k->dims[k->axis];
  params p = add_params(b, k->name, k->type, k->rank, k->axis, n, k->scale, 0);
  return add_dequantize(b, k->name, x, p, text(b, k->name, "dequantized"), out);
}

/* ---- activations ----------------------------------------------------------------------------- */

static wk_quantize_params params_of(const builder *b, wk_value_id v) {
  return wk_range_choose(&b->a->ranges[b->p->like[v]], b->a->options);
}

/* x behind quantize and dequantize with the parameters of v. */
static wk_status add_pair(builder *b, wk_value_id v, wk_value_id x, const char *name,
                          const char *out_name, wk_value_id *out) {
  wk_dtype t = b->a->options->activation;
  wk_quantize_params q = params_of(b, v);
  params p = add_params(b, name, t, 0, -1, 1, &q.scale, q.zero);
  wk_attr_quantize *attrs = wk_attrs_new(b->m->arena, WK_OP_QUANTIZE);
  const wk_value_id in[] = {x, p.scale, p.zero};
  wk_value_id integer;
  attrs->to = t;
  WK_TRY(add_node(b, WK_OP_QUANTIZE, text(b, name, "QuantizeLinear"), attrs, 3, in,
                  text(b, name, "quantized"), &integer));
  return add_dequantize(b, name, integer, p, out_name, out);
}

static const char *name_of(const builder *b, wk_value_id v) { return wk_val(b->g, v)->name; }

/* What is known by the name of a model output is what everybody sees. */
static bool pair_is_named(const builder *b, wk_value_id v) {
  return b->p->seen[v] == WK_SEEN_BY_ALL && b->is_output[v] && !b->a->isolated;
}

static wk_status pair_of(builder *b, wk_value_id v, wk_value_id *out) {
  if (b->pair[v] == WK_NONE) {
    const char *name = name_of(b, v);
    const char *own = pair_is_named(b, v) ? name : text(b, name, "dequantized");
    WK_TRY(add_pair(b, v, b->plain[v], name, own, &b->pair[v]));
  }
  *out = b->pair[v];
  return NULL;
}

static wk_value_id plain_constant(builder *b, wk_value_id v) {
  const wk_value *c = wk_val(b->g, v);
  if (b->plain[v] == WK_NONE) b->plain[v] = wk_graph_constant(b->to, c->name, &c->type, c->data);
  return b->plain[v];
}

/* v for a reader that is quantised or not. */
static wk_status see(builder *b, wk_value_id v, bool quantised, wk_value_id *out) {
  *out = WK_NONE;
  if (v == WK_NONE) return NULL;
  if (wk_is_const(b->g, v)) {
    *out = plain_constant(b, v);
    return NULL;
  }
  uint8_t seen = b->p->seen[v];
  bool pair = seen == WK_SEEN_BY_ALL || (seen == WK_SEEN_BY_QUANTISED && quantised);
  if (b->a->isolated) pair = seen && quantised;
  if (pair) return pair_of(b, v, out);
  *out = b->plain[v];
  return NULL;
}

/* ---- constants ------------------------------------------------------------------------------- */

static known_constant *find_constant(builder *b, wk_value_id v, bool activation) {
  for (size_t i = 0; i < b->constants.n; i++)
    if (b->constants.data[i].from == v && b->constants.data[i].activation == activation)
      return &b->constants.data[i];
  return NULL;
}

/* An operand of an elementwise node or the like: one scale, the type of activations. */
static wk_status constant_operand(builder *b, wk_value_id v, wk_value_id *out) {
  const wk_value *c = wk_val(b->g, v);
  known_constant *known = find_constant(b, v, true), k = {.from = v, .activation = true};
  if (known) {
    *out = known->to;
    return NULL;
  }
  wk_range r = {.axis = -1};
  wk_tensor t = {c->type, (void *)(uintptr_t)c->data};
  int64_t n = wk_type_count(&c->type);
  wk_dtype type = b->a->options->activation;
  wk_range_scan(&r, &t);
  wk_quantize_params q = wk_quantize_params_of(r.min, r.max, b->a->options);
  uint8_t *data = wk_arena_alloc(b->m->arena, (size_t)n);
  for (int64_t i = 0; i < n; i++)
    data[i] = (uint8_t)wk_quantize_value((double)((const float *)c->data)[i], (double)q.scale,
                                         q.zero, type);
  wk_type as = wk_type_make(type, c->type.rank, c->type.dims);
  wk_value_id x = wk_graph_constant(b->to, text(b, c->name, "quantized"), &as, data);
  params p = add_params(b, c->name, type, as.rank, -1, 1, &q.scale, q.zero);
  WK_TRY(add_dequantize(b, c->name, x, p, text(b, c->name, "dequantized"), &k.to));
  wk_vec_push(&b->constants, k);
  *out = k.to;
  return NULL;
}

/* Scales below which the bias would not fit i32; NULL when they do not matter. */
static double *bias_floors(const builder *b, const wk_node *n, int64_t channels, float input) {
  if (n->n_in < 3 || !wk_is_const(b->g, n->in[2])) return NULL;
  const wk_value *bias = wk_val(b->g, n->in[2]);
  int64_t count = wk_type_count(&bias->type);
  if (bias->type.dtype != WK_F32) return NULL;
  double *floors = wk_xcalloc((size_t)channels, sizeof *floors);
  for (int64_t i = 0; i < count; i++) {
    double need = fabs((double)((const float *)bias->data)[i]) / (double)input / 1073741824.0;
    int64_t c = i % channels;
    if (need > floors[c]) floors[c] = need;
  }
  return floors;
}

static wk_status add_weights(builder *b, const wk_node *n, float input, known_constant *k) {
  const wk_value *c = wk_val(b->g, n->in[1]);
  bool is_per_channel = b->a->options->per_channel || wk_quantize_is_scale(b->g, n);
  int axis = is_per_channel ? wk_weight_axis(b->g, n) : -1;
  wk_weight_view w = wk_weight_view_of(c, axis);
  double *floors = bias_floors(b, n, w.channels, input);
  *k = (known_constant){.from = n->in[1], .n = w.channels};
  k->scale = wk_arena_alloc(b->m->arena, (size_t)w.channels * sizeof *k->scale);
  k->q = wk_arena_alloc(b->m->arena, (size_t)wk_type_count(&c->type));
  wk_weights_quantise(&w, floors, b->a->options->method, k->scale, k->q);
  free(floors);
  integers x = {c->name, WK_I8, c->type.rank, axis, c->type.dims, k->q, k->scale};
  return add_integers(b, &x, &k->to);
}

static wk_status weights(builder *b, const wk_node *n, float input, known_constant *out) {
  known_constant *known = find_constant(b, n->in[1], false);
  if (known) {
    *out = *known;
    return NULL;
  }
  WK_TRY(add_weights(b, n, input, out));
  wk_vec_push(&b->constants, *out);
  return NULL;
}

/* ---- biases ---------------------------------------------------------------------------------- */

/* Mean of what rounding the weights adds to each output channel. */
static void weight_drift(const builder *b, const wk_node *n, const known_constant *k,
                         int64_t channels, double *drift) {
  const wk_value *c = wk_val(b->g, n->in[1]);
  const wk_range *r = &b->a->ranges[n->in[0]];
  const float *w = c->data;
  const int64_t *d = c->type.dims;
  int64_t count = wk_type_count(&c->type), inner = 1;
  if (n->op == WK_OP_CONV_TRANSPOSE || !r->sums || count == 0) return;
  if (n->op == WK_OP_MATMUL && (c->type.rank != 2 || r->channels != d[0])) return;
  for (int i = 2; i < c->type.rank; i++) inner *= d[i];
  int64_t group = n->op == WK_OP_CONV ? WK_ATTR(n, conv)->group : 1;
  for (int64_t i = 0; i < count; i++) {
    int64_t row = i / inner / d[1], column = i / inner % d[1];
    int64_t to = n->op == WK_OP_MATMUL ? column : row;
    int64_t from = n->op == WK_OP_MATMUL ? row : row / (channels / group) * d[1] + column;
    double e = (double)k->q[i] * (double)k->scale[k->n == 1 ? 0 : to] - (double)w[i];
    drift[to] += e * r->sums[from] / (double)r->per_channel;
  }
}

static int64_t output_channels(const wk_graph *g, const wk_node *n) {
  const wk_type *y = &wk_val(g, n->out[0])->type;
  return y->dims[n->op == WK_OP_MATMUL ? y->rank - 1 : 1];
}

/* The bias as i32 in the scale input * weights; made up when correction needs one. */
static wk_status bias(builder *b, const wk_node *n, const known_constant *k, float input,
                      wk_value_id *out) {
  bool has = n->n_in > 2 && n->in[2] != WK_NONE, correct = b->a->options->bias_correction;
  const wk_value *c = has ? wk_val(b->g, n->in[2]) : NULL;
  int64_t channels = output_channels(b->g, n), count = c ? wk_type_count(&c->type) : channels;
  if (has && (c->kind != WK_VALUE_CONSTANT || c->type.dtype != WK_F32 || count != channels))
    return see(b, n->in[2], false, out);
  *out = WK_NONE;
  if (!has && !correct) return NULL;
  int32_t *q = wk_arena_alloc(b->m->arena, (size_t)channels * sizeof *q);
  float *scale = wk_arena_alloc(b->m->arena, (size_t)channels * sizeof *scale);
  double *drift = wk_xcalloc((size_t)channels, sizeof *drift);
  if (correct) weight_drift(b, n, k, channels, drift);
  for (int64_t i = 0; i < channels; i++) {
    scale[i] = input * k->scale[i % k->n];
    double x = (has ? (double)((const float *)c->data)[i] : 0) - drift[i];
    double v = rint(x / (double)scale[i]);
    q[i] = (int32_t)(v < -2147483648.0 ? -2147483648.0 : v > 2147483647.0 ? 2147483647.0 : v);
  }
  free(drift);
  const char *name = has ? c->name : text(b, n->name, "bias");
  integers x = {name, WK_I32, 1, k->n == 1 ? -1 : 0, &channels, q, scale};
  return add_integers(b, &x, out);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The node on these operands; results named after the original's, with a suffix if any. */
static wk_status copy_node(builder *b, const wk_node *n, const wk_value_id *in, uint32_t n_in,
                           const char *suffix, wk_value_id *out) {
  wk_arena *a = b->m->arena;
  const char **names = wk_arena_alloc(a, n->n_out * sizeof *names);
  wk_graph **bodies = wk_arena_alloc(a, n->n_bodies * sizeof(wk_graph *));
  for (uint32_t i = 0; i < n->n_out; i++) {
    wk_value_id v = n->out[i];
    names[i] = v == WK_NONE ? "" : name_of(b, v);
    if (v != WK_NONE && suffix) names[i] = text(b, names[i], suffix);
    else if (v != WK_NONE && pair_is_named(b, v)) names[i] = text(b, names[i], "float");
  }
  for (uint32_t i = 0; i < n->n_bodies; i++) bodies[i] = wk_graph_clone_into(b->m, n->bodies[i]);
  wk_node_desc d = {.op = n->op, .name = n->name, .attrs = wk_attrs_clone(a, n->op, n->attrs),
                    .in = in, .n_in = n_in, .n_out = n->n_out, .out_names = names,
                    .bodies = bodies, .n_bodies = n->n_bodies};
  return wk_graph_add(b->to, &d, out);
}

static wk_status copy_float(builder *b, const wk_node *n) {
  wk_value_id *in = wk_xcalloc(n->n_in, sizeof *in);
  wk_value_id *out = wk_xcalloc(n->n_out, sizeof *out);
  wk_status s = NULL;
  for (uint32_t i = 0; i < n->n_in && !s; i++) s = see(b, n->in[i], false, &in[i]);
  if (!s) s = copy_node(b, n, in, n->n_in, NULL, out);
  for (uint32_t i = 0; i < n->n_out && !s; i++)
    if (n->out[i] != WK_NONE) b->plain[n->out[i]] = out[i];
  if (!s && n->predicate != WK_NONE)
    s = see(b, n->predicate, false, &wk_nod(b->to, (wk_node_id)b->to->nodes.n - 1)->predicate);
  free(in);
  free(out);
  return s;
}

/* A product of an activation with weights. */
static bool is_weighted(const builder *b, const wk_node *n) {
  bool product = n->op == WK_OP_CONV || n->op == WK_OP_CONV_TRANSPOSE || n->op == WK_OP_MATMUL;
  return product && wk_is_const(b->g, n->in[1]) && !wk_is_const(b->g, n->in[0]);
}

/* Operands of a quantised layer, and a bias. */
static wk_status operands(builder *b, const wk_node *n, wk_value_id *in) {
  bool weighted = is_weighted(b, n);
  for (uint32_t i = 0; i < n->n_in; i++) {
    bool operand = wk_quantize_is_operand(b->g, n, i) && !(weighted && i > 0);
    if (operand && wk_is_const(b->g, n->in[i])) WK_TRY(constant_operand(b, n->in[i], &in[i]));
    else WK_TRY(see(b, n->in[i], operand, &in[i]));
  }
  if (!weighted) return NULL;
  float input = params_of(b, n->in[0]).scale;
  known_constant k;
  WK_TRY(weights(b, n, input, &k));
  in[1] = k.to;
  return bias(b, n, &k, input, &in[2]);
}

/* Does quantising alone cut off what the activation does? */
static bool saturates(const builder *b, const wk_node *act, wk_value_id v) {
  wk_dtype t = b->a->options->activation;
  wk_quantize_params p = params_of(b, v);
  double lo = 0, hi = INFINITY;
  if (act->op == WK_OP_CLIP) {
    lo = WK_ATTR(act, clip)->lo;
    hi = WK_ATTR(act, clip)->hi;
  }
  return wk_quantize_value(lo, (double)p.scale, p.zero, t) == wk_quantize_least(t) &&
         wk_quantize_value(hi, (double)p.scale, p.zero, t) == wk_quantize_most(t);
}

/* The activation behind a layer, unless its result's pair does the same. */
static wk_status activation(builder *b, const wk_quantize_layer *l, wk_value_id x,
                            const char *suffix, wk_value_id *out) {
  const wk_node *act = wk_nod(b->g, l->last);
  *out = x;
  if (saturates(b, act, act->out[0])) return NULL;
  return copy_node(b, act, &x, 1, suffix, out);
}

/* v for a node of a norm that is written out: what is normalised, what an earlier node of it made,
 * or a constant. */
static wk_status see_within(builder *b, const wk_quantize_layer *l, wk_value_id v,
                            const wk_value_id *made, wk_value_id *out) {
  for (uint32_t k = 0; k < l->n_written; k++)
    if (wk_nod(b->g, l->written[k])->out[0] == v) return *out = made[k], NULL;
  return see(b, v, v == wk_nod(b->g, l->core)->in[0], out);
}

static wk_status written_norm(builder *b, const wk_quantize_layer *l, const char *suffix,
                              wk_value_id *out) {
  wk_value_id made[WK_QUANTIZE_NORM_NODES], in[4];
  for (uint32_t k = 0; k < l->n_written; k++) {
    const wk_node *n = wk_nod(b->g, l->written[k]);
    for (uint32_t i = 0; i < n->n_in; i++) WK_TRY(see_within(b, l, n->in[i], made, &in[i]));
    WK_TRY(copy_node(b, n, in, n->n_in, suffix, &made[k]));
  }
  *out = made[l->n_written - 1];
  return NULL;
}

/* What the sums are multiplied or divided by stays between them and their pair. */
static wk_status scaling(builder *b, const wk_quantize_layer *l, const char *suffix,
                         wk_value_id *x) {
  const wk_node *n = wk_nod(b->g, l->scale);
  wk_value_id in[2], made = wk_nod(b->g, l->core)->out[0];
  for (int i = 0; i < 2; i++) in[i] = n->in[i] == made ? *x : plain_constant(b, n->in[i]);
  return copy_node(b, n, in, 2, suffix, x);
}

static wk_status emit_node(builder *b, const wk_quantize_layer *l, const char *suffix,
                           wk_value_id *in, wk_value_id *made) {
  const wk_node *core = wk_nod(b->g, l->core);
  uint32_t n_in = core->n_in;
  if (l->written) return written_norm(b, l, suffix, made);
  WK_TRY(operands(b, core, in));
  if (n_in == 2 && in[2] != WK_NONE) n_in = 3; /* a bias made up */
  WK_TRY(copy_node(b, core, in, n_in, suffix, made));
  if (l->scale != WK_NONE) WK_TRY(scaling(b, l, suffix, &made[0]));
  bool is_all = l->last == l->core || l->last == l->scale;
  return is_all ? NULL : activation(b, l, made[0], suffix, &made[0]);
}

static wk_status emit_layer(builder *b, const wk_quantize_layer *l, wk_value_id *in,
                            wk_value_id *made) {
  const wk_node *last = wk_nod(b->g, l->last);
  WK_TRY(emit_node(b, l, b->a->isolated ? "isolated" : NULL, in, made));
  for (uint32_t k = 0; k < last->n_out; k++) {
    wk_value_id v = last->out[k];
    if (v == WK_NONE) continue;
    if (!b->a->isolated) {
      b->plain[v] = made[k];
      WK_TRY(pair_of(b, v, &b->at[v]));
    } else {
      WK_TRY(add_pair(b, v, made[k], text(b, name_of(b, v), "isolated"), NULL, &b->at[v]));
    }
  }
  return NULL;
}

static wk_status quantised_layer(builder *b, const wk_quantize_layer *l) {
  const wk_node *core = wk_nod(b->g, l->core);
  wk_value_id *in = wk_xmalloc((core->n_in + 1) * sizeof *in);
  wk_value_id *made = wk_xcalloc(core->n_out, sizeof *made);
  for (uint32_t i = 0; i <= core->n_in; i++) in[i] = WK_NONE;
  wk_status s = emit_layer(b, l, in, made);
  free(in);
  free(made);
  return s;
}

static wk_status copy_nodes(builder *b) {
  for (size_t i = 0; i < b->g->nodes.n; i++) {
    const wk_node *n = &b->g->nodes.data[i];
    uint32_t k = b->p->layer_of[i];
    const wk_quantize_layer *l = k == WK_NONE ? NULL : &b->p->layers.data[k];
    bool quantised = l && l->quantised;
    if (!quantised || b->a->isolated) WK_TRY(wk_status_place(copy_float(b, n), n->name));
    if (quantised && l->last == (wk_node_id)i)
      WK_TRY(wk_status_place(quantised_layer(b, l), n->name));
  }
  return NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void copy_inputs(builder *b) {
  for (size_t i = 0; i < b->g->inputs.n; i++) {
    wk_value_id v = b->g->inputs.data[i];
    b->plain[v] = wk_graph_input(b->to, name_of(b, v), &wk_val(b->g, v)->type);
    wk_val(b->to, b->plain[v])->is_public = wk_val(b->g, v)->is_public;
  }
}

static wk_status copy_outputs(builder *b) {
  for (size_t i = 0; i < b->g->outputs.n; i++) {
    wk_value_id v;
    WK_TRY(see(b, b->g->outputs.data[i], false, &v));
    wk_graph_output(b->to, b->g->output_names.data[i], v);
    wk_val(b->to, v)->is_public = wk_val(b->g, b->g->outputs.data[i])->is_public;
  }
  return NULL;
}

static wk_status build(builder *b, wk_value_id *raw) {
  size_t n = b->g->values.n;
  for (size_t v = 0; v < n; v++) b->plain[v] = b->pair[v] = b->at[v] = WK_NONE;
  for (size_t i = 0; i < b->g->outputs.n; i++) b->is_output[b->g->outputs.data[i]] = true;
  copy_inputs(b);
  WK_TRY(copy_nodes(b));
  WK_TRY(copy_outputs(b));
  for (size_t v = 0; v < n; v++) {
    if (b->at[v] == WK_NONE && !b->a->isolated) b->at[v] = b->plain[v];
    if (raw) raw[v] = b->plain[v];
  }
  return wk_module_verify(b->m);
}

wk_status wk_quantize_build(const wk_quantize_build_args *a, wk_value_id *at, wk_value_id *raw,
                            wk_module **out) {
  const wk_graph *g = a->plan->g;
  size_t n = g->values.n;
  builder b = {.a = a, .p = a->plan, .g = g, .at = at, .plain = wk_xcalloc(n, sizeof *b.plain),
               .pair = wk_xcalloc(n, sizeof *b.pair), .is_output = wk_xcalloc(n, 1)};
  b.m = wk_module_new(g->module->name);
  b.m->opset = g->module->opset;
  b.to = wk_graph_new(b.m, g->name);
  wk_module_copy_labels(b.m, g->module);
  wk_status s = build(&b, raw);
  free(b.plain);
  free(b.pair);
  free(b.is_output);
  wk_vec_free(&b.constants);
  if (s) wk_module_free(b.m);
  else *out = b.m;
  return s;
}
