/* SPDX-License-Identifier: Apache-2.0
 * Sizes that are formulas of other sizes: their texts, and the bounds that follow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/onnx/import/formula.h"

static void texts(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool is_formula, computes;
  } rows[] = {
      {"past + seq", true, true},       {"past+seq", true, true},
      {"2*seq - 1", true, true},        {"batch * seq * 3", true, true},
      {"seq", true, false},             {" seq ", true, false},
      {"1*seq", true, false},           {"7", true, true},
      {"a.b_2 + c", true, true},        {"\xc3\xa9 + c", true, true},
      {"", false, false},               {"+ seq", false, false},
      {"seq +", false, false},          {"seq seq", false, false},
      {"seq / 2", false, false},        {"(a + b)", false, false},
      {"2 * * a", false, false},        {"99999999999999999999 * a", false, false},
      {"4611686018427387904*2*a", false, false}, {"a,b", false, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wk_arena *a = wk_arena_new();
    wk_formula f;
    bool is = wk_formula_parse(a, rows[i].text, &f);
    if (is != rows[i].is_formula || (is && wk_formula_computes(&f) != rows[i].computes))
      fail_msg("'%s'", rows[i].text);
    wk_arena_free(a);
  }
}

static void bounds(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t least, most; /* most -1: it cannot be measured */
  } rows[] = {
      {"a + b", 1, 10},   {"2*a", 2, 8},      {"b - a", 0, 5}, {"a*b", 0, 24}, {"7", 7, 7},
      {"a - 9", 0, -1},   {"a + c", 0, -1},   {"big*big", 0, -1}, {"a + 0*b", 1, 4},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wk_arena *a = wk_arena_new();
    wk_symbols s = {0};
    const wk_symbol known[] = {{.name = "a", .least = 1, .value = 4},
                               {.name = "b", .least = 0, .value = 6},
                               {.name = "big", .least = 1, .value = INT64_MAX / 2}};
    for (int k = 0; k < 3; k++) wk_vec_push(&s, known[k]);
    const wk_symbol *x = wk_symbol_resolve(a, &s, rows[i].text);
    bool is = rows[i].most < 0 ? !x
                               : x && x->least == rows[i].least && x->value == rows[i].most;
    if (!is)
      fail_msg("'%s': %lld..%lld", rows[i].text, x ? (long long)x->least : -1,
               x ? (long long)x->value : -1);
    wk_vec_free(&s);
    wk_arena_free(a);
  }
}

static void what_is_missing(void **state) {
  (void)state;
  wk_arena *a = wk_arena_new();
  wk_symbols s = {0};
  const wk_symbol known = {.name = "a", .least = 1, .value = 4};
  wk_formula f;
  const char *missing;
  wk_vec_push(&s, known);
  assert_true(wk_formula_parse(a, "a + c", &f));
  wk_symbol x = {.name = "a + c", .formula = &f};
  assert_false(wk_symbol_measure(&s, &x, &missing));
  assert_string_equal(missing, "c");
  wk_vec_free(&s);
  wk_arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(bounds),
                                     cmocka_unit_test(what_is_missing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
