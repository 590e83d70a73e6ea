/* SPDX-License-Identifier: Apache-2.0
 * Masks that the model is given as it adds them to scores: samples say that they are masks. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "compiler/calibrate/quantize.h"
#include "compiler/passes/passes.h"

/* What is 0 or far below it in all samples; *most is the greatest of the latter. */
static bool is_given_mask(const wk_quantize_job *j, size_t input, double *most) {
  const wk_type *t = &wk_val(j->m->main, j->m->main->inputs.data[input])->type;
  *most = -INFINITY;
  bool any = false, has_0 = false, is_mask = t->dtype == WK_F32;
  for (size_t s = 0; is_mask && s < j->n_samples; s++)
    for (int64_t i = 0, n = wk_type_count(t); is_mask && i < n; i++) {
      double x = wk_load_f64(j->samples[s][input].data, t->dtype, i);
      is_mask = x == 0 || x <= WK_MASK_FAR;
      any |= x != 0;
      has_0 |= x == 0;
      if (x != 0) *most = fmax(*most, x);
    }
  return is_mask && any && has_0;
}

static wk_status add_node(wk_graph *g, wk_op op, const wk_value_id *in, uint32_t n,
                          wk_value_id *out) {
  return wk_graph_add(g, &(wk_node_desc){.op = op, .name = "mask", .in = in, .n_in = n, .n_out = 1},
                      out);
}

/* For all its readers, the input is where(mask < half of most, most, 0). */
static wk_status choose_given(wk_graph *g, wk_value_id mask, double most) {
  const double far = fmax(most, (double)-FLT_MAX);
  const wk_value_id order[] = {mask, wk_graph_scalar(g, WK_F32, far / 2)};
  wk_value_id choice[] = {WK_NONE, wk_graph_scalar(g, WK_F32, far), wk_graph_scalar(g, WK_F32, 0)};
  wk_value_id chosen;
  const size_t n_before = g->nodes.n;
  WK_TRY(add_node(g, WK_OP_LESS, order, 2, &choice[0]));
  WK_TRY(add_node(g, WK_OP_WHERE, choice, 3, &chosen));
  for (size_t i = 0; i < n_before; i++)
    for (uint32_t k = 0; k < g->nodes.data[i].n_in; k++)
      if (g->nodes.data[i].in[k] == mask) g->nodes.data[i].in[k] = chosen;
  return NULL;
}

/* Marks what comes to a softmax by addition and movement alone. */
static void see_addends(const wk_graph *g, wk_value_id scores, bool *seen) {
  WK_VEC(wk_value_id) todo = {0};
  wk_vec_push(&todo, scores);
  for (size_t at = 0; at < todo.n; at++) {
    wk_value_id v = todo.data[at];
    const wk_node *n = wk_def(g, v);
    if (seen[v]) continue;
    seen[v] = true;
    bool is_moved = n && n->n_in && wk_op_get(n->op)->cls == WK_CLASS_MOVEMENT;
    for (uint32_t k = 0; n && k < (n->op == WK_OP_ADD ? 2u : is_moved); k++)
      wk_vec_push(&todo, n->in[k]);
  }
  wk_vec_free(&todo);
}

wk_status wk_quantize_given_masks(wk_quantize_job *j) {
  wk_graph *g = j->m->main;
  bool *seen = wk_arena_alloc(j->arena, g->values.n), any = false;
  double most;
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i].dead && g->nodes.data[i].op == WK_OP_SOFTMAX)
      see_addends(g, g->nodes.data[i].in[0], seen);
  for (size_t i = 0; i < g->inputs.n; i++) {
    wk_value_id v = g->inputs.data[i];
    if (!seen[v] || !is_given_mask(j, i, &most)) continue;
    WK_TRY(choose_given(g, v, most));
    any = true;
  }
  return any ? wk_module_normalise(j->m) : NULL;
}
