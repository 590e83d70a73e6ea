/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/train/data.h"

/* 15 fifths are 3, whatever 0.2 is in binary. */
static int64_t held_before(int64_t i, double fraction) {
  return (int64_t)floor((double)i * fraction + 1e-9);
}

void wk_split_make(int64_t n, double fraction, wk_split *out) {
  *out = (wk_split){.train = wk_xcalloc((size_t)n, sizeof *out->train),
                    .held_out = wk_xcalloc((size_t)n, sizeof *out->held_out)};
  for (int64_t i = 0; i < n; i++) {
    bool is_held = held_before(i + 1, fraction) > held_before(i, fraction);
    if (is_held) out->held_out[out->n_held_out++] = i;
    else out->train[out->n_train++] = i;
  }
}

void wk_split_free(wk_split *s) {
  free(s->train);
  free(s->held_out);
  *s = (wk_split){0};
}

/* In 0..bound - 1, from words 2 k and 2 k + 1 of a stream. The remainder of 63 random bits is
 * uniform but for bound / 2^63. */
static int64_t draw(uint64_t stream, int64_t k, int64_t bound) {
  uint64_t high = wk_philox(stream, 2 * (uint64_t)k), low = wk_philox(stream, 2 * (uint64_t)k + 1);
  return (int64_t)((high << 32 | low) >> 1) % bound;
}

void wk_shuffle(uint64_t seed, int64_t epoch, const int64_t *from, int64_t n, int64_t *out) {
  uint64_t key[2] = {seed, (uint64_t)epoch}, stream = wk_hash64(key, sizeof key, 0);
  if (n > 0) memcpy(out, from, (size_t)n * sizeof *out);
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t k = draw(stream, i, i + 1), held = out[i];
    out[i] = out[k];
    out[k] = held;
  }
}
