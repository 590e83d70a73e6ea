/* SPDX-License-Identifier: Apache-2.0
 * AffineGrid and Col2Im: positions that are known at import. */
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

/* ---- AffineGrid ------------------------------------------------------------------------------ */

/* Positions of n pixels between -1 and 1, along `axis` of a tensor of this rank. */
static wk_value_id positions(wk_onnx_node *c, wk_dtype t, int64_t n, int axis, int rank) {
  void *data;
  int64_t dims[WK_MAX_RANK];
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? n : 1;
  bool is_corner = wk_onnx_int(c, "align_corners", 0) != 0;
  wk_type type = wk_type_make(t, rank, dims);
  wk_value_id v = wk_make_constant(c, &type, &data);
  for (int64_t i = 0; data && i < n; i++) {
    double k = (double)i, at = (2 * k + 1) / (double)n - 1;
    if (is_corner) at = n > 1 ? 2 * k / (double)(n - 1) - 1 : 0; /* one alone lies in the middle */
    wk_store_f64(data, t, i, at);
  }
  return v;
}

wk_status wk_onnx_affine_grid(wk_onnx_node *c) {
  const wk_type theta = *wk_onnx_type(c, c->in[0]);
  wk_ints size = wk_onnx_const_ints(c, c->in[1], "the size");
  if (!wk_onnx_ok(c) ||
      !wk_onnx_valid(c, size.n == 4 || size.n == 5, "size has %lld entries, not 4 or 5",
                     (long long)size.n))
    return c->status;
  int n = (int)size.n - 2; /* spatial axes */
  bool fits = theta.rank == 3 && theta.dims[0] == size.v[0] && theta.dims[1] == n &&
              theta.dims[2] == n + 1;
  wk_onnx_valid(c, fits, "theta is not [%lld,%d,%d]", (long long)size.v[0], n, n + 1);
  for (int i = 0; i < n; i++)
    wk_onnx_valid(c, size.v[i + 2] >= 0, "size %lld is not valid", (long long)size.v[i + 2]);
  if (!wk_onnx_ok(c)) return c->status;
  wk_dtype t = theta.dtype == WK_F64 ? WK_F64 : WK_F32;
  wk_value_id x = wk_make_cast(c, c->in[0], t), y = WK_NONE;
  int64_t dims[WK_MAX_RANK] = {size.v[0], 1, 1, 1, 1};
  dims[n + 1] = n;
  for (int i = n; i >= 0; i--) { /* the translation, then columns for the axes from outside in */
    wk_value_id column = wk_make_reshape(c, wk_make_slice(c, x, 2, i, 1, 1), n + 2, dims);
    if (i == n) {
      y = column;
      continue;
    }
    int axis = n - i; /* column 0 belongs to the last axis */
    wk_value_id at = positions(c, t, size.v[axis + 1], axis, n + 2);
    y = wk_make_2(c, WK_OP_ADD, y, wk_make_2(c, WK_OP_MUL, column, at));
  }
  return wk_onnx_return(c, wk_make_cast(c, y, theta.dtype));
}

/* ---- Col2Im ---------------------------------------------------------------------------------- */

typedef struct {
  int n; /* spatial axes */
  int64_t image[WK_MAX_RANK], block[WK_MAX_RANK], blocks[WK_MAX_RANK];
  int64_t stride[WK_MAX_RANK], dilation[WK_MAX_RANK], begin[WK_MAX_RANK];
  int64_t pixels, offsets, places; /* products of image, block, blocks */
  int64_t depth;                   /* elements that meet in one pixel, at most */
} columns;

#define PLACES_LIMIT (INT64_C(1) << 28)

static bool read_steps(wk_onnx_node *c, const char *name, int64_t least, int64_t def, int64_t n,
                       int64_t *out) {
  wk_ints v = wk_onnx_ints(c, name);
  if (v.n < 0) v = wk_ints_fill(c->im->arena, n, def);
  if (!wk_onnx_valid(c, v.n == n, "%s has %lld entries, not %lld", name, (long long)v.n,
                     (long long)n))
    return false;
  for (int64_t i = 0; i < n; i++) {
    bool fits = v.v[i] >= least && v.v[i] < (int64_t)1 << 31;
    if (!wk_onnx_valid(c, fits, "%s %lld", name, (long long)v.v[i])) return false;
    out[i] = v.v[i];
  }
  return true;
}

/* How many blocks begin along axis i, and how many of them reach one position at most. */
static bool measure_axis(wk_onnx_node *c, columns *p, int i, int64_t end) {
  int64_t reach = p->dilation[i] * (p->block[i] - 1) + 1;
  int64_t room = p->image[i] + p->begin[i] + end - reach;
  if (!wk_onnx_valid(c, room >= 0, "a block of %lld exceeds axis %d of %lld", (long long)reach, i,
                     (long long)p->image[i]))
    return false;
  p->blocks[i] = room / p->stride[i] + 1;
  int64_t depth = p->block[i] < p->blocks[i] ? p->block[i] : p->blocks[i];
  bool fits = wk_mul_ok(p->pixels, p->image[i], &p->pixels) &&
              wk_mul_ok(p->offsets, p->block[i], &p->offsets) &&
              wk_mul_ok(p->places, p->blocks[i], &p->places) &&
              wk_mul_ok(p->depth, depth, &p->depth) && p->pixels < PLACES_LIMIT &&
              p->offsets < PLACES_LIMIT && p->places < PLACES_LIMIT && p->depth < PLACES_LIMIT;
  return wk_onnx_need(c, fits, "an image of this size is not supported");
}

static bool read_columns(wk_onnx_node *c, const wk_type *x, columns *p) {
  wk_ints image = wk_onnx_const_ints(c, c->in[1], "the image's shape");
  wk_ints block = wk_onnx_const_ints(c, c->in[2], "the block's shape");
  if (!wk_onnx_ok(c)) return false;
  if (!wk_onnx_valid(c, x->rank == 3, "the input has rank %d, not 3", x->rank) ||
      !wk_onnx_valid(c, image.n == block.n && image.n > 0,
                     "the image has %lld axes, the block %lld", (long long)image.n,
                     (long long)block.n) ||
      !wk_onnx_need(c, image.n + 2 <= WK_MAX_RANK, "rank %lld exceeds %d",
                    (long long)image.n + 2, WK_MAX_RANK))
    return false;
  *p = (columns){.n = (int)image.n, .pixels = 1, .offsets = 1, .places = 1, .depth = 1};
  int64_t pads[2 * WK_MAX_RANK];
  if (!read_steps(c, "strides", 1, 1, image.n, p->stride) ||
      !read_steps(c, "dilations", 1, 1, image.n, p->dilation) ||
      !read_steps(c, "pads", 0, 0, 2 * image.n, pads))
    return false;
  for (int i = 0; i < p->n; i++) {
    p->image[i] = image.v[i];
    p->block[i] = block.v[i];
    p->begin[i] = pads[i];
    bool fits = image.v[i] > 0 && image.v[i] < (int64_t)1 << 31 && block.v[i] > 0 &&
                block.v[i] < (int64_t)1 << 31;
    if (!wk_onnx_valid(c, fits, "image of %lld and block of %lld along axis %d",
                       (long long)image.v[i], (long long)block.v[i], i) ||
        !measure_axis(c, p, i, pads[i + p->n]))
      return false;
  }
  if (!wk_onnx_need(c, p->offsets * p->places < PLACES_LIMIT, "so many columns are not supported"))
    return false;
  bool fits = x->dims[1] % p->offsets == 0 && x->dims[2] == p->places;
  return wk_onnx_valid(c, fits, "the input is not [n,c*%lld,%lld] as image and block ask for",
                       (long long)p->offsets, (long long)p->places);
}

/* The pixel on which offset `o` of the block at place `l` falls; -1: none, it is padding. */
static int64_t pixel_of(const columns *p, int64_t o, int64_t l) {
  int64_t pixel = 0, step = 1;
  for (int i = p->n - 1; i >= 0; i--) {
    int64_t at = l % p->blocks[i] * p->stride[i] + o % p->block[i] * p->dilation[i] - p->begin[i];
    if (at < 0 || at >= p->image[i]) return -1;
    pixel += at * step;
    step *= p->image[i];
    l /= p->blocks[i];
    o /= p->block[i];
  }
  return pixel;
}

/* [pixels, depth]: elements of [offsets * places] that meet in each pixel, then the zero behind
 * them. */
static wk_value_id contributors(wk_onnx_node *c, const columns *p) {
  void *data;
  wk_type t = wk_type_make(WK_I64, 2, (int64_t[]){p->pixels, p->depth});
  wk_value_id v = wk_make_constant(c, &t, &data);
  if (!data) return v;
  int64_t *of = data;
  int64_t *used = wk_arena_alloc(c->im->arena, (size_t)p->pixels * sizeof *used);
  for (int64_t i = 0; i < p->pixels * p->depth; i++) of[i] = p->offsets * p->places;
  for (int64_t o = 0; o < p->offsets; o++) {
    for (int64_t l = 0; l < p->places; l++) {
      int64_t pixel = pixel_of(p, o, l);
      if (pixel >= 0) of[pixel * p->depth + used[pixel]++] = o * p->places + l;
    }
  }
  return v;
}

/* A sum over what is gathered for each pixel: no element is written twice. */
wk_status wk_onnx_col2im(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  columns p;
  if (!read_columns(c, &x, &p)) return c->status;
  int64_t channels = x.dims[1] / p.offsets, dims[WK_MAX_RANK] = {x.dims[0], channels};
  const int64_t flat[] = {x.dims[0], channels, p.offsets * p.places};
  const int64_t none[] = {0, 0, 0}, one[] = {0, 0, 1};
  memcpy(dims + 2, p.image, (size_t)p.n * sizeof *dims);
  WK_MAKE_ATTRS(c, pad, PAD, pad);
  pad->before = wk_ints_dup(c->im->m->arena, none, 3);
  pad->after = wk_ints_dup(c->im->m->arena, one, 3);
  wk_value_id v = wk_make(c, WK_OP_PAD, pad, 1, wk_make_reshape(c, c->in[0], 3, flat));
  v = wk_make_gather(c, v, contributors(c, &p), 2);
  v = wk_make_reduce(c, WK_OP_REDUCE_SUM, v, wk_make_axes(c, 3, 4), false);
  return wk_onnx_return(c, wk_make_reshape(c, v, p.n + 2, dims));
}
