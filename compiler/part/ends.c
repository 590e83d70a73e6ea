/* SPDX-License-Identifier: Apache-2.0
 * What stands at the ends of a model: before the first or behind the last operator of the targets
 * that are not the host. Movement goes with what it moves, and is at an end or not as that is. */
#include "compiler/part/cut.h"

/* How far an operator of the others is known to be on either side. */
typedef struct {
  const wk_graph *g;
  bool *before, *behind; /* per node: one comes before it, behind it */
  const bool *is_work;   /* per node: it is one */
} sides;

static void each_maker(const sides *s, size_t i, void (*f)(const sides *, size_t, uint32_t)) {
  const wk_node *n = &s->g->nodes.data[i];
  for (uint32_t k = 0; k <= n->n_in; k++) {
    wk_value_id v = k < n->n_in ? n->in[k] : n->predicate;
    if (v != WK_NONE && wk_val(s->g, v)->kind == WK_VALUE_NODE)
      f(s, i, wk_val(s->g, v)->node);
  }
}

static void see_before(const sides *s, size_t i, uint32_t maker) {
  s->before[i] |= s->before[maker] || s->is_work[maker];
}

static void see_behind(const sides *s, size_t i, uint32_t maker) {
  s->behind[maker] |= s->behind[i] || s->is_work[i];
}

bool *wk_cut_at_ends(const wk_cut *c, const wk_graph *g, const bool *left) {
  const size_t n = g->nodes.n;
  bool *at_end = wk_arena_alloc(c->scratch, n), *is_work = wk_arena_alloc(c->scratch, n);
  sides s = {g, wk_arena_alloc(c->scratch, n), wk_arena_alloc(c->scratch, n), is_work};
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    const wk_node *x = &g->nodes.data[i];
    bool is_hosts = c->targets->has_host && wk_targets_pinned(c->targets, x) == wk_cut_host(c);
    is_work[i] = !left[i] && !is_hosts && !wk_cut_is_movement(x);
    any |= is_work[i];
  }
  for (size_t i = 0; i < n; i++) each_maker(&s, i, see_before);
  for (size_t i = n; i-- > 0;) each_maker(&s, i, see_behind);
  for (size_t i = 0; any && g == g->module->main && i < n; i++) {
    const wk_node *x = &g->nodes.data[i];
    at_end[i] = left[i] && !(s.before[i] && s.behind[i]) && !x->n_bodies && !wk_node_macs(g, x);
  }
  return at_end;
}
