/* SPDX-License-Identifier: Apache-2.0
 * What `wick compile` finds out, and how it is shown.
 *
 *   cmd_compile.c     options, one compilation per binding, output
 *   compile_report.c  the summary, --time-passes, --report */
#ifndef WICK_CLI_COMPILE_H
#define WICK_CLI_COMPILE_H

#include "cli/text.h"
#include "compiler/integer/integer.h"
#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/model.h"

/* One instruction, as it was before the target's own preparation. */
typedef struct {
  const char *node, *op, *text;
  int64_t macs, bytes;
  int depth; /* 0: of the program itself, otherwise in bodies */
} wk_inst_record;

/* One binding of the model's shapes, compiled. */
typedef struct {
  wk_binding_set binding;
  wk_arena *arena;
  wk_module *module;
  wk_parts *parts; /* NULL: stopped before; their programs may be */
  wk_pipeline_report report;
  double import_seconds;
  int64_t nodes_after; /* of the graph passes */
  WK_VEC(wk_inst_record) insts;
} wk_compiled;

typedef struct {
  const char *model, *name;   /* file, and the name made of it */
  const char *emit, *command;
  const char *target;         /* "accel:base,cpu:avx2" */
  const char *output;         /* NULL: standard output */
  wk_emit_files files;        /* what it consists of */
  uint64_t input_hash;
  int64_t input_bytes, output_bytes; /* output: of all files together; -1: not known */
  int64_t scratch_bytes;      /* per thread; -1: there is no code that could want any */
  int64_t predicted_cycles;   /* as in wk_emit_result */
  double emit_seconds, seconds;
  wk_compiled *bound; /* n of them */
  size_t n;
} wk_compilation;

/* One line: the operator and its operands. */
void wk_inst_text(wk_str *b, const wk_program *p, const wk_inst *i);

void wk_compile_summary(FILE *f, const wk_compilation *c);
/* A row of a summary: what a memory budget costs; none where there was no budget. */
void wk_remat_row(wk_table *t, const wk_remat_report *r);
/* --print-integer: every operator of quantised models, integer or not and why. */
void wk_compile_integers(FILE *f, const wk_compilation *c);
/* --print-parts: which target computes what, and why not another one. */
void wk_compile_parts(FILE *f, const wk_compilation *c);
void wk_compile_times(FILE *f, const wk_compilation *c);
void wk_compile_json(wk_out *out, const wk_compilation *c);
/* How long it gets at most, asked before the output is written. */
size_t wk_compile_json_size(const wk_compilation *c);

#endif
