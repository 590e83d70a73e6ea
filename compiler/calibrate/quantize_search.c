/* SPDX-License-Identifier: Apache-2.0
 * --target-drop: layers are left in float until the outputs are close enough, first those that
 * disturb the outputs most by themselves. How many it takes is found by bisection. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler/calibrate/quantize.h"

wk_status wk_quantize_target(const char *text, double *decibel) {
  char *end;
  double v = strtod(text, &end);
  bool is_decibel = end != text && !strcasecmp(end, "dB");
  if (is_decibel && isfinite(v)) {
    *decibel = v;
    return NULL;
  }
  if (end == text || *end || !(v > 0 && v < 1))
    return wk_error(WK_USAGE, "--target-drop %s: write a ratio such as 40dB, or a relative error "
                    "between 0 and 1 such as 0.01", text);
  *decibel = -20 * log10(v);
  return NULL;
}

/* ---- the order ------------------------------------------------------------------------------- */

typedef struct {
  uint32_t layer;
  double noise; /* at the outputs when nothing else is quantised */
} candidate;

static int by_noise(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->noise != y->noise) return x->noise > y->noise ? -1 : 1;
  return (x->layer > y->layer) - (x->layer < y->layer);
}

/* FOLLOWS layers alone are fed by nobody: they are taken to lead meanwhile. */
static wk_status measure_cost(wk_quantize_job *j, candidate *c) {
  enum { SAMPLES = 2 };
  wk_quantize_layer *l = &j->plan.layers.data[c->layer];
  wk_layer_kind kind = l->kind;
  wk_quantize_noise noise = {0};
  l->keep = false;
  l->kind = WK_LAYER_LEADS;
  wk_quantize_settle(&j->plan);
  wk_status s = wk_quantize_measure_outputs(j, SAMPLES, &noise);
  l->kind = kind;
  l->keep = true;
  c->noise = noise.noise;
  return s;
}

static wk_status order(wk_quantize_job *j, candidate *c, size_t *n) {
  *n = 0;
  for (size_t i = 0; i < j->plan.layers.n; i++) {
    wk_quantize_layer *l = &j->plan.layers.data[i];
    if (!l->quantised || l->kind == WK_LAYER_CARRIES) continue;
    c[(*n)++] = (candidate){.layer = (uint32_t)i};
    l->keep = true;
  }
  for (size_t i = 0; i < *n; i++) {
    wk_progress("target: what layer %zu of %zu costs", i + 1, *n);
    WK_TRY(measure_cost(j, &c[i]));
  }
  qsort(c, *n, sizeof *c, by_noise);
  return NULL;
}

/* ---- how many -------------------------------------------------------------------------------- */

static wk_status try_count(wk_quantize_job *j, const candidate *c, size_t n, size_t kept,
                           bool *any) {
  for (size_t i = 0; i < n; i++) {
    j->plan.layers.data[c[i].layer].keep = i < kept;
    j->plan.layers.data[c[i].layer].why = i < kept ? "--target-drop" : NULL;
  }
  *any = wk_quantize_settle(&j->plan) > 0;
  wk_progress("target: %zu of %zu layers in float", kept, n);
  return *any ? wk_quantize_measure_outputs(j, WK_QUANTIZE_MEASURED, &j->end) : NULL;
}

/* The least number that is enough, counting on more being better; *any: something is left. */
static wk_status bisect(wk_quantize_job *j, const candidate *c, size_t n, double decibel,
                        bool *any) {
  size_t lo = 0, hi = n; /* lo: too few; hi: enough, or nothing left */
  while (hi - lo > 1) {
    size_t middle = lo + (hi - lo) / 2;
    WK_TRY(try_count(j, c, n, middle, any));
    if (!*any || wk_quantize_decibel(j->end) >= decibel) hi = middle;
    else lo = middle;
  }
  j->kept = hi;
  return try_count(j, c, n, hi, any);
}

wk_status wk_quantize_search(wk_quantize_job *j, double decibel) {
  candidate *c = wk_arena_alloc(j->arena, j->plan.layers.n * sizeof *c);
  size_t n;
  bool any;
  WK_TRY(wk_quantize_measure_outputs(j, WK_QUANTIZE_MEASURED, &j->end));
  if (wk_quantize_decibel(j->end) >= decibel) return NULL;
  WK_TRY(order(j, c, &n));
  WK_TRY(bisect(j, c, n, decibel, &any));
  if (any) return NULL;
  return wk_error_at(WK_FAILED, j->path,
                     "no layer can be quantised within the %.1f dB that --target-drop asks for",
                     decibel);
}
