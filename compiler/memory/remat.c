/* SPDX-License-Identifier: Apache-2.0
 * Rematerialisation. The order is kept: at the place where most bytes live, a block that is neither
 * read nor written there is dropped after its last use before, and what is read of it later is
 * computed again right before its next use, from what lives there anyway. */
#include <stdlib.h>
#include <string.h>

#include "compiler/memory/order_model.h"

/* What an element costs beside multiplications, in these. */
#define MACS_PER_BYTE 0.5
enum { MAX_CHAIN = 64, PATIENCE = 100, MAX_WORK = 1 << 22 };

typedef struct {
  wk_graph *g;
  wk_arena *arena;      /* of one round */
  wk_order_model model;
  int64_t *at;          /* live bytes while each node runs */
  uint32_t peak;        /* the node where most live */
} round_state;

/* What is computed again for one block. */
typedef struct {
  const round_state *r;
  wk_node_id next;                /* before this node */
  wk_node_id chain[MAX_CHAIN];    /* in any order */
  uint32_t n;
  double cost;
} chain;

/* ---- candidates ---------------------------------------------------------------------------- */

static const wk_order_block *block_of(const round_state *r, wk_value_id v) {
  return &r->model.blocks[r->model.block_of[v]];
}

static bool lives_at(const round_state *r, wk_value_id v, wk_node_id next) {
  if (wk_val(r->g, v)->kind != WK_VALUE_NODE) return true;
  const wk_order_block *b = block_of(r, v);
  return b->size == 0 || (b->n_users && b->users[b->n_users - 1] >= next) ||
         b->users[b->n_users - 1] > r->peak;
}

static bool is_in(const chain *c, wk_node_id id) {
  for (uint32_t k = 0; k < c->n; k++)
    if (c->chain[k] == id) return true;
  return false;
}

/* Adds what computes v from what lives at c->next. `dropped`: the block that will not. */
static bool add_chain(chain *c, wk_value_id v, uint32_t dropped) {
  const round_state *r = c->r;
  if (wk_val(r->g, v)->kind != WK_VALUE_NODE) return true;
  bool is_dropped = r->model.block_of[v] == dropped;
  if (!is_dropped && lives_at(r, v, c->next)) return true;
  wk_node_id id = wk_val(r->g, v)->node;
  const wk_node *n = wk_nod(r->g, id);
  if (is_in(c, id)) return true;
  if (c->n == MAX_CHAIN || n->n_bodies || n->again || id > r->peak || n->op == WK_OP_CUSTOM)
    return false;
  c->chain[c->n++] = id;
  c->cost += (double)wk_node_macs(r->g, n);
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != WK_NONE)
      c->cost += MACS_PER_BYTE * (double)wk_type_bytes(&wk_val(r->g, n->out[k])->type);
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE && !add_chain(c, n->in[k], dropped)) return false;
  return n->predicate == WK_NONE || add_chain(c, n->predicate, dropped);
}

/* Whether block b may be dropped across the peak; *c is what it takes. */
static bool may_drop(const round_state *r, uint32_t b, chain *c) {
  const wk_order_block *x = &r->model.blocks[b];
  *c = (chain){.r = r, .next = WK_NONE};
  bool is_before = false;
  for (uint32_t k = 0; k < x->n_users; k++) {
    if (x->users[k] == r->peak) return false;
    is_before = is_before || x->users[k] < r->peak;
    if (x->users[k] > r->peak && c->next == WK_NONE) c->next = x->users[k];
  }
  if (!is_before || c->next == WK_NONE) return false;
  for (uint32_t k = 0; k < x->n_users; k++) {
    const wk_node *n = wk_nod(r->g, x->users[k]);
    if (x->users[k] < r->peak) continue;
    for (uint32_t i = 0; i < n->n_out; i++) /* written in pieces, some of them later */
      if (n->out[i] != WK_NONE && r->model.block_of[n->out[i]] == b &&
          wk_op_get(n->op)->cls != WK_CLASS_MOVEMENT)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
      if (n->in[i] != WK_NONE && r->model.block_of[n->in[i]] == b &&
          wk_val(r->g, n->in[i])->node < r->peak && !add_chain(c, n->in[i], b))
        return false;
  }
  return c->n > 0;
}

/* ---- changing the graph -------------------------------------------------------------------- */

static int by_number(const void *x, const void *y) {
  wk_node_id a = *(const wk_node_id *)x, b = *(const wk_node_id *)y;
  return (a > b) - (a < b);
}

/* Copies of the chain's nodes at the end of the graph; now[v]: what v is from c->next on. */
static wk_status copy_chain(const chain *c, wk_value_id *now) {
  wk_graph *g = c->r->g;
  for (uint32_t k = 0; k < c->n; k++) {
    const wk_node n = *wk_nod(g, c->chain[k]);
    wk_value_id *in = wk_arena_alloc(g->module->arena, n.n_in * sizeof *in);
    wk_value_id *out = wk_arena_alloc(g->module->arena, n.n_out * sizeof *out);
    const char **names = wk_arena_alloc(g->module->arena, n.n_out * sizeof *names);
    for (uint32_t i = 0; i < n.n_in; i++) in[i] = n.in[i] == WK_NONE ? WK_NONE : now[n.in[i]];
    for (uint32_t i = 0; i < n.n_out; i++) names[i] = n.out[i] == WK_NONE ? "" : NULL;
    const wk_node_desc d = {.op = n.op, .name = n.name, .in = in, .n_in = n.n_in,
                            .n_out = n.n_out, .out_names = names,
                            .attrs = wk_attrs_clone(g->module->arena, n.op, n.attrs)};
    WK_TRY(wk_graph_add(g, &d, out));
    wk_node *copy = &g->nodes.data[g->nodes.n - 1];
    copy->again = true;
    copy->counted = n.counted;
    copy->predicate = n.predicate == WK_NONE ? WK_NONE : now[n.predicate];
    for (uint32_t i = 0; i < n.n_out; i++) {
      if (n.out[i] == WK_NONE) continue;
      const wk_value *from = wk_val(g, n.out[i]);
      wk_value *to = wk_val(g, out[i]);
      to->has_order = from->has_order;
      memcpy(to->order, from->order, sizeof to->order);
      now[n.out[i]] = out[i];
    }
  }
  return NULL;
}

static wk_status drop(chain *c) {
  wk_graph *g = c->r->g;
  size_t n = g->nodes.n, n_values = g->values.n, at = 0;
  wk_value_id *now = wk_arena_alloc(c->r->arena, n_values * sizeof *now);
  for (size_t v = 0; v < n_values; v++) now[v] = (wk_value_id)v;
  qsort(c->chain, c->n, sizeof *c->chain, by_number);
  WK_TRY(copy_chain(c, now));
  for (size_t i = c->next; i < n; i++) {
    wk_node *x = wk_nod(g, (wk_node_id)i);
    for (uint32_t k = 0; k < x->n_in; k++)
      if (x->in[k] != WK_NONE) x->in[k] = now[x->in[k]];
    if (x->predicate != WK_NONE) x->predicate = now[x->predicate];
  }
  uint32_t *order = wk_arena_alloc(c->r->arena, g->nodes.n * sizeof *order);
  for (size_t i = 0; i < n; i++) {
    for (size_t k = n; i == c->next && k < g->nodes.n; k++) order[at++] = (uint32_t)k;
    order[at++] = (uint32_t)i;
  }
  wk_order_apply(g, order);
  return NULL;
}

/* ---- rounds -------------------------------------------------------------------------------- */

static round_state look(wk_graph *g, const int64_t *peaks, wk_arena *arena) {
  round_state r = {.g = g, .arena = arena, .model = wk_order_model_of(g, peaks, arena)};
  r.at = wk_arena_alloc(arena, g->nodes.n * sizeof *r.at);
  wk_order_profile(&r.model, r.at);
  for (size_t i = 0; i < g->nodes.n; i++)
    if (r.at[i] > r.at[r.peak]) r.peak = (uint32_t)i;
  return r;
}

/* The cheapest block to drop where most live. */
static bool choose(const round_state *r, chain *best) {
  double least = 0;
  bool found = false;
  for (size_t b = 0; b < r->model.n_blocks; b++) {
    const wk_order_block *x = &r->model.blocks[b];
    chain c;
    if (x->size == 0 || x->n_users < 2 || x->users[0] > r->peak) continue;
    if (x->users[x->n_users - 1] < r->peak || !may_drop(r, (uint32_t)b, &c)) continue;
    double cost = c.cost / (double)x->size;
    if (found && cost >= least) continue;
    least = cost;
    *best = c;
    found = true;
  }
  return found;
}

typedef struct {
  int64_t least;
  int64_t rounds; /* until it was reached */
} progress;

/* Drops blocks until the peak is within the budget, so many rounds are over, or many have gone by
 * without a lower peak: each looks at the whole graph. */
static wk_status run(wk_module *m, const int64_t *peaks, int64_t budget, int64_t rounds,
                     progress *p) {
  *p = (progress){.least = INT64_MAX};
  for (int64_t k = 0;; k++) {
    wk_arena *arena = wk_arena_new();
    round_state r = look(m->main, peaks, arena);
    int64_t peak = m->main->nodes.n ? r.at[r.peak] : 0;
    chain c;
    wk_status s = NULL;
    if (peak < p->least) *p = (progress){peak, k};
    bool ends = peak <= budget || k >= rounds || k - p->rounds > PATIENCE || !choose(&r, &c);
    if (!ends) s = drop(&c);
    wk_arena_free(arena);
    if (s || ends) return s;
  }
}

/* Per graph but the main one, what running it as a body needs. */
static void body_peaks(const wk_module *m, int64_t *peaks) {
  for (size_t k = m->graphs.n; k-- > 0;) {
    wk_arena *arena = wk_arena_new();
    if (m->graphs.data[k] != m->main) {
      wk_order_model model = wk_order_model_of(m->graphs.data[k], peaks, arena);
      peaks[k] = wk_order_profile(&model, NULL);
    }
    wk_arena_free(arena);
  }
}

static void count_copies(const wk_graph *g, wk_remat_report *report) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead || !n->again) continue;
    report->nodes++;
    report->macs += wk_node_macs(g, n);
  }
}

wk_status wk_rematerialise(wk_module *m, int64_t budget, wk_remat_report *report) {
  int64_t in_order;
  progress p;
  *report = (wk_remat_report){0};
  WK_TRY(wk_order_nodes(m, &in_order, &report->before));
  report->peak = report->least = report->before;
  if (budget == INT64_MAX) return NULL;
  int64_t *peaks = wk_xcalloc(m->graphs.n, sizeof *peaks);
  body_peaks(m, peaks);
  int64_t rounds = MAX_WORK / ((int64_t)m->main->nodes.n + 1);
  wk_module *trial = wk_module_clone(m);
  wk_status s = run(trial, peaks, 0, rounds, &p);
  wk_module_free(trial);
  report->least = p.least;
  if (!s && p.least > budget)
    s = wk_error(WK_RESOURCE, "the memory budget of %lld bytes is too small: %lld are needed at "
                 "least, and %lld without computing anything again", (long long)budget,
                 (long long)p.least, (long long)report->before);
  if (!s) s = run(m, peaks, budget, rounds, &p);
  free(peaks);
  WK_TRY(s);
  report->peak = p.least;
  count_copies(m->main, report);
  return wk_module_verify(m);
}
