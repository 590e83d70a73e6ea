/* SPDX-License-Identifier: Apache-2.0
 * Which nodes a device takes, and what it says of the others: on both sides of each limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "targets/opencl/opencl.h"
#include "tests/unit/graph_text.h"

static wk_opencl device_of(bool has_f64) {
  return (wk_opencl){.base = {.target = &wk_target_opencl}, .family = WK_CL_GPU,
                     .info = {.type = WICK_OPENCL_GPU, .base_align = 128, .has_f64 = has_f64}};
}

/* Of the first node; "": it is taken. */
static const char *answer(bool has_f64, const wk_module *m) {
  const wk_opencl d = device_of(has_f64);
  const char *reason = "nothing";
  bool is_taken = wk_target_opencl.supports(&d.base, m->main, &m->main->nodes.data[0], m->arena,
                                            &reason);
  assert_true(is_taken == !reason);
  return reason ? reason : "";
}

#define NO_F64 "the device has no 64-bit floats"
#define MANY "it has more operands than a kernel"
#define LINE "it would go along a long line many times"
#define NONE "there are no loops for this operator"

static void nodes(void **state) {
  static const struct {
    const char *inputs, *node, *without, *with; /* f64 */
  } cases[] = {
      {"%x: f32[8]", "%y = map(%x) {body=\"neg(%0)\"}", "", ""},
      {"%x: f64[8]", "%y = map(%x) {body=\"f32(%0)\"}", NO_F64, ""},
      {"%x: f32[8]", "%y = map(%x) {body=\"f64(%0)\"}", NO_F64, ""},
      {"%x: f32[8]", "%y = map(%x) {body=\"f32(neg(f64(%0)))\"}", NO_F64, ""},
      {"%x: f32[8], %z: f64[8]", "%y = map(%x, %z) {body=\"neg(%0)\"}", NO_F64, ""},
      {"%x: f32[8]", "%y = reduce(%x) {axes=[0], pre=\"mul(%0, %0)\"}", "", ""},
      {"%x: f32[8]", "%y = reduce(%x) {axes=[0], pre=\"f64(%0)\", post=\"f32(%0)\"}", NO_F64, ""},
      {"%x: f32[8]", "%y = reduce(%x) {axes=[0], post=\"f32(sqrt(f64(%0)))\"}", NO_F64, ""},
      {"%x: f64[8]", "%y = cum_sum(%x) {axis=0}", NO_F64, ""},
      {"%x: f64[8]", "%y = identity(%x)", NO_F64, ""},
      {"%x: i64[8]", "%y = identity(%x)", "", ""},
      {"%x: f64[8]", "%y = transpose(%x) {perm=[0]}", NO_F64, ""},
      {"%x: f32[8]", "%y = transpose(%x) {perm=[0]}", "", ""},
      {"%x: f32[8]", "%y = softmax(%x) {axis=0}", NONE, NONE},
      {"%x: f32[8,8]", "%y = det(%x)", NONE, NONE},
      {"%x: f32[1,4194304]", "%y, - = top_k(%x) {axis=1, k=4}", "", ""},
      {"%x: f32[1,4194305]", "%y, - = top_k(%x) {axis=1, k=4}", LINE, LINE},
      {"%x: f32[9,4194304]", "%y, - = top_k(%x) {axis=0, k=9}", "", ""},
      {"%x: f32[8589934592]", "%y, - = top_k(%x) {axis=0, k=2147483648}", LINE, LINE},
  };
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_module *m = graph_of(cases[i].inputs, cases[i].node, "\noutput %y");
    const char *without = answer(false, m), *with = answer(true, m);
    if ((strcmp(without, cases[i].without) || strcmp(with, cases[i].with)) && ++bad)
      print_message("%s: '%s', with f64 '%s'\n", cases[i].node, without, with);
    wk_module_free(m);
  }
  assert_int_equal(bad, 0);
}

/* A node with so many inputs and one output. */
static wk_module *many_inputs(const char *op, const char *attrs, int n) {
  wk_str inputs = {0}, node = {0};
  wk_str_printf(&node, "%%y = %s(", op);
  for (int k = 0; k < n; k++) {
    wk_str_printf(&inputs, "%s%%x%d: f32[2]", k ? ", " : "", k);
    wk_str_printf(&node, "%s%%x%d", k ? ", " : "", k);
  }
  wk_str_printf(&node, ") {%s}", attrs);
  wk_module *m = graph_of(inputs.s, node.s, "\noutput %y");
  wk_str_free(&inputs);
  wk_str_free(&node);
  return m;
}

/* What only moves needs no kernel of all its operands. */
static void operands(void **state) {
  static const struct {
    const char *op, *attrs;
    int n;
    const char *answer;
    bool fuses;
  } cases[] = {{"map", "body=\"neg(%0)\"", 1, "", true},
               {"map", "body=\"neg(%0)\"", WK_CL_MAX_OPERANDS - 1, "", true},
               {"map", "body=\"neg(%0)\"", WK_CL_MAX_OPERANDS, MANY, false},
               {"concat", "axis=0", WK_CL_MAX_OPERANDS, "", false}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    const wk_opencl d = device_of(false);
    wk_module *m = many_inputs(cases[i].op, cases[i].attrs, cases[i].n);
    const wk_graph *g = m->main;
    assert_string_equal(answer(false, m), cases[i].answer);
    assert_int_equal(wk_target_opencl.fuses(&d.base, g, &g->nodes.data[0]), cases[i].fuses);
    wk_module_free(m);
  }
}

static void coverage(void **state) {
  static const struct {
    wk_op op;
    const char *note; /* NULL: it has none for this operator */
  } cases[] = {{WK_OP_MAP, ""},
               {WK_OP_NEST, ""},
               {WK_OP_TOP_K, "not a large k of a long line"},
               {WK_OP_SOFTMAX, ""}, /* lowered */
               {WK_OP_DET, NULL},
               {WK_OP_IF, "the host reads its condition"},
               {WK_OP_LOOP, "the host reads its condition"}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    const char *note = "nothing";
    assert_true(wk_target_opencl.covers(cases[i].op, &note) == (cases[i].note != NULL));
    if (cases[i].note) assert_string_equal(note, cases[i].note);
  }
}

/* Channels last; where buffers start, as the device wants it, but never less evenly than others. */
static void wishes(void **state) {
  static const struct {
    uint32_t base_align;
    int64_t align;
  } cases[] = {{1, 64}, {32, 64}, {64, 64}, {128, 128}, {4096, 4096}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_opencl d = device_of(false);
    d.info.base_align = cases[i].base_align;
    wk_wish w = wk_target_opencl.wish(&d.base, NULL);
    assert_int_equal(w.align, cases[i].align);
    assert_true(w.channels_last);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nodes), cmocka_unit_test(operands),
                                     cmocka_unit_test(coverage), cmocka_unit_test(wishes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
