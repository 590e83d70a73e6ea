/* SPDX-License-Identifier: Apache-2.0
 * builder: thin helpers over the LLVM-C builder, so that the kernels read like loops over vectors.
 * All addresses are byte offsets from a pointer; all vectors are <simd->lanes x float>. */
#ifndef WICK_CPU_BUILDER_H
#define WICK_CPU_BUILDER_H

#include "targets/cpu/simd.h"

#include <llvm-c/Core.h>

typedef LLVMValueRef wk_ssa; /* a value of the code under construction */

/* Where code goes. Owned by the caller; ctx and mod outlive it. */
typedef struct {
  LLVMContextRef ctx;
  LLVMModuleRef mod;
  LLVMBuilderRef b;
  const wk_simd *simd;
  wk_ssa fn; /* function under construction */
  LLVMTypeRef void_t, f32, i1, i8, i32, i64, ptr, vec, mask;
} wk_llvm;

void wk_llvm_init(wk_llvm *e, LLVMContextRef ctx, LLVMModuleRef mod, const wk_simd *simd);
void wk_llvm_free(wk_llvm *e);

/* A new internal function with the target's attributes (nounwind, no-builtins, cpu, features); the
 * builder is left at its entry block. Returns the function. Wrap it in wk_llvm_save/restore when
 * another function is under construction. */
wk_ssa wk_llvm_function(wk_llvm *e, const char *name, const LLVMTypeRef *params, int n);
/* Ends a void function. */
void wk_llvm_return(wk_llvm *e);
void wk_llvm_attributes(wk_llvm *e, wk_ssa fn);
/* Marks a function that isn't hot: quick code generation, no optimisation, no inlining. */
void wk_llvm_keep_simple(wk_llvm *e, wk_ssa fn);
void wk_llvm_keep_apart(wk_llvm *e, wk_ssa fn); /* never inlined */
typedef struct {
  wk_ssa fn;
  LLVMBasicBlockRef block;
} wk_llvm_place;
wk_llvm_place wk_llvm_save(wk_llvm *e);
void wk_llvm_restore(wk_llvm *e, wk_llvm_place p);
void wk_llvm_call(wk_llvm *e, wk_ssa fn, const wk_ssa *args, int n);

/* ---- scalars and addresses ------------------------------------------------------------------- */

wk_ssa wk_llvm_int(wk_llvm *e, int64_t v);
wk_ssa wk_llvm_add(wk_llvm *e, wk_ssa a, wk_ssa b);
wk_ssa wk_llvm_sub(wk_llvm *e, wk_ssa a, wk_ssa b);
wk_ssa wk_llvm_mul(wk_llvm *e, wk_ssa a, int64_t b);
wk_ssa wk_llvm_div(wk_llvm *e, wk_ssa a, int64_t b); /* unsigned */
wk_ssa wk_llvm_mod(wk_llvm *e, wk_ssa a, int64_t b); /* unsigned */
wk_ssa wk_llvm_min(wk_llvm *e, wk_ssa a, wk_ssa b);  /* signed */
wk_ssa wk_llvm_lt(wk_llvm *e, wk_ssa a, wk_ssa b);   /* signed a < b */
wk_ssa wk_llvm_in(wk_llvm *e, wk_ssa a, int64_t n);  /* 0 <= a < n */
wk_ssa wk_llvm_select(wk_llvm *e, wk_ssa cond, wk_ssa a, wk_ssa b);
wk_ssa wk_llvm_at(wk_llvm *e, wk_ssa p, wk_ssa bytes);
wk_ssa wk_llvm_off(wk_llvm *e, wk_ssa p, int64_t bytes);
wk_ssa wk_llvm_load(wk_llvm *e, LLVMTypeRef type, wk_ssa p);
wk_ssa wk_llvm_load_packed(wk_llvm *e, LLVMTypeRef type, wk_ssa p); /* at any address */
void wk_llvm_store(wk_llvm *e, wk_ssa v, wk_ssa p);
/* Memory of the function under construction, the same each time that this place is reached. */
wk_ssa wk_llvm_local(wk_llvm *e, LLVMTypeRef type);
void wk_llvm_prefetch(wk_llvm *e, wk_ssa p, int locality); /* 3 = all levels, 2 = level 2 */

/* ---- vectors --------------------------------------------------------------------------------- */

wk_ssa wk_llvm_vzero(wk_llvm *e);
wk_ssa wk_llvm_splat(wk_llvm *e, wk_ssa scalar);
/* fma(a, b, c) where the instruction set has it, otherwise a*b + c rounded twice. */
wk_ssa wk_llvm_fma(wk_llvm *e, wk_ssa a, wk_ssa b, wk_ssa c);
/* Mask whose first `n` (i64 value) lanes are on. */
wk_ssa wk_llvm_lanes(wk_llvm *e, wk_ssa n);
/* Element-aligned vector access; mask NULL = all lanes; lanes that are off read as zero. */
wk_ssa wk_llvm_vload(wk_llvm *e, wk_ssa p, wk_ssa mask);
/* The same for a vector of `lanes` elements of another type; stores take any. */
wk_ssa wk_llvm_vload_of(wk_llvm *e, LLVMTypeRef element, wk_ssa p, wk_ssa mask);
void wk_llvm_vstore(wk_llvm *e, wk_ssa v, wk_ssa p, wk_ssa mask);

/* ---- control --------------------------------------------------------------------------------- */

#define WK_LLVM_CARRY 64
/* for (i = start; i < end; i += step) with n loop-carried values. Between begin and end, phi[] are
 * the values of this iteration; wk_llvm_end takes those of the next one and leaves in phi[] what
 * they are after the loop (also when it ran zero times). */
typedef struct {
  LLVMBasicBlockRef before, head, exit;
  wk_ssa i, end, step, init[WK_LLVM_CARRY], phi[WK_LLVM_CARRY];
  int n;
} wk_llvm_loop;
void wk_llvm_begin(wk_llvm *e, wk_llvm_loop *l, wk_ssa start, wk_ssa end, int64_t step,
                   wk_ssa *init, int n);
void wk_llvm_end(wk_llvm *e, wk_llvm_loop *l, wk_ssa *next);

/* A branch that is nearly always taken. */
void wk_llvm_likely(wk_llvm *e, wk_ssa cond, LLVMBasicBlockRef then, LLVMBasicBlockRef other);

/* if (cond) { … } [else { … }] without values. */
typedef struct {
  LLVMBasicBlockRef other, join;
  bool has_else;
} wk_llvm_branch;
void wk_llvm_if(wk_llvm *e, wk_llvm_branch *s, wk_ssa cond);
void wk_llvm_else(wk_llvm *e, wk_llvm_branch *s);
void wk_llvm_endif(wk_llvm *e, wk_llvm_branch *s);

#endif
