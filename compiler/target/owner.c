/* SPDX-License-Identifier: Apache-2.0
 * Who has a node: the one answer that fusion and the partition go by. */
#include <stdlib.h>

#include "compiler/target/target.h"

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

/* Bodies see nothing of each other, so a work list does. */
bool wk_targets_takes(const wk_targets *all, uint32_t target, const wk_graph *g, const wk_node *n,
                      wk_arena *a, const char **reason) {
  typedef struct {
    const wk_graph *g;
    const wk_node *n;
  } item;
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
