/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/gemm.h"

#include <string.h>

static const wk_cpu_epilogue no_epilogue;

static bool is_batched_constant(const wk_cpu_matmul_desc *d) {
  return d->b_stride[0] != 0 || d->b_stride[1] != 0;
}

/* Distinct constant matrices along a batch dimension. */
static int64_t copies(const wk_cpu_matmul_desc *d, int i) {
  return d->b_stride[i] != 0 ? d->batch[i] : 1;
}

/* A batch dimension whose rows simply continue (constant B shared) becomes more rows. */
static bool can_fold(const wk_cpu_matmul_desc *d, const wk_cpu_epilogue *epi, int outer,
                     int64_t inner_rows, int inner) {
  if (d->a_stride[outer] != d->a_stride[inner] * inner_rows) return false;
  if (d->y_stride[outer] != d->y_stride[inner] * inner_rows) return false;
  for (int i = 0; i < epi->n_operands; i++)
    if (epi->operands[i].stride[outer] != epi->operands[i].stride[inner] * inner_rows) return false;
  return true;
}

typedef struct {
  int64_t batch[2], m;
} folded;

static folded fold(const wk_cpu_matmul_desc *d, const wk_cpu_epilogue *epi) {
  folded f = {.batch = {d->batch[0], d->batch[1]}, .m = d->m};
  if (!d->b_constant || is_batched_constant(d)) return f;
  if (f.batch[1] == 1 || can_fold(d, epi, 1, f.m, 2)) {
    f.m *= f.batch[1];
    f.batch[1] = 1;
    bool is_first = f.batch[0] == 1 || can_fold(d, epi, 0, f.m, 2);
    if (is_first) f.m *= f.batch[0], f.batch[0] = 1;
  }
  return f;
}

int64_t wk_cpu_matmul_packed_bytes(const wk_cpu_isa *isa, const wk_cpu_matmul_desc *d) {
  if (!d->b_constant) return 0;
  return copies(d, 0) * copies(d, 1) * wk_panels_choose(isa, d->n).columns * d->k * 4;
}

void wk_cpu_matmul_pack(const wk_cpu_isa *isa, const wk_cpu_matmul_desc *d, const float *b,
                        float *out) {
  wk_panels p = wk_panels_choose(isa, d->n);
  for (int64_t i = 0; i < copies(d, 0); i++)
    for (int64_t j = 0; j < copies(d, 1); j++)
      wk_panels_pack(isa, p, d->k, d->n, b + i * d->b_stride[0] + j * d->b_stride[1],
                     d->b_stride[2], d->b_stride[3],
                     out + (i * copies(d, 1) + j) * p.columns * d->k);
}

wk_status wk_cpu_matmul_emit(wk_emit *e, const wk_cpu_matmul_desc *d, const wk_cpu_epilogue *epi,
                             wk_cpu_kernel *out) {
  if (!epi) epi = &no_epilogue;
  if (d->batch[0] < 1 || d->batch[1] < 1 || d->m < 1 || d->n < 1 || d->k < 1)
    return wk_error(WK_UNSUPPORTED, "matmul: an empty dimension");
  if (!d->b_constant && d->b_stride[2] != 1 && d->b_stride[3] != 1)
    return wk_error(WK_UNSUPPORTED, "matmul: B is contiguous in neither direction");
  wk_gemm g;
  memset(&g, 0, sizeof g);
  folded f = fold(d, epi);
  g.batch[0] = f.batch[0];
  g.batch[1] = f.batch[1];
  g.m = f.m;
  g.n = d->n;
  g.taps = 1;
  g.kc = d->k;
  g.rows = WK_ROWS_PLAIN;
  g.panels = wk_panels_choose(e->isa, d->n);
  g.a_row = d->a_stride[2] * 4;
  g.y_row = d->y_stride[2] * 4;
  g.pack_b = !d->b_constant;
  int64_t matrix = g.panels.columns * d->k;
  for (int i = 0; i < 2; i++) {
    g.a_batch[i] = d->a_stride[i] * 4;
    g.y_batch[i] = d->y_stride[i] * 4;
    g.b_batch[i] = d->b_stride[i] * 4;
    if (d->b_constant && d->b_stride[i] != 0) g.b_batch[i] = (i ? 1 : copies(d, 1)) * matrix * 4;
  }
  g.b_k = d->b_stride[2] * 4;
  g.b_n = d->b_stride[3] * 4;
  g.epi = epi;
  for (int i = 0; i < epi->n_operands; i++) {
    g.op_batch[i][0] = epi->operands[i].stride[0] * 4;
    g.op_batch[i][1] = epi->operands[i].stride[1] * 4;
    g.op_row[i] = epi->operands[i].stride[2] * 4;
  }
  WK_TRY(wk_gemm_emit(e, &g, out));
  out->packed_bytes = wk_cpu_matmul_packed_bytes(e->isa, d);
  return NULL;
}
