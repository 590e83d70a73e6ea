/* SPDX-License-Identifier: Apache-2.0
 * Shrinking: what can go while the failure stays, is taken away: outputs first, then nodes, whose
 * users read an input of the same type instead. Each round tries every candidate from the back;
 * rounds go on until one finds nothing. */
#include <stdlib.h>
#include <string.h>

#include "tests/random_graph.h"

static wk_module *without_output(const wk_module *m, size_t k) {
  wk_module *y = wk_module_clone(m);
  wk_graph *g = y->main;
  memmove(&g->outputs.data[k], &g->outputs.data[k + 1],
          (g->outputs.n - k - 1) * sizeof *g->outputs.data);
  memmove(&g->output_names.data[k], &g->output_names.data[k + 1],
          (g->output_names.n - k - 1) * sizeof *g->output_names.data);
  memmove(&g->updates.data[k], &g->updates.data[k + 1],
          (g->updates.n - k - 1) * sizeof *g->updates.data);
  g->outputs.n--;
  g->output_names.n--;
  g->updates.n--;
  return y;
}

/* Output k is operand j of the node that makes it. */
static wk_module *output_earlier(const wk_module *m, size_t k, uint32_t j) {
  const wk_graph *g = m->main;
  const wk_value *v = wk_val(g, g->outputs.data[k]);
  const wk_node *n = v->kind == WK_VALUE_NODE ? wk_nod(g, v->node) : NULL;
  if (!n || j >= n->n_in || n->in[j] == WK_NONE || wk_val(g, n->in[j])->kind != WK_VALUE_NODE)
    return NULL;
  wk_module *y = wk_module_clone(m);
  y->main->outputs.data[k] = n->in[j];
  return y;
}

static const char *input_name(wk_graph *g, const wk_value *v) {
  bool whole = !wk_dtype_is_float(v->type.dtype);
  return wk_arena_printf(g->module->arena, whole ? "cut%zu_0_1" : "cut%zu_-2_2", g->values.n);
}

static wk_module *without_node(const wk_module *m, wk_node_id id) {
  wk_module *y = wk_module_clone(m);
  wk_graph *g = y->main;
  uint32_t n_out = wk_nod(g, id)->n_out;
  for (uint32_t k = 0; k < n_out; k++) {
    wk_value_id v = wk_nod(g, id)->out[k];
    if (v == WK_NONE) continue;
    wk_type t = wk_val(g, v)->type;
    wk_graph_replace_uses(g, v, wk_graph_input(g, input_name(g, wk_val(g, v)), &t));
  }
  wk_node_remove(g, id);
  return y;
}

/* A node stands for its operand of the same type. */
static wk_module *bypassed(const wk_module *m, wk_node_id id) {
  const wk_node *n = wk_nod(m->main, id);
  for (uint32_t k = 0; n->n_out == 1 && k < n->n_in; k++) {
    if (n->in[k] == WK_NONE || n->out[0] == WK_NONE) continue;
    if (!wk_type_equal(&wk_val(m->main, n->in[k])->type, &wk_val(m->main, n->out[0])->type))
      continue;
    wk_module *y = wk_module_clone(m);
    wk_graph_replace_uses(y->main, n->out[0], n->in[k]);
    wk_node_remove(y->main, id);
    return y;
  }
  return NULL;
}

/* Nodes nobody uses go, then inputs. */
static bool tidy(wk_module *m) {
  wk_graph *g = m->main;
  for (bool changed = true; changed;) {
    changed = false;
    wk_arena *a = wk_arena_new();
    wk_uses u = wk_graph_uses(g, a);
    for (size_t i = g->nodes.n; i-- > 0;) {
      const wk_node *n = &g->nodes.data[i];
      uint32_t used = 0;
      for (uint32_t k = 0; k < n->n_out; k++)
        if (n->out[k] != WK_NONE) used += wk_use_count(&u, n->out[k]);
      if (n->dead || used) continue;
      wk_node_remove(g, (wk_node_id)i);
      changed = true;
    }
    wk_arena_free(a);
  }
  wk_arena *a = wk_arena_new();
  wk_uses u = wk_graph_uses(g, a);
  size_t kept = 0;
  for (size_t i = 0; i < g->inputs.n; i++) {
    wk_value_id v = g->inputs.data[i];
    if (wk_use_count(&u, v) == 0) {
      wk_val(g, v)->kind = WK_VALUE_DEAD;
      continue;
    }
    wk_val(g, v)->index = (uint32_t)kept;
    g->inputs.data[kept++] = v;
  }
  g->inputs.n = kept;
  wk_arena_free(a);
  wk_status s = wk_module_normalise(m);
  bool ok = !s;
  wk_status_free(s);
  return ok;
}

/* Takes the smaller module when it still fails. */
static bool accept(wk_module **m, wk_module *smaller, random_check fails, void *ctx) {
  if (!smaller) return false;
  bool ok = tidy(smaller) && fails(ctx, smaller);
  wk_module_free(ok ? *m : smaller);
  if (ok) *m = smaller;
  return ok;
}

wk_module *random_reduce(const wk_module *from, random_check fails, void *ctx) {
  wk_module *m = wk_module_clone(from);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = m->main->outputs.n; k-- > 0 && m->main->outputs.n > 1;)
      changed |= k < m->main->outputs.n && accept(&m, without_output(m, k), fails, ctx);
    for (size_t k = 0; k < m->main->outputs.n; k++)
      for (uint32_t j = 0; j < 8; j++) changed |= accept(&m, output_earlier(m, k, j), fails, ctx);
    for (size_t i = m->main->nodes.n; i-- > 0;) {
      if (i >= m->main->nodes.n || m->main->nodes.n == 1) continue;
      if (accept(&m, bypassed(m, (wk_node_id)i), fails, ctx) ||
          accept(&m, without_node(m, (wk_node_id)i), fails, ctx))
        changed = true;
    }
  }
  return m;
}
