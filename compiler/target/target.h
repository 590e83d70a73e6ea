/* SPDX-License-Identifier: Apache-2.0
 * target: what a target is (rank 2). The core never asks which target it compiles for; what differs
 * is data here and code in the target's folder. */
#ifndef WICK_TARGET_H
#define WICK_TARGET_H

#include "compiler/ir/ir.h"

typedef struct wk_target wk_target;

/* What the target can emit (`--emit`). */
typedef enum {
  WK_EMIT_PACKAGE, WK_EMIT_BUNDLE, WK_EMIT_OBJECT, WK_EMIT_ASM, WK_EMIT_LLVM_IR
} wk_emit_kind;

/* What --cpu stands for. */
typedef struct {
  const char *name; /* static */
  bool is_here;     /* its code runs on this machine */
} wk_processor;

/* The files of one emission. */
enum { WK_EMIT_MAX_FILES = 3 };
typedef struct {
  const char *path[WK_EMIT_MAX_FILES];
  size_t n; /* 0: standard output */
} wk_emit_files;

/* What emission finds out. */
typedef struct {
  int64_t scratch_bytes; /* the most that a program wants of each thread */
} wk_emit_result;

typedef struct {
  const char *cpu;          /* --cpu; NULL = the host */
  const char *model_name;   /* base of symbols and of the files of a bundle */
  const char *command;      /* flags as recorded in the package */
  uint64_t input_hash;
  wk_emit_result *result;   /* filled by emit; NULL ok */
} wk_emit_options;

struct wk_target {
  const char *name;              /* "cpu" */
  const char *doc;
  bool channels_last;            /* prefers activations with the channel axis fastest */
  int64_t act_align;             /* alignment of placed buffers, bytes */
  /* cpu: as in wk_emit_options. WK_USAGE when there is no such processor. */
  wk_status (*machine)(const char *cpu, wk_processor *out);
  /* True when the target has code for the instruction; else *reason says why not. */
  bool (*supports)(const wk_target *t, const wk_program *p, const wk_inst *i, const char **reason);
  /* Target's own instruction passes before placement: packing of constants, scratch buffers. */
  wk_status (*prepare)(const wk_target *t, wk_program *p, const wk_emit_options *o);
  /* What emit writes when it is given this path; text in the arena. WK_USAGE: it is no name for
   * what is emitted. */
  wk_status (*files)(wk_emit_kind kind, const char *path, wk_arena *a, wk_emit_files *out);
  /* Writes these files. programs: one per shape binding, sharing weights. */
  wk_status (*emit)(const wk_target *t, wk_emit_kind kind, wk_program *const *programs, size_t n,
                    const wk_emit_options *o, const char *path);
};

#endif
