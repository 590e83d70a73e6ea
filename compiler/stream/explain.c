/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const wk_sched_explain *x;
  const wk_sched_net *net;
  const wk_sched_plan *plan;
  double *before, *behind; /* least cost of operators [0, i), of those from i on */
  wk_str *out;
} explaining;

static const char *layer_of(const wk_sched_net *net, int op) {
  return net->layers[net->ops[op].layer];
}

/* Candidates come with their last operator ascending. */
static void add_costs(explaining *e) {
  int n = (int)e->net->n_ops;
  for (int i = 0; i <= n; i++) {
    e->before[i] = i ? INFINITY : 0;
    e->behind[i] = i < n ? INFINITY : 0;
  }
  for (size_t k = 0; k < e->x->list.n; k++) {
    const wk_sched_candidate *c = &e->x->list.data[k];
    int end = c->group.last + 1;
    if (c->fits) e->before[end] = fmin(e->before[end], e->before[c->group.first] + c->cost);
  }
  for (int first = n - 1; first >= 0; first--)
    for (size_t k = 0; k < e->x->list.n; k++) {
      const wk_sched_candidate *c = &e->x->list.data[k];
      if (c->fits && c->group.first == first)
        e->behind[first] = fmin(e->behind[first], c->cost + e->behind[c->group.last + 1]);
    }
}

static double total_of(const explaining *e, const wk_sched_candidate *c) {
  return e->before[c->group.first] + c->cost + e->behind[c->group.last + 1];
}

static bool is_chosen(const explaining *e, const wk_sched_group *g) {
  for (size_t i = 0; i < e->plan->groups.n; i++)
    if (wk_sched_is_same_way(&e->plan->groups.data[i], g)) return true;
  return false;
}

static bool is_engine(const explaining *e, int queue) {
  return wk_sched_in(e->net->machine->queues.computes, queue);
}

/* What sets the pace. */
static const char *limit_of(const explaining *e, const wk_sched_candidate *c, int64_t *busy) {
  const char *limit = NULL;
  for (int q = 0; q < e->net->machine->queues.n; q++) {
    if (!is_engine(e, q) || (limit && c->busy[q] <= *busy)) continue;
    *busy = c->busy[q];
    limit = e->net->machine->units[q];
  }
  if (limit && c->bus <= *busy) return limit;
  *busy = c->bus;
  return "memory";
}

static void print_candidate(const explaining *e, const wk_sched_candidate *c) {
  const wk_sched_group *g = &c->group;
  int64_t busy = 0;
  char strips[48];
  const char *how = g->staggers ? "s" : g->in_parts ? "p" : "", *by = g->by_first ? "f" : "";
  if (g->rounds > 1) snprintf(strips, sizeof strips, "%dx%d%s%s", g->strips, g->rounds, how, by);
  else snprintf(strips, sizeof strips, "%d%s%s", g->strips, how, by);
  bool once = g->strips == 1 && g->rounds == 1;
  wk_str_printf(e->out, "%c %4d %4d %6s  %-9s", is_chosen(e, g) ? '*' : ' ', g->first, g->last,
                strips, once ? "once" : g->keeps ? "kept" : "per strip");
  if (!c->fits) {
    wk_str_add(e->out, "  does not fit into the scratchpad\n");
    return;
  }
  const char *limit = limit_of(e, c, &busy);
  wk_str_printf(e->out, " %10lld %10lld", (long long)c->cycles, (long long)c->bytes);
  for (int q = 0; q < e->net->machine->queues.n; q++)
    if (is_engine(e, q)) wk_str_printf(e->out, " %10lld", (long long)c->busy[q]);
  wk_str_printf(e->out, " %10lld  %-6s %10lld %12.0f %12.0f\n", (long long)c->bus, limit,
                (long long)(c->cycles > busy ? c->cycles - busy : 0), c->cost, total_of(e, c));
}

static bool is_same_run(const wk_sched_group *a, const wk_sched_group *b) {
  return a->first == b->first && a->last == b->last;
}

/* All ways to compute a group of the plan; of the others the best. */
static bool is_shown(const explaining *e, const wk_sched_candidate *c) {
  for (size_t i = 0; i < e->plan->groups.n; i++)
    if (is_same_run(&c->group, &e->plan->groups.data[i])) return true;
  for (size_t k = 0; k < e->x->list.n; k++) {
    const wk_sched_candidate *d = &e->x->list.data[k];
    if (!is_same_run(&c->group, &d->group) || !d->fits) continue;
    if (!c->fits || d->cost < c->cost || (d->cost == c->cost && d < c)) return false;
  }
  return c->fits || c->group.strips == 1;
}

static void print_candidates(const explaining *e) {
  wk_str_add(e->out, "  from   to strips  constants     cycles      bytes");
  for (int q = 0; q < e->net->machine->queues.n; q++)
    if (is_engine(e, q)) wk_str_printf(e->out, " %10s", e->net->machine->units[q]);
  wk_str_add(e->out, "     memory  limit        idle         cost        total\n");
  for (size_t k = 0; k < e->x->list.n; k++) {
    const wk_sched_candidate *c = &e->x->list.data[k];
    bool has_it = false;
    for (int i = c->group.first; i <= c->group.last && !has_it; i++)
      has_it = !strcmp(layer_of(e->net, i), e->x->layer);
    if (has_it && is_shown(e, c)) print_candidate(e, c);
  }
}

static void print_operators(const explaining *e) {
  int n = (int)e->net->n_ops, first = n, last = -1;
  for (size_t k = 0; k < e->x->list.n; k++) {
    const wk_sched_group *g = &e->x->list.data[k].group;
    for (int i = g->first; i <= g->last; i++) {
      if (strcmp(layer_of(e->net, i), e->x->layer) != 0) continue;
      if (g->first < first) first = g->first;
      if (g->last > last) last = g->last;
    }
  }
  for (int i = first; i <= last; i++) {
    const wk_sched_op *op = &e->net->ops[i];
    int stays = e->plan->resident[op->out.tensor];
    wk_str_printf(e->out, "%c %4d %s (%s)", strcmp(layer_of(e->net, i), e->x->layer) ? ' ' : '>',
                  i, op->name, op->kind);
    if (stays >= 0)
      wk_str_printf(e->out, ": the result stays in the scratchpad until operator %d", stays);
    wk_str_add(e->out, "\n");
  }
}

static void print_single(const wk_sched_explain *x, wk_str *out) {
  if (!x->single) return;
  wk_str_printf(out, "taken is what was found operator by operator, %lld cycles for the whole "
                     "part; the groups with the least total ", (long long)x->single);
  if (x->grouped == INT64_MAX) wk_str_add(out, "do not fit together\n");
  else wk_str_printf(out, "take %lld\n", (long long)x->grouped);
}

static void print_instead(const wk_sched_explain *x, wk_str *out) {
  if (!x->instead.options[0]) return;
  wk_str_printf(out, "taken is what was found with %s: the part ran in %lld cycles of the timing "
                     "model, and as it was asked for ", x->instead.options,
                (long long)x->instead.cycles);
  if (x->instead.asked < 0) wk_str_add(out, "does not fit\n");
  else wk_str_printf(out, "in %lld\n", (long long)x->instead.asked);
}

static void print(const explaining *e) {
  wk_str_printf(e->out, "operators around %s:\n", e->x->layer);
  print_operators(e);
  wk_str_add(e->out, "groups with it, those of other operators than the chosen one at their best "
                     "(*: chosen; 2x8: in 8 rounds; s: stages side by side; p: the operand "
                     "comes in parts; f: strips of as many rows of the first operator; "
                     "total: what the part costs with it, the least wins):\n");
  print_candidates(e);
  print_single(e->x, e->out);
  print_instead(e->x, e->out);
}

void wk_sched_explain_text(wk_sched_explain *x, const wk_sched_net *net, const wk_sched_plan *p) {
  size_t n = net->n_ops + 1;
  bool has_it = false;
  for (size_t i = 0; i < net->n_ops; i++)
    has_it = has_it || !strcmp(layer_of(net, (int)i), x->layer);
  explaining e = {x, net, p, wk_xcalloc(n, sizeof(double)), wk_xcalloc(n, sizeof(double)),
                  &x->text};
  if (has_it) {
    add_costs(&e);
    print(&e);
  }
  x->is_found = x->is_found || has_it;
  x->list.n = 0;
  x->single = x->grouped = 0;
  x->instead.options[0] = 0;
  free(e.before);
  free(e.behind);
}
