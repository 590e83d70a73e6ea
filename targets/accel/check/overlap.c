/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/check/overlap.h"

#include <stdlib.h>

/* One run of bytes; `step` counts the words (rows, tiles) of the command from 1. */
typedef void visit_fn(void *context, uint32_t step, bool writes, uint64_t from, uint64_t length);

typedef struct {
  const wk_isa_command *c;
  uint64_t n; /* array */
  visit_fn *visit;
  void *context;
} walk;

static void read(const walk *w, uint32_t step, uint64_t from, uint64_t length) {
  w->visit(w->context, step, false, from, length);
}

static void write(const walk *w, uint32_t step, uint64_t from, uint64_t length) {
  w->visit(w->context, step, true, from, length);
}

static void map(const walk *w) {
  const wk_isa_command *c = w->c;
  uint64_t n = WK_V(c, MAP, n);
  bool has_b = wk_isa_uses_of(c).second;
  uint32_t step = 0;
  for (uint64_t k = 0; k < WK_V(c, MAP, n2); k++)
    for (uint64_t j = 0; j < WK_V(c, MAP, n1); j++)
      for (uint64_t i = 0; i < WK_V(c, MAP, n0); i++) {
        step++;
        uint64_t a = k * WK_V(c, MAP, a2) + j * WK_V(c, MAP, a1) + i * WK_V(c, MAP, a0);
        uint64_t b = k * WK_V(c, MAP, b2) + j * WK_V(c, MAP, b1) + i * WK_V(c, MAP, b0);
        uint64_t y = k * WK_V(c, MAP, y2) + j * WK_V(c, MAP, y1) + i * WK_V(c, MAP, y0);
        read(w, step, WK_V(c, MAP, a) + a, n);
        if (has_b) read(w, step, WK_V(c, MAP, b) + b, WK_V(c, MAP, splat) ? 1 : n);
        write(w, step, WK_V(c, MAP, out) + y, n);
      }
}

static void row(const walk *w) {
  const wk_isa_command *c = w->c;
  wk_isa_uses uses = wk_isa_uses_of(c);
  bool reduces = uses.reduces;
  for (uint64_t y = 0; y < WK_V(c, ROW, ny); y++)
    for (uint64_t k = 0; k < WK_V(c, ROW, kc); k++) {
      uint64_t length = k + 1 == WK_V(c, ROW, kc) ? WK_V(c, ROW, k_tail) : w->n;
      uint64_t in = WK_V(c, ROW, in) + y * WK_V(c, ROW, in_y);
      uint64_t out = WK_V(c, ROW, out) + y * WK_V(c, ROW, out_y);
      read(w, (uint32_t)y + 1, in + k * WK_V(c, ROW, in_c), length);
      if (!reduces) write(w, (uint32_t)y + 1, out + k * WK_V(c, ROW, out_c), length);
      else if (k == 0) write(w, (uint32_t)y + 1, out, 1);
    }
  uint64_t entries = 1; /* may be read for every row */
  if (uses.entries == WK_USES_ENTRY_OF_COLUMN)
    entries = (WK_V(c, ROW, kc) - 1) * w->n + WK_V(c, ROW, k_tail);
  if (uses.record)
    read(w, UINT32_MAX, WK_V(c, ROW, par), WK_RECORD_BYTES + WK_ENTRY_BYTES * entries);
}

static void trn(const walk *w) {
  const wk_isa_command *c = w->c;
  uint32_t step = 0;
  for (uint64_t y = 0; y < WK_V(c, TRN, ny); y++)
    for (uint64_t x = 0; x < WK_V(c, TRN, nx); x++) {
      uint64_t in = WK_V(c, TRN, in) + y * WK_V(c, TRN, in_y) + x * WK_V(c, TRN, in_x);
      uint64_t out = WK_V(c, TRN, out) + y * WK_V(c, TRN, out_y) + x * WK_V(c, TRN, out_x);
      step++;
      for (uint64_t r = 0; r < WK_V(c, TRN, rows); r++)
        read(w, step, in + r * WK_V(c, TRN, in_r), WK_V(c, TRN, n));
      for (uint64_t i = 0; i < WK_V(c, TRN, n); i++)
        write(w, step, out + i * WK_V(c, TRN, out_r), WK_V(c, TRN, rows));
    }
}

/* ---- boxes: most commands need no more ------------------------------------------------------- */

typedef struct {
  uint64_t from[2], end[2]; /* of reads, of writes */
} boxes;

static void see(void *context, uint32_t step, bool writes, uint64_t from, uint64_t length) {
  boxes *b = context;
  (void)step;
  if (from < b->from[writes]) b->from[writes] = from;
  if (from + length > b->end[writes]) b->end[writes] = from + length;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

typedef struct {
  uint32_t *last; /* step that reads a byte last; 0: none */
  bool meets_later, meets_own;
} bytes;

static void note_read(void *context, uint32_t step, bool writes, uint64_t from, uint64_t length) {
  bytes *b = context;
  for (uint64_t a = from; !writes && a < from + length; a++) b->last[a] = step;
}

static void look(void *context, uint32_t step, bool writes, uint64_t from, uint64_t length) {
  bytes *b = context;
  for (uint64_t a = from; writes && a < from + length; a++) {
    if (b->last[a] > step) b->meets_later = true;
    if (b->last[a] == step) b->meets_own = true;
  }
}

/* Every element by its own result: blocks of N bytes must not share any. */
static bool is_replaced_in_place(const wk_isa_command *c, uint64_t n) {
  return WK_V(c, ROW, in) == WK_V(c, ROW, out) && WK_V(c, ROW, in_y) == WK_V(c, ROW, out_y) &&
         WK_V(c, ROW, in_c) == WK_V(c, ROW, out_c) &&
         (WK_V(c, ROW, kc) == 1 || WK_V(c, ROW, in_c) >= n);
}

bool wk_overlaps_later(const wk_machine *m, const wk_isa_command *c) {
  static void (*const walks[32])(const walk *) = {
      [WK_CMD_MAP] = map, [WK_CMD_ROW] = row, [WK_CMD_TRN] = trn};
  if (!walks[c->opcode]) return false;
  boxes box = {{UINT64_MAX, UINT64_MAX}, {0, 0}};
  walk w = {c, (uint64_t)m->array, see, &box};
  walks[c->opcode](&w);
  if (box.end[0] <= box.from[1] || box.end[1] <= box.from[0]) return false;
  bytes b = {.last = wk_xcalloc((size_t)m->scratchpad, sizeof *b.last)};
  w.context = &b;
  w.visit = note_read;
  walks[c->opcode](&w);
  w.visit = look;
  walks[c->opcode](&w);
  free(b.last);
  bool own = c->opcode == WK_CMD_ROW && !wk_isa_uses_of(c).reduces && !is_replaced_in_place(c, w.n);
  return b.meets_later || (own && b.meets_own);
}
