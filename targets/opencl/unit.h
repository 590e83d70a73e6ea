/* SPDX-License-Identifier: Apache-2.0
 * unit: collects kernels, arguments and launches and writes the sections of runtime/opencl/plan.h.
 * Private to this folder. Kernels of equal text are one kernel; equal pieces of memory are one
 * buffer. */
#ifndef WICK_OPENCL_UNIT_H
#define WICK_OPENCL_UNIT_H

#include "runtime/opencl/plan.h"
#include "targets/opencl/opencl.h"

/* The tile of a product (tile.h): rows and vectors of sums of a work item; on a GPU rows and
 * columns of a work-group, and groups that have a part of the sum each. */
typedef struct {
  int rows, vectors, split;
} wk_cl_tile_size;

enum { WK_CL_MAX_SIZES = 6 };

/* What a tile was chosen for, and which sizes come close to the best that is foreseen. */
typedef struct {
  char key[160]; /* "": nothing was chosen */
  int n;
  wk_cl_tile_size sizes[WK_CL_MAX_SIZES];
} wk_cl_asked;

struct wk_cl_tiles;     /* tune.h */
struct wk_cl_explained; /* explain.h */

typedef struct {
  const wk_opencl *device;
  wk_package *pkg;
  uint32_t number; /* of the unit in the package */
  wk_arena *arena; /* lives as long as the package */
  wk_str source;
  wk_map *kernels; /* text to number */
  wk_map *known;   /* rows of buffers, as text, to number */
  WK_VEC(wick_cl_buffer) buffers;
  WK_VEC(wick_cl_arg) args;
  WK_VEC(wick_cl_launch) launches;
  WK_VEC(wick_cl_step) steps;
  wick_cl_needs needs;
  const struct wk_cl_tiles *tiles; /* measured; NULL: none are asked */
  struct wk_cl_explained *explained; /* NULL: nobody asks */
  bool is_trial; /* of one instruction: all its memory but constants is in an arena of its own */
  uint64_t parts_at; /* in the arena: where parts of sums are, behind what all programs need */
  wk_cl_asked asked;
  wk_cl_tile_size forced; /* where rows is not 0 */
} wk_cl_unit;

void wk_cl_unit_begin(wk_cl_unit *u, const wk_opencl *d, wk_package *pkg);
/* Adds the sections to the package. */
void wk_cl_unit_finish(wk_cl_unit *u);

/* An argument: operand of a program, constant bytes, or parts of sums. */
typedef struct {
  const wk_program *p; /* NULL: constant bytes */
  wk_view view;
  bool is_fault, is_parts;
  const void *data; /* lives as long as the package */
  uint64_t bytes;
} wk_cl_operand;

enum { WK_CL_MAX_ARGS = WK_CL_MAX_OPERANDS + 4 };

/* A kernel under construction, and how it is launched. */
typedef struct {
  wk_str body; /* what stands between the braces; arguments are g<k>, their offsets o<k> */
  const char *what; /* "conv": for the comment above it */
  const char *node; /* of the model */
  wk_cl_operand args[WK_CL_MAX_ARGS];
  uint32_t n_args;
  uint64_t global[3]; /* work items; rounded up to whole groups when it is added */
  uint32_t local[3];
  uint64_t local_bytes;
} wk_cl_kernel;

/* The argument's number. */
uint32_t wk_cl_add_operand(wk_cl_kernel *k, const wk_program *p, const wk_view *v);
uint32_t wk_cl_add_bytes(wk_cl_kernel *k, const void *data, uint64_t bytes);
/* Memory between two launches of an instruction. */
uint32_t wk_cl_add_parts(wk_cl_kernel *k, uint64_t bytes);
/* Declares `error`, the word that WK_BAD_INDEX() sets. */
void wk_cl_add_fault(wk_cl_kernel *k);
/* Adds kernel and launch, frees the body. */
void wk_cl_add_launch(wk_cl_unit *u, wk_cl_kernel *k);
/* A row of control flow; its bodies' rows are added behind it, the counts by the caller. */
wick_cl_launch *wk_cl_add_control(wk_cl_unit *u, wick_cl_kind kind, const wk_program *p,
                                  const wk_inst *i);

#endif
