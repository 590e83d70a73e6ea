/* SPDX-License-Identifier: Apache-2.0
 * settings: what may be asked of a target whose schedules this library makes, as rows of its table
 * (compiler/target/target.h). */
#ifndef WICK_STREAM_SETTINGS_H
#define WICK_STREAM_SETTINGS_H

#include "compiler/stream/report.h"
#include "compiler/target/target.h"

/* What such a target puts first in a struct of its own. */
typedef struct {
  wk_instance base;
  wk_sched_options options;
  bool reports; /* --report-schedule: for wk_emit_options.text (report.h) */
} wk_sched_instance;

/* The only machine of a target that needs nothing besides, with what settings say by default, and
 * its close. */
wk_status wk_sched_open(const wk_target *target, wk_instance **out) WK_MUST_CHECK;
void wk_sched_close(wk_instance *t);

static inline const wk_sched_options *wk_sched_options_of(const wk_instance *t) {
  return &((const wk_sched_instance *)(const void *)t)->options;
}

wk_status wk_sched_set_prefetch(wk_instance *t, const char *value);
wk_status wk_sched_set_effort(wk_instance *t, const char *value);
wk_status wk_sched_set_without(wk_instance *t, const char *value);
wk_status wk_sched_set_report(wk_instance *t, const char *value);
/* Adds the report of a part to the text, if it is asked for. */
void wk_sched_tell(const wk_instance *t, const wk_emit_options *o, const char *part,
                   const wk_sched_net *net, const wk_sched_made *made);

/* All of them, but for the end of the table. */
#define WK_SCHED_SETTINGS                                                                       \
  WK_SCHED_SETTING_PREFETCH, WK_SCHED_SETTING_EFFORT, WK_SCHED_SETTING_WITHOUT,                 \
      WK_SCHED_SETTING_REPORT

#define WK_SCHED_SETTING_PREFETCH                                                               \
  {"prefetch", "MODE", "off, serial, double, auto (default)",                                   \
   "setting of a target ('wick targets'): when data is loaded for what computes later",         \
   "off: nothing runs beside a transfer; double: only what its own layer computes; auto: "      \
   "transfers start as early as there is room; each with the plan that is best for it; serial: " \
   "the plan of auto, one command at a time",                                                   \
   wk_sched_set_prefetch, false}

#define WK_SCHED_SETTING_EFFORT                                                             \
  {"effort", "N", "0 to 3 (default 1)",                                                     \
   "setting of a target: how long to search for a schedule ('wick targets')",               \
   "how many schedules are tried: 0: few; 1: groups "                                       \
   "of up to 6 operators, then a local search; 2, 3: of up to 8 and 12, in more strips",    \
   wk_sched_set_effort, false}

#define WK_SCHED_SETTING_WITHOUT                                                                \
  {"without", "IDEA,…", "IDEA,…",                                                               \
   "setting of a target: what to leave out of its schedules, to see what that is worth ('wick " \
   "targets')",                                                                                 \
   "leave out what makes schedules fast, to see what it is worth: "                             \
   "early-issue (loads more than a tile ahead), cross-layer (loads for the next group), "       \
   "residency (tensors that stay in the scratchpad), fusion (groups of several operators), "    \
   "stagger (stages of a group that overlap), stacks (some of a batch, or of heads, after the " \
   "others), local-search",                                                                     \
   wk_sched_set_without, false}

#define WK_SCHED_SETTING_REPORT                                                                \
  {"report-schedule", "YES|NO", "yes, no (default)",                                           \
   "setting of a target: print where the cycles of its schedules go ('wick targets')",         \
   "print the cycles of every --prefetch mode, what the time goes to, and what would be won "  \
   "without each cause, by the schedule model",                                                \
   wk_sched_set_report, true}

#endif
