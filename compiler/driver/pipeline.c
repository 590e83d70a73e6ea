/* SPDX-License-Identifier: Apache-2.0
 * The whole compiler on one screen: every step by name, in order. */
#include "compiler/driver/pipeline.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  const wk_pipeline_options *o;
  wk_pipeline_report *report;
  wk_module *m;
  wk_program *p;
  double started;
  bool stopped;
} pipeline;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static wk_status done(pipeline *l, const char *name, int64_t changes, double seconds) {
  wk_step_record r = {.name = name, .changes = changes, .seconds = seconds};
  wk_vec_push(&l->report->steps, r);
  if (l->o->hook) WK_TRY(l->o->hook(l->o->ctx, &r, l->p ? NULL : l->m, l->p));
  l->stopped = l->o->stop_after && !strcmp(l->o->stop_after, name);
  return NULL;
}

static wk_status after_pass(void *ctx, const wk_pass *pass, const wk_module *m, int64_t changes,
                            double seconds) {
  pipeline *l = ctx;
  (void)m;
  WK_TRY(done(l, pass->name, changes, seconds));
  return l->stopped ? wk_error(WK_OK, "stopped") : NULL;
}

static wk_status graph_passes(pipeline *l, wk_stage stage) {
  wk_status s = wk_passes_run(l->m, stage, l->o->target, after_pass, l);
  if (s && l->stopped) {
    wk_status_free(s);
    s = NULL;
  }
  return s;
}

static wk_status lower(pipeline *l, int64_t *changes) {
  (void)changes;
  return wk_lower_nodes(l->m, l->o->target);
}

static wk_status layout(pipeline *l, int64_t *changes) {
  WK_TRY(wk_layout_assign(l->m, l->o->target));
  for (size_t k = 0; k < l->m->graphs.n; k++)
    for (size_t v = 0; v < l->m->graphs.data[k]->values.n; v++)
      *changes += l->m->graphs.data[k]->values.data[v].has_order;
  return NULL;
}

static wk_status order(pipeline *l, int64_t *changes) {
  (void)changes;
  return wk_order_nodes(l->m, &l->report->peak_in_model_order, &l->report->peak_ordered);
}

static wk_status generate(pipeline *l, int64_t *changes) {
  (void)changes;
  return wk_generate(l->m, &l->p);
}

/* Everything that the target has no code for, in one report. */
static wk_status check_supported(const wk_target *t, const wk_program *p) {
  wk_arena *scratch = wk_arena_new();
  wk_inst_pos *all;
  size_t n = wk_program_flatten(p, scratch, &all);
  wk_status s = NULL;
  for (size_t i = 0; i < n; i++) {
    const char *reason = NULL;
    const wk_inst *x = all[i].inst;
    if (t->supports(t, p, x, &reason)) continue;
    if (!s)
      s = wk_error_at(WK_UNSUPPORTED, x->name, "target %s: %s: %s", t->name,
                      wk_op_get(x->op)->name, reason);
    else s = wk_status_item(s, "%s: %s: %s", x->name, wk_op_get(x->op)->name, reason);
  }
  wk_arena_free(scratch);
  return s;
}

static wk_status prepare_program(const wk_target *t, wk_program *p, const wk_emit_options *emit) {
  if (t && t->supports) WK_TRY(check_supported(t, p));
  if (t && t->prepare) WK_TRY(t->prepare(t, p, emit));
  return wk_program_verify(p);
}

static wk_status place_program(const wk_target *t, wk_program *p) {
  WK_TRY(wk_place(p, t ? t->act_align : 64));
  return wk_place_check(p);
}

wk_status wk_pipeline_finish(wk_program *p, const wk_target *t, const wk_emit_options *emit) {
  WK_TRY(prepare_program(t, p, emit));
  return place_program(t, p);
}

static wk_status prepare(pipeline *l, int64_t *changes) {
  (void)changes;
  return prepare_program(l->o->target, l->p, l->o->emit);
}

static wk_status place(pipeline *l, int64_t *changes) {
  (void)changes;
  return place_program(l->o->target, l->p);
}

static wk_status step(pipeline *l, const char *name, wk_status (*run)(pipeline *, int64_t *)) {
  int64_t changes = 0;
  double t = now();
  if (l->stopped) return NULL;
  WK_TRY(run(l, &changes));
  return done(l, name, changes, now() - t);
}

static wk_status inst_passes(pipeline *l) {
  for (size_t i = 0; i < wk_inst_passes_count && !l->stopped; i++) {
    int64_t changes = 0;
    double t = now();
    wk_arena *scratch = wk_arena_new();
    wk_status s = wk_inst_passes[i].run(l->p, scratch, &changes);
    wk_arena_free(scratch);
    if (!s) s = wk_program_verify(l->p);
    if (s) return wk_status_note(s, "in instruction pass %s", wk_inst_passes[i].name);
    WK_TRY(done(l, wk_inst_passes[i].name, changes, now() - t));
  }
  return NULL;
}

static wk_status compile(pipeline *l) {
  WK_TRY(wk_module_verify(l->m));
  WK_TRY(graph_passes(l, WK_STAGE_GRAPH));
  if (l->o->graph_only) return NULL;
  WK_TRY(step(l, "lower", lower));
  if (!l->stopped) WK_TRY(graph_passes(l, WK_STAGE_PRIMITIVE));
  WK_TRY(step(l, "layout", layout));
  WK_TRY(step(l, "order", order));
  WK_TRY(step(l, "generate", generate));
  if (!l->stopped) WK_TRY(inst_passes(l));
  if (!l->o->portable) WK_TRY(step(l, "prepare", prepare));
  return step(l, "place", place);
}

typedef struct {
  wk_pipeline_step *data;
  size_t n, max;
} step_list;

static void add_step(step_list *l, const char *name, const char *on, const char *doc) {
  if (l->n < l->max) l->data[l->n++] = (wk_pipeline_step){name, on, doc};
}

/* Passes that run on graphs, or those that run on primitives alone. */
static void add_passes(step_list *l, bool graphs) {
  for (size_t i = 0; i < wk_passes_count; i++) {
    const wk_pass *p = &wk_passes[i];
    bool on_graphs = p->stages & WK_STAGE_GRAPH, on_primitives = p->stages & WK_STAGE_PRIMITIVE;
    const char *on = !on_graphs      ? "primitives"
                     : on_primitives ? "graphs, primitives"
                                     : "graphs";
    if (on_graphs == graphs) add_step(l, p->name, on, p->doc);
  }
}

size_t wk_pipeline_steps(wk_pipeline_step *steps, size_t max) {
  step_list l = {.data = steps, .max = max};
  add_passes(&l, true);
  add_step(&l, "lower", "graphs", "every operator becomes primitives and views");
  add_passes(&l, false);
  add_step(&l, "layout", "primitives", "memory order of every value: channels last");
  add_step(&l, "order", "primitives", "an order of nodes with a small peak of live bytes");
  add_step(&l, "generate", "primitives", "values get storage, movement becomes strides");
  for (size_t i = 0; i < wk_inst_passes_count; i++)
    add_step(&l, wk_inst_passes[i].name, "programs", wk_inst_passes[i].doc);
  add_step(&l, "prepare", "programs", "the target's own: weights packed, scratch buffers");
  add_step(&l, "place", "programs", "offsets for all buffers");
  return l.n;
}

wk_status wk_pipeline_check_step(const char *option, const char *name) {
  wk_pipeline_step steps[WK_PIPELINE_MAX_STEPS];
  const char *names[WK_PIPELINE_MAX_STEPS];
  size_t n = wk_pipeline_steps(steps, WK_COUNTOF(steps));
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(steps[i].name, name)) return NULL;
    names[i] = steps[i].name;
  }
  const char *near = wk_nearest(name, names, n);
  if (near)
    return wk_error(WK_USAGE, "%s: no pass '%s'; did you mean '%s'?", option, name, near);
  return wk_error(WK_USAGE, "%s: no pass '%s'; 'wick ops --passes' lists them", option, name);
}

int64_t wk_module_nodes(const wk_module *m) {
  int64_t n = 0;
  for (size_t k = 0; k < m->graphs.n; k++) n += (int64_t)m->graphs.data[k]->nodes.n;
  return n;
}

static void count_module(const wk_module *m, wk_pipeline_report *r) {
  wk_map *seen = wk_map_new();
  wk_arena *scratch = wk_arena_new();
  r->nodes = wk_module_nodes(m);
  for (size_t k = 0; k < m->graphs.n; k++) {
    const wk_graph *g = m->graphs.data[k];
    for (size_t i = 0; i < g->nodes.n; i++) r->macs += wk_node_macs(g, &g->nodes.data[i]);
    for (size_t v = 0; v < g->values.n; v++) {
      const wk_value *val = &g->values.data[v];
      uint32_t known;
      if (val->kind != WK_VALUE_CONSTANT) continue;
      char *key = wk_arena_printf(scratch, "%p", val->data);
      if (wk_map_get(seen, key, &known)) continue;
      wk_map_put(seen, key, 1);
      r->weights += wk_type_bytes(&val->type);
    }
  }
  wk_map_free(seen);
  wk_arena_free(scratch);
}

void wk_pipeline_report_free(wk_pipeline_report *r) { wk_vec_free(&r->steps); }

wk_status wk_pipeline_run(wk_module *m, const wk_pipeline_options *o, wk_pipeline_report *report,
                          wk_program **out) {
  pipeline l = {.o = o, .report = report, .m = m, .started = now()};
  *report = (wk_pipeline_report){0};
  *out = NULL;
  count_module(m, report);
  wk_status s = compile(&l);
  report->seconds = now() - l.started;
  if (s) {
    wk_program_free(l.p);
    return s;
  }
  if (l.p) report->instructions = (int64_t)l.p->body.insts.n;
  *out = l.p;
  return NULL;
}
