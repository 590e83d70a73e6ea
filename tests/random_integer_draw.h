/* SPDX-License-Identifier: Apache-2.0
 * Private to the random quantised graphs: the graph as far as it has been drawn, and the parts that
 * operators are drawn from. */
#ifndef WICK_TESTS_RANDOM_INTEGER_DRAW_H
#define WICK_TESTS_RANDOM_INTEGER_DRAW_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/random_integer.h"
#include "tests/random_window.h"

enum { MAX_TENSORS = 64 };

/* A quantised tensor of the graph. */
typedef struct {
  wk_value_id q;
  double scale;
  int64_t zero;
} tensor;

typedef struct {
  wk_module *m;
  wk_graph *g;
  wk_rng r;
  tensor t[MAX_TENSORS];
  int n;
  int64_t largest; /* rows and columns of an input */
} maker;

static inline int64_t pick(maker *k, int64_t lo, int64_t hi) { return wk_rng_range(&k->r, lo, hi); }
static inline bool chance(maker *k, int percent) { return pick(k, 0, 99) < percent; }
static inline const wk_type *type_of(const maker *k, wk_value_id v) {
  return &wk_val(k->g, v)->type;
}
static inline double spread(maker *k) { return exp2(4 * wk_rng_unit(&k->r) - 2); } /* 1/4 … 4 */

static inline wk_ints ints(maker *k, int64_t n, int64_t lo, int64_t hi) {
  int64_t v[WK_MAX_RANK * 2];
  for (int64_t i = 0; i < n; i++) v[i] = pick(k, lo, hi);
  return wk_ints_dup(k->m->arena, v, n);
}

static inline wk_ints list(maker *k, const int64_t *v, int64_t n) {
  return wk_ints_dup(k->m->arena, v, n);
}

/* ---- dequantise, quantise -------------------------------------------------------------------- */

static inline wk_value_id real(maker *k, const tensor *t) {
  return wk_build(k->g, WK_OP_DEQUANTIZE, NULL, 3, t->q, wk_graph_scalar(k->g, WK_F32, t->scale),
                  wk_graph_scalar(k->g, type_of(k, t->q)->dtype, (double)t->zero));
}

static inline void keep(maker *k, wk_value_id q, double scale, int64_t zero) {
  if (k->n < MAX_TENSORS) k->t[k->n++] = (tensor){q, (float)scale, zero};
}

/* x with its axes the other way round. */
static inline wk_value_id reversed(maker *k, wk_value_id x) {
  int64_t perm[WK_MAX_RANK];
  int rank = type_of(k, x)->rank;
  for (int i = 0; i < rank; i++) perm[i] = rank - 1 - i;
  wk_attr_transpose *p = wk_attrs_new(k->m->arena, WK_OP_TRANSPOSE);
  p->perm = wk_ints_dup(k->m->arena, perm, rank);
  return wk_build(k->g, WK_OP_TRANSPOSE, p, 1, x);
}

/* The real tensor y, whose values are about `size`, quantised; sometimes clamped and moved before.
 */
static inline void quantise(maker *k, wk_value_id y, double size) {
  wk_dtype t = chance(k, 50) ? WK_U8 : WK_I8;
  double scale = (float)(size / 50 * spread(k));
  int64_t zero = chance(k, 30) ? (t == WK_I8 ? -128 : 0) : pick(k, 0, 255) - (t == WK_I8 ? 128 : 0);
  if (chance(k, 25)) y = wk_build(k->g, WK_OP_RELU, NULL, 1, y);
  if (chance(k, 15)) {
    wk_attr_clip *c = wk_attrs_new(k->m->arena, WK_OP_CLIP);
    c->lo = -size * wk_rng_unit(&k->r);
    c->hi = size * wk_rng_unit(&k->r);
    y = wk_build(k->g, WK_OP_CLIP, c, 1, y);
  }
  if (chance(k, 8)) y = reversed(k, y);
  wk_attr_quantize *a = wk_attrs_new(k->m->arena, WK_OP_QUANTIZE);
  a->to = t;
  wk_value_id q = wk_build(k->g, WK_OP_QUANTIZE, a, 3, y, wk_graph_scalar(k->g, WK_F32, scale),
                           wk_graph_scalar(k->g, t, (double)zero));
  keep(k, q, scale, zero);
}

static inline void add_input(maker *k, int rank, const int64_t *dims) {
  wk_dtype dtype = chance(k, 50) ? WK_U8 : WK_I8;
  wk_type t = wk_type_make(dtype, rank, dims);
  int64_t zero = pick(k, 0, 255) - (dtype == WK_I8 ? 128 : 0);
  keep(k, wk_graph_input(k->g, NULL, &t), 0.02 * spread(k), zero);
}

static inline tensor *any(maker *k) {
  return &k->t[k->n - 1 - pick(k, 0, k->n - 1 < 3 ? k->n - 1 : 3)];
}

/* A tensor [n,c,h,w] with something to see. */
static inline tensor *image(maker *k) {
  for (int i = 0; i < 8 && k->n; i++) {
    tensor *t = any(k);
    const wk_type *y = type_of(k, t->q);
    if (y->rank == 4 && y->dims[2] > 1 && y->dims[3] > 1) return t;
  }
  int64_t dims[] = {chance(k, 80) ? 1 : 2, chance(k, 40) ? pick(k, 1, 5) : 4 * pick(k, 1, 18),
                    pick(k, 2, k->largest), pick(k, 2, k->largest)};
  add_input(k, 4, dims);
  return &k->t[k->n - 1];
}

static inline double size_of(const maker *k, const tensor *t) {
  return t->scale * (type_of(k, t->q) ? 100 : 1);
}

/* ---- contractions ---------------------------------------------------------------------------- */

/* Weights with scales per tensor or along the axis, dequantised. */
static inline wk_value_id weights(maker *k, int rank, const int64_t *dims, int axis, double *scale,
                           wk_value_id *scales) {
  wk_dtype dtype = chance(k, 75) ? WK_I8 : WK_U8;
  wk_type t = wk_type_make(dtype, rank, dims), st = {.dtype = WK_F32};
  void *data, *s, *z;
  wk_value_id w, zero;
  bool each = chance(k, 60);
  if (each) {
    int64_t along[WK_MAX_RANK];
    for (int i = 0; i < rank; i++) along[i] = i == axis ? dims[i] : 1;
    st = wk_type_make(WK_F32, rank, along);
  }
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &t, &w, &data));
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &st, scales, &s));
  st.dtype = dtype;
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &st, &zero, &z));
  int64_t center = dtype == WK_I8 ? 0 : chance(k, 60) ? 128 : pick(k, 100, 150);
  for (int64_t i = 0; i < wk_type_count(&t); i++)
    wk_store_i64(data, dtype, i, pick(k, 0, 255) - (dtype == WK_I8 ? 128 : 0));
  *scale = 0.01 * spread(k);
  for (int64_t i = 0; i < wk_type_count(&st); i++) {
    wk_store_f64(s, WK_F32, i, *scale * (0.25 + wk_rng_unit(&k->r)));
    wk_store_i64(z, dtype, i, center);
  }
  return wk_build(k->g, WK_OP_DEQUANTIZE, NULL, 3, w, *scales, zero);
}

/* A bias of i32 in units of the accumulator. */
static inline wk_value_id bias(maker *k, double sx, wk_value_id scales, int64_t n, double size) {
  wk_type t = wk_type_make(WK_I32, 1, &n), st = wk_type_make(WK_F32, 1, &n);
  void *data, *s;
  wk_value_id b, scale;
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &t, &b, &data));
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &st, &scale, &s));
  const wk_value *sw = wk_val(k->g, scales);
  bool each = wk_type_count(&sw->type) > 1;
  for (int64_t i = 0; i < n; i++) {
    ((float *)s)[i] = (float)sx * ((const float *)sw->data)[each ? i : 0];
    ((int32_t *)data)[i] = (int32_t)(size / ((float *)s)[i] * (wk_rng_unit(&k->r) - 0.5));
  }
  return wk_build(k->g, WK_OP_DEQUANTIZE, NULL, 3, b, scale, wk_graph_scalar(k->g, WK_I32, 0));
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* What nobody reads is an output. */
static inline void finish(maker *k) {
  wk_arena *a = wk_arena_new();
  wk_uses u = wk_graph_uses(k->g, a);
  for (int i = 0; i < k->n; i++)
    if (wk_use_count(&u, k->t[i].q) == 0) wk_graph_output(k->g, NULL, k->t[i].q);
  wk_arena_free(a);
}

/* Draws one operator of any kind (random_integer.c), or none. */
void random_integer_any(maker *k);
/* An image, by linear interpolation or to the nearest pixel. */
void random_integer_resize(maker *k);

#endif
