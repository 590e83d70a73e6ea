/* SPDX-License-Identifier: Apache-2.0 */
/* Interpretation of graphs: nodes in order, a tensor per value, freed when its last use is over.
 * Bodies of IF and LOOP are graphs that see nothing from outside, so they run the same way, one
 * level deeper. */
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

/* A row of ops.def without a handler does not link. */
static const wk_eval_fn handlers[WK_OP_COUNT] = {
#define OP(e, name, kind, cls, ins, outs, infer, sem, attrs, traits, doc) \
  [WK_OP_##e] = WK_EVAL_PICK_##cls(name),
#include "compiler/ir/ops.def"
#undef OP
};

const char *wk_eval_place(const wk_eval_call *c) {
  const char *name = c->a.node->name;
  return name && *name ? name : wk_op_get(c->a.node->op)->name;
}

wk_status wk_eval_only_inst(const wk_eval_call *c) {
  return wk_error_at(WK_INTERNAL, wk_eval_place(c), "%s exists as an instruction only",
                     wk_op_get(c->a.node->op)->name);
}

/* Handlers also look at the types of outputs that nobody wants. */
static wk_status complete_types(const wk_eval_call *c) {
  bool complete = true;
  for (uint32_t k = 0; k < c->n_out; k++)
    complete = complete && c->a.out[k].type.dtype != WK_DTYPE_NONE;
  if (complete) return NULL;
  const wk_type **in = wk_xcalloc(c->n_in, sizeof *in);
  wk_type *out = wk_xcalloc(c->n_out, sizeof *out);
  for (uint32_t k = 0; k < c->n_in; k++)
    in[k] = c->a.in[k].type.dtype == WK_DTYPE_NONE ? NULL : &c->a.in[k].type;
  wk_infer query = {.graph = c->a.graph, .op = c->a.node->op, .attrs = c->a.node->attrs, .in = in,
                    .n_in = c->n_in, .n_out = c->n_out, .n_bodies = c->a.node->n_bodies,
                    .bodies = c->a.node->bodies, .out = out};
  wk_status s = wk_infer_node(&query);
  for (uint32_t k = 0; k < c->n_out && !s; k++)
    if (c->a.out[k].type.dtype == WK_DTYPE_NONE) c->a.out[k].type = out[k];
  free(in);
  free(out);
  return s;
}

wk_status wk_eval_call_run(const wk_eval_call *c) {
  wk_status s = complete_types(c);
  if (!s) s = handlers[c->a.node->op](c);
  return wk_status_place(s, wk_eval_place(c));
}

wk_status wk_eval_node(const wk_eval_node_args *a) {
  wk_eval_call c = {.a = *a, .n_in = a->node->n_in, .n_out = a->node->n_out};
  return wk_eval_call_run(&c);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef struct {
  wk_tensor t;
  uint32_t uses; /* still to come */
  bool own;
} slot;

typedef struct {
  const wk_graph *g;
  slot *slots;
  wk_tensor *in, *out; /* operands of the node at hand */
  wk_eval_hook hook;
  void *ctx;
  int depth;
} run;

static void release(slot *s) {
  if (s->own) wk_tensor_free(&s->t);
  s->own = false;
  s->t.data = NULL;
}

static wk_status bind(run *r, const wk_tensor *inputs) {
  const wk_graph *g = r->g;
  for (size_t i = 0; i < g->inputs.n; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[i]);
    if (wk_is_variable(g, g->inputs.data[i]) && !inputs[i].data) {
      r->slots[g->inputs.data[i]].t = (wk_tensor){v->type, (void *)(uintptr_t)v->initial};
      continue;
    }
    if (inputs[i].type.dtype != v->type.dtype || !wk_shape_equal(&inputs[i].type, &v->type)) {
      wk_str want = {0}, got = {0};
      wk_type_print(&want, &v->type);
      wk_type_print(&got, &inputs[i].type);
      wk_status s =
          wk_error_at(WK_INPUT, v->name, "input is %s, the graph wants %s", got.s, want.s);
      wk_str_free(&want);
      wk_str_free(&got);
      return s;
    }
    r->slots[g->inputs.data[i]].t = (wk_tensor){v->type, inputs[i].data};
  }
  for (size_t i = 0; i < g->values.n; i++) {
    const wk_value *v = &g->values.data[i];
    if (v->kind == WK_VALUE_CONSTANT)
      r->slots[i].t = (wk_tensor){v->type, (void *)(uintptr_t)v->data};
  }
  return NULL;
}

static uint32_t count_uses(run *r) {
  const wk_graph *g = r->g;
  uint32_t most = 1;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead) continue;
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k] != WK_NONE) r->slots[n->in[k]].uses++;
    if (n->n_in > most) most = n->n_in;
    if (n->n_out > most) most = n->n_out;
  }
  for (size_t i = 0; i < g->outputs.n; i++) r->slots[g->outputs.data[i]].uses++;
  return most;
}

/* A result that nobody reads is not computed, unless a hook wants to see it. */
static wk_status prepare(run *r, const wk_node *n) {
  for (uint32_t k = 0; k < n->n_in; k++) {
    r->in[k] = n->in[k] == WK_NONE ? (wk_tensor){0} : r->slots[n->in[k]].t;
    if (n->in[k] != WK_NONE && !r->in[k].data)
      return wk_error(WK_INTERNAL, "value '%s' is used before it is computed",
                      wk_val(r->g, n->in[k])->name);
  }
  for (uint32_t k = 0; k < n->n_out; k++) {
    r->out[k] = (wk_tensor){0};
    if (n->out[k] == WK_NONE) continue;
    slot *s = &r->slots[n->out[k]];
    const wk_type *t = &wk_val(r->g, n->out[k])->type;
    r->out[k].type = *t;
    if (!s->uses && !r->hook) continue;
    WK_TRY(wk_tensor_alloc(t, &s->t));
    s->own = true;
    r->out[k].data = s->t.data;
  }
  return NULL;
}

static void finish(run *r, const wk_node *n) {
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (n->in[k] == WK_NONE) continue;
    slot *s = &r->slots[n->in[k]];
    if (--s->uses == 0) release(s);
  }
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != WK_NONE && !r->slots[n->out[k]].uses) release(&r->slots[n->out[k]]);
}

static wk_status run_node(run *r, const wk_node *n) {
  wk_eval_call c = {.a = {n, r->g, r->in, r->out}, .n_in = n->n_in, .n_out = n->n_out,
                    .depth = r->depth, .hook = r->hook, .ctx = r->ctx};
  WK_TRY(wk_status_place(prepare(r, n), wk_eval_place(&c)));
  WK_TRY(wk_eval_call_run(&c));
  if (r->hook) WK_TRY(r->hook(r->ctx, r->g, n, r->in, r->out, r->depth));
  finish(r, n);
  return NULL;
}

/* The last use of a computed value hands over its memory; everything else is copied. */
static wk_status collect(run *r, wk_tensor *outputs) {
  for (size_t i = 0; i < r->g->outputs.n; i++) {
    slot *s = &r->slots[r->g->outputs.data[i]];
    if (!s->t.data)
      return wk_error(WK_INTERNAL, "output '%s' is never computed",
                      wk_val(r->g, r->g->outputs.data[i])->name);
    if (--s->uses == 0 && s->own) {
      outputs[i] = s->t;
      s->own = false;
      continue;
    }
    WK_TRY(wk_tensor_alloc(&s->t.type, &outputs[i]));
    memcpy(outputs[i].data, s->t.data, (size_t)wk_type_bytes(&s->t.type));
  }
  return NULL;
}

static wk_status run_graph(run *r, const wk_tensor *inputs, wk_tensor *outputs) {
  WK_TRY(bind(r, inputs));
  for (size_t i = 0; i < r->g->nodes.n; i++)
    if (!r->g->nodes.data[i].dead) WK_TRY(run_node(r, &r->g->nodes.data[i]));
  return collect(r, outputs);
}

wk_status wk_eval_graph_at(const wk_graph *g, const wk_tensor *inputs, wk_tensor *outputs,
                           wk_eval_hook hook, void *ctx, int depth) {
  if (depth > WK_EVAL_MAX_DEPTH)
    return wk_error(WK_RESOURCE, "bodies are nested more than %d deep", WK_EVAL_MAX_DEPTH);
  run r = {.g = g, .hook = hook, .ctx = ctx, .depth = depth};
  r.slots = wk_xcalloc(g->values.n, sizeof *r.slots);
  uint32_t most = count_uses(&r);
  r.in = wk_xcalloc(most, sizeof *r.in);
  r.out = wk_xcalloc(most, sizeof *r.out);
  for (size_t i = 0; i < g->outputs.n; i++) outputs[i] = (wk_tensor){0};
  wk_status s = run_graph(&r, inputs, outputs);
  for (size_t i = 0; i < g->values.n; i++) release(&r.slots[i]);
  for (size_t i = 0; s && i < g->outputs.n; i++) wk_tensor_free(&outputs[i]);
  free(r.slots);
  free(r.in);
  free(r.out);
  return s;
}

wk_status wk_eval_graph(const wk_graph *g, const wk_tensor *inputs, wk_tensor *outputs,
                        wk_eval_hook hook, void *ctx) {
  return wk_eval_graph_at(g, inputs, outputs, hook, ctx, 0);
}
