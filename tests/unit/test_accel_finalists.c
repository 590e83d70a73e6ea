/* SPDX-License-Identifier: Apache-2.0
 * Which schedule of a part is taken, by cycles that are made up: of which options they are, who is
 * asked, and what comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/compile/finalists.h"

enum { AUTO = WK_PREFETCH_AUTO, DOUBLE = WK_PREFETCH_DOUBLE, SERIAL = WK_PREFETCH_SERIAL,
       OFF = WK_PREFETCH_OFF, MISFIT = -1, LARGE = -2 };

/* Cycles of one finalist are others than the rest's, or it does not fit, or has too many commands.
 * asked: how many are. */
typedef struct {
  const char *name;
  int prefetch, effort; /* that were asked for */
  unsigned without;
  struct { int prefetch, effort; unsigned without; int cycles; } one;
  int asked;
  struct { int prefetch, effort; unsigned without; } taken;
} finals_case;

static const finals_case cases[] = {
    {"all the same", AUTO, 1, 0, {AUTO, 1, 0, 100}, 9, {AUTO, 1, 0}},
    {"the first is best", AUTO, 1, 0, {AUTO, 1, 0, 99}, 9, {AUTO, 1, 0}},
    {"without fusion", AUTO, 1, 0, {AUTO, 1, WK_SCHED_FUSION, 99}, 9, {AUTO, 1, WK_SCHED_FUSION}},
    {"not slower ones", AUTO, 1, 0, {AUTO, 1, WK_SCHED_STACKS, 101}, 9, {AUTO, 1, 0}},
    {"nor what has no room", AUTO, 1, 0, {AUTO, 1, WK_SCHED_STACKS, MISFIT}, 9, {AUTO, 1, 0}},
    {"a plainer mode", AUTO, 1, 0, {DOUBLE, 1, 0, 99}, 9, {DOUBLE, 1, 0}},
    {"a lower effort", AUTO, 2, 0, {AUTO, 1, 0, 99}, 18, {AUTO, 1, 0}},
    {"of which something is left out", AUTO, 3, 0, {AUTO, 2, WK_SCHED_STAGGER, 99}, 27,
     {AUTO, 2, WK_SCHED_STAGGER}},
    {"too many commands", AUTO, 1, 0, {AUTO, 1, 0, LARGE}, 1, {AUTO, 1, 0}},
    {"another fits", AUTO, 1, 0, {AUTO, 1, 0, MISFIT}, 9, {AUTO, 1, WK_SCHED_EARLY_ISSUE}},
    {"serial is as auto is", SERIAL, 1, 0, {AUTO, 1, WK_SCHED_FUSION, 99}, 8,
     {SERIAL, 1, WK_SCHED_FUSION}},
    {"but for other modes", SERIAL, 1, 0, {DOUBLE, 1, 0, 99}, 8, {SERIAL, 1, 0}},
    {"a plainer mode was asked for", DOUBLE, 1, 0, {AUTO, 1, 0, 99}, 0, {DOUBLE, 1, 0}},
    {"the plainest", OFF, 1, 0, {AUTO, 1, 0, 99}, 0, {OFF, 1, 0}},
    {"something is left out", AUTO, 1, WK_SCHED_STACKS, {AUTO, 1, 0, 99}, 0,
     {AUTO, 1, WK_SCHED_STACKS}},
    {"no effort", AUTO, 0, 0, {AUTO, 1, 0, 99}, 0, {AUTO, 0, 0}},
};

typedef struct {
  const finals_case *of;
  int asked;
  uint32_t most;
} timing;

static wk_status time_it(void *ctx, const wk_sched_options *o, uint32_t most, uint64_t *cycles) {
  timing *t = ctx;
  const finals_case *c = t->of;
  bool is_one = (int)o->prefetch == c->one.prefetch && o->effort == c->one.effort &&
                o->without == c->one.without;
  t->asked++;
  t->most = most;
  assert_null(o->explain);
  if (is_one && c->one.cycles == MISFIT) return wk_error(WK_RESOURCE, "no room");
  *cycles = !is_one ? 100 : c->one.cycles == LARGE ? UINT64_MAX : (uint64_t)c->one.cycles;
  return NULL;
}

static void the_fastest_is_taken(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    const finals_case *c = &cases[i];
    timing t = {.of = c};
    wk_sched_explain explain = {0};
    const wk_sched_options o = {.prefetch = (wk_sched_prefetch)c->prefetch, .effort = c->effort,
                                .without = c->without, .explain = &explain, .marks = true};
    wk_sched_options got;
    print_message("%s\n", c->name);
    assert_null(wk_accel_choose(&o, time_it, &t, &got));
    assert_int_equal(t.asked, c->asked);
    assert_int_equal(got.prefetch, c->taken.prefetch);
    assert_int_equal(got.effort, c->taken.effort);
    assert_int_equal(got.without, c->taken.without);
    assert_ptr_equal(got.explain, &explain);
    assert_true(got.marks);
  }
}

static uint32_t most_of(int effort) {
  timing t = {.of = &cases[0]};
  wk_sched_options got;
  assert_null(wk_accel_choose(&(wk_sched_options){.prefetch = WK_PREFETCH_AUTO, .effort = effort},
                              time_it, &t, &got));
  return t.most;
}

static void a_higher_effort_compares_larger_parts(void **state) {
  (void)state;
  assert_true(most_of(1) < most_of(2) && most_of(2) < most_of(3));
}

/* code: of every finalist but the first, or of all. */
typedef struct {
  wk_code first, rest;
  int asked;
} failing;

static wk_status fail_it(void *ctx, const wk_sched_options *o, uint32_t most, uint64_t *cycles) {
  failing *f = ctx;
  wk_code code = f->asked++ ? f->rest : f->first;
  (void)o, (void)most;
  *cycles = 100;
  return code ? wk_error(code, "failure %d", f->asked) : NULL;
}

static void what_fails_is_said(void **state) {
  static const struct { wk_code first, rest; const char *message; int asked; } fails[] = {
      {WK_RESOURCE, WK_RESOURCE, "failure 1", 9}, /* nothing fits */
      {WK_INPUT, WK_RESOURCE, "failure 1", 9},
      {WK_INTERNAL, WK_OK, "failure 1", 1},
      {WK_OK, WK_INTERNAL, "failure 2", 2},
      {WK_RESOURCE, WK_INTERNAL, "failure 2", 2},
  };
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(fails); i++) {
    failing f = {fails[i].first, fails[i].rest, 0};
    wk_sched_options got;
    wk_status s = wk_accel_choose(
        &(wk_sched_options){.prefetch = WK_PREFETCH_AUTO, .effort = 1}, fail_it, &f, &got);
    assert_non_null(s);
    assert_string_equal(s->message, fails[i].message);
    assert_int_equal(f.asked, fails[i].asked);
    wk_status_free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_fastest_is_taken),
                                     cmocka_unit_test(a_higher_effort_compares_larger_parts),
                                     cmocka_unit_test(what_fails_is_said)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
