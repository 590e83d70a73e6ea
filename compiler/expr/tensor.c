/* SPDX-License-Identifier: Apache-2.0 */
/* Dense tensors and conversion between element types. Narrow floats are rounded once, from the
 * exact value: going through a wider float first would round twice. */
#include "compiler/expr/types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/expr/narrow.h"
#include "compiler/expr/scalar.h"

wk_status wk_tensor_alloc(const wk_type *t, wk_tensor *out) {
  *out = (wk_tensor){0};
  WK_TRY(wk_type_check(t));
  WK_TRY(wk_try_malloc((size_t)wk_type_bytes(t), &out->data));
  out->type = *t;
  return NULL;
}

void wk_tensor_free(wk_tensor *t) {
  if (!t) return;
  free(t->data);
  t->data = NULL;
}

static uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

static float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

float wk_f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (h >> 10) & 31, m = h & 0x3ff;
  if (exponent == 31) return float_of(sign | 0x7f800000 | m << 13);
  if (exponent == 0) { /* zero or subnormal: m * 2^-24 */
    float f = (float)m * 0x1p-24f;
    return sign ? -f : f;
  }
  return float_of(sign | (exponent + 112) << 23 | m << 13);
}

uint16_t wk_f32_to_f16(float f) {
  uint32_t u = bits_of(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x1ff));
  if (a >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and above */
  if (a < 0x38800000) { /* subnormal: the addition leaves the rounded multiple of 2^-24 */
    float shifted = float_of(a) + 0.5f;
    return (uint16_t)(sign | (bits_of(shifted) - 0x3f000000));
  }
  a += 0xfff + (a >> 13 & 1);
  return (uint16_t)(sign | ((a >> 13) - (112u << 10)));
}

float wk_bf16_to_f32(uint16_t h) { return float_of((uint32_t)h << 16); }

uint16_t wk_f32_to_bf16(float f) {
  uint32_t u = bits_of(f);
  if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40);
  u += 0x7fff + (u >> 16 & 1);
  return (uint16_t)(u >> 16);
}

/* v as a float whose last bit is sticky ("round to odd"): rounding that to a format at least two
 * bits narrower gives the correctly rounded v. */
static float narrow_odd(double v) {
  float f = (float)v;
  if ((double)f == v || v != v) return f;
  uint32_t u = bits_of(f);
  bool up = ((double)f > v) == (v > 0); /* magnitude was rounded up (or to infinity) */
  if (up) u--;
  return float_of(u | 1);
}

double wk_round_f16(double v) { return (double)wk_f16_to_f32(wk_f32_to_f16(narrow_odd(v))); }
double wk_round_bf16(double v) { return (double)wk_bf16_to_f32(wk_f32_to_bf16(narrow_odd(v))); }

double wk_round_float(double v, wk_dtype t) {
  switch (t) {
    case WK_F32: return (double)(float)v;
    case WK_F16: return wk_round_f16(v);
    case WK_BF16: return wk_round_bf16(v);
    default: break;
  }
  const wk_narrow_format *f = wk_narrow_format_of(t);
  if (!f) return v;
  if (isnan(v)) v = (double)NAN;
  if (isinf(v)) v = v > 0 ? f->most : -f->most;
  return wk_narrow_value(f, wk_narrow_pattern(f, v));
}

int64_t wk_wrap_int(int64_t v, wk_dtype t) {
  switch (t) {
    case WK_I8: return (int8_t)v;
    case WK_I16: return (int16_t)v;
    case WK_I32: return (int32_t)v;
    case WK_U8: return (uint8_t)v;
    case WK_U16: return (uint16_t)v;
    case WK_U32: return (uint32_t)v;
    case WK_BOOL: return v & 1;
    case WK_U4: return v & 15;
    case WK_U2: return v & 3;
    case WK_I4: return (v & 15) - 2 * (v & 8);
    case WK_I2: return (v & 3) - 2 * (v & 2);
    default: return v;
  }
}

void wk_int_range(wk_dtype t, int64_t *lo, int64_t *hi) {
  int bits = wk_dtype_bits(t);
  if (t == WK_BOOL) {
    *lo = 0;
    *hi = 1;
  } else if (wk_dtype_is_signed(t)) {
    *hi = (int64_t)(UINT64_MAX >> (65 - bits));
    *lo = -*hi - 1;
  } else {
    *lo = 0;
    *hi = t == WK_U64 ? INT64_MAX : (int64_t)(UINT64_MAX >> (64 - bits));
  }
}

static int64_t float_to_int(double v, wk_dtype t) {
  if (t == WK_BOOL) return v != 0;
  if (v != v) return 0;
  if (t == WK_U64) {
    if (v <= -1) return 0;
    return v >= 0x1p64 ? -1 : (int64_t)(uint64_t)(v > 0 ? v : 0);
  }
  if (wk_dtype_is_narrow(t)) return wk_wrap_int(float_to_int(v, WK_I32), t);
  int64_t lo, hi;
  wk_int_range(t, &lo, &hi);
  if (v <= (double)lo) return lo;
  return v >= (double)hi ? hi : (int64_t)v;
}

/* Rounds to odd in the 53 bits of a double, then once to the narrow format. */
static double int_to_float(int64_t i, wk_dtype from, wk_dtype to) {
  bool negative = from != WK_U64 && i < 0;
  uint64_t m = negative ? 0 - (uint64_t)i : (uint64_t)i;
  if (to != WK_F64 && m >> 53) {
    uint64_t sticky = (m & 0x7ff) != 0;
    m = (m & ~UINT64_C(0x7ff)) | sticky << 11;
  }
  double v = (double)m;
  return wk_round_float(negative ? -v : v, to);
}

wk_scalar wk_scalar_cast(wk_scalar a, wk_dtype from, wk_dtype to) {
  wk_scalar y;
  if (wk_dtype_is_float(from)) {
    if (wk_dtype_is_float(to)) y.f = wk_round_float(a.f, to);
    else y.i = float_to_int(a.f, to);
  } else if (wk_dtype_is_float(to)) {
    y.f = int_to_float(a.i, from, to);
  } else {
    y.i = to == WK_BOOL ? a.i != 0 : wk_wrap_int(a.i, to);
  }
  return y;
}

wk_scalar wk_scalar_load(const void *data, wk_dtype t) {
  wk_scalar y = {0};
  switch (t) {
    case WK_F32: { float v; memcpy(&v, data, sizeof v); y.f = (double)v; break; }
    case WK_F64: memcpy(&y.f, data, sizeof y.f); break;
    case WK_F16: { uint16_t v; memcpy(&v, data, sizeof v); y.f = (double)wk_f16_to_f32(v); break; }
    case WK_BF16: {
      uint16_t v;
      memcpy(&v, data, sizeof v);
      y.f = (double)wk_bf16_to_f32(v);
      break;
    }
    case WK_I8: y.i = *(const int8_t *)data; break;
    case WK_U8: y.i = *(const uint8_t *)data; break;
    case WK_BOOL: y.i = *(const uint8_t *)data != 0; break;
    case WK_I16: { int16_t v; memcpy(&v, data, sizeof v); y.i = v; break; }
    case WK_U16: { uint16_t v; memcpy(&v, data, sizeof v); y.i = v; break; }
    case WK_I32: { int32_t v; memcpy(&v, data, sizeof v); y.i = v; break; }
    case WK_U32: { uint32_t v; memcpy(&v, data, sizeof v); y.i = v; break; }
    case WK_I64:
    case WK_U64: memcpy(&y.i, data, sizeof y.i); break;
    default: { /* narrow: patterns and extended integers */
      const wk_narrow_format *f = wk_narrow_format_of(t);
      if (f) y.f = wk_narrow_value(f, *(const uint8_t *)data);
      else y.i = wk_wrap_int(*(const uint8_t *)data, t);
    }
  }
  return y;
}

void wk_scalar_store(void *data, wk_dtype t, wk_scalar v) {
  switch (t) {
    case WK_F32: { float f = (float)v.f; memcpy(data, &f, sizeof f); break; }
    case WK_F64: memcpy(data, &v.f, sizeof v.f); break;
    case WK_F16: { uint16_t h = wk_f32_to_f16(narrow_odd(v.f)); memcpy(data, &h, sizeof h); break; }
    case WK_BF16: {
      uint16_t h = wk_f32_to_bf16(narrow_odd(v.f));
      memcpy(data, &h, sizeof h);
      break;
    }
    case WK_BOOL: *(uint8_t *)data = v.i != 0; break;
    case WK_F8E4M3FN:
    case WK_F8E4M3FNUZ:
    case WK_F8E5M2:
    case WK_F8E5M2FNUZ:
    case WK_F4E2M1FN:
    case WK_F6E2M3FN:
    case WK_F6E3M2FN:
    case WK_F8E8M0FNU: *(uint8_t *)data = wk_narrow_pattern(wk_narrow_format_of(t), v.f); break;
    default: memcpy(data, &v.i, (size_t)wk_dtype_size(t)); break; /* little endian: the low bytes */
  }
}

wk_scalar wk_scalar_bits(wk_scalar a, wk_dtype from, wk_dtype to) {
  uint64_t memory = 0;
  wk_scalar_store(&memory, from, a);
  return wk_scalar_load(&memory, to);
}

double wk_load_f64(const void *data, wk_dtype t, int64_t i) {
  wk_scalar v = wk_scalar_load((const char *)data + i * wk_dtype_size(t), t);
  return wk_scalar_cast(v, t, WK_F64).f;
}

int64_t wk_load_i64(const void *data, wk_dtype t, int64_t i) {
  wk_scalar v = wk_scalar_load((const char *)data + i * wk_dtype_size(t), t);
  return wk_scalar_cast(v, t, WK_I64).i;
}

void wk_store_f64(void *data, wk_dtype t, int64_t i, double v) {
  wk_scalar s = wk_scalar_cast((wk_scalar){.f = v}, WK_F64, t);
  wk_scalar_store((char *)data + i * wk_dtype_size(t), t, s);
}

void wk_store_i64(void *data, wk_dtype t, int64_t i, int64_t v) {
  wk_scalar s = wk_scalar_cast((wk_scalar){.i = v}, WK_I64, t);
  wk_scalar_store((char *)data + i * wk_dtype_size(t), t, s);
}
