/* SPDX-License-Identifier: Apache-2.0
 * Who used each cell of a space last. A cell is as many bytes as all accesses of the space are
 * multiples of, so nothing is lost. Cells that nobody asks for take no room. */
#ifndef WICK_ACCEL_SHADOW_H
#define WICK_ACCEL_SHADOW_H

#include "targets/accel/isa/isa.h"

#define WK_NOBODY UINT32_MAX

typedef struct {
  uint32_t writer;                  /* index of the command that wrote last, or WK_NOBODY */
  uint32_t reader[WK_QUEUE_COUNT];  /* of each queue, the last that has read since */
} wk_cell;

/* Addresses from .. end - 1, whose cells are numbered from `first` on. */
typedef struct {
  uint64_t from, end, first;
} wk_shadow_part;

typedef struct {
  uint64_t size, granule;
  wk_cell **pages;
  WK_VEC(uint64_t) made;        /* pages that exist */
  WK_VEC(wk_shadow_part) parts; /* in order */
  size_t hint;                  /* the part that was found last */
} wk_shadow;

/* size and granule in bytes (or entries, tables). There are cells for all addresses, */
void wk_shadow_init(wk_shadow *s, uint64_t size, uint64_t granule);
/* or only for those that are noted in between. */
void wk_shadow_begin(wk_shadow *s, uint64_t size, uint64_t granule);
void wk_shadow_note(wk_shadow *s, uint64_t from, uint64_t length);
void wk_shadow_end(wk_shadow *s);
void wk_shadow_free(wk_shadow *s);
bool wk_shadow_has_any(const wk_shadow *s, uint64_t from, uint64_t length); /* cells */
/* The cell of an address, or NULL. */
wk_cell *wk_shadow_cell(wk_shadow *s, uint64_t address);
/* That, and how many cells from it on lie side by side, 1 at least; of NULL how many addresses
 * there are without a cell, in cells. */
wk_cell *wk_shadow_cells(wk_shadow *s, uint64_t address, uint64_t *cells);

#endif
