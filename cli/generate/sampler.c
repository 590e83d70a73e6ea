/* SPDX-License-Identifier: Apache-2.0
 * A heap gives the candidates from the most likely one on, as far as they are needed. */
#include "cli/generate/sampler.h"

#include <math.h>
#include <stdlib.h>

void wk_sampler_open(const wk_sampling *how, int64_t seed, int64_t n, wk_sampler *out) {
  *out = (wk_sampler){.how = *how, .rng = {.s = (uint64_t)seed}, .n = n};
  out->ordered = wk_xcalloc((size_t)n, sizeof *out->ordered);
}

void wk_sampler_close(wk_sampler *s) {
  free(s->ordered);
  *s = (wk_sampler){0};
}

static wk_status find_largest(const float *logits, int64_t n, int64_t *largest) {
  int64_t best = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!(logits[i] < INFINITY))
      return wk_error(WK_FAILED, "the logit of token %lld is %s: no token can be chosen",
                      (long long)i, isnan(logits[i]) ? "NaN" : "infinite");
    if (logits[i] > logits[best]) best = i;
  }
  if (n < 1 || logits[best] == -INFINITY)
    return wk_error(WK_FAILED, "no token has a finite logit: none can be chosen");
  *largest = best;
  return NULL;
}

/* ---- the order of candidates ----------------------------------------------------------------- */

static bool is_before(wk_candidate a, wk_candidate b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

static void swap(wk_candidate *a, wk_candidate *b) {
  wk_candidate kept = *a;
  *a = *b;
  *b = kept;
}

static void sink(wk_candidate *heap, int64_t n, int64_t i) {
  for (int64_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && is_before(heap[child + 1], heap[child])) child++;
    if (!is_before(heap[child], heap[i])) return;
    swap(&heap[child], &heap[i]);
  }
}

static void make_heap(wk_candidate *heap, int64_t n) {
  for (int64_t i = n / 2 - 1; i >= 0; i--) sink(heap, n, i);
}

/* The first of heap[0 .. *n), which goes behind the others. */
static wk_candidate take_first(wk_candidate *heap, int64_t *n) {
  swap(&heap[0], &heap[--*n]);
  sink(heap, *n, 0);
  return heap[*n];
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Not normalised: of the largest logit it is 1. */
static double weight(const wk_sampler *s, float logit, float largest) {
  return exp(((double)logit - (double)largest) / s->how.temperature);
}

static double sum_of(const wk_sampler *s, int64_t from, float largest) {
  double sum = 0;
  for (int64_t i = s->n; i-- > from;) sum += weight(s, s->ordered[i].logit, largest);
  return sum;
}

/* ordered[from .. n) becomes the candidates that remain, the most likely one last. */
static int64_t order_candidates(wk_sampler *s, float largest) {
  int64_t left = s->n, k = s->how.top_k ? s->how.top_k : s->n;
  bool all = s->how.top_p >= 1;
  if (k >= s->n && all) return 0; /* any order will do */
  make_heap(s->ordered, s->n);
  double sum = k < s->n ? 0 : sum_of(s, 0, largest);
  for (int64_t taken = 0; k < s->n && taken < k; taken++)
    sum += weight(s, take_first(s->ordered, &left).logit, largest);
  if (all) return left;
  double reached = 0;
  int64_t from = s->n; /* what top_k has taken lies there already */
  while (from > 0 && reached < s->how.top_p * sum) {
    if (from == left) (void)take_first(s->ordered, &left);
    reached += weight(s, s->ordered[--from].logit, largest);
  }
  return from;
}

static int64_t draw(wk_sampler *s, const float *logits, float largest) {
  for (int64_t i = 0; i < s->n; i++)
    s->ordered[i] = (wk_candidate){.logit = logits[i], .id = (int32_t)i};
  int64_t from = order_candidates(s, largest), chosen = s->n - 1;
  double rest = wk_rng_unit(&s->rng) * sum_of(s, from, largest);
  for (int64_t i = s->n; i-- > from;) { /* rounding may leave a rest behind the last one */
    double w = weight(s, s->ordered[i].logit, largest);
    if (w > 0) chosen = i;
    if (rest < w) break;
    rest -= w;
  }
  return s->ordered[chosen].id;
}

wk_status wk_sampler_choose(wk_sampler *s, const float *logits, int64_t *id) {
  int64_t largest = 0;
  WK_TRY(find_largest(logits, s->n, &largest));
  bool is_greedy = s->how.temperature == 0 || s->how.top_k == 1;
  *id = is_greedy ? largest : draw(s, logits, logits[largest]);
  return NULL;
}
