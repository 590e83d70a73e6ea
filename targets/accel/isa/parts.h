/* SPDX-License-Identifier: Apache-2.0
 * parts: what several commands have in common, wherever each of them has the fields: the window
 * that CONV, DWC and POOL read, the epilogue of CONV, DWC and MM, and what LD and ST move. Of valid
 * commands.
 * Validation, durations and the models read these fields here; the checker does not. */
#ifndef WICK_ACCEL_PARTS_H
#define WICK_ACCEL_PARTS_H

#include "targets/accel/isa/isa.h"

/* Addresses and strides in bytes; pad_t, pad_l, h, w and the strides sy, sx in rows and columns. */
typedef struct {
  int64_t in, in_y, in_x, k_y, k_x;
  int ny, nx, ky, kx, pad_t, pad_l, h, w, sy, sx, dy, dx;
} wk_window;
wk_window wk_window_of(const wk_isa_command *c);

static inline int64_t wk_window_address(const wk_window *w, int y, int x, int ky, int kx) {
  return w->in + y * w->in_y + x * w->in_x + ky * w->k_y + kx * w->k_x;
}

/* Tap (ky, kx) of output (y, x) is no padding. */
static inline bool wk_window_is_inside(const wk_window *w, int y, int x, int ky, int kx) {
  int iy = y * w->sy + ky * w->dy - w->pad_t, ix = x * w->sx + kx * w->dx - w->pad_l;
  return (!w->h || (iy >= 0 && iy < w->h)) && (!w->w || (ix >= 0 && ix < w->w));
}

/* Sums, and what becomes of them: pixel (y, x) of ny * nx has the entry acc + y * nx + x; with
 * `drain`, its n bytes go to out + y * out_y + x * out_x. A row of MM is a pixel: nx = 1,
 * out_x = 0. */
typedef struct {
  bool accumulate, drain, residual;
  int ny, nx, n;
  uint64_t acc, out, out_y, out_x, par, res;
} wk_epilogue;
wk_epilogue wk_epilogue_of(const wk_isa_command *c);

/* LD, ST: bytes that are moved; in memory they begin at `dram` and end before this. */
static inline uint64_t wk_transfer_bytes(const wk_isa_command *c) {
  return WK_V(c, LD, n0) * WK_V(c, LD, n1) * WK_V(c, LD, n2) * WK_V(c, LD, n3);
}
static inline uint64_t wk_transfer_end(const wk_isa_command *c) {
  return WK_V(c, LD, dram) + (WK_V(c, LD, n1) - 1) * WK_V(c, LD, s1) +
         (WK_V(c, LD, n2) - 1) * WK_V(c, LD, s2) + (WK_V(c, LD, n3) - 1) * WK_V(c, LD, s3) +
         WK_V(c, LD, n0);
}

#endif
