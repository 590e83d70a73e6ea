/* SPDX-License-Identifier: Apache-2.0
 * Values whose sizes are only known at run time, of the main graph and of bodies in it. Their types
 * have capacities: the most that a size may be. What lies beyond a size along its axis is not
 * defined; a rule (extents.def) for each operator sees to it that nobody looks there: who folds
 * along such an axis has it filled with what changes nothing, who moves along it has positions
 * computed at run time. */
#ifndef WICK_ONNX_IMPORT_EXTENT_H
#define WICK_ONNX_IMPORT_EXTENT_H

#include "compiler/onnx/import/formula.h"

typedef struct {
  const wk_size *dims[WK_MAX_RANK]; /* NULL: as in the type */
  int64_t n;                        /* of whole numbers, of rank 2 at the most: its elements; */
  const wk_size *const *elements;   /* NULL: not known */
  const struct wk_real *reals;      /* n, of floats that are computed from sizes; NULL: none */
} wk_sized;
typedef struct wk_real wk_real;

/* An axis of an input that a run sizes. */
typedef struct {
  wk_value_id input;
  int axis;
  const char *symbol; /* two axes with the same one have the same size */
  int64_t least, most;
  const wk_formula *formula; /* of other symbols, which it must agree with; NULL: none */
  bool is_bounded;           /* what the formula says is `most` at the most */
  bool is_kept;     /* the input stays from run to run, and has `most` elements at the most */
  wk_value_id size; /* the input that says it */
} wk_open_input;

/* A graph that is being imported: main, or a body around the node at hand. */
typedef struct {
  const wk_graph *g;
  WK_VEC(const wk_sized *) of; /* by value; NULL or past the end: nothing */
} wk_sized_graph;

struct wk_extents {
  WK_VEC(wk_unknown) unknowns;
  wk_map *values; /* a size's terms -> its value, in the innermost graph of its unknowns */
  WK_VEC(wk_sized_graph) graphs; /* outer ones first */
  WK_VEC(wk_open_input) inputs;
  WK_VEC(wk_size_bound_row) bounds;
  wk_symbols symbols; /* of sizes of inputs */
  wk_value_id first_new; /* values from here on are of the node at hand */
};

wk_extents *wk_extents_new(void);
void wk_extents_free(wk_extents *e);
/* From here to there, sizes of values of g are followed. */
void wk_extents_enter(wk_importer *im, const wk_graph *g);
void wk_extents_leave(wk_importer *im, const wk_graph *g);
/* Value `inner` of the graph `to` is value v of the graph `from` around it: what is known of one is
 * known of the other. */
void wk_extents_carry(wk_importer *im, const wk_graph *from, wk_value_id v, const wk_graph *to,
                      wk_value_id inner);
/* Once all inputs are there: the scalars that say such sizes become inputs behind them. */
wk_status wk_extents_begin(wk_importer *im, wk_scope *s) WK_MUST_CHECK;
/* The axis of an input that grows from run to run; -1: v is none. */
int wk_extents_growing(const wk_importer *im, wk_value_id v);
/* Once all outputs are there: the scalars that say the sizes of these. What is known of inputs and
 * outputs is put down in the module. */
wk_status wk_extents_finish(wk_importer *im, const wk_scope *s) WK_MUST_CHECK;

/* The input of main with this name is the scalar that says a size. */
bool wk_extents_has_size(const wk_importer *im, const char *name);

/* Some operand has a size that is only known at run time, or is made of such sizes, or the operator
 * is one whose results may have such sizes. */
bool wk_extent_concerns(const wk_onnx_node *c);
/* Imports the node: by its rule, or by its handler where sizes are all known. */
wk_status wk_extent_node(wk_onnx_node *c) WK_MUST_CHECK;

/* --bound: inputs of main, and results of the node, of which the caller has said how large they
 * are. */
wk_status wk_extents_bound_inputs(wk_importer *im, wk_scope *s) WK_MUST_CHECK;
void wk_extent_bound_results(wk_onnx_node *c);
/* Refuses bounds of what the model does not have. */
wk_status wk_extents_check_bounds(const wk_import_options *o,
                                  const Onnx__ModelProto *m) WK_MUST_CHECK;
/* Names the value that could be bounded where the node is refused since it decides a size. */
void wk_extent_propose(wk_onnx_node *c);

/* ---- for rules ------------------------------------------------------------------------------- */

/* NULL: nothing is known of the value beyond its type. */
const wk_sized *wk_extent_find(const wk_importer *im, const wk_graph *g, wk_value_id v);
bool wk_extent_has_open(const wk_importer *im, const wk_graph *g, wk_value_id v);
bool wk_extent_is_open(const wk_onnx_node *c, wk_value_id v, int axis);
const wk_size *wk_extent_dim(wk_onnx_node *c, wk_value_id v, int axis);
void wk_extent_dims(wk_onnx_node *c, wk_value_id v, const wk_size **dims);
/* They are known of v to be these, whatever room it has. */
void wk_extent_declare(wk_onnx_node *c, wk_value_id v, const wk_size *const *dims);
/* v with these sizes: v itself, or cut to the most that they can be. */
wk_value_id wk_extent_set(wk_onnx_node *c, wk_value_id v, const wk_size *const *dims);
/* The same of result i. */
void wk_extent_result(wk_onnx_node *c, int i, const wk_size *const *dims);
/* With an axis more, of one element, and without such an axis. */
wk_value_id wk_extent_unsqueezed(wk_onnx_node *c, wk_value_id v, int axis);
wk_value_id wk_extent_squeezed(wk_onnx_node *c, wk_value_id v, int axis);
/* v with the open sizes of `of`, along the same axes. */
wk_value_id wk_extent_like(wk_onnx_node *c, wk_value_id v, wk_value_id of);
/* A value of its own with the elements and sizes of v. */
wk_value_id wk_extent_copy(wk_onnx_node *c, wk_value_id v);

/* Elements of a scalar, list or table of whole numbers, row by row, constant or not; NULL: not
 * known. */
const wk_size *const *wk_extent_elements(wk_onnx_node *c, wk_value_id v, int64_t *n);
void wk_extent_set_elements(wk_onnx_node *c, wk_value_id v, const wk_size *const *elements,
                            int64_t n);
/* The same of operand i, which decides sizes: refused where they are not known. */
const wk_size *const *wk_extent_list(wk_onnx_node *c, int i, const char *what, int64_t *n);

/* What the node, an operation on floats, makes of numbers that are computed from sizes: n of them;
 * NULL: they have no bounds, or the operation has no rule. Before the handler runs. */
const wk_real *wk_extent_reals(wk_onnx_node *c, int64_t *n);
/* v, a result of the node, is these: rounded, they are sizes as elements of v. */
void wk_extent_set_reals(wk_onnx_node *c, wk_value_id v, const wk_real *reals, int64_t n);
void wk_extent_keep_reals(wk_onnx_node *c, wk_value_id v, const wk_real *reals, int64_t n);
/* The text, or it with a number, as no unknown has been called yet; "what(name of the node)". */
const char *wk_extent_new_text(wk_onnx_node *c, const char *text);
const char *wk_extent_own_text(wk_onnx_node *c, const char *what);

/* What lies beyond a size. */
typedef enum { WK_FILL_ZERO, WK_FILL_ONE, WK_FILL_LEAST, WK_FILL_MOST } wk_fill;
wk_value_id wk_extent_scalar(wk_onnx_node *c, wk_dtype t, wk_fill fill);
/* x with `fill`, a scalar of its type, beyond the size of the axis; x where that is known. */
wk_value_id wk_extent_filled(wk_onnx_node *c, wk_value_id x, int axis, wk_value_id fill);
/* Operand i so, along all axes whose bit is set. */
void wk_extent_fill(wk_onnx_node *c, int i, uint32_t axes, wk_fill fill);
wk_value_id wk_extent_number(wk_onnx_node *c, int64_t v); /* i64[] */
/* Whole numbers and a size. */
wk_value_id wk_extent_plus(wk_onnx_node *c, wk_value_id v, const wk_size *size);
/* A list, i64[n], of sizes, as whose elements they are known. */
wk_value_id wk_extent_list_of(wk_onnx_node *c, const wk_size *const *sizes, int64_t n);
/* v, in a run that fails where the sizes differ. */
wk_value_id wk_extent_checked(wk_onnx_node *c, wk_value_id v, const wk_size *a, const wk_size *b);
/* v, in a run that fails, with this reason as the node's name, unless `holds` (bool[]). */
wk_value_id wk_extent_gated(wk_onnx_node *c, wk_value_id v, wk_value_id holds, const char *reason);
/* *v has the size `with` along the axis, in a run that fails where its own is another. Refused
 * where they cannot be the same. */
bool wk_extent_agree(wk_onnx_node *c, wk_value_id *v, int axis, const wk_size *with);
/* The same of operands that are broadcast: refused, too, where one of the sizes is known. */
bool wk_extent_meet(wk_onnx_node *c, wk_value_id *v, int axis, const wk_size *with);
/* Operands a and b have room for the same number along these axes. */
void wk_extent_even(wk_onnx_node *c, int a, int a_axis, int b, int b_axis);
/* They also have the same size there; nothing is asked of operands that are not there. */
bool wk_extent_match(wk_onnx_node *c, int a, int a_axis, int b, int b_axis);
/* Of operand i only the axes whose bit is set may have an open size. */
bool wk_extent_allow(wk_onnx_node *c, int i, uint32_t axes);
/* v with room for n elements along the axis, cut or with zeros behind. */
wk_value_id wk_extent_room(wk_onnx_node *c, wk_value_id v, int axis, int64_t n);
/* Values joined along the axis, without gaps; their other sizes are the same. */
wk_value_id wk_extent_join(wk_onnx_node *c, const wk_value_id *xs, int n, int axis);
/* Positions 0 … n - 1, i64[n], below a size: bool[n]. */
wk_value_id wk_extent_below(wk_onnx_node *c, int64_t n, const wk_size *size);
/* Clamped to [0, n - 1]. */
wk_value_id wk_extent_clamped(wk_onnx_node *c, wk_value_id positions, int64_t n);
/* The same below a size. */
wk_value_id wk_extent_within(wk_onnx_node *c, wk_value_id positions, const wk_size *size);
/* Positions 0 … n - 1, i64[n]; what is beyond the size has its last one. */
wk_value_id wk_extent_count(wk_onnx_node *c, int64_t n, const wk_size *size);
/* x[start + step * i] for i below `size` (along the axis), whose other sizes stay. */
wk_value_id wk_extent_window(wk_onnx_node *c, wk_value_id x, int axis, const wk_size *start,
                             int64_t step, const wk_size *size);
/* Runs the handler of the operator. */
bool wk_extent_plain(wk_onnx_node *c);
/* numpy broadcasting of values; refuses sizes that may differ. The rank of the result. */
int wk_extent_broadcast(wk_onnx_node *c, const wk_value_id *v, int n, const wk_size **dims);
/* False, with a refusal: two sizes are not the same for all that is known. */
bool wk_extent_same(wk_onnx_node *c, const wk_size *a, const wk_size *b);
/* x in these sizes. */
wk_value_id wk_extent_reshape(wk_onnx_node *c, wk_value_id x, int rank,
                              const wk_size *const *dims);

#define EXTENT(domain, name, rule) wk_status wk_extent_##rule(wk_onnx_node *c);
#include "compiler/onnx/import/extents.def"
#undef EXTENT

#endif
