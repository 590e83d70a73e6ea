/* SPDX-License-Identifier: Apache-2.0
 * kernel_harness: emits kernels of targets/cpu into one module, loads it into this process, runs
 * them on seeded data and compares with naive loops. For the unit test and bench/kernels.c. */
#ifndef WICK_TESTS_KERNEL_HARNESS_H
#define WICK_TESTS_KERNEL_HARNESS_H

#include "targets/cpu/kernels.h"
#include "targets/cpu/object.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void (*kh_task)(void *const *args, void *scratch, int64_t begin, int64_t end);

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
  float *x, *w, *packed, *y, *bias, *residual;
  int64_t x_size, w_size, y_size, cout;
  void *scratch;
} kh_case;

typedef struct {
  LLVMContextRef ctx;
  wk_emit e;
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

static inline wk_ssa kh_relu(wk_emit *e, wk_ssa v) {
  wk_ssa zero = wk_emit_vzero(e);
  return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealOGT, v, zero, ""), v, zero, "");
}

static inline wk_ssa kh_emit_epilogue(void *ctx, wk_emit *e, wk_ssa acc, const wk_ssa *ops) {
  kh_epilogue kind = *(kh_epilogue *)ctx;
  acc = LLVMBuildFAdd(e->b, acc, ops[0], "");
  if (kind == KH_BIAS_RESIDUAL_RELU) acc = LLVMBuildFAdd(e->b, acc, ops[1], "");
  return kind == KH_BIAS ? acc : kh_relu(e, acc);
}

static inline void kh_set_epilogue(kh_case *c) {
  const int64_t *s = c->is_conv ? c->conv.y_stride : c->matmul.y_stride;
  c->epi = (wk_cpu_epilogue){.key = (uint64_t)c->epilogue};
  if (c->epilogue == KH_PLAIN) return;
  c->epi.emit = kh_emit_epilogue;
  c->epi.ctx = &c->epilogue;
  c->epi.n_operands = c->epilogue == KH_BIAS_RESIDUAL_RELU ? 2 : 1;
  c->epi.operands[0] = (wk_cpu_operand){.per_column = true};
  c->epi.operands[1] = (wk_cpu_operand){.stride = {s[0], s[1], s[2]}, .per_column = true};
}

/* ---- module ---------------------------------------------------------------------------------- */

static inline void kh_check(wk_status s) {
  if (!s) return;
  wk_status_print(stderr, s);
  exit(1);
}

static inline void kh_module_init(kh_module *m, const wk_cpu_isa *isa) {
  m->ctx = LLVMContextCreate();
  wk_emit_init(&m->e, m->ctx, LLVMModuleCreateWithNameInContext("kernels", m->ctx), isa);
  m->jit = NULL;
}

static inline void kh_case_emit(kh_module *m, kh_case *c) {
  kh_set_epilogue(c);
  if (c->is_conv) {
    kh_conv_sizes(c);
    kh_check(wk_cpu_conv_emit(&m->e, &c->conv, &c->epi, &c->kernel));
  } else {
    kh_matmul_sizes(c);
    kh_check(wk_cpu_matmul_emit(&m->e, &c->matmul, &c->epi, &c->kernel));
  }
  LLVMSetLinkage(c->kernel.task, LLVMExternalLinkage);
}

/* Emits the object; when `dump` is set, writes it there too. */
static inline void kh_module_load(kh_module *m, kh_case *cases, size_t n, const char *dump) {
  LLVMMemoryBufferRef object;
  kh_check(wk_object_emit(m->e.isa, m->e.mod, LLVMObjectFile, &object));
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
  wk_emit_free(&m->e);
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

static inline float *kh_random(int64_t n, uint64_t seed, float scale) {
  wk_rng r = {seed};
  float *v = kh_alloc(n * 4);
  for (int64_t i = 0; i < n; i++) v[i] = (float)(wk_rng_unit(&r) * 2.0 - 1.0) * scale;
  return v;
}

static inline void kh_case_pack(const wk_cpu_isa *isa, kh_case *c) {
  const wk_cpu_conv_desc *d = &c->conv;
  if (c->kernel.packed_bytes == 0) return;
  c->packed = kh_alloc(c->kernel.packed_bytes);
  const int64_t taps = d->kh * d->kw,
                s[] = {d->cin / (d->group ? d->group : 1) * taps, taps, d->kw, 1};
  if (c->is_conv)
    wk_cpu_conv_pack(isa, d, c->w, s, c->packed);
  else
    wk_cpu_matmul_pack(isa, &c->matmul, c->w, c->packed);
}

static inline void kh_case_alloc(const wk_cpu_isa *isa, kh_case *c, uint64_t seed) {
  c->x = kh_random(c->x_size, seed + 1, 1.0f);
  c->w = kh_random(c->w_size, seed + 2, 1.0f);
  c->y = kh_random(c->y_size, seed + 3, 1.0f);
  c->bias = kh_random(c->cout, seed + 4, 1.0f);
  c->residual = kh_random(c->y_size, seed + 5, 1.0f);
  kh_case_pack(isa, c);
  c->scratch = kh_alloc(c->kernel.scratch_bytes);
  memset(c->scratch, 0xff,
         (size_t)c->kernel.scratch_bytes); /* any content must do: these are NaNs */
}

static inline void kh_case_free(kh_case *c) {
  kh_free(c->x, c->x_size * 4);
  kh_free(c->w, c->w_size * 4);
  kh_free(c->y, c->y_size * 4);
  kh_free(c->bias, c->cout * 4);
  kh_free(c->residual, c->y_size * 4);
  kh_free(c->packed, c->kernel.packed_bytes);
  kh_free(c->scratch, c->kernel.scratch_bytes);
}

static inline void kh_case_run(kh_case *c, int64_t begin, int64_t end) {
  void *args[] = {c->y, c->x, c->packed ? c->packed : c->w, c->bias, c->residual};
  c->task(args, c->scratch, begin, end);
}

/* ---- naive reference, one element ------------------------------------------------------------ */

static inline double kh_epilogue_value(const kh_case *c, double acc, int64_t column, int64_t at) {
  if (c->epilogue == KH_PLAIN) return acc;
  acc += c->bias[column];
  if (c->epilogue == KH_BIAS_RESIDUAL_RELU) acc += c->residual[at];
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
      if (ih < 0 || ih >= d->h || iw < 0 || iw >= d->w) continue;
      const float *x = c->x + n * d->x_stride[0] + ih * d->x_stride[1] + iw * d->x_stride[2] +
                       first * d->x_stride[3];
      const float *w = c->w + ((o * cin) * d->kh + r) * d->kw + s;
      for (int64_t i = 0; i < cin; i++) {
        double p = (double)x[i * d->x_stride[3]] * (double)w[i * d->kh * d->kw];
        sum += p;
        *scale += fabs(p);
      }
    }
  return sum;
}

static inline double kh_matmul_value(const kh_case *c, const int64_t b[2], int64_t i, int64_t j,
                                     double *scale) {
  const wk_cpu_matmul_desc *d = &c->matmul;
  const float *x = c->x + b[0] * d->a_stride[0] + b[1] * d->a_stride[1] + i * d->a_stride[2];
  const float *w = c->w + b[0] * d->b_stride[0] + b[1] * d->b_stride[1] + j * d->b_stride[3];
  double sum = 0;
  for (int64_t k = 0; k < d->k; k++) {
    double p = (double)x[k] * (double)w[k * d->b_stride[2]];
    sum += p;
    *scale += fabs(p);
  }
  return sum;
}

/* Compares element (i0, i1, i2, column) of the output; the difference in units of the error that
 * float sums of that magnitude may have. */
static inline double kh_element_error(const kh_case *c, const int64_t at[3], int64_t column) {
  const int64_t *s = c->is_conv ? c->conv.y_stride : c->matmul.y_stride;
  int64_t index = at[0] * s[0] + at[1] * s[1] + at[2] * s[2] + column;
  double scale = 1e-3;
  double want = c->is_conv ? kh_conv_value(c, at[0], at[1], at[2], column, &scale)
                           : kh_matmul_value(c, at, at[2], column, &scale);
  want = kh_epilogue_value(c, want, column, index);
  double got = (double)c->y[index];
  return isnan(got) ? INFINITY : fabs(got - want) / (2e-6 * (scale + fabs(want)));
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
