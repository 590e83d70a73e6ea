/* SPDX-License-Identifier: Apache-2.0
 * Sets of whole numbers between bounds, as bits. A command of a few fields may name a byte some
 * thousand million times over; as a set, what it names is made in as many steps as it has
 * fields. */
#ifndef WICK_ACCEL_PLACES_H
#define WICK_ACCEL_PLACES_H

#include "targets/accel/isa/isa.h"

typedef struct {
  int64_t low; /* the number of bit 0 */
  size_t words;
  uint64_t *data;
} wk_places;

wk_places wk_places_new(int64_t low, int64_t high); /* empty, for low .. high */
wk_places wk_places_copy(const wk_places *p);
void wk_places_free(wk_places *p);
void wk_places_add(wk_places *p, int64_t x);
/* Adds every number of `from`, which has the same bounds and may be the same set, moved by `by`;
 * none of them leaves the bounds. */
void wk_places_join(wk_places *p, const wk_places *from, int64_t by);
/* Adds every number moved by step, 2 * step, … (n - 1) * step. */
void wk_places_repeat(wk_places *p, int64_t step, int64_t n);
bool wk_places_has_any(const wk_places *p, int64_t from, int64_t to); /* inclusive */
/* The first run of numbers from *from on; false: there is none. */
bool wk_places_run(const wk_places *p, int64_t *from, int64_t *length);

#endif
