/* SPDX-License-Identifier: Apache-2.0
 * Private to memory/: what ordering knows of a graph: nodes, their predecessors, and blocks of
 * memory. */
#ifndef WICK_MEMORY_ORDER_MODEL_H
#define WICK_MEMORY_ORDER_MODEL_H

#include "compiler/memory/memory.h"

typedef struct {
  const uint32_t *preds;   /* nodes that must run before, without repetition */
  const uint32_t *blocks;  /* blocks it touches, without repetition */
  const uint32_t *inplace; /* of these: blocks whose memory its result may take */
  uint32_t n_preds, n_blocks, n_inplace;
  int64_t transient;       /* bytes needed only while it runs */
} wk_order_node;

typedef struct {
  int64_t size;            /* bytes of the arena; 0 for what the caller or the package holds */
  const uint32_t *users;   /* nodes that read or write it */
  uint32_t n_users;
} wk_order_block;

typedef struct {
  wk_order_node *nodes;
  wk_order_block *blocks;
  size_t n_nodes, n_blocks;
  const uint32_t *block_of; /* per value */
} wk_order_model;

/* order_updates.c: what updates of variables ask of the order, as predecessors; they may come later
 * in the present order, but there is an order for all. block: per value, its block. */
void wk_order_updates(const wk_graph *g, const uint32_t *block, wk_order_model *m, wk_arena *arena);
/* The present order, but predecessors that come later in it move to before who waits for them. */
void wk_order_sort(const wk_order_model *m, uint32_t *out, wk_arena *scratch);

/* order.c. Live bytes while each node of the present order runs; returns the most. at: NULL ok. */
int64_t wk_order_profile(const wk_order_model *m, int64_t *at);
/* Puts node order[i] of the graph at place i. */
void wk_order_apply(wk_graph *g, const uint32_t *order);

/* In the main graph inputs and outputs are the caller's and cost nothing; in a body the inputs do.
 * peaks: per graph of the module, what running it as a body needs. */
wk_order_model wk_order_model_of(const wk_graph *g, const int64_t *peaks, wk_arena *arena);

#endif
