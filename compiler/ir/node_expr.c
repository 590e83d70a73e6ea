/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/ir/node_expr.h"

#include <string.h>

#include "compiler/ir/graph.h"

bool wk_attr_number(const void *source, const char *name, size_t n, double *value) {
  const wk_attr_source *s = source;
  const wk_field *f = wk_op_field(wk_op_get(s->op), name, n);
  if (!f) return false;
  const char *at = (const char *)s->attrs + f->offset;
  if (f->kind == WK_FIELD_FLOAT) *value = *(const double *)at;
  else if (f->kind == WK_FIELD_INT) *value = (double)*(const int64_t *)at;
  else return false;
  return true;
}

wk_status wk_op_expr(wk_op op, const void *attrs, const wk_dtype *dtypes, int n_inputs,
                     wk_dtype out_dtype, wk_arena *a, wk_expr **out) {
  const wk_op_info *info = wk_op_get(op);
  const wk_attr_source source = {op, attrs};
  if (!info->semantics[0])
    return wk_error(WK_INTERNAL, "%s is not elementwise: it has no expression", info->name);
  wk_status s = wk_expr_template(a, info->semantics, info->inputs, dtypes, n_inputs, out_dtype,
                                 wk_attr_number, &source, out);
  if (!s) return NULL;
  wk_status named = wk_error(s->code, "%s: %s", info->name, s->message);
  wk_status_free(s);
  return named;
}

wk_status wk_node_expr(const wk_graph *g, const wk_node *n, wk_arena *a, wk_expr **out) {
  if (n->op == WK_OP_MAP) {
    *out = wk_expr_clone(a, WK_ATTR(n, map)->body);
    return NULL;
  }
  wk_dtype dtypes[4] = {WK_DTYPE_NONE};
  if (n->n_in > WK_COUNTOF(dtypes) || n->n_out != 1 || n->out[0] == WK_NONE)
    return wk_error(WK_INTERNAL, "%s is not elementwise", wk_op_get(n->op)->name);
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE) dtypes[k] = wk_val(g, n->in[k])->type.dtype;
  return wk_op_expr(n->op, n->attrs, dtypes, (int)n->n_in, wk_val(g, n->out[0])->type.dtype, a,
                    out);
}
