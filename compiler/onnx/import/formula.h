/* SPDX-License-Identifier: Apache-2.0
 * Sizes of inputs by their symbols: numbers, ranges, and formulas of other symbols, as exporters
 * write them ("past_sequence_length + sequence_length"): sums of products of symbols and whole
 * numbers. */
#ifndef WICK_ONNX_IMPORT_FORMULA_H
#define WICK_ONNX_IMPORT_FORMULA_H

#include "compiler/onnx/import/size.h"

typedef struct {
  int64_t factor;
  int n;
  const char *symbols[WK_SIZE_DEGREE];
} wk_formula_term;

typedef struct {
  int n;
  wk_formula_term terms[WK_SIZE_TERMS];
} wk_formula;

/* False: the text is none. Symbols are copied to the arena. */
bool wk_formula_parse(wk_arena *a, const char *text, wk_formula *out);
/* It is more than the name of one symbol. */
bool wk_formula_computes(const wk_formula *f);

typedef struct {
  const char *name;
  int64_t value, least;      /* least < value: a run decides */
  const wk_formula *formula; /* NULL: it is given */
  bool is_bounded;           /* of a formula: no run has more than `value`, whatever it gives */
} wk_symbol;
typedef WK_VEC(wk_symbol) wk_symbols;

wk_symbol *wk_symbol_find(wk_symbols *s, const char *name); /* NULL: it is not bound */
/* The same; a formula of symbols that are bound is bound by them. Moves what has been found. */
wk_symbol *wk_symbol_resolve(wk_arena *a, wk_symbols *s, const char *name);
/* The symbol, which has a formula, in the bounds that follow. False, with the first that is not
 * bound in *missing (NULL: a size overflows, or is below 0). */
bool wk_symbol_measure(wk_symbols *s, wk_symbol *x, const char **missing);

#endif
