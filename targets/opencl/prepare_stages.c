/* SPDX-License-Identifier: Apache-2.0
 * Reductions on GPUs that give fewer groups of work items than there are units, and each a long
 * way: one axis becomes two, the first reduction folds all but the outer one of them, a second one
 * folds that. */
#include <string.h>

#include "targets/opencl/prepare.h"
#include "targets/opencl/rows.h"

enum { LONG_WAY = 64 }; /* elements of a work item */

typedef struct {
  int axis;       /* it is folded, the slowest in memory */
  int64_t pieces; /* of the axis */
} cut;

static bool uses_index(const wk_expr *e) {
  for (uint32_t k = 0; e && k < e->n; k++)
    if (e->nodes[k].op == WK_EX_INDEX) return true;
  return false;
}

static wk_dtype folded_type(const wk_inst *i) {
  const wk_attr_reduce *r = i->attrs;
  return r->pre ? r->pre->nodes[r->pre->results[0]].dtype : i->operands[1].dtype;
}

static bool is_folded(const wk_attr_reduce *r, int axis) {
  for (int64_t k = 0; k < r->axes.n; k++)
    if (r->axes.v[k] == axis) return true;
  return false;
}

static int slowest(const wk_inst *i) {
  const wk_view *x = &i->operands[i->n_out];
  int best = -1;
  for (int d = 0; d < x->rank; d++)
    if (is_folded(i->attrs, d) && x->dims[d] > 1 &&
        (best < 0 || wk_cl_magnitude(x->strides[d]) > wk_cl_magnitude(x->strides[best])))
      best = d;
  return best;
}

/* The divisor of n next to what is wanted, not above it. */
static int64_t divisor(int64_t n, int64_t wanted) {
  int64_t best = 1;
  for (int64_t k = 2; k <= wanted && k <= n; k++)
    if (n % k == 0) best = k;
  return best;
}

static bool find_cut(const wk_opencl *d, const wk_inst *i, cut *c) {
  const wk_attr_reduce *r = i->attrs;
  const wk_view *x = &i->operands[i->n_out];
  int64_t elements = 1, outputs = 1;
  if (wk_fold_is_arg(r->kind) || uses_index(r->pre) || uses_index(r->post) || i->n_out != 1 ||
      x->rank == WK_MAX_RANK || wk_compute_dtype(folded_type(i)) != folded_type(i))
    return false;
  for (int k = 0; k < x->rank; k++) *(is_folded(r, k) ? &elements : &outputs) *= x->dims[k];
  if (elements == 0 || outputs == 0) return false;
  wk_cl_rows rows = wk_cl_rows_for(d, outputs, elements, !is_folded(r, wk_cl_fastest(x)));
  int64_t groups = wk_ceil_div(outputs, rows.rows), units = (int64_t)d->info.units;
  if (elements / rows.items < LONG_WAY || 2 * groups > units) return false;
  c->axis = slowest(i);
  c->pieces = c->axis < 0 ? 1 : divisor(x->dims[c->axis], wk_ceil_div(2 * units, groups));
  return c->pieces * groups * 2 > units;
}

bool wk_cl_wants_stages(const wk_opencl *d, const wk_inst *i) {
  cut c;
  return d->family == WK_CL_GPU && i->op == WK_OP_REDUCE && find_cut(d, i, &c);
}

/* The axis as two: pieces, and the elements of a piece. */
static void cut_view(wk_view *v, const cut *c) {
  for (int d = v->rank; d > c->axis; d--) {
    v->dims[d] = v->dims[d - 1];
    v->strides[d] = v->strides[d - 1];
  }
  v->rank++;
  v->dims[c->axis + 1] = v->dims[c->axis] / c->pieces;
  v->dims[c->axis] = c->pieces;
  v->strides[c->axis] = v->strides[c->axis + 1] * v->dims[c->axis + 1];
}

/* The axes that the first reduction folds, of the view that has been cut. */
static wk_ints first_axes(wk_program *p, const wk_attr_reduce *r, const cut *c) {
  int64_t axes[WK_MAX_RANK];
  for (int64_t k = 0; k < r->axes.n; k++) axes[k] = r->axes.v[k] + (r->axes.v[k] >= c->axis);
  return wk_ints_dup(p->arena, axes, r->axes.n);
}

static wk_view partial(const wk_opencl *d, wk_program *p, const wk_inst *i, const wk_view *like,
                       const wk_ints *axes) {
  wk_view v = *like;
  int64_t run = 1;
  v.dtype = folded_type(i);
  v.offset = v.step = 0;
  for (int k = v.rank - 1; k >= 0; k--) {
    bool is_gone = false;
    for (int64_t a = 0; a < axes->n; a++) is_gone = is_gone || axes->v[a] == k;
    v.strides[k] = is_gone ? 0 : run;
    run *= is_gone ? 1 : v.dims[k];
  }
  wk_buffer b = {.name = wk_arena_printf(p->arena, "%s.parts", i->name ? i->name : ""),
                 .region = WK_REGION_ACT, .size = run * wk_dtype_size(v.dtype),
                 .align = wk_cl_align(d), .offset = -1};
  v.buffer = wk_program_buffer(p, &b);
  return v;
}

void wk_cl_add_stages(const wk_opencl *d, wk_program *p, wk_block *out, wk_inst *i) {
  cut c;
  if (!find_cut(d, i, &c)) return; /* wk_cl_wants_stages has said that there is one */
  const wk_attr_reduce *r = i->attrs;
  wk_inst *first = wk_inst_new(p, WK_OP_REDUCE, i->name, 1, i->n_operands);
  wk_inst *second = wk_inst_new(p, WK_OP_REDUCE, i->name, 1, 2);
  wk_attr_reduce *a = first->attrs, *b = second->attrs;
  *a = *b = *r;
  a->axes = first_axes(p, r, &c);
  a->post = NULL;
  b->pre = NULL;
  b->axes = wk_ints_fill(p->arena, 1, c.axis);
  for (uint32_t k = 0; k < i->n_operands; k++) {
    first->operands[k] = i->operands[k];
    cut_view(&first->operands[k], &c);
  }
  second->operands[0] = first->operands[0];
  first->operands[0] = partial(d, p, i, &first->operands[0], &a->axes);
  first->operands[0].role = WK_ROLE_OUT;
  second->operands[1] = first->operands[0];
  second->operands[1].role = WK_ROLE_IN;
  for (int64_t k = 0; k < a->axes.n; k++)
    for (uint32_t o = 0; o < 2; o++) {
      second->operands[o].dims[a->axes.v[k]] = 1;
      second->operands[o].strides[a->axes.v[k]] = 0;
    }
  wk_block_append(out, first);
  wk_block_append(out, second);
}
