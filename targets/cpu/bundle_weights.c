/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/bundle.h"

#include <string.h>

#include "runtime/abi.h"

static wk_status place_states(const wk_cpu_module *m, wk_arena *a, wk_bundle_weights *w) {
  wk_program **programs = wk_arena_alloc(a, m->n * sizeof *programs);
  size_t n = 0;
  for (size_t k = 0; k < m->n; k++)
    if (m->parts[k].program->states.n) programs[n++] = m->parts[k].program;
  w->bytes = m->const_bytes;
  if (!n) return NULL;
  WK_TRY(wk_place_states(programs, n, a, &w->states, &w->n_states));
  w->state_bytes = (uint64_t)programs[0]->region_size[WK_REGION_STATE];
  w->state_at = wk_align_up(m->const_bytes, WICK_ALIGN);
  w->bytes = w->state_at + w->state_bytes;
  return NULL;
}

/* ---- all bytes, in order --------------------------------------------------------------------- */

typedef struct {
  void (*take)(void *ctx, const void *data, uint64_t size);
  void *ctx;
  uint64_t at;
} bytes;

static void fill_up(bytes *b, uint64_t to) {
  static const uint8_t zeros[WICK_PAGE];
  while (b->at < to) {
    uint64_t n = to - b->at < sizeof zeros ? to - b->at : sizeof zeros;
    b->take(b->ctx, zeros, n);
    b->at += n;
  }
}

static void give(bytes *b, uint64_t offset, const void *data, uint64_t size) {
  fill_up(b, offset);
  b->take(b->ctx, data, size);
  b->at = offset + size;
}

/* What is in front of the seal. */
static void give_all(bytes *b, const wk_cpu_module *m, const wk_bundle_weights *w) {
  for (size_t k = 0; k < m->consts.n; k++) {
    const wk_cpu_const *c = &m->consts.data[k];
    give(b, c->offset, c->data, c->size);
  }
  for (size_t i = 0; i < w->n_states; i++)
    give(b, w->state_at + (uint64_t)w->states[i].offset, w->states[i].initial,
         (uint64_t)wk_type_bytes(&w->states[i].io->type));
  fill_up(b, w->bytes);
}

/* ---- what they add up to, and the file ------------------------------------------------------- */

typedef struct {
  guard_sum sum;
  uint64_t words[512];
  size_t used; /* bytes of them */
} summing;

static void add_words(summing *s) {
  guard_add(&s->sum, s->words, s->used / sizeof(guard_seal));
  s->used = 0;
}

static void add_bytes(void *ctx, const void *data, uint64_t size) {
  summing *s = ctx;
  for (const char *from = data; size > 0;) {
    size_t room = sizeof s->words - s->used, n = size < room ? (size_t)size : room;
    memcpy((char *)s->words + s->used, from, n);
    s->used += n;
    from += n;
    size -= n;
    if (s->used == sizeof s->words) add_words(s);
  }
}

static void write_bytes(void *ctx, const void *data, uint64_t size) {
  wk_out_write(ctx, data, size);
}

wk_status wk_bundle_weights_of(const wk_cpu_module *m, wk_arena *a, wk_bundle_weights *out) {
  summing s = {.sum = GUARD_BEGIN};
  bytes b = {add_bytes, &s, 0};
  *out = (wk_bundle_weights){0};
  WK_TRY(place_states(m, a, out));
  out->bytes = wk_align_up(out->bytes, sizeof(guard_seal));
  give_all(&b, m, out);
  add_words(&s);
  out->seal = (guard_seal){GUARD_MAGIC, guard_end(&s.sum, out->bytes)};
  return NULL;
}

void wk_bundle_weights_write(wk_out *out, const wk_cpu_module *m, const wk_bundle_weights *w) {
  bytes b = {write_bytes, out, 0};
  give_all(&b, m, w);
  wk_out_write(out, &w->seal, sizeof w->seal);
}
