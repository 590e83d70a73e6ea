/* SPDX-License-Identifier: Apache-2.0
 * From a node of a part to the nodes of the module that it was made of. Passes within the part may
 * have fused and renamed them; values that are still there go by their names. */
#include <stdlib.h>
#include <string.h>

#include "compiler/part/part.h"

typedef struct {
  const wk_part *part;
  const char *reason;
  wk_part_refusals *out;
  bool any; /* something was added */
} refusing;

const char *wk_part_refused(const wk_part_refusals *r, uint32_t target, const wk_graph *g,
                            const wk_node *n) {
  for (size_t i = 0; r && i < r->list.n; i++) {
    const wk_part_refusal *x = &r->list.data[i];
    if (x->target != target || strcmp(x->graph, g->name) != 0) continue;
    for (uint32_t k = 0; k < n->n_out; k++)
      if (n->out[k] != WK_NONE && !strcmp(x->value, wk_val(g, n->out[k])->name)) return x->reason;
  }
  return NULL;
}

static void add(refusing *x, const wk_node *n) {
  const wk_graph *from = x->part->from;
  wk_arena *a = x->out->arena;
  uint32_t k = 0;
  while (k < n->n_out && n->out[k] == WK_NONE) k++;
  if (k == n->n_out || wk_part_refused(x->out, x->part->target, from, n)) return;
  wk_part_refusal r = {.target = x->part->target, .graph = wk_arena_strdup(a, from->name),
                       .value = wk_arena_strdup(a, wk_val(from, n->out[k])->name),
                       .reason = wk_arena_strdup(a, x->reason)};
  wk_vec_push(&x->out->list, r);
  x->any = true;
}

static void add_maker(refusing *x, const char *value) {
  const wk_graph *from = x->part->from;
  uint32_t v;
  if (wk_map_get(from->names, value, &v) && wk_val(from, v)->kind == WK_VALUE_NODE)
    add(x, wk_nod(from, wk_val(from, v)->node));
}

/* The module's nodes that make what this node of the part makes, or else those of its name. */
static void add_makers(refusing *x, const wk_node *n) {
  const wk_part *p = x->part;
  const wk_graph *g = p->module->main;
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    add_maker(x, wk_val(g, n->out[k])->name);
    for (size_t i = 0; i < g->outputs.n; i++)
      if (g->outputs.data[i] == n->out[k]) add_maker(x, g->output_names.data[i]);
  }
  bool by_name = !x->any && *n->name && p->owns_module;
  for (size_t i = 0; by_name && i < p->origin.n; i++) {
    const wk_node *from = wk_nod(p->from, p->origin.data[i]);
    if (from->op == n->op && !strcmp(from->name, n->name)) add(x, from);
  }
}

typedef WK_VEC(wk_node_id) node_list;

static void push_once(node_list *todo, bool *seen, wk_node_id id) {
  if (!seen[id]) wk_vec_push(todo, id);
  seen[id] = true;
}

/* The nearest nodes that are known, among those that this one depends on, or that depend on it. */
static void search(refusing *x, wk_node_id node, bool is_down) {
  const wk_graph *g = x->part->module->main;
  wk_arena *scratch = wk_arena_new();
  wk_uses uses = wk_graph_uses(g, scratch);
  bool *seen = wk_arena_alloc(scratch, g->nodes.n);
  node_list todo = {0};
  push_once(&todo, seen, node);
  for (size_t at = 0; at < todo.n && !x->any; at++) {
    const wk_node *n = wk_nod(g, todo.data[at]);
    add_makers(x, n);
    for (uint32_t k = 0; k < n->n_in && !is_down; k++)
      if (n->in[k] != WK_NONE && wk_val(g, n->in[k])->kind == WK_VALUE_NODE)
        push_once(&todo, seen, wk_val(g, n->in[k])->node);
    for (uint32_t k = 0; k < n->n_out && is_down; k++)
      for (uint32_t u = n->out[k] == WK_NONE ? 0 : uses.first[n->out[k]];
           n->out[k] != WK_NONE && u < uses.first[n->out[k] + 1]; u++)
        if (uses.uses[u].node != WK_NONE) push_once(&todo, seen, uses.uses[u].node);
  }
  wk_vec_free(&todo);
  wk_arena_free(scratch);
}

/* What is the whole module has been rewritten since it was cut. */
static void add_all(refusing *x) {
  const wk_part *p = x->part;
  size_t n = p->owns_module ? p->origin.n : p->from->nodes.n;
  for (size_t i = 0; i < n; i++)
    add(x, wk_nod(p->from, p->owns_module ? p->origin.data[i] : (wk_node_id)i));
}

wk_status wk_part_refuse(const wk_part *p, wk_node_id node, const char *reason,
                         wk_part_refusals *out) {
  refusing x = {.part = p, .reason = reason, .out = out};
  if (node != WK_NONE) search(&x, node, false);
  if (!x.any && node != WK_NONE) search(&x, node, true);
  if (!x.any) add_all(&x);
  if (x.any) return NULL;
  return wk_error(WK_INTERNAL, "target %s does not admit part %s, which has no operator to leave "
                               "out: %s", p->instance->target->name, p->name, reason);
}
