/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/expr/types.h"

#include <string.h>

static const struct {
  const char *name;
  int size, bits;
} dtypes[WK_DTYPE_COUNT] = {
    [WK_DTYPE_NONE] = {"none", 0, 0},
    [WK_F32] = {"f32", 4, 32},
    [WK_F16] = {"f16", 2, 16},
    [WK_BF16] = {"bf16", 2, 16},
    [WK_F64] = {"f64", 8, 64},
    [WK_I8] = {"i8", 1, 8},
    [WK_I16] = {"i16", 2, 16},
    [WK_I32] = {"i32", 4, 32},
    [WK_I64] = {"i64", 8, 64},
    [WK_U8] = {"u8", 1, 8},
    [WK_U16] = {"u16", 2, 16},
    [WK_U32] = {"u32", 4, 32},
    [WK_U64] = {"u64", 8, 64},
    [WK_BOOL] = {"bool", 1, 8},
    [WK_I4] = {"i4", 1, 4},
    [WK_U4] = {"u4", 1, 4},
    [WK_I2] = {"i2", 1, 2},
    [WK_U2] = {"u2", 1, 2},
    [WK_F8E4M3FN] = {"f8e4m3fn", 1, 8},
    [WK_F8E4M3FNUZ] = {"f8e4m3fnuz", 1, 8},
    [WK_F8E5M2] = {"f8e5m2", 1, 8},
    [WK_F8E5M2FNUZ] = {"f8e5m2fnuz", 1, 8},
    [WK_F4E2M1FN] = {"f4e2m1fn", 1, 4},
    [WK_F6E2M3FN] = {"f6e2m3fn", 1, 6},
    [WK_F6E3M2FN] = {"f6e3m2fn", 1, 6},
    [WK_F8E8M0FNU] = {"f8e8m0fnu", 1, 8},
};

const char *wk_dtype_name(wk_dtype t) {
  return (unsigned)t < WK_DTYPE_COUNT ? dtypes[t].name : "invalid";
}

int wk_dtype_size(wk_dtype t) { return (unsigned)t < WK_DTYPE_COUNT ? dtypes[t].size : 0; }

int wk_dtype_bits(wk_dtype t) { return (unsigned)t < WK_DTYPE_COUNT ? dtypes[t].bits : 0; }

wk_dtype wk_dtype_storage(wk_dtype t) {
  return !wk_dtype_is_narrow(t) ? t : wk_dtype_is_signed(t) ? WK_I8 : WK_U8;
}

bool wk_dtype_from_name(const char *s, size_t n, wk_dtype *out) {
  for (int t = WK_DTYPE_NONE + 1; t < WK_DTYPE_COUNT; t++) {
    if (strlen(dtypes[t].name) != n || memcmp(dtypes[t].name, s, n) != 0) continue;
    *out = (wk_dtype)t;
    return true;
  }
  return false;
}

wk_type wk_type_make(wk_dtype t, int rank, const int64_t *dims) {
  wk_assert(rank >= 0 && rank <= WK_MAX_RANK);
  wk_type type = {.dtype = t, .rank = rank};
  for (int i = 0; i < rank; i++) type.dims[i] = dims[i];
  return type;
}

static bool quant_equal(const wk_quant *a, const wk_quant *b) {
  if (a == b) return true;
  if (!a || !b || a->axis != b->axis || a->n != b->n) return false;
  for (int64_t i = 0; i < a->n; i++)
    if (a->scale[i] != b->scale[i] || a->zero_point[i] != b->zero_point[i]) return false;
  return true;
}

bool wk_shape_equal(const wk_type *a, const wk_type *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

bool wk_type_equal(const wk_type *a, const wk_type *b) {
  return a->dtype == b->dtype && wk_shape_equal(a, b) && quant_equal(a->quant, b->quant);
}

int64_t wk_type_count(const wk_type *t) {
  int64_t n = 0;
  bool ok = wk_dims_product(t->dims, t->rank, &n);
  wk_assert(ok);
  return ok ? n : 0;
}

int64_t wk_type_bytes(const wk_type *t) { return wk_type_count(t) * wk_dtype_size(t->dtype); }

/* A stride may overflow only when the tensor is empty; then no element is addressed. */
void wk_type_strides(const wk_type *t, int64_t strides[WK_MAX_RANK]) {
  uint64_t stride = 1;
  for (int i = WK_MAX_RANK - 1; i >= t->rank; i--) strides[i] = 0;
  for (int i = t->rank - 1; i >= 0; i--) {
    strides[i] = (int64_t)stride;
    stride *= (uint64_t)t->dims[i];
  }
}

static wk_status check_quant(const wk_type *t) {
  const wk_quant *q = t->quant;
  if (!wk_dtype_is_int(t->dtype))
    return wk_error(WK_INPUT, "only integer tensors can be quantised, not %s",
                    wk_dtype_name(t->dtype));
  if (q->axis < -1 || q->axis >= t->rank)
    return wk_error(WK_INPUT, "quantisation axis %d is outside rank %d", q->axis, t->rank);
  int64_t want = q->axis < 0 ? 1 : t->dims[q->axis];
  if (q->n != want)
    return wk_error(WK_INPUT, "quantisation has %lld scales where %lld are needed",
                    (long long)q->n, (long long)want);
  return NULL;
}

wk_status wk_type_check(const wk_type *t) {
  if (t->dtype <= WK_DTYPE_NONE || t->dtype >= WK_DTYPE_COUNT)
    return wk_error(WK_INPUT, "invalid element type %d", (int)t->dtype);
  if (t->rank < 0 || t->rank > WK_MAX_RANK)
    return wk_error(WK_UNSUPPORTED, "rank %d is outside 0..%d", t->rank, WK_MAX_RANK);
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] < 0)
      return wk_error(WK_INPUT, "dimension %d is negative (%lld)", i, (long long)t->dims[i]);
  int64_t n, bytes;
  if (!wk_dims_product(t->dims, t->rank, &n) || !wk_mul_ok(n, wk_dtype_size(t->dtype), &bytes) ||
      bytes >= INT64_C(1) << 46)
    return wk_error(WK_RESOURCE, "a tensor of this shape is larger than 2^46 bytes");
  return t->quant ? check_quant(t) : NULL;
}

/* f8e8m0fnu rounds up, so that the digits of f32 are too few for it. */
void wk_print_float(wk_str *b, wk_dtype t, double v) {
  if (t == WK_F64 || t == WK_F8E8M0FNU) wk_str_f64(b, v);
  else wk_str_f32(b, (float)v);
}

static void print_dims(wk_str *b, const wk_type *t) {
  wk_str_add(b, "[");
  for (int i = 0; i < t->rank; i++)
    wk_str_printf(b, "%s%lld", i ? "," : "", (long long)t->dims[i]);
  wk_str_add(b, "]");
}

static wk_status broadcast_error(const wk_type *a, const wk_type *b) {
  wk_str s = {0};
  print_dims(&s, a);
  wk_str_add(&s, " and ");
  print_dims(&s, b);
  wk_status st = wk_error(WK_INPUT, "shapes %s do not broadcast", s.s);
  wk_str_free(&s);
  return st;
}

wk_status wk_type_broadcast(const wk_type *a, const wk_type *b, wk_type *out) {
  wk_type y = {.dtype = a->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
  for (int i = 1; i <= y.rank; i++) {
    int64_t p = i <= a->rank ? a->dims[a->rank - i] : 1;
    int64_t q = i <= b->rank ? b->dims[b->rank - i] : 1;
    if (p != q && p != 1 && q != 1) return broadcast_error(a, b);
    y.dims[y.rank - i] = p == 1 ? q : p;
  }
  WK_TRY(wk_type_check(&y));
  *out = y;
  return NULL;
}

static void print_quant(wk_str *b, const wk_quant *q) {
  if (q->axis < 0) {
    wk_str_add(b, "<");
    wk_str_f32(b, q->scale[0]);
    wk_str_printf(b, ",%d>", (int)q->zero_point[0]);
    return;
  }
  wk_str_printf(b, "<axis=%d,{", q->axis);
  for (int64_t i = 0; i < q->n; i++) {
    if (i) wk_str_add(b, ",");
    wk_str_f32(b, q->scale[i]);
  }
  wk_str_add(b, "},{");
  for (int64_t i = 0; i < q->n; i++)
    wk_str_printf(b, "%s%d", i ? "," : "", (int)q->zero_point[i]);
  wk_str_add(b, "}>");
}

void wk_type_print(wk_str *b, const wk_type *t) {
  wk_str_add(b, wk_dtype_name(t->dtype));
  if (t->quant) print_quant(b, t->quant);
  print_dims(b, t);
}
