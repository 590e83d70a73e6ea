/* SPDX-License-Identifier: Apache-2.0
 * What the checker keeps: sets of places against an array of them, and the bytes of the scratchpad
 * that are known before a stream runs against a copy byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/check/constants.h"
#include "targets/accel/check/places.h"
#include "tests/unit/accel_commands.h"

/* ---- sets ------------------------------------------------------------------------------------ */

enum { MOST = 700, ROUNDS = 3000 };

typedef struct {
  wk_places p;
  int64_t low, high;
  bool has[MOST]; /* low + i */
} subject;

static void expect_same(const subject *x) {
  for (int64_t i = x->low; i <= x->high; i++)
    if (wk_places_has_any(&x->p, i, i) != x->has[i - x->low])
      fail_msg("%lld of %lld to %lld", (long long)i, (long long)x->low, (long long)x->high);
}

/* Runs are those of the array, one after the other, each as long as it can be. */
static void expect_runs(const subject *x) {
  int64_t at = x->low - 3, length, i = x->low;
  while (wk_places_run(&x->p, &at, &length)) {
    for (; i < at; i++) assert_false(x->has[i - x->low]);
    assert_true(length > 0);
    for (; i < at + length; i++) assert_true(i <= x->high && x->has[i - x->low]);
    assert_true(i > x->high || !x->has[i - x->low]);
    at += length;
  }
  for (; i <= x->high; i++) assert_false(x->has[i - x->low]);
}

/* The set moved by so much stays within its bounds. */
static bool stays(const subject *x, int64_t by) {
  for (int64_t i = x->low; i <= x->high; i++)
    if (x->has[i - x->low] && (i + by < x->low || i + by > x->high)) return false;
  return true;
}

static void join(subject *x, int64_t by) {
  bool was[MOST];
  memcpy(was, x->has, sizeof was);
  for (int64_t i = x->low; i <= x->high; i++)
    if (was[i - x->low]) x->has[i + by - x->low] = true;
}

static void change(subject *x, wk_rng *r) {
  int64_t span = x->high - x->low, by = draw(r, -span, span), n = draw(r, 1, 6);
  switch (draw(r, 0, 3)) {
    case 0:
      by = draw(r, x->low, x->high);
      wk_places_add(&x->p, by);
      x->has[by - x->low] = true;
      return;
    case 1: by = draw(r, -130, 130); break;
    case 2: by = 64 * draw(r, -3, 3); break;
    default: break;
  }
  if (draw(r, 0, 1)) {
    if (!stays(x, by)) return;
    wk_places from = wk_places_copy(&x->p);
    wk_places_join(&x->p, draw(r, 0, 1) ? &from : &x->p, by);
    wk_places_free(&from);
    join(x, by);
    return;
  }
  by /= draw(r, 1, 20);
  if (!stays(x, by * (n - 1))) return;
  wk_places_repeat(&x->p, by, n);
  for (int64_t i = 1; i < n && by; i++) join(x, by);
}

static void sets(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    wk_rng r = {seed};
    subject x = {.low = draw(&r, -400, 400)};
    x.high = x.low + draw(&r, 0, draw(&r, 0, 1) ? 70 : MOST - 1);
    x.p = wk_places_new(x.low, x.high);
    expect_runs(&x);
    for (int k = 0; k < ROUNDS / 300; k++) {
      change(&x, &r);
      expect_same(&x);
      expect_runs(&x);
    }
    wk_places_free(&x.p);
    assert_null(x.p.data);
  }
}

/* A set of nothing may be moved as far as one likes. */
static void nothing_moves(void **state) {
  (void)state;
  for (int64_t high = 0; high < 200; high += 63)
    for (int64_t by = -320; by <= 320; by += 32) {
      wk_places p = wk_places_new(0, high);
      wk_places_join(&p, &p, by);
      wk_places_repeat(&p, by, 4);
      assert_false(wk_places_has_any(&p, 0, high));
      assert_false(wk_places_has_any(&p, high + 1, high + 200));
      wk_places_free(&p);
    }
}

/* Bounds of a question are inclusive, and lie anywhere. */
static void questions(void **state) {
  wk_places p = wk_places_new(-100, 200);
  (void)state;
  wk_places_add(&p, -100);
  wk_places_add(&p, 27);
  wk_places_add(&p, 28);
  wk_places_add(&p, 200);
  static const struct {
    int64_t from, to;
    bool any;
  } cases[] = {{-200, -101, false}, {-200, -100, true}, {-100, -100, true}, {-99, 26, false},
               {-99, 27, true},     {28, 28, true},     {29, 199, false},   {29, 200, true},
               {200, 300, true},    {201, 300, false},  {20, 30, true},     {-200, 300, true}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    assert_int_equal(wk_places_has_any(&p, cases[i].from, cases[i].to), cases[i].any);
  wk_places_free(&p);
}

/* ---- bytes that are known -------------------------------------------------------------------- */

enum { MEMORY = 3000, SCRATCHPAD = 16384 };

typedef struct {
  int16_t memory[MEMORY];         /* of each byte, what it is for ever; -1: not known */
  int16_t scratchpad[SCRATCHPAD];
} bytes;

/* Regions that touch and that do not, with and without bytes; stores into some of them. */
static wk_stream *regions(wk_rng *r, const wk_machine *m, bytes *b, wk_sched_shadow *written) {
  wk_stream *s = wk_stream_new(m, "");
  wk_image *region;
  for (int i = 0; i < MEMORY; i++) b->memory[i] = -1;
  for (int64_t at = draw(r, 0, 200), k = 0; at < MEMORY - 400; k++) {
    char name[32];
    int64_t size = draw(r, 1, 400);
    uint8_t *data;
    snprintf(name, sizeof name, "r%lld", (long long)k);
    assert_null(wk_stream_region(s, name, (uint64_t)at, (uint64_t)size, &region));
    if (draw(r, 0, 3)) {
      assert_null(wk_region_fill(region, &data));
      for (int64_t i = 0; i < size; i++) b->memory[at + i] = data[i] = (uint8_t)draw(r, 0, 255);
    }
    at += size + (draw(r, 0, 1) ? draw(r, 1, 200) : 0);
  }
  wk_sched_shadow_begin(written, UINT64_C(1) << 32);
  for (int64_t n = draw(r, 0, 3); n > 0; n--) {
    int64_t from = draw(r, 0, MEMORY - 60), size = draw(r, 1, 60);
    wk_sched_shadow_note(written, (uint64_t)from, (uint64_t)size);
    for (int64_t i = 0; i < size; i++) b->memory[from + i] = -1;
  }
  wk_sched_shadow_end(written);
  return s;
}

static wk_isa_command draw_load(wk_rng *r, const wk_machine *m) {
  wk_isa_fault f;
  for (;;) {
    wk_isa_command c = draw_command(r, m, WK_CMD_LD);
    int64_t *v = c.v;
    v[WK_LD_n0] = draw(r, 1, 90);
    v[WK_LD_dram] = draw(r, 0, MEMORY - 100);
    int64_t total = v[WK_LD_n0] * v[WK_LD_n1] * v[WK_LD_n2] * v[WK_LD_n3];
    v[WK_LD_c0] = draw(r, 1, 40);
    while (total % v[WK_LD_c0]) v[WK_LD_c0]--;
    v[WK_LD_p1] = v[WK_LD_c0] + draw(r, 0, 3);
    v[WK_LD_p2] = v[WK_LD_p1] * v[WK_LD_c1] + draw(r, 0, 3);
    int64_t last = v[WK_LD_dram] + (v[WK_LD_n1] - 1) * v[WK_LD_s1] +
                   (v[WK_LD_n2] - 1) * v[WK_LD_s2] + (v[WK_LD_n3] - 1) * v[WK_LD_s3] + v[WK_LD_n0];
    if (last <= MEMORY && !wk_isa_find_fault(m, &c, NULL, &f)) return c;
  }
}

/* A piece, within a run and a chunk, is known as a whole or not at all: all that is claimed must be
 * so, and what a piece of bytes for ever brings must be claimed. */
static void load(const wk_isa_command *c, bytes *b) {
  const int64_t *v = c->v;
  int64_t total = v[WK_LD_n0] * v[WK_LD_n1] * v[WK_LD_n2] * v[WK_LD_n3];
  for (int64_t i = 0; i < total; i++) {
    int64_t run = i / v[WK_LD_n0], chunk = i / v[WK_LD_c0];
    int64_t from = v[WK_LD_dram] + run % v[WK_LD_n1] * v[WK_LD_s1] +
                   run / v[WK_LD_n1] % v[WK_LD_n2] * v[WK_LD_s2] +
                   run / v[WK_LD_n1] / v[WK_LD_n2] * v[WK_LD_s3] + i % v[WK_LD_n0];
    int64_t to = v[WK_LD_spm] + chunk / v[WK_LD_c1] * v[WK_LD_p2] +
                 chunk % v[WK_LD_c1] * v[WK_LD_p1] + i % v[WK_LD_c0];
    b->scratchpad[to] = b->memory[from];
  }
}

static void known_bytes(void **state) {
  static bytes b;
  wk_machine m;
  int64_t known = 0, claimed = 0;
  (void)state;
  assert_null(wk_machine_read("tiny", &m));
  m.scratchpad = SCRATCHPAD;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    wk_rng r = {seed};
    wk_sched_shadow written = {0};
    wk_stream *s = regions(&r, &m, &b, &written);
    wk_constants k = wk_constants_new(s, &m, &written);
    for (int i = 0; i < SCRATCHPAD; i++) b.scratchpad[i] = -1;
    for (int n = 0; n < 4; n++) {
      wk_isa_command c = draw_load(&r, &m);
      int64_t total = c.v[WK_LD_n0] * c.v[WK_LD_n1] * c.v[WK_LD_n2] * c.v[WK_LD_n3];
      load(&c, &b);
      /* as the checker has it: what is written is forgotten, then known anew */
      for (int64_t i = 0; i < total / c.v[WK_LD_c0]; i++)
        wk_constants_forget(&k, (uint64_t)(c.v[WK_LD_spm] + i / c.v[WK_LD_c1] * c.v[WK_LD_p2] +
                                           i % c.v[WK_LD_c1] * c.v[WK_LD_p1]),
                            (uint64_t)c.v[WK_LD_c0]);
      wk_constants_load(&k, &c);
    }
    for (int i = 0; i < SCRATCHPAD; i++) {
      uint8_t got;
      bool is_known = wk_constants_read(&k, (uint64_t)i, 1, &got);
      known += b.scratchpad[i] >= 0, claimed += is_known;
      if (is_known && got != b.scratchpad[i])
        fail_msg("seed %d: byte %d is %d, not %d", (int)seed, i, got, b.scratchpad[i]);
    }
    wk_constants_free(&k);
    wk_sched_shadow_free(&written);
    wk_stream_free(s);
  }
  assert_true(known > 20000 && claimed > known / 2);
}

/* The first and the last byte of a region, and those beside; what some command writes. */
static void edges_of_regions(void **state) {
  static const struct {
    int64_t dram, bytes, written; /* written: from there on 4 bytes, -1: none */
    bool is_known;
  } cases[] = {{100, 8, -1, true},  {100, 50, -1, true}, {99, 8, -1, false}, {142, 8, -1, true},
               {143, 8, -1, false}, {149, 1, -1, true},  {150, 1, -1, false}, {100, 51, -1, false},
               {150, 8, -1, false}, {200, 8, -1, true},  {208, 2, -1, true}, {208, 3, -1, false},
               {110, 8, 106, true}, {110, 8, 107, false}, {110, 8, 117, false},
               {110, 8, 118, true}, {110, 8, 200, true}};
  wk_machine m;
  (void)state;
  assert_null(wk_machine_read("tiny", &m));
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_stream *s = wk_stream_new(&m, "");
    wk_image *region;
    uint8_t *data, got[64];
    wk_sched_shadow written = {0};
    assert_null(wk_stream_region(s, "a", 100, 50, &region));
    assert_null(wk_region_fill(region, &data));
    for (int k = 0; k < 50; k++) data[k] = (uint8_t)(k + 1);
    assert_null(wk_stream_region(s, "b", 150, 50, &region)); /* nothing is known of it */
    assert_null(wk_stream_region(s, "c", 200, 10, &region));
    assert_null(wk_region_fill(region, &data));
    wk_sched_shadow_begin(&written, 1 << 20);
    if (cases[i].written >= 0) wk_sched_shadow_note(&written, (uint64_t)cases[i].written, 4);
    wk_sched_shadow_end(&written);
    wk_constants k = wk_constants_new(s, &m, &written);
    wk_isa_command c = wk_isa_command_default(&m, WK_CMD_LD);
    c.v[WK_LD_dram] = cases[i].dram, c.v[WK_LD_spm] = 64;
    c.v[WK_LD_n0] = c.v[WK_LD_c0] = cases[i].bytes;
    wk_constants_load(&k, &c);
    bool is_known = wk_constants_read(&k, 64, (int)cases[i].bytes, got);
    if (is_known != cases[i].is_known) fail_msg("case %zu: %d", i, is_known);
    if (is_known && cases[i].dram < 150) assert_int_equal(got[0], cases[i].dram - 99);
    assert_false(wk_constants_read(&k, 63, (int)cases[i].bytes, got));
    assert_false(wk_constants_read(&k, 64, (int)cases[i].bytes + 1, got));
    wk_constants_forget(&k, 64, 1);
    assert_false(wk_constants_read(&k, 64, 1, got));
    wk_constants_free(&k);
    wk_sched_shadow_free(&written);
    wk_stream_free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sets), cmocka_unit_test(nothing_moves),
                                     cmocka_unit_test(questions),
                                     cmocka_unit_test(known_bytes),
                                     cmocka_unit_test(edges_of_regions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
