/* SPDX-License-Identifier: Apache-2.0
 * What programs are made of: new instructions, views and how far they reach, what a program
 * touches; names of element types. */
#include "compiler/ir/program.h"
#include "tests/unit/case_text.h"

static void new_instructions(void **state) {
  (void)state;
  wk_program *p = wk_program_new(NULL);
  assert_string_equal(p->name, "");
  const wk_inst *i = wk_inst_new(p, WK_OP_MAX_POOL, "pool", 2, 3);
  const wk_inst *j = wk_inst_new(p, WK_OP_COPY, NULL, 0, 0);
  assert_string_equal(i->name, "pool");
  assert_string_equal(j->name, "");
  assert_non_null(i->attrs);
  for (uint32_t k = 0; k < 3; k++) {
    assert_int_equal(i->operands[k].buffer, WK_NONE);
    assert_int_equal(i->operands[k].role, k < 2 ? WK_ROLE_OUT : WK_ROLE_IN);
  }
  const wk_buffer nameless = {.region = WK_REGION_ACT, .align = 64, .offset = -1};
  wk_buffer empty = nameless;
  empty.name = "";
  assert_int_equal(wk_program_buffer(p, &nameless), 0);
  assert_int_equal(wk_program_buffer(p, &empty), 1);
  assert_string_equal(p->buffers.data[0].name, "t");
  assert_string_equal(p->buffers.data[1].name, "t.1");
  wk_program_free(p);
}

/* ---- views ----------------------------------------------------------------------------------- */

static const wk_view matrix = {
    .buffer = 1, .dtype = WK_F32, .rank = 2, .dims = {2, 3}, .strides = {3, 1}};

static void other_buffer(wk_view *v) { v->buffer = 2; }
static void other_rank(wk_view *v) { v->rank = 1; }
static void more_rank(wk_view *v) { v->rank = 3; }
static void other_offset(wk_view *v) { v->offset = 4; }
static void other_step(wk_view *v) { v->step = 4; }
static void other_dtype(wk_view *v) { v->dtype = WK_I32; }
static void other_first_dim(wk_view *v) { v->dims[0] = 1; }
static void other_last_dim(wk_view *v) { v->dims[1] = 2; }
static void other_first_stride(wk_view *v) { v->strides[0] = 4; }
static void other_last_stride(wk_view *v) { v->strides[1] = 2; }

/* Views are the same when nothing differs that says where they lie. */
static void sameness(void **state) {
  static void (*const changes[])(wk_view *) = {
      other_buffer, other_rank,      more_rank,      other_offset,       other_step,
      other_dtype,  other_first_dim, other_last_dim, other_first_stride, other_last_stride};
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(changes); k++) {
    wk_view a = matrix, b = matrix;
    assert_true(wk_view_same(&a, &b));
    changes[k](&b);
    assert_false(wk_view_same(&a, &b) || wk_view_same(&b, &a));
  }
  wk_view a = matrix, b = matrix;
  b.role = WK_ROLE_OUT;
  b.dims[2] = b.strides[2] = 7; /* past its rank */
  assert_true(wk_view_same(&a, &b));
}

/* Bytes from the first to the last; what no number holds is as far as one goes. */
static void reach(void **state) {
  static const struct {
    int64_t strides[2], offset, step, iterations, lo, hi;
  } cases[] = {{{3, 1}, 0, 0, 1, 0, 24},
               {{3, 1}, 8, 0, 0, 8, 8},
               {{3, 1}, 8, 4, 3, 8, 40},
               {{3, 1}, 8, -4, 3, 0, 32},
               {{-3, 1}, 12, 0, 1, 0, 24},
               {{-3, -1}, 20, 0, 1, 0, 24},
               {{0, 1}, 0, 0, 1, 0, 12},
               {{1, 0}, 0, 0, 1, 0, 8},
               {{INT64_MAX, 1}, 0, 0, 1, 0, INT64_MAX},
               {{INT64_MIN, 1}, 0, 0, 1, INT64_MIN, 12},
               {{INT64_MIN, 1}, -4, 0, 1, INT64_MIN, 8},
               {{1, INT64_MAX / 2}, 0, 0, 1, 0, INT64_MAX},
               {{1, INT64_MIN / 2}, 0, 0, 1, INT64_MIN, 8},
               {{3, 1}, INT64_MAX, 0, 1, INT64_MAX, INT64_MAX},
               {{3, 1}, 0, INT64_MAX, 3, 0, INT64_MAX},
               {{3, 1}, 0, INT64_MIN, 3, INT64_MIN, 24},
               {{3, 1}, 0, -1, INT64_MAX, 1 - INT64_MAX, 24}};
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    wk_view v = matrix;
    int64_t lo, hi;
    memcpy(v.strides, cases[k].strides, sizeof cases[k].strides);
    v.offset = cases[k].offset;
    v.step = cases[k].step;
    wk_view_extent(&v, cases[k].iterations, &lo, &hi);
    if (lo != cases[k].lo || hi != cases[k].hi)
      fail_msg("case %zu: %lld to %lld", k, (long long)lo, (long long)hi);
    v.dims[k % 2] = 0; /* nothing to reach */
    wk_view_extent(&v, cases[k].iterations, &lo, &hi);
    assert_true(lo == v.offset && hi == v.offset);
  }
}

/* Whether a view of other dims reads the same elements, and its strides. */
static void reshaping(void **state) {
  static const struct {
    int rank, to;
    int64_t dims[3], strides[3], want[WK_MAX_RANK], steps[WK_MAX_RANK];
    bool fits;
  } cases[] = {
      {2, 1, {2, 3}, {3, 1}, {6}, {1}, true},
      {2, 1, {2, 3}, {4, 1}, {6}, {0}, false},
      {2, 1, {2, 3}, {3, 1}, {5}, {0}, false},
      {2, 3, {2, 3}, {4, 1}, {2, 1, 3}, {4, 0, 1}, true},
      {2, 3, {2, 3}, {4, 1}, {1, 2, 3}, {0, 4, 1}, true},
      {2, 3, {2, 3}, {4, 1}, {2, 3, 1}, {4, 1, 0}, true},
      {3, 2, {2, 3, 4}, {24, 8, 2}, {6, 4}, {8, 2}, true},
      {3, 2, {2, 3, 4}, {24, 8, 2}, {3, 8}, {16, 2}, true},
      {3, 2, {2, 3, 4}, {30, 8, 2}, {2, 12}, {30, 2}, true},
      {3, 2, {2, 3, 4}, {30, 8, 2}, {6, 4}, {0}, false},
      {3, 4, {4, 1, 6}, {6, 77, 1}, {2, 2, 3, 2}, {12, 6, 2, 1}, true},
      {1, 8, {6}, {-1}, {1, 2, 1, 1, 3, 1, 1, 1}, {0, -3, 0, 0, -1, 0, 0, 0}, true},
      {2, 3, {0, 3}, {5, 5}, {4, 0, 7}, {0, 7, 1}, true},
      {2, 3, {0, 3}, {5, 5}, {0, 4, 7}, {28, 7, 1}, true},
      {1, 0, {1}, {9}, {0}, {0}, true}};
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    wk_view v = {.buffer = 1, .dtype = WK_F32, .rank = cases[k].rank, .offset = 8, .step = 4}, w;
    memset(v.dims, 0x11, sizeof v.dims); /* what is past the rank is not looked at */
    memcpy(v.dims, cases[k].dims, (size_t)v.rank * sizeof *v.dims);
    memcpy(v.strides, cases[k].strides, (size_t)v.rank * sizeof *v.strides);
    bool fits = wk_view_reshape(&v, cases[k].to, cases[k].want, &w);
    if (fits != cases[k].fits) fail_msg("case %zu", k);
    if (!fits) continue;
    assert_true(w.rank == cases[k].to && w.buffer == 1 && w.offset == 8 && w.step == 4);
    assert_memory_equal(w.dims, cases[k].want, sizeof w.dims);
    assert_memory_equal(w.strides, cases[k].steps, sizeof w.strides);
  }
  const int64_t ones[WK_MAX_RANK + 1] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  wk_view v = {.rank = 1, .dims = {1}}, w;
  assert_true(wk_view_reshape(&v, WK_MAX_RANK, ones, &w));
  assert_false(wk_view_reshape(&v, WK_MAX_RANK + 1, ones, &w));
  assert_false(wk_view_reshape(&v, -1, ones, &w));
  v = matrix;
  assert_false(wk_view_reshape(&v, -1, v.dims, &w));
  assert_false(wk_view_reshape(&v, WK_MAX_RANK + 1, v.dims, &w));
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Regions that are read or written, in bodies too. */
static void touched_regions(void **state) {
  static const char text[] =
      "program \"p\" {\nbuffer input 0 %x : f32[2]\nbuffer output 0 %y : f32[2]\n"
      "buffer const %w : 8 = splat(0)\nbuffer act %t : 8\nbuffer state 0 %v : f32[2] = {0,0,0,0,"
      "0,0,0,0}\nbuffer const %c : 1 = {1}\nbuffer scratch %s : 8\n"
      "fill(@out %t[2]:f32)\nif(; @in %c[]:bool) then {\n"
      "copy(@out %v[2]:f32; @in %w[2]:f32)\n} else {\n"
      "map(@out %y[2]:f32; @in %x[2]:f32) {body=\"%0\"}\n}\n}\n";
  static const struct {
    wk_region region;
    bool any, writes;
  } cases[] = {{WK_REGION_INPUT, true, false}, {WK_REGION_OUTPUT, true, true},
               {WK_REGION_CONST, true, false}, {WK_REGION_ACT, true, true},
               {WK_REGION_STATE, true, true},  {WK_REGION_SCRATCH, false, false}};
  (void)state;
  wk_program *p = NULL;
  wk_status s = wk_program_parse(text, "t", &p);
  if (s) fail_msg("%s: %s", s->place, s->message);
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    assert_int_equal(wk_program_touches(p, cases[k].region, false), cases[k].any);
    assert_int_equal(wk_program_touches(p, cases[k].region, true), cases[k].writes);
  }
  wk_program_free(p);
}

static void names_of_nothing(void **state) {
  static const int none[] = {-1, WK_DTYPE_COUNT, 1000};
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(none); k++) {
    assert_string_equal(wk_dtype_name((wk_dtype)none[k]), "invalid");
    assert_int_equal(wk_dtype_size((wk_dtype)none[k]), 0);
    assert_int_equal(wk_dtype_bits((wk_dtype)none[k]), 0);
  }
  assert_string_equal(wk_region_name(WK_REGION_COUNT), "?");
  assert_string_equal(wk_region_name((wk_region)-1), "?");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(new_instructions), cmocka_unit_test(sameness),
      cmocka_unit_test(reach),            cmocka_unit_test(reshaping),
      cmocka_unit_test(touched_regions),  cmocka_unit_test(names_of_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
