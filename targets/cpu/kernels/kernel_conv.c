/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/kernels/depthwise.h"
#include "targets/cpu/kernels/gemm.h"

#include <string.h>

static const wk_cpu_epilogue no_epilogue;

enum { FEW_WORDS = 16 };

/* Are flattened (n, h, w) pixels evenly spaced? Then *step is their distance. */
static bool is_even(const int64_t s[3], int64_t n, int64_t h, int64_t w, int64_t *step) {
  const int64_t counts[] = {w, h, n}, strides[] = {s[2], s[1], s[0]};
  int64_t run = 1;
  *step = 0;
  for (int i = 0; i < 3; i++) {
    if (counts[i] == 1) continue;
    if (run == 1)
      *step = strides[i];
    else if (strides[i] != *step * run)
      return false;
    run *= counts[i];
  }
  return true;
}

/* Bytes of the channels that a row reads of a pixel, in whole words. */
static int64_t pixel_bytes(const wk_cpu_conv_desc *d) {
  int64_t unit = wk_dot_unit(&d->types);
  return wk_ceil_div(d->cin / d->group, unit) * 4;
}

static wk_rows_kind rows_kind(const wk_cpu_conv_desc *d, int64_t *a_step) {
  int64_t cin = d->cin / d->group, words = pixel_bytes(d) / 4;
  if (cin % wk_dot_unit(&d->types) != 0) return WK_ROWS_STRIP;
  bool is_pointwise = d->kh == 1 && d->kw == 1 && d->pad_h == 0 && d->pad_w == 0 &&
                      d->stride_h == 1 && d->stride_w == 1 && d->oh == d->h && d->ow == d->w;
  if (cin > 1 && d->x_stride[3] != 1) return WK_ROWS_STRIP;
  if (is_pointwise && is_even(d->x_stride, d->n, d->h, d->w, a_step)) return WK_ROWS_PLAIN;
  bool is_short = words < FEW_WORDS && d->kw > 1 && d->dil_w == 1;
  return is_short ? WK_ROWS_STRIP : WK_ROWS_CONV;
}

bool wk_cpu_conv_widens(const wk_cpu_conv_desc *d) {
  int64_t step;
  if (!wk_cpu_is_float(&d->types) || d->types.a == WK_F32 || wk_depthwise_fits(d)) return false;
  return rows_kind(d, &step) != WK_ROWS_PLAIN;
}

static void set_epilogue(wk_gemm *g, const wk_cpu_conv_desc *d, const wk_cpu_epilogue *epi) {
  int64_t images = g->rows == WK_ROWS_STRIP ? 1 : d->n; /* among a product's rows */
  int64_t y_size = wk_dtype_size(d->types.y), columns = d->cout / d->group;
  g->epi = epi;
  g->row_table = !is_even(d->y_stride, images, d->oh, d->ow, &g->y_row);
  g->y_row *= y_size;
  g->y_batch[0] = d->y_stride[0] * y_size;
  g->y_batch[1] = columns * y_size;
  for (int i = 0; i < epi->n_operands; i++) {
    const wk_cpu_operand *o = &epi->operands[i];
    int64_t size = wk_dtype_size(o->dtype);
    if (!is_even(o->stride, images, d->oh, d->ow, &g->op_row[i])) g->row_table = true;
    g->op_row[i] *= size;
    g->op_batch[i][0] = o->stride[0] * size;
    g->op_batch[i][1] = o->per_column ? columns * size : 0;
  }
}

static wk_status emit_gemm(wk_llvm *e, const wk_cpu_conv_desc *d, const wk_cpu_epilogue *epi,
                           wk_cpu_kernel *out) {
  wk_gemm g;
  memset(&g, 0, sizeof g);
  g.rows = rows_kind(d, &g.a_row);
  int64_t size = wk_dtype_size(d->types.a);
  g.a_row *= size;
  g.types = d->types;
  g.cin = d->cin / d->group;
  g.pixel = pixel_bytes(d);
  bool is_strip = g.rows == WK_ROWS_STRIP, is_wide_tap = is_strip && d->dil_w == 1;
  g.batch[0] = is_strip ? d->n : 1;
  g.batch[1] = d->group;
  g.m = (is_strip ? 1 : d->n) * d->oh * d->ow;
  g.n = d->cout / d->group;
  g.taps = is_wide_tap ? d->kh : d->kh * d->kw;
  g.kc = (is_wide_tap ? d->kw : 1) * g.pixel / 4;
  g.a_batch[0] = d->x_stride[0] * size;
  g.a_batch[1] = g.cin * d->x_stride[3] * size;
  g.panels = wk_panels_choose(e->simd, &d->types, g.n);
  g.b_batch[1] = wk_panels_bytes(e->simd, &d->types, g.panels, g.taps * g.kc);
  g.conv = *d;
  set_epilogue(&g, d, epi);
  return wk_gemm_codegen(e, &g, out);
}

int64_t wk_cpu_conv_packed_bytes(const wk_simd *simd, const wk_cpu_conv_desc *d) {
  if (wk_depthwise_fits(d)) return wk_depthwise_packed_bytes(simd, d);
  wk_panels p = wk_panels_choose(simd, &d->types, d->cout / d->group);
  return d->group * wk_panels_bytes(simd, &d->types, p, d->kh * d->kw * pixel_bytes(d) / 4);
}

void wk_cpu_conv_pack(const wk_simd *simd, const wk_cpu_conv_desc *d, const void *w,
                      const int64_t w_stride[4], void *out) {
  if (wk_depthwise_fits(d)) wk_depthwise_pack(simd, d, w, w_stride, out);
  else
    wk_panels_pack_conv(simd, wk_panels_choose(simd, &d->types, d->cout / d->group), d, w, w_stride,
                        out);
}

int wk_cpu_conv_pieces(const wk_simd *simd, const wk_cpu_conv_desc *d, wk_dtype *type,
                       wk_cpu_conv_piece out[WK_CPU_CONV_PIECES]) {
  bool is_depthwise = wk_depthwise_fits(d);
  *type = is_depthwise ? WK_F32 : d->types.b;
  if (is_depthwise) return wk_depthwise_pieces(simd, d, out);
  return wk_panels_pieces(simd, wk_panels_choose(simd, &d->types, d->cout / d->group), d, out);
}

void wk_cpu_conv_reach(const wk_simd *simd, const wk_cpu_conv_desc *d, const void *packed,
                       int64_t (*reach)[2]) {
  int64_t n = d->cout / d->group, words = d->kh * d->kw * pixel_bytes(d) / 4;
  wk_panels p = wk_panels_choose(simd, &d->types, n);
  int64_t bytes = wk_panels_bytes(simd, &d->types, p, words);
  if (wk_depthwise_fits(d)) {
    wk_depthwise_reach(simd, d, packed, reach);
    return;
  }
  for (int64_t g = 0; g < d->group; g++)
    wk_panels_reach(simd, &d->types, p, words, n, (const char *)packed + g * bytes, reach + g * n);
}

wk_status wk_cpu_conv_codegen(wk_llvm *e, const wk_cpu_conv_desc *d, const wk_cpu_epilogue *epi,
                              wk_cpu_kernel *out) {
  if (!epi) epi = &no_epilogue;
  const int64_t counts[] = {d->n,  d->h,    d->w,  d->cin, d->oh,
                            d->ow, d->cout, d->kh, d->kw,  d->group};
  for (size_t i = 0; i < WK_COUNTOF(counts); i++)
    if (counts[i] < 1) return wk_error(WK_UNSUPPORTED, "conv: an empty dimension");
  WK_TRY(wk_depthwise_fits(d) ? wk_depthwise_codegen(e, d, epi, out) : emit_gemm(e, d, epi, out));
  out->packed_bytes = wk_cpu_conv_packed_bytes(e->simd, d);
  return NULL;
}
