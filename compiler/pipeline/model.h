/* SPDX-License-Identifier: Apache-2.0
 * What several commands do with a model file: bind it, import it, feed it. */
#ifndef WICK_PIPELINE_MODEL_H
#define WICK_PIPELINE_MODEL_H

#include "compiler/caffe2/caffe2.h"
#include "compiler/onnx/onnx.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/targets.h"
#include "compiler/support/options.h"

/* --bind, --shape, --length, --value, --bound, --cut as typed by the user, --strict-opset, and the
 * other files of a net. */
typedef struct {
  wk_strings bind, shape, length, value, bound, cut;
  bool strict_opset;
  const char *init_net, *value_info; /* of Caffe2 nets */
} wk_binding_args;

/* Row of an option table: bool field `member` of the struct. */
#define WK_STRICT_OPSET_OPTION(type, member)                                                   \
  {"strict-opset", 0, NULL,                                                                    \
   "refuse a newer ONNX opset than the newest known, whose operators are otherwise read by "   \
   "their newest known definitions", .kind = WK_OPTION_FLAG, .offset = offsetof(type, member)}

/* Row of an option table: wk_strings field `member` of the struct. */
#define WK_CUT_OPTION(type, member)                                                            \
  {"cut", 0, "TENSOR,…",                                                                       \
   "end the model at these tensors: they are its outputs, in this order, in place of its own, " \
   "and what they do not depend on is not looked at, inputs included; a model begins at its "  \
   "inputs, always", .kind = WK_OPTION_LIST, .offset = offsetof(type, member)}

/* Rows of an option table for nets of Caffe2, whose weights are in a second file. */
#define WK_NET_OPTIONS(type, member)                                                           \
  {.kind = WK_OPTION_GROUP, .help = "Caffe2 nets"},                                            \
  {"init-net", 0, "FILE", "the weights of a Caffe2 net: init_net.pb or init_net.pbtxt",        \
   .kind = WK_OPTION_STRING, .offset = offsetof(type, member.init_net)},                       \
  {"value-info", 0, "FILE.json",                                                               \
   "types and shapes of a Caffe2 net's inputs: {\"data\": [1, [1, 3, 224, 224]]}, 1 for f32 "  \
   "(TensorProto.DataType of ONNX)", .kind = WK_OPTION_STRING,                                 \
   .offset = offsetof(type, member.value_info)}

/* Rows of an option table whose struct has a wk_binding_args member `member`. */
#define WK_BINDING_OPTIONS(type, member)                                                       \
  {.kind = WK_OPTION_GROUP, .help = "Model and shapes"},                                       \
  {"bind", 0, "SYMBOL=N,…",                                                                    \
   "fix symbolic dimensions, or give a range (seq=1..512) of which each run has one size; all " \
   "of one binding joined by commas; another --bind is another binding",                       \
   .kind = WK_OPTION_LIST, .offset = offsetof(type, member.bind)},                             \
  {"shape", 0, "INPUT=1x3x224x224",                                                            \
   "fix the whole shape of an input; the same input again is another binding, for which the "  \
   "shapes of inputs that are given once hold as well", .kind = WK_OPTION_LIST,                \
   .offset = offsetof(type, member.shape)},                                                    \
  {"length", 0, "INPUT=N",                                                                     \
   "how many tensors a sequence has, which become the inputs INPUT[0], INPUT[1] …; none: an "  \
   "optional input has no element", .kind = WK_OPTION_LIST,                                    \
   .offset = offsetof(type, member.length)},                                                   \
  {"value", 0, "INPUT=FILE",                                                                   \
   "fix an input to the contents of a .npy or .pb file; needed where its values decide "       \
   "shapes", .kind = WK_OPTION_LIST, .offset = offsetof(type, member.value)},                  \
  {"bound", 0, "VALUE=N",                                                                      \
   "the most that a value of the model is (or M..N), one that decides a size; a run in which "  \
   "it is more fails", .kind = WK_OPTION_LIST, .offset = offsetof(type, member.bound)},        \
  WK_CUT_OPTION(type, member.cut),                                                             \
  WK_STRICT_OPSET_OPTION(type, member.strict_opset),                                           \
  WK_NET_OPTIONS(type, member)

/* What a user should know of a model that is fine. */
typedef struct {
  char *place, *text; /* place: a file; NULL: none. text: one line. malloc'ed */
} wk_note;
typedef WK_VEC(wk_note) wk_notes;
void wk_notes_add(wk_notes *n, const char *place, const char *fmt, ...) WK_PRINTF(3, 4);
void wk_notes_free(wk_notes *n);

/* The first of these options that is given, "--bind"; NULL: none is. */
const char *wk_binding_given(const wk_binding_args *a);
#define WK_LIST_ALL_HELP "a line for every node that is not supported, instead of every operator"

/* Parsed form; everything in the arena (tensor data malloc'ed and freed with it). */
typedef struct {
  wk_arena *arena;
  WK_VEC(wk_bind) binds;
  WK_VEC(wk_bind_shape) shapes;
  WK_VEC(wk_bind_length) lengths;
  WK_VEC(wk_bind_value) values;
  WK_VEC(wk_bind_bound) bounds;
  WK_VEC(const char *) cut;
  const char *name; /* "batch=1,seq=64", for entries of a package */
  bool strict_opset;
  const char *init_net, *value_info;
  const wk_strings *state; /* --state as typed, borrowed; NULL: nothing stays from run to run */
} wk_binding_set;
void wk_binding_set_free(wk_binding_set *b);
/* What the set says for an import; borrows it. list_all as in wk_import_options. */
wk_import_options wk_binding_import_options(const wk_binding_set *b, bool list_all);

/* Several --bind, or several --shape of the same input, make several sets; otherwise there is one.
 * What is given once holds for all sets; what is given more often must be given for each. *n sets
 * are written to out[0..max). */
wk_status wk_binding_sets_parse(const wk_binding_args *a, wk_binding_set *out, size_t max,
                                size_t *n) WK_MUST_CHECK;
#define WK_MAX_BINDINGS 64

/* Imports; what an unsupported model has is listed in the status' notes: every node, or only every
 * operator. notes: as wk_model_notes. hash: as that of wk_net_import; may be NULL. Quantised models
 * keep their real operators. */
wk_status wk_model_import(const char *path, const wk_binding_set *b, bool list_all, wk_notes *notes,
                          uint64_t *hash, wk_module **out) WK_MUST_CHECK;

/* What the user should know about a successful import: what the report notes, and that --value has
 * left nothing to compute. None is added that is there already. */
void wk_model_notes(wk_notes *n, const char *path, const wk_import_options *o,
                    const wk_import_report *report, const wk_module *m);

/* The same when there are tensors for inputs: those that the importer finds to decide shapes become
 * constants. fixed[i] says that data[i] is one; entries that are true from the start are given in
 * any case. data and o are borrowed; the report is the caller's to free, also after an error. */
wk_status wk_model_import_fed(const char *path, const wk_import_options *o,
                              const wk_bind_value *data, bool *fixed, size_t n,
                              wk_import_report *report, wk_module **out) WK_MUST_CHECK;
/* Without the last step, wk_model_convert: quantised models keep their real operators between
 * dequantisation and quantisation. */
wk_status wk_model_import_real(const char *path, const wk_import_options *o,
                               const wk_bind_value *data, bool *fixed, size_t n,
                               wk_import_report *report, wk_module **out) WK_MUST_CHECK;
/* Gives a quantised model its integer meaning; after an error *m is freed and NULL. */
wk_status wk_model_convert(wk_module **m) WK_MUST_CHECK;

/* .npy by its magic bytes, otherwise a TensorProto. */
wk_status wk_tensor_read(const char *path, wk_tensor *out, char **name) WK_MUST_CHECK;
/* Files of numpy hold as bits what numpy lacks: bf16 as u16, narrow types as bytes. Where that is
 * what `t` is and `want` asks for, t becomes of that type; true when it did. Bytes that are no
 * elements of the type stay what they are. */
bool wk_tensor_adopt(wk_tensor *t, wk_dtype want);
/* Reproducible contents for a type: normal floats; integers 0 or 1, valid as most indices and
 * flags. */
wk_status wk_tensor_random(const wk_type *t, wk_rng *rng, wk_tensor *out) WK_MUST_CHECK;
/* "f32[1,3,224,224]" */
char *wk_type_text(wk_arena *a, const wk_type *t);
/* "f32[1,1..512,768]": an axis of which a run has from `least` (0: it is not said) elements on. */
char *wk_range_text(wk_arena *a, const wk_type *t, const int64_t *least);

/* The model of a folder in the layout of the ONNX tests, with the other files of a net that lie
 * beside it: model.onnx, a text of the same, or predict_net.pb[txt]. NULL: there is none. */
const char *wk_model_in_folder(wk_arena *a, const char *dir, wk_import_options *files);

/* Whether a file's name ends as those of models do, for commands that read other files as well. */
bool wk_is_model_name(const char *path);

/* The file's name without folder and extension, or its folder's when it has a name that models have
 * in folders of their own. */
char *wk_model_name(wk_arena *a, const char *path);

/* A note, fit for a terminal, unless it is there already. */
void wk_model_add_note(wk_notes *n, const char *path, const char *note);

/* Adds what to do about products in floats when one of the targets computes with integers alone:
 * about a model in floats of which it has nothing, or about what stays in floats of another one;
 * and about weights for which a target multiplies more than the model does.
 * r, p and s are what the pipeline gave, which may have found that nobody has an operator. */
void wk_model_target_notes(wk_notes *notes, const char *path, const wk_pipeline_report *r,
                         const wk_targets *t, const wk_parts *p, wk_status s);

/* WK_UNSUPPORTED, with what to do about it, when no part is the target's. */
wk_status wk_model_check_used(const char *path, const wk_pipeline_report *r, const wk_targets *t,
                              const wk_parts *p, const char *target) WK_MUST_CHECK;

#endif
