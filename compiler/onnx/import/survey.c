/* SPDX-License-Identifier: Apache-2.0
 * What became of every node of a file, refused or not. */
#include <string.h>

#include "compiler/onnx/import/model.h"

/* The row of a node of the file; a body that is imported again finds it there. */
static wk_surveyed *row_of(wk_onnx_node *c) {
  wk_import_report *rep = c->im->rep;
  const char *key = wk_arena_printf(c->im->arena, "%p", (const void *)c->proto);
  uint32_t at;
  if (wk_map_get(c->im->surveyed, key, &at)) return &rep->nodes.data[at];
  const char *domain = wk_onnx_domain(c->proto->domain);
  const wk_surveyed fresh = {.node = wk_arena_strdup(rep->arena, c->name),
                             .op = wk_arena_strdup(rep->arena, c->proto->op_type),
                             .domain = wk_arena_strdup(rep->arena, domain),
                             .opset = c->opset, .fate = WK_SURVEY_NOTHING};
  wk_map_put(c->im->surveyed, key, (uint32_t)rep->nodes.n);
  wk_vec_push(&rep->nodes, fresh);
  return &rep->nodes.data[rep->nodes.n - 1];
}

/* Results that are values of its own and not known yet. */
static void add_results(wk_onnx_node *c, wk_surveyed *row, size_t first_new) {
  wk_arena *a = c->im->rep->arena;
  for (int i = 0; i < c->n_out; i++) {
    const wk_bound *b = &c->out[i];
    bool is_one = b->kind == WK_BOUND_TENSOR || b->kind == WK_BOUND_LABELLED;
    uint32_t n = is_one ? 1 : b->kind == WK_BOUND_SEQUENCE ? b->n : 0;
    for (uint32_t k = 0; k < n; k++) {
      wk_value_id v = is_one ? b->value : b->items[k];
      if (v == WK_NONE || v < first_new || wk_val(c->g, v)->kind != WK_VALUE_NODE) continue;
      const wk_surveyed_value made = {wk_arena_strdup(a, c->g->name),
                                      wk_arena_strdup(a, wk_val(c->g, v)->name)};
      wk_vec_push(&row->out, made);
    }
  }
}

/* ---- what a plugin would have to bring ------------------------------------------------------- */

static void add_attribute_text(wk_str *b, const Onnx__AttributeProto *a) {
  typedef Onnx__AttributeProto__AttributeType kind;
  static const struct { kind type; const char *name; } kinds[] = {
      {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS, "ints"},
      {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS, "floats"},
      {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS, "strings"},
      {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR, "tensor"},
      {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH, "graph"}};
  const char *name = "value";
  for (size_t i = 0; i < WK_COUNTOF(kinds); i++)
    if (a->has_type && a->type == kinds[i].type) name = kinds[i].name;
  wk_str_printf(b, "%s=", a->name ? a->name : "");
  if (a->has_i) wk_str_printf(b, "%lld", (long long)a->i);
  else if (a->has_f) wk_str_printf(b, "%g", (double)a->f);
  else if (a->has_s) wk_str_printf(b, "\"%.*s\"", (int)a->s.len, (const char *)a->s.data);
  else wk_str_add(b, name);
}

/* As the model declares it: a value between nodes, or an output. */
static void add_declared(wk_str *b, const Onnx__GraphProto *g, const char *name) {
  const Onnx__ValueInfoProto *v = NULL;
  for (size_t i = 0; i < g->n_value_info && !v; i++)
    if (g->value_info[i]->name && !strcmp(g->value_info[i]->name, name)) v = g->value_info[i];
  for (size_t i = 0; i < g->n_output && !v; i++)
    if (g->output[i]->name && !strcmp(g->output[i]->name, name)) v = g->output[i];
  wk_declared d = {.rank = -1};
  if (v) wk_status_free(wk_model_declared(v, &d));
  wk_str_add(b, d.dtype == WK_DTYPE_NONE ? "?" : wk_dtype_name(d.dtype));
  for (int i = 0; d.dtype != WK_DTYPE_NONE && i < d.rank; i++) {
    wk_str_add(b, i ? "," : "[");
    if (d.dims[i] >= 0) wk_str_printf(b, "%lld", (long long)d.dims[i]);
    else wk_str_add(b, d.symbols[i] ? d.symbols[i] : "?");
  }
  if (d.dtype != WK_DTYPE_NONE && d.rank >= 0) wk_str_add(b, d.rank ? "]" : "[]");
}

/* "(alpha=0.5): f32[4,4] -> ?" */
static const char *call_text(wk_onnx_node *c) {
  const Onnx__NodeProto *p = c->proto;
  wk_str b = {0};
  wk_str_add(&b, "(");
  for (size_t i = 0; i < p->n_attribute; i++) {
    if (i) wk_str_add(&b, ", ");
    add_attribute_text(&b, p->attribute[i]);
  }
  wk_str_printf(&b, "): %s ->", wk_import_shapes(c->im, c));
  for (size_t i = 0; i < p->n_output; i++) {
    wk_str_add(&b, i ? ", " : " ");
    add_declared(&b, c->im->model->graph, p->output[i]);
  }
  const char *text = wk_arena_strdup(c->im->rep->arena, b.s);
  wk_str_free(&b);
  return text;
}

static void add_loose(wk_onnx_node *c) {
  if (c->g != c->im->m->main) return;
  for (int i = 0; i < c->n_in; i++)
    if (c->in[i] != WK_NONE) wk_vec_push(&c->im->loose, c->in[i]);
}

void wk_survey_node(wk_onnx_node *c, wk_survey_fate fate, const char *reason, size_t first_new) {
  const char *domain = wk_onnx_domain(c->proto->domain);
  bool is_call = wk_import_function(c->im, domain, c->proto->op_type) != NULL;
  if (!c->im->opt->survey || (is_call && fate != WK_SURVEY_REFUSED)) return;
  wk_surveyed *row = row_of(c);
  for (int i = 0; i < c->n_out; i++) /* something in a body is refused */
    if (fate == WK_SURVEY_TAKEN && c->out[i].kind == WK_BOUND_UNKNOWN) fate = WK_SURVEY_UNKNOWN;
  if (fate == WK_SURVEY_TAKEN) {
    add_results(c, row, first_new);
    if (!row->out.n) fate = WK_SURVEY_NOTHING;
  }
  if (fate == WK_SURVEY_REFUSED) add_loose(c);
  bool is_worse = fate == WK_SURVEY_REFUSED || row->fate == WK_SURVEY_NOTHING ||
                  (fate == WK_SURVEY_UNKNOWN && row->fate == WK_SURVEY_TAKEN);
  if (row->fate == WK_SURVEY_REFUSED || !is_worse) return;
  row->fate = fate;
  bool may_be_brought = !c->row && *domain && !c->im->src.is_translated;
  if (fate == WK_SURVEY_REFUSED && may_be_brought) row->call = call_text(c);
  if (reason) row->reason = wk_arena_strdup(c->im->rep->arena, reason);
}

void wk_survey_forget(wk_importer *im, size_t first) {
  for (size_t i = first; i < im->rep->nodes.n; i++) {
    wk_surveyed *row = &im->rep->nodes.data[i];
    row->fate = WK_SURVEY_NOTHING;
    row->reason = NULL;
    row->out.n = 0;
  }
}

void wk_survey_unused(wk_importer *im, const Onnx__NodeProto *n, const char *name, int64_t opset) {
  const char *domain = wk_onnx_domain(n->domain), *op = n->op_type ? n->op_type : "";
  if (!im->opt->survey || wk_import_function(im, domain, op)) return;
  wk_arena *a = im->rep->arena;
  const wk_surveyed row = {.node = wk_arena_strdup(a, name), .op = wk_arena_strdup(a, op),
                           .domain = wk_arena_strdup(a, domain), .opset = opset,
                           .fate = WK_SURVEY_NOTHING};
  wk_vec_push(&im->rep->nodes, row);
}

static bool is_output(const wk_graph *g, wk_value_id v, const char *name) {
  for (size_t i = 0; i < g->outputs.n; i++)
    if (g->outputs.data[i] == v || strcmp(g->output_names.data[i], name) == 0) return true;
  return false;
}

/* What it makes is in a body whose owner could not be made. */
static bool is_lost(const wk_importer *im, const wk_surveyed *row) {
  bool is_there = false;
  uint32_t known;
  for (size_t i = 0; i < row->out.n; i++)
    is_there = is_there ||
               (wk_map_get(im->m->names, row->out.data[i].graph, &known) && known);
  return row->fate == WK_SURVEY_TAKEN && !is_there;
}

void wk_survey_finish(wk_importer *im) {
  for (size_t i = 0; i < im->rep->nodes.n; i++)
    if (is_lost(im, &im->rep->nodes.data[i])) im->rep->nodes.data[i].fate = WK_SURVEY_UNKNOWN;
}

void wk_survey_outputs(wk_importer *im, wk_graph *g) {
  for (size_t i = 0; i < im->loose.n; i++) {
    wk_value_id v = im->loose.data[i];
    const char *name = wk_val(g, v)->name;
    if (wk_val(g, v)->kind == WK_VALUE_NODE && !is_output(g, v, name)) wk_graph_output(g, name, v);
  }
}
