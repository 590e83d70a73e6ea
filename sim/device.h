/* SPDX-License-Identifier: Apache-2.0
 * The models of the accelerator as the device of target "accel" (runtime/device.h): they run the
 * parts that targets/accel/isa/unit.h describes. A job runs to its end within submit.
 *
 * The functional model works on the tensors where they are; nothing is allocated between open and
 * close, but by the first run that is observed: memory for all tensors of a part. Layers, which run
 * in turns, are shown to the observer when all of them have been computed; their profile is what
 * the model takes for them on the host. The others show no tensors of layers; their profile is what
 * the machine would take, by layers (compiler/stream/charge.h), at its clock. They simulate a
 * memory as large as the machine's, which jobs copy tensors into and out of.
 *
 * Nothing here aborts, exits or prints (tests/lint/symbols): where there is no memory a function
 * says WICK_NO_MEMORY. */
#ifndef WICK_SIM_DEVICE_H
#define WICK_SIM_DEVICE_H

#include "runtime/device.h"
#include "sim/run.h"
#include "targets/accel/isa/unit_read.h"

typedef struct {
  const wick_part_info *info;
  const wk_stream *stream; /* the part, with what its inputs hold */
} wk_sim_device_job;

/* Runs a job in the device's stead. out->memory is what outputs are taken from; the device frees
 * it. */
typedef wk_status wk_sim_device_run(void *context, const wk_sim_device_job *job, wk_sim_run *out);

/* The RTL model of a machine. Whoever builds such models brings it along; programs that only run
 * packages have none. */
typedef wk_status wk_sim_find_model(void *context, const wk_machine *m, const wk_sim_model **model);

typedef struct {
  wk_sim_kind model;
  wk_sim_find_model *find;   /* of WK_SIM_RTL; NULL: there is no such model */
  void *find_context;
  const wk_machine *machine; /* units for other hardware are refused; NULL: what each unit was
                                compiled for */
  const char *memory;        /* as wk_machine_override takes it; NULL: as the machine has it */
  wk_sim_device_run *run;    /* NULL: the device runs jobs on the model */
  void *context;             /* of it */
} wk_sim_device_options;

/* Holds for packages that are loaded from now on, until the next call; what it points to stays as
 * long. Without it: the functional model of each unit's machine. Not while others load. */
void wk_sim_device_configure(const wk_sim_device_options *o);

/* For wick_device_register. */
const wick_device *wk_sim_device(void);

#endif
