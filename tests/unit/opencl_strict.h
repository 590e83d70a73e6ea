/* SPDX-License-Identifier: Apache-2.0
 * Calls of tests/opencl_strict in a process of their own, which says how it ended. */
#ifndef WICK_TESTS_UNIT_OPENCL_STRICT_H
#define WICK_TESTS_UNIT_OPENCL_STRICT_H

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/opencl_strict/strict.h"

enum { BYTES = 4096, SECONDS = 120, WHILE = 100000 /* microseconds */, NO_DEVICE = 77 };

static const char source[] =
    "__kernel void twice(__global const int *x, __global int *y, int n) {\n"
    "  y[get_global_id(0)] = n * x[get_global_id(0)];\n"
    "}\n"
    "__kernel __attribute__((reqd_work_group_size(4, 1, 1)))\n"
    "void fours(__global int *x, __local int *l) {\n"
    "  __local int own[1000];\n"
    "  for (int i = get_local_id(0); i < 1000; i += 4) own[i] = x[i];\n"
    "  l[get_local_id(0)] = x[1];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  x[get_global_id(0)] = own[999 - get_local_id(0)] + l[3 - get_local_id(0)];\n"
    "}\n"
    "__kernel void wide(__global long16 *x, long16 a, long16 b, long16 c, long16 d, long16 e,\n"
    "                   long16 f, long16 g, long16 h) {\n"
    "  *x = a + b + c + d + e + f + g + h;\n"
    "}\n";

/* What a case has: two queues of one context, two buffers, and the kernel 'twice' with its
 * arguments. */
typedef struct {
  strict_functions cl;
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_command_queue q, p;
  cl_mem x, y;
  cl_program program;
  cl_kernel twice;
  int host[BYTES / sizeof(int)];
} world;

static inline void open_functions(world *w) {
  void *object = dlopen(WICK_OPENCL_STRICT, RTLD_NOW | RTLD_LOCAL);
  if (!object) _exit(2);
#define STRICT_X(name)                            \
  do {                                            \
    void *address = dlsym(object, "cl" #name);    \
    memcpy(&w->cl.name, &address, sizeof address); \
    if (!address) _exit(3);                       \
  } while (0);
  STRICT_FUNCTIONS(STRICT_X)
#undef STRICT_X
}

static inline void expect(cl_int code) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "a call gives %d\n", code);
  _exit(4);
}

static inline cl_kernel kernel_of(world *w, const char *name) {
  cl_int code;
  cl_kernel k = w->cl.CreateKernel(w->program, name, &code);
  expect(code);
  return k;
}

static inline cl_mem buffer_of(world *w, cl_context c, cl_mem_flags flags, size_t size,
                               void *host) {
  cl_int code;
  cl_mem m = w->cl.CreateBuffer(c, flags, size, host, &code);
  expect(code);
  return m;
}

static inline cl_context context_of(world *w) {
  cl_int code;
  cl_context c = w->cl.CreateContext(NULL, 1, &w->device, NULL, NULL, &code);
  expect(code);
  return c;
}

static inline cl_command_queue timing_queue_of(world *w) {
  cl_int code;
  cl_command_queue q =
      w->cl.CreateCommandQueue(w->context, w->device, CL_QUEUE_PROFILING_ENABLE, &code);
  expect(code);
  return q;
}

static inline cl_program program_of(world *w, const char *text) {
  cl_int code;
  cl_program p = w->cl.CreateProgramWithSource(w->context, 1, &text, NULL, &code);
  expect(code);
  return p;
}

static inline void set_all(world *w, cl_mem x, cl_mem y) {
  const cl_int n = 3;
  expect(w->cl.SetKernelArg(w->twice, 0, sizeof x, &x));
  expect(w->cl.SetKernelArg(w->twice, 1, sizeof y, &y));
  expect(w->cl.SetKernelArg(w->twice, 2, sizeof n, &n));
}

static inline void open_world(world *w) {
  cl_uint n = 0;
  cl_int code;
  open_functions(w);
  if (w->cl.GetPlatformIDs(1, &w->platform, &n) != CL_SUCCESS || n == 0 ||
      w->cl.GetDeviceIDs(w->platform, CL_DEVICE_TYPE_ALL, 1, &w->device, &n) != CL_SUCCESS)
    _exit(NO_DEVICE);
  w->context = context_of(w);
  w->q = w->cl.CreateCommandQueue(w->context, w->device, 0, &code);
  expect(code);
  w->p = w->cl.CreateCommandQueue(w->context, w->device, 0, &code);
  expect(code);
  w->x = buffer_of(w, w->context, CL_MEM_READ_WRITE, BYTES, NULL);
  w->y = buffer_of(w, w->context, CL_MEM_READ_WRITE, BYTES, NULL);
  w->program = program_of(w, source);
  expect(w->cl.BuildProgram(w->program, 1, &w->device, "-cl-std=CL1.2", NULL, NULL));
  w->twice = kernel_of(w, "twice");
  set_all(w, w->x, w->y);
}

static inline void close_world(world *w) {
  expect(w->cl.ReleaseKernel(w->twice));
  expect(w->cl.ReleaseProgram(w->program));
  expect(w->cl.ReleaseMemObject(w->y));
  expect(w->cl.ReleaseMemObject(w->x));
  expect(w->cl.ReleaseCommandQueue(w->p));
  expect(w->cl.ReleaseCommandQueue(w->q));
  expect(w->cl.ReleaseContext(w->context));
}

/* ---- calls ----------------------------------------------------------------------------------- */

static inline cl_int put_read(world *w, cl_command_queue q, cl_mem m, size_t at, size_t size) {
  return w->cl.EnqueueReadBuffer(q, m, CL_FALSE, at, size, w->host, 0, NULL, NULL);
}

static inline cl_int put_write(world *w, cl_command_queue q, cl_mem m, size_t at, size_t size) {
  return w->cl.EnqueueWriteBuffer(q, m, CL_FALSE, at, size, w->host, 0, NULL, NULL);
}

static inline cl_int put_fill(world *w, size_t pattern, size_t at, size_t size) {
  return w->cl.EnqueueFillBuffer(w->q, w->x, w->host, pattern, at, size, 0, NULL, NULL);
}

static inline cl_int put_copy(world *w, cl_mem from, cl_mem to, size_t at, size_t to_at,
                              size_t size) {
  return w->cl.EnqueueCopyBuffer(w->q, from, to, at, to_at, size, 0, NULL, NULL);
}

static inline void *put_map(world *w, cl_mem m, cl_map_flags how, size_t at, size_t size) {
  cl_int code;
  void *host = w->cl.EnqueueMapBuffer(w->q, m, CL_FALSE, how, at, size, 0, NULL, NULL, &code);
  expect(code);
  return host;
}

static inline cl_int put_unmap(world *w, cl_mem m, void *at) {
  return w->cl.EnqueueUnmapMemObject(w->q, m, at, 0, NULL, NULL);
}

static inline cl_int launch(world *w, cl_command_queue q, cl_kernel k, size_t global,
                            size_t local) {
  return w->cl.EnqueueNDRangeKernel(q, k, 1, NULL, &global, &local, 0, NULL, NULL);
}

static inline cl_mem piece_of(world *w, cl_mem m, size_t at, size_t size) {
  const cl_buffer_region r = {at, size};
  cl_int code;
  cl_mem piece = w->cl.CreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, &r, &code);
  expect(code);
  return piece;
}

/* ---- processes ------------------------------------------------------------------------------- */

typedef struct {
  const char *name;
  void (*calls)(world *w);
  const char *line; /* a piece of what is refused; NULL: nothing is */
} strict_case;

/* What the process says on stderr, and its status. */
static inline int run_case(void (*calls)(world *w), char *said, size_t size) {
  int ends[2], status;
  size_t n = 0;
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    static world w;
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    alarm(SECONDS);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    open_world(&w);
    if (calls) calls(&w);
    close_world(&w);
    exit(0);
  }
  assert_true(child > 0);
  close(ends[1]);
  for (ssize_t got; (got = read(ends[0], said + n, size - 1 - n)) > 0;) n += (size_t)got;
  said[n] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

/* The one line of the library; compilers of drivers may say something of their own before. NULL:
 * there is none, or another behind it. */
static inline const char *line_of(const char *said) {
  static const char start[] = "strict OpenCL: ";
  const char *line = strstr(said, start), *end = line ? strchr(line, '\n') : NULL;
  return end && (line == said || line[-1] == '\n') && !end[1] ? line : NULL;
}

static inline void expect_case(const strict_case *c) {
  char said[4096];
  int status = run_case(c->calls, said, sizeof said);
  if (!c->line) {
    if (status != 0 || *said) fail_msg("%s: status 0x%x, %s", c->name, status, said);
    return;
  }
  const char *line = line_of(said);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
    fail_msg("%s: status 0x%x, %s", c->name, status, said);
  if (!line || !strstr(line, c->line)) fail_msg("%s: says %s", c->name, said);
}

#endif
