/* SPDX-License-Identifier: Apache-2.0
 * The tables of the accelerator's commands, their encoding, and what is said of a command alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/accel_commands.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static void fields_are_dense(void **state) {
  int lsb = 0;
  (void)state;
  for (int i = 0; i < WK_HEADER_COUNT; i++) {
    assert_int_equal(wk_isa_header[i].lsb, lsb);
    lsb += wk_isa_header[i].bits;
  }
  assert_int_equal(lsb, 160);
  for (size_t k = 0; k < wk_isa_commands_count; k++) {
    const wk_isa_command_info *c = &wk_isa_commands[k];
    int at = lsb;
    for (int i = 0; i < c->n_fields; i++) {
      assert_int_equal(c->fields[i].lsb, at);
      assert_in_range(c->fields[i].bits, 1, 32);
      at += c->fields[i].bits;
    }
    assert_true(at <= 512);
    assert_ptr_equal(wk_isa_command_of(c->opcode), c);
    assert_ptr_equal(wk_isa_command_named(wk_isa_command_text(c).s), c);
  }
  assert_string_equal(wk_isa_commands[3].fields[WK_CONV_in].name, "in");
  assert_string_equal(wk_isa_commands[3].fields[WK_CONV_n].name, "n");
  assert_null(wk_isa_command_of(0));
  assert_null(wk_isa_command_of(31));
}

static void counters_have_names(void **state) {
  (void)state;
  assert_int_equal(WK_COUNTER_COUNT, WK_COUNTER_QUEUES + 60);
  assert_string_equal(wk_isa_counter_name(0).s, "cycles");
  assert_string_equal(wk_isa_counter_name(WK_COUNTER_QUEUES).s, "ex.busy");
  assert_string_equal(
      wk_isa_counter_name(wk_isa_counter(WK_QUEUE_ld2, WK_STATE_wait, WK_QUEUE_ld2)).s,
      "ld2.wait.ld2");
  assert_int_equal(wk_isa_counter(WK_QUEUE_ld2, WK_STATE_wait, WK_QUEUE_ld2), WK_COUNTER_COUNT - 1);
  assert_string_equal(wk_isa_counter_name(WK_COUNTER_COUNT).s, "");
}

static void texts_are_complete(void **state) {
  static const char *const wanted[] = {
      "localparam int unsigned Array = 8;", " OpEnd = 5'd13;", "ConvInLsb = 160;", "ConvInW = 21;",
      "MapAdd = 3'd1;", "RegStatus = 8'd16;", "NumCounters = ", "ErrRange = 8'd4;",
      "HdrThresholdLd2W = 20;", "AccEntries = 512;", "SpmAddrW = 16;", "Queues = 5;",
      "QLd1 = 3'd4;", "OpKnown = 32'b00000000000000000011111111111110;",
      "6'd56, 6'd4, 6'd56, 6'd1};", "9'd436, 9'd436, 9'd27};"};
  wk_machine m;
  wk_str sv = {0}, page = {0};
  (void)state;
  assert_null(wk_machine_read("tiny", &m));
  wk_isa_systemverilog(&sv, &m);
  for (size_t i = 0; i < WK_COUNTOF(wanted); i++)
    if (!strstr(sv.s, wanted[i])) fail_msg("the package lacks %s", wanted[i]);
  wk_isa_markdown(&page);
  assert_null(strchr(page.s, '@')); /* every table was found */
  wk_str_free(&sv);
  wk_str_free(&page);
}

/* ---- encoding -------------------------------------------------------------------------------- */

static void encodes_every_value(void **state) {
  wk_rng r = {1};
  (void)state;
  for (int round = 0; round < 4000; round++) {
    const wk_isa_command_info *info = &wk_isa_commands[round % (int)wk_isa_commands_count];
    wk_isa_command c = {.opcode = (uint32_t)info->opcode}, back;
    uint8_t bytes[WK_COMMAND_BYTES];
    for (int i = 1; i < WK_HEADER_COUNT; i++)
      c.header[i] = (uint32_t)(wk_rng_next(&r) & ((1u << wk_isa_header[i].bits) - 1));
    for (int i = 0; i < info->n_fields; i++) {
      const wk_isa_field *f = &info->fields[i];
      c.v[i] = (int64_t)(wk_rng_next(&r) & ((UINT64_C(1) << f->bits) - 1));
      if (f->kind == WK_KIND_SIGNED) c.v[i] -= INT64_C(1) << (f->bits - 1);
    }
    wk_isa_encode(&c, bytes);
    assert_true(wk_isa_decode(bytes, &back));
    assert_false(back.has_stray);
    assert_memory_equal(c.header, back.header, sizeof c.header);
    assert_memory_equal(c.v, back.v, sizeof c.v);
  }
}

static void sees_stray_bits(void **state) {
  uint8_t bytes[WK_COMMAND_BYTES] = {WK_CMD_MARK};
  wk_isa_command c;
  (void)state;
  assert_true(wk_isa_decode(bytes, &c));
  assert_false(c.has_stray);
  bytes[63] = 0x80;
  assert_true(wk_isa_decode(bytes, &c));
  assert_true(c.has_stray);
  bytes[0] = 31;
  assert_false(wk_isa_decode(bytes, &c));
}

/* A known encoding: what a second implementation would be compared with. */
static void encodes_a_known_command(void **state) {
  wk_machine m;
  uint8_t bytes[WK_COMMAND_BYTES], want[WK_COMMAND_BYTES] = {0};
  (void)state;
  wk_machine_defaults(&m);
  wk_isa_command c = wk_isa_command_default(&m, WK_CMD_TAB);
  c.queue = WK_QUEUE_ve;
  c.operator = 0x1234;
  wk_isa_wait(&c, WK_QUEUE_ld0, 5);
  wk_isa_wait(&c, WK_QUEUE_ld0, 3); /* the larger one counts */
  c.v[WK_TAB_in] = 0xabcd0;
  c.v[WK_TAB_table] = 6;
  c.v[WK_TAB_count] = 2;
  wk_isa_encode(&c, bytes);
  const uint64_t head = 11 | 1 << 5 | UINT64_C(0x1234) << 11 | UINT64_C(1) << (27 + 3);
  for (int i = 0; i < 8; i++) want[i] = (uint8_t)(head >> 8 * i);
  want[11] = 5 << (93 - 88);
  const uint32_t payload = 0xabcd0 | 6 << 20 | 2 << 24; /* from bit 160 */
  for (int i = 0; i < 4; i++) want[20 + i] = (uint8_t)(payload >> 8 * i);
  assert_memory_equal(bytes, want, sizeof want);
}

/* ---- footprints: docs/isa.md, byte by byte --------------------------------------------------- */

typedef struct { int64_t low, high; } extent; /* of all bytes; low > high: none */

static void touch(extent *e, int64_t at, int64_t n) {
  if (n <= 0) return;
  if (at < e->low) e->low = at;
  if (at + n > e->high) e->high = at + n;
}

static void touch_record(extent *e, int64_t par, int64_t entries) {
  touch(e, par, 32 + 8 * entries);
}

/* The fields of windows are the same in CONV, DWC and POOL. Returns the most taps of a window. */
static int64_t touch_window(extent *e, const int64_t *v, int64_t blocks, int64_t step, int64_t n,
                            int64_t tail) {
  int64_t most = 0;
  for (int64_t oy = 0; oy < v[WK_CONV_ny]; oy++)
    for (int64_t ox = 0; ox < v[WK_CONV_nx]; ox++) {
      int64_t taps = 0;
      for (int64_t ky = 0; ky < v[WK_CONV_ky]; ky++)
        for (int64_t kx = 0; kx < v[WK_CONV_kx]; kx++) {
          int64_t y = oy * v[WK_CONV_sy] + ky * v[WK_CONV_dy] - v[WK_CONV_pad_t];
          int64_t x = ox * v[WK_CONV_sx] + kx * v[WK_CONV_dx] - v[WK_CONV_pad_l];
          if (v[WK_CONV_h] && (y < 0 || y >= v[WK_CONV_h])) continue;
          if (v[WK_CONV_w] && (x < 0 || x >= v[WK_CONV_w])) continue;
          taps++;
          for (int64_t c = 0; c < blocks; c++)
            touch(e, v[WK_CONV_in] + oy * v[WK_CONV_in_y] + ox * v[WK_CONV_in_x] +
                         ky * v[WK_CONV_k_y] + kx * v[WK_CONV_k_x] + c * step,
                  c == blocks - 1 ? tail : n);
        }
      if (taps > most) most = taps;
    }
  return most;
}

static void touch_plane(extent *e, int64_t at, int64_t ny, int64_t y, int64_t nx, int64_t x,
                        int64_t n) {
  for (int64_t i = 0; i < ny; i++)
    for (int64_t k = 0; k < nx; k++) touch(e, at + i * y + k * x, n);
}

static void touch_drain(extent *e, const int64_t *f, int64_t ny, int64_t nx, int64_t out_x) {
  enum { ACC, ACCUMULATE, DRAIN, RESIDUAL, OUT, OUT_Y, PAR, RES, LANES };
  if (!f[DRAIN]) return;
  touch_record(e, f[PAR], f[LANES]);
  touch_plane(e, f[OUT], ny, f[OUT_Y], nx, out_x, f[LANES]);
  if (f[RESIDUAL]) touch_plane(e, f[RES], ny, f[OUT_Y], nx, out_x, f[LANES]);
}

static void touch_mm(extent *e, const int64_t *v, int64_t n) {
  for (int64_t c = 0; c < v[WK_MM_kc]; c++) {
    int64_t depth = c == v[WK_MM_kc] - 1 ? v[WK_MM_k_tail] : n;
    for (int64_t y = 0; y < v[WK_MM_ny]; y++)
      touch(e, v[WK_MM_in] + y * v[WK_MM_in_y] + c * v[WK_MM_k_c], depth);
    for (int64_t i = 0; i < depth; i++)
      for (int64_t o = 0; o < v[WK_MM_n]; o++)
        touch(e, v[WK_MM_wt] + c * v[WK_MM_w_c] +
                     (v[WK_MM_transposed] ? i * v[WK_MM_w_r] + o : o * v[WK_MM_w_r] + i), 1);
  }
  touch_drain(e, v + WK_MM_acc, v[WK_MM_ny], 1, 0);
}

static void touch_map(extent *e, const int64_t *v) {
  bool is_binary = v[WK_MAP_fn] >= WK_CHOICE_MAP_add && v[WK_MAP_fn] <= WK_CHOICE_MAP_min;
  for (int64_t i = 0; i < v[WK_MAP_n2]; i++)
    for (int64_t k = 0; k < v[WK_MAP_n1]; k++)
      for (int64_t j = 0; j < v[WK_MAP_n0]; j++) {
        int64_t n = v[WK_MAP_n];
        touch(e, v[WK_MAP_a] + i * v[WK_MAP_a2] + k * v[WK_MAP_a1] + j * v[WK_MAP_a0], n);
        touch(e, v[WK_MAP_out] + i * v[WK_MAP_y2] + k * v[WK_MAP_y1] + j * v[WK_MAP_y0], n);
        if (is_binary)
          touch(e, v[WK_MAP_b] + i * v[WK_MAP_b2] + k * v[WK_MAP_b1] + j * v[WK_MAP_b0],
                v[WK_MAP_splat] ? 1 : n);
      }
  if (is_binary || v[WK_MAP_fn] == WK_CHOICE_MAP_scale) touch_record(e, v[WK_MAP_par], 0);
}

static void touch_row(extent *e, const int64_t *v, int64_t n) {
  bool is_one = v[WK_ROW_fn] == WK_CHOICE_ROW_mean || v[WK_ROW_fn] == WK_CHOICE_ROW_max;
  for (int64_t y = 0; y < v[WK_ROW_ny]; y++)
    for (int64_t c = 0; c < v[WK_ROW_kc]; c++) {
      int64_t width = c == v[WK_ROW_kc] - 1 ? v[WK_ROW_k_tail] : n;
      touch(e, v[WK_ROW_in] + y * v[WK_ROW_in_y] + c * v[WK_ROW_in_c], width);
      if (is_one) touch(e, v[WK_ROW_out] + y * v[WK_ROW_out_y], 1);
      else touch(e, v[WK_ROW_out] + y * v[WK_ROW_out_y] + c * v[WK_ROW_out_c], width);
    }
  bool is_norm = v[WK_ROW_fn] == WK_CHOICE_ROW_layernorm || v[WK_ROW_fn] == WK_CHOICE_ROW_rmsnorm;
  int64_t length = (v[WK_ROW_kc] - 1) * n + v[WK_ROW_k_tail];
  if (v[WK_ROW_fn] != WK_CHOICE_ROW_max) touch_record(e, v[WK_ROW_par], is_norm ? length : 1);
}

static void touch_trn(extent *e, const int64_t *v) {
  for (int64_t y = 0; y < v[WK_TRN_ny]; y++)
    for (int64_t x = 0; x < v[WK_TRN_nx]; x++)
      for (int64_t r = 0; r < v[WK_TRN_rows]; r++)
        for (int64_t i = 0; i < v[WK_TRN_n]; i++) {
          touch(e, v[WK_TRN_in] + y * v[WK_TRN_in_y] + x * v[WK_TRN_in_x] + r * v[WK_TRN_in_r] + i,
                1);
          touch(e, v[WK_TRN_out] + y * v[WK_TRN_out_y] + x * v[WK_TRN_out_x] +
                       i * v[WK_TRN_out_r] + r, 1);
        }
}

static extent spm_extent(const wk_machine *m, const wk_isa_command *c) {
  const int64_t *v = c->v, n = m->array;
  extent e = {INT64_MAX, INT64_MIN};
  int64_t taps, chunks;
  switch (c->opcode) {
    case WK_CMD_CONV:
      touch_window(&e, v, v[WK_CONV_kc], v[WK_CONV_k_c], n, v[WK_CONV_k_tail]);
      for (int64_t t = 0; t < v[WK_CONV_kc] * v[WK_CONV_ky] * v[WK_CONV_kx]; t++)
        touch(&e, v[WK_CONV_wt] + t * n * n, v[WK_CONV_n] * n);
      touch_drain(&e, v + WK_CONV_acc, v[WK_CONV_ny], v[WK_CONV_nx], v[WK_CONV_out_x]);
      break;
    case WK_CMD_DWC:
      taps = v[WK_DWC_taps] == WK_CHOICE_TAPS_three ? 3 : 1;
      touch_window(&e, v, 1, 0, n, v[WK_DWC_n]);
      for (int64_t t = 0; t < v[WK_DWC_ky] * ((v[WK_DWC_kx] + taps - 1) / taps) * taps; t++)
        touch(&e, v[WK_DWC_wt] + t * n, n);
      touch_drain(&e, v + WK_DWC_acc, v[WK_DWC_ny], v[WK_DWC_nx], v[WK_DWC_out_x]);
      break;
    case WK_CMD_MM: touch_mm(&e, v, n); break;
    case WK_CMD_MAP: touch_map(&e, v); break;
    case WK_CMD_ROW: touch_row(&e, v, n); break;
    case WK_CMD_TRN: touch_trn(&e, v); break;
    case WK_CMD_TAB: touch(&e, v[WK_TAB_in], 256 * v[WK_TAB_count]); break;
    case WK_CMD_POOL:
      taps = touch_window(&e, v, 1, 0, n, v[WK_POOL_n]);
      touch_plane(&e, v[WK_POOL_out], v[WK_POOL_ny], v[WK_POOL_out_y], v[WK_POOL_nx],
                  v[WK_POOL_out_x], v[WK_POOL_n]);
      if (v[WK_POOL_fn] == WK_CHOICE_POOL_mean) touch_record(&e, v[WK_POOL_par], 1);
      if (v[WK_POOL_fn] == WK_CHOICE_POOL_valid_mean) touch_record(&e, v[WK_POOL_par], taps);
      break;
    case WK_CMD_FILL:
      touch_plane(&e, v[WK_FILL_spm], v[WK_FILL_c2], v[WK_FILL_p2], v[WK_FILL_c1], v[WK_FILL_p1],
                  v[WK_FILL_c0]);
      break;
    case WK_CMD_LD:
    case WK_CMD_ST:
      chunks = v[WK_LD_n0] * v[WK_LD_n1] * v[WK_LD_n2] * v[WK_LD_n3] / v[WK_LD_c0];
      for (int64_t i = 0; i < chunks; i++)
        touch(&e, v[WK_LD_spm] + i / v[WK_LD_c1] * v[WK_LD_p2] + i % v[WK_LD_c1] * v[WK_LD_p1],
              v[WK_LD_c0]);
      break;
    default: break;
  }
  return e;
}

/* Commands whose fields are all right are refused exactly when they touch a byte outside. */
static void footprints_are_exact(void **state) {
  int outside = 0, inside = 0;
  wk_rng r = {2};
  (void)state;
  for (int round = 0; round < 40000; round++) {
    const wk_isa_command_info *info = &wk_isa_commands[round % (int)wk_isa_commands_count];
    wk_machine m = draw_machine(&r);
    wk_isa_command c = draw_command(&r, &m, info->opcode);
    wk_isa_fault f;
    /* near the end of the scratchpad */
    for (int i = 0; i < info->n_fields; i++) {
      const wk_isa_field *field = &info->fields[i];
      bool is_address = field->kind == WK_KIND_SPM || field->kind == WK_KIND_SIGNED;
      if (!is_address || draw(&r, 0, 2)) continue;
      c.v[i] = m.scratchpad - draw(&r, 1, draw(&r, 0, 1) ? 300 : 3000);
      if (c.v[i] % m.array && draw(&r, 0, 9)) c.v[i] -= c.v[i] % m.array;
    }
    extent e = spm_extent(&m, &c);
    bool is_out = e.low <= e.high && (e.low < 0 || e.high > m.scratchpad);
    bool is_fault = wk_isa_find_fault(&m, &c, NULL, &f);
    bool is_spm = is_fault && f.error == WK_ERROR_range && strstr(f.text, "scratchpad");
    if (is_fault && !is_spm) continue;
    if (is_out != is_spm)
      fail_msg("%s (round %d): bytes %lld to %lld of %lld: %s", info->name, round,
               (long long)e.low, (long long)e.high, (long long)m.scratchpad,
               is_fault ? f.text : "accepted");
    if (is_out) outside++;
    else inside++;
  }
  assert_true(outside > 2500 && inside > 2500);
}

/* ---- headers: the code of the first rule that is broken -------------------------------------- */

static int code_of(const wk_machine *m, const wk_isa_command *c) {
  const uint32_t before[WK_QUEUE_COUNT] = {2, 2, 2, 2, 2};
  wk_isa_fault f;
  return wk_isa_find_fault(m, c, before, &f) ? f.error : WK_ERROR_none;
}

/* Opcode and queue, then waits, then every other field, as sim/rtl/wick_dispatch.sv. */
static void headers_fail_in_order(void **state) {
  wk_machine m;
  (void)state;
  assert_null(wk_machine_read("tiny", &m)); /* it has no ld2 */
  for (int flaws = 0; flaws < 64; flaws++)
    for (int is_end = 0; is_end < 2; is_end++) {
      wk_isa_command c = wk_isa_command_default(&m, is_end ? WK_CMD_END : WK_CMD_MARK);
      bool bad_queue = flaws & 1, bad_wait = flaws & 2, bad_field = flaws & 60;
      if (flaws & 1) c.queue = WK_QUEUE_ve;
      if (flaws & 2) wk_isa_wait(&c, WK_QUEUE_ld2, 0);
      if (flaws & 4) c.threshold[WK_QUEUE_ve] = 1; /* without a wait */
      if (flaws & 8) c.reserved = 1;
      if (flaws & 16) c.has_stray = true;
      if (flaws & 32) c.threshold[WK_QUEUE_ld2] = 1;
      assert_int_equal(code_of(&m, &c), bad_queue   ? WK_ERROR_opcode
                                        : bad_wait  ? WK_ERROR_wait
                                        : bad_field ? WK_ERROR_field
                                                    : WK_ERROR_none);
      wk_isa_wait(&c, WK_QUEUE_ex, 2);
      bad_field = bad_field || is_end;
      assert_int_equal(code_of(&m, &c), bad_queue   ? WK_ERROR_opcode
                                        : bad_wait  ? WK_ERROR_wait
                                        : bad_field ? WK_ERROR_field
                                                    : WK_ERROR_none);
      wk_isa_wait(&c, WK_QUEUE_ex, 3);
      bad_wait = bad_wait || !is_end;
      assert_int_equal(code_of(&m, &c), bad_queue  ? WK_ERROR_opcode
                                        : bad_wait ? WK_ERROR_wait
                                                   : WK_ERROR_field);
    }
}

/* ---- transfers that overlap themselves ------------------------------------------------------- */

static bool overlaps(const wk_isa_command *c, bool is_load) {
  static uint8_t seen[1 << 16];
  const int64_t *v = c->v;
  int64_t n[4] = {v[WK_LD_n0], v[WK_LD_n1], v[WK_LD_n2], v[WK_LD_n3]};
  int64_t total = n[0] * n[1] * n[2] * n[3];
  memset(seen, 0, sizeof seen);
  for (int64_t i = 0; i < total; i++) {
    int64_t chunk = i / v[WK_LD_c0], run = i / n[0];
    int64_t spm = chunk / v[WK_LD_c1] * v[WK_LD_p2] + chunk % v[WK_LD_c1] * v[WK_LD_p1] +
                  i % v[WK_LD_c0];
    int64_t memory = run % n[1] * v[WK_LD_s1] + run / n[1] % n[2] * v[WK_LD_s2] +
                     run / n[1] / n[2] * v[WK_LD_s3] + i % n[0];
    int64_t at = is_load ? spm : memory;
    assert_in_range(at, 0, sizeof seen - 1);
    if (seen[at]++) return true;
  }
  return false;
}

static void overlaps_are_seen(void **state) {
  int seen = 0, clear = 0;
  wk_machine m;
  wk_rng r = {3};
  (void)state;
  assert_null(wk_machine_read("tiny", &m));
  for (int round = 0; round < 40000; round++) {
    bool is_load = round % 2;
    wk_isa_command c = draw_command(&r, &m, is_load ? WK_CMD_LD : WK_CMD_ST);
    wk_isa_fault f;
    c.v[WK_LD_spm] = c.v[WK_LD_dram] = 0;
    bool is_fault = wk_isa_find_fault(&m, &c, NULL, &f);
    if (is_fault && !strstr(f.text, "overlap")) continue;
    bool is_overlap = overlaps(&c, is_load);
    if (is_fault != is_overlap)
      fail_msg("round %d: %s", round, is_fault ? f.text : "an overlap is accepted");
    if (is_overlap) seen++;
    else clear++;
  }
  assert_true(seen > 2500 && clear > 2500);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_are_dense), cmocka_unit_test(counters_have_names),
      cmocka_unit_test(texts_are_complete), cmocka_unit_test(encodes_every_value),
      cmocka_unit_test(sees_stray_bits), cmocka_unit_test(encodes_a_known_command),
      cmocka_unit_test(headers_fail_in_order), cmocka_unit_test(footprints_are_exact),
      cmocka_unit_test(overlaps_are_seen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
