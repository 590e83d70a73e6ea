/* SPDX-License-Identifier: Apache-2.0
 * When launches ran, by the device's clock: jobs that are timed have a queue for it, and nobody
 * waits for their steps. A device that does not tell is found out by a command that does nothing
 * else; its steps are waited for. */
#include <time.h>

#include "context.h"

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static cl_int ask(const wick_cl_context *c, cl_event event, cl_profiling_info what,
                  cl_ulong *out) {
  return c->cl->GetEventProfilingInfo(event, what, sizeof *out, out, NULL);
}

/* ---- a queue that times ---------------------------------------------------------------------- */

static bool tells(const wick_cl_context *c, cl_command_queue queue, cl_mem memory) {
  const cl_uint zero = 0;
  cl_event event;
  cl_ulong start = 0, end = 0;
  if (c->cl->EnqueueFillBuffer(queue, memory, &zero, sizeof zero, 0, sizeof zero, 0, NULL,
                               &event) != CL_SUCCESS)
    return false;
  bool ok = c->cl->Finish(queue) == CL_SUCCESS &&
            ask(c, event, CL_PROFILING_COMMAND_QUEUED, &start) == CL_SUCCESS &&
            ask(c, event, CL_PROFILING_COMMAND_START, &start) == CL_SUCCESS &&
            ask(c, event, CL_PROFILING_COMMAND_END, &end) == CL_SUCCESS && end >= start;
  c->cl->ReleaseEvent(event);
  return ok;
}

/* NULL: the device does not tell. */
static cl_command_queue make_queue(const wick_cl_context *c) {
  cl_int code;
  cl_command_queue queue = c->cl->CreateCommandQueue(c->u->context, c->u->device.device,
                                                     CL_QUEUE_PROFILING_ENABLE, &code);
  if (code != CL_SUCCESS) return NULL;
  cl_mem memory =
      c->cl->CreateBuffer(c->u->context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &code);
  bool ok = code == CL_SUCCESS && tells(c, queue, memory);
  if (code == CL_SUCCESS) c->cl->ReleaseMemObject(memory);
  if (ok) return queue;
  c->cl->ReleaseCommandQueue(queue);
  return NULL;
}

/* The queue takes the place of the context's, in which nothing is under way any more. */
bool wick_cl_can_time(wick_cl_context *c) {
  wick_error_detail why;
  if (c->is_asked) return c->is_timed;
  c->is_asked = true;
  cl_command_queue queue = make_queue(c);
  if (queue && wick_cl_finish(c, &why) == WICK_OK) {
    c->cl->ReleaseCommandQueue(c->queue);
    c->queue = queue;
    c->is_timed = true;
  } else if (queue) {
    c->cl->ReleaseCommandQueue(queue);
  }
  return c->is_timed;
}

/* ---- launches -------------------------------------------------------------------------------- */

cl_event *wick_cl_time_launch(wick_cl_context *c, uint32_t step) {
  wick_cl_time *t = &c->times[c->time_count];
  *t = (wick_cl_time){.step = step, .host = now_ns()};
  return &t->event;
}

wick_status wick_cl_time_launched(wick_cl_context *c, const wick_device_job *job,
                                  wick_error_detail *error) {
  return ++c->time_count < WICK_CL_TIMES ? WICK_OK : wick_cl_take_times(c, job, error);
}

void wick_cl_drop_times(wick_cl_context *c) {
  for (uint32_t i = 0; i < c->time_count && !wick_cl_is_forked(); i++)
    c->cl->ReleaseEvent(c->times[i].event);
  c->time_count = 0;
}

/* `offset`: from the device's clock to the host's. */
static cl_int take_time(wick_cl_context *c, const wick_device_job *job, const wick_cl_time *t,
                        uint64_t offset) {
  cl_ulong start, end;
  cl_int code = ask(c, t->event, CL_PROFILING_COMMAND_START, &start);
  if (code == CL_SUCCESS) code = ask(c, t->event, CL_PROFILING_COMMAND_END, &end);
  if (code != CL_SUCCESS) return code;
  if (end < start) end = start;
  if (job->profile) job->profile[t->step].nanoseconds += end - start;
  const wick_step_time time = {t->step, WICK_CLOCK_DEVICE, start + offset, end + offset};
  if (job->timer) job->timer(job->user, &time);
  return CL_SUCCESS;
}

/* The clocks agree when the first of the launches was put into the queue. */
wick_status wick_cl_take_times(wick_cl_context *c, const wick_device_job *job,
                               wick_error_detail *error) {
  cl_ulong queued = 0;
  cl_int code = CL_SUCCESS;
  wick_status status = wick_cl_finish(c, error);
  if (status == WICK_OK && c->time_count)
    code = ask(c, c->times[0].event, CL_PROFILING_COMMAND_QUEUED, &queued);
  for (uint32_t i = 0; i < c->time_count && status == WICK_OK && code == CL_SUCCESS; i++)
    code = take_time(c, job, &c->times[i], c->times[0].host - queued);
  wick_cl_drop_times(c);
  return code == CL_SUCCESS ? status : wick_cl_fail(error, "clGetEventProfilingInfo", code);
}
