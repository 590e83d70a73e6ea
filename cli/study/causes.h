/* SPDX-License-Identifier: Apache-2.0
 * Why a run took as long as it did. Every cycle belongs to a command, as in the
 * table of layers (targets/accel/isa/charge.h). One in which ex or ve runs is its layer's, by what
 * the engine needs. One in which nothing computes is walked back from the command that starts next,
 * through the retirement that released it, to the transfer that it waits for, and through the
 * memory's idle times before that to what held transfers back. What runs behind compute is not
 * charged: it costs nothing. */
#ifndef WICK_CLI_STUDY_CAUSES_H
#define WICK_CLI_STUDY_CAUSES_H

#include "cli/study/sim.h"

/* name, what the cycles went to */
#define WK_CAUSES(X)                                                                           \
  X(compute, "the array multiplies")                                                           \
  X(drain, "results leave the accumulators more slowly than they are made")                    \
  X(conflicts, "the array stands still behind its commands: they begin and end, or banks")     \
  X(vector, "the vector unit works, and the array waits for it or has nothing to do")          \
  X(bandwidth, "memory moves data as fast as it can")                                          \
  X(latency, "memory has not answered yet, and no transfer is under way behind which to hide") \
  X(space, "a load began late: its place in the scratchpad was in use")                        \
  X(order, "a transfer began late: behind a store that it reads, or other commands")           \
  X(dispatch, "commands are fetched, handed out and taken")

typedef enum {
#define WK_X(name, doc) WK_CAUSE_##name,
  WK_CAUSES(WK_X)
#undef WK_X
  WK_CAUSE_COUNT
} wk_cause;

/* Transfers alone are told apart. */
typedef enum { WK_MOVED_NOTHING, WK_MOVED_WEIGHTS, WK_MOVED_INPUTS, WK_MOVED_RESULTS } wk_moved;

typedef struct {
  wk_cause cause;
  wk_moved moved;
  uint32_t operator;
  uint64_t cycles;
} wk_cause_row;

typedef struct {
  uint64_t cycles[WK_CAUSE_COUNT]; /* sum: those of the run */
  uint64_t exposed;                /* what is neither compute, drain, conflicts nor vector */
  WK_VEC(wk_cause_row) rows;       /* the largest first */
} wk_causes;

/* x: a run with time, to its end. */
void wk_causes_of(const wk_sim_shown *x, wk_causes *out);
void wk_causes_free(wk_causes *c);

extern const struct wk_cause_info {
  const char *name, *doc;
} wk_cause_infos[WK_CAUSE_COUNT];

/* ---- of commands ----------------------------------------------------------------------------- */

/* Of each command, whether it loads weights or parameters; free(). */
bool *wk_weights_of(const wk_sim_shown *x);
/* All of them; *n: those before END. free() */
wk_isa_command *wk_commands_of(const wk_stream *s, uint32_t *n);

/* ---- what if --------------------------------------------------------------------------------- */

typedef struct {
  const char *name, *doc;
  uint64_t cycles; /* by the timing model, of the same stream */
} wk_what_if;

/* One assumption each (what_if.h), and all of them together: what is computed then is wrong, when
 * is right. */
enum { WK_WHAT_IFS = 6 };
extern const struct wk_what_if_info {
  const char *name, *doc;
  wk_cause cause; /* that it removes; WK_CAUSE_COUNT: more than one */
  int assumed;    /* of what_if.h */
} wk_what_if_infos[WK_WHAT_IFS];
void wk_what_ifs_of(const wk_sim_shown *x, wk_what_if out[WK_WHAT_IFS]);
/* The what-if in which a cause is not; NULL: there is none. */
const wk_what_if *wk_what_if_without(const wk_what_if list[WK_WHAT_IFS], wk_cause cause);

/* ---- both ------------------------------------------------------------------------------------ */

typedef struct wk_sim_why {
  wk_causes causes;
  bool has_what_if;
  wk_what_if what_if[WK_WHAT_IFS];
} wk_sim_why;
void wk_sim_why_of(const wk_sim_shown *x, bool what_if, wk_sim_why *out);
void wk_sim_why_free(wk_sim_why *w);

/* ---- output ---------------------------------------------------------------------------------- */

void wk_sim_print_why(FILE *f, const wk_sim_shown *x, const wk_sim_why *w);

#endif
