/* SPDX-License-Identifier: Apache-2.0
 * Who used each byte (or entry, or table) of a space last. Neighbours that were used alike share a
 * cell; it is cut where an access begins or ends, and a write joins what it covers, so the work
 * depends on the number of accesses and not on their lengths. Pages that nobody asks for take no
 * room. */
#ifndef WICK_ACCEL_SHADOW_H
#define WICK_ACCEL_SHADOW_H

#include "targets/accel/check/footprint.h"

#define WK_NOBODY UINT32_MAX

typedef struct {
  uint32_t writer;                  /* index of the command that wrote last, or WK_NOBODY */
  uint32_t reader[WK_QUEUE_COUNT];  /* of each queue, the last that has read since */
} wk_cell;

/* From the end of the one before it, or the page's begin, to `end`, counted from there. */
typedef struct {
  uint32_t end;
  wk_cell cell;
} wk_shadow_piece;

typedef struct {
  WK_VEC(wk_shadow_piece) pieces; /* in order */
} wk_shadow_page;

/* Addresses from .. end - 1, which are numbered from `first` on. */
typedef struct {
  uint64_t from, end, first;
} wk_shadow_part;

typedef struct {
  uint64_t size;
  wk_shadow_page *pages;        /* of numbers */
  WK_VEC(uint64_t) made;        /* pages that have pieces */
  WK_VEC(wk_shadow_part) parts; /* in order */
  size_t hint;                  /* the part that was found last */
} wk_shadow;

/* There are cells for all addresses below size, */
void wk_shadow_init(wk_shadow *s, uint64_t size);
/* or only for those that are noted in between. */
void wk_shadow_begin(wk_shadow *s, uint64_t size);
void wk_shadow_note(wk_shadow *s, uint64_t from, uint64_t length);
void wk_shadow_end(wk_shadow *s);
void wk_shadow_free(wk_shadow *s);
bool wk_shadow_has_any(const wk_shadow *s, uint64_t from, uint64_t length); /* cells */
/* The cell of address `from`, or NULL. *end, beyond `from`, becomes the end of the addresses that
 * share it, or have none, if that is less. A cell is valid until the next call of any of these. */
wk_cell *wk_shadow_find(wk_shadow *s, uint64_t from, uint64_t *end);
/* The same; the cell is then of from .. *end - 1 alone, */
wk_cell *wk_shadow_cut(wk_shadow *s, uint64_t from, uint64_t *end);
/* and here a new one in the place of all that were there, as many as are kept together. */
wk_cell *wk_shadow_join(wk_shadow *s, uint64_t from, uint64_t *end);

/* Those of all spaces of a machine, for n commands that lie `stride` bytes apart: of memory there
 * are cells of what they store. Free each. */
void wk_shadows_prepare(wk_shadow shadows[WK_SPACE_COUNT], const wk_machine *m,
                        const wk_isa_command *first, size_t stride, uint32_t n);

#endif
