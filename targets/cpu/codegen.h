/* SPDX-License-Identifier: Apache-2.0
 * codegen: prepared and placed programs as one LLVM module. Every top-level instruction is a step
 * function (wick_step_fn), every program an entry function that calls its steps. Private to this
 * folder. */
#ifndef WICK_CPU_CODEGEN_H
#define WICK_CPU_CODEGEN_H

#include "compiler/ir/custom.h"
#include "compiler/ir/ir.h"
#include "targets/cpu/kernels/kernels.h"

typedef struct {
  wk_llvm e;
  wk_arena *arena;         /* names, temporary tables */
  uint32_t rare;           /* files of rare code that the module calls (bit per file) */
  bool has_names;          /* routines are called by their names, not through exec */
  WK_VEC(const char *) routines; /* of the program that are called, each once */
  WK_VEC(const wk_custom_op *) linked; /* whose bitcode the module needs */
  int64_t scratch_bytes;   /* the most that a task so far wants of its thread */
  /* the program at hand */
  const wk_program *p;
  const uint64_t *const_at; /* offset of each CONST buffer */
  /* the step at hand */
  wk_ssa exec, consts, io, memory;
  wk_ssa iteration; /* of the innermost loop around; NULL outside */
  wk_ssa args;      /* room for the arguments of a task */
} wk_codegen;

typedef struct {
  const char *entry;  /* symbol of the wick_entry_fn */
  const char **steps; /* symbols, one per top-level instruction */
  size_t n_steps;
} wk_codegen_entry;

void wk_codegen_begin(wk_codegen *c, LLVMContextRef ctx, LLVMModuleRef mod, const wk_simd *simd);
void wk_codegen_end(wk_codegen *c);

/* Emits the steps and the entry of a program; `prefix` begins every name. const_at has one offset
 * per buffer of p. */
wk_status wk_codegen_program(wk_codegen *c, const wk_program *p, const uint64_t *const_at,
                             const char *prefix, wk_codegen_entry *out) WK_MUST_CHECK;

/* ---- inside a step -------------------------------------------------------------------------- */

/* Address of the view's first element; NULL for SCRATCH, which tasks find in their own scratch. */
wk_ssa wk_codegen_address(wk_codegen *c, const wk_view *v);
/* Calls the kernel's task on all of its tasks, in parallel when the work (estimated in nanoseconds
 * of one thread) is worth it. args are its arguments. */
void wk_codegen_run(wk_codegen *c, const wk_cpu_kernel *k, const wk_ssa *args, uint32_t n,
                    double nanoseconds);

/* Instructions of a block into the function under construction, control flow included
 * (codegen_control.c). */
wk_status wk_codegen_block(wk_codegen *c, const wk_block *b) WK_MUST_CHECK;
/* One instruction that is no control flow. */
wk_status wk_codegen_inst(wk_codegen *c, const wk_inst *i) WK_MUST_CHECK;
wk_status wk_codegen_contract(wk_codegen *c, const wk_inst *i) WK_MUST_CHECK;
wk_status wk_codegen_segment(wk_codegen *c, const wk_inst *i) WK_MUST_CHECK;
wk_status wk_codegen_custom(wk_codegen *c, const wk_inst *i) WK_MUST_CHECK;
/* Instructions in C (rare/). */
wk_status wk_codegen_rare(wk_codegen *c, const wk_inst *i) WK_MUST_CHECK;
/* NULL when it is one of them, else why not; t and rank are those of the first input, or of the
 * first output when there is none. */
const char *wk_codegen_rare_refusal(wk_op op, wk_dtype t, int rank);
/* Adds to wick_exec.work, where there is one (codegen_work.c): of an instruction what its kernel
 * leaves out above limits … */
void wk_codegen_count_limits(wk_codegen *c, const wk_inst *i, const wk_cpu_kernel *k);
/* … and a block that is passed by: so many times; NULL: once. */
void wk_codegen_leave_out(wk_codegen *c, const wk_block *b, wk_ssa times);
/* An internal constant array of i64; equal contents are one array. */
wk_ssa wk_codegen_table(wk_codegen *c, const int64_t *words, size_t n);

/* [A-Za-z0-9_] only, at most `most` characters. */
char *wk_symbol_text(wk_arena *a, const char *s, size_t most);

#endif
