/* SPDX-License-Identifier: Apache-2.0
 * Every number of a package's tables that the loader relies on, wrong once: without checksums, so
 * that only the check of this number stands between it and the runtime. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/wick.h"
#include "tests/unit/tiny_package.h"
#include "tests/unit/toy_package.h"

typedef struct {
  uint8_t *data;
  size_t size;
} bytes;

static bytes build(bool is_toy) {
  bytes b;
  void *data;
  wk_package *p = is_toy ? toy_package() : tiny_package("");
  assert_null(wk_package_bytes(p, &data, &b.size));
  wk_package_free(p);
  b.data = data;
  return b;
}

/* The tables of the package at hand; io: the tensors of entry 0. */
static wick_pkg_section *section;
static wick_pkg_meta *meta;
static wick_pkg_unit *unit;
static wick_pkg_part *part;
static wick_pkg_entry *entry;
static wick_pkg_tensor *tensor, *io;
static wick_pkg_row *row;
static uint32_t *ref;
static wick_pkg_step *step;
static wick_pkg_state *state;
static wick_pkg_labels *labels;
static wick_pkg_extent *extent;
static wick_pkg_symbol *symbol;
static char *strings;

static uint32_t *ref_of(uint32_t number) { return ref + row[number].first_ref; }
static uint32_t *wait_of(uint32_t number) { return ref + row[number].first_wait; }

static wick_pkg_row *row_of_ragged(uint32_t number) {
  return row + entry[TOY_RAGGED].first_row + number;
}
static uint32_t *ref_of_ragged(uint32_t number) { return ref + row_of_ragged(number)->first_ref; }
static wick_pkg_tensor *of_ragged(uint32_t number) {
  return tensor + entry[TOY_RAGGED].first_tensor + number;
}

static void *table(const bytes *b, wick_section_kind kind) {
  return b->data + section[kind - 1].offset;
}

static void find_tables(const bytes *b) {
  section = (wick_pkg_section *)(b->data + sizeof(wick_pkg_header));
  meta = table(b, WICK_SECTION_META);
  unit = table(b, WICK_SECTION_UNITS);
  part = table(b, WICK_SECTION_PARTS);
  entry = table(b, WICK_SECTION_ENTRIES);
  tensor = table(b, WICK_SECTION_TENSORS);
  row = table(b, WICK_SECTION_PLAN);
  ref = table(b, WICK_SECTION_REFS);
  step = table(b, WICK_SECTION_STEPS);
  state = table(b, WICK_SECTION_STATES);
  labels = table(b, WICK_SECTION_LABELS);
  extent = table(b, WICK_SECTION_EXTENTS);
  symbol = table(b, WICK_SECTION_SYMS);
  strings = table(b, WICK_SECTION_STRINGS);
  io = tensor + entry[0].first_tensor;
}

/* The loop of rows 6 to 8 within the body of row 3, which it does not wait for. */
static void nest(void) {
  row[3].body_count = 5;
  row[3].else_count = 0;
  wait_of(6)[0] = 2;
}

/* The same in its other body. */
static void nest_in_else(void) {
  nest();
  row[3].body_count = 1;
  row[3].else_count = 4;
}

#define PATCH(package, name, where, change) \
  static void patch_##name(void) { (void)(change); }
#include "tests/unit/package_patches.def"
#undef PATCH

typedef enum { tiny, toy } package;

static const struct {
  package package;
  const char *name, *where;
  void (*change)(void);
} patches[] = {
#define PATCH(package, name, where, change) {package, #name, where, patch_##name},
#include "tests/unit/package_patches.def"
#undef PATCH
};

static wick_status try_load(const bytes *b, wick_error_detail *detail) {
  wick_model *model;
  const wick_load_options options = {.size = sizeof options,
                                     .flags = WICK_LOAD_UNCHECKED | WICK_LOAD_DESCRIBE,
                                     .detail = detail};
  wick_status status = wick_model_load_memory(b->data, b->size, &options, &model);
  if (status == WICK_OK) wick_model_free(model);
  return status;
}

static void every_wrong_number_is_refused(void **context) {
  int bad = 0;
  (void)context;
  for (size_t i = 0; i < WK_COUNTOF(patches); i++) {
    bytes b = build(patches[i].package == toy);
    find_tables(&b);
    wick_error_detail detail;
    assert_int_equal(try_load(&b, &detail), WICK_OK);
    patches[i].change();
    wick_status status = try_load(&b, &detail);
    if (status != WICK_CORRUPT || !strstr(detail.text, patches[i].where)) {
      print_error("%s: status %d, '%s'\n", patches[i].name, (int)status, detail.text);
      bad++;
    }
    free(b.data);
  }
  assert_int_equal(bad, 0);
}

/* What is unusual, and no contradiction. */
static void loop_of_no_rounds(void) { row[6].trip = 0, row[8].source_step = 1 << 20; }
static void arena_at_its_bound(void) { part[0].arena_bytes = part[0].arena_bound = 64; }
static void last_text(void) { tensor[0].name = (uint32_t)section[12].size - 1; }
static void step_of_no_rounds(void) { row[6].trip = 0, row[8].source_step = INT64_MAX; }
static void wait_within_a_nested_loop(void) { nest(); }
static void wait_within_a_nested_loop_of_else(void) { nest_in_else(); }
static void wait_beside_its_loop(void) { nest(), wait_of(8)[0] = 5; }
static void wait_behind_both(void) { /* which end together */
  nest();
  row[3].body_count = 4;
  row[6].body_count = 1;
  wait_of(8)[0] = 3;
}
static void wait_before_all_owners(void) { nest(), wait_of(8)[0] = 2; }

static void numbers_at_their_limits_are_taken(void **context) {
  static void (*const changes[])(void) = {loop_of_no_rounds, arena_at_its_bound, last_text,
                                          step_of_no_rounds, wait_within_a_nested_loop,
                                          wait_within_a_nested_loop_of_else,
                                          wait_beside_its_loop, wait_behind_both,
                                          wait_before_all_owners};
  (void)context;
  for (size_t i = 0; i < WK_COUNTOF(changes); i++) {
    bytes b = build(true);
    find_tables(&b);
    changes[i]();
    wick_error_detail detail = {{0}};
    wick_status status = try_load(&b, &detail);
    if (status != WICK_OK) fail_msg("change %zu: %s", i, detail.text);
    free(b.data);
  }
}

static void outputs_have_labels(void **context) {
  (void)context;
  wick_model *m;
  bytes b = build(true);
  const wick_load_options options = {.size = sizeof options, .flags = WICK_LOAD_DESCRIBE};
  assert_int_equal(wick_model_load_memory(b.data, b.size, &options, &m), WICK_OK);
  const wick_entry_info *e = wick_model_entry(m, TOY_UNTIL), *plan = wick_model_entry(m, TOY_PLAN);
  assert_int_equal(plan->labels_count, 0);
  assert_null(wick_output_labels(plan, 0));
  assert_null(wick_output_label(plan, 0, 0));
  assert_int_equal(e->labels_count, 2);
  const wick_labels *y = wick_output_labels(e, 0), *i = wick_output_labels(e, 1);
  assert_true(y->kind == WICK_LABELS_COLUMNS && y->are_numbers && y->count == 4);
  assert_true(i->kind == WICK_LABELS_ELEMENTS && !i->are_numbers && i->count == 2);
  assert_string_equal(wick_output_label(e, 0, 1), "-1");
  assert_string_equal(wick_output_label(e, 1, 1), "once");
  assert_null(wick_output_label(e, 0, 4));
  assert_null(wick_output_label(e, 1, -1));
  assert_null(wick_output_label(e, 2, 0));
  assert_null(wick_output_label(NULL, 0, 0));
  assert_int_equal(wick_model_entry(m, TOY_COUNTS)->labels_count, 1);
  assert_string_equal(wick_output_label(wick_model_entry(m, TOY_COUNTS), 0, 3), "d");
  assert_null(wick_output_label(wick_model_entry(m, TOY_COUNTS), 1, 0));
  wick_model_free(m);
  free(b.data);
}

/* Those of the last entry are the last numbers that there are. */
static void labels_may_end_the_numbers(void **context) {
  static const char *const texts[] = {"a", "b", "c", "d"};
  static const wk_package_labels names = {WICK_LABELS_COLUMNS, 0, texts, 4};
  const wk_package_tensor x = toy_tensor("x", WICK_F32, 1);
  wk_package_tensor y = toy_tensor("y", WICK_F32, 1);
  const wk_package_row copy = {.kind = WICK_ROW_COPY, TOY_ON(0, 1), .bytes = 16};
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "labels"});
  wick_model *model = NULL;
  void *data;
  size_t size;
  (void)context;
  y.labels = &names;
  wk_package_add_entry(p, &(wk_package_entry){.inputs = &x, .n_inputs = 1, .outputs = &y,
                                              .n_outputs = 1, .rows = &copy, .n_rows = 1});
  assert_null(wk_package_bytes(p, &data, &size));
  assert_int_equal(wick_model_load_memory(data, size, NULL, &model), WICK_OK);
  assert_string_equal(wick_output_label(wick_model_entry(model, 0), 0, 3), "d");
  wick_model_free(model);
  free(data);
  wk_package_free(p);
}

/* The caller's tensors by themselves: the row that uses them looks at bytes only. */
static void ports_are_plain(void **context) {
  static const struct {
    const char *what;
    int port; /* the input, the output */
    int64_t stride;
    uint32_t bytes, align, place, flags;
    wick_status status;
  } cases[] = {
      {"as they are", 0, 1, 16, 4, WICK_PLACE_CALLER, 0, WICK_OK},
      {"aligned more", 1, 1, 16, 64, WICK_PLACE_CALLER, 0, WICK_OK},
      {"an input aligned too little", 0, 1, 16, 2, WICK_PLACE_CALLER, 0, WICK_CORRUPT},
      {"an output aligned too little", 1, 1, 16, 2, WICK_PLACE_CALLER, 0, WICK_CORRUPT},
      {"an input with gaps", 0, 2, 28, 4, WICK_PLACE_CALLER, 0, WICK_CORRUPT},
      {"an output with gaps", 1, 2, 28, 4, WICK_PLACE_CALLER, 0, WICK_CORRUPT},
      {"an input in an edge", 0, 1, 16, 4, WICK_PLACE_EDGE, 0, WICK_CORRUPT},
      {"an output on a device", 1, 1, 16, 4, WICK_PLACE_DEVICE, 0, WICK_CORRUPT},
      {"an input with a bound", 0, 1, 16, 4, WICK_PLACE_CALLER, WICK_TENSOR_BOUND, WICK_CORRUPT},
      {"an output with a bound", 1, 1, 16, 4, WICK_PLACE_CALLER, WICK_TENSOR_BOUND, WICK_OK},
  };
  const wk_package_tensor x = toy_tensor("x", WICK_F32, 1), y = toy_tensor("y", WICK_F32, 1);
  const wk_package_row copy = {.kind = WICK_ROW_COPY, TOY_ON(0, 1), .bytes = 16};
  (void)context;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_package *p = wk_package_new(&(wk_package_meta){.model = "ports"});
    bytes b;
    void *data;
    wick_error_detail detail = {{0}};
    wk_package_add_entry(p, &(wk_package_entry){.inputs = &x, .n_inputs = 1, .outputs = &y,
                                                .n_outputs = 1, .rows = &copy, .n_rows = 1});
    assert_null(wk_package_bytes(p, &data, &b.size));
    b.data = data;
    find_tables(&b);
    wick_pkg_tensor *t = &io[cases[i].port];
    t->strides[0] = cases[i].stride, t->bytes = cases[i].bytes, t->align = cases[i].align;
    t->place = cases[i].place, t->flags = cases[i].flags;
    wick_status status = try_load(&b, &detail);
    if (status != cases[i].status) fail_msg("%s: %s", cases[i].what, detail.text);
    free(data);
    wk_package_free(p);
  }
}

/* Of a part's input of 2 x 2 and the entry's, which are of the same size all the same. */
static void parts_take_what_they_were_made_for(void **context) {
  static const int64_t two_two[] = {2, 2};
  static const struct {
    const char *what;
    int64_t dims[2], of_part[2], strides[2];
    uint32_t dtype;
    wick_status status;
  } cases[] = {
      {"as they are", {2, 2}, {2, 2}, {2, 1}, WICK_F32, WICK_OK},
      {"other dims", {1, 4}, {2, 2}, {2, 1}, WICK_F32, WICK_CORRUPT},
      {"other dims of the part", {2, 2}, {1, 4}, {2, 1}, WICK_F32, WICK_CORRUPT},
      {"an axis of one, which has any stride", {1, 4}, {1, 4}, {7, 1}, WICK_F32, WICK_OK},
      {"the other order", {2, 2}, {2, 2}, {1, 2}, WICK_F32, WICK_CORRUPT},
      {"another type of the size", {2, 2}, {2, 2}, {2, 1}, WICK_I32, WICK_CORRUPT},
  };
  wk_package_tensor x = toy_tensor("x", WICK_F32, 1), y = toy_tensor("y", WICK_F32, 1);
  x.rank = 2;
  x.dims = two_two;
  const wk_package_tensor io_of_part[] = {x, y};
  (void)context;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_package *p = wk_package_new(&(wk_package_meta){.model = "square"});
    bytes b;
    void *data;
    wick_error_detail detail = {{0}};
    uint32_t number = wk_package_add_unit(p, &(wk_package_unit){.target = "async", .spec = ""});
    uint32_t made = toy_add_part(p, "part", number, 0, io_of_part, 1, 1);
    const wk_package_row run = {.kind = WICK_ROW_RUN, .part = made, TOY_ON(0, 1)};
    wk_package_add_entry(p, &(wk_package_entry){.inputs = &x, .n_inputs = 1, .outputs = &y,
                                                .n_outputs = 1, .rows = &run, .n_rows = 1});
    assert_null(wk_package_bytes(p, &data, &b.size));
    b.data = data;
    find_tables(&b);
    wick_pkg_tensor *t = &tensor[part[0].first_tensor];
    assert_ptr_not_equal(t, io);
    for (int k = 0; k < 2; k++) {
      io[0].dims[k] = cases[i].dims[k];
      t->dims[k] = cases[i].of_part[k];
      t->strides[k] = cases[i].strides[k];
    }
    t->dtype = cases[i].dtype;
    wick_status status = try_load(&b, &detail);
    if (status != cases[i].status) fail_msg("%s: %s", cases[i].what, detail.text);
    free(data);
    wk_package_free(p);
  }
}

/* Bodies in bodies up to what the runtime has room for. */
static void depth_is_limited(void **context) {
  static const uint32_t condition[] = {0};
  (void)context;
  for (uint32_t depth = 30; depth < 40; depth++) {
    wk_package *p = wk_package_new(&(wk_package_meta){.model = "deep"});
    wk_package_row rows[40];
    const wk_package_tensor c = toy_tensor("c", WICK_BOOL, 0);
    for (uint32_t i = 0; i < depth; i++)
      rows[i] = (wk_package_row){.kind = WICK_ROW_IF, .tensors = condition, .n_tensors = 1,
                                 .body_count = depth - 1 - i};
    wk_package_add_entry(p, &(wk_package_entry){.inputs = &c, .n_inputs = 1, .rows = rows,
                                                .n_rows = depth});
    void *data;
    size_t size;
    wick_model *model = NULL;
    assert_null(wk_package_bytes(p, &data, &size));
    wick_status status = wick_model_load_memory(data, size, NULL, &model);
    assert_int_equal(status, depth <= 33 ? WICK_OK : WICK_CORRUPT);
    if (status == WICK_OK) wick_model_free(model);
    free(data);
    wk_package_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_wrong_number_is_refused),
      cmocka_unit_test(numbers_at_their_limits_are_taken),
      cmocka_unit_test(outputs_have_labels),
      cmocka_unit_test(labels_may_end_the_numbers),
      cmocka_unit_test(ports_are_plain),
      cmocka_unit_test(parts_take_what_they_were_made_for),
      cmocka_unit_test(depth_is_limited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
