/* SPDX-License-Identifier: Apache-2.0
 * Threads of a search (compiler/stream/crew.c): each task is done once, in tasks of tasks, too; one
 * that cannot go on ends the caller's thread, when the others have stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compiler/stream/crew.h"

enum { TASKS = 40, WITHIN = 12, THREADS = 4 };

typedef struct {
  wk_sched_searching x;
  atomic_int done[TASKS], within[TASKS], open;
  size_t ends; /* the task that cannot go on; TASKS: none; within: one of its tasks cannot */
  bool is_within;
} work;

/* Of task `outer`. */
typedef struct {
  work *w;
  size_t outer;
} tasks;

static void end_if(work *w, bool does) {
  if (!does) return;
  atomic_fetch_sub(&w->open, 1);
  wk_end("there is no more");
}

static void do_within(void *ctx, size_t i, wk_sched_steps *steps) {
  tasks *t = ctx;
  assert_non_null(steps);
  atomic_fetch_add(&t->w->open, 1);
  end_if(t->w, t->outer == t->w->ends && t->w->is_within && i == WITHIN / 2);
  atomic_fetch_add(&t->w->within[t->outer], 1);
  atomic_fetch_sub(&t->w->open, 1);
}

static void do_task(void *ctx, size_t i, wk_sched_steps *steps) {
  work *w = ctx;
  wk_sched_searching x = w->x;
  x.steps = steps;
  wk_sched_do(&x, do_within, &(tasks){w, i}, WITHIN);
  atomic_fetch_add(&w->open, 1);
  end_if(w, i == w->ends && !w->is_within);
  atomic_fetch_add(&w->done[i], 1);
  atomic_fetch_sub(&w->open, 1);
}

static void do_all(void *ctx, wk_sched_crew *crew, wk_sched_steps *steps) {
  work *w = ctx;
  w->x = (wk_sched_searching){.crew = crew, .steps = steps};
  wk_sched_do(&w->x, do_task, w, TASKS);
}

static void each_task_is_done_once(void **state) {
  (void)state;
  for (int threads = 0; threads <= THREADS; threads++) {
    work w = {.ends = TASKS};
    wk_sched_with_crew(threads, do_all, &w);
    for (size_t i = 0; i < TASKS; i++) {
      assert_int_equal(atomic_load(&w.done[i]), 1);
      assert_int_equal(atomic_load(&w.within[i]), WITHIN);
    }
  }
}

static void count_threads(void *ctx, wk_sched_crew *crew, wk_sched_steps *steps) {
  const wk_sched_searching x = {.crew = crew, .steps = steps};
  *(int *)ctx = wk_sched_beside(&x);
}

static void there_are_as_many_as_are_asked_for(void **state) {
  (void)state;
  for (int threads = 0; threads <= THREADS; threads++) {
    int n = 0;
    wk_sched_with_crew(threads, count_threads, &n);
    assert_int_equal(n, threads > 1 ? threads : 1);
  }
  assert_int_equal(wk_sched_beside(&(wk_sched_searching){.crew = NULL}), 1);
  assert_in_range(wk_sched_processors(), 1, 8);
}

/* ---- what cannot go on ----------------------------------------------------------------------- */

static jmp_buf out;
static const char *told;

static void jump(void *ctx, const char *why) {
  assert_ptr_equal(ctx, &out);
  told = why;
  longjmp(out, 1);
}

static void run_to_the_end(work *w, int threads) {
  told = NULL;
  wk_end_by(jump, &out);
  if (!setjmp(out)) wk_sched_with_crew(threads, do_all, w);
  wk_end_by(NULL, NULL);
}

static void the_caller_ends_with_a_task(void **state) {
  (void)state;
  for (int threads = 1; threads <= THREADS; threads++)
    for (int is_within = 0; is_within < 2; is_within++)
      for (size_t ends = 0; ends < TASKS; ends += TASKS / 4) {
        work w = {.ends = ends, .is_within = is_within};
        run_to_the_end(&w, threads);
        assert_string_equal(told, "there is no more");
        assert_int_equal(atomic_load(&w.open), 0);
        assert_int_equal(atomic_load(&w.done[ends]), 0);
        if (threads == 1) assert_int_equal(atomic_load(&w.done[ends + 1]), 0);
        for (size_t i = 0; i < TASKS; i++) assert_true(atomic_load(&w.done[i]) <= 1);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_task_is_done_once),
                                     cmocka_unit_test(there_are_as_many_as_are_asked_for),
                                     cmocka_unit_test(the_caller_ends_with_a_task)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
