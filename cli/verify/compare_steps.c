/* SPDX-License-Identifier: Apache-2.0
 * Step by step, without compiling anything anew: the steps of a package run one behind the other as
 * they do in a run, and what they leave is compared with what the evaluator computes of the same
 * name. Here errors go on: the first step that differs is the one to look at. */
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "cli/verify/compare.h"
#include "compiler/ir/graph_names.h"

typedef struct {
  wk_comparison *c;
  wick_session *session;
  const wick_entry_info *entry;
  const char *where; /* "part 1 on accel, " */
  wk_map *names;     /* of tensors that steps leave: number in want */
  wk_tensor *want;   /* without data: the evaluator has none of that name */
  double *steps;     /* per tensor: what it may be off behind operators in floats; 0: nothing */
  bool *seen;        /* per step: in a loop it comes again */
  wk_status status;
} comparison;

/* ---- what is expected ------------------------------------------------------------------------ */

static void list_names(comparison *x) {
  uint32_t n = 0, known;
  for (uint32_t i = 0; i < x->entry->step_count; i++)
    for (uint32_t k = 0; k < x->entry->steps[i].tensor_count; k++) {
      const char *name = x->entry->steps[i].tensors[k].name;
      if (*name && !wk_name_is_generated(name) && !wk_map_get(x->names, name, &known))
        wk_map_put(x->names, name, n++);
    }
  x->want = wk_xcalloc(n, sizeof *x->want);
  x->steps = wk_xcalloc(n, sizeof *x->steps);
}

static wk_status keep(void *ctx, const wk_graph *g, const wk_node *n, const wk_tensor *in,
                      const wk_tensor *out, int depth) {
  comparison *x = ctx;
  (void)in;
  for (uint32_t k = 0; k < n->n_out && depth == 0; k++) {
    uint32_t at;
    if (n->out[k] == WK_NONE || !out[k].data || !wk_val(g, n->out[k])->name ||
        !wk_map_get(x->names, wk_val(g, n->out[k])->name, &at) || x->want[at].data)
      continue;
    if (!wk_compare_is_given(x->c->o)) x->steps[at] = wk_compare_value_step(g, n->out[k]);
    WK_TRY(wk_tensor_alloc(&out[k].type, &x->want[at]));
    memcpy(x->want[at].data, out[k].data, (size_t)wk_type_bytes(&out[k].type));
  }
  return NULL;
}

static wk_status evaluate(comparison *x, const wk_graph *g, const void *const *in) {
  wk_tensor *from = wk_xcalloc(g->inputs.n, sizeof *from);
  wk_tensor *out = wk_xcalloc(g->outputs.n, sizeof *out);
  for (size_t k = 0; k < g->inputs.n; k++)
    from[k] = (wk_tensor){wk_val(g, g->inputs.data[k])->type, (void *)(uintptr_t)in[k]};
  wk_status s = wk_eval_graph(g, from, out, keep, x);
  for (size_t k = 0; k < g->outputs.n; k++) wk_tensor_free(&out[k]);
  free(from);
  free(out);
  return s;
}

/* ---- what there is --------------------------------------------------------------------------- */

static bool print_difference(comparison *x, uint32_t step, const wk_tensor *got,
                             const wk_tensor *want) {
  const wick_step_info *info = &x->entry->steps[step];
  wk_op op_of_step = WK_OP_CONV; /* of what has no name here: what sums differ by */
  (void)wk_op_from_name(info->op, strlen(info->op), &op_of_step);
  wk_tolerance tolerance = wk_compare_tolerance(x->c->o, op_of_step);
  if (!wk_dtype_is_float(want->type.dtype) && !wk_compare_is_given(x->c->o))
    tolerance = (wk_tolerance){0};
  wk_diff d = wk_tensor_diff(got, want, &tolerance);
  const char *name = wk_text_shown(x->c->arena, info->node);
  const char *op = wk_text_shown(x->c->arena, info->op);
  if (!d.equal) {
    wk_str text = {0};
    wk_text_diff(&text, got, want, &d);
    wk_progress_end();
    printf("%s%s %s (%sstep %u, %s): %s\n", x->c->indent, x->c->found ? "also" : "first", name,
           x->where, step, op, text.s);
    wk_str_free(&text);
    x->c->found = true;
  } else if (x->c->o->run.verbose) {
    printf("%sok   %s (%sstep %u, %s): largest error %.3g absolute, %.3g relative\n", x->c->indent,
           name, x->where, step, op, d.max_abs, d.max_rel);
  }
  return !d.equal;
}

/* Layouts of edges are tensors of another shape under the same name. */
static bool has_counterpart(const comparison *x, const wick_tensor_info *t, const wk_type *type,
                            uint32_t *at) {
  return *t->name && wk_map_get(x->names, t->name, at) && x->want[*at].data &&
         x->want[*at].type.dtype == type->dtype && wk_shape_equal(&x->want[*at].type, type);
}

static wk_status compare_tensor(comparison *x, uint32_t step, uint32_t k, bool *compared,
                                bool *differs) {
  const wick_tensor_info *t = &x->entry->steps[step].tensors[k];
  wk_type type = wk_type_make((wk_dtype)t->dtype, (int)t->rank, t->dims);
  wk_tensor got;
  uint32_t at;
  if (!has_counterpart(x, t, &type, &at)) return NULL;
  WK_TRY(wk_tensor_alloc(&type, &got));
  wk_status s = wk_wick_error(wick_session_read_tensor(x->session, step, k, got.data,
                                                       (size_t)wk_type_bytes(&type)),
                              wick_session_error(x->session), NULL);
  if (!s) x->c->count.steps += wk_compare_take_steps(&got, &x->want[at], x->steps[at]);
  if (!s) *differs |= print_difference(x, step, &got, &x->want[at]);
  *compared = true;
  wk_tensor_free(&got);
  return s;
}

static void after_step(void *ctx, uint32_t step, int after, void *arena) {
  comparison *x = ctx;
  bool compared = false, differs = false;
  (void)arena;
  if (!after || x->seen[step]) return;
  x->seen[step] = true;
  for (uint32_t k = 0; k < x->entry->steps[step].tensor_count && !x->status; k++)
    x->status = compare_tensor(x, step, k, &compared, &differs);
  x->c->count.layers += compared;
  x->c->count.different += differs;
}

/* ---- all ------------------------------------------------------------------------------------- */

wk_status wk_compare_steps(wk_comparison *c, wick_session *session, const wk_graph *g,
                           const char *where, const void *const *in) {
  comparison x = {.c = c, .session = session, .entry = wick_session_entry(session),
                  .where = where, .names = wk_map_new()};
  void **out = wk_xcalloc(x.entry->output_count, sizeof *out);
  wk_status s = NULL;
  x.seen = wk_xcalloc(x.entry->step_count, sizeof *x.seen);
  list_names(&x);
  for (uint32_t i = 0; i < x.entry->output_count && !s; i++)
    s = wk_try_malloc(x.entry->outputs[i].bytes, &out[i]);
  if (!s) s = evaluate(&x, g, in);
  if (!s) {
    wick_status ran = wick_session_run_observed(session, in, out, after_step, &x);
    s = x.status ? x.status : wk_wick_error(ran, wick_session_error(session), NULL);
  }
  for (uint32_t i = 0; i < x.entry->output_count; i++) free(out[i]);
  for (uint32_t i = 0; i < x.entry->step_count; i++)
    for (uint32_t k = 0, at; k < x.entry->steps[i].tensor_count; k++)
      if (wk_map_get(x.names, x.entry->steps[i].tensors[k].name, &at)) wk_tensor_free(&x.want[at]);
  wk_map_free(x.names);
  free(x.want);
  free(x.steps);
  free(x.seen);
  free(out);
  return s;
}

/* ---- packages -------------------------------------------------------------------------------- */

static bool has_inputs(const wick_entry_info *e, const wk_graph *g) {
  if (e->input_count != g->inputs.n) return false;
  for (uint32_t i = 0; i < e->input_count; i++) {
    const wick_tensor_info *t = &e->inputs[i];
    wk_type type = wk_type_make((wk_dtype)t->dtype, (int)t->rank, t->dims);
    const wk_type *want = &wk_val(g, g->inputs.data[i])->type;
    if (type.dtype != want->dtype || !wk_shape_equal(&type, want)) return false;
  }
  return true;
}

/* The entry for the shapes that the model has here. */
static wk_status open_entry(const wick_model *m, const wk_graph *g, int64_t threads,
                            wick_session **out) {
  uint32_t n = wick_model_describe(m)->entry_count;
  for (uint32_t i = 0; i < n; i++)
    if (has_inputs(wick_model_entry(m, i), g)) return wk_open_session(m, i, threads, NULL, out);
  return wk_error(WK_INPUT, "no binding of the package has the inputs that the model has here");
}

static void print_count(const wk_comparison *c, uint32_t steps) {
  size_t n = c->count.layers;
  if (c->count.different) printf("%zu of %zu steps differ", c->count.different, n);
  else printf("all %zu steps agree", n);
  if (n < steps) printf(" (%zu others leave no tensor of the model's)", steps - n);
  printf("\n");
  wk_compare_print_steps(c->count.steps);
}

static wk_status compare_model(wk_comparison *c, const wk_run_job *job, const wick_model *m) {
  size_t n = wk_runner_inputs(job->runner);
  const void **in = wk_arena_alloc(c->arena, n * sizeof *in);
  wk_pipeline_report report;
  wick_session *session = NULL;
  wk_parts *parts = NULL;
  wk_targets t;
  wk_module *module = wk_module_clone(wk_runner_module(job->runner));
  WK_TRY(wk_targets_open(&(wk_target_args){0}, &t));
  const wk_pipeline_options po = {.targets = &t, .stop_after = "lower"}; /* all names are there */
  for (size_t i = 0; i < n; i++) in[i] = job->in[i].data;
  wk_status s = wk_pipeline_run(module, &po, &report, &parts);
  if (!s) s = open_entry(m, module->main, c->o->run.threads, &session);
  if (!s && !wick_session_entry(session)->has_steps)
    s = wk_error(WK_UNSUPPORTED, "%s", wick_status_text(WICK_NO_STEPS));
  if (!s) s = wk_compare_steps(c, session, module->main, "", in);
  if (!s && !c->count.layers)
    s = wk_error(WK_INPUT, "no step of the package leaves a tensor of the model's");
  if (!s) print_count(c, wick_session_entry(session)->step_count);
  wick_session_free(session);
  wk_parts_free(parts);
  wk_pipeline_report_free(&report);
  wk_targets_close(&t);
  wk_module_free(module);
  return s;
}

wk_status wk_compare_package(const wk_compare_opts *o, const wk_run_job *job) {
  wk_comparison c = {.o = o, .arena = job->arena, .indent = ""};
  wick_error_detail detail = {{0}};
  wick_load_options lo = {.size = sizeof lo, .detail = &detail};
  wick_model *m;
  WK_TRY(wk_wick_error(wick_model_load(o->package, &lo, &m), detail.text, o->package));
  wk_status s = wk_status_place(compare_model(&c, job, m), o->package);
  wick_model_free(m);
  return !s && c.found ? wk_error(WK_FAILED, "%s", "") : s;
}
