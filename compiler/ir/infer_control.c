/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of recurrent operators, control flow and random numbers. */
#include <string.h>
#include <strings.h>

#include "compiler/ir/infer.h"

/* ---- recurrent ------------------------------------------------------------------------------- */

static wk_status want_activations(const wk_infer *i, int64_t directions, int per_direction) {
  static const char *const known[] = {"Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu",
                                      "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu",
                                      "Softsign", "Softplus"};
  const wk_texts *names = wk_infer_attr(i, "activations");
  const wk_floats *alpha = wk_infer_attr(i, "alpha"), *beta = wk_infer_attr(i, "beta");
  int64_t want = directions * per_direction;
  if (names->n != 0 && names->n != want)
    return BAD(i, "activations has %lld entries, needs %lld", wk_ll(names->n), wk_ll(want));
  for (int64_t k = 0; k < names->n; k++) {
    bool found = false;
    for (size_t n = 0; n < WK_COUNTOF(known); n++)
      found = found || (names->v[k] && strcasecmp(names->v[k], known[n]) == 0);
    if (!found)
      return BAD(i, "unknown activation \"%s\"", names->v[k] ? names->v[k] : "");
  }
  if (alpha->n < 0 || alpha->n > want || beta->n < 0 || beta->n > want)
    return BAD(i, "alpha and beta have %lld and %lld entries for %lld activations",
               wk_ll(alpha->n), wk_ll(beta->n), wk_ll(want));
  return NULL;
}

wk_status wk_infer_rnn(const wk_infer *i) {
  const bool lstm = i->op == WK_OP_LSTM;
  const int gates = lstm ? 4 : i->op == WK_OP_GRU ? 3 : 1;
  const int activations = lstm ? 3 : i->op == WK_OP_GRU ? 2 : 1;
  const wk_type *x = i->in[0], *r = i->in[2];
  const wk_dtype t = x->dtype;
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(wk_want_choice(i, "direction", "forward reverse bidirectional"));
  int64_t d = strcmp(wk_infer_attr_text(i, "direction"), "bidirectional") == 0 ? 2 : 1;
  WK_TRY(want_activations(i, d, activations));
  for (uint32_t k = 0; k < 3; k++) WK_TRY(wk_want_rank(i, k, 3, 3));
  int64_t steps = x->dims[0], n = x->dims[1], h = r->dims[2], gate_rows, bias;
  if (!wk_mul_ok(gates, h, &gate_rows) || !wk_mul_ok(2, gate_rows, &bias))
    return BAD(i, "hidden size %lld is too large", wk_ll(h));
  WK_TRY(wk_want_type(i, 1, t, 3, (const int64_t[]){d, gate_rows, x->dims[2]}));
  WK_TRY(wk_want_type(i, 2, t, 3, (const int64_t[]){d, gate_rows, h}));
  WK_TRY(wk_want_type(i, 3, t, 2, (const int64_t[]){d, bias}));
  WK_TRY(wk_want_type(i, 4, WK_I32, 1, &n));
  const int64_t state[] = {d, n, h};
  WK_TRY(wk_want_type(i, 5, t, 3, state));
  if (lstm) {
    WK_TRY(wk_want_flag(i, "input_forget"));
    WK_TRY(wk_want_type(i, 6, t, 3, state));
    WK_TRY(wk_want_type(i, 7, t, 2, (const int64_t[]){d, 3 * (gate_rows / 4)}));
  } else if (i->op == WK_OP_GRU) {
    WK_TRY(wk_want_flag(i, "linear_before_reset"));
  }
  for (uint32_t k = 0; k < i->n_out; k++)
    i->out[k] =
        k ? wk_type_make(t, 3, state) : wk_type_make(t, 4, (const int64_t[]){steps, d, n, h});
  return NULL;
}

/* ---- control --------------------------------------------------------------------------------- */

static const wk_type *body_input(const wk_graph *g, size_t k) {
  return &wk_val(g, g->inputs.data[k])->type;
}

static const wk_type *body_output(const wk_graph *g, size_t k) {
  return &wk_val(g, g->outputs.data[k])->type;
}

static wk_status differ(const wk_infer *i, const char *what, size_t k, const wk_type *got,
                        const wk_type *want) {
  wk_str p = {0}, q = {0};
  wk_type_print(&p, got);
  wk_type_print(&q, want);
  wk_status s = BAD(i, "%s %zu is %s, needs %s", what, k, p.s, q.s);
  wk_str_free(&p);
  wk_str_free(&q);
  return s;
}

static wk_status want_bodies(const wk_infer *i, uint32_t n) {
  if (i->n_bodies != n) return BAD(i, "has %u bodies, needs %u", i->n_bodies, n);
  for (uint32_t k = 0; k < n; k++)
    if (!i->bodies[k]) return BAD(i, "body %u is missing", k);
  return NULL;
}

wk_status wk_infer_body(const wk_infer *i) {
  WK_TRY(want_bodies(i, 2));
  WK_TRY(wk_want_scalar(i, 0, WK_BOOL));
  uint32_t captures = i->n_in - 1;
  for (uint32_t b = 0; b < 2; b++) {
    const wk_graph *g = i->bodies[b];
    if (g->inputs.n != captures)
      return BAD(i, "body %u has %zu inputs but %u captures", b, g->inputs.n, captures);
    for (uint32_t k = 0; k < captures; k++)
      if (!wk_type_equal(body_input(g, k), i->in[k + 1]))
        return differ(i, b ? "input of the else body" : "input of the then body", k,
                      body_input(g, k), i->in[k + 1]);
    if (g->outputs.n != i->n_out)
      return BAD(i, "body %u has %zu outputs but %u are asked for", b, g->outputs.n, i->n_out);
  }
  for (uint32_t k = 0; k < i->n_out; k++) {
    i->out[k] = *body_output(i->bodies[0], k);
    const wk_type *other = body_output(i->bodies[1], k);
    if (!wk_type_equal(other, &i->out[k]))
      return differ(i, "output of the else body", k, other, &i->out[k]);
  }
  return NULL;
}

/* The type of one slice of t along axis. */
static wk_type without_axis(const wk_type *t, int64_t axis) {
  wk_type y = {.dtype = t->dtype};
  for (int k = 0; k < t->rank; k++)
    if (k != axis) y.dims[y.rank++] = t->dims[k];
  return y;
}

static wk_status loop_counts(const wk_infer *i, const wk_attr_loop *at) {
  WK_TRY(wk_want_at_least(i, "trip", at->trip, 0));
  WK_TRY(wk_want_at_least(i, "n_state", at->n_state, 0));
  WK_TRY(wk_want_at_least(i, "n_scan", at->n_scan, 0));
  WK_TRY(wk_want_flag(i, "has_cond"));
  WK_TRY(wk_want_scalar(i, 0, WK_BOOL));
  if (!at->has_cond && wk_infer_in(i, 0)) return BAD(i, "cond is given but has_cond is 0");
  int64_t operands = i->n_in ? (int64_t)i->n_in - 1 : 0;
  if (at->n_state > operands || at->n_scan > operands - at->n_state)
    return BAD(i, "%lld state and %lld scan operands but %lld inputs", wk_ll(at->n_state),
               wk_ll(at->n_scan), wk_ll(operands));
  if (i->n_out < at->n_state)
    return BAD(i, "%lld states but %u outputs", wk_ll(at->n_state), i->n_out);
  int64_t slices = (int64_t)i->n_out - at->n_state;
  if (at->has_cond && slices)
    return BAD(i, "slices cannot be collected when cond may end the loop");
  WK_TRY(wk_want_list(i, "scan_reverse", at->scan_reverse, at->n_scan, 0));
  WK_TRY(wk_want_list(i, "scan_axes", at->scan_axes, at->n_scan, 0));
  WK_TRY(wk_want_list(i, "out_reverse", at->out_reverse, slices, 0));
  return wk_want_list(i, "out_axes", at->out_axes, slices, 0);
}

/* Body inputs: iteration, states, one slice of each scan, captures. */
static wk_status loop_inputs(const wk_infer *i, const wk_attr_loop *at) {
  const wk_graph *g = i->bodies[0];
  uint32_t operands = i->n_in ? i->n_in - 1 : 0;
  const wk_type iteration = {.dtype = WK_I64};
  if (g->inputs.n != (size_t)operands + 1)
    return BAD(i, "body has %zu inputs, needs %u", g->inputs.n, operands + 1);
  if (!wk_type_equal(body_input(g, 0), &iteration))
    return differ(i, "body input", 0, body_input(g, 0), &iteration);
  for (uint32_t k = 0; k < operands; k++) {
    wk_type want = *i->in[k + 1];
    int64_t scan = (int64_t)k - at->n_state;
    if (scan >= 0 && scan < at->n_scan) {
      int64_t axis = at->scan_axes.v[scan];
      WK_TRY(wk_want_axis(i, "scan_axes", axis, want.rank));
      if (want.dims[axis] != at->trip)
        return BAD(i, "scan %lld has %lld along axis %lld but the loop runs %lld times",
                   wk_ll(scan), wk_ll(want.dims[axis]), wk_ll(axis), wk_ll(at->trip));
      want = without_axis(&want, axis);
    }
    if (!wk_type_equal(body_input(g, k + 1), &want))
      return differ(i, "body input", k + 1, body_input(g, k + 1), &want);
  }
  return NULL;
}

wk_status wk_infer_loop(const wk_infer *i) {
  const wk_attr_loop *at = i->attrs;
  WK_TRY(want_bodies(i, 1));
  WK_TRY(loop_counts(i, at));
  WK_TRY(loop_inputs(i, at));
  const wk_graph *g = i->bodies[0];
  size_t first = at->has_cond ? 1 : 0;
  if (g->outputs.n != first + i->n_out)
    return BAD(i, "body has %zu outputs, needs %zu", g->outputs.n, first + i->n_out);
  const wk_type *cond = first ? body_output(g, 0) : NULL;
  if (cond && (cond->dtype != WK_BOOL || wk_type_count(cond) != 1))
    return BAD(i, "the first output of the body must be the condition, one bool");
  for (uint32_t k = 0; k < i->n_out; k++) {
    const wk_type *y = body_output(g, first + k);
    i->out[k] = *y;
    if (k < at->n_state) {
      if (!wk_type_equal(y, i->in[1 + k])) return differ(i, "state", k, y, i->in[1 + k]);
      continue;
    }
    int64_t axis = at->out_axes.v[k - at->n_state];
    if (y->rank == WK_MAX_RANK) return UNSUPPORTED(i, "collected slices have rank %d", y->rank);
    WK_TRY(wk_want_axis(i, "out_axes", axis, y->rank + 1));
    wk_type all = {.dtype = y->dtype, .rank = y->rank + 1};
    for (int a = 0; a < all.rank; a++)
      all.dims[a] = a == axis ? at->trip : y->dims[a < axis ? a : a - 1];
    i->out[k] = all;
  }
  return NULL;
}

/* ---- random ---------------------------------------------------------------------------------- */

wk_status wk_infer_random(const wk_infer *i) {
  int64_t t = wk_infer_attr_int(i, "to");
  const wk_ints *shape = wk_infer_attr(i, "shape");
  if (t < WK_F32 || t > WK_F64) return BAD(i, "to must be a floating-point type");
  if (shape->n < 0 || shape->n > WK_MAX_RANK)
    return UNSUPPORTED(i, "shape has %lld entries, rank is limited to %d", wk_ll(shape->n),
                       WK_MAX_RANK);
  WK_TRY(wk_want_list(i, "shape", *shape, shape->n, 0));
  i->out[0] = wk_type_make((wk_dtype)t, (int)shape->n, shape->v);
  return NULL;
}
