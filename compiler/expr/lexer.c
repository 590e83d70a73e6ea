/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/expr/lexer.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_name_char(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

/* ---- messages ------------------------------------------------------------------------------ */

wk_status wk_lex_error_at(const wk_lexer *l, const wk_token *t, const char *file, int line,
                          const char *fmt, ...) {
  wk_str place = {0}, text = {0};
  wk_str_printf(&place, "%s:%d:%d", l->file, t->line, t->column);
  va_list ap;
  va_start(ap, fmt);
  wk_str_vprintf(&text, fmt, ap);
  va_end(ap);
  wk_status s = wk_status_make(WK_INPUT, file, line, place.s, "%s", text.s);
  wk_str_free(&place);
  wk_str_free(&text);
  return s;
}

wk_text48 wk_lex_shown(const wk_token *t) {
  static const char *const marks[] = {"", "'", "'%", "'@", "\"", "'", "'"};
  wk_text48 shown;
  if (t->kind == WK_TOK_END) {
    snprintf(shown.s, sizeof shown.s, "end of text");
    return shown;
  }
  const char *end = t->kind == WK_TOK_STRING ? "\"" : "'", *dots = t->n > 32 ? "..." : "";
  snprintf(shown.s, sizeof shown.s, "%s%.*s%s%s", marks[t->kind], t->n > 32 ? 32 : (int)t->n,
           t->text, dots, end);
  return shown;
}

/* ---- scanning ------------------------------------------------------------------------------ */

static void skip_space(wk_lexer *l) {
  for (;; l->at++) {
    if (*l->at == '#') l->at += strcspn(l->at, "\n");
    if (*l->at == '\n') {
      l->line++;
      l->line_start = l->at + 1;
    } else if (*l->at != ' ' && *l->at != '\t' && *l->at != '\r') {
      return;
    }
  }
}

static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* One character of a string, escaped or not, from *s on; -1 when it may not stand there. */
static int string_char(const char **s) {
  unsigned char c = (unsigned char)*(*s)++;
  if (c != '\\') return c >= 0x20 || c == '\t' ? c : -1;
  c = (unsigned char)*(*s)++;
  if (c == 'n') return '\n';
  if (c == 't') return '\t';
  if (c == '"' || c == '\\') return c;
  int high = c == 'x' ? hex_digit(**s) : -1;
  int low = high >= 0 ? hex_digit((*s)[1]) : -1;
  *s += low >= 0 ? 2 : 0;
  return low < 0 || high * 16 + low == 0 ? -1 : high * 16 + low;
}

/* The string whose opening quote is at l->at. */
static wk_status scan_string(wk_lexer *l) {
  size_t longest = 1;
  for (const char *s = l->at + 1; *s && *s != '"' && *s != '\n'; s += *s == '\\' && s[1] ? 2 : 1)
    longest++;
  char *text = wk_arena_alloc(l->arena, longest);
  const char *s = l->at + 1;
  size_t n = 0;
  while (*s != '"') {
    if (*s == 0 || *s == '\n') return wk_lex_error(l, "the string does not end on its line");
    int c = string_char(&s);
    if (c < 0) return wk_lex_error(l, "bad escape or control character in a string");
    text[n++] = (char)c;
  }
  l->at = s + 1;
  l->tok.text = text;
  l->tok.n = n;
  return NULL;
}

static void take(wk_lexer *l, size_t n) {
  l->tok.text = wk_arena_strndup(l->arena, l->at, n);
  l->tok.n = n;
  l->at += n;
}

static size_t name_length(const char *s) {
  size_t n = 0;
  while (is_name_char(s[n])) n++;
  return n;
}

/* Length of the number at s, 0 when there is none: -inf, digits with fraction and exponent. */
static size_t number_length(const char *s) {
  size_t n = *s == '-' || *s == '+', first = n;
  if (n && strncmp(s + n, "inf", 3) == 0) return n + 3;
  while (is_digit(s[n])) n++;
  size_t digits = n - first;
  if (s[n] == '.') {
    size_t point = n++;
    while (is_digit(s[n])) n++;
    digits += n - point - 1;
  }
  if (digits == 0) return 0;
  if (s[n] == 'e' || s[n] == 'E') {
    size_t e = n + 1 + (s[n + 1] == '-' || s[n + 1] == '+');
    if (is_digit(s[e])) n = e;
    while (is_digit(s[n])) n++;
  }
  return n;
}

static wk_status scan_sigil(wk_lexer *l) {
  l->tok.kind = *l->at == '%' ? WK_TOK_VALUE : WK_TOK_SYMBOL;
  size_t n = name_length(l->at + 1);
  if (l->at[1] != '"' && n == 0) { /* "@(": a memory order */
    l->tok.kind = WK_TOK_PUNCT;
    take(l, 1);
    return NULL;
  }
  l->at++;
  if (n) take(l, n);
  else WK_TRY(scan_string(l));
  return l->tok.n ? NULL : wk_lex_error(l, "the name is empty");
}

wk_status wk_lex_next(wk_lexer *l) {
  skip_space(l);
  char c = *l->at;
  size_t n;
  l->tok = (wk_token){.line = l->line, .column = (int)(l->at - l->line_start) + 1, .text = ""};
  if (c == 0) return NULL;
  if (c == '%' || c == '@') return scan_sigil(l);
  if (c == '"') {
    l->tok.kind = WK_TOK_STRING;
    return scan_string(l);
  }
  if (is_letter(c)) {
    l->tok.kind = WK_TOK_WORD;
    take(l, name_length(l->at));
    return NULL;
  }
  if ((n = number_length(l->at)) > 0) {
    bool is_word = is_name_char(l->at[n]); /* a hash, which no rule expects but which is skipped */
    l->tok.kind = is_word ? WK_TOK_WORD : WK_TOK_NUMBER;
    take(l, is_word ? n + name_length(l->at + n) : n);
    return NULL;
  }
  if ((unsigned char)c < 0x20 || (unsigned char)c >= 0x7f)
    return wk_lex_error(l, "unexpected byte 0x%02x", (unsigned char)c);
  l->tok.kind = WK_TOK_PUNCT;
  take(l, 1);
  return NULL;
}

wk_status wk_lex_start(wk_lexer *l, wk_arena *a, const char *text, const char *file) {
  *l = (wk_lexer){.at = text, .line_start = text, .line = 1, .file = file ? file : "text",
                  .arena = a, .end = text + strlen(text)};
  return wk_lex_next(l);
}

/* ---- expectations -------------------------------------------------------------------------- */

bool wk_lex_is_word(const wk_lexer *l, const char *word) {
  return l->tok.kind == WK_TOK_WORD && strcmp(l->tok.text, word) == 0;
}

wk_status wk_lex_accept(wk_lexer *l, char c, bool *found) {
  *found = wk_lex_is(l, c);
  return *found ? wk_lex_next(l) : NULL;
}

wk_status wk_lex_accept_word(wk_lexer *l, const char *word, bool *found) {
  *found = wk_lex_is_word(l, word);
  return *found ? wk_lex_next(l) : NULL;
}

wk_status wk_lex_expect(wk_lexer *l, char c) {
  if (wk_lex_is(l, c)) return wk_lex_next(l);
  return wk_lex_error(l, "'%c' expected, not %s", c, wk_lex_shown(&l->tok).s);
}

wk_status wk_lex_expect_word(wk_lexer *l, const char *word) {
  if (wk_lex_is_word(l, word)) return wk_lex_next(l);
  return wk_lex_error(l, "'%s' expected, not %s", word, wk_lex_shown(&l->tok).s);
}

wk_status wk_lex_text(wk_lexer *l, wk_tok kind, const char **out) {
  static const char *const names[] = {"end of text", "word", "value (%name)", "name (@name)",
                                      "string", "number", "punctuation"};
  if (l->tok.kind != kind)
    return wk_lex_error(l, "%s expected, not %s", names[kind], wk_lex_shown(&l->tok).s);
  *out = l->tok.text;
  return wk_lex_next(l);
}

static wk_status bad_number(const wk_lexer *l, const char *what) {
  return wk_lex_error(l, "%s expected, not %s", what, wk_lex_shown(&l->tok).s);
}

static bool is_integer(const wk_token *t) {
  return t->kind == WK_TOK_NUMBER && !strpbrk(t->text, ".eEi");
}

wk_status wk_lex_int(wk_lexer *l, int64_t *out) {
  errno = 0;
  if (!is_integer(&l->tok)) return bad_number(l, "integer");
  *out = strtoll(l->tok.text, NULL, 10);
  return errno ? wk_lex_error(l, "the integer is out of range") : wk_lex_next(l);
}

wk_status wk_lex_u64(wk_lexer *l, uint64_t *out) {
  errno = 0;
  if (!is_integer(&l->tok) || l->tok.text[0] == '-') return bad_number(l, "non-negative integer");
  *out = strtoull(l->tok.text, NULL, 10);
  return errno ? wk_lex_error(l, "the integer is out of range") : wk_lex_next(l);
}

/* The two differ in how the decimal text is rounded. */
static wk_status read_float(wk_lexer *l, double *wide, float *narrow) {
  bool word = wk_lex_is_word(l, "inf") || wk_lex_is_word(l, "nan");
  if (l->tok.kind != WK_TOK_NUMBER && !word) return bad_number(l, "number");
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!c) wk_no_memory();
  if (wide) *wide = strtod_l(l->tok.text, NULL, c);
  if (narrow) *narrow = strtof_l(l->tok.text, NULL, c);
  freelocale(c);
  return wk_lex_next(l);
}

wk_status wk_lex_f64(wk_lexer *l, double *out) { return read_float(l, out, NULL); }
wk_status wk_lex_f32(wk_lexer *l, float *out) { return read_float(l, NULL, out); }

/* ---- names --------------------------------------------------------------------------------- */

void wk_print_name(wk_str *b, char sigil, const char *name) {
  wk_str_addn(b, &sigil, 1);
  size_t n = name_length(name);
  if (n && name[n] == 0) wk_str_add(b, name);
  else wk_str_quote(b, name);
}
