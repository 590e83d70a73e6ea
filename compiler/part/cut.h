/* SPDX-License-Identifier: Apache-2.0
 * Private to part/: one partition under way.
 *
 *   assign.c    who has which node
 *   share.c     which of several machines of a kind
 *   ends.c      what stands before the first product and behind the last operator of others
 *   group.c     nodes of one target into convex groups, in an order
 *   variables.c who reads and changes variables, and when
 *   lay_variables.c  variables as other targets wish them to lie
 *   cut.c       groups become parts and rows of the plan
 *   control.c   branches and loops as rows
 *   refuse.c    what a target will not have in a part after all
 *   layout.c    layouts of edges as nodes
 *   nodes.c     such nodes
 *   convert.c   edges from one layout to another, and who does it
 *   plan.c      what rows wait for; memory of the edges */
#ifndef WICK_PART_CUT_H
#define WICK_PART_CUT_H

#include "compiler/part/part.h"

/* What is known of a tensor of the plan beside part.h. */
typedef struct {
  wk_type type; /* of the value that it holds */
  wk_edge_layout layout;
  uint32_t writer; /* the target that leaves it so; WK_NONE: the model's input, or nobody alone */
} wk_cut_tensor;

/* A tensor and what holds the same in another layout. */
typedef struct {
  uint32_t from, to;
} wk_cut_conversion;

/* A variable of the model. A row reads it where it lies, in the state, before the row that changes
 * it (was) or behind that (is): the same bytes at two times. */
typedef struct {
  wk_value_id variable, value; /* value: its update; WK_NONE: no run changes it */
  uint32_t was, is;            /* tensors of the plan; WK_NONE: nobody has asked for one yet */
  bool is_saved;               /* who reads it comes behind who changes it: `was` is a copy */
} wk_cut_variable;

/* An input of a body in whose place the outside has a constant. */
typedef struct {
  wk_graph *body;
  wk_value_id input;
} wk_cut_constant_input;

#define WK_CUT_NAMED 10

typedef struct {
  wk_parts *p;
  wk_owners *owners;
  const wk_targets *targets; /* the owners' */
  const wk_part_refusals *refused; /* NULL ok */
  bool lays_variables;
  wk_arena *scratch;
  WK_VEC(wk_cut_tensor) tensors; /* per tensor of the plan */
  WK_VEC(wk_cut_conversion) converted; /* made on the way to the row that comes next */
  WK_VEC(wk_cut_constant_input) constant_inputs; /* constants of their bodies for now */
  WK_VEC(wk_cut_variable) variables; /* of the main graph */
  wk_status unsupported; /* what nobody runs, so far: the first WK_CUT_NAMED */
  size_t n_unsupported, n_at_ends; /* and how many of these the host could have at the ends */
} wk_cut;

/* Position of the host, whose parts pay for no edges. */
static inline uint32_t wk_cut_host(const wk_cut *c) { return (uint32_t)c->targets->n - 1; }
static inline bool wk_cut_is_host(const wk_cut *c, uint32_t target) {
  return c->targets->has_host && target == wk_cut_host(c);
}
/* In place of a target: the node becomes rows of the plan. */
static inline uint32_t wk_cut_control(const wk_cut *c) { return (uint32_t)c->targets->n; }

/* Per node of g, the position of its target, or wk_cut_control. Scratch memory. */
uint32_t *wk_cut_assign(wk_cut *c, wk_graph *g);

/* Nodes of targets that are there several times go to those where they have finished first. */
void wk_cut_share(wk_cut *c, const wk_graph *g, uint32_t *target);
bool wk_cut_is_movement(const wk_node *n);
/* Per node, of those that are left by all but the host (left): it multiplies nothing, and stands
 * before the first product or behind the last operator of the others, of which there is one, in the
 * model's main graph. Scratch memory. */
bool *wk_cut_at_ends(const wk_cut *c, const wk_graph *g, const bool *left);
/* What those before the first product need becomes the host's, too. */
void wk_cut_pull(const wk_cut *c, const wk_graph *g, const bool *at_end, uint32_t *target);
/* The target could have the node, with everything inside. */
bool wk_cut_takes(const wk_cut *c, uint32_t target, const wk_graph *g, const wk_node *n);

/* Per node of g, its group; groups are numbered in an order in which they can run. A node that is
 * rows of the plan is a group of its own. */
typedef struct {
  uint32_t *of;     /* per node */
  uint32_t n;
  uint32_t *target; /* per group */
} wk_cut_groups;
wk_cut_groups wk_cut_group(wk_cut *c, const wk_graph *g, const uint32_t *target);

/* ---- variables ------------------------------------------------------------------------------- */

void wk_cut_find_variables(wk_cut *c, const wk_graph *g);
/* Per node of g: it is made of variables and constants alone, and of one variable at least. Scratch
 * memory; NULL: there is none. */
bool *wk_cut_of_variables(const wk_cut *c, const wk_graph *g);
/* Who reads a variable, and who changes it. */
typedef struct {
  wk_node_id reader, writer;
  wk_value_id variable;
} wk_cut_order;
typedef WK_VEC(wk_cut_order) wk_cut_orders;
void wk_cut_variable_orders(const wk_cut *c, const wk_graph *g, wk_cut_orders *out);
/* A variable whose update no row of the host makes; NULL: there is none. */
const char *wk_cut_unchanged(const wk_cut *c, const wk_graph *g, const wk_cut_groups *groups);
/* Rows that copy the variables which are read behind the row that changes them. */
wk_status wk_cut_save_variables(wk_cut *c, const wk_graph *g,
                                const wk_cut_groups *groups) WK_MUST_CHECK;
/* v is a variable that this group, if it is the host's, has itself. */
bool wk_cut_is_own_variable(const wk_cut *c, const wk_graph *g, const wk_cut_groups *groups,
                            uint32_t group, wk_value_id v);
/* tensor[v] becomes the tensor that holds v, where there is none yet and v is a variable (as it was
 * before the row that changes it) or an update (behind that). */
wk_status wk_cut_find_tensor(wk_cut *c, const wk_graph *g, uint32_t *tensor,
                             wk_value_id v) WK_MUST_CHECK;
/* A tensor where the variable lies, in this layout; NULL: row-major. */
uint32_t wk_cut_variable_in(wk_cut *c, const wk_graph *g, const wk_cut_variable *x,
                            const wk_edge_layout *layout);
/* Variables that this graph, a part of g for the host, changes lie as those wish who read them.
 * uses: g's. */
wk_status wk_cut_lay_variables(wk_cut *c, const wk_graph *g, const wk_uses *uses,
                               wk_graph *part) WK_MUST_CHECK;
/* Of a node by such rates, in picoseconds. */
double wk_cut_time(wk_target_cost cost, const wk_graph *g, const wk_node *n);
double wk_cut_node_bytes(const wk_graph *g, const wk_node *n); /* of its operands and results */
/* Moves groups that do not pay for their edges to the host, and says so; true when any was. */
bool wk_cut_move_islands(wk_cut *c, const wk_graph *g, const wk_cut_groups *groups,
                         uint32_t *target);

/* Appends parts and rows for g. tensor[v]: the plan's tensor that holds value v, WK_NONE where
 * there is none yet; those of inputs and of outputs that are made by nodes are given. */
wk_status wk_cut_graph(wk_cut *c, wk_graph *g, uint32_t *tensor) WK_MUST_CHECK;
/* A tensor for values of this type; layout NULL: row-major. */
uint32_t wk_cut_edge(wk_cut *c, const char *name, const wk_type *t, const wk_edge_layout *layout);
/* The same bytes as an edge, in another layout that has them so. */
uint32_t wk_cut_alias(wk_cut *c, uint32_t tensor, const wk_edge_layout *layout);
bool wk_cut_can_alias(const wk_cut *c, uint32_t tensor, const wk_edge_layout *layout);
/* A part of the host that writes a constant of g. */
wk_status wk_cut_constant(wk_cut *c, const wk_graph *g, wk_value_id v, uint32_t to) WK_MUST_CHECK;
/* The same for a condition that holds. */
wk_status wk_cut_true(wk_cut *c, uint32_t to) WK_MUST_CHECK;
/* A part that the plan needs beside the model's, and its row: of one tensor, or of none (WK_NONE),
 * it makes another. Takes over the module. */
wk_status wk_cut_add_own(wk_cut *c, wk_module *m, uint32_t target, uint32_t from,
                         uint32_t to) WK_MUST_CHECK;

/* ---- conversion ------------------------------------------------------------------------------ */

extern const wk_edge_layout wk_cut_row_major_layout;
/* Copies a whole tensor, from one layout to the other if they differ. reader: the target that it is
 * for, WK_NONE: none in particular. */
wk_status wk_cut_copy(wk_cut *c, uint32_t from, uint32_t to, uint32_t reader) WK_MUST_CHECK;
/* The tensor, or what holds the same in that layout: made once for all who want it. */
wk_status wk_cut_in_layout(wk_cut *c, const wk_edge_layout *layout, uint32_t reader,
                           uint32_t *tensor) WK_MUST_CHECK;
/* Around a body, whose rows may not run: what is converted there is not known behind it. */
size_t wk_cut_enter(const wk_cut *c);
void wk_cut_leave(wk_cut *c, size_t entered);

/* ---- layouts --------------------------------------------------------------------------------- */

/* What the target wishes for v of g; false: row-major, which *out then says. A layout that cannot
 * be is noted in c->unsupported. */
bool wk_cut_layout_of(wk_cut *c, uint32_t target, const wk_graph *g, wk_value_id v,
                      bool is_output, wk_edge_layout *out);
bool wk_cut_same_layout(const wk_type *t, const wk_edge_layout *a, const wk_edge_layout *b);
/* Every element lies at the same place, though the types may have other dims. */
bool wk_cut_same_bytes(const wk_type *t, const wk_edge_layout *a, const wk_edge_layout *b);
wk_type wk_cut_laid_type(const wk_type *t, const wk_edge_layout *l);
/* Nodes from the value to how it lies, and back to type t. */
wk_status wk_cut_lay(wk_graph *g, wk_value_id v, const wk_edge_layout *l,
                     wk_value_id *out) WK_MUST_CHECK;
wk_status wk_cut_unlay(wk_graph *g, wk_value_id v, const wk_type *t, const wk_edge_layout *l,
                       wk_value_id *out) WK_MUST_CHECK;
/* Input or output k of a graph becomes what lies in memory. */
wk_status wk_cut_lay_input(wk_graph *g, size_t k, const wk_edge_layout *l) WK_MUST_CHECK;
wk_status wk_cut_lay_output(wk_graph *g, size_t k, const wk_edge_layout *l) WK_MUST_CHECK;

/* The node can be rows: what is copied per iteration lies together. */
bool wk_cut_can_control(const wk_graph *g, const wk_node *n);
wk_status wk_cut_control_rows(wk_cut *c, wk_graph *g, wk_node_id id,
                              uint32_t *tensor) WK_MUST_CHECK;
/* At the end: bodies are what they were. */
void wk_cut_restore_inputs(wk_cut *c);

/* Fills waits, offsets and edge_bytes. */
wk_status wk_cut_plan(wk_parts *p) WK_MUST_CHECK;

#endif
