/* SPDX-License-Identifier: Apache-2.0
 * How well and with how much work the planner places drawn instances: what it finds and how many
 * nodes it takes are its quality, and no other test sees them change. After a change that is meant,
 * read what became better or worse, and take over the rows that are printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/plan_draw.h"

enum { MOST = 400 };

/* ---- instances ------------------------------------------------------------------------------- */

/* It fits, and just so. */
static void draw_cuts(wk_rng *rng, wk_plan_item *items, size_t n) {
  plan_draw_cuts(rng, items, n, 300, 1 << 14);
}

/* Few sizes, many lifetimes: the bound is often out of reach. */
static void draw_small(wk_rng *rng, wk_plan_item *items, size_t n) {
  for (size_t i = 0; i < n; i++) {
    int64_t lower = wk_rng_range(rng, 0, (int64_t)n / 3);
    items[i] = (wk_plan_item){.size = wk_rng_range(rng, 1, 7), .align = 1, .lower = lower,
                              .upper = lower + wk_rng_range(rng, 1, 6), .fixed = -1};
  }
}

static void draw_aligned(wk_rng *rng, wk_plan_item *items, size_t n) {
  static const int64_t aligns[] = {1, 4, 12, 64};
  for (size_t i = 0; i < n; i++) {
    int64_t lower = wk_rng_range(rng, 0, (int64_t)n / 2);
    items[i] = (wk_plan_item){.size = wk_rng_range(rng, 1, 200),
                              .align = aligns[wk_rng_range(rng, 0, 3)], .lower = lower,
                              .upper = lower + wk_rng_range(rng, 1, 9), .fixed = -1};
  }
}

/* One in eight is where it is. Those are stacked, so that none collide. */
static void draw_fixed(wk_rng *rng, wk_plan_item *items, size_t n) {
  draw_small(rng, items, n);
  int64_t at = 0;
  for (size_t i = 0; i < n; i += 8) {
    items[i].fixed = at;
    at += items[i].size;
  }
}

/* Sizes count up to a multiple of the alignment. */
static int64_t end_of(const wk_plan_item *x) {
  return x->fixed + (x->size + x->align - 1) / x->align * x->align;
}

static bool collide(const wk_plan_item *a, const wk_plan_item *b) {
  return a->lower < b->upper && b->lower < a->upper && a->fixed < end_of(b) &&
         b->fixed < end_of(a);
}

/* One in three is anywhere where no other is in its time: at one time below those of another, or
 * within them, and with room between them. */
static void draw_scattered(wk_rng *rng, wk_plan_item *items, size_t n) {
  draw_small(rng, items, n);
  for (size_t i = 0; i < n; i += 3) {
    wk_plan_item x = items[i];
    x.align = wk_rng_range(rng, 1, 3);
    x.fixed = wk_rng_range(rng, 0, 9) * x.align;
    bool fits = true;
    for (size_t k = 0; k < i; k++) fits = fits && (items[k].fixed < 0 || !collide(&x, &items[k]));
    if (fits) items[i] = x;
  }
}

/* Chains of a network: short lives, some long ones beside them, sizes that shrink. */
static void draw_chains(wk_rng *rng, wk_plan_item *items, size_t n) {
  for (size_t i = 0; i < n; i++) {
    int64_t size = ((int64_t)1 << 18 >> i * 6 / n) / wk_rng_range(rng, 1, 9);
    bool is_long = wk_rng_range(rng, 0, 5) == 0;
    items[i] = (wk_plan_item){.size = size, .align = 16, .lower = (int64_t)i, .fixed = -1};
    items[i].upper = items[i].lower + (is_long ? wk_rng_range(rng, 6, 40) : 2);
  }
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct {
  const char *kind;
  void (*draw)(wk_rng *rng, wk_plan_item *items, size_t n);
  size_t n;
  int64_t effort;
  struct {
    int64_t over, nodes; /* all peaks less the bounds, all nodes, how many are proved */
    int optimal;
    uint32_t offsets; /* a hash of them */
  } want;
} row;

static const row rows[] = {
    {"cuts", draw_cuts, 30, 20000, {0, 577, 100, 0xcdd97423}},
    {"cuts", draw_cuts, 90, 20000, {0, 10506, 100, 0x31d0946c}},
    {"cuts", draw_cuts, 200, 4000, {3599, 89354, 87, 0x436706ca}},
    {"cuts, greedy", draw_cuts, 90, 0, {112727, 0, 14, 0x657ec10f}},
    {"small", draw_small, 12, 20000, {0, 91, 100, 0xef83b791}},
    {"small", draw_small, 40, 20000, {0, 1548, 100, 0xa22e13e8}},
    {"small", draw_small, 150, 4000, {0, 7599, 100, 0xb60ede26}},
    {"small, few nodes", draw_small, 40, 50, {70, 1082, 68, 0x20f23780}},
    {"aligned", draw_aligned, 24, 5000, {151, 129772, 72, 0x8f537bbd}},
    {"aligned", draw_aligned, 100, 2000, {1658, 133441, 31, 0x7a7e51b3}},
    {"fixed", draw_fixed, 16, 5000, {21, 361, 100, 0x81fe691f}},
    {"fixed", draw_fixed, 48, 2000, {24, 7880, 95, 0xf35dc87c}},
    {"scattered", draw_scattered, 15, 5000, {90, 4092, 98, 0x06c2e524}},
    {"scattered", draw_scattered, 60, 2000, {130, 24058, 76, 0x38c657d1}},
    {"scattered, greedy", draw_scattered, 60, 0, {285, 0, 19, 0xd092edc1}},
    {"chains", draw_chains, 60, 5000, {0, 766, 100, 0xa69a4629}},
    {"chains", draw_chains, 400, 2000, {43680, 19156, 99, 0xa8c6f9db}},
};

static row placed(const row *r) {
  enum { ROUNDS = 100 };
  row got = *r;
  memset(&got.want, 0, sizeof got.want);
  uint64_t hash = 0;
  for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
    static wk_plan_item items[MOST];
    wk_rng rng = {seed * 1000 + r->n};
    wk_plan_options options = {0, r->effort};
    wk_plan_result result;
    r->draw(&rng, items, r->n);
    wk_status s = wk_plan(items, r->n, &options, &result);
    if (s) fail_msg("%s %zu, seed %d: %s", r->kind, r->n, (int)seed, s->message);
    s = wk_plan_check(items, r->n, result.peak);
    if (s) fail_msg("%s %zu, seed %d: %s", r->kind, r->n, (int)seed, s->message);
    got.want.over += result.peak - result.bound;
    got.want.nodes += result.nodes;
    got.want.optimal += result.optimal;
    for (size_t i = 0; i < r->n; i++)
      hash = wk_hash64(&items[i].offset, sizeof items[i].offset, hash);
  }
  got.want.offsets = (uint32_t)hash;
  return got;
}

static void drawn_instances(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    row got = placed(&rows[i]);
    if (got.want.over == rows[i].want.over && got.want.nodes == rows[i].want.nodes &&
        got.want.optimal == rows[i].want.optimal && got.want.offsets == rows[i].want.offsets)
      continue;
    differ++;
    print_message("%s %zu: {%lld, %lld, %d, 0x%08x}\n", got.kind, got.n, (long long)got.want.over,
                  (long long)got.want.nodes, got.want.optimal, got.want.offsets);
  }
  assert_int_equal(differ, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_instances)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
