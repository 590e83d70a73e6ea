/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "compiler/stream/causes.h"

const wk_sched_cause_info wk_sched_cause_infos[WK_CAUSE_COUNT] = {
#define WK_X(name, doc, wait) {#name, doc, wait},
    WK_CAUSES_OF_ENGINES(WK_X) WK_CAUSES_OF_WAITS(WK_X)
#undef WK_X
};

const char *wk_sched_wait_text(wk_arena *a, const wk_sched_cause_row *r, const char *operator) {
  static const char *const moved[] = {"commands", "weights", "inputs", "results"};
  return wk_arena_printf(a, "%s of %s wait for %s", moved[r->moved], operator,
                         wk_sched_cause_infos[r->cause].wait);
}

static double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_largest(wk_str *b, const wk_sched_causes *c, const char *const *names,
                          uint32_t n_names) {
  enum { MOST = 8 };
  wk_arena *a = wk_arena_new();
  int n = 0;
  for (size_t i = 0; i < c->rows.n && n < MOST; i++) {
    const wk_sched_cause_row *r = &c->rows.data[i];
    if (r->cause < WK_CAUSE_bandwidth || 200 * r->cycles < c->exposed) continue;
    if (!n++) wk_str_printf(b, "of %" PRIu64 " exposed cycles\n", c->exposed);
    bool named = names && r->operator && r->operator <= n_names;
    const char *name = named ? names[r->operator - 1]
                             : wk_arena_printf(a, "operator %" PRIu32, r->operator);
    wk_str_printf(b, "  %12" PRIu64 "  %5.1f %%  %s\n", r->cycles,
                  percent(r->cycles, c->exposed), wk_sched_wait_text(a, r, name));
  }
  wk_arena_free(a);
}

void wk_sched_causes_print(wk_str *b, const wk_sched_causes *c, const char *const *names,
                           uint32_t n_names) {
  uint64_t all = 0;
  for (int i = 0; i < WK_CAUSE_COUNT; i++) all += c->cycles[i];
  for (int i = 0; i < WK_CAUSE_COUNT; i++)
    if (c->cycles[i])
      wk_str_printf(b, "%-9s  %12" PRIu64 "  %5.1f %%  %s\n", wk_sched_cause_infos[i].name,
                    c->cycles[i], percent(c->cycles[i], all), wk_sched_cause_infos[i].doc);
  print_largest(b, c, names, n_names);
}
