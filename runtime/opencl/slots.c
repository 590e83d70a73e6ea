/* SPDX-License-Identifier: Apache-2.0
 * Where the device works in the host's memory, buffers are made around the caller's memory and kept
 * for the next job with the same addresses. Otherwise, and where an address is less aligned than
 * WICK_ALIGN, data is copied to and from buffers of the device. */
#include <stdlib.h>
#include <string.h>

#include "context.h"

static uint32_t io_count(const wick_part_info *p) { return p->input_count + p->output_count; }

static wick_status make_buffer(wick_cl_context *c, cl_mem_flags flags, size_t bytes, void *memory,
                               cl_mem *out, wick_error_detail *error) {
  cl_int code;
  *out = c->cl->CreateBuffer(c->u->context, flags, bytes, memory, &code);
  if (code == CL_SUCCESS) return WICK_OK;
  *out = NULL;
  return wick_cl_fail(error, "clCreateBuffer", code);
}

static wick_status open_slot(wick_cl_context *c, const wick_tensor_info *t, bool is_output,
                             wick_cl_slot *s, wick_error_detail *error) {
  if (t->bytes == 0) return WICK_OK;
  if (is_output && !wick_tensor_is_dense(t) && !(s->staging = malloc(t->bytes)))
    return WICK_NO_MEMORY;
  if (c->u->shares_memory) return WICK_OK;
  wick_status status = make_buffer(c, CL_MEM_READ_WRITE, t->bytes, NULL, &s->own, error);
  s->bound = s->own;
  return status;
}

wick_status wick_cl_open_slots(wick_cl_context *c, uint32_t part, wick_error_detail *error) {
  const wick_part_info *info = c->u->unit->parts[part].info;
  wick_cl_slot *slots = c->slots + c->u->first_io[part];
  wick_status status = WICK_OK;
  for (uint32_t i = 0; i < io_count(info) && status == WICK_OK; i++)
    status = open_slot(c, wick_cl_io(info, i), i >= info->input_count, &slots[i], error);
  return status;
}

void wick_cl_close_slots(wick_cl_context *c) {
  uint32_t n = c->u->first_io[c->u->unit->part_count];
  for (uint32_t i = 0; i < n; i++) {
    wick_cl_release_memory(c->cl, c->slots[i].own);
    wick_cl_release_memory(c->cl, c->slots[i].wrapped);
    free(c->slots[i].staging);
  }
}

/* ---- binding --------------------------------------------------------------------------------- */

/* *changed: there is a new buffer, which may have the address of the one that is gone. */
static wick_status wrap(wick_cl_context *c, wick_cl_slot *s, bool is_output, size_t bytes,
                        void *memory, bool *changed, wick_error_detail *error) {
  cl_mem_flags flags = CL_MEM_USE_HOST_PTR | (is_output ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY);
  if (s->wrapped && s->memory == memory) return WICK_OK;
  if (s->wrapped) c->cl->ReleaseMemObject(s->wrapped);
  s->memory = memory;
  *changed = true;
  return make_buffer(c, flags, bytes, memory, &s->wrapped, error);
}

/* *changed: kernels have another buffer. */
static wick_status bind_slot(wick_cl_context *c, wick_cl_slot *s, const wick_tensor_info *t,
                             bool is_output, void *memory, bool *changed,
                             wick_error_detail *error) {
  cl_mem before = s->bound, resident = wick_cl_resident_at(c, memory);
  bool can_wrap = !resident && c->u->shares_memory && (uintptr_t)memory % WICK_ALIGN == 0;
  wick_status status = WICK_OK;
  if (t->bytes == 0) return WICK_OK;
  if (can_wrap) status = wrap(c, s, is_output, t->bytes, memory, changed, error);
  else if (!resident && !s->own)
    status = make_buffer(c, CL_MEM_READ_WRITE, t->bytes, NULL, &s->own, error);
  s->bound = resident ? resident : can_wrap ? s->wrapped : s->own;
  *changed = *changed || s->bound != before;
  return status;
}

static wick_status set_pointers(wick_cl_context *c, uint32_t part, wick_error_detail *error) {
  wick_status status = WICK_OK;
  uint32_t first, end;
  wick_cl_launches_of(c->u, part, &first, &end);
  for (uint32_t k = first; k < end; k++) {
    const wick_cl_launch *l = &c->u->plan.launches[k];
    for (uint32_t i = 0; l->kind == WICK_CL_RUN && i < l->arg_count && status == WICK_OK; i++) {
      const wick_cl_arg *a = &c->u->plan.args[l->first_arg + i];
      if (a->buffer != WICK_NONE && c->u->plan.buffers[a->buffer].place >= WICK_CL_INPUT)
        status = wick_cl_set_pointer(c, part, k, i, error);
    }
  }
  return status;
}

/* What kernels have is not known: the next job sets all of it. */
static void forget(wick_cl_slot *slots, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) slots[i].bound = NULL;
}

wick_status wick_cl_bind(wick_cl_context *c, const wick_device_job *job,
                         wick_error_detail *error) {
  const wick_part_info *info = c->u->unit->parts[job->part].info;
  wick_cl_slot *slots = c->slots + c->u->first_io[job->part];
  wick_status status = WICK_OK;
  bool changed = false;
  if (!c->u->shares_memory && !c->residents) return WICK_OK; /* they have theirs since open */
  for (uint32_t i = 0; i < io_count(info) && status == WICK_OK; i++)
    status = bind_slot(c, &slots[i], wick_cl_io(info, i), i >= info->input_count, job->io[i],
                       &changed, error);
  if (status == WICK_OK && changed) status = set_pointers(c, job->part, error);
  if (status != WICK_OK) forget(slots, io_count(info));
  return status;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* What one side wrote becomes visible to the other, where it is. */
static wick_status show(wick_cl_context *c, cl_mem memory, size_t bytes, cl_map_flags how,
                        wick_error_detail *error) {
  cl_int code;
  void *at = c->cl->EnqueueMapBuffer(c->queue, memory, CL_FALSE, how, 0, bytes, 0, NULL,
                                     NULL, &code);
  if (code != CL_SUCCESS) return wick_cl_fail(error, "clEnqueueMapBuffer", code);
  code = c->cl->EnqueueUnmapMemObject(c->queue, memory, at, 0, NULL, NULL);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clEnqueueUnmapMemObject", code);
}

static bool is_copied(const wick_cl_slot *s) { return s->bound && s->bound == s->own; }

wick_status wick_cl_upload(wick_cl_context *c, const wick_device_job *job,
                           wick_error_detail *error) {
  const wick_part_info *info = c->u->unit->parts[job->part].info;
  const wick_cl_slot *slots = c->slots + c->u->first_io[job->part];
  for (uint32_t i = 0; i < info->input_count; i++) {
    if (slots[i].wrapped && slots[i].bound == slots[i].wrapped) {
      wick_status status = show(c, slots[i].wrapped, info->inputs[i].bytes, CL_MAP_WRITE, error);
      if (status != WICK_OK) return status;
    }
    if (!is_copied(&slots[i])) continue;
    cl_int code = c->cl->EnqueueWriteBuffer(c->queue, slots[i].own, CL_FALSE, 0,
                                            info->inputs[i].bytes, job->io[i], 0, NULL, NULL);
    if (code != CL_SUCCESS) return wick_cl_fail(error, "clEnqueueWriteBuffer", code);
  }
  return WICK_OK;
}

/* Elements of axis `axis` on; what lies between them stays as it is. */
static void copy_axis(const wick_tensor_info *t, uint32_t axis, uint8_t *to, const uint8_t *from) {
  size_t size = t->bits / 8;
  bool is_run = axis + 1 == t->rank && t->strides[axis] == 1;
  if (axis == t->rank || is_run) {
    memcpy(to, from, is_run ? (size_t)t->dims[axis] * size : size);
    return;
  }
  for (int64_t i = 0; i < t->dims[axis]; i++) {
    size_t at = (size_t)(i * t->strides[axis]) * size;
    copy_axis(t, axis + 1, to + at, from + at);
  }
}

static wick_status fetch(wick_cl_context *c, const wick_cl_slot *s, const wick_tensor_info *t,
                         void *memory, wick_error_detail *error) {
  cl_int code = c->cl->EnqueueReadBuffer(c->queue, s->own, s->staging ? CL_TRUE : CL_FALSE, 0,
                                         t->bytes, s->staging ? s->staging : memory, 0, NULL,
                                         NULL);
  if (code != CL_SUCCESS) return wick_cl_fail(error, "clEnqueueReadBuffer", code);
  if (s->staging) copy_axis(t, 0, memory, s->staging);
  return WICK_OK;
}

wick_status wick_cl_download(wick_cl_context *c, const wick_device_job *job,
                             wick_error_detail *error) {
  const wick_part_info *info = c->u->unit->parts[job->part].info;
  const wick_cl_slot *slots = c->slots + c->u->first_io[job->part] + info->input_count;
  wick_status status = WICK_OK;
  for (uint32_t i = 0; i < info->output_count && status == WICK_OK; i++) {
    const wick_tensor_info *t = &info->outputs[i];
    if (is_copied(&slots[i]))
      status = fetch(c, &slots[i], t, job->io[info->input_count + i], error);
    else if (slots[i].bound && slots[i].bound == slots[i].wrapped)
      status = show(c, slots[i].wrapped, t->bytes, CL_MAP_READ, error);
  }
  return status;
}

wick_status wick_cl_finish(wick_cl_context *c, wick_error_detail *error) {
  wick_status status = wick_cl_check_process(error);
  if (status != WICK_OK) return status;
  cl_int code = c->cl->Finish(c->queue);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clFinish", code);
}
