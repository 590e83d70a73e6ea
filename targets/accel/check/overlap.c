/* SPDX-License-Identifier: Apache-2.0
 * A byte is written in step s of a command and read in step t: both addresses are sums over the
 * command's axes, so the set of all their differences is, too. */
#include "targets/accel/check/overlap.h"

#include "targets/accel/check/places.h"

typedef struct {
  int64_t n, write, read; /* how often, and the steps */
} axis;

/* How the place of the read along an axis lies to that of the write. */
typedef enum { LATER, SAME, ANY } relation;

enum { MOST_AXES = 5 };

typedef struct {
  axis axes[MOST_AXES];
  relation how[MOST_AXES];
  int n;
  int64_t gap;             /* address of the first write minus that of the first read */
  int64_t written, wanted; /* bytes of a write, of a read */
} question;

/* The differences k * write - l * read for all k < l < n. */
static void add_later(wk_places *p, const axis *x) {
  bool is_one_row = x->write == x->read || x->write == 0;
  for (int64_t e = 1; e < (x->read ? x->n : 2); e++)
    for (int64_t k = 0; k < (is_one_row ? 1 : x->n - e); k++)
      wk_places_add(p, k * (x->write - x->read) - e * x->read);
}

static void add_axis(wk_places *p, const axis *x, relation how) {
  if (how == SAME) wk_places_repeat(p, x->write - x->read, x->n);
  if (how != ANY) return;
  wk_places_repeat(p, x->write, x->n);
  wk_places_repeat(p, -x->read, x->n);
}

/* Is any byte read at a place that lies so to the one where it is written? */
static bool do_meet(const question *q) {
  int64_t low = 0, high = 0, from = 1 - q->gap - q->written, to = q->wanted - 1 - q->gap;
  const axis *later = NULL;
  for (int i = 0; i < q->n; i++) {
    low -= (q->axes[i].n - 1) * q->axes[i].read;
    high += (q->axes[i].n - 1) * q->axes[i].write;
    if (q->how[i] == LATER) later = &q->axes[i];
  }
  if (to < low || from > high || (later && later->n == 1)) return false;
  wk_places p = wk_places_new(low, high);
  if (later) add_later(&p, later);
  else wk_places_add(&p, 0);
  for (int i = 0; i < q->n; i++) add_axis(&p, &q->axes[i], q->how[i]);
  bool any = wk_places_has_any(&p, from, to);
  wk_places_free(&p);
  return any;
}

/* Is a byte read in a later step than it is written? The first `steps` axes count the steps, the
 * outermost first. */
static bool is_read_later(question *q, int steps) {
  for (int at = 0; at < steps; at++) {
    for (int i = 0; i < q->n; i++) q->how[i] = i < at ? SAME : i == at ? LATER : ANY;
    if (do_meet(q)) return true;
  }
  return false;
}

static bool map(const wk_isa_command *c, int64_t array) {
  int64_t n = WK_SV(c, MAP, n), n0 = WK_SV(c, MAP, n0), n1 = WK_SV(c, MAP, n1);
  int64_t n2 = WK_SV(c, MAP, n2), y0 = WK_SV(c, MAP, y0), y1 = WK_SV(c, MAP, y1);
  int64_t y2 = WK_SV(c, MAP, y2), out = WK_SV(c, MAP, out);
  (void)array;
  question a = {.axes = {{n2, y2, WK_SV(c, MAP, a2)}, {n1, y1, WK_SV(c, MAP, a1)},
                         {n0, y0, WK_SV(c, MAP, a0)}},
                .n = 3, .gap = out - WK_SV(c, MAP, a), .written = n, .wanted = n};
  question b = {.axes = {{n2, y2, WK_SV(c, MAP, b2)}, {n1, y1, WK_SV(c, MAP, b1)},
                         {n0, y0, WK_SV(c, MAP, b0)}},
                .n = 3, .gap = out - WK_SV(c, MAP, b), .written = n,
                .wanted = WK_SV(c, MAP, splat) ? 1 : n};
  return is_read_later(&a, 3) || (wk_isa_uses_of(c).second && is_read_later(&b, 3));
}

static bool trn(const wk_isa_command *c, int64_t array) {
  int64_t n = WK_SV(c, TRN, n), rows = WK_SV(c, TRN, rows);
  (void)array;
  question q = {.axes = {{WK_SV(c, TRN, ny), WK_SV(c, TRN, out_y), WK_SV(c, TRN, in_y)},
                         {WK_SV(c, TRN, nx), WK_SV(c, TRN, out_x), WK_SV(c, TRN, in_x)},
                         {n, WK_SV(c, TRN, out_r), 0}, {rows, 0, WK_SV(c, TRN, in_r)}},
                .n = 4, .gap = WK_SV(c, TRN, out) - WK_SV(c, TRN, in), .written = rows,
                .wanted = n};
  return is_read_later(&q, 2);
}

/* ---- ROW ------------------------------------------------------------------------------------- */

/* Blocks of a row that are of the same length. */
typedef struct {
  int64_t from, n, step, bytes;
} blocks;

/* All but the last, and the last; how many of these parts there are. */
static int parts(int64_t count, int64_t step, int64_t bytes, int64_t tail, blocks out[2]) {
  out[0] = (blocks){0, count - 1, step, bytes};
  out[count > 1] = (blocks){(count - 1) * step, 1, step, tail};
  return count > 1 ? 2 : 1;
}

/* Every element by its own result: blocks of N bytes must not share any. */
static bool is_replaced_in_place(const wk_isa_command *c, int64_t array) {
  return WK_V(c, ROW, in) == WK_V(c, ROW, out) && WK_V(c, ROW, in_y) == WK_V(c, ROW, out_y) &&
         WK_V(c, ROW, in_c) == WK_V(c, ROW, out_c) &&
         (WK_V(c, ROW, kc) == 1 || WK_SV(c, ROW, in_c) >= array);
}

static bool is_in_record(const wk_isa_command *c, int64_t array, const blocks *y) {
  wk_isa_uses uses = wk_isa_uses_of(c);
  int64_t entries = uses.entries == WK_USES_ENTRY_OF_COLUMN
                        ? (WK_SV(c, ROW, kc) - 1) * array + WK_SV(c, ROW, k_tail)
                        : 1;
  question q = {.axes = {{WK_SV(c, ROW, ny), WK_SV(c, ROW, out_y), 0}, {y->n, y->step, 0}},
                .how = {ANY, ANY}, .n = 2,
                .gap = WK_SV(c, ROW, out) + y->from - WK_SV(c, ROW, par), .written = y->bytes,
                .wanted = WK_RECORD_BYTES + WK_ENTRY_BYTES * entries};
  return uses.record && do_meet(&q); /* it may be read for every row */
}

static bool row(const wk_isa_command *c, int64_t array) {
  int64_t kc = WK_SV(c, ROW, kc), tail = WK_SV(c, ROW, k_tail);
  bool reduces = wk_isa_uses_of(c).reduces;
  blocks x[2], y[2] = {{0, 1, 0, 1}};
  int n_x = parts(kc, WK_SV(c, ROW, in_c), array, tail, x);
  int n_y = reduces ? 1 : parts(kc, WK_SV(c, ROW, out_c), array, tail, y);
  bool own = !reduces && !is_replaced_in_place(c, array);
  for (int i = 0; i < n_y; i++) {
    if (is_in_record(c, array, &y[i])) return true;
    for (int k = 0; k < n_x; k++) {
      question q = {.axes = {{WK_SV(c, ROW, ny), WK_SV(c, ROW, out_y), WK_SV(c, ROW, in_y)},
                             {y[i].n, y[i].step, 0}, {x[k].n, 0, x[k].step}},
                    .how = {SAME, ANY, ANY}, .n = 3,
                    .gap = WK_SV(c, ROW, out) + y[i].from - WK_SV(c, ROW, in) - x[k].from,
                    .written = y[i].bytes, .wanted = x[k].bytes};
      if ((own && do_meet(&q)) || is_read_later(&q, 1)) return true;
    }
  }
  return false;
}

bool wk_overlaps_later(const wk_machine *m, const wk_isa_command *c) {
  switch (c->opcode) {
    case WK_CMD_MAP: return map(c, m->array);
    case WK_CMD_ROW: return row(c, m->array);
    case WK_CMD_TRN: return trn(c, m->array);
    default: return false;
  }
}
