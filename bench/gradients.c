/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what training does with convolutions on the CPU target: for each layer of ResNet-18,
 * and for some depthwise ones ("dw"), the forward convolution with constant weights, the same with
 * weights that come at run time, the gradient of the data (a transposed convolution) and that of
 * the weights (a convolution of x with dy whose batches are channels, or in depthwise ones an axis
 * of space).
 * Tensors are channels last but for the image, weights row-major.
 * The four run in turn, in rounds; figures are multiply-adds of the layer, doubled, by the least
 * time of the rounds, and the medians of the ratios to the first in a round. Time of one thread is
 * its CPU time, so that neighbours on the machine disturb little.
 * Usage: bench_gradients [--cpu NAME] [--batch N] [--rounds N] [--match TEXT]
 *                        [--layer SIZE,CHANNELS,OUT,WINDOW,STRIDE] */
#include <time.h>
#include <unistd.h>

#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/pipeline.h"
#include "runtime/wick.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/program_build.h"

enum { MAX_THREADS = 2, MAX_ROUNDS = 99 };

typedef struct {
  int64_t hw, cin, cout, k, stride;
  bool is_depthwise;
} layer;

#define LAYER(hw, cin, cout, k, stride) {hw, cin, cout, k, stride, false}
#define DEPTHWISE(hw, c, k, stride) {hw, c, c, k, stride, true}
static const layer layers[] = {
    LAYER(224, 3, 64, 7, 2),
    LAYER(56, 64, 64, 3, 1),   LAYER(56, 64, 128, 3, 2),  LAYER(56, 64, 128, 1, 2),
    LAYER(28, 128, 128, 3, 1), LAYER(28, 128, 256, 3, 2), LAYER(28, 128, 256, 1, 2),
    LAYER(14, 256, 256, 3, 1), LAYER(14, 256, 512, 3, 2), LAYER(14, 256, 512, 1, 2),
    LAYER(7, 512, 512, 3, 1),  DEPTHWISE(56, 144, 3, 1),  DEPTHWISE(56, 144, 3, 2),
    DEPTHWISE(14, 384, 3, 1),  DEPTHWISE(14, 576, 3, 2),  DEPTHWISE(28, 240, 5, 1),
    DEPTHWISE(28, 240, 5, 2)};

typedef enum { CONSTANT, RUN_TIME, DATA, WEIGHTS, KINDS } kind;

typedef struct {
  const char *cpu, *match;
  int64_t batch, rounds;
} options;

static void check(wk_status s) {
  if (!s) return;
  wk_status_print(stderr, s);
  exit(1);
}

static void check_run(wick_status s) {
  if (s == WICK_OK) return;
  fprintf(stderr, "bench_gradients: %s\n", wick_status_text(s));
  exit(1);
}

/* ---- programs -------------------------------------------------------------------------------- */

static int64_t pad_of(const layer *l) { return (l->k - 1) / 2; }
static int64_t out_of(const layer *l) { return (l->hw + 2 * pad_of(l) - l->k) / l->stride + 1; }
/* Input channels of an output channel, and groups of channels. */
static int64_t each_of(const layer *l) { return l->is_depthwise ? 1 : l->cin; }
static int64_t groups_of(const layer *l) { return l->is_depthwise ? l->cin : 1; }
static double flops_of(const layer *l, int64_t batch) {
  int64_t o = out_of(l);
  return 2.0 * (double)(batch * o * o * l->cout) * (double)(each_of(l) * l->k * l->k);
}

static wk_view image(wk_program *p, const layer *l, int64_t n) {
  if (l->cin <= 3) return IN(p, WK_F32, n, l->cin, l->hw, l->hw);
  return NHWC(IN(p, WK_F32, n, l->hw, l->hw, l->cin));
}

static void forward(wk_program *p, const layer *l, int64_t n, bool is_constant) {
  int64_t o = out_of(l);
  wk_view y = NHWC(OUT(p, WK_F32, n, o, o, l->cout)), x = image(p, l, n);
  wk_view w = is_constant ? CONST(p, WK_F32, l->cout, each_of(l), l->k, l->k)
                          : IN(p, WK_F32, l->cout, each_of(l), l->k, l->k);
  wk_inst *i = append(p, WK_OP_CONV, 1, 3, y, x, w);
  set_conv(p, i, (conv_shape){l->stride, pad_of(l), 1, groups_of(l)}, NULL, 0);
}

/* dx = transposed convolution of dy with the weights of the layer. */
static void data_gradient(wk_program *p, const layer *l, int64_t n) {
  int64_t o = out_of(l);
  wk_view dx = NHWC(OUT(p, WK_F32, n, l->hw, l->hw, l->cin));
  wk_view dy = NHWC(IN(p, WK_F32, n, o, o, l->cout));
  wk_view w = IN(p, WK_F32, l->cout, each_of(l), l->k, l->k);
  wk_inst *i = append(p, WK_OP_CONV_TRANSPOSE, 1, 3, dx, dy, w);
  wk_attr_conv_transpose *a = i->attrs;
  int64_t rest = l->hw - ((o - 1) * l->stride + l->k - 2 * pad_of(l));
  a->strides = wk_ints_fill(p->arena, 2, l->stride);
  a->dilations = wk_ints_fill(p->arena, 2, 1);
  a->pads = wk_ints_fill(p->arena, 4, pad_of(l));
  a->output_padding = wk_ints_fill(p->arena, 2, rest);
  a->group = groups_of(l);
}

/* dw [c, oc, k, k] = convolution of x [c, n, …] with dy [oc, n, …]: strides and dilations change
 * places, and what x has beyond the last window is cut off. */
static void weight_gradient(wk_program *p, const layer *l, int64_t n) {
  int64_t o = out_of(l), last = pad_of(l) - (l->hw + 2 * pad_of(l) - (o - 1) * l->stride - l->k);
  wk_view dw = NHWC(OUT(p, WK_F32, l->cin, l->k, l->k, l->cout)), x = image(p, l, n);
  wk_view dy = NHWC(IN(p, WK_F32, n, o, o, l->cout));
  for (int d = 2; d < 4; d++) x.dims[d] += last < 0 ? last : 0;
  wk_inst *i = append(p, WK_OP_CONV, 1, 3, dw, PERM(x, 1, 0, 2, 3), PERM(dy, 1, 0, 2, 3));
  wk_attr_conv *a = i->attrs;
  int64_t pads[] = {pad_of(l), pad_of(l), last < 0 ? 0 : last, last < 0 ? 0 : last};
  a->strides = wk_ints_fill(p->arena, 2, 1);
  a->dilations = wk_ints_fill(p->arena, 2, l->stride);
  a->pads = wk_ints_dup(p->arena, pads, 4);
  a->group = 1;
}

/* dw [1, c, 1, k, k] = convolution of x [1, c, n, …] with dy [c, 1, n, …], channel by channel. */
static void depthwise_weight_gradient(wk_program *p, const layer *l, int64_t n) {
  int64_t o = out_of(l), pad = pad_of(l), s = l->stride;
  int64_t last = s * (o - 1) + l->k - l->hw - pad, cut = last < 0 ? last : 0;
  wk_view dw = OUT(p, WK_F32, 1, 1, l->k, l->k, l->cout);
  wk_view x = IN(p, WK_F32, 1, n, l->hw, l->hw, l->cin);
  wk_view dy = IN(p, WK_F32, 1, n, o, o, l->cout);
  for (int d = 2; d < 4; d++) x.dims[d] += cut;
  wk_inst *i = append(p, WK_OP_CONV, 1, 3, PERM(dw, 0, 4, 1, 2, 3), PERM(x, 0, 4, 1, 2, 3),
                      PERM(dy, 4, 0, 1, 2, 3));
  wk_attr_conv *a = i->attrs;
  a->strides = wk_ints_fill(p->arena, 3, 1);
  a->dilations = wk_ints_dup(p->arena, (int64_t[]){1, s, s}, 3);
  a->pads = wk_ints_dup(p->arena, (int64_t[]){0, pad, pad, 0, last - cut, last - cut}, 6);
  a->group = l->cin;
}

static wk_program *program_of(const layer *l, int64_t n, kind k) {
  wk_program *p = wk_program_new("layer");
  if (k == DATA) data_gradient(p, l, n);
  else if (k == WEIGHTS && l->is_depthwise) depthwise_weight_gradient(p, l, n);
  else if (k == WEIGHTS) weight_gradient(p, l, n);
  else forward(p, l, n, k == CONSTANT);
  check(wk_program_verify(p));
  return p;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct {
  wick_model *model;
  wick_session *session[MAX_THREADS];
  void *inputs[2], *outputs[1];
} runnable;

static void *filled(const wk_type *t, uint64_t seed) {
  wk_tensor x;
  wk_rng rng = {seed};
  check(wk_tensor_alloc(t, &x));
  random_fill(&rng, &x);
  return x.data;
}

static void load(wk_program *p, const char *cpu, runnable *r) {
  static const wk_emit_options how = {.model_name = "layer", .command = "bench_gradients"};
  wk_instance *t;
  char path[] = "/tmp/wick-gradients-XXXXXX";
  int file = mkstemp(path);
  if (file < 0) exit(1);
  close(file);
  check(wk_target_cpu.open(cpu, &t));
  check(wk_pipeline_finish(p, t));
  check(wk_emit_programs(t, &p, 1, &how, path));
  check_run(wick_model_load(path, NULL, &r->model));
  unlink(path);
  t->target->close(t);
  for (int n = 0; n < MAX_THREADS; n++)
    check_run(wick_session_create(r->model, 0, (uint32_t)n + 1, &r->session[n]));
  for (size_t i = 0; i < p->inputs.n; i++) r->inputs[i] = filled(&p->inputs.data[i].type, i);
  r->outputs[0] = filled(&p->outputs.data[0].type, 9);
}

static void unload(runnable *r) {
  for (int n = 0; n < MAX_THREADS; n++) wick_session_free(r->session[n]);
  wick_model_free(r->model);
  free(r->inputs[0]);
  free(r->inputs[1]);
  free(r->outputs[0]);
}

static double now(int threads) {
  struct timespec t;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double run(runnable *r, int threads) {
  double t = now(threads);
  check_run(wick_session_run(r->session[threads - 1], (const void *const *)r->inputs, r->outputs));
  return now(threads) - t;
}

static int by_number(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(const layer *l, const options *o, runnable *r, int threads, double share[]) {
  double seconds[KINDS][MAX_ROUNDS], ratio[MAX_ROUNDS], flops = flops_of(l, o->batch);
  for (int64_t n = 0; n < o->rounds; n++)
    for (int k = 0; k < KINDS; k++) seconds[k][n] = run(&r[k], threads);
  for (int k = 0; k < KINDS; k++) {
    for (int64_t n = 0; n < o->rounds; n++) ratio[n] = seconds[CONSTANT][n] / seconds[k][n];
    qsort(ratio, (size_t)o->rounds, sizeof *ratio, by_number);
    share[k] = ratio[o->rounds / 2];
    qsort(seconds[k], (size_t)o->rounds, sizeof **seconds, by_number);
    printf(" %8.1f", flops / seconds[k][0] / 1e9);
  }
  for (int k = RUN_TIME; k < KINDS; k++) printf(" %8.2f", share[k]);
  printf("\n");
  fflush(stdout);
}

static void measure_layer(const layer *l, const options *o) {
  char name[64];
  runnable r[KINDS] = {0};
  snprintf(name, sizeof name, "%s%lldx%lld/%lld %lld->%lld @%lld", l->is_depthwise ? "dw " : "",
           (long long)l->k, (long long)l->k, (long long)l->stride, (long long)l->cin,
           (long long)l->cout, (long long)out_of(l));
  if (o->match && !strstr(name, o->match)) return;
  for (int k = 0; k < KINDS; k++) {
    wk_program *p = program_of(l, o->batch, (kind)k);
    load(p, o->cpu, &r[k]);
    wk_program_free(p);
  }
  for (int threads = 1; threads <= MAX_THREADS; threads++) {
    double share[KINDS];
    printf("%-24s %7d", name, threads);
    measure(l, o, r, threads, share);
  }
  for (int k = 0; k < KINDS; k++) unload(&r[k]);
}

/* ---- command --------------------------------------------------------------------------------- */

static int usage(void) {
  fprintf(stderr, "usage: bench_gradients [--cpu NAME] [--batch N] [--rounds N] [--match TEXT]\n"
                  "                       [--layer SIZE,CHANNELS,OUT,WINDOW,STRIDE]\n");
  return 2;
}

static bool parse_layer(const char *text, layer *l) {
  int64_t *of[] = {&l->hw, &l->cin, &l->cout, &l->k, &l->stride};
  for (size_t i = 0; i < WK_COUNTOF(of); i++) {
    char *end;
    *of[i] = strtol(text, &end, 10);
    if (*of[i] < 1 || *of[i] > 4096 || *end != (i + 1 < WK_COUNTOF(of) ? ',' : 0)) return false;
    text = end + 1;
  }
  return l->k <= l->hw + 2 * pad_of(l);
}

int main(int argc, char **argv) {
  options o = {.batch = 8, .rounds = 7};
  layer own = {0};
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc) return usage();
    if (!strcmp(argv[i], "--cpu")) o.cpu = argv[i + 1];
    else if (!strcmp(argv[i], "--batch")) o.batch = atoi(argv[i + 1]);
    else if (!strcmp(argv[i], "--rounds")) o.rounds = atoi(argv[i + 1]);
    else if (!strcmp(argv[i], "--match")) o.match = argv[i + 1];
    else if (strcmp(argv[i], "--layer") != 0 || !parse_layer(argv[i + 1], &own)) return usage();
  }
  if (o.batch < 1 || o.batch > 1024 || o.rounds < 1 || o.rounds > MAX_ROUNDS) return usage();
  printf("%-24s %7s %8s %8s %8s %8s %8s %8s %8s\n", "GFLOP/s, batch in rounds", "threads",
         "constant", "run time", "data", "weights", "run time", "data", "weights");
  if (own.hw) measure_layer(&own, &o);
  for (size_t k = 0; k < WK_COUNTOF(layers) && !own.hw; k++) measure_layer(&layers[k], &o);
  return 0;
}
