/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/survey_place.h"

#include <stdlib.h>
#include <string.h>

/* A value of the import, and a node of the report that made it. */
typedef struct { uint32_t node, next; } maker; /* next: another one of the same value; WK_NONE */

typedef struct {
  wk_survey *s;
  wk_survey_run *run;
  const wk_parts *parts;
  wk_arena *scratch;
  wk_map *makers;  /* "graph\nvalue" -> the first in `list` */
  WK_VEC(maker) list;
  wk_map *owners;  /* graph -> index in `bits` */
  WK_VEC(uint64_t *) bits; /* per node of a graph that was cut, the targets that have it */
  wk_map *reasons; /* "node\noperator" -> the first of parts->reasons */
} placing;

/* One graph before and after. */
typedef struct {
  placing *p;
  const wk_graph *before, *after;
  const uint64_t *owner;  /* per node of `after` */
  wk_value_id *now;       /* per value of `before`, that of `after`; WK_NONE: it is gone */
  bool *stays;            /* per value of `after`: one of `before` */
  uint32_t *seen_before, *seen_after, round; /* per value; what has been visited in this round */
  WK_VEC(wk_value_id) todo;
  WK_VEC(wk_node_id) made_of; /* nodes of `after` */
} graph_pair;

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *key_of(placing *p, const char *a, const char *b) {
  return wk_arena_printf(p->scratch, "%s\n%s", a, b);
}

static void list_makers(placing *p) {
  for (size_t i = 0; i < p->s->report.nodes.n; i++) {
    const wk_surveyed *n = &p->s->report.nodes.data[i];
    for (size_t k = 0; k < n->out.n; k++) {
      const char *key = key_of(p, n->out.data[k].graph, n->out.data[k].name);
      maker x = {(uint32_t)i, WK_NONE};
      wk_map_get(p->makers, key, &x.next);
      wk_map_put(p->makers, key, (uint32_t)p->list.n);
      wk_vec_push(&p->list, x);
    }
  }
}

static void list_reasons(placing *p) {
  for (size_t i = p->parts->reasons.n; i-- > 0;) {
    const wk_part_reason *r = &p->parts->reasons.data[i];
    wk_map_put(p->reasons, key_of(p, r->node, r->op), (uint32_t)i);
  }
}

static uint64_t *bits_of(placing *p, const wk_graph *g) {
  uint32_t at = (uint32_t)p->bits.n;
  if (wk_map_get(p->owners, g->name, &at)) return p->bits.data[at];
  uint64_t *fresh = wk_arena_alloc(p->scratch, g->nodes.n * sizeof *fresh);
  wk_map_put(p->owners, g->name, at);
  wk_vec_push(&p->bits, fresh);
  return fresh;
}

static void give_all(placing *p, const wk_graph *g, uint64_t bit);

static void give(placing *p, const wk_graph *g, wk_node_id id, uint64_t bit) {
  const wk_node *n = wk_nod(g, id);
  bits_of(p, g)[id] |= bit;
  for (uint32_t b = 0; b < n->n_bodies; b++) give_all(p, n->bodies[b], bit);
}

static void give_all(placing *p, const wk_graph *g, uint64_t bit) {
  for (size_t i = 0; i < g->nodes.n; i++) give(p, g, (wk_node_id)i, bit);
}

/* What is rows of the plan, and no part's, the host reads. */
static void give_rest(placing *p, const wk_module *cut) {
  uint64_t host = UINT64_C(1) << (p->run->n - 1);
  for (size_t k = 0; k < cut->graphs.n; k++) {
    const wk_graph *g = cut->graphs.data[k];
    uint64_t *bits = bits_of(p, g);
    for (size_t i = 0; i < g->nodes.n; i++)
      if (!bits[i] && g->nodes.data[i].n_bodies) bits[i] = host;
  }
}

static void list_owners(placing *p, const wk_module *cut) {
  for (size_t i = 0; i < p->parts->parts.n; i++) {
    const wk_part *part = &p->parts->parts.data[i];
    uint64_t bit = UINT64_C(1) << part->target;
    if (!part->from) continue;
    if (!part->owns_module) give_all(p, part->from, bit);
    for (size_t k = 0; part->owns_module && k < part->origin.n; k++)
      give(p, part->from, part->origin.data[k], bit);
  }
  give_rest(p, cut);
}

/* ---- values that stay ------------------------------------------------------------------------ */

static wk_value_id output_named(const wk_graph *g, const char *name) {
  for (size_t i = 0; i < g->outputs.n; i++)
    if (strcmp(g->output_names.data[i], name) == 0) return g->outputs.data[i];
  return WK_NONE;
}

static void keep(graph_pair *x, wk_value_id before, wk_value_id after) {
  if (after == WK_NONE || wk_val(x->after, after)->kind != WK_VALUE_NODE) return;
  x->now[before] = after;
  x->stays[after] = true;
}

static void find_values(graph_pair *x) {
  const wk_graph *g = x->before;
  for (size_t v = 0; v < g->values.n; v++) {
    uint32_t id, first;
    const char *name = g->values.data[v].name;
    x->now[v] = WK_NONE;
    if (!wk_map_get(x->p->makers, key_of(x->p, g->name, name), &first)) continue;
    keep(x, (wk_value_id)v, wk_map_get(x->after->names, name, &id) ? id : WK_NONE);
  }
  for (size_t i = 0; i < g->outputs.n; i++)
    if (wk_val(g, g->outputs.data[i])->kind == WK_VALUE_NODE)
      keep(x, g->outputs.data[i], output_named(x->after, g->output_names.data[i]));
}

/* ---- what a value is made of ----------------------------------------------------------------- */

static void visit(graph_pair *x, uint32_t *seen, wk_value_id v) {
  if (v == WK_NONE || seen[v] == x->round) return;
  seen[v] = x->round;
  wk_vec_push(&x->todo, v);
}

static void visit_operands(graph_pair *x, uint32_t *seen, const wk_node *n) {
  for (uint32_t k = 0; k < n->n_in; k++) visit(x, seen, n->in[k]);
}

/* Nodes of `after` behind v, as far as values that stay; their targets. */
static uint64_t walk_after(graph_pair *x, wk_value_id v) {
  uint64_t on = 0;
  x->made_of.n = x->todo.n = 0;
  visit(x, x->seen_after, v);
  for (size_t i = 0; i < x->todo.n; i++) {
    wk_value_id at = x->todo.data[i];
    const wk_value *value = wk_val(x->after, at);
    if (value->kind != WK_VALUE_NODE || (at != v && x->stays[at])) continue;
    on |= x->owner[value->node];
    wk_vec_push(&x->made_of, value->node);
    visit_operands(x, x->seen_after, wk_nod(x->after, value->node));
  }
  return on;
}

static void add_reason(wk_survey_place *place, const wk_survey_reason *r) {
  for (size_t i = 0; i < place->reasons.n; i++)
    if (place->reasons.data[i].refused == r->refused &&
        strcmp(place->reasons.data[i].step, r->step) == 0 &&
        strcmp(place->reasons.data[i].reason, r->reason) == 0)
      return;
  wk_vec_push(&place->reasons, *r);
}

static void add_reasons(graph_pair *x, wk_survey_place *place) {
  for (size_t i = 0; i < x->made_of.n; i++) {
    const wk_node *n = wk_nod(x->after, x->made_of.data[i]);
    const char *op = wk_op_get(n->op)->name;
    uint32_t at;
    if (!wk_map_get(x->p->reasons, key_of(x->p, n->name, op), &at)) continue;
    const wk_part_reason *r = &x->p->parts->reasons.data[at];
    const wk_survey_reason reason = {.step = op, .refused = r->refused,
                                     .reason = wk_arena_strdup(x->p->s->arena, r->reason)};
    if (x->owner[x->made_of.data[i]] >> r->target & 1) add_reason(place, &reason);
  }
}

/* Nodes of the file behind v, as far as values that stay. */
static void walk_before(graph_pair *x, wk_value_id v, uint64_t on) {
  x->todo.n = 0;
  visit(x, x->seen_before, v);
  for (size_t i = 0; i < x->todo.n; i++) {
    wk_value_id at = x->todo.data[i];
    const wk_value *value = wk_val(x->before, at);
    uint32_t m;
    if (value->kind != WK_VALUE_NODE || (at != v && x->now[at] != WK_NONE)) continue;
    if (!wk_map_get(x->p->makers, key_of(x->p, x->before->name, value->name), &m)) m = WK_NONE;
    for (; m != WK_NONE; m = x->p->list.data[m].next) {
      wk_survey_place *place = &x->p->run->place[x->p->list.data[m].node];
      place->on |= on;
      add_reasons(x, place);
    }
    visit_operands(x, x->seen_before, wk_nod(x->before, value->node));
  }
}

static void place_graph(placing *p, const wk_graph *before, const wk_graph *after) {
  wk_arena *a = p->scratch;
  graph_pair x = {.p = p, .before = before, .after = after, .owner = bits_of(p, after),
                  .now = wk_arena_alloc(a, before->values.n * sizeof *x.now),
                  .seen_before = wk_arena_alloc(a, before->values.n * sizeof(uint32_t)),
                  .stays = wk_arena_alloc(a, after->values.n),
                  .seen_after = wk_arena_alloc(a, after->values.n * sizeof(uint32_t))};
  find_values(&x);
  for (size_t v = 0; v < before->values.n; v++) {
    x.round = (uint32_t)v + 1;
    if (x.now[v] != WK_NONE) walk_before(&x, (wk_value_id)v, walk_after(&x, x.now[v]));
  }
  wk_vec_free(&x.todo);
  wk_vec_free(&x.made_of);
}

void wk_survey_place_nodes(wk_survey *s, const wk_module *imported, const wk_module *cut,
                           const wk_parts *parts, wk_survey_run *run) {
  placing p = {.s = s, .run = run, .parts = parts, .scratch = wk_arena_new(),
               .makers = wk_map_new(), .owners = wk_map_new(), .reasons = wk_map_new()};
  wk_map *graphs = wk_map_new();
  list_makers(&p);
  list_reasons(&p);
  list_owners(&p, cut);
  for (size_t k = 0; k < cut->graphs.n; k++)
    wk_map_put(graphs, cut->graphs.data[k]->name, (uint32_t)k);
  for (size_t k = 0; k < imported->graphs.n; k++) {
    uint32_t at;
    if (wk_map_get(graphs, imported->graphs.data[k]->name, &at))
      place_graph(&p, imported->graphs.data[k], cut->graphs.data[at]);
  }
  wk_map_free(graphs);
  wk_map_free(p.makers);
  wk_map_free(p.owners);
  wk_map_free(p.reasons);
  wk_vec_free(&p.list);
  wk_vec_free(&p.bits);
  wk_arena_free(p.scratch);
}
