/* SPDX-License-Identifier: Apache-2.0
 * Jobs of tasks lie one on the other, those of a task on the one that it belongs to. Whoever waits
 * for a job helps with those above it; threads that have nothing else to do begin with the topmost.
 */
#include "compiler/stream/crew.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#include "runtime/pool.h"

typedef struct job job;
struct job {
  job *below;
  wk_sched_task *task;
  void *ctx;
  size_t next, n, open; /* the next task; open: that are being done */
  const char *why;      /* a thread could not go on; NULL: all could */
};

typedef struct {
  _Alignas(64) wk_sched_steps steps;
} member;

struct wk_sched_crew {
  uint32_t n;
  bool catches; /* the caller's thread has said what it does when it cannot go on */
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t news;  /* there is a job, or one is done */
  job *top;
  bool is_over;
};

int wk_sched_processors(void) {
  enum { MOST = 8 };
  const uint32_t n = wick_processors();
  return n < MOST ? (int)n : MOST;
}

int wk_sched_beside(const wk_sched_searching *x) { return x->crew ? (int)x->crew->n : 1; }

/* ---- a thread that cannot go on -------------------------------------------------------------- */

typedef struct {
  jmp_buf out;
  const char *why;
} within;

static void jump_out(void *ctx, const char *why) {
  within *w = ctx;
  w->why = why;
  longjmp(w->out, 1);
}

/* Why it could not; NULL: it could. */
static const char *try_task(const wk_sched_crew *c, wk_sched_task *task, void *ctx, size_t i,
                            wk_sched_steps *steps) {
  const wk_thread_end before = wk_end_of_thread();
  within w = {.why = NULL};
  if (c->catches) wk_end_by(jump_out, &w);
  if (!setjmp(w.out)) task(ctx, i, steps);
  wk_end_by(before.end, before.ctx);
  return w.why;
}

static void end_thread(const char *why) {
  if (why) WK_BUG(why); /* what another thread has said */
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* With the lock. */
static void do_one(wk_sched_crew *c, job *j, wk_sched_steps *steps) {
  size_t i = j->next++;
  j->open++;
  pthread_mutex_unlock(&c->lock);
  const char *why = try_task(c, j->task, j->ctx, i, steps);
  pthread_mutex_lock(&c->lock);
  j->open--;
  if (why) j->why = why, j->next = j->n;
  if (j->next == j->n && !j->open) pthread_cond_broadcast(&c->news);
}

/* The topmost job above `end` that has a task left. */
static job *job_above(const wk_sched_crew *c, const job *end) {
  for (job *j = c->top; j != end; j = j->below)
    if (j->next < j->n) return j;
  return NULL;
}

static void help_until_over(wk_sched_crew *c, wk_sched_steps *steps) {
  pthread_mutex_lock(&c->lock);
  while (!c->is_over) {
    job *j = job_above(c, NULL);
    if (j) do_one(c, j, steps);
    else pthread_cond_wait(&c->news, &c->lock);
  }
  pthread_mutex_unlock(&c->lock);
}

static void take_off(wk_sched_crew *c, const job *j) {
  job **at = &c->top;
  while (*at != j) at = &(*at)->below;
  *at = j->below;
}

void wk_sched_do(const wk_sched_searching *x, wk_sched_task *task, void *ctx, size_t n) {
  wk_sched_crew *c = x->crew;
  job j = {.task = task, .ctx = ctx, .n = n};
  if (!c || c->n == 1 || n < 2) {
    for (size_t i = 0; i < n; i++) task(ctx, i, x->steps);
    return;
  }
  pthread_mutex_lock(&c->lock);
  j.below = c->top;
  c->top = &j;
  pthread_cond_broadcast(&c->news);
  while (j.next < j.n) do_one(c, &j, x->steps);
  while (j.open) {
    job *other = job_above(c, &j);
    if (other) do_one(c, other, x->steps);
    else pthread_cond_wait(&c->news, &c->lock);
  }
  take_off(c, &j);
  pthread_mutex_unlock(&c->lock);
  end_thread(j.why);
}

/* ---- the crew -------------------------------------------------------------------------------- */

typedef struct {
  wk_sched_crew crew;
  wk_sched_body *body;
  void *ctx;
  const char *why;
} running;

static void do_body(void *ctx, size_t i, wk_sched_steps *steps) {
  running *r = ctx;
  (void)i;
  r->body(r->ctx, &r->crew, steps);
}

/* The caller's thread has piece 0 of the pool's loop, as every thread begins with its own. */
static void work(void *ctx, int64_t piece, int64_t end, void *scratch) {
  running *r = ctx;
  member *m = scratch;
  (void)end;
  if (piece) {
    help_until_over(&r->crew, &m->steps);
    return;
  }
  r->why = try_task(&r->crew, do_body, r, 0, &m->steps);
  pthread_mutex_lock(&r->crew.lock);
  r->crew.is_over = true;
  pthread_cond_broadcast(&r->crew.news);
  pthread_mutex_unlock(&r->crew.lock);
}

void wk_sched_with_crew(int threads, wk_sched_body *body, void *ctx) {
  running r = {.crew = {.n = threads > 1 ? (uint32_t)threads : 1,
                        .catches = wk_end_of_thread().end != NULL},
               .body = body, .ctx = ctx};
  void *members;
  wick_pool *pool = NULL;
  wk_xcheck(wk_try_malloc(r.crew.n * sizeof(member), &members));
  if (r.crew.n > 1 && wick_pool_create(r.crew.n, members, sizeof(member), &pool) != WICK_OK)
    r.crew.n = 1;
  pthread_mutex_init(&r.crew.lock, NULL);
  pthread_cond_init(&r.crew.news, NULL);
  if (pool) wick_pool_run(pool, work, &r, r.crew.n, 1);
  else work(&r, 0, 1, members);
  wick_pool_free(pool);
  pthread_cond_destroy(&r.crew.news);
  pthread_mutex_destroy(&r.crew.lock);
  for (uint32_t i = 0; i < r.crew.n; i++) wk_sched_steps_free(&((member *)members)[i].steps);
  free(members);
  end_thread(r.why);
}
