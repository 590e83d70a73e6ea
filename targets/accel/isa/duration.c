/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/duration.h"

#include "targets/accel/isa/internal.h"
#include "targets/accel/isa/parts.h"

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* ---- ex -------------------------------------------------------------------------------------- */

/* The tiles of a command: `blocks` times a kernel of ky rows of passes. */
typedef struct {
  uint64_t blocks, ky, passes; /* passes of a kernel row */
  uint64_t lines, last_lines;  /* of weights; last_lines: of tiles of the last block */
  uint64_t ny, row;            /* words of a row; with three taps, without lead */
  uint64_t pad_l;              /* 0 where nothing is left out */
} work;

static work work_of_conv(const wk_isa_command *c) {
  return (work){.blocks = WK_V(c, CONV, kc), .ky = WK_V(c, CONV, ky), .passes = WK_V(c, CONV, kx),
                .lines = WK_V(c, CONV, n), .last_lines = WK_V(c, CONV, n),
                .ny = WK_V(c, CONV, ny), .row = WK_V(c, CONV, nx)};
}

enum { TAPS = 3 };

static work work_of_dwc(const wk_isa_command *c) {
  bool three = WK_V(c, DWC, taps) == WK_CHOICE_TAPS_three;
  uint64_t taps = three ? TAPS : 1;
  return (work){.blocks = 1, .ky = WK_V(c, DWC, ky), .passes = wk_ceil_div(WK_V(c, DWC, kx), taps),
                .lines = taps, .last_lines = taps, .ny = WK_V(c, DWC, ny),
                .row = three ? WK_V(c, DWC, sx) * (WK_V(c, DWC, nx) - 1) + 3 : WK_V(c, DWC, nx),
                .pad_l = three && WK_V(c, DWC, w) ? WK_V(c, DWC, pad_l) : 0};
}

static work work_of_mm(const wk_machine *m, const wk_isa_command *c) {
  bool transposed = WK_V(c, MM, transposed) != 0;
  return (work){.blocks = WK_V(c, MM, kc), .ky = 1, .passes = 1,
                .lines = transposed ? (uint64_t)m->array : WK_V(c, MM, n),
                .last_lines = transposed ? WK_V(c, MM, k_tail) : WK_V(c, MM, n),
                .ny = WK_V(c, MM, ny), .row = 1};
}

/* Words of pass i of a kernel row: of DWC, up to two words of padding are left out. */
static uint64_t words_of_pass(const work *w, uint64_t i) {
  uint64_t lead = w->pad_l > TAPS * i ? w->pad_l - TAPS * i : 0;
  return w->ny * (w->row - (lead < 2 ? lead : 2));
}

/* All tiles but the last are followed by the longer of their words and the lines of the next; those
 * of a kernel row are alike but for the words left out: two in the first passes, one in the next at
 * most, none in the others. */
static wk_isa_tiles tiles_of(const work *w) {
  uint64_t whole = w->pad_l > 1 ? (w->pad_l - 2) / TAPS + 1 : 0;
  if (whole > w->passes) whole = w->passes;
  uint64_t some = whole < w->passes && w->pad_l > TAPS * whole;
  uint64_t none = w->passes - whole - some, last = words_of_pass(w, w->passes - 1);
  uint64_t lines = w->lines + WK_COST_ex_tile, last_lines = w->last_lines + WK_COST_ex_tile;
  const uint64_t of_row[][2] = {{whole, words_of_pass(w, 0)}, {some, words_of_pass(w, whole)},
                                {none, words_of_pass(w, whole + some)}};
  uint64_t all = 0, of_last = 0; /* tiles of a block, each before one of `lines`, `last_lines` */
  uint64_t words = 0;
  for (size_t i = 0; i < WK_COUNTOF(of_row); i++) {
    all += w->ky * of_row[i][0] * most(of_row[i][1], lines);
    of_last += w->ky * of_row[i][0] * most(of_row[i][1], last_lines);
    words += w->blocks * w->ky * of_row[i][0] * of_row[i][1];
  }
  of_last += last - most(last, last_lines); /* nothing follows the last tile */
  wk_isa_tiles t = {.tiles = (int64_t)(w->blocks * w->ky * w->passes), .words = (int64_t)words,
                    .first = (int64_t)(w->blocks == 1 ? last_lines : lines),
                    .last = (int64_t)last_lines, .span = (int64_t)of_last,
                    .last_words = (int64_t)last};
  uint64_t before = words_of_pass(w, w->passes > 1 ? w->passes - 2 : 0);
  if (t.tiles > 1) t.last_step = (int64_t)most(before, last_lines);
  if (w->blocks > 1)
    t.span += (int64_t)((w->blocks - 1) * all - most(last, lines) + most(last, last_lines));
  return t;
}

static work work_of(const wk_machine *m, const wk_isa_command *c) {
  if (c->opcode == WK_CMD_CONV) return work_of_conv(c);
  return c->opcode == WK_CMD_DWC ? work_of_dwc(c) : work_of_mm(m, c);
}

wk_isa_tiles wk_isa_tiles_of(const wk_machine *m, const wk_isa_command *c) {
  work w = work_of(m, c);
  return tiles_of(&w);
}

/* Weights of the next command are fetched once the last tile of this one has begun. */
wk_isa_bound wk_isa_bound_of(const wk_machine *m, const wk_isa_command *c, int64_t *words) {
  if (c->opcode != WK_CMD_CONV && c->opcode != WK_CMD_DWC && c->opcode != WK_CMD_MM)
    return (wk_isa_bound){0};
  const wk_epilogue e = wk_epilogue_of(c);
  const wk_isa_tiles t = wk_isa_tiles_of(m, c);
  int64_t pixels = (int64_t)e.ny * e.nx, behind = t.first > *words ? t.first - *words : 0;
  *words = t.last_words;
  return (wk_isa_bound){t.span + behind, e.drain ? pixels * (e.residual ? 2 : 1) : 0};
}

static uint64_t execute(const wk_machine *m, const wk_isa_command *c) {
  const wk_epilogue e = wk_epilogue_of(c);
  const wk_isa_tiles t = wk_isa_tiles_of(m, c);
  uint64_t end = (uint64_t)(t.first + t.span) + WK_COST_ex_sum, n = (uint64_t)m->array;
  uint64_t pixels = (uint64_t)e.ny * (uint64_t)e.nx;
  if (!e.drain) return end + WK_COST_ex_retire;
  uint64_t entries = wk_ceil_div(WK_ENTRY_BYTES * (uint64_t)e.n, n);
  uint64_t record = WK_COST_ex_record + WK_RECORD_BYTES / n + entries;
  uint64_t extra = e.residual && pixels > WK_COST_ex_residual ? pixels - WK_COST_ex_residual : 0;
  return most(end, record) + pixels + WK_COST_ex_drain + extra;
}

/* ---- ve -------------------------------------------------------------------------------------- */

typedef struct {
  uint64_t slots, results;
  bool is_norm;
} slots;

static slots slots_of_map(const wk_isa_command *c, uint64_t record) {
  uint64_t n0 = WK_V(c, MAP, n0), lines = WK_V(c, MAP, n1) * WK_V(c, MAP, n2);
  uint64_t b = !wk_isa_uses_of(c).second ? 0 : WK_V(c, MAP, b0) ? n0 : 1;
  return (slots){record + lines * (2 * n0 + b), lines * n0, false};
}

static slots slots_of_pool(const wk_isa_command *c, uint64_t record) {
  uint64_t pixels = WK_V(c, POOL, ny) * WK_V(c, POOL, nx);
  uint64_t taps = WK_V(c, POOL, ky) * WK_V(c, POOL, kx);
  bool by_taps = wk_isa_uses_of(c).entries == WK_USES_ENTRY_OF_TAPS;
  return (slots){record + pixels * (taps + 1 + by_taps), pixels, false};
}

static slots slots_of_norm(const wk_machine *m, const wk_isa_command *c, uint64_t record) {
  uint64_t ny = WK_V(c, ROW, ny), kc = WK_V(c, ROW, kc), root = WK_COST_ve_root;
  uint64_t entries = wk_ceil_div(WK_ENTRY_BYTES * WK_V(c, ROW, k_tail), (uint64_t)m->array);
  uint64_t g = 9 * (kc - 1) + 1 + entries; /* the words of a row and their entries */
  return (slots){record + ny * (2 * kc + g) + root + (ny - 1) * (root > g + 1 ? root - g : 1),
                 ny * kc, true};
}

static slots slots_of_row(const wk_machine *m, const wk_isa_command *c, uint64_t record) {
  uint64_t ny = WK_V(c, ROW, ny), kc = WK_V(c, ROW, kc);
  uint64_t f = kc + (uint64_t)__builtin_ctzll((uint64_t)m->array);
  switch (WK_V(c, ROW, fn)) {
    case WK_CHOICE_ROW_layernorm:
    case WK_CHOICE_ROW_rmsnorm: return slots_of_norm(m, c, record);
    case WK_CHOICE_ROW_max:
    case WK_CHOICE_ROW_mean: return (slots){record + ny * (f + 1), ny, false};
    default:
      return (slots){record + (f + 2) + ny * (f + 1 + 2 * kc) +
                         (ny - 1) * most(WK_COST_ve_divide, f + 2) + WK_COST_ve_divide,
                     ny * kc, false};
  }
}

/* Slots before the first of the function itself: the record, and entry 0 of it. */
static uint64_t record_slots(const wk_machine *m, const wk_isa_command *c) {
  wk_isa_uses uses = wk_isa_uses_of(c);
  uint64_t words = most(1, WK_RECORD_BYTES / (uint64_t)m->array);
  return (uses.record ? words : 0) + (uses.entries == WK_USES_ENTRY_0);
}

static uint64_t vector(const wk_machine *m, const wk_isa_command *c) {
  uint64_t record = record_slots(m, c);
  slots s = c->opcode == WK_CMD_MAP    ? slots_of_map(c, record)
            : c->opcode == WK_CMD_POOL ? slots_of_pool(c, record)
                                       : slots_of_row(m, c, record);
  uint64_t rest = WK_COST_ve_latency > s.results ? WK_COST_ve_latency - s.results : 0;
  if (s.is_norm) rest += WK_COST_ve_norm_latency - WK_COST_ve_latency;
  return WK_COST_ve_start + s.slots + rest;
}

/* ---- all ------------------------------------------------------------------------------------- */

uint64_t wk_isa_duration(const wk_machine *m, const wk_isa_command *c) {
  uint64_t n = (uint64_t)m->array;
  switch (c->opcode) {
    case WK_CMD_LD: return wk_isa_duration_load(m, c);
    case WK_CMD_ST: return wk_isa_duration_store(m, c);
    case WK_CMD_FILL:
      return WK_COST_fill +
             WK_V(c, FILL, c2) * WK_V(c, FILL, c1) * wk_ceil_div(WK_V(c, FILL, c0), n);
    case WK_CMD_CONV:
    case WK_CMD_DWC:
    case WK_CMD_MM: return execute(m, c);
    case WK_CMD_MARK: return WK_COST_mark;
    case WK_CMD_TRN:
      return WK_COST_ve_start +
             WK_V(c, TRN, ny) * WK_V(c, TRN, nx) * (WK_V(c, TRN, rows) + WK_V(c, TRN, n) + 1);
    case WK_CMD_TAB: return WK_COST_ve_start + WK_V(c, TAB, count) * WK_TABLE_BYTES / n;
    default: return vector(m, c);
  }
}
