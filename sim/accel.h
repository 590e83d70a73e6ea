/* SPDX-License-Identifier: Apache-2.0
 * accel: the models of the accelerator, for programs that run packages without the compiler:
 *
 *   wick_device_register(wick_device_plugin());                         -lwick_accel
 *   wick_accel_configure(&options, NULL);   with .size and .model = WICK_ACCEL_TIMING
 *
 * A package runs on the machine that it was compiled for. Nothing here prints, exits or aborts. */
#ifndef WICK_ACCEL_H
#define WICK_ACCEL_H

#include "runtime/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wick_accel_model {
  WICK_ACCEL_FUNCTIONAL = 0, /* what commands do, on tensors where they are; shows layers */
  WICK_ACCEL_TIMING = 1      /* the machine's cycles too, which are what a run's profile counts */
} wick_accel_model;

typedef struct wick_accel_options {
  uint32_t size; /* sizeof(wick_accel_options); see wick.h */
  wick_accel_model model;
  const char *memory; /* what the machine's memory is instead: "latency=500,bytes=8", as of
                         `wick sim --dram`; NULL: as the machine has it */
} wick_accel_options;

/* Holds for packages that are loaded from now on, until the next call; what it points to is copied.
 * NULL: the functional model. WICK_BAD_ARGUMENT, with the reason in `detail` (which may be NULL):
 * nothing has changed. Not while others load. */
wick_status wick_accel_configure(const wick_accel_options *options, wick_error_detail *detail);

#ifdef __cplusplus
}
#endif
#endif
