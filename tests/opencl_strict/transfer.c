/* SPDX-License-Identifier: Apache-2.0
 * Commands that move bytes of buffers. */
#include "strict.h"

/* A command on one buffer, from strict_begin to strict_end. */
typedef struct {
  strict_call call;
  strict_object *queue, *memory;
  strict_stamp command;
  cl_event *waits, made; /* of the real library */
  cl_event *event;       /* where the application wants one; else NULL */
} transfer;

static strict_object *take_memory(strict_call *c, const strict_object *queue, cl_mem handle) {
  strict_object *m = strict_use(c, handle, STRICT_MEMORY);
  if (m->context != queue->context) strict_refuse(c, m, "it is of another context than the queue");
  return m;
}

static void begin(transfer *t, const char *function, cl_command_queue queue, cl_mem memory) {
  memset(t, 0, sizeof *t);
  strict_begin(&t->call, function);
  t->queue = strict_use(&t->call, queue, STRICT_QUEUE);
  t->memory = take_memory(&t->call, t->queue, memory);
}

/* waits: for the command. */
static void put(transfer *t, cl_bool waits, cl_uint n, const cl_event *list, cl_event *event) {
  t->event = event;
  t->command = strict_put(&t->call, t->queue, n, list, &t->waits);
  if (waits) strict_let_run(&t->call, t->queue);
}

static cl_event *made(transfer *t) { return t->event ? &t->made : NULL; }

static cl_int finish(transfer *t, cl_int code, bool is_done) {
  free(t->waits);
  if (code == CL_SUCCESS) strict_put_done(&t->call, t->command, t->event, t->made, is_done);
  strict_end(&t->call);
  return code;
}

static void check_range(const strict_call *c, const strict_object *m, size_t at, size_t size) {
  if (size == 0) strict_refuse(c, m, "no bytes at %zu", at);
  if (at > m->memory.size || size > m->memory.size - at)
    strict_refuse(c, m, "%zu bytes at %zu", size, at);
}

static void check_host(const transfer *t, const void *host, cl_mem_flags forbidden) {
  if (!host) strict_refuse(&t->call, t->memory, "the host's memory is NULL");
  if (t->memory->memory.flags & forbidden)
    strict_refuse(&t->call, t->memory, "its flags 0x%llx forbid it to the host",
                  (unsigned long long)t->memory->memory.flags);
}

/* ---- the host's memory ----------------------------------------------------------------------- */

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory,
                                                    cl_bool waits, size_t at, size_t size,
                                                    void *to, cl_uint n, const cl_event *list,
                                                    cl_event *event) {
  transfer t;
  begin(&t, "clEnqueueReadBuffer", queue, memory);
  check_range(&t.call, t.memory, at, size);
  check_host(&t, to, CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS);
  put(&t, waits, n, list, event);
  strict_touch(&t.call, t.command, t.memory, false);
  strict_forward(&t.call);
  cl_int code = t.call.under->EnqueueReadBuffer(t.queue->real, t.memory->real, waits, at, size, to,
                                                n, t.waits, made(&t));
  strict_resume(&t.call);
  return finish(&t, code, waits);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory,
                                                     cl_bool waits, size_t at, size_t size,
                                                     const void *from, cl_uint n,
                                                     const cl_event *list, cl_event *event) {
  transfer t;
  begin(&t, "clEnqueueWriteBuffer", queue, memory);
  check_range(&t.call, t.memory, at, size);
  check_host(&t, from, CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS);
  put(&t, waits, n, list, event);
  strict_touch(&t.call, t.command, t.memory, true);
  strict_forward(&t.call);
  cl_int code = t.call.under->EnqueueWriteBuffer(t.queue->real, t.memory->real, waits, at, size,
                                                 from, n, t.waits, made(&t));
  strict_resume(&t.call);
  return finish(&t, code, waits);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static const cl_map_flags map_writes = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

static void check_map(const transfer *t, cl_map_flags how, size_t at, size_t size) {
  const cl_map_flags invalid = CL_MAP_WRITE_INVALIDATE_REGION;
  const strict_memory *m = &t->memory->memory;
  check_range(&t->call, t->memory, at, size);
  if (how == 0 || how & ~(CL_MAP_READ | map_writes) || (how & invalid && how != invalid))
    strict_refuse(&t->call, t->memory, "map flags 0x%llx", (unsigned long long)how);
  for (size_t i = 0; i < m->maps.n; i++) {
    const strict_map *o = &m->maps.data[i];
    if ((how | o->how) & map_writes && at < o->offset + o->size && o->offset < at + size)
      strict_refuse(&t->call, t->memory, "%zu bytes at %zu, of which some are mapped", size, at);
  }
}

CL_API_ENTRY void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory,
                                                  cl_bool waits, cl_map_flags how, size_t at,
                                                  size_t size, cl_uint n, const cl_event *list,
                                                  cl_event *event, cl_int *code) {
  transfer t;
  cl_int result = CL_SUCCESS;
  begin(&t, "clEnqueueMapBuffer", queue, memory);
  check_map(&t, how, at, size);
  put(&t, waits, n, list, event);
  if (t.memory->memory.maps.n == 0) strict_touch(&t.call, t.command, t.memory, how & map_writes);
  strict_forward(&t.call);
  void *host = t.call.under->EnqueueMapBuffer(t.queue->real, t.memory->real, waits, how, at, size,
                                              n, t.waits, made(&t), &result);
  strict_resume(&t.call);
  if (result == CL_SUCCESS) STRICT_ADD(&t.memory->memory.maps, (strict_map){host, at, size, how});
  finish(&t, result, waits);
  if (code) *code = result;
  return host;
}

/* *out: what has been mapped there, which is not any more. */
static void take_map(const transfer *t, const void *at, strict_map *out) {
  strict_memory *m = &t->memory->memory;
  for (size_t i = 0; i < m->maps.n; i++) {
    if (m->maps.data[i].at != at) continue;
    *out = m->maps.data[i];
    m->maps.data[i] = m->maps.data[--m->maps.n];
    return;
  }
  strict_refuse(&t->call, t->memory, "%p is not mapped", at);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory,
                                                        void *at, cl_uint n,
                                                        const cl_event *list, cl_event *event) {
  transfer t;
  strict_map map;
  begin(&t, "clEnqueueUnmapMemObject", queue, memory);
  take_map(&t, at, &map);
  put(&t, CL_FALSE, n, list, event);
  if (t.memory->memory.maps.n == 0)
    strict_touch(&t.call, t.command, t.memory, map.how & map_writes);
  strict_forward(&t.call);
  cl_int code = t.call.under->EnqueueUnmapMemObject(t.queue->real, t.memory->real, at, n, t.waits,
                                                    made(&t));
  strict_resume(&t.call);
  return finish(&t, code, false);
}

/* ---- on the device --------------------------------------------------------------------------- */

static void check_pattern(const transfer *t, size_t pattern, const void *bytes, size_t at,
                          size_t size) {
  if (!bytes || pattern == 0 || pattern > 128 || pattern & (pattern - 1))
    strict_refuse(&t->call, t->memory, "a pattern of %zu bytes at %p", pattern, bytes);
  if (at % pattern || size % pattern)
    strict_refuse(&t->call, t->memory, "%zu bytes at %zu in patterns of %zu", size, at, pattern);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory,
                                                    const void *pattern, size_t pattern_size,
                                                    size_t at, size_t size, cl_uint n,
                                                    const cl_event *list, cl_event *event) {
  transfer t;
  begin(&t, "clEnqueueFillBuffer", queue, memory);
  check_range(&t.call, t.memory, at, size);
  check_pattern(&t, pattern_size, pattern, at, size);
  put(&t, CL_FALSE, n, list, event);
  strict_touch(&t.call, t.command, t.memory, true);
  strict_forward(&t.call);
  cl_int code = t.call.under->EnqueueFillBuffer(t.queue->real, t.memory->real, pattern,
                                                pattern_size, at, size, n, t.waits, made(&t));
  strict_resume(&t.call);
  return finish(&t, code, false);
}

static void check_overlap(const strict_call *c, const strict_object *from, const strict_object *to,
                          size_t at, size_t to_at, size_t size) {
  const strict_memory *f = &from->memory, *t = &to->memory;
  const strict_object *root = f->parent ? f->parent : from;
  if (root != (t->parent ? t->parent : to)) return;
  at += f->origin;
  to_at += t->origin;
  if (at < to_at + size && to_at < at + size)
    strict_refuse(c, from, "%zu bytes at %zu are copied to %zu, where they overlap", size, at,
                  to_at);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                                    size_t at, size_t to_at, size_t size,
                                                    cl_uint n, const cl_event *list,
                                                    cl_event *event) {
  transfer t;
  begin(&t, "clEnqueueCopyBuffer", queue, from);
  strict_object *target = take_memory(&t.call, t.queue, to);
  check_range(&t.call, t.memory, at, size);
  check_range(&t.call, target, to_at, size);
  check_overlap(&t.call, t.memory, target, at, to_at, size);
  put(&t, CL_FALSE, n, list, event);
  strict_touch(&t.call, t.command, t.memory, false);
  strict_touch(&t.call, t.command, target, true);
  strict_forward(&t.call);
  cl_int code = t.call.under->EnqueueCopyBuffer(t.queue->real, t.memory->real, target->real, at,
                                                to_at, size, n, t.waits, made(&t));
  strict_resume(&t.call);
  return finish(&t, code, false);
}
