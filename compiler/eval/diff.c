/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of tensors. */
#include <math.h>

#include "compiler/eval/handler.h"

static double largest_finite(const wk_tensor *t, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) {
    double v = fabs(wk_load_f64(t->data, t->type.dtype, i));
    if (isfinite(v) && v > most) most = v;
  }
  return most;
}

typedef struct {
  double got, want, abs, rel;
  double badness; /* 0: the same; above 1: outside the tolerance */
} element_diff;

static element_diff diff_reals(double got, double want, double rtol, double floor) {
  element_diff d = {got, want, 0, 0, 0};
  if (got == want || (isnan(got) && isnan(want))) return d;
  d.abs = fabs(got - want);
  d.rel = want != 0 ? d.abs / fabs(want) : 0;
  double allowed = rtol * fabs(want) + floor;
  d.badness = isfinite(d.abs) && isfinite(allowed) && allowed > 0 ? d.abs / allowed : INFINITY;
  if (isnan(d.abs)) d.abs = INFINITY;
  if (isnan(d.rel)) d.rel = INFINITY;
  return d;
}

static element_diff diff_element(const wk_tensor *got, const wk_tensor *want, int64_t i,
                                 double rtol, double floor) {
  wk_dtype t = got->type.dtype;
  double g = wk_load_f64(got->data, t, i), w = wk_load_f64(want->data, t, i);
  if (wk_dtype_is_float(t)) return diff_reals(g, w, rtol, floor);
  element_diff d = {g, w, 0, 0, 0};
  if (wk_load_i64(got->data, t, i) == wk_load_i64(want->data, t, i)) return d;
  d.abs = fabs(g - w);
  d.rel = w != 0 ? d.abs / fabs(w) : 0;
  d.badness = 2 + d.abs; /* exact, or wrong by this much */
  return d;
}

wk_diff wk_tensor_diff(const wk_tensor *got, const wk_tensor *want, const wk_tolerance *tol) {
  static const wk_tolerance usual = {1e-3, 1e-7, 1e-5};
  wk_diff d = {.worst = -1};
  if (!tol) tol = &usual;
  if (got->type.dtype != want->type.dtype || !wk_shape_equal(&got->type, &want->type)) return d;
  int64_t n = wk_type_count(&want->type);
  double floor = tol->atol, badness = 0;
  if (wk_dtype_is_float(want->type.dtype))
    floor = fmax(floor, tol->scale * largest_finite(want, n));
  for (int64_t i = 0; i < n; i++) {
    element_diff e = diff_element(got, want, i, tol->rtol, floor);
    d.max_abs = fmax(d.max_abs, e.abs);
    d.max_rel = fmax(d.max_rel, e.rel);
    if (e.badness > 1) d.mismatches++;
    if (e.badness <= badness) continue;
    badness = e.badness;
    d.worst = i;
    d.got = e.got;
    d.want = e.want;
  }
  d.equal = d.mismatches == 0;
  return d;
}
