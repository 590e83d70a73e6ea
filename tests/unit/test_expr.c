/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/random_expr.h"

static int setup(void **state) {
  *state = wk_arena_new();
  return 0;
}

static int teardown(void **state) {
  wk_arena_free(*state);
  return 0;
}

static void must(wk_status s) {
  if (s) wk_status_print(stderr, s);
  assert_null(s);
}

static char *text_of(wk_arena *a, const wk_expr *e) {
  wk_str b = {0};
  wk_expr_print(&b, e);
  char *s = wk_arena_strdup(a, b.s);
  wk_str_free(&b);
  return s;
}

static const wk_dtype f32s[] = {WK_F32, WK_F32, WK_F32, WK_F32};
#define mixed random_expr_inputs

static wk_expr *parse(wk_arena *a, const char *s, const wk_dtype *dtypes, int n) {
  wk_expr *e = NULL;
  must(wk_expr_parse(a, s, dtypes, n, &e));
  return e;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void round_trip(wk_arena *a, const wk_expr *e, const wk_dtype *dtypes, int n) {
  char *text = text_of(a, e);
  wk_expr *again = parse(a, text, dtypes, n);
  assert_string_equal(text_of(a, again), text);
  assert_true(wk_expr_equal(e, again));
  assert_true(wk_expr_hash(e, 1) == wk_expr_hash(again, 1));
}

static void printed_forms(void **state) {
  wk_arena *a = *state;
  static const char *const texts[] = {
      "%0",
      "max(%0, 0.0f32)",
      "add(%0, 1.5f32), sub(%0, 1.5f32)",
      "%0, %0",
      "a = exp(%0); add(a, mul(a, 2.0f32)), a",
      "i8(%0)",
      "sat<i8>(i32(%0))",
      "select(lt(%5, index<2>()), 1i64, -9223372036854775808i64)",
      "add(%2, 18446744073709551615u64)",
      "max(%4, 0.099975586f16)",
      "add(%6, 0.1f64)",
      "mul(%0, inff32)",
      "mul(%0, nanf32)",
      "mul(%0, -inff32)",
      "mul(%0, -0.0f32)",
      "mul(%0, 1e+30f32)",
      "and(%3, is_nan(%0))",
      "index<0>()",
      "3i64",
      "1bool",
  };
  const int n = RANDOM_EXPR_INPUTS;
  for (size_t k = 0; k < WK_COUNTOF(texts); k++) {
    wk_expr *e = parse(a, texts[k], mixed, n);
    assert_string_equal(text_of(a, e), texts[k]);
    round_trip(a, e, mixed, n);
  }
}

static void canonical_text(void **state) {
  wk_arena *a = *state;
  static const struct { const char *in, *out; } rows[] = {
      {"a = sub(%0, %1); mul(a, a)", "a = sub(%0, %1); mul(a, a)"},
      {"mul(sub(%0,%1),sub(%0,%1))", "a = sub(%0, %1); mul(a, a)"},
      {"  add( %0 ,\n%1 ) ", "add(%0, %1)"},
      {"add(%1, %0), add(%0, %1)", "a = add(%1, %0); a, a"},
      {"x = add(%0, %1); unused = exp(x); y = mul(x, x); y", "a = add(%0, %1); mul(a, a)"},
      {"a = %0; b = a; add(a, b)", "add(%0, %0)"},
      {"max(%0, 0f32)", "max(%0, 0.0f32)"},
      {"max(%0, 5e-1f32)", "max(%0, 0.5f32)"},
      {"f32(%0)", "%0"},
      {"f32(f64(%0))", "%0"},
      {"f32(f16(%0))", "f32(f16(%0))"},
  };
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    assert_string_equal(text_of(a, parse(a, rows[k].in, f32s, 4)), rows[k].out);
}

/* Floats of 16 bits: casts that change nothing are left out, those that round stay. */
static void half_casts(void **state) {
  wk_arena *a = *state;
  static const struct { const char *in, *out; } rows[] = {
      {"f16(f32(%4))", "%4"},
      {"f16(f64(%4))", "%4"},
      {"f32(f16(f32(%4)))", "f32(%4)"},
      {"f32(f16(max(neg(f32(%4)), 0.5f32)))", "max(neg(f32(%4)), 0.5f32)"},
      {"f32(f16(select(%3, f32(%4), 2f32)))", "select(%3, f32(%4), 2.0f32)"},
      {"f32(bf16(trunc(f32(%7))))", "trunc(f32(%7))"},
      {"f32(f16(max(f32(%4), 0.1f32)))", "f32(f16(max(f32(%4), 0.1f32)))"},
      {"f32(bf16(f32(%4)))", "f32(bf16(f32(%4)))"},
      {"f32(f16(add(f32(%4), f32(%4))))", "a = f32(%4); f32(f16(add(a, a)))"},
      {"bf16(f32(%4))", "bf16(f32(%4))"},
  };
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    assert_string_equal(text_of(a, parse(a, rows[k].in, mixed, RANDOM_EXPR_INPUTS)), rows[k].out);
}

static void names_avoid_types(void **state) {
  wk_arena *a = *state;
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t x = wk_expr_input(b, 0, WK_F32);
  for (int k = 0; k < 1000; k++) { /* every node is used twice */
    uint16_t y = wk_expr_1(b, WK_EX_EXP, x);
    x = wk_expr_2(b, WK_EX_MUL, y, wk_expr_2(b, WK_EX_ADD, y, x));
  }
  wk_expr *e = wk_expr_finish(b, &x, 1);
  char *text = text_of(a, e);
  assert_null(strstr(text, "; i8 = "));
  assert_null(strstr(text, "; f32 = "));
  round_trip(a, e, f32s, 1);
}

static void refused(wk_arena *a, const char *text, const char *why) {
  wk_expr *e = NULL;
  wk_status s = wk_expr_parse(a, text, mixed, RANDOM_EXPR_INPUTS, &e);
  if (!s) fail_msg("accepted: %s", text);
  if (!strstr(s->message, why)) fail_msg("\"%s\": \"%s\" lacks \"%s\"", text, s->message, why);
  wk_status_free(s);
}

static void parse_errors(void **state) {
  wk_arena *a = *state;
  refused(a, "add(%4, %4)", "column 1: add is not defined for f16");
  refused(a, "exp(%7)", "column 1: exp is not defined for bf16");
  refused(a, "", "column 1: operand expected");
  refused(a, "add(%0", "column 7: ',' expected");
  refused(a, "add(%0, %0", "')' expected");
  refused(a, "add(%0, %0))", "column 12: unexpected text");
  refused(a, "add(%0, %1)", "not f32 and i8");
  refused(a, "exp(%1)", "exp is not defined for i8");
  refused(a, "add(%3, %3)", "add is not defined for bool");
  refused(a, "and(%0, %0)", "and is not defined for f32");
  refused(a, "select(%0, %0, %0)", "bool condition");
  refused(a, "select(%3, %0, %1)", "arms of one type");
  refused(a, "sat<i8>(%0)", "needs an integer");
  refused(a, "sat<f32>(%1)", "integer type expected");
  refused(a, "frob(%0)", "unknown operation frob");
  refused(a, "cast(%0)", "unknown operation cast");
  refused(a, "foo", "unknown name foo");
  refused(a, "%11", "no input %11");
  refused(a, "%99999999999999999999", "small number");
  refused(a, "1.0", "without an element type");
  refused(a, "1.5i32", "no integer");
  refused(a, "300i8", "out of range");
  refused(a, "-1u64", "out of range");
  refused(a, "2bool", "out of range");
  refused(a, "99999999999999999999i64", "out of range");
  refused(a, "1.0f99", "unknown element type");
  refused(a, "2f32 = %0; %0", "unexpected text after the expression");
  refused(a, "index<8>()", "axis");
  refused(a, "index<-1>()", "small number");
  refused(a, "$alpha", "no numeric attribute");
  refused(a, "a = %0", "';' expected");
  refused(a, "a = %0;", "operand expected");
  refused(a, "add(%0, b); b = %0", "unknown name b");
  refused(a, "%0,", "operand expected");
  refused(a, "neg(%0, %0)", "')' expected");
}

/* Hostile sizes end with an error, not with the stack or hours. */
static void parse_budgets(void **state) {
  wk_arena *a = *state;
  wk_str b = {0};
  for (int k = 0; k < 200000; k++) wk_str_add(&b, "exp(");
  refused(a, b.s, "nested deeper");
  wk_str_free(&b);
  for (int k = 0; k < 20000; k++) wk_str_add(&b, k ? ", %0" : "%0");
  refused(a, b.s, "too many results");
  wk_str_free(&b);
  for (int k = 0; k < 40000; k++) wk_str_printf(&b, "x%d = %s; ", k, k ? "x0" : "%0");
  wk_str_add(&b, "x0");
  refused(a, b.s, "too many names");
  wk_str_free(&b);
  wk_str_add(&b, "x = %0; ");
  for (int k = 0; k < 5000; k++) wk_str_add(&b, "x = exp(x); ");
  wk_str_add(&b, "x");
  refused(a, b.s, "more than 4096 nodes");
  wk_str_free(&b);
}

/* ---- random expressions ---------------------------------------------------------------------- */

static void random_text(void **state) {
  wk_arena *a = *state;
  wk_rng r = {42};
  for (int k = 0; k < 2000; k++) {
    wk_expr *e = random_expr(a, &r, (int)wk_rng_range(&r, 1, 60), false);
    round_trip(a, e, mixed, RANDOM_EXPR_INPUTS);
    assert_true(wk_expr_equal(e, wk_expr_clone(a, e)));
  }
}

/* Parsing damaged text gives an error or an expression that prints. */
static void damaged_text(void **state) {
  wk_arena *a = *state;
  wk_rng r = {7};
  for (int k = 0; k < 3000; k++) {
    char *text = text_of(a, random_expr(a, &r, 12, false));
    size_t n = strlen(text);
    for (int64_t m = wk_rng_range(&r, 1, 3); m > 0; m--)
      text[wk_rng_range(&r, 0, (int64_t)n - 1)] = (char)wk_rng_range(&r, 1, 127);
    wk_expr *e = NULL;
    wk_status s = wk_expr_parse(a, text, mixed, RANDOM_EXPR_INPUTS, &e);
    if (!s) round_trip(a, e, mixed, RANDOM_EXPR_INPUTS);
    wk_status_free(s);
  }
}

/* Blocks, with any stride, agree bit for bit with one element at a time. */
static void blocks_match_elements(void **state) {
  wk_arena *a = *state;
  wk_rng r = {99};
  enum { N = WK_EXPR_BLOCK, INPUTS = RANDOM_EXPR_INPUTS };
  static unsigned char memory[INPUTS][3 * N * 8], got[3][2 * N * 8];
  static int64_t positions[N];
  for (int round = 0; round < 300; round++) {
    wk_expr *e = random_expr(a, &r, 40, false);
    int n = (int)wk_rng_range(&r, 1, N);
    const void *in[INPUTS];
    int64_t strides[INPUTS], out_strides[3] = {1, 2, 1};
    for (int k = 0; k < INPUTS; k++) {
      strides[k] = wk_rng_range(&r, 0, 3);
      in[k] = memory[k];
      for (int i = 0; i < 3 * N; i++) {
        double v = wk_rng_range(&r, 0, 9) ? (wk_rng_unit(&r) - 0.5) * 300 : NAN;
        wk_store_f64(memory[k], mixed[k], i, v);
      }
    }
    for (int i = 0; i < n; i++) positions[i] = wk_rng_range(&r, 0, 1000);
    const int64_t *index[WK_MAX_RANK] = {NULL, positions};
    wk_scalar *scratch = wk_xmalloc(wk_expr_block_scratch(e) * sizeof *scratch);
    wk_expr_block_begin(e, scratch);
    void *results[3] = {got[0], got[1], got[2]};
    wk_expr_eval_block(e, in, strides, index, n, scratch, results, out_strides);
    for (int i = 0; i < n; i++) {
      wk_scalar inputs[INPUTS], want[3];
      int64_t at[WK_MAX_RANK] = {0, positions[i]};
      for (int k = 0; k < INPUTS; k++)
        inputs[k] = wk_scalar_load(
            (char *)memory[k] + i * strides[k] * wk_dtype_size(mixed[k]), mixed[k]);
      wk_expr_eval(e, inputs, at, scratch, want);
      for (uint32_t k = 0; k < e->n_results; k++) {
        wk_dtype t = e->nodes[e->results[k]].dtype;
        unsigned char one[8];
        const void *other = got[k] + i * out_strides[k] * wk_dtype_size(t);
        wk_scalar_store(one, t, want[k]);
        if (wk_dtype_is_float(t) && isnan(want[k].f)) assert_true(isnan(wk_load_f64(other, t, 0)));
        else assert_memory_equal(one, other, (size_t)wk_dtype_size(t));
      }
    }
    free(scratch);
  }
}

/* ---- building -------------------------------------------------------------------------------- */

static void merging(void **state) {
  wk_arena *a = *state;
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t x = wk_expr_input(b, 0, WK_F32), y = wk_expr_input(b, 1, WK_F32);
  assert_int_equal(wk_expr_input(b, 0, WK_F32), x);
  assert_int_equal(wk_expr_2(b, WK_EX_ADD, x, y), wk_expr_2(b, WK_EX_ADD, y, x));
  assert_int_not_equal(wk_expr_2(b, WK_EX_SUB, x, y), wk_expr_2(b, WK_EX_SUB, y, x));
  assert_int_not_equal(wk_expr_f(b, WK_F32, 0.0), wk_expr_f(b, WK_F32, -0.0));
  assert_int_equal(wk_expr_f(b, WK_F32, NAN), wk_expr_f(b, WK_F32, -NAN));
  assert_int_not_equal(wk_expr_f(b, WK_F32, 1.0), wk_expr_f(b, WK_F64, 1.0));
}

static void identities(void **state) {
  wk_arena *a = *state;
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t x = wk_expr_input(b, 0, WK_F32), i = wk_expr_input(b, 1, WK_I32);
  uint16_t p = wk_expr_input(b, 2, WK_BOOL);
  assert_int_equal(wk_expr_cast(b, WK_F32, x), x);
  assert_int_equal(wk_expr_2(b, WK_EX_MUL, wk_expr_f(b, WK_F32, 1), x), x);
  assert_int_equal(wk_expr_2(b, WK_EX_DIV, x, wk_expr_f(b, WK_F32, 1)), x);
  assert_int_not_equal(wk_expr_2(b, WK_EX_DIV, wk_expr_f(b, WK_F32, 1), x), x);
  assert_int_equal(wk_expr_2(b, WK_EX_ADD, x, wk_expr_f(b, WK_F32, -0.0)), x);
  assert_int_not_equal(wk_expr_2(b, WK_EX_ADD, x, wk_expr_f(b, WK_F32, 0.0)), x); /* x = -0.0 */
  assert_int_equal(wk_expr_2(b, WK_EX_ADD, i, wk_expr_i(b, WK_I32, 0)), i);
  assert_int_equal(wk_expr_2(b, WK_EX_SUB, i, wk_expr_i(b, WK_I32, 0)), i);
  assert_int_equal(wk_expr_2(b, WK_EX_MIN, i, wk_expr_f(b, WK_I32, INFINITY)), i);
  assert_int_equal(wk_expr_2(b, WK_EX_AND, i, wk_expr_i(b, WK_I32, -1)), i);
  assert_int_equal(wk_expr_2(b, WK_EX_AND, p, wk_expr_i(b, WK_BOOL, 1)), p);
  assert_int_equal(wk_expr_2(b, WK_EX_MAX, x, x), x);
  assert_int_equal(wk_expr_1(b, WK_EX_NOT, wk_expr_1(b, WK_EX_NOT, p)), p);
  assert_int_equal(wk_expr_3(b, WK_EX_SELECT, wk_expr_i(b, WK_BOOL, 0), x, wk_expr_f(b, WK_F32, 3)),
                   wk_expr_f(b, WK_F32, 3));
  assert_int_equal(wk_expr_3(b, WK_EX_SELECT, p, x, x), x);
  /* folded by the semantics of evaluation */
  uint16_t third = wk_expr_2(b, WK_EX_DIV, wk_expr_f(b, WK_F32, 1), wk_expr_f(b, WK_F32, 3));
  assert_int_equal(third, wk_expr_f(b, WK_F32, (double)(1.0f / 3.0f)));
}

static void inlining(void **state) {
  wk_arena *a = *state;
  wk_expr *relu = parse(a, "max(%0, 0.0f32), exp(%1)", f32s, 2);
  wk_expr_builder *b = wk_expr_begin(a);
  uint16_t x = wk_expr_input(b, 0, WK_F32), y = wk_expr_input(b, 1, WK_F32);
  uint16_t sum = wk_expr_2(b, WK_EX_ADD, x, y);
  uint16_t result = wk_expr_inline(b, relu, (uint16_t[]){sum, x}, 0);
  wk_expr *e = wk_expr_finish(b, &result, 1);
  assert_string_equal(text_of(a, e), "max(add(%0, %1), 0.0f32)");
  assert_int_equal(wk_expr_inputs(e), 2);
  /* what the builder has already is not there twice, whichever number of operands it has */
  b = wk_expr_begin(a);
  x = wk_expr_input(b, 0, WK_F32);
  y = wk_expr_input(b, 1, WK_F32);
  e = parse(a, "exp(%0), sub(%0, %1), select(lt(%0, %1), %1, %0), i32(%0), 2.5f32", f32s, 2);
  const uint16_t made[] = {
      wk_expr_1(b, WK_EX_EXP, x), wk_expr_2(b, WK_EX_SUB, x, y),
      wk_expr_3(b, WK_EX_SELECT, wk_expr_2(b, WK_EX_LT, x, y), y, x), wk_expr_cast(b, WK_I32, x),
      wk_expr_f(b, WK_F32, 2.5)};
  for (int r = 0; r < (int)WK_COUNTOF(made); r++)
    assert_int_equal(wk_expr_inline(b, e, (uint16_t[]){x, y}, r), made[r]);
  assert_false(wk_expr_is_identity(e));
  assert_true(wk_expr_is_identity(wk_expr_identity(a, WK_I8)));
}

/* ---- semantics ------------------------------------------------------------------------------- */

static int64_t int_of(wk_expr_op op, wk_dtype t, int64_t p, int64_t q) {
  wk_dtype to = op >= WK_EX_EQ && op <= WK_EX_GE ? WK_BOOL : t;
  return wk_expr_apply(op, t, to, (wk_scalar){.i = p}, (wk_scalar){.i = q}, (wk_scalar){0}).i;
}

static double real_of(wk_expr_op op, wk_dtype t, double p, double q) {
  return wk_expr_apply(op, t, t, (wk_scalar){.f = p}, (wk_scalar){.f = q}, (wk_scalar){0}).f;
}

static int64_t to_int(wk_dtype from, double v, wk_dtype to) {
  return wk_expr_apply(WK_EX_CAST, from, to, (wk_scalar){.f = v}, (wk_scalar){0}, (wk_scalar){0}).i;
}

static double to_real(wk_dtype from, int64_t v, wk_dtype to) {
  return wk_expr_apply(WK_EX_CAST, from, to, (wk_scalar){.i = v}, (wk_scalar){0}, (wk_scalar){0}).f;
}

static int64_t saturated(wk_dtype from, int64_t v, wk_dtype to) {
  return wk_expr_apply(WK_EX_SAT, from, to, (wk_scalar){.i = v}, (wk_scalar){0}, (wk_scalar){0}).i;
}

static void integer_semantics(void **state) {
  (void)state;
  static const struct {
    wk_expr_op op;
    wk_dtype t;
    int64_t p, q, want;
  } rows[] = {
      {WK_EX_ADD, WK_I8, 127, 1, -128},
      {WK_EX_ADD, WK_U8, 255, 1, 0},
      {WK_EX_ADD, WK_I64, INT64_MAX, 1, INT64_MIN},
      {WK_EX_SUB, WK_U32, 0, 1, UINT32_MAX},
      {WK_EX_MUL, WK_I32, INT32_MAX, 2, -2},
      {WK_EX_MUL, WK_I64, INT64_MIN, -1, INT64_MIN},
      {WK_EX_NEG, WK_I32, INT32_MIN, 0, INT32_MIN},
      {WK_EX_NEG, WK_U8, 1, 0, 255},
      {WK_EX_ABS, WK_I8, -128, 0, -128},
      {WK_EX_ABS, WK_U64, -1, 0, -1},
      {WK_EX_SIGN, WK_U64, -1, 0, 1},
      {WK_EX_SIGN, WK_I64, -5, 0, -1},
      {WK_EX_FLOOR, WK_I32, -7, 0, -7},
      {WK_EX_NOT, WK_U8, 0, 0, 255},
      {WK_EX_NOT, WK_BOOL, 1, 0, 0},
      {WK_EX_NOT, WK_BOOL, 0, 0, 1},
      {WK_EX_DIV, WK_I32, 7, 0, 0},
      {WK_EX_DIV, WK_I32, -7, 2, -3},
      {WK_EX_DIV, WK_I8, -128, -1, -128},
      {WK_EX_DIV, WK_I64, INT64_MIN, -1, INT64_MIN},
      {WK_EX_DIV, WK_U64, -1, 2, INT64_MAX},
      {WK_EX_DIV, WK_U64, 5, 0, 0},
      {WK_EX_MOD, WK_I32, -7, 3, 2},
      {WK_EX_MOD, WK_I32, 7, -3, -2},
      {WK_EX_MOD, WK_I32, -6, 3, 0},
      {WK_EX_MOD, WK_I32, 5, 0, 0},
      {WK_EX_MOD, WK_I64, INT64_MIN, -1, 0},
      {WK_EX_FMOD, WK_I32, -7, 3, -1},
      {WK_EX_FMOD, WK_I32, 7, -3, 1},
      {WK_EX_FMOD, WK_U64, -1, 10, 5},
      {WK_EX_FMOD, WK_U64, -1, 0, 0},
      {WK_EX_POW, WK_I32, 3, 4, 81},
      {WK_EX_POW, WK_I32, 2, -1, 0},
      {WK_EX_POW, WK_I32, 1, -5, 1},
      {WK_EX_POW, WK_I32, -1, -5, -1},
      {WK_EX_POW, WK_I32, -1, -4, 1},
      {WK_EX_POW, WK_I32, 0, 0, 1},
      {WK_EX_POW, WK_I8, 2, 7, -128},
      {WK_EX_POW, WK_U64, 2, 63, INT64_MIN},
      {WK_EX_MIN, WK_U64, -1, 3, 3},
      {WK_EX_MAX, WK_U64, -1, 3, -1},
      {WK_EX_MIN, WK_I64, -1, 3, -1},
      {WK_EX_XOR, WK_BOOL, 1, 1, 0},
      {WK_EX_SHL, WK_I32, 1, 31, INT32_MIN},
      {WK_EX_SHL, WK_I32, 1, 32, 0},
      {WK_EX_SHL, WK_U8, 255, 1, 254},
      {WK_EX_SHL, WK_I64, 1, -1, 0},
      {WK_EX_SHR, WK_I8, -128, 3, -16},
      {WK_EX_SHR, WK_I8, -1, 100, -1},
      {WK_EX_SHR, WK_U8, 255, 8, 0},
      {WK_EX_SHR_ROUND, WK_I8, 5, 1, 2},
      {WK_EX_SHR_ROUND, WK_I8, 7, 1, 4},
      {WK_EX_SHR_ROUND, WK_I8, -5, 1, -2},
      {WK_EX_SHR_ROUND, WK_I8, -7, 1, -4},
      {WK_EX_SHR_ROUND, WK_I8, -6, 2, -2},
      {WK_EX_SHR_ROUND, WK_I8, -5, 0, -5},
      {WK_EX_SHR_ROUND, WK_I8, -128, 8, 0},
      {WK_EX_SHR_ROUND, WK_I8, 127, -1, 0},
      {WK_EX_SHR_ROUND, WK_U8, 255, 1, 128},
      {WK_EX_SHR_ROUND, WK_I64, INT64_MAX, 1, INT64_C(1) << 62},
      {WK_EX_SHR_ROUND, WK_U64, -1, 63, 2},
      {WK_EX_SHR, WK_U8, 255, 7, 1},
      {WK_EX_SHR, WK_U64, -1, 63, 1},
      {WK_EX_SHR, WK_U64, -1, 64, 0},
      {WK_EX_SHR, WK_I64, -1, 64, -1},
      {WK_EX_LT, WK_U64, -1, 0, 0},
      {WK_EX_LT, WK_I64, -1, 0, 1},
      {WK_EX_GE, WK_U64, -1, 0, 1},
      {WK_EX_EQ, WK_BOOL, 1, 1, 1},
  };
  for (size_t k = 0; k < WK_COUNTOF(rows); k++) {
    int64_t got = int_of(rows[k].op, rows[k].t, rows[k].p, rows[k].q);
    if (got != rows[k].want)
      fail_msg("%s %s(%lld, %lld) = %lld", wk_expr_op_name(rows[k].op), wk_dtype_name(rows[k].t),
               (long long)rows[k].p, (long long)rows[k].q, (long long)got);
  }
}

__extension__ typedef __int128 i128;

/* a / 2^b to nearest, ties to even, in sums wide enough for all: what is just below a half, a half
 * and just above it, behind even and odd quotients, in every integer type. */
static void rounded_shifts(void **state) {
  (void)state;
  static const wk_dtype types[] = {WK_I8, WK_U8, WK_I16, WK_U16, WK_I32, WK_U32, WK_I64, WK_U64};
  for (size_t k = 0; k < WK_COUNTOF(types); k++) {
    int bits = wk_dtype_bits(types[k]), magnitude = bits - wk_dtype_is_signed(types[k]);
    for (int by = 1; by < magnitude; by++)
      for (int64_t at = -40; at <= 40; at++) {
        /* near the ends, near 0, and eighths of what is shifted out */
        i128 unit = (i128)1 << by, top = ((i128)1 << magnitude) - 1;
        i128 low = wk_dtype_is_signed(types[k]) ? -top - 1 : 0, p[4];
        p[0] = at;
        p[1] = at < 0 ? top + 1 + at : low + at;
        p[2] = at * unit / 8 + (at & 1);
        p[3] = at * unit / 2 - (at & 1);
        for (int i = 0; i < 4; i++) {
          if (p[i] < low || p[i] > top) continue;
          i128 down = p[i] >> by, rest = 2 * (p[i] - down * unit);
          i128 want = down + (rest > unit || (rest == unit && down % 2 != 0));
          int64_t got = int_of(WK_EX_SHR_ROUND, types[k], (int64_t)p[i], by);
          if (got != (int64_t)want)
            fail_msg("%s: %lld by %d is %lld", wk_dtype_name(types[k]), (long long)p[i], by,
                     (long long)got);
        }
      }
  }
}

static void float_semantics(void **state) {
  (void)state;
  assert_true(isnan(real_of(WK_EX_MIN, WK_F32, NAN, 1)));
  assert_true(isnan(real_of(WK_EX_MIN, WK_F32, 1, NAN)));
  assert_true(isnan(real_of(WK_EX_MAX, WK_F32, 1, NAN)));
  assert_true(isnan(real_of(WK_EX_MAX, WK_F32, NAN, 1)));
  assert_true(isnan(real_of(WK_EX_SIGN, WK_F32, NAN, 0)));
  assert_true(real_of(WK_EX_SIGN, WK_F32, -0.0, 0) == 0);
  assert_true(real_of(WK_EX_ROUND, WK_F32, 2.5, 0) == 2);
  assert_true(real_of(WK_EX_ROUND, WK_F32, -3.5, 0) == -4);
  assert_true(signbit(real_of(WK_EX_ROUND, WK_F32, -0.25, 0)));
  assert_true(signbit(real_of(WK_EX_NEG, WK_F32, 0.0, 0)));
  assert_true(real_of(WK_EX_TRUNC, WK_F32, -1.75, 0) == -1);
  assert_true(real_of(WK_EX_MOD, WK_F32, -7, 3) == 2);
  assert_true(real_of(WK_EX_MOD, WK_F32, 7, -3) == -2);
  assert_true(real_of(WK_EX_FMOD, WK_F32, -7, 3) == -1);
  assert_true(isnan(real_of(WK_EX_MOD, WK_F32, 1, 0)));
  assert_true(isinf(real_of(WK_EX_DIV, WK_F32, 1, 0)));
  assert_true(isinf(real_of(WK_EX_EXP, WK_F32, 100, 0)));
  assert_true(isfinite(real_of(WK_EX_EXP, WK_F64, 100, 0)));
  assert_true(real_of(WK_EX_MIN, WK_F16, 2048, 1) == 1);
  assert_true(real_of(WK_EX_ADD, WK_F32, 0x1p24, 1) == 0x1p24);
  assert_true(real_of(WK_EX_SQRT, WK_F32, 2, 0) == (double)sqrtf(2));
}

static void conversions(void **state) {
  (void)state;
  assert_int_equal(to_int(WK_F32, NAN, WK_I32), 0);
  assert_int_equal(to_int(WK_F32, INFINITY, WK_I64), INT64_MAX);
  assert_int_equal(to_int(WK_F32, -INFINITY, WK_I64), INT64_MIN);
  assert_int_equal(to_int(WK_F32, -1.9, WK_I8), -1);
  assert_int_equal(to_int(WK_F32, 300, WK_U8), 255);
  assert_int_equal(to_int(WK_F32, -0.9, WK_U8), 0);
  assert_int_equal(to_int(WK_F32, -5, WK_U64), 0);
  assert_int_equal(to_int(WK_F32, INFINITY, WK_U64), -1);
  assert_int_equal(to_int(WK_F64, 2147483647.5, WK_I32), INT32_MAX);
  assert_int_equal(to_int(WK_F64, -2147483648.9, WK_I32), INT32_MIN);
  assert_int_equal(to_int(WK_F32, NAN, WK_BOOL), 1);
  assert_int_equal(to_int(WK_F32, 0.25, WK_BOOL), 1);
  assert_int_equal(to_int(WK_F32, -0.0, WK_BOOL), 0);
  assert_int_equal(int_of(WK_EX_CAST, WK_I32, 0, 0), 0);
  wk_scalar big = {.i = 256};
  assert_int_equal(wk_expr_apply(WK_EX_CAST, WK_I32, WK_BOOL, big, big, big).i, 1);
  assert_int_equal(wk_expr_apply(WK_EX_CAST, WK_I32, WK_I8, big, big, big).i, 0);
  /* one rounding, not two: i64 -> f32 and i64 -> bf16 of values past 2^53 */
  assert_true(to_real(WK_I64, INT64_C(0x4000004000000001), WK_F32) == 0x1.000002p62);
  assert_true(to_real(WK_I64, INT64_C(0x4000004000000000), WK_F32) == 0x1p62);
  assert_true(to_real(WK_I64, -INT64_C(0x4040000000000001), WK_BF16) == -0x1.02p62);
  assert_true(to_real(WK_U64, -1, WK_F64) == 0x1p64);
  assert_true(isinf(to_real(WK_I32, 70000, WK_F16)));
  assert_true(isinf(to_real(WK_I32, 65520, WK_F16)));
  assert_true(to_real(WK_I32, 2049, WK_F16) == 2048); /* tie to even */
  assert_true(to_real(WK_I32, 2051, WK_F16) == 2052);
  assert_true(to_real(WK_I32, 257, WK_BF16) == 256);
  assert_int_equal(saturated(WK_I32, 300, WK_I8), 127);
  assert_int_equal(saturated(WK_I32, -300, WK_U8), 0);
  assert_int_equal(saturated(WK_I64, -1, WK_U64), 0);
  assert_int_equal(saturated(WK_U64, -1, WK_I64), INT64_MAX);
  assert_int_equal(saturated(WK_U64, -1, WK_U8), 255);
  assert_int_equal(saturated(WK_I32, -300, WK_I64), -300);
}

/* All 65536 bit patterns through an expression that rounds and one that needs not. */
static void all_narrow_floats(void **state) {
  wk_arena *a = *state;
  static const wk_dtype types[] = {WK_F16, WK_BF16};
  for (size_t k = 0; k < 2; k++) {
    wk_expr_builder *b = wk_expr_begin(a);
    uint16_t x = wk_expr_input(b, 0, types[k]);
    uint16_t wide = wk_expr_cast(b, WK_F32, x);
    uint16_t y = wk_expr_2(b, WK_EX_MUL, wide, wk_expr_f(b, WK_F32, 0.5));
    y = wk_expr_cast(b, types[k], y);
    uint16_t z = wk_expr_1(b, WK_EX_NEG, wk_expr_1(b, WK_EX_ABS, x));
    wk_expr *e = wk_expr_finish(b, (uint16_t[]){y, z}, 2);
    wk_scalar *scratch = wk_xmalloc(wk_expr_block_scratch(e) * sizeof *scratch);
    wk_expr_block_begin(e, scratch);
    for (uint32_t base = 0; base < 65536; base += WK_EXPR_BLOCK) {
      uint16_t in[WK_EXPR_BLOCK], half[WK_EXPR_BLOCK], same[WK_EXPR_BLOCK];
      for (uint32_t i = 0; i < WK_EXPR_BLOCK; i++) in[i] = (uint16_t)(base + i);
      wk_expr_eval_block(e, (const void *[]){in}, NULL, NULL, WK_EXPR_BLOCK, scratch,
                         (void *[]){half, same}, NULL);
      for (uint32_t i = 0; i < WK_EXPR_BLOCK; i++) {
        double v = wk_load_f64(in, types[k], i);
        if (isnan(v)) {
          assert_true(isnan(wk_load_f64(same, types[k], i)));
          continue;
        }
        uint16_t want;
        wk_store_f64(&want, types[k], 0, v * 0.5);
        assert_int_equal(half[i], want);
        assert_int_equal(same[i], in[i] | 0x8000);
      }
    }
    free(scratch);
  }
}

/* ---- templates ------------------------------------------------------------------------------- */

static bool attr_half(const void *ctx, const char *name, size_t n, double *value) {
  (void)ctx;
  *value = 0.5;
  return n == 5 && memcmp(name, "alpha", 5) == 0;
}

static void templates(void **state) {
  wk_arena *a = *state;
  static const struct {
    const char *text, *names;
    wk_dtype in[3], out;
    const char *want;
  } rows[] = {
      {"x", "x", {WK_F16}, WK_F16, "%0"},
      {"max(x, 0)", "x", {WK_F16}, WK_F16, "f16(max(f32(%0), 0.0f32))"},
      {"div(1, add(1, exp(neg(x))))", "x", {WK_BF16}, WK_BF16,
       "bf16(div(1.0f32, add(1.0f32, exp(neg(f32(%0))))))"},
      {"mul(a, b)", "a b", {WK_F16, WK_F32}, WK_F16, "f16(mul(f32(%0), %1))"},
      {"lt(x, $alpha)", "x", {WK_F16}, WK_BOOL, "lt(f32(%0), 0.5f32)"},
      {"out(x)", "x", {WK_F16}, WK_I8, "i8(f32(%0))"},
      {"out(x)", "x", {WK_F64}, WK_F16, "f16(%0)"},
      {"max(x, 0)", "x", {WK_I32}, WK_I32, "max(%0, 0i32)"},
      {"div(1, add(1, exp(neg(x))))", "x", {WK_F32}, WK_F32,
       "div(1.0f32, add(1.0f32, exp(neg(%0))))"},
      {"select(lt(x, neg($alpha)), x, 0)", "x", {WK_F32}, WK_F32,
       "select(lt(%0, -0.5f32), %0, 0.0f32)"},
      {"ne($alpha, 0)", "x", {WK_F32}, WK_BOOL, "1bool"},
      {"out(x)", "x", {WK_F32}, WK_I8, "i8(%0)"},
      {"pow(a, out(b))", "a b", {WK_F32, WK_I64}, WK_F32, "pow(%0, f32(%1))"},
      {"min(max(x, -inf), inf)", "x", {WK_F32}, WK_F32, "%0"},
      {"min(max(x, -inf), inf)", "x", {WK_U8}, WK_U8, "%0"},
      {"select(c, a, b)", "c a? b*", {WK_BOOL, WK_I8, WK_I8}, WK_I8, "select(%0, %1, %2)"},
      {"f32(x)", "x", {WK_I32}, WK_F32, "f32(%0)"},
  };
  for (size_t k = 0; k < WK_COUNTOF(rows); k++) {
    wk_expr *e = NULL;
    must(wk_expr_template(a, rows[k].text, rows[k].names, rows[k].in, 3, rows[k].out, attr_half,
                          NULL, &e));
    assert_string_equal(text_of(a, e), rows[k].want);
  }
  wk_expr *e = NULL;
  wk_status s = wk_expr_template(a, "add(a, b)", "a b", mixed, 2, WK_F32, NULL, NULL, &e);
  assert_non_null(s);
  wk_status_free(s);
  s = wk_expr_template(a, "mul($beta, x)", "x", mixed, 1, WK_F32, attr_half, NULL, &e);
  assert_non_null(s);
  wk_status_free(s);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(printed_forms),     TEST(canonical_text),    TEST(names_avoid_types),
      TEST(half_casts),
      TEST(parse_errors),      TEST(parse_budgets),     TEST(random_text),
      TEST(damaged_text),      TEST(merging),           TEST(identities),
      TEST(inlining),          TEST(integer_semantics), TEST(float_semantics),
      TEST(conversions),       TEST(all_narrow_floats), TEST(blocks_match_elements),
      TEST(templates),         TEST(rounded_shifts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
