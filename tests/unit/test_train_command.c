/* SPDX-License-Identifier: Apache-2.0
 * wick train of a model whose weights are in a file of their own: what a run and its continuation
 * must have in common. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/command_output.h"
#include "tests/unit/model_builder.h"

#define TRAIN(...)                                                                            \
  &wk_cmd_train, WORDS(W("train"), W("ext.onnx"), W("--loss=l"), W("--data=x.npy"),        \
                       W("--checkpoint=c"), W("--output=out/t.onnx"), W("--threads=1"),     \
                       W("--train=v"), __VA_ARGS__)

static void put_numbers(const char *path, int rows, float first) {
  float values[64];
  assert_in_range(rows, 0, WK_COUNTOF(values) / 2);
  for (int i = 0; i < 2 * rows; i++) values[i] = first + 0.25f * (float)i;
  put_npy(path, rows, 2, values);
}

static void put_weights(float first) {
  const float w[] = {first, 2};
  assert_null(wk_write_file("w.bin", (const char *)w, sizeof w));
}

static void add_weight(builder *b, const char *name, const char *file) {
  static const int64_t dims[] = {2};
  static const float values[] = {1, 2};
  Onnx__TensorProto *t = raw_tensor(b, name, ELEM_F32, 1, dims, values, sizeof values);
  if (file) {
    Onnx__StringStringEntryProto *e = wk_arena_alloc(b->a, sizeof *e);
    onnx__string_string_entry_proto__init(e);
    e->key = text(b, "location");
    e->value = text(b, file);
    ADD(b, t->external_data, t->n_external_data, e);
    t->has_raw_data = false;
    t->has_data_location = true;
    t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  }
  ADD(b, b->g->initializer, b->g->n_initializer, t);
}

/* l = sum of (x * w * v)^2, of which v is trained. */
static int make_model(void **state) {
  if (enter_folder(state) || mkdir("out", 0777)) return -1;
  builder b = new_model(17);
  add_input(&b, b.g, "x", ELEM_F32, "n 2");
  add_weight(&b, "w", "w.bin");
  add_weight(&b, "v", NULL);
  add_node(&b, b.g, "Mul", "x w", "m");
  add_node(&b, b.g, "Mul", "m v", "y");
  set_int(&b, add_node(&b, b.g, "ReduceSumSquare", "y", "l"), "keepdims", 0);
  add_output(&b, b.g, "l", ELEM_F32);
  size_t n = onnx__model_proto__get_packed_size(&b.model);
  uint8_t *bytes = wk_arena_alloc(b.a, n);
  onnx__model_proto__pack(&b.model, bytes);
  assert_null(wk_write_file("ext.onnx", (const char *)bytes, n));
  wk_arena_free(b.a);
  put_weights(1);
  put_numbers("x.npy", 4, 0.5f);
  return 0;
}

/* there: NULL says that a line is only in one of them. */
static void expect_other_run(const char *option, const char *there, const char *here) {
  char message[256];
  int n = snprintf(message, sizeof message, "is a checkpoint of another run");
  if (there)
    snprintf(message + n, sizeof message - (size_t)n, ": there it was '%s', here it is '%s'", there,
             here);
  expect_refused(TRAIN(W("--batch=2"), W("--epochs=2"), W("--resume"), W(option)), WK_USAGE,
                 "c/checkpoint", message);
}

static void what_a_continuation_needs(void **state) {
  (void)state;
  static const struct {
    const char *option, *there, *here;
  } cases[] = {
      {"--seed=2", "seed 1", "seed 2"},
      {"--batch=1", "batch 2", "batch 1"},
      {"--lr=0.25", "optimizer adam, lr 0.001, weight-decay 0",
       "optimizer adam, lr 0.25, weight-decay 0"},
      {"--clip-norm=1", "clip-norm 0", "clip-norm 1"},
      {"--accumulate=2", "accumulate 1", "accumulate 2"},
      {"--validate=0.5", "validate 0", "validate 0.5"},
      {"--optimizer=sgd", "optimizer adam, lr 0.001, weight-decay 0",
       "optimizer sgd, lr 0.01, weight-decay 0"},
      {"--freeze=w", NULL, NULL},
      {"--schedule=cosine", "schedule constant", "schedule cosine"},
  };
  wk_str out = {0};
  assert_null(run_words(TRAIN(W("--batch=2"), W("--epochs=1")), &out));
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    expect_other_run(cases[i].option, cases[i].there, cases[i].here);
  put_weights(1.5f);
  expect_other_run("-v", "weights 4de8d78f7134f4b7",
                   "weights f89cb2e7cf91b090");
  put_weights(1);
  put_numbers("x.npy", 4, 0.75f);
  expect_other_run("-v", "samples of x: f32[4,2] 88f21139aea2d5a7",
                   "samples of x: f32[4,2] 3ad4c72a232f577f");
  put_numbers("x.npy", 4, 0.5f);
  assert_null(run_words(TRAIN(W("--batch=2"), W("--epochs=2"), W("--resume")), &out));
  wk_str_free(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_continuation_needs)};
  return cmocka_run_group_tests(tests, make_model, leave_folder);
}
