/* SPDX-License-Identifier: Apache-2.0 */
#include "strict.h"

CL_API_ENTRY cl_command_queue CL_API_CALL
clCreateCommandQueue(cl_context handle, cl_device_id device, cl_command_queue_properties how,
                     cl_int *code) {
  strict_call c;
  strict_begin(&c, "clCreateCommandQueue");
  strict_object *context = strict_use(&c, handle, STRICT_CONTEXT);
  strict_limits limits;
  strict_check_device(&c, context, device);
  strict_limits_of(&c, device, &limits);
  if (how & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    strict_refuse(&c, context, "queues out of order are not followed");
  strict_forward(&c);
  cl_command_queue real = c.under->CreateCommandQueue(context->real, device, how, code);
  strict_resume(&c);
  strict_object *o = strict_make(&c, STRICT_QUEUE, context, real);
  if (o) {
    o->queue.device = device;
    o->queue.limits = limits;
    o->queue.is_timed = how & CL_QUEUE_PROFILING_ENABLE;
  }
  strict_end(&c);
  return (cl_command_queue)o;
}

CL_API_ENTRY cl_int CL_API_CALL clFlush(cl_command_queue handle) {
  strict_call c;
  strict_begin(&c, "clFlush");
  strict_object *queue = strict_use(&c, handle, STRICT_QUEUE);
  uint64_t put = queue->queue.put;
  strict_forward(&c);
  cl_int code = c.under->Flush(queue->real);
  strict_resume(&c);
  if (code == CL_SUCCESS && queue->queue.flushed < put) queue->queue.flushed = put;
  strict_end(&c);
  return code;
}

CL_API_ENTRY cl_int CL_API_CALL clFinish(cl_command_queue handle) {
  const strict_stamps none = {0};
  strict_call c;
  strict_begin(&c, "clFinish");
  strict_object *queue = strict_use(&c, handle, STRICT_QUEUE);
  strict_stamp last = {queue, queue->queue.put};
  strict_let_run(&c, queue);
  strict_forward(&c);
  cl_int code = c.under->Finish(queue->real);
  strict_resume(&c);
  if (code == CL_SUCCESS) /* another thread may have put something behind that */
    strict_wait_for(last, last.at == queue->queue.put ? &queue->queue.waited : &none);
  strict_end(&c);
  return code;
}

CL_API_ENTRY cl_int CL_API_CALL clWaitForEvents(cl_uint n, const cl_event *list) {
  strict_call c;
  strict_begin(&c, "clWaitForEvents");
  if (n == 0 || !list) strict_refuse(&c, NULL, "there are no events");
  cl_event *real = malloc(n * sizeof *real);
  if (!real) abort();
  for (cl_uint i = 0; i < n; i++) {
    const strict_object *e = strict_check(&c, list[i], STRICT_EVENT);
    real[i] = e->real;
    strict_let_run(&c, e->event.command.queue);
  }
  strict_forward(&c);
  cl_int code = c.under->WaitForEvents(n, real);
  strict_resume(&c);
  for (cl_uint i = 0; i < n && code == CL_SUCCESS; i++) {
    const strict_object *e = strict_check(&c, list[i], STRICT_EVENT);
    strict_wait_for(e->event.command, &e->event.waited);
  }
  free(real);
  strict_end(&c);
  return code;
}

CL_API_ENTRY cl_int CL_API_CALL clGetEventProfilingInfo(cl_event handle, cl_profiling_info what,
                                                        size_t size, void *out, size_t *needed) {
  strict_call c;
  strict_begin(&c, "clGetEventProfilingInfo");
  const strict_object *e = strict_use(&c, handle, STRICT_EVENT);
  strict_stamp command = e->event.command;
  if (!command.queue->queue.is_timed)
    strict_refuse(&c, e, "queue #%llu does not time its commands",
                  (unsigned long long)command.queue->number);
  if (command.at > command.queue->queue.done)
    strict_refuse(&c, e, "nobody has waited for its command");
  strict_forward(&c);
  cl_int code = c.under->GetEventProfilingInfo(e->real, what, size, out, needed);
  strict_resume(&c);
  strict_end(&c);
  return code;
}

typedef cl_int(CL_API_CALL *order_function)(cl_command_queue, cl_uint, const cl_event *,
                                            cl_event *);

static cl_int put_order(strict_call *c, order_function function, cl_command_queue handle,
                        cl_uint n, const cl_event *list, cl_event *event) {
  strict_object *queue = strict_use(c, handle, STRICT_QUEUE);
  cl_event *waits, made = NULL;
  strict_stamp command = strict_put(c, queue, n, list, &waits);
  strict_forward(c);
  cl_int code = function(queue->real, n, waits, event ? &made : NULL);
  strict_resume(c);
  free(waits);
  if (code == CL_SUCCESS) strict_put_done(c, command, event, made, false);
  strict_end(c);
  return code;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint n,
                                                             const cl_event *list,
                                                             cl_event *event) {
  strict_call c;
  strict_begin(&c, "clEnqueueBarrierWithWaitList");
  return put_order(&c, c.under->EnqueueBarrierWithWaitList, queue, n, list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n,
                                                            const cl_event *list,
                                                            cl_event *event) {
  strict_call c;
  strict_begin(&c, "clEnqueueMarkerWithWaitList");
  return put_order(&c, c.under->EnqueueMarkerWithWaitList, queue, n, list, event);
}
