/* SPDX-License-Identifier: Apache-2.0
 * Reductions on GPUs: a row is what makes one output. Where neighbours in memory make neighbouring
 * outputs, as means over images with channels last, neighbouring work items have these. */
#include "targets/opencl/rows.h"

enum { FEW = 16 }; /* elements that a work item folds by itself (make_each.c) */

bool wk_cl_make_reduce(const wk_cl_making *m) {
  wk_cl_kernel k = {.what = "reduce", .node = m->inst->name};
  wk_cl_loops x;
  if (m->device->family != WK_CL_GPU || m->inst->op != WK_OP_REDUCE ||
      !wk_cl_loops_open(&x, m->a, &k, m->p, m->inst, WK_NONE, false))
    return false;
  int64_t elements = wk_cl_product(x.l.inner_rank, x.l.inner_dims, -1);
  int64_t outputs = wk_cl_product(x.l.rank, x.l.dims, -1);
  int fast = wk_cl_fastest(&m->inst->operands[m->inst->n_out]);
  bool is_across = x.l.inner_dims[fast] == 1;
  if (!wk_cl_is_joinable(&x) || elements < FEW || outputs == 0) return false;
  wk_cl_rows r = wk_cl_rows_for(m->device, outputs, elements, is_across);
  if (r.items == 1) return false;
  wk_cl_rows_declare(&r, &x, 0);
  wk_cl_rows_begin(&r, &x);
  wk_cl_split_fast(&x, 'i', 0, x.l.rank, x.l.dims, is_across ? fast : -1, "row");
  wk_cl_rows_fold(&r, &x, 0, is_across ? -1 : fast, false);
  wk_cl_add_launch(m->unit, &k);
  return true;
}
