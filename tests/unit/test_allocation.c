/* SPDX-License-Identifier: Apache-2.0
 * Runs of a session allocate nothing: neither on the processor, with one thread or several, nor
 * with parts on other devices, one of which is the example's. Every allocation of the process is
 * counted, those within shared objects too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compiler/pipeline/plugin.h"
#include "compiler/pipeline/runner.h"
#include "sim/device.h"
#include "tests/accel_package.h"
#include "tests/accel_streams.h"
#include "tests/random_graph.h"
#include "tests/unit/toy_device.h"

/* ---- counting -------------------------------------------------------------------------------- */

static atomic_bool is_counting;
static atomic_size_t allocations;

/* The C library's own, behind the names that are taken here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

static void note(void) {
  if (atomic_load(&is_counting)) atomic_fetch_add(&allocations, 1);
}

void *malloc(size_t size) {
  note();
  return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
  note();
  return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size) {
  note();
  return __libc_realloc(p, size);
}

void *aligned_alloc(size_t align, size_t size) {
  note();
  return __libc_memalign(align, size);
}

int posix_memalign(void **p, size_t align, size_t size) {
  note();
  *p = __libc_memalign(align, size);
  return *p ? 0 : 12; /* ENOMEM */
}

static void begin_counting(void) {
  atomic_store(&allocations, 0);
  atomic_store(&is_counting, true);
}

static size_t end_counting(void) {
  atomic_store(&is_counting, false);
  return atomic_load(&allocations);
}

static void *volatile seen; /* what is looked at is not optimised away */

static void test_allocations_are_counted(void **state) {
  void *p = NULL;
  (void)state;
  begin_counting();
  free(seen = malloc(1));
  free(seen = calloc(1, 1));
  free(seen = realloc(NULL, 1));
  free(seen = aligned_alloc(64, 64));
  assert_int_equal(posix_memalign(&p, 64, 64), 0);
  free(seen = p);
  free(seen = strdup("within the C library"));
  assert_int_equal(end_counting(), 6);
}

/* ---- runs ------------------------------------------------------------------------------------ */

enum { RUNS = 3, MOST_IO = 64 };

static void ignore_step(void *user, uint32_t step, int after, void *arena) {
  (void)user, (void)step, (void)after, (void)arena;
}

/* From the first run on, also those that are watched. */
static void check_runs(wick_session *s, const void *const *in, void *const *out,
                       wick_status expected) {
  wick_step_profile profile[512] = {{0}};
  const wick_entry_info *e = wick_session_entry(s);
  bool watched = e->has_steps && e->step_count < WK_COUNTOF(profile);
  begin_counting();
  for (int k = 0; k < RUNS; k++) {
    wick_status got = wick_session_run(s, in, out);
    if (got == WICK_OK && watched) got = wick_session_run_profiled(s, in, out, profile);
    if (got == WICK_OK && watched) got = wick_session_run_observed(s, in, out, ignore_step, NULL);
    if (got != expected) fail_msg("%s: %s", wick_status_text(got), wick_session_error(s));
  }
  size_t count = end_counting();
  if (count) fail_msg("entry '%s': %zu allocations in %d runs", e->name, count, RUNS);
}

/* On buffers of zeros. Returns how many parts there are. */
static uint32_t check_session(wick_session *s) {
  const wick_entry_info *e = wick_session_entry(s);
  const void *in[MOST_IO];
  void *out[MOST_IO];
  assert_true(e->input_count <= MOST_IO && e->output_count <= MOST_IO);
  for (uint32_t i = 0; i < e->input_count; i++) in[i] = calloc(e->inputs[i].bytes + 1, 1);
  for (uint32_t i = 0; i < e->output_count; i++) out[i] = calloc(e->outputs[i].bytes + 1, 1);
  check_runs(s, in, out, WICK_OK);
  for (uint32_t i = 0; i < e->input_count; i++) free((void *)(uintptr_t)in[i]);
  for (uint32_t i = 0; i < e->output_count; i++) free(out[i]);
  return e->part_count;
}

static uint32_t check_random(uint64_t seed, const char *target, int64_t threads) {
  const wk_runner_options o = {.target = {.target = target}, .threads = threads,
                               .model_name = "random"};
  wk_module *m = random_graph(seed, &(random_options){.nodes = 12, .only = WK_OP_COUNT});
  wk_runner *r = NULL;
  wk_status s = wk_runner_of_module(m, &o, &r);
  if (s) fail_msg("seed %llu: %s", (unsigned long long)seed, s->message);
  uint32_t parts = check_session(wk_runner_session(r));
  wk_runner_free(r);
  return parts;
}

static void test_processor(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 12; seed++) check_random(seed, "cpu", seed % 3 + 1);
}

static void test_example_and_processor(void **state) {
  const char *files[] = {WICK_PLAINC, WICK_PLAINC_DEVICE};
  uint32_t most = 0;
  (void)state;
  wk_status s = wk_plugins_load(&(wk_strings){.data = files, .n = 2});
  if (s) fail_msg("%s", s->message);
  for (uint64_t seed = 1; seed <= 12; seed++) {
    uint32_t parts = check_random(seed, "plainc", seed % 3 + 1);
    if (parts > most) most = parts;
  }
  assert_true(most > 2);
}

/* Branches, loops and copies, on a device that works in a thread of its own and one that does not;
 * failures, too. */
static void test_devices(void **state) {
  static const uint32_t entries[] = {TOY_PLAN,  TOY_COUNT_ENTRY, TOY_VIEWS, TOY_UNTIL,
                                     TOY_CHAIN, TOY_PAIR,        TOY_MAYBE};
  void *data;
  size_t size;
  wick_model *model;
  wick_session *s;
  (void)state;
  assert_int_equal(wick_device_register(&toy_async), WICK_OK);
  assert_int_equal(wick_device_register(&toy_sync), WICK_OK);
  wk_package *p = toy_package();
  assert_null(wk_package_bytes(p, &data, &size));
  wk_package_free(p);
  assert_int_equal(wick_model_load_memory(data, size, NULL, &model), WICK_OK);
  for (size_t i = 0; i < WK_COUNTOF(entries); i++) {
    assert_int_equal(wick_session_create(model, entries[i], 1, &s), WICK_OK);
    check_session(s);
    wick_session_free(s);
  }
  float x[4] = {0}, y[4], z[4];
  assert_int_equal(wick_session_create(model, TOY_FAIL_ENTRY, 1, &s), WICK_OK);
  check_runs(s, (const void *[]){x}, (void *[]){y, z}, WICK_DEVICE_FAILED);
  wick_session_free(s);
  wick_model_free(model);
  free(data);
}

/* The functional model. */
static void test_accelerator(void **state) {
  static const char *const texts[] = {accel_product, accel_copy};
  accel_unit_data unit = {0};
  wk_stream *streams[2];
  void *data;
  size_t size;
  wick_model *model;
  wick_session *s;
  (void)state;
  for (int i = 0; i < 2; i++)
    assert_null(wk_asm(texts[i], strlen(texts[i]), "test.s", NULL, NULL, &streams[i]));
  assert_null(accel_package_bytes(&unit, streams, 2, &data, &size));
  assert_int_equal(wick_device_register(wk_sim_device()), WICK_OK);
  assert_int_equal(wick_model_load_memory(data, size, NULL, &model), WICK_OK);
  assert_int_equal(wick_session_create(model, 0, 1, &s), WICK_OK);
  assert_int_equal(check_session(s), 2);
  wick_session_free(s);
  wick_model_free(model);
  free(data);
  accel_unit_free(&unit);
  for (int i = 0; i < 2; i++) wk_stream_free(streams[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_allocations_are_counted), cmocka_unit_test(test_processor),
      cmocka_unit_test(test_example_and_processor), cmocka_unit_test(test_devices),
      cmocka_unit_test(test_accelerator)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
