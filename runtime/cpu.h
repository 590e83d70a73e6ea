/* SPDX-License-Identifier: Apache-2.0
 * cpu: the processor as a device. Private to runtime. */
#ifndef WICK_CPU_DEVICE_H
#define WICK_CPU_DEVICE_H

#include "internal.h"

/* What its load makes. */
typedef struct {
  const wick_device_unit *unit;
  const uint8_t *code; /* executable */
  size_t code_size;
  const uint8_t *consts; /* NULL: there are none */
  void *code_map;        /* NULL: code lies in the mapped file */
  void *gdb;             /* registration, or NULL */
  bool *has_steps;       /* of each part: all of its steps have code */
  wick_routine_fn *routines; /* those that the code calls */
} wick_cpu_unit;

extern const wick_device wick_device_cpu;

/* Says which index of the step is out of range; false: that cannot be told. fault.c */
bool wick_index_fault(const wick_part_info *part, const wick_device_job *job, const void *arena,
                      uint32_t step, wick_error_detail *error);

#endif
