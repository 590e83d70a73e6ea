/* SPDX-License-Identifier: Apache-2.0
 * Programs of 8-bit integers for test_cpu_program.c: bit for bit what the evaluator gives. */
#ifndef WICK_TESTS_PROGRAM_INT8_CASES_H
#define WICK_TESTS_PROGRAM_INT8_CASES_H

#include "tests/unit/program_requant.h"

/* ---- requantisation ------------------------------------------------------------------------- */

static void set_int_conv(wk_program *p, wk_inst *i, conv_shape c, int64_t outside,
                         const char *epilogue, const wk_dtype *types, int n) {
  set_conv(p, i, c, NULL, 0);
  ((wk_attr_conv *)i->attrs)->pad_value = outside;
  if (epilogue) ((wk_attr_conv *)i->attrs)->epilogue = expression(p, epilogue, n, types);
}

/* u8 x i8 -> u8, each channel with its own multiplier and shift; y and x as [n, c, h, w]. */
static void per_channel_conv(wk_program *p, wk_view y, wk_view x, wk_view w, conv_shape c,
                             int64_t shift) {
  wk_view bias = range_constant(p, WK_I32, y.dims[1], -3000, 3000);
  wk_inst *i = append(p, WK_OP_CONV, 1, 6, y, x, w, bias, multipliers(p, &y, 1),
                      shifts(p, &y, 1, shift - 2, shift + 2));
  set_int_conv(p, i, c, x.dtype == WK_U8 ? 119 : -7, PER_CHANNEL, per_channel_types, 3);
}

/* ---- convolution ---------------------------------------------------------------------------- */

static void int8_conv_case(wk_program *p) {
  wk_view x = IN(p, WK_U8, 2, 13, 11, 24);
  per_channel_conv(p, NHWC(OUT(p, WK_U8, 2, 13, 11, 40)), NHWC(x), CONST(p, WK_I8, 40, 24, 3, 3),
                   (conv_shape){1, 1, 1, 1}, 40);
  per_channel_conv(p, NHWC(OUT(p, WK_U8, 2, 6, 5, 70)), NHWC(x), CONST(p, WK_I8, 70, 12, 3, 3),
                   (conv_shape){2, 1, 2, 2}, 34);
  per_channel_conv(p, NHWC(OUT(p, WK_U8, 2, 13, 11, 33)), NHWC(x), CONST(p, WK_I8, 33, 24, 1, 1),
                   (conv_shape){1, 0, 1, 1}, 39);
  per_channel_conv(p, NHWC(OUT(p, WK_U8, 2, 15, 13, 9)), NHWC(IN(p, WK_I8, 2, 13, 11, 7)),
                   CONST(p, WK_I8, 9, 7, 1, 1), (conv_shape){1, 1, 1, 1}, 37);
}

/* First layers: planes of 1, 3 and 5 channels. */
static void int8_conv_first_case(wk_program *p) {
  for (int64_t c = 1; c <= 5; c += 2)
    per_channel_conv(p, NHWC(OUT(p, WK_U8, 1, 16, 20, 24)),
                     IN(p, c == 3 ? WK_I8 : WK_U8, 1, c, 32, 40), CONST(p, WK_I8, 24, c, 5, 5),
                     (conv_shape){2, 2, 1, 1}, 40);
}

/* The residual lies where the result goes. */
static void int8_conv_residual_case(wk_program *p) {
  wk_view y = OUT(p, WK_I8, 1, 9, 9, 48), x = IN(p, WK_I8, 1, 9, 9, 16);
  wk_view r = IN(p, WK_I8, 1, 9, 9, 48), acc = ACT(p, WK_I8, 1, 9, 9, 48);
  append(p, WK_OP_COPY, 1, 2, acc, r);
  wk_inst *i = append(p, WK_OP_CONV, 1, 5, NHWC(acc), NHWC(x), CONST(p, WK_I8, 48, 16, 1, 1),
                      wk_view_none(), NHWC(acc));
  set_int_conv(p, i, (conv_shape){1, 0, 1, 1}, 0,
               "sat<i8>(add(i32(shr_round(add(mul(sub(i32(sat<i8>(add(shr_round(mul(i64(%0), "
               "1518500250i64), 38i64), -3i64))), -3i32), 23170i32), mul(sub(i32(%1), 5i32), "
               "-11000i32)), 15i32)), 4i32))",
               (wk_dtype[]){WK_I32, WK_I8}, 2);
  append(p, WK_OP_COPY, 1, 2, y, acc);
}

/* As quant.h has it: by way of 16 fractional bits, halves of both roundings. */
#define RESCALED "rescale(%0, i64(%1), i64(%2))"

static void rescaled_conv(wk_program *p, wk_view y, wk_view x, wk_view w, conv_shape c,
                          int64_t shift) {
  wk_view m = range_constant(p, WK_I32, y.dims[1], 1 << 23, (1 << 24) - 1);
  *(int32_t *)(uintptr_t)p->buffers.data[m.buffer].data = 1 << 23;
  wk_view s = range_constant(p, WK_I32, y.dims[1], shift - 2, shift + 2);
  wk_inst *i = append(p, WK_OP_CONV, 1, 6, y, x, w, range_constant(p, WK_I32, y.dims[1], -999, 999),
                      along(m, &y, 1), along(s, &y, 1));
  set_int_conv(p, i, c, x.dtype == WK_U8 ? 119 : -7,
               "sat<u8>(add(" RESCALED ", 127i32))",
               (wk_dtype[]){WK_I32, WK_I32, WK_I32}, 3);
}

static void int8_rescaled_case(wk_program *p) {
  wk_view x = IN(p, WK_U8, 1, 13, 11, 24), z = IN(p, WK_I8, 1, 13, 11, 37);
  for (int64_t shift = 14; shift < 26; shift += 5)
    rescaled_conv(p, NHWC(OUT(p, WK_U8, 1, 13, 11, 40)), NHWC(x), CONST(p, WK_I8, 40, 24, 3, 3),
                  (conv_shape){1, 1, 1, 1}, shift);
  rescaled_conv(p, NHWC(OUT(p, WK_U8, 1, 13, 11, 37)), NHWC(z), CONST(p, WK_I8, 37, 1, 3, 3),
                (conv_shape){1, 1, 1, 37}, 16);
  rescaled_conv(p, NHWC(OUT(p, WK_U8, 1, 13, 11, 37)), NHWC(z), CONST(p, WK_I8, 37, 1, 1, 1),
                (conv_shape){1, 0, 1, 37}, 8);
  wk_view y = OUT(p, WK_I8, 5, 300), a = IN(p, WK_U8, 5, 300), b = IN(p, WK_I8, 300);
  wk_inst *i = append(p, WK_OP_MAP, 1, 3, y, a, broadcast(b, &y));
  ((wk_attr_map *)i->attrs)->body =
      expression(p, "sat<i8>(rescale(mul(sub(i32(%0), 3i32), i32(%1)), 11581003i64, 15i64))", 2,
                 (wk_dtype[]){WK_U8, WK_I8});
}

/* Multipliers of so few digits that every few thousandth result lies at or just beside a tie. */
static void near_ties(wk_program *p, wk_view y, wk_view x, wk_view w, conv_shape c,
                      const wk_view *residual, const char *epilogue) {
  enum { SHIFT = 14, DIGITS = 12 };
  wk_view m = range_constant(p, WK_I32, y.dims[1], 1 << 23, (1 << 24) - 1);
  int32_t *mults = (int32_t *)(uintptr_t)p->buffers.data[m.buffer].data;
  for (int64_t k = 0; k < y.dims[1]; k++) {
    int zeros = SHIFT + 16 - DIGITS - (int)(k % 6);
    mults[k] = (mults[k] | 1 << zeros) & -(1 << zeros);
  }
  wk_view shift = range_constant(p, WK_I32, y.dims[1], SHIFT, SHIFT);
  wk_view bias = range_constant(p, WK_I32, y.dims[1], -999, 999);
  wk_inst *i = append(p, WK_OP_CONV, 1, residual ? 7 : 6, y, x, w, bias, along(m, &y, 1),
                      along(shift, &y, 1), residual ? *residual : wk_view_none());
  set_int_conv(p, i, c, x.dtype == WK_U8 ? 119 : -7, epilogue,
               (wk_dtype[]){WK_I32, WK_I32, WK_I32, y.dtype}, 3 + (residual != NULL));
}

static void int8_near_ties_case(wk_program *p) {
  wk_view x = IN(p, WK_U8, 1, 40, 40, 4), z = IN(p, WK_I8, 1, 40, 40, 37);
  static const int64_t columns[] = {16, 33, 64, 70};
  for (int k = 0; k < 4; k++)
    near_ties(p, NHWC(OUT(p, WK_U8, 1, 40, 40, columns[k])), NHWC(x),
              CONST(p, WK_I8, columns[k], 4, 1, 1), (conv_shape){1, 0, 1, 1}, NULL,
              "min(max(sat<u8>(add(" RESCALED ", 101i32)), 3u8), 250u8)");
  near_ties(p, NHWC(OUT(p, WK_I8, 1, 40, 40, 37)), NHWC(z), CONST(p, WK_I8, 37, 1, 3, 3),
            (conv_shape){1, 1, 1, 37}, NULL, "sat<i8>(add(" RESCALED ", -31i32))");
  wk_view r = IN(p, WK_I8, 1, 40, 40, 48), acc = NHWC(ACT(p, WK_I8, 1, 40, 40, 48));
  append(p, WK_OP_COPY, 1, 2, acc, NHWC(r));
  near_ties(p, acc, NHWC(x), CONST(p, WK_I8, 48, 4, 1, 1), (conv_shape){1, 0, 1, 1}, &acc,
            "sat<i8>(shr_round(add(mul(i32(sat<i8>(add(" RESCALED
            ", 5i32))), 23170i32), mul(i32(%3), 11000i32)), 15i32))");
  append(p, WK_OP_COPY, 1, 2, NHWC(OUT(p, WK_I8, 1, 40, 40, 48)), acc);
}

/* To i32 as it is, and through floats. */
static void int8_conv_plain_case(wk_program *p) {
  wk_view x = IN(p, WK_I8, 1, 9, 8, 18);
  wk_inst *i = append(p, WK_OP_CONV, 1, 4, NHWC(OUT(p, WK_I32, 1, 9, 8, 20)), NHWC(x),
                      CONST(p, WK_U8, 20, 18, 3, 3), CONST(p, WK_I32, 20));
  set_int_conv(p, i, (conv_shape){1, 1, 1, 1}, -128, NULL, NULL, 0);
  wk_view y = NHWC(OUT(p, WK_F32, 1, 9, 8, 20)), scale = CONST(p, WK_F32, 20);
  i = append(p, WK_OP_CONV, 1, 5, y, NHWC(x), CONST(p, WK_I8, 20, 18, 3, 3), wk_view_none(),
             along(scale, &y, 1));
  set_int_conv(p, i, (conv_shape){1, 1, 1, 1}, 3, "mul(f32(%0), %1)",
               (wk_dtype[]){WK_I32, WK_F32}, 2);
}

static void int8_depthwise_case(wk_program *p) {
  static const int64_t channels[] = {40, 37, 64, 3};
  for (int k = 0; k < 4; k++) {
    int64_t c = channels[k], s = 1 + k % 2, o = k % 2 ? 7 : 14;
    wk_view x = IN(p, k < 2 ? WK_U8 : WK_I8, 1, 14, 14, c);
    per_channel_conv(p, NHWC(OUT(p, WK_U8, 1, o, o, c)), NHWC(x),
                     CONST(p, k == 3 ? WK_U8 : WK_I8, c, 1, 3, 3), (conv_shape){s, 1, 1, c}, 38);
  }
  wk_view x = IN(p, WK_U8, 1, 14, 14, 24);
  per_channel_conv(p, NHWC(OUT(p, WK_U8, 1, 14, 14, 24)), NHWC(x), CONST(p, WK_I8, 24, 1, 5, 5),
                   (conv_shape){1, 2, 1, 24}, 40);
  per_channel_conv(p, NHWC(OUT(p, WK_U8, 1, 14, 14, 24)), NHWC(x), CONST(p, WK_I8, 24, 1, 9, 9),
                   (conv_shape){1, 4, 1, 24}, 33);
}

/* ---- matrix product ------------------------------------------------------------------------- */

static wk_inst *per_column_product(wk_program *p, wk_view y, wk_view a, wk_view b) {
  wk_view bias = range_constant(p, WK_I32, y.dims[1], -500, 500);
  wk_inst *i = append(p, WK_OP_MATMUL, 1, 6, y, a, b, bias, multipliers(p, &y, 1),
                      shifts(p, &y, 1, 38, 41));
  ((wk_attr_matmul *)i->attrs)->epilogue = expression(p, PER_CHANNEL, 3, per_channel_types);
  return i;
}

static void int8_matmul_case(wk_program *p) {
  for (int64_t k = 50; k < 53; k++)
    per_column_product(p, OUT(p, WK_U8, 37, 70), IN(p, k == 51 ? WK_I8 : WK_U8, 37, k),
                       CONST(p, WK_I8, k, 70));
  per_column_product(p, OUT(p, WK_U8, 1, 70), IN(p, WK_U8, 1, 70), CONST(p, WK_U8, 70, 70));
  wk_view w = CONST(p, WK_I8, 65, 20), x = IN(p, WK_I8, 20, 33);
  append(p, WK_OP_MATMUL, 1, 4, OUT(p, WK_I32, 33, 65), PERM(x, 1, 0), PERM(w, 1, 0),
         CONST(p, WK_I32, 65));
}

/* Result transposed in memory; a column. */
static void int8_matmul_swapped_case(wk_program *p) {
  wk_view y = OUT(p, WK_I32, 40, 30);
  append(p, WK_OP_MATMUL, 1, 4, PERM(y, 1, 0), IN(p, WK_U8, 30, 25), CONST(p, WK_I8, 25, 40),
         CONST(p, WK_I32, 40));
  append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_I32, 50, 1), CONST(p, WK_I8, 50, 25),
         IN(p, WK_I8, 25, 1));
}

/* Both at run time, as in attention: along either axis of b. */
static void int8_matmul_runtime_case(wk_program *p) {
  static const wk_dtype signs[][2] = {{WK_I8, WK_I8}, {WK_U8, WK_I8}, {WK_U8, WK_U8}};
  for (int k = 0; k < 3; k++) {
    wk_view a = IN(p, signs[k][0], 2, 3, 17, 39);
    wk_view b = IN(p, signs[k][1], 2, 3, 21, 39);
    append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_I32, 2, 3, 17, 21), a, PERM(b, 0, 1, 3, 2));
  }
}

static void int8_matmul_runtime_rows_case(wk_program *p) {
  append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_I32, 2, 17, 21), IN(p, WK_I8, 2, 17, 39),
         IN(p, WK_I8, 2, 39, 21));
  append(p, WK_OP_MATMUL, 1, 3, OUT(p, WK_I32, 60, 90), IN(p, WK_I8, 60, 1500),
         IN(p, WK_I8, 1500, 90));
}

static void int8_transpose_case(wk_program *p) {
  static const conv_shape shapes[] = {{2, 0, 1, 1}, {2, 1, 2, 2}, {3, 0, 1, 4}};
  static const int64_t sizes[][3] = {{20, 10, 2}, {13, 6, 3}, {13, 5, 1}};
  for (int k = 0; k < 3; k++) {
    conv_shape c = shapes[k];
    wk_view y = NHWC(OUT(p, WK_U8, 1, sizes[k][0], sizes[k][0], 12));
    wk_view w = CONST(p, WK_I8, 16, 12 / c.group, sizes[k][2], sizes[k][2]);
    wk_inst *i = append(p, WK_OP_CONV_TRANSPOSE, 1, 6, y,
                        NHWC(IN(p, k ? WK_I8 : WK_U8, 1, sizes[k][1], sizes[k][1], 16)), w,
                        range_constant(p, WK_I32, 12, -500, 500), multipliers(p, &y, 1),
                        shifts(p, &y, 1, 37, 41));
    wk_attr_conv_transpose *a = i->attrs;
    a->strides = wk_ints_fill(p->arena, 2, c.stride);
    a->pads = wk_ints_fill(p->arena, 4, c.pad);
    a->dilations = wk_ints_fill(p->arena, 2, c.dilation);
    a->output_padding = wk_ints_fill(p->arena, 2, 0);
    a->group = c.group;
    a->epilogue = expression(p, PER_CHANNEL, 3, per_channel_types);
  }
}

/* ---- others --------------------------------------------------------------------------------- */

static void int8_pool_case(wk_program *p) {
  for (int k = 0; k < 4; k++) {
    wk_dtype t = k % 2 ? WK_I8 : WK_U8;
    int64_t c = k < 2 ? 149 : 3;
    wk_inst *i = append(p, WK_OP_MAX_POOL, 1, 2, NHWC(OUT(p, t, 2, 8, 8, c)),
                        NHWC(IN(p, t, 2, 16, 16, c)));
    wk_attr_max_pool *a = i->attrs;
    a->kernel = wk_ints_fill(p->arena, 2, 3);
    a->strides = wk_ints_fill(p->arena, 2, 2);
    a->pads = wk_ints_fill(p->arena, 4, 1);
    a->dilations = wk_ints_fill(p->arena, 2, 1);
  }
}

/* Functions of a byte: dense, as part of a wider result, channels first from channels last. */
static void int8_table_case(wk_program *p) {
  wk_view bytes = CONST(p, WK_I8, 256), words = CONST(p, WK_I32, 256);
  append(p, WK_OP_GATHER, 1, 3, NHWC(OUT(p, WK_I8, 2, 9, 70, 20)), bytes,
         NHWC(IN(p, WK_U8, 2, 9, 70, 20)));
  wk_view wide = OUT(p, WK_I32, 2, 9, 7, 33), part = wide;
  part.dims[3] = 20;
  append(p, WK_OP_FILL, 1, 1, wide);
  append(p, WK_OP_GATHER, 1, 3, part, words, IN(p, WK_I8, 2, 9, 7, 20));
  append(p, WK_OP_GATHER, 1, 3, OUT(p, WK_I8, 2, 20, 9, 7), bytes,
         NHWC(IN(p, WK_I8, 2, 9, 7, 20)));
}

#define INT8_CASES                                                      \
  {"int8_conv", int8_conv_case, 0, NULL},                               \
  {"int8_conv_first", int8_conv_first_case, 0, NULL},                   \
  {"int8_conv_residual", int8_conv_residual_case, 0, NULL},             \
  {"int8_rescaled", int8_rescaled_case, 0, NULL},                       \
  {"int8_near_ties", int8_near_ties_case, 0, NULL},                     \
  {"int8_conv_plain", int8_conv_plain_case, 0, NULL},                   \
  {"int8_depthwise", int8_depthwise_case, 0, NULL},                     \
  {"int8_table", int8_table_case, 0, NULL},                             \
  {"int8_transpose", int8_transpose_case, 0, NULL},                     \
  {"int8_pool", int8_pool_case, 0, NULL},                               \
  {"int8_matmul", int8_matmul_case, 0, NULL},                           \
  {"int8_matmul_swapped", int8_matmul_swapped_case, 0, NULL},           \
  {"int8_matmul_runtime", int8_matmul_runtime_case, 0, NULL},           \
  {"int8_matmul_runtime_rows", int8_matmul_runtime_rows_case, 0, NULL}

#endif
