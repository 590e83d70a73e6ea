/* SPDX-License-Identifier: Apache-2.0
 * The form that every instruction with loops has. A CPU's work item goes along the axis that is
 * fastest in the output, a GPU's does one element of it, or a vector. */
#include <string.h>

#include "targets/opencl/lanes.h"

enum { ITEM = 4096 }; /* elements of a CPU's work item */

static bool uses_index(const wk_inst *i) {
  if (i->op != WK_OP_MAP) return false;
  const wk_expr *e = ((const wk_attr_map *)i->attrs)->body;
  for (uint32_t k = 0; k < e->n; k++)
    if (e->nodes[k].op == WK_EX_INDEX) return true;
  return false;
}

/* ---- fewer axes ------------------------------------------------------------------------------ */

/* Axes of the outputs from slowest to fastest in memory. */
static void memory_order(const wk_view *y, int *order) {
  for (int k = 0; k < y->rank; k++) {
    int at = k;
    int64_t stride = wk_cl_magnitude(y->strides[k]);
    for (; at > 0 && wk_cl_magnitude(y->strides[order[at - 1]]) < stride; at--)
      order[at] = order[at - 1];
    order[at] = k;
  }
}

static bool joins(const wk_inst *i, int outer, int axis) {
  for (uint32_t k = 0; k < i->n_operands; k++) {
    const wk_view *v = &i->operands[k];
    if (v->buffer != WK_NONE && v->strides[outer] != v->strides[axis] * v->dims[axis]) return false;
  }
  return true;
}

wk_inst *wk_cl_flat(const wk_cl_making *m) {
  wk_inst *f = wk_arena_alloc(m->a, sizeof *f);
  int order[WK_MAX_RANK], n = 0;
  *f = *m->inst;
  f->operands = wk_arena_alloc(m->a, f->n_operands * sizeof *f->operands);
  memory_order(&m->inst->operands[0], order);
  for (uint32_t k = 0; k < f->n_operands; k++) {
    wk_view *v = &f->operands[k];
    *v = m->inst->operands[k];
    for (int d = 0; d < v->rank && v->buffer != WK_NONE; d++) {
      v->dims[d] = m->inst->operands[k].dims[order[d]];
      v->strides[d] = m->inst->operands[k].strides[order[d]];
    }
  }
  for (int d = 0, rank = f->operands[0].rank; d < rank; d++) {
    bool is_one = f->operands[0].dims[d] == 1, into = n > 0 && joins(f, n - 1, d);
    for (uint32_t k = 0; k < f->n_operands; k++) {
      wk_view *v = &f->operands[k];
      int64_t dim = v->dims[d], stride = v->strides[d];
      if (is_one) continue;
      if (into) v->dims[n - 1] *= dim, v->strides[n - 1] = stride;
      else v->dims[n] = dim, v->strides[n] = stride;
    }
    n += !is_one && !into;
  }
  for (uint32_t k = 0; k < f->n_operands; k++) f->operands[k].rank = n;
  return f;
}

bool wk_cl_is_plain(const wk_inst *i) {
  return (i->op == WK_OP_MAP && !uses_index(i)) || i->op == WK_OP_COPY || i->op == WK_OP_FILL;
}

/* ---- CPU ------------------------------------------------------------------------------------- */

/* What an output costs, in elements read. */
static int64_t weight(const wk_inst_c *l) {
  int64_t n = l->begin ? wk_cl_product(l->inner_rank, l->inner_dims, -1) : 1;
  if (l->range && l->dims[0] > 0) n /= l->dims[0]; /* the ranges of all rows go through it once */
  return n < 1 ? 1 : n;
}

/* Pieces of the axis, or several rows, per work item. */
static void items_cpu(wk_cl_loops *x, wk_cl_kernel *k, int axis) {
  int64_t n = x->l.rank ? x->l.dims[axis] : 1, rows = wk_cl_product(x->l.rank, x->l.dims, axis);
  int64_t each = ITEM / weight(&x->l);
  each = each < 64 ? 64 : each;
  int64_t pieces = wk_ceil_div(n, each), long_piece = wk_ceil_div(n, pieces);
  int64_t some = pieces > 1 || n >= each ? 1 : each / n;
  if (some > rows) some = rows;
  k->global[0] = (uint64_t)(wk_ceil_div(rows, some) * pieces);
  wk_str_add(x->b, "const long t = get_global_id(0);\n");
  if (pieces > 1)
    wk_str_printf(x->b, "const long lo = t %% %lld * %lld, hi = min(lo + %lld, (long)%lld);\n"
                  "const long row = t / %lld;\n", (long long)pieces, (long long)long_piece,
                  (long long)long_piece, (long long)n, (long long)pieces);
  else if (some > 1)
    wk_str_printf(x->b, "const long end = min(t * %lld + %lld, (long)%lld);\n"
                  "for (long row = t * %lld; row < end; row++) {\n", (long long)some,
                  (long long)some, (long long)rows, (long long)some);
  else wk_str_add(x->b, "const long row = t;\n");
  wk_cl_positions(x->b, 'i', x->l.rank, x->l.dims, axis, "row");
  char hi[32];
  snprintf(hi, sizeof hi, "%lld", (long long)n);
  wk_cl_run(x, axis, pieces > 1 ? "lo" : "0", pieces > 1 ? "hi" : hi);
  if (pieces == 1 && some > 1) wk_str_add(x->b, "}\n");
}

/* ---- GPU ------------------------------------------------------------------------------------- */

static void item_gpu(const wk_cl_making *m, wk_cl_loops *x, wk_cl_kernel *k, int axis) {
  int64_t n = wk_cl_product(x->l.rank, x->l.dims, -1), row = x->l.dims[axis];
  int lanes = wk_cl_is_plain(x->inst) ? wk_cl_lanes_for(m->device, n, row) : 1;
  const char *flat = wk_cl_flat_type(x), *u = strcmp(flat, "uint") ? "" : "u";
  n /= lanes, row /= lanes;
  k->local[0] = wk_cl_group_for(m->device, n);
  k->global[0] = (uint64_t)n;
  wk_str_printf(x->b, "const %s t = get_global_id(0);\n", flat);
  if (n % k->local[0]) wk_str_printf(x->b, "if (t >= %lld) return;\n", (long long)n);
  wk_str_printf(x->b, "const %s row = t / %lld%s;\nconst %s %s = t %% %lld%s", flat,
                (long long)row, u, x->type, lanes > 1 ? "first" : wk_inst_c_i[axis],
                (long long)row, u);
  if (lanes > 1) wk_str_printf(x->b, " * %d", lanes);
  wk_str_add(x->b, ";\n");
  wk_cl_split(x, 'i', 0, x->l.rank, x->l.dims, axis, "row");
  if (lanes > 1) wk_cl_end_lanes(x, m->p, axis, lanes, NULL);
  else wk_cl_at(x);
}

/* The axis that neighbouring elements are along, if outputs lie as work does. */
static int inner_axis(const wk_cl_loops *x) {
  const wk_view *y = &x->inst->operands[0];
  bool is_same = y->rank == x->l.rank;
  for (int d = 0; d < x->l.rank && is_same; d++) is_same = x->l.at[d] == wk_inst_c_i[d];
  return is_same ? wk_cl_fastest(y) : x->l.rank - 1;
}

bool wk_cl_make_each(const wk_cl_making *m) {
  wk_cl_kernel k = {.what = wk_op_get(m->inst->op)->name, .node = m->inst->name};
  wk_cl_loops x;
  const wk_inst *i = wk_cl_is_plain(m->inst) ? wk_cl_flat(m) : m->inst;
  if (!wk_cl_loops_open(&x, m->a, &k, m->p, i, WK_NONE, m->device->family == WK_CL_CPU))
    return false;
  if (wk_cl_product(x.l.rank, x.l.dims, -1) == 0) return true;
  if (x.l.rank == 0) x.l.rank = 1, x.l.dims[0] = 1;
  if (x.l.n_positions || x.l.range) wk_cl_add_fault(&k);
  if (m->device->family == WK_CL_CPU) items_cpu(&x, &k, inner_axis(&x));
  else item_gpu(m, &x, &k, inner_axis(&x));
  wk_cl_add_launch(m->unit, &k);
  return true;
}
