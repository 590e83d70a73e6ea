// SPDX-License-Identifier: Apache-2.0
// The arithmetic of docs/isa.md, written plainly.
#ifndef WICK_UNIT_ARITHMETIC_H
#define WICK_UNIT_ARITHMETIC_H

#include <algorithm>
#include <cstdint>

inline int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return std::min(std::max(v, lo), hi); }

inline int64_t shr_round(int64_t v, int64_t s) {
  if (s == 0) return v;
  int64_t down = v >> s, rest = v - (int64_t)((__int128)down << s), half = int64_t{1} << (s - 1);
  return down + (rest > half || (rest == half && (down & 1)));
}

// Also for s = 0, where isa.md says nothing: without rounding.
inline int64_t rescale(int64_t a, int64_t m, int64_t s) {
  __int128 half = s ? (__int128)1 << (s - 1) : 0, p = ((__int128)a * m + half) >> s;
  int64_t v = p > INT32_MAX ? INT32_MAX : p < INT32_MIN ? INT32_MIN : (int64_t)p;
  return shr_round(v, 16);
}

#endif
