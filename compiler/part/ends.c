/* SPDX-License-Identifier: Apache-2.0
 * What stands at the ends of a model: before the first product or behind the last operator of the
 * targets that are not the host. Movement goes with what it moves. */
#include "compiler/part/cut.h"

typedef struct {
  const wk_graph *g;
  bool *before, *behind;            /* per node: a product before it, an operator behind it */
  const bool *is_work, *is_product; /* per node: it is one of the others' */
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
  s->before[i] |= s->before[maker] || s->is_product[maker];
}

static void see_behind(const sides *s, size_t i, uint32_t maker) {
  s->behind[maker] |= s->behind[i] || s->is_work[i];
}

static bool multiplies(const wk_graph *g, const wk_node *n) {
  return n->n_bodies || wk_node_macs(g, n) > 0;
}

bool *wk_cut_at_ends(const wk_cut *c, const wk_graph *g, const bool *left) {
  const size_t n = g->nodes.n;
  bool *at_end = wk_arena_alloc(c->scratch, n), *is_work = wk_arena_alloc(c->scratch, n);
  bool *is_product = wk_arena_alloc(c->scratch, n), any = false;
  sides s = {g, wk_arena_alloc(c->scratch, n), wk_arena_alloc(c->scratch, n), is_work, is_product};
  for (size_t i = 0; i < n; i++) {
    const wk_node *x = &g->nodes.data[i];
    bool is_hosts = c->targets->has_host && wk_targets_pinned(c->targets, x) == wk_cut_host(c);
    is_work[i] = !left[i] && !is_hosts && !wk_cut_is_movement(x);
    is_product[i] = is_work[i] && multiplies(g, x);
    any |= is_work[i];
  }
  for (size_t i = 0; i < n; i++) each_maker(&s, i, see_before);
  for (size_t i = n; i-- > 0;) each_maker(&s, i, see_behind);
  for (size_t i = 0; any && g == g->module->main && i < n; i++)
    at_end[i] = left[i] && !(s.before[i] && s.behind[i]) && !multiplies(g, &g->nodes.data[i]);
  return at_end;
}

static void see_needed(const sides *s, size_t i, uint32_t maker) {
  s->behind[maker] |= s->behind[i];
}

void wk_cut_pull(const wk_cut *c, const wk_graph *g, const bool *at_end, uint32_t *target) {
  const size_t n = g->nodes.n;
  const uint32_t host = wk_cut_host(c);
  bool *is_product = wk_arena_alloc(c->scratch, n);
  for (size_t i = 0; i < n; i++)
    is_product[i] = target[i] != host && multiplies(g, &g->nodes.data[i]);
  sides s = {g, wk_arena_alloc(c->scratch, n), wk_arena_alloc(c->scratch, n), NULL, is_product};
  for (size_t i = 0; i < n; i++) each_maker(&s, i, see_before);
  for (size_t i = 0; i < n; i++) s.behind[i] = at_end[i] && !s.before[i];
  for (size_t i = n; i-- > 0;) each_maker(&s, i, see_needed);
  for (size_t i = 0; i < n; i++)
    if (s.behind[i] && wk_cut_takes(c, host, g, &g->nodes.data[i])) target[i] = host;
}
