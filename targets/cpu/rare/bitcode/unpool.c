/* SPDX-License-Identifier: Apache-2.0
 *
 * Adjoint of max_pool: each element of y adds up what the windows that it is in have for it, the
 * first window first. Nothing is scattered, so tasks share no element. Views y, x, taps. */
#include "targets/cpu/rare/bitcode/scalar.h"

/* The windows along an axis that reach one position of y: first <= o <= last, but for those whose
 * dilation steps over it. */
typedef struct {
  int64_t at; /* position, counted from where the first window begins */
  int64_t first, last;
} reach;

RARE reach reach_at(const wk_rare *d, int axis, int64_t position) {
  int64_t stride = d->attr[RARE_STRIDE + axis], dilation = d->attr[RARE_DILATION + axis];
  reach r = {.at = position + d->attr[RARE_PAD + axis]};
  int64_t before = r.at - (d->attr[RARE_KERNEL + axis] - 1) * dilation;
  r.first = before > 0 ? (before - 1) / stride + 1 : 0;
  r.last = rare_min(d->view[1].dims[2 + axis] - 1, r.at / stride);
  return r;
}

/* The same of the next position, without a division. */
RARE void advance(const wk_rare *d, int axis, reach *r) {
  int64_t stride = d->attr[RARE_STRIDE + axis], windows = d->view[1].dims[2 + axis];
  int64_t span = (d->attr[RARE_KERNEL + axis] - 1) * d->attr[RARE_DILATION + axis];
  r->at++;
  while (r->first * stride < r->at - span) r->first++;
  while (r->last + 1 < windows && (r->last + 1) * stride <= r->at) r->last++;
}

/* The tap by which window o reaches the position; -1: by none. */
RARE int64_t tap_of(const wk_rare *d, int axis, const reach *r, int64_t o) {
  int64_t steps = r->at - o * d->attr[RARE_STRIDE + axis];
  int64_t dilation = d->attr[RARE_DILATION + axis];
  if (dilation == 1) return steps;
  return steps % dilation ? -1 : steps / dilation;
}

/* A position of y: for each window that has it (od, oh, ow), its tap. */
typedef struct {
  reach axis[3];
} place;

#define FOR_WINDOWS(p, d, od, oh, ow, tap)                                                         \
  for (int64_t od = (p)->axis[0].first; od <= (p)->axis[0].last; od++)                             \
    for (int64_t td_ = tap_of(d, 0, &(p)->axis[0], od), oh = (p)->axis[1].first;                   \
         td_ >= 0 && oh <= (p)->axis[1].last; oh++)                                                \
      for (int64_t th_ = tap_of(d, 1, &(p)->axis[1], oh), ow = (p)->axis[2].first;                 \
           th_ >= 0 && ow <= (p)->axis[2].last; ow++)                                              \
        for (int64_t tw_ = tap_of(d, 2, &(p)->axis[2], ow),                                        \
                     tap = (td_ * (d)->attr[RARE_KERNEL + 1] + th_) *                              \
                               (d)->attr[RARE_KERNEL + 2] + tw_;                                   \
             tw_ >= 0; tw_ = -1)

RARE int64_t offset_of(const wk_rare_view *v, int64_t od, int64_t oh, int64_t ow) {
  return od * v->strides[2] + oh * v->strides[3] + ow * v->strides[4];
}

/* ---- channels in vectors --------------------------------------------------------------------- */

enum { LANES = 16 };
typedef float floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t whole __attribute__((vector_size(4 * LANES)));
typedef uint8_t bytes __attribute__((vector_size(LANES), aligned(1), may_alias));

/* Windows that have a position: where their elements of x and of taps are, and the position's
 * tap. */
enum { FEW = 32 };
typedef struct {
  int64_t n, x[FEW], taps[FEW];
  int32_t tap[FEW];
} windows;

/* y[c] = what the windows have for it, behind what is there already. */
RARE void sum_channels(const windows *l, int64_t channels, bool is_first, const float *x,
                       const uint8_t *taps, float *y) {
  int64_t c = 0;
  for (; c + LANES <= channels; c += LANES) {
    floats sum = is_first ? (floats){0} : *(const floats *)(y + c);
    for (int64_t k = 0; k < l->n; k++) {
      bytes named = *(const bytes *)(taps + l->taps[k] + c);
      whole is_it = __builtin_convertvector(named, whole) == l->tap[k];
      floats v = *(const floats *)(x + l->x[k] + c);
      sum += (floats)((whole)v & is_it);
    }
    *(floats *)(y + c) = sum;
  }
  for (; c < channels; c++) {
    float sum = is_first ? 0 : y[c];
    for (int64_t k = 0; k < l->n; k++)
      if (taps[l->taps[k] + c] == l->tap[k]) sum += x[l->x[k] + c];
    y[c] = sum;
  }
}

RARE void sum_pixel(const wk_rare *d, const place *p, const float *x, const uint8_t *taps,
                    float *y) {
  windows l;
  l.n = 0; /* the rest is not read */
  bool is_first = true;
  FOR_WINDOWS(p, d, od, oh, ow, tap) {
    if (l.n == FEW) {
      sum_channels(&l, d->view[1].dims[1], is_first, x, taps, y);
      is_first = false;
      l.n = 0;
    }
    l.x[l.n] = offset_of(&d->view[1], od, oh, ow);
    l.taps[l.n] = offset_of(&d->view[2], od, oh, ow);
    l.tap[l.n++] = (int32_t)tap;
  }
  sum_channels(&l, d->view[1].dims[1], is_first, x, taps, y);
}

/* f32 and taps of u8, channels fastest in all three. A task is a row of positions of y. */
void wk_rare_unpool_rows(void *const *args, void *scratch, int64_t begin, int64_t end,
                         const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *vy = &d->view[0], *vx = &d->view[1], *vt = &d->view[2];
  for (int64_t t = begin; t < end; t++) {
    int64_t h = t % vy->dims[3], rest = t / vy->dims[3], z = rest % vy->dims[2];
    int64_t n = rest / vy->dims[2];
    const float *x = (const float *)args[1] + n * vx->strides[0];
    const uint8_t *taps = (const uint8_t *)args[2] + n * vt->strides[0];
    float *y = (float *)args[0] + n * vy->strides[0] + offset_of(vy, z, h, 0);
    place p = {{reach_at(d, 0, z), reach_at(d, 1, h), reach_at(d, 2, 0)}};
    for (int64_t w = 0; w < vy->dims[4]; w++, advance(d, 2, &p.axis[2]))
      sum_pixel(d, &p, x, taps, y + w * vy->strides[4]);
  }
}

/* ---- element by element ---------------------------------------------------------------------- */

/* A task is a line along w of one channel of y. */
void wk_rare_unpool(void *const *args, void *scratch, int64_t begin, int64_t end,
                    const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *vy = &d->view[0], *vx = &d->view[1], *vt = &d->view[2];
  for (int64_t t = begin; t < end; t++) {
    int64_t h = t % vy->dims[3], rest = t / vy->dims[3], z = rest % vy->dims[2];
    int64_t c = rest / vy->dims[2] % vy->dims[1], n = rest / vy->dims[2] / vy->dims[1];
    const void *x = rare_at(args[1], vx, n * vx->strides[0] + c * vx->strides[1]);
    const void *taps = rare_at(args[2], vt, n * vt->strides[0] + c * vt->strides[1]);
    int64_t to = n * vy->strides[0] + c * vy->strides[1] + offset_of(vy, z, h, 0);
    place p = {{reach_at(d, 0, z), reach_at(d, 1, h), reach_at(d, 2, 0)}};
    for (int64_t w = 0; w < vy->dims[4]; w++, advance(d, 2, &p.axis[2])) {
      double sum = 0;
      FOR_WINDOWS(&p, d, od, oh, ow, tap)
        if (rare_get_i(rare_at(taps, vt, offset_of(vt, od, oh, ow)), vt->dtype) == tap)
          sum += rare_get_f(rare_at(x, vx, offset_of(vx, od, oh, ow)), vx->dtype);
      rare_put_f(rare_at(args[0], vy, to + w * vy->strides[4]), vy->dtype, sum);
    }
  }
}
