/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/support.h"

#define XXH_STATIC_LINKING_ONLY /* for the size of a state */
#include <xxhash.h>

#include "runtime/crc32c.h"

uint64_t wk_hash64(const void *p, size_t n, uint64_t seed) {
  return XXH3_64bits_withSeed(p, n, seed);
}

_Static_assert(sizeof(XXH3_state_t) <= sizeof(wk_hasher) &&
                   _Alignof(XXH3_state_t) <= _Alignof(wk_hasher), "a hasher holds its state");

void wk_hash_begin(wk_hasher *h) {
  XXH3_state_t *state = (XXH3_state_t *)h;
  XXH3_INITSTATE(state);
  XXH3_64bits_reset(state);
}

void wk_hash_add(wk_hasher *h, const void *p, size_t n) {
  XXH3_64bits_update((XXH3_state_t *)h, p, n);
}

uint64_t wk_hash_end(const wk_hasher *h) { return XXH3_64bits_digest((const XXH3_state_t *)h); }

uint32_t wk_crc32c(uint32_t crc, const void *p, size_t n) { return wick_crc32c(crc, p, n); }
