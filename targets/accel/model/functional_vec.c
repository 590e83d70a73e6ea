/* SPDX-License-Identifier: Apache-2.0
 * MAP, POOL, TRN, TAB. */
#include <string.h>

#include "targets/accel/model/functional.h"
#include "targets/accel/isa/parts.h"

enum { MAX_N = 32 };

/* ---- MAP ------------------------------------------------------------------------------------- */

static int32_t map_max(int32_t a, int32_t b, const wk_record *r) {
  return wk_functional_clamp(a > b ? a : b, r->lo2, r->hi2);
}

static int32_t map_min(int32_t a, int32_t b, const wk_record *r) {
  return wk_functional_clamp(a < b ? a : b, r->lo2, r->hi2);
}

static int32_t map_mul(int32_t a, int32_t b, const wk_record *r) {
  int64_t p = wk_functional_rescale((int64_t)(a - r->za) * (b - r->zb), (uint32_t)r->ma, r->shift);
  return wk_functional_clamp(p + r->zy, r->lo2, r->hi2);
}

static int32_t map_scale(int32_t a, int32_t b, const wk_record *r) {
  (void)b;
  return wk_functional_add(a, r->zb, r);
}

typedef int32_t map_function(int32_t a, int32_t b, const wk_record *r);
static const struct {
  map_function *apply; /* NULL: bytes are moved, or looked up */
  bool has_b;
} functions[] = {
    [WK_CHOICE_MAP_move] = {NULL, false},    [WK_CHOICE_MAP_add] = {wk_functional_add, true},
    [WK_CHOICE_MAP_mul] = {map_mul, true},   [WK_CHOICE_MAP_max] = {map_max, true},
    [WK_CHOICE_MAP_min] = {map_min, true},   [WK_CHOICE_MAP_table] = {NULL, false},
    [WK_CHOICE_MAP_scale] = {map_scale, false}};

static uint8_t look_up(const wk_functional *f, const wk_isa_command *c, uint8_t a) {
  if (WK_V(c, MAP, fn) == WK_CHOICE_MAP_move) return a;
  return f->tables[WK_V(c, MAP, table) * 256 + a];
}

static void map_word(wk_functional *f, const wk_isa_command *c, const wk_record *r, uint64_t a,
                     uint64_t b, uint64_t out) {
  uint64_t fn = WK_V(c, MAP, fn), n = WK_V(c, MAP, n);
  uint8_t y[MAX_N];
  for (uint64_t i = 0; i < n; i++) {
    uint8_t qa = f->scratchpad[a + i], qb = 0;
    if (functions[fn].has_b) qb = f->scratchpad[WK_V(c, MAP, splat) ? b : b + i];
    y[i] = functions[fn].apply
               ? (uint8_t)functions[fn].apply(wk_functional_byte(qa, WK_V(c, MAP, a_u8)),
                                              wk_functional_byte(qb, WK_V(c, MAP, b_u8)), r)
               : look_up(f, c, qa);
  }
  memcpy(f->scratchpad + out, y, n);
  wk_functional_tell(f, out, n);
}

void wk_functional_map(wk_functional *f, const wk_isa_command *c) {
  wk_record r = {0};
  if (functions[WK_V(c, MAP, fn)].apply) r = wk_functional_record(f, WK_V(c, MAP, par));
  for (uint64_t i2 = 0; i2 < WK_V(c, MAP, n2); i2++)
    for (uint64_t i1 = 0; i1 < WK_V(c, MAP, n1); i1++)
      for (uint64_t i0 = 0; i0 < WK_V(c, MAP, n0); i0++)
        map_word(f, c, &r,
                 WK_V(c, MAP, a) + i2 * WK_V(c, MAP, a2) + i1 * WK_V(c, MAP, a1) +
                     i0 * WK_V(c, MAP, a0),
                 WK_V(c, MAP, b) + i2 * WK_V(c, MAP, b2) + i1 * WK_V(c, MAP, b1) +
                     i0 * WK_V(c, MAP, b0),
                 WK_V(c, MAP, out) + i2 * WK_V(c, MAP, y2) + i1 * WK_V(c, MAP, y1) +
                     i0 * WK_V(c, MAP, y0));
}

/* ---- POOL ------------------------------------------------------------------------------------ */

typedef struct {
  int32_t most[MAX_N], sum[MAX_N];
  int count;
} pooled;

static void pool_window(const wk_functional *f, const wk_isa_command *c, const wk_window *w, int y,
                        int x, int32_t zero, pooled *p) {
  bool is_u8 = WK_V(c, POOL, u8);
  int n = (int)WK_V(c, POOL, n);
  p->count = 0;
  for (int i = 0; i < n; i++) p->most[i] = is_u8 ? 0 : -128, p->sum[i] = 0;
  for (int ky = 0; ky < w->ky; ky++)
    for (int kx = 0; kx < w->kx; kx++) {
      if (!wk_window_is_inside(w, y, x, ky, kx)) continue;
      const uint8_t *at = f->scratchpad + wk_window_address(w, y, x, ky, kx);
      p->count++;
      for (int i = 0; i < n; i++) {
        int32_t q = wk_functional_byte(at[i], is_u8);
        if (q > p->most[i]) p->most[i] = q;
        p->sum[i] += q - zero;
      }
    }
}

static void pool_pixel(wk_functional *f, const wk_isa_command *c, const wk_window *w, int y, int x,
                       const wk_record *r) {
  uint64_t par = WK_V(c, POOL, par), fn = WK_V(c, POOL, fn);
  pooled p;
  wk_record_entry e = {.shift = 1};
  uint64_t at = WK_V(c, POOL, out) + (uint64_t)y * WK_V(c, POOL, out_y) +
                (uint64_t)x * WK_V(c, POOL, out_x);
  uint8_t *out = f->scratchpad + at;
  pool_window(f, c, w, y, x, r->za, &p);
  if (fn == WK_CHOICE_POOL_mean) e = wk_functional_entry(f, par, 0);
  else if (fn == WK_CHOICE_POOL_valid_mean && p.count) e = wk_functional_entry(f, par, p.count - 1);
  e.bias = 0;
  for (uint64_t i = 0; i < WK_V(c, POOL, n); i++)
    out[i] =
        (uint8_t)(fn == WK_CHOICE_POOL_max ? p.most[i] : wk_functional_requantise(p.sum[i], r, &e));
  wk_functional_tell(f, at, WK_V(c, POOL, n));
}

void wk_functional_pool(wk_functional *f, const wk_isa_command *c) {
  wk_window w = wk_window_of(c);
  wk_record r = {0};
  if (WK_V(c, POOL, fn) != WK_CHOICE_POOL_max) r = wk_functional_record(f, WK_V(c, POOL, par));
  for (int y = 0; y < w.ny; y++)
    for (int x = 0; x < w.nx; x++) pool_pixel(f, c, &w, y, x, &r);
}

/* ---- TRN, TAB -------------------------------------------------------------------------------- */

static void transpose_tile(wk_functional *f, const wk_isa_command *c, uint64_t in, uint64_t out) {
  uint64_t rows = WK_V(c, TRN, rows), n = WK_V(c, TRN, n);
  uint8_t tile[MAX_N * MAX_N];
  for (uint64_t r = 0; r < rows; r++)
    for (uint64_t i = 0; i < n; i++)
      tile[i * rows + r] = f->scratchpad[in + r * WK_V(c, TRN, in_r) + i];
  for (uint64_t i = 0; i < n; i++) {
    memcpy(f->scratchpad + out + i * WK_V(c, TRN, out_r), tile + i * rows, rows);
    wk_functional_tell(f, out + i * WK_V(c, TRN, out_r), rows);
  }
}

void wk_functional_trn(wk_functional *f, const wk_isa_command *c) {
  for (uint64_t y = 0; y < WK_V(c, TRN, ny); y++)
    for (uint64_t x = 0; x < WK_V(c, TRN, nx); x++)
      transpose_tile(f, c,
                     WK_V(c, TRN, in) + y * WK_V(c, TRN, in_y) + x * WK_V(c, TRN, in_x),
                     WK_V(c, TRN, out) + y * WK_V(c, TRN, out_y) + x * WK_V(c, TRN, out_x));
}

void wk_functional_tab(wk_functional *f, const wk_isa_command *c) {
  memcpy(f->tables + WK_V(c, TAB, table) * 256, f->scratchpad + WK_V(c, TAB, in),
         WK_V(c, TAB, count) * 256);
}
