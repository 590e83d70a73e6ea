/* SPDX-License-Identifier: Apache-2.0
 * Variables in a module that is cut. Parts of the host have them as variables, other parts as
 * tensors that lie in the state. What reads a variable as it was runs before the part that changes
 * it, or else reads a copy; what reads the update, behind it, finds that in the same place. */
#include <stdlib.h>

#include "compiler/part/cut.h"

void wk_cut_find_variables(wk_cut *c, const wk_graph *g) {
  for (size_t i = wk_graph_plain_inputs(g); i < g->inputs.n; i++) {
    wk_value_id v = g->inputs.data[i], value = wk_graph_new_value(g, v);
    wk_vec_push(&c->variables, ((wk_cut_variable){v, value, WK_NONE, WK_NONE, false}));
  }
}

bool *wk_cut_of_variables(const wk_cut *c, const wk_graph *g) {
  if (!c->variables.n || g != g->module->main) return NULL;
  bool *is = wk_arena_alloc(c->scratch, g->nodes.n);
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    bool any = false, all = n->predicate == WK_NONE && !n->n_bodies;
    for (uint32_t k = 0; k < n->n_in; k++) {
      wk_value_id v = n->in[k];
      if (v == WK_NONE || wk_is_const(g, v)) continue;
      bool is_node = wk_val(g, v)->kind == WK_VALUE_NODE;
      bool is_given = is_node ? is[wk_val(g, v)->node] : wk_is_variable(g, v);
      any |= is_given;
      all &= is_given;
    }
    is[i] = any && all;
  }
  return is;
}

/* WK_NONE: no node changes it. */
static wk_node_id writer_of(const wk_graph *g, const wk_cut_variable *x) {
  const wk_value *v = x->value == WK_NONE ? NULL : wk_val(g, x->value);
  return v && v->kind == WK_VALUE_NODE ? v->node : WK_NONE;
}

void wk_cut_variable_orders(const wk_cut *c, const wk_graph *g, wk_cut_orders *out) {
  if (!c->variables.n || g != g->module->main) return;
  const wk_uses uses = wk_graph_uses(g, c->scratch);
  for (size_t i = 0; i < c->variables.n; i++) {
    const wk_cut_variable *x = &c->variables.data[i];
    wk_node_id writer = writer_of(g, x);
    for (uint32_t k = uses.first[x->variable]; k < uses.first[x->variable + 1]; k++) {
      wk_node_id reader = uses.uses[k].node;
      if (writer == WK_NONE || reader == WK_NONE || reader == writer) continue;
      wk_vec_push(out, ((wk_cut_order){reader, writer, x->variable}));
    }
  }
}

/* An update that is another variable, say, is made by no row. */
static bool is_made_by_host(const wk_cut *c, const wk_graph *g, const wk_cut_groups *groups,
                            const wk_cut_variable *x) {
  wk_node_id writer = writer_of(g, x);
  return writer != WK_NONE && wk_cut_is_host(c, groups->target[groups->of[writer]]);
}

const char *wk_cut_unchanged(const wk_cut *c, const wk_graph *g, const wk_cut_groups *groups) {
  bool is_whole = groups->n == 1 && wk_cut_is_host(c, groups->target[0]);
  if (g != g->module->main || is_whole) return NULL;
  for (size_t i = 0; i < c->variables.n; i++) {
    const wk_cut_variable *x = &c->variables.data[i];
    if (x->value != WK_NONE && !is_made_by_host(c, g, groups, x))
      return wk_val(g, x->variable)->name;
  }
  return NULL;
}

static wk_cut_variable *find(const wk_cut *c, const wk_graph *g, wk_value_id v) {
  for (size_t i = 0; i < c->variables.n && g == g->module->main; i++)
    if (c->variables.data[i].variable == v) return &c->variables.data[i];
  return NULL;
}

bool wk_cut_is_own_variable(const wk_cut *c, const wk_graph *g, const wk_cut_groups *groups,
                            uint32_t group, wk_value_id v) {
  const wk_cut_variable *x = find(c, g, v);
  if (!x || !wk_cut_is_host(c, groups->target[group])) return false;
  wk_node_id writer = writer_of(g, x);
  return writer == WK_NONE || !x->is_saved || groups->of[writer] == group;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static wk_status save(wk_cut *c, const wk_graph *g, wk_cut_variable *x) {
  const wk_value *v = wk_val(g, x->variable);
  wk_module *m = wk_module_new(v->name);
  wk_graph *copy = wk_graph_new(m, v->name);
  wk_value_id old = wk_graph_variable(copy, v->name, &v->type, v->initial, false), y;
  wk_status s = wk_graph_add(copy, &(wk_node_desc){.op = WK_OP_IDENTITY, .name = v->name,
                                                   .in = &old, .n_in = 1}, &y);
  if (s) {
    wk_module_free(m);
    return s;
  }
  wk_val(copy, old)->is_public = v->is_public;
  wk_graph_output(copy, NULL, y);
  x->is_saved = true;
  x->was = wk_cut_edge(c, wk_arena_printf(c->p->arena, "%s before", v->name), &v->type, NULL);
  return wk_cut_add_own(c, m, wk_cut_host(c), WK_NONE, x->was);
}

/* Callers see it as it was, and get it at the end. */
static wk_status save_outputs(wk_cut *c, const wk_graph *g) {
  for (size_t i = 0; i < wk_graph_plain_outputs(g); i++) {
    wk_cut_variable *x = find(c, g, g->outputs.data[i]);
    if (x && !x->is_saved) WK_TRY(save(c, g, x));
  }
  return NULL;
}

wk_status wk_cut_save_variables(wk_cut *c, const wk_graph *g, const wk_cut_groups *groups) {
  wk_cut_orders orders = {0};
  wk_status s = save_outputs(c, g);
  wk_cut_variable_orders(c, g, &orders);
  for (size_t i = 0; i < orders.n && !s; i++) {
    const wk_cut_order *o = &orders.data[i];
    wk_cut_variable *x = find(c, g, o->variable);
    if (groups->of[o->reader] > groups->of[o->writer] && !x->is_saved) s = save(c, g, x);
  }
  wk_vec_free(&orders);
  return s;
}

/* ---- tensors --------------------------------------------------------------------------------- */

uint32_t wk_cut_variable_in(wk_cut *c, const wk_graph *g, const wk_cut_variable *x,
                            const wk_edge_layout *layout) {
  const wk_value *v = wk_val(g, x->variable);
  uint32_t t = wk_cut_edge(c, v->name, &v->type, layout);
  c->p->tensors.data[t].variable = c->p->tensors.data[t].name;
  c->tensors.data[t].writer = wk_cut_host(c);
  return t;
}

wk_status wk_cut_find_tensor(wk_cut *c, const wk_graph *g, uint32_t *tensor, wk_value_id v) {
  for (size_t i = 0; i < c->variables.n && g == g->module->main && tensor[v] == WK_NONE; i++) {
    wk_cut_variable *x = &c->variables.data[i];
    if (x->variable != v && x->value != v) continue;
    uint32_t *t = x->variable == v ? &x->was : &x->is;
    if (*t == WK_NONE && x->value == WK_NONE) WK_TRY(save(c, g, x)); /* nobody else may have it */
    if (*t == WK_NONE) *t = wk_cut_variable_in(c, g, x, NULL);
    tensor[v] = *t;
  }
  return NULL;
}
