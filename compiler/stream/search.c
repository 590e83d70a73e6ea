/* SPDX-License-Identifier: Apache-2.0
 * The search for a plan: which operators make a group, in how many strips, and what stays in the
 * scratchpad; judged by the schedule model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/search.h"

void wk_sched_plan_free(wk_sched_plan *p) {
  wk_vec_free(&p->groups);
  free(p->resident);
}

typedef wk_sched_searching searching;
typedef wk_sched_verdict verdict;

/* ---- what a group may be --------------------------------------------------------------------- */

static void find_ties(searching *x) {
  size_t n = x->net->n_ops;
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++) {
      const wk_sched_view *a = &x->net->ops[i].out, *b = &x->net->ops[j].out;
      if (a->tensor == b->tensor && wk_sched_overlap(a->planes, b->planes))
        x->is_tied[a->tensor] = true;
    }
}

static bool within(int i, int first, int last) { return i >= first && i <= last; }

bool wk_sched_is_group(const searching *x, int first, int last) {
  for (size_t t = 0; t < x->net->n_tensors; t++) {
    const wk_sched_use *u = &x->uses[t];
    if (u->first_writer < 0 || u->first_writer == u->last_writer) continue;
    bool all = within(u->first_writer, first, last) && within(u->last_writer, first, last);
    bool is_written = false, is_read = false;
    for (int i = first; i <= last && !all; i++) {
      const wk_sched_op *op = &x->net->ops[i];
      is_written = is_written || op->out.tensor == (int)t;
      for (int k = 0; k < WK_SCHED_OPERANDS; k++)
        is_read = is_read || op->in[k].tensor == (int)t;
    }
    if (is_written && (is_read || x->is_tied[t])) return false;
  }
  return true;
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* What a mode's search goes by. unhidden: how much of what a group by itself does not hide its
 * neighbours will not hide either. Where they may, that is not known, so groups are found with each
 * of some guesses, and judged as a whole; more: of each group, for what its neighbours are kept
 * from. Where a group waits for those before, it is all. pieces: constants are loaded in pieces of
 * the scratchpad divided by that, to begin with: small ones where loads run beside what computes,
 * few where each is waited for. margin: a plan without groups has more commands and more bytes, of
 * which the schedule model is less sure the more they run side by side: it is taken where it is
 * faster by more than a part in that. */
enum { GUESSES = 4 };
static const struct {
  int guesses, pieces, margin;
  double unhidden[GUESSES], more;
} modes[WK_PREFETCH_COUNT] = {
    [WK_PREFETCH_OFF] = {1, 8, 32, {1}, 0},
    [WK_PREFETCH_DOUBLE] = {1, 32, 32, {1}, 0},
    [WK_PREFETCH_AUTO] = {GUESSES, 32, 16, {0.25, 0.125, 0.5, 1}, 100},
};

static double cost_of(const searching *x, const verdict *v, int guess) {
  wk_sched_prefetch mode = x->o->prefetch;
  return v->most + modes[mode].unhidden[guess] * ((double)v->cycles - v->most) + modes[mode].more;
}

static int guesses(const searching *x) { return modes[x->o->prefetch].guesses; }

/* Of the first steps: when they have retired; cycles of queues' own work, and until when it is. */
typedef struct {
  size_t n;
  int64_t end, busy[WK_SCHED_QUEUES], last[WK_SCHED_QUEUES];
} progress;

static void go_on(progress *p, const wk_sched_steps *s, const wk_sched_times *t, size_t n) {
  for (; p->n < n; p->n++) {
    int q = s->list.data[p->n].queue;
    int64_t from = t->start[p->n], retire = t->retire[p->n];
    if (from < p->last[q]) from = p->last[q];
    if (retire > from) p->busy[q] += retire - from, p->last[q] = retire;
    if (p->end < retire) p->end = retire;
  }
}

/* Cycles, bytes and work of all rounds: those that were not built are like the second one. */
static void add_up(const wk_sched_steps *s, const wk_sched_times *t, verdict *v,
                   int64_t busy[WK_SCHED_QUEUES]) {
  progress p = {0};
  v->cycles = t->cycles;
  v->bytes = s->loaded + s->stored;
  memset(busy, 0, WK_SCHED_QUEUES * sizeof *busy);
  for (size_t i = 0; i < s->rounds.n; i++) {
    const wk_sched_round_steps *r = &s->rounds.data[i];
    go_on(&p, s, t, r->end[0]);
    const progress first = p;
    go_on(&p, s, t, r->end[1]);
    v->cycles += r->more * (p.end - first.end);
    v->bytes += r->more * (r->bytes[1] - r->bytes[0]);
    for (int q = 0; q < WK_SCHED_QUEUES; q++) busy[q] += r->more * (p.busy[q] - first.busy[q]);
  }
  go_on(&p, s, t, s->list.n);
  for (int q = 0; q < WK_SCHED_QUEUES; q++) busy[q] += p.busy[q];
}

/* Of the steps as far as they were built: the layer of the one that has no room. */
static verdict misfit(const searching *x, const wk_sched_group *first, size_t failed) {
  const wk_sched_steps *s = x->steps;
  verdict v = {.steps = (int64_t)s->list.n};
  if (failed < s->list.n && s->list.data[failed].layer)
    v.misfit = (int)(s->list.data[failed].layer - 1 - x->net->ops[first->first].layer);
  return v;
}

static verdict sum_up(const searching *x, const wk_sched_times *t) {
  const wk_sched_machine *m = x->net->machine;
  verdict v = {.fits = true, .steps = (int64_t)x->steps->list.n};
  int64_t work[WK_SCHED_QUEUES];
  add_up(x->steps, t, &v, work);
  v.most = v.bus = (double)v.bytes * (double)m->bytes_den / (double)m->bytes_num;
  for (int q = 0; q < m->queues.n; q++) {
    if (!wk_sched_in(m->queues.computes, q)) continue;
    v.busy[q] = (double)work[q];
    if (v.busy[q] > v.most) v.most = v.busy[q];
  }
  v.cost = cost_of(x, &v, 0);
  return v;
}

verdict wk_sched_judge_anew(const searching *x, const wk_sched_plan *p, size_t g0, size_t g1) {
  wk_sched_steps *s = x->steps;
  wk_sched_times t;
  int64_t room = x->net->machine->scratchpad;
  const wk_sched_group *first = &p->groups.data[g0];
  wk_sched_steps_clear(s, x->net);
  if (!wk_sched_build_within(x->net, p, x->uses, g0, g1, room, s))
    return misfit(x, first, s->list.n - 1);
  wk_sched_depend(x->net, x->o->prefetch, x->o->without, s);
  wk_arena *a = wk_arena_new();
  bool fits = wk_sched_simulate(x->net, s, room, x->o->prefetch, a, &t);
  verdict v = fits ? sum_up(x, &t) : misfit(x, first, t.failed);
  wk_arena_free(a);
  return v;
}

static verdict judge_group(const searching *x, const wk_sched_group *g) {
  wk_sched_plan p = x->plan;
  p.groups.data = (wk_sched_group *)(uintptr_t)g;
  p.groups.n = 1;
  return wk_sched_judge(x, &p, 0, 1);
}

static void record(const searching *x, const wk_sched_group *g, const verdict *v) {
  wk_sched_candidate c = {.group = *g, .fits = v->fits, .cycles = v->cycles, .bytes = v->bytes,
                          .bus = (int64_t)v->bus, .most = v->most, .cost = v->cost};
  for (int q = 0; q < WK_SCHED_QUEUES; q++) c.busy[q] = (int64_t)v->busy[q];
  if (x->o->explain) wk_vec_push(&x->o->explain->list, c);
}

bool wk_sched_may_stagger(const searching *x, const wk_sched_group *g) {
  bool overlaps = g->strips > 1 || (g->rounds > 1 && x->plan.limit != 1);
  return overlaps && !wk_sched_leaves_out(x, WK_SCHED_STAGGER) &&
         wk_sched_stages(x->net, g) > 1;
}

int wk_sched_most_strips(const searching *x, int first, int last) {
  int64_t rows = 1;
  for (int i = first; i <= last; i++) {
    int64_t r = x->net->tensors[x->net->ops[i].out.tensor].rows;
    if (r > rows) rows = r;
  }
  return (int)rows;
}

/* What an effort allows: operators of a group, more strips that are tried although they were no
 * better, how fast their number grows, and of the local search: changes that are tried for each
 * operator, as if there were SOME more, and all together at most; thousands of steps in the plans
 * that are judged for it. */
enum { SOME = 60 };
static const struct {
  int longest, worse, step, tries, most, steps;
} efforts[] = {{3, 1, 1, 0, 0, 0},
               {6, 3, 3, 4, 400, 2000},
               {8, 4, 4, 6, 1500, 20000},
               {12, 6, 6, 10, 4000, 100000}};

static int next_strips(int s, int step) { return s < step + 1 ? s + 1 : s + wk_ceil_div(s, step); }

/* A way to compute operators as one group. */
typedef struct {
  double cost;
  wk_sched_group group;
} way;

/* Cycles of a round that begins before the one before it has got far. */
enum { SHORT_ROUND = 4096 };

/* The group's cost by the first guess; infinite where it does not fit. */
static double try_group(const searching *x, wk_sched_group *g, bool *fits, way best[GUESSES]) {
  g->is_brief = false;
  verdict v = judge_group(x, g);
  int rounds = x->plan.limit == 1 ? 1 : g->rounds;
  g->is_brief = v.fits && v.cycles < (int64_t)SHORT_ROUND * rounds;
  if (g->is_brief && x->plan.limit > 1 && g->rounds > 2) v = judge_group(x, g);
  record(x, g, &v);
  if (!v.fits) return INFINITY;
  for (int k = 0; k < guesses(x); k++)
    if (!*fits || cost_of(x, &v, k) < best[k].cost) best[k] = (way){cost_of(x, &v, k), *g};
  *fits = true;
  return v.cost;
}

/* The one operator takes its operand in parts, in as many strips as its result has room for. */
static void try_parts(const searching *x, int op, bool *fits, way best[GUESSES]) {
  int most = x->net->ops[op].takes_parts ? wk_sched_most_strips(x, op, op) : 0;
  double least = INFINITY;
  for (int s = 1; s <= most; s *= 2) {
    wk_sched_group g = {.first = op, .last = op, .strips = s, .rounds = 1, .in_parts = true};
    double cost = try_group(x, &g, fits, best);
    if (cost >= least && least < (double)INFINITY) break;
    least = cost;
  }
}

static void try_strips(const searching *x, int first, int last, int rounds, bool *fits,
                       way best[GUESSES]) {
  int most = wk_sched_most_strips(x, first, last), worse = 0, next, strips = 0;
  int step = efforts[x->o->effort].step;
  double least = INFINITY; /* with these rounds, in so many strips */
  for (int s = 1; s <= most && worse < efforts[x->o->effort].worse; s = next) {
    next = next_strips(s, step);
    if (next > most && s < most) next = most;
    for (int keeps = s > 1 || (rounds > 1 && x->plan.limit != 1); keeps >= 0; keeps--) {
      wk_sched_group g = {.first = first, .last = last, .strips = s, .rounds = rounds,
                          .keeps = keeps};
      double cost = try_group(x, &g, fits, best);
      g.staggers = wk_sched_may_stagger(x, &g);
      if (g.staggers) cost = fmin(cost, try_group(x, &g, fits, best));
      if (cost == (double)INFINITY) continue;
      worse += keeps && cost >= least;
      if (cost < least) least = cost, strips = s;
    }
    if (strips && s >= 2 * strips + 2) break;
  }
}

/* Of the operator in a round: constants and operands from memory that all of its stacks share. */
static int64_t bytes_again(const searching *x, int op, int first) {
  const wk_sched_op *y = &x->net->ops[op];
  int64_t bytes = y->shares_pieces && !y->one_const
                      ? 0
                      : y->const_bytes * (y->one_const ? 1 : (int64_t)y->pieces);
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
    int t = y->in[k].tensor;
    if (t >= 0 && !y->in[k].stack && x->uses[t].last_writer < first)
      bytes += x->net->tensors[t].bytes;
  }
  return bytes;
}

/* Fewer rounds load fewer bytes again, and their commands are longer: whether that is much beside
 * what the group takes, or a round. */
static bool may_pay(const searching *x, int first, int last, int rounds, double cost) {
  const wk_sched_machine *m = x->net->machine;
  int64_t bytes = 0;
  for (int i = first; i <= last; i++) bytes += bytes_again(x, i, first);
  double cycles = (double)(bytes * m->bytes_den) / (double)m->bytes_num;
  return cycles * (rounds - 1) > cost / 16 || cost < (double)SHORT_ROUND * rounds;
}

/* The best ways to compute operators [first, last] as one group, for each guess. False: no such
 * group fits. */
static bool best_group(const searching *x, int first, int last, way best[GUESSES]) {
  bool fits = false, is_first = x->plan.limit == 1;
  bool by_rounds = is_first || wk_sched_gains_by_rounds(x, first, last);
  int most = by_rounds ? wk_sched_most_rounds(x, first, last) : 1;
  bool leaves_out = wk_sched_leaves_out(x, WK_SCHED_STACKS);
  if (leaves_out && most > 1) try_strips(x, first, last, 1, &fits, best);
  if (leaves_out && fits) return true;
  try_strips(x, first, last, most, &fits, best);
  if (first == last) try_parts(x, first, &fits, best);
  for (int r = most; r > 1 && fits && !is_first && may_pay(x, first, last, r, best[0].cost);)
    try_strips(x, first, last, r /= 2, &fits, best);
  return fits;
}

static int64_t first_chunk(const searching *x) {
  return x->net->machine->scratchpad / modes[x->o->prefetch].pieces;
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
  way ways[GUESSES];
  m.scratchpad = scratchpad;
  net.machine = &m;
  if (m.resize) m.resize(f->x->net, scratchpad, a, &net);
  o.explain = NULL;
  x.net = &net, x.o = &o;
  x.plan.chunk = first_chunk(&x);
  bool fits = best_group(&x, f->first, f->last, ways);
  wk_arena_free(a);
  return fits;
}

/* Operators [first, last] are the smallest group of operator `misfit`. */
static wk_status refuse_group(searching *x, int first, int last, int misfit) {
  const wk_sched_machine *m = x->net->machine;
  fitting f = {x, first, last};
  int64_t need = m->scratchpad, fits = wk_sched_least_scratchpad(m, can_fit, &f);
  do need += need / 16; /* as exact as need be */
  while (!can_fit(&f, need));
  if (fits && need > fits) need = fits;
  x->plan.misfit = misfit;
  return wk_error_at(WK_RESOURCE, x->net->ops[misfit].name, "%s",
                     wk_sched_room_reason(m, x->net->arena, need,
                                          first == last ? "one row of its result"
                                                        : "rows of what is computed with it",
                                          fits));
}

/* ---- places ---------------------------------------------------------------------------------- */

enum { LASTING = 48 };

/* Which buffers are taken for lasting ones decides how the scratchpad falls into pieces. */
static verdict find_lasting(searching *x) {
  static const int tried[] = {LASTING, 24, 128};
  verdict least = {.fits = false};
  int best = tried[0];
  for (size_t i = 0; i < WK_COUNTOF(tried); i++) {
    x->plan.lasting = tried[i];
    verdict v = wk_sched_judge_whole(x, &x->plan);
    if (v.fits && (!least.fits || v.cycles < least.cycles)) least = v, best = tried[i];
  }
  x->plan.lasting = best;
  return least;
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef struct {
  bool fits;
  way way;
  int from;
} cut;

/* Operators before `reached` have groups; every group of the next one is too large. */
static wk_status refuse_first(searching *x, cut *const best, int reached) {
  for (int last = reached;; last++)
    for (int first = reached; first >= 0; first--)
      if (best[first].fits && wk_sched_is_group(x, first, last))
        return refuse_group(x, first, last, reached);
}

/* For every number of operators the cheapest groups that they fall into, for each guess. The number
 * that could be reached. */
static int find_cuts(searching *x, cut *best[GUESSES]) {
  int n = (int)x->net->n_ops, reached = 0;
  int limit = wk_sched_leaves_out(x, WK_SCHED_FUSION) ? 1 : efforts[x->o->effort].longest;
  for (int k = 0; k < guesses(x); k++) best[k][0].fits = true;
  for (int i = 1; i <= n; i++) {
    for (int a = i - 1, tried = 0; a >= 0 && tried < limit; a--) {
      way ways[GUESSES];
      if (!best[0][a].fits || !wk_sched_is_group(x, a, i - 1)) continue;
      tried++;
      if (!best_group(x, a, i - 1, ways)) break;
      for (int k = 0; k < guesses(x); k++) {
        cut *c = &best[k][i];
        ways[k].cost += best[k][a].way.cost;
        if (!c->fits || ways[k].cost < c->way.cost) *c = (cut){true, ways[k], a};
      }
    }
    if (best[0][i].fits) reached = i;
  }
  return reached;
}

static void take_groups(searching *x, const cut *best) {
  x->plan.groups.n = 0;
  for (int i = (int)x->net->n_ops; i > 0; i = best[i].from)
    wk_vec_push(&x->plan.groups, best[i].way.group);
  for (size_t i = 0, j = x->plan.groups.n; i + 1 < j; i++) {
    wk_sched_group t = x->plan.groups.data[i];
    x->plan.groups.data[i] = x->plan.groups.data[--j];
    x->plan.groups.data[j] = t;
  }
  for (size_t i = 1; i < x->plan.groups.n && x->plan.limit == 1; i++)
    x->plan.groups.data[i].follows = wk_sched_can_follow(x, &x->plan, i);
}

/* Of the groups that the guesses lead to, those that are fastest one after the other; in a long
 * plan whatever lasts there. */
static void choose_groups(searching *x, cut *const best[GUESSES]) {
  verdict least = {.fits = false};
  x->guess = 0;
  for (int k = 0; k < guesses(x); k++) {
    take_groups(x, best[k]);
    x->plan.lasting = LASTING;
    verdict v = wk_sched_is_long(&x->plan) ? wk_sched_judge(x, &x->plan, 0, x->plan.groups.n)
                                           : find_lasting(x);
    if (v.fits && (!least.fits || v.cycles < least.cycles)) least = v, x->guess = k;
  }
  take_groups(x, best[x->guess]);
  (void)find_lasting(x);
}

static wk_status find_groups(searching *x) {
  size_t n = x->net->n_ops;
  cut *best[GUESSES];
  for (int k = 0; k < guesses(x); k++) best[k] = wk_xcalloc(n + 1, sizeof **best);
  int reached = find_cuts(x, best);
  wk_status s = NULL;
  if (!best[0][n].fits) s = refuse_first(x, best[0], reached);
  else if (!x->o->effort) take_groups(x, best[0]);
  else choose_groups(x, best);
  for (int k = 0; k < guesses(x); k++) free(best[k]);
  return s;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Constants in smaller or larger pieces, once it is known what they are loaded behind. */
static void find_chunk(searching *x) {
  const int64_t first = x->plan.chunk, tried[] = {first / 2, first * 2};
  verdict least = wk_sched_judge_whole(x, &x->plan);
  int64_t best = first;
  for (size_t i = 0; i < WK_COUNTOF(tried); i++) {
    x->plan.chunk = tried[i];
    verdict v = wk_sched_judge_whole(x, &x->plan);
    if (v.fits && (!least.fits || v.cycles < least.cycles)) least = v, best = tried[i];
  }
  x->plan.chunk = best;
}

static wk_status search_groups(searching *x) {
  x->plan.resident = wk_xcalloc(x->net->n_tensors, sizeof *x->plan.resident);
  x->plan.lasting = LASTING;
  x->plan.marks = x->o->marks;
  x->plan.chunk = first_chunk(x);
  wk_sched_forget_residents(x);
  return find_groups(x);
}

static void search_rest(searching *x) {
  if (x->o->effort < 1) return;
  wk_sched_find_residents(x);
  find_chunk(x);
}

verdict wk_sched_judge_all(const searching *x) {
  wk_sched_plan p = x->plan;
  p.limit = 0;
  return wk_sched_judge(x, &p, 0, p.groups.n);
}

verdict wk_sched_judge_goal(const searching *x) {
  bool is_first = x->plan.limit == 1;
  return is_first ? wk_sched_judge(x, &x->plan, 0, x->plan.groups.n) : wk_sched_judge_all(x);
}

/* As a whole, by more than a part in `margin`: cycles of both, INT64_MAX where one does not fit. */
static bool is_faster(const searching *x, const searching *than, int64_t margin,
                      int64_t cycles[2]) {
  verdict v = wk_sched_judge_all(x), now = wk_sched_judge_all(than);
  cycles[0] = v.fits ? v.cycles : INT64_MAX;
  cycles[1] = now.fits ? now.cycles : INT64_MAX;
  return v.fits && cycles[0] < cycles[1] - cycles[1] / margin;
}

/* A long plan that is slower by so much as it stands will not be the faster one for what stays. */
static bool is_hopeless(const searching *x, const searching *than) {
  enum { SLOWER = 8 };
  int64_t cycles[2];
  return wk_sched_is_long(&x->plan) && !is_faster(x, than, INT64_MAX, cycles) &&
         cycles[0] - cycles[1] > cycles[1] / SLOWER;
}

/* Candidates of the search before, or those behind, are none of the plan's. */
static void forget(wk_sched_explain *e, size_t from, size_t to) {
  if (!e || to == from) return;
  memmove(&e->list.data[from], &e->list.data[to], (e->list.n - to) * sizeof *e->list.data);
  e->list.n -= to - from;
}

static int by_last(const void *a, const void *b) {
  const wk_sched_candidate *x = a, *y = b;
  if (x->group.last != y->group.last) return x->group.last < y->group.last ? -1 : 1;
  if (x->group.first != y->group.first) return x->group.first > y->group.first ? -1 : 1;
  if (x->group.staggers != y->group.staggers) return x->group.staggers ? 1 : -1;
  if (x->group.in_parts != y->group.in_parts) return x->group.in_parts ? 1 : -1;
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
    verdict v = judge_group(x, g);
    record(x, g, &v);
  }
  qsort(e->list.data, e->list.n, sizeof *e->list.data, by_last);
}

/* What is explained is what the chosen guess adds up. */
static void explain_guess(const searching *x) {
  for (size_t i = 0; x->o->explain && i < x->o->explain->list.n; i++) {
    wk_sched_candidate *c = &x->o->explain->list.data[i];
    c->cost = cost_of(x, &(verdict){.most = c->most, .cycles = c->cycles}, x->guess);
  }
}

/* Searches that leave something out may find groups that are better once they follow one another:
 * all are judged as a whole, and the best ones are improved. Those of the first round alone lead to
 * plans that do all of it for some stacks, and then for others. */
typedef struct {
  int from, effort; /* the first effort that also does this search; its effort, 0: the same */
  unsigned without;
  bool is_first;
} other_search;
static const other_search others[] = {
    {2, 1, 0, false}, {1, 0, 0, true}, {1, 0, WK_SCHED_STAGGER, false},
    {1, 0, WK_SCHED_STACKS, false}, {1, 0, WK_SCHED_FUSION, false}, {1, 0, WK_SCHED_FUSION, true}};

/* It may be the faster one once it is improved. */
static bool is_near(const searching *x, const searching *than) {
  enum { SLOWER = 64 };
  int64_t cycles[2];
  return is_faster(x, than, INT64_MAX, cycles) || cycles[0] - cycles[1] < cycles[1] / SLOWER;
}

static void improve(searching *x) {
  int most = efforts[x->o->effort].most;
  int tries = efforts[x->o->effort].tries * ((int)x->net->n_ops + SOME);
  if (wk_sched_leaves_out(x, WK_SCHED_LOCAL_SEARCH)) return;
  if (tries > most) tries = most;
  wk_sched_improve(x, tries, (int64_t)1000 * efforts[x->o->effort].steps);
}

static void search_other(searching *x, const other_search *how) {
  int effort = how->effort ? how->effort : x->o->effort;
  unsigned without = how->without;
  wk_sched_options other = *x->o;
  wk_sched_explain *e = other.explain;
  searching y = *x;
  size_t found = e ? e->list.n : 0;
  int64_t cycles[2] = {0}, margin = INT64_MAX;
  if (without & WK_SCHED_FUSION) margin = modes[x->o->prefetch].margin;
  y.o = &other;
  y.plan = (wk_sched_plan){.limit = how->is_first ? 1 : x->plan.limit};
  other.effort = effort;
  other.without |= without;
  wk_status failed = search_groups(&y); /* then what has been found stays */
  bool is_new = !failed && !(without & WK_SCHED_FUSION && is_hopeless(&y, x));
  if (is_new) search_rest(&y);
  if (is_new && how->is_first && is_near(&y, x)) improve(&y);
  y.plan.limit = x->plan.limit;
  if (is_new && how->is_first) wk_sched_find_residents_again(&y);
  bool is_better = is_new && is_faster(&y, x, margin, cycles);
  wk_status_free(failed);
  if (is_better) {
    wk_sched_plan worse = x->plan;
    x->plan = y.plan;
    x->guess = y.guess;
    y.plan = worse;
  }
  if (is_better && !without && !how->is_first) forget(e, 0, found);
  else if (e) e->list.n = found; /* what leaves out an idea, or rounds, has no candidates */
  if (e && is_better && without & WK_SCHED_FUSION) {
    e->single = cycles[0];
    if (!e->grouped) e->grouped = cycles[1];
  }
  wk_sched_plan_free(&y.plan);
}

static bool is_staggered(const wk_sched_plan *p) {
  for (size_t g = 0; g < p->groups.n; g++)
    if (p->groups.data[g].staggers) return true;
  return false;
}

static bool has_rounds(const wk_sched_plan *p) {
  for (size_t g = 0; g < p->groups.n; g++)
    if (p->groups.data[g].rounds > 1) return true;
  return false;
}

static void search_others(searching *x) {
  for (size_t i = 0; i < WK_COUNTOF(others); i++) {
    const other_search *y = &others[i];
    bool is_new = !y->without || !wk_sched_leaves_out(x, y->without);
    if (y->is_first)
      is_new = is_new && wk_sched_tries_stacks(x) && wk_sched_has_whole_stacks(x->net);
    if (y->without & WK_SCHED_STAGGER) is_new = is_new && is_staggered(&x->plan);
    if (y->without & WK_SCHED_STACKS)
      is_new = is_new && has_rounds(&x->plan) && !wk_sched_has_whole_stacks(x->net);
    if (x->o->effort >= y->from && is_new) search_other(x, y);
  }
}

static wk_status search_all(searching *x, int limit) {
  x->plan = (wk_sched_plan){.limit = limit};
  WK_TRY(search_groups(x));
  search_rest(x);
  search_others(x);
  improve(x);
  record_plan(x);
  return NULL;
}

wk_status wk_sched_search(const wk_sched_net *net, const wk_sched_use *uses,
                          const wk_sched_options *o, wk_sched_plan *out) {
  wk_sched_steps steps = {0};
  searching x = {.net = net, .uses = uses, .o = o, .steps = &steps};
  x.looks = wk_sched_looks_new(net);
  x.verdicts = o->plans ? wk_sched_verdicts_of(o->plans) : wk_sched_verdicts_new();
  wk_assert(modes[o->prefetch].guesses);
  x.is_tied = wk_xcalloc(net->n_tensors, sizeof *x.is_tied);
  find_ties(&x);
  wk_status s = search_all(&x, wk_sched_has_whole_stacks(net) ? 2 : 0);
  if (!s && wk_sched_has_whole_stacks(net) && !wk_sched_judge_all(&x).fits) {
    wk_sched_plan_free(&x.plan);
    if (o->explain) o->explain->list.n = 0;
    s = search_all(&x, 0);
  }
  explain_guess(&x);
  x.plan.limit = 0;
  *out = x.plan;
  free(x.is_tied);
  wk_sched_looks_free(x.looks);
  if (!o->plans) wk_sched_verdicts_free(x.verdicts);
  wk_sched_steps_free(&steps);
  return s;
}
