/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep/explore.h"

/* By times, then area, then as they came: whoever beats a machine comes before it. */
typedef struct {
  wk_candidate *c;
  size_t at;
} entry;

static int by_times(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->c->times != y->c->times) return x->c->times < y->c->times ? -1 : 1;
  if (x->c->area != y->c->area) return x->c->area < y->c->area ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

/* Takes the front out of `list`, which is sorted by times: each has less area than all before. */
static size_t peel(entry *list, size_t n, wk_candidates *front) {
  size_t left = 0;
  double area = INFINITY;
  for (size_t i = 0; i < n; i++) {
    if (list[i].c->area >= area) {
      list[left++] = list[i];
      continue;
    }
    area = list[i].c->area;
    wk_vec_push(front, list[i].c);
  }
  return left;
}

/* Its ends, then the middles of what is between those that are there: 0, n - 1, then breadth
 * first. */
static void spread(const wk_candidates *front, wk_candidates *out) {
  typedef struct { size_t low, high; } gap; /* both are there */
  WK_VEC(gap) gaps = {0};
  const gap whole = {0, front->n - 1};
  wk_vec_push(out, front->data[0]);
  if (front->n > 1) wk_vec_push(out, front->data[front->n - 1]);
  wk_vec_push(&gaps, whole);
  for (size_t i = 0; i < gaps.n; i++) {
    const gap g = gaps.data[i];
    if (g.high - g.low < 2) continue;
    size_t middle = g.low + (g.high - g.low) / 2;
    const gap lower = {g.low, middle}, upper = {middle, g.high};
    wk_vec_push(out, front->data[middle]);
    wk_vec_push(&gaps, lower);
    wk_vec_push(&gaps, upper);
  }
  wk_vec_free(&gaps);
}

/* malloc'ed. */
static entry *entries_of(const wk_candidates *list, size_t *n) {
  entry *all = wk_xcalloc(list->n, sizeof *all);
  *n = 0;
  for (size_t i = 0; i < list->n; i++)
    if (!isnan(list->data[i]->times)) all[(*n)++] = (entry){list->data[i], i};
  qsort(all, *n, sizeof *all, by_times);
  return all;
}

void wk_explore_sort(wk_candidates *list) {
  size_t n;
  entry *left = entries_of(list, &n);
  list->n = 0;
  while (n) {
    wk_candidates front = {0};
    n = peel(left, n, &front);
    spread(&front, list);
    wk_vec_free(&front);
  }
  free(left);
}

void wk_explore_front(const wk_candidates *list, wk_candidates *front) {
  size_t n;
  entry *left = entries_of(list, &n);
  peel(left, n, front);
  free(left);
}
