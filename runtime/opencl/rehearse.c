/* SPDX-License-Identifier: Apache-2.0
 * Drivers compile for a launch's sizes, or upload code, when a kernel runs first. Each kernel runs
 * once with each size on zeros (and the unit's constants) while the unit is loaded: kernels are
 * total, and the first run of a session finds all of it there. Processors have all of a launch,
 * since PoCL compiles for its sizes; others have compiled when the program was built, and get a
 * work-group of each kernel, so that its code is there. */
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

/* What has run: of each kernel a list of launches. */
typedef struct {
  uint32_t *first; /* per kernel: a launch; WICK_NONE: none */
  uint32_t *next;  /* per launch */
} rehearsed;

static bool runs_all(const wick_cl_unit *u) { return u->device.info->type == WICK_OPENCL_CPU; }

static bool is_known(const wick_cl_unit *u, const rehearsed *r, const wick_cl_launch *l) {
  const wick_cl_launch *launches = u->plan.launches;
  uint32_t i = r->first[l->kernel];
  if (!runs_all(u)) return i != WICK_NONE;
  while (i != WICK_NONE && memcmp(launches[i].global, l->global, sizeof l->global) != 0)
    i = r->next[i];
  return i != WICK_NONE;
}

/* The next launch from `i` on that differs from all that have run; `end`: there is none. */
static uint32_t find_new(const wick_cl_unit *u, const rehearsed *r, uint32_t i, uint32_t end) {
  while (i < end && (u->plan.launches[i].kind != WICK_CL_RUN ||
                     is_known(u, r, &u->plan.launches[i])))
    i++;
  return i;
}

static bool run_launches(wick_cl_context *c, uint32_t part, rehearsed *r) {
  uint32_t first, end;
  wick_cl_launches_of(c->u, part, &first, &end);
  for (uint32_t i = first; (i = find_new(c->u, r, i, end)) < end;) {
    const wick_cl_launch *l = &c->u->plan.launches[i];
    size_t global[3], local[3];
    for (int d = 0; d < 3; d++) {
      local[d] = l->local[d];
      global[d] = runs_all(c->u) ? l->global[d] : local[d];
    }
    r->next[i] = r->first[l->kernel];
    r->first[l->kernel] = i;
    if (c->cl->EnqueueNDRangeKernel(c->queue, c->kernels[i], 3, NULL, global, local, 0, NULL,
                                    NULL) != CL_SUCCESS)
      return false;
  }
  return true;
}

/* By copies from the host, where that is not far: Oclgrind does not take what clEnqueueFillBuffer
 * fills for written. */
static bool clear(wick_cl_context *c, cl_mem memory, size_t bytes) {
  static const uint8_t zeros[1 << 16];
  if (c->u->device.info->type == WICK_OPENCL_GPU)
    return c->cl->EnqueueFillBuffer(c->queue, memory, zeros, 1, 0, bytes, 0, NULL, NULL) ==
           CL_SUCCESS;
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

static bool run_part(wick_cl_context *c, uint32_t part, rehearsed *r) {
  const wick_part_info *info = c->u->unit->parts[part].info;
  uint32_t n = info->input_count + info->output_count;
  wick_error_detail why;
  void **io = make_io(info, n);
  if (!io) return c->cl->Finish(c->queue), false; /* what was cleared may still be under way */
  const wick_device_job job = {.part = part, .io = io};
  bool ok = wick_cl_bind(c, &job, &why) == WICK_OK && clear_io(c, part) &&
            run_launches(c, part, r);
  ok = c->cl->Finish(c->queue) == CL_SUCCESS && ok;
  free_io(io, n);
  return ok;
}

static bool run_alone(wick_cl_unit *u, uint32_t part, rehearsed *r) {
  wick_error_detail why;
  void *context;
  uint32_t first, end;
  wick_cl_launches_of(u, part, &first, &end);
  if (find_new(u, r, first, end) == end) return true;
  if (wick_cl_open(u, &part, 1, 1, &context, &why) != WICK_OK) return false;
  wick_cl_context *c = context;
  bool ok = (!c->arena || clear(c, c->arena, u->plan.needs.arena_bytes)) &&
            run_part(c, part, r);
  wick_cl_close(c);
  return ok;
}

void wick_cl_rehearse(wick_cl_unit *u) {
  uint32_t kernels = u->plan.needs.kernel_count;
  rehearsed r = {wick_list(kernels, sizeof *r.first), wick_list(u->plan.launch_count,
                                                                sizeof *r.next)};
  bool ok = r.first && r.next;
  for (uint32_t k = 0; ok && k < kernels; k++) r.first[k] = WICK_NONE;
  for (uint32_t i = 0; i < u->unit->part_count && ok; i++) ok = run_alone(u, i, &r);
  free(r.first);
  free(r.next);
}
