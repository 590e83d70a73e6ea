/* SPDX-License-Identifier: Apache-2.0
 * What `wick quantize` tells. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "cli/fit/quantize.h"

enum { WORST = 5 };

static const char *decibel(wk_arena *a, wk_quantize_noise n) {
  if (!(n.signal > 0)) return "-";
  double v = wk_quantize_decibel(n);
  return v == INFINITY ? "exact" : wk_arena_printf(a, "%.1f", v);
}

static size_t count_quantised(const wk_quantize_job *j, wk_op op, size_t *all) {
  size_t n = 0;
  *all = 0;
  for (size_t i = 0; i < j->plan.layers.n; i++) {
    if (op != WK_OP_COUNT && j->plan.layers.data[i].op != op) continue;
    n += j->plan.layers.data[i].quantised;
    ++*all;
  }
  return n;
}

/* The layers that lose most by themselves, worst first. */
static size_t worst_layers(const wk_quantize_job *j, size_t out[WORST]) {
  size_t n = 0;
  for (size_t i = 0; i < j->plan.layers.n; i++) {
    const wk_quantize_layer *l = &j->plan.layers.data[i];
    if (!l->quantised || !(j->alone[i].noise > 0)) continue;
    double v = wk_quantize_decibel(j->alone[i]);
    size_t at = n;
    while (at > 0 && wk_quantize_decibel(j->alone[out[at - 1]]) > v) at--;
    if (at == WORST) continue;
    if (n < WORST) n++;
    memmove(&out[at + 1], &out[at], (n - 1 - at) * sizeof *out);
    out[at] = i;
  }
  return n;
}

static const char *why_float(wk_arena *a, const wk_quantize_layer *l) {
  if (l->keep && l->why) return wk_arena_printf(a, "float: %s", l->why);
  return l->kind == WK_LAYER_LEADS ? "float" : "float: so are its operands";
}

static void layer_row(wk_table *t, const wk_quantize_job *j, size_t i) {
  const wk_quantize_layer *l = &j->plan.layers.data[i];
  wk_table_row(t, "%s\t%s\t%s\t%s\t%s", l->name, wk_quantize_op_name(l->op),
               l->quantised ? decibel(j->arena, j->alone[i]) : "", decibel(j->arena, j->drift[i]),
               l->quantised ? "" : why_float(j->arena, l));
}

static void layer_table(FILE *f, const wk_quantize_job *j, const size_t *which, size_t n) {
  wk_table t = {0};
  wk_table_row(&t, "layer\toperator\talone dB\tin the model dB");
  for (size_t i = 0; i < n; i++) layer_row(&t, j, which ? which[i] : i);
  wk_table_print(f, &t, "llrr");
}

/* To two digits behind the point, as the factor is printed. */
static const char *size_change(const wk_quantize_job *j) {
  double before = (double)j->bytes_before, after = (double)j->bytes_after;
  bool shrinks = after < before;
  double factor = shrinks ? before / after : after / before;
  if (!(factor >= 1.005)) return "";
  return wk_arena_printf(j->arena, " (%.2f x %s)", factor, shrinks ? "smaller" : "larger");
}

void wk_quantize_summary(FILE *f, const wk_quantize_job *j) {
  size_t worst[WORST + 1], all, n = count_quantised(j, WK_OP_COUNT, &all);
  if (j->opts->verbose) layer_table(f, j, NULL, j->plan.layers.n);
  wk_table t = {0};
  wk_table_row(&t, "model\t%s", j->path);
  wk_table_row(&t, "calibration\t%zu %s", j->n_samples,
               j->n_samples == 1 ? "sample" : "samples");
  wk_table_row(&t, "scheme\t%s%s, weights int8 %s, %s",
               wk_quantize_schemes[j->opts->scheme], j->options.symmetric ? " symmetric" : "",
               j->options.per_channel ? "per channel" : "per tensor",
               wk_quantize_methods[j->opts->method]);
  wk_table_row(&t, "layers\t%zu of %zu quantised", n, all);
  if (j->kept) wk_table_row(&t, "kept in float\t%zu to meet --target-drop", j->kept);
  if (j->opts->equalise) wk_table_row(&t, "equalised\t%lld %s", (long long)j->pairs,
                                     j->pairs == 1 ? "pair" : "pairs");
  if (j->bytes_after > 0)
    wk_table_row(&t, "size\t%s before, %s after%s", wk_bytes_text((uint64_t)j->bytes_before).s,
                 wk_bytes_text((uint64_t)j->bytes_after).s, size_change(j));
  else wk_table_row(&t, "size\t%s before", wk_bytes_text((uint64_t)j->bytes_before).s);
  wk_table_row(&t, j->end.noise > 0 ? "outputs\t%s dB signal to noise" : "outputs\t%s",
               j->end.noise > 0 ? decibel(j->arena,
                                          j->end) : "identical to those of the float model");
  wk_table_print(f, &t, "ll");
  n = worst_layers(j, worst);
  if (!n) return;
  fputs("layers that lose most\n", f);
  layer_table(f, j, worst, n);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_decibel(json_t *o, const char *key, wk_quantize_noise n) {
  double v = wk_quantize_decibel(n);
  json_object_set_new(o, key, n.signal > 0 && isfinite(v) ? json_real(v) : json_null());
}

static json_t *json_layer(const wk_quantize_job *j, size_t i) {
  const wk_quantize_layer *l = &j->plan.layers.data[i];
  wk_value_id v = wk_nod(j->m->main, l->last)->out[0];
  json_t *o = json_object();
  json_object_set_new(o, "name", json_string(l->name));
  json_object_set_new(o, "operator", json_string(wk_quantize_op_name(l->op)));
  json_object_set_new(o, "quantised", json_boolean(l->quantised));
  json_object_set_new(o, "tensor", json_string(wk_val(j->m->main, v)->name));
  put_decibel(o, "snr_in_model_db", j->drift[i]);
  if (!l->quantised) {
    json_object_set_new(o, "why", json_string(why_float(j->arena, l)));
    return o;
  }
  put_decibel(o, "snr_alone_db", j->alone[i]);
  const wk_range *r = &j->ranges[j->plan.like[v]];
  wk_quantize_params p = wk_range_choose(r, &j->options);
  json_object_set_new(o, "min", json_real(r->min));
  json_object_set_new(o, "max", json_real(r->max));
  json_object_set_new(o, "scale", json_real((double)p.scale));
  json_object_set_new(o, "zero_point", json_integer(p.zero));
  return o;
}

static int write_some(const char *data, size_t n, void *out) {
  wk_out_write(out, data, n);
  return 0;
}

void wk_quantize_json(wk_out *out, const wk_quantize_job *j) {
  json_t *o = json_object(), *layers = json_array(), *worst = json_array();
  size_t which[WORST + 1], n = worst_layers(j, which);
  json_object_set_new(o, "model", json_string(j->path));
  json_object_set_new(o, "output", json_string(j->opts->output));
  json_object_set_new(o, "scheme", json_string(wk_quantize_schemes[j->opts->scheme]));
  json_object_set_new(o, "method", json_string(wk_quantize_methods[j->opts->method]));
  json_object_set_new(o, "symmetric", json_boolean(j->options.symmetric));
  json_object_set_new(o, "per_channel", json_boolean(j->options.per_channel));
  json_object_set_new(o, "bias_correction", json_boolean(j->options.bias_correction));
  json_object_set_new(o, "equalised_pairs", json_integer(j->pairs));
  json_object_set_new(o, "samples", json_integer((json_int_t)j->n_samples));
  json_object_set_new(o, "bytes_before", json_integer(j->bytes_before));
  json_object_set_new(o, "bytes_after",
                      j->bytes_after < 0 ? json_null() : json_integer(j->bytes_after));
  json_object_set_new(o, "kept_for_target", json_integer((json_int_t)j->kept));
  put_decibel(o, "snr_outputs_db", j->end);
  for (size_t i = 0; i < n; i++)
    json_array_append_new(worst, json_string(j->plan.layers.data[which[i]].name));
  for (size_t i = 0; i < j->plan.layers.n; i++) json_array_append_new(layers, json_layer(j, i));
  json_object_set_new(o, "worst", worst);
  json_object_set_new(o, "layers", layers);
  json_dump_callback(o, write_some, out, JSON_INDENT(2));
  wk_out_write(out, "\n", 1);
  json_decref(o);
}
