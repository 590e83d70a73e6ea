/* SPDX-License-Identifier: Apache-2.0 */
/* SplitMix64 (Steele, Lea, Flood 2014). The normal is the sum of twelve 16-bit uniforms
 * (Irwin-Hall): integers only, so that no libm decides about the bits; its range is [-6, 6]. */
#include "compiler/support/support.h"

uint64_t wk_rng_next(wk_rng *r) {
  uint64_t z = r->s += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

double wk_rng_unit(wk_rng *r) { return (double)(wk_rng_next(r) >> 11) * 0x1p-53; }

float wk_rng_normal(wk_rng *r) {
  int32_t sum = 0;
  for (int draw = 0; draw < 3; draw++) {
    uint64_t x = wk_rng_next(r);
    sum += (int32_t)((x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48));
  }
  /* Mean of each term 65535/2, variance (65536^2 - 1)/12. */
  return (float)(sum - 6 * 65535) * 0x1p-16f;
}

int64_t wk_rng_range(wk_rng *r, int64_t lo, int64_t hi) {
  wk_assert(lo <= hi);
  uint64_t span = (uint64_t)hi - (uint64_t)lo + 1;
  if (span == 0) return (int64_t)wk_rng_next(r);
  uint64_t reject = -span % span, x; /* 2^64 mod span: those would make low values likelier */
  do x = wk_rng_next(r);
  while (x < reject);
  return (int64_t)((uint64_t)lo + x % span);
}
