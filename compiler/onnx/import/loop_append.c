/* SPDX-License-Identifier: Apache-2.0
 * Loops whose states grow: what torch.onnx makes of a list, or of a tensor to which each iteration
 * joins rows (state = Concat(state, rows), along the first axis). The rows become slices of the
 * loop, and the state is the first one with all of them behind it. */
#include <string.h>

#include "compiler/onnx/import/control.h"
#include "compiler/onnx/import/extent.h"
#include "compiler/onnx/import/handlers.h"

/* How often nodes, and graphs in them, read the name. */
static size_t count_reads(Onnx__NodeProto *const *nodes, size_t n, const char *name) {
  size_t reads = 0;
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < nodes[i]->n_input; k++) reads += !strcmp(nodes[i]->input[k], name);
    for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
      const Onnx__GraphProto *g = nodes[i]->attribute[k]->g;
      if (g) reads += count_reads(g->node, g->n_node, name);
    }
  }
  return reads;
}

static bool joins_rows(const Onnx__NodeProto *n, const char *state, const char *result) {
  bool is_concat = !strcmp(n->op_type, "Concat") && n->n_input == 2 && n->n_output == 1;
  if (!is_concat || strcmp(n->input[0], state) != 0 || strcmp(n->output[0], result) != 0)
    return false;
  for (size_t i = 0; i < n->n_attribute; i++)
    if (!strcmp(n->attribute[i]->name, "axis")) return n->attribute[i]->i == 0;
  return false;
}

const Onnx__NodeProto *wk_loop_joining(const Onnx__GraphProto *body, size_t state) {
  const char *name = body->input[2 + state]->name, *result = body->output[1 + state]->name;
  if (!name || !result || count_reads(body->node, body->n_node, name) != 1) return NULL;
  if (count_reads(body->node, body->n_node, result) != 0) return NULL;
  for (size_t i = 0; i < body->n_node; i++)
    if (joins_rows(body->node[i], name, result)) return body->node[i];
  return NULL;
}

static void drop_node(Onnx__GraphProto *g, const Onnx__NodeProto *n) {
  size_t kept = 0;
  for (size_t i = 0; i < g->n_node; i++)
    if (g->node[i] != n) g->node[kept++] = g->node[i];
  g->n_node = kept;
}

static Onnx__ValueInfoProto *named(wk_arena *a, const char *name) {
  Onnx__ValueInfoProto *v = wk_arena_alloc(a, sizeof *v);
  onnx__value_info_proto__init(v);
  v->name = wk_arena_strdup(a, name);
  return v;
}

const Onnx__GraphProto *wk_loop_rows(wk_arena *a, const Onnx__GraphProto *body, size_t n_state,
                                     const Onnx__NodeProto *const *joining) {
  Onnx__GraphProto *g = wk_arena_memdup(a, body, sizeof *body);
  g->node = wk_arena_memdup(a, body->node, body->n_node * sizeof *body->node);
  g->input = wk_arena_alloc(a, body->n_input * sizeof *g->input);
  g->output = wk_arena_alloc(a, body->n_output * sizeof *g->output);
  g->n_input = g->n_output = 0;
  for (size_t i = 0; i < body->n_input; i++)
    if (i < 2 || !joining[i - 2]) g->input[g->n_input++] = body->input[i];
  for (size_t i = 0; i < body->n_output; i++)
    if (i < 1 || i > n_state || !joining[i - 1]) g->output[g->n_output++] = body->output[i];
  for (size_t k = 0; k < n_state; k++) {
    if (!joining[k]) continue;
    drop_node(g, joining[k]);
    g->output[g->n_output++] = named(a, joining[k]->input[1]);
  }
  return g;
}

/* ---- no iterations --------------------------------------------------------------------------- */

/* The domain, by its address, of a Loop that is in a branch of its own. */
static const char entered[] = "";

bool wk_loop_is_entered(const wk_onnx_node *c) { return c->proto->domain == entered; }

static Onnx__AttributeProto *branch(wk_arena *a, const char *name, Onnx__GraphProto *g) {
  Onnx__AttributeProto *at = wk_arena_alloc(a, sizeof *at);
  onnx__attribute_proto__init(at);
  at->name = wk_arena_strdup(a, name);
  at->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
  at->g = g;
  return at;
}

static Onnx__GraphProto *graph_of(const wk_onnx_node *c, Onnx__NodeProto **nodes, size_t n) {
  wk_arena *a = c->im->arena;
  Onnx__GraphProto *g = wk_arena_alloc(a, sizeof *g);
  onnx__graph_proto__init(g);
  g->name = wk_arena_printf(a, "%s", c->name);
  g->node = nodes;
  g->n_node = n;
  g->output = wk_arena_alloc(a, c->proto->n_output * sizeof *g->output);
  for (size_t i = 0; i < c->proto->n_output; i++) g->output[i] = named(a, c->proto->output[i]);
  g->n_output = c->proto->n_output;
  return g;
}

/* The loop once more, by this count. */
static Onnx__NodeProto **loop_by(const wk_onnx_node *c, const char *count) {
  wk_arena *a = c->im->arena;
  Onnx__NodeProto **loop = wk_arena_alloc(a, sizeof *loop);
  *loop = wk_arena_memdup(a, c->proto, sizeof **loop);
  (*loop)->domain = (char *)(uintptr_t)entered;
  (*loop)->input = wk_arena_memdup(a, c->proto->input, c->proto->n_input * sizeof(char *));
  if (count) (*loop)->input[0] = wk_arena_strdup(a, count);
  return loop;
}

wk_status wk_loop_or_none(wk_onnx_node *c, wk_value_id count) {
  wk_arena *a = c->im->arena;
  const char *none = wk_arena_printf(a, "%s.none", c->proto->input[0]);
  if (!wk_scope_has(c->scope, none))
    wk_scope_bind(c->scope, none, wk_bound_tensor(wk_extent_number(c, 0)));
  Onnx__NodeProto choice;
  onnx__node_proto__init(&choice);
  Onnx__AttributeProto *branches[] = {
      branch(a, "then_branch", graph_of(c, loop_by(c, NULL), 1)),
      branch(a, "else_branch", graph_of(c, loop_by(c, none), 1))};
  choice.attribute = branches;
  choice.n_attribute = 2;
  choice.op_type = wk_arena_strdup(a, "If");
  wk_value_id any = wk_make_2(c, WK_OP_LESS, wk_extent_number(c, 0), count);
  wk_bound bound = wk_bound_tensor(any);
  wk_onnx_node n = *c;
  n.proto = wk_arena_memdup(a, &choice, sizeof choice);
  n.in = &any;
  n.bound = &bound;
  n.n_in = 1;
  wk_onnx_latch(c, wk_onnx_if(&n));
  return c->status;
}
