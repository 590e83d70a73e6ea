/* SPDX-License-Identifier: Apache-2.0
 * what_if: what a run would win if a cause of waiting were not, by a list schedule (list.h) of the
 * same commands. It knows neither bursts nor banks: compare what it says with what it says of the
 * run as it is, not with the run. */
#ifndef WICK_STREAM_WHAT_IF_H
#define WICK_STREAM_WHAT_IF_H

#include "compiler/stream/causes.h"
#include "compiler/stream/list.h"

/* What is assumed. */
enum {
  WK_SCHED_IF_FAST = 1,      /* memory moves bytes in no time */
  WK_SCHED_IF_AT_ONCE = 2,   /* it answers at once */
  WK_SCHED_IF_ROOM = 4,      /* the scratchpad has no end */
  WK_SCHED_IF_ANY_ORDER = 8, /* commands need only what they use: a load passes those that wait */
};

/* X(cause that is no more, what is assumed, WK_SCHED_IF_…) */
#define WK_SCHED_IFS(X)                                                                         \
  X(bandwidth, "memory moves bytes in no time", FAST)                                           \
  X(latency, "memory answers at once", AT_ONCE)                                                 \
  X(space, "the scratchpad has room for all: nothing waits for a place or is loaded twice",     \
    ROOM)                                                                                       \
  X(order, "commands wait for nothing but what they use, and loads come in the best order",     \
    ANY_ORDER)

/* Command `who` waits until command `of`, which stands before it, has retired. */
typedef enum {
  WK_SCHED_NEEDS_DATA,  /* it uses what that has made, or overwrites what it used */
  WK_SCHED_NEEDS_PLACE, /* where it writes, something else stood */
  WK_SCHED_NEEDS_ORDER  /* nothing: it only follows */
} wk_sched_why;
typedef struct {
  uint32_t who, of;
  wk_sched_why why;
} wk_sched_need;

typedef struct {
  const wk_sched_run *run;
  const wk_sched_need *needs; /* n_needs, in any order */
  size_t n_needs;
  /* Of each command, with room for all: an earlier one that has loaded the same; itself: nobody has
   * to do it, as what it moves never left the scratchpad; NOBODY: it is to be done. NULL: all. */
  const uint32_t *instead;
  /* NULL: wk_sched_time_of. */
  wk_sched_time (*time)(const void *context, uint32_t command, int assumed);
  const void *context;
} wk_sched_what_if_job;

typedef struct {
  const char *name, *doc;
  uint64_t cycles;
} wk_sched_what_if;
enum { WK_SCHED_WHAT_IFS = 5 }; /* one of each, and all of them together */

/* Returns the cycles of the run as it is, by the list schedule; none of the others is more. */
uint64_t wk_sched_what_ifs(const wk_sched_what_if_job *job,
                           wk_sched_what_if out[WK_SCHED_WHAT_IFS]);

/* From the times of the run: a transfer keeps memory busy between the memory's answers, or for
 * `array` cycles if that is not 0; what computes, its queue for as long as the engine needs. */
wk_sched_time wk_sched_time_of(const wk_sched_run *r, uint32_t command, int assumed);

/* Adds a need for what the counts say: the last of each queue stands for those before it. */
typedef WK_VEC(wk_sched_need) wk_sched_needs;
void wk_sched_needs_add(wk_sched_needs *x, const wk_sched_numbers *numbers, uint32_t who,
                        const wk_sched_counts counts, wk_sched_why why);

/* Cycles, and what is won, of a run that has `now` cycles by the list schedule. */
void wk_sched_what_ifs_print(wk_str *b, uint64_t now,
                             const wk_sched_what_if list[WK_SCHED_WHAT_IFS]);

#endif
