/* SPDX-License-Identifier: Apache-2.0
 * What a run leaves: the model, or a package, and tables. */
#include <stdlib.h>
#include <string.h>

#include "cli/compile.h"
#include "cli/fit/train.h"
#include "cli/text.h"

/* ---- files ---------------------------------------------------------------------------------- */

/* NULL: the weight is stored as the floats that it is trained as. */
static const wk_quantised_weight *stored_as(const wk_train_job *j, const char *name) {
  for (size_t i = 0; i < j->quantised.weights.n; i++)
    if (!strcmp(j->quantised.weights.data[i].name, name)) return &j->quantised.weights.data[i];
  return NULL;
}

static wk_tensor stored(wk_train_job *j, const wk_step_variable *v, void *data) {
  const wk_quantised_weight *w = stored_as(j, v->name);
  wk_type t = w ? w->codes.type : v->type;
  if (!w) t.dtype = v->stored;
  if (!w && t.dtype == v->type.dtype) return (wk_tensor){v->type, data};
  const wk_train_codes c = {w, v, data, t, wk_arena_alloc(j->arena, (size_t)wk_packed_bytes(&t))};
  wk_vec_push(&j->codes, c);
  return (wk_tensor){t, c.codes};
}

/* What the file has for the weight, from what it has been trained to. */
static wk_status store(const wk_train_codes *c) {
  if (c->weight) return wk_quantised_round(c->weight, c->floats, c->codes);
  for (int64_t i = 0, n = wk_type_count(&c->type); i < n; i++)
    wk_store_f64(c->codes, c->type.dtype, i, wk_load_f64(c->floats, c->variable->type.dtype, i));
  return NULL;
}

static wk_status open_model(wk_train_job *j) {
  const wk_step *s = &j->run.step;
  WK_VEC(wk_rewrite) list = {0};
  for (size_t i = 0; i < s->variables.n; i++) {
    const wk_step_variable *v = &s->variables.data[i];
    if (!v->is_weight && !v->is_statistic) continue;
    const wk_rewrite one = {v->name, stored(j, v, j->run.variables[i])};
    wk_vec_push(&list, one);
  }
  wk_status st = wk_onnx_write_back_open(j->path, j->o->output, list.data, list.n, &j->back);
  wk_vec_free(&list);
  return st;
}

/* Weights and statistics begin with what has been learnt; what the optimiser keeps begins anew, and
 * so does the number of the step. */
static void set_initial(const wk_train_job *j, wk_module *m) {
  const wk_step *s = &j->run.step;
  for (size_t i = wk_graph_plain_inputs(m->main); i < m->main->inputs.n; i++) {
    wk_value *v = wk_val(m->main, m->main->inputs.data[i]);
    for (size_t k = 0; k < s->variables.n; k++)
      if ((s->variables.data[k].is_weight || s->variables.data[k].is_statistic) &&
          !strcmp(s->variables.data[k].name, v->name))
        v->initial = j->run.variables[k];
  }
}

static wk_status make_inference(wk_train_job *j, wk_module **out) {
  wk_import_report report = {0};
  wk_status s = wk_train_import(j, WK_FOR_EVALUATION, &report, out);
  wk_import_report_free(&report);
  return s ? s : wk_step_inference(*out, &j->run.step);
}

/* The host's way to write a bundle. */
static const wk_target_output *bundle(void) {
  const wk_target_output *x = wk_target_host()->outputs;
  while (x->name && strcmp(x->name, "bundle")) x++;
  return x->name ? x : NULL;
}

static wk_status write_program(wk_train_job *j) {
  wk_step evaluation = {0};
  wk_module *evaluates = NULL, *infers = NULL;
  wk_train_compiling c = wk_train_settings(j);
  c.model_name = wk_model_name(j->arena, j->path);
  c.command = "wick train";
  c.input_hash = j->report.hash;
  c.output = j->o->emit == WK_TRAIN_BUNDLE ? bundle() : NULL;
  wk_status s = wk_train_evaluation(j, &evaluation, &evaluates);
  if (!s) s = make_inference(j, &infers);
  wk_train_entry entries[] = {
      {"train", wk_module_clone(j->run.module)}, {"evaluate", evaluates}, {"infer", infers}};
  entries[0].module->constant_bytes_left = entries[0].module->fold_work_left = INT64_MAX;
  for (size_t i = 0; i < WK_COUNTOF(entries) && !s; i++) set_initial(j, entries[i].module);
  if (!s) s = wk_train_compile(entries, WK_COUNTOF(entries), &c, j->o->output, NULL);
  for (size_t i = 0; i < WK_COUNTOF(entries); i++) wk_module_free(entries[i].module);
  if (evaluation.arena) wk_step_free(&evaluation);
  return s;
}

static void add_file(wk_train_job *j, const char *what, const char *path) {
  const wk_train_file f = {what, path};
  if (path) wk_vec_push(&j->written, f);
}

wk_status wk_train_name_files(wk_train_job *j) {
  const wk_train_opts *o = j->o;
  const wk_target_output *output = o->emit == WK_TRAIN_BUNDLE ? bundle() : NULL;
  wk_emit_files files = {.path = {o->output}, .n = 1};
  if (output && output->files) WK_TRY(output->files(o->output, j->arena, &files));
  for (size_t i = 0; i < files.n; i++) add_file(j, "--output", files.path[i]);
  add_file(j, "--history", o->history);
  add_file(j, "--history-steps", o->history_steps);
  add_file(j, "--plot", o->plot);
  if (o->checkpoint) j->run.checkpoint = wk_arena_printf(j->arena, "%s/checkpoint", o->checkpoint);
  add_file(j, "--checkpoint", j->run.checkpoint);
  return NULL;
}

wk_status wk_train_write_open(wk_train_job *j) {
  if (j->o->emit != WK_TRAIN_ONNX) return NULL;
  WK_TRY(open_model(j));
  for (size_t i = 1; i < wk_onnx_write_back_count(j->back); i++) {
    wk_write_back_file f = wk_onnx_write_back_file(j->back, i);
    add_file(j, wk_arena_printf(j->arena, "the new weights of '%s'", f.location), f.to);
  }
  return NULL;
}

wk_status wk_train_write(wk_train_job *j) {
  for (size_t i = 0; i < j->codes.n; i++) WK_TRY(store(&j->codes.data[i]));
  return j->back ? wk_onnx_write_back_commit(j->back) : write_program(j);
}

/* ---- tables -------------------------------------------------------------------------------- */

static const wk_step_variable *variable_of(const wk_train_job *j, const char *name) {
  for (size_t i = 0; i < j->run.step.variables.n; i++) {
    const wk_step_variable *v = &j->run.step.variables.data[i];
    if ((v->is_weight || v->is_statistic) && !strcmp(v->name, name)) return v;
  }
  return NULL;
}

static bool is_idle(const wk_train_job *j, const char *name) {
  for (size_t i = 0; i < j->run.step.idle.n; i++)
    if (!strcmp(j->run.step.idle.data[i], name)) return true;
  return false;
}

/* Short of --verbose: what is trained, and what might have been expected to be. */
static const char *fate_of(const wk_train_job *j, const wk_import_weight *w) {
  const wk_step_variable *v = variable_of(j, w->name);
  bool all = j->o->verbose;
  if (v && v->is_weight) return "trained";
  if (v) return all ? "follows" : NULL;
  if (is_idle(j, w->name)) return all ? "the loss does not depend on it" : NULL;
  if (w->constant && !j->o->train.n)
    return all || strcmp(w->constant, "a statistic")
               ? wk_arena_printf(j->arena, "stays: %s", w->constant) : NULL;
  return all ? "stays" : NULL;
}

void wk_train_print_weights(const wk_train_job *j) {
  wk_table t = {0};
  wk_table_row(&t, "weight\ttype\t");
  for (size_t i = 0; i < j->report.weights.n; i++) {
    const wk_import_weight *w = &j->report.weights.data[i];
    const char *fate = fate_of(j, w);
    if (fate)
      wk_table_row(&t, "%s\t%s\t%s", wk_text_shown(j->arena, w->name),
                   wk_type_text(j->arena, &w->type), fate);
  }
  wk_table_print(j->run.shown, &t, "lll");
}

/* What the entry `train` is given beside the model's inputs. */
static void add_inputs(const wk_train_job *j, wk_table *t) {
  wk_str b = {0};
  const wick_entry_info *e = j->run.train.entry;
  const wk_step *s = &j->run.step;
  const size_t at[] = {s->key, s->labels, s->rate, s->step, s->apply};
  for (size_t i = 0; i < WK_COUNTOF(at); i++)
    if (at[i] != WK_STEP_NONE)
      wk_str_printf(&b, "%s%s", b.n ? ", " : "", wk_text_shown(j->arena, e->inputs[at[i]].name));
  wk_table_row(t, "inputs of the step\t%s", b.s);
  wk_str_free(&b);
}

void wk_train_print_summary(const wk_train_job *j) {
  const wk_step *s = &j->run.step;
  const wick_entry_info *e = j->run.train.entry;
  wk_table t = {0};
  int64_t parameters = 0;
  size_t weights = 0;
  for (size_t i = 0; i < s->variables.n; i++) {
    if (!s->variables.data[i].is_weight) continue;
    parameters += wk_type_count(&s->variables.data[i].type);
    weights++;
  }
  wk_table_row(&t, "model\t%s", j->path);
  wk_table_row(&t, "samples\t%lld, %lld of them held out", (long long)j->data.n,
               (long long)j->run.split.n_held_out);
  wk_table_row(&t, "parameters\t%s in %zu weights of %zu", wk_text_count(parameters).s, weights,
               j->n_weights);
  if (j->o->qat)
    wk_table_row(&t, "rounded\t%zu weights, %lld activations", j->quantised.weights.n,
                 (long long)j->quantised.activations);
  wk_table_row(&t, "state\t%s", wk_bytes_text(wick_model_describe(j->run.model)->state_bytes).s);
  wk_table_row(&t, "activation peak\t%s, lower bound %s (%.3f x)",
               wk_bytes_text(e->arena_bytes).s, wk_bytes_text(e->arena_bound).s,
               e->arena_bound ? (double)e->arena_bytes / (double)e->arena_bound : 1.0);
  wk_table_row(&t, "multiply-accumulates\t%s for each batch of %lld",
               wk_text_count(j->cost.macs).s, (long long)j->run.plan.batch);
  wk_remat_row(&t, &j->cost.remat);
  if (j->o->emit != WK_TRAIN_ONNX) add_inputs(j, &t);
  wk_table_print(j->run.shown, &t, "ll");
}
