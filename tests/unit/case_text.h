/* SPDX-License-Identifier: Apache-2.0
 * Operands and attributes of test tables as text:
 *   attributes  name=value name=value; lists with commas; an expression is {dtypes:text}, no spaces
 *   tensors     f32[2,3]{1,2,3,4,5,6}; f32[2,3]{7} repeats the last value, f32[300]{1..} counts on
 *               from it; "-" is left out */
#ifndef WICK_TEST_CASE_TEXT_H
#define WICK_TEST_CASE_TEXT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/ir/ir.h"

/* Length of the next word at *s, which is moved past spaces. */
static inline size_t case_word(const char **s) {
  while (**s == ' ') (*s)++;
  return strcspn(*s, " ");
}

static inline wk_type case_type(const char *s) {
  size_t n = strcspn(s, "[");
  wk_type t = {0};
  if (!wk_dtype_from_name(s, n, &t.dtype)) fail_msg("bad type in the table: %s", s);
  for (s += n + 1; *s != ']'; s += *s == ',') t.dims[t.rank++] = strtoll(s, (char **)&s, 10);
  return t;
}

static inline wk_tensor case_tensor(const char *s) {
  wk_tensor t = {0};
  if (*s == '-') return t;
  wk_type type = case_type(s);
  wk_status st = wk_tensor_alloc(&type, &t);
  if (st) fail_msg("%s", st->message);
  const char *v = strchr(s, '{');
  int64_t n = wk_type_count(&type);
  double last = 0;
  int64_t last_int = 0;
  bool more = v != NULL, counts = false;
  for (int64_t i = 0; i < n; i++) {
    last += counts;
    last_int += counts;
    if (more) {
      char *end;
      last_int = strtoll(v + 1, &end, 10);
      if (strncmp(end, "..", 2) == 0) last = (double)last_int;
      else last = strtod(v + 1, &end);
      v = end;
      more = *end == ',';
      counts = !more && strncmp(end, "..", 2) == 0;
    }
    if (wk_dtype_is_float(type.dtype)) wk_store_f64(t.data, type.dtype, i, last);
    else wk_store_i64(t.data, type.dtype, i, last_int);
  }
  return t;
}

static inline const wk_expr *case_expr(wk_arena *a, const char *s) {
  wk_dtype dtypes[8];
  int n = 0;
  for (s++; *s != ':'; s += *s == ',') {
    size_t m = strcspn(s, ",:");
    assert_true(wk_dtype_from_name(s, m, &dtypes[n++]));
    s += m;
  }
  char *text = wk_arena_strndup(a, s + 1, strcspn(s + 1, "}"));
  wk_expr *e = NULL;
  wk_status st = wk_expr_parse(a, text, dtypes, n, &e);
  if (st) fail_msg("%s: %s", text, st->message);
  return e;
}

static inline void case_attr(wk_arena *a, const wk_field *f, void *at, const char *v, size_t m) {
  int64_t n = 0, ints[64];
  double floats[64];
  const char *end = v + m, *texts[16];
  wk_dtype t = WK_DTYPE_NONE;
  switch (f->kind) {
    case WK_FIELD_INT: *(int64_t *)at = strtoll(v, NULL, 10); break;
    case WK_FIELD_FLOAT: *(double *)at = strtod(v, NULL); break;
    case WK_FIELD_INTS:
      for (; v < end; v += *v == ',') ints[n++] = strtoll(v, (char **)&v, 10);
      *(wk_ints *)at = wk_ints_dup(a, ints, n);
      break;
    case WK_FIELD_FLOATS:
      for (; v < end; v += *v == ',') floats[n++] = strtod(v, (char **)&v);
      *(wk_floats *)at = wk_floats_dup(a, floats, n);
      break;
    case WK_FIELD_TEXT: *(const char **)at = wk_arena_strndup(a, v, m); break;
    case WK_FIELD_TEXTS:
      for (; v < end; v += *v == ',') {
        texts[n++] = wk_arena_strndup(a, v, strcspn(v, ", "));
        v += strcspn(v, ", ");
      }
      *(wk_texts *)at = (wk_texts){n, wk_arena_memdup(a, texts, (size_t)n * sizeof *texts)};
      break;
    case WK_FIELD_DTYPE:
      wk_dtype_from_name(v, m, &t);
      *(int64_t *)at = t;
      break;
    case WK_FIELD_EXPR: *(const wk_expr **)at = case_expr(a, v); break;
  }
}

static inline void *case_attrs(wk_arena *a, wk_op op, const char *s) {
  const wk_op_info *info = wk_op_get(op);
  void *attrs = wk_attrs_new(a, op);
  for (size_t n; (n = case_word(&s)) > 0; s += n) {
    size_t name = strcspn(s, "=");
    int k = 0;
    while (k < info->n_fields && (strlen(info->fields[k].name) != name ||
                                  memcmp(info->fields[k].name, s, name) != 0))
      k++;
    if (k == info->n_fields) fail_msg("%s has no attribute %.*s", info->name, (int)name, s);
    case_attr(a, &info->fields[k], (char *)attrs + info->fields[k].offset, s + name + 1,
              n - name - 1);
  }
  return attrs;
}

#endif
