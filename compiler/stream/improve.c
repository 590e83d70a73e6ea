/* SPDX-License-Identifier: Apache-2.0
 * Local search: one thing of the plan is changed after the other, and stays so where the whole, as
 * the schedule model has it, gets faster. A fixed seed, so that the same network gives the same
 * plan. */
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/search.h"

typedef struct {
  wk_sched_searching *x;
  wk_rng random;
} improving;

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
  if (g->strips == 1) g->keeps = false;
  return g->strips != before;
}

static bool change_keeps(improving *y) {
  wk_sched_group *g = group(y, random_group(y, y->x->plan.groups.n));
  g->keeps = !g->keeps;
  return g->strips > 1;
}

static bool change_begin(improving *y) {
  wk_sched_group *g = group(y, random_group(y, y->x->plan.groups.n));
  g->alone = !g->alone;
  return true;
}

static bool cut(improving *y) {
  wk_sched_plan *p = &y->x->plan;
  size_t i = random_group(y, p->groups.n);
  wk_sched_group a = p->groups.data[i], b = a;
  if (a.first == a.last) return false;
  a.last = (int)wk_rng_range(&y->random, a.first, a.last - 1);
  b.first = a.last + 1;
  b.alone = false;
  if (!wk_sched_is_group(y->x, a.first, a.last) || !wk_sched_is_group(y->x, b.first, b.last))
    return false;
  wk_vec_push(&p->groups, b);
  memmove(&p->groups.data[i + 1], &p->groups.data[i],
          (p->groups.n - 1 - i) * sizeof *p->groups.data);
  p->groups.data[i] = a;
  p->groups.data[i + 1] = b;
  return true;
}

static bool join(improving *y) {
  wk_sched_plan *p = &y->x->plan;
  if (p->groups.n < 2 || wk_sched_leaves_out(y->x, WK_SCHED_FUSION)) return false;
  size_t i = random_group(y, p->groups.n - 1);
  wk_sched_group *a = &p->groups.data[i], *b = a + 1;
  if (!wk_sched_is_group(y->x, a->first, b->last)) return false;
  a->last = b->last;
  if (b->strips > a->strips) a->strips = b->strips;
  a->keeps = a->strips > 1 && (a->keeps || b->keeps);
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

enum { MOVES = 32 };

/* How often of MOVES times each is tried. */
static const struct {
  bool (*make)(improving *y);
  int weight;
} moves[] = {{change_strips, 9}, {change_keeps, 2}, {change_begin, 4}, {cut, 3}, {join, 3},
             {shift, 4}, {change_resident, 5}, {change_loads, 1}, {change_lasting, 1}};

static bool make_move(improving *y) {
  int64_t draw = wk_rng_range(&y->random, 0, MOVES - 1);
  size_t i = 0;
  for (; i + 1 < WK_COUNTOF(moves) && draw >= moves[i].weight; i++) draw -= moves[i].weight;
  return moves[i].make(y);
}

/* ---- the search ------------------------------------------------------------------------------ */

static void copy_plan(const wk_sched_net *net, const wk_sched_plan *from, wk_sched_plan *to) {
  to->lasting = from->lasting;
  to->chunk = from->chunk;
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

static bool is_same(const wk_sched_group *a, const wk_sched_group *b) {
  return a->first == b->first && a->last == b->last && a->strips == b->strips &&
         a->keeps == b->keeps && a->alone == b->alone;
}

/* The groups that differ and their neighbours, by themselves: whether the whole may get faster. */
static bool is_promising(const wk_sched_searching *x, const wk_sched_plan *best) {
  const wk_sched_plan *now = &x->plan;
  size_t g = 0, behind = 0;
  while (g < best->groups.n && g < now->groups.n &&
         is_same(&best->groups.data[g], &now->groups.data[g]))
    g++;
  while (behind < best->groups.n - g && behind < now->groups.n - g &&
         is_same(&best->groups.data[best->groups.n - 1 - behind],
                 &now->groups.data[now->groups.n - 1 - behind]))
    behind++;
  if (g == best->groups.n && g == now->groups.n) return true; /* it is about something else */
  size_t from = g ? g - 1 : 0, rest = behind ? behind - 1 : 0;
  wk_sched_verdict a = wk_sched_judge(x, best, from, best->groups.n - rest);
  wk_sched_verdict b = wk_sched_judge(x, now, from, now->groups.n - rest);
  return b.fits && (!a.fits || b.cycles < a.cycles + a.cycles / 128);
}

void wk_sched_improve(wk_sched_searching *x, int tries) {
  improving y = {.x = x, .random = {1}};
  wk_sched_plan best = {.resident = wk_xcalloc(x->net->n_tensors, sizeof(int))};
  if (!tries || !x->plan.groups.n) {
    free(best.resident);
    return;
  }
  wk_sched_verdict least = wk_sched_judge(x, &x->plan, 0, x->plan.groups.n);
  copy_plan(x->net, &x->plan, &best);
  for (int i = 0; i < tries; i++) {
    bool is_tried = make_move(&y);
    if (is_tried) mend_residents(x);
    if (is_tried && is_promising(x, &best)) {
      wk_sched_verdict v = wk_sched_judge(x, &x->plan, 0, x->plan.groups.n);
      if (v.fits && (!least.fits || v.cycles < least.cycles ||
                     (v.cycles == least.cycles && v.bytes < least.bytes))) {
        least = v;
        copy_plan(x->net, &x->plan, &best);
        continue;
      }
    }
    copy_plan(x->net, &best, &x->plan);
  }
  wk_vec_free(&best.groups);
  free(best.resident);
}
