/* SPDX-License-Identifier: Apache-2.0
 * Loops of what reads by index. */
#include <string.h>

#include "compiler/cgen/inst_c_make.h"

static const char *const digits[WK_MAX_RANK] = {"0", "1", "2", "3", "4", "5", "6", "7"};

wk_inst_c_position *wk_cgen_positions(const wk_loops *m, int64_t n) {
  wk_inst_c_position *p = wk_arena_alloc(m->a, (size_t)n * sizeof *p);
  m->out->positions = p;
  m->out->n_positions = (size_t)n;
  return p;
}

/* Ends with the element of data that is read. */
static wk_inst_c_read *end_with_data(const wk_loops *m) {
  m->out->end = wk_expr_identity(m->a, wk_cgen_input(m, 0)->dtype);
  m->out->n_end = 1;
  m->out->end_reads = wk_cgen_reads(m, 1);
  m->out->end_reads->operand = m->i->n_out;
  return m->out->end_reads;
}

/* ---- gather ---------------------------------------------------------------------------------- */

bool wk_cgen_gather(const wk_loops *m) {
  int axis = (int)((const wk_attr_gather *)m->i->attrs)->axis;
  const wk_view *data = wk_cgen_input(m, 0), *indices = wk_cgen_input(m, 1);
  wk_inst_c_position *p = wk_cgen_positions(m, 1);
  *p = (wk_inst_c_position){{.operand = m->i->n_out + 1}, data->dims[axis]};
  for (int d = 0; d < indices->rank; d++) p->read.at[d] = wk_inst_c_i[axis + d];
  wk_inst_c_read *x = end_with_data(m);
  for (int d = 0; d < data->rank; d++)
    x->at[d] = d < axis   ? wk_inst_c_i[d]
               : d > axis ? wk_inst_c_i[d + indices->rank - 1]
                          : wk_inst_c_p[0];
  return true;
}

bool wk_cgen_gather_elements(const wk_loops *m) {
  int axis = (int)((const wk_attr_gather_elements *)m->i->attrs)->axis;
  *wk_cgen_positions(m, 1) =
      (wk_inst_c_position){wk_cgen_read(m, 1), wk_cgen_input(m, 0)->dims[axis]};
  wk_inst_c_read *x = end_with_data(m);
  memcpy(x->at, wk_inst_c_i, sizeof x->at);
  x->at[axis] = wk_inst_c_p[0];
  return true;
}

int wk_cgen_coordinates(const wk_loops *m, int first, const char *const *row) {
  const wk_view *data = wk_cgen_input(m, 0), *indices = wk_cgen_input(m, 1);
  int last = indices->rank - 1, depth = (int)indices->dims[last];
  wk_inst_c_position *p = wk_cgen_positions(m, depth);
  for (int d = 0; d < depth; d++) {
    p[d] = (wk_inst_c_position){{.operand = m->i->n_out + 1}, data->dims[first + d]};
    memcpy(p[d].read.at, row, (size_t)last * sizeof *row);
    p[d].read.at[last] = digits[d];
  }
  return depth;
}

bool wk_cgen_gather_nd(const wk_loops *m) {
  int batch = (int)((const wk_attr_gather_nd *)m->i->attrs)->batch_dims;
  int rows = wk_cgen_input(m, 1)->rank - 1, depth = wk_cgen_coordinates(m, batch, wk_inst_c_i);
  wk_inst_c_read *x = end_with_data(m);
  for (int d = 0; d < wk_cgen_input(m, 0)->rank; d++)
    x->at[d] = d < batch           ? wk_inst_c_i[d]
               : d < batch + depth ? wk_inst_c_p[d - batch]
                                   : wk_inst_c_i[rows + d - batch - depth];
  return true;
}
