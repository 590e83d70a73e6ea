/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/part/nodes.h"

#include <string.h>

wk_value_id wk_cut_node(wk_cut_nodes *b, wk_op op, void *attrs, const wk_value_id *in,
                        uint32_t n) {
  wk_value_id out = WK_NONE;
  const wk_node_desc d = {.op = op, .name = WK_LAYOUT_NODE, .attrs = attrs, .in = in, .n_in = n};
  if (!b->status) b->status = wk_graph_add(b->g, &d, &out);
  return out;
}

wk_value_id wk_cut_node_2(wk_cut_nodes *b, wk_op op, wk_value_id x, wk_value_id y) {
  return wk_cut_node(b, op, NULL, (wk_value_id[]){x, y}, 2);
}

wk_value_id wk_cut_node_transpose(wk_cut_nodes *b, wk_value_id v, const int64_t *perm, int rank) {
  wk_attr_transpose *a = wk_attrs_new(b->g->module->arena, WK_OP_TRANSPOSE);
  a->perm = wk_ints_dup(b->g->module->arena, perm, rank);
  return wk_cut_node(b, WK_OP_TRANSPOSE, a, &v, 1);
}

wk_value_id wk_cut_node_reshape(wk_cut_nodes *b, wk_value_id v, const int64_t *dims, int rank) {
  wk_attr_reshape *a = wk_attrs_new(b->g->module->arena, WK_OP_RESHAPE);
  a->shape = wk_ints_dup(b->g->module->arena, dims, rank);
  return wk_cut_node(b, WK_OP_RESHAPE, a, &v, 1);
}

wk_value_id wk_cut_node_slice(wk_cut_nodes *b, wk_value_id v, int axis, int64_t start,
                              int64_t size) {
  if (b->status) return WK_NONE;
  const wk_type t = wk_val(b->g, v)->type;
  wk_arena *arena = b->g->module->arena;
  wk_attr_slice *a = wk_attrs_new(arena, WK_OP_SLICE);
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK];
  if (size == t.dims[axis]) return v;
  memcpy(sizes, t.dims, sizeof sizes);
  starts[axis] = start, sizes[axis] = size;
  a->starts = wk_ints_dup(arena, starts, t.rank);
  a->sizes = wk_ints_dup(arena, sizes, t.rank);
  a->steps = wk_ints_fill(arena, t.rank, 1);
  return wk_cut_node(b, WK_OP_SLICE, a, &v, 1);
}

wk_value_id wk_cut_node_pad_behind(wk_cut_nodes *b, wk_value_id v, int axis, int64_t more) {
  if (b->status || !more) return b->status ? WK_NONE : v;
  const int rank = wk_val(b->g, v)->type.rank;
  wk_arena *arena = b->g->module->arena;
  wk_attr_pad *a = wk_attrs_new(arena, WK_OP_PAD);
  int64_t after[WK_MAX_RANK] = {0};
  after[axis] = more;
  a->before = wk_ints_fill(arena, rank, 0);
  a->after = wk_ints_dup(arena, after, rank);
  return wk_cut_node(b, WK_OP_PAD, a, &v, 1);
}
