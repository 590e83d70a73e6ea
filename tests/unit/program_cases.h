/* SPDX-License-Identifier: Apache-2.0
 * The programs of test_cpu_program.c. */
#ifndef WICK_TESTS_PROGRAM_CASES_H
#define WICK_TESTS_PROGRAM_CASES_H

#include "tests/unit/program_build.h"
#include "tests/unit/program_int8_cases.h"
#include "tests/unit/program_pool_cases.h"

/* ---- loops ---------------------------------------------------------------------------------- */

static void map_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 3, 5, 37), a = IN(p, WK_F32, 3, 5, 37), b = IN(p, WK_F32, 37);
  wk_view c = CONST(p, WK_F32, 5, 1), t = ACT(p, WK_F32, 3, 5, 37);
  wk_inst *i = append(p, WK_OP_MAP, 1, 4, t, a, broadcast(b, &t), broadcast(c, &t));
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "max(add(mul(%0, %1), %2), 0.0f32)", 3);
  i = append(p, WK_OP_MAP, 1, 2, y, t);
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "tanh(%0)", 1);
}

static void copy_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 7, 40, 3), z = OUT(p, WK_F32, 64);
  wk_view x = IN(p, WK_F32, 3, 7, 40);
  append(p, WK_OP_COPY, 1, 2, y, PERM(x, 1, 2, 0));
  wk_inst *i = append(p, WK_OP_FILL, 1, 1, z);
  ((wk_attr_fill *)i->attrs)->value = 2.5;
}

static void big_map_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1000, 777), a = IN(p, WK_F32, 1000, 777), b = IN(p, WK_F32, 777);
  wk_inst *i = append(p, WK_OP_MAP, 1, 3, y, a, broadcast(b, &y));
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "exp(sub(%0, %1))", 2);
}

static void reduce_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 33, 1), x = IN(p, WK_F32, 33, 100);
  wk_view space = y;
  space.dims[1] = 100;
  space.strides[1] = 0;
  wk_inst *i = append(p, WK_OP_REDUCE, 1, 2, space, x);
  wk_attr_reduce *a = i->attrs;
  a->kind = "sum";
  a->axes = wk_ints_fill(p->arena, 1, 1);
}

/* ---- convolution ---------------------------------------------------------------------------- */

/* NHWC, bias and residual in the epilogue. */
static void conv_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 2, 13, 11, 40), x = IN(p, WK_F32, 2, 13, 11, 24);
  wk_view r = IN(p, WK_F32, 2, 13, 11, 40), w = CONST(p, WK_F32, 40, 24, 3, 3);
  wk_view b = CONST(p, WK_F32, 40);
  wk_inst *i = append(p, WK_OP_CONV, 1, 5, NHWC(y), NHWC(x), w, b, NHWC(r));
  set_conv(p, i, (conv_shape){1, 1, 1, 1}, "max(add(%0, %1), 0.0f32)", 2);
}

/* The residual lies where the result goes. */
static void conv_in_place_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1, 9, 9, 48), x = IN(p, WK_F32, 1, 9, 9, 16);
  wk_view r = IN(p, WK_F32, 1, 9, 9, 48), w = CONST(p, WK_F32, 48, 16, 1, 1);
  wk_view acc = ACT(p, WK_F32, 1, 9, 9, 48);
  append(p, WK_OP_COPY, 1, 2, acc, r);
  wk_inst *i = append(p, WK_OP_CONV, 1, 5, NHWC(acc), NHWC(x), w, wk_view_none(), NHWC(acc));
  set_conv(p, i, (conv_shape){1, 0, 1, 1}, "add(%0, %1)", 2);
  append(p, WK_OP_COPY, 1, 2, y, acc);
}

/* Channels first on both sides; strided. */
static void conv_nchw_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1, 20, 16, 16), x = IN(p, WK_F32, 1, 3, 32, 32);
  wk_inst *i = append(p, WK_OP_CONV, 1, 4, y, x, CONST(p, WK_F32, 20, 3, 3, 3),
                      CONST(p, WK_F32, 20));
  set_conv(p, i, (conv_shape){2, 1, 1, 1}, "max(%0, 0.0f32)", 1);
}

/* x and the result seen backwards along every axis. */
static wk_view reversed(wk_view v) {
  for (int k = 0; k < v.rank; k++) {
    v.offset += (v.dims[k] - 1) * v.strides[k] * wk_dtype_size(v.dtype);
    v.strides[k] = -v.strides[k];
  }
  return v;
}

static void conv_reversed_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 2, 13, 11, 20), x = IN(p, WK_F32, 2, 13, 11, 24);
  wk_inst *i = append(p, WK_OP_CONV, 1, 3, reversed(NHWC(y)), reversed(NHWC(x)),
                      reversed(CONST(p, WK_F32, 20, 24, 3, 3)));
  set_conv(p, i, (conv_shape){1, 1, 1, 1}, NULL, 0);
  y = OUT(p, WK_F32, 9, 30), x = IN(p, WK_F32, 9, 50);
  append(p, WK_OP_MATMUL, 1, 3, reversed(y), reversed(x), reversed(IN(p, WK_F32, 50, 30)));
}

static void conv_depthwise_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1, 14, 14, 40), x = IN(p, WK_F32, 1, 14, 14, 40);
  wk_inst *i = append(p, WK_OP_CONV, 1, 4, NHWC(y), NHWC(x), CONST(p, WK_F32, 40, 1, 3, 3),
                      CONST(p, WK_F32, 40));
  set_conv(p, i, (conv_shape){1, 1, 1, 40}, "min(max(%0, 0.0f32), 6.0f32)", 1);
}

static void conv_1d_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 2, 30, 12), x = IN(p, WK_F32, 2, 32, 8);
  wk_inst *i = append(p, WK_OP_CONV, 1, 4, PERM(y, 0, 2, 1), PERM(x, 0, 2, 1),
                      CONST(p, WK_F32, 12, 4, 3), CONST(p, WK_F32, 12));
  set_conv(p, i, (conv_shape){1, 0, 1, 2}, NULL, 0);
}

static void conv_3d_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1, 5, 4, 6, 7), x = IN(p, WK_F32, 1, 3, 4, 6, 7);
  wk_inst *i = append(p, WK_OP_CONV, 1, 4, y, x, CONST(p, WK_F32, 5, 3, 3, 3, 3),
                      CONST(p, WK_F32, 5));
  set_conv(p, i, (conv_shape){1, 1, 1, 1}, "max(%0, 0.0f32)", 1);
}

/* Weights that come at run time, and an extra whose layout no register can follow. */
static void conv_runtime_weights_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1, 6, 9, 70), x = IN(p, WK_F32, 1, 4, 9, 70);
  wk_view w = IN(p, WK_F32, 6, 4, 3, 3), r = IN(p, WK_F32, 1, 6, 9, 70);
  wk_inst *i = append(p, WK_OP_CONV, 1, 5, y, x, w, CONST(p, WK_F32, 6), r);
  set_conv(p, i, (conv_shape){1, 1, 1, 1}, "mul(%0, %1)", 2);
}

/* What the weights k x k of a depthwise convolution over 3 images get, of x [3, hw, hw + 2, c] and
 * of what its result [3, oh, ow, c] got. */
static void correlation(wk_program *p, wk_dtype t, int64_t hw, int64_t k, int64_t c,
                        conv_shape forward) {
  int64_t span = forward.dilation * (k - 1) + 1;
  int64_t oh = (hw + 2 * forward.pad - span) / forward.stride;
  int64_t ow = (hw + 2 + 2 * forward.pad - span) / forward.stride + 1;
  wk_view dw = OUT(p, t, 1, 1, k, k, c), x = IN(p, t, 1, 3, hw, hw + 2, c);
  wk_view dy = IN(p, t, 1, 3, oh + 1, ow, c);
  wk_inst *i = append(p, WK_OP_CONV, 1, 3, PERM(dw, 0, 4, 1, 2, 3), PERM(x, 0, 4, 1, 2, 3),
                      PERM(dy, 4, 0, 1, 2, 3));
  wk_attr_conv *a = i->attrs;
  int64_t s = forward.stride, d = forward.dilation, pad = forward.pad;
  int64_t end_h = s * oh + span - hw - pad, end_w = s * (ow - 1) + span - hw - 2 - pad;
  a->strides = wk_ints_dup(p->arena, (int64_t[]){1, d, d}, 3);
  a->dilations = wk_ints_dup(p->arena, (int64_t[]){1, s, s}, 3);
  a->pads = wk_ints_dup(p->arena, (int64_t[]){0, pad, pad, 0, end_h, end_w}, 6);
  a->group = c;
}

static void conv_correlation_case(wk_program *p) {
  correlation(p, WK_F32, 9, 3, 53, (conv_shape){1, 1, 1, 1});
  correlation(p, WK_F32, 9, 3, 32, (conv_shape){2, 1, 1, 1});
  correlation(p, WK_F32, 12, 5, 20, (conv_shape){1, 2, 1, 1});
  correlation(p, WK_F32, 11, 7, 17, (conv_shape){1, 3, 1, 1}); /* some columns share no tap */
  correlation(p, WK_F32, 13, 3, 7, (conv_shape){2, 2, 2, 1});
  correlation(p, WK_F16, 8, 3, 40, (conv_shape){1, 0, 1, 1});
}

static void conv_odd_extra_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1, 9, 8, 18), x = IN(p, WK_F32, 1, 9, 8, 5);
  wk_view r = IN(p, WK_F32, 1, 18, 9, 8);
  wk_inst *i = append(p, WK_OP_CONV, 1, 5, NHWC(y), NHWC(x), CONST(p, WK_F32, 18, 5, 1, 1),
                      CONST(p, WK_F32, 18), r);
  set_conv(p, i, (conv_shape){1, 0, 1, 1}, "add(%0, tanh(%1))", 2);
}

static void conv_int8_case(wk_program *p) {
  wk_view y = OUT(p, WK_I32, 1, 6, 9, 70), x = IN(p, WK_U8, 1, 4, 9, 70);
  wk_inst *i = append(p, WK_OP_CONV, 1, 4, y, x, CONST(p, WK_I8, 6, 4, 3, 3), CONST(p, WK_I32, 6));
  set_conv(p, i, (conv_shape){1, 1, 1, 1}, NULL, 0);
}

static void conv_f64_case(wk_program *p) {
  wk_view y = OUT(p, WK_F64, 1, 6, 5, 8), x = IN(p, WK_F64, 1, 4, 10, 16);
  wk_inst *i = append(p, WK_OP_CONV, 1, 3, y, x, CONST(p, WK_F64, 6, 2, 3, 3));
  set_conv(p, i, (conv_shape){2, 1, 1, 2}, NULL, 0);
}

/* Generic, and the extra lies where the result goes: the sum needs memory of its own. */
static void conv_in_place_generic_case(wk_program *p) {
  wk_view y = OUT(p, WK_F64, 1, 6, 5, 8), x = IN(p, WK_F64, 1, 4, 5, 8);
  append(p, WK_OP_COPY, 1, 2, y, IN(p, WK_F64, 1, 6, 5, 8));
  wk_inst *i = append(p, WK_OP_CONV, 1, 5, y, x, CONST(p, WK_F64, 6, 4, 3, 3),
                      CONST(p, WK_F64, 6), y);
  set_conv(p, i, (conv_shape){1, 1, 1, 1}, NULL, 0);
  ((wk_attr_conv *)i->attrs)->epilogue =
      expression(p, "mul(%0, %1)", 2, (wk_dtype[]){WK_F64, WK_F64});
}

static void transpose_with(wk_program *p, wk_inst *i, int64_t stride, int64_t pad, int64_t dilation,
                           int64_t group, const char *epilogue, int n) {
  int64_t sp = i->operands[0].rank - 2;
  wk_attr_conv_transpose *a = i->attrs;
  a->strides = wk_ints_fill(p->arena, sp, stride);
  a->pads = wk_ints_fill(p->arena, 2 * sp, pad);
  a->dilations = wk_ints_fill(p->arena, sp, dilation);
  a->output_padding = wk_ints_fill(p->arena, sp, 0);
  a->group = group;
  if (epilogue) a->epilogue = EXPR_F32(p, epilogue, n);
}

static void transpose_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1, 20, 16, 12), x = IN(p, WK_F32, 1, 10, 8, 16);
  wk_view r = IN(p, WK_F32, 1, 20, 16, 12);
  wk_inst *i = append(p, WK_OP_CONV_TRANSPOSE, 1, 5, NHWC(y), NHWC(x),
                      CONST(p, WK_F32, 16, 12, 2, 2), CONST(p, WK_F32, 12), NHWC(r));
  transpose_with(p, i, 2, 0, 1, 1, "max(add(%0, %1), 0.0f32)", 2);
}

/* out = (in - 1) * 2 + 2 * (3 - 1) + 1 - 2 */
static void transpose_odd_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1, 13, 17, 12), x = IN(p, WK_F32, 1, 6, 8, 16);
  wk_inst *i = append(p, WK_OP_CONV_TRANSPOSE, 1, 4, NHWC(y), NHWC(x),
                      CONST(p, WK_F32, 16, 6, 3, 3), CONST(p, WK_F32, 12));
  transpose_with(p, i, 2, 1, 2, 2, NULL, 0);
  y = OUT(p, WK_F32, 1, 4, 19), x = IN(p, WK_F32, 1, 4, 7);
  i = append(p, WK_OP_CONV_TRANSPOSE, 1, 3, y, x, CONST(p, WK_F32, 4, 1, 1));
  transpose_with(p, i, 3, 0, 1, 4, NULL, 0);
  y = OUT(p, WK_F32, 1, 6, 13, 17), x = IN(p, WK_F32, 1, 4, 6, 8);
  i = append(p, WK_OP_CONV_TRANSPOSE, 1, 3, y, x, IN(p, WK_F32, 4, 6, 3, 3));
  transpose_with(p, i, 2, 1, 2, 1, "tanh(%0)", 1);
}

/* ---- matrix product ------------------------------------------------------------------------- */

static void matmul_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 37, 70), x = IN(p, WK_F32, 37, 50), r = IN(p, WK_F32, 37, 70);
  wk_inst *i = append(p, WK_OP_MATMUL, 1, 5, y, x, CONST(p, WK_F32, 50, 70),
                      CONST(p, WK_F32, 70), r);
  ((wk_attr_matmul *)i->attrs)->epilogue = EXPR_F32(p, "add(max(%0, 0.0f32), %1)", 2);
}

/* Gemm: both transposed in memory. */
static void matmul_transposed_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 33, 65), x = IN(p, WK_F32, 20, 33), w = CONST(p, WK_F32, 65, 20);
  append(p, WK_OP_MATMUL, 1, 4, y, PERM(x, 1, 0), PERM(w, 1, 0), CONST(p, WK_F32, 65));
}

/* Result transposed in memory; a column; both at run time. */
static void matmul_swapped_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 40, 30), x = IN(p, WK_F32, 30, 25), w = CONST(p, WK_F32, 25, 40);
  wk_inst *i = append(p, WK_OP_MATMUL, 1, 4, PERM(y, 1, 0), x, w, CONST(p, WK_F32, 40));
  ((wk_attr_matmul *)i->attrs)->epilogue = EXPR_F32(p, "max(%0, 0.0f32)", 1);
  y = OUT(p, WK_F32, 50, 1), x = IN(p, WK_F32, 25, 1), w = CONST(p, WK_F32, 50, 25);
  append(p, WK_OP_MATMUL, 1, 3, y, w, x);
  y = OUT(p, WK_F32, 19, 23), x = IN(p, WK_F32, 19, 11);
  append(p, WK_OP_MATMUL, 1, 3, y, x, IN(p, WK_F32, 11, 23));
}

/* [2,3,m,k] x [3,k,n] at run time, then five axes that merge into no two. */
static void matmul_batch_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 2, 3, 17, 21), x = IN(p, WK_F32, 2, 3, 17, 9);
  wk_view b = IN(p, WK_F32, 3, 9, 21), like = y;
  like.dims[2] = 9;
  append(p, WK_OP_MATMUL, 1, 3, y, x, broadcast(b, &like));
  y = OUT(p, WK_F32, 2, 3, 4, 5, 6), x = IN(p, WK_F32, 4, 2, 3, 5, 7);
  b = IN(p, WK_F32, 3, 1, 7, 6);
  like = y;
  like.dims[3] = 7;
  append(p, WK_OP_MATMUL, 1, 3, y, PERM(x, 1, 2, 0, 3, 4), broadcast(b, &like));
}

/* Operands that are broadcast along k, on either side; a column whose place in y makes the product
 * turn round once its epilogue is taken off. */
static void matmul_broadcast_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 2, 17, 21), a = IN(p, WK_F32, 2, 17, 9), b = IN(p, WK_F32, 2, 9, 21);
  append(p, WK_OP_MATMUL, 1, 3, y, broadcast(IN(p, WK_F32, 2, 17, 1), &a), b);
  y = OUT(p, WK_F32, 2, 17, 21);
  append(p, WK_OP_MATMUL, 1, 3, y, a, broadcast(IN(p, WK_F32, 1, 1, 1), &b));
  y = OUT(p, WK_F32, 2, 17, 21);
  append(p, WK_OP_MATMUL, 1, 3, y, broadcast(CONST(p, WK_F32, 1, 1, 1), &a), b);
  y = OUT(p, WK_F32, 33, 2), b = IN(p, WK_F32, 25, 3);
  y.dims[1] = b.dims[1] = 1;
  wk_view beside = y;
  beside.offset += 4;
  append(p, WK_OP_COPY, 1, 2, beside, IN(p, WK_F32, 33, 1));
  wk_inst *i = append(p, WK_OP_MATMUL, 1, 5, y, CONST(p, WK_F32, 33, 25), b, CONST(p, WK_F32, 1),
                      beside);
  ((wk_attr_matmul *)i->attrs)->epilogue = EXPR_F32(p, "add(f32(i32(%0)), %1)", 2);
}

/* Few rows, and B at run time in rows or, `columns`, in columns: read where it lies. */
static void few_rows(wk_program *p, wk_dtype t, int64_t m, int64_t n, int64_t k, bool columns) {
  wk_view y = OUT(p, t, 2, m, n), a = IN(p, t, 2, m, k);
  wk_view b = columns ? IN(p, t, 2, n, k) : IN(p, t, 2, k, n);
  append(p, WK_OP_MATMUL, 1, 3, y, a, columns ? PERM(b, 0, 2, 1) : b);
}

static void matmul_rows_case(wk_program *p) {
  few_rows(p, WK_F32, 1, 64, 41, false);
  few_rows(p, WK_F32, 6, 48, 7, false);
  few_rows(p, WK_F32, 2, 80, 3, false);
  few_rows(p, WK_F16, 3, 64, 5, false);
}

static void matmul_columns_case(wk_program *p) {
  few_rows(p, WK_F32, 1, 50, 64, true);
  few_rows(p, WK_F32, 6, 33, 96, true);
  few_rows(p, WK_F32, 3, 16, 160, true);
  few_rows(p, WK_F16, 2, 17, 16, true);
  few_rows(p, WK_BF16, 2, 40, 32, true);
  wk_view y = OUT(p, WK_F32, 2, 70), a = IN(p, WK_F32, 2, 64), b = IN(p, WK_F32, 70, 64);
  wk_inst *i = append(p, WK_OP_MATMUL, 1, 5, y, a, PERM(b, 1, 0), CONST(p, WK_F32, 70),
                      IN(p, WK_F32, 2, 70));
  ((wk_attr_matmul *)i->attrs)->epilogue = EXPR_F32(p, "add(max(%0, 0.0f32), %1)", 2);
}

static void matmul_types_case(wk_program *p) {
  append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_I32, 5, 70), IN(p, WK_I8, 5, 40), IN(p, WK_I8, 40, 70));
  append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_F16, 5, 7), IN(p, WK_F16, 5, 6), IN(p, WK_F16, 6, 7));
  append(p, WK_OP_MATMUL, 1, 4, OUT(p, WK_I64, 5, 7), IN(p, WK_I64, 5, 6), CONST(p, WK_I64, 6, 7),
         CONST(p, WK_I64, 7));
}

/* ---- indexing ------------------------------------------------------------------------------- */

static void gather_case(wk_program *p) {
  wk_view x = IN(p, WK_F32, 50, 33), at = numbers(p, WK_I64, (int64_t[]){3, -1, 0, 49, -50}, 5);
  append(p, WK_OP_GATHER, 1, 3, OUT(p, WK_F32, 5, 33), x, at);
  wk_inst *i = append(p, WK_OP_GATHER, 1, 3, OUT(p, WK_F32, 33, 5), PERM(x, 1, 0), at);
  ((wk_attr_gather *)i->attrs)->axis = 1;
  wk_view one = numbers(p, WK_I32, (int64_t[]){-7}, 1);
  one.rank = 0;
  i = append(p, WK_OP_GATHER, 1, 3, OUT(p, WK_F32, 50), x, one);
  ((wk_attr_gather *)i->attrs)->axis = 1;
}

/* Channels last in memory; indices of two axes. */
static void gather_nhwc_case(wk_program *p) {
  wk_view x = IN(p, WK_F32, 2, 5, 6, 10);
  wk_view at = numbers(p, WK_I64, (int64_t[]){3, -1, 0, 2, 2, 1}, 6);
  wk_inst *i = append(p, WK_OP_GATHER, 1, 3, NHWC(OUT(p, WK_F32, 2, 5, 6, 10)), NHWC(x), at);
  ((wk_attr_gather *)i->attrs)->axis = 3;
  i->operands[0].dims[3] = 6;
  i = append(p, WK_OP_GATHER, 1, 3, NHWC(OUT(p, WK_F32, 2, 6, 6, 10)), NHWC(x), at);
  ((wk_attr_gather *)i->attrs)->axis = 2;
  at.rank = 2;
  at.dims[0] = 2, at.dims[1] = 3;
  at.strides[0] = 1, at.strides[1] = 2;
  i = append(p, WK_OP_GATHER, 1, 3, PERM(OUT(p, WK_F32, 3, 5, 6, 2, 2), 4, 1, 3, 0, 2),
             PERM(x, 0, 1, 3, 2), at);
  ((wk_attr_gather *)i->attrs)->axis = 2;
  i->operands[1].dims[2] = 4, i->operands[1].dims[3] = 6;
}

static void bad_index_case(wk_program *p) {
  wk_view x = IN(p, WK_F32, 4), at = IN(p, WK_I64, 2);
  append(p, WK_OP_GATHER, 1, 3, OUT(p, WK_F32, 2), x, at);
}

static void indices_fill(wk_rng *rng, int input, wk_tensor *t) {
  if (input == 0) random_fill(rng, t);
  for (int64_t k = 0; input == 1 && k < wk_type_count(&t->type); k++)
    wk_store_i64(t->data, t->type.dtype, k, wk_rng_range(rng, -4, 3));
}

static void gather_elements_case(wk_program *p) {
  wk_view at = numbers(p, WK_I32, (int64_t[]){0, 1, -1, 2, 1, 0}, 6), x = IN(p, WK_I16, 3, 4);
  wk_view two = at;
  two.rank = 2;
  two.dims[0] = 2, two.dims[1] = 3;
  two.strides[0] = 3, two.strides[1] = 1;
  append(p, WK_OP_GATHER_ELEMENTS, 1, 3, OUT(p, WK_I16, 2, 3), x, two);
  wk_inst *i = append(p, WK_OP_GATHER_ELEMENTS, 1, 3, OUT(p, WK_I16, 2, 3), x, two);
  ((wk_attr_gather_elements *)i->attrs)->axis = 1;
}

/* Rows of 19 elements, by an index for each or by one for all of a row. */
static void picks_case(wk_program *p) {
  static const wk_dtype types[] = {WK_F32, WK_F64}, index_types[] = {WK_I32, WK_I64};
  int64_t v[2 * 19];
  for (int64_t k = 0; k < 2 * 19; k++) v[k] = k * 7 % 6 - 3;
  for (int k = 0; k < 8; k++) {
    wk_dtype t = types[k & 1];
    wk_view at = numbers(p, index_types[k >> 1 & 1], v, 2 * 19);
    at.rank = 2;
    at.dims[0] = 2, at.dims[1] = 19;
    at.strides[0] = 19, at.strides[1] = k < 4;
    append(p, WK_OP_GATHER_ELEMENTS, 1, 3, OUT(p, t, 2, 19), IN(p, t, 3, 19), at);
  }
}

static wk_view shaped(wk_view v, int64_t a, int64_t b) {
  v.rank = 2;
  v.dims[0] = a, v.dims[1] = b;
  v.strides[0] = b, v.strides[1] = 1;
  return v;
}

static void gather_nd_case(wk_program *p) {
  wk_view at = shaped(numbers(p, WK_I64, (int64_t[]){0, 1, 2, -1, -3, 0}, 6), 3, 2);
  append(p, WK_OP_GATHER_ND, 1, 3, OUT(p, WK_F64, 3, 7), IN(p, WK_F64, 3, 4, 7), at);
  wk_inst *i = append(p, WK_OP_GATHER_ND, 1, 3, OUT(p, WK_F32, 3), IN(p, WK_F32, 3, 4, 5), at);
  ((wk_attr_gather_nd *)i->attrs)->batch_dims = 1;
}

static void scatter_case(wk_program *p) {
  static const char *const reductions[] = {"none", "add", "mul", "min", "max"};
  wk_view at = shaped(numbers(p, WK_I64, (int64_t[]){0, 1, 2, 1, -1, 0}, 6), 2, 3);
  wk_view x = IN(p, WK_F32, 3, 4), u = IN(p, WK_F32, 2, 3);
  for (int k = 0; k < 5; k++) {
    wk_inst *i = append(p, WK_OP_SCATTER_ELEMENTS, 1, 4, OUT(p, WK_F32, 3, 4), x, at, u);
    wk_attr_scatter_elements *a = i->attrs;
    a->axis = k % 2;
    a->reduction = reductions[k];
  }
}

static void scatter_nd_case(wk_program *p) {
  wk_view at = shaped(numbers(p, WK_I64, (int64_t[]){0, 1, 2, 1, 0, 1}, 6), 3, 2);
  wk_view x = IN(p, WK_I32, 3, 4, 5), u = IN(p, WK_I32, 3, 5);
  append(p, WK_OP_SCATTER_ND, 1, 4, OUT(p, WK_I32, 3, 4, 5), x, at, u);
  wk_inst *i = append(p, WK_OP_SCATTER_ND, 1, 4, OUT(p, WK_I32, 3, 4, 5), x, at, u);
  ((wk_attr_scatter_nd *)i->attrs)->reduction = "add";
}

static void cum_sum_case(wk_program *p) {
  wk_view x = IN(p, WK_F32, 5, 7, 3), z = IN(p, WK_I8, 5, 7);
  for (int k = 0; k < 4; k++) {
    wk_inst *i = append(p, WK_OP_CUM_SUM, 1, 2, OUT(p, WK_F32, 5, 7, 3), x);
    wk_attr_cum_sum *a = i->attrs;
    a->axis = 1;
    a->exclusive = k & 1;
    a->reverse = k >> 1;
  }
  append(p, WK_OP_CUM_SUM, 1, 2, OUT(p, WK_I8, 5, 7), z);
}

static void top_k_case(wk_program *p) {
  wk_view x = IN(p, WK_F32, 5, 300), z = IN(p, WK_I8, 60, 3);
  wk_inst *i = append(p, WK_OP_TOP_K, 2, 3, OUT(p, WK_F32, 5, 9), OUT(p, WK_I64, 5, 9), x);
  *(wk_attr_top_k *)i->attrs = (wk_attr_top_k){.axis = 1, .k = 9, .largest = 1, .sorted = 1};
  i = append(p, WK_OP_TOP_K, 2, 3, OUT(p, WK_I8, 60, 3), OUT(p, WK_I64, 60, 3), z);
  *(wk_attr_top_k *)i->attrs = (wk_attr_top_k){.axis = 0, .k = 60, .largest = 0, .sorted = 1};
}

/* ---- segments ------------------------------------------------------------------------------- */

typedef struct {
  const char *kind, *rows;
  wk_dtype to;
  int64_t padding;
} segment_form;

static void store_tail(uint8_t *to, int bytes, double v) {
  uint32_t word = 0;
  wk_store_f64(&word, bytes == 4 ? WK_F32 : WK_F16, 0, v);
  memcpy(to, &word, (size_t)bytes);
}

/* Four segments of 11 rows, of which one has none. */
static wk_inst *segments_of(wk_program *p, wk_view y, wk_view x, segment_form f) {
  wk_view at = numbers(p, WK_I64, (int64_t[]){0, 5, -1, 2, 2, 3, 1, 0, 4, -6, 5}, 11);
  wk_inst *i = append(p, WK_OP_SEGMENT_REDUCE, 1, 7, y, x,
                      numbers(p, WK_I32, (int64_t[]){0, 4, 4, 10, 11}, 5), at, wk_view_none(),
                      wk_view_none(), wk_view_none());
  *(wk_attr_segment_reduce *)i->attrs = (wk_attr_segment_reduce){
      .kind = f.kind, .rows = f.rows, .padding = f.padding, .empty = -2, .to = f.to};
  return i;
}

/* Widths that are no vectors, one vector, several blocks. */
static void segments_case(wk_program *p) {
  static const int64_t widths[] = {1, 3, 64, 70, 333};
  static const char *const kinds[] = {"sum", "mean", "max"};
  for (int k = 0; k < 5; k++) {
    wk_view x = IN(p, WK_F32, 6, widths[k]);
    segment_form f = {kinds[k % 3], "plain", WK_F32, k == 2 ? 5 : -1};
    wk_inst *i = segments_of(p, OUT(p, WK_F32, 4, widths[k]), x, f);
    if (k % 2) i->operands[4] = IN(p, WK_F32, 11);
  }
  wk_view x = IN(p, WK_F32, 6, 9);
  segments_of(p, PERM(OUT(p, WK_F32, 20, 4), 1, 0), PERM(IN(p, WK_F32, 20, 6), 1, 0),
              (segment_form){"sum", "plain", WK_F32, -1});
  append(p, WK_OP_SEGMENT_REDUCE, 1, 3, OUT(p, WK_F32, 3, 9), x,
         numbers(p, WK_I64, (int64_t[]){1, 3, 3, 6}, 4));
}

static void segments_bytes_case(wk_program *p) {
  static const char *const kinds[] = {"sum", "mean", "max"};
  wk_view x = IN(p, WK_I8, 6, 37), z = IN(p, WK_U8, 6, 37), w = IN(p, WK_F32, 11);
  wk_view scale = IN(p, WK_F32, 6), bias = IN(p, WK_F32, 6);
  for (int k = 0; k < 3; k++) {
    segment_form f = {kinds[k], "plain", WK_F32, -1};
    wk_inst *i = segments_of(p, OUT(p, WK_F32, 4, 37), x, f);
    i->operands[5] = scale;
    i->operands[6] = bias;
    i = segments_of(p, OUT(p, WK_F32, 4, 37), z, f);
    i->operands[4] = w;
    i->operands[6] = bias;
  }
}

static void segments_floats_case(wk_program *p) {
  static const char *const kinds[] = {"sum", "mean", "max"};
  wk_view half = IN(p, WK_F16, 6, 37), brain = IN(p, WK_BF16, 6, 37), x = IN(p, WK_F64, 6, 37);
  for (int k = 0; k < 3; k++) {
    segment_form f = {kinds[k], "plain", WK_F32, -1};
    segments_of(p, OUT(p, WK_F32, 4, 37), half, f);
    f.to = WK_F16;
    segments_of(p, OUT(p, WK_F16, 4, 37), half, f);
    f.to = WK_BF16;
    segments_of(p, OUT(p, WK_BF16, 4, 37), brain, f);
    f.to = WK_F64;
    segments_of(p, OUT(p, WK_F64, 4, 37), x, f);
  }
}

/* 23 bytes of numbers in each row, then its scale and bias. */
static void segments_fused_case(wk_program *p) {
  static const struct {
    const char *rows;
    int64_t each;
  } forms[] = {{"fused8", 1}, {"fused8_half", 1}, {"fused4", 2}, {"fused2", 4}};
  for (int k = 0; k < 8; k++) {
    wk_segment_rows r = wk_segment_rows_of(forms[k / 2].rows);
    int64_t columns = 23 + 2 * r.tail;
    wk_view x = CONST(p, WK_U8, 6, columns);
    uint8_t *data = (uint8_t *)(uintptr_t)p->buffers.data[x.buffer].data;
    for (int64_t n = 0; n < 6 * columns; n++) data[n] = (uint8_t)(n * 37);
    for (int64_t row = 0; row < 6; row++)
      for (int tail = 0; tail < 2; tail++)
        store_tail(data + row * columns + 23 + tail * r.tail, r.tail,
                   tail ? (double)row - 2.5 : 0.125 * (double)(row + 1));
    wk_inst *i = segments_of(p, OUT(p, WK_F32, 4, 23 * forms[k / 2].each), x,
                             (segment_form){k % 2 ? "max" : "sum", forms[k / 2].rows, WK_F32, 3});
    if (k % 3 == 1) i->operands[4] = IN(p, WK_F32, 11);
  }
}

/* ---- others --------------------------------------------------------------------------------- */

static void random_case(wk_program *p) {
  wk_ints shape = wk_ints_dup(p->arena, (int64_t[]){3, 1000}, 2);
  wk_inst *i = append(p, WK_OP_RANDOM_UNIFORM, 1, 1, OUT(p, WK_F32, 3, 1000));
  *(wk_attr_random_uniform *)i->attrs = (wk_attr_random_uniform){
      .to = WK_F32, .shape = shape, .low = -1, .high = 2, .seed = 77};
  i = append(p, WK_OP_RANDOM_NORMAL, 1, 1, OUT(p, WK_F64, 3, 1000));
  *(wk_attr_random_normal *)i->attrs = (wk_attr_random_normal){
      .to = WK_F64, .shape = shape, .mean = 1, .scale = 2, .seed = -5};
}

static void det_case(wk_program *p) {
  append(p, WK_OP_DET, 1, 2, OUT(p, WK_F32, 6), IN(p, WK_F32, 6, 5, 5));
}

static void roi_align_case(wk_program *p) {
  wk_view x = IN(p, WK_F32, 2, 3, 12, 10), rois = CONST(p, WK_F32, 4, 4);
  float *r = (float *)(uintptr_t)p->buffers.data[rois.buffer].data;
  for (int k = 0; k < 16; k++) r[k] = (float)(k % 4 < 2 ? k : 2 * k + 3) * 0.4f;
  wk_view batch = numbers(p, WK_I64, (int64_t[]){0, 1, 1, 0}, 4);
  for (int k = 0; k < 2; k++) {
    wk_inst *i = append(p, WK_OP_ROI_ALIGN, 1, 4, OUT(p, WK_F32, 4, 3, 3, 4), x, rois, batch);
    *(wk_attr_roi_align *)i->attrs = (wk_attr_roi_align){
        .mode = k ? "max" : "avg", .height = 3, .width = 4, .samples = 2 * k, .scale = 0.5,
        .half_pixel = k};
  }
}

static void boxes_fill(wk_rng *rng, int input, wk_tensor *t) {
  for (int64_t k = 0; k < wk_type_count(&t->type); k++) {
    double v = wk_rng_unit(rng);
    wk_store_f64(t->data, WK_F32, k, input == 0 && k % 4 >= 2 ? v + 0.7 : v);
  }
}

static void boxes_case(wk_program *p) {
  wk_view boxes = IN(p, WK_F32, 2, 40, 4), scores = IN(p, WK_F32, 2, 3, 40);
  wk_view most = numbers(p, WK_I64, (int64_t[]){5}, 1), limit = CONST(p, WK_F32, 1);
  *(float *)(uintptr_t)p->buffers.data[limit.buffer].data = 0.4f;
  wk_inst *i = append(p, WK_OP_NON_MAX_SUPPRESSION, 1, 6, OUT(p, WK_I64, 40, 3), boxes, scores,
                      most, limit, wk_view_none());
  ((wk_attr_non_max_suppression *)i->attrs)->rows = 40;
}

/* ---- control -------------------------------------------------------------------------------- */

static void append_to(wk_program *p, wk_block *b) {
  wk_block_append(b, p->body.insts.data[--p->body.insts.n]);
}

static void if_case(wk_program *p) {
  wk_view c = IN(p, WK_BOOL), d = IN(p, WK_BOOL), x = IN(p, WK_F32, 300);
  for (int k = 0; k < 2; k++) {
    wk_view y = OUT(p, WK_F32, 300);
    wk_inst *i = wk_inst_new(p, WK_OP_IF, "branch", 0, 1);
    i->operands[0] = k ? d : c;
    i->n_bodies = 2;
    i->bodies = wk_arena_alloc(p->arena, 2 * sizeof *i->bodies);
    for (int b = 0; b < 2; b++) {
      wk_inst *m = append(p, WK_OP_MAP, 1, 2, y, x);
      ((wk_attr_map *)m->attrs)->body = EXPR_F32(p, b ? "neg(%0)" : "exp(%0)", 1);
      append_to(p, &i->bodies[b]);
    }
    wk_block_append(&p->body, i);
  }
}

/* s = s + x[i] for up to 9 rows; stops when the sum of s is above a limit; s goes to row i of y. */
static void loop_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 9, 40), last = OUT(p, WK_I64), x = IN(p, WK_F32, 9, 40);
  wk_view limit = IN(p, WK_F32), s = ACT(p, WK_F32, 40), go = ACT(p, WK_BOOL);
  wk_view total = ACT(p, WK_F32, 1);
  wk_inst *i = append(p, WK_OP_FILL, 1, 1, s);
  append(p, WK_OP_FILL, 1, 1, y);
  i = append(p, WK_OP_FILL, 1, 1, go);
  ((wk_attr_fill *)i->attrs)->value = 1;
  wk_inst *loop = wk_inst_new(p, WK_OP_LOOP, "loop", 0, 2);
  ((wk_attr_loop *)loop->attrs)->trip = 9;
  loop->operands[0] = go;
  loop->operands[0].role = WK_ROLE_INOUT;
  loop->operands[1] = last;
  loop->operands[1].role = WK_ROLE_OUT;
  loop->n_bodies = 1;
  loop->bodies = wk_arena_alloc(p->arena, sizeof *loop->bodies);
  wk_view row = x, to = y, space = total;
  row.rank = to.rank = 1;
  row.dims[0] = to.dims[0] = 40;
  row.strides[0] = to.strides[0] = 1;
  row.step = 160, to.step = -160, to.offset = 8 * 160;
  i = append(p, WK_OP_MAP, 1, 3, s, s, row);
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "add(%0, %1)", 2);
  append_to(p, &loop->bodies[0]);
  append(p, WK_OP_COPY, 1, 2, to, s);
  append_to(p, &loop->bodies[0]);
  space.dims[0] = 40, space.strides[0] = 0;
  i = append(p, WK_OP_REDUCE, 1, 2, space, s);
  ((wk_attr_reduce *)i->attrs)->kind = "sum";
  ((wk_attr_reduce *)i->attrs)->axes = wk_ints_fill(p->arena, 1, 0);
  append_to(p, &loop->bodies[0]);
  total.rank = 0;
  i = append(p, WK_OP_MAP, 1, 3, go, total, limit);
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "lt(%0, mul(%1, 5.0f32))", 2);
  append_to(p, &loop->bodies[0]);
  wk_block_append(&p->body, loop);
}

static const program_case program_cases[] = {
    {"map", map_case, 0, NULL},
    {"copy", copy_case, 0, NULL},
    {"big_map", big_map_case, 0, NULL},
    {"reduce", reduce_case, 0, NULL},
    {"conv", conv_case, 0, NULL},
    {"conv_in_place", conv_in_place_case, 0, NULL},
    {"conv_nchw", conv_nchw_case, 0, NULL},
    {"conv_reversed", conv_reversed_case, 0, NULL},
    {"conv_depthwise", conv_depthwise_case, 0, NULL},
    {"conv_1d", conv_1d_case, 0, NULL},
    {"conv_3d", conv_3d_case, 0, NULL},
    {"conv_runtime_weights", conv_runtime_weights_case, 0, NULL},
    {"conv_correlation", conv_correlation_case, 0, NULL},
    {"conv_odd_extra", conv_odd_extra_case, 0, NULL},
    {"conv_int8", conv_int8_case, 0, NULL},
    INT8_CASES,
    {"conv_f64", conv_f64_case, 0, NULL},
    {"conv_in_place_generic", conv_in_place_generic_case, 0, NULL},
    {"transpose", transpose_case, 0, NULL},
    {"transpose_odd", transpose_odd_case, 0, NULL},
    {"matmul", matmul_case, 0, NULL},
    {"matmul_transposed", matmul_transposed_case, 0, NULL},
    {"matmul_swapped", matmul_swapped_case, 0, NULL},
    {"matmul_batch", matmul_batch_case, 0, NULL},
    {"matmul_broadcast", matmul_broadcast_case, 0, NULL},
    {"matmul_rows", matmul_rows_case, 1e-2, NULL},
    {"matmul_columns", matmul_columns_case, 1e-2, NULL},
    {"matmul_types", matmul_types_case, 1e-3, NULL},
    POOL_CASES,
    {"gather", gather_case, 0, NULL},
    {"gather_nhwc", gather_nhwc_case, 0, NULL},
    {"bad_index", bad_index_case, 0, indices_fill},
    {"gather_elements", gather_elements_case, 0, NULL},
    {"picks", picks_case, 0, NULL},
    {"gather_nd", gather_nd_case, 0, NULL},
    {"scatter", scatter_case, 0, NULL},
    {"scatter_nd", scatter_nd_case, 0, NULL},
    {"cum_sum", cum_sum_case, 0, NULL},
    {"top_k", top_k_case, 0, NULL},
    {"segments", segments_case, 0, NULL},
    {"segments_bytes", segments_bytes_case, 0, NULL},
    {"segments_floats", segments_floats_case, 1e-3, NULL},
    {"segments_fused", segments_fused_case, 0, NULL},
    {"random", random_case, 0, NULL},
    {"det", det_case, 0, NULL},
    {"roi_align", roi_align_case, 0, NULL},
    {"non_max_suppression", boxes_case, 0, boxes_fill},
    {"if", if_case, 0, NULL},
    {"loop", loop_case, 0, NULL},
    {NULL, NULL, 0, NULL},
};

#endif
