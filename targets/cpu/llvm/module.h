/* SPDX-License-Identifier: Apache-2.0
 * module: everything that the outputs of the CPU target have in common: the constants of all
 * programs, laid out once, and one LLVM module with their code. Private to this folder. */
#ifndef WICK_CPU_MODULE_H
#define WICK_CPU_MODULE_H

#include "compiler/target/target.h"
#include "targets/cpu/codegen.h"

#include <llvm-c/TargetMachine.h>

typedef struct {
  const void *data;
  uint64_t offset, size;
} wk_cpu_const;

typedef struct {
  const wk_simd *simd;
  wk_program *const *programs;
  size_t n;
  const char *name; /* begins every symbol */
  LLVMContextRef ctx;
  LLVMModuleRef mod;
  wk_codegen gen;
  wk_codegen_entry *entries; /* one per program */
  WK_VEC(wk_cpu_const) consts; /* distinct contents, ascending offsets */
  uint64_t const_bytes;
} wk_cpu_module;

/* `complete`: nothing is left undefined, not even memcpy. Free with wk_cpu_module_free also after
 * an error. */
wk_status wk_cpu_module_build(wk_program *const *programs, size_t n, const wk_simd *simd,
                              const char *name, bool complete, wk_cpu_module *out) WK_MUST_CHECK;
void wk_cpu_module_free(wk_cpu_module *m);

/* ---- outputs -------------------------------------------------------------------------------- */

wk_status wk_cpu_package_emit(wk_program *const *programs, size_t n, const wk_emit_options *o,
                              const wk_simd *simd, const char *path) WK_MUST_CHECK;
/* path names the bundle: path.o, path.h, path.weights (an ending that names one of them, or
 * .bundle, is taken off first). WK_USAGE for standard output and for what is no regular file. */
wk_status wk_cpu_bundle_files(const char *path, wk_arena *a, wk_emit_files *out) WK_MUST_CHECK;
wk_status wk_cpu_bundle_emit(wk_program *const *programs, size_t n, const wk_emit_options *o,
                             const wk_simd *simd, const char *path) WK_MUST_CHECK;
/* WK_EMIT_OBJECT, WK_EMIT_ASM or WK_EMIT_LLVM_IR: the bundle's code alone. */
wk_status wk_cpu_code_emit(wk_emit_kind kind, wk_program *const *programs, size_t n,
                           const wk_emit_options *o, const wk_simd *simd,
                           const char *path) WK_MUST_CHECK;
/* Alignment of a program's arena; what is known of a module that was built. */
uint32_t wk_cpu_arena_align(const wk_program *p);
void wk_cpu_emit_result(const wk_cpu_module *m, const wk_emit_options *o);

#endif
