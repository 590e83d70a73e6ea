/* SPDX-License-Identifier: Apache-2.0
 * Buffers: what they may be made of, and which of them share bytes. */
#include "strict.h"

/* ---- buffers that share bytes ---------------------------------------------------------------- */

static strict_buffers live; /* under the lock of all objects */

static bool meet(size_t a, size_t a_size, size_t b, size_t b_size) {
  return a < b + b_size && b < a + a_size;
}

static const strict_object *root_of(const strict_object *o) {
  return o->memory.parent ? o->memory.parent : o;
}

static bool share_bytes(const strict_object *a, const strict_object *b) {
  const strict_memory *m = &a->memory, *o = &b->memory;
  return root_of(a) == root_of(b) && meet(m->origin, m->size, o->origin, o->size);
}

static void join(strict_object *m) {
  for (size_t i = 0; i < live.n; i++) {
    strict_object *o = live.data[i];
    if (!share_bytes(o, m)) continue;
    STRICT_ADD(&m->memory.others, o);
    STRICT_ADD(&o->memory.others, m);
  }
  STRICT_ADD(&live, m);
}

static void take_out(strict_buffers *list, const strict_object *gone) {
  for (size_t i = 0; i < list->n; i++)
    if (list->data[i] == gone) list->data[i--] = list->data[--list->n];
}

void strict_forget_memory(const strict_call *c, strict_object *o) {
  strict_memory *m = &o->memory;
  if (m->maps.n) strict_refuse(c, o, "it is mapped");
  for (size_t i = 0; i < m->others.n; i++) take_out(&m->others.data[i]->memory.others, o);
  take_out(&live, o);
  if (live.n == 0) STRICT_EMPTY(&live);
  STRICT_EMPTY(&m->others);
  STRICT_EMPTY(&m->maps);
  STRICT_EMPTY(&m->reads);
  STRICT_EMPTY(&m->writes);
}

void strict_check_maps(const strict_call *c, const strict_object *memory, bool writes) {
  const cl_map_flags write = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
  for (size_t i = 0; i < memory->memory.maps.n; i++)
    if (writes || memory->memory.maps.data[i].how & write)
      strict_refuse(c, memory, "it is mapped");
  for (size_t k = 0; k < memory->memory.others.n; k++) {
    const strict_object *o = memory->memory.others.data[k];
    for (size_t i = 0; i < o->memory.maps.n; i++)
      if (writes || o->memory.maps.data[i].how & write)
        strict_refuse(c, memory, "buffer #%llu with the same bytes is mapped",
                      (unsigned long long)o->number);
  }
}

/* ---- making ---------------------------------------------------------------------------------- */

static void check_flags(const strict_call *c, cl_mem_flags flags, const void *host) {
  const cl_mem_flags access = flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY);
  const cl_mem_flags uses = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
  if (access & (access - 1)) strict_refuse(c, NULL, "flags 0x%llx say how kernels use it twice",
                                           (unsigned long long)flags);
  if (flags & CL_MEM_USE_HOST_PTR && flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR))
    strict_refuse(c, NULL, "flags 0x%llx use the host's memory, and other memory",
                  (unsigned long long)flags);
  if ((uses != 0) != (host != NULL))
    strict_refuse(c, NULL, "flags 0x%llx, and the host's memory is %p", (unsigned long long)flags,
                  host);
}

/* Whatever the commands do that use them: the result is undefined. */
static void check_host(const strict_call *c, const uint8_t *host, size_t size) {
  for (size_t i = 0; i < live.n; i++) {
    const strict_memory *m = &live.data[i]->memory;
    if (m->host && meet((uintptr_t)m->host, m->size, (uintptr_t)host, size))
      strict_refuse(c, live.data[i], "it is around some of the same memory of the host");
  }
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateBuffer(cl_context handle, cl_mem_flags flags, size_t size,
                                               void *host, cl_int *code) {
  strict_call c;
  strict_begin(&c, "clCreateBuffer");
  strict_object *context = strict_use(&c, handle, STRICT_CONTEXT);
  strict_limits limits;
  if (size == 0) strict_refuse(&c, context, "a buffer of no bytes");
  check_flags(&c, flags, host);
  if (flags & CL_MEM_USE_HOST_PTR) check_host(&c, host, size);
  strict_limits_of(&c, context->of.devices.data[0], &limits);
  if (size > limits.allocation)
    strict_refuse(&c, context, "a buffer of %zu bytes, the device has %llu at most", size,
                  (unsigned long long)limits.allocation);
  strict_forward(&c);
  cl_mem real = c.under->CreateBuffer(context->real, flags, size, host, code);
  strict_resume(&c);
  strict_object *o = strict_make(&c, STRICT_MEMORY, context, real);
  if (o) {
    o->memory.size = size;
    o->memory.flags = flags;
    o->memory.host = flags & CL_MEM_USE_HOST_PTR ? host : NULL;
    join(o);
  }
  strict_end(&c);
  return (cl_mem)o;
}

/* ---- pieces of buffers ----------------------------------------------------------------------- */

static void check_piece(const strict_call *c, strict_object *parent, cl_mem_flags flags,
                        const cl_buffer_region *r) {
  const strict_memory *m = &parent->memory;
  strict_limits limits;
  strict_limits_of(c, parent->context->of.devices.data[0], &limits);
  if (m->parent) strict_refuse(c, parent, "a piece of a piece");
  if (r->size == 0 || r->origin > m->size || r->size > m->size - r->origin)
    strict_refuse(c, parent, "%zu bytes at %zu", r->size, r->origin);
  if (limits.align && r->origin % limits.align)
    strict_refuse(c, parent, "a piece at %zu, the device wants multiples of %u", r->origin,
                  limits.align);
  for (size_t i = 0; i < m->others.n; i++) {
    const strict_memory *o = &m->others.data[i]->memory;
    bool reads = o->flags & flags & CL_MEM_READ_ONLY;
    if (o->parent == parent && !reads && meet(o->origin, o->size, r->origin, r->size))
      strict_refuse(c, parent, "%zu bytes at %zu overlap buffer #%llu, %zu bytes at %zu", r->size,
                    r->origin, (unsigned long long)m->others.data[i]->number, o->size, o->origin);
  }
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateSubBuffer(cl_mem handle, cl_mem_flags flags,
                                                  cl_buffer_create_type type, const void *region,
                                                  cl_int *code) {
  strict_call c;
  strict_begin(&c, "clCreateSubBuffer");
  strict_object *parent = strict_use(&c, handle, STRICT_MEMORY);
  cl_buffer_region r;
  if (type != CL_BUFFER_CREATE_TYPE_REGION || !region) strict_refuse(&c, parent, "no region");
  memcpy(&r, region, sizeof r);
  check_piece(&c, parent, flags, &r);
  strict_forward(&c);
  cl_mem real = c.under->CreateSubBuffer(parent->real, flags, type, region, code);
  strict_resume(&c);
  strict_object *o = strict_make(&c, STRICT_MEMORY, parent->context, real);
  if (o) {
    o->memory.size = r.size;
    o->memory.origin = r.origin;
    o->memory.flags = flags ? flags : parent->memory.flags;
    o->memory.parent = parent;
    join(o);
  }
  strict_end(&c);
  return (cl_mem)o;
}
