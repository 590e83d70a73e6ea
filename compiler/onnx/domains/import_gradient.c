/* SPDX-License-Identifier: Apache-2.0
 * Gradient of ai.onnx.preview.training. Its attributes name tensors: y, and xs and zs, which
 * determine y. They pick a part of the graph, and the inputs are values for xs and zs, which may be
 * other tensors. So that part is imported once more, into a graph whose inputs are xs and zs; the
 * graph is differentiated, and what the derivatives need of it becomes part of the graph around.
 *
 * y may have any shape: what is differentiated is the sum of its elements. A derivative of y with
 * respect to what it depends on through integers alone is 0. */
#include <stdlib.h>
#include <string.h>

#include "compiler/grad/grad.h"
#include "compiler/onnx/import/control.h"
#include "compiler/onnx/import/handlers.h"

typedef struct {
  wk_onnx_node *c;
  const char *y;
  const char **listed;  /* xs, then zs */
  int n_xs, n_listed;
  wk_bound *values;     /* what the listed names stand for where the node is */
  bool *is_read;        /* of listed: y depends on it */
  wk_map *position;     /* name -> index in listed */
  WK_VEC(Onnx__NodeProto *) nodes; /* between xs and zs, and y */
} gradient;

/* ---- names ----------------------------------------------------------------------------------- */

static void list_names(gradient *d) {
  wk_onnx_node *c = d->c;
  wk_texts xs = wk_onnx_texts(c, "xs"), zs = wk_onnx_texts(c, "zs");
  int64_t n_zs = zs.n < 0 ? 0 : zs.n;
  d->y = wk_onnx_text(c, "y", "");
  if (!wk_onnx_valid(c, xs.n > 0, "xs names no tensor") ||
      !wk_onnx_valid(c, xs.n + n_zs == c->n_in, "xs and zs name %lld tensors, not %d as the inputs",
                     (long long)(xs.n + n_zs), c->n_in) ||
      !wk_onnx_valid(c, c->n_out <= xs.n, "xs names %lld tensors, fewer than there are outputs",
                     (long long)xs.n))
    return;
  d->n_xs = (int)xs.n;
  d->n_listed = c->n_in;
  d->listed = wk_arena_alloc(c->im->arena, (size_t)c->n_in * sizeof *d->listed);
  d->values = wk_arena_alloc(c->im->arena, (size_t)c->n_in * sizeof *d->values);
  d->is_read = wk_arena_alloc(c->im->arena, (size_t)c->n_in);
  for (int i = 0; i < c->n_in && wk_onnx_ok(c); i++) {
    uint32_t other;
    d->listed[i] = i < d->n_xs ? xs.v[i] : zs.v[i - d->n_xs];
    wk_onnx_valid(c, !wk_map_get(d->position, d->listed[i], &other),
                  "xs and zs name tensor '%s' twice", d->listed[i]);
    wk_map_put(d->position, d->listed[i], (uint32_t)i);
  }
}

static bool find(gradient *d, const char *name, wk_bound *out) {
  return wk_onnx_valid(d->c, wk_scope_find(d->c->im, d->c->scope, name, out),
                       "names tensor '%s', which no node produces", name);
}

/* What is listed is a tensor, and so is the value for it. *unknown: something could not be
 * imported. */
static void check_names(gradient *d, bool *unknown) {
  wk_onnx_node *c = d->c;
  wk_bound y;
  for (int i = 0; i < d->n_listed && wk_onnx_ok(c); i++) {
    wk_bound *b = &d->values[i];
    if (!find(d, d->listed[i], b)) return;
    *unknown = *unknown || b->kind == WK_BOUND_UNKNOWN;
    if (*unknown) continue;
    if (!wk_onnx_need(c, b->kind == WK_BOUND_TENSOR, "'%s' is not a tensor", d->listed[i]) ||
        !wk_onnx_need(c, c->in[i] != WK_NONE, "input %d is not a tensor", i))
      return;
    wk_dtype named = wk_onnx_type(c, b->value)->dtype, given = wk_onnx_type(c, c->in[i])->dtype;
    wk_onnx_valid(c, named == given, "input %d is of %s, but '%s' is of %s", i,
                  wk_dtype_name(given), d->listed[i], wk_dtype_name(named));
    wk_onnx_valid(c, i >= d->n_xs || wk_dtype_is_float(named),
                  "'%s' is of %s, which has no derivative", d->listed[i], wk_dtype_name(named));
  }
  if (wk_onnx_ok(c) && find(d, d->y, &y)) *unknown = *unknown || y.kind == WK_BOUND_UNKNOWN;
}

/* ---- the part of the graph ------------------------------------------------------------------- */

typedef struct {
  wk_map *makers, *seen;            /* name -> index in all; names that have been followed */
  WK_VEC(Onnx__NodeProto *) all;    /* of the scopes in sight, the innermost first */
  WK_VEC(bool) taken;
  wk_onnx_names work;
} search;

static void list_makers(const wk_scope *scope, search *s) {
  uint32_t ignored;
  for (; scope; scope = scope->parent)
    for (size_t i = 0; i < scope->n_nodes; i++) {
      Onnx__NodeProto *n = scope->nodes[i];
      for (size_t k = 0; k < n->n_output; k++)
        if (*n->output[k] && !wk_map_get(s->makers, n->output[k], &ignored))
          wk_map_put(s->makers, n->output[k], (uint32_t)s->all.n);
      wk_vec_push(&s->all, n);
      wk_vec_push(&s->taken, false);
    }
}

/* Nothing that changes from run to run is left out of xs and zs. */
static void check_leaf(gradient *d, const char *name) {
  wk_bound b;
  bool is_fixed = true;
  if (!find(d, name, &b)) return;
  if (b.kind == WK_BOUND_TENSOR) is_fixed = b.value == WK_NONE || wk_is_const(d->c->g, b.value);
  for (uint32_t i = 0; b.kind == WK_BOUND_SEQUENCE && i < b.n; i++)
    is_fixed = is_fixed && wk_is_const(d->c->g, b.items[i]);
  wk_onnx_valid(d->c, is_fixed, "'%s' depends on '%s', which is neither in xs nor in zs", d->y,
                name);
}

static void follow(gradient *d, search *s, const char *name) {
  uint32_t at;
  if (!*name || wk_map_get(s->seen, name, &at)) return;
  wk_map_put(s->seen, name, 0);
  if (wk_map_get(d->position, name, &at)) {
    d->is_read[at] = true;
  } else if (!wk_map_get(s->makers, name, &at)) {
    check_leaf(d, name);
  } else if (!s->taken.data[at]) {
    s->taken.data[at] = true;
    wk_onnx_reads(s->all.data[at], false, d->c->im->arena, &s->work);
  }
}

static void find_part(gradient *d) {
  search s = {.makers = wk_map_new(), .seen = wk_map_new()};
  list_makers(d->c->scope, &s);
  wk_vec_push(&s.work, d->y);
  while (s.work.n && wk_onnx_ok(d->c)) follow(d, &s, s.work.data[--s.work.n]);
  for (size_t i = 0; i < s.all.n; i++)
    if (s.taken.data[i]) wk_vec_push(&d->nodes, s.all.data[i]);
  for (int i = 0; i < d->n_xs; i++)
    wk_onnx_valid(d->c, d->is_read[i], "'%s' does not depend on '%s'", d->y, d->listed[i]);
  wk_vec_free(&s.all);
  wk_vec_free(&s.taken);
  wk_vec_free(&s.work);
  wk_map_free(s.makers);
  wk_map_free(s.seen);
}

/* Its import, with xs the first inputs of the graph; y: of that graph. False: nothing could be made
 * of it, and why is on record or latched. */
static bool import_part(gradient *d, wk_body *b, wk_bound *y) {
  wk_onnx_node *c = d->c;
  bool unknown;
  for (int i = 0; i < d->n_listed; i++) {
    wk_value_id v = i < d->n_xs ? wk_graph_input(b->g, d->listed[i], wk_onnx_type(c, c->in[i]))
                                : wk_scope_capture(b->scope, c->g, c->in[i]);
    wk_scope_bind(b->scope, d->listed[i], wk_bound_tensor(v));
  }
  wk_map *entered = wk_import_again(c->im);
  b->scope->path = c->scope->path;
  wk_onnx_latch(c, wk_import_nodes(c->im, b->scope, d->nodes.data, d->nodes.n));
  wk_import_go_on(c->im, entered);
  if (!wk_onnx_ok(c)) return false;
  wk_onnx_valid(c, wk_scope_find(c->im, b->scope, d->y, y),
                "names tensor '%s', which no node produces", d->y);
  if (!wk_onnx_ok(c) || !wk_body_tensors(c, y, 1, &unknown)) return false;
  wk_dtype t = wk_val(b->g, y->value)->type.dtype;
  return wk_onnx_valid(c, wk_dtype_is_float(t), "'%s' is of %s, which has no derivative", d->y,
                       wk_dtype_name(t));
}

/* ---- its derivatives ------------------------------------------------------------------------- */

/* What the inputs of the part's graph are in the graph around. */
static wk_value_id *operands(const gradient *d, const wk_body *b) {
  const wk_graph *g = b->g;
  wk_value_id *in = wk_arena_alloc(d->c->im->arena, g->inputs.n * sizeof *in);
  for (size_t k = 0; k < g->inputs.n; k++) {
    in[k] = k < (size_t)d->n_xs ? d->c->in[k] : WK_NONE;
    for (size_t i = 0; i < b->scope->captures.n; i++)
      if (b->scope->captures.data[i].inner == g->inputs.data[k])
        in[k] = b->scope->captures.data[i].outer;
  }
  return in;
}

/* Constants that the derivatives need are computed at import. */
static wk_status differentiate(wk_importer *im, wk_graph *g, const wk_grad_request *r) {
  int64_t room = im->m->constant_bytes_left;
  im->m->constant_bytes_left = im->fold_bytes_left;
  wk_status s = wk_grad(g, r);
  im->fold_bytes_left = im->m->constant_bytes_left;
  im->m->constant_bytes_left = room;
  return s && s->place ? wk_status_note(s, "at %s", s->place) : s;
}

static bool is_wanted(const wk_onnx_node *c, int i) {
  return i < c->n_out && *c->proto->output[i];
}

/* Graphs of the part are put in order: they are not used by their ids any more. */
static wk_status put_in_order(wk_module *m, size_t first) {
  for (size_t i = first; i < m->graphs.n; i++) WK_TRY(wk_graph_normalise(m->graphs.data[i]));
  return NULL;
}

/* The derivatives of g's only output are its outputs instead, one for each result that is wanted;
 * zero[i]: result i is 0 and none of them. */
static wk_status derive(gradient *d, wk_graph *g, bool *zero) {
  wk_onnx_node *c = d->c;
  wk_value_id *ids = wk_arena_alloc(c->im->arena, 2 * (size_t)d->n_xs * sizeof *ids);
  wk_value_id y = g->outputs.data[0];
  wk_grad_request r = {.n_of = 1, .of = &y, .wrt = ids, .out = ids + d->n_xs};
  for (int i = 0; i < d->n_xs; i++)
    if (is_wanted(c, i)) ids[r.n_wrt++] = g->inputs.data[i];
  WK_TRY(differentiate(c->im, g, &r));
  wk_graph_drop_outputs(g);
  for (int i = 0, k = 0; i < d->n_xs; i++) {
    if (!is_wanted(c, i)) continue;
    wk_value_id v = r.out[k++];
    zero[i] = v == WK_NONE;
    if (!zero[i]) wk_graph_output(g, NULL, v);
  }
  return wk_graph_normalise(g);
}

static wk_value_id zeros(wk_onnx_node *c, const wk_type *t) {
  return wk_make_expand(c, wk_make_scalar(c, t->dtype, 0), t->rank, t->dims);
}

static void place_results(gradient *d, const wk_graph *g, const wk_value_id *in,
                          const bool *zero) {
  wk_onnx_node *c = d->c;
  wk_value_id *out = wk_arena_alloc(c->im->arena, g->outputs.n * sizeof *out);
  c->im->nodes_left -= (int64_t)g->nodes.n;
  if (c->im->nodes_left < 0) wk_onnx_fail(c, WK_RESOURCE, "the model has too many nodes");
  if (wk_onnx_ok(c)) wk_onnx_latch(c, wk_graph_inline(c->g, g, in, out));
  for (int i = 0, k = 0; i < c->n_out && wk_onnx_ok(c); i++) {
    if (!is_wanted(c, i)) continue;
    const wk_type t = *wk_onnx_type(c, c->in[i]);
    wk_onnx_result(c, i, zero[i] ? zeros(c, &t) : out[k++]);
  }
}

static void import(gradient *d, wk_body *b, size_t first) {
  wk_onnx_node *c = d->c;
  wk_bound y;
  bool *zero = wk_arena_alloc(c->im->arena, (size_t)d->n_xs);
  if (!import_part(d, b, &y)) {
    if (wk_onnx_ok(c)) wk_body_results_unknown(c);
    return;
  }
  wk_graph_output(b->g, d->y, y.value);
  const wk_value_id *in = operands(d, b);
  wk_status s = put_in_order(c->im->m, first);
  wk_onnx_latch(c, s ? s : derive(d, b->g, zero));
  if (wk_onnx_ok(c)) place_results(d, b->g, in, zero);
}

wk_status wk_onnx_gradient(wk_onnx_node *c) {
  static const Onnx__GraphProto part = ONNX__GRAPH_PROTO__INIT;
  gradient d = {.c = c, .position = wk_map_new()};
  wk_body b = {0};
  bool unknown = false;
  size_t first = c->im->m->graphs.n;
  list_names(&d);
  if (wk_onnx_ok(c)) check_names(&d, &unknown);
  if (wk_onnx_ok(c) && !unknown) find_part(&d);
  if (unknown && wk_onnx_ok(c)) wk_body_results_unknown(c);
  else if (wk_onnx_ok(c) && wk_body_open(c, &part, &b))
    import(&d, &b, first);
  wk_body_close(c, &b);
  wk_vec_free(&d.nodes);
  wk_map_free(d.position);
  return c->status;
}
