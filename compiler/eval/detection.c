/* SPDX-License-Identifier: Apache-2.0 */
/* Non-maximum suppression: per sample and class, boxes in order of falling score (ties: lower
 * position first) are kept unless they overlap a kept one too much. Rows beyond those kept hold
 * -1; boxes beyond the rows are dropped. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

typedef struct { double y0, x0, y1, x1; } box;
typedef struct { double score; int64_t at; } candidate;

/* sorted: corners may be any two that lie opposite to each other. */
static box box_of(const double *v, bool center, bool sorted) {
  if (center) /* x, y, width, height */
    return (box){v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  if (!sorted) return (box){v[0], v[1], v[2], v[3]};
  return (box){fmin(v[0], v[2]), fmin(v[1], v[3]), fmax(v[0], v[2]), fmax(v[1], v[3])};
}

static bool overlaps(const box *a, const box *b, double threshold) {
  double h = fmin(a->y1, b->y1) - fmax(a->y0, b->y0), w = fmin(a->x1, b->x1) - fmax(a->x0, b->x0);
  if (!(h > 0 && w > 0)) return false;
  double p = (a->y1 - a->y0) * (a->x1 - a->x0), q = (b->y1 - b->y0) * (b->x1 - b->x0);
  double both = p + q - h * w;
  return p > 0 && q > 0 && both > 0 && h * w / both > threshold;
}

/* The same of low corners and high ones as they stand, in f32: overlaps unless the ratio is at most
 * the threshold. more: what a side measures beyond the distance of its corners. */
static bool overlaps_f32(const box *a, const box *b, float threshold, float more) {
  float ah = (float)a->y1 - (float)a->y0 + more, aw = (float)a->x1 - (float)a->x0 + more;
  float bh = (float)b->y1 - (float)b->y0 + more, bw = (float)b->x1 - (float)b->x0 + more;
  float h = (float)fmin(a->y1, b->y1) - (float)fmax(a->y0, b->y0) + more;
  float w = (float)fmin(a->x1, b->x1) - (float)fmax(a->x0, b->x0) + more;
  float both = (w > 0 ? w : 0) * (h > 0 ? h : 0), kept = aw * ah, next = bw * bh;
  return !(both / (kept + next - both) <= threshold);
}

static int by_score(const void *pa, const void *pb) {
  const candidate *a = pa, *b = pb;
  if (a->score != b->score) return a->score < b->score ? 1 : -1;
  return (a->at > b->at) - (a->at < b->at);
}

typedef struct {
  int64_t n, limit;      /* boxes; most kept per class */
  double iou, score;     /* thresholds */
  bool is_area;          /* of overlaps */
  float more;
  box *boxes, *kept;     /* of the sample; of the class */
  candidate *candidates;
  int64_t *rows, n_rows, max_rows; /* output */
} suppression;

static bool hides(const suppression *s, const box *kept, const box *b) {
  return s->is_area ? overlaps(b, kept, s->iou) : overlaps_f32(kept, b, (float)s->iou, s->more);
}

static void suppress(suppression *s, const wk_tensor *scores, int64_t sample, int64_t cls) {
  int64_t n = 0, n_kept = 0, first = (sample * scores->type.dims[1] + cls) * s->n;
  for (int64_t i = 0; i < s->n; i++) {
    double v = wk_load_f64(scores->data, scores->type.dtype, first + i);
    if (v > s->score) s->candidates[n++] = (candidate){v, i};
  }
  qsort(s->candidates, (size_t)n, sizeof *s->candidates, by_score);
  for (int64_t i = 0; i < n && n_kept < s->limit && s->n_rows < s->max_rows; i++) {
    const box *b = &s->boxes[s->candidates[i].at];
    bool hidden = false;
    for (int64_t k = 0; k < n_kept && !hidden; k++) hidden = hides(s, &s->kept[k], b);
    if (hidden) continue;
    s->kept[n_kept++] = *b;
    int64_t *row = s->rows + 3 * s->n_rows++;
    row[0] = sample;
    row[1] = cls;
    row[2] = s->candidates[i].at;
  }
}

static double threshold(const wk_eval_call *c, uint32_t k, double absent) {
  const wk_tensor *t = wk_eval_in(c, k);
  return t ? wk_load_f64(t->data, t->type.dtype, 0) : absent;
}

wk_status wk_eval_non_max_suppression(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_non_max_suppression *a = c->a.node->attrs;
  const wk_tensor *boxes = &c->a.in[0], *scores = &c->a.in[1], *limit = wk_eval_in(c, 2);
  suppression s = {.n = boxes->type.dims[1], .iou = threshold(c, 3, 0),
                   .score = threshold(c, 4, -INFINITY), .rows = c->a.out[0].data,
                   .max_rows = c->a.out[0].type.dims[0], .is_area = !strcmp(a->overlap, "area"),
                   .more = !strcmp(a->overlap, "pixels") ? 1 : 0};
  s.limit = limit ? wk_load_i64(limit->data, limit->type.dtype, 0) : 0;
  void *memory;
  size_t each = 2 * sizeof(box) + sizeof(candidate);
  WK_TRY(wk_try_malloc((size_t)s.n * each, &memory));
  s.boxes = memory;
  s.kept = s.boxes + s.n;
  s.candidates = (candidate *)(void *)(s.kept + s.n);
  memset(s.rows, 0xff, (size_t)s.max_rows * 3 * sizeof *s.rows);
  for (int64_t sample = 0; sample < boxes->type.dims[0]; sample++) {
    for (int64_t i = 0; i < s.n; i++) {
      double v[4];
      wk_reals_read(v, boxes, (sample * s.n + i) * 4, 1, 4);
      s.boxes[i] = box_of(v, a->center_point != 0, s.is_area);
    }
    for (int64_t k = 0; k < scores->type.dims[1]; k++) suppress(&s, scores, sample, k);
  }
  free(memory);
  return NULL;
}
