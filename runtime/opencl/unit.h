/* SPDX-License-Identifier: Apache-2.0
 * unit: an OpenCL unit that is loaded. Private to runtime/opencl. */
#ifndef WICK_OPENCL_UNIT_H
#define WICK_OPENCL_UNIT_H

#include <pthread.h>
#include <stdatomic.h>

#include "list.h"
#include "plan.h"

/* The unit's sections. */
typedef struct {
  const char *source;
  size_t source_size;
  const uint8_t *consts;
  uint64_t const_bytes;
  wick_cl_needs needs; /* largest: at least what the unit's buffers are */
  const wick_cl_buffer *buffers;
  const wick_cl_arg *args;
  const wick_cl_launch *launches;
  const wick_cl_step *steps;
  uint32_t buffer_count, arg_count, launch_count, step_count;
} wick_cl_plan;

/* Finds the sections and checks every row: what runs the plan need not. WICK_CORRUPT or
 * WICK_BAD_VERSION. */
wick_status wick_cl_plan_read(const wick_device_unit *unit, wick_cl_plan *out,
                              wick_error_detail *error);

/* The device that runs a unit compiled for `spec`: the one that WICK_OPENCL_DEVICE names by its
 * index or a piece of its name, else the first of those that have what is needed: with the name
 * `spec`, else of the type that is wanted, else any. WICK_BAD_MACHINE: there is none, and what they
 * lack. */
wick_status wick_cl_choose(const wick_cl_needs *needs, const char *spec, wick_cl_device *out,
                           wick_error_detail *error);

/* Memory of the host's that a buffer is around; wraps.c. */
typedef struct wick_cl_range wick_cl_range;
struct wick_cl_range {
  wick_cl_range *next;
  const void *memory; /* NULL: none */
  size_t size;
};

/* False: a buffer of the process is around some of it, and *r is as it was. */
bool wick_cl_take_range(wick_cl_range *r, const void *memory, size_t size);
void wick_cl_give_range(wick_cl_range *r); /* none is fine */

enum { WICK_CL_PIECES = 256 };

/* Some of the source's kernels, a program of their own; cut.c. */
typedef struct {
  const char *texts[3]; /* the source, or what stands in front of all kernels, `line`, and some */
  size_t sizes[3];
  uint32_t text_count;
  char line[24];      /* a directive: lines are numbered as in the source */
  cl_program program; /* NULL: it has not been built */
  cl_int code;        /* what clBuildProgram said … */
  const char *failed; /* … or the function that failed; NULL: none did */
  bool is_from_cache;
} wick_cl_piece;

/* What the unit's device said first, until it works again. */
typedef struct {
  pthread_mutex_t lock;
  atomic_bool is_set;
  wick_error_detail first;
} wick_cl_failure;

typedef struct {
  const wick_device_unit *unit;
  wick_cl_plan plan;
  wick_cl_device device;
  const wick_cl *cl;
  cl_context context;
  wick_cl_piece pieces[WICK_CL_PIECES];
  bool builds_at_once; /* pieces, by threads */
  uint32_t piece_count, piece_kernels; /* of each, but for the last one */
  cl_mem consts;     /* NULL: there are none */
  wick_cl_range const_range; /* consts where they are used in place */
  uint32_t *first_io; /* per part: the number of its first input among those of all parts; behind
                         the last one their sum */
  wick_cl_failure *failure;
  bool shares_memory; /* the device's memory is the host's: nothing has to be copied */
} wick_cl_unit;

/* Of what a context was asked for: keeps a failure of its device, and tells of the one before.
 * WICK_OK: the device has finished what it had. errors.c */
wick_status wick_cl_note(const wick_cl_unit *u, wick_status status, wick_error_detail *error);

/* For the driver's compiler. Quotients and roots are rounded as IEEE 754 says where the device can
 * do that. */
const char *wick_cl_options(const wick_cl_unit *u);

/* Sets pieces, but for their programs. cut.c */
void wick_cl_cut(wick_cl_unit *u);
/* Each piece once, by as many threads as there are processors. */
typedef void (*wick_cl_piece_work)(wick_cl_unit *u, wick_cl_piece *piece);
void wick_cl_for_pieces(wick_cl_unit *u, wick_cl_piece_work work);

/* Sets the programs of pieces: as the cache has them, or built from the source. */
wick_status wick_cl_build(wick_cl_unit *u, bool use_cache, wick_error_detail *error);
void wick_cl_release_programs(wick_cl_unit *u);
/* Kernel `number` of the source. */
wick_status wick_cl_kernel(const wick_cl_unit *u, uint32_t number, cl_kernel *out,
                           wick_error_detail *error);

/* After this no run compiles; what goes wrong here goes wrong there. rehearse.c */
void wick_cl_rehearse(wick_cl_unit *u);

/* wick_device.open, close, import, submit, wait, read, and of memory on the device; context.c,
 * wraps.c, run.c, read.c, resident.c */
wick_status wick_cl_open(void *loaded, const uint32_t *parts, uint32_t part_count,
                         uint32_t threads, void **context, wick_error_detail *error);
void wick_cl_close(void *context);
wick_status wick_cl_import(void *context, void *memory, size_t size, wick_error_detail *error);
wick_status wick_cl_submit(void *context, const wick_device_job *job, uint64_t *ticket,
                           wick_error_detail *error);
wick_status wick_cl_wait(void *context, uint64_t ticket, wick_error_detail *error);
wick_status wick_cl_read(void *context, const wick_device_job *job, uint32_t step,
                         uint32_t tensor, void *dense, wick_error_detail *error);
wick_status wick_cl_allocate(void *context, size_t size, void **address,
                             wick_error_detail *error);
wick_status wick_cl_upload_to(void *context, void *address, const void *host, size_t size,
                              wick_error_detail *error);
wick_status wick_cl_download_from(void *context, const void *address, void *host, size_t size,
                                  wick_error_detail *error);

static inline uint32_t wick_cl_io_count(const wick_part_info *part) {
  return part->input_count + part->output_count;
}

/* Input or output number i of a part: outputs follow inputs. */
static inline const wick_tensor_info *wick_cl_io(const wick_part_info *part, uint32_t i) {
  return i < part->input_count ? &part->inputs[i] : &part->outputs[i - part->input_count];
}

/* The same that a buffer in the part's inputs or outputs is. */
static inline uint32_t wick_cl_io_number(const wick_part_info *part, const wick_cl_buffer *b) {
  return b->place == WICK_CL_INPUT ? b->index : part->input_count + b->index;
}

#endif
