/* SPDX-License-Identifier: Apache-2.0
 * Why a run of the accelerator took as long as it did (compiler/stream/causes.h), and what would be
 * won if it had more. */
#ifndef WICK_CLI_STUDY_CAUSES_H
#define WICK_CLI_STUDY_CAUSES_H

#include "cli/study/sim.h"
#include "compiler/stream/what_if.h"

/* x: a run with time, to its end. */
void wk_causes_of(const wk_sim_shown *x, wk_sched_causes *out);

/* As compiler/stream has them; what the engines do in the words of the accelerator. */
extern const wk_sched_cause_info wk_cause_infos[WK_CAUSE_COUNT];

/* ---- of commands ----------------------------------------------------------------------------- */

/* Of each command, whether it loads weights or parameters; free(). */
bool *wk_weights_of(const wk_sim_shown *x);

/* ---- what if --------------------------------------------------------------------------------- */

/* By the timing model, of the same stream. One assumption each (what_if.h), and all of them
 * together: what is computed then is wrong, when is right. */
enum { WK_WHAT_IFS = 6 };
extern const struct wk_what_if_info {
  const char *name, *doc;
  wk_sched_cause cause; /* that it removes; WK_CAUSE_COUNT: more than one */
  int assumed;          /* of what_if.h */
} wk_what_if_infos[WK_WHAT_IFS];
void wk_what_ifs_of(const wk_sim_shown *x, wk_sched_what_if out[WK_WHAT_IFS]);
/* The what-if in which a cause is not; NULL: there is none. */
const wk_sched_what_if *wk_what_if_without(const wk_sched_what_if list[WK_WHAT_IFS],
                                           wk_sched_cause cause);

/* ---- both ------------------------------------------------------------------------------------ */

typedef struct wk_sim_why {
  wk_sched_causes causes;
  bool has_what_if;
  wk_sched_what_if what_if[WK_WHAT_IFS];
} wk_sim_why;
void wk_sim_why_of(const wk_sim_shown *x, bool what_if, wk_sim_why *out);
void wk_sim_why_free(wk_sim_why *w);

/* ---- output ---------------------------------------------------------------------------------- */

void wk_sim_print_why(FILE *f, const wk_sim_shown *x, const wk_sim_why *w);

#endif
