/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over the spatial axes: for each output position the input positions of its window are
 * listed once, then every plane (sample and channel) is reduced over that list. */
#include <math.h>
#include <stdlib.h>

#include "compiler/eval/handler.h"
#include "compiler/expr/quant.h"

typedef struct {
  const wk_tensor *x;
  int sp;
  const int64_t *in_dims, *out_dims, *kernel, *strides, *pads, *dilations;
  const int64_t *real_pads; /* AVG_POOL: how far positions count; else NULL */
  int64_t planes, in_size, out_size;
  int64_t *list; /* input positions of the window at hand, ascending */
  int64_t *taps; /* which elements of the window those are */
  int64_t n, counted;
} pool;

/* Windows over x with one for each element of y. */
static wk_status windows_begin(pool *p, const wk_type *x, const wk_type *y) {
  p->sp = x->rank - 2;
  p->in_dims = x->dims + 2;
  p->out_dims = y->dims + 2;
  p->planes = x->dims[0] * x->dims[1];
  p->in_size = wk_dims_count(x->dims, 2, x->rank);
  p->out_size = wk_dims_count(y->dims, 2, y->rank);
  int64_t reach = 1; /* no window holds more positions than the input has */
  for (int i = 0; i < p->sp; i++)
    reach *= p->kernel[i] < p->in_dims[i] ? p->kernel[i] : p->in_dims[i];
  void *list;
  WK_TRY(wk_try_malloc(2 * (size_t)reach * sizeof *p->list, &list));
  p->list = list;
  p->taps = p->list + reach;
  return NULL;
}

static wk_status pool_begin(pool *p, const wk_eval_call *c) {
  p->x = &c->a.in[0];
  return windows_begin(p, &c->a.in[0].type, &c->a.out[0].type);
}

/* Kernel taps of axis i whose coordinate at + t * dilation lies in [lo, hi): first and count. */
static void taps_within(const pool *p, int i, int64_t at, int64_t lo, int64_t hi, int64_t *first,
                        int64_t *count) {
  int64_t d = p->dilations[i];
  *first = at < lo ? (lo - at - 1) / d + 1 : 0;
  int64_t end = at < hi ? (hi - at - 1) / d + 1 : 0;
  if (end > p->kernel[i]) end = p->kernel[i];
  *count = end > *first ? end - *first : 0;
}

static void list_window(pool *p, const int64_t *out) {
  int64_t at[WK_MAX_RANK], first[WK_MAX_RANK], count[WK_MAX_RANK], tap[WK_MAX_RANK] = {0};
  p->n = 0;
  p->counted = 1;
  for (int i = 0; i < p->sp; i++) {
    int64_t before, reach, start = out[i] * p->strides[i] - p->pads[i];
    if (p->real_pads) {
      taps_within(p, i, start, -p->real_pads[i], p->in_dims[i] + p->real_pads[p->sp + i], &before,
                  &reach);
      p->counted *= reach;
    }
    taps_within(p, i, start, 0, p->in_dims[i], &first[i], &count[i]);
    at[i] = start + first[i] * p->dilations[i];
  }
  if (wk_dims_count(count, 0, p->sp) == 0) return;
  do {
    int64_t position = 0, number = 0;
    for (int i = 0; i < p->sp; i++) {
      position = position * p->in_dims[i] + at[i] + tap[i] * p->dilations[i];
      number = number * p->kernel[i] + first[i] + tap[i];
    }
    p->taps[p->n] = number;
    p->list[p->n++] = position;
  } while (wk_walk_next(p->sp, count, tap));
}

/* ---- max ------------------------------------------------------------------------------------- */

/* Index of a plane position when the first spatial axis is the fastest. */
static int64_t column_major(const pool *p, int64_t position) {
  int64_t at[WK_MAX_RANK], index = 0;
  for (int i = p->sp - 1; i >= 0; i--) {
    at[i] = position % p->in_dims[i];
    position /= p->in_dims[i];
  }
  for (int i = p->sp - 1; i >= 0; i--) index = index * p->in_dims[i] + at[i];
  return index;
}

static bool is_larger(wk_dtype t, wk_scalar a, wk_scalar b) {
  if (wk_dtype_is_float(t)) return a.f > b.f || (isnan(a.f) && !isnan(b.f));
  return t == WK_U64 ? (uint64_t)a.i > (uint64_t)b.i : a.i > b.i;
}

static wk_scalar lowest(wk_dtype t) {
  if (wk_dtype_is_float(t)) return (wk_scalar){.f = -INFINITY};
  int bits = 8 * wk_dtype_size(t);
  return (wk_scalar){.i = wk_dtype_is_signed(t) ? -(INT64_C(1) << (bits - 2)) * 2 : 0};
}

/* What names the maximum, element `best` of the list, in a plane. */
static int64_t index_of(const pool *p, const wk_attr_max_pool *a, int64_t plane, int64_t best) {
  if (best >= p->n) return a->taps ? 0 : plane * p->in_size; /* the window sees padding alone */
  if (a->taps) return p->taps[best];
  int64_t at = p->list[best];
  return plane * p->in_size + (a->column_major ? column_major(p, at) : at);
}

static void max_window(const pool *p, const wk_eval_call *c, int64_t o) {
  wk_tensor *y = wk_eval_out(c, 0), *indices = wk_eval_out(c, 1);
  wk_dtype t = p->x->type.dtype;
  for (int64_t plane = 0; plane < p->planes; plane++) {
    wk_scalar best = lowest(t);
    int64_t where = 0;
    for (int64_t i = 0; i < p->n; i++) {
      wk_scalar v = wk_scalar_load(wk_at(p->x, plane * p->in_size + p->list[i]), t);
      if (i && !is_larger(t, v, best)) continue;
      best = v;
      where = i;
    }
    if (y) wk_scalar_store(wk_at(y, plane * p->out_size + o), t, best);
    if (indices)
      wk_store_i64(indices->data, indices->type.dtype, plane * p->out_size + o,
                   index_of(p, c->a.node->attrs, plane, where));
  }
}

wk_status wk_eval_max_pool(const wk_eval_call *c) {
  const wk_attr_max_pool *a = c->a.node->attrs;
  pool p = {.kernel = a->kernel.v, .strides = a->strides.v, .pads = a->pads.v,
            .dilations = a->dilations.v};
  WK_TRY(pool_begin(&p, c));
  int64_t out[WK_MAX_RANK] = {0};
  for (int64_t o = 0; o < p.out_size; o++) {
    list_window(&p, out);
    max_window(&p, c, o);
    wk_walk_next(p.sp, p.out_dims, out);
  }
  free(p.list);
  return NULL;
}

/* Adds to sums what reaches them from output position o. */
static void unpool_window(const pool *p, const wk_eval_call *c, int64_t o, double *sums) {
  const wk_tensor *x = &c->a.in[0], *taps = &c->a.in[1];
  for (int64_t plane = 0; plane < p->planes; plane++) {
    int64_t from = plane * p->out_size + o;
    int64_t tap = wk_load_i64(taps->data, taps->type.dtype, from);
    for (int64_t i = 0; i < p->n; i++)
      if (p->taps[i] == tap)
        sums[plane * p->in_size + p->list[i]] += wk_load_f64(x->data, x->type.dtype, from);
  }
}

wk_status wk_eval_unpool(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_unpool *a = c->a.node->attrs;
  wk_tensor *y = &c->a.out[0];
  pool p = {.kernel = a->kernel.v, .strides = a->strides.v, .pads = a->pads.v,
            .dilations = a->dilations.v};
  double *sums;
  WK_TRY(wk_reals_alloc(wk_type_count(&y->type), &sums));
  wk_status s = windows_begin(&p, &y->type, &c->a.in[0].type);
  int64_t out[WK_MAX_RANK] = {0};
  for (int64_t o = 0; !s && o < p.out_size; o++) {
    list_window(&p, out);
    unpool_window(&p, c, o, sums);
    wk_walk_next(p.sp, p.out_dims, out);
  }
  if (!s) {
    wk_reals_write(sums, y, 0, 1, wk_type_count(&y->type));
    free(p.list);
  }
  free(sums);
  return s;
}

/* ---- means and norms ------------------------------------------------------------------------- */

static double power_sum(const pool *p, int64_t plane, int64_t power) {
  double sum = 0;
  for (int64_t i = 0; i < p->n; i++) {
    double v = wk_load_f64(p->x->data, p->x->type.dtype, plane * p->in_size + p->list[i]);
    if (power == 0) sum += v; /* a plain sum */
    else if (power == 2) sum += v * v;
    else sum += pow(fabs(v), (double)power);
  }
  return sum;
}

wk_status wk_eval_avg_pool(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_avg_pool *a = c->a.node->attrs;
  pool p = {.kernel = a->kernel.v, .strides = a->strides.v, .pads = a->pads.v,
            .dilations = a->dilations.v, .real_pads = a->real_pads.v};
  WK_TRY(pool_begin(&p, c));
  int64_t out[WK_MAX_RANK] = {0};
  wk_tensor *y = &c->a.out[0];
  for (int64_t o = 0; o < p.out_size; o++) {
    list_window(&p, out);
    for (int64_t plane = 0; plane < p.planes; plane++)
      wk_store_f64(y->data, y->type.dtype, plane * p.out_size + o,
                   p.counted ? power_sum(&p, plane, 0) / (double)p.counted : 0);
    wk_walk_next(p.sp, p.out_dims, out);
  }
  free(p.list);
  return NULL;
}

static void integer_mean(const pool *p, const wk_attr_integer_avg_pool *a, const wk_rescale *scale,
                         wk_tensor *y, int64_t o) {
  for (int64_t plane = 0; plane < p->planes; plane++) {
    int64_t sum = 0;
    for (int64_t i = 0; i < p->n; i++)
      sum += wk_load_i64(p->x->data, p->x->type.dtype, plane * p->in_size + p->list[i]) - a->x_zero;
    int64_t v = wk_rescale_apply(sum, scale) + a->zero;
    v = v < a->lo ? a->lo : v > a->hi ? a->hi : v;
    wk_store_i64(y->data, y->type.dtype, plane * p->out_size + o, v);
  }
}

wk_status wk_eval_integer_avg_pool(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_integer_avg_pool *a = c->a.node->attrs;
  pool p = {.kernel = a->kernel.v, .strides = a->strides.v, .pads = a->pads.v,
            .dilations = a->dilations.v, .real_pads = a->real_pads.v};
  wk_status s = NULL;
  WK_TRY(pool_begin(&p, c));
  int64_t out[WK_MAX_RANK] = {0};
  for (int64_t o = 0; !s && o < p.out_size; o++) {
    wk_rescale scale;
    list_window(&p, out);
    if (wk_rescale_of(a->factor / (double)(p.counted ? p.counted : 1), &scale))
      integer_mean(&p, a, &scale, &c->a.out[0], o);
    else s = EVAL_BAD(c, "factor %g has no integer form", a->factor);
    wk_walk_next(p.sp, p.out_dims, out);
  }
  free(p.list);
  return s;
}

wk_status wk_eval_lp_pool(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_lp_pool *a = c->a.node->attrs;
  pool p = {.kernel = a->kernel.v, .strides = a->strides.v, .pads = a->pads.v,
            .dilations = a->dilations.v};
  WK_TRY(pool_begin(&p, c));
  int64_t out[WK_MAX_RANK] = {0};
  wk_tensor *y = &c->a.out[0];
  for (int64_t o = 0; o < p.out_size; o++) {
    list_window(&p, out);
    for (int64_t plane = 0; plane < p.planes; plane++) {
      double sum = power_sum(&p, plane, a->p);
      wk_store_f64(y->data, y->type.dtype, plane * p.out_size + o,
                   a->p == 2 ? sqrt(sum) : pow(sum, 1.0 / (double)a->p));
    }
    wk_walk_next(p.sp, p.out_dims, out);
  }
  free(p.list);
  return NULL;
}

/* Across channels: the window starts (size - 1) / 2 before the channel. */
wk_status wk_eval_lrn(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_lrn *a = c->a.node->attrs;
  const wk_tensor *x = &c->a.in[0];
  wk_axis v = wk_axis_of(&x->type, 1);
  double *in, *out;
  WK_TRY(wk_reals_alloc(2 * v.n, &in));
  out = in + v.n;
  int64_t before = (a->size - 1) / 2, after = a->size - 1 - before;
  for (int64_t s = 0; s < v.outer; s++) {
    for (int64_t q = 0; q < v.inner; q++) {
      int64_t first = s * v.n * v.inner + q;
      wk_reals_read(in, x, first, v.inner, v.n);
      for (int64_t k = 0; k < v.n; k++) {
        double sum = 0;
        int64_t from = k > before ? k - before : 0, to = after < v.n - 1 - k ? k + after : v.n - 1;
        for (int64_t i = from; i <= to; i++) sum += in[i] * in[i];
        out[k] = in[k] / pow(a->bias + a->alpha / (double)a->size * sum, a->beta);
      }
      wk_reals_write(out, &c->a.out[0], first, v.inner, v.n);
    }
  }
  free(in);
  return NULL;
}
