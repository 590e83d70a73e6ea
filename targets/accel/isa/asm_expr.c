/* SPDX-License-Identifier: Apache-2.0
 * Names, numbers, expressions. Blanks separate values, so "a -1" is two of them, and "a - 1" and
 * "a-1" one: a sign with a blank before it and none behind it begins a new value. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "targets/accel/isa/asm.h"

#define DEPTH_MAX 64

/* ---- messages -------------------------------------------------------------------------------- */

typedef struct { char s[512]; } place_text;

static place_text place_of(const wk_asm_state *a, const char *at) {
  place_text p;
  snprintf(p.s, sizeof p.s, "%.460s:%u:%d", a->file, a->line + 1,
           (int)(at - a->lines[a->line]) + 1);
  return p;
}

wk_status wk_asm_error_at(const wk_asm_state *a, wk_code code, const char *at, const char *file,
                          int line, const char *fmt, ...) {
  wk_str b = {0};
  va_list ap;
  va_start(ap, fmt);
  wk_str_add(&b, "");
  wk_str_vprintf(&b, fmt, ap);
  va_end(ap);
  wk_status s = wk_status_make(code, file, line, place_of(a, at).s, "%s", b.s);
  wk_str_free(&b);
  return s;
}

wk_status wk_asm_unknown(const wk_asm_state *a, const char *at, const char *what, const char *name,
                         const char *const *names, size_t n) {
  const char *near = wk_nearest(name, names, n);
  if (near) return wk_asm_error(a, at, "unknown %s '%s'; did you mean '%s'?", what, name, near);
  return wk_asm_error(a, at, "unknown %s '%s'", what, name);
}

wk_status wk_asm_place(const wk_asm_state *a, const char *at, wk_status s) {
  return s ? wk_status_place(s, place_of(a, at).s) : NULL;
}

/* ---- characters ------------------------------------------------------------------------------ */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_name(char c) { return is_letter(c) || is_digit(c); }

bool wk_asm_at_end(wk_asm_state *a) {
  while (is_blank(*a->at)) a->at++;
  return *a->at == 0 || *a->at == ';';
}

bool wk_asm_accept(wk_asm_state *a, char c) {
  if (wk_asm_at_end(a) || *a->at != c) return false;
  a->at++;
  return true;
}

wk_status wk_asm_expect_end(wk_asm_state *a) {
  if (wk_asm_at_end(a)) return NULL;
  int n = 0;
  while (a->at[n] && !is_blank(a->at[n]) && n < 32) n++;
  return wk_asm_error(a, a->at, "'%.*s' is not expected here", n, a->at);
}

/* ---- names ----------------------------------------------------------------------------------- */

bool wk_asm_word(wk_asm_state *a, wk_asm_name *out) {
  size_t n = 0;
  if (wk_asm_at_end(a) || !is_letter(*a->at)) return false;
  while (is_name(a->at[n])) n++;
  size_t kept = n < NAME_MAX_LENGTH ? n : NAME_MAX_LENGTH;
  memcpy(out->s, a->at, kept);
  out->s[kept] = 0;
  a->at += n;
  return true;
}

wk_status wk_asm_need_word(wk_asm_state *a, const char *what, wk_asm_name *out) {
  const char *at = (wk_asm_at_end(a), a->at);
  if (!wk_asm_word(a, out)) return wk_asm_error(a, at, "%s is missing", what);
  if (a->at - at > NAME_MAX_LENGTH)
    return wk_asm_error(a, at, "a name has at most %d letters", NAME_MAX_LENGTH);
  return NULL;
}

wk_status wk_asm_label_name(wk_asm_state *a, wk_asm_name *out) {
  const char *first = (wk_asm_at_end(a), a->at);
  size_t n = 0;
  out->s[0] = 0;
  if (!is_letter(*a->at) && *a->at != '{') return NULL;
  while (is_name(*a->at) || *a->at == '{') {
    char digits[24];
    if (*a->at == '{') {
      int64_t v;
      a->at++;
      WK_TRY(wk_asm_expr(a, &v));
      if (!wk_asm_accept(a, '}')) return wk_asm_error(a, a->at, "'}' expected");
      snprintf(digits, sizeof digits, "%lld", (long long)v);
    } else {
      digits[0] = *a->at++;
      digits[1] = 0;
    }
    size_t more = strlen(digits);
    if (n + more > NAME_MAX_LENGTH)
      return wk_asm_error(a, first, "a name has at most %d letters", NAME_MAX_LENGTH);
    memcpy(out->s + n, digits, more + 1);
    n += more;
  }
  return NULL;
}

wk_status wk_asm_string(wk_asm_state *a, const char **out) {
  const char *at = (wk_asm_at_end(a), a->at), *end;
  if (*at != '"') return wk_asm_error(a, at, "\"…\" expected");
  end = strchr(at + 1, '"');
  if (!end) return wk_asm_error(a, at, "the string does not end on its line");
  *out = wk_arena_strndup(a->arena, at + 1, (size_t)(end - at - 1));
  a->at = end + 1;
  return NULL;
}

/* ---- symbols --------------------------------------------------------------------------------- */

wk_asm_symbol *wk_asm_find(const wk_asm_state *a, const char *name) {
  uint32_t row;
  if (!wk_map_get(a->symbol_of, name, &row) || !a->symbols.data[row].is_defined) return NULL;
  return &a->symbols.data[row];
}

uint32_t wk_asm_symbol_row(wk_asm_state *a, const char *name) {
  uint32_t row;
  if (wk_map_get(a->symbol_of, name, &row)) return row;
  const wk_asm_symbol symbol = {.name = wk_arena_strdup(a->arena, name)};
  row = (uint32_t)a->symbols.n;
  wk_vec_push(&a->symbols, symbol);
  wk_map_put(a->symbol_of, symbol.name, row);
  return row;
}

static wk_status unknown_name(const wk_asm_state *a, const char *at, const char *name) {
  const char *names[256];
  size_t n = 0;
  for (size_t i = a->symbols.n; i > 0 && n < WK_COUNTOF(names); i--)
    if (a->symbols.data[i - 1].is_defined) names[n++] = a->symbols.data[i - 1].name;
  return wk_asm_unknown(a, at, "name", name, names, n);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static wk_status number(wk_asm_state *a, int64_t *out) {
  const char *at = a->at;
  char *end;
  bool is_hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
  errno = 0;
  unsigned long long v = strtoull(at, &end, is_hex ? 16 : 10);
  int n = (int)(end - at);
  while (is_name(at[n]) || at[n] == '.') n++;
  if (at + n != end || (is_hex && n == 2))
    return wk_asm_error(a, at, "'%.*s' is no whole number", n < 40 ? n : 40, at);
  if (errno || v > INT64_MAX) return wk_asm_error(a, at, "the number is too large");
  a->at = end;
  *out = (int64_t)v;
  return NULL;
}

static wk_status sum(wk_asm_state *a, int64_t *out);

static wk_status primary(wk_asm_state *a, int64_t *out) {
  wk_asm_name name;
  if (wk_asm_at_end(a)) return wk_asm_error(a, a->at, "a value is missing");
  const char *at = a->at;
  if (is_digit(*at)) return number(a, out);
  if (*at == '-' || *at == '+' || *at == '(') {
    if (++a->depth > DEPTH_MAX) return wk_asm_error(a, at, "the expression is nested too deeply");
    a->at++;
    if (*at == '(') WK_TRY(sum(a, out));
    else WK_TRY(primary(a, out));
    if (*at == '(' && !wk_asm_accept(a, ')')) return wk_asm_error(a, a->at, "')' expected");
    if (*at == '-') *out = (int64_t)(0 - (uint64_t)*out);
    a->depth--;
    return NULL;
  }
  if (!is_letter(*at)) return wk_asm_error(a, at, "a value is expected, not '%c'", *at);
  WK_TRY(wk_asm_need_word(a, "a name", &name));
  const wk_asm_symbol *symbol = wk_asm_find(a, name.s);
  if (!symbol) return unknown_name(a, at, name.s);
  *out = symbol->value;
  return NULL;
}

static wk_status apply(wk_asm_state *a, const char *at, int64_t *x, int64_t y) {
  bool ok = true;
  switch (*at) {
    case '+': ok = wk_add_ok(*x, y, x); break;
    case '-': ok = !__builtin_sub_overflow(*x, y, x); break;
    case '*': ok = wk_mul_ok(*x, y, x); break;
    default:
      if (y == 0) return wk_asm_error(a, at, "division by 0");
      if (y == -1 && *x == INT64_MIN) ok = false;
      else *x = *at == '/' ? *x / y : *x % y;
  }
  return ok ? NULL : wk_asm_error(a, at, "the result does not fit in 64 bits");
}

/* An operator out of `set` that goes on with the value at hand. */
static const char *operator_at(wk_asm_state *a, const char *set) {
  bool is_apart = is_blank(*a->at);
  const char *saved = a->at;
  if (!wk_asm_at_end(a) && strchr(set, *a->at)) {
    const char *op = a->at;
    bool is_sign = (*op == '+' || *op == '-') && is_apart && !is_blank(op[1]);
    if (!is_sign) {
      a->at++;
      return op;
    }
  }
  a->at = saved;
  return NULL;
}

static wk_status product(wk_asm_state *a, int64_t *out) {
  WK_TRY(primary(a, out));
  for (const char *op; (op = operator_at(a, "*/%"));) {
    int64_t y;
    WK_TRY(primary(a, &y));
    WK_TRY(apply(a, op, out, y));
  }
  return NULL;
}

static wk_status sum(wk_asm_state *a, int64_t *out) {
  WK_TRY(product(a, out));
  for (const char *op; (op = operator_at(a, "+-"));) {
    int64_t y;
    WK_TRY(product(a, &y));
    WK_TRY(apply(a, op, out, y));
  }
  return NULL;
}

wk_status wk_asm_expr(wk_asm_state *a, int64_t *out) {
  int depth = a->depth;
  wk_status s = sum(a, out);
  a->depth = depth;
  return s;
}

wk_status wk_asm_number(wk_asm_state *a, const char *what, int64_t low, int64_t high,
                        int64_t *out) {
  const char *at = (wk_asm_at_end(a), a->at);
  WK_TRY(wk_asm_expr(a, out));
  if (*out < low || *out > high)
    return wk_asm_error(a, at, "%s: %lld is outside %lld to %lld", what, (long long)*out,
                        (long long)low, (long long)high);
  return NULL;
}

wk_status wk_asm_real(wk_asm_state *a, double *out) {
  const char *at = (wk_asm_at_end(a), a->at);
  char *end = NULL;
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!c) wk_no_memory();
  if (is_digit(*at) || *at == '.') *out = strtod_l(at, &end, c);
  freelocale(c);
  if (!end || end == at || is_name(*end) || !isfinite(*out) || *out <= 0)
    return wk_asm_error(a, at, "a positive decimal number is expected");
  a->at = end;
  return NULL;
}
