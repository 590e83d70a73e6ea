/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/expr/expr_ops.h"

#include "compiler/expr/quant.h"

/* An argument as a literal or as input i. */
static uint16_t argument(wk_expr_builder *b, const wk_expr *x, const wk_expr_node *n, int i) {
  const wk_expr_node *of = &x->nodes[n->arg[i]];
  if (of->op == WK_EX_CONST) return wk_expr_i(b, of->dtype, of->imm.i);
  return wk_expr_input(b, i, of->dtype);
}

const wk_expr *wk_expr_rescale_plan(wk_arena *a, const wk_expr *x, uint32_t k) {
  wk_expr_builder *b = wk_expr_begin(a);
  const wk_expr_node *n = &x->nodes[k];
  uint16_t v = argument(b, x, n, 0), m = argument(b, x, n, 1), s = argument(b, x, n, 2);
  v = wk_expr_rescale_steps(b, v, m, s);
  return wk_expr_finish(b, &v, 1);
}
