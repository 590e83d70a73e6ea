/* SPDX-License-Identifier: Apache-2.0
 * Sizes that are only known when a model runs: polynomials with integer factors over unknowns. An
 * unknown is what a run decides (the size of an input, the number of elements that an operator
 * keeps), or a quotient, minimum or maximum of sizes that is no polynomial. Equal sizes are written
 * in one way, so that they can be told by their terms.
 *
 * Each unknown is a scalar (i64[]) of main, or of a body around the node at hand, and lies between
 * two bounds. Sizes live in the importer's arena. After an error (latched in c->status) functions
 * return 0. */
#ifndef WICK_ONNX_IMPORT_SIZE_H
#define WICK_ONNX_IMPORT_SIZE_H

#include "compiler/onnx/import/make.h"

enum { WK_SIZE_DEGREE = 6, WK_SIZE_TERMS = 12 };

typedef struct {
  int64_t factor; /* not 0 */
  int n;
  uint16_t unknowns[WK_SIZE_DEGREE]; /* ascending, repeated for powers */
} wk_size_term;

typedef struct {
  int n;
  wk_size_term terms[WK_SIZE_TERMS]; /* by unknowns, longest first; none: 0 */
} wk_size;

typedef struct {
  const char *text; /* "seq" */
  int64_t least, most;
  const wk_graph *g; /* has the value */
  wk_value_id value;
  bool is_given;           /* by the caller of a run */
  const wk_size *dividend; /* it is dividend / divisor, rounded; NULL: no such quotient */
  int64_t divisor;
  const wk_size *greater_of[2]; /* it is the greater of these; NULL: no such maximum */
} wk_unknown;

typedef struct {
  const wk_size *size;
  int64_t most;
} wk_size_bound_row;

/* A new unknown; of those that are given, and of the others, two with the same text are the same,
 * whose value is that of the first. */
const wk_size *wk_size_unknown(wk_onnx_node *c, const wk_unknown *u);

const wk_size *wk_size_const(wk_onnx_node *c, int64_t v);
bool wk_size_is_const(const wk_size *s, int64_t *v);
bool wk_size_equal(const wk_size *a, const wk_size *b);
const wk_size *wk_size_add(wk_onnx_node *c, const wk_size *a, const wk_size *b);
const wk_size *wk_size_sub(wk_onnx_node *c, const wk_size *a, const wk_size *b);
const wk_size *wk_size_mul(wk_onnx_node *c, const wk_size *a, const wk_size *b);
/* Rounded towards 0; b is at least 1. */
const wk_size *wk_size_div(wk_onnx_node *c, const wk_size *a, const wk_size *b);
const wk_size *wk_size_min(wk_onnx_node *c, const wk_size *a, const wk_size *b);
const wk_size *wk_size_max(wk_onnx_node *c, const wk_size *a, const wk_size *b);
static inline const wk_size *wk_size_plus(wk_onnx_node *c, const wk_size *a, int64_t v) {
  return wk_size_add(c, a, wk_size_const(c, v));
}

/* From here on s is known to be `most` at the most; a run in which it is more fails. */
void wk_size_bound(wk_onnx_node *c, const wk_size *s, int64_t most);
/* Bounds that follow from those of the unknowns, and from what quotients are of, saturated. */
int64_t wk_size_least(wk_onnx_node *c, const wk_size *s);
int64_t wk_size_most(wk_onnx_node *c, const wk_size *s);
/* The node's graph has all that it is made of, or gets it from graphs around. */
bool wk_size_is_known(const wk_onnx_node *c, const wk_size *s);
/* The scalar of the node's graph that has it: i64[]. */
wk_value_id wk_size_value(wk_onnx_node *c, const wk_size *s);
/* "2*seq + 1", in the importer's arena. */
const char *wk_size_text(const wk_onnx_node *c, const wk_size *s);

#endif
