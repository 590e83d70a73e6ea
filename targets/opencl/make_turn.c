/* SPDX-License-Identifier: Apache-2.0
 * Maps and copies on GPUs whose output lies along one axis and an input along another: a work-group
 * reads a square of the input as it lies, turns it in local memory, and writes it as the output
 * lies. */
#include <string.h>

#include "compiler/cgen/expr_c.h"
#include "targets/opencl/make.h"

enum {
  SIDE = 32,     /* of a square; its rows in local memory are one element longer */
  MOST = 256,    /* work items */
  LEAST = 8,     /* elements of each axis */
  FEW = 4096,    /* elements that are not worth it */
  MOST_TURNED = 2
};

typedef struct {
  const wk_cl_making *m;
  wk_cl_loops x;
  int from, to;                 /* axes: that inputs lie along; that the output lies along */
  int n, turned[MOST_TURNED];   /* reads of x.l.end_reads */
  int group;
} turn;

/* The axis of the input along which its neighbours are, if that is not the output's. */
static int other_axis(const turn *t, const wk_view *v) {
  int axis = wk_cl_fastest(v);
  bool is_other = v->rank == t->x.l.rank && axis != t->to && v->strides[axis] == 1 &&
                  v->dims[axis] >= LEAST && wk_cl_magnitude(v->strides[t->to]) > 1;
  return is_other ? axis : -1;
}

static bool describe(turn *t) {
  const wk_inst *i = t->x.inst;
  const wk_view *y = &i->operands[0];
  const wick_opencl_info *d = &t->m->device->info;
  if (*t->x.type != 'i' || t->x.l.rank < 2 || i->n_out != 1 ||
      wk_cl_product(t->x.l.rank, t->x.l.dims, -1) < FEW)
    return false;
  t->from = -1;
  t->to = wk_cl_fastest(y);
  if (y->strides[t->to] != 1 || y->dims[t->to] < LEAST) return false;
  for (size_t k = 0; k < t->x.l.n_end; k++) {
    int axis = other_axis(t, &i->operands[t->x.l.end_reads[k].operand]);
    if (axis < 0 || (t->n && axis != t->from)) continue;
    if (t->n == MOST_TURNED) return false;
    t->from = axis;
    t->turned[t->n++] = (int)k;
  }
  t->group = MOST;
  while (t->group > SIDE &&
         ((uint32_t)t->group > d->max_group || (uint32_t)t->group > d->max_items[0]))
    t->group /= 2;
  return t->n > 0 && (uint32_t)t->group <= d->max_group &&
         (uint64_t)t->n * SIDE * (SIDE + 1) * 8 <= d->local_memory;
}

/* The work-group's square begins at from0, to0; positions of the other axes. */
static void add_group(const turn *t, wk_cl_kernel *k) {
  wk_str *b = t->x.b;
  const int64_t *dims = t->x.l.dims;
  long long across = wk_ceil_div(dims[t->from], SIDE), down = wk_ceil_div(dims[t->to], SIDE);
  long long run = across * down;
  wk_str_printf(b, "const int lx = get_local_id(0) %% %d, ly = get_local_id(0) / %d;\n"
                "const uint g = get_group_id(0);\n", SIDE, SIDE);
  wk_str_printf(b, "const int from0 = g %% %lldu * %d, to0 = g / %lldu %% %lldu * %d;\n", across,
                SIDE, across, down, SIDE);
  for (int d = t->x.l.rank - 1; d >= 0; d--) {
    if (d == t->from || d == t->to) continue;
    wk_str_printf(b, "const int i%d = g / %lldu %% %lldu;\n", d, run, (long long)dims[d]);
    run *= dims[d];
  }
  k->local[0] = (uint32_t)t->group;
  k->global[0] = (uint64_t)(run * t->group);
}

/* Loops over the square, with the positions that the work item has in it. */
static void begin_square(const turn *t, const char *from, const char *to) {
  wk_str_printf(t->x.b, "WK_UNROLL for (int r = 0; r < %d; r += %d) {\n"
                "const int i%d = from0 + %s, i%d = to0 + %s;\nif (i%d < %lld && i%d < %lld) {\n",
                SIDE, t->group / SIDE, t->from, from, t->to, to, t->from,
                (long long)t->x.l.dims[t->from], t->to, (long long)t->x.l.dims[t->to]);
}

bool wk_cl_make_turn(const wk_cl_making *m) {
  wk_cl_kernel k = {.what = wk_op_get(m->inst->op)->name, .node = m->inst->name};
  turn t = {.m = m};
  if (m->device->family != WK_CL_GPU || !wk_cl_is_plain(m->inst) ||
      !wk_cl_loops_open(&t.x, m->a, &k, m->p, wk_cl_flat(m), WK_NONE, false) || !describe(&t))
    return false;
  wk_str *b = t.x.b;
  for (int n = 0; n < t.n; n++) {
    wk_dtype type = t.x.inst->operands[t.x.l.end_reads[t.turned[n]].operand].dtype;
    wk_str_printf(b, "__local %s square%d[%d];\n", wk_expr_c_type(type), n, SIDE * (SIDE + 1));
    k.local_bytes += (uint64_t)(SIDE * (SIDE + 1) * wk_dtype_size(type));
  }
  add_group(&t, &k);
  begin_square(&t, "lx", "ly + r");
  for (int n = 0; n < t.n; n++)
    wk_str_printf(b, "square%d[(ly + r) * %d + lx] = %s;\n", n, SIDE + 1,
                  wk_cl_element(&t.x, &t.x.l.end_reads[t.turned[n]]));
  wk_str_add(b, "}\n}\nbarrier(CLK_LOCAL_MEM_FENCE);\n");
  for (int n = 0; n < t.n; n++)
    t.x.instead[t.x.l.end_reads[t.turned[n]].operand] =
        wk_arena_printf(m->a, "square%d[lx * %d + ly + r]", n, SIDE + 1);
  begin_square(&t, "ly + r", "lx");
  wk_cl_end(&t.x, NULL);
  wk_str_add(b, "}\n}\n");
  wk_cl_add_launch(m->unit, &k);
  return true;
}
