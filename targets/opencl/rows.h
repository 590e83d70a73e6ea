/* SPDX-License-Identifier: Apache-2.0
 * rows: work-groups of a GPU that go through rows together: `items` work items through each, and
 * `rows` rows side by side. Element e of a row is the work of item e % items, whatever is done with
 * it. What items fold is joined in local memory, in an order that the text fixes, and all of them
 * have the result. Private to this folder. */
#ifndef WICK_OPENCL_ROWS_H
#define WICK_OPENCL_ROWS_H

#include "targets/opencl/make.h"

typedef struct {
  int items, rows; /* powers of two */
  int64_t count;   /* rows of all groups */
  bool is_across;  /* neighbouring work items have neighbouring rows; else neighbouring elements */
} wk_cl_rows;

/* For rows of so many elements, of which neighbours in memory are elements of a row, or (is_across)
 * elements of neighbouring rows. */
wk_cl_rows wk_cl_rows_for(const wk_opencl *d, int64_t count, int64_t elements, bool is_across);

/* Sizes of the launch; variables item, sub (the row in its group) and row, of wk_cl_flat_type. */
void wk_cl_rows_begin(const wk_cl_rows *r, const wk_cl_loops *x);

/* Declares local memory for a fold, part<number>, outside of all blocks. */
void wk_cl_rows_declare(const wk_cl_rows *r, const wk_cl_loops *x, int number);
/* Folds all elements of the row, the axis `fast` of them the fastest, and writes the result, at i0,
 * i1, …: into memory of each work item (is_private), or once. It has barriers. */
void wk_cl_rows_fold(const wk_cl_rows *r, const wk_cl_loops *x, int number, int fast,
                     bool is_private);

/* Everything at the positions of a row, which the axes from `outer` on are, the others being
 * defined; a row of one element is for each work item (is_private), or for the first one. */
void wk_cl_rows_each(const wk_cl_rows *r, const wk_cl_loops *x, int outer, int fast,
                     bool is_private);

#endif
