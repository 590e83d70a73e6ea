/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/onnx/import/window.h"

#include <string.h>

#define SIZE_LIMIT ((int64_t)1 << 40) /* keeps sums and products of sizes inside int64 */

/* An optional list attribute with one entry per spatial axis, each at least `least`. */
static bool read_list(wk_onnx_node *c, const char *name, int n, int64_t def, int64_t least,
                      int64_t *out) {
  wk_ints v = wk_onnx_ints(c, name);
  if (!wk_onnx_valid(c, v.n <= 0 || v.n == n, "%s has %lld entries, not %d", name, (long long)v.n,
                     n)) {
    return false;
  }
  for (int i = 0; i < n; i++) {
    out[i] = v.n <= 0 ? def : v.v[i];
    if (!wk_onnx_valid(c, out[i] >= least && out[i] < SIZE_LIMIT, "%s %lld is not valid", name,
                       (long long)out[i])) {
      return false;
    }
  }
  return true;
}

bool wk_window_read_steps(wk_onnx_node *c, const wk_type *x, const int64_t *kernel, wk_window *w) {
  *w = (wk_window){.n = x->rank - 2};
  if (!wk_onnx_ok(c)) return false;
  if (!wk_onnx_valid(c, w->n >= 1, "the input has rank %d, at least 3 is needed", x->rank))
    return false;
  for (int i = 0; i < w->n; i++) w->in[i] = x->dims[i + 2];
  if (!read_list(c, "kernel_shape", w->n, 0, 0, w->kernel)) return false;
  for (int i = 0; i < w->n; i++) {
    if (!kernel) {
      wk_onnx_valid(c, w->kernel[i] > 0, "kernel_shape is missing");
      continue;
    }
    wk_onnx_valid(c, w->kernel[i] == 0 || w->kernel[i] == kernel[i],
                  "kernel_shape is not that of the weights");
    wk_onnx_valid(c, kernel[i] > 0, "the kernel is empty");
    w->kernel[i] = kernel[i];
  }
  return wk_onnx_ok(c) && read_list(c, "strides", w->n, 1, 1, w->stride) &&
         read_list(c, "dilations", w->n, 1, 1, w->dilation);
}

bool wk_window_read_pads(wk_onnx_node *c, wk_window *w) {
  int64_t pads[2 * WK_MAX_RANK];
  if (!read_list(c, "pads", 2 * w->n, 0, -SIZE_LIMIT, pads)) return false;
  for (int i = 0; i < w->n; i++) {
    w->begin[i] = pads[i];
    w->end[i] = pads[i + w->n];
  }
  return true;
}

static int64_t extent(const wk_window *w, int i) { return w->dilation[i] * (w->kernel[i] - 1) + 1; }

static void pad_same(wk_window *w, bool upper) {
  for (int i = 0; i < w->n; i++) {
    int64_t out = wk_ceil_div(w->in[i], w->stride[i]);
    int64_t total = (out - 1) * w->stride[i] + extent(w, i) - w->in[i];
    if (total < 0) total = 0;
    w->begin[i] = upper ? total / 2 : total - total / 2;
    w->end[i] = total - w->begin[i];
  }
}

/* ceil_mode: more padding at the end until the last window is whole, unless that window would begin
 * past the input and its leading padding. */
static void pad_for_ceil(wk_window *w) {
  for (int i = 0; i < w->n; i++) {
    int64_t room = w->in[i] + w->begin[i] + w->end[i] - extent(w, i);
    if (room < 0) continue;
    int64_t out = wk_ceil_div(room, w->stride[i]) + 1;
    if ((out - 1) * w->stride[i] >= w->in[i] + w->begin[i]) out--;
    int64_t need = (out - 1) * w->stride[i] - room;
    if (need > 0) w->end[i] += need;
  }
}

bool wk_window_read(wk_onnx_node *c, const wk_type *x, const int64_t *kernel, wk_window *w) {
  if (!wk_window_read_steps(c, x, kernel, w)) return false;
  const char *mode = wk_onnx_text(c, "auto_pad", "NOTSET");
  bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
  if (upper || lower) pad_same(w, upper);
  else if (strcmp(mode, "NOTSET") == 0 || !*mode) wk_window_read_pads(c, w);
  else wk_onnx_valid(c, strcmp(mode, "VALID") == 0, "auto_pad '%s' is not known", mode);
  memcpy(w->real_begin, w->begin, sizeof w->begin);
  memcpy(w->real_end, w->end, sizeof w->end);
  if (wk_onnx_int(c, "ceil_mode", 0)) pad_for_ceil(w);
  for (int i = 0; i < w->n; i++) {
    wk_onnx_valid(c, w->in[i] + w->begin[i] + w->end[i] >= extent(w, i),
                  "the window is larger than the padded input along spatial axis %d", i);
  }
  return wk_onnx_ok(c);
}

wk_ints wk_window_strides(wk_onnx_node *c, const wk_window *w) {
  return wk_ints_dup(c->im->m->arena, w->stride, w->n);
}
wk_ints wk_window_dilations(wk_onnx_node *c, const wk_window *w) {
  return wk_ints_dup(c->im->m->arena, w->dilation, w->n);
}
wk_ints wk_window_kernel(wk_onnx_node *c, const wk_window *w) {
  return wk_ints_dup(c->im->m->arena, w->kernel, w->n);
}

wk_ints wk_window_pads(wk_onnx_node *c, const wk_window *w) {
  int64_t v[2 * WK_MAX_RANK];
  for (int i = 0; i < w->n; i++) {
    v[i] = w->begin[i];
    v[i + w->n] = w->end[i];
  }
  return wk_ints_dup(c->im->m->arena, v, 2 * w->n);
}
