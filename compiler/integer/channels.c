/* SPDX-License-Identifier: Apache-2.0
 * What is computed of the result of a convolution or product channel by channel: sums, differences,
 * products and quotients with constants, and batch norms. They are factors and biases of its
 * channels. */
#include <math.h>

#include "compiler/integer/rules.h"

enum { MAX_CHANNELS = 1 << 20 };

/* ---- the steps ------------------------------------------------------------------------------- */

/* The operand of n that is computed, the other one being a constant; -1: there is none. */
static int computed_operand(wk_rewrite *r, const wk_node *n) {
  for (int k = 0; k < (n->op == WK_OP_DIV ? 1 : 2); k++) {
    const wk_node *of = wk_def(r->g, n->in[k]);
    if (!of || of->op == WK_OP_DEQUANTIZE || !wk_once(r, n->in[k])) continue;
    if (!wk_shape_equal(wk_type_of(r, n->in[k]), wk_type_of(r, n->out[0]))) continue;
    if (wk_is_constant_reals(r, n->in[1 - k], MAX_CHANNELS)) return k;
  }
  return -1;
}

static int step_operand(wk_rewrite *r, wk_value_id v) {
  const wk_node *def = wk_def(r->g, v);
  if (!def || def->predicate != WK_NONE || def->n_out != 1) return -1;
  const wk_node n = *def;
  switch (n.op) {
    case WK_OP_ADD:
    case WK_OP_SUB:
    case WK_OP_MUL:
    case WK_OP_DIV: return computed_operand(r, &n);
    case WK_OP_BATCH_NORM: return wk_once(r, n.in[0]) ? 0 : -1;
    default: return -1;
  }
}

wk_value_id wk_channel_steps_of(wk_rewrite *r, wk_value_id v, wk_channel_steps *s) {
  *s = (wk_channel_steps){.n = 0};
  for (;;) {
    int k = step_operand(r, v);
    if (k < 0) return v;
    if (s->n == WK_MOST_CHANNEL_STEPS) return WK_NONE;
    s->steps[s->n] = wk_val(r->g, v)->node;
    s->operand[s->n++] = (uint32_t)k;
    v = wk_nod(r->g, wk_val(r->g, v)->node)->in[k];
  }
}

/* ---- their numbers --------------------------------------------------------------------------- */

bool wk_channel_reals(wk_rewrite *r, wk_value_id v, int64_t channels, int from_end, double *out) {
  wk_type t;
  const double *x = wk_constant_reals(r, v, channels, &t);
  int64_t n = x ? wk_type_count(&t) : 0;
  int axis = x ? t.rank - 1 - from_end : -1;
  if (n != 1 && (n != channels || axis < 0 || t.dims[axis] != n)) return false;
  for (int64_t i = 0; i < channels; i++) out[i] = x[n == 1 ? 0 : i];
  return true;
}

static bool apply_norm(wk_rewrite *r, const wk_node *n, int64_t channels, int from_end,
                       double *gain, double *shift) {
  double *p = wk_arena_alloc(r->c->scratch, 4 * (size_t)channels * sizeof *p);
  double epsilon = WK_ATTR(n, batch_norm)->epsilon;
  if (wk_type_of(r, n->out[0])->rank - 1 - from_end != 1) return false;
  for (int k = 0; k < 4; k++)
    if (!wk_channel_reals(r, n->in[1 + k], channels, 0, p + k * channels)) return false;
  for (int64_t i = 0; i < channels; i++) {
    double scale = p[i] / sqrt(p[3 * channels + i] + epsilon);
    gain[i] *= scale;
    shift[i] = (shift[i] - p[2 * channels + i]) * scale + p[channels + i];
  }
  return true;
}

static void apply_number(wk_op op, uint32_t operand, double c, double *gain, double *shift) {
  bool is_from = op == WK_OP_SUB && operand == 1; /* c - x */
  double factor = op == WK_OP_MUL ? c : op == WK_OP_DIV ? 1 / c : is_from ? -1 : 1;
  double sum = op == WK_OP_ADD || is_from ? c : op == WK_OP_SUB ? -c : 0;
  *gain *= factor;
  *shift = *shift * factor + sum;
}

bool wk_channel_steps_apply(wk_rewrite *r, const wk_channel_steps *s, int64_t channels,
                            int from_end, double *gain, double *shift) {
  double *c = wk_arena_alloc(r->c->scratch, (size_t)channels * sizeof *c);
  for (int at = s->n; at-- > 0;) {
    const wk_node n = *wk_nod(r->g, s->steps[at]);
    if (n.op == WK_OP_BATCH_NORM) {
      if (!apply_norm(r, &n, channels, from_end, gain, shift)) return false;
      continue;
    }
    if (!wk_channel_reals(r, n.in[1 - s->operand[at]], channels, from_end, c)) return false;
    for (int64_t i = 0; i < channels; i++)
      apply_number(n.op, s->operand[at], c[i], &gain[i], &shift[i]);
  }
  for (int64_t i = 0; i < channels; i++)
    if (!isfinite(gain[i]) || !isfinite(shift[i])) return false;
  return true;
}
