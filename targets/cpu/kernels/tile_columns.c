/* SPDX-License-Identifier: Apache-2.0
 * Few rows times a matrix whose columns lie in memory one by one, as the keys of an attention do:
 * each column is read once, along k, in the order of memory. It leaves a vector of partial sums for
 * each row; those of as many columns as a vector has lanes become one vector by pairwise sums, as
 * soon as two are there. */
#include "targets/cpu/kernels/gemm.h"

enum { MOST_LANES = 64, UNROLLED = 8 }; /* vectors of a column */

typedef struct {
  wk_llvm *e;
  const wk_tile_key *key;
  wk_ssa a[WK_COLUMNS_ROWS], b, lanes;
} columns;

/* A vector for each row. */
typedef struct {
  wk_ssa of[WK_COLUMNS_ROWS];
} sums;

/* Every second lane of a and b, one behind the other, from lane `first` on. */
static wk_ssa every_second(wk_llvm *e, wk_ssa a, wk_ssa b, int first) {
  int lanes = e->simd->lanes;
  wk_ssa at[MOST_LANES];
  for (int i = 0; i < lanes; i++) at[i] = LLVMConstInt(e->i32, (unsigned)(2 * i + first), 0);
  return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(at, (unsigned)lanes), "");
}

static wk_ssa column(const columns *c, int j) {
  wk_llvm *e = c->e;
  if (!c->lanes) return wk_llvm_off(e, c->b, j * c->key->b_step);
  wk_ssa last = wk_llvm_sub(e, c->lanes, wk_llvm_int(e, 1));
  wk_ssa at = wk_llvm_mul(e, wk_llvm_min(e, wk_llvm_int(e, j), last), c->key->b_step);
  return wk_llvm_at(e, c->b, at);
}

/* Adds `vectors` of the column from vector `at` on. */
static void add_piece(const columns *c, wk_ssa column, wk_ssa at, int vectors, sums *s) {
  wk_llvm *e = c->e;
  const int n = e->simd->lanes, bytes = wk_dot_b_bytes(&c->key->types);
  for (int i = 0; i < vectors; i++) {
    wk_ssa k = wk_llvm_add(e, wk_llvm_mul(e, at, n), wk_llvm_int(e, i * n));
    wk_dot_operand b = wk_dot_b(e, &c->key->types, wk_llvm_at(e, column, wk_llvm_mul(e, k, bytes)));
    for (int r = 0; r < c->key->rows; r++) {
      wk_ssa a = wk_llvm_vload(e, wk_llvm_at(e, c->a[r], wk_llvm_mul(e, k, 4)), NULL);
      s->of[r] = wk_llvm_fma(e, a, b.part[0], s->of[r]);
    }
  }
}

/* Lanes: partial sums of column j. */
static sums of_column(const columns *c, int j) {
  wk_llvm *e = c->e;
  const int vectors = (int)(c->key->k / e->simd->lanes), rest = vectors % UNROLLED;
  wk_ssa at = column(c, j);
  sums s;
  for (int r = 0; r < c->key->rows; r++) s.of[r] = LLVMConstNull(e->vec);
  if (vectors > UNROLLED) {
    wk_llvm_loop l;
    wk_llvm_begin(e, &l, wk_llvm_int(e, 0), wk_llvm_int(e, vectors - rest), UNROLLED, s.of,
                  c->key->rows);
    for (int r = 0; r < c->key->rows; r++) s.of[r] = l.phi[r];
    add_piece(c, at, l.i, UNROLLED, &s);
    wk_llvm_end(e, &l, s.of);
    for (int r = 0; r < c->key->rows; r++) s.of[r] = l.phi[r];
  }
  bool is_rest = vectors > UNROLLED;
  add_piece(c, at, wk_llvm_int(e, is_rest ? vectors - rest : 0), is_rest ? rest : vectors, &s);
  return s;
}

/* n columns from j on: those of each have lanes / n neighbouring lanes. */
static sums of_columns(const columns *c, int j, int n) {
  if (n == 1) return of_column(c, j);
  sums low = of_columns(c, j, n / 2), high = of_columns(c, j + n / 2, n / 2);
  for (int r = 0; r < c->key->rows; r++)
    low.of[r] = LLVMBuildFAdd(c->e->b, every_second(c->e, low.of[r], high.of[r], 0),
                              every_second(c->e, low.of[r], high.of[r], 1), "");
  return low;
}

void wk_columns_codegen(wk_llvm *e, const wk_tile_key *key, const wk_ssa *a, wk_ssa b, wk_ssa lanes,
                        wk_ssa *acc) {
  columns c = {.e = e, .key = key, .b = b, .lanes = lanes};
  for (int r = 0; r < key->rows; r++) c.a[r] = a[r];
  sums s = of_columns(&c, 0, e->simd->lanes);
  for (int r = 0; r < key->rows; r++) acc[r] = LLVMBuildFAdd(e->b, acc[r], s.of[r], "");
}
