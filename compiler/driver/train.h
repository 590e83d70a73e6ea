/* SPDX-License-Identifier: Apache-2.0
 * Private to driver/: the parts of `wick train`.
 *
 *   cmd_train.c      options, summary
 *   train_data.c     files of samples
 *   train_history.c  the line per epoch, as text, CSV and a diagram */
#ifndef WICK_DRIVER_TRAIN_H
#define WICK_DRIVER_TRAIN_H

#include "compiler/driver/model.h"
#include "compiler/train/data.h"

/* ---- data ------------------------------------------------------------------------------------ */

typedef struct {
  wk_arena *arena;
  wk_onnx_info info;         /* of the model */
  WK_VEC(wk_column) columns; /* one for each input of the model without a default, in its order */
  wk_column labels;          /* t.data NULL: there are none */
  int64_t n;                 /* samples, the same in all columns */
  WK_VEC(wk_file) files;     /* mapped, or */
  WK_VEC(void *) blobs;      /* malloc'ed: where the columns' data is */
} wk_train_data;

/* What --data (FILE.npy, NAME=FILE.npy, or a folder in the layout of the ONNX tests) and --labels
 * (FILE.npy; NULL: none, unless the folder has outputs) name. Samples lie along axis 0, those of a
 * folder's sets one behind the other. files as in wk_test_data_read. */
wk_status wk_train_data_read(const char *model, const wk_import_options *files,
                             const wk_strings *data, const char *labels,
                             wk_train_data *out) WK_MUST_CHECK;
void wk_train_data_free(wk_train_data *d);

/* ---- history --------------------------------------------------------------------------------- */

typedef struct {
  int64_t epoch, step; /* epochs and steps that have been done */
  double rate;         /* of the last step */
  double loss, metric; /* means over the epoch's training batches */
  double held_loss, held_metric; /* of held-out samples; NaN: there are none */
  double seconds, samples;       /* training alone */
} wk_epoch;

typedef struct {
  const char *metric; /* its name; "": there is none */
  int64_t epochs;     /* in all */
  WK_VEC(wk_epoch) rows;
} wk_history;

/* "epoch 3/10: loss 0.134, accuracy 0.95, held-out …, 12.3 k samples/s, 14 s left" */
void wk_history_line(FILE *f, const wk_history *h, const wk_epoch *e);
/* A line of names, then a line for each epoch; NaN is an empty cell. */
void wk_history_csv(wk_str *b, const wk_history *h);
/* Loss and metric over the epochs, as a page of their own (HTML). */
void wk_history_page(wk_str *b, const wk_history *h);

#endif
