/* SPDX-License-Identifier: Apache-2.0
 * Private to train/: what is behind the integers that a DEQUANTIZE reads. */
#ifndef WICK_TRAIN_QUANTISED_PATH_H
#define WICK_TRAIN_QUANTISED_PATH_H

#include "compiler/lower/build.h"
#include "compiler/train/quantised.h"

/* Of a value of integers. */
typedef struct {
  bool is_open;      /* real numbers can go where the integers do: all that is behind is known and
                        has the scale and zero point of the DEQUANTIZE */
  bool rounds;       /* a QUANTIZE is behind */
  wk_value_id codes; /* an initialiser is; WK_NONE */
  double lo, hi;     /* the integers are cut off there */
} wk_behind;

/* One graph, and one DEQUANTIZE of it at a time. */
typedef struct {
  wk_graph *g;
  const wk_import_report *report;
  const wk_quantised *found; /* weights that are floats by now */
  const wk_node *node;       /* the DEQUANTIZE */
  size_t n_values;           /* values from here on are none of integers */
  uint32_t stamp;            /* of the entries that are of this DEQUANTIZE */
  uint32_t *seen, *made;     /* stamps of `behind` and `real` */
  wk_behind *behind;
  wk_value_id *real;
} wk_quantised_path;

void wk_path_open(wk_graph *g, const wk_import_report *r, const wk_quantised *found,
                  wk_quantised_path *out);
void wk_path_free(wk_quantised_path *p);
/* What the node, whose scale and zero point are constants, reads. */
wk_behind wk_path_behind(wk_quantised_path *p, const wk_node *dequantize);
/* The reals whose roundings the node reads, once wk_path_behind has found it open: moved, but not
 * rounded. */
wk_value_id wk_path_real(wk_quantised_path *p, wk_low *l);

/* The parameters are the same for each element of tensors that have as many, in row-major order. */
bool wk_same_spread(const wk_tensor *a, const wk_type *of_a, const wk_tensor *b,
                    const wk_type *of_b);
bool wk_integer_limits(wk_dtype t, double *lo, double *hi); /* false: more than 32 bits, or none */
/* NULL: none of this name has been found. */
const wk_quantised_weight *wk_quantised_find(const wk_quantised *q, const char *name);
static inline wk_tensor wk_constant_of(const wk_graph *g, wk_value_id v) {
  return (wk_tensor){wk_val(g, v)->type, (void *)wk_val(g, v)->data};
}

#endif
