/* SPDX-License-Identifier: Apache-2.0
 * Strings, as numbers and a table of what these stand for: constants, the operators that move
 * them, and outputs of the model. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/labels.h"

wk_bound wk_label_bound(wk_importer *im, wk_value_id v, const wk_labels *labels) {
  return (wk_bound){.kind = WK_BOUND_LABELLED, .value = v,
                    .labels = wk_arena_memdup(im->m->arena, labels, sizeof *labels)};
}

/* ---- constants ----------------------------------------------------------------------------- */

wk_status wk_label_constant(wk_importer *im, wk_graph *g, const char *name, const wk_type *shape,
                            wk_texts texts, wk_bound *out) {
  wk_type t = wk_type_make(WK_I64, shape->rank, shape->dims);
  void *data;
  wk_value_id v;
  WK_TRY(wk_type_check(&t));
  if (wk_type_count(&t) != texts.n)
    return wk_error(WK_INPUT, "%lld strings for %lld elements", (long long)texts.n,
                    (long long)wk_type_count(&t));
  WK_TRY(wk_graph_constant_alloc(g, name, &t, &v, &data));
  for (int64_t i = 0; i < texts.n; i++) ((int64_t *)data)[i] = i;
  const wk_labels labels = {.kind = WK_LABELS_ELEMENTS, .texts = texts};
  *out = wk_label_bound(im, v, &labels);
  return NULL;
}

wk_status wk_label_tensor(wk_importer *im, wk_graph *g, const char *name,
                          const Onnx__TensorProto *t, wk_bound *out) {
  wk_arena *a = im->m->arena;
  if (t->n_dims > WK_MAX_RANK)
    return wk_error(WK_UNSUPPORTED, "rank %zu exceeds %d", t->n_dims, WK_MAX_RANK);
  const char **v = wk_arena_alloc(a, t->n_string_data * sizeof *v);
  for (size_t i = 0; i < t->n_string_data; i++)
    v[i] = wk_arena_strndup(a, (const char *)t->string_data[i].data, t->string_data[i].len);
  const wk_type shape = wk_type_make(WK_I64, (int)t->n_dims, t->dims);
  const wk_texts texts = {.n = (int64_t)t->n_string_data, .v = v};
  return wk_label_constant(im, g, name, &shape, texts, out);
}

/* ---- operators ----------------------------------------------------------------------------- */

/* What moves elements of its first input, or looks into its labels. */
static const struct { const char *domain, *op; bool looks; } takers[] = {
    {"", "Identity", false}, {"", "Reshape", false}, {"", "Flatten", false},
    {"", "Squeeze", false}, {"", "Unsqueeze", false}, {"", "Transpose", false},
    {"", "Gather", false}, {"", "Slice", false}, {"", "Expand", false}, {"", "Tile", false},
    {"ai.onnx.ml", "ArrayFeatureExtractor", false}, {"ai.onnx.ml", "LabelEncoder", true}};

bool wk_label_inputs(wk_onnx_node *c) {
  bool takes = false, looks = false;
  for (size_t i = 0; i < WK_COUNTOF(takers); i++) {
    if (strcmp(takers[i].domain, c->row->domain) || strcmp(takers[i].op, c->row->name)) continue;
    takes = true;
    looks = takers[i].looks;
  }
  for (int i = 0; i < c->n_in; i++) {
    if (!wk_onnx_need(c, c->bound[i].kind != WK_BOUND_STRINGS, WK_ONNX_NO_STRINGS)) return false;
    if (c->bound[i].kind != WK_BOUND_LABELLED) continue;
    bool are_strings = c->bound[i].labels->kind == WK_LABELS_ELEMENTS;
    if (!wk_onnx_need(c, are_strings, "works on maps, which Wick does not have") ||
        !wk_onnx_need(c, takes && i == 0, WK_ONNX_NO_STRINGS)) return false;
    if (!looks) c->in[i] = c->bound[i].value;
  }
  return true;
}

void wk_label_results(wk_onnx_node *c) {
  const wk_bound *x = &c->bound[0];
  bool moved = wk_onnx_ok(c) && c->n_in > 0 && x->kind == WK_BOUND_LABELLED &&
               c->in[0] != WK_NONE && c->out[0].kind == WK_BOUND_TENSOR;
  if (!moved || c->out[0].value == WK_NONE) return;
  c->out[0].kind = WK_BOUND_LABELLED;
  c->out[0].labels = x->labels;
}

/* ---- outputs of the model ------------------------------------------------------------------ */

static bool is_list_of_maps(const Onnx__TypeProto *t) {
  if (t->value_case != ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE) return false;
  const Onnx__TypeProto *e = t->sequence_type->elem_type;
  return e && e->value_case == ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
}

static bool is_strings(const Onnx__TypeProto *t) {
  return t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
         t->tensor_type->elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
}

/* What the reader of the output has to know. */
static void note(wk_importer *im, const wk_labels *l) {
  enum { SHOWN = 10 };
  wk_str b = {0};
  bool columns = l->kind == WK_LABELS_COLUMNS;
  wk_str_printf(&b, "output '%s' is %s", l->output,
                columns ? "a tensor, not a list of maps; its columns are"
                        : "numbers, not strings; 0, 1, … stand for");
  for (int64_t i = 0; i < l->texts.n && i < SHOWN; i++)
    wk_str_printf(&b, l->are_numbers ? "%s %s" : "%s '%s'", i ? "," : "", l->texts.v[i]);
  if (l->texts.n > SHOWN) wk_str_printf(&b, ", … (%lld)", (long long)l->texts.n);
  wk_vec_push(&im->rep->notes, wk_arena_strdup(im->rep->arena, b.s));
  wk_str_free(&b);
}

wk_status wk_label_output(wk_importer *im, wk_graph *g, const Onnx__ValueInfoProto *v,
                          const wk_bound *b) {
  wk_labels l = *b->labels;
  const Onnx__TypeProto *t = v->type;
  bool columns = l.kind == WK_LABELS_COLUMNS;
  bool is_open = !t || t->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET;
  if (!is_open && !(columns ? is_list_of_maps(t) : is_strings(t)))
    return wk_error_at(WK_INPUT, v->name, "is declared otherwise, but its node produces %s",
                       columns ? "a list of maps" : "strings");
  l.output = v->name;
  wk_graph_output(g, v->name, b->value);
  if (wk_module_labels(im->m, v->name)) return NULL; /* the output is there twice */
  wk_module_label(im->m, &l);
  note(im, &l);
  return NULL;
}
