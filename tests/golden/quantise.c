/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/golden/quantise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/eval.h"
#include "compiler/quantize/quantize.h"

enum { SAMPLES = 2, WORD_SIZE = 64 };

typedef struct {
  wk_module *m;
  wk_quantize_options options;
  bool equalise, split, spare, isolated;
  bool simulated;
  double least; /* dB */
  WK_VEC(char *) keep;
  wk_quantize_plan plan;
  wk_range *ranges;
  bool bins; /* the second pass */
  wk_tensor *in[SAMPLES], *want[SAMPLES];
} job;

/* ---- words ----------------------------------------------------------------------------------- */

static wk_status read_word(job *j, const char *w) {
  const struct { const char *name; bool *flag; } flags[] = {
      {"symmetric", &j->options.symmetric}, {"per-channel", &j->options.per_channel},
      {"bias-correction", &j->options.bias_correction}, {"equalise", &j->equalise},
      {"split-attention", &j->split}, {"spare", &j->spare}, {"isolated", &j->isolated},
      {"simulated", &j->simulated}};
  static const char *const methods[] = {"minmax", "percentile", "mse", "entropy"};
  for (size_t i = 0; i < WK_COUNTOF(flags); i++)
    if (!strcmp(w, flags[i].name)) return *flags[i].flag = true, NULL;
  for (size_t i = 0; i < WK_COUNTOF(methods); i++)
    if (!strcmp(w, methods[i])) return j->options.method = (wk_range_method)i, NULL;
  if (!strcmp(w, "int8")) j->options.activation = WK_I8;
  else if (!strncmp(w, "least=", 6)) j->least = strtod(w + 6, NULL);
  else if (!strncmp(w, "keep=", 5)) wk_vec_push(&j->keep, wk_xstrdup(w + 5));
  else return wk_error(WK_USAGE, "quantize has no word '%s'", w);
  return NULL;
}

static wk_status read_words(job *j, const char *at) {
  for (at += strspn(at, " "); *at; at += strspn(at, " ")) {
    char word[WORD_SIZE] = {0};
    size_t n = strcspn(at, " ");
    if (n >= sizeof word) return wk_error(WK_USAGE, "quantize: a word is too long: %s", at);
    memcpy(word, at, n);
    WK_TRY(read_word(j, word));
    at += n;
  }
  return NULL;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* -4 to 4, most near 0, and a few twice as far out. */
static float sample_value(int64_t i, int sample) {
  int64_t r = (i * 67 + sample * 31 + i / 257) % 257 - 128;
  return (float)(r * (r < 0 ? -r : r)) / (i % 97 == 96 ? 2048 : 4096);
}

static wk_status make_samples(job *j) {
  const wk_graph *g = j->m->main;
  for (int k = 0; k < SAMPLES; k++) {
    j->in[k] = wk_xcalloc(g->inputs.n + 1, sizeof(wk_tensor));
    j->want[k] = wk_xcalloc(g->outputs.n + 1, sizeof(wk_tensor));
    for (size_t i = 0; i < g->inputs.n; i++) {
      wk_tensor *t = &j->in[k][i];
      WK_TRY(wk_tensor_alloc(&wk_val(g, g->inputs.data[i])->type, t));
      for (int64_t e = 0; t->type.dtype == WK_F32 && e < wk_type_count(&t->type); e++)
        ((float *)t->data)[e] = sample_value(e, k);
    }
  }
  return NULL;
}

static void see(job *j, wk_value_id v, const wk_tensor *t) {
  if (v == WK_NONE || t->type.dtype != WK_F32) return;
  if (j->bins) wk_range_bin(&j->ranges[v], t);
  else wk_range_scan(&j->ranges[v], t);
}

static wk_status watch(void *ctx, const wk_graph *g, const wk_node *n, const wk_tensor *in,
                       const wk_tensor *out, int depth) {
  job *j = ctx;
  (void)in;
  for (uint32_t k = 0; g == j->m->main && depth == 0 && k < n->n_out; k++)
    see(j, n->out[k], &out[k]);
  return NULL;
}

static void drop(wk_tensor *t, size_t n) {
  for (size_t i = 0; i < n; i++) wk_tensor_free(&t[i]);
}

static wk_status collect(job *j) {
  const wk_graph *g = j->m->main;
  j->ranges = wk_xcalloc(g->values.n + 1, sizeof *j->ranges);
  for (size_t v = 0; v < g->values.n; v++)
    j->ranges[v].axis =
        j->options.bias_correction ? wk_quantize_sum_axis(&j->plan, (wk_value_id)v) : -1;
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < SAMPLES; k++) {
      j->bins = pass;
      for (size_t i = 0; i < g->inputs.n; i++) see(j, g->inputs.data[i], &j->in[k][i]);
      drop(j->want[k], g->outputs.n);
      WK_TRY(wk_eval_graph(g, j->in[k], j->want[k], watch, j));
    }
  return NULL;
}

/* ---- the module ------------------------------------------------------------------------------ */

static wk_status build(const job *j, bool simulated, wk_module **out) {
  wk_value_id *at = wk_xcalloc(j->m->main->values.n + 1, sizeof *at);
  wk_quantize_build_args a = {.plan = &j->plan, .options = &j->options, .ranges = j->ranges,
                              .isolated = j->isolated, .simulated = simulated};
  wk_status s = wk_quantize_build(&a, at, NULL, out);
  free(at);
  return s;
}

static wk_status compare_sample(const job *j, int k, const wk_module *file,
                                const wk_module *simulated) {
  size_t n = j->m->main->outputs.n;
  wk_tensor *a = wk_xcalloc(n + 1, sizeof *a), *b = wk_xcalloc(n + 1, sizeof *b);
  wk_status s = wk_eval_graph(file->main, j->in[k], a, NULL, NULL);
  if (!s) s = wk_eval_graph(simulated->main, j->in[k], b, NULL, NULL);
  for (size_t i = 0; i < n && !s; i++) {
    double signal = 0, noise = 0;
    for (int64_t e = 0; a[i].type.dtype == WK_F32 && e < wk_type_count(&a[i].type); e++) {
      double x = (double)((float *)j->want[k][i].data)[e], y = (double)((float *)a[i].data)[e];
      signal += x * x;
      noise += (x - y) * (x - y);
    }
    if (noise > 0 && 10 * log10(signal / noise) < j->least)
      s = wk_error(WK_FAILED, "output %zu is %.1f dB from the float model's", i,
                   10 * log10(signal / noise));
    if (!s && memcmp(a[i].data, b[i].data, (size_t)wk_type_bytes(&a[i].type)) != 0)
      s = wk_error(WK_FAILED, "output %zu differs between what is written and simulated", i);
  }
  drop(a, n);
  drop(b, n);
  free(a);
  free(b);
  return s;
}

static wk_status make(job *j, const char *words, wk_module **out) {
  int64_t count;
  wk_module *file = NULL, *simulated = NULL;
  WK_TRY(read_words(j, words));
  WK_TRY(wk_module_normalise(j->m));
  WK_TRY(make_samples(j));
  if (j->split) WK_TRY(wk_quantize_split_attention(j->m, &count));
  if (j->equalise) WK_TRY(wk_quantize_equalise(j->m, &count));
  j->plan = wk_quantize_plan_make(j->m);
  for (size_t i = 0; i < j->keep.n; i++) WK_TRY(wk_quantize_keep(&j->plan, j->keep.data[i]));
  wk_quantize_settle(&j->plan);
  WK_TRY(collect(j));
  if (j->spare && wk_quantize_spare(&j->plan, j->ranges, &j->options))
    wk_quantize_settle(&j->plan);
  wk_status s = build(j, false, &file);
  if (!s) s = build(j, true, &simulated);
  for (int k = 0; k < SAMPLES && !s; k++) s = compare_sample(j, k, file, simulated);
  *out = s ? NULL : j->simulated ? simulated : file;
  wk_module_free(*out == file ? simulated : file);
  if (s) wk_module_free(simulated);
  return s;
}

wk_status golden_quantise(wk_module *m, const char *words, wk_module **out) {
  job j = {.m = m, .least = 25, .options = {.activation = WK_U8, .percentile = 90}};
  wk_status s = make(&j, words, out);
  for (int k = 0; k < SAMPLES; k++) {
    if (j.in[k]) drop(j.in[k], m->main->inputs.n);
    if (j.want[k]) drop(j.want[k], m->main->outputs.n);
    free(j.in[k]);
    free(j.want[k]);
  }
  for (size_t v = 0; j.ranges && v < m->main->values.n; v++) wk_range_free(&j.ranges[v]);
  free(j.ranges);
  for (size_t i = 0; i < j.keep.n; i++) free(j.keep.data[i]);
  wk_vec_free(&j.keep);
  wk_quantize_plan_free(&j.plan);
  return s;
}
