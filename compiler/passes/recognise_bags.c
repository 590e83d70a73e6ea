/* SPDX-License-Identifier: Apache-2.0
 * Rows of a table, gathered and folded: bags of embeddings, all of as many rows. */
#include "compiler/passes/recognise.h"

static const struct { wk_op op; const char *kind; } folds[] = {
    {WK_OP_REDUCE_SUM, "sum"}, {WK_OP_REDUCE_MEAN, "mean"}, {WK_OP_REDUCE_MAX, "max"}};

/* 0, k, 2k … n k */
static wk_value_id ends_of(wk_rewrite *r, int64_t n, int64_t k) {
  wk_type t = wk_type_make(WK_I64, 1, (const int64_t[]){n + 1});
  void *data;
  wk_value_id v = wk_rewrite_constant(r, &t, &data);
  for (int64_t i = 0; v != WK_NONE && i <= n; i++) wk_store_i64(data, WK_I64, i, i * k);
  return v;
}

/* fold(gather(table, indices)) over the last axis of the indices. */
wk_value_id wk_recognise_bags(wk_rewrite *r, const wk_node *n) {
  const wk_attr_reduce_sum *fold = n->attrs; /* the same fields in all reductions */
  const wk_node *gather = wk_made_once_by(r, n->in[0], WK_OP_GATHER);
  if (!gather || WK_ATTR(gather, gather)->axis != 0) return WK_NONE;
  const wk_value_id from = gather->in[0], which = gather->in[1];
  const wk_type table = *wk_type_of(r, from), indices = *wk_type_of(r, which);
  int last = indices.rank - 1;
  if (table.rank != 2 || table.quant || last < 0 || fold->axes.n != 1 ||
      fold->axes.v[0] != last || indices.dims[last] < 1)
    return WK_NONE;
  int64_t count = wk_type_count(&indices), bags = count / indices.dims[last];
  wk_value_id in[] = {from, ends_of(r, bags, indices.dims[last]),
                      wk_rewrite_reshape(r, which, 1, &count)};
  wk_attr_segment_reduce *a = wk_attrs_new(r->arena, WK_OP_SEGMENT_REDUCE);
  for (size_t k = 0; k < WK_COUNTOF(folds); k++)
    if (folds[k].op == n->op) a->kind = folds[k].kind;
  a->to = table.dtype;
  const wk_type y = *wk_type_of(r, n->out[0]);
  if (in[1] == WK_NONE) return WK_NONE;
  return wk_rewrite_reshape(r, wk_rewrite_add(r, WK_OP_SEGMENT_REDUCE, a, 3, in), y.rank, y.dims);
}
