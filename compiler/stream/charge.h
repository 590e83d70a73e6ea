/* SPDX-License-Identifier: Apache-2.0
 * charge: whose cycles are whose, in a run or in a schedule. Every cycle belongs to one layer:
 * that of the command that runs in the first queue that computes, else in the second one, and so
 * on, else of the one of them that starts next, for which the machine waits; behind the last one,
 * of the transfer that is under way or starts next. Commands of the first engine may overlap: one
 * drains while the array works for the next. The older one has the cycles of both, as far as each
 * of those behind it keeps as many as the array needs for it. */
#ifndef WICK_STREAM_CHARGE_H
#define WICK_STREAM_CHARGE_H

#include "compiler/stream/queues.h"

#define WK_SCHED_NOT_RUN UINT64_MAX
/* What a command does, if its queue does not say so. */
typedef enum {
  WK_SCHED_WORKS, /* what its queue does: it computes, stores or loads */
  WK_SCHED_FILLS, /* of a queue that moves: it moves nothing */
  WK_SCHED_MARKS  /* nothing: no cycles are its own */
} wk_sched_kind;

typedef enum {
  WK_MOVED_NOTHING, WK_MOVED_WEIGHTS, WK_MOVED_INPUTS, WK_MOVED_RESULTS
} wk_sched_moved;

/* A command that has run, or is expected to. Those of a queue start and retire in order. */
typedef struct {
  uint64_t start, retire; /* cycles; WK_SCHED_NOT_RUN */
  uint32_t released_by;   /* command whose retirement let this one start, or WK_SCHED_NOBODY */
  uint32_t operator;      /* 0: of none */
  uint8_t queue, opcode;  /* opcode: the machine's own; nothing here depends on it */
  uint8_t kind, moved;    /* moved: of a transfer; NOTHING: by its queue, inputs or results */
  uint64_t array, drain;  /* of the first engine: cycles that it needs for it, its neighbours
                             overlapped, and its results on their way out; of a transfer, array: of
                             memory for its bytes. Array 0: all of them */
} wk_sched_span;

static inline bool wk_sched_has_run(const wk_sched_span *s) {
  return s->start != WK_SCHED_NOT_RUN && s->retire != WK_SCHED_NOT_RUN;
}

/* ---- whose cycles ---------------------------------------------------------------------------- */

typedef struct {
  uint64_t cycles;
  uint64_t transfers;  /* of them, those in which one is under way */
  uint64_t overlapped; /* of these, those in which a command computes */
} wk_sched_charge;

/* Adds `cycles` cycles to out[0 .. layers], by operator; 0 is what belongs to none. Linear in n.
 * WK_RESOURCE: no memory. */
wk_status wk_sched_charge_cycles(const wk_sched_queues *queues, const wk_sched_span *spans,
                                 size_t n, uint64_t cycles, uint32_t layers,
                                 wk_sched_charge *out) WK_MUST_CHECK;

/* Cycles [from, to) are those of span `owner`, which may start at `to` or later; WK_SCHED_NOBODY:
 * there is none any more. Transfers and compute: something of the kind is under way. */
typedef void wk_sched_visit(void *context, uint64_t from, uint64_t to, uint32_t owner,
                            bool transfers, bool computes);
/* All cycles in the order of time, by the rule above. Spans that have not run are nobody's. */
wk_status wk_sched_charge_walk(const wk_sched_queues *queues, const wk_sched_span *spans, size_t n,
                               uint64_t cycles, wk_sched_visit *visit,
                               void *context) WK_MUST_CHECK;

/* ---- who released whom ----------------------------------------------------------------------- */

/* The commands of each queue, in its order. */
typedef struct {
  uint32_t *of[WK_SCHED_QUEUES];
  wk_sched_counts n;
} wk_sched_numbers;

/* Of command of[queue][ordinal]: the one of those that it waits for which retired last, if the
 * queue stood still because of it, since the command before in the queue had started by then. */
uint32_t wk_sched_released_by(const wk_sched_span *spans, const wk_sched_numbers *x, int queue,
                              uint32_t ordinal, const wk_sched_counts waits);

#endif
