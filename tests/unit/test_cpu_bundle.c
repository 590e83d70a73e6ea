/* SPDX-License-Identifier: Apache-2.0
 * Bundles of the CPU target as files: what the header says of shapes, states and labels, how parts
 * are told apart, what the file of weights holds, and the names of all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/targets.h"
#include "compiler/pipeline/pipeline.h"
#include "targets/cpu/simd.h"

enum { MAX_PARTS = 2 };

static char folder[32]; /* where the tests work */

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/wick-bundle-XXXXXX");
  return mkdtemp(folder) && !chdir(folder) && !mkdir("dir.d", 0700) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static void must(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

static void expect_error(wk_status s, const char *place, const char *message) {
  assert_non_null(s);
  assert_int_equal(s->code, WK_USAGE);
  if (place) assert_string_equal(s->place, place);
  else assert_null(s->place);
  assert_string_equal(s->message, message);
  wk_status_free(s);
}

static const wk_target_output *output_of(const wk_instance *t, const char *name) {
  const wk_target_output *o = t->target->outputs;
  while (strcmp(o->name, name) != 0) o++;
  return o;
}

/* Some parts, of a text each, as an output. */
static wk_emit_result emit(const char *output, const char *const *texts, const char *const *names,
                           const char *command, const char *to) {
  wk_targets t;
  wk_emit_entry entries[MAX_PARTS];
  wk_module *modules[MAX_PARTS];
  wk_emit_options o = {.model_name = "made", .command = command};
  wk_emit_result result = {.scratch_bytes = -1};
  size_t n = 0;
  must(wk_targets_open(&(wk_target_args){.cpu = "x86-64"}, &t));
  for (; n < MAX_PARTS && texts[n]; n++) {
    wk_pipeline_report report;
    must(wk_module_parse(texts[n], "text", &modules[n]));
    must(wk_pipeline_run(modules[n], &(wk_pipeline_options){.targets = &t}, &report,
                         &entries[n].parts));
    entries[n].name = names[n];
    wk_pipeline_report_free(&report);
  }
  must(wk_emit_output(output_of(t.list[0], output), t.list[0], entries, n, &o, to, &result));
  while (n-- > 0) {
    wk_parts_free(entries[n].parts);
    wk_module_free(modules[n]);
  }
  wk_targets_close(&t);
  return result;
}

static char *read_text(const char *name) {
  wk_file f;
  must(wk_file_map(name, &f));
  char *text = strndup((const char *)f.data, f.size);
  wk_file_unmap(&f);
  return text;
}

/* Fails unless text holds `want`. */
static void expect_text(const char *text, const char *want) {
  if (!strstr(text, want)) fail_msg("there is no\n%s\nin\n%s", want, text);
}

/* ---- headers --------------------------------------------------------------------------------- */

#define TENSOR(name, public, dtype, rank, dims, count, bytes)                                     \
  "#define " name "_NAME \"" public "\"\n#define " name "_DTYPE " dtype "\n#define " name          \
  "_RANK " rank "\n#define " name "_DIMS {" dims "}\n#define " name "_COUNT " count "\n#define "   \
  name "_BYTES " bytes "\n"
#define F32 "1 /* f32 */"
#define I64 "8 /* i64 */"

/* Names that would end a comment or a string, begin a trigraph or a new line; labels that do. */
static void one_part(void **state) {
  (void)state;
  static const char *const texts[MAX_PARTS] = {
      "module \"m\" { graph @main(%\"a\\\"b?*/\\\\*c/\xc3\xa4\": f32[2,3], %n: i64[]) {\n"
      "  %k = constant f32[2,3] {1,2,3,4,5,6}\n"
      "  %y = map(%\"a\\\"b?*/\\\\*c/\xc3\xa4\", %k) {body=\"add(%0, %1)\"}\n"
      "  %z = arg_max(%y) {axis=1, keepdims=0}\n"
      "  output %y columns {\"a\\\"b\", \"c?\\\\\", \"\xc3\xa4~ \"}\n"
      "  output %n\n  output %z elements {\"p\", \"q\", \"r\"}\n}}"};
  static const char *const names[MAX_PARTS] = {"batch=1"};
  emit("bundle", texts, names, "*/ \"?\n", "net-1.o");
  char *text = read_text("net-1.h");
  expect_text(text, "/* net_1, compiled by wick for x86-64 (_/ ___).\n"
                    " *   weights  contents of net_1.weights, aligned to 64 bytes\n");
  expect_text(text, "any contents; one per run\n *            at a time\n"
                    " * Functions return NET_1_OK or a code below.");
  expect_text(text, "#ifndef NET_1_BUNDLE_H\n#define NET_1_BUNDLE_H\n\n#include <stdint.h>\n\n"
                    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n#define NET_1_ABI_VERSION 4\n");
  expect_text(text, "#define NET_1_WEIGHTS_BYTES 48\n#define NET_1_WEIGHTS_ALIGN 64\n");
  expect_text(text, "#define NET_1_OK 0\n#define NET_1_BAD_INPUT 1 ");
  expect_text(text, "#define NET_1_BAD_WEIGHTS 2 ");
  expect_text(text, "#define NET_1_BAD_CPU 3 ");
  expect_text(text, "#define NET_1_CPU_FEATURES \"sse2\"\n");
  expect_text(text, "int net_1_check(const void *weights);\n");
  expect_text(text, "  void *state;          /* NULL */\n");
  expect_text(
      text,
      "\n} net_1_exec;\n\n/* ---- m ---- */\n\n#define NET_1_INPUTS 2\n"
      TENSOR("NET_1_INPUT_0", "a_b__/_*c/__", F32, "2", "2, 3", "6", "24")
      TENSOR("NET_1_INPUT_1", "n", I64, "0", "1", "1", "8")
      "\n#define NET_1_OUTPUTS 3\n"
      TENSOR("NET_1_OUTPUT_0", "y", F32, "2", "2, 3", "6", "24")
      TENSOR("NET_1_OUTPUT_1", "n", I64, "0", "1", "1", "8")
      TENSOR("NET_1_OUTPUT_2", "z", I64, "1", "2", "2", "16")
      "\n#define NET_1_OUTPUT_0_LABELS_COUNT 3 /* what positions along its last axis stand for */\n"
      "#define NET_1_OUTPUT_0_LABELS {\"a\\042b\", \"c\\077\\134\", \"\\303\\244~ \"}\n"
      "#define NET_1_OUTPUT_2_LABELS_COUNT 3 /* what its elements stand for */\n"
      "#define NET_1_OUTPUT_2_LABELS {\"p\", \"q\", \"r\"}\n"
      "\n#define NET_1_ARENA_ALIGN 64\n"
      "#define NET_1_SCRATCH_BYTES 0 /* of each thread */\n"
      "#define NET_1_ARENA_BYTES 0 /* for net_1_run, scratch of one thread included */\n\n"
      "int net_1_run(const void *weights, const void *const *inputs, void *const *outputs,\n"
      "    void *arena);\n"
      "int net_1_run_with(net_1_exec *exec, const void *weights, const void *const *inputs,\n"
      "    void *const *outputs, void *arena);\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
  free(text);
}

#define PLAIN(outputs)                                                                             \
  "module \"\" { graph @main(%x: f32[4]) {\n  %y = map(%x) {body=\"exp(%0)\"}\n" outputs "}}"

/* Without labels nothing is said of them; parts that are called something have that behind their
 * names, others a number. */
static void names_of_parts(void **state) {
  (void)state;
  static const struct {
    const char *names[MAX_PARTS], *suffix[MAX_PARTS];
  } cases[] = {{{"train", "eval_2"}, {"train", "eval_2"}},
               {{"a", "b=1"}, {"1", "2"}},
               {{"a", "2b"}, {"1", "2"}},
               {{"a", "_b"}, {"1", "2"}},
               {{"a", ""}, {"1", "2"}},
               {{"n=1", "n=2"}, {"1", "2"}}};
  static const char *const texts[MAX_PARTS] = {PLAIN("output %y\n"), PLAIN("output %y\n")};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    emit("bundle", texts, cases[i].names, NULL, "two.bundle");
    char *text = read_text("two.h");
    expect_text(text, "/* two, compiled by wick for x86-64.\n");
    for (int k = 0; k < MAX_PARTS; k++) {
      char want[200], macro[8];
      for (int c = 0; c < 8; c++) {
        char at = strlen(cases[i].suffix[k]) > (size_t)c ? cases[i].suffix[k][c] : 0;
        macro[c] = at >= 'a' && at <= 'z' ? (char)(at - 32) : at;
      }
      snprintf(want, sizeof want,
               "/* ---- two ---- */\n\n#define TWO_%s_INPUTS 1\n#define TWO_%s_INPUT_0_NAME \"x\"",
               macro, macro);
      expect_text(text, want);
      snprintf(want, sizeof want, "_BYTES 16\n\n#define TWO_%s_ARENA_ALIGN 64\n", macro);
      expect_text(text, want);
      snprintf(want, sizeof want, "int two_run_%s(const void *weights", cases[i].suffix[k]);
      expect_text(text, want);
      snprintf(want, sizeof want, "int two_run_with_%s(two_exec *exec", cases[i].suffix[k]);
      expect_text(text, want);
    }
    assert_null(strstr(text, "LABELS"));
    free(text);
  }
}

/* The part that keeps nothing gets none; what variables are at first lies behind the constants. */
static void state_behind_weights(void **state) {
  (void)state;
  static const char *const texts[MAX_PARTS] = {
      "module \"\" { graph @main(%x: f32[3]) {\n"
      "  variable public %n: i64[] = {7}\n  variable %sum: f32[3] = {0.5, 1, 2}\n"
      "  %one = constant i64[] {1}\n  %k = constant f32[3] {4, 5, 6}\n"
      "  %m = map(%n, %one) {body=\"add(%0, %1)\"}\n"
      "  %y = map(%x, %sum, %k) {body=\"add(%0, mul(%1, %2))\"}\n"
      "  output %m\n  update %n = %m\n  update %sum = %y\n}}",
      PLAIN("output %y\n")};
  static const char *const names[MAX_PARTS] = {"learn", "infer"};
  emit("bundle", texts, names, "", "net");
  char *text = read_text("net.h");
  expect_text(text, "at a time\n"
              " *   state    STATE_BYTES bytes, aligned to STATE_ALIGN: see below\n * Functions");
  expect_text(text, "  void *state;          /* as below */\n");
  expect_text(text, "#define NET_STATE_ALIGN 64\n");
  expect_text(text, "#define NET_STATES 2\n" TENSOR("NET_STATE_0", "n", I64, "0", "1", "1", "8"));
  expect_text(text, "#define NET_STATE_1_DIMS {3}\n");
  expect_text(text, "_run_learn(const void *weights, const void *const *inputs, void *const "
                    "*outputs,\n    void *arena, void *state);\n");
  expect_text(text, "_run_infer(const void *weights, const void *const *inputs, void *const "
                    "*outputs,\n    void *arena);\n");
  unsigned long long bytes, at, first, second, all;
  assert_int_equal(sscanf(strstr(text, "#define NET_STATE_BYTES"), "#define NET_STATE_BYTES %llu",
                          &bytes), 1);
  assert_int_equal(sscanf(strstr(text, "#define NET_STATE_AT"), "#define NET_STATE_AT %llu", &at),
                   1);
  assert_int_equal(sscanf(strstr(text, "STATE_0_OFFSET"), "STATE_0_OFFSET %llu", &first), 1);
  assert_int_equal(sscanf(strstr(text, "STATE_1_OFFSET"), "STATE_1_OFFSET %llu", &second), 1);
  assert_int_equal(sscanf(strstr(text, "WEIGHTS_BYTES"), "WEIGHTS_BYTES %llu", &all), 1);
  free(text);
  wk_file f;
  static const int64_t n = 7;
  static const float sum[] = {0.5f, 1, 2}, k[] = {4, 5, 6};
  must(wk_file_map("net.weights", &f));
  assert_int_equal(all, (at + bytes + 15) / 16 * 16 + 16);
  assert_true(at % 64 == 0 && at <= 128 && bytes <= 128 && first != second);
  assert_true(f.size == all);
  assert_memory_equal(f.data + at + first, &n, sizeof n);
  assert_memory_equal(f.data + at + second, sum, sizeof sum);
  bool is_there = false;
  for (size_t i = 0; i + sizeof k <= at; i += sizeof(float))
    is_there |= !memcmp(f.data + i, k, sizeof k);
  assert_true(is_there);
  wk_file_unmap(&f);
}

/* Memory of a run is the activations, then one thread's scratch. */
static void scratch_behind_activations(void **state) {
  (void)state;
  static const char *const texts[MAX_PARTS] = {
      "module \"\" { graph @main(%x: f32[2,5,5]) {\n"
      "  %y = map(%x) {body=\"exp(%0)\"}\n  %z = det(%y)\n  output %z\n}}"};
  static const char *const names[MAX_PARTS] = {""};
  unsigned long long arena;
  long long scratch;
  wk_emit_result result = emit("bundle", texts, names, NULL, "some");
  char *text = read_text("some.h");
  assert_int_equal(sscanf(strstr(text, "SCRATCH_BYTES"), "SCRATCH_BYTES %lld", &scratch), 1);
  assert_int_equal(sscanf(strstr(text, "_ARENA_BYTES "), "_ARENA_BYTES %llu", &arena), 1);
  assert_int_equal(scratch, 8 * 5 * 5);
  assert_int_equal(arena, 256 + scratch);
  assert_int_equal(result.scratch_bytes, scratch);
  free(text);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void names_of_files(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"net", "net"},         {"a/net.o", "a/net"},
                                         {"net.h", "net"},       {"net.weights", "net"},
                                         {"net.bundle", "net"},  {"net.onnx", "net.onnx"},
                                         {"net.o.h", "net.o"},   {".o", ".o"},
                                         {"x.o", "x"},           {".bundle", ".bundle"},
                                         {"/dev", "/dev"},       {"neto", "neto"}};
  static const char *const endings[] = {".o", ".h", ".weights"};
  wk_arena *a = wk_arena_new();
  wk_instance *t;
  wk_emit_files files;
  wk_targets targets;
  must(wk_targets_open(&(wk_target_args){.cpu = "x86-64"}, &targets));
  t = targets.list[0];
  const wk_target_output *bundle = output_of(t, "bundle");
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    must(bundle->files(cases[i][0], a, &files));
    assert_int_equal(files.n, WK_COUNTOF(endings));
    for (size_t k = 0; k < files.n; k++)
      assert_string_equal(files.path[k], wk_arena_printf(a, "%s%s", cases[i][1], endings[k]));
  }
  expect_error(bundle->files("-", a, &files), NULL,
               "a bundle is several files: give it a name with -o");
  expect_error(bundle->files("/dev/null.o", a, &files), "/dev/null",
               "is no regular file, and a bundle is several files: give it another name with -o");
  must(wk_write_file("regular", "", 0));
  must(bundle->files("regular", a, &files));
  must(bundle->files("dir.d", a, &files));
  wk_targets_close(&targets);
  wk_arena_free(a);
}

/* Functions are named after the file; a last ending is dropped. */
static void names_of_functions(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"net.ll", "net"},  {"net", "net"},     {"net.v2.ll", "net_v2"}, {"1net.ll", "m1net"},
      {"a b.ll", "a_b"}, {"net.o", "net"},   {"net.x.o", "net"},      {"dir.d/x", "x"},
      {".ll", "_ll"},     {"dir.d/.o", "model"},
      {"a_name_of_70_letters_that_is_longer_than_what_names_of_functions_may_be.ll",
       "a_name_of_70_letters_that_is_longer_than_what_names_of_functions"}};
  static const char *const texts[MAX_PARTS] = {PLAIN("output %y\n")}, *const names[] = {""};
  char want[128];
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_emit_result result = emit("llvm-ir", texts, names, NULL, cases[i][0]);
    assert_int_equal(result.scratch_bytes, 0);
    char *text = read_text(cases[i][0]);
    snprintf(want, sizeof want, "\ndefine i32 @%s_run(", cases[i][1]);
    expect_text(text, want);
    free(text);
  }
}

/* ---- instruction sets ------------------------------------------------------------------------ */

static void names_of_processors(void **state) {
  (void)state;
  static const char *const known[][2] = {
      {"avx512-vnni", "avx512-vnni"}, {"aarch64", "aarch64"}, {"skylake-avx512", "avx512"},
      {"apple-m2", "aarch64"},        {"x86-64-v3", "avx2"},  {"sse2", "x86-64"}};
  const wk_simd *simd;
  for (size_t i = 0; i < WK_COUNTOF(known); i++) {
    must(wk_simd_find(known[i][0], &simd));
    assert_string_equal(simd->name, known[i][1]);
  }
  static const char *const near[][2] = {{"natve", "native"}, {"avx51", "avx512"},
                                        {"aarch46", "aarch64"}, {"apple-m3", "apple-m1"}};
  char want[128];
  for (size_t i = 0; i < WK_COUNTOF(near); i++) {
    snprintf(want, sizeof want, "unknown cpu '%s'; did you mean '%s'?", near[i][0], near[i][1]);
    expect_error(wk_simd_find(near[i][0], &simd), NULL, want);
    assert_null(simd);
  }
  wk_status s = wk_simd_find("pentium", &simd);
  assert_non_null(s);
  assert_int_equal(s->code, WK_USAGE);
  const char *begin = "unknown cpu 'pentium' (choose from native, avx512-vnni, avx512, avx2, "
                      "x86-64, aarch64, skylake-avx512, cascadelake, ";
  assert_memory_equal(s->message, begin, strlen(begin));
  const char *end = ", neoverse-v2, apple-m1, apple-m2)";
  assert_string_equal(s->message + strlen(s->message) - strlen(end), end);
  wk_status_free(s);
}

/* Rows go from the most to the least capable; all that a row needs must be there. */
static void rows_of_processors(void **state) {
  (void)state;
  int n = 0;
  const wk_simd *native = NULL;
  assert_null(wk_simd_row(-1));
  for (; wk_simd_row(n); n++)
    if (!native && wk_simd_runs_here(wk_simd_row(n))) native = wk_simd_row(n);
  assert_int_equal(n, 5);
  assert_null(wk_simd_row(n + 1));
  const wk_simd *simd;
  must(wk_simd_find("native", &simd));
  assert_ptr_equal(simd, native);
  char needs[128];
  const char *first = native->needs;
  int length = (int)strcspn(first, " ");
  static const struct {
    const char *format;
    bool runs;
  } cases[] = {{"", true},
               {"%.*s", true},
               {"%.*s ", true},
               {"%.*s nothing", false},
               {"nothing %.*s", false},
               {"%.*s a_name_that_is_too_long_for_any_of_them", false}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    snprintf(needs, sizeof needs, cases[i].format, length, first);
    if (wk_simd_runs_here(&(wk_simd){.needs = needs}) != cases[i].runs) fail_msg("'%s'", needs);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_part), cmocka_unit_test(names_of_parts),
      cmocka_unit_test(state_behind_weights), cmocka_unit_test(scratch_behind_activations),
      cmocka_unit_test(names_of_files), cmocka_unit_test(names_of_functions),
      cmocka_unit_test(names_of_processors), cmocka_unit_test(rows_of_processors),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
