/* SPDX-License-Identifier: Apache-2.0
 * Machine files, overrides, hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "targets/accel/isa/internal.h"
#include "targets/accel/isa/isa.h"

static void expect_error(wk_status s, const char *place, const char *message, const char *input) {
  if (!s) fail_msg("'%s' is accepted; wanted: %s", input, message);
  const char *got = s->place ? s->place : "";
  if (strcmp(got, place) != 0 || strcmp(s->message, message) != 0)
    fail_msg("'%s' gives\n  %s: %s\nwanted\n  %s: %s", input, got, s->message, place, message);
  wk_status_free(s);
}

static void expect_none(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void reads_values(void **state) {
  static const char text[] = "// comment\narray = 8; # another\nbus=32\n dram_bytes = 12.5;\n"
                             "/* and\n   99999999999, a third */ dram_traffic = 0.0625;\n"
                             "dram_error = -1;\n"
                             "scratchpad = 0x8000;";
  wk_machine m, defaults;
  (void)state;
  wk_machine_defaults(&defaults);
  expect_none(wk_machine_parse(text, strlen(text), "a/b/small.cfg", &m));
  assert_string_equal(m.name, "small");
  assert_int_equal(m.array, 8);
  assert_int_equal(m.bus, 32);
  assert_int_equal(m.scratchpad, 0x8000);
  assert_int_equal(m.dram_bytes.num, 25);
  assert_int_equal(m.dram_bytes.den, 2);
  assert_int_equal(m.dram_traffic.num, 1);
  assert_int_equal(m.dram_traffic.den, 16);
  assert_int_equal(m.dram_error, -1);
  assert_int_equal(m.banks, defaults.banks);
  expect_none(wk_machine_parse("", 0, "empty", &m));
  assert_true(wk_machine_hash(&m) == wk_machine_hash(&defaults));
}

static void refuses_files(void **state) {
  static const struct { const char *text, *place, *message;
  } cases[] = {
      {"array = 8;\nscrachpad = 65536;", "m.cfg:2",
       "unknown key 'scrachpad'; did you mean 'scratchpad'?"},
      {"xyzzy = 1;", "m.cfg:1", "unknown key 'xyzzy'"},
      {"array = 12;", "m.cfg:1", "array = 12 must be a power of two"},
      {"\n\narray = 64;", "m.cfg:3", "array = 64 is outside 8 to 32 lanes"},
      {"array = -8;", "m.cfg:1", "array = -8 is outside 8 to 32 lanes"},
      {"array = 99999999999999999999;", "m.cfg:1", "a number is too large"},
      {"array = 4294967312;", "m.cfg:1", "a number is too large"}, /* 2^32 + 16 */
      {"/* 1\n */array = 0x100000010;", "m.cfg:2", "a number is too large"},
      {"array = 4294967312L;", "m.cfg:1", "a number is too large"},
      {"array = 8.5;", "m.cfg:1", "array must be a whole number"},
      {"array = \"8\";", "m.cfg:1", "a value is a number, no text"},
      {"array = true;", "m.cfg:1", "array must be a whole number"},
      {"array = [8, 16];", "m.cfg:1", "array must be a whole number"},
      {"dram_bytes = (1, 2);", "m.cfg:1", "dram_bytes must be a number"},
      {"dram_bytes = 0.0000001;", "m.cfg:1", "dram_bytes is a number of at most six decimals"},
      {"dram_bytes = 1e300;", "m.cfg:1", "dram_bytes is a number of at most six decimals"},
      {"dram_bytes = 0.05;", "m.cfg:1", "dram_bytes = 0.05 is outside 0.0625 to 64 bytes/cycle"},
      {"dram_bytes = -1.5;", "m.cfg:1", "dram_bytes = -1.5 is outside 0.0625 to 64 bytes/cycle"},
      {"dram_seed = -1;", "m.cfg:1", "dram_seed = -1 is outside 0 to 2147483647"},
      {"array = 8;\narray = 16;", "m.cfg:2", "duplicate setting name"},
      {"array = ;", "m.cfg:1", "syntax error"},
      {"array = 8\n  @include \"/etc/passwd\"", "m.cfg:2", "no file may include another"},
      {"@include \"other.cfg\"", "m.cfg:1", "no file may include another"},
      {"array = 32;", "m.cfg", "bus = 16 bytes is narrower than a word of array = 32 bytes"},
      {"array = 32;\nbus = 16;", "m.cfg:2",
       "bus = 16 bytes is narrower than a word of array = 32 bytes"},
      {"array = 8; accumulators = 262144;", "m.cfg:1",
       "accumulators = 262144 bytes are 8192 entries of array = 8 sums; commands reach 4096"},
      {"dram_bytes = 4;\ndram_traffic = 4;", "m.cfg:2",
       "dram_traffic leaves nothing of dram_bytes"},
      {"dram_refresh_interval = 10; dram_refresh_cycles = 10;", "m.cfg:1",
       "dram_refresh_cycles = 10 leaves nothing of dram_refresh_interval = 10"},
      {"dram_traffic = 4;\ndram_overhead = 64;", "m.cfg:1",
       "the memory cannot keep up: dram_traffic with its dram_overhead takes 150 % of it, refresh "
       "0 %"}};
  wk_machine m;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    expect_error(wk_machine_parse(cases[i].text, strlen(cases[i].text), "m.cfg", &m),
                 cases[i].place, cases[i].message, cases[i].text);
  expect_error(wk_machine_parse("a\0b", 3, "m.cfg", &m), "m.cfg:1", "the byte 0 in a text",
               "a 0 b");
  char *deep = wk_xmalloc(100000);
  memset(deep, '(', 100000);
  expect_error(wk_machine_parse(deep, 1000, "m.cfg", &m), "m.cfg:1", "too many brackets", "((((");
  expect_error(wk_machine_parse(deep, 100000, "m.cfg", &m), "m.cfg",
               "has 100000 bytes; a machine file has at most 65536", "((((");
  free(deep);
}

static void finds_machines(void **state) {
  wk_machine m;
  char path[] = "/tmp/wick-machine-XXXXXX";
  (void)state;
  assert_int_equal(wk_machine_preset_count(), 3);
  for (size_t i = 0; i < wk_machine_preset_count(); i++) {
    expect_none(wk_machine_read(wk_machine_preset_name(i), &m));
    assert_string_equal(m.name, wk_machine_preset_name(i));
    expect_none(wk_machine_check(&m));
  }
  expect_error(wk_machine_read("bsae", &m), "", "unknown machine 'bsae'; did you mean 'base'?", "");
  expect_error(wk_machine_read("qqqqqq", &m), "",
               "unknown machine 'qqqqqq': neither a preset nor a file", "");
  expect_error(wk_machine_read("no/such.cfg", &m), "no/such.cfg",
               "cannot open: No such file or directory", "");
  int fd = mkstemp(path);
  assert_int_equal(write(fd, "array = 8;", 10), 10);
  close(fd);
  expect_none(wk_machine_read(path, &m));
  assert_int_equal(m.array, 8);
  unlink(path);
}

/* ---- overrides ------------------------------------------------------------------------------- */

static void overrides(void **state) {
  static const struct { const char *text, *place, *message;
  } cases[] = {
      {"latenzy=5", "latenzy=5", "unknown key 'latenzy'; did you mean 'latency'?"},
      {"latency", "latency", "'latency' is not of the form KEY=NUMBER"},
      {"", "", "'' is not of the form KEY=NUMBER"},
      {"=5", "=5", "'=5' is not of the form KEY=NUMBER"},
      {"latency=5,", "latency=5,", "'' is not of the form KEY=NUMBER"},
      {"latency=x", "latency=x", "'x' is no number of at most six decimals"},
      {"latency=", "latency=", "'' is no number of at most six decimals"},
      {"latency=1.5", "latency=1.5", "dram_latency must be a whole number"},
      {"latency=0", "latency=0", "dram_latency = 0 is outside 1 to 100000 cycles"},
      {"bytes=0.1234567", "bytes=0.1234567", "'0.1234567' is no number of at most six decimals"},
      {"array=8", "array=8", "array is hardware: it stands in the machine file"},
      {"bytes=4,traffic=4", "bytes=4,traffic=4", "dram_traffic leaves nothing of dram_bytes"},
      {"bytes=8,traffic=4,overhead=64", "bytes=8,traffic=4,overhead=64",
       "the memory cannot keep up: dram_traffic with its dram_overhead takes 150 % of it, refresh "
       "0 %"},
      {"bytes=8,traffic=6.4,refresh_interval=700,refresh_cycles=300",
       "bytes=8,traffic=6.4,refresh_interval=700,refresh_cycles=300",
       "the memory cannot keep up: dram_traffic with its dram_overhead takes 80 % of it, refresh "
       "42.86 %"},
      /* nothing at all */
      {"bytes=8,traffic=3,overhead=16,refresh_interval=800,refresh_cycles=350",
       "bytes=8,traffic=3,overhead=16,refresh_interval=800,refresh_cycles=350",
       "the memory cannot keep up: dram_traffic with its dram_overhead takes 56.25 % of it, "
       "refresh 43.75 %"}};
  wk_machine m;
  (void)state;
  wk_machine_defaults(&m);
  uint64_t hash = wk_machine_hash(&m);
  expect_none(wk_machine_override(&m, "latency=500,dram_bytes=12.5000000000,clock_mhz=800,"
                                      "error=7"));
  assert_int_equal(m.dram_latency, 500);
  assert_int_equal(m.dram_bytes.num, 25);
  assert_int_equal(m.dram_bytes.den, 2);
  assert_int_equal(m.clock_mhz, 800);
  assert_int_equal(m.dram_error, 7);
  assert_true(wk_machine_hash(&m) == hash);
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    expect_error(wk_machine_override(&m, cases[i].text), cases[i].place, cases[i].message,
                 cases[i].text);
  wk_machine almost = m;
  expect_none(wk_machine_override(
      &almost, "bytes=8,traffic=2.999999,overhead=16,refresh_interval=800,refresh_cycles=350"));
  assert_int_equal(m.dram_latency, 500); /* a refused list changes nothing */
  assert_int_equal(m.dram_bytes.num, 25);
}

/* ---- identity -------------------------------------------------------------------------------- */

static void hashes_hardware(void **state) {
  wk_machine m, other;
  (void)state;
  wk_machine_defaults(&m);
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    const wk_machine_key *k = &wk_machine_keys[i];
    other = m;
    *(int64_t *)((char *)&other + k->offset) += 1;
    bool differs = wk_machine_hash(&m) != wk_machine_hash(&other);
    assert_int_equal(differs, k->kind == WK_KEY_HARDWARE);
    assert_int_equal(*wk_machine_difference(&other, &m).s != 0, k->kind == WK_KEY_HARDWARE);
  }
  other = m;
  other.array = 8;
  other.banks = 4;
  assert_string_equal(wk_machine_difference(&other, &m).s,
                      "array is 8, not 16, banks is 4, not 8");
}

/* Every default is within its range, and shown as it was written. */
static void table_is_sound(void **state) {
  wk_machine m;
  (void)state;
  wk_machine_defaults(&m);
  expect_none(wk_machine_check(&m));
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    wk_str text = {0}, b = {0};
    wk_fraction limit;
    assert_true(wk_fraction_parse(wk_machine_keys[i].min, &limit));
    assert_true(wk_fraction_parse(wk_machine_keys[i].max, &limit));
    wk_machine_key_text(&b, &m, &wk_machine_keys[i]);
    assert_string_equal(b.s, wk_machine_keys[i].def);
    wk_str_printf(&text, "%s = %s;", wk_machine_keys[i].name, b.s);
    expect_none(wk_machine_parse(text.s, text.n, "default", &m));
    wk_str_free(&text);
    wk_str_free(&b);
  }
}

/* What packages hold: written by wk_machine_text, read without libconfig. */
static void rows_are_read(void **state) {
  static const struct {
    const char *text, *place, *message;
  } bad[] = {{"array = 8", NULL, "rows:1: no KEY = NUMBER;"},
             {"array = 8\n", NULL, "rows:1: no KEY = NUMBER;"},
             {"array = 8;\n\n", NULL, "rows:2: no KEY = NUMBER;"},
             {"array = 8; \n", NULL, "rows:1: no KEY = NUMBER;"},
             {"// array\n", NULL, "rows:1: no KEY = NUMBER;"},
             {"arrays = 8;\n", NULL, "rows:1: unknown key"},
             {"array = [8];\n", NULL, "rows:1: its value is no number"},
             {"array = 0x8;\n", NULL, "rows:1: its value is no number"},
             {"array = 64;\n", "rows:1", "array = 64 is outside 8 to 32 lanes"},
             {"bus = 16;\narray = 32;\n", "rows",
              "bus = 16 bytes is narrower than a word of array = 32 bytes"}};
  wk_machine m, back;
  (void)state;
  for (size_t i = 0; i < wk_machine_preset_count(); i++) {
    wk_str text = {0};
    expect_none(wk_machine_read(wk_machine_preset_name(i), &m));
    wk_machine_text(&text, &m);
    expect_none(wk_machine_read_rows(text.s, text.n, "rows", &back));
    memcpy(back.name, m.name, sizeof back.name);
    assert_memory_equal(&back, &m, sizeof m);
    wk_str_free(&text);
  }
  expect_none(wk_machine_read_rows("", 0, "rows", &back));
  for (size_t i = 0; i < WK_COUNTOF(bad); i++) {
    wk_status s = wk_machine_read_rows(bad[i].text, strlen(bad[i].text), "rows", &m);
    assert_non_null(s);
    assert_string_equal(s->message, bad[i].message);
    wk_status_free(s);
  }
  wk_status s = wk_machine_read_rows("array = 8;\0\n", 12, "rows", &m);
  assert_non_null(s);
  wk_status_free(s);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void fractions(void **state) {
  static const struct {
    const char *text;
    int64_t num, den; /* 0: refused */
  } cases[] = {
      {"0", 0, 1},           {"7", 7, 1},           {"-7", -7, 1},        {"0.5", 1, 2},
      {".5", 1, 2},          {"5.", 5, 1},          {"-.25", -1, 4},      {"12.50", 25, 2},
      {"0.0625", 1, 16},     {"0.000001", 1, 1000000}, {"1.0000010", 1000001, 1000000},
      {"1.000000000", 1, 1}, {"0.3", 3, 10},        {"100", 100, 1},      {"-0.0", 0, 1},
      {"123456789012345678", 123456789012345678, 1},
      {"123456789012.345678", 61728394506172839, 500000},
      {"", 0, 0},            {"-", 0, 0},           {".", 0, 0},          {"--1", 0, 0},
      {"+1", 0, 0},          {"1.2.3", 0, 0},       {"1e3", 0, 0},        {"0x10", 0, 0},
      {" 1", 0, 0},          {"1 ", 0, 0},          {"0.0000001", 0, 0},  {"1.0000001", 0, 0},
      {"1:", 0, 0},          {"1/", 0, 0},          {"1234567890123456789", 0, 0},
      {"1.000000000000000000", 0, 0},               {"1.00000000000000000", 1, 1}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_fraction f = {0, 0};
    bool ok = wk_fraction_parse(cases[i].text, &f);
    if (ok != (cases[i].den != 0) || f.num != cases[i].num || f.den != cases[i].den)
      fail_msg("'%s': %d, %lld / %lld", cases[i].text, ok, (long long)f.num, (long long)f.den);
  }
}

/* What was read is shown as it can be read again. */
static void shows_values(void **state) {
  static const char *const texts[] = {"64", "0.0625", "12.5", "63.999999", "1.000001", "8.05",
                                      "10.101", "33.333333", "0.1"};
  const wk_machine_key *k = &wk_machine_keys[WK_KEY_dram_bytes];
  wk_machine m;
  (void)state;
  wk_machine_defaults(&m);
  for (size_t i = 0; i < WK_COUNTOF(texts); i++) {
    wk_str b = {0};
    assert_true(wk_fraction_parse(texts[i], &m.dram_bytes));
    wk_machine_key_text(&b, &m, k);
    assert_string_equal(b.s, texts[i]);
    wk_str_free(&b);
  }
  wk_str b = {0};
  m.dram_bytes = (wk_fraction){-5, 4};
  wk_machine_key_text(&b, &m, k);
  m.dram_bytes = (wk_fraction){-1, 4};
  wk_machine_key_text(&b, &m, k);
  assert_string_equal(b.s, "-1.25-0.25");
  wk_str_free(&b);
}

/* A key's value by a file; NULL: taken. */
static wk_status set_by_file(const wk_machine_key *k, const char *value) {
  wk_machine m;
  wk_str text = {0};
  wk_str_printf(&text, "%s = %s;", k->name, value);
  wk_status s = wk_machine_parse(text.s, text.n, "m.cfg", &m);
  wk_str_free(&text);
  return s;
}

static wk_status set_alone(const wk_machine_key *k, wk_fraction v) {
  wk_machine m;
  wk_machine_defaults(&m);
  return wk_machine_set(&m, k, v, "here");
}

static void expect_outside(const wk_machine_key *k, wk_fraction v, const char *text) {
  wk_str want = {0};
  wk_str_printf(&want, "%s = %s is outside %s to %s%s%s", k->name, text, k->min, k->max,
                *k->unit ? " " : "", k->unit);
  expect_error(set_alone(k, v), "here", want.s, k->name);
  wk_str_free(&want);
}

/* The least and the most that a key may be, and the next ones behind. */
static void limits_of_keys(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    const wk_machine_key *k = &wk_machine_keys[i];
    wk_fraction low, high;
    char text[2][40];
    assert_true(wk_fraction_parse(k->min, &low) && wk_fraction_parse(k->max, &high));
    expect_none(set_alone(k, low));
    expect_none(set_alone(k, high));
    if (k->kind == WK_KEY_FRACTION) {
      low.num = low.num * (WK_FRACTION_DEN / low.den) - 1;
      high.num = high.num * (WK_FRACTION_DEN / high.den) + 1;
      low.den = high.den = WK_FRACTION_DEN;
      bool is_below_0 = low.num < 0;
      snprintf(text[0], 40, is_below_0 ? "-0.%06lld" : "0.%06lld", llabs((long long)low.num));
      snprintf(text[1], 40, "%lld.%06lld", (long long)high.num / WK_FRACTION_DEN,
               (long long)high.num % WK_FRACTION_DEN);
    } else {
      snprintf(text[0], 40, "%lld", (long long)--low.num);
      snprintf(text[1], 40, "%lld", (long long)++high.num);
      wk_status s = set_by_file(k, "1.5");
      assert_non_null(strstr(s->message, " must be a whole number"));
      wk_status_free(s);
    }
    expect_outside(k, low, text[0]);
    expect_outside(k, high, text[1]);
    if (!k->is_pow2) continue;
    wk_fraction odd = {strtoll(k->min, NULL, 10) * 3 / 2, 1};
    wk_str want = {0};
    if (odd.num & (odd.num - 1)) {
      wk_str_printf(&want, "%s = %lld must be a power of two", k->name, (long long)odd.num);
      expect_error(set_alone(k, odd), "here", want.s, k->name);
    }
    wk_str_free(&want);
  }
}

static void limits_of_files(void **state) {
  static const struct {
    const char *text;
    const char *place, *message; /* NULL: taken */
  } cases[] = {
      {"dram_size = 2147483647;", NULL, NULL},
      {"dram_size = 2147483648;", "m.cfg:1", "a number is too large"},
      {"dram_size = 0x7fffffff;", NULL, NULL},
      {"dram_size = 0X80000000;", "m.cfg:1", "a number is too large"},
      {"# 99999999999\n// 99999999999\narray /* 99999999999 \n*/ = 8;", NULL, NULL},
      {"/* 1 */ /* 2 */ array = 8; /* no end: 99999999999", NULL, NULL},
      {"# \"\n// \"\n/* \" */", NULL, NULL},
      {"array = 8; // one\n\n\n\"", "m.cfg:4", "a value is a number, no text"},
      {"array = 8; /*\n\n*/ scratchpad = 1;", "m.cfg:3",
       "scratchpad = 1 is outside 16384 to 1048576 bytes"},
      {"abc99999999999 = 1;", "m.cfg:1", "unknown key 'abc99999999999'"},
      {"a_99999999999 = 1;", "m.cfg:1", "unknown key 'a_99999999999'"},
      {"dram_bytes = 1.99999999999;", "m.cfg:1", "dram_bytes is a number of at most six decimals"},
      {"array = 8;\n\t \r\f@x", "m.cfg:2", "no file may include another"},
      {"array = 8; @", "m.cfg:1", "syntax error"},
  };
  wk_machine m;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_status s = wk_machine_parse(cases[i].text, strlen(cases[i].text), "m.cfg", &m);
    if (!cases[i].place) expect_none(s);
    else expect_error(s, cases[i].place, cases[i].message, cases[i].text);
  }
  /* brackets within brackets, bytes of a file */
  char *text = wk_xmalloc(70000);
  for (int depth = 64; depth <= 65; depth++) {
    int n = snprintf(text, 100, "x = ");
    memset(text + n, '(', 65);
    n += depth;
    wk_status s = wk_machine_parse(text, (size_t)n, "m.cfg", &m);
    assert_non_null(s);
    assert_int_equal(!strcmp(s->message, "too many brackets"), depth == 65);
    wk_status_free(s);
  }
  memset(text, ' ', 70000);
  expect_none(wk_machine_parse(text, 65536, "m.cfg", &m));
  expect_error(wk_machine_parse(text, 65537, "m.cfg", &m), "m.cfg",
               "has 65537 bytes; a machine file has at most 65536", "blanks");
  free(text);
}

/* Of paths, what messages call a machine. */
static void names_of_machines(void **state) {
  static const char *const cases[][2] = {
      {"a/b/small.cfg", "small"}, {"small.cfg", "small"},   {"small", "small"},
      {"a.b/c.d", "c.d"},         {"x.cfg.cfg", "x.cfg"},   {".cfg", ".cfg"},
      {"a.cfg", "a"},             {"a.cfgx", "a.cfgx"},     {"dir/", ""},
      {"0123456789012345678901234567890123456789012345678901234567890123456789",
       "012345678901234567890123456789012345678901234567890123456789012"}};
  wk_machine m;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    expect_none(wk_machine_parse("", 0, cases[i][0], &m));
    assert_string_equal(m.name, cases[i][1]);
  }
}

/* What relates keys, on either side. */
static void relations_of_keys(void **state) {
  static const struct {
    const char *text;
    bool is_taken;
  } cases[] = {
      {"array = 32; bus = 32;", true},
      {"array = 32; bus = 64;", true},
      {"array = 8; accumulators = 131072;", true}, /* 4096 entries */
      {"array = 16; accumulators = 262144;", true},
      {"array = 8; accumulators = 262144;", false},
      {"dram_bytes = 4; dram_traffic = 3.999999;", true},
      {"dram_bytes = 4; dram_traffic = 4.000001;", false},
      {"dram_bytes = 4.5; dram_traffic = 4.25;", true},
      {"dram_bytes = 4.25; dram_traffic = 4.5;", false},
      {"dram_refresh_interval = 10; dram_refresh_cycles = 9;", true},
      {"dram_refresh_interval = 0; dram_refresh_cycles = 9;", true}, /* never */
      {"dram_refresh_interval = 1; dram_refresh_cycles = 0;", true},
      {"dram_refresh_interval = 1; dram_refresh_cycles = 1;", false},
      {"dram_traffic = 4; dram_overhead = 31;", true}, /* half, and 31 / 64 */
      {"dram_traffic = 4; dram_overhead = 32;", false},
      {"dram_traffic = 4; dram_refresh_interval = 100; dram_refresh_cycles = 49;", true},
      {"dram_traffic = 4; dram_refresh_interval = 100; dram_refresh_cycles = 50;", false},
      {"dram_bytes = 0.5; dram_traffic = 0.25; dram_overhead = 500;", true},
      {"dram_bytes = 0.5; dram_traffic = 0.25; dram_overhead = 512;", false},
  };
  wk_machine m;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_status s = wk_machine_parse(cases[i].text, strlen(cases[i].text), "m.cfg", &m);
    if (!s != cases[i].is_taken) fail_msg("%s: %s", cases[i].text, s ? s->message : "taken");
    wk_status_free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_values), cmocka_unit_test(refuses_files),
      cmocka_unit_test(finds_machines), cmocka_unit_test(overrides),
      cmocka_unit_test(hashes_hardware), cmocka_unit_test(table_is_sound),
      cmocka_unit_test(rows_are_read),
      cmocka_unit_test(fractions), cmocka_unit_test(shows_values),
      cmocka_unit_test(limits_of_keys), cmocka_unit_test(limits_of_files),
      cmocka_unit_test(names_of_machines), cmocka_unit_test(relations_of_keys)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
