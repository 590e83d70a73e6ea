/* SPDX-License-Identifier: Apache-2.0
 * train: samples, their order, and learning rates. Nothing here reads a file. */
#ifndef WICK_TRAIN_DATA_H
#define WICK_TRAIN_DATA_H

#include "compiler/eval/eval.h"

/* ---- columns --------------------------------------------------------------------------------- */

/* What all samples have for one input: t.dims[0] samples. The data may lie in a mapped file. */
typedef struct {
  const char *name; /* of the input, NULL: the labels */
  const char *path; /* for messages */
  wk_tensor t;
} wk_column;

/* Elements of a sample, and its bytes. */
int64_t wk_column_elements(const wk_column *c);

/* NULL when samples can be `want`, whose axis 0 is the batch: the same dims but for axes of size 1,
 * and values that the type holds. Numbers are converted as they are, nothing is scaled: integers
 * and bool to floats, floats to other floats, integers to integers in whose range they are. A float
 * that is no finite number is refused wherever it is, and so is a class outside 0..classes - 1
 * where classes > 0; both name the sample and the value. Reads all the data. */
wk_status wk_column_check(const wk_column *c, const wk_type *want, int64_t classes) WK_MUST_CHECK;
/* Samples at[0..n) as elements of type t, one behind the other. What has been checked. */
void wk_column_gather(const wk_column *c, const int64_t *at, int64_t n, wk_dtype t, void *out);

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct {
  int64_t *train, *held_out; /* ascending; both malloc'ed */
  int64_t n_train, n_held_out;
} wk_split;
/* Holds out a fraction of n samples, evenly spaced: sample i when floor((i + 1) fraction) >
 * floor(i fraction), so 0.2 holds out every fifth, 4, 9, 14 … It depends on nothing else. */
void wk_split_make(int64_t n, double fraction, wk_split *out);
void wk_split_free(wk_split *s);
/* Shuffles from[0..n) into out: Fisher and Yates with numbers of wk_philox, which depend on seed
 * and epoch alone. */
void wk_shuffle(uint64_t seed, int64_t epoch, const int64_t *from, int64_t n, int64_t *out);

/* ---- learning rate --------------------------------------------------------------------------- */

/* CONSTANT; STEP: a tenth of it after each third of the steps; COSINE: rate (1 + cos(pi s / n)) / 2
 * in step s, counted from 0, of n. */
typedef enum {
  WK_SCHEDULE_CONSTANT, WK_SCHEDULE_STEP, WK_SCHEDULE_COSINE
} wk_schedule;
double wk_schedule_rate(wk_schedule kind, double rate, int64_t step, int64_t steps);

#endif
