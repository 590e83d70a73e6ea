/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/check/shadow.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_CELLS = 256 };

void wk_shadow_begin(wk_shadow *s, uint64_t size, uint64_t granule) {
  *s = (wk_shadow){.size = size, .granule = granule ? granule : 1};
}

void wk_shadow_note(wk_shadow *s, uint64_t from, uint64_t length) {
  uint64_t end = from + length;
  if (from >= s->size) return;
  if (end > s->size) end = s->size;
  wk_shadow_part *last = s->parts.n ? &s->parts.data[s->parts.n - 1] : NULL;
  if (last && from >= last->from && from <= last->end) {
    if (end > last->end) last->end = end;
    return;
  }
  wk_shadow_part part = {from, end, 0};
  wk_vec_push(&s->parts, part);
}

static int by_from(const void *a, const void *b) {
  uint64_t x = ((const wk_shadow_part *)a)->from, y = ((const wk_shadow_part *)b)->from;
  return (x > y) - (x < y);
}

void wk_shadow_end(wk_shadow *s) {
  uint64_t cells = 0;
  size_t n = 0;
  wk_shadow_part *x = s->parts.data;
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
    x[i].first = cells;
    cells += (x[i].end - x[i].from + s->granule - 1) / s->granule;
  }
  s->pages = wk_xcalloc(cells / PAGE_CELLS + 1, sizeof *s->pages);
}

void wk_shadow_init(wk_shadow *s, uint64_t size, uint64_t granule) {
  wk_shadow_begin(s, size, granule);
  wk_shadow_note(s, 0, size);
  wk_shadow_end(s);
}

void wk_shadow_free(wk_shadow *s) {
  for (size_t i = 0; i < s->made.n; i++) free(s->pages[s->made.data[i]]);
  wk_vec_free(&s->made);
  wk_vec_free(&s->parts);
  free(s->pages);
  *s = (wk_shadow){0};
}

bool wk_shadow_has_any(const wk_shadow *s, uint64_t from, uint64_t length) {
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
static const wk_shadow_part *part_of(wk_shadow *s, uint64_t address) {
  const wk_shadow_part *x = s->parts.data;
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

wk_cell *wk_shadow_cell(wk_shadow *s, uint64_t address) {
  uint64_t cells;
  return wk_shadow_cells(s, address, &cells);
}

wk_cell *wk_shadow_cells(wk_shadow *s, uint64_t address, uint64_t *cells) {
  *cells = 1;
  if (!s->parts.n) return NULL;
  const wk_shadow_part *part = part_of(s, address);
  if (address < part->from || address >= part->end) return NULL;
  uint64_t left = (part->end - address + s->granule - 1) / s->granule;
  uint64_t i = part->first + (address - part->from) / s->granule;
  wk_cell **page = &s->pages[i / PAGE_CELLS];
  if (!*page) {
    *page = wk_xmalloc(PAGE_CELLS * sizeof **page);
    wk_vec_push(&s->made, i / PAGE_CELLS);
    memset(*page, 0xff, PAGE_CELLS * sizeof **page); /* WK_NOBODY everywhere */
  }
  *cells = PAGE_CELLS - i % PAGE_CELLS < left ? PAGE_CELLS - i % PAGE_CELLS : left;
  return &(*page)[i % PAGE_CELLS];
}
