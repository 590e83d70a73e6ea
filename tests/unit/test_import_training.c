/* SPDX-License-Identifier: Apache-2.0 */
/* What is different about a model that is imported for training. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "tests/unit/model_builder.h"

static void add_f32(builder *b, const char *name, int rank, const int64_t *dims, const float *v) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= dims[i];
  Onnx__TensorProto *t =
      raw_tensor(b, name, ELEM_F32, rank, dims, v, (size_t)n * sizeof *v);
  ADD(b, b->g->initializer, b->g->n_initializer, t);
}

static size_t count(const wk_graph *g, wk_op op) {
  size_t n = 0;
  for (size_t i = 0; i < g->nodes.n; i++) n += !g->nodes.data[i].dead && g->nodes.data[i].op == op;
  return n;
}

/* ---- weights --------------------------------------------------------------------------------- */

static builder product(void) {
  static const int64_t dims[2] = {2, 3};
  static const float w[6] = {1, 2, 3, 4, 5, 6};
  builder b = new_model(13);
  add_f32(&b, "w", 2, dims, w);
  add_input(&b, b.g, "x", ELEM_F32, "4 3");
  add_node(&b, b.g, "Transpose", "w", "t");
  add_node(&b, b.g, "MatMul", "x t", "y");
  add_output(&b, b.g, "y", ELEM_F32);
  return b;
}

static void test_weights_stay(void **state) {
  (void)state;
  wk_import_report r;
  builder b = product();
  wk_module *m = import_for(&b, WK_FOR_INFERENCE, &r);
  assert_int_equal(count(m->main, WK_OP_TRANSPOSE), 0);
  assert_int_equal(r.weights.n, 0);
  wk_import_report_free(&r);
  wk_module_free(m);
  b = product();
  m = import_for(&b, WK_FOR_TRAINING, &r);
  assert_int_equal(count(m->main, WK_OP_TRANSPOSE), 1);
  assert_int_equal(r.weights.n, 1);
  assert_string_equal(r.weights.data[0].name, "w");
  assert_null(r.key);
  wk_import_report_free(&r);
  wk_module_free(m);
  b = product();
  m = import_for(&b, WK_FOR_EVALUATION, &r);
  assert_int_equal(count(m->main, WK_OP_TRANSPOSE), 1);
  wk_import_report_free(&r);
  wk_module_free(m);
}

/* Where no initialiser has floats, the tensors of Constants are the weights. */
static void test_constants(void **state) {
  (void)state;
  static const int64_t dims[2] = {2, 3};
  static const float w[6] = {1, 2, 3, 4, 5, 6};
  builder b = new_model(13);
  Onnx__NodeProto *n = add_node(&b, b.g, "Constant", "", "w");
  attribute(&b, n, "value")->t = raw_tensor(&b, "", ELEM_F32, 2, dims, w, sizeof w);
  add_input(&b, b.g, "x", ELEM_F32, "4 3");
  add_node(&b, b.g, "Transpose", "w", "t");
  add_node(&b, b.g, "MatMul", "x t", "y");
  add_output(&b, b.g, "y", ELEM_F32);
  wk_import_report r;
  wk_module *m = import_for(&b, WK_FOR_TRAINING, &r);
  assert_int_equal(count(m->main, WK_OP_TRANSPOSE), 1);
  assert_int_equal(r.weights.n, 1);
  assert_string_equal(r.weights.data[0].name, "w");
  wk_import_report_free(&r);
  wk_module_free(m);
}

/* Initialisers of integers are no weights; where one has floats, Constants are not. */
static void test_constants_beside_initialisers(void **state) {
  (void)state;
  static const int64_t dims[1] = {3}, shape[1] = {3};
  static const float w[3] = {1, 2, 3};
  for (int k = 0; k < 2; k++) {
    builder b = new_model(13);
    Onnx__NodeProto *n = add_node(&b, b.g, "Constant", "", "w");
    attribute(&b, n, "value")->t = raw_tensor(&b, "", ELEM_F32, 1, dims, w, sizeof w);
    add_i64s(&b, b.g, "shape", shape, 1);
    if (k) add_f32(&b, "v", 1, dims, w);
    add_input(&b, b.g, "x", ELEM_F32, "3 1");
    add_node(&b, b.g, "Reshape", "x shape", "r");
    add_node(&b, b.g, "Mul", "r w", k ? "p" : "y");
    if (k) add_node(&b, b.g, "Add", "p v", "y");
    add_output(&b, b.g, "y", ELEM_F32);
    wk_import_report r;
    wk_module *m = import_for(&b, WK_FOR_TRAINING, &r);
    assert_int_equal(r.weights.n, 1);
    assert_string_equal(r.weights.data[0].name, k ? "v" : "w");
    wk_import_report_free(&r);
    wk_module_free(m);
  }
}

/* A weight that the branches of an If use is handed to them. */
static void test_bodies(void **state) {
  (void)state;
  static const int64_t dims[1] = {3};
  static const float w[3] = {1, 2, 3};
  builder b = new_model(13);
  add_f32(&b, "w", 1, dims, w);
  add_input(&b, b.g, "x", ELEM_F32, "3");
  add_input(&b, b.g, "c", ELEM_BOOL, "");
  Onnx__GraphProto *yes = new_graph(&b, "yes"), *no = new_graph(&b, "no");
  add_node(&b, yes, "Add", "x w", "a");
  add_output(&b, yes, "a", ELEM_F32);
  add_node(&b, no, "Sub", "x w", "b");
  add_output(&b, no, "b", ELEM_F32);
  Onnx__NodeProto *n = add_node(&b, b.g, "If", "c", "y");
  set_graph(&b, n, "then_branch", yes);
  set_graph(&b, n, "else_branch", no);
  add_output(&b, b.g, "y", ELEM_F32);
  wk_import_report r;
  wk_module *m = import_for(&b, WK_FOR_TRAINING, &r);
  bool found = false;
  for (size_t i = 0; i < m->main->nodes.n; i++) {
    const wk_node *node = &m->main->nodes.data[i];
    for (uint32_t k = 0; !node->dead && k < node->n_in; k++)
      found |= !strcmp(wk_val(m->main, node->in[k])->name, "w");
  }
  assert_true(found);
  wk_import_report_free(&r);
  wk_module_free(m);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static builder norm(void) {
  static const int64_t dims[1] = {2};
  static const float one[2] = {1, 1}, zero[2] = {0, 0}, mean[2] = {4, 8};
  builder b = new_model(9);
  add_f32(&b, "scale", 1, dims, one);
  add_f32(&b, "bias", 1, dims, zero);
  add_f32(&b, "mean", 1, dims, mean);
  add_f32(&b, "var", 1, dims, one);
  add_input(&b, b.g, "x", ELEM_F32, "2 2");
  add_node(&b, b.g, "BatchNormalization", "x scale bias mean var", "y");
  add_node(&b, b.g, "BatchNormalization", "y scale bias mean var", "z");
  add_output(&b, b.g, "z", ELEM_F32);
  return b;
}

static void test_statistics(void **state) {
  (void)state;
  wk_import_report r;
  builder b = norm();
  wk_module *m = import_for(&b, WK_FOR_TRAINING_FROZEN_NORM, &r);
  assert_int_equal(r.moved.n, 0);
  assert_int_equal(count(m->main, WK_OP_REDUCE_MEAN), 0);
  wk_import_report_free(&r);
  wk_module_free(m);
  b = norm();
  m = import_for(&b, WK_FOR_TRAINING, &r);
  assert_int_equal(r.moved.n, 2);
  assert_string_equal(r.moved.data[0].name, "mean");
  assert_string_equal(m->main->output_names.data[1], r.moved.data[0].output);
  /* x has the means 2 and 4 and the variances 1 and 4, y 0 and 1; epsilon 1e-5. */
  float x[4] = {1, 2, 3, 6};
  const int64_t dims[2] = {2, 2};
  wk_tensor in = {wk_type_make(WK_F32, 2, dims), x}, out[3];
  assert_null(wk_eval_graph(m->main, &in, out, NULL, NULL));
  const float *mean = out[1].data, *var = out[2].data;
  assert_true(fabsf(mean[0] - ((4 * 0.9f + 2 * 0.1f) * 0.9f + 0)) < 1e-6f);
  assert_true(fabsf(mean[1] - ((8 * 0.9f + 4 * 0.1f) * 0.9f + 0)) < 1e-6f);
  assert_true(fabsf(var[0] - ((0.9f + 0.1f) * 0.9f + 0.1f)) < 1e-5f);
  assert_true(fabsf(var[1] - ((0.9f + 0.4f) * 0.9f + 0.1f)) < 1e-5f);
  for (int i = 0; i < 3; i++) wk_tensor_free(&out[i]);
  wk_import_report_free(&r);
  wk_module_free(m);
}

/* ---- Dropout --------------------------------------------------------------------------------- */

static void test_dropout(void **state) {
  (void)state;
  enum { N = 4000 };
  wk_import_report r;
  builder b = new_model(13);
  add_input(&b, b.g, "x", ELEM_F32, "10 400");
  const float ratio = 0.25f;
  add_f32(&b, "ratio", 0, NULL, &ratio);
  Onnx__NodeProto *n = add_node(&b, b.g, "Dropout", "x ratio", "y mask");
  set_int(&b, n, "seed", 5);
  add_output(&b, b.g, "y", ELEM_F32);
  add_output(&b, b.g, "mask", ELEM_BOOL);
  wk_module *m = import_for(&b, WK_FOR_TRAINING, &r);
  assert_string_equal(r.key, "key");
  float x[N];
  for (int i = 0; i < N; i++) x[i] = 3;
  int64_t key = 77;
  const int64_t dims[2] = {10, 400};
  wk_tensor in[2] = {{wk_type_make(WK_F32, 2, dims), x}, {wk_type_make(WK_I64, 0, NULL), &key}};
  wk_tensor out[2];
  assert_null(wk_eval_graph(m->main, in, out, NULL, NULL));
  uint64_t stream = (uint64_t)key + 5 * 0x9E3779B97F4A7C15u;
  int dropped = 0;
  for (uint64_t i = 0; i < N; i++) {
    bool kept = (wk_philox(stream, 4 * i) >> 8) * 0x1p-24 >= 0.25;
    assert_int_equal(((const uint8_t *)out[1].data)[i], kept);
    assert_true(((const float *)out[0].data)[i] == (kept ? 4.0f : 0.0f));
    dropped += !kept;
  }
  assert_true(abs(dropped - N / 4) < 5 * 28);
  for (int i = 0; i < 2; i++) wk_tensor_free(&out[i]);
  wk_import_report_free(&r);
  wk_module_free(m);
}

/* Bodies see the ratio although it is an initialiser that they are handed, also through what they
 * compute of it. */
static builder branches(void) {
  const float ratio = 0.25f;
  builder b = new_model(13);
  add_f32(&b, "ratio", 0, NULL, &ratio);
  add_input(&b, b.g, "x", ELEM_F32, "10 400");
  add_input(&b, b.g, "c", ELEM_BOOL, "");
  Onnx__GraphProto *yes = new_graph(&b, "yes"), *no = new_graph(&b, "no");
  set_int(&b, add_node(&b, yes, "Dropout", "x ratio", "a"), "seed", 5);
  add_output(&b, yes, "a", ELEM_F32);
  add_node(&b, no, "Add", "ratio ratio", "more");
  set_int(&b, add_node(&b, no, "Dropout", "x more", "b"), "seed", 6);
  add_output(&b, no, "b", ELEM_F32);
  Onnx__NodeProto *n = add_node(&b, b.g, "If", "c", "y");
  set_graph(&b, n, "then_branch", yes);
  set_graph(&b, n, "else_branch", no);
  add_output(&b, b.g, "y", ELEM_F32);
  return b;
}

static int count_dropped(const wk_graph *g, bool c) {
  enum { N = 4000 };
  float x[N];
  int64_t key = 77;
  const int64_t dims[2] = {10, 400};
  for (int i = 0; i < N; i++) x[i] = 3;
  wk_tensor in[3] = {{wk_type_make(WK_F32, 2, dims), x}, {wk_type_make(WK_BOOL, 0, NULL), &c},
                     {wk_type_make(WK_I64, 0, NULL), &key}}, out;
  assert_null(wk_eval_graph(g, in, &out, NULL, NULL));
  int dropped = 0;
  for (int i = 0; i < N; i++) dropped += ((const float *)out.data)[i] == 0.0f;
  wk_tensor_free(&out);
  return dropped;
}

static void test_dropout_in_bodies(void **state) {
  (void)state;
  wk_import_report r;
  builder b = branches();
  wk_module *m = import_for(&b, WK_FOR_TRAINING, &r);
  assert_string_equal(r.key, "key");
  assert_true(abs(count_dropped(m->main, true) - 1000) < 5 * 28);
  assert_true(abs(count_dropped(m->main, false) - 2000) < 5 * 32);
  wk_import_report_free(&r);
  wk_module_free(m);
  b = branches();
  m = import_for(&b, WK_FOR_EVALUATION, &r);
  assert_int_equal(count_dropped(m->main, true) + count_dropped(m->main, false), 0);
  wk_import_report_free(&r);
  wk_module_free(m);
}

/* A node that trains does so in inference; an evaluation is of what has been trained. */
static void test_training_mode(void **state) {
  (void)state;
  static const struct { wk_import_purpose purpose; size_t maps, uniforms; } cases[] = {
      {WK_FOR_INFERENCE, 0, 1}, {WK_FOR_EVALUATION, 0, 0}, {WK_FOR_TRAINING, 1, 0}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    const float ratio = 0.25f;
    const uint8_t mode = 1;
    wk_import_report r;
    builder b = new_model(13);
    add_input(&b, b.g, "x", ELEM_F32, "10 400");
    add_f32(&b, "ratio", 0, NULL, &ratio);
    ADD(&b, b.g->initializer, b.g->n_initializer,
        raw_tensor(&b, "mode", ELEM_BOOL, 0, NULL, &mode, 1));
    add_node(&b, b.g, "Dropout", "x ratio mode", "y");
    add_output(&b, b.g, "y", ELEM_F32);
    wk_module *m = import_for(&b, cases[i].purpose, &r);
    assert_int_equal(count(m->main, WK_OP_MAP), cases[i].maps);
    assert_int_equal(count(m->main, WK_OP_RANDOM_UNIFORM), cases[i].uniforms);
    wk_import_report_free(&r);
    wk_module_free(m);
  }
}

/* What the model has keeps its name, whether it comes before the key is needed or after. */
static void test_name_of_key(void **state) {
  (void)state;
  wk_import_report r;
  builder b = new_model(13);
  add_input(&b, b.g, "x", ELEM_F32, "10 400");
  add_node(&b, b.g, "Dropout", "x", "d");
  add_node(&b, b.g, "Relu", "d", "key");
  add_output(&b, b.g, "key", ELEM_F32);
  wk_module *m = import_for(&b, WK_FOR_TRAINING, &r);
  assert_string_equal(wk_val(m->main, m->main->outputs.data[0])->name, "key");
  assert_string_equal(wk_val(m->main, m->main->inputs.data[1])->name, r.key);
  assert_string_not_equal(r.key, "key");
  wk_import_report_free(&r);
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_weights_stay), cmocka_unit_test(test_constants),
      cmocka_unit_test(test_constants_beside_initialisers),
      cmocka_unit_test(test_bodies), cmocka_unit_test(test_statistics),
      cmocka_unit_test(test_dropout), cmocka_unit_test(test_dropout_in_bodies),
      cmocka_unit_test(test_training_mode), cmocka_unit_test(test_name_of_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
