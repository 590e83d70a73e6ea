/* SPDX-License-Identifier: Apache-2.0
 * Epochs. An epoch takes the training samples in an order of its own, batch by batch; what is left
 * at its end and fills no batch is left out. Held-out samples are all evaluated: the last batch is
 * filled up with the last sample, and only the elements of the others count. Where the loss has no
 * element for each sample, only whole batches are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fit/train.h"
#include "cli/text.h"

/* ---- batches --------------------------------------------------------------------------------- */

static void set_scalar(wk_train_program *p, size_t at, wk_dtype t, double v, int64_t i) {
  if (at == WK_STEP_NONE) return;
  void *to = p->in[at];
  if (wk_dtype_is_float(t)) wk_store_f64(to, t, 0, v);
  else wk_store_i64(to, t, 0, i);
}

/* Samples at[0..n) of a column as input k of a program, which they fill. */
static wk_status set_input(wk_train_program *p, size_t k, const wk_column *c, const int64_t *at,
                           int64_t n) {
  const wick_tensor_info *t = &p->entry->inputs[k];
  int64_t bytes = n * wk_column_elements(c) * wk_dtype_size((wk_dtype)t->dtype);
  if (bytes != (int64_t)t->bytes)
    return wk_error(WK_INTERNAL, "%lld bytes of samples for the input '%s' of %zu",
                    (long long)bytes, t->name, t->bytes);
  wk_column_gather(c, at, n, (wk_dtype)t->dtype, p->in[k]);
  return NULL;
}

/* Samples and labels of a batch; inputs of programs come in the order of the columns. */
static wk_status set_batch(const wk_train_run *r, wk_train_program *p, const wk_step *s,
                           const int64_t *at) {
  const wk_train_data *d = r->data;
  for (size_t i = 0; i < d->columns.n; i++)
    for (size_t k = 0; k < p->entry->input_count; k++)
      if (!strcmp(p->entry->inputs[k].name, d->columns.data[i].name))
        WK_TRY(set_input(p, k, &d->columns.data[i], at, r->plan.batch));
  return s->labels == WK_STEP_NONE ? NULL : set_input(p, s->labels, &d->labels, at, r->plan.batch);
}

/* ---- what is not finite ---------------------------------------------------------------------- */

typedef struct { bool found; char text[160]; } search;

static bool is_finite(const wk_tensor *t) {
  if (!t->data || !wk_dtype_is_float(t->type.dtype)) return true;
  int64_t n = wk_type_count(&t->type);
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(wk_load_f64(t->data, t->type.dtype, i))) return false;
  return true;
}

static wk_status look(void *ctx, const wk_graph *g, const wk_node *n, const wk_tensor *in,
                      const wk_tensor *out, int depth) {
  search *s = ctx;
  (void)in;
  for (uint32_t i = 0; i < n->n_out && !s->found && depth == 0; i++) {
    if (n->out[i] == WK_NONE || is_finite(&out[i])) continue;
    s->found = true;
    snprintf(s->text, sizeof s->text, "'%s' of the %s '%s'", wk_val(g, n->out[i])->name,
             wk_op_get(n->op)->name, n->name ? n->name : "");
  }
  return NULL;
}

/* What a run of the step reads for input i of its graph. */
static void *contents_of(const wk_train_run *r, const wk_graph *g, size_t i) {
  if (i < r->train.entry->input_count) return r->train.in[i];
  for (size_t k = 0; k < r->step.variables.n; k++)
    if (!strcmp(r->step.variables.data[k].name, wk_val(g, g->inputs.data[i])->name))
      return r->variables[k];
  return NULL;
}

/* Says where the run that has just been made left the finite numbers: the step is evaluated. It has
 * changed variables only if the loss is finite, and where the step waits for its gradients only
 * their sums: what is not finite of these, its gradients made. */
static wk_status not_finite(wk_train_run *r, double loss) {
  const wk_graph *g = r->module->main;
  wk_tensor *in = wk_xcalloc(g->inputs.n, sizeof *in);
  wk_tensor *out = wk_xcalloc(g->outputs.n, sizeof *out);
  search s = {0};
  bool changed = isfinite(loss) && (!r->step.waits || r->plan.accumulate > 1);
  for (size_t i = 0; i < g->inputs.n; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[i]);
    in[i] = (wk_tensor){v->type, contents_of(r, g, i)};
    if (s.found || is_finite(&in[i])) continue;
    s.found = true;
    snprintf(s.text, sizeof s.text, "'%s', %s the step", v->name,
             changed ? "after" : "before");
  }
  wk_status st = s.found ? NULL : wk_eval_graph(g, in, out, look, &s);
  for (size_t i = 0; i < g->outputs.n; i++) wk_tensor_free(&out[i]);
  free(in);
  free(out);
  WK_TRY(st);
  return wk_error(WK_FAILED, "step %lld: the loss is %g%s%s%s", (long long)r->done + 1,
                  isnan(loss) ? NAN : loss, /* without a sign */
                  isfinite(loss) ? ", but a gradient is not finite" : "",
                  s.found ? "; the first tensor that is not finite is " : "",
                  s.found ? s.text : "");
}

/* ---- steps ----------------------------------------------------------------------------------- */

static double loss_of(const wk_train_program *p, size_t at, int64_t i) {
  return wk_load_f64(p->out[at], (wk_dtype)p->entry->outputs[at].dtype, i);
}

/* The number that random operators of a batch depend on. */
static int64_t key_of(const wk_train_run *r, int64_t part) {
  const uint64_t words[] = {r->plan.seed, (uint64_t)r->done, (uint64_t)part};
  return (int64_t)wk_hash64(words, sizeof words, 1);
}

/* One batch of a step; its loss and metric are added to those of the step. */
static wk_status do_batch(wk_train_run *r, const int64_t *at, int64_t part, wk_step_figures *f) {
  wk_train_program *p = &r->train;
  WK_TRY(set_batch(r, p, &r->step, at));
  set_scalar(p, r->step.key, WK_I64, 0, key_of(r, part));
  set_scalar(p, r->step.apply, WK_BOOL, 0, part + 1 == r->plan.accumulate);
  WK_TRY(wk_train_program_run(p));
  double loss = loss_of(p, r->step.loss, 0);
  if (!loss_of(p, r->step.valid, 0)) return not_finite(r, loss);
  f->loss += loss;
  if (r->step.metric != WK_STEP_NONE) f->metric += loss_of(p, r->step.metric, 0);
  if (r->step.norm != WK_STEP_NONE) f->norm = loss_of(p, r->step.norm, 0);
  return NULL;
}

static wk_status do_step(wk_train_run *r, const int64_t *order, wk_epoch *e) {
  wk_train_program *p = &r->train;
  double n = (double)r->plan.accumulate, start = wk_clock();
  wk_step_figures f = {0};
  f.rate = wk_schedule_rate(r->plan.schedule, r->plan.rate, r->done, r->plan.steps);
  set_scalar(p, r->step.rate, WK_F64, f.rate, 0);
  set_scalar(p, r->step.step, WK_I64, 0, r->done + 1);
  for (int64_t part = 0; part < r->plan.accumulate; part++)
    WK_TRY(do_batch(r, order + part * r->plan.batch, part, &f));
  e->rate = f.rate;
  e->loss += f.loss;
  e->metric += f.metric;
  e->samples += (double)r->plan.batch * n;
  e->seconds += wk_clock() - start;
  f.loss /= n;
  f.metric /= n;
  if (r->history.has_steps) wk_vec_push(&r->history.steps, f);
  r->done++;
  return NULL;
}

/* ---- held-out samples ------------------------------------------------------------------------ */

static bool is_per_sample(const wk_train_run *r, size_t at) {
  const wick_tensor_info *t = &r->evaluate.entry->outputs[at];
  return t->rank > 0 && t->dims[0] == r->plan.batch;
}

/* Sum over the first `n` samples of an output. One that has not an element or several for each
 * sample counts with its mean for each; n is then the batch. */
static double sum_of(const wk_train_run *r, size_t at, int64_t n) {
  const wick_tensor_info *t = &r->evaluate.entry->outputs[at];
  int64_t count = 1, read;
  double sum = 0;
  for (uint32_t i = 0; i < t->rank; i++) count *= t->dims[i];
  read = is_per_sample(r, at) ? count / r->plan.batch * n : count;
  for (int64_t i = 0; i < read; i++) sum += loss_of(&r->evaluate, at, i);
  return read ? sum / (double)read * (double)n : 0;
}

static wk_status evaluate(wk_train_run *r, wk_epoch *e) {
  wk_train_program *p = &r->evaluate;
  int64_t n = r->split.n_held_out, batch = r->plan.batch;
  int64_t *at = wk_xcalloc((size_t)batch, sizeof *at);
  wk_status s = NULL;
  if (!is_per_sample(r, r->evaluation.loss)) n -= n % batch;
  e->held_loss = e->held_metric = 0;
  for (int64_t first = 0; first < n && !s; first += batch) {
    int64_t have = n - first < batch ? n - first : batch;
    for (int64_t i = 0; i < batch; i++)
      at[i] = r->split.held_out[first + (i < have ? i : have - 1)];
    s = set_batch(r, p, &r->evaluation, at);
    if (!s) s = wk_train_program_run(p);
    if (s) break;
    e->held_loss += sum_of(r, r->evaluation.loss, have);
    if (r->evaluation.metric != WK_STEP_NONE)
      e->held_metric += sum_of(r, r->evaluation.metric, have);
  }
  free(at);
  e->held_loss /= (double)n;
  e->held_metric /= (double)n;
  return s;
}

/* ---- epochs ---------------------------------------------------------------------------------- */

/* What is left of the epoch that has begun. */
static wk_status train_epoch(wk_train_run *r, const int64_t *order) {
  int64_t first = r->done % r->plan.per_epoch, left = r->plan.steps - (r->done - first);
  int64_t n = left < r->plan.per_epoch ? left : r->plan.per_epoch;
  wk_epoch *e = &r->running;
  for (int64_t i = first; i < n; i++) {
    WK_TRY(do_step(r, order + i * r->plan.batch * r->plan.accumulate, e));
    wk_progress("epoch %lld: step %lld of %lld, loss %.4g", (long long)e->epoch,
                (long long)i + 1, (long long)n, e->loss / (double)((i + 1) * r->plan.accumulate));
    if (r->every && r->done % r->every == 0 && i + 1 < n) WK_TRY(wk_checkpoint_save(r));
  }
  wk_progress_end();
  return NULL;
}

/* The epoch that runs, with means. */
static wk_epoch finished(const wk_train_run *r) {
  wk_epoch e = r->running;
  int64_t n = r->done - (e.epoch - 1) * r->plan.per_epoch;
  e.step = r->done;
  e.loss /= (double)(n * r->plan.accumulate);
  e.metric /= (double)(n * r->plan.accumulate);
  return e;
}

wk_status wk_train_epochs(wk_train_run *r) {
  int64_t *order = wk_xcalloc((size_t)r->split.n_train, sizeof *order);
  wk_status s = NULL;
  while (!s && r->done < r->plan.steps) {
    int64_t epoch = r->done / r->plan.per_epoch + 1;
    if (r->done % r->plan.per_epoch == 0)
      r->running = (wk_epoch){.epoch = epoch, .held_loss = NAN, .held_metric = NAN};
    wk_shuffle(r->plan.seed, epoch, r->split.train, r->split.n_train, order);
    s = train_epoch(r, order);
    wk_epoch e = finished(r);
    if (!s && r->split.n_held_out) s = evaluate(r, &e);
    if (s) break;
    wk_vec_push(&r->history.rows, e);
    wk_history_line(r->shown, &r->history, &e);
    fflush(r->shown);
    if (r->checkpoint) s = wk_checkpoint_save(r);
  }
  wk_progress_end();
  free(order);
  return s;
}
