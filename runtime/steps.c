/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "internal.h"

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Why a step met values that it cannot handle, behind where that was. */
static void add_place(const wick_part_info *part, uint32_t step, wick_error_detail *error) {
  const wick_step_info *s = &part->steps[step];
  wick_error_detail why = *error;
  const char *node = *s->node ? s->node : s->op;
  wick_fail(error, WICK_RUN_FAILED, "%.100s%s (%s, step %u of %u)%s%s", node,
            strlen(node) > 100 ? "…" : "", s->op, step, part->step_count, *why.text ? ": " : "",
            why.text);
}

wick_status wick_device_run_steps(const wick_device_unit *unit, const wick_device_job *job,
                                  void *arena, wick_device_step run, void *context,
                                  wick_error_detail *error) {
  uint32_t n = unit->parts[job->part].info->step_count;
  wick_status status = WICK_OK;
  for (uint32_t i = 0; i < n && status == WICK_OK; i++) {
    if (job->observer) job->observer(job->user, i, 0, arena);
    uint64_t start = job->profile ? now_ns() : 0;
    status = run(context, job, i, error);
    if (job->profile) {
      job->profile[i].nanoseconds += now_ns() - start;
      job->profile[i].calls++;
    }
    if (job->observer) job->observer(job->user, i, 1, arena);
    if (status == WICK_RUN_FAILED) add_place(unit->parts[job->part].info, i, error);
  }
  return status;
}

void wick_device_gather(const wick_device_unit *unit, const wick_device_job *job,
                        const void *arena, uint32_t step, uint32_t tensor, void *dense) {
  const wick_part_info *part = unit->parts[job->part].info;
  const wick_tensor_info *t = &part->steps[step].tensors[tensor];
  const uint8_t *place = t->place == WICK_PLACE_ARENA    ? arena
                         : t->place == WICK_PLACE_OUTPUT ? job->io[part->input_count + t->index]
                                                         : job->state;
  wick_tensor_gather(t, place + t->offset, dense);
}
