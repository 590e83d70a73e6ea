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
  WICK_BOOL = 13, /* one byte, 0 or 1 */
  /* One element per byte, in its low bits. Integers are sign- or zero-extended to the byte; floats
   * are patterns of sign, exponent and mantissa (f8e8m0fnu: exponent alone). */
  WICK_I4 = 14,
  WICK_U4 = 15,
  WICK_I2 = 16,
  WICK_U2 = 17,
  WICK_F8E4M3FN = 18,
  WICK_F8E4M3FNUZ = 19,
  WICK_F8E5M2 = 20,
  WICK_F8E5M2FNUZ = 21,
  WICK_F4E2M1FN = 22,
  WICK_F6E2M3FN = 23,
  WICK_F6E3M2FN = 24,
  WICK_F8E8M0FNU = 25
} wick_dtype;

#define WICK_DTYPE_COUNT 26 /* numbers below it are valid, except 0 */
#define WICK_MAX_RANK 8

/* ---- 2. generated code ----------------------------------------------------------------------- */

#define WICK_ABI_VERSION 4
#define WICK_ALIGN 64 /* of arena, scratch and every constant */

/* One piece of a parallel loop: [begin, end). `scratch` is the running thread's own. Pieces are
 * independent of each other: the result is the same for every split and every order. A task never
 * starts another parallel loop. */
typedef void (*wick_task_fn)(void *ctx, int64_t begin, int64_t end, void *scratch);

/* A routine of the program that a custom operator calls, below; 0: it is done. */
typedef struct wick_call wick_call;
typedef int32_t (*wick_routine_fn)(const wick_call *call);

/* What generated code gets from its caller; one per session. */
typedef struct wick_exec wick_exec;
struct wick_exec {
  /* Runs fn over [0, n) in pieces of at least `grain` (the last one may be smaller); returns when
   * all are done. NULL: the code calls fn(ctx, 0, n, scratch) itself. */
  void (*parallel_for)(wick_exec *exec, wick_task_fn fn, void *ctx, int64_t n, int64_t grain);
  void *scratch;     /* of the calling thread: the entry's scratch_bytes, 64-byte aligned */
  int64_t threads;   /* that parallel_for may use, the caller's included; >= 1 */
  uint64_t *work;    /* NULL, or three numbers that the code adds to, as in wick_step_work */
  void *owner;       /* for parallel_for's own use; generated code leaves it alone */
  int64_t error;     /* 0 before a run; a step that cannot go on sets it: WICK_ERROR_… */
  void *state;       /* the model's STATE memory, 64-byte aligned; NULL: there is none */
  int64_t *output_dims; /* NULL, or WICK_MAX_RANK per output: where code puts the dims of outputs
                           that are WICK_TENSOR_BOUND; it leaves the others alone */
  const wick_routine_fn *routines; /* those that the unit's section WICK_SECTION_ROUTINES names, in
                                      its order; not read where there is none, nor in bundles, whose
                                      code calls them by name */
};

enum {
  WICK_ERROR_INDEX = 1,  /* an index, or an offset of a segment, is out of range */
  WICK_ERROR_ROUTINE = 4 /* a routine has failed; what it returned lies above the low 32 bits */
};

/* Custom operators: what a routine of the program is given. Tensors are row-major without gaps and
 * aligned to their elements; a routine writes all of its outputs, and nothing else. It may be
 * called by several threads at once, for different sessions. */
typedef struct wick_call_tensor {
  void *data; /* of inputs, only read; of an output that nobody reads NULL */
  const int64_t *dims;
  uint32_t dtype; /* wick_dtype */
  uint32_t rank;
} wick_call_tensor;

/* An attribute: a number, or as many as a list has. Of an attribute that is a word: its position
 * among those that the operator's row lists. */
typedef struct wick_call_attribute {
  const double *values;
  int64_t count;
} wick_call_attribute;

struct wick_call {
  const wick_call_tensor *inputs;
  const wick_call_tensor *outputs;
  const wick_call_attribute *attributes; /* in the order of the operator's row */
  uint32_t input_count, output_count, attribute_count, reserved;
  wick_exec *exec; /* of the run, whose parallel_for may be used, if it has one; tasks then ignore
                      their scratch. NULL: there is none */
};

/* A step is one instruction of the program (a branch or loop is one step and handles its inside).
 *   exec    never NULL in a step
 *   consts  the unit's CONST section, 64-byte aligned
 *   io      the inputs, then the outputs; each aligned to its element type at least
 *   arena   the part's arena_bytes, aligned to its arena_align; contents undefined at the start
 * An entry calls its steps in order, and nothing else, and returns exec->error. With exec == NULL
 * (allowed for entries only, in bundles) it makes one itself, which ends before `state`: one
 * thread, no parallel_for, scratch in the bytes behind the arena, from the next multiple of 64.
 * Code that has state or output dims is never called so. */
typedef void (*wick_step_fn)(wick_exec *exec, const void *consts, void *const *io, void *arena);
typedef int32_t (*wick_entry_fn)(wick_exec *exec, const void *consts, void *const *io, void *arena);

/* ---- 3. the package file --------------------------------------------------------------------- */

/* header | table of sections | META UNITS PARTS ENTRIES TENSORS PLAN REFS STEPS STATES LABELS
 *        | EXTENTS SYMS STRINGS | sections of unit 0 | sections of unit 1 | … | STATE
 *
 * The shared tables occur once each, in the order of the list below, empty or not. Of a unit come
 * CODE, CONST, then what its target calls sections of its own, each only where there is one; STATE
 * comes last, where there are rows in STATES. A section starts at the first multiple of its
 * alignment behind its predecessor (the first one: behind the table); the gap is zero. The file
 * ends where the last section ends. Texts are offsets into STRINGS, each NUL-terminated UTF-8;
 * offset 0 is the empty text.
 *
 * A unit is what one target compiled. A part is a piece of the model that a unit computes in one
 * call; an entry is the model with one binding of its shapes: tensors, and a plan that runs parts
 * on them. */

#define WICK_MAGIC "WICKPKG" /* 8 bytes with its NUL */
#define WICK_FORMAT_VERSION 6
#define WICK_PAGE 4096
#define WICK_NONE UINT32_MAX
#define WICK_NO_CODE UINT64_MAX

/*    kind      number  bytes of a row; the alignment of these is WICK_ALIGN */
#define WICK_TABLES(X)                                                 \
  X(META,       1,      sizeof(wick_pkg_meta))  /* one row */          \
  X(UNITS,      2,      sizeof(wick_pkg_unit))                         \
  X(PARTS,      3,      sizeof(wick_pkg_part))                         \
  X(ENTRIES,    4,      sizeof(wick_pkg_entry)) /* one row at least */ \
  X(TENSORS,    5,      sizeof(wick_pkg_tensor))                       \
  X(PLAN,       6,      sizeof(wick_pkg_row))                          \
  X(REFS,       7,      sizeof(uint32_t))                              \
  X(STEPS,      8,      sizeof(wick_pkg_step))                         \
  X(STATES,     9,      sizeof(wick_pkg_state))                        \
  X(LABELS,     10,     sizeof(wick_pkg_labels))                       \
  X(EXTENTS,    11,     sizeof(wick_pkg_extent))                       \
  X(SYMS,       12,     sizeof(wick_pkg_symbol))                       \
  X(STRINGS,    13,     1) /* first and last byte are NUL */

#define WICK_TABLE_COUNT 13

typedef enum wick_section_kind {
#define WICK_X(kind, number, row) WICK_SECTION_##kind = number,
  WICK_TABLES(WICK_X)
#undef WICK_X
  WICK_SECTION_CODE = 32,  /* of a unit: position independent, calls nothing outside; page */
  WICK_SECTION_CONST = 33, /* of a unit; page */
  WICK_SECTION_STATE = 34, /* what the model's state is at first; what it lacks, up to the end of
                              the last tensor of STATES, is zeros; page */
  WICK_SECTION_OWN = 64    /* and up, one after the other: a target's own, told by their names */
} wick_section_kind;

/* The name of a section of a unit with CODE: names of routines, each NUL-terminated. */
#define WICK_SECTION_ROUTINES "routines"

typedef struct wick_pkg_section {
  uint32_t kind;
  uint32_t unit;  /* row of UNITS; WICK_NONE: a shared table, STATE */
  uint32_t name;  /* text, of kinds from WICK_SECTION_OWN; else 0 */
  uint32_t align; /* power of two, WICK_ALIGN .. WICK_PAGE */
  uint64_t offset;
  uint64_t size;
  uint32_t crc; /* CRC32C of its bytes */
  uint32_t reserved; /* 0 */
} wick_pkg_section;

typedef struct wick_pkg_header {
  char magic[8];
  uint32_t version;     /* WICK_FORMAT_VERSION */
  uint32_t header_size; /* sizeof(wick_pkg_header); the table begins there */
  uint64_t file_size;
  uint32_t section_count; /* rows of the table, WICK_TABLE_COUNT at least */
  uint32_t crc;           /* CRC32C of this header, with this field 0, and of the table */
} wick_pkg_header;

typedef struct wick_pkg_meta {
  uint32_t abi;        /* WICK_ABI_VERSION */
  uint32_t model;      /* text: the model's name */
  uint32_t compiler;   /* text: the compiler's version */
  uint32_t flags;      /* text: the options it ran with */
  uint64_t input_hash; /* XXH3-64 of the model file */
} wick_pkg_meta;

/* Machines, by their ELF numbers. */
#define WICK_MACHINE_X86_64 62
#define WICK_MACHINE_AARCH64 183

typedef struct wick_pkg_unit {
  uint32_t target;   /* text: "cpu"; names the device that runs it */
  uint32_t spec;     /* text: what of the target it was compiled for: "avx512", "base" */
  uint32_t features; /* text: what the device must have; "cpu": processor features, LLVM's names,
                        one blank between two */
  uint32_t machine;  /* WICK_MACHINE_…; 0: none of them */
  uint64_t machine_hash;  /* of a machine description; 0: none */
  uint32_t first_section; /* rows of the section table */
  uint32_t section_count;
} wick_pkg_unit;

typedef struct wick_pkg_part {
  uint32_t name; /* text */
  uint32_t unit;
  uint32_t first_tensor; /* rows of TENSORS: its inputs, then its outputs */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t first_step; /* rows of STEPS */
  uint32_t step_count;
  uint32_t arena_align;   /* power of two, WICK_ALIGN .. WICK_PAGE */
  uint64_t code;          /* in a unit with CODE its wick_entry_fn, else the target's number */
  uint64_t arena_bytes;   /* of host memory */
  uint64_t arena_bound;   /* lower bound of arena_bytes for its order of steps; <= arena_bytes */
  uint64_t scratch_bytes; /* of each thread */
} wick_pkg_part;

enum {
  WICK_ENTRY_READS_STATE = 1,
  WICK_ENTRY_WRITES_STATE = 2
};

/* One program: the model with one binding of its shapes. Its tensors are numbered: inputs, outputs,
 * then edges, which are what one row of the plan leaves for another. */
typedef struct wick_pkg_entry {
  uint32_t name;         /* text: the binding, e.g. "batch=1" */
  uint32_t flags;        /* WICK_ENTRY_… */
  uint32_t first_tensor; /* rows of TENSORS */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t edge_count;
  uint32_t first_row; /* rows of PLAN */
  uint32_t row_count;
  uint64_t edge_bytes; /* of edge memory */
  uint32_t edge_align; /* power of two, WICK_ALIGN .. WICK_PAGE */
  uint32_t reserved;   /* 0 */
} wick_pkg_entry;

/* Where the bytes of a tensor are. */
typedef enum wick_place {
  WICK_PLACE_CALLER = 0, /* where the caller says: inputs and outputs of entries and parts */
  WICK_PLACE_EDGE = 1,   /* in the entry's edge memory */
  WICK_PLACE_INPUT = 2,  /* in input `index` */
  WICK_PLACE_OUTPUT = 3, /* in output `index` */
  WICK_PLACE_ARENA = 4,  /* in the part's arena */
  WICK_PLACE_STATE = 5,  /* in the model's state */
  WICK_PLACE_DEVICE = 6  /* of a step, in a unit without CODE: the device knows, and its row says
                            no more than the dims, as of a tensor without gaps at offset 0 */
} wick_place;

enum {
  WICK_TENSOR_BOUND = 1 /* an input or output whose dims are the most that there may be; what the
                           caller gives or finds is row-major in the dims of the run. EXTENTS say
                           which these are, or of an output the part (wick_exec.output_dims) */
};

/* Element p lies at bit 8 * offset + bits * (sum of p[k] * strides[k]) of its place. Inputs and
 * outputs of entries, and states, are row-major without gaps. Edges, inputs and outputs of parts
 * may have gaps, their strides are >= 0. The tensors of steps are any views. */
typedef struct wick_pkg_tensor {
  uint32_t name;   /* text */
  uint32_t dtype;  /* wick_dtype */
  uint32_t bits;   /* of an element */
  uint32_t rank;
  uint32_t flags;  /* WICK_TENSOR_… */
  uint32_t align;  /* that its first byte must have: power of two, 1 .. WICK_PAGE */
  uint32_t place;  /* wick_place */
  uint32_t index;  /* of the input or output that holds it; else 0 */
  uint64_t offset; /* of element 0 in its place; 0 in WICK_PLACE_CALLER */
  uint64_t bytes;  /* from its first byte to behind its last; 0 when a dim is 0 */
  int64_t dims[WICK_MAX_RANK];    /* >= 0; 0 beyond rank */
  int64_t strides[WICK_MAX_RANK]; /* elements; 0 beyond rank */
} wick_pkg_tensor;

/* A row of a plan. The rows of bodies follow their owner, so that a plan is a tree in pre-order and
 * a row is known by its number in its entry. Rows begin in order; before one begins, all rows that
 * it waits for have finished. A row with a body has finished when its body has; a row that a branch
 * passed by counts as finished. An iteration begins when all rows of the one before have finished.
 *   RUN    part on refs: tensors for its inputs, then its outputs
 *   COPY   refs: source, destination; `bytes` bytes from source_offset + i * source_step of the one
 *          to destination_offset + i * destination_step of the other, where i is the iteration of
 *          the innermost loop around (0 outside)
 *   IF     refs: bool[] condition; the next body_count rows when it is true, else the else_count
 *          rows behind those
 *   LOOP   refs: bool[] condition, tested before every iteration, or WICK_NONE; i64[] that gets the
 *          iteration's number, or WICK_NONE. body_count rows, at most `trip` times */
typedef enum wick_row_kind {
  WICK_ROW_RUN = 1,
  WICK_ROW_COPY = 2,
  WICK_ROW_IF = 3,
  WICK_ROW_LOOP = 4
} wick_row_kind;

typedef struct wick_pkg_row {
  uint32_t kind;       /* wick_row_kind */
  uint32_t part;       /* RUN; else 0 */
  uint32_t first_ref;  /* REFS: numbers of the entry's tensors */
  uint32_t ref_count;
  uint32_t first_wait; /* REFS: numbers of the entry's rows, each before this one, none around it */
  uint32_t wait_count;
  uint32_t body_count; /* IF, LOOP; else 0 */
  uint32_t else_count; /* IF; else 0 */
  int64_t trip;        /* LOOP: >= 0; else 0 */
  uint64_t bytes;      /* COPY; else 0, and so are the following */
  int64_t source_offset, source_step;
  int64_t destination_offset, destination_step;
} wick_pkg_row;

typedef struct wick_pkg_step {
  uint32_t node; /* text: the model's node (or nodes) that it came from */
  uint32_t op;   /* text: the instruction's name, e.g. "conv" */
  uint32_t text; /* text: the whole instruction */
  uint32_t first_tensor; /* rows of TENSORS: what it leaves. Without a name: a piece of one */
  uint32_t tensor_count;
  uint32_t reserved; /* 0 */
  uint64_t code;  /* in a unit with CODE its wick_step_fn there, else the target's number;
                     WICK_NO_CODE: it cannot be told apart from the others of its part */
  uint64_t macs;  /* multiply-accumulates */
  uint64_t bytes; /* read and written */
} wick_pkg_step;

enum {
  WICK_STATE_PUBLIC = 1 /* has a name in the model */
};

typedef struct wick_pkg_state {
  uint32_t tensor; /* row of TENSORS, in WICK_PLACE_STATE; no two overlap */
  uint32_t flags;  /* WICK_STATE_… */
} wick_pkg_state;

/* What the numbers of an output stand for, where the model has strings or maps. REFS has a text for
 * each number from 0 to count - 1. */
typedef enum wick_labels_kind {
  WICK_LABELS_ELEMENTS = 1, /* the elements, i64, are such numbers */
  WICK_LABELS_COLUMNS = 2   /* positions along the last axis are */
} wick_labels_kind;

enum {
  WICK_LABELS_NUMBERS = 1 /* the texts are decimal numbers and stand for these */
};

typedef struct wick_pkg_labels {
  uint32_t entry;  /* (entry, output) ascends */
  uint32_t output; /* number among the entry's outputs */
  uint32_t kind;   /* wick_labels_kind */
  uint32_t flags;  /* WICK_LABELS_… */
  uint32_t first_ref; /* REFS: texts, behind what the entry's plan has there */
  uint32_t count;  /* 1 at least; of columns: the last dim */
} wick_pkg_labels;

/* A size that a run decides: along `axis` an input or output has dims[axis] elements at most. Each
 * input that is a bound has such rows. Before a run the session copies what the caller gives into
 * the input's stage, among the elements of the bound (others stay as they are, zeros at first), and
 * writes the sizes; no row of the plan mentions such an input, or writes to bytes of its stage or
 * its sizes. Of an output parts write the elements of the bound, and the session moves those of the
 * run together; their tensors are no bounds. */
typedef struct wick_pkg_extent {
  uint32_t entry;  /* (entry, tensor, axis) ascends */
  uint32_t tensor; /* number among the entry's tensors: an input or output, WICK_TENSOR_BOUND */
  uint32_t axis;
  uint32_t size;   /* number among the entry's tensors: an edge, i64[], in WICK_PLACE_EDGE, which
                      has the size: of an input before the plan, of an output behind it. Inputs that
                      name the same one have the same size in every run */
  uint32_t stage;  /* of an input, in all its rows: the edge that parts read in its place, of its
                      type and dims, without gaps, in WICK_PLACE_EDGE; else WICK_NONE */
  uint32_t name;   /* text: what the size is called, "seq" */
  int64_t least;   /* of an input: the smallest; else 0 */
} wick_pkg_extent;

typedef struct wick_pkg_symbol {
  uint32_t name;
  uint32_t unit;   /* ascending */
  uint64_t offset; /* in the unit's CODE */
  uint64_t size;
} wick_pkg_symbol;

#ifdef __cplusplus
}
#endif
#endif
