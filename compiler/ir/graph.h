/* SPDX-License-Identifier: Apache-2.0
 * Graph IR: module › functions (wk_graph) › nodes over typed values.
 *
 * A value is defined by a node, or is a constant, or a placeholder (an input). Values and nodes are
 * u32 ids into their graph; analyses are side tables. The module owns one arena and dies whole.
 * Bodies of IF and LOOP are graphs of the same module that see nothing from outside: whatever they
 * use is one of the node's inputs and one of the body's inputs.
 *
 * Variables: an input of the main graph with initial data lives between runs. An output that names
 * a variable is its update: the value that the variable has from the end of the run on; what reads
 * the variable reads what it had before. Nothing of a variable is known when a model is compiled
 * but its type. They come after the plain inputs and outputs, which callers of the model see.
 *
 * Names: every value has a unique non-empty name in its graph (the ONNX tensor name where there is
 * one); nodes carry the name of the ONNX node(s) they come from, for reports.
 *
 * Memory order: `order` is a permutation that lists the axes from slowest to fastest in memory
 * (NHWC of a logical [n,c,h,w] is 0,2,3,1). It never changes what a value means. */
#ifndef WICK_IR_GRAPH_H
#define WICK_IR_GRAPH_H

#include "compiler/ir/ops.h"

typedef uint32_t wk_value_id;
typedef uint32_t wk_node_id;
#define WK_NONE UINT32_MAX

typedef enum { WK_VALUE_NODE, WK_VALUE_CONSTANT, WK_VALUE_INPUT, WK_VALUE_DEAD } wk_value_kind;

typedef struct wk_graph wk_graph;
typedef struct wk_module wk_module;

typedef struct {
  const char *name;
  wk_type type;
  wk_value_kind kind;
  bool is_public;      /* visible from outside: never renamed, folded away or transposed */
  bool has_order;      /* order chosen by layout assignment; row-major otherwise */
  uint8_t order[WK_MAX_RANK];
  wk_node_id node;     /* WK_VALUE_NODE: defining node and output position */
  uint32_t index;
  const void *data;    /* WK_VALUE_CONSTANT: row-major, alive as long as the module */
  const void *initial; /* a variable: its first contents, like data; NULL: it is none */
  bool is_trainable;   /* a variable of floats that training changes */
} wk_value;

/* How an operator that a target made of something else counts: see wk_node_model_macs. */
typedef struct {
  uint8_t pieces;    /* summands that each product of the model became; 0: it is the model's own */
  bool only_moves;   /* it stands for an operator that multiplies nothing */
  uint32_t own, all; /* of a result's last axis, of which others compute elements as well: as many
                        count here, of so many in the model; 0, 0: all of them */
} wk_counted;

typedef struct {
  wk_op op;
  bool dead;
  bool again;           /* computes on purpose what another node does: they are never merged */
  wk_counted counted;
  const char *name;
  void *attrs;          /* wk_attr_<op>, never NULL */
  uint32_t n_in, n_out, n_bodies;
  wk_value_id *in;      /* WK_NONE: optional input left out */
  wk_value_id *out;     /* WK_NONE: optional output not wanted */
  wk_graph **bodies;
  wk_value_id predicate; /* bool tensor along the batch: where false the result is not needed. Who
                            replaces the node keeps it, or refuses (wk_node_no_predicate) */
} wk_node;

struct wk_graph {
  wk_module *module;
  const char *name;
  WK_VEC(wk_value) values;
  WK_VEC(wk_node) nodes;   /* in execution order after wk_graph_normalise */
  WK_VEC(wk_value_id) inputs; /* variables last */
  WK_VEC(wk_value_id) outputs; /* updates last; may repeat; may be an input or a constant */
  WK_VEC(const char *) output_names; /* public names, parallel to outputs */
  WK_VEC(wk_value_id) updates; /* parallel to outputs: the variable; WK_NONE: a plain output */
  wk_map *names; /* value name -> id */
};

/* What the numbers of an output stand for. A model whose output is strings, or a list of maps, has
 * a tensor of numbers in its place. */
typedef enum {
  WK_LABELS_ELEMENTS, /* an element i of the tensor (i64) stands for texts.v[i] */
  WK_LABELS_COLUMNS   /* position i along its last axis does */
} wk_labels_kind;

typedef struct {
  const char *output; /* its public name */
  wk_labels_kind kind;
  bool are_numbers;   /* the texts are decimal numbers, and stand for these */
  wk_texts texts;     /* one at least */
} wk_labels;

/* What an integer of a quantised tensor stands for: scale * (element - zero). */
typedef struct {
  const char *value; /* of main */
  double scale;
  int64_t zero;
} wk_value_scale;

/* An axis of a plain input or output of main whose size a run decides: the type has the most that
 * it may be. What lies beyond the size along the axis is not defined. The size is a scalar (i64[]),
 * an input or output of main itself, which callers of the model do not see: these come last among
 * the plain ones. */
typedef struct {
  const char *tensor;   /* its public name */
  const char *size;     /* the scalar's public name */
  const char *symbol;   /* what the size is called: "seq" */
  bool is_output, size_is_output;
  int axis;
  int64_t least;        /* of an input: the smallest size */
} wk_open_axis;

struct wk_module {
  wk_arena *arena;
  const char *name;
  const char *producer; /* from the model file, may be NULL */
  int64_t opset;        /* default-domain opset of the imported file, 0 if none */
  wk_graph *main;
  WK_VEC(wk_graph *) graphs; /* every function, main first */
  wk_map *names;             /* of graphs; value: 0 when the graph is gone */
  WK_VEC(wk_labels) labels;  /* of outputs of main, at most one of each */
  WK_VEC(wk_open_axis) open_axes; /* inputs before outputs */
  bool keeps_variables; /* in their types: other programs have them as well */
  WK_VEC(wk_value_scale) quantised; /* as they were before conversion to integers */
  WK_VEC(void *) blobs;      /* malloc'ed constant data, freed with the module */
  WK_VEC(wk_file) files;     /* maps that constants point into, unmapped with the module */
  /* Budgets of what compilation computes, which the importer sets by the size of the file: bytes
   * that wk_graph_constant_alloc makes, elements that folding works on. */
  int64_t constant_bytes_left, fold_work_left;
  wk_module *source; /* whose constants it shares, freed with it; NULL: none, or not its own */
};

wk_module *wk_module_new(const char *name);
void wk_module_free(wk_module *m); /* NULL ok */
/* Constants share data: the original must outlive it. */
wk_module *wk_module_clone(const wk_module *m);
/* Frees data of m that no constant of `reader` lies in: m itself, or a module that shares what m
 * has, after which nothing else of m may be read. */
void wk_module_trim(wk_module *m, const wk_module *reader);
wk_graph *wk_graph_new(wk_module *m, const char *name); /* the first one becomes main */
void wk_module_drop_graphs(wk_module *m, size_t n); /* all but the first n */

static inline wk_value *wk_val(const wk_graph *g, wk_value_id v) { return &g->values.data[v]; }
static inline wk_node *wk_nod(const wk_graph *g, wk_node_id n) { return &g->nodes.data[n]; }
/* The node that makes a value, NULL for constants, inputs and WK_NONE. The pointer dies when nodes
 * are added. */
static inline wk_node *wk_def(const wk_graph *g, wk_value_id v) {
  return v != WK_NONE && wk_val(g, v)->kind == WK_VALUE_NODE ? wk_nod(g, wk_val(g, v)->node) : NULL;
}
#define WK_ATTR(node, opname) ((wk_attr_##opname *)(node)->attrs)
static inline bool wk_is_const(const wk_graph *g, wk_value_id v) {
  return v != WK_NONE && wk_val(g, v)->kind == WK_VALUE_CONSTANT;
}
static inline bool wk_is_variable(const wk_graph *g, wk_value_id v) {
  return v != WK_NONE && wk_val(g, v)->kind == WK_VALUE_INPUT && wk_val(g, v)->initial;
}
/* How many of the inputs are no variables, of the outputs no updates: the first ones. */
size_t wk_graph_plain_inputs(const wk_graph *g);
size_t wk_graph_plain_outputs(const wk_graph *g);
/* The output that is the update of a variable; WK_NONE: it has none. */
wk_value_id wk_graph_new_value(const wk_graph *g, wk_value_id variable);
/* v is the update of some variable, or an output that callers see; it may be both. */
bool wk_is_update(const wk_graph *g, wk_value_id v);
bool wk_is_plain_output(const wk_graph *g, wk_value_id v);

/* ---- building -------------------------------------------------------------------------------- */
/* Names are made unique by a suffix when taken; NULL asks for a fresh one. An input is put before
 * the variables, an output before the updates. */
wk_value_id wk_graph_input(wk_graph *g, const char *name, const wk_type *t);
/* Of the main graph. Its data, not NULL, is used in place and must live as long as the module. */
wk_value_id wk_graph_variable(wk_graph *g, const char *name, const wk_type *t, const void *data,
                              bool is_trainable);
/* data is used in place and must live as long as the module. */
wk_value_id wk_graph_constant(wk_graph *g, const char *name, const wk_type *t, const void *data);
/* Allocates zeroed storage owned by the module for data of this type, and for a constant of it;
 * WK_RESOURCE past the module's budget. */
wk_status wk_graph_data_alloc(wk_graph *g, const wk_type *t, void **data) WK_MUST_CHECK;
wk_status wk_graph_constant_alloc(wk_graph *g, const char *name, const wk_type *t, wk_value_id *out,
                                  void **data) WK_MUST_CHECK;
wk_value_id wk_graph_scalar(wk_graph *g, wk_dtype t, double v); /* rank 0 constant */
void wk_graph_output(wk_graph *g, const char *name, wk_value_id v);
void wk_graph_drop_outputs(wk_graph *g); /* and updates */
/* The variable, which has no update yet, takes this value, of its type, when a run ends. The output
 * has the name that the variable has. */
void wk_graph_update(wk_graph *g, wk_value_id variable, wk_value_id value);
/* An input of main that callers see becomes a variable, which begins as zeros, and output number
 * `output`, of its type, its update: callers see neither, nor the output's labels. WK_RESOURCE: no
 * memory. */
wk_status wk_graph_keep(wk_graph *g, wk_value_id input, size_t output) WK_MUST_CHECK;
/* A copy of the labels; whether they fit the output is for wk_module_verify to say. */
void wk_module_label(wk_module *m, const wk_labels *labels);
/* None any more of the output with this name. */
void wk_module_unlabel(wk_module *m, const char *output);
/* Those of the output of main with this name; NULL: none. */
const wk_labels *wk_module_labels(const wk_module *m, const char *output);
/* All of `from`, whose outputs m's main has. */
void wk_module_copy_labels(wk_module *m, const wk_module *from);
/* A copy of what is said of an axis. */
void wk_module_open(wk_module *m, const wk_open_axis *axis);
void wk_module_copy_open(wk_module *m, const wk_module *from);
/* The plain inputs (outputs) of main that callers see: all but sizes. */
size_t wk_module_seen_inputs(const wk_module *m);
size_t wk_module_seen_outputs(const wk_module *m);
/* WK_UNSUPPORTED, naming one: sizes are decided by runs, for which there is no place in `where`. */
wk_status wk_module_no_open(const wk_module *m, const char *where) WK_MUST_CHECK;
/* Adds what quantisations and dequantisations of main say of values with one scale for all
 * elements. */
void wk_module_note_quantised(wk_module *m);
void wk_module_copy_quantised(wk_module *m, const wk_module *from);
/* NULL: nothing is known of a value of this name. */
const wk_value_scale *wk_module_quantised(const wk_module *m, const char *value);

/* Adds a node, infers and checks its output types and creates the output values.
 *   attrs   wk_attr_<op> from wk_attrs_new (arena of the module), or NULL for defaults
 *   bodies  for IF and LOOP
 *   out     receives n_out ids; may be NULL. out_names may be NULL or hold NULLs; "" leaves an
 *           output out (WK_NONE)
 * n_out 0 means "the least the operator has" (as many as SPLIT's sizes, MAP's results, the bodies'
 * outputs); optional outputs past it are left out. Nothing is added on failure. */
typedef struct {
  wk_op op;
  const char *name;
  void *attrs;
  const wk_value_id *in;
  uint32_t n_in;
  uint32_t n_out;
  const char *const *out_names;
  wk_graph *const *bodies;
  uint32_t n_bodies;
} wk_node_desc;
wk_status wk_graph_add(wk_graph *g, const wk_node_desc *d, wk_value_id *out) WK_MUST_CHECK;

/* Short forms for code that builds graphs by hand. Errors assert: the caller vouches for shapes. */
wk_value_id wk_build(wk_graph *g, wk_op op, void *attrs, int n_in, ...); /* first output */

/* ---- changing -------------------------------------------------------------------------------- */

void wk_graph_replace_uses(wk_graph *g, wk_value_id from, wk_value_id to); /* inputs and outputs */
/* As above, and `to` takes over from's name when from's name is the better one (not generated). */
void wk_graph_replace(wk_graph *g, wk_value_id from, wk_value_id to);
/* The name alone, for callers that know the uses themselves; `from` must be unused by then. */
void wk_graph_take_name(wk_graph *g, wk_value_id from, wk_value_id to);
void wk_node_remove(wk_graph *g, wk_node_id n); /* marks dead; its outputs must be unused */
/* Its name; without one that of the first value it makes. */
const char *wk_node_called(const wk_graph *g, const wk_node *n);
/* WK_UNSUPPORTED, at the node: it has a predicate, for which there is no place in `where`. */
wk_status wk_node_no_predicate(const wk_graph *g, const wk_node *n,
                               const char *where) WK_MUST_CHECK;
/* The same of all nodes of a module. */
wk_status wk_module_no_predicates(const wk_module *m, const char *where) WK_MUST_CHECK;
/* Drops dead nodes and unused values, restores a topological order that keeps the present order
 * where it is valid, renumbers. Ids held outside become invalid. WK_INPUT on a cycle. */
wk_status wk_graph_normalise(wk_graph *g) WK_MUST_CHECK;
wk_status wk_module_normalise(wk_module *m) WK_MUST_CHECK;

/* Side table: who uses a value. Graph outputs count as a use with node == WK_NONE, predicates as
 * one with index == n_in. */
typedef struct { wk_node_id node; uint32_t index; } wk_use;
typedef struct {
  const uint32_t *first;
  const wk_use *uses; /* of value v: uses[first[v] .. first[v+1]) */
} wk_uses;
wk_uses wk_graph_uses(const wk_graph *g, wk_arena *scratch);
static inline uint32_t wk_use_count(const wk_uses *u, wk_value_id v) {
  return u->first[v + 1] - u->first[v];
}

/* Imports body as a copy into another module/graph set; constants share data. */
wk_graph *wk_graph_clone_into(wk_module *m, const wk_graph *g);

/* Adds to `to` the nodes of a graph of the same module, in order and without updates, that its
 * outputs depend on: in[k] takes the place of input k, out[i] is what output i has become.
 * Constants share data. Attributes and bodies are `to`'s from then on: `from` is to be used no
 * more. */
wk_status wk_graph_inline(wk_graph *to, const wk_graph *from, const wk_value_id *in,
                          wk_value_id *out) WK_MUST_CHECK;

/* A part of a graph as a graph of its own, in another module; constants share data, bodies are
 * copied. Nodes keep their order; what they read from outside is in `in`, and `out` are values of
 * the graph: made by these nodes, in `in`, or constants. Variables among `in` stay variables; they
 * and updates come last. */
typedef struct {
  const wk_node_id *nodes;
  const wk_value_id *in, *out;
  const char *const *out_names;
  const wk_value_id *updates; /* parallel to out: variables of `in`, or WK_NONE; NULL: none */
  size_t n_nodes, n_in, n_out;
} wk_graph_piece;
wk_graph *wk_graph_extract(wk_module *m, const wk_graph *g, const wk_graph_piece *piece);

/* Structure, names, types (re-inferred and compared), attribute sanity, bodies. */
wk_status wk_module_verify(const wk_module *m) WK_MUST_CHECK;

/* Inference: output types of a node from its input types and attributes. n_out entries in out. */
typedef struct {
  const wk_graph *graph;   /* for bodies' types; constants' data */
  wk_op op;
  const void *attrs;
  const wk_type *const *in; /* NULL: left out */
  uint32_t n_in, n_out, n_bodies;
  wk_graph *const *bodies;
  wk_type *out;
} wk_infer;
wk_status wk_infer_node(const wk_infer *i) WK_MUST_CHECK;

/* traits.c. How storage can save this node (traits.h): that of its operator, but NONE of a pad that
 * is not constant, which lowering replaces. */
wk_view_trait wk_node_view(const wk_node *n);
/* Whether each result can be a view of operand 0. */
bool wk_node_shows(const wk_node *n);
/* Operands, the first ones, that can be written where the result is: all pieces of a concat, x of a
 * pad that crops nothing, x where the result shows all of it. */
uint32_t wk_node_written_into(const wk_node *n);

/* Multiply-accumulates of a node (T_MACS), 0 for others. */
int64_t wk_node_macs(const wk_graph *g, const wk_node *n);
/* Those of them that the model has: what a target adds to suit its hardware does not count. */
int64_t wk_node_model_macs(const wk_graph *g, const wk_node *n);
/* The definition of an elementwise node as an expression over its inputs, dtypes as they stand. */
wk_status wk_node_expr(const wk_graph *g, const wk_node *n, wk_arena *a,
                       wk_expr **out) WK_MUST_CHECK;

/* ---- text, dot ------------------------------------------------------------------------------- */
/* WK_PRINT_FULL writes constants of any size as hex so that the text parses back to the same
 * module; otherwise constants above 16 elements that are not a splat are elided ("elided(<hash>)",
 * which the parser refuses). */
typedef enum { WK_PRINT_SHORT = 0, WK_PRINT_FULL = 1 } wk_print_flags;
void wk_module_print(wk_str *b, const wk_module *m, wk_print_flags flags);
wk_status wk_module_parse(const char *text, const char *file_name, wk_module **out) WK_MUST_CHECK;
/* colours: of Graphviz, one per node of the main graph, NULL for none; or NULL. */
void wk_module_dot(wk_str *b, const wk_module *m, const char *const *colours);

#endif
