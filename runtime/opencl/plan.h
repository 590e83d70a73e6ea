/* SPDX-License-Identifier: Apache-2.0
 * plan: the sections of an OpenCL unit in a package, which targets/opencl writes and
 * runtime/opencl runs. All but "source" and CONST are tables of one of these rows, without a
 * header; what they say is checked before anything is built (plan_check.c).
 *
 *   "source"    OpenCL C 1.2; kernel number n is named "k<n>", n below kernel_count. A line that
 *               begins with "__kernel" begins one, in the order of their numbers; one behind the
 *               other, with a line of comment each, they may be compiled apart, behind all that
 *               stands in front of the first
 *   "needs"     one wick_cl_needs: what a device must have
 *   "buffers"   wick_cl_buffer: pieces of memory
 *   "args"      wick_cl_arg
 *   "launches"  wick_cl_launch: in the order in which they run
 *   "steps"     wick_cl_step, one per step of the unit's parts, one part after the other; the
 *               `code` of a part is the number of its first, that of a step its own. No two steps
 *               share launches, which come in the steps' order
 *
 * Argument number i of a kernel is two arguments in OpenCL C, `__global char *` (of any element
 * type) and the byte offset from it, `long`: for all of its arguments first the pointers, then the
 * offsets. An argument without a buffer is a null pointer. */
#ifndef WICK_OPENCL_PLAN_H
#define WICK_OPENCL_PLAN_H

#include "runtime/abi.h"

#define WICK_CL_VERSION 1

enum { /* wick_cl_needs.flags */
  WICK_CL_NEEDS_F64 = 1, /* cl_khr_fp64 */
  WICK_CL_NEEDS_F16 = 2, /* cl_khr_fp16 */
  WICK_CL_NEEDS_DOT = 4, /* cl_khr_integer_dot_product with packed 8-bit inputs */
  WICK_CL_NEEDS_SUBGROUPS = 8,
  WICK_CL_NEEDS_MATRIX = 16 /* NVIDIA's have matrix units; kernels compute without on others */
};

typedef struct wick_cl_needs {
  uint32_t version; /* WICK_CL_VERSION */
  uint32_t flags;   /* WICK_CL_NEEDS_… */
  uint32_t kernel_count;
  uint32_t base_align;    /* bytes that offsets in the arena are multiples of: power of two */
  uint32_t max_group;     /* work items of the largest work-group */
  uint32_t max_items[3];  /* of it along each dimension */
  uint32_t type;          /* wick_opencl_type that kernels were made for: such devices come first */
  uint32_t reserved;      /* 0 */
  uint64_t local_bytes;   /* the most local memory of a kernel */
  uint64_t largest;       /* bytes of the largest allocation: arena, constants, input or output */
  uint64_t arena_bytes;   /* on the device: the most that a part needs */
} wick_cl_needs;

/* What a buffer is a piece of. */
typedef enum wick_cl_place {
  WICK_CL_ARENA = 0, /* offset and bytes in the device's arena; those of some may overlap */
  WICK_CL_CONST = 1, /* offset and bytes in the unit's CONST */
  WICK_CL_FAULT = 2, /* a word of the context's, 0 at first; not 0: an index was out of range, and
                        the job has failed. It stays until that has been reported */
  WICK_CL_INPUT = 3, /* input `index` of the part, whole */
  WICK_CL_OUTPUT = 4 /* output `index` of the part, whole */
} wick_cl_place;

#define WICK_CL_FAULT_BYTES 4

typedef struct wick_cl_buffer {
  uint32_t place; /* wick_cl_place */
  uint32_t index;
  uint64_t offset; /* ARENA: a multiple of base_align; FAULT, INPUT, OUTPUT: 0 */
  uint64_t bytes;  /* > 0, but for inputs and outputs; FAULT: WICK_CL_FAULT_BYTES */
} wick_cl_buffer;

typedef struct wick_cl_arg {
  uint32_t buffer; /* row of "buffers"; WICK_NONE: there is none */
  uint32_t reserved;
  int64_t offset; /* bytes from the buffer's first */
  int64_t step;   /* bytes that are added per iteration of the innermost loop around; else 0 */
} wick_cl_arg;

/* RUN runs a kernel. The rows of bodies follow their owner, as in a plan of the package:
 *   IF    args: bool[] condition; the next body_count rows when it is true, else the else_count
 *         rows behind those
 *   LOOP  args: bool[] condition, tested before every iteration, or none; i64[] that gets the
 *         number of the iteration before each, or none. body_count rows, at most `trip` times.
 *         Both step with the loop around this one */
typedef enum wick_cl_kind { WICK_CL_RUN = 1, WICK_CL_IF = 2, WICK_CL_LOOP = 3 } wick_cl_kind;

typedef struct wick_cl_launch {
  uint32_t kind;   /* wick_cl_kind */
  uint32_t kernel; /* RUN: its number */
  uint32_t first_arg, arg_count;
  uint32_t body_count, else_count;
  int64_t trip;
  uint64_t global[3]; /* RUN: work items, multiples of local; at least 1 */
  uint32_t local[3];  /* of a work-group, what the kernel's reqd_work_group_size says */
  uint32_t reserved;
} wick_cl_launch;

typedef struct wick_cl_step {
  uint32_t first_launch; /* rows of "launches", bodies included */
  uint32_t launch_count;
} wick_cl_step;

#endif
