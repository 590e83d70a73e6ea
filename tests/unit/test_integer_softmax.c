/* SPDX-License-Identifier: Apache-2.0
 * Softmax of quantised scores behind a mask, of every kind that models have, against the real one:
 * what counts is a step off at most, what does not is `zero`, and so is a row that counts
 * nowhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/integer/integer.h"
#include "compiler/ir/ir.h"

enum { STACKS = 2, ROWS = 9, COLUMNS = 37 };

/* How scores %s become %m, by the mask %k of bools (true: it counts), or by a constant one. */
static const struct {
  const char *steps;
  bool is_constant; /* causal, so that no row is empty */
} masks[] = {
    {"  %far = constant f32[] {-inf}\n  %m = where(%k, %s, %far)", false},
    {"  %n = not(%k) : bool[KEPT]\n  %far = constant f32[] {-3.4e38}\n  %m = where(%n, %far, %s)",
     false},
    {"  %far = constant f32[] {-100000}\n  %m = where(%k, %s, %far)", false},
    {"  %far = constant f32[1,9,37] CAUSAL\n  %m = add(%s, %far)", true},
    {"  %far = constant f32[9,37] CAUSAL\n  %m = add(%far, %s)", true},
};

static const char *const kept[] = {"2,9,37", "1,9,37", "2,1,37", "37", "9,1"};

static void put(wk_str *b, const char *text, const char *shape) {
  for (const char *at = text; *at;) {
    if (!strncmp(at, "KEPT", 4)) wk_str_add(b, shape), at += 4;
    else if (!strncmp(at, "CAUSAL", 6)) {
      wk_str_add(b, "{");
      for (int i = 0; i < ROWS * COLUMNS; i++)
        wk_str_printf(b, "%s%d", i ? ", " : "", i % COLUMNS <= i / COLUMNS * 4 ? 0 : -100000);
      wk_str_add(b, "}");
      at += 6;
    } else wk_str_printf(b, "%c", *at++);
  }
}

static wk_module *model(wk_rng *random, size_t mask, const char *shape, const char *x,
                        const char *y) {
  wk_str b = {0};
  wk_module *m;
  const char *types[2] = {x, y};
  int zeros[2];
  for (int i = 0; i < 2; i++)
    zeros[i] = (int)wk_rng_range(random, *types[i] == 'i' ? -128 : 0, *types[i] == 'i' ? 127 : 255);
  if (wk_rng_range(random, 0, 2)) zeros[1] = *y == 'i' ? -128 : 0;
  wk_str_printf(&b, "module \"masked\" {\ngraph @main(%%x: %s[2,9,37], %%k: bool[%s]) {\n", x,
                shape);
  wk_str_printf(&b, "  %%sx = constant f32[] {%g}\n  %%zx = constant %s[] {%d}\n",
                0.01 * (double)wk_rng_range(random, 1, 20), x, zeros[0]);
  wk_str_printf(&b, "  %%sy = constant f32[] {0.00390625}\n  %%zy = constant %s[] {%d}\n", y,
                zeros[1]);
  wk_str_add(&b, "  %s = dequantize(%x, %sx, %zx) : f32[2,9,37]\n");
  put(&b, masks[mask].steps, shape);
  wk_str_printf(&b, " : f32[2,9,37]\n  %%p = softmax(%%m) {axis=2} : f32[2,9,37]\n"
                "  %%y = quantize(%%p, %%sy, %%zy) {to=%s} : %s[2,9,37]\n  output %%y\n}\n}\n", y,
                y);
  wk_status s = wk_module_parse(b.s, "masked", &m);
  if (s) fail_msg("%s: %s: %s", s->place, s->message, b.s);
  wk_str_free(&b);
  return m;
}

/* Of element i of the mask that broadcasts to the scores. */
static bool counts(const wk_module *m, size_t mask, const wk_tensor *k, int64_t i) {
  (void)m;
  int64_t column = i % COLUMNS, row = i / COLUMNS % ROWS, stack = i / COLUMNS / ROWS, at = 0;
  if (masks[mask].is_constant) return column <= row * 4;
  const int64_t index[3] = {stack, row, column};
  for (int a = 0; a < k->type.rank; a++) {
    int64_t d = k->type.dims[a];
    at = at * d + (d == 1 ? 0 : index[3 - k->type.rank + a]);
  }
  return ((const uint8_t *)k->data)[at];
}

static void compare(const wk_module *m, size_t mask, const wk_tensor *k, const wk_tensor *real,
                    const wk_tensor *got) {
  wk_dtype t = got->type.dtype;
  const wk_value *zero = NULL;
  for (wk_value_id v = 0; v < m->main->values.n; v++)
    if (!strcmp(wk_val(m->main, v)->name, "zy")) zero = wk_val(m->main, v);
  int64_t z = wk_load_i64(zero->data, t, 0);
  for (int64_t row = 0; row < STACKS * ROWS; row++) {
    bool is_empty = true;
    for (int64_t c = 0; c < COLUMNS; c++) is_empty &= !counts(m, mask, k, row * COLUMNS + c);
    for (int64_t i = row * COLUMNS; i < (row + 1) * COLUMNS; i++) {
      int64_t y = wk_load_i64(got->data, t, i), want = wk_load_i64(real->data, t, i);
      if (!counts(m, mask, k, i)) assert_int_equal(y, z);
      else assert_true(is_empty || llabs(y - want) <= 1);
    }
  }
}

static void try_mask(uint64_t seed, size_t mask, const char *shape, const char *x, const char *y) {
  wk_rng random = {seed};
  int64_t changes;
  wk_tensor in[2], real, got;
  wk_module *m = model(&random, mask, shape, x, y);
  for (int i = 0; i < 2; i++)
    assert_null(wk_tensor_alloc(&wk_val(m->main, m->main->inputs.data[i])->type, &in[i]));
  for (int64_t i = 0; i < wk_type_count(&in[0].type); i++) /* the least and its neighbour too */
    ((uint8_t *)in[0].data)[i] = (uint8_t)wk_rng_range(&random, 0, 255);
  for (int64_t i = 0; i < wk_type_count(&in[1].type); i++)
    ((uint8_t *)in[1].data)[i] = wk_rng_range(&random, 0, 3) > 1;
  assert_null(wk_eval_graph(m->main, in, &real, NULL, NULL));
  wk_module *as = wk_module_clone(m);
  assert_null(wk_integer_convert(as, &changes));
  for (size_t i = 0; i < as->main->nodes.n; i++)
    assert_true(as->main->nodes.data[i].dead || as->main->nodes.data[i].op != WK_OP_SOFTMAX);
  assert_null(wk_eval_graph(as->main, in, &got, NULL, NULL));
  compare(m, mask, &in[1], &real, &got);
  wk_tensor_free(&in[0]);
  wk_tensor_free(&in[1]);
  wk_tensor_free(&real);
  wk_tensor_free(&got);
  wk_module_free(as);
  wk_module_free(m);
}

static void masked(void **state) {
  static const char *const types[] = {"i8", "u8"};
  (void)state;
  uint64_t seed = 1;
  for (size_t mask = 0; mask < WK_COUNTOF(masks); mask++)
    for (size_t shape = 0; shape < WK_COUNTOF(kept); shape++)
      for (int i = 0; i < 40; i++, seed++)
        try_mask(seed, mask, kept[shape], types[i % 2], types[i / 2 % 2]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(masked)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
