/* SPDX-License-Identifier: Apache-2.0
 * CumProd: a LOOP over slices. In that order no product is formed that the result does not ask
 * for, which a tree of partial products would do: those may overflow where the result does not. */
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

/* state, slice -> state * slice, and what is stored. */
static wk_graph *loop_body(wk_onnx_node *c, const wk_type *slice, bool is_exclusive) {
  wk_module *m = c->im->m;
  wk_onnx_node inner = *c;
  inner.g = wk_graph_new(m, wk_arena_printf(m->arena, "%s.%zu", c->name, m->graphs.n));
  const wk_type i64 = wk_type_make(WK_I64, 0, NULL);
  wk_graph_input(inner.g, NULL, &i64);
  wk_value_id before = wk_graph_input(inner.g, "state", slice);
  wk_value_id x = wk_graph_input(inner.g, NULL, slice);
  wk_value_id after = wk_make_2(&inner, WK_OP_MUL, before, x);
  wk_onnx_latch(c, inner.status);
  if (c->status) return NULL;
  wk_graph_output(inner.g, "next", after);
  wk_graph_output(inner.g, "read", is_exclusive ? before : after);
  return inner.g;
}

static wk_value_id product(wk_onnx_node *c, wk_value_id x, int64_t axis, bool is_exclusive) {
  if (c->status || !wk_onnx_need(c, c->scope->depth + 1 < WK_GRAPH_MAX_DEPTH,
                                 "graphs are nested more than %d deep", WK_GRAPH_MAX_DEPTH))
    return WK_NONE;
  const wk_type t = *wk_onnx_type(c, x);
  wk_type slice = wk_type_make(t.dtype, 0, NULL);
  for (int i = 0; i < t.rank; i++) {
    if (i != axis) slice.dims[slice.rank++] = t.dims[i];
  }
  wk_value_id one = wk_make_expand(c, wk_make_scalar(c, t.dtype, 1), slice.rank, slice.dims);
  wk_graph *body = loop_body(c, &slice, is_exclusive);
  if (c->status) return WK_NONE;
  wk_arena *a = c->im->m->arena;
  WK_MAKE_ATTRS(c, attr, LOOP, loop);
  attr->trip = t.dims[axis];
  attr->n_state = attr->n_scan = 1;
  attr->scan_axes = attr->out_axes = wk_ints_fill(a, 1, axis);
  attr->scan_reverse = attr->out_reverse =
      wk_ints_fill(a, 1, wk_onnx_int(c, "reverse", 0) != 0);
  wk_value_id in[] = {WK_NONE, one, x}, out[2];
  const wk_node_desc d = {.op = WK_OP_LOOP, .name = c->name, .attrs = attr, .in = in, .n_in = 3,
                          .n_out = 2, .bodies = &body, .n_bodies = 1};
  wk_onnx_latch(c, wk_graph_add(c->g, &d, out));
  return c->status ? WK_NONE : out[1];
}

wk_status wk_onnx_cum_prod(wk_onnx_node *c) {
  const wk_type t = *wk_onnx_type(c, c->in[0]);
  int64_t axis = wk_onnx_axis(c, wk_onnx_const_int(c, c->in[1], "the axis"), t.rank);
  bool is_exclusive = wk_onnx_int(c, "exclusive", 0) != 0;
  if (!wk_onnx_ok(c)) return c->status;
  if (wk_type_count(&t) == 0 || (t.dims[axis] == 1 && !is_exclusive))
    return wk_onnx_return(c, c->in[0]);
  /* halves are rounded once, as those of CumSum */
  bool is_half = t.dtype == WK_F16 || t.dtype == WK_BF16;
  wk_value_id x = is_half ? wk_make_cast(c, c->in[0], WK_F32) : c->in[0];
  return wk_onnx_return(c, wk_make_cast(c, product(c, x, axis, is_exclusive), t.dtype));
}
