/* SPDX-License-Identifier: Apache-2.0
 * Sums of the functional model, by loops over what docs/isa.md says of CONV, DWC and MM: what is in
 * the accumulators, and which bytes a drain leaves of it. Records and residuals are
 * test_sim_arithmetic's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/model/functional.h"

enum { IN = 0x2000, WT = 0x4000, PAR = 0x8000, RES = 0x9000, OUT = 0xa000, ROUNDS = 600 };
enum { PIXELS = 64, OUTPUTS = 2048 };

typedef struct {
  wk_machine m;
  wk_functional f;
  wk_rng g;
  int64_t sums[PIXELS][32]; /* of the accumulators, as they should be */
} bench;

static int draw(bench *b, int64_t low, int64_t high) {
  return (int)wk_rng_range(&b->g, low, high);
}

static void put(bench *b, int at, int bytes, int64_t v) {
  for (int i = 0; i < bytes; i++) b->f.scratchpad[PAR + at + i] = (uint8_t)((uint64_t)v >> 8 * i);
}

/* Sums of some ten thousands become bytes, with about as much of the residual. */
static void put_record(bench *b) {
  memset(b->f.scratchpad + PAR, 0, WK_RECORD_BYTES);
  put(b, 2, 2, -128), put(b, 4, 2, 127);
  put(b, 8, 4, 3), put(b, 12, 4, 5), put(b, 16, 1, 3); /* (3 * a + 5 * b) >> 3 */
  put(b, 24, 2, -120), put(b, 26, 2, 110);
  for (int o = 0; o < 32; o++) {
    put(b, WK_RECORD_BYTES + WK_ENTRY_BYTES * o, 4, draw(b, -3000, 3000));
    put(b, WK_RECORD_BYTES + WK_ENTRY_BYTES * o + 4, 4, draw(b, 1 << 23, (1 << 24) - 1) | 17 << 24);
  }
}

static void begin(bench *b, const char *machine, uint64_t seed) {
  memset(b, 0, sizeof *b);
  assert_null(wk_machine_read(machine, &b->m));
  wk_functional_init(&b->f, &b->m, NULL, 0);
  b->g = (wk_rng){seed};
  for (int i = 0; i < OUT; i++) b->f.scratchpad[i] = (uint8_t)draw(b, 0, 255);
  put_record(b);
}

static int64_t byte_at(const bench *b, int64_t at, bool is_u8) {
  uint8_t q = b->f.scratchpad[at];
  return is_u8 ? q : (int8_t)q;
}

/* Of a zero point, which is a byte of its type. */
static int64_t zero_of(int64_t byte, bool is_u8) { return is_u8 ? byte : (int8_t)byte; }

/* ---- commands -------------------------------------------------------------------------------- */

#define SET(C, field, value) (c->v[WK_##C##_##field] = (value))
#define GET(C, field) (c->v[WK_##C##_##field])

/* Which have the same fields in the same places. */
static void draw_window(bench *b, wk_isa_command *c) {
  int n = (int)b->m.array, h = draw(b, 1, 6), w = draw(b, 1, 6), pitch = w * n;
  int sy = draw(b, 1, 2), sx = draw(b, 1, 2), dy = draw(b, 1, 2), dx = draw(b, 1, 2);
  int pad_t = draw(b, 0, 2), pad_l = draw(b, 0, 2);
  SET(CONV, ny, draw(b, 1, 4)), SET(CONV, nx, draw(b, 1, 4));
  SET(CONV, ky, draw(b, 1, 3)), SET(CONV, kx, draw(b, 1, 4));
  SET(CONV, pad_t, pad_t), SET(CONV, pad_l, pad_l), SET(CONV, h, h), SET(CONV, w, w);
  SET(CONV, sy, sy), SET(CONV, sx, sx), SET(CONV, dy, dy), SET(CONV, dx, dx);
  SET(CONV, in, IN - pad_t * pitch - pad_l * n);
  SET(CONV, in_y, sy * pitch), SET(CONV, in_x, sx * n);
  SET(CONV, k_y, dy * pitch), SET(CONV, k_x, dx * n);
}

static bool is_inside(const wk_isa_command *c, int y, int x, int ky, int kx) {
  int64_t iy = y * GET(CONV, sy) + ky * GET(CONV, dy) - GET(CONV, pad_t);
  int64_t ix = x * GET(CONV, sx) + kx * GET(CONV, dx) - GET(CONV, pad_l);
  return iy >= 0 && iy < GET(CONV, h) && ix >= 0 && ix < GET(CONV, w);
}

static int64_t address(const wk_isa_command *c, int y, int x, int ky, int kx) {
  return GET(CONV, in) + y * GET(CONV, in_y) + x * GET(CONV, in_x) + ky * GET(CONV, k_y) +
         kx * GET(CONV, k_x);
}

static void draw_conv(bench *b, wk_isa_command *c) {
  draw_window(b, c);
  if (b->m.array == 32 && GET(CONV, kx) > 2) SET(CONV, kx, 2); /* tiles end before PAR */
  SET(CONV, kc, draw(b, 1, 2)), SET(CONV, k_c, 40 * b->m.array);
  SET(CONV, k_tail, draw(b, 1, b->m.array)), SET(CONV, n, draw(b, 1, b->m.array));
  SET(CONV, zero, draw(b, 0, 255)), SET(CONV, u8, draw(b, 0, 1)), SET(CONV, wt, WT);
}

static int64_t looped_conv(const bench *b, const wk_isa_command *c, int pixel, int o) {
  int64_t n = b->m.array, kc = GET(CONV, kc), sum = 0, tile = WT;
  int y = pixel / (int)GET(CONV, nx), x = pixel % (int)GET(CONV, nx);
  bool is_u8 = GET(CONV, u8);
  for (int64_t k = 0; k < kc; k++)
    for (int ky = 0; ky < GET(CONV, ky); ky++)
      for (int kx = 0; kx < GET(CONV, kx); kx++, tile += n * n)
        for (int64_t i = 0; i < (k + 1 == kc ? GET(CONV, k_tail) : n); i++)
          if (is_inside(c, y, x, ky, kx))
            sum += (byte_at(b, address(c, y, x, ky, kx) + k * GET(CONV, k_c) + i, is_u8) -
                    zero_of(GET(CONV, zero), is_u8)) * byte_at(b, tile + o * n + i, false);
  return sum;
}

static void draw_dwc(bench *b, wk_isa_command *c) {
  draw_window(b, c);
  SET(DWC, taps, draw(b, 0, 1));
  if (GET(DWC, taps) == WK_CHOICE_TAPS_three) SET(DWC, dx, 1), SET(DWC, k_x, b->m.array);
  SET(DWC, n, draw(b, 1, b->m.array)), SET(DWC, zero, draw(b, 0, 255));
  SET(DWC, u8, draw(b, 0, 1)), SET(DWC, wt, WT);
}

/* Kernel rows of three taps at a time are filled up with words that nobody uses. */
static int64_t looped_dwc(const bench *b, const wk_isa_command *c, int pixel, int o) {
  int64_t n = b->m.array, kx_all = GET(DWC, kx), sum = 0;
  int y = pixel / (int)GET(DWC, nx), x = pixel % (int)GET(DWC, nx);
  bool is_u8 = GET(DWC, u8);
  if (GET(DWC, taps) == WK_CHOICE_TAPS_three)
    while (kx_all % 3) kx_all++;
  for (int ky = 0; ky < GET(DWC, ky); ky++)
    for (int kx = 0; kx < GET(DWC, kx); kx++)
      if (is_inside(c, y, x, ky, kx))
        sum += (byte_at(b, address(c, y, x, ky, kx) + o, is_u8) - zero_of(GET(DWC, zero), is_u8)) *
               byte_at(b, WT + (ky * kx_all + kx) * n + o, false);
  return sum;
}

static void draw_mm(bench *b, wk_isa_command *c) {
  int n = (int)b->m.array;
  SET(MM, in, IN), SET(MM, in_y, 3 * n + draw(b, 0, 9)), SET(MM, k_c, n + draw(b, 0, 3));
  SET(MM, ny, draw(b, 1, 12)), SET(MM, kc, draw(b, 1, 3)), SET(MM, k_tail, draw(b, 1, n));
  SET(MM, zero, draw(b, 0, 255)), SET(MM, u8, draw(b, 0, 1)), SET(MM, wt, WT);
  SET(MM, w_r, n + draw(b, 0, 5)), SET(MM, w_c, 40 * n), SET(MM, transposed, draw(b, 0, 1));
  SET(MM, w_zero, draw(b, 0, 255)), SET(MM, w_u8, draw(b, 0, 1)), SET(MM, n, draw(b, 1, n));
}

static int64_t looped_mm(const bench *b, const wk_isa_command *c, int pixel, int o) {
  int64_t kc = GET(MM, kc), sum = 0, line = GET(MM, w_r);
  bool is_u8 = GET(MM, u8), w_u8 = GET(MM, w_u8);
  for (int64_t k = 0; k < kc; k++)
    for (int64_t i = 0; i < (k + 1 == kc ? GET(MM, k_tail) : b->m.array); i++) {
      int64_t at = GET(MM, in) + pixel * GET(MM, in_y) + k * GET(MM, k_c) + i;
      int64_t tile = WT + k * GET(MM, w_c);
      int64_t weight = GET(MM, transposed) ? tile + i * line + o : tile + o * line + i;
      sum += (byte_at(b, at, is_u8) - zero_of(GET(MM, zero), is_u8)) *
             (byte_at(b, weight, w_u8) - zero_of(GET(MM, w_zero), w_u8));
    }
  return sum;
}

/* ---- sums ------------------------------------------------------------------------------------ */

typedef void drawing(bench *b, wk_isa_command *c);
typedef int64_t looping(const bench *b, const wk_isa_command *c, int pixel, int o);

/* acc, accumulate, drain, residual, out, out_x, out_y, par, res, n of each command. */
typedef struct {
  int opcode;
  drawing *draw;
  looping *loop;
  int acc, accumulate, drain, residual, out, out_x, out_y, par, res, n;
} form;

#define FORM(C, name, x)                                                                         \
  {WK_CMD_##C, draw_##name, looped_##name, WK_##C##_acc, WK_##C##_accumulate, WK_##C##_drain,    \
   WK_##C##_residual, WK_##C##_out, x, WK_##C##_out_y, WK_##C##_par, WK_##C##_res, WK_##C##_n}
static const form forms[] = {FORM(CONV, conv, WK_CONV_out_x), FORM(DWC, dwc, WK_DWC_out_x),
                             FORM(MM, mm, -1)};

static uint8_t drained(const bench *b, const form *x, const wk_isa_command *c, int at, int o,
                       int32_t sum) {
  wk_record r = wk_functional_record(&b->f, PAR);
  wk_record_entry e = wk_functional_entry(&b->f, PAR, o);
  int32_t v = wk_functional_requantise(sum, &r, &e);
  if (c->v[x->residual])
    v = wk_functional_add(v, (int32_t)byte_at(b, RES + at + o, r.residual_is_u8), &r);
  return (uint8_t)v;
}

/* Behind others: the accumulators go on with what they hold, or begin anew. */
static void check(bench *b, const form *x) {
  wk_isa_command c = wk_isa_command_default(&b->m, x->opcode);
  int64_t *v = c.v;
  x->draw(b, &c);
  int pixels = (int)v[WK_CONV_ny] * (int)v[WK_CONV_nx], nx = (int)v[WK_CONV_nx];
  if (x->opcode == WK_CMD_MM) pixels = (int)v[WK_MM_ny], nx = 1;
  int first = draw(b, 0, PIXELS - pixels), n = (int)v[x->n];
  v[x->acc] = first, v[x->accumulate] = draw(b, 0, 1), v[x->drain] = draw(b, 0, 1);
  v[x->residual] = draw(b, 0, 1), v[x->out] = OUT, v[x->par] = PAR, v[x->res] = RES;
  v[x->out_y] = 4 * b->m.array;
  if (x->out_x >= 0) v[x->out_x] = b->m.array;
  uint8_t want[OUTPUTS];
  memset(want, 0x5a, sizeof want);
  memset(b->f.scratchpad + OUT, 0x5a, sizeof want);
  assert_true(wk_functional_execute(&b->f, &c));
  for (int p = 0; p < pixels; p++)
    for (int o = 0; o < n; o++) {
      int64_t *sum = &b->sums[first + p][o];
      *sum = (int32_t)((v[x->accumulate] ? *sum : 0) + x->loop(b, &c, p, o));
      if (b->f.accumulators[(first + p) * b->m.array + o] != (int32_t)*sum)
        fail_msg("array %d, opcode %d, pixel %d of %d, output %d", (int)b->m.array, x->opcode, p,
                 pixels, o);
      int at = p / nx * 4 * (int)b->m.array + p % nx * (int)b->m.array;
      if (v[x->drain]) want[at + o] = drained(b, x, &c, at, o, (int32_t)*sum);
    }
  assert_memory_equal(b->f.scratchpad + OUT, want, sizeof want);
  /* other lanes of an entry hold something: as they are from here on */
  for (int p = 0; p < PIXELS; p++)
    for (int o = 0; o < b->m.array; o++)
      b->sums[p][o] = b->f.accumulators[p * b->m.array + o];
}

static void sums(void **state) {
  static const char *const machines[] = {"tiny", "base", "wide"};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(machines); i++) {
    bench b;
    begin(&b, machines[i], i + 1);
    for (int k = 0; k < ROUNDS; k++) check(&b, &forms[draw(&b, 0, 2)]);
    wk_functional_free(&b.f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sums)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
