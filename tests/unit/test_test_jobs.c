/* SPDX-License-Identifier: Apache-2.0
 * Cases of `wick test` in processes of their own: how they end and what is reported of them. What a
 * case does is the test's (--wrap); what takes too long is what never ends, so that no machine is
 * too fast or too slow. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/verify/test_case.h"

typedef enum { PASSES, FAILS, NEVER_ENDS, DIES } fate;

static const struct {
  const char *name;
  fate first; /* before it has a verdict */
  fate then;  /* of one that has failed: looking into it */
  wk_verdict verdict;
  const char *text;
} rows[] = {
    {"passes", PASSES, PASSES, WK_TEST_PASSED, NULL},
    {"never ends", NEVER_ENDS, PASSES, WK_TEST_FAILED, "took longer than 1 s"},
    {"dies", DIES, PASSES, WK_TEST_FAILED, "crashed: Killed"},
    {"fails", FAILS, PASSES, WK_TEST_FAILED, "it differs (and why)"},
    {"fails, then never ends", FAILS, NEVER_ENDS, WK_TEST_FAILED, "it differs"},
    {"fails, then dies", FAILS, DIES, WK_TEST_FAILED, "it differs"},
};
enum { ROWS = WK_COUNTOF(rows) };

static void meet(fate f) {
  if (f == NEVER_ENDS)
    for (;;) pause();
  if (f == DIES) kill(getpid(), SIGKILL);
}

void __wrap_wk_test_case_run(const wk_test_options *o, wk_test_case *c,
                             void (*failed)(void *, const wk_test_case *), void *ctx);
void __wrap_wk_test_case_run(const wk_test_options *o, wk_test_case *c,
                             void (*failed)(void *, const wk_test_case *), void *ctx) {
  size_t i = (size_t)strtol(c->dir, NULL, 10);
  (void)o;
  meet(rows[i].first);
  c->verdict = rows[i].first == FAILS ? WK_TEST_FAILED : WK_TEST_PASSED;
  if (rows[i].first != FAILS) return;
  c->text = wk_xstrdup("it differs");
  failed(ctx, c);
  meet(rows[i].then);
  free(c->text);
  c->text = wk_xstrdup("it differs (and why)");
}

static void check(void *ctx, const wk_test_case *c) {
  size_t i = (*(size_t *)ctx)++;
  assert_string_equal(c->name, rows[i].name);
  const char *want = rows[i].text;
  bool alike = want ? c->text && !strcmp(c->text, want) : !c->text;
  if (c->verdict != rows[i].verdict || !alike)
    fail_msg("%s: verdict %d, says '%s'", c->name, (int)c->verdict, c->text ? c->text : "nothing");
}

static void each_end_is_reported(void **state) {
  (void)state;
  const wk_test_options o = {.timeout = 1, .jobs = ROWS};
  wk_test_case cases[ROWS];
  char dirs[ROWS][4];
  size_t reported = 0;
  for (size_t i = 0; i < ROWS; i++) {
    snprintf(dirs[i], sizeof dirs[i], "%zu", i);
    cases[i] = (wk_test_case){.dir = dirs[i], .name = rows[i].name};
  }
  assert_null(wk_test_jobs_run(&o, cases, ROWS, check, &reported));
  assert_int_equal(reported, ROWS);
  for (size_t i = 0; i < ROWS; i++) {
    free(cases[i].text);
    free(cases[i].note);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_end_is_reported)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
