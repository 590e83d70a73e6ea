/* SPDX-License-Identifier: Apache-2.0
 * Private to lower/: the state of program generation. */
#ifndef WICK_LOWER_GENERATE_H
#define WICK_LOWER_GENERATE_H

#include "compiler/lower/demand.h"
#include "compiler/lower/lower.h"

typedef struct {
  wk_program *p;
  wk_arena *scratch;
  wk_map *const_index; /* address and size of constant data -> its buffer */
  int64_t rows_from;   /* wk_generate */
} wk_gen;

/* Where a value lives. `set` false: not decided yet. */
typedef struct {
  bool set;
  wk_view view;
} wk_storage;

/* Where a predicate is true, as a list that instructions go by. */
typedef struct {
  bool is_wanted; /* some product is worth it */
  bool is_there;
  wk_view size, rows; /* wk_limit */
} wk_gen_rows;

typedef struct {
  const wk_graph *g;
  wk_storage *st; /* per value */
  wk_demand *demand; /* per value; NULL: all of all */
  wk_gen_rows *rows; /* per value; NULL as well */
  bool *is_early;    /* per node: it is part of what a size is computed by, which comes first */
  bool *is_done;     /* per node: its instructions are in the block */
  wk_block *block;
} wk_gen_graph;

/* views.c: pure geometry */
wk_view wk_view_ordered(uint32_t buffer, const wk_value *v); /* dense in the value's memory order */
wk_view wk_view_permuted(const wk_view *v, const int64_t *perm);
wk_view wk_view_unpermuted(const wk_view *v, const int64_t *perm); /* inverse */
wk_view wk_view_sliced(const wk_view *v, const int64_t *starts, const int64_t *sizes,
                       const int64_t *steps); /* steps NULL: all 1 */
wk_view wk_view_broadcast(const wk_view *v, int rank, const int64_t *dims); /* numpy rules */
/* Dims that refine both shapes (each is a merge of neighbouring entries); false when there are none
 * within WK_MAX_RANK. */
bool wk_dims_refine(const wk_view *a, const wk_view *b, int *rank, int64_t dims[WK_MAX_RANK]);

/* Emits the copies that make dst hold src's elements in row-major logical order (dims may differ,
 * counts agree). Emits nothing when they are the same memory. Returns the only copy, whose
 * dims may be others as well, else NULL. */
wk_inst *wk_gen_copy(wk_gen *c, wk_block *b, const wk_view *dst, const wk_view *src,
                     const char *name);
wk_inst *wk_gen_emit_copy(wk_gen *c, wk_block *b, wk_view dst, wk_view src, const char *name);
/* Limits a copy that movement n becomes (NULL: nothing), of a value of type y, which has the axes
 * of n's results and along `axis` a part of them (-1: all of all). Axes of y that the copy has as
 * well, with the same positions, get the limits of what is needed along them. */
void wk_gen_limit_copy(wk_gen *c, wk_gen_graph *gg, const wk_node *n, wk_inst *copy,
                       const wk_type *y, int axis);
/* One more copy in the count of those that a plain compiler would make. */
void wk_gen_count_copy(wk_gen *c, const wk_type *t);
uint32_t wk_gen_buffer(wk_gen *c, const char *name, int64_t bytes);
/* Decides the storage of v if nothing has yet (a constant's buffer, a buffer of its own). */
const wk_view *wk_gen_storage(wk_gen *c, wk_gen_graph *gg, wk_value_id v);

/* True when the storage of v is still free to be chosen: a node makes it and nothing has fixed
 * it. */
bool wk_gen_can_redirect(const wk_gen_graph *gg, wk_value_id v);
void wk_gen_redirect(wk_gen_graph *gg, wk_value_id v, wk_view view);

/* generate_move.c */
/* Lets producers write where movement wants its result. */
void wk_gen_backwards(wk_gen *c, wk_gen_graph *gg);
/* False when n is no movement operator. */
bool wk_gen_movement(wk_gen *c, wk_gen_graph *gg, const wk_node *n);

/* generate_rows.c */
/* Finds the predicates that are worth a list. */
void wk_gen_find_rows(wk_gen *c, wk_gen_graph *gg);
/* The list of a wanted predicate that has been computed, made where it is asked for first; NULL:
 * there is none. */
const wk_gen_rows *wk_gen_rows_of(wk_gen *c, wk_gen_graph *gg, wk_value_id predicate);
/* The predicate that all results of n are needed by along axes from this one on, `span` of them;
 * WK_NONE: there is none. */
wk_value_id wk_gen_needed_below(const wk_gen_graph *gg, const wk_node *n, int axis, int *span);

/* generate_control.c */
void wk_gen_if(wk_gen *c, wk_gen_graph *gg, const wk_node *n);
void wk_gen_loop(wk_gen *c, wk_gen_graph *gg, const wk_node *n);
/* generate.c: one graph into a block. Storage of inputs and wanted storage of outputs is given. */
void wk_gen_body(wk_gen *c, const wk_graph *g, const wk_view *inputs, const wk_view *outputs,
                 wk_block *block);

#endif
