/* SPDX-License-Identifier: Apache-2.0
 * The runtime's threads: who gets which pieces, that each is run once, with memory of the thread's
 * own, by threads that slept, that there are more of than processors, or that cannot be had. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/internal.h"
#include "runtime/pool.h"

/* ---- threads that cannot be had (tests.cmake: --wrap) ---------------------------------------- */

static int refuses_thread, threads_made; /* the number of the one that there is not; 0: all are */
static bool refuses_mask;

typedef void *thread_main(void *arg);
int __real_pthread_create(pthread_t *out, const pthread_attr_t *how, thread_main *fn, void *arg);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *how, thread_main *fn, void *arg);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *how, thread_main *fn, void *arg) {
  if (++threads_made == refuses_thread) return 11;
  return __real_pthread_create(out, how, fn, arg);
}

int __real_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
  return refuses_mask ? 22 : __real_pthread_sigmask(how, set, old);
}

/* ---- time and sleep (--wrap) ----------------------------------------------------------------- */

/* Nanoseconds that pass each time somebody looks at the clock; how often that has been. */
static _Atomic int64_t clock_ns, clock_step = 1000;
static atomic_int looks, sleeps, wakes;

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
  int64_t now = atomic_fetch_add(&clock_ns, atomic_load(&clock_step));
  (void)clock;
  atomic_fetch_add(&looks, 1);
  *out = (struct timespec){now / 1000000000, now % 1000000000};
  return 0;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  long arg[6];
  va_list ap;
  va_start(ap, number);
  for (int i = 0; i < 6; i++) arg[i] = va_arg(ap, long);
  va_end(ap);
  assert_int_equal(number, SYS_futex);
  atomic_fetch_add((int)arg[1] == FUTEX_WAKE_PRIVATE ? &wakes : &sleeps, 1);
  return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

enum { MOST = 4096, STRIDE = 8 };

typedef struct {
  const char *scratch;
  uint32_t threads;
  int64_t n, grain;
  atomic_int runs[MOST], pieces, wrong;
} cover;

static void cover_piece(void *ctx, int64_t begin, int64_t end, void *scratch) {
  cover *c = ctx;
  size_t at = (size_t)((const char *)scratch - c->scratch);
  bool is_last = end == c->n;
  if (begin < 0 || end > c->n || begin >= end || begin % c->grain || at % STRIDE ||
      at / STRIDE >= c->threads || (!is_last && end - begin != c->grain) ||
      (is_last && end - begin > c->grain)) {
    atomic_fetch_add(&c->wrong, 1);
    return;
  }
  for (int64_t i = begin; i < end; i++) atomic_fetch_add(&c->runs[i], 1);
  atomic_fetch_add(&c->pieces, 1);
}

static void expect_cover(wick_pool *pool, uint32_t threads, const char *scratch, int64_t n,
                         int64_t grain) {
  static cover c;
  int64_t least = grain < 1 ? 1 : grain, pieces = n <= 0 ? 0 : n / least + (n % least != 0);
  memset(&c, 0, sizeof c);
  c.scratch = scratch;
  c.threads = threads;
  c.n = n;
  c.grain = threads == 1 && n > 0 ? n : least; /* alone it takes all at once */
  wick_pool_run(pool, cover_piece, &c, n, grain);
  bool is_right = c.wrong == 0 && c.pieces == (threads == 1 ? n > 0 : pieces);
  for (int64_t i = 0; i < MOST; i++) is_right = is_right && c.runs[i] == (i < n);
  if (!is_right)
    fail_msg("%u threads, %lld by %lld: %d pieces, %d wrong", threads, (long long)n,
             (long long)grain, c.pieces, c.wrong);
}

static void all_of_it_is_run_once(void **state) {
  static const int64_t counts[] = {-1, 0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000, MOST},
                       grains[] = {-5, 0, 1, 2, 3, 8, 64, 1000, 5000, INT64_MAX};
  static char scratch[16 * STRIDE];
  (void)state;
  for (uint32_t threads = 1; threads <= 9; threads += threads < 4 ? 1 : 5) {
    wick_pool *pool;
    assert_int_equal(wick_pool_create(threads, scratch, STRIDE, &pool), WICK_OK);
    for (size_t i = 0; i < WICK_COUNTOF(counts); i++)
      for (size_t k = 0; k < WICK_COUNTOF(grains); k++)
        expect_cover(pool, threads, scratch, counts[i], grains[k]);
    wick_pool_free(pool);
  }
  wick_pool_free(NULL);
}

/* ---- who begins where ------------------------------------------------------------------------ */

/* The first piece of each thread, which waits there until all have one. */
typedef struct {
  const char *scratch;
  uint32_t threads;
  _Atomic int64_t first[16]; /* -1: it has none yet */
  atomic_uint there;
} meeting;

static void meet(void *ctx, int64_t begin, int64_t end, void *scratch) {
  meeting *m = ctx;
  size_t self = (size_t)((const char *)scratch - m->scratch) / STRIDE;
  int64_t none = -1;
  (void)end;
  if (!atomic_compare_exchange_strong(&m->first[self], &none, begin)) return;
  atomic_fetch_add(&m->there, 1);
  while (atomic_load(&m->there) < m->threads) usleep(50);
}

/* Ranges are as even as can be, whether the threads look out for work, sleep by then or have just
 * been made. */
static void threads_begin_at_ranges_of_their_own(void **state) {
  static const struct {
    uint32_t threads;
    int64_t n, first[5];
  } cases[] = {{2, 10, {0, 5}}, {2, 7, {0, 3}}, {3, 10, {0, 3, 6}}, {4, 10, {0, 2, 5, 7}},
               {5, 5, {0, 1, 2, 3, 4}}, {5, 9, {0, 1, 3, 5, 7}}};
  static char scratch[16 * STRIDE];
  (void)state;
  for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
    wick_pool *pool;
    uint32_t threads = cases[i].threads;
    assert_int_equal(wick_pool_create(threads, scratch, STRIDE, &pool), WICK_OK);
    for (int k = 0; k < 6; k++) {
      meeting m = {.scratch = scratch, .threads = threads};
      for (uint32_t t = 0; t < threads; t++) m.first[t] = -1;
      if (k > 3) usleep(2000);
      wick_pool_run(pool, meet, &m, cases[i].n, 1);
      for (uint32_t t = 0; t < threads; t++) assert_int_equal(m.first[t], cases[i].first[t]);
    }
    wick_pool_free(pool);
  }
}

/* ---- who helps ------------------------------------------------------------------------------- */

typedef struct {
  const char *scratch;
  uint32_t threads, helper;
  int64_t n;
  atomic_uint there;   /* of the others, each of which stays in one piece */
  _Atomic int64_t ran; /* by the helper */
} crowd;

static void help(void *ctx, int64_t begin, int64_t end, void *scratch) {
  crowd *c = ctx;
  size_t self = (size_t)((const char *)scratch - c->scratch) / STRIDE;
  (void)begin, (void)end;
  if (self != c->helper) {
    atomic_fetch_add(&c->there, 1);
    while (atomic_load(&c->ran) < c->n - (c->threads - 1)) usleep(50);
    return;
  }
  while (atomic_load(&c->there) < c->threads - 1) usleep(50);
  atomic_fetch_add(&c->ran, 1);
}

/* Whoever is through with its range does what is left of all others'. */
static void each_thread_helps_all_others(void **state) {
  static char scratch[5 * STRIDE];
  wick_pool *pool;
  (void)state;
  for (uint32_t threads = 2; threads <= 5; threads++) {
    assert_int_equal(wick_pool_create(threads, scratch, STRIDE, &pool), WICK_OK);
    for (uint32_t helper = 0; helper < threads; helper++) {
      crowd c = {.scratch = scratch, .threads = threads, .helper = helper, .n = 17};
      wick_pool_run(pool, help, &c, c.n, 1);
      assert_int_equal(c.ran, 17 - (threads - 1));
    }
    wick_pool_free(pool);
  }
}

/* ---- who waits ------------------------------------------------------------------------------- */

typedef struct {
  const char *scratch;
  atomic_int slept, others;
} slow;

/* The first piece of another thread takes long; the caller's wait for it to begin. */
static void be_slow(void *ctx, int64_t begin, int64_t end, void *scratch) {
  slow *s = ctx;
  (void)begin, (void)end;
  if (scratch == s->scratch) {
    while (atomic_load(&s->others) == 0) usleep(50);
  } else if (atomic_fetch_add(&s->others, 1) == 0) {
    usleep(3000);
    atomic_store(&s->slept, 1);
  }
}

static void callers_wait_for_the_last_piece(void **state) {
  static char scratch[16 * STRIDE];
  uint32_t many = wick_processors() + 2; /* who does not look out for work, but sleeps at once */
  (void)state;
  for (uint32_t threads = 2; threads <= many; threads += many - 2) {
    wick_pool *pool;
    if (threads > 16) break;
    assert_int_equal(wick_pool_create(threads, scratch, STRIDE, &pool), WICK_OK);
    for (int k = 0; k < 10; k++) {
      slow s = {.scratch = scratch};
      wick_pool_run(pool, be_slow, &s, 2 + k % 3, 1);
      assert_int_equal(s.slept, 1);
      expect_cover(pool, threads, scratch, 100, 3);
    }
    wick_pool_free(pool);
  }
}

/* ---- who sleeps ------------------------------------------------------------------------------ */

static void sleep_until(atomic_int *count, int wanted) {
  while (atomic_load(count) < wanted) usleep(50);
  usleep(2000);
  assert_int_equal(atomic_load(count), wanted);
}

/* The other thread's piece ends when the caller sleeps as well. */
static void outlast(void *ctx, int64_t begin, int64_t end, void *scratch) {
  slow *s = ctx;
  (void)begin, (void)end;
  if (scratch != s->scratch) atomic_store(&s->others, 1);
  while (atomic_load(&s->others) == 0) usleep(50);
  while (scratch != s->scratch && atomic_load(&sleeps) < 3) usleep(50);
}

static void expect_wakes(wick_pool *pool, const char *scratch, int wanted) {
  for (int k = 0; k < 5; k++) {
    meeting m = {.scratch = scratch, .threads = 2, .first = {-1, -1}};
    wick_pool_run(pool, meet, &m, 2, 1);
    assert_int_equal(wakes, wanted);
  }
}

/* After 50 us in which there was nothing to do, by the clock that the test has; at once where there
 * are more threads than processors. Nobody is woken who does not sleep. */
static void threads_sleep_when_there_is_nothing_to_do(void **state) {
  static char scratch[2 * STRIDE];
  wick_pool *pool;
  (void)state;
  if (wick_processors() < 2) skip();
  looks = sleeps = wakes = 0;
  assert_int_equal(wick_pool_create(2, scratch, STRIDE, &pool), WICK_OK);
  sleep_until(&sleeps, 1);
  assert_int_equal(looks, 51);
  assert_int_equal(wakes, 0);
  clock_step = 0; /* from now on nobody falls asleep */
  expect_wakes(pool, scratch, 1);
  clock_step = 1000;
  sleep_until(&sleeps, 2);
  slow s = {.scratch = scratch};
  wick_pool_run(pool, outlast, &s, 2, 1);
  assert_int_equal(wakes, 3);
  sleep_until(&sleeps, 4);
  clock_step = 0;
  expect_wakes(pool, scratch, 4);
  clock_step = 1000;
  wick_pool_free(pool);
  looks = sleeps = 0;
  assert_int_equal(wick_pool_create(wick_processors() + 1, NULL, 0, &pool), WICK_OK);
  sleep_until(&sleeps, (int)wick_processors());
  assert_int_equal(looks, 0);
  wick_pool_free(pool);
}

/* ---- more pieces than are counted ------------------------------------------------------------ */

static void tell_size(void *ctx, int64_t begin, int64_t end, void *scratch) {
  const int64_t *wanted = ctx;
  (void)scratch;
  _exit(begin % *wanted == 0 && end - begin == *wanted ? 0 : 1);
}

/* Pieces grow where there would be 2^30 of them or more. Nobody waits for the others. */
static void pieces_are_not_too_many(void **state) {
  static const struct {
    int64_t n, grain, size;
  } cases[] = {{(1 << 30) - 1, 1, 1},
               {1 << 30, 1, 2},
               {(int64_t)3 << 30, 3, 4},
               {((int64_t)3 << 30) - 1, 3, 3},
               {(int64_t)1 << 40, 1, 1025},
               {INT64_MAX, 1, (int64_t)1 << 33}};
  static char scratch[2 * STRIDE];
  (void)state;
  for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
    int64_t size = cases[i].size;
    int status;
    pid_t child = fork();
    if (child == 0) {
      wick_pool *pool;
      if (wick_pool_create(2, scratch, STRIDE, &pool) != WICK_OK) _exit(2);
      wick_pool_run(pool, tell_size, &size, cases[i].n, cases[i].grain);
      _exit(3);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0) fail_msg("case %zu: %d", i, status);
  }
}

/* ---- processes that are forked --------------------------------------------------------------- */

static void count(void *ctx, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  atomic_fetch_add((atomic_int *)ctx, (int)(end - begin));
}

/* A process that was forked has no workers: it does all of it alone, and waits for none of them. */
static void forked_processes_work_alone(void **state) {
  static const uint32_t threads[] = {1, 2, 3, 5};
  (void)state;
  for (size_t i = 0; i < WICK_COUNTOF(threads); i++)
    for (int runs = 0; runs < 2; runs++) {
      wick_pool *pool;
      atomic_int n = 0;
      int status;
      assert_int_equal(wick_pool_create(threads[i], NULL, 0, &pool), WICK_OK);
      for (int k = 0; k < runs; k++) wick_pool_run(pool, count, &n, 1000, 1);
      pid_t child = fork();
      if (child == 0) {
        alarm(60); /* it hangs */
        wick_pool_run(pool, count, &n, 1000, 1);
        wick_pool_free(pool);
        _exit(n == 1000 * (runs + 1) ? 0 : 1);
      }
      assert_true(child > 0);
      assert_int_equal(waitpid(child, &status, 0), child);
      assert_int_equal(status, 0);
      wick_pool_free(pool);
    }
}

/* ---- making them ----------------------------------------------------------------------------- */

static void pools_come_and_go(void **state) {
  wick_pool *pool = NULL;
  (void)state;
  for (uint32_t k = 0; k < 100; k++) {
    assert_int_equal(wick_pool_create(1 + k % 7, NULL, 0, &pool), WICK_OK);
    if (k % 3 == 0) usleep(300);
    wick_pool_free(pool);
  }
  pool = NULL;
  assert_int_equal(wick_pool_create(0, NULL, 0, &pool), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_pool_create(WICK_MAX_THREADS + 1, NULL, 0, &pool), WICK_BAD_ARGUMENT);
  assert_null(pool);
  assert_int_equal(wick_pool_create(WICK_MAX_THREADS, NULL, 0, &pool), WICK_OK);
  wick_pool_free(pool);
}

static void threads_may_be_missing(void **state) {
  wick_pool *pool = NULL;
  (void)state;
  for (int k = 1; k <= 4; k++) {
    threads_made = 0;
    refuses_thread = k;
    assert_int_equal(wick_pool_create(5, NULL, 0, &pool), WICK_NO_THREAD);
    assert_int_equal(threads_made, k);
  }
  refuses_thread = 0;
  refuses_mask = true;
  assert_int_equal(wick_pool_create(2, NULL, 0, &pool), WICK_NO_THREAD);
  refuses_mask = false;
  assert_null(pool);
}

static void note_mask(void *ctx, int64_t begin, int64_t end, void *scratch) {
  sigset_t *masks = ctx;
  (void)end, (void)scratch;
  pthread_sigmask(SIG_SETMASK, NULL, &masks[begin]);
  static atomic_int there;
  atomic_fetch_add(&there, 1);
  while (atomic_load(&there) < 2) usleep(50);
}

/* Workers take no signals that are sent to the process; the caller takes what it took before. */
static void signals_are_the_callers(void **state) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF};
  sigset_t before, after, masks[2];
  wick_pool *pool;
  (void)state;
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  assert_int_equal(wick_pool_create(2, NULL, 0, &pool), WICK_OK);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  wick_pool_run(pool, note_mask, masks, 2, 1);
  wick_pool_free(pool);
  for (int s = 1; s < 32; s++) {
    bool is_own = s == SIGKILL || s == SIGSTOP;
    for (size_t i = 0; i < WICK_COUNTOF(own); i++) is_own = is_own || own[i] == s;
    assert_int_equal(sigismember(&after, s), sigismember(&before, s));
    assert_int_equal(sigismember(&masks[0], s), sigismember(&before, s));
    assert_int_equal(sigismember(&masks[1], s), !is_own);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_of_it_is_run_once),
      cmocka_unit_test(threads_begin_at_ranges_of_their_own),
      cmocka_unit_test(each_thread_helps_all_others),
      cmocka_unit_test(callers_wait_for_the_last_piece),
      cmocka_unit_test(threads_sleep_when_there_is_nothing_to_do),
      cmocka_unit_test(pieces_are_not_too_many),
      cmocka_unit_test(forked_processes_work_alone),
      cmocka_unit_test(pools_come_and_go),
      cmocka_unit_test(threads_may_be_missing),
      cmocka_unit_test(signals_are_the_callers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
