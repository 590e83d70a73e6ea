/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/support.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for n more bytes and the final NUL. */
static void reserve(wk_str *b, size_t n) {
  size_t want;
  if (__builtin_add_overflow(b->n, n, &want) || want == SIZE_MAX) wk_no_memory();
  if (b->cap <= want) wk_vec_grow((void **)&b->s, &b->cap, want + 1, 1);
}

void wk_str_addn(wk_str *b, const char *s, size_t n) {
  reserve(b, n);
  if (n) memcpy(b->s + b->n, s, n);
  b->n += n;
  b->s[b->n] = 0;
}

void wk_str_add(wk_str *b, const char *s) { wk_str_addn(b, s, strlen(s)); }

void wk_str_vprintf(wk_str *b, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  reserve(b, 64);
  int n = vsnprintf(b->s + b->n, b->cap - b->n, fmt, ap);
  if (n < 0) wk_no_memory();
  if ((size_t)n >= b->cap - b->n) {
    reserve(b, (size_t)n);
    vsnprintf(b->s + b->n, b->cap - b->n, fmt, again);
  }
  va_end(again);
  b->n += (size_t)n;
}

void wk_str_printf(wk_str *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  wk_str_vprintf(b, fmt, ap);
  va_end(ap);
}

void wk_str_free(wk_str *b) {
  free(b->s);
  *b = (wk_str){0};
}

/* Shortest round trip by trial: %.Pg is correctly rounded, so the first P whose text reads back to
 * the same value is the shortest. The thread's locale is the C locale meanwhile (glibc hands out a
 * static object for it), because printf and strtod follow the process's decimal point otherwise. */
static void add_float(wk_str *b, double v, bool single) {
  if (isnan(v)) {
    wk_str_add(b, "nan");
    return;
  }
  if (isinf(v)) {
    wk_str_add(b, v < 0 ? "-inf" : "inf");
    return;
  }
  if (fabs(v) < 1e6 && v == (double)(long)v) {
    wk_str_printf(b, "%s%ld.0", signbit(v) ? "-" : "", labs((long)v));
    return;
  }
  char text[40];
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!c) wk_no_memory();
  locale_t old = uselocale(c);
  int last = single ? 9 : 17;
  for (int p = 1; p <= last; p++) {
    snprintf(text, sizeof text, "%.*g", p, v);
    if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v) break;
  }
  uselocale(old);
  freelocale(c);
  wk_str_add(b, text);
  if (!strpbrk(text, ".e")) wk_str_add(b, ".0");
}

void wk_str_f32(wk_str *b, float v) { add_float(b, (double)v, true); }
void wk_str_f64(wk_str *b, double v) { add_float(b, v, false); }

void wk_str_quote(wk_str *b, const char *s) {
  wk_str_addn(b, "\"", 1);
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') wk_str_printf(b, "\\%c", c);
    else if (c == '\n') wk_str_add(b, "\\n");
    else if (c == '\t') wk_str_add(b, "\\t");
    else if (c < 0x20 || c >= 0x7f) wk_str_printf(b, "\\x%02x", c);
    else wk_str_addn(b, s, 1);
  }
  wk_str_addn(b, "\"", 1);
}

/* Bytes of the UTF-8 sequence that begins here, 0: it is none, or a control character. */
static size_t shown_length(const unsigned char *s) {
  static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000}; /* below 0xa0: more controls */
  if (*s < 0x80) return *s >= 0x20 && *s != 0x7f;
  size_t n = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
  if (*s < 0xc2 || *s > 0xf4) return 0;
  uint32_t code = *s & (0x7fu >> n);
  for (size_t i = 1; i < n; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (s[i] & 0x3fu);
  }
  bool surrogate = code >= 0xd800 && code < 0xe000;
  return code >= least[n] && code < 0x110000 && !surrogate ? n : 0;
}

void wk_text_clean(char *s) {
  while (*s) {
    size_t n = shown_length((const unsigned char *)s);
    if (n == 0) *s = *s == '\n' || *s == '\t' ? ' ' : '?';
    s += n ? n : 1;
  }
}

bool wk_bytes_parse(const char *s, int64_t *out) {
  static const struct { const char *name; int shift; } units[] = {
      {"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  char *end;
  if (*s < '0' || *s > '9') return false;
  double v = strtod(s, &end);
  while (*end == ' ') end++;
  for (size_t i = 0; i < WK_COUNTOF(units); i++) {
    double bytes = ldexp(v, units[i].shift);
    if (strcmp(end, units[i].name) || !(bytes >= 1 && bytes < 0x1p53)) continue;
    *out = (int64_t)bytes;
    return true;
  }
  return false;
}

wk_text24 wk_bytes_text(uint64_t n) {
  static const char units[][4] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  wk_text24 t;
  if (n < 1024) {
    snprintf(t.s, sizeof t.s, "%u B", (unsigned)n);
    return t;
  }
  uint64_t tenths = 0;
  size_t u = 0;
  for (; u < WK_COUNTOF(units); u++) {
    uint64_t unit = UINT64_C(1) << (10 * (u + 1));
    tenths = n / unit * 10 + (n % unit * 10 + unit / 2) / unit;
    if (tenths < 10240) break; /* 1023.96 KiB rounds up into the next unit */
  }
  snprintf(t.s, sizeof t.s, "%u.%u %s", (unsigned)(tenths / 10), (unsigned)(tenths % 10), units[u]);
  return t;
}

bool wk_dims_product(const int64_t *dims, int n, int64_t *out) {
  int64_t product = 1;
  bool ok = true, zero = false;
  for (int i = 0; i < n; i++) {
    if (dims[i] < 0) return false;
    if (dims[i] == 0) zero = true;
    ok = ok && wk_mul_ok(product, dims[i], &product);
  }
  if (zero) product = 0; /* whatever the other dims are, there are no elements */
  *out = product;
  return ok || zero;
}
