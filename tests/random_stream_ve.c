/* SPDX-License-Identifier: Apache-2.0
 * MAP, POOL, ROW, TRN and TAB. */
#include "tests/random_stream_draw.h"

static int64_t draw_lanes(drawing *d) {
  return stream_chance(d, 60) ? d->n : stream_int(d, 1, d->n);
}

/* u8: the field with the type of the operand that the record's za belongs to. */
static bool read_record(drawing *d, stream_command *x, int field, int u8, slot_kind kind,
                        int64_t entries, stream_factors use) {
  if (!stream_find_record(d, kind, entries, use, &x->c.v[field])) return false;
  stream_uses(x, BOX_SPM, false, x->c.v[field], WK_RECORD_BYTES + WK_ENTRY_BYTES * entries);
  x->c.v[u8] = stream_type_of_zero(d, d->za[stream_image_at(d, x->c.v[field])]);
  return true;
}

/* Some data of the scratchpad; also records and tables when is_any. */
static bool read_bytes(drawing *d, stream_command *x, int field, int64_t bytes, int64_t align) {
  if (!stream_place_read(d, bytes, align, &x->c.v[field])) return false;
  stream_uses(x, BOX_SPM, false, x->c.v[field], bytes);
  return true;
}

static bool write_bytes(drawing *d, stream_command *x, int field, int64_t bytes) {
  if (!stream_place_write(d, x, bytes, &x->c.v[field])) return false;
  stream_uses(x, BOX_SPM, true, x->c.v[field], bytes);
  return true;
}

/* ---- MAP ------------------------------------------------------------------------------------- */

typedef struct {
  int64_t s[3];
} steps;

static int64_t extent(const int64_t *count, const steps *t, int64_t bytes) {
  for (int i = 0; i < 3; i++) bytes += (count[i] - 1) * t->s[i];
  return bytes;
}

/* Words that do not overlap, the axes nested in any of two orders. */
static steps draw_apart(drawing *d, const int64_t *count, int64_t bytes) {
  steps t;
  t.s[0] = bytes + stream_gap(d);
  t.s[1] = count[0] * t.s[0] + stream_gap(d);
  if (stream_chance(d, 15)) {
    t.s[1] = bytes + stream_gap(d);
    t.s[0] = count[1] * t.s[1];
    t.s[2] = count[0] * t.s[0] + stream_gap(d);
  } else {
    t.s[2] = count[1] * t.s[1] + stream_gap(d);
  }
  return t;
}

static steps draw_steps(drawing *d, const int64_t *count, int64_t bytes) {
  steps t = draw_apart(d, count, bytes);
  for (int i = 0; i < 3; i++) {
    if (stream_chance(d, 15)) t.s[i] = 0;
    if (stream_chance(d, 10)) t.s[i] = stream_int(d, 0, 3 * d->n);
  }
  return t;
}

static bool map_operands(drawing *d, stream_command *x, const int64_t *count, bool has_b,
                         bool in_place, const steps *out) {
  int64_t *v = x->c.v, n = v[WK_MAP_n];
  steps a = in_place ? *out : draw_steps(d, count, n), b = draw_steps(d, count, n);
  v[WK_MAP_a0] = a.s[0], v[WK_MAP_a1] = a.s[1], v[WK_MAP_a2] = a.s[2];
  if (has_b) {
    v[WK_MAP_splat] = stream_chance(d, 25);
    v[WK_MAP_b0] = b.s[0], v[WK_MAP_b1] = b.s[1], v[WK_MAP_b2] = b.s[2];
    if (!read_bytes(d, x, WK_MAP_b, extent(count, &b, v[WK_MAP_splat] ? 1 : n), 1)) return false;
  }
  return in_place || read_bytes(d, x, WK_MAP_a, extent(count, &a, n), 1);
}

/* Where the operand lies that the result takes the place of: where the result does, or, when words
 * follow each other upwards, some bytes above it. */
static bool place_over_operand(drawing *d, stream_command *x, const int64_t *count,
                               const steps *t) {
  bool ascends = t->s[0] <= t->s[1] && t->s[1] <= t->s[2];
  int64_t above = ascends && stream_chance(d, 30) ? stream_int(d, 1, 2 * d->n) : 0;
  if (!write_bytes(d, x, WK_MAP_out, extent(count, t, x->c.v[WK_MAP_n]) + above)) return false;
  x->c.v[WK_MAP_a] = x->c.v[WK_MAP_out] + above;
  return true;
}

static bool draw_table(drawing *d, stream_command *x) {
  int64_t t = stream_int(d, 0, d->m->tables - 1);
  if (d->tables[t] == TABLE_UNWRITTEN) return false;
  x->c.v[WK_MAP_table] = t;
  stream_uses(x, BOX_TABLE, false, t, 1);
  return true;
}

bool stream_draw_map(drawing *d) {
  stream_command x = stream_begin(d, WK_CMD_MAP);
  int64_t *v = x.c.v, fn = stream_int(d, WK_CHOICE_MAP_move, WK_CHOICE_MAP_scale), count[3];
  bool has_b = fn >= WK_CHOICE_MAP_add && fn <= WK_CHOICE_MAP_min;
  bool has_record = has_b || fn == WK_CHOICE_MAP_scale, in_place = stream_chance(d, 25);
  v[WK_MAP_fn] = fn;
  v[WK_MAP_n] = draw_lanes(d);
  int64_t most = d->work / 2;
  for (int i = 0; i < 3; i++) {
    count[i] = stream_int(d, 1, stream_chance(d, 60) ? 5 : 30);
    if (count[i] > most) count[i] = most;
    most /= count[i];
    if (most < 1) most = 1;
  }
  v[WK_MAP_n0] = count[0], v[WK_MAP_n1] = count[1], v[WK_MAP_n2] = count[2];
  v[WK_MAP_a_u8] = stream_int(d, 0, 1);
  v[WK_MAP_b_u8] = stream_int(d, 0, 1);
  static const stream_factors uses[] = {[WK_CHOICE_MAP_add] = FACTORS_SUM,
                                        [WK_CHOICE_MAP_mul] = FACTORS_MUL,
                                        [WK_CHOICE_MAP_scale] = FACTORS_SUM};
  if (has_record) {
    if (!read_record(d, &x, WK_MAP_par, WK_MAP_a_u8, SLOT_RECORD, 0, uses[fn])) return false;
    v[WK_MAP_b_u8] = stream_type_of_zero(d, d->zb[stream_image_at(d, v[WK_MAP_par])]);
  }
  if (fn == WK_CHOICE_MAP_table && !draw_table(d, &x)) return false;
  steps out = draw_apart(d, count, v[WK_MAP_n]);
  if (!in_place && stream_chance(d, 4)) out.s[stream_int(d, 0, 2)] = 0; /* the last word stays */
  v[WK_MAP_y0] = out.s[0], v[WK_MAP_y1] = out.s[1], v[WK_MAP_y2] = out.s[2];
  if (!map_operands(d, &x, count, has_b, in_place, &out)) return false;
  bool placed = in_place ? place_over_operand(d, &x, count, &out)
                         : write_bytes(d, &x, WK_MAP_out, extent(count, &out, v[WK_MAP_n]));
  if (!placed) return false;
  stream_emit(d, &x);
  return true;
}

/* ---- POOL ------------------------------------------------------------------------------------ */

bool stream_draw_pool(drawing *d) {
  stream_command x = stream_begin(d, WK_CMD_POOL);
  int64_t *v = x.c.v, work = d->work;
  v[WK_POOL_fn] = stream_int(d, WK_CHOICE_POOL_max, WK_CHOICE_POOL_valid_mean);
  v[WK_POOL_u8] = stream_int(d, 0, 1);
  v[WK_POOL_n] = draw_lanes(d);
  v[WK_POOL_ky] = stream_small(d, 7), v[WK_POOL_kx] = stream_small(d, 7);
  v[WK_POOL_ny] = stream_int(d, 1, 8), v[WK_POOL_nx] = stream_int(d, 1, 8);
  while (v[WK_POOL_ky] * v[WK_POOL_kx] * v[WK_POOL_ny] * v[WK_POOL_nx] > work) {
    int f = v[WK_POOL_ny] * v[WK_POOL_nx] > 1 ? WK_POOL_ny : WK_POOL_ky;
    if (v[f] == 1) f++;
    v[f]--;
  }
  stream_draw_window(d, v, stream_chance(d, 60) ? v[WK_POOL_n] : stream_int(d, 1, 2 * d->n));
  int64_t taps = stream_most_taps(v), ny = v[WK_POOL_ny], nx = v[WK_POOL_nx];
  if (v[WK_POOL_fn] == WK_CHOICE_POOL_mean) taps = 1;
  if (v[WK_POOL_fn] != WK_CHOICE_POOL_max &&
      !read_record(d, &x, WK_POOL_par, WK_POOL_u8, SLOT_RECORD, taps, FACTORS_ANY))
    return false;
  if (!stream_place_window(d, &x, v[WK_POOL_n])) return false;
  v[WK_POOL_out_x] = v[WK_POOL_n] + stream_gap(d);
  v[WK_POOL_out_y] = nx * v[WK_POOL_out_x] + stream_gap(d);
  if (stream_chance(d, 15)) {
    v[WK_POOL_out_y] = v[WK_POOL_n] + stream_gap(d);
    v[WK_POOL_out_x] = ny * v[WK_POOL_out_y];
  }
  if (stream_chance(d, 6)) /* the last one stays */
    v[stream_chance(d, 50) ? WK_POOL_out_x : WK_POOL_out_y] = stream_int(d, 0, v[WK_POOL_n]);
  int64_t bytes = (ny - 1) * v[WK_POOL_out_y] + (nx - 1) * v[WK_POOL_out_x] + v[WK_POOL_n];
  if (!write_bytes(d, &x, WK_POOL_out, bytes)) return false;
  stream_emit(d, &x);
  return true;
}

/* ---- ROW ------------------------------------------------------------------------------------- */

static int64_t find_exponentials(const drawing *d) {
  for (int t = 0; t + 3 <= d->m->tables; t++)
    if (d->tables[t] == TABLE_EXP && d->tables[t + 1] == TABLE_EXP + 1 &&
        d->tables[t + 2] == TABLE_EXP + 2)
      return t;
  return -1;
}

static void emit_tab(drawing *d, int64_t in, int64_t table, int64_t count, int first) {
  stream_command x = stream_begin(d, WK_CMD_TAB);
  x.c.v[WK_TAB_in] = in;
  x.c.v[WK_TAB_table] = table;
  x.c.v[WK_TAB_count] = count;
  stream_uses(&x, BOX_SPM, false, in, count * WK_TABLE_BYTES);
  stream_uses(&x, BOX_TABLE, true, table, count);
  for (int64_t i = 0; i < count; i++) d->tables[table + i] = first ? first + (int)i : TABLE_ANY;
  stream_emit(d, &x);
}

static int64_t load_exponentials(drawing *d) {
  int64_t t = find_exponentials(d), in, at = 0;
  if (t >= 0 && stream_chance(d, 80)) return t;
  for (int i = 0; i < d->n_slots && !at; i++)
    if (d->slots[i].kind == SLOT_EXP) in = d->slots[i].from, at = 1;
  if (!at) return t;
  t = stream_int(d, 0, d->m->tables - 3);
  if (stream_chance(d, 70)) {
    emit_tab(d, in, t, 3, TABLE_EXP);
  } else {
    for (int i = 0; i < 3; i++) emit_tab(d, in + WK_TABLE_BYTES * i, t + i, 1, TABLE_EXP + i);
  }
  return t;
}

static bool row_is_norm(int64_t fn) {
  return fn == WK_CHOICE_ROW_layernorm || fn == WK_CHOICE_ROW_rmsnorm;
}

static bool draw_row_parameters(drawing *d, stream_command *x, int64_t fn) {
  int64_t length = (x->c.v[WK_ROW_kc] - 1) * d->n + x->c.v[WK_ROW_k_tail];
  if (fn == WK_CHOICE_ROW_max) {
    x->c.v[WK_ROW_par] = stream_int(d, 0, d->m->scratchpad - 1); /* means nothing */
    return true;
  }
  if (fn == WK_CHOICE_ROW_mean)
    return read_record(d, x, WK_ROW_par, WK_ROW_u8, SLOT_RECORD, 1, FACTORS_ANY);
  if (row_is_norm(fn))
    return read_record(d, x, WK_ROW_par, WK_ROW_u8, SLOT_NORM, length, FACTORS_ANY);
  if (!read_record(d, x, WK_ROW_par, WK_ROW_u8, SLOT_SOFTMAX, 1, FACTORS_ANY)) return false;
  int64_t t = load_exponentials(d);
  if (t < 0) return false;
  x->c.v[WK_ROW_table] = t;
  stream_uses(x, BOX_TABLE, false, t, 3);
  return true;
}

bool stream_draw_row(drawing *d) {
  static const int functions[] = {WK_CHOICE_ROW_softmax,   WK_CHOICE_ROW_softmax,
                                  WK_CHOICE_ROW_mean,      WK_CHOICE_ROW_max,
                                  WK_CHOICE_ROW_layernorm, WK_CHOICE_ROW_rmsnorm};
  stream_command x = stream_begin(d, WK_CMD_ROW);
  int64_t *v = x.c.v, fn = functions[stream_int(d, 0, 5)], n = d->n;
  bool is_one = fn == WK_CHOICE_ROW_mean || fn == WK_CHOICE_ROW_max;
  bool in_place = stream_chance(d, 25) && !is_one;
  v[WK_ROW_fn] = fn;
  v[WK_ROW_u8] = stream_int(d, 0, 1);
  v[WK_ROW_kc] = stream_small(d, d->work > 300 ? 20 : 7);
  if (row_is_norm(fn)) v[WK_ROW_kc] = 1 + v[WK_ROW_kc] % (STREAM_IMAGE_ENTRIES / n);
  v[WK_ROW_ny] = stream_int(d, 1, 1 + d->work / (12 * v[WK_ROW_kc] + 60));
  v[WK_ROW_k_tail] = draw_lanes(d);
  if (!draw_row_parameters(d, &x, fn)) return false;
  int64_t kc = v[WK_ROW_kc], ny = v[WK_ROW_ny], tail = v[WK_ROW_k_tail],
          length = (kc - 1) * n + tail;
  bool is_planar = stream_chance(d, 20); /* blocks of all rows together */
  v[WK_ROW_in_y] = is_planar ? n + stream_gap(d) : length + stream_gap(d);
  v[WK_ROW_in_c] = is_planar ? ny * v[WK_ROW_in_y] + stream_gap(d) : n;
  v[WK_ROW_out_y] = is_one ? 1 + stream_gap(d) : v[WK_ROW_in_y] + (in_place ? 0 : stream_gap(d));
  v[WK_ROW_out_c] = is_planar && !in_place ? ny * v[WK_ROW_out_y] : v[WK_ROW_in_c];
  if (!in_place && stream_chance(d, 6)) /* results on each other */
    v[stream_chance(d, 50) ? WK_ROW_out_c : WK_ROW_out_y] = stream_int(d, 0, n);
  int64_t in = (ny - 1) * v[WK_ROW_in_y] + (kc - 1) * v[WK_ROW_in_c] + (kc > 1 ? n : tail);
  int64_t out = (ny - 1) * v[WK_ROW_out_y] + (is_one ? 1 : (kc - 1) * v[WK_ROW_out_c] + n);
  if (!in_place && !read_bytes(d, &x, WK_ROW_in, in, 1)) return false;
  if (!write_bytes(d, &x, WK_ROW_out, in_place && in > out ? in : out)) return false;
  if (in_place) v[WK_ROW_in] = v[WK_ROW_out];
  stream_emit(d, &x);
  return true;
}

/* ---- TRN, TAB -------------------------------------------------------------------------------- */

bool stream_draw_trn(drawing *d) {
  stream_command x = stream_begin(d, WK_CMD_TRN);
  int64_t *v = x.c.v;
  v[WK_TRN_rows] = draw_lanes(d);
  v[WK_TRN_n] = draw_lanes(d);
  v[WK_TRN_nx] = stream_small(d, d->work > 300 ? 12 : 4);
  v[WK_TRN_ny] = stream_small(d, d->work > 300 ? 12 : 4);
  int64_t rows = v[WK_TRN_rows], n = v[WK_TRN_n], nx = v[WK_TRN_nx], ny = v[WK_TRN_ny];
  v[WK_TRN_in_r] = stream_chance(d, 85) ? nx * n + stream_gap(d) : stream_int(d, 0, 2 * n);
  v[WK_TRN_in_x] = stream_chance(d, 85) ? n : stream_int(d, 0, 60);
  v[WK_TRN_in_y] = stream_chance(d, 85) ? rows * v[WK_TRN_in_r] : stream_int(d, 0, 200);
  v[WK_TRN_out_r] = ny * rows + stream_gap(d); /* the transposed matrix */
  v[WK_TRN_out_y] = rows;
  v[WK_TRN_out_x] = n * v[WK_TRN_out_r];
  if (stream_chance(d, 40)) { /* tile after tile */
    v[WK_TRN_out_r] = rows + stream_gap(d);
    v[WK_TRN_out_x] = n * v[WK_TRN_out_r];
    v[WK_TRN_out_y] = nx * v[WK_TRN_out_x] + stream_gap(d);
  }
  if (stream_chance(d, 6)) v[WK_TRN_out_r] = stream_int(d, 0, rows); /* on each other */
  int64_t in =
      (ny - 1) * v[WK_TRN_in_y] + (nx - 1) * v[WK_TRN_in_x] + (rows - 1) * v[WK_TRN_in_r] + n;
  int64_t out =
      (ny - 1) * v[WK_TRN_out_y] + (nx - 1) * v[WK_TRN_out_x] + (n - 1) * v[WK_TRN_out_r] + rows;
  if (nx * ny == 1 && rows == n && stream_chance(d, 50)) { /* in place */
    v[WK_TRN_in_r] = v[WK_TRN_out_r];
    if (!write_bytes(d, &x, WK_TRN_out, out)) return false;
    v[WK_TRN_in] = v[WK_TRN_out];
  } else if (!read_bytes(d, &x, WK_TRN_in, in, 1) || !write_bytes(d, &x, WK_TRN_out, out)) {
    return false;
  }
  stream_emit(d, &x);
  return true;
}

bool stream_draw_tab(drawing *d) {
  int64_t count = stream_int(d, 1, d->m->tables), in;
  if (stream_chance(d, 60)) count = 1;
  if (!stream_place_read(d, count * WK_TABLE_BYTES, d->n, &in)) return false;
  emit_tab(d, in, stream_int(d, 0, d->m->tables - count), count, 0);
  return true;
}
