/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/expr/narrow.h"

#include <math.h>
#include <string.h>

#include "compiler/expr/scalar.h"

enum { NONE = 256 };

static const wk_narrow_format formats[WK_DTYPE_COUNT] = {
    [WK_F8E4M3FN] = {4, 3, 7, 448, NONE, 0x7f, 0x7f, true, true},
    [WK_F8E4M3FNUZ] = {4, 3, 8, 240, NONE, NONE, 0x80, true, false},
    [WK_F8E5M2] = {5, 2, 15, 57344, 0x7c, 0x7d, 0x7e, true, true},
    [WK_F8E5M2FNUZ] = {5, 2, 16, 57344, NONE, NONE, 0x80, true, false},
    [WK_F4E2M1FN] = {2, 1, 1, 6, NONE, NONE, 0x8, true, true},
    [WK_F6E2M3FN] = {2, 3, 1, 7.5, NONE, NONE, 0x20, true, true},
    [WK_F6E3M2FN] = {3, 2, 3, 28, NONE, NONE, 0x20, true, true},
    [WK_F8E8M0FNU] = {8, 0, 127, 0x1p127, NONE, 0xff, 0xff, false, false},
};

const wk_narrow_format *wk_narrow_format_of(wk_dtype t) {
  return wk_dtype_is_narrow(t) && wk_dtype_is_float(t) ? &formats[t] : NULL;
}

/* A NaN that says of which pattern it is, so that loading and storing keep all bits. */
enum { MARK = 0x100 };

static double marked_nan(uint8_t pattern) {
  uint64_t bits = UINT64_C(0x7ff8) << 48 | MARK | pattern;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static uint8_t pattern_of_nan(const wk_narrow_format *f, double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits & MARK ? (uint8_t)bits : f->nan;
}

double wk_narrow_value(const wk_narrow_format *f, uint8_t pattern) {
  int width = f->exponent + f->mantissa, magnitude = pattern & ((1 << width) - 1);
  bool negative = f->has_sign && pattern >> width & 1;
  if (magnitude >= f->nan_from || (f->has_sign && !f->has_minus_zero && negative && !magnitude))
    return marked_nan(pattern);
  if (!f->has_sign) return ldexp(1, magnitude - f->bias);
  double v = (double)INFINITY;
  if (magnitude != f->infinity) {
    int e = magnitude >> f->mantissa, m = magnitude & ((1 << f->mantissa) - 1);
    if (e) m += 1 << f->mantissa;
    v = ldexp(m, (e ? e : 1) - f->bias - f->mantissa);
  }
  return negative ? -v : v;
}

static uint8_t scale_pattern(const wk_narrow_format *f, double size) {
  int e;
  double part = frexp(size, &e); /* in [0.5, 1) */
  if (part == 0.5) e--;
  if (size == 0 || e < -f->bias) return 0;
  return (uint8_t)(size > f->most ? f->nan_from - 1 : e + f->bias);
}

uint8_t wk_narrow_pattern(const wk_narrow_format *f, double v) {
  if (isnan(v)) return pattern_of_nan(f, v);
  double size = fabs(v);
  if (!f->has_sign) return scale_pattern(f, size);
  if (isinf(v) && f->infinity != NONE)
    return (uint8_t)(f->infinity | (v < 0) << (f->exponent + f->mantissa));
  if (size > f->most) size = f->most;
  int least = 1 - f->bias, e = size < ldexp(1, least) ? least : ilogb(size);
  /* A mantissa rounded up to the next power of two carries into the exponent. */
  int steps = (int)nearbyint(ldexp(size, f->mantissa - e));
  int magnitude = ((e + f->bias - 1) << f->mantissa) + steps;
  bool negative = signbit(v) && (magnitude || f->has_minus_zero);
  return (uint8_t)(magnitude | negative << (f->exponent + f->mantissa));
}

/* ---- packing --------------------------------------------------------------------------------- */

int64_t wk_packed_bytes(const wk_type *t) {
  int bits = wk_dtype_bits(t->dtype);
  return bits < 8 ? (wk_type_count(t) * bits + 7) / 8 : wk_type_bytes(t);
}

void wk_pack(const wk_type *t, const void *data, uint8_t *packed) {
  int bits = wk_dtype_bits(t->dtype);
  const uint8_t *x = data;
  if (bits >= 8) {
    if (wk_type_bytes(t) > 0) memcpy(packed, data, (size_t)wk_type_bytes(t));
    return;
  }
  for (int64_t i = 0, at = 0; i < wk_type_count(t); i++, at += bits) {
    unsigned v = (x[i] & ((1u << bits) - 1)) << (at & 7);
    packed[at >> 3] |= (uint8_t)v;
    if (v >> 8) packed[(at >> 3) + 1] |= (uint8_t)(v >> 8);
  }
}

void wk_unpack(const wk_type *t, const uint8_t *packed, void *data) {
  int bits = wk_dtype_bits(t->dtype);
  uint8_t *y = data;
  if (bits >= 8) {
    if (wk_type_bytes(t) > 0) memcpy(data, packed, (size_t)wk_type_bytes(t));
    return;
  }
  bool is_int = wk_dtype_is_int(t->dtype);
  for (int64_t i = 0, at = 0; i < wk_type_count(t); i++, at += bits) {
    unsigned v = packed[at >> 3];
    if ((at & 7) + bits > 8) v |= (unsigned)packed[(at >> 3) + 1] << 8;
    v = v >> (at & 7) & ((1u << bits) - 1);
    y[i] = (uint8_t)(is_int ? wk_wrap_int(v, t->dtype) : v);
  }
}
