/* SPDX-License-Identifier: Apache-2.0
 * What a field names is a sum over axes; each byte is visited once, however often the command uses
 * it. Of windows, which input rows occur depends on (oy, ky) alone, which columns on (ox, kx).
 *
 * Fields are read here and nowhere else: what the models share (targets/accel/isa/parts.h) would be
 * wrong here as well. */
#include "targets/accel/check/footprint.h"

#include <stdlib.h>

#include "targets/accel/check/places.h"

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

/* ---- units ----------------------------------------------------------------------------------- */

/* Places are counted in units, the common divisor of all steps, which makes their sets small.
 * Runs that are longer than the divisor of the steps touch: then they are whole units as well. */
static uint64_t unit_of(uint64_t steps, uint64_t length) {
  if (!steps) return length;
  return length > steps ? wk_gcd(steps, length) : steps;
}

/* The runs of unit * p + {0 .. length - 1} from address `from` on. */
static void runs(const walk *w, wk_access access, const char *field, uint64_t from, wk_places *p,
                 uint64_t unit, uint64_t length) {
  int64_t at = 0, n;
  if (length >= unit) wk_places_repeat(p, 1, (int64_t)(length / unit));
  for (; wk_places_run(p, &at, &n); at += n) {
    uint64_t begin = from + (uint64_t)at * unit;
    if (length >= unit)
      run(w, WK_SPACE_SCRATCHPAD, access, field, begin, (uint64_t)n * unit);
    for (int64_t i = 0; i < n && length < unit; i++)
      run(w, WK_SPACE_SCRATCHPAD, access, field, begin + (uint64_t)i * unit, length);
  }
}

/* ---- boxes ----------------------------------------------------------------------------------- */

typedef struct {
  uint64_t n, step;
} side;

enum { MOST_SIDES = 3 };

/* Sides of one place go, short ones first, and those that touch are one run: how many are left. */
static int simplify(side *x, int n, uint64_t *length) {
  int left = 0;
  for (int i = 0; i < n; i++) {
    side now = x[i];
    int at = left;
    if (now.n < 2 || now.step == 0) continue;
    for (; at > 0 && x[at - 1].step > now.step; at--) x[at] = x[at - 1];
    x[at] = now;
    left++;
  }
  int gone = 0;
  for (; gone < left && x[gone].step <= *length; gone++) *length += (x[gone].n - 1) * x[gone].step;
  for (int i = gone; i < left; i++) x[i - gone] = x[i];
  return left - gone;
}

/* Runs of `length` bytes at all sums of so many steps of every side. */
static void box(const walk *w, wk_access access, const char *field, uint64_t from,
                const side *sides, int n, uint64_t length) {
  side x[MOST_SIDES];
  uint64_t end = 0, steps = 0;
  for (int i = 0; i < n; i++) x[i] = sides[i];
  n = simplify(x, n, &length);
  if (n < 2) {
    for (uint64_t i = 0; i < (n ? x[0].n : 1); i++)
      run(w, WK_SPACE_SCRATCHPAD, access, field, from + i * (n ? x[0].step : 0), length);
    return;
  }
  for (int i = 0; i < n; i++) steps = wk_gcd(steps, x[i].step);
  uint64_t unit = unit_of(steps, length);
  for (int i = 0; i < n; i++) end += (x[i].n - 1) * x[i].step / unit;
  wk_places p = wk_places_new(0, (int64_t)(end + length / unit));
  wk_places_add(&p, 0);
  for (int i = 0; i < n; i++) wk_places_repeat(&p, (int64_t)(x[i].step / unit), (int64_t)x[i].n);
  runs(w, access, field, from, &p, unit, length);
  wk_places_free(&p);
}

/* rows x columns runs of `length` bytes. */
static void grid(const walk *w, wk_access access, const char *field, uint64_t from, uint64_t rows,
                 uint64_t row_step, uint64_t columns, uint64_t step, uint64_t length) {
  const side sides[] = {{rows, row_step}, {columns, step}};
  if (rows && columns) box(w, access, field, from, sides, 2, length);
}

/* count x blocks runs of `bytes` bytes, of the last block `tail`. */
static void blocks_of(const walk *w, wk_access access, const char *field, uint64_t from,
                      uint64_t count, uint64_t step, uint64_t blocks, uint64_t block,
                      uint64_t bytes, uint64_t tail) {
  grid(w, access, field, from, count, step, blocks - 1, block, bytes);
  grid(w, access, field, from + (blocks - 1) * block, count, step, 1, 0, tail);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* One axis of a window. */
typedef struct {
  uint64_t outputs, taps, out_step, tap_step, stride, dilation, pad, size;
} axis;

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* The outputs for which tap k is no padding; false: none. */
static bool inside(const axis *a, uint64_t k, int64_t *first, int64_t *last) {
  int64_t at = (int64_t)(k * a->dilation) - (int64_t)a->pad, stride = (int64_t)a->stride;
  *first = 0;
  *last = (int64_t)a->outputs - 1;
  if (a->size) { /* 0 <= o * stride + at < size */
    int64_t low = -floor_div(at, stride), high = floor_div((int64_t)a->size - 1 - at, stride);
    if (low > *first) *first = low;
    if (high < *last) *last = high;
  }
  return *first <= *last;
}

/* The least and the largest offset; false: all is padding. */
static bool reach(const axis *a, int64_t *low, int64_t *high) {
  int64_t first, last;
  *low = INT64_MAX;
  *high = INT64_MIN;
  for (uint64_t k = 0; k < a->taps; k++) {
    if (!inside(a, k, &first, &last)) continue;
    int64_t tap = (int64_t)(k * a->tap_step), step = (int64_t)a->out_step;
    if (tap + first * step < *low) *low = tap + first * step;
    if (tap + last * step > *high) *high = tap + last * step;
  }
  return *low <= *high;
}

static uint64_t steps_of(const axis *a) {
  return wk_gcd(a->outputs > 1 ? a->out_step : 0, a->taps > 1 ? a->tap_step : 0);
}

/* p + the offsets of the axis in units, the least of which is `low` bytes, less that. */
static void add_axis(wk_places *p, const axis *a, int64_t low, int64_t unit) {
  wk_places all = wk_places_new(p->low, p->low + (int64_t)p->words * 64 - 1);
  int64_t first, last;
  for (uint64_t k = 0; k < a->taps; k++) {
    if (!inside(a, k, &first, &last)) continue;
    wk_places of_tap = wk_places_copy(p);
    int64_t at = (int64_t)(k * a->tap_step) + first * (int64_t)a->out_step - low;
    wk_places_repeat(&of_tap, (int64_t)a->out_step / unit, last - first + 1);
    wk_places_join(&all, &of_tap, at / unit);
    wk_places_free(&of_tap);
  }
  wk_places_free(p);
  *p = all;
}

/* `blocks` blocks of `length` bytes from every tap. */
static void window(const walk *w, int64_t in, const axis *y, const axis *x, uint64_t blocks,
                   uint64_t block, uint64_t length) {
  int64_t top, bottom, left, right;
  if (!blocks || !reach(y, &top, &bottom) || !reach(x, &left, &right)) return;
  uint64_t steps = wk_gcd(wk_gcd(steps_of(y), steps_of(x)), blocks > 1 ? block : 0);
  int64_t unit = (int64_t)unit_of(steps, length);
  int64_t span = (bottom - top + right - left + (int64_t)((blocks - 1) * block + length)) / unit;
  wk_places p = wk_places_new(0, span);
  wk_places_add(&p, 0);
  add_axis(&p, x, left, unit);
  add_axis(&p, y, top, unit);
  wk_places_repeat(&p, (int64_t)block / unit, (int64_t)blocks);
  runs(w, WK_ACCESS_READ, "in", (uint64_t)(in + top + left), &p, (uint64_t)unit, length);
  wk_places_free(&p);
}

#define ROWS(c, C)                                                                               \
  (axis) {                                                                                       \
    .outputs = WK_V(c, C, ny), .taps = WK_V(c, C, ky), .out_step = WK_V(c, C, in_y),             \
    .tap_step = WK_V(c, C, k_y), .stride = WK_V(c, C, sy), .dilation = WK_V(c, C, dy),           \
    .pad = WK_V(c, C, pad_t), .size = WK_V(c, C, h)                                              \
  }
#define COLUMNS(c, C)                                                                            \
  (axis) {                                                                                       \
    .outputs = WK_V(c, C, nx), .taps = WK_V(c, C, kx), .out_step = WK_V(c, C, in_x),             \
    .tap_step = WK_V(c, C, k_x), .stride = WK_V(c, C, sx), .dilation = WK_V(c, C, dx),           \
    .pad = WK_V(c, C, pad_l), .size = WK_V(c, C, w)                                              \
  }

/* ---- ex -------------------------------------------------------------------------------------- */

/* What becomes of sums: nx * ny pixels of n channels. */
typedef struct {
  uint64_t accumulate, drain, residual, ny, nx, n, acc, out, out_y, out_x, par, res;
} ending;
#define ENDING(c, C, columns, step)                                                              \
  (ending) {                                                                                     \
    .accumulate = WK_V(c, C, accumulate), .drain = WK_V(c, C, drain),                            \
    .residual = WK_V(c, C, residual), .ny = WK_V(c, C, ny), .nx = (columns),                     \
    .n = WK_V(c, C, n), .acc = WK_V(c, C, acc), .out = WK_V(c, C, out),                          \
    .out_y = WK_V(c, C, out_y), .out_x = (step), .par = WK_V(c, C, par), .res = WK_V(c, C, res)  \
  }

static void finish(const walk *w, const ending *e) {
  if (e->drain) reads(w, "par", e->par, WK_RECORD_BYTES + WK_ENTRY_BYTES * e->n);
  if (e->drain && e->residual)
    grid(w, WK_ACCESS_READ, "res", e->res, e->ny, e->out_y, e->nx, e->out_x, e->n);
  if (e->accumulate) run(w, WK_SPACE_ACCUMULATOR, WK_ACCESS_READ, "acc", e->acc, e->ny * e->nx);
  run(w, WK_SPACE_ACCUMULATOR, WK_ACCESS_WRITE, "acc", e->acc, e->ny * e->nx);
  if (e->drain) grid(w, WK_ACCESS_WRITE, "out", e->out, e->ny, e->out_y, e->nx, e->out_x, e->n);
}

static void conv(const walk *w) {
  const wk_isa_command *c = w->c;
  uint64_t n = (uint64_t)w->m->array, blocks = WK_V(c, CONV, kc);
  const axis y = ROWS(c, CONV), x = COLUMNS(c, CONV);
  const ending e = ENDING(c, CONV, WK_V(c, CONV, nx), WK_V(c, CONV, out_x));
  int64_t in = WK_SV(c, CONV, in), block = WK_SV(c, CONV, k_c);
  window(w, in, &y, &x, blocks - 1, (uint64_t)block, n);
  window(w, in + (int64_t)(blocks - 1) * block, &y, &x, 1, 0, WK_V(c, CONV, k_tail));
  grid(w, WK_ACCESS_READ, "wt", WK_V(c, CONV, wt), blocks * WK_V(c, CONV, ky) * WK_V(c, CONV, kx),
       n * n, 1, 0, WK_V(c, CONV, n) * n);
  finish(w, &e);
}

static void dwc(const walk *w) {
  const wk_isa_command *c = w->c;
  uint64_t n = (uint64_t)w->m->array, taps = WK_V(c, DWC, taps) == WK_CHOICE_TAPS_three ? 3 : 1;
  const axis y = ROWS(c, DWC), x = COLUMNS(c, DWC);
  const ending e = ENDING(c, DWC, WK_V(c, DWC, nx), WK_V(c, DWC, out_x));
  window(w, WK_SV(c, DWC, in), &y, &x, 1, 0, WK_V(c, DWC, n));
  reads(w, "wt", WK_V(c, DWC, wt),
        WK_V(c, DWC, ky) * wk_ceil_div(WK_V(c, DWC, kx), taps) * taps * n);
  finish(w, &e);
}

static void mm(const walk *w) {
  const wk_isa_command *c = w->c;
  uint64_t array = (uint64_t)w->m->array, blocks = WK_V(c, MM, kc), tail = WK_V(c, MM, k_tail);
  uint64_t wt = WK_V(c, MM, wt), line = WK_V(c, MM, w_r), tile = WK_V(c, MM, w_c);
  uint64_t n = WK_V(c, MM, n);
  const ending e = ENDING(c, MM, 1, 0);
  blocks_of(w, WK_ACCESS_READ, "in", WK_V(c, MM, in), WK_V(c, MM, ny), WK_V(c, MM, in_y), blocks,
            WK_V(c, MM, k_c), array, tail);
  if (WK_V(c, MM, transposed)) {
    grid(w, WK_ACCESS_READ, "wt", wt, blocks - 1, tile, array, line, n);
    grid(w, WK_ACCESS_READ, "wt", wt + (blocks - 1) * tile, tail, line, 1, 0, n);
  } else {
    blocks_of(w, WK_ACCESS_READ, "wt", wt, n, line, blocks, tile, array, tail);
  }
  finish(w, &e);
}

/* ---- ve -------------------------------------------------------------------------------------- */

static void tables(const walk *w, uint64_t from, const wk_isa_uses *uses) {
  if (uses->tables)
    run(w, WK_SPACE_TABLE, WK_ACCESS_READ, "table", from, (uint64_t)uses->tables);
}

#define SIDES(s)                                                                                 \
  (const side[]) {                                                                               \
    {n0, WK_V(c, MAP, s##0)}, {n1, WK_V(c, MAP, s##1)}, { n2, WK_V(c, MAP, s##2) }               \
  }

static void map(const walk *w) {
  const wk_isa_command *c = w->c;
  wk_isa_uses uses = wk_isa_uses_of(c);
  uint64_t n = WK_V(c, MAP, n), n0 = WK_V(c, MAP, n0), n1 = WK_V(c, MAP, n1);
  uint64_t n2 = WK_V(c, MAP, n2);
  tables(w, WK_V(c, MAP, table), &uses);
  if (uses.record) reads(w, "par", WK_V(c, MAP, par), WK_RECORD_BYTES);
  box(w, WK_ACCESS_READ, "a", WK_V(c, MAP, a), SIDES(a), 3, n);
  if (uses.second)
    box(w, WK_ACCESS_READ, "b", WK_V(c, MAP, b), SIDES(b), 3, WK_V(c, MAP, splat) ? 1 : n);
  box(w, WK_ACCESS_WRITE, "out", WK_V(c, MAP, out), SIDES(y), 3, n);
}

/* valid_mean: counts of taps are products of a row's and a column's count. seen[t]: an output has t
 * along the axis. */
enum { MOST_TAPS = 64 };

static void see_taps(const axis *a, bool *seen) {
  for (uint64_t o = 0; o < a->outputs; o++) {
    int n = 0;
    for (uint64_t k = 0; k < a->taps; k++) {
      int64_t at = (int64_t)(o * a->stride + k * a->dilation) - (int64_t)a->pad;
      n += !a->size || (at >= 0 && at < (int64_t)a->size);
    }
    seen[n] = true;
  }
}

static void valid_entries(const walk *w, const axis *y, const axis *x) {
  bool of_rows[MOST_TAPS] = {false}, of_columns[MOST_TAPS] = {false};
  bool seen[MOST_TAPS * MOST_TAPS] = {false};
  see_taps(y, of_rows);
  see_taps(x, of_columns);
  for (int i = 1; i < MOST_TAPS; i++)
    for (int k = 1; k < MOST_TAPS; k++)
      if (of_rows[i] && of_columns[k]) seen[i * k] = true;
  for (uint64_t t = 1; t < MOST_TAPS * MOST_TAPS; t++)
    if (seen[t])
      reads(w, "par", WK_V(w->c, POOL, par) + WK_RECORD_BYTES + WK_ENTRY_BYTES * (t - 1),
            WK_ENTRY_BYTES);
}

static void pool(const walk *w) {
  const wk_isa_command *c = w->c;
  wk_isa_uses uses = wk_isa_uses_of(c);
  const axis y = ROWS(c, POOL), x = COLUMNS(c, POOL);
  if (uses.record) reads(w, "par", WK_V(c, POOL, par), WK_RECORD_BYTES);
  if (uses.entries == WK_USES_ENTRY_0)
    reads(w, "par", WK_V(c, POOL, par) + WK_RECORD_BYTES, WK_ENTRY_BYTES);
  if (uses.entries == WK_USES_ENTRY_OF_TAPS) valid_entries(w, &y, &x);
  window(w, WK_SV(c, POOL, in), &y, &x, 1, 0, WK_V(c, POOL, n));
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
  blocks_of(w, access, field, from, WK_V(c, ROW, ny), row, WK_V(c, ROW, kc), block,
            (uint64_t)w->m->array, WK_V(c, ROW, k_tail));
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
  const side sides[] = {{WK_V(c, TRN, ny), line}, {WK_V(c, TRN, nx), tile}, {count, step}};
  box(w, access, field, from, sides, 3, length);
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

bool wk_drains(const wk_isa_command *c) {
  switch (c->opcode) {
    case WK_CMD_CONV: return WK_SV(c, CONV, drain);
    case WK_CMD_DWC: return WK_SV(c, DWC, drain);
    default: return WK_SV(c, MM, drain);
  }
}
