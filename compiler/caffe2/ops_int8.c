/* SPDX-License-Identifier: Apache-2.0
 * Int8 operators. A tensor is u8 with a scale and a zero point that are known when the net is read
 * (biases: i32); an operator means that of floats between a dequantisation and a quantisation:
 *
 *   y = saturate(round(f((x - zero) scale) / Y_scale) + Y_zero_point), ties to even
 *
 * docs/integers.md says which integers that gives, the same ones on every target. Caffe2's own
 * kernels round what they compute in fixed point, each in its way: results can differ by a step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/caffe2/translate.h"

typedef struct { float scale; int64_t zero; } step;

/* A bias: its numbers are added to the sums of products, whose step they have, whatever its own
 * Y_scale says. In floats it may stand as it is. */
static bool is_bias(const wk_c2_op *o, int i) {
  const Onnx__TensorProto *t = o->in[i].constant;
  return i == 2 && o->row->max_in == 3 && t &&
         (t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__INT32 ||
          t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
}

static void need_scales(wk_c2_op *o) {
  for (int i = 0; i < o->n_in && !is_bias(o, i); i++)
    wk_c2_need(o, o->in[i].is_int8, "reads '%s', whose scale is not known: no Int8 operator makes "
               "it", o->def->input[i]);
}

static const char *dequantised(wk_c2_op *o, int i) {
  const wk_c2_blob *b = &o->in[i];
  bool adds = is_bias(o, i);
  if (adds && b->constant->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT) return b->value;
  const char *scale = wk_c2_f32(o, adds ? o->in[0].scale * o->in[1].scale : b->scale);
  return wk_c2_make(o, "DequantizeLinear", NULL, b->value, scale,
                    adds ? NULL : wk_c2_u8(o, (uint8_t)b->zero));
}

/* The step of the output: Y_scale and Y_zero_point, or where those may be left out, the input's. */
static step read_step(wk_c2_op *o, bool keeps) {
  const wk_c2_blob *x = o->n_in > 0 ? &o->in[0] : NULL;
  step s = {keeps && x ? x->scale : 1, keeps && x ? x->zero : 0};
  wk_c2_valid(o, keeps || wk_c2_has(o, "Y_scale"), "argument 'Y_scale' is missing");
  s.scale = wk_c2_float(o, "Y_scale", s.scale);
  s.zero = wk_c2_int(o, "Y_zero_point", s.zero);
  wk_c2_valid(o, s.scale > 0 && isfinite(s.scale), "Y_scale is %g", (double)s.scale);
  wk_c2_valid(o, s.zero >= 0 && s.zero <= 255, "Y_zero_point is %lld", (long long)s.zero);
  return s;
}

static void quantise(wk_c2_op *o, const char *y, step s) {
  const char *out = wk_c2_out(o, 0), *scale = wk_c2_f32(o, s.scale);
  uint32_t slot;
  wk_c2_make(o, "QuantizeLinear", out, y, scale, wk_c2_u8(o, (uint8_t)s.zero));
  if (o->status || !wk_map_get(o->c->slots, o->def->output[0], &slot)) return;
  wk_c2_blob *b = &o->c->slot.data[slot].now;
  b->is_int8 = true;
  b->scale = s.scale;
  b->zero = s.zero;
}

void wk_c2_int8_quantize(wk_c2_op *o) {
  wk_c2_need(o, o->n_in == 1, "a scale that is a blob is not supported");
  wk_c2_need(o, !o->in[0].is_int8, "reads '%s', which is quantised already", o->def->input[0]);
  quantise(o, wk_c2_in(o, 0), read_step(o, false));
}

void wk_c2_int8_dequantize(wk_c2_op *o) {
  need_scales(o);
  const char *x = dequantised(o, 0);
  wk_c2_make(o, "Identity", wk_c2_out(o, 0), x, NULL, NULL);
}

static bool has_word(const char *list, const char *w) { return strstr(list, w) != NULL; }

/* onnx: the type of the operator on floats. args: "relu": it is followed by Relu; "keeps": without
 * Y_scale and Y_zero_point the output has those of the input. */
void wk_c2_int8(wk_c2_op *o) {
  const wk_c2_row *row = o->row;
  bool stays_float = wk_c2_int(o, "dequantize_output", 0) != 0;
  need_scales(o);
  wk_c2_need(o, !wk_c2_int(o, "quantize_groupwise", 0) || wk_c2_int(o, "group", 1) == 1,
             "a scale for each group is not supported");
  step s = stays_float ? (step){0} : read_step(o, has_word(row->args, "keeps"));
  for (int i = 0; i < o->n_in && !o->status; i++) o->in[i].value = dequantised(o, i);
  if (o->status) return;
  const char *y = wk_c2_fresh(o, "float");
  o->row = wk_c2_row_find(row->onnx);
  o->inner = y;
  o->row->handler(o);
  o->row = row;
  o->inner = NULL;
  if (has_word(row->args, "relu")) y = wk_c2_make(o, "Relu", NULL, y, NULL, NULL);
  if (stays_float) wk_c2_make(o, "Identity", wk_c2_out(o, 0), y, NULL, NULL);
  else quantise(o, y, s);
}
