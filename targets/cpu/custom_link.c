/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/custom_link.h"

#include <stdlib.h>
#include <string.h>

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>

#include "targets/cpu/llvm/object.h"
#include "targets/cpu/llvm/vmath.h"
#include "targets/cpu/rare/rare_link.h"

static wk_status refused(const wk_custom_op *op, const char *what, const char *name) {
  return wk_error(WK_INPUT, "%s.%s: its bitcode %s%s%s%s", op->domain, op->name, what,
                  name ? " '" : "", name ? name : "", name ? "'" : "");
}

/* ---- functions of <math.h> ------------------------------------------------------------------- */

/* NAMEf over floats, NAME over doubles. */
static const struct {
  const char *name;
  wk_expr_op op;
} functions[] = {
    {"exp", WK_EX_EXP},     {"log", WK_EX_LOG},     {"sin", WK_EX_SIN},     {"cos", WK_EX_COS},
    {"tan", WK_EX_TAN},     {"asin", WK_EX_ASIN},   {"acos", WK_EX_ACOS},   {"atan", WK_EX_ATAN},
    {"sinh", WK_EX_SINH},   {"cosh", WK_EX_COSH},   {"asinh", WK_EX_ASINH}, {"acosh", WK_EX_ACOSH},
    {"atanh", WK_EX_ATANH}, {"tanh", WK_EX_TANH},   {"erf", WK_EX_ERF},     {"pow", WK_EX_POW},
    {"fmod", WK_EX_FMOD},   {"sqrt", WK_EX_SQRT},   {"floor", WK_EX_FLOOR}, {"ceil", WK_EX_CEIL},
    {"rint", WK_EX_ROUND},  {"trunc", WK_EX_TRUNC}};

/* Of its own name, "sinf", or of the intrinsic that compilers make of it, "llvm.sin.f32" or
 * "llvm.sin.v4f32"; how many bits, 0: it is none. */
static int bits_of(const char *name, const char *function) {
  const bool is_intrinsic = !strncmp(name, "llvm.", 5);
  const size_t n = strlen(function);
  if (is_intrinsic) name += 5;
  if (strncmp(name, function, n) != 0) return 0;
  name += n;
  if (!is_intrinsic) return !*name ? 64 : !strcmp(name, "f") ? 32 : 0;
  if (*name++ != '.') return 0;
  if (*name == 'v') name += 1 + strspn(name + 1, "0123456789");
  return !strcmp(name, "f64") ? 64 : !strcmp(name, "f32") ? 32 : 0;
}

/* Whether it is one, and over how many bits. */
static bool find_function(const char *name, wk_expr_op *op, int *bits) {
  for (size_t i = 0; i < WK_COUNTOF(functions); i++) {
    *bits = bits_of(name, functions[i].name);
    *op = functions[i].op;
    if (*bits) return true;
  }
  return false;
}

static wk_ssa compute(const wk_lanes *v, wk_expr_op op, wk_ssa a, wk_ssa b) {
  switch (op) {
    case WK_EX_SQRT: return wk_lanes_intrinsic(v->e, "llvm.sqrt", v->real, &a, 1);
    case WK_EX_FLOOR: return wk_lanes_round(v, WK_ROUND_FLOOR, a);
    case WK_EX_CEIL: return wk_lanes_round(v, WK_ROUND_CEIL, a);
    case WK_EX_ROUND: return wk_lanes_round(v, WK_ROUND_EVEN, a);
    case WK_EX_TRUNC: return wk_lanes_round(v, WK_ROUND_TRUNC, a);
    default: return wk_vmath_codegen(v, op, a, b);
  }
}

/* Wick's own code for it, as a function of this type: of vectors, or one lane of one. */
static wk_ssa define_function(wk_llvm *e, LLVMTypeRef type, wk_expr_op op, int bits) {
  wk_llvm_place place = wk_llvm_save(e);
  LLVMTypeRef result = LLVMGetReturnType(type);
  const bool is_vector = LLVMGetTypeKind(result) == LLVMVectorTypeKind;
  const int lanes = is_vector ? (int)LLVMGetVectorSize(result) : e->simd->lanes * 32 / bits;
  const wk_lanes v = wk_lanes_make(e, lanes, bits);
  wk_ssa args[2] = {NULL, NULL};
  wk_ssa fn = LLVMAddFunction(e->mod, "wk.c.math", type);
  e->fn = fn;
  wk_llvm_attributes(e, fn);
  LLVMSetLinkage(fn, LLVMInternalLinkage);
  LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->ctx, fn, ""));
  for (unsigned k = 0; k < LLVMCountParams(fn) && k < 2; k++) {
    args[k] = LLVMGetParam(fn, k);
    if (!is_vector) args[k] = wk_vector_splat(e, lanes, args[k]);
  }
  wk_ssa y = compute(&v, op, args[0], args[1]), first = LLVMConstInt(e->i32, 0, 0);
  LLVMBuildRet(e->b, is_vector ? y : LLVMBuildExtractElement(e->b, y, first, ""));
  wk_llvm_restore(e, place);
  return fn;
}

typedef WK_VEC(LLVMValueRef) values;

/* Who has it as an operand now: Wick's code for it may need the same intrinsic. */
static values users_of(LLVMValueRef f) {
  values users = {0};
  for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
    wk_vec_push(&users, LLVMGetUser(u));
  return users;
}

static void replace_in(const values *users, LLVMValueRef from, LLVMValueRef to) {
  for (size_t i = 0; i < users->n; i++)
    for (int k = 0; k < LLVMGetNumOperands(users->data[i]); k++)
      if (LLVMGetOperand(users->data[i], (unsigned)k) == from)
        LLVMSetOperand(users->data[i], (unsigned)k, to);
}

/* A declaration of bitcode: `real f(real)` or of two, or of vectors of reals. */
static bool is_of_reals(wk_llvm *e, wk_ssa fn, wk_expr_op op, int bits) {
  LLVMTypeRef type = LLVMGlobalGetValueType(fn), params[2], result = LLVMGetReturnType(type);
  const bool is_vector = LLVMGetTypeKind(result) == LLVMVectorTypeKind;
  LLVMTypeRef real = bits == 64 ? LLVMDoubleTypeInContext(e->ctx) : e->f32;
  unsigned n = (unsigned)wk_expr_op_arity(op);
  if (LLVMCountParamTypes(type) != n ||
      (is_vector ? LLVMGetElementType(result) : result) != real)
    return false;
  LLVMGetParamTypes(type, params);
  return params[0] == result && (n == 1 || params[1] == result);
}

/* ---- what it is ------------------------------------------------------------------------------ */

static bool same_architecture(const char *a, const char *b) {
  size_t n = strcspn(a, "-");
  return n == strcspn(b, "-") && !strncmp(a, b, n);
}

static wk_status read_bitcode(wk_llvm *e, const wk_custom_op *op, LLVMModuleRef *out) {
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
      op->bitcode, (size_t)(op->bitcode_end - op->bitcode), op->routine);
  bool is_bad = LLVMParseBitcodeInContext2(e->ctx, buffer, out);
  LLVMDisposeMemoryBuffer(buffer);
  wk_status why = wk_object_error(e->ctx);
  if (is_bad || why) {
    if (!is_bad) LLVMDisposeModule(*out);
    wk_status s = refused(op, "cannot be read:", why ? why->message : "damaged");
    wk_status_free(why);
    return s;
  }
  if (same_architecture(LLVMGetTarget(*out), LLVMGetTarget(e->mod))) return NULL;
  why = refused(op, "is for", LLVMGetTarget(*out));
  LLVMDisposeModule(*out);
  return why;
}

static bool defines(LLVMModuleRef part, const char *name) {
  LLVMValueRef f = LLVMGetNamedFunction(part, name);
  return f && !LLVMIsDeclaration(f);
}

/* What the routine does not need. */
static void prune(LLVMModuleRef part, const char *routine) {
  for (bool changed = true; changed;) {
    changed = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(part), next; f; f = next) {
      next = LLVMGetNextFunction(f);
      if (LLVMGetFirstUse(f) || !strcmp(LLVMGetValueName(f), routine)) continue;
      LLVMDeleteFunction(f);
      changed = true;
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(part), next; g; g = next) {
      next = LLVMGetNextGlobal(g);
      if (LLVMGetFirstUse(g)) continue;
      LLVMDeleteGlobal(g);
      changed = true;
    }
  }
}

/* Only the routine is seen from outside while it is linked. */
static void hide(wk_llvm *e, LLVMModuleRef part, const char *routine) {
  for (LLVMValueRef f = LLVMGetFirstFunction(part); f; f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f)) continue;
    wk_llvm_attributes(e, f);
    if (strcmp(LLVMGetValueName(f), routine) != 0) LLVMSetLinkage(f, LLVMInternalLinkage);
  }
  for (LLVMValueRef g = LLVMGetFirstGlobal(part); g; g = LLVMGetNextGlobal(g))
    if (LLVMGetInitializer(g)) LLVMSetLinkage(g, LLVMInternalLinkage);
}

static wk_status check_globals(const wk_custom_op *op, LLVMModuleRef part) {
  for (LLVMValueRef g = LLVMGetFirstGlobal(part); g; g = LLVMGetNextGlobal(g))
    if (!LLVMIsGlobalConstant(g))
      return refused(op, "has a variable, for which packages have no place:", LLVMGetValueName(g));
  return NULL;
}

/* What it calls, by names that are kept, as linking joins declarations. */
static wk_status check_calls(wk_llvm *e, const wk_custom_op *op, LLVMModuleRef part) {
  wk_expr_op known;
  int bits;
  for (LLVMValueRef f = LLVMGetFirstFunction(part); f; f = LLVMGetNextFunction(f)) {
    const char *name = LLVMGetValueName(f);
    if (!LLVMIsDeclaration(f) || !LLVMGetFirstUse(f) || !strncmp(name, "llvm.", 5) ||
        wk_rare_is_memory(name))
      continue;
    if (!find_function(name, &known, &bits) || !is_of_reals(e, f, known, bits))
      return refused(op, "calls what code in a package cannot:", name);
  }
  return NULL;
}

static void define_declared(wk_llvm *e) {
  wk_expr_op op;
  int bits;
  values declared = {0};
  for (LLVMValueRef f = LLVMGetFirstFunction(e->mod); f; f = LLVMGetNextFunction(f))
    if (LLVMIsDeclaration(f) && LLVMGetFirstUse(f) &&
        find_function(LLVMGetValueName(f), &op, &bits) && is_of_reals(e, f, op, bits))
      wk_vec_push(&declared, f);
  for (size_t i = 0; i < declared.n; i++) {
    LLVMValueRef f = declared.data[i];
    find_function(LLVMGetValueName(f), &op, &bits);
    values users = users_of(f);
    replace_in(&users, f, define_function(e, LLVMGlobalGetValueType(f), op, bits));
    wk_vec_free(&users);
  }
  wk_vec_free(&declared);
}

/* The instruction that compilers make of fmod, and that would become a call of it. */
static values remainders(LLVMModuleRef part) {
  values all = {0};
  for (LLVMValueRef f = LLVMGetFirstFunction(part); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
        if (LLVMGetInstructionOpcode(i) == LLVMFRem) wk_vec_push(&all, i);
  return all;
}

static void define_remainders(wk_llvm *e) {
  values all = remainders(e->mod);
  for (size_t i = 0; i < all.n; i++) {
    LLVMValueRef x = all.data[i], args[] = {LLVMGetOperand(x, 0), LLVMGetOperand(x, 1)};
    LLVMTypeRef real = LLVMTypeOf(x), params[] = {real, real};
    LLVMTypeRef type = LLVMFunctionType(real, params, 2, 0);
    const bool is_vector = LLVMGetTypeKind(real) == LLVMVectorTypeKind;
    const int bits = (is_vector ? LLVMGetElementType(real) : real) == e->f32 ? 32 : 64;
    wk_ssa fn = define_function(e, type, WK_EX_FMOD, bits);
    LLVMPositionBuilderBefore(e->b, x);
    LLVMReplaceAllUsesWith(x, LLVMBuildCall2(e->b, type, fn, args, 2, ""));
    LLVMInstructionEraseFromParent(x);
  }
  wk_vec_free(&all);
}

static wk_status check(wk_llvm *e, const wk_custom_op *op, LLVMModuleRef part, bool complete) {
  if (!defines(part, op->routine)) return refused(op, "does not define", op->routine);
  if (LLVMGetNamedGlobal(part, "llvm.global_ctors"))
    return refused(op, "has constructors, which nobody would call", NULL);
  prune(part, op->routine);
  WK_TRY(check_globals(op, part));
  return complete ? check_calls(e, op, part) : NULL;
}

wk_status wk_custom_link(wk_llvm *e, const wk_custom_op *op, bool complete) {
  LLVMModuleRef part = NULL;
  WK_TRY(read_bitcode(e, op, &part));
  wk_status s = check(e, op, part, complete);
  if (s) {
    LLVMDisposeModule(part);
    return s;
  }
  LLVMSetTarget(part, LLVMGetTarget(e->mod));
  LLVMSetDataLayout(part, LLVMGetDataLayoutStr(e->mod));
  hide(e, part, op->routine);
  if (complete) {
    wk_llvm own;
    wk_llvm_init(&own, e->ctx, part, e->simd);
    define_declared(&own);
    define_remainders(&own);
    wk_llvm_free(&own);
  }
  if (LLVMLinkModules2(e->mod, part)) {
    wk_status why = wk_object_error(e->ctx);
    s = refused(op, "cannot be linked:", why ? why->message : "unknown");
    wk_status_free(why);
    return s;
  }
  LLVMSetLinkage(LLVMGetNamedFunction(e->mod, op->routine), LLVMInternalLinkage);
  return wk_object_error(e->ctx);
}
