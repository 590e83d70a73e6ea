/* SPDX-License-Identifier: Apache-2.0
 * wk_requant_of: every requantisation that conversion makes is recognised, what is nearly one is
 * not, and what is said of an expression computes what the expression does. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/expr/quant.h"
#include "compiler/integer/integer.h"
#include "compiler/onnx/onnx.h"
#include "tests/random_integer.h"

enum { MAX_INPUTS = 16, MAX_NODES = 256 };

static void must(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

/* ---- what is said of an expression ----------------------------------------------------------- */

static int64_t clamp(int64_t v, const wk_requant_range *y) {
  v += y->zero;
  return v < y->lo ? y->lo : v > y->hi ? y->hi : v;
}

static int64_t number(const wk_requant_number *n, const wk_scalar *in) {
  return n->input == WK_REQUANT_NONE ? n->value : in[n->input].i;
}

static int64_t centred(const wk_requant_operand *o, const wk_scalar *in, int64_t first) {
  int64_t v = o->input == WK_REQUANT_NONE ? first : in[o->input].i;
  return (v - o->zero) * o->mult;
}

static int64_t shr_round(int64_t v, int64_t by) {
  wk_scalar a = {.i = v}, b = {.i = by};
  return wk_expr_apply(WK_EX_SHR_ROUND, WK_I64, WK_I64, a, b, b).i;
}

static int64_t first_stage(const wk_requant *r, const wk_scalar *in) {
  uint32_t sum = (uint32_t)in[0].i + (uint32_t)r->bias;
  if (r->kind == WK_REQUANT_VALUE) return 0;
  for (int k = 0; k < r->n_terms; k++)
    sum += (uint32_t)in[r->terms[k].input].i * (uint32_t)r->terms[k].factor;
  int64_t of = (int32_t)sum;
  if (r->kind == WK_REQUANT_PRODUCT)
    of = centred(&r->factors[0], in, 0) * centred(&r->factors[1], in, 0);
  wk_rescale scale = {number(&r->mult, in), (int)number(&r->shift, in)};
  return clamp(wk_rescale_apply(of, &scale), &r->y);
}

static int64_t apply(const wk_requant *r, const wk_scalar *in) {
  int64_t v = first_stage(r, in);
  if (!r->has_second) return v;
  int64_t b = r->b.dtype ? centred(&r->b, in, 0) : 0;
  return clamp(shr_round(centred(&r->a, in, v) + b, r->shift2), &r->y2);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static const char *text_of(const wk_expr *e) {
  static wk_str text;
  text.n = 0;
  wk_expr_print(&text, e);
  return text.s;
}

static int64_t any(wk_rng *g, wk_dtype t) {
  if (t == WK_I8) return wk_rng_range(g, -128, 127);
  if (t == WK_U8) return wk_rng_range(g, 0, 255);
  return (int32_t)wk_rng_next(g) >> wk_rng_range(g, 0, 31);
}

/* Numbers that the inputs may have: shifts stay shifts. */
static void draw(wk_rng *g, const wk_expr *e, const wk_requant *r, wk_scalar *in) {
  for (uint32_t k = 0; k < e->n; k++)
    if (e->nodes[k].op == WK_EX_INPUT) in[e->nodes[k].imm.i].i = any(g, e->nodes[k].dtype);
  if (r->kind == WK_REQUANT_VALUE) return;
  if (r->mult.input >= 0) in[r->mult.input].i = wk_rng_range(g, 0, (1 << 24) - 1);
  if (r->shift.input >= 0) in[r->shift.input].i = wk_rng_range(g, 1, 40);
}

static void compare(wk_rng *g, const wk_expr *e, const wk_requant *r, int times) {
  wk_scalar in[MAX_INPUTS], scratch[MAX_NODES], y;
  const wk_requant_range *end = r->has_second ? &r->y2 : &r->y;
  assert_true(wk_expr_inputs(e) <= MAX_INPUTS && e->n <= MAX_NODES);
  assert_int_equal(end->dtype, e->nodes[e->results[0]].dtype);
  for (int i = 0; i < times; i++) {
    draw(g, e, r, in);
    wk_expr_eval(e, in, NULL, scratch, &y);
    if (apply(r, in) != y.i)
      fail_msg("%s is %lld, not %lld", text_of(e), (long long)y.i, (long long)apply(r, in));
  }
}

static void expect(wk_rng *g, const wk_expr *e, int times) {
  wk_requant r;
  if (!wk_requant_of(e, &r)) fail_msg("not recognised: %s", text_of(e));
  compare(g, e, &r, times);
}

/* ---- forms and near misses ------------------------------------------------------------------- */

/* Inputs 0 and 1 i32, 2 and 3 i8, 4 and 5 u8, 6 and 7 i32, 8 i64, 9 u64, 10 u8. */
static const wk_dtype types[] = {WK_I32, WK_I32, WK_I8,  WK_I8,  WK_U8, WK_U8,
                                 WK_I32, WK_I32, WK_I64, WK_U64, WK_U8};

static const wk_expr *parse(wk_arena *a, const char *text) {
  wk_expr *e = NULL;
  must(wk_expr_parse(a, text, types, WK_COUNTOF(types), &e));
  return e;
}

#define FIRST "sat<i8>(add(rescale(%0, i64(%6), i64(%7)), 5i32))"

static void test_forms(void **state) {
  static const char *const forms[] = {
      "sat<i8>(rescale(%0, 11581003i64, 30i64))",
      "sat<u8>(add(rescale(add(%0, %1), i64(%6), i64(%7)), 128i32))",
      "max(min(sat<u8>(add(rescale(sub(%0, 777i32), i64(%6), i64(%7)), 3i32)), 200u8), 9u8)",
      "sat<i8>(rescale(add(sub(sub(%0, mul(%1, 7i32)), mul(%6, -3i32)), 99i32), %8, 20i64))",
      "sat<i8>(rescale(mul(sub(i32(%2), 3i32), i32(%4)), 11581003i64, 15i64))",
      "sat<u8>(add(shr_round(add(mul(sub(i32(%4), 128i32), 2097152i32), mul(sub(i32(%2), 1i32), "
      "1048576i32)), 22i32), 7i32))",
      "sat<i8>(shr_round(sub(mul(i32(%2), 4000000i32), mul(i32(%3), 99i32)), 22i32))",
      "sat<i8>(shr_round(mul(sub(i32(%2), -7i32), 4000000i32), 22i32))",
      "min(sat<u8>(add(sub(i32(%2), -7i32), 100i32)), 130u8)",
      "sat<u8>(i32(%2))",
      "sat<i8>(add(shr_round(add(mul(sub(i32(" FIRST "), 5i32), 3000000i32), mul(sub(i32(%4), "
      "128i32), 2097152i32)), 22i32), -9i32))",
      "sat<i8>(shr_round(sub(mul(sub(i32(%4), 128i32), 2097152i32), mul(sub(i32(" FIRST
      "), 5i32), 3000000i32)), 22i32))",
      "sat<u8>(add(shr_round(mul(sub(i32(" FIRST "), 5i32), 3000000i32), 21i32), 128i32))",
      "a = sub(i32(" FIRST "), 5i32); sat<i8>(shr_round(add(mul(a, 99i32), mul(a, 1i32)), 7i32))",
      "sat<i8>(shr_round(add(i32(sat<u8>(rescale(mul(i32(%2), i32(%3)), 99i64, 1i64))), "
      "mul(i32(%5), 3i32)), 1i32))",
      /* as far as each number goes; the nearest beyond are among the near misses */
      "sat<i8>(shr_round(mul(i32(%2), 16777215i32), 22i32))",
      "sat<i8>(shr_round(mul(i32(%2), -16777215i32), 22i32))",
      "sat<i8>(shr_round(mul(i32(%4), 8421504i32), 22i32))",
      "sat<i8>(shr_round(add(mul(i32(%2), 16777215i32), mul(i32(%4), 0i32)), 22i32))",
      "sat<i8>(shr_round(add(mul(i32(%2), 8388607i32), mul(i32(%3), 8388608i32)), 22i32))",
      "sat<i8>(shr_round(sub(i32(%2), 32767i32), 8i32))",
      "sat<i8>(shr_round(sub(i32(%2), -32768i32), 8i32))",
      "sat<i8>(add(rescale(%0, 11581003i64, 20i64), 32767i32))",
      "sat<i8>(add(rescale(%0, 11581003i64, 20i64), -32768i32))",
      "sat<i8>(shr_round(mul(i32(%2), 16777215i32), 31i32))",
      "sat<i8>(shr_round(mul(i32(%2), 3i32), 0i32))",
      "sat<i8>(rescale(mul(sub(i32(%2), 32767i32), sub(i32(%4), -32768i32)), 11581003i64, 30i64))",
      "sat<i8>(rescale(add(%0, add(%1, 3i32)), i64(%10), 20i64))",
      "sat<i8>(rescale(add(add(1i32, sub(2i32, %1)), sub(%0, add(3i32, 4i32))), 99i64, 1i64))",
      "sat<i8>(rescale(sub(%0, sub(5i32, mul(%1, 3i32))), 99i64, 1i64))",
      "f = " FIRST "; sat<i8>(shr_round(sub(mul(sub(i32(f), 5i32), 99i32), mul(sub(i32(f), 5i32), "
      "98i32)), 1i32))",
  };
  (void)state;
  wk_rng g = {3};
  wk_arena *a = wk_arena_new();
  for (size_t k = 0; k < WK_COUNTOF(forms); k++) expect(&g, parse(a, forms[k]), 5000);
  wk_arena_free(a);
}

static void test_near_misses(void **state) {
  static const char *const others[] = {
      "%0",
      "rescale(%0, 11581003i64, 30i64)",                         /* not 8 bits */
      "sat<i16>(rescale(%0, 11581003i64, 30i64))",               /* nor these */
      "i8(rescale(%0, 11581003i64, 30i64))",                     /* wraps */
      "sat<i8>(%0)",                                             /* no scale */
      "sat<i8>(rescale(%1, 11581003i64, 30i64))",                /* another operand */
      "sat<i8>(rescale(sub(%1, %0), 11581003i64, 30i64))",       /* -%0 */
      "sat<i8>(rescale(add(%0, mul(%0, 3i32)), 99i64, 30i64))",  /* 4 * %0 */
      "sat<i8>(rescale(mul(%0, %1), 99i64, 30i64))",             /* a product of sums */
      "sat<i8>(rescale(i64(%0), 99i64, 30i64))",                 /* not an i32 */
      "sat<i8>(rescale(i32(%2), 99i64, 30i64))",                 /* no sum */
      "sat<i8>(rescale(%0, mul(%8, 2i64), 30i64))",              /* a computed multiplier */
      "sat<i8>(rescale(%0, %8, add(%8, 2i64)))",                 /* a computed shift */
      "sat<i8>(shr_round(%0, 16i32))",                           /* an operation less */
      "sat<i8>(shr(add(mul(i32(%2), 99i32), 8i32), 4i32))",      /* another rounding */
      "sat<i8>(shr_round(mul(i32(%2), 99i32), %0))",             /* a shift that varies */
      "sat<i8>(shr_round(mul(i32(%2), %0), 4i32))",              /* a factor that varies */
      "sat<i8>(shr_round(mul(i32(%2), 99i32), 32i32))",          /* a shift of all bits */
      "sat<i8>(add(rescale(%0, 99i64, 30i64), %1))",             /* no zero point */
      "sat<i8>(add(rescale(%0, 99i64, 30i64), 32768i32))",       /* one of 17 bits */
      "neg(sat<i8>(rescale(%0, 99i64, 30i64)))",                 /* more behind it */
      "max(sat<i8>(rescale(%0, 99i64, 30i64)), %2)",             /* a limit that varies */
      "sat<i8>(rescale(%0, 99i64, 30i64)), %2",                  /* two results */
      "sat<i8>(shr_round(mul(i32(%2), 99999999i32), 22i32))",    /* wraps */
      "sat<i8>(shr_round(add(mul(i32(%2), 9999999i32), mul(i32(%3), 9999999i32)), 22i32))",
      "sat<i8>(shr_round(add(add(i32(%2), i32(%3)), i32(%4)), 2i32))", /* three operands */
      "sat<i8>(shr_round(add(i32(%2), %0), 2i32))",              /* an operand of 32 bits */
      "sat<i8>(rescale(i32(" FIRST "), 99i64, 4i64))",           /* rescaled twice */
      "sat<i8>(shr_round(i32(sat<i8>(shr_round(i32(" FIRST "), 1i32))), 1i32))", /* three stages */
      "sat<i8>(shr_round(add(i32(" FIRST "), i32(sat<i8>(rescale(%0, 99i64, 30i64)))), 1i32))",
      /* one beyond what a form above has */
      "sat<i8>(shr_round(mul(i32(%2), 16777216i32), 22i32))",
      "sat<i8>(shr_round(mul(i32(%2), -16777216i32), 22i32))",
      "sat<i8>(shr_round(mul(i32(%4), 8421505i32), 22i32))",
      "sat<i8>(shr_round(add(mul(i32(%2), 16777215i32), i32(%3)), 22i32))",
      "sat<i8>(shr_round(add(mul(i32(%2), 8388608i32), mul(i32(%3), 8388608i32)), 22i32))",
      "sat<i8>(shr_round(sub(i32(%2), 32768i32), 8i32))",
      "sat<i8>(shr_round(sub(i32(%2), -32769i32), 8i32))",
      "sat<i8>(add(rescale(%0, 99i64, 30i64), -32769i32))",
      "sat<i8>(shr_round(mul(i32(%2), 99i32), -1i32))",
      "sat<i8>(rescale(mul(sub(i32(%2), 32768i32), i32(%4)), 99i64, 30i64))",
      "sat<i8>(rescale(mul(i32(%2), sub(i32(%4), -32769i32)), 99i64, 30i64))",
      "sat<i8>(rescale(mul(i32(%2), %0), 99i64, 30i64))",
      "sat<i8>(rescale(mul(i32(sat<i8>(%0)), i32(%2)), 99i64, 30i64))",
      "sat<i8>(rescale(%0, i64(%9), 30i64))",                    /* a multiplier of 64 bits */
      "f = " FIRST "; sat<i8>(shr_round(add(mul(sub(i32(f), 5i32), 99i32), sub(i32(f), 4i32)), "
      "7i32))",                                                  /* two zero points of one result */
      "f = " FIRST "; sat<i8>(shr_round(mul(sub(i32(f), 5i32), i32(%2)), 7i32))",
      "sat<i8>(shr_round(add(mul(sub(i32(%2), 1i32), 3i32), 5i32), 1i32))", /* a sum that is none */
      "sat<i8>(shr_round(sub(i32(%2), i32(i16(%3))), 1i32))",
  };
  (void)state;
  wk_arena *a = wk_arena_new();
  for (size_t k = 0; k < WK_COUNTOF(others); k++) {
    wk_requant r;
    if (wk_requant_of(parse(a, others[k]), &r)) fail_msg("recognised: %s", others[k]);
  }
  wk_arena_free(a);
}

/* Sums of so many tensors in a row, and not one more; as deep as they may be. */
static void test_terms(void **state) {
  (void)state;
  wk_rng g = {7};
  for (int n = 1; n <= 12; n++) {
    wk_arena *a = wk_arena_new();
    for (int way = 0; way < 2; way++) { /* added to the sum, or to one after the other */
      wk_str b = {0};
      wk_requant r;
      wk_str_add(&b, "sat<i8>(rescale(");
      for (int k = 0; k < n; k++) wk_str_add(&b, way ? "add(1i32, " : "add(");
      wk_str_add(&b, "%0");
      for (int k = 0; k < n; k++) wk_str_add(&b, way ? ")" : ", mul(%1, 3i32))");
      wk_str_add(&b, ", 99i64, 1i64))");
      const wk_expr *e = parse(a, b.s);
      bool is_one = wk_requant_of(e, &r), want = n <= (way ? 8 : WK_REQUANT_TERMS);
      if (is_one != want) fail_msg("%s: %d", b.s, is_one);
      if (is_one) compare(&g, e, &r, 1000);
      wk_str_free(&b);
    }
    wk_arena_free(a);
  }
}

/* Limits in any order, beyond the type's and against each other. */
static void test_limits(void **state) {
  (void)state;
  wk_rng g = {4};
  for (int i = 0; i < 3000; i++) {
    wk_arena *a = wk_arena_new();
    wk_expr_builder *b = wk_expr_begin(a);
    wk_dtype t = wk_rng_range(&g, 0, 1) ? WK_I8 : WK_U8;
    uint16_t v = wk_expr_rescale(b, wk_expr_input(b, 0, WK_I32), wk_expr_i(b, WK_I64, 1 << 23),
                                 wk_expr_i(b, WK_I64, wk_rng_range(&g, 8, 20)));
    v = wk_expr_requantized(b, v, wk_rng_range(&g, -300, 300), t, any(&g, t), any(&g, t));
    for (int64_t n = wk_rng_range(&g, 0, 3); n; n--)
      v = wk_expr_2(b, wk_rng_range(&g, 0, 1) ? WK_EX_MAX : WK_EX_MIN, v,
                    wk_expr_i(b, t, any(&g, t)));
    const wk_expr *e = wk_expr_finish(b, &v, 1);
    if (wk_expr_inputs(e)) expect(&g, e, 60);
    wk_arena_free(a);
  }
}

/* ---- networks -------------------------------------------------------------------------------- */

/* The last expression of a node, what its result is made of. */
static const wk_expr *last_of(const wk_node *n) {
  switch (n->op) {
    case WK_OP_CONV: return WK_ATTR(n, conv)->epilogue;
    case WK_OP_CONV_TRANSPOSE: return WK_ATTR(n, conv_transpose)->epilogue;
    case WK_OP_MATMUL: return WK_ATTR(n, matmul)->epilogue;
    case WK_OP_INTEGER_MATMUL: return WK_ATTR(n, integer_matmul)->epilogue;
    case WK_OP_REDUCE: return WK_ATTR(n, reduce)->post;
    case WK_OP_MAP: return WK_ATTR(n, map)->body;
    default: return NULL;
  }
}

/* All of 8 bits are recognised; how many there were. */
static int expect_all(wk_rng *g, const wk_module *m) {
  int count = 0;
  for (size_t k = 0; k < m->graphs.n; k++)
    for (size_t i = 0; i < m->graphs.data[k]->nodes.n; i++) {
      const wk_node *n = &m->graphs.data[k]->nodes.data[i];
      const wk_expr *e = last_of(n);
      if (!e || wk_expr_is_identity(e)) continue;
      wk_dtype t = wk_val(m->graphs.data[k], n->out[0])->type.dtype;
      if (t != WK_I8 && t != WK_U8) continue;
      expect(g, e, 300);
      count++;
    }
  return count;
}

static void test_nets(void **state) {
  wk_rng g = {5};
  int nets = 0;
  (void)state;
  DIR *d = opendir(WICK_TEST_NETS);
  assert_non_null(d);
  for (struct dirent *f; (f = readdir(d));) {
    if (f->d_name[0] == '.') continue;
    char path[512];
    snprintf(path, sizeof path, WICK_TEST_NETS "/%s/model.onnx", f->d_name);
    wk_import_report report = {0};
    wk_module *m;
    int64_t changes;
    must(wk_import_onnx(path, &(wk_import_options){0}, &report, &m));
    must(wk_integer_convert(m, &changes));
    int count = expect_all(&g, m);
    if (!count && !strstr(f->d_name, "dynamic")) fail_msg("%s: nothing requantises", f->d_name);
    nets++;
    wk_module_free(m);
    wk_import_report_free(&report);
  }
  closedir(d);
  assert_true(nets >= 8);
}

static void test_random(void **state) {
  wk_rng g = {6};
  int count = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    wk_module *m = random_integer_graph(seed, 6);
    int64_t changes;
    must(wk_integer_convert(m, &changes));
    count += expect_all(&g, m);
    wk_module_free(m);
  }
  assert_true(count > 300);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forms),  cmocka_unit_test(test_near_misses),
      cmocka_unit_test(test_limits), cmocka_unit_test(test_nets),
      cmocka_unit_test(test_random), cmocka_unit_test(test_terms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
