/* SPDX-License-Identifier: Apache-2.0
 * causes: why a run took as long as it did, or a schedule would take. Every cycle belongs to a
 * command (charge.h). One in which something computes is its layer's, by what the engine needs. One
 * in which nothing computes is walked back from the command that starts next, through the
 * retirement that released it, to the transfer that it waits for, and through the memory's idle
 * times before that to what held transfers back. What runs behind compute is not charged: it costs
 * nothing.
 *
 * Of a schedule, without a run: spans.h; or a span of each command with the times that a model has
 * for it, wk_sched_find_releases with what commands wait for, and wk_sched_causes_of. */
#ifndef WICK_STREAM_CAUSES_H
#define WICK_STREAM_CAUSES_H

#include "compiler/stream/charge.h"

/* X(name, what the cycles went to, what is waited for) */
#define WK_CAUSES_OF_ENGINES(X)                                                            \
  X(compute, "the first engine works", "compute")                                          \
  X(drain, "results leave the first engine more slowly than it makes them", "the drain")   \
  X(conflicts, "the first engine stands still behind its commands", "conflicts")           \
  X(vector, "another engine works, and the first one waits for it or has nothing to do",   \
    "other engines")
#define WK_CAUSES_OF_WAITS(X)                                                                  \
  X(bandwidth, "memory moves data as fast as it can", "memory bandwidth")                      \
  X(latency, "memory has not answered yet, and no transfer is under way behind which to hide", \
    "the memory's latency")                                                                    \
  X(space, "a load began late: its place in the scratchpad was in use", "scratchpad space")    \
  X(order, "a transfer began late: behind a store that it reads, or other commands",           \
    "commands before them")                                                                    \
  X(dispatch, "commands are fetched, handed out and taken", "dispatch")

typedef enum {
#define WK_X(name, ...) WK_CAUSE_##name,
  WK_CAUSES_OF_ENGINES(WK_X) WK_CAUSES_OF_WAITS(WK_X)
#undef WK_X
  WK_CAUSE_COUNT
} wk_sched_cause;

typedef struct {
  const char *name, *doc, *wait;
} wk_sched_cause_info;
extern const wk_sched_cause_info wk_sched_cause_infos[WK_CAUSE_COUNT];

typedef struct {
  wk_sched_cause cause;
  wk_sched_moved moved; /* of waits for transfers; else NOTHING */
  uint32_t operator;
  uint64_t cycles;
} wk_sched_cause_row;

typedef struct {
  uint64_t cycles[WK_CAUSE_COUNT]; /* sum: those of the run */
  uint64_t exposed;                /* of them, what is waited: from bandwidth on */
  WK_VEC(wk_sched_cause_row) rows; /* the largest first */
} wk_sched_causes;

/* Commands that have run to the end, or are expected to. */
typedef struct {
  const wk_sched_queues *queues;
  const wk_sched_span *spans; /* n, those of a queue in its order */
  uint32_t n;
  uint64_t cycles;
  uint64_t read_latency, write_latency; /* until memory sends its first byte; answers the last */
  /* The load brings back what the store has put into memory; NULL: no load does. */
  bool (*reads_back)(const void *context, uint32_t load, uint32_t store);
  const void *context;
} wk_sched_run;

/* Of commands that are there, whether they have run or not. */
void wk_sched_numbers_of(const wk_sched_span *spans, uint32_t n, wk_sched_numbers *x);
void wk_sched_numbers_free(wk_sched_numbers *x);
/* Sets released_by of all spans that have run. waits: of each command, how many of the first
 * commands of each queue must have retired. */
void wk_sched_find_releases(wk_sched_span *spans, uint32_t n, wk_sched_counts *waits);

void wk_sched_causes_of(const wk_sched_run *r, wk_sched_causes *out);
void wk_sched_causes_free(wk_sched_causes *c);

/* ---- output ---------------------------------------------------------------------------------- */

/* "weights of conv1 wait for scratchpad space"; of a row of waits, in the arena. */
const char *wk_sched_wait_text(wk_arena *a, const wk_sched_cause_row *r, const char *operator);
/* Causes with their cycles and shares, then the largest waits. names: of operators 1 .. n_names, or
 * NULL: they are numbers. */
void wk_sched_causes_print(wk_str *b, const wk_sched_causes *c, const char *const *names,
                           uint32_t n_names);

#endif
