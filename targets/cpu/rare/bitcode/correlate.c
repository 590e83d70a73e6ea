/* SPDX-License-Identifier: Apache-2.0
 *
 * A convolution of every channel by itself with a window that is most of the image, so that few
 * sums are many terms long: what the weights of a depthwise convolution get. Views y [1, c, o...],
 * x [1, c, s...] and w [c, 1, k...], whose channels are the fastest axis. A task is a group of
 * channels in vectors; for each line of w, sums of neighbouring outputs are kept in registers, and
 * then added to those of the plane of w, and these to those of all planes. */
#include "targets/cpu/rare/bitcode/scalar.h"

#pragma clang fp contract(fast)

/* As many sums as fit into registers. */
#if defined __AVX512F__
enum { WIDE = 32, NARROW = 16 };
#elif defined __AVX2__
enum { WIDE = 8, NARROW = 4 };
#else
enum { WIDE = 4, NARROW = 4 };
#endif

enum { STRIDE_H = RARE_STRIDE + 1, STRIDE_W, DILATION_H = RARE_DILATION + 1, DILATION_W };
enum { PAD_H = RARE_PAD + 1, PAD_W };

/* Taps along w whose pixel exists for output o. */
typedef struct {
  int64_t first, end;
} taps;

RARE int64_t ceil_div(int64_t a, int64_t b) { return a > 0 ? (a - 1) / b + 1 : 0; }

RARE taps taps_at(const wk_rare *d, int64_t o) {
  int64_t at = o * d->attr[STRIDE_W] - d->attr[PAD_W], step = d->attr[DILATION_W];
  taps t = {ceil_div(-at, step), rare_min(d->view[2].dims[4],
                                          ceil_div(d->view[1].dims[4] - at, step))};
  if (t.end < t.first) t.end = t.first;
  return t;
}

/* A line of w, and the lines of x that its outputs meet; elements. */
typedef struct {
  const float *x, *w;
  int64_t x_row, x_column, x_step, w_step; /* from output to output, from tap to tap */
} lines;

#define UNROLL _Pragma("clang loop unroll(full)")

/* Sums of rows x columns outputs over taps first .. end, added to sums[row * width + column]. */
#define CORRELATE(V, name)                                                                         \
  RARE void name##_tile(const int rows, const int columns, const lines *l, int64_t first,          \
                        int64_t end, int64_t width, V *sums) {                                     \
    V acc[9];                                                                                      \
    const float *x = l->x + first * l->x_step, *w = l->w + first * l->w_step;                      \
    UNROLL for (int k = 0; k < rows * columns; k++) acc[k] = (V){0};                               \
    for (int64_t t = first; t < end; t++, x += l->x_step, w += l->w_step) {                        \
      V g = *(const V *)w;                                                                         \
      UNROLL for (int r = 0; r < rows; r++)                                                        \
        UNROLL for (int c = 0; c < columns; c++)                                                   \
          acc[r * columns + c] += g * *(const V *)(x + r * l->x_row + c * l->x_column);            \
    }                                                                                              \
    UNROLL for (int r = 0; r < rows; r++)                                                          \
      UNROLL for (int c = 0; c < columns; c++) sums[r * width + c] += acc[r * columns + c];        \
  }                                                                                                \
                                                                                                   \
  /* One column of outputs, few taps: near borders. */                                             \
  static __attribute__((noinline)) void name##_edge(int rows, const lines *l, int64_t first,       \
                                                    int64_t end, int64_t width, V *sums) {         \
    for (int64_t t = first; t < end; t++)                                                          \
      for (int r = 0; r < rows; r++)                                                               \
        sums[r * width] += *(const V *)(l->w + t * l->w_step) *                                    \
                           *(const V *)(l->x + t * l->x_step + r * l->x_row);                      \
  }                                                                                                \
                                                                                                   \
  /* The same over all taps of the outputs from column o on: those that all of them have together, \
   * the others one by one. */                                                                     \
  RARE void name##_line(const wk_rare *d, const int rows, const int columns, const lines *l,       \
                        int64_t o, V *sums) {                                                      \
    int64_t width = d->view[0].dims[4];                                                            \
    taps all = taps_at(d, o), last = taps_at(d, o + columns - 1);                                  \
    all.end = last.end < all.first ? all.first : last.end; /* both fall as o rises */              \
    lines one = *l;                                                                                \
    if (all.end > all.first) name##_tile(rows, columns, l, all.first, all.end, width, sums);       \
    for (int c = 0; c < columns; c++, one.x += l->x_column) {                                      \
      taps own = taps_at(d, o + c);                                                                \
      int64_t before = rare_min(own.end, all.first), behind = rare_max(own.first, all.end);        \
      if (own.first < before) name##_edge(rows, &one, own.first, before, width, sums + c);         \
      if (behind < own.end) name##_edge(rows, &one, behind, own.end, width, sums + c);             \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  /* All columns of `rows` rows of outputs. */                                                     \
  RARE void name##_rows(const wk_rare *d, const int rows, lines l, V *sums) {                      \
    int64_t width = d->view[0].dims[4];                                                            \
    for (int64_t o = 0; o < width;) {                                                              \
      int64_t left = width - o, n = left >= 5 && rows == 1 ? 5 : left >= 3 ? 3 : 1;                \
      if (n == 5) name##_line(d, rows, rows == 1 ? 5 : 1, &l, o, sums + o);                        \
      else if (n == 3) name##_line(d, rows, 3, &l, o, sums + o);                                   \
      else name##_line(d, rows, 1, &l, o, sums + o);                                               \
      l.x += n * l.x_column;                                                                       \
      o += n;                                                                                      \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  /* Line h of a plane of w; x: the plane of x, at column -pad. */                                 \
  RARE void name##_lines(const wk_rare *d, const float *x, const float *w, int64_t h, V *sums) {   \
    const wk_rare_view *vy = &d->view[0], *vx = &d->view[1], *vw = &d->view[2];                    \
    int64_t stride = d->attr[STRIDE_H], at = h * d->attr[DILATION_H] - d->attr[PAD_H];             \
    int64_t height = vx->dims[3], n;                                                               \
    lines l = {.w = w, .x_row = stride * vx->strides[3],                                           \
               .x_column = d->attr[STRIDE_W] * vx->strides[4],                                     \
               .x_step = d->attr[DILATION_W] * vx->strides[4], .w_step = vw->strides[4]};          \
    for (int64_t o = 0; o < vy->dims[3]; o += n, at += n * stride) {                               \
      bool are_three = o + 3 <= vy->dims[3] && at >= 0 && at + 2 * stride < height;                \
      n = are_three ? 3 : 1;                                                                       \
      l.x = x + at * vx->strides[3];                                                               \
      if (are_three) name##_rows(d, 3, l, sums + o * vy->dims[4]);                                 \
      else if (at >= 0 && at < height) name##_rows(d, 1, l, sums + o * vy->dims[4]);               \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  /* Planes of w one by one. sums: 2 x outputs. */                                                 \
  RARE void name##_channels(const wk_rare *d, void *const *args, int64_t channel, V *sums) {       \
    const wk_rare_view *vy = &d->view[0], *vx = &d->view[1], *vw = &d->view[2];                    \
    int64_t n = vy->dims[3] * vy->dims[4];                                                         \
    V *plane = sums + n;                                                                           \
    const float *x = (const float *)args[1] + channel - d->attr[PAD_W] * vx->strides[4];           \
    const float *w = (const float *)args[2] + channel;                                             \
    for (int64_t od = 0; od < vy->dims[2]; od++) {                                                 \
      float *y = (float *)args[0] + channel * vy->strides[1] + od * vy->strides[2];                \
      for (int64_t k = 0; k < n; k++) sums[k] = (V){0};                                            \
      for (int64_t z = 0; z < vw->dims[2]; z++) {                                                  \
        int64_t at = od * d->attr[RARE_STRIDE] + z * d->attr[RARE_DILATION] - d->attr[RARE_PAD];   \
        if (at < 0 || at >= vx->dims[2]) continue;                                                 \
        for (int64_t k = 0; k < n; k++) plane[k] = (V){0};                                         \
        for (int64_t h = 0; h < vw->dims[3]; h++)                                                  \
          name##_lines(d, x + at * vx->strides[2],                                                 \
                       w + z * vw->strides[2] + h * vw->strides[3], h, plane);                     \
        for (int64_t k = 0; k < n; k++) sums[k] += plane[k];                                       \
      }                                                                                            \
      for (int64_t k = 0; k < n; k++)                                                              \
        for (int64_t c = 0; c < (int64_t)(sizeof(V) / 4); c++)                                     \
          y[k / vy->dims[4] * vy->strides[3] + k % vy->dims[4] * vy->strides[4] +                  \
            c * vy->strides[1]] = ((const float *)&sums[k])[c];                                    \
    }                                                                                              \
  }

typedef float wide __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef float narrow __attribute__((vector_size(4 * NARROW), aligned(4), may_alias));
CORRELATE(wide, wide)
CORRELATE(narrow, narrow)
CORRELATE(float, single)

/* A task is RARE_GROUP_CHANNELS channels. */
void wk_rare_correlate(void *const *args, void *scratch, int64_t begin, int64_t end,
                       const wk_rare *d) {
  int64_t c = begin * RARE_GROUP_CHANNELS, channels = d->view[1].dims[1];
  int64_t to = rare_min(channels, end * RARE_GROUP_CHANNELS);
  for (; c + WIDE <= to; c += WIDE) wide_channels(d, args, c, scratch);
  for (; c + NARROW <= to; c += NARROW) narrow_channels(d, args, c, scratch);
  for (; c < to; c++) single_channels(d, args, c, scratch);
}
