/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, loads and stores of a statement's operands, and the walk along its vector dim. */
#include "targets/cpu/nest/nest.h"

#include <stdlib.h>

#include "targets/cpu/expr/expr_codegen.h"

void wk_nest_step(wk_nest_at *at, int dim, wk_ssa i) {
  const wk_nest_statement *s = at->s;
  wk_ssa *base = wk_arena_alloc(at->arena, s->n_operands * sizeof *base);
  const wk_nest_dim *d = &s->dim[dim];
  if (d->listed)
    i = wk_llvm_load(at->e, at->e->i64,
                     wk_llvm_at(at->e, at->rows[d->limit - 1], wk_llvm_mul(at->e, i, 8)));
  for (uint32_t k = 0; k < s->n_operands; k++)
    base[k] = at->base[k] ? wk_llvm_at(at->e, at->base[k],
                                       wk_llvm_mul(at->e, i, s->operands[k].stride[dim]))
                          : NULL;
  at->base = base;
  if (s->is_indexed)
    at->pos[d->axis] = wk_llvm_add(at->e, at->pos[d->axis], wk_llvm_mul(at->e, i, d->scale));
  if (dim + 1 != s->clip) return;
  wk_ssa left =
      wk_llvm_sub(at->e, wk_llvm_int(at->e, s->clip_of), wk_llvm_mul(at->e, i, s->dim[s->clip].n));
  at->clip = wk_llvm_min(at->e, left, wk_llvm_int(at->e, s->dim[s->clip].n));
}

wk_ssa wk_nest_length(const wk_nest_at *at, int dim) {
  const wk_nest_dim *d = &at->s->dim[dim];
  wk_ssa all = dim == at->s->clip ? at->clip : wk_llvm_int(at->e, d->n);
  return wk_nest_is_limited(at->s, dim) ? wk_llvm_min(at->e, all, at->limits[d->limit - 1]) : all;
}

/* ---- elements -------------------------------------------------------------------------------- */

static wk_ssa address(const wk_nest_at *at, uint32_t k, const wk_nest_place *w, int64_t more) {
  int64_t stride = at->s->vector < 0 ? 0 : at->s->operands[k].stride[at->s->vector];
  wk_ssa p = at->base[k];
  if (w->i) p = wk_llvm_at(at->e, p, wk_llvm_mul(at->e, w->i, stride));
  return wk_llvm_off(at->e, p, (w->more + more) * stride);
}

static wk_ssa reversed(wk_llvm *e, wk_ssa v, int lanes) {
  wk_ssa order[256];
  for (int i = 0; i < lanes; i++) order[i] = LLVMConstInt(e->i32, (unsigned)(lanes - 1 - i), 0);
  wk_ssa mask = LLVMConstVector(order, (unsigned)lanes);
  return LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(LLVMTypeOf(v)), mask, "");
}

static wk_ssa load_at(wk_llvm *e, LLVMTypeRef type, wk_ssa p, int64_t size) {
  wk_ssa v = LLVMBuildLoad2(e->b, type, p, "");
  LLVMSetAlignment(v, (unsigned)size);
  return v;
}

static wk_ssa masked_load(wk_llvm *e, LLVMTypeRef type, wk_ssa p, int64_t size, wk_ssa mask) {
  unsigned id = LLVMLookupIntrinsicID("llvm.masked.load", 16);
  LLVMTypeRef types[] = {type, e->ptr};
  wk_ssa fn = LLVMGetIntrinsicDeclaration(e->mod, id, types, 2);
  wk_ssa args[] = {p, LLVMConstInt(e->i32, (unsigned)size, 0), mask, LLVMConstNull(type)};
  return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->ctx, id, types, 2), fn, args, 4, "");
}

static wk_ssa load_raw(const wk_nest_at *at, uint32_t k, const wk_nest_place *w) {
  wk_llvm *e = at->e;
  const wk_nest_operand *o = &at->s->operands[k];
  int64_t size = wk_dtype_size(o->dtype);
  int64_t stride = at->s->vector < 0 ? 0 : o->stride[at->s->vector];
  LLVMTypeRef element = wk_memory_element(e, o->dtype), type = wk_vector_type(element, w->lanes);
  if (stride == 0) return wk_vector_splat(e, w->lanes, load_at(e, element, at->base[k], size));
  if (stride == size && w->mask) return masked_load(e, type, address(at, k, w, 0), size, w->mask);
  if (stride == size) return load_at(e, type, address(at, k, w, 0), size);
  if (stride == -size && w->lanes > 1)
    return reversed(e, load_at(e, type, address(at, k, w, w->lanes - 1), size), w->lanes);
  wk_ssa v = LLVMGetPoison(type), first = address(at, k, w, 0);
  for (int i = 0; i < w->lanes; i++) {
    wk_ssa x = load_at(e, element, wk_llvm_off(e, first, i * stride), size);
    v = LLVMBuildInsertElement(e->b, v, x, LLVMConstInt(e->i32, (unsigned)i, 0), "");
  }
  return v;
}

wk_ssa wk_nest_load(const wk_nest_at *at, uint32_t operand, const wk_nest_place *w) {
  return wk_from_memory(at->e, at->s->operands[operand].dtype, w->lanes, load_raw(at, operand, w));
}

static void store_at(wk_llvm *e, wk_ssa v, wk_ssa p, int64_t size) {
  LLVMSetAlignment(LLVMBuildStore(e->b, v, p), (unsigned)size);
}

static void masked_store(wk_llvm *e, wk_ssa v, wk_ssa p, int64_t size, wk_ssa mask) {
  unsigned id = LLVMLookupIntrinsicID("llvm.masked.store", 17);
  LLVMTypeRef types[] = {LLVMTypeOf(v), e->ptr};
  wk_ssa fn = LLVMGetIntrinsicDeclaration(e->mod, id, types, 2);
  wk_ssa args[] = {v, p, LLVMConstInt(e->i32, (unsigned)size, 0), mask};
  LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->ctx, id, types, 2), fn, args, 4, "");
}

void wk_nest_store(const wk_nest_at *at, uint32_t operand, const wk_nest_place *w, wk_ssa value) {
  wk_llvm *e = at->e;
  const wk_nest_operand *o = &at->s->operands[operand];
  int64_t size = wk_dtype_size(o->dtype);
  int64_t stride = at->s->vector < 0 ? 0 : o->stride[at->s->vector];
  wk_ssa v = wk_to_memory(e, o->dtype, w->lanes, value);
  if (stride == size && w->mask) {
    masked_store(e, v, address(at, operand, w, 0), size, w->mask);
  } else if (stride == size) {
    store_at(e, v, address(at, operand, w, 0), size);
  } else if (stride == -size && w->lanes > 1) {
    store_at(e, reversed(e, v, w->lanes), address(at, operand, w, w->lanes - 1), size);
  } else {
    wk_ssa first = address(at, operand, w, 0);
    for (int i = 0; i < w->lanes; i++) {
      wk_ssa x = LLVMBuildExtractElement(e->b, v, LLVMConstInt(e->i32, (unsigned)i, 0), "");
      store_at(e, x, wk_llvm_off(e, first, i * stride), size);
    }
  }
}

/* ---- the body -------------------------------------------------------------------------------- */

void wk_nest_positions(const wk_nest_at *at, const wk_nest_place *w, wk_ssa *index) {
  wk_llvm *e = at->e;
  const wk_nest_statement *s = at->s;
  for (int a = 0; a < WK_MAX_RANK; a++) index[a] = wk_vector_splat(e, w->lanes, at->pos[a]);
  if (s->vector < 0) return;
  const wk_nest_dim *d = &s->dim[s->vector];
  wk_ssa iota[256];
  for (int i = 0; i < w->lanes; i++) iota[i] = wk_llvm_int(e, (w->more + i) * d->scale);
  wk_ssa along = LLVMConstVector(iota, (unsigned)w->lanes);
  wk_ssa from = at->pos[d->axis];
  if (w->i) from = wk_llvm_add(e, from, wk_llvm_mul(e, w->i, d->scale));
  index[d->axis] = LLVMBuildAdd(e->b, wk_vector_splat(e, w->lanes, from), along, "");
}

void wk_nest_body(const wk_nest_at *at, const wk_nest_place *w, wk_ssa *results) {
  const wk_nest_statement *s = at->s;
  wk_ssa index[WK_MAX_RANK];
  wk_ssa *inputs = wk_xcalloc(s->n_operands - s->n_out, sizeof *inputs);
  for (uint32_t k = s->n_out; k < s->n_operands; k++)
    if (at->base[k]) inputs[k - s->n_out] = wk_nest_load(at, k, w);
  if (s->is_indexed) wk_nest_positions(at, w, index);
  wk_expr_codegen(at->e, s->body, NULL, w->lanes, inputs, index, results);
  free(inputs);
}

bool wk_nest_can_mask(const wk_llvm *e, const wk_nest_statement *s) {
  if (!e->simd->has_masks || s->vector < 0 || s->lanes == 1) return false;
  for (uint32_t k = 0; k < s->n_operands; k++) {
    const wk_nest_operand *o = &s->operands[k];
    if (o->dtype == WK_DTYPE_NONE || (s->dim[s->vector].reduced && k < s->n_out)) continue;
    int64_t stride = o->stride[s->vector];
    if (stride != wk_dtype_size(o->dtype) && (stride != 0 || k < s->n_out)) return false;
  }
  return true;
}

wk_ssa wk_nest_first_lanes(wk_llvm *e, int lanes, wk_ssa n) {
  wk_ssa iota[256];
  LLVMTypeRef word = lanes > 16 ? e->i8 : e->i32;
  for (int i = 0; i < lanes; i++) iota[i] = LLVMConstInt(word, (unsigned)i, 0);
  wk_ssa limit = wk_vector_splat(e, lanes, LLVMBuildTrunc(e->b, n, word, ""));
  return LLVMBuildICmp(e->b, LLVMIntULT, LLVMConstVector(iota, (unsigned)lanes), limit, "");
}

wk_ssa wk_nest_rounded_down(wk_llvm *e, wk_ssa n, int64_t step) {
  return wk_llvm_mul(e, wk_llvm_div(e, n, step), step);
}

void wk_nest_walk_range(wk_nest_at *at, wk_ssa from, wk_ssa to, int lanes, int n,
                        wk_nest_group emit, void *ctx) {
  wk_nest_place places[16];
  wk_llvm_loop l;
  wk_llvm_begin(at->e, &l, from, to, (int64_t)lanes * n, NULL, 0);
  for (int u = 0; u < n; u++)
    places[u] = (wk_nest_place){.i = l.i, .more = (int64_t)u * lanes, .lanes = lanes};
  emit(at, places, n, ctx);
  wk_llvm_end(at->e, &l, NULL);
}

/* Bodies in flight: short ones hide latency in groups, long ones run out of registers, gathers are
 * long as it is. */
static int unroll_of(const wk_llvm *e, const wk_nest_statement *s) {
  int cost = wk_expr_cost(s->body);
  for (uint32_t k = 0; k < s->n_operands && s->vector >= 0; k++) {
    bool stored = k >= s->n_out || !s->dim[s->vector].reduced;
    int64_t stride = s->operands[k].stride[s->vector], size = wk_dtype_size(s->operands[k].dtype);
    if (stored && stride != 0 && stride != size && stride != -size) return 1;
  }
  if (cost <= 8) return 4;
  return cost <= (e->simd->registers >= 32 ? 32 : 12) ? 2 : 1;
}

void wk_nest_walk(wk_nest_at *at, wk_nest_group emit, void *ctx) {
  wk_llvm *e = at->e;
  const wk_nest_statement *s = at->s;
  if (s->vector < 0) {
    wk_nest_place one = {.lanes = 1};
    emit(at, &one, 1, ctx);
    return;
  }
  int64_t n = s->dim[s->vector].n;
  int unroll = unroll_of(e, s);
  bool clipped = s->vector == s->clip && s->clip_of % n != 0;
  bool known = !clipped && !wk_nest_is_limited(s, s->vector);
  wk_ssa length = known ? wk_llvm_int(e, n) : wk_nest_length(at, s->vector);
  while (unroll > 1 && (int64_t)unroll * s->lanes > n) unroll /= 2;
  wk_ssa done = wk_llvm_int(e, 0);
  for (; unroll >= 1; unroll = unroll > 1 ? 1 : 0) {
    int64_t step = (int64_t)unroll * s->lanes;
    if (n < step) continue;
    wk_ssa to = wk_nest_rounded_down(e, length, step);
    bool runs = !known || LLVMConstIntGetSExtValue(to) > LLVMConstIntGetSExtValue(done);
    if (runs) wk_nest_walk_range(at, done, to, s->lanes, unroll, emit, ctx);
    done = to;
  }
  if (s->lanes == 1 || (known && n % s->lanes == 0)) return;
  if (!wk_nest_can_mask(e, s)) {
    wk_nest_walk_range(at, done, length, 1, 1, emit, ctx);
    return;
  }
  wk_ssa rest = wk_llvm_sub(e, length, done);
  wk_nest_place tail = {
      .i = done, .lanes = s->lanes, .mask = wk_nest_first_lanes(e, s->lanes, rest)};
  wk_llvm_branch some;
  if (!known) wk_llvm_if(e, &some, wk_llvm_lt(e, done, length));
  emit(at, &tail, 1, ctx);
  if (!known) wk_llvm_endif(e, &some);
}
