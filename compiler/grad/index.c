/* SPDX-License-Identifier: Apache-2.0
 * Adjoints of indexed reading and writing: each is the other, with sums where places coincide. */
#include <string.h>

#include "compiler/grad/adjoint.h"

static const wk_type *input_type(const wk_adjoint *a, uint32_t k) {
  return wk_low_type(&a->l, a->n->in[k]);
}

static wk_value_id scatter(wk_low *l, wk_op op, int64_t axis, wk_value_id into, wk_value_id indices,
                           wk_value_id updates, const char *how) {
  wk_value_id in[] = {into, indices, updates};
  if (l->status) return 0;
  void *attrs = wk_attrs_new(l->arena, op);
  if (op == WK_OP_SCATTER_ND) {
    ((wk_attr_scatter_nd *)attrs)->reduction = how;
  } else {
    ((wk_attr_scatter_elements *)attrs)->reduction = how;
    ((wk_attr_scatter_elements *)attrs)->axis = axis;
  }
  return wk_low_add(l, op, attrs, in, 3, 1, NULL);
}

static wk_value_id gather_elements(wk_low *l, wk_value_id data, wk_value_id indices, int64_t axis) {
  wk_value_id in[] = {data, indices};
  wk_attr_gather_elements *g = wk_attrs_new(l->arena, WK_OP_GATHER_ELEMENTS);
  g->axis = axis;
  return wk_low_add(l, WK_OP_GATHER_ELEMENTS, g, in, 2, 1, NULL);
}

static wk_value_id gather_nd(wk_low *l, wk_value_id data, wk_value_id indices) {
  wk_value_id in[] = {data, indices};
  return wk_low_add(l, WK_OP_GATHER_ND, wk_attrs_new(l->arena, WK_OP_GATHER_ND), in, 2, 1, NULL);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Slices of g are added to those of zeros that they were read from: the axis comes first, and what
 * is around it is one slice. */
void wk_adjoint_gather(wk_adjoint *a) {
  wk_low *l = &a->l;
  int64_t axis = WK_ATTR(a->n, gather)->axis;
  const wk_type x = *input_type(a, 0), at = *input_type(a, 1);
  int64_t count = wk_type_count(&at), before = 1, behind = 1;
  for (int64_t i = 0; i < axis; i++) before *= x.dims[i];
  for (int64_t i = axis + 1; i < x.rank; i++) behind *= x.dims[i];
  int64_t three[] = {before, count, behind}, first[] = {1, 0, 2}, column[] = {count, 1};
  int64_t table[] = {x.dims[axis], before, behind};
  const wk_type t = wk_type_make(x.dtype, 3, table);
  wk_value_id g = wk_low_transpose(l, wk_low_reshape(l, a->dy[0], 3, three), first);
  wk_value_id indices = wk_adjoint_cast(l, a->n->in[1], WK_I64);
  wk_value_id d = scatter(l, WK_OP_SCATTER_ND, 0, wk_adjoint_zeros(l, &t),
                          wk_low_reshape(l, indices, 2, column), g, "add");
  a->dx[0] = wk_low_reshape(l, wk_low_transpose(l, d, first), x.rank, x.dims);
}

void wk_adjoint_gather_elements(wk_adjoint *a) {
  wk_value_id zeros = wk_adjoint_zeros(&a->l, input_type(a, 0));
  a->dx[0] = scatter(&a->l, WK_OP_SCATTER_ELEMENTS, WK_ATTR(a->n, gather_elements)->axis, zeros,
                     a->n->in[1], a->dy[0], "add");
}

/* indices [b..., m..., k] with the position along the b axes before each of them. */
static wk_value_id with_batch(wk_low *l, wk_value_id indices, int64_t batch_dims) {
  if (l->status) return 0;
  const wk_type t = *wk_low_type(l, indices);
  wk_value_id parts[WK_MAX_RANK + 1];
  for (int64_t i = 0; i < batch_dims; i++) {
    char text[48];
    snprintf(text, sizeof text, "add(mul(a, 0), index<%d>())", (int)i);
    parts[i] = wk_low_map(l, WK_I64, text, 1,
                          wk_low_slice(l, indices, t.rank - 1, 0, 1, 1));
  }
  parts[batch_dims] = indices;
  return wk_low_concat(l, parts, (uint32_t)batch_dims + 1, t.rank - 1);
}

void wk_adjoint_gather_nd(wk_adjoint *a) {
  wk_low *l = &a->l;
  wk_value_id at = wk_adjoint_cast(l, a->n->in[1], WK_I64);
  at = with_batch(l, at, WK_ATTR(a->n, gather_nd)->batch_dims);
  a->dx[0] = scatter(l, WK_OP_SCATTER_ND, 0, wk_adjoint_zeros(l, input_type(a, 0)), at, a->dy[0],
                     "add");
}

/* ---- writing ------------------------------------------------------------------------------- */

/* An operator that scatters. */
typedef struct {
  wk_adjoint *a;
  wk_op op;
  int64_t axis;
  wk_type data, updates;
  wk_value_id at;
} scattering;

static wk_value_id scattered(const scattering *s, wk_value_id into, wk_value_id updates,
                             const char *how) {
  return scatter(&s->a->l, s->op, s->axis, into, s->at, updates, how);
}

/* What stands where the updates go. */
static wk_value_id gathered(const scattering *s, wk_value_id v) {
  wk_low *l = &s->a->l;
  if (s->op == WK_OP_SCATTER_ND) return gather_nd(l, v, s->at);
  return gather_elements(l, v, s->at, s->axis);
}

/* What was replaced gets nothing. */
static void of_replaced(const scattering *s) {
  wk_adjoint *a = s->a;
  wk_value_id g = a->dy[0];
  if (a->wants[0]) a->dx[0] = scattered(s, g, wk_adjoint_zeros(&a->l, &s->updates), "none");
  if (a->wants[2]) a->dx[2] = gathered(s, g);
}

static void of_sums(const scattering *s) {
  wk_adjoint *a = s->a;
  if (a->wants[0]) a->dx[0] = a->dy[0];
  if (a->wants[2]) a->dx[2] = gathered(s, a->dy[0]);
}

/* Those that are the extreme share what it gets. */
static void of_extremes(const scattering *s) {
  wk_adjoint *a = s->a;
  wk_low *l = &a->l;
  wk_dtype t = s->data.dtype, wide = wk_compute_dtype(t);
  wk_value_id y = a->n->out[0], y_there = gathered(s, y);
  wk_value_id kept = wk_low_map(l, wide, "select(eq(a, b), 1, 0)", 2, a->n->in[0], y);
  wk_value_id met = wk_low_map(l, wide, "select(eq(a, b), 1, 0)", 2, a->n->in[2], y_there);
  wk_value_id count = scattered(s, kept, met, "add");
  wk_value_id share = wk_low_map(l, wide, "div(a, max(b, 1))", 2, a->dy[0], count);
  if (a->wants[0]) a->dx[0] = wk_low_map(l, t, "select(eq(a, 0), 0, b)", 2, kept, share);
  if (a->wants[2])
    a->dx[2] = wk_low_map(l, t, "select(eq(a, 0), 0, b)", 2, met, gathered(s, share));
}

/* Products leave the factor out without dividing by zero. */
static void of_products(const scattering *s) {
  wk_adjoint *a = s->a;
  wk_low *l = &a->l;
  wk_dtype t = s->data.dtype, wide = wk_compute_dtype(t);
  wk_value_id g = a->dy[0], one = wk_low_scalar(l, wide, 1);
  if (a->wants[0]) {
    wk_value_id ones = wk_low_expand(l, one, s->data.rank, s->data.dims);
    wk_value_id factors = scattered(s, ones, wk_adjoint_cast(l, a->n->in[2], wide), "mul");
    a->dx[0] = wk_low_map(l, t, "mul(a, b)", 2, g, factors);
  }
  if (!a->wants[2]) return;
  wk_value_id zeros[2], others[2];
  for (int k = 0; k < 2; k++) {
    zeros[k] = wk_low_map(l, wide, "select(eq(a, 0), 1, 0)", 1, a->n->in[2 * k]);
    others[k] = wk_low_map(l, wide, "select(eq(a, 0), 1, a)", 1, a->n->in[2 * k]);
  }
  wk_value_id count = gathered(s, scattered(s, zeros[0], zeros[1], "add"));
  wk_value_id rest = gathered(s, scattered(s, others[0], others[1], "mul"));
  a->dx[2] = wk_low_map(l, t,
                        "select(eq(c, 0), mul(d, div(b, a)), "
                        "select(and(eq(c, 1), eq(a, 0)), mul(d, b), 0))",
                        4, a->n->in[2], rest, count, gathered(s, g));
}

static void adjoint_of(wk_adjoint *a, int64_t axis, const char *how) {
  static const struct {
    const char *how;
    void (*fn)(const scattering *s);
  } rows[] = {{"none", of_replaced}, {"add", of_sums}, {"mul", of_products}, {"min", of_extremes},
              {"max", of_extremes}};
  const scattering s = {a, a->n->op, axis, *input_type(a, 0), *input_type(a, 2), a->n->in[1]};
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    if (!strcmp(how, rows[k].how)) rows[k].fn(&s);
}

void wk_adjoint_scatter_elements(wk_adjoint *a) {
  const wk_attr_scatter_elements *s = WK_ATTR(a->n, scatter_elements);
  adjoint_of(a, s->axis, s->reduction);
}

void wk_adjoint_scatter_nd(wk_adjoint *a) {
  adjoint_of(a, 0, WK_ATTR(a->n, scatter_nd)->reduction);
}

/* values[1] gets what stands at the indices, values[0] the rest. */
void wk_adjoint_one_hot(wk_adjoint *a) {
  wk_low *l = &a->l;
  const wk_type t = *input_type(a, 1), y = *wk_low_type(l, a->dy[0]);
  static const double off_on[] = {0, 1};
  const int64_t two = 2, one = 1;
  wk_value_id values = wk_low_const_real(l, y.dtype, 1, &two, off_on);
  wk_value_id in[] = {a->n->in[0], values};
  wk_value_id is_on = wk_low_add(l, WK_OP_ONE_HOT, wk_attrs_clone(l->arena, WK_OP_ONE_HOT,
                                                                  a->n->attrs), in, 2, 1, NULL);
  const wk_type single = wk_type_make(t.dtype, 1, &one);
  wk_value_id on = wk_low_map(l, y.dtype, "select(eq(a, 0), 0, b)", 2, is_on, a->dy[0]);
  wk_value_id off = wk_low_map(l, y.dtype, "select(eq(a, 0), b, 0)", 2, is_on, a->dy[0]);
  wk_value_id parts[] = {wk_adjoint_sum_to(l, off, &single), wk_adjoint_sum_to(l, on, &single)};
  a->dx[1] = wk_low_concat(l, parts, 2, 0);
}

void wk_adjoint_max_unpool(wk_adjoint *a) {
  wk_low *l = &a->l;
  const wk_type x = *input_type(a, 0), y = *wk_low_type(l, a->dy[0]);
  int64_t n = wk_type_count(&x), all = wk_type_count(&y);
  wk_value_id g = wk_low_reshape(l, a->dy[0], 1, &all);
  wk_value_id d = gather_elements(l, g, wk_low_reshape(l, a->n->in[1], 1, &n), 0);
  a->dx[0] = wk_low_reshape(l, d, x.rank, x.dims);
}

void wk_adjoint_top_k(wk_adjoint *a) {
  wk_value_id zeros = wk_adjoint_zeros(&a->l, input_type(a, 0));
  wk_value_id at = a->n->n_out > 1 ? a->n->out[1] : WK_NONE, out[2] = {0};
  if (a->dy[0] == WK_NONE) return;
  if (at == WK_NONE) {
    wk_low_add(&a->l, WK_OP_TOP_K, wk_attrs_clone(a->l.arena, WK_OP_TOP_K, a->n->attrs), a->n->in,
               1, 2, out);
    at = out[1];
  }
  a->dx[0] = scatter(&a->l, WK_OP_SCATTER_ELEMENTS, WK_ATTR(a->n, top_k)->axis, zeros, at,
                     a->dy[0], "add");
}

/* ---- the same operator once more ----------------------------------------------------------- */

static void again(wk_adjoint *a, void *attrs) {
  wk_value_id in[3];
  memcpy(in, a->n->in, a->n->n_in * sizeof *in);
  in[0] = a->dy[0];
  a->dx[0] = wk_low_add(&a->l, a->n->op, attrs, in, a->n->n_in, 1, NULL);
}

void wk_adjoint_reverse_sequence(wk_adjoint *a) {
  again(a, wk_attrs_clone(a->l.arena, a->n->op, a->n->attrs));
}

void wk_adjoint_trilu(wk_adjoint *a) {
  again(a, wk_attrs_clone(a->l.arena, a->n->op, a->n->attrs));
}

void wk_adjoint_cum_sum(wk_adjoint *a) {
  wk_attr_cum_sum *s = wk_attrs_clone(a->l.arena, a->n->op, a->n->attrs);
  s->reverse = !s->reverse;
  again(a, s);
}
