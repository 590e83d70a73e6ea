/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/check/shadow.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_CELLS = 256 };

void wk_shadow_init(wk_shadow *s, uint64_t size, uint64_t granule) {
  *s = (wk_shadow){.size = size, .granule = granule ? granule : 1};
  s->pages = wk_xcalloc(size / s->granule / PAGE_CELLS + 1, sizeof *s->pages);
}

void wk_shadow_free(wk_shadow *s) {
  for (size_t i = 0; i < s->made.n; i++) free(s->pages[s->made.data[i]]);
  wk_vec_free(&s->made);
  free(s->pages);
  *s = (wk_shadow){0};
}

wk_cell *wk_shadow_cell(wk_shadow *s, uint64_t address, bool make) {
  uint64_t i = address / s->granule;
  wk_cell **page = &s->pages[i / PAGE_CELLS];
  if (!*page) {
    if (!make) return NULL;
    *page = wk_xmalloc(PAGE_CELLS * sizeof **page);
    wk_vec_push(&s->made, i / PAGE_CELLS);
    memset(*page, 0xff, PAGE_CELLS * sizeof **page); /* WK_NOBODY everywhere */
  }
  return &(*page)[i % PAGE_CELLS];
}
