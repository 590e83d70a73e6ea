/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/control.h"

/* Binds the inputs of p, imports its contents and looks up its outputs. */
static wk_status fill(wk_onnx_node *c, wk_scope *s, const Onnx__GraphProto *p, const wk_bound *in,
                      size_t n_in, wk_bound *out, size_t n_out) {
  if (n_in != p->n_input || n_out > p->n_output) {
    return wk_error(WK_INPUT, "its graph '%s' has %zu inputs and %zu outputs, not %zu and %zu",
                    p->name ? p->name : "", p->n_input, p->n_output, n_in, n_out);
  }
  for (size_t i = 0; i < n_in; i++) {
    const char *name = p->input[i]->name;
    if (!name || !*name) return wk_error(WK_INPUT, "a graph input has no name");
    if (wk_scope_has(s, name)) return wk_error_at(WK_INPUT, name, "this tensor is defined twice");
    wk_scope_bind(s, name, in[i]);
  }
  WK_TRY(wk_import_initialisers(c->im, s, p));
  WK_TRY(wk_import_nodes(c->im, s, p->node, p->n_node));
  for (size_t i = 0; i < n_out; i++) {
    const char *name = p->output[i]->name;
    if (!name || !wk_scope_find(c->im, s, name, &out[i])) {
      return wk_error_at(WK_INPUT, name ? name : "output", "no node produces this graph output");
    }
  }
  return NULL;
}

static bool check_depth(wk_onnx_node *c) {
  if (c->scope->depth + 1 < WK_GRAPH_MAX_DEPTH) return true;
  wk_onnx_fail(c, WK_RESOURCE, "graphs are nested more than %d deep", WK_GRAPH_MAX_DEPTH);
  return false;
}

void wk_body_inline(wk_onnx_node *c, const Onnx__GraphProto *p, const wk_bound *in, size_t n_in,
                    wk_bound *out, size_t n_out) {
  if (c->status || !check_depth(c)) return;
  wk_scope *s = wk_scope_new(c->scope, false, c->g, c->scope->frame);
  wk_scope_enter(c->im, s, c->proto, p);
  wk_onnx_latch(c, fill(c, s, p, in, n_in, out, n_out));
  wk_scope_free(s);
}

bool wk_body_open(wk_onnx_node *c, const Onnx__GraphProto *p, wk_body *b) {
  *b = (wk_body){.p = p};
  if (c->status || !check_depth(c)) return false;
  wk_module *m = c->im->m; /* the number makes the name unique */
  const char *name = p->name && *p->name ? p->name : c->name;
  b->g = wk_graph_new(m, wk_arena_printf(m->arena, "%s.%zu", name, m->graphs.n));
  b->scope = wk_scope_new(c->scope, false, b->g, c->scope->frame);
  wk_scope_enter(c->im, b->scope, c->proto, p);
  return true;
}

void wk_body_import(wk_onnx_node *c, wk_body *b, const wk_bound *in, size_t n_in, wk_bound *out,
                    size_t n_out) {
  if (!c->status) wk_onnx_latch(c, fill(c, b->scope, b->p, in, n_in, out, n_out));
}

void wk_body_close(wk_body *b) {
  wk_scope_free(b->scope);
  b->scope = NULL;
}

bool wk_body_tensors(wk_onnx_node *c, const wk_bound *out, size_t n, bool *unknown) {
  *unknown = false;
  for (size_t i = 0; i < n; i++) {
    if (out[i].kind == WK_BOUND_UNKNOWN) *unknown = true;
    else wk_onnx_need(c, out[i].kind == WK_BOUND_TENSOR, "output %zu of the graph is not a tensor",
                      i);
  }
  return wk_onnx_ok(c) && !*unknown;
}

void wk_body_results_unknown(wk_onnx_node *c) {
  for (int i = 0; i < c->n_out; i++)
    c->out[i] = (wk_bound){.kind = WK_BOUND_UNKNOWN, .value = WK_NONE};
}
