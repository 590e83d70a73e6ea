/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, positions, names and tables as the command prints them, and its line of progress on a
 * terminal. */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/progress.h"
#include "cli/csv.h"
#include "cli/plot.h"
#include "cli/text.h"

/* ---- numbers --------------------------------------------------------------------------------- */

static void seconds(void **state) {
  (void)state;
  static const struct {
    double s;
    const char *text;
  } cases[] = {{0, "0 us"},           {4e-7, "0 us"},        {6e-7, "1 us"},
               {9.9949e-4, "999 us"}, {9.9951e-4, "1.00 ms"}, {1e-3, "1.00 ms"},
               {1.234e-3, "1.23 ms"}, {0.01234, "12.34 ms"}, {0.0999949, "99.99 ms"},
               {0.0999951, "100 ms"}, {0.1, "100 ms"},       {0.5004, "500 ms"},
               {0.99949, "999 ms"},   {0.99951, "1.00 s"},   {1, "1.00 s"},
               {12.345678, "12.35 s"}, {99.9949, "99.99 s"}, {99.9951, "100 s"},
               {100, "100 s"},        {12345.6, "12346 s"}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    assert_string_equal(wk_text_seconds(cases[i].s).s, cases[i].text);
}

/* Three digits, rounded, and the unit that leaves one to three of them before the point: never
 * 1000, nor 10.00 or 100.0, which rounding would make of what lies just below. */
static void counts(void **state) {
  (void)state;
  static const struct {
    int64_t n;
    const char *text;
  } cases[] = {{0, "0"},
               {7, "7"},
               {999, "999"},
               {-5000, "-5000"},
               {1000, "1.00 k"},
               {1004, "1.00 k"},
               {1006, "1.01 k"},
               {9994, "9.99 k"},
               {9996, "10.0 k"},
               {10000, "10.0 k"},
               {12345, "12.3 k"},
               {99940, "99.9 k"},
               {99960, "100 k"},
               {100000, "100 k"},
               {999400, "999 k"},
               {999600, "1.00 M"},
               {999600 * INT64_C(1000000000), "1.00 P"},
               {1000000, "1.00 M"},
               {4089284608, "4.09 G"},
               {12 * INT64_C(1000000000000), "12.0 T"},
               {345 * INT64_C(1000000000000000), "345 P"},
               {INT64_MAX, "9.22 E"}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    assert_string_equal(wk_text_count(cases[i].n).s, cases[i].text);
  wk_rng r = {3};
  for (int i = 0; i < 20000; i++) {
    int64_t n = (int64_t)(wk_rng_next(&r) >> wk_rng_range(&r, 1, 54));
    wk_text24 t = wk_text_count(n);
    char unit = 0;
    double shown;
    if (n < 1000) {
      assert_int_equal(strtoll(t.s, NULL, 10), n);
      continue;
    }
    assert_int_equal(sscanf(t.s, "%lf %c", &shown, &unit), 2);
    const char *at = strchr("kMGTPE", unit);
    assert_non_null(at);
    double one = pow(1000, (double)(at - "kMGTPE" + 1)), step = one;
    size_t digits = 0;
    bool is_behind = false;
    for (const char *p = t.s; *p != ' '; p++) {
      digits += *p != '.';
      if (is_behind) step /= 10;
      is_behind |= *p == '.';
    }
    bool is_wide = shown >= 1 && shown < 1000 && digits == 3;
    if (!is_wide || fabs(shown * one - (double)n) > step * 0.500001)
      fail_msg("%" PRId64 ": '%s'", n, t.s);
  }
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void positions(void **state) {
  (void)state;
  static const struct {
    int rank;
    int64_t dims[4], flat;
    const char *text;
  } cases[] = {{0, {0}, 0, "[]"},
               {1, {9}, 8, "[8]"},
               {2, {3, 4}, 0, "[0,0]"},
               {2, {3, 4}, 3, "[0,3]"},
               {2, {3, 4}, 4, "[1,0]"},
               {2, {3, 4}, 11, "[2,3]"},
               {3, {2, 1, 5}, 7, "[1,0,2]"},
               {4, {2, 3, 4, 5}, 119, "[1,2,3,4]"},
               {4, {2, 3, 4, 5}, 64, "[1,0,0,4]"}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_type t = wk_type_make(WK_F32, cases[i].rank, cases[i].dims);
    wk_str b = {0};
    wk_text_position(&b, &t, cases[i].flat);
    assert_string_equal(b.s, cases[i].text);
    wk_str_free(&b);
  }
}

static void elements(void **state) {
  (void)state;
  const float floats[] = {1.0f / 3, -0.0f, 16777216, NAN, INFINITY};
  const double doubles[] = {1.0 / 3, 1e300};
  const uint16_t halves[] = {0x3c01, 0x3c00};
  const int8_t bytes[] = {-128, 127};
  const uint8_t unsigned_bytes[] = {255};
  const int64_t longs[] = {INT64_MIN, INT64_MAX};
  const uint64_t unsigned_longs[] = {UINT64_MAX, 1};
  const uint8_t bools[] = {1, 0};
  const struct {
    wk_dtype type;
    const void *data;
    int64_t at;
    const char *text;
  } cases[] = {{WK_F32, floats, 0, "0.333333343"},
               {WK_F32, floats, 1, "-0"},
               {WK_F32, floats, 2, "16777216"},
               {WK_F32, floats, 3, "nan"},
               {WK_F32, floats, 4, "inf"},
               {WK_F64, doubles, 0, "0.33333333333333331"},
               {WK_F64, doubles, 1, "1.0000000000000001e+300"},
               {WK_F16, halves, 0, "1.00097656"},
               {WK_BF16, halves, 1, "0.0078125"},
               {WK_I8, bytes, 0, "-128"},
               {WK_I8, bytes, 1, "127"},
               {WK_U8, unsigned_bytes, 0, "255"},
               {WK_I64, longs, 0, "-9223372036854775808"},
               {WK_I64, longs, 1, "9223372036854775807"},
               {WK_U64, unsigned_longs, 0, "18446744073709551615"},
               {WK_U64, unsigned_longs, 1, "1"},
               {WK_BOOL, bools, 0, "1"},
               {WK_BOOL, bools, 1, "0"}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    const int64_t dims[] = {8};
    wk_tensor t = {.type = wk_type_make(cases[i].type, 1, dims), .data = (void *)cases[i].data};
    wk_str b = {0};
    wk_text_element(&b, &t, cases[i].at);
    assert_string_equal(b.s, cases[i].text);
    wk_str_free(&b);
  }
  const int64_t dims[] = {1, 5};
  float others[] = {0, 1, 2, 3, 4};
  wk_tensor want = {.type = wk_type_make(WK_F32, 2, dims), .data = (void *)floats};
  wk_tensor got = {.type = want.type, .data = others};
  const wk_diff d = {.mismatches = 4, .worst = 2};
  wk_str b = {0};
  wk_text_diff(&b, &got, &want, &d);
  assert_string_equal(b.s, "4 of 5 elements differ, worst at [0,2]: got 2, want 16777216");
  wk_str_free(&b);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void file_names(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", "%"},           {"a", "a"},         {"Az09._-", "Az09._-"}, {".", "%2E"},
      {"..", "%2E."},      {".x.y", "%2Ex.y"}, {"a/b:c", "a%2Fb%3Ac"}, {"a b%", "a%20b%25"},
      {"~", "%7E"},        {"\xc3\xa4", "%C3%A4"}, {"\x01\x7f", "%01%7F"}, {"@[`{", "%40%5B%60%7B"},
      {"/", "%2F"}};
  wk_arena *a = wk_arena_new();
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    assert_string_equal(wk_text_file_name(a, cases[i][0]), cases[i][1]);
  char name[600];
  for (size_t n = 198; n <= 203; n++) { /* 200 bytes are the most */
    memset(name, 'n', n);
    name[n] = 0;
    const char *file = wk_text_file_name(a, name);
    assert_int_equal(strlen(file), n <= 200 ? n : 200);
    assert_int_equal(strchr(file, '~') != NULL, n > 200);
    if (n <= 200) continue;
    assert_int_equal(strchr(file, '~') - file, 183);
    name[n - 1] = 'm'; /* the hash tells names apart that begin alike */
    assert_string_not_equal(wk_text_file_name(a, name), file);
  }
  for (size_t n = 66; n <= 67; n++) { /* in bytes of the file's name: three for each of these */
    memset(name, '/', n);
    name[n] = 0;
    assert_int_equal(strchr(wk_text_file_name(a, name), '~') != NULL, n > 66);
  }
  wk_arena_free(a);
}

static void marked_text(void **state) {
  (void)state;
  wk_str b = {0};
  wk_html_text(&b, "a<b> & \"c\" 'd' &amp; \xc3\xa4");
  assert_string_equal(b.s, "a&lt;b&gt; &amp; &quot;c&quot; 'd' &amp;amp; \xc3\xa4");
  wk_str_free(&b);
  wk_csv_text(&b, "a,\"b\"\n");
  assert_string_equal(b.s, "\"a,\"\"b\"\"\n\"");
  wk_str_free(&b);
}

/* ---- tables ---------------------------------------------------------------------------------- */

typedef struct {
  const char *name, *align;
  const char *rows[5];
  const char *want;
} table_case;

static const table_case tables[] = {
    {"nothing", "lr", {NULL}, ""},
    {"one cell", "l", {"a"}, "a\n"},
    {"columns are as wide as their widest cell", "ll", {"a\tb", "long\tc", "x\tlonger"},
     "a     b\nlong  c\nx     longer\n"},
    {"to the right", "rlr", {"1\tx\t10", "100\tlonger\t5"}, "  1  x       10\n100  longer   5\n"},
    {"beyond the letters: to the left", "r", {"1\tab\tc", "22\ta\td"}, " 1  ab  c\n22  a   d\n"},
    {"an empty cell", "lrl", {"a\t\tc", "bb\t10\td", "\t5"}, "a       c\nbb  10  d\n     5\n"},
    {"no blanks at the end", "ll", {"a\t", "bbb\tc", "d"}, "a\nbbb  c\nd\n"},
    {"fewer cells than others", "lll", {"a\tb\tc", "d"}, "a  b  c\nd\n"},
    {"an empty line before a row", "ll", {"a\tb", "\nlong\tc"}, "a     b\n\nlong  c\n"},
    {"letters of several bytes", "lr", {"\xc3\xa4\xc3\xb6\tx", "abc\t\xe2\x82\xac\xe2\x82\xac"},
     "\xc3\xa4\xc3\xb6    x\nabc  \xe2\x82\xac\xe2\x82\xac\n"},
    {"control characters", "ll", {"a\x1b[1m\tb\nc", "\xff\td"}, "a?[1m  b c\n?      d\n"},
};

static void aligned_columns(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(tables); i++) {
    const table_case *c = &tables[i];
    wk_table t = {0};
    for (int k = 0; k < 5 && c->rows[k]; k++)
      if (*c->rows[k] == '\n') wk_table_row(&t, "\n%s", c->rows[k] + 1);
      else wk_table_row(&t, "%s", c->rows[k]);
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    wk_table_print(f, &t, c->align);
    fclose(f);
    if (strcmp(text, c->want)) fail_msg("%s:\n%s", c->name, text);
    assert_null(t.text.s);
    free(text);
  }
}

/* Twenty columns have widths of their own, those behind share the last. */
static void many_columns(void **state) {
  (void)state;
  wk_table t = {0};
  for (int row = 0; row < 2; row++) {
    wk_str b = {0};
    for (int c = 0; c < 22; c++) wk_str_printf(&b, "%s%0*d", c ? "\t" : "", row ? 1 : c % 3 + 1, 7);
    wk_table_row(&t, "%s", b.s);
    wk_str_free(&b);
  }
  char *text = NULL;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  wk_table_print(f, &t, "rrrrrrrrrrrrrrrrrrrr");
  fclose(f);
  assert_string_equal(
      text,
      "7  07  007  7  07  007  7  07  007  7  07  007  7  07  007  7  07  007  7   07  007    7\n"
      "7   7    7  7   7    7  7   7    7  7   7    7  7   7    7  7   7    7  7    7    7    7\n");
  free(text);
}

/* ---- progress -------------------------------------------------------------------------------- */

typedef struct {
  const char *name, *term, *no_color;
  int columns; /* 0: the terminal does not say */
  const char *said, *shown;
} progress_case;

#define TEN "0123456789"
#define WIPED "\r\033[K"

static const progress_case lines[] = {
    {"a line", "xterm", NULL, 80, "5 of 8", WIPED "5 of 8" WIPED},
    {"the last column stays free", "xterm", NULL, 10, TEN, WIPED "012345678" WIPED},
    {"just fits", "xterm", NULL, 11, TEN, WIPED TEN WIPED},
    {"letters of several bytes stay whole", "xterm", NULL, 4, "a\xc3\xa4\xe2\x82\xac" "bc",
     WIPED "a\xc3\xa4\xe2\x82\xac" WIPED},
    {"of unknown width", "xterm", NULL, 0, TEN TEN TEN TEN TEN TEN TEN TEN,
     WIPED TEN TEN TEN TEN TEN TEN TEN "012345678" WIPED},
    {"one column is as good as none", "xterm", NULL, 1, "abc", WIPED "abc" WIPED},
    {"two are not", "xterm", NULL, 2, "abc", WIPED "a" WIPED},
    {"what is not fit for a terminal", "xterm", NULL, 80, "a\x1b[31m\nb", WIPED "a?[31m b" WIPED},
    {"a terminal that knows nothing", "dumb", NULL, 80, "abc", ""},
    {"no name of it", NULL, NULL, 80, "abc", ""},
    {"an empty name", "", NULL, 80, "abc", ""},
    {"not wanted", "xterm", "1", 80, "abc", ""},
    {"an empty NO_COLOR does not count", "xterm", "", 80, "abc", WIPED "abc" WIPED},
};

static void set(const char *name, const char *value) {
  if (value) setenv(name, value, 1);
  else unsetenv(name);
}

static void progress_lines(void **state) {
  (void)state;
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) || unlockpt(master)) skip(); /* as in some chroots */
  int terminal = open(ptsname(master), O_RDWR | O_NOCTTY), before = dup(STDERR_FILENO);
  if (terminal < 0) skip();
  struct termios mode;
  assert_int_equal(tcgetattr(terminal, &mode), 0);
  mode.c_oflag &= ~(tcflag_t)OPOST;
  assert_int_equal(tcsetattr(terminal, TCSANOW, &mode), 0);
  wk_progress_on_terminal();
  for (size_t i = 0; i < WK_COUNTOF(lines); i++) {
    const progress_case *c = &lines[i];
    const struct winsize size = {.ws_col = (unsigned short)c->columns, .ws_row = 24};
    assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
    set("TERM", c->term);
    set("NO_COLOR", c->no_color);
    fflush(stderr);
    assert_int_equal(dup2(terminal, STDERR_FILENO), STDERR_FILENO);
    wk_progress("%s", c->said);
    wk_progress_end();
    fputs("|", stderr); /* the end, so that reading does not wait */
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    char shown[400] = {0};
    size_t n = 0;
    while (n < sizeof shown - 1 && (n == 0 || shown[n - 1] != '|')) {
      ssize_t k = read(master, shown + n, sizeof shown - 1 - n);
      if (k <= 0) break;
      n += (size_t)k;
    }
    assert_true(n > 0);
    shown[n - 1] = 0;
    if (strcmp(shown, c->shown)) fail_msg("%s: '%s'", c->name, shown);
  }
  wk_progress("nothing where stderr is no terminal");
  close(terminal);
  close(master);
  close(before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(seconds),       cmocka_unit_test(counts),
      cmocka_unit_test(positions),     cmocka_unit_test(elements),
      cmocka_unit_test(file_names),    cmocka_unit_test(marked_text),
      cmocka_unit_test(aligned_columns), cmocka_unit_test(many_columns),
      cmocka_unit_test(progress_lines),
  };
  return cmocka_run_group_tests_name("driver text", tests, NULL, NULL);
}
