/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/check/constants.h"

#include <stdlib.h>
#include <string.h>

wk_constants wk_constants_new(const wk_stream *s, const wk_machine *m,
                              const wk_sched_shadow *written) {
  size_t n = (size_t)m->scratchpad;
  return (wk_constants){s, written, wk_xcalloc(n, 1), wk_xcalloc(n, sizeof(bool))};
}

void wk_constants_free(wk_constants *k) {
  free(k->bytes);
  free(k->is_known);
}

void wk_constants_forget(wk_constants *k, uint64_t from, uint64_t length) {
  memset(k->is_known + from, 0, length * sizeof *k->is_known);
}

/* An image with bytes that stay what they are; NULL: there is none. */
static const wk_image *image_of(const wk_constants *k, uint64_t from, uint64_t length) {
  for (size_t i = 0; i < k->s->regions.n; i++) {
    const wk_image *x = &k->s->regions.data[i];
    if (from < x->address || from - x->address > x->size ||
        length > x->size - (from - x->address))
      continue;
    return x->data && !wk_sched_shadow_has_any(k->written, from, length) ? x : NULL;
  }
  return NULL;
}

static void load_piece(wk_constants *k, uint64_t spm, uint64_t memory, uint64_t length) {
  const wk_image *x = image_of(k, memory, length);
  if (!x) return;
  memcpy(k->bytes + spm, x->data + (memory - x->address), length);
  memset(k->is_known + spm, 1, length * sizeof *k->is_known);
}

/* A run, of which `before` bytes of the sequence come earlier, piece by piece of a chunk. */
static void load_run(wk_constants *k, const wk_isa_command *c, uint64_t memory, uint64_t before) {
  uint64_t n0 = WK_V(c, LD, n0), c0 = WK_V(c, LD, c0), c1 = WK_V(c, LD, c1);
  for (uint64_t i = 0; i < n0;) {
    uint64_t at = before + i, chunk = at / c0, rest = c0 - at % c0;
    uint64_t length = rest < n0 - i ? rest : n0 - i;
    load_piece(k, WK_V(c, LD, spm) + chunk / c1 * WK_V(c, LD, p2) + chunk % c1 * WK_V(c, LD, p1) +
                      at % c0, memory + i, length);
    i += length;
  }
}

void wk_constants_load(wk_constants *k, const wk_isa_command *c) {
  uint64_t before = 0;
  for (uint64_t i3 = 0; i3 < WK_V(c, LD, n3); i3++)
    for (uint64_t i2 = 0; i2 < WK_V(c, LD, n2); i2++)
      for (uint64_t i1 = 0; i1 < WK_V(c, LD, n1); i1++, before += WK_V(c, LD, n0))
        load_run(k, c, WK_V(c, LD, dram) + i3 * WK_V(c, LD, s3) + i2 * WK_V(c, LD, s2) +
                           i1 * WK_V(c, LD, s1), before);
}

bool wk_constants_read(void *context, uint64_t from, int bytes, uint8_t *out) {
  const wk_constants *k = context;
  for (int i = 0; i < bytes; i++)
    if (!k->is_known[from + (uint64_t)i]) return false;
  memcpy(out, k->bytes + from, (size_t)bytes);
  return true;
}
