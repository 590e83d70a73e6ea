/* SPDX-License-Identifier: Apache-2.0
 * kernels: the hot loops of the CPU target, emitted as LLVM IR: on floats, f32 or stored as f16 or
 * bf16 (each operand by itself) and always summed up in f32, and on 8-bit integers (signed or not,
 * either operand) whose products are summed up in i32, modulo 2^32.
 *
 * One call of wk_cpu_*_emit adds a task function to the module and says how to run it:
 *
 *     void task(void *const *args, void *scratch, int64_t begin, int64_t end);
 *
 * does the tasks begin <= i < end of 0..n_tasks. Tasks are independent, write disjoint elements,
 * and each is computed the same way whatever the ranges are, so results don't depend on the number
 * of threads. `scratch` is scratch_bytes large, 64-byte aligned, private to the running thread,
 * with any content. args[0] is the output, args[1] the input (A), args[2] the packed weights
 * (64-byte aligned) or the run-time B, args[3 + i] the epilogue's operand i; each points at element
 * (0, 0, …). Functions are internal, self-contained, position independent and call nothing outside.
 *
 * Equal descriptors with equal epilogues (same key) give the same function: emit freely, the module
 * holds one copy. Function names begin with "wk.". */
#ifndef WICK_CPU_KERNELS_H
#define WICK_CPU_KERNELS_H

#include "compiler/ir/ops.h"
#include "targets/cpu/llvm/vector.h"

#define WK_CPU_MAX_OPERANDS 8

/* Element types: f32, f16 or bf16, or a and b of 8 bits. */
typedef struct {
  wk_dtype a, b, y; /* without an epilogue y is the accumulator: f32 or i32 */
  int32_t outside;  /* what integers are outside of the image */
} wk_cpu_types;
#define WK_CPU_F32 ((wk_cpu_types){WK_F32, WK_F32, WK_F32, 0})
static inline bool wk_cpu_is_float(const wk_cpu_types *t) { return wk_dtype_is_float(t->a); }

/* An extra input of the epilogue, read at the position of the output element. Strides in elements
 * over the output's outer dimensions: convolution n, oh, ow; matmul batch0, batch1, row. */
typedef struct {
  int64_t stride[3];
  bool per_column; /* true: column stride 1 (bias, residual); false: column stride 0 */
  wk_dtype dtype;
} wk_cpu_operand;

/* The quick form of an epilogue, between vectors of one function. */
#define WK_QUICK_KNOWN 8
typedef struct {
  wk_ssa sure; /* lanes in which every value so far is right; NULL before the first */
  int n;       /* what was computed from operands before, in code that dominates the next */
  struct {
    wk_ssa m, s, scale;
  } known[WK_QUICK_KNOWN];
} wk_quick;

/* out = f(accumulator, operands…) on vectors of output columns, in registers. `emit` is called with
 * the builder in place and returns the vector to store; all are register elements (vector.h). An
 * operand may be the output buffer itself when it has the output's strides (the value before the
 * store is read). */
typedef struct {
  wk_ssa (*emit)(void *ctx, wk_llvm *e, wk_ssa acc, const wk_ssa *operands);
  /* Quicker, for an output of 8 bits: i32 that saturates to it where q->sure says so; everything
   * else is computed again by emit. NULL: there is none. */
  wk_ssa (*quick)(void *ctx, wk_llvm *e, wk_ssa acc, const wk_ssa *operands, wk_quick *q);
  bool has_start; /* acc holds operand 0 already, which is i32 and the same in all rows */
  void *ctx;
  uint64_t key; /* equal keys: emit makes the same code; used with the operands to share kernels */
  int n_operands;
  wk_cpu_operand operands[WK_CPU_MAX_OPERANDS];
} wk_cpu_epilogue; /* emit NULL: out = accumulator */

typedef struct {
  wk_ssa task;
  int64_t n_tasks;
  wk_ssa live_tasks;     /* NULL: all; else a run needs the first ones alone: so many */
  int64_t scratch_bytes; /* per running thread */
  int64_t packed_bytes;  /* size of the packed weights; 0 when args[2] is a run-time B */
  int n_limits;          /* addresses of i64s behind the other args: */
  int limits[3];         /* which of the descriptor's limits they are */
  int list;              /* 0: none; else whose rows' address is the last argument */
} wk_cpu_kernel;

/* ---- convolution ----------------------------------------------------------------------------- */

/* y[n,oh,ow,o] = sum x[n, oh*stride_h - pad_h + r*dil_h, …, i] * w[o,i,r,s], zero outside of x.
 * cin and cout count all groups. x may have any strides; y is contiguous along channels. Strides in
 * elements. Every count is >= 1; every product of a stride and its dimension fits 40 bits. */
typedef struct {
  int64_t n, h, w, cin, oh, ow, cout, kh, kw;
  int64_t stride_h, stride_w, pad_h, pad_w, dil_h, dil_w, group;
  int64_t x_stride[4]; /* n, h, w, c */
  int64_t y_stride[3]; /* n, h, w */
  wk_cpu_types types;
} wk_cpu_conv_desc;

/* WK_UNSUPPORTED when the shape is outside of what the kernels do (the caller has a slow path). */
wk_status wk_cpu_conv_codegen(wk_llvm *e, const wk_cpu_conv_desc *d, const wk_cpu_epilogue *epi,
                              wk_cpu_kernel *out) WK_MUST_CHECK;
/* Writes packed_bytes at `out`. w: [cout][cin/group][kh][kw] with element strides w_stride. */
void wk_cpu_conv_pack(const wk_simd *simd, const wk_cpu_conv_desc *d, const void *w,
                      const int64_t w_stride[4], void *out);
int64_t wk_cpu_conv_packed_bytes(const wk_simd *simd, const wk_cpu_conv_desc *d);

/* Packed floats as copies, for weights that are known at run time only. Of each group and panel,
 * column j of `columns`: weight [group * g + first + panel * p + column * j][i][r][s] goes to byte
 * `at` + the element steps to[] of (group, panel, column, channel, r, s). */
typedef struct {
  int64_t groups, panels, columns, cin; /* how many of each; of taps as many as the window has */
  int64_t first, group, panel, column;  /* output channels; column 0: the same one again */
  int64_t at, to[6];
} wk_cpu_conv_piece;
enum { WK_CPU_CONV_PIECES = 3 };
/* The number of pieces; *type is what the elements become. */
int wk_cpu_conv_pieces(const wk_simd *simd, const wk_cpu_conv_desc *d, wk_dtype *type,
                       wk_cpu_conv_piece out[WK_CPU_CONV_PIECES]);

/* True when x has to be f32: its elements, f16 or bf16, would be converted once for each tap. */
bool wk_cpu_conv_widens(const wk_cpu_conv_desc *d);

/* Sums of the positive and of the negative weights of each output channel, of packed integers. */
void wk_cpu_conv_reach(const wk_simd *simd, const wk_cpu_conv_desc *d, const void *packed,
                       int64_t (*reach)[2]);

/* ---- matrix product -------------------------------------------------------------------------- */

/* y[b0,b1,i,j] = sum_k a[b0,b1,i,k] * b[b0,b1,k,j]. a is contiguous along k, y along j. Strides in
 * elements, 0 = broadcast (not for y). Every count is >= 1. Rows of 8-bit integers are read in
 * words of four: up to three elements past a row's end must be readable. */
typedef struct {
  int64_t batch[2], m, n, k;
  int64_t a_stride[3]; /* b0, b1, row */
  int64_t b_stride[4]; /* b0, b1, k, n: of the constant that is packed, or of the run-time B, of
                          which k or n must be 1 */
  int64_t y_stride[3]; /* b0, b1, row */
  bool b_constant;     /* packed at compile time by wk_cpu_matmul_pack */
  wk_cpu_types types;
  /* Numbers, not 0, of sizes (wk_cpu_kernel.limits) from which on something need not be computed;
   * 0: there is none. */
  int row_limit;       /* rows of each batch */
  int batch_limit;     /* all rows, `batch_rows` for each unit of the size */
  int column_limit;
  int fold_limit;      /* positions of k, where one of the operands is zero */
  int64_t batch_rows;
  int list_limit;      /* all rows, `list_rows` of them, in the order of the limit's list */
  int64_t list_rows;
} wk_cpu_matmul_desc;
#define WK_CPU_NO_LIMITS 0, 0, 0, 0, 0, 0, 0 /* at the end of an initialiser */

wk_status wk_cpu_matmul_codegen(wk_llvm *e, const wk_cpu_matmul_desc *d, const wk_cpu_epilogue *epi,
                                wk_cpu_kernel *out) WK_MUST_CHECK;
void wk_cpu_matmul_pack(const wk_simd *simd, const wk_cpu_matmul_desc *d, const void *b, void *out);
void wk_cpu_matmul_reach(const wk_simd *simd, const wk_cpu_matmul_desc *d, const void *packed,
                         int64_t (*reach)[2]);
int64_t wk_cpu_matmul_packed_bytes(const wk_simd *simd, const wk_cpu_matmul_desc *d);

/* ---- segments -------------------------------------------------------------------------------- */

/* segment_reduce (ops.def). Columns of data and y are neighbours in memory; steps between
 * neighbours along the other axes are in bytes. args: y, data, offsets, indices, weights, scale,
 * bias, the word that reports an index out of range. A task is a segment. */
typedef struct {
  wk_dtype data, offset, index, to; /* index 0: rows in order */
  wk_segment_rows rows;
  int64_t segments, n, n_rows, columns; /* n: indices; columns: of data */
  int64_t padding;
  bool is_mean, is_max, has_weights, has_scale, has_bias;
  double empty;
  int64_t y_row, data_row, offset_step, index_step, weight_step, scale_step, bias_step;
} wk_cpu_segment_desc; /* zero the whole struct first (it is hashed) */

void wk_cpu_segment_codegen(wk_llvm *e, const wk_cpu_segment_desc *d, wk_cpu_kernel *out);

#endif
