/* SPDX-License-Identifier: Apache-2.0
 * The commands of a run, for a machine that has more than the run's.
 *
 *   what_if.c         the assumptions, and the timing model under them
 *   what_if_stream.c  commands that need not be, and what the others need of each other
 *   what_if_order.c   in which order those are handed out, by which channel */
#ifndef WICK_CLI_STUDY_WHAT_IF_H
#define WICK_CLI_STUDY_WHAT_IF_H

#include "cli/study/causes.h"
#include "targets/accel/check/flow.h"

/* What is assumed. */
enum {
  WK_IF_FAST = WK_SCHED_IF_FAST, /* memory moves bytes in no time: the bus remains */
  WK_IF_AT_ONCE = WK_SCHED_IF_AT_ONCE,
  WK_IF_ROOM = WK_SCHED_IF_ROOM, /* whatever is in the scratchpad stays, every result has a place of
                                    its own, nothing is loaded that was loaded or computed before */
  WK_IF_ANY_ORDER = WK_SCHED_IF_ANY_ORDER,
  WK_IF_PORTS = 16 /* no access to the scratchpad keeps another one waiting */
};
static inline bool wk_if_makes_anew(int assumed) {
  return assumed & (WK_IF_ROOM | WK_IF_ANY_ORDER);
}

/* Commands that have ends: END is none of them. */
typedef struct {
  const wk_machine *machine;
  const wk_isa_command *c;
  uint32_t n;
  bool *is_gone; /* n: it need not be, and nobody needs it */
  uint32_t *first, *needs; /* command i starts when those have retired: needs[first[i] ..
                              first[i + 1] - 1], all before i */
} wk_if_commands;

/* c: the n commands of x without END; borrowed, like flow. */
void wk_if_commands_of(const wk_sim_shown *x, const wk_isa_command *c, const wk_flow *flow,
                       int assumed, wk_if_commands *out);
void wk_if_commands_free(wk_if_commands *x);

/* Writes those that are not gone to out[0 ..], in the order in which they could start, loads spread
 * over the machine's channels, with waits for what they need; returns how many. */
uint32_t wk_if_order(const wk_if_commands *x, int assumed, wk_isa_command *out);

#endif
