/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/check/overlap.h"

#include <stdlib.h>

/* One run of bytes; `step` counts the words (rows, tiles) of the command from 1. */
typedef void visit_fn(void *context, uint32_t step, bool writes, uint64_t from, uint64_t length);

typedef struct {
  const int64_t *v;
  uint64_t n; /* array */
  visit_fn *visit;
  void *context;
} walk;

#define V(C, f) ((uint64_t)w->v[WK_##C##_##f])

static void read(const walk *w, uint32_t step, uint64_t from, uint64_t length) {
  w->visit(w->context, step, false, from, length);
}

static void write(const walk *w, uint32_t step, uint64_t from, uint64_t length) {
  w->visit(w->context, step, true, from, length);
}

static void map(const walk *w) {
  uint64_t n = V(MAP, n), fn = V(MAP, fn);
  bool has_b = fn >= WK_CHOICE_MAP_add && fn <= WK_CHOICE_MAP_min;
  uint32_t step = 0;
  for (uint64_t k = 0; k < V(MAP, n2); k++)
    for (uint64_t j = 0; j < V(MAP, n1); j++)
      for (uint64_t i = 0; i < V(MAP, n0); i++) {
        step++;
        read(w, step, V(MAP, a) + k * V(MAP, a2) + j * V(MAP, a1) + i * V(MAP, a0), n);
        if (has_b)
          read(w, step, V(MAP, b) + k * V(MAP, b2) + j * V(MAP, b1) + i * V(MAP, b0),
               V(MAP, splat) ? 1 : n);
        write(w, step, V(MAP, out) + k * V(MAP, y2) + j * V(MAP, y1) + i * V(MAP, y0), n);
      }
}

static bool is_norm(uint64_t fn) {
  return fn == WK_CHOICE_ROW_layernorm || fn == WK_CHOICE_ROW_rmsnorm;
}

static bool gives_rows(uint64_t fn) { return fn == WK_CHOICE_ROW_softmax || is_norm(fn); }

static void row(const walk *w) {
  uint64_t fn = V(ROW, fn), columns = (V(ROW, kc) - 1) * w->n + V(ROW, k_tail);
  for (uint64_t y = 0; y < V(ROW, ny); y++)
    for (uint64_t c = 0; c < V(ROW, kc); c++) {
      uint64_t length = c + 1 == V(ROW, kc) ? V(ROW, k_tail) : w->n;
      read(w, (uint32_t)y + 1, V(ROW, in) + y * V(ROW, in_y) + c * V(ROW, in_c), length);
      if (gives_rows(fn))
        write(w, (uint32_t)y + 1, V(ROW, out) + y * V(ROW, out_y) + c * V(ROW, out_c), length);
      else if (c == 0)
        write(w, (uint32_t)y + 1, V(ROW, out) + y * V(ROW, out_y), 1);
    }
  if (is_norm(fn)) /* its entries are read again for every row */
    read(w, UINT32_MAX, V(ROW, par), WK_RECORD_BYTES + WK_ENTRY_BYTES * columns);
}

static void trn(const walk *w) {
  uint32_t step = 0;
  for (uint64_t y = 0; y < V(TRN, ny); y++)
    for (uint64_t x = 0; x < V(TRN, nx); x++) {
      uint64_t in = V(TRN, in) + y * V(TRN, in_y) + x * V(TRN, in_x);
      uint64_t out = V(TRN, out) + y * V(TRN, out_y) + x * V(TRN, out_x);
      step++;
      for (uint64_t r = 0; r < V(TRN, rows); r++) read(w, step, in + r * V(TRN, in_r), V(TRN, n));
      for (uint64_t i = 0; i < V(TRN, n); i++)
        write(w, step, out + i * V(TRN, out_r), V(TRN, rows));
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

static bool is_replaced_in_place(const int64_t *v) {
  return v[WK_ROW_in] == v[WK_ROW_out] && v[WK_ROW_in_y] == v[WK_ROW_out_y] &&
         v[WK_ROW_in_c] == v[WK_ROW_out_c];
}

bool wk_overlaps_later(const wk_machine *m, const wk_isa_command *c) {
  static void (*const walks[32])(const walk *) = {
      [WK_CMD_MAP] = map, [WK_CMD_ROW] = row, [WK_CMD_TRN] = trn};
  if (!walks[c->opcode]) return false;
  boxes box = {{UINT64_MAX, UINT64_MAX}, {0, 0}};
  walk w = {c->v, (uint64_t)m->array, see, &box};
  walks[c->opcode](&w);
  if (box.end[0] <= box.from[1] || box.end[1] <= box.from[0]) return false;
  bytes b = {.last = wk_xcalloc((size_t)m->scratchpad, sizeof *b.last)};
  w.context = &b;
  w.visit = note_read;
  walks[c->opcode](&w);
  w.visit = look;
  walks[c->opcode](&w);
  free(b.last);
  bool own = c->opcode == WK_CMD_ROW && gives_rows((uint64_t)c->v[WK_ROW_fn]) &&
             !is_replaced_in_place(c->v);
  return b.meets_later || (own && b.meets_own);
}
