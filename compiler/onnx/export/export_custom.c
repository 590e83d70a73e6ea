/* SPDX-License-Identifier: Apache-2.0
 * Custom operators, as the model had them: attributes by the plugin's row. */
#include <string.h>

#include "compiler/ir/custom.h"
#include "compiler/onnx/export/export.h"

static wk_ints integers(wk_export_graph *x, const wick_call_attribute *v) {
  int64_t *list = wk_arena_alloc(x->arena, (size_t)v->count * sizeof *list);
  for (int64_t i = 0; i < v->count; i++) list[i] = (int64_t)v->values[i];
  return (wk_ints){v->count, list};
}

static const char *word(wk_export_graph *x, const char *words, int64_t at) {
  for (; at > 0 && *words; at--) words += strcspn(words, " ") + 1;
  return wk_arena_strndup(x->arena, words, strcspn(words, " "));
}

static void write_attribute(wk_export_graph *x, const wk_custom_attr *a,
                            const wick_call_attribute *v) {
  switch (a->kind) {
    case WK_CUSTOM_INT: wk_export_int(x, a->name, (int64_t)v->values[0]); break;
    case WK_CUSTOM_FLOAT: wk_export_float(x, a->name, v->values[0]); break;
    case WK_CUSTOM_INTS: wk_export_ints(x, a->name, integers(x, v)); break;
    case WK_CUSTOM_FLOATS:
      wk_export_floats(x, a->name, (wk_floats){v->count, v->values});
      break;
    case WK_CUSTOM_WORD:
      wk_export_text(x, a->name, word(x, a->words, (int64_t)v->values[0]));
      break;
  }
}

wk_status wk_export_custom(wk_export_graph *x) {
  const wk_node *n = x->node;
  const wk_attr_custom *a = n->attrs;
  const wk_custom_op *op = wk_custom_find(a->domain, a->op);
  if (!op)
    return wk_error(WK_UNSUPPORTED, "no plugin that is loaded has %s.%s", a->domain, a->op);
  const char **in = wk_arena_alloc(x->arena, n->n_in * sizeof *in);
  const char **out = wk_arena_alloc(x->arena, n->n_out * sizeof *out);
  for (uint32_t i = 0; i < n->n_in; i++) in[i] = wk_export_in(x, i);
  for (uint32_t i = 0; i < n->n_out; i++) out[i] = wk_export_out(x, i);
  wk_export_add(x, a->op, in, n->n_in, out, n->n_out)->domain =
      wk_arena_strdup(x->arena, a->domain);
  const wick_call_attribute *v = wk_custom_attributes(a, x->arena);
  for (uint32_t i = 0; i < wk_custom_attr_count(op); i++) write_attribute(x, &op->attrs[i], &v[i]);
  for (size_t i = 0; i < x->custom_domains->n; i++)
    if (strcmp(x->custom_domains->data[i], a->domain) == 0) return NULL;
  wk_vec_push(x->custom_domains, wk_arena_strdup(x->arena, a->domain));
  return NULL;
}
