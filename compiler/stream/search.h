/* SPDX-License-Identifier: Apache-2.0
 * search: which plan; judged by the schedule model. */
#ifndef WICK_STREAM_SEARCH_H
#define WICK_STREAM_SEARCH_H

#include "compiler/stream/explain.h"
#include "compiler/stream/ideas.h"
#include "compiler/stream/schedule.h"

typedef struct wk_sched_plans wk_sched_plans;

typedef struct {
  wk_sched_prefetch prefetch;
  int effort;       /* 0 … 3: of the search */
  bool marks;       /* a mark behind every group */
  unsigned without; /* ideas that are left out (ideas.h) */
  int threads;      /* that judge plans, the caller's included; 0 is 1. More than 1: they call
                       functions of the machine at once. Plans do not depend on it */
  wk_sched_explain *explain; /* receives the candidates; NULL: nobody asks */
  wk_sched_plans *plans;     /* that were found before; NULL: none are kept */
} wk_sched_options;

/* As many threads as this process may use processors, as far as they help. */
int wk_sched_processors(void);

/* The best plan that the effort finds, in any mode but SERIAL; free it in any case. WK_RESOURCE:
 * out->misfit does not fit. */
wk_status wk_sched_search(const wk_sched_net *net, const wk_sched_use *uses,
                          const wk_sched_options *o, wk_sched_plan *out) WK_MUST_CHECK;

/* Plans of nets of one machine that have been searched: a part is judged before it is compiled, and
 * most parts come back as they were when another one has been refused. What is found in them is
 * what a search would find. */
wk_sched_plans *wk_sched_plans_new(void);
void wk_sched_plans_free(wk_sched_plans *p); /* NULL ok */
/* wk_sched_search, unless o->plans has it; for --explain it is searched again. The plan of SERIAL
 * is that of AUTO: what it shows is what running ahead is worth to that plan. */
wk_status wk_sched_find_plan(const wk_sched_net *net, const wk_sched_use *uses,
                             const wk_sched_options *o, wk_sched_plan *out) WK_MUST_CHECK;

/* Verdicts of nets of one machine: what is alike is judged once. Several threads may use them. */
typedef struct wk_sched_verdicts wk_sched_verdicts;
wk_sched_verdicts *wk_sched_verdicts_new(void);
void wk_sched_verdicts_free(wk_sched_verdicts *v); /* NULL ok */
size_t wk_sched_verdicts_known(wk_sched_verdicts *v); /* how many */
/* That searches share whose options have these plans. */
wk_sched_verdicts *wk_sched_verdicts_of(wk_sched_plans *p);
/* Adds what a verdict or a plan depends on of a tensor; of an operator, all but which tensors it
 * has. */
void wk_sched_put_tensor(wk_str *out, const wk_sched_tensor *t);
void wk_sched_put_op(wk_str *out, const wk_sched_op *op);

/* ---- all of it ------------------------------------------------------------------------------- */

/* From a net to its schedule. */
typedef struct {
  wk_sched_use *uses;
  wk_sched_plan plan;
  wk_sched_steps steps; /* placed */
  wk_sched_schedule schedule;
} wk_sched_made;

/* Tensors of the net whose home is WORK get their places. What is not `out`'s own is in the arena;
 * free it in any case. WK_RESOURCE: it does not fit. */
wk_status wk_sched_make(const wk_sched_net *net, const wk_sched_options *o, wk_arena *a,
                        wk_sched_made *out) WK_MUST_CHECK;
void wk_sched_made_free(wk_sched_made *x);
/* The operator that no plan has room for, and why, in the arena; -1: the net can be scheduled. Of
 * what fits group by group and not as a whole it is the one whose steps did not. */
int wk_sched_misfit(const wk_sched_net *net, const wk_sched_options *o, wk_arena *a,
                    const char **reason);
/* The proof (proof.h) of what was made: of bytes of the scratchpad that steps touch, where these
 * have been placed, of memory that they load and store, and that results which leave are stored.
 * For machines whose commands are not proven themselves. WK_INTERNAL: a step may start too
 * early. */
wk_status wk_sched_prove_made(const wk_sched_net *net, const wk_sched_made *x) WK_MUST_CHECK;

/* ---- within the search ----------------------------------------------------------------------- */

/* Threads that judge (crew.h). */
typedef struct wk_sched_crew wk_sched_crew;

/* What a net's operators and tensors are like. */
typedef struct wk_sched_looks wk_sched_looks;
wk_sched_looks *wk_sched_looks_new(const wk_sched_net *net);
void wk_sched_looks_free(wk_sched_looks *x); /* NULL ok */
/* Of an operator's: equal for equal ones. */
uint64_t wk_sched_look_hash(const wk_sched_looks *x, int op);

typedef struct {
  const wk_sched_net *net;
  const wk_sched_use *uses;
  const wk_sched_options *o;
  bool *is_tied; /* of each tensor: its writers write the same columns of the same planes */
  wk_sched_plan plan;
  bool is_other; /* whoever asked for it has found a plan, or asks another search */
  int guess; /* whose costs have led to the plan: wk_sched_candidate.cost is by it */
  wk_sched_crew *crew;   /* NULL: the caller alone */
  wk_sched_steps *steps; /* of the plan that is judged: its room is used again */
  wk_sched_verdicts *verdicts; /* NULL: none are kept */
  wk_sched_looks *looks;       /* of the net, where verdicts are kept */
} wk_sched_searching;

typedef struct {
  bool fits;
  double most; /* the largest of the next line */
  double busy[WK_SCHED_QUEUES], bus; /* cycles that engines and the memory are busy */
  int64_t cycles, bytes;
  int64_t steps; /* that it took to find it */
  int misfit;    /* where it does not fit: the operator of the step that has no room, counted from
                    the first one; 0: not known */
} wk_sched_verdict;

static inline bool wk_sched_leaves_out(const wk_sched_searching *x, unsigned idea) {
  return x->o->without & idea;
}

/* Groups [g0, g1) of a plan, by the schedule model, unless the verdict is known. */
wk_sched_verdict wk_sched_judge(const wk_sched_searching *x, const wk_sched_plan *p, size_t g0,
                                size_t g1);
wk_sched_verdict wk_sched_judge_anew(const wk_sched_searching *x, const wk_sched_plan *p,
                                     size_t g0, size_t g1);
/* So many groups that runs of them stand for the whole. */
bool wk_sched_is_long(const wk_sched_plan *p);
/* All groups of a plan; of a long one put together from runs of them, so that it is near what
 * wk_sched_judge finds, and need not fit where all of these do. most, busy, bus and misfit
 * are 0 then. */
wk_sched_verdict wk_sched_judge_whole(const wk_sched_searching *x, const wk_sched_plan *p);
/* Groups [*from, *to) become those and so many before and behind; groups that go together stay
 * so. */
void wk_sched_widen(const wk_sched_plan *p, size_t by, size_t *from, size_t *to);
/* It fits, and is faster than the other one, or as fast with fewer bytes. */
static inline bool wk_sched_is_better(const wk_sched_verdict *v, const wk_sched_verdict *than) {
  return v->fits && (!than->fits || v->cycles < than->cycles ||
                     (v->cycles == than->cycles && v->bytes < than->bytes));
}
/* The whole plan, every round of it. */
wk_sched_verdict wk_sched_judge_all(const wk_sched_searching *x);
/* What the search makes faster: of a plan whose first round is built alone that, else the same. */
wk_sched_verdict wk_sched_judge_goal(const wk_sched_searching *x);
/* Operators that write the same planes are in one group; so are all writers of what the group
 * reads and writes. */
bool wk_sched_is_group(const wk_sched_searching *x, int first, int last);
/* There are strips, and windows that need rows ahead of what its results do. */
bool wk_sched_may_go_by_first(const wk_sched_net *net, const wk_sched_group *g);
/* Stages of its strips may overlap. */
bool wk_sched_may_stagger(const wk_sched_searching *x, const wk_sched_group *g);
bool wk_sched_has_stacks(const wk_sched_net *net);
/* Not all of them share the pieces of their operators, and so are each as many steps again. */
bool wk_sched_has_whole_stacks(const wk_sched_net *net);
/* The search tries some stacks after the others: there are some, and they are not left out. */
static inline bool wk_sched_tries_stacks(const wk_sched_searching *x) {
  return wk_sched_has_stacks(x->net) && !wk_sched_leaves_out(x, WK_SCHED_STACKS);
}
/* Rounds that make sense: one for every stack of the operators, where what one round needs of the
 * others is nothing that it computes; else 1. */
int wk_sched_most_rounds(const wk_sched_searching *x, int first, int last);
/* Not all that operators do is to go through pieces, which they do by themselves. */
bool wk_sched_gains_by_rounds(const wk_sched_searching *x, int first, int last);
/* Group g > 0 can go round by round together with the one before. */
bool wk_sched_can_follow(const wk_sched_searching *x, const wk_sched_plan *p, size_t g);
/* Strips that make sense: at most one for every row of a result. */
int wk_sched_most_strips(const wk_sched_searching *x, int first, int last);
/* The tensor may stay in the scratchpad until operator `last`: it goes from one group of the plan
 * to a later one. */
bool wk_sched_may_stay(const wk_sched_searching *x, size_t tensor, int last);
/* The group of an operator. */
size_t wk_sched_group_of(const wk_sched_plan *p, int op);

/* Finds p->lasting: which buffers are taken for lasting ones decides how the scratchpad falls into
 * pieces. What all of the plan takes then; LASTING: to begin with. */
enum { WK_SCHED_LASTING = 48 };
wk_sched_verdict wk_sched_find_lasting(const wk_sched_searching *x, wk_sched_plan *p);
/* Finds x->plan.chunk: constants in smaller or larger pieces, once it is known what they are loaded
 * behind. */
void wk_sched_find_chunk(wk_sched_searching *x);
/* Which groups of x->plan, of those that go round by round with the one before, go on doing so. */
void wk_sched_find_followers(wk_sched_searching *x);

/* Tensors of x->plan stay from group to group where that makes it faster; none does before. */
void wk_sched_find_residents(wk_sched_searching *x);
void wk_sched_forget_residents(wk_sched_searching *x);
/* What stays was found for one round; the next one may find no room between it. */
void wk_sched_find_residents_again(wk_sched_searching *x);

/* Changes x->plan where that makes the whole faster, one thing after the other: at most `tries`,
 * until so many steps have been looked at for it, those of known verdicts as well. */
void wk_sched_improve(wk_sched_searching *x, int tries, int64_t steps);
/* Cuts groups where that is faster if what goes over the cut stays and no constants do; all cuts
 * are tried once, but those of long plans. True: it has cut some. */
bool wk_sched_improve_cuts(wk_sched_searching *x, int64_t steps);

#endif
