/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/expr/expr.h"

static wk_type make(wk_dtype t, int rank, const int64_t *dims) {
  return wk_type_make(t, rank, dims);
}
#define T(t, ...)                                                          \
  make(t, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static void assert_refused(wk_status s, wk_code code) {
  assert_non_null(s);
  assert_int_equal(s->code, code);
  wk_status_free(s);
}

static void dtype_names(void **state) {
  (void)state;
  for (int t = 1; t < WK_DTYPE_COUNT; t++) {
    const char *name = wk_dtype_name((wk_dtype)t);
    wk_dtype back;
    assert_true(wk_dtype_from_name(name, strlen(name), &back));
    assert_int_equal(back, t);
    assert_true(wk_dtype_size((wk_dtype)t) >= 1);
    int classes = wk_dtype_is_float((wk_dtype)t) + wk_dtype_is_int((wk_dtype)t) + (t == WK_BOOL);
    assert_int_equal(classes, 1);
  }
  wk_dtype none;
  assert_false(wk_dtype_from_name("f3", 2, &none));
  assert_false(wk_dtype_from_name("f322", 4, &none));
  assert_false(wk_dtype_from_name("none", 4, &none));
  assert_string_equal(wk_dtype_name((wk_dtype)99), "invalid");
}

static void printing(void **state) {
  (void)state;
  const float scales[] = {0.5f, 0.25f};
  const int32_t zeros[] = {3, -1};
  const wk_quant tensor = {-1, 1, scales, zeros}, channel = {0, 2, scales, zeros};
  wk_type types[] = {T(WK_F32, 1, 3, 224, 224), {.dtype = WK_F32}, T(WK_I8, 4), T(WK_I8, 2, 3)};
  types[2].quant = &tensor;
  types[3].quant = &channel;
  const char *want[] = {"f32[1,3,224,224]", "f32[]", "i8<0.5,3>[4]",
                        "i8<axis=0,{0.5,0.25},{3,-1}>[2,3]"};
  for (size_t k = 0; k < WK_COUNTOF(types); k++) {
    wk_str b = {0};
    wk_type_print(&b, &types[k]);
    assert_string_equal(b.s, want[k]);
    wk_str_free(&b);
    assert_null(wk_type_check(&types[k]));
  }
}

static void equality(void **state) {
  (void)state;
  wk_type a = T(WK_F32, 2, 3), b = T(WK_F32, 2, 3), c = T(WK_F32, 3, 2), d = T(WK_F64, 2, 3);
  assert_true(wk_type_equal(&a, &b));
  assert_false(wk_type_equal(&a, &c));
  assert_false(wk_type_equal(&a, &d));
  assert_true(wk_shape_equal(&a, &d));
  const float s1[] = {0.5f}, s2[] = {0.5f}, s3[] = {0.25f};
  const int32_t z[] = {0};
  const wk_quant q1 = {-1, 1, s1, z}, q2 = {-1, 1, s2, z}, q3 = {-1, 1, s3, z};
  wk_type p = T(WK_I8, 4), q = p, r = p, plain = p;
  p.quant = &q1, q.quant = &q2, r.quant = &q3;
  assert_true(wk_type_equal(&p, &q));
  assert_false(wk_type_equal(&p, &r));
  assert_false(wk_type_equal(&p, &plain));
}

/* Types that differ in one thing, wherever it is, are others, both ways round. */
static void one_difference(void **state) {
  static const float scales[][3] = {{1, 2, 3}, {9, 2, 3}, {1, 9, 3}, {1, 2, 9}};
  static const int32_t zeros[][3] = {{0, 1, 2}, {9, 1, 2}, {0, 9, 2}, {0, 1, 9}};
  const wk_quant quants[] = {
      {0, 3, scales[0], zeros[0]}, {1, 3, scales[0], zeros[0]}, {-1, 1, scales[0], zeros[0]},
      {0, 2, scales[0], zeros[0]}, {0, 3, scales[1], zeros[0]}, {0, 3, scales[2], zeros[0]},
      {0, 3, scales[3], zeros[0]}, {0, 3, scales[0], zeros[1]}, {0, 3, scales[0], zeros[2]},
      {0, 3, scales[0], zeros[3]}, {-1, 3, scales[0], zeros[0]}, {1, 2, scales[0], zeros[0]}};
  enum { QUANTS = WK_COUNTOF(quants), TYPES = QUANTS + 9 };
  const struct { wk_dtype t; int rank; int64_t dims[3]; } plain[] = {
      {WK_I8, 3, {3, 3, 4}}, {WK_U8, 3, {3, 3, 4}}, {WK_I8, 2, {3, 3}},    {WK_I8, 3, {1, 3, 4}},
      {WK_I8, 3, {3, 1, 4}}, {WK_I8, 3, {3, 3, 1}}, {WK_I8, 1, {3}},       {WK_I8, 0, {0}},
      {WK_I16, 3, {3, 3, 4}}};
  wk_type types[TYPES];
  (void)state;
  for (int i = 0; i < TYPES; i++) {
    int k = i < QUANTS ? 0 : i - QUANTS;
    types[i] = wk_type_make(plain[k].t, plain[k].rank, plain[k].dims);
    types[i].quant = i < QUANTS ? &quants[i] : NULL;
  }
  for (int i = 0; i < TYPES; i++)
    for (int k = 0; k < TYPES; k++)
      if (wk_type_equal(&types[i], &types[k]) != (i == k)) fail_msg("types %d and %d", i, k);
  float same_scales[3] = {1, 2, 3};
  int32_t same_zeros[3] = {0, 1, 2};
  const wk_quant same = {0, 3, same_scales, same_zeros};
  wk_type copy = types[0];
  copy.quant = &same;
  assert_true(wk_type_equal(&copy, &types[0])); /* by value */
}

static void checks(void **state) {
  (void)state;
  wk_type t = T(WK_F32, 2, -1);
  assert_refused(wk_type_check(&t), WK_INPUT);
  t = T(WK_F32, INT64_C(1) << 44);
  assert_refused(wk_type_check(&t), WK_RESOURCE);
  t = T(WK_F32, (INT64_C(1) << 44) - 1);
  assert_null(wk_type_check(&t));
  t = T(WK_U8, INT64_MAX, INT64_MAX);
  assert_refused(wk_type_check(&t), WK_RESOURCE);
  t = T(WK_U8, INT64_MAX, INT64_MAX, 0);
  assert_null(wk_type_check(&t));
  assert_int_equal(wk_type_count(&t), 0);
  t = T(WK_F32, 2);
  t.rank = 9;
  assert_refused(wk_type_check(&t), WK_UNSUPPORTED);
  t.rank = -1;
  assert_refused(wk_type_check(&t), WK_UNSUPPORTED);
  t = T(WK_F32, 2);
  t.dtype = WK_DTYPE_NONE;
  assert_refused(wk_type_check(&t), WK_INPUT);
  const float scales[] = {0.5f, 0.25f};
  const int32_t zeros[] = {3, -1};
  const wk_quant channel = {1, 2, scales, zeros};
  t = T(WK_I8, 2, 3);
  t.quant = &channel;
  assert_refused(wk_type_check(&t), WK_INPUT);
  t = T(WK_F32, 3, 2);
  t.quant = &channel;
  assert_refused(wk_type_check(&t), WK_INPUT);
}

static void strides(void **state) {
  (void)state;
  wk_type t = T(WK_F32, 2, 3, 4);
  int64_t s[WK_MAX_RANK];
  wk_type_strides(&t, s);
  assert_int_equal(s[0], 12);
  assert_int_equal(s[1], 4);
  assert_int_equal(s[2], 1);
  assert_int_equal(wk_type_count(&t), 24);
  assert_int_equal(wk_type_bytes(&t), 96);
}

static void broadcasting(void **state) {
  (void)state;
  wk_type a = T(WK_F32, 4, 1, 3), b = T(WK_I8, 5, 1), y, empty = {.dtype = WK_F32};
  assert_null(wk_type_broadcast(&a, &b, &y));
  wk_type want = T(WK_F32, 4, 5, 3);
  assert_true(wk_type_equal(&y, &want));
  assert_null(wk_type_broadcast(&empty, &a, &y));
  assert_true(wk_type_equal(&y, &a));
  wk_type zero = T(WK_F32, 0), one = T(WK_F32, 1), two = T(WK_F32, 2);
  assert_null(wk_type_broadcast(&zero, &one, &y));
  assert_int_equal(y.dims[0], 0);
  assert_refused(wk_type_broadcast(&zero, &two, &y), WK_INPUT);
  wk_type wide = T(WK_F32, INT64_C(1) << 40, 1), tall = T(WK_F32, INT64_C(1) << 40);
  assert_refused(wk_type_broadcast(&wide, &tall, &y), WK_RESOURCE);
}

/* ---- narrow floats --------------------------------------------------------------------------- */

static void f16_round_trip(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 65536; h++) {
    float f = wk_f16_to_f32((uint16_t)h);
    uint16_t back = wk_f32_to_f16(f);
    if (isnan(f)) assert_true(isnan(wk_f16_to_f32(back)));
    else assert_int_equal(back, h);
  }
}

static void bf16_round_trip(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 65536; h++) {
    float f = wk_bf16_to_f32((uint16_t)h);
    uint16_t back = wk_f32_to_bf16(f);
    if (isnan(f)) assert_true(isnan(wk_bf16_to_f32(back)));
    else assert_int_equal(back, h);
  }
}

static uint16_t store(wk_dtype t, double v) {
  uint16_t h;
  wk_store_f64(&h, t, 0, v);
  return h;
}

/* Between each pair of neighbours: the middle goes to the even one, and a value that differs from
 * the middle only in a bit that neither f32 nor f16 has goes to the nearer one. */
static void neighbours(wk_dtype t, uint32_t last) {
  for (uint32_t h = 0; h < last; h++) {
    uint16_t low = (uint16_t)h, high = (uint16_t)(h + 1);
    double a = wk_load_f64(&low, t, 0), b = wk_load_f64(&high, t, 0), middle = (a + b) / 2;
    assert_int_equal(store(t, middle), h & 1 ? high : low);
    assert_int_equal(store(t, nextafter(middle, a)), low);
    assert_int_equal(store(t, nextafter(middle, b)), high);
    assert_int_equal(store(t, -middle), 0x8000 | (h & 1 ? high : low));
    assert_int_equal(store(t, nextafter(-middle, -a)), 0x8000 | low);
    assert_int_equal(store(t, nextafter(-middle, -b)), 0x8000 | high);
    if (t == WK_F16) assert_int_equal(wk_f32_to_f16((float)middle), h & 1 ? high : low);
  }
}

static void narrow_rounding(void **state) {
  (void)state;
  neighbours(WK_F16, 0x7bff);
  neighbours(WK_BF16, 0x7f7f);
  assert_int_equal(store(WK_F16, 65519.999), 0x7bff);
  assert_int_equal(store(WK_F16, 65520), 0x7c00);
  assert_int_equal(store(WK_F16, -1e300), 0xfc00);
  assert_int_equal(store(WK_F16, 1e-300), 0);
  assert_int_equal(store(WK_BF16, 3.4e38), 0x7f80);
  assert_int_equal(store(WK_BF16, 1e300), 0x7f80);
  assert_int_equal(store(WK_BF16, 1e-300), 0);
  assert_int_equal(store(WK_F16, -0.0), 0x8000);
}

static void loads_and_stores(void **state) {
  (void)state;
  for (int t = 1; t < WK_DTYPE_COUNT; t++) {
    unsigned char bytes[32] = {0};
    wk_store_i64(bytes, (wk_dtype)t, 1, 1);
    assert_int_equal(wk_load_i64(bytes, (wk_dtype)t, 1), 1);
    assert_int_equal(wk_load_i64(bytes, (wk_dtype)t, 0), 0);
    assert_true(wk_load_f64(bytes, (wk_dtype)t, 1) == 1.0);
    wk_store_f64(bytes, (wk_dtype)t, 0, 1.0);
    assert_int_equal(wk_load_i64(bytes, (wk_dtype)t, 0), 1);
    assert_memory_equal(bytes, bytes + wk_dtype_size((wk_dtype)t), wk_dtype_size((wk_dtype)t));
  }
  int8_t i8;
  wk_store_f64(&i8, WK_I8, 0, 1e9);
  assert_int_equal(i8, 127);
  wk_store_i64(&i8, WK_I8, 0, 300);
  assert_int_equal(i8, 44);
  uint64_t u;
  wk_store_f64(&u, WK_U64, 0, 1e30);
  assert_true(u == UINT64_MAX);
  assert_true(wk_load_f64(&u, WK_U64, 0) == 0x1p64);
  wk_store_f64(&u, WK_U64, 0, 0x1p63);
  assert_true(u == UINT64_C(1) << 63);
}

static void tensors(void **state) {
  (void)state;
  wk_type t = T(WK_F32, 3, 5), bad = T(WK_F32, -3), none = T(WK_F32, 0);
  wk_tensor x;
  assert_null(wk_tensor_alloc(&t, &x));
  for (int k = 0; k < 15; k++) assert_true(((float *)x.data)[k] == 0);
  assert_true(wk_type_equal(&x.type, &t));
  wk_tensor_free(&x);
  assert_null(x.data);
  assert_refused(wk_tensor_alloc(&bad, &x), WK_INPUT);
  assert_null(wk_tensor_alloc(&none, &x));
  wk_tensor_free(&x);
}

/* Element types, axes of channels and scales on both sides of what there may be. */
static void limits(void **state) {
  static const struct {
    int dtype, axis;
    int64_t n;
    const char *message;
  } cases[] = {{WK_I8, -1, 1, NULL},
               {WK_I8, -2, 1, "quantisation axis -2 is outside rank 2"},
               {WK_I8, 0, 2, NULL},
               {WK_I8, 1, 3, NULL},
               {WK_I8, 2, 0, "quantisation axis 2 is outside rank 2"},
               {WK_I8, -1, 2, "quantisation has 2 scales where 1 are needed"},
               {WK_I8, 1, 2, "quantisation has 2 scales where 3 are needed"},
               {WK_F32, -1, 1, "only integer tensors can be quantised, not f32"},
               {WK_F8E8M0FNU, -1, 1, "only integer tensors can be quantised, not f8e8m0fnu"},
               {WK_DTYPE_COUNT, -1, 1, "invalid element type "},
               {WK_DTYPE_NONE, -1, 1, "invalid element type 0"}};
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    const wk_quant q = {.axis = cases[k].axis, .n = cases[k].n};
    wk_type t = T((wk_dtype)cases[k].dtype, 2, 3);
    t.quant = &q;
    wk_status s = wk_type_check(&t);
    const char *got = s ? s->message : "taken", *want = cases[k].message;
    if (!want) want = "taken";
    if (strncmp(got, want, strlen(want))) fail_msg("%s, not %s", got, want);
    wk_status_free(s);
  }
  for (int rank = 0; rank <= WK_MAX_RANK; rank++) {
    wk_type t = {.dtype = WK_F32, .rank = rank};
    int64_t strides[WK_MAX_RANK];
    for (int i = 0; i < WK_MAX_RANK; i++) strides[i] = 77, t.dims[i] = i < rank ? 2 : 0;
    wk_type_strides(&t, strides);
    for (int i = 0; i < WK_MAX_RANK; i++)
      assert_int_equal(strides[i], i < rank ? 1 << (rank - 1 - i) : 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dtype_names),     cmocka_unit_test(printing),
      cmocka_unit_test(equality),        cmocka_unit_test(checks),
      cmocka_unit_test(one_difference),  cmocka_unit_test(limits),
      cmocka_unit_test(strides),         cmocka_unit_test(broadcasting),
      cmocka_unit_test(f16_round_trip),  cmocka_unit_test(bf16_round_trip),
      cmocka_unit_test(narrow_rounding), cmocka_unit_test(loads_and_stores),
      cmocka_unit_test(tensors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
