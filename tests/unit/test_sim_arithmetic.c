/* SPDX-License-Identifier: Apache-2.0
 * The functional model against the compiler's definition (quant.h): rows of softmax and of the
 * normalisations, requantised sums, scaled sums of two operands; and windows, tap by tap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/expr/quant.h"
#include "compiler/expr/scalar.h"
#include "targets/accel/model/functional.h"

enum { PAR = 0, IN = 0x8000, OUT = 0xc000, MOST = 4000 };

typedef struct {
  wk_machine m;
  wk_functional f;
  wk_rng g;
} bench;

static void begin(bench *b, uint64_t seed) {
  wk_status s = wk_machine_read("tiny", &b->m);
  assert_null(s);
  wk_functional_init(&b->f, &b->m, NULL, 0);
  b->g = (wk_rng){seed};
}

static void put(bench *b, int at, int bytes, int64_t v) {
  for (int i = 0; i < bytes; i++) b->f.scratchpad[at + i] = (uint8_t)((uint64_t)v >> 8 * i);
}

static int64_t draw(bench *b, int64_t low, int64_t high) { return wk_rng_range(&b->g, low, high); }
static double draw_scale(bench *b, double low, double high) {
  return exp2(low + (high - low) * wk_rng_unit(&b->g));
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct {
  int n;
  bool is_u8;
  int64_t zero, y_zero;
  int q[MOST];
} row;

static void draw_row(bench *b, row *r) {
  int kind = (int)draw(b, 0, 4);
  r->n = (int)draw(b, 1, draw(b, 0, 9) ? 300 : kind == 4 ? MOST : 2000);
  r->is_u8 = draw(b, 0, 1);
  int low = r->is_u8 ? 0 : -128, middle = (int)draw(b, low + 2, low + 253);
  r->zero = draw(b, low, low + 255);
  r->y_zero = draw(b, low, low + 255);
  for (int i = 0; i < r->n; i++) {
    r->q[i] = (int)draw(b, low, low + 255);
    if (kind == 0) r->q[i] = middle;
    if (kind == 1) r->q[i] = middle + (int)draw(b, -2, 2);
    if (kind == 2) r->q[i] = i ? middle : low;
    if (kind == 3) r->q[i] = low + (i % 2 ? 255 : 0);
    put(b, IN + i, 1, r->q[i]);
  }
}

/* False: the row has no result. */
static bool try_row(bench *b, const row *r, int fn) {
  wk_isa_command c = {.opcode = WK_CMD_ROW, .queue = WK_QUEUE_ve};
  wk_isa_fault fault;
  int64_t *v = c.v, n = b->m.array;
  v[WK_ROW_fn] = fn;
  v[WK_ROW_in] = IN;
  v[WK_ROW_out] = OUT;
  v[WK_ROW_in_c] = v[WK_ROW_out_c] = n;
  v[WK_ROW_u8] = r->is_u8;
  v[WK_ROW_ny] = 1;
  v[WK_ROW_kc] = (r->n + n - 1) / n;
  v[WK_ROW_k_tail] = r->n - (v[WK_ROW_kc] - 1) * n;
  v[WK_ROW_par] = PAR;
  if (wk_isa_find_fault(&b->m, &c, NULL, &fault)) fail_msg("%s: %s", fault.field, fault.text);
  put(b, PAR, 2, r->y_zero);
  put(b, PAR + 2, 2, r->is_u8 ? 0 : -128);
  put(b, PAR + 4, 2, r->is_u8 ? 255 : 127);
  return wk_functional_execute(&b->f, &c);
}

static void run_row(bench *b, const row *r, int fn) { assert_true(try_row(b, r, fn)); }

/* y is what the definition gives before y's zero point is added. */
static void expect(const bench *b, const row *r, int i, int64_t y) {
  int64_t low = r->is_u8 ? 0 : -128, q = y + r->y_zero;
  q = q < low ? low : q > low + 255 ? low + 255 : q;
  if (b->f.scratchpad[OUT + i] != (uint8_t)q)
    fail_msg("element %d of %d: %d, not %d", i, r->n, b->f.scratchpad[OUT + i], (uint8_t)q);
}

static int64_t value_of(wk_expr_builder *b, uint16_t v) {
  wk_scalar scratch[128], z;
  const wk_expr *x = wk_expr_finish(b, &v, 1);
  assert_true(x->n <= WK_COUNTOF(scratch));
  wk_expr_eval(x, NULL, NULL, scratch, &z);
  return z.i;
}

static void draw_factors(bench *b, const row *r, double y_scale, int32_t *gain, int32_t *bias,
                         int *shift) {
  static double gamma[MOST], beta[MOST];
  double size = draw_scale(b, -5, 1);
  for (int i = 0; i < r->n; i++) {
    gamma[i] = draw(b, 0, 9) ? size * (2 * wk_rng_unit(&b->g) - 0.5) : 0;
    beta[i] = 4 * wk_rng_unit(&b->g) - 2;
  }
  assert_true(wk_norm_factors(gamma, beta, r->n, y_scale, gain, bias, shift));
}

/* As a compiler never has them: an epsilon that makes deviations large and results of a few units,
 * which are shown as they are, or any gains and shifts. */
static void draw_any_factors(bench *b, const row *r, int64_t *e, int32_t *gain, int32_t *bias,
                             int *shift) {
  bool is_shown = draw(b, 0, 1);
  *e = draw(b, 1, INT64_C(1) << draw(b, is_shown ? 40 : 1, 61));
  *shift = is_shown ? 0 : (int)draw(b, 0, 45);
  for (int i = 0; i < r->n; i++) {
    gain[i] = is_shown ? 1 << 16 : (int32_t)draw(b, -(1 << 24), (1 << 24) - 1);
    bias[i] = is_shown ? 0 : (int32_t)draw(b, INT32_MIN, INT32_MAX) >> draw(b, 4, 31);
  }
}

static void check_norm(bench *b, wk_arena *arena, bool is_centred, bool is_any) {
  static row r;
  static int32_t gain[MOST], bias[MOST];
  int64_t e, sum = 0, squares = 0;
  int shift;
  draw_row(b, &r);
  if (is_any) {
    draw_any_factors(b, &r, &e, gain, bias, &shift);
  } else {
    double y_scale = draw_scale(b, -8, -3), epsilon = draw(b, 0, 3) ? 1e-5 : 0;
    assert_true(wk_norm_epsilon(r.n, epsilon, draw_scale(b, -10, 0), &e));
    draw_factors(b, &r, y_scale, gain, bias, &shift);
  }
  put(b, PAR + 8, 8, e);
  put(b, PAR + 16, 1, shift);
  put(b, PAR + 18, 2, r.zero);
  for (int i = 0; i < r.n; i++) {
    int64_t q = r.q[i] - (is_centred ? 0 : r.zero);
    sum += is_centred ? q : 0;
    squares += q * q;
    put(b, PAR + WK_RECORD_BYTES + WK_ENTRY_BYTES * i, 4, bias[i]);
    put(b, PAR + WK_RECORD_BYTES + WK_ENTRY_BYTES * i + 4, 4, gain[i]);
  }
  run_row(b, &r, is_centred ? WK_CHOICE_ROW_layernorm : WK_CHOICE_ROW_rmsnorm);

  uint16_t v, in[3];
  wk_expr_builder *x = wk_expr_begin(arena);
  v = wk_expr_norm_variance(x, wk_expr_i(x, WK_I32, sum), wk_expr_i(x, WK_I32, squares), r.n, e);
  int64_t variance = value_of(x, v);
  x = wk_expr_begin(arena);
  int64_t down = value_of(x, wk_expr_norm_shift(x, wk_expr_i(x, WK_I64, variance)));
  x = wk_expr_begin(arena);
  v = wk_expr_norm_inverse(x, wk_expr_i(x, WK_I64, variance), wk_expr_i(x, WK_I32, down));
  int64_t root = value_of(x, v);
  x = wk_expr_begin(arena);
  for (int k = 0; k < 3; k++) in[k] = wk_expr_input(x, k, WK_I32);
  v = wk_expr_norm_standard(x, in[0], wk_expr_i(x, WK_I32, sum), wk_expr_i(x, WK_I32, root),
                            wk_expr_i(x, WK_I32, down), r.n);
  int twice = shift == 0; /* p is (2 * p + 1) >> 1: the definition has no shift of 0 */
  v = wk_expr_norm_scaled(x, v, in[1], in[2], shift + twice);
  const wk_expr *y = wk_expr_finish(x, &v, 1);
  for (int i = 0; i < r.n; i++) {
    int64_t q = r.q[i] - (is_centred ? 0 : r.zero);
    wk_scalar operands[] = {{.i = q}, {.i = gain[i] * (1 + twice)}, {.i = bias[i]}}, scratch[64], z;
    assert_true(y->n <= WK_COUNTOF(scratch));
    wk_expr_eval(y, operands, NULL, scratch, &z);
    expect(b, &r, i, z.i);
  }
}

static void norms(void **state) {
  bench b;
  (void)state;
  begin(&b, 1);
  for (int i = 0; i < 1200; i++) {
    wk_arena *arena = wk_arena_new();
    check_norm(&b, arena, i % 3 != 2, i >= 600);
    wk_arena_free(arena);
  }
  wk_functional_free(&b.f);
}

static void check_softmax(bench *b, wk_arena *arena) {
  static row r;
  int32_t table[256];
  int64_t m, sum = 0;
  int s, most = -128;
  draw_row(b, &r);
  wk_softmax_table(draw_scale(b, -12, 3), WK_SOFTMAX_FAR, table);
  assert_true(wk_softmax_factor(r.n, draw_scale(b, -10, -4), &m, &s));
  put(b, PAR + WK_RECORD_BYTES, 4, m);
  put(b, PAR + WK_RECORD_BYTES + 4, 4, (int64_t)s << 24);
  for (int d = 0; d < 256; d++)
    for (int t = 0; t < 3; t++) b->f.tables[256 * t + d] = (uint8_t)(table[d] >> 8 * t);
  run_row(b, &r, WK_CHOICE_ROW_softmax);
  for (int i = 0; i < r.n; i++) most = r.q[i] > most ? r.q[i] : most;
  for (int i = 0; i < r.n; i++) sum += table[most - r.q[i]];

  wk_expr_builder *x = wk_expr_begin(arena);
  int64_t z = value_of(x, wk_expr_softmax_bits(x, wk_expr_i(x, WK_I64, sum)));
  x = wk_expr_begin(arena);
  uint16_t total = wk_expr_i(x, WK_I64, sum);
  int64_t q = value_of(x, wk_expr_softmax_quotient(x, total, wk_expr_i(x, WK_I32, z), m));
  x = wk_expr_begin(arena);
  wk_rescale f = {.mult = value_of(x, wk_expr_softmax_mult(x, wk_expr_i(x, WK_I32, q)))};
  x = wk_expr_begin(arena);
  uint16_t quotient = wk_expr_i(x, WK_I32, q);
  f.shift = (int)value_of(x, wk_expr_softmax_shift(x, quotient, wk_expr_i(x, WK_I32, z), s));
  for (int i = 0; i < r.n; i++) expect(b, &r, i, wk_rescale_apply(table[most - r.q[i]], &f));
}

static void softmax(void **state) {
  bench b;
  (void)state;
  begin(&b, 2);
  for (int i = 0; i < 600; i++) {
    wk_arena *arena = wk_arena_new();
    check_softmax(&b, arena);
    wk_arena_free(arena);
  }
  wk_functional_free(&b.f);
}

/* Sums of any size: what isa.md says, of the same exponential for every element. */
static void check_reciprocal(bench *b, int *refused) {
  static row r;
  draw_row(b, &r);
  if (r.n > 300) r.n = (int)draw(b, 1, 5);
  for (int i = 0; i < r.n; i++) put(b, IN + i, 1, r.q[i] = 1);
  int64_t e = draw(b, 0, (INT64_C(1) << draw(b, 0, 24)) - 1), sum = e * r.n;
  int64_t m = draw(b, 0, 9) ? draw(b, INT64_C(1) << 30, INT32_MAX) : draw(b, 0, UINT32_MAX);
  int s = (int)draw(b, 0, draw(b, 0, 3) ? 62 : 255), z = 0;
  put(b, PAR + WK_RECORD_BYTES, 4, m);
  put(b, PAR + WK_RECORD_BYTES + 4, 4, (int64_t)s << 24);
  for (int t = 0; t < 3; t++) memset(b->f.tables + 256 * t, (int)(e >> 8 * t), 256);
  while (sum >> z) z++;
  int64_t scaled = z > 7 ? m << (z - 7) : m >> (7 - z); /* floors compose; m < 2^31 if it counts */
  int64_t q = sum && m >> 30 == 1 ? (int64_t)((uint64_t)scaled / (uint64_t)sum) : 0;
  wk_rescale f = {.mult = q >> 24 ? q >> 1 : q, .shift = s + z - 23 - (int)(q >> 24)};
  bool is_defined = sum && m >> 30 == 1 && f.shift >= 1 && f.shift <= 62;
  assert_int_equal(try_row(b, &r, WK_CHOICE_ROW_softmax), is_defined);
  *refused += !is_defined;
  for (int i = 0; i < r.n && is_defined; i++) expect(b, &r, i, wk_rescale_apply(e, &f));
}

static void reciprocals(void **state) {
  bench b;
  int refused = 0;
  (void)state;
  begin(&b, 5);
  for (int i = 0; i < 5000; i++) check_reciprocal(&b, &refused);
  assert_in_range(refused, 500, 4000);
  wk_functional_free(&b.f);
}

/* What a normalisation refuses: v = 0, v or e of 2^62 and more, shifts above 62. Rows of two
 * elements: v is 2^16 * (a - b)^2 + e, of rmsnorm 2^17 * ((a - za)^2 + (b - za)^2) + e. */
static const struct {
  int fn, a, b, za;
  uint64_t epsilon;
  int shift;
  bool is_taken;
} moments[] = {
#define LAYER WK_CHOICE_ROW_layernorm
#define RMS WK_CHOICE_ROW_rmsnorm
#define LIMIT (UINT64_C(1) << 62)
    {LAYER, 5, 5, 0, 0, 20, false},
    {LAYER, 5, 5, 0, 1, 20, true},
    {LAYER, 5, 5, 0, LIMIT - 1, 20, true},
    {LAYER, 5, 5, 0, LIMIT, 20, false},
    {LAYER, 5, 5, 0, 2 * LIMIT + 1, 20, false},
    {LAYER, 5, 5, 0, 3 * LIMIT + 1, 20, false},
    {LAYER, 5, 6, 0, UINT64_MAX, 20, false}, /* v wraps */
    {LAYER, 5, 6, 0, 0, 20, true},
    {LAYER, 5, 6, 0, LIMIT - 65537, 20, true},
    {LAYER, 5, 6, 0, LIMIT - 65536, 20, false},
    {LAYER, 5, 6, 0, LIMIT - 1, 20, false},
    {RMS, 5, 5, 5, 0, 20, false},
    {RMS, 5, 5, 5, 1, 20, true},
    {RMS, 5, 6, 5, 0, 20, true},
    {RMS, 5, 6, 5, LIMIT - 131073, 20, true},
    {RMS, 5, 6, 5, LIMIT - 131072, 20, false},
    {LAYER, 5, 6, 0, 1, 0, true},
    {LAYER, 5, 6, 0, 1, 62, true},
    {LAYER, 5, 6, 0, 1, 63, false},
    {RMS, 5, 6, 0, 1, 62, true},
    {RMS, 5, 6, 0, 1, 63, false},
    {RMS, 5, 6, 0, 1, 255, false},
};

static void refused_moments(void **state) {
  bench b;
  (void)state;
  begin(&b, 6);
  for (size_t i = 0; i < WK_COUNTOF(moments); i++) {
    row r = {.n = 2};
    put(&b, IN, 1, moments[i].a);
    put(&b, IN + 1, 1, moments[i].b);
    put(&b, OUT, 2, 0x5a5a);
    put(&b, PAR + 8, 8, (int64_t)moments[i].epsilon);
    put(&b, PAR + 16, 1, moments[i].shift);
    put(&b, PAR + 18, 2, moments[i].za);
    for (int k = 0; k < 4; k++) /* biases and gains */
      put(&b, PAR + WK_RECORD_BYTES + 4 * k, 4, k % 2 ? 1 << 23 : 9 << 16);
    bool is_taken = try_row(&b, &r, moments[i].fn);
    if (is_taken != moments[i].is_taken) fail_msg("row %zu", i);
    bool is_left = b.f.scratchpad[OUT] == 0x5a && b.f.scratchpad[OUT + 1] == 0x5a;
    if (is_left == is_taken) fail_msg("results of row %zu", i);
  }
  wk_functional_free(&b.f);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* An image of h * w pixels of `array` bytes each, and what is computed of it. */
typedef struct {
  int h, w, ny, nx, ky, kx, sy, sx, dy, dx, pad_t, pad_l, n, fn;
  bool is_u8;
  int zero, y_zero;
  wk_rescale factors[64]; /* by taps; of mean, the first one */
} windows;

static void draw_windows(bench *b, windows *x) {
  *x = (windows){.h = (int)draw(b, 1, 7), .w = (int)draw(b, 1, 7), .ny = (int)draw(b, 1, 4),
                 .nx = (int)draw(b, 1, 4), .ky = (int)draw(b, 1, 4), .kx = (int)draw(b, 1, 4),
                 .sy = (int)draw(b, 1, 2), .sx = (int)draw(b, 1, 2), .dy = (int)draw(b, 1, 2),
                 .dx = (int)draw(b, 1, 2), .pad_t = (int)draw(b, 0, 2), .pad_l = (int)draw(b, 0, 2),
                 .n = (int)draw(b, 1, b->m.array), .fn = (int)draw(b, 0, 2),
                 .is_u8 = draw(b, 0, 1), .zero = (int)draw(b, -128, 255),
                 .y_zero = (int)draw(b, -128, 127)};
  for (size_t i = 0; i < WK_COUNTOF(x->factors); i++) {
    assert_true(wk_rescale_of(draw_scale(b, -7, -1), &x->factors[i]));
    put(b, PAR + WK_RECORD_BYTES + WK_ENTRY_BYTES * (int)i, 4, draw(b, INT32_MIN, INT32_MAX));
    put(b, PAR + WK_RECORD_BYTES + WK_ENTRY_BYTES * (int)i + 4, 4,
        x->factors[i].mult | (int64_t)x->factors[i].shift << 24);
  }
  put(b, PAR, 2, x->y_zero);
  put(b, PAR + 2, 2, -100);
  put(b, PAR + 4, 2, 90);
  put(b, PAR + 18, 2, x->zero);
  for (int i = 0; i < x->h * x->w * b->m.array; i++) put(b, IN + i, 1, draw(b, 0, 255));
}

static void run_windows(bench *b, const windows *x) {
  int n = (int)b->m.array, pitch = x->w * n;
  wk_isa_command c = wk_isa_command_default(&b->m, WK_CMD_POOL);
  int64_t *v = c.v;
  c.queue = WK_QUEUE_ve;
  v[WK_POOL_fn] = x->fn, v[WK_POOL_u8] = x->is_u8, v[WK_POOL_n] = x->n, v[WK_POOL_par] = PAR;
  v[WK_POOL_in] = IN - x->pad_t * pitch - x->pad_l * n;
  v[WK_POOL_in_y] = x->sy * pitch, v[WK_POOL_in_x] = x->sx * n;
  v[WK_POOL_k_y] = x->dy * pitch, v[WK_POOL_k_x] = x->dx * n;
  v[WK_POOL_ny] = x->ny, v[WK_POOL_nx] = x->nx, v[WK_POOL_ky] = x->ky, v[WK_POOL_kx] = x->kx;
  v[WK_POOL_pad_t] = x->pad_t, v[WK_POOL_pad_l] = x->pad_l;
  v[WK_POOL_h] = x->h, v[WK_POOL_w] = x->w, v[WK_POOL_sy] = x->sy, v[WK_POOL_sx] = x->sx;
  v[WK_POOL_dy] = x->dy, v[WK_POOL_dx] = x->dx;
  v[WK_POOL_out] = OUT, v[WK_POOL_out_y] = 5 * n, v[WK_POOL_out_x] = n;
  assert_true(wk_functional_execute(&b->f, &c));
}

/* Of channel i of one pixel; taps: how many are no padding. */
static int64_t looped_window(const bench *b, const windows *x, int y, int px, int i, int *taps) {
  int64_t sum = 0, most = x->is_u8 ? 0 : -128;
  *taps = 0;
  for (int ky = 0; ky < x->ky; ky++)
    for (int kx = 0; kx < x->kx; kx++) {
      int iy = y * x->sy + ky * x->dy - x->pad_t, ix = px * x->sx + kx * x->dx - x->pad_l;
      if (iy < 0 || iy >= x->h || ix < 0 || ix >= x->w) continue;
      uint8_t q = b->f.scratchpad[IN + (iy * x->w + ix) * b->m.array + i];
      int64_t value = x->is_u8 ? q : (int8_t)q;
      sum += value - x->zero;
      most = value > most ? value : most;
      ++*taps;
    }
  return x->fn == WK_CHOICE_POOL_max ? most : sum;
}

static void check_pixel(const bench *b, const windows *x, int y, int px) {
  for (int i = 0; i < x->n; i++) {
    int taps;
    int64_t v = looped_window(b, x, y, px, i, &taps);
    if (x->fn != WK_CHOICE_POOL_max) {
      int entry = x->fn == WK_CHOICE_POOL_valid_mean && taps ? taps - 1 : 0;
      v = wk_rescale_apply(v, &x->factors[entry]) + x->y_zero;
      v = v < -100 ? -100 : v > 90 ? 90 : v;
    }
    if (b->f.scratchpad[OUT + (y * 5 + px) * b->m.array + i] != (uint8_t)v)
      fail_msg("function %d, pixel %d %d of %d taps", x->fn, y, px, taps);
  }
}

static void pools(void **state) {
  bench b;
  (void)state;
  begin(&b, 7);
  for (int i = 0; i < 3000; i++) {
    windows x;
    draw_windows(&b, &x);
    run_windows(&b, &x);
    for (int y = 0; y < x.ny; y++)
      for (int px = 0; px < x.nx; px++) check_pixel(&b, &x, y, px);
  }
  wk_functional_free(&b.f);
}

/* ---- single values --------------------------------------------------------------------------- */

static int64_t clamped(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

static void sums(void **state) {
  bench b;
  (void)state;
  begin(&b, 3);
  for (int i = 0; i < 200000; i++) {
    wk_rescale f;
    assert_true(wk_rescale_of(draw_scale(&b, -24, 6.9), &f));
    int32_t sum = (int32_t)(wk_rng_next(&b.g) >> 32) >> draw(&b, 0, 31);
    int32_t bias = (int32_t)draw(&b, -9999, 9999);
    wk_record r = {.zero = (int32_t)draw(&b, -128, 127), .lo = -128, .hi = 127};
    wk_record_entry e = {.bias = bias, .mult = (uint32_t)f.mult, .shift = f.shift};
    int64_t a = (int32_t)((uint32_t)sum + (uint32_t)bias);
    assert_int_equal(wk_functional_requantise(sum, &r, &e),
                     clamped(wk_rescale_apply(a, &f) + r.zero, r.lo, r.hi));
  }
  wk_functional_free(&b.f);
}

static void additions(void **state) {
  bench b;
  (void)state;
  begin(&b, 4);
  for (int i = 0; i < 200000; i++) {
    const double factors[2] = {draw_scale(&b, -9, 9), draw_scale(&b, -9, 9)};
    int64_t mults[2];
    int shift;
    assert_true(wk_rescale_common(factors, 2, WK_RESCALE_BITS_8, mults, &shift));
    wk_record r = {.ma = (int32_t)mults[0], .mb = (int32_t)mults[1], .shift = shift};
    r.za = (int32_t)draw(&b, -128, 127);
    r.zb = (int32_t)draw(&b, -128, 127);
    r.zy = (int32_t)draw(&b, -128, 127);
    r.lo2 = -128;
    r.hi2 = 127;
    int32_t qa = (int32_t)draw(&b, -128, 127), qb = (int32_t)draw(&b, -128, 127);
    if (i % 2) r.mb = -r.mb; /* sub */
    wk_scalar sum = {.i = (int64_t)(qa - r.za) * r.ma + (int64_t)(qb - r.zb) * r.mb};
    wk_scalar by = {.i = shift};
    assert_in_range(sum.i + INT64_C(0x80000000), 0, UINT32_MAX);
    int64_t y = wk_expr_apply(WK_EX_SHR_ROUND, WK_I32, WK_I32, sum, by, by).i + r.zy;
    assert_int_equal(wk_functional_add(qa, qb, &r), clamped(y, -128, 127));
  }
  wk_functional_free(&b.f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(norms), cmocka_unit_test(softmax),
                                     cmocka_unit_test(reciprocals),
                                     cmocka_unit_test(refused_moments), cmocka_unit_test(pools),
                                     cmocka_unit_test(sums), cmocka_unit_test(additions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
