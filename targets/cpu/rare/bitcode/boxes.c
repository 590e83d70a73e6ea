/* SPDX-License-Identifier: Apache-2.0
 * Non-maximum suppression: per sample and class, boxes in order of falling score (ties: lower
 * position first) are kept unless they overlap a kept one too much. Rows beyond those kept hold -1;
 * boxes beyond the rows are dropped. One task does everything; its scratch holds the boxes of a
 * sample, those kept of a class, and a heap of candidates. */
#include "targets/cpu/rare/bitcode/scalar.h"

typedef struct {
  double y0, x0, y1, x1;
} box;

typedef struct {
  double score;
  int64_t at;
} candidate;

RARE double least(double a, double b) { return a < b || b != b ? a : b; }
RARE double most(double a, double b) { return a > b || b != b ? a : b; }

/* sorted: corners may be any two that lie opposite to each other. */
RARE box box_of(const double v[4], bool center, bool sorted) {
  if (center) { /* x, y, width, height */
    box b = {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
    return b;
  }
  if (!sorted) {
    box b = {v[0], v[1], v[2], v[3]};
    return b;
  }
  box b = {least(v[0], v[2]), least(v[1], v[3]), most(v[0], v[2]), most(v[1], v[3])};
  return b;
}

RARE bool overlaps(const box *a, const box *b, double threshold) {
  double h = least(a->y1, b->y1) - most(a->y0, b->y0), w = least(a->x1, b->x1) - most(a->x0, b->x0);
  if (!(h > 0 && w > 0)) return false;
  double p = (a->y1 - a->y0) * (a->x1 - a->x0), q = (b->y1 - b->y0) * (b->x1 - b->x0);
  double both = p + q - h * w;
  return p > 0 && q > 0 && both > 0 && h * w / both > threshold;
}

/* The same of low corners and high ones as they stand, in f32: overlaps unless the ratio is at most
 * the threshold. more: what a side measures beyond the distance of its corners. */
RARE bool overlaps_f32(const box *a, const box *b, float threshold, float more) {
  float ah = (float)a->y1 - (float)a->y0 + more, aw = (float)a->x1 - (float)a->x0 + more;
  float bh = (float)b->y1 - (float)b->y0 + more, bw = (float)b->x1 - (float)b->x0 + more;
  float h = (float)least(a->y1, b->y1) - (float)most(a->y0, b->y0) + more;
  float w = (float)least(a->x1, b->x1) - (float)most(a->x0, b->x0) + more;
  float both = (w > 0 ? w : 0) * (h > 0 ? h : 0), kept = aw * ah, next = bw * bh;
  return !(both / (kept + next - both) <= threshold);
}

RARE bool comes_first(const candidate *a, const candidate *b) {
  return a->score != b->score ? a->score > b->score : a->at < b->at;
}

/* heap[0] comes first. */
RARE void sift_down(candidate *heap, int64_t at, int64_t n) {
  for (;;) {
    int64_t child = 2 * at + 1;
    if (child >= n) return;
    if (child + 1 < n && comes_first(&heap[child + 1], &heap[child])) child++;
    if (!comes_first(&heap[child], &heap[at])) return;
    candidate swap = heap[at];
    heap[at] = heap[child];
    heap[child] = swap;
    at = child;
  }
}

typedef struct {
  void *const *args;
  const wk_rare *d;
  int64_t n, limit, n_rows, max_rows;
  double iou, score;
  box *boxes, *kept;
  candidate *heap;
} suppression;

/* Views: y [rows,3], boxes [n,b,4], scores [n,c,b], max_output, iou, score. */
RARE void put_row(suppression *s, int64_t row, int64_t a, int64_t b, int64_t c) {
  const wk_rare_view *y = &s->d->view[0];
  int64_t v[3] = {a, b, c};
  for (int64_t k = 0; k < 3; k++)
    rare_put_i(rare_at(s->args[0], y, row * y->strides[0] + k * y->strides[1]), y->dtype, v[k]);
}

RARE int64_t list_candidates(suppression *s, int64_t sample, int64_t cls) {
  const wk_rare_view *v = &s->d->view[2];
  int64_t n = 0, first = sample * v->strides[0] + cls * v->strides[1];
  for (int64_t i = 0; i < s->n; i++) {
    double score = rare_get_f(rare_at(s->args[2], v, first + i * v->strides[2]), v->dtype);
    if (!(score > s->score)) continue;
    s->heap[n].score = score;
    s->heap[n++].at = i;
  }
  for (int64_t i = n / 2; i-- > 0;) sift_down(s->heap, i, n);
  return n;
}

RARE bool hides(const suppression *s, const box *kept, const box *b) {
  int64_t overlap = s->d->attr[RARE_OVERLAP];
  if (overlap == RARE_AREA) return overlaps(b, kept, s->iou);
  return overlaps_f32(kept, b, (float)s->iou, overlap == RARE_PIXELS ? 1 : 0);
}

RARE void suppress(suppression *s, int64_t sample, int64_t cls) {
  int64_t n = list_candidates(s, sample, cls), kept = 0;
  while (n > 0 && kept < s->limit && s->n_rows < s->max_rows) {
    int64_t at = s->heap[0].at;
    const box *b = &s->boxes[at];
    s->heap[0] = s->heap[--n];
    sift_down(s->heap, 0, n);
    bool hidden = false;
    for (int64_t k = 0; k < kept && !hidden; k++) hidden = hides(s, &s->kept[k], b);
    if (hidden) continue;
    s->kept[kept++] = *b;
    put_row(s, s->n_rows++, sample, cls, at);
  }
}

RARE double setting(void *const *args, const wk_rare *d, int k, double absent) {
  return args[k] ? rare_get_f(args[k], d->view[k].dtype) : absent;
}

void wk_rare_non_max_suppression(void *const *args, void *scratch, int64_t begin, int64_t end,
                                 const wk_rare *d) {
  (void)begin;
  (void)end;
  const wk_rare_view *v = &d->view[1];
  suppression s = {.args = args, .d = d, .n = v->dims[1], .max_rows = d->view[0].dims[0]};
  s.limit = args[3] ? rare_get_i(args[3], d->view[3].dtype) : 0;
  s.iou = setting(args, d, 4, 0);
  s.score = setting(args, d, 5, -RARE_INFINITY);
  s.boxes = scratch;
  s.kept = s.boxes + s.n;
  s.heap = (candidate *)(void *)(s.kept + s.n);
  for (int64_t row = 0; row < s.max_rows; row++) put_row(&s, row, -1, -1, -1);
  for (int64_t sample = 0; sample < v->dims[0]; sample++) {
    for (int64_t i = 0; i < s.n; i++) {
      double c[4];
      for (int64_t k = 0; k < 4; k++)
        c[k] = rare_get_f(rare_at(args[1], v, sample * v->strides[0] + i * v->strides[1] +
                                                  k * v->strides[2]),
                          v->dtype);
      s.boxes[i] = box_of(c, d->attr[RARE_CENTER_POINT], d->attr[RARE_OVERLAP] == RARE_AREA);
    }
    for (int64_t k = 0; k < d->view[2].dims[1]; k++) suppress(&s, sample, k);
  }
}
