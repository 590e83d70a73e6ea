/* SPDX-License-Identifier: Apache-2.0
 * Expressions printed as C, compiled by the C compiler, against the evaluator. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/cgen/expr_c.h"
#include "tests/random_expr.h"
#include "tests/unit/compiled.h"

typedef void (*compiled)(const void *const *in, int64_t index, void *const *out);

/* ---- a file of functions --------------------------------------------------------------------- */

static void add_function(wk_str *b, size_t number, const wk_expr *e) {
  char text[RANDOM_EXPR_INPUTS][64];
  const char *inputs[RANDOM_EXPR_INPUTS], *const index[] = {NULL, "index"};
  for (int k = 0; k < RANDOM_EXPR_INPUTS; k++) {
    snprintf(text[k], sizeof text[k], "*(const %s *)in[%d]",
             wk_expr_c_type(random_expr_inputs[k]), k);
    inputs[k] = text[k];
  }
  wk_str_printf(b, "void f%zu(const void *const *in, wk_i64 index, void *const *out) {\n"
                   "  (void)in, (void)index;\n", number);
  wk_expr_c_print(b, e, &(wk_expr_c){.name = "y", .indent = "  ", .inputs = inputs,
                                     .index = index});
  for (uint32_t r = 0; r < e->n_results; r++)
    wk_str_printf(b, "  *(%s *)out[%u] = y%u;\n",
                  wk_expr_c_type(e->nodes[e->results[r]].dtype), r, r);
  wk_str_add(b, "}\n");
}

static compiled function_of(void *library, size_t number) {
  return (compiled)(uintptr_t)compiled_symbol(library, 'f', number);
}

/* ---- random numbers -------------------------------------------------------------------------- */

/* Halfway between two narrow floats and a little more: a wider float would hide the little. */
static void draw_near_tie(wk_rng *r, wk_dtype t, void *out) {
  int64_t half = wk_rng_range(r, 0, 1) ? 257 : 2049, m = half + 2 * wk_rng_range(r, 0, 127);
  int64_t room = 8 * wk_dtype_size(t) - 14, more = wk_rng_range(r, 0, 1);
  if (wk_dtype_is_float(t))
    wk_store_f64(out, t, 0, (double)m * exp2((double)wk_rng_range(r, -20, 4)) * (1 + 0x1p-40));
  else if (room > 0)
    wk_store_i64(out, t, 0, (m << wk_rng_range(r, room / 2, room)) + more);
}

/* Every bit pattern, and often one that limits and ties are made of. */
static void draw_value(wk_rng *r, wk_dtype t, void *out) {
  static const double odd[] = {0, -0.0, 0.5, -0.5, 1, -1, 1.5, 2.5, 255, 256, -128, 127.5, 65504,
                               65520, 2147483647, -2147483648.0, 4294967296.0, 0x1p63, -0x1p63,
                               0x1p64, 0x1p-24, 0x1p-149, 1e300, INFINITY, -INFINITY, NAN};
  uint64_t bits = wk_rng_next(r);
  int64_t how = wk_rng_range(r, 0, 4);
  memcpy(out, &bits, (size_t)wk_dtype_size(t));
  if (how == 1) wk_store_f64(out, t, 0, odd[wk_rng_range(r, 0, (int64_t)WK_COUNTOF(odd) - 1)]);
  else if (how == 2) draw_near_tie(r, t, out);
  else if (how > 2) wk_store_f64(out, t, 0, (wk_rng_unit(r) - 0.5) * 64);
  if (t == WK_BOOL) *(uint8_t *)out &= 1;
}

typedef struct {
  uint64_t memory[RANDOM_EXPR_INPUTS];
  const void *in[RANDOM_EXPR_INPUTS];
  wk_scalar values[RANDOM_EXPR_INPUTS];
  int64_t index[WK_MAX_RANK];
} arguments;

static void draw_arguments(wk_rng *r, arguments *x) {
  for (int k = 0; k < RANDOM_EXPR_INPUTS; k++) {
    draw_value(r, random_expr_inputs[k], &x->memory[k]);
    x->in[k] = &x->memory[k];
    x->values[k] = wk_scalar_load(&x->memory[k], random_expr_inputs[k]);
  }
  x->index[1] = wk_rng_range(r, 0, 1000);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bool is_close(double got, double want, double ulps, wk_dtype t) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (got == want) return true;
  double unit = t == WK_F64 ? 0x1p-52 : t == WK_F32 ? 0x1p-23 : t == WK_F16 ? 0x1p-10 : 0x1p-7;
  double least = t == WK_F64 ? 0x1p-1022 : t == WK_F16 ? 0x1p-14 : 0x1p-126;
  return fabs(got - want) <= ulps * unit * fmax(fabs(want), least);
}

/* ulps 0: bit for bit, but for NaNs. */
static void compare(const wk_expr *e, compiled f, const arguments *x, double ulps) {
  wk_scalar *scratch = wk_xmalloc((e->n + 1) * sizeof *scratch), want[RANDOM_EXPR_RESULTS];
  uint64_t got[RANDOM_EXPR_RESULTS] = {0}, bits = 0;
  void *out[RANDOM_EXPR_RESULTS] = {&got[0], &got[1], &got[2]};
  f(x->in, x->index[1], out);
  wk_expr_eval(e, x->values, x->index, scratch, want);
  for (uint32_t k = 0; k < e->n_results; k++) {
    wk_dtype t = e->nodes[e->results[k]].dtype;
    wk_scalar y = wk_scalar_load(&got[k], t);
    wk_scalar_store(&bits, t, want[k]);
    bool is_real = wk_dtype_is_float(t);
    bool same = !memcmp(&bits, &got[k], (size_t)wk_dtype_size(t)) ||
                (is_real && isnan(y.f) && isnan(want[k].f)) ||
                (is_real && ulps > 0 && is_close(y.f, want[k].f, ulps, t));
    if (same) continue;
    wk_str b = {0};
    wk_expr_print(&b, e);
    for (int i = 0; i < RANDOM_EXPR_INPUTS; i++)
      wk_str_printf(&b, "\n  %%%d: %s 0x%llx %g", i, wk_dtype_name(random_expr_inputs[i]),
                    (unsigned long long)x->memory[i],
                    wk_load_f64(&x->memory[i], random_expr_inputs[i], 0));
    fail_msg("result %u: %llx, not %llx: %s", k, (unsigned long long)got[k],
             (unsigned long long)bits, b.s);
  }
  free(scratch);
}

static void compare_all(wk_arena *a, wk_expr *const *e, size_t n, int rounds, double ulps) {
  wk_str source = {0};
  wk_rng r = {11};
  arguments x = {0};
  wk_expr_c_prelude(&source);
  for (size_t i = 0; i < n; i++) add_function(&source, i, e[i]);
  void *library = compiled_load(&source, a);
  for (size_t i = 0; i < n; i++) {
    compiled f = function_of(library, i);
    for (int round = 0; round < rounds; round++) {
      draw_arguments(&r, &x);
      compare(e[i], f, &x, ulps);
    }
  }
  dlclose(library);
  wk_str_free(&source);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Any operations but those of a library of functions, one after the other. */
static void random_expressions(void **state) {
  enum { N = 400 };
  wk_arena *a = wk_arena_new();
  wk_expr *e[N];
  wk_rng r = {5};
  (void)state;
  for (int i = 0; i < N; i++) e[i] = random_expr(a, &r, (int)wk_rng_range(&r, 1, 30), true);
  compare_all(a, e, N, 100, 0);
  wk_arena_free(a);
}

static int input_of(wk_dtype t) {
  for (int k = 0; k < RANDOM_EXPR_INPUTS; k++)
    if (random_expr_inputs[k] == t) return k;
  return -1;
}

/* Each operation alone, on each type that the inputs have: exact or close to it. */
static void each_operation(void **state) {
  wk_arena *a = wk_arena_new();
  WK_VEC(wk_expr *) exact = {0}, close = {0};
  (void)state;
  for (int op = WK_EX_NEG; op <= WK_EX_RESCALE; op++)
    for (wk_dtype t = WK_F32; t <= WK_BOOL; t++) {
      wk_dtype args[] = {t, t, t};
      char why[64];
      int k = input_of(t);
      if (op == WK_EX_SELECT) args[0] = WK_BOOL;
      if (op == WK_EX_RESCALE) args[1] = args[2] = WK_I64;
      if (k < 0 || wk_expr_refusal((wk_expr_op)op, args, why)) continue;
      wk_expr_builder *b = wk_expr_begin(a);
      uint16_t x = wk_expr_input(b, input_of(args[0]), args[0]);
      uint16_t arg[3] = {x, x, x};
      for (int j = 1; j < wk_expr_op_arity((wk_expr_op)op); j++) {
        uint16_t other = wk_expr_input(b, input_of(j == 1 ? WK_I8 : WK_F32),
                                       j == 1 ? WK_I8 : WK_F32);
        arg[j] = wk_expr_cast(b, args[j], other);
      }
      uint16_t y = wk_expr_op_arity((wk_expr_op)op) == 1 ? wk_expr_1(b, (wk_expr_op)op, x)
                   : wk_expr_op_arity((wk_expr_op)op) == 2
                       ? wk_expr_2(b, (wk_expr_op)op, x, arg[1])
                       : wk_expr_3(b, (wk_expr_op)op, x, arg[1], arg[2]);
      wk_expr *e = wk_expr_finish(b, &y, 1);
      if (wk_dtype_is_float(t) && !random_expr_is_exact((wk_expr_op)op)) wk_vec_push(&close, e);
      else wk_vec_push(&exact, e);
    }
  assert_true(exact.n > 150 && close.n > 25);
  compare_all(a, exact.data, exact.n, 500, 0);
  compare_all(a, close.data, close.n, 500, 4);
  wk_vec_free(&exact);
  wk_vec_free(&close);
  wk_arena_free(a);
}

/* Every conversion and every saturation. */
static void conversions(void **state) {
  wk_arena *a = wk_arena_new();
  WK_VEC(wk_expr *) all = {0};
  (void)state;
  for (int k = 0; k < RANDOM_EXPR_INPUTS; k++)
    for (int to = WK_F32; to <= WK_BOOL; to++)
      for (int saturates = 0; saturates < 2; saturates++) {
        if (saturates && !(wk_dtype_is_int(random_expr_inputs[k]) && wk_dtype_is_int(to))) continue;
        wk_expr_builder *b = wk_expr_begin(a);
        uint16_t x = wk_expr_input(b, k, random_expr_inputs[k]);
        uint16_t y = saturates ? wk_expr_sat(b, (wk_dtype)to, x)
                               : wk_expr_cast(b, (wk_dtype)to, x);
        wk_vec_push(&all, wk_expr_finish(b, &y, 1));
      }
  compare_all(a, all.data, all.n, 2000, 0);
  wk_vec_free(&all);
  wk_arena_free(a);
}

/* The same bits as every other type of that many (those of halves may be NaNs, of which there is
 * but one here), and numbers that C has no literal of. */
static void bits_and_constants(void **state) {
  static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.1, 1e300};
  wk_arena *a = wk_arena_new();
  WK_VEC(wk_expr *) all = {0};
  (void)state;
  for (int k = 0; k < RANDOM_EXPR_INPUTS; k++)
    for (int to = WK_F32; to <= WK_BOOL; to++) {
      wk_dtype from = random_expr_inputs[k];
      bool is_half = from == WK_F16 || from == WK_BF16;
      if (wk_dtype_bits((wk_dtype)to) != wk_dtype_bits(from) || to == WK_BOOL || is_half) continue;
      wk_expr_builder *b = wk_expr_begin(a);
      uint16_t y = wk_expr_bits(b, (wk_dtype)to, wk_expr_input(b, k, from));
      wk_vec_push(&all, wk_expr_finish(b, &y, 1));
    }
  assert_true(all.n > 12);
  for (size_t i = 0; i < WK_COUNTOF(odd); i++)
    for (int k = 0; k < 2; k++) {
      wk_expr_builder *b = wk_expr_begin(a);
      wk_dtype t = k ? WK_F64 : WK_F32;
      uint16_t x = wk_expr_input(b, input_of(t), t);
      uint16_t y = wk_expr_2(b, WK_EX_MIN, x, wk_expr_f(b, t, odd[i]));
      wk_vec_push(&all, wk_expr_finish(b, &y, 1));
    }
  compare_all(a, all.data, all.n, 500, 0);
  wk_vec_free(&all);
  wk_arena_free(a);
}

/* What saturates looks below a range where the number may lie there, and above it likewise; one
 * that fits in any case is not looked at. */
static void saturations_look_where_they_must(void **state) {
  static const struct {
    wk_dtype t;
    int bits;
    bool is_signed;
  } types[] = {{WK_I8, 8, true},   {WK_U8, 8, false},   {WK_I16, 16, true}, {WK_U16, 16, false},
               {WK_I32, 32, true}, {WK_U32, 32, false}, {WK_I64, 64, true}, {WK_U64, 64, false}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(types); i++)
    for (size_t k = 0; k < WK_COUNTOF(types); k++) {
      wk_arena *a = wk_arena_new();
      wk_expr_builder *b = wk_expr_begin(a);
      uint16_t y = wk_expr_sat(b, types[k].t, wk_expr_input(b, 0, types[i].t));
      const char *inputs[] = {"x"};
      wk_str text = {0};
      wk_expr_c_print(&text, wk_expr_finish(b, &y, 1),
                      &(wk_expr_c){.name = "y", .indent = "", .inputs = inputs});
      int above = types[i].bits - types[i].is_signed > types[k].bits - types[k].is_signed;
      int below = types[i].is_signed && (!types[k].is_signed || types[i].bits > types[k].bits);
      int less = 0, more = 0;
      for (const char *s = text.s; *s; s++) less += *s == '<', more += *s == '>';
      if (less != below || more != above)
        fail_msg("%s to %s: %s", wk_dtype_name(types[i].t), wk_dtype_name(types[k].t), text.s);
      wk_str_free(&text);
      wk_arena_free(a);
    }
}

/* OpenCL C takes the same text. */
static void opencl(void **state) {
  wk_arena *a = wk_arena_new();
  wk_str b = {0};
  wk_rng r = {17};
  (void)state;
  wk_expr_c_prelude(&b);
  for (size_t i = 0; i < 100; i++) {
    const char *const text[] = {"in0[at]", "in1[at]", "in2[at]", "in3[at]", "in4[at]", "in5[at]",
                                "in6[at]", "in7[at]", "in8[at]", "in9[at]", "in10[at]"};
    const char *const index[] = {NULL, "at"};
    wk_expr *e = random_expr(a, &r, 30, false);
    wk_str_printf(&b, "kernel void f%zu(", i);
    for (int k = 0; k < RANDOM_EXPR_INPUTS; k++)
      wk_str_printf(&b, "global const %s *in%d, ", wk_expr_c_type(random_expr_inputs[k]), k);
    wk_dtype t = e->nodes[e->results[0]].dtype;
    wk_str_printf(&b, "global %s *out) {\n  size_t at = get_global_id(0);\n", wk_expr_c_type(t));
    wk_expr_c_print(&b, e, &(wk_expr_c){.name = "y", .indent = "  ", .inputs = text,
                                        .index = index});
    wk_str_add(&b, "  out[at] = y0;\n}\n");
  }
  compiled_opencl(&b, "");
  wk_str_free(&b);
  wk_arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_expressions), cmocka_unit_test(each_operation),
      cmocka_unit_test(conversions), cmocka_unit_test(bits_and_constants),
      cmocka_unit_test(saturations_look_where_they_must),
      cmocka_unit_test(opencl)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
