/* SPDX-License-Identifier: Apache-2.0
 * Adjoints of convolutions and products: again convolutions and products. */
#include <string.h>

#include "compiler/grad/adjoint.h"

/* Epilogues and biases come after the sum: what they hand on to it, and what they get. `extra` is
 * the position of the first extra input, `axis` that of the bias in y. *own: the node without
 * epilogue and bias. WK_NONE: nothing reaches the sum. */
static wk_value_id before_epilogue(wk_adjoint *a, const wk_expr *epilogue, void *plain,
                                   uint32_t bias, int axis) {
  wk_low *l = &a->l;
  const wk_node *n = a->n;
  wk_value_id g = a->dy[0];
  if (epilogue) {
    wk_value_id in[8];
    int count = 0;
    if (n->n_in > bias + 7) {
      wk_low_fail(l, wk_error(WK_UNSUPPORTED, "an epilogue of more than 7 tensors"));
      return WK_NONE;
    }
    in[count++] = wk_low_add(l, n->op, plain, n->in, n->n_in > bias ? bias + 1 : n->n_in, 1, NULL);
    for (uint32_t k = bias + 1; k < n->n_in; k++) in[count++] = n->in[k];
    for (int k = 1; k < count && !l->status; k++) {
      uint32_t at = bias + (uint32_t)k;
      if (!a->wants[at]) continue;
      const wk_type t = *wk_low_type(l, n->in[at]);
      wk_value_id part = wk_adjoint_through(a, epilogue, in, count, k, g);
      if (part != WK_NONE) a->dx[at] = wk_adjoint_sum_to(l, part, &t);
    }
    g = wk_adjoint_through(a, epilogue, in, count, 0, g);
  }
  if (g != WK_NONE && wk_adjoint_wants(a, bias) && !l->status) {
    wk_type t = *wk_low_type(l, n->in[bias]), along = *wk_low_type(l, g);
    along.dtype = t.dtype;
    for (int i = 0; i < along.rank; i++)
      if (i != axis) along.dims[i] = 1;
    a->dx[bias] = wk_low_reshape(l, wk_adjoint_sum_to(l, g, &along), t.rank, t.dims);
  }
  return g;
}

/* ---- products ------------------------------------------------------------------------------ */

wk_value_id wk_adjoint_swapped(wk_low *l, wk_value_id v) {
  if (l->status) return 0;
  int64_t perm[WK_MAX_RANK];
  int rank = wk_low_type(l, v)->rank;
  for (int i = 0; i < rank; i++) perm[i] = i;
  perm[rank - 2] = rank - 1;
  perm[rank - 1] = rank - 2;
  return wk_low_transpose(l, v, perm);
}

wk_value_id wk_adjoint_product(wk_low *l, wk_dtype t, wk_value_id x, wk_value_id g) {
  if (l->status) return 0;
  const wk_type tx = *wk_low_type(l, x), tg = *wk_low_type(l, g);
  if (tx.dims[tx.rank - 1] <= tg.dims[tg.rank - 1])
    return wk_low_matmul(l, t, wk_adjoint_swapped(l, x), g, WK_NONE);
  return wk_adjoint_swapped(l, wk_low_matmul(l, t, wk_adjoint_swapped(l, g), x, WK_NONE));
}

/* [..., m, k] as [.. m, k]: one product instead of a batch that is summed. */
static wk_value_id flat(wk_low *l, wk_value_id v) {
  if (l->status) return 0;
  const wk_type t = *wk_low_type(l, v);
  int64_t dims[2] = {1, t.dims[t.rank - 1]};
  for (int i = 0; i + 1 < t.rank; i++) dims[0] *= t.dims[i];
  return wk_low_reshape(l, v, 2, dims);
}

void wk_adjoint_matmul(wk_adjoint *a) {
  wk_low *l = &a->l;
  wk_attr_matmul *plain = wk_attrs_new(l->arena, WK_OP_MATMUL);
  wk_value_id x = a->n->in[0], w = a->n->in[1];
  const wk_type tx = *wk_low_type(l, x), tw = *wk_low_type(l, w);
  int last = wk_val(l->g, a->n->out[0])->type.rank - 1;
  wk_value_id g = before_epilogue(a, WK_ATTR(a->n, matmul)->epilogue, plain, 2, last);
  if (g == WK_NONE || l->status) return;
  g = wk_adjoint_cast(l, g, tx.dtype);
  if (a->wants[0]) {
    wk_value_id d = wk_low_matmul(l, tx.dtype, g, wk_adjoint_swapped(l, w), WK_NONE);
    a->dx[0] = wk_adjoint_sum_to(l, d, &tx);
  }
  if (!a->wants[1]) return;
  bool is_shared = tw.rank == 2;
  wk_value_id left = is_shared ? flat(l, x) : x, right = is_shared ? flat(l, g) : g;
  wk_value_id d = is_shared
                      ? wk_low_matmul(l, tw.dtype, wk_adjoint_swapped(l, left), right, WK_NONE)
                      : wk_adjoint_product(l, tw.dtype, left, right);
  a->dx[1] = wk_adjoint_sum_to(l, d, &tw);
}

/* ---- convolutions -------------------------------------------------------------------------- */

typedef struct {
  const wk_ints *strides, *pads, *dilations;
  int64_t group;
} window;

/* x [n, g*c, s...] as [c, g*n, s...]: what is one sample's channel becomes one channel's sample. */
static wk_value_id samples_as_channels(wk_low *l, wk_value_id x, int64_t group) {
  if (l->status) return 0;
  const wk_type t = *wk_low_type(l, x);
  int64_t five[5] = {t.dims[0], group, t.dims[1] / group, 1, 1}, perm[] = {2, 1, 0, 3};
  int64_t dims[WK_MAX_RANK];
  for (int i = 2; i < t.rank; i++) five[3] *= t.dims[i];
  x = wk_low_transpose(l, wk_low_reshape(l, x, 4, five), perm);
  memcpy(dims, t.dims, (size_t)t.rank * sizeof *dims);
  dims[0] = t.dims[1] / group;
  dims[1] = group * t.dims[0];
  return wk_low_reshape(l, x, t.rank, dims);
}

static wk_value_id exchanged(wk_low *l, wk_value_id v) {
  int64_t perm[WK_MAX_RANK];
  for (int i = 0; i < WK_MAX_RANK; i++) perm[i] = i;
  perm[0] = 1;
  perm[1] = 0;
  return l->status ? 0 : wk_low_transpose(l, v, perm);
}

enum { MAX_TAPS = 64 }; /* of a kernel that is unrolled */

static int64_t taps_of(const wk_type *tw) {
  int64_t taps = 1;
  for (int i = 2; i < tw->rank; i++) taps *= tw->dims[i];
  return taps;
}

/* Every channel by itself: nothing that a product would share. */
static bool is_depthwise(const window *c, const wk_type *tx, const wk_type *tw) {
  return c->group > 1 && tx->dims[1] == c->group && tw->dims[0] == c->group && tw->dims[1] == 1 &&
         taps_of(tw) <= MAX_TAPS;
}

/* What one tap gets: the sum over samples and positions of dy times the element of x under it. */
static wk_value_id tap_sum(wk_low *l, wk_value_id under, wk_value_id dy) {
  if (l->status) return 0;
  int64_t axes[WK_MAX_RANK], rank = wk_low_type(l, dy)->rank;
  wk_dtype t = wk_compute_dtype(wk_low_type(l, dy)->dtype);
  wk_attr_reduce *r = wk_attrs_new(l->arena, WK_OP_REDUCE);
  int n = 0;
  for (int64_t i = 0; i < rank; i++)
    if (i != 1) axes[n++] = i;
  wk_expr_builder *b = wk_expr_begin(l->arena);
  uint16_t x = wk_expr_cast(b, t, wk_expr_input(b, 0, wk_low_type(l, under)->dtype));
  uint16_t y = wk_expr_cast(b, t, wk_expr_input(b, 1, wk_low_type(l, dy)->dtype));
  uint16_t product = wk_expr_2(b, WK_EX_MUL, x, y);
  r->kind = "sum";
  r->axes = wk_ints_dup(l->arena, axes, n);
  r->keepdims = 0;
  r->pre = wk_expr_finish(b, &product, 1);
  wk_value_id in[] = {under, dy};
  return wk_low_add(l, WK_OP_REDUCE, r, in, 2, 1, NULL);
}

static wk_value_id depthwise_weights(wk_low *l, const window *c, wk_value_id x, wk_value_id dy,
                                     const wk_type *tw) {
  const wk_type tx = *wk_low_type(l, x), ty = *wk_low_type(l, dy);
  int n = tx.rank - 2;
  int64_t before[WK_MAX_RANK] = {0}, after[WK_MAX_RANK] = {0}, column[] = {tx.dims[1], 1};
  wk_value_id parts[MAX_TAPS];
  for (int i = 0; i < n; i++) {
    int64_t reach = c->strides->v[i] * (ty.dims[i + 2] - 1) +
                    c->dilations->v[i] * (tw->dims[i + 2] - 1) + 1;
    before[i + 2] = c->pads->v[i];
    int64_t more = reach - tx.dims[i + 2] - c->pads->v[i];
    after[i + 2] = more > 0 ? more : 0;
  }
  x = wk_adjoint_padded(l, x, before, after);
  for (int64_t tap = 0, taps = taps_of(tw); tap < taps; tap++) {
    wk_value_id under = x;
    for (int64_t i = n - 1, rest = tap; i >= 0; rest /= tw->dims[i + 2], i--)
      under = wk_low_slice(l, under, (int)i + 2, rest % tw->dims[i + 2] * c->dilations->v[i],
                           ty.dims[i + 2], c->strides->v[i]);
    parts[tap] = wk_low_reshape(l, tap_sum(l, under, dy), 2, column);
  }
  wk_value_id all = wk_low_concat(l, parts, (uint32_t)taps_of(tw), 1);
  return wk_adjoint_cast(l, wk_low_reshape(l, all, tw->rank, tw->dims), tw->dtype);
}

/* Adjoint, of type tw, of the weights of y = conv(x, w), where dy is y's: a convolution of x with
 * dy in which samples and channels change places, and strides and dilations. The padding at the
 * end is what makes the result as large as the kernel. */
static wk_value_id weights(wk_low *l, const window *c, wk_value_id x, wk_value_id dy,
                           const wk_type *tw) {
  if (l->status) return 0;
  const wk_type tx = *wk_low_type(l, x), ty = *wk_low_type(l, dy);
  int n = tx.rank - 2;
  int64_t pads[2 * WK_MAX_RANK];
  if (wk_type_count(&tx) == 0 || wk_type_count(&ty) == 0) return wk_adjoint_zeros(l, tw);
  if (is_depthwise(c, &tx, tw)) return depthwise_weights(l, c, x, dy, tw);
  for (int i = 0; i < n; i++) {
    int64_t reach = c->dilations->v[i] * (tw->dims[i + 2] - 1) + 1;
    int64_t span = c->strides->v[i] * (ty.dims[i + 2] - 1) + 1;
    pads[i] = c->pads->v[i];
    pads[n + i] = span + reach - 1 - tx.dims[i + 2] - pads[i];
  }
  wk_value_id data = samples_as_channels(l, x, c->group);
  for (int i = 0; i < n && !l->status; i++) {
    if (pads[n + i] >= 0) continue; /* what no window reached */
    if (tx.dims[i + 2] + pads[n + i] <= 0) return wk_adjoint_zeros(l, tw);
    data = wk_low_slice(l, data, i + 2, 0, tx.dims[i + 2] + pads[n + i], 1);
    pads[n + i] = 0;
  }
  wk_attr_conv *v = wk_attrs_new(l->arena, WK_OP_CONV);
  v->strides = *c->dilations;
  v->dilations = *c->strides;
  v->pads = wk_ints_dup(l->arena, pads, 2 * n);
  v->group = c->group;
  wk_value_id in[] = {data, exchanged(l, dy)};
  wk_value_id d = wk_low_add(l, WK_OP_CONV, v, in, 2, 1, NULL);
  return wk_adjoint_cast(l, exchanged(l, d), tw->dtype);
}

void wk_adjoint_conv(wk_adjoint *a) {
  wk_low *l = &a->l;
  const wk_attr_conv *n = WK_ATTR(a->n, conv);
  wk_attr_conv *plain = wk_attrs_clone(l->arena, WK_OP_CONV, n);
  plain->epilogue = NULL;
  const wk_type x = *wk_low_type(l, a->n->in[0]), w = *wk_low_type(l, a->n->in[1]);
  const window c = {&n->strides, &n->pads, &n->dilations, n->group};
  int space = x.rank - 2;
  wk_value_id g = before_epilogue(a, n->epilogue, plain, 2, 1);
  if (g == WK_NONE || l->status) return;
  g = wk_adjoint_cast(l, g, x.dtype);
  if (a->wants[1]) a->dx[1] = weights(l, &c, a->n->in[0], g, &w);
  if (!a->wants[0] || l->status) return;
  int64_t more[WK_MAX_RANK];
  const wk_type y = *wk_low_type(l, g);
  for (int i = 0; i < space; i++)
    more[i] = x.dims[i + 2] + n->pads.v[i] + n->pads.v[space + i] -
              (y.dims[i + 2] - 1) * n->strides.v[i] - n->dilations.v[i] * (w.dims[i + 2] - 1) - 1;
  wk_attr_conv_transpose *t = wk_attrs_new(l->arena, WK_OP_CONV_TRANSPOSE);
  t->strides = n->strides;
  t->pads = n->pads;
  t->dilations = n->dilations;
  t->group = n->group;
  t->output_padding = wk_ints_dup(l->arena, more, space);
  wk_value_id in[] = {g, a->n->in[1]};
  a->dx[0] = wk_adjoint_cast(l, wk_low_add(l, WK_OP_CONV_TRANSPOSE, t, in, 2, 1, NULL), x.dtype);
}

void wk_adjoint_conv_transpose(wk_adjoint *a) {
  wk_low *l = &a->l;
  const wk_attr_conv_transpose *n = WK_ATTR(a->n, conv_transpose);
  wk_attr_conv_transpose *plain = wk_attrs_clone(l->arena, WK_OP_CONV_TRANSPOSE, n);
  plain->epilogue = NULL;
  const wk_type x = *wk_low_type(l, a->n->in[0]), w = *wk_low_type(l, a->n->in[1]);
  const window c = {&n->strides, &n->pads, &n->dilations, n->group};
  wk_value_id g = before_epilogue(a, n->epilogue, plain, 2, 1);
  if (g == WK_NONE || l->status) return;
  g = wk_adjoint_cast(l, g, x.dtype);
  if (a->wants[1]) a->dx[1] = weights(l, &c, g, a->n->in[0], &w);
  if (!a->wants[0]) return;
  wk_attr_conv *v = wk_attrs_new(l->arena, WK_OP_CONV);
  v->strides = n->strides;
  v->pads = n->pads;
  v->dilations = n->dilations;
  v->group = n->group;
  /* output_padding at the end is what no window of the convolution reaches */
  wk_value_id in[] = {g, a->n->in[1]};
  wk_value_id d = wk_low_add(l, WK_OP_CONV, v, in, 2, 1, NULL);
  for (int i = 2; i < x.rank && !l->status; i++)
    if (wk_low_type(l, d)->dims[i] != x.dims[i]) d = wk_low_slice(l, d, i, 0, x.dims[i], 1);
  a->dx[0] = wk_adjoint_cast(l, d, x.dtype);
}
