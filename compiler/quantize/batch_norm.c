/* SPDX-License-Identifier: Apache-2.0
 * A batch norm that no convolution or product has taken is s x + t of each channel: a convolution
 * of each channel by itself with one weight. As such it is quantised; one weight with a scale of
 * its own is exact. */
#include <math.h>

#include "compiler/quantize/quantize.h"

static bool is_f32_constant(const wk_graph *g, wk_value_id v) {
  return wk_is_const(g, v) && wk_val(g, v)->type.dtype == WK_F32 && !wk_val(g, v)->type.quant;
}

static bool can_become_conv(const wk_graph *g, const wk_node *n) {
  if (n->dead || n->op != WK_OP_BATCH_NORM || n->predicate != WK_NONE) return false;
  const wk_type *x = &wk_val(g, n->in[0])->type;
  bool can = x->dtype == WK_F32 && !x->quant && x->rank > 2 && wk_type_count(x) > 0;
  for (uint32_t k = 1; k < 5 && can; k++) can = is_f32_constant(g, n->in[k]);
  return can;
}

/* s and t; false: some are no numbers. */
static bool factors_of(const wk_graph *g, const wk_node *n, int64_t channels, float *s, float *t) {
  double epsilon = WK_ATTR(n, batch_norm)->epsilon;
  for (int64_t i = 0; i < channels; i++) {
    double v[4];
    for (int k = 0; k < 4; k++) v[k] = wk_load_f64(wk_val(g, n->in[k + 1])->data, WK_F32, i);
    double scale = v[0] / sqrt(v[3] + epsilon);
    s[i] = (float)scale;
    t[i] = (float)(v[1] - v[2] * scale);
    if (!isfinite(s[i]) || !isfinite(t[i])) return false;
  }
  return true;
}

static wk_attr_conv *attrs_of(wk_arena *a, int64_t channels, int spatial) {
  wk_attr_conv *v = wk_attrs_new(a, WK_OP_CONV);
  v->strides = wk_ints_fill(a, spatial, 1);
  v->dilations = wk_ints_fill(a, spatial, 1);
  v->pads = wk_ints_fill(a, (int64_t)2 * spatial, 0);
  v->group = channels;
  return v;
}

static wk_status make_conv(wk_module *m, wk_node_id id, int64_t *count) {
  wk_graph *g = m->main;
  const wk_node before = *wk_nod(g, id);
  int rank = wk_val(g, before.in[0])->type.rank;
  int64_t channels = wk_val(g, before.in[0])->type.dims[1], dims[WK_MAX_RANK];
  dims[0] = channels;
  for (int k = 1; k < rank; k++) dims[k] = 1;
  wk_type weights = wk_type_make(WK_F32, rank, dims), bias = wk_type_make(WK_F32, 1, dims);
  wk_value_id w, b;
  void *s, *t;
  WK_TRY(wk_graph_constant_alloc(g, NULL, &weights, &w, &s));
  WK_TRY(wk_graph_constant_alloc(g, NULL, &bias, &b, &t));
  if (!factors_of(g, &before, channels, s, t)) return NULL;
  wk_node *n = wk_nod(g, id);
  n->op = WK_OP_CONV;
  n->attrs = attrs_of(m->arena, channels, rank - 2);
  n->in[1] = w, n->in[2] = b, n->n_in = 3;
  ++*count;
  return NULL;
}

bool wk_quantize_is_scale(const wk_graph *g, const wk_node *n) {
  const wk_type *w = n->op == WK_OP_CONV ? &wk_val(g, n->in[1])->type : NULL;
  return w && w->dims[0] > 1 && wk_type_count(w) == w->dims[0] &&
         WK_ATTR(n, conv)->group == w->dims[0];
}

wk_status wk_quantize_norms(wk_module *m, int64_t *count) {
  *count = 0;
  for (size_t i = 0; i < m->main->nodes.n; i++)
    if (can_become_conv(m->main, &m->main->nodes.data[i]))
      WK_TRY(make_conv(m, (wk_node_id)i, count));
  return *count ? wk_module_normalise(m) : NULL;
}
