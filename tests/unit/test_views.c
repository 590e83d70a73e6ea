/* SPDX-License-Identifier: Apache-2.0 */
/* Views by themselves: what lies behind one as a dense tensor, and the dims that two shapes have in
 * common. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compiler/driver/view.h"
#include "compiler/lower/generate.h"

static const int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

/* The view's elements are `want`, of these dims. */
static void gathers(const wk_view *v, int64_t n, const int32_t *want, const int64_t *dims) {
  wk_tensor t;
  assert_null(wk_view_gather(v, numbers, &t));
  assert_int_equal(t.type.rank, v->rank);
  for (int i = 0; i < v->rank; i++) assert_int_equal(t.type.dims[i], dims[i]);
  assert_int_equal(wk_type_count(&t.type), n);
  assert_memory_equal(t.data, want, (size_t)n * sizeof *want);
  wk_tensor_free(&t);
}

static void test_gather(void **state) {
  (void)state;
  const wk_view transposed = {.dtype = WK_I32, .rank = 2, .dims = {3, 2}, .strides = {1, 4},
                              .offset = 4};
  gathers(&transposed, 6, (const int32_t[]){1, 5, 2, 6, 3, 7}, (const int64_t[]){3, 2});
  const wk_view backwards = {.dtype = WK_I32, .rank = 3, .dims = {2, 2, 2},
                             .strides = {6, -3, 1}, .offset = 3 * 4};
  gathers(&backwards, 8, (const int32_t[]){3, 4, 0, 1, 9, 10, 6, 7}, (const int64_t[]){2, 2, 2});
  const wk_view repeated = {.dtype = WK_I32, .rank = 2, .dims = {5, 3}, .strides = {0, 2}};
  gathers(&repeated, 3, (const int32_t[]){0, 2, 4}, (const int64_t[]){1, 3});
  const wk_view scalar = {.dtype = WK_I32, .offset = 7 * 4};
  gathers(&scalar, 1, (const int32_t[]){7}, NULL);
  const wk_view nothing = {.dtype = WK_I32, .rank = 2, .dims = {3, 0}, .strides = {1, 1}};
  gathers(&nothing, 0, numbers, (const int64_t[]){3, 0});
}

/* rank < 0: there are no common dims. */
static void refines(wk_view a, wk_view b, int rank, const int64_t *want) {
  int64_t dims[WK_MAX_RANK];
  for (int turn = 0; turn < 2; turn++) {
    int n = -1;
    assert_int_equal(wk_dims_refine(turn ? &b : &a, turn ? &a : &b, &n, dims), rank >= 0);
    if (rank < 0) continue;
    assert_int_equal(n, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(dims[i], want[i]);
  }
}

#define DIMS(n, ...) ((wk_view){.rank = n, .dims = {__VA_ARGS__}})

static void test_refine(void **state) {
  (void)state;
  refines(DIMS(1, 24), DIMS(3, 2, 3, 4), 3, (const int64_t[]){2, 3, 4});
  refines(DIMS(2, 6, 4), DIMS(2, 2, 12), 3, (const int64_t[]){2, 3, 4});
  refines(DIMS(3, 5, 1, 7), DIMS(2, 5, 7), 2, (const int64_t[]){5, 7});
  refines(DIMS(2, 1, 1), DIMS(1, 1), 0, NULL);
  refines(DIMS(2, 2, 3), DIMS(2, 3, 2), -1, NULL);
  refines(DIMS(2, 4, 0), DIMS(2, 2, 0), -1, NULL);
  refines(DIMS(8, 2, 2, 2, 2, 2, 2, 2, 2), DIMS(1, 256), 8,
          (const int64_t[]){2, 2, 2, 2, 2, 2, 2, 2});
  refines(DIMS(8, 2, 2, 2, 2, 2, 2, 2, 6), DIMS(2, 384, 2), -1, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gather), cmocka_unit_test(test_refine)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
