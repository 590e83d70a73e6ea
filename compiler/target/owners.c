/* SPDX-License-Identifier: Apache-2.0
 * The table of who has a node. */
#include "compiler/target/owners.h"

#include <stdlib.h>
#include <string.h>

/* An operator that stayed whole because some target claimed it; lowering expands it for others. */
static bool is_whole(const wk_node *n) {
  return wk_op_get(n->op)->kind == WK_KIND_GRAPH && wk_op_get(n->op)->cls != WK_CLASS_MOVEMENT &&
         n->op != WK_OP_IDENTITY;
}

/* Instructions have no predicates. */
static bool loses_predicate(const wk_target *t, const wk_node *n) {
  return n->predicate != WK_NONE && !(t->takes_graph && t->keeps_predicates);
}

/* A whole operator is for those that claim it, and for the host, which has code for what it is
 * expanded into. */
static bool supports_one(const wk_targets *all, uint32_t target, const wk_graph *g,
                         const wk_node *n, wk_arena *a, const char **reason) {
  const wk_instance *t = all->list[target];
  if (loses_predicate(t->target, n)) {
    *reason = wk_arena_printf(a, "its predicate %%%s would be lost", wk_val(g, n->predicate)->name);
    return false;
  }
  if (!is_whole(n) || (t->target->claims && t->target->claims(t, g, n)))
    return t->target->supports(t, g, n, a, reason);
  *reason = "another target claims it, this one does not";
  return target + 1 == all->n && all->has_host;
}

static bool has_trained_variables(const wk_graph *g) {
  bool any = false;
  for (size_t i = wk_graph_plain_inputs(g); i < g->inputs.n; i++)
    any = any || wk_val(g, g->inputs.data[i])->is_trainable;
  return any;
}

/* The node that makes v, and nothing else; NULL: there is none. */
static const wk_node *maker(const wk_graph *g, wk_value_id v) {
  const wk_node *n = wk_def(g, v);
  return n && n->n_out == 1 ? n : NULL;
}

static bool only_writes_or_moves(const wk_node *n) {
  return n->op == WK_OP_SCATTER_ND || n->op == WK_OP_SCATTER_ELEMENTS ||
         wk_op_get(n->op)->cls == WK_CLASS_MOVEMENT;
}

/* Per node: it makes the update of a variable, or writes into what is only moved to become that:
 * where the variable lies, then. */
static bool *updaters(const wk_graph *g, wk_arena *a) {
  enum { MOST_STEPS = 4 };
  bool *is = wk_arena_alloc(a, g->nodes.n);
  if (wk_graph_plain_outputs(g) == g->outputs.n) return is;
  wk_arena *scratch = wk_arena_new();
  const wk_uses uses = wk_graph_uses(g, scratch);
  for (size_t i = wk_graph_plain_outputs(g); i < g->outputs.n; i++) {
    const wk_node *n = maker(g, g->outputs.data[i]);
    for (int k = 0; k < MOST_STEPS && n; k++) {
      is[n - g->nodes.data] = true;
      const wk_value_id from = n->n_in ? n->in[0] : WK_NONE;
      n = from != WK_NONE && wk_use_count(&uses, from) == 1 ? maker(g, from) : NULL;
      if (n && !only_writes_or_moves(n)) n = NULL;
    }
  }
  wk_arena_free(scratch);
  return is;
}

/* Only the host's programs have variables: it changes them, and others read them in the state, as
 * they are before the row that does, or behind it. What never changes has no such row. */
static const char *touches_variable(const wk_graph *g, const wk_node *n, bool updates) {
  if (wk_graph_plain_inputs(g) == g->inputs.n) return NULL;
  if (has_trained_variables(g)) return "the model has variables that training changes, which are "
                                       "the host's";
  for (uint32_t k = 0; k < n->n_in; k++)
    if (wk_is_variable(g, n->in[k]) && wk_graph_new_value(g, n->in[k]) == WK_NONE)
      return "it reads a variable that no run changes, which is the host's";
  bool makes = updates;
  for (uint32_t k = 0; k < n->n_out; k++)
    makes = makes || (n->out[k] != WK_NONE && wk_is_update(g, n->out[k]));
  return makes ? "it makes what a variable becomes, which the host does" : NULL;
}

/* Why a target is not asked; NULL: it is. */
static const char *not_asked(const wk_targets *all, uint32_t target, const wk_graph *g,
                             const wk_node *n, bool updates, wk_arena *a) {
  bool is_host = all->has_host && target + 1 == all->n;
  uint32_t pinned = wk_targets_pinned(all, n);
  if (is_host && all->host_by_pin && !all->host_at_ends && pinned != target)
    return "--no-host, and no --place has it there";
  if (pinned != WK_NONE && pinned != target)
    return wk_arena_printf(a, "--place has it on %s", wk_targets_name(all, pinned).s);
  return is_host ? NULL : touches_variable(g, n, updates);
}

/* Bodies see nothing of each other, so a work list does. NULL: it takes it. */
static const char *refusal(const wk_targets *all, uint32_t target, const wk_graph *g,
                           const wk_node *n, bool updates, wk_arena *a) {
  typedef struct {
    const wk_graph *g;
    const wk_node *n;
  } item;
  const char *why = not_asked(all, target, g, n, updates, a);
  if (why) return why;
  WK_VEC(item) todo = {0};
  wk_vec_push(&todo, ((item){g, n}));
  for (size_t at = 0; at < todo.n && !why; at++) {
    item x = todo.data[at];
    const char *reason = "no reason given";
    if (!supports_one(all, target, x.g, x.n, a, &reason))
      why = at ? wk_arena_printf(a, "in its body: %s: %s", wk_op_get(x.n->op)->name, reason)
               : reason;
    for (uint32_t b = 0; b < x.n->n_bodies && !why; b++)
      for (size_t k = 0; k < x.n->bodies[b]->nodes.n; k++)
        wk_vec_push(&todo, ((item){x.n->bodies[b], &x.n->bodies[b]->nodes.data[k]}));
  }
  wk_vec_free(&todo);
  return why;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Of one target about one node. */
typedef struct {
  bool is_asked;
  const char *refusal; /* NULL: it takes it */
} answer;

/* Of one graph: for each node, an answer of each target. */
typedef struct {
  const wk_graph *g;
  size_t n; /* nodes that have a row */
  answer *answers;
  bool *updates; /* updaters, of this many nodes */
  size_t n_updates;
} page;

struct wk_owners {
  const wk_targets *all;
  wk_arena *arena; /* of reasons and answers */
  WK_VEC(page) pages;
};

wk_owners *wk_owners_new(const wk_targets *all) {
  wk_owners *o = wk_xcalloc(1, sizeof *o);
  o->all = all;
  o->arena = wk_arena_new();
  return o;
}

void wk_owners_free(wk_owners *o) {
  if (!o) return;
  wk_vec_free(&o->pages);
  wk_arena_free(o->arena);
  free(o);
}

const wk_targets *wk_owners_targets(const wk_owners *o) { return o->all; }

void wk_owners_forget(wk_owners *o) {
  o->pages.n = 0;
  wk_arena_reset(o->arena);
}

static page *page_of(wk_owners *o, const wk_graph *g) {
  for (size_t i = o->pages.n; i-- > 0;)
    if (o->pages.data[i].g == g) return &o->pages.data[i];
  wk_vec_push(&o->pages, ((page){.g = g}));
  return &o->pages.data[o->pages.n - 1];
}

/* A graph grows while fusion works on it. */
static answer *row_of(wk_owners *o, const wk_graph *g, wk_node_id node) {
  page *p = page_of(o, g);
  if (node >= p->n) {
    size_t n = g->nodes.n > 2 * p->n ? g->nodes.n : 2 * p->n;
    answer *more = wk_arena_alloc(o->arena, n * o->all->n * sizeof *more);
    if (p->n) memcpy(more, p->answers, p->n * o->all->n * sizeof *more);
    p->answers = more;
    p->n = n;
  }
  return &p->answers[node * o->all->n];
}

/* Of nodes that have come since the table was made it knows nothing. */
static bool is_updater(wk_owners *o, const wk_graph *g, wk_node_id node) {
  page *p = page_of(o, g);
  if (!p->updates) {
    p->updates = updaters(g, o->arena);
    p->n_updates = g->nodes.n;
  }
  return node < p->n_updates && p->updates[node];
}

bool wk_owners_takes(wk_owners *o, uint32_t target, const wk_graph *g, wk_node_id node,
                     const char **reason) {
  answer *a = &row_of(o, g, node)[target];
  if (!a->is_asked)
    *a = (answer){true, refusal(o->all, target, g, wk_nod(g, node), is_updater(o, g, node),
                                o->arena)};
  if (a->refusal) *reason = a->refusal;
  return !a->refusal;
}

uint32_t wk_owners_first(wk_owners *o, const wk_graph *g, wk_node_id node) {
  const char *ignored;
  uint32_t t = 0;
  while (t < o->all->n && !wk_owners_takes(o, t, g, node, &ignored)) t++;
  return t;
}
