/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans. Rows begin in order. A part is submitted and left to its device; whoever needs what it
 * makes waits for it, so that devices work at the same time as the host and as each other. Jobs of
 * one device keep their order by themselves: nobody waits for one to begin the next. */
#include <string.h>

#include "session.h"

static wick_status run_rows(wick_session *s, uint32_t first, uint32_t end, int64_t iteration);

static wick_run *run_of(const wick_session *s, uint32_t row) {
  return &s->runs[s->plan->parts[row]];
}

/* Rows behind the row and its bodies. */
static uint32_t behind(const wick_pkg_row *row, uint32_t number) {
  return number + 1 + row->body_count + row->else_count;
}

/* ---- devices --------------------------------------------------------------------------------- */

wick_status wick_queue_fail(wick_session *s, const wick_queue *q, const wick_run *r,
                            wick_status status, const wick_error_detail *why) {
  const wick_unit_info *unit = &s->model->unit_infos[q - s->queues];
  const wick_part_info *part = r ? s->entry->parts[r - s->runs] : NULL;
  return wick_fail_unit(s->model, unit, part, status, why, &s->error);
}

wick_status wick_run_submit(wick_session *s, wick_run *r) {
  const wick_queue *q = r->queue;
  wick_error_detail why = {.text = ""};
  r->ticket = 0;
  wick_status status = q->device->submit(q->context, &r->job, &r->ticket, &why);
  return status == WICK_OK ? status : wick_queue_fail(s, q, r, status, &why);
}

wick_status wick_queue_wait(wick_session *s, const wick_queue *q, uint64_t ticket) {
  wick_error_detail why = {.text = ""};
  wick_status status = q->device->wait(q->context, ticket, &why);
  s->is_late = s->is_late || status == WICK_RUN_FAILED;
  return status == WICK_OK ? status : wick_queue_fail(s, q, NULL, status, &why);
}

static wick_status wait_until(wick_session *s, wick_queue *q, uint64_t ticket) {
  if (ticket <= q->done) return WICK_OK;
  q->done = ticket;
  return wick_queue_wait(s, q, ticket);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A row has finished when every part in it has. */
static wick_status finish(wick_session *s, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    if (s->plan->rows[i].kind != WICK_ROW_RUN) continue;
    wick_run *r = run_of(s, i);
    wick_status status = wait_until(s, r->queue, r->ticket);
    if (status != WICK_OK) return status;
  }
  return WICK_OK;
}

static wick_status finish_waits(wick_session *s, const wick_pkg_row *row, const wick_queue *own) {
  const uint32_t *waits = s->plan->refs + row->first_wait;
  for (uint32_t i = 0; i < row->wait_count; i++) {
    const wick_pkg_row *before = &s->plan->rows[waits[i]];
    if (own && before->kind == WICK_ROW_RUN && run_of(s, waits[i])->queue == own) continue;
    wick_status status = finish(s, waits[i], behind(before, waits[i]));
    if (status != WICK_OK) return status;
  }
  return WICK_OK;
}

static wick_status run_part(wick_session *s, const wick_pkg_row *row, uint32_t number) {
  wick_run *r = run_of(s, number);
  const uint32_t *refs = s->plan->refs + row->first_ref;
  wick_status status = finish_waits(s, row, r->queue);
  if (status != WICK_OK) return status;
  for (uint32_t i = 0; i < row->ref_count; i++) r->io[i] = s->tensors[refs[i]];
  r->has_run = true;
  status = wick_run_submit(s, r);
  if (r->ticket) r->queue->last = r->ticket;
  return status;
}

static wick_status run_copy(wick_session *s, const wick_pkg_row *row, int64_t iteration) {
  const uint32_t *refs = s->plan->refs + row->first_ref;
  wick_status status = finish_waits(s, row, NULL);
  if (status != WICK_OK || row->bytes == 0) return status;
  const uint8_t *source = s->tensors[refs[0]];
  uint8_t *destination = s->tensors[refs[1]];
  memmove(destination + row->destination_offset + iteration * row->destination_step,
          source + row->source_offset + iteration * row->source_step, row->bytes);
  return WICK_OK;
}

static bool is_true(const wick_session *s, uint32_t tensor) {
  return tensor == WICK_NONE || *(const uint8_t *)s->tensors[tensor] != 0;
}

static wick_status run_branch(wick_session *s, const wick_pkg_row *row, uint32_t number,
                              int64_t iteration) {
  uint32_t middle = number + 1 + row->body_count;
  wick_status status = finish_waits(s, row, NULL);
  if (status != WICK_OK) return status;
  return is_true(s, s->plan->refs[row->first_ref])
             ? run_rows(s, number + 1, middle, iteration)
             : run_rows(s, middle, behind(row, number), iteration);
}

static wick_status run_loop(wick_session *s, const wick_pkg_row *row, uint32_t number) {
  const uint32_t *refs = s->plan->refs + row->first_ref;
  uint32_t end = behind(row, number);
  wick_status status = finish_waits(s, row, NULL);
  for (int64_t i = 0; status == WICK_OK && i < row->trip && is_true(s, refs[0]); i++) {
    if (refs[1] != WICK_NONE) memcpy(s->tensors[refs[1]], &i, sizeof i);
    status = run_rows(s, number + 1, end, i);
    if (status == WICK_OK) status = finish(s, number + 1, end);
  }
  return status;
}

static wick_status run_rows(wick_session *s, uint32_t first, uint32_t end, int64_t iteration) {
  wick_status status = WICK_OK;
  for (uint32_t i = first; i < end && status == WICK_OK;) {
    const wick_pkg_row *row = &s->plan->rows[i];
    switch (row->kind) {
      case WICK_ROW_RUN: status = run_part(s, row, i); break;
      case WICK_ROW_COPY: status = run_copy(s, row, iteration); break;
      case WICK_ROW_IF: status = run_branch(s, row, i, iteration); break;
      default: status = run_loop(s, row, i); break;
    }
    i = behind(row, i);
  }
  return status;
}

/* All devices come to rest, also after a failure, whose reason is kept. */
static wick_status finish_all(wick_session *s, wick_status status) {
  wick_error_detail first = s->error;
  for (uint32_t u = 0; u < s->model->info.unit_count; u++) {
    wick_queue *q = &s->queues[u];
    wick_status last = wait_until(s, q, q->last);
    if (status != WICK_OK) s->error = first;
    else if (last != WICK_OK) status = last, first = s->error;
  }
  return status;
}

wick_status wick_plan_run(wick_session *s) {
  for (uint32_t i = 0; i < s->entry->part_count; i++) s->runs[i].has_run = false;
  return finish_all(s, run_rows(s, 0, s->plan->row_count, 0));
}
