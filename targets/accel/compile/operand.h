/* SPDX-License-Identifier: Apache-2.0
 * Where the elements of a value lie. Tensors are stored in blocks of N channels,
 * [o][block][h][w][N] bytes; values are strided pictures of them, so that slices, heads of
 * attention, concatenation and most reshapes and transposes are addresses. */
#ifndef WICK_ACCEL_OPERAND_H
#define WICK_ACCEL_OPERAND_H

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

/* Element p lies at offset + sum p[k] * strides[k] bytes, but for the axis `lane`: its element q
 * counts lanes from `first` on, block (first + q) / N at `strides[lane]` bytes from the one before,
 * lane (first + q) % N in it. lane -1: no axis is cut into blocks. */
typedef struct {
  int tensor; /* in the net; -1: none */
  int64_t offset;
  int rank, lane, first;
  bool is_cut_off; /* lanes behind its last element belong to others */
  int64_t dims[WK_MAX_RANK], strides[WK_MAX_RANK];
} wk_accel_operand;

/* A tensor of its own for a value of these dims whose axis `lane` is cut into blocks: offset 0,
 * axes before `lane` outermost, then the blocks, then the others; of lane = rank - 1 the last but
 * one of the others stays within the blocks. *bytes: of the tensor. */
wk_accel_operand wk_operand_new(int n, int tensor, const wk_type *t, int lane, int64_t *bytes);
/* How that lies, as an edge of a part; n may be less than the array. */
void wk_operand_layout(int n, int rank, int lane, wk_edge_layout *out);
/* Of [n,h,w,c] that lies as the image [n,c,h,w], or [h,w,c] as one of them. */
void wk_operand_image_layout(int n, int rank, wk_edge_layout *out);
/* A tensor that enters a part: rows as they lie, the last axis of N lanes, or dense. */
wk_accel_operand wk_operand_laid(int n, int tensor, const wk_type *t);
/* It covers its tensor, as wk_operand_laid says. */
bool wk_operand_is_laid(int n, const wk_accel_operand *x, int64_t bytes);

/* False: elements do not lie so that these dims could be said. */
bool wk_operand_reshape(int n, const wk_accel_operand *x, int rank, const int64_t *dims,
                        wk_accel_operand *y);
void wk_operand_transpose(const wk_accel_operand *x, const int64_t *perm, wk_accel_operand *y);
bool wk_operand_slice(int n, const wk_accel_operand *x, const int64_t *starts, const int64_t *sizes,
                      const int64_t *steps, wk_accel_operand *y);

#endif
