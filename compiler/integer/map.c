/* SPDX-License-Identifier: Apache-2.0
 * Elementwise integer operators on one or two quantised tensors: rescaling, sum, product, joining,
 * and tables of any function of one. */
#include <stdlib.h>
#include <string.h>

#include "compiler/integer/rules.h"

wk_value_id wk_integer_rescaled(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_affine x;
  (void)def;
  return wk_affine_of(r, y->from, &x) ? wk_integer_requantized(r, &x, y) : WK_NONE;
}

/* ---- sum ------------------------------------------------------------------------------------- */

wk_value_id wk_integer_sum(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_affine x[2];
  double factors[2];
  int64_t mults[2];
  int shift;
  for (int k = 0; k < 2; k++) {
    if (!wk_affine_of(r, def->in[k], &x[k])) return WK_NONE;
    factors[k] = x[k].scale / y->scale;
  }
  if (!wk_rescale_common(factors, 2, WK_RESCALE_BITS_8, mults, &shift) || shift < 1) return WK_NONE;
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t term[2];
  for (int k = 0; k < 2; k++) {
    uint16_t v = wk_expr_centred(b, wk_expr_input(b, k, x[k].dtype), x[k].zero);
    term[k] = wk_expr_2(b, WK_EX_MUL, v, wk_expr_i(b, WK_I32, mults[k]));
  }
  uint16_t sum = wk_expr_2(b, def->op == WK_OP_SUB ? WK_EX_SUB : WK_EX_ADD, term[0], term[1]);
  sum = wk_expr_2(b, WK_EX_SHR_ROUND, sum, wk_expr_i(b, WK_I32, shift));
  sum = wk_expr_requantized(b, sum, y->zero, y->dtype, y->lo, y->hi);
  return wk_integer_map(r, b, sum, 2, (const wk_value_id[]){x[0].q, x[1].q});
}

/* ---- product --------------------------------------------------------------------------------- */

wk_value_id wk_integer_product(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_affine x[2];
  wk_rescale scale;
  for (int k = 0; k < 2; k++)
    if (!wk_affine_of(r, def->in[k], &x[k])) return WK_NONE;
  if (!wk_rescale_of(x[0].scale * x[1].scale / y->scale, &scale)) return WK_NONE;
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t term[2];
  for (int k = 0; k < 2; k++)
    term[k] = wk_expr_centred(b, wk_expr_input(b, k, x[k].dtype), x[k].zero);
  uint16_t v = wk_expr_2(b, WK_EX_MUL, term[0], term[1]);
  v = wk_expr_rescale(b, v, wk_expr_i(b, WK_I64, scale.mult), wk_expr_i(b, WK_I64, scale.shift));
  v = wk_expr_requantized(b, v, y->zero, y->dtype, y->lo, y->hi);
  return wk_integer_map(r, b, v, 2, (const wk_value_id[]){x[0].q, x[1].q});
}

/* ---- joining --------------------------------------------------------------------------------- */

wk_value_id wk_integer_concat(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_node n = *def;
  wk_value_id *in = wk_arena_alloc(r->c->scratch, n.n_in * sizeof *in);
  for (uint32_t k = 0; k < n.n_in; k++) {
    wk_affine x;
    if (!wk_affine_of(r, n.in[k], &x)) return WK_NONE;
    in[k] = wk_integer_requantized(r, &x, y);
    if (in[k] == WK_NONE) return WK_NONE;
  }
  return wk_rewrite_add(r, n.op, n.attrs, n.n_in, in);
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum { MAX_CHAIN = 24, MAX_LEAVES = 4, BYTES = 256 };

/* A dequantised tensor that is read, as the function of the root's bytes that it is. */
typedef struct {
  wk_affine x;
  wk_dtype real;
  uint8_t of[BYTES];
} leaf;

/* An elementwise computation on one quantised tensor, the root, and on tensors of bytes that are
 * functions of it: its nodes in order of execution. */
typedef struct {
  leaf leaves[MAX_LEAVES];
  uint32_t n_leaves, n;
  wk_node_id nodes[MAX_CHAIN];
  wk_value_id root;
} chain;

static bool is_in(const chain *c, wk_node_id id) {
  for (uint32_t i = 0; i < c->n; i++)
    if (c->nodes[i] == id) return true;
  return false;
}

static int leaf_at(const chain *c, const wk_affine *x) {
  for (uint32_t i = 0; i < c->n_leaves; i++) {
    const wk_affine *y = &c->leaves[i].x;
    if (x->q == y->q && x->scale == y->scale && x->zero == y->zero) return (int)i;
  }
  return -1;
}

/* The operand is a scalar or a dequantised tensor. */
static bool take_leaf(const wk_rewrite *r, const wk_type *shape, chain *c, wk_value_id v) {
  double scalar;
  wk_affine x;
  if (wk_scalar_of(r, v, &scalar)) return true;
  if (!wk_affine_of(r, v, &x)) return false;
  if (leaf_at(c, &x) >= 0) return true;
  if (c->n_leaves == MAX_LEAVES || !wk_shape_equal(wk_type_of(r, v), shape)) return false;
  c->leaves[c->n_leaves++] = (leaf){.x = x, .real = wk_type_of(r, v)->dtype};
  return true;
}

/* What all leaves are functions of. */
static bool find_root(const wk_rewrite *r, chain *c) {
  if (!c->n_leaves) return false;
  c->root = c->leaves[0].x.q;
  for (uint32_t i = 1; i < c->n_leaves && c->root != WK_NONE; i++)
    c->root = wk_integer_common(r, c->root, c->leaves[i].x.q);
  if (c->root == WK_NONE) return false;
  for (uint32_t i = 0; i < c->n_leaves; i++)
    if (!wk_integer_function_of(r, c->leaves[i].x.q, c->root, c->leaves[i].of)) return false;
  return true;
}

/* Depth first with an explicit stack; every tensor in it has the shape of the result. */
static bool collect(const wk_rewrite *r, wk_value_id root, const wk_type *shape, chain *c) {
  wk_node_id stack[MAX_CHAIN];
  uint32_t depth = 0, next[MAX_CHAIN];
  *c = (chain){.n = 0};
  stack[depth] = wk_val(r->g, root)->node;
  next[depth++] = 0;
  while (depth) {
    wk_node_id id = stack[depth - 1];
    const wk_node *n = wk_nod(r->g, id);
    if (wk_op_get(n->op)->cls != WK_CLASS_ELEMENTWISE || n->op == WK_OP_DEQUANTIZE ||
        n->predicate != WK_NONE || n->n_out != 1 ||
        !wk_shape_equal(wk_type_of(r, n->out[0]), shape))
      return false;
    if (next[depth - 1] == n->n_in) {
      if (!is_in(c, id)) c->nodes[c->n++] = id;
      depth--;
      continue;
    }
    wk_value_id v = n->in[next[depth - 1]++];
    if (v == WK_NONE || take_leaf(r, shape, c, v)) continue;
    const wk_value *x = wk_val(r->g, v);
    if (x->kind != WK_VALUE_NODE) return false;
    if (is_in(c, x->node)) continue;
    if (depth == MAX_CHAIN || c->n + depth >= MAX_CHAIN) return false;
    stack[depth] = x->node;
    next[depth++] = 0;
  }
  return find_root(r, c);
}

/* A graph of its own: the chain on the real values that the leaves have for each byte. */
static wk_status build_chain(const wk_rewrite *r, const chain *c, wk_module *m) {
  wk_graph *g = wk_graph_new(m, "table");
  wk_value_id made[MAX_CHAIN], x[MAX_LEAVES];
  for (uint32_t i = 0; i < c->n_leaves; i++) {
    wk_type t = wk_type_make(c->leaves[i].real, 1, (const int64_t[]){BYTES});
    x[i] = wk_graph_input(g, NULL, &t);
  }
  for (uint32_t i = 0; i < c->n; i++) {
    const wk_node *node = wk_nod(r->g, c->nodes[i]);
    wk_value_id *in = wk_arena_alloc(m->arena, node->n_in * sizeof *in);
    for (uint32_t k = 0; k < node->n_in; k++) {
      const wk_value *v = node->in[k] == WK_NONE ? NULL : wk_val(r->g, node->in[k]);
      wk_affine read;
      double scalar = 0;
      in[k] = WK_NONE;
      if (!v) continue;
      if (wk_scalar_of(r, node->in[k], &scalar)) in[k] = wk_graph_scalar(g, v->type.dtype, scalar);
      else if (wk_affine_of(r, node->in[k], &read)) in[k] = x[leaf_at(c, &read)];
      for (uint32_t j = 0; j < i && v->kind == WK_VALUE_NODE; j++)
        if (c->nodes[j] == v->node) in[k] = made[j];
    }
    wk_node_desc d = {
        .op = node->op, .attrs = node->attrs, .in = in, .n_in = node->n_in, .n_out = 1};
    WK_TRY(wk_graph_add(g, &d, &made[i]));
  }
  wk_graph_output(g, "y", made[c->n - 1]);
  return NULL;
}

static wk_status values_of(const leaf *x, wk_tensor *out) {
  wk_type t = wk_type_make(x->real, 1, (const int64_t[]){BYTES});
  WK_TRY(wk_tensor_alloc(&t, out));
  for (int64_t i = 0; i < BYTES; i++) {
    int64_t q = x->x.dtype == WK_I8 ? (int8_t)x->of[i] : x->of[i];
    wk_store_f64(out->data, x->real, i,
                 (double)(float)((float)(q - x->x.zero) * (float)x->x.scale));
  }
  return NULL;
}

/* The chain's results for all bytes of the root. */
static wk_status run_chain(const wk_rewrite *r, const chain *c, wk_tensor *out) {
  wk_module *m = wk_module_new("table");
  wk_tensor x[MAX_LEAVES] = {0};
  wk_status s = build_chain(r, c, m);
  for (uint32_t i = 0; i < c->n_leaves && !s; i++) s = values_of(&c->leaves[i], &x[i]);
  if (!s) s = wk_eval_graph(m->main, x, out, NULL, NULL);
  for (uint32_t i = 0; i < c->n_leaves; i++) wk_tensor_free(&x[i]);
  wk_module_free(m);
  return s;
}

wk_value_id wk_integer_table(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  chain c;
  wk_tensor real = {0};
  void *data;
  (void)def;
  if (wk_val(r->g, y->from)->kind != WK_VALUE_NODE || !collect(r, y->from, y->type, &c))
    return WK_NONE;
  wk_status s = run_chain(r, &c, &real);
  wk_type t = wk_type_make(y->dtype, 1, (const int64_t[]){BYTES});
  wk_value_id table = s ? WK_NONE : wk_rewrite_constant(r, &t, &data);
  wk_status_free(s);
  for (int64_t i = 0; table != WK_NONE && i < BYTES; i++) {
    double v = wk_load_f64(real.data, real.type.dtype, i);
    int64_t q = wk_quantize_value(v, y->scale, y->zero, y->dtype);
    wk_store_i64(data, y->dtype, i, q < y->lo ? y->lo : q > y->hi ? y->hi : q);
  }
  wk_tensor_free(&real);
  if (table == WK_NONE) return WK_NONE;
  wk_attr_gather *a = wk_attrs_new(r->arena, WK_OP_GATHER);
  a->axis = 0;
  return wk_rewrite_2(r, WK_OP_GATHER, a, table, c.root);
}
