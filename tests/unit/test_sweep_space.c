/* SPDX-License-Identifier: Apache-2.0
 * The points of a sweep: which values and tasks there can be, word for word what is said of others,
 * the order and settings of points, names of models, and that a model's files are in its hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/sweep/sweep.h"
#include "tests/unit/sweep_folder.h"

static char folder[] = "/tmp/wick-space-XXXXXX";

typedef struct {
  const char *set[3], *prefetch, *effort, *without, *dram, *task;
  bool what_if;
} asked;

typedef struct {
  wk_sweep s;
  wk_sweep_opts o;
  wk_strings models;
  const char *sets[3], *paths[4];
  wk_option_pair settings[4];
} subject;

/* Up to the points. */
static wk_status open_subject(subject *x, const asked *a) {
  *x = (subject){.o = {.output = "out", .timeout = 60, .jobs = 1, .task = a->task,
                       .what_if = a->what_if},
                 .settings = {{"without", a->without}, {"dram", a->dram},
                              {"effort", a->effort}, {"prefetch", a->prefetch}}};
  x->o.settings = (wk_option_pairs){x->settings, WK_COUNTOF(x->settings), 0};
  size_t n = 0;
  while (n < WK_COUNTOF(a->set) && a->set[n]) x->sets[n] = a->set[n], n++;
  x->o.set = (wk_strings){x->sets, n, WK_COUNTOF(x->sets)};
  x->paths[0] = relu_model(folder, "relu", 1);
  const wk_strings given = {x->paths, 1, 4};
  x->models = given;
  wk_status s = wk_sweep_open(&x->o, &wk_cmd_sweep, &x->o, &x->models, &x->s);
  return s ? s : wk_sweep_fill(&x->s);
}

/* ---- what is refused ------------------------------------------------------------------------- */

#define FORM "must be KEY=NUMBER,NUMBER,…"
#define TASK ": must be I/N, such as 0/8 to 7/8"

static const struct {
  asked of;
  const char *message; /* with its place; NULL: there are `points` */
  size_t points;
} cases[] = {
    {{.set = {"array=8"}}, NULL, 1},
    {{.set = {"array=8,16"}}, NULL, 2},
    {{.set = {"array=8,16", "dram_latency=1,2,3"}}, NULL, 6},
    {{.set = {"array=8,16", "dram_latency=1,2,3", "scratchpad=65536,131072"}}, NULL, 12},
    {{.set = {"array"}}, "--set array: " FORM, 0},
    {{.set = {"=8"}}, "--set =8: " FORM, 0},
    {{.set = {""}}, "--set : " FORM, 0},
    {{.set = {"array=8", "16"}}, "--set 16: " FORM, 0},
    {{.set = {"array="}}, "--set array=: no value for array", 0},
    {{.set = {"array=,"}}, "--set array=,: a value of array is empty", 0},
    {{.set = {"array=8,"}}, "--set array=8,: a value of array is empty", 0},
    {{.set = {"array=,8"}}, "--set array=,8: a value of array is empty", 0},
    {{.set = {"array=8,,16"}}, "--set array=8,,16: a value of array is empty", 0},
    {{.set = {"array=8,16,8"}}, "--set array=8,16,8: 8 stands there twice", 0},
    {{.set = {"array=8,16,16"}}, "--set array=8,16,16: 16 stands there twice", 0},
    {{.set = {"dram_latency=1,2,02"}},
     "--set dram_latency=1,2,02: 2 and 02 are the same number", 0},
    {{.set = {"dram_latency=1,2,1.0"}},
     "--set dram_latency=1,2,1.0: 1 and 1.0 are the same number", 0},
    {{.set = {"array=8=8"}}, "--set array=8=8: '8=8' is no number", 0},
    {{.set = {"aray=8"}}, "--set aray=8: unknown key 'aray'; did you mean 'array'?", 0},
    {{.set = {"array =8"}}, "--set array =8: unknown key 'array '; did you mean 'array'?", 0},
    {{.set = {"zzzzzzzz=8"}},
     "--set zzzzzzzz=8: unknown key 'zzzzzzzz'; 'wick isa --machine base' lists them", 0},
    {{.set = {"array=8", "array=16"}}, "--set array=16: array is set twice", 0},
    {{.set = {"array=8", "dram_latency=1", "array=16"}}, "--set array=16: array is set twice", 0},
    /* no numbers, and nearly none */
    {{.set = {"dram_bytes=4,8.5"}}, NULL, 2},
    {{.set = {"dram_bytes=4,8."}}, "--set dram_bytes=4,8.: '8.' is no number", 0},
    {{.set = {"dram_bytes=.5"}}, "--set dram_bytes=.5: '.5' is no number", 0},
    {{.set = {"dram_bytes=-.5"}}, "--set dram_bytes=-.5: '-.5' is no number", 0},
    {{.set = {"dram_bytes=0.25,-0.25,--1"}},
     "--set dram_bytes=0.25,-0.25,--1: '--1' is no number", 0},
    {{.set = {"dram_bytes=1.5.5"}}, "--set dram_bytes=1.5.5: '1.5.5' is no number", 0},
    {{.set = {"dram_bytes=1e3"}}, "--set dram_bytes=1e3: '1e3' is no number", 0},
    {{.set = {"dram_bytes=0x10"}}, "--set dram_bytes=0x10: '0x10' is no number", 0},
    {{.set = {"dram_bytes=8 "}}, "--set dram_bytes=8 : '8 ' is no number", 0},
    {{.set = {"dram_bytes=-"}}, "--set dram_bytes=-: '-' is no number", 0},
    {{.set = {"dram_bytes=inf"}}, "--set dram_bytes=inf: 'inf' is no number", 0},
    /* settings */
    {{{NULL}, .prefetch = "auto"}, NULL, 1},
    {{{NULL}, .prefetch = "auto,off", .effort = "0,1,2"}, NULL, 6},
    {{.set = {"array=8,16"}, .without = "none,fusion"}, NULL, 4},
    {{{NULL}, .dram = "latency=50+bytes=4,latency=60"}, NULL, 2},
    {{{NULL}, .dram = "latency=50+bytes=none"},
     "bytes=none: 'none' is no number of at most six decimals", 0},
    {{{NULL}, .prefetch = "off,off"}, "--prefetch: off stands there twice", 0},
    {{{NULL}, .prefetch = ""}, "--prefetch: no value for prefetch", 0},
    {{{NULL}, .effort = "1,,2"}, "--effort: a value of effort is empty", 0},
    /* tasks */
    {{.set = {"array=8"}, .task = "0/1"}, NULL, 1},
    {{.set = {"array=8"}, .task = "7/8"}, NULL, 1},
    {{.set = {"array=8"}, .task = "0/2147483647"}, NULL, 1},
    {{.set = {"array=8"}, .task = "2147483646/2147483647"}, NULL, 1},
    {{.set = {"array=8"}, .task = "0/2147483648"}, "--task 0/2147483648" TASK, 0},
    {{.set = {"array=8"}, .task = "8/8"}, "--task 8/8" TASK, 0},
    {{.set = {"array=8"}, .task = "9/8"}, "--task 9/8" TASK, 0},
    {{.set = {"array=8"}, .task = "-1/8"}, "--task -1/8" TASK, 0},
    {{.set = {"array=8"}, .task = "0/0"}, "--task 0/0" TASK, 0},
    {{.set = {"array=8"}, .task = "0/-1"}, "--task 0/-1" TASK, 0},
    {{.set = {"array=8"}, .task = ""}, "--task " TASK, 0},
    {{.set = {"array=8"}, .task = "1"}, "--task 1" TASK, 0},
    {{.set = {"array=8"}, .task = "1/"}, "--task 1/" TASK, 0},
    {{.set = {"array=8"}, .task = "/2"}, "--task /2" TASK, 0},
    {{.set = {"array=8"}, .task = "1:2"}, "--task 1:2" TASK, 0},
    {{.set = {"array=8"}, .task = "1/2x"}, "--task 1/2x" TASK, 0},
    {{.set = {"array=8"}, .task = "1x/2"}, "--task 1x/2" TASK, 0},
    {{.set = {"array=8"}, .task = "1/2/3"}, "--task 1/2/3" TASK, 0},
};

static void values_and_tasks(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    subject x;
    wk_status s = open_subject(&x, &cases[i].of);
    const char *want = cases[i].message;
    wk_str got = {0};
    const char *place = s && s->place ? s->place : "";
    if (s) wk_str_printf(&got, "%s%s%s", place, *place ? ": " : "", s->message);
    if (!s != !want || (s && strcmp(got.s, want) != 0))
      fail_msg("case %zu: says '%s', not '%s'", i, s ? got.s : "nothing", want ? want : "nothing");
    if (s) assert_int_equal(s->code, WK_USAGE);
    else assert_int_equal(x.s.points.n, cases[i].points);
    wk_str_free(&got);
    wk_status_free(s);
    wk_sweep_free(&x.s);
  }
}

/* ---- points ---------------------------------------------------------------------------------- */

/* The last axis changes first, settings behind keys, and the model last. */
static void points_in_order(void **state) {
  (void)state;
  static const char *const latency[] = {"30", "7", "110"}, *const array[] = {"16", "8"};
  static const char *const without[] = {"none", "fusion+residency"};
  static const char *const listed[] = {NULL, "fusion,residency"};
  const asked a = {{"dram_latency=30,7,110", "array=16,8"}, .without = "none,fusion+residency"};
  subject x;
  wk_status s = open_subject(&x, &a);
  if (s) fail_msg("%s", s->message);
  wk_sweep_free(&x.s);
  x.paths[1] = relu_model(folder, "relu", 2);
  x.models.n = 2;
  assert_null(wk_sweep_open(&x.o, &wk_cmd_sweep, &x.o, &x.models, &x.s));
  assert_null(wk_sweep_fill(&x.s));
  assert_int_equal(x.s.points.n, 2 * 3 * 2 * 2);
  for (size_t i = 0; i < x.s.points.n; i++) {
    const wk_sweep_point *p = &x.s.points.data[i];
    const char *list = listed[i % 2];
    assert_string_equal(p->values[2], without[i % 2]);
    assert_string_equal(p->values[1], array[i / 2 % 2]);
    assert_string_equal(p->values[0], latency[i / 4 % 3]);
    assert_int_equal(p->machine.dram_latency, atoi(latency[i / 4 % 3]));
    assert_int_equal(p->machine.array, atoi(array[i / 2 % 2]));
    assert_ptr_equal(p->model, &x.s.models.data[i / 12]);
    const char *got = wk_option_pairs_get(&p->settings, "without");
    assert_int_equal(!got, !list);
    if (list) assert_string_equal(got, list);
  }
  wk_sweep_free(&x.s);
}

/* What a row depends on, a line for each: what all points share, the model, settings, what is asked
 * for beside them, and the machine. */
static void identities(void **state) {
  (void)state;
  for (int what_if = 0; what_if < 2; what_if++) {
    subject x;
    const asked a = {{"dram_latency=30,7"}, .without = "fusion", .what_if = what_if};
    wk_status s = open_subject(&x, &a);
    if (s) fail_msg("%s", s->message);
    for (size_t i = 0; i < x.s.points.n; i++) {
      const wk_sweep_point *p = &x.s.points.data[i];
      wk_str want = {0};
      wk_str_printf(&want, "%smodel %016llx\nsettings", x.s.shared,
                    (unsigned long long)p->model->hash);
      wk_settings_text(&want, &p->settings);
      wk_str_add(&want, what_if ? "\nwhat-if\n" : "\n");
      wk_machine_text(&want, &p->machine);
      assert_string_equal(p->identity, want.s);
      wk_str_free(&want);
    }
    assert_string_not_equal(x.s.points.data[0].key, x.s.points.data[1].key);
    wk_sweep_free(&x.s);
  }
}

/* One that is no machine is a point that says so; it has no key. */
static void machines_that_are_none(void **state) {
  (void)state;
  const asked a = {.set = {"scratchpad=1,65536", "array=8,7"}};
  subject x;
  assert_null(open_subject(&x, &a));
  assert_int_equal(x.s.points.n, 4);
  for (size_t i = 0; i < 4; i++) {
    const wk_sweep_point *p = &x.s.points.data[i];
    assert_int_equal(!p->refusal, i == 2);
    assert_int_equal(strlen(p->key), i == 2 ? 16 : 0);
  }
  assert_string_equal(x.s.points.data[0].refusal,
                      "scratchpad = 1 is outside 16384 to 1048576 bytes");
  wk_sweep_free(&x.s);
}

/* ---- models ---------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *text) {
  char path[96];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_null(wk_write_file(path, text, strlen(text)));
}

static void write_model(const char *name, const char *files) {
  wk_str b = {0};
  wk_str_printf(
      &b, "ir_version: 8 opset_import { version: 17 } graph { name: \"g\" %s"
      "node { op_type: \"Add\" input: \"x\" input: \"v\" output: \"h\" } "
      "node { op_type: \"Add\" input: \"h\" input: \"w\" output: \"y\" } "
      "input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } } } } } "
      "output { name: \"y\" type { tensor_type { elem_type: 1 } } } }", files);
  write_file(name, b.s);
  wk_str_free(&b);
}

static uint64_t hash_of(const char *name) {
  char path[96];
  subject x = {.o = {.output = "out", .timeout = 60, .jobs = 1}};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  x.paths[0] = path;
  const wk_strings given = {x.paths, 1, 1};
  x.models = given;
  wk_status s = wk_sweep_open(&x.o, &wk_cmd_sweep, &x.o, &x.models, &x.s);
  if (s) fail_msg("%s", s->message);
  uint64_t hash = x.s.models.data[0].hash;
  wk_sweep_free(&x.s);
  return hash;
}

#define EXTERNAL(name, file)                                                    \
  "initializer { name: \"" name "\" data_type: 1 dims: 1 data_location: EXTERNAL " \
  "external_data { key: \"location\" value: \"" file "\" } } "

/* Whatever the rows depend on: the model's file, and each with its weights. */
static void files_are_in_the_hash(void **state) {
  (void)state;
  enum { FORMS = 5 };
  static const char *const v[FORMS] = {"abcd", "abce", "abcd", "efgh", "abcd"};
  static const char *const w[FORMS] = {"efgh", "efgh", "efgi", "abcd", "efgh"};
  uint64_t hash[FORMS];
  for (int i = 0; i < FORMS; i++) {
    write_file("v.bin", v[i]);
    write_file("w.bin", w[i]);
    write_model("m.textproto", i < 4 ? EXTERNAL("v", "v.bin") EXTERNAL("w", "w.bin")
                                     : EXTERNAL("v", "w.bin") EXTERNAL("w", "v.bin"));
    hash[i] = hash_of("m.textproto");
    assert_int_equal(hash_of("m.textproto"), hash[i]);
    for (int k = 0; k < i; k++)
      if (hash[k] == hash[i]) fail_msg("forms %d and %d have one hash", k, i);
  }
}

/* Of the same name in several folders, the later ones are called by their paths. */
static void models_of_one_name(void **state) {
  (void)state;
  char command[500], paths[3][96], real[3][4096];
  subject x = {.o = {.output = "out", .timeout = 60, .jobs = 1}};
  const char *from = relu_model(folder, "relu", 1);
  for (int i = 0; i < 3; i++) {
    snprintf(paths[i], sizeof paths[i], "%s/%c/same.onnx", folder, 'a' + i);
    snprintf(command, sizeof command, "mkdir %s/%c && cp %s %s", folder, 'a' + i, from, paths[i]);
    assert_int_equal(system(command), 0);
    assert_non_null(realpath(paths[i], real[i]));
    x.paths[i] = paths[i];
  }
  const wk_strings given = {x.paths, 3, 4};
  x.models = given;
  assert_null(wk_sweep_open(&x.o, &wk_cmd_sweep, &x.o, &x.models, &x.s));
  assert_string_equal(x.s.models.data[0].name, "same");
  for (int i = 0; i < 3; i++) assert_string_equal(x.s.models.data[i].path, real[i]);
  for (int i = 1; i < 3; i++) assert_string_equal(x.s.models.data[i].name, real[i]);
  wk_sweep_free(&x.s);
  x.paths[2] = paths[0];
  wk_status s = wk_sweep_open(&x.o, &wk_cmd_sweep, &x.o, &x.models, &x.s);
  assert_non_null(s);
  assert_non_null(strstr(s->message, "same.onnx stands there twice"));
  wk_status_free(s);
  wk_sweep_free(&x.s);
}

int main(void) {
  char command[80];
  if (!mkdtemp(folder)) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_and_tasks),      cmocka_unit_test(points_in_order),
      cmocka_unit_test(identities),
      cmocka_unit_test(machines_that_are_none), cmocka_unit_test(files_are_in_the_hash),
      cmocka_unit_test(models_of_one_name)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  snprintf(command, sizeof command, "rm -r %s", folder);
  if (system(command)) failed++;
  return failed;
}
