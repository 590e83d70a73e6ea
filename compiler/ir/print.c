/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as text: variables and constants first, then one node per line.
 *
 *   module "name" opset 17 {
 *     graph @main(%x: f32[1,3,224,224]) {
 *       variable %v: f32[2] trainable = {0.5, 0.25}
 *       public %w = constant f32[2] {1.0, 2.0}
 *       %c, - = max_pool(%x) {kernel=[2,2]} : f32[1,3,112,112]@(0,2,3,1) "node name"
 *       %o = if(%cond, %c) then @left else @right when %p : f32[1]
 *       output %c as "prob"
 *       update %v = %o
 *     }
 *   }
 */
#include <string.h>

#include "compiler/ir/text.h"

static void print_value(wk_str *b, const wk_graph *g, wk_value_id v) {
  if (v == WK_NONE) wk_str_add(b, "-");
  else wk_print_name(b, '%', wk_val(g, v)->name);
}

static void print_definition(wk_str *b, const wk_graph *g, wk_value_id v) {
  if (v != WK_NONE && wk_val(g, v)->is_public) wk_str_add(b, "public ");
  print_value(b, g, v);
}

static void print_type(wk_str *b, const wk_value *v) {
  wk_type_print(b, &v->type);
  if (!v->has_order) return;
  int64_t order[WK_MAX_RANK];
  for (int i = 0; i < v->type.rank; i++) order[i] = v->order[i];
  wk_str_add(b, "@");
  wk_ints_print(b, order, v->type.rank, '(', ')');
}

static void print_signature(wk_str *b, const wk_graph *g) {
  wk_str_add(b, "  graph ");
  wk_print_name(b, '@', g->name);
  wk_str_add(b, "(");
  for (size_t i = 0; i < wk_graph_plain_inputs(g); i++) {
    if (i) wk_str_add(b, ", ");
    print_definition(b, g, g->inputs.data[i]);
    wk_str_add(b, ": ");
    print_type(b, wk_val(g, g->inputs.data[i]));
  }
  wk_str_add(b, ") {\n");
}

static void print_constant(wk_str *b, const wk_graph *g, wk_value_id id, wk_print_flags flags) {
  const wk_value *v = wk_val(g, id);
  wk_str_add(b, "    ");
  print_definition(b, g, id);
  wk_str_add(b, " = constant ");
  print_type(b, v);
  wk_data_print(b, &v->type, v->data, flags);
  wk_str_add(b, "\n");
}

static void print_variable(wk_str *b, const wk_graph *g, wk_value_id id, wk_print_flags flags) {
  const wk_value *v = wk_val(g, id);
  wk_str_add(b, "    variable ");
  print_definition(b, g, id);
  wk_str_add(b, ": ");
  print_type(b, v);
  wk_str_add(b, v->is_trainable ? " trainable =" : " =");
  wk_data_print(b, &v->type, v->initial, flags);
  wk_str_add(b, "\n");
}

static void print_bodies(wk_str *b, const wk_node *n) {
  static const char *const words[2][2] = {{" then ", " else "}, {" do ", NULL}};
  for (uint32_t k = 0; k < n->n_bodies && k < 2; k++) {
    const char *word = words[n->op == WK_OP_LOOP][k];
    if (!word) break;
    wk_str_add(b, word);
    wk_print_name(b, '@', n->bodies[k]->name);
  }
}

static void print_node(wk_str *b, const wk_graph *g, const wk_node *n) {
  wk_str_add(b, "    ");
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (k) wk_str_add(b, ", ");
    print_definition(b, g, n->out[k]);
  }
  wk_str_printf(b, "%s%s(", n->n_out ? " = " : "", wk_op_get(n->op)->name);
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (k) wk_str_add(b, ", ");
    print_value(b, g, n->in[k]);
  }
  wk_str_add(b, ")");
  wk_attrs_print(b, n->op, n->attrs);
  print_bodies(b, n);
  if (n->predicate != WK_NONE) {
    wk_str_add(b, " when ");
    print_value(b, g, n->predicate);
  }
  if (n->again) wk_str_add(b, " again");
  const char *mark = " : ";
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    wk_str_add(b, mark);
    print_type(b, wk_val(g, n->out[k]));
    mark = ", ";
  }
  if (n->name && *n->name) {
    wk_str_add(b, " ");
    wk_str_quote(b, n->name);
  }
  wk_str_add(b, "\n");
}

static void print_labels(wk_str *b, const wk_graph *g, const char *output) {
  const wk_labels *l = g == g->module->main ? wk_module_labels(g->module, output) : NULL;
  if (!l) return;
  wk_str_printf(b, " %s%s {", wk_labels_kind_name(l->kind), l->are_numbers ? " numbers" : "");
  for (int64_t i = 0; i < l->texts.n; i++) {
    wk_str_add(b, i ? ", " : "");
    wk_str_quote(b, l->texts.v[i]);
  }
  wk_str_add(b, "}");
}

static void print_output(wk_str *b, const wk_graph *g, size_t i) {
  wk_str_add(b, "    output ");
  print_value(b, g, g->outputs.data[i]);
  if (strcmp(g->output_names.data[i], wk_val(g, g->outputs.data[i])->name) != 0) {
    wk_str_add(b, " as ");
    wk_str_quote(b, g->output_names.data[i]);
  }
  print_labels(b, g, g->output_names.data[i]);
  wk_str_add(b, "\n");
}

static void print_update(wk_str *b, const wk_graph *g, size_t i) {
  wk_str_add(b, "    update ");
  print_value(b, g, g->updates.data[i]);
  wk_str_add(b, " = ");
  print_value(b, g, g->outputs.data[i]);
  wk_str_add(b, "\n");
}

static void print_open_axis(wk_str *b, const wk_open_axis *a) {
  wk_str_add(b, a->is_output ? "    open output " : "    open input ");
  wk_str_quote(b, a->tensor);
  wk_str_printf(b, " %d ", a->axis);
  wk_str_quote(b, a->symbol);
  wk_str_add(b, a->size_is_output ? " output " : " input ");
  wk_str_quote(b, a->size);
  wk_str_printf(b, " %lld\n", (long long)a->least);
}

static void print_graph(wk_str *b, const wk_graph *g, wk_print_flags flags) {
  print_signature(b, g);
  for (size_t i = wk_graph_plain_inputs(g); i < g->inputs.n; i++)
    print_variable(b, g, g->inputs.data[i], flags);
  for (size_t v = 0; v < g->values.n; v++)
    if (g->values.data[v].kind == WK_VALUE_CONSTANT)
      print_constant(b, g, (wk_value_id)v, flags);
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i].dead) print_node(b, g, &g->nodes.data[i]);
  size_t plain = wk_graph_plain_outputs(g);
  for (size_t i = 0; i < plain; i++) print_output(b, g, i);
  for (size_t i = plain; i < g->outputs.n; i++) print_update(b, g, i);
  for (size_t i = 0; g == g->module->main && i < g->module->open_axes.n; i++)
    print_open_axis(b, &g->module->open_axes.data[i]);
  wk_str_add(b, "  }\n");
}

void wk_module_print(wk_str *b, const wk_module *m, wk_print_flags flags) {
  wk_str_add(b, "module ");
  wk_str_quote(b, m->name);
  if (m->producer) {
    wk_str_add(b, " producer ");
    wk_str_quote(b, m->producer);
  }
  if (m->opset) wk_str_printf(b, " opset %lld", (long long)m->opset);
  wk_str_add(b, " {\n");
  for (size_t i = 0; i < m->graphs.n; i++) print_graph(b, m->graphs.data[i], flags);
  wk_str_add(b, "}\n");
}
