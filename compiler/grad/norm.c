/* SPDX-License-Identifier: Apache-2.0
 * Adjoints of normalisations with their own formulas: shorter, and exact where differences of large
 * numbers would not be. */
#include "compiler/grad/adjoint.h"

/* With z = (x - mean) / std and h = g * scale: dx = (h - mean(h) - z * mean(h z)) / std. */
void wk_adjoint_layer_norm(wk_adjoint *a) {
  const wk_attr_layer_norm *n = WK_ATTR(a->n, layer_norm);
  wk_low *l = &a->l;
  const wk_type x = *wk_low_type(l, a->n->in[0]);
  wk_dtype wide = wk_compute_dtype(x.dtype);
  int64_t axes[WK_MAX_RANK], count = 1;
  int k = 0;
  for (int i = (int)n->axis; i < x.rank; i++) {
    axes[k++] = i;
    count *= x.dims[i];
  }
  for (uint32_t i = 1; i < a->n->n_out; i++)
    a->lower = a->lower || a->dy[i] != WK_NONE; /* mean and deviation as results */
  if (a->lower) return;
  char mean[48], root[96];
  snprintf(mean, sizeof mean, "div(a, %lld)", (long long)count);
  snprintf(root, sizeof root, "div(1, sqrt(add(div(a, %lld), %.17g)))", (long long)count,
           n->epsilon);
  wk_value_id m = wk_low_reduce(l, wide, "sum", a->n->in[0], axes, k, true, NULL, mean);
  wk_value_id centred = wk_low_map(l, wide, "sub(a, b)", 2, a->n->in[0], m);
  wk_value_id inv = wk_low_reduce(l, wide, "sum", centred, axes, k, true, "mul(a, a)", root);
  wk_value_id z = wk_low_map(l, wide, "mul(a, b)", 2, centred, inv);
  wk_value_id g = wk_adjoint_cast(l, a->dy[0], wide);
  if (l->status) return;
  if (wk_adjoint_wants(a, 1)) {
    const wk_type t = *wk_low_type(l, a->n->in[1]);
    a->dx[1] = wk_adjoint_sum_to(l, wk_low_map(l, wide, "mul(a, b)", 2, g, z), &t);
  }
  if (wk_adjoint_wants(a, 2)) {
    const wk_type t = *wk_low_type(l, a->n->in[2]);
    a->dx[2] = wk_adjoint_sum_to(l, g, &t);
  }
  if (!a->wants[0]) return;
  wk_value_id h = wk_low_map(l, wide, "mul(a, b)", 2, g, a->n->in[1]);
  wk_value_id mean_h = wk_low_reduce(l, wide, "sum", h, axes, k, true, NULL, mean);
  wk_value_id hz = wk_low_map(l, wide, "mul(a, b)", 2, h, z);
  wk_value_id mean_hz = wk_low_reduce(l, wide, "sum", hz, axes, k, true, NULL, mean);
  a->dx[0] = wk_low_map(l, x.dtype, "mul(sub(sub(a, b), mul(c, d)), e)", 5, h, mean_h, z, mean_hz,
                        inv);
}

/* By given statistics: each channel is (x - mean) * scale / sqrt(var + epsilon) + bias. */
void wk_adjoint_batch_norm(wk_adjoint *a) {
  enum { X, SCALE, BIAS, MEAN, VAR };
  wk_low *l = &a->l;
  const wk_type x = *wk_low_type(l, a->n->in[X]);
  wk_dtype wide = wk_compute_dtype(x.dtype);
  wk_value_id channel[5] = {0};
  char root[64];
  snprintf(root, sizeof root, "div(1, sqrt(add(a, %.17g)))", WK_ATTR(a->n, batch_norm)->epsilon);
  for (int k = SCALE; k <= VAR; k++)
    channel[k] = wk_adjoint_cast(l, wk_low_per_channel(l, a->n->in[k], x.rank), wide);
  wk_value_id inv = wk_low_map(l, wide, root, 1, channel[VAR]);
  wk_value_id g = wk_adjoint_cast(l, a->dy[0], wide);
  if (a->wants[X])
    a->dx[X] = wk_low_map(l, x.dtype, "mul(a, mul(b, c))", 3, g, channel[SCALE], inv);
  if (l->status || (!a->wants[SCALE] && !a->wants[BIAS] && !a->wants[MEAN] && !a->wants[VAR]))
    return;
  const wk_type c = *wk_low_type(l, inv);
  wk_value_id z = wk_low_map(l, wide, "mul(sub(a, b), c)", 3, a->n->in[X], channel[MEAN], inv);
  wk_value_id sum_g = wk_adjoint_sum_to(l, g, &c);
  wk_value_id sum_gz = wk_adjoint_sum_to(l, wk_low_map(l, wide, "mul(a, b)", 2, g, z), &c);
  wk_value_id by[5] = {0};
  by[SCALE] = sum_gz;
  by[BIAS] = sum_g;
  by[MEAN] = wk_low_map(l, wide, "neg(mul(a, mul(b, c)))", 3, sum_g, channel[SCALE], inv);
  by[VAR] = wk_low_map(l, wide, "mul(-0.5, mul(mul(a, b), mul(c, c)))", 3, sum_gz, channel[SCALE],
                       inv);
  for (uint32_t k = SCALE; k <= VAR && !l->status; k++) {
    const wk_type t = *wk_low_type(l, a->n->in[k]);
    if (a->wants[k])
      a->dx[k] = wk_low_reshape(l, wk_adjoint_cast(l, by[k], t.dtype), t.rank, t.dims);
  }
}
