/* SPDX-License-Identifier: Apache-2.0
 * Functions of one byte that follow one another, or meet in a map, are one table of 256 entries,
 * whatever was rounded between them: x sigmoid(x), hard swish and GELU in pieces. */
#include <string.h>

#include "compiler/integer/rules.h"

enum { BYTES = 256, MOST_STEPS = 16, MOST_INPUTS = 8 };

static bool is_byte(wk_dtype t) { return t == WK_I8 || t == WK_U8; }

static int64_t number_of(uint8_t byte, wk_dtype t) { return t == WK_I8 ? (int8_t)byte : byte; }

static bool is_table(const wk_rewrite *r, const wk_node *n) {
  if (n->op != WK_OP_GATHER || n->predicate != WK_NONE || !wk_known(r, n->in[0])) return false;
  const wk_type *t = wk_type_of(r, n->in[0]);
  return t->rank == 1 && t->dims[0] == BYTES && is_byte(t->dtype) &&
         is_byte(wk_type_of(r, n->in[1])->dtype);
}

static bool is_one_number(const wk_rewrite *r, wk_value_id v) {
  return wk_known(r, v) && wk_type_count(wk_type_of(r, v)) == 1;
}

/* Nothing that an executor might round in its own way. */
static bool is_exact(const wk_expr *x) {
  for (uint32_t i = 0; i < x->n; i++)
    if (x->nodes[i].op == WK_EX_INDEX || wk_dtype_is_float(x->nodes[i].dtype)) return false;
  return true;
}

/* A map of bytes to a byte, element by element. *tensors: how many are its operands, those that are
 * single numbers left out. */
static bool is_map(const wk_rewrite *r, const wk_node *n, uint32_t *tensors) {
  wk_value_id first = WK_NONE;
  *tensors = 0;
  if (n->op != WK_OP_MAP || n->predicate != WK_NONE || n->n_out != 1 || n->n_in > MOST_INPUTS ||
      !is_byte(wk_type_of(r, n->out[0])->dtype) || !is_exact(WK_ATTR(n, map)->body))
    return false;
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (is_one_number(r, n->in[k])) continue;
    const wk_type *t = wk_type_of(r, n->in[k]);
    if (!is_byte(t->dtype) || !wk_shape_equal(t, wk_type_of(r, n->out[0]))) return false;
    *tensors += n->in[k] != first;
    if (first == WK_NONE) first = n->in[k];
  }
  return *tensors > 0;
}

/* The tensor that v is a function of, one step back; WK_NONE: none. */
static wk_value_id argument_of(const wk_rewrite *r, wk_value_id v) {
  const wk_node *n = wk_def(r->g, v);
  uint32_t tensors;
  if (!n || n->dead) return WK_NONE;
  if (is_table(r, n)) return n->in[1];
  if (!is_map(r, n, &tensors) || tensors != 1) return WK_NONE;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (!is_one_number(r, n->in[k])) return n->in[k];
  return WK_NONE;
}

/* ---- what a value is of another -------------------------------------------------------------- */

static void apply(const wk_rewrite *r, const wk_node *n, const uint8_t *const args[],
                  uint8_t out[BYTES]) {
  const wk_expr *x = n->op == WK_OP_MAP ? WK_ATTR(n, map)->body : NULL;
  wk_scalar in[MOST_INPUTS], y, *scratch = wk_arena_alloc(r->c->scratch, (x ? x->n : 1) * sizeof y);
  for (uint32_t k = 0; x && k < n->n_in; k++)
    if (is_one_number(r, n->in[k]))
      in[k] = wk_scalar_load(wk_val(r->g, n->in[k])->data, wk_type_of(r, n->in[k])->dtype);
  for (int q = 0; q < BYTES; q++) {
    if (!x) {
      out[q] = ((const uint8_t *)wk_val(r->g, n->in[0])->data)[args[1][q]];
      continue;
    }
    for (uint32_t k = 0; k < n->n_in; k++)
      if (args[k]) in[k].i = number_of(args[k][q], wk_type_of(r, n->in[k])->dtype);
    wk_expr_eval(x, in, NULL, scratch, &y);
    out[q] = (uint8_t)y.i;
  }
}

/* a and what it is a function of, step by step. */
static int path_of(const wk_rewrite *r, wk_value_id a, wk_value_id path[MOST_STEPS]) {
  int n = 0;
  for (; a != WK_NONE && n < MOST_STEPS; a = argument_of(r, a)) path[n++] = a;
  return n;
}

bool wk_integer_function_of(const wk_rewrite *r, wk_value_id v, wk_value_id x, uint8_t *out) {
  wk_value_id path[MOST_STEPS];
  int n = 0, steps = path_of(r, v, path);
  while (n < steps && path[n] != x) n++;
  if (n == steps) return false;
  for (int q = 0; q < BYTES; q++) out[q] = (uint8_t)q;
  while (n-- > 0) {
    const wk_node *d = wk_def(r->g, path[n]);
    const uint8_t *args[MOST_INPUTS] = {NULL};
    uint8_t was[BYTES];
    memcpy(was, out, BYTES);
    for (uint32_t k = 0; k < d->n_in; k++)
      if (!wk_known(r, d->in[k])) args[k] = was;
    apply(r, d, args, out);
  }
  return true;
}

wk_value_id wk_integer_common(const wk_rewrite *r, wk_value_id a, wk_value_id b) {
  wk_value_id of_a[MOST_STEPS], of_b[MOST_STEPS];
  int n_a = path_of(r, a, of_a), n_b = path_of(r, b, of_b);
  for (int i = 0; i < n_a; i++)
    for (int k = 0; k < n_b; k++)
      if (of_a[i] == of_b[k]) return of_a[i];
  return WK_NONE;
}

/* ---- the rule -------------------------------------------------------------------------------- */

/* The argument of what n alone reads. Maps of one tensor stay maps, which fusion joins. */
static wk_value_id root_of_one(const wk_rewrite *r, const wk_node *n, wk_value_id v) {
  const wk_node *of = wk_def(r->g, v);
  bool has_table = n->op == WK_OP_GATHER || (of && of->op == WK_OP_GATHER);
  return has_table && wk_once(r, v) ? argument_of(r, v) : WK_NONE;
}

/* What n is to be a table of: of one tensor what that is made of, of several what all of them are
 * functions of. */
static wk_value_id root_of(const wk_rewrite *r, const wk_node *n) {
  uint32_t tensors = 1;
  wk_value_id root = WK_NONE;
  if (!is_table(r, n) && !is_map(r, n, &tensors)) return WK_NONE;
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (n->op == WK_OP_GATHER ? k == 0 : is_one_number(r, n->in[k])) continue;
    if (tensors == 1) return root_of_one(r, n, n->in[k]);
    root = root == WK_NONE ? n->in[k] : wk_integer_common(r, root, n->in[k]);
    if (root == WK_NONE) return WK_NONE;
  }
  return root;
}

static bool compose(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  uint8_t of[MOST_INPUTS][BYTES], out[BYTES];
  const uint8_t *args[MOST_INPUTS] = {NULL};
  void *data;
  (void)id;
  wk_value_id root = root_of(r, n);
  if (root == WK_NONE || wk_known(r, root)) return false;
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (wk_known(r, n->in[k])) continue;
    if (!wk_integer_function_of(r, n->in[k], root, of[k])) return false;
    args[k] = of[k];
  }
  apply(r, n, args, out);
  const wk_type t = wk_type_make(wk_type_of(r, n->out[0])->dtype, 1, (const int64_t[]){BYTES});
  wk_value_id table = wk_rewrite_constant(r, &t, &data);
  if (table == WK_NONE) return false;
  memcpy(data, out, BYTES);
  r->name = n->name;
  wk_attr_gather *a = wk_attrs_new(r->arena, WK_OP_GATHER);
  return wk_rewrite_replace(r, n->out[0], wk_rewrite_2(r, WK_OP_GATHER, a, table, root));
}

wk_status wk_integer_compose_graph(wk_graph *g, wk_pass_ctx *c) {
  return wk_rewrite_run(g, c, compose);
}
