/* SPDX-License-Identifier: Apache-2.0
 * Nests: on CPUs a work item computes one position of the outer axes, or a few, its scratch is
 * memory of its own; GPUs are in nest_gpu.c. */
#include <string.h>

#include "compiler/cgen/expr_c.h"
#include "targets/opencl/nest.h"

enum { ITEM = 2048 }; /* elements of a work item, at least */

static const wk_view *first_view(const wk_inst *nest) {
  return &nest->bodies[0].insts.data[0]->operands[0];
}

/* Arrays for the scratch of the bodies, of the type of who mentions it first. */
static void declare_scratch(const wk_cl_making *m, wk_cl_kernel *k) {
  bool *seen = wk_arena_alloc(m->a, m->p->buffers.n * sizeof *seen);
  const wk_block *body = &m->inst->bodies[0];
  for (size_t j = 0; j < body->insts.n; j++)
    for (uint32_t o = 0; o < body->insts.data[j]->n_operands; o++) {
      const wk_view *v = &body->insts.data[j]->operands[o];
      if (v->buffer == WK_NONE || seen[v->buffer] ||
          m->p->buffers.data[v->buffer].region != WK_REGION_SCRATCH)
        continue;
      seen[v->buffer] = true;
      int64_t size = wk_dtype_size(v->dtype);
      wk_str_printf(&k->body, "%s t%u[%lld];\n", wk_expr_c_type(v->dtype), v->buffer,
                    (long long)wk_ceil_div(m->p->buffers.data[v->buffer].size, size));
    }
}

/* One instruction of the body, its outer positions being defined. */
static bool add_body(const wk_cl_making *m, wk_cl_kernel *k, const wk_inst *i, int outer) {
  wk_cl_loops x;
  if (!wk_cl_loops_open(&x, m->a, k, m->p, i, WK_NONE, true)) return false;
  if (x.l.rank == 0) x.l.rank = 1, x.l.dims[0] = 1;
  int axis = wk_cl_fastest(&i->operands[0]), loops = 0;
  if (axis < outer) axis = x.l.rank - 1;
  wk_str_add(x.b, "{\n");
  for (int d = outer; d < x.l.rank; d++) {
    if (d == axis) continue;
    if (x.l.dims[d] == 1) wk_str_printf(x.b, "const long i%d = 0;\n", d);
    else
      wk_str_printf(x.b, "for (long i%d = 0; i%d < %lld; i%d++) {\n", d, d, (long long)x.l.dims[d],
                    d),
          loops++;
  }
  if (x.l.rank > outer) {
    wk_cl_run(&x, axis, "0", wk_arena_printf(m->a, "%lld", (long long)x.l.dims[axis]));
  } else { /* one element: the position is the work item's */
    wk_str_printf(x.b, "const long here = i%d;\n", axis);
    wk_cl_run(&x, axis, "here", "here + 1");
  }
  for (int d = 0; d < loops; d++) wk_str_add(x.b, "}\n");
  wk_str_add(x.b, "}\n");
  return true;
}

bool wk_cl_make_nest(const wk_cl_making *m) {
  if (m->inst->op != WK_OP_NEST) return false;
  if (m->device->family == WK_CL_GPU) return wk_cl_nest_gpu(m);
  wk_cl_kernel k = {.what = "nest", .node = m->inst->name};
  const wk_view *y = first_view(m->inst);
  int outer = (int)((const wk_attr_nest *)m->inst->attrs)->outer;
  int64_t rows = 1, each = 1;
  for (int d = 0; d < y->rank; d++) *(d < outer ? &rows : &each) *= y->dims[d];
  int64_t some = ITEM / (each ? each : 1);
  some = some < 1 ? 1 : some > rows ? rows : some;
  k.global[0] = (uint64_t)wk_ceil_div(rows, some);
  wk_str_printf(&k.body, "const long t = get_global_id(0);\nconst long end = min(t * %lld + %lld, "
                "(long)%lld);\n", (long long)some, (long long)some, (long long)rows);
  declare_scratch(m, &k);
  wk_str_printf(&k.body, "for (long row = t * %lld; row < end; row++) {\n", (long long)some);
  wk_cl_positions(&k.body, 'i', outer, y->dims, -1, "row");
  const wk_block *body = &m->inst->bodies[0];
  bool ok = true;
  for (size_t j = 0; j < body->insts.n && ok; j++)
    ok = add_body(m, &k, body->insts.data[j], outer);
  wk_str_add(&k.body, "}\n");
  if (ok) wk_cl_add_launch(m->unit, &k);
  else wk_str_free(&k.body);
  return ok;
}
