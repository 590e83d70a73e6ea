/* SPDX-License-Identifier: Apache-2.0
 * Part by part. The plan is carried out on the evaluator's values, so that an error stays in the
 * part where it arises. A part of the host is compared instruction by instruction. One of another
 * target runs as a whole, as it would in a package, and is compared at its outputs; where they
 * differ its instructions, if it has any, are compared one by one to find the first that does.
 *
 * The model is compiled twice: without the passes whose results the evaluator cannot run, for what
 * it runs and for instructions, and as a package has it. */
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "cli/verify/compare.h"

typedef struct {
  wk_comparison *c;
  const wk_targets *targets;
  const wk_parts *p;   /* what the evaluator can run */
  wick_model *model;   /* an entry for each part that is not the host's; NULL: there is none */
  uint32_t *entry;     /* per part; WK_NONE: the host's */
  wk_layers **layers;  /* per part; NULL until they are needed */
  bool *has_run, *differs;
  wk_tensor *tensors;  /* of the plan; inputs are the job's */
  int64_t iteration;
} comparison;

static bool is_host(const comparison *x, uint32_t part) {
  return x->targets->has_host && x->p->parts.data[part].target + 1 == x->targets->n;
}

static bool is_whole(const comparison *x) {
  return x->p->parts.n == 1 && !x->p->parts.data[0].owns_module && !x->model;
}

/* ---- one part -------------------------------------------------------------------------------- */

static const char *name_of(const comparison *x, uint32_t part) {
  const wk_part *p = &x->p->parts.data[part];
  return wk_arena_printf(x->c->arena, "part %s on %s", p->name, p->instance->target->name);
}

static wk_status evaluate_graph(const wk_graph *g, const void *const *in, void *const *out) {
  wk_tensor from[WK_RUNNER_MAX_IO], *to;
  to = wk_xcalloc(g->outputs.n, sizeof *to);
  for (size_t k = 0; k < g->inputs.n; k++)
    from[k] = (wk_tensor){wk_val(g, g->inputs.data[k])->type, (void *)(uintptr_t)in[k]};
  wk_status s = wk_eval_graph(g, from, to, NULL, NULL);
  for (size_t k = 0; k < g->outputs.n; k++) {
    if (!s) memcpy(out[k], to[k].data, (size_t)wk_type_bytes(&to[k].type));
    wk_tensor_free(&to[k]);
  }
  free(to);
  return s;
}

/* What the part should compute. */
static wk_status evaluate(const comparison *x, uint32_t part, const void *const *in,
                          void *const *out) {
  const wk_part *p = &x->p->parts.data[part];
  return p->instance->target->takes_graph ? evaluate_graph(p->module->main, in, out)
                                          : wk_eval_program(p->program, in, out, NULL, NULL);
}

static wk_status make_layers(comparison *x, uint32_t part) {
  const wk_part *p = &x->p->parts.data[part];
  const char *where =
      is_whole(x) ? "" : wk_arena_printf(x->c->arena, "%s, ", name_of(x, part));
  return x->layers[part] ? NULL
                         : wk_layers_new(x->c, p->instance, p->program, where, &x->layers[part]);
}

static wk_status run_layers(comparison *x, uint32_t part, const void *const *in, void *const *out) {
  size_t before = x->c->count.different;
  WK_TRY(make_layers(x, part));
  WK_TRY(wk_layers_run(x->layers[part], in, out));
  x->differs[part] |= x->c->count.different > before;
  return NULL;
}

static wk_status cannot_look(wk_status s) {
  if (!s) return NULL;
  printf("     its instructions cannot be compared one by one: %s\n", s->message);
  wk_status_free(s);
  return NULL;
}

/* Of a target that takes graphs: its own steps, as they run together. */
static wk_status look_at_steps(comparison *x, uint32_t part, const void *const *in) {
  const wk_graph *g = x->p->parts.data[part].module->main;
  wick_session *session;
  WK_TRY(wk_open_session(x->model, x->entry[part], x->c->o->run.threads, name_of(x, part),
                         &session));
  wk_status s = wick_session_entry(session)->has_steps
                    ? wk_compare_steps(x->c, session, g, "", in)
                    : wk_error(WK_UNSUPPORTED, "%s", wick_status_text(WICK_NO_STEPS));
  wick_session_free(session);
  return cannot_look(s);
}

/* Which of its instructions: not every target makes code of one that stands alone. */
static wk_status look_inside(comparison *x, uint32_t part, const void *const *in,
                             void *const *out) {
  size_t before = x->c->count.different;
  int64_t steps = x->c->count.steps; /* of the part are counted */
  bool by_steps = x->p->parts.data[part].instance->target->takes_graph;
  wk_status s = by_steps ? NULL : make_layers(x, part);
  if (s) return cannot_look(s);
  x->c->found = false; /* begins anew within the part */
  x->c->indent = "     ";
  s = by_steps ? look_at_steps(x, part, in) : wk_layers_run(x->layers[part], in, out);
  x->c->found = true;
  x->c->indent = "";
  x->c->count.steps = steps;
  if (!s && x->c->count.different == before && !by_steps)
    printf("     its instructions agree one by one, but not together\n");
  return s;
}

static void compare_output(comparison *x, uint32_t part, uint32_t k, const char *output,
                           wk_tensor *got, const wk_tensor *want) {
  const wk_program *p = x->p->parts.data[part].program;
  wk_tolerance tolerance = wk_compare_tolerance(x->c->o, WK_OP_CONV);
  if (!wk_compare_is_given(x->c->o))
    x->c->count.steps +=
        wk_compare_take_steps(got, want, wk_compare_output_step(p, p->outputs.data[k].buffer));
  wk_diff d = wk_tensor_diff(got, want, &tolerance);
  const char *name = wk_text_shown(x->c->arena, output);
  wk_str text = {0};
  if (!d.equal) {
    if (!x->c->quiet) {
      wk_progress_end();
      wk_text_diff(&text, got, want, &d);
      printf("%s %s: output %s: %s\n", x->c->found ? "also" : "first", name_of(x, part), name,
             text.s);
    }
    x->differs[part] = x->c->found = true;
  } else if (!x->c->quiet && x->c->o->run.verbose) {
    printf("ok   %s: output %s: largest error %.3g absolute, %.3g relative\n", name_of(x, part),
           name, d.max_abs, d.max_rel);
  }
  wk_str_free(&text);
}

static wk_status run_code(const comparison *x, uint32_t part, const void *const *in,
                          wk_tensor *got, size_t n) {
  void *out[WK_RUNNER_MAX_IO];
  wick_session *session;
  for (size_t k = 0; k < n; k++) out[k] = got[k].data;
  WK_TRY(wk_open_session(x->model, x->entry[part], x->c->o->run.threads, name_of(x, part),
                         &session));
  wk_status s = wk_wick_error(wick_session_run(session, in, out), wick_session_error(session),
                              name_of(x, part));
  wick_session_free(session);
  return s;
}

static wk_status compare_whole(comparison *x, uint32_t part, const void *const *in,
                               void *const *out, const uint32_t *outputs) {
  const wk_program *p = x->p->parts.data[part].program;
  wk_tensor *got = wk_xcalloc(p->outputs.n, sizeof *got);
  if (!x->c->quiet) wk_progress("%s", name_of(x, part));
  wk_status s = evaluate(x, part, in, out);
  for (size_t k = 0; k < p->outputs.n && !s; k++)
    s = wk_tensor_alloc(&x->tensors[outputs[k]].type, &got[k]);
  if (!s) s = run_code(x, part, in, got, p->outputs.n);
  for (size_t k = 0; k < p->outputs.n && !s; k++)
    compare_output(x, part, (uint32_t)k, x->p->tensors.data[outputs[k]].name, &got[k],
                   &x->tensors[outputs[k]]);
  for (size_t k = 0; k < p->outputs.n; k++) wk_tensor_free(&got[k]);
  free(got);
  return !s && x->differs[part] && !x->c->quiet ? look_inside(x, part, in, out) : s;
}

/* What is known to differ is only evaluated. */
static wk_status run_part(comparison *x, const wk_part_row *r) {
  const void *in[WK_RUNNER_MAX_IO];
  void *out[WK_RUNNER_MAX_IO];
  const wk_program *p = x->p->parts.data[r->part].program;
  const uint32_t *outputs = r->tensors.data + p->inputs.n;
  if (p->inputs.n > WK_RUNNER_MAX_IO || p->outputs.n > WK_RUNNER_MAX_IO)
    return wk_error(WK_UNSUPPORTED, "%s has more than %d inputs or outputs", name_of(x, r->part),
                    WK_RUNNER_MAX_IO);
  for (size_t k = 0; k < p->inputs.n; k++) in[k] = x->tensors[r->tensors.data[k]].data;
  for (size_t k = 0; k < p->outputs.n; k++) out[k] = x->tensors[outputs[k]].data;
  x->has_run[r->part] = true;
  if (is_host(x, r->part)) return run_layers(x, r->part, in, out);
  if (x->differs[r->part]) return evaluate(x, r->part, in, out);
  return compare_whole(x, r->part, in, out, outputs);
}

/* ---- the plan -------------------------------------------------------------------------------- */

static wk_status run_rows(comparison *x, size_t first, size_t end);

static void run_copy(const comparison *x, const wk_part_row *r) {
  const char *from = x->tensors[r->tensors.data[0]].data;
  char *to = x->tensors[r->tensors.data[1]].data;
  memmove(to + r->destination_offset + x->iteration * r->destination_step,
          from + r->source_offset + x->iteration * r->source_step, (size_t)r->bytes);
}

static bool is_true(const comparison *x, uint32_t tensor) {
  return tensor == WK_NONE || *(const uint8_t *)x->tensors[tensor].data;
}

static wk_status run_loop(comparison *x, size_t row) {
  const wk_part_row *r = &x->p->rows.data[row];
  int64_t outer = x->iteration;
  wk_status s = NULL;
  for (int64_t i = 0; !s && i < r->trip && is_true(x, r->tensors.data[0]); i++) {
    uint32_t number = r->tensors.data[1];
    x->iteration = i;
    if (number != WK_NONE) memcpy(x->tensors[number].data, &i, sizeof i);
    s = run_rows(x, row + 1, row + 1 + r->body_count);
  }
  x->iteration = outer;
  return s;
}

static wk_status run_row(comparison *x, size_t row) {
  const wk_part_row *r = &x->p->rows.data[row];
  size_t middle = row + 1 + r->body_count;
  switch (r->kind) {
    case WICK_ROW_RUN: return run_part(x, r);
    case WICK_ROW_COPY: run_copy(x, r); return NULL;
    case WICK_ROW_LOOP: return run_loop(x, row);
    default: break;
  }
  return is_true(x, r->tensors.data[0]) ? run_rows(x, row + 1, middle)
                                        : run_rows(x, middle, middle + r->else_count);
}

static wk_status run_rows(comparison *x, size_t first, size_t end) {
  for (size_t i = first; i < end;) {
    const wk_part_row *r = &x->p->rows.data[i];
    WK_TRY(run_row(x, i));
    i += 1 + r->body_count + r->else_count;
  }
  return NULL;
}

static wk_status run_plan(comparison *x, const wk_run_job *job) {
  for (size_t t = 0; t < x->p->tensors.n; t++) {
    if (t < x->p->n_in) x->tensors[t] = job->in[t];
    else WK_TRY(wk_tensor_alloc(&x->p->tensors.data[t].type, &x->tensors[t]));
  }
  return run_rows(x, 0, x->p->rows.n);
}

/* ---- code ------------------------------------------------------------------------------------ */

static wk_status load_others(comparison *x, wk_parts *placed, const wk_targets *others) {
  wk_emit_options eo = {.model_name = "compare", .command = ""};
  if (placed->parts.n != x->p->parts.n)
    return wk_error(WK_INTERNAL, "the model was cut into %zu parts, and then into %zu",
                    x->p->parts.n, placed->parts.n);
  return wk_load_parts(others, placed, &eo, x->entry, &x->model);
}

/* Whole parts of all targets but the host. */
static wk_status compile_others(comparison *x, const wk_run_job *job) {
  wk_pipeline_report report;
  wk_parts *placed = NULL;
  wk_pipeline_options po = {.targets = x->targets};
  wk_targets others = {.list = x->targets->list,
                       .n = x->targets->n - x->targets->has_host};
  bool any = false;
  for (uint32_t i = 0; i < x->p->parts.n; i++) any |= !is_host(x, i);
  if (!any) return NULL;
  wk_module *m = wk_module_clone(wk_runner_module(job->runner));
  wk_status s = wk_pipeline_run(m, &po, &report, &placed);
  if (!s) s = load_others(x, placed, &others);
  wk_pipeline_report_free(&report);
  wk_parts_free(placed);
  wk_module_free(m);
  return s;
}

/* ---- all ------------------------------------------------------------------------------------- */

static const char *target_name(const comparison *x, size_t i) {
  const wk_instance *t = x->targets->list[i];
  bool is_named = t->spec && !(x->targets->has_host && i + 1 == x->targets->n);
  return wk_arena_printf(x->c->arena, "%s%s%s", t->target->name, is_named ? ":" : "",
                         is_named ? t->spec : "");
}

static void count_parts(comparison *x) {
  wk_compare_count *count = &x->c->count;
  count->n_targets = x->targets->n;
  count->targets = wk_arena_alloc(x->c->arena, x->targets->n * sizeof *count->targets);
  for (size_t i = 0; i < x->targets->n; i++)
    count->targets[i] = (wk_compare_target){.name = target_name(x, i)};
  for (size_t i = 0; i < x->p->parts.n; i++) {
    wk_compare_target *t = &count->targets[x->p->parts.data[i].target];
    count->parts += x->has_run[i], t->parts += x->has_run[i];
    count->parts_different += x->differs[i], t->different += x->differs[i];
  }
  count->is_whole = is_whole(x);
}

static wk_status compare_cut(wk_comparison *c, const wk_targets *t, const wk_parts *p,
                             const wk_run_job *job) {
  size_t n = p->parts.n;
  comparison x = {.c = c, .targets = t, .p = p, .entry = wk_xcalloc(n, sizeof *x.entry),
                  .layers = wk_xcalloc(n, sizeof *x.layers), .has_run = wk_xcalloc(n, 1),
                  .differs = wk_xcalloc(n, 1),
                  .tensors = wk_xcalloc(p->tensors.n, sizeof *x.tensors)};
  wk_status s = compile_others(&x, job);
  if (!s) s = run_plan(&x, job);
  if (!s) count_parts(&x);
  for (size_t k = p->n_in; k < p->tensors.n; k++) wk_tensor_free(&x.tensors[k]);
  for (size_t i = 0; i < p->parts.n; i++) wk_layers_free(x.layers[i]);
  wick_model_free(x.model);
  free(x.entry);
  free(x.layers);
  free(x.has_run);
  free(x.differs);
  free(x.tensors);
  return s;
}

static wk_status compare_for(wk_comparison *c, const wk_targets *t, const wk_run_job *job) {
  wk_pipeline_report report;
  wk_parts *parts = NULL;
  wk_pipeline_options po = {.targets = t, .portable = true, .unplaced = true};
  WK_TRY(wk_targets_check_here(t, &c->o->run.target));
  wk_module *m = wk_module_clone(wk_runner_module(job->runner));
  wk_status s = wk_pipeline_run(m, &po, &report, &parts);
  if (!s) s = compare_cut(c, t, parts, job);
  wk_pipeline_report_free(&report);
  wk_parts_free(parts);
  wk_module_free(m);
  return s;
}

static wk_status compare(wk_comparison *c, const wk_run_job *job) {
  wk_targets t;
  wk_status s = wk_targets_open(&c->o->run.target, &t);
  if (!s) s = compare_for(c, &t, job);
  wk_targets_close(&t);
  return s;
}

wk_status wk_compare_count_parts(const wk_compare_opts *o, const wk_run_job *job,
                                 wk_compare_count *out) {
  wk_comparison c = {.o = o, .arena = job->arena, .quiet = true, .indent = ""};
  WK_TRY(compare(&c, job));
  *out = c.count;
  return NULL;
}

static void print_count(const wk_compare_count *n) {
  if (n->is_whole && n->different)
    printf("%zu of %zu instructions differ\n", n->different, n->layers);
  else if (n->is_whole) printf("all %zu instructions agree\n", n->layers);
  else if (n->parts_different)
    printf("%zu of %zu parts differ\n", n->parts_different, n->parts);
  else if (n->parts == 1) printf("the one part agrees\n");
  else
    printf("all %zu parts agree (on the host %zu instructions, each alone)\n", n->parts, n->layers);
}

void wk_compare_print_steps(int64_t n) {
  if (n)
    printf("%lld %s one step of the quantisation off, behind operators that have no integer form\n",
           (long long)n, n == 1 ? "element is" : "elements are");
}

wk_status wk_compare_parts(const wk_compare_opts *o, const wk_run_job *job) {
  wk_comparison c = {.o = o, .arena = job->arena, .indent = ""};
  wk_status s = compare(&c, job);
  wk_progress_end();
  if (s) return s;
  print_count(&c.count);
  wk_compare_print_steps(c.count.steps);
  return c.found ? wk_error(WK_FAILED, "%s", "") : NULL;
}
