/* SPDX-License-Identifier: Apache-2.0
 * What a step has left on the device. */
#include <stdlib.h>

#include "context.h"

/* Where the tensor is on the device, behind *base bytes; NULL: it is not. */
static cl_mem place_of(const wick_cl_context *c, const wick_device_job *job,
                       const wick_tensor_info *t, size_t *base) {
  const wick_part_info *part = c->u->unit->parts[job->part].info;
  *base = 0;
  if (t->place == WICK_PLACE_ARENA) return c->arena;
  if (t->place != WICK_PLACE_OUTPUT) return NULL;
  const wick_cl_slot *s = &c->slots[c->u->first_io[job->part] + part->input_count + t->index];
  *base = s->base;
  return s->bound;
}

/* From its first byte on, into the shadow. */
static wick_status fetch(wick_cl_context *c, cl_mem memory, size_t base,
                         const wick_tensor_info *t, wick_error_detail *error) {
  if (t->bytes > c->shadow_size) {
    uint8_t *shadow = realloc(c->shadow, t->bytes);
    if (!shadow) return wick_fail(error, WICK_NO_MEMORY, "out of memory");
    c->shadow = shadow;
    c->shadow_size = t->bytes;
  }
  cl_int code = c->cl->EnqueueReadBuffer(c->queue, memory, CL_TRUE,
                                         base + (size_t)wick_tensor_first_byte(t), t->bytes,
                                         c->shadow, 0, NULL, NULL);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clEnqueueReadBuffer", code);
}

wick_status wick_cl_read(void *context, const wick_device_job *job, uint32_t step,
                         uint32_t tensor, void *dense, wick_error_detail *error) {
  wick_cl_context *c = context;
  const wick_tensor_info *t = &c->u->unit->parts[job->part].info->steps[step].tensors[tensor];
  wick_status status = wick_cl_check_process(error);
  if (status != WICK_OK || t->bytes == 0) return status;
  if (t->place == WICK_PLACE_STATE) {
    wick_device_gather(c->u->unit, job, NULL, step, tensor, dense);
    return WICK_OK;
  }
  size_t base;
  cl_mem memory = place_of(c, job, t, &base);
  if (!memory)
    return wick_fail(error, WICK_DEVICE_FAILED, "tensor '%s' is nowhere in the arena", t->name);
  status = fetch(c, memory, base, t, error);
  if (status == WICK_OK)
    wick_tensor_gather(t, c->shadow + (t->offset - wick_tensor_first_byte(t)), dense);
  return status;
}
