/* SPDX-License-Identifier: Apache-2.0
 * LSTM, GRU and RNN. The products with the input run for all steps at once, x W^T + b; a loop
 * carries the state: one product h R^T and elementwise gates per step. Formulas and gate orders
 * as in ONNX:
 *   LSTM  i = f(xi + hi + Pi.c)  o = f(xo + ho + Po.c')  F = f(xf + hf + Pf.c)  g = g(xc + hc)
 *         c' = F.c + i.g   h' = o.h(c')
 *   GRU   z = f(xz + hz)  r = f(xr + hr)
 *         n = g(xn + (r.h) Rn^T + b), or g(xn + r.(h Rn^T + b)) when linear before reset
 *         h' = (1 - z).n + z.h
 *   RNN   h' = f(x + h R^T)
 * Past a sample's length the state is kept and the output is 0: selects by a predicate that the
 * loop scans say so, and whoever makes instructions sees which rows of the products nobody needs.
 * The state of 16-bit floats is f32: what is rounded are the results. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "compiler/ir/node_expr.h"
#include "compiler/lower/build.h"

#define MAX_STATES 2

typedef struct {
  wk_op op;             /* activation as an elementwise operator … */
  void *attrs;
  bool scaled;          /* … or scale * op(inner * x) + shift */
  double scale, inner, shift;
} activation;

typedef struct {
  wk_low *l;            /* the graph around the loop */
  const wk_node *n;
  const wk_attr_rnn *a; /* LSTM and GRU begin with the same fields */
  int gates, states, dir;
  bool reverse;
  int64_t steps, batch, input, hidden;
  wk_dtype t, wide;     /* of x; of what is computed */
  activation act[3];
} rnn;

/* ---- activations ----------------------------------------------------------------------------- */

static const struct {
  const char *name;
  wk_op op;
  int params;
  double alpha, beta;
  bool scaled;
} known[] = {
    {"Sigmoid", WK_OP_SIGMOID, 0, 0, 0, false},
    {"Tanh", WK_OP_TANH, 0, 0, 0, false},
    {"Relu", WK_OP_RELU, 0, 0, 0, false},
    {"Softsign", WK_OP_SOFTSIGN, 0, 0, 0, false},
    {"Softplus", WK_OP_SOFTPLUS, 0, 0, 0, false},
    {"LeakyRelu", WK_OP_LEAKY_RELU, 1, 0.01, 0, false},
    {"ThresholdedRelu", WK_OP_THRESHOLDED_RELU, 1, 1, 0, false},
    {"Elu", WK_OP_ELU, 1, 1, 0, false},
    {"HardSigmoid", WK_OP_HARD_SIGMOID, 2, 0.2, 0.5, false},
    {"Affine", WK_OP_IDENTITY, 2, 1, 0, true},  /* alpha * x + beta */
    {"ScaledTanh", WK_OP_TANH, 2, 1, 1, true},  /* alpha * tanh(beta * x) */
};

/* Parameters are consumed from the lists in the order of the functions that have any. */
static activation make_activation(wk_low *l, const char *name, const double *alpha,
                                  const double *beta) {
  activation act = {.op = WK_OP_IDENTITY};
  for (size_t i = 0; i < WK_COUNTOF(known); i++) {
    if (strcasecmp(known[i].name, name)) continue;
    double a = alpha ? *alpha : known[i].alpha, b = beta ? *beta : known[i].beta;
    act.op = known[i].op;
    act.attrs = wk_attrs_new(l->arena, act.op);
    if (act.op == WK_OP_LEAKY_RELU) ((wk_attr_leaky_relu *)act.attrs)->alpha = a;
    if (act.op == WK_OP_THRESHOLDED_RELU) ((wk_attr_thresholded_relu *)act.attrs)->alpha = a;
    if (act.op == WK_OP_ELU) ((wk_attr_elu *)act.attrs)->alpha = a;
    if (act.op == WK_OP_HARD_SIGMOID) {
      ((wk_attr_hard_sigmoid *)act.attrs)->alpha = a;
      ((wk_attr_hard_sigmoid *)act.attrs)->beta = b;
    }
    act.scaled = known[i].scaled;
    act.scale = a;
    act.inner = known[i].op == WK_OP_TANH ? b : 1;
    act.shift = known[i].op == WK_OP_TANH ? 0 : b;
    return act;
  }
  wk_low_fail(l, wk_error(WK_UNSUPPORTED, "activation %s", name));
  return act;
}

static int params_of(const char *name) {
  for (size_t i = 0; i < WK_COUNTOF(known); i++)
    if (!strcasecmp(known[i].name, name)) return known[i].params;
  return 0;
}

/* A list holds the functions of all directions, one after the other; without one: the operator's
 * own. */
static void choose_activations(rnn *r) {
  static const char *const defaults[][3] = {
      {"Sigmoid", "Tanh", "Tanh"}, {"Sigmoid", "Tanh", NULL}, {"Tanh", NULL, NULL}};
  int row = r->n->op == WK_OP_LSTM ? 0 : r->n->op == WK_OP_GRU ? 1 : 2, per = 3 - row;
  int64_t next_alpha = 0, next_beta = 0;
  for (int k = 0; k < per * (r->dir + 1); k++) {
    const char *name = k < r->a->activations.n ? r->a->activations.v[k] : defaults[row][k % per];
    const double *alpha = NULL, *beta = NULL;
    int params = params_of(name);
    if (params > 0 && next_alpha < r->a->alpha.n) alpha = &r->a->alpha.v[next_alpha++];
    if (params > 1 && next_beta < r->a->beta.n) beta = &r->a->beta.v[next_beta++];
    if (k / per == r->dir) r->act[k % per] = make_activation(r->l, name, alpha, beta);
  }
}

/* ---- gate formulas --------------------------------------------------------------------------- */

/* A map under construction: its inputs are collected as the formula mentions them. */
typedef struct {
  rnn *r;
  wk_low *body;
  wk_expr_builder *b;
  wk_value_id in[16];
  uint32_t n;
} formula;

static formula formula_begin(rnn *r, wk_low *body) {
  return (formula){.r = r, .body = body, .b = wk_expr_begin(r->l->arena)};
}

static uint16_t use(formula *f, wk_value_id v) {
  if (f->body->status) return wk_expr_f(f->b, f->r->wide, 0);
  f->in[f->n] = v;
  uint16_t k = wk_expr_input(f->b, f->n, wk_low_type(f->body, v)->dtype);
  f->n++;
  return wk_expr_cast(f->b, f->r->wide, k);
}

static uint16_t op2(formula *f, wk_expr_op op, uint16_t x, uint16_t y) {
  return wk_expr_2(f->b, op, x, y);
}

static uint16_t clipped(formula *f, uint16_t x) {
  double c = f->r->a->clip;
  if (isinf(c)) return x;
  x = op2(f, WK_EX_MAX, x, wk_expr_f(f->b, f->r->wide, -c));
  return op2(f, WK_EX_MIN, x, wk_expr_f(f->b, f->r->wide, c));
}

static uint16_t activate(formula *f, int which, uint16_t x) {
  const activation *a = &f->r->act[which];
  wk_expr *e = NULL;
  x = clipped(f, x);
  if (a->scaled) x = op2(f, WK_EX_MUL, x, wk_expr_f(f->b, f->r->wide, a->inner));
  if (a->op != WK_OP_IDENTITY) {
    wk_status s = wk_op_expr(a->op, a->attrs, &f->r->wide, 1, f->r->wide, f->r->l->arena,
                             &e);
    if (s) {
      wk_low_fail(f->body, s);
      return x;
    }
    x = wk_expr_inline(f->b, e, &x, 0);
  }
  if (!a->scaled) return x;
  x = op2(f, WK_EX_MUL, x, wk_expr_f(f->b, f->r->wide, a->scale));
  return op2(f, WK_EX_ADD, x, wk_expr_f(f->b, f->r->wide, a->shift));
}

static wk_value_id formula_end(formula *f, uint16_t result) {
  wk_attr_map *a = wk_attrs_new(f->r->l->arena, WK_OP_MAP);
  a->body = wk_expr_finish(f->b, &result, 1);
  return wk_low_add(f->body, WK_OP_MAP, a, f->in, f->n, 1, NULL);
}

/* ---- one step -------------------------------------------------------------------------------- */

typedef struct {
  wk_value_id h, c, x;    /* x: [n, gates * hidden], input part of the gates */
  wk_value_id r, rn, bn, p; /* recurrent weights transposed; WK_NONE where absent */
  wk_value_id within;     /* bool[n, 1]: the step is one of the sample's */
} cell;

static wk_value_id gate(rnn *r, wk_low *body, wk_value_id v, int k) {
  return wk_low_slice(body, v, 1, k * r->hidden, r->hidden, 1);
}

/* x part + recurrent part of gate k, and the peephole P[k] . c when there is one. */
static uint16_t preactivation(formula *f, const cell *s, wk_value_id hr, int k, int peephole,
                              wk_value_id c) {
  uint16_t v = op2(f, WK_EX_ADD, use(f, gate(f->r, f->body, s->x, k)),
                   use(f, gate(f->r, f->body, hr, k)));
  if (s->p == WK_NONE || peephole < 0) return v;
  wk_value_id p = wk_low_slice(f->body, s->p, 0, peephole * f->r->hidden, f->r->hidden, 1);
  return op2(f, WK_EX_ADD, v, op2(f, WK_EX_MUL, use(f, p), use(f, c)));
}

static void lstm_step(rnn *r, wk_low *body, const cell *s, wk_value_id *next) {
  wk_value_id hr = wk_low_matmul(body, r->wide, s->h, s->r, WK_NONE);
  formula f = formula_begin(r, body);
  uint16_t i = activate(&f, 0, preactivation(&f, s, hr, 0, 0, s->c)), forget;
  if (((const wk_attr_lstm *)r->n->attrs)->input_forget)
    forget = op2(&f, WK_EX_SUB, wk_expr_f(f.b, r->wide, 1), i);
  else
    forget = activate(&f, 0, preactivation(&f, s, hr, 2, 2, s->c));
  uint16_t g = activate(&f, 1, preactivation(&f, s, hr, 3, -1, s->c));
  uint16_t kept = op2(&f, WK_EX_MUL, forget, use(&f, s->c));
  next[1] = formula_end(&f, op2(&f, WK_EX_ADD, kept, op2(&f, WK_EX_MUL, i, g)));
  f = formula_begin(r, body);
  uint16_t o = activate(&f, 0, preactivation(&f, s, hr, 1, 1, next[1]));
  uint16_t h = activate(&f, 2, use(&f, next[1]));
  next[0] = formula_end(&f, op2(&f, WK_EX_MUL, o, h));
}

static void gru_step(rnn *r, wk_low *body, const cell *s, wk_value_id *next) {
  bool linear = ((const wk_attr_gru *)r->n->attrs)->linear_before_reset != 0;
  wk_value_id hr = wk_low_matmul(body, r->wide, s->h, s->r, WK_NONE), inner;
  formula f = formula_begin(r, body);
  wk_value_id reset = 0;
  uint16_t v = activate(&f, 0, preactivation(&f, s, hr, 1, -1, WK_NONE));
  if (linear) { /* s->r covers all three gates */
    uint16_t hn = use(&f, gate(r, body, hr, 2));
    if (s->bn != WK_NONE) hn = op2(&f, WK_EX_ADD, hn, use(&f, s->bn));
    inner = formula_end(&f, op2(&f, WK_EX_MUL, v, hn));
  } else {
    reset = formula_end(&f, op2(&f, WK_EX_MUL, v, use(&f, s->h)));
    inner = wk_low_matmul(body, r->wide, reset, s->rn, WK_NONE);
  }
  f = formula_begin(r, body);
  uint16_t z = activate(&f, 0, preactivation(&f, s, hr, 0, -1, WK_NONE));
  uint16_t pre = op2(&f, WK_EX_ADD, use(&f, gate(r, body, s->x, 2)), use(&f, inner));
  uint16_t n = activate(&f, 1, pre);
  uint16_t keep = op2(&f, WK_EX_MUL, z, use(&f, s->h));
  uint16_t fresh = op2(&f, WK_EX_MUL, op2(&f, WK_EX_SUB, wk_expr_f(f.b, r->wide, 1), z), n);
  next[0] = formula_end(&f, op2(&f, WK_EX_ADD, fresh, keep));
}

static void rnn_step(rnn *r, wk_low *body, const cell *s, wk_value_id *next) {
  wk_value_id hr = wk_low_matmul(body, r->wide, s->h, s->r, WK_NONE);
  formula f = formula_begin(r, body);
  next[0] = formula_end(&f, activate(&f, 0, preactivation(&f, s, hr, 0, -1, WK_NONE)));
}

/* ---- one direction --------------------------------------------------------------------------- */

/* Row `dir` of a [directions, ...] tensor without its first axis. */
static wk_value_id of_direction(rnn *r, wk_value_id v) {
  wk_low *l = r->l;
  if (v == WK_NONE || l->status) return WK_NONE;
  wk_type t = *wk_low_type(l, v);
  return wk_low_reshape(l, wk_low_slice(l, v, 0, r->dir, 1, 1), t.rank - 1, t.dims + 1);
}

static wk_value_id input_of(const wk_node *n, uint32_t i) {
  return i < n->n_in ? n->in[i] : WK_NONE;
}

static wk_value_id transposed(wk_low *l, wk_value_id v) {
  static const int64_t perm[] = {1, 0};
  return wk_low_transpose(l, v, perm);
}

static wk_value_id widened(rnn *r, wk_value_id v) {
  bool same = r->l->status || wk_low_type(r->l, v)->dtype == r->wide;
  return same ? v : wk_low_map(r->l, r->wide, "a", 1, v);
}

/* Bias of the input product: Wb + Rb, except that the last gate of a GRU that is linear before
 * reset keeps its Rb inside (bn). */
static wk_value_id input_bias(rnn *r, bool split_last, wk_value_id *bn) {
  wk_low *l = r->l;
  wk_value_id b = of_direction(r, input_of(r->n, 3));
  *bn = WK_NONE;
  if (b == WK_NONE) return WK_NONE;
  int64_t n = r->gates * r->hidden, last = n - r->hidden;
  if (!split_last)
    return wk_low_map(l, r->wide, "add(a, b)", 2, wk_low_slice(l, b, 0, 0, n, 1),
                      wk_low_slice(l, b, 0, n, n, 1));
  *bn = wk_low_slice(l, b, 0, n + last, r->hidden, 1);
  wk_value_id parts[] = {wk_low_map(l, r->wide, "add(a, b)", 2, wk_low_slice(l, b, 0, 0, last, 1),
                                    wk_low_slice(l, b, 0, n, last, 1)),
                         widened(r, wk_low_slice(l, b, 0, last, r->hidden, 1))};
  return wk_low_concat(l, parts, 2, 0);
}

static wk_value_id input_product(rnn *r, wk_value_id bias) {
  wk_low *l = r->l;
  int64_t flat[] = {r->steps * r->batch, r->input};
  int64_t dims[] = {r->steps, r->batch, r->gates * r->hidden};
  wk_value_id x = wk_low_reshape(l, r->n->in[0], 2, flat);
  wk_value_id w = transposed(l, of_direction(r, r->n->in[1]));
  return wk_low_reshape(l, wk_low_matmul(l, r->wide, x, w, bias), 3, dims);
}

static wk_value_id initial_state(rnn *r, uint32_t input) {
  int64_t dims[] = {r->batch, r->hidden};
  wk_value_id v = of_direction(r, input_of(r->n, input));
  if (v != WK_NONE) return widened(r, v);
  return wk_low_expand(r->l, wk_low_scalar(r->l, r->wide, 0), 2, dims);
}

/* Keeps the old value where this step lies past the sample's length. */
static wk_value_id within_length(rnn *r, wk_low *body, wk_dtype t, const cell *s, wk_value_id fresh,
                                 wk_value_id old) {
  if (s->within == WK_NONE) return t == r->wide ? fresh : wk_low_map(body, t, "a", 1, fresh);
  return wk_low_map(body, t, "select(a, b, c)", 3, s->within, fresh, old);
}

typedef struct {
  wk_value_id outer[16];
  uint32_t n;
} captures;

static wk_value_id body_input(rnn *r, wk_graph *g, const char *name, wk_value_id outer) {
  return r->l->status ? 0 : wk_graph_input(g, name, wk_low_type(r->l, outer));
}

static wk_value_id capture(rnn *r, wk_graph *g, captures *c, const char *name, wk_value_id outer) {
  if (outer == WK_NONE || r->l->status) return WK_NONE;
  c->outer[c->n++] = outer;
  return body_input(r, g, name, outer);
}

static wk_attr_loop *loop_attrs(rnn *r, int64_t n_scan) {
  wk_arena *a = r->l->arena;
  wk_attr_loop *loop = wk_attrs_new(a, WK_OP_LOOP);
  loop->trip = r->steps;
  loop->n_state = r->states;
  loop->n_scan = n_scan;
  loop->scan_reverse = wk_ints_fill(a, n_scan, r->reverse);
  loop->scan_axes = wk_ints_fill(a, n_scan, 0);
  loop->out_reverse = wk_ints_fill(a, 1, r->reverse);
  loop->out_axes = wk_ints_fill(a, 1, 0);
  return loop;
}

/* Values of the direction around the loop. */
typedef struct { wk_value_id xw, r, rn, bn, within, p, h0, c0; } around;

/* The samples of whose steps one is: bool[steps, n]. */
static wk_value_id within_lengths(rnn *r) {
  wk_low *l = r->l;
  int64_t row[] = {1, r->batch}, dims[] = {r->steps, r->batch};
  wk_value_id lengths = input_of(r->n, 4);
  if (lengths == WK_NONE) return WK_NONE;
  lengths = wk_low_lengths(l, wk_low_reshape(l, lengths, 2, row), r->steps);
  return wk_low_map(l, WK_BOOL, "lt(index<0>(), a)", 1, wk_low_expand(l, lengths, 2, dims));
}

static wk_graph *loop_body(rnn *r, const around *o, captures *caps) {
  wk_low *l = r->l;
  wk_graph *g = wk_graph_new(l->g->module,
                             wk_arena_printf(l->arena, "%s.%s%d", r->n->name ? r->n->name : "rnn",
                                             r->reverse ? "reverse" : "step", r->dir));
  wk_low body = {.g = g, .arena = l->arena, .name = r->n->name};
  wk_type scalar = wk_type_make(WK_I64, 0, NULL);
  int64_t x_dims[] = {r->batch, r->gates * r->hidden};
  wk_type x_type = wk_type_make(r->wide, 2, x_dims);
  int64_t rows[] = {r->batch, 1};
  wk_type flags = wk_type_make(WK_BOOL, 1, &r->batch);
  cell s = {.c = WK_NONE, .within = WK_NONE};
  wk_graph_input(g, "iteration", &scalar);
  s.h = body_input(r, g, "h", o->h0);
  if (r->states > 1) s.c = body_input(r, g, "c", o->c0);
  s.x = wk_graph_input(g, "x", &x_type);
  if (o->within != WK_NONE) s.within = wk_graph_input(g, "within", &flags);
  s.r = capture(r, g, caps, "r", o->r);
  s.rn = capture(r, g, caps, "rn", o->rn);
  s.bn = capture(r, g, caps, "bn", o->bn);
  s.p = capture(r, g, caps, "p", o->p);
  if (l->status) return g;
  if (s.within != WK_NONE) s.within = wk_low_reshape(&body, s.within, 2, rows);
  wk_value_id next[MAX_STATES] = {0};
  if (r->n->op == WK_OP_LSTM) lstm_step(r, &body, &s, next);
  else if (r->n->op == WK_OP_GRU) gru_step(r, &body, &s, next);
  else rnn_step(r, &body, &s, next);
  wk_value_id zero = wk_low_scalar(&body, r->wide, 0);
  wk_value_id y = within_length(r, &body, r->t, &s, next[0], zero);
  next[0] = within_length(r, &body, r->wide, &s, next[0], s.h);
  if (r->states > 1) next[1] = within_length(r, &body, r->wide, &s, next[1], s.c);
  if (body.status) {
    wk_low_fail(l, body.status);
    return g;
  }
  for (int k = 0; k < r->states; k++) wk_graph_output(g, k ? "c" : "h", next[k]);
  wk_graph_output(g, "y", y);
  return g;
}

/* out: h, c (when there is one), y stacked [t, n, h]. */
static void direction(rnn *r, wk_value_id *out) {
  wk_low *l = r->l;
  const wk_node *n = r->n;
  bool gru = n->op == WK_OP_GRU;
  bool linear = gru && ((const wk_attr_gru *)n->attrs)->linear_before_reset;
  choose_activations(r);
  around o = {.rn = WK_NONE, .p = WK_NONE, .c0 = WK_NONE};
  o.xw = input_product(r, input_bias(r, linear, &o.bn));
  wk_value_id rec = of_direction(r, n->in[2]);
  if (l->status) return;
  if (gru && !linear) {
    o.rn = transposed(l, wk_low_slice(l, rec, 0, 2 * r->hidden, r->hidden, 1));
    rec = wk_low_slice(l, rec, 0, 0, 2 * r->hidden, 1);
  }
  o.r = transposed(l, rec);
  o.h0 = initial_state(r, 5);
  if (r->states > 1) o.c0 = initial_state(r, 6);
  if (n->op == WK_OP_LSTM) o.p = of_direction(r, input_of(n, 7));
  o.within = within_lengths(r);
  captures caps = {.n = 0};
  wk_graph *body = loop_body(r, &o, &caps);
  if (l->status) return;
  wk_value_id in[24] = {WK_NONE, o.h0};
  uint32_t k = 2;
  if (r->states > 1) in[k++] = o.c0;
  in[k++] = o.xw;
  if (o.within != WK_NONE) in[k++] = o.within;
  for (uint32_t i = 0; i < caps.n; i++) in[k++] = caps.outer[i];
  int64_t n_scan = o.within == WK_NONE ? 1 : 2;
  wk_node_desc d = {.op = WK_OP_LOOP, .name = n->name, .attrs = loop_attrs(r, n_scan), .in = in,
                    .n_in = k,
                    .n_out = (uint32_t)r->states + 1, .bodies = &body, .n_bodies = 1};
  l->status = wk_graph_add(l->g, &d, out);
}

static void lower_recurrent(wk_low *l, const wk_node *n, int gates, int states, wk_value_id *out) {
  const wk_attr_rnn *a = n->attrs;
  const wk_type x = *wk_low_type(l, n->in[0]), rec = *wk_low_type(l, n->in[2]);
  uint32_t dirs = (uint32_t)rec.dims[0];
  wk_value_id parts[1 + MAX_STATES][2]; /* y, h, c of each direction */
  for (uint32_t d = 0; d < dirs; d++) {
    rnn r = {.l = l, .n = n, .a = a, .gates = gates, .states = states, .dir = (int)d,
             .reverse = d == 1 || !strcmp(a->direction, "reverse"), .steps = x.dims[0],
             .batch = x.dims[1], .input = x.dims[2], .hidden = rec.dims[2], .t = x.dtype,
             .wide = wk_compute_dtype(x.dtype)};
    wk_value_id got[1 + MAX_STATES] = {0};
    direction(&r, got);
    int64_t y_dims[] = {r.steps, 1, r.batch, r.hidden}, s_dims[] = {1, r.batch, r.hidden};
    parts[0][d] = wk_low_reshape(l, got[states], 4, y_dims);
    for (int k = 0; k < states; k++) {
      if (r.t != r.wide) got[k] = wk_low_map(l, r.t, "a", 1, got[k]);
      parts[1 + k][d] = wk_low_reshape(l, got[k], 3, s_dims);
    }
  }
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != WK_NONE) out[k] = wk_low_concat(l, parts[k], dirs, k == 0 ? 1 : 0);
}

void wk_lower_lstm(wk_low *l, const wk_node *n, wk_value_id *out) {
  lower_recurrent(l, n, 4, 2, out);
}
void wk_lower_gru(wk_low *l, const wk_node *n, wk_value_id *out) {
  lower_recurrent(l, n, 3, 1, out);
}
void wk_lower_rnn(wk_low *l, const wk_node *n, wk_value_id *out) {
  lower_recurrent(l, n, 1, 1, out);
}
