/* SPDX-License-Identifier: Apache-2.0
 * Matmul as tiles: constant b as panels, b of run time where its columns are neighbours. */
#include "targets/opencl/tile.h"

typedef struct {
  wk_cl_tile t;
  const wk_view *y, *a, *b;
  int rank; /* of y: leading axes are the batch */
} matmul;

static const wk_view *input(const wk_cl_making *m, uint32_t k) {
  return &m->inst->operands[m->inst->n_out + k];
}

/* Stride of v along axis d of y. */
static int64_t stride(const matmul *x, const wk_view *v, int d) {
  int own = d - (x->rank - v->rank);
  return own < 0 || v->dims[own] == 1 ? 0 : v->strides[own];
}

static bool describe(matmul *x, const wk_cl_making *m) {
  if (m->inst->op != WK_OP_MATMUL) return false; /* others may have no operands */
  x->y = &m->inst->operands[0];
  x->a = input(m, 0);
  x->b = input(m, 1);
  x->rank = x->y->rank;
  if (!wk_cl_tile_types(x->a->dtype, x->b->dtype)) return false;
  wk_cl_tile *t = &x->t;
  t->m = m;
  t->a = x->a->dtype;
  t->b = x->b->dtype;
  t->sum = wk_cl_tile_sum(t->a);
  t->batch = 1;
  for (int d = 0; d < x->rank - 2; d++) t->batch *= x->y->dims[d];
  t->m_rows = x->y->dims[x->rank - 2];
  t->columns = x->y->dims[x->rank - 1];
  t->taps = 1;
  t->depth = x->a->dims[x->a->rank - 1];
  t->a_step = x->a->strides[x->a->rank - 1];
  t->column_axis = x->rank - 1;
  t->b_row = x->b->strides[x->b->rank - 2];
  t->b_column = x->b->strides[x->b->rank - 1];
  t->a_run = wk_cl_neighbours(m->p, x->a, x->a->rank - 1);
  t->b_run = wk_cl_neighbours(m->p, x->b, x->b->rank - (t->b_column == 1 ? 1 : 2));
  return t->batch * t->m_rows * t->columns * t->depth > 0;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* The list goes over rows of all of the batch, which one b is for: they are one long matrix. */
static bool covers(const matmul *x, const wk_limit *l) {
  int last = wk_limit_last_axis(x->t.m->inst, l);
  for (int d = 0; d < x->rank - 1; d++)
    if ((d < l->axis || d > last) && x->y->dims[d] != 1) return false;
  for (int d = 0; d < x->rank - 2; d++)
    if (x->y->dims[d] > 1 && stride(x, x->b, d)) return false;
  return last < x->rank - 1;
}

/* A long of the kernel: the limit's size, between 0 and `most`. */
static const char *size_of(matmul *x, const wk_limit *l, const char *name, int64_t most) {
  uint32_t at = wk_cl_add_operand(x->t.k, x->t.m->p, &l->size);
  wk_str_printf(x->t.x.b, "const long %s = clamp(*(__global const long *)(g%u + o%u), 0l, "
                "%lldl);\n", name, at, at, (long long)most);
  return name;
}

static void add_limit(matmul *x, const wk_limit *l) {
  wk_cl_tile *t = &x->t;
  if (wk_limit_has_rows(l)) {
    if (!covers(x, l) || t->live_rows) return;
    t->batch = 1;
    t->m_rows = l->rows.dims[0];
    t->live_rows = size_of(x, l, "live_rows", t->m_rows);
    uint32_t at = wk_cl_add_operand(t->k, t->m->p, &l->rows);
    wk_str_printf(t->x.b, "__global const long *list = (__global const long *)(g%u + o%u);\n", at,
                  at);
    t->list = "list";
  } else if (l->axis == x->rank - 2 && !t->live_rows) {
    t->live_rows = size_of(x, l, "live_rows", t->m_rows);
  } else if (l->axis == x->rank - 1) {
    t->live_columns = size_of(x, l, "live_columns", t->columns);
  } else if (l->axis == x->rank) {
    t->live_depth = size_of(x, l, "live_depth", t->depth);
  }
}

/* Those that tiles go by; products that are only measured do all. */
static void add_limits(matmul *x) {
  const wk_inst *i = x->t.m->inst;
  for (uint32_t k = 0; k < i->n_limits && !x->t.m->unit->is_trial; k++)
    if (x->t.k->n_args + 2 < WK_CL_MAX_OPERANDS) add_limit(x, &i->limits[k]);
}

/* In another kernel of the instruction. */
static void repeat_limits(const void *ctx, wk_cl_tile *of) {
  matmul x = *(const matmul *)ctx;
  x.t = *of;
  add_limits(&x);
  *of = x.t;
}

/* Sum of z's position along the batch axes times the strides of v, as a C expression of z. */
static const char *batch_offset(const matmul *x, const wk_view *v) {
  const char *text = "0";
  int64_t run = 1;
  for (int d = x->rank - 3; d >= 0; d--) {
    int64_t dim = x->y->dims[d], s = stride(x, v, d);
    if (s && dim > 1)
      text = wk_arena_printf(x->t.m->a, "%s + z / %lld %% %lld * %lld", text, (long long)run,
                             (long long)dim, (long long)s);
    run *= dim;
  }
  return text;
}

/* From the first row of a to row number `row`, a name, in elements. A list's rows count through the
 * batch. */
static const char *row_offset(const matmul *x, const char *row) {
  const wk_cl_tile *t = &x->t;
  const char *text = "0";
  int64_t run = 1;
  if (!t->list)
    return wk_arena_printf(t->m->a, "%s * %lldl", row, (long long)x->a->strides[x->a->rank - 2]);
  for (int d = x->rank - 2; d >= 0; d--) {
    int64_t dim = x->y->dims[d], s = stride(x, x->a, d);
    if (s && dim > 1)
      text = wk_arena_printf(t->m->a, "%s + %s / %lld %% %lld * %lldl", text, row,
                             (long long)run, (long long)dim, (long long)s);
    run *= dim;
  }
  return text;
}

/* ---- constant b ------------------------------------------------------------------------------ */

static bool is_broadcast(const matmul *x) {
  for (int d = 0; d < x->rank - 2; d++)
    if (x->y->dims[d] > 1 && stride(x, x->b, d)) return false;
  return true;
}

static int64_t element_of_b(const void *ctx, int64_t batch, int64_t k, int64_t column) {
  const matmul *x = ctx;
  int64_t at = 0;
  for (int d = x->rank - 3; d >= 0; d--) {
    at += batch % x->y->dims[d] * stride(x, x->b, d);
    batch /= x->y->dims[d];
  }
  return at + k * x->b->strides[x->b->rank - 2] + column * x->b->strides[x->b->rank - 1];
}

static void add_packed(matmul *x) {
  const wk_cl_making *m = x->t.m;
  const char *data = (const char *)m->p->buffers.data[x->b->buffer].data + x->b->offset;
  uint64_t bytes;
  bool is_one = is_broadcast(x);
  const void *panels = wk_cl_tile_pack(&x->t, is_one ? 1 : x->t.batch, data, element_of_b, x,
                                       &bytes);
  uint32_t arg = wk_cl_add_bytes(x->t.k, panels, bytes);
  wk_str_printf(x->t.x.b, "__global const %s *w = (__global const %s *)(g%u + o%u) + ",
                wk_cl_tile_type(x->t.b), wk_cl_tile_type(x->t.b), arg, arg);
  if (!is_one)
    wk_str_printf(x->t.x.b, "z * %lld + ",
                  (long long)(wk_cl_tile_panels(&x->t) * wk_cl_tile_panel_depth(&x->t) *
                              x->t.b_row));
  wk_str_printf(x->t.x.b, "n0 * %lld;\n", (long long)wk_cl_tile_panel_depth(&x->t));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_rows(const matmul *x) {
  const wk_cl_tile *t = &x->t;
  const char *type = wk_cl_tile_type(t->a);
  wk_str_printf(t->x.b, "__global const %s *a = (__global const %s *)(%s) + %s;\n", type, type,
                t->x.base[1], t->list ? "0" : batch_offset(x, x->a));
  for (int r = 0; r < t->pointers; r++)
    wk_str_printf(t->x.b, "const long q%d = %s;\n__global const %s *p%d = a + %s;\n", r,
                  wk_cl_tile_row_of(t, r), type, r,
                  row_offset(x, wk_arena_printf(t->m->a, "q%d", r)));
}

static void add_run_time(matmul *x) {
  const char *type = wk_cl_tile_type(x->t.b);
  wk_str_printf(x->t.x.b, "__global const %s *w = (__global const %s *)(%s) + %s + n0 * %lldl;\n",
                type, type, x->t.x.base[2], batch_offset(x, x->b), (long long)x->t.b_column);
}

bool wk_cl_make_matmul(const wk_cl_making *m) {
  matmul x = {0};
  wk_cl_kernel k = {.what = "matmul", .node = m->inst->name};
  if (!describe(&x, m)) return false;
  bool is_packed = m->p->buffers.data[x.b->buffer].region == WK_REGION_CONST && !x.b->step;
  bool is_cpu = m->device->family == WK_CL_CPU;
  if (is_cpu && !is_packed && x.b->strides[x.b->rank - 1] != 1) return false;
  x.t.k = &k;
  x.t.limits = repeat_limits;
  x.t.limits_ctx = &x;
  x.t.b_readable = wk_cl_readable(m->p, x.b);
  if (!wk_cl_loops_open(&x.t.x, m->a, &k, m->p, m->inst, is_packed ? 2 : WK_NONE, is_cpu))
    return false;
  add_limits(&x);
  if (!wk_cl_tile_choose(&x.t, is_packed)) return false;
  wk_cl_tile_begin(&x.t);
  if (is_packed) add_packed(&x);
  else add_run_time(&x);
  add_rows(&x);
  wk_cl_tile_sums(&x.t);
  wk_cl_tile_products(&x.t, &(wk_cl_taps){0});
  wk_str position = {0};
  wk_str_printf(&position, "const long at = z * %lld + %s;\n", (long long)x.t.m_rows,
                wk_cl_tile_listed(&x.t, "m0 + row"));
  wk_cl_positions(&position, 'i', x.rank, x.y->dims, x.rank - 1, "at");
  wk_cl_tile_end(&x.t, position.s, "n0");
  bool ok = wk_cl_tile_launch(&x.t, position.s, "n0");
  wk_str_free(&position);
  return ok;
}
