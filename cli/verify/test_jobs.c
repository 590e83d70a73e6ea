/* SPDX-License-Identifier: Apache-2.0
 * Cases in processes of their own: a crash or an endless loop is that case's failure. A child
 * writes verdict, seconds, the note with its length, text. It writes those of a failure before it
 * looks into it, which has as much time again; when it does not come to an end there, the failure
 * is reported without. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/jobs.h"
#include "cli/verify/test_case.h"

typedef struct {
  const wk_test_options *o;
  wk_test_case *cases;
  bool *finished;
  size_t n, reported;
  wk_test_done done;
  void *ctx;
} runs;

typedef struct {
  int fd;
  unsigned timeout;
  bool has_head;
  size_t text; /* bytes of it that are written */
} writer;

/* What is not written yet. No alarm comes in between. */
static void write_result(writer *w, const wk_test_case *c) {
  unsigned char verdict = (unsigned char)c->verdict;
  size_t length = c->text ? strlen(c->text) : 0;
  uint32_t note = c->note ? (uint32_t)strlen(c->note) : 0;
  alarm(0);
  if (!w->has_head) {
    wk_job_write(w->fd, &verdict, 1);
    wk_job_write(w->fd, &c->seconds, sizeof c->seconds);
    wk_job_write(w->fd, &note, sizeof note);
    if (note) wk_job_write(w->fd, c->note, note);
  }
  if (length > w->text) wk_job_write(w->fd, c->text + w->text, length - w->text);
  w->has_head = true;
  w->text = length;
}

static void write_failure(void *ctx, const wk_test_case *c) {
  writer *w = ctx;
  write_result(w, c);
  alarm(w->timeout);
}

static void run_child(void *ctx, size_t index, int fd) {
  const runs *r = ctx;
  wk_test_case *c = &r->cases[index];
  writer w = {.fd = fd, .timeout = (unsigned)r->o->timeout};
  alarm(w.timeout);
  wk_test_case_run(r->o, c, write_failure, &w);
  write_result(&w, c);
}

static void report(runs *r) {
  while (r->reported < r->n && r->finished[r->reported]) r->done(r->ctx, &r->cases[r->reported++]);
}

static bool end_child(void *ctx, const wk_job_end *e) {
  enum { NOTE = 1 + sizeof(double), HEAD = NOTE + sizeof(uint32_t) };
  runs *r = ctx;
  wk_test_case *c = &r->cases[e->index];
  uint32_t note = 0;
  if (e->n >= HEAD) memcpy(&note, e->bytes + NOTE, sizeof note);
  bool has_head = e->n >= HEAD && e->n - HEAD >= note;
  bool has_failed = has_head && e->bytes[0] == WK_TEST_FAILED;
  if (!has_head || (!e->is_whole && !has_failed)) {
    wk_str text = {0};
    wk_job_death_text(&text, e, r->o->timeout);
    *c = (wk_test_case){.dir = c->dir, .name = c->name, .verdict = WK_TEST_FAILED, .text = text.s,
                        .seconds = e->seconds};
  } else {
    const char *text = e->bytes + HEAD + note;
    c->verdict = (wk_verdict)e->bytes[0];
    memcpy(&c->seconds, e->bytes + 1, sizeof c->seconds);
    c->note = note ? strndup(e->bytes + HEAD, note) : NULL;
    c->text = e->n > HEAD + note ? wk_xstrdup(text) : NULL;
  }
  r->finished[e->index] = true;
  report(r);
  return true;
}

wk_status wk_test_jobs_run(const wk_test_options *o, wk_test_case *cases, size_t n,
                           wk_test_done done, void *ctx) {
  if (o->jobs == 0) {
    for (size_t i = 0; i < n; i++) {
      wk_test_case_run(o, &cases[i], NULL, NULL);
      done(ctx, &cases[i]);
    }
    return NULL;
  }
  runs r = {.o = o, .cases = cases, .n = n, .finished = wk_xcalloc(n, 1), .done = done,
            .ctx = ctx};
  wk_status s = wk_jobs_run(&(wk_jobs){n, o->jobs, run_child, end_child, &r});
  free(r.finished);
  return s;
}
