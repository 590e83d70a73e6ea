/* SPDX-License-Identifier: Apache-2.0
 * emit: thin helpers over the LLVM-C builder, so that the kernels read like loops over vectors.
 * All addresses are byte offsets from a pointer; all vectors are <isa->lanes x float>. */
#ifndef WICK_CPU_EMIT_H
#define WICK_CPU_EMIT_H

#include "targets/cpu/isa.h"

#include <llvm-c/Core.h>

typedef LLVMValueRef wk_ssa; /* a value of the code under construction */

/* Where code goes. Owned by the caller; ctx and mod outlive it. */
typedef struct {
  LLVMContextRef ctx;
  LLVMModuleRef mod;
  LLVMBuilderRef b;
  const wk_cpu_isa *isa;
  wk_ssa fn; /* function under construction */
  LLVMTypeRef void_t, f32, i1, i8, i32, i64, ptr, vec, mask;
} wk_emit;

void wk_emit_init(wk_emit *e, LLVMContextRef ctx, LLVMModuleRef mod, const wk_cpu_isa *isa);
void wk_emit_free(wk_emit *e);

/* A new internal function with the target's attributes (nounwind, no-builtins, cpu, features); the
 * builder is left at its entry block. Returns the function. Wrap it in wk_emit_save/restore when
 * another function is under construction. */
wk_ssa wk_emit_function(wk_emit *e, const char *name, const LLVMTypeRef *params, int n);
/* Ends a void function. */
void wk_emit_return(wk_emit *e);
void wk_emit_attributes(wk_emit *e, wk_ssa fn);
/* Marks a function that isn't hot: quick code generation, no optimisation, no inlining. */
void wk_emit_keep_simple(wk_emit *e, wk_ssa fn);
void wk_emit_keep_apart(wk_emit *e, wk_ssa fn); /* never inlined */
typedef struct {
  wk_ssa fn;
  LLVMBasicBlockRef block;
} wk_emit_place;
wk_emit_place wk_emit_save(wk_emit *e);
void wk_emit_restore(wk_emit *e, wk_emit_place p);
void wk_emit_call(wk_emit *e, wk_ssa fn, const wk_ssa *args, int n);

/* ---- scalars and addresses ------------------------------------------------------------------- */

wk_ssa wk_emit_int(wk_emit *e, int64_t v);
wk_ssa wk_emit_add(wk_emit *e, wk_ssa a, wk_ssa b);
wk_ssa wk_emit_sub(wk_emit *e, wk_ssa a, wk_ssa b);
wk_ssa wk_emit_mul(wk_emit *e, wk_ssa a, int64_t b);
wk_ssa wk_emit_div(wk_emit *e, wk_ssa a, int64_t b); /* unsigned */
wk_ssa wk_emit_mod(wk_emit *e, wk_ssa a, int64_t b); /* unsigned */
wk_ssa wk_emit_min(wk_emit *e, wk_ssa a, wk_ssa b);  /* signed */
wk_ssa wk_emit_lt(wk_emit *e, wk_ssa a, wk_ssa b);   /* signed a < b */
wk_ssa wk_emit_in(wk_emit *e, wk_ssa a, int64_t n);  /* 0 <= a < n */
wk_ssa wk_emit_select(wk_emit *e, wk_ssa cond, wk_ssa a, wk_ssa b);
wk_ssa wk_emit_at(wk_emit *e, wk_ssa p, wk_ssa bytes);
wk_ssa wk_emit_off(wk_emit *e, wk_ssa p, int64_t bytes);
wk_ssa wk_emit_load(wk_emit *e, LLVMTypeRef type, wk_ssa p);
wk_ssa wk_emit_load_packed(wk_emit *e, LLVMTypeRef type, wk_ssa p); /* at any address */
void wk_emit_store(wk_emit *e, wk_ssa v, wk_ssa p);
/* Memory of the function under construction, the same each time that this place is reached. */
wk_ssa wk_emit_local(wk_emit *e, LLVMTypeRef type);
void wk_emit_prefetch(wk_emit *e, wk_ssa p, int locality); /* 3 = all levels, 2 = level 2 */

/* ---- vectors --------------------------------------------------------------------------------- */

wk_ssa wk_emit_vzero(wk_emit *e);
wk_ssa wk_emit_vconst(wk_emit *e, float x);
wk_ssa wk_emit_splat(wk_emit *e, wk_ssa scalar);
/* fma(a, b, c) where the instruction set has it, otherwise a*b + c rounded twice. */
wk_ssa wk_emit_fma(wk_emit *e, wk_ssa a, wk_ssa b, wk_ssa c);
/* Mask whose first `n` (i64 value) lanes are on. */
wk_ssa wk_emit_lanes(wk_emit *e, wk_ssa n);
/* Element-aligned vector access; mask NULL = all lanes; lanes that are off read as zero. */
wk_ssa wk_emit_vload(wk_emit *e, wk_ssa p, wk_ssa mask);
/* The same for a vector of `lanes` elements of another type; stores take any. */
wk_ssa wk_emit_vload_of(wk_emit *e, LLVMTypeRef element, wk_ssa p, wk_ssa mask);
void wk_emit_vstore(wk_emit *e, wk_ssa v, wk_ssa p, wk_ssa mask);

/* ---- control --------------------------------------------------------------------------------- */

#define WK_EMIT_CARRY 64
/* for (i = start; i < end; i += step) with n loop-carried values. Between begin and end, phi[] are
 * the values of this iteration; wk_emit_end takes those of the next one and leaves in phi[] what
 * they are after the loop (also when it ran zero times). */
typedef struct {
  LLVMBasicBlockRef before, head, exit;
  wk_ssa i, end, step, init[WK_EMIT_CARRY], phi[WK_EMIT_CARRY];
  int n;
} wk_emit_loop;
void wk_emit_begin(wk_emit *e, wk_emit_loop *l, wk_ssa start, wk_ssa end, int64_t step,
                   wk_ssa *init, int n);
void wk_emit_end(wk_emit *e, wk_emit_loop *l, wk_ssa *next);

/* A branch that is nearly always taken. */
void wk_emit_likely(wk_emit *e, wk_ssa cond, LLVMBasicBlockRef then, LLVMBasicBlockRef other);

/* if (cond) { … } [else { … }] without values. */
typedef struct {
  LLVMBasicBlockRef other, join;
  bool has_else;
} wk_emit_branch;
void wk_emit_if(wk_emit *e, wk_emit_branch *s, wk_ssa cond);
void wk_emit_else(wk_emit *e, wk_emit_branch *s);
void wk_emit_endif(wk_emit *e, wk_emit_branch *s);

#endif
