/* SPDX-License-Identifier: Apache-2.0
 * tile: products of matrices, and then bias and epilogue:
 *
 *   c[r][j] = sum over taps and k < depth of a(r, tap)[k * a_step] *
 *             b[(tap * depth + k) * b_row + j * b_column]
 *
 * What differs between matmul and convolution is where rows of a begin and which position of the
 * output row and column stand for. On a CPU a work item has a tile of sums in vectors. On a GPU a
 * work-group has one, of a form (wk_cl_gpu_form), some of its sums in each work item; a and b come
 * through local memory, some k at a time, or, for few rows, from memory at once. Where there are
 * few tiles several groups have a part of the sum each, and a second kernel adds the parts up, in
 * their order. Private to this folder. */
#ifndef WICK_OPENCL_TILE_H
#define WICK_OPENCL_TILE_H

#include "targets/opencl/gpu.h"
#include "targets/opencl/make.h"

/* How the work items of a group share a tile. */
typedef enum {
  WK_CL_ITEMS,  /* each has some rows and columns (tile_gpu.c) */
  WK_CL_MATRIX, /* each warp has, for matrix units (tile_matrix.c) */
  WK_CL_FEW     /* each has 4 columns of all rows, and a slice of each step (tile_few.c) */
} wk_cl_sharing;

/* What a work-group of a GPU computes. k is counted in words: elements, or as many neighbours as
 * have 32 bits together, where matrix units or dot products take them. */
typedef struct {
  wk_cl_sharing sharing;
  int rows, columns;           /* of the tile; columns are the width of a panel of b */
  int depth;                   /* k of a step */
  int own_rows, own_columns;   /* of an item, or of a warp; FEW: 0, 4 */
  int items;                   /* of the group */
} wk_cl_gpu_form;

/* Loops over taps t0, t1, …, and statements that set p0, p1, … for them. */
typedef struct {
  int n;
  const int64_t *counts;
  void (*point)(const void *ctx); /* NULL: they are set */
  const void *ctx;
} wk_cl_taps;

typedef struct wk_cl_tile wk_cl_tile;
struct wk_cl_tile {
  const wk_cl_making *m;
  wk_cl_kernel *k;
  wk_cl_loops x;
  int lanes;              /* CPU: of a vector */
  wk_cl_tile_size size;
  const wk_cl_gpu_form *form; /* GPU */
  bool is_packed;         /* b is in panels */
  bool is_dots;           /* GPU: bytes by fours, neighbours along k, by the device's dot product */
  bool is_matrix;         /* GPU: by matrix units, but where rows are few */
  int pointers;           /* rows of a that a work item reads */
  wk_dtype a, b, sum;     /* wk_cl_tile_types */
  int64_t batch, m_rows, columns, taps, depth, a_step;
  int a_run, b_run;       /* GPU: wk_cl_neighbours */
  /* GPU: element k of row 0 as a C expression, in place of p0[k * a_step]; NULL: that. */
  const char *(*element)(const void *ctx, const char *k);
  const void *element_ctx;
  const char *outside;    /* GPU: what elements are whose row `ok` says is none; NULL: all are */
  /* GPU: declares live_rows, …, and list in another kernel of the instruction, which `of` is with
   * its own kernel and without these; NULL: there are none. */
  void (*limits)(const void *ctx, wk_cl_tile *of);
  const void *limits_ctx;
  int64_t b_row;          /* elements; the width of a panel where b is packed */
  int64_t b_column;       /* elements; 1 on CPUs */
  int64_t b_readable;     /* columns that may be read from each row of a b that is not packed */
  int column_axis;        /* of the output */
  /* Names of longs of the kernel, between 0 and what they limit; NULL: all are computed. */
  const char *live_rows, *live_columns, *live_depth;
  const char *list;       /* name of a pointer: row number r of a is list[r]; NULL: r */
};

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

/* k of a panel of one tap, in elements: on GPUs whole steps, what is too much zero. */
int64_t wk_cl_tile_panel_depth(const wk_cl_tile *t);

/* b(batch, k, column) of `data` as panels, [batch][panel][taps][panel depth][width], for dot
 * products [batch][panel][taps][panel depth / 4][width][4], for matrix units
 * [batch][panel][taps][steps][width][k of a step], what is too much zero; lives as long as the
 * package. at: position of an element of b in `data`, in elements; k < taps * depth. */
typedef int64_t (*wk_cl_tile_at)(const void *ctx, int64_t batch, int64_t k, int64_t column);
const void *wk_cl_tile_pack(const wk_cl_tile *t, int64_t batches, const void *data,
                            wk_cl_tile_at at, const void *ctx, uint64_t *bytes);

/* So many neighbours along axis `along` of v are known to begin at multiples of their size: 16, 8,
 * 4, 2 or 1. */
int wk_cl_neighbours(const wk_program *p, const wk_view *v, int along);
enum { WK_CL_WHOLE = 16 }; /* the most, as panels have it */

/* Row number `at`, a C expression, as the list has it. */
const char *wk_cl_tile_listed(const wk_cl_tile *t, const char *at);
/* C expressions: how many rows, and how much of the depth, there are. */
const char *wk_cl_tile_rows(const wk_cl_tile *t);
const char *wk_cl_tile_depth(const wk_cl_tile *t);

/* Statements, in this order:
 *   begin     z (batch), m0 (first row), n0 (first column); GPU: part (of the sum)
 *   (the caller: pointer `w` to b, of type `const T_b *`, at n0)
 *   sums      declares the sums
 *   (the caller: what the pointers p0, p1, … to `pointers` rows of a follow from, whose numbers
 *   row_of says, as a C expression; GPU: the pointers, and ok0, ok1, … where there is an outside)
 *   products  over all taps and `depth`; w moves on
 *   end       results; position: statement that defines i<k> but for the column axis, from `row`,
 *             the number of the row in the tile; column: the first column's position */
void wk_cl_tile_begin(wk_cl_tile *t);
const char *wk_cl_tile_row_of(const wk_cl_tile *t, int pointer);
void wk_cl_tile_sums(const wk_cl_tile *t);
void wk_cl_tile_products(const wk_cl_tile *t, const wk_cl_taps *taps);
void wk_cl_tile_end(const wk_cl_tile *t, const char *position, const char *column);
/* Adds the launch of the kernel, and that of the one that adds up the parts of the sum; false: no
 * such kernel can be made. */
bool wk_cl_tile_launch(const wk_cl_tile *t, const char *position, const char *column);

/* ---- GPUs ------------------------------------------------------------------------------------ */

static inline bool wk_cl_tile_is_gpu(const wk_cl_tile *t) {
  return t->m->device->family == WK_CL_GPU;
}
static inline bool wk_cl_tile_is_few(const wk_cl_tile *t) {
  return t->form->sharing == WK_CL_FEW;
}
static inline bool wk_cl_tile_is_matrix(const wk_cl_tile *t) {
  return t->form->sharing == WK_CL_MATRIX;
}
enum { WK_CL_SLICES = 8, WK_CL_FEW_LANES = 32 }; /* of a group that has few rows */

/* Elements of a word; k of a tap in words; steps of the sum of a group, all taps. */
int wk_cl_tile_unit(const wk_cl_tile *t);
int64_t wk_cl_tile_words(const wk_cl_tile *t);
int64_t wk_cl_tile_steps(const wk_cl_tile *t);
/* Steps of each part of the sum. */
int64_t wk_cl_tile_part_steps(const wk_cl_tile *t);
/* The parts' memory, [part][batch][row][pitch] words. */
int64_t wk_cl_tile_parts_pitch(const wk_cl_tile *t);
uint64_t wk_cl_tile_parts_bytes(const wk_cl_tile *t, int split);

/* Bytes of local memory of a group, at most. */
uint64_t wk_cl_gpu_local_bytes(const wk_cl_gpu_form *f);
/* Sizes for the device, the fastest by the model first; at most WK_CL_MAX_SIZES. */
int wk_cl_tile_gpu_sizes(wk_cl_tile *t, bool is_packed, wk_cl_tile_size *out);
const wk_cl_gpu_form *wk_cl_gpu_form_of(const wk_cl_tile *t, wk_cl_tile_size size);
/* Matrix units can multiply it, with these operands as they lie. */
bool wk_cl_tile_suits_matrix(const wk_cl_tile *t, bool is_packed);
/* What the model says of a size, all launches. adding: microseconds of the one that adds up, of
 * these; NULL: nobody asks. */
wk_cl_gpu_time wk_cl_tile_gpu_time(const wk_cl_tile *t, wk_cl_tile_size size, double *adding);

/* The type of sums, and of words in local memory: "float", "uint". */
const char *wk_cl_tile_sum_type(const wk_cl_tile *t);
const char *wk_cl_tile_word(const wk_cl_tile *t);
/* Four words of neighbours, as C expressions: from element number `at` of `pointer` on; run:
 * wk_cl_neighbours of these. One: word number `at`. */
const char *wk_cl_tile_fours(const wk_cl_tile *t, wk_dtype of, int run, const char *pointer,
                             const char *at);
const char *wk_cl_tile_one(const wk_cl_tile *t, wk_dtype of, int run, const char *pointer,
                           const char *at);
/* sum + x * y, C expressions. */
const char *wk_cl_tile_multiplied(const wk_cl_tile *t, const char *x, const char *y,
                                  const char *sum);
/* So many neighbouring columns have their results at once: 1, or `most`. */
int wk_cl_tile_gpu_lanes(const wk_cl_tile *t, int most);
/* Sums of that many columns, C expressions, from `row` and `column` of the tile on, ints that are
 * defined: where sums are split, to the parts; else results. */
void wk_cl_tile_gpu_result(const wk_cl_tile *t, const char *position, const char *column, int lanes,
                           const char *const *sums);

/* The functions above for the two kinds of forms. */
int wk_cl_tile_gpu_pointers(const wk_cl_tile *t);
void wk_cl_tile_gpu_begin(wk_cl_tile *t);
const char *wk_cl_tile_gpu_row_of(const wk_cl_tile *t, int pointer);
void wk_cl_tile_gpu_sums(const wk_cl_tile *t);
void wk_cl_tile_gpu_products(const wk_cl_tile *t, const wk_cl_taps *taps);
void wk_cl_tile_gpu_end(const wk_cl_tile *t, const char *position, const char *column);
int wk_cl_tile_few_pointers(const wk_cl_tile *t);
void wk_cl_tile_few_begin(wk_cl_tile *t);
const char *wk_cl_tile_few_row_of(const wk_cl_tile *t, int pointer);
void wk_cl_tile_few_sums(const wk_cl_tile *t);
void wk_cl_tile_few_products(const wk_cl_tile *t, const wk_cl_taps *taps);
void wk_cl_tile_few_end(const wk_cl_tile *t, const char *position, const char *column);

/* The pieces that differ for matrix units: tile_gpu.c calls them. Local memory has [row][k] and
 * [column][k], words of a step and MATRIX_PAD more. */
enum { WK_CL_MATRIX_PAD = 4, WK_CL_MATRIX_ROWS = 16, WK_CL_MATRIX_COLUMNS = 8 };
void wk_cl_matrix_begin(const wk_cl_tile *t);
/* Columns of a b that is no panel, neighbours in memory: pairs of k into registers rb<r>. */
void wk_cl_matrix_load_columns(const wk_cl_tile *t, int r);
void wk_cl_matrix_store(const wk_cl_tile *t, int a_loads, int b_loads, bool by_columns);
void wk_cl_matrix_multiply(const wk_cl_tile *t);
void wk_cl_matrix_end(const wk_cl_tile *t, const char *position, const char *column);

#endif
