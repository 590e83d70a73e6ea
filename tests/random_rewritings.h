/* SPDX-License-Identifier: Apache-2.0
 * Quantised networks that can be written in several ways: what a network computes and its sizes are
 * drawn, and each way of writing it makes a graph with the same work. */
#ifndef WICK_TESTS_RANDOM_REWRITINGS_H
#define WICK_TESTS_RANDOM_REWRITINGS_H

#include "compiler/ir/ir.h"

typedef struct {
  const char *name;
  const char *const *forms; /* what each form is called, the plainest first; NULL behind the last */
  double bound;             /* by how much the cycles of two forms may differ; 0.01: 1 % */
  const char *why;          /* of a bound that is larger; else NULL */
} random_rewriting;

/* The rewriting of this number; NULL behind the last. */
const random_rewriting *random_rewriting_at(size_t i);
/* A draw, in one of its forms: QDQ, not yet integers. */
wk_module *random_rewritten(size_t i, int form, uint64_t seed);

#endif
