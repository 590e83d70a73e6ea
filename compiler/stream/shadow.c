/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/shadow.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 1024 }; /* addresses */

void wk_sched_shadow_begin(wk_sched_shadow *s, uint64_t size) {
  *s = (wk_sched_shadow){.size = size};
}

void wk_sched_shadow_note(wk_sched_shadow *s, uint64_t from, uint64_t length) {
  if (from >= s->size) return;
  uint64_t end = length > s->size - from ? s->size : from + length;
  wk_sched_shadow_part *last = s->parts.n ? &s->parts.data[s->parts.n - 1] : NULL;
  if (last && from >= last->from && from <= last->end) {
    if (end > last->end) last->end = end;
    return;
  }
  wk_sched_shadow_part part = {from, end, 0};
  wk_vec_push(&s->parts, part);
}

static int by_from(const void *a, const void *b) {
  uint64_t x = ((const wk_sched_shadow_part *)a)->from, y = ((const wk_sched_shadow_part *)b)->from;
  return (x > y) - (x < y);
}

void wk_sched_shadow_end(wk_sched_shadow *s) {
  uint64_t count = 0;
  size_t n = 0;
  wk_sched_shadow_part *x = s->parts.data;
  if (s->parts.n) qsort(x, s->parts.n, sizeof *x, by_from);
  for (size_t i = 0; i < s->parts.n; i++) {
    if (n && x[i].from <= x[n - 1].end) {
      if (x[i].end > x[n - 1].end) x[n - 1].end = x[i].end;
    } else {
      x[n++] = x[i];
    }
  }
  s->parts.n = n;
  for (size_t i = 0; i < n; i++) {
    x[i].first = count;
    count += x[i].end - x[i].from;
  }
  s->pages = wk_xcalloc(wk_ceil_div(count, PAGE), sizeof *s->pages);
}

void wk_sched_shadow_init(wk_sched_shadow *s, uint64_t size) {
  wk_sched_shadow_begin(s, size);
  wk_sched_shadow_note(s, 0, size);
  wk_sched_shadow_end(s);
}

void wk_sched_shadow_free(wk_sched_shadow *s) {
  for (size_t i = 0; i < s->made.n; i++) wk_vec_free(&s->pages[s->made.data[i]].pieces);
  wk_vec_free(&s->made);
  wk_vec_free(&s->parts);
  free(s->pages);
  *s = (wk_sched_shadow){0};
}

bool wk_sched_shadow_has_any(const wk_sched_shadow *s, uint64_t from, uint64_t length) {
  size_t low = 0, high = s->parts.n;
  while (low < high) { /* the first part that ends behind `from` */
    size_t middle = (low + high) / 2;
    if (s->parts.data[middle].end > from) high = middle;
    else low = middle + 1;
  }
  return low < s->parts.n && s->parts.data[low].from < from + length;
}

/* The last part that begins at or before an address, which is often the one of the last question or
 * the one behind it; all begin later: the first. */
static const wk_sched_shadow_part *part_of(wk_sched_shadow *s, uint64_t address) {
  const wk_sched_shadow_part *x = s->parts.data;
  size_t n = s->parts.n, low = 0, high = n;
  for (size_t i = s->hint; i < n && i < s->hint + 2; i++)
    if (x[i].from <= address && (i + 1 == n || address < x[i + 1].from)) {
      s->hint = i;
      return &x[i];
    }
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    if (x[middle].from <= address) low = middle;
    else high = middle;
  }
  s->hint = low;
  return &x[low];
}

/* ---- cells ----------------------------------------------------------------------------------- */

static wk_sched_shadow_piece unused(uint32_t end) {
  wk_sched_shadow_piece p;
  memset(&p, 0xff, sizeof p); /* WK_SCHED_NOBODY everywhere */
  p.end = end;
  return p;
}

/* Addresses of one page that have cells: from the at-th up to the to-th, of those of the page. */
typedef struct {
  wk_sched_shadow_page *page;
  uint32_t at, to;
} range;

/* From `from` on, no farther than *end, which it moves there. False: these have none. */
static bool range_of(wk_sched_shadow *s, uint64_t from, uint64_t *end, range *r) {
  const wk_sched_shadow_part *all = s->parts.data, *part = s->parts.n ? part_of(s, from) : NULL;
  if (!part || from < part->from || from >= part->end) {
    const wk_sched_shadow_part *next = part && from >= part->end ? part + 1 : part;
    if (part && next < all + s->parts.n && next->from < *end) *end = next->from;
    return false;
  }
  uint64_t number = part->first + (from - part->from), i = number / PAGE;
  r->page = &s->pages[i];
  r->at = (uint32_t)(number % PAGE);
  if (part->end < *end) *end = part->end;
  if (*end - from > PAGE - r->at) *end = from + (PAGE - r->at);
  r->to = r->at + (uint32_t)(*end - from);
  if (!r->page->pieces.n) {
    wk_vec_push(&r->page->pieces, unused(PAGE));
    wk_vec_push(&s->made, i);
  }
  return true;
}

/* The piece that an address of the page is in. */
static size_t piece_of(const wk_sched_shadow_page *p, uint32_t at) {
  size_t low = 0, high = p->pieces.n - 1;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (p->pieces.data[middle].end > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/* Piece i becomes two, of which the second begins at `at`, unless it does so already. */
static void split(wk_sched_shadow_page *p, size_t i, uint32_t at) {
  if (p->pieces.data[i].end == at || (i ? p->pieces.data[i - 1].end : 0) == at) return;
  wk_vec_reserve(&p->pieces, p->pieces.n + 1);
  wk_sched_shadow_piece *x = &p->pieces.data[i];
  memmove(x + 1, x, (p->pieces.n++ - i) * sizeof *x);
  x->end = at;
}

wk_sched_cell *wk_sched_shadow_find(wk_sched_shadow *s, uint64_t from, uint64_t *end) {
  range r;
  if (!range_of(s, from, end, &r)) return NULL;
  wk_sched_shadow_piece *x = &r.page->pieces.data[piece_of(r.page, r.at)];
  if (x->end < r.to) *end = from + (x->end - r.at);
  return &x->cell;
}

/* A page's piece that begins at `at`. */
static size_t begin(wk_sched_shadow_page *p, uint32_t at) {
  size_t i = piece_of(p, at);
  bool is_there = at == (i ? p->pieces.data[i - 1].end : 0);
  split(p, i, at);
  return is_there ? i : i + 1;
}

wk_sched_cell *wk_sched_shadow_cut(wk_sched_shadow *s, uint64_t from, uint64_t *end) {
  range r;
  if (!range_of(s, from, end, &r)) return NULL;
  size_t i = begin(r.page, r.at);
  if (r.page->pieces.data[i].end > r.to) split(r.page, i, r.to);
  *end = from + (r.page->pieces.data[i].end - r.at);
  return &r.page->pieces.data[i].cell;
}

wk_sched_cell *wk_sched_shadow_join(wk_sched_shadow *s, uint64_t from, uint64_t *end) {
  range r;
  if (!range_of(s, from, end, &r)) return NULL;
  size_t first = begin(r.page, r.at), last = piece_of(r.page, r.to - 1);
  split(r.page, last, r.to);
  wk_sched_shadow_piece *x = r.page->pieces.data;
  memmove(&x[first + 1], &x[last + 1], (r.page->pieces.n - last - 1) * sizeof *x);
  r.page->pieces.n -= last - first;
  x[first] = unused(r.to);
  return &x[first].cell;
}
