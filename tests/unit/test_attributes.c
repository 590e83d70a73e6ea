/* SPDX-License-Identifier: Apache-2.0
 * Attributes of every operator: which are equal, that their hashes tell them apart, and that copies
 * are copies. Every field takes every value of a list for its kind. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/ir/ir.h"

/* ---- values ---------------------------------------------------------------------------------- */

static const int64_t ints[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_C(1) << 32};
static const double floats[] = {0.0, -0.0, 1, -1, NAN, INFINITY, 5e-324};
static const int64_t int_data[] = {1, 2, 1, 0, 0};
static const wk_ints int_lists[] = {
    {0, NULL},         {1, int_data},     {1, int_data + 1}, {2, int_data},
    {2, int_data + 1}, {1, int_data + 3}, {2, int_data + 3}};
static const double float_data[] = {1, 2, 1, 0.0, 0.0, -0.0};
static const wk_floats float_lists[] = {
    {0, NULL},           {1, float_data},     {1, float_data + 1}, {2, float_data},
    {2, float_data + 1}, {1, float_data + 3}, {2, float_data + 3}, {2, float_data + 4}};
static const char *const texts[] = {NULL, "", "a", "b", "ab"};
static const char *words[] = {"a", "b", "ab", "", ""};
static const wk_texts text_lists[] = {{0, NULL},      {1, words},     {1, words + 1}, {2, words},
                                      {1, words + 2}, {1, words + 3}, {2, words + 3}, {3, words}};

/* expressions: none, and two that differ */
static const wk_expr *exprs[3];

static int values_of(wk_field_kind kind) {
  switch (kind) {
    case WK_FIELD_INT: return WK_COUNTOF(ints);
    case WK_FIELD_DTYPE: return WK_DTYPE_COUNT;
    case WK_FIELD_FLOAT: return WK_COUNTOF(floats);
    case WK_FIELD_INTS: return WK_COUNTOF(int_lists);
    case WK_FIELD_FLOATS: return WK_COUNTOF(float_lists);
    case WK_FIELD_TEXT: return WK_COUNTOF(texts);
    case WK_FIELD_TEXTS: return WK_COUNTOF(text_lists);
    case WK_FIELD_EXPR: return WK_COUNTOF(exprs);
  }
  return 0;
}

static void set(void *attrs, const wk_field *f, int k) {
  void *at = (char *)attrs + f->offset;
  switch (f->kind) {
    case WK_FIELD_INT: *(int64_t *)at = ints[k]; break;
    case WK_FIELD_DTYPE: *(int64_t *)at = k; break;
    case WK_FIELD_FLOAT: *(double *)at = floats[k]; break;
    case WK_FIELD_INTS: *(wk_ints *)at = int_lists[k]; break;
    case WK_FIELD_FLOATS: *(wk_floats *)at = float_lists[k]; break;
    case WK_FIELD_TEXT: *(const char **)at = texts[k]; break;
    case WK_FIELD_TEXTS: *(wk_texts *)at = text_lists[k]; break;
    case WK_FIELD_EXPR: *(const wk_expr **)at = exprs[k]; break;
  }
}

/* What a field of this kind points to, NULL for none. */
static const void *pointed(const void *attrs, const wk_field *f) {
  const void *at = (const char *)attrs + f->offset;
  switch (f->kind) {
    case WK_FIELD_INTS: return ((const wk_ints *)at)->v;
    case WK_FIELD_FLOATS: return ((const wk_floats *)at)->v;
    case WK_FIELD_TEXT: return *(const char *const *)at;
    case WK_FIELD_TEXTS: return ((const wk_texts *)at)->v;
    case WK_FIELD_EXPR: return *(const wk_expr *const *)at;
    default: return NULL;
  }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void check(const wk_op_info *info, wk_op op, const void *x, const void *y, bool same,
                  const char *field) {
  if (wk_attrs_equal(op, x, y) != same)
    fail_msg("%s, %s: attributes are %s", info->name, field, same ? "different" : "equal");
  if ((wk_attrs_hash(op, x, 5) == wk_attrs_hash(op, y, 5)) != same)
    fail_msg("%s, %s: hashes are %s", info->name, field, same ? "different" : "equal");
}

static void check_copy(wk_arena *a, const wk_op_info *info, wk_op op, const void *x) {
  const void *y = wk_attrs_clone(a, op, x);
  check(info, op, x, y, true, "a copy");
  for (int i = 0; i < info->n_fields; i++) {
    const void *from = pointed(x, &info->fields[i]), *to = pointed(y, &info->fields[i]);
    if (from && from == to) fail_msg("%s, %s: not copied", info->name, info->fields[i].name);
  }
}

static void test_fields(void **state) {
  (void)state;
  wk_arena *a = wk_arena_new();
  exprs[1] = wk_expr_identity(a, WK_F32);
  exprs[2] = wk_expr_identity(a, WK_F64);
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const wk_op_info *info = wk_op_get((wk_op)op);
    for (int i = 0; i < info->n_fields; i++) {
      const wk_field *f = &info->fields[i];
      for (int k = 0; k < values_of(f->kind); k++) {
        void *x = wk_attrs_new(a, (wk_op)op), *y = wk_attrs_new(a, (wk_op)op);
        set(x, f, k);
        for (int j = 0; j < values_of(f->kind); j++) {
          set(y, f, j);
          check(info, (wk_op)op, x, y, j == k, f->name);
        }
        check_copy(a, info, (wk_op)op, x);
      }
    }
    wk_arena_reset(a);
    exprs[1] = wk_expr_identity(a, WK_F32);
    exprs[2] = wk_expr_identity(a, WK_F64);
  }
  wk_arena_free(a);
}

/* Values that move from one field to another of its kind. */
static void test_neighbours(void **state) {
  (void)state;
  wk_arena *a = wk_arena_new();
  size_t pairs = 0;
  exprs[1] = wk_expr_identity(a, WK_F32);
  exprs[2] = wk_expr_identity(a, WK_F64);
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const wk_op_info *info = wk_op_get((wk_op)op);
    for (int i = 0; i < info->n_fields; i++)
      for (int j = i + 1; j < info->n_fields; j++) {
        const wk_field *f = &info->fields[i], *g = &info->fields[j];
        if (f->kind != g->kind) continue;
        int n = values_of(f->kind);
        void *x = wk_attrs_new(a, (wk_op)op), *y = wk_attrs_new(a, (wk_op)op);
        for (int k = 0; k < n * n; k++) {
          set(x, f, k % n);
          set(x, g, k / n);
          set(y, f, k / n);
          set(y, g, k % n);
          check(info, (wk_op)op, x, y, k % n == k / n, f->name);
        }
        pairs++;
      }
  }
  assert_true(pairs > 100);
  wk_arena_free(a);
}

static void test_operators(void **state) {
  (void)state;
  wk_arena *a = wk_arena_new();
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const void *x = wk_attrs_new(a, (wk_op)op);
    if (wk_attrs_hash((wk_op)op, x, 5) == wk_attrs_hash((wk_op)op, x, 6)) fail_msg("seeds");
    if (wk_op_get((wk_op)op)->n_fields) continue;
    for (int other = 0; other < op; other++)
      if (!wk_op_get((wk_op)other)->n_fields &&
          wk_attrs_hash((wk_op)op, x, 5) == wk_attrs_hash((wk_op)other, x, 5))
        fail_msg("%s and %s", wk_op_get((wk_op)op)->name, wk_op_get((wk_op)other)->name);
  }
  wk_arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields),
                                     cmocka_unit_test(test_neighbours),
                                     cmocka_unit_test(test_operators)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
