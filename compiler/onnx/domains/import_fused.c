/* SPDX-License-Identifier: Apache-2.0
 * com.microsoft: what ONNX Runtime's optimisers make of convolutions, products and activations, and
 * operators on images with their channels last. */
#include <string.h>

#include "compiler/onnx/import/conv.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/matmul.h"

static const struct { const char *name; wk_op op; } activations[] = {
    {"Clip", WK_OP_CLIP}, {"Elu", WK_OP_ELU}, {"HardSigmoid", WK_OP_HARD_SIGMOID},
    {"LeakyRelu", WK_OP_LEAKY_RELU}, {"Relu", WK_OP_RELU}, {"Selu", WK_OP_SELU},
    {"Sigmoid", WK_OP_SIGMOID}, {"Softplus", WK_OP_SOFTPLUS}, {"Softsign", WK_OP_SOFTSIGN},
    {"Tanh", WK_OP_TANH}, {"ThresholdedRelu", WK_OP_THRESHOLDED_RELU}};

/* x after the attribute `activation`, whose parameters are activation_params in order, or
 * activation_alpha and so on. */
static wk_value_id activated(wk_onnx_node *c, wk_value_id x) {
  const char *name = wk_onnx_text(c, "activation", "");
  wk_floats params = wk_onnx_floats(c, "activation_params");
  size_t k = 0;
  if (c->status || !*name) return x;
  while (k < WK_COUNTOF(activations) && strcmp(activations[k].name, name) != 0) k++;
  if (!wk_onnx_need(c, k < WK_COUNTOF(activations), "the activation '%s' is not supported", name))
    return WK_NONE;
  const wk_op_info *info = wk_op_get(activations[k].op);
  char *attrs = wk_make_attrs(c, activations[k].op);
  for (int i = 0; i < info->n_fields; i++) {
    const wk_field *f = &info->fields[i];
    double *v = (double *)(attrs + f->offset);
    if (f->kind != WK_FIELD_FLOAT) continue;
    const char *attribute = wk_arena_printf(c->im->arena, "activation_%s", f->name);
    *v = i < params.n ? params.v[i] : wk_onnx_float(c, attribute, *v);
  }
  return wk_make(c, activations[k].op, attrs, 1, x);
}

/* An operand more, of the shape of the result, then the activation. */
static wk_value_id finished(wk_onnx_node *c, wk_value_id x, int added) {
  if (wk_onnx_has(c, added)) x = wk_make_2(c, WK_OP_ADD, x, c->in[added]);
  return activated(c, x);
}

wk_status wk_onnx_fused_conv(wk_onnx_node *c) {
  return wk_onnx_return(c, finished(c, wk_conv_emit(c, c->in[0], c->in[1], c->in[2]), 3));
}

/* NhwcConv, NhwcFusedConv: the weights stay as those of Conv. */
wk_status wk_onnx_conv_last(wk_onnx_node *c) {
  wk_value_id x = wk_make_channels_first(c, c->in[0]);
  x = wk_make_channels_last(c, wk_conv_emit(c, x, c->in[1], c->in[2]));
  return wk_onnx_return(c, finished(c, x, 3));
}

wk_status wk_onnx_max_pool_last(wk_onnx_node *c) {
  c->in[0] = wk_make_channels_first(c, c->in[0]);
  if (c->status || wk_onnx_max_pool(c)) return c->status;
  return wk_onnx_return(c, wk_make_channels_last(c, c->out[0].value));
}

wk_status wk_onnx_fused_gemm(wk_onnx_node *c) {
  if (wk_onnx_gemm(c)) return c->status;
  return wk_onnx_return(c, activated(c, c->out[0].value));
}

/* FastGelu(a b + bias). */
wk_status wk_onnx_gemm_fast_gelu(wk_onnx_node *c) {
  wk_value_id x = wk_matmul_emit(c, c->in[0], c->in[1]);
  return wk_onnx_return(c, wk_make_1(c, WK_OP_GELU_TANH, finished(c, x, 2)));
}

/* BiasAdd: x + bias + skip. */
wk_status wk_onnx_bias_add(wk_onnx_node *c) {
  wk_value_id x = wk_make_2(c, WK_OP_ADD, c->in[0], c->in[1]);
  return wk_onnx_return(c, wk_make_2(c, WK_OP_ADD, x, c->in[2]));
}

/* BiasSplitGelu: the left half of x + bias times the Gelu of the right one. */
wk_status wk_onnx_bias_split_gelu(wk_onnx_node *c) {
  wk_value_id x = wk_make_2(c, WK_OP_ADD, c->in[0], c->in[1]);
  const wk_type t = *wk_onnx_type(c, x);
  if (!wk_onnx_valid(c, t.rank >= 1 && t.dims[t.rank - 1] % 2 == 0, "the last axis has no halves"))
    return c->status;
  int last = t.rank - 1;
  int64_t half = t.dims[last] / 2;
  wk_value_id gate = wk_make_1(c, WK_OP_GELU, wk_make_slice(c, x, last, half, half, 1));
  return wk_onnx_return(c, wk_make_2(c, WK_OP_MUL, wk_make_slice(c, x, last, 0, half, 1), gate));
}

/* BiasSoftmax: softmax(x + bias) over the axes from `axis` on; the bias broadcasts. */
wk_status wk_onnx_bias_softmax(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]), b = *wk_onnx_type(c, c->in[1]);
  wk_value_id sum = wk_make_2(c, WK_OP_ADD, c->in[0], c->in[1]);
  const wk_type t = *wk_onnx_type(c, sum);
  int64_t axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", 1), x.rank), flat[] = {1, 1};
  if (c->status) return c->status;
  wk_onnx_valid(c, wk_shape_equal(&t, &x) && b.rank <= x.rank, "the bias does not fit the operand");
  for (int i = 0; i < x.rank; i++) flat[i >= axis] *= x.dims[i];
  WK_MAKE_ATTRS(c, s, SOFTMAX, softmax);
  s->axis = 1;
  sum = wk_make(c, WK_OP_SOFTMAX, s, 1, wk_make_reshape(c, sum, 2, flat));
  return wk_onnx_return(c, wk_make_reshape(c, sum, x.rank, x.dims));
}
