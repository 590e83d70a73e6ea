/* SPDX-License-Identifier: Apache-2.0
 * CONV, DWC, MM and MARK. */
#include "tests/random_stream_draw.h"

/* ---- accumulators and drain ------------------------------------------------------------------ */

/* Where the epilogue's fields are. */
typedef struct {
  int acc, accumulate, drain, residual, out, out_y, out_x, par, res, n; /* out_x -1: none */
} epilogue;

#define EPILOGUE(C, x)                                                                  \
  (epilogue) {                                                                          \
    WK_##C##_acc, WK_##C##_accumulate, WK_##C##_drain, WK_##C##_residual, WK_##C##_out, \
        WK_##C##_out_y, x, WK_##C##_par, WK_##C##_res, WK_##C##_n                       \
  }

/* Rows and columns of what accumulates: those of the open sums, a few of these, or new ones. */
static bool draw_pixels(drawing *d, int64_t *ny, int64_t *nx, int64_t most) {
  if (d->open_ny && stream_chance(d, 65)) {
    *ny = d->open_ny;
    *nx = d->open_nx;
    if (stream_chance(d, 35)) {
      *ny = stream_int(d, 1, *ny < 2 ? *ny : 2);
      *nx = stream_int(d, 1, *nx < 3 ? *nx : 3);
    }
    return true;
  }
  int64_t side = stream_chance(d, 10) ? 1 : stream_chance(d, 70) ? 6 : 40;
  *ny = stream_int(d, 1, side);
  *nx = stream_int(d, 1, side);
  while (*ny * *nx > most || *ny * *nx > wk_machine_entries(d->m)) *(*ny > *nx ? ny : nx) -= 1;
  return false;
}

static void draw_acc(drawing *d, stream_command *x, const epilogue *e, int64_t ny, int64_t nx,
                     bool continues) {
  int64_t entries = wk_machine_entries(d->m), pixels = ny * nx, *v = x->c.v, acc = 0;
  int64_t half = entries / 2;
  if (continues) acc = d->open_acc + stream_int(d, 0, d->open_ny * d->open_nx - pixels);
  else if (stream_chance(d, 20) && pixels <= half) acc = half;
  else if (stream_chance(d, 60)) acc = stream_int(d, 0, entries - pixels);
  bool has_sums = true;
  if (continues && d->sums[acc] && v[e->n] > d->sums[acc] && stream_chance(d, 90))
    v[e->n] = d->sums[acc];
  for (int64_t i = 0; i < pixels; i++) has_sums = has_sums && d->sums[acc + i] >= v[e->n];
  v[e->acc] = acc;
  v[e->accumulate] = has_sums && stream_chance(d, continues ? 90 : 60);
  v[e->drain] = stream_chance(d, 60);
  x->drains = v[e->drain] != 0;
  stream_uses(x, BOX_ACC, true, acc, pixels);
}

static void note_sums(drawing *d, const stream_command *x, const epilogue *e, int64_t ny,
                      int64_t nx, bool continues) {
  for (int64_t i = 0; i < ny * nx; i++)
    d->sums[x->c.v[e->acc] + i] = x->drains ? 0 : (uint8_t)x->c.v[e->n];
  if (continues && !x->drains) return; /* all of them are open still */
  d->open_ny = x->drains ? 0 : ny;
  d->open_nx = nx;
  d->open_acc = x->c.v[e->acc];
}

/* Pixels apart; now and then they lie on each other, and the last one stays. */
static void draw_out_steps(drawing *d, int64_t *v, const epilogue *e, int64_t ny, int64_t nx,
                           bool in_place) {
  int64_t n = v[e->n], column = stream_chance(d, 50) ? n : n + stream_int(d, 0, d->n);
  if (e->out_x < 0) {
    v[e->out_y] = column + stream_gap(d);
  } else if (stream_chance(d, 12) && ny * column <= 255) { /* columns apart, rows close */
    v[e->out_y] = column;
    v[e->out_x] = ny * column;
  } else {
    v[e->out_x] = column > 255 ? 255 : column;
    v[e->out_y] = nx * v[e->out_x] + stream_gap(d);
  }
  if (!in_place && stream_chance(d, 6)) {
    bool of_rows = e->out_x < 0 || stream_chance(d, 50);
    v[of_rows ? e->out_y : e->out_x] = stream_int(d, 0, n);
  }
}

static bool draw_drain(drawing *d, stream_command *x, const epilogue *e, int64_t ny, int64_t nx) {
  int64_t *v = x->c.v, n = v[e->n], at;
  if (!v[e->drain]) return true;
  v[e->residual] = stream_chance(d, 35);
  stream_factors use = v[e->residual] ? FACTORS_SUM : FACTORS_ANY;
  if (!stream_find_record(d, SLOT_RECORD, n, use, &v[e->par])) return false;
  stream_uses(x, BOX_SPM, false, v[e->par], WK_RECORD_BYTES + WK_ENTRY_BYTES * n);
  bool in_place = v[e->residual] && stream_chance(d, 30);
  draw_out_steps(d, v, e, ny, nx, in_place);
  int64_t bytes = (ny - 1) * v[e->out_y] + (e->out_x < 0 ? 0 : (nx - 1) * v[e->out_x]) + n;
  if (v[e->residual] && !in_place) {
    if (!stream_place_read(d, bytes, 1, &v[e->res])) return false;
    stream_uses(x, BOX_SPM, false, v[e->res], bytes);
  }
  if (!stream_place_write(d, x, bytes, &at)) return false;
  v[e->out] = at;
  if (in_place) v[e->res] = at;
  stream_uses(x, BOX_SPM, true, at, bytes);
  return true;
}

static void draw_zero(drawing *d, int64_t *zero, int64_t *u8) {
  *u8 = stream_int(d, 0, 1);
  *zero = stream_chance(d, 40)   ? 0
          : stream_chance(d, 20) ? stream_int(d, 127, 128)
                                 : stream_int(d, 0, 255);
}

static int64_t draw_lanes(drawing *d) {
  return stream_chance(d, 60) ? d->n : stream_int(d, 1, d->n);
}

static void limit(int64_t *a, int64_t *b, int64_t most) {
  while (*a * *b > most && (*a > 1 || *b > 1)) *(*a > *b ? a : b) -= 1;
}

/* ---- commands -------------------------------------------------------------------------------- */

bool stream_draw_conv(drawing *d) {
  stream_command x = stream_begin(d, WK_CMD_CONV);
  const epilogue e = EPILOGUE(CONV, WK_CONV_out_x);
  int64_t *v = x.c.v, n = d->n, ny, nx, pixel;
  bool continues = draw_pixels(d, &ny, &nx, d->work);
  v[WK_CONV_ny] = ny, v[WK_CONV_nx] = nx;
  int64_t room = d->work / (ny * nx) + 1;
  v[WK_CONV_kc] = stream_small(d, 6);
  v[WK_CONV_ky] = stream_small(d, 7), v[WK_CONV_kx] = stream_small(d, 7);
  limit(&v[WK_CONV_ky], &v[WK_CONV_kx], room);
  limit(&v[WK_CONV_kc], &v[WK_CONV_ky], room / v[WK_CONV_kx] + 1);
  v[WK_CONV_k_tail] = draw_lanes(d);
  v[WK_CONV_n] = draw_lanes(d);
  draw_zero(d, &v[WK_CONV_zero], &v[WK_CONV_u8]);
  int64_t kc = v[WK_CONV_kc], depth = (kc - 1) * n + v[WK_CONV_k_tail];
  pixel = stream_chance(d, 40) ? depth : stream_chance(d, 60) ? n : stream_int(d, 1, 2 * n);
  stream_draw_window(d, v, pixel);
  v[WK_CONV_k_c] = stream_chance(d, 60) ? n : stream_int(d, 0, 6 * n);
  int64_t last = (kc - 1) * v[WK_CONV_k_c] + v[WK_CONV_k_tail];
  int64_t before = kc > 1 ? (kc - 2) * v[WK_CONV_k_c] + n : 0;
  if (!stream_place_window(d, &x, last > before ? last : before)) return false;
  int64_t tiles = kc * v[WK_CONV_ky] * v[WK_CONV_kx],
          weights = ((tiles - 1) * n + v[WK_CONV_n]) * n;
  if (!stream_place_read(d, weights, n, &v[WK_CONV_wt])) return false;
  stream_uses(&x, BOX_SPM, false, v[WK_CONV_wt], weights);
  draw_acc(d, &x, &e, ny, nx, continues);
  if (!draw_drain(d, &x, &e, ny, nx)) return false;
  note_sums(d, &x, &e, ny, nx, continues);
  stream_emit(d, &x);
  return true;
}

static void make_three(drawing *d, int64_t *v) {
  v[WK_DWC_taps] = WK_CHOICE_TAPS_three;
  v[WK_DWC_dx] = 1;
  v[WK_DWC_k_x] = d->n;
  if (v[WK_DWC_sx] > 2) v[WK_DWC_sx] = 2;
  v[WK_DWC_in_x] = v[WK_DWC_sx] * d->n;
}

bool stream_draw_dwc(drawing *d) {
  stream_command x = stream_begin(d, WK_CMD_DWC);
  const epilogue e = EPILOGUE(DWC, WK_DWC_out_x);
  int64_t *v = x.c.v, ny, nx;
  bool continues = draw_pixels(d, &ny, &nx, d->work);
  v[WK_DWC_ny] = ny, v[WK_DWC_nx] = nx;
  v[WK_DWC_ky] = stream_small(d, 7), v[WK_DWC_kx] = stream_small(d, 9);
  limit(&v[WK_DWC_ky], &v[WK_DWC_kx], 3 * d->work / (ny * nx) + 1);
  v[WK_DWC_n] = draw_lanes(d);
  draw_zero(d, &v[WK_DWC_zero], &v[WK_DWC_u8]);
  bool is_three = stream_chance(d, 60);
  stream_draw_window(d, v, is_three ? d->n : stream_int(d, 1, 2 * d->n));
  v[WK_DWC_taps] = WK_CHOICE_TAPS_one;
  if (is_three) make_three(d, v);
  if (!stream_place_window(d, &x, v[WK_DWC_n])) return false;
  int64_t taps = is_three ? 3 : 1;
  int64_t weights = v[WK_DWC_ky] * ((v[WK_DWC_kx] + taps - 1) / taps) * taps * d->n;
  if (!stream_place_read(d, weights, d->n, &v[WK_DWC_wt])) return false;
  stream_uses(&x, BOX_SPM, false, v[WK_DWC_wt], weights);
  draw_acc(d, &x, &e, ny, nx, continues);
  if (!draw_drain(d, &x, &e, ny, nx)) return false;
  note_sums(d, &x, &e, ny, nx, continues);
  stream_emit(d, &x);
  return true;
}

/* Bytes from wt on that the tiles of the right matrix cover. */
static int64_t tile_bytes(const drawing *d, const int64_t *v) {
  int64_t end = 0;
  for (int64_t c = 0; c < v[WK_MM_kc]; c++) {
    int64_t depth = c + 1 == v[WK_MM_kc] ? v[WK_MM_k_tail] : d->n;
    int64_t lines = v[WK_MM_transposed] ? depth : v[WK_MM_n];
    int64_t width = v[WK_MM_transposed] ? v[WK_MM_n] : depth;
    int64_t here = c * v[WK_MM_w_c] + (lines - 1) * v[WK_MM_w_r] + width;
    if (here > end) end = here;
  }
  return end;
}

static bool place_matrices(drawing *d, stream_command *x) {
  int64_t *v = x->c.v, n = d->n, kc = v[WK_MM_kc], depth = (kc - 1) * n + v[WK_MM_k_tail];
  v[WK_MM_in_y] = stream_chance(d, 70) ? depth + stream_gap(d) : stream_int(d, 0, 3 * n);
  v[WK_MM_k_c] = stream_chance(d, 70) ? n : stream_int(d, 0, 5 * n);
  int64_t last = (kc - 1) * v[WK_MM_k_c] + v[WK_MM_k_tail];
  int64_t before = kc > 1 ? (kc - 2) * v[WK_MM_k_c] + n : 0;
  int64_t left = (v[WK_MM_ny] - 1) * v[WK_MM_in_y] + (last > before ? last : before);
  if (!stream_place_read(d, left, 1, &v[WK_MM_in])) return false;
  stream_uses(x, BOX_SPM, false, v[WK_MM_in], left);
  bool is_turned = stream_chance(d, 50);
  v[WK_MM_transposed] = is_turned;
  v[WK_MM_w_r] = is_turned ? v[WK_MM_n] + stream_gap(d) : depth + stream_gap(d);
  v[WK_MM_w_c] = is_turned ? n * v[WK_MM_w_r] : n;
  if (stream_chance(d, 20)) v[WK_MM_w_r] = stream_int(d, 0, 4 * n);
  if (stream_chance(d, 20)) v[WK_MM_w_c] = stream_int(d, 0, 8 * n);
  int64_t right = tile_bytes(d, v);
  if (!stream_place_read(d, right, 1, &v[WK_MM_wt])) return false;
  stream_uses(x, BOX_SPM, false, v[WK_MM_wt], right);
  return true;
}

bool stream_draw_mm(drawing *d) {
  stream_command x = stream_begin(d, WK_CMD_MM);
  const epilogue e = EPILOGUE(MM, -1);
  int64_t *v = x.c.v, ny, nx;
  bool continues = draw_pixels(d, &ny, &nx, d->work);
  v[WK_MM_ny] = ny * nx;
  v[WK_MM_kc] = stream_small(d, d->work / v[WK_MM_ny] > 10 ? 10 : d->work / v[WK_MM_ny] + 1);
  v[WK_MM_k_tail] = draw_lanes(d);
  v[WK_MM_n] = draw_lanes(d);
  draw_zero(d, &v[WK_MM_zero], &v[WK_MM_u8]);
  draw_zero(d, &v[WK_MM_w_zero], &v[WK_MM_w_u8]);
  if (!place_matrices(d, &x)) return false;
  draw_acc(d, &x, &e, ny * nx, 1, continues);
  if (!draw_drain(d, &x, &e, ny * nx, 1)) return false;
  note_sums(d, &x, &e, ny, nx, continues);
  stream_emit(d, &x);
  return true;
}

bool stream_draw_mark(drawing *d) {
  stream_command x = stream_begin(d, WK_CMD_MARK);
  x.c.v[WK_MARK_row] = stream_int(d, 0, 5);
  stream_emit(d, &x);
  return true;
}
