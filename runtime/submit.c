/* SPDX-License-Identifier: Apache-2.0
 * Runs that are submitted. Where a run is one job of a device, the job is begun and left to it;
 * others share edges, dims or state with the next one, and are carried out at once. */
#include <stdlib.h>
#include <string.h>

#include "session.h"

static bool is_left_to_device(const wick_session *s) {
  return s->plan->is_whole && !s->plan->has_bound && s->plan->extent_count == 0 &&
         !s->entry->reads_state && !s->entry->writes_state && s->runs[0].queue->device->wait;
}

wick_status wick_submitted_make(wick_session *s) {
  for (uint32_t i = 0; i < WICK_MAX_SUBMITTED && is_left_to_device(s); i++) {
    wick_submitted *x = &s->submitted[i];
    x->tensors = wick_list(s->plan->tensor_count, sizeof *x->tensors);
    if (!x->tensors) return WICK_NO_MEMORY;
    x->job = s->runs[0].job;
    x->job.io = x->tensors;
    x->job.is_submitted = 1;
  }
  return WICK_OK;
}

/* ---- submitting ------------------------------------------------------------------------------ */

bool wick_submitted_have_room(const wick_session *s) {
  return s->under_way < (s->plan->has_bound ? 1 : WICK_MAX_SUBMITTED);
}

static wick_submitted *find(wick_session *s, uint64_t ticket) {
  for (uint32_t i = 0; i < WICK_MAX_SUBMITTED; i++)
    if (s->submitted[i].ticket == ticket) return &s->submitted[i];
  return NULL;
}

static wick_status begin_job(wick_session *s, wick_submitted *x) {
  const wick_run *r = &s->runs[0];
  wick_error_detail why = {{0}};
  memcpy(x->tensors, s->tensors, s->plan->tensor_count * sizeof *x->tensors);
  wick_status status =
      r->queue->device->submit(r->queue->context, &x->job, &x->device_ticket, &why);
  return status == WICK_OK ? status : wick_queue_fail(s, r->queue, r, status, &why);
}

wick_status wick_session_submit(wick_session *session, const void *const *inputs,
                                void *const *outputs, uint64_t *ticket) {
  if (!session || !ticket) return WICK_BAD_ARGUMENT;
  wick_status status = wick_run_begin(session, inputs, outputs, true);
  if (status != WICK_OK) return status;
  wick_submitted *x = find(session, 0);
  x->device_ticket = 0;
  x->status = WICK_OK;
  status = is_left_to_device(session) ? begin_job(session, x)
                                      : wick_run_check(session, wick_run_now(session));
  if (status == WICK_OK) {
    *ticket = x->ticket = ++session->last_ticket;
    session->under_way++;
  }
  wick_run_end(session);
  return status;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* The device has dropped what was behind x. */
static void fail_behind(wick_session *s, const wick_submitted *x) {
  for (uint32_t i = 0; i < WICK_MAX_SUBMITTED; i++) {
    wick_submitted *other = &s->submitted[i];
    if (other->ticket <= x->ticket || other->device_ticket == 0) continue;
    other->device_ticket = 0;
    other->status = x->status;
    wick_fail(&other->error, x->status, "a run before this one failed: %.200s", x->error.text);
  }
}

static void finish(wick_session *s, wick_submitted *x) {
  s->is_late = false;
  s->error.text[0] = '\0';
  wick_status status = wick_queue_wait(s, s->runs[0].queue, x->device_ticket);
  if (status != WICK_OK)
    memcpy(s->tensors, x->tensors, s->plan->tensor_count * sizeof *x->tensors);
  x->status = wick_run_name_step(s, status);
  x->error = s->error;
  x->device_ticket = 0;
  if (status != WICK_OK) fail_behind(s, x);
}

/* In the order in which they were submitted: each is told of its own failure. */
static void finish_until(wick_session *s, uint64_t ticket) {
  for (;;) {
    wick_submitted *first = NULL;
    for (uint32_t i = 0; i < WICK_MAX_SUBMITTED; i++) {
      wick_submitted *x = &s->submitted[i];
      bool is_left = x->ticket != 0 && x->ticket <= ticket && x->device_ticket != 0;
      if (is_left && (!first || x->ticket < first->ticket)) first = x;
    }
    if (!first) return;
    finish(s, first);
  }
}

wick_status wick_session_wait(wick_session *session, uint64_t ticket) {
  if (!session) return WICK_BAD_ARGUMENT;
  if (atomic_flag_test_and_set(&session->busy)) return WICK_BUSY;
  session->error.text[0] = '\0';
  wick_status status;
  wick_submitted *x = ticket ? find(session, ticket) : NULL;
  if (x) {
    finish_until(session, ticket);
    status = x->status;
    session->error = status == WICK_OK ? (wick_error_detail){{0}} : x->error;
    x->ticket = 0;
    session->under_way--;
  } else {
    status = wick_fail(&session->error, WICK_BAD_ARGUMENT, "there is no run with ticket %llu",
                       (unsigned long long)ticket);
  }
  atomic_flag_clear(&session->busy);
  return status;
}

void wick_submitted_free(wick_session *s) {
  if (s->under_way > 0) finish_until(s, s->last_ticket);
  for (uint32_t i = 0; i < WICK_MAX_SUBMITTED; i++) free(s->submitted[i].tensors);
}
