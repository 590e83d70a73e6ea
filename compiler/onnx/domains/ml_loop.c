/* SPDX-License-Identifier: Apache-2.0
 * Loops that operators of ai.onnx.ml become. */
#include "compiler/onnx/domains/ml.h"

bool wk_ml_loop_fits(wk_onnx_node *c, int levels) {
  return wk_onnx_need(c, c->scope->depth + levels < WK_GRAPH_MAX_DEPTH,
                      "graphs are nested more than %d deep", WK_GRAPH_MAX_DEPTH);
}

wk_value_id wk_ml_loop_body(wk_onnx_node *c, wk_onnx_node *inner) {
  wk_module *m = c->im->m;
  const wk_type i64 = wk_type_make(WK_I64, 0, NULL);
  *inner = *c;
  inner->g = wk_graph_new(m, wk_arena_printf(m->arena, "%s.%zu", c->name, m->graphs.n));
  return wk_graph_input(inner->g, NULL, &i64);
}

void wk_ml_loop_add(wk_onnx_node *c, wk_graph *body, int64_t trip, const wk_value_id *in,
                    uint32_t n_in, int64_t n_state, wk_value_id *out) {
  if (c->status) return;
  wk_arena *a = c->im->m->arena;
  WK_MAKE_ATTRS(c, attr, LOOP, loop);
  attr->trip = trip;
  attr->n_state = n_state;
  attr->has_cond = in[0] != WK_NONE;
  attr->out_axes = attr->out_reverse = wk_ints_fill(a, 0, 0);
  const wk_node_desc d = {.op = WK_OP_LOOP, .name = c->name, .attrs = attr, .in = in,
                          .n_in = n_in, .n_out = (uint32_t)n_state, .bodies = &body,
                          .n_bodies = 1};
  wk_onnx_latch(c, wk_graph_add(c->g, &d, out));
}
