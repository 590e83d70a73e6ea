/* SPDX-License-Identifier: Apache-2.0
 * What one branch alone reads is computed in it: a run that takes the other one leaves it out.
 *
 *   %v = matmul(%x, %w)                            %y = if(%c, %x) then @a else @b
 *   %y = if(%c, %v) then @a else @b       ->       @a computes matmul(%x, %w) itself
 *
 * Not where runs decide sizes, which branches are not told. */
#include <stdlib.h>
#include <string.h>

#include "compiler/passes/pass.h"

/* An IF whose operands change. */
typedef struct {
  wk_graph *g;
  wk_node_id id;
  WK_VEC(wk_value_id) in; /* the condition first, then what the bodies get, in their order */
  WK_VEC(bool) used[2];   /* parallel: by each body */
  uint32_t *count;        /* per value of g: how often it is read */
} branching;

static wk_graph *body_of(const branching *b, int k) { return wk_nod(b->g, b->id)->bodies[k]; }

static uint32_t *count_uses(const wk_graph *g, wk_arena *a) {
  const wk_uses uses = wk_graph_uses(g, a);
  uint32_t *count = wk_arena_alloc(a, g->values.n * sizeof *count);
  for (size_t v = 0; v < g->values.n; v++) count[v] = wk_use_count(&uses, (wk_value_id)v);
  return count;
}

static void open(branching *b, wk_arena *a) {
  const wk_node *n = wk_nod(b->g, b->id);
  for (uint32_t k = 0; k < n->n_in; k++) wk_vec_push(&b->in, n->in[k]);
  for (int s = 0; s < 2; s++) {
    const wk_graph *body = body_of(b, s);
    const uint32_t *count = count_uses(body, a);
    wk_vec_push(&b->used[s], true);
    for (size_t k = 0; k < body->inputs.n; k++)
      wk_vec_push(&b->used[s], count[body->inputs.data[k]] > 0);
  }
}

/* The node that makes operand k, which one body alone reads, and nobody else; NULL: there is none,
 * or it must stay. */
static const wk_node *maker(const branching *b, size_t k) {
  const wk_value *v = wk_val(b->g, b->in.data[k]);
  if (b->used[0].data[k] == b->used[1].data[k] || b->count[b->in.data[k]] != 1 ||
      v->kind != WK_VALUE_NODE)
    return NULL;
  const wk_node *n = wk_nod(b->g, v->node);
  bool moves = n->n_out == 1 && n->n_bodies == 0 && n->predicate == WK_NONE && wk_op_is_pure(n->op);
  return moves ? n : NULL;
}

/* The operand that is v, a new one where there is none. */
static size_t operand_of(branching *b, wk_value_id v, int body) {
  for (size_t k = 1; k < b->in.n; k++) {
    if (b->in.data[k] != v) continue;
    b->used[body].data[k] = true;
    return k;
  }
  for (int s = 0; s < 2; s++) {
    wk_graph_input(body_of(b, s), wk_val(b->g, v)->name, &wk_val(b->g, v)->type);
    wk_vec_push(&b->used[s], s == body);
  }
  wk_vec_push(&b->in, v);
  b->count[v]++;
  return b->in.n - 1;
}

static void drop_input(wk_graph *body, size_t input) {
  wk_val(body, body->inputs.data[input])->kind = WK_VALUE_DEAD;
  memmove(body->inputs.data + input, body->inputs.data + input + 1,
          (body->inputs.n - 1 - input) * sizeof *body->inputs.data);
  body->inputs.n--;
  for (size_t i = input; i < body->inputs.n; i++)
    wk_val(body, body->inputs.data[i])->index = (uint32_t)i;
}

static void drop_operand(branching *b, size_t k) {
  const size_t behind = b->in.n - 1 - k;
  memmove(b->in.data + k, b->in.data + k + 1, behind * sizeof *b->in.data);
  b->in.n--;
  for (int s = 0; s < 2; s++) {
    memmove(b->used[s].data + k, b->used[s].data + k + 1, behind * sizeof *b->used[s].data);
    b->used[s].n--;
    drop_input(body_of(b, s), k - 1);
  }
}

/* v of the graph, in the body. */
static wk_value_id inside(branching *b, wk_value_id v, int s) {
  wk_graph *body = body_of(b, s);
  const wk_value *x = wk_val(b->g, v);
  if (x->kind == WK_VALUE_CONSTANT) return wk_graph_constant(body, x->name, &x->type, x->data);
  const size_t k = operand_of(b, v, s); /* which may move the inputs */
  return body->inputs.data[k - 1];
}

/* Operand k is computed where it is read, by n. */
static wk_status sink(branching *b, size_t k, const wk_node *n, wk_arena *a) {
  const int s = b->used[1].data[k];
  wk_graph *body = body_of(b, s);
  wk_value_id *in = wk_arena_alloc(a, (n->n_in + 1) * sizeof *in), y;
  for (uint32_t j = 0; j < n->n_in; j++) {
    in[j] = n->in[j];
    if (in[j] == WK_NONE) continue;
    in[j] = inside(b, in[j], s);
    b->count[n->in[j]]--;
  }
  WK_TRY(wk_graph_add(body, &(wk_node_desc){.op = n->op, .name = n->name, .attrs = n->attrs,
                                            .in = in, .n_in = n->n_in, .n_out = 1}, &y));
  wk_graph_replace(body, body->inputs.data[k - 1], y);
  const wk_node_id id = (wk_node_id)(n - b->g->nodes.data);
  drop_operand(b, k);
  wk_node_remove(b->g, id);
  return NULL;
}

static void close(branching *b) {
  wk_node *n = wk_nod(b->g, b->id);
  n->in = wk_arena_memdup(b->g->module->arena, b->in.data, b->in.n * sizeof *b->in.data);
  n->n_in = (uint32_t)b->in.n;
}

/* Until all that can has moved: what moves brings its operands. */
static wk_status sink_all(branching *b, wk_arena *a, int64_t *changes) {
  int64_t before = *changes;
  for (size_t k = b->in.n - 1; k > 0; k--) {
    const wk_node *n = maker(b, k);
    if (!n) continue;
    WK_TRY(sink(b, k, n, a));
    k = b->in.n; /* operands that are new come last */
    ++*changes;
  }
  if (*changes == before) return NULL;
  close(b);
  for (int s = 0; s < 2; s++) WK_TRY(wk_graph_normalise(body_of(b, s)));
  return NULL;
}

wk_status wk_pass_sink_into_branches(wk_graph *g, wk_pass_ctx *c) {
  const size_t n = g->nodes.n;
  if (g->module->open_axes.n) return NULL;
  for (size_t i = 0; i < n; i++) {
    const wk_node *node = wk_nod(g, (wk_node_id)i);
    if (node->dead || node->op != WK_OP_IF || node->predicate != WK_NONE) continue;
    branching b = {.g = g, .id = (wk_node_id)i, .count = count_uses(g, c->scratch)};
    open(&b, c->scratch);
    wk_status s = sink_all(&b, c->scratch, &c->changes);
    wk_vec_free(&b.in);
    wk_vec_free(&b.used[0]);
    wk_vec_free(&b.used[1]);
    if (s) return s;
  }
  return NULL;
}
