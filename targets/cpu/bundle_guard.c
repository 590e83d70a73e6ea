/* SPDX-License-Identifier: Apache-2.0
 * Functions of an object that ask before they run: each that is called from outside becomes one for
 * the least processor of the machine, which calls guard.c and then what it was. */
#include "targets/cpu/bundle.h"

#include <string.h>

#include "runtime/abi.h"
#include "targets/cpu/rare/rare_link.h"

/* ---- what the processor is asked ------------------------------------------------------------- */

enum { EAX, EBX, ECX, EDX };

static const struct {
  const char *name;
  guard_question question;
  uint32_t state;
} features[] = {
#define FEATURE(name, leaf, subleaf, reg, bit, state) \
  {name, {leaf, subleaf, reg, UINT32_C(1) << (bit)}, WICK_STATE_##state},
#include "runtime/features.def"
};

typedef struct {
  uint32_t state;
  uint64_t n;
  guard_question list[GUARD_MOST];
} questions;

static wk_status add_question(questions *q, const char *name) {
  size_t f = 0;
  uint64_t k = 0;
  while (f < WK_COUNTOF(features) && strcmp(features[f].name, name) != 0) f++;
  if (f == WK_COUNTOF(features) || features[f].state == WICK_STATE_AMX)
    return wk_error(WK_INTERNAL, "no object can ask for '%s'", name);
  const guard_question *x = &features[f].question;
  while (k < q->n && (q->list[k].leaf != x->leaf || q->list[k].subleaf != x->subleaf ||
                      q->list[k].reg != x->reg))
    k++;
  if (k == GUARD_MOST) return wk_error(WK_INTERNAL, "too many features");
  if (k == q->n) q->list[q->n++] = (guard_question){x->leaf, x->subleaf, x->reg, 0};
  q->list[k].bits |= x->bits;
  q->state |= features[f].state;
  return NULL;
}

static bool is_arm(const wk_simd *simd) { return strncmp(simd->triple, "aarch64", 7) == 0; }

/* AArch64 has no more than every such processor. */
static wk_status ask_for(const wk_simd *simd, questions *q) {
  *q = (questions){0};
  for (const char *s = is_arm(simd) ? "" : simd->needs; *s;) {
    size_t n = strcspn(s, " ");
    char name[32] = "";
    memcpy(name, s, n < sizeof name ? n : sizeof name - 1);
    WK_TRY(add_question(q, name));
    s += n + (s[n] == ' ');
  }
  return NULL;
}

/* ---- code ------------------------------------------------------------------------------------ */

typedef struct {
  wk_cpu_module *m;
  wk_llvm least; /* as the module's, of the least processor */
  wk_ssa guard;
} guarding;

static wk_ssa number(wk_llvm *e, uint32_t v) { return LLVMConstInt(e->i32, v, 0); }

/* A wk_guard. */
static wk_ssa add_constant(wk_llvm *e, const questions *q, const wk_bundle_weights *w) {
  wk_ssa asked[GUARD_MOST];
  LLVMTypeRef four[] = {e->i32, e->i32, e->i32, e->i32};
  LLVMTypeRef question = LLVMStructTypeInContext(e->ctx, four, 4, 0);
  for (int k = 0; k < GUARD_MOST; k++) {
    const guard_question *x = &q->list[k];
    wk_ssa words[] = {number(e, x->leaf), number(e, x->subleaf), number(e, x->reg),
                      number(e, x->bits)};
    asked[k] = LLVMConstStructInContext(e->ctx, words, 4, 0);
  }
  wk_ssa fields[] = {wk_llvm_int(e, (int64_t)w->bytes), wk_llvm_int(e, (int64_t)w->seal.sum),
                     number(e, WICK_ALIGN),             number(e, q->state),
                     wk_llvm_int(e, (int64_t)q->n),
                     LLVMConstArray2(question, asked, GUARD_MOST)};
  wk_ssa value = LLVMConstStructInContext(e->ctx, fields, WK_COUNTOF(fields), 0);
  wk_ssa global = LLVMAddGlobal(e->mod, LLVMTypeOf(value), "guard");
  LLVMSetInitializer(global, value);
  LLVMSetGlobalConstant(global, 1);
  LLVMSetLinkage(global, LLVMInternalLinkage);
  LLVMSetAlignment(global, 8);
  return global;
}

/* int asks(guard, weights) of guard.c. */
static wk_ssa ask(guarding *g, const char *asks, wk_ssa weights) {
  wk_llvm *e = &g->least;
  LLVMTypeRef params[] = {e->ptr, e->ptr}, type = LLVMFunctionType(e->i32, params, 2, 0);
  wk_ssa fn = LLVMGetNamedFunction(e->mod, asks);
  if (!fn) fn = LLVMAddFunction(e->mod, asks, type);
  return LLVMBuildCall2(e->b, type, fn, (wk_ssa[]){g->guard, weights}, 2, "");
}

static wk_ssa begin_function(guarding *g, const char *name, LLVMTypeRef type) {
  wk_llvm *e = &g->least;
  e->fn = LLVMAddFunction(e->mod, name, type);
  wk_llvm_attributes(e, e->fn);
  LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->ctx, e->fn, ""));
  return e->fn;
}

/* The function gets another name and is called by one of its own. */
static void guard_function(guarding *g, const char *name, unsigned weights) {
  wk_llvm *e = &g->least;
  wk_ssa run = LLVMGetNamedFunction(e->mod, name), args[5];
  const char *inner = wk_arena_printf(g->m->gen.arena, "%s.unguarded", name);
  LLVMTypeRef type = LLVMGlobalGetValueType(run);
  LLVMSetValueName2(run, inner, strlen(inner));
  LLVMSetLinkage(run, LLVMInternalLinkage);
  wk_llvm_keep_apart(e, run);
  wk_ssa fn = begin_function(g, name, type), zero = number(e, GUARD_OK);
  LLVMBasicBlockRef runs = LLVMAppendBasicBlockInContext(e->ctx, fn, ""),
                    refuses = LLVMAppendBasicBlockInContext(e->ctx, fn, "");
  wk_ssa code = ask(g, "wk_rare_guard_run", LLVMGetParam(fn, weights));
  wk_llvm_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, code, zero, ""), runs, refuses);
  LLVMPositionBuilderAtEnd(e->b, refuses);
  LLVMBuildRet(e->b, code);
  LLVMPositionBuilderAtEnd(e->b, runs);
  unsigned n = LLVMCountParams(fn);
  for (unsigned k = 0; k < n; k++) args[k] = LLVMGetParam(fn, k);
  wk_ssa error = LLVMBuildCall2(e->b, type, run, args, n, "");
  wk_ssa is_bad = LLVMBuildICmp(e->b, LLVMIntNE, error, zero, "");
  wk_ssa bad = number(e, GUARD_BAD_INPUT), failed = number(e, WICK_ERROR_ROUTINE);
  if (g->m->gen.routines.n)
    bad = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, error, failed, ""), failed, bad, "");
  LLVMBuildRet(e->b, LLVMBuildSelect(e->b, is_bad, bad, zero, ""));
}

static void add_check(guarding *g) {
  wk_llvm *e = &g->least;
  const char *name = wk_arena_printf(g->m->gen.arena, "%s_check", g->m->name);
  wk_ssa fn = begin_function(g, name, LLVMFunctionType(e->i32, &e->ptr, 1, 0));
  LLVMBuildRet(e->b, ask(g, "wk_rare_guard_check", LLVMGetParam(fn, 0)));
}

wk_status wk_bundle_guard(wk_cpu_module *m, const wk_bundle_weights *w) {
  guarding g = {.m = m, .least = m->gen.e};
  questions q;
  WK_TRY(wk_simd_find(is_arm(m->simd) ? "aarch64" : "x86-64", &g.least.simd));
  WK_TRY(ask_for(m->simd, &q));
  g.guard = add_constant(&g.least, &q, w);
  for (size_t k = 0; k < m->n; k++) {
    guard_function(&g, wk_bundle_function(m, k, "run", m->gen.arena), 0);
    guard_function(&g, wk_bundle_function(m, k, "run_with", m->gen.arena), 1);
  }
  add_check(&g);
  return wk_rare_link(m->ctx, m->mod, g.least.simd, UINT32_C(1) << WK_RARE_guard);
}
