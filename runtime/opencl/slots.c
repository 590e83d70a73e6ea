/* SPDX-License-Identifier: Apache-2.0
 * Where the device works in the host's memory, buffers are made around the caller's memory and kept
 * for the next job with the same addresses (wraps.c). Otherwise, and where an address is less
 * aligned than WICK_ALIGN, data is copied to and from buffers of the device. */
#include <stdlib.h>
#include <string.h>

#include "context.h"

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

wick_cl_slot *wick_cl_slot_of(const wick_cl_context *c, uint32_t part, const wick_cl_buffer *b) {
  const wick_part_info *info = c->u->unit->parts[part].info;
  return &c->slots[c->u->first_io[part] + wick_cl_io_number(info, b)];
}

wick_status wick_cl_open_slots(wick_cl_context *c, uint32_t part, wick_error_detail *error) {
  const wick_part_info *info = c->u->unit->parts[part].info;
  wick_cl_slot *slots = c->slots + c->u->first_io[part];
  wick_status status = WICK_OK;
  for (uint32_t i = 0; i < wick_cl_io_count(info) && status == WICK_OK; i++)
    status = open_slot(c, wick_cl_io(info, i), i >= info->input_count, &slots[i], error);
  return status;
}

void wick_cl_close_slots(wick_cl_context *c) {
  uint32_t n = c->u->first_io[c->u->unit->part_count];
  for (uint32_t i = 0; i < n; i++) {
    wick_cl_release_memory(c->cl, c->slots[i].own);
    free(c->slots[i].staging);
  }
}

/* ---- binding --------------------------------------------------------------------------------- */

/* Of what kernels have as their arguments. */
typedef struct {
  bool buffers, bases;
} changes;

static wick_status bind_slot(wick_cl_context *c, uint32_t part, uint32_t i, void *memory,
                             changes *changed, wick_error_detail *error) {
  const wick_part_info *info = c->u->unit->parts[part].info;
  const wick_tensor_info *t = wick_cl_io(info, i);
  wick_cl_slot *s = &c->slots[c->u->first_io[part] + i];
  const wick_cl_slot before = *s;
  cl_mem resident = wick_cl_resident_at(c, memory);
  bool can_wrap = !resident && c->u->shares_memory && (uintptr_t)memory % WICK_ALIGN == 0;
  wick_status status = WICK_OK;
  if (t->bytes == 0) return WICK_OK;
  if (can_wrap && !s->wrap)
    status = wick_cl_wrap_slot(c, part, s, memory, t->bytes, i >= info->input_count, error);
  if (status == WICK_OK && !resident && !s->wrap && !s->own)
    status = make_buffer(c, CL_MEM_READ_WRITE, t->bytes, NULL, &s->own, error);
  s->bound = resident ? resident : s->wrap ? s->wrap->buffer : s->own;
  s->base = s->wrap ? (size_t)((uint8_t *)memory - (const uint8_t *)s->wrap->range.memory) : 0;
  if (s->wrap != before.wrap || s->bound != before.bound) changed->buffers = true;
  if (s->base != before.base) changed->bases = true;
  return status;
}

static wick_status set_args(wick_cl_context *c, uint32_t part, changes changed,
                            wick_error_detail *error) {
  wick_status status = WICK_OK;
  uint32_t first, end;
  wick_cl_launches_of(c->u, part, &first, &end);
  for (uint32_t k = first; k < end; k++) {
    const wick_cl_launch *l = &c->u->plan.launches[k];
    for (uint32_t i = 0; l->kind == WICK_CL_RUN && i < l->arg_count && status == WICK_OK; i++) {
      const wick_cl_arg *a = &c->u->plan.args[l->first_arg + i];
      if (a->buffer == WICK_NONE || c->u->plan.buffers[a->buffer].place < WICK_CL_INPUT) continue;
      if (changed.buffers) status = wick_cl_set_pointer(c, part, k, i, error);
      if (status == WICK_OK && changed.bases)
        status = wick_cl_set_offset(c, part, k, i, 0, error);
    }
  }
  return status;
}

/* What kernels have is not known: the next job sets all of it. */
static void forget(wick_cl_slot *slots, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) slots[i].bound = NULL, slots[i].base = SIZE_MAX;
}

wick_status wick_cl_bind(wick_cl_context *c, const wick_device_job *job,
                         wick_error_detail *error) {
  const wick_part_info *info = c->u->unit->parts[job->part].info;
  wick_cl_slot *slots = c->slots + c->u->first_io[job->part];
  wick_status status = WICK_OK;
  changes changed = {false, false};
  if (!c->u->shares_memory && !c->residents) return WICK_OK; /* they have theirs since open */
  for (uint32_t i = 0; i < wick_cl_io_count(info); i++)
    if (slots[i].wrap && slots[i].memory != job->io[i]) wick_cl_unwrap(&slots[i]);
  for (uint32_t i = 0; i < wick_cl_io_count(info) && status == WICK_OK; i++)
    status = bind_slot(c, job->part, i, job->io[i], &changed, error);
  if (status == WICK_OK && (changed.buffers || changed.bases))
    status = set_args(c, job->part, changed, error);
  if (status != WICK_OK) forget(slots, wick_cl_io_count(info));
  return status;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* What one side wrote becomes visible to the other, where it is. */
static wick_status show(wick_cl_context *c, const wick_cl_slot *s, size_t bytes, cl_map_flags how,
                        wick_error_detail *error) {
  cl_int code;
  void *at = c->cl->EnqueueMapBuffer(c->queue, s->bound, CL_FALSE, how, s->base, bytes, 0, NULL,
                                     NULL, &code);
  if (code != CL_SUCCESS) return wick_cl_fail(error, "clEnqueueMapBuffer", code);
  code = c->cl->EnqueueUnmapMemObject(c->queue, s->bound, at, 0, NULL, NULL);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clEnqueueUnmapMemObject", code);
}

static bool is_copied(const wick_cl_slot *s) { return s->bound && s->bound == s->own; }
static bool is_wrapped(const wick_cl_slot *s) { return s->wrap && s->bound == s->wrap->buffer; }

wick_status wick_cl_upload(wick_cl_context *c, const wick_device_job *job,
                           wick_error_detail *error) {
  const wick_part_info *info = c->u->unit->parts[job->part].info;
  const wick_cl_slot *slots = c->slots + c->u->first_io[job->part];
  for (uint32_t i = 0; i < info->input_count; i++) {
    if (is_wrapped(&slots[i])) {
      wick_status status = show(c, &slots[i], info->inputs[i].bytes, CL_MAP_WRITE, error);
      if (status != WICK_OK) return status;
    }
    if (!is_copied(&slots[i])) continue;
    const wick_tensor_info *t = &info->inputs[i];
    uint8_t *staged = wick_cl_staging(&slots[i], c->set, t);
    if (staged) memcpy(staged, job->io[i], t->bytes);
    cl_int code = c->cl->EnqueueWriteBuffer(c->queue, slots[i].own, CL_FALSE, 0, t->bytes,
                                            staged ? staged : job->io[i], 0, NULL, NULL);
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

void wick_cl_copy_tensor(const wick_tensor_info *t, void *to, const void *from) {
  if (wick_tensor_is_dense(t)) memcpy(to, from, t->bytes);
  else copy_axis(t, 0, to, from);
}

static wick_status fetch(wick_cl_context *c, const wick_cl_slot *s, const wick_tensor_info *t,
                         void *memory, wick_error_detail *error) {
  uint8_t *staged = wick_cl_staging(s, c->set, t);
  bool has_gaps = !staged && s->staging;
  cl_int code = c->cl->EnqueueReadBuffer(c->queue, s->own, has_gaps ? CL_TRUE : CL_FALSE, 0,
                                         t->bytes, staged ? staged : has_gaps ? s->staging : memory,
                                         0, NULL, NULL);
  if (code != CL_SUCCESS) return wick_cl_fail(error, "clEnqueueReadBuffer", code);
  if (has_gaps) copy_axis(t, 0, memory, s->staging);
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
    else if (is_wrapped(&slots[i]))
      status = show(c, &slots[i], t->bytes, CL_MAP_READ, error);
  }
  return status;
}

wick_status wick_cl_finish(wick_cl_context *c, wick_error_detail *error) {
  wick_status status = wick_cl_check_process(error);
  if (status != WICK_OK) return status;
  cl_int code = c->cl->Finish(c->queue);
  c->is_busy = c->is_busy && code != CL_SUCCESS;
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clFinish", code);
}
