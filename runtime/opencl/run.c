/* SPDX-License-Identifier: Apache-2.0
 * A job is put into the queue as a whole; the host waits only where a branch or a loop asks for a
 * condition, after each step of a job that is watched, at the end of one that is timed, and for
 * outputs with gaps. */
#include "context.h"

/* ---- launches -------------------------------------------------------------------------------- */

typedef struct {
  wick_cl_context *c;
  const wick_device_job *job;
  wick_error_detail *error;
  bool is_timed;
  uint32_t step; /* of the part */
} job_run;

/* The byte that the first argument points to. */
static wick_status read_condition(const job_run *r, uint32_t launch, int64_t iteration, bool *out) {
  const wick_cl_plan *p = &r->c->u->plan;
  const wick_cl_arg *a = &p->args[p->launches[launch].first_arg];
  cl_mem memory = wick_cl_memory(r->c, r->job->part, a);
  cl_long offset;
  uint8_t byte;
  wick_status status =
      wick_cl_offset(r->c, r->job->part, launch, 0, iteration, 1, &offset, r->error);
  if (status != WICK_OK) return status;
  if (!memory) return wick_fail(r->error, WICK_RUN_FAILED, "launch %u has no condition", launch);
  cl_int code = r->c->cl->EnqueueReadBuffer(r->c->queue, memory, CL_TRUE, (size_t)offset, 1, &byte,
                                            0, NULL, NULL);
  if (code != CL_SUCCESS) return wick_cl_fail(r->error, "clEnqueueReadBuffer", code);
  *out = byte != 0;
  return WICK_OK;
}

static wick_status write_number(const job_run *r, uint32_t launch, int64_t outer, int64_t number) {
  const wick_cl_plan *p = &r->c->u->plan;
  const wick_cl_arg *a = &p->args[p->launches[launch].first_arg + 1];
  cl_mem memory = wick_cl_memory(r->c, r->job->part, a);
  cl_long offset;
  if (!memory) return WICK_OK;
  wick_status status =
      wick_cl_offset(r->c, r->job->part, launch, 1, outer, sizeof number, &offset, r->error);
  if (status != WICK_OK) return status;
  cl_int code = r->c->cl->EnqueueFillBuffer(r->c->queue, memory, &number, sizeof number,
                                            (size_t)offset, sizeof number, 0, NULL, NULL);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(r->error, "clEnqueueFillBuffer", code);
}

static wick_status run_kernel(const job_run *r, uint32_t launch, int64_t iteration) {
  const wick_cl_plan *p = &r->c->u->plan;
  const wick_cl_launch *l = &p->launches[launch];
  size_t global[3], local[3];
  for (int i = 0; i < 3; i++) global[i] = l->global[i], local[i] = l->local[i];
  for (uint32_t i = 0; i < l->arg_count; i++) {
    if (p->args[l->first_arg + i].step == 0) continue;
    wick_status status = wick_cl_set_offset(r->c, r->job->part, launch, i, iteration,
                                            r->error);
    if (status != WICK_OK) return status;
  }
  cl_event *event = r->is_timed ? wick_cl_time_launch(r->c, r->step) : NULL;
  cl_int code = r->c->cl->EnqueueNDRangeKernel(r->c->queue, r->c->kernels[launch], 3, NULL, global,
                                               local, 0, NULL, event);
  if (code != CL_SUCCESS) return wick_cl_fail(r->error, "clEnqueueNDRangeKernel", code);
  return event ? wick_cl_time_launched(r->c, r->job, r->error) : WICK_OK;
}

static wick_status run_rows(const job_run *r, uint32_t i, uint32_t end, int64_t iteration);

static wick_status run_branch(const job_run *r, uint32_t launch, int64_t iteration) {
  const wick_cl_launch *l = &r->c->u->plan.launches[launch];
  uint32_t first = launch + 1, other = first + l->body_count;
  bool is_true;
  wick_status status = read_condition(r, launch, iteration, &is_true);
  if (status != WICK_OK) return status;
  return is_true ? run_rows(r, first, other, iteration)
                 : run_rows(r, other, other + l->else_count, iteration);
}

static wick_status run_loop(const job_run *r, uint32_t launch, int64_t outer) {
  const wick_cl_plan *p = &r->c->u->plan;
  const wick_cl_launch *l = &p->launches[launch];
  bool is_tested = p->args[l->first_arg].buffer != WICK_NONE, goes_on = true;
  wick_status status = WICK_OK;
  for (int64_t i = 0; i < l->trip && status == WICK_OK; i++) {
    if (is_tested) status = read_condition(r, launch, outer, &goes_on);
    if (status != WICK_OK || !goes_on) break;
    status = write_number(r, launch, outer, i);
    if (status == WICK_OK) status = run_rows(r, launch + 1, launch + 1 + l->body_count, i);
  }
  return status;
}

static wick_status run_rows(const job_run *r, uint32_t i, uint32_t end, int64_t iteration) {
  wick_status status = WICK_OK;
  while (i < end && status == WICK_OK) {
    const wick_cl_launch *l = &r->c->u->plan.launches[i];
    status = l->kind == WICK_CL_RUN  ? run_kernel(r, i, iteration)
             : l->kind == WICK_CL_IF ? run_branch(r, i, iteration)
                                     : run_loop(r, i, iteration);
    i += 1 + l->body_count + l->else_count;
  }
  return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static wick_status enqueue_step(job_run *r, uint32_t step) {
  r->step = step;
  const wick_cl_plan *p = &r->c->u->plan;
  const wick_cl_step *s = &p->steps[r->c->u->unit->parts[r->job->part].code + step];
  return run_rows(r, s->first_launch, s->first_launch + s->launch_count, 0);
}

/* A step of a job that is watched. An observer is told of the step that has a fault. */
static wick_status run_step(void *context, const wick_device_job *job, uint32_t step,
                            wick_error_detail *error) {
  job_run r = {.c = context, .job = job, .error = error};
  wick_status status = enqueue_step(&r, step);
  if (status == WICK_OK && job->observer) status = wick_cl_fetch_fault(context, error);
  return status == WICK_OK ? wick_cl_wait_for(context, UINT64_MAX, error) : status;
}

/* The device's times are asked for; who observes wants to see tensors of each step. */
static bool is_timed(const wick_device_job *job) {
  return job->timer ? true : job->profile && !job->observer;
}

static wick_status run_steps(job_run *r) {
  const wick_device_unit *unit = r->c->u->unit;
  wick_status status = WICK_OK;
  r->is_timed = is_timed(r->job) && wick_cl_can_time(r->c);
  if (!r->is_timed && (r->job->profile || r->job->observer)) {
    status = wick_cl_finish(r->c, r->error);
    if (status != WICK_OK) return status;
    return wick_device_run_steps(unit, r->job, NULL, run_step, r->c, r->error);
  }
  uint32_t n = unit->parts[r->job->part].info->step_count;
  for (uint32_t i = 0; i < n && status == WICK_OK; i++) {
    status = enqueue_step(r, i);
    if (status == WICK_OK && r->is_timed && r->job->profile) r->job->profile[i].calls++;
  }
  return status == WICK_OK && r->is_timed ? wick_cl_take_times(r->c, r->job, r->error) : status;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static wick_status enqueue(job_run *r) {
  wick_status status = wick_cl_stage(r->c, r->job, r->error);
  if (status == WICK_OK) status = wick_cl_bind(r->c, r->job, r->error);
  r->c->is_busy = true;
  if (status == WICK_OK) status = wick_cl_upload(r->c, r->job, r->error);
  if (status == WICK_OK) status = run_steps(r);
  if (status == WICK_OK) status = wick_cl_fetch_fault(r->c, r->error);
  return status == WICK_OK ? wick_cl_download(r->c, r->job, r->error) : status;
}

/* What has been put into the queue ends, and with it what it does to the caller's memory. */
static wick_status end_early(wick_cl_context *c, wick_status status, wick_error_detail *error) {
  wick_cl_drop_times(c);
  cl_int code = c->cl->Finish(c->queue);
  bool is_told = status != WICK_RUN_FAILED || code == CL_SUCCESS;
  return is_told ? status : wick_cl_fail(error, "clFinish", code);
}

wick_status wick_cl_submit(void *context, const wick_device_job *job, uint64_t *ticket,
                           wick_error_detail *error) {
  wick_cl_context *c = context;
  job_run r = {.c = c, .job = job, .error = error};
  wick_status status = wick_cl_check_process(error);
  if (status != WICK_OK) return status;
  wick_cl_mark_end(c);
  status = enqueue(&r);
  if (status != WICK_OK) return wick_cl_note(c->u, end_early(c, status, error), error);
  c->cl->Flush(c->queue);
  *ticket = ++c->submitted;
  wick_cl_staged_job(c, job);
  return WICK_OK;
}

wick_status wick_cl_wait(void *context, uint64_t ticket, wick_error_detail *error) {
  wick_cl_context *c = context;
  return wick_cl_note(c->u, wick_cl_wait_for(c, ticket, error), error);
}
