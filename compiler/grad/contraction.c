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

/* x with nothing behind what windows reach; pads of so many axes: begins, then ends, none of which
 * is negative then. False: no window sees anything of x. */
static bool cut_to_reach(wk_low *l, wk_value_id *x, int first, int n, int64_t *pads) {
  for (int i = 0; i < n && !l->status; i++) {
    int64_t size = wk_low_type(l, *x)->dims[first + i];
    if (pads[n + i] >= 0) continue;
    if (size + pads[n + i] <= 0) return false;
    *x = wk_low_slice(l, *x, first + i, 0, size + pads[n + i], 1);
    pads[n + i] = 0;
  }
  return true;
}

/* What pads x at begins and ends, so that a convolution of it with dy has a result as large as the
 * kernel; negative: less than x. */
static void pads_of_weights(const window *c, const wk_type *tx, const wk_type *ty,
                            const wk_type *tw, int64_t *pads) {
  int n = tx->rank - 2;
  for (int i = 0; i < n; i++) {
    int64_t reach = c->dilations->v[i] * (tw->dims[i + 2] - 1) + 1;
    int64_t span = c->strides->v[i] * (ty->dims[i + 2] - 1) + 1;
    pads[i] = c->pads->v[i];
    pads[n + i] = span + reach - 1 - tx->dims[i + 2] - pads[i];
  }
}

/* Every channel by itself, and an axis left for the samples. */
static bool is_depthwise(const window *c, const wk_type *tx, const wk_type *tw) {
  return c->group > 1 && tx->dims[1] == c->group && tw->dims[0] == c->group && tw->dims[1] == 1 &&
         tx->rank <= 4;
}

/* [n, c, s...] as [1, c, n, s...] or, a kernel, as [c, 1, n, s...]. */
static wk_value_id samples_in_space(wk_low *l, wk_value_id v, bool is_kernel) {
  if (l->status) return 0;
  const wk_type t = *wk_low_type(l, v);
  int64_t dims[WK_MAX_RANK] = {is_kernel ? t.dims[1] : 1, is_kernel ? 1 : t.dims[1], t.dims[0]};
  memcpy(dims + 3, t.dims + 2, (size_t)(t.rank - 2) * sizeof *dims);
  return wk_low_reshape(l, exchanged(l, v), t.rank + 1, dims);
}

static wk_ints with_first(wk_arena *a, int64_t first, const int64_t *v, int64_t n) {
  int64_t all[2 * WK_MAX_RANK] = {first};
  memcpy(all + 1, v, (size_t)n * sizeof *v);
  return wk_ints_dup(a, all, n + 1);
}

/* One convolution, again of every channel by itself, in which the samples are an axis of space. */
static wk_value_id depthwise_weights(wk_low *l, const window *c, wk_value_id x, wk_value_id dy,
                                     const wk_type *tw, int64_t *pads) {
  int n = tw->rank - 2;
  wk_value_id data = samples_in_space(l, x, false);
  if (l->status) return 0;
  if (!cut_to_reach(l, &data, 3, n, pads)) return wk_adjoint_zeros(l, tw);
  int64_t all[2 * WK_MAX_RANK] = {0};
  memcpy(all + 1, pads, (size_t)n * sizeof *pads);
  memcpy(all + n + 2, pads + n, (size_t)n * sizeof *pads);
  wk_attr_conv *v = wk_attrs_new(l->arena, WK_OP_CONV);
  v->strides = with_first(l->arena, 1, c->dilations->v, n);
  v->dilations = with_first(l->arena, 1, c->strides->v, n);
  v->pads = wk_ints_dup(l->arena, all, 2 * (n + 1));
  v->group = c->group;
  wk_value_id in[] = {data, samples_in_space(l, dy, true)};
  wk_value_id d = wk_low_add(l, WK_OP_CONV, v, in, 2, 1, NULL);
  return wk_adjoint_cast(l, wk_low_reshape(l, d, tw->rank, tw->dims), tw->dtype);
}

/* Adjoint, of type tw, of the weights of y = conv(x, w), where dy is y's: a convolution of x with
 * dy in which samples and channels change places, and strides and dilations. */
static wk_value_id weights(wk_low *l, const window *c, wk_value_id x, wk_value_id dy,
                           const wk_type *tw) {
  if (l->status) return 0;
  const wk_type tx = *wk_low_type(l, x), ty = *wk_low_type(l, dy);
  int n = tx.rank - 2;
  int64_t pads[2 * WK_MAX_RANK];
  if (wk_type_count(&tx) == 0 || wk_type_count(&ty) == 0) return wk_adjoint_zeros(l, tw);
  pads_of_weights(c, &tx, &ty, tw, pads);
  if (is_depthwise(c, &tx, tw)) return depthwise_weights(l, c, x, dy, tw, pads);
  wk_value_id data = samples_as_channels(l, x, c->group);
  if (!l->status && !cut_to_reach(l, &data, 2, n, pads)) return wk_adjoint_zeros(l, tw);
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
