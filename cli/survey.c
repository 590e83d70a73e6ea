/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/survey.h"

#include <stdlib.h>
#include <string.h>

#include "cli/survey_place.h"
#include "cli/text.h"

/* ---- one list of targets --------------------------------------------------------------------- */

static void name_targets(wk_survey *s, const wk_targets *t, wk_survey_run *run) {
  run->n = (uint32_t)t->n;
  run->target = wk_arena_alloc(s->arena, t->n * sizeof *run->target);
  run->macs = wk_arena_alloc(s->arena, t->n * sizeof *run->macs);
  run->names = wk_targets_text(t, s->arena);
  for (size_t i = 0; i < t->n; i++) {
    const wk_instance *x = t->list[i];
    run->target[i] = wk_arena_printf(s->arena, "%s%s%s", x->target->name, x->spec ? ":" : "",
                                     x->spec ? x->spec : "");
  }
}

static void count_macs(const wk_parts *p, wk_survey_run *run) {
  for (size_t i = 0; i < p->parts.n; i++)
    run->macs[p->parts.data[i].target] += p->parts.data[i].macs;
}

static wk_status run_on(wk_survey *s, const wk_module *imported, const wk_targets *t,
                        bool with_parts, wk_survey_run *run) {
  wk_pipeline_report report;
  wk_parts *parts;
  wk_module *m = wk_module_clone(imported);
  const wk_pipeline_options o = {.targets = t, .stop_after = with_parts ? "admit" : "partition"};
  name_targets(s, t, run);
  wk_status st = wk_pipeline_run(m, &o, &report, &parts);
  wk_model_target_notes(&s->notes, s->path, &report, t, parts, st);
  if (parts) {
    wk_survey_place_nodes(s, imported, m, parts, run);
    count_macs(parts, run);
  }
  wk_parts_free(parts);
  wk_pipeline_report_free(&report);
  wk_module_free(m);
  return st;
}

/* Of every target by itself, one that cannot be opened says so, and the others go on; so does a
 * list that has no code for something. */
static wk_status add_run(wk_survey *s, const wk_module *imported, const wk_target_args *args,
                    bool with_parts, bool is_one_of_all) {
  wk_targets t;
  wk_survey_run run = {.names = args->target ? args->target : "", .is_one_of_all = is_one_of_all};
  run.place = wk_arena_alloc(s->arena, s->report.nodes.n * sizeof *run.place);
  wk_status st = wk_targets_open(args, &t);
  if (st && !is_one_of_all) {
    wk_targets_close(&t);
    return st;
  }
  if (!st) st = run_on(s, imported, &t, with_parts, &run);
  wk_targets_close(&t);
  if (st) {
    run.error = wk_arena_printf(s->arena, "%s%s%s", st->place ? st->place : "",
                                st->place ? ": " : "", st->message);
    run.code = st->code;
  }
  wk_status_free(st);
  wk_vec_push(&s->runs, run);
  return NULL;
}

static wk_status add_runs(wk_survey *s, const wk_module *m, const wk_target_args *args,
                     bool with_parts) {
  const wk_target *t;
  if (args->target && strcmp(args->target, WK_SURVEY_ALL) != 0)
    return add_run(s, m, args, with_parts, false);
  for (size_t i = 0; (t = wk_target_at(i)); i++) {
    wk_target_args one = *args;
    one.target = t == wk_target_host() ? NULL : t->name;
    WK_TRY(add_run(s, m, &one, with_parts, true));
  }
  return NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void count_nodes(wk_survey *s) {
  for (size_t i = 0; i < s->report.nodes.n; i++) {
    s->refused += s->report.nodes.data[i].fate == WK_SURVEY_REFUSED;
    s->unknown += s->report.nodes.data[i].fate == WK_SURVEY_UNKNOWN;
  }
  for (size_t i = 0; i < s->report.unsupported.n; i++)
    s->refused_besides += !s->report.unsupported.data[i].is_node;
}

wk_status wk_survey_make(const char *path, const wk_binding_set *b, const wk_target_args *targets,
                         bool with_parts, wk_survey *out) {
  wk_import_options o = wk_binding_import_options(b, false);
  wk_module *m;
  *out = (wk_survey){.arena = wk_arena_new(), .path = path};
  o.survey = true;
  WK_TRY(wk_status_place(wk_net_import(path, &o, &out->report, &m), path));
  wk_model_notes(&out->notes, path, &o, &out->report, m);
  count_nodes(out);
  wk_status s = out->report.need_bind.n ? NULL : add_runs(out, m, targets, with_parts);
  wk_module_free(m);
  return s;
}

void wk_survey_free(wk_survey *s) {
  for (size_t r = 0; r < s->runs.n; r++)
    for (size_t i = 0; i < s->report.nodes.n; i++) wk_vec_free(&s->runs.data[r].place[i].reasons);
  wk_vec_free(&s->runs);
  wk_import_report_free(&s->report);
  wk_notes_free(&s->notes);
  wk_arena_free(s->arena);
}

wk_status wk_survey_verdict(const wk_survey *s) {
  int64_t all = s->refused + s->refused_besides;
  if (s->refused_besides)
    return wk_error_at(WK_UNSUPPORTED, s->path, "%lld part%s of the model %s not supported",
                       (long long)all, all == 1 ? "" : "s", all == 1 ? "is" : "are");
  if (s->refused)
    return wk_error_at(WK_UNSUPPORTED, s->path, "%lld of %zu nodes are not supported",
                       (long long)s->refused, s->report.nodes.n);
  WK_TRY(wk_status_place(wk_import_unbound(&s->report), s->path));
  for (size_t i = 0; i < s->runs.n; i++) {
    const wk_survey_run *r = &s->runs.data[i];
    bool is_absent = r->is_one_of_all && !r->n; /* no such device here */
    if (r->error && !is_absent) return wk_error(r->code, "%s", r->error);
  }
  return NULL;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

typedef struct { const wk_surveyed *node; uint32_t at; } sorted_node;

static int by_kind(const void *a, const void *b) {
  const wk_surveyed *x = ((const sorted_node *)a)->node, *y = ((const sorted_node *)b)->node;
  int order = strcmp(x->domain, y->domain);
  if (!order) order = strcmp(x->op, y->op);
  return order ? order : (x->opset > y->opset) - (x->opset < y->opset);
}

wk_survey_kinds wk_survey_kinds_of(const wk_survey *s) {
  size_t n = s->report.nodes.n;
  wk_survey_kinds k = {.of = wk_arena_alloc(s->arena, n * sizeof *k.of)};
  sorted_node *all = wk_arena_alloc(s->arena, n * sizeof *all);
  for (size_t i = 0; i < n; i++) all[i] = (sorted_node){&s->report.nodes.data[i], (uint32_t)i};
  qsort(all, n, sizeof *all, by_kind);
  for (size_t i = 0; i < n; i++) {
    const wk_surveyed *x = all[i].node;
    wk_survey_kind fresh = {.domain = x->domain, .op = x->op, .opset = x->opset};
    if (!i || by_kind(&all[i - 1], &all[i])) wk_vec_push(&k.list, fresh);
    k.of[all[i].at] = (uint32_t)k.list.n - 1;
    k.list.data[k.list.n - 1].fates[x->fate]++;
  }
  return k;
}

/* ---- reasons --------------------------------------------------------------------------------- */

typedef struct {
  wk_map *known;
  wk_survey_groups out;
} grouping;

static void add_to_group(const wk_survey *s, grouping *g, uint32_t kind, uint32_t node,
                         const wk_survey_reason *r) {
  const char *key = wk_arena_printf(s->arena, "%u\n%u\n%s\n%s", kind, r->refused, r->step,
                                    r->reason);
  uint32_t at = (uint32_t)g->out.n;
  if (!wk_map_get(g->known, key, &at)) {
    wk_survey_group fresh = {.kind = kind, .reason = *r};
    wk_map_put(g->known, key, at);
    wk_vec_push(&g->out, fresh);
  }
  wk_vec_push(&g->out.data[at].nodes, node);
}

wk_survey_groups wk_survey_groups_of(const wk_survey *s, const wk_survey_kinds *k,
                                     const wk_survey_run *run) {
  grouping g = {.known = wk_map_new()};
  for (uint32_t i = 0; i < s->report.nodes.n; i++) {
    const wk_surveyed *n = &s->report.nodes.data[i];
    const wk_survey_reason refusal = {.step = "", .reason = n->reason};
    if (!run && n->fate == WK_SURVEY_REFUSED) add_to_group(s, &g, k->of[i], i, &refusal);
    for (size_t r = 0; run && r < run->place[i].reasons.n; r++)
      add_to_group(s, &g, k->of[i], i, &run->place[i].reasons.data[r]);
  }
  wk_map_free(g.known);
  return g.out;
}

void wk_survey_groups_free(wk_survey_groups *g) {
  for (size_t i = 0; i < g->n; i++) wk_vec_free(&g->data[i].nodes);
  wk_vec_free(g);
}

wk_survey_share wk_survey_share_of(const wk_survey_kinds *k, const wk_survey_run *run,
                                   uint32_t kind, uint32_t target, size_t n_nodes) {
  wk_survey_share share = {0};
  uint64_t bit = UINT64_C(1) << target;
  for (size_t i = 0; i < n_nodes; i++) {
    uint64_t on = run->place[i].on;
    if (k->of[i] != kind || !(on & bit)) continue;
    if (on == bit) share.whole++;
    else share.in_part++;
  }
  return share;
}
