/* SPDX-License-Identifier: Apache-2.0
 * Options of programs that were built with another version of wick.h. */
#include <string.h>

#include "internal.h"

static bool is_zero(const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (bytes[i]) return false;
  return true;
}

bool wick_options_read(void *to, size_t known, size_t least, const void *from) {
  uint32_t size;
  memset(to, 0, known);
  if (!from) return true;
  memcpy(&size, from, sizeof size);
  if (size < least) return false;
  memcpy(to, from, size < known ? size : known);
  return size <= known || is_zero((const uint8_t *)from + known, size - known);
}
