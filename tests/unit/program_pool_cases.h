/* SPDX-License-Identifier: Apache-2.0
 * Programs of pools for test_cpu_program.c. */
#ifndef WICK_TESTS_PROGRAM_POOL_CASES_H
#define WICK_TESTS_PROGRAM_POOL_CASES_H

#include "tests/unit/program_build.h"

static void pool_with(wk_program *p, wk_inst *i, int64_t kernel, int64_t stride, int64_t pad) {
  int64_t sp = i->operands[0].rank - 2;
  wk_attr_max_pool *a = i->attrs;
  a->kernel = wk_ints_fill(p->arena, sp, kernel);
  a->strides = wk_ints_fill(p->arena, sp, stride);
  a->pads = wk_ints_fill(p->arena, 2 * sp, pad);
  a->dilations = wk_ints_fill(p->arena, sp, 1);
}

static void max_pool_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 2, 8, 8, 70), x = IN(p, WK_F32, 2, 16, 16, 70);
  pool_with(p, append(p, WK_OP_MAX_POOL, 1, 2, NHWC(y), NHWC(x)), 3, 2, 1);
  y = OUT(p, WK_F32, 1, 3, 8, 8), x = IN(p, WK_F32, 1, 3, 16, 16);
  wk_view at = OUT(p, WK_I64, 1, 3, 8, 8);
  pool_with(p, append(p, WK_OP_MAX_POOL, 2, 3, y, at, x), 2, 2, 0);
  y = OUT(p, WK_I8, 1, 3, 14), x = IN(p, WK_I8, 1, 3, 16);
  pool_with(p, append(p, WK_OP_MAX_POOL, 1, 2, y, x), 3, 1, 0);
}

/* A max_pool with taps, and what its adjoint makes of dy. */
static void unpool_with(wk_program *p, wk_view y, wk_view at, wk_view x, wk_view dx, wk_view dy,
                        int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  wk_inst *pool = append(p, WK_OP_MAX_POOL, 2, 3, y, at, x);
  wk_inst *back = append(p, WK_OP_UNPOOL, 1, 3, dx, dy, at);
  wk_attr_unpool *u = back->attrs;
  pool_with(p, pool, kernel, stride, pad);
  wk_attr_max_pool *a = pool->attrs;
  a->taps = 1;
  a->dilations = wk_ints_fill(p->arena, x.rank - 2, dilation);
  u->kernel = a->kernel, u->strides = a->strides, u->pads = a->pads, u->dilations = a->dilations;
  u->size = wk_ints_dup(p->arena, x.dims + 2, x.rank - 2);
}

/* Channels in vectors with more windows than go into a list, dilations, windows of more than 256
 * elements, three axes, with channels last as well. */
static void unpool_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 2, 8, 8, 70), x = IN(p, WK_F32, 2, 16, 15, 70);
  wk_view at = ACT(p, WK_U8, 2, 8, 8, 70), dy = IN(p, WK_F32, 2, 8, 8, 70);
  wk_view dx = OUT(p, WK_F32, 2, 16, 15, 70);
  unpool_with(p, NHWC(y), NHWC(at), NHWC(x), NHWC(dx), NHWC(dy), 3, 2, 1, 1);
  y = OUT(p, WK_F32, 1, 9, 10, 20), x = IN(p, WK_F32, 1, 9, 10, 20);
  at = ACT(p, WK_U8, 1, 9, 10, 20), dy = IN(p, WK_F32, 1, 9, 10, 20);
  dx = OUT(p, WK_F32, 1, 9, 10, 20);
  unpool_with(p, NHWC(y), NHWC(at), NHWC(x), NHWC(dx), NHWC(dy), 7, 1, 3, 1);
  y = OUT(p, WK_F16, 1, 3, 7), x = IN(p, WK_F16, 1, 3, 11), at = ACT(p, WK_U8, 1, 3, 7);
  unpool_with(p, y, at, x, OUT(p, WK_F16, 1, 3, 11), IN(p, WK_F16, 1, 3, 7), 3, 1, 0, 2);
  y = OUT(p, WK_F32, 1, 2, 3, 3, 3), x = IN(p, WK_F32, 1, 2, 7, 7, 7);
  at = ACT(p, WK_U16, 1, 2, 3, 3, 3), dy = IN(p, WK_F32, 1, 2, 3, 3, 3);
  unpool_with(p, y, at, x, OUT(p, WK_F32, 1, 2, 7, 7, 7), dy, 7, 2, 2, 1);
  y = OUT(p, WK_F32, 1, 3, 4, 3, 20), x = IN(p, WK_F32, 1, 7, 9, 7, 20);
  at = ACT(p, WK_U8, 1, 3, 4, 3, 20), dy = IN(p, WK_F32, 1, 3, 4, 3, 20);
  dx = OUT(p, WK_F32, 1, 7, 9, 7, 20);
  unpool_with(p, NDHWC(y), NDHWC(at), NDHWC(x), NDHWC(dx), NDHWC(dy), 3, 2, 0, 1);
}

static void avg_pool_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1, 8, 8, 70), x = IN(p, WK_F32, 1, 16, 16, 70);
  wk_inst *i = append(p, WK_OP_AVG_POOL, 1, 2, NHWC(y), NHWC(x));
  pool_with(p, i, 3, 2, 1);
  ((wk_attr_avg_pool *)i->attrs)->real_pads = wk_ints_fill(p->arena, 4, 0);
  y = OUT(p, WK_F32, 1, 3, 8, 8), x = IN(p, WK_F32, 1, 3, 16, 16);
  i = append(p, WK_OP_AVG_POOL, 1, 2, y, x);
  pool_with(p, i, 3, 2, 1);
  ((wk_attr_avg_pool *)i->attrs)->real_pads = wk_ints_fill(p->arena, 4, 1);
}

/* Windows along channels that lie together (as in LRN), and along w. */
static void pool_lines_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1, 70, 9), x = IN(p, WK_F32, 1, 70, 9);
  wk_view in = x, out = y;
  in.rank = out.rank = 4;
  int64_t dims[] = {1, 1, 9, 70}, strides[] = {1, 1, 1, 9};
  for (int k = 0; k < 4; k++) {
    in.dims[k] = out.dims[k] = dims[k];
    in.strides[k] = out.strides[k] = strides[k];
  }
  wk_inst *i = append(p, WK_OP_AVG_POOL, 1, 2, out, in);
  wk_attr_avg_pool *a = i->attrs;
  a->kernel = wk_ints_dup(p->arena, (int64_t[]){5, 1}, 2);
  a->strides = a->dilations = wk_ints_fill(p->arena, 2, 1);
  a->pads = a->real_pads = wk_ints_dup(p->arena, (int64_t[]){2, 0, 2, 0}, 4);
  y = OUT(p, WK_F32, 2, 3, 9, 40), x = IN(p, WK_F32, 2, 3, 9, 40);
  pool_with(p, append(p, WK_OP_MAX_POOL, 1, 2, y, x), 3, 1, 1);
  y = OUT(p, WK_F32, 2, 3, 5, 20), x = IN(p, WK_F32, 2, 3, 9, 40);
  pool_with(p, append(p, WK_OP_MAX_POOL, 1, 2, y, x), 3, 2, 1);
  y = OUT(p, WK_F32, 1, 70, 9), x = IN(p, WK_F32, 1, 70, 9); /* few windows, many channels */
  i = append(p, WK_OP_AVG_POOL, 1, 2, PERM(y, 0, 2, 1), PERM(x, 0, 2, 1));
  pool_with(p, i, 3, 1, 1);
  ((wk_attr_avg_pool *)i->attrs)->real_pads = wk_ints_fill(p->arena, 2, 0);
}

static void lp_pool_case(wk_program *p) {
  wk_view x = IN(p, WK_F32, 1, 3, 16, 16);
  for (int64_t power = 1; power <= 3; power++) {
    wk_inst *i = append(p, WK_OP_LP_POOL, 1, 2, OUT(p, WK_F32, 1, 3, 8, 8), x);
    pool_with(p, i, 3, 2, 1);
    ((wk_attr_lp_pool *)i->attrs)->p = power;
  }
}

#define POOL_CASES                         \
  {"max_pool", max_pool_case, 0, NULL}, \
  {"avg_pool", avg_pool_case, 0, NULL}, \
  {"pool_lines", pool_lines_case, 0, NULL}, \
  {"lp_pool", lp_pool_case, 0, NULL}, \
  {"unpool", unpool_case, 0, NULL}

#endif
