/* SPDX-License-Identifier: Apache-2.0
 * --target-drop: layers are left in float, the noisiest first, until the outputs are close enough.
 * How many it takes is found by bisection. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler/driver/quantize.h"
#include "compiler/driver/text.h"

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

typedef struct {
  uint32_t layer;
  double decibel;
} candidate;

static int by_noise(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->decibel != y->decibel) return x->decibel < y->decibel ? -1 : 1;
  return (x->layer > y->layer) - (x->layer < y->layer);
}

static candidate *order(const wk_quantize_job *j, size_t *n) {
  candidate *c = wk_arena_alloc(j->arena, (j->plan.layers.n + 1) * sizeof *c);
  *n = 0;
  for (size_t i = 0; i < j->plan.layers.n; i++) {
    const wk_quantize_layer *l = &j->plan.layers.data[i];
    if (l->quantised && l->kind != WK_LAYER_CARRIES)
      c[(*n)++] = (candidate){(uint32_t)i, wk_quantize_decibel(j->alone[i])};
  }
  qsort(c, *n, sizeof *c, by_noise);
  return c;
}

static wk_status try_count(wk_quantize_job *j, const candidate *c, size_t n, size_t kept,
                           bool *any) {
  for (size_t i = 0; i < n; i++) {
    j->plan.layers.data[c[i].layer].keep = i < kept;
    j->plan.layers.data[c[i].layer].why = i < kept ? "--target-drop" : NULL;
  }
  *any = wk_quantize_settle(&j->plan) > 0;
  wk_progress("target: %zu of %zu layers in float", kept, n);
  return *any ? wk_quantize_measure(j, false) : NULL;
}

wk_status wk_quantize_search(wk_quantize_job *j, double decibel) {
  size_t n, lo = 0;
  bool any;
  WK_TRY(wk_quantize_measure_alone(j));
  const candidate *c = order(j, &n);
  size_t hi = n;
  WK_TRY(try_count(j, c, n, 0, &any));
  if (wk_quantize_decibel(j->end) >= decibel) return NULL;
  while (hi - lo > 1) { /* lo: too few, hi: enough, or nothing left */
    size_t middle = lo + (hi - lo) / 2;
    WK_TRY(try_count(j, c, n, middle, &any));
    if (!any || wk_quantize_decibel(j->end) >= decibel) hi = middle;
    else lo = middle;
  }
  WK_TRY(try_count(j, c, n, hi, &any));
  j->kept = hi;
  if (any) return NULL;
  return wk_error_at(WK_FAILED, j->path,
                     "no layer can be quantised within %.1f dB: --target-drop asks for too much",
                     decibel);
}
