/* SPDX-License-Identifier: Apache-2.0
 * Adjoints against central differences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/eval.h"
#include "compiler/grad/grad.h"

/* The first step, relative to max(1, |x|); where the difference is not stable yet it is made
 * smaller by SHRINK, up to STEPS times. */
#define STEP 1e-4
#define SHRINK 16.0
#define STEPS 4
/* Differences of two widths that agree to this relative error are stable. */
#define STABLE 1e-3
/* Rounding of an output of size 1, with the sums that made it. */
#define ROUNDING 2e-15

typedef struct {
  wk_module *forward;  /* in f64 */
  wk_module *backward; /* with the adjoints as its outputs */
  wk_tensor *in;       /* of both; f64 */
  size_t n_in, n_out, n_wrt;
  wk_value_id *wrt;    /* inputs and constants of forward->main */
  wk_tensor *weight;   /* of each output; data NULL: it does not count */
  wk_tensor *adjoint;  /* parallel to wrt; data NULL: 0 */
  wk_rng rng;
} check;

static bool is_float(const wk_graph *g, wk_value_id v) {
  return wk_val(g, v)->type.dtype == WK_F64;
}

/* ---- the loss ------------------------------------------------------------------------------ */

typedef struct { double sum, size; } loss;

static wk_status evaluate(const check *c, loss *out) {
  wk_tensor *y = wk_xcalloc(c->n_out, sizeof *y);
  *out = (loss){0};
  wk_status s = wk_eval_graph(c->forward->main, c->in, y, NULL, NULL);
  for (size_t k = 0; k < c->n_out && !s; k++) {
    for (int64_t i = 0, n = wk_type_count(&y[k].type); i < n && c->weight[k].data; i++) {
      double part = ((const double *)y[k].data)[i] * ((const double *)c->weight[k].data)[i];
      out->sum += part;
      out->size += fabs(part);
    }
  }
  for (size_t k = 0; k < c->n_out; k++) wk_tensor_free(&y[k]);
  free(y);
  return s;
}

typedef struct {
  double above, below; /* two places */
  loss up, down;       /* there */
} pair;

static wk_status evaluate_around(const check *c, double *x, double h, pair *out) {
  double old = *x;
  out->above = *x = old + h;
  wk_status s = evaluate(c, &out->up);
  out->below = *x = old - h;
  if (!s) s = evaluate(c, &out->down);
  *x = old;
  return s;
}

static wk_status difference(const check *c, double *x, double h, double *out, double *size) {
  pair p;
  WK_TRY(evaluate_around(c, x, h, &p));
  *out = (p.up.sum - p.down.sum) / (p.above - p.below);
  *size = fmax(p.up.size, p.down.size);
  return NULL;
}

/* By how much the slopes of both sides differ. */
static wk_status bend(const check *c, double *x, double h, double *out, double *size) {
  pair p;
  loss here;
  WK_TRY(evaluate_around(c, x, h, &p));
  WK_TRY(evaluate(c, &here));
  *out = fabs((p.up.sum - here.sum) / (p.above - *x) - (here.sum - p.down.sum) / (*x - p.below));
  *size = fmax(p.up.size, p.down.size);
  return NULL;
}

/* x is on a kink: what the slopes of both sides differ by does not go with the width. Differences
 * around it are stable. */
static wk_status find_corner(const check *c, double *x, bool *out) {
  double h = STEP * fmax(1, fabs(*x)), wide, narrow, size;
  WK_TRY(bend(c, x, h, &wide, &size));
  WK_TRY(bend(c, x, h / 2, &narrow, &size));
  *out = narrow > 0.75 * wide && narrow > 64 * ROUNDING * size / h;
  return NULL;
}

typedef struct {
  double value, rounding;
  bool is_stable;
} estimate;

/* Differences of two widths, extrapolated: the error goes with the fourth power of the width. */
static wk_status estimate_at(const check *c, double *x, estimate *out) {
  double h = STEP * fmax(1, fabs(*x)), wide, narrow, size, least = INFINITY;
  for (int k = 0; k < STEPS; k++, h /= SHRINK) {
    WK_TRY(difference(c, x, h, &wide, &size));
    WK_TRY(difference(c, x, h / 2, &narrow, &size));
    double rounding = ROUNDING * size / h, large = fmax(fabs(wide), fabs(narrow));
    double apart = fabs(wide - narrow);
    if (!(apart + rounding < least)) continue;
    least = apart + rounding;
    *out = (estimate){.value = (4 * narrow - wide) / 3, .rounding = rounding,
                      .is_stable = apart <= STABLE * large + 8 * rounding};
    if (apart <= 1e-7 * large + 8 * rounding) return NULL;
  }
  return NULL;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static double *data_of(const check *c, wk_value_id v) {
  const wk_graph *g = c->forward->main;
  for (size_t k = 0; k < c->n_in; k++)
    if (g->inputs.data[k] == v) return c->in[k].data;
  return (double *)(uintptr_t)wk_val(g, v)->data; /* the widened clone's own */
}

static wk_status check_element(check *c, size_t k, int64_t i, wk_grad_check_row *row) {
  estimate e = {0};
  const double *adjoint = c->adjoint[k].data;
  double a = adjoint ? adjoint[i] : 0;
  WK_TRY(estimate_at(c, &data_of(c, c->wrt[k])[i], &e));
  row->tried++;
  row->kinks += !e.is_stable;
  if (!e.is_stable) return NULL;
  if (fabs(a - e.value) > 8 * e.rounding + 1e-9 * fabs(e.value)) {
    bool is_corner;
    WK_TRY(find_corner(c, &data_of(c, c->wrt[k])[i], &is_corner));
    row->kinks += is_corner;
    if (is_corner) return NULL;
  }
  double apart = fabs(a - e.value), large = fmax(fabs(a), fabs(e.value));
  double error = apart <= 8 * e.rounding ? 0 : isfinite(a) ? apart / large : INFINITY;
  if (row->at >= 0 && error <= row->error) return NULL;
  row->at = i;
  row->adjoint = a;
  row->difference = e.value;
  row->error = error;
  return NULL;
}

static wk_status check_value(check *c, size_t k, const wk_grad_check_options *o,
                             wk_grad_check_row *row) {
  int64_t n = wk_type_count(&wk_val(c->forward->main, c->wrt[k])->type);
  int64_t tries = n <= o->elements ? n : o->elements;
  for (int64_t t = 0; t < tries; t++) {
    int64_t i = n <= o->elements ? t : (int64_t)(wk_rng_next(&c->rng) % (uint64_t)n);
    WK_TRY(check_element(c, k, i, row));
  }
  return NULL;
}

/* ---- setting up ---------------------------------------------------------------------------- */

/* Float inputs, then float constants that nodes read. */
static void find_all(check *c) {
  const wk_graph *g = c->forward->main;
  bool *seen = wk_xcalloc(g->values.n, 1);
  for (size_t k = 0; k < g->inputs.n; k++)
    if (is_float(g, g->inputs.data[k])) c->wrt[c->n_wrt++] = g->inputs.data[k];
  for (size_t i = 0; i < g->nodes.n; i++)
    for (uint32_t k = 0; k < g->nodes.data[i].n_in; k++) {
      wk_value_id v = g->nodes.data[i].in[k];
      if (!wk_is_const(g, v) || !is_float(g, v) || seen[v]) continue;
      seen[v] = true;
      c->wrt[c->n_wrt++] = v;
    }
  free(seen);
}

static void find_wrt(check *c, const wk_grad_check_options *o) {
  const wk_graph *g = c->forward->main;
  uint32_t v;
  c->wrt = wk_xcalloc(g->values.n, sizeof *c->wrt);
  if (!o->wrt) find_all(c);
  for (size_t k = 0; o->wrt && k < o->n_wrt; k++)
    if (wk_map_get(g->names, o->wrt[k], &v) && is_float(g, v)) c->wrt[c->n_wrt++] = v;
}

static wk_status draw_weights(check *c, const wk_grad_check_options *o) {
  const wk_graph *g = c->forward->main;
  bool found = false;
  c->weight = wk_xcalloc(c->n_out, sizeof *c->weight);
  for (size_t k = 0; k < c->n_out; k++) {
    wk_value_id v = g->outputs.data[k];
    bool counts = !o->of || !strcmp(o->of, g->output_names.data[k]);
    found = found || counts;
    if (!counts || !is_float(g, v)) continue;
    WK_TRY(wk_tensor_alloc(&wk_val(g, v)->type, &c->weight[k]));
    for (int64_t i = 0, n = wk_type_count(&c->weight[k].type); i < n; i++)
      ((double *)c->weight[k].data)[i] = 0.5 + wk_rng_unit(&c->rng);
  }
  return found ? NULL : wk_error(WK_INPUT, "the model has no output '%s'", o->of ? o->of : "");
}

static wk_status copy_inputs(check *c, const wk_tensor *from) {
  const wk_graph *g = c->forward->main;
  c->in = wk_xcalloc(c->n_in, sizeof *c->in);
  for (size_t k = 0; k < c->n_in; k++) {
    const wk_type *t = &wk_val(g, g->inputs.data[k])->type;
    WK_TRY(wk_tensor_alloc(t, &c->in[k]));
    if (t->dtype == from[k].type.dtype) {
      memcpy(c->in[k].data, from[k].data, (size_t)wk_type_bytes(t));
      continue;
    }
    for (int64_t i = 0, n = wk_type_count(t); i < n; i++)
      ((double *)c->in[k].data)[i] = wk_load_f64(from[k].data, from[k].type.dtype, i);
  }
  return NULL;
}

/* The adjoints of all of wrt: what backward->main has for outputs. */
static wk_status differentiate(check *c) {
  wk_graph *g = c->backward->main;
  size_t n_of = 0;
  wk_value_id *of = wk_xcalloc(c->n_out, sizeof *of);
  wk_value_id *seed = wk_xcalloc(c->n_out, sizeof *seed);
  wk_value_id *wrt = wk_xcalloc(c->n_wrt, sizeof *wrt);
  wk_value_id *out = wk_xcalloc(c->n_wrt, sizeof *out);
  for (size_t k = 0; k < c->n_out; k++) {
    if (!c->weight[k].data) continue;
    of[n_of] = g->outputs.data[k];
    seed[n_of++] = wk_graph_constant(g, NULL, &c->weight[k].type, c->weight[k].data);
  }
  memcpy(wrt, c->wrt, c->n_wrt * sizeof *wrt); /* a clone has the same ids */
  const wk_grad_request r = {n_of, c->n_wrt, of, seed, wrt, out};
  wk_status s = wk_grad(g, &r);
  wk_graph_drop_outputs(g);
  for (size_t k = 0; k < c->n_wrt && !s; k++)
    if (out[k] != WK_NONE)
      wk_graph_output(g, wk_arena_printf(c->backward->arena, "%zu", k), out[k]);
  free(of);
  free(seed);
  free(wrt);
  free(out);
  if (!s) s = wk_graph_normalise(g);
  return s ? s : wk_module_verify(c->backward);
}

static wk_status evaluate_adjoints(check *c) {
  const wk_graph *g = c->backward->main;
  wk_tensor *y = wk_xcalloc(g->outputs.n, sizeof *y);
  c->adjoint = wk_xcalloc(c->n_wrt, sizeof *c->adjoint);
  wk_status s = wk_eval_graph(g, c->in, y, NULL, NULL);
  for (size_t i = 0; i < g->outputs.n && !s; i++)
    c->adjoint[strtoull(g->output_names.data[i], NULL, 10)] = y[i];
  free(y);
  return s;
}

static wk_status run(check *c, const wk_module *m, const wk_grad_check_options *o,
                     wk_grad_check_report *report) {
  WK_TRY(wk_widen_floats(m, &c->forward));
  WK_TRY(wk_module_normalise(c->forward));
  c->n_in = c->forward->main->inputs.n;
  c->n_out = c->forward->main->outputs.n;
  find_wrt(c, o);
  WK_TRY(draw_weights(c, o));
  WK_TRY(copy_inputs(c, o->inputs));
  c->backward = wk_module_clone(c->forward);
  WK_TRY(differentiate(c));
  WK_TRY(evaluate_adjoints(c));
  for (size_t k = 0; k < c->n_wrt; k++) {
    const wk_value *v = wk_val(c->forward->main, c->wrt[k]);
    wk_grad_check_row row = {.name = wk_arena_strdup(report->arena, v->name), .type = v->type,
                             .at = -1};
    WK_TRY(check_value(c, k, o, &row));
    wk_vec_push(&report->rows, row);
    if (row.error > report->worst) report->worst = row.error;
  }
  return NULL;
}

static void free_tensors(wk_tensor *t, size_t n) {
  for (size_t k = 0; t && k < n; k++) wk_tensor_free(&t[k]);
  free(t);
}

wk_status wk_grad_check(const wk_module *m, const wk_grad_check_options *o,
                        wk_grad_check_report *report) {
  check c = {.rng = {wk_hash64("grad check", 10, o->seed)}};
  *report = (wk_grad_check_report){.arena = wk_arena_new()};
  wk_status s = run(&c, m, o, report);
  wk_module_free(c.backward);
  free_tensors(c.in, c.n_in);
  free_tensors(c.weight, c.n_out);
  free_tensors(c.adjoint, c.n_wrt);
  free(c.wrt);
  wk_module_free(c.forward);
  return s;
}

void wk_grad_check_free(wk_grad_check_report *r) {
  wk_vec_free(&r->rows);
  wk_arena_free(r->arena);
  *r = (wk_grad_check_report){0};
}
