/* SPDX-License-Identifier: Apache-2.0
 * Pad, blocks of depth and space, and cropping. */
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

/* Spreads `pads` (begins, then ends) over the axes they are meant for. */
static bool spread_pads(wk_onnx_node *c, wk_ints pads, wk_ints axes, int rank, int64_t *before,
                        int64_t *after) {
  int64_t n = axes.n < 0 ? rank : axes.n;
  if (!wk_onnx_valid(c, pads.n == 2 * n, "%lld pads for %lld axes", (long long)pads.n,
                     (long long)n)) {
    return false;
  }
  for (int64_t i = 0; i < n && wk_onnx_ok(c); i++) {
    int64_t axis = axes.n < 0 ? i : wk_onnx_axis(c, axes.v[i], rank);
    before[axis] = pads.v[i];
    after[axis] = pads.v[i + n];
  }
  return wk_onnx_ok(c);
}

wk_status wk_onnx_pad(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  wk_dtype t = wk_onnx_type(c, c->in[0])->dtype;
  int64_t before[WK_MAX_RANK] = {0}, after[WK_MAX_RANK] = {0};
  wk_ints pads = wk_onnx_ints_input(c, 11, 1, c->opset < 2 ? "paddings" : "pads");
  wk_ints axes = {.n = -1};
  if (wk_onnx_has(c, 3)) axes = wk_onnx_const_ints(c, c->in[3], "the axes");
  if (!wk_onnx_ok(c) || !spread_pads(c, pads, axes, rank, before, after)) return c->status;
  wk_value_id fill = WK_NONE;
  double value = wk_onnx_float(c, "value", 0.0);
  if (c->opset < 11 && value != 0) fill = wk_make_scalar(c, t, value);
  if (wk_onnx_has(c, 2)) fill = wk_make_reshape(c, c->in[2], 0, NULL);
  WK_MAKE_ATTRS(c, a, PAD, pad);
  a->mode = wk_onnx_text(c, "mode", "constant");
  a->before = wk_ints_dup(c->im->m->arena, before, rank);
  a->after = wk_ints_dup(c->im->m->arena, after, rank);
  if (strcmp(a->mode, "constant") != 0) fill = WK_NONE;
  bool has_fill = fill != WK_NONE;
  return wk_onnx_return(c, wk_make(c, WK_OP_PAD, a, has_fill ? 2 : 1, c->in[0], fill));
}

/* ---- depth and space ----------------------------------------------------------------------- */

/* Block size of a [n,c,h,w] tensor; 0 after an error. */
static int64_t block_size(wk_onnx_node *c) {
  int64_t b = wk_onnx_int(c, "blocksize", 0);
  wk_onnx_valid(c, wk_onnx_type(c, c->in[0])->rank == 4, "the input must have rank 4");
  wk_onnx_valid(c, b > 0 && b < 4096, "blocksize %lld", (long long)b);
  return wk_onnx_ok(c) ? b : 0;
}

/* Order of the new (old) depth axis: by block first (DCR) or by channel first (CRD). */
static bool is_crd(wk_onnx_node *c) {
  const char *mode = wk_onnx_text(c, "mode", "DCR");
  bool is = strcmp(mode, "CRD") == 0;
  wk_onnx_valid(c, is || strcmp(mode, "DCR") == 0, "mode '%s'", mode);
  return is;
}

wk_status wk_onnx_depth_to_space(wk_onnx_node *c) {
  int64_t b = block_size(c);
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  if (!wk_onnx_ok(c)) return c->status;
  wk_onnx_valid(c, x.dims[1] % (b * b) == 0, "%lld channels", (long long)x.dims[1]);
  bool crd = is_crd(c);
  int64_t d = x.dims[1] / (b * b);
  const int64_t dcr_dims[] = {x.dims[0], b, b, d, x.dims[2], x.dims[3]};
  const int64_t crd_dims[] = {x.dims[0], d, b, b, x.dims[2], x.dims[3]};
  const int64_t dcr_perm[] = {0, 3, 4, 1, 5, 2}, crd_perm[] = {0, 1, 4, 2, 5, 3};
  const int64_t y[] = {x.dims[0], d, x.dims[2] * b, x.dims[3] * b};
  wk_value_id v = wk_make_reshape(c, c->in[0], 6, crd ? crd_dims : dcr_dims);
  v = wk_make_transpose(c, v, crd ? crd_perm : dcr_perm);
  return wk_onnx_return(c, wk_make_reshape(c, v, 4, y));
}

wk_status wk_onnx_space_to_depth(wk_onnx_node *c) {
  int64_t b = block_size(c);
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  if (!wk_onnx_ok(c)) return c->status;
  wk_onnx_valid(c, x.dims[2] % b == 0 && x.dims[3] % b == 0,
                "the size is not a multiple of the block");
  const int64_t dims[] = {x.dims[0], x.dims[1], x.dims[2] / b, b, x.dims[3] / b, b};
  const int64_t dcr_perm[] = {0, 3, 5, 1, 2, 4}, crd_perm[] = {0, 1, 3, 5, 2, 4};
  bool crd = c->opset >= 28 && is_crd(c);
  const int64_t y[] = {x.dims[0], x.dims[1] * b * b, x.dims[2] / b, x.dims[3] / b};
  wk_value_id v = wk_make_reshape(c, c->in[0], 6, dims);
  v = wk_make_transpose(c, v, crd ? crd_perm : dcr_perm);
  return wk_onnx_return(c, wk_make_reshape(c, v, 4, y));
}

/* CenterCropPad: each axis is cropped or padded with zeros around its centre. */
wk_status wk_onnx_center_crop_pad(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_ints want = wk_onnx_const_ints(c, c->in[1], "the shape"), axes = wk_onnx_ints(c, "axes");
  if (!wk_onnx_ok(c)) return c->status;
  int64_t n = axes.n < 0 ? x.rank : axes.n, before[WK_MAX_RANK] = {0}, after[WK_MAX_RANK] = {0};
  wk_onnx_valid(c, want.n == n, "%lld sizes for %lld axes", (long long)want.n, (long long)n);
  for (int64_t i = 0; i < n && wk_onnx_ok(c); i++) {
    int64_t axis = axes.n < 0 ? i : wk_onnx_axis(c, axes.v[i], x.rank);
    int64_t size = x.dims[axis];
    if (!wk_onnx_valid(c, want.v[i] >= 0, "size %lld is not valid", (long long)want.v[i])) break;
    int64_t crop = size > want.v[i] ? (size - want.v[i]) / 2 : 0;
    int64_t grow = want.v[i] > size ? (want.v[i] - size) / 2 : 0;
    before[axis] = grow - crop;
    after[axis] = want.v[i] - size - before[axis];
  }
  WK_MAKE_ATTRS(c, a, PAD, pad);
  a->before = wk_ints_dup(c->im->m->arena, before, x.rank);
  a->after = wk_ints_dup(c->im->m->arena, after, x.rank);
  return wk_onnx_return(c, wk_make(c, WK_OP_PAD, a, 1, c->in[0]));
}
