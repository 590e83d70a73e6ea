/* SPDX-License-Identifier: Apache-2.0
 * Reductions on GPUs: a work-group folds what makes one output, its items every GROUP-th element
 * each, and joins their results in local memory. */
#include "compiler/cgen/expr_c.h"
#include "targets/opencl/make.h"

enum { GROUP = 64, FEW = 128 }; /* work items; elements that are too few (make_each.c) */

static void add_fold(const wk_cl_loops *x, int64_t elements) {
  const char *const acc[] = {"a0", NULL};
  wk_str_add(x->b, "const int item = get_local_id(0);\n");
  wk_cl_begin(x);
  wk_str_printf(x->b, "for (long k = item; k < %lld; k += %d) {\n", (long long)elements, GROUP);
  wk_cl_positions(x->b, 'k', x->l.inner_rank, x->l.inner_dims, -1, "k");
  wk_cl_step(x, acc);
  wk_str_add(x->b, "}\n");
}

static void add_join(const wk_cl_loops *x) {
  const char *const pair[] = {"part[item]", "part[item + gap]", NULL};
  wk_str_printf(x->b, "part[item] = a0;\nbarrier(CLK_LOCAL_MEM_FENCE);\n"
                "for (int gap = %d; gap; gap /= 2) {\nif (item < gap) {\n", GROUP / 2);
  wk_cl_join(x, pair);
  wk_str_add(x->b, "}\nbarrier(CLK_LOCAL_MEM_FENCE);\n}\nif (item == 0) {\n");
  wk_cl_end(x, (const char *const[]){"part[0]", NULL});
  wk_str_add(x->b, "}\n");
}

bool wk_cl_make_reduce(const wk_cl_making *m) {
  wk_cl_kernel k = {.what = "reduce", .node = m->inst->name};
  wk_cl_loops x;
  if (m->device->family != WK_CL_GPU || m->inst->op != WK_OP_REDUCE ||
      m->device->info.max_group < GROUP ||
      !wk_cl_loops_open(&x, m->a, &k, m->p, m->inst, WK_NONE, false))
    return false;
  int64_t elements = wk_cl_product(x.l.inner_rank, x.l.inner_dims, -1);
  int64_t outputs = wk_cl_product(x.l.rank, x.l.dims, -1);
  if (!wk_cl_is_joinable(&x) || elements < FEW || outputs == 0) return false;
  const char *type = wk_expr_c_type(x.l.begin->nodes[x.l.begin->results[0]].dtype);
  k.local[0] = GROUP;
  k.global[0] = (uint64_t)outputs * GROUP;
  k.local_bytes = GROUP * 8;
  wk_str_printf(x.b, "__local %s part[%d];\nconst long t = get_group_id(0);\n", type, GROUP);
  wk_cl_positions(x.b, 'i', x.l.rank, x.l.dims, -1, "t");
  add_fold(&x, elements);
  add_join(&x);
  wk_cl_add_launch(m->unit, &k);
  return true;
}
