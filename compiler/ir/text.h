/* SPDX-License-Identifier: Apache-2.0
 * Pieces that the text forms of graphs and programs share; private to compiler/ir. */
#ifndef WICK_IR_TEXT_H
#define WICK_IR_TEXT_H

#include "compiler/expr/lexer.h"
#include "compiler/ir/program.h"

#define WK_TEXT_MAX_DEPTH 64                      /* bodies inside bodies */
#define WK_TEXT_MAX_REPEATED (INT64_C(256) << 20) /* bytes that splats of one text may make */

/* f32[1,3], i8<0.5,3>[4] … as wk_type_print writes it; checked. Quantisation goes to a. */
wk_status wk_type_parse(wk_lexer *l, wk_arena *a, wk_type *out) WK_MUST_CHECK;
/* A list of integers between two given brackets. */
wk_status wk_ints_parse(wk_lexer *l, wk_arena *a, char open, char close, wk_ints *out)
    WK_MUST_CHECK;
void wk_ints_print(wk_str *b, const int64_t *v, int64_t n, char open, char close);

/* " {name=value, …}" without what equals its default; nothing when nothing is left. */
void wk_attrs_print(wk_str *b, wk_op op, const void *attrs);
/* The braces, when there are any. in: dtypes of the operator's inputs, WK_DTYPE_NONE where one is
 * left out. */
wk_status wk_attrs_parse(wk_lexer *l, wk_arena *a, wk_op op, const wk_dtype *in, uint32_t n_in,
                         void **out) WK_MUST_CHECK;

/* "elements", "columns". */
const char *wk_labels_kind_name(wk_labels_kind k);

/* " {1.0, 2.0}", " splat(0.5)", " hex(\"…\")" or " elided(<hash>)". */
void wk_data_print(wk_str *b, const wk_type *t, const void *data, wk_print_flags flags);
/* Before storage is made: refuses types that the rest of the text cannot fill, and splats beyond
 * *budget bytes, which is reduced. */
wk_status wk_data_check(const wk_lexer *l, const wk_type *t, int64_t *budget) WK_MUST_CHECK;
/* Fills data, zeroed storage of t's size. */
wk_status wk_data_parse(wk_lexer *l, const wk_type *t, void *data) WK_MUST_CHECK;

#endif
