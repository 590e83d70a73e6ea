/* SPDX-License-Identifier: Apache-2.0
 * Running sums and the k extreme values along an axis. A task is one line along the axis. */
#include "targets/cpu/rare/bitcode/scalar.h"

/* Offset of line t: all axes but one. */
RARE int64_t line_offset(int64_t t, const wk_rare_view *v, int64_t axis, const int64_t *dims) {
  int64_t sum = 0;
  for (int64_t k = v->rank - 1; k >= 0; k--) {
    if (k == axis) continue;
    sum += t % dims[k] * v->strides[k];
    t /= dims[k];
  }
  return sum;
}

/* Views: y, x. */
void wk_rare_cum_sum(void *const *args, void *scratch, int64_t begin, int64_t end,
                     const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *y = &d->view[0], *x = &d->view[1];
  int64_t axis = d->attr[RARE_AXIS], n = x->dims[axis], t = x->dtype;
  bool exclusive = d->attr[RARE_EXCLUSIVE], reverse = d->attr[RARE_REVERSE];
  for (int64_t l = begin; l < end; l++) {
    int64_t from = line_offset(l, x, axis, x->dims), to = line_offset(l, y, axis, x->dims);
    double f = 0;
    int64_t s = 0;
    for (int64_t k = 0; k < n; k++) {
      int64_t at = reverse ? n - 1 - k : k;
      const void *in = rare_at(args[1], x, from + at * x->strides[axis]);
      void *out = rare_at(args[0], y, to + at * y->strides[axis]);
      if (rare_is_float(t)) {
        double before = f;
        f += rare_get_f(in, t);
        rare_put_f(out, t, exclusive ? before : f);
      } else {
        int64_t before = s;
        s = (int64_t)((uint64_t)s + (uint64_t)rare_get_i(in, t));
        rare_put_i(out, t, exclusive ? before : s);
      }
    }
  }
}

/* ---- top_k ---------------------------------------------------------------------------------- */

typedef struct {
  double f;
  int64_t i, at;
} ranked;

/* NaN is the largest value; ties go to the lower position. */
RARE bool is_before(const ranked *a, const ranked *b, int64_t t, bool largest) {
  int order;
  if (rare_is_float(t)) {
    bool an = a->f != a->f, bn = b->f != b->f;
    order = an || bn ? an - bn : (a->f > b->f) - (a->f < b->f);
  } else if (t == WICK_U64) {
    order = ((uint64_t)a->i > (uint64_t)b->i) - ((uint64_t)a->i < (uint64_t)b->i);
  } else {
    order = (a->i > b->i) - (a->i < b->i);
  }
  if (order) return largest ? order > 0 : order < 0;
  return a->at < b->at;
}

/* heap[0] comes last of those that are kept. */
RARE void sift_down(ranked *heap, int64_t at, int64_t n, int64_t t, bool largest) {
  for (;;) {
    int64_t child = 2 * at + 1;
    if (child >= n) return;
    if (child + 1 < n && is_before(&heap[child], &heap[child + 1], t, largest)) child++;
    if (!is_before(&heap[at], &heap[child], t, largest)) return;
    ranked swap = heap[at];
    heap[at] = heap[child];
    heap[child] = swap;
    at = child;
  }
}

/* Keeps the best k in scratch as a heap, then sorts them. */
RARE void select_best(ranked *heap, int64_t k, const char *x, int64_t stride, int64_t n, int64_t t,
                      bool largest) {
  bool real = rare_is_float(t);
  for (int64_t at = 0; at < n; at++) {
    const void *p = x + at * stride;
    ranked r = {real ? rare_get_f(p, t) : 0, real ? 0 : rare_get_i(p, t), at};
    if (at < k) {
      heap[at] = r;
      for (int64_t i = k / 2; at == k - 1 && i-- > 0;) sift_down(heap, i, k, t, largest);
    } else if (is_before(&r, &heap[0], t, largest)) {
      heap[0] = r;
      sift_down(heap, 0, k, t, largest);
    }
  }
  for (int64_t left = k - 1; left > 0; left--) {
    ranked swap = heap[0];
    heap[0] = heap[left];
    heap[left] = swap;
    sift_down(heap, 0, left, t, largest);
  }
}

/* Views: values, indices, x. */
void wk_rare_top_k(void *const *args, void *scratch, int64_t begin, int64_t end,
                   const wk_rare *d) {
  const wk_rare_view *values = &d->view[0], *indices = &d->view[1], *x = &d->view[2];
  int64_t axis = d->attr[RARE_AXIS], k = d->attr[RARE_K], t = x->dtype;
  ranked *heap = scratch;
  if (k == 0) return;
  for (int64_t l = begin; l < end; l++) {
    const char *line = rare_at(args[2], x, line_offset(l, x, axis, x->dims));
    select_best(heap, k, line, x->strides[axis] * rare_size(t), x->dims[axis], t,
                d->attr[RARE_LARGEST]);
    for (int64_t i = 0; i < k; i++) {
      if (args[0]) {
        void *to = rare_at(args[0], values, line_offset(l, values, axis, x->dims) +
                                                i * values->strides[axis]);
        if (rare_is_float(t)) rare_put_f(to, t, heap[i].f);
        else rare_put_i(to, t, heap[i].i);
      }
      if (args[1])
        rare_put_i(rare_at(args[1], indices, line_offset(l, indices, axis, x->dims) +
                                                 i * indices->strides[axis]),
                   indices->dtype, heap[i].at);
    }
  }
}
