/* SPDX-License-Identifier: Apache-2.0 */
/* The files of `wick sweep`, `wick explore` and `wick train`, whole, made of figures that are
 * written down here: ties, gaps, machines that fail, one axis and many, more values than colours.
 * Of a file its lines, its marks and a checksum are kept; with WICK_PAGES=DIR in the environment
 * the files are put there, to be looked at. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/fit/train.h"
#include "cli/sweep/explore.h"

typedef struct {
  const char *name;
  int lines, marks; /* circles of diagrams */
  uint64_t hash;
} page;

static int count(const char *text, const char *what) {
  int n = 0;
  for (const char *p = text; (p = strstr(p, what)); p += strlen(what)) n++;
  return n;
}

/* Takes out the lines with what depends on the version and on the keys of machines. */
static void strip(wk_str *b) {
  wk_str kept = {0};
  wk_str_add(&kept, "");
  for (const char *p = b->s; *p;) {
    size_t n = strcspn(p, "\n") + 1;
    char *line = strndup(p, n);
    if (!strstr(line, "\"wick\":") && !strstr(line, "machines/")) wk_str_addn(&kept, p, n);
    free(line);
    p += strlen(p) < n ? strlen(p) : n;
  }
  wk_str_free(b);
  *b = kept;
}

static bool is_wrong; /* some page: all are looked at */

static void check_page(wk_str *b, const page *want) {
  const char *folder = getenv("WICK_PAGES");
  if (folder) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, want->name);
    assert_null(wk_write_file(path, b->s, b->n));
  }
  strip(b);
  uint64_t hash = wk_hash64(b->s, b->n, 0);
  int lines = count(b->s, "\n"), marks = count(b->s, "<circle");
  if (lines != want->lines || marks != want->marks || hash != want->hash) {
    print_error("{\"%s\", %d, %d, 0x%016llx},\n", want->name, lines, marks,
                (unsigned long long)hash);
    is_wrong = true;
  }
  assert_null(strstr(b->s, "nan"));
  assert_null(strstr(b->s, "inf"));
  wk_str_free(b);
}

static void check_file(const char *folder, const char *file, const page *want) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  wk_file f;
  assert_null(wk_file_map(path, &f));
  wk_str b = {0};
  wk_str_addn(&b, (const char *)f.data, f.size);
  wk_file_unmap(&f);
  check_page(&b, want);
}

static int make_folder(void **state) {
  char name[] = "/tmp/wick-pages-XXXXXX";
  is_wrong = false;
  return mkdtemp(name) && (*state = strdup(name)) ? 0 : -1;
}

static int remove_folder(void **state) {
  char *command;
  if (asprintf(&command, "rm -rf '%s'", (char *)*state) < 0) return -1;
  int rc = system(command);
  free(command);
  free(*state);
  return rc;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

static const wk_machine_key some_key;

typedef struct {
  const char *name, *machine;
  const char *models[3];
  struct {
    const char *name;
    bool is_setting;
    const char *values[12];
  } axes[4];
  int failing; /* every so many points one fails; 1: all do, 0: none */
  bool is_bare; /* rows have no energy and no memory on the chip */
  page page, csv, json;
} sweep_case;

static const sweep_case sweeps[] = {
    {"two models, keys out of order, a setting", "tiny", {"a<b", "second"},
     {{"dram_latency", false, {"400", "50", "100.5"}}, {"bus", false, {"32"}},
      {"effort", true, {"2", "0"}}},
     5, false,
     {"sweep-two.html", 1057, 94, 0x27fd18f3b4e3fa8a},
     {"sweep-two.csv", 13, 0, 0x4da5b7853d36a94b},
     {"sweep-two.json", 188, 0, 0x9a94508a89502a9f}},
    {"more values than colours", NULL, {"net"},
     {{"scratchpad", false, {"1000", "900", "800", "700", "600", "500", "400", "300", "200",
                             "100"}},
      {"banks", false, {"9", "8", "7", "6", "5", "4", "3", "2", "1"}}},
     0, false,
     {"sweep-many.html", 3336, 750, 0xb109daaf8cf5c68f},
     {"sweep-many.csv", 91, 0, 0x4b7c5647bb9e441c},
     {"sweep-many.json", 1273, 0, 0xaa421213193b1fc8}},
    {"one point", "base", {"net"}, {{"array", false, {"16"}}}, 0, true,
     {"sweep-one.html", 28, 0, 0x95f96913f8a8f4e6},
     {"sweep-one.csv", 2, 0, 0x439b3116d42b0ffb},
     {"sweep-one.json", 22, 0, 0xd0277879a0076d4a}},
    {"all fail", NULL, {"net"}, {{"array", false, {"16", "8"}}, {"bus", false, {"4", "2"}}}, 1,
     false,
     {"sweep-none.html", 31, 0, 0xecc2e20330dd122e},
     {"sweep-none.csv", 5, 0, 0x4fb380fbeefdd798},
     {"sweep-none.json", 44, 0, 0x1389b548fc2cc033}},
};

/* Figures with ties in each of what fronts are made of. */
static json_t *row_of(const sweep_case *c, const wk_sweep *s, size_t i) {
  const wk_sweep_point *p = &s->points.data[i];
  json_t *row = json_object();
  json_object_set_new(row, "model", json_string(p->model->name));
  for (size_t k = 0; k < s->axes.n; k++)
    json_object_set_new(row, s->axes.data[k].name, json_string(p->values[k]));
  if (c->failing && i % (size_t)c->failing == (size_t)c->failing - 1) {
    json_object_set_new(row, "error", json_string("too \"small\", <by far>"));
    return row;
  }
  json_int_t n = (json_int_t)i;
  json_object_set_new(row, "cycles", json_integer(1000 * (1 + n * 7 % 5) + n % 2));
  json_object_set_new(row, "exposed", json_integer(n * 1234567));
  json_object_set_new(row, "utilisation", json_real(0.125 * (double)(n % 8)));
  json_object_set_new(row, "efficiency", n % 3 ? json_real(1.0 / (double)(n + 1)) : json_null());
  json_object_set_new(row, "bytes_in", json_integer(n << (n % 24)));
  json_object_set_new(row, "bytes_out", json_integer(5 * n + 1));
  if (c->is_bare) return row;
  json_object_set_new(row, "onchip_bytes", json_integer(4096 << (n * 5 % 7)));
  json_object_set_new(row, "array_macs", json_integer(64 << (n * 3 % 4)));
  if (i % 4 != 2) json_object_set_new(row, "energy", json_real(1e6 * (double)(n + 1)));
  return row;
}

static void fill_axes(wk_sweep *s, const sweep_case *c) {
  for (size_t k = 0; k < WK_COUNTOF(c->axes) && c->axes[k].name; k++) {
    wk_sweep_axis axis = {.name = c->axes[k].name,
                          .key = c->axes[k].is_setting ? NULL : &some_key};
    for (int v = 0; v < 12 && c->axes[k].values[v]; v++)
      wk_vec_push(&axis.values, c->axes[k].values[v]);
    wk_vec_push(&s->axes, axis);
  }
  for (int m = 0; m < 3 && c->models[m]; m++) {
    const wk_sweep_model model = {.name = c->models[m], .path = "/there"};
    wk_vec_push(&s->models, model);
  }
}

static void fill_points(wk_sweep *s) {
  size_t n = 1;
  for (size_t k = 0; k < s->axes.n; k++) n *= s->axes.data[k].values.n;
  for (size_t i = 0; i < n * s->models.n; i++) {
    wk_sweep_point p = {.model = &s->models.data[i / n]};
    p.values = wk_arena_alloc(s->arena, s->axes.n * sizeof *p.values);
    for (size_t k = s->axes.n, rest = i % n; k-- > 0; rest /= s->axes.data[k].values.n)
      p.values[k] = s->axes.data[k].values.data[rest % s->axes.data[k].values.n];
    wk_vec_push(&s->points, p);
  }
}

static void free_sweep(wk_sweep *s) {
  for (size_t k = 0; k < s->axes.n; k++) wk_vec_free(&s->axes.data[k].values);
  wk_vec_free(&s->axes);
  wk_vec_free(&s->models);
  wk_vec_free(&s->points);
  wk_arena_free(s->arena);
}

static void files_of_sweeps(void **state) {
  for (size_t i = 0; i < WK_COUNTOF(sweeps); i++) {
    const sweep_case *c = &sweeps[i];
    const wk_sweep_opts o = {.machine = c->machine};
    wk_sweep s = {.o = &o, .dir = *state, .arena = wk_arena_new()};
    fill_axes(&s, c);
    fill_points(&s);
    json_t *rows = json_array();
    for (size_t p = 0; p < s.points.n; p++) json_array_append_new(rows, row_of(c, &s, p));
    assert_null(wk_sweep_write_table(&s, rows));
    assert_null(wk_sweep_write_page(&s, rows));
    check_file(*state, "index.html", &c->page);
    check_file(*state, "points.csv", &c->csv);
    check_file(*state, "points.json", &c->json);
    json_decref(rows);
    free_sweep(&s);
  }
  assert_false(is_wrong);
}

/* ---- searches -------------------------------------------------------------------------------- */

typedef struct {
  double area, times, energy;
  int rung;
  bool is_front;
  const char *error, *rtl_error;
  uint64_t rtl; /* cycles of the first model */
} tried;

typedef struct {
  const char *name;
  const char *models[3];
  double area_limit;
  tried reference, all[8];
  page json, page, svg;
} explore_case;

static const explore_case searches[] = {
    {"all kinds of machines", {"cnn", "a & b"}, 2.5,
     {1.5, 1, 4e6, 2, false, NULL, NULL, 0},
     {{1, 1.75, 3e6, 2, true, NULL, NULL, 1000},
      {2, 0.75, 5e6, 2, true, NULL, NULL, 0},
      {2, 0.75, 5e6, 2, false, NULL, "verilator <failed>", 900},
      {3, 0.5, NAN, 1, false, NULL, NULL, 0},
      {0.5, 4, NAN, 0, false, NULL, NULL, 0},
      {0.25, NAN, NAN, 1, false, "65536 (dram_size) \"is\" too small", NULL, 0},
      {1.25, 1.75, 2e6, 2, false, NULL, NULL, 1100},
      {4, 0.25, 9e6, 2, true, NULL, NULL, 0}},
     {"explore-all.json", 283, 0, 0x8b363b1530f8a8ae},
     {"explore-all.html", 96, 8, 0x69b517347cff47d6},
     {"explore-all.svg", 68, 8, 0x62f06e3d19040eda}},
    {"the reference alone runs", {"net"}, INFINITY,
     {1, 1, NAN, 2, false, NULL, NULL, 0},
     {{1, NAN, NAN, 0, false, "no", NULL, 0}},
     {"explore-one.json", 94, 0, 0xe150f7edc747afa5},
     {"explore-one.html", 67, 1, 0xbd45142f9af0f3ca},
     {"explore-one.svg", 49, 1, 0x4e366673d0ed0df4}},
};

static wk_candidate *candidate_of(wk_explore *e, const tried *t, size_t at) {
  wk_arena *a = e->sweep.arena;
  size_t n = e->sweep.models.n;
  wk_candidate *c = wk_arena_alloc(a, sizeof *c);
  *c = (wk_candidate){.machine = e->sweep.base, .area = t->area, .times = t->times,
                      .energy = t->energy, .rung = t->rung, .is_front = t->is_front,
                      .error = t->error, .rtl_error = t->rtl_error};
  c->onchip = (int64_t)(t->area * 100000);
  c->values = wk_arena_alloc(a, e->sweep.axes.n * sizeof *c->values);
  for (size_t k = 0; k < e->sweep.axes.n; k++)
    c->values[k] = e->sweep.axes.data[k].values.data[(at >> k) % e->sweep.axes.data[k].values.n];
  c->predicted = wk_arena_alloc(a, n * sizeof *c->predicted);
  c->cycles = wk_arena_alloc(a, n * sizeof *c->cycles);
  c->rtl = wk_arena_alloc(a, n * sizeof *c->rtl);
  for (size_t m = 0; m < n && !t->error; m++) {
    c->predicted[m] = 1000 * (at + 1) + m;
    c->cycles[m] = t->rung == 2 ? 1010 * (at + 1) + m : 0;
    c->rtl[m] = m ? t->rtl / 2 : t->rtl;
  }
  return c;
}

static void files_of_searches(void **state) {
  for (size_t i = 0; i < WK_COUNTOF(searches); i++) {
    const explore_case *c = &searches[i];
    const wk_explore_opts o = {.budget = 40, .seed = 7, .effort = "2"};
    wk_explore e = {.o = &o,
                    .sweep = {.o = &o.sweep, .dir = *state, .arena = wk_arena_new()},
                    .limits = {c->area_limit, INFINITY, INFINITY},
                    .size = 1944, .impossible = 12, .excluded = 345};
    assert_null(wk_machine_read("tiny", &e.sweep.base));
    const sweep_case axes = {
        .models = {c->models[0], c->models[1]},
        .axes = {{"array", false, {"8", "16", "32"}}, {"dram_bytes", false, {"4.0", "6.5"}}}};
    fill_axes(&e.sweep, &axes);
    const wk_explore_place place = {0};
    for (int k = 0; k < 11; k++) wk_vec_push(&e.places, place);
    e.reference = candidate_of(&e, &c->reference, 0);
    for (size_t k = 0; k < WK_COUNTOF(c->all) && c->all[k].area > 0; k++)
      wk_vec_push(&e.tried, candidate_of(&e, &c->all[k], k + 1));
    assert_null(wk_explore_write(&e));
    assert_null(wk_explore_write_page(&e));
    check_file(*state, "explore.json", &c->json);
    check_file(*state, "index.html", &c->page);
    check_file(*state, "front.svg", &c->svg);
    if (i == 0) { /* the worse of two models; of machines that ran on the RTL */
      assert_float_equal(wk_candidate_error(&e, e.tried.data[0]), 300.2, 1e-9);
      assert_true(isnan(wk_candidate_error(&e, e.tried.data[1])));
      assert_float_equal(wk_candidate_error(&e, e.tried.data[6]),
                         100 * (8001.0 / 550 - 1), 1e-9);
      assert_string_equal(wk_candidate_text(&e, e.tried.data[0]), "array = 16");
      assert_string_equal(wk_candidate_text(&e, e.tried.data[2]), "dram_bytes = 6.5");
      assert_string_equal(wk_candidate_text(&e, e.tried.data[1]), "array = 32, dram_bytes = 6.5");
      assert_string_equal(wk_candidate_text(&e, e.reference), "tiny");
    }
    wk_vec_free(&e.places);
    wk_vec_free(&e.tried);
    free_sweep(&e.sweep);
  }
  assert_false(is_wrong);
}

/* ---- training -------------------------------------------------------------------------------- */

static const struct {
  const char *metric;
  int64_t epochs, done; /* epochs in all, and so far */
  int steps;
  page page;
} histories[] = {
    {"accuracy", 1, 1, 0, {"train-1.html", 77, 4, 0xa81d4bf33065800f}},
    {"accuracy", 2, 2, 1, {"train-2.html", 147, 10, 0x1d9db491bcc33c7d}},
    {"", 10, 10, 2, {"train-10.html", 139, 21, 0x485e09b2652ffc91}},
    {"", 11, 7, 10, {"train-11.html", 168, 30, 0x688369b2f010df38}},
    {"a<b", 25, 25, 21, {"train-25.html", 299, 120, 0x71f31ce6e7cc9485}},
    {"", 3, 3, 1000, {"train-steps.html", 1856, 1720, 0xa7e274faac3cbf9c}},
    {"", 3, 3, 1001, {"train-more.html", 1000, 864, 0x545035fc62f2c482}},
};

static void pages_of_training(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(histories); i++) {
    wk_history h = {.metric = histories[i].metric, .epochs = histories[i].epochs, .per_epoch = 4,
                    .has_steps = histories[i].steps > 0};
    for (int64_t k = 1; k <= histories[i].done; k++) {
      double x = 1.0 / (double)k;
      const wk_epoch e = {k, 4 * k, 0.01 * x, 3 * x, 1 - x / 2, k % 3 ? 3.5 * x : NAN,
                          k % 3 ? 1 - x : NAN, 0.5, 100};
      wk_vec_push(&h.rows, e);
    }
    for (int k = 0; k < histories[i].steps; k++) {
      const wk_step_figures f = {0.01, k % 7 == 5 ? NAN : 2.5 / (k + 1), 0.5,
                                 k % 7 == 6 ? INFINITY : 0.125 * k};
      wk_vec_push(&h.steps, f);
    }
    wk_str b = {0};
    wk_history_page(&b, &h);
    check_page(&b, &histories[i].page);
    wk_vec_free(&h.rows);
    wk_vec_free(&h.steps);
  }
  assert_false(is_wrong);
}

static const struct {
  const char *metric;
  int64_t epochs;
  wk_epoch e;
  const char *line;
} lines[] = {
    {"", 1, {1, 3, 0, 0.125, 0, NAN, NAN, 2, 96}, "epoch 1/1: loss 0.125; 48 samples/s\n"},
    {"", 10, {9, 3, 0, 1.0 / 3, 0, NAN, NAN, 0.001, 96},
     "epoch  9/10: loss 0.333333; 96.0 k samples/s, 1.00 ms left\n"},
    {"", 10, {10, 3, 0, 1e-7, 0, 0.5, NAN, 0, 96},
     "epoch 10/10: loss 1e-07; held out: loss 0.5; 0 samples/s\n"},
    {"accuracy", 100, {98, 3, 0, 12345678, 0.98765, 0.5, 2.0 / 3, 60, 96},
     "epoch  98/100: loss 1.23457e+07, accuracy 0.9877; held out: loss 0.5, accuracy 0.6667; "
     "1 samples/s, 120 s left\n"},
};

static void lines_of_training(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(lines); i++) {
    const wk_history h = {.metric = lines[i].metric, .epochs = lines[i].epochs};
    char text[300] = {0};
    FILE *f = fmemopen(text, sizeof text, "w");
    wk_history_line(f, &h, &lines[i].e);
    fclose(f);
    assert_string_equal(text, lines[i].line);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(files_of_sweeps, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(files_of_searches, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(pages_of_training, make_folder, remove_folder),
      cmocka_unit_test(lines_of_training),
  };
  return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
