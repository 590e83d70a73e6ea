/* SPDX-License-Identifier: Apache-2.0
 * Limits of processor time that hold on a slow machine as well: how long a fixed piece of work
 * takes there, of arithmetic and of memory, stretches them. */
#ifndef WICK_TESTS_PACE_H
#define WICK_TESTS_PACE_H

#include <stdint.h>
#include <time.h>

static inline double pace_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How many times slower than the machine for which limits are written; at least 1. */
static inline double machine_pace(void) {
  enum { WORDS = 1 << 15, STEPS = 16 << 20 };
  static const double usual = 0.1; /* seconds */
  static uint32_t words[WORDS];
  static double pace;
  if (pace > 0) return pace;
  double began = pace_seconds();
  uint32_t x = 1;
  for (int i = 0; i < STEPS; i++) {
    x = x * 1664525 + 1013904223;
    x ^= words[x >> 17] += x;
  }
  *(volatile uint32_t *)words = x;
  pace = (pace_seconds() - began) / usual;
  return pace = pace > 1 ? pace : 1;
}

#endif
