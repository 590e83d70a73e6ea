/* SPDX-License-Identifier: Apache-2.0
 * Every stream of examples/accel, and the first layer of bench/accel, is the layer that it says it
 * is: what the functional model leaves in memory are the bytes that the evaluator computes for the
 * quantised graph of that layer. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/integer/integer.h"
#include "sim/run.h"
#include "targets/accel/check/check.h"

enum { N = 16, RECORD = 32 + 8 * N }; /* of machine base */

typedef enum { POINTWISE, PRODUCT, DEPTHWISE, FIRST } layer_kind;

typedef struct {
  const char *file;
  layer_kind kind;
  int64_t size, in, out, kernel, zero; /* pixels of a side (rows of a product), channels */
} example;

/* Pixels of x or y. */
static int64_t pixels_of(const example *e, int64_t side) {
  return e->kind == PRODUCT ? side : side * side;
}
static int64_t stride_of(const example *e) { return e->kind == FIRST ? 2 : 1; }
/* Weights of an output. */
static int64_t depth_of(const example *e) {
  return e->kernel * e->kernel * (e->kind == DEPTHWISE ? 1 : e->in);
}

static void must(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static wk_stream *load(const char *file) {
  const char *end = strstr(__FILE__, "tests/unit/");
  wk_str path = {0};
  wk_stream *s;
  assert_non_null(end);
  wk_str_printf(&path, "%.*s%s", (int)(end - __FILE__), __FILE__, file);
  must(wk_stream_load(path.s, NULL, &s));
  wk_str_free(&path);
  return s;
}

static const wk_image *region(const wk_stream *s, const char *name, int64_t size) {
  const wk_image *r = wk_stream_find(s, name);
  assert_non_null(r);
  assert_int_equal(r->size, size);
  return r;
}

/* ---- the layer as a quantised graph ---------------------------------------------------------- */

/* Output channel c: its bias, and the factor from sums to bytes. */
static int32_t bias_of(const uint8_t *records, int64_t c) {
  int32_t bias;
  memcpy(&bias, records + c / N * RECORD + 32 + 8 * (c % N), sizeof bias);
  return bias;
}
static double factor_of(const uint8_t *records, int64_t c) {
  const uint8_t *entry = records + c / N * RECORD + 32 + 8 * (c % N);
  return ldexp(entry[4] | entry[5] << 8 | entry[6] << 16, -entry[7] - 16);
}
static int64_t zero_of(const uint8_t *records) { return (int16_t)(records[0] | records[1] << 8); }

/* Bytes of the weights of 16 outputs. FIRST: four kernel rows of four pixels of 2 x 2 x 3. */
static int64_t block_of(const example *e) {
  return e->kind == FIRST ? 12 * N * N : N * depth_of(e);
}

/* Weight i of output channel o: in the order of the operator, from the order of the stream. */
static int8_t weight_of(const example *e, const uint8_t *w, int64_t o, int64_t i) {
  int64_t tile = 0, lane = i, row = o % N;
  switch (e->kind) {
    case PRODUCT: return (int8_t)w[o * e->in + i];
    case DEPTHWISE: return (int8_t)w[o / N * block_of(e) + i * N + row];
    case POINTWISE: tile = i / N, lane = i % N; break;
    case FIRST: {
      int64_t c = i / 49, y = i / 7 % 7 + 1, x = i % 7 + 1; /* of an 8 x 8 kernel */
      int64_t column = x / 2 * 12 + y % 2 * 6 + x % 2 * 3 + c;
      tile = y / 2 * 3 + column / N, lane = column % N;
    }
  }
  return (int8_t)w[o / N * block_of(e) + (tile * N + row) * N + lane];
}

static wk_value_id constant(wk_graph *g, wk_dtype t, int rank, const int64_t *dims, void **data) {
  wk_type type = wk_type_make(t, rank, dims);
  wk_value_id v;
  must(wk_graph_constant_alloc(g, NULL, &type, &v, data));
  return v;
}

static wk_value_id dequantised(wk_graph *g, wk_value_id q, wk_value_id scale, wk_value_id zero) {
  return wk_build(g, WK_OP_DEQUANTIZE, NULL, 3, q, scale, zero);
}

/* Scales: 1 for x and y, the factor for the weights. */
static wk_value_id weights(wk_graph *g, const example *e, const uint8_t *w, double factor) {
  bool product = e->kind == PRODUCT;
  int64_t k = depth_of(e), side = e->kernel;
  int64_t dims[] = {e->out, k / side / side, side, side}, product_dims[] = {k, e->out};
  void *data;
  wk_value_id q = constant(g, WK_I8, product ? 2 : 4, product ? product_dims : dims, &data);
  for (int64_t o = 0; o < e->out; o++)
    for (int64_t i = 0; i < k; i++)
      ((int8_t *)data)[product ? i * e->out + o : o * k + i] = weight_of(e, w, o, i);
  return dequantised(g, q, wk_graph_scalar(g, WK_F32, factor), wk_graph_scalar(g, WK_I8, 0));
}

static wk_value_id bias(wk_graph *g, const example *e, const uint8_t *records, double factor) {
  void *data;
  wk_value_id q = constant(g, WK_I32, 1, &e->out, &data);
  for (int64_t o = 0; o < e->out; o++) ((int32_t *)data)[o] = bias_of(records, o);
  return dequantised(g, q, wk_graph_scalar(g, WK_F32, factor), wk_graph_scalar(g, WK_I32, 0));
}

static wk_value_id operator_of(wk_module *m, const example *e, wk_value_id x, wk_value_id w,
                               wk_value_id b) {
  if (e->kind == PRODUCT)
    return wk_build(m->main, WK_OP_ADD, NULL, 2, wk_build(m->main, WK_OP_MATMUL, NULL, 2, x, w), b);
  int64_t one[] = {1, 1}, stride[] = {stride_of(e), stride_of(e)};
  int64_t half = e->kernel / 2, pad[] = {half, half, half, half};
  wk_attr_conv *a = wk_attrs_new(m->arena, WK_OP_CONV);
  a->strides = wk_ints_dup(m->arena, stride, 2);
  a->dilations = wk_ints_dup(m->arena, one, 2);
  a->pads = wk_ints_dup(m->arena, pad, 4);
  a->group = e->kind == DEPTHWISE ? e->in : 1;
  return wk_build(m->main, WK_OP_CONV, a, 3, x, w, b);
}

static wk_module *graph_of(const example *e, const wk_stream *s) {
  int64_t changes;
  const uint8_t *w = region(s, "w", e->out / N * block_of(e))->data;
  const uint8_t *p = region(s, "p", e->out / N * RECORD)->data;
  wk_module *m = wk_module_new(e->file);
  wk_graph *g = wk_graph_new(m, "main");
  int64_t dims[] = {1, e->in, e->size, e->size}, rows[] = {e->size, e->in};
  wk_type t = e->kind == PRODUCT ? wk_type_make(WK_I8, 2, rows) : wk_type_make(WK_I8, 4, dims);
  double factor = factor_of(p, 0);
  for (int64_t c = 0; c < e->out; c++) assert_true(factor_of(p, c) == factor);
  wk_value_id one = wk_graph_scalar(g, WK_F32, 1);
  wk_value_id x = dequantised(g, wk_graph_input(g, "x", &t), one,
                              wk_graph_scalar(g, WK_I8, (double)e->zero));
  wk_value_id y = operator_of(m, e, x, weights(g, e, w, factor), bias(g, e, p, factor));
  wk_attr_quantize *a = wk_attrs_new(m->arena, WK_OP_QUANTIZE);
  a->to = WK_I8;
  y = wk_build(g, WK_OP_QUANTIZE, a, 3, y, one, wk_graph_scalar(g, WK_I8, (double)zero_of(p)));
  wk_graph_output(g, "y", y);
  must(wk_integer_convert(m, &changes));
  assert_int_not_equal(changes, 0);
  for (size_t i = 0; i < g->nodes.n; i++) /* nothing is left to round otherwise */
    for (uint32_t o = 0; o < g->nodes.data[i].n_out; o++)
      assert_false(wk_dtype_is_float(wk_val(g, g->nodes.data[i].out[o])->type.dtype));
  return m;
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Streams keep channels last, graphs first. */
static void channels_first(const int8_t *from, int8_t *to, int64_t pixels, int64_t channels) {
  for (int64_t i = 0; i < pixels; i++)
    for (int64_t c = 0; c < channels; c++) to[c * pixels + i] = from[i * channels + c];
}

static void expect_varied(const int8_t *y, int64_t n) {
  int64_t inside = 0;
  for (int64_t i = 0; i < n; i++) inside += y[i] > -128 && y[i] < 127;
  if (inside < n / 3)
    fail_msg("%lld of %lld bytes are not saturated", (long long)inside, (long long)n);
}

static void compare(const example *e, const wk_stream *s, const uint8_t *memory) {
  int64_t from = pixels_of(e, e->size), to = pixels_of(e, e->size / stride_of(e));
  const wk_image *x = region(s, "x", from * e->in), *y = region(s, "y", to * e->out);
  wk_module *m = graph_of(e, s);
  wk_tensor in = {0}, out = {0};
  int8_t *got = wk_xcalloc((size_t)y->size, 1);
  must(wk_tensor_alloc(&wk_val(m->main, m->main->inputs.data[0])->type, &in));
  if (e->kind == PRODUCT) {
    memcpy(in.data, x->data, x->size);
    memcpy(got, memory + y->address, y->size);
  } else {
    channels_first((const int8_t *)x->data, in.data, from, e->in);
    channels_first((const int8_t *)memory + y->address, got, to, e->out);
  }
  must(wk_eval_graph(m->main, &in, &out, NULL, NULL));
  assert_int_equal(wk_type_bytes(&out.type), y->size);
  const int8_t *want = out.data;
  for (uint64_t i = 0; i < y->size; i++)
    if (got[i] != want[i])
      fail_msg("%s: element %llu is %d, want %d", e->file, (unsigned long long)i, got[i], want[i]);
  expect_varied(want, (int64_t)y->size);
  free(got);
  wk_tensor_free(&in);
  wk_tensor_free(&out);
  wk_module_free(m);
}

static void layer(void **state) {
  const example *e = *state;
  wk_stream *s = load(e->file);
  wk_sim_run r;
  must(wk_check(s, &s->machine, NULL));
  const wk_sim_run_options o = {.machine = &s->machine};
  must(wk_sim_run_stream(s, &wk_sim_functional, &o, &r));
  must(wk_sim_verdict(s, &s->machine, &r));
  compare(e, s, r.memory);
  wk_sim_run_free(&r);
  wk_stream_free(s);
}

static example all[] = {{"examples/accel/1-serial.s", POINTWISE, 56, 64, 96, 1, 0},
                        {"examples/accel/2-double-buffer.s", POINTWISE, 56, 64, 96, 1, 0},
                        {"examples/accel/3-deep-prefetch.s", POINTWISE, 56, 64, 96, 1, 0},
                        {"examples/accel/4-weights.s", PRODUCT, 16, 1024, 512, 1, -3},
                        {"examples/accel/5-depthwise.s", DEPTHWISE, 28, 192, 192, 3, 5},
                        {"bench/accel/first7x7.s", FIRST, 224, 3, 64, 7, 0}};

int main(void) {
  struct CMUnitTest tests[WK_COUNTOF(all)];
  for (size_t i = 0; i < WK_COUNTOF(all); i++)
    tests[i] = (struct CMUnitTest){all[i].file, layer, NULL, NULL, &all[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
