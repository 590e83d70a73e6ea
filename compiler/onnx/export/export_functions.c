/* SPDX-License-Identifier: Apache-2.0
 * Operators whose ONNX form needs more than a name. */
#include <math.h>
#include <string.h>

#include "compiler/ir/taps.h"
#include "compiler/onnx/export/export_ops.h"

#define ATTR(x, name) ((const wk_attr_##name *)(x)->node->attrs)

static const wk_type *result_type(const wk_export_graph *x) {
  return &wk_val(x->g, x->node->out[0])->type;
}

static wk_status done(const char *name) {
  (void)name;
  return NULL;
}

static bool all_are(wk_ints v, int64_t value) {
  for (int64_t i = 0; i < v.n; i++) {
    if (v.v[i] != value) return false;
  }
  return true;
}

/* ---- elementwise --------------------------------------------------------------------------- */

static wk_status write_cast(wk_export_graph *x) {
  wk_dtype from = wk_export_type(x, 0)->dtype, to = (wk_dtype)ATTR(x, cast)->to;
  if (wk_dtype_is_narrow(from) || wk_dtype_is_narrow(to)) return wk_export_own(x);
  wk_export_1(x, "Cast", wk_export_in(x, 0), wk_export_out(x, 0));
  wk_export_int(x, "to", wk_onnx_elem_number(to));
  return NULL;
}

/* The opset written has it for f32 and f64. */
static wk_status write_is_inf(wk_export_graph *x) {
  const char *in = wk_export_in(x, 0);
  if (wk_export_type(x, 0)->dtype != wk_compute_dtype(wk_export_type(x, 0)->dtype)) {
    in = wk_export_1(x, "Cast", in, NULL);
    wk_export_int(x, "to", wk_onnx_elem_number(WK_F32));
  }
  wk_export_1(x, "IsInf", in, wk_export_out(x, 0));
  wk_export_int(x, "detect_positive", ATTR(x, is_inf)->positive);
  wk_export_int(x, "detect_negative", ATTR(x, is_inf)->negative);
  return NULL;
}

static const char *bound(wk_export_graph *x, double v) {
  wk_dtype t = wk_export_type(x, 0)->dtype;
  if (!wk_dtype_is_float(t) || isinf(v)) return "";
  return wk_export_scalar(x, t, (wk_scalar){.f = v});
}

static wk_status write_clip(wk_export_graph *x) {
  if (!wk_dtype_is_float(wk_export_type(x, 0)->dtype)) return wk_export_own(x);
  const char *lo = bound(x, ATTR(x, clip)->lo), *hi = bound(x, ATTR(x, clip)->hi);
  return done(wk_export_3(x, "Clip", wk_export_in(x, 0), lo, hi, wk_export_out(x, 0)));
}

static wk_status write_silu(wk_export_graph *x) {
  const char *gate = wk_export_1(x, "Sigmoid", wk_export_in(x, 0), NULL);
  return done(wk_export_2(x, "Mul", wk_export_in(x, 0), gate, wk_export_out(x, 0)));
}

static wk_status write_mish(wk_export_graph *x) {
  const char *t =
      wk_export_1(x, "Tanh", wk_export_1(x, "Softplus", wk_export_in(x, 0), NULL), NULL);
  return done(wk_export_2(x, "Mul", wk_export_in(x, 0), t, wk_export_out(x, 0)));
}

/* Operand i as a scalar or a vector of n: a constant of that shape where it is one, which other
 * tools expect of scales. */
static const char *flat_operand(wk_export_graph *x, uint32_t i, int rank, int64_t n) {
  const wk_value *v = wk_val(x->g, x->node->in[i]);
  if (v->type.rank == rank) return wk_export_in(x, i);
  if (v->kind == WK_VALUE_CONSTANT) {
    wk_type t = wk_type_make(v->type.dtype, rank, &n);
    return wk_export_constant(x, &t, v->data);
  }
  return wk_export_2(x, "Reshape", wk_export_in(x, i), wk_export_i64s(x, &n, rank), NULL);
}

/* What the opset written has: of 8 bits, also i32 to f32, and f32. */
static bool are_quant_types(const wk_export_graph *x, wk_dtype t, wk_dtype scale, wk_dtype zero) {
  bool quantises = x->node->op == WK_OP_QUANTIZE;
  wk_dtype whole = quantises ? zero : t;
  bool fits = whole == WK_I8 || whole == WK_U8 || (whole == WK_I32 && !quantises);
  return fits && scale == WK_F32 && (!quantises || t == WK_F32);
}

/* Those of QuantizeLinear that are constants are numbers. */
static bool is_finite(const wk_value *v) {
  for (int64_t i = 0; v->kind == WK_VALUE_CONSTANT && i < wk_type_count(&v->type); i++)
    if (!isfinite(wk_load_f64(v->data, v->type.dtype, i))) return false;
  return true;
}

/* QuantizeLinear and DequantizeLinear take a scalar, or a vector along one axis. */
static wk_status write_quant(wk_export_graph *x) {
  const wk_type *t = wk_export_type(x, 0), *s = wk_export_type(x, 1), *z = wk_export_type(x, 2);
  int64_t axis = -1, n = wk_type_count(s), axes = 0;
  for (int i = 0; i < s->rank; i++) {
    if (s->dims[i] == 1) continue;
    axis = i + t->rank - s->rank;
    axes++;
  }
  bool fits = axes <= 1 && wk_shape_equal(s, z) && is_finite(wk_val(x->g, x->node->in[1]));
  if (!fits || !are_quant_types(x, t->dtype, s->dtype, z->dtype)) return wk_export_own(x);
  int rank = axis < 0 ? 0 : 1;
  const char *scale = flat_operand(x, 1, rank, n), *zero = flat_operand(x, 2, rank, n);
  const char *op = x->node->op == WK_OP_QUANTIZE ? "QuantizeLinear" : "DequantizeLinear";
  wk_export_3(x, op, wk_export_in(x, 0), scale, zero, wk_export_out(x, 0));
  if (axis >= 0) wk_export_int(x, "axis", axis);
  return NULL;
}

/* ---- movement ------------------------------------------------------------------------------ */

static wk_status write_reshape(wk_export_graph *x) {
  wk_ints shape = ATTR(x, reshape)->shape;
  wk_export_2(x, "Reshape", wk_export_in(x, 0), wk_export_i64s(x, shape.v, shape.n),
              wk_export_out(x, 0));
  for (int64_t i = 0; i < shape.n; i++) {
    if (shape.v[i] != 0) continue;
    wk_export_int(x, "allowzero", 1);
    break;
  }
  return NULL;
}

static wk_status write_expand(wk_export_graph *x) {
  wk_ints v = ATTR(x, expand)->shape;
  return done(wk_export_2(x, "Expand", wk_export_in(x, 0), wk_export_i64s(x, v.v, v.n),
                          wk_export_out(x, 0)));
}

static wk_status write_tile(wk_export_graph *x) {
  wk_ints v = ATTR(x, tile)->repeats;
  return done(
      wk_export_2(x, "Tile", wk_export_in(x, 0), wk_export_i64s(x, v.v, v.n), wk_export_out(x, 0)));
}

static wk_status write_slice(wk_export_graph *x) {
  const wk_attr_slice *a = ATTR(x, slice);
  int64_t n = a->starts.n, ends[WK_MAX_RANK], axes[WK_MAX_RANK];
  for (int64_t i = 0; i < n; i++) {
    axes[i] = i;
    ends[i] = a->starts.v[i] + a->sizes.v[i] * a->steps.v[i];
    if (ends[i] < 0) ends[i] = INT64_MIN; /* -1 would be the last element */
  }
  const char *in[] = {wk_export_in(x, 0), wk_export_i64s(x, a->starts.v, n),
                      wk_export_i64s(x, ends, n), wk_export_i64s(x, axes, n),
                      wk_export_i64s(x, a->steps.v, n)};
  const char *out = wk_export_out(x, 0);
  wk_export_add(x, "Slice", in, n ? 5 : 1, &out, 1);
  if (n == 0) wk_export_last(x)->op_type = wk_arena_strdup(x->arena, "Identity");
  return NULL;
}

static wk_status write_split(wk_export_graph *x) {
  const wk_attr_split *a = ATTR(x, split);
  const char **out = wk_arena_alloc(x->arena, (size_t)a->sizes.n * sizeof *out);
  for (int64_t i = 0; i < a->sizes.n; i++) {
    out[i] = wk_export_out(x, (uint32_t)i);
    if (!*out[i]) out[i] = wk_export_fresh(x);
  }
  const char *in[] = {wk_export_in(x, 0), wk_export_i64s(x, a->sizes.v, a->sizes.n)};
  wk_export_add(x, "Split", in, 2, out, (size_t)a->sizes.n);
  wk_export_int(x, "axis", a->axis);
  return NULL;
}

static wk_status write_pad(wk_export_graph *x) {
  const wk_attr_pad *a = ATTR(x, pad);
  if (strcmp(a->mode, "wrap") == 0) return wk_export_own(x);
  int64_t pads[2 * WK_MAX_RANK], n = a->before.n;
  for (int64_t i = 0; i < n; i++) {
    pads[i] = a->before.v[i];
    pads[i + n] = a->after.v[i];
  }
  wk_export_3(x, "Pad", wk_export_in(x, 0), wk_export_i64s(x, pads, 2 * n), wk_export_in(x, 1),
              wk_export_out(x, 0));
  wk_export_text(x, "mode", a->mode);
  return NULL;
}

/* ---- contractions -------------------------------------------------------------------------- */

/* What follows the accumulator: adds the epilogue over it and the extra operands from `extra`
 * on. */
static void write_epilogue(wk_export_graph *x, const wk_expr *e, const char *sum, uint32_t extra) {
  const wk_node *n = x->node;
  const char **in = wk_arena_alloc(x->arena, n->n_in * sizeof *in),
             *out = wk_export_out(x, 0);
  in[0] = sum;
  for (uint32_t i = extra; i < n->n_in; i++) in[1 + i - extra] = wk_export_in(x, i);
  wk_export_expr(x, e, in, &out, result_type(x));
}

/* Name for the accumulator: the result itself without epilogue. */
static const char *accumulator(wk_export_graph *x, const wk_expr *e) {
  return e ? wk_export_fresh(x) : wk_export_out(x, 0);
}

/* ONNX's operators have one type of floats. In 16 bits what they hand on is rounded to it. */
static bool is_of_one_type(const wk_export_graph *x, const wk_expr *epilogue) {
  wk_dtype t = wk_export_type(x, 0)->dtype;
  bool keeps = wk_accumulator_dtype(t) == t;
  for (uint32_t k = 1; k < x->node->n_in && k < 3 && wk_dtype_is_float(t); k++)
    if (x->node->in[k] != WK_NONE && wk_export_type(x, k)->dtype != t) return false;
  return keeps || (wk_dtype_is_float(t) && !epilogue);
}

static wk_status write_conv(wk_export_graph *x) {
  const wk_attr_conv *a = ATTR(x, conv);
  if (!wk_dtype_is_float(wk_export_type(x, 0)->dtype) || !is_of_one_type(x, a->epilogue))
    return wk_export_own(x);
  const char *sum = accumulator(x, a->epilogue);
  wk_export_3(x, "Conv", wk_export_in(x, 0), wk_export_in(x, 1), wk_export_in(x, 2), sum);
  wk_export_ints(x, "strides", a->strides);
  wk_export_ints(x, "pads", a->pads);
  wk_export_ints(x, "dilations", a->dilations);
  wk_export_int(x, "group", a->group);
  if (a->epilogue) write_epilogue(x, a->epilogue, sum, 3);
  return NULL;
}

static wk_status write_conv_transpose(wk_export_graph *x) {
  const wk_attr_conv_transpose *a = ATTR(x, conv_transpose);
  if (!wk_dtype_is_float(wk_export_type(x, 0)->dtype) || !is_of_one_type(x, a->epilogue))
    return wk_export_own(x);
  const char *sum = accumulator(x, a->epilogue);
  wk_export_3(x, "ConvTranspose", wk_export_in(x, 0), wk_export_in(x, 1), wk_export_in(x, 2), sum);
  wk_export_ints(x, "strides", a->strides);
  wk_export_ints(x, "pads", a->pads);
  wk_export_ints(x, "dilations", a->dilations);
  wk_export_ints(x, "output_padding", a->output_padding);
  wk_export_int(x, "group", a->group);
  if (a->epilogue) write_epilogue(x, a->epilogue, sum, 3);
  return NULL;
}

static wk_status write_matmul(wk_export_graph *x) {
  const wk_attr_matmul *a = ATTR(x, matmul);
  wk_dtype t = wk_export_type(x, 0)->dtype;
  bool is_gemm = wk_export_type(x, 0)->rank == 2 && wk_export_type(x, 1)->rank == 2;
  bool adds_apart = *wk_export_in(x, 2) && !is_gemm;
  if (!is_of_one_type(x, a->epilogue) || (adds_apart && wk_accumulator_dtype(t) != t))
    return wk_export_own(x);
  const char *sum = accumulator(x, a->epilogue), *bias = wk_export_in(x, 2);
  if (*bias && is_gemm && wk_dtype_is_float(t)) {
    wk_export_3(x, "Gemm", wk_export_in(x, 0), wk_export_in(x, 1), bias, sum);
    if (a->epilogue) write_epilogue(x, a->epilogue, sum, 3);
    return NULL;
  }
  const char *product =
      wk_export_2(x, "MatMul", wk_export_in(x, 0), wk_export_in(x, 1), *bias ? NULL : sum);
  if (*bias) wk_export_2(x, "Add", product, bias, sum);
  if (a->epilogue) write_epilogue(x, a->epilogue, sum, 3);
  return NULL;
}

/* ---- windows ------------------------------------------------------------------------------- */

static wk_status write_max_pool(wk_export_graph *x) {
  const wk_attr_max_pool *a = ATTR(x, max_pool);
  const char *in = wk_export_in(x, 0), *out[] = {wk_export_out(x, 0), wk_export_out(x, 1)};
  const char *taps = out[1];
  if (a->taps && *taps) out[1] = wk_export_fresh(x);
  wk_export_add(x, "MaxPool", &in, 1, out, 2);
  wk_export_ints(x, "kernel_shape", a->kernel);
  wk_export_ints(x, "strides", a->strides);
  wk_export_ints(x, "pads", a->pads);
  wk_export_ints(x, "dilations", a->dilations);
  wk_export_int(x, "storage_order", a->column_major);
  if (!a->taps || !*taps) return NULL;
  const wk_type *in_type = wk_export_type(x, 0), *of = &wk_val(x->g, x->node->out[1])->type;
  const wk_taps w = {&a->kernel, &a->strides, &a->pads, &a->dilations, in_type->dims,
                     in_type->rank};
  wk_export_expr(x, wk_taps_number(x->arena, &w, of->dtype), &out[1], &taps, of);
  return NULL;
}

/* Added to zeros at the places of taps; padding gets 0. */
static wk_status write_unpool(wk_export_graph *x) {
  const wk_attr_unpool *a = ATTR(x, unpool);
  const wk_type *in = wk_export_type(x, 0), *taps = wk_export_type(x, 1);
  const wk_type *y = &wk_val(x->g, x->node->out[0])->type;
  const wk_taps w = {&a->kernel, &a->strides, &a->pads, &a->dilations, y->dims, y->rank};
  const int64_t count = wk_type_count(y);
  const char *at = wk_export_fresh(x), *named = wk_export_in(x, 1);
  wk_export_expr(x, wk_taps_place(x->arena, &w, taps->dtype), &named, &at, in);
  const char *flat = wk_export_i64s(x, (int64_t[]){-1}, 1), *least = wk_export_i64(x, 0);
  const char *zero = wk_export_scalar(x, in->dtype, (wk_scalar){.f = 0});
  const char *is_padding = wk_export_2(x, "Less", at, least, NULL);
  const char *v = wk_export_3(x, "Where", is_padding, zero, wk_export_in(x, 0), NULL);
  at = wk_export_2(x, "Max", at, least, NULL);
  const char *zeros = wk_export_2(x, "Expand", zero, wk_export_i64s(x, &count, 1), NULL);
  v = wk_export_3(x, "ScatterElements", zeros, wk_export_2(x, "Reshape", at, flat, NULL),
                  wk_export_2(x, "Reshape", v, flat, NULL), NULL);
  wk_export_text(x, "reduction", "add");
  wk_export_2(x, "Reshape", v, wk_export_i64s(x, y->dims, y->rank), wk_export_out(x, 0));
  return NULL;
}

static wk_status write_avg_pool(wk_export_graph *x) {
  const wk_attr_avg_pool *a = ATTR(x, avg_pool);
  bool counts = memcmp(a->pads.v, a->real_pads.v, (size_t)a->pads.n * sizeof *a->pads.v) == 0;
  if (!all_are(a->dilations, 1) || (!counts && !all_are(a->real_pads, 0))) return wk_export_own(x);
  wk_export_1(x, "AveragePool", wk_export_in(x, 0), wk_export_out(x, 0));
  wk_export_ints(x, "kernel_shape", a->kernel);
  wk_export_ints(x, "strides", a->strides);
  wk_export_ints(x, "pads", a->pads);
  wk_export_int(x, "count_include_pad", counts);
  return NULL;
}

static wk_status write_lp_pool(wk_export_graph *x) {
  const wk_attr_lp_pool *a = ATTR(x, lp_pool);
  if (!all_are(a->dilations, 1)) return wk_export_own(x);
  wk_export_1(x, "LpPool", wk_export_in(x, 0), wk_export_out(x, 0));
  wk_export_ints(x, "kernel_shape", a->kernel);
  wk_export_ints(x, "strides", a->strides);
  wk_export_ints(x, "pads", a->pads);
  wk_export_int(x, "p", a->p);
  return NULL;
}

/* ---- reductions ---------------------------------------------------------------------------- */

static const char *reduce(wk_export_graph *x, const char *op, const char *in, wk_ints axes,
                          bool keep, const char *out) {
  bool is_sum = strcmp(op, "ReduceSum") == 0; /* the only one whose axes are an input already */
  out = wk_export_2(x, op, in, is_sum ? wk_export_i64s(x, axes.v, axes.n) : "", out);
  if (!is_sum) wk_export_ints(x, "axes", axes);
  wk_export_int(x, "keepdims", keep);
  return out;
}

static const struct { wk_op op; const char *onnx; } reductions[] = {
  { WK_OP_REDUCE_SUM, "ReduceSum" }, { WK_OP_REDUCE_MEAN, "ReduceMean" },
  { WK_OP_REDUCE_MAX, "ReduceMax" }, { WK_OP_REDUCE_MIN, "ReduceMin" },
  { WK_OP_REDUCE_PROD, "ReduceProd" }, { WK_OP_REDUCE_L1, "ReduceL1" },
  { WK_OP_REDUCE_L2, "ReduceL2" }, { WK_OP_REDUCE_LOG_SUM, "ReduceLogSum" },
  { WK_OP_REDUCE_LOG_SUM_EXP, "ReduceLogSumExp" }, { WK_OP_REDUCE_SUM_SQUARE, "ReduceSumSquare" },
};

/* The mean over all axes but the first two: other tools know it by that name alone. */
static bool is_global_average(const wk_export_graph *x) {
  const wk_attr_reduce_sum *a = x->node->attrs;
  int rank = wk_export_type(x, 0)->rank;
  bool all = x->node->op == WK_OP_REDUCE_MEAN && a->keepdims && rank > 2 && a->axes.n == rank - 2;
  return all && a->axes.v[0] == 2 && wk_dtype_is_float(wk_export_type(x, 0)->dtype);
}

static wk_status write_reduce(wk_export_graph *x) {
  const wk_attr_reduce_sum *a = x->node->attrs; /* the layout that all of them share */
  if (a->axes.n == 0) return wk_export_own(x);  /* in ONNX no axes mean all axes */
  const char *op = reductions[0].onnx;
  if (is_global_average(x)) {
    return done(wk_export_1(x, "GlobalAveragePool", wk_export_in(x, 0), wk_export_out(x, 0)));
  }
  for (size_t i = 0; i < WK_COUNTOF(reductions); i++) {
    if (reductions[i].op == x->node->op) op = reductions[i].onnx;
  }
  return done(reduce(x, op, wk_export_in(x, 0), a->axes, a->keepdims != 0, wk_export_out(x, 0)));
}

/* True: what is folded has the dims of input 0, whatever the exporter writes for it. */
static bool folds_first_input(const wk_export_graph *x, const wk_expr *pre) {
  wk_type all = *wk_export_type(x, 0);
  bool is_read = !pre && x->node->n_in == 1;
  for (uint32_t k = 1; k < x->node->n_in; k++) {
    const wk_type before = all;
    wk_status s = wk_type_broadcast(&before, wk_export_type(x, k), &all);
    bool same = !s && all.rank == before.rank &&
                !memcmp(all.dims, before.dims, (size_t)all.rank * sizeof *all.dims);
    wk_status_free(s);
    if (!same) return false;
  }
  for (uint32_t i = 0; pre && i < pre->n; i++)
    is_read = is_read || (pre->nodes[i].op == WK_EX_INPUT && pre->nodes[i].imm.i == 0);
  return is_read;
}

/* What is folded, as a name. */
static const char *before_fold(wk_export_graph *x, const wk_expr *pre) {
  if (!pre) return wk_export_in(x, 0);
  const char **in = wk_arena_alloc(x->arena, x->node->n_in * sizeof *in), *y = wk_export_fresh(x);
  for (uint32_t k = 0; k < x->node->n_in; k++) in[k] = wk_export_in(x, k);
  wk_export_expr(x, pre, in, &y, wk_export_type(x, 0));
  return y;
}

/* The primitive: a fold between two expressions. */
static wk_status write_fold(wk_export_graph *x) {
  const wk_attr_reduce *a = ATTR(x, reduce);
  static const struct { const char *kind, *onnx; } kinds[] = {
    { "sum", "ReduceSum" }, { "prod", "ReduceProd" },
    { "max", "ReduceMax" }, { "min", "ReduceMin" },
  };
  const char *op = NULL;
  for (size_t i = 0; i < WK_COUNTOF(kinds); i++) {
    if (strcmp(kinds[i].kind, a->kind) == 0) op = kinds[i].onnx;
  }
  if (!op || a->axes.n == 0 || !folds_first_input(x, a->pre)) return wk_export_own(x);
  const char *folded = a->post ? wk_export_fresh(x) : wk_export_out(x, 0),
             *out = wk_export_out(x, 0);
  reduce(x, op, before_fold(x, a->pre), a->axes, a->keepdims != 0, folded);
  if (a->post) wk_export_expr(x, a->post, &folded, &out, result_type(x));
  return NULL;
}

/* ---- attention ----------------------------------------------------------------------------- */

static wk_status write_attention(wk_export_graph *x) {
  const wk_type *k = wk_export_type(x, 1);
  int64_t perm[WK_MAX_RANK];
  for (int i = 0; i < k->rank; i++) perm[i] = i;
  perm[k->rank - 1] = k->rank - 2;
  perm[k->rank - 2] = k->rank - 1;
  const char *kt = wk_export_1(x, "Transpose", wk_export_in(x, 1), NULL);
  wk_export_ints(x, "perm", wk_ints_dup(x->arena, perm, k->rank));
  const char *s = wk_export_2(x, "MatMul", wk_export_in(x, 0), kt, NULL);
  wk_scalar scale = {.f = ATTR(x, attention)->scale};
  s = wk_export_2(x, "Mul", s, wk_export_scalar(x, k->dtype, scale), NULL);
  if (*wk_export_in(x, 3)) s = wk_export_2(x, "Add", s, wk_export_in(x, 3), NULL);
  s = wk_export_1(x, "Softmax", s, NULL);
  wk_export_int(x, "axis", -1);
  return done(wk_export_2(x, "MatMul", s, wk_export_in(x, 2), wk_export_out(x, 0)));
}

/* ---- indexing ------------------------------------------------------------------------------ */

static wk_status write_scatter(wk_export_graph *x) {
  bool is_nd = x->node->op == WK_OP_SCATTER_ND;
  const char *how = is_nd ? ATTR(x, scatter_nd)->reduction : ATTR(x, scatter_elements)->reduction;
  if (strcmp(how, "min") == 0 || strcmp(how, "max") == 0) return wk_export_own(x); /* opset 18 */
  wk_export_3(x, is_nd ? "ScatterND" : "ScatterElements", wk_export_in(x, 0), wk_export_in(x, 1),
              wk_export_in(x, 2), wk_export_out(x, 0));
  wk_export_text(x, "reduction", how);
  if (!is_nd) wk_export_int(x, "axis", ATTR(x, scatter_elements)->axis);
  return NULL;
}

static wk_status write_one_hot(wk_export_graph *x) {
  const wk_attr_one_hot *a = ATTR(x, one_hot);
  wk_export_3(x, "OneHot", wk_export_in(x, 0), wk_export_i64(x, a->depth), wk_export_in(x, 1),
              wk_export_out(x, 0));
  wk_export_int(x, "axis", a->axis);
  return NULL;
}

static wk_status write_cum_sum(wk_export_graph *x) {
  const wk_attr_cum_sum *a = ATTR(x, cum_sum);
  wk_export_2(x, "CumSum", wk_export_in(x, 0), wk_export_i64(x, a->axis), wk_export_out(x, 0));
  wk_export_int(x, "exclusive", a->exclusive);
  wk_export_int(x, "reverse", a->reverse);
  return NULL;
}

static wk_status write_top_k(wk_export_graph *x) {
  const wk_attr_top_k *a = ATTR(x, top_k);
  const char *in[] = {wk_export_in(x, 0), wk_export_i64s(x, &a->k, 1)};
  const char *out[2];
  for (uint32_t i = 0; i < 2; i++) {
    out[i] = wk_export_out(x, i);
    if (!*out[i]) out[i] = wk_export_fresh(x);
  }
  wk_export_add(x, "TopK", in, 2, out, 2);
  wk_export_int(x, "axis", a->axis);
  wk_export_int(x, "largest", a->largest);
  wk_export_int(x, "sorted", a->sorted);
  return NULL;
}

/* Opset 17 has images alone. */
static wk_status write_grid_sample(wk_export_graph *x) {
  const wk_attr_grid_sample *a = ATTR(x, grid_sample);
  const wk_type *t = wk_export_type(x, 0);
  bool is_plain = t->rank == 4 && wk_export_type(x, 1)->dtype == t->dtype && !a->pixels &&
                  !*wk_export_in(x, 2);
  if (!is_plain) return wk_export_own(x);
  wk_export_2(x, "GridSample", wk_export_in(x, 0), wk_export_in(x, 1), wk_export_out(x, 0));
  wk_export_text(x, "mode", !strcmp(a->mode, "linear")  ? "bilinear"
                            : !strcmp(a->mode, "cubic") ? "bicubic" : a->mode);
  wk_export_text(x, "padding_mode", a->padding);
  wk_export_int(x, "align_corners", a->align_corners);
  return NULL;
}

static wk_status write_roi_align(wk_export_graph *x) {
  const wk_attr_roi_align *a = ATTR(x, roi_align);
  if (*wk_export_in(x, 3))
    return wk_error(WK_UNSUPPORTED, "a roi_align node whose images have a size of their own has no "
                    "ONNX form");
  wk_export_3(x, "RoiAlign", wk_export_in(x, 0), wk_export_in(x, 1), wk_export_in(x, 2),
              wk_export_out(x, 0));
  wk_export_text(x, "mode", a->mode);
  wk_export_int(x, "output_height", a->height);
  wk_export_int(x, "output_width", a->width);
  wk_export_int(x, "sampling_ratio", a->samples);
  wk_export_float(x, "spatial_scale", a->scale);
  wk_export_text(x, "coordinate_transformation_mode",
                 a->half_pixel ? "half_pixel" : "output_half_pixel");
  return NULL;
}

/* ONNX takes either sizes or scales: sizes when the scales follow from them. */
static wk_status write_resize(wk_export_graph *x) {
  const wk_attr_resize *a = ATTR(x, resize);
  const wk_type *t = wk_export_type(x, 0);
  bool follows = true;
  for (int i = 0; i < t->rank; i++) {
    follows = follows && a->scales.v[i] == (double)a->sizes.v[i] / (double)t->dims[i];
  }
  if (!follows || strcmp(a->coordinates, "half_pixel_symmetric") == 0 || a->roi.n > 0)
    return wk_export_own(x);
  const char *in[] = {wk_export_in(x, 0), "", "", wk_export_i64s(x, a->sizes.v, a->sizes.n)};
  const char *out = wk_export_out(x, 0);
  wk_export_add(x, "Resize", in, 4, &out, 1);
  wk_export_text(x, "mode", a->mode);
  wk_export_text(x, "coordinate_transformation_mode", a->coordinates);
  wk_export_text(x, "nearest_mode", a->nearest);
  wk_export_float(x, "cubic_coeff_a", a->cubic_a);
  wk_export_int(x, "exclude_outside", a->exclude_outside);
  wk_export_float(x, "extrapolation_value", a->extrapolation);
  return NULL;
}

/* ---- recurrent ----------------------------------------------------------------------------- */

static void add_recurrent(wk_export_graph *x, const char *op, const char *direction,
                          wk_texts activations, wk_floats alpha, wk_floats beta, double clip) {
  const wk_node *n = x->node;
  const char *in[8], *out[3];
  for (uint32_t i = 0; i < 8; i++) in[i] = wk_export_in(x, i);
  for (uint32_t i = 0; i < 3; i++) out[i] = wk_export_out(x, i);
  wk_export_add(x, op, in, n->n_in, out, n->n_out);
  wk_export_int(x, "hidden_size", wk_export_type(x, 2)->dims[2]);
  wk_export_text(x, "direction", direction);
  if (activations.n > 0) wk_export_texts(x, "activations", activations);
  if (alpha.n > 0) wk_export_floats(x, "activation_alpha", alpha);
  if (beta.n > 0) wk_export_floats(x, "activation_beta", beta);
  if (isfinite(clip)) wk_export_float(x, "clip", clip);
}

static wk_status write_lstm(wk_export_graph *x) {
  const wk_attr_lstm *a = ATTR(x, lstm);
  add_recurrent(x, "LSTM", a->direction, a->activations, a->alpha, a->beta, a->clip);
  wk_export_int(x, "input_forget", a->input_forget);
  return NULL;
}

static wk_status write_gru(wk_export_graph *x) {
  const wk_attr_gru *a = ATTR(x, gru);
  add_recurrent(x, "GRU", a->direction, a->activations, a->alpha, a->beta, a->clip);
  wk_export_int(x, "linear_before_reset", a->linear_before_reset);
  return NULL;
}

static wk_status write_rnn(wk_export_graph *x) {
  const wk_attr_rnn *a = ATTR(x, rnn);
  add_recurrent(x, "RNN", a->direction, a->activations, a->alpha, a->beta, a->clip);
  return NULL;
}

wk_export_fn wk_export_function(wk_op op) {
  static const wk_export_fn functions[WK_OP_COUNT] = {
    [WK_OP_CAST] = write_cast, [WK_OP_IS_INF] = write_is_inf, [WK_OP_CLIP] = write_clip,
    [WK_OP_SILU] = write_silu, [WK_OP_MISH] = write_mish, [WK_OP_QUANTIZE] = write_quant,
    [WK_OP_DEQUANTIZE] = write_quant, [WK_OP_RESHAPE] = write_reshape,
    [WK_OP_EXPAND] = write_expand, [WK_OP_TILE] = write_tile, [WK_OP_SLICE] = write_slice,
    [WK_OP_SPLIT] = write_split, [WK_OP_PAD] = write_pad, [WK_OP_CONV] = write_conv,
    [WK_OP_CONV_TRANSPOSE] = write_conv_transpose, [WK_OP_MATMUL] = write_matmul,
    [WK_OP_MAX_POOL] = write_max_pool, [WK_OP_AVG_POOL] = write_avg_pool,
    [WK_OP_LP_POOL] = write_lp_pool, [WK_OP_UNPOOL] = write_unpool,
    [WK_OP_REDUCE_SUM] = write_reduce,
    [WK_OP_REDUCE_MEAN] = write_reduce, [WK_OP_REDUCE_MAX] = write_reduce,
    [WK_OP_REDUCE_MIN] = write_reduce, [WK_OP_REDUCE_PROD] = write_reduce,
    [WK_OP_REDUCE_L1] = write_reduce, [WK_OP_REDUCE_L2] = write_reduce,
    [WK_OP_REDUCE_LOG_SUM] = write_reduce, [WK_OP_REDUCE_LOG_SUM_EXP] = write_reduce,
    [WK_OP_REDUCE_SUM_SQUARE] = write_reduce, [WK_OP_REDUCE] = write_fold,
    [WK_OP_ATTENTION] = write_attention, [WK_OP_SCATTER_ELEMENTS] = write_scatter,
    [WK_OP_SCATTER_ND] = write_scatter, [WK_OP_ONE_HOT] = write_one_hot,
    [WK_OP_CUM_SUM] = write_cum_sum, [WK_OP_TOP_K] = write_top_k,
    [WK_OP_GRID_SAMPLE] = write_grid_sample, [WK_OP_ROI_ALIGN] = write_roi_align,
    [WK_OP_RESIZE] = write_resize, [WK_OP_LSTM] = write_lstm, [WK_OP_GRU] = write_gru,
    [WK_OP_RNN] = write_rnn, [WK_OP_IF] = wk_export_if, [WK_OP_LOOP] = wk_export_loop,
  };
  return functions[op];
}
