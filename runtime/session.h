/* SPDX-License-Identifier: Apache-2.0
 * session: what one run needs, and how its plan is carried out. Private to runtime. */
#ifndef WICK_SESSION_H
#define WICK_SESSION_H

#include "internal.h"

/* One device at work for a session: its jobs run one after the other. */
typedef struct {
  const wick_device *device; /* NULL: the entry has no part of this unit */
  void *context;
  uint64_t last; /* ticket of the last job */
  uint64_t done; /* that one and all before have finished */
  wick_clock clock; /* of the last run that was measured */
} wick_queue;

/* A row of the plan that runs a part. */
typedef struct {
  wick_device_job job;
  wick_queue *queue;
  uint64_t ticket;     /* of its last job; 0: that has finished, or there was none */
  bool has_run;        /* in this run of the session */
  uint32_t first_step; /* of the entry's */
  uint32_t ref_count;
  void **io;             /* what job.io points to */
  wick_session *session; /* for the observer */
} wick_run;

/* What wick_session_allocate made. */
typedef struct wick_memory wick_memory;
struct wick_memory {
  wick_memory *next;
  void *address;
  size_t size;
  wick_queue *queue;
  bool is_host; /* the queue's device has no memory of its own */
};

/* A run between submit and wait; submit.c. */
typedef struct {
  uint64_t ticket;       /* 0: there is none */
  wick_device_job job;   /* of the only part */
  void **tensors;        /* what job.io points to */
  uint64_t device_ticket; /* 0: it has finished, and `status` says how */
  wick_status status;
  wick_error_detail error;
} wick_submitted;

struct wick_session {
  const wick_model *model;
  const wick_entry_info *entry;
  const wick_plan *plan;
  atomic_flag busy;
  uint32_t threads;
  wick_queue *queues; /* one per unit */
  wick_run *runs;     /* one per part of the entry */
  void **tensors;     /* addresses: inputs, outputs, edges */
  int64_t *dims;      /* of the outputs, WICK_MAX_RANK each */
  int64_t *input_dims;
  uint8_t *edges;
  wick_memory *memories;
  wick_state *state;
  wick_error_detail error;
  bool is_late; /* a device has found out of wrong values when it no longer knew the step */
  wick_observer observer;
  wick_timer timer;
  void *user;         /* of either */
  wick_submitted submitted[WICK_MAX_SUBMITTED];
  uint32_t under_way; /* of them */
  uint64_t last_ticket;
  uint64_t step_start; /* by the host's clock, where an observer times */
  const wick_run *observed; /* whose step an observer is looking at */
  uint32_t observed_step;   /* of the part */
};

/* ---- session.c ---- */

/* Takes the session, checks the buffers and puts them where the plan looks. */
wick_status wick_run_begin(wick_session *s, const void *const *inputs, void *const *outputs,
                           bool is_submitted);
/* All of a run between begin and end. */
wick_status wick_run_now(wick_session *s);
/* A run that failed: once more, step by step, for the name of the step, where that can be. */
wick_status wick_run_name_step(wick_session *s, wick_status failed);
/* Of one that went well: dims of outputs, and what they have in its place. */
wick_status wick_run_check(wick_session *s, wick_status status);
/* Gives the session back. */
void wick_run_end(wick_session *s);

/* ---- submit.c ---- */

bool wick_submitted_have_room(const wick_session *s); /* for one more */

wick_status wick_submitted_make(wick_session *s);
void wick_submitted_free(wick_session *s); /* waits for those that are under way */

/* ---- plan.c; s->error says what went wrong ---- */

/* Carries the plan out. tensors are set; afterwards nothing is under way. */
wick_status wick_plan_run(wick_session *s);
/* Submits the run's job and sets its ticket. */
wick_status wick_run_submit(wick_session *s, wick_run *r);
/* Until that job of the queue and all before it have finished. */
wick_status wick_queue_wait(wick_session *s, const wick_queue *q, uint64_t ticket);
/* What the queue's device said, of the run, or of none in particular (NULL). */
wick_status wick_queue_fail(wick_session *s, const wick_queue *q, const wick_run *r,
                            wick_status status, const wick_error_detail *why);

/* ---- extents.c ---- */

/* Before a run: puts sizes of inputs, and what inputs have, where parts find them. s->error says
 * which sizes differ. */
wick_status wick_extents_give(wick_session *s);
/* After it: puts sizes of outputs into s->dims; they may be anything. */
void wick_extents_take(wick_session *s);
/* Moves what outputs have in s->dims, which are within the bounds, to where the caller finds it. */
void wick_extents_pack(wick_session *s);

/* ---- memory.c ---- */

/* Whether the run's tensors may be where they are; s->error says which may not. */
wick_status wick_memories_check(wick_session *s);
void wick_memories_free(wick_session *s); /* after the queues have been closed */

#endif
