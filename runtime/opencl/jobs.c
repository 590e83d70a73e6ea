/* SPDX-License-Identifier: Apache-2.0
 * Which jobs have finished. Whoever waits for the last one waits for the queue; one that others
 * came behind has a mark between them, and its own copy of the word that kernels set. */
#include "context.h"

static uint32_t place_of(uint64_t ticket) { return (uint32_t)(ticket % WICK_CL_JOBS); }

/* ---- marks ----------------------------------------------------------------------------------- */

/* Without one, whoever waits for that job waits for those behind it, too. */
void wick_cl_mark_end(wick_cl_context *c) {
  uint64_t ticket = c->submitted;
  wick_cl_mark *m = &c->marks[place_of(ticket)];
  if (c->waited == ticket || m->ticket == ticket) return;
  if (m->ticket) c->cl->ReleaseEvent(m->event);
  *m = (wick_cl_mark){.ticket = ticket};
  if (c->cl->EnqueueMarkerWithWaitList(c->queue, 0, NULL, &m->event) != CL_SUCCESS) m->ticket = 0;
}

void wick_cl_release_marks(wick_cl_context *c, uint64_t ticket) {
  for (uint32_t i = 0; i < WICK_CL_JOBS; i++) {
    wick_cl_mark *m = &c->marks[i];
    if (m->ticket == 0 || m->ticket > ticket) continue;
    if (!wick_cl_is_forked()) c->cl->ReleaseEvent(m->event);
    m->ticket = 0;
  }
}

/* The first that comes behind that job; NULL: there is none. */
static const wick_cl_mark *find_mark(const wick_cl_context *c, uint64_t ticket) {
  const wick_cl_mark *first = NULL;
  for (uint32_t i = 0; i < WICK_CL_JOBS; i++) {
    const wick_cl_mark *m = &c->marks[i];
    if (m->ticket >= ticket && m->ticket && (!first || m->ticket < first->ticket)) first = m;
  }
  return first;
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* Once it is set it stays: jobs behind the one that failed must not make up for it. */
wick_status wick_cl_clear_fault(wick_cl_context *c, wick_error_detail *error) {
  const uint32_t none = 0;
  if (!c->fault) return WICK_OK;
  cl_int code = c->cl->EnqueueFillBuffer(c->queue, c->fault, &none, sizeof none, 0,
                                         WICK_CL_FAULT_BYTES, 0, NULL, NULL);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clEnqueueFillBuffer", code);
}

wick_status wick_cl_fetch_fault(wick_cl_context *c, wick_error_detail *error) {
  if (!c->fault) return WICK_OK;
  cl_int code = c->cl->EnqueueReadBuffer(c->queue, c->fault, CL_FALSE, 0, WICK_CL_FAULT_BYTES,
                                         &c->faults[place_of(c->submitted + 1)], 0, NULL, NULL);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clEnqueueReadBuffer", code);
}

/* All jobs have finished. */
static wick_status forget_faults(wick_cl_context *c, wick_error_detail *error) {
  for (uint32_t i = 0; i < WICK_CL_JOBS; i++) c->faults[i] = 0;
  wick_status status = wick_cl_clear_fault(c, error);
  return status == WICK_OK ? wick_cl_finish(c, error) : status;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* *until: the last job that has finished. */
static wick_status wait_for_mark(wick_cl_context *c, const wick_cl_mark *m, uint64_t *until,
                                 wick_error_detail *error) {
  wick_status status = wick_cl_check_process(error);
  if (status != WICK_OK) return status;
  cl_int code = c->cl->WaitForEvents(1, &m->event);
  *until = m->ticket;
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clWaitForEvents", code);
}

wick_status wick_cl_reach(wick_cl_context *c, uint64_t ticket, wick_error_detail *error) {
  const wick_cl_mark *mark = find_mark(c, ticket);
  uint64_t until;
  if (ticket <= c->waited) return WICK_OK;
  return mark ? wait_for_mark(c, mark, &until, error) : wick_cl_finish(c, error);
}

/* A job that is not there is behind all. After a failure none is under way. */
wick_status wick_cl_wait_for(wick_cl_context *c, uint64_t ticket, wick_error_detail *error) {
  const wick_cl_mark *mark = ticket < c->submitted ? find_mark(c, ticket) : NULL;
  uint64_t until = c->submitted;
  if (ticket <= c->waited) return WICK_OK;
  wick_status status = mark ? wait_for_mark(c, mark, &until, error) : wick_cl_finish(c, error);
  bool has_fault = false;
  for (uint64_t t = c->waited + 1; t <= until + (mark ? 0 : 1) && t <= c->waited + WICK_CL_JOBS;
       t++)
    has_fault = has_fault || c->faults[place_of(t)];
  if (mark && (status != WICK_OK || has_fault)) {
    wick_error_detail other;
    wick_status all = wick_cl_finish(c, status == WICK_OK ? error : &other);
    if (status == WICK_OK) status = all;
    until = c->submitted;
  }
  c->waited = until;
  wick_cl_deliver(c, until, status == WICK_OK && !has_fault);
  wick_cl_release_marks(c, until);
  if (status != WICK_OK || !has_fault) return status;
  status = forget_faults(c, error);
  if (status != WICK_OK) return status;
  return wick_fail(error, WICK_RUN_FAILED, "an index is out of range");
}
