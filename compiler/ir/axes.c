/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/ir/axes.h"

int wk_same_axis(const wk_type *x, const wk_type *y, int i) {
  int64_t before = 1, below = 1;
  int k = 0;
  if (!wk_type_count(x)) return -1;  /* other dimensions' products may overflow then */
  for (int a = 0; a < i; a++) before *= x->dims[a];
  while (k < y->rank && below < before) below *= y->dims[k++];
  while (k < y->rank && below == before && y->dims[k] == 1 && x->dims[i] != 1) k++;
  return below == before && k < y->rank && y->dims[k] == x->dims[i] ? k : -1;
}

int wk_counting_axis(const wk_graph *g, wk_value_id v) {
  const wk_type *t = &wk_val(g, v)->type;
  int axis = -1;
  if (!wk_is_const(g, v) || t->dtype != WK_I64) return -1;
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] != 1) axis = axis < 0 ? i : WK_MAX_RANK;
  if (axis < 0 || axis == WK_MAX_RANK) return -1;
  for (int64_t i = 0; i < t->dims[axis]; i++)
    if (wk_load_i64(wk_val(g, v)->data, t->dtype, i) != i) return -1;
  return axis;
}
