/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/ways.h"

#include <math.h>

typedef wk_sched_searching searching;
typedef wk_sched_verdict verdict;

const wk_sched_by_mode wk_sched_modes[WK_PREFETCH_COUNT] = {
    [WK_PREFETCH_OFF] = {1, 8, 32, {1}, 0},
    [WK_PREFETCH_DOUBLE] = {1, 32, 32, {1}, 0},
    [WK_PREFETCH_AUTO] = {WK_SCHED_GUESSES, 32, 16, {0.25, 0.125, 0.5, 1}, 100},
};

double wk_sched_cost(const searching *x, const verdict *v, int guess) {
  wk_sched_prefetch mode = x->o->prefetch;
  return v->most + wk_sched_modes[mode].unhidden[guess] * ((double)v->cycles - v->most) +
         wk_sched_modes[mode].more;
}

verdict wk_sched_judge_group(const searching *x, const wk_sched_group *g) {
  wk_sched_plan p = x->plan;
  p.groups.data = (wk_sched_group *)(uintptr_t)g;
  p.groups.n = 1;
  return wk_sched_judge(x, &p, 0, 1);
}

void wk_sched_record(const searching *x, const wk_sched_group *g, const verdict *v) {
  wk_sched_candidate c = {.group = *g, .fits = v->fits, .cycles = v->cycles, .bytes = v->bytes,
                          .bus = (int64_t)v->bus, .most = v->most,
                          .cost = wk_sched_cost(x, v, 0)};
  for (int q = 0; q < WK_SCHED_QUEUES; q++) c.busy[q] = (int64_t)v->busy[q];
  if (x->o->explain) wk_vec_push(&x->o->explain->list, c);
}

const wk_sched_by_effort wk_sched_efforts[] = {
    {3, 1, 1, 0, 0, 0},
    {6, 3, 3, 8, 2000, 3300},
    {8, 4, 4, 8, 3000, 20000},
    {12, 6, 6, 10, 6000, 100000},
};

static int next_strips(int s, int step) { return s < step + 1 ? s + 1 : s + wk_ceil_div(s, step); }

/* Cycles of a round that begins before the one before it has got far. */
enum { SHORT_ROUND = 4096 };

/* The group's cost by the first guess; infinite where it does not fit. */
static double try_group(const searching *x, wk_sched_group *g, bool *fits,
                        wk_sched_way best[WK_SCHED_GUESSES]) {
  g->is_brief = false;
  verdict v = wk_sched_judge_group(x, g);
  int rounds = x->plan.limit == 1 ? 1 : g->rounds;
  g->is_brief = v.fits && v.cycles < (int64_t)SHORT_ROUND * rounds;
  if (g->is_brief && x->plan.limit > 1 && g->rounds > 2) v = wk_sched_judge_group(x, g);
  wk_sched_record(x, g, &v);
  if (!v.fits) return INFINITY;
  for (int k = 0; k < wk_sched_guesses(x); k++)
    if (!*fits || wk_sched_cost(x, &v, k) < best[k].cost)
      best[k] = (wk_sched_way){wk_sched_cost(x, &v, k), *g};
  *fits = true;
  return wk_sched_cost(x, &v, 0);
}

/* The one operator takes its operand in parts, in as many strips as its result has room for. */
static void try_parts(const searching *x, int op, bool *fits, wk_sched_way best[WK_SCHED_GUESSES]) {
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
                       wk_sched_way best[WK_SCHED_GUESSES]) {
  int most = wk_sched_most_strips(x, first, last), worse = 0, next, strips = 0;
  int step = wk_sched_efforts[x->o->effort].step;
  double least = INFINITY; /* with these rounds, in so many strips */
  wk_sched_group fastest = {.strips = 1};
  for (int s = 1; s <= most && worse < wk_sched_efforts[x->o->effort].worse; s = next) {
    next = next_strips(s, step);
    if (next > most && s < most) next = most;
    for (int keeps = s > 1 || (rounds > 1 && x->plan.limit != 1); keeps >= 0; keeps--) {
      wk_sched_group g = {
          .first = first, .last = last, .strips = s, .rounds = rounds, .keeps = keeps};
      double cost = try_group(x, &g, fits, best), other = INFINITY;
      wk_sched_group plain = g;
      g.staggers = wk_sched_may_stagger(x, &g);
      if (g.staggers) other = try_group(x, &g, fits, best);
      if (fmin(cost, other) < least) fastest = other < cost ? g : plain;
      cost = fmin(cost, other);
      if (cost == (double)INFINITY) continue;
      worse += keeps && cost >= least;
      if (cost < least) least = cost, strips = s;
    }
    if (strips && s >= 2 * strips + 2) break;
  }
  if (!wk_sched_may_go_by_first(x->net, &fastest)) return;
  fastest.by_first = true;
  (void)try_group(x, &fastest, fits, best);
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

bool wk_sched_best_group(const searching *x, int first, int last,
                         wk_sched_way best[WK_SCHED_GUESSES]) {
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

int64_t wk_sched_first_chunk(const searching *x) {
  return x->net->machine->scratchpad / wk_sched_modes[x->o->prefetch].pieces;
}
