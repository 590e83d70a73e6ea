/* SPDX-License-Identifier: Apache-2.0
 * strict: an OpenCL library between Wick's runtime and a real one (WICK_OPENCL names this one,
 * WICK_STRICT_UNDER the other; default: the ICD loader). It forwards all calls, and ends the
 * process with one line on stderr and abort() where OpenCL 1.2 forbids a call or leaves open what
 * it does, so that what one driver bears does not fail first on another. WICK_STRICT_DEVICE=FILE:
 * devices have the limits of that description (targets/opencl/description.h), too.
 *
 * Applications get handles of their own, which are never given out again: a handle that has been
 * released is known for ever. Threads may call at the same time: all that is known lies under one
 * lock, which no call holds while the real library carries it out. Queues are in order, and late:
 * what is put into one begins when somebody waits for it, so that who takes a result before that,
 * or changes what is still to be read, finds something wrong. WICK_STRICT_LATE=no: it begins when
 * the real library likes, for those that cannot wait for events of the user. There are no
 * callbacks, and no functions of OpenCL 2. */
#ifndef WICK_OPENCL_STRICT_H
#define WICK_OPENCL_STRICT_H

#pragma GCC visibility push(default) /* of OpenCL's functions and of nothing else */
#include "runtime/opencl/cl.h"
#pragma GCC visibility pop

#include <stdlib.h>
#include <string.h>

/* Beside what the runtime takes: the rest of OpenCL 1.2 for buffers. */
#define STRICT_FUNCTIONS(X)                                                                    \
  WICK_CL_FUNCTIONS(X)                                                                         \
  X(RetainContext) X(RetainCommandQueue) X(RetainMemObject) X(RetainProgram) X(RetainKernel)   \
  X(RetainEvent) X(CreateSubBuffer) X(EnqueueCopyBuffer) X(EnqueueBarrierWithWaitList)         \
  X(GetKernelArgInfo)
/* And what it uses itself. */
#define STRICT_UNDER_FUNCTIONS(X) STRICT_FUNCTIONS(X) X(CreateUserEvent) X(SetUserEventStatus)

typedef struct {
#define STRICT_X(name) __typeof__(&cl##name) name;
  STRICT_UNDER_FUNCTIONS(STRICT_X)
#undef STRICT_X
} strict_functions;

/* under.c: of the real library, which is opened by the first call. NULL: it cannot be. */
const strict_functions *strict_under(void);

/* ---- lists ----------------------------------------------------------------------------------- */

#define STRICT_LIST(type) \
  struct {                \
    type *data;           \
    size_t n, room;       \
  }
/* One more item; without memory the process ends. */
#define STRICT_ADD(list, ...) \
  ((list)->data = strict_grow((list)->data, (list)->n, &(list)->room, sizeof *(list)->data), \
   (list)->data[(list)->n++] = (__VA_ARGS__))
#define STRICT_EMPTY(list) (free((list)->data), (void)memset((list), 0, sizeof *(list)))
void *strict_grow(void *data, size_t n, size_t *room, size_t size);

/* ---- objects --------------------------------------------------------------------------------- */

typedef enum {
  STRICT_CONTEXT,
  STRICT_QUEUE,
  STRICT_MEMORY,
  STRICT_PROGRAM,
  STRICT_KERNEL,
  STRICT_EVENT
} strict_kind;

typedef struct strict_object strict_object;

typedef STRICT_LIST(strict_object *) strict_buffers;

/* Command `at` of a queue; a list says of queues up to which command others have waited. */
typedef struct {
  strict_object *queue;
  uint64_t at; /* from 1 */
} strict_stamp;
typedef STRICT_LIST(strict_stamp) strict_stamps;

/* The smaller of what the device and the description say; align: bytes, the larger. */
typedef struct {
  size_t group, items[3], parameters;
  cl_ulong local, allocation;
  cl_uint align;
} strict_limits;

typedef struct {
  STRICT_LIST(cl_device_id) devices;
} strict_context;

typedef struct {
  cl_device_id device;
  strict_limits limits;
  bool is_timed;
  uint64_t put, flushed, done; /* numbers of commands */
  cl_event gate;               /* nothing behind it has begun; NULL: all may run */
  strict_stamps waited;        /* what commands from now on come behind, in other queues */
} strict_queue;

typedef struct {
  void *at;
  size_t offset, size;
  cl_map_flags how;
} strict_map;

typedef struct {
  size_t origin, size; /* origin: of a sub-buffer in its parent */
  cl_mem_flags flags;
  const uint8_t *host; /* memory of the host's that is used in place; else, and of pieces, NULL */
  strict_object *parent;
  strict_buffers others; /* live buffers that share bytes with this one */
  STRICT_LIST(strict_map) maps;
  strict_stamps reads, writes; /* the last ones of each queue */
} strict_memory;

typedef struct {
  bool is_built, is_building;
  uint32_t kernels; /* that are live */
} strict_program;

typedef enum { STRICT_UNKNOWN, STRICT_VALUE, STRICT_POINTER, STRICT_LOCAL } strict_arg_kind;

typedef struct {
  strict_arg_kind kind;
  size_t size; /* of a parameter that is a value; 0: not known */
  bool is_const, is_set;
  size_t bytes;          /* that it has been set to */
  size_t local;          /* of them, local memory */
  strict_object *memory; /* NULL: none */
} strict_arg;

typedef struct {
  char name[32];
  strict_object *program;
  strict_arg *args;
  cl_uint arg_count;
  cl_ulong own_local; /* local memory before any argument is set: the most of its devices */
  bool is_setting; /* a thread is in clSetKernelArg */
} strict_kernel;

typedef struct {
  strict_stamp command;
  strict_stamps waited; /* what the command came behind */
} strict_event;

struct strict_object {
  strict_kind kind;
  cl_uint refs;      /* 0: it has been released */
  uint32_t pins;     /* calls that use it now */
  uint64_t number;   /* in the order in which objects were made, from 1 */
  const char *maker; /* the function that made it */
  strict_object *context; /* itself for a context */
  void *real;
  union {
    strict_context of; /* of a context */
    strict_queue queue;
    strict_memory memory;
    strict_program program;
    strict_kernel kernel;
    strict_event event;
  };
};

/* ---- calls (objects.c) ----------------------------------------------------------------------- */

/* A call of the application: strict_begin takes the lock, strict_forward gives it back for the call
 * of the real library, strict_resume takes it again, strict_end gives back lock and objects. */
typedef struct {
  const char *function;
  const strict_functions *under;
  strict_object *used[4];
  size_t used_count;
} strict_call;

void strict_begin(strict_call *c, const char *function);
void strict_forward(strict_call *c);
void strict_resume(strict_call *c);
void strict_end(strict_call *c);

/* The line "strict OpenCL: FUNCTION: …" and abort(), with the lock held. `o` stands in front, where
 * there is one. */
_Noreturn void strict_refuse(const strict_call *c, const strict_object *o, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The live object behind a handle, which nobody may release until the call ends. */
strict_object *strict_use(strict_call *c, const void *handle, strict_kind kind);
/* As strict_use, but for the call that does not hold it. */
strict_object *strict_check(const strict_call *c, const void *handle, strict_kind kind);
/* The object at an address, dead or alive; NULL: there is none. */
strict_object *strict_find(const void *handle);
/* NULL where `real` is. */
strict_object *strict_make(strict_call *c, strict_kind kind, strict_object *context, void *real);
/* One reference less; the object dies with the last one. The real one: */
void *strict_release(strict_call *c, const void *handle, strict_kind kind);
void *strict_retain(strict_call *c, const void *handle, strict_kind kind);

/* ---- devices.c ------------------------------------------------------------------------------- */

void strict_limits_of(const strict_call *c, cl_device_id device, strict_limits *out);
/* One of the context's devices. */
void strict_check_device(const strict_call *c, const strict_object *context, cl_device_id device);
/* What an answer says where it names another object: the application's handle. */
void strict_answer(const void *handle, cl_int code, void *out);

/* ---- order.c --------------------------------------------------------------------------------- */

/* The next command of a queue, behind what it waits for. real: the list for the real library, NULL
 * where it is empty; free() it. */
strict_stamp strict_put(strict_call *c, strict_object *queue, cl_uint n, const cl_event *list,
                        cl_event **real);
/* What has been put into the queue may begin, with what it comes behind in others. */
void strict_let_run(const strict_call *c, strict_object *queue);
/* That the command reads, or also writes, the buffer: refuses what others may do at the time. */
void strict_touch(const strict_call *c, strict_stamp command, strict_object *memory, bool writes);
/* Behind a call that succeeded: *event, unless NULL, is made of the real one; is_done: the call has
 * waited for the command. */
void strict_put_done(strict_call *c, strict_stamp command, cl_event *event, cl_event real,
                     bool is_done);
/* The command has ended, with all before it in its queue and those of other queues that it came
 * behind. */
void strict_wait_for(strict_stamp command, const strict_stamps *waited);

/* ---- memory.c -------------------------------------------------------------------------------- */

/* A buffer that dies. */
void strict_forget_memory(const strict_call *c, strict_object *o);
/* That nobody has it mapped in a way that forbids a command. */
void strict_check_maps(const strict_call *c, const strict_object *memory, bool writes);

#endif
