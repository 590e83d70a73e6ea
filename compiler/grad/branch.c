/* SPDX-License-Identifier: Apache-2.0
 * Adjoint of IF: an IF on the same condition, whose bodies run the branches' bodies backwards. */
#include "compiler/grad/body.h"

enum { BRANCHES = 2 };

typedef struct {
  wk_body body[BRANCHES];
  wk_value_id *in[BRANCHES], *out[BRANCHES]; /* of the bodies of the adjoint */
  wk_value_id *outer;                        /* what goes in; parallel to in */
  uint32_t *of;                              /* which of the node's inputs an output belongs to */
  uint32_t n_in, n_out;
} branches;

/* Adjoints of captures that either branch gives, as outputs of both. */
static void outputs(wk_adjoint *a, branches *r) {
  for (uint32_t k = 1; k < a->n->n_in; k++) {
    const wk_value_id got[] = {r->body[0].dx[k - 1], r->body[1].dx[k - 1]};
    if (got[0] == WK_NONE && got[1] == WK_NONE) continue;
    const wk_type t = *wk_low_type(&a->l, a->n->in[k]);
    for (int b = 0; b < BRANCHES; b++)
      r->out[b][r->n_out] = got[b] == WK_NONE ? wk_adjoint_zeros(&r->body[b].l, &t) : got[b];
    r->of[r->n_out++] = k;
  }
}

static bool *live_values(wk_adjoint *a, branches *r, int b) {
  const wk_graph *g = r->body[b].l.g;
  bool *live = wk_arena_alloc(a->l.arena, g->values.n);
  for (uint32_t k = 0; k < r->n_out; k++) wk_body_mark(g, r->out[b][k], live);
  return live;
}

static void add_input(branches *r, bool *const *live, wk_value_id outer, wk_value_id then_in,
                      wk_value_id else_in) {
  if (!live[0][then_in] && !live[1][else_in]) return;
  r->in[0][r->n_in] = then_in;
  r->in[1][r->n_in] = else_in;
  r->outer[++r->n_in] = outer; /* behind the condition */
}

static void inputs(wk_adjoint *a, branches *r) {
  bool *live[BRANCHES];
  for (int b = 0; b < BRANCHES; b++) live[b] = live_values(a, r, b);
  for (uint32_t k = 1; k < a->n->n_in; k++)
    add_input(r, live, a->n->in[k], a->n->bodies[0]->inputs.data[k - 1],
              a->n->bodies[1]->inputs.data[k - 1]);
  for (uint32_t i = 0; i < a->n->n_out; i++)
    if (a->dy[i] != WK_NONE)
      add_input(r, live, a->dy[i], r->body[0].seed[i], r->body[1].seed[i]);
}

static void differentiate(wk_adjoint *a, branches *r) {
  const wk_node *n = a->n;
  bool *seeded = wk_arena_alloc(a->l.arena, n->n_out);
  for (uint32_t i = 0; i < n->n_out; i++) seeded[i] = a->dy[i] != WK_NONE;
  for (int b = 0; b < BRANCHES; b++) {
    wk_body_begin(a, n->bodies[b], seeded, a->wants + 1, &r->body[b]);
    r->in[b] = wk_arena_alloc(a->l.arena, (n->n_in + n->n_out) * sizeof(wk_value_id));
    r->out[b] = wk_arena_alloc(a->l.arena, n->n_in * sizeof(wk_value_id));
  }
  r->outer = wk_arena_alloc(a->l.arena, (n->n_in + n->n_out) * sizeof *r->outer);
  r->of = wk_arena_alloc(a->l.arena, n->n_in * sizeof *r->of);
}

void wk_adjoint_if(wk_adjoint *a) {
  branches r = {.n_in = 0};
  wk_graph *bodies[BRANCHES];
  differentiate(a, &r);
  if (a->l.status) return;
  outputs(a, &r);
  inputs(a, &r);
  r.outer[0] = a->n->in[0];
  for (int b = 0; b < BRANCHES && !a->l.status; b++) {
    bodies[b] = r.body[b].l.g;
    a->l.status = r.body[b].l.status;
    if (!a->l.status)
      a->l.status = wk_body_end(bodies[b], r.in[b], r.n_in, r.out[b], r.n_out);
  }
  if (a->l.status || !r.n_out) return;
  wk_value_id *out = wk_arena_alloc(a->l.arena, r.n_out * sizeof *out);
  wk_node_desc d = {.op = WK_OP_IF, .name = a->l.name, .in = r.outer, .n_in = r.n_in + 1,
                    .n_out = r.n_out, .bodies = bodies, .n_bodies = BRANCHES};
  a->l.status = wk_graph_add(a->l.g, &d, out);
  for (uint32_t k = 0; !a->l.status && k < r.n_out; k++) a->dx[r.of[k]] = out[k];
}
