/* SPDX-License-Identifier: Apache-2.0
 * A survey as JSON (docs/ops-model.md). */
#include <jansson.h>

#include "cli/survey.h"

static json_t *text(const char *s) {
  json_t *o = s ? json_string(s) : json_null(); /* NULL: no UTF-8 */
  return o ? o : json_string("?");
}

static json_t *operator_of(const char *domain, const char *op) {
  json_t *o = json_object();
  json_object_set_new(o, "domain", text(*domain ? domain : "ai.onnx"));
  json_object_set_new(o, "operator", text(op));
  return o;
}

/* ---- operators ------------------------------------------------------------------------------- */

static json_t *kind(const wk_survey_kind *k) {
  json_t *o = operator_of(k->domain, k->op);
  int64_t taken = k->fates[WK_SURVEY_TAKEN] + k->fates[WK_SURVEY_NOTHING];
  json_object_set_new(o, "opset", json_integer(k->opset));
  json_object_set_new(o, "accepted", json_integer(taken));
  json_object_set_new(o, "refused", json_integer(k->fates[WK_SURVEY_REFUSED]));
  json_object_set_new(o, "unknown", json_integer(k->fates[WK_SURVEY_UNKNOWN]));
  return o;
}

static json_t *group(const wk_survey *s, const wk_survey_kinds *k, const wk_survey_group *g,
                     const wk_survey_run *run) {
  const wk_survey_kind *of = &k->list.data[g->kind];
  json_t *o = operator_of(of->domain, of->op), *names = json_array();
  if (run) {
    json_object_set_new(o, "target", text(run->target[g->reason.refused]));
    json_object_set_new(o, "step", text(g->reason.step));
  }
  json_object_set_new(o, "reason", text(g->reason.reason));
  for (size_t i = 0; i < g->nodes.n; i++)
    json_array_append_new(names, text(s->report.nodes.data[g->nodes.data[i]].node));
  json_object_set_new(o, "nodes", names);
  return o;
}

static json_t *groups(const wk_survey *s, const wk_survey_kinds *k, const wk_survey_run *run) {
  wk_survey_groups g = wk_survey_groups_of(s, k, run);
  json_t *list = json_array();
  for (size_t i = 0; i < g.n; i++) json_array_append_new(list, group(s, k, &g.data[i], run));
  wk_survey_groups_free(&g);
  return list;
}

static json_t *ends(const wk_survey *s) {
  json_t *list = json_array();
  for (size_t i = 0; i < s->report.cut.n; i++)
    json_array_append_new(list, text(s->report.cut.data[i]));
  return list;
}

static json_t *other_refusals(const wk_survey *s) {
  json_t *list = json_array();
  for (size_t i = 0; i < s->report.unsupported.n; i++) {
    const wk_unsupported *u = &s->report.unsupported.data[i];
    if (u->is_node) continue;
    json_t *o = json_object();
    json_object_set_new(o, "kind", text(u->op));
    json_object_set_new(o, "name", text(u->node));
    json_object_set_new(o, "reason", text(u->reason));
    json_array_append_new(list, o);
  }
  return list;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static json_t *share(const wk_survey *s, const wk_survey_kinds *k, const wk_survey_run *run,
                     uint32_t kind_, uint32_t target) {
  wk_survey_share x = wk_survey_share_of(k, run, kind_, target, s->report.nodes.n);
  const wk_survey_kind *of = &k->list.data[kind_];
  if (!x.whole && !x.in_part) return NULL;
  json_t *o = operator_of(of->domain, of->op);
  json_object_set_new(o, "opset", json_integer(of->opset));
  json_object_set_new(o, "whole", json_integer(x.whole));
  json_object_set_new(o, "in_part", json_integer(x.in_part));
  return o;
}

static json_t *target(const wk_survey *s, const wk_survey_kinds *k, const wk_survey_run *run,
                      uint32_t t) {
  json_t *o = json_object(), *list = json_array();
  json_object_set_new(o, "target", text(run->target[t]));
  json_object_set_new(o, "macs", json_integer(run->macs[t]));
  for (uint32_t i = 0; i < k->list.n; i++) {
    json_t *x = share(s, k, run, i, t);
    if (x) json_array_append_new(list, x);
  }
  json_object_set_new(o, "operators", list);
  return o;
}

static json_t *one_run(const wk_survey *s, const wk_survey_kinds *k, const wk_survey_run *run) {
  json_t *o = json_object(), *list = json_array();
  json_object_set_new(o, "name", text(run->names));
  if (run->error) json_object_set_new(o, "error", text(run->error));
  for (uint32_t t = 0; t < run->n && !run->error; t++)
    json_array_append_new(list, target(s, k, run, t));
  json_object_set_new(o, "targets", list);
  json_object_set_new(o, "not_taken", groups(s, k, run));
  return o;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static json_t *places(const wk_survey *s, size_t node) {
  json_t *o = json_object();
  for (size_t r = 0; r < s->runs.n; r++) {
    const wk_survey_run *run = &s->runs.data[r];
    json_t *list = json_array();
    for (uint32_t t = 0; t < run->n; t++)
      if (run->place[node].on >> t & 1) json_array_append_new(list, text(run->target[t]));
    json_object_set_new(o, run->names, list);
  }
  return o;
}

static json_t *nodes(const wk_survey *s) {
  static const char *const fates[WK_SURVEY_FATES] = {
      [WK_SURVEY_TAKEN] = "accepted", [WK_SURVEY_NOTHING] = "accepted",
      [WK_SURVEY_REFUSED] = "refused", [WK_SURVEY_UNKNOWN] = "unknown"};
  json_t *list = json_array();
  for (size_t i = 0; i < s->report.nodes.n; i++) {
    const wk_surveyed *n = &s->report.nodes.data[i];
    json_t *o = operator_of(n->domain, n->op);
    json_object_set_new(o, "node", text(n->node));
    json_object_set_new(o, "verdict", text(fates[n->fate]));
    if (n->reason) json_object_set_new(o, "reason", text(n->reason));
    if (n->call) json_object_set_new(o, "call", text(n->call));
    json_object_set_new(o, "on", places(s, i));
    json_array_append_new(list, o);
  }
  return list;
}

void wk_survey_print_json(const wk_survey *s, bool all_nodes) {
  wk_survey_kinds k = wk_survey_kinds_of(s);
  json_t *root = json_object(), *kinds = json_array(), *runs = json_array();
  json_object_set_new(root, "wick", json_string("ops"));
  json_object_set_new(root, "version", json_integer(WK_SURVEY_JSON_VERSION));
  json_object_set_new(root, "model", text(s->path));
  json_object_set_new(root, "accepted", json_boolean(!s->refused && !s->refused_besides));
  for (size_t i = 0; i < k.list.n; i++) json_array_append_new(kinds, kind(&k.list.data[i]));
  json_object_set_new(root, "operators", kinds);
  json_object_set_new(root, "refused", groups(s, &k, NULL));
  json_object_set_new(root, "refused_besides", other_refusals(s));
  json_object_set_new(root, "cut", ends(s));
  for (size_t r = 0; r < s->runs.n; r++)
    json_array_append_new(runs, one_run(s, &k, &s->runs.data[r]));
  json_object_set_new(root, "runs", runs);
  if (all_nodes) json_object_set_new(root, "nodes", nodes(s));
  json_dumpf(root, stdout, JSON_INDENT(2));
  putchar('\n');
  json_decref(root);
  wk_vec_free(&k.list);
}
