/* SPDX-License-Identifier: Apache-2.0
 * wick_compile: the compiler as a library (libwickc.so). A compiler is made for one model, is told
 * options as `wick compile` has them, runs once, and then has outputs and messages as data. It
 * never prints, and it ends neither the process nor a thread of its own accord (see
 * wick_compiler_on_end). Compilers are independent: each may be used by another thread, one thread
 * at a time. The locale of the program does not matter. examples/compile is a whole program. */
#ifndef WICK_COMPILE_H
#define WICK_COMPILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_compiler wick_compiler;

/* Statuses, which are also the exit statuses of the command. */
enum {
  WICK_COMPILE_OK = 0,
  WICK_COMPILE_USAGE = 2,       /* an option that there is not, or that does not fit the model */
  WICK_COMPILE_INPUT = 3,       /* malformed or inconsistent model */
  WICK_COMPILE_UNSUPPORTED = 4, /* a model that this version does not handle */
  WICK_COMPILE_IO = 5,          /* a file cannot be read or written */
  WICK_COMPILE_RESOURCE = 6,    /* a limit (memory, nodes, depth) is exceeded */
  WICK_COMPILE_INTERNAL = 7     /* a bug: the compiler refused its own work */
};

/* For the model in a file, which is read when the compiler runs; the path is copied. NULL: there is
 * no memory; where a little of it is missing only later, the process is aborted, as there is no
 * wick_compiler_on_end yet. */
wick_compiler *wick_compiler_new(const char *path);
/* For a model of `size` bytes at `data`, borrowed until it has run, that messages and names call
 * `name`, the name of a file. There are no files of external data beside it. */
wick_compiler *wick_compiler_new_memory(const char *name, const void *data, size_t size);
void wick_compiler_free(wick_compiler *c); /* NULL ok */

/* An option of `wick compile` that says what is compiled and how: "target", "bind", "effort",
 * "emit" and the like, without dashes. value NULL: of a flag. Those that the command lets repeat
 * ("bind", "shape") are added, others take the place of an earlier value. Both are copied. "plugin"
 * loads a target from a shared object at once, for all compilers of the process: before any of them
 * is used by a second thread. WICK_PLUGINS in the environment is for the command alone. */
int wick_compiler_set(wick_compiler *c, const char *option, const char *value);
/* Options by number: their names, what their values look like (NULL: a flag), and their texts.
 * NULL past the last; else valid until the next call. */
typedef struct {
  size_t size; /* of this struct as the library has it */
  const char *name, *value, *help;
} wick_compile_option;
const wick_compile_option *wick_compiler_option(wick_compiler *c, size_t i);

/* What to do when it cannot go on, in the thread that runs it or sets an option: out of memory
 * ("out of memory"), a bug of its own, or an error within LLVM that it has no way back from. `end`
 * must not return; it may end the thread or the process, or jump out with longjmp: then the
 * compiler and all that it holds, and a folder wick-XXXXXX in $TMPDIR, are lost, and it must
 * neither be used nor freed. Without it the process is aborted.
 * LLVM and C++'s operator new have one handler each in a process, which the first run sets; that
 * of operator new calls the one that was there for threads that do not compile. */
void wick_compiler_on_end(wick_compiler *c, void (*end)(void *ctx, const char *why), void *ctx);

/* Compiles. Once: a second time is WICK_COMPILE_USAGE. */
int wick_compiler_run(wick_compiler *c);

/* What it has said, in order: notes about a model that compiles, errors. */
typedef struct {
  size_t size;         /* of this struct as the library has it */
  int code;            /* WICK_COMPILE_OK: a note */
  const char *place;   /* a file, a node, an option; NULL: nothing in particular */
  const char *text;    /* one line */
  const char *details; /* lines of a list, each with its newline; NULL: none */
} wick_compile_message;
const wick_compile_message *wick_compiler_message(const wick_compiler *c, size_t i);

/* What it has made, after a run that succeeded: the package, text or model that "emit" names, or
 * the files of a bundle. */
typedef struct {
  size_t size;       /* of this struct as the library has it */
  const char *name;  /* as the command would call the file */
  const void *data;
  size_t bytes;
} wick_compile_output;
const wick_compile_output *wick_compiler_output(const wick_compiler *c, size_t i);
/* Every figure of the compilation as JSON, as `wick compile --report` writes it. NULL before. */
const char *wick_compiler_report(const wick_compiler *c);

#ifdef __cplusplus
}
#endif

#endif
