/* SPDX-License-Identifier: Apache-2.0
 * Inference rules, private to this folder: one function per rule named in ops.def, declared from
 * the table so that a row without a rule does not link. A rule may rely on what wk_infer_node has
 * checked: the number of operands, and that required ones are present. It fills out[0..n_out). */
#ifndef WICK_IR_INFER_H
#define WICK_IR_INFER_H

#include "compiler/ir/graph.h"

#define OP(e, name, kind, cls, ins, outs, infer, sem, attrs, traits, doc) \
  wk_status wk_infer_##infer(const wk_infer *i) WK_MUST_CHECK;
#include "compiler/ir/ops.def"
#undef OP

/* WK_INPUT with the operator's name in front: "conv: x has 3 channels …". */
#define BAD(i, ...) wk_infer_bad((i), WK_INPUT, __FILE__, __LINE__, __VA_ARGS__)
#define UNSUPPORTED(i, ...) wk_infer_bad((i), WK_UNSUPPORTED, __FILE__, __LINE__, __VA_ARGS__)
wk_status wk_infer_bad(const wk_infer *i, wk_code code, const char *file, int line, const char *fmt,
                       ...) WK_PRINTF(5, 6) WK_MUST_CHECK;
typedef struct { char s[32]; } wk_text32;
wk_text32 wk_infer_operand(const wk_infer *i, uint32_t k); /* name of input k */

/* Type of input k, NULL when it is left out. */
static inline const wk_type *wk_infer_in(const wk_infer *i, uint32_t k) {
  return k < i->n_in ? i->in[k] : NULL;
}
static inline long long wk_ll(int64_t v) { return (long long)v; } /* for %lld */

/* The attribute of that name; NULL when the operator has none. */
const void *wk_infer_attr(const wk_infer *i, const char *name);
int64_t wk_infer_attr_int(const wk_infer *i, const char *name);
const char *wk_infer_attr_text(const wk_infer *i, const char *name);

/* Checks; each names the operand or attribute it refuses. */
wk_status wk_want_rank(const wk_infer *i, uint32_t k, int least, int most) WK_MUST_CHECK;
wk_status wk_want_same_dtype(const wk_infer *i, uint32_t k, uint32_t like) WK_MUST_CHECK;
wk_status wk_want_float(const wk_infer *i, uint32_t k) WK_MUST_CHECK;
wk_status wk_want_index(const wk_infer *i, uint32_t k) WK_MUST_CHECK; /* i32 or i64 */
/* Input k, when present, has dtype t and these dims. */
wk_status wk_want_type(const wk_infer *i, uint32_t k, wk_dtype t, int rank,
                       const int64_t *dims) WK_MUST_CHECK;
wk_status wk_want_scalar(const wk_infer *i, uint32_t k, wk_dtype t) WK_MUST_CHECK; /* 1 element */
wk_status wk_want_broadcast_to(const wk_infer *i, uint32_t k, const wk_type *y) WK_MUST_CHECK;
wk_status wk_want_list(const wk_infer *i, const char *name, wk_ints v, int64_t n,
                       int64_t least) WK_MUST_CHECK; /* n entries, none below least */
wk_status wk_want_axis(const wk_infer *i, const char *name, int64_t axis, int rank) WK_MUST_CHECK;
wk_status wk_want_at_least(const wk_infer *i, const char *name, int64_t v,
                           int64_t least) WK_MUST_CHECK;
wk_status wk_want_flag(const wk_infer *i, const char *name) WK_MUST_CHECK; /* 0 or 1 */
/* The text attribute is one of the space-separated choices. */
wk_status wk_want_choice(const wk_infer *i, const char *name, const char *choices) WK_MUST_CHECK;
/* Input k has 8 bits, and the value of the attribute is one of its type. */
wk_status wk_want_zero(const wk_infer *i, uint32_t k, const char *name, int64_t zero) WK_MUST_CHECK;
/* Attributes to, zero, lo, hi of an integer operator; sets the element type of out[0]. */
wk_status wk_want_range(const wk_infer *i) WK_MUST_CHECK;
/* e (may be NULL) uses only inputs 0..n of these dtypes, iteration axes below rank, and has that
 * many results. */
wk_status wk_want_expr(const wk_infer *i, const char *name, const wk_expr *e,
                       const wk_dtype *dtypes, uint32_t n, int rank,
                       uint32_t n_results) WK_MUST_CHECK;

/* Result of broadcasting all present inputs from `first` on. */
wk_status wk_infer_broadcast_all(const wk_infer *i, uint32_t first, wk_type *y) WK_MUST_CHECK;
/* y keeps the quantisation of input k. Per channel: all channels must lie where they lay, along the
 * same axis; stays: whether they may (else WK_UNSUPPORTED). */
wk_status wk_carry_quant(const wk_infer *i, uint32_t k, bool stays, wk_type *y) WK_MUST_CHECK;

#endif
