/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN: for each direction and sample the steps one after the other. A step computes
 * xw = W x + Wb and hr = R h + Rb for all gates, then the cell; states are rounded to the type that
 * x is computed in after each step, everything between is in doubles. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler/eval/handler.h"

/* ---- activations ----------------------------------------------------------------------------- */

typedef enum {
  ACT_RELU, ACT_TANH, ACT_SIGMOID, ACT_AFFINE, ACT_LEAKY, ACT_THRESHOLD, ACT_SCALED_TANH,
  ACT_HARD_SIGMOID, ACT_ELU, ACT_SOFTSIGN, ACT_SOFTPLUS
} act_kind;

typedef struct { act_kind kind; double alpha, beta, clip; } activation;

static const struct {
  const char *name;
  int parameters; /* how many of alpha, beta it has */
  double alpha, beta;
} act_rows[] = {
    [ACT_RELU] = {"Relu", 0, 0, 0},
    [ACT_TANH] = {"Tanh", 0, 0, 0},
    [ACT_SIGMOID] = {"Sigmoid", 0, 0, 0},
    [ACT_AFFINE] = {"Affine", 2, 1, 0},
    [ACT_LEAKY] = {"LeakyRelu", 1, 0.01, 0},
    [ACT_THRESHOLD] = {"ThresholdedRelu", 1, 1, 0},
    [ACT_SCALED_TANH] = {"ScaledTanh", 2, 1, 1},
    [ACT_HARD_SIGMOID] = {"HardSigmoid", 2, 0.2, 0.5},
    [ACT_ELU] = {"Elu", 1, 1, 0},
    [ACT_SOFTSIGN] = {"Softsign", 0, 0, 0},
    [ACT_SOFTPLUS] = {"Softplus", 0, 0, 0},
};

static double apply(const activation *f, double x) {
  double a = f->alpha, b = f->beta;
  if (x > f->clip) x = f->clip;
  if (x < -f->clip) x = -f->clip;
  switch (f->kind) {
    case ACT_RELU: return x > 0 || isnan(x) ? x : 0;
    case ACT_TANH: return tanh(x);
    case ACT_SIGMOID: return 1 / (1 + exp(-x));
    case ACT_AFFINE: return a * x + b;
    case ACT_LEAKY: return x < 0 ? a * x : x;
    case ACT_THRESHOLD: return x > a ? x : 0;
    case ACT_SCALED_TANH: return a * tanh(b * x);
    case ACT_HARD_SIGMOID: return fmax(0, fmin(1, a * x + b));
    case ACT_ELU: return x < 0 ? a * (exp(x) - 1) : x;
    case ACT_SOFTSIGN: return x / (1 + fabs(x));
    case ACT_SOFTPLUS: return fmax(x, 0) + log1p(exp(-fabs(x)));
  }
  return x;
}

/* The functions that have alpha (beta) take the entries of the list in order. */
static void read_activations(activation *out, int n, const char *const *defaults, int n_defaults,
                             const wk_texts *names, const wk_floats *alpha, const wk_floats *beta,
                             double clip) {
  int64_t next_alpha = 0, next_beta = 0;
  for (int i = 0; i < n; i++) {
    const char *name = names->n ? names->v[i] : defaults[i % n_defaults];
    int kind = 0;
    for (int k = 0; k < (int)WK_COUNTOF(act_rows); k++)
      if (strcasecmp(act_rows[k].name, name) == 0) kind = k;
    out[i] = (activation){(act_kind)kind, act_rows[kind].alpha, act_rows[kind].beta, clip};
    if (act_rows[kind].parameters > 0 && next_alpha < alpha->n)
      out[i].alpha = alpha->v[next_alpha++];
    if (act_rows[kind].parameters > 1 && next_beta < beta->n) out[i].beta = beta->v[next_beta++];
  }
}

/* ---- one step -------------------------------------------------------------------------------- */

typedef struct rnn rnn;
typedef void (*cell_fn)(const rnn *r, const activation *f);

struct rnn {
  const wk_eval_call *c;
  int gates, n_act;
  bool reset_after;  /* GRU: linear_before_reset */
  bool input_forget; /* LSTM */
  int64_t steps, samples, in, hidden;
  double *w, *rw, *b, *p; /* of the direction at hand; p NULL: none */
  double *x, *h, *cell, *xw, *hr, *tmp;
  cell_fn step;
};

/* y[j] = bias[j] + sum of m[j][i] v[i] */
static void affine(double *y, const double *m, const double *v, const double *bias, int64_t rows,
                   int64_t n) {
  for (int64_t j = 0; j < rows; j++) {
    double sum = bias[j];
    for (int64_t i = 0; i < n; i++) sum += m[j * n + i] * v[i];
    y[j] = sum;
  }
}

static void lstm_cell(const rnn *r, const activation *f) {
  int64_t n = r->hidden;
  for (int64_t j = 0; j < n; j++) {
    double gate[4], c = r->cell[j], pi = 0, po = 0, pf = 0;
    for (int g = 0; g < 4; g++) gate[g] = r->xw[g * n + j] + r->hr[g * n + j];
    if (r->p) pi = r->p[j], po = r->p[n + j], pf = r->p[2 * n + j];
    double in = apply(&f[0], gate[0] + pi * c);
    double forget = r->input_forget ? 1 - in : apply(&f[0], gate[2] + pf * c);
    double now = forget * c + in * apply(&f[1], gate[3]);
    r->cell[j] = now;
    r->h[j] = apply(&f[0], gate[1] + po * now) * apply(&f[2], now);
  }
}

static void gru_cell(const rnn *r, const activation *f) {
  int64_t n = r->hidden;
  const double *bias = r->b + r->gates * n; /* of the recurrence */
  for (int64_t j = 0; j < n; j++) {
    double reset = apply(&f[0], r->xw[n + j] + r->hr[n + j]);
    r->tmp[j] = r->reset_after ? reset * r->hr[2 * n + j] : reset * r->h[j];
  }
  if (!r->reset_after) affine(r->hr + 2 * n, r->rw + 2 * n * n, r->tmp, bias + 2 * n, n, n);
  for (int64_t j = 0; j < n; j++) {
    double z = apply(&f[0], r->xw[j] + r->hr[j]);
    double add = r->reset_after ? r->tmp[j] : r->hr[2 * n + j];
    r->h[j] = (1 - z) * apply(&f[1], r->xw[2 * n + j] + add) + z * r->h[j];
  }
}

static void rnn_cell(const rnn *r, const activation *f) {
  for (int64_t j = 0; j < r->hidden; j++) r->h[j] = apply(&f[0], r->xw[j] + r->hr[j]);
}

static void round_state(double *v, int64_t n, wk_dtype t) {
  char word[8];
  for (int64_t j = 0; j < n; j++) {
    wk_store_f64(word, t, 0, v[j]);
    v[j] = wk_load_f64(word, t, 0);
  }
}

/* ---- sequences ------------------------------------------------------------------------------- */

static void read_state(double *v, const wk_tensor *t, int64_t at, int64_t n) {
  if (t) wk_reals_read(v, t, at * n, 1, n);
  else memset(v, 0, (size_t)n * sizeof *v);
}

static void write_state(const double *v, wk_tensor *t, int64_t at, int64_t n) {
  if (t) wk_reals_write(v, t, at * n, 1, n);
}

static wk_status run_sample(rnn *r, const activation *f, int64_t dir, int64_t dirs, int64_t sample,
                            bool reverse) {
  const wk_eval_call *c = r->c;
  const wk_tensor *x = &c->a.in[0], *lengths = wk_eval_in(c, 4);
  int64_t length = lengths ? wk_load_i64(lengths->data, lengths->type.dtype, sample) : r->steps;
  if (length < 0 || length > r->steps)
    return EVAL_BAD(c, "sequence length %lld is outside 0..%lld", (long long)length,
                    (long long)r->steps);
  int64_t n = r->hidden, at = dir * r->samples + sample;
  read_state(r->h, wk_eval_in(c, 5), at, n);
  read_state(r->cell, wk_eval_in(c, 6), at, n);
  for (int64_t s = 0; s < length; s++) {
    int64_t t = reverse ? length - 1 - s : s;
    wk_reals_read(r->x, x, (t * r->samples + sample) * r->in, 1, r->in);
    affine(r->xw, r->w, r->x, r->b, r->gates * n, r->in);
    affine(r->hr, r->rw, r->h, r->b + r->gates * n, r->gates * n, n);
    r->step(r, f);
    round_state(r->h, n, wk_compute_dtype(x->type.dtype));
    round_state(r->cell, n, wk_compute_dtype(x->type.dtype));
    write_state(r->h, wk_eval_out(c, 0), (t * dirs + dir) * r->samples + sample, n);
  }
  write_state(r->h, wk_eval_out(c, 1), at, n);
  write_state(r->cell, wk_eval_out(c, 2), at, n);
  return NULL;
}

static wk_status run_direction(rnn *r, const activation *f, int64_t dir, int64_t dirs,
                               bool reverse) {
  const wk_eval_call *c = r->c;
  int64_t rows = r->gates * r->hidden;
  wk_reals_read(r->w, &c->a.in[1], dir * rows * r->in, 1, rows * r->in);
  wk_reals_read(r->rw, &c->a.in[2], dir * rows * r->hidden, 1, rows * r->hidden);
  if (wk_eval_in(c, 3)) wk_reals_read(r->b, &c->a.in[3], dir * 2 * rows, 1, 2 * rows);
  if (r->p) wk_reals_read(r->p, &c->a.in[7], dir * 3 * r->hidden, 1, 3 * r->hidden);
  for (int64_t s = 0; s < r->samples; s++) WK_TRY(run_sample(r, f, dir, dirs, s, reverse));
  return NULL;
}

static wk_status run(rnn *r, const activation *f, const char *direction) {
  const wk_eval_call *c = r->c;
  int64_t dirs = c->a.in[1].type.dims[0];
  r->steps = c->a.in[0].type.dims[0];
  r->samples = c->a.in[0].type.dims[1];
  r->in = c->a.in[0].type.dims[2];
  r->hidden = c->a.in[2].type.dims[2];
  int64_t n = r->hidden, rows = r->gates * n;
  struct { double **at; int64_t n; } parts[] = {
      {&r->w, rows * r->in}, {&r->rw, rows * n}, {&r->b, 2 * rows}, {&r->x, r->in}, {&r->h, n},
      {&r->cell, n}, {&r->xw, rows}, {&r->hr, rows}, {&r->tmp, n}, {&r->p, 3 * n}};
  int64_t total = 0;
  for (size_t i = 0; i < WK_COUNTOF(parts); i++) total += parts[i].n;
  double *memory, *next;
  WK_TRY(wk_reals_alloc(total, &memory));
  next = memory;
  for (size_t i = 0; i < WK_COUNTOF(parts); i++) {
    *parts[i].at = next;
    next += parts[i].n;
  }
  if (!wk_eval_in(c, 7)) r->p = NULL;
  wk_status s = NULL;
  for (int64_t d = 0; d < dirs && !s; d++)
    s = run_direction(r, f + d * r->n_act, d, dirs, d == 1 || strcmp(direction, "reverse") == 0);
  free(memory);
  return s;
}

wk_status wk_eval_lstm(const wk_eval_call *c) {
  static const char *const defaults[] = {"Sigmoid", "Tanh", "Tanh"};
  const wk_attr_lstm *a = c->a.node->attrs;
  activation f[6];
  read_activations(f, 3 * (int)c->a.in[1].type.dims[0], defaults, 3, &a->activations, &a->alpha,
                   &a->beta, a->clip);
  rnn r = {.c = c, .gates = 4, .n_act = 3, .step = lstm_cell, .input_forget = a->input_forget != 0};
  return run(&r, f, a->direction);
}

wk_status wk_eval_gru(const wk_eval_call *c) {
  static const char *const defaults[] = {"Sigmoid", "Tanh"};
  const wk_attr_gru *a = c->a.node->attrs;
  activation f[4];
  read_activations(f, 2 * (int)c->a.in[1].type.dims[0], defaults, 2, &a->activations, &a->alpha,
                   &a->beta, a->clip);
  rnn r = {.c = c, .gates = 3, .n_act = 2, .step = gru_cell,
           .reset_after = a->linear_before_reset != 0};
  return run(&r, f, a->direction);
}

wk_status wk_eval_rnn(const wk_eval_call *c) {
  static const char *const defaults[] = {"Tanh"};
  const wk_attr_rnn *a = c->a.node->attrs;
  activation f[2];
  read_activations(f, (int)c->a.in[1].type.dims[0], defaults, 1, &a->activations, &a->alpha,
                   &a->beta, a->clip);
  rnn r = {.c = c, .gates = 1, .n_act = 1, .step = rnn_cell};
  return run(&r, f, a->direction);
}
