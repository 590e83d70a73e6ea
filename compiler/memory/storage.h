/* SPDX-License-Identifier: Apache-2.0
 * The rule by which movement is spared: who is written where. Program generation
 * (compiler/lower/generate.c) chooses storage by it, and ordering (order_model.c) foresees what is
 * chosen: only whether strides can express a view is not asked there. */
#ifndef WICK_MEMORY_STORAGE_H
#define WICK_MEMORY_STORAGE_H

#include "compiler/ir/graph.h"

typedef struct {
  const wk_graph *g; /* nodes in execution order */
  void *ctx;
  /* Whether the place of v has been chosen. */
  bool (*is_settled)(void *ctx, wk_value_id v);
  /* Operand k of n, whose place is free, is to be written where result 0 of n is; where that cannot
   * be, it stays free. */
  void (*settle_in_result)(void *ctx, const wk_node *n, uint32_t k);
} wk_storage_choice;

/* Nodes from the last to the first: operands that can be written into the result, when their place
 * is still free; where the result shows all of an operand, only when its own is settled. Behind
 * that, from the first to the last, results that are still free and that wk_node_shows says show
 * operand 0 become views of it. */
void wk_storage_backwards(const wk_storage_choice *c);

#endif
