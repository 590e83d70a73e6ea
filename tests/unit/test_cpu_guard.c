/* SPDX-License-Identifier: Apache-2.0
 * What an object asks before it runs (guard.c), with processors and systems that nobody has at
 * hand; and objects of bundles for a processor that this machine is, and for one that it is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/targets.h"
#include "runtime/wick.h"
#include "targets/cpu/llvm/module.h"
#include "targets/cpu/llvm/object.h"
#include "targets/cpu/rare/bitcode/guard.h"

/* ---- a processor ----------------------------------------------------------------------------- */

enum { EAX, EBX, ECX, EDX };
enum { OSXSAVE = 1 << 27 };

/* All bits are set but some of one register. */
static struct {
  guard_question lacks;
  uint32_t last, state; /* leaf below 2^31 and, from there on, the same; XCR0 */
  int asked, states;
} processor;

static void ask_processor(uint32_t leaf, uint32_t subleaf, uint32_t r[4]) {
  uint32_t half = leaf & UINT32_C(0x80000000);
  processor.asked++;
  for (int k = 0; k < 4; k++) r[k] = UINT32_MAX;
  if (leaf == half) r[EAX] = half | processor.last;
  if (leaf > (half | processor.last)) fail_msg("there is no leaf %x", leaf);
  if (leaf == processor.lacks.leaf && subleaf == processor.lacks.subleaf)
    r[processor.lacks.reg] &= ~processor.lacks.bits;
}

static uint32_t state_of_processor(void) {
  processor.states++;
  return processor.state;
}

#define GUARD_ASK ask_processor
#define GUARD_STATE state_of_processor
#define wk_rare_guard_run run_of_test
#define wk_rare_guard_check check_of_test
#include "targets/cpu/rare/bitcode/guard.c"

/* Two weights in front of the seal. */
static struct {
  _Alignas(64) uint64_t words[8];
  guard_seal seal;
} weights;

static wk_guard begin(void) {
  guard_sum sum = GUARD_BEGIN;
  for (int k = 0; k < 8; k++) weights.words[k] = (uint64_t)k * UINT64_C(0x0123456789abcdef);
  guard_add(&sum, weights.words, 4);
  weights.seal = (guard_seal){GUARD_MAGIC, guard_end(&sum, sizeof weights.words)};
  processor.lacks = (guard_question){0};
  processor.last = 7;
  processor.state = UINT32_MAX;
  processor.asked = processor.states = 0;
  answer = UNKNOWN;
  return (wk_guard){sizeof weights.words, weights.seal.sum, 64, 0xe6, 3,
                    {{1, 0, ECX, 1 << 12 | 1 << 28}, {7, 0, EBX, 1 << 16}, {7, 1, EAX, 16}}};
}

static int run_with(const wk_guard *g) {
  return run_of_test(g, (const char *)weights.words);
}

static int check_with(const wk_guard *g) {
  return check_of_test(g, (const char *)weights.words);
}

#if defined(__x86_64__)

/* Each bit that is asked for, alone; others are not missed. */
static void processors_lack_a_bit(void **state) {
  static const struct {
    guard_question lacks;
    int code;
  } cases[] = {{{1, 0, ECX, 1 << 12}, GUARD_BAD_CPU}, {{1, 0, ECX, 1 << 28}, GUARD_BAD_CPU},
               {{7, 0, EBX, 1 << 16}, GUARD_BAD_CPU}, {{7, 1, EAX, 16}, GUARD_BAD_CPU},
               {{1, 0, ECX, OSXSAVE}, GUARD_BAD_CPU}, {{1, 0, ECX, 1 << 13}, GUARD_OK},
               {{1, 0, EDX, 1 << 12}, GUARD_OK},      {{7, 0, EAX, 16}, GUARD_OK},
               {{7, 1, EBX, 1 << 16}, GUARD_OK},      {{1, 0, EDX, UINT32_MAX}, GUARD_OK}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wk_guard g = begin();
    processor.lacks = cases[i].lacks;
    if (run_with(&g) != cases[i].code) fail_msg("case %zu", i);
    answer = UNKNOWN;
    if (check_with(&g) != cases[i].code) fail_msg("case %zu, check", i);
  }
}

/* Leaves that there are none of say nothing, whatever comes back for them. */
static void processors_end(void **state) {
  (void)state;
  wk_guard g = begin();
  processor.last = 6;
  assert_int_equal(run_with(&g), GUARD_BAD_CPU);
  g = begin();
  g.questions[2] = (guard_question){UINT32_C(0x80000001), 0, ECX, 32};
  assert_int_equal(run_with(&g), GUARD_OK);
  g = begin();
  g.questions[2] = (guard_question){UINT32_C(0x80000008), 0, ECX, 32};
  assert_int_equal(run_with(&g), GUARD_BAD_CPU);
}

/* XCR0 is asked for where registers are needed, and where it can be. */
static void systems_save_registers(void **state) {
  static const uint32_t enough[] = {0xe6, 0xe7, 0x600e6}, little[] = {0, 6, 0xe0, 0x66, 0xe4, 0xa6};
  (void)state;
  for (size_t i = 0; i < sizeof enough / sizeof *enough; i++) {
    wk_guard g = begin();
    processor.state = enough[i];
    assert_int_equal(run_with(&g), GUARD_OK);
  }
  for (size_t i = 0; i < sizeof little / sizeof *little; i++) {
    wk_guard g = begin();
    processor.state = little[i];
    assert_int_equal(run_with(&g), GUARD_BAD_CPU);
  }
  wk_guard g = begin();
  processor.lacks = (guard_question){1, 0, ECX, OSXSAVE};
  assert_int_equal(run_with(&g), GUARD_BAD_CPU);
  assert_int_equal(processor.states, 0);
  g = begin();
  g.state = 0;
  processor.lacks = (guard_question){1, 0, ECX, OSXSAVE};
  processor.state = 0;
  assert_int_equal(run_with(&g), GUARD_OK);
  assert_int_equal(processor.states, 0);
}

/* Once, whatever it says; the weights are asked for at each run. */
static void processors_are_asked_once(void **state) {
  (void)state;
  for (int lacks = 0; lacks < 2; lacks++) {
    wk_guard g = begin();
    if (lacks) processor.lacks = (guard_question){7, 0, EBX, 1 << 16};
    run_with(&g);
    int asked = processor.asked;
    assert_true(asked > 0);
    processor.lacks = (guard_question){7, 0, EBX, lacks ? 0 : 1 << 16};
    assert_int_equal(run_with(&g), lacks ? GUARD_BAD_CPU : GUARD_OK);
    assert_int_equal(check_with(&g), lacks ? GUARD_BAD_CPU : GUARD_OK);
    weights.seal.sum++;
    assert_int_equal(run_with(&g), lacks ? GUARD_BAD_CPU : GUARD_BAD_WEIGHTS);
    assert_int_equal(processor.asked, asked);
  }
}

#endif

/* ---- weights --------------------------------------------------------------------------------- */

static void each_bit_of_weights_counts(void **state) {
  (void)state;
  wk_guard g = begin();
  assert_int_equal(check_with(&g), GUARD_OK);
  for (size_t bit = 0; bit < 8 * sizeof weights.words; bit++) {
    weights.words[bit / 64] ^= UINT64_C(1) << bit % 64;
    assert_int_equal(run_with(&g), GUARD_OK); /* looks at the seal */
    assert_int_equal(check_with(&g), GUARD_BAD_WEIGHTS);
    weights.words[bit / 64] ^= UINT64_C(1) << bit % 64;
  }
  for (size_t bit = 0; bit < 8 * sizeof weights.seal; bit++) {
    ((uint8_t *)&weights.seal)[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_int_equal(run_with(&g), GUARD_BAD_WEIGHTS);
    assert_int_equal(check_with(&g), GUARD_BAD_WEIGHTS);
    ((uint8_t *)&weights.seal)[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  assert_int_equal(check_with(&g), GUARD_OK);
}

/* Words that change places, and that are others by the same bit. */
static void places_of_words_count(void **state) {
  (void)state;
  wk_guard g = begin();
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < i; k++)
      for (int how = 0; how < 2; how++) {
        uint64_t a = weights.words[i], b = weights.words[k];
        weights.words[i] = how ? a ^ UINT64_C(1) << 63 : b;
        weights.words[k] = how ? b ^ UINT64_C(1) << 63 : a;
        assert_int_equal(check_with(&g), GUARD_BAD_WEIGHTS);
        weights.words[i] = a;
        weights.words[k] = b;
      }
  guard_sum none = GUARD_BEGIN;
  assert_true(guard_end(&none, 0) != guard_end(&none, 16));
}

static void weights_lie_evenly(void **state) {
  (void)state;
  wk_guard g = begin();
  const char *at = (const char *)weights.words;
  static const int odd[] = {1, 4, 16, 32};
  assert_int_equal(run_of_test(&g, NULL), GUARD_BAD_WEIGHTS);
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
    assert_int_equal(run_of_test(&g, at + odd[i]), GUARD_BAD_WEIGHTS);
}

/* A model without constants has no weights that could be others. */
static void no_weights_are_none(void **state) {
  (void)state;
  wk_guard g = begin();
  guard_sum none = GUARD_BEGIN;
  g.bytes = 0;
  g.sum = guard_end(&none, 0);
  assert_int_equal(run_of_test(&g, NULL), GUARD_OK);
  assert_int_equal(check_of_test(&g, NULL), GUARD_OK);
  assert_int_equal(run_with(&g), GUARD_BAD_WEIGHTS); /* those of another object */
  assert_int_equal(check_with(&g), GUARD_BAD_WEIGHTS);
}

/* ---- objects --------------------------------------------------------------------------------- */

static void must(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

static const char *const text =
    "module \"\" { graph @main(%x: f32[4]) {\n  %k = constant f32[4] {1, 2, 3, 4}\n"
    "  %y = map(%x, %k) {body=\"add(%0, %1)\"}\n  output %y\n}}";

typedef int run_fn(const void *weights, const void *const *inputs, void *const *outputs,
                   void *arena);
typedef int check_fn(const void *weights);

/* What the object's run and check say; the first output in *y. */
static void use_object(const wk_simd *simd, int *ran, int *checked, float *y) {
  wk_targets t;
  wk_module *module;
  wk_parts *parts;
  wk_pipeline_report report;
  wk_emit_result result;
  wk_emit_options o = {.model_name = "made"};
  must(wk_targets_open(&(wk_target_args){.cpu = simd->name}, &t));
  must(wk_module_parse(text, "text", &module));
  must(wk_pipeline_run(module, &(wk_pipeline_options){.targets = &t}, &report, &parts));
  const wk_target_part part = {.name = "", .graph = NULL, .program = parts->parts.data[0].program};
  must(wk_cpu_bundle_emit(&part, 1, &o, simd, "net", &result));
  wk_file object, file;
  wk_jit *jit;
  void *address;
  run_fn *run;
  check_fn *check;
  must(wk_file_map("net.o", &object));
  must(wk_file_map("net.weights", &file));
  must(wk_jit_load(LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)object.data,
                                                             object.size, "net"), &jit));
  must(wk_jit_find(jit, "net_run", &address));
  memcpy(&run, &address, sizeof run);
  must(wk_jit_find(jit, "net_check", &address));
  memcpy(&check, &address, sizeof check);
  float x[4] = {10, 20, 30, 40};
  _Alignas(64) static char arena[4096];
  *checked = check(file.data);
  *ran = run(file.data, (const void *const[]){x}, (void *const[]){y}, arena);
  wk_jit_free(jit);
  wk_file_unmap(&object);
  wk_file_unmap(&file);
  wk_pipeline_report_free(&report);
  wk_parts_free(parts);
  wk_module_free(module);
  wk_targets_close(&t);
}

/* A feature of the table that this machine has not; NULL: it has all. */
static const char *lacking(void) {
  static const char *const names[] = {
#define FEATURE(name, leaf, subleaf, reg, bit, state) WICK_STATE_##state & 0x60000 ? "" : name,
#include "runtime/features.def"
  };
  for (size_t i = 0; i < WK_COUNTOF(names); i++)
    if (*names[i] && wick_cpu_has(names[i]) == 0) return names[i];
  return NULL;
}

static void objects_ask_for_their_processor(void **state) {
  (void)state;
  for (int i = 0; wk_simd_row(i); i++) {
    const wk_simd *row = wk_simd_row(i);
    int ran, checked;
    float y[4] = {-1};
    if (!wk_simd_runs_here(row)) continue;
    use_object(row, &ran, &checked, y);
    assert_int_equal(checked, GUARD_OK);
    assert_int_equal(ran, GUARD_OK);
    assert_true(y[0] == 11 && y[3] == 44);
    const char *feature = lacking();
    if (!feature) continue;
    char needs[256];
    wk_simd other = *row;
    snprintf(needs, sizeof needs, "%s %s", row->needs, feature);
    other.needs = needs;
    y[0] = -1;
    use_object(&other, &ran, &checked, y);
    assert_int_equal(checked, GUARD_BAD_CPU);
    assert_int_equal(ran, GUARD_BAD_CPU);
    assert_true(y[0] == -1);
  }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static char folder[32];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/wick-guard-XXXXXX");
  return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  char command[64];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
      cmocka_unit_test(processors_lack_a_bit),
      cmocka_unit_test(processors_end),
      cmocka_unit_test(systems_save_registers),
      cmocka_unit_test(processors_are_asked_once),
#endif
      cmocka_unit_test(each_bit_of_weights_counts),
      cmocka_unit_test(places_of_words_count),
      cmocka_unit_test(weights_lie_evenly),
      cmocka_unit_test(no_weights_are_none),
      cmocka_unit_test(objects_ask_for_their_processor),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
