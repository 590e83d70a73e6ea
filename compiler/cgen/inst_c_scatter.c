/* SPDX-License-Identifier: Apache-2.0
 * Loops of what writes by index. Equal indices combine in the order of the updates, as the
 * evaluator combines them, and work items need not wait for each other:
 *
 *   few updates   each element of the output goes through the updates that may hit it;
 *   many updates  each line of the output, which is all that updates of one place in their slices
 *                 can hit, is copied and then updated in memory.
 *
 * The first has as many work items as there are elements but looks at elements times updates; the
 * second looks at each once. */
#include <string.h>

#include "compiler/cgen/inst_c_make.h"

#define FEW_LOOKS (INT64_C(1) << 22)

/* Where the elements are that are read and written. `line` positions of the output come before
 * `updates` ones of the updates along k0 where lines are gone through. */
typedef struct {
  const wk_loops *m;
  const char *reduction;
  int64_t line, updates;
  wk_inst_c_read data, there, update; /* in lines: what the output has been given there */
} scatter;

static bool by_lines(const wk_loops *m, int64_t updates) {
  int64_t looks, elements = 1;
  for (int d = 0; d < m->out->rank; d++) elements *= m->out->dims[d];
  return !wk_mul_ok(elements, updates, &looks) || looks > FEW_LOOKS;
}

static uint16_t combined(wk_expr_builder *b, wk_expr_op op, uint16_t x, uint16_t update) {
  wk_dtype t = wk_expr_dtype(b, x), wide = wk_compute_dtype(t);
  uint16_t y = wk_expr_2(b, op, wk_expr_cast(b, wide, x), wk_expr_cast(b, wide, update));
  return wk_expr_cast(b, t, y);
}

/* What an update makes of x. */
static uint16_t met(wk_expr_builder *b, const char *reduction, uint16_t x, uint16_t update) {
  static const struct {
    const char *name;
    wk_expr_op op;
  } rows[] = {{"add", WK_EX_ADD}, {"mul", WK_EX_MUL}, {"min", WK_EX_MIN}, {"max", WK_EX_MAX}};
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    if (!strcmp(rows[k].name, reduction)) return combined(b, rows[k].op, x, update);
  return update;
}

/* From the element of data through the updates that count. */
static bool each_element(const scatter *s) {
  wk_inst_c *y = s->m->out;
  wk_dtype t = wk_cgen_input(s->m, 0)->dtype;
  y->begin = y->end = wk_expr_identity(s->m->a, t);
  y->begin_reads = wk_cgen_reads(s->m, 1);
  y->begin_reads[0] = wk_cgen_read(s->m, 0);
  y->step_reads = wk_cgen_reads(s->m, 1);
  y->step_reads[0] = s->update;
  y->n_begin = y->n_step = 1;
  wk_expr_builder *b = wk_expr_begin(s->m->a);
  uint16_t x = wk_expr_input(b, 0, t), update = wk_expr_input(b, 1, t);
  y->step = wk_expr_done(b, met(b, s->reduction, x, update));
  return true;
}

/* Copies along k0 up to `line`, then updates. */
static bool each_line(const scatter *s) {
  wk_inst_c *y = s->m->out;
  wk_dtype t = wk_cgen_input(s->m, 0)->dtype;
  const char *is_copy = wk_arena_printf(s->m->a, "k0 < %lld", (long long)s->line);
  const char *is_update = wk_arena_printf(s->m->a, "k0 >= %lld", (long long)s->line);
  y->inner_rank = 1;
  y->inner_dims[0] = s->line + s->updates;
  y->index[0] = wk_inst_c_k[0];
  y->stores = "1";
  y->begin = wk_cgen_neutral(s->m, "sum", t);
  y->end = wk_expr_identity(s->m->a, t);
  y->step_reads = wk_cgen_reads(s->m, 3);
  y->step_reads[0] = s->data;
  y->step_reads[1] = s->there;
  y->step_reads[2] = s->update;
  y->n_step = 3;
  y->step_reads[0].inside = is_copy;
  y->step_reads[1].inside = y->step_reads[2].inside = is_update;
  wk_expr_builder *b = wk_expr_begin(s->m->a);
  uint16_t first = wk_expr_i(b, WK_I64, s->line);
  uint16_t copies = wk_expr_2(b, WK_EX_LT, wk_expr_index(b, 0), first);
  uint16_t update = met(b, s->reduction, wk_expr_input(b, 2, t), wk_expr_input(b, 3, t));
  y->step = wk_expr_done(b, wk_expr_3(b, WK_EX_SELECT, copies, wk_expr_input(b, 1, t), update));
  return true;
}

/* ---- scatter_elements ------------------------------------------------------------------------ */

/* Indices may end before data does: the condition under which they have i off the axis; NULL:
 * always. */
static const char *has_indices(const wk_loops *m, int axis) {
  const wk_view *indices = wk_cgen_input(m, 1), *data = wk_cgen_input(m, 0);
  const char *has = NULL;
  for (int d = 0; d < data->rank; d++)
    if (d != axis && indices->dims[d] != data->dims[d])
      has = wk_arena_printf(m->a, "%s%si%d < %lld", has ? has : "", has ? " && " : "", d,
                            (long long)indices->dims[d]);
  return has;
}

static const char *both(const wk_loops *m, const char *x, const char *y) {
  return x ? wk_arena_printf(m->a, "%s && %s", x, y) : y;
}

static bool elements_by_lines(scatter *s, int axis, const char *has) {
  wk_inst_c *y = s->m->out;
  wk_inst_c_read at = wk_cgen_read(s->m, 1);
  const char *k = wk_arena_printf(s->m->a, "k0 - %lld", (long long)s->line);
  const char *is_update = wk_arena_printf(s->m->a, "k0 >= %lld", (long long)s->line);
  s->there = s->data;
  s->there.operand = 0;
  s->data.at[axis] = wk_inst_c_k[0];
  s->there.at[axis] = wk_inst_c_p[0];
  at.at[axis] = s->update.at[axis] = k;
  at.inside = both(s->m, has, is_update);
  *wk_cgen_positions(s->m, 1) = (wk_inst_c_position){at, s->line};
  y->at[axis] = wk_arena_printf(s->m->a, "(k0 < %lld ? k0 : p0)", (long long)s->line);
  y->dims[axis] = 1;
  if (has) y->counts = wk_arena_printf(s->m->a, "k0 < %lld || (%s)", (long long)s->line, has);
  bool is_made = each_line(s);
  if (has) y->stores = y->counts;
  return is_made;
}

bool wk_cgen_scatter_elements(const wk_loops *m) {
  const wk_attr_scatter_elements *e = m->i->attrs;
  const wk_view *indices = wk_cgen_input(m, 1);
  int axis = (int)e->axis;
  const char *has = has_indices(m, axis);
  scatter s = {m, e->reduction, m->out->dims[axis], indices->dims[axis], wk_cgen_read(m, 0),
               {0}, wk_cgen_read(m, 2)};
  if (by_lines(m, s.updates)) return elements_by_lines(&s, axis, has);
  wk_inst_c_read at = wk_cgen_read(m, 1);
  m->out->inner_rank = m->out->rank;
  for (int d = 0; d < m->out->rank; d++) m->out->inner_dims[d] = d == axis ? s.updates : 1;
  at.at[axis] = s.update.at[axis] = wk_inst_c_k[axis];
  at.inside = has;
  *wk_cgen_positions(m, 1) = (wk_inst_c_position){at, m->out->dims[axis]};
  m->out->counts = both(m, has, wk_arena_printf(m->a, "p0 == i%d", axis));
  return each_element(&s);
}

/* ---- scatter_nd ------------------------------------------------------------------------------ */

/* Positions along the first `rank` of `dims` that a count through all of them gives. */
static int64_t counted(const wk_loops *m, const char *count, int rank, const int64_t *dims,
                       const char **at) {
  int64_t n = 1;
  for (int d = rank - 1; d >= 0; d--) {
    at[d] = wk_arena_printf(m->a, "(%s) / %lld %% %lld", count, (long long)n,
                            (long long)(dims[d] ? dims[d] : 1));
    n *= dims[d];
  }
  return n;
}

static bool slices_by_lines(scatter *s, int rows, int depth) {
  const wk_loops *m = s->m;
  const wk_view *indices = wk_cgen_input(m, 1);
  const char *row[WK_MAX_RANK] = {NULL};
  s->there = s->data;
  s->there.operand = 0;
  s->line = counted(m, wk_inst_c_k[0], depth, m->out->dims, s->data.at);
  const char *k = wk_arena_printf(m->a, "k0 - %lld", (long long)s->line);
  s->updates = counted(m, k, rows, indices->dims, row);
  memcpy(s->update.at, row, (size_t)rows * sizeof *row);
  wk_cgen_coordinates(m, 0, row);
  for (int d = 0; d < depth; d++) {
    m->out->positions[d].read.inside = wk_arena_printf(m->a, "k0 >= %lld", (long long)s->line);
    s->there.at[d] = wk_inst_c_p[d];
    m->out->at[d] = wk_arena_printf(m->a, "(k0 < %lld ? %s : p%d)", (long long)s->line,
                                    s->data.at[d], d);
    m->out->dims[d] = 1;
  }
  return each_line(s);
}

bool wk_cgen_scatter_nd(const wk_loops *m) {
  const wk_view *indices = wk_cgen_input(m, 1), *updates = wk_cgen_input(m, 2);
  int rows = indices->rank - 1, depth = (int)indices->dims[rows];
  scatter s = {.m = m, .reduction = ((const wk_attr_scatter_nd *)m->i->attrs)->reduction,
               .data = wk_cgen_read(m, 0), .update = {.operand = m->i->n_out + 2}};
  for (int d = 0; d < updates->rank; d++)
    s.update.at[d] = d < rows ? wk_inst_c_k[d] : wk_inst_c_i[d - rows + depth];
  s.updates = 1;
  for (int d = 0; d < rows; d++) s.updates *= indices->dims[d];
  if (by_lines(m, s.updates)) return slices_by_lines(&s, rows, depth);
  wk_cgen_coordinates(m, 0, wk_inst_c_k);
  m->out->inner_rank = rows;
  memcpy(m->out->inner_dims, indices->dims, (size_t)rows * sizeof *indices->dims);
  for (int d = 0; d < depth; d++)
    m->out->counts = both(m, m->out->counts, wk_arena_printf(m->a, "p%d == i%d", d, d));
  return each_element(&s);
}
