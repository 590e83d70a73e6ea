/* SPDX-License-Identifier: Apache-2.0
 * Tiles for matrix units, NVIDIA's by inline PTX (prelude.c): a warp of 32 items multiplies 16 rows
 * by 8 columns over 8 words of k at once. An item has of those sums rows lane / 4 and lane / 4 + 8
 * at columns lane % 4 * 2 and the next. Other compilers get functions that do the same from local
 * memory, so that a kernel runs everywhere. */
#include "targets/opencl/tile.h"

enum { FOUR = 4, WARP = 32, WORDS = 8 };

/* Words from row to row in local memory. Rows 0 to 7 at words 0 to 3 are in banks of their own. */
static int pitch(const wk_cl_tile *t) { return t->form->depth + WK_CL_MATRIX_PAD; }

void wk_cl_matrix_begin(const wk_cl_tile *t) {
  const wk_cl_gpu_form *f = t->form;
  int a = f->rows * pitch(t) / FOUR, w = f->columns * pitch(t) / FOUR;
  int across = f->columns / f->own_columns;
  wk_str_printf(t->x.b, "__local uint4 la[%d], lb[%d];\n", 2 * a, 2 * w);
  wk_str_printf(t->x.b, "const int lane = item %% %d, wr = item / %d * %d, "
                "wc = item / %d %% %d * %d;\n", WARP, WARP * across, f->own_rows, WARP, across,
                f->own_columns);
}

/* ---- columns that are neighbours ------------------------------------------------------------- */

/* The item's place r: word k of the step, and columns j to j + 3. Four neighbouring items read
 * neighbours, and the next four the next k, so that what they store is in few banks twice. */
static void add_place(const wk_cl_tile *t, int r) {
  int depth = t->form->depth;
  wk_str_printf(t->x.b, "const int e = item + %d, k = e / 4 %% %d;\n"
                "const int j = (e %% 4 + e / %d * 4) * 4;\n", r * t->form->items, depth, 4 * depth);
}

void wk_cl_matrix_load_columns(const wk_cl_tile *t, int r) {
  wk_str *b = t->x.b;
  const char *load = t->b_run >= FOUR ? "*(__global const ushort4 *)(%s)" : "vload4(0, %s)";
  wk_str_add(b, "{\n");
  add_place(t, r);
  wk_str_printf(b, "rb%d = 0;\nif ((k0 + k) * 2 < %lld && n0 + j < %lld) {\n", r,
                (long long)t->depth, (long long)t->columns);
  wk_str_printf(b, "__global const ushort *const from = (__global const ushort *)w + (k0 + k) * "
                "%lldl + j;\n", 2 * (long long)t->b_row);
  const char *even = "from", *odd = wk_arena_printf(t->m->a, "from + %lld", (long long)t->b_row);
  wk_str_add(b, "const ushort4 even = ");
  wk_str_printf(b, load, even);
  wk_str_add(b, ", odd = ");
  wk_str_printf(b, load, odd);
  wk_str_printf(b, ";\nrb%d = convert_uint4(even) | convert_uint4(odd) << 16;\n}\n}\n", r);
}

static void store_columns(const wk_cl_tile *t, int loads) {
  wk_str *b = t->x.b;
  wk_str_printf(b, "__local uint *const to_b = (__local uint *)(lb + (s & 1) * %d);\n",
                t->form->columns * pitch(t) / FOUR);
  for (int r = 0; r < loads; r++) {
    wk_str_add(b, "{\n");
    add_place(t, r);
    for (int e = 0; e < FOUR; e++)
      wk_str_printf(b, "to_b[(j + %d) * %d + k] = rb%d.s%d;\n", e, pitch(t), r, e);
    wk_str_add(b, "}\n");
  }
}

/* ---- local memory ---------------------------------------------------------------------------- */

/* Fours along k, `across` of which are a row. */
static void store_rows(const wk_cl_tile *t, const char *to, const char *from, int rows, int loads) {
  int across = t->form->depth / FOUR, row = pitch(t) / FOUR;
  for (int r = 0; r < loads; r++)
    wk_str_printf(t->x.b, "%s[(s & 1) * %d + (item / %d + %d) * %d + item %% %d] = %s%d;\n", to,
                  rows * row, across, r * t->form->items / across, row, across, from, r);
}

void wk_cl_matrix_store(const wk_cl_tile *t, int a_loads, int b_loads, bool by_columns) {
  store_rows(t, "la", "ra", t->form->rows, a_loads);
  if (by_columns) store_columns(t, b_loads);
  else store_rows(t, "lb", "rb", t->form->columns, b_loads);
}

/* ---- products -------------------------------------------------------------------------------- */

static const char *function(const wk_cl_tile *t) {
  if (t->a == WK_F16) return "wk_matrix_f16";
  if (t->a == WK_BF16) return "wk_matrix_bf16";
  return wk_arena_printf(t->m->a, "wk_matrix_%c%c", t->a == WK_I8 ? 's' : 'u',
                         t->b == WK_I8 ? 's' : 'u');
}

void wk_cl_matrix_multiply(const wk_cl_tile *t) {
  wk_str *b = t->x.b;
  const wk_cl_gpu_form *f = t->form;
  int p = pitch(t), rows = f->own_rows / WK_CL_MATRIX_ROWS;
  int columns = f->own_columns / WK_CL_MATRIX_COLUMNS;
  wk_str_printf(b, "__local const uint *const xa = (__local const uint *)(la + (~s & 1) * %d) + "
                "wr * %d;\n", f->rows * p / FOUR, p);
  wk_str_printf(b, "__local const uint *const xb = (__local const uint *)(lb + (~s & 1) * %d) + "
                "wc * %d;\n", f->columns * p / FOUR, p);
  wk_str_printf(b, "WK_UNROLL for (int k = 0; k < %d; k += %d) {\n", f->depth, WORDS);
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < columns; v++)
      wk_str_printf(b, "c%d_%d = %s(xa + k + %d, xb + k + %d, %d, lane, c%d_%d);\n", r, v,
                    function(t), r * WK_CL_MATRIX_ROWS * p, v * WK_CL_MATRIX_COLUMNS * p, p, r, v);
  wk_str_add(b, "}\n");
}

void wk_cl_matrix_end(const wk_cl_tile *t, const char *position, const char *column) {
  wk_str *b = t->x.b;
  const wk_cl_gpu_form *f = t->form;
  int rows = f->own_rows / WK_CL_MATRIX_ROWS, columns = f->own_columns / WK_CL_MATRIX_COLUMNS;
  wk_str_printf(b, "%s sums[%d];\n", wk_cl_tile_sum_type(t), rows * columns * FOUR);
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < columns; v++)
      wk_str_printf(b, "vstore4(c%d_%d, %d, sums);\n", r, v, r * columns + v);
  wk_str_printf(b, "WK_UNROLL for (int r = 0; r < %d; r++) {\n", 2 * rows);
  wk_str_add(b, "const int row = wr + r * 8 + lane / 4;\n");
  int lanes = wk_cl_tile_gpu_lanes(t, 2);
  const char *all[2];
  for (int n = 0; n < lanes; n++)
    all[n] = wk_arena_printf(t->m->a, "sums[(r / 2 * %d + j / 2) * 4 + r %% 2 * 2 + j %% 2 + %d]",
                             columns, n);
  wk_str_printf(b, "WK_UNROLL for (int j = 0; j < %d; j += %d) {\n", 2 * columns, lanes);
  wk_str_add(b, "const int column = wc + j / 2 * 8 + lane % 4 * 2 + j % 2;\n");
  wk_cl_tile_gpu_result(t, position, column, lanes, all);
  wk_str_add(b, "}\n}\n");
}
