/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/prefetch.h"

#include <string.h>

const char *const wk_accel_prefetch_names[WK_PREFETCH_COUNT] = {
    [WK_PREFETCH_OFF] = "off", [WK_PREFETCH_SERIAL] = "serial", [WK_PREFETCH_DOUBLE] = "double",
    [WK_PREFETCH_AUTO] = "auto"};

void wk_accel_hold_transfers(wk_accel_steps *s, wk_accel_prefetch mode) {
  wk_accel_counts issued = {0}, all = {0}; /* all: of the runs before */
  wk_accel_counts moved = {0}, transfers = {0};
  if (mode != WK_PREFETCH_OFF && mode != WK_PREFETCH_DOUBLE) return;
  for (size_t i = 0; i < s->list.n; i++) {
    wk_accel_step *x = &s->list.data[i];
    if (mode == WK_PREFETCH_OFF || (i && x->c.operator != x[-1].c.operator)) {
      memcpy(all, issued, sizeof all);
      memcpy(transfers, moved, sizeof transfers);
    }
    wk_accel_wait_for(x, wk_accel_is_transfer(x) ? all : transfers);
    issued[x->c.queue] = x->ordinal + 1;
    if (wk_accel_is_transfer(x)) moved[x->c.queue] = x->ordinal + 1;
  }
}
