/* SPDX-License-Identifier: Apache-2.0
 * What a sweep writes of its rows: points.csv, points.json and index.html, of figures that are made
 * up. The folder has them, so nothing is compiled. What sweep_results.def says is what is written.
 *   test_sweep_results print     all lines, as they would stand there */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/sweep/sweep.h"
#include "tests/unit/printed_lines.h"
#include "tests/unit/sweep_folder.h"

static const char *const wanted[] = {
#include "tests/unit/sweep_results.def"
};

static char folder[] = "/tmp/wick-sweep-XXXXXX";

/* Nothing is to outlive this test. */
int fsync(int fd) {
  (void)fd;
  return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Of the points of each model in order: latency 400, 50, 100; array 16, 8; prefetch auto, off. The
 * first three of each have cycles alone; some are alike in cycles, others in memory. */
static const struct {
  int cycles; /* 0: there is no row, or `error` */
  const char *error;
} rows[] = {{9000, NULL}, {9500, NULL}, {9000, NULL}, {20000, NULL},
            {5000, NULL}, {5000, NULL}, {0, "a, \"b\" <c>"}, {12000, NULL},
            {6000, NULL}, {0, NULL},    {13000, NULL}, {13000, NULL}};

static void put_row(const wk_sweep *s, size_t i) {
  const wk_sweep_point *p = &s->points.data[i];
  size_t k = i % WK_COUNTOF(rows);
  json_t *row;
  if (!rows[k].cycles && !rows[k].error) return;
  if (rows[k].error) {
    row = json_pack("{s:s, s:b}", "error", rows[k].error, "died", 1);
  } else {
    row = json_pack("{s:I, s:I, s:I}", "cycles", (json_int_t)rows[k].cycles, "onchip_bytes",
                    (json_int_t)(100000 + 1000 * (k % 4 == 1)), "array_macs",
                    (json_int_t)(p->machine.array * p->machine.array));
    if (k > 2)
      json_object_update_new(row, json_pack("{s:f, s:I, s:I, s:I}", "efficiency",
                                            1000.0 / rows[k].cycles, "bytes_in",
                                            (json_int_t)(k << 9), "bytes_out", (json_int_t)100,
                                            "exposed", (json_int_t)(k * 1111)));
  }
  assert_null(wk_sweep_put_row(s, p, row));
  json_decref(row);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Without what depends on the program: keys, and its version; nor the y axes, which are those of
 * test_plot.c. */
static void add_line(wk_str *b, const char *at, size_t n, const void *sweep) {
  const wk_sweep *s = sweep;
  wk_str line = {0};
  wk_str_addn(&line, at, n);
  for (size_t i = 0; i < s->points.n; i++) {
    char *key = s->points.data[i].refusal ? NULL : strstr(line.s, s->points.data[i].key);
    if (key) memset(key, '0', strlen(s->points.data[i].key));
  }
  bool is_axis = strstr(line.s, "class=\"grid\"") || strstr(line.s, "text-anchor=\"end\"");
  if (strncmp(line.s, " \"wick\"", 7) != 0 && !is_axis) wk_str_add(b, line.s);
  wk_str_free(&line);
}

static void add_file(wk_str *b, const char *name, const wk_sweep *s) {
  add_written(b, folder, name, add_line, s);
}

static void add_sweep(wk_str *b, int models, const char *const *set, size_t n_set,
                      const char *prefetch, bool has_page) {
  const char *paths[] = {relu_model(folder, "relu", 1), relu_model(folder, "relu", 2)};
  const char *sets[4];
  char out[64];
  wk_sweep s;
  const wk_strings given = {paths, (size_t)models, 2};
  snprintf(out, sizeof out, "%s/out", folder);
  memcpy(sets, set, n_set * sizeof *set);
  wk_sweep_opts o = {.output = out, .timeout = 60, .jobs = 1, .machine = models > 1 ? "tiny" : NULL,
                     .settings = WK_SETTINGS({"prefetch", prefetch}), .set = {sets, n_set, 4}};
  assert_null(wk_sweep_open(&o, &wk_cmd_sweep, &o, &given, &s));
  assert_null(wk_sweep_fill(&s));
  assert_null(wk_sweep_prepare(&s));
  for (size_t i = 0; i < s.points.n; i++)
    if (!s.points.data[i].refusal) put_row(&s, i);
  json_t *all = wk_sweep_rows(&s);
  assert_null(wk_sweep_write_table(&s, all));
  assert_null(wk_sweep_write_page(&s, all));
  json_decref(all);
  add_file(b, "points.csv", &s);
  if (has_page) add_file(b, "index.html", &s);
  else add_file(b, "points.json", &s);
  wk_sweep_free(&s);
}

static void add_sweeps(wk_str *b) {
  static const char *const all[] = {"dram_latency=400,50,100", "array=16,8"};
  static const char *const some[] = {"scratchpad=65536,100", "dram_bytes=6.5,4"};
  add_sweep(b, 1, all, 2, "auto,off", true);
  add_sweep(b, 2, some, 2, NULL, false);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void rows_are_written(void **state) {
  (void)state;
  wk_str b = {0};
  add_sweeps(&b);
  expect_lines(&b, wanted, WK_COUNTOF(wanted));
}

static void pages_name_their_model(void **state) {
  (void)state;
  static const char *const said[] = {"1 point by the timing model. ", "1 point by the RTL. ",
                                     "1 point by the schedule model. "};
  for (int model = WK_SWEEP_TIMING; model <= WK_SWEEP_SCHEDULE; model++) {
    const char *paths[] = {relu_model(folder, "relu", 1)}, *sets[] = {"array=8"};
    const wk_strings given = {paths, 1, 1};
    char out[64];
    wk_sweep s;
    wk_str b = {0};
    snprintf(out, sizeof out, "%s/out", folder);
    wk_sweep_opts o = {.output = out, .timeout = 60, .jobs = 1, .set = {sets, 1, 1},
                       .model = model};
    assert_null(wk_sweep_open(&o, &wk_cmd_sweep, &o, &given, &s));
    assert_null(wk_sweep_fill(&s));
    assert_null(wk_sweep_prepare(&s));
    json_t *all = wk_sweep_rows(&s);
    assert_null(wk_sweep_write_page(&s, all));
    add_file(&b, "index.html", &s);
    assert_non_null(strstr(b.s, said[model]));
    json_decref(all);
    wk_str_free(&b);
    wk_sweep_free(&s);
  }
}

static wk_sweep_point *fresh(wk_sweep *s, wk_sweep_point of) {
  s->points.n = 0;
  wk_sweep_add(s, &of);
  return &s->points.data[0];
}

/* Whatever a row depends on is in its key. */
static void keys_tell_points_apart(void **state) {
  (void)state;
  const char *paths[] = {relu_model(folder, "relu", 1), relu_model(folder, "relu", 2)};
  const wk_strings given = {paths, 2, 2};
  char out[64], keys[16][20];
  size_t n = 0;
  wk_sweep s;
  snprintf(out, sizeof out, "%s/out", folder);
  wk_sweep_opts o = {.output = out, .timeout = 60, .jobs = 1};
  assert_null(wk_sweep_open(&o, &wk_cmd_sweep, &o, &given, &s));
  const wk_sweep_point base = {.model = &s.models.data[0], .machine = s.base};
  wk_sweep_point of[12];
  for (size_t i = 0; i < WK_COUNTOF(of); i++) of[i] = base;
  of[1].model = &s.models.data[1];
  of[2].kind = WK_SWEEP_RTL;
  of[3].kind = WK_SWEEP_SCHEDULE;
  of[4].settings = (wk_option_pairs)WK_SETTINGS({"effort", "1"});
  of[5].settings = (wk_option_pairs)WK_SETTINGS({"effort", "2"});
  of[6].settings = (wk_option_pairs)WK_SETTINGS({"prefetch", "off"});
  of[7].settings = (wk_option_pairs)WK_SETTINGS({"without", "fusion"});
  of[8].machine.array /= 2;
  of[9].machine.dram_latency++;
  of[10].machine.dram_bytes.den *= 2;
  of[11].machine.energy_mac.num++;
  for (size_t i = 0; i < WK_COUNTOF(of); i++) strcpy(keys[n++], fresh(&s, of[i])->key);
  o.what_if = true;
  strcpy(keys[n++], fresh(&s, base)->key);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < i; k++)
      if (!strcmp(keys[i], keys[k])) fail_msg("points %zu and %zu have one key", k, i);
  o.what_if = false;
  o.jobs = 3; /* how it is computed does not matter */
  o.timeout = 7;
  assert_string_equal(fresh(&s, base)->key, keys[0]);
  wk_sweep_free(&s);
}

static void remove_folder(void) {
  char command[80];
  snprintf(command, sizeof command, "rm -r %s", folder);
  (void)!system(command);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_written),
                                     cmocka_unit_test(pages_name_their_model),
                                     cmocka_unit_test(keys_tell_points_apart)};
  (void)argv;
  if (!mkdtemp(folder)) return 1;
  atexit(remove_folder);
  if (argc < 2) return cmocka_run_group_tests(tests, NULL, NULL);
  wk_str b = {0};
  add_sweeps(&b);
  return print_lines(&b, "test_sweep_results.c writes");
}
