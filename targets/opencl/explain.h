/* SPDX-License-Identifier: Apache-2.0
 * explain: what the model of a GPU (gpu.h) says of each product: the tiles that come close to the
 * best, with what limits them, and of all launches together (--explain-kernel). Private to this
 * folder. */
#ifndef WICK_OPENCL_EXPLAIN_H
#define WICK_OPENCL_EXPLAIN_H

#include "targets/opencl/tile.h"

typedef struct wk_cl_explained {
  const char *node;   /* products of this node alone; NULL: all */
  wk_str text;
  bool is_found;
  int products, others;            /* launches */
  double product_time, other_time; /* microseconds */
} wk_cl_explained;

/* A product whose tile was chosen from `sizes`. */
void wk_cl_explain_product(wk_cl_explained *x, const wk_cl_tile *t, const wk_cl_asked *asked);
/* Launches, from row `first` on, of an instruction that is no product. */
void wk_cl_explain_other(wk_cl_explained *x, const wk_cl_unit *u, const wk_program *p,
                         const wk_inst *i, size_t first);
/* The sum, and WK_USAGE where the node is none with a product. */
wk_status wk_cl_explain_end(wk_cl_explained *x, const wk_opencl *d) WK_MUST_CHECK;

#endif
