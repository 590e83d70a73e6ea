/* SPDX-License-Identifier: Apache-2.0
 * Private to train/: what the parts of the search for constants share. */
#ifndef WICK_TRAIN_FINDER_H
#define WICK_TRAIN_FINDER_H

#include "compiler/train/constants.h"

typedef struct {
  const wk_graph *g;
  wk_import_report *report;
  uint32_t *weight; /* of values: which of the report's it is, moved; WK_NONE */
} wk_finder;

/* Says what a value is, a weight or one moved, that nothing has been said of; others: nothing. */
void wk_finder_say(wk_finder *f, wk_value_id v, const char *what);

/* All dimensions but one are 1. */
bool wk_is_vector(const wk_type *t);

/* What an input's samples are normalised with. */
void wk_find_normalisations(wk_finder *f);

/* Weights of classes in a loss that is an output. */
void wk_find_class_weights(wk_finder *f);

/* Masks, distances and slopes that come to the scores of attention. */
void wk_find_masks(wk_finder *f);

#endif
