/* SPDX-License-Identifier: Apache-2.0
 * DeformConv: each element of the kernel reads x where an offset has moved it to. What is read
 * becomes the channels of an image, which a convolution of size 1 takes together. */
#include <string.h>

#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/window.h"

enum { X, W, OFFSET, BIAS, MASK, MAX_AXES = 3, LARGEST = 1 << 24 };

typedef struct {
  wk_window win;
  int n;                           /* axes */
  int64_t batch, channels, out[MAX_AXES];
  int64_t taps;                    /* elements of the kernel */
  int64_t group, offset_group;
  wk_dtype t;                      /* of positions */
} deform;

static bool read_deform(wk_onnx_node *c, deform *d) {
  const wk_type x = *wk_onnx_type(c, c->in[X]), w = *wk_onnx_type(c, c->in[W]);
  *d = (deform){.n = x.rank - 2, .batch = x.dims[0], .channels = x.dims[1], .taps = 1,
                .group = wk_onnx_int(c, "group", 1),
                .offset_group = wk_onnx_int(c, "offset_group", 1),
                .t = x.dtype == WK_F64 ? WK_F64 : WK_F32};
  if (!wk_onnx_valid(c, w.rank == x.rank, "weights of rank %d for an input of rank %d", w.rank,
                     x.rank) ||
      !wk_onnx_need(c, d->n <= MAX_AXES, "inputs of rank %d are not supported", x.rank) ||
      !wk_window_read(c, &x, w.dims + 2, &d->win))
    return false;
  int64_t f = d->offset_group, g = d->group;
  wk_onnx_valid(c, f > 0 && d->channels % f == 0, "%lld channels in %lld offset groups",
                (long long)d->channels, (long long)f);
  wk_onnx_valid(c, g > 0 && d->channels % g == 0 && w.dims[0] % g == 0 &&
                       w.dims[1] == d->channels / g,
                "weights [%lld,%lld,…] for %lld channels in %lld groups", (long long)w.dims[0],
                (long long)w.dims[1], (long long)d->channels, (long long)g);
  for (int i = 0; i < d->n && wk_onnx_ok(c); i++) {
    const wk_window *win = &d->win;
    int64_t reach = win->dilation[i] * (win->kernel[i] - 1) + 1;
    d->out[i] = (win->in[i] + win->begin[i] + win->end[i] - reach) / win->stride[i] + 1;
    wk_onnx_valid(c, wk_mul_ok(d->taps, win->kernel[i], &d->taps) && d->taps < LARGEST,
                  "the kernel is too large");
    wk_onnx_need(c, d->out[i] < LARGEST, "an image of this size is not supported");
  }
  int64_t read;
  wk_onnx_valid(c, wk_mul_ok(d->channels, d->taps, &read) && wk_mul_ok(w.dims[1], d->taps, &read) &&
                       wk_mul_ok(d->taps, d->out[d->n - 1], &read) &&
                       wk_mul_ok(d->batch, f, &read), "the kernel is too large");
  return wk_onnx_ok(c);
}

/* Input i as [batch * offset groups, out…, taps, more]; `more` 0: without that axis. It is
 * [batch, offset groups * taps * more, out…]. */
static wk_value_id by_place(wk_onnx_node *c, const deform *d, int i, int64_t more) {
  const wk_type t = *wk_onnx_type(c, c->in[i]);
  int64_t dims[WK_MAX_RANK] = {d->batch * d->offset_group, d->taps, more ? more : 1};
  int64_t perm[WK_MAX_RANK] = {0}, entries;
  bool fits = t.rank == d->n + 2 && t.dims[0] == d->batch &&
              wk_mul_ok(d->offset_group, d->taps, &entries) &&
              wk_mul_ok(entries, dims[2], &entries) && t.dims[1] == entries;
  for (int k = 0; k < d->n; k++) {
    fits = fits && t.dims[k + 2] == d->out[k];
    dims[k + 3] = d->out[k];
    perm[k + 1] = k + 3;
  }
  perm[d->n + 1] = 1;
  perm[d->n + 2] = 2;
  if (!wk_onnx_valid(c, fits, "input %d does not have the shape that x, the weights and the "
                     "attributes ask for", i))
    return WK_NONE;
  wk_value_id v = wk_make_reshape(c, c->in[i], d->n + 3, dims);
  v = wk_make_transpose(c, v, perm);
  if (more) return v;
  memcpy(dims, wk_onnx_type(c, v)->dims, sizeof dims);
  return wk_make_reshape(c, v, d->n + 2, dims);
}

/* Where element k of the kernel lies along axis i of x, last axis first; for all of [out…, taps].
 * Without offsets, that is: a part that places give and one that elements of the kernel give. */
static wk_value_id places(wk_onnx_node *c, const deform *d, int axis) {
  int64_t dims[WK_MAX_RANK] = {1, 1, 1, 1, 1, 1};
  dims[axis + 1] = d->out[axis];
  dims[d->n + 2] = d->n;
  const wk_type t = wk_type_make(d->t, d->n + 3, dims);
  void *data;
  wk_value_id v = wk_make_constant(c, &t, &data);
  for (int64_t i = 0; data && i < d->out[axis]; i++)
    wk_store_f64(data, d->t, i * d->n + d->n - 1 - axis,
                 (double)(i * d->win.stride[axis] - d->win.begin[axis]));
  return v;
}

static wk_value_id elements(wk_onnx_node *c, const deform *d) {
  int64_t dims[WK_MAX_RANK] = {1, 1, 1, 1, 1, 1};
  dims[d->n + 1] = d->taps;
  dims[d->n + 2] = d->n;
  const wk_type t = wk_type_make(d->t, d->n + 3, dims);
  void *data;
  wk_value_id v = wk_make_constant(c, &t, &data);
  for (int64_t k = 0; data && k < d->taps; k++) {
    int64_t rest = k;
    for (int i = d->n - 1; i >= 0; rest /= d->win.kernel[i--])
      wk_store_f64(data, d->t, k * d->n + d->n - 1 - i,
                   (double)(rest % d->win.kernel[i] * d->win.dilation[i]));
  }
  return v;
}

/* [out…, taps] with taps and the last axis in one. */
static void place_dims(const deform *d, int64_t *dims) {
  for (int k = 0; k < d->n; k++) dims[k] = d->out[k];
  dims[d->n - 1] *= d->taps;
}

/* What the kernel reads: [batch, offset groups, channels of one, out…, taps]. */
static wk_value_id read_places(wk_onnx_node *c, const deform *d) {
  int64_t n = d->batch * d->offset_group, each = d->channels / d->offset_group;
  int64_t dims[WK_MAX_RANK] = {n, each};
  memcpy(dims + 2, d->win.in, (size_t)d->n * sizeof *dims);
  wk_value_id x = wk_make_reshape(c, c->in[X], d->n + 2, dims);
  wk_value_id at = wk_make_cast(c, by_place(c, d, OFFSET, d->n), d->t);
  at = wk_make_slice(c, at, d->n + 2, d->n - 1, d->n, -1); /* last axis first */
  at = wk_make_2(c, WK_OP_ADD, at, elements(c, d));
  for (int i = 0; i < d->n; i++) at = wk_make_2(c, WK_OP_ADD, at, places(c, d, i));
  place_dims(d, dims + 1);
  dims[d->n + 1] = d->n;
  at = wk_make_reshape(c, at, d->n + 2, dims);
  bool has_mask = wk_onnx_has(c, MASK);
  wk_value_id mask = WK_NONE;
  if (has_mask) mask = wk_make_reshape(c, by_place(c, d, MASK, 0), d->n + 1, dims);
  WK_MAKE_ATTRS(c, a, GRID_SAMPLE, grid_sample);
  a->pixels = true;
  wk_value_id y = wk_make(c, WK_OP_GRID_SAMPLE, a, has_mask ? 3 : 2, x, at, mask);
  int64_t apart[WK_MAX_RANK] = {d->batch, d->offset_group, each};
  memcpy(apart + 3, d->out, (size_t)d->n * sizeof *apart);
  apart[d->n + 3] = d->taps;
  return wk_make_reshape(c, y, d->n + 4, apart);
}

/* Channels and taps as the channels of an image, in the order of a convolution's weights:
 * (offset groups, taps, channels of one) where there is one group, so that what is read lies in
 * memory as it comes; else all channels, then taps. */
static wk_value_id as_image(wk_onnx_node *c, const deform *d, wk_value_id y) {
  int64_t perm[WK_MAX_RANK] = {0, 1, 2, d->n + 3}, dims[WK_MAX_RANK] = {d->batch};
  if (d->group == 1) {
    perm[2] = d->n + 3;
    perm[3] = 2;
  }
  dims[1] = d->channels * d->taps;
  for (int k = 0; k < d->n; k++) {
    perm[k + 4] = k + 3;
    dims[k + 2] = d->out[k];
  }
  return wk_make_reshape(c, wk_make_transpose(c, y, perm), d->n + 2, dims);
}

static wk_value_id as_weights(wk_onnx_node *c, const deform *d) {
  const wk_type w = *wk_onnx_type(c, c->in[W]);
  const int64_t perm[] = {0, 1, 3, 2};
  const int64_t apart[] = {w.dims[0], d->offset_group, d->channels / d->offset_group, d->taps};
  int64_t dims[WK_MAX_RANK] = {w.dims[0], w.dims[1] * d->taps, 1, 1, 1};
  wk_value_id v = c->in[W];
  if (d->group == 1) v = wk_make_transpose(c, wk_make_reshape(c, v, 4, apart), perm);
  return wk_make_reshape(c, v, d->n + 2, dims);
}

wk_status wk_onnx_deform_conv(wk_onnx_node *c) {
  deform d;
  if (!read_deform(c, &d)) return c->status;
  wk_value_id image = as_image(c, &d, read_places(c, &d)), w = as_weights(c, &d);
  WK_MAKE_ATTRS(c, a, CONV, conv);
  a->strides = a->dilations = wk_ints_fill(c->im->m->arena, d.n, 1);
  a->pads = wk_ints_fill(c->im->m->arena, 2 * d.n, 0);
  a->group = d.group;
  return wk_onnx_return(c, wk_make(c, WK_OP_CONV, a, wk_onnx_has(c, BIAS) ? 3 : 2, image, w,
                                   c->in[BIAS]));
}
