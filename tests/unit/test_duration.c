/* SPDX-License-Identifier: Apache-2.0
 * wk_isa_duration against its definition (docs/isa.md, Durations), which goes from beat to beat,
 * access to access and tile to tile; on machines and commands of any kind. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/stream.h"

enum { TRANSFERS = 60000, PRODUCTS = 100000 };

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t draw(wk_rng *r, int64_t low, int64_t high) { return wk_rng_range(r, low, high); }
static bool by_chance(wk_rng *r) { return draw(r, 0, 1); }

/* ---- the definition: transfers --------------------------------------------------------------- */

/* A run after the other, burst after burst. */
typedef struct {
  const wk_machine *m;
  const int64_t *v; /* fields of LD or ST */
  int64_t address, rest, i[3], n[3], run;
  bool over;
  int64_t asked, free_at[64], count; /* requests */
  int64_t moved;                     /* bytes to or from the scratchpad */
} transfer;

static transfer transfer_of(const wk_machine *m, const wk_isa_command *c) {
  transfer x = {.m = m, .v = c->v, .address = c->v[WK_LD_dram], .run = c->v[WK_LD_n0]};
  bool joined = true;
  for (int k = 0; k < 3; k++) {
    x.n[k] = c->v[WK_LD_n1 + k];
    joined = joined && (x.n[k] == 1 || c->v[WK_LD_s1 + k] == x.run);
    if (!joined) continue;
    x.run *= x.n[k];
    x.n[k] = 1;
  }
  x.rest = x.run;
  return x;
}

/* Bytes of the next burst, and where it begins in its first beat. */
static int64_t next_burst(transfer *x, int64_t *lane) {
  int64_t bytes = least(x->m->burst - x->address % x->m->burst, x->rest);
  *lane = x->address % x->m->bus;
  x->address += bytes;
  x->rest -= bytes;
  if (x->rest) return bytes;
  int k = 0;
  while (k < 3 && ++x->i[k] == x->n[k]) x->i[k++] = 0;
  x->over = k == 3;
  x->address = x->v[WK_LD_dram];
  for (k = 0; k < 3; k++) x->address += x->i[k] * x->v[WK_LD_s1 + k];
  x->rest = x->run;
  return bytes;
}

static int64_t request(transfer *x) {
  int64_t next = x->count ? x->asked + 1 : WK_COST_dma_request;
  return x->asked = most(next, x->free_at[x->count % x->m->bursts]);
}

static void end_burst(transfer *x, int64_t again) {
  x->free_at[x->count++ % x->m->bursts] = again;
}

static int64_t access_size(const transfer *x) {
  int64_t c0 = x->v[WK_LD_c0];
  return least(x->m->array, c0 - x->moved % c0);
}

static int64_t looped_load(const wk_machine *m, const wk_isa_command *c) {
  transfer x = transfer_of(m, c);
  int64_t num = m->dram_bytes.num, cost = m->bus * m->dram_bytes.den;
  int64_t end = 0, taken = 0, come = 0, write = 0, lane;
  while (!x.over) {
    int64_t bytes = next_burst(&x, &lane);
    int64_t start = most(end, (request(&x) + m->dram_latency) * num) + m->dram_overhead * num;
    for (int64_t j = 1; bytes; j++, lane = 0) {
      int64_t used = least(bytes, m->bus - lane);
      end = start + j * cost;
      taken = most(taken + 1, ceil_div(end, num));
      come += used;
      bytes -= used;
      while (x.moved < come && x.moved + access_size(&x) <= come) {
        x.moved += access_size(&x);
        write = most(write + 1, taken + WK_COST_dma_write);
      }
    }
    end_burst(&x, taken + WK_COST_dma_load_again);
  }
  return write + 1;
}

/* When so many bytes had been sent: at[b] is the cycle of beat b, upto[b] what had left then. */
typedef struct {
  int64_t at[1 << 16], upto[1 << 16], n;
} beats;

static int64_t sent_when(const beats *s, int64_t bytes) {
  int64_t b = s->n;
  while (b > 0 && s->upto[b - 1] >= bytes) b--;
  return bytes <= 0 ? 0 : s->at[b];
}

static int64_t looped_store(const wk_machine *m, const wk_isa_command *c) {
  static beats sent;
  transfer x = transfer_of(m, c);
  int64_t num = m->dram_bytes.num, cost = m->bus * m->dram_bytes.den, room = 3 * m->bus + m->array;
  int64_t end = 0, cycle = 0, read = WK_COST_dma_read - 1, left = 0, answer = 0, lane;
  sent.n = 0;
  while (!x.over) {
    int64_t bytes = next_burst(&x, &lane), asked = request(&x), count = 0;
    for (; bytes; count++, lane = 0) {
      int64_t used = least(bytes, m->bus - lane);
      while (x.moved < left + used) {
        x.moved += access_size(&x);
        read = most(read + 1, sent_when(&sent, x.moved - room));
      }
      cycle = most(most(cycle + 1, read + WK_COST_dma_send), asked + 1);
      left += used;
      bytes -= used;
      sent.at[sent.n] = cycle;
      sent.upto[sent.n++] = left;
    }
    end = most(end, cycle * num) + m->dram_overhead * num + count * cost;
    answer = ceil_div(end, num) + m->dram_write_latency;
    end_burst(&x, answer + WK_COST_dma_store_again);
  }
  return answer + 1;
}

/* ---- transfers ------------------------------------------------------------------------------- */

static wk_fraction draw_rate(wk_rng *r) {
  switch (draw(r, 0, 2)) {
    case 0: return (wk_fraction){1 << draw(r, 0, 6), 1 << draw(r, 0, 3)};
    case 1: return (wk_fraction){draw(r, 1, 64), 1};
    default: return (wk_fraction){draw(r, 1, 100), draw(r, 1, 20)};
  }
}

static wk_machine draw_machine(wk_rng *r) {
  wk_machine m;
  wk_machine_defaults(&m);
  m.array = 8 << draw(r, 0, 2);
  m.bus = most(16 << draw(r, 0, 2), m.array);
  m.burst = most(64 << draw(r, 0, 4), m.bus);
  m.bursts = 1 << draw(r, 0, 6);
  m.dram_bytes = draw_rate(r);
  m.dram_latency = draw(r, 1, by_chance(r) ? 30 : 600);
  m.dram_write_latency = draw(r, 1, by_chance(r) ? 20 : 600);
  m.dram_overhead = by_chance(r) ? 0 : draw(r, 1, 30);
  return m;
}

static wk_isa_command draw_transfer(wk_rng *r, const wk_machine *m) {
  wk_isa_command c = wk_isa_command_default(m, by_chance(r) ? WK_CMD_LD : WK_CMD_ST);
  int64_t *v = c.v, total;
  v[WK_LD_dram] = draw(r, 0, 5000);
  v[WK_LD_n0] = draw(r, 1, by_chance(r) ? 80 : 2000);
  v[WK_LD_n1] = by_chance(r) ? 1 : draw(r, 1, 20);
  v[WK_LD_n2] = draw(r, 0, 3) ? 1 : draw(r, 1, 4);
  v[WK_LD_n3] = draw(r, 0, 5) ? 1 : draw(r, 1, 3);
  v[WK_LD_s1] = v[WK_LD_n0] + (by_chance(r) ? 0 : draw(r, 0, 40));
  v[WK_LD_s2] = v[WK_LD_n1] * v[WK_LD_s1] + (by_chance(r) ? 0 : draw(r, 0, 300));
  v[WK_LD_s3] = v[WK_LD_n2] * v[WK_LD_s2] + draw(r, 0, 300);
  total = v[WK_LD_n0] * v[WK_LD_n1] * v[WK_LD_n2] * v[WK_LD_n3];
  v[WK_LD_c0] = draw(r, 1, draw(r, 0, 2) ? least(3 * m->array, total) : total);
  while (total % v[WK_LD_c0]) v[WK_LD_c0]--;
  return c;
}

static void must_take(const wk_machine *m, const wk_isa_command *c, int64_t want) {
  int64_t got = (int64_t)wk_isa_duration(m, c);
  wk_str text = {0};
  if (got == want) return;
  wk_disasm_command(&text, m, c);
  fail_msg("%" PRId64 " cycles, not %" PRId64 ": %s; array %" PRId64 ", bus %" PRId64 ", burst %"
           PRId64 ", bursts %" PRId64 ", bytes %" PRId64 "/%" PRId64 ", latency %" PRId64
           ", %" PRId64 ", overhead %" PRId64, got, want, text.s, m->array, m->bus, m->burst,
           m->bursts, m->dram_bytes.num, m->dram_bytes.den, m->dram_latency, m->dram_write_latency,
           m->dram_overhead);
}

static void test_transfers(void **state) {
  wk_rng r = {1};
  (void)state;
  for (int i = 0; i < TRANSFERS; i++) {
    wk_machine m = draw_machine(&r);
    wk_isa_command c = draw_transfer(&r, &m);
    must_take(&m, &c, c.opcode == WK_CMD_LD ? looped_load(&m, &c) : looped_store(&m, &c));
  }
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct {
  int64_t blocks, ky, kx, taps, ny, row, pad_l, lines, last_lines;
} tiles;

static tiles tiles_of(const wk_machine *m, const wk_isa_command *c) {
  const int64_t *v = c->v;
  if (c->opcode == WK_CMD_CONV)
    return (tiles){v[WK_CONV_kc], v[WK_CONV_ky], v[WK_CONV_kx], 1, v[WK_CONV_ny], v[WK_CONV_nx], 0,
                   v[WK_CONV_n], v[WK_CONV_n]};
  if (c->opcode == WK_CMD_MM) {
    bool t = v[WK_MM_transposed];
    return (tiles){v[WK_MM_kc], 1, 1, 1, v[WK_MM_ny], 1, 0, t ? m->array : v[WK_MM_n],
                   t ? v[WK_MM_k_tail] : v[WK_MM_n]};
  }
  bool three = v[WK_DWC_taps] == WK_CHOICE_TAPS_three;
  int64_t taps = three ? 3 : 1, nx = v[WK_DWC_nx];
  return (tiles){1, v[WK_DWC_ky], v[WK_DWC_kx], taps, v[WK_DWC_ny],
                 three ? v[WK_DWC_sx] * (nx - 1) + 3 : nx,
                 three && v[WK_DWC_w] ? v[WK_DWC_pad_l] : 0, taps, taps};
}

/* Every tile by itself: the padding that is left out differs from one to the next. */
static wk_isa_tiles looped_tiles(const wk_machine *m, const wk_isa_command *c) {
  tiles t = tiles_of(m, c);
  wk_isa_tiles out = {.tiles = 0};
  int64_t begin = 0, words = 0;
  for (int64_t k = 0; k < t.blocks; k++)
    for (int64_t ky = 0; ky < t.ky; ky++)
      for (int64_t kx = 0; kx < t.kx; kx += t.taps) {
        out.last = (k + 1 == t.blocks ? t.last_lines : t.lines) + WK_COST_ex_tile;
        int64_t step = most(words, out.last);
        if (!out.tiles++) out.first = out.last;
        else out.last_step = step;
        begin += step;
        words = t.ny * (t.row - least(most(t.pad_l - kx, 0), 2));
        out.words += words;
      }
  out.last_words = words;
  out.span = begin + words - out.first;
  return out;
}

static int64_t looped_product(const wk_machine *m, const wk_isa_command *c) {
  wk_isa_tiles t = looped_tiles(m, c);
  return t.first + t.span + WK_COST_ex_sum + WK_COST_ex_retire;
}

static void must_have_tiles(const wk_machine *m, const wk_isa_command *c) {
  wk_isa_tiles want = looped_tiles(m, c), got = wk_isa_tiles_of(m, c);
  assert_int_equal(got.tiles, want.tiles);
  assert_int_equal(got.words, want.words);
  assert_int_equal(got.first, want.first);
  assert_int_equal(got.last, want.last);
  assert_int_equal(got.span, want.span);
  assert_int_equal(got.last_words, want.last_words);
  assert_int_equal(got.last_step, want.last_step);
}

static wk_isa_command draw_product(wk_rng *r, const wk_machine *m) {
  static const int opcodes[] = {WK_CMD_CONV, WK_CMD_DWC, WK_CMD_MM};
  wk_isa_command c = wk_isa_command_default(m, opcodes[draw(r, 0, 2)]);
  int64_t *v = c.v;
  if (c.opcode == WK_CMD_MM) {
    v[WK_MM_kc] = draw(r, 1, 6);
    v[WK_MM_ny] = draw(r, 1, 60);
    v[WK_MM_n] = draw(r, 1, m->array);
    v[WK_MM_k_tail] = draw(r, 1, m->array);
    v[WK_MM_transposed] = draw(r, 0, 1);
    return c;
  }
  v[WK_CONV_ny] = draw(r, 1, 8);
  v[WK_CONV_nx] = draw(r, 1, 20);
  v[WK_CONV_ky] = draw(r, 1, 5);
  v[WK_CONV_kx] = draw(r, 1, 14);
  v[WK_CONV_pad_l] = draw(r, 0, 14);
  v[WK_CONV_w] = by_chance(r) ? 0 : draw(r, 1, 40);
  v[WK_CONV_sx] = draw(r, 1, 2);
  if (c.opcode == WK_CMD_CONV) {
    v[WK_CONV_kc] = draw(r, 1, 6);
    v[WK_CONV_n] = draw(r, 1, m->array);
  } else {
    v[WK_DWC_taps] = draw(r, 0, 1);
    v[WK_DWC_n] = draw(r, 1, m->array);
  }
  return c;
}

static void test_products(void **state) {
  wk_rng r = {2};
  (void)state;
  for (int i = 0; i < PRODUCTS; i++) {
    wk_machine m = draw_machine(&r);
    wk_isa_command c = draw_product(&r, &m);
    must_take(&m, &c, looped_product(&m, &c));
    must_have_tiles(&m, &c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_transfers),
                                     cmocka_unit_test(test_products)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
