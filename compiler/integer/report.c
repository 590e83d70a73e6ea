/* SPDX-License-Identifier: Apache-2.0
 * Which operators of a converted graph compute in integers, and why the others do not. */
#include <stdlib.h>

#include "compiler/expr/quant.h"
#include "compiler/integer/integer.h"

static bool is_conversion(wk_op op) { return op == WK_OP_QUANTIZE || op == WK_OP_DEQUANTIZE; }

static bool is_float(const wk_graph *g, wk_value_id v) {
  return v != WK_NONE && wk_dtype_is_float(wk_val(g, v)->type.dtype);
}

static bool is_scalar_constant(const wk_graph *g, wk_value_id v) {
  return wk_is_const(g, v) && wk_type_count(&wk_val(g, v)->type) == 1;
}

/* Quantised with parameters known now, one pair for the whole tensor. */
static bool is_plain_quantised(const wk_graph *g, const wk_node *n) {
  return is_scalar_constant(g, n->in[1]) && is_scalar_constant(g, n->in[2]);
}

/* The first operand that is real, or NULL. Scale and bias of a normalisation may be. */
static const char *real_operand(const wk_graph *g, const wk_node *n, wk_arena *a) {
  for (uint32_t k = 0; k < n->n_in; k++) {
    wk_value_id v = n->in[k];
    if (!is_float(g, v) || is_scalar_constant(g, v)) continue;
    if (n->op == WK_OP_LAYER_NORM && k > 0 && wk_is_const(g, v)) continue;
    const wk_node *d = wk_def(g, v);
    if (!d || d->op != WK_OP_DEQUANTIZE)
      return wk_arena_printf(a, "operand %s is not quantised", wk_val(g, v)->name);
    if (!wk_is_const(g, d->in[0]) && !is_plain_quantised(g, d))
      return wk_arena_printf(a, "operand %s has no constant scale of its own", wk_val(g, v)->name);
  }
  return NULL;
}

/* Elements of a row of a normalisation. */
static int64_t row_of(const wk_graph *g, const wk_node *norm) {
  const wk_type *t = &wk_val(g, norm->in[0])->type;
  if (norm->op == WK_OP_SOFTMAX) return t->dims[WK_ATTR(norm, softmax)->axis];
  int64_t n = 1;
  for (int k = (int)WK_ATTR(norm, layer_norm)->axis; k < t->rank; k++) n *= t->dims[k];
  return n;
}

/* Elements of the longest row that n takes in integers, 0: it has no rows. */
static int64_t longest_row(const wk_node *n) {
  return n->op == WK_OP_LAYER_NORM ? WK_NORM_ROW : n->op == WK_OP_SOFTMAX ? WK_SOFTMAX_ROW : 0;
}

static const char *reason_of(const wk_graph *g, const wk_node *n, const wk_uses *u, wk_arena *a) {
  const char *real = real_operand(g, n, a);
  if (real) return real;
  uint32_t quantised = 0, all = wk_use_count(u, n->out[0]);
  for (uint32_t i = u->first[n->out[0]]; i < u->first[n->out[0] + 1]; i++) {
    wk_node_id user = u->uses[i].node;
    quantised += user != WK_NONE && wk_nod(g, user)->op == WK_OP_QUANTIZE;
  }
  if (!quantised) return "its result is not quantised";
  if (quantised < all) return "its result is used unquantised, too";
  int64_t longest = longest_row(n);
  if (longest && row_of(g, n) > longest)
    return wk_arena_printf(a, "its rows have more than %d elements", (int)longest);
  return wk_arena_printf(a, "%s has no integer form for these operands", wk_op_get(n->op)->name);
}

/* Operators that compute: not conversions, not movement. */
static bool counts(const wk_node *n) {
  return !n->dead && n->n_out > 0 && n->out[0] != WK_NONE && !is_conversion(n->op) &&
         wk_op_get(n->op)->cls != WK_CLASS_MOVEMENT && n->op != WK_OP_IDENTITY;
}

static bool is_8_bit(const wk_graph *g, wk_value_id v) {
  return v != WK_NONE && (wk_val(g, v)->type.dtype == WK_I8 || wk_val(g, v)->type.dtype == WK_U8);
}

static bool is_integer_operator(wk_op op) {
  return op == WK_OP_INTEGER_AVG_POOL || op == WK_OP_INTEGER_SOFTMAX ||
         op == WK_OP_INTEGER_NORM || op == WK_OP_INTEGER_RESIZE;
}

/* Before lowering, the maps of 8-bit results are those that conversion has made. */
static bool is_quantised(const wk_graph *g) {
  bool any = false;
  for (size_t i = 0; i < g->nodes.n && !any; i++) {
    const wk_node *n = &g->nodes.data[i];
    any = is_conversion(n->op) || is_integer_operator(n->op) ||
          (n->op == WK_OP_MAP && is_8_bit(g, n->out[0])) ||
          (wk_op_get(n->op)->cls == WK_CLASS_CONTRACTION && is_8_bit(g, n->in[0]));
  }
  return any;
}

size_t wk_integer_rows(const wk_module *m, wk_arena *a, wk_integer_row **out) {
  WK_VEC(wk_integer_row) rows = {0};
  for (size_t k = 0; k < m->graphs.n; k++) {
    const wk_graph *g = m->graphs.data[k];
    if (!is_quantised(g)) continue;
    wk_arena *scratch = wk_arena_new();
    wk_uses u = wk_graph_uses(g, scratch);
    for (size_t i = 0; i < g->nodes.n; i++) {
      const wk_node *n = &g->nodes.data[i];
      if (!counts(n)) continue;
      bool real = is_float(g, n->out[0]);
      bool sums = wk_op_get(n->op)->cls == WK_CLASS_CONTRACTION && !is_float(g, n->in[0]);
      wk_integer_row r = {
          .node = n->name, .op = wk_op_get(n->op)->name, .is_integer = !real || sums};
      if (sums && real) r.reason = "sums in integers; its result is real";
      else if (real) r.reason = reason_of(g, n, &u, a);
      wk_vec_push(&rows, r);
    }
    wk_arena_free(scratch);
  }
  *out = wk_arena_memdup(a, rows.data, rows.n * sizeof *rows.data);
  size_t n = rows.n;
  wk_vec_free(&rows);
  return n;
}
