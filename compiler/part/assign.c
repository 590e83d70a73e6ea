/* SPDX-License-Identifier: Apache-2.0
 * Who has which node. The first target that supports a node, with everything inside it, has it.
 * Movement is free where it is next to its own: it goes with what it moves, and what only the model
 * gives goes with those that use it. */
#include <math.h>
#include <stdlib.h>

#include "compiler/part/cut.h"

bool wk_cut_is_movement(const wk_node *n) {
  return wk_op_get(n->op)->cls == WK_CLASS_MOVEMENT || n->op == WK_OP_IDENTITY;
}

/* The target could have the node, and has not refused it; else *reason. */
static bool takes(const wk_cut *c, uint32_t t, const wk_graph *g, const wk_node *n,
                  const char **reason) {
  const char *refusal = wk_part_refused(c->refused, t, g, n);
  if (refusal) *reason = refusal;
  return !refusal && wk_owners_takes(c->owners, t, g, (wk_node_id)(n - g->nodes.data), reason);
}

/* The first that takes it; the number of targets: none. reasons: of those that do not. */
static uint32_t owner_of(const wk_cut *c, const wk_graph *g, const wk_node *n,
                         const char **reasons) {
  uint32_t t = 0;
  while (t < c->targets->n && !takes(c, t, g, n, &reasons[t])) t++;
  return t;
}

/* ---- control flow ---------------------------------------------------------------------------- */

/* What a loop or branch may save is all of the host's time where a target keeps what it has. */
static wk_target_cost cost_of(const wk_cut *c, uint32_t target) {
  const wk_target_cost none = {0};
  bool keeps = c->targets->list[target]->target->keeps_products;
  return keeps ? none : wk_targets_cost(c->targets, target);
}

/* How much longer the host would take for what others run inside than they do, in picoseconds. */
static double gain_inside(const wk_cut *c, const wk_node *n) {
  const char **reasons = wk_arena_alloc(c->scratch, c->targets->n * sizeof *reasons);
  double gain = 0;
  for (uint32_t b = 0; b < n->n_bodies; b++)
    for (size_t k = 0; k < n->bodies[b]->nodes.n; k++) {
      const wk_graph *body = n->bodies[b];
      const wk_node *x = &body->nodes.data[k];
      uint32_t t = owner_of(c, body, x, reasons);
      if (t < wk_cut_host(c))
        gain += wk_cut_time(cost_of(c, wk_cut_host(c)), body, x) -
                wk_cut_time(cost_of(c, t), body, x);
      else if (x->n_bodies && wk_cut_can_control(body, x)) gain += gain_inside(c, x);
    }
  return gain;
}

static bool holds_work(const wk_cut *c, const wk_node *n) {
  double least = INFINITY;
  for (uint32_t t = 0; t < wk_cut_host(c); t++)
    least = fmin(least, cost_of(c, t).per_part);
  return gain_inside(c, n) > least;
}

/* ---- all nodes ------------------------------------------------------------------------------- */

/* Whose reason is given: of the one that the user chose, or of the last that anything may go to. */
static uint32_t last_asked(const wk_targets *t, const wk_node *n) {
  uint32_t pinned = wk_targets_pinned(t, n);
  bool is_last_by_pin = t->has_host && t->host_by_pin;
  return pinned == WK_NONE ? (uint32_t)t->n - 1 - is_last_by_pin : pinned;
}

static void refuse(wk_cut *c, const wk_graph *g, const wk_node *n, const char **reasons) {
  uint32_t asked = last_asked(c->targets, n);
  const char *op = wk_op_get(n->op)->name, *why = reasons[asked];
  const char *name = wk_node_called(g, n);
  if (c->n_unsupported++ >= WK_CUT_NAMED) return;
  if (!c->unsupported)
    c->unsupported = wk_error_at(WK_UNSUPPORTED, name, "target %s: %s: %s",
                                 wk_targets_name(c->targets, asked).s, op, why);
  else c->unsupported = wk_status_item(c->unsupported, "%s: %s: %s", name, op, why);
}

static void note(wk_cut *c, const wk_node *n, uint32_t refused, uint32_t target,
                 const char *reason) {
  wk_part_reason r = {.node = wk_arena_strdup(c->p->arena, n->name), .op = wk_op_get(n->op)->name,
                      .refused = refused, .target = target,
                      .reason = wk_arena_strdup(c->p->arena, reason)};
  wk_vec_push(&c->p->reasons, r);
}

/* *is_left: nobody takes it. */
static uint32_t target_of(wk_cut *c, wk_graph *g, const wk_node *n, bool *is_left) {
  const char **reasons = wk_arena_alloc(c->scratch, c->targets->n * sizeof *reasons);
  uint32_t t = owner_of(c, g, n, reasons);
  if (n->n_bodies && c->targets->n > 1 && t >= wk_cut_host(c) && wk_cut_can_control(g, n) &&
      holds_work(c, n))
    return wk_cut_control(c);
  *is_left = t == c->targets->n;
  if (*is_left) {
    refuse(c, g, n, reasons);
    return wk_cut_host(c);
  }
  for (uint32_t i = 0; i < t; i++) note(c, n, i, t, reasons[i]);
  return t;
}

bool wk_cut_takes(const wk_cut *c, uint32_t t, const wk_graph *g, const wk_node *n) {
  const char *reason;
  return t < c->targets->n && takes(c, t, g, n, &reason);
}

/* The host keeps to the ends: what moves another's tensor is not there. */
static bool keeps_to_ends(const wk_cut *c, const wk_graph *g, const wk_node *n, uint32_t t,
                          const uint32_t *target) {
  bool is_fine = true;
  for (uint32_t k = 0; c->targets->host_at_ends && wk_cut_is_host(c, t) && k < n->n_in; k++)
    if (n->in[k] != WK_NONE && wk_val(g, n->in[k])->kind == WK_VALUE_NODE)
      is_fine &= target[wk_val(g, n->in[k])->node] == t;
  return is_fine;
}

/* The target of the first operand that a node makes, if it takes the movement. What a variable has
 * become lies in the state, and goes with who reads it there. */
static void follow_operands(const wk_cut *c, const wk_graph *g, uint32_t *target) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    for (uint32_t k = 0; wk_cut_is_movement(n) && k < n->n_in; k++) {
      const wk_node *from = n->in[k] == WK_NONE || wk_val(g, n->in[k])->kind != WK_VALUE_NODE
                                ? NULL : wk_nod(g, wk_val(g, n->in[k])->node);
      if (!from) continue;
      if (wk_is_update(g, n->in[k])) break;
      uint32_t t = target[from - g->nodes.data];
      if (wk_cut_takes(c, t, g, n) && keeps_to_ends(c, g, n, t, target)) target[i] = t;
      break;
    }
  }
}

/* Movement of inputs and constants alone: with the first user. */
static void follow_users(const wk_cut *c, const wk_graph *g, uint32_t *target) {
  wk_uses uses = wk_graph_uses(g, c->scratch);
  for (size_t i = g->nodes.n; i-- > 0;) {
    const wk_node *n = &g->nodes.data[i];
    bool made = false;
    for (uint32_t k = 0; k < n->n_in; k++)
      made |= n->in[k] != WK_NONE && wk_val(g, n->in[k])->kind == WK_VALUE_NODE;
    if (!wk_cut_is_movement(n) || made || n->out[0] == WK_NONE || !wk_use_count(&uses, n->out[0]))
      continue;
    wk_use u = uses.uses[uses.first[n->out[0]]];
    if (u.node != WK_NONE && wk_cut_takes(c, target[u.node], g, n)) target[i] = target[u.node];
  }
}

/* What the host has been given, and may have at the ends alone. */
static void keep_ends(wk_cut *c, const wk_graph *g, uint32_t *target) {
  bool *left = wk_arena_alloc(c->scratch, g->nodes.n);
  const char **reasons = wk_arena_alloc(c->scratch, c->targets->n * sizeof *reasons);
  for (size_t i = 0; i < g->nodes.n; i++)
    left[i] = wk_cut_is_host(c, target[i]) &&
              wk_targets_pinned(c->targets, &g->nodes.data[i]) != target[i];
  const bool *at_end = wk_cut_at_ends(c, g, left);
  for (size_t i = 0; i < g->nodes.n; i++) {
    if (!left[i] || at_end[i]) continue;
    if (owner_of(c, g, &g->nodes.data[i], reasons) == target[i])
      refuse(c, g, &g->nodes.data[i], reasons);
  }
  if (!c->unsupported) wk_cut_pull(c, g, at_end, target);
}

static void count_at_ends(wk_cut *c, const wk_graph *g, const bool *left) {
  const bool *at_end = wk_cut_at_ends(c, g, left);
  for (size_t i = 0; i < g->nodes.n; i++) c->n_at_ends += at_end[i];
}

uint32_t *wk_cut_assign(wk_cut *c, wk_graph *g) {
  uint32_t *target = wk_arena_alloc(c->scratch, g->nodes.n * sizeof *target);
  bool *left = wk_arena_alloc(c->scratch, g->nodes.n);
  for (size_t i = 0; i < g->nodes.n; i++)
    target[i] = target_of(c, g, &g->nodes.data[i], &left[i]);
  if (c->targets->host_by_pin && !c->targets->host_at_ends) count_at_ends(c, g, left);
  if (c->targets->n == 1) return target;
  wk_cut_share(c, g, target);
  follow_operands(c, g, target);
  follow_users(c, g, target);
  if (c->targets->host_at_ends) keep_ends(c, g, target);
  return target;
}
