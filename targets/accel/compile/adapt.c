/* SPDX-License-Identifier: Apache-2.0
 * What the machine runs better, in a graph of integers, with the same results: weights of bytes,
 * channels that are shuffled, pixels that move (adapt_image.c), and patches. Lanes hold channels,
 * so an order of channels is nothing that addresses can express; but a convolution with a one in
 * each row can. Windows of an image of few channels that lie side by side are its channels in
 * another order. */
#include <string.h>

#include "compiler/expr/quant.h"
#include "compiler/integer/integer.h"
#include "targets/accel/compile/adapt.h"
#include "targets/accel/compile/net.h"

enum { MOST_CHANNELS = 1024 }; /* of such a convolution: 1 MiB of weights */

bool wk_accel_shuffle_of(const wk_rewrite *r, const wk_node *joined, wk_accel_shuffle *s) {
  const wk_node *t = wk_made_by(r, joined->in[0], WK_OP_TRANSPOSE);
  const wk_node *apart = t ? wk_made_by(r, t->in[0], WK_OP_RESHAPE) : NULL;
  if (!apart) return false;
  const wk_type *x = wk_type_of(r, apart->in[0]), *y = wk_type_of(r, apart->out[0]);
  const wk_attr_transpose *a = WK_ATTR(t, transpose);
  if (!wk_accel_is_8_bit(x->dtype) || x->rank != 4 || y->rank != x->rank + 1 ||
      !wk_shape_equal(x, wk_type_of(r, joined->out[0])) || x->dims[0] != y->dims[0] ||
      x->dims[1] > MOST_CHANNELS)
    return false;
  for (int k = 0; k < y->rank; k++)
    if (a->perm.v[k] != (k == 1 ? 2 : k == 2 ? 1 : k)) return false;
  for (int k = 2; k < x->rank; k++)
    if (x->dims[k] != y->dims[k + 1]) return false;
  *s = (wk_accel_shuffle){apart->in[0], y->dims[1], y->dims[2]};
  return true;
}

static wk_value_id ones(wk_rewrite *r, const wk_accel_shuffle *s, int rank) {
  int64_t n = s->groups * s->each;
  wk_type t = wk_type_make(WK_I8, rank, (int64_t[]){n, n, 1, 1});
  void *data;
  wk_value_id w = wk_rewrite_constant(r, &t, &data);
  for (int64_t g = 0; w != WK_NONE && g < s->groups; g++)
    for (int64_t k = 0; k < s->each; k++)
      ((int8_t *)data)[(k * s->groups + g) * n + g * s->each + k] = 1;
  return w;
}

/* The sum itself: rescaled by one. */
static const wk_expr *identity(wk_rewrite *r, wk_dtype dtype) {
  wk_rescale one = {0};
  (void)wk_rescale_of(1, &one);
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t v = wk_expr_rescale(b, wk_expr_input(b, 0, WK_I32), wk_expr_i(b, WK_I64, one.mult),
                               wk_expr_i(b, WK_I64, one.shift));
  v = wk_expr_sat(b, dtype, v);
  return wk_expr_finish(b, &v, 1);
}

static bool convolve(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  wk_accel_shuffle s;
  (void)id;
  if (n->op != WK_OP_RESHAPE || n->predicate != WK_NONE || !wk_accel_shuffle_of(r, n, &s))
    return false;
  int rank = wk_type_of(r, s.x)->rank, axes = rank - 2;
  wk_attr_conv *a = wk_attrs_new(r->arena, WK_OP_CONV);
  a->strides = a->dilations = wk_ints_fill(r->arena, axes, 1);
  a->pads = wk_ints_fill(r->arena, 2 * axes, 0);
  a->group = 1;
  a->epilogue = identity(r, wk_type_of(r, s.x)->dtype);
  r->name = n->name;
  wk_value_id w = ones(r, &s, rank);
  const wk_node made = {.op = WK_OP_CONV, .counted = {.only_moves = true}};
  return w != WK_NONE &&
         wk_rewrite_replace(r, n->out[0],
                            wk_rewrite_like(r, &made, a, 2, (wk_value_id[]){s.x, w}));
}

/* ---- patches --------------------------------------------------------------------------------- */

static bool all_are(wk_ints v, int64_t value) {
  for (uint32_t i = 0; i < v.n; i++)
    if (v.v[i] != value) return false;
  return true;
}

/* Windows side by side, of an image of few channels or too large for a command. */
static bool has_patches(const wk_rewrite *r, const wk_node *n) {
  const wk_attr_conv *a = WK_ATTR(n, conv);
  const wk_type *x = wk_type_of(r, n->in[0]), *w = wk_type_of(r, n->in[1]);
  if (n->op != WK_OP_CONV || x->rank != 4 || a->group != 1 || !wk_accel_is_8_bit(x->dtype) ||
      !wk_known(r, n->in[1]) || !all_are(a->pads, 0) || !all_are(a->dilations, 1))
    return false;
  for (int i = 0; i < 2; i++)
    if (a->strides.v[i] != w->dims[2 + i] || a->strides.v[i] < 2) return false;
  bool is_large = w->dims[2] > WK_MAX_WINDOW(sy) || w->dims[3] > WK_MAX_WINDOW(sx);
  return is_large || x->dims[1] <= 4;
}

/* x [n,c,h*k,w*k] as [n,c*k*k,h,w]: channels are those of a kernel, in its order. */
static wk_value_id as_depth(wk_rewrite *r, wk_value_id x, const wk_type *w, const wk_type *y) {
  const wk_type *t = wk_type_of(r, x);
  const int64_t k0 = w->dims[2], k1 = w->dims[3], h = y->dims[2], v = y->dims[3];
  const int64_t starts[4] = {0}, whole[4] = {t->dims[0], t->dims[1], h * k0, v * k1};
  const int64_t apart[6] = {t->dims[0], t->dims[1], h, k0, v, k1};
  static const int64_t perm[6] = {0, 1, 3, 5, 2, 4};
  const int64_t depth[4] = {t->dims[0], t->dims[1] * k0 * k1, h, v};
  x = wk_rewrite_slice(r, x, starts, whole, NULL);
  x = wk_rewrite_transpose(r, wk_rewrite_reshape(r, x, 6, apart), perm);
  return wk_rewrite_reshape(r, x, 4, depth);
}

static bool space_to_depth(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->op != WK_OP_CONV || n->predicate != WK_NONE || !has_patches(r, n)) return false;
  const wk_type w = *wk_type_of(r, n->in[1]), y = *wk_type_of(r, n->out[0]);
  wk_attr_conv *a = wk_attrs_clone(r->arena, WK_OP_CONV, n->attrs);
  wk_value_id in[WK_MAX_RANK + 8];
  if (n->n_in > WK_COUNTOF(in)) return false;
  memcpy(in, n->in, n->n_in * sizeof *in);
  a->strides = wk_ints_fill(r->arena, 2, 1);
  r->name = n->name;
  in[0] = as_depth(r, n->in[0], &w, &y);
  in[1] = wk_rewrite_reshape(r, n->in[1], 4,
                             (int64_t[]){w.dims[0], w.dims[1] * w.dims[2] * w.dims[3], 1, 1});
  in[1] = in[1] == WK_NONE ? WK_NONE : wk_rewrite_folded(r, in[1]);
  if (in[0] == WK_NONE || in[1] == WK_NONE) return false;
  return wk_rewrite_replace(r, n->out[0], wk_rewrite_like(r, n, a, n->n_in, in));
}

static wk_status deepen_all(wk_graph *g, wk_pass_ctx *c) {
  return wk_rewrite_run(g, c, space_to_depth);
}

/* ---- all ------------------------------------------------------------------------------------- */

static wk_status share_all(wk_graph *g, wk_pass_ctx *c) {
  WK_TRY(wk_rewrite_run(g, c, wk_accel_keep_stacks));
  return wk_rewrite_run(g, c, wk_accel_share_heads);
}

static wk_status move_all(wk_graph *g, wk_pass_ctx *c) {
  WK_TRY(wk_rewrite_run(g, c, wk_accel_move_pixels));
  WK_TRY(wk_rewrite_run(g, c, wk_accel_turn_weights));
  return wk_rewrite_run(g, c, wk_accel_widen_windows);
}

static wk_status convolve_all(wk_graph *g, wk_pass_ctx *c) {
  return wk_rewrite_run(g, c, convolve);
}

static wk_status cut_all(wk_graph *g, wk_pass_ctx *c) {
  WK_TRY(wk_rewrite_run(g, c, wk_accel_cut_first));
  return wk_rewrite_run(g, c, wk_accel_part_columns);
}

static wk_status part_windows(wk_graph *g, wk_pass_ctx *c) {
  return wk_rewrite_run(g, c, wk_accel_part_windows);
}

static int64_t macs_of(const wk_module *m) {
  int64_t n = 0;
  for (size_t i = 0; i < m->graphs.n; i++)
    for (size_t k = 0; k < m->graphs.data[i]->nodes.n; k++)
      n += wk_node_macs(m->graphs.data[i], &m->graphs.data[i]->nodes.data[k]);
  return n;
}

wk_status wk_accel_adapt(const wk_instance *t, wk_module *m, wk_adaptation *out) {
  const wk_pass steps[] = {*wk_pass_find("stack-branches"), /* before weights take pieces apart */
                           {.name = "adapt", .run = move_all, .data = wk_accel_machine_of(t)},
                           {.name = "adapt", .run = convolve_all},
                           {.name = "adapt", .run = deepen_all},
                           {.name = "adapt", .run = share_all, .data = wk_accel_machine_of(t)},
                           {.name = "adapt", .run = wk_accel_take_filled,
                            .data = wk_accel_key_step_of(t)},
                           {.name = "adapt", .run = part_windows},
                           {.name = "adapt", .run = cut_all, .data = wk_accel_machine_of(t)},
                           {.name = "adapt", .run = wk_accel_make_room,
                            .data = wk_accel_machine_of(t)}};
  int64_t macs = macs_of(m), more = 0;
  WK_TRY(wk_integer_narrow(m, &out->changes));
  out->more_macs = macs_of(m) - macs;
  if (out->more_macs)
    out->why = "weights of u8 that lie further from their zero point than 8 bits say are added up "
               "from two or three; weights of i8, or of u8 with zero point 128, are not";
  for (size_t i = 0; i < WK_COUNTOF(steps); i++) {
    WK_TRY(wk_pass_run_one(m, &steps[i], NULL, &more));
    out->changes += more;
  }
  return NULL;
}
