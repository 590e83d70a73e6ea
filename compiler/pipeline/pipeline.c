/* SPDX-License-Identifier: Apache-2.0
 * The steps of pipeline.def one after the other (compile); what each of them does is here or in the
 * library that it calls. */
#include "compiler/pipeline/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/pipeline/targets.h"

typedef struct {
  const wk_pipeline_options *o;
  wk_pipeline_report *report;
  wk_module *m;
  wk_owners *owners; /* of m's nodes, from the lowering on */
  wk_parts *parts;
  wk_part_refusals refused; /* what parts have been cut without */
  bool cuts_again;          /* one more was refused since they were cut */
  bool stopped;             /* what is left but the emission is left out */
  double started;           /* wk_clock() after the import */
} pipeline;

static wk_status done(pipeline *l, const wk_step_record *r, const wk_module *m,
                      const wk_program *p) {
  wk_vec_push(&l->report->steps, *r);
  if (l->o->hook) WK_TRY(l->o->hook(l->o->ctx, r, m, p));
  l->stopped = l->stopped || (l->o->stop_after && !strcmp(l->o->stop_after, r->name));
  return NULL;
}

/* ---- passes on graphs ------------------------------------------------------------------------ */

typedef struct {
  pipeline *l;
  const wk_part *part; /* NULL: the whole module */
  wk_step_kind kind;
} pass_run;

static wk_status after_pass(void *ctx, const wk_pass *pass, const wk_module *m, int64_t changes,
                            double seconds) {
  pass_run *x = ctx;
  wk_step_record r = {.name = pass->name, .kind = x->kind, .is_pass = true, .changes = changes,
                      .part = x->part && x->part->owns_module ? x->part->name : NULL,
                      .seconds = seconds};
  WK_TRY(done(x->l, &r, m, NULL));
  return x->l->stopped ? wk_error(WK_OK, "stopped") : NULL;
}

static wk_status run_passes(wk_module *m, wk_stage stage, wk_owners *owners, pass_run *x) {
  wk_status s = wk_passes_run(m, stage, owners, after_pass, x);
  if (s && s->code == WK_OK) {
    wk_status_free(s);
    s = NULL;
  }
  return s;
}

static wk_status graph_passes(pipeline *l, wk_stage stage) {
  pass_run x = {l, NULL, stage == WK_STAGE_GRAPH ? WK_ON_GRAPHS : WK_ON_PRIMITIVES};
  return run_passes(l->m, stage, l->owners, &x);
}

/* With one target the module has been through them. */
static wk_status part_passes(pipeline *l) {
  bool stops = false;
  if (l->o->targets->n == 1) return NULL;
  for (size_t i = 0; i < l->parts->parts.n; i++) {
    const wk_part *part = &l->parts->parts.data[i];
    wk_instance *const own[] = {l->o->targets->list[part->target]};
    pass_run x = {l, part, WK_ON_PARTS};
    l->stopped = false; /* each part as far as the others */
    wk_owners *owners = wk_owners_new(&(wk_targets){.list = own, .n = 1});
    wk_status s = run_passes(part->module, WK_STAGE_PRIMITIVE, owners, &x);
    wk_owners_free(owners);
    WK_TRY(s);
    stops |= l->stopped;
  }
  l->stopped = stops;
  return NULL;
}

/* ---- steps on the module --------------------------------------------------------------------- */

static wk_status import(pipeline *l) {
  if (!l->m) WK_TRY(l->o->ends.import(l->o->ends.ctx, &l->m));
  l->started = wk_clock();
  return wk_module_verify(l->m);
}

static void count_weights(const wk_module *m, wk_pipeline_report *r) {
  wk_map *seen = wk_map_new();
  wk_arena *scratch = wk_arena_new();
  r->weights = 0;
  for (size_t k = 0; k < m->graphs.n; k++) {
    const wk_graph *g = m->graphs.data[k];
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

static void count_module(const wk_module *m, wk_pipeline_report *r) {
  r->nodes = wk_module_nodes(m);
  for (size_t k = 0; k < m->graphs.n; k++) {
    const wk_graph *g = m->graphs.data[k];
    for (size_t i = 0; i < g->nodes.n; i++) {
      const wk_node *n = &g->nodes.data[i];
      int64_t macs = wk_node_macs(g, n);
      r->macs += macs;
      if (macs > 0 && wk_dtype_is_float(wk_val(g, n->in[0])->type.dtype)) r->float_macs += macs;
    }
  }
  count_weights(m, r);
}

static wk_status step_integer(pipeline *l, wk_part *part, int64_t *changes) {
  (void)part;
  l->m->keeps_variables = l->o->shares_variables;
  WK_TRY(wk_integer_convert(l->m, changes));
  WK_TRY(wk_module_verify(l->m));
  count_module(l->m, l->report);
  l->report->n_integer = wk_integer_rows(l->m, l->report->arena, &l->report->integer);
  return NULL;
}

static wk_status step_adapt(pipeline *l, wk_part *part, int64_t *changes) {
  const wk_targets *t = l->o->targets;
  (void)part;
  for (size_t i = 0; i < t->n; i++) {
    wk_adaptation x = {0};
    if (!t->list[i]->target->adapt) continue;
    WK_TRY(t->list[i]->target->adapt(t->list[i], l->m, &x));
    WK_TRY(wk_module_verify(l->m));
    *changes += x.changes;
    if (!x.why || l->report->adapted.why) continue;
    l->report->adapted = x;
    l->report->adapted_by = t->list[i]->target->name;
  }
  return NULL;
}

/* Behind the passes on graphs: what they compute of weights is rounded once. */
static wk_status step_convert(pipeline *l, wk_part *part, int64_t *changes) {
  wk_dtype to = l->o->convert;
  (void)part;
  if (to == WK_DTYPE_NONE) return NULL;
  if (wk_dtype_is_float(to)) WK_TRY(wk_convert_floats(l->m, to, changes));
  else WK_TRY(wk_convert_blocks(l->m, wk_dtype_bits(to), l->o->convert_block, &l->report->blocks,
                                changes));
  WK_TRY(wk_module_verify(l->m));
  count_weights(l->m, l->report);
  return NULL;
}

static bool any_claims(void *ctx, const wk_graph *g, const wk_node *n) {
  const wk_targets *t = ctx;
  for (size_t i = 0; i < t->n; i++)
    if (t->list[i]->target->claims && t->list[i]->target->claims(t->list[i], g, n)) return true;
  return false;
}

static wk_status step_lower(pipeline *l, wk_part *part, int64_t *changes) {
  (void)part;
  (void)changes;
  WK_TRY(wk_targets_check_pins(l->o->targets, l->m));
  WK_TRY(wk_lower_nodes(l->m, any_claims, (void *)(uintptr_t)l->o->targets));
  l->owners = wk_owners_new(l->o->targets);
  return NULL;
}

static wk_status step_partition(pipeline *l, wk_part *part, int64_t *changes) {
  (void)part;
  bool is_whole = l->parts && l->parts->parts.n == 1 && !l->parts->parts.data[0].owns_module;
  if (is_whole) wk_owners_forget(l->owners); /* steps on the part were steps on the module */
  wk_parts_free(l->parts);
  l->parts = NULL;
  l->cuts_again = false;
  l->report->peak_in_model_order = l->report->peak_ordered = 0;
  WK_TRY(wk_partition(l->m, l->owners, &l->refused, !l->o->shares_variables, &l->parts));
  *changes = (int64_t)l->parts->parts.n - 1;
  return NULL;
}

/* ---- steps on each part ---------------------------------------------------------------------- */

static wk_status step_expand(pipeline *l, wk_part *part, int64_t *changes) {
  wk_instance *const own[] = {l->o->targets->list[part->target]};
  wk_targets t = {.list = own, .n = 1};
  (void)changes;
  return l->o->targets->n > 1 ? wk_lower_nodes(part->module, any_claims, &t) : NULL;
}

static wk_wish wish_of(const wk_instance *t, const wk_graph *g) {
  return t->target->wish ? t->target->wish(t, g) : (wk_wish){false, WICK_ALIGN};
}

static wk_status step_layout(pipeline *l, wk_part *part, int64_t *changes) {
  const wk_module *m = part->module;
  (void)l;
  WK_TRY(wk_layout_assign(part->module, wish_of(part->instance, m->main).channels_last));
  for (size_t k = 0; k < m->graphs.n; k++)
    for (size_t v = 0; v < m->graphs.data[k]->values.n; v++)
      *changes += m->graphs.data[k]->values.data[v].has_order;
  return NULL;
}

/* Behind all that decides how something is computed, so that the budget does not change a bit. */
static wk_status step_rematerialise(pipeline *l, wk_part *part, int64_t *changes) {
  wk_remat_report r;
  if (l->o->memory_budget == 0) return NULL;
  wk_status s = wk_rematerialise(part->module, l->o->memory_budget, &r);
  *changes = r.nodes;
  if (r.before > l->report->remat.before || s) l->report->remat = r;
  return s;
}

static wk_status step_order(pipeline *l, wk_part *part, int64_t *changes) {
  int64_t before, after;
  (void)changes;
  if (part->instance->target->takes_graph) wk_order_by_results(part->module->main);
  WK_TRY(wk_order_nodes(part->module, &before, &after));
  if (before > l->report->peak_in_model_order) l->report->peak_in_model_order = before;
  if (after > l->report->peak_ordered) l->report->peak_ordered = after;
  return NULL;
}

static wk_status step_admit(pipeline *l, wk_part *part, int64_t *changes) {
  const wk_target *t = part->instance->target;
  const char *reason = "no reason given";
  wk_node_id node = WK_NONE;
  size_t before = l->refused.list.n;
  if (!t->admits || !part->from) return NULL;
  wk_arena *scratch = wk_arena_new();
  wk_status s = NULL;
  if (!t->admits(part->instance, part->module->main, scratch, &node, &reason)) {
    s = wk_part_refuse(part, node, reason, &l->refused);
    l->cuts_again = true;
  }
  *changes = (int64_t)(l->refused.list.n - before);
  wk_arena_free(scratch);
  return s;
}

static wk_status step_generate(pipeline *l, wk_part *part, int64_t *changes) {
  (void)l;
  (void)changes;
  const wk_target *t = part->instance->target;
  return t->takes_graph ? wk_generate_frame(part->module, &part->program)
                        : wk_generate(part->module, t->rows_from, &part->program);
}

static wk_status place(wk_program *p, int64_t align) {
  WK_TRY(wk_place(p, align));
  return wk_place_check(p);
}

static wk_status step_place(pipeline *l, wk_part *part, int64_t *changes) {
  (void)changes;
  if (l->o->unplaced || part->instance->target->places_itself) return NULL;
  return place(part->program, wish_of(part->instance, part->module->main).align);
}

/* ---- passes on the program of each part ------------------------------------------------------ */

/* next: the target's pass that follows. */
static bool ends_portable(const wk_target_pass *next) {
  return !next || !next->name || !next->is_portable;
}

static wk_status ran_on_program(pipeline *l, const wk_part *part, const char *name, int64_t changes,
                                double started, bool is_portable_end) {
  wk_step_record r = {.name = name, .kind = WK_ON_PROGRAMS, .is_pass = true, .changes = changes,
                      .is_portable_end = is_portable_end,
                      .part = part->owns_module ? part->name : NULL,
                      .seconds = wk_clock() - started};
  wk_status s = wk_program_verify(part->program);
  return s ? wk_status_note(s, "after %s", name) : done(l, &r, NULL, part->program);
}

static wk_status inst_passes(pipeline *l) {
  for (size_t k = 0; k < wk_inst_passes_count && !l->stopped; k++)
    for (size_t i = 0; i < l->parts->parts.n; i++) {
      const wk_inst_pass *pass = &wk_inst_passes[k];
      const wk_part *part = &l->parts->parts.data[i];
      int64_t changes = 0;
      double started = wk_clock();
      wk_arena *scratch = wk_arena_new();
      wk_status s = pass->run(part->program, scratch, &changes);
      wk_arena_free(scratch);
      if (s) return wk_status_note(s, "in instruction pass %s", pass->name);
      WK_TRY(ran_on_program(l, part, pass->name, changes, started,
                            k + 1 == wk_inst_passes_count &&
                                ends_portable(part->instance->target->passes)));
    }
  return NULL;
}

static wk_status run_target_pass(const wk_instance *t, const wk_target_pass *pass, wk_program *p,
                                 int64_t *changes) {
  wk_arena *scratch = wk_arena_new();
  wk_status s = pass->run(t, p, scratch, changes);
  wk_arena_free(scratch);
  return s ? wk_status_note(s, "in pass %s of target %s", pass->name, t->target->name) : NULL;
}

static wk_status target_passes(pipeline *l) {
  bool stops = false;
  for (size_t i = 0; i < l->parts->parts.n; i++) {
    const wk_part *part = &l->parts->parts.data[i];
    const wk_target_pass *pass = part->instance->target->passes;
    l->stopped = false;
    for (; pass && pass->name && !l->stopped; pass++) {
      int64_t changes = 0;
      double started = wk_clock();
      if (l->o->portable && !pass->is_portable) continue;
      WK_TRY(run_target_pass(part->instance, pass, part->program, &changes));
      WK_TRY(ran_on_program(l, part, pass->name, changes, started,
                            pass->is_portable && ends_portable(pass + 1)));
    }
    stops |= l->stopped;
  }
  l->stopped = stops;
  return NULL;
}

wk_status wk_pipeline_finish(wk_program *p, const wk_instance *t) {
  const wk_target_pass *pass = t->target->passes;
  for (; pass && pass->name; pass++) {
    int64_t changes = 0;
    if (!pass->is_portable) WK_TRY(run_target_pass(t, pass, p, &changes));
  }
  WK_TRY(wk_program_verify(p));
  return t->target->places_itself ? NULL : place(p, wish_of(t, NULL).align);
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Rows of pipeline.def; those without a step are of passes. */
typedef enum { ROW_STEP, ROW_PASSES, ROW_PART_PASSES, ROW_INST, ROW_TARGET } row_kind;

static const struct {
  row_kind is;
  wk_step_kind kind;
  wk_stage stage;
  const char *name, *doc;
} rows[] = {
#define STEP(name_, kind_, doc_) \
  {.is = ROW_STEP, .kind = WK_ON_##kind_, .name = #name_, .doc = doc_},
#define PASSES(stage_) {.is = ROW_PASSES, .stage = WK_STAGE_##stage_},
#define PART_PASSES {.is = ROW_PART_PASSES},
#define INST_PASSES {.is = ROW_INST},
#define TARGET_PASSES {.is = ROW_TARGET},
#include "compiler/pipeline/pipeline.def"
#undef STEP
#undef PASSES
#undef PART_PASSES
#undef INST_PASSES
#undef TARGET_PASSES
};

static wk_step_kind kind_of(const char *name) {
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    if (rows[i].name && !strcmp(rows[i].name, name)) return rows[i].kind;
  WK_BUG("a step that pipeline.def does not list");
}

/* ---- the pipeline ---------------------------------------------------------------------------- */

typedef wk_status (*step_fn)(pipeline *l, wk_part *part, int64_t *changes);

/* What has been cut is seen part by part. */
static wk_status show_parts(pipeline *l, wk_step_record r) {
  for (size_t i = 0; i < l->parts->parts.n; i++) {
    const wk_part *part = &l->parts->parts.data[i];
    r.part = part->owns_module ? part->name : NULL;
    WK_TRY(done(l, &r, part->module, NULL));
    r.seconds = 0;
    r.changes = 0;
  }
  return NULL;
}

/* part NULL: on the whole module. */
static wk_status run_step(pipeline *l, const char *name, step_fn run, wk_part *part) {
  double started = wk_clock();
  wk_step_record r = {.name = name, .kind = kind_of(name),
                      .part = part && part->owns_module ? part->name : NULL};
  WK_TRY(run(l, part, &r.changes));
  r.seconds = wk_clock() - started;
  if (!part && l->parts) return show_parts(l, r);
  const wk_program *p = part ? part->program : NULL;
  return done(l, &r, p ? NULL : part ? part->module : l->m, p);
}

static wk_status run_on_parts(pipeline *l, const char *name, step_fn run) {
  for (size_t i = 0; i < l->parts->parts.n; i++)
    WK_TRY(run_step(l, name, run, &l->parts->parts.data[i]));
  return NULL;
}

/* ---- the end --------------------------------------------------------------------------------- */

static wk_status emit(pipeline *l) {
  for (size_t i = 0; l->parts && i < l->parts->parts.n; i++)
    if (l->parts->parts.data[i].program)
      l->report->instructions += (int64_t)l->parts->parts.data[i].program->body.insts.n;
  l->report->seconds = wk_clock() - l->started;
  return l->o->ends.emit ? l->o->ends.emit(l->o->ends.ctx, l->parts) : NULL;
}

/* A statement of compile, which is left out behind the step where it was to stop. */
#define RUN(call)                     \
  do {                                \
    if (!l->stopped) WK_TRY(call);    \
  } while (0)
#define ON_MODULE(name) RUN(run_step(l, #name, step_##name, NULL))
#define ON_PARTS(name) RUN(run_on_parts(l, #name, step_##name))

/* Until every target admits its parts: each round leaves it a node less. */
static wk_status cut(pipeline *l) {
  do {
    l->stopped = false;
    ON_MODULE(partition);
    ON_PARTS(expand);
    RUN(part_passes(l));
    ON_PARTS(layout);
    ON_PARTS(rematerialise);
    ON_PARTS(order);
    ON_PARTS(admit);
  } while (l->cuts_again);
  return NULL;
}

static wk_status compile(pipeline *l) {
  RUN(import(l));
  ON_MODULE(integer);
  ON_MODULE(adapt);
  RUN(graph_passes(l, WK_STAGE_GRAPH));
  ON_MODULE(convert);
  l->stopped |= l->o->graph_only;
  ON_MODULE(lower);
  RUN(graph_passes(l, WK_STAGE_PRIMITIVE));
  RUN(cut(l));
  ON_PARTS(generate);
  RUN(inst_passes(l));
  RUN(target_passes(l));
  ON_PARTS(place);
  return emit(l);
}

wk_status wk_pipeline_run(wk_module *m, const wk_pipeline_options *o, wk_pipeline_report *report,
                          wk_parts **out) {
  pipeline l = {.o = o, .report = report, .m = m};
  *report = (wk_pipeline_report){.arena = wk_arena_new()};
  *out = NULL;
  l.refused.arena = report->arena;
  wk_status s = compile(&l);
  wk_vec_free(&l.refused.list);
  wk_owners_free(l.owners);
  if (s) wk_parts_free(l.parts);
  else *out = l.parts;
  return s;
}

void wk_pipeline_report_free(wk_pipeline_report *r) {
  wk_vec_free(&r->steps);
  wk_block_report_free(&r->blocks);
  wk_arena_free(r->arena);
  r->arena = NULL;
}

int64_t wk_module_nodes(const wk_module *m) {
  int64_t n = 0;
  for (size_t k = 0; k < m->graphs.n; k++) n += (int64_t)m->graphs.data[k]->nodes.n;
  return n;
}

/* ---- names of steps -------------------------------------------------------------------------- */

static void add_step(wk_pipeline_step_list *l, const char *name, wk_step_kind kind, const char *on,
                     const char *doc, const char *target) {
  wk_pipeline_step step = {name, kind, on, doc, target};
  wk_vec_push(l, step);
}

/* A pass of both stages is listed with the first. */
static void add_passes(wk_pipeline_step_list *l, wk_stage stage) {
  for (size_t i = 0; i < wk_passes_count; i++) {
    const wk_pass *p = &wk_passes[i];
    bool on_graphs = p->stages & WK_STAGE_GRAPH, on_primitives = p->stages & WK_STAGE_PRIMITIVE;
    const char *on = !on_graphs      ? "primitives"
                     : on_primitives ? "graphs, primitives"
                                     : "graphs";
    if (on_graphs == (stage == WK_STAGE_GRAPH))
      add_step(l, p->name, on_graphs ? WK_ON_GRAPHS : WK_ON_PRIMITIVES, on, p->doc, NULL);
  }
}

static void add_target_passes(wk_pipeline_step_list *l) {
  const wk_target *t;
  for (size_t i = 0; (t = wk_target_at(i)); i++)
    for (const wk_target_pass *p = t->passes; p && p->name; p++)
      add_step(l, p->name, WK_ON_PROGRAMS, "programs", p->doc, t->name);
}

wk_pipeline_step_list wk_pipeline_steps(void) {
  static const char *const on[] = {"graphs", "primitives", "parts", "programs", "everything"};
  wk_pipeline_step_list l = {0};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) switch (rows[i].is) {
      case ROW_PASSES: add_passes(&l, rows[i].stage); break;
      case ROW_PART_PASSES: break;
      case ROW_INST:
        for (size_t k = 0; k < wk_inst_passes_count; k++)
          add_step(&l, wk_inst_passes[k].name, WK_ON_PROGRAMS, on[WK_ON_PROGRAMS],
                   wk_inst_passes[k].doc, NULL);
        break;
      case ROW_TARGET: add_target_passes(&l); break;
      default: add_step(&l, rows[i].name, rows[i].kind, on[rows[i].kind], rows[i].doc, NULL);
    }
  return l;
}

static wk_status no_step(const char *option, const char *name, const wk_pipeline_step_list *l) {
  const char **names = wk_xcalloc(l->n, sizeof *names);
  for (size_t i = 0; i < l->n; i++) names[i] = l->data[i].name;
  const char *near = wk_nearest(name, names, l->n);
  free(names);
  if (near)
    return wk_error(WK_USAGE, "%s: no pass '%s'; did you mean '%s'?", option, name, near);
  return wk_error(WK_USAGE, "%s: no pass '%s'; 'wick ops --passes' lists them", option, name);
}

wk_status wk_pipeline_find_step(const char *option, const char *name, wk_step_kind *kind) {
  wk_pipeline_step_list l = wk_pipeline_steps();
  size_t i = 0;
  while (i < l.n && strcmp(l.data[i].name, name) != 0) i++;
  wk_status s = i < l.n ? NULL : no_step(option, name, &l);
  if (!s && kind) *kind = l.data[i].kind;
  wk_vec_free(&l);
  return s;
}
