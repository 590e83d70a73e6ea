/* SPDX-License-Identifier: Apache-2.0
 * compile: from a model file to what is written of it (rank 5.2). It never prints and never ends
 * the process; what a user should read is data.
 *
 *   options.c    what the options say, and whether they fit together
 *   compile.c    every binding through the pipeline
 *   emission.c   kinds of outputs, and writing one
 *   report.c     every figure as JSON
 *   inst_text.c  an instruction as a line
 *   wick_compile.c  the public interface, wick_compile.h: a part of libwickc alone */
#ifndef WICK_COMPILE_COMPILE_H
#define WICK_COMPILE_COMPILE_H

#include "compiler/calibrate/quantize.h"
#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/model.h"
#include "compiler/pipeline/needed.h"
#include "compiler/pipeline/state.h"

/* What is compiled, and how; texts as a user types them, NULL: the default. */
typedef struct {
  wk_binding_args binding;
  wk_strings state;       /* --state */
  wk_strings needed;      /* --needed */
  wk_target_args target;
  const char *emit;       /* what is written: "package", "graph" and the like, or an output of a
                             target */
  const char *stop_after; /* name of a step */
  const char *convert;    /* what floats are stored in: "f16", "bf16"; weights: "i4", "i8:128" */
  const char *budget;     /* of memory, "64MiB" */
  int64_t quantize;       /* seed of --quantize-random; 0: the model as it is */
  bool weights;           /* texts have the contents of all constants */
  bool list_all;          /* as in wk_import_options */
} wk_compile_options;

/* "; accel: stream; cpu: bundle, object": the outputs of all targets. */
void wk_compile_list_outputs(wk_str *out);

/* Rows of option tables; prefix: "x." of a member x, a wk_compile_options; nothing when the struct
 * is one. */
#define WK_CONVERT_OPTION(type, member)                                                            \
  {"convert", 0, "TYPE", "store the floats of a model as f16 or bf16, weights and what goes "      \
   "between operators; each operator still computes in f32 and rounds once at its result, and "    \
   "inputs and outputs keep their types. Or i4 or i8: the weights of products alone, as whole "    \
   "numbers in blocks of 32 with a scale each, i4:128 in blocks of 128",                           \
   .kind = WK_OPTION_STRING, .offset = offsetof(type, member)}
#define WK_COMPILE_OUTPUT_OPTIONS(type, prefix) \
  {"emit", 0, "KIND", "what to write: package (default), graph, program, dot, onnx, or what a "    \
   "target writes besides ('wick targets' says what each is)",                                     \
   .kind = WK_OPTION_STRING, .offset = offsetof(type, prefix emit),                                \
   .more = wk_compile_list_outputs},                                                               \
  WK_TARGET_OPTIONS(type, prefix target, "what to compile for,"),                                  \
  {"memory-budget", 0, "SIZE", "compute values again instead of keeping them where activations "   \
   "would take more memory than that: 64MiB, 512KiB", .kind = WK_OPTION_STRING,                    \
   .offset = offsetof(type, prefix budget)},                                                       \
  WK_CONVERT_OPTION(type, prefix convert),                                                         \
  WK_QUANTIZE_RANDOM_OPTION(type, prefix quantize),                                                \
  WK_STATE_OPTION(type, prefix state),                                                             \
  WK_NEEDED_OPTION(type, prefix needed),                                                           \
  WK_BINDING_OPTIONS(type, prefix binding)
#define WK_COMPILE_TEXT_OPTIONS(type, prefix) \
  {"stop-after", 0, "PASS", "stop there; writes the graph or the program as text",                 \
   .kind = WK_OPTION_STRING, .offset = offsetof(type, prefix stop_after)},                         \
  {"weights", 0, NULL, "write the contents of all constants in the text of a graph or a program; " \
   "otherwise those of more than 16 elements are elided, and the text cannot be read back",        \
   .kind = WK_OPTION_FLAG, .offset = offsetof(type, prefix weights)}

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

/* What can be written of a compilation. */
typedef struct {
  const char *name, *suffix; /* suffix: of the default output; NULL: standard output */
  int from;                  /* private to emission.c, and so is the rest */
  const wk_target_output *output;
  const wk_instance *instance;
} wk_emission;

typedef struct {
  const wk_compile_options *o;
  wk_arena *arena;
  const char *model, *name; /* file, and the name made of it */
  const char *command;      /* the options, as recorded in the output: without paths */
  wk_targets targets;
  const char *target;       /* "accel:base,cpu:avx2" */
  wk_emission emit;
  const char *output;       /* path; "-": standard output */
  wk_emit_files files;      /* what it consists of */
  uint64_t input_hash;
  int64_t input_bytes, output_bytes; /* output: of all files together; -1: not known */
  int64_t scratch_bytes;    /* per thread; -1: there is no code that could want any */
  int64_t predicted_cycles; /* as in wk_emit_result */
  double emit_seconds, seconds; /* seconds: of all, since the run began */
  double began;             /* wk_clock() then */
  wk_notes notes;           /* what the user should know */
  wk_str told;              /* what was asked for: text for standard error */
  wk_compiled *bound;       /* n of them */
  size_t n;
} wk_compilation;

/* Opens targets, reads bindings and checks options, which are borrowed; the model is not read yet.
 * Close it also after an error. */
wk_status wk_compilation_open(const wk_compile_options *o, const char *model,
                              wk_compilation *out) WK_MUST_CHECK;
void wk_compilation_close(wk_compilation *c);
/* Where the output will be: path, which is borrowed, or NULL: the default of its kind. "-":
 * standard output. */
wk_status wk_compilation_name_output(wk_compilation *c, const char *path) WK_MUST_CHECK;

/* Who looks on; each may be NULL. A binding as imported, then as wk_pipeline_options has it; all of
 * them before the output is written. A status ends the run. */
typedef struct {
  void (*imported)(void *ctx, const wk_module *m);
  wk_step_hook after;
  wk_status (*emitting)(void *ctx, const wk_compilation *c);
  void *ctx;
} wk_compile_watch;
/* Every binding through the pipeline, which ends with the output, where it was named. watch may be
 * NULL. */
wk_status wk_compilation_run(wk_compilation *c, const wk_compile_watch *watch) WK_MUST_CHECK;

/* The only program, or NULL when there are several parts, or none yet. */
const wk_program *wk_compiled_program(const wk_compiled *bound);
/* A module or a program (the other one NULL) as text. */
void wk_compile_print(wk_str *b, const wk_compile_options *o, const wk_module *m,
                      const wk_program *p);
/* Every figure, as JSON: docs/reports.md. */
void wk_compile_json(wk_out *out, const wk_compilation *c);
/* How long it gets at most, asked before the output is written. */
size_t wk_compile_json_size(const wk_compilation *c);
/* One line: the operator and its operands. */
void wk_inst_text(wk_str *b, const wk_program *p, const wk_inst *i);

/* ---- private --------------------------------------------------------------------------------- */

/* What o->emit names, or what is written without it. WK_USAGE: nobody writes it. */
wk_status wk_emission_find(const wk_compile_options *o, const wk_targets *t,
                           wk_emission *out) WK_MUST_CHECK;
/* Writes the output where it was named. */
wk_status wk_compilation_write(wk_compilation *c) WK_MUST_CHECK;
bool wk_emission_is_code(const wk_emission *e);
bool wk_emission_is_graph(const wk_emission *e);   /* of the module, before it is lowered */
bool wk_emission_is_program(const wk_emission *e); /* as text */
wk_status wk_compile_check_options(const wk_compile_options *o, const wk_emission *emit,
                                   size_t bindings) WK_MUST_CHECK;
/* What --convert asks for: type NONE without it, block 0 but for weights. False: it says something
 * else. */
bool wk_compile_convert(const wk_compile_options *o, wk_dtype *type, int64_t *block);
/* wk_compilation.command */
const char *wk_compile_command_text(const wk_compile_options *o, wk_arena *a);

#endif
