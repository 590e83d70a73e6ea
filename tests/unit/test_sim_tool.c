/* SPDX-License-Identifier: Apache-2.0
 * Programs that a build runs: where their output goes, what is said of those that fail, and the
 * measures of machines that a training stream is made for. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/build.h"
#include "sim/tool.h"

static char folder[] = "/tmp/wick-sim-tool-XXXXXX";

static int setup(void **state) {
  int ends[2];
  (void)state;
  umask(022);
  if (!mkdtemp(folder) || chdir(folder) != 0 || pipe(ends) != 0) return 1;
  if (write(ends[1], "mine\n", 5) != 5) return 1; /* for programs that read ours */
  close(ends[1]);
  return dup2(ends[0], 0) != 0 || close(ends[0]) != 0;
}

static int teardown(void **state) {
  char command[64];
  (void)state;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static int ticks;
static void tick(const void *context) {
  assert_ptr_equal(context, &ticks);
  ticks++;
  close(open("told", O_WRONLY | O_CREAT, 0600));
}

static wk_status run(const char *script) {
  const char *const argv[] = {"sh", "-c", script, NULL};
  ticks = 0;
  return wk_sim_tool_run(argv, "log", tick, &ticks);
}

static void must(wk_status s) {
  if (s) fail_msg("%s", s->message);
}

static void expect_log(const char *want) {
  wk_file f;
  must(wk_file_map("log", &f));
  assert_int_equal(f.size, strlen(want));
  assert_memory_equal(f.data, want, f.size);
  wk_file_unmap(&f);
}

/* Both streams of output, behind what was there; nothing to read. */
static void output_goes_to_the_log(void **state) {
  (void)state;
  struct stat st;
  unlink("log");
  setenv("WICK_TOOL_TEST", "there", 1);
  must(run("echo one; echo two >&2; read x; echo \"got $x\"; echo $WICK_TOOL_TEST"));
  expect_log("one\ntwo\ngot \nthere\n");
  assert_int_equal(stat("log", &st), 0);
  assert_int_equal(st.st_mode & 07777, 0644);
  must(run("echo three"));
  expect_log("one\ntwo\ngot \nthere\nthree\n");
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
}

typedef struct {
  const char *script, *notes;
} failure;

#define COUNT(n) "i=1; while [ $i -le " #n " ]; do echo line $i; i=$((i + 1)); done; "
static const failure failures[] = {
    {"exit 1", ""},
    {"echo last words; exit 255", "last words\n"},
    {"echo one; echo; echo three; exit 2", "one\n\nthree\n"},
    {"echo one; printf half; exit 2", "one\nhalf\n"},
    {"printf half; exit 2", "half\n"},
    {"echo one; kill -6 $$", "one\n"},
    {COUNT(3) "kill -15 $$", "line 1\nline 2\nline 3\n"},
    {COUNT(11) "exit 1", "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n"
     "line 10\nline 11\n"},
    {COUNT(12) "exit 1", "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n"
     "line 10\nline 11\nline 12\n"},
    {COUNT(13) "exit 1", "line 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10\n"
     "line 11\nline 12\nline 13\n"},
    {COUNT(40) "exit 1", "line 29\nline 30\nline 31\nline 32\nline 33\nline 34\nline 35\nline 36\n"
     "line 37\nline 38\nline 39\nline 40\n"},
    {"echo gone; rm log; exit 1", ""},
};

static void failures_have_the_end_of_the_log(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(failures); i++) {
    unlink("log");
    wk_status s = run(failures[i].script);
    if (!s) fail_msg("%s", failures[i].script);
    assert_string_equal(s->message, "sh failed:");
    assert_int_equal(s->code, WK_INPUT);
    assert_string_equal(s->notes ? s->notes : "", failures[i].notes);
    wk_status_free(s);
  }
}

/* A tool that had no space has failed for no reason of its own, whether it could say so or not. */
static void space_runs_out(void **state) {
  (void)state;
  const struct rlimit before = {RLIM_INFINITY, RLIM_INFINITY}, few = {100, RLIM_INFINITY};
  wk_status s = run("echo 'cannot write m.o: No space left on device'; exit 1");
  assert_non_null(s);
  assert_int_equal(s->code, WK_IO);
  assert_string_equal(s->message, "sh failed: No space left on device:");
  wk_status_free(s);
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
  s = run("exit 1");
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_non_null(s);
  assert_int_equal(s->code, WK_IO);
  assert_string_equal(s->message, "sh failed: File too large:");
  assert_int_equal(access("log.probe", F_OK), -1);
  wk_status_free(s);
}

/* Nor has one without memory, which says so, or whose compiler does, or which the system killed. */
static void memory_runs_out(void **state) {
  (void)state;
  static const failure rows[] = {
      {"echo 'cc: Cannot allocate memory'; exit 1", "cc: Cannot allocate memory\n"},
      {"echo \"what():  std::bad_alloc\"; kill -6 $$", "what():  std::bad_alloc\n"},
      {"echo 'cc1plus: out of memory allocating 9 bytes'; exit 1",
       "cc1plus: out of memory allocating 9 bytes\n"},
      {"echo 'Out of memory!'; exit 12", "Out of memory!\n"},
      {"echo 'virtual memory exhausted'; exit 1", "virtual memory exhausted\n"},
      {"echo 'g++: fatal error: Killed signal terminated program cc1plus'; exit 2",
       "g++: fatal error: Killed signal terminated program cc1plus\n"},
      {"echo 'cc: libz.so: failed to map segment from shared object'; exit 2",
       "cc: libz.so: failed to map segment from shared object\n"},
      {"echo one; kill -9 $$", "one\n"},
      {"echo one; exit 137", "one\n"}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    unlink("log");
    wk_status s = run(rows[i].script);
    if (!s || s->code != WK_RESOURCE) fail_msg("%s", rows[i].script);
    assert_string_equal(s->message, "sh failed: Cannot allocate memory:");
    assert_string_equal(s->notes, rows[i].notes);
    wk_status_free(s);
  }
}

/* A log that fills a page, whose last line does not end: what lies behind may not be read. */
static void logs_end_where_they_end(void **state) {
  (void)state;
  char want[4096 + 2];
  unlink("log");
  snprintf(want, sizeof want, "a\n%4094s\n", "x");
  wk_status s = run("printf 'a\n%4094s' x; exit 1");
  assert_non_null(s);
  assert_string_equal(s->notes, want);
  wk_status_free(s);
}

static void programs_that_do_not_start(void **state) {
  (void)state;
  static const char *const none[] = {"wick-no-such-program", "x", NULL}, *const plain[] = {
      "./plain", "x", NULL};
  wk_status s = wk_sim_tool_run(none, "log", tick, &ticks);
  assert_non_null(s);
  assert_string_equal(s->message, "'wick-no-such-program' is not installed; the RTL model needs it "
                                  "(scripts/install)");
  assert_int_equal(s->code, WK_IO);
  wk_status_free(s);
  must(wk_write_file("plain", "", 0));
  s = wk_sim_tool_run(plain, "log", tick, &ticks);
  assert_non_null(s);
  assert_string_equal(s->message, "cannot start './plain': Permission denied");
  assert_int_equal(s->code, WK_IO);
  wk_status_free(s);
  wk_sim_tool_run_quietly(none);
  wk_sim_tool_run_quietly(plain);
}

static void somebody_is_told_that_it_runs(void **state) {
  (void)state;
  double start = wk_clock();
  unlink("told");
  must(run("until test -e told; do sleep 0.01; done"));
  double tenths = 10 * (wk_clock() - start);
  assert_true(ticks >= 1 && ticks <= tenths + 2);
}

static void quiet_programs_are_waited_for(void **state) {
  (void)state;
  static const char *const slow[] = {"sh", "-c", "sleep 0.15; echo text; : >done", NULL},
                           *const bad[] = {"sh", "-c", "exit 3", NULL};
  wk_sim_tool_run_quietly(slow);
  assert_int_equal(access("done", F_OK), 0);
  wk_sim_tool_run_quietly(bad);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- training -------------------------------------------------------------------------------- */

static void training_is_made_to_measure(void **state) {
  (void)state;
  /* a plane of 14 columns has half the sums, or 1/32 of the words of the scratchpad */
  static const struct {
    int64_t array, scratchpad, accumulators, channels;
    const char *want;
  } cases[] = {
      {8, 65536, 16384, 2, ".define ROWS 14\n.define KC 4\n.define KY 3\n.define HALF 256\n"},
      {8, 16384, 16384, 1, ".define ROWS 4\n.define KC 4\n.define KY 3\n.define HALF 256\n"},
      {8, 65536, 4096, 3, ".define ROWS 4\n.define KC 4\n.define KY 3\n.define HALF 64\n"},
      {32, 16384, 65536, 2, ".define ROWS 1\n.define KC 1\n.define KY 1\n.define HALF 256\n"},
      {32, 32768, 65536, 2, ".define ROWS 2\n.define KC 1\n.define KY 3\n.define HALF 256\n"},
      {16, 32768, 65536, 1, ".define ROWS 4\n.define KC 2\n.define KY 3\n.define HALF 512\n"},
      {16, 65536, 4096, 1, ".define ROWS 2\n.define KC 4\n.define KY 3\n.define HALF 32\n"},
      {16, 262144, 1048576, 1, ".define ROWS 14\n.define KC 4\n.define KY 3\n.define HALF 8192\n"},
      /* one word, or one sum, more and less than what makes a difference */
      {8, 2240 * 8, 16384, 1, ".define ROWS 5\n.define KC 4\n.define KY 3\n.define HALF 256\n"},
      {8, 2239 * 8, 16384, 1, ".define ROWS 4\n.define KC 4\n.define KY 3\n.define HALF 256\n"},
      {8, 2240 * 8, 4416, 3, ".define ROWS 4\n.define KC 4\n.define KY 3\n.define HALF 69\n"},
      {8, 2240 * 8, 4480, 1, ".define ROWS 5\n.define KC 4\n.define KY 3\n.define HALF 70\n"},
      {8, 6272 * 8, 16384, 1, ".define ROWS 14\n.define KC 4\n.define KY 3\n.define HALF 256\n"},
      {8, 6271 * 8, 16384, 1, ".define ROWS 13\n.define KC 4\n.define KY 3\n.define HALF 256\n"},
      {8, 9000 * 8, 131072, 1, ".define ROWS 14\n.define KC 4\n.define KY 3\n.define HALF 2048\n"},
      {8, 2048 * 8, 16384, 1, ".define ROWS 4\n.define KC 4\n.define KY 3\n.define HALF 256\n"},
      {8, 2047 * 8, 16384, 1, ".define ROWS 4\n.define KC 3\n.define KY 3\n.define HALF 256\n"},
      {8, 1024 * 8, 16384, 1, ".define ROWS 2\n.define KC 2\n.define KY 3\n.define HALF 256\n"},
      {8, 1023 * 8, 16384, 1, ".define ROWS 2\n.define KC 1\n.define KY 3\n.define HALF 256\n"},
      {8, 511 * 8, 16384, 1, ".define ROWS 1\n.define KC 1\n.define KY 3\n.define HALF 256\n"},
      {8, 256 * 8, 16384, 1, ".define ROWS 1\n.define KC 1\n.define KY 3\n.define HALF 256\n"},
      {8, 255 * 8, 16384, 1, ".define ROWS 1\n.define KC 1\n.define KY 1\n.define HALF 256\n"},
      {16, 512 * 16, 16384, 1, ".define ROWS 1\n.define KC 1\n.define KY 3\n.define HALF 128\n"},
      {16, 511 * 16, 16384, 1, ".define ROWS 1\n.define KC 1\n.define KY 1\n.define HALF 128\n"},
  };
  char *rest = NULL;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_machine m;
    wk_str text = {0};
    char want[200];
    wk_machine_defaults(&m);
    m.array = cases[i].array, m.scratchpad = cases[i].scratchpad;
    m.accumulators = cases[i].accumulators, m.load_channels = cases[i].channels;
    must(wk_sim_training_text(&m, &text));
    int n = snprintf(want, sizeof want, "%s.define CHANNELS %lld\n", cases[i].want,
                     (long long)cases[i].channels);
    if (strncmp(text.s, want, (size_t)n)) fail_msg("%zu: %.100s", i, text.s);
    if (!rest) rest = wk_xstrdup(text.s + n); /* the stream, which is the same for all */
    assert_string_equal(text.s + n, rest);
    assert_non_null(strstr(rest, "\nend\n"));
    wk_str_free(&text);
  }
  free(rest);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(output_goes_to_the_log),
      cmocka_unit_test(failures_have_the_end_of_the_log),
      cmocka_unit_test(logs_end_where_they_end),
      cmocka_unit_test(space_runs_out),
      cmocka_unit_test(memory_runs_out),
      cmocka_unit_test(programs_that_do_not_start),
      cmocka_unit_test(somebody_is_told_that_it_runs),
      cmocka_unit_test(quiet_programs_are_waited_for),
      cmocka_unit_test(training_is_made_to_measure),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
