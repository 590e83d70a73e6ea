/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/prefetch.h"

#include <string.h>

const char *const wk_sched_prefetch_names[WK_PREFETCH_COUNT] = {
    [WK_PREFETCH_OFF] = "off", [WK_PREFETCH_SERIAL] = "serial", [WK_PREFETCH_DOUBLE] = "double",
    [WK_PREFETCH_AUTO] = "auto"};

void wk_sched_hold_transfers(wk_sched_steps *s, const wk_sched_queues *q, wk_sched_prefetch mode) {
  wk_sched_counts issued = {0}, all = {0}; /* all: of the runs before */
  wk_sched_counts moved = {0}, transfers = {0};
  if (mode != WK_PREFETCH_OFF && mode != WK_PREFETCH_DOUBLE) return;
  for (size_t i = 0; i < s->list.n; i++) {
    wk_sched_step *x = &s->list.data[i];
    if (mode == WK_PREFETCH_OFF || (i && x->layer != x[-1].layer)) {
      memcpy(all, issued, sizeof all);
      memcpy(transfers, moved, sizeof transfers);
    }
    bool computes = wk_sched_in(q->computes, x->queue);
    wk_sched_wait_for(x, computes ? transfers : all);
    issued[x->queue] = x->ordinal + 1;
    if (!computes) moved[x->queue] = x->ordinal + 1;
  }
}
