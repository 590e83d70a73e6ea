/* SPDX-License-Identifier: Apache-2.0
 * Pass by pass: after every step that changed something the evaluator runs what there is, the graph
 * or the program, and the outputs are compared with those of the imported graph. */
#include <stdlib.h>

#include "cli/text.h"
#include "cli/verify/compare.h"

typedef struct {
  const wk_compare_opts *o;
  const wk_run_job *job;
  wk_tensor *want, *got;
  size_t n, steps;
  bool guilty;
} passes;

static void free_outputs(wk_tensor *t, size_t n) {
  for (size_t i = 0; i < n; i++) wk_tensor_free(&t[i]);
}

static wk_status eval_program(const passes *x, const wk_program *p) {
  const void *inputs[WK_RUNNER_MAX_IO];
  void *outputs[WK_RUNNER_MAX_IO];
  if (p->inputs.n > WK_RUNNER_MAX_IO || p->outputs.n > WK_RUNNER_MAX_IO)
    return wk_error(WK_UNSUPPORTED, "more than %d inputs or outputs", WK_RUNNER_MAX_IO);
  for (size_t i = 0; i < p->inputs.n; i++) inputs[i] = x->job->in[i].data;
  for (size_t i = 0; i < x->n; i++) {
    WK_TRY(wk_tensor_alloc(&x->want[i].type, &x->got[i]));
    outputs[i] = x->got[i].data;
  }
  return wk_eval_program(p, inputs, outputs, NULL, NULL);
}

/* Sets guilty and prints what differs. */
static void compare(passes *x, const char *step) {
  wk_tolerance tolerance = wk_compare_tolerance(x->o, WK_OP_CONV);
  double worst = 0;
  x->steps++;
  for (size_t i = 0; i < x->n; i++) {
    wk_diff d = wk_tensor_diff(&x->got[i], &x->want[i], &tolerance);
    worst = d.max_abs > worst ? d.max_abs : worst;
    if (d.equal || x->guilty) continue;
    wk_str text = {0};
    x->guilty = true;
    if (d.worst < 0) wk_str_add(&text, "the type changed");
    else wk_text_diff(&text, &x->got[i], &x->want[i], &d);
    wk_progress_end();
    printf("%s changes the result: output %s: %s\n", step,
           wk_text_shown(x->job->arena, wk_runner_output_name(x->job->runner, i)), text.s);
    wk_str_free(&text);
  }
  if (!x->guilty && x->o->run.verbose) printf("ok   %s: largest difference %.3g\n", step, worst);
}

static wk_status after_step(void *ctx, const wk_step_record *step, const wk_module *m,
                            const wk_program *p) {
  passes *x = ctx;
  if (step->is_pass && step->changes == 0 && step->kind != WK_ON_PROGRAMS) return NULL;
  wk_progress("%s", step->name);
  wk_status s = p ? eval_program(x, p) : wk_eval_graph(m->main, x->job->in, x->got, NULL, NULL);
  if (!s) compare(x, step->name);
  free_outputs(x->got, x->n);
  if (s) return wk_status_note(s, "while evaluating after %s", step->name);
  return x->guilty ? wk_error(WK_FAILED, "%s", "") : NULL;
}

/* The target's own preparation and its code, all at once. */
static wk_status run_target(passes *x) {
  const wk_run_opts *ro = &x->o->run;
  wk_runner *r;
  wk_runner_options o = {.target = ro->target, .threads = ro->threads, .model_name = "compare"};
  wk_progress("%s", ro->target.target ? ro->target.target : wk_target_host()->name);
  WK_TRY(wk_runner_of_module(wk_module_clone(wk_runner_module(x->job->runner)), &o, &r));
  wk_status s = wk_runner_run(r, x->job->in, x->got);
  if (!s) compare(x, "code generation");
  free_outputs(x->got, x->n);
  wk_runner_free(r);
  return s ? s : x->guilty ? wk_error(WK_FAILED, "%s", "") : NULL;
}

/* Until the code generation: all of it is the host's, so the evaluator has whole programs. */
static wk_status run_steps(passes *x, const wk_targets *t) {
  wk_pipeline_report report;
  wk_parts *parts = NULL;
  wk_targets host = {.list = t->list + t->n - 1, .n = 1, .has_host = t->has_host};
  wk_pipeline_options po = {.targets = &host, .portable = true, .hook = after_step, .ctx = x};
  wk_module *m = wk_module_clone(wk_runner_module(x->job->runner));
  wk_status s = wk_pipeline_run(m, &po, &report, &parts);
  wk_pipeline_report_free(&report);
  wk_parts_free(parts);
  wk_module_free(m);
  return s;
}

static wk_status run_all(passes *x) {
  wk_targets t;
  WK_TRY(wk_runner_run(x->job->runner, x->job->in, x->want));
  wk_status s = wk_targets_open(&x->o->run.target, &t);
  if (!s) s = run_steps(x, &t);
  wk_targets_close(&t);
  if (!s) s = run_target(x);
  wk_progress_end();
  if (!s) printf("the result is the same after all %zu steps\n", x->steps);
  return s;
}

wk_status wk_compare_passes(const wk_compare_opts *o, const wk_run_job *job) {
  passes x = {.o = o, .job = job, .n = wk_runner_outputs(job->runner)};
  x.want = wk_xcalloc(x.n, sizeof *x.want);
  x.got = wk_xcalloc(x.n, sizeof *x.got);
  wk_status s = run_all(&x);
  free_outputs(x.want, x.n);
  free(x.want);
  free(x.got);
  return s;
}
