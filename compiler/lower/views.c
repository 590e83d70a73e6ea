/* SPDX-License-Identifier: Apache-2.0
 * Geometry of views: how movement operators become strides. */
#include <string.h>

#include "compiler/lower/generate.h"

wk_view wk_view_ordered(uint32_t buffer, const wk_value *v) {
  wk_view w = wk_view_dense(buffer, &v->type, WK_ROLE_IN);
  if (!v->has_order) return w;
  uint64_t stride = 1; /* as wk_type_strides has them */
  for (int i = w.rank - 1; i >= 0; i--) {
    int axis = v->order[i];
    w.strides[axis] = (int64_t)stride;
    stride *= (uint64_t)w.dims[axis];
  }
  return w;
}

wk_view wk_view_permuted(const wk_view *v, const int64_t *perm) {
  wk_view w = *v;
  for (int i = 0; i < v->rank; i++) {
    w.dims[i] = v->dims[perm[i]];
    w.strides[i] = v->strides[perm[i]];
  }
  return w;
}

wk_view wk_view_unpermuted(const wk_view *v, const int64_t *perm) {
  wk_view w = *v;
  for (int i = 0; i < v->rank; i++) {
    w.dims[perm[i]] = v->dims[i];
    w.strides[perm[i]] = v->strides[i];
  }
  return w;
}

wk_view wk_view_sliced(const wk_view *v, const int64_t *starts, const int64_t *sizes,
                       const int64_t *steps) {
  wk_view w = *v;
  int64_t elem = wk_dtype_size(v->dtype);
  for (int i = 0; i < v->rank; i++) {
    w.offset += starts[i] * v->strides[i] * elem;
    w.dims[i] = sizes[i];
    if (steps) w.strides[i] = v->strides[i] * steps[i];
  }
  return w;
}

wk_view wk_view_broadcast(const wk_view *v, int rank, const int64_t *dims) {
  wk_view w = *v;
  memset(w.dims, 0, sizeof w.dims);
  memset(w.strides, 0, sizeof w.strides);
  w.rank = rank;
  for (int i = 0; i < rank; i++) {
    int k = i - (rank - v->rank);
    w.dims[i] = dims[i];
    w.strides[i] = k >= 0 && v->dims[k] == dims[i] ? v->strides[k] : 0;
  }
  return w;
}

/* Both shapes read from the last axis as lists of cumulative products; the union of the two
 * lists is a common refinement when each product divides the next. */
bool wk_dims_refine(const wk_view *a, const wk_view *b, int *rank, int64_t dims[WK_MAX_RANK]) {
  int64_t reversed[WK_MAX_RANK];
  int n = 0, i = a->rank - 1, k = b->rank - 1;
  int64_t left_a = 1, left_b = 1;
  for (;;) {
    while (left_a == 1 && i >= 0) left_a = a->dims[i--];
    while (left_b == 1 && k >= 0) left_b = b->dims[k--];
    if (left_a == 1 && left_b == 1) break;
    int64_t small = left_a < left_b ? left_a : left_b;
    if (small < 2 || left_a % small || left_b % small || n == WK_MAX_RANK) return false;
    reversed[n++] = small;
    left_a /= small;
    left_b /= small;
  }
  for (int d = 0; d < n; d++) dims[d] = reversed[n - 1 - d];
  *rank = n;
  return true;
}
