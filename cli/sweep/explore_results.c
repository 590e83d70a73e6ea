/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep/explore.h"
#include "wick_version.h"

const char *wk_candidate_text(const wk_explore *e, const wk_candidate *c) {
  wk_str b = {0};
  wk_str_add(&b, "");
  for (size_t k = 0; k < e->sweep.axes.n; k++)
    if (strcmp(c->values[k], e->reference->values[k]) != 0)
      wk_str_printf(&b, "%s%s = %s", b.n ? ", " : "", e->sweep.axes.data[k].name, c->values[k]);
  const char *text = wk_arena_strdup(e->sweep.arena, b.n ? b.s : e->sweep.base.name);
  wk_str_free(&b);
  return text;
}

double wk_candidate_error(const wk_explore *e, const wk_candidate *c) {
  double worst = NAN;
  for (size_t m = 0; m < e->sweep.models.n; m++) {
    if (!c->rtl[m]) continue;
    double error = 100 * fabs((double)c->predicted[m] / (double)c->rtl[m] - 1);
    worst = isnan(worst) ? error : fmax(worst, error);
  }
  return worst;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *number_or_null(double v) { return isfinite(v) ? json_real(v) : json_null(); }
static json_t *text_or_null(const char *s) { return s ? json_string(s) : json_null(); }

static json_t *value_of(const char *text) {
  double v = strtod(text, NULL);
  return strchr(text, '.') ? json_real(v) : json_integer((json_int_t)v);
}

static json_t *by_model(const wk_explore *e, const uint64_t *values) {
  json_t *o = json_object();
  for (size_t m = 0; m < e->sweep.models.n; m++)
    json_object_set_new(o, e->sweep.models.data[m].name,
                        values[m] ? json_integer((json_int_t)values[m]) : json_null());
  return o;
}

static json_t *describe_candidate(const wk_explore *e, const wk_candidate *c) {
  json_t *keys = json_object();
  const char *file = wk_sweep_machine_file(&e->sweep, &(wk_sweep_point){.machine = c->machine});
  for (size_t k = 0; k < e->sweep.axes.n; k++)
    json_object_set_new(keys, e->sweep.axes.data[k].name, value_of(c->values[k]));
  return json_pack(
      "{s:o, s:s, s:f, s:I, s:i, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "keys", keys, "machine",
      file + strlen(e->sweep.dir) + 1, "area", c->area, "onchip_bytes", (json_int_t)c->onchip,
      "rung", c->rung + 1, "times", number_or_null(c->times), "predicted",
      by_model(e, c->predicted), "cycles", by_model(e, c->cycles), "energy",
      number_or_null(c->energy), "error", text_or_null(c->error), "front", c->is_front, "rtl",
      by_model(e, c->rtl), "rtl_error", text_or_null(c->rtl_error));
}

static json_t *describe_space(const wk_explore *e) {
  json_t *space = json_object();
  for (size_t k = 0; k < e->sweep.axes.n; k++) {
    const wk_sweep_axis *axis = &e->sweep.axes.data[k];
    json_t *values = json_array();
    for (size_t i = 0; i < axis->values.n; i++)
      json_array_append_new(values, value_of(axis->values.data[i]));
    json_object_set_new(space, axis->name, values);
  }
  return space;
}

static json_t *describe_rungs(const wk_explore *e) {
  json_t *rungs = json_array();
  for (int rung = 0; rung < WK_RUNGS; rung++) {
    size_t n = 0;
    for (size_t i = 0; i < e->tried.n; i++) n += e->tried.data[i]->rung >= rung;
    const char *effort = wk_rungs[rung].effort ? wk_rungs[rung].effort : e->o->effort;
    json_array_append_new(rungs, json_pack("{s:s, s:s, s:I}", "by", wk_rungs[rung].name, "effort",
                                           effort, "machines", (json_int_t)n));
  }
  return rungs;
}

static json_t *describe(const wk_explore *e) {
  json_t *models = json_array(), *tried = json_array();
  for (size_t m = 0; m < e->sweep.models.n; m++)
    json_array_append_new(models, json_string(e->sweep.models.data[m].name));
  for (size_t i = 0; i < e->tried.n; i++)
    json_array_append_new(tried, describe_candidate(e, e->tried.data[i]));
  return json_pack(
      "{s:s, s:s, s:o, s:o, s:{s:o, s:o, s:o}, s:I, s:I, s:{s:I, s:I, s:I, s:I}, s:o, s:o, s:o}",
      "wick", WICK_VERSION, "machine", e->sweep.base.name, "models", models, "space",
      describe_space(e), "limits", "area", number_or_null(e->limits.area), "onchip_bytes",
      number_or_null(e->limits.onchip), "energy", number_or_null(wk_explore_energy_limit(e)),
      "budget", (json_int_t)e->o->budget, "seed", (json_int_t)e->o->seed, "machines", "all",
      (json_int_t)e->size, "impossible", (json_int_t)e->impossible, "excluded",
      (json_int_t)e->excluded, "tried", (json_int_t)e->tried.n, "rungs", describe_rungs(e),
      "reference", describe_candidate(e, e->reference), "tried", tried);
}

wk_status wk_explore_write(const wk_explore *e) {
  json_t *root = describe(e);
  char *text = json_dumps(root, JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
  json_decref(root);
  if (!text) return wk_error(WK_RESOURCE, "no room for the text of the results");
  wk_status status = wk_write_file(wk_arena_printf(e->sweep.arena, "%s/explore.json", e->sweep.dir),
                                   text, strlen(text));
  free(text);
  return status;
}
