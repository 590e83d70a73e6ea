/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/support.h"

#include <xxhash.h>

#include "runtime/crc32c.h"

uint64_t wk_hash64(const void *p, size_t n, uint64_t seed) {
  return XXH3_64bits_withSeed(p, n, seed);
}

uint32_t wk_crc32c(uint32_t crc, const void *p, size_t n) { return wick_crc32c(crc, p, n); }
