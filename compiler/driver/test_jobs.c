/* SPDX-License-Identifier: Apache-2.0
 * Cases in processes of their own, a few at a time: a crash or an endless loop is that case's
 * failure. A child writes its result to a pipe: verdict, seconds, text. It writes that of a failure
 * before it looks into it, which has as much time again; when it does not come to an end there, the
 * failure is reported without. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/driver/test_case.h"
#include "compiler/driver/text.h"

enum { MAX_JOBS = 64 };

typedef struct {
  pid_t pid; /* 0: free */
  int fd;
  size_t index;
  wk_str bytes;
  double started;
} job;

typedef struct {
  const wk_test_options *o;
  wk_test_case *cases;
  bool *finished;
  size_t n, next, reported;
  job jobs[MAX_JOBS];
  wk_test_done done;
  void *ctx;
} runs;

static void write_all(int fd, const void *data, size_t n) {
  const char *p = data;
  while (n > 0) {
    ssize_t k = write(fd, p, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return;
    p += k;
    n -= (size_t)k;
  }
}

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
  alarm(0);
  if (!w->has_head) {
    write_all(w->fd, &verdict, 1);
    write_all(w->fd, &c->seconds, sizeof c->seconds);
  }
  if (length > w->text) write_all(w->fd, c->text + w->text, length - w->text);
  w->has_head = true;
  w->text = length;
}

static void write_failure(void *ctx, const wk_test_case *c) {
  writer *w = ctx;
  write_result(w, c);
  alarm(w->timeout);
}

static _Noreturn void child(const wk_test_options *o, wk_test_case *c, int fd) {
  writer w = {.fd = fd, .timeout = (unsigned)o->timeout};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(w.timeout);
  wk_test_case_run(o, c, write_failure, &w);
  write_result(&w, c);
  _exit(0);
}

static wk_status start(runs *r, job *j) {
  int ends[2];
  if (pipe(ends) != 0) return wk_error(WK_RESOURCE, "cannot create a pipe: %s", strerror(errno));
  fflush(stdout);
  pid_t pid = fork();
  if (pid < 0) {
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    return wk_error(WK_RESOURCE, "cannot start a process: %s", strerror(error));
  }
  if (pid == 0) {
    close(ends[0]);
    child(r->o, &r->cases[r->next], ends[1]);
  }
  close(ends[1]);
  *j = (job){.pid = pid, .fd = ends[0], .index = r->next++, .started = wk_clock()};
  return NULL;
}

static void describe_death(const runs *r, wk_test_case *c, int how) {
  wk_str text = {0};
  c->verdict = WK_TEST_FAILED;
  if (WIFSIGNALED(how) && WTERMSIG(how) == SIGALRM)
    wk_str_printf(&text, "took longer than %lld s", (long long)r->o->timeout);
  else if (WIFSIGNALED(how))
    wk_str_printf(&text, "crashed: %s", strsignal(WTERMSIG(how)));
  else wk_str_printf(&text, "ended without a result, exit status %d", WEXITSTATUS(how));
  c->text = text.s;
}

static void finish(runs *r, job *j) {
  enum { HEAD = 1 + sizeof(double) };
  wk_test_case *c = &r->cases[j->index];
  int how = 0;
  close(j->fd);
  while (waitpid(j->pid, &how, 0) < 0 && errno == EINTR) {}
  c->seconds = wk_clock() - j->started;
  bool ended = WIFEXITED(how) && WEXITSTATUS(how) == 0;
  bool has_failed = j->bytes.n >= HEAD && j->bytes.s[0] == WK_TEST_FAILED;
  if (j->bytes.n < HEAD || (!ended && !has_failed)) {
    describe_death(r, c, how);
  } else {
    c->verdict = (wk_verdict)j->bytes.s[0];
    memcpy(&c->seconds, j->bytes.s + 1, sizeof c->seconds);
    c->text = j->bytes.n > HEAD ? wk_xstrdup(j->bytes.s + HEAD) : NULL;
  }
  wk_str_free(&j->bytes);
  j->pid = 0;
  r->finished[j->index] = true;
}

static void report(runs *r) {
  while (r->reported < r->n && r->finished[r->reported]) r->done(r->ctx, &r->cases[r->reported++]);
}

/* Reads what children have written and ends those that are through. */
static void attend(runs *r, size_t n_jobs) {
  struct pollfd fds[MAX_JOBS];
  job *of[MAX_JOBS];
  nfds_t n = 0;
  char buffer[4096];
  for (size_t i = 0; i < n_jobs; i++) {
    if (!r->jobs[i].pid) continue;
    of[n] = &r->jobs[i];
    fds[n++] = (struct pollfd){.fd = r->jobs[i].fd, .events = POLLIN};
  }
  if (poll(fds, n, -1) < 0) return;
  for (nfds_t i = 0; i < n; i++) {
    if (!fds[i].revents) continue;
    ssize_t k = read(fds[i].fd, buffer, sizeof buffer);
    if (k > 0) wk_str_addn(&of[i]->bytes, buffer, (size_t)k);
    else if (k == 0 || errno != EINTR) finish(r, of[i]);
  }
}

static wk_status run_forked(runs *r) {
  size_t n_jobs = (size_t)r->o->jobs < MAX_JOBS ? (size_t)r->o->jobs : MAX_JOBS;
  wk_status s = NULL;
  while (r->reported < r->n) {
    size_t running = 0;
    for (size_t i = 0; i < n_jobs; i++) {
      if (!s && !r->jobs[i].pid && r->next < r->n) s = start(r, &r->jobs[i]);
      running += r->jobs[i].pid != 0;
    }
    if (!running) break;
    attend(r, n_jobs);
    report(r);
  }
  return s;
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
  runs *r = wk_xcalloc(1, sizeof *r);
  *r = (runs){.o = o, .cases = cases, .n = n, .finished = wk_xcalloc(n + 1, 1), .done = done,
              .ctx = ctx};
  wk_status s = run_forked(r);
  free(r->finished);
  free(r);
  return s;
}
