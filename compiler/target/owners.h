/* SPDX-License-Identifier: Apache-2.0
 * owners: who could have which node of a module, and why the others could not (rank 2). Each target
 * is asked about a node once; fusion and the partition read what it said. */
#ifndef WICK_OWNERS_H
#define WICK_OWNERS_H

#include "compiler/target/target.h"

typedef struct wk_owners wk_owners;

/* An empty table. `all` stays where it is and as it is. */
wk_owners *wk_owners_new(const wk_targets *all);
void wk_owners_free(wk_owners *o); /* NULL ok */
const wk_targets *wk_owners_targets(const wk_owners *o);

/* The target could have the node, with everything inside it, the user has not put it somewhere
 * else, and the model has no variables, which are the host's; else *reason, which lives as long as
 * the row, says why not. */
bool wk_owners_takes(wk_owners *o, uint32_t target, const wk_graph *g, wk_node_id node,
                     const char **reason);
/* Position of the first target that could; their number: none. */
uint32_t wk_owners_first(wk_owners *o, const wk_graph *g, wk_node_id node);

/* Drops all rows: a graph is another one now, or its nodes have other numbers. A node whose
 * operands fusion has replaced goes on with its row until then: fusion asks whether its owner still
 * has it. */
void wk_owners_forget(wk_owners *o);

#endif
