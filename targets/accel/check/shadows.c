/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/check/shadows.h"

static void note_written(void *memory, wk_space space, wk_access access, const char *field,
                         uint64_t from, uint64_t length) {
  (void)field;
  if (space == WK_SPACE_MEMORY && access == WK_ACCESS_WRITE)
    wk_sched_shadow_note(memory, from, length);
}

void wk_shadows_prepare(wk_sched_shadow shadows[WK_SPACE_COUNT], const wk_machine *m,
                        const wk_isa_command *c, uint32_t n) {
  wk_sched_shadow *memory = &shadows[WK_SPACE_MEMORY];
  wk_sched_shadow_init(&shadows[WK_SPACE_SCRATCHPAD], (uint64_t)m->scratchpad);
  wk_sched_shadow_init(&shadows[WK_SPACE_ACCUMULATOR], (uint64_t)wk_machine_entries(m));
  wk_sched_shadow_init(&shadows[WK_SPACE_TABLE], (uint64_t)m->tables);
  wk_sched_shadow_begin(memory, UINT64_C(1) << 32);
  for (uint32_t i = 0; i < n; i++)
    if (c[i].opcode == WK_CMD_ST) wk_footprint(m, &c[i], note_written, memory);
  wk_sched_shadow_end(memory);
}

void wk_shadows_free(wk_sched_shadow shadows[WK_SPACE_COUNT]) {
  for (int i = 0; i < WK_SPACE_COUNT; i++) wk_sched_shadow_free(&shadows[i]);
}
