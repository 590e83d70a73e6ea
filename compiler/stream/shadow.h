/* SPDX-License-Identifier: Apache-2.0
 * shadow: who used each byte (or entry, or table) of a space last. Neighbours that were used alike
 * share a cell; it is cut where an access begins or ends, and a write joins what it covers, so the
 * work depends on the number of accesses and not on their lengths. Pages that nobody asks for take
 * no room. */
#ifndef WICK_STREAM_SHADOW_H
#define WICK_STREAM_SHADOW_H

#include "compiler/stream/queues.h"

typedef struct {
  uint32_t writer;                  /* index of the command that wrote last, or WK_SCHED_NOBODY */
  uint32_t reader[WK_SCHED_QUEUES];  /* of each queue, the last that has read since */
} wk_sched_cell;

/* From the end of the one before it, or the page's begin, to `end`, counted from there. */
typedef struct {
  uint32_t end;
  wk_sched_cell cell;
} wk_sched_shadow_piece;

typedef struct {
  WK_VEC(wk_sched_shadow_piece) pieces; /* in order */
} wk_sched_shadow_page;

/* Addresses from .. end - 1, which are numbered from `first` on. */
typedef struct {
  uint64_t from, end, first;
} wk_sched_shadow_part;

typedef struct {
  uint64_t size;
  wk_sched_shadow_page *pages;        /* of numbers */
  WK_VEC(uint64_t) made;              /* pages that have pieces */
  WK_VEC(wk_sched_shadow_part) parts; /* in order */
  size_t hint;                        /* the part that was found last */
} wk_sched_shadow;

/* There are cells for all addresses below size, */
void wk_sched_shadow_init(wk_sched_shadow *s, uint64_t size);
/* or only for those that are noted in between. */
void wk_sched_shadow_begin(wk_sched_shadow *s, uint64_t size);
void wk_sched_shadow_note(wk_sched_shadow *s, uint64_t from, uint64_t length);
void wk_sched_shadow_end(wk_sched_shadow *s);
void wk_sched_shadow_free(wk_sched_shadow *s);
bool wk_sched_shadow_has_any(const wk_sched_shadow *s, uint64_t from, uint64_t length); /* cells */
/* The cell of address `from`, or NULL. *end, beyond `from`, becomes the end of the addresses that
 * share it, or have none, if that is less. A cell is valid until the next call of any of these. */
wk_sched_cell *wk_sched_shadow_find(wk_sched_shadow *s, uint64_t from, uint64_t *end);
/* The same; the cell is then of from .. *end - 1 alone, */
wk_sched_cell *wk_sched_shadow_cut(wk_sched_shadow *s, uint64_t from, uint64_t *end);
/* and here a new one in the place of all that were there, as many as are kept together. */
wk_sched_cell *wk_sched_shadow_join(wk_sched_shadow *s, uint64_t from, uint64_t *end);

#endif
