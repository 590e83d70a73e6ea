/* SPDX-License-Identifier: Apache-2.0 */
/* Run-time packing of B into a panel [k][nv * lanes]. The transposed case (attention's K) goes
 * through square blocks of one vector by one vector: log2(lanes) rounds of a perfect shuffle of all
 * registers transpose a block. */
#include "targets/cpu/rows.h"

#include <stdio.h>
#include <string.h>

enum { SRC, DST, DEPTH, STRIDE, COLUMNS };

static wk_ssa param(wk_emit *e, int i) { return LLVMGetParam(e->fn, (unsigned)i); }

/* Interleaves the low (half 0) or high (half 1) halves of two vectors. */
static wk_ssa zip(wk_emit *e, wk_ssa a, wk_ssa b, int half) {
  int lanes = e->isa->lanes;
  wk_ssa index[64];
  for (int i = 0; i < lanes; i++)
    index[i] = LLVMConstInt(e->i32, (unsigned)(i % 2 * lanes + half * lanes / 2 + i / 2), 0);
  return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(index, (unsigned)lanes), "");
}

static void transpose(wk_emit *e, wk_ssa *v) {
  int lanes = e->isa->lanes;
  for (int step = 1; step < lanes; step *= 2) {
    wk_ssa out[64];
    for (int i = 0; i < lanes / 2; i++)
      for (int half = 0; half < 2; half++) out[2 * i + half] = zip(e, v[i], v[i + lanes / 2], half);
    memcpy(v, out, (size_t)lanes * sizeof out[0]);
  }
}

/* Row of column `j` of the transposed source; columns that don't exist repeat the last one, their
 * sums are never stored. */
static wk_ssa column_at(wk_emit *e, bool masked, wk_ssa j) {
  wk_ssa last = wk_emit_sub(e, param(e, COLUMNS), wk_emit_int(e, 1));
  if (masked) j = wk_emit_min(e, j, last);
  return wk_emit_at(e, param(e, SRC), LLVMBuildMul(e->b, j, param(e, STRIDE), ""));
}

static void pack_transposed(wk_emit *e, int nv, bool masked) {
  int lanes = e->isa->lanes, width = nv * lanes * 4;
  wk_ssa zero = wk_emit_int(e, 0), depth = param(e, DEPTH);
  wk_ssa whole = LLVMBuildAnd(e->b, depth, wk_emit_int(e, -(int64_t)lanes), "");
  wk_emit_loop lv, lk, lj;
  wk_emit_begin(e, &lv, zero, wk_emit_int(e, nv * lanes), lanes, NULL, 0);
  wk_ssa row[64];
  for (int i = 0; i < lanes; i++)
    row[i] = column_at(e, masked, wk_emit_add(e, lv.i, wk_emit_int(e, i)));
  wk_ssa dst = wk_emit_at(e, param(e, DST), wk_emit_mul(e, lv.i, 4));
  wk_emit_begin(e, &lk, zero, whole, lanes, NULL, 0);
  wk_ssa v[64], to = wk_emit_at(e, dst, wk_emit_mul(e, lk.i, width));
  for (int i = 0; i < lanes; i++)
    v[i] = wk_emit_vload(e, wk_emit_at(e, row[i], wk_emit_mul(e, lk.i, 4)), NULL);
  transpose(e, v);
  for (int i = 0; i < lanes; i++) wk_emit_vstore(e, v[i], wk_emit_off(e, to, i * width), NULL);
  wk_emit_end(e, &lk, NULL);
  wk_emit_end(e, &lv, NULL);
  wk_emit_begin(e, &lj, zero, wk_emit_int(e, nv * lanes), 1, NULL, 0);
  wk_ssa src = column_at(e, masked, lj.i);
  dst = wk_emit_at(e, param(e, DST), wk_emit_mul(e, lj.i, 4));
  wk_emit_begin(e, &lk, whole, depth, 1, NULL, 0);
  wk_ssa x = wk_emit_load(e, e->f32, wk_emit_at(e, src, wk_emit_mul(e, lk.i, 4)));
  wk_emit_store(e, x, wk_emit_at(e, dst, wk_emit_mul(e, lk.i, width)));
  wk_emit_end(e, &lk, NULL);
  wk_emit_end(e, &lj, NULL);
}

static void pack_straight(wk_emit *e, int nv, bool masked) {
  int lanes = e->isa->lanes, width = lanes * 4;
  wk_ssa before = wk_emit_int(e, (nv - 1) * lanes);
  wk_ssa mask = masked ? wk_emit_lanes(e, wk_emit_sub(e, param(e, COLUMNS), before)) : NULL;
  wk_ssa from[] = {param(e, SRC), param(e, DST)};
  wk_emit_loop l;
  wk_emit_begin(e, &l, wk_emit_int(e, 0), param(e, DEPTH), 1, from, 2);
  for (int v = 0; v < nv; v++)
    wk_emit_vstore(e,
                   wk_emit_vload(e, wk_emit_off(e, l.phi[0], v * width), v == nv - 1 ? mask : NULL),
                   wk_emit_off(e, l.phi[1], v * width), NULL);
  wk_ssa next[] = {wk_emit_at(e, l.phi[0], param(e, STRIDE)), wk_emit_off(e, l.phi[1], nv * width)};
  wk_emit_end(e, &l, next);
}

wk_ssa wk_pack_emit(wk_emit *e, int nv, bool masked, bool transposed) {
  char name[64];
  snprintf(name, sizeof name, "wk.pack.%s.%d%s%s", e->isa->name, nv, masked ? "m" : "",
           transposed ? "t" : "");
  wk_ssa fn = LLVMGetNamedFunction(e->mod, name);
  if (fn) return fn;
  wk_emit_place place = wk_emit_save(e);
  LLVMTypeRef types[] = {e->ptr, e->ptr, e->i64, e->i64, e->i64};
  fn = wk_emit_function(e, name, types, 5);
  if (transposed)
    pack_transposed(e, nv, masked);
  else
    pack_straight(e, nv, masked);
  wk_emit_return(e);
  wk_emit_restore(e, place);
  return fn;
}
