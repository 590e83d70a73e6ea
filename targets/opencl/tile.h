/* SPDX-License-Identifier: Apache-2.0
 * tile: products of matrices, and then bias and epilogue:
 *
 *   c[r][j] = sum over taps and k < depth of a(r, tap)[k * a_step] *
 *             b[(tap * depth + k) * b_row + j * b_column]
 *
 * What differs between matmul and convolution is where rows of a begin and which position of the
 * output row and column stand for. On a CPU a work item has a tile of sums in vectors. On a GPU a
 * work-group has one, 8 x 8 sums of it in each work item, and brings a and b into local memory,
 * some k at a time. Private to this folder. */
#ifndef WICK_OPENCL_TILE_H
#define WICK_OPENCL_TILE_H

#include "targets/opencl/make.h"

typedef struct {
  const wk_cl_making *m;
  wk_cl_kernel *k;
  wk_cl_loops x;
  int lanes;              /* CPU: of a vector */
  wk_cl_tile_size size;   /* CPU: rows and vectors; GPU: rows and columns of a work-group's tile */
  bool is_dots;           /* GPU: bytes by fours, neighbours along k, by the device's dot product */
  int pointers;           /* rows of a that a work item reads */
  wk_dtype a, b, sum;     /* wk_cl_tile_types */
  int64_t batch, m_rows, columns, taps, depth, a_step;
  int64_t b_row;          /* elements; the width of a panel where b is packed */
  int64_t b_column;       /* elements; 1 on CPUs */
  int64_t b_readable;     /* columns that may be read from each row of a b that is not packed */
  int column_axis;        /* of the output */
  /* Names of longs of the kernel, between 0 and what they limit; NULL: all are computed. */
  const char *live_rows, *live_columns, *live_depth;
  const char *list;       /* name of a pointer: row number r of a is list[r]; NULL: r */
} wk_cl_tile;

/* The type of OpenCL C of elements of a and b: "float", "char". */
const char *wk_cl_tile_type(wk_dtype t);
/* Elements from the beginning of each row of v, along its last axis, to the end of the buffer
 * behind the last row. */
int64_t wk_cl_readable(const wk_program *p, const wk_view *v);
/* Floats of up to 32 bits, whose sums are f32, or integers whose sums are i32. */
bool wk_cl_tile_types(wk_dtype a, wk_dtype b);
wk_dtype wk_cl_tile_sum(wk_dtype a);
/* Elements as they are multiplied, of a pointer to wk_cl_tile_type: number `at`, and n from number
 * n * at on. Integers: int, and unsigned vectors with the same bits. */
const char *wk_cl_tile_scalar(wk_arena *a, wk_dtype t, const char *pointer, const char *at);
const char *wk_cl_tile_vector(wk_arena *a, wk_dtype t, int n, int at, const char *pointer);
/* Picks a tile for the device. False: there is none, as on a CPU where b is not packed and whole
 * vectors of its last columns would end outside of its buffer. */
bool wk_cl_tile_choose(wk_cl_tile *t, bool is_packed);
enum { WK_CL_DOT = 4 }; /* bytes of a dot product */
/* Columns of a tile, and of a panel. */
int64_t wk_cl_tile_width(const wk_cl_tile *t);
static inline int64_t wk_cl_tile_panels(const wk_cl_tile *t) {
  return wk_ceil_div(t->columns, wk_cl_tile_width(t));
}

/* b(batch, k, column) of `data` as panels, [batch][panel][taps * depth][width], for dot products
 * [batch][panel][taps * depth / 4][width][4], what is too much zero; lives as long as the package.
 * at: position of an element of b in `data`, in elements. */
typedef int64_t (*wk_cl_tile_at)(const void *ctx, int64_t batch, int64_t k, int64_t column);
const void *wk_cl_tile_pack(const wk_cl_tile *t, int64_t batches, const void *data,
                            wk_cl_tile_at at, const void *ctx, uint64_t *bytes);

/* Row number `at`, a C expression, as the list has it. */
const char *wk_cl_tile_listed(const wk_cl_tile *t, const char *at);
/* C expressions: how many rows, and how much of the depth, there are. */
const char *wk_cl_tile_rows(const wk_cl_tile *t);
const char *wk_cl_tile_depth(const wk_cl_tile *t);

/* Statements, in this order:
 *   begin     z (batch), m0 (first row), n0 (first column)
 *   (the caller: pointer `w` to b, of type `const T_b *`, at n0)
 *   sums      declares the sums
 *   (the caller: loops over taps, in them pointers p0, p1, … to `pointers` rows of a, whose numbers
 *   row_of says, as a C expression)
 *   products  over `depth`; w moves on
 *   (the caller: ends of its loops)
 *   end       results; position: statement that defines i<k> but for the column axis, from `row`,
 *             the number of the row in the tile; column: the first column's position */
void wk_cl_tile_begin(wk_cl_tile *t);
const char *wk_cl_tile_row_of(const wk_cl_tile *t, int pointer);
void wk_cl_tile_sums(const wk_cl_tile *t);
void wk_cl_tile_products(const wk_cl_tile *t);
void wk_cl_tile_end(const wk_cl_tile *t, const char *position, const char *column);

/* The same for GPUs, which those above call. */
int wk_cl_tile_gpu_sizes(const wk_cl_tile *t, wk_cl_tile_size *out);
int wk_cl_tile_gpu_pointers(const wk_cl_tile *t);
void wk_cl_tile_gpu_begin(wk_cl_tile *t);
const char *wk_cl_tile_gpu_row_of(const wk_cl_tile *t, int pointer);
void wk_cl_tile_gpu_sums(const wk_cl_tile *t);
void wk_cl_tile_gpu_products(const wk_cl_tile *t);
void wk_cl_tile_gpu_end(const wk_cl_tile *t, const char *position, const char *column);

#endif
