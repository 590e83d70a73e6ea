/* SPDX-License-Identifier: Apache-2.0
 * Rules of products and recurrences. */
#include <string.h>

#include "compiler/onnx/import/extent.h"

static const wk_type *type(const wk_onnx_node *c, int i) { return wk_onnx_type(c, c->in[i]); }

/* ---- products -------------------------------------------------------------------------------- */

/* What the product folds is the same of both, and zero where there is nothing. */
static void fold_axes(wk_onnx_node *c, int a_axis, int b_axis) {
  wk_extent_meet(c, &c->in[1], b_axis, wk_extent_dim(c, c->in[0], a_axis));
  bool is_open = wk_extent_is_open(c, c->in[0], a_axis);
  if (!is_open || !wk_onnx_ok(c)) return;
  wk_extent_even(c, 0, a_axis, 1, b_axis);
  wk_extent_fill(c, 0, 1u << a_axis, WK_FILL_ZERO);
  wk_extent_fill(c, 1, 1u << b_axis, WK_FILL_ZERO);
}

/* [n] becomes [1,n] on the left, [n,1] on the right. */
static int product_dims(wk_onnx_node *c, const wk_size **dims) {
  const wk_size *batch[WK_MAX_RANK], *own[2][WK_MAX_RANK];
  int rank[2] = {type(c, 0)->rank, type(c, 1)->rank}, n = 0, most = 0;
  int64_t known;
  for (int i = 0; i < 2; i++) {
    wk_extent_dims(c, c->in[i], own[i]);
    if (rank[i] - 2 > most) most = rank[i] - 2;
  }
  for (int a = 0; a < most; a++) {
    batch[a] = wk_size_const(c, 1);
    for (int i = 0; i < 2; i++) {
      int axis = a - (most - (rank[i] - 2));
      if (rank[i] < 2 || axis < 0) continue;
      const wk_size *d = own[i][axis];
      if (wk_size_is_const(d, &known) && known == 1) continue;
      if (wk_size_is_const(batch[a], &known) && known == 1) batch[a] = d;
      else wk_extent_same(c, batch[a], d);
    }
    dims[n++] = batch[a];
  }
  if (rank[0] > 1) dims[n++] = own[0][rank[0] - 2];
  if (rank[1] > 1) dims[n++] = own[1][rank[1] - 1];
  return n;
}

/* Batches that have the same size have room for the same number. */
static void even_batches(wk_onnx_node *c) {
  int rank[2] = {type(c, 0)->rank, type(c, 1)->rank};
  for (int back = 3; back <= rank[0] && back <= rank[1] && wk_onnx_ok(c); back++) {
    int axis[2] = {rank[0] - back, rank[1] - back};
    if (!wk_extent_is_open(c, c->in[0], axis[0]) || !wk_extent_is_open(c, c->in[1], axis[1]))
      continue;
    if (wk_extent_meet(c, &c->in[1], axis[1], wk_extent_dim(c, c->in[0], axis[0])))
      wk_extent_even(c, 0, axis[0], 1, axis[1]);
  }
}

wk_status wk_extent_matmul(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK];
  int a = type(c, 0)->rank, b = type(c, 1)->rank;
  if (!wk_onnx_valid(c, a >= 1 && b >= 1, "an operand is a scalar")) return c->status;
  fold_axes(c, a - 1, b > 1 ? b - 2 : 0);
  if (!wk_onnx_ok(c)) return c->status;
  even_batches(c);
  product_dims(c, dims);
  if (wk_extent_plain(c)) wk_extent_result(c, 0, dims);
  return c->status;
}

wk_status wk_extent_integer_matmul(wk_onnx_node *c) {
  int a = type(c, 0)->rank;
  wk_onnx_need(c, a >= 1 && !wk_extent_is_open(c, c->in[0], a - 1),
               "the size that is folded is only known at run time");
  return wk_onnx_ok(c) ? wk_extent_matmul(c) : c->status;
}

wk_status wk_extent_gemm(wk_onnx_node *c) {
  int a = wk_onnx_int(c, "transA", 0) != 0, b = wk_onnx_int(c, "transB", 0) != 0;
  if (!wk_onnx_valid(c, type(c, 0)->rank == 2 && type(c, 1)->rank == 2,
                     "the operands are no matrices")) return c->status;
  fold_axes(c, a ? 0 : 1, b ? 1 : 0);
  if (!wk_onnx_ok(c)) return c->status;
  const wk_size *dims[2] = {wk_extent_dim(c, c->in[0], a ? 1 : 0),
                            wk_extent_dim(c, c->in[1], b ? 0 : 1)};
  int rank = wk_onnx_has(c, 2) ? type(c, 2)->rank : 0;
  for (int i = 0; i < rank && i < 2 && wk_onnx_ok(c); i++) {
    const wk_size *bias = wk_extent_dim(c, c->in[2], rank - 1 - i);
    int64_t known;
    if (!wk_size_is_const(bias, &known) || known != 1) wk_extent_same(c, dims[1 - i], bias);
  }
  if (wk_extent_plain(c)) wk_extent_result(c, 0, dims);
  return c->status;
}

/* The result has another last axis. */
wk_status wk_extent_alike_but_last(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK];
  int rank = type(c, 0)->rank;
  if (!wk_onnx_need(c, rank >= 1 && !wk_extent_is_open(c, c->in[0], rank - 1),
                    "the size that is folded is only known at run time")) return c->status;
  wk_extent_dims(c, c->in[0], dims);
  if (!wk_extent_plain(c)) return c->status;
  dims[rank - 1] = wk_size_const(c, wk_onnx_type(c, c->out[0].value)->dims[rank - 1]);
  wk_extent_result(c, 0, dims);
  return c->status;
}

/* ---- Einsum ---------------------------------------------------------------------------------- */

/* The labels of one operand or of the result, without blanks; where the next one begins. */
static const char *labels(const char *p, char out[WK_MAX_RANK + 1]) {
  int n = 0;
  for (; *p && *p != ',' && strncmp(p, "->", 2) != 0; p++)
    if (*p != ' ' && n < WK_MAX_RANK) out[n++] = *p;
  out[n] = '\0';
  return *p == ',' ? p + 1 : *p ? p + 2 : p;
}

wk_status wk_extent_einsum(wk_onnx_node *c) {
  const char *equation = wk_onnx_text(c, "equation", ""), *p = equation;
  const char *arrow = strstr(equation, "->");
  char of[WK_ONNX_SMALL][WK_MAX_RANK + 1], out[WK_MAX_RANK + 1];
  const wk_size *size[256] = {NULL}, *dims[WK_MAX_RANK];
  if (!wk_onnx_need(c, arrow && !strchr(equation, '.') && c->n_in <= WK_ONNX_SMALL,
                    "sizes at run time are for equations with a result and without '…'"))
    return c->status;
  labels(arrow + 2, out);
  for (int i = 0; i < c->n_in && wk_onnx_ok(c); i++) {
    p = labels(p, of[i]);
    if (!wk_onnx_valid(c, (int)strlen(of[i]) == type(c, i)->rank, "operand %d does not fit", i))
      break;
    for (int a = 0; of[i][a] && wk_onnx_ok(c); a++) {
      const wk_size *d = wk_extent_dim(c, c->in[i], a), **known = &size[(uint8_t)of[i][a]];
      if (*known) wk_extent_same(c, *known, d);
      *known = d;
      if (!strchr(out, of[i][a])) wk_extent_fill(c, i, 1u << a, WK_FILL_ZERO);
    }
  }
  if (!wk_extent_plain(c)) return c->status;
  for (int a = 0; out[a]; a++) {
    dims[a] = size[(uint8_t)out[a]];
    if (!wk_onnx_valid(c, dims[a] != NULL, "label %c is in no operand", out[a])) return c->status;
  }
  wk_extent_result(c, 0, dims);
  return c->status;
}

/* ---- recurrences ----------------------------------------------------------------------------- */

enum { RNN_LENGTHS = 4 };

/* Sequences end where time does. */
static void limit_time(wk_onnx_node *c, int time, int batch) {
  wk_extent_fill(c, RNN_LENGTHS, 1, WK_FILL_ZERO);
  if (!wk_extent_is_open(c, c->in[0], time) || wk_onnx_has(c, RNN_LENGTHS)) return;
  wk_value_id n = wk_make_cast(c, wk_size_value(c, wk_extent_dim(c, c->in[0], time)), WK_I32);
  c->in[RNN_LENGTHS] = wk_make_expand(c, n, 1, &type(c, 0)->dims[batch]);
  if (c->n_in <= RNN_LENGTHS) c->n_in = RNN_LENGTHS + 1;
}

wk_status wk_extent_rnn(wk_onnx_node *c) {
  int batch_first = wk_onnx_int(c, "layout", 0) != 0;
  if (!wk_onnx_valid(c, type(c, 0)->rank == 3, "the input must have rank 3") ||
      !wk_onnx_need(c, !wk_extent_is_open(c, c->in[0], 2),
                    "the number of features is only known at run time")) return c->status;
  int time = batch_first ? 1 : 0, batch = batch_first ? 0 : 1;
  const wk_size *steps = wk_extent_dim(c, c->in[0], time);
  const wk_size *rows = wk_extent_dim(c, c->in[0], batch);
  limit_time(c, time, batch);
  if (!wk_extent_plain(c)) return c->status;
  for (int i = 0; i < c->n_out; i++) {
    if (c->out[i].value == WK_NONE) continue;
    const wk_size *dims[WK_MAX_RANK];
    wk_extent_dims(c, c->out[i].value, dims);
    bool is_all = i == 0;
    dims[batch_first ? 0 : is_all ? 2 : 1] = rows;
    if (is_all) dims[time] = steps;
    wk_extent_result(c, i, dims);
  }
  return c->status;
}
