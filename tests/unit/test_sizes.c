/* SPDX-License-Identifier: Apache-2.0
 * The sizes with which structs of the runtime begin: options of programs that were built with
 * another version, and what the library says of its own structs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/internal.h"
#include "tests/unit/toy_device.h"
#include "tests/unit/toy_package.h"

/* Options of a program that knows a field more. */
typedef struct {
  wick_load_options known;
  uint64_t more;
} newer_load;

typedef struct {
  wick_session_options known;
  uint64_t more;
} newer_session;

typedef struct {
  void *data;
  size_t size;
} bytes;

static int setup(void **state) {
  static bytes b;
  wk_package *p = toy_package();
  assert_null(wk_package_bytes(p, &b.data, &b.size));
  wk_package_free(p);
  assert_int_equal(wick_device_register(&toy_async), WICK_OK);
  assert_int_equal(wick_device_register(&toy_sync), WICK_OK);
  *state = &b;
  return 0;
}

static int teardown(void **state) {
  free(((bytes *)*state)->data);
  return 0;
}

static wick_status load(const bytes *b, const wick_load_options *o) {
  wick_model *model;
  wick_status status = wick_model_load_memory(b->data, b->size, o, &model);
  if (status == WICK_OK) wick_model_free(model);
  return status;
}

static void load_options_have_their_size(void **state) {
  const bytes *b = *state;
  wick_error_detail why = {"as it was"};
  newer_load o = {.known = {.size = sizeof(wick_load_options), .detail = &why}, .more = 1};
  assert_int_equal(load(b, &o.known), WICK_OK); /* what is behind size is not looked at */
  assert_string_equal(why.text, "");
  o.known.size = sizeof o;
  assert_int_equal(load(b, &o.known), WICK_BAD_ARGUMENT);
  assert_string_equal(why.text, "options that this version does not know");
  assert_int_equal(wick_model_load("/nonexistent/x", &o.known, NULL), WICK_BAD_ARGUMENT);
  o.more = 0;
  assert_int_equal(load(b, &o.known), WICK_OK);
  strcpy(why.text, "as it was");
  for (uint32_t size = 0; size < sizeof(wick_load_options); size += 8) {
    o.known.size = size;
    assert_int_equal(load(b, &o.known), WICK_BAD_ARGUMENT);
    assert_string_equal(why.text, "as it was"); /* where it lies is not known */
  }
}

static void session_options_have_their_size(void **state) {
  const bytes *b = *state;
  wick_error_detail why = {{0}};
  wick_model *model;
  wick_session *s = NULL;
  newer_session o = {.known = {.threads = 1, .detail = &why}, .more = 1};
  assert_int_equal(wick_model_load_memory(b->data, b->size, NULL, &model), WICK_OK);
  assert_int_equal(wick_session_create_with(model, 0, &o.known, &s), WICK_BAD_ARGUMENT);
  assert_string_equal(why.text, "");
  o.known.size = sizeof o;
  assert_int_equal(wick_session_create_with(model, 0, &o.known, &s), WICK_BAD_ARGUMENT);
  assert_string_equal(why.text, "options that this version does not know");
  assert_null(s);
  o.more = 0;
  assert_int_equal(wick_session_create_with(model, 0, &o.known, &s), WICK_OK);
  assert_string_equal(why.text, "");
  wick_session_free(s);
  wick_model_free(model);
}

static void expect_tensors(const wick_tensor_info *t, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) assert_int_equal(t[i].size, sizeof *t);
}

static void expect_steps(const wick_step_info *s, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    assert_int_equal(s[i].size, sizeof *s);
    expect_tensors(s[i].tensors, s[i].tensor_count);
  }
}

static void expect_entry(const wick_entry_info *e) {
  assert_int_equal(e->size, sizeof *e);
  expect_tensors(e->inputs, e->input_count);
  expect_tensors(e->outputs, e->output_count);
  expect_tensors(e->edges, e->edge_count);
  expect_steps(e->steps, e->step_count);
  for (uint32_t i = 0; i < e->labels_count; i++)
    assert_int_equal(e->labels[i].size, sizeof *e->labels);
  for (uint32_t i = 0; i < e->part_count; i++) {
    assert_int_equal(e->parts[i]->size, sizeof *e->parts[i]);
    expect_tensors(e->parts[i]->inputs, e->parts[i]->input_count);
    expect_steps(e->parts[i]->steps, e->parts[i]->step_count);
  }
}

static void infos_say_their_size(void **state) {
  const bytes *b = *state;
  wick_model *model;
  assert_int_equal(wick_model_load_memory(b->data, b->size, NULL, &model), WICK_OK);
  const wick_model_info *m = wick_model_describe(model);
  assert_int_equal(m->size, sizeof *m);
  assert_true(m->unit_count && m->section_count && m->state_count);
  for (uint32_t i = 0; i < m->unit_count; i++) assert_int_equal(m->units[i].size, sizeof *m->units);
  for (uint32_t i = 0; i < m->section_count; i++)
    assert_int_equal(m->sections[i].size, sizeof *m->sections);
  for (uint32_t i = 0; i < m->state_count; i++)
    assert_int_equal(m->states[i].size, sizeof *m->states);
  for (uint32_t i = 0; i < m->entry_count; i++) expect_entry(wick_model_entry(model, i));
  wick_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(load_options_have_their_size),
                                     cmocka_unit_test(session_options_have_their_size),
                                     cmocka_unit_test(infos_say_their_size)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
