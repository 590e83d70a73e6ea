/* SPDX-License-Identifier: Apache-2.0
 * Random windows of convolutions and pools, for all generators: every end of every axis is padded
 * on its own, by nothing, by exactly what the last tap reaches, by one more or less, or between;
 * strides that leave a remainder; dilation. */
#ifndef WICK_TESTS_RANDOM_WINDOW_H
#define WICK_TESTS_RANDOM_WINDOW_H

#include "compiler/support/support.h"

enum { RANDOM_WINDOW_AXES = 3 };

typedef struct {
  int64_t kernel[RANDOM_WINDOW_AXES], strides[RANDOM_WINDOW_AXES], dilations[RANDOM_WINDOW_AXES];
  int64_t pads[2 * RANDOM_WINDOW_AXES]; /* all begins, then all ends */
} random_window;

/* One end, for a last tap that lies `reach` after the first one. */
static inline int64_t random_padding(wk_rng *r, int64_t reach, int64_t most) {
  int64_t choice = wk_rng_range(r, 0, 9), p = 0;
  if (choice < 3) p = reach;
  else if (choice < 4) p = reach - 1;
  else if (choice < 5) p = reach + 1;
  else if (choice < 6) p = wk_rng_range(r, 0, reach);
  return p < 0 ? 0 : p > most ? most : p;
}

static inline void random_window_axis(wk_rng *r, random_window *w, int i, int64_t largest) {
  bool is_dilated = wk_rng_range(r, 0, 4) == 0;
  w->kernel[i] = wk_rng_range(r, 1, wk_rng_range(r, 0, 9) ? (largest < 3 ? largest : 3) : largest);
  w->dilations[i] = is_dilated ? wk_rng_range(r, 2, 3) : 1;
  w->strides[i] = wk_rng_range(r, 0, 1) ? 1 : wk_rng_range(r, 1, 3);
}

/* Kernels of up to `largest` over `size` positions (at least 1 each) of each axis. There is at
 * least one window; `inside`: every window touches the input. */
static inline random_window random_window_draw(wk_rng *r, int axes, const int64_t *size,
                                               int64_t largest, bool inside) {
  random_window w = {{0}, {0}, {0}, {0}};
  for (int i = 0; i < axes; i++) {
    random_window_axis(r, &w, i, largest);
    int64_t reach = (w.kernel[i] - 1) * w.dilations[i], most = inside ? reach : reach + 1;
    int64_t begin = random_padding(r, reach, most), end = random_padding(r, reach, most);
    if (size[i] + begin + end < reach + 1) end = reach + 1 - size[i] - begin;
    w.pads[i] = begin;
    w.pads[axes + i] = end;
  }
  return w;
}

/* The same for a transposed convolution, whose result the padding cuts: something is left. */
static inline random_window random_window_transposed(wk_rng *r, int axes, const int64_t *size,
                                                     int64_t largest) {
  random_window w = {{0}, {0}, {0}, {0}};
  for (int i = 0; i < axes; i++) {
    random_window_axis(r, &w, i, largest);
    int64_t reach = (w.kernel[i] - 1) * w.dilations[i];
    int64_t room = (size[i] - 1) * w.strides[i] + reach;
    w.pads[i] = random_padding(r, reach, room);
    w.pads[axes + i] = random_padding(r, reach, room - w.pads[i]);
  }
  return w;
}

#endif
