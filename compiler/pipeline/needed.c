/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pipeline/needed.h"

#include <string.h>

#include "compiler/passes/passes.h"

static wk_value_id input_named(const wk_graph *g, const char *name) {
  for (size_t i = 0; i < wk_graph_plain_inputs(g); i++)
    if (!strcmp(wk_val(g, g->inputs.data[i])->name, name)) return g->inputs.data[i];
  return WK_NONE;
}

/* How many there are: none has the name. */
static size_t output_named(const wk_graph *g, const char *name) {
  size_t i = 0, n = wk_graph_plain_outputs(g);
  while (i < n && strcmp(g->output_names.data[i], name) != 0) i++;
  return i;
}

/* The input has the leading dims of the output, which goes on behind them. */
static bool leads(const wk_type *input, const wk_type *output) {
  bool fits = input->rank > 0 && input->rank < output->rank;
  for (int i = 0; i < input->rank && fits; i++) fits = input->dims[i] == output->dims[i];
  return fits;
}

static wk_status other_shape(const char *option, const char *input, const wk_type *x,
                             const char *output, const wk_type *y) {
  wk_str a = {0}, b = {0};
  wk_type_print(&a, x);
  wk_type_print(&b, y);
  wk_status s = wk_error_at(WK_USAGE, option,
                            "input %s is %s and output %s %s: the input must have the output's "
                            "leading dimensions, and not all of them", input, a.s, output, b.s);
  wk_str_free(&a);
  wk_str_free(&b);
  return s;
}

/* where(input is not 0, output, 0) */
static wk_status ask(wk_graph *g, wk_value_id input, size_t output) {
  wk_value_id y = g->outputs.data[output], asked = input, zero;
  const wk_type t = wk_val(g, y)->type, x = wk_val(g, input)->type;
  int64_t dims[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) dims[i] = i < x.rank ? x.dims[i] : 1;
  if (x.dtype != WK_BOOL) {
    zero = wk_graph_scalar(g, x.dtype, 0);
    asked = wk_build(g, WK_OP_NOT, NULL, 1, wk_build(g, WK_OP_EQUAL, NULL, 2, input, zero));
  }
  wk_attr_reshape *a = wk_attrs_new(g->module->arena, WK_OP_RESHAPE);
  a->shape = wk_ints_dup(g->module->arena, dims, t.rank);
  asked = wk_build(g, WK_OP_RESHAPE, a, 1, asked);
  const wk_value_id in[] = {asked, y, wk_graph_scalar(g, t.dtype, 0)};
  return wk_graph_add(g, &(wk_node_desc){.op = WK_OP_WHERE, .name = WK_NEEDED_NODE, .in = in,
                                         .n_in = 3}, &g->outputs.data[output]);
}

static wk_status need_pair(wk_graph *g, const char *option, const char *pair) {
  const char *eq = strchr(pair, '=');
  if (!eq || eq == pair || !eq[1])
    return wk_error_at(WK_USAGE, option, "'%s' must be OUTPUT=INPUT", pair);
  const char *name = wk_arena_strndup(g->module->arena, pair, (size_t)(eq - pair));
  size_t output = output_named(g, name);
  wk_value_id input = input_named(g, eq + 1);
  if (output == wk_graph_plain_outputs(g))
    return wk_error_at(WK_USAGE, option, "the model has no output '%s'", name);
  if (input == WK_NONE) return wk_error_at(WK_USAGE, option, "the model has no input '%s'", eq + 1);
  const wk_type *x = &wk_val(g, input)->type, *y = &wk_val(g, g->outputs.data[output])->type;
  if (!leads(x, y)) return other_shape(option, eq + 1, x, name, y);
  return ask(g, input, output);
}

wk_status wk_model_need(wk_module *m, const wk_strings *options) {
  for (size_t i = 0; i < options->n; i++) {
    const char *option = wk_arena_printf(m->arena, "--needed %s", options->data[i]);
    for (const char *p = options->data[i], *end; p; p = *end ? end + 1 : NULL) {
      end = p + strcspn(p, ",");
      WK_TRY(need_pair(m->main, option, wk_arena_strndup(m->arena, p, (size_t)(end - p))));
    }
  }
  return options->n ? wk_module_normalise(m) : NULL;
}
