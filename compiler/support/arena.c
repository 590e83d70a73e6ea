/* SPDX-License-Identifier: Apache-2.0 */
/* Heap wrappers and the arena: a list of chunks, each twice the last up to a cap; allocation bumps
 * a cursor in the newest chunk. Under AddressSanitizer the unused part of a chunk is poisoned and
 * allocations are kept a few bytes apart, so that an overrun is caught as on the heap; and short
 * vectors have no room to spare, so that one is caught that ends within it. */
#include "compiler/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/support/machine.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#endif

#if defined(HAS_ASAN) && __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#define ROOM_OVER(cap) ((cap) < 64 ? (cap) + 1 : (cap) + (cap) / 2)
enum { RED_ZONE = 16 };
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#define ROOM_OVER(cap) ((cap) < 8 ? 8 : (cap) + (cap) / 2)
enum { RED_ZONE = 0 };
#endif

enum { FIRST_CHUNK = 4096, MAX_CHUNK = 1 << 20 };

void *wk_xmalloc(size_t n) {
  void *p = malloc(n ? n : 1);
  if (!p) wk_no_memory();
  return p;
}

void *wk_xcalloc(size_t n, size_t size) {
  void *p = calloc(n ? n : 1, size ? size : 1);
  if (!p) wk_no_memory();
  return p;
}

void *wk_xrealloc(void *p, size_t n) {
  p = realloc(p, n ? n : 1);
  if (!p) wk_no_memory();
  return p;
}

void wk_xcheck(wk_status s) {
  if (s) wk_no_memory();
}

char *wk_xstrdup(const char *s) {
  size_t n = strlen(s) + 1;
  return memcpy(wk_xmalloc(n), s, n);
}

uint64_t wk_machine_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

wk_status wk_try_malloc(size_t n, void **out) {
  *out = NULL;
  /* The kernel overcommits: without this test a huge size would be granted and the zeroing below
   * would end the process. */
  bool fits = n <= SIZE_MAX / 2 && n <= wk_machine_memory();
  size_t size = fits ? wk_align_up(n ? n : 1, 64) : 0;
  void *p = fits ? aligned_alloc(64, size) : NULL;
  if (!p) return wk_error(WK_RESOURCE, "out of memory: %s needed", wk_bytes_text(n).s);
  *out = memset(p, 0, size);
  return NULL;
}

bool wk_vec_try_grow(void **data, size_t *cap, size_t want, size_t elem) {
  size_t grown = ROOM_OVER(*cap), bytes;
  if (grown < want) grown = want;
  void *more = __builtin_mul_overflow(grown, elem, &bytes) ? NULL : realloc(*data, bytes);
  if (!more) return false;
  *data = more;
  *cap = grown;
  return true;
}

void wk_vec_grow(void **data, size_t *cap, size_t want, size_t elem) {
  if (!wk_vec_try_grow(data, cap, want, elem)) wk_no_memory();
}

typedef struct chunk {
  struct chunk *next; /* the older one */
  size_t size, used;  /* bytes of data[] */
  _Alignas(16) uint8_t data[];
} chunk;

struct wk_arena {
  chunk *top;
  size_t next_size, bytes;
};

wk_arena *wk_arena_new(void) {
  wk_arena *a = wk_xcalloc(1, sizeof *a);
  a->next_size = FIRST_CHUNK;
  return a;
}

static void free_chunks(chunk *c) {
  while (c) {
    chunk *next = c->next;
    UNPOISON(c->data, c->size);
    free(c);
    c = next;
  }
}

void wk_arena_free(wk_arena *a) {
  if (!a) return;
  free_chunks(a->top);
  free(a);
}

void wk_arena_reset(wk_arena *a) {
  a->bytes = 0;
  if (!a->top) return;
  free_chunks(a->top->next);
  a->top->next = NULL;
  a->top->used = 0;
  if (a->top->size > MAX_CHUNK) { /* one giant allocation should not stay for ever */
    free_chunks(a->top);
    a->top = NULL;
    return;
  }
  POISON(a->top->data, a->top->size);
}

/* Where an allocation of this alignment would start in c, or SIZE_MAX when n bytes do not fit. */
static size_t place_in(const chunk *c, size_t n, size_t align) {
  uintptr_t at = (uintptr_t)c->data + c->used;
  size_t start = c->used + (size_t)(-at & (align - 1));
  return start <= c->size && n <= c->size - start ? start : SIZE_MAX;
}

static chunk *add_chunk(wk_arena *a, size_t n, size_t align) {
  size_t need, size;
  if (__builtin_add_overflow(n, align + RED_ZONE, &need)) wk_no_memory();
  size = need > a->next_size ? need : a->next_size;
  if (__builtin_add_overflow(size, sizeof(chunk), &need)) wk_no_memory();
  chunk *c = wk_xmalloc(need);
  c->size = size;
  c->used = 0;
  POISON(c->data, size);
  if (a->next_size < MAX_CHUNK) a->next_size *= 2;
  c->next = a->top;
  return a->top = c;
}

static void *alloc_raw(wk_arena *a, size_t n, size_t align) {
  wk_assert(align && (align & (align - 1)) == 0);
  if (align < 16) align = 16;
  size_t start = a->top ? place_in(a->top, n, align) : SIZE_MAX;
  if (start == SIZE_MAX) start = place_in(add_chunk(a, n, align), n, align);
  chunk *c = a->top;
  void *p = c->data + start;
  size_t end = start + n, room = c->size - end;
  c->used = end + (room > RED_ZONE ? RED_ZONE : room);
  a->bytes += n;
  UNPOISON(p, n);
  return p;
}

void *wk_arena_alloc_aligned(wk_arena *a, size_t n, size_t align) {
  return memset(alloc_raw(a, n, align), 0, n);
}

void *wk_arena_alloc(wk_arena *a, size_t n) { return wk_arena_alloc_aligned(a, n, 16); }

void *wk_arena_memdup(wk_arena *a, const void *p, size_t n) {
  void *copy = alloc_raw(a, n, 16);
  if (n) memcpy(copy, p, n);
  return copy;
}

char *wk_arena_strndup(wk_arena *a, const char *s, size_t n) {
  n = n ? strnlen(s, n) : 0; /* s may be NULL when n is 0 */
  char *copy = alloc_raw(a, n + 1, 16);
  if (n) memcpy(copy, s, n);
  copy[n] = 0;
  return copy;
}

char *wk_arena_strdup(wk_arena *a, const char *s) { return wk_arena_memdup(a, s, strlen(s) + 1); }

char *wk_arena_printf(wk_arena *a, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  if (n < 0) wk_no_memory();
  char *s = alloc_raw(a, (size_t)n + 1, 16);
  vsnprintf(s, (size_t)n + 1, fmt, again);
  va_end(again);
  return s;
}

size_t wk_arena_bytes(const wk_arena *a) { return a->bytes; }
