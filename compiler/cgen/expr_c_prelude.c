/* SPDX-License-Identifier: Apache-2.0
 * The functions that printed expressions call. They compute what expr_kernels.c and tensor.c do, in
 * words that C and OpenCL C share. */
#include "compiler/cgen/expr_c.h"

#define CODE(...) #__VA_ARGS__ "\n"

static const char *const languages[] = {
    "#ifdef __OPENCL_C_VERSION__",
    "#pragma OPENCL FP_CONTRACT OFF",
    "#ifdef cl_khr_fp64",
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
    "#define WK_HAS_F64",
    "#endif",
    "#define WK_GLOBAL __global",
    "#define WK_F32(name) name",
    "#define WK_F64(name) name",
    "#define wk_float_bits(x) as_uint(x)",
    "#define wk_bits_float(x) as_float(x)",
    "#define wk_double_bits(x) as_ulong(x)",
    "#define wk_bits_double(x) as_double(x)",
    "typedef char wk_i8;",
    "typedef uchar wk_u8, wk_bool;",
    "typedef short wk_i16;",
    "typedef ushort wk_u16, wk_f16, wk_bf16;",
    "typedef int wk_i32;",
    "typedef uint wk_u32;",
    "typedef long wk_i64;",
    "typedef ulong wk_u64;",
    "#else",
    "#include <math.h>",
    "#include <stdint.h>",
    "#define WK_GLOBAL",
    "#define WK_HAS_F64",
    "#define WK_F32(name) name##f",
    "#define WK_F64(name) name",
    "typedef int8_t wk_i8;",
    "typedef uint8_t wk_u8, wk_bool;",
    "typedef int16_t wk_i16;",
    "typedef uint16_t wk_u16, wk_f16, wk_bf16;",
    "typedef int32_t wk_i32;",
    "typedef uint32_t wk_u32;",
    "typedef int64_t wk_i64;",
    "typedef uint64_t wk_u64;",
    "typedef union { float f; wk_u32 u; } wk_pun;",
    "static inline wk_u32 wk_float_bits(float f) { wk_pun p; p.f = f; return p.u; }",
    "static inline float wk_bits_float(wk_u32 u) { wk_pun p; p.u = u; return p.f; }",
    "typedef union { double d; wk_u64 u; } wk_wide_pun;",
    "static inline wk_u64 wk_double_bits(double d) { wk_wide_pun p; p.d = d; return p.u; }",
    "static inline double wk_bits_double(wk_u64 u) { wk_wide_pun p; p.u = u; return p.d; }",
    "#endif",
    "typedef float wk_f32;",
    "#ifndef WK_BAD_INDEX",
    "#define WK_BAD_INDEX() ((void)0)",
    "#endif",
};

/* clang-format off */
static const char *const narrow_floats[] = {
CODE(static inline float wk_value_f16(wk_u16 h) {
  wk_u32 sign = (wk_u32)(h & 0x8000) << 16, exponent = h >> 10 & 31, m = h & 0x3ff;
  if (exponent == 31) return wk_bits_float(sign | 0x7f800000 | m << 13);
  if (exponent) return wk_bits_float(sign | (exponent + 112) << 23 | m << 13);
  return sign ? -(float)m * 0x1p-24f : (float)m * 0x1p-24f;
}),
CODE(static inline wk_u16 wk_bits_f16(float f) {
  wk_u32 u = wk_float_bits(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000) return (wk_u16)(sign | 0x7e00);
  if (a >= 0x477ff000) return (wk_u16)(sign | 0x7c00);
  if (a < 0x38800000)
    return (wk_u16)(sign | (wk_float_bits(wk_bits_float(a) + 0.5f) - 0x3f000000));
  a += 0xfff + (a >> 13 & 1);
  return (wk_u16)(sign | ((a >> 13) - (112u << 10)));
}),
CODE(static inline float wk_value_bf16(wk_u16 h) { return wk_bits_float((wk_u32)h << 16); }),
CODE(static inline wk_u16 wk_bits_bf16(float f) {
  wk_u32 u = wk_float_bits(f);
  if ((u & 0x7fffffff) > 0x7f800000) return (wk_u16)(u >> 16 | 0x40);
  return (wk_u16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}),
CODE(static inline float wk_round_f16(float f) { return wk_value_f16(wk_bits_f16(f)); }),
CODE(static inline float wk_round_bf16(float f) { return wk_value_bf16(wk_bits_bf16(f)); }),
/* Rounded to odd, so that rounding once more gives the nearest. */
CODE(static inline float wk_odd_u64(wk_u64 m) {
  int s = 0;
  while (m >> s >> 24) s++;
  return WK_F32(ldexp)((float)(m >> s | ((m >> s << s) != m)), s);
}),
CODE(static inline float wk_odd_i64(wk_i64 i) {
  return i < 0 ? -wk_odd_u64(0 - (wk_u64)i) : wk_odd_u64((wk_u64)i);
}),
};

static const char *const functions[] = {
CODE(static inline float wk_mod_f32(float p, float q) {
  float r = WK_F32(fmod)(p, q);
  if (r == 0) return WK_F32(copysign)(0.0f, q);
  return (r < 0) != (q < 0) ? r + q : r;
}),
"#ifdef WK_HAS_F64\n"
"typedef double wk_f64;\n",
CODE(static inline double wk_mod_f64(double p, double q) {
  double r = WK_F64(fmod)(p, q);
  if (r == 0) return WK_F64(copysign)(0.0, q);
  return (r < 0) != (q < 0) ? r + q : r;
}),
CODE(static inline float wk_odd_f64(double v) {
  float f = (float)v;
  wk_u32 u = wk_float_bits(f);
  if ((double)f == v || v != v) return f;
  return wk_bits_float((u - (((double)f > v) == (v > 0))) | 1);
}),
"#endif\n",
/* Numbers at any address, as they are in memory. */
CODE(static inline float wk_bytes_f32(const WK_GLOBAL wk_u8 *p) {
  return wk_bits_float(p[0] | (wk_u32)p[1] << 8 | (wk_u32)p[2] << 16 | (wk_u32)p[3] << 24);
}),
CODE(static inline wk_f16 wk_bytes_f16(const WK_GLOBAL wk_u8 *p) {
  return (wk_f16)(p[0] | p[1] << 8);
}),
/* -1: there is no such position. */
CODE(static inline wk_i64 wk_index(wk_i64 i, wk_i64 n) {
  return i < -n || i >= n ? -1 : i < 0 ? i + n : i;
}),
CODE(static inline wk_i64 wk_div_i64(wk_i64 p, wk_i64 q) {
  return q == 0 ? 0 : q == -1 ? (wk_i64)(0 - (wk_u64)p) : p / q;
}),
CODE(static inline wk_i64 wk_rem_i64(wk_i64 p, wk_i64 q) {
  return q == 0 || q == -1 ? 0 : p % q;
}),
CODE(static inline wk_i64 wk_mod_i64(wk_i64 p, wk_i64 q) {
  wk_i64 r = wk_rem_i64(p, q);
  return r != 0 && (r < 0) != (q < 0) ? r + q : r;
}),
CODE(static inline wk_u64 wk_div_u64(wk_u64 p, wk_u64 q) { return q ? p / q : 0; }),
CODE(static inline wk_u64 wk_rem_u64(wk_u64 p, wk_u64 q) { return q ? p % q : 0; }),
CODE(static inline wk_u64 wk_pow_u64(wk_u64 p, wk_u64 q) {
  wk_u64 y = 1;
  for (; q; q >>= 1, p *= p) if (q & 1) y *= p;
  return y;
}),
CODE(static inline wk_i64 wk_pow_i64(wk_i64 p, wk_i64 q) {
  if (q >= 0) return (wk_i64)wk_pow_u64((wk_u64)p, (wk_u64)q);
  return p == 1 ? 1 : p == -1 ? (q & 1 ? -1 : 1) : 0;
}),
CODE(static inline wk_u64 wk_shl(wk_u64 p, wk_u64 q, int bits) {
  return q < (wk_u64)bits ? p << q : 0;
}),
CODE(static inline wk_i64 wk_shr_i64(wk_i64 p, wk_u64 q, int bits) {
  return p >> (q < (wk_u64)bits ? q : 63);
}),
CODE(static inline wk_u64 wk_shr_u64(wk_u64 p, wk_u64 q) { return q < 64 ? p >> q : 0; }),
CODE(static inline wk_i64 wk_shr_round_i64(wk_i64 p, wk_u64 q, int bits) {
  if (q >= (wk_u64)bits) return 0;
  wk_u64 mask = ((wk_u64)1 << q) - 1, down = (wk_u64)(p >> q);
  return (wk_i64)(down + (((wk_u64)p & mask) + (down & 1) > (mask >> 1) + 1));
}),
CODE(static inline wk_u64 wk_shr_round_u64(wk_u64 p, wk_u64 q) {
  if (q >= 64) return 0;
  wk_u64 mask = ((wk_u64)1 << q) - 1, down = p >> q;
  return down + ((p & mask) + (down & 1) > (mask >> 1) + 1);
}),
CODE(static inline wk_i32 wk_rescale(wk_i64 a, wk_i64 m, wk_i64 s) {
  wk_u64 before = (wk_u64)s - 1, half_ulp = before < 64 ? (wk_u64)1 << before : 0;
  wk_i64 p = (wk_i64)((wk_u64)a * (wk_u64)m + half_ulp) >> ((wk_u64)s < 64 ? s : 63);
  p = p < -2147483648l ? -2147483648l : p > 2147483647l ? 2147483647l : p;
  return (wk_i32)wk_shr_round_i64(p, 16, 32);
}),
};
/* clang-format on */

void wk_expr_c_prelude(wk_str *b) {
  for (size_t i = 0; i < WK_COUNTOF(languages); i++) wk_str_printf(b, "%s\n", languages[i]);
  for (size_t i = 0; i < WK_COUNTOF(narrow_floats); i++) wk_str_add(b, narrow_floats[i]);
  for (size_t i = 0; i < WK_COUNTOF(functions); i++) wk_str_add(b, functions[i]);
}
