/* SPDX-License-Identifier: Apache-2.0
 * The operator table as C: enumerators, attribute structs, and the field table that print, parse,
 * hash, compare, clone and the documentation walk. Everything here comes from ops.def. */
#ifndef WICK_IR_OPS_H
#define WICK_IR_OPS_H

#include "compiler/expr/expr.h"
#include "compiler/ir/traits.h"

typedef enum {
#define OP(e, name, kind, cls, ins, outs, infer, sem, attrs, traits, doc) WK_OP_##e,
#include "compiler/ir/ops.def"
#undef OP
  WK_OP_COUNT
} wk_op;

typedef enum { WK_KIND_GRAPH, WK_KIND_BOTH, WK_KIND_INST } wk_op_kind;

typedef enum {
  WK_CLASS_ELEMENTWISE, WK_CLASS_MOVEMENT, WK_CLASS_CONTRACTION, WK_CLASS_POOL, WK_CLASS_REDUCTION,
  WK_CLASS_NORMALISATION, WK_CLASS_INDEXING, WK_CLASS_LINALG, WK_CLASS_RECURRENT, WK_CLASS_CONTROL,
  WK_CLASS_RANDOM, WK_CLASS_CUSTOM, WK_CLASS_PRIMITIVE, WK_CLASS_INSTRUCTION, WK_CLASS_COUNT
} wk_op_class;

/* Attribute value types; arrays live in the owner's arena. */
typedef struct { int64_t n; const int64_t *v; } wk_ints;
typedef struct { int64_t n; const double *v; } wk_floats;
typedef struct { int64_t n; const char *const *v; } wk_texts;

typedef enum {
  WK_FIELD_INT, WK_FIELD_FLOAT, WK_FIELD_INTS, WK_FIELD_FLOATS, WK_FIELD_TEXT, WK_FIELD_TEXTS,
  WK_FIELD_DTYPE, WK_FIELD_EXPR
} wk_field_kind;

/* One attribute struct per operator that has attributes: wk_attr_conv {strides, pads, …}. Every
 * member is 8 or 16 bytes, so offsets follow from the kinds (asserted in ops.c). */
#define A_INT(name, def) int64_t name;
#define A_FLOAT(name, def) double name;
#define A_INTS(name) wk_ints name;
#define A_FLOATS(name) wk_floats name;
#define A_TEXT(name, def) const char *name;
#define A_TEXTS(name) wk_texts name;
#define A_DTYPE(name) int64_t name; /* a wk_dtype */
#define A_EXPR(name) const wk_expr *name; /* NULL: identity */
#define A_NONE char none_;
#define OP(e, name, kind, cls, ins, outs, infer, sem, attrs, traits, doc) \
  typedef struct {                                                        \
    attrs                                                                 \
  } wk_attr_##name;
#include "compiler/ir/ops.def"
#undef OP
#undef A_INT
#undef A_FLOAT
#undef A_INTS
#undef A_FLOATS
#undef A_TEXT
#undef A_TEXTS
#undef A_DTYPE
#undef A_EXPR
#undef A_NONE

typedef struct {
  const char *name;
  wk_field_kind kind;
  int64_t def_int;
  double def_float;
  const char *def_text;
  size_t offset;
} wk_field;

typedef struct {
  const char *name;      /* "conv" */
  wk_op_kind kind;
  wk_op_class cls;
  const char *inputs, *outputs; /* as in ops.def */
  const char *infer;     /* name of the inference rule */
  const char *semantics; /* expression template or "" */
  const char *doc;
  const wk_field *fields;
  int n_fields;
  size_t attr_size;
  /* derived from inputs/outputs: minimum, maximum (-1 = any number) */
  int min_in, max_in, min_out, max_out;
  wk_op_traits traits;
} wk_op_info;

const wk_op_info *wk_op_get(wk_op op);
bool wk_op_from_name(const char *s, size_t n, wk_op *out);
/* The attribute whose name is these n bytes; NULL: there is none. */
const wk_field *wk_op_field(const wk_op_info *info, const char *name, size_t n);
const char *wk_op_class_name(wk_op_class c);
/* May be computed when a model is compiled, and once for several nodes that are alike. */
bool wk_op_is_pure(wk_op op);
/* Operators of that kind. */
int wk_op_count(wk_op_kind kind);

/* ---- traits.c: what attributes hold that a trait names --------------------------------------- */
/* The expression that makes each element of the result (T_EPILOGUE); NULL: identity, or the
 * operator has none. */
const wk_expr *wk_op_epilogue(wk_op op, const void *attrs);
void wk_op_set_epilogue(wk_op op, void *attrs, const wk_expr *e); /* of an operator that has one */
/* The first input that the epilogue reads at the position it writes, like all behind it;
 * UINT32_MAX: it reads none. */
uint32_t wk_op_first_elementwise(wk_op op);
/* Input k is read at the position that is written, and nowhere else: by the epilogue, or to begin
 * with. The result may lie in its place. */
bool wk_op_is_elementwise(wk_op op, uint32_t k);
/* A contraction that takes operands behind its bias for its epilogue to read. */
bool wk_op_takes_extras(wk_op op);
/* A list among the attributes; NULL: there is none of this name. */
wk_ints *wk_op_ints(wk_op op, void *attrs, const char *name);
/* What windows that slide over x see outside of it. */
double wk_op_outside(wk_op op, const void *attrs);

/* Name of operand i ("x", "extra") into the caller's buffer of 32 bytes. */
void wk_op_operand_name(const char *names, int i, char buf[32]);

/* What a contraction sums in: i32 for integers of 8 and 16 bits, else wk_compute_dtype. */
wk_dtype wk_accumulator_dtype(wk_dtype t);
/* The dtype of its result; x: that of its first operand. */
wk_dtype wk_contraction_dtype(const wk_expr *epilogue, wk_dtype x);
/* Whether a kind of REDUCE finds a position: argmax, argmin. */
bool wk_fold_is_arg(const char *kind);
/* What a REDUCE of elements of type t folds, and its `post` takes: what `pre` (may be NULL) gives,
 * or a position. */
wk_dtype wk_folded_dtype(const char *kind, const wk_expr *pre, wk_dtype t);
/* What a fold of elements of type t starts from, and so gives where there is nothing to fold: 0 for
 * sums (and positions), 1 for products, the least number (-inf) for max, the greatest for min. */
wk_scalar wk_fold_neutral(const char *kind, wk_dtype t);

/* Rows of segment_reduce, by the attribute `rows`. In fused rows elements of `bits` come first, the
 * lowest bits of a byte first, then scale and bias of `tail` bytes each (4: f32, 2: f16). */
typedef struct {
  int bits, tail; /* 0: plain */
} wk_segment_rows;
wk_segment_rows wk_segment_rows_of(const char *form);
/* Elements of a row of so many columns of data. */
int64_t wk_segment_width(const wk_segment_rows *r, int64_t columns);

/* A wk_expr_attr_fn (expr.h): the operator's attributes that are one number. */
typedef struct { wk_op op; const void *attrs; } wk_attr_source;
bool wk_attr_number(const void *source, const char *name, size_t n, double *value);

/* A zeroed struct of the operator's attribute type with the table's defaults set. */
void *wk_attrs_new(wk_arena *a, wk_op op);
void *wk_attrs_clone(wk_arena *a, wk_op op, const void *attrs); /* deep */
bool wk_attrs_equal(wk_op op, const void *x, const void *y);
uint64_t wk_attrs_hash(wk_op op, const void *attrs, uint64_t seed);
wk_ints wk_ints_dup(wk_arena *a, const int64_t *v, int64_t n);
wk_ints wk_ints_fill(wk_arena *a, int64_t n, int64_t value);
wk_floats wk_floats_dup(wk_arena *a, const double *v, int64_t n);

/* Of docs/ops.md: operators by class, instructions, scalar operations of expressions. */
void wk_ops_markdown(wk_str *b);

#endif
