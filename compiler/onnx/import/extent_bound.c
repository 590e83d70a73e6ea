/* SPDX-License-Identifier: Apache-2.0
 * Values that decide sizes, and of which the caller says how large they are (--bound): a run in
 * which one is larger fails. */
#include <string.h>

#include "compiler/onnx/import/extent.h"

enum { FARTHEST = 64 }; /* nodes that are looked at for what decides a size */

static const wk_bind_bound *bound_of(const wk_importer *im, const char *name) {
  for (size_t i = 0; i < im->opt->n_bounds; i++)
    if (!strcmp(im->opt->bounds[i].value, name)) return &im->opt->bounds[i];
  return NULL;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Element k of list v, in a run that fails where it is not within the bound; *size: what it is. */
static wk_value_id bounded_element(wk_onnx_node *c, wk_value_id v, int64_t k,
                                   const wk_bind_bound *b, bool is_one, const wk_size **size) {
  wk_value_id x = wk_make_reshape(c, wk_make_slice(c, v, 0, k, 1, 1), 0, NULL);
  wk_value_id low = wk_make_2(c, WK_OP_GREATER_EQUAL, x, wk_extent_number(c, b->least));
  wk_value_id high = wk_make_2(c, WK_OP_LESS_EQUAL, x, wk_extent_number(c, b->most));
  const char *reason = wk_arena_printf(c->im->m->arena, "%s is not within --bound %s=%lld..%lld",
                                       b->value, b->value, (long long)b->least,
                                       (long long)b->most);
  x = wk_extent_gated(c, x, wk_make_2(c, WK_OP_AND, low, high), reason);
  const char *text = is_one ? b->value
                            : wk_arena_printf(c->im->arena, "%s[%lld]", b->value, (long long)k);
  wk_unknown u = {.g = c->g, .value = x, .least = b->least, .most = b->most,
                  .text = wk_extent_new_text(c, text)};
  *size = wk_size_unknown(c, &u);
  return wk_make_reshape(c, x, 1, (const int64_t[]){1});
}

/* v, whole numbers that are sizes from here on. */
static wk_value_id bounded(wk_onnx_node *c, wk_value_id v, const wk_bind_bound *b) {
  const wk_type t = *wk_onnx_type(c, v);
  const int64_t n = wk_type_count(&t);
  bool fits = wk_dtype_is_int(t.dtype) && t.rank <= 1 && n >= 1 && n <= FARTHEST &&
              !wk_extent_has_open(c->im, c->g, v);
  if (!fits) {
    wk_onnx_fail(c, WK_USAGE, "--bound %s: it is no scalar or list of whole numbers, of %d at the "
                 "most", b->value, FARTHEST);
    return v;
  }
  wk_value_id *parts = wk_arena_alloc(c->im->arena, (size_t)n * sizeof *parts);
  const wk_size **sizes = wk_arena_alloc(c->im->arena, (size_t)n * sizeof *sizes);
  v = wk_make_reshape(c, wk_make_cast(c, v, WK_I64), 1, &n);
  for (int64_t k = 0; k < n && wk_onnx_ok(c); k++)
    parts[k] = bounded_element(c, v, k, b, t.rank == 0 || n == 1, &sizes[k]);
  if (!wk_onnx_ok(c)) return v;
  v = n > 1 ? wk_make_concat(c, parts, (int)n, 0) : parts[0];
  v = wk_make_1(c, WK_OP_IDENTITY,
                wk_make_cast(c, wk_make_reshape(c, v, t.rank, t.dims), t.dtype));
  wk_extent_set_elements(c, v, sizes, n);
  return v;
}

void wk_extent_bound_results(wk_onnx_node *c) {
  if (c->im->opt->purpose != WK_FOR_INFERENCE) return;
  for (int i = 0; i < c->n_out && c->im->opt->n_bounds && wk_onnx_ok(c); i++) {
    const wk_bind_bound *b = bound_of(c->im, c->proto->output[i]);
    bool is_tensor = c->out[i].kind == WK_BOUND_TENSOR && c->out[i].value != WK_NONE;
    if (b && is_tensor && !wk_is_const(c->g, c->out[i].value))
      wk_onnx_result(c, i, bounded(c, c->out[i].value, b));
  }
}

wk_status wk_extents_bound_inputs(wk_importer *im, wk_scope *s) {
  wk_onnx_node c = {.im = im, .scope = s, .g = s->g, .name = "inputs"};
  const wk_import_options *o = im->opt;
  for (size_t i = 0; i < o->n_bounds && o->purpose == WK_FOR_INFERENCE; i++) {
    wk_bound b;
    bool is_input = wk_scope_find(im, s, o->bounds[i].value, &b) && b.kind == WK_BOUND_TENSOR &&
                    wk_val(s->g, b.value)->kind == WK_VALUE_INPUT;
    if (!is_input || !wk_onnx_ok(&c)) continue;
    b.value = bounded(&c, b.value, &o->bounds[i]);
    wk_scope_bind(s, o->bounds[i].value, b);
  }
  return c.status;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool nodes_make(Onnx__NodeProto *const *nodes, size_t n, const char *name);

static bool graph_makes(const Onnx__GraphProto *g, const char *name) {
  return g && nodes_make(g->node, g->n_node, name);
}

static bool nodes_make(Onnx__NodeProto *const *nodes, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < nodes[i]->n_output; k++)
      if (!strcmp(nodes[i]->output[k], name)) return true;
    for (size_t k = 0; k < nodes[i]->n_attribute; k++)
      if (graph_makes(nodes[i]->attribute[k]->g, name)) return true;
  }
  return false;
}

wk_status wk_extents_check_bounds(const wk_import_options *o, const Onnx__ModelProto *m) {
  for (size_t i = 0; i < o->n_bounds; i++) {
    bool is_there = graph_makes(m->graph, o->bounds[i].value);
    for (size_t k = 0; k < m->graph->n_input && !is_there; k++)
      is_there = !strcmp(m->graph->input[k]->name, o->bounds[i].value);
    for (size_t k = 0; k < m->n_functions && !is_there; k++)
      is_there = nodes_make(m->functions[k]->node, m->functions[k]->n_node, o->bounds[i].value);
    if (!is_there)
      return wk_error(WK_USAGE, "--bound %s: the model has no such value", o->bounds[i].value);
  }
  return NULL;
}

/* ---- proposals ------------------------------------------------------------------------------- */

/* What these make of sizes are sizes again: what decides is among their operands. */
static bool passes_sizes_on(const char *op) {
  static const char *const names[] = {"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze",
                                      "Concat", "Gather", "Slice", "Add", "Sub", "Mul", "Div",
                                      "Min", "Max", "ReduceMin", "ReduceMax"};
  for (size_t i = 0; i < WK_COUNTOF(names); i++)
    if (!strcmp(op, names[i])) return true;
  return false;
}

static const Onnx__NodeProto *maker_of(const wk_onnx_node *c, const char *name) {
  for (size_t i = 0; i < c->scope->n_nodes; i++)
    for (size_t k = 0; k < c->scope->nodes[i]->n_output; k++)
      if (!strcmp(c->scope->nodes[i]->output[k], name)) return c->scope->nodes[i];
  return NULL;
}

/* A list of whole numbers that are no sizes, as far as is known. */
static bool is_undecided(wk_onnx_node *c, const char *name) {
  wk_bound b;
  int64_t n;
  if (!*name || !wk_scope_find(c->im, c->scope, name, &b) || b.kind != WK_BOUND_TENSOR)
    return false;
  return b.value != WK_NONE && !wk_is_const(c->g, b.value) &&
         wk_dtype_is_int(wk_onnx_type(c, b.value)->dtype) &&
         wk_onnx_type(c, b.value)->rank <= 1 && !wk_extent_has_open(c->im, c->g, b.value) &&
         !wk_extent_elements(c, b.value, &n) && !wk_onnx_is_computable(c, b.value);
}

/* The value, by its name, that decides operand i, whole numbers; NULL: there is none. */
static const char *deciding(wk_onnx_node *c, int i) {
  const char *name = i < (int)c->proto->n_input ? c->proto->input[i] : "";
  bool goes_on = is_undecided(c, name);
  if (!goes_on) return NULL;
  for (int steps = 0; goes_on && steps < FARTHEST; steps++) {
    const Onnx__NodeProto *p = maker_of(c, name);
    goes_on = false;
    bool takes_parts = p && (!strcmp(p->op_type, "Gather") || !strcmp(p->op_type, "Slice"));
    size_t n = !p || !passes_sizes_on(p->op_type) ? 0 : takes_parts ? 1 : p->n_input;
    for (size_t k = 0; k < n && !goes_on; k++) {
      goes_on = is_undecided(c, p->input[k]);
      if (goes_on) name = p->input[k];
    }
  }
  return name;
}

/* Operators that take sizes or positions as operands, from this one to that one. */
static const struct { const char *name; int first, last; } takes_sizes[] = {
    {"Range", 0, 2}, {"Reshape", 1, 1}, {"Expand", 1, 1}, {"Tile", 1, 1}, {"ConstantOfShape", 0, 0},
    {"Slice", 1, 2}, {"Split", 1, 1}, {"Pad", 1, 1}, {"Resize", 3, 3}, {"OneHot", 1, 1},
    {"Loop", 0, 0}};

void wk_extent_propose(wk_onnx_node *c) {
  wk_status refused = c->status;
  const char *name = NULL;
  if (!refused || refused->code != WK_UNSUPPORTED || *c->row->domain ||
      c->im->opt->purpose != WK_FOR_INFERENCE) return;
  c->status = NULL;
  for (size_t k = 0; k < WK_COUNTOF(takes_sizes); k++)
    for (int i = takes_sizes[k].first; i <= takes_sizes[k].last && !name; i++)
      if (!strcmp(takes_sizes[k].name, c->row->name)) name = deciding(c, i);
  c->status = refused;
  if (!name) return;
  c->status = wk_error(WK_UNSUPPORTED, "%s; or say how large it is: --bound %s=1..N",
                       refused->message, name);
  wk_status_free(refused);
}
