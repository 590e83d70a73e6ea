/* SPDX-License-Identifier: Apache-2.0
 * Kernels are of a context because their arguments belong to them: each launch has its own, whose
 * arguments are set once, but for those that change in a loop or with the caller's memory. */
#include "context.h"

#include <stdlib.h>

/* ---- arguments ------------------------------------------------------------------------------- */

cl_mem wick_cl_memory(const wick_cl_context *c, uint32_t part, const wick_cl_arg *arg) {
  if (arg->buffer == WICK_NONE) return NULL;
  const wick_cl_buffer *b = &c->u->plan.buffers[arg->buffer];
  if (b->place == WICK_CL_ARENA) return c->arena;
  if (b->place == WICK_CL_CONST) return c->u->consts;
  if (b->place == WICK_CL_FAULT) return c->fault;
  return wick_cl_slot_of(c, part, b)->bound;
}

wick_status wick_cl_set_pointer(const wick_cl_context *c, uint32_t part, uint32_t launch,
                                uint32_t arg, wick_error_detail *error) {
  cl_mem memory =
      wick_cl_memory(c, part, &c->u->plan.args[c->u->plan.launches[launch].first_arg + arg]);
  cl_int code = c->cl->SetKernelArg(c->kernels[launch], arg, sizeof(cl_mem),
                                    memory ? &memory : NULL);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clSetKernelArg", code);
}

wick_status wick_cl_offset(const wick_cl_context *c, uint32_t part, uint32_t launch, uint32_t arg,
                           int64_t iteration, uint32_t size, cl_long *out,
                           wick_error_detail *error) {
  const wick_cl_arg *a = &c->u->plan.args[c->u->plan.launches[launch].first_arg + arg];
  int64_t offset = 0;
  *out = 0;
  if (a->buffer == WICK_NONE) return WICK_OK;
  const wick_cl_buffer *b = &c->u->plan.buffers[a->buffer];
  if (b->bytes == 0) return WICK_OK;
  if (__builtin_mul_overflow(a->step, iteration, &offset) ||
      __builtin_add_overflow(offset, a->offset, &offset) || offset < 0 ||
      (uint64_t)offset + size > b->bytes)
    return wick_fail(error, WICK_RUN_FAILED, "launch %u leaves its buffer in iteration %lld",
                     launch, (long long)iteration);
  *out = (int64_t)b->offset + offset;
  if (b->place >= WICK_CL_INPUT) *out += (int64_t)wick_cl_slot_of(c, part, b)->base;
  return WICK_OK;
}

wick_status wick_cl_set_offset(const wick_cl_context *c, uint32_t part, uint32_t launch,
                               uint32_t arg, int64_t iteration, wick_error_detail *error) {
  cl_long offset;
  const wick_cl_launch *l = &c->u->plan.launches[launch];
  bool moves = c->u->plan.args[l->first_arg + arg].step != 0;
  wick_status status = wick_cl_offset(c, part, launch, arg, iteration, moves, &offset, error);
  if (status != WICK_OK) return status;
  cl_int code = c->cl->SetKernelArg(c->kernels[launch], l->arg_count + arg, sizeof offset,
                                    &offset);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clSetKernelArg", code);
}

/* ---- opening --------------------------------------------------------------------------------- */

static wick_status make_queue(wick_cl_context *c, wick_error_detail *error) {
  cl_int code;
  c->queue = c->cl->CreateCommandQueue(c->u->context, c->u->device.device, 0, &code);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clCreateCommandQueue", code);
}

static wick_status make_arena(wick_cl_context *c, wick_error_detail *error) {
  cl_int code;
  uint64_t bytes = c->u->plan.needs.arena_bytes;
  if (bytes == 0) return WICK_OK;
  c->arena = c->cl->CreateBuffer(c->u->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clCreateBuffer (arena)", code);
}

static wick_status make_fault(wick_cl_context *c, wick_error_detail *error) {
  cl_int code;
  if (c->fault) return WICK_OK;
  c->fault = c->cl->CreateBuffer(c->u->context, CL_MEM_READ_WRITE, WICK_CL_FAULT_BYTES, NULL,
                                 &code);
  return code == CL_SUCCESS ? wick_cl_clear_fault(c, error)
                            : wick_cl_fail(error, "clCreateBuffer (fault)", code);
}

static wick_status make_launch(wick_cl_context *c, uint32_t part, uint32_t launch,
                               wick_error_detail *error) {
  const wick_cl_launch *l = &c->u->plan.launches[launch];
  wick_status status = WICK_OK;
  for (uint32_t i = 0; i < l->arg_count && status == WICK_OK; i++) {
    uint32_t buffer = c->u->plan.args[l->first_arg + i].buffer;
    if (buffer != WICK_NONE && c->u->plan.buffers[buffer].place == WICK_CL_FAULT)
      status = make_fault(c, error);
  }
  if (status != WICK_OK || l->kind != WICK_CL_RUN) return status;
  status = wick_cl_kernel(c->u, l->kernel, &c->kernels[launch], error);
  for (uint32_t i = 0; i < l->arg_count && status == WICK_OK; i++) {
    status = wick_cl_set_pointer(c, part, launch, i, error);
    if (status == WICK_OK) status = wick_cl_set_offset(c, part, launch, i, 0, error);
  }
  return status;
}

static wick_status make_part(wick_cl_context *c, uint32_t part, wick_error_detail *error) {
  uint32_t first, end;
  wick_cl_launches_of(c->u, part, &first, &end);
  wick_status status = wick_cl_open_slots(c, part, error);
  for (uint32_t i = first; i < end && status == WICK_OK; i++)
    status = make_launch(c, part, i, error);
  return status;
}

static wick_status allocate(wick_cl_context *c) {
  const wick_cl_plan *p = &c->u->plan;
  c->kernels = wick_list(p->launch_count, sizeof(cl_kernel));
  c->slots = wick_list(c->u->first_io[c->u->unit->part_count], sizeof *c->slots);
  c->times = wick_list(WICK_CL_TIMES, sizeof *c->times);
  return c->kernels && c->slots && c->times ? wick_cl_open_wraps(c) : WICK_NO_MEMORY;
}

static void release_kernels(wick_cl_context *c) {
  for (uint32_t i = 0; c->kernels && i < c->u->plan.launch_count; i++)
    if (c->kernels[i]) c->cl->ReleaseKernel(c->kernels[i]);
}

void wick_cl_close(void *context) {
  wick_cl_context *c = context;
  bool is_own = !wick_cl_is_forked();
  if (is_own && c->queue) c->cl->Finish(c->queue); /* what a command uses is not released */
  if (is_own) release_kernels(c);
  wick_cl_drop_times(c);
  wick_cl_release_marks(c, UINT64_MAX);
  if (c->slots) wick_cl_unpin(c);
  if (c->slots) wick_cl_close_slots(c);
  wick_cl_close_wraps(c);
  wick_cl_release_memory(c->cl, c->fault);
  wick_cl_free_residents(c);
  wick_cl_release_memory(c->cl, c->arena);
  if (is_own && c->queue) c->cl->ReleaseCommandQueue(c->queue);
  free(c->kernels);
  free(c->slots);
  free(c->shadow);
  free(c->times);
  free(c);
}

wick_status wick_cl_open(void *loaded, const uint32_t *parts, uint32_t part_count,
                         uint32_t threads, void **context, wick_error_detail *error) {
  (void)threads; /* the device has its own */
  wick_status status = wick_cl_check_process(error);
  if (status != WICK_OK) return status;
  wick_cl_context *c = calloc(1, sizeof *c);
  if (!c) return WICK_NO_MEMORY;
  c->u = loaded;
  c->cl = c->u->cl;
  c->faults = c->own_faults;
  status = allocate(c);
  if (status == WICK_OK) status = make_queue(c, error);
  if (status == WICK_OK) status = make_arena(c, error);
  for (uint32_t i = 0; i < part_count && status == WICK_OK; i++)
    status = make_part(c, parts[i], error);
  if (status == WICK_OK) {
    *context = c;
    return WICK_OK;
  }
  status = wick_cl_note(c->u, status, error);
  wick_cl_close(c);
  return status;
}
