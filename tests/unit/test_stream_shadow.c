/* SPDX-License-Identifier: Apache-2.0
 * wk_sched_shadow against a cell for every single address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/stream/shadow.h"

enum { SIZE = 8000, ROUNDS = 60, ACCESSES = 400 };

typedef struct {
  wk_rng r;
  wk_sched_shadow s;
  bool exists[SIZE]; /* address has a cell */
  wk_sched_cell cell[SIZE];
} subject;

static uint64_t draw(subject *x, int64_t low, int64_t high) {
  return (uint64_t)wk_rng_range(&x->r, low, high);
}

static void begin(subject *x, uint64_t seed) {
  memset(x, 0, sizeof *x);
  x->r.s = seed;
  memset(x->cell, 0xff, sizeof x->cell);
  if (seed % 3 == 0) {
    wk_sched_shadow_init(&x->s, SIZE);
    memset(x->exists, true, sizeof x->exists);
    return;
  }
  wk_sched_shadow_begin(&x->s, SIZE);
  for (uint64_t parts = draw(x, 0, 9); parts; parts--) {
    uint64_t from = draw(x, 0, SIZE - 1), length = draw(x, 1, 1500);
    wk_sched_shadow_note(&x->s, from, length);
    for (uint64_t i = from; i < from + length && i < SIZE; i++) x->exists[i] = true;
  }
  wk_sched_shadow_end(&x->s);
}

/* What is said of from .. *end - 1 must hold for each of them. */
static void expect(subject *x, const wk_sched_cell *cell, uint64_t from, uint64_t end) {
  for (uint64_t i = from; i < end; i++) {
    assert_int_equal(x->exists[i], cell != NULL);
    if (cell) assert_memory_equal(&x->cell[i], cell, sizeof *cell);
  }
}

static void set_all(subject *x, const wk_sched_cell *cell, uint64_t from, uint64_t end) {
  for (uint64_t i = from; i < end; i++) x->cell[i] = *cell;
}

static void use(subject *x, uint32_t now) {
  static wk_sched_cell *(*const uses[])(wk_sched_shadow *, uint64_t, uint64_t *) = {
      wk_sched_shadow_find, wk_sched_shadow_cut, wk_sched_shadow_join};
  uint64_t from = draw(x, 0, SIZE - 1), end = from + draw(x, 1, draw(x, 0, 1) ? 40 : 3000), to;
  uint64_t kind = draw(x, 0, 2);
  uint32_t queue = (uint32_t)draw(x, 0, WK_SCHED_QUEUES - 1);
  if (end > SIZE) end = SIZE;
  for (uint64_t a = from; a < end; a = to) {
    to = end;
    wk_sched_cell *cell = uses[kind](&x->s, a, &to);
    assert_true(to > a && to <= end);
    if (kind < 2 || !cell) expect(x, cell, a, to);
    if (!cell || kind == 0) continue;
    if (kind == 1) {
      cell->reader[queue] = now;
    } else {
      wk_sched_cell unused;
      memset(&unused, 0xff, sizeof unused);
      assert_memory_equal(cell, &unused, sizeof unused);
      cell->writer = now;
    }
    set_all(x, cell, a, to);
  }
}

static void expect_all(subject *x) {
  uint64_t end;
  for (uint64_t a = 0; a < SIZE; a = end) {
    end = SIZE;
    const wk_sched_cell *cell = wk_sched_shadow_find(&x->s, a, &end);
    expect(x, cell, a, end);
  }
}

static void test_cells(void **state) {
  static subject x;
  (void)state;
  for (uint64_t seed = 0; seed < ROUNDS; seed++) {
    begin(&x, seed);
    for (uint32_t i = 0; i < ACCESSES; i++) use(&x, i);
    expect_all(&x);
    wk_sched_shadow_free(&x.s);
  }
}

/* A write makes one cell of what was many. */
static void test_join(void **state) {
  wk_sched_shadow s;
  uint64_t end;
  (void)state;
  wk_sched_shadow_init(&s, SIZE);
  for (uint64_t a = 0; a < 512; a += 16) {
    end = a + 16;
    wk_sched_shadow_cut(&s, a, &end)->reader[0] = (uint32_t)a;
  }
  end = 512;
  assert_non_null(wk_sched_shadow_find(&s, 0, &end));
  assert_int_equal(end, 16);
  end = 500;
  assert_non_null(wk_sched_shadow_join(&s, 8, &end));
  end = SIZE;
  wk_sched_shadow_find(&s, 8, &end);
  assert_int_equal(end, 500);
  wk_sched_shadow_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cells), cmocka_unit_test(test_join)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
