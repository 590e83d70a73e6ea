/* SPDX-License-Identifier: Apache-2.0
 * Loops of what reads and writes by index. A scatter is one pass per element of the output, over
 * the updates that may hit it, in their order: work items need not wait for each other, and equal
 * indices combine as the evaluator combines them. It costs elements times updates, and where that
 * is too much the node is refused. */
#include <string.h>

#include "compiler/ir/inst_c_make.h"

#define SCATTER_LIMIT (INT64_C(1) << 30) /* looks at updates */

static const char *const digits[WK_MAX_RANK] = {"0", "1", "2", "3", "4", "5", "6", "7"};

static wk_inst_c_position *positions(const wk_loops *m, int64_t n) {
  wk_inst_c_position *p = wk_arena_alloc(m->a, (size_t)(n + 1) * sizeof *p);
  m->out->positions = p;
  m->out->n_positions = (size_t)n;
  return p;
}

/* Ends with the element of data that is read. */
static wk_inst_c_read *end_with_data(const wk_loops *m) {
  m->out->end = wk_expr_identity(m->a, wk_loops_input(m, 0)->dtype);
  m->out->n_end = 1;
  m->out->end_reads = wk_loops_reads(m, 1);
  m->out->end_reads->operand = m->i->n_out;
  return m->out->end_reads;
}

/* ---- gather ---------------------------------------------------------------------------------- */

bool wk_loops_gather(const wk_loops *m) {
  int axis = (int)((const wk_attr_gather *)m->i->attrs)->axis;
  const wk_view *data = wk_loops_input(m, 0), *indices = wk_loops_input(m, 1);
  wk_inst_c_position *p = positions(m, 1);
  *p = (wk_inst_c_position){{.operand = m->i->n_out + 1}, data->dims[axis]};
  for (int d = 0; d < indices->rank; d++) p->read.at[d] = wk_inst_c_i[axis + d];
  wk_inst_c_read *x = end_with_data(m);
  for (int d = 0; d < data->rank; d++)
    x->at[d] = d < axis   ? wk_inst_c_i[d]
               : d > axis ? wk_inst_c_i[d + indices->rank - 1]
                          : wk_inst_c_p[0];
  return true;
}

bool wk_loops_gather_elements(const wk_loops *m) {
  int axis = (int)((const wk_attr_gather_elements *)m->i->attrs)->axis;
  *positions(m, 1) =
      (wk_inst_c_position){wk_loops_read(m, 1), wk_loops_input(m, 0)->dims[axis]};
  wk_inst_c_read *x = end_with_data(m);
  memcpy(x->at, wk_inst_c_i, sizeof x->at);
  x->at[axis] = wk_inst_c_p[0];
  return true;
}

/* The coordinates that lie along the last axis of indices at `row`, as positions along the axes of
 * data from `first` on; returns how many. */
static int coordinates(const wk_loops *m, int first, const char *const *row) {
  const wk_view *data = wk_loops_input(m, 0), *indices = wk_loops_input(m, 1);
  int last = indices->rank - 1, depth = (int)indices->dims[last];
  wk_inst_c_position *p = positions(m, depth);
  for (int d = 0; d < depth; d++) {
    p[d] = (wk_inst_c_position){{.operand = m->i->n_out + 1}, data->dims[first + d]};
    memcpy(p[d].read.at, row, (size_t)last * sizeof *row);
    p[d].read.at[last] = digits[d];
  }
  return depth;
}

bool wk_loops_gather_nd(const wk_loops *m) {
  int batch = (int)((const wk_attr_gather_nd *)m->i->attrs)->batch_dims;
  int rows = wk_loops_input(m, 1)->rank - 1, depth = coordinates(m, batch, wk_inst_c_i);
  wk_inst_c_read *x = end_with_data(m);
  for (int d = 0; d < wk_loops_input(m, 0)->rank; d++)
    x->at[d] = d < batch           ? wk_inst_c_i[d]
               : d < batch + depth ? wk_inst_c_p[d - batch]
                                   : wk_inst_c_i[rows + d - batch - depth];
  return true;
}

/* ---- scatter --------------------------------------------------------------------------------- */

/* From the element of data through the updates that count, which `update` reads. */
static bool scatter(const wk_loops *m, const char *reduction, wk_inst_c_read update) {
  static const struct {
    const char *name;
    wk_expr_op op;
  } rows[] = {{"add", WK_EX_ADD}, {"mul", WK_EX_MUL}, {"min", WK_EX_MIN}, {"max", WK_EX_MAX}};
  wk_dtype t = wk_loops_input(m, 0)->dtype;
  wk_inst_c *y = m->out;
  y->begin = y->end = wk_expr_identity(m->a, t);
  y->begin_reads = wk_loops_reads(m, 1);
  y->begin_reads[0] = wk_loops_read(m, 0);
  y->step_reads = wk_loops_reads(m, 1);
  y->step_reads[0] = update;
  y->n_begin = y->n_step = 1;
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t x = wk_expr_input(b, 0, t), v = wk_expr_input(b, 1, t), met = v;
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    if (!strcmp(rows[k].name, reduction)) met = wk_expr_2(b, rows[k].op, x, v);
  y->step = wk_expr_done(b, met);
  return true;
}

/* Only updates of the same line hit an element; indices may end before data does. */
bool wk_loops_scatter_elements(const wk_loops *m) {
  const wk_attr_scatter_elements *s = m->i->attrs;
  const wk_view *indices = wk_loops_input(m, 1);
  int axis = (int)s->axis;
  wk_inst_c_read at = wk_loops_read(m, 1), update = wk_loops_read(m, 2);
  const char *inside = NULL;
  m->out->inner_rank = m->out->rank;
  for (int d = 0; d < m->out->rank; d++) {
    m->out->inner_dims[d] = d == axis ? indices->dims[d] : 1;
    if (d == axis || indices->dims[d] == m->out->dims[d]) continue;
    inside = wk_arena_printf(m->a, "%s%si%d < %lld", inside ? inside : "", inside ? " && " : "", d,
                             (long long)indices->dims[d]);
  }
  at.at[axis] = update.at[axis] = wk_inst_c_k[axis];
  at.inside = inside;
  *positions(m, 1) = (wk_inst_c_position){at, m->out->dims[axis]};
  m->out->counts = wk_arena_printf(m->a, "%s%sp0 == i%d", inside ? inside : "",
                                   inside ? " && " : "", axis);
  return scatter(m, s->reduction, update);
}

bool wk_loops_scatter_nd(const wk_loops *m) {
  const wk_view *indices = wk_loops_input(m, 1);
  int rows = indices->rank - 1, depth = coordinates(m, 0, wk_inst_c_k);
  wk_inst_c_read update = {.operand = m->i->n_out + 2};
  m->out->inner_rank = rows;
  memcpy(m->out->inner_dims, indices->dims, (size_t)rows * sizeof *indices->dims);
  for (int d = 0; d < depth; d++)
    m->out->counts = wk_arena_printf(m->a, "%s%sp%d == i%d", d ? m->out->counts : "",
                                     d ? " && " : "", d, d);
  for (int d = 0; d < wk_loops_input(m, 2)->rank; d++)
    update.at[d] = d < rows ? wk_inst_c_k[d] : wk_inst_c_i[d - rows + depth];
  return scatter(m, ((const wk_attr_scatter_nd *)m->i->attrs)->reduction, update);
}

static const char *refuse(int64_t elements, int64_t updates) {
  int64_t looks;
  bool is_fine = wk_mul_ok(elements, updates, &looks) && looks <= SCATTER_LIMIT;
  return is_fine ? NULL : "each of many elements would look at each of many updates";
}

const char *wk_loops_refuse_scatter_elements(const wk_graph *g, const wk_node *n) {
  const wk_attr_scatter_elements *s = n->attrs;
  return refuse(wk_type_count(&wk_val(g, n->in[0])->type),
                wk_val(g, n->in[1])->type.dims[s->axis]);
}

const char *wk_loops_refuse_scatter_nd(const wk_graph *g, const wk_node *n) {
  return refuse(wk_type_count(&wk_val(g, n->in[0])->type),
                wk_type_count(&wk_val(g, n->in[1])->type));
}
