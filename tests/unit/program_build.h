/* SPDX-License-Identifier: Apache-2.0
 * Building small programs by hand, for test_cpu_program.c. */
#ifndef WICK_TESTS_PROGRAM_BUILD_H
#define WICK_TESTS_PROGRAM_BUILD_H

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/ir.h"
#include "compiler/lower/lower.h"

typedef struct {
  const char *name;
  void (*build)(wk_program *p);
  double tolerance;                    /* 0: the usual one */
  void (*fill)(wk_rng *rng, int input, wk_tensor *t); /* NULL: random numbers */
} program_case;

/* Floats around 0, small integers of either sign where the type has one. */
static inline void random_fill(wk_rng *rng, wk_tensor *t) {
  for (int64_t i = 0; i < wk_type_count(&t->type); i++) {
    if (wk_dtype_is_float(t->type.dtype))
      wk_store_f64(t->data, t->type.dtype, i, wk_rng_normal(rng));
    else if (t->type.dtype == WK_BOOL)
      ((uint8_t *)t->data)[i] = (uint8_t)wk_rng_range(rng, 0, 1);
    else
      wk_store_i64(t->data, t->type.dtype, i,
                   wk_rng_range(rng, wk_dtype_is_signed(t->type.dtype) ? -100 : 0, 100));
  }
}

static inline void program_case_fill(const program_case *c, wk_rng *rng, int input, wk_tensor *t) {
  if (c->fill) c->fill(rng, input, t);
  else random_fill(rng, t);
}

static inline wk_program *program_case_build(const program_case *c) {
  wk_program *p = wk_program_new(c->name);
  c->build(p);
  return p;
}

/* ---- building ------------------------------------------------------------------------------- */

/* The element type, then the dims. */
typedef struct {
  int n;
  const int64_t *v;
} wk_shape_text;
#define SHAPE(...)                                              \
  (wk_shape_text) {                                             \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ } \
  }

static inline wk_type type_of(wk_shape_text s) {
  return wk_type_make((wk_dtype)s.v[0], s.n - 1, s.v + 1);
}

static inline wk_view bound(wk_program *p, wk_region region, wk_shape_text shape) {
  bool is_input = region == WK_REGION_INPUT;
  wk_type type = type_of(shape);
  wk_buffer b = {.name = is_input ? "in" : "out", .region = region, .size = wk_type_bytes(&type),
                 .align = 64, .io = (uint32_t)(is_input ? p->inputs.n : p->outputs.n)};
  wk_program_io x = {.type = type, .buffer = wk_program_buffer(p, &b)};
  x.name = p->buffers.data[x.buffer].name;
  if (is_input) wk_vec_push(&p->inputs, x);
  else wk_vec_push(&p->outputs, x);
  return wk_view_dense(x.buffer, &type, is_input ? WK_ROLE_IN : WK_ROLE_OUT);
}
#define IN(p, ...) bound(p, WK_REGION_INPUT, SHAPE(__VA_ARGS__))
#define OUT(p, ...) bound(p, WK_REGION_OUTPUT, SHAPE(__VA_ARGS__))

static inline wk_view activation(wk_program *p, wk_shape_text shape) {
  wk_type type = type_of(shape);
  wk_buffer b = {.name = "act", .region = WK_REGION_ACT, .size = wk_type_bytes(&type), .align = 64,
                 .offset = -1};
  return wk_view_dense(wk_program_buffer(p, &b), &type, WK_ROLE_OUT);
}
#define ACT(p, ...) activation(p, SHAPE(__VA_ARGS__))

static inline wk_view constant(wk_program *p, wk_shape_text shape) {
  wk_type type = type_of(shape);
  wk_rng rng = {7 + p->buffers.n};
  wk_tensor x = {type, wk_arena_alloc_aligned(p->arena, (size_t)wk_type_bytes(&type) + 1, 64)};
  random_fill(&rng, &x);
  wk_buffer b = {.name = "const", .region = WK_REGION_CONST, .size = wk_type_bytes(&type),
                 .align = 64, .offset = -1, .data = x.data};
  return wk_view_dense(wk_program_buffer(p, &b), &type, WK_ROLE_IN);
}
#define CONST(p, ...) constant(p, SHAPE(__VA_ARGS__))

/* A constant of the given integers. */
static inline wk_view numbers(wk_program *p, wk_dtype t, const int64_t *v, int64_t n) {
  wk_view x = CONST(p, t, n);
  for (int64_t i = 0; i < n; i++)
    wk_store_i64((void *)(uintptr_t)p->buffers.data[x.buffer].data, t, i, v[i]);
  return x;
}

static inline wk_inst *append(wk_program *p, wk_op op, uint32_t n_out, uint32_t n, ...) {
  wk_inst *i = wk_inst_new(p, op, "node", n_out, n);
  va_list ap;
  va_start(ap, n);
  for (uint32_t k = 0; k < n; k++) {
    i->operands[k] = va_arg(ap, wk_view);
    i->operands[k].role = k < n_out ? WK_ROLE_OUT : WK_ROLE_IN;
  }
  va_end(ap);
  wk_block_append(&p->body, i);
  return i;
}

/* The view with its axes permuted: the memory order stays. */
static inline wk_view permuted(wk_view v, const int *perm) {
  wk_view w = v;
  for (int k = 0; k < v.rank; k++) {
    w.dims[k] = v.dims[perm[k]];
    w.strides[k] = v.strides[perm[k]];
  }
  return w;
}
#define PERM(v, ...) permuted(v, (int[]){__VA_ARGS__})
/* A tensor that lies as [n, h, w, c], seen as [n, c, h, w]. */
#define NHWC(v) PERM(v, 0, 3, 1, 2)
#define NDHWC(v) PERM(v, 0, 4, 1, 2, 3)

static inline wk_view broadcast(wk_view v, const wk_view *like) {
  wk_view w = *like;
  w.buffer = v.buffer;
  w.dtype = v.dtype;
  w.offset = v.offset;
  for (int k = 0; k < like->rank; k++) {
    int from = k - (like->rank - v.rank);
    w.strides[k] = from < 0 || v.dims[from] == 1 ? 0 : v.strides[from];
  }
  return w;
}

static inline const wk_expr *expression(wk_program *p, const char *text, int n, const wk_dtype *t) {
  wk_expr *e;
  wk_status s = wk_expr_parse(p->arena, text, t, n, &e);
  if (s) {
    wk_status_print(stderr, s);
    abort();
  }
  return e;
}
#define EXPR_F32(p, text, n) \
  expression(p, text, n, (wk_dtype[]){WK_F32, WK_F32, WK_F32, WK_F32, WK_F32, WK_F32})

/* Chains of reduce and map become nests, as targets that want them do. */
static inline void fuse_rows(wk_program *p) {
  wk_arena *scratch = wk_arena_new();
  int64_t changes = 0;
  wk_status s = wk_inst_fuse_nests(p, scratch, &changes);
  wk_arena_free(scratch);
  if (s) {
    wk_status_print(stderr, s);
    abort();
  }
}

typedef struct {
  int64_t stride, pad, dilation, group;
} conv_shape;

static inline void set_conv(wk_program *p, wk_inst *i, conv_shape c, const char *epilogue, int n) {
  int64_t sp = i->operands[0].rank - 2;
  wk_attr_conv *a = i->attrs;
  a->strides = wk_ints_fill(p->arena, sp, c.stride);
  a->pads = wk_ints_fill(p->arena, 2 * sp, c.pad);
  a->dilations = wk_ints_fill(p->arena, sp, c.dilation);
  a->group = c.group;
  if (epilogue) a->epilogue = EXPR_F32(p, epilogue, n);
}

#endif
