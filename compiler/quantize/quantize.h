/* SPDX-License-Identifier: Apache-2.0
 * quantize: post-training quantisation of a float module (rank 3). The caller runs the model; this
 * folder knows what to watch, turns what was seen into scales, and writes the model again with
 * quantize/dequantize pairs around what becomes integer arithmetic:
 *
 *   plan     which nodes form layers, which of them are quantised, which values carry a pair
 *   range    what was seen of one tensor; scale and zero point by a method
 *   weights  constants as i8 and i32
 *   build    the quantised module
 *   batch_norm  batch norms as convolutions, before anything else
 *   rms_norm    norms that are written out, which are one layer
 *   equalise ranges of weights evened out between neighbours, before there is a plan
 *
 * A plan and everything made from it refer to ids of one normalised module, which must not change
 * meanwhile. Only the main graph is quantised, and only f32. */
#ifndef WICK_QUANTIZE_H
#define WICK_QUANTIZE_H

#include "compiler/ir/ir.h"

typedef enum {
  WK_RANGE_MINMAX,     /* all that was seen */
  WK_RANGE_PERCENTILE, /* without the outermost values */
  WK_RANGE_MSE,        /* least square error */
  WK_RANGE_ENTROPY     /* least divergence of the distributions */
} wk_range_method;

typedef struct {
  wk_dtype activation; /* WK_U8 or WK_I8 */
  bool symmetric;      /* zero point in the middle of the type */
  bool per_channel;    /* one scale for each output channel of weights */
  bool bias_correction;
  wk_range_method method;
  double percentile; /* of WK_RANGE_PERCENTILE: how many percent of the values stay inside */
} wk_quantize_options;

/* ---- ranges ---------------------------------------------------------------------------------- */

typedef struct {
  double min, max;  /* of finite values */
  int64_t count, zeros; /* of finite values, and how many of them are 0 */
  int64_t infinite, nan;
  uint64_t exponents[4]; /* a bit for each binary exponent that was seen, as a f32 stores it */
  uint64_t *bins;   /* WK_RANGE_BINS between min and max, exact zeros left out; malloc'ed */
  int axis;         /* -1, or the axis along which sums are wanted */
  double *sums;     /* per entry of that axis; malloc'ed */
  int64_t channels, per_channel; /* how many sums, and of how many values each is */
} wk_range;
#define WK_RANGE_BINS 4096

/* Two passes over the same tensors (f32): extremes and sums first, then the histogram. */
void wk_range_scan(wk_range *r, const wk_tensor *t);
void wk_range_bin(wk_range *r, const wk_tensor *t);
void wk_range_free(wk_range *r);
/* Do large values stand apart from all others, as a mask of -10000 or -3.4e38 does behind scores?
 * One scale for both would leave less than four steps to the others. */
bool wk_range_is_parted(const wk_range *r);

/* real = scale * (stored - zero) */
typedef struct { float scale; int32_t zero; } wk_quantize_params;
/* Needs the histogram unless the method is WK_RANGE_MINMAX. 0 is always exact; a tensor that was 0
 * everywhere gets scale 1. */
wk_quantize_params wk_range_choose(const wk_range *r, const wk_quantize_options *o);
wk_quantize_params wk_quantize_params_of(double lo, double hi, const wk_quantize_options *o);
/* Least and greatest number of an 8-bit type; wk_quantize_value (ir/quant.h) is the one for x. */
static inline int32_t wk_quantize_least(wk_dtype t) { return t == WK_I8 ? -128 : 0; }
static inline int32_t wk_quantize_most(wk_dtype t) { return t == WK_I8 ? 127 : 255; }

/* ---- plan ------------------------------------------------------------------------------------ */

/* When a layer is quantised: always; when one of its operands is; likewise, and when a layer that
 * leads reads its result; like FOLLOWS, but that it moves numbers about and gives its result the
 * scale of its operand. */
typedef enum { WK_LAYER_LEADS, WK_LAYER_FOLLOWS, WK_LAYER_JOINS, WK_LAYER_CARRIES } wk_layer_kind;

/* One node, with the scale of its sums and the relu or clip behind it when nothing else sees what
 * is between them; or a norm that is written out, whose operand `core` squares. */
typedef struct {
  const char *name;
  wk_op op;
  wk_layer_kind kind;
  wk_node_id core, last; /* the same without scale and activation */
  wk_node_id scale;      /* of a layer that leads: times or divided by a positive number; WK_NONE */
  const wk_node_id *written; /* all nodes of a norm that is written out, in order; else NULL */
  uint32_t n_written;
  bool keep;      /* stays float; the caller's to set */
  const char *why; /* it is kept, for reports; static text */
  bool quantised; /* set by wk_quantize_settle */
} wk_quantize_layer;

/* Who sees the quantised form of a value. */
typedef enum { WK_SEEN_BY_NONE, WK_SEEN_BY_QUANTISED, WK_SEEN_BY_ALL } wk_seen;

typedef struct {
  const wk_graph *g;
  WK_VEC(wk_quantize_layer) layers; /* in execution order */
  uint32_t *layer_of;  /* by node: index into layers, WK_NONE */
  uint8_t *seen;       /* by value: wk_seen */
  wk_uses uses;
  wk_value_id *like;   /* by value: whose range decides its scale */
  wk_arena *arena;
} wk_quantize_plan;

wk_quantize_plan wk_quantize_plan_make(const wk_module *m);
void wk_quantize_plan_free(wk_quantize_plan *p);
/* Decides anew what is quantised; returns how many layers are. */
size_t wk_quantize_settle(wk_quantize_plan *p);
/* Activation operand i of the node of a layer? Constants are, too. */
bool wk_quantize_is_operand(const wk_graph *g, const wk_node *n, uint32_t i);
/* Values whose ranges a plan may need, whatever is kept: ids in plan->arena. */
wk_value_id *wk_quantize_values(const wk_quantize_plan *p, size_t *n);
/* The axis of v along which bias correction wants sums, -1: none. */
int wk_quantize_sum_axis(const wk_quantize_plan *p, wk_value_id v);

/* Marks layers that no scale suits: with values that are infinite or NaN (-inf of a mask is no
 * number of 8 bits) or stand apart, and sums that would swallow an operand: its whole range would
 * be few steps of the result. Returns how many are new. */
size_t wk_quantize_spare(wk_quantize_plan *p, const wk_range *ranges,
                         const wk_quantize_options *o);

/* The operator by the name that users know from ONNX ("Conv"), else its own. */
const char *wk_quantize_op_name(wk_op op);
/* Marks what --keep-float names: layers by their names, or all of an operator ("Conv", "conv").
 * WK_USAGE with the nearest name when there is none. */
wk_status wk_quantize_keep(wk_quantize_plan *p, const char *name) WK_MUST_CHECK;

/* ---- the quantised module -------------------------------------------------------------------- */

typedef struct {
  const wk_quantize_plan *plan;
  const wk_quantize_options *options;
  const wk_range *ranges; /* by value id; those of wk_quantize_values are filled */
  /* Every layer on the float model's values instead of its quantised neighbours': what comes out is
   * for measuring, not for use. */
  bool isolated;
  /* Constants as the floats that their integers stand for: the same results, no file to keep. */
  bool simulated;
} wk_quantize_build_args;

/* *out shares data of the plan's module, which must outlive it. at[v] receives, by value id, what
 * readers of v see in the new module (isolated: what the quantised layer makes), or WK_NONE where
 * nothing is left of it; raw[v] (may be NULL) the value before its pair. */
wk_status wk_quantize_build(const wk_quantize_build_args *a, wk_value_id *at, wk_value_id *raw,
                            wk_module **out) WK_MUST_CHECK;

/* ---- before ---------------------------------------------------------------------------------- */

/* Scales channels between two convolutions or products (with relu between them or nothing) so that
 * the ranges of both weights agree. The function of the module stays the same. *pairs: how many. */
wk_status wk_quantize_equalise(wk_module *m, int64_t *pairs) WK_MUST_CHECK;
/* Batch norms by constants into convolutions of each channel by itself, with one weight. The
 * function of the module stays the same. *count: how many. */
wk_status wk_quantize_norms(wk_module *m, int64_t *count) WK_MUST_CHECK;
/* Such a convolution: each of its weights has a scale of its own, whatever the options say. */
bool wk_quantize_is_scale(const wk_graph *g, const wk_node *n);
/* Attention nodes back into products and softmax, whose products can be quantised. */
wk_status wk_quantize_split_attention(wk_module *m, int64_t *count) WK_MUST_CHECK;

#endif
