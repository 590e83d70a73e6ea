/* SPDX-License-Identifier: Apache-2.0
 * What the runtime asks of shapes and texts alone, on rows made by hand: tensors with gaps put
 * together, entries found by the shapes of inputs, labels of outputs, memory of a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/internal.h"

/* ---- tensors --------------------------------------------------------------------------------- */

static uint32_t drawn = 1;

static int64_t draw(int64_t low, int64_t high) {
  drawn = drawn * 1664525u + 1013904223u;
  return low + (int64_t)((drawn >> 8) % (uint32_t)(high - low + 1));
}

/* Axes in any order, backwards at times; *first: of the lowest element. */
static wick_tensor_info draw_tensor(int64_t *first) {
  static const uint32_t bits[] = {8, 16, 32, 64};
  wick_tensor_info t = {.rank = (uint32_t)draw(0, 5), .bits = bits[draw(0, 3)]};
  uint32_t order[WICK_MAX_RANK];
  int64_t next = 1;
  *first = 0;
  for (uint32_t i = 0; i < t.rank; i++) {
    uint32_t j = draw(0, 2) ? i : (uint32_t)draw(0, i); /* mostly row-major */
    order[i] = order[j], order[j] = i;
  }
  for (uint32_t i = t.rank; i-- > 0;) {
    uint32_t axis = order[i];
    t.dims[axis] = draw(1, 3);
    t.strides[axis] = next + (draw(0, 3) ? 0 : draw(1, 2));
    next = t.dims[axis] * t.strides[axis];
    if (draw(0, 7)) continue;
    *first += (t.dims[axis] - 1) * t.strides[axis];
    t.strides[axis] = -t.strides[axis];
  }
  t.bytes = 1;
  return t;
}

static void tensors_are_gathered(void **state) {
  (void)state;
  enum { ROOM = 8192 };
  static uint8_t from[ROOM], got[ROOM], want[ROOM];
  int dense = 0;
  for (int i = 0; i < ROOM; i++) from[i] = (uint8_t)(i * 31 + i / 256);
  for (int n = 0; n < 500; n++) {
    int64_t first, p[WICK_MAX_RANK] = {0};
    wick_tensor_info t = draw_tensor(&first);
    size_t size = t.bits / 8, at = 0;
    bool is_row_major = true;
    for (bool goes_on = true; goes_on;) {
      int64_t place = first;
      for (uint32_t i = 0; i < t.rank; i++) place += p[i] * t.strides[i];
      assert_true(place >= 0 && (size_t)(place + 1) * size <= ROOM);
      is_row_major = is_row_major && (size_t)(place - first) == at / size;
      memcpy(want + at, from + (size_t)place * size, size);
      at += size;
      int d = (int)t.rank - 1;
      for (; d >= 0 && ++p[d] == t.dims[d]; d--) p[d] = 0;
      goes_on = d >= 0;
    }
    want[at] = 77;
    memset(got, 77, at + 1);
    assert_int_equal(wick_tensor_dense_bytes(&t), at);
    assert_int_equal(wick_tensor_is_dense(&t), is_row_major);
    wick_tensor_gather(&t, from + (size_t)first * size, got);
    assert_memory_equal(got, want, at + 1);
    dense += is_row_major;
  }
  assert_true(dense > 100 && dense < 400);
}

static void packed_and_empty_tensors(void **state) {
  (void)state;
  static const struct {
    wick_tensor_info t;
    size_t bytes;
  } cases[] = {
      {{.rank = 1, .dims = {3}, .strides = {1}, .bits = 4, .bytes = 2}, 2},
      {{.rank = 2, .dims = {3, 3}, .strides = {3, 1}, .bits = 4, .bytes = 5}, 5},
      {{.rank = 1, .dims = {8}, .strides = {1}, .bits = 2, .bytes = 2}, 2},
      {{.rank = 1, .dims = {9}, .strides = {1}, .bits = 2, .bytes = 3}, 3},
      {{.rank = 0, .bits = 32, .bytes = 4}, 4},
      {{.rank = 2, .dims = {3, 0}, .strides = {7, 9}, .bits = 32, .bytes = 0}, 0},
      {{.rank = 3, .dims = {1, 4, 1}, .strides = {99, 1, 99}, .bits = 8, .bytes = 4}, 4},
  };
  for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
    uint8_t from[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8] = {0};
    assert_int_equal(wick_tensor_dense_bytes(&cases[i].t), cases[i].bytes);
    assert_true(wick_tensor_is_dense(&cases[i].t));
    wick_tensor_gather(&cases[i].t, from, got);
    for (size_t k = 0; k < sizeof got; k++)
      assert_int_equal(got[k], k < cases[i].bytes ? from[k] : 0);
  }
}

/* ---- entries --------------------------------------------------------------------------------- */

static void entries_are_found_by_all_their_inputs(void **state) {
  (void)state;
  static const wick_tensor_info a[] = {{.rank = 2, .dims = {2, 3}}, {.rank = 1, .dims = {4}}},
                                b[] = {{.rank = 2, .dims = {2, 3}}, {.rank = 1, .dims = {5}}},
                                c[] = {{.rank = 2, .dims = {2, 4}}, {.rank = 1, .dims = {4}}},
                                d[] = {{.rank = 3, .dims = {2, 3, 1}}}, e[] = {{.rank = 0}};
  static wick_entry_info entries[] = {{.inputs = d, .input_count = 1},
                                      {.inputs = a, .input_count = 2},
                                      {.inputs = b, .input_count = 2},
                                      {.inputs = c, .input_count = 2},
                                      {.inputs = a, .input_count = 2},
                                      {.inputs = e, .input_count = 1},
                                      {.input_count = 0}};
  const wick_model m = {.info.entry_count = WICK_COUNTOF(entries), .entries = entries};
  static const struct {
    wick_shape shapes[3];
    uint32_t n;
    int found; /* -1: none */
  } cases[] = {
      {{{3, {2, 3, 1}}}, 1, 0},
      {{{2, {2, 3}}, {1, {4}}}, 2, 1},
      {{{2, {2, 3}}, {1, {5}}}, 2, 2},
      {{{2, {2, 4}}, {1, {4}}}, 2, 3},
      {{{0, {0}}}, 1, 5},
      {{{0, {0}}}, 0, 6},
      {{{2, {2, 3}}}, 1, -1},
      {{{3, {2, 3, 2}}}, 1, -1},
      {{{2, {2, 3}}, {1, {6}}}, 2, -1},
      {{{2, {3, 3}}, {1, {4}}}, 2, -1},
      {{{2, {2, 3}}, {2, {4, 1}}}, 2, -1},
      {{{2, {2, 3}}, {1, {4}}, {1, {4}}}, 3, -1},
  };
  for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
    uint32_t index = 99;
    wick_status s = wick_model_find_entry(&m, cases[i].shapes, cases[i].n, &index);
    assert_int_equal(s, cases[i].found < 0 ? WICK_NO_ENTRY : WICK_OK);
    assert_int_equal(index, cases[i].found < 0 ? 99 : cases[i].found);
  }
  uint32_t index;
  assert_int_equal(wick_model_find_entry(&m, NULL, 0, &index), WICK_OK);
  assert_int_equal(index, 6);
  assert_int_equal(wick_model_find_entry(&m, NULL, 1, &index), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_model_find_entry(NULL, cases[0].shapes, 1, &index), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_model_find_entry(&m, cases[0].shapes, 1, NULL), WICK_BAD_ARGUMENT);
  assert_ptr_equal(wick_model_entry(&m, 6), &entries[6]);
  assert_null(wick_model_entry(&m, 7));
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void labels_are_those_of_the_output(void **state) {
  (void)state;
  static const char *const first[] = {"cat", "dog"}, *const last[] = {"7"};
  static const wick_labels labels[] = {{.output = 1, .count = 2, .texts = first},
                                       {.output = 4, .count = 1, .texts = last}};
  static const wick_entry_info e = {.labels = labels, .labels_count = 2}, none = {0};
  static const struct {
    uint32_t output;
    int64_t number;
    const char *want;
  } cases[] = {{1, 0, "cat"}, {1, 1, "dog"}, {1, 2, NULL}, {1, -1, NULL}, {1, INT64_MIN, NULL},
               {4, 0, "7"},   {4, 1, NULL},  {0, 0, NULL}, {2, 0, NULL},  {5, 0, NULL}};
  for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
    const char *got = wick_output_label(&e, cases[i].output, cases[i].number);
    if (cases[i].want) assert_string_equal(got, cases[i].want);
    else assert_null(got);
  }
  assert_ptr_equal(wick_output_labels(&e, 4), &labels[1]);
  assert_null(wick_output_labels(&e, 3));
  assert_null(wick_output_labels(&none, 1));
  assert_null(wick_output_labels(NULL, 1));
  assert_null(wick_output_label(NULL, 1, 0));
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void memory_is_the_models(void **state) {
  (void)state;
  wick_model m = {0};
  for (uint64_t n = 0; n < 5; n++) {
    uint8_t *p = wick_model_alloc(&m, n, 24);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 8, 0);
    for (uint64_t i = 0; i < 24 * n; i++) assert_int_equal(p[i], 0);
    memset(p, 1, (size_t)(24 * n));
  }
  assert_null(wick_model_alloc(&m, UINT64_MAX / 8, 16));
  assert_null(wick_model_alloc(&m, UINT64_MAX - 4, 1));
  assert_null(wick_model_alloc(&m, UINT64_MAX, 1));
  wick_model_release(&m);
  assert_null(m.blocks);
  wick_model_release(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_are_gathered), cmocka_unit_test(packed_and_empty_tensors),
      cmocka_unit_test(entries_are_found_by_all_their_inputs),
      cmocka_unit_test(labels_are_those_of_the_output), cmocka_unit_test(memory_is_the_models)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
