/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/rare/bitcode/scalar.h"

enum { BLOCK = 64 };

/* A task is one row of one matrix of the batch; views are y, a, b with equal batch axes. */
#define MATMUL(name, A, B, ACC)                                                                    \
  void wk_rare_matmul_##name(void *const *args, void *scratch, int64_t begin, int64_t end,         \
                             const wk_rare *d) {                                                   \
    (void)scratch;                                                                                 \
    const wk_rare_view *vy = &d->view[0], *va = &d->view[1], *vb = &d->view[2];                    \
    int64_t row = vy->rank - 2, col = vy->rank - 1, n = vy->dims[col], depth = va->dims[col];      \
    int64_t b_row = vb->strides[row], b_col = vb->strides[col];                                    \
    for (int64_t t = begin; t < end; t++) {                                                        \
      int64_t i = t % vy->dims[row], outer = t / vy->dims[row];                                    \
      ACC *y = (ACC *)args[0] + rare_offset(outer, vy->dims, vy->strides, 0, row) +                \
               i * vy->strides[row];                                                               \
      const A *a = (const A *)args[1] + rare_offset(outer, vy->dims, va->strides, 0, row) +        \
                   i * va->strides[row];                                                           \
      const B *b = (const B *)args[2] + rare_offset(outer, vy->dims, vb->strides, 0, row);         \
      for (int64_t j0 = 0; j0 < n; j0 += BLOCK) {                                                  \
        ACC acc[BLOCK];                                                                            \
        int64_t m = rare_min(BLOCK, n - j0);                                                       \
        for (int64_t j = 0; j < BLOCK; j++) acc[j] = 0;                                            \
        for (int64_t k = 0; k < depth; k++) {                                                      \
          ACC left = (ACC)a[k * va->strides[col]];                                                 \
          const B *right = b + k * b_row + j0 * b_col;                                             \
          if (b_col == 1)                                                                          \
            for (int64_t j = 0; j < m; j++) acc[j] += left * (ACC)right[j];                        \
          else                                                                                     \
            for (int64_t j = 0; j < m; j++) acc[j] += left * (ACC)right[j * b_col];                \
        }                                                                                          \
        for (int64_t j = 0; j < m; j++) y[(j0 + j) * vy->strides[col]] = acc[j];                   \
      }                                                                                            \
    }                                                                                              \
  }

#include "targets/cpu/rare/bitcode/types.def"
RARE_TYPES(MATMUL)
