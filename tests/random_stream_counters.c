/* SPDX-License-Identifier: Apache-2.0
 * What the machine's counters hold after a stream, counted from its commands alone, as isa.md has
 * them: every byte, beat, word, product and sum. Only how long things take is not known here. */
#include <inttypes.h>

#include "tests/random_stream_bytes.h"

typedef struct {
  const wk_machine *m;
  const wk_isa_command *c;
  const int64_t *v;
  int64_t n;   /* array */
  uint64_t *y; /* counters */
} counting;

static void add(const counting *k, int counter, int64_t by) { k->y[counter] += (uint64_t)by; }

/* An access of up to N bytes: it lies in one word or in two. */
static void access_spm(const counting *k, bool writes, int64_t at, int64_t bytes) {
  add(k, writes ? WK_COUNTER_spm_writes : WK_COUNTER_spm_reads,
      1 + (at % k->n + bytes > k->n));
}

static void read_at(const counting *k, int64_t at, int64_t bytes) {
  access_spm(k, false, at, bytes);
}
static void write_at(const counting *k, int64_t at, int64_t bytes) {
  access_spm(k, true, at, bytes);
}

/* N bytes of a range a time. */
static void read_range(const counting *k, int64_t at, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += k->n)
    read_at(k, at + i, bytes - i < k->n ? bytes - i : k->n);
}

/* ---- transfers ------------------------------------------------------------------------------- */

/* The bursts of a run, cut at multiples of `burst`. */
static void count_run(const counting *k, int counter, int64_t at, int64_t bytes) {
  for (int64_t end = at + bytes; at < end;) {
    int64_t border = (at / k->m->burst + 1) * k->m->burst, to = border < end ? border : end;
    add(k, counter, (to - 1) / k->m->bus - at / k->m->bus + 1);
    at = to;
  }
}

static void count_memory(const counting *k, int counter) {
  const int64_t *v = k->v;
  int64_t n[3] = {v[WK_LD_n1], v[WK_LD_n2], v[WK_LD_n3]}, run = v[WK_LD_n0];
  int64_t s[3] = {v[WK_LD_s1], v[WK_LD_s2], v[WK_LD_s3]};
  for (int i = 0; i < 3 && (n[i] == 1 || s[i] == run); i++) { /* continues: one run */
    run *= n[i];
    n[i] = 1;
  }
  for (int64_t a = 0; a < n[2]; a++)
    for (int64_t b = 0; b < n[1]; b++)
      for (int64_t c = 0; c < n[0]; c++)
        count_run(k, counter, v[WK_LD_dram] + a * s[2] + b * s[1] + c * s[0], run);
}

/* Chunks of c0 bytes, c1 of them in a line. */
static void count_chunks(const counting *k, bool writes, int64_t spm, int64_t chunks, int64_t c0,
                         int64_t c1, int64_t p1, int64_t p2) {
  for (int64_t i = 0; i < chunks; i++)
    for (int64_t j = 0; j < c0; j += k->n)
      access_spm(k, writes, spm + i / c1 * p2 + i % c1 * p1 + j, c0 - j < k->n ? c0 - j : k->n);
}

static void transfer(const counting *k) {
  const int64_t *v = k->v;
  bool is_load = k->c->opcode == WK_CMD_LD;
  int64_t bytes = v[WK_LD_n0] * v[WK_LD_n1] * v[WK_LD_n2] * v[WK_LD_n3];
  int own = WK_COUNTER_bytes_ld0 + (int)k->c->queue - WK_QUEUE_ld0;
  add(k, is_load ? own : WK_COUNTER_bytes_st, bytes);
  count_memory(k, is_load ? WK_COUNTER_beats_read : WK_COUNTER_beats_write);
  count_chunks(k, is_load, v[WK_LD_spm], bytes / v[WK_LD_c0], v[WK_LD_c0], v[WK_LD_c1],
               v[WK_LD_p1], v[WK_LD_p2]);
}

static void fill(const counting *k) {
  const int64_t *v = k->v;
  count_chunks(k, true, v[WK_FILL_spm], v[WK_FILL_c1] * v[WK_FILL_c2], v[WK_FILL_c0],
               v[WK_FILL_c1], v[WK_FILL_p1], v[WK_FILL_p2]);
}

/* ---- ex -------------------------------------------------------------------------------------- */

/* How many taps of a pixel's window are no padding; all of them are read, `block` bytes behind. */
static int64_t read_taps(const counting *k, int64_t oy, int64_t ox, int64_t block, int64_t bytes) {
  const int64_t *v = k->v;
  int64_t count = 0;
  for (int64_t ky = 0; ky < v[WK_CONV_ky]; ky++)
    for (int64_t kx = 0; kx < v[WK_CONV_kx]; kx++) {
      if (stream_is_padding(v, oy, ox, ky, kx)) continue;
      count++;
      read_at(k, stream_tap(v, oy, ox, ky, kx) + block, bytes);
    }
  return count;
}

typedef struct {
  int64_t accumulate, drain, residual, out, out_y, out_x, par, res, n, ny, nx;
} epilogue;

#define EPILOGUE(C, rows, columns, x)                                                             \
  (epilogue) {                                                                                    \
    v[WK_##C##_accumulate], v[WK_##C##_drain], v[WK_##C##_residual], v[WK_##C##_out],             \
        v[WK_##C##_out_y], x, v[WK_##C##_par], v[WK_##C##_res], v[WK_##C##_n], rows, columns      \
  }

/* passes: how many sums are added up for each pixel, one after the other. */
static void sum_up(const counting *k, const epilogue *e, int64_t passes) {
  int64_t pixels = e->ny * e->nx;
  add(k, WK_COUNTER_mac_cycles, pixels * passes);
  add(k, WK_COUNTER_acc_writes, pixels * passes);
  add(k, WK_COUNTER_acc_reads, pixels * (passes - !e->accumulate));
  if (!e->drain) return;
  add(k, WK_COUNTER_acc_reads, pixels);
  read_range(k, e->par, WK_RECORD_BYTES + WK_ENTRY_BYTES * e->n);
  for (int64_t y = 0; y < e->ny; y++)
    for (int64_t x = 0; x < e->nx; x++) {
      int64_t at = y * e->out_y + x * e->out_x;
      if (e->residual) read_at(k, e->res + at, e->n);
      write_at(k, e->out + at, e->n);
    }
}

static void conv(const counting *k) {
  const int64_t *v = k->v;
  int64_t ny = v[WK_CONV_ny], nx = v[WK_CONV_nx], kc = v[WK_CONV_kc];
  int64_t tiles = v[WK_CONV_ky] * v[WK_CONV_kx] * kc;
  for (int64_t b = 0; b < kc; b++)
    for (int64_t i = 0; i < ny * nx; i++)
      read_taps(k, i / nx, i % nx, b * v[WK_CONV_k_c], b + 1 < kc ? k->n : v[WK_CONV_k_tail]);
  add(k, WK_COUNTER_spm_reads, tiles * v[WK_CONV_n]); /* of the weights, whole words */
  add(k, WK_COUNTER_macs, ny * nx * v[WK_CONV_ky] * v[WK_CONV_kx] * v[WK_CONV_n] *
                              ((kc - 1) * k->n + v[WK_CONV_k_tail]));
  const epilogue e = EPILOGUE(CONV, ny, nx, v[WK_CONV_out_x]);
  sum_up(k, &e, tiles);
}

/* The words of a row of a pass: each is read once, whatever outputs it is part of. Columns of the
 * input are counted from the first tap of the pass. */
static void read_row(const counting *k, int64_t oy, int64_t ky, int64_t kx, int64_t taps) {
  const int64_t *v = k->v, last = (v[WK_DWC_nx] - 1) * v[WK_DWC_sx] + taps;
  for (int64_t column = 0; column < last; column++) {
    int64_t ox = column / v[WK_DWC_sx], t = column - ox * v[WK_DWC_sx];
    if (ox >= v[WK_DWC_nx]) t += (ox - v[WK_DWC_nx] + 1) * v[WK_DWC_sx], ox = v[WK_DWC_nx] - 1;
    if (t >= taps || stream_is_padding(v, oy, ox, ky, kx + t)) continue;
    read_at(k, stream_tap(v, oy, ox, ky, kx + t), v[WK_DWC_n]);
  }
}

static void dwc(const counting *k) {
  const int64_t *v = k->v, kx = v[WK_DWC_kx], ny = v[WK_DWC_ny], nx = v[WK_DWC_nx];
  int64_t width = v[WK_DWC_taps] == WK_CHOICE_TAPS_three ? 3 : 1;
  int64_t passes = v[WK_DWC_ky] * ((kx + width - 1) / width);
  if (width == 1) {
    for (int64_t i = 0; i < ny * nx; i++) read_taps(k, i / nx, i % nx, 0, v[WK_DWC_n]);
  } else {
    for (int64_t y = 0; y < ny * v[WK_DWC_ky]; y++)
      for (int64_t x = 0; x < kx; x += 3)
        read_row(k, y / v[WK_DWC_ky], y % v[WK_DWC_ky], x, kx - x < 3 ? kx - x : 3);
  }
  add(k, WK_COUNTER_spm_reads, passes * width);
  add(k, WK_COUNTER_macs, ny * nx * v[WK_DWC_ky] * kx * v[WK_DWC_n]);
  const epilogue e = EPILOGUE(DWC, ny, nx, v[WK_DWC_out_x]);
  sum_up(k, &e, passes);
}

static void mm(const counting *k) {
  const int64_t *v = k->v, kc = v[WK_MM_kc], ny = v[WK_MM_ny], n = v[WK_MM_n];
  for (int64_t c = 0; c < kc; c++) {
    int64_t depth = c + 1 < kc ? k->n : v[WK_MM_k_tail];
    int64_t lines = v[WK_MM_transposed] ? depth : n, width = v[WK_MM_transposed] ? n : depth;
    for (int64_t y = 0; y < ny; y++)
      read_at(k, v[WK_MM_in] + y * v[WK_MM_in_y] + c * v[WK_MM_k_c], depth);
    for (int64_t i = 0; i < lines; i++)
      read_at(k, v[WK_MM_wt] + c * v[WK_MM_w_c] + i * v[WK_MM_w_r], width);
  }
  add(k, WK_COUNTER_macs, ny * n * ((kc - 1) * k->n + v[WK_MM_k_tail]));
  const epilogue e = EPILOGUE(MM, ny, 1, 0);
  sum_up(k, &e, kc);
}

static void mark(const counting *k) {
  add(k, WK_COUNTER_beats_write, (8 * WK_COUNTER_COUNT + k->m->bus - 1) / k->m->bus);
}

/* ---- ve -------------------------------------------------------------------------------------- */

static void read_record(const counting *k, int64_t par) { read_range(k, par, WK_RECORD_BYTES); }

static void map(const counting *k) {
  const int64_t *v = k->v, fn = v[WK_MAP_fn], n = v[WK_MAP_n];
  bool moves = fn == WK_CHOICE_MAP_move || fn == WK_CHOICE_MAP_table;
  if (!moves) read_record(k, v[WK_MAP_par]);
  for (int64_t i2 = 0; i2 < v[WK_MAP_n2]; i2++)
    for (int64_t i1 = 0; i1 < v[WK_MAP_n1]; i1++)
      for (int64_t i0 = 0; i0 < v[WK_MAP_n0]; i0++) {
        read_at(k, v[WK_MAP_a] + i2 * v[WK_MAP_a2] + i1 * v[WK_MAP_a1] + i0 * v[WK_MAP_a0], n);
        if (!moves && fn != WK_CHOICE_MAP_scale && (v[WK_MAP_b0] || !i0))
          read_at(k, v[WK_MAP_b] + i2 * v[WK_MAP_b2] + i1 * v[WK_MAP_b1] + i0 * v[WK_MAP_b0],
                  v[WK_MAP_splat] ? 1 : n);
        write_at(k, v[WK_MAP_out] + i2 * v[WK_MAP_y2] + i1 * v[WK_MAP_y1] + i0 * v[WK_MAP_y0], n);
      }
}

static void pool(const counting *k) {
  const int64_t *v = k->v, fn = v[WK_POOL_fn], nx = v[WK_POOL_nx];
  if (fn != WK_CHOICE_POOL_max) read_record(k, v[WK_POOL_par]);
  add(k, WK_COUNTER_spm_reads, fn == WK_CHOICE_POOL_mean); /* entry 0 */
  for (int64_t i = 0; i < v[WK_POOL_ny] * nx; i++) {
    int64_t taps = read_taps(k, i / nx, i % nx, 0, v[WK_POOL_n]);
    add(k, WK_COUNTER_spm_reads, fn == WK_CHOICE_POOL_valid_mean && taps);
    write_at(k, v[WK_POOL_out] + i / nx * v[WK_POOL_out_y] + i % nx * v[WK_POOL_out_x],
             v[WK_POOL_n]);
  }
}

static void row(const counting *k) {
  /* how often a row is read */
  static const int rounds[] = {[WK_CHOICE_ROW_softmax] = 3, [WK_CHOICE_ROW_layernorm] = 2,
                               [WK_CHOICE_ROW_rmsnorm] = 2, [WK_CHOICE_ROW_mean] = 1,
                               [WK_CHOICE_ROW_max] = 1};
  const int64_t *v = k->v, fn = v[WK_ROW_fn], kc = v[WK_ROW_kc];
  bool is_norm = fn == WK_CHOICE_ROW_layernorm || fn == WK_CHOICE_ROW_rmsnorm;
  bool is_whole = is_norm || fn == WK_CHOICE_ROW_softmax;
  if (fn != WK_CHOICE_ROW_max) read_record(k, v[WK_ROW_par]);
  add(k, WK_COUNTER_spm_reads, fn == WK_CHOICE_ROW_mean || fn == WK_CHOICE_ROW_softmax);
  for (int64_t y = 0; y < v[WK_ROW_ny]; y++) {
    for (int64_t c = 0; c < kc; c++) {
      int64_t bytes = c + 1 < kc ? k->n : v[WK_ROW_k_tail];
      for (int i = 0; i < rounds[fn]; i++)
        read_at(k, v[WK_ROW_in] + y * v[WK_ROW_in_y] + c * v[WK_ROW_in_c], bytes);
      if (is_norm)
        read_range(k, v[WK_ROW_par] + WK_RECORD_BYTES + WK_ENTRY_BYTES * c * k->n,
                   WK_ENTRY_BYTES * bytes);
      if (is_whole)
        write_at(k, v[WK_ROW_out] + y * v[WK_ROW_out_y] + c * v[WK_ROW_out_c], bytes);
    }
    if (!is_whole) write_at(k, v[WK_ROW_out] + y * v[WK_ROW_out_y], 1);
  }
}

static void trn(const counting *k) {
  const int64_t *v = k->v;
  for (int64_t ty = 0; ty < v[WK_TRN_ny]; ty++)
    for (int64_t tx = 0; tx < v[WK_TRN_nx]; tx++) {
      int64_t in = v[WK_TRN_in] + ty * v[WK_TRN_in_y] + tx * v[WK_TRN_in_x];
      int64_t out = v[WK_TRN_out] + ty * v[WK_TRN_out_y] + tx * v[WK_TRN_out_x];
      for (int64_t r = 0; r < v[WK_TRN_rows]; r++)
        read_at(k, in + r * v[WK_TRN_in_r], v[WK_TRN_n]);
      for (int64_t i = 0; i < v[WK_TRN_n]; i++)
        write_at(k, out + i * v[WK_TRN_out_r], v[WK_TRN_rows]);
    }
}

static void tab(const counting *k) {
  read_range(k, k->v[WK_TAB_in], WK_TABLE_BYTES * k->v[WK_TAB_count]);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void (*const counts[])(const counting *k) = {
    [WK_CMD_LD] = transfer, [WK_CMD_ST] = transfer, [WK_CMD_FILL] = fill, [WK_CMD_CONV] = conv,
    [WK_CMD_DWC] = dwc,     [WK_CMD_MM] = mm,       [WK_CMD_MAP] = map,   [WK_CMD_POOL] = pool,
    [WK_CMD_ROW] = row,     [WK_CMD_TRN] = trn,     [WK_CMD_TAB] = tab,   [WK_CMD_MARK] = mark,
    [WK_CMD_END] = NULL};

/* The counters that commands alone decide: all but those of time. */
enum { FIRST = WK_COUNTER_bytes_fetch, LAST = WK_COUNTER_acc_writes };

static void expect(const wk_stream *s, uint64_t *want) {
  wk_isa_command c;
  int64_t fetched = (int64_t)s->n * WK_COMMAND_BYTES;
  for (uint32_t i = 0; i < s->n; i++) {
    wk_stream_get(s, i, &c);
    const counting k = {&s->machine, &c, c.v, s->machine.array, want};
    if (counts[c.opcode]) counts[c.opcode](&k);
  }
  want[WK_COUNTER_bytes_fetch] += (uint64_t)fetched;
  want[WK_COUNTER_beats_read] += (uint64_t)(fetched / s->machine.bus);
}

static bool sums_to_cycles(const uint64_t *have, int first, int n, const char *what, wk_str *text) {
  uint64_t sum = 0;
  for (int i = 0; i < n; i++) sum += have[first + i];
  if (sum == have[WK_COUNTER_cycles]) return true;
  wk_str_printf(text, "the counters of %s sum to %" PRIu64 ", not to the %" PRIu64 " cycles", what,
                sum, have[WK_COUNTER_cycles]);
  return false;
}

bool random_stream_counters_are_right(const wk_stream *s, const wk_sim_run *r, wk_str *text) {
  const uint64_t *have = r->result.counters;
  uint64_t want[WK_COUNTER_COUNT] = {0};
  expect(s, want);
  for (int i = FIRST; i <= LAST; i++) {
    if (have[i] == want[i]) continue;
    wk_str_printf(text, "counter %s is %" PRIu64 ", not %" PRIu64, wk_isa_counter_name(i).s,
                  have[i], want[i]);
    return false;
  }
  for (int q = 0; q < wk_machine_queues(&s->machine); q++)
    if (!sums_to_cycles(have, wk_isa_counter(q, 0, 0), WK_QUEUE_COUNTERS, wk_isa_queue_name(q),
                        text))
      return false;
  return sums_to_cycles(have, WK_COUNTER_subset_none, 8, "the subsets", text);
}
