/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "compiler/expr/scalar.h"
#include "compiler/train/data.h"

static int64_t elements(const wk_type *t) {
  return t->dims[0] ? wk_type_count(t) / t->dims[0] : 0;
}

int64_t wk_column_elements(const wk_column *c) { return elements(&c->t.type); }

/* ---- checks ---------------------------------------------------------------------------------- */

static void add_dims(wk_str *b, const wk_type *t) {
  wk_str_add(b, "[");
  for (int i = 1; i < t->rank; i++)
    wk_str_printf(b, i > 1 ? ",%lld" : "%lld", (long long)t->dims[i]);
  wk_str_add(b, "]");
}

/* The next axis behind `axis` that is no 1; the rank past the last. */
static int next_axis(const wk_type *t, int axis) {
  for (axis++; axis < t->rank && t->dims[axis] == 1;) axis++;
  return axis;
}

static bool same_sample(const wk_type *a, const wk_type *b) {
  int i = next_axis(a, 0), k = next_axis(b, 0);
  for (; i < a->rank && k < b->rank; i = next_axis(a, i), k = next_axis(b, k))
    if (a->dims[i] != b->dims[k]) return false;
  return i == a->rank && k == b->rank;
}

static wk_status check_shape(const wk_column *c, const wk_type *want, int64_t classes) {
  if (same_sample(&c->t.type, want)) return NULL;
  if (classes > 1 && elements(&c->t.type) == classes * elements(want))
    return wk_error_at(WK_INPUT, c->path, "has %lld numbers where one class is wanted, 0..%lld: of "
                       "labels that are 1 at their class give the positions (argmax)",
                       (long long)classes, (long long)classes - 1);
  wk_str have = {0}, need = {0};
  add_dims(&have, &c->t.type);
  add_dims(&need, want);
  wk_status s = wk_error_at(WK_INPUT, c->path, "samples have the shape %s, %s%s has %s", have.s,
                            c->name ? "the input " : "the target", c->name ? c->name : "", need.s);
  wk_str_free(&have);
  wk_str_free(&need);
  return s;
}

static wk_status bad_value(const wk_column *c, int64_t flat, const char *why) {
  int64_t n = wk_column_elements(c), pos[WK_MAX_RANK], rest = flat % n;
  const wk_type *t = &c->t.type;
  wk_str at = {0};
  for (int i = t->rank - 1; i > 0; i--) {
    pos[i] = rest % t->dims[i];
    rest /= t->dims[i];
  }
  if (n > 1) wk_str_add(&at, ", element [");
  for (int i = 1; n > 1 && i < t->rank; i++)
    wk_str_printf(&at, i > 1 ? ",%lld" : "%lld", (long long)pos[i]);
  if (n > 1) wk_str_add(&at, "]");
  if (wk_dtype_is_float(t->dtype))
    wk_str_printf(&at, ": %g", wk_load_f64(c->t.data, t->dtype, flat));
  else if (t->dtype == WK_U64)
    wk_str_printf(&at, ": %llu", (unsigned long long)wk_load_i64(c->t.data, t->dtype, flat));
  else
    wk_str_printf(&at, ": %lld", (long long)wk_load_i64(c->t.data, t->dtype, flat));
  wk_status s =
      wk_error_at(WK_INPUT, c->path, "sample %lld%s %s", (long long)(flat / n), at.s, why);
  wk_str_free(&at);
  return s;
}

static wk_status check_floats(const wk_column *c, wk_dtype t) {
  int64_t n = wk_type_count(&c->t.type);
  uint64_t as;
  char why[64];
  snprintf(why, sizeof why, "does not fit into %s", wk_dtype_name(t));
  for (int64_t i = 0; i < n; i++) {
    double v = wk_load_f64(c->t.data, c->t.type.dtype, i);
    if (!isfinite(v)) return bad_value(c, i, "is no finite number");
    wk_store_f64(&as, t, 0, v);
    if (!isfinite(wk_load_f64(&as, t, 0))) return bad_value(c, i, why);
  }
  return NULL;
}

/* v, an element of type t, is in lo..hi; numbers of u64 past those of i64 never are. */
static bool in_range(wk_dtype t, int64_t v, int64_t lo, int64_t hi) {
  return v >= lo && v <= hi && !(t == WK_U64 && v < 0);
}

static wk_status check_integers(const wk_column *c, int64_t lo, int64_t hi, const char *why) {
  int64_t n = wk_type_count(&c->t.type);
  wk_dtype t = c->t.type.dtype;
  for (int64_t i = 0; i < n; i++)
    if (!in_range(t, wk_load_i64(c->t.data, t, i), lo, hi)) return bad_value(c, i, why);
  return NULL;
}

static wk_status check_range(const wk_column *c, wk_dtype t) {
  char why[64];
  int64_t lo = 0, hi = 1;
  if (t != WK_BOOL) wk_int_range(t, &lo, &hi);
  if (t == WK_U64) hi = INT64_MAX;
  snprintf(why, sizeof why, "does not fit into %s", wk_dtype_name(t));
  return check_integers(c, lo, hi, why);
}

wk_status wk_column_check(const wk_column *c, const wk_type *want, int64_t classes) {
  wk_dtype from = c->t.type.dtype;
  if (c->t.type.rank < 1)
    return wk_error_at(WK_INPUT, c->path, "is a single number, samples lie along axis 0");
  WK_TRY(check_shape(c, want, classes));
  bool is_float = wk_dtype_is_float(from);
  if (is_float && classes > 0)
    return wk_error_at(WK_INPUT, c->path, "holds %s, where classes are wanted: integers, 0..%lld",
                       wk_dtype_name(from), (long long)classes - 1);
  if (is_float && !wk_dtype_is_float(want->dtype))
    return wk_error_at(WK_INPUT, c->path, "holds %s, where integers (%s) are wanted",
                       wk_dtype_name(from), wk_dtype_name(want->dtype));
  if (is_float) return check_floats(c, want->dtype);
  if (classes > 0) {
    char why[64];
    snprintf(why, sizeof why, "is outside the classes 0..%lld", (long long)classes - 1);
    return check_integers(c, 0, classes - 1, why);
  }
  return wk_dtype_is_float(want->dtype) || want->dtype == from ? NULL
                                                                : check_range(c, want->dtype);
}

/* ---- batches --------------------------------------------------------------------------------- */

void wk_column_gather(const wk_column *c, const int64_t *at, int64_t n, wk_dtype t, void *out) {
  wk_dtype from = c->t.type.dtype;
  int64_t n_elements = wk_column_elements(c), size = wk_dtype_size(t);
  bool as_float = wk_dtype_is_float(from) || wk_dtype_is_float(t);
  for (int64_t i = 0; i < n; i++) {
    int64_t first = at[i] * n_elements;
    uint8_t *to = (uint8_t *)out + i * n_elements * size;
    if (from == t) {
      memcpy(to, (const uint8_t *)c->t.data + first * size, (size_t)(n_elements * size));
      continue;
    }
    for (int64_t e = 0; e < n_elements; e++)
      if (as_float) wk_store_f64(to, t, e, wk_load_f64(c->t.data, from, first + e));
      else wk_store_i64(to, t, e, wk_load_i64(c->t.data, from, first + e));
  }
}
