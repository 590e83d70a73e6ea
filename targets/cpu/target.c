/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/cpu.h"

#include <string.h>

#include "targets/cpu/llvm/module.h"
#include "targets/cpu/prepare.h"

static wk_status isa_of(const wk_emit_options *o, const wk_simd **out) {
  return wk_simd_find(o && o->cpu ? o->cpu : "native", out);
}

static wk_status machine(const char *cpu, wk_processor *out) {
  const wk_simd *simd;
  WK_TRY(wk_simd_find(cpu ? cpu : "native", &simd));
  *out = (wk_processor){.name = simd->name, .is_here = wk_simd_runs_here(simd)};
  return NULL;
}

static bool supports(const wk_target *t, const wk_program *p, const wk_inst *i,
                     const char **reason) {
  (void)t;
  (void)p;
  *reason = NULL;
  switch (i->op) {
    case WK_OP_MAP:
    case WK_OP_REDUCE:
    case WK_OP_COPY:
    case WK_OP_FILL:
    case WK_OP_NEST:
    case WK_OP_IF:
    case WK_OP_LOOP: return true;
    default: break;
  }
  *reason = wk_codegen_rare_refusal(i);
  return !*reason;
}

static wk_status prepare(const wk_target *t, wk_program *p, const wk_emit_options *o) {
  (void)t;
  const wk_simd *simd;
  WK_TRY(isa_of(o, &simd));
  return wk_prepare_program(p, simd);
}

static wk_status files(wk_emit_kind kind, const char *path, wk_arena *a, wk_emit_files *out) {
  if (kind == WK_EMIT_BUNDLE) return wk_cpu_bundle_files(path, a, out);
  *out = (wk_emit_files){.path = {path}, .n = strcmp(path, "-") ? 1 : 0};
  return NULL;
}

static wk_status emit(const wk_target *t, wk_emit_kind kind, wk_program *const *programs, size_t n,
                      const wk_emit_options *o, const char *path) {
  (void)t;
  const wk_simd *simd;
  WK_TRY(isa_of(o, &simd));
  switch (kind) {
    case WK_EMIT_PACKAGE: return wk_cpu_package_emit(programs, n, o, simd, path);
    case WK_EMIT_BUNDLE: return wk_cpu_bundle_emit(programs, n, o, simd, path);
    default: return wk_cpu_code_emit(kind, programs, n, o, simd, path);
  }
}

const wk_target wk_target_cpu = {.name = "cpu",
                                 .doc = "native code for x86-64 and AArch64 through LLVM",
                                 .channels_last = true,
                                 .act_align = 64,
                                 .machine = machine,
                                 .supports = supports,
                                 .prepare = prepare,
                                 .files = files,
                                 .emit = emit};
