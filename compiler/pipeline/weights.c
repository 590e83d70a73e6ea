/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pipeline/weights.h"

#include <math.h>
#include <string.h>

/* How random numbers become weights, by where they are used: offset + deviation * normal, or its
 * absolute value where only positive numbers make sense. */
typedef enum { USE_FAN_IN, USE_SCALE, USE_SHIFT, USE_VARIANCE } weight_use;

static const struct {
  wk_op op;
  uint32_t input;
  weight_use use;
} uses[] = {
    {WK_OP_CONV, 1, USE_FAN_IN},        {WK_OP_CONV, 2, USE_SHIFT},
    {WK_OP_CONV_TRANSPOSE, 1, USE_FAN_IN}, {WK_OP_CONV_TRANSPOSE, 2, USE_SHIFT},
    {WK_OP_MATMUL, 0, USE_FAN_IN},      {WK_OP_MATMUL, 1, USE_FAN_IN},
    {WK_OP_MATMUL, 2, USE_SHIFT},       {WK_OP_BATCH_NORM, 1, USE_SCALE},
    {WK_OP_BATCH_NORM, 2, USE_SHIFT},   {WK_OP_BATCH_NORM, 3, USE_SHIFT},
    {WK_OP_BATCH_NORM, 4, USE_VARIANCE}, {WK_OP_ADD, 0, USE_SHIFT},
    {WK_OP_ADD, 1, USE_SHIFT},          {WK_OP_SUB, 1, USE_SHIFT},
    {WK_OP_MUL, 0, USE_SCALE},          {WK_OP_MUL, 1, USE_SCALE},
};

static bool use_of(const wk_node *n, uint32_t input, weight_use *use) {
  for (size_t i = 0; i < WK_COUNTOF(uses); i++) {
    if (uses[i].op != n->op || uses[i].input != input) continue;
    *use = uses[i].use;
    return true;
  }
  return false;
}

static bool is_splat(const wk_value *v) {
  int64_t n = wk_type_count(&v->type), size = wk_dtype_size(v->type.dtype);
  if (v->kind != WK_VALUE_CONSTANT || !wk_dtype_is_float(v->type.dtype) || n < 2) return false;
  return !memcmp(v->data, (const char *)v->data + size, (size_t)((n - 1) * size));
}

static double fan_in(const wk_type *t, const wk_node *n, uint32_t input) {
  int64_t count = wk_type_count(t);
  if (n->op == WK_OP_MATMUL) return (double)t->dims[t->rank - (input == 0 ? 1 : 2)];
  return (double)count / (double)(t->dims[0] ? t->dims[0] : 1);
}

static double draw(wk_rng *rng, weight_use use, double fan) {
  double x = (double)wk_rng_normal(rng);
  switch (use) {
    case USE_FAN_IN: return x * sqrt(2 / fan);
    case USE_SCALE: return 1 + 0.1 * x;
    case USE_VARIANCE: return 0.5 + fabs(0.5 * x);
    default: return 0.1 * x;
  }
}

static wk_status fill(wk_module *m, wk_value *v, wk_rng *rng, weight_use use, double fan) {
  wk_tensor t;
  WK_TRY(wk_tensor_alloc(&v->type, &t));
  wk_vec_push(&m->blobs, t.data);
  int64_t n = wk_type_count(&v->type);
  for (int64_t i = 0; i < n; i++) wk_store_f64(t.data, v->type.dtype, i, draw(rng, use, fan));
  v->data = t.data;
  return NULL;
}

/* The use of a constant: through a reshape or transpose it is that of the result. */
static bool find_use(const wk_graph *g, const wk_uses *u, wk_value_id v, weight_use *use,
                     double *fan) {
  for (int hops = 0; hops < 4; hops++) {
    if (wk_use_count(u, v) == 0) return false;
    const wk_use *first = &u->uses[u->first[v]];
    if (first->node == WK_NONE) return false;
    const wk_node *n = wk_nod(g, first->node);
    if (use_of(n, first->index, use)) {
      *fan = *use == USE_FAN_IN ? fan_in(&wk_val(g, v)->type, n, first->index) : 1;
      return true;
    }
    if (wk_op_get(n->op)->cls != WK_CLASS_MOVEMENT || n->out[0] == WK_NONE) return false;
    v = n->out[0];
  }
  return false;
}

wk_status wk_weights_randomise(wk_module *m, uint64_t seed, int64_t *replaced) {
  wk_rng rng = {.s = seed};
  wk_status s = NULL;
  *replaced = 0;
  for (size_t k = 0; !s && k < m->graphs.n; k++) {
    wk_graph *g = m->graphs.data[k];
    wk_arena *scratch = wk_arena_new();
    wk_uses u = wk_graph_uses(g, scratch);
    for (size_t v = 0; !s && v < g->values.n; v++) {
      weight_use use;
      double fan;
      if (!is_splat(&g->values.data[v]) || !find_use(g, &u, (wk_value_id)v, &use, &fan)) continue;
      s = fill(m, &g->values.data[v], &rng, use, fan > 0 ? fan : 1);
      ++*replaced;
    }
    wk_arena_free(scratch);
  }
  for (size_t i = 0; i < m->files.n; i++) wk_file_forget(&m->files.data[i]); /* all were read */
  return s;
}
