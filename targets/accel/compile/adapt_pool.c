/* SPDX-License-Identifier: Apache-2.0
 * The maximum of a window is the maximum, down the window, of the maxima along its rows. The vector
 * unit takes a cycle for each of a window's elements, so large windows are two of them. */
#include "targets/accel/compile/adapt.h"
#include "targets/accel/compile/net.h"

/* Elements that are read for a column of results, as rows and then columns: two thirds of those of
 * whole windows at most, for what is between is written, and read once more. */
static bool is_worth(const wk_attr_max_pool *a, const wk_type *x, const wk_type *y) {
  const int64_t *k = a->kernel.v, ky = k[0], kx = k[1];
  return ky > 1 && kx > 1 &&
         3 * (x->dims[2] * kx + y->dims[2] * ky) <= 2 * y->dims[2] * ky * kx;
}

/* One for the other axis. */
static wk_ints on_axis(wk_rewrite *r, int64_t value, int axis) {
  const int64_t v[2] = {axis ? 1 : value, axis ? value : 1};
  return wk_ints_dup(r->arena, v, 2);
}

/* What remains of a window along one axis. */
static wk_attr_max_pool *along(wk_rewrite *r, const wk_attr_max_pool *a, int axis) {
  wk_attr_max_pool *y = wk_attrs_clone(r->arena, WK_OP_MAX_POOL, a);
  int64_t pads[4] = {0};
  pads[axis] = a->pads.v[axis], pads[2 + axis] = a->pads.v[2 + axis];
  y->kernel = on_axis(r, a->kernel.v[axis], axis);
  y->strides = on_axis(r, a->strides.v[axis], axis);
  y->dilations = on_axis(r, a->dilations.v[axis], axis);
  y->pads = wk_ints_dup(r->arena, pads, 4);
  return y;
}

bool wk_accel_part_windows(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->op != WK_OP_MAX_POOL || n->predicate != WK_NONE ||
      (n->n_out > 1 && n->out[1] != WK_NONE && r->uses[n->out[1]]))
    return false;
  const wk_type *x = wk_type_of(r, n->in[0]), *y = wk_type_of(r, n->out[0]);
  const wk_attr_max_pool *a = WK_ATTR(n, max_pool);
  if (!wk_accel_is_8_bit(x->dtype) || x->rank != 4 || !is_worth(a, x, y)) return false;
  const wk_value_id old = n->out[0];
  r->name = n->name;
  wk_value_id rows = wk_rewrite_1(r, WK_OP_MAX_POOL, along(r, a, 1), n->in[0]);
  return rows != WK_NONE &&
         wk_rewrite_replace(r, old, wk_rewrite_1(r, WK_OP_MAX_POOL, along(r, a, 0), rows));
}
