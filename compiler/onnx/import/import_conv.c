/* SPDX-License-Identifier: Apache-2.0
 * Convolutions. */
#include <string.h>

#include "compiler/onnx/import/conv.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/matmul.h"
#include "compiler/onnx/import/window.h"

wk_value_id wk_conv_emit(wk_onnx_node *c, wk_value_id x, wk_value_id w, wk_value_id b) {
  const wk_type tx = *wk_onnx_type(c, x), tw = *wk_onnx_type(c, w);
  wk_window win;
  if (!wk_onnx_valid(c, tw.rank == tx.rank, "weights of rank %d for an input of rank %d", tw.rank,
                     tx.rank) ||
      !wk_matmul_same_floats(c, x, w) || !wk_window_read(c, &tx, tw.dims + 2, &win))
    return WK_NONE;
  WK_MAKE_ATTRS(c, a, CONV, conv);
  a->strides = wk_window_strides(c, &win);
  a->dilations = wk_window_dilations(c, &win);
  a->pads = wk_window_pads(c, &win);
  a->group = wk_onnx_int(c, "group", 1);
  return wk_make(c, WK_OP_CONV, a, b == WK_NONE ? 2 : 3, x, w, b);
}

wk_status wk_onnx_conv(wk_onnx_node *c) {
  return wk_onnx_return(c, wk_conv_emit(c, c->in[0], c->in[1], c->in[2]));
}

/* ---- transposed ---------------------------------------------------------------------------- */

/* Padding from a wanted output size: what is too much is cut off, what is missing is added. */
static void pad_to_output(wk_onnx_node *c, wk_window *w, int64_t *extra, const int64_t *out) {
  bool upper = wk_onnx_text_is(c, "auto_pad", "NOTSET", "SAME_UPPER");
  for (int i = 0; i < w->n; i++) {
    int64_t full = w->stride[i] * (w->in[i] - 1) + w->dilation[i] * (w->kernel[i] - 1) + 1;
    int64_t total = full + extra[i] - out[i];
    if (total < 0) {
      extra[i] -= total;
      total = 0;
    }
    w->begin[i] = upper ? total / 2 : total - total / 2;
    w->end[i] = total - w->begin[i];
  }
}

static bool read_extra(wk_onnx_node *c, const char *name, int n, int rank, int64_t *out) {
  wk_ints v = wk_onnx_ints(c, name);
  if (v.n <= 0) return false;
  bool with_batch = v.n == rank; /* output_shape may include batch and channels */
  if (!wk_onnx_valid(c, v.n == n || with_batch, "%s has %lld entries", name, (long long)v.n))
    return false;
  for (int i = 0; i < n; i++) {
    out[i] = v.v[i + (with_batch && v.n != n ? 2 : 0)];
    wk_onnx_valid(c, out[i] >= 0 && out[i] < (int64_t)1 << 40, "%s %lld is not valid", name,
                  (long long)out[i]);
  }
  return wk_onnx_ok(c);
}

wk_status wk_onnx_conv_transpose(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]), w = *wk_onnx_type(c, c->in[1]);
  wk_window win;
  int64_t extra[WK_MAX_RANK] = {0}, out[WK_MAX_RANK];
  wk_onnx_valid(c, w.rank == x.rank, "weights of rank %d for an input of rank %d", w.rank, x.rank);
  wk_matmul_same_floats(c, c->in[0], c->in[1]);
  if (!wk_window_read_steps(c, &x, w.dims + 2, &win)) return c->status;
  const char *mode = wk_onnx_text(c, "auto_pad", "NOTSET");
  bool is_same = strncmp(mode, "SAME", 4) == 0;
  read_extra(c, "output_padding", win.n, -1, extra);
  if (read_extra(c, "output_shape", win.n, x.rank, out)) {
    pad_to_output(c, &win, extra, out);
  } else if (is_same && wk_onnx_ok(c)) {
    for (int i = 0; i < win.n; i++) out[i] = win.in[i] * win.stride[i];
    pad_to_output(c, &win, extra, out);
  } else if (strcmp(mode, "VALID") != 0) {
    wk_window_read_pads(c, &win);
  }
  if (!wk_onnx_ok(c)) return c->status;
  WK_MAKE_ATTRS(c, a, CONV_TRANSPOSE, conv_transpose);
  a->strides = wk_window_strides(c, &win);
  a->dilations = wk_window_dilations(c, &win);
  a->pads = wk_window_pads(c, &win);
  a->group = wk_onnx_int(c, "group", 1);
  a->output_padding = wk_ints_dup(c->im->m->arena, extra, win.n);
  return wk_onnx_return(c, wk_make(c, WK_OP_CONV_TRANSPOSE, a, wk_onnx_has(c, 2) ? 3 : 2, c->in[0],
                                   c->in[1], c->in[2]));
}
