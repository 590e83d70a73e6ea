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
} wick_cpu_unit;

extern const wick_device wick_device_cpu;

#endif
