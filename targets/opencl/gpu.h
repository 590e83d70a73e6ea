/* SPDX-License-Identifier: Apache-2.0
 * gpu: what a product takes on a GPU, by a model of the device. A description (description.h) says
 * how many units there are, their clock, and limits of work-groups; what it leaves open is taken
 * from a table by the vendor's name (gpu.c). Private to this folder.
 *
 *   resident  work-groups that a unit holds at once: by registers, local memory and work items
 *   waves     of groups, until all have been held
 *   time      the launch, computing and memory, beside each other but for a rest; a step of a group
 *             takes max(its multiplications beside those of the other groups of its unit, what its
 *             loads are waited for) */
#ifndef WICK_OPENCL_GPU_H
#define WICK_OPENCL_GPU_H

#include "targets/opencl/opencl.h"

typedef struct {
  int units;
  double clock;       /* cycles in a microsecond */
  int lanes;          /* multiply-adds of f32 that a unit does in a cycle */
  int matrix;         /* those of words that its matrix units do, each of 2 halves or 4 bytes */
  int unit_items;     /* work items that a unit holds */
  int unit_registers; /* of 32 bits */
  int64_t unit_local; /* bytes of local memory of all groups of a unit */
  double wait;        /* cycles until what is loaded is there, and a barrier */
  double memory;      /* bytes in a microsecond: from the device's memory, of all units */
  double cache;       /* from the cache that units share */
  double launch;      /* microseconds from the end of a kernel to the beginning of the next */
} wk_cl_gpu;

wk_cl_gpu wk_cl_gpu_of(const wick_opencl_info *info);

/* A kernel whose work-groups go through `steps` steps each. */
typedef struct {
  int64_t groups, steps;
  int items, registers; /* of a group, of an item */
  int64_t local_bytes;  /* of a group */
  double step_cycles;   /* of a unit, where a group is alone on it and waits for nothing */
  double once_cycles;   /* of a group, before and behind its steps */
  double bytes;         /* from memory: each that is needed once */
  double cached_bytes;  /* that groups load and store */
} wk_cl_gpu_work;

typedef struct {
  int resident;
  int64_t waves;
  double computing, memory; /* microseconds, either without the other */
  double time;              /* microseconds */
} wk_cl_gpu_time;

wk_cl_gpu_time wk_cl_gpu_predict(const wk_cl_gpu *g, const wk_cl_gpu_work *w);

#endif
