/* SPDX-License-Identifier: Apache-2.0
 * Nodes of one target into convex groups, as few as can be had cheaply.
 *
 * The level of a node is the largest number of changes of target on a path to it. Nodes of one
 * target and one level are a convex group: a path that leaves the group and comes back changes the
 * target twice, so it ends on another level. Then groups of one target are joined, first come first
 * served, as long as no path between two of them leads through a third. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/part/cut.h"

/* ---- reachability, as rows of bits ----------------------------------------------------------- */

typedef struct {
  uint32_t n, words;
  uint64_t *to, *from; /* to[a] has bit b: a path from a to b */
} reach;

static uint64_t *row(const reach *r, uint64_t *m, uint32_t i) { return m + (size_t)i * r->words; }
static void set(uint64_t *bits, uint32_t i) { bits[i / 64] |= UINT64_C(1) << i % 64; }
static bool has(const uint64_t *bits, uint32_t i) { return bits[i / 64] >> i % 64 & 1; }

static reach reach_new(wk_arena *a, uint32_t n) {
  reach r = {.n = n, .words = (n + 63) / 64};
  r.to = wk_arena_alloc(a, (size_t)n * r.words * sizeof *r.to);
  r.from = wk_arena_alloc(a, (size_t)n * r.words * sizeof *r.from);
  return r;
}

static bool is_empty(const uint64_t *bits, uint32_t words) {
  for (uint32_t w = 0; w < words; w++)
    if (bits[w]) return false;
  return true;
}

/* Everything that reaches a, reaches b and what b reaches; in topological order that is b alone. */
static void add_path(reach *r, uint32_t a, uint32_t b) {
  if (a == b || has(row(r, r->to, a), b)) return;
  const uint64_t *more_to = row(r, r->to, b), *more_from = row(r, r->from, a);
  bool leads_on = !is_empty(more_to, r->words);
  for (uint32_t x = 0; x < r->n; x++) {
    if (x != a && !has(more_from, x)) continue;
    uint64_t *to = row(r, r->to, x);
    for (uint32_t w = 0; leads_on && w < r->words; w++) to[w] |= more_to[w];
    set(to, b);
  }
  for (uint32_t y = 0; y < r->n; y++) {
    if (y != b && !(leads_on && has(more_to, y))) continue;
    uint64_t *from = row(r, r->from, y);
    for (uint32_t w = 0; w < r->words; w++) from[w] |= more_from[w];
    set(from, a);
  }
}

/* A path from a to b through something else than `dead` groups and these two. */
static bool passes(const reach *r, const uint32_t *joined, uint32_t a, uint32_t b) {
  const uint64_t *to = row(r, r->to, a), *from = row(r, r->from, b);
  for (uint32_t w = 0; w < r->words; w++) {
    uint64_t both = to[w] & from[w];
    for (; both; both &= both - 1) {
      uint32_t x = w * 64 + (uint32_t)__builtin_ctzll(both);
      if (joined[x] == x && x != a && x != b) return true;
    }
  }
  return false;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void each_operand(const wk_graph *g, const wk_node *n, void (*f)(void *, uint32_t),
                         void *ctx) {
  for (uint32_t k = 0; k <= n->n_in; k++) {
    wk_value_id v = k < n->n_in ? n->in[k] : n->predicate;
    if (v != WK_NONE && wk_val(g, v)->kind == WK_VALUE_NODE) f(ctx, wk_val(g, v)->node);
  }
}

typedef struct {
  const uint32_t *target, *level;
  uint32_t of, most;
  uint32_t control;
} leveller;

static void raise(void *ctx, uint32_t from) {
  leveller *l = ctx;
  bool changes = l->target[from] != l->of || l->of == l->control;
  uint32_t level = l->level[from] + changes;
  if (level > l->most) l->most = level;
}

typedef struct {
  const uint32_t *target;
  uint32_t *latest, user, level, control; /* level: of the node whose operands these are */
} lowerer;

static void lower(void *ctx, uint32_t from) {
  const lowerer *l = ctx;
  bool changes = l->target[from] != l->user || l->user == l->control;
  if (l->level - changes < l->latest[from]) l->latest[from] = l->level - changes;
}

/* What only variables give comes as late as it is used: with who changes the variable. */
static void lower_variables(const wk_cut *c, wk_arena *a, const wk_graph *g,
                            const uint32_t *target, uint32_t *level) {
  const bool *of_variables = wk_cut_of_variables(c, g);
  if (!of_variables) return;
  uint32_t *latest = wk_arena_alloc(a, g->nodes.n * sizeof *latest);
  for (size_t i = 0; i < g->nodes.n; i++) latest[i] = WK_NONE;
  for (size_t i = g->nodes.n; i-- > 0;) {
    if (of_variables[i] && latest[i] != WK_NONE) level[i] = latest[i];
    lowerer l = {target, latest, target[i], level[i], wk_cut_control(c)};
    each_operand(g, &g->nodes.data[i], lower, &l);
  }
}

static uint32_t *levels(const wk_cut *c, wk_arena *a, const wk_graph *g, const uint32_t *target) {
  uint32_t *level = wk_arena_alloc(a, g->nodes.n * sizeof *level);
  for (size_t i = 0; i < g->nodes.n; i++) {
    leveller l = {.target = target, .level = level, .of = target[i],
                  .control = wk_cut_control(c)};
    each_operand(g, &g->nodes.data[i], raise, &l);
    level[i] = l.most;
  }
  lower_variables(c, a, g, target, level);
  return level;
}

/* Groups by target and level, numbered as they are met; each node of control flow is its own. */
static void first_groups(const wk_cut *c, wk_arena *a, const wk_graph *g, const uint32_t *target,
                         wk_cut_groups *out) {
  const uint32_t *level = levels(c, a, g, target);
  uint32_t *group_level = wk_arena_alloc(a, g->nodes.n * sizeof *group_level);
  for (size_t i = 0; i < g->nodes.n; i++) {
    uint32_t k = 0;
    while (k < out->n && (out->target[k] != target[i] || group_level[k] != level[i] ||
                          target[i] == wk_cut_control(c)))
      k++;
    if (k == out->n) {
      out->target[out->n] = target[i];
      group_level[out->n++] = level[i];
    }
    out->of[i] = k;
  }
}

/* ---- joining and order ----------------------------------------------------------------------- */

typedef struct {
  const uint32_t *of;
  reach *r;
  uint32_t to;
} linker;

static void link_groups(void *ctx, uint32_t from) {
  linker *l = ctx;
  add_path(l->r, l->of[from], l->to);
}

/* Who reads a variable comes before who changes it, where the graph allows that. */
static void link_variables(wk_cut *c, const wk_graph *g, const uint32_t *of, reach *r) {
  wk_cut_orders orders = {0};
  wk_cut_variable_orders(c, g, &orders);
  for (size_t i = 0; i < orders.n; i++) {
    uint32_t reader = of[orders.data[i].reader], writer = of[orders.data[i].writer];
    if (!has(row(r, r->to, writer), reader)) add_path(r, reader, writer);
  }
  wk_vec_free(&orders);
}

/* Pairs are looked at while the budget of words lasts: a tenth of a second. */
static void join(const wk_cut *c, reach *r, const wk_cut_groups *groups, uint32_t *joined) {
  int64_t budget = INT64_C(1) << 28;
  for (uint32_t a = 0; a < groups->n; a++) {
    if (joined[a] != a || groups->target[a] == wk_cut_control(c)) continue;
    for (uint32_t b = a + 1; b < groups->n && budget > 0; b++) {
      if (joined[b] != b || groups->target[b] != groups->target[a]) continue;
      budget -= 2 * (int64_t)r->words;
      if (passes(r, joined, a, b) || passes(r, joined, b, a)) continue;
      joined[b] = a;
      budget -= (int64_t)r->n * r->words;
      for (uint32_t x = 0; x < r->n; x++) { /* a now reaches what b does, and so on */
        if (has(row(r, r->to, b), x) && x != a) add_path(r, a, x);
        if (has(row(r, r->from, b), x) && x != a) add_path(r, x, a);
      }
    }
  }
}

/* Per group that stands for others, how many such groups must come before it. */
static uint32_t *count_before(wk_arena *arena, const reach *r, const uint32_t *joined) {
  uint32_t *before = wk_arena_alloc(arena, r->n * sizeof *before);
  for (uint32_t a = 0; a < r->n; a++)
    for (uint32_t x = 0; x < r->n && joined[a] == a; x++)
      before[a] += joined[x] == x && x != a && has(r->from + (size_t)a * r->words, x);
  return before;
}

/* What can start first and is not the host's comes first, so that the host works meanwhile; among
 * equals the model's order decides. */
static uint32_t *in_order(const wk_cut *c, wk_arena *arena, const reach *r, const uint32_t *joined,
                          const wk_cut_groups *groups, uint32_t *count) {
  uint32_t *number = wk_arena_alloc(arena, groups->n * sizeof *number);
  uint32_t *before = count_before(arena, r, joined), host = wk_cut_host(c);
  for (uint32_t a = 0; a < groups->n; a++) number[a] = WK_NONE;
  for (*count = 0;;) {
    uint32_t best = WK_NONE;
    for (uint32_t a = 0; a < groups->n; a++) {
      if (joined[a] != a || number[a] != WK_NONE || before[a]) continue;
      if (best == WK_NONE || (groups->target[best] == host && groups->target[a] < host)) best = a;
    }
    if (best == WK_NONE) return number;
    number[best] = (*count)++;
    for (uint32_t x = 0; x < groups->n; x++)
      before[x] -= joined[x] == x && x != best && has(r->to + (size_t)best * r->words, x);
  }
}

wk_cut_groups wk_cut_group(wk_cut *c, const wk_graph *g, const uint32_t *target) {
  wk_cut_groups first = {0}, out = {0};
  wk_arena *arena = wk_arena_new(); /* reachability is large, and islands have it made again */
  first.of = wk_arena_alloc(arena, g->nodes.n * sizeof *first.of);
  first.target = wk_arena_alloc(arena, g->nodes.n * sizeof *first.target);
  first_groups(c, arena, g, target, &first);
  reach r = reach_new(arena, first.n);
  for (size_t i = 0; i < g->nodes.n; i++)
    each_operand(g, &g->nodes.data[i], link_groups, &(linker){first.of, &r, first.of[i]});
  link_variables(c, g, first.of, &r);
  uint32_t *joined = wk_arena_alloc(arena, first.n * sizeof *joined);
  for (uint32_t a = 0; a < first.n; a++) joined[a] = a;
  join(c, &r, &first, joined);
  const uint32_t *number = in_order(c, arena, &r, joined, &first, &out.n);
  out.of = wk_arena_alloc(c->scratch, g->nodes.n * sizeof *out.of);
  out.target = wk_arena_alloc(c->scratch, out.n * sizeof *out.target);
  for (uint32_t a = 0; a < first.n; a++)
    if (joined[a] == a) out.target[number[a]] = first.target[a];
  for (size_t i = 0; i < g->nodes.n; i++) out.of[i] = number[joined[first.of[i]]];
  wk_arena_free(arena);
  return out;
}

/* ---- islands --------------------------------------------------------------------------------- */

typedef struct {
  double own, host, edges; /* picoseconds on its target, on the host; bytes */
  int64_t macs;
} worth;

double wk_cut_node_bytes(const wk_graph *g, const wk_node *n) {
  double bytes = 0;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE) bytes += (double)wk_type_bytes(&wk_val(g, n->in[k])->type);
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != WK_NONE) bytes += (double)wk_type_bytes(&wk_val(g, n->out[k])->type);
  return bytes;
}

double wk_cut_time(wk_target_cost cost, const wk_graph *g, const wk_node *n) {
  return cost.per_mac * (double)wk_node_macs(g, n) + cost.per_byte * wk_cut_node_bytes(g, n);
}

/* Each value once per group that it enters, and once where it leaves. */
static void add_edges(wk_cut *c, const wk_graph *g, const wk_cut_groups *groups, worth *w) {
  wk_uses uses = wk_graph_uses(g, c->scratch);
  uint32_t *seen = wk_arena_alloc(c->scratch, groups->n * sizeof *seen);
  for (size_t v = 0; v < g->values.n; v++) {
    const wk_value *x = &g->values.data[v];
    if (x->kind != WK_VALUE_NODE && x->kind != WK_VALUE_INPUT) continue;
    uint32_t from = x->kind == WK_VALUE_NODE ? groups->of[x->node] : WK_NONE;
    bool leaves = false;
    for (uint32_t k = uses.first[v]; k < uses.first[v + 1]; k++) {
      uint32_t to = uses.uses[k].node == WK_NONE ? WK_NONE : groups->of[uses.uses[k].node];
      if (to == from) continue;
      leaves = true;
      if (to == WK_NONE || seen[to] == v + 1) continue;
      seen[to] = (uint32_t)v + 1;
      w[to].edges += (double)wk_type_bytes(&x->type);
    }
    if (leaves && from != WK_NONE) w[from].edges += (double)wk_type_bytes(&x->type);
  }
}

static void add_work(wk_cut *c, const wk_graph *g, const wk_cut_groups *groups, worth *w) {
  const uint32_t host = wk_cut_host(c);
  for (size_t i = 0; i < g->nodes.n; i++) {
    uint32_t k = groups->of[i];
    const wk_node *n = &g->nodes.data[i];
    if (groups->target[k] >= host) continue;
    w[k].macs += wk_node_macs(g, n);
    w[k].own += wk_cut_time(wk_targets_cost(c->targets, groups->target[k]), g, n);
    w[k].host += wk_cut_time(wk_targets_cost(c->targets, host), g, n);
    if (!wk_cut_takes(c, host, g, n)) w[k].host = INFINITY;
  }
}

/* A part of this target, or of another machine of its kind, multiplies. */
static bool multiplies(const wk_cut *c, const wk_cut_groups *groups, const worth *w,
                       uint32_t target) {
  wk_instance *const *list = c->targets->list;
  for (uint32_t k = 0; k < groups->n; k++)
    if (w[k].macs > 0 && list[groups->target[k]]->target == list[target]->target) return true;
  return false;
}

/* Parts that stay whatever they cost. */
static bool *kept(wk_cut *c, const wk_cut_groups *groups, const worth *w) {
  bool *stays = wk_arena_alloc(c->scratch, groups->n);
  for (uint32_t k = 0; k < groups->n; k++) {
    uint32_t t = groups->target[k];
    stays[k] = t >= wk_cut_host(c) || c->targets->host_by_pin ||
               (c->targets->list[t]->target->keeps_products &&
                (w[k].macs > 0 || !multiplies(c, groups, w, t)));
  }
  return stays;
}

bool wk_cut_move_islands(wk_cut *c, const wk_graph *g, const wk_cut_groups *groups,
                         uint32_t *target) {
  const uint32_t host = wk_cut_host(c);
  worth *w = wk_arena_alloc(c->scratch, groups->n * sizeof *w);
  bool any = false, *moved = wk_arena_alloc(c->scratch, groups->n);
  add_work(c, g, groups, w);
  add_edges(c, g, groups, w);
  const bool *stays = kept(c, groups, w);
  for (uint32_t k = 0; k < groups->n; k++) {
    if (stays[k]) continue;
    const wk_target_cost cost = wk_targets_cost(c->targets, groups->target[k]);
    w[k].own += cost.per_edge_byte * w[k].edges + cost.per_part;
    moved[k] = w[k].own > w[k].host;
    any |= moved[k];
  }
  for (size_t i = 0; any && i < g->nodes.n; i++) {
    uint32_t k = groups->of[i];
    if (!moved[k]) continue;
    const wk_node *n = &g->nodes.data[i];
    wk_part_reason r = {
        .node = wk_arena_strdup(c->p->arena, n->name), .op = wk_op_get(n->op)->name,
        .refused = target[i], .target = host,
        .reason = wk_arena_printf(c->p->arena,
                                  "its part is too small: %.1f us there with %.0f bytes of edges, "
                                  "%.1f us on the host",
                                  w[k].own * 1e-6, w[k].edges, w[k].host * 1e-6)};
    wk_vec_push(&c->p->reasons, r);
    target[i] = host;
  }
  return any;
}
