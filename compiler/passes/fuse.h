/* SPDX-License-Identifier: Apache-2.0
 * Private to passes/: joining expressions of neighbouring nodes, and what passes ask of them. */
#ifndef WICK_PASSES_FUSE_H
#define WICK_PASSES_FUSE_H

#include "compiler/passes/pass.h"

#define WK_FUSE_MAX_INPUTS 12
#define WK_FUSE_MAX_NODES 160

bool wk_expr_uses_index(const wk_expr *e);
/* Each element of the results is made of those of the operands at its place, wherever that is. */
bool wk_is_elementwise(const wk_node *n);

/* Whoever has node n now (the first target that supports it) still has it as it would be when
 * fused, its results in `fused->out` those of the last node that it takes in; and, unless `with` is
 * NULL, it has node `with` too, which becomes a part of n: one target's work does not move to
 * another one by being fused. A map that a contraction takes as
 * its epilogue may: whoever has the contraction has what it computes. */
bool wk_fuse_allowed(const wk_pass_ctx *c, const wk_graph *g, const wk_node *n,
                     const wk_node *with, const wk_node *fused);
/* Node n with other attributes, operands and first result. */
wk_node wk_fuse_as(const wk_node *n, void *attrs, uint32_t n_in, const wk_value_id *in,
                   const wk_value_id *out);

/* The inputs of a node being fused: values without repetition and their expression inputs. */
typedef struct {
  wk_expr_builder *b;
  const wk_graph *g;
  wk_value_id in[2 * WK_FUSE_MAX_INPUTS + 8];
  uint32_t n;
  uint32_t first; /* expression input number of in[0] */
} wk_fuse;
/* The expression node that reads v; v is added when it is new. */
uint16_t wk_fuse_input(wk_fuse *f, wk_value_id v);
/* Inlines e whose input k reads values[k]; values[k] == WK_NONE takes given[k] instead. */
uint16_t wk_fuse_inline(wk_fuse *f, const wk_expr *e, const wk_value_id *values, uint32_t n,
                        const uint16_t *given);
/* a has the shape of b but for leading ones that it may lack. */
bool wk_fuse_same_space(const wk_type *a, const wk_type *b);

#endif
