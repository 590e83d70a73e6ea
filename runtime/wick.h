/* SPDX-License-Identifier: Apache-2.0
 * wick: loads a package made by `wick compile` and runs it.
 *
 *   wick_model    a loaded package; immutable, shared by any number of threads
 *   wick_session  what one run needs: arena, scratch, threads. One caller at a time; as many
 *                 sessions of a model as wanted run at the same time and share its weights
 *
 *   wick_model *model;
 *   wick_session *session;
 *   wick_model_load("net.wick", NULL, &model);
 *   wick_session_create(model, 0, 2, &session);
 *   wick_session_run(session, inputs, outputs);
 *   wick_session_free(session);
 *   wick_model_free(model);
 *
 * Functions return a status and set their out-parameter only when it is WICK_OK. Nothing prints,
 * nothing exits, and a damaged package is refused. Memory is allocated by load, create and allocate
 * only, beside what drivers of devices do. What runs the parts of a package is in device.h; the
 * processor and OpenCL are built in.
 *
 * Structs that later versions may extend begin with `size`, in bytes; new fields come at the end.
 *   …_options  are the program's, which sets size to sizeof. What is missing at the end has its
 *              default. WICK_BAD_ARGUMENT: a size that was forgotten (no version had one so small),
 *              or something else than zeros behind what this library knows
 *   …_info     and wick_labels are the library's, which has set size to its own sizeof: a newer
 *              field is there where it lies below size. Rows of a list (inputs, steps, units …) are
 *              `size` apart. As programs in C index them, only model, entry and part grow while the
 *              SOVERSION stays; other languages may compare size with what they have declared
 * All others stay as they are while the SOVERSION stays.
 *
 * The floating-point environment is used as it is found. A process that is forked has none of the
 * threads: sessions of the processor go on there on one, those of OpenCL say WICK_DEVICE_FAILED;
 * all can be freed. */
#ifndef WICK_H
#define WICK_H

#include <stddef.h>

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wick_status {
  WICK_OK = 0,
  WICK_BAD_ARGUMENT = 1,  /* NULL, out of range, or a buffer that is not aligned as it must be */
  WICK_CANNOT_READ = 2,   /* the file cannot be opened, mapped or read */
  WICK_NOT_PACKAGE = 3,   /* it is something else */
  WICK_BAD_VERSION = 4,   /* a package of another format or ABI version */
  WICK_CORRUPT = 5,       /* truncated, a checksum differs, or a table contradicts itself */
  WICK_BAD_MACHINE = 6,   /* made for another architecture or for features this processor lacks */
  WICK_NO_MEMORY = 7,
  WICK_NO_THREAD = 8,     /* the system gives no further thread */
  WICK_NO_ENTRY = 9,      /* no entry has these input shapes */
  WICK_NO_STEPS = 10,     /* the entry's steps cannot be called one by one */
  WICK_BUSY = 11,         /* the session is in use by another thread, or its state is */
  WICK_RUN_FAILED = 12,   /* a step met values that it cannot handle */
  WICK_CANNOT_WRITE = 13, /* a symbol map or state that was asked for */
  WICK_NO_DEVICE = 14,    /* the program has no device for a part's target */
  WICK_NO_STATE = 15,     /* the model has none, or the session not the one that its entry needs */
  WICK_BAD_STATE = 16,    /* a state of another model, or no state at all */
  WICK_DEVICE_FAILED = 17, /* a device stopped working */
  WICK_REFUSED = 18,       /* a load option or the verifier refuses the package */
  WICK_NO_ROUTINE = 19     /* a custom operator calls what the program has not registered */
} wick_status;

/* One line for each status; never NULL, static storage. */
const char *wick_status_text(wick_status status);
/* "f32", "i64", …; "?" for a number that is no type. */
const char *wick_dtype_name(wick_dtype dtype);
/* Bytes of one element; 0 for a number that is no type. */
size_t wick_dtype_bytes(wick_dtype dtype);

/* ---- model ----------------------------------------------------------------------------------- */

typedef struct wick_model wick_model;

/* What went wrong, by name: "this processor lacks avx512f avx512vl". Empty after success. */
typedef struct wick_error_detail {
  char text[256];
} wick_error_detail;

enum {
  WICK_LOAD_UNCHECKED = 1, /* don't verify checksums (every offset still, and with VERIFY all) */
  WICK_LOAD_PERF_MAP = 2,  /* names for perf: /tmp/perf-PID.map; so does WICK_PERF_MAP=1 in the
                              environment */
  WICK_LOAD_GDB = 4,       /* names for gdb (its JIT interface); so does WICK_GDB=1 */
  WICK_LOAD_DESCRIBE = 8,  /* packages for other machines and devices too; the model has no
                              sessions then: wick_session_create says WICK_BAD_MACHINE */
  WICK_LOAD_VERIFY = 16,   /* the same, and what only devices can read of it is verified by them,
                              all but machine code and source, which nobody can verify. Nothing is
                              run, built or opened. WICK_NO_DEVICE: a target has no device here */
  WICK_LOAD_NO_NATIVE_CODE = 32 /* WICK_REFUSED: a unit has machine code, or source that becomes
                                   such. What is left runs on devices that check every command */
};

/* A piece of a package: "HEADER", which is the header with the table of sections, or a section. */
typedef struct wick_piece {
  const char *name; /* "META", "CODE", or of an own section of a target its number: "64" */
  uint32_t unit;    /* WICK_NONE: of all */
  uint64_t offset;  /* in the file */
  const void *data;
  size_t size;
} wick_piece;

/* Says whether the package may be used: WICK_OK, or a status and the reason in `detail`, which is
 * never NULL. It is called once, before anything but header and table of sections has been looked
 * at, with HEADER and then every section, in the order of the file; the bytes between them are
 * zeros. The pieces are the whole file, and they are what is used afterwards: private memory that
 * no other process can change. (libwick_verify has one for ed25519 signatures.) */
typedef wick_status (*wick_verifier)(void *user, const wick_piece *pieces, uint32_t count,
                                     wick_error_detail *detail);

typedef struct wick_load_options {
  uint32_t size;             /* sizeof(wick_load_options) */
  uint32_t flags;            /* WICK_LOAD_… */
  wick_error_detail *detail; /* may be NULL */
  wick_verifier verifier;    /* NULL: a package is trusted. Otherwise the file is read, not mapped,
                                and data in memory is copied */
  void *user;                /* of the verifier */
  uint64_t memory_limit;     /* bytes that the model, or a session of it, may allocate at most for
                                what the package asks for; 0, or more: what the machine has.
                                Beyond it: WICK_NO_MEMORY, before anything is allocated */
} wick_load_options;

/* Maps the package at `path`. The file stays mapped until wick_model_free and must not be changed
 * in place (replacing it by rename is fine). options may be NULL. */
wick_status wick_model_load(const char *path, const wick_load_options *options, wick_model **out);
/* The same from memory, which stays the caller's and must stay as it is until wick_model_free.
 * Weights are used where they are when `data` is 64-byte aligned, and copied otherwise. */
wick_status wick_model_load_memory(const void *data, size_t size, const wick_load_options *options,
                                   wick_model **out);
/* After the last of its sessions. NULL is fine. */
void wick_model_free(wick_model *model);

typedef struct wick_tensor_info {
  uint32_t size;
  const char *name;
  wick_dtype dtype;
  uint32_t rank;
  int64_t dims[WICK_MAX_RANK];
  size_t bytes; /* from its first byte to behind its last */
  size_t align; /* required of the buffer; 64 is fastest */
  uint32_t bits; /* of an element */
  int is_bound;  /* an input or output whose dims are the most there may be:
                    wick_session_set_input_dims, wick_session_output_dims */
  int64_t strides[WICK_MAX_RANK]; /* elements; of inputs and outputs row-major */
  wick_place place;
  uint32_t index;
  int64_t offset; /* as in abi.h */
} wick_tensor_info;

typedef struct wick_step_info {
  uint32_t size;
  const char *node; /* of the model */
  const char *op;
  const char *text; /* the instruction */
  uint64_t macs;
  uint64_t bytes; /* read and written */
  const wick_tensor_info *tensors; /* that it leaves, see wick_session_read_tensor; one without a
                                      name is a piece of a tensor */
  uint32_t tensor_count;
} wick_step_info;

/* A piece of the model that one device computes in one call. */
typedef struct wick_part_info {
  uint32_t size;
  const char *name;
  const char *target; /* of its unit */
  uint32_t unit;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t step_count;
  const wick_tensor_info *inputs;
  const wick_tensor_info *outputs;
  const wick_step_info *steps;
  size_t arena_bytes;
  size_t arena_bound;   /* the least that any placement could need */
  size_t scratch_bytes; /* of each thread */
  uint64_t code;        /* as in abi.h */
} wick_part_info;

/* What the numbers of an output stand for, where the model has strings or maps. */
typedef struct wick_labels {
  uint32_t size;
  uint32_t output;
  wick_labels_kind kind;    /* elements of the output, or positions along its last axis */
  int are_numbers;          /* the texts are decimal numbers and stand for these */
  uint32_t count;
  const char *const *texts; /* of 0, 1 … count - 1 */
} wick_labels;

/* A size that a run decides. Along the axis its tensor has as many elements as dims say at most. */
typedef struct wick_extent_info {
  uint32_t size;
  uint32_t tensor; /* inputs are numbered first, then outputs */
  uint32_t axis;
  const char *name; /* what the size is called, "seq" */
  int64_t least;    /* of an input: the smallest; else 0 */
} wick_extent_info;

/* What the entry does, in order; a part that is used twice is there twice. `steps` are those of its
 * parts, one part after the other. */
typedef struct wick_entry_info {
  uint32_t size;
  const char *name;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t step_count;
  int has_steps; /* wick_session_run_profiled, _counted, _observed and _timed work */
  const wick_tensor_info *inputs;
  const wick_tensor_info *outputs;
  const wick_step_info *steps;
  size_t arena_bytes; /* of a session: for each unit the most that a part needs, and the edges */
  size_t arena_bound; /* the same with the least that any placement could need */
  size_t scratch_bytes; /* of each thread: the most that a part needs */
  const wick_part_info *const *parts;
  uint32_t part_count;
  uint32_t edge_count;
  const wick_tensor_info *edges; /* what parts leave for each other */
  size_t edge_bytes;
  int reads_state; /* or writes it: wick_session_bind_state comes before the first run */
  int writes_state;
  uint32_t labels_count;
  const wick_labels *labels; /* of outputs that have some, ascending */
  uint32_t extent_count;
  const wick_extent_info *extents; /* (tensor, axis) ascends */
} wick_entry_info;

typedef struct wick_section_info {
  uint32_t size;
  const char *name;
  uint32_t unit; /* WICK_NONE: of all */
  uint64_t offset;
  uint64_t bytes;
  uint32_t crc;
} wick_section_info;

/* What one target compiled. */
typedef struct wick_unit_info {
  uint32_t size;
  const char *target;
  const char *spec;     /* what of the target: "avx512", "base" */
  const char *machine;  /* "x86_64", "aarch64"; "" where that means nothing */
  const char *features; /* required, e.g. "avx2 fma" */
  uint64_t machine_hash; /* 0: none */
  uint32_t part_count;
} wick_unit_info;

typedef struct wick_state_info {
  uint32_t size;
  const wick_tensor_info *tensor;
  int is_public; /* has a name in the model */
} wick_state_info;

typedef struct wick_model_info {
  uint32_t size;
  const char *name;
  const char *compiler; /* version */
  const char *flags;    /* the compiler's options */
  uint64_t input_hash;
  uint64_t file_bytes;
  uint32_t format_version;
  uint32_t entry_count;
  uint32_t unit_count;
  uint32_t state_count;
  uint32_t section_count;
  const wick_unit_info *units;
  const wick_state_info *states;
  const wick_section_info *sections;
  size_t state_bytes;
  int has_native_code; /* WICK_LOAD_NO_NATIVE_CODE would refuse it */
} wick_model_info;

/* What these return lives as long as the model. */
const wick_model_info *wick_model_describe(const wick_model *model);
/* NULL when there is no such entry. */
const wick_entry_info *wick_model_entry(const wick_model *model, uint32_t index);

/* The labels of an output; NULL: it has none. */
const wick_labels *wick_output_labels(const wick_entry_info *entry, uint32_t output);
/* What `number`, an element of the output or a position along its last axis, stands for; NULL:
 * there are no labels, or not so many. */
const char *wick_output_label(const wick_entry_info *entry, uint32_t output, int64_t number);

typedef struct wick_shape {
  uint32_t rank;
  int64_t dims[WICK_MAX_RANK];
} wick_shape;

/* The first entry whose inputs have exactly these shapes, in order, or may have them. */
wick_status wick_model_find_entry(const wick_model *model, const wick_shape *inputs, uint32_t count,
                                  uint32_t *index);

/* 1: this processor (and its operating system) has it, 0: it has not, -1: not a name that the
 * runtime knows. Names are LLVM's: "avx2", "avx512vnni", "amx-int8", "dotprod". */
int wick_cpu_has(const char *feature);

/* ---- session --------------------------------------------------------------------------------- */

typedef struct wick_session wick_session;

#define WICK_MAX_THREADS 256

/* threads: how many work on one run, the caller's included; 0: one per available processor. Results
 * do not depend on it. */
wick_status wick_session_create(const wick_model *model, uint32_t entry, uint32_t threads,
                                wick_session **out);

typedef struct wick_session_options {
  uint32_t size;             /* sizeof(wick_session_options) */
  uint32_t threads;          /* as above */
  wick_error_detail *detail; /* may be NULL */
} wick_session_options;

/* The same; why it did not go well is in `detail`: what a device said that could not be opened.
 * options may be NULL. */
wick_status wick_session_create_with(const wick_model *model, uint32_t entry,
                                     const wick_session_options *options, wick_session **out);
void wick_session_free(wick_session *session); /* NULL is fine */
const wick_entry_info *wick_session_entry(const wick_session *session);
uint32_t wick_session_threads(const wick_session *session);

/* inputs[i] and outputs[i] are the caller's buffers, of the entry's bytes and alignment; outputs
 * overlap nothing. A tensor of no bytes may be NULL. Of an input that the entry gives as a bound
 * the bytes are those of its dims at the time. WICK_BAD_ARGUMENT, and wick_session_error says what:
 * inputs whose size is the same one differ in it. */
wick_status wick_session_run(wick_session *session, const void *const *inputs,
                             void *const *outputs);

/* How many runs of a session may be submitted and not waited for. */
#define WICK_MAX_SUBMITTED 8

/* Begins the same run and returns; runs of a session are carried out in the order in which they
 * were submitted. Buffers stay as they are, and are not looked into, until that run has been waited
 * for; the lists of them need not. Where the entry is one part of a device that works by itself
 * (OpenCL), whose sizes and state no run decides, several runs are under way at a time; any other
 * run, as those of the processor, is carried out before submit returns, and wait only says how it
 * ended. *ticket is above all before. A failure of submit is of this run alone, which has no
 * ticket. WICK_BUSY: WICK_MAX_SUBMITTED have not been waited for, or one of an entry whose dims are
 * known only afterwards. */
wick_status wick_session_submit(wick_session *session, const void *const *inputs,
                                void *const *outputs, uint64_t *ticket);
/* Returns when that run has finished: its status, and wick_session_error says why. A device's
 * failure takes the runs that are behind it along: their wait says the same, and what they computed
 * is undefined. Tickets may be waited for in any order, each once; WICK_BAD_ARGUMENT: there is no
 * such one, or it has been waited for. Until all have been, other runs of the session say
 * WICK_BUSY; wick_session_free waits for those that are left. */
wick_status wick_session_wait(wick_session *session, uint64_t ticket);

typedef struct wick_step_profile {
  uint64_t nanoseconds;
  uint64_t calls;
} wick_step_profile;

/* The same, and adds each step's time to profile[step_count]. */
wick_status wick_session_run_profiled(wick_session *session, const void *const *inputs,
                                      void *const *outputs, wick_step_profile *profile);

/* What a step left out because the run did not need it: rows of padding, iterations, branches. A
 * device that computes everything adds nothing. */
typedef struct wick_step_work {
  uint64_t rows;     /* that products computed which may leave some out … */
  uint64_t all_rows; /* … of so many */
  uint64_t left_out; /* of the step's macs, those that were not computed */
} wick_step_work;

/* The same, and adds each step's work to work[step_count]. */
wick_status wick_session_run_counted(wick_session *session, const void *const *inputs,
                                     void *const *outputs, wick_step_profile *profile,
                                     wick_step_work *work);

/* Called before (after == 0) and after (after == 1) each step with the arena of its part, which it
 * may read and write: tensors are where the compiler placed them. NULL: it is no host memory. Steps
 * are numbered as in the entry; in loops they come again. */
typedef void (*wick_observer)(void *user, uint32_t step, int after, void *arena);
wick_status wick_session_run_observed(wick_session *session, const void *const *inputs,
                                      void *const *outputs, wick_observer observer, void *user);

/* Whose clock says when a step ran. */
typedef enum wick_clock {
  WICK_CLOCK_HOST = 0,  /* the host's, which waited for the step */
  WICK_CLOCK_DEVICE = 1 /* the device's own: of one of its commands, for which nobody waited */
} wick_clock;

typedef struct wick_step_time {
  uint32_t step; /* of the entry */
  wick_clock clock;
  uint64_t start, end; /* nanoseconds of CLOCK_MONOTONIC. A device's clock is put right by the time
                          at which a command was given to it; how long it took is exact */
} wick_step_time;

/* Called once for each time that a step has run, or for each command of it, by the thread that
 * runs, in the order in which they ran on their device. */
typedef void (*wick_timer)(void *user, const wick_step_time *time);
wick_status wick_session_run_timed(wick_session *session, const void *const *inputs,
                                   void *const *outputs, wick_timer timer, void *user);
/* Whose clock the last run that was profiled, counted or timed had for a unit of the model. */
wick_clock wick_session_clock(const wick_session *session, uint32_t unit);

/* Only inside the observer, after the step: tensor number `tensor` among those that the step
 * leaves, row-major without gaps, into `size` bytes. */
wick_status wick_session_read_tensor(wick_session *session, uint32_t step, uint32_t tensor,
                                     void *dense, size_t size);

/* The dims of an input that the entry gives as a bound, for the runs that follow; at first the
 * bound. Other inputs have the entry's. WICK_BAD_ARGUMENT, and wick_session_error says what: no
 * such input, another size along an axis that is fixed, or one outside what the axis may have. */
wick_status wick_session_set_input_dims(wick_session *session, uint32_t input,
                                        const int64_t *dims);
/* What they are. */
const int64_t *wick_session_input_dims(const wick_session *session, uint32_t input);

/* The dims of an output: those of the last run where the entry gives a bound, else the entry's. */
const int64_t *wick_session_output_dims(const wick_session *session, uint32_t output);

/* Memory of the caller's that many runs will name: devices may map or pin it. It stays until
 * wick_session_free. Runs take any other memory, too. */
wick_status wick_session_import(wick_session *session, void *memory, size_t size);

/* Memory for a tensor of the entry (inputs are numbered first, then outputs) on the device that
 * computes with it, until wick_session_free: runs that name *address for the tensor, or for another
 * one of that device which is no larger, copy nothing. It may be no memory of the host's: what is
 * in it, at first nothing defined, is read and written by runs of this session and the two
 * functions below. WICK_BAD_ARGUMENT: several devices use the tensor, or the host does, in the
 * entry's plan or because of its EXTENTS. */
wick_status wick_session_allocate(wick_session *session, uint32_t tensor, void **address);
/* The first `size` bytes of it. */
wick_status wick_session_upload(wick_session *session, void *address, const void *host,
                                size_t size);
wick_status wick_session_download(wick_session *session, const void *address, void *host,
                                  size_t size);

/* Why the last run, import, allocation, copy or setting of dims did not go well, by name; "" where
 * there is nothing to say. Of WICK_RUN_FAILED it is the node and its step, where the device runs
 * step by step: "emb (gather, step 3 of 40): index 7 is outside axis 0 of size 5". */
const char *wick_session_error(const wick_session *session);

/* ---- state ----------------------------------------------------------------------------------- */

/* What a model keeps between runs: weights in training, caches. It belongs to no session. */
typedef struct wick_state wick_state;

/* As it is in the package. */
wick_status wick_state_new(const wick_model *model, wick_state **out);
void wick_state_free(wick_state *state); /* after its sessions; NULL is fine */
/* From a file that wick_state_save wrote, for this model or another one that has states of the same
 * names, types and shapes. detail may be NULL. */
wick_status wick_state_load(const wick_model *model, const char *path, wick_error_detail *detail,
                            wick_state **out);
/* Replaces the file as a whole or leaves it as it was. WICK_BUSY: a session writes the state. */
wick_status wick_state_save(wick_state *state, const char *path, wick_error_detail *detail);
/* As it is in the package again. WICK_BUSY: a session uses it. */
wick_status wick_state_reset(wick_state *state);
/* `to` becomes what `from` is, of the same model: where several go on from one prefix, as beams do.
 * WICK_BUSY: a session writes `from`, or uses `to`. */
wick_status wick_state_copy(wick_state *from, wick_state *to);
/* The bytes of a state of wick_model_info.states; NULL when there is no such one. Whoever reads or
 * writes them sees to it that no session writes, or runs. */
void *wick_state_data(wick_state *state, uint32_t index);

/* Runs of the session use it from now on; NULL: none. While a session that writes it runs, no other
 * one of the same state does; sessions that only read it run at the same time. Who cannot run says
 * WICK_BUSY at once. WICK_BAD_ARGUMENT: it was made for another model. */
wick_status wick_session_bind_state(wick_session *session, wick_state *state);

#ifdef __cplusplus
}
#endif
#endif
