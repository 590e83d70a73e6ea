/* SPDX-License-Identifier: Apache-2.0
 * Modules compiled with chosen intermediate tensors as their outputs: the reference evaluator would
 * take minutes where this takes seconds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/calibrate/quantize.h"
#include "compiler/onnx/onnx.h"
#include "runtime/wick.h"

/* ---- watching -------------------------------------------------------------------------------- */

enum { WATCHED_AT_ONCE = WK_RUNNER_MAX_IO - 16 };

/* One compiled copy of the module for so many values. */
typedef struct {
  wk_runner *runner;
  wk_tensor *out;
  size_t n;
} watch;

/* Sums of floats depend on how many go side by side, and ranges on them: the code of most machines,
 * so that newer ones make the same model. */
static const char *common_cpu(void) {
  static const char *const needs[] = {"avx2", "fma",   "bmi",  "bmi2",
                                      "lzcnt", "movbe", "popcnt", "f16c"};
  for (size_t i = 0; i < WK_COUNTOF(needs); i++)
    if (wick_cpu_has(needs[i]) != 1) return NULL;
  return "avx2";
}

static wk_status watch_open(watch *w, const wk_module *m, const wk_value_id *ids, size_t n,
                            int64_t threads) {
  wk_module *copy = wk_module_clone(m);
  wk_graph *g = copy->main;
  char name[40];
  copy->constant_bytes_left = copy->fold_work_left = INT64_MAX;
  wk_graph_drop_outputs(g);
  for (size_t i = 0; i < n; i++) {
    snprintf(name, sizeof name, "watched %zu", i);
    wk_graph_output(g, name, ids[i]);
  }
  wk_runner_options o = {.target = {.cpu = common_cpu()}, .threads = threads,
                         .model_name = "quantize"};
  *w = (watch){.out = wk_xcalloc(n, sizeof *w->out), .n = n};
  wk_status s = wk_module_normalise(copy);
  if (s) wk_module_free(copy);
  else s = wk_runner_of_module(copy, &o, &w->runner);
  return s;
}

static void watch_close(watch *w) {
  for (size_t i = 0; i < w->n; i++) wk_tensor_free(&w->out[i]);
  free(w->out);
  wk_runner_free(w->runner);
  *w = (watch){0};
}

/* ---- profile --------------------------------------------------------------------------------- */

typedef struct {
  wk_quantize_job *j;
  const wk_value_id *ids;
  size_t n;
} profile;

static bool is_output(const wk_graph *g, wk_value_id v) {
  for (size_t i = 0; i < g->outputs.n; i++)
    if (g->outputs.data[i] == v) return true;
  return false;
}

/* NaN may be guarded, as the softmax of a row that is masked as a whole is; not in an output. */
static void note_nan(const profile *p, size_t sample) {
  wk_quantize_job *j = p->j;
  for (size_t i = 0; i < p->n && !j->broken_sample; i++)
    if (j->ranges[p->ids[i]].nan && is_output(j->m->main, p->ids[i])) {
      j->broken = p->ids[i];
      j->broken_sample = sample + 1;
    }
}

static wk_status scan(const profile *p, watch *w, bool bins) {
  wk_quantize_job *j = p->j;
  for (size_t k = 0; k < j->n_samples; k++) {
    wk_progress("profiling: %s, sample %zu of %zu", bins ? "histograms" : "ranges", k + 1,
                j->n_samples);
    WK_TRY(wk_runner_run(w->runner, j->samples[k], w->out));
    for (size_t i = 0; i < p->n; i++) {
      wk_range *r = &j->ranges[p->ids[i]];
      if (bins) wk_range_bin(r, &w->out[i]);
      else wk_range_scan(r, &w->out[i]);
    }
    if (!bins) note_nan(p, k);
  }
  return NULL;
}

static wk_status profile_some(profile *p) {
  watch w;
  wk_progress("compiling the float model");
  wk_status s = watch_open(&w, p->j->m, p->ids, p->n, p->j->opts->threads);
  if (!s) s = scan(p, &w, false);
  if (!s && p->j->options.method != WK_RANGE_MINMAX) s = scan(p, &w, true);
  watch_close(&w);
  return s;
}

/* What the plan asks for, and the outputs. */
static wk_value_id *profiled(const wk_quantize_job *j, size_t *n) {
  const wk_graph *g = j->m->main;
  wk_value_id *ids = wk_quantize_values(&j->plan, n);
  for (size_t i = 0; i < g->outputs.n; i++) {
    wk_value_id v = g->outputs.data[i];
    bool known = wk_is_const(g, v) || wk_val(g, v)->type.dtype != WK_F32;
    for (size_t k = 0; k < *n && !known; k++) known = ids[k] == v;
    if (!known) ids[(*n)++] = v;
  }
  return ids;
}

/* ---- NaN ------------------------------------------------------------------------------------- */

static bool has_nan(const wk_tensor *t) {
  int64_t n = wk_type_count(&t->type);
  for (int64_t i = 0; i < n; i++)
    if (isnan(wk_load_f64(t->data, t->type.dtype, i))) return true;
  return false;
}

/* The first of n values that has NaN on the sample; WK_NONE: none. */
static wk_status first_nan(const wk_quantize_job *j, const wk_value_id *ids, size_t n,
                           wk_value_id *found) {
  watch w;
  wk_status s = watch_open(&w, j->m, ids, n, j->opts->threads);
  if (!s) s = wk_runner_run(w.runner, j->samples[j->broken_sample - 1], w.out);
  for (size_t i = 0; i < n && !s && *found == WK_NONE; i++)
    if (has_nan(&w.out[i])) *found = ids[i];
  watch_close(&w);
  return s;
}

/* The node where NaN that reaches an output begins. */
static wk_status refuse_nan(const wk_quantize_job *j) {
  const wk_graph *g = j->m->main;
  wk_value_id found = WK_NONE;
  WK_VEC(wk_value_id) ids = {0};
  wk_status s = NULL;
  for (size_t i = 0; i < g->nodes.n; i++)
    for (uint32_t k = 0; k < g->nodes.data[i].n_out; k++) {
      wk_value_id v = g->nodes.data[i].out[k];
      if (v != WK_NONE && wk_dtype_is_float(wk_val(g, v)->type.dtype)) wk_vec_push(&ids, v);
    }
  for (size_t at = 0; at < ids.n && !s && found == WK_NONE; at += WATCHED_AT_ONCE)
    s = first_nan(j, ids.data + at, ids.n - at < WATCHED_AT_ONCE ? ids.n - at : WATCHED_AT_ONCE,
                  &found);
  wk_vec_free(&ids);
  WK_TRY(s);
  if (found == WK_NONE) found = j->broken;
  const wk_value *v = wk_val(g, found);
  if (v->kind != WK_VALUE_NODE)
    return wk_error_at(WK_INPUT, j->path, "output %s of the float model is NaN on calibration "
                       "sample %zu", wk_val(g, j->broken)->name, j->broken_sample);
  const wk_node *node = wk_nod(g, v->node);
  return wk_error_at(WK_INPUT, j->path, "output %s of the float model is NaN on calibration sample "
                     "%zu; the first NaN comes from node %s (%s)", wk_val(g, j->broken)->name,
                     j->broken_sample, node->name, wk_quantize_op_name(node->op));
}

wk_status wk_quantize_profile(wk_quantize_job *j) {
  size_t n;
  const wk_value_id *ids = profiled(j, &n);
  for (size_t i = 0; i < n; i++)
    j->ranges[ids[i]].axis =
        j->options.bias_correction ? wk_quantize_sum_axis(&j->plan, ids[i]) : -1;
  for (size_t at = 0; at < n; at += WATCHED_AT_ONCE) {
    profile p = {j, ids + at, n - at < WATCHED_AT_ONCE ? n - at : WATCHED_AT_ONCE};
    WK_TRY(profile_some(&p));
  }
  if (j->broken_sample) return refuse_nan(j);
  if (!wk_quantize_spare(&j->plan, j->ranges, &j->options) || wk_quantize_settle(&j->plan))
    return NULL;
  return wk_error_at(WK_UNSUPPORTED, j->path, "nothing to quantise: every convolution and product "
                     "has infinite values or NaN");
}

/* ---- noise ----------------------------------------------------------------------------------- */

double wk_quantize_decibel(wk_quantize_noise n) {
  return n.noise > 0 ? 10 * log10(n.signal / n.noise) : INFINITY;
}

static void add_noise(wk_quantize_noise *n, const wk_tensor *want, const wk_tensor *got) {
  const float *x = want->data, *y = got->data;
  int64_t count = wk_type_count(&want->type);
  if (want->type.dtype != WK_F32 || got->type.dtype != WK_F32) return;
  for (int64_t i = 0; i < count; i++) {
    bool alike = x[i] == y[i] || (isnan(x[i]) && isnan(y[i]));
    double e = alike ? 0 : isfinite(x[i]) ? (double)x[i] - (double)y[i] : INFINITY;
    n->signal += isfinite(x[i]) ? (double)x[i] * (double)x[i] : 0;
    n->noise += isnan(e) ? INFINITY : e * e;
  }
}

static size_t measured(const wk_quantize_job *j) {
  return j->n_samples < WK_QUANTIZE_MEASURED ? j->n_samples : WK_QUANTIZE_MEASURED;
}

static const wk_tensor *measured_sample(const wk_quantize_job *j, size_t k) {
  return j->samples[k * j->n_samples / measured(j)];
}

/* Values of two modules side by side. */
typedef struct {
  const wk_module *want, *got;
  WK_VEC(wk_value_id) want_ids, got_ids;
  WK_VEC(wk_quantize_noise *) to;
} comparison;

static void comparison_free(comparison *c) {
  wk_vec_free(&c->want_ids);
  wk_vec_free(&c->got_ids);
  wk_vec_free(&c->to);
}

static void compare_pair(comparison *c, wk_value_id want, wk_value_id got, wk_quantize_noise *to) {
  wk_vec_push(&c->want_ids, want);
  wk_vec_push(&c->got_ids, got);
  wk_vec_push(&c->to, to);
}

static wk_status run_comparison(const wk_quantize_job *j, comparison *c, size_t at, size_t n) {
  watch a = {0}, b = {0};
  size_t samples = measured(j);
  wk_status s = watch_open(&a, c->want, c->want_ids.data + at, n, j->opts->threads);
  if (!s) s = watch_open(&b, c->got, c->got_ids.data + at, n, j->opts->threads);
  for (size_t k = 0; k < samples && !s; k++) {
    const wk_tensor *in = measured_sample(j, k);
    wk_progress("measuring: sample %zu of %zu", k + 1, samples);
    s = wk_runner_run(a.runner, in, a.out);
    if (!s) s = wk_runner_run(b.runner, in, b.out);
    for (size_t i = 0; i < n && !s; i++) add_noise(c->to.data[at + i], &a.out[i], &b.out[i]);
  }
  watch_close(&a);
  watch_close(&b);
  return s;
}

static wk_status compare(const wk_quantize_job *j, comparison *c) {
  wk_status s = NULL;
  for (size_t i = 0; i < c->to.n; i++) *c->to.data[i] = (wk_quantize_noise){0};
  for (size_t at = 0; at < c->to.n && !s; at += WATCHED_AT_ONCE)
    s = run_comparison(j, c, at,
                       c->to.n - at < WATCHED_AT_ONCE ? c->to.n - at : WATCHED_AT_ONCE);
  return s;
}

static void compare_layers(const wk_quantize_job *j, const wk_value_id *at,
                           wk_quantize_noise *to, comparison *c) {
  for (size_t i = 0; i < j->plan.layers.n; i++) {
    const wk_quantize_layer *l = &j->plan.layers.data[i];
    wk_value_id v = wk_nod(j->m->main, l->last)->out[0];
    if (v != WK_NONE && at[v] != WK_NONE) compare_pair(c, v, at[v], &to[i]);
  }
}

static wk_value_id *ids_of(const wk_quantize_job *j) {
  return wk_xcalloc(j->m->main->values.n, sizeof(wk_value_id));
}

wk_status wk_quantize_make(const wk_quantize_job *j, bool simulated, wk_value_id *at,
                           wk_module **out) {
  wk_quantize_build_args a = {.plan = &j->plan, .options = &j->options, .ranges = j->ranges,
                              .simulated = simulated};
  return wk_quantize_build(&a, at, NULL, out);
}

wk_status wk_quantize_measure(wk_quantize_job *j) {
  wk_value_id *at = ids_of(j);
  wk_module *m = NULL;
  comparison c = {.want = j->m};
  wk_status s = wk_quantize_make(j, true, at, &m);
  if (!s) {
    c.got = m;
    for (size_t i = 0; i < m->main->outputs.n; i++)
      compare_pair(&c, j->m->main->outputs.data[i], m->main->outputs.data[i], &j->end);
    compare_layers(j, at, j->drift, &c);
    s = compare(j, &c);
  }
  comparison_free(&c);
  wk_module_free(m);
  free(at);
  return s;
}

wk_status wk_quantize_measure_alone(wk_quantize_job *j) {
  wk_value_id *at = ids_of(j);
  wk_module *m = NULL;
  comparison c = {.want = j->m};
  wk_quantize_build_args a = {.plan = &j->plan, .options = &j->options, .ranges = j->ranges,
                              .isolated = true};
  wk_status s = wk_quantize_build(&a, at, NULL, &m);
  if (!s) {
    c.got = m;
    compare_layers(j, at, j->alone, &c);
    s = compare(j, &c);
  }
  comparison_free(&c);
  wk_module_free(m);
  free(at);
  return s;
}

/* ---- outputs alone --------------------------------------------------------------------------- */

static wk_status keep_outputs(wk_quantize_job *j) {
  const wk_graph *g = j->m->main;
  watch w;
  if (j->want.n) return NULL;
  wk_status s = watch_open(&w, j->m, g->outputs.data, g->outputs.n, j->opts->threads);
  for (size_t k = 0; k < measured(j) && !s; k++) {
    s = wk_runner_run(w.runner, measured_sample(j, k), w.out);
    for (size_t i = 0; i < w.n && !s; i++) {
      wk_vec_push(&j->want, w.out[i]);
      w.out[i].data = NULL; /* ours now; the next run makes another */
    }
  }
  watch_close(&w);
  return s;
}

wk_status wk_quantize_measure_outputs(wk_quantize_job *j, size_t samples, wk_quantize_noise *out) {
  wk_value_id *at = ids_of(j);
  wk_module *m = NULL;
  watch w = {0};
  *out = (wk_quantize_noise){0};
  wk_status s = keep_outputs(j);
  if (!s) s = wk_quantize_make(j, true, at, &m);
  if (!s) s = watch_open(&w, m, m->main->outputs.data, m->main->outputs.n, j->opts->threads);
  for (size_t k = 0; k < samples && k < measured(j) && !s; k++) {
    s = wk_runner_run(w.runner, measured_sample(j, k), w.out);
    for (size_t i = 0; i < w.n && !s; i++) add_noise(out, &j->want.data[k * w.n + i], &w.out[i]);
  }
  watch_close(&w);
  wk_module_free(m);
  free(at);
  return s;
}
