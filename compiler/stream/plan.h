/* SPDX-License-Identifier: Apache-2.0
 * plan: what a schedule decides before commands exist. Operators are computed in their order, in
 * groups; a group goes through its tensors in strips of rows, each operator computing the rows that
 * the next ones need, so that what is made and used within a group never exists whole. Where
 * operators have stacks, a group or several in a row may do some stacks after the others. Tensors
 * may stay in the scratchpad from one group to a later one. */
#ifndef WICK_STREAM_PLAN_H
#define WICK_STREAM_PLAN_H

#include "compiler/stream/prefetch.h"

typedef struct {
  int first, last; /* operators */
  int strips;
  bool keeps; /* constants are loaded once, not for every strip; nor, unless it goes together with
                 other groups, for every round */
  bool alone; /* it begins when what groups before have in the scratchpad has gone, so that its own
                 buffers lie as if it were the first; but for what is resident */
  int rounds;   /* the stacks of its operators are cut into that many parts, and the strips of one
                   part come after those of the other; 0, 1: all at once */
  bool follows; /* each round of it comes right behind that of the group before, which has as
                   many */
  bool staggers; /* its stages overlap: each of a strip comes behind the one before of the next
                    strip, so that no engine waits for what another one computes meanwhile */
  bool is_brief; /* its rounds are so short that none of them stands for others (limit) */
  bool in_parts; /* it is one operator, which takes_parts, and does unless operand 0 stays */
  bool by_first; /* its strips have as many rows of its first operator each, not of its results: the
                    first strip is as short as the others, although windows need rows ahead */
} wk_sched_group;

typedef struct {
  WK_VEC(wk_sched_group) groups;
  int *resident; /* of each tensor: the last operator that finds it in the scratchpad; -1: none */
  int lasting;   /* steps: a buffer that is used for longer lies where those do that last */
  int64_t chunk; /* bytes of constants that are loaded in one go, about */
  bool marks;    /* a MARK behind every group */
  bool waits;    /* loads wait as in mode OFF, where that is faster than what the mode allows */
  int limit;     /* of every group so many rounds are built, 1 or 2, or as many more as it takes for
                    the second to be like the others; 0: all */
  int misfit;    /* no plan was found: the operator that no group with it has room for */
} wk_sched_plan;

void wk_sched_plan_free(wk_sched_plan *p);
static inline wk_sched_prefetch wk_sched_mode_of(const wk_sched_plan *p, wk_sched_prefetch mode) {
  return p->waits ? WK_PREFETCH_OFF : mode;
}

/* Groups [g, end) go round by round together. */
size_t wk_sched_together(const wk_sched_plan *p, size_t g);
/* Of a group's operators: a new one begins where they come back to an engine. */
int wk_sched_stages(const wk_sched_net *net, const wk_sched_group *g);
/* Stacks of the operator that a round of its group has. */
void wk_sched_round(const wk_sched_op *op, int rounds, int round, int64_t stacks[2]);
/* Planes that operators [first, last] use of a tensor, in the given ways, in a round of that many;
 * false: none. */
enum { WK_SCHED_WRITES = 1, WK_SCHED_READS = 2 };
bool wk_sched_planes_in(const wk_sched_net *net, int first, int last, int tensor, unsigned uses,
                        int rounds, int round, int64_t planes[2]);
/* The same operators, computed in the same way; where they stand may differ (alone, follows). */
static inline bool wk_sched_is_same_way(const wk_sched_group *a, const wk_sched_group *b) {
  return a->first == b->first && a->last == b->last && a->strips == b->strips &&
         a->rounds == b->rounds && a->keeps == b->keeps && a->staggers == b->staggers &&
         a->in_parts == b->in_parts && a->by_first == b->by_first;
}
/* Steps of groups [g0, g1), added to empty ones. Tensors that come from before or go on after them
 * are in memory unless they are resident. */
void wk_sched_build(const wk_sched_net *net, const wk_sched_plan *p, const wk_sched_use *uses,
                    size_t g0, size_t g1, wk_sched_steps *out);
/* The same; false, and not all of them, as soon as they cannot fit such a scratchpad. True: they
 * may. */
bool wk_sched_build_within(const wk_sched_net *net, const wk_sched_plan *p,
                           const wk_sched_use *uses, size_t g0, size_t g1, int64_t scratchpad,
                           wk_sched_steps *out);
/* What each step must wait for, whatever is where, and what the mode has it wait for besides;
 * without: ideas that are left out (ideas.h). */
void wk_sched_depend(const wk_sched_net *net, wk_sched_prefetch mode, unsigned without,
                     wk_sched_steps *s);

/* ---- what does not fit ----------------------------------------------------------------------- */

/* Bytes of scratchpad that the steps, or some first ones of them, need at once, whenever they
 * start: with less they do not fit, with as much they may. */
int64_t wk_sched_least_room(const wk_sched_machine *m, const wk_sched_steps *s);

/* The least scratchpad, larger than the machine's, with which `fits` is true; 0: there is none. */
typedef bool wk_sched_fits(void *ctx, int64_t scratchpad);
int64_t wk_sched_least_scratchpad(const wk_sched_machine *m, wk_sched_fits *fits, void *ctx);
/* "it needs 40000 bytes of scratchpad for one row of its result; machine 'tiny' has 16384,
 * scratchpad=65536 fits", in the arena. */
const char *wk_sched_room_reason(const wk_sched_machine *m, wk_arena *a, int64_t need,
                                 const char *what, int64_t fits);

#endif
