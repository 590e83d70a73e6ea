/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/rare/rare_link.h"

#include <string.h>

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>

static const char *const file_names[] = {
#define X(file) #file,
    WK_RARE_FILES(X)
#undef X
};

static wk_status link_file(LLVMContextRef ctx, LLVMModuleRef mod, const wk_simd *simd,
                           const char *file) {
  for (size_t i = 0; i < wk_rare_codes_count; i++) {
    const wk_rare_code *c = &wk_rare_codes[i];
    if (strcmp(c->file, file) != 0 || strcmp(c->simd, simd->rare) != 0) continue;
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(
        (const char *)c->begin, (size_t)(c->end - c->begin), file, 0);
    LLVMModuleRef part = NULL;
    bool bad = LLVMParseBitcodeInContext2(ctx, buffer, &part);
    LLVMDisposeMemoryBuffer(buffer);
    if (bad) return wk_error(WK_INTERNAL, "cannot read the bitcode of rare/%s.c", file);
    LLVMSetTarget(part, LLVMGetTarget(mod));
    LLVMSetDataLayout(part, LLVMGetDataLayoutStr(mod));
    if (LLVMLinkModules2(mod, part))
      return wk_error(WK_INTERNAL, "cannot link the bitcode of rare/%s.c", file);
    return NULL;
  }
  return wk_error(WK_INTERNAL, "no bitcode of rare/%s.c for %s", file, simd->name);
}

bool wk_rare_is_memory(const char *name) {
  return strcmp(name, "memcpy") == 0 || strcmp(name, "memmove") == 0 ||
         strcmp(name, "memset") == 0;
}

static bool is_ours(const char *name) { return strncmp(name, "wk_rare_", 8) == 0; }

/* Functions of C code that are defined here. Those of memory.c are called by code generation only.
 * */
static void make_internal(LLVMModuleRef mod) {
  for (LLVMValueRef f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f)) {
    const char *name = LLVMGetValueName(f);
    if (!LLVMIsDeclaration(f) && (is_ours(name) || wk_rare_is_memory(name)))
      LLVMSetLinkage(f, LLVMInternalLinkage);
  }
}

static void drop_unused(LLVMModuleRef mod) {
  for (bool changed = true; changed;) {
    changed = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(mod), next; f; f = next) {
      next = LLVMGetNextFunction(f);
      if (LLVMGetFirstUse(f) || !is_ours(LLVMGetValueName(f))) continue;
      LLVMDeleteFunction(f);
      changed = true;
    }
  }
}

wk_status wk_rare_link(LLVMContextRef ctx, LLVMModuleRef mod, const wk_simd *simd, uint32_t files) {
  for (int k = 0; k < WK_RARE_COUNT; k++)
    if (files >> k & 1) WK_TRY(link_file(ctx, mod, simd, file_names[k]));
  make_internal(mod);
  drop_unused(mod);
  return NULL;
}

bool wk_rare_needs_memory(LLVMModuleRef mod) {
  for (LLVMValueRef f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f)) {
    const char *name = LLVMGetValueName(f);
    bool is_intrinsic = strncmp(name, "llvm.mem", 8) == 0;
    if ((is_intrinsic || wk_rare_is_memory(name)) && LLVMGetFirstUse(f)) return true;
  }
  return false;
}
