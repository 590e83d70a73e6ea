/* SPDX-License-Identifier: Apache-2.0 */
/* Random weights in the place of weights that are all equal: which are replaced, and on what scale;
 * and what the outputs of a model depend on. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/verify/test_case.h"
#include "compiler/eval/eval.h"
#include "compiler/pipeline/weights.h"

static wk_module *module_of(const char *head, const char *body) {
  wk_str b = {0};
  wk_module *m;
  wk_str_printf(&b, "module \"m\" {\n  graph @main(%s) {\n%s\n  }\n}\n", head, body);
  wk_status s = wk_module_parse(b.s, "t", &m);
  if (s) fail_msg("%s: %s\n%s", s->place, s->message, b.s);
  wk_str_free(&b);
  return m;
}

/* The first constant of a graph. */
static const wk_value *constant_of(const wk_module *m) {
  for (size_t v = 0; v < m->main->values.n; v++)
    if (m->main->values.data[v].kind == WK_VALUE_CONSTANT) return &m->main->values.data[v];
  fail_msg("there is no constant");
  return NULL;
}

/* ---- weights --------------------------------------------------------------------------------- */

#define POSITIVE 0.8989422804 /* 0.5 + 0.5 * sqrt(2 / pi): mean of 0.5 + |0.5 x| */
#define FOLDED 0.3014051022   /* its deviation: 0.5 * sqrt(1 - 2 / pi) */

typedef struct {
  const char *inputs, *body;
  double mean, deviation; /* deviation 0: it stays as it is */
} weight_case;

#define WINDOW " {strides=[1,1], pads=[0,0,0,0], dilations=[1,1]"

static const weight_case weights[] = {
    /* A convolution's by the products of a sum, 16 * 3 * 3; turned around, by the shape alone. */
    {"%x: f32[1,16,9,9]",
     "%c = constant f32[64,16,3,3] splat(0.5)\n%y = conv(%x, %c)" WINDOW "}", 0,
     0.117851},
    {"%x: f32[1,32,9,9]",
     "%c = constant f32[32,16,3,3] splat(0.5)\n"
     "%y = conv_transpose(%x, %c)" WINDOW ", output_padding=[0,0]}", 0, 0.117851},
    {"%x: f32[1,2,9,9], %w: f32[4096,2,1,1]",
     "%c = constant f32[4096] splat(0.0)\n%y = conv(%x, %w, %c)" WINDOW "}", 0, 0.1},
    {"%x: f32[1,2,4,4], %w: f32[2,4096,1,1]",
     "%c = constant f32[4096] splat(0.0)\n"
     "%y = conv_transpose(%x, %w, %c)" WINDOW ", output_padding=[0,0]}", 0, 0.1},
    /* A product's by the axis that is summed, whichever side it is. */
    {"%x: f32[3,200]", "%c = constant f32[200,50] splat(1.0)\n%y = matmul(%x, %c)", 0, 0.1},
    {"%x: f32[200,3]", "%c = constant f32[50,200] splat(1.0)\n%y = matmul(%c, %x)", 0, 0.1},
    {"%x: f32[2,3,8]", "%c = constant f32[2,8,700] splat(1.0)\n%y = matmul(%x, %c)", 0, 0.5},
    {"%x: f32[1,4096,2,2], %b: f32[4096], %v: f32[4096]",
     "%c = constant f32[4096] splat(7.0)\n%y = batch_norm(%x, %c, %b, %b, %v)", 1, 0.1},
    {"%x: f32[1,4096,2,2], %b: f32[4096], %v: f32[4096]",
     "%c = constant f32[4096] splat(7.0)\n%y = batch_norm(%x, %b, %c, %b, %v)", 0, 0.1},
    {"%x: f32[1,4096,2,2], %b: f32[4096], %v: f32[4096]",
     "%c = constant f32[4096] splat(7.0)\n%y = batch_norm(%x, %b, %b, %c, %v)", 0, 0.1},
    {"%x: f32[1,4096,2,2], %b: f32[4096], %v: f32[4096]",
     "%c = constant f32[4096] splat(7.0)\n%y = batch_norm(%x, %b, %b, %v, %c)", POSITIVE, FOLDED},
    {"%x: f32[4096]", "%c = constant f32[4096] splat(7.0)\n%y = add(%x, %c)", 0, 0.1},
    {"%x: f32[4096]", "%c = constant f32[4096] splat(7.0)\n%y = add(%c, %x)", 0, 0.1},
    {"%x: f32[4096]", "%c = constant f32[4096] splat(7.0)\n%y = sub(%x, %c)", 0, 0.1},
    {"%x: f32[4096]", "%c = constant f32[4096] splat(7.0)\n%y = mul(%x, %c)", 1, 0.1},
    {"%x: f32[4096]", "%c = constant f32[4096] splat(7.0)\n%y = mul(%c, %x)", 1, 0.1},
    {"%x: f64[4096]", "%c = constant f64[4096] splat(7.0)\n%y = mul(%c, %x)", 1, 0.1},
    {"%x: f16[4096]", "%c = constant f16[4096] splat(7.0)\n%y = add(%c, %x)", 0, 0.1},
    /* Through what moves elements, up to three times. */
    {"%x: f32[3,200]",
     "%c = constant f32[50,200] splat(1.0)\n%t = transpose(%c) {perm=[1,0]}\n"
     "%y = matmul(%x, %t)", 0, 0.1},
    {"%x: f32[3,200]",
     "%c = constant f32[10000] splat(1.0)\n%a = reshape(%c) {shape=[50,200]}\n"
     "%b = reshape(%a) {shape=[200,50]}\n%d = reshape(%b) {shape=[200,50]}\n%y = matmul(%x, %d)",
     0, 0.1},
    {"%x: f32[3,200]",
     "%c = constant f32[10000] splat(1.0)\n%a = reshape(%c) {shape=[50,200]}\n"
     "%b = reshape(%a) {shape=[200,50]}\n%d = reshape(%b) {shape=[50,200]}\n"
     "%e = reshape(%d) {shape=[200,50]}\n%y = matmul(%x, %e)", 0, 0},
    /* What stays: other uses, other numbers. */
    {"%x: f32[4096]", "%c = constant f32[4096] splat(7.0)\n%y = sub(%c, %x)", 0, 0},
    {"%x: f32[4096]", "%c = constant f32[4096] splat(7.0)\n%y = div(%x, %c)", 0, 0},
    {"%x: f32[2]", "%c = constant f32[2] {7.0, 7.0}\n%y = relu(%c)", 0, 0},
    {"%x: f32[2]", "%c = constant f32[2] {7.0, 8.0}\n%y = add(%c, %x)", 0, 0},
    {"%x: f32[3]", "%c = constant f32[3] {7.0, 7.0, 8.0}\n%y = add(%c, %x)", 0, 0},
    {"%x: f32[2]", "%c = constant f32[1] splat(7.0)\n%y = add(%c, %x)", 0, 0},
    {"%x: i32[8]", "%c = constant i32[8] splat(7)\n%y = add(%c, %x)", 0, 0},
};

static void scales_of_weights(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(weights); i++) {
    const weight_case *c = &weights[i];
    char body[600];
    snprintf(body, sizeof body, "%s\noutput %%y", c->body);
    wk_module *m = module_of(c->inputs, body);
    const wk_value *v = constant_of(m);
    const void *before = v->data;
    int64_t replaced, n = wk_type_count(&v->type);
    assert_null(wk_weights_randomise(m, 5, &replaced));
    if (replaced != (c->deviation > 0) || (v->data != before) != (c->deviation > 0))
      fail_msg("%zu: %lld are replaced: %s", i, (long long)replaced, c->body);
    if (c->deviation > 0) {
      double sum = 0, squares = 0, least = INFINITY;
      for (int64_t k = 0; k < n; k++) {
        double x = wk_load_f64(v->data, v->type.dtype, k) - c->mean;
        sum += x;
        squares += x * x;
        least = fmin(least, x + c->mean);
      }
      double deviation = sqrt(squares / (double)n), error = c->deviation / sqrt((double)n);
      if (fabs(sum / (double)n) > 4 * error || fabs(deviation - c->deviation) > 4 * error)
        fail_msg("%zu: mean %g, deviation %g: %s", i, c->mean + sum / (double)n, deviation,
                 c->body);
      if (c->mean == POSITIVE) assert_true(least >= 0.5); /* a variance */
    }
    wk_module_free(m);
  }
}

/* The same for a seed, other ones for another, and for each constant of all graphs. */
static void seeds_of_weights(void **state) {
  (void)state;
  static const char body[] = "%c = constant f32[64] splat(1.0)\n%d = constant f32[64] splat(1.0)\n"
                             "%e = add(%x, %c)\n%y = mul(%e, %d)\noutput %y";
  float got[3][2][64];
  for (int round = 0; round < 3; round++) {
    wk_module *m = module_of("%x: f32[64]", body);
    int64_t replaced;
    assert_null(wk_weights_randomise(m, round == 2 ? 8 : 7, &replaced));
    assert_int_equal(replaced, 2);
    int at = 0;
    for (size_t v = 0; v < m->main->values.n; v++)
      if (m->main->values.data[v].kind == WK_VALUE_CONSTANT)
        memcpy(got[round][at++], m->main->values.data[v].data, sizeof got[0][0]);
    assert_int_equal(at, 2);
    wk_module_free(m);
  }
  assert_memory_equal(got[0], got[1], sizeof got[0]);
  assert_memory_not_equal(got[0][0], got[2][0], sizeof got[0][0]);
  for (int k = 0; k < 64; k++) assert_true(fabsf(got[0][0][k] - got[0][1][k] + 1) > 1e-6f);
}

/* ---- outputs --------------------------------------------------------------------------------- */

typedef struct {
  const char *body;
  struct {
    bool is_random, is_dynamic;
    double step;
  } out[3];
} output_case;

#define SCALES "%s = constant f32[] {0.25}\n%z = constant u8[] {3}\n"

static const output_case outputs[] = {
    {"%a = relu(%x)\noutput %a\noutput %x", {{false, false, 0}, {false, false, 0}}},
    {"%r = random_uniform() {to=f32, shape=[3], seed=7}\n%a = add(%x, %r)\n%b = relu(%a)\n"
     "%d = relu(%x)\noutput %d\noutput %b\noutput %r",
     {{false, false, 0}, {true, false, 0}, {true, false, 0}}},
    {SCALES "%q = quantize(%x, %s, %z) {to=u8}\n%d = dequantize(%q, %s, %z)\n"
     "%t = reshape(%d) {shape=[3,1]}\n%e = relu(%d)\noutput %d\noutput %t\noutput %e",
     {{false, false, 0.25}, {false, false, 0.25}, {false, false, 0}}},
    {SCALES "%m = abs(%k)\n%q = quantize(%x, %m, %z) {to=u8}\n%d = dequantize(%q, %m, %z)\n"
     "%e = dequantize(%q, %s, %z)\n%f = relu(%x)\noutput %d\noutput %e\noutput %f",
     {{false, true, 0}, {false, true, 0.25}, {false, false, 0}}},
    {SCALES "%r = random_uniform() {to=f32, shape=[], seed=7}\n%q = quantize(%x, %r, %z) {to=u8}\n"
     "%d = dequantize(%q, %s, %z)\noutput %q\noutput %d",
     {{true, true, 0}, {true, true, 0.25}}},
};

static void what_outputs_depend_on(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(outputs); i++) {
    wk_module *m = module_of("%x: f32[3], %k: f32[]", outputs[i].body);
    wk_test_output *out = wk_test_outputs(m);
    for (size_t k = 0; k < m->main->outputs.n; k++)
      if (out[k].is_random != outputs[i].out[k].is_random ||
          out[k].is_dynamic != outputs[i].out[k].is_dynamic ||
          out[k].step != outputs[i].out[k].step)
        fail_msg("%zu, output %zu: %d %d %g", i, k, out[k].is_random, out[k].is_dynamic,
                 out[k].step);
    free(out);
    wk_module_free(m);
  }
}

static void labels_are_compared(void **state) {
  (void)state;
  static const struct {
    int64_t got[3], want[3];
    const char *message; /* NULL: they agree */
  } cases[] = {
      {{0, 1, 2}, {0, 1, 2}, NULL},
      {{0, 3, 2}, {0, 1, 2}, NULL}, /* two labels of the same text */
      {{0, 1, 2}, {0, 2, 2}, "s: output y: element 1 is 'b', want 'c'"},
      {{0, 1, 2}, {0, 1, 0}, "s: output y: element 2 is 'c', want 'a'"},
      {{0, 1, -1}, {0, 1, 2}, "s: output y: element 2 is '(no label)', want 'c'"},
      {{4, 1, 2}, {0, 1, 2}, "s: output y: element 0 is '(no label)', want 'a'"},
      {{4, 1, 2}, {4, 1, 2}, NULL},
      {{0, 1, 2}, {4, 1, 2}, "s: output y: element 0 is 'a', want '(no label)'"},
      {{0, 1, 2}, {0, -1, 2}, "s: output y: element 1 is 'b', want a string that is none of the "
                              "model's labels"},
  };
  const char *texts[] = {"a", "b", "c", "b"};
  wk_labels l = {.output = "y"};
  l.texts.v = texts;
  l.texts.n = 4;
  wk_test_set set = {.name = "s"};
  const int64_t dims[] = {3};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_tensor got = {.type = wk_type_make(WK_I64, 1, dims), .data = (void *)cases[i].got};
    wk_tensor want = {.type = got.type, .data = (void *)cases[i].want};
    wk_status s = wk_test_labelled(&set, &l, &got, &want);
    assert_int_equal(s == NULL, cases[i].message == NULL);
    if (s) assert_string_equal(s->message, cases[i].message);
    wk_status_free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scales_of_weights), cmocka_unit_test(seeds_of_weights),
      cmocka_unit_test(what_outputs_depend_on), cmocka_unit_test(labels_are_compared)};
  return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
