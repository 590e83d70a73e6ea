/* SPDX-License-Identifier: Apache-2.0
 * Products of which a run needs some rows only, the first ones or those of a list: these are what
 * the whole product has there, to the bit, with a residual that lies where the result goes; nothing
 * outside the tensors is touched. */
#include "tests/kernel_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct {
  int64_t m, n, k;
  wk_cpu_types types;
  bool is_run_time; /* B is no constant */
  bool has_list;
  int64_t each;     /* rows for each unit of the size; 0: one */
} product;

#define HALF {WK_F16, WK_F16, WK_F16, 0}
#define BYTE {WK_U8, WK_I8, 0, 0}

/* Widths that make panels of every number of vectors, and one that has a tail; long sums, which are
 * cut into blocks. */
static const product products[] = {
    {1, 64, 24, {0}, 0, 0, 0},
    {5, 64, 24, {0}, 0, 0, 0},
    {7, 64, 24, {0}, 0, 0, 0},
    {13, 16, 9, {0}, 0, 0, 0},
    {29, 16, 40, {0}, 0, 0, 0},
    {40, 40, 13, {0}, 0, 0, 0},
    {50, 64, 700, {0}, 0, 0, 0},
    {45, 32, 20, {0}, 1, 0, 0},
    {20, 33, 20, {0}, 1, 0, 0},
    {30, 64, 20, {0}, 0, 1, 0},
    {44, 16, 20, {0}, 0, 1, 0},
    {17, 64, 700, {0}, 0, 1, 0},
    {30, 64, 24, HALF, 0, 0, 0},
    {50, 64, 28, BYTE, 0, 0, 0},
    {30, 16, 24, BYTE, 0, 0, 0},
    {32, 32, 16, {0}, 0, 0, 4},
    {45, 16, 16, BYTE, 0, 0, 9},
};

static kh_case case_of(const product *p) {
  const int64_t each = p->each ? p->each : p->m, a = p->k + 3, y = p->n + 5;
  return (kh_case){.name = "rows",
                   .epilogue = KH_BIAS_RESIDUAL_RELU,
                   .matmul = {.batch = {p->m / each, 1},
                              .m = each,
                              .n = p->n,
                              .k = p->k,
                              .a_stride = {each * a, 0, a},
                              .b_stride = {0, 0, p->n, 1},
                              .y_stride = {each * y, 0, y},
                              .b_constant = !p->is_run_time,
                              .types = p->types,
                              .row_limit = p->each ? 0 : 1,
                              .batch_limit = p->each ? 1 : 0,
                              .batch_rows = p->each,
                              .list_limit = p->has_list ? 1 : 0,
                              .list_rows = p->m}};
}

/* Each row once, those that come first among them drawn. */
static void shuffle(int64_t *list, int64_t n, uint64_t seed) {
  wk_rng r = {seed};
  for (int64_t i = 0; i < n; i++) {
    int64_t other = wk_rng_range(&r, 0, i);
    list[i] = list[other];
    list[other] = i;
  }
}

/* The result of `live` rows, on top of the residual. */
static void run(kh_case *c, int64_t live, const int64_t *list, char *y) {
  bool is_int = kh_is_int(c);
  void *args[9] = {y, c->x, c->packed ? (void *)c->packed : (void *)c->w, c->bias};
  int n = 4;
  if (is_int) args[n++] = c->multiplier, args[n++] = c->shift;
  args[n++] = is_int ? (void *)c->residual : (void *)y;
  args[n++] = &live;
  args[n++] = (void *)list;
  if (!is_int) memcpy(y, c->residual, (size_t)kh_sizes(c).y);
  memset(c->scratch, 0xff, (size_t)c->kernel.scratch_bytes);
  c->task(args, c->scratch, 0, c->kernel.n_tasks);
}

static void check_size(const wk_simd *simd, kh_case *c, const product *p, int64_t live,
                       const char *whole, char *y) {
  int64_t list[64], size = wk_dtype_size(kh_types_of(c).y), pitch = c->matmul.y_stride[2] * size;
  int64_t each = p->each ? p->each : 1, some = live < 0 ? 0 : live;
  int64_t rows = some < p->m / each ? some * each : p->m;
  shuffle(list, p->m, (uint64_t)live + 1000);
  run(c, live, list, y);
  for (int64_t i = 0; i < rows; i++) {
    int64_t row = p->has_list ? list[i] : i;
    if (memcmp(y + row * pitch, whole + row * pitch, (size_t)(p->n * size)))
      fail_msg("%s: %dx%dx%d, size %lld: row %d", simd->name, (int)p->m, (int)p->n, (int)p->k,
               (long long)live, (int)row);
  }
}

/* Any number may be a size. */
static void check(const wk_simd *simd, kh_case *c, const product *p, const char *whole, char *y) {
  const int64_t far[] = {INT64_MIN, INT64_MAX, INT64_C(1) << 61, INT64_C(1) << 62,
                         (INT64_C(1) << 62) + 1};
  for (int64_t live = -1; live <= p->m; live++) check_size(simd, c, p, live, whole, y);
  for (size_t i = 0; i < WK_COUNTOF(far); i++) check_size(simd, c, p, far[i], whole, y);
}

static void check_isa(const wk_simd *simd) {
  static kh_case cases[WK_COUNTOF(products)];
  kh_module m;
  kh_module_init(&m, simd);
  for (size_t i = 0; i < WK_COUNTOF(products); i++) {
    cases[i] = case_of(&products[i]);
    kh_case_emit(&m, &cases[i]);
  }
  kh_module_load(&m, cases, WK_COUNTOF(products), NULL);
  for (size_t i = 0; i < WK_COUNTOF(products); i++) {
    kh_case *c = &cases[i];
    kh_case_alloc(simd, c, 100 + i);
    int64_t bytes = kh_sizes(c).y, all[64];
    char *whole = kh_alloc(bytes);
    for (int64_t row = 0; row < products[i].m; row++) all[row] = row;
    run(c, products[i].m, all, whole);
    check(simd, c, &products[i], whole, (char *)c->y);
    kh_free(whole, bytes);
    kh_case_free(c);
  }
  kh_module_free(&m);
}

static void some_rows_are_as_all(void **state) {
  (void)state;
  const wk_simd *simd;
  for (int i = 0; (simd = wk_simd_row(i)); i++)
    if (wk_simd_runs_here(simd)) check_isa(simd);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(some_rows_are_as_all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
