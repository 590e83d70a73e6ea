/* SPDX-License-Identifier: Apache-2.0
 * Writing by index. Views: y, data, indices, updates. Updates may meet, so those that may are one
 * task's, in order: of one line along the axis, or of one piece of the slices. The data was copied
 * to y by a step before, or is what y was: an update at no position of it changes nothing. */
#include "targets/cpu/rare/bitcode/scalar.h"

#define RARE_NAN (__builtin_nanf(""))

RARE double combine_f(int64_t how, double a, double b) {
  if (how == RARE_ADD) return a + b;
  if (how == RARE_MUL) return a * b;
  if (a != a || b != b) return (double)RARE_NAN;
  return how == RARE_MIN ? (a < b ? a : b) : (a > b ? a : b);
}

RARE int64_t combine_i(int64_t how, int64_t t, int64_t a, int64_t b) {
  if (how == RARE_ADD) return (int64_t)((uint64_t)a + (uint64_t)b);
  if (how == RARE_MUL) return (int64_t)((uint64_t)a * (uint64_t)b);
  bool less = t == WICK_U64 ? (uint64_t)a < (uint64_t)b : a < b;
  return how == RARE_MIN ? (less ? a : b) : (less ? b : a);
}

RARE void update(int64_t how, int64_t t, void *to, const void *from) {
  if (how == RARE_SET) rare_move(to, from, rare_size(t));
  else if (t == WICK_F32) /* sums are rounded at every step, as in the definition */
    *(float *)to = (float)combine_f(how, *(float *)to, *(const float *)from);
  else if (rare_is_float(t))
    rare_put_f(to, t, combine_f(how, rare_get_f(to, t), rare_get_f(from, t)));
  else rare_put_i(to, t, combine_i(how, t, rare_get_i(to, t), rare_get_i(from, t)));
}

void wk_rare_scatter_elements(void *const *args, void *scratch, int64_t begin, int64_t end,
                              const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *y = &d->view[0], *at = &d->view[2], *from = &d->view[3];
  int64_t axis = d->attr[RARE_AXIS], dims[8];
  for (int k = 0; k < 8; k++) dims[k] = k == axis ? 1 : at->dims[k];
  for (int64_t line = begin; line < end; line++) {
    int64_t to = rare_offset(line, dims, y->strides, 0, at->rank);
    int64_t index = rare_offset(line, dims, at->strides, 0, at->rank);
    int64_t source = rare_offset(line, dims, from->strides, 0, at->rank);
    for (int64_t k = 0; k < at->dims[axis]; k++) {
      int64_t place = rare_position(rare_at(args[2], at, index + k * at->strides[axis]), at->dtype,
                                    y->dims[axis], args[4]);
      if (place < 0) continue;
      update(d->attr[RARE_COMBINE], y->dtype, rare_at(args[0], y, to + place * y->strides[axis]),
             rare_at(args[3], from, source + k * from->strides[axis]));
    }
  }
}

/* A row of the indices and what it updates y with: where they begin, in elements. */
typedef struct {
  int64_t at[8]; /* along each axis of the rows */
  int64_t index, source;
} scatter_row;

RARE void next_row(scatter_row *r, const wk_rare_view *at, const wk_rare_view *from) {
  for (int64_t k = at->rank - 2; k >= 0; k--) {
    r->index += at->strides[k];
    r->source += from->strides[k];
    if (++r->at[k] < at->dims[k]) return;
    r->at[k] = 0;
    r->index -= at->dims[k] * at->strides[k];
    r->source -= at->dims[k] * from->strides[k];
  }
}

/* Of y, in elements, the slice that indices from `index` on name; -1: none. */
RARE int64_t slice_at(void *const *args, const wk_rare *d, int64_t index) {
  const wk_rare_view *y = &d->view[0], *at = &d->view[2];
  int64_t last = at->rank - 1, to = 0;
  for (int64_t k = 0; k < at->dims[last]; k++) {
    int64_t place = rare_position(rare_at(args[2], at, index + k * at->strides[last]), at->dtype,
                                  y->dims[k], args[4]);
    if (place < 0) return -1;
    to += place * y->strides[k];
  }
  return to;
}

/* A task has RARE_PIECE elements, or what is left, along the last axis of each slice. */
void wk_rare_scatter_nd(void *const *args, void *scratch, int64_t begin, int64_t end,
                        const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *y = &d->view[0], *at = &d->view[2], *from = &d->view[3];
  int64_t last = at->rank - 1, depth = at->dims[last], rows = rare_product(at->dims, 0, last);
  bool is_slice = depth < y->rank;
  int64_t along = is_slice ? y->dims[y->rank - 1] : 1;
  int64_t step = is_slice ? y->strides[y->rank - 1] : 0;
  int64_t from_step = is_slice ? from->strides[from->rank - 1] : 0;
  int64_t pieces = (along + RARE_PIECE - 1) / RARE_PIECE;
  bool moves = d->attr[RARE_COMBINE] == RARE_SET && step == 1 && from_step == 1;
  for (int64_t task = begin; task < end; task++) {
    int64_t first = task % pieces * RARE_PIECE, n = rare_min(along - first, RARE_PIECE);
    int64_t to = first * step, source = first * from_step;
    if (is_slice) {
      to += rare_offset(task / pieces, y->dims, y->strides, depth, y->rank - 1);
      source += rare_offset(task / pieces, from->dims, from->strides, last, from->rank - 1);
    }
    scatter_row r = {{0}, 0, source};
    for (int64_t row = 0; row < rows; row++, next_row(&r, at, from)) {
      int64_t slice = slice_at(args, d, r.index), into = to + slice;
      if (slice < 0) continue;
      if (moves)
        __builtin_memcpy(rare_at(args[0], y, into), rare_at(args[3], from, r.source),
                         (unsigned long)(n * rare_size(y->dtype)));
      else
        for (int64_t e = 0; e < n; e++)
          update(d->attr[RARE_COMBINE], y->dtype, rare_at(args[0], y, into + e * step),
                 rare_at(args[3], from, r.source + e * from_step));
    }
  }
}
