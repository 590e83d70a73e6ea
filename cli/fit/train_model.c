/* SPDX-License-Identifier: Apache-2.0
 * From a model file to programs: shapes, what is trained, modules, the package that runs. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fit/train.h"
#include "cli/text.h"

enum { DEFAULT_BATCH = 32 };

/* ---- shapes ---------------------------------------------------------------------------------- */

static const wk_onnx_io *io_of(const wk_train_job *j, const char *name) {
  size_t i = 0;
  while (strcmp(j->data.info.inputs.data[i].name, name)) i++;
  return &j->data.info.inputs.data[i];
}

/* NULL: --shape does not name the input. */
static const wk_bind_shape *shape_of(const wk_train_job *j, const char *name) {
  for (size_t i = 0; i < j->binding.shapes.n; i++)
    if (!strcmp(j->binding.shapes.data[i].input, name)) return &j->binding.shapes.data[i];
  return NULL;
}

/* The batch that an input has by --shape, --bind or the model, and who says so; -1: nobody does. */
static int64_t batch_of(const wk_train_job *j, const wk_onnx_io *io, const char **by) {
  const wk_bind_shape *s = shape_of(j, io->name);
  *by = "--shape says";
  if (s) return s->rank ? s->dims[0] : -1;
  *by = "--bind says";
  for (size_t i = 0; io->rank > 0 && io->symbols[0] && i < j->binding.binds.n; i++)
    if (!strcmp(j->binding.binds.data[i].symbol, io->symbols[0]))
      return j->binding.binds.data[i].value;
  *by = "the model declares";
  return io->rank > 0 && io->dims[0] >= 0 ? io->dims[0] : -1;
}

/* As --batch, --shape, --bind or the model says; what they say is the same. */
static wk_status choose_batch(wk_train_job *j) {
  int64_t batch = j->o->batch;
  const char *by = "--batch";
  for (size_t i = 0; i < j->data.columns.n; i++) {
    const wk_onnx_io *io = io_of(j, j->data.columns.data[i].name);
    const char *says;
    int64_t own = batch_of(j, io, &says);
    if (own < 0) continue;
    if (own == 0)
      return wk_error(WK_USAGE, "%s batches of 0 for the input %s: there is nothing to train with",
                      says, io->name);
    if (batch && own != batch)
      return wk_error(WK_USAGE, "%s %lld: %s batches of %lld for the input %s", by,
                      (long long)batch, says, (long long)own, io->name);
    if (!batch) by = wk_arena_printf(j->arena, "the input %s has batches of", io->name);
    batch = own;
  }
  j->run.plan.batch = batch ? batch : DEFAULT_BATCH;
  return NULL;
}

/* Every input has the shape of its samples, as far as the model leaves that open. */
static void add_shapes(wk_train_job *j) {
  for (size_t i = 0; i < j->data.columns.n; i++) {
    const wk_column *c = &j->data.columns.data[i];
    const wk_onnx_io *io = io_of(j, c->name);
    if (shape_of(j, c->name) || io->rank == 0) continue;
    wk_bind_shape s = {.input = c->name, .rank = io->rank < 0 ? c->t.type.rank : io->rank,
                       .file = c->path};
    s.dims[0] = j->run.plan.batch;
    for (int k = 1; k < s.rank; k++) {
      bool is_open = io->rank < 0 || io->dims[k] < 0;
      s.dims[k] = !is_open ? io->dims[k] : k < c->t.type.rank ? c->t.type.dims[k] : 1;
    }
    wk_vec_push(&j->binding.shapes, s);
  }
}

wk_status wk_train_shapes(wk_train_job *j) {
  WK_TRY(choose_batch(j));
  add_shapes(j);
  return NULL;
}

/* ---- models ---------------------------------------------------------------------------------- */

/* Every import has the same weights; the first one's are kept. */
static wk_status round_floats(wk_train_job *j, const wk_import_report *report, wk_module *m) {
  wk_quantised q;
  wk_status s = wk_quantised_open(m, report, &q);
  bool is_first = !j->quantised.arena;
  if (is_first) j->quantised = q;
  else wk_quantised_free(&q);
  if (s || !is_first || q.weights.n || q.activations) return s;
  return wk_error(WK_USAGE, "--qat: the model quantises nothing that could be floats; wick "
                  "quantize makes one that does");
}

wk_status wk_train_import(wk_train_job *j, wk_import_purpose purpose, wk_import_report *report,
                          wk_module **out) {
  wk_import_options o = wk_binding_import_options(&j->binding, j->o->verbose);
  o.purpose = purpose;
  o.codes = j->o->qat;
  o.is_hashed = true;
  wk_status s = wk_net_import(j->path, &o, report, out);
  if (!s && j->o->qat) s = round_floats(j, report, *out);
  if (!s) wk_model_notes(&j->notes, j->path, &o, report, *out);
  return wk_status_place(s, j->path);
}

static bool matches(const wk_strings *globs, const char *name) {
  for (size_t i = 0; i < globs->n; i++)
    if (!fnmatch(globs->data[i], name, 0)) return true;
  return false;
}

/* Every pattern is to match something. */
static wk_status check_globs(const wk_train_job *j, const char *option, const wk_strings *globs) {
  for (size_t i = 0; i < globs->n; i++) {
    bool found = false;
    for (size_t k = 0; k < j->report.weights.n; k++)
      found |= !fnmatch(globs->data[i], j->report.weights.data[k].name, 0);
    if (!found)
      return wk_error(WK_USAGE, "%s %s: no weight has such a name", option, globs->data[i]);
  }
  return NULL;
}

static wk_status choose_weights(wk_train_job *j, const wk_module *m) {
  wk_weight_names all = {0};
  if (!j->report.weights.n)
    return wk_error_at(WK_UNSUPPORTED, j->path, "nothing to train: the model has no tensors of "
                       "floats beside those that it computes (--qat trains the integers of a "
                       "quantised model)");
  WK_TRY(check_globs(j, "--train", &j->o->train));
  WK_TRY(check_globs(j, "--freeze", &j->o->freeze));
  wk_step_weights(m, &j->report, &all);
  j->n_weights = all.n;
  if (j->o->train.n) all.n = 0;
  for (size_t i = 0; j->o->train.n && i < j->report.weights.n; i++)
    if (matches(&j->o->train, j->report.weights.data[i].name))
      wk_vec_push(&all, j->report.weights.data[i].name);
  for (size_t i = 0; i < all.n; i++)
    if (!matches(&j->o->freeze, all.data[i])) wk_vec_push(&j->names, all.data[i]);
  wk_vec_free(&all);
  if (j->names.n || j->n_weights || j->o->train.n) return NULL;
  return wk_error_at(WK_UNSUPPORTED, j->path, "nothing to train: no weight is a tensor of floats "
                     "of rank 1 or more; name others with --train; --qat "
                     "trains the integers of a quantised model");
}

static wk_status check_batch(const wk_train_job *j, const char *what, const char *name,
                             const wk_type *t) {
  bool is_input = !strcmp(what, "the input");
  if (t->rank > 0 && t->dims[0] == j->run.plan.batch) return NULL;
  return wk_error_at(WK_USAGE, j->path,
                     "%s '%s' has the type %s, whose axis 0 is no batch of %lld%s",
                     what, name, wk_type_text(j->arena, t), (long long)j->run.plan.batch,
                     is_input ? ": give one with --shape, or the same value for all samples with "
                                "--value" : "");
}

/* Axis 0 of every input and of the labels is the batch. */
static wk_status check_batches(const wk_train_job *j, const wk_graph *g, const wk_step *s) {
  for (size_t i = 0; i < j->data.columns.n; i++)
    for (size_t k = 0; k < g->inputs.n; k++) {
      const wk_value *v = wk_val(g, g->inputs.data[k]);
      if (!strcmp(v->name, j->data.columns.data[i].name))
        WK_TRY(check_batch(j, "the input", v->name, &v->type));
    }
  if (s->labels == WK_STEP_NONE) return NULL;
  return check_batch(j, "what is compared with the output", j->step.output,
                     &wk_val(g, g->inputs.data[s->labels])->type);
}

/* The samples against what the step wants of them. */
static wk_status check_data(wk_train_job *j, const wk_graph *g, const wk_step *s) {
  WK_TRY(check_batches(j, g, s));
  for (size_t i = 0; i < j->data.columns.n; i++)
    for (size_t k = 0; k < g->inputs.n; k++) {
      const wk_value *v = wk_val(g, g->inputs.data[k]);
      if (!strcmp(v->name, j->data.columns.data[i].name))
        WK_TRY(wk_column_check(&j->data.columns.data[i], &v->type, 0));
    }
  if (s->labels == WK_STEP_NONE) return NULL;
  const wk_type want = wk_val(g, g->inputs.data[s->labels])->type;
  return wk_column_check(&j->data.labels, &want, s->classes);
}

/* What a loss begins with and a model should not end with. */
static const struct { wk_loss_kind loss; wk_op op; const char *wants; } mismatches[] = {
    {WK_LOSS_CROSS_ENTROPY, WK_OP_SOFTMAX, "scores before a softmax"},
    {WK_LOSS_BCE, WK_OP_SIGMOID, "scores before a sigmoid"},
    {WK_LOSS_NLL, WK_OP_SOFTMAX, "the logarithms of probabilities"}};

static void note_scores(wk_train_job *j, const wk_graph *g) {
  wk_value_id y = WK_NONE;
  for (size_t i = 0; i < g->outputs.n; i++)
    if (!strcmp(g->output_names.data[i], j->step.output)) y = g->outputs.data[i];
  if (j->step.is_loss || y == WK_NONE || wk_val(g, y)->kind != WK_VALUE_NODE) return;
  wk_op op = wk_nod(g, wk_val(g, y)->node)->op;
  for (size_t i = 0; i < WK_COUNTOF(mismatches); i++)
    if (mismatches[i].op == op && mismatches[i].loss == j->step.loss)
      wk_notes_add(&j->notes, j->path, "the output '%s' is that of a %s, and %s wants %s",
                   wk_text_shown(j->arena, j->step.output), wk_op_get(op)->name,
                   wk_loss_get(j->step.loss)->name, mismatches[i].wants);
}

static wk_status make_step(wk_train_job *j, wk_module **out) {
  wk_import_purpose purpose = j->o->batch_norm ? WK_FOR_TRAINING_FROZEN_NORM : WK_FOR_TRAINING;
  WK_TRY(wk_train_import(j, purpose, &j->report, out));
  note_scores(j, (*out)->main);
  WK_TRY(choose_weights(j, *out));
  WK_TRY(wk_status_place(wk_step_build(*out, &j->report, &j->step, j->names.data, j->names.n,
                                       &j->run.step), j->path));
  WK_TRY(check_data(j, (*out)->main, &j->run.step));
  j->run.module = wk_module_clone(*out);
  return NULL;
}

/* A loss that is one number for a whole batch has a mean over whole batches alone. */
static wk_status check_held_out(const wk_train_job *j, const wk_graph *g) {
  const wk_type *t = &wk_val(g, g->outputs.data[0])->type;
  int64_t n = j->run.split.n_held_out, batch = j->run.plan.batch;
  if (n == 0 || n >= batch || (t->rank > 0 && t->dims[0] == batch)) return NULL;
  return wk_error(WK_USAGE, "--validate %g: %lld samples fill no batch of %lld, for which the loss "
                  "'%s' is one number", j->o->validate, (long long)n, (long long)batch,
                  j->step.output);
}

wk_status wk_train_evaluation(wk_train_job *j, wk_step *step, wk_module **out) {
  wk_import_report report = {0};
  wk_status s = wk_train_import(j, WK_FOR_EVALUATION, &report, out);
  if (!s) s = wk_step_evaluation(*out, &j->run.step, &j->step, step);
  if (!s) s = check_batches(j, (*out)->main, step);
  if (!s) s = check_held_out(j, (*out)->main);
  wk_import_report_free(&report);
  return s;
}

wk_train_compiling wk_train_settings(const wk_train_job *j) {
  return (wk_train_compiling){.target.cpu = j->o->cpu, .threads = j->o->threads,
                              .memory_budget = j->memory_budget, .model_name = "train",
                              .command = ""};
}

/* The package that this run works with is a file without a name. */
static wk_status load(wk_train_job *j, wk_train_entry *entries, size_t n) {
  wick_error_detail detail = {{0}};
  const wick_load_options lo = {.size = sizeof lo, .flags = WICK_LOAD_UNCHECKED, .detail = &detail};
  const wk_train_compiling c = wk_train_settings(j);
  wk_nameless f;
  WK_TRY(wk_nameless_open(&f));
  wk_status s = wk_train_compile(entries, n, &c, f.path, &j->cost);
  if (!s) s = wk_wick_error(wick_model_load(f.path, &lo, &j->run.model), detail.text, f.path);
  wk_nameless_close(&f);
  return wk_nameless_place(&f, s, NULL);
}

/* Where the state has the step's variables. */
static wk_status find_variables(wk_train_job *j) {
  const wick_model_info *m = wick_model_describe(j->run.model);
  const wk_step *s = &j->run.step;
  j->run.variables = wk_arena_alloc(j->arena, s->variables.n * sizeof *j->run.variables);
  for (size_t i = 0; i < s->variables.n; i++) {
    for (uint32_t k = 0; k < m->state_count; k++)
      if (!strcmp(m->states[k].tensor->name, s->variables.data[i].name))
        j->run.variables[i] = wick_state_data(j->run.state, k);
    if (!j->run.variables[i])
      return wk_error(WK_INTERNAL, "the state has no '%s'", s->variables.data[i].name);
  }
  return NULL;
}

wk_status wk_train_open(wk_train_job *j) {
  wk_train_run *r = &j->run;
  wk_module *step = NULL, *evaluation = NULL;
  bool evaluates = r->split.n_held_out > 0;
  wk_status s = make_step(j, &step);
  if (!s && evaluates) s = wk_train_evaluation(j, &r->evaluation, &evaluation);
  wk_train_entry entries[] = {{"train", step}, {"evaluate", evaluation}};
  if (!s) s = load(j, entries, evaluates ? 2 : 1);
  step = entries[0].module;
  wk_module_free(entries[1].module);
  if (j->run.module) j->run.module->source = step; /* whose constants it shares */
  else wk_module_free(step);
  WK_TRY(s);
  WK_TRY(wk_wick_error(wick_state_new(r->model, &r->state), NULL, NULL));
  WK_TRY(find_variables(j));
  WK_TRY(wk_train_program_open(r->model, 0, r->state, j->o->threads, &r->train));
  return evaluates ? wk_train_program_open(r->model, 1, r->state, j->o->threads, &r->evaluate)
                   : NULL;
}

void wk_train_close(wk_train_job *j) {
  wk_train_program_close(&j->run.train);
  wk_train_program_close(&j->run.evaluate);
  wick_state_free(j->run.state);
  wick_model_free(j->run.model);
  if (j->run.step.arena) wk_step_free(&j->run.step);
  if (j->run.evaluation.arena) wk_step_free(&j->run.evaluation);
  wk_module_free(j->run.module);
  wk_vec_free(&j->names);
  if (j->report.arena) wk_import_report_free(&j->report);
  if (j->quantised.arena) wk_quantised_free(&j->quantised);
  wk_vec_free(&j->codes);
}
