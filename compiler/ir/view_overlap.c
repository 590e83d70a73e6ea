/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two strided views share bytes. They do when for some positions p of one and q of the
 * other
 *
 *   -size(a) < (a.offset - b.offset) + sum p[i] * pitch_a[i] - sum q[j] * pitch_b[j] < size(b)
 *
 * Axes of equal pitch are one variable (p[i] - q[j] takes every value of its range), and so is the
 * iteration of the loop around, which is the same for both views. The search takes the variables by
 * falling pitch; what the later ones can reach bounds each of them. Where pitches nest, as in views
 * of one tensor, no more than two or three values are left at each level; a budget ends the search
 * where they do not. */
#include <stdlib.h>

#include "compiler/ir/program_check.h"

#define MAX_TERMS (2 * WK_MAX_RANK + 1)
#define MAX_REACH (INT64_C(1) << 60)
#define BUDGET 4096

typedef struct {
  int64_t pitch;  /* bytes, > 0 */
  int64_t lo, hi; /* range of its variable */
} term;

typedef struct {
  int n;
  term terms[MAX_TERMS];
  int64_t rest_lo[MAX_TERMS + 1], rest_hi[MAX_TERMS + 1]; /* reach of the terms from k on */
} equation;

/* Adds pitch * x for x in lo..hi. */
static void add_term(equation *e, int64_t pitch, int64_t lo, int64_t hi) {
  if (pitch < 0) {
    int64_t swap = lo;
    pitch = -pitch;
    lo = -hi;
    hi = -swap;
  }
  if (pitch == 0 || (lo == 0 && hi == 0)) return;
  for (int k = 0; k < e->n; k++) {
    if (e->terms[k].pitch != pitch) continue;
    e->terms[k].lo += lo;
    e->terms[k].hi += hi;
    return;
  }
  int at = e->n++;
  for (; at > 0 && e->terms[at - 1].pitch < pitch; at--) e->terms[at] = e->terms[at - 1];
  e->terms[at] = (term){pitch, lo, hi};
}

static bool is_small(int64_t v) { return v > -MAX_REACH && v < MAX_REACH; }

static bool add_axes(equation *e, const wk_view *v, int64_t sign) {
  for (int i = 0; i < v->rank; i++) {
    int64_t pitch, reach;
    if (!wk_mul_ok(v->strides[i], wk_dtype_size(v->dtype), &pitch) ||
        !wk_mul_ok(pitch, v->dims[i], &reach) || !is_small(pitch) || !is_small(reach))
      return false;
    add_term(e, sign * pitch, 0, v->dims[i] - 1);
  }
  return true;
}

static bool add_iteration(equation *e, const wk_view *a, const wk_view *b, int64_t trip) {
  int64_t pitch, reach;
  if (__builtin_sub_overflow(a->step, b->step, &pitch)) return false;
  if (pitch == 0 || trip <= 1) return true;
  if (!wk_mul_ok(pitch, trip, &reach) || !is_small(pitch) || !is_small(reach)) return false;
  add_term(e, pitch, 0, trip - 1);
  return true;
}

static bool set_rests(equation *e) {
  e->rest_lo[e->n] = e->rest_hi[e->n] = 0;
  for (int k = e->n; k-- > 0;) {
    const term *t = &e->terms[k];
    int64_t lo, hi;
    if (!wk_mul_ok(t->pitch, t->lo, &lo) || !wk_mul_ok(t->pitch, t->hi, &hi)) return false;
    if (!wk_add_ok(e->rest_lo[k + 1], lo, &e->rest_lo[k])) return false;
    if (!wk_add_ok(e->rest_hi[k + 1], hi, &e->rest_hi[k])) return false;
    if (!is_small(e->rest_lo[k]) || !is_small(e->rest_hi[k])) return false;
  }
  return true;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Values of variable k that leave a sum in [lo, hi] within the reach of those behind it. */
static void bounds(const equation *e, int k, int64_t lo, int64_t hi, int64_t *from, int64_t *to) {
  const term *t = &e->terms[k];
  *from = -floor_div(-(lo - e->rest_hi[k + 1]), t->pitch);
  *to = floor_div(hi - e->rest_lo[k + 1], t->pitch);
  if (*from < t->lo) *from = t->lo;
  if (*to > t->hi) *to = t->hi;
}

/* No choice of the variables gives a sum in [lo, hi]. */
static bool has_no_solution(const equation *e, int64_t lo, int64_t hi) {
  int64_t at[MAX_TERMS], to[MAX_TERMS], done = 0; /* done: sum of the terms before k */
  int k = 0;
  if (hi < e->rest_lo[0] || lo > e->rest_hi[0]) return true;
  if (e->n == 0) return false; /* 0 lies in [lo, hi] */
  bounds(e, 0, lo, hi, &at[0], &to[0]);
  for (int budget = BUDGET; budget > 0; budget--) {
    if (at[k] > to[k]) { /* back to the variable before */
      if (k == 0) return true;
      k--;
      done -= e->terms[k].pitch * at[k]++;
      continue;
    }
    if (k + 1 == e->n) return false;
    done += e->terms[k].pitch * at[k];
    k++;
    bounds(e, k, lo - done, hi - done, &at[k], &to[k]);
  }
  return false;
}

static bool is_empty(const wk_view *v) {
  for (int i = 0; i < v->rank; i++)
    if (v->dims[i] == 0) return true;
  return false;
}

bool wk_view_disjoint_in_loop(const wk_view *a, const wk_view *b, int64_t trip) {
  equation e = {.n = 0};
  int64_t distance; /* the sum is to lie in (-size(a) - distance, size(b) - distance) */
  if (a->buffer != b->buffer || is_empty(a) || is_empty(b)) return true;
  if (__builtin_sub_overflow(a->offset, b->offset, &distance) || !is_small(distance)) return false;
  if (!add_axes(&e, a, 1) || !add_axes(&e, b, -1) || !add_iteration(&e, a, b, trip)) return false;
  return set_rests(&e) && has_no_solution(&e, 1 - wk_dtype_size(a->dtype) - distance,
                                          wk_dtype_size(b->dtype) - 1 - distance);
}

bool wk_view_disjoint(const wk_view *a, const wk_view *b) {
  return a->step == b->step && wk_view_disjoint_in_loop(a, b, 1);
}
