/* SPDX-License-Identifier: Apache-2.0
 * Fully connected layers, normalisation. */
#include <string.h>

#include "compiler/caffe2/translate.h"

/* ---- fully connected ----------------------------------------------------------------------- */

/* A matrix of the axes before `axis` and of those from it on. */
static const char *matrix(wk_c2_op *o, int i, const char *x, int64_t axis) {
  const Onnx__TensorProto *t = o->in[i].constant;
  if (t && t->n_dims == 2 && axis == 1) return x;
  const char *y = wk_c2_make(o, "Flatten", NULL, x, NULL, NULL);
  wk_c2_attr_int(o, "axis", axis);
  return y;
}

/* Adds the product under the name `out`. */
static void write_fc(wk_c2_op *o, const char *x, const char *w, const char *bias, const char *out) {
  int64_t axis = wk_c2_int(o, "axis", 1), axis_w = wk_c2_int(o, "axis_w", 1);
  bool is_transposed = strcmp(o->row->type, "FCTransposed") == 0;
  wk_c2_need(o, axis >= 0 && axis_w >= 0, "negative axes are not supported");
  const char *flat = matrix(o, 0, x, axis), *y = axis == 1 ? out : wk_c2_fresh(o, "Gemm");
  wk_c2_make(o, "Gemm", y, flat, matrix(o, 1, w, axis_w), bias);
  if (!is_transposed) wk_c2_attr_int(o, "transB", 1);
  if (axis == 1) return;
  const char *shape = wk_c2_make(o, "Shape", NULL, x, NULL, NULL);
  const char *outer = wk_c2_make(o, "Slice", NULL, shape, wk_c2_i64s(o, &(int64_t){0}, 1),
                                 wk_c2_i64s(o, &axis, 1));
  const char *sizes = wk_c2_make(o, "Concat", NULL, outer, wk_c2_i64s(o, &(int64_t){-1}, 1), NULL);
  wk_c2_attr_int(o, "axis", 0);
  wk_c2_make(o, "Reshape", out, y, sizes, NULL);
}

void wk_c2_fc(wk_c2_op *o) {
  write_fc(o, wk_c2_in(o, 0), wk_c2_in(o, 1), wk_c2_in(o, 2), wk_c2_out(o, 0));
}

/* ---- normalisation ------------------------------------------------------------------------- */

static void warn_of_training(wk_c2_op *o) {
  if (!wk_c2_int(o, "is_test", 0))
    wk_c2_note(o->c, "%s is computed as in a test, though is_test is not 1", o->row->type);
}

void wk_c2_dropout(wk_c2_op *o) {
  warn_of_training(o);
  wk_c2_float(o, "ratio", 0.5f);
  wk_c2_make(o, "Identity", wk_c2_out(o, 0), wk_c2_in(o, 0), NULL, NULL);
}

void wk_c2_spatial_bn(wk_c2_op *o) {
  enum { SPATIAL = 2 };
  bool is_nhwc = wk_c2_is_nhwc(o);
  const char *in[] = {wk_c2_to_nchw(o, wk_c2_in(o, 0), SPATIAL, is_nhwc), wk_c2_in(o, 1),
                      wk_c2_in(o, 2), wk_c2_in(o, 3), wk_c2_in(o, 4)};
  const char *out = wk_c2_out(o, 0), *y = is_nhwc ? wk_c2_fresh(o, "bn") : out;
  warn_of_training(o);
  wk_c2_int(o, "num_batches", 1);
  float epsilon = wk_c2_float(o, "epsilon", 1e-5f);
  wk_c2_node(o, "BatchNormalization", in, 5, &y, 1);
  wk_c2_attr_float(o, "epsilon", epsilon);
  if (is_nhwc) wk_c2_to_nhwc(o, y, SPATIAL, out);
}

/* Scale and bias are inputs where `elementwise_affine` says so; otherwise 1 and none. Further
 * outputs: mean and deviation of each row. */
void wk_c2_layer_norm(wk_c2_op *o) {
  bool is_affine = wk_c2_int(o, "elementwise_affine", 0) != 0;
  int64_t axis = wk_c2_int(o, "axis", 1);
  wk_c2_need(o, axis >= 0, "a negative axis is not supported");
  wk_c2_valid(o, o->n_in == (is_affine ? 3 : 1), "%d inputs, and elementwise_affine is %d",
              o->n_in, is_affine);
  if (!is_affine && !o->status) {
    const char *shape = wk_c2_make(o, "Shape", NULL, wk_c2_in(o, 0), NULL, NULL);
    const char *sizes = wk_c2_make(o, "Slice", NULL, shape, wk_c2_i64s(o, &axis, 1),
                                   wk_c2_i64s(o, &(int64_t){WK_MAX_RANK}, 1));
    wk_c2_blob *in = wk_arena_alloc(o->c->arena, 2 * sizeof *in);
    in[0] = o->in[0];
    in[1] = (wk_c2_blob){
        .value = wk_c2_make(o, "Expand", NULL, wk_c2_f32(o, 1), sizes, NULL)};
    o->in = in;
    o->n_in = 2;
  }
  wk_c2_function(o);
}

void wk_c2_instance_norm(wk_c2_op *o) {
  enum { SPATIAL = 2 };
  bool is_nhwc = wk_c2_is_nhwc(o);
  const char *out = wk_c2_out(o, 0), *x = wk_c2_to_nchw(o, wk_c2_in(o, 0), SPATIAL, is_nhwc);
  const char *y = wk_c2_make(o, "InstanceNormalization", is_nhwc ? NULL : out, x, wk_c2_in(o, 1),
                             wk_c2_in(o, 2));
  wk_c2_attr_float(o, "epsilon", wk_c2_float(o, "epsilon", 1e-5f));
  if (is_nhwc) wk_c2_to_nhwc(o, y, SPATIAL, out);
}

void wk_c2_lrn(wk_c2_op *o) {
  enum { SPATIAL = 2 };
  bool is_nhwc = wk_c2_is_nhwc(o);
  const char *out = wk_c2_out(o, 0), *x = wk_c2_to_nchw(o, wk_c2_in(o, 0), SPATIAL, is_nhwc);
  int64_t size = wk_c2_int(o, "size", 0);
  wk_c2_valid(o, size > 0 && size % 2 == 1, "size is %lld, which is no odd number",
              (long long)size);
  const char *y = wk_c2_make(o, "LRN", is_nhwc ? NULL : out, x, NULL, NULL);
  wk_c2_attr_int(o, "size", size);
  wk_c2_attr_float(o, "alpha", wk_c2_float(o, "alpha", 0));
  wk_c2_attr_float(o, "beta", wk_c2_float(o, "beta", 0));
  wk_c2_attr_float(o, "bias", wk_c2_float(o, "bias", 1));
  if (is_nhwc) wk_c2_to_nhwc(o, y, SPATIAL, out);
}
