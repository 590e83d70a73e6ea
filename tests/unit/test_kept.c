/* SPDX-License-Identifier: Apache-2.0
 * Inputs of a model that are kept from run to run, as the caches of decoders. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/integer/integer.h"
#include "compiler/pipeline/runner.h"
#include "compiler/pipeline/state.h"

static void must(wk_status s) {
  if (s) fail_msg("%s", s->message);
}

static wk_runner *runner_of(const wk_module *m) {
  wk_runner *r;
  const wk_runner_options o = {.target = {.target = "cpu"}, .threads = 1, .model_name = "kept"};
  must(wk_runner_of_module(wk_module_clone(m), &o, &r));
  return r;
}

static const char cache_text[] =
    "module \"cache\" { graph @main(%at: i64[1,1], %x: f32[1,2]) {\n"
    "  variable %c: f32[4,2] = {1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0}\n"
    "  %n = scatter_nd(%c, %at, %x)\n  %y = neg(%n)\n  output %y\n  update %c = %n\n}}";

/* A cache that is full: the run fails, and no row of it changes. */
static void rows_outside_change_nothing(void **state) {
  (void)state;
  wk_module *m;
  must(wk_module_parse(cache_text, "cache", &m));
  wk_runner *r = runner_of(m);
  int64_t at = 4;
  float x[] = {9, 9};
  wk_tensor in[] = {{*wk_runner_input_type(r, 0), &at}, {*wk_runner_input_type(r, 1), x}};
  wk_tensor out = {0};
  wk_status s = wk_runner_run(r, in, &out);
  assert_non_null(s);
  wk_status_free(s);
  for (int i = 0; i < 8; i++)
    assert_true(((const float *)wk_runner_state_data(r, 0))[i] == (float)(i / 2 + 1));
  at = -1;
  must(wk_runner_run(r, in, &out));
  assert_true(((const float *)wk_runner_state_data(r, 0))[7] == 9);
  wk_tensor_free(&out);
  wk_runner_free(r);
  wk_module_free(m);
}

/* Inputs that are kept begin as zeros, of however many bytes; labels of outputs go with them. */
static void inputs_are_kept(void **state) {
  static const int64_t dims[] = {1 << 16, 1 << 10};
  static const char *const texts[] = {"a"};
  (void)state;
  const wk_type t = wk_type_make(WK_F32, 2, dims);
  wk_module *m = wk_module_new("kept");
  wk_graph *g = wk_graph_new(m, "main");
  wk_value_id x = wk_graph_input(g, "past", &t), y = wk_graph_input(g, "other", &t);
  wk_graph_output(g, "sum", wk_build(g, WK_OP_ADD, NULL, 2, x, y));
  wk_graph_output(g, "present", wk_build(g, WK_OP_MUL, NULL, 2, x, y));
  wk_module_label(m, &(wk_labels){.output = "present", .kind = WK_LABELS_ELEMENTS,
                                  .texts = {.n = 1, .v = texts}});
  must(wk_graph_keep(g, x, 1));
  assert_null(wk_module_labels(m, "present"));
  must(wk_module_verify(m));
  assert_int_equal(wk_graph_plain_inputs(g), 1);
  assert_int_equal(wk_graph_plain_outputs(g), 1);
  assert_true(g->inputs.data[0] == y && g->inputs.data[1] == x);
  assert_true(g->updates.data[1] == x && wk_is_variable(g, x));
  wk_module_free(m);
}

/* A cache that could keep bytes does, under a name that says what they mean, unless another program
 * has it, too. */
static void types_are_kept(void **state) {
  static const char text[] =
      "module \"m\" { graph @main(%at: i64[1,1], %x: u8[1,2]) {\n"
      "  variable public %c: f32[2,2] = {0.0, 0.0, 0.0, 0.0}\n  %s = constant f32[] {0.25}\n"
      "  %z = constant u8[] {7}\n  %r = dequantize(%x, %s, %z)\n"
      "  %n = scatter_nd(%c, %at, %r)\n  %q = quantize(%n, %s, %z) {to=u8}\n"
      "  output %q\n  update %c = %n\n}}";
  (void)state;
  for (int keeps = 0; keeps < 2; keeps++) {
    wk_module *m;
    int64_t changes;
    must(wk_module_parse(text, "m", &m));
    m->keeps_variables = keeps;
    must(wk_integer_convert(m, &changes));
    const wk_value *c = wk_val(m->main, m->main->inputs.data[2]);
    assert_int_equal(c->type.dtype, keeps ? WK_F32 : WK_U8);
    assert_string_equal(c->name, keeps ? "c" : "c (scale 0.25 zero 7)");
    wk_module_free(m);
  }
}

/* Another order of axes of what is written is read from the update. */
static void updates_are_read(void **state) {
  static const char text[] =
      "module \"m\" { graph @main(%at: i64[1,1], %x: f32[1,2,3], %past: f32[2,4,3]) {\n"
      "  %p = transpose(%past) {perm=[1,0,2]}\n  %s = scatter_nd(%p, %at, %x)\n"
      "  %keys = transpose(%s) {perm=[1,2,0]}\n  %present = transpose(%s) {perm=[1,0,2]}\n"
      "  %y = exp(%keys)\n  output %y\n  output %present\n}}";
  char pair[] = "past=present";
  char *data[] = {pair};
  const wk_strings options = {.data = (const char **)data, .n = 1};
  wk_notes notes = {0};
  wk_module *m;
  (void)state;
  must(wk_module_parse(text, "m", &m));
  must(wk_model_keep(m, &options, "m", &notes));
  must(wk_module_verify(m));
  const wk_graph *g = m->main;
  const wk_node *y = wk_nod(g, wk_val(g, g->outputs.data[0])->node);
  const wk_node *keys = wk_nod(g, wk_val(g, y->in[0])->node);
  assert_true(wk_is_update(g, keys->in[0]));
  static const int64_t perm[] = {0, 2, 1};
  assert_memory_equal(WK_ATTR(keys, transpose)->perm.v, perm, sizeof perm);
  wk_notes_free(&notes);
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_outside_change_nothing),
                                     cmocka_unit_test(inputs_are_kept),
                                     cmocka_unit_test(types_are_kept),
                                     cmocka_unit_test(updates_are_read)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
