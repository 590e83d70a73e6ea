/* SPDX-License-Identifier: Apache-2.0
 * Whole searches of `wick explore` over figures that are made up: the folder has a row for every
 * point, so nothing is compiled, and what is tried, kept, dropped, found and written follows from
 * the figures alone. What explore_search.def says is what comes out, and
 * what explore_files.def says is written of two of them.
 *   test_explore_search search     the lines of the first, as they would stand there
 *   test_explore_search files      those of the second */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/sweep/explore.h"
#include "tests/unit/printed_lines.h"
#include "tests/unit/sweep_folder.h"

static const char *const wanted[] = {
#include "tests/unit/explore_search.def"
#include "tests/unit/explore_files.def"
};

/* Nothing is to outlive this test: thousands of small files would be waited for. */
int fsync(int fd) {
  (void)fd;
  return 0;
}

static char folder[] = "/tmp/wick-explore-XXXXXX";
enum { LIMITS = 2 };

/* ---- cases ----------------------------------------------------------------------------------- */

typedef struct {
  const char *name, *space;
  int models;
  int64_t budget, confirm, seed;
  const char *limits[LIMITS];
  bool fails; /* some machines cannot run the models, and some not be built */
} search;

static const char large[] = "array = [8, 16, 32];\nscratchpad = [65536, 131072, 262144];\n"
                            "banks = [16, 4, 8];\ndram_bytes = (4, 6.5, 8);\n";
static const char small[] = "array = [16, 8];\nbanks = [4, 8, 16];\n";

static const search searches[] = {
    {.name = "all of six", .space = small, .models = 1, .budget = 6},
    {.name = "four of six", .space = small, .models = 2, .budget = 4, .confirm = 1},
    {.name = "one", .space = small, .models = 1, .budget = 1, .confirm = 3},
    {.name = "all of a large one", .space = large, .models = 1, .budget = 81},
    {.name = "half of it", .space = large, .models = 2, .budget = 40, .seed = 3, .confirm = 2},
    {.name = "a few of it", .space = large, .models = 1, .budget = 5, .seed = 4},
    {.name = "one at a time", .space = large, .models = 1, .budget = 23, .seed = 5},
    {.name = "two at a time", .space = large, .models = 1, .budget = 24, .seed = 5},
    {.name = "within limits", .space = large, .models = 1, .budget = 30,
     .limits = {"area=1x", "onchip_bytes=200000"}},
    {.name = "with little energy", .space = large, .models = 2, .budget = 30,
     .limits = {"energy=0.9x"}},
    {.name = "with a little more", .space = large, .models = 2, .budget = 30,
     .limits = {"energy=1.3x"}},
    {.name = "with energy enough", .space = large, .models = 1, .budget = 20,
     .limits = {"energy=100x"}},
    {.name = "with next to no energy", .space = large, .models = 1, .budget = 20,
     .limits = {"energy=1000000"}},
    {.name = "some cannot", .space = large, .models = 2, .budget = 60, .seed = 9, .confirm = 3,
     .fails = true},
};

/* ---- figures --------------------------------------------------------------------------------- */

/* 0 to n - 1, by chance, the same for a machine. */
static uint64_t chance(const wk_machine *m, int what, uint64_t n) {
  const int64_t of[] = {m->array, m->scratchpad, m->banks, m->dram_bytes.num, m->dram_bytes.den,
                        what};
  return wk_hash64(of, sizeof of, 1) % n;
}

/* Wide arrays and quick memory have fewer; the second model likes banks. */
static uint64_t cycles_of(const wk_machine *m, int model) {
  uint64_t array = (uint64_t)m->array, c = 40000000 / (array * array);
  c += (uint64_t)(800000 * m->dram_bytes.den / m->dram_bytes.num + 30000000000 / m->scratchpad);
  if (model) c += 4000000 / (uint64_t)m->banks;
  return c + chance(m, model, 40000);
}

static json_t *row_of(const search *x, const wk_sweep_point *p, int model, bool is_quick,
                      const wk_machine *base) {
  const wk_machine *m = &p->machine;
  uint64_t cycles = cycles_of(m, model);
  uint64_t off = chance(m, 10 + model + is_quick, cycles / (is_quick ? 4 : 16));
  json_t *row = json_pack("{s:I, s:I}", "predicted", (json_int_t)(cycles + off), "host_macs",
                          (json_int_t)(100 + model));
  bool can_fail = x->fails && memcmp(m, base, sizeof *m) != 0;
  if (p->kind == WK_SWEEP_RTL) cycles += p->machine.banks == 8 ? 0 : 1 + chance(m, 20, 9);
  if (p->kind != WK_SWEEP_SCHEDULE) {
    json_object_set_new(row, "cycles", json_integer((json_int_t)cycles));
    json_object_set_new(row, "energy", json_real((double)cycles * (double)(m->array + m->banks)));
  }
  if (can_fail && m->array == 16 && m->banks == 4 && model)
    json_object_set_new(row, "error", json_string("does not fit"));
  if (can_fail && m->banks == 4 && m->array == 8)
    json_object_set_new(row, "host_macs", json_integer(101 + model));
  if (can_fail && chance(m, 30, 8) == 0) json_object_set_new(row, "predicted", json_integer(0));
  if (can_fail && p->kind == WK_SWEEP_TIMING && chance(m, 31, 3) == 0)
    json_object_set_new(row, "cycles", json_integer(0));
  if (can_fail && p->kind == WK_SWEEP_RTL && chance(m, 32, 2) == 0)
    json_object_set_new(row, "error", json_string("no such machine"));
  return row;
}

/* Rows of all stages for a machine. */
static void put_rows(const search *x, wk_explore *e, const char **values, const wk_machine *m) {
  static const struct {
    wk_sweep_model_kind kind;
    const char *effort;
  } stages[] = {{WK_SWEEP_SCHEDULE, "0"}, {WK_SWEEP_SCHEDULE, "2"}, {WK_SWEEP_TIMING, "2"},
                {WK_SWEEP_RTL, "2"}};
  for (size_t s = 0; s < WK_COUNTOF(stages); s++)
    for (size_t k = 0; k < e->sweep.models.n; k++)
      wk_sweep_add(&e->sweep, &(wk_sweep_point){.model = &e->sweep.models.data[k],
                                                .values = values, .machine = *m,
                                                .settings = WK_SETTINGS(
                                                    {"effort", stages[s].effort}),
                                                .kind = stages[s].kind});
  assert_null(wk_sweep_prepare(&e->sweep));
  for (size_t i = 0; i < e->sweep.points.n; i++) {
    const wk_sweep_point *p = &e->sweep.points.data[i];
    if (!x->fails && wk_sweep_has_row(&e->sweep, p)) continue; /* of an earlier search */
    json_t *row = row_of(x, p, (int)(i % e->sweep.models.n), i < e->sweep.models.n,
                         &e->sweep.base);
    assert_null(wk_sweep_put_row(&e->sweep, p, row));
    json_decref(row);
  }
  e->sweep.points.n = 0;
}

/* Of every combination of values that is a machine. */
static void put_all(const search *x, wk_explore *e) {
  const char *values[WK_KEY_COUNT];
  wk_machine m;
  put_rows(x, e, e->reference->values, &e->reference->machine);
  for (size_t i = 0; i < e->size; i++) {
    size_t rest = i;
    for (size_t k = e->sweep.axes.n; k-- > 0;) {
      values[k] = e->sweep.axes.data[k].values.data[rest % e->sweep.axes.data[k].values.n];
      rest /= e->sweep.axes.data[k].values.n;
    }
    if (!wk_sweep_machine_of(&e->sweep, values, &m)) put_rows(x, e, values, &m);
  }
}

/* ---- what comes out -------------------------------------------------------------------------- */

static void add_numbers(wk_str *b, const char *name, const uint64_t *n, size_t models) {
  for (size_t m = 0; m < models; m++)
    wk_str_printf(b, "%s%llu", m ? "+" : name, (unsigned long long)n[m]);
}

/* "* 8,4 rung 2, 2.19357 x, 10136616 pJ, foreseen CYCLES, CYCLES": * on the front. */
static void add_candidate(wk_str *b, const wk_explore *e, const wk_candidate *c) {
  size_t models = e->sweep.models.n;
  wk_str_add(b, c->is_front ? "* " : "  ");
  for (size_t k = 0; k < e->sweep.axes.n; k++)
    wk_str_printf(b, "%s%s", k ? "," : "", c->values[k]);
  wk_str_printf(b, " rung %d, %.5f x", c->rung, c->times);
  if (!isnan(c->energy)) wk_str_printf(b, ", %.0f pJ", c->energy);
  add_numbers(b, ", foreseen ", c->predicted, models);
  if (c->cycles[0]) add_numbers(b, ", ", c->cycles, models);
  wk_str_add(b, "\n");
  if (c->rtl[0]) add_numbers(b, "    RTL ", c->rtl, models);
  if (c->rtl[0]) wk_str_printf(b, ", off by %.3f %%\n", wk_candidate_error(e, c));
  if (c->error || c->rtl_error)
    wk_str_printf(b, "    %s\n", c->error ? c->error : c->rtl_error);
}

/* The reference, then those that were tried in the order of their trial. */
static void add_result(wk_str *b, const wk_explore *e) {
  wk_str_printf(b, "%zu machines, %zu cannot be, %zu beyond limits, %zu within, %zu tried\n",
                e->size, e->impossible, e->excluded, e->places.n, e->tried.n);
  add_candidate(b, e, e->reference);
  for (size_t i = 0; i < e->tried.n; i++) add_candidate(b, e, e->tried.data[i]);
}

/* Without the version. */
static void add_line(wk_str *b, const char *at, size_t n, const void *name) {
  if (!strstr(name, ".json") || strncmp(at, " \"wick\"", 7) != 0) wk_str_addn(b, at, n);
}

/* ---- a search -------------------------------------------------------------------------------- */

/* files: those to show instead of the result; NULL: none. */
static void run_search(const search *x, wk_str *b, const char *const *files) {
  const char *models[] = {relu_model(folder, "b", 1), relu_model(folder, "c", 2)};
  const wk_strings paths = {models, (size_t)x->models, 2};
  const char *limits[LIMITS];
  char space[64], out[64];
  wk_explore e;
  snprintf(space, sizeof space, "%s/space.cfg", folder);
  snprintf(out, sizeof out, "%s/%s", folder, x->fails ? "failures" : "out");
  memcpy(limits, x->limits, sizeof limits);
  wk_explore_opts o = {.sweep = {.output = out, .timeout = 60, .jobs = 1}, .space = space,
                       .effort = "2", .budget = x->budget, .confirm = x->confirm,
                       .seed = x->seed,
                       .limit = {limits, !!limits[0] + (size_t)!!limits[1], LIMITS}};
  assert_null(wk_write_file(space, x->space, strlen(x->space)));
  assert_null(wk_explore_open(&o, &wk_cmd_explore, &paths, &e));
  put_all(x, &e);
  assert_null(wk_explore_search(&e));
  assert_null(e.rtl_status);
  assert_int_equal(e.computed, 0);
  wk_str_printf(b, "==== %s\n", x->name);
  if (!files) add_result(b, &e);
  assert_null(wk_explore_write(&e));
  assert_null(wk_explore_write_page(&e));
  wk_explore_free(&e);
  for (; files && *files; files++) add_written(b, folder, *files, add_line, *files);
}

static void add_searches(wk_str *b) {
  for (size_t i = 0; i < WK_COUNTOF(searches); i++) run_search(&searches[i], b, NULL);
}

/* Two models, all machines on the last rung; one of which machines end on all rungs. */
static void add_files(wk_str *b) {
  static const char *const all[] = {"explore.json", "index.html", NULL};
  static const char *const picture[] = {"front.svg", NULL};
  run_search(&searches[1], b, all);
  run_search(&searches[4], b, picture);
}

static void searches_find_what_they_should(void **state) {
  (void)state;
  wk_str b = {0};
  add_searches(&b);
  add_files(&b);
  expect_lines(&b, wanted, WK_COUNTOF(wanted));
}

/* ---- main ------------------------------------------------------------------------------------ */

static int print(bool is_files) {
  wk_str b = {0};
  if (is_files) add_files(&b);
  else add_searches(&b);
  return print_lines(&b, is_files ? "test_explore_search.c writes" : "test_explore_search.c finds");
}

static void remove_folder(void) {
  char command[80];
  snprintf(command, sizeof command, "rm -r %s", folder);
  (void)!system(command);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(searches_find_what_they_should)};
  if (!mkdtemp(folder)) return 1;
  atexit(remove_folder);
  if (argc > 1) return print(!strcmp(argv[1], "files"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
