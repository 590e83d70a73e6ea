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

typedef struct {
  uint64_t size, granule;
  wk_cell **pages;
  WK_VEC(uint64_t) made; /* pages that exist */
} wk_shadow;

/* size and granule in bytes (or entries, tables). */
void wk_shadow_init(wk_shadow *s, uint64_t size, uint64_t granule);
void wk_shadow_free(wk_shadow *s);
/* The cell of an address; with `make` false NULL when it was never asked for. */
wk_cell *wk_shadow_cell(wk_shadow *s, uint64_t address, bool make);

#endif
