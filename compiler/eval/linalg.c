/* SPDX-License-Identifier: Apache-2.0 */
/* Determinants by elimination with partial pivoting. */
#include <math.h>
#include <stdlib.h>

#include "compiler/eval/handler.h"

static double determinant(double *m, int64_t n) {
  double det = 1;
  for (int64_t k = 0; k < n; k++) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; i++)
      if (fabs(m[i * n + k]) > fabs(m[pivot * n + k])) pivot = i;
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) det = -det;
    for (int64_t j = k; pivot != k && j < n; j++) {
      double v = m[k * n + j];
      m[k * n + j] = m[pivot * n + j];
      m[pivot * n + j] = v;
    }
    det *= m[k * n + k];
    for (int64_t i = k + 1; i < n; i++) {
      double factor = m[i * n + k] / m[k * n + k];
      for (int64_t j = k + 1; j < n; j++) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return det;
}

wk_status wk_eval_det(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_type *x = &c->a.in[0].type;
  int64_t n = x->dims[x->rank - 1], count = wk_type_count(&c->a.out[0].type);
  double *m;
  WK_TRY(wk_reals_alloc(n * n, &m));
  for (int64_t k = 0; k < count; k++) {
    wk_reals_read(m, &c->a.in[0], k * n * n, 1, n * n);
    double det = determinant(m, n);
    wk_reals_write(&det, &c->a.out[0], k, 1, 1);
  }
  free(m);
  return NULL;
}
