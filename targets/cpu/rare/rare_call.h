/* SPDX-License-Identifier: Apache-2.0
 * rare_call: one call of the C code in rare/, and the functions that fill it in from an instruction
 * (describe_*.c). Private to this folder. */
#ifndef WICK_CPU_RARE_CALL_H
#define WICK_CPU_RARE_CALL_H

#include <string.h>

#include "targets/cpu/codegen.h"
#include "targets/cpu/rare/bitcode/rare.h"
#include "targets/cpu/rare/rare_link.h"

enum { WK_RARE_MAX_VIEWS = 8, WK_RARE_SPATIAL = 3 };

typedef struct {
  wk_codegen *c;
  const wk_inst *i;
  int64_t attr[WK_RARE_ATTRS];
  uint32_t n_views;
  wk_rare_view view[WK_RARE_MAX_VIEWS];
  const char *function; /* "wk_rare_…" */
  wk_rare_file file;    /* that has it; as the row says at first */
  int64_t n_tasks, scratch_bytes;
  int outer; /* axis of operand 0: its first positions are the first tasks, each the same number of
                them; -1: none is known */
  double ns; /* estimate of all tasks on one thread */
} wk_rare_call;

static inline const wk_view *wk_rare_operand(const wk_rare_call *r, uint32_t k) {
  return &r->i->operands[k];
}

static inline wk_rare_view wk_rare_plain_view(const wk_view *v) {
  wk_rare_view r = {.dtype = v->dtype, .rank = v->rank};
  memcpy(r.dims, v->dims, sizeof r.dims);
  memcpy(r.strides, v->strides, sizeof r.strides);
  return r;
}

/* Every operand as it is. */
static inline void wk_rare_plain_views(wk_rare_call *r) {
  r->n_views = r->i->n_operands;
  for (uint32_t k = 0; k < r->n_views; k++)
    if (wk_rare_operand(r, k)->buffer != WK_NONE)
      r->view[k] = wk_rare_plain_view(wk_rare_operand(r, k));
}

static inline int64_t wk_rare_bits(double d) {
  int64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

static inline int64_t wk_rare_product(const int64_t *dims, int first, int last) {
  int64_t n = 1;
  for (int k = first; k < last; k++) n *= dims[k];
  return n;
}

/* X(OPERATOR, file, element types, describe): FLOATS refuses integers as first input (as output,
 * when there is no input). */
#define WK_RARE_ROWS(X)                                                                            \
  X(CONV, conv, ANY, conv)                                                                         \
  X(CONV_TRANSPOSE, conv, ANY, conv)                                                               \
  X(MATMUL, matmul, ANY, matmul)                                                                   \
  X(MAX_POOL, pool, ANY, max_pool)                                                                 \
  X(AVG_POOL, pool, FLOATS, avg_pool)                                                              \
  X(LP_POOL, pool, FLOATS, lp_pool)                                                                \
  X(UNPOOL, unpool, FLOATS, unpool)                                                                \
  X(GATHER, gather, ANY, gather)                                                                   \
  X(GATHER_ELEMENTS, gather, ANY, gather_elements)                                                 \
  X(GATHER_ND, gather, ANY, gather_nd)                                                             \
  X(SCATTER_ELEMENTS, scatter, ANY, scatter_elements)                                              \
  X(SCATTER_ND, scatter, ANY, scatter_nd)                                                          \
  X(CUM_SUM, scan, ANY, cum_sum)                                                                   \
  X(TOP_K, scan, ANY, top_k)                                                                       \
  X(RANDOM_UNIFORM, random, FLOATS, random_uniform)                                                \
  X(RANDOM_NORMAL, random, FLOATS, random_normal)                                                  \
  X(ROI_ALIGN, sample, FLOATS, roi_align)                                                          \
  X(DET, sample, FLOATS, det)                                                                      \
  X(NON_MAX_SUPPRESSION, boxes, FLOATS, non_max_suppression)

#define X(op, file, types, describe) void wk_describe_##describe(wk_rare_call *r);
WK_RARE_ROWS(X)
#undef X

#endif
