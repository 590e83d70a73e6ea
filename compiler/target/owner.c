/* SPDX-License-Identifier: Apache-2.0
 * Who has a node: the one answer that fusion and the partition go by. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/target/target.h"

uint32_t wk_targets_pinned(const wk_targets *all, const wk_node *n) {
  for (size_t i = all->n_pins; i-- > 0;)
    if (n->name && !fnmatch(all->pins[i].pattern, n->name, 0)) return all->pins[i].target;
  return WK_NONE;
}

wk_instance_name wk_targets_name(const wk_targets *all, uint32_t i) {
  const wk_instance *t = all->list[i];
  wk_instance_name x;
  size_t kind = 0, before = 0;
  for (size_t k = 0; k < all->n; k++) {
    const wk_instance *y = all->list[k];
    kind += y->target == t->target;
    bool is_same = t->spec && y->spec ? !strcmp(t->spec, y->spec) : t->spec == y->spec;
    before += k < i && y->target == t->target && is_same;
  }
  bool is_named = kind > 1 && t->spec;
  int n = snprintf(x.s, sizeof x.s, "%s%s%s", t->target->name, is_named ? ":" : "",
                   is_named ? t->spec : "");
  if (before && n < (int)sizeof x.s)
    snprintf(x.s + n, sizeof x.s - (size_t)n, "#%zu", before + 1);
  return x;
}

wk_target_cost wk_targets_cost(const wk_targets *all, uint32_t i) {
  const wk_instance *t = all->list[i];
  return t->target->cost_of ? t->target->cost_of(t) : t->target->cost;
}

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

/* Why a target is not asked; NULL: it is. A model with variables is the host's as a whole: rows of
 * the plan say nothing of when a variable is read and changed. */
static const char *not_asked(const wk_targets *all, uint32_t target, const wk_graph *g,
                             const wk_node *n, wk_arena *a) {
  const wk_graph *model = g->module->main;
  bool is_host = all->has_host && target + 1 == all->n;
  uint32_t pinned = wk_targets_pinned(all, n);
  if (pinned != WK_NONE && pinned != target)
    return wk_arena_printf(a, "--place has it on %s", wk_targets_name(all, pinned).s);
  bool has_variables = wk_graph_plain_inputs(model) < model->inputs.n;
  return has_variables && !is_host ? "the model has variables, which are the host's" : NULL;
}

/* Bodies see nothing of each other, so a work list does. */
bool wk_targets_takes(const wk_targets *all, uint32_t target, const wk_graph *g, const wk_node *n,
                      wk_arena *a, const char **reason) {
  typedef struct {
    const wk_graph *g;
    const wk_node *n;
  } item;
  const char *refusal = not_asked(all, target, g, n, a);
  if (refusal) return *reason = refusal, false;
  WK_VEC(item) todo = {0};
  bool fine = true;
  wk_vec_push(&todo, ((item){g, n}));
  for (size_t at = 0; at < todo.n && fine; at++) {
    item x = todo.data[at];
    const char *why = "no reason given";
    fine = supports_one(all, target, x.g, x.n, a, &why);
    if (!fine)
      *reason = at ? wk_arena_printf(a, "in its body: %s: %s", wk_op_get(x.n->op)->name, why) : why;
    for (uint32_t b = 0; b < x.n->n_bodies && fine; b++)
      for (size_t k = 0; k < x.n->bodies[b]->nodes.n; k++)
        wk_vec_push(&todo, ((item){x.n->bodies[b], &x.n->bodies[b]->nodes.data[k]}));
  }
  wk_vec_free(&todo);
  return fine;
}

uint32_t wk_targets_owner(const wk_targets *all, const wk_graph *g, const wk_node *n,
                          wk_arena *a) {
  const char *ignored;
  for (uint32_t i = 0; i < all->n; i++)
    if (wk_targets_takes(all, i, g, n, a, &ignored)) return i;
  return (uint32_t)all->n;
}
