/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of constants as text: a list of numbers when there are few, one number when all elements
 * are the same bits, bytes in hexadecimal, or only a hash. NaNs other than the plain one have no
 * number that reads back, nor have infinities of 8 bits: tensors with them are written as bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/expr/scalar.h"
#include "compiler/ir/text.h"

enum { MAX_LISTED = 16 };

/* ---- printing ------------------------------------------------------------------------------ */

static void print_element(wk_str *b, const void *data, wk_dtype t, int64_t i) {
  if (wk_dtype_is_float(t)) wk_print_float(b, t, wk_load_f64(data, t, i));
  else if (t == WK_U64)
    wk_str_printf(b, "%llu", (unsigned long long)((const uint64_t *)data)[i]);
  else wk_str_printf(b, "%lld", (long long)wk_load_i64(data, t, i));
}

/* Whether the printed number reads back to the same bits. */
static bool reads_back(const void *data, wk_dtype t, int64_t i) {
  size_t size = (size_t)wk_dtype_size(t);
  const char *p = (const char *)data + (size_t)i * size;
  char again[8] = {0};
  if (t == WK_BOOL) return *(const uint8_t *)p <= 1;
  double v = wk_load_f64(data, t, i);
  if (!wk_dtype_is_float(t) || isfinite(v) || (isinf(v) && !wk_dtype_is_narrow(t))) return true;
  wk_store_f64(again, t, 0, isnan(v) ? (double)NAN : v);
  return memcmp(again, p, size) == 0;
}

static bool is_splat(const wk_type *t, const void *data) {
  size_t size = (size_t)wk_dtype_size(t->dtype), bytes = (size_t)wk_type_bytes(t);
  return bytes > size && memcmp(data, (const char *)data + size, bytes - size) == 0;
}

static void print_hex(wk_str *b, const uint8_t *p, size_t n) {
  static const char digits[] = "0123456789abcdef";
  char chunk[256];
  wk_str_add(b, " hex(\"");
  for (size_t i = 0; i < n;) {
    size_t k = 0;
    for (; i < n && k < sizeof chunk; i++) {
      chunk[k++] = digits[p[i] >> 4];
      chunk[k++] = digits[p[i] & 15];
    }
    wk_str_addn(b, chunk, k);
  }
  wk_str_add(b, "\")");
}

void wk_data_print(wk_str *b, const wk_type *t, const void *data, wk_print_flags flags) {
  int64_t n = wk_type_count(t);
  if (is_splat(t, data) && reads_back(data, t->dtype, 0)) {
    wk_str_add(b, " splat(");
    print_element(b, data, t->dtype, 0);
    wk_str_add(b, ")");
    return;
  }
  bool listed = n <= MAX_LISTED;
  for (int64_t i = 0; i < n && listed; i++) listed = reads_back(data, t->dtype, i);
  if (listed) {
    wk_str_add(b, " {");
    for (int64_t i = 0; i < n; i++) {
      if (i) wk_str_add(b, ", ");
      print_element(b, data, t->dtype, i);
    }
    wk_str_add(b, "}");
  } else if (flags == WK_PRINT_FULL || n <= MAX_LISTED) {
    print_hex(b, data, (size_t)wk_type_bytes(t));
  } else {
    wk_str_printf(b, " elided(%016llx)",
                  (unsigned long long)wk_hash64(data, (size_t)wk_type_bytes(t), 0));
  }
}

/* ---- parsing ------------------------------------------------------------------------------- */

/* Smallest and largest value of the integer types below 64 bits. */
static void int_range(wk_dtype t, int64_t *lo, int64_t *hi) {
  int bits = wk_dtype_bits(t);
  *lo = wk_dtype_is_signed(t) ? -(INT64_C(1) << (bits - 1)) : 0;
  *hi = t == WK_BOOL ? 1 : (INT64_C(1) << (bits - wk_dtype_is_signed(t))) - 1;
}

static wk_status parse_int(wk_lexer *l, wk_dtype t, void *data, int64_t i) {
  wk_token at = l->tok;
  if (t == WK_U64) return wk_lex_u64(l, (uint64_t *)data + i);
  if (t == WK_I64) return wk_lex_int(l, (int64_t *)data + i);
  int64_t v, lo, hi;
  int_range(t, &lo, &hi);
  WK_TRY(wk_lex_int(l, &v));
  if (v < lo || v > hi)
    return wk_lex_error_at(l, &at, __FILE__, __LINE__, "%s does not fit %s", at.text,
                           wk_dtype_name(t));
  wk_store_i64(data, t, i, v);
  return NULL;
}

static wk_status parse_element(wk_lexer *l, wk_dtype t, void *data, int64_t i) {
  if (!wk_dtype_is_float(t)) return parse_int(l, t, data, i);
  if (t == WK_F64) return wk_lex_f64(l, (double *)data + i);
  float f;
  WK_TRY(wk_lex_f32(l, &f));
  wk_store_f64(data, t, i, (double)f);
  return NULL;
}

static wk_status parse_list(wk_lexer *l, const wk_type *t, void *data) {
  int64_t n = wk_type_count(t);
  WK_TRY(wk_lex_expect(l, '{'));
  for (int64_t i = 0; i < n; i++) {
    if (i) WK_TRY(wk_lex_expect(l, ','));
    WK_TRY(parse_element(l, t->dtype, data, i));
  }
  return wk_lex_expect(l, '}');
}

static wk_status parse_splat(wk_lexer *l, const wk_type *t, void *data) {
  char first[8];
  size_t size = (size_t)wk_dtype_size(t->dtype), bytes = (size_t)wk_type_bytes(t);
  WK_TRY(wk_lex_next(l));
  WK_TRY(wk_lex_expect(l, '('));
  WK_TRY(parse_element(l, t->dtype, first, 0));
  for (size_t i = 0; i < bytes; i += size) memcpy((char *)data + i, first, size);
  return wk_lex_expect(l, ')');
}

static int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A byte of a type whose elements are not all bytes. */
static bool is_element(wk_dtype t, int byte) {
  if (t == WK_BOOL) return byte <= 1;
  if (!wk_dtype_is_narrow(t) || wk_dtype_bits(t) == 8) return true;
  return wk_dtype_is_signed(t) ? wk_wrap_int(byte, t) == (int8_t)byte
                               : byte < 1 << wk_dtype_bits(t);
}

static wk_status parse_hex(wk_lexer *l, const wk_type *t, uint8_t *data) {
  size_t bytes = (size_t)wk_type_bytes(t);
  WK_TRY(wk_lex_next(l));
  WK_TRY(wk_lex_expect(l, '('));
  wk_token at = l->tok;
  const char *s;
  WK_TRY(wk_lex_text(l, WK_TOK_STRING, &s));
  if (at.n != 2 * bytes)
    return wk_lex_error_at(l, &at, __FILE__, __LINE__, "%zu digits, needs %zu", at.n, 2 * bytes);
  for (size_t i = 0; i < bytes; i++) {
    int high = nibble(s[2 * i]), low = nibble(s[2 * i + 1]);
    if (high < 0 || low < 0 || !is_element(t->dtype, high * 16 + low))
      return wk_lex_error_at(l, &at, __FILE__, __LINE__, "bad byte %zu", i);
    data[i] = (uint8_t)(high * 16 + low);
  }
  return wk_lex_expect(l, ')');
}

wk_status wk_data_check(const wk_lexer *l, const wk_type *t, int64_t *budget) {
  if (wk_lex_is_word(l, "splat")) {
    if (wk_type_bytes(t) > *budget)
      return wk_lex_error(l, "the splats of this text need more than %s",
                          wk_bytes_text(WK_TEXT_MAX_REPEATED).s);
    *budget -= wk_type_bytes(t);
  } else if (!wk_lex_is_word(l, "elided") && wk_type_count(t) > l->end - l->at) {
    return wk_lex_error(l, "the text ends before %lld elements", (long long)wk_type_count(t));
  }
  return NULL;
}

wk_status wk_data_parse(wk_lexer *l, const wk_type *t, void *data) {
  if (wk_lex_is(l, '{')) return parse_list(l, t, data);
  if (wk_lex_is_word(l, "splat")) return parse_splat(l, t, data);
  if (wk_lex_is_word(l, "hex")) return parse_hex(l, t, data);
  if (wk_lex_is_word(l, "elided"))
    return wk_lex_error(l, "the contents of this constant were left out when it was printed; "
                           "print it with --weights");
  return wk_lex_error(l, "contents expected, not %s", wk_lex_shown(&l->tok).s);
}
