/* SPDX-License-Identifier: Apache-2.0
 * Operators that move elements and compute none: parts, copies, images. */
#include <string.h>

#include "compiler/caffe2/translate.h"

static const char *one(wk_c2_op *o, int64_t v) { return wk_c2_i64s(o, &v, 1); }

static const char *cast(wk_c2_op *o, const char *x, int32_t to, const char *out) {
  const char *y = wk_c2_make(o, "Cast", out, x, NULL, NULL);
  wk_c2_attr_int(o, "to", to);
  return y;
}

/* ---- axes and shapes ----------------------------------------------------------------------- */

void wk_c2_order(wk_c2_op *o) {
  enum { SPATIAL = 2 };
  const char *x = wk_c2_in(o, 0), *out = wk_c2_out(o, 0);
  if (strcmp(o->row->type, "NCHW2NHWC") == 0) {
    wk_c2_to_nhwc(o, x, SPATIAL, out);
    return;
  }
  wk_c2_make(o, "Transpose", out, x, NULL, NULL);
  wk_c2_attr_ints(o, "perm", (const int64_t[]){0, 3, 1, 2}, SPATIAL + 2);
}

/* The second output is the old shape. */
void wk_c2_reshape(wk_c2_op *o) {
  wk_ints shape = wk_c2_ints(o, "shape");
  const char *x = wk_c2_in(o, 0), *out = wk_c2_out(o, 0), *sizes;
  if (!wk_c2_valid(o, o->n_in == 2 || shape.n >= 0, "argument 'shape' is missing")) return;
  if (o->n_in == 2) sizes = cast(o, wk_c2_in(o, 1), ONNX__TENSOR_PROTO__DATA_TYPE__INT64, NULL);
  else sizes = wk_c2_i64s(o, shape.v, shape.n);
  wk_c2_make(o, "Reshape", out, x, sizes, NULL);
  if (o->n_out > 1) wk_c2_make(o, "Shape", wk_c2_out(o, 1), x, NULL, NULL);
}

void wk_c2_shape(wk_c2_op *o) {
  wk_ints axes = wk_c2_ints(o, "axes");
  const char *out = wk_c2_out(o, 0), *x = wk_c2_in(o, 0);
  if (axes.n <= 0) {
    wk_c2_make(o, "Shape", out, x, NULL, NULL);
    return;
  }
  const char *sizes = wk_c2_make(o, "Shape", NULL, x, NULL, NULL);
  wk_c2_make(o, "Gather", out, sizes, wk_c2_i64s(o, axes.v, axes.n), NULL);
}

/* ---- joining and parting ------------------------------------------------------------------- */

/* Where to join or part: `axis`, or the channels of `order`. */
static int64_t joint(wk_c2_op *o) {
  bool is_nhwc = wk_c2_is_nhwc(o);
  return wk_c2_int(o, "axis", is_nhwc ? 3 : 1);
}

/* The second output of Concat: the size of each part along the axis. */
static void write_sizes(wk_c2_op *o, const char *const *in, int64_t axis) {
  const char **size = wk_arena_alloc(o->c->arena, (size_t)o->n_in * sizeof *size);
  const char *sizes = wk_c2_fresh(o, "sizes");
  for (int i = 0; i < o->n_in; i++) {
    const char *shape = wk_c2_make(o, "Shape", NULL, in[i], NULL, NULL);
    size[i] = wk_c2_make(o, "Gather", NULL, shape, one(o, axis), NULL);
  }
  wk_c2_node(o, "Concat", size, o->n_in, &sizes, 1);
  wk_c2_attr_int(o, "axis", 0);
  cast(o, sizes, ONNX__TENSOR_PROTO__DATA_TYPE__INT32, wk_c2_out(o, 1));
}

void wk_c2_concat(wk_c2_op *o) {
  int64_t axis = joint(o);
  bool adds = wk_c2_int(o, "add_axis", 0) != 0;
  const char **in = wk_arena_alloc(o->c->arena, (size_t)o->n_in * sizeof *in);
  for (int i = 0; i < o->n_in; i++) {
    in[i] = wk_c2_in(o, i);
    if (!adds) continue;
    in[i] = wk_c2_make(o, "Unsqueeze", NULL, in[i], NULL, NULL);
    wk_c2_attr_ints(o, "axes", &axis, 1);
  }
  wk_c2_node(o, "Concat", in, o->n_in, (const char *[]){wk_c2_out(o, 0)}, 1);
  wk_c2_attr_int(o, "axis", axis);
  if (o->n_out > 1) write_sizes(o, in, axis);
}

/* Parts of sizes that other nodes compute, as Concat does. */
static void slice_parts(wk_c2_op *o, const char *const *out, int64_t axis) {
  const char *sizes = cast(o, wk_c2_in(o, 1), ONNX__TENSOR_PROTO__DATA_TYPE__INT64, NULL);
  const char *ends = wk_c2_make(o, "CumSum", NULL, sizes, wk_c2_i64(o, 0), NULL);
  const char *start = one(o, 0), *axes = one(o, axis);
  for (int i = 0; i < o->n_out; i++) {
    const char *end = wk_c2_make(o, "Gather", NULL, ends, one(o, i), NULL);
    wk_c2_node(o, "Slice", (const char *[]){wk_c2_in(o, 0), start, end, axes}, 4, &out[i], 1);
    start = end;
  }
}

void wk_c2_split(wk_c2_op *o) {
  int64_t axis = joint(o);
  bool drops = wk_c2_int(o, "add_axis", 0) != 0;
  wk_ints sizes = o->n_in == 2 ? wk_c2_const_ints(o, 1) : wk_c2_ints(o, "split");
  const char **out = wk_arena_alloc(o->c->arena, (size_t)o->n_out * sizeof *out);
  wk_c2_valid(o, sizes.n <= 0 || sizes.n == o->n_out, "%lld sizes for %d parts",
              (long long)sizes.n, o->n_out);
  for (int i = 0; i < o->n_out; i++) out[i] = drops ? wk_c2_fresh(o, "part") : wk_c2_out(o, i);
  if (o->n_in == 2 && sizes.n < 0) {
    slice_parts(o, out, axis);
  } else {
    wk_c2_node(o, "Split", (const char *[]){wk_c2_in(o, 0)}, 1, out, o->n_out);
    wk_c2_attr_int(o, "axis", axis);
    if (sizes.n > 0) wk_c2_attr_ints(o, "split", sizes.v, sizes.n);
  }
  for (int i = 0; i < o->n_out && drops; i++) {
    wk_c2_make(o, "Squeeze", wk_c2_out(o, i), out[i], NULL, NULL);
    wk_c2_attr_ints(o, "axes", &axis, 1);
  }
}

/* ---- slices -------------------------------------------------------------------------------- */

/* Below zero, bounds count from one past the end: -1 is the size of the axis. */
static const char *bound(wk_c2_op *o, int i, const char *argument) {
  wk_ints v = o->n_in > 1 ? wk_c2_const_ints(o, i) : wk_c2_ints(o, argument);
  wk_c2_need(o, o->n_in == 1 || v.n >= 0, "the bounds are not constant");
  if (!wk_c2_valid(o, v.n >= 0, "argument '%s' is missing", argument)) return "";
  int64_t *at = wk_arena_alloc(o->c->arena, (size_t)v.n * sizeof *at);
  for (int64_t k = 0; k < v.n; k++)
    at[k] = v.v[k] == -1 ? INT64_MAX : v.v[k] < -1 ? v.v[k] + 1 : v.v[k];
  return wk_c2_i64s(o, at, v.n);
}

void wk_c2_slice(wk_c2_op *o) {
  const char *out = wk_c2_out(o, 0);
  wk_c2_valid(o, o->n_in != 2, "has starts, and no ends, as inputs");
  const char *starts = bound(o, 1, "starts");
  wk_c2_make(o, "Slice", out, wk_c2_in(o, 0), starts, bound(o, 2, "ends"));
}

/* ---- copies and choices -------------------------------------------------------------------- */

void wk_c2_tile(wk_c2_op *o) {
  if (wk_c2_need(o, o->n_in == 1, "a number of copies that is a blob is not supported"))
    wk_c2_function(o);
}

void wk_c2_top_k(wk_c2_op *o) {
  wk_ints k = wk_c2_const_ints(o, 1);
  const char *out[] = {wk_c2_out(o, 0), o->n_out > 1 ? wk_c2_out(o, 1) : wk_c2_fresh(o, "at")};
  if (o->n_in == 2) wk_c2_need(o, k.n == 1, "k is not constant");
  int64_t n = o->n_in == 2 && k.n == 1 ? k.v[0] : wk_c2_int(o, "k", -1);
  wk_c2_valid(o, n >= 1, "k is %lld", (long long)n);
  wk_c2_node(o, "TopK", (const char *[]){wk_c2_in(o, 0), one(o, n)}, 2, out, 2);
  wk_c2_attr_int(o, "axis", wk_c2_int(o, "axis", -1));
}

void wk_c2_batch_sparse_to_dense(wk_c2_op *o) {
  bool has_size = wk_c2_has(o, "dense_last_dim");
  if (wk_c2_need(o, has_size || o->n_in == 3, "a size that is that of a blob is not supported")) {
    o->n_in = 3;
    wk_c2_function(o);
  }
}

/* Without lengths there is one row, whose axis the outputs lack. */
void wk_c2_sparse_to_dense_mask(wk_c2_op *o) {
  bool is_one_row = o->n_in == 3;
  const char *out = wk_c2_out(o, 0);
  wk_c2_int(o, "return_presence_mask", 0);
  wk_c2_need(o, o->n_out == 1 || !is_one_row, "the mask of one row is not supported");
  if (!is_one_row) {
    wk_c2_function(o);
    return;
  }
  const char *rows = wk_c2_make(o, "Shape", NULL, wk_c2_in(o, 0), NULL, NULL);
  wk_c2_set_in(o, (const char *[]){wk_c2_in(o, 0), wk_c2_in(o, 1), wk_c2_in(o, 2), rows}, 4);
  o->inner = wk_c2_fresh(o, "row");
  wk_c2_function(o);
  wk_c2_make(o, "Squeeze", out, o->inner, NULL, NULL);
  wk_c2_attr_ints(o, "axes", &(int64_t){0}, 1);
}

/* Numbers from 0 on for each length. Their count is maxOutputSize, or the sum of constants. */
void wk_c2_lengths_range_fill(wk_c2_op *o) {
  wk_ints lengths = wk_c2_const_ints(o, 0);
  int64_t n = 0;
  for (int64_t i = 0; i < lengths.n; i++)
    wk_c2_valid(o, lengths.v[i] >= 0 && !__builtin_add_overflow(n, lengths.v[i], &n),
                "a length is negative, or their sum too large");
  bool is_known = lengths.n >= 0 || wk_c2_has(o, "maxOutputSize");
  wk_c2_need(o, is_known, "the size of its output depends on its input, and there is no argument "
             "'maxOutputSize'");
  n = wk_c2_int(o, "maxOutputSize", n);
  wk_c2_function(o);
  wk_c2_attr_int(o, "size", n);
}

/* ---- images -------------------------------------------------------------------------------- */

enum { SPATIAL = 2 };

/* The row's function, on a tensor with the channels first. */
void wk_c2_image(wk_c2_op *o) {
  bool is_nhwc = wk_c2_is_nhwc(o);
  const char *out = wk_c2_out(o, 0), *outer = o->inner;
  if (is_nhwc) {
    o->in[0].value = wk_c2_to_nchw(o, wk_c2_in(o, 0), SPATIAL, true);
    o->inner = wk_c2_fresh(o, "image");
  }
  wk_c2_function(o);
  if (is_nhwc) wk_c2_to_nhwc(o, o->inner, SPATIAL, out);
  o->inner = outer;
}

void wk_c2_channel_shuffle(wk_c2_op *o) {
  wk_c2_arg(o, "kernel"); /* Caffe2 reads it and does nothing with it */
  wk_c2_image(o);
}

/* Whole sizes, between whose ends `linear` interpolates: scales alone would leave fractions. */
static const char *scaled(wk_c2_op *o, const char *x, const char *scales) {
  const char *sizes = wk_c2_make(o, "Shape", NULL, x, NULL, NULL);
  sizes = cast(o, sizes, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, NULL);
  sizes = wk_c2_make(o, "Floor", NULL, wk_c2_make(o, "Mul", NULL, sizes, scales, NULL), NULL, NULL);
  return cast(o, sizes, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, NULL);
}

/* args: the mode. */
void wk_c2_resize(wk_c2_op *o) {
  bool is_nhwc = wk_c2_is_nhwc(o), is_nearest = strcmp(o->row->args, "nearest") == 0;
  const char *out = wk_c2_out(o, 0), *x = wk_c2_to_nchw(o, wk_c2_in(o, 0), SPATIAL, is_nhwc);
  float h = wk_c2_float(o, "height_scale", 1), w = wk_c2_float(o, "width_scale", 1);
  wk_c2_need(o, o->n_in == 1, "scales that are a blob are not supported");
  wk_c2_valid(o, h > 0 && w > 0, "a scale is not positive");
  const char *scales = wk_c2_f32s(o, (const float[]){1, 1, h, w}, 4);
  const char *in[] = {x, "", is_nearest ? scales : "", is_nearest ? "" : scaled(o, x, scales)};
  const char *y = is_nhwc ? wk_c2_fresh(o, "Resize") : out;
  wk_c2_node(o, "Resize", in, 4, &y, 1);
  wk_c2_attr_text(o, "mode", is_nearest ? "nearest" : "linear");
  wk_c2_attr_text(o, "coordinate_transformation_mode",
                  is_nearest ? "asymmetric" : "align_corners");
  if (is_nearest) wk_c2_attr_text(o, "nearest_mode", "floor");
  if (is_nhwc) wk_c2_to_nhwc(o, y, SPATIAL, out);
}

void wk_c2_roi_align(wk_c2_op *o) {
  int64_t ratio = wk_c2_int(o, "sampling_ratio", -1);
  bool is_aligned = wk_c2_int(o, "aligned", 0) != 0, is_nhwc = wk_c2_is_nhwc(o);
  const char *out = wk_c2_out(o, 0), *outer = o->inner;
  o->in[0].value = wk_c2_to_nchw(o, wk_c2_in(o, 0), SPATIAL, is_nhwc);
  if (is_nhwc) o->inner = wk_c2_fresh(o, "regions");
  wk_c2_function(o);
  wk_c2_attr_int(o, "ratio", ratio > 0 ? ratio : 0);
  wk_c2_attr_text(o, "pixels", is_aligned ? "half_pixel" : "output_half_pixel");
  if (is_nhwc) wk_c2_to_nhwc(o, o->inner, SPATIAL, out);
  o->inner = outer;
}

/* Boxes are upright. What a box measures has one pixel more than its corners are apart, unless
 * legacy_plus_one is 0; older nets say with correct_transform_coords whether results do. */
void wk_c2_bbox_transform(wk_c2_op *o) {
  float plus = wk_c2_int(o, "legacy_plus_one", 1) ? 1 : 0;
  bool is_rotated = wk_c2_int(o, "rotated", 0) != 0, has_weights = wk_c2_has(o, "weights");
  wk_c2_float_list weights = wk_c2_floats(o, "weights");
  for (size_t i = 0; i < 4; i++) /* they are for rotated boxes */
    wk_c2_arg(o, (const char *const[]){"angle_bound_on", "angle_bound_lo", "angle_bound_hi",
                                       "clip_angle_thresh"}[i]);
  wk_c2_need(o, !is_rotated, "rotated boxes are not supported");
  wk_c2_valid(o, !has_weights || weights.n == 4, "%lld weights", (long long)weights.n);
  wk_c2_function(o);
  if (!has_weights) wk_c2_attr_floats(o, "weights", (const float[]){1, 1, 1, 1}, 4);
  wk_c2_attr_float(o, "plus", plus);
  wk_c2_attr_float(o, "minus", (float)wk_c2_int(o, "correct_transform_coords", (int64_t)plus));
}
