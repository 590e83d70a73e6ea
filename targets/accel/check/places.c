/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/check/places.h"

#include <stdlib.h>
#include <string.h>

wk_places wk_places_new(int64_t low, int64_t high) {
  wk_places p = {.low = low, .words = (size_t)(high - low) / 64 + 1};
  p.data = wk_xcalloc(p.words, sizeof *p.data);
  return p;
}

wk_places wk_places_copy(const wk_places *p) {
  wk_places y = {.low = p->low, .words = p->words};
  y.data = wk_xmalloc(p->words * sizeof *y.data);
  memcpy(y.data, p->data, p->words * sizeof *y.data);
  return y;
}

void wk_places_free(wk_places *p) {
  free(p->data);
  *p = (wk_places){0};
}

void wk_places_add(wk_places *p, int64_t x) {
  size_t i = (size_t)(x - p->low);
  p->data[i / 64] |= UINT64_C(1) << i % 64;
}

/* Words are read before they change: upwards from the top, downwards from the bottom. */
static void join_up(wk_places *p, const wk_places *from, size_t by) {
  size_t words = by / 64, bits = by % 64;
  if (words >= p->words) return;
  for (size_t i = p->words - 1; i > words; i--) {
    uint64_t below = bits ? from->data[i - words - 1] >> (64 - bits) : 0;
    p->data[i] |= from->data[i - words] << bits | below;
  }
  p->data[words] |= from->data[0] << bits;
}

static void join_down(wk_places *p, const wk_places *from, size_t by) {
  size_t words = by / 64, bits = by % 64;
  if (words >= p->words) return;
  for (size_t i = 0; i + words + 1 < p->words; i++) {
    uint64_t above = bits ? from->data[i + words + 1] << (64 - bits) : 0;
    p->data[i] |= from->data[i + words] >> bits | above;
  }
  p->data[p->words - 1 - words] |= from->data[p->words - 1] >> bits;
}

void wk_places_join(wk_places *p, const wk_places *from, int64_t by) {
  if (by >= 0) join_up(p, from, (size_t)by);
  else join_down(p, from, (size_t)-by);
}

void wk_places_repeat(wk_places *p, int64_t step, int64_t n) {
  for (int64_t have = 1; step && have < n;) {
    int64_t more = have < n - have ? have : n - have;
    wk_places_join(p, p, more * step);
    have += more;
  }
}

bool wk_places_run(const wk_places *p, int64_t *from, int64_t *length) {
  size_t end = p->words * 64, i = *from > p->low ? (size_t)(*from - p->low) : 0;
  while (i < end && !(p->data[i / 64] >> i % 64)) i = (i / 64 + 1) * 64;
  if (i >= end) return false;
  i += (size_t)__builtin_ctzll(p->data[i / 64] >> i % 64);
  size_t last = i;
  while (last < end && !(~p->data[last / 64] >> last % 64)) last = (last / 64 + 1) * 64;
  if (last < end) last += (size_t)__builtin_ctzll(~p->data[last / 64] >> last % 64);
  *from = p->low + (int64_t)i;
  *length = (int64_t)(last - i);
  return true;
}

bool wk_places_has_any(const wk_places *p, int64_t from, int64_t to) {
  int64_t length;
  return wk_places_run(p, &from, &length) && from <= to;
}
