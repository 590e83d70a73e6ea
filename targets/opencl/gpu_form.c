/* SPDX-License-Identifier: Apache-2.0
 * Forms of tiles on GPUs, and which of them a product gets: the one that the model of the device
 * (gpu.h) calls fastest. */
#include <string.h>

#include "targets/opencl/tile.h"

/* Forms of few rows read b from memory once, in rows of 512 bytes. */
enum { FEW_COLUMNS = 4 * WK_CL_FEW_LANES, FEW_DEPTH = 32, FEW_ITEMS = 256 };

/* sharing, rows, columns, depth, own rows, own columns, items */
static const wk_cl_gpu_form forms[] = {
    {WK_CL_ITEMS, 128, 128, 8, 8, 8, 256},
    {WK_CL_ITEMS, 128, 64, 16, 8, 4, 256},
    {WK_CL_ITEMS, 64, 128, 16, 4, 8, 256},
    {WK_CL_ITEMS, 64, 64, 16, 8, 4, 128},
    {WK_CL_ITEMS, 128, 32, 16, 8, 4, 128},
    {WK_CL_ITEMS, 32, 128, 16, 4, 8, 128},
    {WK_CL_ITEMS, 64, 32, 16, 4, 4, 128},
    {WK_CL_ITEMS, 32, 64, 16, 4, 4, 128},
    {WK_CL_ITEMS, 32, 32, 16, 4, 4, 64},
    {WK_CL_ITEMS, 16, 64, 16, 4, 4, 64},
    {WK_CL_ITEMS, 16, 16, 16, 4, 4, 16},
    {WK_CL_MATRIX, 128, 128, 16, 64, 32, 256},
    {WK_CL_MATRIX, 128, 64, 16, 64, 32, 128},
    {WK_CL_MATRIX, 64, 128, 16, 32, 64, 128},
    {WK_CL_MATRIX, 64, 64, 16, 32, 32, 128},
    {WK_CL_MATRIX, 64, 32, 16, 32, 32, 64},
    {WK_CL_MATRIX, 32, 64, 16, 32, 32, 64},
    {WK_CL_MATRIX, 32, 32, 16, 16, 32, 64},
    {WK_CL_MATRIX, 16, 64, 16, 16, 32, 64},
    {WK_CL_FEW, 1, FEW_COLUMNS, FEW_DEPTH, 0, 4, FEW_ITEMS},
    {WK_CL_FEW, 2, FEW_COLUMNS, FEW_DEPTH, 0, 4, FEW_ITEMS},
    {WK_CL_FEW, 4, FEW_COLUMNS, FEW_DEPTH, 0, 4, FEW_ITEMS},
    {WK_CL_FEW, 8, FEW_COLUMNS, FEW_DEPTH, 0, 4, FEW_ITEMS},
};

/* Groups that have a part of a sum each. */
static const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
enum { LEAST_STEPS = 4 }; /* of a part */

static bool is_of_kind(const wk_cl_tile *t, const wk_cl_gpu_form *f) {
  return f->sharing != (t->is_matrix ? WK_CL_ITEMS : WK_CL_MATRIX);
}

const wk_cl_gpu_form *wk_cl_gpu_form_of(const wk_cl_tile *t, wk_cl_tile_size size) {
  for (size_t k = 0; k < WK_COUNTOF(forms); k++)
    if (forms[k].rows == size.rows && forms[k].columns == size.vectors && is_of_kind(t, &forms[k]))
      return &forms[k];
  return NULL;
}

/* Halves by pairs, or what dot products take: runs along k of both operands, or rows of a b that is
 * computed, from which pairs are made. */
bool wk_cl_tile_suits_matrix(const wk_cl_tile *t, bool is_packed) {
  bool is_half = t->a == WK_F16 || t->a == WK_BF16;
  if (!t->m->device->info.has_matrix || t->element || t->a_step != 1) return false;
  if (t->is_dots) return true;
  if (!is_half || t->depth % 2) return false;
  bool is_along_k = t->b_row == 1 && t->b_column != 1;
  return is_packed || is_along_k || (t->b_column == 1 && t->columns % 4 == 0);
}

/* ---- counts ---------------------------------------------------------------------------------- */

int wk_cl_tile_unit(const wk_cl_tile *t) {
  return t->is_dots ? WK_CL_DOT : wk_cl_tile_is_matrix(t) ? 2 : 1;
}

int64_t wk_cl_tile_words(const wk_cl_tile *t) { return t->depth / wk_cl_tile_unit(t); }

int64_t wk_cl_tile_steps(const wk_cl_tile *t) {
  return t->taps * wk_ceil_div(wk_cl_tile_words(t), t->form->depth);
}

int64_t wk_cl_tile_part_steps(const wk_cl_tile *t) {
  return wk_ceil_div(wk_cl_tile_steps(t), t->size.split);
}

int64_t wk_cl_tile_parts_pitch(const wk_cl_tile *t) { return wk_ceil_div(t->columns, 4) * 4; }

uint64_t wk_cl_tile_parts_bytes(const wk_cl_tile *t, int split) {
  return (uint64_t)(split * t->batch * t->m_rows * wk_cl_tile_parts_pitch(t)) * 4;
}

int64_t wk_cl_tile_panel_depth(const wk_cl_tile *t) {
  if (!wk_cl_tile_is_gpu(t)) return t->depth;
  return wk_ceil_div(wk_cl_tile_words(t), t->form->depth) * t->form->depth * wk_cl_tile_unit(t);
}

/* ---- what a size takes ----------------------------------------------------------------------- */

/* Two buffers, padded by four words. */
uint64_t wk_cl_gpu_local_bytes(const wk_cl_gpu_form *f) {
  if (f->sharing == WK_CL_FEW) return WK_CL_SLICES * (uint64_t)(f->rows * f->columns) * 4;
  if (f->sharing == WK_CL_MATRIX)
    return 2 * (uint64_t)(f->depth + WK_CL_MATRIX_PAD) * (uint64_t)(f->rows + f->columns) * 4;
  return 2 * (uint64_t)f->depth * (uint64_t)(f->rows + 4 + f->columns + 4) * 4;
}

static bool fits(const wick_opencl_info *d, const wk_cl_gpu_form *f) {
  return d->max_group >= (uint32_t)f->items && d->max_items[0] >= (uint32_t)f->items &&
         wk_cl_gpu_local_bytes(f) <= d->local_memory;
}

enum { WARP = 32 }; /* work items that have matrices together */

/* Registers of a work item: sums, what is multiplied, what is on its way, and positions. */
static int registers(const wk_cl_gpu_form *f) {
  if (f->sharing == WK_CL_FEW) return 4 * f->rows + 4 * f->depth / WK_CL_SLICES + 32;
  int on_its_way = (f->rows + f->columns) * f->depth / f->items;
  int warp = f->sharing == WK_CL_MATRIX ? WARP : 1;
  int operands = f->sharing == WK_CL_MATRIX ? f->own_rows / 4 + f->own_columns / 4
                                            : f->own_rows + f->own_columns;
  int positions = f->sharing == WK_CL_MATRIX ? 24 : 40; /* as NVIDIA's assembler has it */
  return f->own_rows * f->own_columns / warp + operands + on_its_way + positions;
}

/* Cycles of a unit for a step: its multiplications, or what they read from local memory, which has
 * 128 bytes a cycle: items of a row of items share a's, of a column b's. */
static double step_cycles(const wk_cl_gpu *g, const wk_cl_tile *t, const wk_cl_gpu_form *f) {
  double each = t->sum == WK_F32 ? 1 : 2; /* products of integers are half as fast */
  double products = (double)f->rows * f->columns * f->depth * each / g->lanes;
  double brought = f->depth * (f->rows + f->columns) / 32.0 * 2;
  if (f->sharing == WK_CL_FEW) return products + (double)f->columns * f->depth / g->lanes;
  if (f->sharing == WK_CL_MATRIX) {
    double loads = f->own_rows / 16.0 * 4 + f->own_columns / 8.0 * 2; /* for 8 words of k */
    products = (double)f->rows * f->columns * f->depth / g->matrix;
    double read = f->items / WARP * loads * f->depth / 8;
    return 1.1 * (products > read ? products : read) + brought;
  }
  double read = f->depth * f->items / 32.0 * (f->own_rows / 2.0 + f->own_columns);
  return 1.1 * (products > read ? products : read) + brought;
}

enum { ONCE = 500, EPILOGUE = 8 }; /* cycles; instructions for an element of the output */

static wk_cl_gpu_work work_of(const wk_cl_gpu *g, const wk_cl_tile *t) {
  const wk_cl_gpu_form *f = t->form;
  int64_t tiles = t->batch * wk_ceil_div(t->m_rows, f->rows) * wk_ceil_div(t->columns, f->columns);
  double outputs = (double)t->batch * (double)t->m_rows * (double)t->columns;
  double size = wk_dtype_size(t->a) * wk_cl_tile_unit(t);
  double k = (double)t->taps * (double)wk_cl_tile_words(t);
  wk_cl_gpu_work w = {.groups = tiles * t->size.split, .steps = wk_cl_tile_part_steps(t),
                      .items = f->items, .registers = registers(f),
                      .local_bytes = (int64_t)wk_cl_gpu_local_bytes(f),
                      .step_cycles = step_cycles(g, t, f)};
  w.once_cycles = ONCE + (double)f->rows * f->columns * EPILOGUE / g->lanes;
  /* Taps read the same image. */
  w.bytes = ((double)t->m_rows * (double)wk_cl_tile_words(t) + k * (double)t->columns) * size *
                (double)t->batch + outputs * 4;
  w.cached_bytes = (double)w.groups * (double)w.steps * f->depth * (f->rows + f->columns) * size +
                   outputs * 4 * t->size.split;
  return w;
}

/* The launch that adds up parts. */
static double adding_time(const wk_cl_gpu *g, const wk_cl_tile *t) {
  int64_t outputs = t->batch * t->m_rows * t->columns;
  double bytes = (double)outputs * 4 * (t->size.split + 1);
  wk_cl_gpu_work w = {.groups = wk_ceil_div(outputs, FEW_ITEMS), .steps = 1, .items = FEW_ITEMS,
                      .registers = 32, .once_cycles = ONCE, .cached_bytes = bytes,
                      .step_cycles = FEW_ITEMS * (EPILOGUE + 4.0 * t->size.split) / g->lanes};
  return wk_cl_gpu_predict(g, &w).time;
}

/* As t would be. */
static wk_cl_tile with_size(const wk_cl_tile *t, wk_cl_tile_size size) {
  wk_cl_tile of = *t;
  of.size = size;
  of.form = wk_cl_gpu_form_of(t, size);
  return of;
}

wk_cl_gpu_time wk_cl_tile_gpu_time(const wk_cl_tile *t, wk_cl_tile_size size, double *adding) {
  wk_cl_gpu g = wk_cl_gpu_of(&t->m->device->info);
  wk_cl_tile of = with_size(t, size);
  wk_cl_gpu_work w = work_of(&g, &of);
  wk_cl_gpu_time time = wk_cl_gpu_predict(&g, &w);
  double more = size.split > 1 ? adding_time(&g, &of) : 0;
  if (adding) *adding = more;
  time.time += more;
  return time;
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* Few rows: the next form that has them all, and b in panels, read along k. */
static bool is_of(const wk_cl_tile *t, bool is_packed, const wk_cl_gpu_form *f) {
  if (!is_of_kind(t, f)) return false;
  if (f->sharing != WK_CL_FEW) return true;
  return is_packed && t->taps == 1 && !t->element && t->m_rows <= f->rows &&
         (f->rows == 1 || t->m_rows > f->rows / 2);
}

/* There is room for the parts behind the arena. */
static bool has_room(const wk_cl_tile *t, int split) {
  const wick_opencl_info *d = &t->m->device->info;
  uint64_t bytes = wk_cl_tile_parts_bytes(t, split) + t->m->unit->parts_at;
  return bytes <= d->max_alloc && bytes <= d->memory;
}

static bool may_split(const wk_cl_tile *t, const wk_cl_gpu_form *f, int split) {
  if (split == 1) return true;
  wk_cl_tile of = with_size(t, (wk_cl_tile_size){f->rows, f->columns, split});
  int64_t part = wk_cl_tile_part_steps(&of);
  if (part < LEAST_STEPS || !has_room(t, split)) return false;
  return part * (split - 1) < wk_cl_tile_steps(&of); /* each has some */
}

typedef struct {
  double times[WK_CL_MAX_SIZES];
  wk_cl_tile_size *sizes;
  int n;
} ranking;

static void rank(ranking *r, wk_cl_tile_size size, double time) {
  int at = r->n;
  while (at > 0 && r->times[at - 1] > time) at--;
  if (at == WK_CL_MAX_SIZES) return;
  r->n += r->n < WK_CL_MAX_SIZES;
  for (int k = r->n - 1; k > at; k--)
    r->times[k] = r->times[k - 1], r->sizes[k] = r->sizes[k - 1];
  r->times[at] = time;
  r->sizes[at] = size;
}

int wk_cl_tile_gpu_sizes(wk_cl_tile *t, bool is_packed, wk_cl_tile_size *out) {
  ranking r = {.sizes = out};
  for (size_t k = 0; k < WK_COUNTOF(forms); k++) {
    const wk_cl_gpu_form *f = &forms[k];
    if (!fits(&t->m->device->info, f) || !is_of(t, is_packed, f)) continue;
    for (size_t i = 0; i < WK_COUNTOF(splits); i++) {
      wk_cl_tile_size size = {f->rows, f->columns, splits[i]};
      if (may_split(t, f, size.split))
        rank(&r, size, wk_cl_tile_gpu_time(t, size, NULL).time);
    }
  }
  while (r.n > 1 && r.times[r.n - 1] > 1.5 * r.times[0]) r.n--;
  return r.n;
}
