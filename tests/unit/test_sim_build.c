/* SPDX-License-Identifier: Apache-2.0
 * The cache of cycle models: what has a model of its own, what is built again, and the command
 * lines that build it. Verilator and the compilers are scripts here that build nothing. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/sim_build.h"

/* ---- keys ------------------------------------------------------------------------------------ */

enum { MOST = 24 };
static char *known[MOST];
static int n_known;

/* It has a library of its own, which is built once. */
static void expect_new(const wk_sim_build_options *o, const char *what) {
  bool built, again;
  char *path = library(*o, &built), *same = library(*o, &again);
  if (!built || again) fail_msg("%s: built %d, then %d", what, built, again);
  assert_string_equal(path, same);
  for (int i = 0; i < n_known; i++)
    if (!strcmp(known[i], path)) fail_msg("%s: the library of another one, %d", what, i);
  known[n_known++] = path;
  free(same);
}

static void expect_known(const wk_sim_build_options *o, int which) {
  bool built;
  char *path = library(*o, &built);
  assert_false(built);
  assert_string_equal(path, known[which]);
  free(path);
}

static void what_has_a_model_of_its_own(void **state) {
  const wk_sim_build_options plain = {.machine = &tiny}, waves = {.machine = &tiny, .waves = true};
  (void)state;
  expect_new(&plain, "a machine");
  expect_new(&(wk_sim_build_options){.machine = &base}, "another machine");
  expect_new(&waves, "waves");
  expect_new(&(wk_sim_build_options){.machine = &tiny, .coverage = true}, "coverage");
  expect_new(&(wk_sim_build_options){.machine = &tiny, .probe = true}, "a probe");
  wk_machine other = tiny;
  other.dram_latency = 7;
  expect_known(&(wk_sim_build_options){.machine = &other}, 0);
  other.fifo *= 2;
  expect_new(&(wk_sim_build_options){.machine = &other}, "other hardware of the same name");
  /* what the tree has in files that are not read is nothing to it */
  write_file("rtl/notes.txt", "other notes");
  expect_known(&plain, 0);
  static const char *const files[] = {"rtl/_pkg.sv", "rtl/a.sv", "rtl/b.sv"}; /* first to last */
  for (size_t i = 0; i < WK_COUNTOF(files); i++) {
    write_file(files[i], files[i]);
    expect_new(&plain, files[i]);
  }
  write_file("rtl/d.sv", "d");
  expect_new(&plain, "one file more");
  unlink(in_folder("rtl/d.sv"));
  write_file("rtl/_pkg.sv", "no package");
  write_file("rtl/a.sv", "a");
  write_file("rtl/b.sv", "b");
  expect_known(&plain, 0);
  run("cp -r rtl rtl2");
  expect_known(&(wk_sim_build_options){.machine = &tiny, .rtl = in_folder("rtl2")}, 0);
  /* compilers, the first that is there */
  run("mv bin/clang++-19 hidden");
  expect_new(&plain, "another compiler");
  run("mv bin/clang++ hidden2");
  expect_new(&plain, "the last compiler");
  run("mv bin/g++ hidden3");
  expect_known(&plain, n_known - 1); /* which is taken where there is none */
  run("mv hidden bin/clang++-19 && mv hidden2 bin/clang++ && mv hidden3 bin/g++");
  expect_known(&plain, 0);
  assert_memory_equal(known[0], in_folder("cache/tiny-"), strlen(in_folder("cache/tiny-")));
  assert_memory_equal(known[1], in_folder("cache/base-"), strlen(in_folder("cache/base-")));
  bool built;
  free(library((wk_sim_build_options){.machine = &tiny, .rebuild = true}, &built));
  assert_true(built);
  for (int i = 0; i < n_known; i++) free(known[i]);
}

/* ---- command lines --------------------------------------------------------------------------- */

static void replace(wk_str *text, const char *what, const char *by) {
  wk_str y = {0};
  const char *at = text->s, *next;
  while ((next = strstr(at, what))) {
    wk_str_addn(&y, at, (size_t)(next - at));
    wk_str_add(&y, by);
    at = next + strlen(what);
  }
  wk_str_add(&y, at);
  wk_str_free(text);
  *text = y;
}

/* With FOLDER, ROOT and SIM (what is the project's) and WORK in the place of theirs. */
static void called_with(const char *work, wk_str *text) {
  wk_file f;
  assert_null(wk_file_map(in_folder("args"), &f));
  wk_str_addn(text, (const char *)f.data, f.size);
  wk_file_unmap(&f);
  replace(text, work, "WORK");
  replace(text, folder, "FOLDER");
  char sim[256], *end = strstr(text->s, "/verilated/bench.cpp"), *begin = end;
  assert_non_null(end);
  while (begin > text->s && begin[-1] != '\n') begin--;
  snprintf(sim, sizeof sim, "%.*s", (int)(end - begin), begin);
  replace(text, sim, "SIM");
  *strrchr(sim, '/') = '\0';
  replace(text, sim, "ROOT");
  replace(text, "\n", " ");
}

#define ALWAYS                                                                                   \
  "--cc --exe --build -j 2 -Wall -Wno-fatal -Werror-USERERROR --top-module wick_accel -O3 "      \
  "--x-assign fast --x-initial unique +define+WICK_WIDE --output-split 20000 "
#define QUICK "--output-split-cfuncs 20000 --noassert --flatten "
#define CLANG                                                                                    \
  "-MAKEFLAGS CXX=clang++-19 LINK=clang++-19 OPT_FAST='-O3 -march=native' OPT_SLOW=-O1 "         \
  "OPT_GLOBAL='-O2 -march=native' "
#define FLAGS(more) "-CFLAGS -fPIC -fvisibility=hidden -IWORK -IROOT" more "  -LDFLAGS -shared  "
#define FILES                                                                                    \
  "-Mdir WORK -o model.so WORK/wick_pkg.sv FOLDER/rtl/_pkg.sv FOLDER/rtl/c_pkg.sv "              \
  "FOLDER/rtl/z_pkg.sv FOLDER/rtl/a.sv FOLDER/rtl/b.sv "
#define BENCH "SIM/verilated/bench.cpp "

static void how_models_are_built(void **state) {
  static const struct {
    wk_sim_build_options o;
    const char *args;
  } cases[] = {
      {{.rebuild = true}, ALWAYS QUICK CLANG FLAGS("") FILES BENCH},
      {{.rebuild = true, .waves = true}, ALWAYS QUICK "--trace-fst " CLANG FLAGS("") FILES BENCH},
      {{.rebuild = true, .probe = true},
       ALWAYS QUICK CLANG FLAGS(" -DWICK_PROBE") FILES "SIM/verilated/spm_probe.sv " BENCH},
      {{.rebuild = true, .coverage = true},
       ALWAYS "--output-split-cfuncs 500 --assert --coverage-line --coverage-toggle -MAKEFLAGS "
       "CXX=g++ LINK=g++ OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1 " FLAGS("") FILES BENCH},
  };
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_sim_build_options o = cases[i].o;
    wk_str text = {0}, work = {0};
    bool built;
    o.machine = &tiny;
    char *path = library(o, &built);
    wk_str_printf(&work, "%s.build", path);
    called_with(work.s, &text);
    assert_string_equal(text.s, cases[i].args);
    assert_int_not_equal(access(work.s, F_OK), 0); /* nothing is left of it */
    wk_str_free(&work);
    wk_str_free(&text);
    free(path);
  }
}

/* Of a program that has closed its input, the first file, here the folder, is number 0. */
static void folders_may_have_number_0(void **state) {
  wk_machine other = tiny;
  bool built;
  int input = dup(0);
  (void)state;
  other.fifo *= 4;
  close(0);
  char *path = library((wk_sim_build_options){.machine = &other}, &built);
  dup2(input, 0);
  close(input);
  assert_true(built);
  free(path);
}

/* ---- two at a time --------------------------------------------------------------------------- */

static void tell(void *context, const char *what, int percent) {
  dprintf(*(const int *)context, "%s %d\n", what, percent);
}

/* In a process of its own, which writes what it is told, and then the library. */
static pid_t build_elsewhere(int out, int lock) {
  const wk_sim_build_options o = {.machine = &tiny, .rtl = rtl, .progress = tell, .context = &out};
  char *path;
  pid_t pid = fork();
  if (pid) return pid;
  close(lock); /* it is held by two otherwise */
  alarm(20);
  wk_status s = wk_sim_build(&o, &path);
  dprintf(out, "%s\n", s ? s->message : path);
  wk_status_free(s);
  free(path);
  _exit(0);
}

/* Reads until the text ends so. */
static void read_until(int in, wk_str *text, const char *end) {
  char c;
  while (text->n < strlen(end) || strcmp(text->s + text->n - strlen(end), end)) {
    if (read(in, &c, 1) != 1) fail_msg("%s", text->s);
    wk_str_addn(text, &c, 1);
  }
}

static void second_of_two(bool is_made) {
  bool built;
  int ends[2], status;
  wk_str work = {0}, text = {0}, path = {0};
  char *there = library((wk_sim_build_options){.machine = &tiny}, &built);
  wk_str_printf(&path, "%s\n", there);
  wk_str_printf(&work, "%s.build", there);
  unlink(there);
  unlink(in_folder("args"));
  assert_int_equal(mkdir(work.s, 0777), 0);
  int lock = open(work.s, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_int_equal(flock(lock, LOCK_EX), 0);
  assert_int_equal(pipe(ends), 0);
  pid_t pid = build_elsewhere(ends[1], lock);
  close(ends[1]);
  read_until(ends[0], &text, "waiting for another build of the cycle model 'tiny' -1\n");
  assert_string_equal(text.s, "waiting for another build of the cycle model 'tiny' 0\n"
                              "waiting for another build of the cycle model 'tiny' -1\n");
  if (is_made) assert_null(wk_write_file(there, "made", 4));
  assert_int_equal(rmdir(work.s), 0);
  close(lock);
  text.n = 0;
  read_until(ends[0], &text, path.s);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_int_equal(access(in_folder("args"), F_OK) == 0, !is_made);
  assert_int_not_equal(access(work.s, F_OK), 0);
  close(ends[0]);
  unlink(there);
  free(there);
  wk_str_free(&work), wk_str_free(&text), wk_str_free(&path);
}

/* Who comes second waits for the first, and takes what it has made, or makes it where the first one
 * has not. */
static void two_at_a_time(void **state) {
  (void)state;
  second_of_two(true);
  second_of_two(false);
}

/* ---- tuned models ---------------------------------------------------------------------------- */

/* The first of its two compilations; the library cannot be trained. *work: its folder. */
static void fail_to_tune(const wk_sim_build_options *o, wk_str *work) {
  wk_file f;
  char *path;
  unlink(in_folder("args"));
  wk_status s = wk_sim_build(o, &path);
  assert_non_null(s);
  wk_status_free(s);
  assert_null(wk_file_map(in_folder("args"), &f));
  const char *from = strstr((const char *)f.data, "-Mdir\n");
  assert_non_null(from);
  from += strlen("-Mdir\n");
  wk_str_addn(work, from, strcspn(from, "\n"));
  wk_file_unmap(&f);
}

static void tuned_models(void **state) {
  const wk_sim_build_options now = {.machine = &tiny, .rtl = rtl,
                                    .tune = WK_SIM_TUNE_NOW};
  wk_sim_build_options o = now;
  wk_str work = {0};
  static const char end[] = "-tuned.so.build/counting";
  bool built;
  (void)state;
  fail_to_tune(&now, &work);
  assert_true(work.n > sizeof end);
  assert_string_equal(work.s + work.n - strlen(end), end);
  work.s[work.n - strlen(".build/counting")] = '\0';
  assert_null(wk_write_file(work.s, "tuned", 5));
  static const struct {
    wk_sim_build_options o;
    bool is_tuned;
  } cases[] = {{{.tune = WK_SIM_TUNE_CACHED}, true},
               {{.tune = WK_SIM_TUNE_NOW}, true},
               {{.tune = WK_SIM_TUNE_NEVER}, false},
               {{.tune = WK_SIM_TUNE_CACHED, .waves = true}, false},
               {{.tune = WK_SIM_TUNE_CACHED, .coverage = true}, false},
               {{.tune = WK_SIM_TUNE_CACHED, .probe = true}, false}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    o = cases[i].o;
    o.machine = &tiny;
    char *path = library(o, &built);
    assert_int_equal(!strcmp(path, work.s), cases[i].is_tuned);
    free(path);
  }
  /* made anew because it is the one that is taken */
  wk_str again = {0};
  o = (wk_sim_build_options){.machine = &tiny, .rtl = rtl, .rebuild = true};
  fail_to_tune(&o, &again);
  unlink(work.s);
  free(library((wk_sim_build_options){.machine = &tiny, .rebuild = true}, &built));
  assert_true(built);
  wk_str_free(&again);
  wk_str_free(&work);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static void refuse(const wk_sim_build_options *o, const char *place, const char *message) {
  char *path;
  wk_status s = wk_sim_build(o, &path);
  assert_non_null(s);
  assert_string_equal(s->message, message);
  if (place) assert_string_equal(s->place, place);
  assert_null(path);
  wk_status_free(s);
}

static void what_goes_wrong(void **state) {
  wk_sim_build_options o = {.machine = &tiny, .rtl = in_folder("none")};
  (void)state;
  refuse(&o, o.rtl, "cannot open the folder: No such file or directory");
  run("mkdir empty && touch empty/x.v empty/.sv");
  o.rtl = in_folder("empty");
  refuse(&o, o.rtl, "no .sv files here");
  o = (wk_sim_build_options){.machine = &tiny, .rtl = rtl, .rebuild = true};
  run("mv bin/verilator hidden");
  refuse(&o, NULL, "'verilator' is not installed; the RTL model needs it (scripts/install)");
  tool("verilator", "#!/bin/sh\nexit 1\n");
  refuse(&o, o.rtl, "verilator failed:");
  tool("verilator", "#!/bin/sh\nexit 0\n");
  char *path;
  wk_status s = wk_sim_build(&o, &path);
  assert_non_null(s);
  assert_string_equal(s->message, "cannot write: No such file or directory");
  wk_status_free(s);
  run("mv hidden bin/verilator");
  o.tune = WK_SIM_TUNE_NOW;
  static const char needs[] =
      "a tuned model needs 'clang++-19' and 'llvm-profdata-19' (scripts/install)";
  run("mv bin/clang++-19 hidden");
  refuse(&o, NULL, needs);
  run("mv hidden bin/clang++-19 && mv bin/llvm-profdata-19 hidden");
  refuse(&o, NULL, needs);
  run("mv hidden bin/llvm-profdata-19 && test \"$(ls cache | grep -c build)\" = 0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_has_a_model_of_its_own), cmocka_unit_test(how_models_are_built),
      cmocka_unit_test(folders_may_have_number_0), cmocka_unit_test(two_at_a_time),
      cmocka_unit_test(tuned_models), cmocka_unit_test(what_goes_wrong)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
