/* SPDX-License-Identifier: Apache-2.0
 * Launches: sizes within the limits of device and kernel, arguments that are there. */
#include "strict.h"

typedef struct {
  strict_call call;
  strict_object *queue, *kernel;
  cl_uint rank;
  const size_t *global, *local; /* local NULL: as the device likes */
} launch;

/* ---- sizes ----------------------------------------------------------------------------------- */

static void ask(const launch *l, cl_kernel_work_group_info what, void *out, size_t size) {
  if (l->call.under->GetKernelWorkGroupInfo(l->kernel->real, l->queue->queue.device, what, size,
                                            out, NULL) != CL_SUCCESS)
    strict_refuse(&l->call, l->kernel, "the device does not say what its 0x%x is", what);
}

static void check_global(const launch *l) {
  if (l->rank < 1 || l->rank > 3 || !l->global)
    strict_refuse(&l->call, l->kernel, "%u dimensions, sizes at %p", l->rank,
                  (const void *)l->global);
  for (cl_uint i = 0; i < l->rank; i++)
    if (l->global[i] == 0)
      strict_refuse(&l->call, l->kernel, "no work items along dimension %u", i);
}

/* What reqd_work_group_size says. */
static void check_required(const launch *l) {
  size_t required[3] = {0};
  ask(l, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, required, sizeof required);
  if (required[0] == 0) return;
  for (cl_uint i = 0; i < 3; i++) {
    size_t local = !l->local ? 0 : i < l->rank ? l->local[i] : 1;
    if (local != required[i])
      strict_refuse(&l->call, l->kernel, "%zu work items of a group along dimension %u, it "
                    "requires %zu", local, i, required[i]);
  }
}

static void check_groups(const launch *l) {
  const strict_limits *most = &l->queue->queue.limits;
  size_t group = 1, of_kernel = most->group;
  ask(l, CL_KERNEL_WORK_GROUP_SIZE, &of_kernel, sizeof of_kernel);
  if (of_kernel > most->group) of_kernel = most->group;
  for (cl_uint i = 0; l->local && i < l->rank; i++) {
    size_t n = l->local[i];
    if (n == 0 || l->global[i] % n)
      strict_refuse(&l->call, l->kernel, "%zu work items along dimension %u in groups of %zu",
                    l->global[i], i, n);
    if (n > most->items[i])
      strict_refuse(&l->call, l->kernel, "%zu work items of a group along dimension %u, the device "
                    "has %zu at most", n, i, most->items[i]);
    if (__builtin_mul_overflow(group, n, &group)) group = SIZE_MAX;
  }
  if (group > of_kernel)
    strict_refuse(&l->call, l->kernel, "%zu work items of a group, %zu at most", group, of_kernel);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool is_written(const strict_arg *a) {
  return !a->is_const && !(a->memory->memory.flags & CL_MEM_READ_ONLY);
}

static void check_memory(const launch *l, cl_uint i) {
  const strict_arg *args = l->kernel->kernel.args, *a = &args[i];
  if (a->memory->refs == 0)
    strict_refuse(&l->call, l->kernel, "argument %u is buffer #%llu, which has been released", i,
                  (unsigned long long)a->memory->number);
  for (cl_uint k = 0; k < i && a->memory->memory.others.n; k++) {
    if (!args[k].memory || args[k].memory == a->memory) continue;
    if (!is_written(a) && !is_written(&args[k])) continue;
    for (size_t j = 0; j < a->memory->memory.others.n; j++)
      if (a->memory->memory.others.data[j] == args[k].memory)
        strict_refuse(&l->call, l->kernel, "arguments %u and %u, buffers #%llu and #%llu, share "
                      "bytes", k, i, (unsigned long long)args[k].memory->number,
                      (unsigned long long)a->memory->number);
  }
}

/* Local memory: the arguments' and the kernel's own, which does not count them as long as none is
 * set; a driver that has seen them says more. */
static void check_args(const launch *l) {
  const strict_kernel *k = &l->kernel->kernel;
  const strict_limits *most = &l->queue->queue.limits;
  size_t bytes = 0;
  cl_ulong own = 0, local = k->own_local;
  for (cl_uint i = 0; i < k->arg_count; i++) {
    if (!k->args[i].is_set) strict_refuse(&l->call, l->kernel, "argument %u is not set", i);
    if (k->args[i].memory) check_memory(l, i);
    bytes += k->args[i].bytes;
    local += k->args[i].local;
  }
  ask(l, CL_KERNEL_LOCAL_MEM_SIZE, &own, sizeof own);
  if (local < own) local = own;
  if (local > most->local)
    strict_refuse(&l->call, l->kernel, "%llu bytes of local memory, the device has %llu",
                  (unsigned long long)local, (unsigned long long)most->local);
  if (bytes > most->parameters)
    strict_refuse(&l->call, l->kernel, "%zu bytes of arguments, the device has %zu", bytes,
                  most->parameters);
}

static void touch_all(const launch *l, strict_stamp command) {
  for (cl_uint i = 0; i < l->kernel->kernel.arg_count; i++) {
    const strict_arg *a = &l->kernel->kernel.args[i];
    if (a->memory) strict_touch(&l->call, command, a->memory, is_written(a));
  }
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                       cl_uint rank, const size_t *offset,
                                                       const size_t *global, const size_t *local,
                                                       cl_uint n, const cl_event *list,
                                                       cl_event *event) {
  launch l = {.rank = rank, .global = global, .local = local};
  cl_event *waits, made = NULL;
  strict_begin(&l.call, "clEnqueueNDRangeKernel");
  l.queue = strict_use(&l.call, queue, STRICT_QUEUE);
  l.kernel = strict_use(&l.call, kernel, STRICT_KERNEL);
  if (l.kernel->context != l.queue->context)
    strict_refuse(&l.call, l.kernel, "it is of another context than the queue");
  check_global(&l);
  check_groups(&l);
  check_required(&l);
  check_args(&l);
  strict_stamp command = strict_put(&l.call, l.queue, n, list, &waits);
  touch_all(&l, command);
  strict_forward(&l.call);
  cl_int code = l.call.under->EnqueueNDRangeKernel(l.queue->real, l.kernel->real, rank, offset,
                                                   global, local, n, waits, event ? &made : NULL);
  strict_resume(&l.call);
  free(waits);
  if (code == CL_SUCCESS) strict_put_done(&l.call, command, event, made, false);
  strict_end(&l.call);
  return code;
}
