/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution and transposed convolution of any type and layout. A task is one row of the output (a
 * sample, a channel, a line along w); sums of a block of the row are kept while taps and input
 * channels are gone through. Where x is padded with another value than 0, all of x is taken
 * relative to that value and the sum begins with the value times the weights. Along w, the outputs
 * that a tap reaches are an arithmetic progression: all of them from some first one (convolution),
 * or every stride-th one (transposed). */
#include "targets/cpu/rare/bitcode/scalar.h"

enum { BLOCK = 64 };

typedef struct {
  int64_t first, count, step; /* outputs of the block, relative to its start */
  int64_t at, move;           /* input position of the first one, and from one to the next */
} run;

RARE int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/* Input coordinate that output o reads through tap t along a spatial axis; -1: none. */
RARE int64_t source(const wk_rare *d, bool transposed, int axis, int64_t o, int64_t t) {
  int64_t s = d->attr[RARE_STRIDE + axis], pad = d->attr[RARE_PAD + axis];
  int64_t reach = t * d->attr[RARE_DILATION + axis], at;
  if (transposed) {
    at = o + pad - reach;
    if (at < 0 || at % s) return -1;
    at /= s;
  } else {
    at = o * s + reach - pad;
  }
  return at >= 0 && at < d->view[1].dims[2 + axis] ? at : -1;
}

/* Outputs o0 .. o0 + n that tap t reaches along w. */
RARE run reach(const wk_rare *d, bool transposed, int64_t o0, int64_t n, int64_t t) {
  int64_t s = d->attr[RARE_STRIDE + 2], w = d->view[1].dims[4];
  int64_t shift = t * d->attr[RARE_DILATION + 2] - d->attr[RARE_PAD + 2];
  run r = {0, 0, 1, 0, s};
  if (!transposed) { /* 0 <= (o0 + j) * s + shift < w */
    r.first = rare_max(0, ceil_div(-shift, s) - o0);
    r.count = rare_min(n, ceil_div(w - shift, s) - o0) - r.first;
    r.at = (o0 + r.first) * s + shift;
  } else { /* o0 + j - shift = s * i, 0 <= i < w */
    int64_t i = rare_max(0, ceil_div(o0 - shift, s));
    r.first = s * i + shift - o0;
    r.count = r.first < n ? rare_min((n - 1 - r.first) / s + 1, w - i) : 0;
    r.step = s;
    r.at = i;
    r.move = 1;
  }
  return r;
}

/* Sum over the weights of an output channel. */
#define WEIGHTS(name, W, ACC)                                                                      \
  RARE ACC name##_weights(const wk_rare *d, const W *w) {                                          \
    const wk_rare_view *vw = &d->view[2];                                                          \
    ACC sum = 0;                                                                                   \
    for (int64_t c = 0; c < vw->dims[1]; c++)                                                      \
      for (int64_t td = 0; td < vw->dims[2]; td++)                                                 \
        for (int64_t th = 0; th < vw->dims[3]; th++)                                               \
          for (int64_t tw = 0; tw < vw->dims[4]; tw++)                                             \
            sum += (ACC)w[c * vw->strides[1] + td * vw->strides[2] + th * vw->strides[3] +         \
                          tw * vw->strides[4]];                                                    \
    return sum;                                                                                    \
  }
#define CONV(name, X, W, ACC)                                                                      \
  WEIGHTS(name, W, ACC)                                                                            \
  RARE void name##_taps(const wk_rare *d, bool transposed, const X *x, const W *w, int64_t od,     \
                        int64_t oh, int64_t o0, int64_t n, ACC *acc) {                             \
    const wk_rare_view *vx = &d->view[1], *vw = &d->view[2];                                       \
    const int64_t *k = &d->attr[RARE_KERNEL];                                                      \
    ACC zero = (ACC)d->attr[RARE_PAD_VALUE];                                                       \
    int64_t channels = transposed ? vw->dims[0] / d->attr[RARE_GROUP] : vw->dims[1];               \
    int64_t w_channel = vw->strides[transposed ? 0 : 1];                                           \
    for (int64_t td = 0; td < k[0]; td++) {                                                        \
      int64_t id = source(d, transposed, 0, od, td);                                               \
      for (int64_t th = 0; id >= 0 && th < k[1]; th++) {                                           \
        int64_t ih = source(d, transposed, 1, oh, th);                                             \
        for (int64_t tw = 0; ih >= 0 && tw < k[2]; tw++) {                                         \
          run r = reach(d, transposed, o0, n, tw);                                                 \
          const X *line = x + id * vx->strides[2] + ih * vx->strides[3] + r.at * vx->strides[4];   \
          const W *tap = w + td * vw->strides[2] + th * vw->strides[3] + tw * vw->strides[4];      \
          int64_t move = r.move * vx->strides[4];                                                  \
          for (int64_t c = 0; c < channels; c++) {                                                 \
            const X *from = line + c * vx->strides[1];                                             \
            ACC weight = (ACC)tap[c * w_channel];                                                  \
            if (move == 1 && r.step == 1)                                                          \
              for (int64_t j = 0; j < r.count; j++)                                                \
                acc[r.first + j] += ((ACC)from[j] - zero) * weight;                                \
            else                                                                                   \
              for (int64_t j = 0; j < r.count; j++)                                                \
                acc[r.first + j * r.step] += ((ACC)from[j * move] - zero) * weight;                \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  RARE void name##_rows(void *const *args, int64_t begin, int64_t end, const wk_rare *d,           \
                        bool transposed) {                                                         \
    const wk_rare_view *vy = &d->view[0], *vx = &d->view[1], *vw = &d->view[2];                    \
    int64_t oc_group = vy->dims[1] / d->attr[RARE_GROUP];                                          \
    int64_t ic_group = vx->dims[1] / d->attr[RARE_GROUP];                                          \
    for (int64_t t = begin; t < end; t++) {                                                        \
      int64_t oh = t % vy->dims[3], rest = t / vy->dims[3], od = rest % vy->dims[2];               \
      rest /= vy->dims[2];                                                                         \
      int64_t oc = rest % vy->dims[1], n = rest / vy->dims[1], g = oc / oc_group;                  \
      const X *x = (const X *)args[1] + n * vx->strides[0] + g * ic_group * vx->strides[1];        \
      const W *w = (const W *)args[2];                                                             \
      w += transposed ? g * ic_group * vw->strides[0] + oc % oc_group * vw->strides[1]             \
                      : oc * vw->strides[0];                                                       \
      ACC *y = (ACC *)args[0] + n * vy->strides[0] + oc * vy->strides[1] + od * vy->strides[2] +   \
               oh * vy->strides[3];                                                                \
      ACC start = 0;                                                                               \
      if (d->attr[RARE_PAD_VALUE])                                                                 \
        start = (ACC)d->attr[RARE_PAD_VALUE] * name##_weights(d, w);                               \
      for (int64_t o0 = 0; o0 < vy->dims[4]; o0 += BLOCK) {                                        \
        ACC acc[BLOCK];                                                                            \
        int64_t m = rare_min(BLOCK, vy->dims[4] - o0);                                             \
        for (int64_t j = 0; j < BLOCK; j++) acc[j] = start;                                        \
        name##_taps(d, transposed, x, w, od, oh, o0, m, acc);                                      \
        for (int64_t j = 0; j < m; j++) y[(o0 + j) * vy->strides[4]] = acc[j];                     \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  void wk_rare_conv_##name(void *const *args, void *scratch, int64_t begin, int64_t end,           \
                           const wk_rare *d) {                                                     \
    (void)scratch;                                                                                 \
    name##_rows(args, begin, end, d, false);                                                       \
  }                                                                                                \
  void wk_rare_conv_transpose_##name(void *const *args, void *scratch, int64_t begin,              \
                                     int64_t end, const wk_rare *d) {                              \
    (void)scratch;                                                                                 \
    name##_rows(args, begin, end, d, true);                                                        \
  }

#include "targets/cpu/rare/bitcode/types.def"

RARE_TYPES(CONV)
