/* SPDX-License-Identifier: Apache-2.0
 * context: what a session has of an OpenCL unit. Private to runtime/opencl. */
#ifndef WICK_OPENCL_CONTEXT_H
#define WICK_OPENCL_CONTEXT_H

#include "unit.h"

/* A buffer around memory of the host's; wraps.c. */
typedef struct wick_cl_wrap wick_cl_wrap;
struct wick_cl_wrap {
  wick_cl_range range;
  wick_cl_wrap *next;
  cl_mem buffer;
  uint32_t uses;   /* slots that have it */
  bool is_written; /* kernels may write it */
  bool stays;      /* as long as the context: the memory was imported */
};

/* Where an input or output of a part is on the device. */
typedef struct {
  cl_mem own;         /* memory of the device; NULL: none was needed so far */
  wick_cl_wrap *wrap; /* `memory` lies within its range; NULL: none */
  void *memory;
  cl_mem bound;       /* what kernels have as their argument: one of these, or a resident's */
  size_t base;        /* bytes from the first of `bound` */
  uint8_t *staging;   /* an output with gaps comes here first; else NULL */
  cl_mem pinned;      /* mapped at pinned_at: room for WICK_CL_SETS jobs that are staged; or NULL */
  uint8_t *pinned_at;
} wick_cl_slot;

enum { WICK_CL_SETS = 2 };

/* A job whose outputs come by way of a set. */
typedef struct {
  uint64_t ticket; /* 0: there is none */
  const wick_device_job *job;
} wick_cl_staged;

/* Memory that the session asked for; resident.c. */
typedef struct wick_cl_resident wick_cl_resident;
struct wick_cl_resident {
  wick_cl_resident *next;
  void *address;
  size_t size;
  cl_mem memory; /* NULL: it is the host's, at that address */
};

enum { WICK_CL_TIMES = 1024 }; /* launches that wait to be asked */

/* A launch of a job that is timed. */
typedef struct {
  cl_event event;
  uint32_t step;
  uint64_t host; /* the host's clock when it was put into the queue */
} wick_cl_time;

enum { WICK_CL_JOBS = 8 }; /* of which is known when each has finished; a power of two */

/* Of a job that another one came behind before somebody had waited for it. */
typedef struct {
  uint64_t ticket; /* 0: there is none */
  cl_event event;  /* the end of it */
} wick_cl_mark;

typedef struct {
  const wick_cl_unit *u;
  const wick_cl *cl;
  cl_command_queue queue; /* in order; nothing else uses the arena */
  cl_mem arena;        /* one buffer: kernels find theirs by offsets. NULL: no part needs any */
  cl_mem fault;        /* NULL: no kernel can find one */
  uint32_t *faults;    /* what it held behind a job, by its ticket: own_faults or pinned_faults */
  uint32_t own_faults[WICK_CL_JOBS];
  cl_mem pinned_faults; /* NULL: there are none */
  bool cannot_pin;      /* it has been tried */
  wick_cl_mark marks[WICK_CL_JOBS]; /* likewise */
  wick_cl_staged staged[WICK_CL_SETS];
  uint32_t set; /* of the job that is being submitted; WICK_NONE: it is not staged */
  cl_kernel *kernels;  /* per row of "launches" of an open part, with its arguments */
  wick_cl_slot *slots; /* by u->first_io */
  wick_cl_wrap *wraps; /* live ones */
  wick_cl_wrap *spare_wraps, *wrap_pool; /* as many as there are slots */
  bool is_busy;        /* a job may be under way */
  wick_cl_time *times; /* WICK_CL_TIMES */
  uint32_t time_count;
  bool is_timed, is_asked; /* the queue times; the device has been asked whether it can */
  uint8_t *shadow;     /* of what wick_cl_read reads, shadow_size bytes */
  size_t shadow_size;
  wick_cl_resident *residents;
  uint64_t submitted, waited; /* tickets of the last job, and the last one that has finished */
} wick_cl_context;

/* resident.c; NULL: it is none, or the host's. */
cl_mem wick_cl_resident_at(const wick_cl_context *c, const void *address);
void wick_cl_free_residents(wick_cl_context *c);

/* wraps.c */
wick_status wick_cl_open_wraps(wick_cl_context *c);
void wick_cl_close_wraps(wick_cl_context *c);
/* Gives a slot of the part a wrap that the memory lies within; none where that cannot be: buffers
 * of this part, of other contexts or around imported memory have some of its bytes. */
wick_status wick_cl_wrap_slot(wick_cl_context *c, uint32_t part, wick_cl_slot *s, void *memory,
                              size_t size, bool writes, wick_error_detail *error);
void wick_cl_unwrap(wick_cl_slot *s);

/* slots.c */
wick_cl_slot *wick_cl_slot_of(const wick_cl_context *c, uint32_t part, const wick_cl_buffer *b);
wick_status wick_cl_open_slots(wick_cl_context *c, uint32_t part, wick_error_detail *error);
void wick_cl_close_slots(wick_cl_context *c);
/* The part's kernels get the job's inputs and outputs: the host's memory, or buffers for copies. */
wick_status wick_cl_bind(wick_cl_context *c, const wick_device_job *job, wick_error_detail *error);
/* Before and after the job's kernels, in the queue. What has gaps is there when finish has it. */
wick_status wick_cl_upload(wick_cl_context *c, const wick_device_job *job,
                           wick_error_detail *error);
wick_status wick_cl_download(wick_cl_context *c, const wick_device_job *job,
                             wick_error_detail *error);
/* times.c: the queue times from now on; false: the device does not. */
bool wick_cl_can_time(wick_cl_context *c);
/* Where the event of the next launch comes, and behind that launch. */
cl_event *wick_cl_time_launch(wick_cl_context *c, uint32_t step);
wick_status wick_cl_time_launched(wick_cl_context *c, const wick_device_job *job,
                                  wick_error_detail *error);
/* Waits for the launches, and tells the job when they ran; or forgets them. */
wick_status wick_cl_take_times(wick_cl_context *c, const wick_device_job *job,
                               wick_error_detail *error);
void wick_cl_drop_times(wick_cl_context *c);

/* jobs.c: once jobs have finished; until that one has, which may be waited for later; the end of
 * what has been submitted so far. */
wick_status wick_cl_wait_for(wick_cl_context *c, uint64_t ticket, wick_error_detail *error);
wick_status wick_cl_reach(wick_cl_context *c, uint64_t ticket, wick_error_detail *error);
void wick_cl_mark_end(wick_cl_context *c);
void wick_cl_release_marks(wick_cl_context *c, uint64_t ticket); /* of jobs up to that one */
/* staging.c: chooses a set for the job, or none; where the job's copies are, of a set or NULL. */
wick_status wick_cl_stage(wick_cl_context *c, const wick_device_job *job,
                          wick_error_detail *error);
uint8_t *wick_cl_staging(const wick_cl_slot *s, uint32_t set, const wick_tensor_info *t);
/* The job has been submitted. */
void wick_cl_staged_job(wick_cl_context *c, const wick_device_job *job);
/* Jobs up to that one have finished: their outputs go to the caller, if they went well. */
void wick_cl_deliver(wick_cl_context *c, uint64_t ticket, bool is_good);
void wick_cl_unpin(wick_cl_context *c);
/* slots.c: elements; what lies between them stays as it is. */
void wick_cl_copy_tensor(const wick_tensor_info *t, void *to, const void *from);

/* Behind a job's launches, of the ticket that it will have. */
wick_status wick_cl_fetch_fault(wick_cl_context *c, wick_error_detail *error);

/* jobs.c: nothing has been out of range. */
wick_status wick_cl_clear_fault(wick_cl_context *c, wick_error_detail *error);
/* Waits for all that is in the queue. */
wick_status wick_cl_finish(wick_cl_context *c, wick_error_detail *error);

/* Argument `arg` of a launch: its pointer; and its offset from that in an iteration, where it and
 * `size` bytes behind it lie within its buffer. */
wick_status wick_cl_set_pointer(const wick_cl_context *c, uint32_t part, uint32_t launch,
                                uint32_t arg, wick_error_detail *error);
wick_status wick_cl_offset(const wick_cl_context *c, uint32_t part, uint32_t launch, uint32_t arg,
                           int64_t iteration, uint32_t size, cl_long *out,
                           wick_error_detail *error);
wick_status wick_cl_set_offset(const wick_cl_context *c, uint32_t part, uint32_t launch,
                               uint32_t arg, int64_t iteration, wick_error_detail *error);
/* What an argument points to; NULL: nothing. */
cl_mem wick_cl_memory(const wick_cl_context *c, uint32_t part, const wick_cl_arg *arg);

/* Rows of "launches" of the part. */
static inline void wick_cl_launches_of(const wick_cl_unit *u, uint32_t part, uint32_t *first,
                                       uint32_t *end) {
  const wick_device_part *p = &u->unit->parts[part];
  *first = *end = 0;
  if (p->info->step_count == 0) return;
  const wick_cl_step *last = &u->plan.steps[p->code + p->info->step_count - 1];
  *first = u->plan.steps[p->code].first_launch;
  *end = last->first_launch + last->launch_count;
}

#endif
