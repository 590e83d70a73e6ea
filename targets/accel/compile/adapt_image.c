/* SPDX-License-Identifier: Apache-2.0
 * Images whose pixels move: blocks of pixels that become channels, or channels that become blocks
 * of pixels, as reshapes around a transposition write them, and resizing to the nearest pixel. */
#include <string.h>

#include "compiler/ir/resize.h"
#include "targets/accel/compile/adapt.h"
#include "targets/accel/compile/net.h"

/* ---- nearest pixels -------------------------------------------------------------------------- */

/* Every result is one element, times 2 / 2^1. */
static wk_value_id nearest_along(wk_rewrite *r, wk_value_id x, int axis,
                                 const wk_resize_axis *m) {
  wk_attr_integer_resize *a = wk_attrs_new(r->arena, WK_OP_INTEGER_RESIZE);
  const wk_dtype t = wk_type_of(r, x)->dtype;
  int64_t *from = wk_arena_alloc(r->arena, (size_t)m->out * sizeof *from);
  for (int64_t i = 0; i < m->out; i++) {
    double w[WK_RESIZE_TAPS];
    int64_t first;
    (void)wk_resize_taps(m, wk_resize_coordinate(m, i), &first, w);
    from[i] = first < 0 ? 0 : first >= m->in ? m->in - 1 : first;
  }
  a->axis = axis;
  a->near = a->far = wk_ints_dup(r->arena, from, m->out);
  a->near_mult = wk_ints_fill(r->arena, (int)m->out, 2);
  a->far_mult = wk_ints_fill(r->arena, (int)m->out, 0);
  a->shift = 1;
  a->lo = t == WK_I8 ? INT8_MIN : 0;
  a->hi = a->lo + UINT8_MAX;
  a->to = t;
  return wk_rewrite_1(r, WK_OP_INTEGER_RESIZE, a, x);
}

static bool resize(wk_rewrite *r, const wk_node *n) {
  const wk_attr_resize *a = WK_ATTR(n, resize);
  const wk_type t = *wk_type_of(r, n->in[0]);
  const wk_value_id old = n->out[0];
  wk_value_id x = n->in[0];
  if (!wk_accel_is_8_bit(t.dtype) || strcmp(a->mode, "nearest") != 0 ||
      !strcmp(a->coordinates, "tf_crop_and_resize") || !wk_type_count(wk_type_of(r, old)))
    return false;
  r->name = n->name;
  for (int k = 0; k < t.rank && x != WK_NONE; k++) {
    const wk_resize_axis m = wk_resize_axis_of(a, &t, k);
    if (wk_resize_changes(&m)) x = nearest_along(r, x, k, &m);
  }
  return wk_rewrite_replace(r, old, x);
}

/* ---- blocks of pixels ------------------------------------------------------------------------ */

/* A transposition of six axes between reshapes, as what becomes of the image x. */
typedef struct {
  wk_value_id x;
  int64_t rows, columns, channels; /* of a block; of the image with more pixels */
  bool is_back, by_columns;
  bool is_inner;                /* a channel's pixels follow one another, not a pixel's channels */
  bool is_last;                 /* channels are the last axis of both images */
  int64_t from[WK_MAX_RANK], to[WK_MAX_RANK]; /* the images: of four axes */
} blocks;

/* The orders of axes of the six, and where n, h, w, rows, columns and c are among them. */
static const struct {
  int64_t perm[6];
  int n, h, w, rows, columns, c;
  bool is_back, by_columns, is_inner, is_last;
} orders[] = {
    {{0, 3, 4, 1, 5, 2}, 0, 4, 5, 1, 2, 3, false, false, false, false},
    {{0, 3, 4, 2, 5, 1}, 0, 4, 5, 2, 1, 3, false, true, false, false},
    {{0, 1, 4, 2, 5, 3}, 0, 4, 5, 2, 3, 1, false, false, true, false},
    {{0, 3, 5, 1, 2, 4}, 0, 2, 4, 3, 5, 1, true, false, false, false},
    {{0, 5, 3, 1, 2, 4}, 0, 2, 4, 3, 5, 1, true, true, false, false},
    {{0, 1, 3, 5, 2, 4}, 0, 2, 4, 3, 5, 1, true, false, true, false},
    {{0, 1, 3, 2, 4, 5}, 0, 1, 2, 3, 4, 5, false, false, false, true},
    {{0, 1, 4, 2, 3, 5}, 0, 1, 2, 4, 3, 5, false, true, false, true},
    {{0, 1, 3, 2, 4, 5}, 0, 1, 3, 2, 4, 5, true, false, false, true},
    {{0, 1, 3, 4, 2, 5}, 0, 1, 3, 2, 4, 5, true, true, false, true},
};

/* An image of these sizes, of four axes; channels last: whatever its axes before these are. */
static bool is_image(const wk_type *t, const int64_t dims[4], bool is_last) {
  wk_type image = wk_type_make(t->dtype, 4, dims);
  if (!is_last) return wk_shape_equal(t, &image);
  return t->rank > 1 && t->dims[t->rank - 1] == dims[3] &&
         wk_type_count(t) == wk_type_count(&image);
}

static void set_image(int64_t out[4], int64_t n, int64_t c, int64_t h, int64_t w, bool is_last) {
  const int64_t image[4] = {n, is_last ? h : c, is_last ? w : h, is_last ? c : w};
  memcpy(out, image, sizeof image);
}

/* The movement that ends with the reshape `joined`. */
static bool blocks_of(const wk_rewrite *r, const wk_node *joined, blocks *out) {
  const wk_node *t = wk_made_by(r, joined->in[0], WK_OP_TRANSPOSE);
  const wk_node *apart = t ? wk_made_by(r, t->in[0], WK_OP_RESHAPE) : NULL;
  if (!apart || wk_type_of(r, t->in[0])->rank != 6) return false;
  const wk_type *x = wk_type_of(r, apart->in[0]), *y = wk_type_of(r, joined->out[0]);
  const int64_t *perm = WK_ATTR(t, transpose)->perm.v, *d = wk_type_of(r, t->in[0])->dims;
  bool is_found = false;
  for (size_t k = 0; k < WK_COUNTOF(orders) && !is_found && wk_accel_is_8_bit(x->dtype); k++) {
    const int64_t n = d[orders[k].n], h = d[orders[k].h], w = d[orders[k].w], c = d[orders[k].c];
    const int64_t rows = d[orders[k].rows], columns = d[orders[k].columns];
    const bool is_last = orders[k].is_last;
    blocks b = {apart->in[0], rows, columns, c, orders[k].is_back, orders[k].by_columns,
                orders[k].is_inner, is_last, {0}, {0}};
    set_image(b.is_back ? b.to : b.from, n, rows * columns * c, h, w, is_last);
    set_image(b.is_back ? b.from : b.to, n, c, h * rows, w * columns, is_last);
    is_found = !memcmp(perm, orders[k].perm, sizeof orders[k].perm) && rows * columns > 1 &&
               is_image(x, b.from, is_last) && is_image(y, b.to, is_last);
    if (is_found) *out = b;
  }
  return is_found;
}

/* Channels [outer, inner] as [inner, outer]. */
static wk_value_id turn_channels(wk_rewrite *r, wk_value_id x, int64_t outer, int64_t inner) {
  static const int64_t perm[5] = {0, 2, 1, 3, 4};
  const wk_type t = *wk_type_of(r, x);
  const int64_t five[5] = {t.dims[0], outer, inner, t.dims[2], t.dims[3]};
  x = wk_rewrite_transpose(r, wk_rewrite_reshape(r, x, 5, five), perm);
  return wk_rewrite_reshape(r, x, 4, t.dims);
}

static bool spread(wk_rewrite *r, const wk_node *n) {
  static const int64_t first[4] = {0, 3, 1, 2}, last[4] = {0, 2, 3, 1};
  blocks b;
  const wk_value_id old = n->out[0];
  if (n->op != WK_OP_RESHAPE || !blocks_of(r, n, &b)) return false;
  const wk_type y = *wk_type_of(r, old);
  const bool turns = b.is_inner && b.channels > 1;
  wk_attr_depth_to_space *a = wk_attrs_new(r->arena, WK_OP_DEPTH_TO_SPACE);
  a->rows = b.rows, a->columns = b.columns, a->by_columns = b.by_columns, a->back = b.is_back;
  r->name = n->name;
  wk_value_id x = wk_rewrite_reshape(r, b.x, 4, b.from);
  if (b.is_last) x = wk_rewrite_transpose(r, x, first);
  if (turns && !b.is_back) x = turn_channels(r, x, b.channels, b.rows * b.columns);
  if (x != WK_NONE) x = wk_rewrite_1(r, WK_OP_DEPTH_TO_SPACE, a, x);
  if (turns && b.is_back && x != WK_NONE)
    x = turn_channels(r, x, b.rows * b.columns, b.channels);
  if (b.is_last) x = wk_rewrite_transpose(r, x, last);
  return wk_rewrite_replace(r, old, wk_rewrite_reshape(r, x, y.rank, y.dims));
}

bool wk_accel_move_pixels(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->predicate != WK_NONE) return false;
  return n->op == WK_OP_RESIZE ? resize(r, n) : spread(r, n);
}

/* ---- orders of channels, in weights ---------------------------------------------------------- */

/* A constant as `dims`, turned, as `out`. */
static wk_value_id rearranged(wk_rewrite *r, wk_value_id v, int rank, const int64_t *dims,
                              const int64_t *perm, int out_rank, const int64_t *out) {
  v = wk_rewrite_folded(r, wk_rewrite_reshape(r, v, rank, dims));
  if (v != WK_NONE) v = wk_rewrite_folded(r, wk_rewrite_transpose(r, v, perm));
  return v == WK_NONE ? v : wk_rewrite_folded(r, wk_rewrite_reshape(r, v, out_rank, out));
}

/* A constant with `axis` as [outer, inner], turned; one of one element stays. */
static wk_value_id turned(wk_rewrite *r, wk_value_id v, int axis, int64_t outer, int64_t inner) {
  const wk_type t = *wk_type_of(r, v);
  int64_t dims[WK_MAX_RANK], perm[WK_MAX_RANK];
  if (wk_type_count(&t) == 1) return v;
  if (!wk_known(r, v) || axis < 0 || t.rank + 1 > WK_MAX_RANK || t.dims[axis] != outer * inner)
    return WK_NONE;
  for (int k = 0; k <= t.rank; k++) {
    dims[k] = k < axis ? t.dims[k] : k == axis ? outer : k == axis + 1 ? inner : t.dims[k - 1];
    perm[k] = k == axis ? axis + 1 : k == axis + 1 ? axis : k;
  }
  return rearranged(r, v, t.rank + 1, dims, perm, t.rank, t.dims);
}

/* The results of a convolution in another order: those of its weights, biases, factors. */
static bool turn_results(wk_rewrite *r, const wk_node *n) {
  wk_accel_shuffle s;
  wk_value_id in[WK_MAX_RANK + 8];
  const wk_value_id old = n->out[0];
  if (n->op != WK_OP_RESHAPE || !wk_accel_shuffle_of(r, n, &s)) return false;
  const wk_node *conv = wk_made_once_by(r, s.x, WK_OP_CONV);
  if (!conv || conv->n_in > WK_COUNTOF(in) || WK_ATTR(conv, conv)->group != 1 ||
      conv->predicate != WK_NONE)
    return false;
  const wk_node made = *conv;
  memcpy(in, made.in, made.n_in * sizeof *in);
  r->name = made.name;
  for (uint32_t k = 1; k < made.n_in; k++) {
    if (in[k] == WK_NONE) continue;
    int axis = k < 3 ? 0 : wk_type_of(r, in[k])->rank - 3;
    in[k] = turned(r, in[k], axis, s.groups, s.each);
    if (in[k] == WK_NONE) return false;
  }
  return wk_rewrite_replace(r, old, wk_rewrite_like(r, &made, made.attrs, made.n_in, in));
}

/* A function of bytes is that of channels in any order. */
static bool turn_before_table(wk_rewrite *r, const wk_node *n) {
  wk_accel_shuffle s;
  const wk_value_id old = n->out[0];
  if (n->op != WK_OP_RESHAPE || !wk_accel_shuffle_of(r, n, &s)) return false;
  const wk_node *table = wk_made_once_by(r, s.x, WK_OP_GATHER);
  if (!table || !wk_known(r, table->in[0]) || wk_type_of(r, table->in[0])->rank != 1) return false;
  const wk_node made = *table;
  wk_value_id x = turn_channels(r, made.in[1], s.groups, s.each);
  return x != WK_NONE &&
         wk_rewrite_replace(r, old, wk_rewrite_2(r, WK_OP_GATHER, made.attrs, made.in[0], x));
}

/* What reads channels in another order has its weights in that. */
static bool turn_operand(wk_rewrite *r, const wk_node *n) {
  wk_accel_shuffle s;
  wk_value_id in[WK_MAX_RANK + 8];
  const wk_node *joined = n->op == WK_OP_CONV ? wk_made_by(r, n->in[0], WK_OP_RESHAPE) : NULL;
  if (!joined || n->n_in > WK_COUNTOF(in) || WK_ATTR(n, conv)->group != 1 ||
      !wk_accel_shuffle_of(r, joined, &s))
    return false;
  memcpy(in, n->in, n->n_in * sizeof *in);
  in[0] = s.x;
  in[1] = turned(r, n->in[1], 1, s.each, s.groups);
  r->name = n->name;
  return in[1] != WK_NONE &&
         wk_rewrite_replace(r, n->out[0], wk_rewrite_like(r, n, n->attrs, n->n_in, in));
}

bool wk_accel_turn_weights(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->predicate != WK_NONE) return false;
  return turn_operand(r, n) || turn_results(r, n) || turn_before_table(r, n);
}

/* ---- windows of blocks ----------------------------------------------------------------------- */

/* The model's own numbers, or made of such. */
static bool is_from_outside(const wk_rewrite *r, wk_value_id v) {
  const wk_node *n = wk_def(r->g, v);
  return !n || (n->op == WK_OP_MAP && !wk_accel_is_8_bit(wk_type_of(r, n->in[0])->dtype));
}

/* It lies dense, so that a window over its pixels, not over blocks of them, loads the least. */
static bool is_dense(const wk_rewrite *r, wk_value_id x) {
  const wk_machine *m = r->c->data;
  return is_from_outside(r, x) && 2 * wk_type_of(r, x)->dims[1] <= m->array;
}

/* Kernel, strides and pads of a window over pixels, for one over blocks of them; false: a field of
 * the command is too small, or there is one tap. */
static bool widened(wk_rewrite *r, const wk_attr_depth_to_space *b, const wk_type *w,
                    wk_attr_conv *a) {
  const int64_t by[2] = {b->rows, b->columns};
  const int64_t most_stride[2] = {WK_MAX_WINDOW(sy), WK_MAX_WINDOW(sx)};
  const int64_t most_kernel[2] = {WK_MAX_WINDOW(ky), WK_MAX_WINDOW(kx)};
  const int64_t most_pad[2] = {WK_MAX_WINDOW(pad_t), WK_MAX_WINDOW(pad_l)};
  int64_t strides[2], pads[4];
  bool is_fine = a->group == 1 && (w->dims[2] != 1 || w->dims[3] != 1);
  for (int i = 0; i < 2; i++) {
    strides[i] = a->strides.v[i] * by[i];
    pads[i] = a->pads.v[i] * by[i], pads[2 + i] = a->pads.v[2 + i] * by[i];
    is_fine = is_fine && a->dilations.v[i] == 1 && strides[i] <= most_stride[i] &&
              pads[i] <= most_pad[i] && w->dims[2 + i] * by[i] <= most_kernel[i];
  }
  a->strides = wk_ints_dup(r->arena, strides, 2);
  a->pads = wk_ints_dup(r->arena, pads, 4);
  return is_fine;
}

/* A window over channels that are blocks of an image's pixels is one over these pixels. */
bool wk_accel_widen_windows(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  static const int64_t perm[2][6] = {{0, 3, 4, 1, 5, 2}, {0, 3, 4, 2, 5, 1}};
  const wk_node *d = n->op == WK_OP_CONV ? wk_made_by(r, n->in[0], WK_OP_DEPTH_TO_SPACE) : NULL;
  wk_value_id in[WK_MAX_RANK + 8];
  if (!d || n->predicate != WK_NONE || n->n_in > WK_COUNTOF(in)) return false;
  const wk_attr_depth_to_space b = *WK_ATTR(d, depth_to_space);
  const wk_type w = *wk_type_of(r, n->in[1]);
  wk_attr_conv *a = wk_attrs_clone(r->arena, WK_OP_CONV, n->attrs);
  if (!b.back || !is_dense(r, d->in[0]) || !widened(r, &b, &w, a)) return false;
  const int64_t c = w.dims[1] / (b.rows * b.columns);
  const int64_t outer = b.by_columns ? b.columns : b.rows;
  const int64_t six[6] = {w.dims[0], outer, b.rows * b.columns / outer, c, w.dims[2], w.dims[3]};
  const int64_t wide[4] = {w.dims[0], c, w.dims[2] * b.rows, w.dims[3] * b.columns};
  memcpy(in, n->in, n->n_in * sizeof *in);
  in[0] = d->in[0];
  in[1] = rearranged(r, n->in[1], 6, six, perm[b.by_columns], 4, wide);
  r->name = n->name;
  return in[1] != WK_NONE &&
         wk_rewrite_replace(r, n->out[0], wk_rewrite_like(r, n, a, n->n_in, in));
}
