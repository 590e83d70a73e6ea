/* SPDX-License-Identifier: Apache-2.0
 * Few rows times a matrix whose columns lie in memory one by one, as the keys of an attention do:
 * each column is read once, along k. A vector of columns has as many vectors of partial sums, which
 * a tree of pairwise sums makes one. */
#include "targets/cpu/kernels/gemm.h"

enum { MOST_LANES = 64 };

/* Every second lane of a and b, one behind the other, from lane `first` on. */
static wk_ssa every_second(wk_llvm *e, wk_ssa a, wk_ssa b, int first) {
  int lanes = e->simd->lanes;
  wk_ssa at[MOST_LANES];
  for (int i = 0; i < lanes; i++) at[i] = LLVMConstInt(e->i32, (unsigned)(2 * i + first), 0);
  return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(at, (unsigned)lanes), "");
}

/* Lane j: the sum of the lanes of v[j]. */
static wk_ssa sums_of(wk_llvm *e, wk_ssa *v) {
  for (int n = e->simd->lanes; n > 1; n /= 2)
    for (int i = 0; i < n / 2; i++)
      v[i] = LLVMBuildFAdd(e->b, every_second(e, v[2 * i], v[2 * i + 1], 0),
                           every_second(e, v[2 * i], v[2 * i + 1], 1), "");
  return v[0];
}

static wk_ssa column(wk_llvm *e, const wk_tile_key *key, wk_ssa b, wk_ssa lanes, int j) {
  if (!lanes) return wk_llvm_off(e, b, j * key->b_step);
  wk_ssa last = wk_llvm_sub(e, lanes, wk_llvm_int(e, 1));
  return wk_llvm_at(e, b, wk_llvm_mul(e, wk_llvm_min(e, wk_llvm_int(e, j), last), key->b_step));
}

wk_ssa wk_columns_codegen(wk_llvm *e, const wk_tile_key *key, wk_ssa a, wk_ssa b, wk_ssa kc,
                          wk_ssa lanes, wk_ssa sum) {
  const int n = e->simd->lanes;
  wk_ssa at[MOST_LANES], part[MOST_LANES];
  for (int j = 0; j < n; j++) {
    at[j] = column(e, key, b, lanes, j);
    part[j] = LLVMConstNull(e->vec);
  }
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), kc, n, part, n);
  wk_ssa left = wk_llvm_vload(e, wk_llvm_at(e, a, wk_llvm_mul(e, l.i, 4)), NULL);
  wk_ssa bytes = wk_llvm_mul(e, l.i, wk_dot_b_bytes(&key->types));
  for (int j = 0; j < n; j++) {
    wk_dot_operand right = wk_dot_b(e, &key->types, wk_llvm_at(e, at[j], bytes));
    part[j] = wk_llvm_fma(e, left, right.part[0], l.phi[j]);
  }
  wk_llvm_end(e, &l, part);
  for (int j = 0; j < n; j++) part[j] = l.phi[j];
  return LLVMBuildFAdd(e->b, sum, sums_of(e, part), "");
}
