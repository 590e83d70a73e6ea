/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/query.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "targets/opencl/probe.h"

enum { SECONDS = 60 }; /* that drivers may take to list their devices, and to probe one */

typedef struct {
  wick_status status;
  wick_error_detail error;
  uint32_t n;
  wick_opencl_info list[WICK_OPENCL_MAX_DEVICES];
} answer;

static void ask(answer *a) {
  const wick_opencl_info *list = NULL;
  memset(a, 0, sizeof *a);
  a->status = wick_opencl_list(&list, &a->n, &a->error);
  if (a->status == WICK_OK) memcpy(a->list, list, a->n * sizeof *list);
}

/* As much of it as the other side takes, which sees when something is missing. */
static void write_all(int fd, const void *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = write(fd, (const char *)data + done, size - done);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) done += (size_t)n;
  }
}

/* A byte for each device that says it has matrix units: it does. */
static void probe(const answer *a, int fd) {
  const wick_opencl_info *list;
  uint32_t n;
  unsetenv("WICK_OPENCL_DEVICE"); /* in this process: the one that is probed is meant */
  if (a->status != WICK_OK || wick_opencl_list(&list, &n, NULL) != WICK_OK) return;
  for (uint32_t k = 0; k < n; k++) {
    char is_good = (char)(list[k].has_matrix && wk_cl_probe_matrix(list, k));
    if (list[k].has_matrix) write_all(fd, &is_good, 1);
  }
}

/* Until the other side ends, or says nothing for too long. */
static size_t read_all(int fd, void *data, size_t size) {
  size_t done = 0;
  while (done < size) {
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int events = poll(&ready, 1, 1000 * SECONDS);
    if (events == 0 || (events < 0 && errno != EINTR)) break;
    ssize_t n = read(fd, (char *)data + done, size - done);
    if (n == 0 || (n < 0 && errno != EINTR)) break;
    if (n > 0) done += (size_t)n;
  }
  return done;
}

/* A device whose probe crashes or hangs, and those behind it, have none. */
static bool read_probes(answer *a, int fd) {
  bool is_done = true;
  for (uint32_t k = 0; k < a->n && a->status == WICK_OK; k++) {
    char is_good = 0;
    if (a->list[k].has_matrix) is_done = is_done && read_all(fd, &is_good, 1) == 1;
    a->list[k].has_matrix = is_good != 0;
  }
  return is_done;
}

static wk_status ask_in_process(answer *a) {
  int ends[2], ended = 0;
  if (pipe2(ends, O_CLOEXEC)) return wk_error(WK_RESOURCE, "opencl: %s", strerror(errno));
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    ask(a);
    write_all(ends[1], a, sizeof *a);
    probe(a, ends[1]);
    _exit(0);
  }
  if (child < 0) {
    wk_status s = wk_error(WK_RESOURCE, "opencl: %s", strerror(errno));
    close(ends[0]);
    close(ends[1]);
    return s;
  }
  close(ends[1]);
  size_t got = read_all(ends[0], a, sizeof *a);
  bool is_done = got == sizeof *a && read_probes(a, ends[0]);
  close(ends[0]);
  if (!is_done) kill(child, SIGKILL); /* it hangs, if it is there at all */
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {}
  if (got == sizeof *a) return NULL;
  return WIFSIGNALED(ended) && WTERMSIG(ended) != SIGKILL
             ? wk_error(WK_UNSUPPORTED, "opencl: a driver crashed while it listed its devices: %s",
                        strsignal(WTERMSIG(ended)))
             : wk_error(WK_UNSUPPORTED, "opencl: a driver hangs, or ended the process, while it "
                        "listed its devices");
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows, until it is known */
static answer known;
static bool is_known;

wk_status wk_cl_query(const wick_opencl_info **list, uint32_t *n) {
  pthread_mutex_lock(&lock);
  wk_status s = is_known ? NULL : ask_in_process(&known);
  is_known = !s;
  pthread_mutex_unlock(&lock);
  WK_TRY(s);
  if (known.status != WICK_OK) return wk_error(WK_UNSUPPORTED, "opencl: %s", known.error.text);
  *list = known.list;
  *n = known.n;
  return NULL;
}
