/* SPDX-License-Identifier: Apache-2.0
 * device: what runs the units of a target. The processor and OpenCL are built in; whoever links
 * another device (an accelerator's driver or simulator) registers it once:
 *
 *   static const wick_device device = {.size = sizeof device, .version = WICK_DEVICE_VERSION,
 *                                      .target = "accel", .probe = probe, …};
 *   wick_device_register(&device);
 *
 * Life of a unit: probe, load, then for every session open, submit and wait as often as there are
 * runs, close; unload after the last session. Functions of different contexts are called at the
 * same time by different threads, those of one context by one thread at a time. What they are
 * given lives as long as the model, where nothing else is said. Where they fail they say why in
 * `error`, which is never NULL: one line, without part and target, which the runtime puts in front
 * where a package has several units. Between open and close runs allocate nothing of the process's;
 * devices may keep what the first run of a kind needs. */
#ifndef WICK_DEVICE_H
#define WICK_DEVICE_H

#include "wick.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WICK_DEVICE_VERSION 4

typedef struct wick_device_section {
  uint32_t kind;    /* wick_section_kind */
  const char *name; /* "CODE", "CONST", or the target's own */
  const uint8_t *data; /* 64-byte aligned where `align` is at least that */
  size_t size;
  size_t align;
} wick_device_section;

typedef struct wick_device_part {
  const wick_part_info *info;
  uint64_t code;
  const uint64_t *step_code; /* one per step */
  size_t arena_align;
} wick_device_part;

/* A unit of a package, verified: every offset and count in it is sound. */
typedef struct wick_device_unit {
  const wick_unit_info *info;
  uint32_t machine; /* WICK_MACHINE_…, or 0 */
  uint32_t flags;   /* WICK_LOAD_PERF_MAP, WICK_LOAD_GDB: names for tools are wanted */
  int is_mapped;    /* sections lie in a private read-only mapping of a file: whole pages of it may
                       be made executable */
  const wick_device_section *sections;
  const wick_device_part *parts;
  const wick_pkg_symbol *symbols;
  uint32_t section_count, part_count, symbol_count;
  const char *strings; /* what the names of symbols are offsets into */
  uint64_t memory_limit; /* bytes of the host's that a context may allocate at most because the
                            unit asks for them; never 0 */
} wick_device_unit;

/* One execution of a part. The job and what it points to stay as they are until it has finished. */
typedef struct wick_device_job {
  uint32_t part;        /* of the unit */
  void *const *io;      /* the part's inputs, then its outputs; aligned as their rows say */
  void *state;          /* the model's STATE memory, or NULL */
  int64_t *output_dims; /* NULL, or as in wick_exec */
  wick_step_profile *profile; /* NULL, or one per step: the job adds to it before it finishes */
  wick_observer observer;     /* NULL, or called around each step, by the thread in submit or wait,
                                 before the job finishes; steps are the part's */
  void *user;                 /* for observer and timer */
  wick_step_work *work;       /* NULL, or one per step, as profile */
  wick_timer timer;           /* NULL, or called by a device that knows when commands of steps ran,
                                 in place of the observer; steps are the part's. A device that does
                                 not know leaves it, and calls the observer, where there is one */
  int is_submitted;           /* others may be submitted before this one is waited for, soon */
} wick_device_job;

typedef struct wick_device {
  uint32_t size;      /* sizeof(wick_device) */
  uint32_t version;   /* WICK_DEVICE_VERSION */
  const char *target; /* the units that are its */
  const char *doc;    /* one line */

  /* Whether the unit's own sections are sound, wherever it is to run: whatever load would find
   * WICK_CORRUPT. Opens, builds and runs nothing. NULL: there is nothing that can be checked. */
  wick_status (*check)(const wick_device_unit *unit, wick_error_detail *error);
  int runs_code; /* what is in units becomes machine code of this process, or of a device that can
                    reach its memory: WICK_LOAD_NO_NATIVE_CODE refuses them */

  /* Whether load can succeed: machine, features, machine hash. Changes nothing. */
  wick_status (*probe)(const wick_device_unit *unit, wick_error_detail *error);
  /* Makes the unit ready for any number of contexts: code executable, weights uploaded. */
  wick_status (*load)(const wick_device_unit *unit, void **loaded, wick_error_detail *error);
  void (*unload)(void *loaded);

  /* A context has all the memory that runs of these parts of the unit need, one part at a time.
   * `threads` is what the session was created with, 1 or more. */
  wick_status (*open)(void *loaded, const uint32_t *parts, uint32_t part_count, uint32_t threads,
                      void **context, wick_error_detail *error);
  void (*close)(void *context); /* nothing is under way */
  /* Host memory that many jobs will name, from now on until close: edges, and what the caller
   * imports. A device that wants to know maps or pins it; NULL: this one does not. Jobs may name
   * other memory all the same. */
  wick_status (*import)(void *context, void *memory, size_t size, wick_error_detail *error);

  /* Begins a job, behind those of the same context: each sees what the ones before it wrote.
   * *ticket is 0 when it has already finished, else greater than all before. After a failure this
   * job is not under way. */
  wick_status (*submit)(void *context, const wick_device_job *job, uint64_t *ticket,
                        wick_error_detail *error);
  /* Returns when that job and all before it have finished and what they wrote is in host memory;
   * the first failure among them since the last wait. After a failure no job of the context is
   * under way. NULL: every ticket is 0. */
  wick_status (*wait)(void *context, uint64_t ticket, wick_error_detail *error);

  /* Inside an observer, after the step: tensor number `tensor` among those that the step leaves,
   * dense and row-major. NULL: it cannot. */
  wick_status (*read)(void *context, const wick_device_job *job, uint32_t step, uint32_t tensor,
                      void *dense, wick_error_detail *error);

  /* Memory on the device, until close, that jobs of this context name by *address, which no other
   * memory of the process has. All three or, where host memory does as well, none of them: NULL.
   * Copies come behind the jobs that are under way and have finished when they return. */
  wick_status (*allocate)(void *context, size_t size, void **address, wick_error_detail *error);
  wick_status (*upload)(void *context, void *address, const void *host, size_t size,
                        wick_error_detail *error);
  wick_status (*download)(void *context, const void *address, void *host, size_t size,
                          wick_error_detail *error);
} wick_device;

/* `device` stays as it is from now on. WICK_BAD_ARGUMENT: the version or size is not this one's, or
 * a function is missing; WICK_BUSY: another device has this target; WICK_NO_MEMORY: there are
 * WICK_MAX_DEVICES. Registering the same one again is fine. */
#define WICK_MAX_DEVICES 16
wick_status wick_device_register(const wick_device *device);

/* The device of a target; NULL: there is none. */
const wick_device *wick_device_find(const char *target);

/* Not the runtime's: what a shared object with a device exports, for `wick run --plugin FILE.so`
 * and for programs that link it and call wick_device_register(wick_device_plugin()). */
const wick_device *wick_device_plugin(void);

/* ---- for devices that run a part step by step ------------------------------------------------ */

/* Runs step number `step` of the job's part. */
typedef wick_status (*wick_device_step)(void *context, const wick_device_job *job, uint32_t step,
                                        wick_error_detail *error);

/* The steps of the job's part in order, each one timed and observed as the job asks: a submit whose
 * device has the steps of its parts run one by one, always or where a job has a profile or an
 * observer. The first failure ends it, is timed and observed as well, and is returned; of values
 * that a step cannot handle, `error` then says which step, in front of what `run` says. `context`
 * is for `run`, `arena` for the observer. */
wick_status wick_device_run_steps(const wick_device_unit *unit, const wick_device_job *job,
                                  void *arena, wick_device_step run, void *context,
                                  wick_error_detail *error);

/* A wick_device.read of what lies in host memory, where the package says: in the part's arena, its
 * outputs or the state. */
void wick_device_gather(const wick_device_unit *unit, const wick_device_job *job,
                        const void *arena, uint32_t step, uint32_t tensor, void *dense);

#ifdef __cplusplus
}
#endif
#endif
