/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute structs as text, by the field table. Expressions are quoted strings; they are parsed
 * last, in the table's order, because the dtypes of their inputs may depend on other attributes. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/text.h"

#define FIELD(type, attrs, f) ((type *)(void *)((char *)(attrs) + (f)->offset))
#define CFIELD(type, attrs, f) ((const type *)(const void *)((const char *)(attrs) + (f)->offset))

/* ---- printing ------------------------------------------------------------------------------ */

static bool is_default(const wk_field *f, const void *attrs) {
  switch (f->kind) {
  case WK_FIELD_INT:
  case WK_FIELD_DTYPE: return *CFIELD(int64_t, attrs, f) == f->def_int;
  case WK_FIELD_FLOAT: return memcmp(CFIELD(double, attrs, f), &f->def_float, 8) == 0;
  case WK_FIELD_INTS: return CFIELD(wk_ints, attrs, f)->n == 0;
  case WK_FIELD_FLOATS: return CFIELD(wk_floats, attrs, f)->n == 0;
  case WK_FIELD_TEXTS: return CFIELD(wk_texts, attrs, f)->n == 0;
  case WK_FIELD_TEXT: return strcmp(*CFIELD(char *, attrs, f), f->def_text) == 0;
  case WK_FIELD_EXPR: return !*CFIELD(wk_expr *, attrs, f);
  }
  return false;
}

static void print_floats(wk_str *b, const wk_floats *v) {
  wk_str_add(b, "[");
  for (int64_t i = 0; i < v->n; i++) {
    if (i) wk_str_add(b, ",");
    wk_str_f64(b, v->v[i]);
  }
  wk_str_add(b, "]");
}

static void print_texts(wk_str *b, const wk_texts *v) {
  wk_str_add(b, "[");
  for (int64_t i = 0; i < v->n; i++) {
    if (i) wk_str_add(b, ",");
    wk_str_quote(b, v->v[i]);
  }
  wk_str_add(b, "]");
}

static void print_value(wk_str *b, const wk_field *f, const void *attrs) {
  switch (f->kind) {
  case WK_FIELD_INT: wk_str_printf(b, "%lld", (long long)*CFIELD(int64_t, attrs, f)); break;
  case WK_FIELD_DTYPE:
    wk_str_add(b, wk_dtype_name((wk_dtype)*CFIELD(int64_t, attrs, f)));
    break;
  case WK_FIELD_FLOAT: wk_str_f64(b, *CFIELD(double, attrs, f)); break;
  case WK_FIELD_INTS: {
    const wk_ints *v = CFIELD(wk_ints, attrs, f);
    wk_ints_print(b, v->v, v->n, '[', ']');
    break;
  }
  case WK_FIELD_FLOATS: print_floats(b, CFIELD(wk_floats, attrs, f)); break;
  case WK_FIELD_TEXTS: print_texts(b, CFIELD(wk_texts, attrs, f)); break;
  case WK_FIELD_TEXT: wk_str_quote(b, *CFIELD(char *, attrs, f)); break;
  case WK_FIELD_EXPR: {
    wk_str text = {0};
    wk_expr_print(&text, *CFIELD(wk_expr *, attrs, f));
    wk_str_quote(b, text.s);
    wk_str_free(&text);
    break;
  }
  }
}

void wk_attrs_print(wk_str *b, wk_op op, const void *attrs) {
  const wk_op_info *info = wk_op_get(op);
  bool any = false;
  for (int i = 0; i < info->n_fields; i++) {
    const wk_field *f = &info->fields[i];
    if (is_default(f, attrs)) continue;
    wk_str_printf(b, "%s%s=", any ? ", " : " {", f->name);
    print_value(b, f, attrs);
    any = true;
  }
  if (any) wk_str_add(b, "}");
}

/* ---- values -------------------------------------------------------------------------------- */

static wk_status parse_floats(wk_lexer *l, wk_arena *a, wk_floats *out) {
  WK_VEC(double) v = {0};
  bool more = true;
  wk_status s = wk_lex_expect(l, '[');
  if (!s && wk_lex_is(l, ']')) more = false;
  while (!s && more) {
    double x = 0;
    s = wk_lex_f64(l, &x);
    wk_vec_push(&v, x);
    if (!s) s = wk_lex_accept(l, ',', &more);
  }
  if (!s) s = wk_lex_expect(l, ']');
  if (!s) *out = wk_floats_dup(a, v.data, (int64_t)v.n);
  wk_vec_free(&v);
  return s;
}

static wk_status parse_texts(wk_lexer *l, wk_arena *a, wk_texts *out) {
  WK_VEC(const char *) v = {0};
  bool more = true;
  wk_status s = wk_lex_expect(l, '[');
  if (!s && wk_lex_is(l, ']')) more = false;
  while (!s && more) {
    const char *x = "";
    s = wk_lex_text(l, WK_TOK_STRING, &x);
    wk_vec_push(&v, wk_arena_strdup(a, x));
    if (!s) s = wk_lex_accept(l, ',', &more);
  }
  if (!s) s = wk_lex_expect(l, ']');
  if (!s && v.n)
    *out = (wk_texts){(int64_t)v.n, wk_arena_memdup(a, v.data, v.n * sizeof *v.data)};
  wk_vec_free(&v);
  return s;
}

/* Everything but expressions, whose text is kept with its place in exprs[position of the field]. */
static wk_status parse_value(wk_lexer *l, wk_arena *a, const wk_field *f, void *attrs,
                             wk_token *expr) {
  const char *text = NULL;
  wk_dtype t;
  switch (f->kind) {
  case WK_FIELD_INT: return wk_lex_int(l, FIELD(int64_t, attrs, f));
  case WK_FIELD_FLOAT: return wk_lex_f64(l, FIELD(double, attrs, f));
  case WK_FIELD_INTS: return wk_ints_parse(l, a, '[', ']', FIELD(wk_ints, attrs, f));
  case WK_FIELD_FLOATS: return parse_floats(l, a, FIELD(wk_floats, attrs, f));
  case WK_FIELD_TEXTS: return parse_texts(l, a, FIELD(wk_texts, attrs, f));
  case WK_FIELD_TEXT:
    WK_TRY(wk_lex_text(l, WK_TOK_STRING, &text));
    *FIELD(const char *, attrs, f) = wk_arena_strdup(a, text);
    return NULL;
  case WK_FIELD_DTYPE:
    if (l->tok.kind != WK_TOK_WORD || !wk_dtype_from_name(l->tok.text, l->tok.n, &t))
      return wk_lex_error(l, "element type expected, not %s", wk_lex_shown(&l->tok).s);
    *FIELD(int64_t, attrs, f) = t;
    return wk_lex_next(l);
  case WK_FIELD_EXPR:
    *expr = l->tok;
    return wk_lex_text(l, WK_TOK_STRING, &text);
  }
  return NULL;
}

/* ---- expressions --------------------------------------------------------------------------- */

/* Dtypes of the inputs of expression field f: into t, which has room for n_in and for one; how
 * many. */
static uint32_t expr_inputs(wk_op op, const wk_field *f, const void *attrs, const wk_dtype *in,
                            uint32_t n_in, wk_dtype *t) {
  uint32_t n = 0;
  if (op == WK_OP_REDUCE && strcmp(f->name, "post") == 0) {
    const wk_attr_reduce *r = attrs;
    t[n++] = wk_folded_dtype(r->kind, r->pre, n_in ? in[0] : WK_DTYPE_NONE);
    return n;
  }
  if (wk_op_get(op)->cls == WK_CLASS_CONTRACTION) { /* accumulator, then the extras */
    t[n++] = n_in ? wk_accumulator_dtype(in[0]) : WK_DTYPE_NONE;
    for (uint32_t k = wk_op_first_elementwise(op); k < n_in; k++) t[n++] = in[k];
    return n;
  }
  for (uint32_t k = 0; k < n_in; k++) t[n++] = in[k];
  return n;
}

static wk_status parse_expr(wk_lexer *l, wk_arena *a, wk_op op, const wk_field *f, void *attrs,
                            const wk_dtype *in, uint32_t n_in, const wk_token *at) {
  wk_dtype *t = wk_xcalloc(n_in ? n_in : 1, sizeof *t);
  uint32_t n = expr_inputs(op, f, attrs, in, n_in, t);
  wk_expr *e = NULL;
  wk_status s = wk_expr_parse(a, at->text, t, (int)n, &e);
  free(t);
  if (!s && e->n_results == 0)
    return wk_lex_error_at(l, at, __FILE__, __LINE__, "%s has no result", f->name);
  if (s) {
    wk_status y = wk_lex_error_at(l, at, __FILE__, __LINE__, "%s: %s", f->name, s->message);
    y = wk_status_as(y, s->code);
    wk_status_free(s);
    return y;
  }
  *FIELD(const wk_expr *, attrs, f) = e;
  return NULL;
}

/* ---- attribute lists ----------------------------------------------------------------------- */

static wk_status unknown_field(const wk_lexer *l, const wk_op_info *info) {
  const char *names[16];
  size_t n = 0;
  for (int i = 0; i < info->n_fields && n < WK_COUNTOF(names); i++)
    names[n++] = info->fields[i].name;
  const char *near = wk_nearest(l->tok.text, names, n);
  return wk_lex_error(l, "%s has no attribute %s%s%s%s", info->name, wk_lex_shown(&l->tok).s,
                      near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static wk_status parse_list(wk_lexer *l, wk_arena *a, const wk_op_info *info, void *attrs,
                            wk_token *exprs) {
  uint64_t seen = 0;
  bool more = !wk_lex_is(l, '}');
  while (more) {
    if (l->tok.kind != WK_TOK_WORD)
      return wk_lex_error(l, "attribute name expected, not %s", wk_lex_shown(&l->tok).s);
    const wk_field *f = wk_op_field(info, l->tok.text, strlen(l->tok.text));
    if (!f) return unknown_field(l, info);
    int64_t i = f - info->fields;
    if (seen >> i & 1) return wk_lex_error(l, "attribute %s is given twice", l->tok.text);
    seen |= UINT64_C(1) << i;
    WK_TRY(wk_lex_next(l));
    WK_TRY(wk_lex_expect(l, '='));
    WK_TRY(parse_value(l, a, &info->fields[i], attrs, &exprs[i]));
    WK_TRY(wk_lex_accept(l, ',', &more));
  }
  return wk_lex_expect(l, '}');
}

wk_status wk_attrs_parse(wk_lexer *l, wk_arena *a, wk_op op, const wk_dtype *in, uint32_t n_in,
                         void **out) {
  const wk_op_info *info = wk_op_get(op);
  void *attrs = wk_attrs_new(a, op);
  wk_token exprs[64] = {0};
  bool any;
  *out = attrs;
  WK_TRY(wk_lex_accept(l, '{', &any));
  if (any) WK_TRY(parse_list(l, a, info, attrs, exprs));
  for (int i = 0; i < info->n_fields; i++)
    if (exprs[i].text)
      WK_TRY(parse_expr(l, a, op, &info->fields[i], attrs, in, n_in, &exprs[i]));
  return NULL;
}
