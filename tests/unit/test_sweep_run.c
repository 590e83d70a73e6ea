/* SPDX-License-Identifier: Apache-2.0
 * The processes that compute the points of a sweep: how each can end, what the folder has of it
 * then, what the next run computes again, in which order tasks begin, and the time that is left.
 * Nothing is compiled: what a point comes to is made up here. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/progress.h"
#include "cli/sweep/sweep.h"
#include "tests/unit/open_files.h"
#include "tests/unit/sweep_folder.h"

static char folder[] = "/tmp/wick-sweep-run-XXXXXX";

/* Nothing is to outlive this test. */
int fsync(int fd) {
  (void)fd;
  return 0;
}

/* ---- what points come to --------------------------------------------------------------------- */

enum { ROW = 1000, ROW_THEN_KILLED, LATE, GIVES_UP, CANNOT, CANNOT_NOWHERE }; /* or a signal */
enum { MOST = 16 };

static const int *fates; /* of each point */

static json_t *row_of(size_t i) { return json_pack("{s:I}", "cycles", (json_int_t)(100 + i)); }

/* In place of that of sweep_point.c. */
wk_status wk_sweep_compute(const wk_sweep *s, const wk_sweep_point *p, json_t **row) {
  size_t i = (size_t)(p - s->points.data);
  int fate = fates[i];
  *row = fate == ROW || fate == ROW_THEN_KILLED ? row_of(i) : NULL;
  if (fate == CANNOT) return wk_error_at(WK_IO, "disk", "is full");
  if (fate == CANNOT_NOWHERE) return wk_error(WK_IO, "is full");
  if (fate == GIVES_UP) _exit(3);
  if (fate == LATE) pause();
  if (fate == ROW) return NULL;
  if (fate == ROW_THEN_KILLED) {
    wk_status status = wk_sweep_put_row(s, p, *row);
    fate = status ? SIGSEGV : SIGKILL;
  }
  signal(fate, SIG_DFL);
  raise(fate);
  return NULL;
}

/* ---- a sweep --------------------------------------------------------------------------------- */

typedef struct {
  wk_sweep s;
  wk_sweep_opts o;
  wk_strings given, set;
  char out[64], latencies[80];
  const char *paths[1], *sets[1];
  int open_before;
} subject;

static void open_subject(subject *x, size_t points, const char *task, int64_t jobs) {
  *x = (subject){.o = {.timeout = 1, .jobs = jobs, .task = task}, .open_before = open_files()};
  size_t at = (size_t)snprintf(x->latencies, sizeof x->latencies, "dram_latency=50");
  for (size_t i = 1; i < points; i++)
    at += (size_t)snprintf(x->latencies + at, sizeof x->latencies - at, ",%zu", 50 + i);
  snprintf(x->out, sizeof x->out, "%s/out", folder);
  x->paths[0] = relu_model(folder, "relu", 1);
  x->sets[0] = x->latencies;
  x->o.output = x->out;
  x->o.set = (wk_strings){x->sets, 1, 1};
  const wk_strings given = {x->paths, 1, 1};
  x->given = given;
  assert_null(wk_sweep_open(&x->o, &wk_cmd_sweep, &x->o, &x->given, &x->s));
  assert_null(wk_sweep_fill(&x->s));
  assert_null(wk_sweep_prepare(&x->s));
  assert_int_equal(x->s.points.n, points);
}

static void close_subject(subject *x, bool forgets) {
  char command[80];
  wk_sweep_free(&x->s);
  assert_int_equal(open_files(), x->open_before);
  snprintf(command, sizeof command, "rm -r %s", x->out);
  if (forgets) assert_int_equal(system(command), 0);
}

/* How many lines of the log say that of a point. */
static int logged(const subject *x, const char *what, size_t point) {
  char path[80], line[64], want[64];
  int n = 0;
  snprintf(path, sizeof path, "%s/log", x->out);
  snprintf(want, sizeof want, "%s %s\n", what, x->s.points.data[point].key);
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f)) n += !strcmp(line, want);
  if (f) fclose(f);
  return n;
}

static size_t run(subject *x) {
  size_t computed = 99;
  wk_status s = wk_sweep_run(&x->s, &computed);
  if (s) fail_msg("%s", s->message);
  return computed;
}

/* ---- how they end ---------------------------------------------------------------------------- */

static const struct {
  const char *name;
  int fate;
  bool has_cycles, died; /* what the row has; neither: there is none */
  const char *why;       /* of the row, or why there is none */
} ends[] = {
    {"a row", ROW, true, false, NULL},
    {"a crash", SIGSEGV, false, true, "crashed: Segmentation fault"},
    {"another one", SIGABRT, false, true, "crashed: Aborted"},
    {"killed", SIGKILL, false, false, "crashed: Killed"},
    {"ended", SIGTERM, false, false, "crashed: Terminated"},
    {"interrupted", SIGINT, false, false, "crashed: Interrupt"},
    {"hung up", SIGHUP, false, false, "crashed: Hangup"},
    {"quit", SIGQUIT, false, false, "crashed: Quit"},
    {"too late", LATE, false, true, "took longer than 1 s"},
    {"gives up", GIVES_UP, false, true, "ended without a result, exit status 3"},
    {"killed behind its row", ROW_THEN_KILLED, true, false, NULL},
    {"one more row", ROW, true, false, NULL},
};
enum { ENDS = WK_COUNTOF(ends), ROWS = 2, DEATHS = 4, LOST = 5 };

static void check_end(const subject *x, size_t i) {
  const wk_sweep_point *p = &x->s.points.data[i];
  json_t *row = wk_sweep_row(&x->s, p);
  bool is_lost = ends[i].why && !ends[i].died;
  const char *lost = p->lost, *why = json_string_value(json_object_get(row, "error"));
  if ((row != NULL) == is_lost) fail_msg("%s: %s", ends[i].name, row ? "a row" : "no row");
  if (ends[i].has_cycles != (json_integer_value(json_object_get(row, "cycles")) == 100 + (int)i))
    fail_msg("%s: cycles", ends[i].name);
  if (ends[i].died != (bool)json_is_true(json_object_get(row, "died")))
    fail_msg("%s: died", ends[i].name);
  if ((lost != NULL) != is_lost) fail_msg("%s: lost: %s", ends[i].name, lost ? lost : "no");
  if (is_lost) why = lost;
  if (!why != !ends[i].why || (why && strcmp(why, ends[i].why) != 0))
    fail_msg("%s: says '%s'", ends[i].name, why ? why : "nothing");
  json_decref(row);
}

static void each_end_is_noted(void **state) {
  (void)state;
  static int of[ENDS];
  subject x;
  fates = of;
  for (size_t i = 0; i < ENDS; i++) of[i] = ends[i].fate;
  for (int64_t jobs = 1; jobs <= 3; jobs += 2) {
    open_subject(&x, ENDS, NULL, jobs);
    assert_int_equal(run(&x), ROWS + DEATHS);
    for (size_t i = 0; i < ENDS; i++) {
      check_end(&x, i);
      assert_int_equal(logged(&x, "start", i), 1);
      assert_int_equal(logged(&x, "done", i), of[i] == ROW || ends[i].died);
    }
    close_subject(&x, jobs == 1);
  }
}

/* What was lost is tried again by the next run, what has died once that is forgotten, and what has
 * a row never. */
static void what_is_missing_is_tried_again(void **state) {
  (void)state;
  static int of[ENDS];
  subject x;
  fates = of;
  for (size_t i = 0; i < ENDS; i++) of[i] = ROW;
  open_subject(&x, ENDS, NULL, 2); /* the folder of the test above */
  assert_int_equal(run(&x), LOST);
  for (size_t i = 0; i < ENDS; i++)
    assert_int_equal(logged(&x, "start", i), 1 + (ends[i].why && !ends[i].died));
  assert_int_equal(run(&x), 0);
  assert_null(wk_sweep_forget_deaths(&x.s));
  assert_int_equal(run(&x), DEATHS);
  for (size_t i = 0; i < ENDS; i++) {
    assert_int_equal(logged(&x, "start", i), 1 + (ends[i].why != NULL));
    assert_true(wk_sweep_has_row(&x.s, &x.s.points.data[i]));
  }
  close_subject(&x, true);
}

/* ---- what cannot be written ------------------------------------------------------------------ */

static void fails(subject *x, const char *message, size_t computed) {
  size_t n = 99;
  wk_status s = wk_sweep_run(&x->s, &n);
  assert_non_null(s);
  assert_int_equal(s->code, WK_IO);
  if (message) assert_string_equal(s->message, message);
  assert_int_equal(n, computed);
  wk_status_free(s);
}

/* The first that says so ends all: what has not begun does not begin. */
static void a_full_disk_ends_the_run(void **state) {
  (void)state;
  static const int of[] = {ROW, CANNOT, ROW, CANNOT_NOWHERE, ROW};
  static const int all[] = {CANNOT_NOWHERE, CANNOT_NOWHERE, CANNOT_NOWHERE};
  subject x;
  fates = of;
  open_subject(&x, 5, NULL, 1);
  fails(&x, "disk: is full", 1);
  for (size_t i = 0; i < 5; i++) assert_int_equal(logged(&x, "start", i), i < 2);
  assert_int_equal(logged(&x, "done", 1), 0);
  close_subject(&x, true);
  fates = all; /* several at once; one is told */
  open_subject(&x, 3, NULL, 3);
  fails(&x, "is full", 0);
  close_subject(&x, true);
}

/* A folder is where the row of a point that has died would be. */
static void deaths_that_cannot_be_noted(void **state) {
  (void)state;
  static const int of[] = {SIGSEGV, ROW, ROW};
  subject x;
  char path[120];
  fates = of;
  open_subject(&x, 3, NULL, 1);
  snprintf(path, sizeof path, "%s/store/%s.json", x.out, x.s.points.data[0].key);
  assert_int_equal(mkdir(path, 0777), 0);
  fails(&x, NULL, 1);
  assert_int_equal(logged(&x, "done", 0), 0);
  assert_int_equal(logged(&x, "start", 1), 0);
  close_subject(&x, true);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void tasks_begin_with_their_part(void **state) {
  (void)state;
  static const struct {
    const char *task;
    size_t points, first;
  } cases[] = {{NULL, 7, 0},  {"0/1", 7, 0}, {"0/3", 7, 0}, {"1/3", 7, 2},  {"2/3", 7, 4},
               {"1/2", 5, 2}, {"6/7", 7, 6}, {"1/9", 3, 0}, {"8/9", 3, 2}, {"3/4", 1, 0}};
  static int of[MOST];
  fates = of;
  for (size_t i = 0; i < MOST; i++) of[i] = ROW;
  for (size_t c = 0; c < WK_COUNTOF(cases); c++) {
    subject x;
    char path[80], line[64];
    size_t next = cases[c].first;
    open_subject(&x, cases[c].points, cases[c].task, 1);
    assert_int_equal(run(&x), cases[c].points);
    snprintf(path, sizeof path, "%s/log", x.out);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
      if (strncmp(line, "start ", 6) != 0) continue;
      if (strncmp(line + 6, x.s.points.data[next].key, 16) != 0)
        fail_msg("%s of %zu points: %s where point %zu should begin", cases[c].task,
                 cases[c].points, line, next);
      next = (next + 1) % cases[c].points;
    }
    assert_int_equal(next, cases[c].first);
    fclose(f);
    close_subject(&x, true);
  }
}

/* ---- the time that is left ------------------------------------------------------------------- */

static const struct {
  size_t done, total;
  double seconds; /* since it began */
  const char *stage, *text;
} progress[] = {
    {0, 11, 500, NULL, "0 of 11"},
    {0, 11, 500, "again: ", "again: 0 of 11"},
    {10, 11, 602, NULL, "10 of 11, 60 s left"},
    {10, 11, 892, NULL, "10 of 11, 89 s left"},
    {10, 11, 930, NULL, "10 of 11, 2 min left"},
    {100, 300, 3012, "again: ", "again: 100 of 300, 100 min left"},
    {11, 11, 930, NULL, "11 of 11, 0 s left"},
};

static void time_that_is_left(void **state) {
  (void)state;
  int terminal = posix_openpt(O_RDWR | O_NOCTTY), old = dup(STDERR_FILENO);
  const char *name = terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal) ? ptsname(terminal)
                                                                                : NULL;
  int shown = name ? open(name, O_RDWR | O_NOCTTY) : -1;
  if (shown < 0) {
    print_message("note: there are no pseudo-terminals: progress is not tested\n");
  } else {
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    wk_progress_on_terminal();
    for (size_t i = 0; i < WK_COUNTOF(progress); i++) {
      char got[200], want[200];
      const wk_sweep s = {.stage = progress[i].stage};
      dup2(shown, STDERR_FILENO);
      wk_sweep_progress(&s, progress[i].done, progress[i].total,
                        wk_clock() - progress[i].seconds);
      dup2(old, STDERR_FILENO);
      ssize_t n = read(terminal, got, sizeof got - 1);
      got[n > 0 ? n : 0] = 0;
      snprintf(want, sizeof want, "\r\033[K%s", progress[i].text);
      assert_string_equal(got, want);
    }
    close(shown);
  }
  if (terminal >= 0) close(terminal);
  close(old);
}

int main(void) {
  char command[80];
  if (!mkdtemp(folder)) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_end_is_noted), cmocka_unit_test(what_is_missing_is_tried_again),
      cmocka_unit_test(a_full_disk_ends_the_run), cmocka_unit_test(deaths_that_cannot_be_noted),
      cmocka_unit_test(tasks_begin_with_their_part), cmocka_unit_test(time_that_is_left)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  snprintf(command, sizeof command, "rm -r %s", folder);
  if (system(command)) failed++;
  return failed;
}
