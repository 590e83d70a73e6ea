/* SPDX-License-Identifier: Apache-2.0 */
/* Linear probing over a power-of-two table at most half full; nothing is ever removed. */
#include "compiler/support/support.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *key; /* NULL = free */
  uint32_t hash, value;
} slot;

struct wk_map {
  slot *slots;
  size_t used, size;
};

wk_map *wk_map_new(void) {
  wk_map *m = wk_xcalloc(1, sizeof *m);
  m->size = 16;
  m->slots = wk_xcalloc(m->size, sizeof *m->slots);
  return m;
}

void wk_map_free(wk_map *m) {
  if (!m) return;
  free(m->slots);
  free(m);
}

static uint32_t hash_of(const char *key) { return (uint32_t)wk_hash64(key, strlen(key), 0); }

/* The slot that holds key, or the free one where it belongs. */
static slot *find(const wk_map *m, const char *key, uint32_t hash) {
  size_t mask = m->size - 1, i = hash & mask;
  for (;; i = (i + 1) & mask) {
    slot *s = &m->slots[i];
    if (!s->key || (s->hash == hash && strcmp(s->key, key) == 0)) return s;
  }
}

static void grow(wk_map *m) {
  wk_map old = *m;
  m->size *= 2;
  m->slots = wk_xcalloc(m->size, sizeof *m->slots);
  for (size_t i = 0; i < old.size; i++)
    if (old.slots[i].key) *find(m, old.slots[i].key, old.slots[i].hash) = old.slots[i];
  free(old.slots);
}

void wk_map_put(wk_map *m, const char *key, uint32_t value) {
  uint32_t hash = hash_of(key);
  slot *s = find(m, key, hash);
  if (!s->key) {
    if (2 * (m->used + 1) > m->size) {
      grow(m);
      s = find(m, key, hash);
    }
    m->used++;
    s->key = key;
    s->hash = hash;
  }
  s->value = value;
}

bool wk_map_get(const wk_map *m, const char *key, uint32_t *value) {
  const slot *s = find(m, key, hash_of(key));
  if (!s->key) return false;
  *value = s->value;
  return true;
}
