/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product on packed panels: 4 x 4 cells at a time, each summed over k in ascending order in
 * a double or a 64-bit integer. The product of two f32 is exact in a double. */
#include <stdlib.h>

#include "compiler/eval/handler.h"

#define PANEL_BYTES (INT64_C(1) << 21)
#define MAX_COLUMNS 256

wk_status wk_gemm_begin(wk_gemm *g, bool real, int64_t k, int64_t n) {
  *g = (wk_gemm){.real = real, .k = k};
  int64_t fits = PANEL_BYTES / 8 / (k ? k : 1);
  int64_t columns = fits < MAX_COLUMNS ? fits : MAX_COLUMNS;
  if (columns > n + WK_TILE - 1) columns = n + WK_TILE - 1;
  g->columns = columns < WK_TILE ? WK_TILE : columns / WK_TILE * WK_TILE;
  wk_status s;
  WK_TRY_GOTO(s, fail, wk_scalars_alloc(k * WK_TILE, &g->a));
  WK_TRY_GOTO(s, fail, wk_scalars_alloc(k * g->columns, &g->b));
  WK_TRY_GOTO(s, fail, wk_scalars_alloc(WK_TILE * g->columns, &g->rows));
  WK_TRY_GOTO(s, fail, wk_scalars_alloc(k, &g->line));
  return NULL;
fail:
  wk_gemm_end(g);
  return s;
}

void wk_gemm_end(wk_gemm *g) {
  free(g->a);
  free(g->b);
  free(g->rows);
  free(g->line);
  *g = (wk_gemm){0};
}

void wk_gemm_pack_row(wk_gemm *g, int row) {
  for (int64_t i = 0; i < g->k; i++) g->a[i * WK_TILE + row] = g->line[i];
}

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

static inline void store_pair(wk_scalar *y, pair v) { *(pair *)(void *)y = v; }

/* Eight accumulators of two lanes: named, so that they stay in registers at every optimisation
 * level. */
static void tile_real(int64_t k, const wk_scalar *a, const wk_scalar *b, wk_scalar *y,
                      int64_t step) {
  pair c00 = {0}, c01 = {0}, c10 = {0}, c11 = {0}, c20 = {0}, c21 = {0}, c30 = {0}, c31 = {0};
  for (int64_t i = 0; i < k; i++, a += WK_TILE, b += WK_TILE) {
    pair b0 = *(const pair *)(const void *)b, b1 = *(const pair *)(const void *)(b + 2);
    pair a0 = {a[0].f, a[0].f}, a1 = {a[1].f, a[1].f};
    pair a2 = {a[2].f, a[2].f}, a3 = {a[3].f, a[3].f};
    c00 += a0 * b0;
    c01 += a0 * b1;
    c10 += a1 * b0;
    c11 += a1 * b1;
    c20 += a2 * b0;
    c21 += a2 * b1;
    c30 += a3 * b0;
    c31 += a3 * b1;
  }
  store_pair(y, c00);
  store_pair(y + 2, c01);
  store_pair(y + step, c10);
  store_pair(y + step + 2, c11);
  store_pair(y + 2 * step, c20);
  store_pair(y + 2 * step + 2, c21);
  store_pair(y + 3 * step, c30);
  store_pair(y + 3 * step + 2, c31);
}

static void tile_integer(int64_t k, const wk_scalar *a, const wk_scalar *b, wk_scalar *y,
                         int64_t step) {
  for (int j = 0; j < WK_TILE; j++) {
    uint64_t c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    for (int64_t i = 0; i < k; i++) {
      uint64_t v = (uint64_t)b[i * WK_TILE + j].i;
      c0 += (uint64_t)a[i * WK_TILE].i * v;
      c1 += (uint64_t)a[i * WK_TILE + 1].i * v;
      c2 += (uint64_t)a[i * WK_TILE + 2].i * v;
      c3 += (uint64_t)a[i * WK_TILE + 3].i * v;
    }
    y[j].i = (int64_t)c0;
    y[step + j].i = (int64_t)c1;
    y[2 * step + j].i = (int64_t)c2;
    y[3 * step + j].i = (int64_t)c3;
  }
}

void wk_gemm_run(const wk_gemm *g, int64_t columns) {
  for (int64_t j = 0; j < columns; j += WK_TILE) {
    const wk_scalar *panel = g->b + j * g->k;
    if (g->real) tile_real(g->k, g->a, panel, g->rows + j, g->columns);
    else tile_integer(g->k, g->a, panel, g->rows + j, g->columns);
  }
}
