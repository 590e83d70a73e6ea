/* SPDX-License-Identifier: Apache-2.0
 * module: everything that the outputs of the CPU target have in common: the constants of all
 * parts, laid out once, and one LLVM module with their code. Private to this folder. */
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
  const wk_target_part *parts;
  size_t n;
  const char *name; /* begins every symbol */
  LLVMContextRef ctx;
  wk_status error; /* of that context; NULL: none that has not been told */
  LLVMModuleRef mod;
  wk_codegen gen;
  wk_codegen_entry *entries; /* one per part */
  WK_VEC(wk_cpu_const) consts; /* distinct contents, ascending offsets */
  uint64_t const_bytes;
} wk_cpu_module;

/* `complete`: nothing is left undefined, not even memcpy; routines are found through exec. Free
 * with wk_cpu_module_free also after an error. */
wk_status wk_cpu_module_build(const wk_target_part *parts, size_t n, const wk_simd *simd,
                              const char *name, bool complete, wk_cpu_module *out) WK_MUST_CHECK;
void wk_cpu_module_free(wk_cpu_module *m);

/* ---- outputs -------------------------------------------------------------------------------- */

/* The parts' code and constants as a unit of the package, which is the driver's; row[i]: the part's
 * number there. */
wk_status wk_cpu_compile(const wk_target_part *parts, size_t n, const wk_emit_options *o,
                         const wk_simd *simd, wk_package *pkg, uint32_t *row,
                         wk_emit_result *result) WK_MUST_CHECK;
/* path names the bundle: path.o, path.h, path.weights (an ending that names one of them, or
 * .bundle, is taken off first). WK_USAGE for standard output and for what is no regular file. */
wk_status wk_cpu_bundle_files(const char *path, wk_arena *a, wk_emit_files *out) WK_MUST_CHECK;
wk_status wk_cpu_bundle_emit(const wk_target_part *parts, size_t n, const wk_emit_options *o,
                             const wk_simd *simd, const char *path,
                             wk_emit_result *result) WK_MUST_CHECK;
/* The bundle's code alone. */
typedef enum { WK_CPU_OBJECT, WK_CPU_ASM, WK_CPU_LLVM_IR } wk_cpu_code;
wk_status wk_cpu_code_emit(wk_cpu_code kind, const wk_target_part *parts, size_t n,
                           const wk_emit_options *o, const wk_simd *simd, const char *path,
                           wk_emit_result *result) WK_MUST_CHECK;

#endif
