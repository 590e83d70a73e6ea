/* SPDX-License-Identifier: Apache-2.0
 * Loops of a nest: its outer axes. What runs in them is printed by wk_inst_c_body. */
#include <string.h>

#include "compiler/cgen/inst_c_make.h"

/* It does in a nest what it does outside, at one position of the outer axes. */
static bool is_member(const wk_loops *m, const wk_inst *i, int outer) {
  wk_inst_c l;
  bool is_known = i->op == WK_OP_MAP || i->op == WK_OP_REDUCE || i->op == WK_OP_COPY ||
                  i->op == WK_OP_FILL;
  if (!is_known || !wk_inst_c_loops(i, m->a, &l) || l.rank < outer) return false;
  for (int d = 0; d < outer && d < l.inner_rank; d++)
    if (l.inner_dims[d] != 1) return false;
  return true;
}

bool wk_cgen_nest(const wk_loops *m) {
  int outer = (int)((const wk_attr_nest *)m->i->attrs)->outer;
  const wk_block *body = &m->i->bodies[0];
  if (body->insts.n == 0) return false;
  for (size_t k = 0; k < body->insts.n; k++)
    if (!is_member(m, body->insts.data[k], outer)) return false;
  m->out->rank = outer;
  memcpy(m->out->dims, body->insts.data[0]->operands[0].dims, (size_t)outer * sizeof(int64_t));
  return true;
}
