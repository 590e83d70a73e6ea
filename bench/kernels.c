/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the CPU target's kernels on the layers of real networks, one thread, against a loop of
 * nothing but multiply-adds that runs in the same window. Every pass runs each layer twice: the
 * first run finds its weights out of the caches when the network is large (as in an inference), the
 * second finds them warm. Figures are minima over the passes of thread CPU time, so that neighbours
 * on the machine disturb little. Usage: bench_kernels [--cpu NAME] [--passes N] [--dump FILE.o]
 * [--match TEXT] [--signs u8|i8] [resnet50|mobilenetv2|vgg19|bert|resnet50-int8|mobilenetv2-int8]…
 */
#include "targets/cpu/kernels/dot.h"
#include "tests/kernel_harness.h"

#include <time.h>

enum { MAX_LAYERS = 256, CALIBRATION_LOOPS = 4000, CALIBRATION_CHAINS = 12 };

typedef struct {
  kh_case cases[MAX_LAYERS];
  char names[MAX_LAYERS][80];
  size_t n;
} network;

static kh_case *push(network *net) {
  if (net->n == MAX_LAYERS) exit(1);
  kh_case *c = &net->cases[net->n];
  c->name = net->names[net->n++];
  return c;
}

static int64_t add_conv(network *net, int64_t hw, int64_t cin, int64_t cout, int64_t k,
                        int64_t stride, int64_t group, kh_epilogue epilogue) {
  kh_case *c = push(net);
  int64_t pad = (k - 1) / 2, o = (hw + 2 * pad - k) / stride + 1;
  c->is_conv = true;
  c->epilogue = epilogue;
  c->conv = (wk_cpu_conv_desc){1,
                               hw,
                               hw,
                               cin,
                               o,
                               o,
                               cout,
                               k,
                               k,
                               stride,
                               stride,
                               pad,
                               pad,
                               1,
                               1,
                               group,
                               {hw * hw * cin, hw * cin, cin, 1},
                               {o * o * cout, o * cout, cout},
                               WK_CPU_F32};
  if (cin == 3) memcpy(c->conv.x_stride, (int64_t[]){3 * hw * hw, hw, 1, hw * hw}, 32);
  snprintf(net->names[net->n - 1], 80, "conv %lldx%lld/%lld %lld->%lld @%lld%s", (long long)k,
           (long long)k, (long long)stride, (long long)cin, (long long)cout, (long long)o,
           group > 1 ? " dw" : "");
  return o;
}

static void add_matmul(network *net, int64_t m, int64_t k, int64_t n, kh_epilogue epilogue) {
  kh_case *c = push(net);
  c->epilogue = epilogue;
  c->matmul = (wk_cpu_matmul_desc){
      {1, 1}, m, n, k, {m * k, m * k, k}, {0, 0, n, 1}, {m * n, m * n, n}, true, WK_CPU_F32,
      WK_CPU_NO_LIMITS};
  snprintf(net->names[net->n - 1], 80, "matmul %lldx%lldx%lld", (long long)m, (long long)k,
           (long long)n);
}

static void resnet50(network *net) {
  int64_t hw = add_conv(net, 224, 3, 64, 7, 2, 1, KH_BIAS_RELU) / 2, cin = 64;
  const int blocks[] = {3, 4, 6, 3};
  for (int s = 0; s < 4; s++)
    for (int b = 0; b < blocks[s]; b++) {
      int64_t mid = 64 << s, out = 4 * mid, stride = s > 0 && b == 0 ? 2 : 1;
      if (b == 0) add_conv(net, hw, cin, out, 1, stride, 1, KH_BIAS);
      add_conv(net, hw, cin, mid, 1, 1, 1, KH_BIAS_RELU);
      hw = add_conv(net, hw, mid, mid, 3, stride, 1, KH_BIAS_RELU);
      add_conv(net, hw, mid, out, 1, 1, 1, KH_BIAS_RESIDUAL_RELU);
      cin = out;
    }
  add_matmul(net, 1, 2048, 1000, KH_BIAS);
}

static void mobilenetv2(network *net) {
  int64_t hw = add_conv(net, 224, 3, 32, 3, 2, 1, KH_BIAS_RELU), cin = 32;
  const int rows[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                         {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    for (int b = 0; b < rows[i][2]; b++) {
      int64_t mid = cin * rows[i][0], out = rows[i][1], stride = b == 0 ? rows[i][3] : 1;
      if (rows[i][0] > 1) add_conv(net, hw, cin, mid, 1, 1, 1, KH_BIAS_RELU);
      hw = add_conv(net, hw, mid, mid, 3, stride, mid, KH_BIAS_RELU);
      add_conv(net, hw, mid, out, 1, 1, 1,
               stride == 1 && cin == out ? KH_BIAS_RESIDUAL_RELU : KH_BIAS);
      cin = out;
    }
  add_conv(net, hw, 320, 1280, 1, 1, 1, KH_BIAS_RELU);
  add_matmul(net, 1, 1280, 1000, KH_BIAS);
}

static void vgg19(network *net) {
  const int counts[] = {2, 2, 4, 4, 4};
  int64_t hw = 224, cin = 3;
  for (int s = 0; s < 5; s++, hw /= 2)
    for (int b = 0; b < counts[s]; b++) {
      int64_t out = s < 4 ? 64 << s : 512;
      add_conv(net, hw, cin, out, 3, 1, 1, KH_BIAS_RELU);
      cin = out;
    }
  add_matmul(net, 1, 25088, 4096, KH_BIAS_RELU);
  add_matmul(net, 1, 4096, 4096, KH_BIAS_RELU);
  add_matmul(net, 1, 4096, 1000, KH_BIAS);
}

static void bert(network *net) {
  for (int layer = 0; layer < 4; layer++) {
    for (int i = 0; i < 3; i++) add_matmul(net, 128, 768, 768, KH_BIAS);
    kh_case *c = push(net);
    c->matmul = (wk_cpu_matmul_desc){
        {1, 12},           128,   128,       64, {0, 64, 768}, {0, 64, 1, 768},
        {0, 128 * 128, 128}, false, WK_CPU_F32, WK_CPU_NO_LIMITS};
    snprintf(net->names[net->n - 1], 80, "attention Q*K^T 12x128x64x128");
    c = push(net);
    c->matmul = (wk_cpu_matmul_desc){
        {1, 12},         128,          64,    128,       {0, 128 * 128, 128},
        {0, 64, 768, 1}, {0, 64, 768}, false, WK_CPU_F32, WK_CPU_NO_LIMITS};
    snprintf(net->names[net->n - 1], 80, "attention P*V 12x128x128x64");
    add_matmul(net, 128, 768, 768, KH_BIAS_RESIDUAL_RELU);
    add_matmul(net, 128, 768, 3072, KH_BIAS_RELU);
    add_matmul(net, 128, 3072, 768, KH_BIAS_RESIDUAL_RELU);
  }
}

static const struct {
  const char *name;
  void (*build)(network *);
  bool is_int8;
} networks[] = {{"resnet50", resnet50, false},     {"mobilenetv2", mobilenetv2, false},
                {"vgg19", vgg19, false},           {"bert", bert, false},
                {"resnet50-int8", resnet50, true}, {"mobilenetv2-int8", mobilenetv2, true}};

/* ---- time ------------------------------------------------------------------------------------ */

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* void(ptr out, …, n): n rounds of independent multiply-add chains. */
static wk_ssa emit_calibration(wk_llvm *e, const wk_cpu_types *of) {
  LLVMTypeRef types[] = {e->ptr, e->i64};
  wk_ssa fn = wk_llvm_function(e, "calibrate", types, 2), acc[CALIBRATION_CHAINS];
  LLVMSetLinkage(fn, LLVMExternalLinkage);
  wk_ssa out = LLVMGetParam(fn, 0);
  LLVMTypeRef sum = wk_dot_accumulator(e, of);
  wk_dot_operand a = wk_dot_a(e, of, out), b = wk_dot_b(e, of, out);
  for (int i = 0; i < CALIBRATION_CHAINS; i++) acc[i] = LLVMConstNull(sum);
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), LLVMGetParam(fn, 1), 1, acc, CALIBRATION_CHAINS);
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < CALIBRATION_CHAINS; i++)
      acc[i] = wk_dot_codegen(e, of, &a, &b, k ? acc[i] : l.phi[i]);
  wk_llvm_end(e, &l, acc);
  for (int i = 0; i < CALIBRATION_CHAINS; i++)
    wk_llvm_vstore(e, l.phi[i], wk_llvm_off(e, out, i * e->simd->lanes * 4), NULL);
  wk_llvm_return(e);
  return fn;
}

/* `unit`: products of a lane. */
static double calibrate(kh_task task, const wk_simd *simd, int unit) {
  static float out[CALIBRATION_CHAINS * 64];
  void (*fn)(float *, int64_t);
  memcpy(&fn, &task, sizeof fn);
  double t = now(CLOCK_THREAD_CPUTIME_ID);
  fn(out, CALIBRATION_LOOPS);
  t = now(CLOCK_THREAD_CPUTIME_ID) - t;
  return 2.0 * 4 * CALIBRATION_CHAINS * CALIBRATION_LOOPS * simd->lanes * unit / t * 1e-9;
}

typedef struct {
  double cold, warm, peak;
} figure;

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void report(const network *net, const figure *f, const char *name) {
  double flops = 0, cold = 0, warm = 0, ideal = 0;
  printf("%-34s %8s %8s %6s %8s %6s\n", name, "MFLOP", "cold us", "peak%", "warm us", "peak%");
  for (size_t i = 0; i < net->n; i++) {
    double w = kh_case_flops(&net->cases[i]), best = w / f[i].peak * 1e-9;
    printf("%-34s %8.1f %8.1f %6.1f %8.1f %6.1f\n", net->names[i], w * 1e-6, f[i].cold * 1e6,
           100 * best / f[i].cold, f[i].warm * 1e6, 100 * best / f[i].warm);
    flops += w;
    cold += f[i].cold;
    warm += f[i].warm;
    ideal += best;
  }
  printf(
      "total %s: %.1f MFLOP; cold %.2f ms = %.1f GFLOP/s = %.1f %% of peak; warm %.2f ms = %.1f "
      "%%\n",
      name, flops * 1e-6, cold * 1e3, flops / cold * 1e-9, 100 * ideal / cold, warm * 1e3,
      100 * ideal / warm);
}

static void measure(network *net, const wk_simd *simd, kh_task calibration, int passes,
                    const char *name) {
  static figure f[MAX_LAYERS];
  double *totals = wk_xcalloc((size_t)passes, sizeof *totals);
  for (size_t i = 0; i < net->n; i++) f[i] = (figure){1e9, 1e9, 0};
  double peak = 0;
  for (int p = 0; p < passes; p++)
    for (size_t i = 0; i < net->n; i++) {
      kh_case *c = &net->cases[i];
      double g = calibrate(calibration, simd, wk_dot_unit(kh_types(c)));
      double t0 = now(CLOCK_THREAD_CPUTIME_ID);
      kh_case_run(c, 0, c->kernel.n_tasks);
      double t1 = now(CLOCK_THREAD_CPUTIME_ID);
      kh_case_run(c, 0, c->kernel.n_tasks);
      double t2 = now(CLOCK_THREAD_CPUTIME_ID);
      if (t1 - t0 < f[i].cold) f[i].cold = t1 - t0;
      if (t2 - t1 < f[i].warm) f[i].warm = t2 - t1;
      if (g > peak) peak = g;
      totals[p] += t1 - t0;
    }
  for (size_t i = 0; i < net->n; i++) f[i].peak = peak;
  qsort(totals, (size_t)passes, sizeof *totals, compare_doubles);
  report(net, f, name);
  printf("calibration %.1f GFLOP/s; a whole pass takes min %.2f ms, median %.2f ms\n", peak,
         totals[0] * 1e3, totals[passes / 2] * 1e3);
  free(totals);
}

typedef struct {
  const wk_simd *simd;
  int passes;
  const char *dump, *match;
  wk_dtype left; /* type of the activations of integer networks */
} options;

static void keep_matching(network *net, const char *match) {
  size_t kept = 0;
  for (size_t i = 0; i < net->n; i++)
    if (strstr(net->names[i], match)) {
      net->cases[kept] = net->cases[i];
      memcpy(net->names[kept], net->names[i], sizeof net->names[i]);
      net->cases[kept].name = net->names[kept];
      kept++;
    }
  net->n = kept;
}

static int run(const options *o, const char *name, void (*build)(network *), bool is_int8) {
  static network net;
  memset(&net, 0, sizeof net);
  build(&net);
  wk_cpu_types types = is_int8 ? (wk_cpu_types){o->left, WK_I8, WK_I32, 3} : WK_CPU_F32;
  for (size_t i = 0; i < net.n; i++) {
    *kh_types(&net.cases[i]) = types;
    net.cases[i].is_known = true;
  }
  if (o->match) keep_matching(&net, o->match);
  kh_module m;
  kh_module_init(&m, o->simd);
  double t0 = now(CLOCK_THREAD_CPUTIME_ID);
  for (size_t i = 0; i < net.n; i++) kh_case_emit(&m, &net.cases[i]);
  double t1 = now(CLOCK_THREAD_CPUTIME_ID);
  emit_calibration(&m.e, &types);
  kh_module_load(&m, net.cases, net.n, o->dump);
  double t2 = now(CLOCK_THREAD_CPUTIME_ID), pack = 0;
  void *p;
  kh_check(wk_jit_find(m.jit, "calibrate", &p));
  kh_task calibration;
  memcpy(&calibration, &p, sizeof p);
  int wrong = 0;
  int64_t scratch = 0;
  for (size_t i = 0; i < net.n; i++) {
    kh_case *c = &net.cases[i];
    kh_case_alloc(o->simd, c, i);
    double t = now(CLOCK_THREAD_CPUTIME_ID);
    kh_free(c->packed, c->kernel.packed_bytes);
    c->packed = NULL;
    kh_case_pack(o->simd, c);
    pack += now(CLOCK_THREAD_CPUTIME_ID) - t;
    kh_case_run(c, 0, c->kernel.n_tasks);
    double error = kh_case_error(c, 300);
    if (c->kernel.scratch_bytes > scratch) scratch = c->kernel.scratch_bytes;
    if (error > 1) printf("WRONG %s: error %g\n", c->name, error), wrong++;
  }
  printf(
      "%s (%s): emit %.0f ms, code generation and load %.0f ms, packing %.0f ms, scratch %lld "
      "KiB\n",
      name, o->simd->name, (t1 - t0) * 1e3, (t2 - t1) * 1e3, pack * 1e3, (long long)scratch >> 10);
  if (net.n && o->passes) measure(&net, o->simd, calibration, o->passes, name);
  for (size_t i = 0; i < net.n; i++) kh_case_free(&net.cases[i]);
  kh_module_free(&m);
  return wrong;
}

int main(int argc, char **argv) {
  options o = {.passes = 10, .left = WK_U8};
  const char *cpu = "native";
  int wrong = 0;
  bool is_chosen[WK_COUNTOF(networks)] = {false}, is_any = false;
  for (int i = 1; i < argc; i++) {
    bool has_value = i + 1 < argc;
    if (strcmp(argv[i], "--cpu") == 0 && has_value)
      cpu = argv[++i];
    else if (strcmp(argv[i], "--passes") == 0 && has_value)
      o.passes = atoi(argv[++i]);
    else if (strcmp(argv[i], "--dump") == 0 && has_value)
      o.dump = argv[++i];
    else if (strcmp(argv[i], "--match") == 0 && has_value)
      o.match = argv[++i];
    else if (strcmp(argv[i], "--signs") == 0 && has_value)
      o.left = strcmp(argv[++i], "i8") == 0 ? WK_I8 : WK_U8;
    for (size_t k = 0; k < WK_COUNTOF(networks); k++)
      if (strcmp(argv[i], networks[k].name) == 0) is_chosen[k] = is_any = true;
  }
  kh_check(wk_simd_find(cpu, &o.simd));
  for (size_t k = 0; k < WK_COUNTOF(networks); k++)
    if (is_chosen[k] || !is_any)
      wrong += run(&o, networks[k].name, networks[k].build, networks[k].is_int8);
  return wrong ? 1 : 0;
}
