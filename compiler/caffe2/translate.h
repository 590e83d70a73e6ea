/* SPDX-License-Identifier: Apache-2.0
 * Private to caffe2/: the state of one translation, and what a handler of an operator sees.
 *
 * A handler reads inputs and arguments, adds ONNX nodes and gives the outputs their values. Errors
 * are latched in o->status: accessors and builders then do nothing and return neutral values. */
#ifndef WICK_CAFFE2_TRANSLATE_H
#define WICK_CAFFE2_TRANSLATE_H

#include "compiler/caffe2/net.h"
#include "compiler/onnx/import/importer.h"

#define WK_C2_OPSET 12
#define WK_C2_DOMAIN "caffe2"  /* of model-local functions */
#define WK_C2_REFUSED "Caffe2" /* of operators that are refused */

typedef struct wk_c2_op wk_c2_op;
typedef void (*wk_c2_handler)(wk_c2_op *o);

/* A row of caffe2_ops.def. */
typedef struct {
  const char *type;
  int min_in, max_in, max_out; /* -1: any number; outputs beyond max_out are not made */
  const char *types;           /* element types of inputs that are no f32: see the table */
  wk_c2_handler handler;
  const char *onnx, *args;
} wk_c2_row;
const wk_c2_row *wk_c2_row_find(const char *type);

/* What a blob is at this point of the net. */
typedef struct {
  const char *value;                /* ONNX name; NULL: nobody makes it */
  const Onnx__TensorProto *constant; /* where it is one */
  const char *maker;                /* of an output that is not made: the operator's type */
  bool is_int8;                     /* a tensor of Caffe2's Int8 operators: (value - zero) scale */
  float scale;
  int64_t zero;
} wk_c2_blob;

typedef WK_VEC(Onnx__NodeProto *) wk_c2_nodes;

typedef struct {
  const char *name;
  uint32_t writes, written; /* in the whole nets; so far */
  bool is_external_in;
  wk_c2_blob now;
} wk_c2_slot;

typedef struct {
  const wk_import_options *opt;
  wk_import_report *rep; /* refusals and notes */
  wk_arena *arena;       /* of the model */
  wk_map *slots;         /* blob name -> index */
  WK_VEC(wk_c2_slot) slot;
  wk_map *taken;         /* ONNX names */
  wk_map *noted;         /* notes already taken */
  wk_value_infos infos;
  wk_c2_nodes nodes;
  WK_VEC(Onnx__FunctionProto *) functions;
  WK_VEC(Onnx__TensorProto *) constants;
  WK_VEC(Onnx__ValueInfoProto *) inputs;
  WK_VEC(const Caffe2__OperatorDef *) refused;
  WK_VEC(const char *) missing;   /* blobs that nobody makes */
  bool is_lenient;                /* those are inputs */
  const char *file;               /* being read */
  bool is_init;                   /* that is the init net */
} wk_c2;

struct wk_c2_op {
  wk_c2 *c;
  const Caffe2__OperatorDef *def;
  const wk_c2_row *row;
  const char *name; /* for messages; NULL: nodes get none */
  int n_in, n_out;
  wk_c2_blob *in;
  const char *inner; /* not NULL: what output 0 is called, for a handler that others finish */
  uint64_t args_read; /* bit by argument; those from 64 on count as read */
  wk_status status;
};

/* ---- errors -------------------------------------------------------------------------------- */

/* Latches an error (the first one counts); always false. WK_UNSUPPORTED refuses the operator, and
 * the others are still looked at. */
bool wk_c2_fail(wk_c2_op *o, wk_code code, const char *fmt, ...) WK_PRINTF(3, 4);
/* Return ok; otherwise they refuse the operator, or call the net malformed. */
bool wk_c2_need(wk_c2_op *o, bool ok, const char *fmt, ...) WK_PRINTF(3, 4);
bool wk_c2_valid(wk_c2_op *o, bool ok, const char *fmt, ...) WK_PRINTF(3, 4);
void wk_c2_note(wk_c2 *c, const char *fmt, ...) WK_PRINTF(2, 3); /* once for each text */

/* ---- arguments ----------------------------------------------------------------------------- */

bool wk_c2_has(wk_c2_op *o, const char *name); /* does not count as reading it */
int64_t wk_c2_int(wk_c2_op *o, const char *name, int64_t def);
float wk_c2_float(wk_c2_op *o, const char *name, float def);
const char *wk_c2_text(wk_c2_op *o, const char *name, const char *def);
wk_ints wk_c2_ints(wk_c2_op *o, const char *name);     /* n -1: absent */
typedef struct { int64_t n; const float *v; } wk_c2_float_list;
wk_c2_float_list wk_c2_floats(wk_c2_op *o, const char *name); /* n -1: absent */
/* The ONNX number of an element type, given as Caffe2's number or its name. */
int32_t wk_c2_elem_type(wk_c2_op *o, const char *name, int32_t def);
const Caffe2__Argument *wk_c2_arg(wk_c2_op *o, const char *name); /* NULL: absent */
bool wk_c2_is_nhwc(wk_c2_op *o); /* argument `order` */
/* Integers that input i holds, where it is a constant; n -1: it is none. */
wk_ints wk_c2_const_ints(wk_c2_op *o, int i);

/* An entry of a row's args: NAME[>ATTRIBUTE]:TYPE[=DEFAULT|!]. */
typedef struct {
  char name[40], attribute[40], type, text[24]; /* text: the default */
  bool has_default, must;
} wk_c2_map;
bool wk_c2_next_map(const char **p, wk_c2_map *m); /* the one at *p; false at the end */

/* ---- building ------------------------------------------------------------------------------ */

/* ONNX name of input i, "" when absent. */
const char *wk_c2_in(wk_c2_op *o, int i);
/* These values are the inputs: a handler may change them, or add some. */
void wk_c2_set_in(wk_c2_op *o, const char *const *in, int n);
/* The name that output i gets. It becomes the blob's value. */
const char *wk_c2_out(wk_c2_op *o, int i);

const char *wk_c2_fresh(wk_c2_op *o, const char *hint);
/* A node with the results named out (NULL or an entry NULL: fresh); the last node's messages. */
Onnx__NodeProto *wk_c2_node(wk_c2_op *o, const char *op, const char *const *in, int n_in,
                            const char *const *out, int n_out);
/* One result; a, b, d may be NULL from the end on. Returns its name. */
const char *wk_c2_make(wk_c2_op *o, const char *op, const char *out, const char *a, const char *b,
                       const char *d);
/* A node with all inputs and outputs of the operator and the attributes of the row's args. */
Onnx__NodeProto *wk_c2_row_node(wk_c2_op *o, const char *op);
/* Attributes of the last node. */
void wk_c2_attr_int(wk_c2_op *o, const char *name, int64_t v);
void wk_c2_attr_float(wk_c2_op *o, const char *name, float v);
void wk_c2_attr_text(wk_c2_op *o, const char *name, const char *v);
void wk_c2_attr_ints(wk_c2_op *o, const char *name, const int64_t *v, int64_t n);
void wk_c2_attr_floats(wk_c2_op *o, const char *name, const float *v, int64_t n);
void wk_c2_attr_tensor(wk_c2_op *o, const char *name, Onnx__TensorProto *t);

/* Constants; return the name. */
const char *wk_c2_i64s(wk_c2_op *o, const int64_t *v, int64_t n);
const char *wk_c2_i64(wk_c2_op *o, int64_t v); /* rank 0 */
const char *wk_c2_f32(wk_c2_op *o, float v);   /* rank 0 */
const char *wk_c2_f32s(wk_c2_op *o, const float *v, int64_t n);
const char *wk_c2_u8(wk_c2_op *o, uint8_t v);  /* rank 0 */
Onnx__TensorProto *wk_c2_tensor(wk_c2 *c, const char *name, int32_t elem_type, int64_t rank,
                                const int64_t *dims);

/* Channels last to channels first and back, for n spatial axes. Returns x itself for NCHW. */
const char *wk_c2_to_nchw(wk_c2_op *o, const char *x, int spatial, bool is_nhwc);
/* The result of a node under the name `out`, after the way back. */
const char *wk_c2_to_nhwc(wk_c2_op *o, const char *x, int spatial, const char *out);

/* ---- parts --------------------------------------------------------------------------------- */

/* Has the nets end at the blobs that the options name (`cut`). init may be NULL. */
wk_status wk_c2_cut(wk_c2 *c, const Caffe2__NetDef *predict,
                    const Caffe2__NetDef *init) WK_MUST_CHECK;
/* As wk_model_find_cut, of blobs that the predict net makes; all operators have been seen. */
void wk_c2_find_cut(wk_c2 *c, const Caffe2__NetDef *predict, const Caffe2__NetDef *init);
/* Translates; the model lies in out->arena. */
wk_status wk_c2_translate(const char *path, const wk_import_options *o, bool is_lenient,
                          wk_import_report *rep, wk_onnx_model *out) WK_MUST_CHECK;

/* Handlers, as the rows of the table name them. */
void wk_c2_function(wk_c2_op *o);
#define CAFFE2_OP(type, min_in, max_in, max_out, types, handler, onnx, args) \
  void wk_c2_##handler(wk_c2_op *o);
#include "compiler/caffe2/caffe2_ops.def"
#undef CAFFE2_OP

#endif
