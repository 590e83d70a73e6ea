/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/llvm/builder.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

void wk_llvm_init(wk_llvm *e, LLVMContextRef ctx, LLVMModuleRef mod, const wk_simd *simd) {
  *e = (wk_llvm){.ctx = ctx, .mod = mod, .simd = simd, .b = LLVMCreateBuilderInContext(ctx)};
  e->void_t = LLVMVoidTypeInContext(ctx);
  e->f32 = LLVMFloatTypeInContext(ctx);
  e->i1 = LLVMInt1TypeInContext(ctx);
  e->i8 = LLVMInt8TypeInContext(ctx);
  e->i32 = LLVMInt32TypeInContext(ctx);
  e->i64 = LLVMInt64TypeInContext(ctx);
  e->ptr = LLVMPointerTypeInContext(ctx, 0);
  e->vec = LLVMVectorType(e->f32, (unsigned)simd->lanes);
  e->mask = LLVMVectorType(e->i1, (unsigned)simd->lanes);
}

void wk_llvm_free(wk_llvm *e) {
  if (e->b) LLVMDisposeBuilder(e->b);
  e->b = NULL;
}

static void string_attribute(wk_llvm *e, wk_ssa fn, const char *key, const char *value) {
  LLVMAttributeRef a =
      LLVMCreateStringAttribute(e->ctx, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

static void enum_attribute(wk_llvm *e, wk_ssa fn, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(e->ctx, kind, 0));
}

void wk_llvm_keep_apart(wk_llvm *e, wk_ssa fn) { enum_attribute(e, fn, "noinline"); }

void wk_llvm_keep_simple(wk_llvm *e, wk_ssa fn) {
  wk_llvm_keep_apart(e, fn);
  enum_attribute(e, fn, "optnone");
}

void wk_llvm_attributes(wk_llvm *e, wk_ssa fn) {
  enum_attribute(e, fn, "nounwind");
  string_attribute(e, fn, "no-builtins", "");
  string_attribute(e, fn, "target-cpu", e->simd->cpu);
  string_attribute(e, fn, "tune-cpu", e->simd->tune);
  if (e->simd->features[0]) string_attribute(e, fn, "target-features", e->simd->features);
  string_attribute(e, fn, "prefer-vector-width", e->simd->vector_width);
  string_attribute(e, fn, "min-legal-vector-width", e->simd->vector_width);
}

wk_ssa wk_llvm_function(wk_llvm *e, const char *name, const LLVMTypeRef *params, int n) {
  LLVMTypeRef type = LLVMFunctionType(e->void_t, (LLVMTypeRef *)params, (unsigned)n, 0);
  e->fn = LLVMAddFunction(e->mod, name, type);
  LLVMSetLinkage(e->fn, LLVMInternalLinkage);
  wk_llvm_attributes(e, e->fn);
  LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->ctx, e->fn, ""));
  return e->fn;
}

void wk_llvm_return(wk_llvm *e) { LLVMBuildRetVoid(e->b); }

wk_llvm_place wk_llvm_save(wk_llvm *e) {
  return (wk_llvm_place){e->fn, e->fn ? LLVMGetInsertBlock(e->b) : NULL};
}

void wk_llvm_restore(wk_llvm *e, wk_llvm_place p) {
  e->fn = p.fn;
  if (p.block) LLVMPositionBuilderAtEnd(e->b, p.block);
}

void wk_llvm_call(wk_llvm *e, wk_ssa fn, const wk_ssa *args, int n) {
  LLVMBuildCall2(e->b, LLVMGlobalGetValueType(fn), fn, (wk_ssa *)args, (unsigned)n, "");
}

/* ---- scalars and addresses ------------------------------------------------------------------- */

wk_ssa wk_llvm_int(wk_llvm *e, int64_t v) { return LLVMConstInt(e->i64, (uint64_t)v, 1); }

static bool is_int(wk_ssa v, int64_t x) {
  return LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) == x;
}

wk_ssa wk_llvm_add(wk_llvm *e, wk_ssa a, wk_ssa b) {
  if (is_int(a, 0)) return b;
  return is_int(b, 0) ? a : LLVMBuildAdd(e->b, a, b, "");
}

wk_ssa wk_llvm_sub(wk_llvm *e, wk_ssa a, wk_ssa b) {
  return is_int(b, 0) ? a : LLVMBuildSub(e->b, a, b, "");
}

wk_ssa wk_llvm_mul(wk_llvm *e, wk_ssa a, int64_t b) {
  if (b == 0) return wk_llvm_int(e, 0);
  if (b == 1) return a;
  if (b > 0 && (b & (b - 1)) == 0)
    return LLVMBuildShl(e->b, a, wk_llvm_int(e, __builtin_ctzll((uint64_t)b)), "");
  return LLVMBuildMul(e->b, a, wk_llvm_int(e, b), "");
}

wk_ssa wk_llvm_div(wk_llvm *e, wk_ssa a, int64_t b) {
  return b == 1 ? a : LLVMBuildUDiv(e->b, a, wk_llvm_int(e, b), "");
}

wk_ssa wk_llvm_mod(wk_llvm *e, wk_ssa a, int64_t b) {
  return b == 1 ? wk_llvm_int(e, 0) : LLVMBuildURem(e->b, a, wk_llvm_int(e, b), "");
}

wk_ssa wk_llvm_lt(wk_llvm *e, wk_ssa a, wk_ssa b) {
  return LLVMBuildICmp(e->b, LLVMIntSLT, a, b, "");
}

wk_ssa wk_llvm_min(wk_llvm *e, wk_ssa a, wk_ssa b) {
  return LLVMBuildSelect(e->b, wk_llvm_lt(e, a, b), a, b, "");
}

wk_ssa wk_llvm_in(wk_llvm *e, wk_ssa a, int64_t n) {
  return LLVMBuildICmp(e->b, LLVMIntULT, a, wk_llvm_int(e, n), "");
}

wk_ssa wk_llvm_select(wk_llvm *e, wk_ssa cond, wk_ssa a, wk_ssa b) {
  return LLVMBuildSelect(e->b, cond, a, b, "");
}

wk_ssa wk_llvm_at(wk_llvm *e, wk_ssa p, wk_ssa bytes) {
  return is_int(bytes, 0) ? p : LLVMBuildGEP2(e->b, e->i8, p, &bytes, 1, "");
}

wk_ssa wk_llvm_off(wk_llvm *e, wk_ssa p, int64_t bytes) {
  return wk_llvm_at(e, p, wk_llvm_int(e, bytes));
}

wk_ssa wk_llvm_load(wk_llvm *e, LLVMTypeRef type, wk_ssa p) {
  wk_ssa v = LLVMBuildLoad2(e->b, type, p, "");
  if (type == e->f32 || type == e->i32) LLVMSetAlignment(v, 4);
  return v;
}

wk_ssa wk_llvm_load_packed(wk_llvm *e, LLVMTypeRef type, wk_ssa p) {
  wk_ssa v = LLVMBuildLoad2(e->b, type, p, "");
  LLVMSetAlignment(v, 1);
  return v;
}

void wk_llvm_store(wk_llvm *e, wk_ssa v, wk_ssa p) {
  wk_ssa s = LLVMBuildStore(e->b, v, p);
  if (LLVMTypeOf(v) == e->f32) LLVMSetAlignment(s, 4);
}

wk_ssa wk_llvm_local(wk_llvm *e, LLVMTypeRef type) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), entry = LLVMGetEntryBasicBlock(e->fn);
  LLVMPositionBuilderBefore(e->b, LLVMGetFirstInstruction(entry));
  wk_ssa p = LLVMBuildAlloca(e->b, type, "");
  LLVMPositionBuilderAtEnd(e->b, here);
  return p;
}

static wk_ssa intrinsic(wk_llvm *e, const char *name, LLVMTypeRef *types, size_t n_types,
                        wk_ssa *args, unsigned n) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  wk_ssa fn = LLVMGetIntrinsicDeclaration(e->mod, id, types, n_types);
  LLVMTypeRef type = LLVMIntrinsicGetType(e->ctx, id, types, n_types);
  return LLVMBuildCall2(e->b, type, fn, args, n, "");
}

void wk_llvm_prefetch(wk_llvm *e, wk_ssa p, int locality) {
  wk_ssa args[] = {p, LLVMConstInt(e->i32, 0, 0), LLVMConstInt(e->i32, (unsigned)locality, 0),
                   LLVMConstInt(e->i32, 1, 0)};
  intrinsic(e, "llvm.prefetch", &e->ptr, 1, args, 4);
}

/* ---- vectors --------------------------------------------------------------------------------- */

wk_ssa wk_llvm_vzero(wk_llvm *e) { return LLVMConstNull(e->vec); }

wk_ssa wk_llvm_splat(wk_llvm *e, wk_ssa scalar) {
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)e->simd->lanes);
  wk_ssa v =
      LLVMBuildInsertElement(e->b, LLVMGetPoison(type), scalar, LLVMConstInt(e->i32, 0, 0), "");
  LLVMTypeRef index = LLVMVectorType(e->i32, (unsigned)e->simd->lanes);
  return LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(type), LLVMConstNull(index), "");
}

wk_ssa wk_llvm_fma(wk_llvm *e, wk_ssa a, wk_ssa b, wk_ssa c) {
  if (!e->simd->has_fma) return LLVMBuildFAdd(e->b, LLVMBuildFMul(e->b, a, b, ""), c, "");
  wk_ssa args[] = {a, b, c};
  return intrinsic(e, "llvm.fma", &e->vec, 1, args, 3);
}

wk_ssa wk_llvm_lanes(wk_llvm *e, wk_ssa n) {
  wk_ssa iota[64];
  for (int i = 0; i < e->simd->lanes; i++) iota[i] = LLVMConstInt(e->i32, (unsigned)i, 0);
  wk_ssa index = LLVMConstVector(iota, (unsigned)e->simd->lanes);
  wk_ssa limit = wk_llvm_splat(e, LLVMBuildTrunc(e->b, n, e->i32, ""));
  return LLVMBuildICmp(e->b, LLVMIntULT, index, limit, "");
}

static unsigned element_bytes(wk_llvm *e, LLVMTypeRef element) {
  if (LLVMGetTypeKind(element) == LLVMIntegerTypeKind) return LLVMGetIntTypeWidth(element) / 8;
  return element == e->f32 ? 4 : 8;
}

wk_ssa wk_llvm_vload_of(wk_llvm *e, LLVMTypeRef element, wk_ssa p, wk_ssa mask) {
  LLVMTypeRef vec = LLVMVectorType(element, (unsigned)e->simd->lanes);
  unsigned align = element_bytes(e, element);
  if (mask) {
    LLVMTypeRef types[] = {vec, e->ptr};
    wk_ssa args[] = {p, LLVMConstInt(e->i32, align, 0), mask, LLVMConstNull(vec)};
    return intrinsic(e, "llvm.masked.load", types, 2, args, 4);
  }
  wk_ssa v = LLVMBuildLoad2(e->b, vec, p, "");
  LLVMSetAlignment(v, align);
  return v;
}

wk_ssa wk_llvm_vload(wk_llvm *e, wk_ssa p, wk_ssa mask) {
  return wk_llvm_vload_of(e, e->f32, p, mask);
}

void wk_llvm_vstore(wk_llvm *e, wk_ssa v, wk_ssa p, wk_ssa mask) {
  LLVMTypeRef vec = LLVMTypeOf(v);
  unsigned align = element_bytes(e, LLVMGetElementType(vec));
  if (mask) {
    LLVMTypeRef types[] = {vec, e->ptr};
    wk_ssa args[] = {v, p, LLVMConstInt(e->i32, align, 0), mask};
    intrinsic(e, "llvm.masked.store", types, 2, args, 4);
    return;
  }
  LLVMSetAlignment(LLVMBuildStore(e->b, v, p), align);
}

/* ---- control --------------------------------------------------------------------------------- */

static LLVMBasicBlockRef block(wk_llvm *e) {
  return LLVMAppendBasicBlockInContext(e->ctx, e->fn, "");
}

/* A loop ID is a distinct node whose first operand is itself. */
static void disable_unrolling(wk_llvm *e, wk_ssa latch) {
  LLVMMetadataRef text = LLVMMDStringInContext2(e->ctx, "llvm.loop.unroll.disable",
                                                strlen("llvm.loop.unroll.disable"));
  LLVMMetadataRef self = LLVMTemporaryMDNode(e->ctx, NULL, 0);
  LLVMMetadataRef parts[] = {self, LLVMMDNodeInContext2(e->ctx, &text, 1)};
  LLVMMetadataRef node = LLVMMDNodeInContext2(e->ctx, parts, 2);
  LLVMMetadataReplaceAllUsesWith(self, node);
  LLVMSetMetadata(latch, LLVMGetMDKindIDInContext(e->ctx, "llvm.loop", 9),
                  LLVMMetadataAsValue(e->ctx, node));
}

void wk_llvm_begin(wk_llvm *e, wk_llvm_loop *l, wk_ssa start, wk_ssa end, int64_t step,
                   wk_ssa *init, int n) {
  *l = (wk_llvm_loop){.before = LLVMGetInsertBlock(e->b),
                      .head = block(e),
                      .exit = block(e),
                      .end = end,
                      .step = wk_llvm_int(e, step),
                      .n = n};
  LLVMBuildCondBr(e->b, wk_llvm_lt(e, start, end), l->head, l->exit);
  LLVMPositionBuilderAtEnd(e->b, l->head);
  l->i = LLVMBuildPhi(e->b, e->i64, "");
  LLVMAddIncoming(l->i, &start, &l->before, 1);
  for (int k = 0; k < n; k++) {
    l->init[k] = init[k];
    l->phi[k] = LLVMBuildPhi(e->b, LLVMTypeOf(init[k]), "");
    LLVMAddIncoming(l->phi[k], &init[k], &l->before, 1);
  }
}

void wk_llvm_end(wk_llvm *e, wk_llvm_loop *l, wk_ssa *next) {
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b);
  wk_ssa i = LLVMBuildAdd(e->b, l->i, l->step, "");
  wk_ssa br = LLVMBuildCondBr(e->b, wk_llvm_lt(e, i, l->end), l->head, l->exit);
  disable_unrolling(e, br);
  LLVMAddIncoming(l->i, &i, &latch, 1);
  LLVMPositionBuilderAtEnd(e->b, l->exit);
  for (int k = 0; k < l->n; k++) {
    wk_ssa values[] = {l->init[k], next[k]};
    LLVMBasicBlockRef from[] = {l->before, latch};
    LLVMAddIncoming(l->phi[k], &next[k], &latch, 1);
    l->phi[k] = LLVMBuildPhi(e->b, LLVMTypeOf(next[k]), "");
    LLVMAddIncoming(l->phi[k], values, from, 2);
  }
}

void wk_llvm_likely(wk_llvm *e, wk_ssa cond, LLVMBasicBlockRef then, LLVMBasicBlockRef other) {
  wk_ssa br = LLVMBuildCondBr(e->b, cond, then, other);
  LLVMMetadataRef parts[] = {
      LLVMMDStringInContext2(e->ctx, "branch_weights", strlen("branch_weights")),
      LLVMValueAsMetadata(LLVMConstInt(e->i32, 1 << 16, 0)),
      LLVMValueAsMetadata(LLVMConstInt(e->i32, 1, 0))};
  LLVMMetadataRef weights = LLVMMDNodeInContext2(e->ctx, parts, WK_COUNTOF(parts));
  LLVMSetMetadata(br, LLVMGetMDKindIDInContext(e->ctx, "prof", strlen("prof")),
                  LLVMMetadataAsValue(e->ctx, weights));
}

void wk_llvm_if(wk_llvm *e, wk_llvm_branch *s, wk_ssa cond) {
  LLVMBasicBlockRef then = block(e);
  *s = (wk_llvm_branch){.other = block(e), .join = block(e)};
  LLVMBuildCondBr(e->b, cond, then, s->other);
  LLVMPositionBuilderAtEnd(e->b, then);
}

void wk_llvm_else(wk_llvm *e, wk_llvm_branch *s) {
  LLVMBuildBr(e->b, s->join);
  LLVMPositionBuilderAtEnd(e->b, s->other);
  s->has_else = true;
}

void wk_llvm_endif(wk_llvm *e, wk_llvm_branch *s) {
  LLVMBuildBr(e->b, s->join);
  if (!s->has_else) {
    LLVMPositionBuilderAtEnd(e->b, s->other);
    LLVMBuildBr(e->b, s->join);
  }
  LLVMPositionBuilderAtEnd(e->b, s->join);
}
