/* SPDX-License-Identifier: Apache-2.0
 * part: which target computes what, and why (rank 3). After primitive fusion a module is cut into
 * parts, each a graph for one target, and a plan says in which order they run and through which
 * tensors they meet.
 *
 * A part is convex: no path leaves it and comes back, so it runs as one piece. Its inputs are
 * tensors of the plan (inputs of the model, or edges that an earlier row wrote), its outputs are
 * outputs of the model or edges. Constants belong to the parts that use them. Variables belong to
 * parts of the host: the one that changes a variable, and others that read it; parts of other
 * targets read it in the state, before that row or behind it.
 *
 * A branch or loop whose bodies hold work for another target than the host is no part but rows of
 * the plan, and its bodies are cut in their turn; any other one is a node like all. */
#ifndef WICK_PART_H
#define WICK_PART_H

#include "compiler/target/owners.h"
#include "runtime/abi.h"

typedef WK_VEC(uint32_t) wk_numbers;

typedef struct {
  uint32_t target;             /* position among the targets */
  const wk_instance *instance;
  const char *name;            /* its number: "0", "1", … */
  const wk_graph *from;        /* of the cut module; NULL: it has none of its nodes */
  wk_numbers origin;           /* nodes of `from` that it was made of */
  wk_module *module;           /* whose main graph is the part */
  bool owns_module;            /* false: it is the whole module that was cut */
  wk_program *program;         /* NULL until it is generated */
  int64_t nodes, macs;         /* of the graph, bodies included */
  int64_t edge_bytes;          /* of inputs and outputs */
} wk_part;

/* What parts read and write: the model's inputs, its outputs, then the edges. */
typedef struct {
  const char *name;
  wk_type type;   /* as it lies in memory */
  int64_t bytes;
  wk_type of;     /* before it was laid out so */
  wk_edge_layout layout;
  const wk_value_scale *quantised; /* of the cut module; NULL: nothing is known */
  uint32_t alias;  /* edges: the edge whose bytes they are; WK_NONE: their own */
  const char *variable; /* edges: they are this variable, in the state; NULL: they are none */
  int64_t offset; /* other edges: in the plan's memory, a multiple of WICK_ALIGN */
  const wk_labels *labels; /* outputs: the module's, or NULL */
} wk_part_tensor;

/* As wick_pkg_row: a row of the plan, bodies behind their owner. */
typedef struct {
  wick_row_kind kind;
  uint32_t part;           /* RUN */
  wk_numbers tensors;      /* RUN: inputs, then outputs; IF, LOOP: condition (or WK_NONE), LOOP: the
                              iteration's number (or WK_NONE); COPY: source, destination */
  wk_numbers waits;        /* rows that must have finished */
  uint32_t body_count, else_count;
  int64_t trip;            /* LOOP */
  int64_t bytes, source_offset, source_step, destination_offset, destination_step; /* COPY */
} wk_part_row;

/* Why a node is not where a target of higher preference would have it. */
typedef struct {
  const char *node, *op;
  uint32_t refused, target; /* who did not take it, who has it */
  const char *reason;
} wk_part_reason;

typedef struct {
  wk_arena *arena;
  const wk_targets *targets;
  WK_VEC(wk_part) parts;
  WK_VEC(wk_part_tensor) tensors;
  uint32_t n_in, n_out;
  const wk_module *model; /* that was cut */
  WK_VEC(wk_part_row) rows;
  WK_VEC(wk_part_reason) reasons;
  int64_t edge_bytes; /* of the plan's memory */
  wk_numbers of;      /* per node of the main graph, its part; WK_NONE: it is rows */
} wk_parts;

/* Nodes that a target could have alone, and not with the rest of their part (wk_target.admits): in
 * the graph of that name, who makes the value. */
typedef struct {
  uint32_t target;
  const char *graph, *value;
  const char *reason;
} wk_part_refusal;

typedef struct {
  wk_arena *arena; /* of the texts */
  WK_VEC(wk_part_refusal) list;
} wk_part_refusals;

/* Cuts m, whose nodes are primitives and operators that some target claims, for the targets of this
 * table. The first that takes a node there has it unless it has refused it since; movement goes
 * with what surrounds it; a part that does not pay for its edges goes to the last target, the host.
 * WK_UNSUPPORTED lists what nobody runs. refused: NULL ok. lays_variables: variables may lie as
 * targets wish, as no other program has them. *out is to be freed before the module,
 * which may then be cut again: as it was, but where it is one part it is that part's module, and as
 * what has been done with that has left it (of which the table is to forget). */
wk_status wk_partition(wk_module *m, wk_owners *owners, const wk_part_refusals *refused,
                       bool lays_variables, wk_parts **out) WK_MUST_CHECK;
void wk_parts_free(wk_parts *p); /* NULL ok */

/* Adds the nodes of p->from that this node of p's graph is made of, or else next to it; WK_NONE,
 * or where none is known: all of p->origin. Each call adds something, so cutting again comes to an
 * end. WK_INTERNAL: there is nothing to add. */
wk_status wk_part_refuse(const wk_part *p, wk_node_id node, const char *reason,
                         wk_part_refusals *out) WK_MUST_CHECK;
/* Why the target has refused a node; NULL: it has not. */
const char *wk_part_refused(const wk_part_refusals *r, uint32_t target, const wk_graph *g,
                            const wk_node *n);

/* Per node of the main graph, the colour of its target: what wk_module_dot takes. */
const char **wk_parts_colours(const wk_parts *p, wk_arena *a);
/* Which target computes what, the tensors between, and why not another one: --print-parts. */
void wk_parts_print(wk_str *b, const wk_parts *p);

#endif
