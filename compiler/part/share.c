/* SPDX-License-Identifier: Apache-2.0
 * Which of several machines of one kind has which node: a list schedule by their rates. A node goes
 * to the machine on which it has finished first, behind what that one has already and behind its
 * operands, of which those of other machines come over an edge into a part that starts for them. */
#include <string.h>

#include "compiler/part/cut.h"

typedef struct {
  const wk_cut *c;
  const wk_graph *g;
  uint32_t *target;
  double *free;  /* of each target */
  double *ready; /* of each node: when it has finished */
} sharing;

/* Machines of two kinds have two layouts, and the host converts between them. */
static double conversion(const sharing *x, uint32_t from, uint32_t to, double bytes) {
  bool is_rows = from >= x->c->targets->n;
  if (is_rows || wk_cut_is_host(x->c, from)) return 0;
  const wk_instance *a = x->c->targets->list[from], *b = x->c->targets->list[to];
  bool is_same = a->target == b->target && a->spec && b->spec && !strcmp(a->spec, b->spec);
  const wk_target_cost host = wk_targets_cost(x->c->targets, wk_cut_host(x->c));
  return is_same ? 0 : 2 * host.per_byte * bytes + host.per_part;
}

static double start_of(const sharing *x, const wk_node *n, uint32_t target) {
  const wk_target_cost cost = wk_targets_cost(x->c->targets, target);
  double start = x->free[target];
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (n->in[k] == WK_NONE || wk_val(x->g, n->in[k])->kind != WK_VALUE_NODE) continue;
    uint32_t from = wk_val(x->g, n->in[k])->node;
    double bytes = (double)wk_type_bytes(&wk_val(x->g, n->in[k])->type);
    double comes = x->ready[from];
    if (x->target[from] != target)
      comes += cost.per_edge_byte * bytes + cost.per_part +
               conversion(x, x->target[from], target, bytes);
    if (comes > start) start = comes;
  }
  return start;
}

static double time_of(const sharing *x, const wk_node *n, uint32_t target) {
  return wk_cut_time(wk_targets_cost(x->c->targets, target), x->g, n);
}

/* Of machines of the owner's kind; the owner among equals. */
static uint32_t first_to_finish(const sharing *x, const wk_node *n, uint32_t owner) {
  const wk_targets *all = x->c->targets;
  uint32_t best = owner;
  double least = start_of(x, n, owner) + time_of(x, n, owner);
  for (uint32_t t = 0; t < all->n; t++) {
    bool is_other_kind = all->list[t]->target != all->list[owner]->target;
    if (t == owner || is_other_kind || wk_cut_is_host(x->c, t)) continue;
    double end = start_of(x, n, t) + time_of(x, n, t);
    if (end >= least || !wk_cut_takes(x->c, t, x->g, n)) continue;
    best = t, least = end;
  }
  return best;
}

static bool is_shared(const wk_targets *all) {
  for (size_t i = 0; i + 1 < all->n; i++)
    for (size_t k = i + 1; k < all->n; k++)
      if (all->list[i]->target == all->list[k]->target) return true;
  return false;
}

void wk_cut_share(wk_cut *c, const wk_graph *g, uint32_t *target) {
  sharing x = {.c = c, .g = g, .target = target};
  if (!is_shared(c->targets)) return;
  x.free = wk_arena_alloc(c->scratch, c->targets->n * sizeof *x.free);
  x.ready = wk_arena_alloc(c->scratch, g->nodes.n * sizeof *x.ready);
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    bool is_movement = wk_op_get(n->op)->cls == WK_CLASS_MOVEMENT;
    if (target[i] >= c->targets->n) continue; /* rows of the plan */
    if (!is_movement && !wk_cut_is_host(c, target[i]))
      target[i] = first_to_finish(&x, n, target[i]);
    x.ready[i] = start_of(&x, n, target[i]);
    if (!is_movement) x.ready[i] += time_of(&x, n, target[i]);
    if (!is_movement) x.free[target[i]] = x.ready[i];
  }
}
