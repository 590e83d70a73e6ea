/* SPDX-License-Identifier: Apache-2.0
 * Adjoints of elementwise operators: a `map` over the operator's inputs and the adjoints of its
 * outputs, then a sum where an input was broadcast. */
#include <stdlib.h>
#include <string.h>

#include "compiler/grad/adjoint.h"

wk_value_id wk_adjoint_zeros(wk_low *l, const wk_type *t) {
  const wk_type type = *t; /* of a value, perhaps, and values move */
  return wk_low_expand(l, wk_low_scalar(l, type.dtype, 0), type.rank, type.dims);
}

wk_value_id wk_adjoint_cast(wk_low *l, wk_value_id v, wk_dtype t) {
  if (l->status || wk_low_type(l, v)->dtype == t) return v;
  return wk_low_map(l, t, "out(a)", 1, v);
}

wk_value_id wk_adjoint_sum_to(wk_low *l, wk_value_id v, const wk_type *t) {
  if (l->status) return 0;
  const wk_type from = *wk_low_type(l, v);
  int64_t axes[WK_MAX_RANK];
  int n = 0, more = from.rank - t->rank;
  for (int i = 0; i < from.rank; i++)
    if (i < more || (t->dims[i - more] == 1 && from.dims[i] != 1)) axes[n++] = i;
  if (n) v = wk_low_reduce(l, t->dtype, "sum", v, axes, n, true, NULL, NULL);
  return wk_low_reshape(l, wk_adjoint_cast(l, v, t->dtype), t->rank, t->dims);
}

static bool same_dims(const wk_type *a, const wk_type *b) {
  return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]);
}

/* The values that expressions are over: the node's inputs, then what else there is. */
typedef struct {
  const wk_value_id *v;
  int n;
} operands;

/* A map with these results; operands that none of them reads are left out. Its results are of the
 * dims of y. */
static void add_map(wk_adjoint *a, const operands *in, wk_expr *const *e, uint32_t n,
                    wk_value_id *out) {
  uint16_t *renamed = wk_arena_alloc(a->l.arena, (size_t)in->n * sizeof *renamed);
  uint16_t *results = wk_arena_alloc(a->l.arena, n * sizeof *results);
  wk_value_id *used = wk_arena_alloc(a->l.arena, (size_t)in->n * sizeof *used);
  wk_expr_builder *b = wk_expr_begin(a->l.arena);
  uint32_t n_used = 0;
  for (int k = 0; k < in->n; k++) {
    bool is_read = false;
    for (uint32_t r = 0; r < n; r++)
      for (uint32_t i = 0; i < e[r]->n; i++)
        is_read = is_read || (e[r]->nodes[i].op == WK_EX_INPUT && e[r]->nodes[i].imm.i == k);
    if (!is_read) continue;
    used[n_used] = in->v[k];
    renamed[k] = wk_expr_input(b, n_used++, wk_low_type(&a->l, in->v[k])->dtype);
  }
  for (uint32_t r = 0; r < n; r++) results[r] = wk_expr_inline(b, e[r], renamed, 0);
  wk_attr_map *attrs = wk_attrs_new(a->l.arena, WK_OP_MAP);
  attrs->body = wk_expr_finish(b, results, (int)n);
  wk_low_add(&a->l, WK_OP_MAP, attrs, used, n_used, n, out);
}

/* v expanded to the dims that n values broadcast to. */
static wk_value_id expanded(wk_low *l, wk_value_id v, const wk_value_id *all, int n) {
  wk_type y = *wk_low_type(l, v), next;
  for (int k = 0; k < n && !l->status; k++, y = next)
    l->status = wk_type_broadcast(&y, wk_low_type(l, all[k]), &next);
  const wk_type is = *wk_low_type(l, v);
  return l->status || same_dims(&y, &is) ? v : wk_low_expand(l, v, y.rank, y.dims);
}

wk_value_id wk_adjoint_through(wk_adjoint *a, const wk_expr *e, const wk_value_id *in, int n_in,
                               int k, wk_value_id g) {
  bool wanted[8] = {false};
  wk_expr *out[8] = {NULL};
  wk_value_id all[9], y = 0;
  if (a->l.status || n_in > 8) return WK_NONE;
  wanted[k] = true;
  wk_status s = wk_expr_adjoints(a->l.arena, e, n_in, wanted, out);
  if (s) wk_low_fail(&a->l, s);
  if (s || !out[k]) return WK_NONE;
  memcpy(all, in, (size_t)n_in * sizeof *all);
  all[n_in] = g;
  add_map(a, &(operands){all, n_in + 1}, &out[k], 1, &y);
  return a->l.status ? 0 : expanded(&a->l, y, all, n_in + 1);
}

static int64_t only_input(const wk_expr *e) {
  const wk_expr_node *x = &e->nodes[e->results[0]];
  return x->op == WK_EX_INPUT ? x->imm.i : -1;
}

/* The value of an expression, of y's dims. */
static wk_value_id value_of(wk_adjoint *a, const operands *in, wk_expr *e) {
  wk_value_id out = 0;
  int64_t k = only_input(e);
  if (k >= 0) return in->v[k];
  add_map(a, in, &e, 1, &out);
  return out;
}

/* e[k]: what input k gets, NULL: nothing. Inputs of y's dims share a map. */
static void apply(wk_adjoint *a, const operands *in, wk_expr *const *e, const wk_type *y) {
  uint32_t n = a->n->n_in, together = 0;
  wk_expr **joined = wk_arena_alloc(a->l.arena, n * sizeof *joined);
  uint32_t *of = wk_arena_alloc(a->l.arena, n * sizeof *of);
  wk_value_id *out = wk_arena_alloc(a->l.arena, n * sizeof *out);
  for (uint32_t k = 0; k < n && !a->l.status; k++) {
    if (!e[k] || !a->wants[k]) continue;
    const wk_type x = *wk_low_type(&a->l, a->n->in[k]);
    if (same_dims(&x, y) && only_input(e[k]) < 0) {
      of[together] = k;
      joined[together++] = e[k];
    } else {
      a->dx[k] = wk_adjoint_sum_to(&a->l, value_of(a, in, e[k]), &x);
    }
  }
  if (!together || a->l.status) return;
  add_map(a, in, joined, together, out);
  for (uint32_t i = 0; i < together && !a->l.status; i++) a->dx[of[i]] = out[i];
}

/* ---- by the definition --------------------------------------------------------------------- */

/* e with those results alone that have an adjoint; their types' dims are those of the first. */
static wk_expr *with_adjoints(wk_adjoint *a, const wk_expr *e, wk_value_id *in, int *n_in) {
  wk_expr *some = wk_expr_clone(a->l.arena, e);
  some->n_results = 0;
  for (uint32_t r = 0; r < e->n_results; r++) {
    if (r >= a->n->n_out || a->dy[r] == WK_NONE) continue;
    some->results[some->n_results++] = e->results[r];
    in[(*n_in)++] = a->dy[r];
  }
  return some;
}

void wk_adjoint_elementwise(wk_adjoint *a) {
  const wk_node *n = a->n;
  wk_expr *e = NULL;
  wk_expr **out = wk_arena_alloc(a->l.arena, n->n_in * sizeof *out);
  wk_value_id *in = wk_arena_alloc(a->l.arena, (n->n_in + n->n_out) * sizeof *in);
  int n_in = (int)n->n_in;
  memcpy(in, n->in, n->n_in * sizeof *in);
  wk_status s = wk_node_expr(a->l.g, n, a->l.arena, &e);
  if (!s) {
    e = with_adjoints(a, e, in, &n_in);
    s = wk_expr_adjoints(a->l.arena, e, (int)n->n_in, a->wants, out);
  }
  if (s) {
    wk_low_fail(&a->l, s);
    return;
  }
  const operands all = {in, n_in};
  const wk_type y = *wk_low_type(&a->l, in[n->n_in]);
  apply(a, &all, out, &y);
}

/* ---- by expressions of its own ------------------------------------------------------------- */

void wk_adjoint_by(wk_adjoint *a, const char *const *texts) {
  const wk_node *n = a->n;
  const wk_attr_source source = {n->op, n->attrs};
  wk_value_id in[8];
  wk_dtype dtypes[8];
  wk_expr *e[8] = {NULL};
  int count = 0;
  for (uint32_t k = 0; k < n->n_in; k++) in[count++] = n->in[k];
  in[count++] = n->out[0];
  in[count++] = a->dy[0];
  for (int k = 0; k < count; k++) dtypes[k] = wk_low_type(&a->l, in[k])->dtype;
  const char *names = wk_arena_printf(a->l.arena, "%s y g", wk_op_get(n->op)->inputs);
  for (uint32_t k = 0; k < n->n_in && !a->l.status; k++)
    if (a->wants[k])
      a->l.status = wk_expr_template(a->l.arena, texts[k], names, dtypes, count, dtypes[k],
                                     wk_attr_number, &source, &e[k]);
  const operands all = {in, count};
  const wk_type y = wk_val(a->l.g, n->out[0])->type;
  if (!a->l.status) apply(a, &all, e, &y);
}
