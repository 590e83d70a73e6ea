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

enum { TRANSFERS = 60000, PRODUCTS = 100000, VECTORS = 20000, SIMPLE = 500 };

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

/* What of a command says how its sums are drained. */
typedef struct {
  bool drain, residual;
  int64_t pixels, n;
} drained;

static drained drained_of(const wk_isa_command *c) {
  const int64_t *v = c->v;
  if (c->opcode == WK_CMD_MM)
    return (drained){v[WK_MM_drain], v[WK_MM_residual], v[WK_MM_ny], v[WK_MM_n]};
  int64_t pixels = v[WK_CONV_ny] * v[WK_CONV_nx];
  if (c->opcode == WK_CMD_DWC)
    return (drained){v[WK_DWC_drain], v[WK_DWC_residual], pixels, v[WK_DWC_n]};
  return (drained){v[WK_CONV_drain], v[WK_CONV_residual], pixels, v[WK_CONV_n]};
}

static int64_t looped_product(const wk_machine *m, const wk_isa_command *c) {
  wk_isa_tiles t = looped_tiles(m, c);
  drained d = drained_of(c);
  int64_t sums = t.first + t.span + WK_COST_ex_sum;
  int64_t record = WK_COST_ex_record + 32 / m->array + ceil_div(8 * d.n, m->array);
  if (!d.drain) return sums + WK_COST_ex_retire;
  return most(sums, record) + d.pixels + WK_COST_ex_drain +
         (d.residual ? most(0, d.pixels - WK_COST_ex_residual) : 0);
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

/* Half of them are drained, some of them with a residual. */
static void draw_drain(wk_rng *r, wk_isa_command *c) {
  int64_t drain = draw(r, 0, 1), residual = drain * draw(r, 0, 1), *v = c->v;
  switch (c->opcode) {
    case WK_CMD_CONV: v[WK_CONV_drain] = drain, v[WK_CONV_residual] = residual; break;
    case WK_CMD_DWC: v[WK_DWC_drain] = drain, v[WK_DWC_residual] = residual; break;
    default: v[WK_MM_drain] = drain, v[WK_MM_residual] = residual; break;
  }
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
    draw_drain(&r, &c);
    must_take(&m, &c, looped_product(&m, &c));
    must_have_tiles(&m, &c);
  }
}

/* ---- the vector unit, and what is as simple -------------------------------------------------- */

/* The table of docs/isa.md. */
typedef struct {
  int64_t slots, results;
} slots;

static slots slots_of_row(const wk_machine *m, const int64_t *v, int64_t record) {
  int64_t ny = v[WK_ROW_ny], kc = v[WK_ROW_kc], k = m->array == 8 ? 3 : m->array == 16 ? 4 : 5;
  int64_t f = kc + k, g = 9 * (kc - 1) + 1 + ceil_div(8 * v[WK_ROW_k_tail], m->array);
  switch (v[WK_ROW_fn]) {
    case WK_CHOICE_ROW_mean: return (slots){record + 1 + ny * (kc + k + 1), ny};
    case WK_CHOICE_ROW_max: return (slots){ny * (kc + k + 1), ny};
    case WK_CHOICE_ROW_softmax:
      return (slots){record + 1 + (f + 2) + ny * (f + 1 + 2 * kc) +
                         (ny - 1) * most(WK_COST_ve_divide, f + 2) + WK_COST_ve_divide,
                     ny * kc};
    default:
      return (slots){record + ny * (2 * kc + g) + WK_COST_ve_root +
                         (ny - 1) * most(1, WK_COST_ve_root - g),
                     ny * kc};
  }
}

static slots slots_of(const wk_machine *m, const wk_isa_command *c) {
  const int64_t *v = c->v, record = most(1, 32 / m->array);
  if (c->opcode == WK_CMD_ROW) return slots_of_row(m, v, record);
  if (c->opcode == WK_CMD_MAP) {
    int64_t fn = v[WK_MAP_fn], lines = v[WK_MAP_n2] * v[WK_MAP_n1], n0 = v[WK_MAP_n0];
    bool alone = fn == WK_CHOICE_MAP_move || fn == WK_CHOICE_MAP_table || fn == WK_CHOICE_MAP_scale;
    bool has_record = fn != WK_CHOICE_MAP_move && fn != WK_CHOICE_MAP_table;
    int64_t b = alone ? 0 : v[WK_MAP_b0] ? n0 : 1;
    return (slots){(has_record ? record : 0) + lines * (2 * n0 + b), lines * n0};
  }
  int64_t pixels = v[WK_POOL_ny] * v[WK_POOL_nx], taps = v[WK_POOL_ky] * v[WK_POOL_kx];
  switch (v[WK_POOL_fn]) {
    case WK_CHOICE_POOL_mean: return (slots){record + 1 + pixels * (taps + 1), pixels};
    case WK_CHOICE_POOL_valid_mean: return (slots){record + pixels * (taps + 2), pixels};
    default: return (slots){pixels * (taps + 1), pixels};
  }
}

static int64_t tabled_vector(const wk_machine *m, const wk_isa_command *c) {
  slots s = slots_of(m, c);
  int64_t fn = c->v[WK_ROW_fn], shown = least(WK_COST_ve_latency, s.results);
  bool is_norm = c->opcode == WK_CMD_ROW &&
                 (fn == WK_CHOICE_ROW_layernorm || fn == WK_CHOICE_ROW_rmsnorm);
  return WK_COST_ve_start + s.slots +
         (is_norm ? WK_COST_ve_norm_latency : WK_COST_ve_latency) - shown;
}

static wk_isa_command draw_vector(wk_rng *r, const wk_machine *m) {
  static const int opcodes[] = {WK_CMD_MAP, WK_CMD_POOL, WK_CMD_ROW};
  wk_isa_command c = wk_isa_command_default(m, opcodes[draw(r, 0, 2)]);
  int64_t *v = c.v, few = by_chance(r) ? 2 : 40;
  switch (c.opcode) {
    case WK_CMD_MAP:
      v[WK_MAP_fn] = draw(r, WK_CHOICE_MAP_move, WK_CHOICE_MAP_scale);
      v[WK_MAP_n0] = draw(r, 1, few), v[WK_MAP_n1] = draw(r, 1, few), v[WK_MAP_n2] = draw(r, 1, 3);
      if (by_chance(r)) v[WK_MAP_b0] = 0;
      break;
    case WK_CMD_POOL:
      v[WK_POOL_fn] = draw(r, WK_CHOICE_POOL_max, WK_CHOICE_POOL_valid_mean);
      v[WK_POOL_ny] = draw(r, 1, few), v[WK_POOL_nx] = draw(r, 1, few);
      v[WK_POOL_ky] = draw(r, 1, 5), v[WK_POOL_kx] = draw(r, 1, 5);
      break;
    default:
      v[WK_ROW_fn] = draw(r, WK_CHOICE_ROW_softmax, WK_CHOICE_ROW_rmsnorm);
      v[WK_ROW_ny] = draw(r, 1, few), v[WK_ROW_kc] = draw(r, 1, few);
      v[WK_ROW_k_tail] = draw(r, 1, m->array);
      break;
  }
  return c;
}

static void test_vector_unit(void **state) {
  wk_rng r = {3};
  (void)state;
  for (int i = 0; i < VECTORS; i++) {
    wk_machine m = draw_machine(&r);
    wk_isa_command c = draw_vector(&r, &m);
    must_take(&m, &c, tabled_vector(&m, &c));
  }
}

static void test_simple_commands(void **state) {
  wk_rng r = {4};
  (void)state;
  for (int i = 0; i < SIMPLE; i++) {
    wk_machine m = draw_machine(&r);
    wk_isa_command mark = wk_isa_command_default(&m, WK_CMD_MARK);
    wk_isa_command fill = wk_isa_command_default(&m, WK_CMD_FILL);
    wk_isa_command tab = wk_isa_command_default(&m, WK_CMD_TAB);
    wk_isa_command trn = wk_isa_command_default(&m, WK_CMD_TRN);
    int64_t c0 = draw(&r, 1, 300), c1 = draw(&r, 1, 9), c2 = draw(&r, 1, 9);
    int64_t nx = draw(&r, 1, 20), ny = draw(&r, 1, 20), rows = draw(&r, 1, m.array);
    int64_t n = draw(&r, 1, m.array), count = draw(&r, 1, 16);
    fill.v[WK_FILL_c0] = c0, fill.v[WK_FILL_c1] = c1, fill.v[WK_FILL_c2] = c2;
    trn.v[WK_TRN_nx] = nx, trn.v[WK_TRN_ny] = ny, trn.v[WK_TRN_rows] = rows, trn.v[WK_TRN_n] = n;
    tab.v[WK_TAB_count] = count;
    must_take(&m, &mark, WK_COST_mark);
    must_take(&m, &fill, WK_COST_fill + c2 * c1 * ceil_div(c0, m.array));
    must_take(&m, &trn, WK_COST_ve_start + ny * nx * (rows + n + 1));
    must_take(&m, &tab, WK_COST_ve_start + count * 256 / m.array);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_transfers),
                                     cmocka_unit_test(test_products),
                                     cmocka_unit_test(test_vector_unit),
                                     cmocka_unit_test(test_simple_commands)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
