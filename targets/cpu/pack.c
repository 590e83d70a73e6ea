/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/gemm.h"

/* Cycles of one k of a tile, in halves: two multiply-adds and two loads per cycle, four cycles of
 * latency. Only compared with each other. */
static int64_t tile_cost(int64_t rows, int64_t nv) {
  int64_t cost = rows * nv;
  if (rows + nv > cost) cost = rows + nv;
  return cost < 8 ? 8 : cost;
}

/* Independent of the number of rows, so that several shapes of a model share packed weights. */
wk_panels wk_panels_choose(const wk_cpu_isa *isa, int64_t n) {
  int64_t vectors = (n + isa->lanes - 1) / isa->lanes;
  wk_panels best = {0};
  double best_cost = 0;
  for (int nv = isa->nv_max; nv >= 1; nv--) {
    if (nv > vectors) continue;
    int64_t rows = isa->mr[nv], tail = vectors % nv;
    double cost = (double)(vectors / nv * tile_cost(rows, nv));
    if (tail) cost += (double)tile_cost(rows, tail);
    /* Narrow tiles have more rows, whose pointers spill and whose lines meet in few cache sets. */
    cost *= (1.0 + 0.06 * (isa->nv_max - nv)) / (double)rows;
    if (best.nv && cost >= best_cost) continue;
    best_cost = cost;
    best = (wk_panels){
        .nv = nv, .nv_tail = (int)tail, .panels = vectors / nv, .columns = vectors * isa->lanes};
  }
  return best;
}

static void pack_panel(int64_t k, int64_t width, int64_t columns, const float *b, int64_t k_stride,
                       int64_t n_stride, float *out) {
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < width; j++)
      out[i * width + j] = j < columns ? b[i * k_stride + j * n_stride] : 0.0f;
}

void wk_panels_pack(const wk_cpu_isa *isa, wk_panels p, int64_t k, int64_t n, const float *b,
                    int64_t k_stride, int64_t n_stride, float *out) {
  int64_t width = (int64_t)p.nv * isa->lanes, count = p.panels + (p.nv_tail > 0);
  for (int64_t i = 0; i < count; i++) {
    int64_t w = i < p.panels ? width : (int64_t)p.nv_tail * isa->lanes, left = n - i * width;
    pack_panel(k, w, left < w ? left : w, b + i * width * n_stride, k_stride, n_stride,
               out + i * width * k);
  }
}

/* ---- convolution: k runs over [kh][kw][cin of the group] ------------------------------------- */

static void pack_conv_panel(const wk_cpu_conv_desc *d, int64_t width, int64_t columns,
                            const float *w, const int64_t s[4], float *out) {
  int64_t cin = d->cin / d->group;
  for (int64_t i = 0; i < cin; i++)
    for (int64_t j = 0; j < width; j++)
      for (int64_t r = 0; r < d->kh; r++)
        for (int64_t c = 0; c < d->kw; c++)
          out[((r * d->kw + c) * cin + i) * width + j] =
              j < columns ? w[j * s[0] + i * s[1] + r * s[2] + c * s[3]] : 0.0f;
}

void wk_panels_pack_conv(const wk_cpu_isa *isa, wk_panels p, const wk_cpu_conv_desc *d,
                         const float *w, const int64_t w_stride[4], float *out) {
  int64_t width = (int64_t)p.nv * isa->lanes, count = p.panels + (p.nv_tail > 0);
  int64_t k = d->kh * d->kw * (d->cin / d->group), n = d->cout / d->group;
  for (int64_t g = 0; g < d->group; g++)
    for (int64_t i = 0; i < count; i++) {
      int64_t wide = i < p.panels ? width : (int64_t)p.nv_tail * isa->lanes, left = n - i * width;
      pack_conv_panel(d, wide, left < wide ? left : wide, w + (g * n + i * width) * w_stride[0],
                      w_stride, out + (g * p.columns + i * width) * k);
    }
}
