/* SPDX-License-Identifier: Apache-2.0
 * rare_link: the bitcode of folder rare/, part of this library, into a module. Private to this
 * folder. */
#ifndef WICK_CPU_RARE_LINK_H
#define WICK_CPU_RARE_LINK_H

#include "targets/cpu/simd.h"

#include <llvm-c/Core.h>

/* X(file): rare/file.c. The build compiles this list (cpu.cmake). */
#define WK_RARE_FILES(X) \
  X(conv) X(correlate) X(matmul) X(pool) X(unpool) X(gather) X(scatter) X(scan) X(random) \
  X(sample) X(boxes) X(memory) X(guard)

typedef enum {
#define X(file) WK_RARE_##file,
  WK_RARE_FILES(X)
#undef X
  WK_RARE_COUNT
} wk_rare_file;

/* Links the files of the set (a bit each), makes their functions internal and drops those that
 * nobody calls. */
wk_status wk_rare_link(LLVMContextRef ctx, LLVMModuleRef mod, const wk_simd *simd,
                       uint32_t files) WK_MUST_CHECK;
/* memcpy, memmove or memset: what code generation may call. */
bool wk_rare_is_memory(const char *name);
/* True when code generation may call memcpy, memmove or memset. */
bool wk_rare_needs_memory(LLVMModuleRef mod);

/* The generated table: bitcode of every file for every instruction set. */
typedef struct {
  const char *file, *simd;
  const unsigned char *begin, *end;
} wk_rare_code;
extern const wk_rare_code wk_rare_codes[];
extern const size_t wk_rare_codes_count;

#endif
