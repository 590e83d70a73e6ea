/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/text.h"

typedef struct {
  pid_t pid; /* 0: free */
  int fd;
  size_t index;
  wk_str bytes;
  double started;
} job;

typedef struct {
  const wk_jobs *j;
  size_t next, n_jobs;
  bool is_stopped;
  job jobs[WK_JOBS_MAX];
} runs;

void wk_job_write(int fd, const void *data, size_t n) {
  const char *p = data;
  while (n > 0) {
    ssize_t k = write(fd, p, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return;
    p += k;
    n -= (size_t)k;
  }
}

static _Noreturn void child(const wk_jobs *j, size_t index, int fd, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1); /* it died before */
  j->run(j->ctx, index, fd);
  _exit(0);
}

static wk_status start(runs *r, job *j) {
  int ends[2];
  if (pipe(ends) != 0) return wk_error(WK_RESOURCE, "cannot create a pipe: %s", strerror(errno));
  fflush(stdout);
  double started = wk_clock();
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) {
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    return wk_error(WK_RESOURCE, "cannot start a process: %s", strerror(error));
  }
  if (pid == 0) {
    close(ends[0]);
    child(r->j, r->next, ends[1], parent);
  }
  close(ends[1]);
  *j = (job){.pid = pid, .fd = ends[0], .index = r->next++, .started = started};
  return NULL;
}

void wk_job_death_text(wk_str *b, const wk_job_end *e, int64_t timeout) {
  if (WIFSIGNALED(e->how) && WTERMSIG(e->how) == SIGALRM)
    wk_str_printf(b, "took longer than %lld s", (long long)timeout);
  else if (WIFSIGNALED(e->how)) wk_str_printf(b, "crashed: %s", strsignal(WTERMSIG(e->how)));
  else wk_str_printf(b, "ended without a result, exit status %d", WEXITSTATUS(e->how));
}

static void finish(runs *r, job *j) {
  wk_job_end e = {.index = j->index, .bytes = j->bytes.s, .n = j->bytes.n};
  close(j->fd);
  while (waitpid(j->pid, &e.how, 0) < 0 && errno == EINTR) {}
  e.seconds = wk_clock() - j->started;
  e.is_whole = WIFEXITED(e.how) && WEXITSTATUS(e.how) == 0;
  j->pid = 0;
  if (!r->j->ended(r->j->ctx, &e)) r->is_stopped = true;
  wk_str_free(&j->bytes);
}

/* Reads what children have written and ends those that are through. */
static void attend(runs *r) {
  struct pollfd fds[WK_JOBS_MAX];
  job *of[WK_JOBS_MAX];
  nfds_t n = 0;
  char buffer[4096];
  for (size_t i = 0; i < r->n_jobs; i++) {
    if (!r->jobs[i].pid) continue;
    of[n] = &r->jobs[i];
    fds[n++] = (struct pollfd){.fd = r->jobs[i].fd, .events = POLLIN};
  }
  if (poll(fds, n, -1) < 0) return;
  for (nfds_t i = 0; i < n; i++) {
    if (!fds[i].revents) continue;
    ssize_t k = read(fds[i].fd, buffer, sizeof buffer);
    if (k > 0) wk_str_addn(&of[i]->bytes, buffer, (size_t)k);
    else finish(r, of[i]);
  }
}

wk_status wk_jobs_run(const wk_jobs *j) {
  runs r = {.j = j, .n_jobs = j->jobs < WK_JOBS_MAX ? (size_t)j->jobs : WK_JOBS_MAX};
  wk_status s = NULL;
  for (;;) {
    size_t running = 0;
    for (size_t i = 0; i < r.n_jobs; i++) {
      if (!s && !r.is_stopped && !r.jobs[i].pid && r.next < j->n) s = start(&r, &r.jobs[i]);
      running += r.jobs[i].pid != 0;
    }
    if (!running) return s;
    attend(&r);
  }
}
