/* SPDX-License-Identifier: Apache-2.0
 * Packages of several units, on devices that the test brings along: plans, work at the same time,
 * failures, state, dims that are known only afterwards, and what is said when a device is missing.
 * The order matters at the beginning: who registers a device does it for the whole program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/tiny_package.h"
#include "tests/unit/toy_device.h"

typedef struct {
  void *data;
  size_t size;
  wick_model *model;
} fixture;

static wick_status load(wk_package *p, uint32_t flags, fixture *f, wick_error_detail *detail) {
  f->model = NULL;
  assert_null(wk_package_bytes(p, &f->data, &f->size));
  wk_package_free(p);
  const wick_load_options o = {.size = sizeof o, .flags = flags, .detail = detail};
  return wick_model_load_memory(f->data, f->size, &o, &f->model);
}

static int load_toy(void **state) {
  fixture *f = calloc(1, sizeof *f);
  *state = f;
  return load(toy_package(), 0, f, NULL) != WICK_OK;
}

static int free_toy(void **state) {
  fixture *f = *state;
  wick_model_free(f->model);
  free(f->data);
  free(f);
  return atomic_load(&toy_loaded) != 0 || atomic_load(&toy_open) != 0;
}

static wick_session *session_of(void **state, uint32_t entry) {
  wick_session *s;
  assert_int_equal(wick_session_create(((fixture *)*state)->model, entry, 1, &s), WICK_OK);
  return s;
}

static wick_status run(wick_session *s, const void *x, void *y, void *z) {
  const void *inputs[] = {x};
  void *outputs[] = {y, z};
  return wick_session_run(s, inputs, outputs);
}

/* ---- what is there --------------------------------------------------------------------------- */

static void expect_refusal(wk_package *p, wick_status status, const char *why) {
  wick_error_detail detail;
  fixture f;
  assert_int_equal(load(p, 0, &f, &detail), status);
  assert_string_equal(detail.text, why);
  free(f.data);
  assert_int_equal(load(toy_package(), WICK_LOAD_DESCRIBE, &f, NULL), WICK_OK);
  wick_session *s;
  assert_int_equal(wick_session_create(f.model, 0, 1, &s), WICK_BAD_MACHINE);
  wick_model_free(f.model);
  free(f.data);
}

static void missing_device_is_named(void **state) {
  (void)state;
  assert_null(wick_device_find("async"));
  expect_refusal(toy_package(), WICK_NO_DEVICE,
                 "part plus needs target 'async', which this program does not provide: link or "
                 "load its device");
  assert_int_equal(wick_device_register(&toy_async), WICK_OK);
  expect_refusal(toy_package(), WICK_NO_DEVICE,
                 "part sum needs target 'sync', which this program does not provide: link or load "
                 "its device");
  assert_int_equal(atomic_load(&toy_loaded), 0);
}

static void devices_register_once(void **state) {
  (void)state;
  wick_device other = toy_async;
  assert_int_equal(wick_device_register(&toy_sync), WICK_OK);
  assert_int_equal(wick_device_register(&toy_sync), WICK_OK);
  assert_int_equal(wick_device_register(&other), WICK_BUSY);
  other.target = "cpu";
  assert_int_equal(wick_device_register(&other), WICK_BUSY);
  other.target = "third";
  other.version++;
  assert_int_equal(wick_device_register(&other), WICK_BAD_ARGUMENT);
  other = toy_async;
  other.size--;
  assert_int_equal(wick_device_register(&other), WICK_BAD_ARGUMENT);
  other = toy_async;
  other.submit = NULL;
  assert_int_equal(wick_device_register(&other), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_device_register(NULL), WICK_BAD_ARGUMENT);
  assert_ptr_equal(wick_device_find("sync"), &toy_sync);
  assert_string_equal(wick_device_find("cpu")->target, "cpu");
  assert_null(wick_device_find("third"));
  assert_null(wick_device_find(NULL));
}

/* Beside a unit that is fine, and is not loaded either. */
static wk_package *mixed_package(const wk_package_unit *unit, const uint8_t *code, size_t size) {
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "mixed"});
  const wk_package_tensor f = toy_tensor("", WICK_F32, 1), io[] = {f, f};
  uint32_t a = toy_add_unit(p, "async", toy_async_ops, sizeof toy_async_ops);
  uint32_t part = toy_add_part(p, "plus", a, TOY_PLUS, io, 1, 1);
  uint32_t other = wk_package_add_unit(p, unit);
  if (size) wk_package_add_code(p, other, code, size);
  wk_package_add_whole(p, "other",
                       wk_package_add_part(p, &(wk_package_part){.name = "b", .unit = other}));
  wk_package_add_whole(p, "plus", part);
  return p;
}

static void parts_for_other_machines_are_named(void **state) {
  (void)state;
  char why[128];
  bool is_x86 = TINY_MACHINE == WICK_MACHINE_X86_64;
  snprintf(why, sizeof why, "part b, target 'cpu': made for %s, this is %s",
           is_x86 ? "aarch64 (183)" : "x86_64 (62)", is_x86 ? "x86_64" : "aarch64");
  expect_refusal(
      mixed_package(&(wk_package_unit){.target = "cpu", .machine = is_x86 ? WICK_MACHINE_AARCH64
                                                                          : WICK_MACHINE_X86_64},
                    tiny_code, sizeof tiny_code),
      WICK_BAD_MACHINE, why);
  expect_refusal(mixed_package(&(wk_package_unit){.target = "sync", .machine_hash = 0xbad}, NULL,
                               0),
                 WICK_BAD_MACHINE, "part b, target 'sync': made for machine bad, this is 70f");
  expect_refusal(mixed_package(&(wk_package_unit){.target = "sync", .machine_hash = 0x70f}, NULL,
                               0),
                 WICK_CORRUPT, "part b, target 'sync': these are not the sections of a toy");
  expect_refusal(mixed_package(&(wk_package_unit){.target = "cpu", .machine = TINY_MACHINE}, NULL,
                               0),
                 WICK_CORRUPT, "part b, target 'cpu': there is no code");
  assert_int_equal(atomic_load(&toy_loaded), 0);
}

static void model_shows_its_units_and_parts(void **state) {
  const wick_model *m = ((fixture *)*state)->model;
  const wick_model_info *info = wick_model_describe(m);
  assert_int_equal(info->unit_count, 2);
  assert_string_equal(info->units[0].target, "async");
  assert_string_equal(info->units[1].spec, "toy");
  assert_string_equal(info->units[1].features, "adding");
  assert_string_equal(info->units[1].machine, "");
  assert_int_equal(info->units[0].part_count, 11);
  assert_int_equal(info->entry_count, TOY_ENTRIES);
  assert_string_equal(info->sections[WICK_TABLE_COUNT].name, "ops");
  assert_string_equal(info->sections[WICK_TABLE_COUNT + 3].name, "notes");
  assert_int_equal(info->sections[WICK_TABLE_COUNT + 3].unit, 1);
  assert_int_equal(info->state_count, 2);
  assert_string_equal(info->states[1].tensor->name, "w");
  assert_true(info->states[1].is_public && !info->states[0].is_public);
  const wick_entry_info *e = wick_model_entry(m, TOY_PLAN);
  static const char *const parts[] = {"plus", "sum", "less", "sum", "plus"};
  assert_int_equal(e->part_count, 5);
  assert_int_equal(e->step_count, 5);
  for (uint32_t i = 0; i < 5; i++) {
    assert_string_equal(e->parts[i]->name, parts[i]);
    assert_string_equal(e->steps[i].node, parts[i]);
    assert_string_equal(e->parts[i]->target, e->parts[i]->unit ? "sync" : "async");
  }
  assert_int_equal(e->edge_count, 4);
  assert_int_equal(e->arena_bytes, 80);
  assert_true(e->has_steps && !e->reads_state && !e->writes_state);
  assert_true(wick_model_entry(m, TOY_KEEP_ENTRY)->writes_state);
  assert_true(wick_model_entry(m, TOY_PEEK)->reads_state);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* What toy_package.h says, by itself. */
static void expect_plan(const float *x, const float *y) {
  bool small = x[0] + 1 < 5;
  for (int k = 0; k < 4; k++) {
    float want = (small ? x[k] + 1 : 0) + 2 * x[k] + (k < 3);
    if (y[k] != want) fail_msg("y[%d] is %g, not %g", k, (double)y[k], (double)want);
  }
}

static void plan_gives_what_it_says(void **state) {
  wick_session *s = session_of(state, TOY_PLAN);
  for (int k = 0; k < 20; k++) {
    float x[4] = {(float)k / 2, 2, 30, (float)-k}, y[4] = {0};
    assert_int_equal(run(s, x, y, NULL), WICK_OK);
    expect_plan(x, y);
  }
  assert_int_equal(run(s, NULL, NULL, NULL), WICK_BAD_ARGUMENT);
  wick_session_free(s);
}

static void loop_ends_when_its_condition_is_false(void **state) {
  wick_session *s = session_of(state, TOY_UNTIL);
  for (int k = -3; k < 9; k++) {
    float x[4] = {(float)k, 1, 2, 3}, y[4];
    int64_t i = -1, more = k < 5 ? 5 - k : 0;
    assert_int_equal(run(s, x, y, &i), WICK_OK);
    assert_int_equal(i, more - 1);
    for (int j = 0; j < 4; j++) assert_true(y[j] == x[j] + (float)more);
  }
  float x[4] = {-1000, 0, 0, 0}, y[4];
  int64_t i;
  assert_int_equal(run(s, x, y, &i), WICK_OK);
  assert_true(i == 99 && y[0] == -900);
  wick_session_free(s);
}

static void *run_often(void *state) {
  wick_session *s;
  const char *error = NULL;
  if (wick_session_create(((fixture *)*(void **)state)->model, TOY_PLAN, 1, &s) != WICK_OK)
    return "cannot create";
  for (int k = 0; k < 100 && !error; k++) {
    float x[4] = {(float)k / 8, (float)k, 3, 4}, y[4] = {0};
    if (run(s, x, y, NULL) != WICK_OK) error = "cannot run";
    for (int i = 0; i < 4; i++)
      if (y[i] != (x[0] + 1 < 5 ? x[i] + 1 : 0) + 2 * x[i] + (i < 3)) error = "wrong result";
  }
  wick_session_free(s);
  return (void *)(uintptr_t)error;
}

static void sessions_run_at_the_same_time(void **state) {
  pthread_t threads[4];
  for (int t = 0; t < 4; t++)
    assert_int_equal(pthread_create(&threads[t], NULL, run_often, state), 0);
  for (int t = 0; t < 4; t++) {
    void *error;
    pthread_join(threads[t], &error);
    if (error) fail_msg("%s", (const char *)error);
  }
}

/* The first part finishes only when the second has begun. */
static void devices_work_at_the_same_time(void **state) {
  wick_session *s = session_of(state, TOY_MEET_ENTRY);
  for (int k = 0; k < 10; k++) {
    float x[4] = {1, 2, 3, (float)k}, y[4] = {0}, z[4] = {0};
    assert_int_equal(run(s, x, y, z), WICK_OK);
    for (int i = 0; i < 4; i++) assert_true(y[i] == x[i] + 1 && z[i] == 2 * x[i]);
  }
  wick_session_free(s);
}

static void edges_lie_within_inputs_and_outputs(void **state) {
  wick_session *s = session_of(state, TOY_VIEWS);
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  assert_int_equal(run(s, x, y, NULL), WICK_OK);
  assert_memory_equal(y, ((float[]){1, 3, 3, 5}), sizeof y);
  wick_session_free(s);
}

static void failures_are_told_and_leave_nothing_behind(void **state) {
  wick_session *s = session_of(state, TOY_FAIL_ENTRY), *other = session_of(state, TOY_PLAN);
  float x[4] = {1, 2, 3, 4}, y[4], z[4];
  for (int k = 0; k < 3; k++) {
    assert_int_equal(run(s, x, y, z), WICK_DEVICE_FAILED);
    assert_string_equal(wick_session_error(s), "target 'async': part 'fail' does not work");
    assert_int_equal(run(other, x, y, NULL), WICK_OK);
    assert_string_equal(wick_session_error(other), "");
    expect_plan(x, y);
  }
  wick_session_free(s);
  wick_session_free(other);
}

/* The one that was seen first is told, with its part where the device said so at once. */
static void first_failure_is_told(void **state) {
  wick_session *s = session_of(state, TOY_BOTH);
  float x[4] = {1, 2, 3, 4}, y[4], z[4];
  for (int k = 0; k < 3; k++) {
    assert_int_equal(run(s, x, y, z), WICK_DEVICE_FAILED);
    assert_string_equal(wick_session_error(s),
                        "part fail too, target 'sync': part 'fail too' does not work");
  }
  wick_session_free(s);
}

static void parts_wait_for_other_devices(void **state) {
  wick_session *s = session_of(state, TOY_CHAIN);
  for (int k = 0; k < 100; k++) {
    float x[4] = {1, 2, 3, (float)k}, y[4] = {0}, z[4] = {0};
    assert_int_equal(run(s, x, y, z), WICK_OK);
    for (int i = 0; i < 4; i++) assert_true(z[i] == 2 * (x[i] + 1));
  }
  wick_session_free(s);
}

static void expect_no_session(const wick_model *m, uint32_t entry, uint32_t threads,
                              wick_status status, const char *why) {
  wick_error_detail detail = {"before"};
  wick_session *s = NULL;
  const wick_session_options o = {sizeof o, threads, &detail};
  assert_int_equal(wick_session_create_with(m, entry, &o, &s), status);
  assert_string_equal(detail.text, why);
  assert_int_equal(wick_session_create(m, entry, threads, &s), status);
  assert_null(s);
}

static void devices_that_cannot_be_opened_say_why(void **state) {
  const wick_model *m = ((fixture *)*state)->model;
  wick_error_detail detail = {"before"};
  wick_session *s;
  atomic_store(&toy_refuses, 1);
  expect_no_session(m, TOY_PLAN, 1, WICK_DEVICE_FAILED,
                    "part sum, target 'sync': all 3 rooms are taken");
  assert_int_equal(atomic_load(&toy_open), 0); /* also of those that were opened before */
  atomic_store(&toy_refuses, 2);
  expect_no_session(m, TOY_PLAN, 1, WICK_DEVICE_FAILED, "part sum, target 'sync'");
  atomic_store(&toy_refuses, 0);
  expect_no_session(m, TOY_ENTRIES, 1, WICK_BAD_ARGUMENT, "there is no entry 15");
  expect_no_session(m, 0, 257, WICK_BAD_ARGUMENT, "257 threads are more than 256");
  expect_no_session(NULL, 0, 1, WICK_BAD_ARGUMENT, "no model or no place for it");
  const wick_session_options o = {.size = sizeof o, .threads = 2, .detail = &detail};
  assert_int_equal(wick_session_create_with(m, TOY_PLAN, &o, &s), WICK_OK);
  assert_string_equal(detail.text, "");
  assert_int_equal(wick_session_threads(s), 2);
  wick_session_free(s);
  assert_int_equal(wick_session_create_with(m, TOY_PLAN, NULL, &s), WICK_OK);
  wick_session_free(s);
}

static void memory_is_imported(void **state) {
  int before = atomic_load(&toy_imported);
  char memory[100];
  wick_session *s = session_of(state, TOY_PLAN);
  assert_int_equal(atomic_load(&toy_imported) - before, 80); /* its edges */
  assert_int_equal(wick_session_import(s, memory, 100), WICK_OK);
  assert_int_equal(atomic_load(&toy_imported) - before, 180);
  assert_int_equal(wick_session_import(s, memory, 7), WICK_BAD_ARGUMENT);
  assert_string_equal(wick_session_error(s), "target 'async': seven bytes are too odd");
  assert_int_equal(wick_session_import(s, NULL, 0), WICK_BAD_ARGUMENT);
  wick_session_free(s);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void profile_counts_steps_of_all_parts(void **state) {
  wick_session *s = session_of(state, TOY_PLAN);
  float x[4] = {1, 2, 3, 4}, y[4];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  wick_step_profile profile[5] = {{0, 0}};
  for (int k = 0; k < 3; k++)
    assert_int_equal(wick_session_run_profiled(s, inputs, outputs, profile), WICK_OK);
  expect_plan(x, y);
  static const uint64_t calls[] = {3, 3, 3, 3, 9};
  for (int k = 0; k < 5; k++) {
    assert_int_equal(profile[k].calls, calls[k]);
    assert_int_equal(profile[k].nanoseconds, 1000 * calls[k]);
  }
  assert_int_equal(run(s, x, y, NULL), WICK_OK); /* and nobody watches any more */
  assert_int_equal(profile[0].calls, 3);
  wick_session_free(s);
}

typedef struct {
  wick_session *session;
  int calls;
  float first[4]; /* what step 0 left */
} watcher;

static void watch(void *user, uint32_t step, int after, void *arena) {
  static const uint32_t order[] = {0, 1, 2, 3, 4, 4, 4};
  watcher *w = user;
  float got[4] = {0};
  assert_null(arena);
  assert_int_equal(step, order[w->calls / 2]);
  assert_int_equal(after, w->calls++ % 2);
  wick_status want = after ? WICK_OK : WICK_BAD_ARGUMENT;
  if (step == 2 && after) { /* a bool */
    assert_int_equal(wick_session_read_tensor(w->session, step, 0, got, 1), WICK_DEVICE_FAILED);
    assert_string_equal(wick_session_error(w->session),
                        "part less, target 'async': bytes cannot be fetched");
  }
  if (step == 2) return;
  assert_int_equal(wick_session_read_tensor(w->session, step, 0, got, sizeof got), want);
  if (step == 0 && after) memcpy(w->first, got, sizeof got);
}

static void observer_sees_steps_of_all_parts(void **state) {
  watcher w = {.session = session_of(state, TOY_PLAN)};
  float x[4] = {1, 2, 3, 4}, y[4];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  assert_int_equal(wick_session_run_observed(w.session, inputs, outputs, watch, &w), WICK_OK);
  assert_int_equal(w.calls, 14);
  assert_memory_equal(w.first, ((float[]){2, 3, 4, 5}), sizeof w.first);
  expect_plan(x, y);
  wick_session_free(w.session);
}

static void dims_are_known_afterwards(void **state) {
  static const uint32_t entries[] = {TOY_COUNT_ENTRY, TOY_PAIR};
  for (int k = 0; k < 2; k++) {
    wick_session *s = session_of(state, entries[k]);
    float x[4] = {1, 2, 3, 4}, z[4] = {0};
    int64_t y[4] = {9, 9, 9, 9};
    assert_true(wick_session_entry(s)->outputs[0].is_bound);
    assert_int_equal(wick_session_output_dims(s, 0)[0], 4);
    assert_int_equal(run(s, x, y, z), WICK_OK);
    assert_int_equal(wick_session_output_dims(s, 0)[0], 3);
    assert_memory_equal(y, ((int64_t[]){0, 1, 2, 9}), sizeof y);
    if (k) assert_int_equal(wick_session_output_dims(s, 1)[0], 4);
    if (k) assert_true(z[3] == 8);
    assert_null(wick_session_output_dims(s, 2));
    wick_session_free(s);
  }
  wick_session *s = session_of(state, TOY_COUNTS);
  float x[4] = {1, 2, 3, 4}, z[4] = {0};
  int64_t y[4] = {0}, i[4] = {0};
  assert_int_equal(wick_session_run(s, (const void *[]){x}, (void *[]){z, y, i}), WICK_OK);
  for (uint32_t k = 0; k < 3; k++)
    assert_int_equal(wick_session_output_dims(s, k)[0], k == 0 ? 4 : k + 1);
  assert_true(z[3] == 8 && y[1] == 1 && i[2] == 2);
  wick_session_free(s);
}

/* A part that a branch passed by leaves the bound; the last run says nothing about this one. */
static void dims_of_what_was_not_run_are_the_bound(void **state) {
  wick_session *s = session_of(state, TOY_MAYBE);
  for (int k = 0; k < 6; k++) {
    float x[4] = {k % 2 ? 1 : 9};
    int64_t y[4];
    assert_int_equal(run(s, x, y, NULL), WICK_OK);
    assert_int_equal(wick_session_output_dims(s, 0)[0], k % 2 ? 3 : 4);
  }
  wick_session_free(s);
}

static void dims_beyond_the_bound_are_an_error(void **state) {
  wick_session *s = session_of(state, TOY_LARGE);
  float x[4] = {0};
  int64_t y[4];
  assert_int_equal(run(s, x, y, NULL), WICK_RUN_FAILED);
  assert_string_equal(wick_session_error(s), "output y is larger than it may be");
  wick_session_free(s);
}

/* ---- state ----------------------------------------------------------------------------------- */

static wick_state *new_state(void **state) {
  wick_state *s;
  assert_int_equal(wick_state_new(((fixture *)*state)->model, &s), WICK_OK);
  return s;
}

static void state_stays_between_runs(void **state) {
  wick_session *s = session_of(state, TOY_KEEP_ENTRY);
  wick_state *a = new_state(state), *b = new_state(state);
  float x[4] = {1, 2, 3, 4}, y[4];
  assert_int_equal(run(s, x, y, NULL), WICK_NO_STATE);
  assert_int_equal(wick_session_bind_state(s, a), WICK_OK);
  for (int k = 1; k <= 3; k++) {
    assert_int_equal(run(s, x, y, NULL), WICK_OK);
    for (int i = 0; i < 4; i++) assert_true(y[i] == toy_initial[i] + (float)k * x[i]);
  }
  assert_memory_equal(wick_state_data(a, 1), y, sizeof y);
  assert_memory_equal(wick_state_data(b, 1), toy_initial, sizeof toy_initial);
  assert_memory_equal(wick_state_data(a, 0), ((uint8_t[4]){0}), 4);
  assert_null(wick_state_data(a, 2));
  assert_int_equal(wick_session_bind_state(s, b), WICK_OK);
  assert_int_equal(run(s, x, y, NULL), WICK_OK);
  assert_true(y[3] == 44);
  assert_int_equal(wick_session_bind_state(s, NULL), WICK_OK);
  assert_int_equal(run(s, x, y, NULL), WICK_NO_STATE);
  wick_session_free(s);
  wick_state_free(a);
  wick_state_free(b);
  wick_state_free(NULL);
}

/* Runs two other sessions in the middle of a run. */
typedef struct {
  wick_session *reader, *writer;
  wick_state *state;
  wick_status want_read, want_write, want_save;
} meanwhile;

static void run_meanwhile(void *user, uint32_t step, int after, void *arena) {
  const meanwhile *m = user;
  float x[4] = {0}, y[4];
  (void)step, (void)after, (void)arena;
  assert_int_equal(run(m->reader, x, y, NULL), m->want_read);
  assert_int_equal(run(m->writer, x, y, NULL), m->want_write);
  assert_int_equal(wick_state_save(m->state, "/dev/null/x", NULL), m->want_save);
}

static void state_has_many_readers_or_one_writer(void **state) {
  wick_session *reader = session_of(state, TOY_PEEK), *writer = session_of(state, TOY_KEEP_ENTRY);
  meanwhile m = {session_of(state, TOY_PEEK), session_of(state, TOY_KEEP_ENTRY), new_state(state),
                 WICK_OK, WICK_BUSY, WICK_CANNOT_WRITE};
  wick_session *all[] = {reader, writer, m.reader, m.writer};
  float x[4] = {0}, y[4];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  for (int k = 0; k < 4; k++) assert_int_equal(wick_session_bind_state(all[k], m.state), WICK_OK);
  assert_int_equal(wick_session_run_observed(reader, inputs, outputs, run_meanwhile, &m), WICK_OK);
  m.want_read = m.want_save = WICK_BUSY;
  assert_int_equal(wick_session_run_observed(writer, inputs, outputs, run_meanwhile, &m), WICK_OK);
  assert_int_equal(run(m.writer, x, y, NULL), WICK_OK);
  for (int k = 0; k < 4; k++) wick_session_free(all[k]);
  wick_state_free(m.state);
}

/* Each byte of the file is flipped once. */
static void expect_each_flip_to_be_refused(const wick_model *model, const char *path) {
  wk_file f;
  assert_null(wk_file_map(path, &f));
  uint8_t *bytes = malloc(f.size);
  size_t size = f.size;
  memcpy(bytes, f.data, size);
  wk_file_unmap(&f);
  for (size_t i = 0; i <= size; i++) {
    wick_state *s;
    wick_error_detail detail;
    if (i < size) bytes[i] ^= 0x40;
    FILE *file = fopen(path, "wb");
    fwrite(bytes, 1, i < size ? size : size - 1, file);
    fclose(file);
    if (wick_state_load(model, path, &detail, &s) == WICK_OK) fail_msg("byte %zu is let in", i);
    assert_true(*detail.text && !strchr(detail.text, '\n'));
    if (i < size) bytes[i] ^= 0x40;
  }
  free(bytes);
}

static void state_is_saved_and_loaded(void **state) {
  const wick_model *model = ((fixture *)*state)->model;
  char folder[] = "/tmp/wick-test-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/state", folder);
  wick_state *a = new_state(state), *b;
  wick_error_detail detail;
  ((float *)wick_state_data(a, 1))[2] = 7;
  for (int k = 0; k < 2; k++) assert_int_equal(wick_state_save(a, path, &detail), WICK_OK);
  assert_int_equal(wick_state_load(model, path, &detail, &b), WICK_OK);
  assert_memory_equal(wick_state_data(b, 1), wick_state_data(a, 1), sizeof toy_initial);
  wick_state_free(b);
  expect_each_flip_to_be_refused(model, path);
  unlink(path);
  assert_int_equal(rmdir(folder), 0); /* and nothing else is left */
  assert_int_equal(wick_state_save(a, path, &detail), WICK_CANNOT_WRITE);
  assert_non_null(strstr(detail.text, "No such file"));
  assert_int_equal(wick_state_load(model, path, &detail, &b), WICK_CANNOT_READ);
  wick_state_free(a);
}

static wk_package *model_with_state(const char *name, uint32_t dtype) {
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "one"});
  wk_package_add_state(p, &(wk_package_state){.name = name, .dtype = dtype, .rank = 1,
                                              .dims = toy_dims, .is_public = true});
  wk_package_add_entry(p, &(wk_package_entry){.name = "nothing"});
  return p;
}

/* The other model has less, in another place; or something else under the name. */
static void state_goes_to_models_that_have_its_names(void **state) {
  char path[] = "/tmp/wick-test-XXXXXX";
  int fd = mkstemp(path);
  close(fd);
  wick_state *a = new_state(state), *b;
  wick_session *s = session_of(state, TOY_KEEP_ENTRY);
  wick_error_detail detail;
  assert_int_equal(wick_state_save(a, path, &detail), WICK_OK);
  fixture same, named, typed, none;
  assert_int_equal(load(model_with_state("w", WICK_F32), 0, &same, NULL), WICK_OK);
  assert_int_equal(load(model_with_state("v", WICK_F32), 0, &named, NULL), WICK_OK);
  assert_int_equal(load(model_with_state("w", WICK_I32), 0, &typed, NULL), WICK_OK);
  assert_int_equal(load(tiny_package(""), 0, &none, NULL), WICK_OK);
  assert_int_equal(wick_state_load(same.model, path, &detail, &b), WICK_OK);
  assert_memory_equal(wick_state_data(b, 0), toy_initial, sizeof toy_initial);
  assert_int_equal(wick_session_bind_state(s, b), WICK_BAD_ARGUMENT);
  wick_state_free(b);
  assert_int_equal(wick_state_load(named.model, path, &detail, &b), WICK_BAD_STATE);
  assert_string_equal(detail.text, "it has no state 'v'");
  assert_int_equal(wick_state_load(typed.model, path, &detail, &b), WICK_BAD_STATE);
  assert_string_equal(detail.text, "state 'w' has another type or shape");
  assert_int_equal(wick_state_load(none.model, path, &detail, &b), WICK_NO_STATE);
  assert_int_equal(wick_state_new(none.model, &b), WICK_NO_STATE);
  fixture *all[] = {&same, &named, &typed, &none};
  for (int k = 0; k < 4; k++) {
    wick_model_free(all[k]->model);
    free(all[k]->data);
  }
  unlink(path);
  wick_session_free(s);
  wick_state_free(a);
}

/* ---- generated code -------------------------------------------------------------------------- */

#if defined(__x86_64__)

/* ++*(int64_t *)exec->state; exec->output_dims[0] = 2; return 0 */
static const uint8_t stateful_code[] = {
    0x48, 0x8b, 0x47, 0x30, 0x48, 0xff, 0x00,                         /* mov rax, [rdi+48]; inc */
    0x48, 0x8b, 0x47, 0x38, 0x48, 0xc7, 0x00, 0x02, 0x00, 0x00, 0x00, /* mov rax, [rdi+56]; = 2 */
    0x31, 0xc0, 0xc3};                                                /* xor eax, eax; ret */

static void code_finds_state_and_dims(void **state) {
  (void)state;
  static const int64_t start[4] = {40};
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "stateful"});
  uint32_t unit = wk_package_add_unit(p, &(wk_package_unit){.target = "cpu",
                                                            .machine = TINY_MACHINE});
  wk_package_add_code(p, unit, stateful_code, sizeof stateful_code);
  wk_package_add_state(p, &(wk_package_state){.name = "n", .dtype = WICK_I64, .rank = 1,
                                              .dims = toy_dims, .initial = start});
  wk_package_tensor y = toy_tensor("y", WICK_F32, 1);
  y.flags = WICK_TENSOR_BOUND;
  uint32_t part = wk_package_add_part(
      p, &(wk_package_part){.name = "code", .unit = unit, .outputs = &y, .n_outputs = 1});
  const wk_package_row row = {.kind = WICK_ROW_RUN, .part = part, TOY_ON(0)};
  wk_package_add_entry(p, &(wk_package_entry){.outputs = &y, .n_outputs = 1, .rows = &row,
                                              .n_rows = 1, .flags = WICK_ENTRY_WRITES_STATE});
  fixture f;
  wick_session *s;
  wick_state *n;
  float out[4];
  void *outputs[] = {out};
  assert_int_equal(load(p, 0, &f, NULL), WICK_OK);
  assert_int_equal(wick_session_create(f.model, 0, 1, &s), WICK_OK);
  assert_int_equal(wick_state_new(f.model, &n), WICK_OK);
  assert_int_equal(wick_session_bind_state(s, n), WICK_OK);
  for (int k = 0; k < 2; k++) assert_int_equal(wick_session_run(s, NULL, outputs), WICK_OK);
  assert_int_equal(*(int64_t *)wick_state_data(n, 0), 42);
  assert_int_equal(wick_session_output_dims(s, 0)[0], 2);
  wick_session_free(s);
  wick_state_free(n);
  wick_model_free(f.model);
  free(f.data);
}

#endif

#define TOY_TEST(f) cmocka_unit_test_setup_teardown(f, load_toy, free_toy)

/* ---- memory of devices ----------------------------------------------------------------------- */

/* These devices have none, so it is the host's. */
static void memory_is_the_hosts(void **state) {
  wick_session *s = session_of(state, TOY_CHAIN);
  const float x[4] = {1, 2, 3, 4};
  float y[4], z[4] = {0};
  void *on_x, *on_z;
  assert_int_equal(wick_session_allocate(s, 0, &on_x), WICK_OK);
  assert_int_equal(wick_session_allocate(s, 1, &on_z), WICK_BAD_ARGUMENT);
  assert_string_equal(wick_session_error(s), "output 0 is not one device's alone");
  assert_int_equal(wick_session_allocate(s, 2, &on_z), WICK_OK);
  assert_int_equal(wick_session_upload(s, on_x, x, sizeof x), WICK_OK);
  assert_int_equal(run(s, on_x, y, on_z), WICK_OK);
  assert_int_equal(wick_session_download(s, on_z, z, sizeof z), WICK_OK);
  for (int k = 0; k < 4; k++) assert_true(z[k] == 2 * (x[k] + 1));
  assert_int_equal(wick_session_upload(s, on_x, x, sizeof x + 1), WICK_BAD_ARGUMENT);
  wick_session_free(s);
  s = session_of(state, TOY_PLAN);
  assert_int_equal(wick_session_allocate(s, 0, &on_x), WICK_BAD_ARGUMENT);
  assert_string_equal(wick_session_error(s), "input 0 (x) is not one device's alone");
  wick_session_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(missing_device_is_named),
      cmocka_unit_test(devices_register_once),
      cmocka_unit_test(parts_for_other_machines_are_named),
      TOY_TEST(model_shows_its_units_and_parts),
      TOY_TEST(plan_gives_what_it_says),
      TOY_TEST(loop_ends_when_its_condition_is_false),
      TOY_TEST(sessions_run_at_the_same_time),
      TOY_TEST(devices_work_at_the_same_time),
      TOY_TEST(edges_lie_within_inputs_and_outputs),
      TOY_TEST(failures_are_told_and_leave_nothing_behind),
      TOY_TEST(first_failure_is_told),
      TOY_TEST(parts_wait_for_other_devices),
      TOY_TEST(devices_that_cannot_be_opened_say_why),
      TOY_TEST(memory_is_imported),
      TOY_TEST(profile_counts_steps_of_all_parts),
      TOY_TEST(observer_sees_steps_of_all_parts),
      TOY_TEST(dims_are_known_afterwards),
      TOY_TEST(dims_of_what_was_not_run_are_the_bound),
      TOY_TEST(dims_beyond_the_bound_are_an_error),
      TOY_TEST(state_stays_between_runs),
      TOY_TEST(state_has_many_readers_or_one_writer),
      TOY_TEST(state_is_saved_and_loaded),
      TOY_TEST(state_goes_to_models_that_have_its_names),
      TOY_TEST(memory_is_the_hosts),
#if defined(__x86_64__)
      cmocka_unit_test(code_finds_state_and_dims),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
