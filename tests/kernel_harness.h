/* SPDX-License-Identifier: Apache-2.0
 * kernel_harness: emits kernels of targets/cpu into one module, loads it into this process, runs
 * them on seeded data and compares with naive loops. For the unit test and bench/kernels.c. */
#ifndef WICK_TESTS_KERNEL_HARNESS_H
#define WICK_TESTS_KERNEL_HARNESS_H

#include "compiler/expr/expr.h"
#include "targets/cpu/expr/expr_codegen.h"
#include "targets/cpu/kernels/kernels.h"
#include "targets/cpu/llvm/object.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void (*kh_task)(void *const *args, void *scratch, int64_t begin, int64_t end);

/* Biases of floats have the type of w, residuals that of y. On integers KH_BIAS_RELU requantises
 * per channel to u8, KH_BIAS_RESIDUAL_RELU to i8, and adds. */
typedef enum { KH_PLAIN, KH_BIAS_RELU, KH_BIAS, KH_BIAS_RESIDUAL_RELU } kh_epilogue;

typedef struct {
  const char *name;
  bool is_conv;
  wk_cpu_conv_desc conv;
  wk_cpu_matmul_desc matmul;
  kh_epilogue epilogue;
  wk_cpu_epilogue epi;
  wk_cpu_kernel kernel;
  kh_task task;
  float *x, *w, *packed, *y, *bias, *residual; /* of the case's types */
  bool is_known; /* the epilogue is told what sums, multipliers and shifts there are */
  int32_t *multiplier;
  int64_t *shift;
  wk_arena *arena;
  int64_t x_size, w_size, y_size, cout;
  void *scratch;
} kh_case;

typedef struct {
  LLVMContextRef ctx;
  wk_llvm e;
  wk_jit *jit;
} kh_module;

/* ---- sizes: one more than the largest offset ------------------------------------------------- */

static inline int64_t kh_extent(const int64_t *counts, const int64_t *strides, int n) {
  int64_t last = 0;
  for (int i = 0; i < n; i++) last += (counts[i] - 1) * strides[i];
  return last + 1;
}

static inline void kh_conv_sizes(kh_case *c) {
  const wk_cpu_conv_desc *d = &c->conv;
  const int64_t x[] = {d->n, d->h, d->w, d->cin}, y[] = {d->n, d->oh, d->ow};
  c->x_size = kh_extent(x, d->x_stride, 4);
  c->y_size = kh_extent(y, d->y_stride, 3) + d->cout - 1;
  c->w_size = d->cout * (d->cin / d->group) * d->kh * d->kw;
  c->cout = d->cout;
}

static inline void kh_matmul_sizes(kh_case *c) {
  const wk_cpu_matmul_desc *d = &c->matmul;
  const int64_t rows[] = {d->batch[0], d->batch[1], d->m};
  const int64_t b[] = {d->batch[0], d->batch[1], d->k, d->n};
  c->x_size = kh_extent(rows, d->a_stride, 3) + d->k - 1;
  c->y_size = kh_extent(rows, d->y_stride, 3) + d->n - 1;
  c->w_size = kh_extent(b, d->b_stride, 4);
  c->cout = d->n;
}

/* ---- epilogues ------------------------------------------------------------------------------- */

static inline wk_ssa kh_relu(wk_llvm *e, wk_ssa v) {
  wk_ssa zero = wk_llvm_vzero(e);
  return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealOGT, v, zero, ""), v, zero, "");
}

static inline wk_ssa kh_emit_epilogue(void *ctx, wk_llvm *e, wk_ssa acc, const wk_ssa *ops) {
  const kh_case *c = ctx;
  kh_epilogue kind = c->epilogue;
  acc = LLVMBuildFAdd(e->b, acc, ops[0], "");
  if (kind == KH_BIAS_RESIDUAL_RELU) acc = LLVMBuildFAdd(e->b, acc, ops[1], "");
  if (kind != KH_BIAS) acc = kh_relu(e, acc);
  return wk_round_narrow(e, (c->is_conv ? c->conv.types : c->matmul.types).y, e->simd->lanes, acc);
}

static inline wk_cpu_types *kh_types(kh_case *c) {
  return c->is_conv ? &c->conv.types : &c->matmul.types;
}
static inline wk_cpu_types kh_types_of(const kh_case *c) {
  return c->is_conv ? c->conv.types : c->matmul.types;
}
static inline bool kh_is_int(const kh_case *c) {
  wk_cpu_types t = kh_types_of(c);
  return !wk_cpu_is_float(&t);
}

/* Results of integer products, by epilogue. */
static inline wk_dtype kh_int_result(kh_epilogue e) {
  return e == KH_BIAS_RELU ? WK_U8 : e == KH_BIAS_RESIDUAL_RELU ? WK_I8 : WK_I32;
}

static inline int64_t kh_depth(const kh_case *c) {
  const wk_cpu_conv_desc *d = &c->conv;
  return c->is_conv ? d->kh * d->kw * d->cin / d->group : c->matmul.k;
}

/* Shifts for which the sums fill about the range of the result: this, less two, up to plus one. */
static inline int64_t kh_shift_bits(const kh_case *c) {
  int64_t bits = 38;
  for (int64_t depth = kh_depth(c); depth > 1; depth /= 4) bits++;
  return bits;
}

#define KH_REQUANTISED "shr_round(mul(i64(add(%0, %1)), i64(%2)), %3)"
static inline const char *kh_int_text(kh_epilogue e) {
  if (e == KH_BIAS) return "add(%0, %1)";
  if (e == KH_BIAS_RELU) return "max(sat<u8>(add(" KH_REQUANTISED ", 7i64)), 9u8)";
  return "sat<i8>(add(shr_round(add(mul(sub(i32(sat<i8>(add(" KH_REQUANTISED
         ", -5i64))), -5i32), 23170i32), mul(sub(i32(%4), 3i32), 11000i32)), 15i32), 4i32))";
}

static inline void kh_set_int_epilogue(kh_case *c) {
  const int64_t *s = c->is_conv ? c->conv.y_stride : c->matmul.y_stride;
  const wk_dtype types[] = {WK_I32, WK_I32, WK_I32, WK_I64, WK_U8};
  wk_cpu_operand ops[4] = {{.per_column = true, .dtype = WK_I32},
                           {.per_column = true, .dtype = WK_I32},
                           {.per_column = true, .dtype = WK_I64},
                           {.stride = {s[0], s[1], s[2]}, .per_column = true, .dtype = WK_U8}};
  int n = c->epilogue == KH_BIAS ? 1 : c->epilogue == KH_BIAS_RELU ? 3 : 4;
  const int64_t depth = kh_depth(c), most = depth * 255 * 128, bits = kh_shift_bits(c);
  wk_fact facts[] = {wk_fact_range(-most, most), wk_fact_range(-20000, 20000),
                     wk_fact_range(INT64_C(1) << 30, INT32_MAX), wk_fact_range(bits - 2, bits + 1),
                     wk_fact_any(WK_U8)};
  facts[2].zeros = 0;
  wk_facts known = {5, 1, facts};
  wk_expr *x;
  kh_types(c)->y = kh_int_result(c->epilogue);
  c->epi = (wk_cpu_epilogue){.key = 0};
  if (c->epilogue == KH_PLAIN) return;
  c->arena = wk_arena_new();
  wk_status st = wk_expr_parse(c->arena, kh_int_text(c->epilogue), types, n + 1, &x);
  if (!st) st = wk_expr_epilogue(c->arena, x, c->is_known ? &known : NULL, ops, n, &c->epi);
  if (!st) return;
  wk_status_print(stderr, st);
  exit(1);
}

static inline void kh_set_epilogue(kh_case *c) {
  if (kh_types(c)->a == WK_DTYPE_NONE) *kh_types(c) = WK_CPU_F32;
  if (kh_is_int(c)) {
    kh_set_int_epilogue(c);
    return;
  }
  const int64_t *s = c->is_conv ? c->conv.y_stride : c->matmul.y_stride;
  c->epi = (wk_cpu_epilogue){.key = (uint64_t)c->epilogue};
  if (c->epilogue == KH_PLAIN) return;
  c->epi.emit = kh_emit_epilogue;
  c->epi.ctx = c;
  c->epi.n_operands = c->epilogue == KH_BIAS_RESIDUAL_RELU ? 2 : 1;
  c->epi.operands[0] = (wk_cpu_operand){.per_column = true, .dtype = kh_types(c)->b};
  c->epi.operands[1] = (wk_cpu_operand){
      .stride = {s[0], s[1], s[2]}, .per_column = true, .dtype = kh_types(c)->y};
}

/* ---- module ---------------------------------------------------------------------------------- */

static inline void kh_check(wk_status s) {
  if (!s) return;
  wk_status_print(stderr, s);
  exit(1);
}

static inline void kh_module_init(kh_module *m, const wk_simd *simd) {
  m->ctx = LLVMContextCreate();
  wk_llvm_init(&m->e, m->ctx, LLVMModuleCreateWithNameInContext("kernels", m->ctx), simd);
  m->jit = NULL;
}

static inline void kh_case_emit(kh_module *m, kh_case *c) {
  kh_set_epilogue(c);
  if (c->is_conv) {
    kh_conv_sizes(c);
    kh_check(wk_cpu_conv_codegen(&m->e, &c->conv, &c->epi, &c->kernel));
  } else {
    kh_matmul_sizes(c);
    kh_check(wk_cpu_matmul_codegen(&m->e, &c->matmul, &c->epi, &c->kernel));
  }
  LLVMSetLinkage(c->kernel.task, LLVMExternalLinkage);
}

/* Emits the object; when `dump` is set, writes it there too. */
static inline void kh_module_load(kh_module *m, kh_case *cases, size_t n, const char *dump) {
  LLVMMemoryBufferRef object;
  kh_check(wk_object_emit(m->e.simd, m->e.mod, LLVMObjectFile, &object));
  if (dump) kh_check(wk_write_file(dump, LLVMGetBufferStart(object), LLVMGetBufferSize(object)));
  kh_check(wk_jit_load(object, &m->jit));
  for (size_t i = 0; i < n; i++) {
    size_t length;
    void *p;
    kh_check(wk_jit_find(m->jit, LLVMGetValueName2(cases[i].kernel.task, &length), &p));
    memcpy(&cases[i].task, &p, sizeof p);
  }
}

static inline void kh_module_free(kh_module *m) {
  wk_jit_free(m->jit);
  LLVMModuleRef mod = m->e.mod;
  wk_llvm_free(&m->e);
  LLVMDisposeModule(mod);
  LLVMContextDispose(m->ctx);
}

/* ---- data ------------------------------------------------------------------------------------ */

static inline size_t kh_map_bytes(int64_t bytes, size_t *unit) {
  *unit = bytes >= 1 << 20 ? (size_t)2 << 20 : 4096;
  return ((size_t)bytes + *unit - 1) / *unit * *unit;
}

/* The block ends where an inaccessible page begins, so that a kernel that reads or writes past it
 * crashes. Large blocks ask for huge pages, as the runtime's arenas do. */
static inline void *kh_alloc(int64_t bytes) {
  size_t unit, n = kh_map_bytes(bytes, &unit), guard = 4096;
  char *p = mmap(NULL, n + unit + guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) exit(1);
  size_t head = (unit - (uintptr_t)p % unit) % unit;
  if (head) munmap(p, head);
  if (unit > head) munmap(p + head + n + guard, unit - head);
  p += head;
  if (mprotect(p, n, PROT_READ | PROT_WRITE)) exit(1);
  if (unit > 4096) madvise(p, n, MADV_HUGEPAGE);
  return p + n - bytes;
}

static inline void kh_free(void *p, int64_t bytes) {
  size_t unit, n = kh_map_bytes(bytes, &unit);
  if (p) munmap((char *)p + bytes - n, n + 4096);
}

/* Floats of any type. */
static inline void *kh_random(wk_dtype t, int64_t n, uint64_t seed, float scale) {
  wk_rng r = {seed};
  void *v = kh_alloc(n * wk_dtype_size(t));
  for (int64_t i = 0; i < n; i++)
    wk_store_f64(v, t, i, (float)(wk_rng_unit(&r) * 2.0 - 1.0) * scale);
  return v;
}

static inline void kh_case_pack(const wk_simd *simd, kh_case *c) {
  const wk_cpu_conv_desc *d = &c->conv;
  if (c->kernel.packed_bytes == 0) return;
  c->packed = kh_alloc(c->kernel.packed_bytes);
  const int64_t taps = d->kh * d->kw,
                s[] = {d->cin / (d->group ? d->group : 1) * taps, taps, d->kw, 1};
  if (c->is_conv) wk_cpu_conv_pack(simd, d, c->w, s, c->packed);
  else wk_cpu_matmul_pack(simd, &c->matmul, c->w, c->packed);
}

/* Bytes of each tensor; rows of integers are read by words (kernels.h). */
typedef struct {
  int64_t x, w, y, bias, residual;
} kh_bytes;

static inline kh_bytes kh_sizes(const kh_case *c) {
  wk_cpu_types t = kh_types_of(c);
  bool is_float = wk_cpu_is_float(&t);
  int64_t slack = c->is_conv || is_float ? 0 : -c->matmul.k & 3;
  return (kh_bytes){c->x_size * wk_dtype_size(t.a) + slack, c->w_size * wk_dtype_size(t.b),
                    c->y_size * wk_dtype_size(t.y), c->cout * (is_float ? wk_dtype_size(t.b) : 4),
                    c->y_size * (is_float ? wk_dtype_size(t.y) : 1)};
}

static inline void *kh_random_bytes(int64_t n, uint64_t seed) {
  wk_rng r = {seed};
  unsigned char *v = kh_alloc(n);
  for (int64_t i = 0; i < n; i++) {
    int64_t extreme = wk_rng_range(&r, 0, 15), any = wk_rng_range(&r, 0, 255);
    v[i] = (unsigned char)(extreme == 0 ? 0x80 : extreme == 1 ? 0xff : extreme == 2 ? 0x7f : any);
  }
  return v;
}

static inline void kh_requantisation(kh_case *c, uint64_t seed) {
  wk_rng r = {seed};
  c->multiplier = kh_alloc(c->cout * 4);
  c->shift = kh_alloc(c->cout * 8);
  int32_t *bias = (int32_t *)c->bias;
  for (int64_t i = 0; i < c->cout; i++) {
    c->multiplier[i] = (int32_t)wk_rng_range(&r, INT64_C(1) << 30, INT32_MAX);
    if (i % 7 == 3) c->multiplier[i] = 1 << 30; /* these meet halves */
    if (c->is_known) c->multiplier[i] |= 1;
    c->shift[i] = kh_shift_bits(c) + wk_rng_range(&r, -2, 1);
    bias[i] = (int32_t)wk_rng_range(&r, -20000, 20000);
  }
}

static inline void kh_case_alloc(const wk_simd *simd, kh_case *c, uint64_t seed) {
  kh_bytes n = kh_sizes(c);
  if (kh_is_int(c)) {
    c->x = kh_random_bytes(n.x, seed + 1);
    c->w = kh_random_bytes(n.w, seed + 2);
    c->y = kh_random_bytes(n.y, seed + 3);
    c->bias = kh_alloc(n.bias);
    c->residual = kh_random_bytes(n.residual, seed + 5);
    kh_requantisation(c, seed + 6);
  } else {
    wk_cpu_types t = kh_types_of(c);
    c->x = kh_random(t.a, c->x_size, seed + 1, 1.0f);
    c->w = kh_random(t.b, c->w_size, seed + 2, 1.0f);
    c->y = kh_random(t.y, c->y_size, seed + 3, 1.0f);
    c->bias = kh_random(t.b, c->cout, seed + 4, 1.0f);
    c->residual = kh_random(t.y, c->y_size, seed + 5, 1.0f);
  }
  kh_case_pack(simd, c);
  c->scratch = kh_alloc(c->kernel.scratch_bytes);
  memset(c->scratch, 0xff,
         (size_t)c->kernel.scratch_bytes); /* any content must do: these are NaNs */
}

static inline void kh_case_free(kh_case *c) {
  kh_bytes n = kh_sizes(c);
  kh_free(c->x, n.x);
  kh_free(c->w, n.w);
  kh_free(c->y, n.y);
  kh_free(c->bias, n.bias);
  kh_free(c->residual, n.residual);
  kh_free(c->multiplier, c->cout * 4);
  kh_free(c->shift, c->cout * 8);
  if (c->arena) wk_arena_free(c->arena);
  kh_free(c->packed, c->kernel.packed_bytes);
  kh_free(c->scratch, c->kernel.scratch_bytes);
}

static inline void kh_case_run(kh_case *c, int64_t begin, int64_t end) {
  void *args[] = {c->y, c->x, c->packed ? c->packed : c->w, c->bias, c->residual, NULL, NULL};
  if (kh_is_int(c)) args[4] = c->multiplier, args[5] = c->shift, args[6] = c->residual;
  c->task(args, c->scratch, begin, end);
}

/* ---- naive reference, one element ------------------------------------------------------------ */

static inline double kh_get(wk_dtype t, const void *p, int64_t i) {
  return wk_dtype_is_float(t) ? wk_load_f64(p, t, i) : (double)wk_load_i64(p, t, i);
}

/* Rounded to nearest, ties to even. */
static inline int64_t kh_shift(int64_t x, int64_t by) {
  int64_t down = x >> by, rest = x - down * (INT64_C(1) << by), half = INT64_C(1) << (by - 1);
  return down + (rest > half || (rest == half && down % 2));
}

static inline double kh_int_value(const kh_case *c, int64_t acc, int64_t column, int64_t at) {
  if (c->epilogue == KH_PLAIN) return (double)(int32_t)acc;
  acc = (int32_t)(uint32_t)(acc + ((const int32_t *)c->bias)[column]);
  if (c->epilogue == KH_BIAS) return (double)acc;
  int64_t q = kh_shift(acc * c->multiplier[column], c->shift[column]);
  if (c->epilogue == KH_BIAS_RELU) return fmin(255, fmax(9, (double)(q + 7)));
  q = q - 5 < -128 ? -128 : q - 5 > 127 ? 127 : q - 5;
  int64_t r = ((const uint8_t *)c->residual)[at];
  return fmin(127, fmax(-128, (double)(kh_shift((q + 5) * 23170 + (r - 3) * 11000, 15) + 4)));
}

static inline double kh_epilogue_value(const kh_case *c, double acc, int64_t column, int64_t at) {
  if (kh_is_int(c)) return kh_int_value(c, (int64_t)acc, column, at);
  if (c->epilogue == KH_PLAIN) return acc;
  acc += kh_get(kh_types_of(c).b, c->bias, column);
  if (c->epilogue == KH_BIAS_RESIDUAL_RELU) acc += kh_get(kh_types_of(c).y, c->residual, at);
  return c->epilogue == KH_BIAS || acc > 0 ? acc : 0;
}

static inline double kh_conv_value(const kh_case *c, int64_t n, int64_t oh, int64_t ow, int64_t o,
                                   double *scale) {
  const wk_cpu_conv_desc *d = &c->conv;
  int64_t cin = d->cin / d->group, first = o / (d->cout / d->group) * cin;
  double sum = 0;
  for (int64_t r = 0; r < d->kh; r++)
    for (int64_t s = 0; s < d->kw; s++) {
      int64_t ih = oh * d->stride_h - d->pad_h + r * d->dil_h;
      int64_t iw = ow * d->stride_w - d->pad_w + s * d->dil_w;
      bool is_in = ih >= 0 && ih < d->h && iw >= 0 && iw < d->w;
      int64_t x = n * d->x_stride[0] + ih * d->x_stride[1] + iw * d->x_stride[2] +
                  first * d->x_stride[3];
      int64_t w = ((o * cin) * d->kh + r) * d->kw + s;
      for (int64_t i = 0; i < cin; i++) {
        double v = is_in ? kh_get(d->types.a, c->x, x + i * d->x_stride[3]) : d->types.outside;
        double p = v * kh_get(d->types.b, c->w, w + i * d->kh * d->kw);
        sum += p;
        *scale += fabs(p);
      }
    }
  return sum;
}

static inline double kh_matmul_value(const kh_case *c, const int64_t b[2], int64_t i, int64_t j,
                                     double *scale) {
  const wk_cpu_matmul_desc *d = &c->matmul;
  int64_t x = b[0] * d->a_stride[0] + b[1] * d->a_stride[1] + i * d->a_stride[2];
  int64_t w = b[0] * d->b_stride[0] + b[1] * d->b_stride[1] + j * d->b_stride[3];
  double sum = 0;
  for (int64_t k = 0; k < d->k; k++) {
    double p = kh_get(d->types.a, c->x, x + k) * kh_get(d->types.b, c->w, w + k * d->b_stride[2]);
    sum += p;
    *scale += fabs(p);
  }
  return sum;
}

/* What rounding to a type may change. */
static inline double kh_rounding(wk_dtype t, double x) {
  if (t == WK_F32) return 0;
  return t == WK_F16 ? fmax(ldexp(fabs(x), -11), 0x1p-25) : ldexp(fabs(x), -8);
}

/* Compares element (i0, i1, i2, column) of the output; the difference in units of the error that
 * float sums of that magnitude, rounded once, may have. */
static inline double kh_element_error(const kh_case *c, const int64_t at[3], int64_t column) {
  const int64_t *s = c->is_conv ? c->conv.y_stride : c->matmul.y_stride;
  int64_t index = at[0] * s[0] + at[1] * s[1] + at[2] * s[2] + column;
  double scale = 1e-3;
  double want = c->is_conv ? kh_conv_value(c, at[0], at[1], at[2], column, &scale)
                           : kh_matmul_value(c, at, at[2], column, &scale);
  want = kh_epilogue_value(c, want, column, index);
  double got = kh_get(kh_types_of(c).y, c->y, index);
  if (kh_is_int(c)) return got == want ? 0 : INFINITY;
  double may = 2e-6 * (scale + fabs(want)) + kh_rounding(kh_types_of(c).y, want);
  return isnan(got) ? INFINITY : fabs(got - want) / may;
}

/* Worst error over all outputs, or over `samples` random ones (0 = all). Below 1 is right. */
static inline double kh_case_error(const kh_case *c, int64_t samples) {
  int64_t n[4] = {c->matmul.batch[0], c->matmul.batch[1], c->matmul.m, c->matmul.n};
  if (c->is_conv) n[0] = c->conv.n, n[1] = c->conv.oh, n[2] = c->conv.ow, n[3] = c->conv.cout;
  double worst = 0;
  wk_rng r = {7};
  int64_t total = n[0] * n[1] * n[2] * n[3];
  for (int64_t i = 0; i < (samples ? samples : total); i++) {
    int64_t k = samples ? wk_rng_range(&r, 0, total - 1) : i, column = k % n[3];
    int64_t rest = k / n[3], at[] = {rest / n[2] / n[1], rest / n[2] % n[1], rest % n[2]};
    double error = kh_element_error(c, at, column);
    if (error > worst) worst = error;
  }
  return worst;
}

static inline double kh_case_flops(const kh_case *c) {
  const wk_cpu_conv_desc *d = &c->conv;
  const wk_cpu_matmul_desc *m = &c->matmul;
  if (c->is_conv)
    return 2.0 * (double)(d->n * d->oh * d->ow * d->cout) *
           (double)(d->cin / d->group * d->kh * d->kw);
  return 2.0 * (double)(m->batch[0] * m->batch[1] * m->m) * (double)(m->n * m->k);
}

#endif
