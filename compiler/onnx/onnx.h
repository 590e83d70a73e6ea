/* SPDX-License-Identifier: Apache-2.0
 * onnx: ONNX model files to graph IR (rank 3). Output: a verified module with static shapes,
 * opsets resolved, subgraphs isolated (their outside uses are explicit captures), shape arithmetic
 * folded. */
#ifndef WICK_ONNX_H
#define WICK_ONNX_H

#include "compiler/eval/eval.h"
#include "compiler/support/options.h"

/* One symbolic dimension bound: `batch=1`, or to what a run says within bounds: `seq=1..512`. */
typedef struct {
  const char *symbol;
  int64_t value;
  bool is_open;  /* a run decides: from `least` to `value` */
  int64_t least;
  const char *formula; /* of other symbols, "past + seq", instead of a value; NULL: none */
} wk_bind;
/* One input's whole shape: `--shape x=1x3x48x192` (must be compatible with the declared one). */
typedef struct {
  const char *input;
  int rank;
  int64_t dims[WK_MAX_RANK];
  bool is_open; /* some size: as in wk_bind */
  int64_t least[WK_MAX_RANK];
  const char *option; /* as typed: what does not fit is wrong usage; NULL: the shape of a file */
  const char *file;   /* whose shape it is, for messages; may be NULL */
} wk_bind_shape;
/* One input fixed to a value at compile time: it stops being an input. */
typedef struct {
  const char *input;
  wk_tensor value;
  const char *option, *file; /* as above */
} wk_bind_value;

/* How many tensors a sequence among the inputs has: `--length x=3`. Element k is the input x[k] of
 * the module; its shape is that given for x[k], or else for x. An optional has 1, which is the
 * input x, or none. */
typedef struct {
  const char *input;
  int64_t n; /* WK_NO_ELEMENT: an optional without */
  const char *option; /* as above */
} wk_bind_length;
#define WK_NO_ELEMENT (-1)

/* A value of the model that decides sizes, whole numbers: each is between these, or the run fails.
 */
typedef struct {
  const char *value; /* an input, or a result of some node */
  int64_t least, most;
} wk_bind_bound;

/* What a model is imported for. All but inference: float initialisers stay apart (no operation on
 * one of them is computed now unless it decides a shape or the like, bodies are handed it).
 * Derivatives: so do scales, what Constants hold and initialisers of bodies. Evaluation and
 * training: modes of training of the nodes do not count. Training: Dropout drops, and
 * BatchNormalization has the statistics of the batch and moves the running ones, or those that it
 * has (FROZEN_NORM). */
typedef enum {
  WK_FOR_INFERENCE, WK_FOR_DERIVATIVES, WK_FOR_EVALUATION, WK_FOR_TRAINING,
  WK_FOR_TRAINING_FROZEN_NORM
} wk_import_purpose;

/* What stays apart: a constant of main, unless nothing reads it. */
typedef struct {
  const char *name;
  wk_type type;
  bool is_node; /* derivatives: what a Constant holds, beside initialisers of floats */
  bool is_read; /* its value has decided something: no derivative tells of that */
  const char *constant; /* what it is that is not trained, "class weights" (untrained.def); NULL */
} wk_import_weight;

typedef struct {
  const wk_bind *binds; size_t n_binds;
  const wk_bind_shape *shapes; size_t n_shapes;
  const wk_bind_length *lengths; size_t n_lengths;
  const wk_bind_value *values; size_t n_values;
  const wk_bind_bound *bounds; size_t n_bounds;
  const char *const *cut; size_t n_cut; /* tensors at which the model ends: its outputs are these,
                                         * and what they do not depend on is not looked at */
  bool strict_opset; /* nodes of a newer opset than the newest known are refused; otherwise they are
                      * read by the newest definition known, and the report notes it */
  const char *init_net, *value_info; /* files of a Caffe2 net: compiler/caffe2 */
  bool list_all;  /* a refusal has a line for each node, instead of each operator and reason */
  bool is_hashed; /* the report has the model's hash */
  /* Whether an input stays from run to run, in a model with these outputs; NULL: none does. */
  bool (*keeps)(const wk_strings *state, const char *input, const wk_strings *outputs);
  const wk_strings *state; /* what keeps is given */
  wk_import_purpose purpose;
  bool codes;     /* but for inference: integers that a quantised operator reads stay apart, too */
  bool survey;    /* the report lists all nodes, and those that are refused are left out of the
                   * module, which is no error then: what they read becomes an output */
} wk_import_options;

/* One node that this version cannot handle. All of them are reported together. */
typedef struct {
  const char *node, *op, *domain, *shapes, *reason;
  int64_t opset;
  bool is_node; /* otherwise an input, output or initialiser: no opset, no shapes */
  bool is_newer; /* of an opset beyond the newest one of which anything is known */
} wk_unsupported;

/* What became of a node of the file (survey). */
typedef enum {
  WK_SURVEY_TAKEN,
  WK_SURVEY_NOTHING, /* computed now, or its result is its operand */
  WK_SURVEY_REFUSED,
  WK_SURVEY_UNKNOWN, /* its definition is known, its operands are not: something is refused */
  WK_SURVEY_FATES
} wk_survey_fate;
typedef struct {
  const char *graph, *name; /* a value of the module, as it was imported */
} wk_surveyed_value;
typedef struct {
  const char *node, *op, *domain;
  int64_t opset;
  wk_survey_fate fate;
  const char *reason;            /* REFUSED */
  const char *call; /* REFUSED, what a plugin could bring, "(alpha=0.5): f32[4,4] -> ?":
                     * attributes, operands, results as the model declares them; else NULL */
  WK_VEC(wk_surveyed_value) out; /* TAKEN: what it makes, each time that it was imported */
} wk_surveyed;

/* A statistic that training moves: an initialiser, and the output of the module with its next
 * value. */
typedef struct { const char *name, *output; } wk_statistic;

typedef struct {
  wk_arena *arena;                       /* owns what is below */
  WK_VEC(wk_unsupported) unsupported;    /* non-empty: the status is WK_UNSUPPORTED */
  WK_VEC(const char *) cut;              /* where the model may end (wk_import_options) so that
                                          * nothing is refused: what lies behind those reads these,
                                          * or they are its own outputs. Empty: nothing is left */
  WK_VEC(const char *) need_value;       /* inputs whose values decide a shape: --value NAME=FILE */
  WK_VEC(const char *) need_bind;        /* what to type for unbound sizes: "--bind batch=N" … */
  WK_VEC(const char *) notes;            /* what the user should know about a successful import */
  int64_t folded;                        /* nodes folded at import */
  uint64_t hash; /* 0, or as asked for by is_hashed; from compiler/caffe2, the front door */
  WK_VEC(wk_import_weight) weights; /* but inference: float initialisers, but no scales of quantised
                                     * tensors; Constants, where there are no such initialisers;
                                     * integers, as `codes` has it; derivatives: as above */
  WK_VEC(wk_statistic) moved;       /* training */
  const char *key; /* training: the input that random numbers depend on besides the model, an i64 to
                    * be another one in each step; NULL: there are none */
  WK_VEC(wk_surveyed) nodes;             /* of all graphs; calls of the model's functions are not
                                          * among them, their nodes are */
} wk_import_report;
void wk_import_report_free(wk_import_report *r);
/* An operator whose results are its first operand, moved, cast or looked up: what that is by its
 * meaning, they are. */
bool wk_moves_one(wk_op op);
/* "--cut a,b ends the model before it", in the report's arena; of many tensors only with list_all.
 * NULL: report->cut is empty. */
const char *wk_import_cut_text(const wk_import_report *r, bool list_all);
/* What is to be given for unbound sizes, as WK_USAGE; NULL: nothing. */
wk_status wk_import_unbound(const wk_import_report *r) WK_MUST_CHECK;

/* Maps the file; constants of the module point into it where alignment permits. *out is NULL when
 * that fails. */
wk_status wk_import_onnx(const char *path, const wk_import_options *o, wk_import_report *report,
                         wk_module **out) WK_MUST_CHECK;

/* The same from bytes in memory (copied); external data is refused. */
wk_status wk_import_onnx_memory(const void *data, size_t n, const wk_import_options *o,
                                wk_import_report *report, wk_module **out) WK_MUST_CHECK;

/* The operators that can be imported, sorted by domain and name. */
typedef struct {
  const char *domain, *name; /* domain "": ai.onnx */
  int64_t since, known;      /* opsets, inclusive */
  uint32_t dtypes;           /* bit per wk_dtype that input 0 may have; 0: no tensor */
  wk_op op;                  /* what it becomes, or the most part of it */
} wk_onnx_op;
int64_t wk_onnx_newest_opset(const char *domain); /* 0: no operator of it is known */
size_t wk_onnx_op_count(void);
wk_onnx_op wk_onnx_op_get(size_t i);

/* A row of limits.def: what is not taken of an operator, or a target whose part the host does. */
typedef struct {
  const char *domain, *name;
  const char *limit, *message; /* what is taken; a piece of what refuses the rest */
  const char *target;          /* not NULL: `limit` is why the host does it in its place */
} wk_onnx_limit;
/* The i-th of an operator; NULL past the last. */
const wk_onnx_limit *wk_onnx_limit_get(const wk_onnx_op *op, size_t i);

/* What the file declares, without importing the nodes (for `wick inspect`, `wick test`). */
typedef struct {
  const char *name;
  wk_dtype dtype;
  int rank;                              /* -1: not declared */
  int64_t dims[WK_MAX_RANK];             /* -1: symbolic or unknown */
  const char *symbols[WK_MAX_RANK];      /* name of a symbolic dim, NULL otherwise */
  bool has_default;                      /* also an initialiser */
  bool is_undeclared;                    /* nothing is said of its type, as in a Caffe2 net */
  bool is_sequence, is_optional;         /* dtype, rank, dims are those of an element */
} wk_onnx_io;
typedef struct {
  wk_arena *arena;
  const char *producer, *producer_version, *graph_name;
  int64_t ir_version;
  WK_VEC(wk_onnx_io) inputs, outputs;
  WK_VEC(struct { const char *domain; int64_t version; }) opsets;
  WK_VEC(struct { const char *op; int64_t count; }) ops; /* sorted by name */
  int64_t nodes, parameters, parameter_bytes;
  WK_VEC(const char *) external;         /* paths of the files of external data */
} wk_onnx_info;
wk_status wk_onnx_inspect(const char *path, wk_onnx_info *out) WK_MUST_CHECK;
/* The declared type as text, "f32[batch,3]". */
char *wk_onnx_io_text(wk_arena *a, const wk_onnx_io *io);
void wk_onnx_info_free(wk_onnx_info *i);

/* What a file is by its first bytes, with an article: "a PNG image", "text"; NULL: neither of those
 * that have a mark. ONNX files and TensorProtos have none. */
const char *wk_file_kind(const uint8_t *data, size_t n);

/* A serialised TensorProto (test_data_set files) and .npy, both ways. Data is malloc'ed. `name`
 * (may be NULL) receives a malloc'ed copy of the tensor's name. */
wk_status wk_tensor_read_pb(const char *path, wk_tensor *out, char **name) WK_MUST_CHECK;
/* A serialised SequenceProto or OptionalProto, as test_data_set files hold what is declared so:
 * n tensors in a malloc'ed list; WK_NO_ELEMENT: an optional without. */
typedef struct {
  int64_t n;
  wk_tensor *items;
} wk_tensor_list;
wk_status wk_tensor_list_read_pb(const char *path, const wk_onnx_io *io,
                                 wk_tensor_list *out) WK_MUST_CHECK;
void wk_tensor_list_free(wk_tensor_list *l);
wk_status wk_tensor_read_npy(const char *path, wk_tensor *out) WK_MUST_CHECK;
/* The same, where the file has the elements as they are in memory: `out` lies in *file, which the
 * caller unmaps. Otherwise the data is malloc'ed, and file->data is NULL. */
wk_status wk_tensor_map_npy(const char *path, wk_file *file, wk_tensor *out) WK_MUST_CHECK;
wk_status wk_tensor_write_npy(const char *path, const wk_tensor *t) WK_MUST_CHECK;

/* A file that holds what an output with these labels stands for: a TensorProto of strings becomes
 * numbers (-1: none of the labels), a SequenceProto of maps a tensor (f32) with a column for each
 * label. *found false: it is neither. */
wk_status wk_labelled_read_pb(const char *path, const wk_labels *l, wk_tensor *out,
                              bool *found) WK_MUST_CHECK;

/* A new value for an initialiser, or for the constant that a node of that output holds. */
typedef struct {
  const char *name;
  wk_tensor value; /* of the type that the file declares, with its bytes (wk_pack) */
} wk_rewrite;
/* A copy of the model file `from` at `to` in which the bytes of these tensors are new ones, and
 * every other byte is as it was. Files of external data are copied along, to the same places
 * beneath the folder of `to`. Opening finds all that can be wrong about it and makes the folders;
 * the values are read by the commit, so that they may be computed in between. WK_UNSUPPORTED for
 * models that are no binary ONNX files, for tensors whose elements are stored with varying lengths,
 * and for tensors that share their bytes; WK_USAGE when a file would be written over itself. */
typedef struct wk_write_back wk_write_back;
wk_status wk_onnx_write_back_open(const char *from, const char *to, const wk_rewrite *tensors,
                                  size_t n, wk_write_back **out) WK_MUST_CHECK;
/* The files, that of the model first. That no two of them have the same destination, and none that
 * of something else, is for the caller to see to. */
typedef struct {
  const char *location; /* as the model calls it; NULL: the model */
  const char *from, *to;
} wk_write_back_file;
size_t wk_onnx_write_back_count(const wk_write_back *w);
wk_write_back_file wk_onnx_write_back_file(const wk_write_back *w, size_t i);
wk_status wk_onnx_write_back_commit(const wk_write_back *w) WK_MUST_CHECK; /* all files or none */
void wk_onnx_write_back_free(wk_write_back *w);                            /* NULL ok */

/* ONNX export of a module (opset 17), so that any viewer opens it; fused epilogues and `map` are
 * written out as elementwise nodes. A variable becomes an input with a default, its update the
 * output NAME.updated. */
wk_status wk_export_onnx(const wk_module *m, const char *path) WK_MUST_CHECK;

#endif
