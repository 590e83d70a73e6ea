/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs for Graphviz: a cluster per graph, an ellipse per node of computation, edges labelled with
 * shapes. Constants show as small boxes, once per use, so that they do not tangle the picture. */
#include <string.h>

#include "compiler/ir/text.h"

enum { MAX_LABEL = 60 };

/* Inside a double-quoted dot string; line breaks in names become spaces. */
static void add_label(wk_str *b, const char *s) {
  size_t n = strlen(s);
  if (n > MAX_LABEL) wk_str_add(b, "...");
  s += n > MAX_LABEL ? n - MAX_LABEL : 0;
  while ((*s & 0xc0) == 0x80) s++; /* not from the middle of a UTF-8 character */
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') wk_str_add(b, "\\");
    wk_str_addn(b, c < 0x20 ? " " : s, 1);
  }
}

static void add_type(wk_str *b, const wk_type *t) {
  wk_type plain = *t;
  plain.quant = NULL; /* a list of scales would be wider than the picture */
  wk_type_print(b, &plain);
}

static void print_inputs(wk_str *b, const wk_graph *g, size_t id) {
  for (size_t i = 0; i < g->inputs.n; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[i]);
    wk_str_printf(b, "    g%zu_v%u [shape=%s label=\"", id, g->inputs.data[i],
                  wk_is_variable(g, g->inputs.data[i]) ? "cylinder" : "house");
    add_label(b, v->name);
    wk_str_add(b, "\\n");
    add_type(b, &v->type);
    wk_str_add(b, "\"]\n");
  }
}

/* An edge from what makes v to the point `to`; a box of its own for a constant. */
static void print_edge(wk_str *b, const wk_graph *g, size_t id, wk_value_id value, const char *to,
                       const char *style) {
  const wk_value *v = wk_val(g, value);
  if (v->kind == WK_VALUE_CONSTANT) {
    wk_str_printf(b, "    \"%s_c%u\" [shape=box fontsize=9 label=\"", to, value);
    add_label(b, v->name);
    wk_str_printf(b, "\"]\n    \"%s_c%u\" -> \"%s\" [label=\"", to, value, to);
  } else if (v->kind == WK_VALUE_NODE) {
    wk_str_printf(b, "    g%zu_n%u -> \"%s\" [label=\"", id, v->node, to);
  } else {
    wk_str_printf(b, "    g%zu_v%u -> \"%s\" [label=\"", id, value, to);
  }
  add_type(b, &v->type);
  wk_str_printf(b, "\"%s]\n", style);
}

static void print_node(wk_str *b, const wk_graph *g, size_t id, size_t k, const char *colour) {
  const wk_node *n = &g->nodes.data[k];
  char to[64];
  snprintf(to, sizeof to, "g%zu_n%zu", id, k);
  wk_str_printf(b, "    %s [label=\"%s", to, wk_op_get(n->op)->name);
  if (n->name && *n->name) {
    wk_str_add(b, "\\n");
    add_label(b, n->name);
  }
  for (uint32_t i = 0; i < n->n_bodies; i++) {
    wk_str_add(b, "\\n@");
    add_label(b, n->bodies[i]->name);
  }
  wk_str_add(b, "\"");
  if (colour) wk_str_printf(b, " style=filled fillcolor=\"%s\"", colour);
  wk_str_add(b, "]\n");
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != WK_NONE) print_edge(b, g, id, n->in[i], to, "");
  if (n->predicate != WK_NONE) print_edge(b, g, id, n->predicate, to, " style=dashed");
}

static void print_graph(wk_str *b, const wk_graph *g, size_t id, const char *const *colours) {
  wk_str_printf(b, "  subgraph cluster_%zu {\n    label=\"@", id);
  add_label(b, g->name);
  wk_str_add(b, "\"\n");
  print_inputs(b, g, id);
  for (size_t k = 0; k < g->nodes.n; k++)
    if (!g->nodes.data[k].dead) print_node(b, g, id, k, colours ? colours[k] : NULL);
  for (size_t i = 0; i < g->outputs.n; i++) {
    char to[64];
    snprintf(to, sizeof to, "g%zu_o%zu", id, i);
    bool is_update = g->updates.data[i] != WK_NONE;
    wk_str_printf(b, "    %s [shape=%s label=\"%s", to, is_update ? "cylinder" : "invhouse",
                  is_update ? "update " : "");
    add_label(b, g->output_names.data[i]);
    wk_str_add(b, "\"]\n");
    print_edge(b, g, id, g->outputs.data[i], to, "");
  }
  wk_str_add(b, "  }\n");
}

void wk_module_dot(wk_str *b, const wk_module *m, const char *const *colours) {
  wk_str_add(b, "digraph \"");
  add_label(b, m->name);
  wk_str_add(b, "\" {\n  node [fontname=\"sans-serif\"]\n");
  for (size_t i = 0; i < m->graphs.n; i++)
    print_graph(b, m->graphs.data[i], i, m->graphs.data[i] == m->main ? colours : NULL);
  wk_str_add(b, "}\n");
}
