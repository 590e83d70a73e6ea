/* SPDX-License-Identifier: Apache-2.0
 * The search for a plan: which operators make a group, in how many strips, and what stays in the
 * scratchpad; judged by the schedule model. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/crew.h"
#include "compiler/stream/ways.h"

void wk_sched_plan_free(wk_sched_plan *p) {
  wk_vec_free(&p->groups);
  free(p->resident);
}

typedef wk_sched_searching searching;
typedef wk_sched_verdict verdict;

/* Of rows of one tensor. */
static bool share_columns(const wk_sched_net *net, const wk_sched_view *a,
                          const wk_sched_view *b) {
  int64_t own[2], others[2];
  wk_sched_columns_of(&net->tensors[a->tensor], a, own);
  wk_sched_columns_of(&net->tensors[b->tensor], b, others);
  return wk_sched_overlap(own, others);
}

static void find_ties(searching *x) {
  size_t n = x->net->n_ops;
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++) {
      const wk_sched_view *a = &x->net->ops[i].out, *b = &x->net->ops[j].out;
      if (a->tensor == b->tensor && wk_sched_overlap(a->planes, b->planes) &&
          share_columns(x->net, a, b))
        x->is_tied[a->tensor] = true;
    }
}

/* ---- what has no room ------------------------------------------------------------------------ */

typedef struct {
  const searching *x;
  int first, last;
} fitting;

static bool can_fit(void *ctx, int64_t scratchpad) {
  const fitting *f = ctx;
  wk_arena *a = wk_arena_new();
  wk_sched_net net = *f->x->net;
  wk_sched_machine m = *net.machine;
  searching x = *f->x;
  wk_sched_options o = *x.o;
  wk_sched_way ways[WK_SCHED_GUESSES];
  m.scratchpad = scratchpad;
  net.machine = &m;
  if (m.resize) m.resize(f->x->net, scratchpad, a, &net);
  o.explain = NULL;
  x.net = &net, x.o = &o;
  x.plan.chunk = wk_sched_first_chunk(&x);
  bool fits = wk_sched_best_group(&x, f->first, f->last, ways);
  wk_arena_free(a);
  return fits;
}

/* Operators [first, last] are the smallest group of operator `misfit`. */
enum { MOST_TIMES = 64 }; /* the largest scratchpad, where it is said how much there must be */

static wk_status refuse_group(searching *x, int first, int last, int misfit) {
  const wk_sched_machine *m = x->net->machine;
  fitting f = {x, first, last};
  int64_t need = m->scratchpad, fits = wk_sched_least_scratchpad(m, can_fit, &f);
  do need += need / 16; /* as exact as need be */
  while (need / MOST_TIMES < m->most_scratchpad && !can_fit(&f, need));
  if (fits && need > fits) need = fits;
  x->plan.misfit = misfit;
  return wk_error_at(WK_RESOURCE, x->net->ops[misfit].name, "%s",
                     wk_sched_room_reason(m, x->net->arena, need,
                                          first == last ? "one row of its result"
                                                        : "rows of what is computed with it",
                                          fits));
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef struct {
  bool fits;
  wk_sched_way way;
  int from;
} cut;

/* Operators before `reached` have groups; every group of the next one is too large. */
static wk_status refuse_first(searching *x, cut *const best, int reached) {
  for (int last = reached;; last++)
    for (int first = reached; first >= 0; first--)
      if (best[first].fits && wk_sched_is_group(x, first, last))
        return refuse_group(x, first, last, reached);
}

/* Operators [first, last] as one group. */
typedef struct {
  int first, last;
  atomic_int state; /* of group_states */
  wk_sched_way ways[WK_SCHED_GUESSES];
  wk_sched_explain tried; /* for it, where somebody asks */
} found_group;
enum group_states { UNKNOWN, FITS, TOO_LARGE };

/* Groups that are found before they are asked for, by their last operators up to `behind`, the
 * shortest first. */
typedef struct {
  const searching *x;
  WK_VEC(found_group) list;
  int behind;
} found_groups;

/* Where one does not fit, those that are longer are not asked for. */
static bool is_asked_for(const found_groups *l, size_t i) {
  for (size_t k = i; k-- > 0 && l->list.data[k].last == l->list.data[i].last;)
    if (atomic_load(&l->list.data[k].state) == TOO_LARGE) return false;
  return true;
}

static void find_one(void *ctx, size_t i, wk_sched_steps *steps) {
  found_groups *l = ctx;
  found_group *f = &l->list.data[i];
  searching x = *l->x;
  wk_sched_options o = *x.o;
  if (!is_asked_for(l, i)) return;
  if (o.explain) o.explain = &f->tried;
  x.o = &o, x.steps = steps;
  atomic_store(&f->state, wk_sched_best_group(&x, f->first, f->last, f->ways) ? FITS : TOO_LARGE);
}

static void forget_found(found_groups *l) {
  for (size_t i = 0; i < l->list.n; i++) wk_vec_free(&l->list.data[i].tried.list);
  l->list.n = 0;
}

static int longest(const searching *x) {
  return wk_sched_leaves_out(x, WK_SCHED_FUSION) ? 1 : wk_sched_efforts[x->o->effort].longest;
}

/* Groups whose last operator is the next one, or some behind it; best: what operators before are
 * reached by. One thread finds each when it is asked for. */
static void find_ahead(found_groups *l, const cut *best) {
  enum { AHEAD = 32 };
  int begin = l->behind, n = (int)l->x->net->n_ops;
  forget_found(l);
  l->behind = begin + AHEAD < n ? begin + AHEAD : n;
  for (int last = begin; last < l->behind && wk_sched_beside(l->x) > 1; last++)
    for (int a = last, tried = 0; a >= 0 && tried < longest(l->x); a--) {
      if ((a <= begin && !best[a].fits) || !wk_sched_is_group(l->x, a, last)) continue;
      tried++;
      wk_vec_push(&l->list, ((found_group){.first = a, .last = last}));
    }
  wk_sched_do(l->x, find_one, l, l->list.n);
}

/* wk_sched_best_group, unless it is found already. */
static bool find_group(found_groups *l, int first, int last, wk_sched_way best[WK_SCHED_GUESSES]) {
  const searching *x = l->x;
  size_t i = 0;
  while (i < l->list.n && (l->list.data[i].first != first || l->list.data[i].last != last)) i++;
  const found_group *f = i < l->list.n ? &l->list.data[i] : NULL;
  if (!f || atomic_load(&f->state) == UNKNOWN) return wk_sched_best_group(x, first, last, best);
  for (size_t k = 0; k < f->tried.list.n; k++)
    wk_vec_push(&x->o->explain->list, f->tried.list.data[k]);
  memcpy(best, f->ways, sizeof f->ways);
  return atomic_load(&f->state) == FITS;
}

/* For every number of operators the cheapest groups that they fall into, for each guess. The number
 * that could be reached. */
static int find_cuts(const searching *x, cut *best[WK_SCHED_GUESSES]) {
  int n = (int)x->net->n_ops, reached = 0;
  found_groups found = {.x = x};
  for (int k = 0; k < wk_sched_guesses(x); k++) best[k][0].fits = true;
  for (int i = 1; i <= n; i++) {
    if (i > found.behind) find_ahead(&found, best[0]);
    for (int a = i - 1, tried = 0; a >= 0 && tried < longest(x); a--) {
      wk_sched_way ways[WK_SCHED_GUESSES];
      if (!best[0][a].fits || !wk_sched_is_group(x, a, i - 1)) continue;
      tried++;
      if (!find_group(&found, a, i - 1, ways)) break;
      for (int k = 0; k < wk_sched_guesses(x); k++) {
        cut *c = &best[k][i];
        ways[k].cost += best[k][a].way.cost;
        if (!c->fits || ways[k].cost < c->way.cost) *c = (cut){true, ways[k], a};
      }
    }
    if (best[0][i].fits) reached = i;
  }
  forget_found(&found);
  wk_vec_free(&found.list);
  return reached;
}

static void take_groups(const searching *x, const cut *best, wk_sched_plan *p) {
  p->groups.n = 0;
  for (int i = (int)x->net->n_ops; i > 0; i = best[i].from)
    wk_vec_push(&p->groups, best[i].way.group);
  for (size_t i = 0, j = p->groups.n; i + 1 < j; i++) {
    wk_sched_group t = p->groups.data[i];
    p->groups.data[i] = p->groups.data[--j];
    p->groups.data[j] = t;
  }
  for (size_t i = 1; i < p->groups.n && p->limit == 1; i++)
    p->groups.data[i].follows = wk_sched_can_follow(x, p, i);
}

/* Plans that the guesses lead to, as far as they are judged for what lasts in the first of them. */
static void judge_guesses_ahead(const searching *x, const wk_sched_plan plans[WK_SCHED_GUESSES]) {
  wk_sched_run runs[WK_SCHED_GUESSES];
  size_t n = 0;
  for (int k = 0; k < wk_sched_guesses(x); k++)
    if (wk_sched_is_long(&plans[k])) runs[n++] = (wk_sched_run){&plans[k], 0, plans[k].groups.n};
  wk_sched_judge_ahead(x, runs, n);
}

/* Of the groups that the guesses lead to, those that are fastest one after the other; in a long
 * plan whatever lasts there. */
static void choose_groups(searching *x, cut *const best[WK_SCHED_GUESSES]) {
  wk_sched_plan plans[WK_SCHED_GUESSES];
  verdict least = {.fits = false};
  x->guess = 0;
  for (int k = 0; k < wk_sched_guesses(x); k++) {
    plans[k] = x->plan;
    take_groups(x, best[k], &plans[k]);
  }
  judge_guesses_ahead(x, plans);
  for (int k = 0; k < wk_sched_guesses(x); k++) {
    wk_sched_plan *p = &plans[k];
    verdict v = wk_sched_is_long(p) ? wk_sched_judge(x, p, 0, p->groups.n)
                                    : wk_sched_find_lasting(x, p);
    if (v.fits && (!least.fits || v.cycles < least.cycles)) least = v, x->guess = k;
  }
  x->plan.groups = plans[x->guess].groups;
  for (int k = 0; k < wk_sched_guesses(x); k++)
    if (k != x->guess) wk_vec_free(&plans[k].groups);
  (void)wk_sched_find_lasting(x, &x->plan);
}

static wk_status find_groups(searching *x) {
  size_t n = x->net->n_ops;
  cut *best[WK_SCHED_GUESSES];
  for (int k = 0; k < wk_sched_guesses(x); k++) best[k] = wk_xcalloc(n + 1, sizeof **best);
  int reached = find_cuts(x, best);
  wk_status s = NULL;
  if (!best[0][n].fits && x->is_other) s = wk_error(WK_RESOURCE, "there are no such groups");
  else if (!best[0][n].fits) s = refuse_first(x, best[0], reached);
  else if (!x->o->effort) take_groups(x, best[0], &x->plan);
  else choose_groups(x, best);
  for (int k = 0; k < wk_sched_guesses(x); k++) free(best[k]);
  return s;
}

/* ---- all ------------------------------------------------------------------------------------- */

static wk_status search_groups(searching *x) {
  x->plan.resident = wk_xcalloc(x->net->n_tensors, sizeof *x->plan.resident);
  x->plan.lasting = WK_SCHED_LASTING;
  x->plan.marks = x->o->marks;
  x->plan.chunk = wk_sched_first_chunk(x);
  wk_sched_forget_residents(x);
  return find_groups(x);
}

static void search_rest(searching *x) {
  if (x->o->effort < 1) return;
  wk_sched_find_residents(x);
  wk_sched_find_chunk(x);
}

/* As a whole, by more than a part in `margin`: cycles of both, INT64_MAX where one does not fit. */
static bool is_faster(const searching *x, const searching *than, int64_t margin,
                      int64_t cycles[2]) {
  verdict v = wk_sched_judge_all(x), now = wk_sched_judge_all(than);
  cycles[0] = v.fits ? v.cycles : INT64_MAX;
  cycles[1] = now.fits ? now.cycles : INT64_MAX;
  return v.fits && cycles[0] < cycles[1] - cycles[1] / margin;
}

/* y gets the plan that is slower. */
static bool take_faster(searching *x, searching *y, int64_t margin, int64_t cycles[2]) {
  if (!is_faster(y, x, margin, cycles)) return false;
  wk_sched_plan worse = x->plan;
  x->plan = y->plan;
  x->guess = y->guess;
  y->plan = worse;
  return true;
}

/* A long plan that is slower by so much as it stands will not be the faster one for what stays. */
static bool is_hopeless(const searching *x, const searching *than) {
  enum { SLOWER = 8 };
  int64_t cycles[2];
  return wk_sched_is_long(&x->plan) && !is_faster(x, than, INT64_MAX, cycles) &&
         cycles[0] - cycles[1] > cycles[1] / SLOWER;
}

static int by_last(const void *a, const void *b) {
  const wk_sched_candidate *x = a, *y = b;
  if (x->group.last != y->group.last) return x->group.last < y->group.last ? -1 : 1;
  if (x->group.first != y->group.first) return x->group.first > y->group.first ? -1 : 1;
  if (x->group.staggers != y->group.staggers) return x->group.staggers ? 1 : -1;
  if (x->group.in_parts != y->group.in_parts) return x->group.in_parts ? 1 : -1;
  if (x->group.by_first != y->group.by_first) return x->group.by_first ? 1 : -1;
  if (x->group.rounds != y->group.rounds) return x->group.rounds < y->group.rounds ? -1 : 1;
  return (x->group.strips > y->group.strips) - (x->group.strips < y->group.strips);
}

/* Groups that other searches have found, and the local one has made, are candidates, too. */
static void record_plan(const searching *x) {
  wk_sched_explain *e = x->o->explain;
  if (!e) return;
  for (size_t i = 0; i < x->plan.groups.n; i++) {
    const wk_sched_group *g = &x->plan.groups.data[i];
    bool has_it = false;
    for (size_t k = 0; k < e->list.n && !has_it; k++)
      has_it = wk_sched_is_same_way(&e->list.data[k].group, g);
    if (has_it) continue;
    verdict v = wk_sched_judge_group(x, g);
    wk_sched_record(x, g, &v);
  }
  qsort(e->list.data, e->list.n, sizeof *e->list.data, by_last);
}

/* What is explained is what the chosen guess adds up. */
static void explain_guess(const searching *x) {
  for (size_t i = 0; x->o->explain && i < x->o->explain->list.n; i++) {
    wk_sched_candidate *c = &x->o->explain->list.data[i];
    c->cost = wk_sched_cost(x, &(verdict){.most = c->most, .cycles = c->cycles}, x->guess);
  }
}

/* Searches that leave something out may find groups that are better once they follow one another:
 * all are judged as a whole, and the best ones are improved. Those of the first round alone lead to
 * plans that do all of it for some stacks, and then for others. */
typedef struct {
  unsigned without;
  bool is_first;
} other_search;
static const other_search others[] = {
    {0, true}, {WK_SCHED_STAGGER, false}, {WK_SCHED_STACKS, false},
    {WK_SCHED_FUSION, false}, {WK_SCHED_FUSION, true}};

/* It may be the faster one once it is improved. */
static bool is_near(const searching *x, const searching *than) {
  enum { SLOWER = 64 };
  int64_t cycles[2];
  return is_faster(x, than, INT64_MAX, cycles) || cycles[0] - cycles[1] < cycles[1] / SLOWER;
}

enum { SOME = 60 }; /* operators more than there are, for the local search */

/* Steps that a local search may judge. */
static int64_t steps_of(const searching *x) {
  return (int64_t)1000 * wk_sched_efforts[x->o->effort].steps;
}

static void improve(searching *x) {
  int most = wk_sched_efforts[x->o->effort].most;
  int tries = wk_sched_efforts[x->o->effort].tries * ((int)x->net->n_ops + SOME);
  if (wk_sched_leaves_out(x, WK_SCHED_LOCAL_SEARCH)) return;
  if (tries > most) tries = most;
  wk_sched_improve(x, tries, steps_of(x));
}

/* One of them. */
typedef struct {
  searching y;
  wk_sched_options o;
  wk_status failed;
  bool is_begun;
} other;

/* As far as it does not depend on what has been found. */
static void begin_other(const searching *x, const other_search *how, other *z) {
  z->o = *x->o;
  z->o.without |= how->without;
  z->o.explain = NULL;
  z->y = *x;
  z->y.o = &z->o;
  z->y.is_other = true;
  z->y.plan = (wk_sched_plan){.limit = how->is_first ? 1 : x->plan.limit};
  z->failed = search_groups(&z->y); /* then what has been found stays */
  z->is_begun = true;
  if (z->failed || how->without & WK_SCHED_FUSION) return;
  search_rest(&z->y);
  (void)wk_sched_judge_all(&z->y); /* whoever compares it will ask for that */
}

static void free_other(other *z) {
  wk_status_free(z->failed);
  wk_sched_plan_free(&z->y.plan);
}

/* What comes out of a search for plans without groups, and of the one for groups. */
static void explain_single(wk_sched_explain *e, const other_search *how, const int64_t cycles[2]) {
  if (!(how->without & WK_SCHED_FUSION)) return;
  e->single = cycles[0];
  if (!e->grouped) e->grouped = cycles[1];
}

static void search_other(searching *x, const other_search *how, other *z) {
  searching *y = &z->y;
  bool is_single = how->without & WK_SCHED_FUSION;
  int64_t cycles[2] = {0}, margin = is_single ? wk_sched_modes[x->o->prefetch].margin : INT64_MAX;
  if (!z->is_begun) begin_other(x, how, z);
  y->steps = x->steps;
  if (z->failed || (is_single && is_hopeless(y, x))) return;
  if (is_single) search_rest(y);
  if ((how->is_first || how->without & WK_SCHED_STACKS) && is_near(y, x)) improve(y);
  y->plan.limit = x->plan.limit;
  if (how->is_first) {
    wk_sched_find_residents_again(y);
    wk_sched_find_followers(y);
  }
  if (!take_faster(x, y, margin, cycles)) return;
  if (x->o->explain) explain_single(x->o->explain, how, cycles);
}

static bool is_staggered(const wk_sched_plan *p) {
  for (size_t g = 0; g < p->groups.n; g++)
    if (p->groups.data[g].staggers) return true;
  return false;
}

/* Unless it leaves out what no plan has. Rounds of whole stacks are found anew by searches of the
 * first round; one without them would take long. */
static bool is_wanted(const searching *x, const other_search *how) {
  bool has_whole = wk_sched_has_whole_stacks(x->net);
  return x->o->effort &&
         (!how->without || !wk_sched_leaves_out(x, how->without)) &&
         (!how->is_first || (wk_sched_tries_stacks(x) && has_whole)) &&
         (!(how->without & WK_SCHED_STACKS) || (wk_sched_tries_stacks(x) && !has_whole));
}

/* The first search, and others that are begun beside it. */
typedef struct {
  searching *x;
  searching begin; /* x, as it was */
  wk_status failed;
  atomic_bool has_failed;
  other list[WK_COUNTOF(others)];
} searches;

static void search_one(void *ctx, size_t i, wk_sched_steps *steps) {
  searches *s = ctx;
  searching begin = s->begin;
  begin.steps = steps;
  if (!i) {
    s->x->steps = steps;
    s->failed = search_groups(s->x);
    if (!s->failed) search_rest(s->x);
    atomic_store(&s->has_failed, s->failed != NULL);
    return;
  }
  const other_search *how = &others[i - 1];
  bool may_be_new = is_wanted(&begin, how) && !(how->without & WK_SCHED_STAGGER);
  if (may_be_new && !atomic_load(&s->has_failed)) begin_other(&begin, how, &s->list[i - 1]);
}

static void search_others(searching *x, searches *s) {
  for (size_t i = 0; i < WK_COUNTOF(others); i++) {
    const other_search *how = &others[i];
    bool is_new = !(how->without & WK_SCHED_STAGGER) || is_staggered(&x->plan);
    if (is_wanted(x, how) && is_new) search_other(x, how, &s->list[i]);
  }
}

/* By what all of its rounds take, where a few stood for them. */
static void improve_rounds(searching *x) {
  int few = x->plan.limit;
  x->plan.limit = 0;
  improve(x);
  x->plan.limit = few;
}

static bool has_few_rounds(const searching *x) {
  return x->plan.limit > 1 && !wk_sched_is_long(&x->plan);
}

/* The best plan, and the others that are near it. */
static void improve_finally(searching *x, searches *s) {
  improve(x);
  if (!wk_sched_leaves_out(x, WK_SCHED_LOCAL_SEARCH) && wk_sched_improve_cuts(x, steps_of(x)))
    improve(x);
  if (has_few_rounds(x)) improve_rounds(x);
  for (size_t i = 0; i < WK_COUNTOF(others) && has_few_rounds(x); i++) {
    searching *y = &s->list[i].y;
    int64_t cycles[2];
    if (!s->list[i].is_begun || s->list[i].failed || !has_few_rounds(y)) continue;
    y->steps = x->steps;
    if (!is_near(y, x)) continue;
    improve_rounds(y);
    (void)take_faster(x, y, INT64_MAX, cycles);
  }
}

static wk_status search_all(searching *x, int limit) {
  wk_sched_steps *steps = x->steps;
  x->plan = (wk_sched_plan){.limit = limit};
  searches s = {.x = x, .begin = *x};
  wk_sched_do(x, search_one, &s, wk_sched_beside(x) > 1 ? 1 + WK_COUNTOF(others) : 1);
  x->steps = steps;
  if (!s.failed) search_others(x, &s);
  if (!s.failed) improve_finally(x, &s);
  for (size_t i = 0; i < WK_COUNTOF(others); i++) free_other(&s.list[i]);
  if (s.failed) return s.failed;
  record_plan(x);
  return NULL;
}

static wk_status search_stacks(searching *x) {
  bool has_whole = wk_sched_has_whole_stacks(x->net);
  WK_TRY(search_all(x, has_whole ? 2 : 0));
  if (!has_whole || wk_sched_judge_all(x).fits) return NULL;
  wk_sched_plan_free(&x->plan);
  if (x->o->explain) x->o->explain->list.n = 0;
  return search_all(x, 0);
}

static wk_status find_plan(searching *x);

/* The plan that other options lead to, where it is faster than the own one. One of mode OFF waits
 * for all its loads, or not, whichever is faster. */
static bool take_plan_of(searching *x, wk_sched_options o) {
  searching y = *x;
  int64_t cycles[2];
  o.explain = NULL;
  y.o = &o;
  y.is_other = true;
  wk_status failed = find_plan(&y);
  bool is_taken = false, is_off = o.prefetch == WK_PREFETCH_OFF;
  y.o = x->o;
  if (!failed) {
    verdict with = wk_sched_judge_all(&y);
    y.plan.waits = is_off;
    verdict without = wk_sched_judge_all(&y);
    y.plan.waits = is_off && !wk_sched_is_better(&with, &without);
    is_taken = take_faster(x, &y, INT64_MAX, cycles);
  }
  wk_status_free(failed);
  wk_sched_plan_free(&y.plan);
  return is_taken;
}

/* A higher effort is not slower than a lower one. */
static wk_status find_plan(searching *x) {
  wk_sched_options lower = *x->o;
  WK_TRY(search_stacks(x));
  if (--lower.effort < 1 || !take_plan_of(x, lower)) return NULL;
  improve(x);
  record_plan(x);
  return NULL;
}

/* The whole search. */
typedef struct {
  searching x;
  wk_status failed;
} whole_search;

static void search(void *ctx, wk_sched_crew *crew, wk_sched_steps *steps) {
  whole_search *s = ctx;
  searching *x = &s->x;
  x->crew = crew, x->steps = steps;
  s->failed = find_plan(x);
  wk_sched_options off = *x->o;
  off.prefetch = WK_PREFETCH_OFF;
  if (!s->failed && x->o->prefetch == WK_PREFETCH_DOUBLE) (void)take_plan_of(x, off);
}

wk_status wk_sched_search(const wk_sched_net *net, const wk_sched_use *uses,
                          const wk_sched_options *o, wk_sched_plan *out) {
  whole_search s = {.x = {.net = net, .uses = uses, .o = o}};
  searching *x = &s.x;
  x->looks = wk_sched_looks_new(net);
  x->verdicts = o->plans ? wk_sched_verdicts_of(o->plans) : wk_sched_verdicts_new();
  wk_assert(wk_sched_modes[o->prefetch].guesses);
  x->is_tied = wk_xcalloc(net->n_tensors, sizeof *x->is_tied);
  find_ties(x);
  wk_sched_with_crew(o->threads, search, &s);
  explain_guess(x);
  x->plan.limit = 0;
  *out = x->plan;
  free(x->is_tied);
  wk_sched_looks_free(x->looks);
  if (!o->plans) wk_sched_verdicts_free(x->verdicts);
  return s.failed;
}
