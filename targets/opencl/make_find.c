/* SPDX-License-Identifier: Apache-2.0
 * argmax and argmin on GPUs: each work item of a row looks through a piece of it, and what they
 * find is compared in the order of the pieces, so that of equal elements the same one is found as
 * by going through the row. */
#include <string.h>

#include "compiler/cgen/expr_c.h"
#include "targets/opencl/rows.h"

enum { FEW = 64, LEFT = 16 }; /* elements of one work item; work items of the last comparison */

typedef struct {
  const wk_cl_making *m;
  wk_cl_loops x;
  wk_cl_rows rows;
  int axis;         /* that is folded */
  int64_t elements; /* along it */
} find;

static bool describe(find *f, wk_cl_kernel *k) {
  const wk_inst *i = f->m->inst;
  const wk_attr_reduce *r = i->attrs;
  if (f->m->device->family != WK_CL_GPU || i->op != WK_OP_REDUCE || !wk_fold_is_arg(r->kind) ||
      r->pre || !wk_cl_loops_open(&f->x, f->m->a, k, f->m->p, i, WK_NONE, false))
    return false;
  f->axis = (int)r->axes.v[0];
  f->elements = wk_cl_product(f->x.l.inner_rank, f->x.l.inner_dims, -1);
  int64_t outputs = wk_cl_product(f->x.l.rank, f->x.l.dims, -1);
  if (f->elements < FEW || outputs == 0 || f->x.l.n_step != 1) return false;
  bool is_across = wk_cl_fastest(&i->operands[i->n_out]) != f->axis;
  f->rows = wk_cl_rows_for(f->m->device, outputs, f->elements, is_across);
  return f->rows.items > 1;
}

/* What work item number `item` of the row has found. */
static const char *slot(const find *f, const char *name, const char *item) {
  return f->rows.is_across
             ? wk_arena_printf(f->m->a, "%s[(%s) * %d + sub]", name, item, f->rows.rows)
             : wk_arena_printf(f->m->a, "%s[sub * %d + %s]", name, f->rows.items, item);
}

/* The last group may have fewer rows. */
static bool has_rest(const find *f) { return f->rows.count % f->rows.rows != 0; }

static void add_piece(const find *f) {
  wk_str *b = f->x.b;
  const char *flat = wk_cl_flat_type(&f->x), *const acc[] = {"a0", "a1", NULL};
  long long piece = wk_ceil_div(f->elements, f->rows.items), n = f->elements;
  wk_cl_begin(&f->x);
  wk_str_printf(b, "const %s end = min((item + 1) * (%s)%lld, (%s)%lld);\n", flat, flat, piece,
                flat, n);
  wk_str_printf(b, "%sfor (%s e = item * (%s)%lld; e < end; e++) {\n",
                has_rest(f) ? "if (live)\n" : "", flat, flat, piece);
  wk_cl_split(&f->x, 'k', 0, f->x.l.inner_rank, f->x.l.inner_dims, -1, "e");
  wk_cl_step(&f->x, acc);
  wk_str_add(b, "}\n");
  wk_str_add(b, "values[local_id] = a0;\nplaces[local_id] = a1;\nbarrier(CLK_LOCAL_MEM_FENCE);\n");
}

/* a0 and a1 become what `count` slots have, from `first` on, `step` apart, in their order. */
static void compare(const find *f, const char *first, int step, int count) {
  wk_str *b = f->x.b;
  const char *index[WK_MAX_RANK], *const acc[] = {"a0", "a1", NULL};
  const char *at = wk_arena_printf(f->m->a, "%s + j * %d", first, step);
  memcpy(index, f->x.l.index, sizeof index);
  index[f->axis] = "place";
  wk_str_printf(b, "a0 = %s;\na1 = %s;\n", slot(f, "values", first), slot(f, "places", first));
  wk_str_printf(b, "for (int j = 1; j < %d; j++) {\nconst wk_i64 place = %s;\nif (place >= 0) {\n",
                count, slot(f, "places", at));
  wk_cl_step_with(&f->x, acc, slot(f, "values", at), index);
  wk_str_add(b, "}\n}\n");
}

bool wk_cl_make_find(const wk_cl_making *m) {
  wk_cl_kernel k = {.what = "find", .node = m->inst->name};
  find f = {.m = m};
  if (!describe(&f, &k)) return false;
  wk_str *b = f.x.b;
  int n = f.rows.items * f.rows.rows, left = f.rows.items < LEFT ? f.rows.items : LEFT;
  wk_str_printf(b, "__local %s values[%d];\n__local wk_i64 places[%d];\n",
                wk_expr_c_type(f.x.l.begin->nodes[f.x.l.begin->results[0]].dtype), n, n);
  k.local_bytes = (uint64_t)n * 16;
  wk_cl_rows_begin(&f.rows, &f.x);
  wk_cl_split_fast(&f.x, 'i', 0, f.x.l.rank, f.x.l.dims,
                   f.rows.is_across ? wk_cl_fastest(&m->inst->operands[m->inst->n_out]) : -1,
                   "row");
  const char *is_live = has_rest(&f) ? " && live" : "";
  add_piece(&f);
  int each = f.rows.items / left;
  if (each > 1) {
    const char *first = wk_arena_printf(m->a, "item * %d", each);
    wk_str_printf(b, "if (item < %d) {\n", left);
    compare(&f, first, 1, each);
    wk_str_printf(b, "%s = a0;\n%s = a1;\n}\nbarrier(CLK_LOCAL_MEM_FENCE);\n",
                  slot(&f, "values", first), slot(&f, "places", first));
  }
  wk_str_printf(b, "if (item == 0%s) {\n", is_live);
  compare(&f, "0", each, left);
  wk_cl_end(&f.x, (const char *const[]){"a0", "a1", NULL});
  wk_str_add(b, "}\n");
  wk_cl_add_launch(m->unit, &k);
  return true;
}
