/* SPDX-License-Identifier: Apache-2.0
 * Memory in the text of streams: every part of a record and of an entry at its place, with the
 * numbers that it takes and the first that it does not, files, and limits from both sides. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "targets/accel/isa/stream.h"

/* NULL: it is taken, and *out is the stream. */
static char *message_of(const char *text, const wk_asm_options *more, wk_stream **out) {
  static char message[400];
  wk_asm_options o = more ? *more : (wk_asm_options){0};
  o.unchecked = true;
  wk_stream *s = NULL;
  wk_status status = wk_asm(text, strlen(text), "s.s", NULL, &o, &s);
  if (!status && out) *out = s;
  else if (!status) wk_stream_free(s);
  if (!status) return NULL;
  snprintf(message, sizeof message, "%s", status->message);
  wk_status_free(status);
  return message;
}

static wk_stream *assemble(const char *text) {
  wk_stream *s = NULL;
  char *message = message_of(text, NULL, &s);
  if (message) fail_msg("%s: %s", message, text);
  return s;
}

/* ---- records and entries --------------------------------------------------------------------- */

/* Where targets/accel/isa.md has them: of a record, or of an entry. */
static const struct {
  const char *line, *name;
  int at, bytes;
  int64_t low, high;
} parts[] = {
    {".record m 8", "zero", 8, 2, -32768, 32767},
    {".record m 8", "lo", 8 + 2, 2, -32768, 32767},
    {".record m 8", "hi", 8 + 4, 2, -32768, 32767},
    {".record m 8", "ma", 8 + 8, 4, -16777215, 16777215},
    {".record m 8", "mb", 8 + 12, 4, -8388607, 8388607},
    {".record m 8", "shift", 8 + 16, 1, 0, 62},
    {".record m 8", "flags", 8 + 17, 1, 0, 1},
    {".record m 8", "za", 8 + 18, 2, -32768, 32767},
    {".record m 8", "zb", 8 + 20, 2, -32768, 32767},
    {".record m 8", "zy", 8 + 22, 2, -32768, 32767},
    {".record m 8", "lo2", 8 + 24, 2, -32768, 32767},
    {".record m 8", "hi2", 8 + 26, 2, -32768, 32767},
    {".record m 8", "e", 8 + 8, 8, 1, INT64_C(4611686018427387903)},
    {".entry m 8 3", "bias", 8 + 32 + 24, 4, INT32_MIN, UINT32_MAX},
    {".entry m 8 3", "mult", 8 + 32 + 24 + 4, 3, 0, 16777215},
    {".entry m 8 3", "shift", 8 + 32 + 24 + 7, 1, 1, 62},
    {".entry m 8 3", "gain", 8 + 32 + 24 + 4, 4, -16777215, 16777215},
};

enum { BYTES = 96 };

static wk_stream *with_part(const char *line, const char *more) {
  char text[200];
  snprintf(text, sizeof text, ".memory m 0 %d\n%s %s\n", BYTES, line, more);
  return assemble(text);
}

/* The part's bytes are the number, all others as if it were not given: of gain, which lies over two
 * others that have defaults, as if these were 0. */
static void expect_part(size_t i, int64_t value) {
  char more[64];
  uint8_t want[BYTES];
  snprintf(more, sizeof more, "%s=%" PRId64, parts[i].name, value);
  wk_stream *s = with_part(parts[i].line, more), *plain = with_part(parts[i].line, "");
  memcpy(want, plain->regions.data[0].data, BYTES);
  for (int k = 0; k < parts[i].bytes; k++) want[parts[i].at + k] = (uint8_t)(value >> 8 * k);
  if (memcmp(s->regions.data[0].data, want, BYTES) != 0) fail_msg("%s %s", parts[i].line, more);
  wk_stream_free(plain);
  wk_stream_free(s);
}

static void expect_refused(size_t i, int64_t value) {
  char text[200], want[200];
  snprintf(text, sizeof text, ".memory m 0 %d\n%s %s=%" PRId64 "\n", BYTES, parts[i].line,
           parts[i].name, value);
  snprintf(want, sizeof want, "%s: %" PRId64 " is outside %" PRId64 " to %" PRId64, parts[i].name,
           value, parts[i].low, parts[i].high);
  char *got = message_of(text, NULL, NULL);
  assert_string_equal(got ? got : "taken", want);
}

static void every_part_at_its_place(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(parts); i++) {
    expect_part(i, parts[i].low);
    expect_part(i, parts[i].high);
    expect_refused(i, parts[i].low - 1);
    expect_refused(i, parts[i].high + 1);
  }
}

static void what_is_not_given(void **state) {
  static const uint8_t record[BYTES] = {[8 + 2] = 0x80, [8 + 3] = 0xff, [8 + 4] = 127,
                                        [8 + 24] = 0x80, [8 + 25] = 0xff, [8 + 26] = 127};
  static const uint8_t entry[BYTES] = {[8 + 32 + 24 + 7] = 1};
  (void)state;
  wk_stream *s = with_part(".record m 8", ""), *t = with_part(".entry m 8 3", "");
  assert_memory_equal(s->regions.data[0].data, record, BYTES);
  assert_memory_equal(t->regions.data[0].data, entry, BYTES);
  wk_stream_free(s);
  wk_stream_free(t);
}

/* Each pair that lies at one place, in both orders, and pairs that do not. */
static void parts_that_lie_over_others(void **state) {
  static const struct {
    const char *line, *more, *message;
  } cases[] = {
      {".record m 8", "e=1 ma=2", "'ma' lies where 'e' does"},
      {".record m 8", "ma=2 e=1", "'e' lies where 'ma' does"},
      {".record m 8", "e=1 mb=2", "'mb' lies where 'e' does"},
      {".record m 8", "mb=2 e=1", "'e' lies where 'mb' does"},
      {".record m 8", "e=1 shift=2 zero=3", NULL},
      {".record m 8", "e=1 scale=0.5", "'e' lies where a scale does"},
      {".record m 8", "scale=0.5 e=1", "'e' lies where a scale does"},
      {".record m 8", "e=1 scale_a=0.5", "'e' lies where a scale does"},
      {".record m 8", "e=1 scale_b=0.5", "'e' lies where a scale does"},
      {".record m 8", "ma=2 mb=3 shift=4", NULL},
      {".record m 8", "ma=2 scale=0.5", NULL},
      {".record m 8", "hi2=1 lo=2 hi2=3", "'hi2' is given twice"},
      {".entry m 8 3", "gain=1 mult=2", "'mult' lies where 'gain' does"},
      {".entry m 8 3", "mult=2 gain=1", "'gain' lies where 'mult' does"},
      {".entry m 8 3", "gain=1 shift=2", "'shift' lies where 'gain' does"},
      {".entry m 8 3", "shift=2 gain=1", "'gain' lies where 'shift' does"},
      {".entry m 8 3", "gain=1 bias=2", NULL},
      {".entry m 8 3", "gain=1 scale=0.5", "'gain' lies where a scale does"},
      {".entry m 8 3", "bias=1 scale=0.5", NULL},
      {".entry m 8 3", "bias=1 gain=2 bias=3", "'bias' is given twice"},
      {".record m 8", "ee=1", "unknown part of a record 'ee'; did you mean 'e'?"},
      {".record m 8", "scale_c=1", "unknown part of a record 'scale_c'; did you mean 'scale_a'?"},
      {".record m 8", "bias=1", "unknown part of a record 'bias'"},
      {".entry m 8 3", "gian=1", "unknown part of an entry 'gian'; did you mean 'gain'?"},
      {".entry m 8 3", "scael=1", "unknown part of an entry 'scael'; did you mean 'scale'?"},
      {".entry m 8 3", "zero=1", "unknown part of an entry 'zero'"},
  };
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    char text[200];
    snprintf(text, sizeof text, ".memory m 0 %d\n%s %s\n", BYTES, cases[i].line, cases[i].more);
    char *got = message_of(text, NULL, NULL);
    if (strcmp(got ? got : "taken", cases[i].message ? cases[i].message : "taken"))
      fail_msg("%s %s: %s", cases[i].line, cases[i].more, got ? got : "taken");
  }
}

static uint32_t word_at(const wk_stream *s, int at) {
  uint32_t v;
  memcpy(&v, s->regions.data[0].data + at, sizeof v);
  return v;
}

/* A scale is 24 bits of it, and how far these are shifted. */
static void scales_are_numbers(void **state) {
  (void)state;
  wk_stream *s = with_part(".record m 8", "scale=0.75");
  assert_int_equal(word_at(s, 8 + 8), 0xc00000); /* 0.75 * 2^16 = 0xc00000 / 2^8 */
  assert_int_equal(word_at(s, 8 + 12), 0);
  assert_int_equal(s->regions.data[0].data[8 + 16], 8);
  wk_stream_free(s);
  s = with_part(".entry m 8 3", "bias=5 scale=0.75");
  assert_int_equal(word_at(s, 8 + 32 + 24), 5);
  assert_int_equal(word_at(s, 8 + 32 + 24 + 4), 0x8c00000);
  wk_stream_free(s);
  for (int k = 0; k < 2; k++) { /* of two scales one may be left out, which is 0 then */
    s = with_part(".record m 8", k ? "scale_b=0.5" : "scale_a=0.5");
    uint64_t mult = word_at(s, k ? 8 + 12 : 8 + 8);
    assert_int_equal(word_at(s, k ? 8 + 8 : 8 + 12), 0);
    assert_true(mult && mult * 2 == UINT64_C(1) << s->regions.data[0].data[8 + 16]);
    wk_stream_free(s);
  }
}

/* ---- numbers --------------------------------------------------------------------------------- */

#define M64 ".memory m 0 64\n"
static const struct {
  const char *text, *message;
} numbers[] = {
    {M64 ".bytes m 0 -128 255", NULL},
    {M64 ".bytes m 63 1", NULL},
    {M64 ".words m 60 -2147483648", NULL},
    {M64 ".words m 56 4294967295 1", NULL},
    {M64 ".words m 57 1 1", "this is behind the end of 'm', which has 64 bytes"},
    {M64 ".words m 0 -2147483649", "word: -2147483649 is outside -2147483648 to 4294967295"},
    {M64 ".random m 1 -128 255", NULL},
    {M64 ".random m 1 7 7", NULL},
    {M64 ".random m 1 -129 0", "lowest byte: -129 is outside -128 to 255"},
    {M64 ".random m 1 256 256", "lowest byte: 256 is outside -128 to 255"},
    {M64 ".random m 1 0 256", "highest byte: 256 is outside 0 to 255"},
    {M64 ".random m 1 7 6", "highest byte: 6 is outside 7 to 255"},
    {M64 ".random m 1 7", "a value is missing"},
    {M64 ".record m 32", NULL},
    {M64 ".record m 33", "this is behind the end of 'm', which has 64 bytes"},
    {M64 ".entry m 0 3 bias=1", NULL},
    {M64 ".entry m 1 3 bias=1", "this is behind the end of 'm', which has 64 bytes"},
    {M64 ".entry m 1 2 bias=1", NULL},
    {".memory m 0 524320\n.entry m 0 65535 bias=1", NULL},
    {M64 ".entry m 0 65536 bias=1", "index: 65536 is outside 0 to 65535"},
    {".memory m 0 268435456", NULL},
    {".memory m 1 268435456", "m: 268435456 bytes from 0x1 are not all in the memory of 268435456 "
                              "bytes"},
    {".memory m 268435455 1", NULL},
    {".memory m 4294967296 1", "address: 4294967296 is outside 0 to 4294967295"},
    {".memory m 0 4294967296", "size: 4294967296 is outside 1 to 4294967295"},
    {M64 ".memory n 64 1", NULL},
    {".memory m 1 64\n.memory n 0 1", NULL},
    {".memory m 1 64\n.memory n 0 2", "n at 0x0 overlaps m at 0x1"},
};

static void numbers_from_both_sides(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(numbers); i++) {
    char *got = message_of(numbers[i].text, NULL, NULL);
    if (strcmp(got ? got : "taken", numbers[i].message ? numbers[i].message : "taken"))
      fail_msg("%s: %s", numbers[i].text, got ? got : "taken");
  }
}

/* More names than are looked at for one that is near. */
static void many_memories(void **state) {
  static const struct {
    const char *line, *message;
  } cases[] = {{".bytes m299 0 1", NULL},
               {".bytes m2555 0 1", "unknown memory 'm2555'; did you mean 'm255'?"},
               {".bytes zz 0 1", "unknown memory 'zz'"}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str b = {0};
    for (int k = 0; k < 300; k++) wk_str_printf(&b, ".memory m%d %d 1\n", k, k);
    wk_str_add(&b, cases[i].line);
    char *got = message_of(b.s, NULL, NULL);
    assert_string_equal(got ? got : "taken", cases[i].message ? cases[i].message : "taken");
    wk_str_free(&b);
  }
}

/* Bytes of a memory count once, and when something is in it. */
static void images_have_a_limit(void **state) {
  static const struct {
    const char *text;
    uint64_t most;
    bool is_taken;
  } cases[] = {
      {".memory a 0 1000\n.random a 1\n", 1000, true},
      {".memory a 0 1000\n.random a 1\n", 999, false},
      {".memory a 0 600\n.memory b 600 400\n.random a 1\n.random b 1\n.bytes a 0 1\n", 1000, true},
      {".memory a 0 600\n.memory b 600 400\n.random a 1\n.random b 1\n", 999, false},
      {".memory a 0 600\n.memory b 600 400\n.random a 1\n", 600, true},
      {".memory a 0 600\n.memory b 600 400\n.memory c 1000 8\n.random a 1\n.random b 1\n"
       ".random c 1\n", 1007, false},
      {".memory a 0 600\n.memory b 600 400\n.memory c 1000 8\n.random a 1\n.random b 1\n"
       ".random c 1\n", 1008, true},
  };
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    char want[80];
    snprintf(want, sizeof want, "the memory images have more than %d bytes", (int)cases[i].most);
    char *got = message_of(cases[i].text, &(wk_asm_options){.max_bytes = cases[i].most}, NULL);
    if (strcmp(got ? got : "taken", cases[i].is_taken ? "taken" : want))
      fail_msg("case %zu: %s", i, got ? got : "taken");
  }
}

/* ---- files ----------------------------------------------------------------------------------- */

#define I1 "'|i1', 'fortran_order': False"
/* An .npy of version 1 or 2, whose head is said to have so many bytes more than it has; or any
 * file: version 0. It goes into 6 bytes. */
static const struct {
  int version;
  const char *head;
  int more;
  const char *data;
  size_t bytes;
  const char *message;
  uint8_t want[6];
} files[] = {
    {0, "", 0, "hello!", 6, NULL, "hello!"},
    {0, "", 0, "", 0, NULL, ""},
    {0, "", 0, "hello!!", 7, "f.npy has 7 bytes, 'm' only 6", ""},
    {0, "", 0, "\x93NUMPX", 6, NULL, "\x93NUMPX"},
    {0, "", 0, "\x93NUMPY", 6, NULL, "\x93NUMPY"}, /* too short for a head */
    {0, "", 0, "\x93NUMPY\1\0\0\0\0", 11, "f.npy has 11 bytes, 'm' only 6", ""},
    {0, "", 0, "\x93NUMPY\1\0\0\0\0\0", 12, "has elements that are neither int8 nor uint8", ""},
    {1, I1, 0, "\1\2\3", 3, NULL, "\1\2\3"},
    {1, I1, 0, "", 0, NULL, ""},
    {1, "'|u1', 'fortran_order': False", 0, "\1\2\3\4\5\6", 6, NULL, "\1\2\3\4\5\6"},
    {1, I1, 0, "\1\2\3\4\5\6\7", 7, "f.npy has 7 bytes, 'm' only 6", ""},
    {2, I1, 0, "\1\2\3", 3, NULL, "\1\2\3"},
    {1, I1, 3, "\1\2\3", 3, NULL, ""}, /* all of it is head */
    {1, I1, 4, "\1\2\3", 3, "is cut off", ""},
    {2, I1, 3, "\1\2\3", 3, NULL, ""},
    {2, I1, 4, "\1\2\3", 3, "is cut off", ""},
    {1, I1, 256, "\1\2\3", 3, "is cut off", ""},
    {2, I1, 1 << 16, "\1\2\3", 3, "is cut off", ""},
    {2, I1, 1 << 24, "\1\2\3", 3, "is cut off", ""},
    {1, "'<i2', 'fortran_order': False", 0, "\1\2", 2,
     "has elements that are neither int8 nor uint8", ""},
    {1, "'|i1', 'fortran_order': True", 0, "\1\2", 2, "is in Fortran order", ""},
    {1, I1 "                                                                               "
     "                                                                                      "
     "                                                                                      ",
     0, "\1\2\3", 3, NULL, "\1\2\3"},
};

static void write_npy(const char *path, size_t i) {
  wk_str b = {0};
  size_t head = strlen(files[i].head) + (size_t)files[i].more;
  const uint8_t size[4] = {(uint8_t)head, (uint8_t)(head >> 8), (uint8_t)(head >> 16),
                           (uint8_t)(head >> 24)};
  if (files[i].version) {
    wk_str_addn(&b, files[i].version == 1 ? "\x93NUMPY\1\0" : "\x93NUMPY\2\0", 8);
    wk_str_addn(&b, (const char *)size, files[i].version == 1 ? 2 : 4);
    wk_str_add(&b, files[i].head);
  }
  wk_str_addn(&b, files[i].data, files[i].bytes);
  assert_null(wk_write_file(path, b.s, b.n));
  wk_str_free(&b);
}

static void files_of_bytes(void **state) {
  static const char text[] = ".memory m 0 6\n.file m \"f.npy\"\nend\n";
  char folder[] = "/tmp/wick-asm-XXXXXX", stream[64], npy[64];
  (void)state;
  assert_non_null(mkdtemp(folder));
  snprintf(stream, sizeof stream, "%s/s.s", folder);
  snprintf(npy, sizeof npy, "%s/f.npy", folder);
  assert_null(wk_write_file(stream, text, strlen(text)));
  for (size_t i = 0; i < WK_COUNTOF(files); i++) {
    wk_stream *s = NULL;
    write_npy(npy, i);
    wk_status status = wk_stream_load(stream, NULL, &s);
    const char *got = status ? status->message : "taken";
    if (strcmp(got, files[i].message ? files[i].message : "taken"))
      fail_msg("file %zu: %s", i, got);
    if (!status) {
      assert_memory_equal(s->regions.data[0].data, files[i].want, 6);
      wk_stream_free(s);
    }
    wk_status_free(status);
  }
  assert_true(!unlink(npy) && !unlink(stream) && !rmdir(folder));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_part_at_its_place), cmocka_unit_test(what_is_not_given),
      cmocka_unit_test(parts_that_lie_over_others), cmocka_unit_test(scales_are_numbers),
      cmocka_unit_test(numbers_from_both_sides), cmocka_unit_test(many_memories),
      cmocka_unit_test(images_have_a_limit), cmocka_unit_test(files_of_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
