/* SPDX-License-Identifier: Apache-2.0
 * Convolution and pooling: kernels, strides, pads and orders in all the ways to write them. */
#include <stdlib.h>
#include <string.h>

#include "compiler/caffe2/translate.h"

enum { MAX_SPATIAL = 3 };
enum { NOT_LEGACY, LEGACY_VALID, LEGACY_SAME, LEGACY_CAFFE };

typedef struct {
  int spatial; /* axes */
  bool is_nhwc, is_global;
  int64_t legacy;
  int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL], pad[2 * MAX_SPATIAL];
} window;

/* ---- reading ------------------------------------------------------------------------------- */

/* KERNELS, KERNEL or KERNEL_H and KERNEL_W; the number found, 0 when it is not given. */
static int read_sizes(wk_c2_op *o, const char *name, int64_t *v) {
  wk_arena *a = o->c->arena;
  const char *h = wk_arena_printf(a, "%s_h", name), *w = wk_arena_printf(a, "%s_w", name);
  wk_ints list = wk_c2_ints(o, wk_arena_printf(a, "%ss", name));
  if (list.n > 0) {
    if (!wk_c2_need(o, list.n <= MAX_SPATIAL, "windows of %lld axes are not supported",
                    (long long)list.n))
      return 0;
    memcpy(v, list.v, (size_t)list.n * sizeof *v);
    return (int)list.n;
  }
  if (wk_c2_has(o, name)) {
    v[0] = v[1] = wk_c2_int(o, name, 0);
    return 2;
  }
  bool has_h = wk_c2_has(o, h), has_w = wk_c2_has(o, w);
  wk_c2_valid(o, has_h == has_w, "argument '%s' stands without '%s'", has_h ? h : w, has_h ? w : h);
  if (!has_h || !has_w) return 0;
  v[0] = wk_c2_int(o, h, 0);
  v[1] = wk_c2_int(o, w, 0);
  return 2;
}

/* The same for strides and dilations, which are 1 when they are not given. */
static void read_factors(wk_c2_op *o, const char *name, int spatial, int64_t *v) {
  int n = read_sizes(o, name, v);
  wk_c2_valid(o, !n || n == spatial, "%d numbers of argument '%s' for %d axes", n, name, spatial);
  for (int i = 0; i < spatial; i++) {
    if (!n) v[i] = 1;
    wk_c2_valid(o, v[i] >= 1, "argument '%s' is %lld", name, (long long)v[i]);
  }
}

static void read_pads(wk_c2_op *o, window *w) {
  static const char *const sides[] = {"pad_t", "pad_l", "pad_b", "pad_r"};
  int given = 0;
  for (int i = 0; i < 4; i++) given += wk_c2_has(o, sides[i]);
  wk_ints list = wk_c2_ints(o, "pads");
  if (list.n > 0) {
    if (wk_c2_valid(o, list.n == 2 * w->spatial, "%lld pads for %d axes", (long long)list.n,
                    w->spatial))
      memcpy(w->pad, list.v, (size_t)list.n * sizeof *w->pad);
  } else if (wk_c2_has(o, "pad")) {
    int64_t pad = wk_c2_int(o, "pad", 0);
    for (int i = 0; i < 2 * w->spatial; i++) w->pad[i] = pad;
  } else if (given) {
    wk_c2_valid(o, given == 4 && w->spatial == 2, "pad_t, pad_l, pad_b and pad_r go together");
    for (int i = 0; i < 4; i++) w->pad[i] = wk_c2_int(o, sides[i], 0);
  }
  for (int i = 0; i < 2 * w->spatial; i++)
    wk_c2_valid(o, w->pad[i] >= 0 && w->pad[i] < INT32_MAX, "a pad is %lld", (long long)w->pad[i]);
}

static void read_legacy(wk_c2_op *o, window *w) {
  w->legacy = wk_c2_int(o, "legacy_pad", NOT_LEGACY);
  wk_c2_valid(o, w->legacy >= NOT_LEGACY && w->legacy <= LEGACY_CAFFE,
              "legacy_pad %lld is not known", (long long)w->legacy);
  for (int i = 0; i < 2 * w->spatial && w->legacy != LEGACY_CAFFE && w->legacy; i++)
    wk_c2_valid(o, !w->pad[i], "pads and the legacy pads VALID and SAME exclude each other");
  for (int i = 0; i < w->spatial && w->legacy == LEGACY_CAFFE; i++) {
    w->pad[w->spatial + i] = w->pad[i]; /* the heads, on both sides */
    wk_c2_need(o, w->dilation[i] == 1, "the legacy pad of Caffe is not supported with dilation");
    wk_c2_need(o, w->pad[i] || w->kernel[i] >= w->stride[i],
               "the legacy pad of Caffe is not supported for a kernel smaller than its stride");
  }
  for (int i = 0; i < w->spatial && w->legacy == LEGACY_SAME; i++) {
    wk_c2_valid(o, w->dilation[i] == 1, "dilation and the legacy pad SAME exclude each other");
    wk_c2_need(o, w->kernel[i] >= w->stride[i],
               "the legacy pad SAME is not supported for a kernel smaller than its stride");
  }
}

static window read_window(wk_c2_op *o) {
  window w = {.is_nhwc = wk_c2_is_nhwc(o), .is_global = wk_c2_int(o, "global_pooling", 0) != 0};
  w.spatial = read_sizes(o, "kernel", w.kernel);
  if (!w.spatial && w.is_global) w.spatial = 2;
  wk_c2_valid(o, w.spatial > 0, "no kernel size is given");
  if (o->status) return (window){.spatial = 2};
  for (int i = 0; i < w.spatial && !w.is_global; i++)
    wk_c2_valid(o, w.kernel[i] >= 1, "the kernel size is %lld", (long long)w.kernel[i]);
  read_factors(o, "stride", w.spatial, w.stride);
  read_factors(o, "dilation", w.spatial, w.dilation);
  read_pads(o, &w);
  read_legacy(o, &w);
  return w;
}

/* ---- writing ------------------------------------------------------------------------------- */

static void write_window(wk_c2_op *o, const window *w) {
  wk_c2_attr_ints(o, "kernel_shape", w->kernel, w->spatial);
  wk_c2_attr_ints(o, "strides", w->stride, w->spatial);
  if (w->legacy == LEGACY_SAME) wk_c2_attr_text(o, "auto_pad", "SAME_UPPER");
  else wk_c2_attr_ints(o, "pads", w->pad, 2 * w->spatial);
}

static void write_dilations(wk_c2_op *o, const window *w) {
  bool any = false;
  for (int i = 0; i < w->spatial; i++) any = any || w->dilation[i] != 1;
  if (any) wk_c2_attr_ints(o, "dilations", w->dilation, w->spatial);
}

/* Between the two transpositions of channels-last tensors: `to` is the node's result. */
static const char *inner_name(wk_c2_op *o, const window *w, const char *op, const char *out) {
  return w->is_nhwc ? wk_c2_fresh(o, op) : out;
}

static void finish(wk_c2_op *o, const window *w, const char *y, const char *out) {
  if (w->is_nhwc) wk_c2_to_nhwc(o, y, w->spatial, out);
}

static bool has_bias(wk_c2_op *o) { return !wk_c2_int(o, "no_bias", 0) && o->n_in > 2; }

/* The convolution, followed by the operator `after` (NULL: none) in the same order of axes. */
static void write_conv(wk_c2_op *o, const char *after) {
  window w = read_window(o);
  const char *out = wk_c2_out(o, 0), *bias = has_bias(o) ? wk_c2_in(o, 2) : NULL;
  int64_t group = wk_c2_int(o, "group", 1);
  wk_c2_valid(o, group >= 1, "group is %lld", (long long)group);
  wk_c2_need(o, w.legacy != LEGACY_CAFFE,
             "the legacy pad of Caffe is not supported for a convolution");
  wk_c2_need(o, !w.is_global, "global_pooling is not supported for a convolution");
  const char *x = wk_c2_to_nchw(o, wk_c2_in(o, 0), w.spatial, w.is_nhwc);
  const char *f = wk_c2_to_nchw(o, wk_c2_in(o, 1), w.spatial, w.is_nhwc);
  const char *y = inner_name(o, &w, "result", out);
  const char *conv = after ? wk_c2_fresh(o, "Conv") : y;
  wk_c2_make(o, "Conv", conv, x, f, bias);
  write_window(o, &w);
  write_dilations(o, &w);
  if (group != 1) wk_c2_attr_int(o, "group", group);
  if (after) wk_c2_make(o, after, y, conv, NULL, NULL);
  finish(o, &w, y, out);
}

void wk_c2_conv(wk_c2_op *o) { write_conv(o, NULL); }

void wk_c2_conv_relu(wk_c2_op *o) { write_conv(o, "Relu"); }

void wk_c2_conv_transpose(wk_c2_op *o) {
  window w = read_window(o);
  int64_t adj[MAX_SPATIAL] = {0}, group = wk_c2_int(o, "group", 1);
  int n = read_sizes(o, "adj", adj);
  const char *out = wk_c2_out(o, 0), *bias = has_bias(o) ? wk_c2_in(o, 2) : NULL;
  wk_c2_need(o, w.legacy == NOT_LEGACY,
             "legacy pads are not supported for a transposed convolution");
  wk_c2_need(o, !w.is_global, "global_pooling is not supported for a convolution");
  wk_c2_valid(o, !n || n == w.spatial, "%d numbers of argument 'adj' for %d axes", n, w.spatial);
  for (int i = 0; i < w.spatial; i++)
    wk_c2_need(o, w.dilation[i] == 1, "dilation is not supported for a transposed convolution");
  const char *x = wk_c2_to_nchw(o, wk_c2_in(o, 0), w.spatial, w.is_nhwc);
  const char *f = wk_c2_to_nchw(o, wk_c2_in(o, 1), w.spatial, w.is_nhwc);
  const char *y = inner_name(o, &w, "ConvTranspose", out);
  wk_c2_make(o, "ConvTranspose", y, x, f, bias);
  write_window(o, &w);
  if (n) wk_c2_attr_ints(o, "output_padding", adj, w.spatial);
  if (group != 1) wk_c2_attr_int(o, "group", group);
  finish(o, &w, y, out);
}

/* The row's operator: MaxPool or AveragePool. */
static void write_pool(wk_c2_op *o, const char *op, const window *w, const char *x,
                       const char *out) {
  bool is_max = strcmp(op, "MaxPool") == 0;
  x = wk_c2_to_nchw(o, x, w->spatial, w->is_nhwc);
  const char *y = inner_name(o, w, op, out);
  int64_t with_pads = wk_c2_int(o, "count_include_pad", 0);
  if (w->is_global) {
    wk_c2_make(o, is_max ? "GlobalMaxPool" : "GlobalAveragePool", y, x, NULL, NULL);
    finish(o, w, y, out);
    return;
  }
  wk_c2_make(o, op, y, x, NULL, NULL);
  write_window(o, w);
  if (is_max) write_dilations(o, w);
  for (int i = 0; i < w->spatial; i++)
    wk_c2_need(o, is_max || w->dilation[i] == 1, "dilation is not supported for an average");
  if (w->legacy == LEGACY_CAFFE) wk_c2_attr_int(o, "ceil_mode", 1);
  if (!is_max && with_pads) {
    wk_c2_need(o, w->legacy == NOT_LEGACY, "count_include_pad is not supported with a legacy pad");
    wk_c2_attr_int(o, "count_include_pad", 1);
  }
  finish(o, w, y, out);
}

void wk_c2_pool(wk_c2_op *o) {
  window w = read_window(o);
  write_pool(o, o->row->onnx, &w, wk_c2_in(o, 0), wk_c2_out(o, 0));
}

void wk_c2_pad_image(wk_c2_op *o) {
  window w = {.spatial = 2, .is_nhwc = wk_c2_is_nhwc(o)};
  const char *mode = wk_c2_text(o, "mode", "constant"), *out = wk_c2_out(o, 0);
  int64_t pads[8] = {0};
  bool is_constant = strcmp(mode, "constant") == 0;
  wk_c2_valid(o, is_constant || !strcmp(mode, "reflect") || !strcmp(mode, "edge"),
              "mode '%s' is not known", mode);
  read_pads(o, &w);
  for (int i = 0; i < 4; i++) pads[i / 2 * 4 + i % 2 + (w.is_nhwc ? 1 : 2)] = w.pad[i];
  const char *value = is_constant ? wk_c2_f32(o, wk_c2_float(o, "value", 0)) : NULL;
  wk_c2_make(o, "Pad", out, wk_c2_in(o, 0), wk_c2_i64s(o, pads, 8), value);
  wk_c2_attr_text(o, "mode", mode);
}
