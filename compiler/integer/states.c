/* SPDX-License-Identifier: Apache-2.0
 * Caches of quantised models. A variable of floats that is only moved, written in places, and in
 * the end quantised, always alike, keeps what that quantisation makes:
 *
 *   quantize(scatter_nd(v, i, x))  ->  scatter_nd(v', i, quantize(x))
 *
 * The results are equal to the bit, as quantisation looks at each element by itself. The state
 * takes a quarter of the room, and whoever reads it reads bytes. Its name says what they mean, so
 * that files of states of other scales are refused. */
#include <stdlib.h>
#include <string.h>

#include "compiler/integer/rules.h"
#include "compiler/ir/graph_names.h"

/* One variable, and what is stored in it at some time: values of the same floats. */
typedef struct {
  wk_graph *g;
  wk_arena *arena; /* scratch */
  wk_value_id variable;
  wk_uses uses;
  bool *is_stored; /* per value */
  WK_VEC(wk_value_id) stored;
  WK_VEC(wk_node_id) quantised; /* nodes that quantise what is stored */
} cache;

static void store(cache *c, wk_value_id v) {
  if (c->is_stored[v]) return;
  c->is_stored[v] = true;
  wk_vec_push(&c->stored, v);
}

static const wk_value *one_number(const wk_graph *g, wk_value_id v) {
  const wk_value *x = v == WK_NONE ? NULL : wk_val(g, v);
  return x && wk_is_const(g, v) && x->data && wk_type_count(&x->type) == 1 ? x : NULL;
}

static bool same_number(const wk_graph *g, wk_value_id a, wk_value_id b) {
  const wk_value *x = one_number(g, a), *y = one_number(g, b);
  return x && y && x->type.dtype == y->type.dtype &&
         !memcmp(x->data, y->data, (size_t)wk_dtype_size(x->type.dtype));
}

/* By the scale and zero point of the others. */
static bool add_quantised(cache *c, wk_node_id id) {
  const wk_node *n = wk_nod(c->g, id);
  const wk_node *first = c->quantised.n ? wk_nod(c->g, c->quantised.data[0]) : n;
  wk_vec_push(&c->quantised, id);
  wk_dtype t = wk_val(c->g, n->out[0])->type.dtype;
  return (t == WK_I8 || t == WK_U8) && t == wk_val(c->g, first->out[0])->type.dtype &&
         same_number(c->g, n->in[1], first->in[1]) && same_number(c->g, n->in[2], first->in[2]);
}

static bool only_moves(wk_op op) {
  return op == WK_OP_RESHAPE || op == WK_OP_TRANSPOSE || op == WK_OP_EXPAND ||
         op == WK_OP_SLICE || op == WK_OP_IDENTITY || op == WK_OP_CONCAT;
}

/* Elements are replaced, and not added up. */
static bool only_replaces(const wk_node *n) {
  const char *reduction = n->op == WK_OP_SCATTER_ND ? WK_ATTR(n, scatter_nd)->reduction
                          : n->op == WK_OP_SCATTER_ELEMENTS
                              ? WK_ATTR(n, scatter_elements)->reduction : "";
  return !strcmp(reduction, "none");
}

/* False: there a float of the variable itself is used. */
static bool follow(cache *c, wk_use u) {
  if (u.node == WK_NONE) return c->g->updates.data[u.index] == c->variable;
  const wk_node *n = wk_nod(c->g, u.node);
  if (n->predicate != WK_NONE || n->n_out != 1 || n->out[0] == WK_NONE) return false;
  if (n->op == WK_OP_QUANTIZE) return u.index == 0 && add_quantised(c, u.node);
  bool goes_on = only_moves(n->op) || (u.index == 0 && only_replaces(n));
  if (goes_on) store(c, n->out[0]);
  return goes_on;
}

/* Fills stored and quantised. */
static bool find(cache *c) {
  store(c, c->variable);
  wk_value_id updated = wk_graph_new_value(c->g, c->variable);
  if (updated == WK_NONE) return false;
  bool fits = true;
  for (size_t i = 0; i < c->stored.n && fits; i++) {
    wk_value_id v = c->stored.data[i];
    for (uint32_t k = c->uses.first[v]; k < c->uses.first[v + 1] && fits; k++)
      fits = follow(c, c->uses.uses[k]);
  }
  return fits && c->quantised.n > 0 && c->is_stored[updated];
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void *quantised_copy(cache *c, const wk_node *q) {
  const wk_value *v = wk_val(c->g, c->variable);
  int64_t n = wk_type_count(&v->type);
  wk_dtype t = wk_val(c->g, q->out[0])->type.dtype;
  float scale = *(const float *)wk_val(c->g, q->in[1])->data;
  const uint8_t *z = wk_val(c->g, q->in[2])->data;
  int64_t zero = t == WK_I8 ? (int8_t)*z : *z;
  uint8_t *bytes = calloc((size_t)n + 1, 1);
  for (int64_t i = 0; bytes && i < n; i++) {
    uint8_t b = (uint8_t)wk_quantize_value(((const float *)v->initial)[i], scale, zero, t);
    if (b) bytes[i] = b; /* pages that nobody writes take no memory */
  }
  return bytes;
}

/* What is written into it, or joined to it, is quantised first. */
static wk_status quantise_operands(cache *c, wk_node_id id, const wk_node *q) {
  const wk_value_id scale = q->in[1], zero = q->in[2];
  const wk_node n = *wk_nod(c->g, id), like = *q;
  for (uint32_t k = 0; k < n.n_in; k++) {
    bool is_written = n.op == WK_OP_CONCAT || (!only_moves(n.op) && k == 2);
    if (!is_written || c->is_stored[n.in[k]]) continue;
    const wk_value_id in[] = {n.in[k], scale, zero};
    const wk_node_desc d = {.op = WK_OP_QUANTIZE, .name = n.name, .in = in, .n_in = 3,
                            .attrs = wk_attrs_clone(c->g->module->arena, like.op, like.attrs)};
    WK_TRY(wk_graph_add(c->g, &d, &n.in[k]));
  }
  return NULL;
}

/* Nodes that make what is stored; ids, as adding nodes moves them. */
static wk_status change_nodes(cache *c, wk_dtype t) {
  const wk_node q = *wk_nod(c->g, c->quantised.data[0]);
  for (size_t i = 0; i < c->stored.n; i++) {
    wk_value *v = wk_val(c->g, c->stored.data[i]);
    wk_node_id made_by = v->kind == WK_VALUE_NODE ? v->node : WK_NONE;
    v->type.dtype = t;
    if (made_by != WK_NONE) WK_TRY(quantise_operands(c, made_by, &q));
  }
  return NULL;
}

/* "past_k0 (scale 0.05 zero 128)" */
static void rename_variable(cache *c, const wk_node *q) {
  wk_value *v = wk_val(c->g, c->variable);
  wk_dtype t = wk_val(c->g, q->out[0])->type.dtype;
  wk_str name = {0};
  wk_str_printf(&name, "%s (scale ", v->name);
  wk_str_f32(&name, *(const float *)wk_val(c->g, q->in[1])->data);
  wk_str_printf(&name, " zero %d)", (int)wk_load_i64(wk_val(c->g, q->in[2])->data, t, 0));
  wk_graph_set_name(c->g, c->variable, wk_arena_strdup(c->g->module->arena, name.s));
  wk_str_free(&name);
}

static wk_status change(cache *c) {
  const wk_node *q = wk_nod(c->g, c->quantised.data[0]);
  rename_variable(c, q);
  wk_value *v = wk_val(c->g, c->variable);
  wk_dtype t = wk_val(c->g, q->out[0])->type.dtype;
  void *bytes = quantised_copy(c, q);
  if (!bytes) return wk_error(WK_RESOURCE, "out of memory for %s", v->name);
  wk_vec_push(&c->g->module->blobs, bytes);
  v->initial = bytes;
  WK_TRY(change_nodes(c, t));
  for (size_t i = 0; i < c->quantised.n; i++) {
    const wk_node *n = wk_nod(c->g, c->quantised.data[i]);
    wk_graph_replace_uses(c->g, n->out[0], n->in[0]);
    wk_node_remove(c->g, c->quantised.data[i]);
  }
  return wk_graph_normalise(c->g);
}

static wk_status convert(wk_graph *g, size_t input, wk_arena *scratch, int64_t *changes) {
  const wk_value_id v = g->inputs.data[input];
  if (wk_val(g, v)->type.dtype != WK_F32 || wk_val(g, v)->is_trainable) return NULL;
  cache c = {.g = g, .arena = scratch, .variable = v, .uses = wk_graph_uses(g, scratch),
             .is_stored = wk_arena_alloc(scratch, g->values.n)};
  wk_status s = NULL;
  if (find(&c)) s = change(&c), ++*changes;
  wk_vec_free(&c.stored);
  wk_vec_free(&c.quantised);
  return s;
}

wk_status wk_integer_states(wk_graph *g, wk_pass_ctx *c) {
  if (g->module->keeps_variables) return NULL;
  for (size_t i = wk_graph_plain_inputs(g); i < g->inputs.n; i++)
    WK_TRY(convert(g, i, c->scratch, &c->changes));
  return NULL;
}
