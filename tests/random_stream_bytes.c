/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/random_stream_bytes.h"

#include <stdlib.h>

typedef struct {
  const wk_machine *m;
  const stream_cells *cells;
  const int64_t *v;
  int64_t n; /* array */
  stream_bytes *x;
} walk;

stream_cells stream_cells_of(const wk_stream *s) {
  stream_cells y = {.tables = (size_t)s->machine.scratchpad};
  y.memory = y.tables + 64;
  y.stream = y.memory + (size_t)s->address;
  y.end = y.stream + s->bytes.n;
  y.words = y.end / 64 + 1;
  return y;
}

void stream_bytes_free(stream_bytes *x) {
  free(x->reads);
  free(x->writes);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void touch(const walk *w, bool writes, size_t base, size_t end, int64_t at) {
  if (at < 0 || (uint64_t)at >= end - base) {
    w->x->is_outside = true;
    return;
  }
  uint64_t *set = writes ? w->x->writes : w->x->reads;
  set[(base + (size_t)at) / 64] |= UINT64_C(1) << (base + (size_t)at) % 64;
}

static void spm(const walk *w, bool writes, int64_t at) {
  touch(w, writes, 0, w->cells->tables, at);
}

static void spm_bytes(const walk *w, bool writes, int64_t at, int64_t n) {
  for (int64_t i = 0; i < n; i++) spm(w, writes, at + i);
}

static void table(const walk *w, bool writes, int64_t t) {
  touch(w, writes, w->cells->tables, w->cells->tables + (size_t)w->m->tables, t);
}

static void memory(const walk *w, bool writes, int64_t at) {
  bool is_behind = at >= (int64_t)(w->cells->end - w->cells->memory) && at < w->m->dram_size;
  if (is_behind && !writes) return; /* the stream, where nobody writes */
  touch(w, writes, w->cells->memory, writes ? w->cells->stream : w->cells->end, at);
}

static void aligned(const walk *w, int64_t at) {
  if (at % w->n) w->x->is_outside = true;
}

static bool is_read(const walk *w, int64_t at) {
  bool exists = at >= 0 && at < w->m->scratchpad;
  return exists && (w->x->reads[at / 64] >> at % 64 & 1);
}

/* A result, which may not lie where the command reads. */
static void put_apart(const walk *w, int64_t at, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (is_read(w, at + i)) w->x->is_outside = true;
  spm_bytes(w, true, at, n);
}

static void record(const walk *w, int64_t par) {
  aligned(w, par);
  spm_bytes(w, false, par, WK_RECORD_BYTES);
}

static void entry(const walk *w, int64_t par, int64_t i) {
  spm_bytes(w, false, par + WK_RECORD_BYTES + WK_ENTRY_BYTES * i, WK_ENTRY_BYTES);
}

/* ---- windows --------------------------------------------------------------------------------- */

bool stream_is_padding(const int64_t *v, int64_t oy, int64_t ox, int64_t ky, int64_t kx) {
  int64_t y = oy * v[WK_CONV_sy] + ky * v[WK_CONV_dy] - v[WK_CONV_pad_t];
  int64_t x = ox * v[WK_CONV_sx] + kx * v[WK_CONV_dx] - v[WK_CONV_pad_l];
  return (v[WK_CONV_h] && (y < 0 || y >= v[WK_CONV_h])) ||
         (v[WK_CONV_w] && (x < 0 || x >= v[WK_CONV_w]));
}

int64_t stream_tap(const int64_t *v, int64_t oy, int64_t ox, int64_t ky, int64_t kx) {
  return v[WK_CONV_in] + oy * v[WK_CONV_in_y] + ox * v[WK_CONV_in_x] + ky * v[WK_CONV_k_y] +
         kx * v[WK_CONV_k_x];
}

/* Reads n bytes from every tap of an output, `block` bytes behind it; how many taps are no padding.
 */
static int64_t taps(const walk *w, int64_t oy, int64_t ox, int64_t block, int64_t n) {
  const int64_t *v = w->v;
  int64_t count = 0;
  for (int64_t ky = 0; ky < v[WK_CONV_ky]; ky++)
    for (int64_t kx = 0; kx < v[WK_CONV_kx]; kx++) {
      if (stream_is_padding(v, oy, ox, ky, kx)) continue;
      count++;
      spm_bytes(w, false, stream_tap(v, oy, ox, ky, kx) + block, n);
    }
  return count;
}

static void window(const walk *w, int64_t block, int64_t n) {
  for (int64_t oy = 0; oy < w->v[WK_CONV_ny]; oy++)
    for (int64_t ox = 0; ox < w->v[WK_CONV_nx]; ox++) taps(w, oy, ox, block, n);
}

/* ---- ex -------------------------------------------------------------------------------------- */

typedef struct {
  int64_t acc, accumulate, drain, residual, out, out_y, out_x, par, res, n, ny, nx;
} epilogue;

#define EPILOGUE(C, rows, columns, x)                                                           \
  (epilogue) {                                                                                  \
    v[WK_##C##_acc], v[WK_##C##_accumulate], v[WK_##C##_drain], v[WK_##C##_residual],           \
        v[WK_##C##_out], v[WK_##C##_out_y], x, v[WK_##C##_par], v[WK_##C##_res], v[WK_##C##_n], \
        rows, columns                                                                           \
  }

static void read_pixel(const walk *w, int64_t at, int64_t n) { spm_bytes(w, false, at, n); }

static void pixels(const walk *w, const epilogue *e, int64_t from,
                   void (*f)(const walk *w, int64_t at, int64_t n)) {
  for (int64_t y = 0; y < e->ny; y++)
    for (int64_t x = 0; x < e->nx; x++) f(w, from + y * e->out_y + x * e->out_x, e->n);
}

/* No two pixels have a byte in common. */
static bool are_apart(const epilogue *e) {
  int64_t count = e->ny * e->nx;
  for (int64_t i = 0; i < count; i++)
    for (int64_t k = 0; k < i; k++) {
      int64_t gap = (i / e->nx - k / e->nx) * e->out_y + (i % e->nx - k % e->nx) * e->out_x;
      if (gap > -e->n && gap < e->n) return false;
    }
  return true;
}

static void finish(const walk *w, const epilogue *e) {
  w->x->sums_from = e->acc;
  w->x->sums_end = e->acc + e->ny * e->nx;
  w->x->channels = e->n;
  w->x->accumulates = e->accumulate;
  w->x->drains = e->drain;
  if (w->x->sums_end > wk_machine_entries(w->m)) w->x->is_outside = true;
  if (!e->drain) return;
  record(w, e->par);
  for (int64_t i = 0; i < e->n; i++) entry(w, e->par, i);
  bool in_place = e->residual && e->res == e->out && are_apart(e);
  if (e->residual && !in_place) pixels(w, e, e->res, read_pixel);
  pixels(w, e, e->out, put_apart);
  if (in_place) pixels(w, e, e->res, read_pixel);
}

static void conv(const walk *w) {
  const int64_t *v = w->v;
  aligned(w, v[WK_CONV_wt]);
  int64_t tile = v[WK_CONV_wt];
  for (int64_t k = 0; k < v[WK_CONV_kc]; k++) {
    window(w, k * v[WK_CONV_k_c], k + 1 == v[WK_CONV_kc] ? v[WK_CONV_k_tail] : w->n);
    for (int64_t t = 0; t < v[WK_CONV_ky] * v[WK_CONV_kx]; t++, tile += w->n * w->n)
      spm_bytes(w, false, tile, v[WK_CONV_n] * w->n);
  }
  const epilogue e = EPILOGUE(CONV, v[WK_CONV_ny], v[WK_CONV_nx], v[WK_CONV_out_x]);
  finish(w, &e);
}

static void dwc(const walk *w) {
  const int64_t *v = w->v;
  int64_t word = v[WK_DWC_wt], width = v[WK_DWC_taps] == WK_CHOICE_TAPS_three ? 3 : 1;
  aligned(w, word);
  window(w, 0, v[WK_DWC_n]);
  for (int64_t ky = 0; ky < v[WK_DWC_ky]; ky++)
    for (int64_t kx = 0; kx < v[WK_DWC_kx]; kx += width) {
      spm_bytes(w, false, word, width * w->n);
      word += width * w->n;
    }
  const epilogue e = EPILOGUE(DWC, v[WK_DWC_ny], v[WK_DWC_nx], v[WK_DWC_out_x]);
  finish(w, &e);
}

static void mm(const walk *w) {
  const int64_t *v = w->v;
  for (int64_t c = 0; c < v[WK_MM_kc]; c++) {
    int64_t depth = c + 1 == v[WK_MM_kc] ? v[WK_MM_k_tail] : w->n;
    for (int64_t y = 0; y < v[WK_MM_ny]; y++)
      spm_bytes(w, false, v[WK_MM_in] + y * v[WK_MM_in_y] + c * v[WK_MM_k_c], depth);
    for (int64_t i = 0; i < depth; i++)
      for (int64_t o = 0; o < v[WK_MM_n]; o++)
        spm(w, false,
            v[WK_MM_wt] + c * v[WK_MM_w_c] +
                (v[WK_MM_transposed] ? i * v[WK_MM_w_r] + o : o * v[WK_MM_w_r] + i));
  }
  const epilogue e = EPILOGUE(MM, v[WK_MM_ny], 1, 0);
  finish(w, &e);
}

/* ---- ve -------------------------------------------------------------------------------------- */

/* Words, rows, tiles from the last to the first: none may be written where a later one is read, and
 * later ones are what has been marked so far. */

static bool map_has_b(int64_t fn) {
  return fn != WK_CHOICE_MAP_move && fn != WK_CHOICE_MAP_table && fn != WK_CHOICE_MAP_scale;
}

static void map_word(const walk *w, int64_t i2, int64_t i1, int64_t i0) {
  const int64_t *v = w->v, n = v[WK_MAP_n];
  put_apart(w, v[WK_MAP_out] + i2 * v[WK_MAP_y2] + i1 * v[WK_MAP_y1] + i0 * v[WK_MAP_y0], n);
  spm_bytes(w, false, v[WK_MAP_a] + i2 * v[WK_MAP_a2] + i1 * v[WK_MAP_a1] + i0 * v[WK_MAP_a0], n);
  if (map_has_b(v[WK_MAP_fn]))
    spm_bytes(w, false, v[WK_MAP_b] + i2 * v[WK_MAP_b2] + i1 * v[WK_MAP_b1] + i0 * v[WK_MAP_b0],
              v[WK_MAP_splat] ? 1 : n);
}

static void map(const walk *w) {
  const int64_t *v = w->v, fn = v[WK_MAP_fn];
  for (int64_t i2 = v[WK_MAP_n2]; i2-- > 0;)
    for (int64_t i1 = v[WK_MAP_n1]; i1-- > 0;)
      for (int64_t i0 = v[WK_MAP_n0]; i0-- > 0;) map_word(w, i2, i1, i0);
  if (fn == WK_CHOICE_MAP_table) table(w, false, v[WK_MAP_table]);
  else if (fn != WK_CHOICE_MAP_move) record(w, v[WK_MAP_par]);
}

static void pool(const walk *w) {
  const int64_t *v = w->v, fn = v[WK_POOL_fn], par = v[WK_POOL_par];
  if (fn != WK_CHOICE_POOL_max) record(w, par);
  if (fn == WK_CHOICE_POOL_mean) entry(w, par, 0);
  for (int64_t y = 0; y < v[WK_POOL_ny]; y++)
    for (int64_t x = 0; x < v[WK_POOL_nx]; x++) {
      int64_t count = taps(w, y, x, 0, v[WK_POOL_n]);
      if (fn == WK_CHOICE_POOL_valid_mean && count) entry(w, par, count - 1);
    }
  for (int64_t y = 0; y < v[WK_POOL_ny]; y++)
    for (int64_t x = 0; x < v[WK_POOL_nx]; x++)
      put_apart(w, v[WK_POOL_out] + y * v[WK_POOL_out_y] + x * v[WK_POOL_out_x], v[WK_POOL_n]);
}

static int64_t element(const walk *w, int64_t at, int64_t block, int64_t i) {
  return at + i / w->n * block + i % w->n;
}

/* No two elements of a row are the same byte. */
static bool is_row_apart(const walk *w, int64_t length) {
  for (int64_t i = 0; i < length; i++)
    for (int64_t k = 0; k < i; k++)
      if (element(w, 0, w->v[WK_ROW_in_c], i) == element(w, 0, w->v[WK_ROW_in_c], k)) return false;
  return true;
}

/* Elements take the place of themselves, or of none that their row reads. */
static void whole_row(const walk *w, int64_t in, int64_t out, int64_t length, bool replaces) {
  const int64_t *v = w->v;
  for (int64_t i = 0; i < length && !replaces; i++)
    spm(w, false, element(w, in, v[WK_ROW_in_c], i));
  for (int64_t i = 0; i < length; i++) put_apart(w, element(w, out, v[WK_ROW_out_c], i), 1);
  for (int64_t i = 0; i < length; i++) spm(w, false, element(w, in, v[WK_ROW_in_c], i));
}

static void row(const walk *w) {
  const int64_t *v = w->v, fn = v[WK_ROW_fn];
  int64_t length = (v[WK_ROW_kc] - 1) * w->n + v[WK_ROW_k_tail];
  bool replaces = v[WK_ROW_in] == v[WK_ROW_out] && v[WK_ROW_in_y] == v[WK_ROW_out_y] &&
                  v[WK_ROW_in_c] == v[WK_ROW_out_c] && is_row_apart(w, length);
  bool is_norm = fn == WK_CHOICE_ROW_layernorm || fn == WK_CHOICE_ROW_rmsnorm;
  int64_t entries = is_norm ? length : fn == WK_CHOICE_ROW_max ? 0 : 1;
  for (int64_t i = 0; i < entries; i++) entry(w, v[WK_ROW_par], i); /* perhaps in every row */
  if (entries) record(w, v[WK_ROW_par]);
  for (int64_t y = v[WK_ROW_ny]; y-- > 0;) {
    int64_t in = v[WK_ROW_in] + y * v[WK_ROW_in_y], out = v[WK_ROW_out] + y * v[WK_ROW_out_y];
    if (fn == WK_CHOICE_ROW_softmax || is_norm) {
      whole_row(w, in, out, length, replaces);
    } else {
      put_apart(w, out, 1);
      for (int64_t i = 0; i < length; i++) spm(w, false, element(w, in, v[WK_ROW_in_c], i));
    }
  }
  for (int64_t t = 0; t < 3 && fn == WK_CHOICE_ROW_softmax; t++)
    table(w, false, v[WK_ROW_table] + t);
}

static void trn(const walk *w) {
  const int64_t *v = w->v;
  for (int64_t ty = v[WK_TRN_ny]; ty-- > 0;)
    for (int64_t tx = v[WK_TRN_nx]; tx-- > 0;) {
      int64_t in = v[WK_TRN_in] + ty * v[WK_TRN_in_y] + tx * v[WK_TRN_in_x];
      int64_t out = v[WK_TRN_out] + ty * v[WK_TRN_out_y] + tx * v[WK_TRN_out_x];
      for (int64_t i = 0; i < v[WK_TRN_n]; i++)
        put_apart(w, out + i * v[WK_TRN_out_r], v[WK_TRN_rows]);
      for (int64_t r = 0; r < v[WK_TRN_rows]; r++)
        spm_bytes(w, false, in + r * v[WK_TRN_in_r], v[WK_TRN_n]);
    }
}

static void tab(const walk *w) {
  aligned(w, w->v[WK_TAB_in]);
  for (int64_t t = 0; t < w->v[WK_TAB_count]; t++) {
    spm_bytes(w, false, w->v[WK_TAB_in] + WK_TABLE_BYTES * t, WK_TABLE_BYTES);
    table(w, true, w->v[WK_TAB_table] + t);
  }
}

/* ---- DMA ------------------------------------------------------------------------------------- */

static void transfer(const walk *w, bool is_store) {
  const int64_t *v = w->v;
  int64_t k = 0;
  for (int64_t i3 = 0; i3 < v[WK_LD_n3]; i3++)
    for (int64_t i2 = 0; i2 < v[WK_LD_n2]; i2++)
      for (int64_t i1 = 0; i1 < v[WK_LD_n1]; i1++)
        for (int64_t i0 = 0; i0 < v[WK_LD_n0]; i0++, k++) {
          int64_t chunk = k / v[WK_LD_c0];
          memory(w, is_store,
                 v[WK_LD_dram] + i3 * v[WK_LD_s3] + i2 * v[WK_LD_s2] + i1 * v[WK_LD_s1] + i0);
          spm(w, !is_store,
              v[WK_LD_spm] + chunk / v[WK_LD_c1] * v[WK_LD_p2] + chunk % v[WK_LD_c1] * v[WK_LD_p1] +
                  k % v[WK_LD_c0]);
        }
}

static void load(const walk *w) { transfer(w, false); }
static void store(const walk *w) { transfer(w, true); }

static void fill(const walk *w) {
  const int64_t *v = w->v;
  for (int64_t i = 0; i < v[WK_FILL_c2]; i++)
    for (int64_t k = 0; k < v[WK_FILL_c1]; k++)
      spm_bytes(w, true, v[WK_FILL_spm] + i * v[WK_FILL_p2] + k * v[WK_FILL_p1], v[WK_FILL_c0]);
}

void stream_bytes_of(const wk_machine *m, const stream_cells *cells, const wk_isa_command *c,
                     stream_bytes *out) {
  static void (*const walks[])(const walk *) = {
      [WK_CMD_LD] = load, [WK_CMD_ST] = store, [WK_CMD_FILL] = fill, [WK_CMD_CONV] = conv,
      [WK_CMD_DWC] = dwc, [WK_CMD_MM] = mm,    [WK_CMD_MAP] = map,   [WK_CMD_POOL] = pool,
      [WK_CMD_ROW] = row, [WK_CMD_TRN] = trn,  [WK_CMD_TAB] = tab,   [WK_CMD_MARK] = NULL};
  *out = (stream_bytes){.reads = wk_xcalloc(cells->words, sizeof(uint64_t)),
                        .writes = wk_xcalloc(cells->words, sizeof(uint64_t))};
  const walk w = {m, cells, c->v, m->array, out};
  if (c->opcode < WK_COUNTOF(walks) && walks[c->opcode]) walks[c->opcode](&w);
}
