/* SPDX-License-Identifier: Apache-2.0
 * importer: the state of one import, and what a handler of an ONNX operator sees.
 *
 *   wk_importer   the whole run: options, report, module, budgets
 *   wk_frame      where nodes come from: the model, or a function being inlined (opsets,
 * attributes) wk_scope      ONNX names in sight; a scope belongs to one wk_graph, several may share
 * one graph wk_onnx_node  one NodeProto being imported
 *
 * A handler reads inputs and attributes, adds nodes through make.h and stores the results in
 * c->out. Errors are latched in c->status: accessors and builders then do nothing and return
 * neutral values, so handlers read as formulas and return c->status at the end. */
#ifndef WICK_ONNX_IMPORT_IMPORTER_H
#define WICK_ONNX_IMPORT_IMPORTER_H

#include "compiler/onnx/wire/wire.h"

typedef struct wk_onnx_node wk_onnx_node;
typedef wk_status (*wk_onnx_handler)(wk_onnx_node *c);

#define WK_ONNX_OWN_DOMAIN "wick" /* of operators that ONNX cannot say exactly */

/* A row of import_ops.def. */
typedef struct {
  const char *domain, *name;
  int64_t since, known; /* first opset handled, last one whose definition is known */
  int min_in, max_in;   /* -1: any number */
  uint32_t dtypes;      /* bit per wk_dtype that input 0 may have */
  wk_onnx_handler handler;
  wk_op op;             /* what handlers shared by several operators emit */
} wk_onnx_row;

const wk_onnx_row *wk_onnx_row_find(const char *domain, const char *name);
/* Why an operator that has no row is refused. */
const char *wk_onnx_refusal_find(const char *domain, const char *name);

/* ---- values -------------------------------------------------------------------------------- */

typedef enum {
  WK_BOUND_TENSOR,
  WK_BOUND_UNKNOWN,  /* result of a node that could not be imported: already reported */
  WK_BOUND_SEQUENCE, /* a list known at import time */
  WK_BOUND_LABELLED, /* strings or a list of maps, as a tensor and what its numbers stand for */
  WK_BOUND_NOTHING,  /* an optional without element */
  WK_BOUND_STRINGS   /* strings that are not known: nodes that read them are refused */
} wk_bound_kind;

/* What an ONNX name stands for. */
typedef struct {
  wk_bound_kind kind;
  wk_value_id value;
  wk_dtype dtype;            /* SEQUENCE: of its elements */
  uint32_t n;                /* SEQUENCE */
  const wk_value_id *items;
  const wk_labels *labels;   /* LABELLED; its output is NULL */
} wk_bound;

typedef struct { wk_value_id outer, inner; } wk_capture;

typedef struct { const char *name; const Onnx__AttributeProto *value; } wk_frame_attribute;

/* Operator sets in force, and for a function being inlined the attributes of its call. */
typedef struct wk_frame {
  Onnx__OperatorSetIdProto *const *opsets;
  size_t n_opsets;
  const wk_frame_attribute *attributes;
  size_t n_attributes;
  const Onnx__FunctionProto *function; /* NULL: the model itself */
  const char *call; /* the node that calls it, whose name nodes without one have */
  const struct wk_frame *caller;
} wk_frame;

typedef struct wk_scope {
  struct wk_scope *parent; /* names of the enclosing graph, NULL for the model and for functions */
  struct wk_scope *edge;   /* the scope with which g began: holds the captures of g */
  wk_graph *g;
  const wk_frame *frame;
  Onnx__NodeProto **nodes; /* that have been imported into it, or are being */
  size_t n_nodes;
  const char *path;        /* of nodes and iterations that lead here: the same for what is imported
                            * once more (wk_import_again) */
  wk_map *names;           /* name -> index in bound */
  WK_VEC(wk_bound) bound;
  WK_VEC(wk_capture) captures; /* where g is not the parent's graph: run-time values from outside */
  int depth;
} wk_scope;

typedef struct {
  const uint8_t *data; /* the model file; constants may point into it */
  size_t n;            /* its size, for budgets also where data is NULL */
  const char *dir;     /* folder of external data, NULL: none */
  const char *home;    /* as in wk_onnx_model */
  const Onnx__ModelProto *model; /* already read; NULL: from data */
  bool is_translated;  /* names are not those of the file */
} wk_onnx_source;

/* A block of memory filled with one element (splat.c). */
typedef struct { int fd; size_t size; uint8_t value[8]; } wk_pattern;
#define WK_PATTERNS 8

/* An operator set in use that is newer than what is known of its domain. */
typedef struct { const char *domain; int64_t version; } wk_newer;

/* Training: the constant of an initialiser of main, and the value that it moves to. */
typedef struct { wk_value_id from, to; } wk_onnx_moved;

typedef struct wk_extents wk_extents; /* extent.h */

typedef struct wk_importer {
  const wk_import_options *opt;
  wk_import_report *rep;
  wk_module *m;
  wk_arena *arena;     /* dies with the import */
  wk_onnx_source src;
  const Onnx__ModelProto *model;
  wk_map *functions;   /* name -> index of the first with this name */
  wk_map *fixed;       /* model inputs given by the caller */
  wk_map *used;        /* every tensor name that some node or output uses */
  wk_map *external;    /* location -> index in m->files */
  int64_t nodes_left;  /* budgets: nodes imported, */
  int64_t fold_bytes_left, fold_work_left; /* constants computed */
  WK_VEC(wk_newer) newer;
  int64_t undecided;   /* nodes refused because a value is only known at run time */
  bool is_misshapen;   /* the last WK_INPUT came from a node whose operands do not fit it */
  wk_map *weights;     /* names of what stays apart -> index in the report's; NULL: inference */
  wk_map *quantised;   /* training: names in main -> their part in quantisation; NULL: not yet */
  wk_value_id key;     /* of main; WK_NONE: nobody has asked for it */
  WK_VEC(wk_onnx_moved) moved;
  wk_map *entered;     /* place -> how often scopes have been entered there */
  wk_map *drawn;       /* place of a node that draws numbers -> index in seeds */
  WK_VEC(int64_t) seeds;
  wk_map *surveyed;    /* a node's address as text -> index in the report's nodes */
  WK_VEC(wk_value_id) loose; /* survey: what refused nodes of the main graph read */
  int64_t splat_left;  /* address space of constants with one repeated value */
  wk_pattern patterns[WK_PATTERNS];
  int n_patterns;
  wk_extents *extents; /* sizes that are only known at run time */
} wk_importer;

#define WK_ONNX_SMALL 16

struct wk_onnx_node {
  wk_importer *im;
  wk_scope *scope;
  wk_graph *g;
  const Onnx__NodeProto *proto;
  const wk_onnx_row *row;
  const char *name;
  int64_t opset;
  int n_in, n_out;       /* n_in without absent inputs at the end */
  wk_value_id *in;       /* at least WK_ONNX_SMALL entries; WK_NONE: absent or no tensor */
  wk_bound *bound;       /* the same inputs, also sequences and optionals */
  wk_bound *out;         /* n_out entries, at least WK_ONNX_SMALL, set by the handler */
  bool is_malformed;     /* does not fit the operator's definition, whatever its operands are */
  wk_status status;
};

/* ---- errors -------------------------------------------------------------------------------- */

/* Latches an error (the first one counts); always false. */
bool wk_onnx_fail(wk_onnx_node *c, wk_code code, const char *fmt, ...) WK_PRINTF(3, 4);
void wk_onnx_latch(wk_onnx_node *c, wk_status s);
static inline bool wk_onnx_ok(const wk_onnx_node *c) { return !c->status; }
/* Return ok; when it is false they refuse the node with this reason, or call the model
 * malformed. */
bool wk_onnx_need(wk_onnx_node *c, bool ok, const char *fmt, ...) WK_PRINTF(3, 4);
bool wk_onnx_valid(wk_onnx_node *c, bool ok, const char *fmt, ...) WK_PRINTF(3, 4);

/* Why nodes that have to do with strings are refused, for wk_onnx_need. */
#define WK_ONNX_NO_STRINGS "works on strings, which Wick does not have"

/* ---- attributes (of the node, or handed through a function call) --------------------------- */

const Onnx__AttributeProto *wk_onnx_attr(const wk_onnx_node *c, const char *name);
int64_t wk_onnx_int(const wk_onnx_node *c, const char *name, int64_t def);
double wk_onnx_float(const wk_onnx_node *c, const char *name, double def);
const char *wk_onnx_text(wk_onnx_node *c, const char *name, const char *def);
bool wk_onnx_text_is(wk_onnx_node *c, const char *name, const char *def, const char *want);
/* n is -1 when the attribute is absent. */
wk_ints wk_onnx_ints(wk_onnx_node *c, const char *name);
wk_floats wk_onnx_floats(wk_onnx_node *c, const char *name);
/* False, with a refusal: n, of the list that has been read, says that the attribute is missing. */
bool wk_onnx_has_list(wk_onnx_node *c, const char *name, int64_t n);
wk_texts wk_onnx_texts(wk_onnx_node *c, const char *name);
const Onnx__GraphProto *wk_onnx_graph(wk_onnx_node *c, const char *name);
/* Attribute `name` holding an ONNX element type; `def` when absent. */
wk_dtype wk_onnx_dtype(wk_onnx_node *c, const char *name, wk_dtype def);

/* ---- inputs -------------------------------------------------------------------------------- */

static inline bool wk_onnx_has(const wk_onnx_node *c, int i) {
  return i < c->n_in && c->in[i] != WK_NONE;
}
/* Type of a value; a neutral one for WK_NONE, so that callers need no check after an error. */
const wk_type *wk_onnx_type(const wk_onnx_node *c, wk_value_id v);
/* True when output i is asked for: has a name that something uses. */
bool wk_onnx_wants(const wk_onnx_node *c, int i);
/* The value's data when it is a constant; otherwise latches WK_UNSUPPORTED, having noted the graph
 * inputs that decide it in the report, or WK_RESOURCE when to compute it is past a budget. `what`
 * names it: "the shape". */
const void *wk_onnx_const(wk_onnx_node *c, wk_value_id v, const char *what);
/* v depends on constants alone: it has one value, which wk_onnx_const computes. */
bool wk_onnx_is_computable(wk_onnx_node *c, wk_value_id v);
/* Model inputs that decide v, a value of main, go into the report, as those whose values may be
 * given. */
void wk_onnx_note_deciding(wk_onnx_node *c, wk_value_id v);
wk_ints wk_onnx_const_ints(wk_onnx_node *c, wk_value_id v, const char *what);
wk_floats wk_onnx_const_floats(wk_onnx_node *c, wk_value_id v, const char *what);
int64_t wk_onnx_const_int(wk_onnx_node *c, wk_value_id v, const char *what);
double wk_onnx_const_float(wk_onnx_node *c, wk_value_id v, const char *what);
/* Integers given as input i, or by the attribute before that opset; n -1 when absent. */
wk_ints wk_onnx_ints_input(wk_onnx_node *c, int64_t input_since, int i, const char *name);
/* axis + rank for negative axes; latches WK_INPUT when out of range (then 0). */
int64_t wk_onnx_axis(wk_onnx_node *c, int64_t axis, int rank);
/* Normalises and sorts axes; latches WK_INPUT on a repeated one. */
wk_ints wk_onnx_axes(wk_onnx_node *c, wk_ints axes, int rank);

static inline wk_bound wk_bound_tensor(wk_value_id v) {
  return (wk_bound){.kind = WK_BOUND_TENSOR, .value = v};
}
static inline wk_status wk_onnx_return(wk_onnx_node *c, wk_value_id v) {
  c->out[0] = wk_bound_tensor(v);
  return c->status;
}
static inline void wk_onnx_result(wk_onnx_node *c, int i, wk_value_id v) {
  c->out[i] = wk_bound_tensor(v);
}

/* ---- parts of the importer (recursion between them is bounded by WK_GRAPH_MAX_DEPTH) ------- */

/* Tensors: *borrowed says that data lies in src (else malloc'ed, or in a file mapped by the
 * module). */
wk_dtype wk_onnx_elem_type(int32_t data_type); /* WK_DTYPE_NONE: not supported */
const char *wk_onnx_elem_name(int32_t data_type);
/* Why tensors of such elements are refused: "elements are strings (STRING), …". */
const char *wk_onnx_elem_refusal(wk_arena *a, int32_t data_type);
int32_t wk_onnx_elem_number(wk_dtype t);
wk_status wk_onnx_tensor_type(const Onnx__TensorProto *t, wk_type *out) WK_MUST_CHECK;
/* Reads a tensor with data inside the message; *borrowed: data points into `src` bytes. */
wk_status wk_onnx_tensor_read(const Onnx__TensorProto *t, wk_tensor *out,
                              bool *borrowed) WK_MUST_CHECK;
/* The file of a tensor with external data, NULL: none is named; and which of its `size` bytes are
 * the tensor's, false: some that it has not. */
const char *wk_onnx_external_location(const Onnx__TensorProto *t);
bool wk_onnx_external_span(const Onnx__TensorProto *t, const wk_type *type, uint64_t size,
                           uint64_t *offset, uint64_t *length);
/* Calls `one` with that file of every tensor of the model that has one, until it fails.
 * WK_RESOURCE: graphs are nested too deep. */
typedef wk_status (*wk_onnx_external_fn)(void *ctx, const char *location);
wk_status wk_onnx_each_external(const Onnx__ModelProto *m, wk_onnx_external_fn one,
                                void *ctx) WK_MUST_CHECK;
/* Makes a constant of g from a TensorProto of any storage. */
wk_status wk_onnx_tensor_constant(wk_importer *im, wk_graph *g, const char *name,
                                  const Onnx__TensorProto *t, wk_value_id *out) WK_MUST_CHECK;
wk_status wk_onnx_sparse_constant(wk_importer *im, wk_graph *g, const char *name,
                                  const Onnx__SparseTensorProto *t, wk_value_id *out) WK_MUST_CHECK;

/* Scopes. */
/* `inside` is where the new scope is opened; its names are visible unless is_function. */
wk_scope *wk_scope_new(wk_scope *inside, bool is_function, wk_graph *g, const wk_frame *frame);
void wk_scope_free(wk_scope *s);
/* s is what the node at its path makes of a graph or function, this time. */
void wk_scope_enter(wk_importer *im, wk_scope *s, const Onnx__NodeProto *n, const void *what);
/* Until wk_import_go_on, nodes are imported that have been imported before. */
wk_map *wk_import_again(wk_importer *im); /* what wk_import_go_on takes */
void wk_import_go_on(wk_importer *im, wk_map *entered);
void wk_scope_bind(wk_scope *s, const char *name, wk_bound b);
/* False when no scope knows the name. Values of other graphs become captures or constants. */
bool wk_scope_find(wk_importer *im, wk_scope *s, const char *name, wk_bound *out);
/* A value of the graph around s's graph, made available in s's graph. */
wk_value_id wk_scope_capture(wk_scope *s, const wk_graph *from, wk_value_id v);
bool wk_scope_has(const wk_scope *s, const char *name); /* this scope alone */

/* Version of a domain in a frame; 0: not imported. "ai.onnx" is "". */
int64_t wk_frame_opset(const wk_frame *f, const char *domain);
const char *wk_onnx_domain(const char *domain); /* canonical; never NULL */
/* Its name, or one made of its operator and first result. */
const char *wk_onnx_node_name(wk_arena *a, const Onnx__NodeProto *p);

/* Imports all nodes of a graph into the scope, in dependency order. */
wk_status wk_import_nodes(wk_importer *im, wk_scope *s, Onnx__NodeProto **nodes,
                          size_t n) WK_MUST_CHECK;
wk_status wk_import_initialisers(wk_importer *im, wk_scope *s,
                                 const Onnx__GraphProto *p) WK_MUST_CHECK;
/* Inlines a call of a model-local function. */
wk_status wk_import_call(wk_onnx_node *c, const Onnx__FunctionProto *fn) WK_MUST_CHECK;
const Onnx__FunctionProto *wk_import_function(const wk_importer *im, const char *domain,
                                              const char *name);
/* What a node reads, and what graphs in its attributes read from outside; named: also the tensors
 * that Gradient names in attributes (wk_onnx_named: these alone). Added to out, whose texts are the
 * model's or in the arena. */
typedef WK_VEC(const char *) wk_onnx_names;
void wk_onnx_reads(const Onnx__NodeProto *n, bool named, wk_arena *a, wk_onnx_names *out);
void wk_onnx_named(const Onnx__NodeProto *n, wk_arena *a, wk_onnx_names *out);
/* A permutation of the nodes in dependency order; WK_INPUT on a cycle, or a name that is made twice
 * or is in scope already. */
wk_status wk_onnx_sort(const wk_scope *scope, Onnx__NodeProto *const *nodes, size_t n,
                       wk_arena *scratch, uint32_t **order) WK_MUST_CHECK;
/* What has been put on record and built since a mark can be taken back (graphs of refused
 * bodies). */
typedef struct { size_t unsupported, need_value, graphs; } wk_import_mark;
wk_import_mark wk_import_mark_take(const wk_importer *im);
void wk_import_mark_return(wk_importer *im, const wk_import_mark *mark);
void wk_importer_close_patterns(wk_importer *im);

/* Training (training.c). True: v, a constant of g, is an initialiser that stays apart. */
bool wk_training_keeps(const wk_importer *im, const wk_graph *g, wk_value_id v);
/* The same of one of the operands of a node. */
bool wk_training_reads(const wk_importer *im, const wk_graph *g, const wk_node *n);
/* Statistic v as it is before this node, which another one may have moved; and where this node
 * moves it. Both do nothing for what is no initialiser of main. */
wk_value_id wk_training_now(const wk_onnx_node *c, wk_value_id v);
void wk_training_move(wk_onnx_node *c, wk_value_id v, wk_value_id to);
/* v, a constant of main that a tensor of the file is, stays apart if it is one that does. */
void wk_training_weight(wk_importer *im, const wk_graph *g, wk_value_id v, bool is_node);
/* The name under which the value of a Constant of main stays apart like an initialiser: in a model
 * that has no initialisers of floats, and for derivatives (*is_node: beside such ones); NULL: it
 * does not. */
const char *wk_training_constant(const wk_onnx_node *c, bool *is_node);
/* Derivatives: binds an initialiser of a body, which becomes a constant of main that the body is
 * handed; false: it stays in the body. */
bool wk_training_hoist(wk_importer *im, wk_scope *s, const Onnx__TensorProto *t, wk_bound *out,
                       wk_status *status);
/* Marks what is a constant by what it means among the operands of a node. */
void wk_training_operands(wk_onnx_node *c);
/* The value of a constant is decisive. */
void wk_training_read(wk_importer *im, const char *name);
void wk_training_finish(wk_importer *im, wk_graph *main); /* outputs, report */

/* Types of the operands, a blank between two, in the report's arena. */
const char *wk_import_shapes(wk_importer *im, const wk_onnx_node *c);
/* The list of a survey. What became of a node; reason: of REFUSED. values older than first_new are
 * of other nodes. Nothing without a survey. */
void wk_survey_node(wk_onnx_node *c, wk_survey_fate fate, const char *reason, size_t first_new);
/* The same of a node that has left the model. */
void wk_survey_unused(wk_importer *im, const Onnx__NodeProto *n, const char *name, int64_t opset);
/* Nothing is left of what the nodes listed from `first` on have made. */
void wk_survey_forget(wk_importer *im, size_t first);
/* What refused nodes read becomes outputs of the model, so that somebody reads it. */
void wk_survey_outputs(wk_importer *im, wk_graph *g);
/* Once the module is whole: what is not in it is not known. */
void wk_survey_finish(wk_importer *im);

#endif
