/* SPDX-License-Identifier: Apache-2.0
 * Tokens of the text formats of models. */
#include "compiler/onnx/wire/text.h"

#include <stdlib.h>
#include <string.h>

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ---- errors -------------------------------------------------------------------------------- */

static long long column(const wk_text_token *at) { return (long long)(at->p - at->line_start) + 1; }

wk_status wk_text_error_at(const wk_text *t, const wk_text_token *at, const char *fmt, ...) {
  wk_str place = {0}, message = {0};
  va_list ap;
  va_start(ap, fmt);
  wk_str_vprintf(&message, fmt, ap);
  va_end(ap);
  wk_text_clean(message.s);
  wk_str_printf(&place, "%s:%lld:%lld", t->file, (long long)at->line, column(at));
  wk_status s = wk_error_at(WK_INPUT, place.s, "%s", message.s);
  wk_str_free(&place);
  wk_str_free(&message);
  return s;
}

wk_status wk_text_unexpected(const wk_text *t, const char *what) {
  int shown = t->tok.n < 40 ? (int)t->tok.n : 40;
  if (t->tok.kind == WK_TEXT_END)
    return wk_text_error(t, "the text ends where %s is expected", what);
  return wk_text_error(t, "%s is expected, not '%.*s'", what, shown, t->tok.p);
}

/* ---- tokens -------------------------------------------------------------------------------- */

static void skip_blanks(wk_text *t) {
  for (; t->at < t->end; t->at++) {
    char c = *t->at;
    if (c == '#') {
      const char *eol = memchr(t->at, '\n', (size_t)(t->end - t->at));
      t->at = eol ? eol : t->end;
      if (!eol) return;
      c = '\n';
    }
    if (c == '\n') {
      t->line++;
      t->line_start = t->at + 1;
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v') {
      return;
    }
  }
}

static wk_status scan_string(wk_text *t) {
  char quote = *t->at++;
  while (t->at < t->end && *t->at != quote && *t->at != '\n')
    t->at += *t->at == '\\' && t->end - t->at > 1 ? 2 : 1;
  if (t->at < t->end && *t->at == quote) {
    t->at++;
    return NULL;
  }
  return wk_text_error(t, "this string has no closing quote on its line");
}

static void scan_number(wk_text *t) {
  for (; t->at < t->end; t->at++) {
    char c = *t->at;
    bool is_sign = (c == '+' || c == '-') && (t->at[-1] == 'e' || t->at[-1] == 'E') &&
                   !(t->tok.p[0] == '0' && t->at - t->tok.p > 1 && (t->tok.p[1] | 0x20) == 'x');
    if (!is_letter(c) && !is_digit(c) && c != '.' && !is_sign) return;
  }
}

wk_status wk_text_next(wk_text *t) {
  skip_blanks(t);
  t->tok = (wk_text_token){.p = t->at, .line_start = t->line_start, .line = t->line};
  if (t->at == t->end) return NULL;
  char c = *t->at;
  bool has_more = t->end - t->at > 1;
  if (is_letter(c)) {
    t->tok.kind = WK_TEXT_WORD;
    while (t->at < t->end && (is_letter(*t->at) || is_digit(*t->at))) t->at++;
  } else if (is_digit(c) || (c == '.' && has_more && is_digit(t->at[1]))) {
    t->tok.kind = WK_TEXT_NUMBER;
    t->at++;
    scan_number(t);
  } else if (c == '"' || c == '\'') {
    t->tok.kind = WK_TEXT_STRING;
    WK_TRY(scan_string(t));
  } else if ((unsigned char)c < 0x20 || (unsigned char)c > 0x7e) {
    return wk_text_error(t, "the byte 0x%02x is no text of this format", (unsigned char)c);
  } else {
    t->tok.kind = WK_TEXT_PUNCT;
    t->at++;
  }
  t->tok.n = (size_t)(t->at - t->tok.p);
  return NULL;
}

wk_status wk_text_start(wk_text *t, const char *file, const char *text, size_t n) {
  static const char mark[] = "\xef\xbb\xbf"; /* that some editors write before UTF-8 */
  if (n >= 3 && memcmp(text, mark, 3) == 0) text += 3, n -= 3;
  *t = (wk_text){.file = file, .at = text, .end = text + n, .line_start = text, .line = 1};
  return wk_text_next(t);
}

bool wk_text_is_word(const wk_text *t, const char *word) {
  return t->tok.kind == WK_TEXT_WORD && strlen(word) == t->tok.n &&
         memcmp(word, t->tok.p, t->tok.n) == 0;
}

wk_status wk_text_accept(wk_text *t, char c, bool *found) {
  *found = wk_text_is(t, c);
  return *found ? wk_text_next(t) : NULL;
}

wk_status wk_text_expect(wk_text *t, char c) {
  const char what[] = {'\'', c, '\'', '\0'};
  return wk_text_is(t, c) ? wk_text_next(t) : wk_text_unexpected(t, what);
}

/* ---- strings ------------------------------------------------------------------------------- */

static int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* Up to `max` digits of a base; the number of those found. */
static int read_digits(const char *p, const char *end, int base, int max, uint32_t *out) {
  int n = 0;
  *out = 0;
  for (; n < max && p + n < end && digit_of(p[n]) < base; n++)
    *out = *out * (uint32_t)base + (uint32_t)digit_of(p[n]);
  return n;
}

static void add_utf8(wk_str *b, uint32_t c) {
  char s[4];
  size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = n; i-- > 1; c >>= 6) s[i] = (char)(0x80 | (c & 0x3f));
  s[0] = (char)(lead[n] | c);
  wk_str_addn(b, s, n);
}

/* The escape whose letter is at p; the number of characters that it takes, 0: there is none. */
static int add_escape(wk_str *b, const char *p, const char *end) {
  static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
  const char *simple = strchr(from, *p);
  uint32_t v;
  int n;
  if (*p && simple) {
    wk_str_addn(b, &to[simple - from], 1);
    return 1;
  }
  if (*p == 'u' || *p == 'U') {
    int want = *p == 'u' ? 4 : 8;
    n = read_digits(p + 1, end, 16, want, &v);
    if (n != want || v > 0x10ffff) return 0;
    add_utf8(b, v);
    return 1 + n;
  }
  bool is_hex = *p == 'x' || *p == 'X';
  n = is_hex ? read_digits(p + 1, end, 16, 2, &v) : read_digits(p, end, 8, 3, &v);
  if (n == 0 || v > 255) return 0;
  wk_str_addn(b, &(char){(char)v}, 1);
  return n + is_hex;
}

static wk_status decode(const wk_text *t, wk_str *b) {
  const char *p = t->tok.p + 1, *end = t->tok.p + t->tok.n - 1;
  while (p < end) {
    const char *stop = memchr(p, '\\', (size_t)(end - p));
    if (!stop) stop = end;
    wk_str_addn(b, p, (size_t)(stop - p));
    if (stop == end) break;
    int n = stop + 1 < end ? add_escape(b, stop + 1, end) : 0;
    if (n == 0) {
      wk_text_token at = t->tok;
      at.p = stop;
      return wk_text_error_at(t, &at, "this escape is not known");
    }
    p = stop + 1 + n;
  }
  return NULL;
}

wk_status wk_text_string(wk_text *t, wk_str *b) {
  if (t->tok.kind != WK_TEXT_STRING) return wk_text_unexpected(t, "a string");
  wk_str_addn(b, "", 0);
  while (t->tok.kind == WK_TEXT_STRING) {
    WK_TRY(decode(t, b));
    WK_TRY(wk_text_next(t));
  }
  return NULL;
}

/* ---- numbers ------------------------------------------------------------------------------- */

wk_status wk_text_integer(wk_text *t, bool *negative, uint64_t *magnitude) {
  WK_TRY(wk_text_accept(t, '-', negative));
  const char *p = t->tok.p, *end = p + t->tok.n;
  if (t->tok.kind != WK_TEXT_NUMBER) return wk_text_unexpected(t, "an integer");
  bool is_hex = end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x';
  bool is_octal = !is_hex && end - p > 1 && p[0] == '0';
  int base = is_hex ? 16 : is_octal ? 8 : 10;
  *magnitude = 0;
  for (p += is_hex ? 2 : 0; p < end; p++) {
    if (digit_of(*p) >= base) return wk_text_unexpected(t, "an integer");
    if (__builtin_mul_overflow(*magnitude, (uint64_t)base, magnitude) ||
        __builtin_add_overflow(*magnitude, (uint64_t)digit_of(*p), magnitude))
      return wk_text_error(t, "the integer '%.*s' is too large", (int)t->tok.n, t->tok.p);
  }
  return wk_text_next(t);
}

wk_status wk_text_i64(wk_text *t, int64_t *out) {
  const wk_text_token at = t->tok;
  bool negative;
  uint64_t v;
  WK_TRY(wk_text_integer(t, &negative, &v));
  if (v > (uint64_t)INT64_MAX + negative)
    return wk_text_error_at(t, &at, "the integer does not fit 64 bits");
  *out = negative ? (int64_t)(0 - v) : (int64_t)v;
  return NULL;
}

/* The digits of a number, or inf, infinity or nan, as a C string; "" when there is neither. */
static void number_text(const wk_text *t, char *out, size_t room) {
  size_t n = t->tok.n;
  bool is_number = t->tok.kind == WK_TEXT_NUMBER;
  out[0] = '\0';
  if (n >= room || (!is_number && t->tok.kind != WK_TEXT_WORD)) return;
  memcpy(out, t->tok.p, n);
  out[n] = '\0';
  bool is_hex = n > 1 && (out[1] | 0x20) == 'x';
  if (is_number && is_hex) out[0] = '\0';
  if (is_number && n > 1 && (out[n - 1] | 0x20) == 'f') out[n - 1] = '\0';
  if (!is_number && strcasecmp(out, "inf") != 0 && strcasecmp(out, "infinity") != 0 &&
      strcasecmp(out, "nan") != 0)
    out[0] = '\0';
}

/* Both roundings of the number that comes, which is passed. */
static wk_status real(wk_text *t, float *f, double *d) {
  char text[512], *stop;
  bool negative;
  WK_TRY(wk_text_accept(t, '-', &negative));
  number_text(t, text, sizeof text);
  if (f) *f = strtof(text, &stop);
  else *d = strtod(text, &stop);
  if (!*text || *stop) return wk_text_unexpected(t, "a number");
  if (negative && f) *f = -*f;
  if (negative && d) *d = -*d;
  return wk_text_next(t);
}

wk_status wk_text_f32(wk_text *t, float *out) { return real(t, out, NULL); }
wk_status wk_text_f64(wk_text *t, double *out) { return real(t, NULL, out); }
