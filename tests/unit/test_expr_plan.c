/* SPDX-License-Identifier: Apache-2.0
 * How nodes of integer expressions are computed, by what is known of their inputs: on both sides of
 * each limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "targets/cpu/expr/expr_plan.h"

enum { MOST_INPUTS = 3, MOST_SETS = 2, MOST_NODES = 24 };

/* What is known of the inputs, in one case or two. */
typedef struct {
  int64_t lo, hi;
} range;

typedef struct {
  const char *types, *text; /* types: a letter each, b i8, i i32, l i64, u u32, U u64, f f32 */
  range known[MOST_SETS][MOST_INPUTS];
  int sets;         /* 0: nothing is known */
  const char *want; /* of each node but inputs and literals, in their order */
} plan_case;

#define MAX31 INT64_C(0x7fffffff)
#define MIN31 (-MAX31 - 1)

static wk_dtype type_of(char letter) {
  switch (letter) {
    case 'b': return WK_I8;
    case 'i': return WK_I32;
    case 'u': return WK_U32;
    case 'U': return WK_U64;
    case 'f': return WK_F32;
    default: return WK_I64;
  }
}

static wk_fact fact_of(range r) {
  return r.lo == r.hi ? wk_fact_value(r.lo) : wk_fact_range(r.lo, r.hi);
}

static void describe(wk_str *b, const wk_how *how, bool is_rescale) {
  static const char *const names[] = {"narrow", "up",   "even",  "high_up",
                                      "high_even", "once", "twice", "quick"};
  const char *comma = ":";
  for (size_t k = 0; k < WK_COUNTOF(names); k++)
    if (how->how >> k & 1) wk_str_printf(b, "%s%s", comma, names[k]), comma = ",";
  if (how->how & (WK_HOW_ONCE | WK_HOW_TWICE))
    wk_str_printf(b, " %d by %d", how->first, how->by);
  if (how->how & (WK_HOW_HIGH_UP | WK_HOW_HIGH_EVEN | WK_HOW_ONCE))
    wk_str_printf(b, " of %d", how->product);
  if (how->how & WK_HOW_QUICK) wk_str_printf(b, " of %d zero %d", how->product, how->zero);
  for (int k = 0; k < WK_RESCALE_STEPS && is_rescale && !how->how; k++)
    wk_str_printf(b, "%s%x", k ? "" : " ", how->steps[k]);
}

static wk_str planned(const plan_case *c) {
  wk_dtype types[MOST_INPUTS];
  wk_fact known[MOST_SETS * MOST_INPUTS];
  wk_how how[MOST_NODES], quick[MOST_NODES];
  wk_arena *a = wk_arena_new();
  wk_expr *x;
  wk_str text = {0};
  int n = (int)strlen(c->types);
  for (int k = 0; k < n; k++) types[k] = type_of(c->types[k]);
  for (int s = 0; s < c->sets; s++)
    for (int k = 0; k < n; k++) known[s * n + k] = fact_of(c->known[s][k]);
  wk_status s = wk_expr_parse(a, c->text, types, n, &x);
  if (s) fail_msg("%s: %s", c->text, s->message);
  assert_true(x->n <= MOST_NODES);
  const wk_facts facts = {n, c->sets, known};
  bool has_quick = false, is_quick = wk_expr_plan(x, c->sets ? &facts : NULL, how, quick);
  assert_false(wk_expr_plan(x, c->sets ? &facts : NULL, how, NULL));
  for (uint32_t k = 0; k < x->n; k++) {
    const wk_expr_node *node = &x->nodes[k];
    if (node->op == WK_EX_INPUT || node->op == WK_EX_CONST) continue;
    wk_str_printf(&text, "%s%s", text.n ? " " : "", wk_expr_op_name(node->op));
    describe(&text, &how[k], node->op == WK_EX_RESCALE);
    if (!(quick[k].how & WK_HOW_QUICK)) continue;
    describe(&text, &quick[k], false);
    has_quick = true;
  }
  assert_int_equal(is_quick, has_quick);
  wk_arena_free(a);
  return text;
}

static void check_all(const plan_case *cases, size_t n) {
  int bad = 0;
  for (size_t i = 0; i < n; i++) {
    wk_str got = planned(&cases[i]);
    if (strcmp(got.s, cases[i].want) && ++bad)
      print_message("case %zu, %s\nit was \"%s\"\nit is  \"%s\"\n", i, cases[i].text, cases[i].want,
                    got.s);
    wk_str_free(&got);
  }
  assert_int_equal(bad, 0);
}

/* ---- what fits 32 bits ----------------------------------------------------------------------- */

#define FITS "cast:narrow cast:narrow "
#define TWO(text, a, b, c, d, want) {"ll", text, {{{a, b}, {c, d}}}, 1, want}
#define SUM(text, n, a, b, c, d, lo, hi, want) \
  {"iil", "add(" text ", %2)", {{{a, b}, {c, d}, {lo, hi}}}, n, want}
#define YES(ops) ops "add:narrow"
#define NO(ops) ops "add"

static void words(void **state) {
  static const plan_case cases[] = {
      TWO("add(%0, %1)", 0, MAX31 - 1, 0, 1, "add:narrow"),
      TWO("add(%0, %1)", 0, MAX31 - 1, 0, 2, "add"),
      TWO("add(%0, %1)", MIN31 + 1, 0, -1, 0, "add:narrow"),
      TWO("add(%0, %1)", MIN31 + 1, 0, -2, 0, "add"),
      TWO("sub(%0, %1)", 0, MAX31 - 1, -1, 0, "sub:narrow"),
      TWO("sub(%0, %1)", 0, MAX31 - 1, -2, 0, "sub"),
      TWO("sub(%0, %1)", MIN31 + 1, 0, 0, 1, "sub:narrow"),
      TWO("sub(%0, %1)", MIN31 + 1, 0, 0, 2, "sub"),
      TWO("mul(%0, %1)", -46340, 46340, -46340, 46340, "mul:narrow"),
      TWO("mul(%0, %1)", -46340, 46340, -46341, 46341, "mul:narrow"),
      TWO("mul(%0, %1)", -46341, 46340, -46341, 46340, "mul"),
      TWO("mul(%0, %1)", -65536, -1, 1, 32768, "mul:narrow"),
      TWO("mul(%0, %1)", 1, 65536, 1, 32768, "mul"),
      TWO("mul(%0, %1)", -65536, -1, -32768, -1, "mul"),
      TWO("add(%0, %1)", MIN31 - 1, 0, 1, 1, "add"),
      TWO("add(%0, %1)", INT64_MIN, 0, -1, 0, "add"),
      TWO("sub(%0, %1)", INT64_MIN, 0, 0, 1, "sub"),
      TWO("mul(%0, %1)", INT64_MIN, 0, -1, 1, "mul"),
      {"ii", "add(i64(%0), i64(%1))", {{{0}}}, 0, FITS "add"},
      {"bb", "add(i64(%0), i64(%1))", {{{0}}}, 0, FITS "add:narrow"},
      {"ii", "add(i64(%0), i64(%1))", {{{0, MAX31}, {0, 0}}, {{0, 0}, {0, MAX31}}}, 2,
       FITS "add:narrow"},
      {"ii", "add(i64(%0), i64(%1))", {{{0, MAX31}, {0, 0}}, {{0, 1}, {0, MAX31}}}, 2, FITS
       "add"},
      /* either way; by less than the width */
      TWO("select(lt(%0, %1), %0, %1)", 0, MAX31, MIN31, 5, "lt select:narrow"),
      TWO("select(lt(%0, %1), %0, %1)", 0, MAX31 + 1, MIN31, 5, "lt select"),
      TWO("select(lt(%0, %1), shl(%0, 1i64), %1)", 0, 9, 0, 5, "lt shl select"),
      TWO("select(lt(%0, %1), %0, shl(%1, 1i64))", 0, 9, 0, 5, "lt shl select"),
      TWO("shr(%0, %1)", -100, 100, 0, 31, "shr:narrow"),
      TWO("shr(%0, %1)", -100, 100, 0, 32, "shr"),
      TWO("shr(shl(%0, 1i64), %1)", -100, 100, 3, 3, "shl shr"),
      TWO("shr(%0, shl(%1, 1i64))", -100, 100, 3, 3, "shl shr"),
      TWO("add(shl(%0, 1i64), %1)", -100, 100, 3, 3, "shl add"),
      TWO("add(%0, shl(%1, 1i64))", -100, 100, 3, 3, "shl add"),
      /* unsigned, or none */
      {"ul", "add(i64(%0), %1)", {{{0, MAX31}, {0, 0}}}, 1, "cast:narrow add:narrow"},
      {"ul", "add(i64(%0), %1)", {{{0, MAX31 + 1}, {0, 0}}}, 1, "cast add"},
      {"Ul", "add(i64(%0), %1)", {{{0, 1}, {0, 0}}}, 1, "cast add"},
      {"fl", "add(i64(%0), %1)", {{{0, 1}, {0, 0}}}, 1, "cast add"},
      /* what a type holds, whatever is known of it otherwise */
      {"bl", "add(i64(%0), %1)", {{{0, 127}, {0, MAX31 - 127}}}, 1, "cast:narrow add:narrow"},
      {"bl", "add(i64(%0), %1)", {{{0, 128}, {MIN31 + 127, 0}}}, 1, "cast:narrow add"},
      {"bl", "add(i64(%0), %1)", {{{0, 128}, {MIN31 + 128, 0}}}, 1, "cast:narrow add:narrow"},
  };
  (void)state;
  check_all(cases, WK_COUNTOF(cases));
}

/* The range of a node, seen by what can be added to it in 32 bits. */
static void ranges(void **state) {
  static const plan_case cases[] = {
#define LEAST(text, ops, a, b, c, d, least)                  \
  SUM(text, 1, a, b, c, d, MIN31 - (least), 0, YES(ops)),    \
      SUM(text, 1, a, b, c, d, MIN31 - (least) - 1, 0, NO(ops)),
#define MOST(text, ops, a, b, c, d, most)                    \
  SUM(text, 1, a, b, c, d, 0, MAX31 - (most), YES(ops)),     \
      SUM(text, 1, a, b, c, d, 0, MAX31 - (most) + 1, NO(ops)),
#define EDGE(text, ops, a, b, c, d, least, most)             \
  LEAST(text, ops, a, b, c, d, least) MOST(text, ops, a, b, c, d, most)
      EDGE("i64(min(%0, %1))", "min cast:narrow ", -5, 3, -7, 9, -7, 3)
      EDGE("i64(max(%0, %1))", "max cast:narrow ", -5, 3, -7, 9, -5, 9)
      EDGE("min(i64(%0), i64(%1))", FITS "min:narrow ", -5, 13, -3, 9, -5, 9)
      EDGE("max(i64(%0), i64(%1))", FITS "max:narrow ", -5, 13, -3, 9, -3, 13)
      EDGE("i64(add(%0, %1))", "add cast:narrow ", -5, 3, -7, 9, -12, 12)
      EDGE("i64(sub(%0, %1))", "sub cast:narrow ", -5, 3, -7, 9, -14, 10)
      EDGE("i64(mul(%0, %1))", "mul cast:narrow ", -5, 3, -7, 9, -45, 35)
      EDGE("i64(sat<i8>(add(%0, %1)))", "add sat cast:narrow ", -5, 3, -7, 9, -12, 12)
      EDGE("i64(sat<i8>(%0))", "sat cast:narrow ", -129, 5, 0, 0, -128, 5)
      EDGE("i64(sat<i8>(%0))", "sat cast:narrow ", -7, 128, 0, 0, -7, 127)
      MOST("i64(sat<i8>(%0))", "sat cast:narrow ", 200, 300, 0, 0, 127)
      LEAST("i64(sat<i8>(%0))", "sat cast:narrow ", -300, -200, 0, 0, -128)
      EDGE("i64(sat<u8>(%0))", "sat cast:narrow ", -1, 256, 0, 0, 0, 255)
      EDGE("i64(i8(%0))", "cast cast:narrow ", -128, 5, 0, 0, -128, 5)
      EDGE("i64(i8(%0))", "cast cast:narrow ", 0, 128, 0, 0, -128, 127)
      MOST("i64(u8(%0))", "cast cast:narrow ", 3, 255, 0, 0, 255)
      EDGE("i64(u8(%0))", "cast cast:narrow ", -1, 3, 0, 0, 0, 255)
      EDGE("i64(shl(%0, 3i32))", "shl cast:narrow ", -5, 7, 0, 0, -40, 56)
      EDGE("i64(shl(%0, %1))", "shl cast:narrow ", -5, 7, 30, 30, MIN31, MAX31)
      EDGE("i64(shl(%0, %1))", "shl cast:narrow ", 0, 1, 30, 30, 0, 1 << 30)
      EDGE("i64(shl(%0, %1))", "shl cast:narrow ", 0, 1, 0, 0, 0, 1)
      EDGE("i64(shl(%0, %1))", "shl cast:narrow ", 0, 1, 31, 31, MIN31, MAX31)
      EDGE("i64(shl(%0, %1))", "shl cast:narrow ", 0, 1, 1, 2, MIN31, MAX31)
      EDGE("i64(shl(%0, %1))", "shl cast:narrow ", 0, 1, -1, -1, MIN31, MAX31)
      EDGE("i64(shr(%0, %1))", "shr cast:narrow ", -9, 17, 1, 3, -5, 9)
      MOST("i64(shr(%0, %1))", "shr cast:narrow ", 9, 17, 1, 3, 9)
      LEAST("i64(shr(%0, %1))", "shr cast:narrow ", -17, -9, 1, 3, -9)
      EDGE("i64(shr(%0, %1))", "shr cast:narrow ", -9, 17, 0, 3, -9, 17)
      EDGE("i64(shr(%0, %1))", "shr cast:narrow ", -9, 17, 31, 31, -1, 1)
      EDGE("i64(shr(%0, %1))", "shr cast:narrow ", -9, 17, 31, 32, MIN31, MAX31)
      EDGE("i64(shr(%0, %1))", "shr cast:narrow ", -9, 17, -1, 1, MIN31, MAX31)
      EDGE("i64(select(lt(%0, %1), %0, %1))", "lt select cast:narrow ", -5, 3, -7, 9, -7, 9)
      EDGE("i64(select(lt(%0, %1), i8(%0), 4i8))", "lt cast select cast:narrow ", -5, 3, 0, 0, -5,
           4)
      /* 9e9 / 2^13, rounded, then 2^16; a shift that is not known of gives any 16 bits */
      EDGE("i64(rescale(%0, 9000000i64, 13i64))", "rescale:twice 0 by 7 cast:narrow ", -1000, 1000,
           0, 0, -17, 17)
      EDGE("i64(rescale(%0, 9i64, 1i64))", "rescale:twice 0 by 27 cast:narrow ", -1000, 1000, 0, 0,
           -1, 1)
      EDGE("i64(rescale(%0, 9i64, 0i64))", "rescale 0111110020000000 cast:narrow ", -1000, 1000,
           0, 0, -32768, 32768)
      EDGE("i64(rescale(%0, 9i64, 62i64))", "rescale 0111001000200000 cast:narrow ", -1000,
           1000, 0, 0, 0, 1)
      EDGE("i64(rescale(%0, 9i64, 63i64))", "rescale 0111001000200000 cast:narrow ", -1000,
           1000, 0, 0, -1, 1)
  };
  (void)state;
  check_all(cases, WK_COUNTOF(cases));
}

/* ---- shifts ---------------------------------------------------------------------------------- */

#define ONE(types, text, a, b, want) {types, text, {{{a, b}}}, 1, want}
#define THREE(text, a, b, c, d, e, f, want) \
  {"iii", text, {{{a, b}, {c, d}, {e, f}}}, 1, want}
#define SHIFT(types, a, b, c, d, want) {types, "shr_round(%0, %1)", {{{a, b}, {c, d}}}, 1, want}

/* Halves cannot occur where what is shifted has not enough trailing zeros; nothing may overflow. */
static void rounding(void **state) {
  static const plan_case cases[] = {
      SHIFT("ii", -7, 7, 4, 4, "shr_round:up"),
      SHIFT("ii", -7, 7, 3, 3, "shr_round:even"),
      SHIFT("ii", -8, 7, 4, 4, "shr_round:even"),
      SHIFT("ii", -8, 7, 5, 5, "shr_round:up"),
      SHIFT("ii", 8, 8, 4, 4, "shr_round:even"),
      SHIFT("ii", 12, 12, 4, 4, "shr_round:up"),
      SHIFT("ii", -7, 7, 4, 5, "shr_round:up"),
      SHIFT("ii", -7, 7, 3, 5, "shr_round:even"),
      SHIFT("ii", -100, 100, 1, 1, "shr_round:even"),
      SHIFT("ii", -100, 100, 0, 1, "shr_round"),
      SHIFT("ii", -100, 100, 0, 0, "shr_round"),
      SHIFT("ii", -100, 100, 31, 31, "shr_round:up"),
      SHIFT("ii", -100, 100, 31, 32, "shr_round"),
      SHIFT("ii", -100, MAX31 - 8, 4, 4, "shr_round:even"),
      SHIFT("ii", -100, MAX31 - 7, 4, 4, "shr_round"),
      SHIFT("ii", MIN31, 0, 4, 4, "shr_round:even"),
      SHIFT("uu", 0, 100, 4, 4, "shr_round"),
      {"ii", "shr_round(%0, %1)", {{{-7, 7}, {4, 4}}, {{-15, 15}, {5, 5}}}, 2, "shr_round:up"},
      {"ii", "shr_round(%0, %1)", {{{-7, 7}, {4, 4}}, {{-16, 15}, {5, 5}}}, 2, "shr_round:even"},
      {"ii", "shr_round(%0, %1)", {{{0}}}, 0, "shr_round"},
      SHIFT("ll", -100, 100, 31, 31, "shr_round:narrow,up"),
      SHIFT("ll", -100, MAX31 - (1 << 30), 31, 31, "shr_round:narrow,up"),
      SHIFT("ll", -100, MAX31 - (1 << 30) + 1, 31, 31, "shr_round"),
      SHIFT("ll", -100, MAX31 - 8, 4, 4, "shr_round:narrow,even"),
      SHIFT("ll", -100, MAX31 - 7, 4, 4, "shr_round"),
      SHIFT("ll", -100, MAX31, 32, 32, "shr_round:up"),
      SHIFT("ll", -100, MAX31 + 1, 4, 4, "shr_round:even"),
      SHIFT("ll", -100, INT64_MAX - 8, 4, 4, "shr_round:even"),
      SHIFT("ll", -100, INT64_MAX - 7, 4, 4, "shr_round"),
      SHIFT("ll", -100, 100, 63, 63, "shr_round:up"),
      SHIFT("ll", -100, 100, 63, 64, "shr_round"),
      ONE("l", "shr_round(%0, 1i64)", -100, 100, "shr_round:narrow,even"),
      /* trailing zeros of products and of either of two */
      THREE("shr_round(mul(%0, %1), %2)", -15, 15, 24, 24, 7, 7, "mul shr_round:even"),
      THREE("shr_round(mul(%0, %1), %2)", -15, 15, 24, 24, 8, 8, "mul shr_round:up"),
      THREE("shr_round(mul(%0, %1), %2)", -15, 15, 3, 3, 4, 4, "mul shr_round:even"),
      THREE("shr_round(mul(%0, %1), %2)", -15, 15, 3, 3, 5, 5, "mul shr_round:up"),
      THREE("shr_round(mul(%0, %1), %2)", 0, 0, 3, 3, 1, 1, "mul shr_round:even"),
      THREE("shr_round(mul(%0, %1), %2)", 0, 0, 3, 3, 2, 2, "mul shr_round:up"),
      THREE("shr_round(select(lt(%0, %1), 8i32, 3i32), %2)", 0, 9, 0, 9, 4, 4,
            "lt select shr_round:even"),
      THREE("shr_round(select(lt(%0, %1), 3i32, 8i32), %2)", 0, 9, 0, 9, 4, 4,
            "lt select shr_round:even"),
      THREE("shr_round(select(lt(%0, %1), 3i32, 8i32), %2)", 0, 9, 0, 9, 5, 5,
            "lt select shr_round:up"),
      /* shifts by shifts, of which one at least is needed */
      THREE("shr_round(%0, shr(%1, %2))", -100, 100, 4, 7, 1, 2, "shr shr_round:even"),
      THREE("shr_round(%0, shr(%1, %2))", -100, 100, 3, 7, 1, 2, "shr shr_round"),
      THREE("shr_round(%0, sub(0i32, shr(%1, %2)))", -100, 100, -17, -9, 1, 3,
            "shr sub shr_round:even"),
      THREE("shr_round(%0, sub(0i32, shr(%1, %2)))", -100, 100, -17, -8, 1, 3,
            "shr sub shr_round"),
  };
  (void)state;
  check_all(cases, WK_COUNTOF(cases));
}

#define HIGH(a, b, c, d, e, f, want) \
  {"iil", "shr_round(mul(i64(%0), i64(%1)), %2)", {{{a, b}, {c, d}, {e, f}}}, 1, FITS "mul " want}

/* Of products whose factors are words. */
static void products(void **state) {
  static const plan_case cases[] = {
      HIGH(MIN31, MAX31, 3, 3, 34, 34, "shr_round:narrow,high_up of 4"),
      HIGH(MIN31, MAX31, 3, 3, 33, 33, "shr_round:narrow,high_up of 4"),
      HIGH(MIN31, MAX31, 3, 3, 32, 32, "shr_round:even"),
      HIGH(-65535, 65535, -65535, 65535, 33, 33, "shr_round:narrow,high_up of 4"),
      HIGH(-65535, 65535, -65535, 65535, 62, 62, "shr_round:narrow,high_up of 4"),
      HIGH(-65535, 65535, -65535, 65535, 34, 62, "shr_round:narrow,high_up of 4"),
      HIGH(-65535, 65535, -65535, 65535, 33, 63, "shr_round:up"),
      HIGH(MIN31, MAX31, MIN31, MAX31, 34, 34, "shr_round:narrow,high_even of 4"),
      HIGH(MIN31, MAX31, MIN31, MAX31, 33, 34, "shr_round:even"),
      {"lll", "shr_round(mul(%0, %1), %2)", {{{-30000, 30000}, {-30000, 30000}, {32, 32}}}, 1,
       "mul:narrow shr_round:up"},
      {"lll", "shr_round(mul(%0, %1), %2)", {{{-30000, 30000}, {-30000, 30000}, {33, 33}}}, 1,
       "mul:narrow shr_round:narrow,high_up of 2"},
      {"lll", "shr_round(mul(%0, %1), shl(%2, 1i64))", {{{-9, 9}, {-9, 9}, {20, 20}}}, 1,
       "mul:narrow shl shr_round:up"},
      {"lli", "shr_round(mul(%0, %1), i64(%2))", {{{0, MAX31}, {0, MAX31}, {40, 40}}}, 1,
       "mul cast:narrow shr_round:narrow,high_even of 2"},
      {"lli", "shr_round(mul(%0, %1), i64(%2))", {{{0, MAX31}, {0, MAX31 + 1}, {40, 40}}}, 1,
       "mul cast:narrow shr_round:even"},
      {"lli", "shr_round(add(%0, %1), i64(%2))", {{{0, MAX31}, {0, MAX31}, {40, 40}}}, 1,
       "add cast:narrow shr_round:up"},
  };
  (void)state;
  check_all(cases, WK_COUNTOF(cases));
}

#define STEP(half, a, b, c, d, e, f, want)                                                   \
  {"iil", "shr(add(mul(i64(%0), i64(%1)), " half "), %2)", {{{a, b}, {c, d}, {e, f}}}, 1, \
   FITS want}

/* A half is added, all is shifted: by the upper words of a product of what was shifted before. */
static void at_once(void **state) {
  static const plan_case cases[] = {
      STEP("4096i64", -1000, 1000, 5000, 5000, 13, 13,
       "mul:narrow add:narrow shr:narrow,once 0 by 18 of 4"),
      STEP("4096i64", -1000, 1000, 5000, 5000, 12, 12, "mul:narrow add:narrow shr:narrow"),
      STEP("4095i64", -1000, 1000, 5000, 5000, 13, 13, "mul:narrow add:narrow shr:narrow"),
      STEP("4096i64", -1000, 1000, 5000, 5000, 13, 14, "mul:narrow add:narrow shr:narrow"),
      STEP("1i64", -1000, 1000, 5000, 5000, 1, 1,
       "mul:narrow add:narrow shr:narrow,once 0 by 18 of 4"),
      STEP("4294967296i64", -100000, 100000, 5000000, 5000000, 33, 33,
       "mul add shr:narrow,once 0 by 0 of 4"),
      STEP("8589934592i64", -100000, 100000, 5000000, 5000000, 34, 34, "mul add shr"),
      STEP("4294967296i64", MIN31, MAX31, 1, 1, 33, 33,
       "mul:narrow add shr:narrow,once 1 by 0 of 4"),
      STEP("4294967296i64", MIN31, MAX31, (1 << 30) - 1, (1 << 30) - 1, 33, 33,
       "mul add shr:narrow,once 1 by 0 of 4"),
      STEP("2147483648i64", -1073741823, 1073741823, 1 << 29, 1 << 29, 32, 32,
       "mul add shr:narrow,once 0 by 1 of 4"),
      STEP("2147483648i64", -1073741823, 1073741823, 1 << 30, 1 << 30, 32, 32,
       "mul add shr:narrow,once 0 by 0 of 4"),
      STEP("2147483648i64", -1073741824, 1073741823, 1 << 30, 1 << 30, 32, 32, "mul add shr"),
      STEP("2147483648i64", -1073741823, 1073741824, 1 << 30, 1 << 30, 32, 32, "mul add shr"),
      STEP("2147483648i64", MIN31 / 2, MAX31, -(1 << 29), 1 << 29, 32, 32,
       "mul add shr:narrow,once 0 by 1 of 4"),
      STEP("1073741824i64", 1 << 30, 1 << 30, -1000, 1000, 31, 31,
       "mul add shr:narrow,once 0 by 2 of 4"),
      STEP("8i64", -3, 3, 0, 0, 4, 4, "mul:narrow add:narrow shr:narrow,once 0 by 29 of 4"),
      STEP("8i64", -3, 3, 1, 1, 4, 4, "mul:narrow add:narrow shr:narrow,once 0 by 29 of 4"),
      STEP("8i64", -3, 3, 2, 2, 4, 4, "mul:narrow add:narrow shr:narrow,once 0 by 29 of 4"),
      STEP("8i64", -4, 3, 1, 1, 4, 4, "mul:narrow add:narrow shr:narrow,once 0 by 29 of 4"),
      {"lll", "shr(add(mul(%0, %1), 4096i64), add(shl(%2, 1i64), 1i64))",
       {{{-9, 9}, {5, 5}, {6, 6}}}, 1, "mul:narrow add:narrow shl add shr"},
      {"lll", "shr(add(4096i64, mul(%0, %1)), %2)", {{{-9, 9}, {5, 5}, {13, 13}}}, 1,
       "mul:narrow add:narrow shr:narrow,once 0 by 20 of 3"},
      {"lll", "shr(add(mul(add(-1i64, %0), %1), 2147483648i64), %2)",
       {{{MIN31 + 1, MAX31}, {1, 1}, {32, 32}}}, 1,
       "add:narrow mul:narrow add shr:narrow,once 1 by 0 of 4"},
      {"iil", "shr(add(4096i64, mul(i64(%0), i64(%1))), %2)", {{{-9, 9}, {5, 5}, {13, 13}}}, 1,
       "cast:narrow cast:narrow mul:narrow add:narrow shr:narrow,once 0 by 20 of 5"},
      {"iil", "shr(sub(mul(i64(%0), i64(%1)), 4096i64), %2)", {{{-9, 9}, {5, 5}, {13, 13}}}, 1,
       "cast:narrow cast:narrow mul:narrow sub:narrow shr:narrow"},
      {"iil", "shr(add(add(i64(%0), i64(%1)), 4096i64), %2)", {{{-9, 9}, {5, 5}, {13, 13}}}, 1,
       "cast:narrow cast:narrow add:narrow add:narrow shr:narrow"},
      {"ill", "shr(add(mul(i64(%0), %1), shl(1i64, sub(%2, 1i64))), %2)",
       {{{-9, 9}, {5, 5}, {13, 13}}, {{-9, 9}, {77, 77}, {20, 20}}}, 2,
       "cast:narrow mul:narrow sub:narrow shl add shr:narrow,once 0 by 13 of 3"},
      {"ill", "shr(add(mul(i64(%0), %1), shl(1i64, sub(%2, 1i64))), %2)",
       {{{-9, 9}, {5, 5}, {13, 13}}, {{-9, 9}, {77, 77}, {20, 21}}}, 2,
       "cast:narrow mul:narrow sub:narrow shl add shr"},
      {"iii", "shr(add(mul(%0, %1), 4096i32), %2)", {{{-9, 9}, {5, 5}, {13, 13}}}, 1,
       "mul add shr"},
  };
  (void)state;
  check_all(cases, WK_COUNTOF(cases));
}

/* ---- rescaling ------------------------------------------------------------------------------- */

#define RESCALE(types, a, b, c, d, e, f, want) \
  {types, "rescale(%0, %1, %2)", {{{a, b}, {c, d}, {e, f}}}, 1, want}

static void rescales(void **state) {
  static const plan_case cases[] = {
      RESCALE("ill", -1000, 1000, 9000000, 9000000, 13, 13, "rescale:twice 0 by 7"),
      RESCALE("ill", -1000000, 1000000, 9000000, 9000000, 13, 13, "rescale 0110111000004000"),
      RESCALE("ill", MIN31, MAX31, 9000000, 9000000, 13, 13, "rescale 0110111000000000"),
      RESCALE("ill", MIN31, MAX31, 9000000, 9000000, 33, 33, "rescale:twice 1 by 0"),
      RESCALE("ill", MIN31, MAX31, 9000000, 9000000, 34, 34, "rescale 0110111000004000"),
      RESCALE("ill", -1000, 1000, 9000000, 9000000, 0, 0, "rescale 0110111000000000"),
      RESCALE("ill", -63, 63, 9000000, 9000000, 1, 1, "rescale:twice 0 by 7"),
      RESCALE("ill", -64, 63, 9000000, 9000000, 1, 1, "rescale 0111111000004000"),
      RESCALE("ill", -63, 64, 9000000, 9000000, 1, 1, "rescale 0111111000004000"),
      RESCALE("ill", -1000, 1000, 9000000, 9000000, 1, 1, "rescale 0110111000000000"),
      RESCALE("ill", -1000, 1000, 9000000, 9000000, 13, 14, "rescale 0110111000000000"),
      RESCALE("ill", -1000, 1000, 9000000, 9000001, 13, 13, "rescale:twice 0 by 7"),
      RESCALE("ill", -1000, 1000, 9000000, MAX31 + 1, 13, 13, "rescale 0100111000004000"),
      RESCALE("lll", -1000, 1000, 9000000, 9000000, 13, 13, "rescale:twice 0 by 7"),
      RESCALE("lll", -1000, MAX31 + 1, 9000000, 9000000, 13, 13, "rescale 0101110000000000"),
      RESCALE("bll", -128, 127, 9000000, 9000000, 13, 13, "rescale:twice 0 by 7"),
      RESCALE("ull", 0, MAX31 >> 10, 9000000, 9000000, 23, 23, "rescale:twice 0 by 7"),
      RESCALE("ull", 0, MAX31 + 1, 9000000, 9000000, 33, 33, "rescale 0010111000004000"),
      RESCALE("Ull", 0, 5, 9000000, 9000000, 33, 33, "rescale 0010111000004000"),
      {"ill", "rescale(%0, %1, %2)", {{{0}}}, 0, "rescale 0100100000000000"},
      {"ill", "rescale(%0, %1, %2)",
       {{{-1000, 1000}, {9000000, 9000000}, {13, 13}}, {{-9, 9}, {12345678, 12345678}, {7, 7}}}, 2,
       "rescale:twice 0 by 7"},
      /* each set counts, with its own numbers */
      {"ill", "rescale(%0, %1, %2)",
       {{{-9, 9}, {99, 99}, {40, 40}}, {{-9, 9}, {MAX31, MAX31 + 1}, {40, 40}}}, 2,
       "rescale 0100111000002000"},
      {"ill", "rescale(%0, %1, %2)",
       {{{-9, 9}, {99, 99}, {40, 40}}, {{-9, 9}, {99, 99}, {MAX31, MAX31 + 1}}}, 2,
       "rescale 0111100000000000"},
      {"ill", "rescale(%0, %1, %2)",
       {{{-9, 9}, {99, 99}, {MAX31, MAX31 + 1}}, {{-9, 9}, {99, 99}, {40, 40}}}, 2,
       "rescale 0111100000000000"},
      {"lll", "rescale(%0, %1, %2)",
       {{{-9, 9}, {99, 99}, {40, 40}}, {{-9, MAX31 + 1}, {99, 99}, {40, 40}}}, 2,
       "rescale 0101110000020000"},
      {"lll", "rescale(%0, %1, %2)",
       {{{-9, 9}, {99, 99}, {40, 40}}, {{-9, 9}, {99, 99}, {40, 40}}}, 2,
       "rescale 1111110000020000"},
      {"ill", "i64(rescale(%0, %1, %2))", {{{-1000, 1000}, {9000000, 9000000}, {13, 13}}}, 1,
       "rescale:twice 0 by 7 cast:narrow"},
  };
  (void)state;
  check_all(cases, WK_COUNTOF(cases));
}

#define QUICK(a, b, m, s, want)                                                     \
  {"ill", "sat<i8>(add(rescale(%0, %1, %2), 3i32))", {{{a, b}, {m, m}, {s, s}}}, 1, want}

static void quick_forms(void **state) {
  static const plan_case cases[] = {
      QUICK(-100000, 100000, 9000000, 13, "rescale:twice 0 by 7 add sat:quick of 3 zero 3"),
      QUICK(-100000, 100000, 0, 13, "rescale:twice 0 by 20 add sat:quick of 3 zero 3"),
      QUICK(-100000, 100000, 1, 13, "rescale:twice 0 by 20 add sat:quick of 3 zero 3"),
      QUICK(-100000, 100000, -1, 13, "rescale:twice 0 by 20 add sat"),
      QUICK(-10, 10, (1 << 24) - 1, 13, "rescale:twice 0 by 7 add sat:quick of 3 zero 3"),
      QUICK(-10, 10, 1 << 24, 13, "rescale:twice 0 by 6 add sat"),
      QUICK(-10, 10, 9000000, 0, "rescale 0111111000000000 add sat"),
      QUICK(-10, 10, 9000000, 1, "rescale:twice 0 by 7 add sat"),
      QUICK(-10, 10, 9000000, 62, "rescale 0111111000002000 add sat:quick of 3 zero 3"),
      QUICK(-10, 10, 9000000, 63, "rescale 0111111000002000 add sat"),
      QUICK(-64512, 64512, 1 << 23, 7, "rescale 0110111000000000 add sat"),
      QUICK(-64512, 64512, (1 << 23) + 1, 7, "rescale 0110111000000000 add sat"),
      QUICK(0, 64511, (1 << 23) + 1, 7, "rescale 0110111000000000 add sat:quick of 3 zero 3"),
      QUICK(-64511, 0, (1 << 23) + 1, 7, "rescale 0110111000004000 add sat:quick of 3 zero 3"),
      QUICK(-64512, 0, (1 << 23) + 1, 7, "rescale 0110111000004000 add sat"),
      QUICK(-1000, 1000, 1 << 14, 10, "rescale:twice 0 by 16 add sat:quick of 3 zero 3"),
      QUICK(-1000, 1000, 1 << 15, 10, "rescale:twice 0 by 15 add sat"),
      QUICK(-1000, 1000, 3 << 14, 10, "rescale:twice 0 by 15 add sat:quick of 3 zero 3"),
      QUICK(-(1 << 24), 1 << 24, (1 << 23) - 1, 21,
       "rescale:twice 0 by 8 add sat:quick of 3 zero 3"),
      QUICK(-(1 << 24) - 1, 1 << 24, (1 << 23) - 1, 21, "rescale:twice 0 by 8 add sat"),
      QUICK(-(1 << 24), (1 << 24) + 1, (1 << 23) - 1, 21, "rescale:twice 0 by 8 add sat"),
      QUICK(-(1 << 24), (1 << 24) + 1, (1 << 23) + 1, 21,
       "rescale:twice 0 by 7 add sat:quick of 3 zero 3"),
      QUICK(3, 3, 1 << 23, 8, "rescale:twice 0 by 7 add sat"),
      QUICK(3, 3, (1 << 23) + 4096, 8, "rescale:twice 0 by 7 add sat:quick of 3 zero 3"),
      QUICK(3, 3, (1 << 23) + 1000, 8, "rescale:twice 0 by 7 add sat"),
      QUICK(4, 4, 1 << 23, 8, "rescale:twice 0 by 7 add sat:quick of 3 zero 3"),
      QUICK(4, 4, 1 << 24, 13, "rescale:twice 0 by 6 add sat"),
      QUICK(-10, 10, 9000001, 0, "rescale 0111111000000000 add sat"),
      QUICK(-10, 10, 9000001, 1, "rescale:twice 0 by 7 add sat:quick of 3 zero 3"),
      /* the largest, exactly; what has more digits than a float and does not saturate */
      QUICK(64512, 64512, 1 << 23, 7, "rescale 0110111000000000 add sat:quick of 3 zero 3"),
      QUICK(64513, 64513, 1 << 23, 7, "rescale 0110111000000000 add sat"),
      QUICK((1 << 24) + 1, (1 << 24) + 1, 1 << 23, 21,
            "rescale:twice 0 by 7 add sat:quick of 3 zero 3"),
      QUICK((1 << 24) + 1, (1 << 24) + 1, (1 << 23) - 1, 21, "rescale:twice 0 by 8 add sat"),
      /* 2^-12 beside a tie, and a little more */
      QUICK(1, 1, 65568, 1, "rescale:twice 0 by 14 add sat"),
      QUICK(1, 1, 65569, 1, "rescale:twice 0 by 14 add sat:quick of 3 zero 3"),
      {"ill", "sat<i8>(rescale(%0, shl(%1, 1i64), %2))", {{{-9, 9}, {99, 99}, {13, 13}}}, 1,
       "shl rescale 0111111000002000 sat"},
      {"ill", "sat<i8>(rescale(%0, %1, shl(%2, 1i64)))", {{{-9, 9}, {99, 99}, {13, 13}}}, 1,
       "shl rescale 0111111000002000 sat"},
      {"ill", "sat<i8>(add(rescale(%0, %1, %2), 128i32))", {{{-9, 9}, {99, 99}, {13, 13}}}, 1,
       "rescale:twice 0 by 20 add sat"},
      {"ill", "sat<i8>(add(rescale(%0, %1, %2), 127i32))", {{{-9, 9}, {99, 99}, {13, 13}}}, 1,
       "rescale:twice 0 by 20 add sat:quick of 3 zero 127"},
      {"ill", "sat<i8>(add(rescale(%0, %1, %2), -128i32))", {{{-9, 9}, {99, 99}, {13, 13}}}, 1,
       "rescale:twice 0 by 20 add sat:quick of 3 zero -128"},
      {"ill", "sat<i8>(add(rescale(%0, %1, %2), -129i32))", {{{-9, 9}, {99, 99}, {13, 13}}}, 1,
       "rescale:twice 0 by 20 add sat"},
      {"ill", "sat<u8>(rescale(%0, %1, %2))", {{{-9, 9}, {99, 99}, {13, 13}}}, 1,
       "rescale:twice 0 by 20 sat:quick of 3 zero 0"},
      {"ill", "sat<i16>(rescale(%0, %1, %2))", {{{-9, 9}, {99, 99}, {13, 13}}}, 1,
       "rescale:twice 0 by 20 sat"},
      {"lll", "sat<i8>(rescale(%0, %1, %2))", {{{-9, 9}, {99, 99}, {13, 13}}}, 1,
       "rescale:twice 0 by 20 sat"},
      {"ill", "sat<i8>(rescale(%0, %1, %2))", {{{-9, 9}, {99, 99}, {13, 14}}}, 1,
       "rescale 0111111000000000 sat"},
      {"ill", "sat<i8>(rescale(%0, %1, %2))", {{{-9, 9}, {98, 99}, {13, 13}}}, 1,
       "rescale:twice 0 by 20 sat"},
      {"ill", "sat<i8>(rescale(%0, %1, %2))", {{{0}}}, 0, "rescale 0100100000000000 sat"},
      {"ill", "sat<i8>(rescale(%0, %1, %2))",
       {{{-9, 9}, {99, 99}, {13, 13}}, {{-9, 9}, {77, 77}, {12, 12}}}, 2,
       "rescale:twice 0 by 20 sat:quick of 3 zero 0"},
      {"ill", "sat<i8>(rescale(%0, %1, %2))",
       {{{-9, 9}, {99, 99}, {13, 13}}, {{-9, 9}, {77, 77}, {0, 0}}}, 2,
       "rescale 0111111000000000 sat"},
      {"ill", "add(sat<i8>(rescale(%0, %1, %2)), sat<i8>(rescale(%0, %2, %2)))",
       {{{-9, 9}, {99, 99}, {13, 13}}}, 1,
       "rescale:twice 0 by 20 sat:quick of 3 zero 0 rescale:twice 0 by 20 "
       "sat:quick of 5 zero 0 add"},
  };
  (void)state;
  check_all(cases, WK_COUNTOF(cases));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words),    cmocka_unit_test(ranges),   cmocka_unit_test(rounding),
      cmocka_unit_test(products), cmocka_unit_test(at_once),  cmocka_unit_test(rescales),
      cmocka_unit_test(quick_forms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
