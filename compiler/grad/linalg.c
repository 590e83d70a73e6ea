/* SPDX-License-Identifier: Apache-2.0
 * Adjoint of the determinant. An element's is its cofactor, (-1)^(i + j) times the determinant of
 * what is left without row i and column j, which singular matrices have as well. */
#include <string.h>

#include "compiler/grad/adjoint.h"

/* For every element of an n x n matrix the positions of the others' rows and columns:
 * i64 [n * n * (n - 1) * (n - 1)]. */
static wk_value_id positions(wk_low *l, int64_t n) {
  int64_t each = (n - 1) * (n - 1), count, k = 0;
  if (!wk_mul_ok(n * n, each, &count)) count = INT64_MAX;
  int64_t *v = wk_low_table(l, count, sizeof *v);
  for (int64_t e = 0; v && e < n * n; e++)
    for (int64_t at = 0; at < n * n; at++)
      if (at / n != e / n && at % n != e % n) v[k++] = at;
  return wk_low_const_i64(l, 1, &count, v);
}

void wk_adjoint_det(wk_adjoint *a) {
  wk_low *l = &a->l;
  char text[96];
  const wk_type x = *wk_low_type(l, a->n->in[0]);
  int64_t n = x.dims[x.rank - 1], batch = 1, ones[WK_MAX_RANK];
  memcpy(ones, x.dims, sizeof ones);
  ones[x.rank - 1] = ones[x.rank - 2] = 1;
  for (int i = 0; i < x.rank - 2; i++) batch *= x.dims[i];
  wk_value_id g = wk_low_reshape(l, a->dy[0], x.rank, ones);
  if (n == 0) return;
  if (n == 1) {
    a->dx[0] = g;
    return;
  }
  const int64_t flat[] = {batch, n * n}, minors[] = {batch * n * n, n - 1, n - 1};
  wk_value_id m = wk_low_gather(l, wk_low_reshape(l, a->n->in[0], 2, flat), positions(l, n), 1);
  m = wk_low_reshape(l, m, 3, minors);
  m = wk_low_add(l, WK_OP_DET, NULL, &m, 1, 1, NULL);
  m = wk_low_reshape(l, m, x.rank, x.dims);
  snprintf(text, sizeof text,
           "mul(mul(a, b), select(eq(mod(add(index<%d>(), index<%d>()), 2), 0), 1, -1))",
           x.rank - 2, x.rank - 1);
  a->dx[0] = wk_low_map(l, x.dtype, text, 2, g, m);
}
