/* SPDX-License-Identifier: Apache-2.0
 * Writing by index. Views: y, data, indices, updates. Updates may meet, so one task does all of
 * them in order; the data was copied to y by a step before. */
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
  (void)begin;
  (void)end;
  const wk_rare_view *y = &d->view[0], *at = &d->view[2], *from = &d->view[3];
  int64_t axis = d->attr[RARE_AXIS], n = rare_product(at->dims, 0, at->rank);
  int64_t strides[8];
  for (int k = 0; k < 8; k++) strides[k] = k == axis ? 0 : y->strides[k];
  for (int64_t t = 0; t < n; t++) {
    int64_t index = rare_index(
        rare_at(args[2], at, rare_offset(t, at->dims, at->strides, 0, at->rank)), at->dtype,
        y->dims[axis], args[4]);
    int64_t to = rare_offset(t, at->dims, strides, 0, at->rank) + index * y->strides[axis];
    update(d->attr[RARE_COMBINE], y->dtype, rare_at(args[0], y, to),
           rare_at(args[3], from, rare_offset(t, at->dims, from->strides, 0, at->rank)));
  }
}

void wk_rare_scatter_nd(void *const *args, void *scratch, int64_t begin, int64_t end,
                        const wk_rare *d) {
  (void)scratch;
  (void)begin;
  (void)end;
  const wk_rare_view *y = &d->view[0], *at = &d->view[2], *from = &d->view[3];
  int64_t last = at->rank - 1, depth = at->dims[last], rows = rare_product(at->dims, 0, last);
  int64_t slice = rare_product(y->dims, depth, y->rank);
  for (int64_t t = 0; t < rows; t++) {
    int64_t row = rare_offset(t, at->dims, at->strides, 0, last), to = 0;
    for (int64_t k = 0; k < depth; k++)
      to += rare_index(rare_at(args[2], at, row + k * at->strides[last]), at->dtype, y->dims[k],
                       args[4]) *
            y->strides[k];
    int64_t source = rare_offset(t, from->dims, from->strides, 0, last);
    for (int64_t e = 0; e < slice; e++)
      update(d->attr[RARE_COMBINE], y->dtype,
             rare_at(args[0], y, to + rare_offset(e, y->dims, y->strides, depth, y->rank)),
             rare_at(args[3], from,
                     source + rare_offset(e, from->dims, from->strides, last, from->rank)));
  }
}
