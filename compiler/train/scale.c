/* SPDX-License-Identifier: Apache-2.0
 * Loss scaling. Gradients of values of f16 are of f16, where what is below 6e-8 is 0, and means
 * over a batch make them small. So the loss that is differentiated is `scale` times the loss, a
 * power of two, which rounds nothing, and the gradients of the weights, of f32, are divided by it.
 * Where they are not finite the step has no effect and the scale is halved; after RISE steps in
 * which they are it is doubled, until LARGEST. bf16 has the range of f32 and needs none of this. */
#include "compiler/train/maker.h"

#define FIRST 1024.0
#define LARGEST 65536
#define RISE 1000

static bool has_f16(const wk_graph *g) {
  for (size_t i = 0; i < g->values.n; i++)
    if (g->values.data[i].type.dtype == WK_F16) return true;
  return false;
}

void wk_scale_open(wk_step_maker *k) {
  wk_dtype t = wk_val(k->g, k->loss)->type.dtype;
  if (t != WK_F32 || !has_f16(k->g)) return;
  const wk_type scalar = wk_type_make(WK_F32, 0, NULL);
  k->scale = wk_step_state(k, "loss", "scale", &scalar, FIRST);
  k->good = wk_step_state(k, "loss", "steps", &scalar, 0);
}

void wk_scale_undo(wk_step_maker *k) {
  for (size_t i = 0; k->scale != WK_NONE && i < k->gradients.n && !k->l.status; i++) {
    wk_dtype t = wk_low_type(&k->l, k->gradients.data[i])->dtype;
    k->gradients.data[i] =
        wk_low_map(&k->l, t, "div(a, b)", 2, k->gradients.data[i],
                   wk_low_map(&k->l, wk_compute_dtype(t), "out(a)", 1, k->scale));
  }
}

wk_value_id wk_scale_can_shrink(wk_step_maker *k) {
  return wk_low_map(&k->l, WK_BOOL, "gt(a, 1)", 1, k->scale);
}

void wk_scale_update(wk_step_maker *k) {
  char text[128];
  if (k->scale == WK_NONE) return;
  wk_value_id when = k->goes;
  if (k->ends != WK_NONE) when = wk_low_map(&k->l, WK_BOOL, "and(a, b)", 2, when, k->ends);
  wk_value_id count = wk_low_map(&k->l, WK_F32, "select(a, add(b, 1), 0)", 2, k->finite, k->good);
  snprintf(text, sizeof text,
           "select(a, select(ge(b, %d), min(mul(c, 2), %d), c), max(div(c, 2), 1))", RISE, LARGEST);
  wk_step_update(k, when, k->scale,
                 wk_low_map(&k->l, WK_F32, text, 3, k->finite, count, k->scale));
  snprintf(text, sizeof text, "select(ge(a, %d), 0, a)", RISE);
  wk_step_update(k, when, k->good, wk_low_map(&k->l, WK_F32, text, 1, count));
}
