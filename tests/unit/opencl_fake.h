/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL library within the test, in the place of the loader's (tests.cmake: --wrap). It runs
 * the kernels of opencl_package.h, and is as strict as the standard lets a driver be: what is put
 * into a queue happens when somebody waits for it, memory is junk at first, a device has its own
 * copy of the host's memory until that is mapped, and what is used wrongly fails the test. Any call
 * can be told to fail, all are counted, and so is what has not been released. */
#ifndef WICK_TESTS_OPENCL_FAKE_H
#define WICK_TESTS_OPENCL_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/opencl/cl.h"

typedef enum {
#define WICK_X(name) FAKE_##name,
  WICK_CL_FUNCTIONS(WICK_X)
#undef WICK_X
  FAKE_FUNCTIONS
} fake_function;

enum { FAKE_JUNK = 0xa5, FAKE_BINARY_HEAD = 4, FAKE_MOST = 128, FAKE_SOURCE = 1 << 14 };
#define FAKE_BINARY "FAKE" /* and the source */

static struct {
  uint32_t calls[FAKE_FUNCTIONS];
  fake_function fails; /* at its call number fails_at, from 1, with this code */
  uint32_t fails_at;
  bool stays, is_lost;   /* stays: from then on every call that can fail does */
  cl_int code;
  int live;              /* what has been created and not released */
  uint32_t copies;       /* buffers that were made of the host's bytes */
  bool looks_for_junk;   /* kernels may only see memory that has been written */
  const char *log;       /* of a source that does not compile; NULL: none */
  char wrong[FAKE_SOURCE]; /* the last source that did not compile */
  uint32_t build_ms;     /* how long it takes by the clock */
  uint64_t clock_ms;
  size_t group[3], most; /* what kernels say of themselves */
  cl_ulong local;
  cl_uint args;          /* 0: as many as they have */
  const char *platform_version, *version; /* NULL: it does not say */
  cl_device_fp_config config;
  size_t binary_size;    /* that it says it has; 0: what it has */
  bool refuses_binaries;
  bool tells_no_times;
  cl_ulong clock;        /* of devices: 1000 for each command that has run */
  char launches[1024];   /* "KERNEL:GLOBAL " of each */
} fake;

static inline void fake_reset(void) {
  memset(&fake, 0, sizeof fake);
  fake.group[0] = 16, fake.group[1] = fake.group[2] = 1;
  fake.most = 256;
  fake.local = 64;
  fake.platform_version = "OpenCL 1.2 fake 1";
  fake.version = "OpenCL 1.2 device 1";
}

static inline bool fake_fails(fake_function f) {
  bool fails = ++fake.calls[f] == fake.fails_at && f == fake.fails;
  fake.is_lost = fake.is_lost || (fails && fake.stays);
  return fails || fake.is_lost;
}

/* ---- what there is --------------------------------------------------------------------------- */

struct _cl_platform_id { const char *name; };
static struct _cl_platform_id fake_platforms[] = {{"Fake"}, {"Other"}};

struct _cl_device_id {
  const char *name, *driver;
  int platform;
  cl_device_type type;
  cl_bool is_unified;
};
enum { FAKE_NEAR, FAKE_FAR, FAKE_NEWER, FAKE_AWAY, FAKE_BESIDE, FAKE_APART, FAKE_OTHER };
static struct _cl_device_id fake_devices[] = {
    [FAKE_NEAR] = {"Near", "1", 0, CL_DEVICE_TYPE_CPU, CL_TRUE},
    [FAKE_FAR] = {"Far", "1", 0, CL_DEVICE_TYPE_GPU, CL_FALSE},
    [FAKE_NEWER] = {"Far", "2", 0, CL_DEVICE_TYPE_GPU, CL_FALSE},
    [FAKE_AWAY] = {"Away", "1", 0, CL_DEVICE_TYPE_GPU, CL_FALSE},
    [FAKE_BESIDE] = {"Beside", "1", 0, CL_DEVICE_TYPE_GPU, CL_TRUE},
    [FAKE_APART] = {"Apart", "  \x1f !~ \x7f\t1\xc3 ", 0, CL_DEVICE_TYPE_CPU, CL_FALSE},
    [FAKE_OTHER] = {"Far", "1", 1, CL_DEVICE_TYPE_GPU, CL_FALSE},
};

struct _cl_context { cl_device_id device; int live; /* what is of it */ };
struct _cl_program { char *source; bool is_built; cl_context context; int kernels; };
struct _cl_mem {
  cl_mem next; /* that is free */
  uint64_t serial;
  int refs;
  cl_context context;
  cl_command_queue queue; /* that uses it; NULL: none so far */
  uint8_t *data, *host, *pinned; /* pinned: host, of the driver's */
  size_t size;
  bool is_read_only;
  cl_map_flags mapped; /* so many bytes, from there on */
  size_t map_at, map_size;
};
struct _cl_kernel {
  int number;
  cl_program program;
  uint32_t set; /* bits of arguments */
  cl_mem memory[3];
  uint64_t serial[3];
  cl_long offset[3];
};
typedef struct {
  enum { FAKE_READ, FAKE_WRITE, FAKE_FILL, FAKE_MAP, FAKE_UNMAP, FAKE_KERNEL, FAKE_MARKER } what;
  cl_mem memory;
  size_t at, size;
  void *to;
  const void *from;
  uint8_t pattern[8];
  size_t pattern_size;
  cl_map_flags how;
  struct _cl_kernel kernel;
  cl_event event;
} fake_command;
struct _cl_command_queue {
  cl_context context;
  bool is_timed;
  size_t n;
  fake_command commands[FAKE_MOST];
};
struct _cl_event { cl_command_queue queue; bool has_ended; int refs; cl_ulong queued, start, end; };

/* Of kernels k0 .. k4, and of k5, which is k2 where it gives true and else does nothing: pointers,
 * then as many offsets. */
static const int fake_args[] = {3, 2, 2, 2, 2, 2};

/* ---- memory ---------------------------------------------------------------------------------- */

/* What has been released is used again first: a new buffer has the address of an old one. */
static cl_mem fake_free;

static struct _cl_mem fake_memories[64];

static cl_mem fake_memory(cl_context c, size_t size, cl_int *code) {
  static size_t used;
  static uint64_t serial;
  if (!fake_free && used == sizeof fake_memories / sizeof *fake_memories)
    fail_msg("too many buffers");
  cl_mem m = fake_free ? fake_free : &fake_memories[used++];
  fake_free = fake_free ? m->next : NULL;
  if (size == 0) fail_msg("a buffer of no bytes");
  *m = (struct _cl_mem){.refs = 1, .serial = ++serial, .context = c};
  c->live++;
  m->size = size;
  fake.live++;
  *code = CL_SUCCESS;
  return m;
}

static void fake_release(cl_mem m) {
  if (!m || m->refs < 1) fail_msg("this is no buffer");
  if (--m->refs > 0) return;
  free(m->data);
  free(m->pinned);
  m->host = NULL;
  m->context->live--;
  m->next = fake_free;
  fake_free = m;
  fake.live--;
}

/* Also by a command that has not ended. */
static bool fake_is_used(const uint8_t *host, size_t size) {
  for (size_t i = 0; i < sizeof fake_memories / sizeof *fake_memories; i++) {
    const struct _cl_mem *m = &fake_memories[i];
    if (m->host && m->host < host + size && host < m->host + m->size) return true;
  }
  return false;
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateBuffer(cl_context c, cl_mem_flags flags, size_t size,
                                               void *host, cl_int *code) {
  if (fake_fails(FAKE_CreateBuffer)) return *code = fake.code, NULL;
  bool uses = flags & CL_MEM_USE_HOST_PTR, copies = flags & CL_MEM_COPY_HOST_PTR;
  if ((uses || copies) != (host != NULL)) fail_msg("memory of the host that is not used");
  if (uses && c->device != &fake_devices[FAKE_NEAR]) fail_msg("the host's memory is far away");
  fake.copies += copies;
  if (uses && fake_is_used(host, size)) fail_msg("two buffers around the same bytes");
  cl_mem m = fake_memory(c, size, code);
  m->data = malloc(size);
  m->is_read_only = flags & CL_MEM_READ_ONLY;
  memset(m->data, FAKE_JUNK, size);
  if (host) memcpy(m->data, host, size);
  if (uses) m->host = host;
  if (flags & CL_MEM_ALLOC_HOST_PTR) m->host = m->pinned = malloc(size);
  return m;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseMemObject(cl_mem m) {
  fake_fails(FAKE_ReleaseMemObject);
  if (m && m->refs > 1 && fake.fails != FAKE_Finish && !fake.is_lost)
    fail_msg("a command still uses this buffer");
  fake_release(m);
  return CL_SUCCESS;
}

/* ---- what kernels do ------------------------------------------------------------------------- */

/* n elements behind the offset, as far apart as they are large. */
static uint8_t *fake_arg(const struct _cl_kernel *k, int i, size_t n, size_t size, bool writes) {
  cl_mem m = k->memory[i];
  if (!m) fail_msg("kernel k%d has no argument %d", k->number, i);
  if (k->offset[i] < 0 || (size_t)k->offset[i] + n * size > m->size)
    fail_msg("kernel k%d leaves argument %d", k->number, i);
  if (writes && m->is_read_only) fail_msg("kernel k%d writes argument %d", k->number, i);
  static const uint8_t junk[] = {FAKE_JUNK, FAKE_JUNK, FAKE_JUNK, FAKE_JUNK};
  if (fake.looks_for_junk && memmem(m->data, m->size, junk, sizeof junk))
    fail_msg("kernel k%d sees what nobody has written in argument %d", k->number, i);
  return m->data + k->offset[i];
}

static void fake_run(const struct _cl_kernel *k, size_t n) {
  float *a = (float *)fake_arg(k, 0, n, 4, k->number == 3), *y;
  switch (k->number) {
    case 0: {
      const float *b = (float *)fake_arg(k, 1, n, 4, false);
      y = (float *)fake_arg(k, 2, n, 4, true);
      for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
      return;
    }
    case 1:
      y = (float *)fake_arg(k, 1, n, 4, true);
      for (size_t i = 0; i < n; i++) y[i] = a[i];
      return;
    case 2: *fake_arg(k, 1, 1, 1, true) = a[0] < 5; return;
    case 3: {
      int64_t number = 1;
      if (k->memory[1]) memcpy(&number, fake_arg(k, 1, 1, 8, false), 8);
      for (size_t i = 0; i < n; i++) a[i] += (float)number;
      return;
    }
    case 5:
      if (a[0] < 5) *fake_arg(k, 1, 1, 1, true) = 1;
      return;
    default:
      (void)fake_arg(k, 0, 2 * n - 1, 4, false);
      y = (float *)fake_arg(k, 1, 2 * n - 1, 4, true);
      for (size_t i = 0; i < n; i++) y[2 * i] = 2 * a[2 * i];
  }
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void fake_release_event(cl_event e) {
  if (--e->refs == 0) free(e);
}

static void fake_leave(cl_mem m) {
  if (!m) return;
  if (m->refs == 2) m->queue = NULL;
  fake_release(m);
}

static void fake_move(const fake_command *c) {
  cl_mem m = c->memory;
  switch (c->what) {
    case FAKE_READ: memcpy(c->to, m->data + c->at, c->size); break;
    case FAKE_WRITE: memcpy(m->data + c->at, c->from, c->size); break;
    case FAKE_FILL:
      for (size_t i = 0; i < c->size; i++) m->data[c->at + i] = c->pattern[i % c->pattern_size];
      break;
    case FAKE_MAP:
      if (c->how & CL_MAP_READ) memcpy(m->host + c->at, m->data + c->at, c->size);
      break;
    case FAKE_UNMAP:
      if (c->how & CL_MAP_WRITE) memcpy(m->data + c->at, m->host + c->at, c->size);
      break;
    case FAKE_KERNEL: fake_run(&c->kernel, c->size); break;
    case FAKE_MARKER: break;
  }
}

/* A device that is lost does nothing. */
static void fake_do(fake_command *c) {
  if (!fake.is_lost) fake_move(c);
  if (c->event) c->event->has_ended = true, c->event->start = fake.clock;
  fake.clock += 1000;
  if (c->event) c->event->end = fake.clock, fake_release_event(c->event);
  fake_leave(c->memory);
  for (int i = 0; i < 3; i++) fake_leave(c->kernel.memory[i]);
}

static void fake_finish(cl_command_queue q) {
  for (size_t i = 0; i < q->n; i++) fake_do(&q->commands[i]);
  q->n = 0;
}

/* Queues do not wait for each other: what is written in one is of no other. */
static void fake_take(cl_command_queue q, cl_mem m) {
  if (!m) return;
  if (m->context != q->context) fail_msg("a buffer of another context");
  if (m->queue && m->queue != q && !m->is_read_only) fail_msg("a buffer of two queues");
  m->queue = q;
  m->refs++;
}

static cl_int fake_put(cl_command_queue q, fake_command c, bool waits) {
  if (q->n == FAKE_MOST) fail_msg("too much in a queue");
  if (c.what <= FAKE_FILL && (c.at > c.memory->size || c.size > c.memory->size - c.at))
    fail_msg("%zu bytes at %zu of %zu", c.size, c.at, c.memory->size);
  fake_take(q, c.memory);
  for (int i = 0; i < 3; i++) fake_take(q, c.kernel.memory[i]);
  q->commands[q->n++] = c;
  if (waits) fake_finish(q);
  return CL_SUCCESS;
}

/* The queue is in order: nothing waits for anything else. */
static void fake_no_events(cl_uint n, const cl_event *list, const cl_event *event) {
  if (n || list || event) fail_msg("a command with events");
}

static cl_event fake_event(cl_command_queue q, cl_event *event) {
  if (!event) return NULL;
  cl_event e = calloc(1, sizeof *e);
  e->queue = q;
  e->queued = fake.clock;
  e->refs = 2; /* the program's, and the command's */
  fake.live++;
  return *event = e;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseEvent(cl_event e) {
  fake_fails(FAKE_ReleaseEvent);
  fake_release_event(e);
  fake.live--;
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clGetEventProfilingInfo(cl_event e, cl_profiling_info what,
                                                        size_t size, void *out, size_t *needed) {
  (void)needed;
  if (fake_fails(FAKE_GetEventProfilingInfo)) return fake.code;
  if (fake.tells_no_times) return CL_PROFILING_INFO_NOT_AVAILABLE;
  if (!e->has_ended) fail_msg("this has not run");
  if (!e->queue->is_timed) fail_msg("an event of a queue that does not time");
  if (size != sizeof e->start) fail_msg("a time of %zu bytes", size);
  memcpy(out, what == CL_PROFILING_COMMAND_START ? &e->start
              : what == CL_PROFILING_COMMAND_END ? &e->end : &e->queued, size);
  return CL_SUCCESS;
}

CL_API_ENTRY cl_command_queue CL_API_CALL
clCreateCommandQueue(cl_context c, cl_device_id d, cl_command_queue_properties how, cl_int *code) {
  if (fake_fails(FAKE_CreateCommandQueue)) return *code = fake.code, NULL;
  if (c->device != d || how & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    fail_msg("a queue that is not in order");
  fake.live++;
  c->live++;
  *code = CL_SUCCESS;
  cl_command_queue q = calloc(1, sizeof *q);
  q->context = c;
  q->is_timed = how & CL_QUEUE_PROFILING_ENABLE;
  return q;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue q) {
  fake_fails(FAKE_ReleaseCommandQueue);
  if (q->n && fake.fails != FAKE_Finish && !fake.is_lost)
    fail_msg("nobody has waited for the queue");
  fake_finish(q);
  q->context->live--;
  free(q);
  fake.live--;
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_bool waits,
                                                    size_t at, size_t size, void *to, cl_uint n,
                                                    const cl_event *events, cl_event *event) {
  fake_no_events(n, events, event);
  if (fake_fails(FAKE_EnqueueReadBuffer)) return fake.code;
  return fake_put(q, (fake_command){FAKE_READ, m, at, size, .to = to}, waits);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool waits,
                                                     size_t at, size_t size, const void *from,
                                                     cl_uint n, const cl_event *events,
                                                     cl_event *event) {
  fake_no_events(n, events, event);
  if (fake_fails(FAKE_EnqueueWriteBuffer)) return fake.code;
  return fake_put(q, (fake_command){FAKE_WRITE, m, at, size, .from = from}, waits);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue q, cl_mem m,
                                                    const void *pattern, size_t pattern_size,
                                                    size_t at, size_t size, cl_uint n,
                                                    const cl_event *events, cl_event *event) {
  fake_command c = {FAKE_FILL, m, at, size, .pattern_size = pattern_size};
  fake_no_events(n, events, NULL);
  if (fake_fails(FAKE_EnqueueFillBuffer)) return fake.code;
  if (pattern_size > 8 || at % pattern_size || size % pattern_size) fail_msg("an odd pattern");
  memcpy(c.pattern, pattern, pattern_size);
  c.event = fake_event(q, event);
  return fake_put(q, c, false);
}

CL_API_ENTRY void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool waits,
                                                  cl_map_flags how, size_t at, size_t size,
                                                  cl_uint n, const cl_event *events,
                                                  cl_event *event, cl_int *code) {
  fake_no_events(n, events, event);
  if (fake_fails(FAKE_EnqueueMapBuffer)) return *code = fake.code, NULL;
  if (!m->host || at > m->size || size > m->size - at) fail_msg("no memory of the host's");
  if (m->mapped) fail_msg("this is mapped");
  m->mapped = how, m->map_at = at, m->map_size = size;
  *code = fake_put(q, (fake_command){FAKE_MAP, m, at, size, .how = how}, waits);
  return m->host + at;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *at,
                                                        cl_uint n, const cl_event *events,
                                                        cl_event *event) {
  fake_no_events(n, events, event);
  if (fake_fails(FAKE_EnqueueUnmapMemObject)) return m->mapped = 0, fake.code;
  if (!m->mapped || at != m->host + m->map_at) fail_msg("this is not mapped");
  const fake_command c = {FAKE_UNMAP, m, m->map_at, m->map_size, .how = m->mapped};
  m->mapped = 0;
  return fake_put(q, c, false);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint n,
                                                       const size_t *offset, const size_t *global,
                                                       const size_t *local, cl_uint events,
                                                       const cl_event *list, cl_event *event) {
  fake_no_events(events, list, NULL);
  if (fake_fails(FAKE_EnqueueNDRangeKernel)) return fake.code;
  if (n != 3 || offset || global[1] != 1 || global[2] != 1 || global[0] % 16) fail_msg("odd sizes");
  if (local[0] != 16 || local[1] != 1 || local[2] != 1) fail_msg("odd groups");
  if (k->set != (1u << 2 * fake_args[k->number]) - 1) fail_msg("an argument has not been set");
  for (int i = 0; i < 3; i++)
    if (k->memory[i] && (k->memory[i]->serial != k->serial[i] || k->memory[i]->refs == 0))
      fail_msg("argument %d of k%d has been released", i, k->number);
  size_t used = strlen(fake.launches);
  snprintf(fake.launches + used, sizeof fake.launches - used, "%d:%zu ", k->number, global[0]);
  return fake_put(q, (fake_command){FAKE_KERNEL, NULL, 0, global[0], .kernel = *k,
                                    .event = fake_event(q, event)}, false);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue q, cl_uint n,
                                                            const cl_event *list,
                                                            cl_event *event) {
  fake_no_events(n, list, NULL);
  if (fake_fails(FAKE_EnqueueMarkerWithWaitList)) return fake.code;
  return fake_put(q, (fake_command){.what = FAKE_MARKER, .event = fake_event(q, event)}, false);
}

/* No more than what has to end. */
CL_API_ENTRY cl_int CL_API_CALL clWaitForEvents(cl_uint n, const cl_event *list) {
  if (fake_fails(FAKE_WaitForEvents)) return fake.code;
  if (n != 1) fail_msg("%u events", n);
  cl_command_queue q = list[0]->queue;
  size_t done = 0;
  while (!list[0]->has_ended) fake_do(&q->commands[done++]);
  q->n -= done;
  memmove(q->commands, q->commands + done, q->n * sizeof *q->commands);
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clFlush(cl_command_queue q) {
  (void)q;
  return fake_fails(FAKE_Flush) ? fake.code : CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clFinish(cl_command_queue q) {
  if (fake_fails(FAKE_Finish)) return fake.code;
  fake_finish(q);
  return CL_SUCCESS;
}

#endif
