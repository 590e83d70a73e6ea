/* SPDX-License-Identifier: Apache-2.0
 * Models of one node on constants, and what comes of them, for tests. */
#ifndef WICK_TESTS_IMPORT_NODE_H
#define WICK_TESTS_IMPORT_NODE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "tests/unit/model_builder.h"

#define MICROSOFT "com.microsoft"
enum {
  ELEM_U8 = 2, ELEM_I8 = 3, ELEM_I32 = 6, ELEM_F64 = 11, ELEM_U32 = 12, ELEM_U64 = 13, ELEM_U4 = 21,
  ELEM_I4 = 22
};

/* ---- building -------------------------------------------------------------------------------- */

/* dims: as "2 3"; "" is a scalar. */
static inline int read_dims(const char *text_, int64_t *dims) {
  int n = 0;
  char *end;
  for (const char *p = text_; *p; p = end + (*end == ' ')) dims[n++] = strtoll(p, &end, 10);
  return n;
}

static inline void add_data(builder *b, const char *name, int32_t elem, const char *dims_text,
                     const void *data, size_t size) {
  int64_t dims[WK_MAX_RANK], n = 1;
  int rank = read_dims(dims_text, dims);
  for (int i = 0; i < rank; i++) n *= dims[i];
  Onnx__TensorProto *t = raw_tensor(b, name, elem, rank, dims, data, (size_t)n * size);
  ADD(b, b->g->initializer, b->g->n_initializer, t);
}

#define ADD_F32(b, name, dims, ...) \
  add_data(b, name, ELEM_F32, dims, (const float[]){__VA_ARGS__}, sizeof(float))
#define ADD_I64(b, name, dims, ...) \
  add_data(b, name, ELEM_I64, dims, (const int64_t[]){__VA_ARGS__}, sizeof(int64_t))
#define ADD_U8(b, name, dims, ...) \
  add_data(b, name, ELEM_U8, dims, (const uint8_t[]){__VA_ARGS__}, 1)

static inline void set_float(builder *b, Onnx__NodeProto *n, const char *name, float v) {
  Onnx__AttributeProto *a = attribute(b, n, name);
  a->has_f = true;
  a->f = v;
}

static inline void set_text(builder *b, Onnx__NodeProto *n, const char *name, const char *v) {
  Onnx__AttributeProto *a = attribute(b, n, name);
  a->has_s = true;
  a->s = (ProtobufCBinaryData){strlen(v), (uint8_t *)text(b, v)};
}

static inline void set_ints(builder *b, Onnx__NodeProto *n, const char *name, size_t count,
                     const int64_t *v) {
  Onnx__AttributeProto *a = attribute(b, n, name);
  a->n_ints = count;
  a->ints = wk_arena_memdup(b->a, v, count * sizeof *v);
}

static inline void set_floats(builder *b, Onnx__NodeProto *n, const char *name, size_t count,
                       const float *v) {
  Onnx__AttributeProto *a = attribute(b, n, name);
  a->n_floats = count;
  a->floats = wk_arena_memdup(b->a, v, count * sizeof *v);
}
#define INTS(...) sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__}
#define FLOATS(...) sizeof((float[]){__VA_ARGS__}) / sizeof(float), (const float[]){__VA_ARGS__}

static inline Onnx__NodeProto *microsoft(builder *b, const char *op, const char *in,
                                         const char *out) {
  Onnx__NodeProto *n = add_node(b, b->g, op, in, out);
  n->domain = text(b, MICROSOFT);
  add_opset(b, MICROSOFT, 1);
  return n;
}

static inline void set_texts(builder *b, Onnx__NodeProto *n, const char *name, size_t count,
                      const char *const *v) {
  Onnx__AttributeProto *a = attribute(b, n, name);
  a->n_strings = count;
  a->strings = wk_arena_alloc(b->a, count * sizeof *a->strings);
  for (size_t i = 0; i < count; i++)
    a->strings[i] = (ProtobufCBinaryData){strlen(v[i]), (uint8_t *)text(b, v[i])};
}

static inline Onnx__NodeProto *machine_learning(builder *b, const char *op, const char *in,
                                         const char *out) {
  Onnx__NodeProto *n = add_node(b, b->g, op, in, out);
  n->domain = text(b, "ai.onnx.ml");
  add_opset(b, "ai.onnx.ml", 3);
  return n;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Imports, evaluates and frees the model, whose outputs (of any type) it names. */
static inline wk_tensor output_of(builder *b, const char *name) {
  wk_module *m = NULL;
  wk_tensor out;
  add_output(b, b->g, name, 0);
  b->g->output[0]->type = NULL; /* whatever it is */
  wk_status s = import_model(b, NULL, NULL, &m);
  if (!s) s = wk_eval_graph(m->main, NULL, &out, NULL, NULL);
  if (s) wk_status_print(stderr, s);
  assert_null(s);
  wk_module_free(m);
  return out;
}

static inline void expect_numbers(builder *b, const char *name, const char *dims_text,
                                  wk_dtype type,
                           int64_t n, const double *want) {
  int64_t dims[WK_MAX_RANK];
  wk_type shape = wk_type_make(type, read_dims(dims_text, dims), dims);
  wk_tensor got = output_of(b, name);
  assert_true(wk_type_equal(&got.type, &shape));
  assert_int_equal(wk_type_count(&got.type), n);
  for (int64_t i = 0; i < n; i++)
    assert_float_equal(wk_load_f64(got.data, type, i), want[i], 1e-5 * (1 + fabs(want[i])));
  wk_tensor_free(&got);
}
#define EXPECT(b, name, dims, type, ...)                                              \
  expect_numbers(b, name, dims, type, sizeof((double[]){__VA_ARGS__}) / sizeof(double), \
                 (const double[]){__VA_ARGS__})

static inline void expect_refusal(builder *b, const char *name, wk_code code, const char *part) {
  wk_module *m = NULL;
  add_output(b, b->g, name, ELEM_F32);
  wk_status s = import_model(b, NULL, NULL, &m);
  assert_non_null(s);
  assert_int_equal(s->code, code);
  wk_str all = {0};
  wk_str_printf(&all, "%s %s", s->message, s->notes ? s->notes : "");
  if (!strstr(all.s, part)) fail_msg("'%s' lacks '%s'", all.s, part);
  wk_str_free(&all);
  wk_status_free(s);
}

#endif
