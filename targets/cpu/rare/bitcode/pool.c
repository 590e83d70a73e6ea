/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools. Where channels are the fastest axis of float tensors, a task is a row of output pixels
 * with all channels in vectors; anything else goes element by element. */
#include "targets/cpu/rare/bitcode/math.h"
#include "targets/cpu/rare/bitcode/scalar.h"

typedef struct {
  int64_t lo[3], hi[3]; /* taps inside the input */
  int64_t at[3];        /* input coordinate of tap 0 */
  int64_t counted;      /* taps inside the input with its real padding */
} window;

/* First and one past the last tap whose coordinate at + t * dilation is within [lo, hi). */
RARE void taps_within(int64_t at, int64_t dil, int64_t kernel, int64_t lo, int64_t hi,
                      int64_t *first, int64_t *last) {
  *first = 0;
  *last = kernel;
  if (at >= lo && at + (kernel - 1) * dil < hi) return; /* most windows: no division needed */
  *first = at < lo ? (lo - at - 1) / dil + 1 : 0;
  *last = at < hi ? rare_min(kernel, (hi - at - 1) / dil + 1) : 0;
  if (*last < *first) *last = *first;
}

RARE void set_axis(window *w, const wk_rare *d, int axis, int64_t o) {
  int64_t at = o * d->attr[RARE_STRIDE + axis] - d->attr[RARE_PAD + axis];
  w->at[axis] = at;
  taps_within(at, d->attr[RARE_DILATION + axis], d->attr[RARE_KERNEL + axis], 0,
              d->view[2].dims[2 + axis], &w->lo[axis], &w->hi[axis]);
}

RARE int64_t counted(const wk_rare *d, int axis, int64_t at) {
  int64_t first, last;
  taps_within(at, d->attr[RARE_DILATION + axis], d->attr[RARE_KERNEL + axis],
              -d->attr[RARE_REAL_BEFORE + axis],
              d->view[2].dims[2 + axis] + d->attr[RARE_REAL_AFTER + axis], &first, &last);
  return last - first;
}

RARE window window_at(const wk_rare *d, int64_t od, int64_t oh, int64_t ow) {
  window w;
  set_axis(&w, d, 0, od);
  set_axis(&w, d, 1, oh);
  set_axis(&w, d, 2, ow);
  w.counted = counted(d, 0, w.at[0]) * counted(d, 1, w.at[1]) * counted(d, 2, w.at[2]);
  return w;
}

#define FOR_TAPS(w, d, id, ih, iw)                                                          \
  for (int64_t td_ = (w).lo[0], id = (w).at[0] + td_ * (d)->attr[RARE_DILATION];            \
       td_ < (w).hi[0]; td_++, id += (d)->attr[RARE_DILATION])                              \
    for (int64_t th_ = (w).lo[1], ih = (w).at[1] + th_ * (d)->attr[RARE_DILATION + 1];      \
         th_ < (w).hi[1]; th_++, ih += (d)->attr[RARE_DILATION + 1])                        \
      for (int64_t tw_ = (w).lo[2], iw = (w).at[2] + tw_ * (d)->attr[RARE_DILATION + 2];    \
           tw_ < (w).hi[2]; tw_++, iw += (d)->attr[RARE_DILATION + 2])

/* ---- channels in vectors -------------------------------------------------------------------- */

/* NaN wins. */
RARE float larger(float a, float v) { return v > a || v != v ? v : a; }
RARE float sum(float a, float v) { return a + v; }
RARE float keep(float a, int64_t n) {
  (void)n;
  return a;
}
RARE float mean(float a, int64_t n) { return n ? a / (float)n : 0; }

#define VECTORS(lanes)                                                                             \
  typedef float vec##lanes __attribute__((vector_size(4 * lanes), aligned(4), may_alias));         \
  typedef int32_t cond##lanes __attribute__((vector_size(4 * lanes)));                             \
  RARE vec##lanes larger##lanes(vec##lanes a, vec##lanes v) {                                      \
    cond##lanes take = (v > a) | (v != v);                                                         \
    return (vec##lanes)(((cond##lanes)v & take) | ((cond##lanes)a & ~take));                       \
  }                                                                                                \
  RARE vec##lanes sum##lanes(vec##lanes a, vec##lanes v) { return a + v; }                         \
  RARE vec##lanes keep##lanes(vec##lanes a, int64_t n) {                                           \
    (void)n;                                                                                       \
    return a;                                                                                      \
  }                                                                                                \
  RARE vec##lanes mean##lanes(vec##lanes a, int64_t n) { return n ? a / (float)n : a * 0.0f; }
VECTORS(4)
VECTORS(8)
VECTORS(16)

/* As many groups of channels as fit, each in two vectors. */
#define GROUPS(lanes, START, FOLD, END)                                                            \
  for (; c + 2 * lanes <= channels; c += 2 * lanes) {                                              \
    vec##lanes a = (vec##lanes){0} + (START), b = a;                                               \
    FOR_TAPS(*w, d, id, ih, iw) {                                                                  \
      const float *from = x + id * s[2] + ih * s[3] + iw * s[4] + c;                               \
      a = FOLD##lanes(a, *(const vec##lanes *)from);                                               \
      b = FOLD##lanes(b, *(const vec##lanes *)(from + lanes));                                     \
    }                                                                                              \
    *(vec##lanes *)(y + c) = END##lanes(a, w->counted);                                            \
    *(vec##lanes *)(y + c + lanes) = END##lanes(b, w->counted);                                    \
  }

/* A task is a row of output pixels. */
#define ROW_TASKS(name, T)                                                                         \
  void wk_rare_##name##_rows(void *const *args, void *scratch, int64_t begin, int64_t end,         \
                             const wk_rare *d) {                                                   \
    (void)scratch;                                                                                 \
    const wk_rare_view *vy = &d->view[0], *vx = &d->view[2];                                       \
    for (int64_t t = begin; t < end; t++) {                                                        \
      int64_t oh = t % vy->dims[3], rest = t / vy->dims[3], od = rest % vy->dims[2];               \
      int64_t n = rest / vy->dims[2];                                                              \
      const T *x = (const T *)args[2] + n * vx->strides[0];                                        \
      T *y = (T *)args[0] + n * vy->strides[0] + od * vy->strides[2];                              \
      y += oh * vy->strides[3];                                                                    \
      for (int64_t ow = 0; ow < vy->dims[4]; ow++) {                                               \
        window w = window_at(d, od, oh, ow);                                                       \
        name##_pixel(d, &w, x, y + ow * vy->strides[4]);                                           \
      }                                                                                            \
    }                                                                                              \
  }

#define ROWS(name, START, FOLD, END)                                                               \
  RARE void name##_pixel(const wk_rare *d, const window *w, const float *x, float *y) {            \
    const int64_t *s = d->view[2].strides, channels = d->view[2].dims[1];                          \
    int64_t c = 0;                                                                                 \
    GROUPS(16, START, FOLD, END)                                                                   \
    GROUPS(8, START, FOLD, END)                                                                    \
    GROUPS(4, START, FOLD, END)                                                                    \
    for (; c < channels; c++) {                                                                    \
      float a = (START);                                                                           \
      FOR_TAPS(*w, d, id, ih, iw) a = FOLD(a, x[id * s[2] + ih * s[3] + iw * s[4] + c]);           \
      y[c] = END(a, w->counted);                                                                   \
    }                                                                                              \
  }                                                                                                \
  ROW_TASKS(name, float)

ROWS(max_pool, -__builtin_inff(), larger, keep)
ROWS(avg_pool, 0.0f, sum, mean)

/* ---- maxima of bytes, channels in vectors ---------------------------------------------------- */

#define BYTE_GROUP(T, lanes, name)                                                                 \
  typedef T name##_vec##lanes __attribute__((vector_size(lanes), aligned(1), may_alias));          \
  RARE int64_t name##_group##lanes(const wk_rare *d, const window *w, const T *x, T *y,            \
                                   int64_t c, T lowest) {                                          \
    const int64_t *s = d->view[2].strides, channels = d->view[2].dims[1];                          \
    for (; c + lanes <= channels; c += lanes) {                                                    \
      name##_vec##lanes a = (name##_vec##lanes){0} + lowest;                                       \
      FOR_TAPS(*w, d, id, ih, iw) {                                                                \
        const T *from = x + id * s[2] + ih * s[3] + iw * s[4] + c;                                 \
        name##_vec##lanes v = *(const name##_vec##lanes *)from;                                    \
        a = __builtin_elementwise_max(a, v);                                                       \
      }                                                                                            \
      *(name##_vec##lanes *)(y + c) = a;                                                           \
    }                                                                                              \
    return c;                                                                                      \
  }

#define BYTE_ROWS(T, name, LOWEST)                                                                 \
  BYTE_GROUP(T, 64, name)                                                                          \
  BYTE_GROUP(T, 16, name)                                                                          \
  BYTE_GROUP(T, 4, name)                                                                           \
  RARE void name##_pixel(const wk_rare *d, const window *w, const T *x, T *y) {                    \
    const int64_t *s = d->view[2].strides, channels = d->view[2].dims[1];                          \
    int64_t c = name##_group64(d, w, x, y, 0, LOWEST);                                             \
    c = name##_group16(d, w, x, y, c, LOWEST);                                                     \
    c = name##_group4(d, w, x, y, c, LOWEST);                                                      \
    for (; c < channels; c++) {                                                                    \
      T a = (LOWEST);                                                                              \
      FOR_TAPS(*w, d, id, ih, iw) {                                                                \
        T v = x[id * s[2] + ih * s[3] + iw * s[4] + c];                                            \
        a = v > a ? v : a;                                                                         \
      }                                                                                            \
      y[c] = a;                                                                                    \
    }                                                                                              \
  }                                                                                                \
  ROW_TASKS(name, T)

BYTE_ROWS(uint8_t, max_pool_u8, 0)
BYTE_ROWS(int8_t, max_pool_i8, INT8_MIN)

/* ---- lines of floats along w ---------------------------------------------------------------- */

typedef struct {
  int64_t n, c, od, oh;
  const char *x;
} line;

/* Task t is a line along w of one channel. */
RARE line line_of(const wk_rare *d, void *const *args, int64_t t) {
  const wk_rare_view *vy = &d->view[0], *vx = &d->view[2];
  line l;
  l.oh = t % vy->dims[3], t /= vy->dims[3];
  l.od = t % vy->dims[2], t /= vy->dims[2];
  l.c = t % vy->dims[1];
  l.n = t / vy->dims[1];
  l.x = rare_at(args[2], vx, l.n * vx->strides[0] + l.c * vx->strides[1]);
  return l;
}

RARE int64_t line_offset(const line *l, const int64_t *s) {
  return l->n * s[0] + l->c * s[1] + l->od * s[2] + l->oh * s[3];
}

/* One line of one channel. Where windows stay inside the input and step by one, neighbouring
 * outputs read neighbouring inputs: they share vectors. */
#define LINES(name, START, FOLD, END)                                                              \
  RARE void name##_line(const wk_rare *d, window *w, const float *x, float *y) {                   \
    const wk_rare_view *vy = &d->view[0], *vx = &d->view[2];                                       \
    const int64_t *s = vx->strides, *a = d->attr;                                                  \
    int64_t step = a[RARE_STRIDE + 2], pad = a[RARE_PAD + 2], kernel = a[RARE_KERNEL + 2];         \
    int64_t area = counted(d, 0, w->at[0]) * counted(d, 1, w->at[1]);                              \
    int64_t inside = vx->dims[4] + pad - (kernel - 1) * a[RARE_DILATION + 2];                      \
    bool dense = step == 1 && s[4] == 1 && vy->strides[4] == 1;                                    \
    for (int64_t ow = 0; ow < vy->dims[4];) {                                                      \
      set_axis(w, d, 2, ow);                                                                       \
      w->counted = area * counted(d, 2, w->at[2]);                                                 \
      if (dense && ow >= pad && ow + 16 <= rare_min(inside, vy->dims[4])) {                        \
        vec16 v = (vec16){0} + (START);                                                            \
        FOR_TAPS(*w, d, id, ih, iw)                                                                \
          v = FOLD##16(v, *(const vec16 *)(x + id * s[2] + ih * s[3] + iw));                       \
        *(vec16 *)(y + ow) = END##16(v, w->counted);                                               \
        ow += 16;                                                                                  \
        continue;                                                                                  \
      }                                                                                            \
      float v = (START);                                                                           \
      FOR_TAPS(*w, d, id, ih, iw) v = FOLD(v, x[id * s[2] + ih * s[3] + iw * s[4]]);               \
      y[ow++ * vy->strides[4]] = END(v, w->counted);                                               \
    }                                                                                              \
  }                                                                                                \
  void wk_rare_##name##_lines(void *const *args, void *scratch, int64_t begin, int64_t end,        \
                              const wk_rare *d) {                                                  \
    (void)scratch;                                                                                 \
    for (int64_t t = begin; t < end; t++) {                                                        \
      line l = line_of(d, args, t);                                                                \
      window w;                                                                                    \
      set_axis(&w, d, 0, l.od);                                                                    \
      set_axis(&w, d, 1, l.oh);                                                                    \
      name##_line(d, &w, (const float *)l.x,                                                       \
                  (float *)args[0] + line_offset(&l, d->view[0].strides));                         \
    }                                                                                              \
  }

LINES(max_pool, -__builtin_inff(), larger, keep)
LINES(avg_pool, 0.0f, sum, mean)

/* ---- maxima of floats and where they are ----------------------------------------------------- */

/* The number of tap (td, th, tw) of a window. */
RARE int64_t tap_number(const wk_rare *d, int64_t td, int64_t th, int64_t tw) {
  const int64_t *kernel = d->attr + RARE_KERNEL;
  return (td * kernel[1] + th) * kernel[2] + tw;
}

/* Flat position in the plane; column major counts the first of the real axes fastest. */
RARE int64_t plane_index(const wk_rare *d, int64_t id, int64_t ih, int64_t iw) {
  const int64_t *in = d->view[2].dims + 2;
  if (!d->attr[RARE_COLUMN_MAJOR]) return (id * in[1] + ih) * in[2] + iw;
  return (iw * in[1] + ih) * in[0] + id;
}

/* What names an element of a window: its place in the plane or its tap. */
RARE int64_t name_of(const wk_rare *d, int64_t td, int64_t th, int64_t tw, int64_t id, int64_t ih,
                     int64_t iw) {
  return d->attr[RARE_TAPS] ? tap_number(d, td, th, tw) : plane_index(d, id, ih, iw);
}
#define NAME(d, id, ih, iw) name_of(d, td_, th_, tw_, id, ih, iw)

RARE int32_t first_name(const wk_rare *d, const window *w) {
  int64_t at[3];
  for (int k = 0; k < 3; k++) {
    if (w->lo[k] >= w->hi[k]) return 0;
    at[k] = w->at[k] + w->lo[k] * d->attr[RARE_DILATION + k];
  }
  return (int32_t)name_of(d, w->lo[0], w->lo[1], w->lo[2], at[0], at[1], at[2]);
}

/* Where the names of a sample's maxima go, and of how many elements the sample is behind. */
typedef struct {
  void *at;
  int64_t before;
} names;

RARE void put_name(const wk_rare *d, const names *to, int64_t c, int64_t name) {
  const wk_rare_view *v = &d->view[1];
  if (!d->attr[RARE_TAPS]) name += to->before + c * rare_product(d->view[2].dims, 2, 5);
  rare_put_i(rare_at(to->at, v, c * v->strides[1]), v->dtype, name);
}

/* The first maximum of a window, or its first NaN, of channel c. */
RARE void place_channel(const wk_rare *d, const window *w, const float *x, float *y, int64_t c,
                        const names *to) {
  const int64_t *s = d->view[2].strides;
  float best = -__builtin_inff();
  int64_t name = first_name(d, w);
  FOR_TAPS(*w, d, id, ih, iw) {
    float v = x[id * s[2] + ih * s[3] + iw * s[4] + c];
    if (!(v > best || (v != v && best == best))) continue;
    best = v;
    name = NAME(d, id, ih, iw);
  }
  y[c] = best;
  put_name(d, to, c, name);
}

typedef uint8_t byte16 __attribute__((vector_size(16), aligned(1), may_alias));

RARE void place_channels(const wk_rare *d, const window *w, const float *x, float *y,
                         const names *to) {
  const int64_t *s = d->view[2].strides, channels = d->view[2].dims[1];
  bool are_bytes = d->view[1].dtype == WICK_U8 && d->view[1].strides[1] == 1;
  int64_t c = 0;
  for (; c + 16 <= channels; c += 16) {
    vec16 best = (vec16){0} - __builtin_inff();
    cond16 name = (cond16){0} + first_name(d, w);
    FOR_TAPS(*w, d, id, ih, iw) {
      vec16 v = *(const vec16 *)(x + id * s[2] + ih * s[3] + iw * s[4] + c);
      cond16 take = (v > best) | ((v != v) & (best == best));
      best = (vec16)(((cond16)v & take) | ((cond16)best & ~take));
      name = (((cond16){0} + (int32_t)NAME(d, id, ih, iw)) & take) | (name & ~take);
    }
    *(vec16 *)(y + c) = best;
    if (are_bytes) *(byte16 *)((char *)to->at + c) = __builtin_convertvector(name, byte16);
    else for (int64_t k = 0; k < 16; k++) put_name(d, to, c + k, name[k]);
  }
  for (; c < channels; c++) place_channel(d, w, x, y, c, to);
}

/* A task is a row of output pixels. */
void wk_rare_max_pool_rows_places(void *const *args, void *scratch, int64_t begin, int64_t end,
                                  const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *vy = &d->view[0], *vi = &d->view[1], *vx = &d->view[2];
  for (int64_t t = begin; t < end; t++) {
    int64_t oh = t % vy->dims[3], rest = t / vy->dims[3], od = rest % vy->dims[2];
    int64_t n = rest / vy->dims[2];
    const float *x = (const float *)args[2] + n * vx->strides[0];
    float *y = (float *)args[0] + n * vy->strides[0] + od * vy->strides[2] + oh * vy->strides[3];
    int64_t at = n * vi->strides[0] + od * vi->strides[2] + oh * vi->strides[3];
    for (int64_t ow = 0; ow < vy->dims[4]; ow++) {
      window w = window_at(d, od, oh, ow);
      names to = {rare_at(args[1], vi, at + ow * vi->strides[4]),
                  n * rare_product(vx->dims, 1, 5)};
      place_channels(d, &w, x, y + ow * vy->strides[4], &to);
    }
  }
}

/* ---- element by element --------------------------------------------------------------------- */

RARE int64_t input_offset(const int64_t *s, int64_t id, int64_t ih, int64_t iw) {
  return id * s[2] + ih * s[3] + iw * s[4];
}

RARE int64_t lowest(int64_t t) {
  if (t == WICK_I8) return INT8_MIN;
  if (t == WICK_I16) return INT16_MIN;
  if (t == WICK_I32) return INT32_MIN;
  return t == WICK_I64 ? INT64_MIN : 0;
}

void wk_rare_max_pool(void *const *args, void *scratch, int64_t begin, int64_t end,
                      const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *vy = &d->view[0], *vi = &d->view[1], *vx = &d->view[2];
  int64_t t = vx->dtype;
  bool real = rare_is_float(t);
  for (int64_t task = begin; task < end; task++) {
    line l = line_of(d, args, task);
    for (int64_t ow = 0; ow < vy->dims[4]; ow++) {
      window w = window_at(d, l.od, l.oh, ow);
      double best = -RARE_INFINITY;
      int64_t whole = lowest(t), name = 0;
      bool first = true;
      FOR_TAPS(w, d, id, ih, iw) {
        const void *p = rare_at(l.x, vx, input_offset(vx->strides, id, ih, iw));
        double f = real ? rare_get_f(p, t) : 0;
        int64_t i = real ? 0 : rare_get_i(p, t);
        bool more = real ? f > best || (f != f && best == best)
                         : t == WICK_U64 ? (uint64_t)i > (uint64_t)whole : i > whole;
        if (!first && !more) continue;
        first = false;
        best = f;
        whole = i;
        name = NAME(d, id, ih, iw);
      }
      void *y = args[0] ? rare_at(args[0], vy, line_offset(&l, vy->strides) + ow * vy->strides[4])
                        : 0;
      if (y && real) rare_put_f(y, t, best);
      else if (y) rare_put_i(y, t, whole);
      if (!args[1]) continue;
      if (!d->attr[RARE_TAPS]) name += (l.n * vx->dims[1] + l.c) * rare_product(vx->dims, 2, 5);
      rare_put_i(rare_at(args[1], vi, line_offset(&l, vi->strides) + ow * vi->strides[4]),
                 vi->dtype, name);
    }
  }
}

void wk_rare_avg_pool(void *const *args, void *scratch, int64_t begin, int64_t end,
                      const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *vy = &d->view[0], *vx = &d->view[2];
  for (int64_t task = begin; task < end; task++) {
    line l = line_of(d, args, task);
    for (int64_t ow = 0; ow < vy->dims[4]; ow++) {
      window w = window_at(d, l.od, l.oh, ow);
      double total = 0;
      FOR_TAPS(w, d, id, ih, iw)
        total += rare_get_f(rare_at(l.x, vx, input_offset(vx->strides, id, ih, iw)), vx->dtype);
      rare_put_f(rare_at(args[0], vy, line_offset(&l, vy->strides) + ow * vy->strides[4]),
                 vy->dtype, w.counted ? total / (double)w.counted : 0);
    }
  }
}

RARE double whole_power(double x, int64_t p) {
  double y = 1;
  for (; p > 0; p >>= 1, x *= x)
    if (p & 1) y *= x;
  return y;
}

void wk_rare_lp_pool(void *const *args, void *scratch, int64_t begin, int64_t end,
                     const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *vy = &d->view[0], *vx = &d->view[2];
  int64_t p = d->attr[RARE_POWER];
  for (int64_t task = begin; task < end; task++) {
    line l = line_of(d, args, task);
    for (int64_t ow = 0; ow < vy->dims[4]; ow++) {
      window w = window_at(d, l.od, l.oh, ow);
      double total = 0;
      FOR_TAPS(w, d, id, ih, iw) {
        const void *at = rare_at(l.x, vx, input_offset(vx->strides, id, ih, iw));
        double v = rare_get_f(at, vx->dtype);
        total += whole_power(v < 0 ? -v : v, p);
      }
      rare_put_f(rare_at(args[0], vy, line_offset(&l, vy->strides) + ow * vy->strides[4]),
                 vy->dtype, p == 1 ? total : p == 2 ? rare_sqrt(total) : rare_root(total, p));
    }
  }
}
