/* SPDX-License-Identifier: Apache-2.0
 * Private to the random graphs: attributes by chance, and the drawers that stand in
 * a file of their own. */
#ifndef WICK_TESTS_RANDOM_DRAW_ATTRS_H
#define WICK_TESTS_RANDOM_DRAW_ATTRS_H

#include "tests/random_draw.h"

#include <string.h>

static inline wk_ints ints(draw *d, const int64_t *v, int64_t n) { return wk_ints_dup(d->a, v, n); }

static inline wk_ints random_ints(draw *d, int64_t n, int64_t lo, int64_t hi) {
  int64_t v[2 * WK_MAX_RANK];
  for (int64_t i = 0; i < n; i++) v[i] = draw_int(d, lo, hi);
  return ints(d, v, n);
}

static inline double real(draw *d, double lo, double hi) {
  return lo + (hi - lo) * wk_rng_unit(&d->rng);
}

#define ATTRS(d, opname, OPNAME) wk_attr_##opname *a = wk_attrs_new((d)->a, WK_OP_##OPNAME)

/* Sets the attribute of that name when the operator has it. */
static inline void *with(draw *d, wk_op op, void *attrs, const char *name, double v) {
  const wk_op_info *info = wk_op_get(op);
  if (!attrs) attrs = wk_attrs_new(d->a, op);
  for (int i = 0; i < info->n_fields; i++) {
    const wk_field *f = &info->fields[i];
    void *at = (char *)attrs + f->offset;
    if (strcmp(f->name, name)) continue;
    if (f->kind == WK_FIELD_FLOAT) *(double *)at = v;
    if (f->kind == WK_FIELD_INT || f->kind == WK_FIELD_DTYPE) *(int64_t *)at = (int64_t)v;
  }
  return attrs;
}

/* random_draw_ops.c: any operand of a rank; an image [n, c, h, w] */
wk_value_id draw_anything(draw *d, int least, int most);
wk_value_id draw_image(draw *d);
/* random_draw_indexing.c */
wk_value_id draw_op_gather(draw *d, wk_op op);
wk_value_id draw_op_gather_elements(draw *d, wk_op op);
wk_value_id draw_op_gather_nd(draw *d, wk_op op);
wk_value_id draw_op_scatter_elements(draw *d, wk_op op);
wk_value_id draw_op_scatter_nd(draw *d, wk_op op);
wk_value_id draw_op_one_hot(draw *d, wk_op op);
wk_value_id draw_op_resize(draw *d, wk_op op);
wk_value_id draw_op_reverse_sequence(draw *d, wk_op op);
wk_value_id draw_op_trilu(draw *d, wk_op op);
wk_value_id draw_op_cum_sum(draw *d, wk_op op);
wk_value_id draw_op_top_k(draw *d, wk_op op);
wk_value_id draw_op_max_unpool(draw *d, wk_op op);
wk_value_id draw_op_segment_reduce(draw *d, wk_op op);
wk_value_id draw_op_grid_sample(draw *d, wk_op op);
wk_value_id draw_op_roi_align(draw *d, wk_op op);
wk_value_id draw_op_non_max_suppression(draw *d, wk_op op);
wk_value_id draw_op_det(draw *d, wk_op op);
wk_value_id draw_op_recurrent(draw *d, wk_op op);
wk_value_id draw_op_random_numbers(draw *d, wk_op op);
/* random_draw_integer.c */
wk_value_id draw_op_integer_matmul(draw *d, wk_op op);
wk_value_id draw_op_integer_avg_pool(draw *d, wk_op op);
wk_value_id draw_op_integer_softmax(draw *d, wk_op op);
wk_value_id draw_op_integer_norm(draw *d, wk_op op);
wk_value_id draw_op_integer_resize(draw *d, wk_op op);
wk_value_id draw_op_depth_to_space(draw *d, wk_op op);

#endif
