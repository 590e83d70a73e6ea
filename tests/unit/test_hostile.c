/* SPDX-License-Identifier: Apache-2.0
 * Files that are wrong or costly, written by hand (tests/hostile/cases.def), each with the status
 * that it must get. What the importer accepts must go through the compiler, too. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/onnx/onnx.h"
#include "runtime/wick.h"
#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/targets.h"
#include "tests/hostile/hostile.h"
#include "tests/hostile/model_text.h"
#include "tests/pace.h"

#if defined __SANITIZE_ADDRESS__
#define SECONDS 20.0
#define MEGABYTES 8192
#else
#define SECONDS 1.0
#define MEGABYTES 256
#endif

/* The process' peak from now on is its present size. */
static void forget_peak(void) {
  int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t n = write(fd, "5", 1);
  (void)n;
  close(fd);
}

static long peak_megabytes(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_maxrss >> 10;
}

static const char *code_name(wk_code code) {
  static const char *const names[] = {"OK", "FAILED", "USAGE", "INPUT", "UNSUPPORTED", "IO",
                                      "RESOURCE", "INTERNAL"};
  return code <= WK_INTERNAL ? names[code] : "?";
}

/* ---- the table ------------------------------------------------------------------------------- */

typedef struct {
  const char *name;
  wk_code want;
  const char *text;
} hostile_case;

static const hostile_case cases[] = {
#define CASE(name, status, text) {name, WK_##status, text},
#include "tests/hostile/cases.def"
#undef CASE
};

/* Imports, compiles and runs; returns false and says why when the case misbehaves. */
static bool run_case(const hostile_case *c, const wk_str *model) {
  wk_module *m = NULL;
  feed_run r = {.rng = {wk_hash64(c->name, strlen(c->name), 0)}, .folder = "/tmp", .native = 4};
  forget_peak();
  double began = pace_seconds();
  wk_status s = wk_import_onnx_memory(model->s, model->n, NULL, NULL, &m);
  wk_code code = s ? s->code : WK_OK;
  bool good = code == c->want;
  if (!good)
    print_error("%s: %s, not %s: %s: %s\n", c->name, code_name(code), code_name(c->want),
                s && s->place ? s->place : "", s ? s->message : "");
  if (feed_status(&r, s, "import")) feed_module(&r, m);
  double took = pace_seconds() - began, most = SECONDS * machine_pace();
  if (r.complaint.n) print_error("%s: %s\n", c->name, r.complaint.s);
  if (took > most) print_error("%s: takes %.2f s\n", c->name, took);
  if (peak_megabytes() > MEGABYTES) print_error("%s: takes %ld MiB\n", c->name, peak_megabytes());
  good = good && !r.complaint.n && took <= most && peak_megabytes() <= MEGABYTES;
  wk_str_free(&r.complaint);
  return good;
}

static bool run_text(const char *name, wk_code want, const char *text) {
  const hostile_case c = {name, want, text};
  wk_str model = {0};
  model_text(text, &model);
  bool good = run_case(&c, &model);
  wk_str_free(&model);
  return good;
}

static void hand_written_models(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    bad += !run_text(cases[i].name, cases[i].want, cases[i].text);
  if (bad) fail_msg("%d of %zu cases misbehave", bad, WK_COUNTOF(cases));
}

/* ---- models that a program writes ------------------------------------------------------------ */

static wk_code import_code(const char *text) {
  wk_str model = {0};
  wk_module *m = NULL;
  model_text(text, &model);
  wk_status s = wk_import_onnx_memory(model.s, model.n, NULL, NULL, &m);
  wk_code code = s ? s->code : WK_OK;
  wk_status_free(s);
  wk_module_free(m);
  wk_str_free(&model);
  return code;
}

static void add_nested_ifs(wk_str *b, int depth) {
  wk_str_add(b, "in c bool[]; in x f32[2]; ");
  for (int i = 0; i < depth; i++) wk_str_printf(b, "If c -> y%d {then_branch=(", i);
  wk_str_add(b, "Relu x -> z; out z");
  for (int i = depth; i-- > 0;)
    wk_str_printf(b, ") else_branch=(Exp x -> e; out e)}; out y%d", i);
}

static void nested_branches(void **state) {
  static const struct { int depth; wk_code want; } depths[] = {
      {20, WK_OK}, {60, WK_OK}, {64, WK_RESOURCE}, {500, WK_RESOURCE}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(depths); i++) {
    wk_str b = {0};
    add_nested_ifs(&b, depths[i].depth);
    assert_true(run_text("nested branches", depths[i].want, b.s));
    wk_str_free(&b);
  }
}

/* A body that fits no LOOP is imported twice: once to see that, once per iteration. */
static void nested_unrolled_loops(void **state) {
  (void)state;
  wk_str b = {0};
  wk_str_add(&b, "init n i64[]={200}; in x f32[1]; ");
  for (int i = 0; i < 20; i++) {
    if (i) wk_str_printf(&b, "Loop n,_,v%d", i - 1);
    else wk_str_add(&b, "Loop n,_,x");
    wk_str_printf(&b, " -> y%d {body=(in i%d i64[]; in k%d bool[]; in v%d f32[s]; ", i, i, i, i);
  }
  wk_str_add(&b, "Concat v19,v19 -> w {axis=0}; Identity k19 -> o; out o; out w)}");
  for (int i = 19; i-- > 0;)
    wk_str_printf(&b, "; Identity k%d -> o%d; out o%d; out y%d)}", i, i, i, i + 1);
  wk_str_add(&b, "; out y0");
  assert_true(run_text("nested unrolled loops", WK_RESOURCE, b.s));
  wk_str_free(&b);
}

static void doubling_functions(void **state) {
  (void)state;
  wk_str b = {0};
  for (int i = 0; i < 30; i++)
    wk_str_printf(&b, "fun F%d a -> c (local.F%d a -> b; local.F%d b -> c); ", i, i + 1, i + 1);
  wk_str_add(&b, "fun F30 a -> b (Relu a -> b); in x f32[2]; local.F0 x -> y; out y");
  assert_true(run_text("functions that double", WK_RESOURCE, b.s));
  wk_str_free(&b);
}

/* As many nodes as 64 KiB hold, in shapes that are hard on work lists and tables. */
static void crowds(void **state) {
  static const struct { const char *name, *first, *next, *last; int n; } crowds_of[] = {
      {"a chain", "in x f32[4]; Exp x -> t0; ", "Exp t%1$d -> t%2$d; ", "out t%d", 2000},
      {"products", "in x f32[4,4]; Exp x -> t0; ", "MatMul t%1$d,x -> t%2$d; ", "out t%d", 1500},
      {"maxima", "in x f32[8]; Exp x -> t0; ", "Softmax t%1$d -> t%2$d; ", "out t%d", 1000},
      {"a fan", "in x f32[4]; Exp x -> t0; ", "Exp x -> u%2$d; Add t%1$d,u%2$d -> t%2$d; ",
       "out t%d", 1000},
      {"transposes", "in x f32[4,4]; Exp x -> t0; ", "Transpose t%1$d -> t%2$d; ", "out t%d", 1500},
      {"outputs", "in x f32[4]; Exp x -> t0; ", "Exp t%1$d -> t%2$d; out t%2$d; ", "out t%d", 1200},
      {"branches", "in c bool[]; in x f32[4]; Exp x -> t0; ",
       "If c -> t%2$d {then_branch=(Exp t%1$d -> a; out a) else_branch=(Neg t%1$d -> b; out b)}; ",
       "out t%d", 400},
      {"slices", "in x f32[64]; init a i64[1]={1}; init b i64[1]={60}; Exp x -> t0; ",
       "Slice x,a,b -> s%2$d; Concat t%1$d,s%2$d -> t%2$d {axis=0}; ", "out t%d", 900}};
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(crowds_of); i++) {
    wk_str b = {0};
    wk_str_add(&b, crowds_of[i].first);
    for (int k = 0; k < crowds_of[i].n; k++) {
      char text[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      snprintf(text, sizeof text, crowds_of[i].next, k, k + 1);
      wk_str_add(&b, text);
    }
    char text[64];
    snprintf(text, sizeof text, crowds_of[i].last, crowds_of[i].n);
#pragma GCC diagnostic pop
    wk_str_add(&b, text);
    bad += !run_text(crowds_of[i].name, WK_OK, b.s);
    wk_str_free(&b);
  }
  if (bad) fail_msg("%d crowds misbehave", bad);
}

/* ---- external data --------------------------------------------------------------------------- */

static void put(const char *folder, const char *name, const void *data, size_t n) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_null(wk_write_file(path, data, n));
}

static wk_code import_beside(const char *folder, const char *text) {
  char path[256];
  wk_str model = {0};
  wk_module *m = NULL;
  model_text(text, &model);
  put(folder, "in/model.onnx", model.s, model.n);
  wk_str_free(&model);
  snprintf(path, sizeof path, "%s/in/model.onnx", folder);
  wk_status s = wk_import_onnx(path, NULL, NULL, &m);
  wk_code code = s ? s->code : WK_OK;
  wk_status_free(s);
  wk_module_free(m);
  return code;
}

static void at(const char *folder, const char *name, char out[256]) {
  snprintf(out, 256, "%s/%s", folder, name);
}

/* in/data.bin is good; everything else leads out of the folder or is no plain file. */
static void lay_out(const char *folder) {
  static const float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  char from[256], to[256];
  at(folder, "in", to);
  assert_int_equal(mkdir(to, 0700), 0);
  at(folder, "in/sub", to);
  assert_int_equal(mkdir(to, 0700), 0);
  put(folder, "secret.bin", data, sizeof data);
  put(folder, "in/data.bin", data, sizeof data);
  put(folder, "in/sub/data.bin", data, sizeof data);
  at(folder, "secret.bin", from);
  at(folder, "in/link.bin", to);
  assert_int_equal(symlink(from, to), 0);
  at(folder, "in/inner.bin", to);
  assert_int_equal(symlink("data.bin", to), 0);
  at(folder, "in/sub/back.bin", to);
  assert_int_equal(symlink("../data.bin", to), 0);
  at(folder, "in/round.bin", to);
  assert_int_equal(symlink("round.bin", to), 0);
  at(folder, "in/data.bin", from);
  at(folder, "in/whole.bin", to);
  assert_int_equal(symlink(from, to), 0);
  at(folder, "secret.bin", from);
  at(folder, "in/hard.bin", to);
  assert_int_equal(link(from, to), 0);
  at(folder, "in/out", to);
  assert_int_equal(symlink("..", to), 0);
  at(folder, "in/fifo", to);
  assert_int_equal(mkfifo(to, 0600), 0);
}

static void external_data(void **state) {
  static const struct { const char *where; wk_code want; } places[] = {
      {"\"data.bin\" 0 16", WK_OK},
      {"\"data.bin\" 16 16", WK_OK},
      {"\"sub/data.bin\"", WK_OK}, /* the first 16 of 32 bytes */
      {"\"sub/data.bin\" 4 16", WK_OK},
      {"\"data.bin\" 20 16", WK_INPUT},
      {"\"data.bin\" 0 15", WK_INPUT},
      {"\"data.bin\" -16 16", WK_INPUT},
      {"\"data.bin\" 16 -16", WK_INPUT},
      {"\"data.bin\" 9223372036854775807 16", WK_INPUT},
      {"\"data.bin\" 18446744073709551600 16", WK_INPUT},
      {"\"data.bin\" 16 9223372036854775807", WK_INPUT},
      {"\"../secret.bin\" 0 16", WK_INPUT},
      {"\"sub/../../secret.bin\" 0 16", WK_INPUT},
      {"\"/etc/passwd\" 0 16", WK_INPUT},
      {"\"link.bin\" 0 16", WK_INPUT},
      {"\"inner.bin\" 0 16", WK_OK},
      {"\"sub/back.bin\" 0 16", WK_OK},   /* leads up, and stays */
      {"\"whole.bin\" 0 16", WK_OK},      /* absolute, and stays */
      {"\"round.bin\" 0 16", WK_INPUT},
      {"\"hard.bin\" 0 16", WK_INPUT},
      {"\"out/secret.bin\" 0 16", WK_INPUT},
      {"\"\" 0 16", WK_INPUT},
      {"\".\" 0 16", WK_IO},
      {"\"sub\" 0 16", WK_IO},
      {"\"fifo\" 0 16", WK_IO},
      {"\"missing.bin\" 0 16", WK_IO}};
  char folder[] = "/tmp/hostile-XXXXXX", command[64];
  int bad = 0;
  (void)state;
  assert_non_null(mkdtemp(folder));
  lay_out(folder);
  for (size_t i = 0; i < WK_COUNTOF(places); i++) {
    char text[256];
    snprintf(text, sizeof text, "init w f32[4]=external %s; Relu w -> y; out y", places[i].where);
    wk_code code = import_beside(folder, text);
    if (code == places[i].want) continue;
    print_error("%s: %s, not %s\n", places[i].where, code_name(code), code_name(places[i].want));
    bad++;
  }
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
  assert_int_equal(import_code("init w f32[4]=external \"data.bin\" 0 16; Relu w -> y; out y"),
                   WK_INPUT);
  if (bad) fail_msg("%d places misbehave", bad);
}

/* ---- run time -------------------------------------------------------------------------------- */

typedef struct {
  wick_model *model;
  wick_session *session;
} loaded;

static loaded compile_native(const char *text) {
  static const wk_emit_options emit = {.model_name = "hostile", .command = ""};
  char path[] = "/tmp/hostile-XXXXXX";
  wk_pipeline_report report;
  wk_module *m;
  wk_targets t;
  wk_emit_entry entry = {"", NULL};
  wk_emit_result result = {0};
  loaded l;
  wk_str model = {0};
  model_text(text, &model);
  assert_null(wk_import_onnx_memory(model.s, model.n, NULL, NULL, &m));
  wk_str_free(&model);
  assert_null(wk_targets_open(&(wk_target_args){0}, &t));
  assert_null(wk_pipeline_run(m, &(wk_pipeline_options){.targets = &t}, &report, &entry.parts));
  wk_pipeline_report_free(&report);
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_null(wk_emit_package(&t, &entry, 1, &emit, path, &result));
  wk_parts_free(entry.parts);
  wk_targets_close(&t);
  wk_module_free(m);
  assert_int_equal(wick_model_load(path, NULL, &l.model), WICK_OK);
  unlink(path);
  assert_int_equal(wick_session_create(l.model, 0, 2, &l.session), WICK_OK);
  return l;
}

/* Whatever index comes from the caller: an error or a result, and the session works on. */
static void indices_at_run_time(void **state) {
  static const char *const texts[] = {
      "in i i64[4]; in x f32[4,3]; Gather x,i -> y; out y",
      "in i i64[4]; in x f32[4]; GatherElements x,i -> y; out y",
      "in i i64[4,1]; in x f32[4,3]; GatherND x,i -> y; out y",
      "in i i64[4]; in x f32[4]; in u f32[4]; ScatterElements x,i,u -> y; out y",
      "in i i64[4,1]; in x f32[4]; in u f32[4]; ScatterND x,i,u -> y; out y"};
  static const int64_t outside[] = {4, -5, INT64_MAX, INT64_MIN, 1 << 20};
  float x[12] = {1, 2, 3, 4}, u[4] = {0}, y[12];
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(texts); k++) {
    loaded l = compile_native(texts[k]);
    for (size_t i = 0; i < WK_COUNTOF(outside); i++) {
      int64_t good[4] = {0, 3, -1, 2}, bad[4] = {0, 1, outside[i], 2};
      const void *good_in[] = {good, x, u}, *bad_in[] = {bad, x, u};
      void *out[] = {y};
      assert_int_equal(wick_session_run(l.session, bad_in, out), WICK_RUN_FAILED);
      const char *why = wick_session_error(l.session); /* the node, its step, what is wrong */
      assert_non_null(strstr(why, "_y ("));
      assert_non_null(strstr(why, " of "));
      wk_str says = {0}; /* the evaluator's words */
      wk_str_printf(&says, "): index %lld is outside axis 0 of size 4", (long long)outside[i]);
      assert_non_null(strstr(why, says.s));
      wk_str_free(&says);
      assert_int_equal(wick_session_run(l.session, good_in, out), WICK_OK);
    }
    wick_session_free(l.session);
    wick_model_free(l.model);
  }
}

/* Lengths are checked by an index that is not theirs. */
static void lengths_at_run_time(void **state) {
  static const char *const texts[] = {
      "in i i64[4]; in x f32[3,4]; ReverseSequence x,i -> y; out y",
      "in i i32[2]; in x f32[3,2,1]; init w f32[1,4,1]; init r f32[1,4,1]; "
      "LSTM x,w,r,_,i -> y {hidden_size=1}; out y"};
  float x[12] = {0}, y[12];
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(texts); k++) {
    loaded l = compile_native(texts[k]);
    int64_t wide[4] = {3, 3, 9, 3};
    int32_t narrow[2] = {3, 9};
    const void *in[] = {k ? (void *)narrow : (void *)wide, x};
    void *out[] = {y};
    assert_int_equal(wick_session_run(l.session, in, out), WICK_RUN_FAILED);
    assert_non_null(strstr(wick_session_error(l.session), "): an index is out of range"));
    wick_session_free(l.session);
    wick_model_free(l.model);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hand_written_models), cmocka_unit_test(nested_branches),
      cmocka_unit_test(nested_unrolled_loops), cmocka_unit_test(doubling_functions),
      cmocka_unit_test(crowds), cmocka_unit_test(external_data),
      cmocka_unit_test(indices_at_run_time), cmocka_unit_test(lengths_at_run_time)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
