/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/kernels/gemm.h"

#include <stdlib.h>
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

static int64_t words(const wk_cpu_matmul_desc *d) {
  int64_t unit = wk_dot_unit(&d->types);
  return wk_ceil_div(d->k, unit);
}

static int64_t matrix_bytes(const wk_simd *simd, const wk_cpu_matmul_desc *d) {
  return wk_panels_bytes(simd, &d->types, wk_panels_choose(simd, &d->types, d->n), words(d));
}

int64_t wk_cpu_matmul_packed_bytes(const wk_simd *simd, const wk_cpu_matmul_desc *d) {
  return d->b_constant ? copies(d, 0) * copies(d, 1) * matrix_bytes(simd, d) : 0;
}

void wk_cpu_matmul_pack(const wk_simd *simd, const wk_cpu_matmul_desc *d, const void *b,
                        void *out) {
  wk_panels p = wk_panels_choose(simd, &d->types, d->n);
  int64_t size = wk_dtype_size(d->types.b);
  for (int64_t i = 0; i < copies(d, 0); i++)
    for (int64_t j = 0; j < copies(d, 1); j++)
      wk_panels_pack(simd, &d->types, p, d->k, d->n,
                     (const char *)b + (i * d->b_stride[0] + j * d->b_stride[1]) * size,
                     d->b_stride[2], d->b_stride[3],
                     (char *)out + (i * copies(d, 1) + j) * matrix_bytes(simd, d));
}

/* Columns of several matrices: the one that reaches farthest. */
void wk_cpu_matmul_reach(const wk_simd *simd, const wk_cpu_matmul_desc *d, const void *packed,
                         int64_t (*reach)[2]) {
  wk_panels p = wk_panels_choose(simd, &d->types, d->n);
  int64_t(*one)[2] = wk_xcalloc((size_t)d->n, sizeof *one);
  for (int64_t i = 0; i < copies(d, 0) * copies(d, 1); i++) {
    const char *matrix = (const char *)packed + i * matrix_bytes(simd, d);
    wk_panels_reach(simd, &d->types, p, words(d), d->n, matrix, one);
    for (int64_t c = 0; c < d->n; c++)
      for (int k = 0; k < 2; k++)
        if (i == 0 || llabs(one[c][k]) > llabs(reach[c][k])) reach[c][k] = one[c][k];
  }
  free(one);
}

/* Its number among those that the kernel reads; 0: it is none. */
static int add_limit(int limit, int limits[3], int *n) {
  if (limit) limits[(*n)++] = limit;
  return limit ? *n : 0;
}

/* Few enough that packing B costs more than it saves. */
enum { FEW_ROWS = WK_COLUMNS_ROWS };

/* B, which is no constant, is read where it lies: once, for rows that fit one tile. */
static void read_in_place(const wk_simd *simd, const wk_cpu_matmul_desc *d, wk_gemm *g) {
  bool is_float = wk_dot_unit(&d->types) == 1;
  int64_t vectors = g->n / simd->lanes;
  int nv = (int)(vectors < simd->nv_max ? vectors : simd->nv_max);
  if (!is_float || g->m > FEW_ROWS) return;
  if (d->b_stride[3] == 1 && g->n % simd->lanes == 0) {
    while (nv > 1 && (wk_tile_rows(simd, &d->types, nv) < g->m || vectors % nv)) nv--;
    if (wk_tile_rows(simd, &d->types, nv) < g->m) return;
    g->b = WK_B_ROWS;
    g->panels = (wk_panels){.nv = nv, .panels = vectors / nv, .columns = g->n};
  } else if (d->b_stride[2] == 1 && d->k % simd->lanes == 0 && !d->fold_limit) {
    g->b = WK_B_COLUMNS;
    g->panels = (wk_panels){.nv = 1, .panels = wk_ceil_div(g->n, simd->lanes),
                            .columns = wk_ceil_div(g->n, simd->lanes) * simd->lanes};
  }
}

wk_status wk_cpu_matmul_codegen(wk_llvm *e, const wk_cpu_matmul_desc *d, const wk_cpu_epilogue *epi,
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
  g.kc = words(d);
  g.rows = WK_ROWS_PLAIN;
  g.types = d->types;
  g.panels = wk_panels_choose(e->simd, &d->types, d->n);
  int64_t size = wk_dtype_size(d->types.a), y_size = wk_dtype_size(d->types.y);
  int64_t b_size = wk_dtype_size(d->types.b);
  g.a_row = d->a_stride[2] * size;
  g.y_row = d->y_stride[2] * y_size;
  g.b = d->b_constant ? WK_B_PANELS : WK_B_TO_PACK;
  g.k = d->k;
  int64_t matrix = matrix_bytes(e->simd, d);
  for (int i = 0; i < 2; i++) {
    g.a_batch[i] = d->a_stride[i] * size;
    g.y_batch[i] = d->y_stride[i] * y_size;
    g.b_batch[i] = d->b_stride[i] * b_size;
    if (d->b_constant && d->b_stride[i] != 0) g.b_batch[i] = (i ? 1 : copies(d, 1)) * matrix;
  }
  g.b_k = d->b_stride[2] * b_size;
  g.b_n = d->b_stride[3] * b_size;
  if (!d->b_constant) read_in_place(e->simd, d, &g);
  g.epi = epi;
  for (int i = 0; i < epi->n_operands; i++) {
    int64_t op_size = wk_dtype_size(epi->operands[i].dtype);
    g.op_batch[i][0] = epi->operands[i].stride[0] * op_size;
    g.op_batch[i][1] = epi->operands[i].stride[1] * op_size;
    g.op_row[i] = epi->operands[i].stride[2] * op_size;
  }
  int limits[3], n_limits = 0;
  bool is_one = g.batch[0] == 1 && g.batch[1] == 1, is_float = wk_dot_unit(&d->types) == 1;
  int rows = d->batch_limit && is_one ? d->batch_limit : g.m == d->m ? d->row_limit : 0;
  g.limit_rows = rows == d->batch_limit ? d->batch_rows : 1;
  g.row_limit = add_limit(rows, limits, &n_limits);
  g.column_limit = add_limit(d->column_limit, limits, &n_limits);
  g.fold_limit = add_limit(is_float ? d->fold_limit : 0, limits, &n_limits);
  if (!rows) g.limit_rows = 0;
  WK_TRY(wk_gemm_codegen(e, &g, out));
  out->n_limits = n_limits;
  memcpy(out->limits, limits, sizeof limits);
  out->packed_bytes = wk_cpu_matmul_packed_bytes(e->simd, d);
  return NULL;
}
