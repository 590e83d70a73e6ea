/* SPDX-License-Identifier: Apache-2.0
 * Modules compiled with chosen intermediate tensors as their outputs: the reference evaluator would
 * take minutes where this takes seconds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/quantize.h"
#include "compiler/driver/text.h"
#include "compiler/onnx/onnx.h"

/* ---- watching -------------------------------------------------------------------------------- */

enum { WATCHED_AT_ONCE = WK_RUNNER_MAX_IO - 16 };

/* One compiled copy of the module for so many values. */
typedef struct {
  wk_runner *runner;
  wk_tensor *out;
  size_t n;
} watch;

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
  wk_runner_options o = {.threads = threads, .model_name = "quantize"};
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

static wk_status check_seen(const profile *p, size_t sample) {
  for (size_t i = 0; i < p->n; i++)
    if (p->j->ranges[p->ids[i]].bad)
      return wk_error_at(WK_INPUT, p->j->path,
                         "tensor %s has NaN or infinite values on calibration sample %zu",
                         wk_val(p->j->m->main, p->ids[i])->name, sample + 1);
  return NULL;
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
    if (!bins) WK_TRY(check_seen(p, k));
  }
  return NULL;
}

wk_status wk_quantize_profile(wk_quantize_job *j) {
  size_t n;
  const wk_value_id *ids = wk_quantize_values(&j->plan, &n);
  for (size_t i = 0; i < n; i++)
    j->ranges[ids[i]].axis =
        j->options.bias_correction ? wk_quantize_sum_axis(&j->plan, ids[i]) : -1;
  for (size_t at = 0; at < n; at += WATCHED_AT_ONCE) {
    watch w;
    profile p = {j, ids + at, n - at < WATCHED_AT_ONCE ? n - at : WATCHED_AT_ONCE};
    wk_progress("compiling the float model");
    wk_status s = watch_open(&w, j->m, p.ids, p.n, j->opts->threads);
    if (!s) s = scan(&p, &w, false);
    if (!s && j->options.method != WK_RANGE_MINMAX) s = scan(&p, &w, true);
    watch_close(&w);
    WK_TRY(s);
  }
  return NULL;
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
    double e = (double)x[i] - (double)y[i];
    n->signal += (double)x[i] * (double)x[i];
    n->noise += e * e;
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
