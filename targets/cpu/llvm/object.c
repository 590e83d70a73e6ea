/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/llvm/object.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void initialize_targets(void) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser(); /* guard.c */
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
}

/* ---- errors --------------------------------------------------------------------------------- */

static void keep_error(LLVMDiagnosticInfoRef info, void *error) {
  wk_status *kept = error;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || *kept) return;
  char *text = LLVMGetDiagInfoDescription(info);
  *kept = wk_error(WK_INTERNAL, "LLVM: %s", text);
  LLVMDisposeMessage(text);
}

LLVMContextRef wk_object_context(wk_status *error) {
  LLVMContextRef ctx = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(ctx, keep_error, error);
  return ctx;
}

wk_status wk_object_error(LLVMContextRef ctx) {
  if (LLVMContextGetDiagnosticHandler(ctx) != keep_error) return NULL;
  wk_status *kept = LLVMContextGetDiagnosticContext(ctx), s = *kept;
  *kept = NULL;
  return s;
}

/* ---- code ----------------------------------------------------------------------------------- */

wk_status wk_object_target(const wk_simd *simd, LLVMModuleRef mod, LLVMTargetMachineRef *out) {
  char *message = NULL;
  LLVMTargetRef target;
  *out = NULL;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialize_targets);
  if (LLVMGetTargetFromTriple(simd->triple, &target, &message)) {
    wk_status s = wk_error(WK_INTERNAL, "LLVM has no target %s: %s", simd->triple, message);
    LLVMDisposeMessage(message);
    return s;
  }
  *out = LLVMCreateTargetMachine(target, simd->triple, simd->cpu, simd->features,
                                 LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelSmall);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(*out);
  LLVMSetModuleDataLayout(mod, layout);
  LLVMDisposeTargetData(layout);
  LLVMSetTarget(mod, simd->triple);
  return NULL;
}

static wk_status emit(LLVMTargetMachineRef machine, LLVMModuleRef mod, LLVMCodeGenFileType type,
                      LLVMMemoryBufferRef *out) {
  char *message = NULL;
  wk_status s = NULL;
  if (LLVMVerifyModule(mod, LLVMReturnStatusAction, &message))
    s = wk_error(WK_INTERNAL, "emitted LLVM IR is invalid: %s", message);
  LLVMDisposeMessage(message);
  message = NULL;
  if (!s && LLVMTargetMachineEmitToMemoryBuffer(machine, mod, type, &message, out)) {
    s = wk_error(WK_INTERNAL, "LLVM cannot emit code: %s", message);
    LLVMDisposeMessage(message);
  }
  return s;
}

wk_status wk_object_emit(const wk_simd *simd, LLVMModuleRef mod, LLVMCodeGenFileType type,
                         LLVMMemoryBufferRef *out) {
  LLVMTargetMachineRef machine;
  *out = NULL;
  WK_TRY(wk_object_target(simd, mod, &machine));
  wk_status s = emit(machine, mod, type, out);
  LLVMDisposeTargetMachine(machine);
  if (!s) s = wk_object_error(LLVMGetModuleContext(mod));
  if (s && *out) {
    LLVMDisposeMemoryBuffer(*out);
    *out = NULL;
  }
  return s;
}

/* ---- in this process ------------------------------------------------------------------------- */

struct wk_jit {
  LLVMOrcLLJITRef jit;
};

static wk_status from_llvm(LLVMErrorRef error) {
  if (!error) return NULL;
  char *text = LLVMGetErrorMessage(error);
  wk_status s = wk_error(WK_INTERNAL, "LLVM: %s", text);
  LLVMDisposeErrorMessage(text);
  return s;
}

wk_status wk_jit_load(LLVMMemoryBufferRef object, wk_jit **out) {
  initialize_targets();
  wk_jit *j = wk_xcalloc(1, sizeof *j);
  wk_status s = from_llvm(LLVMOrcCreateLLJIT(&j->jit, NULL));
  if (s) {
    LLVMDisposeMemoryBuffer(object);
  } else {
    LLVMOrcJITDylibRef lib = LLVMOrcLLJITGetMainJITDylib(j->jit);
    s = from_llvm(LLVMOrcLLJITAddObjectFile(j->jit, lib, object));
  }
  if (s) {
    wk_jit_free(j);
    j = NULL;
  }
  *out = j;
  return s;
}

wk_status wk_jit_find(wk_jit *j, const char *name, void **out) {
  LLVMOrcExecutorAddress address = 0;
  WK_TRY(from_llvm(LLVMOrcLLJITLookup(j->jit, &address, name)));
  *out = (void *)(uintptr_t)address;
  return NULL;
}

void wk_jit_free(wk_jit *j) {
  if (!j) return;
  if (j->jit) {
    wk_status s = from_llvm(LLVMOrcDisposeLLJIT(j->jit));
    if (s) wk_status_free(s);
  }
  free(j);
}
