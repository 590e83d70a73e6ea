/* SPDX-License-Identifier: Apache-2.0
 * Lines of pixels, [n,c,w] and [n,c,1,w]: for the machine images of one column, so that they are
 * cut into strips along w. */
#include "targets/accel/compile/net.h"

static bool is_line(const wk_type *t) {
  return t->rank == 3 || (t->rank == 4 && t->dims[2] == 1 && t->dims[3] > 1);
}

/* Rows of a window, and whether it begins above the image; false: it is none, or spreads. */
static bool rows_of_window(const wk_graph *g, const wk_node *n, int64_t *rows, bool *is_padded) {
  const wk_ints *pads, *kernel = NULL;
  switch (n->op) {
    case WK_OP_CONV: pads = &WK_ATTR(n, conv)->pads; break;
    case WK_OP_MAX_POOL:
      pads = &WK_ATTR(n, max_pool)->pads;
      kernel = &WK_ATTR(n, max_pool)->kernel;
      break;
    case WK_OP_INTEGER_AVG_POOL:
      pads = &WK_ATTR(n, integer_avg_pool)->pads;
      kernel = &WK_ATTR(n, integer_avg_pool)->kernel;
      break;
    default: return false;
  }
  *rows = kernel ? kernel->v[0] : wk_val(g, n->in[1])->type.dims[2];
  *is_padded = pads->v[0] != 0;
  return true;
}

bool wk_accel_is_windowed(wk_op op) {
  return op == WK_OP_CONV || op == WK_OP_CONV_TRANSPOSE || op == WK_OP_MAX_POOL ||
         op == WK_OP_INTEGER_AVG_POOL;
}

bool wk_accel_goes_along(const wk_graph *g, const wk_node *n) {
  const wk_type *x = &wk_val(g, n->in[0])->type, *y = &wk_val(g, n->out[0])->type;
  int64_t rows;
  bool is_padded;
  if (!is_line(x) || !is_line(y) || x->rank != y->rank) return false;
  if (x->rank == 3) return true;
  return rows_of_window(g, n, &rows, &is_padded) && rows == 1 && !is_padded;
}

static bool reads(const wk_node *n, wk_value_id v) {
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] == v) return true;
  return false;
}

bool wk_accel_lies_as_line(const wk_graph *g, wk_value_id v) {
  const wk_value *x = wk_val(g, v);
  if (!is_line(&x->type)) return false;
  if (x->type.rank == 3) return true;
  if (x->kind == WK_VALUE_NODE && wk_accel_is_windowed(wk_nod(g, x->node)->op) &&
      !wk_accel_goes_along(g, wk_nod(g, x->node)))
    return false;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (!n->dead && wk_accel_is_windowed(n->op) && reads(n, v) && !wk_accel_goes_along(g, n))
      return false;
  }
  return true;
}

bool wk_accel_is_read_as_line(const wk_graph *g, wk_value_id v) {
  if (wk_val(g, v)->type.rank != 3) return false;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead || !n->n_in || n->in[0] != v) continue;
    if (wk_accel_is_windowed(n->op)) return true;
    if (n->op == WK_OP_MAP && wk_shape_equal(&wk_val(g, v)->type, &wk_val(g, n->out[0])->type) &&
        wk_accel_is_read_as_line(g, n->out[0]))
      return true;
  }
  return false;
}
