/* SPDX-License-Identifier: Apache-2.0
 * Linear interpolation of quantised tensors, axis by axis: the last one has the result's scale. */
#include <string.h>

#include "compiler/integer/rules.h"
#include "compiler/ir/resize.h"

/* The two elements that each result lies between, and their weights; clamped to the axis. */
typedef struct {
  int64_t *near, *far;
  double *weights; /* all of near, then all of far */
} taps;

static taps taps_of(const wk_rewrite *r, const wk_resize_axis *m) {
  wk_arena *a = r->c->scratch;
  taps t = {wk_arena_alloc(a, (size_t)m->out * sizeof *t.near),
            wk_arena_alloc(a, (size_t)m->out * sizeof *t.far),
            wk_arena_alloc(a, 2 * (size_t)m->out * sizeof *t.weights)};
  for (int64_t i = 0; i < m->out; i++) {
    double w[WK_RESIZE_TAPS];
    int64_t first;
    (void)wk_resize_taps(m, wk_resize_coordinate(m, i), &first, w);
    int64_t near = first < 0 ? 0 : first >= m->in ? m->in - 1 : first;
    int64_t far = first + 1 < 0 ? 0 : first + 1 >= m->in ? m->in - 1 : first + 1;
    bool is_one = near == far || w[1] == 0;
    t.near[i] = near;
    t.far[i] = is_one ? near : far;
    t.weights[i] = is_one ? w[0] + w[1] : w[0];
    t.weights[m->out + i] = is_one ? 0 : w[1];
  }
  return t;
}

/* One axis of x, as y's type, scale and zero point. */
static wk_value_id along(wk_rewrite *r, int axis, const wk_resize_axis *m, const wk_affine *x,
                         const wk_integer_result *y) {
  int64_t n = m->out;
  int shift;
  taps t = taps_of(r, m);
  int64_t *mults = wk_arena_alloc(r->arena, 2 * (size_t)n * sizeof *mults);
  for (int64_t i = 0; i < 2 * n; i++) t.weights[i] *= x->scale / y->scale;
  if (n > INT32_MAX / 2 ||
      !wk_rescale_common(t.weights, (int)(2 * n), WK_RESCALE_BITS_8, mults, &shift) || shift < 1 ||
      shift > WK_RESIZE_SHIFT)
    return WK_NONE;
  wk_attr_integer_resize *a = wk_attrs_new(r->arena, WK_OP_INTEGER_RESIZE);
  a->axis = axis;
  a->near = wk_ints_dup(r->arena, t.near, n);
  a->far = wk_ints_dup(r->arena, t.far, n);
  a->near_mult = wk_ints_dup(r->arena, mults, n);
  a->far_mult = wk_ints_dup(r->arena, mults + n, n);
  a->shift = shift;
  a->x_zero = x->zero;
  a->zero = y->zero;
  a->lo = y->lo, a->hi = y->hi;
  a->to = y->dtype;
  return wk_rewrite_1(r, WK_OP_INTEGER_RESIZE, a, x->q);
}

wk_value_id wk_integer_resize(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_affine x;
  const wk_attr_resize *a = WK_ATTR(def, resize);
  const wk_type *t = wk_type_of(r, def->in[0]);
  int last = -1, rank = t->rank, n = 0;
  wk_resize_axis axes[WK_MAX_RANK];
  if (strcmp(a->mode, "linear") != 0 || !strcmp(a->coordinates, "tf_crop_and_resize") ||
      !wk_affine_of(r, def->in[0], &x))
    return WK_NONE;
  for (int k = 0; k < rank; k++) {
    axes[k] = wk_resize_axis_of(a, t, k);
    if (wk_resize_changes(&axes[k])) last = k, n++;
    if (axes[k].in < 1 || axes[k].out < 1) return WK_NONE;
  }
  if (last < 0) return wk_integer_requantized(r, &x, y);
  if ((n - 1) * x.scale >= 2 * y->scale) return WK_NONE;
  int64_t least = x.dtype == WK_I8 ? INT8_MIN : 0;
  const wk_integer_result same = {.dtype = x.dtype, .scale = x.scale, .zero = x.zero, .lo = least,
                                  .hi = least + UINT8_MAX};
  for (int k = 0; k <= last && x.q != WK_NONE; k++)
    if (wk_resize_changes(&axes[k])) x.q = along(r, k, &axes[k], &x, k == last ? y : &same);
  return x.q;
}
