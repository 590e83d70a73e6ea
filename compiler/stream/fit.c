/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/machine.h"

int64_t wk_sched_least_scratchpad(const wk_sched_machine *m, wk_sched_fits *fits, void *ctx) {
  int64_t larger = m->scratchpad;
  do {
    larger *= 2;
    if (larger > m->most_scratchpad) return 0;
  } while (!fits(ctx, larger));
  return larger;
}

const char *wk_sched_room_reason(const wk_sched_machine *m, wk_arena *a, int64_t need,
                                 const char *what, int64_t fits) {
  const char *has = wk_arena_printf(a, "it needs %lld bytes of scratchpad for %s; machine '%s' has "
                                       "%lld", (long long)need, what, m->name,
                                    (long long)m->scratchpad);
  return fits ? wk_arena_printf(a, "%s, scratchpad=%lld fits", has, (long long)fits)
              : wk_arena_printf(a, "%s, and none is large enough", has);
}
