/* SPDX-License-Identifier: Apache-2.0
 * What code generation may call where no C library is: packages only. */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t word __attribute__((aligned(1), may_alias));

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  char *d = to;
  const char *s = from;
  for (; n >= 8; n -= 8, d += 8, s += 8) *(word *)d = *(const word *)s;
  for (; n > 0; n--) *d++ = *s++;
  return to;
}

void *memmove(void *to, const void *from, size_t n) {
  char *d = to;
  const char *s = from;
  if ((uintptr_t)d - (uintptr_t)s >= n) return memcpy(to, from, n);
  while (n-- > 0) d[n] = s[n];
  return to;
}

void *memset(void *to, int value, size_t n) {
  char *d = to;
  word eight = (word)(unsigned char)value * 0x0101010101010101u;
  for (; n >= 8; n -= 8, d += 8) *(word *)d = eight;
  for (; n > 0; n--) *d++ = (char)value;
  return to;
}
