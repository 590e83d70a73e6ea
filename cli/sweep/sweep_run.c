/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/jobs.h"
#include "cli/sweep/sweep.h"
#include "cli/text.h"

typedef struct {
  wk_sweep *s;
  WK_VEC(size_t) todo; /* points */
  size_t done, computed;
  double began;
  wk_status failure; /* what keeps rows from being written */
} sweep_run;

void wk_sweep_progress(const wk_sweep *s, size_t done, size_t total, double began) {
  double left = done ? (wk_clock() - began) * (double)(total - done) / (double)done : 0;
  const char *stage = s->stage ? s->stage : "";
  if (!done) wk_progress("%s0 of %zu", stage, total);
  else if (left < 90) wk_progress("%s%zu of %zu, %.0f s left", stage, done, total, left);
  else wk_progress("%s%zu of %zu, %.0f min left", stage, done, total, left / 60);
}

/* ---- in the child ---------------------------------------------------------------------------- */

/* What the child says of itself; a message follows CANNOT. */
enum { COMPUTED = 'c', FOUND = 'f', CANNOT = '!' };

static wk_status compute_row(const wk_sweep *s, const wk_sweep_point *p) {
  json_t *row;
  WK_TRY(wk_sweep_log(s, "start", p));
  alarm((unsigned)s->o->timeout);
  WK_TRY(wk_sweep_compute(s, p, &row));
  alarm(0);
  WK_TRY(wk_sweep_put_row(s, p, row));
  return wk_sweep_log(s, "done", p);
}

static void run_child(void *ctx, size_t index, int fd) {
  const sweep_run *r = ctx;
  const wk_sweep_point *p = &r->s->points.data[r->todo.data[index]];
  int lock;
  char said = FOUND;
  wk_status status = wk_sweep_lock(r->s, p, &lock);
  if (!status && !wk_sweep_has_row(r->s, p)) {
    said = COMPUTED;
    status = compute_row(r->s, p);
  }
  if (status) said = CANNOT;
  wk_job_write(fd, &said, 1);
  if (!status) return;
  if (status->place) wk_job_write(fd, status->place, strlen(status->place));
  if (status->place) wk_job_write(fd, ": ", 2);
  wk_job_write(fd, status->message, strlen(status->message));
}

/* ---- in the parent --------------------------------------------------------------------------- */

/* Somebody ended it, or memory ran out: nothing of the point's own. */
static bool was_killed(const wk_job_end *e) {
  static const int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  for (size_t i = 0; i < WK_COUNTOF(signals); i++)
    if (WIFSIGNALED(e->how) && WTERMSIG(e->how) == signals[i]) return true;
  return false;
}

static wk_status note_death(sweep_run *r, wk_sweep_point *p, const wk_job_end *e) {
  if (wk_sweep_has_row(r->s, p)) return NULL; /* it had nothing more to do */
  wk_str text = {0};
  wk_job_death_text(&text, e, r->s->o->timeout);
  const char *copy = wk_arena_strdup(r->s->arena, text.s);
  wk_str_free(&text);
  if (was_killed(e)) {
    p->lost = copy;
    return NULL;
  }
  json_t *row = json_pack("{s:s, s:b}", "error", copy, "died", 1);
  wk_status status = wk_sweep_put_row(r->s, p, row);
  json_decref(row);
  if (!status) status = wk_sweep_log(r->s, "done", p);
  r->computed++;
  return status;
}

static bool end_child(void *ctx, const wk_job_end *e) {
  sweep_run *r = ctx;
  wk_sweep_point *p = &r->s->points.data[r->todo.data[e->index]];
  wk_status status = NULL;
  if (!e->is_whole || e->n == 0) status = note_death(r, p, e);
  else if (e->bytes[0] == CANNOT) status = wk_error(WK_IO, "%s", e->bytes + 1);
  else r->computed += e->bytes[0] == COMPUTED;
  if (!r->failure) r->failure = status;
  else wk_status_free(status);
  r->done++;
  wk_sweep_progress(r->s, r->done, r->todo.n, r->began);
  return !r->failure;
}

/* --task I/N begins with its part of them, and helps the others when it is through. */
static size_t first_of_task(const wk_sweep *s, size_t n) {
  char *end;
  if (!s->o->task) return 0;
  unsigned long task = strtoul(s->o->task, &end, 10), tasks = strtoul(end + 1, NULL, 10);
  return n * task / tasks;
}

/* With --slurm, --jobs counts tasks. */
static int64_t jobs_of(const wk_sweep_opts *o) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  int64_t jobs = o->jobs && !o->slurm ? o->jobs : processors;
  return jobs < 1 ? 1 : jobs < WK_JOBS_MAX ? jobs : WK_JOBS_MAX;
}

wk_status wk_sweep_run(wk_sweep *s, size_t *computed) {
  sweep_run r = {.s = s, .began = wk_clock()};
  size_t n = s->points.n, first = first_of_task(s, n);
  for (size_t i = 0; i < n; i++) {
    size_t k = (first + i) % n;
    const wk_sweep_point *p = &s->points.data[k];
    if (!p->refusal && !wk_sweep_has_row(s, p)) wk_vec_push(&r.todo, k);
  }
  if (r.todo.n) wk_sweep_progress(s, 0, r.todo.n, r.began);
  wk_status status = wk_jobs_run(&(wk_jobs){r.todo.n, jobs_of(s->o), run_child, end_child, &r});
  wk_progress_end();
  wk_vec_free(&r.todo);
  *computed = r.computed;
  if (!r.failure) return status;
  wk_status_free(status);
  return r.failure;
}
