/* SPDX-License-Identifier: Apache-2.0
 * Types of tensors: element type, shape, quantisation. Shapes are static: symbolic dimensions are
 * bound before a graph exists. Rank is at most WK_MAX_RANK. Dense data is row-major, little
 * endian. */
#ifndef WICK_EXPR_TYPES_H
#define WICK_EXPR_TYPES_H

#include "compiler/support/support.h"

#define WK_MAX_RANK 8

/* Numbers are part of the package format (runtime/abi.h). */
typedef enum {
  WK_DTYPE_NONE = 0,
  WK_F32 = 1, WK_F16 = 2, WK_BF16 = 3, WK_F64 = 4,
  WK_I8 = 5, WK_I16 = 6, WK_I32 = 7, WK_I64 = 8,
  WK_U8 = 9, WK_U16 = 10, WK_U32 = 11, WK_U64 = 12,
  WK_BOOL = 13, /* one byte, 0 or 1 */
  /* Narrow types: one element per byte in memory, as wk_dtype_storage; packed where constants are
   * kept in files. Integers are sign- or zero-extended. A float is its pattern in the low bits:
   * exponent and mantissa as the name says; fn: no infinities, fnuz: nor -0, u: no sign. */
  WK_I4 = 14, WK_U4 = 15, WK_I2 = 16, WK_U2 = 17,
  WK_F8E4M3FN = 18, WK_F8E4M3FNUZ = 19, WK_F8E5M2 = 20, WK_F8E5M2FNUZ = 21,
  WK_F4E2M1FN = 22, WK_F6E2M3FN = 23, WK_F6E3M2FN = 24, WK_F8E8M0FNU = 25,
  WK_DTYPE_COUNT
} wk_dtype;

const char *wk_dtype_name(wk_dtype t);               /* "f32", "i8", "bool" … */
bool wk_dtype_from_name(const char *s, size_t n, wk_dtype *out);
int wk_dtype_size(wk_dtype t);                       /* bytes */
int wk_dtype_bits(wk_dtype t);                       /* that carry information; bool: 8 */
/* Classes, narrow types included: a float's value is a number with a fraction, an integer's not. */
static inline bool wk_dtype_is_narrow(wk_dtype t) { return t >= WK_I4 && t < WK_DTYPE_COUNT; }
static inline bool wk_dtype_is_float(wk_dtype t) {
  return (t >= WK_F32 && t <= WK_F64) || (t >= WK_F8E4M3FN && t < WK_DTYPE_COUNT);
}
static inline bool wk_dtype_is_signed(wk_dtype t) {
  return (t >= WK_I8 && t <= WK_I64) || t == WK_I4 || t == WK_I2;
}
static inline bool wk_dtype_is_unsigned(wk_dtype t) {
  return (t >= WK_U8 && t <= WK_U64) || t == WK_U4 || t == WK_U2;
}
static inline bool wk_dtype_is_int(wk_dtype t) {
  return wk_dtype_is_signed(t) || wk_dtype_is_unsigned(t);
}
/* What programs compute with where a graph has elements of type t: i8 or u8 for narrow types, else
 * t itself. */
wk_dtype wk_dtype_storage(wk_dtype t);
/* What values of type t are computed in: f32 for f16 and bf16, which are for storage (an operator
 * rounds to them once, at its result), else t itself. */
static inline wk_dtype wk_compute_dtype(wk_dtype t) {
  return t == WK_F16 || t == WK_BF16 ? WK_F32 : t;
}

/* Affine quantisation: real = scale * (stored - zero_point). Per tensor: axis -1, n 1; per channel:
 * n == dims[axis]. Lives in the module's arena; immutable. */
typedef struct {
  int axis;
  int64_t n;
  const float *scale;
  const int32_t *zero_point;
} wk_quant;

typedef struct {
  wk_dtype dtype;
  int rank;
  int64_t dims[WK_MAX_RANK]; /* entries at or past rank are 0 */
  const wk_quant *quant;     /* NULL: not quantised */
} wk_type;

wk_type wk_type_make(wk_dtype t, int rank, const int64_t *dims);
bool wk_type_equal(const wk_type *a, const wk_type *b); /* quantisation compared by value */
bool wk_shape_equal(const wk_type *a, const wk_type *b);
int64_t wk_type_count(const wk_type *t); /* elements; wk_type_check says it does not overflow */
int64_t wk_type_bytes(const wk_type *t);
/* Row-major strides in elements. */
void wk_type_strides(const wk_type *t, int64_t strides[WK_MAX_RANK]);
/* Rejects negative dims, rank out of range and sizes of 2^46 bytes and above. */
wk_status wk_type_check(const wk_type *t) WK_MUST_CHECK;
/* numpy broadcasting of a and b into out (dtype of a); WK_INPUT when they do not fit. */
wk_status wk_type_broadcast(const wk_type *a, const wk_type *b, wk_type *out) WK_MUST_CHECK;
/* A number of a type of floats, such that it reads back as the same. */
void wk_print_float(wk_str *b, wk_dtype t, double v);
/* Text: f32[1,3,224,224]; i8<0.5,3>[4]; per channel i8<axis=0,{0.5,0.25},{0,0}>[2,3];
 * scalar f32[]. */
void wk_type_print(wk_str *b, const wk_type *t);

/* A dense tensor. `data` belongs to whoever made it (arena, mapped file or malloc). */
typedef struct {
  wk_type type;
  void *data;
} wk_tensor;

wk_status wk_tensor_alloc(const wk_type *t, wk_tensor *out) WK_MUST_CHECK; /* malloc, zeroed */
void wk_tensor_free(wk_tensor *t);
/* Element i as a number; integers beyond 2^53 lose bits in the f64 form. */
double wk_load_f64(const void *data, wk_dtype t, int64_t i);
int64_t wk_load_i64(const void *data, wk_dtype t, int64_t i);
/* Stores with the conversion rules of expr.h's cast. */
void wk_store_f64(void *data, wk_dtype t, int64_t i, double v);
void wk_store_i64(void *data, wk_dtype t, int64_t i, int64_t v);
/* Elements of narrow types as files hold them: a stream of wk_dtype_bits each, from the lowest bit
 * of the first byte on. For other types (bits that are whole bytes) the bytes as they are. */
int64_t wk_packed_bytes(const wk_type *t);
void wk_pack(const wk_type *t, const void *data, uint8_t *packed); /* packed: zeroed */
void wk_unpack(const wk_type *t, const uint8_t *packed, void *data);

float wk_f16_to_f32(uint16_t h);
uint16_t wk_f32_to_f16(float f);  /* round to nearest even */
float wk_bf16_to_f32(uint16_t h);
uint16_t wk_f32_to_bf16(float f); /* round to nearest even */

#endif
