/* SPDX-License-Identifier: Apache-2.0
 * Local search: one thing of the plan is changed after the other, and stays so where the whole, as
 * the schedule model has it, gets faster. A fixed seed, so that the same network gives the same
 * plan. */
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/crew.h"

typedef wk_sched_verdict verdict;

typedef struct improving improving;

/* How the next change of the plan is chosen: false where there is nothing to change. */
typedef bool chooses(improving *y);

struct improving {
  wk_sched_searching *x;
  chooses *choose;
  wk_rng random;               /* what is drawn next */
  int number;                  /* of the change, of those that are gone through */
  bool has_stages, has_stacks; /* that the plan may do beside, or after others */
  int64_t judged;              /* steps */
};

static size_t random_group(improving *y, size_t n) {
  return (size_t)wk_rng_range(&y->random, 0, (int64_t)n - 1);
}

static wk_sched_group *group(improving *y, size_t g) { return &y->x->plan.groups.data[g]; }

static int fitting_strips(improving *y, const wk_sched_group *g, int64_t strips) {
  int most = wk_sched_most_strips(y->x, g->first, g->last);
  return strips < 1 ? 1 : strips > most ? most : (int)strips;
}

/* ---- moves: false where there is nothing to change ------------------------------------------- */

static bool change_strips(improving *y) {
  wk_sched_group *g = group(y, random_group(y, y->x->plan.groups.n));
  int64_t by = 1 + g->strips / 4, before = g->strips;
  int64_t to = before + wk_rng_range(&y->random, -by, by);
  g->strips = fitting_strips(y, g, to);
  if (g->strips == 1 && g->rounds == 1) g->keeps = false;
  return g->strips != before;
}

/* Of a group by itself more rounds, or fewer; of others whether they go together. */
static bool change_rounds(improving *y) {
  wk_sched_plan *p = &y->x->plan;
  size_t i = random_group(y, p->groups.n);
  wk_sched_group *g = &p->groups.data[i];
  bool leads = i + 1 < p->groups.n && g[1].follows;
  if (g->follows || (i && g->rounds > 1 && wk_rng_range(&y->random, 0, 1))) {
    g->follows = !g->follows;
    return true;
  }
  int before = g->rounds, most = wk_sched_most_rounds(y->x, g->first, g->last);
  if (leads || most == 1) return false;
  g->rounds = wk_rng_range(&y->random, 0, 1) ? before * 2 : before / 2;
  if (wk_rng_range(&y->random, 0, 3) == 0) g->rounds = before == most ? 1 : most;
  if (g->rounds < 1) g->rounds = 1;
  if (g->rounds > most) g->rounds = most;
  g->is_brief = true;
  if (g->strips == 1 && g->rounds == 1) g->keeps = false;
  return g->rounds != before;
}

static bool change_keeps(improving *y) {
  wk_sched_group *g = group(y, random_group(y, y->x->plan.groups.n));
  g->keeps = !g->keeps;
  return g->strips > 1 || g->rounds > 1;
}

static bool change_begin(improving *y) {
  wk_sched_group *g = group(y, random_group(y, y->x->plan.groups.n));
  g->alone = !g->alone;
  return true;
}

/* Behind this operator of group i. */
static bool cut_behind(improving *y, size_t i, int last) {
  wk_sched_plan *p = &y->x->plan;
  wk_sched_group a = p->groups.data[i], b = a;
  a.last = last;
  b.first = a.last + 1;
  b.alone = false;
  b.follows = a.rounds > 1;
  if (!wk_sched_is_group(y->x, a.first, a.last) || !wk_sched_is_group(y->x, b.first, b.last))
    return false;
  wk_vec_push(&p->groups, b);
  memmove(&p->groups.data[i + 1], &p->groups.data[i],
          (p->groups.n - 1 - i) * sizeof *p->groups.data);
  p->groups.data[i] = a;
  p->groups.data[i + 1] = b;
  return true;
}

static bool cut(improving *y) {
  size_t i = random_group(y, y->x->plan.groups.n);
  const wk_sched_group *g = group(y, i);
  if (g->first == g->last) return false;
  return cut_behind(y, i, (int)wk_rng_range(&y->random, g->first, g->last - 1));
}

static bool join(improving *y) {
  wk_sched_plan *p = &y->x->plan;
  if (p->groups.n < 2 || wk_sched_leaves_out(y->x, WK_SCHED_FUSION)) return false;
  size_t i = random_group(y, p->groups.n - 1);
  wk_sched_group *a = &p->groups.data[i], *b = a + 1;
  if (!wk_sched_is_group(y->x, a->first, b->last)) return false;
  a->last = b->last;
  if (b->strips > a->strips) a->strips = b->strips;
  if (b->rounds > a->rounds) a->rounds = b->rounds;
  a->keeps = (a->strips > 1 || a->rounds > 1) && (a->keeps || b->keeps);
  p->groups.n--;
  memmove(b, b + 1, (p->groups.n - 1 - i) * sizeof *b);
  return true;
}

static bool shift(improving *y) {
  wk_sched_plan *p = &y->x->plan;
  if (p->groups.n < 2 || wk_sched_leaves_out(y->x, WK_SCHED_FUSION)) return false;
  wk_sched_group *a = &p->groups.data[random_group(y, p->groups.n - 1)], *b = a + 1;
  int by = wk_rng_range(&y->random, 0, 1) ? 1 : -1;
  a->last += by;
  b->first += by;
  return a->last >= a->first && b->first <= b->last &&
         wk_sched_is_group(y->x, a->first, a->last) && wk_sched_is_group(y->x, b->first, b->last);
}

static bool change_resident(improving *y) {
  wk_sched_searching *x = y->x;
  size_t t = (size_t)wk_rng_range(&y->random, 0, (int64_t)x->net->n_tensors - 1);
  int last = wk_rng_range(&y->random, 0, 1) ? x->uses[t].last_reader : x->uses[t].first_reader;
  if (!wk_sched_may_stay(x, t, last)) return false;
  int until = x->plan.groups.data[wk_sched_group_of(&x->plan, last)].last;
  x->plan.resident[t] = x->plan.resident[t] == until ? -1 : until;
  return true;
}

static bool change_loads(improving *y) {
  wk_sched_plan *p = &y->x->plan;
  int64_t whole = y->x->net->machine->scratchpad;
  int64_t chunk = wk_rng_range(&y->random, 0, 1) ? p->chunk * 2 : p->chunk / 2;
  if (chunk < whole / 128 || chunk > whole / 8) return false;
  p->chunk = chunk;
  return true;
}

static bool change_lasting(improving *y) {
  wk_sched_plan *p = &y->x->plan;
  int64_t before = p->lasting;
  p->lasting = (int)wk_rng_range(&y->random, 8, 256);
  return p->lasting != before;
}

static bool change_stagger(improving *y) {
  wk_sched_group *g = group(y, random_group(y, y->x->plan.groups.n));
  g->staggers = !g->staggers && wk_sched_may_stagger(y->x, g);
  return true;
}

static bool change_rows(improving *y) {
  wk_sched_group *g = group(y, random_group(y, y->x->plan.groups.n));
  g->by_first = !g->by_first && wk_sched_may_go_by_first(y->x->net, g);
  return true;
}

/* How often each is tried, of all that make sense. */
static const struct {
  bool (*make)(improving *y);
  int weight;
  bool of_stages, of_stacks; /* only where there are some */
} moves[] = {{change_strips, 9, false, false},   {change_keeps, 2, false, false},
             {change_begin, 4, false, false},    {cut, 3, false, false},
             {join, 3, false, false},            {shift, 4, false, false},
             {change_resident, 5, false, false}, {change_loads, 1, false, false},
             {change_lasting, 1, false, false},  {change_stagger, 2, true, false},
             {change_rounds, 5, false, true},    {change_rows, 2, false, false}};

static int weight_of(const improving *y, size_t move) {
  bool is_left_out = (moves[move].of_stages && !y->has_stages) ||
                     (moves[move].of_stacks && !y->has_stacks);
  return is_left_out ? 0 : moves[move].weight;
}

static bool make_move(improving *y) {
  int all = 0;
  for (size_t i = 0; i < WK_COUNTOF(moves); i++) all += weight_of(y, i);
  int64_t draw = wk_rng_range(&y->random, 0, all - 1);
  size_t i = 0;
  for (; draw >= weight_of(y, i); i++) draw -= weight_of(y, i);
  return moves[i].make(y);
}

/* ---- cuts, one after the other --------------------------------------------------------------- */

/* Rounds of what is before a cut; the last is as many as there are. */
static const int cut_rounds[] = {1, 2, 4, INT_MAX};
enum { CUTS = WK_COUNTOF(cut_rounds) };

/* Each half computes all its rows at once, the first one round by round, and what goes from it to
 * the second one stays: no constants do, so that their room is for those that come next. */
static bool cut_staying(improving *y, size_t i, int last, int rounds) {
  wk_sched_searching *x = y->x;
  if (!cut_behind(y, i, last)) return false;
  wk_sched_group *a = group(y, i), *b = a + 1;
  int most = y->has_stacks ? wk_sched_most_rounds(x, a->first, a->last) : 1;
  if (rounds > 1 && most < 2) return false;
  if (rounds > most) rounds = most;
  *a = (wk_sched_group){.first = a->first, .last = a->last, .strips = 1, .rounds = rounds,
                        .keeps = rounds > 1, .is_brief = true, .alone = a->alone};
  *b = (wk_sched_group){.first = b->first, .last = b->last, .strips = 1, .rounds = 1};
  int t = x->net->ops[last].out.tensor;
  if (!wk_sched_may_stay(x, (size_t)t, b->last)) return false;
  x->plan.resident[t] = b->last;
  return true;
}

/* The next one of all groups. */
static bool next_cut(improving *y) {
  const wk_sched_plan *p = &y->x->plan;
  int left = y->number++ / CUTS, way = (y->number - 1) % CUTS;
  for (size_t i = 0; i < p->groups.n; i++) {
    const wk_sched_group *g = &p->groups.data[i];
    if (left < g->last - g->first) return cut_staying(y, i, g->first + left, cut_rounds[way]);
    left -= g->last - g->first;
  }
  return false;
}

/* ---- the search ------------------------------------------------------------------------------ */

static void copy_plan(const wk_sched_net *net, const wk_sched_plan *from, wk_sched_plan *to) {
  to->lasting = from->lasting;
  to->chunk = from->chunk;
  to->marks = from->marks;
  to->limit = from->limit;
  to->waits = from->waits;
  to->groups.n = 0;
  for (size_t i = 0; i < from->groups.n; i++) wk_vec_push(&to->groups, from->groups.data[i]);
  memcpy(to->resident, from->resident, net->n_tensors * sizeof *to->resident);
}

/* Tensors that were to stay until the end of a group, which is another one now. */
static void mend_residents(wk_sched_searching *x) {
  for (size_t t = 0; t < x->net->n_tensors; t++) {
    int *last = &x->plan.resident[t];
    if (*last < 0) continue;
    const wk_sched_use *u = &x->uses[t];
    int reader = u->last_reader <= *last ? u->last_reader : u->first_reader;
    *last = wk_sched_may_stay(x, t, reader)
                ? x->plan.groups.data[wk_sched_group_of(&x->plan, reader)].last
                : -1;
  }
}

/* Groups of other operators may have fewer stacks, or none that can be apart. */
static void mend_rounds(wk_sched_searching *x) {
  wk_sched_group *g = x->plan.groups.data;
  for (size_t i = 0; i < x->plan.groups.n; i++) {
    int most = g[i].rounds > 1 ? wk_sched_most_rounds(x, g[i].first, g[i].last) : 1;
    if (g[i].rounds > most) g[i].rounds = most;
    if (g[i].strips == 1 && g[i].rounds == 1) g[i].keeps = false;
    g[i].staggers = g[i].staggers && wk_sched_may_stagger(x, &g[i]);
    g[i].in_parts = g[i].in_parts && g[i].first == g[i].last && g[i].rounds <= 1;
    g[i].by_first = g[i].by_first && wk_sched_may_go_by_first(x->net, &g[i]);
    g[i].follows = i && g[i].follows && wk_sched_can_follow(x, &x->plan, i);
  }
}

static bool is_same(const wk_sched_group *a, const wk_sched_group *b) {
  return wk_sched_is_same_way(a, b) && a->follows == b->follows && a->alone == b->alone;
}

/* Where two plans differ: behind the first groups of both, before the last ones. */
typedef struct {
  size_t first, last;
} changed;

static void note_groups(changed *c, const wk_sched_plan *a, const wk_sched_plan *b) {
  while (c->first < a->groups.n && c->first < b->groups.n &&
         is_same(&a->groups.data[c->first], &b->groups.data[c->first]))
    c->first++;
  while (c->last < a->groups.n - c->first && c->last < b->groups.n - c->first &&
         is_same(&a->groups.data[a->groups.n - 1 - c->last],
                 &b->groups.data[b->groups.n - 1 - c->last]))
    c->last++;
}

/* Tensors that stay in one of them alone: all groups from the first that has it. */
static void note_residents(changed *c, const wk_sched_searching *x, const wk_sched_plan *a,
                           const wk_sched_plan *b) {
  for (size_t t = 0; t < x->net->n_tensors; t++) {
    const wk_sched_use *u = &x->uses[t];
    int until = a->resident[t] > b->resident[t] ? a->resident[t] : b->resident[t];
    if (a->resident[t] == b->resident[t]) continue;
    size_t from = wk_sched_group_of(b, u->first_writer >= 0 ? u->first_writer : u->first_reader);
    size_t behind = b->groups.n - 1 - wk_sched_group_of(b, until);
    if (from < c->first) c->first = from;
    if (behind < c->last) c->last = behind;
  }
}

/* What differs of the plan, and so many groups around it. */
static wk_sched_run near(const wk_sched_plan *p, changed c, size_t around) {
  size_t from = c.first, to = p->groups.n - c.last;
  wk_sched_widen(p, around, &from, &to);
  return (wk_sched_run){p, from, to};
}

static verdict judge_near(const wk_sched_searching *x, const wk_sched_plan *p, changed c,
                          size_t around) {
  wk_sched_run r = near(p, c, around);
  return wk_sched_judge(x, p, r.from, r.to);
}

static void judge_near_ahead(const wk_sched_searching *x, const wk_sched_plan *a,
                             const wk_sched_plan *b, changed c, size_t around) {
  const wk_sched_run runs[] = {near(a, c, around), near(b, c, around)};
  wk_sched_judge_ahead(x, runs, WK_COUNTOF(runs));
}

static bool is_global(const wk_sched_plan *a, const wk_sched_plan *b) {
  return a->chunk != b->chunk || a->lasting != b->lasting;
}

/* All operators in one group would have stages. */
static bool has_stages(const wk_sched_searching *x) {
  const wk_sched_group all = {.last = (int)x->net->n_ops - 1};
  return !wk_sched_leaves_out(x, WK_SCHED_STAGGER) && !wk_sched_leaves_out(x, WK_SCHED_FUSION) &&
         wk_sched_stages(x->net, &all) > 1;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* A plan, and what all of it takes. */
typedef struct {
  wk_sched_plan plan;
  verdict verdict;
} proven_plan;

/* What is around changes stood for the whole, and some rounds for all: the whole is not slower than
 * the plan that is proven. */
static bool is_proven(const wk_sched_searching *x, const proven_plan *p, verdict *v) {
  *v = wk_sched_judge_goal(x);
  return v->fits && (!p->verdict.fits || v->cycles <= p->verdict.cycles);
}

/* A change of the best plan. y: of its own, with what is drawn behind it, and steps judged for it
 * alone. */
typedef struct {
  improving y;
  wk_sched_searching x; /* y.x: its plan is the changed one */
  bool is_one;          /* there was something to change */
  atomic_int state;     /* of change_states */
} change;
enum change_states { OPEN, NO_FASTER, FASTER };

/* Changes of the same plan, drawn one after the other. Most are no faster, so that each is likely
 * to be the next one. */
typedef struct {
  const wk_sched_searching *x; /* its plan is the best one */
  const proven_plan *unproven; /* what it is to be faster than; NULL: it is known to be */
  atomic_bool is_refuted;      /* it is known not to be */
  change *list;
  size_t n;
  int64_t steps; /* that may be judged for them */
} changes;

/* One of those before is faster, or they take all steps, or what they change is none, as far as is
 * known. */
static bool is_in_vain(const changes *c, size_t i) {
  int64_t judged = 0;
  if (atomic_load(&c->is_refuted)) return true;
  for (size_t k = 0; k < i; k++) {
    int state = atomic_load(&c->list[k].state);
    if (state == FASTER) return true;
    if (state == NO_FASTER) judged += c->list[k].y.judged;
  }
  return judged >= c->steps;
}

/* What differs, by itself, hardly makes it slower; more around it shows that it gets faster. */
static bool is_promising(const changes *all, size_t i) {
  improving *y = &all->list[i].y;
  const wk_sched_plan *best = &all->x->plan, *now = &y->x->plan;
  changed c = {0};
  if (is_global(best, now)) return true;
  note_groups(&c, best, now);
  note_residents(&c, y->x, best, now);
  if (c.first == now->groups.n) return false;
  judge_near_ahead(y->x, best, now, c, 1);
  verdict a = judge_near(y->x, best, c, 1), b = judge_near(y->x, now, c, 1);
  y->judged += a.steps + b.steps;
  if (!b.fits || (a.fits && b.cycles >= a.cycles + a.cycles / 128)) return false;
  if (is_in_vain(all, i)) return false;
  judge_near_ahead(y->x, best, now, c, 5);
  a = judge_near(y->x, best, c, 5), b = judge_near(y->x, now, c, 5);
  y->judged += a.steps + b.steps;
  return wk_sched_is_better(&b, &a);
}

/* A changed plan is faster than the best one. In a long plan what is around the change tells. */
static bool is_faster(const changes *c, size_t i) {
  wk_sched_searching *x = &c->list[i].x;
  const wk_sched_plan *best = &c->x->plan;
  mend_rounds(x);
  mend_residents(x);
  if (!is_promising(c, i)) return false;
  if (!is_global(best, &x->plan) && wk_sched_is_long(&x->plan)) return true;
  verdict v = wk_sched_judge_whole(x, &x->plan), b = wk_sched_judge_whole(x, best);
  return wk_sched_is_better(&v, &b);
}

static void judge_change(changes *c, size_t i, wk_sched_steps *steps) {
  change *z = &c->list[i];
  if (is_in_vain(c, i)) return;
  z->x.steps = steps;
  bool is_better = z->is_one && is_faster(c, i);
  atomic_store(&z->state, is_better ? FASTER : NO_FASTER);
}

/* The proof comes first, then the changes. */
static void judge_one(void *ctx, size_t i, wk_sched_steps *steps) {
  changes *c = ctx;
  wk_sched_searching x = *c->x;
  x.steps = steps;
  if (i) judge_change(c, i - 1, steps);
  else if (c->unproven) atomic_store(&c->is_refuted, !is_proven(&x, c->unproven, &(verdict){0}));
}

/* What is drawn behind a change that was. */
static void go_on(improving *y, const improving *from) {
  y->random = from->random;
  y->number = from->number;
}

/* As if there were none before it. */
static void draw(improving *y, change *z) {
  wk_sched_plan plan = z->x.plan;
  z->x = *y->x;
  z->x.plan = plan;
  z->y = *y;
  z->y.x = &z->x;
  z->y.judged = 0;
  copy_plan(y->x->net, &y->x->plan, &z->x.plan);
  z->is_one = y->choose(&z->y);
  go_on(y, &z->y);
  atomic_store(&z->state, OPEN);
}

/* Makes the plan the proven one, if it is; else it is that one again. */
static bool prove(wk_sched_searching *x, proven_plan *p) {
  verdict v;
  bool is_better = is_proven(x, p, &v);
  if (is_better) copy_plan(x->net, &x->plan, &p->plan), p->verdict = v;
  else copy_plan(x->net, &p->plan, &x->plan);
  return is_better;
}

/* Tries changes up to the first that is faster, which the plan gets, or as many as may be: how
 * many. None if the plan was to be proven, and is not. */
static int try_changes(improving *y, changes *c, proven_plan *p, bool *is_faster) {
  const improving before = *y;
  size_t i = 0;
  *is_faster = false;
  for (size_t k = 0; k < c->n; k++) draw(y, &c->list[k]);
  go_on(y, &before);
  wk_sched_do(y->x, judge_one, c, c->n + 1);
  if (c->unproven && !prove(y->x, p)) return 0;
  for (; i < c->n && !*is_faster && c->steps > 0; i++) {
    change *z = &c->list[i];
    c->steps -= z->y.judged;
    go_on(y, &z->y);
    *is_faster = atomic_load(&z->state) == FASTER;
    if (*is_faster) copy_plan(y->x->net, &z->x.plan, &y->x->plan);
  }
  return (int)i;
}

/* Changes that are drawn together. */
enum { MOST = 64 };
static int at_once(const wk_sched_searching *x) {
  enum { OF_EACH = 8 };
  const int threads = wk_sched_beside(x);
  if (threads == 1) return 1;
  return threads * OF_EACH < MOST ? threads * OF_EACH : MOST;
}

static int *no_residents(const wk_sched_searching *x) {
  return wk_xcalloc(x->net->n_tensors, sizeof(int));
}

static void free_plan(wk_sched_plan *p) {
  wk_vec_free(&p->groups);
  free(p->resident);
}

static void improve(wk_sched_searching *x, chooses *choose, int tries, int64_t steps) {
  enum { TOGETHER = 8 }; /* changes that are proven together */
  change list[MOST];
  const int most = at_once(x);
  improving y = {.x = x, .choose = choose, .random = {1},
                 .has_stages = has_stages(x),
                 .has_stacks = wk_sched_tries_stacks(x)};
  changes c = {.x = x, .list = list, .steps = steps};
  proven_plan proven = {.plan.resident = no_residents(x)};
  if (!x->plan.groups.n) tries = 0;
  if (tries) proven.verdict = wk_sched_judge_goal(x);
  copy_plan(x->net, &x->plan, &proven.plan);
  for (int i = 0; i < most; i++) list[i].x.plan = (wk_sched_plan){.resident = no_residents(x)};
  for (int i = 0, made = 0; i < tries && c.steps > 0;) {
    bool is_faster;
    c.n = (size_t)(tries - i < most ? tries - i : most);
    atomic_init(&c.is_refuted, false);
    i += try_changes(&y, &c, &proven, &is_faster);
    c.unproven = is_faster && ++made % TOGETHER == 0 ? &proven : NULL;
  }
  if (tries) (void)prove(x, &proven);
  for (int i = 0; i < most; i++) free_plan(&list[i].x.plan);
  free_plan(&proven.plan);
}

void wk_sched_improve(wk_sched_searching *x, int tries, int64_t steps) {
  improve(x, make_move, tries, steps);
}

bool wk_sched_improve_cuts(wk_sched_searching *x, int64_t steps) {
  const size_t before = x->plan.groups.n;
  int tries = CUTS * ((int)x->net->n_ops - (int)before);
  if (!wk_sched_is_long(&x->plan)) improve(x, next_cut, tries, steps);
  return x->plan.groups.n != before;
}
