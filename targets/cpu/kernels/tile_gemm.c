/* SPDX-License-Identifier: Apache-2.0 */
/* The register tile: rows x nv accumulators stay in registers while k runs. Per k it loads nv panel
 * vectors and one splat value per row. What makes it fast: pointers that are bumped and constant
 * byte offsets from them (no index arithmetic), four k per iteration, no spills (the tile table of
 * the instruction set leaves registers for the panel and the splat). The row pointers come from
 * memory, tap by tap, so a convolution's taps and borders cost nothing in the inner loop. */
#include "targets/cpu/kernels/finish.h"
#include "targets/cpu/kernels/gemm.h"

#include <stdio.h>
#include <string.h>

enum { UNROLL = 4, LINE = 64 };

bool wk_operand_is_row_invariant(const wk_cpu_operand *o) {
  return o->stride[0] == 0 && o->stride[1] == 0 && o->stride[2] == 0;
}

void wk_epilogue_name(const wk_cpu_epilogue *epi, char out[64]) {
  size_t at = (size_t)snprintf(out, 64, "%llx.", (unsigned long long)epi->key);
  for (int i = 0; i < epi->n_operands; i++) {
    const wk_cpu_operand *o = &epi->operands[i];
    out[at++] =
        wk_operand_is_row_invariant(o) ? (o->per_column ? 'c' : 's') : (o->per_column ? 'f' : 'r');
    if (o->dtype != WK_F32) out[at++] = (char)('A' + o->dtype);
  }
  out[at] = '\0';
}

const char *wk_types_name(const wk_cpu_types *t, char out[WK_TYPES_NAME]) {
  snprintf(out, WK_TYPES_NAME, "%s_%s_%s", wk_dtype_name(t->a), wk_dtype_name(t->b),
           wk_dtype_name(t->y));
  return out;
}

typedef struct {
  wk_llvm *e;
  const wk_tile_key *key;
  int n; /* accumulators */
  wk_ssa acc[WK_LLVM_CARRY];
} tile;

static wk_ssa arg(const tile *t, int i) { return LLVMGetParam(t->e->fn, (unsigned)i); }

/* Bytes from one k of B to the next. */
static int64_t b_step(const tile *t) {
  int64_t width = t->e->simd->lanes * wk_dot_b_bytes(&t->key->types);
  return t->key->b == WK_B_ROWS ? t->key->b_step : t->key->nv * width;
}

/* `steps` values of k; p[0..rows) are row pointers, b the panel. */
static void multiply(tile *t, const wk_ssa *p, wk_ssa b, int steps, wk_ssa *acc) {
  wk_llvm *e = t->e;
  const wk_cpu_types *types = &t->key->types;
  int nv = t->key->nv, width = e->simd->lanes * wk_dot_b_bytes(types);
  for (int k = 0; k < steps; k++) {
    wk_dot_operand bv[WK_CPU_MAX_NV];
    for (int v = 0; v < nv; v++)
      bv[v] = wk_dot_b(e, types, wk_llvm_off(e, b, k * b_step(t) + v * width));
    for (int r = 0; r < t->key->rows; r++) {
      wk_dot_operand a = wk_dot_a(e, types, wk_llvm_off(e, p[r], 4 * k));
      for (int v = 0; v < nv; v++)
        acc[r * nv + v] = wk_dot_codegen(e, types, &a, &bv[v], acc[r * nv + v]);
    }
  }
}

/* A loop of `count` iterations of `steps` k each; carried: accumulators, row pointers, panel and
 * (when steps > 1) the prefetch pointer. state = {acc…, p…, b, pf}. */
static void k_loop(tile *t, wk_ssa count, int steps, wk_ssa *state) {
  wk_llvm *e = t->e;
  int rows = t->key->rows, n = t->n + rows + 2;
  wk_llvm_loop l;
  wk_ssa next[WK_LLVM_CARRY];
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), count, 1, state, n);
  memcpy(next, l.phi, (size_t)n * sizeof next[0]);
  multiply(t, l.phi + t->n, l.phi[t->n + rows], steps, next);
  for (int r = 0; r < rows; r++) next[t->n + r] = wk_llvm_off(e, l.phi[t->n + r], 4 * steps);
  next[n - 2] = wk_llvm_off(e, l.phi[n - 2], steps * b_step(t));
  if (steps > 1) {
    for (int i = 0; i < steps / 2; i++)
      wk_llvm_prefetch(e, wk_llvm_off(e, l.phi[n - 1], i * LINE), 2);
    next[n - 1] = wk_llvm_off(e, l.phi[n - 1], LINE * steps / 2);
  }
  wk_llvm_end(e, &l, next);
  memcpy(state, l.phi, (size_t)n * sizeof state[0]);
}

static void accumulate(tile *t) {
  wk_llvm *e = t->e;
  int rows = t->key->rows, n = t->n;
  wk_ssa carried[WK_LLVM_CARRY], state[WK_LLVM_CARRY];
  memcpy(carried, t->acc, (size_t)n * sizeof carried[0]);
  carried[n] = arg(t, WK_TILE_ATAB);
  carried[n + 1] = arg(t, WK_TILE_B);
  carried[n + 2] = arg(t, WK_TILE_PF);
  wk_ssa kc = arg(t, WK_TILE_KC);
  wk_ssa quads = LLVMBuildLShr(e->b, kc, wk_llvm_int(e, 2), "");
  wk_ssa rest = LLVMBuildAnd(e->b, kc, wk_llvm_int(e, UNROLL - 1), "");
  wk_ssa fetches_a = LLVMBuildIsNull(e->b, arg(t, WK_TILE_PF), "");
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), arg(t, WK_TILE_TAPS), 1, carried, n + 3);
  memcpy(state, l.phi, (size_t)n * sizeof state[0]);
  for (int r = 0; r < rows; r++) {
    wk_ssa p = wk_llvm_load(e, e->ptr, wk_llvm_off(e, l.phi[n], 8 * r));
    state[n + r] = wk_llvm_at(e, p, arg(t, WK_TILE_AOFF));
  }
  wk_ssa ahead = wk_llvm_load(e, e->ptr, wk_llvm_at(e, l.phi[n], arg(t, WK_TILE_ANEXT)));
  ahead = wk_llvm_at(e, ahead, arg(t, WK_TILE_AOFF));
  state[n + rows] = l.phi[n + 1];
  state[n + rows + 1] = wk_llvm_select(e, fetches_a, ahead, l.phi[n + 2]);
  k_loop(t, quads, UNROLL, state);
  k_loop(t, rest, 1, state);
  memcpy(carried, state, (size_t)n * sizeof carried[0]);
  carried[n] = wk_llvm_at(e, l.phi[n], arg(t, WK_TILE_ASTEP));
  carried[n + 1] = state[n + rows];
  carried[n + 2] = state[n + rows + 1];
  wk_llvm_end(e, &l, carried);
  memcpy(t->acc, l.phi, (size_t)n * sizeof carried[0]);
}

/* `steps` values of k, whose pointers lie at `table`. */
static void multiply_by_k(tile *t, wk_ssa table, wk_ssa b, int steps, wk_ssa *acc) {
  wk_llvm *e = t->e;
  const wk_cpu_types *types = &t->key->types;
  int nv = t->key->nv, width = e->simd->lanes * wk_dot_b_bytes(types);
  for (int k = 0; k < steps; k++) {
    wk_ssa p = wk_llvm_load(e, e->ptr, wk_llvm_off(e, table, 8 * k));
    p = wk_llvm_at(e, p, arg(t, WK_TILE_AOFF));
    wk_dot_operand bv[WK_CPU_MAX_NV];
    for (int v = 0; v < nv; v++)
      bv[v] = wk_dot_b(e, types, wk_llvm_off(e, b, (k * nv + v) * width));
    for (int r = 0; r < t->key->rows; r++) {
      wk_dot_operand a = wk_dot_a(e, types, wk_llvm_off(e, p, 4 * r));
      for (int v = 0; v < nv; v++)
        acc[r * nv + v] = wk_dot_codegen(e, types, &a, &bv[v], acc[r * nv + v]);
    }
  }
}

/* state = {acc…, table, b, pf}. */
static void loop_by_k(tile *t, wk_ssa count, int steps, wk_ssa *state) {
  wk_llvm *e = t->e;
  int n = t->n;
  int64_t k_bytes = (int64_t)t->key->nv * e->simd->lanes * wk_dot_b_bytes(&t->key->types);
  wk_llvm_loop l;
  wk_ssa next[WK_LLVM_CARRY];
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), count, 1, state, n + 3);
  memcpy(next, l.phi, (size_t)n * sizeof next[0]);
  multiply_by_k(t, l.phi[n], l.phi[n + 1], steps, next);
  next[n] = wk_llvm_off(e, l.phi[n], 8 * steps);
  next[n + 1] = wk_llvm_off(e, l.phi[n + 1], steps * k_bytes);
  next[n + 2] = l.phi[n + 2];
  for (int k = 0; k < steps; k++) {
    wk_llvm_prefetch(e, next[n + 2], 2);
    next[n + 2] = wk_llvm_at(e, next[n + 2], arg(t, WK_TILE_ANEXT));
  }
  wk_llvm_end(e, &l, next);
  memcpy(state, l.phi, (size_t)(n + 3) * sizeof state[0]);
}

static void accumulate_by_k(tile *t) {
  wk_llvm *e = t->e;
  wk_ssa state[WK_LLVM_CARRY], kc = arg(t, WK_TILE_KC);
  memcpy(state, t->acc, (size_t)t->n * sizeof state[0]);
  state[t->n] = arg(t, WK_TILE_ATAB);
  state[t->n + 1] = arg(t, WK_TILE_B);
  state[t->n + 2] = arg(t, WK_TILE_PF);
  loop_by_k(t, LLVMBuildLShr(e->b, kc, wk_llvm_int(e, 2), ""), UNROLL, state);
  loop_by_k(t, LLVMBuildAnd(e->b, kc, wk_llvm_int(e, UNROLL - 1), ""), 1, state);
  memcpy(t->acc, state, (size_t)t->n * sizeof state[0]);
}

static void accumulate_columns(tile *t) {
  wk_llvm *e = t->e;
  wk_ssa a[WK_COLUMNS_ROWS];
  for (int r = 0; r < t->key->rows; r++) {
    wk_ssa row = wk_llvm_load(e, e->ptr, wk_llvm_off(e, arg(t, WK_TILE_ATAB), 8 * r));
    a[r] = wk_llvm_at(e, row, arg(t, WK_TILE_AOFF));
  }
  wk_columns_codegen(e, t->key, a, arg(t, WK_TILE_B),
                     t->key->masked ? arg(t, WK_TILE_LANES) : NULL, t->acc);
}

static wk_ssa times(wk_llvm *e, wk_ssa a, wk_ssa b) {
  return LLVMIsAConstantInt(b) ? wk_llvm_mul(e, a, LLVMConstIntGetSExtValue(b))
                               : LLVMBuildMul(e->b, a, b, "");
}

static wk_ssa row_address(tile *t, int pair, wk_ssa row) {
  wk_llvm *e = t->e;
  wk_ssa base = arg(t, pair), ld = arg(t, pair + 1);
  if (!t->key->row_table) return wk_llvm_at(e, base, times(e, ld, row));
  wk_ssa entry = wk_llvm_at(e, ld, wk_llvm_mul(e, row, 8));
  return wk_llvm_at(e, base, wk_llvm_load(e, e->i64, entry));
}

wk_ssa wk_operand_load(wk_llvm *e, const wk_cpu_operand *o, wk_ssa at, wk_ssa mask) {
  LLVMTypeRef element = wk_memory_element(e, o->dtype);
  wk_ssa v = o->per_column ? wk_llvm_vload_of(e, element, at, mask)
                           : wk_llvm_splat(e, wk_llvm_load(e, element, at));
  return wk_from_memory(e, o->dtype, e->simd->lanes, v);
}

static wk_ssa finish_address(void *ctx, int operand, wk_ssa row) {
  tile *t = ctx;
  if (operand >= 0 && wk_operand_is_row_invariant(&t->key->epi->operands[operand]))
    return arg(t, WK_TILE_OPS + 2 * operand); /* it has no table */
  return row_address(t, operand < 0 ? WK_TILE_Y : WK_TILE_OPS + 2 * operand, row);
}

static wk_finish finish_of(tile *t) {
  wk_llvm *e = t->e;
  return (wk_finish){.e = e,
                     .epi = t->key->epi,
                     .type = t->key->types.y,
                     .n = t->n,
                     .nv = t->key->nv,
                     .acc = t->acc,
                     .mask = t->key->masked ? wk_llvm_lanes(e, arg(t, WK_TILE_LANES)) : NULL,
                     .address = finish_address,
                     .ctx = t};
}

static void finish(tile *t) {
  wk_finish f = finish_of(t);
  wk_finish_codegen(&f);
}

/* The panel's heads and what the epilogue wants sums to start from, or zero; or the partial sums of
 * the blocks of k before. */
static void start(tile *t) {
  wk_llvm *e = t->e;
  const wk_cpu_types *types = &t->key->types;
  int nv = t->key->nv, width = e->simd->lanes * 4;
  LLVMTypeRef sum = wk_dot_accumulator(e, types), element = LLVMGetElementType(sum);
  wk_ssa head[WK_CPU_MAX_NV] = {NULL};
  for (int v = 0; v < nv && wk_dot_heads(e->simd, types); v++)
    head[v] =
        wk_llvm_vload_of(e, element, wk_llvm_off(e, arg(t, WK_TILE_B), (v - nv) * width), NULL);
  wk_ssa first[WK_CPU_MAX_NV] = {NULL};
  wk_finish f = finish_of(t);
  if (t->key->epi->has_start) wk_finish_start(&f, first);
  for (int v = 0; v < nv; v++) {
    if (first[v] && head[v]) first[v] = LLVMBuildAdd(e->b, first[v], head[v], "");
    if (!first[v]) first[v] = head[v] ? head[v] : LLVMConstNull(sum);
  }
  for (int i = 0; i < t->n; i++) t->acc[i] = first[i % nv];
  if (!t->key->blocked) return;
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(e->b), NULL};
  LLVMBasicBlockRef load = LLVMAppendBasicBlockInContext(e->ctx, e->fn, "");
  LLVMBasicBlockRef join = LLVMAppendBasicBlockInContext(e->ctx, e->fn, "");
  wk_ssa bit = LLVMBuildAnd(e->b, arg(t, WK_TILE_FLAGS), wk_llvm_int(e, 1), "");
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, bit, wk_llvm_int(e, 0), ""), load, join);
  LLVMPositionBuilderAtEnd(e->b, load);
  from[1] = load;
  wk_ssa sums[WK_LLVM_CARRY];
  for (int i = 0; i < t->n; i++)
    sums[i] = wk_llvm_vload_of(e, element, wk_llvm_off(e, arg(t, WK_TILE_PART), i * width), NULL);
  for (int i = 0; i < t->n && t->key->own_heads && head[0]; i++)
    sums[i] = LLVMBuildAdd(e->b, sums[i], head[i % nv], "");
  LLVMBuildBr(e->b, join);
  LLVMPositionBuilderAtEnd(e->b, join);
  for (int i = 0; i < t->n; i++) {
    wk_ssa in[2] = {t->acc[i], sums[i]};
    t->acc[i] = LLVMBuildPhi(e->b, sum, "");
    LLVMAddIncoming(t->acc[i], in, from, 2);
  }
}

/* Brings in the lines that the epilogue will read and write, while k runs. */
static void prefetch_output(tile *t) {
  wk_llvm *e = t->e;
  for (int r = 0; r < t->key->rows; r++) {
    for (int i = -1; i < t->key->epi->n_operands; i++) {
      const wk_cpu_operand *o = i < 0 ? NULL : &t->key->epi->operands[i];
      if (o && (!o->per_column || wk_operand_is_row_invariant(o))) continue;
      wk_ssa at = finish_address(t, i, wk_llvm_int(e, r));
      int bytes = t->key->nv * e->simd->lanes * wk_dtype_size(o ? o->dtype : t->key->types.y);
      for (int k = 0; k < bytes; k += LINE) wk_llvm_prefetch(e, wk_llvm_off(e, at, k), 3);
    }
  }
}

static void store_partial(tile *t) {
  for (int i = 0; i < t->n; i++)
    wk_llvm_vstore(t->e, t->acc[i],
                   wk_llvm_off(t->e, arg(t, WK_TILE_PART), i * t->e->simd->lanes * 4), NULL);
}

static wk_ssa new_function(wk_llvm *e, const wk_tile_key *key, const char *name) {
  LLVMTypeRef types[WK_TILE_MAX_ARGS];
  int n = WK_TILE_OPS + 2 * key->epi->n_operands;
  for (int i = 0; i < n; i++) types[i] = e->i64;
  types[WK_TILE_ATAB] = types[WK_TILE_B] = types[WK_TILE_PF] = types[WK_TILE_PART] = e->ptr;
  for (int i = WK_TILE_Y; i < n; i += 2) {
    types[i] = e->ptr;
    if (key->row_table) types[i + 1] = e->ptr;
  }
  wk_ssa fn = wk_llvm_function(e, name, types, n);
  unsigned noalias = LLVMGetEnumAttributeKindForName("noalias", 7);
  const int exclusive[] = {WK_TILE_ATAB, WK_TILE_B, WK_TILE_PART};
  for (size_t i = 0; i < WK_COUNTOF(exclusive); i++)
    LLVMAddAttributeAtIndex(fn, (unsigned)exclusive[i] + 1,
                            LLVMCreateEnumAttribute(e->ctx, noalias, 0));
  wk_llvm_keep_apart(e, fn);
  return fn;
}

wk_ssa wk_tile_codegen(wk_llvm *e, const wk_tile_key *key) {
  char name[160], epi[64], types[WK_TYPES_NAME];
  wk_epilogue_name(key->epi, epi);
  char place[48] = "";
  if (key->b == WK_B_ROWS || key->b == WK_B_COLUMNS)
    snprintf(place, sizeof place, ".%c%lld.%lld", key->b == WK_B_ROWS ? 'r' : 'c',
             (long long)key->b_step, (long long)key->k);
  snprintf(name, sizeof name, "wk.tile.%s.%s.%dx%d%s%s%s%s%s%s.%s", e->simd->name,
           wk_types_name(&key->types, types), key->rows, key->nv, key->blocked ? "b" : "",
           key->masked ? "m" : "", key->row_table ? "t" : "", key->own_heads ? "h" : "",
           key->by_k ? "k" : "", place, epi);
  wk_ssa fn = LLVMGetNamedFunction(e->mod, name);
  if (fn) return fn;
  wk_llvm_place before = wk_llvm_save(e);
  fn = new_function(e, key, name);
  tile t = {.e = e, .key = key, .n = key->rows * key->nv};
  start(&t);
  if (!key->by_k) prefetch_output(&t);
  if (key->by_k) accumulate_by_k(&t);
  else if (key->b == WK_B_COLUMNS) accumulate_columns(&t);
  else accumulate(&t);
  if (key->blocked) {
    wk_llvm_branch b;
    wk_ssa bit = LLVMBuildAnd(e->b, arg(&t, WK_TILE_FLAGS), wk_llvm_int(e, 2), "");
    wk_llvm_if(e, &b, LLVMBuildICmp(e->b, LLVMIntNE, bit, wk_llvm_int(e, 0), ""));
    store_partial(&t);
    wk_llvm_else(e, &b);
    finish(&t);
    wk_llvm_endif(e, &b);
  } else {
    finish(&t);
  }
  wk_llvm_return(e);
  wk_llvm_restore(e, before);
  return fn;
}
