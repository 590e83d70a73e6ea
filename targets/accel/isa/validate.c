/* SPDX-License-Identifier: Apache-2.0
 * What can be said of a command alone: its fields, their combinations, and that every byte of its
 * footprint exists. Strides are unsigned, so the last byte of a footprint is that of the last
 * element; only windows (CONV, DWC, POOL) need more, because of the padding. */
#include <stdarg.h>
#include <string.h>

#include "targets/accel/isa/internal.h"
#include "targets/accel/isa/parts.h"

typedef struct {
  const wk_machine *m;
  const wk_isa_command *c;
  const wk_isa_command_info *info;
  const int64_t *v;
  wk_isa_fault *f;
} validation;

/* The first fault stays. Returns false. */
static bool WK_PRINTF(4, 5)
    fault(validation *k, int error, const char *field, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  k->f->error = error;
  k->f->field = field;
  vsnprintf(k->f->text, sizeof k->f->text, fmt, ap);
  va_end(ap);
  return false;
}

typedef long long ll;

/* ---- header ---------------------------------------------------------------------------------- */

static bool validate_queue(validation *k) {
  const wk_isa_command *c = k->c;
  int queues = wk_machine_queues(k->m);
  if (!k->info) return fault(k, WK_ERROR_opcode, "opcode", "%u is no command", c->opcode);
  if (k->info->queues == 0) {
    if (c->queue) return fault(k, WK_ERROR_opcode, "queue", "it has no queue; the field is 0");
    return true;
  }
  if ((int)c->queue >= queues)
    return fault(k, WK_ERROR_opcode, "queue", "the machine has no queue %u (%s)", c->queue,
                 wk_isa_queue_name((int)c->queue));
  if (!(k->info->queues >> c->queue & 1))
    return fault(k, WK_ERROR_opcode, "queue", "%s cannot run it",
                 wk_isa_queue_name((int)c->queue));
  return true;
}

/* Before any other field: the machine looks at it first. */
static bool validate_waits(validation *k, const uint32_t *before) {
  const wk_isa_command *c = k->c;
  bool is_end = k->info->queues == 0; /* of which a wait is a stray bit */
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    const char *name = wk_isa_queue_name(q);
    if (!(c->wait >> q & 1)) continue;
    if (q >= wk_machine_queues(k->m))
      return fault(k, WK_ERROR_wait, "wait", "the machine has no queue %s", name);
    if (!is_end && before && c->threshold[q] > before[q])
      return fault(k, WK_ERROR_wait, "wait", "it waits for command %u of %s, of which %u come "
                   "before it", c->threshold[q], name, before[q]);
  }
  return true;
}

static bool validate_thresholds(validation *k) {
  const wk_isa_command *c = k->c;
  if (k->info->queues == 0 && c->wait)
    return fault(k, WK_ERROR_field, "wait", "it waits for nothing but the end of all queues");
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (!(c->wait >> q & 1) && c->threshold[q])
      return fault(k, WK_ERROR_field, wk_isa_header[WK_HEADER_threshold_ex + q].name,
                   "%u, but it does not wait for %s", c->threshold[q], wk_isa_queue_name(q));
  return true;
}

/* ---- single fields --------------------------------------------------------------------------- */

void wk_isa_field_range(const wk_isa_field *f, int64_t *low, int64_t *high) {
  bool is_signed = f->kind == WK_KIND_SIGNED;
  *low = is_signed ? -(INT64_C(1) << (f->bits - 1)) : 0;
  *high = (INT64_C(1) << (f->bits - is_signed)) - 1;
}

static bool validate_field(validation *k, const wk_isa_field *f, int64_t v) {
  int64_t low, high;
  wk_isa_field_range(f, &low, &high);
  if (v < low || v > high)
    return fault(k, WK_ERROR_field, f->name, "%lld is outside %lld to %lld", (ll)v, (ll)low,
                 (ll)high);
  if (f->kind == WK_KIND_COUNT && v == 0)
    return fault(k, WK_ERROR_field, f->name, "0 is no count");
  if (wk_isa_is_choice(f->kind) && !wk_isa_choice_of(f->kind, v))
    return fault(k, WK_ERROR_field, f->name, "%lld stands for nothing", (ll)v);
  return true;
}

static bool is_lanes(const char *name) {
  return !strcmp(name, "n") || !strcmp(name, "k_tail") || !strcmp(name, "rows");
}

static bool validate_header(validation *k) { /* a command that was decoded passes */
  for (int i = 0; i < WK_HEADER_COUNT; i++)
    if (!validate_field(k, &wk_isa_header[i], k->c->header[i])) return false;
  return true;
}

static bool validate_fields(validation *k) {
  if (!validate_thresholds(k)) return false;
  if (k->c->reserved) return fault(k, WK_ERROR_field, "reserved", "it is not zero");
  for (int i = 0; i < k->info->n_fields; i++) {
    const wk_isa_field *f = &k->info->fields[i];
    if (!validate_field(k, f, k->v[i])) return false;
    if (is_lanes(f->name) && k->v[i] > k->m->array)
      return fault(k, WK_ERROR_field, f->name, "%lld is more than the array's %lld lanes",
                   (ll)k->v[i], (ll)k->m->array);
  }
  if (k->c->has_stray)
    return fault(k, WK_ERROR_field, NULL, "a bit behind its last field is set");
  return true;
}

static bool is_aligned(validation *k, const char *field, int64_t v) {
  if (v % k->m->array == 0) return true;
  return fault(k, WK_ERROR_field, field, "%lld is no multiple of the array's %lld lanes", (ll)v,
               (ll)k->m->array);
}

/* ---- footprints ------------------------------------------------------------------------------ */

/* [first, end) of the scratchpad. */
static bool in_spm(validation *k, const char *field, int64_t first, int64_t end) {
  if (first >= 0 && end <= k->m->scratchpad) return true;
  return fault(k, WK_ERROR_range, field,
               "bytes %lld to %lld are not all in the scratchpad of %lld bytes", (ll)first,
               (ll)end - 1, (ll)k->m->scratchpad);
}

static bool in_tables(validation *k, const char *field, int64_t first, int64_t n) {
  if (first + n <= k->m->tables) return true;
  return fault(k, WK_ERROR_range, field, "tables %lld to %lld are not all among the machine's %lld",
               (ll)first, (ll)(first + n - 1), (ll)k->m->tables);
}

/* A record at par with so many entries. */
static bool has_record(validation *k, int64_t par, int64_t entries) {
  return is_aligned(k, "par", par) &&
         in_spm(k, "par", par, par + WK_RECORD_BYTES + entries * WK_ENTRY_BYTES);
}

/* One axis of a window: where its taps that are no padding begin, in bytes from the address of
 * tap 0 of output 0, and how many of them a window has at most. False: all is padding. */
typedef struct { int64_t n, k, stride, dilation, pad, size, step, k_step; } window_axis;
typedef struct { int64_t low, high, most; } window_span;

static int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -wk_ceil_div(-a, b); }

static bool span_of(const window_axis *x, window_span *out) {
  bool any = false;
  int64_t most = 0;
  for (int64_t t = 0; t < x->k; t++) {
    int64_t first = 0, last = x->n - 1, shift = x->pad - t * x->dilation;
    if (x->size > 0) { /* 0 <= o * stride - shift < size */
      int64_t low = -floor_div(-shift, x->stride);
      int64_t high = floor_div(x->size - 1 + shift, x->stride);
      if (low > first) first = low;
      if (high < last) last = high;
    }
    if (first > last) continue;
    int64_t a = first * x->step + t * x->k_step, b = last * x->step + t * x->k_step;
    if (!any || a < out->low) out->low = a;
    if (!any || b > out->high) out->high = b;
    any = true;
  }
  for (int64_t o = 0; o < x->n; o++) {
    int64_t taps = 0;
    for (int64_t t = 0; t < x->k; t++) {
      int64_t at = o * x->stride + t * x->dilation - x->pad;
      taps += x->size == 0 || (at >= 0 && at < x->size);
    }
    if (taps > most) most = taps;
  }
  out->most = most;
  return any;
}

/* The input of a window command: blocks of so many bytes from each tap. *taps: the most taps that a
 * window has outside the padding. */
static bool validate_window(validation *k, int64_t bytes, int64_t *taps) {
  const wk_window w = wk_window_of(k->c);
  const window_axis y = {w.ny, w.ky, w.sy, w.dy, w.pad_t, w.h, w.in_y, w.k_y};
  const window_axis x = {w.nx, w.kx, w.sx, w.dx, w.pad_l, w.w, w.in_x, w.k_x};
  window_span rows, columns;
  bool has_rows = span_of(&y, &rows), has_columns = span_of(&x, &columns);
  *taps = 0;
  if (!has_rows || !has_columns) return true;
  *taps = rows.most * columns.most;
  return in_spm(k, "in", w.in + rows.low + columns.low,
                w.in + rows.high + columns.high + bytes);
}

/* The last byte of the blocks of a sum or row: all of them N bytes but the last. */
static int64_t blocks(const validation *k, int64_t count, int64_t step, int64_t tail) {
  int64_t last = (count - 1) * step + tail;
  int64_t before = count > 1 ? (count - 2) * step + k->m->array : 0;
  return last > before ? last : before;
}

/* ---- accumulators and drain ------------------------------------------------------------------ */

static bool validate_epilogue(validation *k) {
  const wk_epilogue e = wk_epilogue_of(k->c);
  int64_t entries = wk_machine_entries(k->m), acc = (int64_t)e.acc, end = acc + e.ny * e.nx;
  int64_t out = (int64_t)e.out, res = (int64_t)e.res;
  int64_t bytes = (e.ny - 1) * (int64_t)e.out_y + (e.nx - 1) * (int64_t)e.out_x + e.n;
  if (end > entries)
    return fault(k, WK_ERROR_range, "acc",
                 "entries %lld to %lld are not all among the %lld of the accumulators", (ll)acc,
                 (ll)(end - 1), (ll)entries);
  if (!e.drain) return true;
  return has_record(k, (int64_t)e.par, e.n) && in_spm(k, "out", out, out + bytes) &&
         (!e.residual || in_spm(k, "res", res, res + bytes));
}

static bool validate_conv(validation *k) {
  const int64_t *v = k->v, n = k->m->array;
  int64_t tiles = v[WK_CONV_kc] * v[WK_CONV_ky] * v[WK_CONV_kx], wt = v[WK_CONV_wt], taps;
  return is_aligned(k, "wt", wt) &&
         validate_window(k, blocks(k, v[WK_CONV_kc], v[WK_CONV_k_c], v[WK_CONV_k_tail]), &taps) &&
         in_spm(k, "wt", wt, wt + ((tiles - 1) * n + v[WK_CONV_n]) * n) && validate_epilogue(k);
}

static bool validate_dwc(validation *k) {
  const int64_t *v = k->v, n = k->m->array;
  int64_t width = v[WK_DWC_taps] == WK_CHOICE_TAPS_three ? 3 : 1, wt = v[WK_DWC_wt], taps;
  int64_t words = v[WK_DWC_ky] * wk_ceil_div(v[WK_DWC_kx], width) * width;
  if (width == 3) {
    if (v[WK_DWC_dx] != 1) return fault(k, WK_ERROR_field, "dx", "three taps need dx = 1");
    if (v[WK_DWC_k_x] != n)
      return fault(k, WK_ERROR_field, "k_x", "three taps need k_x = %lld", (ll)n);
    if (v[WK_DWC_sx] > 2) return fault(k, WK_ERROR_field, "sx", "three taps need sx <= 2");
    if (v[WK_DWC_in_x] != v[WK_DWC_sx] * n)
      return fault(k, WK_ERROR_field, "in_x", "three taps need in_x = sx * %lld", (ll)n);
  }
  return is_aligned(k, "wt", wt) && validate_window(k, v[WK_DWC_n], &taps) &&
         in_spm(k, "wt", wt, wt + words * n) && validate_epilogue(k);
}

static bool validate_mm(validation *k) {
  const int64_t *v = k->v, n = v[WK_MM_n], wt = v[WK_MM_wt], in = v[WK_MM_in];
  int64_t kc = v[WK_MM_kc], tail = v[WK_MM_k_tail], line = v[WK_MM_w_r], end = 0;
  for (int64_t c = kc > 1 ? kc - 2 : 0; c < kc; c++) { /* the last block and one before it */
    int64_t depth = c == kc - 1 ? tail : k->m->array;
    int64_t tile = v[WK_MM_transposed] ? (depth - 1) * line + n : (n - 1) * line + depth;
    if (c * v[WK_MM_w_c] + tile > end) end = c * v[WK_MM_w_c] + tile;
  }
  return in_spm(k, "in", in, in + (v[WK_MM_ny] - 1) * v[WK_MM_in_y] +
                                 blocks(k, kc, v[WK_MM_k_c], tail)) &&
         in_spm(k, "wt", wt, wt + end) && validate_epilogue(k);
}

/* ---- vector unit ----------------------------------------------------------------------------- */

static bool validate_map(validation *k) {
  const int64_t *v = k->v, n = v[WK_MAP_n];
  wk_isa_uses uses = wk_isa_uses_of(k->c);
  int64_t i0 = v[WK_MAP_n0] - 1, i1 = v[WK_MAP_n1] - 1, i2 = v[WK_MAP_n2] - 1;
  int64_t a = i0 * v[WK_MAP_a0] + i1 * v[WK_MAP_a1] + i2 * v[WK_MAP_a2];
  int64_t b = i0 * v[WK_MAP_b0] + i1 * v[WK_MAP_b1] + i2 * v[WK_MAP_b2];
  int64_t y = i0 * v[WK_MAP_y0] + i1 * v[WK_MAP_y1] + i2 * v[WK_MAP_y2];
  int64_t width = v[WK_MAP_splat] ? 1 : n;
  return in_spm(k, "a", v[WK_MAP_a], v[WK_MAP_a] + a + n) &&
         (!uses.second || in_spm(k, "b", v[WK_MAP_b], v[WK_MAP_b] + b + width)) &&
         in_spm(k, "out", v[WK_MAP_out], v[WK_MAP_out] + y + n) &&
         (!uses.record || has_record(k, v[WK_MAP_par], 0)) &&
         (!uses.tables || in_tables(k, "table", v[WK_MAP_table], uses.tables));
}

static bool validate_pool(validation *k) {
  const int64_t *v = k->v, n = v[WK_POOL_n], out = v[WK_POOL_out];
  wk_isa_uses uses = wk_isa_uses_of(k->c);
  int64_t y = (v[WK_POOL_ny] - 1) * v[WK_POOL_out_y] + (v[WK_POOL_nx] - 1) * v[WK_POOL_out_x], taps;
  if (!validate_window(k, n, &taps) || !in_spm(k, "out", out, out + y + n)) return false;
  return !uses.record ||
         has_record(k, v[WK_POOL_par], uses.entries == WK_USES_ENTRY_0 ? 1 : taps);
}

static bool validate_row(validation *k) {
  const int64_t *v = k->v, in = v[WK_ROW_in], out = v[WK_ROW_out];
  int64_t rows = v[WK_ROW_ny] - 1, kc = v[WK_ROW_kc], tail = v[WK_ROW_k_tail];
  wk_isa_uses uses = wk_isa_uses_of(k->c);
  bool by_column = uses.entries == WK_USES_ENTRY_OF_COLUMN;
  int64_t length = (kc - 1) * k->m->array + tail;
  int64_t width = uses.reduces ? 1 : blocks(k, kc, v[WK_ROW_out_c], tail);
  if (!uses.reduces && length > 1 << 15)
    return fault(k, WK_ERROR_field, "kc", "%lld elements of a row are more than 32768", (ll)length);
  return in_spm(k, "in", in, in + rows * v[WK_ROW_in_y] + blocks(k, kc, v[WK_ROW_in_c], tail)) &&
         in_spm(k, "out", out, out + rows * v[WK_ROW_out_y] + width) &&
         (!uses.record || has_record(k, v[WK_ROW_par], by_column ? length : 1)) &&
         (!uses.tables || in_tables(k, "table", v[WK_ROW_table], uses.tables));
}

static bool validate_trn(validation *k) {
  const int64_t *v = k->v, in = v[WK_TRN_in], out = v[WK_TRN_out];
  int64_t x = v[WK_TRN_nx] - 1, y = v[WK_TRN_ny] - 1, rows = v[WK_TRN_rows], n = v[WK_TRN_n];
  return in_spm(k, "in", in, in + y * v[WK_TRN_in_y] + x * v[WK_TRN_in_x] +
                                 (rows - 1) * v[WK_TRN_in_r] + n) &&
         in_spm(k, "out", out, out + y * v[WK_TRN_out_y] + x * v[WK_TRN_out_x] +
                                   (n - 1) * v[WK_TRN_out_r] + rows);
}

static bool validate_tab(validation *k) {
  int64_t in = k->v[WK_TAB_in], n = k->v[WK_TAB_count];
  return is_aligned(k, "in", in) && in_spm(k, "in", in, in + n * WK_TABLE_BYTES) &&
         in_tables(k, "table", k->v[WK_TAB_table], n);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

/* Is |d * step + rest| < width for some d of -(n-1) .. n-1? is_same: rest is 0 and d = 0 is the run
 * itself. The nearest to 0 are the two around -rest / step, as far as there are so many. */
static bool meets(int64_t step, int64_t n, int64_t rest, int64_t width, bool is_same) {
  if (is_same) return n > 1 && step < width;
  int64_t near = step ? floor_div(-rest, step) : 0;
  int64_t a = clamp(near, 1 - n, n - 1) * step + rest;
  int64_t b = clamp(near + 1, 1 - n, n - 1) * step + rest;
  return (a < 0 ? -a : a) < width || (b < 0 ? -b : b) < width;
}

/* Do two runs of an ST share a byte? The longest axis is solved, the other two are walked. */
static bool runs_meet(const int64_t *v) {
  int64_t n[3] = {v[WK_ST_n1], v[WK_ST_n2], v[WK_ST_n3]}, width = v[WK_ST_n0];
  int64_t s[3] = {v[WK_ST_s1], v[WK_ST_s2], v[WK_ST_s3]};
  int a = n[1] > n[0] ? 1 : 0;
  if (n[2] > n[a]) a = 2;
  int b = (a + 1) % 3, c = (a + 2) % 3;
  for (int64_t i = 0; i < n[b]; i++)
    for (int64_t j = 1 - n[c]; j < n[c]; j++)
      if (meets(s[a], n[a], i * s[b] + j * s[c], width, i == 0 && j == 0)) return true;
  return false;
}

/* Do two chunks of an LD share a byte? Chunks d lines and e places apart; the last line may be
 * shorter. */
static bool chunks_meet(const int64_t *v, int64_t chunks) {
  int64_t in_line = v[WK_LD_c1], width = v[WK_LD_c0], p1 = v[WK_LD_p1], p2 = v[WK_LD_p2];
  int64_t lines = wk_ceil_div(chunks, in_line), last = chunks - (lines - 1) * in_line;
  if (lines == 1) in_line = last;
  for (int64_t e = 1 - in_line; e < in_line; e++) {
    if (meets(p2, lines > 1 ? lines - 1 : 1, e * p1, width, e == 0)) return true;
    if (lines == 1 || e >= last) continue;
    int64_t gap = (lines - 1) * p2 + e * p1;
    if ((gap < 0 ? -gap : gap) < width) return true;
  }
  return false;
}

_Static_assert(WK_LD_p2 == WK_ST_p2 && WK_LD_dram == WK_ST_dram, "LD and ST have the same fields");

static bool partial_chunk(validation *k, int64_t bytes) {
  return fault(k, WK_ERROR_field, "c0", "%lld bytes is not a whole number of chunks of %lld",
               (ll)bytes, (ll)k->v[WK_LD_c0]);
}

static bool validate_transfer(validation *k) {
  const int64_t *v = k->v;
  bool is_load = k->c->opcode == WK_CMD_LD;
  int64_t bytes = v[WK_LD_n0] * v[WK_LD_n1] * v[WK_LD_n2] * v[WK_LD_n3]; /* of 56 bits at most */
  int64_t c0 = v[WK_LD_c0], c1 = v[WK_LD_c1];
  if (bytes >= WK_TRANSFER_BYTES)
    return fault(k, WK_ERROR_field, "n0", "it has 2^20 bytes or more");
  if (c0 > bytes) return partial_chunk(k, bytes);
  int64_t chunks = bytes / c0, lines = (chunks - 1) / c1;
  int64_t place = lines > 0 ? c1 - 1 : chunks - 1; /* of the line that reaches farthest */
  int64_t full = lines > 0 ? (lines - 1) * v[WK_LD_p2] + place * v[WK_LD_p1] : 0;
  int64_t last = lines * v[WK_LD_p2] + (chunks - 1 - lines * c1) * v[WK_LD_p1];
  int64_t spm = v[WK_LD_spm] + (full > last ? full : last) + c0;
  int64_t memory = v[WK_LD_dram] + (v[WK_LD_n1] - 1) * v[WK_LD_s1] +
                   (v[WK_LD_n2] - 1) * v[WK_LD_s2] + (v[WK_LD_n3] - 1) * v[WK_LD_s3] + v[WK_LD_n0];
  if (!in_spm(k, "spm", v[WK_LD_spm], spm)) return false;
  bool wraps = memory > INT64_C(1) << 32;
  if (memory > k->m->dram_size && !wraps)
    return fault(k, is_load ? WK_ERROR_read : WK_ERROR_write, "dram",
                 "bytes %lld to %lld are not all in the memory of %lld bytes", (ll)v[WK_LD_dram],
                 (ll)memory - 1, (ll)k->m->dram_size);
  if (bytes % c0) return partial_chunk(k, bytes); /* the machine notices at the end */
  if (wraps) {
    int64_t begin = memory - v[WK_LD_n0];
    bool begins = begin >= INT64_C(1) << 32;
    return fault(k, WK_ERROR_none, "dram", "its last run would %s at 0x%llx; addresses wrap at "
                 "2^32", begins ? "begin" : "end", (ll)(begins ? begin : memory - 1));
  }
  if (is_load && chunks_meet(v, chunks))
    return fault(k, WK_ERROR_none, "spm", "its chunks overlap in the scratchpad");
  if (!is_load && runs_meet(v))
    return fault(k, WK_ERROR_none, "dram", "its runs overlap in memory");
  return true;
}

static bool validate_fill(validation *k) {
  const int64_t *v = k->v, spm = v[WK_FILL_spm];
  return in_spm(k, "spm", spm, spm + (v[WK_FILL_c2] - 1) * v[WK_FILL_p2] +
                                   (v[WK_FILL_c1] - 1) * v[WK_FILL_p1] + v[WK_FILL_c0]);
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool validate_payload(validation *k) {
  switch (k->c->opcode) {
    case WK_CMD_LD:
    case WK_CMD_ST: return validate_transfer(k);
    case WK_CMD_FILL: return validate_fill(k);
    case WK_CMD_CONV: return validate_conv(k);
    case WK_CMD_DWC: return validate_dwc(k);
    case WK_CMD_MM: return validate_mm(k);
    case WK_CMD_MAP: return validate_map(k);
    case WK_CMD_POOL: return validate_pool(k);
    case WK_CMD_ROW: return validate_row(k);
    case WK_CMD_TRN: return validate_trn(k);
    case WK_CMD_TAB: return validate_tab(k);
    default: return true; /* MARK, END */
  }
}

bool wk_isa_find_fault(const wk_machine *m, const wk_isa_command *c, const uint32_t *before,
                       wk_isa_fault *out) {
  validation k = {m, c, wk_isa_command_of((int)c->opcode), c->v, out};
  *out = (wk_isa_fault){.error = WK_ERROR_none};
  return !(validate_queue(&k) && validate_header(&k) && validate_waits(&k, before) &&
           validate_fields(&k) && validate_payload(&k));
}

wk_status wk_isa_validate(const wk_machine *m, const wk_isa_command *c, const uint32_t *before,
                       uint32_t index, const char *place) {
  wk_isa_fault f;
  if (!wk_isa_find_fault(m, c, before, &f)) return NULL;
  const wk_isa_command_info *info = wk_isa_command_of((int)c->opcode);
  const char *name = info ? info->name : "?";
  if (!f.field) return wk_error_at(WK_INPUT, place, "command %u (%s): %s", index, name, f.text);
  return wk_error_at(WK_INPUT, place, "command %u (%s): field '%s': %s", index, name, f.field,
                     f.text);
}
