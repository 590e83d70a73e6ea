/* SPDX-License-Identifier: Apache-2.0
 * Private to part/: nodes that lay tensors, all of the name WK_LAYOUT_NODE, in a graph under
 * construction. Errors are sticky: after the first one calls return WK_NONE. */
#ifndef WICK_PART_NODES_H
#define WICK_PART_NODES_H

#include "compiler/part/cut.h"

typedef struct {
  wk_graph *g;
  wk_status status;
} wk_cut_nodes;

wk_value_id wk_cut_node(wk_cut_nodes *b, wk_op op, void *attrs, const wk_value_id *in, uint32_t n);
wk_value_id wk_cut_node_2(wk_cut_nodes *b, wk_op op, wk_value_id x, wk_value_id y);
wk_value_id wk_cut_node_transpose(wk_cut_nodes *b, wk_value_id v, const int64_t *perm, int rank);
wk_value_id wk_cut_node_reshape(wk_cut_nodes *b, wk_value_id v, const int64_t *dims, int rank);
/* Of one axis; v itself where it is the whole. */
wk_value_id wk_cut_node_slice(wk_cut_nodes *b, wk_value_id v, int axis, int64_t start,
                              int64_t size);
/* So many zeros behind an axis; v itself where there are none. */
wk_value_id wk_cut_node_pad_behind(wk_cut_nodes *b, wk_value_id v, int axis, int64_t more);

#endif
