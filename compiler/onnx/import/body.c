/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/control.h"
#include "compiler/onnx/import/extent.h"

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
  wk_extents_enter(c->im, b->g);
  return true;
}

void wk_body_import(wk_onnx_node *c, wk_body *b, const wk_bound *in, size_t n_in, wk_bound *out,
                    size_t n_out) {
  if (!c->status) wk_onnx_latch(c, fill(c, b->scope, b->p, in, n_in, out, n_out));
}

wk_onnx_node wk_body_node(const wk_onnx_node *c, const wk_body *b) {
  wk_onnx_node inner = *c;
  inner.g = b->g;
  inner.scope = b->scope;
  return inner;
}

void wk_body_close(wk_onnx_node *c, wk_body *b) {
  if (b->scope) wk_extents_leave(c->im, b->g);
  wk_scope_free(b->scope);
  b->scope = NULL;
}

void wk_body_result(wk_onnx_node *c, wk_value_id out, wk_value_id v) {
  const wk_size *dims[WK_MAX_RANK];
  if (c->status || !wk_extent_has_open(c->im, c->g, v)) return;
  wk_extent_dims(c, v, dims);
  wk_extent_declare(c, out, dims);
}

void wk_body_sizes(wk_onnx_node *c, const wk_body *b, wk_value_id inner, wk_value_id v) {
  const wk_size *dims[WK_MAX_RANK];
  wk_onnx_node at = wk_body_node(c, b);
  if (c->status || !wk_extent_has_open(c->im, c->g, v)) return;
  wk_extent_dims(c, v, dims);
  wk_extent_declare(&at, inner, dims);
}

bool wk_body_keeps(wk_onnx_node *c, const wk_body *b, wk_value_id v, wk_value_id *inner) {
  wk_onnx_node at = wk_body_node(c, b);
  const wk_type before = *wk_onnx_type(c, v), *after = wk_onnx_type(&at, *inner);
  if (before.dtype != after->dtype || before.rank != after->rank) return false;
  for (int i = 0; i < before.rank; i++)
    if (!wk_size_equal(wk_extent_dim(c, v, i), wk_extent_dim(&at, *inner, i))) return false;
  for (int i = 0; i < before.rank; i++) *inner = wk_extent_room(&at, *inner, i, before.dims[i]);
  c->status = at.status;
  return true;
}

wk_value_id wk_body_until(wk_onnx_node *c, const wk_body *b, wk_value_id iteration,
                          const wk_size *size, wk_value_id before, wk_value_id then) {
  wk_onnx_node at = wk_body_node(c, b);
  wk_value_id goes_on = wk_make_2(&at, WK_OP_LESS, iteration, wk_size_value(&at, size));
  wk_value_id y = wk_make_where(&at, goes_on, then, before);
  c->status = at.status;
  return y;
}

void wk_body_rows(wk_onnx_node *c, const wk_body *b, wk_value_id inner, wk_value_id out, int axis,
                  const wk_size *n) {
  wk_onnx_node at = wk_body_node(c, b);
  const wk_size *dims[WK_MAX_RANK] = {0};
  for (int i = 0; i < wk_onnx_type(c, out)->rank && wk_onnx_ok(c); i++) {
    dims[i] = i == axis ? n : wk_extent_dim(&at, inner, i < axis ? i : i - 1);
    wk_onnx_need(c, wk_size_is_known(c, dims[i]), "%s, of which each iteration gives one, may have "
                 "another size in each: %s", wk_val(b->g, inner)->name, wk_size_text(c, dims[i]));
  }
  if (wk_onnx_ok(c)) wk_extent_declare(c, out, dims);
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
