/* SPDX-License-Identifier: Apache-2.0
 * cpu_loop_case: random MAP, COPY, FILL and REDUCE instructions over odd shapes and strides, run
 * through targets/cpu and through the evaluator on copies of the same memory. For test_cpu_map.c.
 */
#ifndef WICK_TESTS_CPU_LOOP_CASE_H
#define WICK_TESTS_CPU_LOOP_CASE_H

#include "compiler/eval/eval.h"
#include "compiler/ir/ir.h"
#include "targets/cpu/nest/loops.h"
#include "targets/cpu/llvm/object.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LC_MAX_OPERANDS 16

typedef void (*lc_task)(void *const *args, void *scratch, int64_t begin, int64_t end);

typedef struct {
  LLVMContextRef ctx;
  LLVMModuleRef mod;
  wk_llvm e;
  wk_jit *jit;
} lc_module;

static inline void lc_check(wk_status s) {
  if (!s) return;
  wk_status_print(stderr, s);
  abort();
}

static inline void lc_begin(lc_module *m, const wk_simd *simd) {
  m->ctx = LLVMContextCreate();
  m->mod = LLVMModuleCreateWithNameInContext("loops", m->ctx);
  wk_llvm_init(&m->e, m->ctx, m->mod, simd);
  m->jit = NULL;
}

/* The kernel under an external name of its own. */
static inline void lc_export(lc_module *m, wk_cpu_kernel *k, int id) {
  char name[32];
  snprintf(name, sizeof name, "case%d", id);
  LLVMTypeRef params[] = {m->e.ptr, m->e.ptr, m->e.i64, m->e.i64};
  wk_ssa fn = wk_llvm_function(&m->e, name, params, 4);
  LLVMSetLinkage(fn, LLVMExternalLinkage);
  wk_ssa args[] = {LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), LLVMGetParam(fn, 2),
                   LLVMGetParam(fn, 3)};
  wk_llvm_call(&m->e, k->task, args, 4);
  wk_llvm_return(&m->e);
}

static inline lc_task lc_find(lc_module *m, int id) {
  char name[32];
  void *p;
  snprintf(name, sizeof name, "case%d", id);
  lc_check(wk_jit_find(m->jit, name, &p));
  lc_task task;
  memcpy(&task, &p, sizeof task);
  return task;
}

/* Undefined symbols of the object but memcpy, memmove and memset. */
static inline int lc_calls_outside(LLVMMemoryBufferRef object) {
  char path[] = "/tmp/wick-loops-XXXXXX", command[64], line[256], name[200];
  int found = 0, fd = mkstemp(path);
  size_t n = LLVMGetBufferSize(object);
  if (fd < 0 || write(fd, LLVMGetBufferStart(object), n) != (ssize_t)n) abort();
  close(fd);
  snprintf(command, sizeof command, "nm -u %s", path);
  FILE *f = popen(command, "r");
  while (f && fgets(line, sizeof line, f)) {
    if (sscanf(line, " U %199s", name) != 1) continue;
    if (!strcmp(name, "memcpy") || !strcmp(name, "memmove") || !strcmp(name, "memset")) continue;
    fprintf(stderr, "generated code needs %s\n", name);
    found++;
  }
  if (!f || pclose(f) != 0) abort();
  unlink(path);
  return found;
}

/* Makes the object only. Returns what it calls outside. */
static inline int lc_emit_only(lc_module *m) {
  LLVMMemoryBufferRef object;
  lc_check(wk_object_emit(m->e.simd, m->mod, LLVMObjectFile, &object));
  int outside = lc_calls_outside(object);
  LLVMDisposeMemoryBuffer(object);
  return outside;
}

static inline int lc_load(lc_module *m) {
  LLVMMemoryBufferRef object;
  lc_check(wk_object_emit(m->e.simd, m->mod, LLVMObjectFile, &object));
  int outside = lc_calls_outside(object);
  lc_check(wk_jit_load(object, &m->jit));
  return outside;
}

static inline void lc_end(lc_module *m) {
  wk_jit_free(m->jit);
  wk_llvm_free(&m->e);
  LLVMDisposeModule(m->mod);
  LLVMContextDispose(m->ctx);
}

/* ---- cases ----------------------------------------------------------------------------------- */

typedef struct {
  wk_program *p;
  wk_inst *inst;
  wk_cpu_kernel kernel;
  char *ours[LC_MAX_OPERANDS], *theirs[LC_MAX_OPERANDS]; /* memory per buffer */
} lc_case;

static inline double lc_real(wk_rng *r, bool special) {
  static const double odd[] = {0.0,   -0.0,   INFINITY, -INFINITY,    NAN,
                               1e-40, -3e-42, 65504,    65519,        65520,
                               6e-8,  5.9e-5, 3e38,     1e300,        0.5,
                               1.5,   2.5,    -0.5,     2147483648.0, 9223372036854775808.0,
                               1,     -1,     127.5,    255,          256};
  if (special && wk_rng_range(r, 0, 3) == 0)
    return odd[wk_rng_range(r, 0, (int64_t)WK_COUNTOF(odd) - 1)];
  if (special && wk_rng_range(r, 0, 3) == 0) return (double)wk_rng_normal(r) * 1e4;
  return special ? (double)wk_rng_normal(r) * 3 : (double)wk_rng_range(r, -8, 8) / 8;
}

static inline int64_t lc_integer(wk_rng *r) {
  switch (wk_rng_range(r, 0, 3)) {
    case 0: return (int64_t)wk_rng_next(r);
    case 1: return wk_rng_range(r, 0, 1) ? INT64_MIN >> wk_rng_range(r, 0, 60) : -1;
    default: return wk_rng_range(r, -9, 9);
  }
}

/* `special`: infinities, NaN and the like; else values whose sums are exact. */
static inline void lc_fill(wk_rng *r, void *data, wk_dtype t, int64_t n, bool special) {
  for (int64_t i = 0; i < n; i++) {
    if (wk_dtype_is_float(t)) wk_store_f64(data, t, i, lc_real(r, special));
    else wk_store_i64(data, t, i, lc_integer(r));
  }
}

static inline void lc_shape(wk_rng *r, int *rank, int64_t *dims) {
  static const int64_t some[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 67, 130, 1000};
  int64_t count = 1;
  *rank = (int)wk_rng_range(r, 0, 4);
  for (int d = 0; d < *rank; d++) {
    dims[d] = some[wk_rng_range(r, 0, (int64_t)WK_COUNTOF(some) - 1)];
    if (count * dims[d] > 40000) dims[d] = 2;
    count *= dims[d];
  }
}

/* A view with these dims in memory order of a random permutation, padded, some dims backwards;
 * zero[d]: stride 0. Adds its buffer. */
static inline wk_view lc_view(wk_rng *r, wk_program *p, wk_dtype t, int rank, const int64_t *dims,
                              const bool *zero) {
  wk_view v = {.dtype = t, .rank = rank};
  int order[WK_MAX_RANK];
  int64_t stride = 1, lowest = 0, plain = wk_rng_range(r, 0, 1);
  for (int d = 0; d < rank; d++) order[d] = rank - 1 - d;
  for (int d = rank - 1; d > 0 && !plain; d--) {
    int k = (int)wk_rng_range(r, 0, d), swap = order[d];
    order[d] = order[k];
    order[k] = swap;
  }
  for (int i = 0; i < rank; i++) {
    int d = order[i];
    v.dims[d] = dims[d];
    if (zero[d]) continue;
    if (wk_rng_range(r, 0, 7) == 0) stride = stride * 2 + 1;
    v.strides[d] = stride;
    stride *= dims[d];
    if (wk_rng_range(r, 0, 7)) continue;
    v.strides[d] = -v.strides[d];
    lowest += v.strides[d] * (dims[d] - 1);
  }
  v.offset = (-lowest + 3) * wk_dtype_size(t);
  wk_buffer b = {.name = "b",
                 .region = WK_REGION_ACT,
                 .align = 64,
                 .offset = -1,
                 .size = (stride + 8) * wk_dtype_size(t)};
  v.buffer = wk_program_buffer(p, &b);
  return v;
}

static inline void lc_memory(wk_rng *r, lc_case *c, bool special) {
  for (uint32_t k = 0; k < c->inst->n_operands; k++) {
    const wk_view *v = &c->inst->operands[k];
    int64_t size = c->p->buffers.data[v->buffer].size;
    if (c->ours[v->buffer]) continue;
    c->ours[v->buffer] = malloc((size_t)size);
    c->theirs[v->buffer] = malloc((size_t)size);
    lc_fill(r, c->ours[v->buffer], v->dtype, size / wk_dtype_size(v->dtype), special);
    memcpy(c->theirs[v->buffer], c->ours[v->buffer], (size_t)size);
  }
}

static inline void lc_free(lc_case *c) {
  for (int k = 0; k < LC_MAX_OPERANDS; k++) {
    free(c->ours[k]);
    free(c->theirs[k]);
  }
  wk_program_free(c->p);
}

static inline bool lc_same(const void *a, const void *b, wk_dtype t, int64_t i) {
  if (!wk_dtype_is_float(t)) return wk_load_i64(a, t, i) == wk_load_i64(b, t, i);
  double x = wk_load_f64(a, t, i), y = wk_load_f64(b, t, i);
  return x == y || (isnan(x) && isnan(y));
}

static inline void lc_describe(const lc_case *c) {
  wk_str s = {0};
  wk_str_printf(&s, "%s", wk_op_get(c->inst->op)->name);
  for (uint32_t k = 0; k < c->inst->n_operands; k++) {
    const wk_view *v = &c->inst->operands[k];
    wk_str_printf(&s, " %s[", wk_dtype_name(v->dtype));
    for (int d = 0; d < v->rank; d++)
      wk_str_printf(&s, " %lld:%lld", (long long)v->dims[d], (long long)v->strides[d]);
    wk_str_add(&s, "]");
  }
  wk_str_add(&s, "\n  ");
  if (c->inst->op == WK_OP_MAP) wk_expr_print(&s, ((wk_attr_map *)c->inst->attrs)->body);
  if (c->inst->op == WK_OP_REDUCE) {
    const wk_attr_reduce *r = c->inst->attrs;
    wk_str_printf(&s, "%s last %lld axes", r->kind, (long long)r->select_last);
    for (int64_t i = 0; i < r->axes.n; i++) wk_str_printf(&s, " %lld", (long long)r->axes.v[i]);
    wk_str_add(&s, " pre ");
    if (r->pre) wk_expr_print(&s, r->pre);
    wk_str_add(&s, " post ");
    if (r->post) wk_expr_print(&s, r->post);
  }
  fprintf(stderr, "%s\n", s.s);
  wk_str_free(&s);
}

/* Runs both; the number of elements of outputs that differ. */
static inline int lc_run(lc_case *c, lc_task task) {
  void *args[LC_MAX_OPERANDS], *bases[LC_MAX_OPERANDS], *scratch = NULL;
  int wrong = 0;
  for (uint32_t k = 0; k < c->inst->n_operands; k++) {
    const wk_view *v = &c->inst->operands[k];
    args[k] = c->ours[v->buffer] + v->offset;
    bases[v->buffer] = c->theirs[v->buffer];
  }
  lc_check(wk_try_malloc((size_t)c->kernel.scratch_bytes + 64, &scratch));
  for (int64_t i = c->kernel.n_tasks; i > 0; i -= 2) task(args, scratch, i > 1 ? i - 2 : 0, i);
  lc_check(wk_eval_inst(c->p, c->inst, bases, 0));
  for (uint32_t k = 0; k < c->inst->n_out; k++) {
    const wk_view *v = &c->inst->operands[k];
    int64_t n = c->p->buffers.data[v->buffer].size / wk_dtype_size(v->dtype);
    for (int64_t i = 0; i < n; i++) {
      if (lc_same(c->ours[v->buffer], c->theirs[v->buffer], v->dtype, i)) continue;
      if (wrong++ == 0)
        fprintf(stderr, "result %u element %lld: %.17g, must be %.17g\n", k, (long long)i,
                wk_load_f64(c->ours[v->buffer], v->dtype, i),
                wk_load_f64(c->theirs[v->buffer], v->dtype, i));
    }
  }
  if (wrong) lc_describe(c);
  free(scratch);
  return wrong;
}

#endif
