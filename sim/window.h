/* SPDX-License-Identifier: Apache-2.0
 * Where the window commands (CONV, DWC, POOL) read. */
#ifndef WICK_SIM_WINDOW_H
#define WICK_SIM_WINDOW_H

#include "targets/accel/isa/isa.h"

typedef struct {
  int64_t in, in_y, in_x, k_y, k_x;
  int ny, nx, ky, kx, pad_t, pad_l, h, w, sy, sx, dy, dx;
} wk_window;

#define WK_WINDOW(c, C)                                                                           \
  (wk_window) {                                                                                   \
    .in = WK_SV(c, C, in), .in_y = (int64_t)WK_V(c, C, in_y), .in_x = (int64_t)WK_V(c, C, in_x),  \
    .k_y = (int64_t)WK_V(c, C, k_y), .k_x = (int64_t)WK_V(c, C, k_x), .ny = (int)WK_V(c, C, ny),  \
    .nx = (int)WK_V(c, C, nx), .ky = (int)WK_V(c, C, ky), .kx = (int)WK_V(c, C, kx),              \
    .pad_t = (int)WK_V(c, C, pad_t), .pad_l = (int)WK_V(c, C, pad_l), .h = (int)WK_V(c, C, h),    \
    .w = (int)WK_V(c, C, w), .sy = (int)WK_V(c, C, sy), .sx = (int)WK_V(c, C, sx),                \
    .dy = (int)WK_V(c, C, dy), .dx = (int)WK_V(c, C, dx)                                          \
  }

static inline int64_t wk_window_address(const wk_window *w, int y, int x, int ky, int kx) {
  return w->in + y * w->in_y + x * w->in_x + ky * w->k_y + kx * w->k_x;
}

/* Tap (ky, kx) of output (y, x) is no padding. */
static inline bool wk_window_is_inside(const wk_window *w, int y, int x, int ky, int kx) {
  int iy = y * w->sy + ky * w->dy - w->pad_t, ix = x * w->sx + kx * w->dx - w->pad_l;
  return (!w->h || (iy >= 0 && iy < w->h)) && (!w->w || (ix >= 0 && ix < w->w));
}

#endif
