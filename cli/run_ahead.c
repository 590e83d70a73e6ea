/* SPDX-License-Identifier: Apache-2.0
 * Runs that are submitted before the ones in front of them have ended: what a session gives in the
 * long run. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/run.h"
#include "cli/text.h"

enum { SETS = WICK_MAX_SUBMITTED };

typedef struct {
  wick_session *session;
  wk_run_buffers sets[SETS]; /* the first one is the caller's */
  uint64_t tickets[SETS];
  size_t n;
  wk_tensor *own; /* outputs of the others, one set after the other */
} pipeline;

static void free_sets(pipeline *p) {
  uint32_t outputs = wick_session_entry(p->session)->output_count;
  for (size_t i = 0; i < (p->n - 1) * outputs; i++) wk_tensor_free(&p->own[i]);
  free(p->own);
}

static wk_status make_sets(pipeline *p) {
  const wick_entry_info *e = wick_session_entry(p->session);
  p->own = wk_xcalloc(p->n * e->output_count, sizeof *p->own);
  for (size_t k = 1; k < p->n; k++) {
    p->sets[k] = p->sets[0];
    for (uint32_t i = 0; i < e->output_count; i++) {
      const wick_tensor_info *t = &e->outputs[i];
      wk_tensor *own = &p->own[(k - 1) * e->output_count + i];
      wk_type type = wk_type_make((wk_dtype)t->dtype, (int)t->rank, t->dims);
      WK_TRY(wk_tensor_alloc(&type, own));
      p->sets[k].outputs[i] = own->data;
    }
  }
  return NULL;
}

static wk_status wait_for(pipeline *p, size_t k) {
  uint64_t ticket = p->tickets[k];
  p->tickets[k] = 0;
  if (ticket == 0) return NULL;
  return wk_wick_error(wick_session_wait(p->session, ticket), wick_session_error(p->session), NULL);
}

static wk_status run_all(pipeline *p, wk_run_job *job, size_t runs) {
  for (size_t i = 0; i < runs; i++) {
    size_t k = i % p->n;
    WK_TRY(wait_for(p, k));
    wk_runner_rewind(job->runner);
    wick_status s = wick_session_submit(p->session, p->sets[k].inputs, p->sets[k].outputs,
                                        &p->tickets[k]);
    WK_TRY(wk_wick_error(s, wick_session_error(p->session), NULL));
  }
  for (size_t i = 0; i < p->n; i++) WK_TRY(wait_for(p, (runs + i) % p->n));
  return NULL;
}

wk_status wk_run_ahead(const wk_run_opts *o, wk_run_job *job, wk_tensor *out) {
  pipeline p = {.session = wk_runner_session(job->runner), .n = (size_t)o->ahead + 1};
  if (!p.session)
    return wk_error(WK_USAGE, "--ahead is for compiled models, not for the evaluator");
  WK_TRY(wk_run_warm(job, out, &p.sets[0]));
  wk_status s = make_sets(&p);
  double start = wk_clock();
  if (!s) s = run_all(&p, job, (size_t)o->repeat);
  double seconds = wk_clock() - start;
  for (size_t k = 0; s && k < p.n; k++)
    if (p.tickets[k]) (void)wick_session_wait(p.session, p.tickets[k]);
  free_sets(&p);
  if (!s)
    printf("time %s a run, %.4g runs a second, of %lld runs with %lld ahead\n",
           wk_text_seconds(seconds / (double)o->repeat).s, (double)o->repeat / seconds,
           (long long)o->repeat, (long long)o->ahead);
  return s;
}
