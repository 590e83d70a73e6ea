/* SPDX-License-Identifier: Apache-2.0
 * What the machine runs better, in a graph of integers, with the same results: weights of bytes,
 * and channels that are shuffled. Lanes hold channels, so an order of channels is nothing that
 * addresses can express; but a convolution with a one in each row can. */
#include "compiler/expr/quant.h"
#include "compiler/integer/integer.h"
#include "compiler/passes/rewrite.h"
#include "targets/accel/compile/net.h"

enum { MOST_CHANNELS = 1024 }; /* of such a convolution: 1 MiB of weights */

/* x [n,g,k,…] as [n,k,g,…]; reshapes around it join the two axes. */
typedef struct {
  wk_value_id x;
  int64_t groups, each;
} shuffle;

static bool shuffle_of(const wk_rewrite *r, const wk_node *joined, shuffle *s) {
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
  *s = (shuffle){apart->in[0], y->dims[1], y->dims[2]};
  return true;
}

static wk_value_id ones(wk_rewrite *r, const shuffle *s, int rank) {
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
  shuffle s;
  (void)id;
  if (n->op != WK_OP_RESHAPE || n->predicate != WK_NONE || !shuffle_of(r, n, &s)) return false;
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

static wk_status convolve_all(wk_graph *g, wk_pass_ctx *c) {
  return wk_rewrite_run(g, c, convolve);
}

static int64_t macs_of(const wk_module *m) {
  int64_t n = 0;
  for (size_t i = 0; i < m->graphs.n; i++)
    for (size_t k = 0; k < m->graphs.data[i]->nodes.n; k++)
      n += wk_node_macs(m->graphs.data[i], &m->graphs.data[i]->nodes.data[k]);
  return n;
}

wk_status wk_accel_adapt(const wk_instance *t, wk_module *m, wk_adaptation *out) {
  static const wk_pass step = {.name = "adapt", .run = convolve_all};
  int64_t macs = macs_of(m), more = 0;
  (void)t;
  WK_TRY(wk_integer_narrow(m, &out->changes));
  out->more_macs = macs_of(m) - macs;
  if (out->more_macs)
    out->why = "weights of u8 that lie further from their zero point than 8 bits say are added up "
               "from two or three; weights of i8, or of u8 with zero point 128, are not";
  WK_TRY(wk_pass_run_one(m, &step, NULL, &more));
  out->changes += more;
  return NULL;
}
