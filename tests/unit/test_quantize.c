/* SPDX-License-Identifier: Apache-2.0
 * Post-training quantisation: ranges, weights, which layers are quantised, and that the module
 * which comes out computes nearly the same, its simulation exactly the same. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/expr/quant.h"
#include "compiler/quantize/weights.h"
#include "compiler/zoo/builder.h"

static const wk_quantize_options plain = {.activation = WK_U8, .per_channel = true,
                                          .percentile = 99.9};

static void must(wk_status s) {
  if (s) wk_status_print(stderr, s);
  assert_null(s);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void parameters(void **state) {
  (void)state;
  wk_quantize_options o = plain;
  wk_quantize_params p = wk_quantize_params_of(-1, 3, &o);
  assert_float_equal(p.scale, 4 / 255.0, 1e-7);
  assert_int_equal(p.zero, 64);
  p = wk_quantize_params_of(1, 3, &o); /* 0 is always inside */
  assert_int_equal(p.zero, 0);
  assert_int_equal(wk_quantize_value(3, (double)p.scale, p.zero, WK_U8), 255);
  assert_int_equal(wk_quantize_value(-9, (double)p.scale, p.zero, WK_U8), 0);
  p = wk_quantize_params_of(0, 0, &o);
  assert_float_equal(p.scale, 1, 0);
  o.symmetric = true;
  assert_int_equal(wk_quantize_params_of(-1, 3, &o).zero, 128);
  assert_int_equal(wk_quantize_params_of(0, 3, &o).zero, 0);
  o.activation = WK_I8;
  p = wk_quantize_params_of(-1, 3, &o);
  assert_int_equal(p.zero, 0);
  assert_float_equal(p.scale, 3 / 127.0, 1e-7);
  o.symmetric = false;
  assert_int_equal(wk_quantize_params_of(0, 3, &o).zero, -128);
}

static double error_of(const float *x, int64_t n, wk_quantize_params p) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t q = wk_quantize_value((double)x[i], (double)p.scale, p.zero, WK_U8);
    double y = (double)(q - p.zero) * (double)p.scale;
    sum += ((double)x[i] - y) * ((double)x[i] - y);
  }
  return sum;
}

/* Normal values and one far out. */
static void methods(void **state) {
  (void)state;
  enum { N = 60000 };
  static float x[N];
  wk_rng rng = {3};
  for (int i = 0; i < N; i++) x[i] = wk_rng_normal(&rng);
  x[17] = 9;
  int64_t dims = N;
  wk_tensor t = {wk_type_make(WK_F32, 1, &dims), x};
  wk_range r = {.axis = -1};
  wk_range_scan(&r, &t);
  wk_range_bin(&r, &t);
  assert_int_equal(r.count, N);
  assert_float_equal(r.max, 9, 0);
  double errors[4];
  wk_quantize_options o = plain;
  for (int m = 0; m < 4; m++) {
    o.method = (wk_range_method)m;
    errors[m] = error_of(x, N, wk_range_choose(&r, &o));
  }
  for (int m = 0; m < 4; m++) assert_true(errors[WK_RANGE_MSE] <= errors[m] * 1.02);
  assert_true(errors[WK_RANGE_MSE] < errors[WK_RANGE_PERCENTILE]);
  wk_range_free(&r);
}

/* What has one value, or one beside zeros, keeps it whichever method looks for the range. */
static void one_value(void **state) {
  (void)state;
  static const float values[] = {5, -5, 0.001f, -3e4f, 0};
  for (size_t i = 0; i < WK_COUNTOF(values); i++)
    for (int k = 0; k < 16; k++) {
      float x[8];
      int64_t n = k & 1 ? 8 : 1;
      wk_quantize_options o = plain;
      o.method = (wk_range_method)(k >> 2);
      o.activation = k & 2 ? WK_I8 : WK_U8;
      for (int j = 0; j < 8; j++) x[j] = values[i];
      wk_tensor t = {wk_type_make(WK_F32, 1, &n), x};
      wk_range r = {.axis = -1};
      wk_range_scan(&r, &t);
      wk_range_bin(&r, &t);
      wk_quantize_params p = wk_range_choose(&r, &o);
      int64_t q = wk_quantize_value((double)x[0], (double)p.scale, p.zero, o.activation);
      double y = (double)(q - p.zero) * (double)p.scale, size = fabs((double)x[0]);
      if (fabs(y - (double)x[0]) > 1e-6 * size) fail_msg("%g becomes %g", (double)x[0], y);
      assert_float_equal(p.scale, size == 0 ? 1 : size / 255, size * 1e-6);
      wk_range_free(&r);
    }
}

static void bad_values(void **state) {
  (void)state;
  float x[6] = {1, NAN, -INFINITY, 0, 2, 0};
  int64_t dims[] = {2, 3};
  wk_tensor t = {wk_type_make(WK_F32, 2, dims), x};
  wk_range r = {.axis = -1};
  wk_range_scan(&r, &t);
  assert_int_equal(r.nan, 1);
  assert_int_equal(r.infinite, 1);
  assert_int_equal(r.count, 4);
  assert_int_equal(r.zeros, 2);
  assert_float_equal(r.min, 0, 0);
  assert_float_equal(r.max, 2, 0);
  wk_range_free(&r);
  float y[6] = {1, 2, 3, 4, 5, 6};
  t.data = y;
  r.axis = 1;
  wk_range_scan(&r, &t);
  assert_int_equal(r.channels, 3);
  assert_int_equal(r.per_channel, 2);
  assert_float_equal(r.sums[2], 9, 0);
  wk_range_free(&r);
}

/* Large values behind a hole, as masks are, and what is none: both sides of each condition. */
static void parted(void **state) {
  (void)state;
  static const struct { float x[4]; bool parted; } rows[] = {
      {{-10000, 0, 12, -3}, true},   {{-FLT_MAX, 20, 0, 0}, true}, {{-65504, 1, 0, 3}, true},
      {{1e9f, 5e8f, 1, 0}, true},    {{-10000, 0, 200, -3}, false}, {{-10000, 0, 0, 0}, false},
      {{-INFINITY, 1, 2, 0}, false}, {{NAN, 1, 2, 0}, false},       {{512, 4, 1, 0}, true},
      {{512, 8, 1, 0}, false},       {{511, 1, 1, 0}, false},       {{1, 1e-9f, 0, 0}, false},
      {{10000, 700, 12, 1}, false},  {{10000, 128, 1, 0}, false},   {{10000, 63, 1, 0}, true}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    float x[4];
    int64_t n = 4;
    memcpy(x, rows[i].x, sizeof x);
    wk_tensor t = {wk_type_make(WK_F32, 1, &n), x};
    wk_range r = {.axis = -1};
    wk_range_scan(&r, &t);
    if (wk_range_is_parted(&r) != rows[i].parted) fail_msg("row %zu", i);
  }
}

/* A range wider than the largest number. */
static void widest(void **state) {
  (void)state;
  float x[3] = {-FLT_MAX, FLT_MAX, 1};
  int64_t n = 3;
  wk_tensor t = {wk_type_make(WK_F32, 1, &n), x};
  wk_range r = {.axis = -1};
  wk_range_scan(&r, &t);
  wk_range_bin(&r, &t);
  assert_int_equal(r.bins[0], 1);
  assert_int_equal(r.bins[WK_RANGE_BINS - 1], 1);
  assert_int_equal(r.bins[WK_RANGE_BINS / 2], 1);
  wk_range_free(&r);
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Which inputs of a node are activations or weights, of 8 bits when it is quantised. */
static const struct {
  const char *node, *operands; /* the node of the inputs below, an o for each that is one */
} operand_rows[] = {
    {"conv(%x, %w, %v) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}", "oo-"},
    {"conv(%x, %w) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}", "oo"},
    {"conv_transpose(%x, %w, %v) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], "
     "output_padding=[0,0]}", "oo-"},
    {"matmul(%a, %b, %c)", "oo-"},
    {"matmul(%a, %b)", "oo"},
    {"add(%a, %b)", "oo"},
    {"sub(%a, %a)", "oo"},
    {"mul(%c, %b)", "oo"},
    {"div(%a, %b)", "--"},
    {"max(%a, %b)", "--"},
    {"concat(%a, %b, %a, %b) {axis=0}", "oooo"},
    {"reduce_mean(%a) {axes=[0]}", "o"},
    {"relu(%a)", "o"},
    {"clip(%a) {lo=0.0, hi=6.0}", "o"},
    {"sigmoid(%a)", "o"},
    {"hard_swish(%a)", "o"},
    {"exp(%a)", "-"},
    {"reshape(%a) {shape=[9]}", "o"},
    {"transpose(%a) {perm=[1,0]}", "o"},
    {"slice(%a) {starts=[1,0], sizes=[2,3], steps=[1,1]}", "o"},
    {"expand(%c) {shape=[2,3]}", "o"},
    {"add(%h, %h)", "--"}, /* only f32 is quantised */
    {"relu(%h)", "-"},
    {"add(%i, %i)", "--"},
    {"mul(%q, %i)", "--"},
};

static void operands(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(operand_rows); i++) {
    char text[1024];
    wk_module *m;
    snprintf(text, sizeof text,
             "module \"m\" {\ngraph @main(%%x: f32[1,2,4,4], %%w: f32[2,2,3,3], %%v: f32[2], "
             "%%a: f32[3,3], %%b: f32[3,3], %%c: f32[3], %%h: f16[3], %%i: i32[3], %%q: i32[3]) {\n"
             "%%y = %s\noutput %%y\n}\n}\n", operand_rows[i].node);
    must(wk_module_parse(text, "row", &m));
    const wk_node *n = &m->main->nodes.data[0];
    assert_int_equal(n->n_in, strlen(operand_rows[i].operands));
    for (uint32_t k = 0; k < n->n_in + 2; k++) {
      bool want = k < n->n_in && operand_rows[i].operands[k] == 'o';
      if (wk_quantize_is_operand(m->main, n, k) != want)
        fail_msg("%s: operand %u", operand_rows[i].node, (unsigned)k);
    }
    wk_module_free(m);
  }
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Square error of n numbers with this scale, as the formula says. */
static double weight_error(const float *x, int n, double scale) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    double q = fmax(-127, fmin(127, rint((double)x[i] / scale)));
    sum += ((double)x[i] - q * scale) * ((double)x[i] - q * scale);
  }
  return sum;
}

/* Rows with fewer and fewer numbers far out, down to one: the best scale of the 24 from all of the
 * range down to a little more than half, which is the best for the last row. */
static void weight_scales(void **state) {
  (void)state;
  enum { ROWS = 6, N = 300000, STEPS = 24 };
  float *x = wk_xcalloc(ROWS * N, sizeof *x), scale[ROWS];
  int8_t *q = wk_xmalloc(ROWS * N);
  wk_rng rng = {7};
  for (int i = 0; i < ROWS * N; i++) x[i] = wk_rng_normal(&rng) / 16;
  for (int r = 0; r < ROWS; r++)
    for (int k = 0; k < 1 << (2 * (ROWS - 1 - r)); k++) x[r * N + k] = k & 1 ? -1 : 1;
  wk_weight_view w = {x, 1, ROWS, N};
  wk_weights_quantise(&w, NULL, WK_RANGE_MSE, scale, q);
  for (int r = 0; r < ROWS; r++) {
    double best = INFINITY, at = 0;
    for (int i = 0; i < STEPS; i++) {
      double s = (1 - i / 48.0) / 127, e = weight_error(x + r * N, N, s);
      if (e < best) best = e, at = s;
    }
    assert_float_equal(scale[r], at, 1e-8);
    for (int i = 0; i < N; i += 997)
      assert_int_equal(q[r * N + i],
                       (int)fmaxf(-127, fminf(127, rintf(x[r * N + i] / scale[r]))));
  }
  assert_float_equal(scale[ROWS - 1], (1 - 23 / 48.0) / 127, 1e-8);
  double floors[ROWS] = {0, 1, 0, 0.5};
  wk_weights_quantise(&w, floors, WK_RANGE_MINMAX, scale, q);
  for (int r = 0; r < ROWS; r++)
    assert_float_equal(scale[r], fmax(1.0 / 127, floors[r]), 1e-8);
  free(x);
  free(q);
}

/* ---- whole modules --------------------------------------------------------------------------- */

/* Convolutions, depthwise, clip, residual sum, pools, concat, product. */
static wk_module *network(void) {
  wk_module *m;
  wick_builder *b = wick_builder_new("net", 5);
  wick_value x = wick_input(b, "x", WK_F32, 4, (int64_t[]){1, 3, 12, 12});
  x = wick_conv(b, x, &(wick_conv_opts){.out = 8, .kernel = 3, .pad = 1, .bias = true});
  x = wick_relu(b, x);
  wick_value y = wick_conv(b, x, &(wick_conv_opts){.out = 8, .kernel = 3, .pad = 1, .group = 8});
  y = wick_conv(b, wick_clip(b, y, 0, 6), &(wick_conv_opts){.out = 8, .kernel = 1, .bias = true});
  x = wick_max_pool(b, wick_relu(b, wick_add(b, x, y)), 2, 2, 0);
  x = wick_concat(b, (wick_value[]){x, wick_unary(b, WK_OP_SIGMOID, x)}, 2, 1);
  x = wick_flatten(b, wick_global_avg_pool(b, x));
  wick_output(b, "scores", wick_linear(b, x, 10));
  must(wick_builder_finish(b, &m));
  must(wk_module_normalise(m));
  return m;
}

typedef struct {
  wk_module *m;
  wk_quantize_plan plan;
  wk_range *ranges;
  wk_tensor in, out; /* of the float module */
} fixture;

static wk_status watch(void *ctx, const wk_graph *g, const wk_node *n, const wk_tensor *in,
                       const wk_tensor *out, int depth) {
  fixture *f = ctx;
  (void)g, (void)depth;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] == f->m->main->inputs.data[0] && !f->ranges[n->in[k]].count) {
      wk_range_scan(&f->ranges[n->in[k]], &in[k]);
      wk_range_bin(&f->ranges[n->in[k]], &in[k]);
    }
  for (uint32_t k = 0; k < n->n_out; k++) {
    wk_range_scan(&f->ranges[n->out[k]], &out[k]);
    wk_range_bin(&f->ranges[n->out[k]], &out[k]);
  }
  return NULL;
}

static fixture profile(void) {
  fixture f = {.m = network()};
  size_t n = f.m->main->values.n;
  wk_rng rng = {1};
  f.plan = wk_quantize_plan_make(f.m);
  f.ranges = wk_xcalloc(n + 1, sizeof *f.ranges);
  for (size_t v = 0; v < n; v++) f.ranges[v].axis = wk_quantize_sum_axis(&f.plan, (wk_value_id)v);
  must(wk_tensor_alloc(&wk_val(f.m->main, f.m->main->inputs.data[0])->type, &f.in));
  for (int64_t i = 0; i < wk_type_count(&f.in.type); i++)
    ((float *)f.in.data)[i] = wk_rng_normal(&rng);
  must(wk_eval_graph(f.m->main, &f.in, &f.out, watch, &f));
  return f;
}

static void free_fixture(fixture *f) {
  for (size_t v = 0; v < f->m->main->values.n; v++) wk_range_free(&f->ranges[v]);
  free(f->ranges);
  wk_tensor_free(&f->in);
  wk_tensor_free(&f->out);
  wk_quantize_plan_free(&f->plan);
  wk_module_free(f->m);
}

static wk_tensor run(fixture *f, const wk_quantize_options *o, bool simulated, size_t *pairs) {
  wk_quantize_build_args a = {.plan = &f->plan, .options = o, .ranges = f->ranges,
                              .simulated = simulated};
  wk_value_id *at = wk_xcalloc(f->m->main->values.n + 1, sizeof *at);
  wk_module *q;
  wk_tensor out;
  must(wk_quantize_build(&a, at, NULL, &q));
  *pairs = 0;
  for (size_t i = 0; i < q->main->nodes.n; i++)
    *pairs += q->main->nodes.data[i].op == WK_OP_QUANTIZE;
  assert_string_equal(q->main->output_names.data[0], "scores");
  must(wk_eval_graph(q->main, &f->in, &out, NULL, NULL));
  wk_module_free(q);
  free(at);
  return out;
}

static double decibel(const wk_tensor *want, const wk_tensor *got) {
  double signal = 0, noise = 0;
  for (int64_t i = 0; i < wk_type_count(&want->type); i++) {
    double x = (double)((float *)want->data)[i], e = x - (double)((float *)got->data)[i];
    signal += x * x;
    noise += e * e;
  }
  return 10 * log10(signal / noise);
}

static void modules(void **state) {
  (void)state;
  fixture f = profile();
  assert_true(wk_quantize_settle(&f.plan) == f.plan.layers.n);
  for (int k = 0; k < 32; k++) {
    wk_quantize_options o = {.activation = k & 1 ? WK_I8 : WK_U8, .symmetric = k & 2,
                             .per_channel = k & 4, .bias_correction = k & 8,
                             .method = k & 16 ? WK_RANGE_MSE : WK_RANGE_MINMAX};
    size_t pairs;
    wk_tensor file = run(&f, &o, false, &pairs), simulation = run(&f, &o, true, &pairs);
    assert_true(decibel(&f.out, &file) > 25);
    assert_memory_equal(file.data, simulation.data, (size_t)wk_type_bytes(&file.type));
    wk_tensor_free(&file);
    wk_tensor_free(&simulation);
  }
  free_fixture(&f);
}

/* What is named stays float; what only follows it does so as well. */
static void keeping(void **state) {
  (void)state;
  fixture f = profile();
  size_t all = wk_quantize_settle(&f.plan), pairs;
  must(wk_quantize_keep(&f.plan, "conv"));
  size_t some = wk_quantize_settle(&f.plan);
  assert_int_equal(some, 1); /* the product */
  wk_tensor out = run(&f, &plain, false, &pairs);
  assert_int_equal(pairs, 2); /* its operand and its result */
  wk_tensor_free(&out);
  assert_true(all > some);
  wk_status s = wk_quantize_keep(&f.plan, "Matmull");
  assert_non_null(s);
  assert_non_null(strstr(s->message, "MatMul"));
  wk_status_free(s);
  must(wk_quantize_keep(&f.plan, "Gemm"));
  assert_int_equal(wk_quantize_settle(&f.plan), 0);
  free_fixture(&f);
}

/* A sum stays float whose operand would be fewer than four steps of the result, nothing else. */
static void sparing(void **state) {
  (void)state;
  fixture f = profile();
  size_t sums = 0;
  (void)wk_quantize_settle(&f.plan);
  for (size_t i = 0; i < f.plan.layers.n; i++) {
    wk_quantize_layer *l = &f.plan.layers.data[i];
    wk_value_id result = wk_nod(f.m->main, l->last)->out[0];
    for (int few = 0; few < 2; few++) {
      for (size_t v = 0; v < f.m->main->values.n; v++) f.ranges[v].min = 0, f.ranges[v].max = 1;
      f.ranges[result].max = 255.0f / 4 * (few ? 1.01f : 0.99f);
      size_t spared = wk_quantize_spare(&f.plan, f.ranges, &plain);
      assert_int_equal(spared, few && l->op == WK_OP_ADD);
      assert_int_equal(l->keep, spared);
      sums += spared;
      assert_int_equal(wk_quantize_spare(&f.plan, f.ranges, &plain), 0); /* none is new */
      l->keep = false;
    }
  }
  assert_int_equal(sums, 1);
  free_fixture(&f);
}

static void equalising(void **state) {
  (void)state;
  fixture f = profile();
  int64_t pairs;
  wk_tensor out;
  must(wk_quantize_equalise(f.m, &pairs));
  assert_int_equal(pairs, 0); /* the first result is used twice, a clip is in between the others */
  wk_module *m;
  wick_builder *b = wick_builder_new("pair", 2);
  wick_value x = wick_input(b, "x", WK_F32, 4, (int64_t[]){1, 3, 12, 12});
  x = wick_relu(b, wick_conv(b, x, &(wick_conv_opts){.out = 8, .kernel = 3, .bias = true}));
  x = wick_relu(b, wick_conv(b, x, &(wick_conv_opts){.out = 8, .kernel = 3, .group = 8}));
  wick_output(b, "y", wick_conv(b, x, &(wick_conv_opts){.out = 4, .kernel = 1, .bias = true}));
  must(wick_builder_finish(b, &m));
  wk_tensor want;
  must(wk_eval_graph(m->main, &f.in, &want, NULL, NULL));
  must(wk_quantize_equalise(m, &pairs));
  assert_int_equal(pairs, 2);
  must(wk_eval_graph(m->main, &f.in, &out, NULL, NULL));
  assert_true(wk_tensor_diff(&out, &want, &(wk_tolerance){1e-4, 1e-6, 1e-5}).equal);
  wk_tensor_free(&want);
  wk_tensor_free(&out);
  wk_module_free(m);
  free_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters), cmocka_unit_test(methods),  cmocka_unit_test(one_value),
      cmocka_unit_test(bad_values),
      cmocka_unit_test(parted),
      cmocka_unit_test(widest), cmocka_unit_test(operands), cmocka_unit_test(weight_scales),
      cmocka_unit_test(modules),    cmocka_unit_test(keeping),  cmocka_unit_test(equalising),
      cmocka_unit_test(sparing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
