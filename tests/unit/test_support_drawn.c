/* SPDX-License-Identifier: Apache-2.0 */
/* The helpers of compiler/support on drawn cases, against definitions that are written down here in
 * another way; and how often memory is asked for. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/support/support.h"

__extension__ typedef unsigned __int128 wide;

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Half a tenth of the unit at most between text and number, and the smallest unit that needs no
 * more than three digits in front of the point but for rounding. */
static void check_size(uint64_t n) {
  static const char units[] = "KMGTPE";
  wk_text24 t = wk_bytes_text(n);
  unsigned whole, tenth;
  char unit, rest[8];
  if (n < 1024) {
    char want[24];
    snprintf(want, sizeof want, "%d B", (int)n);
    assert_string_equal(t.s, want);
    return;
  }
  if (sscanf(t.s, "%u.%1u %ciB%7s", &whole, &tenth, &unit, rest) != 3)
    fail_msg("%llu: '%s'", (unsigned long long)n, t.s);
  const char *at = strchr(units, unit);
  assert_non_null(at);
  wide one = (wide)1 << (10 * (at - units + 1));
  wide shown = (10 * (wide)whole + tenth) * one, is = 10 * (wide)n;
  /* shown / 10 - one / 20 <= n < shown / 10 + one / 20 */
  bool near = 2 * shown <= 2 * is + one && 2 * is < 2 * shown + one;
  if (!near || whole >= 1024 || (whole == 0 && at > units))
    fail_msg("%llu: '%s'", (unsigned long long)n, t.s);
}

static void sizes_are_rounded(void **state) {
  (void)state;
  wk_rng r = {11};
  for (int shift = 0; shift < 64; shift++)
    for (int d = -3; d <= 3; d++) check_size((UINT64_C(1) << shift) + (uint64_t)d);
  for (uint64_t n = 0; n < 3000; n++) check_size(n);
  for (int i = 0; i < 20000; i++) check_size(wk_rng_next(&r) >> wk_rng_range(&r, 0, 63));
  for (int u = 1; u <= 6; u++) /* where tenths change, and where the next unit begins */
    for (uint64_t tenths = 10; tenths <= 10240; tenths += tenths < 100 ? 1 : 73)
      for (int d = -1; d <= 1; d++) {
        double middle = ((double)tenths + 0.5) / 10 * ldexp(1, 10 * u);
        if (middle < 0x1.fp63) check_size((uint64_t)middle + (uint64_t)d);
      }
}

static void sizes_are_read(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t bytes; /* 0: refused */
  } cases[] = {
      {"1", 1},
      {"1B", 1},
      {"512", 512},
      {"512 B", 512},
      {"1KiB", 1024},
      {"1  KiB", 1024},
      {"1.5 MiB", 1572864},
      {"0.5KiB", 512},
      {"0.001KiB", 1},
      {"3GiB", INT64_C(3) << 30},
      {"2TiB", INT64_C(2) << 40},
      {"1e3", 1000},
      {"1.9", 1},
      {"9007199254740991", (INT64_C(1) << 53) - 1},
      {"4096TiB", INT64_C(1) << 52},
      {"9007199254740992", 0},
      {"8192TiB", 0},
      {"0", 0},
      {"0.9", 0},
      {"0KiB", 0},
      {"0.0009KiB", 0},
      {"-1", 0},
      {"+1", 0},
      {" 1", 0},
      {".5KiB", 0},
      {"", 0},
      {"KiB", 0},
      {"1kib", 0},
      {"1K", 0},
      {"1KB", 0},
      {"1KiBs", 0},
      {"1 KiB ", 0},
      {"1PiB", 0},
      {"1 2", 0},
      {"inf", 0},
      {"nan", 0},
      {"1e400", 0},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    int64_t got = -7;
    bool ok = wk_bytes_parse(cases[i].text, &got);
    if (ok != (cases[i].bytes != 0) || got != (ok ? cases[i].bytes : -7))
      fail_msg("'%s': %d, %lld", cases[i].text, ok, (long long)got);
  }
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The cost of a[0..n) to b[0..m): a letter in or out or another one 2, other case 1, two neighbours
 * that are exchanged 2; every way is tried. */
static int cost(const char *a, int n, const char *b, int m, int8_t memo[16][16]) {
  if (n == 0 || m == 0) return 2 * (n + m);
  if (memo[n][m] >= 0) return memo[n][m];
  char x = a[n - 1], y = b[m - 1];
  int best = cost(a, n - 1, b, m - 1, memo) + (x == y ? 0 : (x ^ y) == 0x20 ? 1 : 2);
  int other = cost(a, n - 1, b, m, memo) + 2;
  if (other < best) best = other;
  other = cost(a, n, b, m - 1, memo) + 2;
  if (other < best) best = other;
  if (n > 1 && m > 1 && x == b[m - 2] && a[n - 2] == y) {
    other = cost(a, n - 2, b, m - 2, memo) + 2;
    if (other < best) best = other;
  }
  return memo[n][m] = (int8_t)best;
}

static void draw_word(wk_rng *r, char *s) {
  int n = (int)wk_rng_range(r, 1, 11);
  for (int i = 0; i < n; i++) s[i] = "abcdAB"[wk_rng_range(r, 0, 5)];
  s[n] = 0;
}

static void nearest_is_nearest(void **state) {
  (void)state;
  wk_rng r = {5};
  int found = 0;
  for (int round = 0; round < 3000; round++) {
    char word[12], text[5][12];
    const char *names[5], *want = NULL;
    int least = INT_MAX;
    draw_word(&r, word);
    for (int i = 0; i < 5; i++) {
      draw_word(&r, text[i]);
      names[i] = text[i];
      int8_t memo[16][16];
      memset(memo, -1, sizeof memo);
      int n = (int)strlen(word), m = (int)strlen(text[i]), longer = n > m ? n : m;
      int d = cost(word, n, text[i], m, memo);
      /* a third of the longer word, rounded up, but not all of it */
      if (d > (longer + 2) / 3 * 2 || d >= 2 * longer || d >= least) continue;
      least = d;
      want = names[i];
    }
    const char *got = wk_nearest(word, names, 5);
    found += want != NULL;
    if (got != want) fail_msg("%s: %s, not %s", word, got ? got : "-", want ? want : "-");
  }
  assert_in_range(found, 200, 2500);
}

static void long_names(void **state) {
  (void)state;
  for (size_t n = 61; n <= 66; n++) {
    char word[80], name[80];
    memset(word, 'a', n);
    memset(name, 'a', n);
    word[n] = name[n] = 0;
    word[n / 2] = 'b';
    const char *names[] = {"", name};
    const char *got = wk_nearest(word, names, 2);
    assert_ptr_equal(got, n <= 63 ? name : NULL);
    word[63] = 0; /* a long name is not near to a short word */
    assert_ptr_equal(wk_nearest(word, names, 2), n <= 63 ? name : NULL);
  }
}

/* ---- text ------------------------------------------------------------------------------------ */

static size_t encode(uint32_t code, size_t n, char *out) {
  static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  if (n == 1) {
    out[0] = (char)code;
  } else {
    for (size_t i = n; i-- > 1; code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(heads[n] | code);
  }
  out[n] = 0;
  return n;
}

/* Every code point in its own length, in longer ones, and cut off. */
static void every_character(void **state) {
  (void)state;
  static const uint32_t first[] = {0, 0, 0x80, 0x800, 0x10000, 0x110000};
  for (uint32_t code = 1, step; code < 0x110000; code += step) {
    step = code < 0x3000 || code % 0x1000 > 0xff0 ? 1 : 13;
    size_t own = 1;
    while (code >= first[own + 1]) own++;
    bool is_shown = code >= 0x20 && !(code >= 0x7f && code < 0xa0) &&
                    !(code >= 0xd800 && code < 0xe000);
    for (size_t n = own; n <= 4; n++) {
      char text[8], want[8];
      memcpy(want, text, encode(code, n, text) + 1);
      if (n > own || !is_shown) memset(want, '?', n);
      if (n == 1 && (code == '\n' || code == '\t')) *want = ' ';
      wk_text_clean(text);
      if (strcmp(text, want)) fail_msg("U+%04x in %zu bytes: '%s'", code, n, text);
    }
    for (size_t n = 1; n < own; n++) {
      char text[8];
      encode(code, own, text);
      text[n] = 0;
      wk_text_clean(text);
      assert_int_equal(strspn(text, "?"), n);
    }
  }
}

static void quoted_bytes(void **state) {
  (void)state;
  for (int c = 1; c < 256; c++) {
    char text[] = {(char)c, 'x', 0}, want[16];
    const char *form = c == '"' || c == '\\' ? "\"\\%cx\"" : c < 0x20 || c > 0x7e ? "\"\\x%02xx\""
                                                                                 : "\"%cx\"";
    snprintf(want, sizeof want, form, c);
    if (c == '\n') strcpy(want, "\"\\nx\"");
    if (c == '\t') strcpy(want, "\"\\tx\"");
    wk_str b = {0};
    wk_str_quote(&b, text);
    assert_string_equal(b.s, want);
    wk_str_free(&b);
  }
}

/* No text with fewer digits reads back to the same number; whole ones below a million are plain. */
static void floats_are_short(void **state) {
  (void)state;
  static const struct {
    double v;
    const char *single, *both;
  } cases[] = {{999999, "999999.0", "999999.0"},       {-999999, "-999999.0", "-999999.0"},
               {1000000, "1e+06", "1e+06"},            {1234567, "1234567.0", "1234567.0"},
               {0.25, "0.25", "0.25"},                 {1e22, "1e+22", "1e+22"},
               {16777217, "16777216.0", "16777217.0"}, {0.3, "0.3", "0.3"},
               {123456.789, "123456.79", "123456.789"}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str b = {0};
    wk_str_f32(&b, (float)cases[i].v);
    assert_string_equal(b.s, cases[i].single);
    b.n = 0;
    wk_str_f64(&b, cases[i].v);
    assert_string_equal(b.s, cases[i].both);
    wk_str_free(&b);
  }
}

static void empty_messages_stay_empty(void **state) {
  (void)state;
  wk_status s = wk_error(WK_INPUT, "%s", ""); /* all has been said */
  s = wk_status_note(s, "while reading %s", "x");
  assert_string_equal(s->message, "");
  wk_status_free(s);
  s = wk_status_note(wk_error(WK_INPUT, "bad"), "in \x1b%s", "a\nb");
  s = wk_status_note(s, "again");
  assert_string_equal(s->message, "bad (in ?a b) (again)");
  assert_null(s->place);
  char *text = NULL;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  wk_status_print(f, s);
  wk_status_print(f, NULL);
  fclose(f);
  assert_string_equal(text, "bad (in ?a b) (again)\n");
  free(text);
  wk_status_free(s);
}

/* ---- memory ---------------------------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
static const bool sanitizers = true;
#else
static const bool sanitizers = false;
#endif

/* A list of n elements moves a number of times that grows with the logarithm of n; under sanitizers
 * a short one moves each time. */
static void lists_grow_seldom(void **state) {
  (void)state;
  WK_VEC(uint64_t) v = {0};
  size_t cap = 0, moves = 0, short_moves = 0;
  for (uint64_t i = 0; i < 100000; i++) {
    wk_vec_push(&v, i);
    assert_true(v.cap >= v.n);
    if (v.cap != cap) (cap < 64 ? short_moves++ : moves++);
    cap = v.cap;
  }
  assert_in_range(moves, 5, 24);
  assert_in_range(short_moves, 1, sanitizers ? 64 : 8);
  assert_true(v.cap < 160000);
  wk_vec_free(&v);
  wk_vec_reserve(&v, 1000);
  assert_int_equal(v.cap, 1000);
  wk_vec_reserve(&v, 999);
  assert_int_equal(v.cap, 1000);
  wk_vec_reserve(&v, 1001);
  assert_int_equal(v.cap, 1500);
  wk_vec_free(&v);
}

static size_t apart(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return x > y ? x - y : y - x;
}

/* Small pieces lie side by side; chunks double, up to 1 MiB each. */
static void arenas_ask_seldom(void **state) {
  (void)state;
  wk_arena *a = wk_arena_new();
  size_t gaps[3] = {0};
  static const int until[] = {64, 16384, 262144}; /* pieces of 64 bytes: 4 KiB, 1 MiB, 16 MiB */
  char *before = wk_arena_alloc(a, 64), *next = wk_arena_alloc(a, 64);
  size_t usual = apart(before, next);
  before = next;
  for (int i = 0, k = 0; k < 3; i++) {
    char *p = wk_arena_alloc(a, 64);
    if (apart(p, before) != usual) gaps[k]++;
    before = p;
    if (i == until[k]) k++;
  }
  assert_in_range(gaps[0], 0, 2);
  assert_in_range(gaps[1], 4, 10);
  assert_in_range(gaps[2], 10, 24);
  wk_arena_reset(a); /* keeps its last chunk */
  char *first = wk_arena_alloc(a, 64);
  assert_true(apart(first, before) <= 2 << 20);
  wk_arena_reset(a);
  assert_ptr_equal(wk_arena_alloc(a, 64), first);
  wk_arena_free(a);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int enter_folder(void **state) {
  char name[] = "/tmp/wick-drawn-XXXXXX";
  if (!mkdtemp(name)) return -1;
  *state = strdup(name);
  return chdir(name);
}

static int leave_folder(void **state) {
  char *command;
  if (chdir("/") || asprintf(&command, "rm -rf '%s'", (char *)*state) < 0) return -1;
  int rc = system(command);
  free(command);
  free(*state);
  return rc;
}

static void expect_file(const char *path, const char *want) {
  wk_file f;
  wk_status s = wk_file_map(path, &f);
  assert_null(s);
  assert_int_equal(f.size, strlen(want));
  assert_memory_equal(f.data, want, f.size);
  wk_file_unmap(&f);
}

/* Where a name leads over links: relative ones from their own folder, 40 at most. */
static void links_lead_to_places(void **state) {
  (void)state;
  static const char *const links[][2] = {
      {"sub/up", "../there"}, {"sub/beside", "other"}, {"far", "/nowhere/at/all"},
      {"two", "sub/up"},      {"round", "round"},      {"a", "b"},
      {"b", "a"},             {"sub/whole", "/tmp/x"}};
  static const char *const places[][2] = {
      {"plain", "plain"},   {"sub/up", "sub/../there"}, {"sub/beside", "sub/other"},
      {"two", "sub/../there"}, {"far", "/nowhere/at/all"}, {"round", NULL}, {"a", NULL},
      {"sub/whole", "/tmp/x"}};
  assert_int_equal(mkdir("sub", 0700), 0);
  for (size_t i = 0; i < WK_COUNTOF(links); i++)
    assert_int_equal(symlink(links[i][1], links[i][0]), 0);
  for (int i = 0; i < 45; i++) {
    char from[8], to[8];
    snprintf(from, sizeof from, "l%d", i);
    snprintf(to, sizeof to, "l%d", i + 1);
    assert_int_equal(symlink(to, from), 0);
  }
  for (size_t i = 0; i < WK_COUNTOF(places); i++) {
    errno = 0;
    char *got = wk_out_place(places[i][0]);
    if (places[i][1]) assert_string_equal(got, places[i][1]);
    else assert_null(got);
    if (!got) assert_int_equal(errno, ELOOP);
    free(got);
  }
  char *end = wk_out_place("l6"); /* 39 links */
  assert_string_equal(end, "l45");
  free(end);
  assert_null(wk_out_place("l4")); /* 41 */
  assert_null(wk_write_file("sub/up", "made", 4));
  expect_file("there", "made");
  assert_null(wk_write_file("sub/beside", "too", 3));
  expect_file("sub/other", "too");
}

/* Room that was reserved and not used is given back. */
static void reserved_files_end_where_written(void **state) {
  (void)state;
  static const size_t rooms[] = {0, 1, 5, 6, 7, 100000};
  for (size_t i = 0; i < WK_COUNTOF(rooms); i++) {
    wk_out *o;
    assert_null(wk_out_open("file", &o));
    assert_null(wk_out_reserve(o, rooms[i]));
    wk_out_write(o, "sixsix", 6);
    assert_null(wk_out_commit(o));
    expect_file("file", "sixsix");
  }
  wk_out *o;
  assert_null(wk_out_open("/dev/null", &o));
  assert_null(wk_out_reserve(o, 100));
  assert_null(wk_out_commit(o));
}

/* Files that belong together: all of them or none, whichever of them fails. */
static void together_or_not_at_all(void **state) {
  (void)state;
  enum { N = 4 };
  for (int bad = -1; bad < N; bad++) {
    wk_out *all[N];
    for (int i = 0; i < N; i++) {
      char name[] = {'f', (char)('0' + i), 0};
      (void)unlink(name);
      assert_null(wk_out_open(i == bad ? "/dev/full" : name, &all[i]));
      wk_out_write(all[i], name, 2);
    }
    wk_status s = wk_out_commit_all(all, N);
    assert_int_equal(s != NULL, bad >= 0);
    if (s) assert_string_equal(s->place, "/dev/full");
    wk_status_free(s);
    for (int i = 0; i < N; i++) {
      char name[] = {'f', (char)('0' + i), 0};
      if (bad >= 0) assert_int_equal(access(name, F_OK), -1);
      else expect_file(name, name);
    }
  }
}

/* A name that is longer than a folder's names may be is refused when it is opened or committed, and
 * nothing stays. */
static void what_cannot_be_named(void **state) {
  (void)state;
  char name[300];
  memset(name, 'n', 260);
  name[260] = 0;
  wk_status s = wk_write_file(name, "x", 1);
  assert_non_null(s);
  assert_int_equal(s->code, WK_IO);
  assert_non_null(strstr(s->message, "cannot write: File name too long"));
  wk_status_free(s);
  assert_int_equal(rmdir("."), -1);
  char *where = getcwd(NULL, 0);
  assert_int_equal(chdir("/"), 0);
  assert_int_equal(rmdir(where), 0); /* it is empty */
  assert_int_equal(mkdir(where, 0700), 0);
  assert_int_equal(chdir(where), 0);
  free(where);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_rounded),
      cmocka_unit_test(sizes_are_read),
      cmocka_unit_test(nearest_is_nearest),
      cmocka_unit_test(long_names),
      cmocka_unit_test(every_character),
      cmocka_unit_test(quoted_bytes),
      cmocka_unit_test(floats_are_short),
      cmocka_unit_test(empty_messages_stay_empty),
      cmocka_unit_test(lists_grow_seldom),
      cmocka_unit_test(arenas_ask_seldom),
      cmocka_unit_test_setup_teardown(links_lead_to_places, enter_folder, leave_folder),
      cmocka_unit_test_setup_teardown(reserved_files_end_where_written, enter_folder,
                                      leave_folder),
      cmocka_unit_test_setup_teardown(together_or_not_at_all, enter_folder, leave_folder),
      cmocka_unit_test_setup_teardown(what_cannot_be_named, enter_folder, leave_folder),
  };
  return cmocka_run_group_tests_name("support, drawn", tests, NULL, NULL);
}
