/* SPDX-License-Identifier: Apache-2.0
 * Lists of targets as they are typed: who is opened, in which order, with which settings, and what
 * is said of lists that make no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pipeline/targets.h"

typedef struct {
  const char *what;
  wk_target_args args;
  const char *text; /* of the list, or of the error: "PLACE: MESSAGE; NOTES" */
} list_case;

#define PLACE(pin) {.data = (const char *[]){pin}, .n = 1}

static const list_case cases[] = {
    {"one machine", {.target = "accel:base", .cpu = "avx2"},
     "accel:base,cpu:avx2"},
    {"its own default", {.target = "accel", .cpu = "avx2"},
     "accel:base,cpu:avx2"},
    {"the host alone", {.cpu = "avx2"},
     "cpu:avx2"},
    {"the host by name", {.target = "cpu:avx2"},
     "cpu:avx2"},
    {"the host, both ways", {.target = "cpu", .cpu = "avx2"},
     "cpu:avx2"},
    {"two machines", {.target = "accel:tiny,accel:base", .cpu = "avx2"},
     "accel:tiny,accel:base,cpu:avx2"},
    {"no host", {.target = "accel:base", .no_host = true},
     "accel:base"},
    {"no host, two", {.target = "accel:base,accel:tiny", .no_host = true},
     "accel:base,accel:tiny"},
    {"the host for what is put there",
     {.target = "accel:base", .cpu = "avx2", .no_host = true, .place = PLACE("x.*=cpu")},
     "accel:base,cpu:avx2"},
    {"for nothing",
     {.target = "accel:base", .no_host = true, .place = PLACE("cpu=accel:base")},
     "accel:base"},
    {"the host for the ends",
     {.target = "accel:base", .cpu = "avx2", .no_host = true, .place = PLACE("@ends=cpu")},
     "accel:base,cpu:avx2"},
    {"the ends beside the host",
     {.target = "accel:base", .cpu = "avx2", .place = PLACE("@ends=cpu")},
     "accel:base,cpu:avx2"},
    {"the ends for another",
     {.target = "accel:base", .no_host = true, .place = PLACE("@ends=accel")},
     "--place @ends=accel: the ends are what others leave to cpu"},
    {"its name and more",
     {.target = "accel:base", .no_host = true, .place = PLACE("x=cpus")},
     "--place x=cpus: --target does not list cpus"},
    {"the host in the list", {.target = "accel:base,cpu:avx2"},
     "accel:base,cpu:avx2"},
    {"the host first", {.target = "cpu:avx2,accel:base"},
     "--target: cpu runs everything and comes last; what stands behind it would get "
     "nothing"},
    {"the host between", {.target = "accel:base,cpu:avx2,accel:tiny"},
     "--target: cpu runs everything and comes last; what stands behind it would get "
     "nothing"},
    {"the host twice", {.target = "cpu:avx2,cpu:avx2"},
     "--target: cpu:avx2 stands there twice"},
    {"a machine twice", {.target = "accel:base,accel:base", .no_host = true},
     "accel:base,accel:base"},
    {"a machine twice, later", {.target = "accel:base,accel:tiny,accel:base", .no_host = true},
     "accel:base,accel:tiny,accel:base"},
    {"two hosts", {.target = "cpu:avx2", .cpu = "avx2"},
     "--cpu avx2 and --target cpu:avx2: give one of them"},
    {"a host and none", {.target = "accel:base,cpu:avx2", .no_host = true},
     "--no-host and --target cpu: give one of them"},
    {"nobody", {.no_host = true},
     "--no-host: name another target with --target"},
    {"no name", {.target = ""},
     "--target: the name of a target is missing"},
    {"no name between", {.target = "accel:base,,cpu:avx2"},
     "--target: the name of a target is missing"},
    {"no name behind", {.target = "accel:base,"},
     "--target: the name of a target is missing"},
    {"no machine", {.target = "accel:"},
     "--target accel: the machine behind the colon is missing"},
    {"a machine alone", {.target = ":base"},
     "--target: the name of a target is missing"},
    {"nearly", {.target = "acel:base"},
     "--target: no target 'acel'; did you mean 'accel'?"},
    {"not nearly", {.target = "frobnicator"},
     "--target: no target 'frobnicator'; 'wick targets' lists them"},
    {"the evaluator", {.target = "accel:base,eval"},
     "--target: the evaluator, eval, runs models on its own and only where they are run"},
    {"a setting", {.target = "accel:base", .cpu = "avx2", .settings = WK_SETTINGS({"effort", "2"})},
     "accel:base,cpu:avx2"},
    {"a wrong one",
     {.target = "accel:base", .cpu = "avx2", .settings = WK_SETTINGS({"effort", "many"})},
     "--effort: must be 0, 1, 2 or 3, not 'many'"},
    {"nobody's", {.cpu = "avx2", .settings = WK_SETTINGS({"effort", "2"})},
     "--effort: target cpu has no such setting (--target accel has it)"},
    {"nobody's of two",
     {.target = "accel:base", .cpu = "avx2", .settings = WK_SETTINGS({"tune", "2"})},
     "--tune: no target has such a setting (--target opencl has it)"},
    {"somebody's",
     {.target = "accel:base", .cpu = "avx2",
      .settings = WK_SETTINGS({"prefetch", "off"}, {"marks", "yes"})},
     "accel:base,cpu:avx2"},
    {"one that is not given",
     {.target = "accel:base", .cpu = "avx2", .settings = WK_SETTINGS({"tune", NULL})},
     "accel:base,cpu:avx2"},
    {"one that is none", {.cpu = "avx2", .settings = WK_SETTINGS({"colour", "red"})},
     "--colour: target cpu has no such setting"},
};

static void lists_are_opened(void **state) {
  (void)state;
  bool is_wrong = false;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_targets t;
    wk_arena *a = wk_arena_new();
    wk_str b = {0};
    wk_status s = wk_targets_open(&cases[i].args, &t);
    if (s) {
      assert_int_equal(s->code, WK_USAGE);
      wk_str_printf(&b, "%s%s%s%s%s", s->place ? s->place : "", s->place ? ": " : "", s->message,
                    s->notes ? "; " : "", s->notes ? s->notes : "");
    } else {
      wk_str_add(&b, wk_targets_text(&t, a));
      assert_int_equal(t.has_host, t.list[t.n - 1]->target == wk_target_host());
      assert_int_equal(t.host_by_pin, cases[i].args.no_host);
      const wk_strings *place = &cases[i].args.place;
      assert_int_equal(t.host_at_ends,
                       t.host_by_pin && place->n && !strcmp(place->data[0], "@ends=cpu"));
      assert_true(t.has_host || t.host_by_pin);
    }
    if (strcmp(b.s, cases[i].text) != 0) {
      fprintf(stderr, "@@ %s\n%s@@ end\n", cases[i].what, b.s);
      is_wrong = true;
    }
    wk_targets_close(&t);
    assert_int_equal(t.n, 0);
    wk_status_free(s);
    wk_str_free(&b);
    wk_arena_free(a);
  }
  assert_false(is_wrong);
}

/* The host is the last of all, and there is nobody behind it. */
static void all_targets(void **state) {
  (void)state;
  size_t n = 0;
  while (wk_target_at(n)) n++;
  assert_true(n > 2);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(wk_target_at(i) == wk_target_host(), i == n - 1);
    for (size_t k = 0; k < i; k++) assert_ptr_not_equal(wk_target_at(i), wk_target_at(k));
  }
  for (size_t i = n; i < n + 5; i++) assert_null(wk_target_at(i));
}

/* Each of them is recorded in what is compiled, but for what only explains. */
static void settings_as_typed(void **state) {
  (void)state;
  const struct {
    wk_option_pairs settings;
    const char *given, *text;
  } rows[] = {
      {{0}, NULL, ""},
      {WK_SETTINGS({"prefetch", "off"}), "prefetch", " --prefetch=off"},
      {WK_SETTINGS({"effort", "3"}), "effort", " --effort=3"},
      {WK_SETTINGS({"marks", "yes"}), "marks", " --marks=yes"},
      {WK_SETTINGS({"without", "a,b"}), "without", " --without=a,b"},
      {WK_SETTINGS({"dram", "dram_bytes=8"}), "dram", " --dram=dram_bytes=8"},
      {WK_SETTINGS({"tune", ""}), "tune", " --tune="},
      {WK_SETTINGS({"explain", "x"}), "explain", ""},
      {WK_SETTINGS({"explain", "x"}, {"tune", "5"}, {"effort", "2"}), "effort",
       " --effort=2 --tune=5"},
      {WK_SETTINGS({"effort", NULL}, {"marks", "no"}), "marks", " --marks=no"},
  };
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_str b = {0};
    const char *given = wk_settings_given(&rows[i].settings);
    wk_settings_text(&b, &rows[i].settings);
    assert_string_equal(given ? given : "none", rows[i].given ? rows[i].given : "none");
    assert_string_equal(b.n ? b.s : "", rows[i].text);
    wk_str_free(&b);
  }
}

/* The first whose code does not run here is named, the host as it was asked for. */
static void who_runs_here(void **state) {
  (void)state;
  static const struct {
    bool accel, host;
    const char *cpu, *text;
  } rows[] = {
      {true, true, "avx2", "all"},
      {true, false, "avx2", "--cpu avx2: code for avx2 cannot run on this machine"},
      {true, false, NULL, "--target cpu:avx2: code for it cannot run on this machine"},
      {false, false, "avx2", "--target accel:tiny: code for it cannot run on this machine"},
      {false, true, NULL, "--target accel:tiny: code for it cannot run on this machine"},
  };
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_targets t;
    const wk_target_args a = {.target = rows[i].cpu ? "accel:tiny" : "accel:tiny,cpu:avx2",
                              .cpu = rows[i].cpu};
    assert_null(wk_targets_open(&a, &t));
    t.list[0]->is_here = rows[i].accel;
    t.list[1]->is_here = rows[i].host;
    wk_status s = wk_targets_check_here(&t, &a);
    assert_string_equal(s ? s->message : "all", rows[i].text);
    if (s) assert_int_equal(s->code, WK_UNSUPPORTED);
    wk_status_free(s);
    wk_targets_close(&t);
  }
}

static void the_evaluator_is_no_target(void **state) {
  (void)state;
  assert_true(wk_target_is_eval(&(wk_target_args){.target = "eval"}));
  assert_false(wk_target_is_eval(&(wk_target_args){.target = "eval:"}));
  assert_false(wk_target_is_eval(&(wk_target_args){.target = "cpu"}));
  assert_false(wk_target_is_eval(&(wk_target_args){0}));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_are_opened),
      cmocka_unit_test(all_targets),
      cmocka_unit_test(settings_as_typed),
      cmocka_unit_test(who_runs_here),
      cmocka_unit_test(the_evaluator_is_no_target),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
