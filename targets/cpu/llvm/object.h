/* SPDX-License-Identifier: Apache-2.0
 * object: from an LLVM module to machine code. */
#ifndef WICK_CPU_OBJECT_H
#define WICK_CPU_OBJECT_H

#include "targets/cpu/simd.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

/* A context that keeps the first error that LLVM finds in its modules in *error, which is NULL
 * before; warnings and remarks are dropped. (In one without a handler LLVM prints errors and ends
 * the process.) */
LLVMContextRef wk_object_context(wk_status *error);
/* That error, which is then the caller's. */
wk_status wk_object_error(LLVMContextRef ctx) WK_MUST_CHECK;

/* A target machine for the row (position independent, optimisation level 2 of the code generator).
 * Sets the module's triple and data layout. Free with LLVMDisposeTargetMachine. */
wk_status wk_object_target(const wk_simd *simd, LLVMModuleRef mod,
                           LLVMTargetMachineRef *out) WK_MUST_CHECK;
/* Emits an object or assembly text. The kernels need no optimisation passes before. WK_INTERNAL has
 * LLVM's text, also that of wk_object_error. Free with LLVMDisposeMemoryBuffer. */
wk_status wk_object_emit(const wk_simd *simd, LLVMModuleRef mod, LLVMCodeGenFileType type,
                         LLVMMemoryBufferRef *out) WK_MUST_CHECK;

/* The object's symbols in this process (tests and benchmarks). Takes ownership of `object`. */
typedef struct wk_jit wk_jit;
wk_status wk_jit_load(LLVMMemoryBufferRef object, wk_jit **out) WK_MUST_CHECK;
wk_status wk_jit_find(wk_jit *j, const char *name, void **out) WK_MUST_CHECK;
void wk_jit_free(wk_jit *j);

#endif
