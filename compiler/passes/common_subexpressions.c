/* SPDX-License-Identifier: Apache-2.0
 * Common subexpressions: nodes with the same operator, attributes and inputs compute the same.
 * Equal constants are merged first so that their users can meet. Random operators, nodes with
 * bodies and those that compute something again on purpose stay. */
#include <string.h>

#include "compiler/passes/pass.h"

typedef struct {
  uint64_t hash;
  uint32_t id, next; /* chain of a bucket */
} entry;

typedef struct {
  uint32_t *bucket;
  size_t mask;
  entry *entries;
  uint32_t n;
} table;

static table table_new(wk_arena *a, size_t n) {
  table t = {.mask = 15};
  while (t.mask < 2 * n) t.mask = 2 * t.mask + 1;
  t.bucket = wk_arena_alloc(a, (t.mask + 1) * sizeof *t.bucket);
  t.entries = wk_arena_alloc(a, (n + 1) * sizeof *t.entries);
  t.n = 1; /* entry 0 ends a chain */
  return t;
}

static void table_add(table *t, uint64_t hash, uint32_t id) {
  t->entries[t->n] = (entry){.hash = hash, .id = id, .next = t->bucket[hash & t->mask]};
  t->bucket[hash & t->mask] = t->n++;
}

#define MERGE_BYTES (1 << 20) /* larger constants are compared by address only */

static uint64_t const_hash(const wk_value *v) {
  int64_t bytes = wk_type_bytes(&v->type);
  uint64_t seed = (uint64_t)v->type.dtype * 31 + (uint64_t)v->type.rank;
  seed = wk_hash64(v->type.dims, sizeof v->type.dims, seed);
  return bytes <= MERGE_BYTES ? wk_hash64(v->data, (size_t)bytes, seed)
                              : wk_hash64(&v->data, sizeof v->data, seed);
}

static bool const_equal(const wk_value *a, const wk_value *b) {
  int64_t bytes = wk_type_bytes(&a->type);
  if (!wk_type_equal(&a->type, &b->type)) return false;
  return a->data == b->data || (bytes <= MERGE_BYTES && !memcmp(a->data, b->data, (size_t)bytes));
}

static void merge_constants(wk_graph *g, wk_pass_ctx *c, wk_value_id *to) {
  table t = table_new(c->scratch, g->values.n);
  for (size_t v = 0; v < g->values.n; v++) {
    const wk_value *val = wk_val(g, (wk_value_id)v);
    if (val->kind != WK_VALUE_CONSTANT || val->is_public) continue;
    uint64_t h = const_hash(val);
    uint32_t e = t.bucket[h & t.mask];
    for (; e; e = t.entries[e].next)
      if (t.entries[e].hash == h && const_equal(val, wk_val(g, t.entries[e].id))) break;
    if (e) to[v] = t.entries[e].id;
    else table_add(&t, h, (uint32_t)v);
  }
}

static uint64_t node_hash(const wk_node *n) {
  uint64_t h = wk_attrs_hash(n->op, n->attrs, (uint64_t)n->op * 977 + n->n_out);
  return wk_hash64(n->in, n->n_in * sizeof *n->in, h);
}

/* Outputs must be wanted in the same places: an absent one cannot stand in for a present one. */
static bool node_equal(const wk_node *a, const wk_node *b) {
  if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out ||
      a->predicate != b->predicate || memcmp(a->in, b->in, a->n_in * sizeof *a->in) ||
      !wk_attrs_equal(a->op, a->attrs, b->attrs))
    return false;
  for (uint32_t k = 0; k < a->n_out; k++)
    if ((a->out[k] == WK_NONE) != (b->out[k] == WK_NONE)) return false;
  return true;
}

static wk_value_id redirected(const wk_value_id *to, wk_value_id v) {
  return v == WK_NONE ? v : to[v];
}

wk_status wk_pass_common_subexpressions(wk_graph *g, wk_pass_ctx *c) {
  wk_value_id *to = wk_arena_alloc(c->scratch, g->values.n * sizeof *to);
  for (size_t v = 0; v < g->values.n; v++) to[v] = (wk_value_id)v;
  merge_constants(g, c, to);
  table t = table_new(c->scratch, g->nodes.n);
  for (size_t i = 0; i < g->nodes.n; i++) {
    wk_node *n = wk_nod(g, (wk_node_id)i);
    if (n->dead) continue;
    for (uint32_t k = 0; k < n->n_in; k++) n->in[k] = redirected(to, n->in[k]);
    n->predicate = redirected(to, n->predicate);
    if (n->n_bodies || n->again || !wk_op_is_pure(n->op)) continue;
    uint64_t h = node_hash(n);
    uint32_t e = t.bucket[h & t.mask];
    for (; e; e = t.entries[e].next)
      if (t.entries[e].hash == h && node_equal(n, wk_nod(g, t.entries[e].id))) break;
    if (!e) {
      table_add(&t, h, (uint32_t)i);
      continue;
    }
    const wk_node *kept = wk_nod(g, t.entries[e].id);
    for (uint32_t k = 0; k < n->n_out; k++)
      if (n->out[k] != WK_NONE) to[n->out[k]] = kept->out[k];
    wk_node_remove(g, (wk_node_id)i);
    c->changes++;
  }
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.data[i] = to[g->outputs.data[i]];
  return NULL;
}
