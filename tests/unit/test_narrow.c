/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/expr/narrow.h"

static int setup(void **state) {
  *state = wk_arena_new();
  return 0;
}

static int teardown(void **state) {
  wk_arena_free(*state);
  return 0;
}

static const wk_dtype narrow[] = {WK_I4,       WK_U4,         WK_I2,       WK_U2,
                                  WK_F8E4M3FN, WK_F8E4M3FNUZ, WK_F8E5M2,   WK_F8E5M2FNUZ,
                                  WK_F4E2M1FN, WK_F6E2M3FN,   WK_F6E3M2FN, WK_F8E8M0FNU};

/* ---- formats --------------------------------------------------------------------------------- */

/* From the tables of "OCP 8-bit Floating Point Specification", of the microscaling formats and of
 * ONNX. */
static void values_of_patterns(void **state) {
  static const struct {
    wk_dtype t;
    uint8_t pattern;
    double value;
  } cases[] = {
      {WK_F8E4M3FN, 0x7e, 448},       {WK_F8E4M3FN, 0x08, 0x1p-6},  {WK_F8E4M3FN, 0x01, 0x1p-9},
      {WK_F8E4M3FN, 0xb8, -1},        {WK_F8E4M3FN, 0x7f, NAN},     {WK_F8E4M3FNUZ, 0x7f, 240},
      {WK_F8E4M3FNUZ, 0x01, 0x1p-10}, {WK_F8E4M3FNUZ, 0x80, NAN},   {WK_F8E5M2, 0x7b, 57344},
      {WK_F8E5M2, 0x01, 0x1p-16},     {WK_F8E5M2, 0x7c, INFINITY},  {WK_F8E5M2, 0xfc, -INFINITY},
      {WK_F8E5M2, 0x7e, NAN},         {WK_F8E5M2FNUZ, 0x7f, 57344}, {WK_F8E5M2FNUZ, 0x01, 0x1p-17},
      {WK_F8E5M2FNUZ, 0x80, NAN},     {WK_F4E2M1FN, 0x7, 6},        {WK_F4E2M1FN, 0x1, 0.5},
      {WK_F4E2M1FN, 0xb, -1.5},       {WK_F6E2M3FN, 0x1f, 7.5},     {WK_F6E2M3FN, 0x01, 0.125},
      {WK_F6E3M2FN, 0x1f, 28},        {WK_F6E3M2FN, 0x01, 0.0625},  {WK_F8E8M0FNU, 0, 0x1p-127},
      {WK_F8E8M0FNU, 127, 1},         {WK_F8E8M0FNU, 254, 0x1p127}, {WK_F8E8M0FNU, 255, NAN},
  };
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    double v = wk_narrow_value(wk_narrow_format_of(cases[i].t), cases[i].pattern);
    assert_true(v == cases[i].value || (isnan(v) && isnan(cases[i].value)));
  }
}

static void rounding(void **state) {
  static const struct {
    wk_dtype t;
    double v;
    uint8_t pattern;
  } cases[] = {
      {WK_F8E4M3FN, 464, 0x7e},
      {WK_F8E4M3FN, 1e30, 0x7e},
      {WK_F8E4M3FN, -0.0, 0x80},
      {WK_F8E4M3FN, 0x1p-10, 0},
      {WK_F8E4M3FN, 0x1.8p-9, 2},
      {WK_F8E4M3FN, 0x1.fp-7, 8},
      {WK_F8E4M3FN, 1.0625, 0x38},
      {WK_F8E4M3FN, 1.1875, 0x3a},
      {WK_F8E4M3FNUZ, -0.0, 0},
      {WK_F8E4M3FNUZ, -1e-9, 0},
      {WK_F8E4M3FNUZ, NAN, 0x80},
      {WK_F8E5M2, 1e6, 0x7b},
      {WK_F8E5M2, INFINITY, 0x7c},
      {WK_F4E2M1FN, 2.5, 0x4},
      {WK_F4E2M1FN, 0.25, 0},
      {WK_F4E2M1FN, 0.75, 0x2},
      {WK_F4E2M1FN, -100, 0xf},
      {WK_F4E2M1FN, NAN, 0x8},
      {WK_F8E8M0FNU, 1.1, 128},
      {WK_F8E8M0FNU, 0, 0},
      {WK_F8E8M0FNU, 0x1p-127, 0},
      {WK_F8E8M0FNU, 1e39, 254},
      {WK_F8E8M0FNU, NAN, 255},
      /* once: by way of f32 this would be halfway and go down to 1 */
      {WK_F8E4M3FN, 1.0625 + 0x1p-40, 0x39},
  };
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    assert_int_equal(wk_narrow_pattern(wk_narrow_format_of(cases[i].t), cases[i].v),
                     cases[i].pattern);
}

/* Every pattern stands for a value that gives it back, the many NaNs included. */
static void patterns_come_back(void **state) {
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(narrow); k++) {
    const wk_narrow_format *f = wk_narrow_format_of(narrow[k]);
    if (!f) continue;
    for (int p = 0; p < 1 << wk_dtype_bits(narrow[k]); p++) {
      double v = wk_narrow_value(f, (uint8_t)p);
      int again = wk_narrow_pattern(f, v);
      assert_int_equal(again, p);
    }
  }
}

/* ---- expressions ----------------------------------------------------------------------------- */

static const wk_expr *conversion(wk_arena *a, wk_dtype from, wk_dtype to, bool bits) {
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t x = wk_expr_input(b, 0, from);
  x = bits ? wk_expr_bits(b, to, x) : wk_expr_cast(b, to, x);
  return wk_expr_finish(b, &x, 1);
}

/* What e makes of an element, as the bytes in memory. */
static uint64_t apply(const wk_expr *e, const void *element, wk_dtype from) {
  wk_scalar in = wk_scalar_load(element, from), out, *scratch = wk_xcalloc(e->n, sizeof *scratch);
  uint64_t memory = 0;
  wk_expr_eval(e, &in, NULL, scratch, &out);
  free(scratch);
  wk_dtype to = e->nodes[e->results[0]].dtype;
  bool is_nan = wk_dtype_is_float(to) && !wk_dtype_is_narrow(to) && isnan(out.f);
  wk_scalar_store(&memory, to, is_nan ? (wk_scalar){.f = (double)NAN} : out);
  return memory;
}

static void same(wk_arena *a, const wk_expr *e, const void *element, wk_dtype from) {
  const wk_expr *s = wk_expr_storage(a, e);
  uint64_t want = apply(e, element, from), got = apply(s, element, wk_dtype_storage(from));
  if (got == want) return;
  wk_str b = {0};
  wk_expr_print(&b, e);
  print_error("%s of %02x: %llx, not %llx\n", b.s, *(const uint8_t *)element,
              (unsigned long long)got, (unsigned long long)want);
  wk_str_free(&b);
  fail();
}

static bool is_element(wk_dtype t, int p) {
  wk_scalar v = wk_scalar_load(&(uint8_t){(uint8_t)p}, t);
  uint8_t again = 0;
  wk_scalar_store(&again, t, v);
  return wk_dtype_is_float(t) ? p < 1 << wk_dtype_bits(t) : again == p;
}

static void from_every_pattern(void **state) {
  wk_arena *a = *state;
  for (size_t k = 0; k < WK_COUNTOF(narrow); k++)
    for (int to = WK_F32; to < WK_DTYPE_COUNT; to++) {
      if (to == (int)narrow[k]) continue;
      const wk_expr *cast = conversion(a, narrow[k], (wk_dtype)to, false), *bits = NULL;
      if (wk_dtype_bits((wk_dtype)to) == wk_dtype_bits(narrow[k]) && to != WK_BOOL)
        bits = conversion(a, narrow[k], (wk_dtype)to, true);
      for (int p = 0; p < 256; p++) {
        uint8_t element = (uint8_t)p;
        if (!is_element(narrow[k], p)) continue;
        same(a, cast, &element, narrow[k]);
        if (bits) same(a, bits, &element, narrow[k]);
      }
    }
}

/* Numbers of every size, halfway cases and their neighbours. */
static double number(wk_rng *r) {
  double v = (1 + (double)wk_rng_range(r, 0, 31) / 16) * exp2((double)wk_rng_range(r, -20, 18));
  int64_t how = wk_rng_range(r, 0, 9);
  if (how < 2) v = v * (1 + (how ? 0x1p-45 : -0x1p-45));
  if (how == 2) v = wk_rng_normal(r) * exp2((double)wk_rng_range(r, -140, 140));
  if (how == 3) v = (double)wk_rng_range(r, -20, 20);
  if (how == 4) v = wk_rng_range(r, 0, 2) ? (double)INFINITY : (double)NAN;
  return wk_rng_range(r, 0, 1) ? v : -v;
}

static void from_numbers_of_every_type(void **state) {
  wk_arena *a = *state;
  wk_rng r = {7};
  for (int from = WK_F32; from <= WK_BOOL; from++)
    for (size_t k = 0; k < WK_COUNTOF(narrow); k++) {
      const wk_expr *cast = conversion(a, (wk_dtype)from, narrow[k], false);
      for (int i = 0; i < 300; i++) {
        uint64_t element = 0;
        wk_store_f64(&element, (wk_dtype)from, 0, number(&r));
        same(a, cast, &element, (wk_dtype)from);
      }
    }
}

static void arms_and_literals(void **state) {
  wk_arena *a = *state;
  wk_dtype types[] = {WK_F32, WK_F8E5M2};
  wk_expr *e;
  assert_null(wk_expr_parse(a, "select(gt(%0, 1.0f32), %1, -1.5f8e5m2)", types, 2, &e));
  const wk_expr *s = wk_expr_storage(a, e);
  wk_str b = {0};
  wk_expr_print(&b, s);
  assert_string_equal(b.s, "select(gt(%0, 1.0f32), %1, 190u8)");
  wk_str_free(&b);
  assert_ptr_equal(wk_expr_storage(a, s), s);
}

static void refusals(void **state) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"add(%0, %0)", "not defined for f8e4m3fn"},
      {"bits<u16>(%0)", "as many bits"},
      {"sat<i4>(i32(%0))", "integer type expected"},
  };
  wk_arena *a = *state;
  const wk_dtype t = WK_F8E4M3FN;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_expr *e;
    wk_status s = wk_expr_parse(a, cases[i].text, &t, 1, &e);
    assert_non_null(s);
    assert_non_null(strstr(s->message, cases[i].part));
    wk_status_free(s);
  }
}

/* ---- packing --------------------------------------------------------------------------------- */

static void packed_elements_come_back(void **state) {
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(narrow); k++)
    for (int64_t n = 0; n < 20; n++) {
      wk_type t = wk_type_make(narrow[k], 1, &n);
      uint8_t data[20] = {0}, packed[20] = {0}, again[20] = {0};
      for (int64_t i = 0, p = 3; i < n; p = (p * 37 + 11) & 255)
        if (is_element(narrow[k], (int)p)) data[i++] = (uint8_t)p;
      wk_pack(&t, data, packed);
      wk_unpack(&t, packed, again);
      assert_memory_equal(data, again, 20);
      assert_int_equal(wk_packed_bytes(&t), (n * wk_dtype_bits(narrow[k]) + 7) / 8);
    }
}

static void the_order_of_packed_bits(void **state) {
  (void)state;
  const int64_t n = 5;
  const uint8_t ints[] = {1, 0xfe, 3, 4, 0xf8}, floats[] = {8, 16, 20, 24, 26};
  uint8_t packed[4] = {0}, want_ints[] = {0xe1, 0x43, 0x08}, want_floats[] = {8, 0x44, 0x61, 0x1a};
  wk_type t = wk_type_make(WK_I4, 1, &n), f = wk_type_make(WK_F6E2M3FN, 1, &n);
  wk_pack(&t, ints, packed);
  assert_memory_equal(packed, want_ints, 3);
  memset(packed, 0, sizeof packed);
  wk_pack(&f, floats, packed);
  assert_memory_equal(packed, want_floats, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_of_patterns),
      cmocka_unit_test(rounding),
      cmocka_unit_test(patterns_come_back),
      cmocka_unit_test_setup_teardown(from_every_pattern, setup, teardown),
      cmocka_unit_test_setup_teardown(from_numbers_of_every_type, setup, teardown),
      cmocka_unit_test_setup_teardown(arms_and_literals, setup, teardown),
      cmocka_unit_test_setup_teardown(refusals, setup, teardown),
      cmocka_unit_test(packed_elements_come_back),
      cmocka_unit_test(the_order_of_packed_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
