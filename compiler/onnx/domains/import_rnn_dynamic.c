/* SPDX-License-Identifier: Apache-2.0
 * com.microsoft DynamicQuantizeLSTM: an LSTM with 8-bit weights, whose input is quantised as a
 * whole and whose hidden state at every step, by their ranges. A LOOP over the steps for each
 * direction. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/quant.h"

enum { X, W, R, B, LENGTHS, H0, C0, P, W_SCALE, W_ZERO, R_SCALE, R_ZERO };

/* What a step takes from outside; WK_NONE: there is none. */
enum { WEIGHTS, SCALE, SUMS, ZERO, PEEPHOLES, N_FIXED };

typedef struct {
  int64_t steps, batch, hidden;
  double clip;
  bool coupled;                 /* the forget gate is 1 - the input gate */
  bool reverse;
  wk_value_id gates, active;    /* [steps, batch, 4 * hidden] f32; bool [steps, batch, 1] or none */
  wk_value_id h, c;             /* [batch, hidden] */
  wk_value_id fixed[N_FIXED];
} lstm;

/* ---- one step -------------------------------------------------------------------------------- */

/* (q - z) (weights - zero), with the columns' sums of the second factor at hand. */
static wk_value_id product(wk_onnx_node *c, wk_value_id h, const wk_value_id *fixed) {
  wk_dynamic d = wk_quant_dynamic(c, h);
  wk_value_id y = wk_make_2(c, WK_OP_MATMUL, d.q, fixed[WEIGHTS]);
  wk_value_id z = wk_make_cast(c, d.zero, WK_I32);
  y = wk_make_2(c, WK_OP_SUB, y, wk_make_2(c, WK_OP_MUL, z, fixed[SUMS]));
  if (fixed[ZERO] != WK_NONE) {
    wk_value_id sum = wk_make_reduce(c, WK_OP_REDUCE_SUM, wk_make_cast(c, d.q, WK_I32),
                                     wk_make_axes(c, 1, 2), true);
    y = wk_make_2(c, WK_OP_SUB, y, wk_make_2(c, WK_OP_MUL, sum, fixed[ZERO]));
  }
  wk_value_id scale = wk_make_2(c, WK_OP_MUL, d.scale, fixed[SCALE]);
  return wk_make_2(c, WK_OP_MUL, wk_make_cast(c, y, WK_F32), scale);
}

/* Gate k of the sums, with the peephole's part of the cell (p < 0: none), behind `op`. */
static wk_value_id gate(wk_onnx_node *c, const lstm *l, wk_value_id sums, int k, wk_op op,
                        wk_value_id cell, int p) {
  wk_value_id x = wk_make_slice(c, sums, 1, k * l->hidden, l->hidden, 1);
  wk_value_id weights = l->fixed[PEEPHOLES];
  if (p >= 0 && weights != WK_NONE) {
    weights = wk_make_slice(c, weights, 0, p * l->hidden, l->hidden, 1);
    x = wk_make_2(c, WK_OP_ADD, x, wk_make_2(c, WK_OP_MUL, weights, cell));
  }
  if (isfinite(l->clip)) {
    WK_MAKE_ATTRS(c, a, CLIP, clip);
    a->lo = -l->clip;
    a->hi = l->clip;
    x = wk_make(c, WK_OP_CLIP, a, 1, x);
  }
  return wk_make_1(c, op, x);
}

/* The state moves on; what is stored. l has the values of this graph. */
static wk_value_id step(wk_onnx_node *c, lstm *l) {
  wk_value_id h = l->h, cell = l->c;
  wk_value_id sums = wk_make_2(c, WK_OP_ADD, l->gates, product(c, h, l->fixed));
  wk_value_id in = gate(c, l, sums, 0, WK_OP_SIGMOID, cell, 0);
  wk_value_id keep = l->coupled
                         ? wk_make_2(c, WK_OP_SUB, wk_make_scalar(c, WK_F32, 1), in)
                         : gate(c, l, sums, 2, WK_OP_SIGMOID, cell, 2);
  wk_value_id now = gate(c, l, sums, 3, WK_OP_TANH, cell, -1);
  l->c = wk_make_2(c, WK_OP_ADD, wk_make_2(c, WK_OP_MUL, keep, cell),
                   wk_make_2(c, WK_OP_MUL, in, now));
  wk_value_id out = gate(c, l, sums, 1, WK_OP_SIGMOID, l->c, 1);
  wk_value_id y = l->h = wk_make_2(c, WK_OP_MUL, out, wk_make_1(c, WK_OP_TANH, l->c));
  if (l->active == WK_NONE) return y;
  l->h = wk_make_where(c, l->active, l->h, h);
  l->c = wk_make_where(c, l->active, l->c, cell);
  return wk_make_where(c, l->active, y, wk_make_scalar(c, WK_F32, 0));
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* An input of the body like v, or like one slice of it. */
static wk_value_id body_input(wk_onnx_node *c, wk_graph *g, wk_value_id v, bool is_slice) {
  if (v == WK_NONE) return WK_NONE;
  wk_type t = *wk_onnx_type(c, v);
  if (is_slice) {
    t.rank--;
    memmove(t.dims, t.dims + 1, (size_t)t.rank * sizeof *t.dims);
    t.dims[t.rank] = 0;
  }
  return wk_graph_input(g, NULL, &t);
}

static wk_graph *loop_body(wk_onnx_node *c, const lstm *l) {
  wk_module *m = c->im->m;
  wk_onnx_node inner = *c;
  lstm now = *l;
  inner.g = wk_graph_new(m, wk_arena_printf(m->arena, "%s.%zu", c->name, m->graphs.n));
  const wk_type i64 = wk_type_make(WK_I64, 0, NULL);
  wk_graph_input(inner.g, NULL, &i64);
  now.h = body_input(c, inner.g, l->h, false);
  now.c = body_input(c, inner.g, l->c, false);
  now.gates = body_input(c, inner.g, l->gates, true);
  now.active = body_input(c, inner.g, l->active, true);
  for (int i = 0; i < N_FIXED; i++) now.fixed[i] = body_input(c, inner.g, l->fixed[i], false);
  wk_value_id y = step(&inner, &now);
  wk_onnx_latch(c, inner.status);
  if (c->status) return NULL;
  wk_graph_output(inner.g, "h", now.h);
  wk_graph_output(inner.g, "c", now.c);
  wk_graph_output(inner.g, "y", y);
  return inner.g;
}

/* out: the last h and c, and all h [steps, batch, hidden]. */
static void run_loop(wk_onnx_node *c, const lstm *l, wk_value_id *out) {
  if (c->status || !wk_onnx_need(c, c->scope->depth + 1 < WK_GRAPH_MAX_DEPTH,
                                 "graphs are nested more than %d deep", WK_GRAPH_MAX_DEPTH))
    return;
  wk_graph *body = loop_body(c, l);
  if (!body) return;
  wk_arena *a = c->im->m->arena;
  wk_value_id in[N_FIXED + 5] = {WK_NONE, l->h, l->c, l->gates};
  uint32_t n = 4;
  if (l->active != WK_NONE) in[n++] = l->active;
  WK_MAKE_ATTRS(c, attr, LOOP, loop);
  attr->trip = l->steps;
  attr->n_state = 2;
  attr->n_scan = n - 3;
  for (int i = 0; i < N_FIXED; i++) {
    if (l->fixed[i] != WK_NONE) in[n++] = l->fixed[i];
  }
  attr->scan_axes = wk_ints_fill(a, attr->n_scan, 0);
  attr->scan_reverse = wk_ints_fill(a, attr->n_scan, l->reverse);
  attr->out_axes = wk_ints_fill(a, 1, 0);
  attr->out_reverse = wk_ints_fill(a, 1, l->reverse);
  const wk_node_desc d = {.op = WK_OP_LOOP, .name = c->name, .attrs = attr, .in = in, .n_in = n,
                          .n_out = 3, .bodies = &body, .n_bodies = 1};
  wk_onnx_latch(c, wk_graph_add(c->g, &d, out));
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Entry d of the first axis, which goes. */
static wk_value_id of_direction(wk_onnx_node *c, int i, int64_t d) {
  if (c->status || !wk_onnx_has(c, i)) return WK_NONE;
  const wk_type t = *wk_onnx_type(c, c->in[i]);
  return wk_make_reshape(c, wk_make_slice(c, c->in[i], 0, d, 1, 1), t.rank - 1, t.dims + 1);
}

static bool fits(wk_onnx_node *c, int i, int rank, int64_t a, int64_t b, int64_t last) {
  if (!wk_onnx_has(c, i)) return true;
  const wk_type *t = wk_onnx_type(c, c->in[i]);
  const int64_t want[] = {a, b, last};
  bool ok = t->rank == rank;
  for (int k = 0; ok && k < rank; k++) ok = t->dims[k] == want[k];
  return wk_onnx_valid(c, ok, "input %d does not fit the others", i);
}

/* Scales and zero points: one for each direction, or one for each of its columns. */
static bool is_parameter(wk_onnx_node *c, int i, int64_t directions, int64_t columns) {
  if (!wk_onnx_has(c, i)) return true;
  return fits(c, i, wk_onnx_type(c, c->in[i])->rank == 1 ? 1 : 2, directions, columns, 0);
}

static bool check(wk_onnx_node *c, int64_t directions, lstm *l) {
  const wk_type *x = wk_onnx_type(c, c->in[X]), *r = wk_onnx_type(c, c->in[R]);
  for (int i = 0; i < c->n_in; i++) {
    bool may_miss = i == B || i == LENGTHS || i == H0 || i == C0 || i == P;
    wk_onnx_valid(c, may_miss || wk_onnx_has(c, i), "input %d is missing", i);
  }
  if (!wk_onnx_valid(c, x->rank == 3 && r->rank == 3, "input or weights have not rank 3"))
    return false;
  l->steps = x->dims[0];
  l->batch = x->dims[1];
  int64_t h = l->hidden = r->dims[1];
  wk_texts names = wk_onnx_texts(c, "activations");
  for (int64_t i = 0; i < names.n; i++)
    wk_onnx_need(c, strcmp(names.v[i], i % 3 ? "Tanh" : "Sigmoid") == 0,
                 "activations other than Sigmoid, Tanh, Tanh are not supported");
  wk_onnx_valid(c, h > 0 && h < (int64_t)1 << 30 && wk_onnx_int(c, "hidden_size", h) == h,
                "hidden_size is not that of the weights");
  return wk_onnx_ok(c) && fits(c, W, 3, directions, x->dims[2], 4 * h) &&
         fits(c, R, 3, directions, h, 4 * h) && fits(c, B, 2, directions, 8 * h, 0) &&
         fits(c, LENGTHS, 1, l->batch, 0, 0) && fits(c, H0, 3, directions, l->batch, h) &&
         fits(c, C0, 3, directions, l->batch, h) && fits(c, P, 2, directions, 3 * h, 0) &&
         is_parameter(c, W_SCALE, directions, 4 * h) &&
         is_parameter(c, W_ZERO, directions, 4 * h) &&
         is_parameter(c, R_SCALE, directions, 4 * h) &&
         is_parameter(c, R_ZERO, directions, 4 * h);
}

/* The recurrent weights of direction d, and what else a step needs of them. */
static void read_weights(wk_onnx_node *c, int64_t d, lstm *l) {
  wk_value_id r = of_direction(c, R, d);
  wk_value_id zero = wk_quant_unless_zero(c, of_direction(c, R_ZERO, d));
  wk_value_id sums = wk_make_reduce(c, WK_OP_REDUCE_SUM, wk_make_cast(c, r, WK_I32),
                                    wk_make_axes(c, 0, 1), false);
  l->fixed[WEIGHTS] = r;
  l->fixed[SCALE] = of_direction(c, R_SCALE, d);
  l->fixed[ZERO] = WK_NONE;
  l->fixed[PEEPHOLES] = of_direction(c, P, d);
  if (zero != WK_NONE) {
    zero = l->fixed[ZERO] = wk_make_cast(c, zero, WK_I32);
    sums = wk_make_2(c, WK_OP_SUB, sums,
                     wk_make_2(c, WK_OP_MUL, zero, wk_make_scalar(c, WK_I32, (double)l->hidden)));
  }
  l->fixed[SUMS] = sums;
}

/* What the input adds to the gates, with both biases. */
static wk_value_id input_gates(wk_onnx_node *c, const wk_dynamic *x, int64_t d, const lstm *l) {
  wk_value_id bias = of_direction(c, B, d);
  if (bias != WK_NONE)
    bias = wk_make_2(c, WK_OP_ADD, wk_make_slice(c, bias, 0, 0, 4 * l->hidden, 1),
                     wk_make_slice(c, bias, 0, 4 * l->hidden, 4 * l->hidden, 1));
  return wk_quant_product(c, x->q, x->zero, x->scale, of_direction(c, W, d),
                          of_direction(c, W_ZERO, d), of_direction(c, W_SCALE, d), bias);
}

static wk_value_id start(wk_onnx_node *c, int i, int64_t d, const lstm *l) {
  const int64_t dims[] = {l->batch, l->hidden};
  if (wk_onnx_has(c, i)) return of_direction(c, i, d);
  return wk_make_expand(c, wk_make_scalar(c, WK_F32, 0), 2, dims);
}

/* The first lengths[b] steps of each sample from last to first. */
static wk_value_id reversed(wk_onnx_node *c, wk_value_id x) {
  WK_MAKE_ATTRS(c, a, REVERSE_SEQUENCE, reverse_sequence);
  return wk_make(c, WK_OP_REVERSE_SEQUENCE, a, 2, x, wk_make_cast(c, c->in[LENGTHS], WK_I64));
}

/* Direction d: out as of run_loop. */
static void run_direction(wk_onnx_node *c, const wk_dynamic *x, int64_t d, bool backwards,
                          const lstm *common, wk_value_id *out) {
  lstm l = *common;
  bool has_lengths = wk_onnx_has(c, LENGTHS);
  read_weights(c, d, &l);
  l.gates = input_gates(c, x, d, &l);
  l.h = start(c, H0, d, &l);
  l.c = start(c, C0, d, &l);
  l.reverse = backwards && !has_lengths;
  if (backwards && has_lengths) l.gates = reversed(c, l.gates);
  run_loop(c, &l, out);
  if (backwards && has_lengths && wk_onnx_ok(c)) out[2] = reversed(c, out[2]);
}

wk_status wk_onnx_dynamic_quantize_lstm(wk_onnx_node *c) {
  const char *direction = wk_onnx_text(c, "direction", "forward");
  bool both = strcmp(direction, "bidirectional") == 0, backwards = !strcmp(direction, "reverse");
  lstm l = {.clip = wk_onnx_float(c, "clip", INFINITY), .active = WK_NONE,
            .coupled = wk_onnx_int(c, "input_forget", 0) != 0};
  wk_onnx_valid(c, both || backwards || strcmp(direction, "forward") == 0,
                "direction '%s' is not defined", direction);
  int n = both ? 2 : 1;
  if (c->status || !check(c, n, &l)) return c->status;
  if (wk_onnx_has(c, LENGTHS)) {
    wk_value_id length = wk_make_along(c, wk_make_cast(c, c->in[LENGTHS], WK_I64), 1, 3);
    l.active = wk_make_2(c, WK_OP_LESS, wk_make_along(c, wk_make_iota(c, l.steps), 0, 3), length);
  }
  wk_dynamic x = wk_quant_dynamic(c, c->in[X]);
  wk_value_id parts[3][2], out[] = {WK_NONE, WK_NONE, WK_NONE};
  const int axis[] = {0, 0, 1};
  for (int d = 0; d < n && wk_onnx_ok(c); d++) {
    run_direction(c, &x, d, backwards || d == 1, &l, out);
    for (int i = 0; i < 3; i++)
      parts[i][d] = wk_make_unsqueeze(c, out[i], (wk_ints){1, (const int64_t[]){axis[i]}});
  }
  if (c->status) return c->status;
  for (int i = 0; i < 3; i++)
    wk_onnx_result(c, (i + 1) % 3, n == 1 ? parts[i][0] : wk_make_concat(c, parts[i], n, axis[i]));
  return c->status;
}
