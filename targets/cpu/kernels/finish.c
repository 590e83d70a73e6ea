/* SPDX-License-Identifier: Apache-2.0 */
/* With a quick form of the epilogue, vectors go in groups of four: their results are packed to
 * bytes together, and where one of them is not sure, this group and all that follow are computed in
 * the exact form, by a loop over accumulators put into memory. Nothing of a group is stored before
 * that is known: the output may be an operand as well. */
#include "targets/cpu/kernels/finish.h"

#include <string.h>

#include "targets/cpu/kernels/gemm.h"

enum { GROUP = 4, MOST = WK_LLVM_CARRY };

typedef struct {
  const wk_finish *f;
  wk_llvm *e;
  wk_ssa shared[WK_CPU_MAX_OPERANDS][WK_CPU_MAX_NV]; /* operands that are the same in all rows */
} finish;

static wk_ssa element(const finish *t, int operand, wk_ssa row, wk_ssa column) {
  const wk_finish *f = t->f;
  const wk_cpu_operand *o = operand < 0 ? NULL : &f->epi->operands[operand];
  wk_ssa at = f->address(f->ctx, operand, row);
  if (o && !o->per_column) return at;
  int64_t width = t->e->simd->lanes * wk_dtype_size(o ? o->dtype : f->type);
  return wk_llvm_at(t->e, at, wk_llvm_mul(t->e, column, width));
}

static wk_ssa load(const finish *t, int i, wk_ssa row, wk_ssa column, wk_ssa mask) {
  return wk_operand_load(t->e, &t->f->epi->operands[i], element(t, i, row, column), mask);
}

static wk_ssa mask_of(const finish *t, int k) {
  return k % t->f->nv == t->f->nv - 1 ? t->f->mask : NULL;
}

static void operands(const finish *t, int k, wk_ssa *in) {
  int v = k % t->f->nv;
  wk_ssa row = wk_llvm_int(t->e, k / t->f->nv), column = wk_llvm_int(t->e, v);
  for (int i = 0; i < t->f->epi->n_operands; i++)
    in[i] = t->shared[i][v] ? t->shared[i][v] : load(t, i, row, column, mask_of(t, k));
}

static wk_ssa output(const finish *t, int k) {
  return element(t, -1, wk_llvm_int(t->e, k / t->f->nv), wk_llvm_int(t->e, k % t->f->nv));
}

static wk_ssa exact(const finish *t, wk_ssa acc, const wk_ssa *in) {
  const wk_cpu_epilogue *epi = t->f->epi;
  wk_ssa y = epi->emit ? epi->emit(epi->ctx, t->e, acc, in) : acc;
  return wk_to_memory(t->e, t->f->type, t->e->simd->lanes, y);
}

/* ---- bytes of four vectors ------------------------------------------------------------------- */

/* Saturated to bytes, in order; NULL: there are no instructions for it. Packing works on 16 bytes
 * at a time, of each vector four results, which is what laced vectors want; others need their words
 * put in order. */
static wk_ssa packed(const finish *t, const wk_ssa *v) {
  wk_llvm *e = t->e;
  int lanes = e->simd->lanes, parts = lanes / 4;
  if (!e->simd->intrinsic[WK_SIMD_PACK_I16]) return NULL;
  wk_ssa halves[2], index[64];
  for (int i = 1; i >= 0; i--)
    halves[i] = wk_simd_call(e, WK_SIMD_PACK_I16, (wk_ssa[]){v[2 * i], v[2 * i + 1]}, 2);
  wk_ssa y = wk_simd_call(e, t->f->type == WK_U8 ? WK_SIMD_PACK_U8 : WK_SIMD_PACK_I8, halves, 2);
  LLVMTypeRef words = wk_vector_type(e->i32, lanes);
  y = LLVMBuildBitCast(e->b, y, words, "");
  int lace = t->f->is_laced ? t->f->nv : 1;
  for (int i = 0; i < lanes; i++) { /* word i: of row i / (parts * lace), … */
    int row = i / (parts * lace), chunk = i % (parts * lace) / lace;
    index[i] = LLVMConstInt(e->i32, (unsigned)(chunk * GROUP + row * lace + i % lace), 0);
  }
  wk_ssa order = LLVMConstVector(index, (unsigned)lanes);
  y = LLVMBuildShuffleVector(e->b, y, LLVMGetPoison(words), order, "");
  return LLVMBuildBitCast(e->b, y, wk_vector_type(e->i8, lanes * GROUP), "");
}

static wk_ssa part(const finish *t, wk_ssa bytes, int first, int n) {
  wk_ssa index[64];
  int lanes = t->e->simd->lanes;
  if (n == GROUP) return bytes;
  for (int i = 0; i < n * lanes; i++)
    index[i] = LLVMConstInt(t->e->i32, (unsigned)(first * lanes + i), 0);
  return LLVMBuildShuffleVector(t->e->b, bytes, LLVMGetPoison(LLVMTypeOf(bytes)),
                                LLVMConstVector(index, (unsigned)(n * lanes)), "");
}

/* Vectors from k on, of `left`, that one store takes: of one row, aligned within the group. */
static int run_of(const finish *t, int k, int left) {
  for (int n = GROUP; n > 1; n /= 2) {
    bool fits = k % GROUP % n == 0 && n <= left && k % t->f->nv + n <= t->f->nv;
    if (fits && !mask_of(t, k + n - 1)) return n;
  }
  return 1;
}

static wk_ssa saturated(const finish *t, wk_ssa v) {
  bool is_signed = t->f->type == WK_I8;
  LLVMTypeRef type = LLVMTypeOf(v);
  wk_ssa low[] = {v, wk_vector_int(t->e, type, is_signed ? -128 : 0)};
  wk_ssa high[] = {wk_lanes_intrinsic(t->e, "llvm.smax", type, low, 2),
                   wk_vector_int(t->e, type, is_signed ? 127 : 255)};
  v = wk_lanes_intrinsic(t->e, "llvm.smin", type, high, 2);
  return LLVMBuildTrunc(t->e->b, v, wk_vector_type(t->e->i8, t->e->simd->lanes), "");
}

static void store_group(const finish *t, int k, int n, const wk_ssa *v) {
  wk_ssa bytes = packed(t, v);
  for (int i = 0; i < n;) {
    int run = bytes ? run_of(t, k + i, n - i) : 1;
    wk_ssa y = bytes ? part(t, bytes, i, run) : saturated(t, v[i]);
    wk_llvm_vstore(t->e, y, output(t, k + i), run == 1 ? mask_of(t, k + i) : NULL);
    i += run;
  }
}

/* ---- the quick form -------------------------------------------------------------------------- */

static LLVMBasicBlockRef block(const finish *t) {
  return LLVMAppendBasicBlockInContext(t->e->ctx, t->e->fn, "");
}

/* The lanes of a mask, all on. */
static wk_ssa is_full(const finish *t, wk_ssa mask) {
  LLVMTypeRef bits = LLVMIntTypeInContext(t->e->ctx, (unsigned)t->e->simd->lanes);
  wk_ssa v = LLVMBuildBitCast(t->e->b, mask, bits, "");
  return LLVMBuildICmp(t->e->b, LLVMIntEQ, v, LLVMConstAllOnes(bits), "");
}

static void in_order(const finish *t, wk_ssa *acc) {
  const wk_finish *f = t->f;
  for (int k = 0; k < f->n; k += f->is_laced ? f->nv : 1)
    wk_unlace(t->e, f->is_laced ? f->nv : 1, f->acc + k, acc + k);
}

/* Vectors from `first` on (i64), exactly, in a loop. */
static void exact_from(const finish *t, wk_ssa first) {
  wk_llvm *e = t->e;
  const wk_finish *f = t->f;
  LLVMTypeRef type = LLVMTypeOf(f->acc[0]);
  wk_ssa acc[MOST];
  in_order(t, acc);
  wk_ssa memory = wk_llvm_local(e, LLVMArrayType2(type, (uint64_t)f->n)), in[WK_CPU_MAX_OPERANDS];
  int64_t width = e->simd->lanes * 4;
  for (int k = 0; k < f->n; k++) wk_llvm_vstore(e, acc[k], wk_llvm_off(e, memory, k * width), NULL);
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, first, wk_llvm_int(e, f->n), 1, NULL, 0);
  wk_ssa row = wk_llvm_div(e, l.i, f->nv), column = wk_llvm_mod(e, l.i, f->nv), mask = f->mask;
  if (mask && f->nv > 1) {
    wk_ssa is_last = LLVMBuildICmp(e->b, LLVMIntEQ, column, wk_llvm_int(e, f->nv - 1), "");
    wk_ssa inner = wk_llvm_splat(e, LLVMBuildNot(e->b, is_last, ""));
    mask = LLVMBuildOr(e->b, mask, inner, "");
  }
  for (int i = 0; i < f->epi->n_operands; i++) in[i] = load(t, i, row, column, mask);
  LLVMTypeRef element_type = LLVMGetElementType(type);
  wk_ssa at = wk_llvm_at(e, memory, wk_llvm_mul(e, l.i, width));
  wk_ssa y = exact(t, wk_llvm_vload_of(e, element_type, at, NULL), in);
  wk_llvm_vstore(e, y, element(t, -1, row, column), mask);
  wk_llvm_end(e, &l, NULL);
}

static void quick(const finish *t) {
  const wk_finish *f = t->f;
  wk_llvm *e = t->e;
  wk_quick q = {.n = 0};
  LLVMBasicBlockRef again = block(t), done = block(t), from[MOST];
  wk_ssa first[MOST];
  int n_groups = 0;
  for (int k = 0; k < f->n; k += GROUP) {
    wk_ssa v[GROUP], in[WK_CPU_MAX_OPERANDS];
    int n = f->n - k < GROUP ? f->n - k : GROUP;
    LLVMBasicBlockRef next = block(t);
    q.sure = NULL;
    for (int i = 0; i < GROUP; i++) {
      if (i < n) operands(t, k + i, in);
      v[i] = i < n ? f->epi->quick(f->epi->ctx, e, f->acc[k + i], in, &q) : v[0];
    }
    from[n_groups] = LLVMGetInsertBlock(e->b);
    first[n_groups++] = wk_llvm_int(e, k);
    wk_llvm_likely(e, is_full(t, q.sure), next, again);
    LLVMPositionBuilderAtEnd(e->b, next);
    store_group(t, k, n, v);
  }
  LLVMBuildBr(e->b, done);
  LLVMPositionBuilderAtEnd(e->b, again);
  wk_ssa start = LLVMBuildPhi(e->b, e->i64, "");
  LLVMAddIncoming(start, first, from, (unsigned)n_groups);
  exact_from(t, start);
  LLVMBuildBr(e->b, done);
  LLVMPositionBuilderAtEnd(e->b, done);
}

static bool is_invariant(const wk_finish *f) {
  bool all = true;
  for (int i = 0; i < f->epi->n_operands; i++)
    all = all && wk_operand_is_row_invariant(&f->epi->operands[i]);
  return all;
}

/* Operand i of the first row. */
static void load_row(const finish *t, int i, wk_ssa *out) {
  const wk_finish *f = t->f;
  wk_ssa in[WK_CPU_MAX_NV], zero = wk_llvm_int(f->e, 0);
  bool is_laced = f->is_laced && f->epi->operands[i].per_column;
  for (int v = 0; v < f->nv; v++)
    in[v] = load(t, i, zero, wk_llvm_int(f->e, v), v == f->nv - 1 ? f->mask : NULL);
  if (is_laced) wk_lace(f->e, f->nv, in, out);
  else memcpy(out, in, (size_t)f->nv * sizeof *out);
}

void wk_finish_start(const wk_finish *f, wk_ssa *out) {
  finish t = {.f = f, .e = f->e};
  load_row(&t, 0, out);
}

void wk_finish_codegen(const wk_finish *f) {
  wk_finish ordered = *f;
  finish t = {.f = f, .e = f->e};
  wk_ssa in[WK_CPU_MAX_OPERANDS], acc[MOST];
  if (f->is_laced && !(f->epi->quick && is_invariant(f))) {
    in_order(&t, acc);
    ordered.acc = acc;
    ordered.is_laced = false;
    t.f = f = &ordered;
  }
  for (int i = 0; i < f->epi->n_operands; i++)
    if (wk_operand_is_row_invariant(&f->epi->operands[i])) load_row(&t, i, t.shared[i]);
  if (f->epi->quick) {
    quick(&t);
    return;
  }
  for (int k = 0; k < f->n; k++) {
    operands(&t, k, in);
    wk_llvm_vstore(f->e, exact(&t, f->acc[k], in), output(&t, k), mask_of(&t, k));
  }
}
