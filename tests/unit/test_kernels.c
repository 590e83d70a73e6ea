/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel family on small shapes with tails, strides, padding, dilation, groups and odd
 * strides, and random ones, others for every instruction set that this machine runs, against naive
 * loops; and the promise that the result doesn't depend on how tasks are shared out. */
#include "tests/kernel_harness.h"
#include "tests/random_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_CASES = 128, RANDOM_CONVS = 24 };

typedef struct {
  kh_case cases[MAX_CASES];
  size_t n;
} suite;

static kh_case *conv(suite *s, const char *name, wk_cpu_conv_desc d, kh_epilogue epilogue) {
  kh_case *c = &s->cases[s->n++];
  *c = (kh_case){.name = name, .is_conv = true, .conv = d, .epilogue = epilogue};
  wk_cpu_conv_desc *p = &c->conv;
  int64_t span_h = (p->kh - 1) * p->dil_h + 1, span_w = (p->kw - 1) * p->dil_w + 1;
  if (p->oh == 0) p->oh = (p->h + 2 * p->pad_h - span_h) / p->stride_h + 1;
  if (p->ow == 0) p->ow = (p->w + 2 * p->pad_w - span_w) / p->stride_w + 1;
  const int64_t x[] = {p->h * p->w * p->cin, p->w * p->cin, p->cin, 1};
  const int64_t y[] = {p->oh * p->ow * p->cout, p->ow * p->cout, p->cout};
  if (p->x_stride[2] == 0) memcpy(p->x_stride, x, sizeof x);
  if (p->y_stride[2] == 0) memcpy(p->y_stride, y, sizeof y);
  return c;
}

/* n h w cin -> cout, window k, stride s, padding p, dilation d, groups g */
static kh_case *square(suite *s, const char *name, const int64_t v[10], kh_epilogue epilogue) {
  wk_cpu_conv_desc d = {.n = v[0],
                        .h = v[1],
                        .w = v[2],
                        .cin = v[3],
                        .cout = v[4],
                        .kh = v[5],
                        .kw = v[5],
                        .stride_h = v[6],
                        .stride_w = v[6],
                        .pad_h = v[7],
                        .pad_w = v[7],
                        .dil_h = v[8],
                        .dil_w = v[8],
                        .group = v[9]};
  return conv(s, name, d, epilogue);
}

static const struct {
  const char *name;
  int64_t v[10];
  kh_epilogue epilogue;
} squares[] = {
    {"pointwise", {1, 7, 9, 32, 64, 1, 1, 0, 1, 1}, KH_BIAS_RELU},
    {"pointwise, odd channels", {1, 5, 5, 19, 37, 1, 1, 0, 1, 1}, KH_BIAS_RESIDUAL_RELU},
    {"pointwise, few rows", {1, 1, 3, 40, 130, 1, 1, 0, 1, 1}, KH_BIAS},
    {"pointwise, batch", {3, 5, 4, 33, 80, 1, 1, 0, 1, 1}, KH_BIAS_RESIDUAL_RELU},
    {"pointwise, stride 2", {2, 9, 8, 24, 48, 1, 2, 0, 1, 1}, KH_BIAS},
    {"pointwise, padded", {1, 4, 4, 20, 16, 1, 1, 1, 1, 1}, KH_BIAS},
    {"one column out", {1, 6, 6, 18, 1, 3, 1, 1, 1, 1}, KH_BIAS},
    {"3x3", {1, 10, 11, 16, 64, 3, 1, 1, 1, 1}, KH_BIAS_RELU},
    {"3x3, batch", {2, 6, 5, 17, 40, 3, 1, 1, 1, 1}, KH_BIAS_RESIDUAL_RELU},
    {"3x3, stride 2", {1, 13, 12, 20, 96, 3, 2, 1, 1, 1}, KH_BIAS_RELU},
    {"3x3, no padding", {1, 9, 9, 32, 32, 3, 1, 0, 1, 1}, KH_PLAIN},
    {"3x3, wide padding", {1, 4, 5, 16, 24, 3, 1, 4, 1, 1}, KH_BIAS},
    {"3x3, dilation 2", {1, 12, 11, 16, 32, 3, 1, 2, 2, 1}, KH_BIAS},
    {"3x3, few channels, dilation 2", {2, 12, 11, 5, 33, 3, 1, 2, 2, 1}, KH_BIAS},
    {"7x7, first layer", {1, 23, 25, 3, 64, 7, 2, 3, 1, 1}, KH_BIAS_RELU},
    {"3x3, first layer, batch", {2, 17, 40, 3, 32, 3, 2, 1, 1, 1}, KH_BIAS_RESIDUAL_RELU},
    {"3x3, one channel", {1, 28, 28, 1, 8, 3, 1, 1, 1, 1}, KH_BIAS_RELU},
    {"3x3, stride 3", {1, 16, 16, 4, 20, 3, 3, 1, 1, 1}, KH_BIAS},
    {"11x11 of 16", {1, 14, 14, 16, 16, 11, 1, 5, 1, 1}, KH_BIAS},
    {"deep, blocks of k", {1, 7, 5, 520, 70, 3, 1, 1, 1, 1}, KH_BIAS_RESIDUAL_RELU},
    {"pointwise, blocks of k", {1, 7, 7, 2050, 72, 1, 1, 0, 1, 1}, KH_BIAS_RESIDUAL_RELU},
    {"groups of 8", {1, 9, 9, 32, 64, 3, 1, 1, 1, 4}, KH_BIAS_RELU},
    {"groups of 4", {2, 7, 6, 16, 16, 3, 2, 1, 1, 4}, KH_BIAS_RESIDUAL_RELU},
    {"groups, pointwise", {1, 6, 6, 60, 90, 1, 1, 0, 1, 3}, KH_BIAS},
    {"groups, channel multiplier 2", {1, 8, 8, 10, 20, 3, 1, 1, 1, 10}, KH_BIAS},
    {"depthwise 3x3", {1, 14, 13, 32, 32, 3, 1, 1, 1, 32}, KH_BIAS_RELU},
    {"depthwise 3x3, stride 2", {2, 15, 14, 48, 48, 3, 2, 1, 1, 48}, KH_BIAS_RESIDUAL_RELU},
    {"depthwise 3x3, odd channels", {1, 7, 9, 37, 37, 3, 1, 1, 1, 37}, KH_BIAS_RESIDUAL_RELU},
    {"depthwise 5x5", {1, 9, 11, 24, 24, 5, 1, 2, 1, 24}, KH_BIAS},
    {"depthwise 5x5, stride 2", {1, 12, 11, 20, 20, 5, 2, 2, 1, 20}, KH_BIAS},
    {"depthwise 3x3, dilation 2", {1, 11, 10, 16, 16, 3, 1, 2, 2, 16}, KH_BIAS},
    {"depthwise 9x9", {1, 12, 12, 18, 18, 9, 1, 4, 1, 18}, KH_BIAS_RELU},
    {"depthwise, three channels", {1, 6, 6, 3, 3, 3, 1, 1, 1, 3}, KH_BIAS},
};

static void add_convs(suite *s) {
  for (size_t i = 0; i < WK_COUNTOF(squares); i++)
    square(s, squares[i].name, squares[i].v, squares[i].epilogue);
  wk_cpu_conv_desc d = {.n = 2,
                        .h = 12,
                        .w = 19,
                        .cin = 3,
                        .cout = 24,
                        .kh = 3,
                        .kw = 5,
                        .stride_h = 2,
                        .stride_w = 1,
                        .pad_h = 1,
                        .pad_w = 2,
                        .dil_h = 1,
                        .dil_w = 1,
                        .group = 1,
                        .x_stride = {3 * 12 * 19, 19, 1, 12 * 19}};
  conv(s, "NCHW input, 3 channels", d, KH_BIAS_RELU);
  d.cin = 20, d.x_stride[0] = 20 * 12 * 19;
  conv(s, "NCHW input, 20 channels", d, KH_BIAS_RESIDUAL_RELU);
  d.group = 4, d.w = 10;
  conv(s, "NCHW input, groups", d, KH_BIAS);
  d.group = 1, d.cin = 18;
  memcpy(d.x_stride, (int64_t[]){12 * 10 * 40, 10 * 40, 40, 1}, 32);
  conv(s, "slice of wider channels", d, KH_BIAS_RELU);
  memcpy(d.y_stride, (int64_t[]){6 * 10 * 31, 10 * 31, 31}, 24);
  conv(s, "into a slice of wider channels", d, KH_BIAS_RESIDUAL_RELU);
  memcpy(d.y_stride, (int64_t[]){9 * 13 * 24, 13 * 24, 24}, 24);
  conv(s, "into the middle of a larger map", d, KH_BIAS_RESIDUAL_RELU);
  d.oh = 7, d.ow = 12; /* more output than symmetric padding gives: right and bottom padding */
  memcpy(d.y_stride, (int64_t[]){0, 0, 0}, 24);
  conv(s, "more padding at the end", d, KH_BIAS);
  wk_cpu_conv_desc tall = {.n = 2, .h = 31, .w = 9, .cin = 3, .cout = 24, .kh = 27, .kw = 2,
                           .stride_h = 2, .stride_w = 1, .pad_h = 3, .pad_w = 1, .dil_h = 1,
                           .dil_w = 1, .group = 1, .x_stride = {3 * 31 * 9, 9, 1, 31 * 9}};
  conv(s, "NCHW input, many taps", tall, KH_BIAS_RELU);
  tall.kh = 13, tall.dil_h = 2, tall.dil_w = 3;
  conv(s, "NCHW input, many dilated taps", tall, KH_BIAS);
  wk_cpu_conv_desc below = {.n = 2, .h = 5, .w = 4, .cin = 20, .cout = 18, .kh = 1, .kw = 1,
                            .oh = 6, .ow = 4, .stride_h = 1, .stride_w = 1, .dil_h = 1, .dil_w = 1,
                            .group = 1};
  conv(s, "pointwise, padded below", below, KH_BIAS_RELU);
  below.oh = 5, below.ow = 5;
  conv(s, "pointwise, padded on the right", below, KH_BIAS_RELU);
  wk_cpu_conv_desc line = {.n = 1,
                           .h = 1,
                           .w = 50,
                           .cin = 24,
                           .cout = 30,
                           .kh = 1,
                           .kw = 9,
                           .stride_h = 1,
                           .stride_w = 2,
                           .pad_w = 4,
                           .dil_h = 1,
                           .dil_w = 1,
                           .group = 1};
  conv(s, "one dimension", line, KH_BIAS_RELU);
  line.cin = line.cout = line.group = 24;
  conv(s, "one dimension, depthwise", line, KH_BIAS_RELU);
}

static kh_case *matmul(suite *s, const char *name, int64_t m, int64_t k, int64_t n, kh_epilogue e) {
  kh_case *c = &s->cases[s->n++];
  *c = (kh_case){.name = name, .epilogue = e};
  c->matmul = (wk_cpu_matmul_desc){{1, 1},       m, n, k, {0, 0, k}, {0, 0, n, 1},
                                   {m * n, m * n, n}, true, WK_CPU_F32,
                                    WK_CPU_NO_LIMITS};
  return c;
}

static void add_matmuls(suite *s) {
  const int64_t shapes[][3] = {{1, 70, 130}, {2, 33, 65},     {5, 16, 16}, {13, 17, 100},
                               {50, 64, 64}, {128, 1300, 50}, {1, 1, 1},   {31, 3, 7}};
  for (size_t i = 0; i < WK_COUNTOF(shapes); i++)
    matmul(s, "matmul", shapes[i][0], shapes[i][1], shapes[i][2], KH_BIAS_RESIDUAL_RELU);
  kh_case *c = matmul(s, "transposed constant", 20, 30, 40, KH_BIAS);
  memcpy(c->matmul.b_stride, (int64_t[]){0, 0, 1, 30}, 32);
  c = matmul(s, "rows with gaps", 20, 30, 40, KH_BIAS_RESIDUAL_RELU);
  c->matmul.a_stride[2] = 37, c->matmul.y_stride[2] = 45;
  c = matmul(s, "batch, one constant", 7, 30, 40, KH_BIAS);
  c->matmul.batch[0] = 3, c->matmul.a_stride[0] = 7 * 30;
  c = matmul(s, "batch, a constant each", 7, 30, 40, KH_BIAS);
  c->matmul.batch[1] = 3, c->matmul.a_stride[1] = 7 * 30, c->matmul.b_stride[1] = 30 * 40;
  for (int i = 0; i < 2; i++) {
    c = matmul(s, i ? "attention, Q*K^T" : "attention, P*V", 19, i ? 24 : 37, i ? 37 : 24,
               KH_PLAIN);
    wk_cpu_matmul_desc *d = &c->matmul;
    d->b_constant = false;
    d->batch[0] = 2, d->batch[1] = 3;
    if (i) {
      memcpy(d->a_stride, (int64_t[]){19 * 72, 24, 72}, 24);
      memcpy(d->b_stride, (int64_t[]){37 * 72, 24, 1, 72}, 32);
      memcpy(d->y_stride, (int64_t[]){3 * 19 * 37, 19 * 37, 37}, 24);
    } else {
      memcpy(d->a_stride, (int64_t[]){3 * 19 * 37, 19 * 37, 37}, 24);
      memcpy(d->b_stride, (int64_t[]){37 * 72, 24, 72, 1}, 32);
      memcpy(d->y_stride, (int64_t[]){19 * 72, 24, 72}, 24);
    }
  }
  for (int i = 0; i < 2; i++) {
    c = matmul(s, "run-time B, blocks of k", 40, 700, 90, KH_BIAS_RESIDUAL_RELU);
    c->matmul.b_constant = false;
    if (i) memcpy(c->matmul.b_stride, (int64_t[]){0, 0, 1, 700}, 32);
  }
}

/* Tasks one by one, last first: nothing may depend on order or on the range. */
static void check_task_split(kh_case *c) {
  size_t bytes = (size_t)kh_sizes(c).y;
  float *whole = wk_xmalloc(bytes);
  memcpy(whole, c->y, bytes);
  for (int64_t i = c->kernel.n_tasks - 1; i >= 0; i--) {
    memset(c->scratch, 0xff, (size_t)c->kernel.scratch_bytes);
    kh_case_run(c, i, i + 1);
  }
  if (memcmp(whole, c->y, bytes) != 0) fail_msg("%s: depends on the order of tasks", c->name);
  free(whole);
}

/* Outputs that the kernel must leave alone (gaps of strided views) keep their value. */
static void check_gaps(const kh_case *c, const char *before) {
  if (!c->is_conv) return;
  const wk_cpu_conv_desc *d = &c->conv;
  if (d->y_stride[2] == d->cout) return;
  int size = wk_dtype_size(d->types.y);
  const char *after = (const char *)c->y;
  for (int64_t p = 0; p + 1 < d->ow; p++)
    for (int64_t o = d->cout; o < d->y_stride[2]; o++)
      if (memcmp(before + (p * d->y_stride[2] + o) * size, after + (p * d->y_stride[2] + o) * size,
                 (size_t)size) != 0)
        fail_msg("%s: wrote outside of its view", c->name);
}

/* Windows padded at each end on their own; channels and layouts that choose each kind of rows. */
static void random_conv(suite *s, wk_rng *r) {
  static const int64_t channels[] = {1, 3, 4, 6, 16, 17, 20, 64, 68};
  static const char *const names[] = {"random", "random, NCHW", "random, depthwise",
                                      "random, groups"};
  int64_t kind = wk_rng_range(r, 0, 3), cin = channels[wk_rng_range(r, 0, 8)];
  int64_t group = kind == 2 ? cin : kind == 3 && cin % 2 == 0 ? 2 : 1;
  const int64_t size[] = {wk_rng_range(r, 1, 9), wk_rng_range(r, 1, 12)};
  random_window w = random_window_draw(r, 2, size, wk_rng_range(r, 0, 3) ? 5 : 1, false);
  wk_cpu_conv_desc d = {.n = wk_rng_range(r, 1, 2), .h = size[0], .w = size[1], .cin = cin,
                        .cout = group * wk_rng_range(r, 1, kind == 2 ? 2 : 20),
                        .kh = w.kernel[0], .kw = w.kernel[1], .stride_h = w.strides[0],
                        .stride_w = w.strides[1], .pad_h = w.pads[0], .pad_w = w.pads[1],
                        .dil_h = w.dilations[0], .dil_w = w.dilations[1], .group = group};
  d.oh = (d.h + w.pads[0] + w.pads[2] - (d.kh - 1) * d.dil_h - 1) / d.stride_h + 1;
  d.ow = (d.w + w.pads[1] + w.pads[3] - (d.kw - 1) * d.dil_w - 1) / d.stride_w + 1;
  if (kind == 1)
    memcpy(d.x_stride, (int64_t[]){d.cin * d.h * d.w, d.w, 1, d.h * d.w}, sizeof d.x_stride);
  conv(s, names[kind], d, (kh_epilogue)wk_rng_range(r, KH_PLAIN, KH_BIAS_RESIDUAL_RELU));
}

static void add_floats(suite *s, uint64_t seed) {
  wk_rng r = {seed};
  add_convs(s);
  add_matmuls(s);
  for (int i = 0; i < RANDOM_CONVS; i++) random_conv(s, &r);
}

/* The same shapes on f16 and bf16, alone and mixed with f32. */
static void add_halves(suite *s, uint64_t seed) {
  static const wk_cpu_types mixed[] = {
      {WK_F16, WK_F16, WK_F16, 0}, {WK_BF16, WK_BF16, WK_BF16, 0}, {WK_F16, WK_F32, WK_F16, 0},
      {WK_F32, WK_F16, WK_F32, 0}, {WK_F32, WK_BF16, WK_F16, 0},   {WK_BF16, WK_F16, WK_F32, 0}};
  add_floats(s, seed + 2000);
  for (size_t i = 0; i < s->n; i++) {
    kh_case *c = &s->cases[i];
    *kh_types(c) = mixed[i % WK_COUNTOF(mixed)];
    if (c->is_conv && wk_cpu_conv_widens(&c->conv)) c->conv.types.a = WK_F32;
    if (c->epilogue == KH_PLAIN) kh_types(c)->y = WK_F32;
  }
}

/* The same shapes on 8-bit integers, signs by turns. */
static void add_integers(suite *s, uint64_t seed) {
  static const wk_dtype signs[][2] = {{WK_U8, WK_I8}, {WK_I8, WK_I8}, {WK_U8, WK_I8},
                                      {WK_I8, WK_U8}, {WK_I8, WK_I8}, {WK_U8, WK_U8}};
  add_floats(s, seed + 1000);
  size_t kept = 0;
  for (size_t i = 0; i < s->n; i++) {
    kh_case *c = &s->cases[kept];
    *c = s->cases[i];
    const wk_dtype *t = signs[kept % WK_COUNTOF(signs)];
    *kh_types(c) = (wk_cpu_types){t[0], t[1], WK_I32, 0};
    if (c->is_conv) c->conv.types.outside = t[0] == WK_U8 ? 131 : -7;
    c->is_known = kept++ % 2;
  }
  s->n = kept;
}

static void fail_case(const kh_case *c, const wk_simd *simd, double error) {
  const wk_cpu_conv_desc *d = &c->conv;
  if (!c->is_conv) fail_msg("%s on %s: error %g", c->name, simd->name, error);
  fail_msg("%s on %s: error %g: %dx%dx%dx%d, %dx%d to %dx%dx%d, stride %d,%d pad %d,%d dilation "
           "%d,%d groups %d", c->name, simd->name, error, (int)d->n, (int)d->h, (int)d->w,
           (int)d->cin, (int)d->kh, (int)d->kw, (int)d->oh, (int)d->ow, (int)d->cout,
           (int)d->stride_h, (int)d->stride_w, (int)d->pad_h, (int)d->pad_w, (int)d->dil_h,
           (int)d->dil_w, (int)d->group);
}

static void check_isa(const wk_simd *simd, uint64_t seed, void (*add)(suite *, uint64_t)) {
  static suite s;
  memset(&s, 0, sizeof s);
  add(&s, seed);
  kh_module m;
  kh_module_init(&m, simd);
  for (size_t i = 0; i < s.n; i++) kh_case_emit(&m, &s.cases[i]);
  kh_module_load(&m, s.cases, s.n, NULL);
  for (size_t i = 0; i < s.n; i++) {
    kh_case *c = &s.cases[i];
    kh_case_alloc(simd, c, 1000 + i);
    char *before = wk_xmalloc((size_t)kh_sizes(c).y);
    memcpy(before, c->y, (size_t)kh_sizes(c).y);
    kh_case_run(c, 0, c->kernel.n_tasks);
    double error = kh_case_error(c, 0);
    if (!(error <= 1)) fail_case(c, simd, error);
    check_gaps(c, before);
    check_task_split(c);
    free(before);
    kh_case_free(c);
  }
  kh_module_free(&m);
}

static void test_every_isa(void **state) {
  (void)state;
  const wk_simd *simd;
  for (int i = 0; (simd = wk_simd_row(i)); i++)
    if (wk_simd_runs_here(simd)) check_isa(simd, (uint64_t)i, add_floats);
}

static void test_halves(void **state) {
  (void)state;
  const wk_simd *simd;
  for (int i = 0; (simd = wk_simd_row(i)); i++)
    if (wk_simd_runs_here(simd)) check_isa(simd, (uint64_t)i, add_halves);
}

static void test_integers(void **state) {
  (void)state;
  const wk_simd *simd;
  for (int i = 0; (simd = wk_simd_row(i)); i++)
    if (wk_simd_runs_here(simd)) check_isa(simd, (uint64_t)i, add_integers);
}

/* ---- what is said of packed integers --------------------------------------------------------- */

enum { REACH_OUT = 37, REACH_IN = 7, REACH_COPIES = 6 };
static int8_t reach_b[REACH_COPIES * REACH_OUT * REACH_IN * 9];

static int64_t weight_at(const wk_cpu_types *t, int64_t i) {
  return t->b == WK_I8 ? reach_b[i] : (uint8_t)reach_b[i];
}

/* Column c has `count` weights, from c * out on, each `step` behind the one before. */
static void add_reach(const wk_cpu_types *t, int64_t from, int64_t count, int64_t step,
                      int64_t of[2]) {
  of[0] = of[1] = 0;
  for (int64_t k = 0; k < count; k++) {
    int64_t v = weight_at(t, from + k * step);
    of[v < 0] += v;
  }
}

static void check_conv_reach(const wk_simd *simd, wk_cpu_types t, int64_t group, int64_t in) {
  const wk_cpu_conv_desc d = {.n = 1, .h = 4, .w = 4, .cin = group * in, .oh = 4, .ow = 4,
                              .cout = REACH_OUT * 2, .kh = 3, .kw = 3, .stride_h = 1,
                              .stride_w = 1, .pad_h = 1, .pad_w = 1, .dil_h = 1, .dil_w = 1,
                              .group = group, .x_stride = {16 * group * in, 4 * group * in,
                                                           group * in, 1},
                              .y_stride = {16 * REACH_OUT * 2, 8 * REACH_OUT, 2 * REACH_OUT},
                              .types = t};
  const int64_t stride[] = {in * 9, 9, 3, 1};
  int64_t want[2], got[REACH_OUT * 2][2];
  void *packed = kh_alloc(wk_cpu_conv_packed_bytes(simd, &d));
  wk_cpu_conv_pack(simd, &d, reach_b, stride, packed);
  memset(got, 0x5a, sizeof got);
  wk_cpu_conv_reach(simd, &d, packed, got);
  for (int64_t c = 0; c < d.cout; c++) {
    add_reach(&t, c * in * 9, in * 9, 1, want);
    if (memcmp(want, got[c], sizeof want)) fail_msg("%s: conv, channel %d", simd->name, (int)c);
  }
  kh_free(packed, wk_cpu_conv_packed_bytes(simd, &d));
}

/* Of several matrices the farthest. */
static void check_matmul_reach(const wk_simd *simd, wk_cpu_types t) {
  const int64_t one = REACH_IN * REACH_OUT;
  const wk_cpu_matmul_desc d = {.batch = {2, 3}, .m = 2, .n = REACH_OUT, .k = REACH_IN,
                                .b_stride = {3 * one, one, REACH_OUT, 1}, .b_constant = true,
                                .types = t};
  int64_t of[2], want[2], got[REACH_OUT][2];
  void *packed = kh_alloc(wk_cpu_matmul_packed_bytes(simd, &d));
  wk_cpu_matmul_pack(simd, &d, reach_b, packed);
  memset(got, 0x5a, sizeof got);
  wk_cpu_matmul_reach(simd, &d, packed, got);
  for (int64_t c = 0; c < REACH_OUT; c++) {
    want[0] = want[1] = 0;
    for (int64_t i = 0; i < REACH_COPIES; i++) {
      add_reach(&t, i * one + c, REACH_IN, REACH_OUT, of);
      if (of[0] > want[0]) want[0] = of[0];
      if (of[1] < want[1]) want[1] = of[1];
    }
    if (memcmp(want, got[c], sizeof want)) fail_msg("%s: matmul, column %d", simd->name, (int)c);
  }
  kh_free(packed, wk_cpu_matmul_packed_bytes(simd, &d));
}

static void test_reach(void **state) {
  static const wk_cpu_types types[] = {{WK_U8, WK_I8, WK_I32, 0}, {WK_I8, WK_I8, WK_I32, 0},
                                       {WK_U8, WK_U8, WK_I32, 0}, {WK_I8, WK_U8, WK_I32, 0}};
  wk_rng r = {.s = 7};
  const wk_simd *simd;
  (void)state;
  for (size_t i = 0; i < sizeof reach_b; i++) reach_b[i] = (int8_t)wk_rng_range(&r, -128, 127);
  for (int i = 0; (simd = wk_simd_row(i)); i++)
    for (size_t k = 0; k < WK_COUNTOF(types); k++) {
      check_matmul_reach(simd, types[k]);
      check_conv_reach(simd, types[k], 1, 3);
      check_conv_reach(simd, types[k], 2, 3);
      check_conv_reach(simd, types[k], REACH_OUT * 2, 1);
    }
}

/* The residual may be the output buffer itself. */
static void test_residual_in_place(void **state) {
  (void)state;
  static suite s;
  memset(&s, 0, sizeof s);
  const wk_simd *simd;
  assert_null(wk_simd_find("native", &simd));
  square(&s, "3x3", (int64_t[]){1, 9, 7, 16, 72, 3, 1, 1, 1, 1}, KH_BIAS_RESIDUAL_RELU);
  kh_module m;
  kh_module_init(&m, simd);
  kh_case *c = &s.cases[0];
  kh_case_emit(&m, c);
  kh_module_load(&m, c, 1, NULL);
  kh_case_alloc(simd, c, 5);
  kh_case_run(c, 0, c->kernel.n_tasks);
  float *apart = c->y;
  c->y = kh_alloc(c->y_size * 4);
  memcpy(c->y, c->residual, (size_t)c->y_size * 4);
  float *residual = c->residual;
  c->residual = c->y;
  kh_case_run(c, 0, c->kernel.n_tasks);
  assert_memory_equal(apart, c->y, (size_t)c->y_size * 4);
  c->residual = residual;
  kh_free(apart, c->y_size * 4);
  kh_case_free(c);
  kh_module_free(&m);
}

/* Kernels of instruction sets that this machine lacks at least become objects; the same input gives
 * the same bytes. */
static void test_objects(void **state) {
  (void)state;
  const wk_simd *simd;
  for (int i = 0; (simd = wk_simd_row(i)); i++) {
    LLVMMemoryBufferRef object[2];
    for (int round = 0; round < 2; round++) {
      static suite s;
      memset(&s, 0, sizeof s);
      add_convs(&s);
      for (size_t k = 6; k < 12; k++) *kh_types(&s.cases[k]) = (wk_cpu_types){WK_I8, WK_I8, 0, 3};
      for (size_t k = 0; k < 3; k++)
        *kh_types(&s.cases[k]) = (wk_cpu_types){WK_F16, k ? WK_F16 : WK_BF16, WK_F16, 0};
      kh_module m;
      kh_module_init(&m, simd);
      for (size_t k = 0; k < 12; k++) kh_case_emit(&m, &s.cases[k]);
      kh_check(wk_object_emit(simd, m.e.mod, LLVMObjectFile, &object[round]));
      kh_module_free(&m);
      for (size_t k = 0; k < 12; k++) /* nothing was made to run */
        if (s.cases[k].arena) wk_arena_free(s.cases[k].arena);
    }
    size_t n = LLVMGetBufferSize(object[0]);
    assert_int_equal(n, LLVMGetBufferSize(object[1]));
    assert_memory_equal(LLVMGetBufferStart(object[0]), LLVMGetBufferStart(object[1]), n);
    for (int round = 0; round < 2; round++) LLVMDisposeMemoryBuffer(object[round]);
  }
}

static void test_isa_names(void **state) {
  (void)state;
  const wk_simd *simd;
  assert_null(wk_simd_find("native", &simd));
  assert_true(wk_simd_runs_here(simd));
  assert_null(wk_simd_find("znver4", &simd));
  assert_string_equal(simd->name, "avx512-vnni");
  assert_null(wk_simd_find("aarch64", &simd));
  wk_status st = wk_simd_find("haswel", &simd);
  assert_non_null(st);
  assert_int_equal(st->code, WK_USAGE);
  assert_non_null(strstr(st->message, "haswell"));
  wk_status_free(st);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_isa_names), cmocka_unit_test(test_every_isa),
      cmocka_unit_test(test_halves), cmocka_unit_test(test_integers),
      cmocka_unit_test(test_reach), cmocka_unit_test(test_residual_in_place),
      cmocka_unit_test(test_objects)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
