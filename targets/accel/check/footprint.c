/* SPDX-License-Identifier: Apache-2.0
 * Window commands read rows x columns of the input: which input rows occur depends on (oy, ky)
 * alone, which columns on (ox, kx) alone. Both lists are made of offsets, sorted, and each input
 * byte is then visited once, however often the command uses it. */
#include "targets/accel/check/footprint.h"

#include <stdlib.h>

typedef struct {
  const wk_machine *m;
  const wk_isa_command *c;
  wk_run_fn *f;
  void *context;
} walk;

static void run(const walk *w, wk_space space, wk_access access, const char *field, uint64_t from,
                uint64_t length) {
  w->f(w->context, space, access, field, from, length);
}

static void reads(const walk *w, const char *field, uint64_t from, uint64_t length) {
  run(w, WK_SPACE_SCRATCHPAD, WK_ACCESS_READ, field, from, length);
}

/* rows x columns runs of `length` bytes; runs that touch are one. */
static void grid(const walk *w, wk_access access, const char *field, uint64_t from, uint64_t rows,
                 uint64_t row_step, uint64_t columns, uint64_t step, uint64_t length) {
  if (columns > 1 && step <= length) {
    length += (columns - 1) * step;
    columns = 1;
  }
  for (uint64_t y = 0; y < rows; y++)
    for (uint64_t x = 0; x < columns; x++)
      run(w, WK_SPACE_SCRATCHPAD, access, field, from + y * row_step + x * step, length);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* One axis of a window. */
typedef struct {
  uint64_t outputs, taps, out_step, tap_step, stride, dilation, pad, size;
} axis;

typedef struct {
  uint64_t from, length;
} interval;

typedef WK_VEC(interval) intervals;

static int by_from(const void *a, const void *b) {
  uint64_t x = ((const interval *)a)->from, y = ((const interval *)b)->from;
  return (x > y) - (x < y);
}

/* The offsets along an axis at which `length` bytes are read, in order and disjoint: what touches
 * or overlaps is merged, or (rows) only what is equal. */
static intervals offsets(const axis *a, uint64_t length, bool merge) {
  intervals v = {0};
  for (uint64_t o = 0; o < a->outputs; o++)
    for (uint64_t k = 0; k < a->taps; k++) {
      int64_t at = (int64_t)(o * a->stride + k * a->dilation) - (int64_t)a->pad;
      if (a->size && (at < 0 || at >= (int64_t)a->size)) continue;
      interval next = {o * a->out_step + k * a->tap_step, length};
      wk_vec_push(&v, next);
    }
  if (v.n) qsort(v.data, v.n, sizeof *v.data, by_from);
  size_t n = 0;
  for (size_t i = 0; i < v.n; i++) {
    interval *last = n ? &v.data[n - 1] : NULL, now = v.data[i];
    if (last && (merge ? now.from <= last->from + last->length : now.from == last->from)) {
      uint64_t end = now.from + now.length;
      if (end > last->from + last->length) last->length = end - last->from;
    } else {
      v.data[n++] = now;
    }
  }
  v.n = n;
  return v;
}

static void window(const walk *w, int64_t in, const axis *y, const axis *x, uint64_t block,
                   uint64_t length) {
  intervals rows = offsets(y, 1, false), columns = offsets(x, length, true);
  for (size_t r = 0; r < rows.n; r++)
    for (size_t i = 0; i < columns.n; i++)
      reads(w, "in", (uint64_t)(in + (int64_t)(block + rows.data[r].from + columns.data[i].from)),
            columns.data[i].length);
  wk_vec_free(&rows);
  wk_vec_free(&columns);
}

#define AXES(C)                                                                                  \
  const axis y = {WK_V(c, C, ny), WK_V(c, C, ky), WK_V(c, C, in_y), WK_V(c, C, k_y),             \
                  WK_V(c, C, sy), WK_V(c, C, dy), WK_V(c, C, pad_t), WK_V(c, C, h)},             \
             x = {WK_V(c, C, nx), WK_V(c, C, kx), WK_V(c, C, in_x), WK_V(c, C, k_x),             \
                  WK_V(c, C, sx), WK_V(c, C, dx), WK_V(c, C, pad_l), WK_V(c, C, w)}

/* ---- ex -------------------------------------------------------------------------------------- */

typedef struct {
  uint64_t rows, columns, acc, out, out_y, out_x, par, res, n;
  bool accumulate, drain, residual;
} epilogue;

#define EPILOGUE(C, rows, columns, column_step)                                                  \
  (epilogue) {                                                                                   \
    (rows), (columns), WK_V(c, C, acc), WK_V(c, C, out), WK_V(c, C, out_y), (column_step),       \
        WK_V(c, C, par), WK_V(c, C, res), WK_V(c, C, n), WK_V(c, C, accumulate) != 0,            \
        WK_V(c, C, drain) != 0, WK_V(c, C, residual) != 0                                        \
  }

static void finish(const walk *w, const epilogue *e) {
  uint64_t pixels = e->rows * e->columns;
  if (e->drain) reads(w, "par", e->par, WK_RECORD_BYTES + WK_ENTRY_BYTES * e->n);
  if (e->drain && e->residual)
    grid(w, WK_ACCESS_READ, "res", e->res, e->rows, e->out_y, e->columns, e->out_x, e->n);
  if (e->accumulate) run(w, WK_SPACE_ACCUMULATOR, WK_ACCESS_READ, "acc", e->acc, pixels);
  run(w, WK_SPACE_ACCUMULATOR, WK_ACCESS_WRITE, "acc", e->acc, pixels);
  if (e->drain)
    grid(w, WK_ACCESS_WRITE, "out", e->out, e->rows, e->out_y, e->columns, e->out_x, e->n);
}

static void conv(const walk *w) {
  const wk_isa_command *c = w->c;
  uint64_t n = (uint64_t)w->m->array, blocks = WK_V(c, CONV, kc);
  AXES(CONV);
  for (uint64_t k = 0; k < blocks; k++)
    window(w, WK_SV(c, CONV, in), &y, &x, k * WK_V(c, CONV, k_c),
           k + 1 == blocks ? WK_V(c, CONV, k_tail) : n);
  grid(w, WK_ACCESS_READ, "wt", WK_V(c, CONV, wt), blocks * WK_V(c, CONV, ky) * WK_V(c, CONV, kx),
       n * n, 1, 0, WK_V(c, CONV, n) * n);
  epilogue e = EPILOGUE(CONV, WK_V(c, CONV, ny), WK_V(c, CONV, nx), WK_V(c, CONV, out_x));
  finish(w, &e);
}

static void dwc(const walk *w) {
  const wk_isa_command *c = w->c;
  uint64_t n = (uint64_t)w->m->array, taps = WK_V(c, DWC, taps) == WK_CHOICE_TAPS_three ? 3 : 1;
  AXES(DWC);
  window(w, WK_SV(c, DWC, in), &y, &x, 0, WK_V(c, DWC, n));
  reads(w, "wt", WK_V(c, DWC, wt),
        WK_V(c, DWC, ky) * ((WK_V(c, DWC, kx) + taps - 1) / taps) * taps * n);
  epilogue e = EPILOGUE(DWC, WK_V(c, DWC, ny), WK_V(c, DWC, nx), WK_V(c, DWC, out_x));
  finish(w, &e);
}

static void mm(const walk *w) {
  const wk_isa_command *c = w->c;
  uint64_t n = (uint64_t)w->m->array, blocks = WK_V(c, MM, kc);
  for (uint64_t k = 0; k < blocks; k++) {
    uint64_t lanes = k + 1 == blocks ? WK_V(c, MM, k_tail) : n;
    grid(w, WK_ACCESS_READ, "in", WK_V(c, MM, in) + k * WK_V(c, MM, k_c), WK_V(c, MM, ny),
         WK_V(c, MM, in_y), 1, 0, lanes);
    grid(w, WK_ACCESS_READ, "wt", WK_V(c, MM, wt) + k * WK_V(c, MM, w_c),
         WK_V(c, MM, transposed) ? lanes : WK_V(c, MM, n), WK_V(c, MM, w_r), 1, 0,
         WK_V(c, MM, transposed) ? WK_V(c, MM, n) : lanes);
  }
  epilogue e = EPILOGUE(MM, WK_V(c, MM, ny), 1, 0);
  finish(w, &e);
}

/* ---- ve -------------------------------------------------------------------------------------- */

static void tables(const walk *w, uint64_t from, const wk_isa_uses *uses) {
  if (uses->tables)
    run(w, WK_SPACE_TABLE, WK_ACCESS_READ, "table", from, (uint64_t)uses->tables);
}

static void map(const walk *w) {
  const wk_isa_command *c = w->c;
  wk_isa_uses uses = wk_isa_uses_of(c);
  uint64_t n = WK_V(c, MAP, n), n0 = WK_V(c, MAP, n0), n1 = WK_V(c, MAP, n1);
  uint64_t n2 = WK_V(c, MAP, n2);
  tables(w, WK_V(c, MAP, table), &uses);
  if (uses.record) reads(w, "par", WK_V(c, MAP, par), WK_RECORD_BYTES);
  for (uint64_t i = 0; i < n2; i++) {
    grid(w, WK_ACCESS_READ, "a", WK_V(c, MAP, a) + i * WK_V(c, MAP, a2), n1, WK_V(c, MAP, a1), n0,
         WK_V(c, MAP, a0), n);
    if (uses.second)
      grid(w, WK_ACCESS_READ, "b", WK_V(c, MAP, b) + i * WK_V(c, MAP, b2), n1, WK_V(c, MAP, b1), n0,
           WK_V(c, MAP, b0), WK_V(c, MAP, splat) ? 1 : n);
  }
  for (uint64_t i = 0; i < n2; i++)
    grid(w, WK_ACCESS_WRITE, "out", WK_V(c, MAP, out) + i * WK_V(c, MAP, y2), n1, WK_V(c, MAP, y1),
         n0, WK_V(c, MAP, y0), n);
}

/* valid_mean: counts of taps are products of a row's and a column's count. */
static uint64_t valid_taps(const axis *a, uint64_t output) {
  uint64_t n = 0;
  for (uint64_t k = 0; k < a->taps; k++) {
    int64_t at = (int64_t)(output * a->stride + k * a->dilation) - (int64_t)a->pad;
    n += !a->size || (at >= 0 && at < (int64_t)a->size);
  }
  return n;
}

static void valid_entries(const walk *w, const axis *y, const axis *x) {
  const wk_isa_command *c = w->c;
  bool seen[64 * 64] = {false};
  for (uint64_t oy = 0; oy < y->outputs; oy++)
    for (uint64_t ox = 0; ox < x->outputs; ox++) {
      uint64_t taps = valid_taps(y, oy) * valid_taps(x, ox);
      if (!taps || seen[taps]) continue;
      seen[taps] = true;
      reads(w, "par", WK_V(c, POOL, par) + WK_RECORD_BYTES + WK_ENTRY_BYTES * (taps - 1),
            WK_ENTRY_BYTES);
    }
}

static void pool(const walk *w) {
  const wk_isa_command *c = w->c;
  wk_isa_uses uses = wk_isa_uses_of(c);
  AXES(POOL);
  if (uses.record) reads(w, "par", WK_V(c, POOL, par), WK_RECORD_BYTES);
  if (uses.entries == WK_USES_ENTRY_0)
    reads(w, "par", WK_V(c, POOL, par) + WK_RECORD_BYTES, WK_ENTRY_BYTES);
  if (uses.entries == WK_USES_ENTRY_OF_TAPS) valid_entries(w, &y, &x);
  window(w, WK_SV(c, POOL, in), &y, &x, 0, WK_V(c, POOL, n));
  grid(w, WK_ACCESS_WRITE, "out", WK_V(c, POOL, out), WK_V(c, POOL, ny), WK_V(c, POOL, out_y),
       WK_V(c, POOL, nx), WK_V(c, POOL, out_x), WK_V(c, POOL, n));
}

static uint64_t row_entries(const walk *w, const wk_isa_uses *uses) {
  const wk_isa_command *c = w->c;
  if (uses->entries != WK_USES_ENTRY_OF_COLUMN) return 1;
  return (WK_V(c, ROW, kc) - 1) * (uint64_t)w->m->array + WK_V(c, ROW, k_tail);
}

static void rows(const walk *w, wk_access access, const char *field, uint64_t from, uint64_t row,
                 uint64_t block) {
  const wk_isa_command *c = w->c;
  uint64_t n = (uint64_t)w->m->array, blocks = WK_V(c, ROW, kc);
  for (uint64_t k = 0; k < blocks; k++)
    grid(w, access, field, from + k * block, WK_V(c, ROW, ny), row, 1, 0,
         k + 1 == blocks ? WK_V(c, ROW, k_tail) : n);
}

static void row(const walk *w) {
  const wk_isa_command *c = w->c;
  wk_isa_uses uses = wk_isa_uses_of(c);
  tables(w, WK_V(c, ROW, table), &uses);
  if (uses.record)
    reads(w, "par", WK_V(c, ROW, par), WK_RECORD_BYTES + WK_ENTRY_BYTES * row_entries(w, &uses));
  rows(w, WK_ACCESS_READ, "in", WK_V(c, ROW, in), WK_V(c, ROW, in_y), WK_V(c, ROW, in_c));
  if (uses.reduces)
    grid(w, WK_ACCESS_WRITE, "out", WK_V(c, ROW, out), WK_V(c, ROW, ny), WK_V(c, ROW, out_y), 1, 0,
         1);
  else
    rows(w, WK_ACCESS_WRITE, "out", WK_V(c, ROW, out), WK_V(c, ROW, out_y), WK_V(c, ROW, out_c));
}

static void trn_tiles(const walk *w, wk_access access, const char *field, uint64_t from,
                      uint64_t line, uint64_t tile, uint64_t step, uint64_t count,
                      uint64_t length) {
  const wk_isa_command *c = w->c;
  for (uint64_t y = 0; y < WK_V(c, TRN, ny); y++)
    for (uint64_t x = 0; x < WK_V(c, TRN, nx); x++)
      grid(w, access, field, from + y * line + x * tile, 1, 0, count, step, length);
}

static void trn(const walk *w) {
  const wk_isa_command *c = w->c;
  trn_tiles(w, WK_ACCESS_READ, "in", WK_V(c, TRN, in), WK_V(c, TRN, in_y), WK_V(c, TRN, in_x),
            WK_V(c, TRN, in_r), WK_V(c, TRN, rows), WK_V(c, TRN, n));
  trn_tiles(w, WK_ACCESS_WRITE, "out", WK_V(c, TRN, out), WK_V(c, TRN, out_y), WK_V(c, TRN, out_x),
            WK_V(c, TRN, out_r), WK_V(c, TRN, n), WK_V(c, TRN, rows));
}

static void tab(const walk *w) {
  const wk_isa_command *c = w->c;
  reads(w, "in", WK_V(c, TAB, in), WK_V(c, TAB, count) * WK_TABLE_BYTES);
  run(w, WK_SPACE_TABLE, WK_ACCESS_WRITE, "table", WK_V(c, TAB, table), WK_V(c, TAB, count));
}

/* ---- DMA ------------------------------------------------------------------------------------- */

static void in_memory(const walk *w, wk_access access) {
  const wk_isa_command *c = w->c;
  uint64_t n0 = WK_V(c, LD, n0), n1 = WK_V(c, LD, n1);
  if (n1 > 1 && WK_V(c, LD, s1) == n0) {
    n0 *= n1;
    n1 = 1;
  }
  for (uint64_t i3 = 0; i3 < WK_V(c, LD, n3); i3++)
    for (uint64_t i2 = 0; i2 < WK_V(c, LD, n2); i2++)
      for (uint64_t i1 = 0; i1 < n1; i1++)
        run(w, WK_SPACE_MEMORY, access, "dram",
            WK_V(c, LD, dram) + i3 * WK_V(c, LD, s3) + i2 * WK_V(c, LD, s2) + i1 * WK_V(c, LD, s1),
            n0);
}

static void in_scratchpad(const walk *w, wk_access access) {
  const wk_isa_command *c = w->c;
  uint64_t total = WK_V(c, LD, n0) * WK_V(c, LD, n1) * WK_V(c, LD, n2) * WK_V(c, LD, n3);
  uint64_t chunks = total / WK_V(c, LD, c0), c1 = WK_V(c, LD, c1);
  uint64_t lines = chunks / c1, rest = chunks % c1;
  grid(w, access, "spm", WK_V(c, LD, spm), lines, WK_V(c, LD, p2), c1, WK_V(c, LD, p1),
       WK_V(c, LD, c0));
  if (rest)
    grid(w, access, "spm", WK_V(c, LD, spm) + lines * WK_V(c, LD, p2), 1, 0, rest, WK_V(c, LD, p1),
         WK_V(c, LD, c0));
}

static void ld(const walk *w) {
  in_memory(w, WK_ACCESS_READ);
  in_scratchpad(w, WK_ACCESS_WRITE);
}

static void st(const walk *w) { /* the fields lie as those of LD */
  in_scratchpad(w, WK_ACCESS_READ);
  in_memory(w, WK_ACCESS_WRITE);
}

static void fill(const walk *w) {
  const wk_isa_command *c = w->c;
  grid(w, WK_ACCESS_WRITE, "spm", WK_V(c, FILL, spm), WK_V(c, FILL, c2), WK_V(c, FILL, p2),
       WK_V(c, FILL, c1), WK_V(c, FILL, p1), WK_V(c, FILL, c0));
}

void wk_footprint(const wk_machine *m, const wk_isa_command *c, wk_run_fn *f, void *context) {
  static void (*const walks[32])(const walk *) = {
      [WK_CMD_LD] = ld,   [WK_CMD_ST] = st,     [WK_CMD_FILL] = fill, [WK_CMD_CONV] = conv,
      [WK_CMD_DWC] = dwc, [WK_CMD_MM] = mm,     [WK_CMD_MAP] = map,   [WK_CMD_POOL] = pool,
      [WK_CMD_ROW] = row, [WK_CMD_TRN] = trn,   [WK_CMD_TAB] = tab};
  const walk w = {m, c, f, context};
  if (walks[c->opcode]) walks[c->opcode](&w);
}
