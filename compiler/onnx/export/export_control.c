/* SPDX-License-Identifier: Apache-2.0
 * IF and LOOP. In ONNX the graphs inside a node see the names around it, so captures become
 * names. */
#include <string.h>

#include "compiler/onnx/export/export_ops.h"

static const char **input_names(wk_export_graph *x, uint32_t first) {
  const char **v = wk_arena_alloc(x->arena, x->node->n_in * sizeof *v);
  for (uint32_t i = first; i < x->node->n_in; i++) v[i - first] = wk_export_in(x, i);
  return v;
}

static const char **output_names(wk_export_graph *x) {
  const char **v = wk_arena_alloc(x->arena, x->node->n_out * sizeof *v);
  for (uint32_t i = 0; i < x->node->n_out; i++) {
    v[i] = wk_export_out(x, i);
    if (!*v[i]) v[i] = wk_export_fresh(x);
  }
  return v;
}

wk_status wk_export_if(wk_export_graph *x) {
  const wk_node *n = x->node;
  const char **captures = input_names(x, 1), *cond = wk_export_in(x, 0);
  wk_status s = NULL;
  Onnx__GraphProto *then_graph = wk_export_body(x, n->bodies[0], 0, captures, &s);
  if (s) return s;
  Onnx__GraphProto *else_graph = wk_export_body(x, n->bodies[1], 0, captures, &s);
  if (s) return s;
  wk_export_add(x, "If", &cond, 1, output_names(x), n->n_out);
  wk_export_subgraph(x, "then_branch", then_graph);
  wk_export_subgraph(x, "else_branch", else_graph);
  return NULL;
}

/* What one more node of the body makes becomes its first output. */
static void begin_outputs(wk_export_graph *x, Onnx__GraphProto *g, Onnx__NodeProto *made_by,
                          const wk_type *t) {
  Onnx__ValueInfoProto **outputs = wk_arena_alloc(x->arena, (g->n_output + 1) * sizeof *outputs);
  Onnx__NodeProto **nodes = wk_arena_alloc(x->arena, (g->n_node + 1) * sizeof *nodes);
  outputs[0] = wk_export_value_info(x, made_by->output[0], t);
  memcpy(outputs + 1, g->output, g->n_output * sizeof *outputs);
  memcpy(nodes, g->node, g->n_node * sizeof *nodes);
  nodes[g->n_node++] = made_by;
  g->node = nodes;
  g->output = outputs;
  g->n_output++;
}

/* ONNX's Loop has a condition as input and output of its body. */
static wk_status as_loop(wk_export_graph *x, const wk_attr_loop *a) {
  const wk_node *n = x->node;
  const wk_graph *b = n->bodies[0];
  size_t own = 1 + (size_t)a->n_state;
  wk_status s = NULL;
  Onnx__GraphProto *g = wk_export_body(x, b, own, input_names(x, (uint32_t)own), &s);
  if (s) return s;
  wk_export_graph scratch = *x; /* the condition's declaration, after the iteration number */
  const wk_type cond_type = wk_type_make(WK_BOOL, 0, NULL);
  Onnx__ValueInfoProto *cond_in = wk_export_value_info(&scratch, wk_export_fresh(x), &cond_type);
  Onnx__ValueInfoProto **inputs = wk_arena_alloc(x->arena, (g->n_input + 1) * sizeof *inputs);
  inputs[0] = g->input[0];
  inputs[1] = cond_in;
  memcpy(inputs + 2, g->input + 1, (g->n_input - 1) * sizeof *inputs);
  g->input = inputs;
  g->n_input++;
  if (!a->has_cond) { /* handed through */
    const char *from = cond_in->name;
    begin_outputs(x, g, wk_export_detached(x, "Identity", &from, 1, wk_export_fresh(x)),
                  &cond_type);
  }
  const char **in = wk_arena_alloc(x->arena, (own + 1) * sizeof *in);
  in[0] = a->trip == INT64_MAX ? "" : wk_export_i64(x, a->trip);
  in[1] = a->has_cond ? wk_export_in(x, 0) : "";
  for (size_t i = 1; i < own; i++) in[1 + i] = wk_export_in(x, (uint32_t)i);
  wk_export_add(x, "Loop", in, own + 1, output_names(x), n->n_out);
  wk_export_subgraph(x, "body", g);
  return NULL;
}

static bool uses_iteration(const wk_graph *b) {
  wk_value_id v = b->inputs.data[0];
  for (size_t i = 0; i < b->nodes.n; i++) {
    const wk_node *n = &b->nodes.data[i];
    for (uint32_t k = 0; k < n->n_in && !n->dead; k++) {
      if (n->in[k] == v) return true;
    }
  }
  for (size_t i = 0; i < b->outputs.n; i++) {
    if (b->outputs.data[i] == v) return true;
  }
  return false;
}

/* Scan does not show the iteration number: where the body reads it, it is a state that counts. */
static void count_in_body(wk_export_graph *x, Onnx__GraphProto *g) {
  const wk_type number = wk_type_make(WK_I64, 0, NULL);
  const char *in[] = {g->input[0]->name, wk_export_i64(x, 1)};
  begin_outputs(x, g, wk_export_detached(x, "Add", in, 2, wk_export_fresh(x)), &number);
}

static wk_status as_scan(wk_export_graph *x, const wk_attr_loop *a) {
  const wk_node *n = x->node;
  bool counts = uses_iteration(n->bodies[0]);
  size_t own = 1 + (size_t)(a->n_state + a->n_scan), first = counts ? 0 : 1;
  wk_status s = NULL;
  Onnx__GraphProto *g = wk_export_body(x, n->bodies[0], own, input_names(x, (uint32_t)own), &s);
  if (s) return s;
  const char **in = input_names(x, 0), **made = output_names(x);
  const char **out = wk_arena_alloc(x->arena, (n->n_out + 1) * sizeof *out);
  if (counts) {
    count_in_body(x, g);
    in[0] = wk_export_i64(x, 0);
    out[0] = wk_export_fresh(x);
  }
  memcpy(out + 1, made, n->n_out * sizeof *out);
  g->input += first;
  g->n_input -= first;
  wk_export_add(x, "Scan", in + first, own - first, out + first, n->n_out + 1 - first);
  wk_export_subgraph(x, "body", g);
  wk_export_int(x, "num_scan_inputs", a->n_scan);
  wk_export_ints(x, "scan_input_axes", a->scan_axes);
  wk_export_ints(x, "scan_input_directions", a->scan_reverse);
  wk_export_ints(x, "scan_output_axes", a->out_axes);
  wk_export_ints(x, "scan_output_directions", a->out_reverse);
  return NULL;
}

wk_status wk_export_loop(wk_export_graph *x) {
  const wk_attr_loop *a = x->node->attrs;
  bool stacks_plainly = true;
  for (int64_t i = 0; i < a->out_axes.n; i++) {
    stacks_plainly = stacks_plainly && a->out_axes.v[i] == 0 && a->out_reverse.v[i] == 0;
  }
  if (a->n_scan == 0 && stacks_plainly) return as_loop(x, a);
  if (a->n_scan > 0 && !a->has_cond) return as_scan(x, a);
  return wk_error(WK_UNSUPPORTED, "this loop node has no ONNX form");
}
