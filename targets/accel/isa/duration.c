/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/duration.h"

#include "targets/accel/isa/parts.h"

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* ---- ex -------------------------------------------------------------------------------------- */

/* The tiles of a command in their order. */
typedef struct {
  uint64_t kc, ky, kx, taps, ny, lines, last_lines; /* last_lines: of tiles of the last block */
  uint64_t row; /* words of a row; with three taps, without lead */
  uint64_t pad_l;                                   /* 0 where nothing is left out */
} work;

static work work_of_conv(const wk_isa_command *c) {
  return (work){.kc = WK_V(c, CONV, kc), .ky = WK_V(c, CONV, ky), .kx = WK_V(c, CONV, kx),
                .taps = 1, .ny = WK_V(c, CONV, ny), .lines = WK_V(c, CONV, n),
                .last_lines = WK_V(c, CONV, n), .row = WK_V(c, CONV, nx)};
}

static work work_of_dwc(const wk_isa_command *c) {
  bool three = WK_V(c, DWC, taps) == WK_CHOICE_TAPS_three;
  uint64_t taps = three ? 3 : 1;
  return (work){.kc = 1, .ky = WK_V(c, DWC, ky), .kx = WK_V(c, DWC, kx), .taps = taps,
                .ny = WK_V(c, DWC, ny), .lines = taps, .last_lines = taps,
                .row = three ? WK_V(c, DWC, sx) * (WK_V(c, DWC, nx) - 1) + 3 : WK_V(c, DWC, nx),
                .pad_l = three && WK_V(c, DWC, w) ? WK_V(c, DWC, pad_l) : 0};
}

static work work_of_mm(const wk_machine *m, const wk_isa_command *c) {
  bool transposed = WK_V(c, MM, transposed) != 0;
  return (work){.kc = WK_V(c, MM, kc), .ky = 1, .kx = 1, .taps = 1, .ny = WK_V(c, MM, ny),
                .lines = transposed ? (uint64_t)m->array : WK_V(c, MM, n),
                .last_lines = transposed ? WK_V(c, MM, k_tail) : WK_V(c, MM, n), .row = 1};
}

/* The end of the last word of a command: begin, then the longer of words and next weights. */
static uint64_t words_end(const work *w) {
  uint64_t begin = 0, words = 0;
  for (uint64_t k = 0; k < w->kc; k++)
    for (uint64_t ky = 0; ky < w->ky; ky++)
      for (uint64_t kx = 0; kx < w->kx; kx += w->taps) {
        uint64_t lines = k + 1 == w->kc ? w->last_lines : w->lines;
        uint64_t lead = w->pad_l > kx ? least(w->pad_l - kx, 2) : 0;
        begin += most(words, lines + WK_COST_ex_tile);
        words = w->ny * (w->row - lead);
      }
  return begin + words;
}

static uint64_t execute(const wk_machine *m, const wk_isa_command *c, const work *w) {
  const wk_epilogue e = wk_epilogue_of(c);
  uint64_t end = words_end(w) + WK_COST_ex_sum, n = (uint64_t)m->array;
  uint64_t pixels = (uint64_t)e.ny * (uint64_t)e.nx;
  if (!e.drain) return end + WK_COST_ex_retire;
  uint64_t entries = ceil_div(WK_ENTRY_BYTES * (uint64_t)e.n, n);
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
  uint64_t entries = ceil_div(WK_ENTRY_BYTES * WK_V(c, ROW, k_tail), (uint64_t)m->array);
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

/* ---- DMA ------------------------------------------------------------------------------------- */

/* Runs of a transfer, joined, cut into bursts; bytes[] says for every burst where it begins in its
 * first beat and how long it is. */
typedef struct {
  uint64_t address, rest, i[3], n[3], s[3], run;
  bool over;
} cutter;

static cutter cut(const wk_isa_command *c) {
  cutter x = {.address = WK_V(c, LD, dram),
              .run = WK_V(c, LD, n0),
              .n = {WK_V(c, LD, n1), WK_V(c, LD, n2), WK_V(c, LD, n3)},
              .s = {WK_V(c, LD, s1), WK_V(c, LD, s2), WK_V(c, LD, s3)}};
  for (int k = 0; k < 3 && (x.n[k] == 1 || x.s[k] == x.run); k++) {
    x.run *= x.n[k];
    x.n[k] = 1;
  }
  x.rest = x.run;
  return x;
}

static uint64_t cut_next(cutter *x, const wk_isa_command *c, uint64_t burst, uint64_t *address) {
  uint64_t room = burst - x->address % burst, bytes = least(room, x->rest);
  *address = x->address;
  x->address += bytes;
  x->rest -= bytes;
  if (x->rest) return bytes;
  int k = 0;
  while (k < 3 && ++x->i[k] == x->n[k]) x->i[k++] = 0;
  x->over = k == 3;
  x->address = WK_V(c, LD, dram) + x->i[0] * x->s[0] + x->i[1] * x->s[1] + x->i[2] * x->s[2];
  x->rest = x->run;
  return bytes;
}

/* Bytes of the next access to the scratchpad, when `at` bytes have moved. */
static uint64_t access(const wk_machine *m, const wk_isa_command *c, uint64_t at) {
  return least((uint64_t)m->array, WK_V(c, LD, c0) - at % WK_V(c, LD, c0));
}

/* When the requests of a channel are on the bus: one a cycle, and `bursts` at most without their
 * last beat (LD) or answer (ST). */
typedef struct {
  uint64_t last, free_at[64];
  uint32_t n;
} requests;

static uint64_t request(requests *r) {
  uint64_t *free_at = &r->free_at[r->n];
  r->last = r->last ? r->last + 1 : WK_COST_dma_request;
  return r->last = most(r->last, *free_at);
}

/* The newest burst is over; its place can be used by a request that is on the bus in `cycle`. */
static void complete(const wk_machine *m, requests *r, uint64_t cycle) {
  r->free_at[r->n] = cycle;
  r->n = (r->n + 1) % (uint32_t)m->bursts;
}

static uint64_t load(const wk_machine *m, const wk_isa_command *c) {
  requests r = {0};
  uint64_t num = (uint64_t)m->dram_bytes.num, cost = (uint64_t)(m->bus * m->dram_bytes.den);
  uint64_t bus = (uint64_t)m->bus, free_at = 0, taken = 0;
  uint64_t come = 0, moved = 0, write = 0, address;
  cutter x = cut(c);
  while (!x.over) {
    uint64_t bytes = cut_next(&x, c, (uint64_t)m->burst, &address), lane = address % bus;
    uint64_t start = most(free_at, (request(&r) + (uint64_t)m->dram_latency) * num) +
                     (uint64_t)m->dram_overhead * num;
    for (uint64_t j = 0; bytes; j++) {
      uint64_t used = least(bytes, bus - lane);
      taken = most(taken + 1, ceil_div(start + (j + 1) * cost, num));
      come += used;
      bytes -= used;
      lane = 0;
      free_at = start + (j + 1) * cost;
      for (uint64_t size; moved < come && moved + (size = access(m, c, moved)) <= come;
           moved += size)
        write = most(write + 1, taken + WK_COST_dma_write);
    }
    complete(m, &r, taken + WK_COST_dma_load_again);
  }
  return write + 1;
}

/* Beats that left the buffer of ST, and when; it holds at most 3 beats and N bytes. */
enum { BEATS = 16 };
typedef struct {
  uint64_t bytes[BEATS], cycle[BEATS];
  uint32_t n;
} sent_beats;

static void sent_add(sent_beats *s, uint64_t bytes, uint64_t cycle) {
  s->bytes[s->n % BEATS] = bytes;
  s->cycle[s->n++ % BEATS] = cycle;
}

/* When so many bytes had left. */
static uint64_t sent_when(const sent_beats *s, uint64_t bytes) {
  uint64_t cycle = 0;
  for (uint32_t i = s->n; bytes && i > 0 && i + BEATS > s->n; i--) {
    if (s->bytes[(i - 1) % BEATS] < bytes) break;
    cycle = s->cycle[(i - 1) % BEATS];
  }
  return cycle;
}

/* The next access to the scratchpad; *read is the cycle of the one before. */
static uint64_t read_next(const wk_machine *m, const wk_isa_command *c, const sent_beats *s,
                          uint64_t moved, uint64_t *read) {
  uint64_t room = (uint64_t)(3 * m->bus + m->array), after = moved + access(m, c, moved);
  *read = most(*read + 1, after > room ? sent_when(s, after - room) : 0);
  return after;
}

static uint64_t store(const wk_machine *m, const wk_isa_command *c) {
  requests r = {0};
  sent_beats sends = {0};
  uint64_t num = (uint64_t)m->dram_bytes.num, cost = (uint64_t)(m->bus * m->dram_bytes.den);
  uint64_t bus = (uint64_t)m->bus, free_at = 0, sent = 0;
  uint64_t read = WK_COST_dma_read - 1, moved = 0, left = 0, answer = 0, address;
  cutter x = cut(c);
  while (!x.over) {
    uint64_t bytes = cut_next(&x, c, (uint64_t)m->burst, &address), lane = address % bus, beats = 0;
    uint64_t asked = request(&r);
    for (; bytes; beats++) {
      uint64_t used = least(bytes, bus - lane);
      while (moved < left + used) moved = read_next(m, c, &sends, moved, &read);
      sent = most(most(sent + 1, read + WK_COST_dma_send), asked + 1);
      left += used;
      bytes -= used;
      lane = 0;
      sent_add(&sends, left, sent);
    }
    free_at = most(free_at, sent * num) + (uint64_t)m->dram_overhead * num + beats * cost;
    answer = ceil_div(free_at, num) + (uint64_t)m->dram_write_latency;
    complete(m, &r, answer + WK_COST_dma_store_again);
  }
  return answer + 1;
}

/* ---- all ------------------------------------------------------------------------------------- */

uint64_t wk_isa_duration(const wk_machine *m, const wk_isa_command *c) {
  uint64_t n = (uint64_t)m->array;
  work w;
  switch (c->opcode) {
    case WK_CMD_LD: return load(m, c);
    case WK_CMD_ST: return store(m, c);
    case WK_CMD_FILL:
      return WK_COST_fill + WK_V(c, FILL, c2) * WK_V(c, FILL, c1) * ceil_div(WK_V(c, FILL, c0), n);
    case WK_CMD_CONV: w = work_of_conv(c); return execute(m, c, &w);
    case WK_CMD_DWC: w = work_of_dwc(c); return execute(m, c, &w);
    case WK_CMD_MM: w = work_of_mm(m, c); return execute(m, c, &w);
    case WK_CMD_MARK: return WK_COST_mark;
    case WK_CMD_TRN:
      return WK_COST_ve_start +
             WK_V(c, TRN, ny) * WK_V(c, TRN, nx) * (WK_V(c, TRN, rows) + WK_V(c, TRN, n) + 1);
    case WK_CMD_TAB: return WK_COST_ve_start + WK_V(c, TAB, count) * WK_TABLE_BYTES / n;
    default: return vector(m, c);
  }
}
