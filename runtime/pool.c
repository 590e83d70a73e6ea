/* SPDX-License-Identifier: Apache-2.0
 *
 * A job is [0, n) cut into chunks of `grain`. Every thread has a contiguous range of chunks with an
 * atomic cursor; it works through its own range, then takes chunks from the others' cursors. The
 * caller takes part, so a job ends as soon as its chunks have run, whether or not a sleeping worker
 * ever woke up for it.
 *
 * A worker may therefore arrive late, when the next job is already being written. Cursors carry the
 * job's number (epoch) in their upper half and are advanced by compare-and-swap: a cursor of
 * another epoch is never advanced. The caller renews the cursors first and then stores the job's
 * fields with release; a worker reads the fields with acquire before it touches a cursor. So one
 * that saw any field of a later job also sees the later cursors and gets nothing, and one that gets
 * a chunk holds the fields of its own job.
 *
 * Waiting threads spin for SPIN_NS and then sleep on a futex. With more threads than processors
 * they sleep at once: there spinning takes the time of those who work. */
#include "pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

enum { SPIN_NS = 50000, SPIN_BATCH = 32, MAX_CHUNKS = 1 << 30 };

typedef struct {
  _Alignas(64) _Atomic uint64_t cursor; /* epoch << 32 | next chunk */
  wick_pool *pool;
  pthread_t thread;
  uint32_t index;
} worker;

struct wick_pool {
  _Atomic uint32_t epoch; /* futex of the workers: a change means a new job */
  _Atomic uint32_t sleepers;
  _Atomic bool stop;
  /* the job */
  _Atomic(wick_task_fn) fn;
  _Atomic(void *) ctx;
  _Atomic int64_t n;
  _Atomic int64_t grain;
  _Atomic uint32_t chunks;
  _Alignas(64) _Atomic uint32_t done; /* chunks; futex of the caller */
  _Atomic bool waiting;
  /* constant */
  _Alignas(64) char *scratch;
  size_t stride;
  bool spin;
  uint32_t threads;
  uint32_t started;
  pid_t process; /* that has the workers: one that was forked from it has none to wait for */
  worker workers[];
};

static void futex_wait(_Atomic uint32_t *word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* True once (*word == value) == equal, false when the spinning time is over. */
static bool spin_until(const wick_pool *pool, _Atomic uint32_t *word, uint32_t value, bool equal) {
  if (!pool->spin) return (atomic_load(word) == value) == equal;
  int64_t end = 0;
  do {
    for (int i = 0; i < SPIN_BATCH; i++) {
      if ((atomic_load_explicit(word, memory_order_acquire) == value) == equal) return true;
      relax();
    }
    int64_t now = now_ns();
    if (end == 0) end = now + SPIN_NS;
    if (now >= end) return false;
  } while (true);
}

static uint32_t range_start(uint32_t chunks, uint32_t threads, uint32_t index) {
  return (uint32_t)((uint64_t)chunks * index / threads);
}

/* Takes one chunk of a range that ends at `end`; false when none is left for this epoch. */
static bool claim(_Atomic uint64_t *cursor, uint32_t epoch, uint32_t end, uint32_t *chunk) {
  uint64_t seen = atomic_load_explicit(cursor, memory_order_acquire);
  do {
    if (seen >> 32 != epoch || (uint32_t)seen >= end) return false;
  } while (!atomic_compare_exchange_weak(cursor, &seen, seen + 1));
  *chunk = (uint32_t)seen;
  return true;
}

/* Works on job `epoch` until no chunk is left to take. */
static void work(wick_pool *pool, uint32_t self, uint32_t epoch) {
  wick_task_fn fn = atomic_load_explicit(&pool->fn, memory_order_acquire);
  void *ctx = atomic_load_explicit(&pool->ctx, memory_order_acquire);
  int64_t n = atomic_load_explicit(&pool->n, memory_order_acquire);
  int64_t grain = atomic_load_explicit(&pool->grain, memory_order_acquire);
  uint32_t chunks = atomic_load_explicit(&pool->chunks, memory_order_acquire);
  uint32_t ran = 0;
  for (uint32_t i = 0; i < pool->threads; i++) {
    uint32_t victim = (self + i) % pool->threads, chunk;
    uint32_t end = range_start(chunks, pool->threads, victim + 1);
    while (claim(&pool->workers[victim].cursor, epoch, end, &chunk)) {
      int64_t begin = chunk * grain;
      fn(ctx, begin, n - begin > grain ? begin + grain : n, pool->scratch + self * pool->stride);
      ran++;
    }
  }
  if (ran == 0) return;
  uint32_t before = atomic_fetch_add(&pool->done, ran);
  if (before + ran == chunks && atomic_load(&pool->waiting)) futex_wake(&pool->done, 1);
}

static void *worker_main(void *arg) {
  worker *self = arg;
  wick_pool *pool = self->pool;
  uint32_t seen = 0;
  while (true) {
    if (!spin_until(pool, &pool->epoch, seen, false)) {
      atomic_fetch_add(&pool->sleepers, 1);
      while (atomic_load(&pool->epoch) == seen) futex_wait(&pool->epoch, seen);
      atomic_fetch_sub(&pool->sleepers, 1);
    }
    seen = atomic_load(&pool->epoch);
    if (atomic_load(&pool->stop)) return NULL;
    work(pool, self->index, seen);
  }
}

static void publish(wick_pool *pool, uint32_t epoch) {
  atomic_store(&pool->epoch, epoch);
  if (atomic_load(&pool->sleepers) > 0) futex_wake(&pool->epoch, WICK_MAX_THREADS);
}

void wick_pool_run(wick_pool *pool, wick_task_fn fn, void *ctx, int64_t n, int64_t grain) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  if (n / grain >= MAX_CHUNKS) grain = n / MAX_CHUNKS + 1;
  uint32_t chunks = (uint32_t)(n / grain) + (n % grain != 0);
  if (pool->threads == 1 || chunks == 1) {
    fn(ctx, 0, n, pool->scratch);
    return;
  }
  uint32_t epoch = atomic_load(&pool->epoch) + 1;
  for (uint32_t t = 0; t < pool->threads; t++)
    atomic_store_explicit(&pool->workers[t].cursor,
                          (uint64_t)epoch << 32 | range_start(chunks, pool->threads, t),
                          memory_order_relaxed);
  atomic_store_explicit(&pool->fn, fn, memory_order_release);
  atomic_store_explicit(&pool->ctx, ctx, memory_order_release);
  atomic_store_explicit(&pool->n, n, memory_order_release);
  atomic_store_explicit(&pool->grain, grain, memory_order_release);
  atomic_store_explicit(&pool->chunks, chunks, memory_order_release);
  atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
  publish(pool, epoch);
  work(pool, 0, epoch);
  if (spin_until(pool, &pool->done, chunks, true)) return;
  atomic_store(&pool->waiting, true);
  for (uint32_t done; (done = atomic_load(&pool->done)) != chunks;) futex_wait(&pool->done, done);
  atomic_store(&pool->waiting, false);
}

/* Signals sent to the process are for the program's own threads; workers take those that a fault of
 * their own raises, and the profiler's. */
static wick_status start_workers(wick_pool *pool) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF};
  sigset_t blocked, old;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(&blocked, own[i]);
  if (pthread_sigmask(SIG_SETMASK, &blocked, &old) != 0) return WICK_NO_THREAD;
  wick_status status = WICK_OK;
  for (pool->started = 1; pool->started < pool->threads; pool->started++) {
    worker *w = &pool->workers[pool->started];
    if (pthread_create(&w->thread, NULL, worker_main, w) != 0) {
      status = WICK_NO_THREAD;
      break;
    }
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return status;
}

wick_status wick_pool_create(uint32_t threads, void *scratch, size_t stride, wick_pool **out) {
  if (threads < 1 || threads > WICK_MAX_THREADS) return WICK_BAD_ARGUMENT;
  size_t size = sizeof(wick_pool) + threads * sizeof(worker);
  wick_pool *pool = aligned_alloc(_Alignof(wick_pool), size);
  if (!pool) return WICK_NO_MEMORY;
  memset(pool, 0, size);
  pool->scratch = scratch;
  pool->stride = stride;
  pool->threads = threads;
  pool->spin = threads <= wick_processors();
  pool->process = getpid();
  for (uint32_t t = 0; t < threads; t++) {
    pool->workers[t].pool = pool;
    pool->workers[t].index = t;
  }
  wick_status status = start_workers(pool);
  if (status != WICK_OK) {
    wick_pool_free(pool);
    return status;
  }
  *out = pool;
  return WICK_OK;
}

void wick_pool_free(wick_pool *pool) {
  if (!pool) return;
  atomic_store(&pool->stop, true);
  publish(pool, atomic_load(&pool->epoch) + 1);
  uint32_t started = pool->process == getpid() ? pool->started : 0;
  for (uint32_t t = 1; t < started; t++) pthread_join(pool->workers[t].thread, NULL);
  free(pool);
}
