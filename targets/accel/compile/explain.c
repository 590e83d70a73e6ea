/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const wk_accel_explain *x;
  const wk_accel_net *net;
  const wk_accel_plan *plan;
  double *before, *behind; /* least cost of operators [0, i), of those from i on */
  wk_str *out;
} explaining;

static const char *layer_of(const wk_accel_net *net, int op) {
  return net->names.data[net->ops.data[op].layer];
}

/* Candidates come with their last operator ascending. */
static void add_costs(explaining *e) {
  int n = (int)e->net->ops.n;
  for (int i = 0; i <= n; i++) {
    e->before[i] = i ? INFINITY : 0;
    e->behind[i] = i < n ? INFINITY : 0;
  }
  for (size_t k = 0; k < e->x->list.n; k++) {
    const wk_accel_candidate *c = &e->x->list.data[k];
    int end = c->group.last + 1;
    if (c->fits) e->before[end] = fmin(e->before[end], e->before[c->group.first] + c->cost);
  }
  for (int first = n - 1; first >= 0; first--)
    for (size_t k = 0; k < e->x->list.n; k++) {
      const wk_accel_candidate *c = &e->x->list.data[k];
      if (c->fits && c->group.first == first)
        e->behind[first] = fmin(e->behind[first], c->cost + e->behind[c->group.last + 1]);
    }
}

static double total_of(const explaining *e, const wk_accel_candidate *c) {
  return e->before[c->group.first] + c->cost + e->behind[c->group.last + 1];
}

static bool is_chosen(const explaining *e, const wk_accel_group *g) {
  for (size_t i = 0; i < e->plan->groups.n; i++) {
    const wk_accel_group *y = &e->plan->groups.data[i];
    if (y->first == g->first && y->last == g->last && y->strips == g->strips &&
        y->keeps == g->keeps)
      return true;
  }
  return false;
}

/* What sets the pace. */
static const char *limit_of(const wk_accel_candidate *c, int64_t *busy) {
  const struct {
    const char *name;
    int64_t busy;
  } all[] = {{"array", c->ex}, {"vector", c->ve}, {"memory", c->bus}};
  size_t most = 0;
  for (size_t i = 1; i < WK_COUNTOF(all); i++)
    if (all[i].busy > all[most].busy) most = i;
  *busy = all[most].busy;
  return all[most].name;
}

static void print_candidate(const explaining *e, const wk_accel_candidate *c) {
  const wk_accel_group *g = &c->group;
  int64_t busy;
  wk_str_printf(e->out, "%c %4d %4d %6d  %-9s", is_chosen(e, g) ? '*' : ' ', g->first, g->last,
                g->strips, g->strips == 1 ? "once" : g->keeps ? "kept" : "per strip");
  if (!c->fits) {
    wk_str_add(e->out, "  does not fit into the scratchpad\n");
    return;
  }
  const char *limit = limit_of(c, &busy);
  wk_str_printf(e->out, " %10lld %10lld %10lld %10lld %10lld  %-6s %10lld %12.0f %12.0f\n",
                (long long)c->cycles, (long long)c->bytes, (long long)c->ex, (long long)c->ve,
                (long long)c->bus, limit, (long long)(c->cycles > busy ? c->cycles - busy : 0),
                c->cost, total_of(e, c));
}

static bool is_same_run(const wk_accel_group *a, const wk_accel_group *b) {
  return a->first == b->first && a->last == b->last;
}

/* All ways to compute a group of the plan; of the others the best. */
static bool is_shown(const explaining *e, const wk_accel_candidate *c) {
  for (size_t i = 0; i < e->plan->groups.n; i++)
    if (is_same_run(&c->group, &e->plan->groups.data[i])) return true;
  for (size_t k = 0; k < e->x->list.n; k++) {
    const wk_accel_candidate *d = &e->x->list.data[k];
    if (!is_same_run(&c->group, &d->group) || !d->fits) continue;
    if (!c->fits || d->cost < c->cost || (d->cost == c->cost && d < c)) return false;
  }
  return c->fits || c->group.strips == 1;
}

static void print_candidates(const explaining *e) {
  static const char head[] =
      "  from   to strips  constants     cycles      bytes      array     vector     memory  "
      "limit        idle         cost        total\n";
  wk_str_add(e->out, head);
  for (size_t k = 0; k < e->x->list.n; k++) {
    const wk_accel_candidate *c = &e->x->list.data[k];
    bool has_it = false;
    for (int i = c->group.first; i <= c->group.last && !has_it; i++)
      has_it = !strcmp(layer_of(e->net, i), e->x->layer);
    if (has_it && is_shown(e, c)) print_candidate(e, c);
  }
}

static void print_operators(const explaining *e) {
  int n = (int)e->net->ops.n, first = n, last = -1;
  for (size_t k = 0; k < e->x->list.n; k++) {
    const wk_accel_group *g = &e->x->list.data[k].group;
    for (int i = g->first; i <= g->last; i++) {
      if (strcmp(layer_of(e->net, i), e->x->layer) != 0) continue;
      if (g->first < first) first = g->first;
      if (g->last > last) last = g->last;
    }
  }
  for (int i = first; i <= last; i++) {
    const wk_accel_op *op = &e->net->ops.data[i];
    int stays = e->plan->resident[op->out.tensor];
    wk_str_printf(e->out, "%c %4d %s (%s)", strcmp(layer_of(e->net, i), e->x->layer) ? ' ' : '>',
                  i, op->name, op->op);
    if (stays >= 0)
      wk_str_printf(e->out, ": the result stays in the scratchpad until operator %d", stays);
    wk_str_add(e->out, "\n");
  }
}

static void print_single(const wk_accel_explain *x, wk_str *out) {
  if (!x->single) return;
  wk_str_printf(out, "taken is what was found operator by operator, %lld cycles for the whole "
                     "part; the groups with the least total ", (long long)x->single);
  if (x->grouped == INT64_MAX) wk_str_add(out, "do not fit together\n");
  else wk_str_printf(out, "take %lld\n", (long long)x->grouped);
}

static void print(const explaining *e) {
  wk_str_printf(e->out, "operators around %s:\n", e->x->layer);
  print_operators(e);
  wk_str_add(e->out, "groups with it, those of other operators than the chosen one at their best "
                     "(*: chosen; total: what the part costs with it, the least wins):\n");
  print_candidates(e);
  print_single(e->x, e->out);
}

void wk_accel_explain_text(wk_accel_explain *x, const wk_accel_net *net, const wk_accel_plan *p) {
  size_t n = net->ops.n + 1;
  bool has_it = false;
  for (size_t i = 0; i < net->ops.n; i++)
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
  free(e.before);
  free(e.behind);
}
