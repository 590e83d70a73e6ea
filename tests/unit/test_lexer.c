/* SPDX-License-Identifier: Apache-2.0
 * What texts are taken apart into: kinds, contents and places of tokens, and what is said of those
 * that are none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/expr/expr.h"
#include "compiler/expr/lexer.h"

/* Tokens as KIND'text'line:column, or the message of the one that is none. */
static void tokens_of(const char *text, wk_str *b) {
  static const char kinds[] = "EWVSTNP"; /* end, word, value, symbol, string, number, punctuation */
  wk_arena *a = wk_arena_new();
  char *exact = wk_xmalloc(strlen(text) + 1); /* whose end a sanitizer sees */
  memcpy(exact, text, strlen(text) + 1);
  wk_lexer l;
  wk_status s = wk_lex_start(&l, a, exact, "f");
  wk_str_add(b, "");
  while (!s && l.tok.kind != WK_TOK_END) {
    if (strlen(l.tok.text) != l.tok.n) fail_msg("%s: length of '%s'", text, l.tok.text);
    wk_str_printf(b, "%c'%s'%d:%d ", kinds[l.tok.kind], l.tok.text, l.tok.line, l.tok.column);
    s = wk_lex_next(&l);
  }
  if (s) wk_str_printf(b, "%s: %s", s->place, s->message);
  else wk_str_printf(b, "E%d:%d", l.tok.line, l.tok.column);
  wk_status_free(s);
  free(exact);
  wk_arena_free(a);
}

static const char *const texts[][2] = {
    {"", "E1:1"},
    {" \t\r\n", "E2:1"},
    {"a", "W'a'1:1 E1:2"},
    {"a b\n c", "W'a'1:1 W'b'1:3 W'c'2:2 E2:3"},
    {"a#b\nc#", "W'a'1:1 W'c'2:1 E2:3"},
    {"#\n#\n  a", "W'a'3:3 E3:4"},
    {"a_1.b Z9 _x az_AZ.09", "W'a_1.b'1:1 W'Z9'1:7 W'_x'1:10 W'az_AZ.09'1:13 E1:21"},
    {"%a @b.c", "V'a'1:1 S'b.c'1:4 E1:8"},
    {"%1 @2x", "V'1'1:1 S'2x'1:4 E1:7"},
    {"%\"a b\" @\"c\"", "V'a b'1:1 S'c'1:8 E1:12"},
    {"@(1)", "P'@'1:1 P'('1:2 N'1'1:3 P')'1:4 E1:5"},
    {"% a", "P'%'1:1 W'a'1:3 E1:4"},
    {"%\"\"", "f:1:1: the name is empty"},
    {"@\"\"", "f:1:1: the name is empty"},
    {"\"\"", "T''1:1 E1:3"},
    {"\"a\"\"b\"", "T'a'1:1 T'b'1:4 E1:7"},
    {"\"#\" \"%\"", "T'#'1:1 T'%'1:5 E1:8"},
    {"\"\\n\\t\\\\\\\"\" x", "T'\n\t\\\"'1:1 W'x'1:12 E1:13"},
    {"\"\\x41\\x7e\\xFf\\x0A\\xa0\"", "T'A~\xff\n\xa0'1:1 E1:23"},
    {"\"\t\xc3\xa4\"", "T'\t\xc3\xa4'1:1 E1:6"},
    {"\"\\x00\"", "f:1:1: bad escape or control character in a string"},
    {"\"\\x4\"", "f:1:1: bad escape or control character in a string"},
    {"\"\\xg1\"", "f:1:1: bad escape or control character in a string"},
    {"\"\\x1g\"", "f:1:1: bad escape or control character in a string"},
    {"\"\\x1G\"", "f:1:1: bad escape or control character in a string"},
    {"\"\\x/1\"", "f:1:1: bad escape or control character in a string"},
    {"\"\\x:1\"", "f:1:1: bad escape or control character in a string"},
    {"\"\\x@1\"", "f:1:1: bad escape or control character in a string"},
    {"\"\\x`1\"", "f:1:1: bad escape or control character in a string"},
    {"\"\\X41\"", "f:1:1: bad escape or control character in a string"},
    {"\"\\a\"", "f:1:1: bad escape or control character in a string"},
    {"\"a\x1f\"", "f:1:1: bad escape or control character in a string"},
    {"a \"b", "W'a'1:1 f:1:3: the string does not end on its line"},
    {"\"b\\", "f:1:1: bad escape or control character in a string"},
    {"\"b\\\"", "f:1:1: the string does not end on its line"},
    {"x\n \"b\nc\"", "W'x'1:1 f:2:2: the string does not end on its line"},
    {"0 12 -3 +4", "N'0'1:1 N'12'1:3 N'-3'1:6 N'+4'1:9 E1:11"},
    {"1.5 .5 5. -.5 +5.", "N'1.5'1:1 N'.5'1:5 N'5.'1:8 N'-.5'1:11 N'+5.'1:15 E1:18"},
    {"1e5 1E5 1e-5 1.e+5 .1e55", "N'1e5'1:1 N'1E5'1:5 N'1e-5'1:9 N'1.e+5'1:14 N'.1e55'1:20 E1:25"},
    {"-inf +inf inf nan", "N'-inf'1:1 N'+inf'1:6 W'inf'1:11 W'nan'1:15 E1:18"},
    {"- . + -.", "P'-'1:1 P'.'1:3 P'+'1:5 P'-'1:7 P'.'1:8 E1:9"},
    {"1,2", "N'1'1:1 P','1:2 N'2'1:3 E1:4"},
    {"1-2", "N'1'1:1 N'-2'1:2 E1:4"},
    {"1.2.3", "W'1.2.3'1:1 E1:6"},
    {"12ab 1e 1e+ 1e-x", "W'12ab'1:1 W'1e'1:6 W'1e'1:9 P'+'1:11 W'1e'1:13 P'-'1:15 W'x'1:16 E1:17"},
    {"{}[]()<>=,;:!~", "P'{'1:1 P'}'1:2 P'['1:3 P']'1:4 P'('1:5 P')'1:6 P'<'1:7 P'>'1:8 P'='1:9 "
     "P','1:10 P';'1:11 P':'1:12 P'!'1:13 P'~'1:14 E1:15"},
    {"a \x7f", "W'a'1:1 f:1:3: unexpected byte 0x7f"},
    {"\x80", "f:1:1: unexpected byte 0x80"},
    {"\n\x01", "f:2:1: unexpected byte 0x01"},
    {"\x1f", "f:1:1: unexpected byte 0x1f"}};

static void test_tokens(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < WK_COUNTOF(texts); i++) {
    wk_str got = {0};
    tokens_of(texts[i][0], &got);
    if (strcmp(got.s, texts[i][1])) {
      print_error("text %zu '%s'\n  is:   %s\n  want: %s\n", i, texts[i][0], got.s, texts[i][1]);
      bad++;
    }
    wk_str_free(&got);
  }
  assert_int_equal(bad, 0);
}

/* How a token is shown in messages. */
static void test_shown(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", "end of text"}, {"w", "'w'"}, {"%v", "'%v'"}, {"@s", "'@s'"}, {"\"t\"", "\"t\""},
      {"1", "'1'"}, {"(", "'('"},
      {"abcdefghijklmnopqrstuvwxyz012345", "'abcdefghijklmnopqrstuvwxyz012345'"},
      {"abcdefghijklmnopqrstuvwxyz0123456", "'abcdefghijklmnopqrstuvwxyz012345...'"},
      {"%abcdefghijklmnopqrstuvwxyz0123456", "'%abcdefghijklmnopqrstuvwxyz012345...'"},
      {"\"abcdefghijklmnopqrstuvwxyz0123456\"", "\"abcdefghijklmnopqrstuvwxyz012345...\""}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_arena *a = wk_arena_new();
    wk_lexer l;
    assert_null(wk_lex_start(&l, a, cases[i][0], NULL));
    assert_string_equal(wk_lex_shown(&l.tok).s, cases[i][1]);
    wk_status s = wk_lex_expect(&l, '?');
    wk_str want = {0};
    wk_str_printf(&want, "'?' expected, not %s", cases[i][1]);
    assert_string_equal(s->message, want.s);
    assert_string_equal(s->place, "text:1:1");
    wk_str_free(&want);
    wk_status_free(s);
    wk_arena_free(a);
  }
}

/* What is printed reads back to the name. */
static void test_names(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"a", "%a"}, {"a.b_2", "%a.b_2"}, {"1x", "%1x"}, {".", "%."}, {"a b", "%\"a b\""},
      {"a ", "%\"a \""}, {" a", "%\" a\""}, {"a\"", "%\"a\\\"\""}, {"a-b", "%\"a-b\""},
      {"\xc3\xa4", "%\"\\xc3\\xa4\""}, {"a\n\t\\", "%\"a\\n\\t\\\\\""}, {"a\x01", "%\"a\\x01\""}};
  wk_arena *a = wk_arena_new();
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str text = {0};
    wk_lexer l;
    wk_print_name(&text, '%', cases[i][0]);
    assert_string_equal(text.s, cases[i][1]);
    assert_null(wk_lex_start(&l, a, text.s, "f"));
    assert_int_equal(l.tok.kind, WK_TOK_VALUE);
    assert_string_equal(l.tok.text, cases[i][0]);
    assert_null(wk_lex_next(&l));
    assert_int_equal(l.tok.kind, WK_TOK_END);
    wk_str_free(&text);
  }
  wk_str text = {0};
  wk_print_name(&text, '@', "");
  assert_string_equal(text.s, "@\"\"");
  wk_str_free(&text);
  wk_arena_free(a);
}

/* ---- numbers --------------------------------------------------------------------------------- */

typedef struct { const char *text, *i64, *u64; } integer_case; /* printed, or the message */

#define NO_INT "integer expected"
#define NO_U64 "non-negative integer expected"
#define FAR "the integer is out of range"

static const integer_case integers[] = {
    {"0", "0", "0"},
    {"+7", "7", "7"},
    {"-7", "-7", NO_U64},
    {"-0", "0", NO_U64},
    {"007", "7", "7"},
    {"9223372036854775807", "9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", FAR, "9223372036854775808"},
    {"-9223372036854775808", "-9223372036854775808", NO_U64},
    {"-9223372036854775809", FAR, NO_U64},
    {"18446744073709551615", FAR, "18446744073709551615"},
    {"18446744073709551616", FAR, FAR},
    {"1.0", NO_INT, NO_U64},
    {"1e2", NO_INT, NO_U64},
    {"1E2", NO_INT, NO_U64},
    {"-inf", NO_INT, NO_U64},
    {"inf", NO_INT, NO_U64},
    {"12ab", NO_INT, NO_U64},
    {"\"1\"", NO_INT, NO_U64},
    {"", NO_INT, NO_U64}};

static void expect(wk_status s, const char *got, const char *want, const char *text) {
  const char *is = s ? s->message : got;
  if (s ? strncmp(is, want, strlen(want)) : strcmp(is, want))
    fail_msg("%s: %s, not %s", text, is, want);
  wk_status_free(s);
}

static void test_integers(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(integers); i++) {
    wk_arena *a = wk_arena_new();
    wk_lexer l;
    char text[32];
    int64_t v = 0;
    uint64_t u = 0;
    assert_null(wk_lex_start(&l, a, integers[i].text, "f"));
    wk_status s = wk_lex_int(&l, &v);
    if (!s) assert_int_equal(l.tok.kind, WK_TOK_END);
    snprintf(text, sizeof text, "%lld", (long long)v);
    expect(s, text, integers[i].i64, integers[i].text);
    assert_null(wk_lex_start(&l, a, integers[i].text, "f"));
    s = wk_lex_u64(&l, &u);
    if (!s) assert_int_equal(l.tok.kind, WK_TOK_END);
    snprintf(text, sizeof text, "%llu", (unsigned long long)u);
    expect(s, text, integers[i].u64, integers[i].text);
    wk_arena_free(a);
  }
}

static void test_reals(void **state) {
  (void)state;
  /* the last is nearer to another f32 by way of a double than in one step */
  static const struct { const char *text; double wide; float narrow; } cases[] = {
      {"1", 1, 1}, {"-1.5", -1.5, -1.5f}, {".25e1", 2.5, 2.5f},
      {"1e400", (double)INFINITY, INFINITY},
      {"1e39", 1e39, INFINITY}, {"inf", (double)INFINITY, INFINITY},
      {"-inf", -(double)INFINITY, -INFINITY}, {"0.1", 0.1, 0.1f},
      {"1.000000059604644775390626", 1.000000059604644775390626, 1.0000001192092896f}};
  wk_arena *a = wk_arena_new();
  wk_lexer l;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    double wide = 7;
    float narrow = 7;
    assert_null(wk_lex_start(&l, a, cases[i].text, "f"));
    assert_null(wk_lex_f64(&l, &wide));
    assert_int_equal(l.tok.kind, WK_TOK_END);
    assert_null(wk_lex_start(&l, a, cases[i].text, "f"));
    assert_null(wk_lex_f32(&l, &narrow));
    assert_int_equal(l.tok.kind, WK_TOK_END);
    if (wide != cases[i].wide || narrow != cases[i].narrow) fail_msg("%s", cases[i].text);
  }
  static const char *const none[] = {"", "x", "%1", "\"1\"", "infinity", "nano", "(", "1x"};
  for (size_t i = 0; i < WK_COUNTOF(none); i++) {
    double wide;
    assert_null(wk_lex_start(&l, a, none[i], "f"));
    expect(wk_lex_f64(&l, &wide), "taken", "number expected", none[i]);
  }
  double nan = 0;
  assert_null(wk_lex_start(&l, a, "nan", "f"));
  assert_null(wk_lex_f64(&l, &nan));
  assert_true(isnan(nan));
  wk_arena_free(a);
}

/* ---- numbers in expressions ------------------------------------------------------------------ */

static wk_status parse(wk_arena *a, const char *text, wk_expr **e) {
  static const wk_dtype f32 = WK_F32;
  return wk_expr_parse(a, text, &f32, 1, e);
}

/* 319 characters; numbers of inputs and axes of 6 digits. */
static void test_long_numbers(void **state) {
  (void)state;
  wk_arena *a = wk_arena_new();
  for (int n = 317; n <= 322; n++)
    for (int sign = 0; sign < 2; sign++) {
      wk_str text = {0};
      wk_expr *e;
      if (sign) wk_str_add(&text, "-");
      wk_str_add(&text, "1.");
      for (int i = 2 + sign; i < n; i++) wk_str_add(&text, "0");
      wk_str_add(&text, "f32");
      wk_status s = parse(a, text.s, &e);
      if ((s == NULL) != (n < 320)) fail_msg("%d characters", n);
      if (s && !strstr(s->message, "number is too long")) fail_msg("%s", s->message);
      if (!s) assert_true(e->nodes[0].imm.f == (sign ? -1 : 1));
      wk_status_free(s);
      wk_str_free(&text);
    }
  static const char *const cases[][2] = {
      {"%000000", NULL}, {"%0000000", "small number expected"}, {"%", "small number expected"},
      {"%1", "there is no input %1"}, {"%999999", "there is no input %999999"},
      {"inf f32", "without"}, {"inff32", NULL}, {"-inff32", NULL},
      {"nanf32", NULL}, {"-nanf32", "operand expected"},
      {"inx", "unknown name inx"}, {"in", "unknown name in"}, {"infi8", "no integer"}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_expr *e;
    wk_status s = parse(a, cases[i][0], &e);
    if ((s == NULL) != (cases[i][1] == NULL) || (s && !strstr(s->message, cases[i][1])))
      fail_msg("%s: %s", cases[i][0], s ? s->message : "taken");
    wk_status_free(s);
  }
  wk_arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tokens),   cmocka_unit_test(test_shown),
      cmocka_unit_test(test_names),    cmocka_unit_test(test_integers),
      cmocka_unit_test(test_reals),    cmocka_unit_test(test_long_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
