/* SPDX-License-Identifier: Apache-2.0
 * rare: instructions that need no hand-made kernels, in freestanding C. Compiled to bitcode once
 * per instruction set when Wick is built, linked into the generated module where used.
 *
 * Every function is a task (kernels.h) with a description behind it:
 *   args    address of element 0 of each operand, NULL when it is left out; one more after the last
 *           operand: where to report an error (an index out of range); the output is undefined then
 *   d       constant: attributes by the enumerators below, then one view per operand
 * Nothing reads or writes outside of the operands, whatever indices a tensor holds. */
#ifndef WICK_CPU_RARE_H
#define WICK_CPU_RARE_H

#include <stdint.h>

#include "runtime/abi.h"

typedef struct {
  int64_t dtype, rank, dims[8], strides[8]; /* strides in elements */
} wk_rare_view;

#define WK_RARE_ATTRS 32

typedef struct {
  int64_t attr[WK_RARE_ATTRS];
  wk_rare_view view[];
} wk_rare;

enum { RARE_BAD_INDEX = 1 }; /* exec->error */

/* Windows (conv, pools): three spatial axes, leading ones of size 1; views are [n, c, d, h, w]. */
enum {
  RARE_STRIDE = 0,      /* 3 */
  RARE_PAD = 3,         /* 3, before */
  RARE_DILATION = 6,    /* 3 */
  RARE_KERNEL = 9,      /* 3 */
  RARE_GROUP = 12,
  RARE_REAL_BEFORE = 13, /* 3 */
  RARE_REAL_AFTER = 16,  /* 3 */
  RARE_COLUMN_MAJOR = 19,
  RARE_POWER = 20,
  RARE_AXES = 21, /* spatial axes before the leading ones were added */
  RARE_PAD_VALUE = 22,
  RARE_TAPS = 23 /* max_pool: indices are numbers of taps */
};
enum { RARE_GROUP_CHANNELS = 32 }; /* of a task of correlate(), which needs twice as many sums as
                                      outputs for each */
/* Indexing. */
enum { RARE_AXIS = 0, RARE_COMBINE = 1, RARE_BATCH_DIMS = 1 };
enum { RARE_AXIS_SIZE = 1, RARE_AXIS_STRIDE = 2 }; /* pick */
enum { RARE_TABLE_RUN = 8192 }; /* elements of a task of table() */
enum { RARE_PIECE = 64 };      /* elements of a task of scatter_nd in each slice */
enum { RARE_SET, RARE_ADD, RARE_MUL, RARE_MIN, RARE_MAX }; /* RARE_COMBINE */
enum { RARE_EXCLUSIVE = 1, RARE_REVERSE = 2 };             /* cum_sum */
enum { RARE_K = 1, RARE_LARGEST = 2, RARE_SORTED = 3 };    /* top_k */
enum { RARE_SEED = 0, RARE_LOW = 1, RARE_HIGH = 2 };       /* random; bits of doubles */
enum { RARE_IS_MAX = 0, RARE_SAMPLES = 1, RARE_SCALE = 2, RARE_HALF_PIXEL = 3 }; /* roi_align */
enum { RARE_CENTER_POINT = 0, RARE_OVERLAP = 1 };          /* non_max_suppression */
enum { RARE_AREA, RARE_CORNERS, RARE_PIXELS };             /* RARE_OVERLAP */

#endif
