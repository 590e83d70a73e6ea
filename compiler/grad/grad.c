/* SPDX-License-Identifier: Apache-2.0
 * The sweep: nodes from the last to the first; each hands the adjoints of its outputs on to its
 * inputs. */
#include "compiler/grad/grad.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/grad/parts.h"
#include "compiler/grad/table.h"

typedef struct {
  wk_graph *g;
  const wk_grad_request *r;
  WK_VEC(bool) reached; /* values that depend on one of wrt */
  wk_adjoints adjoints;
} sweep;

static bool is_float(const wk_graph *g, wk_value_id v) {
  return v != WK_NONE && wk_dtype_is_float(wk_val(g, v)->type.dtype);
}

static void cover(sweep *s) {
  while (s->reached.n < s->g->values.n) wk_vec_push(&s->reached, false);
}

/* ---- which values matter ------------------------------------------------------------------- */

static void reach(sweep *s, const wk_node *n) {
  bool any = false;
  for (uint32_t k = 0; k < n->n_in && !n->dead; k++)
    any = any || (is_float(s->g, n->in[k]) && s->reached.data[n->in[k]]);
  for (uint32_t i = 0; any && i < n->n_out; i++)
    if (is_float(s->g, n->out[i])) s->reached.data[n->out[i]] = true;
}

static void reach_all(sweep *s, size_t from) {
  cover(s);
  for (size_t i = from; i < s->g->nodes.n; i++) reach(s, wk_nod(s->g, (wk_node_id)i));
}

/* ---- adjoints of values -------------------------------------------------------------------- */

static wk_status give(sweep *s, const char *name, wk_value_id v, wk_value_id part) {
  if (!wk_type_equal(&wk_val(s->g, part)->type, &wk_val(s->g, v)->type))
    return wk_error_at(WK_INTERNAL, name, "the adjoint of %s has another type than it",
                       wk_val(s->g, v)->name);
  wk_adjoints_give(&s->adjoints, v, part);
  return NULL;
}

/* WK_NONE: 0. */
static wk_status adjoint_of(sweep *s, const char *name, wk_value_id v, wk_value_id *out) {
  *out = WK_NONE;
  if (!is_float(s->g, v)) return NULL;
  return wk_adjoints_sum(&s->adjoints, s->g, name ? name : "", v, out);
}

/* `to` stands for `from`; it may be a value that there was before, with an adjoint of its own. */
static void redirect(sweep *s, wk_value_id from, wk_value_id to) {
  cover(s);
  wk_adjoints_move(&s->adjoints, from, to);
  wk_adjoints_replace(&s->adjoints, from, to);
  s->reached.data[to] = s->reached.data[to] || s->reached.data[from];
  for (size_t i = 0; i < s->r->n_of; i++)
    if (s->r->of[i] == from) s->r->of[i] = to;
  for (size_t i = 0; i < s->r->n_wrt; i++)
    if (s->r->wrt[i] == from) s->r->wrt[i] = to;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static wk_status run_node(sweep *s, wk_node_id id);

/* Nodes from `first` on, which have just been made, hand on what they have. */
static wk_status run_made(sweep *s, size_t first) {
  size_t end = s->g->nodes.n;
  reach_all(s, first);
  while (end-- > first) WK_TRY(run_node(s, (wk_node_id)end));
  return NULL;
}

/* The primitives of a node, then what they hand on. */
static wk_status run_lowered(sweep *s, wk_node_id id) {
  const wk_node n = *wk_nod(s->g, id);
  size_t first = s->g->nodes.n;
  wk_value_id *out = wk_arena_alloc(s->g->module->arena, n.n_out * sizeof *out);
  WK_TRY(wk_lower_node(s->g, id, out));
  for (uint32_t i = 0; i < n.n_out; i++)
    if (n.out[i] != WK_NONE && out[i] != WK_NONE) redirect(s, n.out[i], out[i]);
  return run_made(s, first);
}

/* By the values that the rule has made for its outputs; false: it has made none. */
static bool replace(sweep *s, wk_node_id id, const wk_node *n, const wk_value_id *out) {
  bool is_gone = false;
  cover(s);
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] == WK_NONE || out[i] == WK_NONE) continue;
    wk_graph_replace(s->g, n->out[i], out[i]);
    redirect(s, n->out[i], out[i]);
    is_gone = true;
  }
  if (is_gone) wk_node_remove(s->g, id);
  return is_gone;
}

static wk_value_id *no_values(wk_arena *a, uint32_t n) {
  wk_value_id *v = wk_arena_alloc(a, n * sizeof *v);
  for (uint32_t i = 0; i < n; i++) v[i] = WK_NONE;
  return v;
}

static void run_rule(wk_adjoint *a, const wk_adjoint_row *row) {
  const char *texts[WK_COUNTOF(row->text)] = {0};
  if (row->rule) {
    row->rule(a);
    return;
  }
  memcpy(texts, row->text, sizeof texts);
  wk_adjoint_by(a, texts);
}

static wk_status run_by_rule(sweep *s, wk_node_id id, const wk_node *n, const wk_adjoint_row *row,
                             const wk_value_id *dy, const bool *wants) {
  wk_arena *arena = s->g->module->arena;
  wk_value_id *dx = no_values(arena, n->n_in), *out = no_values(arena, n->n_out);
  wk_adjoint a = {.l = {.g = s->g, .arena = arena,
                        .name = wk_arena_printf(arena, "grad(%s)", n->name ? n->name : "")},
                  .n = n, .dy = dy, .wants = wants, .dx = dx, .out = out};
  size_t first = s->g->nodes.n;
  run_rule(&a, row);
  if (a.l.status)
    return wk_status_note(wk_status_place(a.l.status, n->name), "while differentiating %s",
                          wk_op_get(n->op)->name);
  for (uint32_t k = 0; k < n->n_in; k++)
    if (wants[k] && dx[k] != WK_NONE) WK_TRY(give(s, a.l.name, n->in[k], dx[k]));
  bool is_replaced = replace(s, id, n, out);
  if (!a.lower) return NULL;
  return is_replaced ? run_made(s, first) : run_lowered(s, id);
}

static wk_status run_node(sweep *s, wk_node_id id) {
  const wk_node n = *wk_nod(s->g, id);
  if (n.dead) return NULL;
  wk_arena *arena = s->g->module->arena;
  wk_value_id *dy = wk_arena_alloc(arena, n.n_out * sizeof *dy);
  bool *wants = wk_arena_alloc(arena, n.n_in), has_adjoint = false, is_wanted = false;
  cover(s);
  for (uint32_t i = 0; i < n.n_out; i++) {
    WK_TRY(adjoint_of(s, n.name, n.out[i], &dy[i]));
    has_adjoint = has_adjoint || dy[i] != WK_NONE;
  }
  for (uint32_t k = 0; k < n.n_in; k++) {
    wants[k] = is_float(s->g, n.in[k]) && s->reached.data[n.in[k]] &&
               wk_type_count(&wk_val(s->g, n.in[k])->type) > 0;
    is_wanted = is_wanted || wants[k];
  }
  if (!has_adjoint || !is_wanted) return NULL;
  WK_TRY(wk_node_no_predicate(s->g, &n, "its adjoint"));
  const wk_adjoint_row *row = wk_adjoint_row_of(n.op);
  switch (row->kind) {
    case WK_ADJOINT_LOWER: return run_lowered(s, id);
    case WK_ADJOINT_CONSTANT:
    case WK_ADJOINT_NO_PATH: return NULL;
    case WK_ADJOINT_NONE:
      return wk_error_at(WK_UNSUPPORTED, n.name, "%s has no gradient: %s", wk_op_get(n.op)->name,
                         row->note);
    default: return run_by_rule(s, id, &n, row, dy, wants);
  }
}

/* ---- the whole ----------------------------------------------------------------------------- */

static wk_status seed(sweep *s) {
  const wk_grad_request *r = s->r;
  for (size_t i = 0; i < r->n_of; i++) {
    const wk_type t = wk_val(s->g, r->of[i])->type;
    wk_low l = {.g = s->g, .arena = s->g->module->arena, .name = "grad"};
    wk_value_id one = r->seed ? r->seed[i] : WK_NONE;
    if (!wk_dtype_is_float(t.dtype))
      return wk_error_at(WK_INPUT, wk_val(s->g, r->of[i])->name, "%s has no gradient",
                         wk_dtype_name(t.dtype));
    if (one == WK_NONE) {
      one = wk_low_scalar(&l, t.dtype, 1);
      if (t.rank) one = wk_low_expand(&l, one, t.rank, t.dims);
    }
    WK_TRY(l.status);
    WK_TRY(give(s, l.name, r->of[i], one));
  }
  return NULL;
}

static wk_status run(sweep *s) {
  size_t n = s->g->nodes.n;
  for (size_t i = 0; i < s->r->n_wrt; i++)
    if (is_float(s->g, s->r->wrt[i])) s->reached.data[s->r->wrt[i]] = true;
  reach_all(s, 0);
  WK_TRY(seed(s));
  while (n-- > 0) WK_TRY(run_node(s, (wk_node_id)n));
  for (size_t i = 0; i < s->r->n_wrt; i++)
    WK_TRY(adjoint_of(s, wk_val(s->g, s->r->wrt[i])->name, s->r->wrt[i], &s->r->out[i]));
  return NULL;
}

wk_status wk_grad(wk_graph *g, const wk_grad_request *r) {
  sweep s = {.g = g, .r = r};
  cover(&s);
  wk_status st = run(&s);
  wk_vec_free(&s.reached);
  wk_adjoints_free(&s.adjoints);
  return st;
}
