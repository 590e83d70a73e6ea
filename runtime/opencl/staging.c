/* SPDX-License-Identifier: Apache-2.0
 * Copies of jobs that are submitted one behind the other, for devices that have memory of their
 * own: drivers wait for the queue before they copy from or to memory that may be paged out. Inputs
 * are copied into memory of the driver's and from there to the device, outputs the other way when
 * somebody waits for their job. There are two sets of that memory: a job waits for the one before
 * the last. */
#include <stdlib.h>
#include <string.h>

#include "context.h"

static size_t size_of_set(const wick_tensor_info *t) { return wick_align_up(t->bytes, WICK_ALIGN); }

/* ---- memory ---------------------------------------------------------------------------------- */

/* Mapped memory of the driver's; NULL: there is none. */
static void *pin(wick_cl_context *c, size_t size, cl_mem *out) {
  cl_int code;
  cl_mem memory = c->cl->CreateBuffer(c->u->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                      size, NULL, &code);
  if (code != CL_SUCCESS) return NULL;
  void *at = c->cl->EnqueueMapBuffer(c->queue, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size,
                                     0, NULL, NULL, &code);
  if (code == CL_SUCCESS) *out = memory;
  else c->cl->ReleaseMemObject(memory);
  return code == CL_SUCCESS ? at : NULL;
}

/* No job is under way. */
static bool pin_faults(wick_cl_context *c) {
  if (!c->fault || c->pinned_faults) return true;
  uint32_t *at = pin(c, sizeof c->own_faults, &c->pinned_faults);
  if (!at) return false;
  memcpy(at, c->own_faults, sizeof c->own_faults);
  c->faults = at;
  return true;
}

static bool pin_all(wick_cl_context *c, uint32_t part) {
  const wick_part_info *info = c->u->unit->parts[part].info;
  wick_cl_slot *slots = c->slots + c->u->first_io[part];
  for (uint32_t i = 0; i < wick_cl_io_count(info) && !c->cannot_pin; i++) {
    size_t size = WICK_CL_SETS * size_of_set(wick_cl_io(info, i));
    if (size == 0 || slots[i].pinned) continue;
    slots[i].pinned_at = pin(c, size, &slots[i].pinned);
    c->cannot_pin = !slots[i].pinned;
  }
  c->cannot_pin = c->cannot_pin || !pin_faults(c);
  return !c->cannot_pin;
}

void wick_cl_unpin(wick_cl_context *c) {
  uint32_t n = c->u->first_io[c->u->unit->part_count];
  bool has_any = false;
  for (uint32_t i = 0; i < n && !wick_cl_is_forked(); i++) {
    const wick_cl_slot *s = &c->slots[i];
    has_any = has_any || s->pinned;
    if (s->pinned) c->cl->EnqueueUnmapMemObject(c->queue, s->pinned, s->pinned_at, 0, NULL, NULL);
  }
  if (c->pinned_faults && !wick_cl_is_forked()) {
    has_any = true;
    c->cl->EnqueueUnmapMemObject(c->queue, c->pinned_faults, c->faults, 0, NULL, NULL);
  }
  c->faults = c->own_faults;
  if (has_any) c->cl->Finish(c->queue);
  wick_cl_release_memory(c->cl, c->pinned_faults);
  for (uint32_t i = 0; i < n; i++) wick_cl_release_memory(c->cl, c->slots[i].pinned);
}

uint8_t *wick_cl_staging(const wick_cl_slot *s, uint32_t set, const wick_tensor_info *t) {
  return set == WICK_NONE ? NULL : s->pinned_at + set * size_of_set(t);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static void deliver(const wick_cl_context *c, uint32_t set) {
  const wick_device_job *job = c->staged[set].job;
  const wick_part_info *info = c->u->unit->parts[job->part].info;
  const wick_cl_slot *slots = c->slots + c->u->first_io[job->part];
  for (uint32_t i = info->input_count; i < wick_cl_io_count(info); i++) {
    const wick_tensor_info *t = wick_cl_io(info, i);
    if (t->bytes) wick_cl_copy_tensor(t, job->io[i], wick_cl_staging(&slots[i], set, t));
  }
}

void wick_cl_deliver(wick_cl_context *c, uint64_t ticket, bool is_good) {
  for (;;) {
    uint32_t first = WICK_NONE;
    for (uint32_t i = 0; i < WICK_CL_SETS; i++) {
      uint64_t own = c->staged[i].ticket;
      if (own == 0 || own > ticket) continue;
      if (first == WICK_NONE || own < c->staged[first].ticket) first = i;
    }
    if (first == WICK_NONE) return;
    if (is_good) deliver(c, first);
    c->staged[first].ticket = 0;
  }
}

/* Until that job has finished; it is still to be waited for. */
static wick_status settle(wick_cl_context *c, uint64_t ticket, wick_error_detail *error) {
  wick_status status = wick_cl_reach(c, ticket, error);
  if (status == WICK_OK) wick_cl_deliver(c, ticket, true);
  return status;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static bool meet(const void *a, size_t a_size, const void *b, size_t b_size) {
  return (uintptr_t)a < (uintptr_t)b + b_size && (uintptr_t)b < (uintptr_t)a + a_size;
}

/* Whether the job reads what the other one has not delivered yet. */
static bool reads(const wick_cl_context *c, const wick_device_job *job,
                  const wick_device_job *other) {
  const wick_part_info *to = c->u->unit->parts[job->part].info;
  const wick_part_info *from = c->u->unit->parts[other->part].info;
  for (uint32_t i = 0; i < to->input_count; i++)
    for (uint32_t k = from->input_count; k < wick_cl_io_count(from); k++)
      if (meet(job->io[i], to->inputs[i].bytes, other->io[k], wick_cl_io(from, k)->bytes))
        return true;
  return false;
}

static bool is_staged(wick_cl_context *c, const wick_device_job *job) {
  return job->is_submitted && !c->u->shares_memory && !c->residents && pin_all(c, job->part);
}

wick_status wick_cl_stage(wick_cl_context *c, const wick_device_job *job,
                          wick_error_detail *error) {
  uint32_t set = (uint32_t)((c->submitted + 1) % WICK_CL_SETS);
  bool can_stage = is_staged(c, job);
  wick_status status = WICK_OK;
  for (uint32_t i = 0; i < WICK_CL_SETS && status == WICK_OK; i++) {
    const wick_cl_staged *s = &c->staged[i];
    if (s->ticket && (!can_stage || i == set || reads(c, job, s->job)))
      status = settle(c, s->ticket, error);
  }
  c->set = can_stage ? set : WICK_NONE;
  return status;
}

void wick_cl_staged_job(wick_cl_context *c, const wick_device_job *job) {
  if (c->set != WICK_NONE) c->staged[c->set] = (wick_cl_staged){c->submitted, job};
}
