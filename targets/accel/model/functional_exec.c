/* SPDX-License-Identifier: Apache-2.0
 * CONV, DWC, MM: sums in the accumulators, and the drain. This is where the model spends its
 * time: the product of a vector and a tile is compiled for every array and for several
 * processors. */
#include <string.h>

#include "targets/accel/model/functional.h"
#include "targets/accel/isa/parts.h"

enum { MAX_N = 32 };

static int32_t *entry(wk_functional *f, const wk_epilogue *e, int pixel) {
  return f->accumulators + (e->acc + (uint64_t)pixel) * (uint64_t)f->n;
}

static void begin(wk_functional *f, const wk_epilogue *e) {
  if (!e->accumulate)
    memset(entry(f, e, 0), 0, (size_t)e->ny * (size_t)e->nx * (size_t)f->n * sizeof(int32_t));
}

static void drain_pixel(wk_functional *f, const wk_epilogue *e, int y, int x, const wk_record *r,
                        const wk_record_entry *channel) {
  uint64_t at = (uint64_t)y * e->out_y + (uint64_t)x * e->out_x;
  const int32_t *sums = entry(f, e, y * e->nx + x);
  uint8_t out[MAX_N];
  for (int o = 0; o < e->n; o++) {
    int32_t v = wk_functional_requantise(sums[o], r, &channel[o]);
    if (e->residual)
      v = wk_functional_add(
          v, wk_functional_byte(f->scratchpad[e->res + at + (uint64_t)o], r->residual_is_u8), r);
    out[o] = (uint8_t)v;
  }
  memcpy(f->scratchpad + e->out + at, out, (size_t)e->n);
  wk_functional_tell(f, e->out + at, (uint64_t)e->n);
}

static void finish(wk_functional *f, const wk_epilogue *e) {
  wk_record_entry channel[MAX_N];
  if (!e->drain) return;
  wk_record r = wk_functional_record(f, e->par);
  for (int o = 0; o < e->n; o++) channel[o] = wk_functional_entry(f, e->par, o);
  for (int y = 0; y < e->ny; y++)
    for (int x = 0; x < e->nx; x++) drain_pixel(f, e, y, x, &r, channel);
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define CLONES
#endif

/* Input words of a row: `count` of them, `step` bytes apart, with `lanes` centred bytes each. */
typedef struct {
  const uint8_t *at;
  int64_t step;
  int count, lanes;
  bool is_u8;
  int32_t zero;
} words;

static inline int32_t lane(const words *x, int64_t at, int i) {
  uint8_t byte = x->at[at + i];
  return (x->is_u8 ? byte : (int8_t)byte) - x->zero;
}

/* sums[p][o] += sum of x[p][i] * w[i][o] over the lanes i, for every word p and o < N */
#define MULTIPLY(N)                                                                            \
  CLONES static void multiply_##N(int32_t *restrict sums, const words *restrict x,             \
                                  const int32_t *restrict w) {                                 \
    for (int p = 0; p < x->count; p++) {                                                       \
      uint32_t s[N];                                                                           \
      memcpy(s, sums + p * N, sizeof s);                                                       \
      for (int i = 0; i < x->lanes; i++) {                                                     \
        uint32_t v = (uint32_t)lane(x, p * x->step, i);                                        \
        for (int o = 0; o < N; o++) s[o] += v * (uint32_t)w[i * N + o];                        \
      }                                                                                        \
      memcpy(sums + p * N, s, sizeof s);                                                       \
    }                                                                                          \
  }
MULTIPLY(8)
MULTIPLY(16)
MULTIPLY(32)

static void multiply(int32_t *sums, const words *x, const int32_t *w, int n) {
  if (n == 8) multiply_8(sums, x, w);
  else if (n == 16) multiply_16(sums, x, w);
  else multiply_32(sums, x, w);
}

/* Centred bytes. */
static void read_lanes(const uint8_t *p, int lanes, bool is_u8, int32_t zero, int32_t *x) {
  if (is_u8)
    for (int i = 0; i < lanes; i++) x[i] = p[i] - zero;
  else
    for (int i = 0; i < lanes; i++) x[i] = (int8_t)p[i] - zero;
}

/* The pixels of row y that tap (ky, kx) finds inside the input: run after run of neighbours. */
static void conv_row(wk_functional *f, const wk_epilogue *e, const wk_window *w, words x,
                     int64_t block, int y, int ky, int kx, const int32_t *weights) {
  for (int px = 0; px < w->nx; px += x.count) {
    x.count = 0;
    while (px < w->nx && !wk_window_is_inside(w, y, px, ky, kx)) px++;
    while (px + x.count < w->nx && wk_window_is_inside(w, y, px + x.count, ky, kx)) x.count++;
    if (!x.count) return;
    int64_t at = wk_window_address(w, y, px, ky, kx);
    x.step = wk_window_address(w, y, px + 1, ky, kx) - at;
    x.at = f->scratchpad + at + block;
    multiply(entry(f, e, y * w->nx + px), &x, weights, f->n);
  }
}

void wk_functional_conv(wk_functional *f, const wk_isa_command *c) {
  wk_window w = wk_window_of(c);
  wk_epilogue e = wk_epilogue_of(c);
  words x = {.is_u8 = WK_V(c, CONV, u8)};
  int kc = (int)WK_V(c, CONV, kc), n = f->n;
  int32_t weights[MAX_N * MAX_N]; /* [i][o] */
  const uint8_t *tile = f->scratchpad + WK_V(c, CONV, wt);
  x.zero = wk_functional_byte((uint8_t)WK_V(c, CONV, zero), x.is_u8);
  begin(f, &e);
  for (int k = 0; k < kc; k++)
    for (int ky = 0; ky < w.ky; ky++)
      for (int kx = 0; kx < w.kx; kx++, tile += n * n) {
        x.lanes = k + 1 == kc ? (int)WK_V(c, CONV, k_tail) : n;
        memset(weights, 0, sizeof weights);
        for (int o = 0; o < e.n; o++)
          for (int i = 0; i < x.lanes; i++) weights[i * n + o] = (int8_t)tile[o * n + i];
        for (int y = 0; y < w.ny; y++)
          conv_row(f, &e, &w, x, k * (int64_t)WK_V(c, CONV, k_c), y, ky, kx, weights);
      }
  finish(f, &e);
}

void wk_functional_dwc(wk_functional *f, const wk_isa_command *c) {
  wk_window w = wk_window_of(c);
  wk_epilogue e = wk_epilogue_of(c);
  bool is_u8 = WK_V(c, DWC, u8);
  int32_t zero = wk_functional_byte((uint8_t)WK_V(c, DWC, zero), is_u8);
  int taps = WK_V(c, DWC, taps) == WK_CHOICE_TAPS_three ? 3 : 1,
      padded = wk_ceil_div(w.kx, taps) * taps;
  int32_t x[MAX_N];
  begin(f, &e);
  for (int ky = 0; ky < w.ky; ky++)
    for (int kx = 0; kx < w.kx; kx++) {
      const int8_t *weights =
          (const int8_t *)f->scratchpad + WK_V(c, DWC, wt) + (ky * padded + kx) * f->n;
      for (int y = 0; y < w.ny; y++)
        for (int px = 0; px < w.nx; px++) {
          if (!wk_window_is_inside(&w, y, px, ky, kx)) continue;
          int32_t *sums = entry(f, &e, y * w.nx + px);
          read_lanes(f->scratchpad + wk_window_address(&w, y, px, ky, kx), e.n, is_u8, zero, x);
          for (int i = 0; i < e.n; i++)
            sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)(x[i] * weights[i]));
        }
    }
  finish(f, &e);
}

/* The right matrix's tile of block k: weights[i][o] for i < lanes; 0 for outputs from n on. */
static void read_tile(const wk_functional *f, const wk_isa_command *c, int k, int lanes,
                      int32_t *weights) {
  bool is_u8 = WK_V(c, MM, w_u8), transposed = WK_V(c, MM, transposed);
  int32_t zero = wk_functional_byte((uint8_t)WK_V(c, MM, w_zero), is_u8);
  const uint8_t *tile = f->scratchpad + WK_V(c, MM, wt) + (uint64_t)k * WK_V(c, MM, w_c);
  uint64_t line = WK_V(c, MM, w_r);
  int n = (int)WK_V(c, MM, n);
  memset(weights, 0, (size_t)lanes * (size_t)f->n * sizeof *weights);
  for (int o = 0; o < n; o++)
    for (int i = 0; i < lanes; i++) {
      uint64_t at =
          transposed ? (uint64_t)i * line + (uint64_t)o : (uint64_t)o * line + (uint64_t)i;
      weights[i * f->n + o] = wk_functional_byte(tile[at], is_u8) - zero;
    }
}

void wk_functional_mm(wk_functional *f, const wk_isa_command *c) {
  wk_epilogue e = wk_epilogue_of(c);
  words x = {.is_u8 = WK_V(c, MM, u8), .step = (int64_t)WK_V(c, MM, in_y), .count = e.ny};
  int kc = (int)WK_V(c, MM, kc);
  int32_t weights[MAX_N * MAX_N];
  x.zero = wk_functional_byte((uint8_t)WK_V(c, MM, zero), x.is_u8);
  begin(f, &e);
  for (int k = 0; k < kc; k++) {
    x.lanes = k + 1 == kc ? (int)WK_V(c, MM, k_tail) : f->n;
    x.at = f->scratchpad + WK_V(c, MM, in) + (uint64_t)k * WK_V(c, MM, k_c);
    read_tile(f, c, k, x.lanes, weights);
    multiply(entry(f, &e, 0), &x, weights, f->n);
  }
  finish(f, &e);
}
