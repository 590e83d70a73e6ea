/* SPDX-License-Identifier: Apache-2.0
 * Drivers compile for a launch's sizes, or upload code, when a kernel runs first. Each kernel runs
 * once with each size on zeros (and the unit's constants) while the unit is loaded: kernels are
 * total, and the first run of a session finds all of it there. */
#include <stdlib.h>
#include <string.h>

#include "context.h"

static void free_io(void **io, uint32_t n) {
  for (uint32_t i = 0; io && i < n; i++) free(io[i]);
  free(io);
}

/* Zeros for a part's inputs and outputs, NULL for those of no bytes. NULL: no memory. */
static void **make_io(const wick_part_info *part, uint32_t n) {
  void **io = wick_list(n, sizeof *io);
  for (uint32_t i = 0; io && i < n; i++) {
    size_t size = wick_align_up(wick_cl_io(part, i)->bytes, WICK_ALIGN);
    if (size == 0) continue;
    io[i] = aligned_alloc(WICK_ALIGN, size);
    if (!io[i]) return free_io(io, n), NULL;
    memset(io[i], 0, size);
  }
  return io;
}

static bool is_same(const wick_cl_launch *a, const wick_cl_launch *b) {
  return memcmp(a->global, b->global, sizeof a->global) == 0 &&
         memcmp(a->local, b->local, sizeof a->local) == 0;
}

/* Launches of the part that differ from the last one of their kernel, which *last knows. */
static bool run_launches(wick_cl_context *c, uint32_t part, const wick_cl_launch **last) {
  uint32_t first, end;
  wick_cl_launches_of(c->u, part, &first, &end);
  for (uint32_t i = first; i < end; i++) {
    const wick_cl_launch *l = &c->u->plan.launches[i];
    if (l->kind != WICK_CL_RUN || (last[l->kernel] && is_same(l, last[l->kernel]))) continue;
    const size_t global[3] = {l->global[0], l->global[1], l->global[2]};
    const size_t local[3] = {l->local[0], l->local[1], l->local[2]};
    last[l->kernel] = l;
    if (c->cl->EnqueueNDRangeKernel(c->queue, c->kernels[i], 3, NULL, global, local, 0, NULL,
                                    NULL) != CL_SUCCESS)
      return false;
  }
  return true;
}

/* By copies from the host: Oclgrind does not take what clEnqueueFillBuffer fills for written. */
static bool clear(wick_cl_context *c, cl_mem memory, size_t bytes) {
  static const uint8_t zeros[1 << 16];
  for (size_t at = 0; at < bytes; at += sizeof zeros) {
    size_t n = bytes - at < sizeof zeros ? bytes - at : sizeof zeros;
    if (c->cl->EnqueueWriteBuffer(c->queue, memory, CL_FALSE, at, n, zeros, 0, NULL, NULL) !=
        CL_SUCCESS)
      return false;
  }
  return true;
}

/* Those of the host's memory are clear already. */
static bool clear_io(wick_cl_context *c, uint32_t part) {
  const wick_part_info *info = c->u->unit->parts[part].info;
  const wick_cl_slot *slots = c->slots + c->u->first_io[part];
  for (uint32_t i = 0; i < info->input_count + info->output_count; i++)
    if (slots[i].own && !clear(c, slots[i].own, wick_cl_io(info, i)->bytes)) return false;
  return true;
}

static bool run_part(wick_cl_context *c, uint32_t part, const wick_cl_launch **last) {
  const wick_part_info *info = c->u->unit->parts[part].info;
  uint32_t n = info->input_count + info->output_count;
  wick_error_detail why;
  void **io = make_io(info, n);
  if (!io) return c->cl->Finish(c->queue), false; /* what was cleared may still be under way */
  const wick_device_job job = {.part = part, .io = io};
  bool ok = wick_cl_bind(c, &job, &why) == WICK_OK && clear_io(c, part) &&
            run_launches(c, part, last);
  ok = c->cl->Finish(c->queue) == CL_SUCCESS && ok;
  free_io(io, n);
  return ok;
}

static bool run_alone(wick_cl_unit *u, uint32_t part, const wick_cl_launch **last) {
  wick_error_detail why;
  void *context;
  if (wick_cl_open(u, &part, 1, 1, &context, &why) != WICK_OK) return false;
  wick_cl_context *c = context;
  bool ok = (!c->arena || clear(c, c->arena, u->plan.needs.arena_bytes)) &&
            run_part(c, part, last);
  wick_cl_close(c);
  return ok;
}

void wick_cl_rehearse(wick_cl_unit *u) {
  const wick_cl_launch **last = wick_list(u->plan.needs.kernel_count, sizeof(void *));
  bool ok = last != NULL;
  for (uint32_t i = 0; i < u->unit->part_count && ok; i++) ok = run_alone(u, i, last);
  free(last);
}
