/* SPDX-License-Identifier: Apache-2.0
 * Polynomials were fitted by weighted least squares on Chebyshev nodes. */
#include "targets/opencl/prelude.h"

#include "compiler/cgen/expr_c.h"

#define CODE(...) #__VA_ARGS__ "\n"

static const char vector_loops[] =
    "#ifdef __clang__\n"
    "#define WK_VECTOR _Pragma(\"clang loop vectorize(assume_safety)\")\n"
    "#else\n"
    "#define WK_VECTOR\n"
    "#endif\n"
    "#if defined(__clang__) || defined(__NV_CL_C_VERSION)\n"
    "#define WK_UNROLL _Pragma(\"unroll\")\n"
    "#else\n"
    "#define WK_UNROLL\n"
    "#endif\n";

/* Sums of four products of bytes, signed or not, and c, modulo 2^32: the device's, or as it would.
 * NVIDIA's is an instruction of PTX, for compute capability 6.1 and later. */
static const char dots[] =
    "#if defined(cl_khr_integer_dot_product) || \\\n"
    "    defined(__opencl_c_integer_dot_product_input_4x8bit_packed)\n"
    "#ifdef cl_khr_integer_dot_product\n"
    "#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable\n"
    "#endif\n"
    "#define wk_dot_ss(x, y, c) ((uint)dot_4x8packed_ss_int(x, y) + (c))\n"
    "#define wk_dot_su(x, y, c) ((uint)dot_4x8packed_su_int(x, y) + (c))\n"
    "#define wk_dot_us(x, y, c) ((uint)dot_4x8packed_us_int(x, y) + (c))\n"
    "#define wk_dot_uu(x, y, c) (dot_4x8packed_uu_uint(x, y) + (c))\n"
    "#elif defined(__NV_CL_C_VERSION) || defined(__NVPTX__)\n"
    "#define WK_DOT(name, types) \\\n"
    "  static inline uint name(uint x, uint y, uint c) { \\\n"
    "    uint d; \\\n"
    "    __asm(\"dp4a.\" types \" %0, %1, %2, %3;\" \\\n"
    "          : \"=r\"(d) : \"r\"(x), \"r\"(y), \"r\"(c)); \\\n"
    "    return d; \\\n"
    "  }\n"
    "WK_DOT(wk_dot_ss, \"s32.s32\")\n"
    "WK_DOT(wk_dot_su, \"s32.u32\")\n"
    "WK_DOT(wk_dot_us, \"u32.s32\")\n"
    "WK_DOT(wk_dot_uu, \"u32.u32\")\n"
    "#else\n"
    "static inline uint wk_dot(int4 x, int4 y, uint c) {\n"
    "  const int4 p = x * y;\n"
    "  return (uint)(p.s0 + p.s1 + p.s2 + p.s3) + c;\n"
    "}\n"
    "#define wk_dot_ss(x, y, c) wk_dot(convert_int4(as_char4(x)), convert_int4(as_char4(y)), c)\n"
    "#define wk_dot_su(x, y, c) wk_dot(convert_int4(as_char4(x)), convert_int4(as_uchar4(y)), c)\n"
    "#define wk_dot_us(x, y, c) wk_dot(convert_int4(as_uchar4(x)), convert_int4(as_char4(y)), c)\n"
    "#define wk_dot_uu(x, y, c) wk_dot(convert_int4(as_uchar4(x)), convert_int4(as_uchar4(y)), c)\n"
    "#endif\n";

/* c + 16 rows of a times 8 columns of b over 8 words of k, which a warp does together: what an item
 * has of it (tile_matrix.c). a: the first row, b: the first column, `pitch` words from one to the
 * next. NVIDIA's take and give registers as PTX says of mma.sync, m16n8k16 of halves and m16n8k32
 * of bytes, for compute capability 8.0 and later. */
static const char matrices[] =
    "#if defined(__NV_CL_C_VERSION) || defined(__NVPTX__)\n"
    "#define WK_MATRIX(name, type, as, shape, types) \\\n"
    "  static inline type##4 name(__local const uint *a, __local const uint *b, int pitch, \\\n"
    "                             int lane, type##4 c) { \\\n"
    "    type##4 d; \\\n"
    "    a += lane / 4 * pitch + lane % 4; \\\n"
    "    b += lane / 4 * pitch + lane % 4; \\\n"
    "    __asm(\"mma.sync.aligned.\" shape \".row.col.\" types \\\n"
    "          \" {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\" \\\n"
    "          : \"=\" as(d.s0), \"=\" as(d.s1), \"=\" as(d.s2), \"=\" as(d.s3) \\\n"
    "          : \"r\"(a[0]), \"r\"(a[8 * pitch]), \"r\"(a[4]), \"r\"(a[8 * pitch + 4]), \\\n"
    "            \"r\"(b[0]), \"r\"(b[4]), as(c.s0), as(c.s1), as(c.s2), as(c.s3)); \\\n"
    "    return d; \\\n"
    "  }\n"
    "WK_MATRIX(wk_matrix_f16, float, \"f\", \"m16n8k16\", \"f32.f16.f16.f32\")\n"
    "WK_MATRIX(wk_matrix_bf16, float, \"f\", \"m16n8k16\", \"f32.bf16.bf16.f32\")\n"
    "WK_MATRIX(wk_matrix_ss, uint, \"r\", \"m16n8k32\", \"s32.s8.s8.s32\")\n"
    "WK_MATRIX(wk_matrix_su, uint, \"r\", \"m16n8k32\", \"s32.s8.u8.s32\")\n"
    "WK_MATRIX(wk_matrix_us, uint, \"r\", \"m16n8k32\", \"s32.u8.s8.s32\")\n"
    "WK_MATRIX(wk_matrix_uu, uint, \"r\", \"m16n8k32\", \"s32.u8.u8.s32\")\n"
    "#else\n"
    "static inline float wk_pair_f16(uint x, uint y, float c) {\n"
    "  const float2 p = vload_half2(0, (const half *)&x), q = vload_half2(0, (const half *)&y);\n"
    "  return fma(p.s1, q.s1, fma(p.s0, q.s0, c));\n"
    "}\n"
    "static inline float wk_pair_bf16(uint x, uint y, float c) {\n"
    "  c = fma(as_float(x << 16), as_float(y << 16), c);\n"
    "  return fma(as_float(x & 0xffff0000u), as_float(y & 0xffff0000u), c);\n"
    "}\n"
    "#define WK_MATRIX(name, type, product) \\\n"
    "  static inline type##4 name(__local const uint *a, __local const uint *b, int pitch, \\\n"
    "                             int lane, type##4 c) { \\\n"
    "    a += lane / 4 * pitch; \\\n"
    "    b += lane % 4 * 2 * pitch; \\\n"
    "    for (int k = 0; k < 8; k++) { \\\n"
    "      const uint x = a[k], y = a[8 * pitch + k], p = b[k], q = b[pitch + k]; \\\n"
    "      c = (type##4)(product(x, p, c.s0), product(x, q, c.s1), product(y, p, c.s2), \\\n"
    "                    product(y, q, c.s3)); \\\n"
    "    } \\\n"
    "    return c; \\\n"
    "  }\n"
    "WK_MATRIX(wk_matrix_f16, float, wk_pair_f16)\n"
    "WK_MATRIX(wk_matrix_bf16, float, wk_pair_bf16)\n"
    "WK_MATRIX(wk_matrix_ss, uint, wk_dot_ss)\n"
    "WK_MATRIX(wk_matrix_su, uint, wk_dot_su)\n"
    "WK_MATRIX(wk_matrix_us, uint, wk_dot_us)\n"
    "WK_MATRIX(wk_matrix_uu, uint, wk_dot_uu)\n"
    "#endif\n";

/* Functions of f32 that are defined below; the others are the language's. */
static const char names[] =
    "#undef WK_F32\n"
    "#define WK_F32(name) wk_cl_##name\n"
    "#define wk_cl_fabs fabs\n"
    "#define wk_cl_floor floor\n"
    "#define wk_cl_ceil ceil\n"
    "#define wk_cl_rint rint\n"
    "#define wk_cl_trunc trunc\n"
    "#define wk_cl_sqrt sqrt\n"
    "#define wk_cl_log log\n"
    "#define wk_cl_sin sin\n"
    "#define wk_cl_cos cos\n"
    "#define wk_cl_tan tan\n"
    "#define wk_cl_asin asin\n"
    "#define wk_cl_acos acos\n"
    "#define wk_cl_atan atan\n"
    "#define wk_cl_sinh sinh\n"
    "#define wk_cl_cosh cosh\n"
    "#define wk_cl_asinh asinh\n"
    "#define wk_cl_acosh acosh\n"
    "#define wk_cl_atanh atanh\n"
    "#define wk_cl_fmod fmod\n"
    "#define wk_cl_pow pow\n"
    "#define wk_cl_ldexp ldexp\n"
    "#define wk_cl_copysign copysign\n";

/* clang-format off */
static const char *const functions[] = {
/* e^x = 2^n e^r, |r| <= ln 2 / 2; 2^n in two factors, so that the ends of the range come right. */
CODE(static inline float wk_cl_exp(float x) {
  const float c = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x == x ? x : 0.0f;
  const float n = floor(fma(c, 1.44269504f, 0.5f));
  const float r = fma(n, 2.12194440e-4f, fma(n, -0.693359375f, c));
  float p = fma(r, 0.00138292744f, 0.00837487289f);
  p = fma(p, r, 0.0416683664f);
  p = fma(p, r, 0.166664196f);
  p = fma(p, r, 0.499999914f);
  p = fma(p, r, 1.0f);
  p = fma(p, r, 1.0f);
  const int k = (int)n;
  const int h = k >> 1;
  const float y = p * as_float((h + 127) << 23) * as_float((k - h + 127) << 23);
  return x == x ? y : x;
}),
/* Odd polynomial near 0, 1 - erfc elsewhere, where -ln erfc is a polynomial. */
CODE(static inline float wk_cl_erf(float x) {
  const float a = fabs(x);
  const float c = a < 4.0f ? a : 4.0f;
  const float t = c * c;
  float s = fma(t, -9.63499106e-06f, 0.000112546407f);
  s = fma(s, t, -0.000848250774f);
  s = fma(s, t, 0.00522092322f);
  s = fma(s, t, -0.0268653924f);
  s = fma(s, t, 0.112837818f);
  s = fma(s, t, -0.376126384f);
  s = fma(s, t, 1.12837917f);
  float g = fma(c, 7.73687838e-08f, -1.85574351e-06f);
  g = fma(g, c, 1.79472327e-05f);
  g = fma(g, c, -7.35565036e-05f);
  g = fma(g, c, -0.00012907722f);
  g = fma(g, c, 0.00353717517f);
  g = fma(g, c, -0.0242601034f);
  g = fma(g, c, 0.1075295f);
  g = fma(g, c, 0.633749275f);
  g = fma(g, c, 1.12939668f);
  g = fma(g, c, -0.000160556017f);
  const float y = c < 0.95f ? c * s : 1.0f - wk_cl_exp(-g);
  return x == x ? copysign(y, x) : x;
}),
CODE(static inline float wk_cl_tanh(float x) {
  const float a = fabs(x);
  const float c = a < 10.0f ? a : 10.0f;
  const float t = c * c;
  float s = fma(t, 0.00210043978f, -0.00812819127f);
  s = fma(s, t, 0.0216791175f);
  s = fma(s, t, -0.0539423079f);
  s = fma(s, t, 0.133331626f);
  s = fma(s, t, -0.333333291f);
  const float y = c < 0.625f ? fma(s * t, c, c) : 1.0f - 2.0f / (wk_cl_exp(2.0f * c) + 1.0f);
  return x == x ? copysign(y, x) : x;
}),
};
/* clang-format on */

void wk_cl_prelude(wk_str *b, const wk_opencl *d) {
  wk_str_add(b, "#define WK_BAD_INDEX() (*error = 1)\n");
  wk_expr_c_prelude(b);
  wk_str_add(b, vector_loops);
  if (wk_cl_has_dots(d)) wk_str_add(b, dots);
  if (d->info.has_matrix) wk_str_add(b, matrices);
  if (d->family != WK_CL_CPU) return;
  wk_str_add(b, names);
  for (size_t k = 0; k < WK_COUNTOF(functions); k++) wk_str_add(b, functions[k]);
}
