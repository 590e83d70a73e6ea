/* SPDX-License-Identifier: Apache-2.0
 * Operators that a plugin has a row for (compiler/ir/custom.h). */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/custom.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/make.h"

typedef WK_VEC(double) numbers;

static const char *kind_name(wk_custom_kind k) {
  static const char *const names[] = {
      [WK_CUSTOM_INT] = "an integer",     [WK_CUSTOM_FLOAT] = "a float",
      [WK_CUSTOM_INTS] = "a list of integers", [WK_CUSTOM_FLOATS] = "a list of floats",
      [WK_CUSTOM_WORD] = "a word"};
  return names[k];
}

static bool has_kind(wk_onnx_node *c, const Onnx__AttributeProto *p, const wk_custom_attr *a) {
  static const Onnx__AttributeProto__AttributeType types[] = {
      [WK_CUSTOM_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
      [WK_CUSTOM_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
      [WK_CUSTOM_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
      [WK_CUSTOM_FLOATS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS,
      [WK_CUSTOM_WORD] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING};
  return wk_onnx_need(c, p->has_type && p->type == types[a->kind],
                      "attribute '%s' is not %s, as the plugin's row says", a->name,
                      kind_name(a->kind));
}

/* Routines see doubles. */
static void add_int(wk_onnx_node *c, const char *name, int64_t v, numbers *out) {
  const int64_t most = (int64_t)1 << 53;
  wk_onnx_need(c, v >= -most && v <= most, "attribute '%s' has %lld, which is beyond 2^53", name,
               (long long)v);
  wk_vec_push(out, (double)v);
}

static void add_word(wk_onnx_node *c, const wk_custom_attr *a, numbers *out) {
  const char *word = wk_onnx_text(c, a->name, "");
  size_t n = strlen(word);
  int64_t at = 0;
  for (const char *p = a->words; *p; at++) {
    size_t m = strcspn(p, " ");
    if (m == n && !strncmp(p, word, n)) {
      wk_vec_push(out, (double)at);
      return;
    }
    p += m + (p[m] == ' ');
  }
  wk_onnx_need(c, false, "attribute '%s' is '%s', which is none of: %s", a->name, word, a->words);
}

static void add_given(wk_onnx_node *c, const wk_custom_attr *a, numbers *out) {
  switch (a->kind) {
    case WK_CUSTOM_INT: add_int(c, a->name, wk_onnx_int(c, a->name, 0), out); break;
    case WK_CUSTOM_FLOAT: wk_vec_push(out, wk_onnx_float(c, a->name, 0)); break;
    case WK_CUSTOM_WORD: add_word(c, a, out); break;
    case WK_CUSTOM_INTS: {
      wk_ints v = wk_onnx_ints(c, a->name);
      for (int64_t i = 0; i < v.n; i++) add_int(c, a->name, v.v[i], out);
      break;
    }
    case WK_CUSTOM_FLOATS: {
      wk_floats v = wk_onnx_floats(c, a->name);
      for (int64_t i = 0; i < v.n; i++) wk_vec_push(out, v.v[i]);
      break;
    }
  }
}

static void add_attribute(wk_onnx_node *c, const wk_custom_attr *a, numbers *out) {
  const Onnx__AttributeProto *p = wk_onnx_attr(c, a->name);
  bool is_list = a->kind == WK_CUSTOM_INTS || a->kind == WK_CUSTOM_FLOATS;
  if (p && has_kind(c, p, a)) add_given(c, a, out);
  if (p) return;
  wk_onnx_need(c, !a->is_required, "attribute '%s' is missing", a->name);
  if (!is_list) wk_vec_push(out, a->def);
}

/* What the row does not have would be lost. */
static void check_attributes(wk_onnx_node *c, const wk_custom_op *op) {
  for (size_t i = 0; i < c->proto->n_attribute; i++) {
    const char *name = c->proto->attribute[i]->name;
    bool found = false;
    for (const wk_custom_attr *a = op->attrs; a && a->name && !found; a++)
      found = name && !strcmp(a->name, name);
    wk_onnx_need(c, found, "attribute '%s' is not in the plugin's row", name ? name : "");
  }
}

wk_status wk_onnx_custom(wk_onnx_node *c) {
  const wk_custom_op *op = wk_custom_find(wk_onnx_domain(c->proto->domain), c->proto->op_type);
  WK_MAKE_ATTRS(c, a, CUSTOM, custom);
  wk_arena *arena = c->im->m->arena;
  uint32_t n = wk_custom_attr_count(op);
  int64_t *counts = wk_arena_alloc(arena, n * sizeof *counts);
  numbers values = {0};
  check_attributes(c, op);
  for (uint32_t i = 0; i < n; i++) {
    size_t first = values.n;
    add_attribute(c, &op->attrs[i], &values);
    counts[i] = (int64_t)(values.n - first);
  }
  a->domain = wk_arena_strdup(arena, op->domain);
  a->op = wk_arena_strdup(arena, op->name);
  a->counts = (wk_ints){n, counts};
  a->values = wk_floats_dup(arena, values.data, (int64_t)values.n);
  wk_vec_free(&values);
  for (int i = 0; i < c->n_in; i++)
    wk_onnx_need(c, c->in[i] != WK_NONE, "input %d is no tensor, or is left out", i);
  wk_value_id *out = wk_arena_alloc(c->im->arena, (size_t)c->n_out * sizeof *out);
  wk_make_n(c, WK_OP_CUSTOM, a, c->in, c->n_in, out, c->n_out);
  for (int i = 0; i < c->n_out; i++) wk_onnx_result(c, i, out[i]);
  return c->status;
}
