/* SPDX-License-Identifier: Apache-2.0
 * abi: the only thing that the compiler and the runtime share.
 *
 *   1. element types by number
 *   2. how generated code is called (entry and step functions, wick_exec)
 *   3. the package file, byte by byte
 *
 * Everything is little endian and LP64; the header is valid C and C++. A change in 2 raises
 * WICK_ABI_VERSION, a change in 3 raises WICK_FORMAT_VERSION. */
#ifndef WICK_ABI_H
#define WICK_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "packages are little endian and mapped as they are"
#endif

/* ---- 1. element types ------------------------------------------------------------------------ */

typedef enum wick_dtype {
  WICK_F32 = 1,
  WICK_F16 = 2,
  WICK_BF16 = 3,
  WICK_F64 = 4,
  WICK_I8 = 5,
  WICK_I16 = 6,
  WICK_I32 = 7,
  WICK_I64 = 8,
  WICK_U8 = 9,
  WICK_U16 = 10,
  WICK_U32 = 11,
  WICK_U64 = 12,
  WICK_BOOL = 13 /* one byte, 0 or 1 */
} wick_dtype;

#define WICK_DTYPE_COUNT 14 /* numbers below it are valid, except 0 */
#define WICK_MAX_RANK 8

/* ---- 2. generated code ----------------------------------------------------------------------- */

#define WICK_ABI_VERSION 1
#define WICK_ALIGN 64 /* of arena, scratch and every constant */

/* One piece of a parallel loop: [begin, end). `scratch` is the running thread's own. Pieces are
 * independent of each other: the result is the same for every split and every order. A task never
 * starts another parallel loop. */
typedef void (*wick_task_fn)(void *ctx, int64_t begin, int64_t end, void *scratch);

/* What generated code gets from its caller; one per session. */
typedef struct wick_exec wick_exec;
struct wick_exec {
  /* Runs fn over [0, n) in pieces of at least `grain` (the last one may be smaller); returns when
   * all are done. NULL: the code calls fn(ctx, 0, n, scratch) itself. */
  void (*parallel_for)(wick_exec *exec, wick_task_fn fn, void *ctx, int64_t n, int64_t grain);
  void *scratch;     /* of the calling thread: the entry's scratch_bytes, 64-byte aligned */
  int64_t threads;   /* that parallel_for may use, the caller's included; >= 1 */
  uint64_t *profile; /* NULL, or two per step (nanoseconds, calls): whoever calls the steps adds */
  void *owner;       /* for parallel_for's own use; generated code leaves it alone */
  int64_t error;     /* 0 before a run; a step that cannot go on sets it */
};

/* A step is one instruction of the program (a branch or loop is one step and handles its inside).
 *   exec    never NULL in a step
 *   consts  the CONST section, 64-byte aligned
 *   io      the inputs, then the outputs; each aligned to its element type at least
 *   arena   the entry's arena_bytes, aligned to its arena_align; contents undefined at the start
 * An entry calls its steps in order, and nothing else, and returns exec->error. With exec == NULL
 * (allowed for entries only, in bundles) it makes one itself: one thread, no parallel_for, scratch
 * in the bytes behind the arena, from the next multiple of 64. */
typedef void (*wick_step_fn)(wick_exec *exec, const void *consts, void *const *io, void *arena);
typedef int32_t (*wick_entry_fn)(wick_exec *exec, const void *consts, void *const *io, void *arena);

/* ---- 3. the package file --------------------------------------------------------------------- */

/* header | META ENTRIES TENSORS STEPS SYMS STRINGS | CODE | CONST
 *
 * Every kind of section occurs exactly once, in the order of the table below. A section starts at
 * the first multiple of its alignment behind its predecessor (the first one: behind the header);
 * the gap is zero. The file ends where CONST ends. Texts are offsets into STRINGS, each
 * NUL-terminated UTF-8; offset 0 is the empty text. */

#define WICK_MAGIC "WICKPKG" /* 8 bytes with its NUL */
#define WICK_FORMAT_VERSION 1
#define WICK_PAGE 4096
#define WICK_NO_CODE UINT64_MAX

/*    kind      number  alignment   bytes of a row */
#define WICK_SECTIONS(X)                                                             \
  X(META,       1,      64,         sizeof(wick_pkg_meta))    /* one row */          \
  X(ENTRIES,    2,      64,         sizeof(wick_pkg_entry))   /* one row at least */ \
  X(TENSORS,    3,      64,         sizeof(wick_pkg_tensor))                         \
  X(STEPS,      4,      64,         sizeof(wick_pkg_step))                           \
  X(SYMS,       5,      64,         sizeof(wick_pkg_symbol))                         \
  X(STRINGS,    6,      64,         1)  /* first and last byte are NUL */            \
  X(CODE,       7,      WICK_PAGE,  1)  /* position independent, calls nothing outside */ \
  X(CONST,      8,      WICK_PAGE,  1)

typedef enum wick_section_kind {
#define WICK_X(kind, number, alignment, row) WICK_SECTION_##kind = number,
  WICK_SECTIONS(WICK_X)
#undef WICK_X
} wick_section_kind;

#define WICK_SECTION_COUNT 8

typedef struct wick_pkg_section {
  uint32_t kind;
  uint32_t crc; /* CRC32C of its bytes */
  uint64_t offset;
  uint64_t size;
} wick_pkg_section;

typedef struct wick_pkg_header {
  char magic[8];
  uint32_t version;     /* WICK_FORMAT_VERSION */
  uint32_t header_size; /* sizeof(wick_pkg_header) */
  uint64_t file_size;
  uint32_t section_count; /* WICK_SECTION_COUNT */
  uint32_t crc;           /* CRC32C of this header with this field 0 */
  wick_pkg_section sections[WICK_SECTION_COUNT]; /* kind k at k - 1 */
} wick_pkg_header;

/* Machines, by their ELF numbers. */
#define WICK_MACHINE_X86_64 62
#define WICK_MACHINE_AARCH64 183

typedef struct wick_pkg_meta {
  uint32_t abi;        /* WICK_ABI_VERSION */
  uint32_t machine;    /* WICK_MACHINE_… */
  uint32_t model;      /* text: the model's name */
  uint32_t compiler;   /* text: the compiler's version */
  uint32_t flags;      /* text: the options it ran with */
  uint32_t target;     /* text: "cpu" */
  uint32_t features;   /* text: processor features, LLVM's names, one blank between two */
  uint32_t reserved;   /* 0 */
  uint64_t input_hash; /* XXH3-64 of the model file */
} wick_pkg_meta;

/* One program: the model with one binding of its shapes. */
typedef struct wick_pkg_entry {
  uint32_t name;         /* text: the binding, e.g. "batch=1" */
  uint32_t first_tensor; /* its inputs, then its outputs, are rows of TENSORS from here */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t first_step; /* rows of STEPS */
  uint32_t step_count;
  uint64_t code; /* wick_entry_fn, offset in CODE */
  uint64_t arena_bytes;
  uint64_t arena_bound; /* lower bound of arena_bytes for its order of steps; <= arena_bytes */
  uint64_t scratch_bytes; /* of each thread */
  uint32_t arena_align;   /* power of two, 64 .. WICK_PAGE */
  uint32_t reserved;      /* 0 */
} wick_pkg_entry;

typedef struct wick_pkg_tensor {
  uint32_t name;
  uint32_t dtype; /* wick_dtype */
  uint32_t rank;
  uint32_t align; /* that the buffer must have: power of two, 1 .. WICK_PAGE */
  uint64_t bytes; /* product of dims, times the element's size */
  int64_t dims[WICK_MAX_RANK]; /* >= 0; 0 beyond rank */
} wick_pkg_tensor;

typedef struct wick_pkg_step {
  uint32_t node;     /* text: the model's node (or nodes) that it came from */
  uint32_t op;       /* text: the instruction's name, e.g. "conv" */
  uint32_t text;     /* text: the whole instruction */
  uint32_t reserved; /* 0 */
  uint64_t code;     /* wick_step_fn, offset in CODE; WICK_NO_CODE: not callable by itself */
  uint64_t macs;     /* multiply-accumulates */
  uint64_t bytes;    /* read and written */
} wick_pkg_step;

typedef struct wick_pkg_symbol {
  uint32_t name;
  uint32_t reserved; /* 0 */
  uint64_t offset;   /* in CODE */
  uint64_t size;
} wick_pkg_symbol;

#ifdef __cplusplus
}
#endif
#endif
