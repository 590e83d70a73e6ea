/* SPDX-License-Identifier: Apache-2.0
 * The memory functions of packages without a C library, beside those of the C library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Under other names, so that both are there. */
#define memcpy package_memcpy
#define memmove package_memmove
#define memset package_memset
void *package_memcpy(void *restrict to, const void *restrict from, size_t n);
void *package_memmove(void *to, const void *from, size_t n);
void *package_memset(void *to, int value, size_t n);
#include "targets/cpu/rare/bitcode/memory.c"
#undef memcpy
#undef memmove
#undef memset

enum { BYTES = 96, LONGEST = 40 };

static void number(uint8_t *p) {
  for (int i = 0; i < BYTES; i++) p[i] = (uint8_t)(i * 37 + 11);
}

static void test_copies(void **state) {
  uint8_t got[BYTES], want[BYTES], from[BYTES];
  (void)state;
  for (size_t n = 0; n <= LONGEST; n++)
    for (size_t at = 0; at < 9; at++) {
      number(from);
      memset(got, 0xee, BYTES);
      memset(want, 0xee, BYTES);
      assert_ptr_equal(package_memcpy(got + at, from + 3, n), got + at);
      memcpy(want + at, from + 3, n);
      assert_memory_equal(got, want, BYTES);
      assert_ptr_equal(package_memset(got + 2 * at, (int)n - 300, n), got + 2 * at);
      memset(want + 2 * at, (int)n - 300, n);
      assert_memory_equal(got, want, BYTES);
    }
}

/* Both directions, from far apart to the same place. */
static void test_moves(void **state) {
  uint8_t got[BYTES], want[BYTES];
  (void)state;
  for (size_t n = 0; n <= LONGEST; n++)
    for (size_t to = 0; to <= BYTES - LONGEST; to++) {
      size_t from = (BYTES - LONGEST) / 2;
      number(got);
      number(want);
      assert_ptr_equal(package_memmove(got + to, got + from, n), got + to);
      memmove(want + to, want + from, n);
      assert_memory_equal(got, want, BYTES);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_moves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
