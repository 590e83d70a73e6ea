/* SPDX-License-Identifier: Apache-2.0
 * Work in processes of its own: what each says, how it ends, how many there are at a time, what is
 * started and waited for when one cannot be, and that none outlives its parent. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/jobs.h"
#include "tests/unit/captured.h"

enum { MOST = 80 };

/* What the processes and the parent share. */
typedef struct {
  atomic_int started, running, most;
} counts;
static counts *shared;

/* What the parent was told. */
typedef struct {
  size_t n, order[MOST];
  size_t stop_at; /* the end that says: no more; SIZE_MAX: none does */
} ends;

static bool note_end(void *ctx, const wk_job_end *e) {
  ends *x = ctx;
  if (x->n == MOST) fail_msg("%zu ends", x->n);
  x->order[x->n++] = e->index;
  return x->n - 1 != x->stop_at;
}

static void reset(void) { *shared = (counts){0}; }

/* ---- what they say, and how they end --------------------------------------------------------- */

static const struct {
  const char *name;
  size_t bytes; /* that it writes, in two pieces */
  int signal, status;
  const char *death; /* NULL: it comes to its end */
} kinds[] = {
    {"says nothing", 0, 0, 0, NULL},
    {"one byte", 1, 0, 0, NULL},
    {"as many as are read at once", 4096, 0, 0, NULL},
    {"one more", 4097, 0, 0, NULL},
    {"more than a pipe holds", 300000, 0, 0, NULL},
    {"killed", 5, SIGKILL, 0, "crashed: Killed"},
    {"ended", 0, SIGTERM, 0, "crashed: Terminated"},
    {"late", 3, SIGALRM, 0, "took longer than 7 s"},
    {"gives up", 2, 0, 3, "ended without a result, exit status 3"},
    {"gives up silently", 0, 0, 1, "ended without a result, exit status 1"},
};

static char byte_of(size_t index, size_t i) { return (char)('a' + (index + i + i / 4096) % 26); }

static void say(void *ctx, size_t index, int fd) {
  (void)ctx;
  size_t n = kinds[index].bytes, first = n / 3;
  char *text = malloc(n + 1);
  for (size_t i = 0; i < n; i++) text[i] = byte_of(index, i);
  wk_job_write(fd, text, first);
  wk_job_write(fd, text + first, n - first);
  free(text);
  if (kinds[index].signal) {
    signal(kinds[index].signal, SIG_DFL);
    raise(kinds[index].signal);
  }
  if (kinds[index].status) _exit(kinds[index].status);
}

static bool hear(void *ctx, const wk_job_end *e) {
  const char *name = kinds[e->index].name, *death = kinds[e->index].death;
  bool *heard = ctx;
  if (heard[e->index]) fail_msg("%s: ends twice", name);
  heard[e->index] = true;
  if (e->n != kinds[e->index].bytes) fail_msg("%s: %zu bytes", name, e->n);
  if ((e->bytes == NULL) != (e->n == 0)) fail_msg("%s: bytes of nothing", name);
  for (size_t i = 0; i < e->n; i++)
    if (e->bytes[i] != byte_of(e->index, i)) fail_msg("%s: byte %zu", name, i);
  if (e->n && e->bytes[e->n]) fail_msg("%s: no NUL behind it", name);
  if (e->is_whole != !death) fail_msg("%s: whole %d", name, e->is_whole);
  if (!(e->seconds >= 0 && e->seconds < 600)) fail_msg("%s: %g s", name, e->seconds);
  if (!death) return true;
  wk_str text = {0};
  wk_job_death_text(&text, e, 7);
  assert_string_equal(text.s, death);
  wk_str_free(&text);
  return true;
}

static void each_is_heard(void **state) {
  (void)state;
  for (int64_t jobs = 1; jobs <= 4; jobs++) {
    bool heard[WK_COUNTOF(kinds)] = {false};
    assert_null(wk_jobs_run(&(wk_jobs){WK_COUNTOF(kinds), jobs, say, hear, heard}));
    for (size_t i = 0; i < WK_COUNTOF(kinds); i++) assert_true(heard[i]);
  }
  assert_null(wk_jobs_run(&(wk_jobs){0, 2, say, hear, NULL}));
}

static void rest(void *ctx, size_t index, int fd) {
  (void)ctx, (void)index, (void)fd;
  usleep(60000);
}

static bool note_time(void *ctx, const wk_job_end *e) {
  *(double *)ctx = e->seconds;
  return true;
}

static void time_is_that_of_the_process(void **state) {
  (void)state;
  double seconds = 0;
  assert_null(wk_jobs_run(&(wk_jobs){1, 1, rest, note_time, &seconds}));
  assert_true(seconds >= 0.05 && seconds < 600);
}

/* ---- writing --------------------------------------------------------------------------------- */

enum { LONG = 300000 }; /* more than a pipe holds */

static void ring(int signal) { (void)signal; }

/* Ends with 0 when all has come, after a time in which the writer is interrupted. */
static _Noreturn void read_all(int fd) {
  static char got[LONG + 1];
  size_t n = 0;
  usleep(60000);
  for (ssize_t k; (k = read(fd, got + n, sizeof got - n)) > 0;) n += (size_t)k;
  for (size_t i = 0; i < n; i++)
    if (got[i] != byte_of(0, i)) _exit(2);
  _exit(n != LONG);
}

/* A signal ends a write after a part, or before the first byte. */
static void interrupted_writes_go_on(void **state) {
  (void)state;
  static char text[LONG];
  int ends_[2], how;
  for (size_t i = 0; i < LONG; i++) text[i] = byte_of(0, i);
  assert_int_equal(pipe(ends_), 0);
  pid_t reader = fork();
  if (!reader) {
    close(ends_[1]);
    read_all(ends_[0]);
  }
  close(ends_[0]);
  struct sigaction ringing = {.sa_handler = ring}, before; /* and no SA_RESTART */
  struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
  sigaction(SIGALRM, &ringing, &before);
  setitimer(ITIMER_REAL, &often, NULL);
  wk_job_write(ends_[1], text, LONG);
  setitimer(ITIMER_REAL, &never, NULL);
  sigaction(SIGALRM, &before, NULL);
  close(ends_[1]);
  assert_int_equal(waitpid(reader, &how, 0), reader);
  assert_true(WIFEXITED(how));
  assert_int_equal(WEXITSTATUS(how), 0);
}

static void nobody_listens(void **state) {
  (void)state;
  int ends_[2];
  assert_int_equal(pipe(ends_), 0);
  close(ends_[0]);
  void (*before)(int) = signal(SIGPIPE, SIG_IGN);
  wk_job_write(ends_[1], "text", 4); /* comes to its end */
  signal(SIGPIPE, before);
  close(ends_[1]);
}

/* ---- how many -------------------------------------------------------------------------------- */

/* Waits for `together` of them, so that they are there at the same time. */
static void meet(void *ctx, size_t index, int fd) {
  (void)ctx, (void)index, (void)fd;
  int now = atomic_fetch_add(&shared->running, 1) + 1, most = atomic_load(&shared->most);
  while (now > most && !atomic_compare_exchange_weak(&shared->most, &most, now)) {}
  atomic_fetch_add(&shared->started, 1);
  usleep(3000);
  atomic_fetch_sub(&shared->running, 1);
}

/* The first `together` leave when all of these are there. */
typedef struct {
  ends e;
  int together;
} meeting;

static void gather(void *ctx, size_t index, int fd) {
  const meeting *m = ctx;
  (void)index, (void)fd;
  atomic_fetch_add(&shared->running, 1);
  while (atomic_load(&shared->running) < m->together) usleep(1000);
  atomic_fetch_add(&shared->started, 1);
}

static void as_many_at_a_time(void **state) {
  (void)state;
  static const int at_a_time[] = {1, 2, 3, 64};
  for (size_t i = 0; i < WK_COUNTOF(at_a_time); i++) {
    meeting m = {{.stop_at = SIZE_MAX}, at_a_time[i]};
    reset();
    assert_null(wk_jobs_run(&(wk_jobs){(size_t)at_a_time[i], at_a_time[i], gather, note_end, &m}));
    assert_int_equal(shared->started, at_a_time[i]); /* never fewer */
  }
  for (int64_t jobs = 1; jobs <= 3; jobs++) {
    ends e = {.stop_at = SIZE_MAX};
    reset();
    assert_null(wk_jobs_run(&(wk_jobs){10, jobs, meet, note_end, &e}));
    assert_int_equal(e.n, 10);
    assert_int_equal(shared->started, 10);
    assert_in_range(shared->most, 1, jobs); /* never more */
  }
}

static void one_at_a_time_is_in_order(void **state) {
  (void)state;
  ends e = {.stop_at = SIZE_MAX};
  reset();
  assert_null(wk_jobs_run(&(wk_jobs){5, 1, meet, note_end, &e}));
  for (size_t i = 0; i < 5; i++) assert_int_equal(e.order[i], i);
}

/* Nobody has more than WK_JOBS_MAX places. */
static void as_many_as_there_are_places(void **state) {
  (void)state;
  static const int64_t wanted[] = {WK_JOBS_MAX - 1, WK_JOBS_MAX, WK_JOBS_MAX + 1, INT64_MAX};
  for (size_t i = 0; i < WK_COUNTOF(wanted); i++) {
    ends e = {.stop_at = SIZE_MAX};
    bool seen[WK_JOBS_MAX + 3] = {false};
    reset();
    assert_null(wk_jobs_run(&(wk_jobs){WK_COUNTOF(seen), wanted[i], meet, note_end, &e}));
    assert_int_equal(e.n, WK_COUNTOF(seen));
    for (size_t k = 0; k < e.n; k++) seen[e.order[k]] = true;
    for (size_t k = 0; k < e.n; k++) assert_true(seen[k]);
    assert_true(shared->most <= WK_JOBS_MAX);
  }
}

/* ---- no more --------------------------------------------------------------------------------- */

static void whoever_says_no_more_is_heard(void **state) {
  (void)state;
  for (size_t stop = 0; stop < 4; stop++) {
    ends e = {.stop_at = stop};
    reset();
    assert_null(wk_jobs_run(&(wk_jobs){6, 1, meet, note_end, &e}));
    assert_int_equal(e.n, stop + 1);
    assert_int_equal(shared->started, stop + 1);
  }
  ends e = {.stop_at = 0}; /* the other two that run then are waited for */
  reset();
  assert_null(wk_jobs_run(&(wk_jobs){9, 3, meet, note_end, &e}));
  assert_int_equal(e.n, 3);
  assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static int lowest_free_fd(void) {
  int fd = dup(STDERR_FILENO);
  close(fd);
  return fd;
}

/* A pipe needs two descriptors, a running process keeps one. */
static void those_that_run_are_waited_for(void **state) {
  (void)state;
  struct rlimit before, few;
  int lowest = lowest_free_fd();
  getrlimit(RLIMIT_NOFILE, &before);
  for (int room = 1; room <= 4; room++) {
    ends e = {.stop_at = SIZE_MAX};
    reset();
    few = (struct rlimit){(rlim_t)(lowest + room), before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    wk_status s = wk_jobs_run(&(wk_jobs){8, 6, meet, note_end, &e});
    setrlimit(RLIMIT_NOFILE, &before);
    assert_non_null(s);
    assert_int_equal(s->code, WK_RESOURCE);
    assert_string_equal(s->message, "cannot create a pipe: Too many open files");
    wk_status_free(s);
    assert_int_equal(e.n, room - 1);
    assert_int_equal(shared->started, room - 1);
    assert_int_equal(lowest_free_fd(), lowest);
  }
  assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* ---- what they share with the parent --------------------------------------------------------- */

static void print_line(void *ctx, size_t index, int fd) {
  (void)ctx, (void)fd;
  printf("child %zu\n", index);
  fflush(stdout);
}

/* What the parent has printed is not printed once more by each. */
static void lines_stand_there_once(void **state) {
  (void)state;
  ends e = {.stop_at = SIZE_MAX};
  wk_str text = {0};
  capture printed = capture_begin();
  printf("parent\n");
  wk_status s = wk_jobs_run(&(wk_jobs){2, 1, print_line, note_end, &e});
  capture_end(&printed, &text);
  assert_null(s);
  assert_string_equal(text.s, "parent\nchild 0\nchild 1\n");
  wk_str_free(&text);
}

static void stay(void *ctx, size_t index, int fd) {
  (void)index, (void)fd;
  wk_job_write(*(int *)ctx, "x", 1);
  for (;;) pause();
}

/* The pipe of a test has an end in the process as long as it is there. */
static void none_outlives_its_parent(void **state) {
  (void)state;
  int pipe_[2];
  char byte;
  assert_int_equal(pipe(pipe_), 0);
  pid_t parent = fork();
  if (!parent) {
    ends e = {.stop_at = SIZE_MAX};
    close(pipe_[0]);
    wk_status_free(wk_jobs_run(&(wk_jobs){1, 1, stay, note_end, &pipe_[1]}));
    _exit(e.n > 0);
  }
  close(pipe_[1]);
  assert_int_equal(read(pipe_[0], &byte, 1), 1); /* it runs */
  kill(parent, SIGKILL);
  assert_int_equal(waitpid(parent, NULL, 0), parent);
  assert_int_equal(poll(&(struct pollfd){.fd = pipe_[0], .events = POLLIN}, 1, 20000), 1);
  assert_int_equal(read(pipe_[0], &byte, 1), 0);
  close(pipe_[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_is_heard),
      cmocka_unit_test(time_is_that_of_the_process),
      cmocka_unit_test(interrupted_writes_go_on),
      cmocka_unit_test(nobody_listens),
      cmocka_unit_test(as_many_at_a_time),
      cmocka_unit_test(one_at_a_time_is_in_order),
      cmocka_unit_test(as_many_as_there_are_places),
      cmocka_unit_test(whoever_says_no_more_is_heard),
      cmocka_unit_test(those_that_run_are_waited_for),
      cmocka_unit_test(lines_stand_there_once),
      cmocka_unit_test(none_outlives_its_parent),
  };
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
