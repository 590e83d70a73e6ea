/* SPDX-License-Identifier: Apache-2.0 */
/* Run-time packing of B into a panel [words of k][nv * lanes]. The transposed case (attention's K)
 * goes through square blocks of one vector by one vector: log2(lanes) rounds of a perfect shuffle
 * of all registers transpose a block. */
#include "targets/cpu/kernels/rows.h"

#include <stdio.h>
#include <string.h>

enum { SRC, DST, DEPTH, STRIDE, COLUMNS, ELEMENTS, ARGS };

static wk_ssa param(wk_llvm *e, int i) { return LLVMGetParam(e->fn, (unsigned)i); }

/* Interleaves the low (half 0) or high (half 1) halves of two vectors. */
static wk_ssa zip(wk_llvm *e, wk_ssa a, wk_ssa b, int half) {
  int lanes = e->simd->lanes;
  wk_ssa index[64];
  for (int i = 0; i < lanes; i++)
    index[i] = LLVMConstInt(e->i32, (unsigned)(i % 2 * lanes + half * lanes / 2 + i / 2), 0);
  return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(index, (unsigned)lanes), "");
}

static void transpose(wk_llvm *e, wk_ssa *v) {
  int lanes = e->simd->lanes;
  for (int step = 1; step < lanes; step *= 2) {
    wk_ssa out[64];
    for (int i = 0; i < lanes / 2; i++)
      for (int half = 0; half < 2; half++) out[2 * i + half] = zip(e, v[i], v[i + lanes / 2], half);
    memcpy(v, out, (size_t)lanes * sizeof out[0]);
  }
}

/* Row of column `j` of the transposed source; columns that don't exist repeat the last one, their
 * sums are never stored. */
static wk_ssa column_at(wk_llvm *e, bool masked, wk_ssa j) {
  wk_ssa last = wk_llvm_sub(e, param(e, COLUMNS), wk_llvm_int(e, 1));
  if (masked) j = wk_llvm_min(e, j, last);
  return wk_llvm_at(e, param(e, SRC), LLVMBuildMul(e->b, j, param(e, STRIDE), ""));
}

/* ---- narrow floats --------------------------------------------------------------------------- */

/* `lanes` elements at any address. */
static wk_ssa load_floats(wk_llvm *e, wk_dtype t, wk_ssa p, int lanes) {
  LLVMTypeRef type = wk_vector_type(wk_memory_element(e, t), lanes);
  return wk_from_memory(e, t, lanes, wk_llvm_load_packed(e, type, p));
}

static void widen_at(wk_llvm *e, wk_dtype t, int lanes, wk_ssa src, wk_ssa dst) {
  LLVMSetAlignment(LLVMBuildStore(e->b, load_floats(e, t, src, lanes), dst), 4);
}

/* A row: whole vectors, the last of which may begin among those before. */
static void widen_row(wk_llvm *e, wk_dtype t, int64_t n, wk_ssa src, wk_ssa dst) {
  enum { UNROLL = 4 };
  int64_t size = wk_dtype_size(t), at = 0;
  int lanes = e->simd->lanes;
  while (lanes > n) lanes /= 2;
  int64_t group = UNROLL * lanes, whole = n / group * group;
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), wk_llvm_int(e, whole), group, NULL, 0);
  wk_ssa from = wk_llvm_at(e, src, wk_llvm_mul(e, l.i, size));
  wk_ssa to = wk_llvm_at(e, dst, wk_llvm_mul(e, l.i, 4));
  for (int u = 0; u < UNROLL; u++)
    widen_at(e, t, lanes, wk_llvm_off(e, from, u * lanes * size),
             wk_llvm_off(e, to, u * lanes * 4));
  wk_llvm_end(e, &l, NULL);
  for (at = whole; at < n; at += lanes) {
    int64_t first = at + lanes > n ? n - lanes : at;
    widen_at(e, t, lanes, wk_llvm_off(e, src, first * size), wk_llvm_off(e, dst, first * 4));
  }
}

wk_ssa wk_widen_codegen(wk_llvm *e, wk_dtype t, int64_t n) {
  enum { FROM, TO, ROWS, FROM_STEP, TO_STEP, WIDEN_ARGS };
  char name[80];
  snprintf(name, sizeof name, "wk.widen.%s.%s.%lld", e->simd->name, wk_dtype_name(t), (long long)n);
  wk_ssa fn = LLVMGetNamedFunction(e->mod, name);
  if (fn) return fn;
  wk_llvm_place place = wk_llvm_save(e);
  LLVMTypeRef of[] = {e->ptr, e->ptr, e->i64, e->i64, e->i64};
  fn = wk_llvm_function(e, name, of, WIDEN_ARGS);
  wk_llvm_keep_apart(e, fn);
  wk_ssa at[] = {param(e, FROM), param(e, TO)};
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), param(e, ROWS), 1, at, 2);
  widen_row(e, t, n, l.phi[0], l.phi[1]);
  wk_ssa next[] = {wk_llvm_at(e, l.phi[0], param(e, FROM_STEP)),
                   wk_llvm_at(e, l.phi[1], param(e, TO_STEP))};
  wk_llvm_end(e, &l, next);
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return fn;
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* A vector of words at any address, as floats: integers are only moved. */
static wk_ssa load_words(wk_llvm *e, const wk_cpu_types *t, wk_ssa p) {
  if (!wk_cpu_is_float(t)) return wk_llvm_load_packed(e, e->vec, p);
  return load_floats(e, t->b, p, e->simd->lanes);
}

/* Bytes of a word before it is packed. */
static int64_t word_bytes(const wk_cpu_types *t) {
  return wk_dtype_size(t->b) * wk_dot_unit(t);
}

/* Word k of a column; of integers, what lies past the elements is zero. */
static wk_ssa load_word(wk_llvm *e, const wk_cpu_types *t, wk_ssa p, wk_ssa k) {
  if (wk_cpu_is_float(t)) return load_floats(e, t->b, p, 1);
  wk_ssa word = wk_llvm_load_packed(e, e->i32, p);
  wk_ssa left = wk_llvm_sub(e, param(e, ELEMENTS), wk_llvm_mul(e, k, 4));
  left = wk_llvm_min(e, left, wk_llvm_int(e, 4));
  wk_ssa past = LLVMBuildShl(e->b, wk_llvm_int(e, -1), wk_llvm_mul(e, left, 8), "");
  wk_ssa mask = LLVMBuildTrunc(e->b, LLVMBuildNot(e->b, past, ""), e->i32, "");
  return LLVMBuildAnd(e->b, word, mask, "");
}

static void pack_transposed(wk_llvm *e, const wk_cpu_types *t, int nv, bool masked) {
  int lanes = e->simd->lanes, width = nv * lanes * 4;
  int64_t word = word_bytes(t);
  wk_ssa zero = wk_llvm_int(e, 0), depth = param(e, DEPTH);
  wk_ssa full = wk_llvm_div(e, param(e, ELEMENTS), wk_dot_unit(t));
  wk_ssa whole = LLVMBuildAnd(e->b, full, wk_llvm_int(e, -(int64_t)lanes), "");
  wk_llvm_loop lv, lk, lj;
  wk_llvm_begin(e, &lv, zero, wk_llvm_int(e, nv * lanes), lanes, NULL, 0);
  wk_ssa row[64];
  for (int i = 0; i < lanes; i++)
    row[i] = column_at(e, masked, wk_llvm_add(e, lv.i, wk_llvm_int(e, i)));
  wk_ssa dst = wk_llvm_at(e, param(e, DST), wk_llvm_mul(e, lv.i, 4));
  wk_llvm_begin(e, &lk, zero, whole, lanes, NULL, 0);
  wk_ssa v[64], to = wk_llvm_at(e, dst, wk_llvm_mul(e, lk.i, width));
  for (int i = 0; i < lanes; i++)
    v[i] = load_words(e, t, wk_llvm_at(e, row[i], wk_llvm_mul(e, lk.i, word)));
  transpose(e, v);
  for (int i = 0; i < lanes; i++) wk_llvm_vstore(e, v[i], wk_llvm_off(e, to, i * width), NULL);
  wk_llvm_end(e, &lk, NULL);
  wk_llvm_end(e, &lv, NULL);
  wk_llvm_begin(e, &lj, zero, wk_llvm_int(e, nv * lanes), 1, NULL, 0);
  wk_ssa src = column_at(e, masked, lj.i);
  dst = wk_llvm_at(e, param(e, DST), wk_llvm_mul(e, lj.i, 4));
  wk_llvm_begin(e, &lk, whole, depth, 1, NULL, 0);
  wk_ssa x = load_word(e, t, wk_llvm_at(e, src, wk_llvm_mul(e, lk.i, word)), lk.i);
  wk_llvm_store(e, x, wk_llvm_at(e, dst, wk_llvm_mul(e, lk.i, width)));
  wk_llvm_end(e, &lk, NULL);
  wk_llvm_end(e, &lj, NULL);
}

/* A vector of words, each of up to four rows from `src` on; the first `left` of them exist. */
static wk_ssa join_rows(wk_llvm *e, wk_ssa src, wk_ssa left, wk_ssa mask) {
  LLVMTypeRef words = wk_vector_type(e->i32, e->simd->lanes);
  wk_ssa out = LLVMConstNull(words), p = src;
  for (int i = 0; i < 4; i++) {
    wk_ssa exists = wk_llvm_lt(e, wk_llvm_int(e, i), left);
    wk_ssa v = wk_llvm_vload_of(e, e->i8, wk_llvm_select(e, exists, p, src), mask);
    v = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, v, words, ""), wk_vector_int(e, words, 8 * i), "");
    v = wk_llvm_select(e, exists, v, LLVMConstNull(words));
    out = LLVMBuildOr(e->b, out, v, "");
    p = wk_llvm_at(e, p, param(e, STRIDE));
  }
  return out;
}

static wk_ssa load_columns(wk_llvm *e, wk_dtype t, wk_ssa p, wk_ssa mask) {
  wk_ssa v = wk_llvm_vload_of(e, wk_memory_element(e, t), p, mask);
  return wk_from_memory(e, t, e->simd->lanes, v);
}

static void pack_straight(wk_llvm *e, const wk_cpu_types *t, int nv, bool masked) {
  int lanes = e->simd->lanes, width = lanes * 4, unit = wk_dot_unit(t);
  int64_t step = lanes * wk_dtype_size(t->b);
  wk_ssa before = wk_llvm_int(e, (nv - 1) * lanes);
  wk_ssa mask = masked ? wk_llvm_lanes(e, wk_llvm_sub(e, param(e, COLUMNS), before)) : NULL;
  wk_ssa from[] = {param(e, SRC), param(e, DST)};
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), param(e, DEPTH), 1, from, 2);
  wk_ssa left = wk_llvm_sub(e, param(e, ELEMENTS), wk_llvm_mul(e, l.i, unit));
  for (int v = 0; v < nv; v++) {
    wk_ssa src = wk_llvm_off(e, l.phi[0], v * step), m = v == nv - 1 ? mask : NULL;
    wk_ssa x = wk_cpu_is_float(t) ? load_columns(e, t->b, src, m) : join_rows(e, src, left, m);
    wk_llvm_vstore(e, x, wk_llvm_off(e, l.phi[1], v * width), NULL);
  }
  wk_ssa rows = wk_llvm_mul(e, param(e, STRIDE), unit);
  wk_ssa next[] = {wk_llvm_at(e, l.phi[0], rows), wk_llvm_off(e, l.phi[1], nv * width)};
  wk_llvm_end(e, &l, next);
}

static void pack_heads(wk_llvm *e, int nv) {
  int width = e->simd->lanes * 4;
  wk_ssa state[WK_CPU_MAX_NV + 1];
  wk_llvm_loop l;
  for (int v = 0; v < nv; v++) state[v] = LLVMConstNull(wk_vector_type(e->i32, e->simd->lanes));
  state[nv] = param(e, DST);
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), param(e, DEPTH), 1, state, nv + 1);
  for (int v = 0; v < nv; v++) {
    wk_ssa b = wk_llvm_vload_of(e, e->i32, wk_llvm_off(e, l.phi[nv], v * width), NULL);
    state[v] = wk_dot_head(e, b, l.phi[v]);
  }
  state[nv] = wk_llvm_off(e, l.phi[nv], nv * width);
  wk_llvm_end(e, &l, state);
  for (int v = 0; v < nv; v++)
    wk_llvm_vstore(e, l.phi[v], wk_llvm_off(e, param(e, DST), (v - nv) * width), NULL);
}

wk_ssa wk_pack_codegen(wk_llvm *e, const wk_cpu_types *t, int nv, bool masked, bool transposed) {
  char name[80], types[WK_TYPES_NAME];
  snprintf(name, sizeof name, "wk.pack.%s.%s.%d%s%s", e->simd->name, wk_types_name(t, types), nv,
           masked ? "m" : "", transposed ? "t" : "");
  wk_ssa fn = LLVMGetNamedFunction(e->mod, name);
  if (fn) return fn;
  wk_llvm_place place = wk_llvm_save(e);
  LLVMTypeRef of[] = {e->ptr, e->ptr, e->i64, e->i64, e->i64, e->i64};
  fn = wk_llvm_function(e, name, of, ARGS);
  if (transposed)
    pack_transposed(e, t, nv, masked);
  else
    pack_straight(e, t, nv, masked);
  if (wk_dot_heads(e->simd, t)) pack_heads(e, nv);
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return fn;
}
