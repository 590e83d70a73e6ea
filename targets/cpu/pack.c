/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/kernels/gemm.h"

#include <string.h>

/* Cycles of one k of a tile, in halves: two multiply-adds and two loads per cycle, four cycles of
 * latency. Only compared with each other. flips: operations on each value of A (dot.h: heads). */
static int64_t tile_cost(int64_t rows, int64_t nv, int64_t flips) {
  int64_t cost = rows * (nv + flips);
  if (rows + nv > cost) cost = rows + nv;
  return cost < 8 ? 8 : cost;
}

int wk_tile_rows(const wk_simd *simd, const wk_cpu_types *t, int nv) {
  return wk_cpu_is_float(t) ? simd->mr[nv] : simd->mr8[nv];
}

/* Independent of the number of rows, so that several shapes of a model share packed weights. */
wk_panels wk_panels_choose(const wk_simd *simd, const wk_cpu_types *t, int64_t n) {
  int64_t vectors = wk_ceil_div(n, simd->lanes);
  int64_t flips = wk_dot_heads(simd, t);
  wk_panels best = {0};
  double best_cost = 0;
  for (int nv = simd->nv_max; nv >= 1; nv--) {
    if (nv > vectors) continue;
    int64_t rows = wk_tile_rows(simd, t, nv), tail = vectors % nv;
    double cost = (double)(vectors / nv * tile_cost(rows, nv, flips));
    if (tail) cost += (double)tile_cost(rows, tail, flips);
    /* Narrow tiles have more rows, whose pointers spill and whose lines meet in few cache sets. */
    cost *= (1.0 + 0.06 * (simd->nv_max - nv)) / (double)rows;
    if (best.nv && cost >= best_cost) continue;
    best_cost = cost;
    best = (wk_panels){
        .nv = nv, .nv_tail = (int)tail, .panels = vectors / nv, .columns = vectors * simd->lanes};
  }
  return best;
}

int64_t wk_panels_bytes(const wk_simd *simd, const wk_cpu_types *t, wk_panels p, int64_t k) {
  return p.columns * (wk_dot_heads(simd, t) + k) * wk_dot_b_bytes(t);
}

/* Panel `i` of those of n columns. */
typedef struct {
  const wk_cpu_types *types;
  int64_t width, columns; /* that there are, that exist */
  int64_t heads, word; /* word: its bytes */
  char *out;           /* first word */
} panel;

static panel panel_at(const wk_simd *simd, const wk_cpu_types *t, wk_panels p, int64_t words,
                      int64_t n, int64_t i, char *out) {
  int64_t full = (int64_t)p.nv * simd->lanes, left = n - i * full, heads = wk_dot_heads(simd, t);
  panel a = {.types = t, .heads = heads, .word = wk_dot_b_bytes(t)};
  a.width = i < p.panels ? full : (int64_t)p.nv_tail * simd->lanes;
  a.columns = left < a.width ? left : a.width;
  a.out = out + (i * full * (heads + words) + heads * a.width) * a.word;
  memset(a.out - heads * a.width * a.word, 0, (size_t)((heads + words) * a.width * a.word));
  return a;
}

/* Element `at` of a word of column j. */
static void put(const panel *p, int64_t word, int64_t at, int64_t j, const void *from,
                int64_t index) {
  int64_t to = word * p->width + j;
  switch (wk_dtype_size(p->types->b)) {
    case 4: ((uint32_t *)p->out)[to] = ((const uint32_t *)from)[index]; break;
    case 2: ((uint16_t *)p->out)[to] = ((const uint16_t *)from)[index]; break;
    default: p->out[to * 4 + at] = ((const char *)from)[index];
  }
}

static void sum_columns(const panel *p, int64_t words) {
  int32_t *head = (int32_t *)p->out - p->width;
  for (int64_t j = 0; j < p->width && p->heads; j++) {
    uint32_t sum = 0;
    for (int64_t k = 0; k < 4 * words; k++)
      sum += (uint32_t)((const int8_t *)p->out)[(k / 4 * p->width + j) * 4 + k % 4];
    head[j] = (int32_t)(0u - 128u * sum);
  }
}

void wk_panels_pack(const wk_simd *simd, const wk_cpu_types *t, wk_panels p, int64_t k, int64_t n,
                    const void *b, int64_t k_stride, int64_t n_stride, void *out) {
  int64_t width = (int64_t)p.nv * simd->lanes, count = p.panels + (p.nv_tail > 0);
  int64_t unit = wk_dot_unit(t), words = wk_ceil_div(k, unit);
  for (int64_t i = 0; i < count; i++) {
    panel a = panel_at(simd, t, p, words, n, i, out);
    for (int64_t r = 0; r < k; r++)
      for (int64_t j = 0; j < a.columns; j++)
        put(&a, r / unit, r % unit, j, b, r * k_stride + (i * width + j) * n_stride);
    sum_columns(&a, words);
  }
}

void wk_panels_reach(const wk_simd *simd, const wk_cpu_types *t, wk_panels p, int64_t k, int64_t n,
                     const void *packed, int64_t (*reach)[2]) {
  int64_t full = (int64_t)p.nv * simd->lanes, heads = wk_dot_heads(simd, t);
  for (int64_t c = 0; c < n; c++) {
    int64_t i = c / full, width = i < p.panels ? full : (int64_t)p.nv_tail * simd->lanes;
    const char *at = (const char *)packed + (i * full * (heads + k) + heads * width + c % full) * 4;
    reach[c][0] = reach[c][1] = 0;
    for (int64_t w = 0; w < 4 * k; w++) {
      const char *b = at + w / 4 * width * 4 + w % 4;
      int64_t v = t->b == WK_I8 ? *(const int8_t *)b : *(const uint8_t *)b;
      reach[c][v < 0] += v;
    }
  }
}

/* ---- convolution: k runs over [kh][kw][cin of the group] ------------------------------------- */

/* w: index of the weights of the panel's first column. */
static void pack_conv_panel(const wk_cpu_conv_desc *d, const panel *p, const void *from, int64_t w,
                            const int64_t s[4]) {
  int64_t cin = d->cin / d->group, unit = wk_dot_unit(&d->types), words = wk_ceil_div(cin, unit);
  for (int64_t i = 0; i < cin; i++)
    for (int64_t j = 0; j < p->columns; j++)
      for (int64_t r = 0; r < d->kh; r++)
        for (int64_t c = 0; c < d->kw; c++)
          put(p, (r * d->kw + c) * words + i / unit, i % unit, j, from,
              w + j * s[0] + i * s[1] + r * s[2] + c * s[3]);
  sum_columns(p, d->kh * d->kw * words);
}

void wk_panels_pack_conv(const wk_simd *simd, wk_panels p, const wk_cpu_conv_desc *d, const void *w,
                         const int64_t w_stride[4], void *out) {
  int64_t width = (int64_t)p.nv * simd->lanes, count = p.panels + (p.nv_tail > 0);
  int64_t unit = wk_dot_unit(&d->types), n = d->cout / d->group;
  int64_t words = d->kh * d->kw * wk_ceil_div(d->cin / d->group, unit);
  for (int64_t g = 0; g < d->group; g++)
    for (int64_t i = 0; i < count; i++) {
      char *to = (char *)out + g * wk_panels_bytes(simd, &d->types, p, words);
      panel a = panel_at(simd, &d->types, p, words, n, i, to);
      pack_conv_panel(d, &a, w, (g * n + i * width) * w_stride[0], w_stride);
    }
}

/* Output channels from `first` of each group on, into panels that are `width` wide. */
static wk_cpu_conv_piece piece_at(const wk_cpu_conv_desc *d, int64_t first, int64_t panels,
                                  int64_t columns, int64_t width, int64_t group_words) {
  int64_t cin = d->cin / d->group, words = d->kh * d->kw * cin;
  return (wk_cpu_conv_piece){
      .groups = d->group, .panels = panels, .columns = columns, .cin = cin,
      .first = first, .group = d->cout / d->group, .panel = width, .column = 1,
      .to = {group_words, words * width, 1, width, d->kw * cin * width, cin * width}};
}

int wk_panels_pieces(const wk_simd *simd, wk_panels p, const wk_cpu_conv_desc *d,
                     wk_cpu_conv_piece out[WK_CPU_CONV_PIECES]) {
  int64_t full = (int64_t)p.nv * simd->lanes, tail = (int64_t)p.nv_tail * simd->lanes;
  int64_t words = d->kh * d->kw * (d->cin / d->group), n = d->cout / d->group;
  int64_t whole = p.panels - (tail == 0 && n % full != 0), group = p.columns * words;
  int64_t size = wk_dtype_size(d->types.b), width = tail ? tail : full, left = n - whole * full;
  int count = 0;
  if (whole > 0) out[count++] = piece_at(d, 0, whole, full, full, group);
  if (left == 0) return count;
  out[count] = piece_at(d, whole * full, 1, left, width, group);
  out[count++].at = whole * full * words * size;
  if (left == width) return count;
  out[count] = piece_at(d, n - 1, 1, width - left, width, group);
  out[count].column = 0;
  out[count++].at = (whole * full * words + left) * size;
  return count;
}
