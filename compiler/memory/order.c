/* SPDX-License-Identifier: Apache-2.0
 * Ordering of nodes for a small peak of live bytes.
 *
 * Memory model: values that a movement operator makes visible share one block (order_model.c). A
 * block is live from its first to its last node; a node whose dying elementwise operand has the
 * size of its result takes over that operand's block.
 *
 * A node to which every other node is an ancestor or a descendant is a cut: the peak of the
 * whole is the largest of the peaks between cuts. Between two cuts all schedules are explored
 * level by level; a state is the set of nodes done, of which the live bytes are a function, so
 * only the smallest peak by which it was reached matters. At most BEAM states of a level are
 * kept, those with the smallest peak (then fewest live bytes, then first found, which prefers
 * the present order): regions that never fill the beam are solved exactly. */
#include <stdlib.h>
#include <string.h>

#include "compiler/memory/order_model.h"

#define BEAM 64
#define WORK 64000 /* states of a region: longer regions get a narrower beam */

typedef struct {
  uint64_t *done; /* set over the region's nodes; behind it the set of those ready to run */
  int64_t live, peak;
  uint32_t parent, node; /* how it was reached: state of the level before, region node */
  uint32_t number;       /* in which it was found in its level */
  uint64_t hash;         /* of `done` */
} state;

typedef struct {
  const wk_order_model *m;
  const uint32_t *nodes; /* graph node ids of the region, ascending */
  uint32_t n, beam;
  size_t words;
  wk_arena *arena;
  const int32_t *local; /* graph node -> region index, -1 outside */
  const bool *before;   /* graph nodes of earlier regions */
  /* successors of region node i: next[next_at[i] .. next_at[i + 1]) */
  const uint32_t *next_at, *next;
} region;

static bool has(const uint64_t *set, uint32_t i) { return set[i / 64] >> (i % 64) & 1; }

static bool is_done(const region *r, const uint64_t *done, uint32_t node) {
  return r->local[node] >= 0 ? has(done, (uint32_t)r->local[node]) : r->before[node];
}

static void put(uint64_t *set, uint32_t i) { set[i / 64] |= 1ull << (i % 64); }

static bool is_ready(const region *r, const uint64_t *done, uint32_t i) {
  const wk_order_node *n = &r->m->nodes[r->nodes[i]];
  for (uint32_t k = 0; k < n->n_preds; k++)
    if (!is_done(r, done, n->preds[k])) return false;
  return true;
}

/* All nodes that touch the block are done once `node` is too. */
static bool dies_with(const region *r, const uint64_t *done, const wk_order_block *b,
                      uint32_t node) {
  for (uint32_t k = 0; k < b->n_users; k++)
    if (b->users[k] != node && !is_done(r, done, b->users[k])) return false;
  return true;
}

static bool is_born_with(const region *r, const uint64_t *done, const wk_order_block *b,
                         uint32_t node) {
  for (uint32_t k = 0; k < b->n_users; k++)
    if (b->users[k] != node && is_done(r, done, b->users[k])) return false;
  return true;
}

/* Live bytes after running the node, and the most while it runs. */
static void run(const region *r, const state *s, uint32_t node, int64_t *live, int64_t *peak) {
  const wk_order_node *n = &r->m->nodes[node];
  int64_t born = 0, dead = 0, reuse = 0;
  for (uint32_t k = 0; k < n->n_blocks; k++) {
    const wk_order_block *b = &r->m->blocks[n->blocks[k]];
    if (b->size == 0) continue;
    bool birth = is_born_with(r, s->done, b, node), death = dies_with(r, s->done, b, node);
    if (birth) born += b->size;
    if (death) dead += b->size;
    if (birth)
      for (uint32_t j = 0; j < n->n_inplace && !reuse; j++) {
        const wk_order_block *x = &r->m->blocks[n->inplace[j]];
        if (x->size == b->size && !is_born_with(r, s->done, x, node) &&
            dies_with(r, s->done, x, node))
          reuse = b->size;
      }
  }
  *peak = s->live + born - reuse + n->transient;
  *live = s->live + born - dead;
}

static int better(const void *x, const void *y) {
  const state *a = x, *b = y;
  if (a->peak != b->peak) return a->peak < b->peak ? -1 : 1;
  if (a->live != b->live) return a->live < b->live ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

typedef struct {
  state *s;
  uint32_t n;
} level;

/* The states of the level in the making, by the set of nodes done. */
typedef struct {
  WK_VEC(state) all;
  uint32_t *table; /* index + 1, 0: free; `slots` a power of two, at most half full */
  size_t slots;
  wk_arena *arena; /* of the sets */
} level_set;

static void rehash(level_set *l, size_t slots) {
  free(l->table);
  l->table = wk_xcalloc(slots, sizeof *l->table);
  l->slots = slots;
  for (uint32_t i = 0; i < l->all.n; i++) {
    size_t at = l->all.data[i].hash & (slots - 1);
    while (l->table[at]) at = (at + 1) & (slots - 1);
    l->table[at] = i + 1;
  }
}

/* What is ready once region node i has run in state s. */
static void set_ready(const region *r, const state *s, uint32_t i, uint64_t *done) {
  uint64_t *ready = done + r->words;
  memcpy(ready, s->done + r->words, r->words * sizeof *ready);
  ready[i / 64] &= ~(1ull << (i % 64));
  for (uint32_t k = r->next_at[i]; k < r->next_at[i + 1]; k++)
    if (is_ready(r, done, r->next[k])) put(ready, r->next[k]);
}

/* The state reached from `s` by region node i; a new one has peak INT64_MAX. `set`: its nodes
 * done. */
static state *state_of(const region *r, level_set *l, const state *s, uint32_t i,
                       const uint64_t *set) {
  size_t bytes = r->words * sizeof *set;
  if (l->all.n * 2 >= l->slots) rehash(l, l->slots ? l->slots * 2 : 64);
  uint64_t hash = wk_hash64(set, bytes, 0);
  size_t at = hash & (l->slots - 1);
  for (; l->table[at]; at = (at + 1) & (l->slots - 1)) {
    state *known = &l->all.data[l->table[at] - 1];
    if (known->hash == hash && !memcmp(known->done, set, bytes)) return known;
  }
  state fresh = {.done = wk_arena_alloc(l->arena, 2 * bytes),
                 .hash = hash,
                 .peak = INT64_MAX,
                 .number = (uint32_t)l->all.n};
  memcpy(fresh.done, set, bytes);
  set_ready(r, s, i, fresh.done);
  wk_vec_push(&l->all, fresh);
  l->table[at] = (uint32_t)l->all.n;
  return &l->all.data[l->all.n - 1];
}

/* A step that a state may take. */
typedef struct {
  int64_t peak, live;
  uint32_t node;
} move;

static int better_move(const void *x, const void *y) {
  const move *a = x, *b = y;
  if (a->peak != b->peak) return a->peak < b->peak ? -1 : 1;
  if (a->live != b->live) return a->live < b->live ? -1 : 1;
  return (a->node > b->node) - (a->node < b->node);
}

static void step(const region *r, const level *from, uint32_t parent, const move *take,
                 uint64_t *set, level_set *to) {
  const state *s = &from->s[parent];
  memcpy(set, s->done, r->words * sizeof *set);
  put(set, take->node);
  state *t = state_of(r, to, s, take->node, set);
  if (take->peak >= t->peak) return;
  t->live = take->live;
  t->peak = take->peak;
  t->parent = parent;
  t->node = take->node;
}

/* The moves worth trying, in moves[0 .. n). A node that neither raises the peak nor leaves more
 * alive is run at once: what runs later finds at least as much room (running more nodes never
 * makes another node's net need larger). More moves than the beam is wide: the best of them. */
static uint32_t moves_of(const region *r, const state *s, move *moves) {
  uint32_t n = 0;
  for (size_t w = 0; w < r->words; w++)
    for (uint64_t left = s->done[r->words + w]; left; left &= left - 1) {
      move *m = &moves[n++];
      m->node = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left);
      run(r, s, r->nodes[m->node], &m->live, &m->peak);
      if (m->peak < s->peak) m->peak = s->peak;
      if (m->peak > s->peak || m->live > s->live) continue;
      moves[0] = *m;
      return 1;
    }
  if (n <= r->beam) return n;
  qsort(moves, n, sizeof *moves, better_move);
  return r->beam;
}

/* The states of `from` lie in `old`, those kept of the next level in the arena returned. */
static wk_arena *expand(const region *r, const level *from, level *to, wk_arena *old) {
  level_set next = {.arena = wk_arena_new()};
  uint64_t *set = wk_xcalloc(r->words, sizeof *set);
  move *moves = wk_xmalloc(r->n * sizeof *moves);
  for (uint32_t p = 0; p < from->n; p++) {
    uint32_t n = moves_of(r, &from->s[p], moves);
    for (uint32_t k = 0; k < n; k++) step(r, from, p, &moves[k], set, &next);
  }
  free(moves);
  free(set);
  free(next.table);
  wk_arena_free(old);
  if (next.all.n) qsort(next.all.data, next.all.n, sizeof *next.all.data, better);
  to->n = next.all.n > r->beam ? r->beam : (uint32_t)next.all.n;
  to->s = wk_arena_memdup(r->arena, next.all.data, to->n * sizeof *to->s);
  wk_vec_free(&next.all);
  return next.arena;
}

static void list_successors(region *r) {
  uint32_t *at = wk_arena_alloc(r->arena, (r->n + 2) * sizeof *at), total = 0;
  for (int fill = 0; fill < 2; fill++) {
    uint32_t *next = fill ? wk_arena_alloc(r->arena, total * sizeof *next) : NULL;
    for (uint32_t i = 0; i < r->n; i++) {
      const wk_order_node *n = &r->m->nodes[r->nodes[i]];
      for (uint32_t k = 0; k < n->n_preds; k++) {
        int32_t p = r->local[n->preds[k]];
        if (p < 0) continue;
        if (fill) next[at[p + 1]++] = i; /* as it fills, at[p + 1] moves to where p + 1 starts */
        else at[p + 2]++, total++;
      }
    }
    for (uint32_t i = 2; !fill && i < r->n + 2; i++) at[i] += at[i - 1];
    r->next = next;
  }
  r->next_at = at;
}

/* Schedules one region; returns its peak and the live bytes behind it. */
static int64_t schedule(region *r, int64_t live, uint32_t *out, int64_t *live_after) {
  level *levels = wk_arena_alloc(r->arena, (r->n + 1) * sizeof *levels);
  state start = {.done = wk_arena_alloc(r->arena, 2 * r->words * sizeof(uint64_t)),
                 .live = live,
                 .peak = live};
  list_successors(r);
  for (uint32_t i = 0; i < r->n; i++)
    if (is_ready(r, start.done, i)) put(start.done + r->words, i);
  levels[0] = (level){.s = wk_arena_memdup(r->arena, &start, sizeof start), .n = 1};
  wk_arena *sets = wk_arena_new(); /* of the level that is expanded: older ones are not read */
  for (uint32_t i = 0; i < r->n; i++) sets = expand(r, &levels[i], &levels[i + 1], sets);
  wk_arena_free(sets);
  const state *s = &levels[r->n].s[0];
  *live_after = s->live;
  int64_t peak = s->peak;
  for (uint32_t i = r->n; i-- > 0;) {
    out[i] = r->nodes[s->node];
    s = &levels[i].s[s->parent];
  }
  return peak;
}

/* ---- cuts ------------------------------------------------------------------------------------ */

/* Node i of the present order is a cut when no edge jumps over it, nothing before it ends
 * without a successor and nothing behind it starts without a predecessor: then every other node
 * reaches it or is reached from it. */
static void find_cuts(const wk_order_model *m, bool *cut) {
  bool *has_successor = wk_xcalloc(m->n_nodes, 1);
  int64_t *reach = wk_xcalloc(m->n_nodes, sizeof *reach), furthest = -1;
  for (size_t i = 0; i < m->n_nodes; i++)
    for (uint32_t k = 0; k < m->nodes[i].n_preds; k++) {
      has_successor[m->nodes[i].preds[k]] = true;
      reach[m->nodes[i].preds[k]] = (int64_t)i; /* ascending: the last one stays */
    }
  bool ended = false, starts_behind = false;
  for (size_t i = 0; i < m->n_nodes; i++) {
    cut[i] = furthest <= (int64_t)i && !ended;
    if (has_successor[i] && reach[i] > furthest) furthest = reach[i];
    ended |= !has_successor[i];
  }
  for (size_t i = m->n_nodes; i-- > 0;) {
    cut[i] = cut[i] && !starts_behind;
    starts_behind |= m->nodes[i].n_preds == 0;
  }
  free(has_successor);
  free(reach);
}

static int64_t order_graph(const wk_order_model *m, uint32_t *out) {
  bool *cut = wk_xcalloc(m->n_nodes, 1), *before = wk_xcalloc(m->n_nodes, 1);
  int32_t *local = wk_xmalloc(m->n_nodes * sizeof *local);
  uint32_t *nodes = wk_xmalloc(m->n_nodes * sizeof *nodes);
  for (size_t i = 0; i < m->n_nodes; i++) local[i] = -1;
  find_cuts(m, cut);
  int64_t live = 0, peak = 0;
  for (size_t begin = 0; begin < m->n_nodes;) {
    size_t end = begin + 1;
    while (end < m->n_nodes && !cut[end - 1]) end++;
    wk_arena *arena = wk_arena_new();
    region r = {.m = m,
                .nodes = nodes,
                .n = (uint32_t)(end - begin),
                .arena = arena,
                .local = local,
                .before = before};
    r.words = r.n / 64 + 1;
    r.beam = r.n * BEAM <= WORK ? BEAM : WORK / r.n > 4 ? WORK / r.n : 4;
    for (size_t i = begin; i < end; i++) {
      nodes[i - begin] = (uint32_t)i;
      local[i] = (int32_t)(i - begin);
    }
    int64_t p = schedule(&r, live, out + begin, &live);
    if (p > peak) peak = p;
    for (size_t i = begin; i < end; i++) {
      local[i] = -1;
      before[i] = true;
    }
    wk_arena_free(arena);
    begin = end;
  }
  free(cut);
  free(before);
  free(local);
  free(nodes);
  return peak;
}

int64_t wk_order_profile(const wk_order_model *m, int64_t *at) {
  int32_t *local = wk_xmalloc(m->n_nodes * sizeof *local);
  bool *before = wk_xcalloc(m->n_nodes, 1);
  for (size_t i = 0; i < m->n_nodes; i++) local[i] = -1;
  uint64_t none = 0;
  region r = {.m = m, .local = local, .before = before, .words = 1};
  state s = {.done = &none};
  int64_t peak = 0;
  for (size_t i = 0; i < m->n_nodes; i++) {
    int64_t p, live;
    run(&r, &s, (uint32_t)i, &live, &p);
    if (p > peak) peak = p;
    if (at) at[i] = p;
    s.live = live;
    before[i] = true;
  }
  free(local);
  free(before);
  return peak;
}

void wk_order_apply(wk_graph *g, const uint32_t *order) {
  wk_node *sorted = wk_xmalloc(g->nodes.n * sizeof *sorted);
  for (size_t i = 0; i < g->nodes.n; i++) {
    sorted[i] = g->nodes.data[order[i]];
    for (uint32_t k = 0; k < sorted[i].n_out; k++)
      if (sorted[i].out[k] != WK_NONE) wk_val(g, sorted[i].out[k])->node = (wk_node_id)i;
  }
  if (g->nodes.n) memcpy(g->nodes.data, sorted, g->nodes.n * sizeof *sorted);
  free(sorted);
}

/* The search goes on from an order that is allowed. */
static wk_order_model allowed_model(wk_graph *g, const int64_t *peaks, wk_arena *arena) {
  wk_order_model m = wk_order_model_of(g, peaks, arena);
  if (wk_graph_plain_outputs(g) == g->outputs.n) return m;
  uint32_t *order = wk_arena_alloc(arena, g->nodes.n * sizeof *order);
  wk_order_sort(&m, order, arena);
  wk_order_apply(g, order);
  return wk_order_model_of(g, peaks, arena);
}

/* Bodies come after their owners in the module: from the last graph to the first, the needs of all
 * bodies are known when their owner is ordered. */
wk_status wk_order_nodes(wk_module *m, int64_t *peak_before, int64_t *peak_after) {
  int64_t *peaks = wk_xcalloc(m->graphs.n, sizeof *peaks);
  *peak_before = *peak_after = 0;
  for (size_t k = m->graphs.n; k-- > 0;) {
    wk_graph *g = m->graphs.data[k];
    wk_arena *arena = wk_arena_new();
    wk_order_model model = allowed_model(g, peaks, arena);
    uint32_t *order = wk_arena_alloc(arena, g->nodes.n * sizeof *order);
    int64_t present = wk_order_profile(&model, NULL), best = order_graph(&model, order);
    if (best < present) wk_order_apply(g, order);
    peaks[k] = best < present ? best : present;
    if (g == m->main) {
      *peak_before = present;
      *peak_after = peaks[k];
    }
    wk_arena_free(arena);
  }
  free(peaks);
  return NULL;
}
