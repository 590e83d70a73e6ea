/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/grad/body.h"

#include <stdlib.h>

static wk_value_id *ids(wk_arena *a, size_t n) {
  wk_value_id *v = wk_arena_alloc(a, n * sizeof *v);
  for (size_t i = 0; i < n; i++) v[i] = WK_NONE;
  return v;
}

void wk_body_begin(wk_adjoint *a, const wk_graph *forward, const bool *seeded, const bool *wanted,
                   wk_body *b) {
  wk_arena *arena = a->l.arena;
  size_t n_in = forward->inputs.n, n_out = forward->outputs.n;
  *b = (wk_body){.seed = ids(arena, n_out), .dx = ids(arena, n_in)};
  if (a->l.status) return;
  wk_graph *g = wk_graph_clone_into(a->l.g->module, forward);
  b->l = (wk_low){.g = g, .arena = arena, .name = a->l.name};
  wk_value_id *wrt = ids(arena, n_in), *of = ids(arena, n_out), *seed = ids(arena, n_out);
  wk_grad_request r = {.of = of, .seed = seed, .wrt = wrt, .out = ids(arena, n_in)};
  for (size_t o = 0; o < n_out; o++) {
    if (!seeded[o]) continue;
    const wk_value *y = wk_val(g, g->outputs.data[o]);
    b->seed[o] = wk_graph_input(g, wk_arena_printf(arena, "grad(%s)", y->name), &y->type);
    of[r.n_of] = g->outputs.data[o];
    seed[r.n_of++] = b->seed[o];
  }
  for (size_t k = 0; k < n_in; k++)
    if (wanted[k]) wrt[r.n_wrt++] = g->inputs.data[k];
  wk_status s = wk_grad(g, &r);
  if (s) wk_low_fail(&a->l, s);
  for (size_t k = 0, i = 0; !s && k < n_in; k++)
    if (wanted[k]) b->dx[k] = r.out[i++];
}

void wk_body_mark(const wk_graph *g, wk_value_id root, bool *live) {
  WK_VEC(wk_value_id) work = {0};
  wk_vec_push(&work, root);
  while (work.n) {
    wk_value_id v = work.data[--work.n];
    if (v == WK_NONE || live[v]) continue;
    live[v] = true;
    if (wk_val(g, v)->kind != WK_VALUE_NODE) continue;
    const wk_node *n = wk_nod(g, wk_val(g, v)->node);
    for (uint32_t k = 0; k < n->n_in; k++) wk_vec_push(&work, n->in[k]);
    wk_vec_push(&work, n->predicate);
  }
  wk_vec_free(&work);
}

static void remove_others(wk_graph *g, const bool *live) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    bool is_live = false;
    for (uint32_t k = 0; k < n->n_out; k++)
      is_live = is_live || (n->out[k] != WK_NONE && live[n->out[k]]);
    if (!is_live && !n->dead) wk_node_remove(g, (wk_node_id)i);
  }
}

wk_status wk_body_end(wk_graph *g, const wk_value_id *in, size_t n_in, const wk_value_id *out,
                      size_t n_out) {
  bool *live = wk_xcalloc(g->values.n, sizeof *live);
  for (size_t k = 0; k < g->inputs.n; k++) wk_val(g, g->inputs.data[k])->kind = WK_VALUE_DEAD;
  g->inputs.n = 0;
  wk_graph_drop_outputs(g);
  for (size_t k = 0; k < n_in; k++) {
    wk_val(g, in[k])->kind = WK_VALUE_INPUT;
    wk_val(g, in[k])->index = (uint32_t)k;
    wk_vec_push(&g->inputs, in[k]);
  }
  for (size_t k = 0; k < n_out; k++) {
    wk_graph_output(g, NULL, out[k]);
    wk_body_mark(g, out[k], live);
  }
  remove_others(g, live);
  free(live);
  return wk_graph_normalise(g);
}
