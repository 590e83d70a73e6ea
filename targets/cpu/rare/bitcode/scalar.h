/* SPDX-License-Identifier: Apache-2.0
 * Elements of any type, for the files of this folder. Floats go through double, everything else
 * through int64_t (u64 by its bits). */
#ifndef WICK_CPU_RARE_SCALAR_H
#define WICK_CPU_RARE_SCALAR_H

#include <stdbool.h>

#include "targets/cpu/rare/bitcode/rare.h"

#define RARE static inline __attribute__((always_inline, unused))
#define RARE_INFINITY __builtin_inf()

RARE int64_t rare_size(int64_t t) {
  if (t == WICK_F64 || t == WICK_I64 || t == WICK_U64) return 8;
  if (t == WICK_F32 || t == WICK_I32 || t == WICK_U32) return 4;
  if (t == WICK_F16 || t == WICK_BF16 || t == WICK_I16 || t == WICK_U16) return 2;
  return 1;
}

RARE bool rare_is_float(int64_t t) { return t >= WICK_F32 && t <= WICK_F64; }

RARE float rare_from_bits(uint32_t bits) {
  float f;
  __builtin_memcpy(&f, &bits, 4);
  return f;
}
RARE uint32_t rare_bits(float f) {
  uint32_t bits;
  __builtin_memcpy(&bits, &f, 4);
  return bits;
}
RARE double rare_double(int64_t bits) {
  double d;
  __builtin_memcpy(&d, &bits, 8);
  return d;
}

RARE float rare_bf16(uint16_t h) { return rare_from_bits((uint32_t)h << 16); }

/* Exponent and fraction move into place; a product with 2^112 mends the exponent and makes
 * subnormals normal; infinities and NaN get the full exponent. */
RARE float rare_f16(uint16_t h) {
  uint32_t size = h & 0x7fffu, sign = (uint32_t)(h & 0x8000u) << 16;
  uint32_t bits = rare_bits(rare_from_bits(size << 13) * 0x1p112f);
  return rare_from_bits((size >= 0x7c00u ? size << 13 | 0x7f800000u : bits) | sign);
}

RARE uint16_t rare_to_bf16(float f) {
  uint32_t b = rare_bits(f);
  if (f != f) return (uint16_t)(b >> 16 | 0x40);
  return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

RARE uint16_t rare_to_f16(float f) {
  uint32_t b = rare_bits(f), sign = b >> 16 & 0x8000u, size = b & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* rounds to 65536 and above */
  if (size < 0x38800000u) /* subnormal: adding 0.5 rounds at the place of the last bit */
    return (uint16_t)(sign | (rare_bits(rare_from_bits(size) + 0.5f) - 0x3f000000u));
  return (uint16_t)(sign | (size + 0xc8000fffu + (size >> 13 & 1)) >> 13);
}

/* A double to a float "rounded to odd": rounding that to fewer bits rounds only once. */
RARE float rare_narrow(double d) {
  float f = (float)d;
  uint32_t b = rare_bits(f);
  if ((double)f == d || d != d || (b & 0x7f800000u) == 0x7f800000u) return f;
  if (b & 1) return f;
  double size = d < 0 ? -d : d, got = d < 0 ? -(double)f : (double)f;
  return rare_from_bits(got > size ? b - 1 : b + 1);
}

RARE double rare_get_f(const void *p, int64_t t) {
  if (t == WICK_F32) return *(const float *)p;
  if (t == WICK_F64) return *(const double *)p;
  if (t == WICK_F16) return rare_f16(*(const uint16_t *)p);
  return rare_bf16(*(const uint16_t *)p);
}

RARE int64_t rare_get_i(const void *p, int64_t t) {
  if (t == WICK_I64 || t == WICK_U64) return *(const int64_t *)p;
  if (t == WICK_I32) return *(const int32_t *)p;
  if (t == WICK_U32) return *(const uint32_t *)p;
  if (t == WICK_I16) return *(const int16_t *)p;
  if (t == WICK_U16) return *(const uint16_t *)p;
  if (t == WICK_I8) return *(const int8_t *)p;
  return *(const uint8_t *)p;
}

RARE void rare_put_f(void *p, int64_t t, double v) {
  if (t == WICK_F32) *(float *)p = (float)v;
  else if (t == WICK_F64) *(double *)p = v;
  else if (t == WICK_F16) *(uint16_t *)p = rare_to_f16(rare_narrow(v));
  else *(uint16_t *)p = rare_to_bf16(rare_narrow(v));
}

RARE void rare_put_i(void *p, int64_t t, int64_t v) {
  int64_t size = rare_size(t);
  if (size == 8) *(int64_t *)p = v;
  else if (size == 4) *(int32_t *)p = (int32_t)v;
  else if (size == 2) *(int16_t *)p = (int16_t)v;
  else *(int8_t *)p = (int8_t)v;
}

/* Copies one element of `size` bytes. */
RARE void rare_move(void *to, const void *from, int64_t size) {
  if (size == 4) *(uint32_t *)to = *(const uint32_t *)from;
  else if (size == 8) *(uint64_t *)to = *(const uint64_t *)from;
  else if (size == 2) *(uint16_t *)to = *(const uint16_t *)from;
  else *(uint8_t *)to = *(const uint8_t *)from;
}

RARE void *rare_at(const void *base, const wk_rare_view *v, int64_t element) {
  return (char *)(uintptr_t)base + element * rare_size(v->dtype);
}

/* An index tensor's value as a position in [0, n); reports and gives -1 when it is none. */
RARE int64_t rare_position(const void *p, int64_t t, int64_t n, int64_t *error) {
  int64_t i = rare_get_i(p, t);
  if (i < 0) i += n;
  if (i >= 0 && i < n) return i;
  __atomic_store_n(error, RARE_BAD_INDEX, __ATOMIC_RELAXED);
  return -1;
}

/* The same, but 0 when it is none: what is read there does not count. */
RARE int64_t rare_index(const void *p, int64_t t, int64_t n, int64_t *error) {
  int64_t i = rare_position(p, t, n, error);
  return i < 0 ? 0 : i;
}

/* Splits a flat position over dims[first..last) and sums what each stride makes of it. */
RARE int64_t rare_offset(int64_t flat, const int64_t *dims, const int64_t *strides, int64_t first,
                         int64_t last) {
  int64_t sum = 0;
  for (int64_t k = last - 1; k >= first; k--) {
    sum += flat % dims[k] * strides[k];
    flat /= dims[k];
  }
  return sum;
}

RARE int64_t rare_product(const int64_t *dims, int64_t first, int64_t last) {
  int64_t n = 1;
  for (int64_t k = first; k < last; k++) n *= dims[k];
  return n;
}

RARE int64_t rare_min(int64_t a, int64_t b) { return a < b ? a : b; }
RARE int64_t rare_max(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
