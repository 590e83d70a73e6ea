/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/operand.h"

#include <string.h>

/* Axes from the outermost in memory to the innermost; the lane axis stands for its blocks. */
static int memory_order(int rank, int lane, int *order) {
  int n = 0;
  bool is_last = lane == rank - 1;
  for (int k = 0; k < rank; k++) {
    if (k == lane && is_last) continue;
    if (is_last && k == rank - 2) order[n++] = lane;
    order[n++] = k;
  }
  if (is_last && rank == 1) order[n++] = lane;
  return n;
}

wk_accel_operand wk_operand_new(int n, int tensor, const wk_type *t, int lane, int64_t *bytes) {
  wk_accel_operand y = {.tensor = tensor, .rank = t->rank, .lane = lane};
  int order[WK_MAX_RANK], count = memory_order(t->rank, lane, order);
  int64_t stride = n;
  memcpy(y.dims, t->dims, sizeof y.dims);
  for (int i = count; i-- > 0;) {
    int k = order[i];
    y.strides[k] = stride;
    stride *= k == lane ? wk_ceil_div(t->dims[k], n) : t->dims[k];
  }
  *bytes = stride;
  return y;
}

void wk_operand_layout(int n, int rank, int lane, wk_edge_layout *out) {
  int order[WK_MAX_RANK], count = memory_order(rank, lane, order);
  *out = (wk_edge_layout){.split = lane, .block = n};
  for (int i = 0; i < count; i++) out->order[i] = (uint8_t)order[i];
  out->order[count] = (uint8_t)rank;
}

void wk_operand_image_layout(int n, int rank, wk_edge_layout *out) {
  *out = rank == 3 ? (wk_edge_layout){.split = 2, .block = n, .order = {2, 0, 1, 3}}
                   : (wk_edge_layout){.split = 3, .block = n, .order = {0, 3, 1, 2, 4}};
}

wk_accel_operand wk_operand_laid(int n, int tensor, const wk_type *t) {
  wk_accel_operand y = {.tensor = tensor, .rank = t->rank, .lane = -1};
  int64_t stride = 1;
  memcpy(y.dims, t->dims, sizeof y.dims);
  for (int k = t->rank; k-- > 0; stride *= t->dims[k]) y.strides[k] = stride;
  if (t->rank && t->dims[t->rank - 1] == n) {
    y.lane = t->rank - 1;
    y.strides[y.lane] = n;
  }
  return y;
}

bool wk_operand_is_laid(int n, const wk_accel_operand *x, int64_t bytes) {
  int64_t stride = n;
  if (x->offset || x->first || x->lane != x->rank - 1 || x->rank < 1 || x->dims[x->lane] != n)
    return false;
  for (int k = x->rank - 1; k-- > 0; stride *= x->dims[k])
    if (x->dims[k] != 1 && x->strides[k] != stride) return false;
  return stride == bytes;
}

void wk_operand_transpose(const wk_accel_operand *x, const int64_t *perm, wk_accel_operand *y) {
  wk_accel_operand from = *x;
  *y = from;
  for (int k = 0; k < from.rank; k++) {
    y->dims[k] = from.dims[perm[k]];
    y->strides[k] = from.strides[perm[k]];
    if (perm[k] == from.lane) y->lane = k;
  }
}

bool wk_operand_slice(int n, const wk_accel_operand *x, const int64_t *starts, const int64_t *sizes,
                      const int64_t *steps, wk_accel_operand *y) {
  *y = *x;
  for (int k = 0; k < x->rank; k++) {
    y->dims[k] = sizes[k];
    if (k == x->lane) {
      if (steps[k] != 1 && sizes[k] > 1) return false;
      int64_t first = x->first + starts[k];
      y->offset += first / n * x->strides[k];
      y->first = (int)(first % n);
      y->is_cut_off |= starts[k] + sizes[k] < x->dims[k];
    } else {
      y->offset += starts[k] * x->strides[k];
      y->strides[k] *= steps[k];
    }
  }
  return true;
}

/* ---- reshape --------------------------------------------------------------------------------- */

typedef struct {
  int64_t size, stride;
  bool is_lane;
} axis;

/* Axis a, outside of *inner, becomes one with it. */
static bool merge(int n, axis a, int first, axis *inner) {
  if (a.size == 1 && !a.is_lane) return true;
  if (inner->size == 1 && !inner->is_lane) return *inner = a, true;
  if (a.is_lane) return false;
  if (!inner->is_lane) {
    if (a.stride != inner->stride * inner->size) return false;
  } else {
    if (first || inner->size % n) return false;
    if (inner->size == n) inner->stride = a.stride;
    else if (a.stride != inner->size / n * inner->stride) return false;
  }
  inner->size *= a.size;
  return true;
}

/* *x is cut: its innermost `size` elements. */
static bool cut(int n, axis *x, int first, int64_t size, axis *inner) {
  *inner = *x;
  if (x->size == size) return *x = (axis){1, 0, false}, true;
  if (size == 1) return *inner = (axis){1, 0, false}, true;
  if (!x->is_lane) x->stride *= size;
  else if (first || size % n) return false;
  else *x = (axis){x->size, size / n * x->stride, false};
  x->size /= size;
  return true;
}

/* The lane axis of one element may become any axis of one. */
static void put_unit_lane(const wk_accel_operand *x, wk_accel_operand *y) {
  if (x->lane < 0 || y->lane >= 0) return;
  int preferred = y->rank == 4 ? 1 : y->rank - 1;
  for (int k = 0; k < y->rank && y->lane < 0; k++)
    if (y->dims[k] == 1 && (k == preferred || y->dims[preferred] != 1)) {
      y->lane = k;
      y->strides[k] = x->strides[x->lane];
    }
}

bool wk_operand_reshape(int n, const wk_accel_operand *x, int rank, const int64_t *dims,
                        wk_accel_operand *y) {
  wk_accel_operand from = *x;
  *y = (wk_accel_operand){.tensor = from.tensor, .offset = from.offset, .rank = rank, .lane = -1,
                          .first = from.first, .is_cut_off = from.is_cut_off};
  memcpy(y->dims, dims, (size_t)rank * sizeof *dims);
  int i = from.rank - 1, k = rank - 1;
  while (i >= 0 || k >= 0) {
    axis group = {1, 0, false};
    int64_t want = 1;
    int k0 = k;
    bool has_begun = false;
    while (!has_begun || group.size != want) { /* the fewest axes whose products are equal */
      has_begun = true;
      if (group.size <= want && i >= 0) {
        axis a = {from.dims[i], from.strides[i], i == from.lane && from.dims[i] > 1};
        i--;
        if (!merge(n, a, from.first, &group)) return false;
      } else if (k >= 0) want *= dims[k--];
      else return false;
    }
    for (; k0 > k; k0--) {
      axis inner;
      if (!cut(n, &group, from.first, dims[k0], &inner)) return false;
      y->strides[k0] = inner.stride;
      if (inner.is_lane) y->lane = k0;
    }
  }
  put_unit_lane(&from, y);
  return true;
}
