/* SPDX-License-Identifier: Apache-2.0
 * What a file that is no model is taken for: text, by its letters, or a format, by its first
 * bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/onnx/import/source.h"
#include "compiler/onnx/onnx.h"
#include "compiler/support/support.h"

static bool is_text(const char *bytes, size_t n) {
  const char *kind = wk_file_kind((const uint8_t *)bytes, n);
  return kind && !strcmp(kind, "text");
}

static bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Every byte: among letters, and as often as letters must be and once less. */
static void every_byte(void **state) {
  (void)state;
  for (int c = 0; c < 256; c++) {
    char among[8] = "abcd efg", few[8] = "12345678";
    bool is_control = (c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == 0x7f;
    for (int i = 0; i < 8; i++) {
      memcpy(among, "abcd efg", 8);
      among[i] = (char)c;
      if (is_text(among, 8) == is_control) fail_msg("byte %d at %d among letters", c, i);
    }
    few[3] = (char)c;
    if (is_text(few, 8)) fail_msg("one byte %d among digits", c);
    few[6] = (char)c;
    if (is_text(few, 8) != is_letter(c)) fail_msg("two bytes %d among digits", c);
  }
}

/* A quarter of the bytes are letters, of four bytes at least; 512 are looked at. */
static void how_many(void **state) {
  (void)state;
  char bytes[600];
  for (size_t n = 0; n <= sizeof bytes; n += n < 40 || n >= 500 ? 1 : 20) {
    size_t seen = n < 512 ? n : 512, wanted = (seen / 2 + 1) / 2;
    memset(bytes, '7', sizeof bytes);
    memset(bytes + seen, 'x', sizeof bytes - seen); /* which do not count */
    for (size_t k = 0; k < wanted; k++) bytes[(k * 3 + 1) % seen] = k % 2 ? 'A' : 'z';
    bool is_enough = n >= 4;
    if (is_text(bytes, n) != is_enough) fail_msg("%zu letters of %zu bytes", wanted, n);
    if (!wanted) continue;
    bytes[1 % seen] = '7';
    if (is_text(bytes, n)) fail_msg("%zu letters of %zu bytes", wanted - 1, n);
  }
  memset(bytes, 'x', sizeof bytes);
  bytes[512] = 1;
  assert_true(is_text(bytes, sizeof bytes));
  bytes[511] = 1;
  assert_false(is_text(bytes, sizeof bytes));
}

/* Formats by bytes at the start or behind it: all of them, and not one less. */
static const struct {
  const char *bytes;
  size_t n, at;
  const char *part; /* of what it is called */
} formats[] = {{"\x93NUMPY", 6, 0, "NumPy"},
               {"PK\x03\x04", 4, 0, "ZIP"},
               {"\x1f\x8b", 2, 0, "gzip"},
               {"BZh", 3, 0, "bzip2"},
               {"\xfd" "7zXZ", 5, 0, "xz"},
               {"\x28\xb5\x2f\xfd", 4, 0, "zstd"},
               {"ustar", 5, 257, "tar archive"},
               {"\x89HDF\r\n\x1a\n", 8, 0, "HDF5"},
               {"TFL3", 4, 4, "TensorFlow Lite"},
               {"ORTM", 4, 4, "ONNX Runtime"},
               {"GGUF", 4, 0, "GGUF"},
               {"\x80\x02", 2, 0, "pickle"},
               {"\x80\x03", 2, 0, "pickle"},
               {"\x80\x04", 2, 0, "pickle"},
               {"\x80\x05", 2, 0, "pickle"},
               {"\x89PNG\r\n\x1a\n", 8, 0, "PNG"},
               {"\xff\xd8\xff", 3, 0, "JPEG"},
               {"GIF8", 4, 0, "GIF"},
               {"RIFF", 4, 0, "RIFF"},
               {"%PDF-", 5, 0, "PDF"},
               {"\x7f" "ELF", 4, 0, "ELF"},
               {"#!", 2, 0, "script"},
               {"version https://git-lfs", 23, 0, "Git LFS"}};

static void known_formats(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(formats); i++) {
    char bytes[300];
    size_t n = formats[i].n, at = formats[i].at;
    const char *part = formats[i].part, *kind;
    memset(bytes, '-', sizeof bytes);
    memcpy(bytes + at, formats[i].bytes, n);
    kind = wk_file_kind((const uint8_t *)bytes, at + n);
    if (!kind || !strstr(kind, part)) fail_msg("%s: %s", part, kind ? kind : "nothing");
    kind = wk_file_kind((const uint8_t *)bytes, at + n - 1);
    if (kind && strstr(kind, part)) fail_msg("%s, cut", part);
    for (size_t k = 0; k < n; k++) {
      bytes[at + k] ^= 0x40;
      kind = wk_file_kind((const uint8_t *)bytes, at + n);
      if (kind && strstr(kind, part)) fail_msg("%s without its byte %zu", part, k);
      bytes[at + k] ^= 0x40;
    }
    memset(bytes, '-', sizeof bytes);
    memcpy(bytes + at + 1, formats[i].bytes, n);
    kind = wk_file_kind((const uint8_t *)bytes, sizeof bytes);
    if (kind && strstr(kind, part)) fail_msg("%s, a byte further", part);
  }
}

/* Of so few letters that only a field's name tells it: a word and what may stand behind one. */
static void models_of_digits(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool is;
  } cases[] = {{"a: 123456789012", true},   {"a{ 12345678901 }", true}, {"a <123456789012>", true},
               {"\na\n:\n1234567890", true}, {"a 1234567890123", false}, {"a = 12345678901", false},
               {"a, 123456789012", false},  {"1: 123456789012", false}, {": a 12345678901", false},
               {"a: \x01 1234567890", false}, {"[a]: 1234567890", false}, {"a", false},
               {"123456789012345", false},  {"", false}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    if (wk_onnx_is_text((const uint8_t *)cases[i].text, strlen(cases[i].text)) != cases[i].is)
      fail_msg("'%s'", cases[i].text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_byte), cmocka_unit_test(how_many),
                                     cmocka_unit_test(known_formats),
                                     cmocka_unit_test(models_of_digits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
