/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/memory/plan_state.h"
#include "tests/unit/plan_draw.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FREE(l, u, s) {.size = (s), .align = 1, .lower = (l), .upper = (u), .fixed = -1}
#define FIXED(l, u, s, at) {.size = (s), .align = 1, .lower = (l), .upper = (u), .fixed = (at)}

static void assert_ok(wk_status st) {
  if (!st) return;
  wk_status_print(stderr, st);
  wk_status_free(st);
  fail();
}

/* The status has this code, and its text (place and message) holds `part`. */
static void assert_error(wk_status st, wk_code code, const char *part) {
  assert_non_null(st);
  assert_int_equal(st->code, code);
  char *text;
  assert_true(asprintf(&text, "%s: %s", st->place ? st->place : "", st->message) >= 0);
  if (!strstr(text, part)) fail_msg("'%s' does not mention '%s'", text, part);
  free(text);
  wk_status_free(st);
}

static wk_plan_result plan(wk_plan_item *items, size_t n, int64_t capacity, int64_t effort) {
  wk_plan_options options = {capacity, effort};
  wk_plan_result r;
  assert_ok(wk_plan(items, n, &options, &r));
  assert_ok(wk_plan_check(items, n, capacity));
  assert_int_equal(r.bound, wk_plan_bound(items, n));
  assert_true(r.peak >= r.bound);
  return r;
}

/* ---- placement ------------------------------------------------------------------------------ */

static void empty_and_trivial(void **state) {
  (void)state;
  wk_plan_result r = plan(NULL, 0, 0, 100);
  assert_int_equal(r.peak, 0);
  assert_true(r.optimal);
  /* zero size, empty lifetime (however large), one real buffer */
  wk_plan_item items[] = {FREE(0, 5, 0), FREE(3, 3, 1000), FREE(0, 5, 7), FIXED(0, 5, 0, 3)};
  r = plan(items, 4, 7, 100);
  assert_int_equal(r.bound, 7);
  assert_int_equal(r.peak, 7);
  assert_int_equal(items[3].offset, 3);
}

static void half_open_lifetimes_share(void **state) {
  (void)state;
  wk_plan_item items[] = {FREE(0, 2, 10), FREE(2, 4, 10), FREE(4, 5, 10)};
  assert_int_equal(plan(items, 3, 0, 100).peak, 10);
}

/* The example of the public format: every list order is optimal. */
static void published_example(void **state) {
  (void)state;
  wk_plan_item items[] = {FREE(0, 3, 4), FREE(3, 9, 4), FREE(0, 9, 4), FREE(9, 21, 4),
                          FREE(0, 21, 4)};
  assert_int_equal(plan(items, 5, 12, 100).peak, 12);
}

static bool fits(wk_plan_item *items, size_t n, int64_t capacity);

/* The optimum lies above the bound: found, and proved, by search. */
static void bound_not_reachable(void **state) {
  (void)state;
  wk_plan_item items[] = {FREE(5, 8, 1), FREE(0, 3, 4), FREE(6, 8, 3), FREE(2, 5, 2), FREE(2, 4, 3),
                          FREE(3, 6, 2), FREE(0, 2, 4), FREE(4, 8, 1), FREE(4, 7, 4)};
  wk_plan_result r = plan(items, 9, 0, 10000);
  assert_int_equal(r.bound, 9);
  assert_int_equal(r.peak, 10);
  assert_true(r.optimal);
  assert_false(fits(items, 9, 9));
  wk_plan_options nine = {9, 10000};
  assert_error(wk_plan(items, 9, &nine, &r), WK_FAILED, "at least 10 are needed");
  const wk_plan_options greedy = {9, 0}; /* which proves nothing */
  assert_error(wk_plan(items, 9, &greedy, &r), WK_FAILED,
               ": no placement within 9 bytes was found (best: 10, lower bound: 9)");
}

/* N items that all meet, and one that meets MORE of them. */
static void too_many_live(void **state) {
  enum { N = 5793, LIMIT = 1 << 24, MORE = LIMIT - N * (N - 1) / 2 };
  (void)state;
  wk_plan_item *items = wk_xcalloc(N + 1, sizeof *items);
  wk_plan_options greedy = {0, 0};
  wk_plan_result r;
  for (int more = MORE; more <= MORE + 1; more++) {
    for (int i = 0; i < N; i++) items[i] = (wk_plan_item)FREE(0, i < more ? 2 : 1, 64);
    items[N] = (wk_plan_item)FREE(1, 2, 64);
    wk_status s = wk_plan(items, N + 1, &greedy, &r);
    if (more > MORE) {
      assert_error(s, WK_RESOURCE, ": 16777217 pairs of buffers are live together, more than "
                                   "16777216");
    } else {
      assert_ok(s);
      assert_int_equal(r.peak, N * 64);
    }
  }
  free(items);
}

/* The search has a table entry for every section of every item: 2^24 at most, in all of a part. */
static void rows_have_a_limit(void **state) {
  enum { N = 1 << 12 };
  (void)state;
  uint32_t *first = wk_xcalloc(N + 1, sizeof *first), *last = wk_xcalloc(N + 1, sizeof *last);
  for (uint32_t i = 0; i < N; i++) last[i] = N;
  first[N] = N - 1, last[N] = N;
  for (uint32_t n = N; n <= N + 1; n++) {
    const wk_plan_part p = {.n = n, .sections = N, .first = first, .last = last};
    wk_arena *a = wk_arena_new();
    wk_plan_state st;
    assert_int_equal(wk_plan_state_init(&st, &p, a), n == N);
    wk_plan_state_free(&st);
    wk_arena_free(a);
  }
  free(first);
  free(last);
}

static void alignment_pads(void **state) {
  (void)state;
  wk_plan_item items[] = {FREE(0, 1, 3), FREE(0, 1, 5), FREE(0, 1, 1)};
  items[0].align = 4;
  items[1].align = 6;
  items[2].align = 1;
  wk_plan_result r = plan(items, 3, 0, 10000);
  assert_int_equal(r.bound, 4 + 6 + 1);
  assert_int_equal(r.peak, 12); /* 4 and 6 cannot touch at a multiple of both */
  assert_true(r.optimal);
}

static void fixed_items_stay(void **state) {
  (void)state;
  wk_plan_item items[] = {FIXED(0, 10, 4, 8), FIXED(2, 4, 4, 0), FREE(0, 10, 8), FREE(0, 2, 4),
                          FREE(4, 10, 3), FIXED(20, 21, 5, 3)};
  wk_plan_result r = plan(items, WK_COUNTOF(items), 0, 10000);
  assert_int_equal(items[0].offset, 8);
  assert_int_equal(items[1].offset, 0);
  assert_int_equal(items[5].offset, 3);
  assert_int_equal(r.peak, 20); /* bytes 4..8 are too few for the 8 that live throughout */
}

static void colliding_fixed_items_are_refused(void **state) {
  (void)state;
  static const struct {
    wk_plan_item item[3];
    const char *why; /* NULL: they fit */
  } cases[] = {
      {{FREE(0, 1, 1), FIXED(0, 10, 4, 8), FIXED(9, 12, 4, 11)}, "items 1 and 2 overlap"},
      {{FREE(0, 1, 1), FIXED(0, 10, 4, 8), FIXED(10, 12, 4, 11)}, NULL},
      {{FREE(0, 1, 1), FIXED(0, 10, 4, 8), FIXED(9, 12, 4, 12)}, NULL},
      {{FREE(0, 1, 1), FIXED(0, 10, 4, 8), FIXED(9, 12, 4, 4)}, NULL},
      {{FREE(0, 1, 1), FIXED(0, 10, 4, 8), FIXED(9, 12, 4, 5)}, "items 1 and 2 overlap"},
      {{FIXED(9, 12, 4, 8), FIXED(0, 10, 4, 8), FREE(0, 1, 1)}, "items 0 and 1 overlap"},
      {{FIXED(0, 10, 4, 0), FIXED(1, 10, 4, 4), FIXED(2, 10, 4, 0)}, "items 0 and 2 overlap"},
      {{FIXED(2, 10, 4, 0), FIXED(1, 2, 4, 0), FIXED(0, 10, 4, 3)}, "items 1 and 2 overlap"},
      {{FIXED(0, 1, 4, 0), FIXED(1, 2, 4, 0), FIXED(2, 3, 4, 0)}, NULL},
      {{{.size = 5, .align = 4, .lower = 0, .upper = 2, .fixed = 0}, FIXED(1, 2, 4, 7),
        FREE(0, 1, 1)}, "items 0 and 1 overlap"}, /* 8 bytes with the gap behind it */
      {{{.size = 5, .align = 4, .lower = 0, .upper = 2, .fixed = 0}, FIXED(1, 2, 4, 8),
        FREE(0, 1, 1)}, NULL},
  };
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    wk_plan_item items[3];
    wk_plan_result r;
    memcpy(items, cases[k].item, sizeof items);
    wk_status s = wk_plan(items, 3, NULL, &r);
    if (cases[k].why) assert_error(s, WK_INPUT, cases[k].why);
    else assert_ok(s);
  }
}

static void malformed_items_are_refused(void **state) {
  (void)state;
  static const struct { wk_plan_item item; wk_code code; const char *why; } cases[] = {
    {{.size = -1, .align = 1, .upper = 1, .fixed = -1}, WK_INPUT, "item 1 has negative size -1"},
    {{.size = 1, .align = 0, .upper = 1, .fixed = -1}, WK_INPUT, "item 1 has alignment 0"},
    {{.size = 1, .align = 1, .lower = 2, .upper = 1, .fixed = -1}, WK_INPUT,
     "item 1 ends before it starts: [2, 1)"},
    {{.size = 1, .align = 4, .upper = 1, .fixed = 2}, WK_INPUT,
     "item 1 has fixed offset 2, alignment 4"},
    {{.size = 1, .align = 1, .upper = 1, .fixed = -2}, WK_INPUT,
     "item 1 has fixed offset -2, alignment 1"},
    {{.size = INT64_MAX, .align = 8, .upper = 1, .fixed = -1}, WK_RESOURCE,
     "the buffer sizes overflow at item 1 (size 9223372036854775807)"},
    {{.size = 1, .align = INT64_MAX, .upper = 1, .fixed = -1}, WK_RESOURCE,
     "the buffer sizes overflow at item 1 (size 1)"},
    {{.size = 1, .align = 1, .upper = 1, .fixed = INT64_MAX}, WK_RESOURCE,
     "the buffer sizes overflow at item 1 (size 1)"},
  };
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    wk_plan_item items[] = {FREE(0, 1, 1), cases[k].item};
    wk_plan_result r;
    wk_status s = wk_plan(items, 2, NULL, &r);
    assert_string_equal(s ? s->message : "", cases[k].why);
    assert_error(s, cases[k].code, "");
  }
  wk_plan_item huge[] = {FREE(0, 1, INT64_MAX / 2), FREE(0, 1, INT64_MAX / 2), FREE(0, 1, 5)};
  assert_int_equal(wk_plan_bound(huge, 3), -1);
  wk_plan_result r;
  wk_plan_options negative = {-1, 0};
  assert_error(wk_plan(huge, 0, &negative, &r), WK_USAGE,
               ": capacity -1, effort 0: neither may be negative");
  negative = (wk_plan_options){0, -1};
  assert_error(wk_plan(huge, 0, &negative, &r), WK_USAGE,
               ": capacity 0, effort -1: neither may be negative");
  assert_error(wk_plan(huge, (size_t)UINT32_MAX / 4 + 1, NULL, &r), WK_RESOURCE,
               ": 1073741824 buffers are too many to place");
}

static void capacity_is_a_promise(void **state) {
  (void)state;
  wk_plan_item items[] = {FREE(0, 4, 6), FREE(2, 6, 6), FREE(5, 8, 6)};
  plan(items, 3, 12, 1000);
  wk_plan_options options = {11, 1000};
  wk_plan_result r;
  assert_error(wk_plan(items, 3, &options, &r), WK_FAILED,
               ": the buffers do not fit in 11 bytes: at least 12 are needed");
  assert_int_equal(r.peak, 12);
  assert_ok(wk_plan_check(items, 3, 0));
  /* in units of 4 bytes: 15 are 3 of them */
  wk_plan_item large[] = {FREE(0, 2, 8), FREE(1, 3, 8)};
  for (int k = 0; k < 2; k++) large[k].align = 4;
  plan(large, 2, 16, 1000);
  plan(large, 2, 19, 1000);
  for (options.capacity = 1; options.capacity < 16; options.capacity++) {
    char why[80];
    snprintf(why, sizeof why, "do not fit in %d bytes: at least 16 are needed",
             (int)options.capacity);
    assert_error(wk_plan(large, 2, &options, &r), WK_FAILED, why);
    assert_int_equal(r.peak, 16);
  }
}

/* Sizes, alignments and fixed ends add up to a sixteenth of all numbers at most. */
static void sums_have_a_limit(void **state) {
  (void)state;
  const int64_t limit = INT64_MAX / 16;
  static const char *const why = ": the buffer sizes overflow at item 1 (size ";
  for (int over = 0; over < 2; over++) {
    const wk_plan_item cases[][2] = {
        {FREE(0, 1, 1), FREE(1, 2, limit - 3 + over)}, /* with two alignments of 1 */
        {FREE(0, 1, 1), FIXED(1, 2, 4, limit - 4 + over)},
    };
    for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
      wk_plan_item items[2];
      wk_plan_result r;
      wk_plan_options greedy = {0, 0};
      memcpy(items, cases[k], sizeof items);
      wk_status s = wk_plan(items, 2, &greedy, &r);
      if (over) assert_error(s, WK_RESOURCE, why);
      else assert_ok(s);
    }
  }
}

/* ---- against brute force -------------------------------------------------------------------- */

static bool clash(const wk_plan_item *a, const wk_plan_item *b) {
  return a->lower < b->upper && b->lower < a->upper && a->offset < b->offset + b->size &&
         b->offset < a->offset + a->size;
}

/* Can items[k..n) be placed below `capacity`, each at any byte? Odometer over all offsets. */
static bool fits(wk_plan_item *items, size_t n, int64_t capacity) {
  size_t k = 0;
  for (size_t i = 0; i < n; i++) items[i].offset = -1;
  for (;;) {
    wk_plan_item *it = &items[k];
    bool ok = false;
    while (!ok && ++it->offset + it->size <= capacity) {
      ok = it->offset % it->align == 0 && (it->fixed < 0 || it->offset == it->fixed);
      for (size_t i = 0; ok && i < k; i++) ok = !clash(it, &items[i]);
    }
    if (ok && ++k == n) return true;
    if (ok) continue;
    it->offset = -1;
    if (k-- == 0) return false;
  }
}

static void random_item(wk_rng *rng, wk_plan_item *it, int fixed_percent) {
  int64_t lower = wk_rng_range(rng, 0, 6), align = wk_rng_range(rng, 1, 2);
  *it = (wk_plan_item){.size = wk_rng_range(rng, 1, 4) * align, .align = align, .lower = lower,
                       .upper = lower + wk_rng_range(rng, 1, 4), .fixed = -1};
  if (wk_rng_range(rng, 0, 99) < fixed_percent) it->fixed = wk_rng_range(rng, 0, 6) * align;
}

static void matches_brute_force(void **state) {
  (void)state;
  wk_rng rng = {20240611};
  int above_bound = 0;
  for (int round = 0; round < 1500; round++) {
    wk_plan_item items[6], copy[6];
    size_t n = (size_t)wk_rng_range(&rng, 3, 6);
    for (size_t i = 0; i < n; i++) random_item(&rng, &items[i], round % 3 ? 0 : 25);
    memcpy(copy, items, sizeof copy);
    wk_plan_options options = {0, 50000};
    wk_plan_result r;
    wk_status st = wk_plan(items, n, &options, &r);
    if (st) { /* fixed items drawn on top of each other */
      assert_int_equal(st->code, WK_INPUT);
      wk_status_free(st);
      continue;
    }
    assert_ok(wk_plan_check(items, n, r.peak));
    assert_true(r.optimal);
    assert_true(fits(copy, n, r.peak));
    assert_false(fits(copy, n, r.peak - 1));
    above_bound += r.peak > r.bound;
  }
  assert_true(above_bound > 10); /* the search had to prove something */
}

/* A capacity one short of the optimum is refused with proof, the optimum is met. */
static void capacity_matches_brute_force(void **state) {
  (void)state;
  wk_rng rng = {7};
  for (int round = 0; round < 500; round++) {
    wk_plan_item items[6], copy[6];
    for (size_t i = 0; i < 6; i++) random_item(&rng, &items[i], 0);
    memcpy(copy, items, sizeof copy);
    int64_t capacity = 1;
    while (!fits(copy, 6, capacity)) capacity++;
    plan(items, 6, capacity, 50000);
    wk_plan_options options = {capacity - 1, 50000};
    wk_plan_result r;
    if (capacity > 1)
      assert_error(wk_plan(items, 6, &options, &r), WK_FAILED, "do not fit");
  }
}

/* ---- larger instances ----------------------------------------------------------------------- */

static void perfect_packings_are_found(void **state) {
  (void)state;
  wk_rng rng = {99};
  for (int round = 0; round < 20; round++) {
    wk_plan_item items[60];
    size_t n = (size_t)wk_rng_range(&rng, 20, 60);
    plan_draw_cuts(&rng, items, n, 100, 1 << 16);
    wk_plan_result r = plan(items, n, 0, 50000);
    assert_int_equal(r.bound, 1 << 16);
    assert_int_equal(r.peak, r.bound);
  }
}

/* Lifetimes and sizes like a network's: mostly short chains, some long skips, sizes shrinking. */
static void network_like_instances(void **state) {
  (void)state;
  wk_rng rng = {5};
  for (int64_t n = 50; n <= 3200; n *= 4) {
    wk_plan_item *items = wk_xcalloc((size_t)n, sizeof *items);
    for (int64_t i = 0; i < n; i++) {
      int64_t size = (((int64_t)1 << 22) >> (i * 5 / n)) / wk_rng_range(&rng, 1, 6);
      int64_t life = wk_rng_range(&rng, 1, 3);
      if (wk_rng_range(&rng, 0, 9) == 0) life = wk_rng_range(&rng, 4, 20);
      items[i] = (wk_plan_item){.size = size, .align = 64, .lower = i, .upper = i + 1 + life,
                                .fixed = -1};
    }
    wk_plan_result r = plan(items, (size_t)n, 0, WK_PLAN_EFFORT);
    assert_true((double)r.peak <= 1.02 * (double)r.bound);
    wk_plan_item *again = wk_xcalloc((size_t)n, sizeof *again);
    memcpy(again, items, (size_t)n * sizeof *items);
    plan(again, (size_t)n, 0, WK_PLAN_EFFORT);
    assert_memory_equal(again, items, (size_t)n * sizeof *items); /* deterministic */
    free(again);
    free(items);
  }
}

/* ---- the checker ---------------------------------------------------------------------------- */

static void checker_names_the_culprits(void **state) {
  (void)state;
  wk_plan_item good[] = {FREE(0, 4, 8), FREE(2, 6, 8), FREE(4, 8, 8), FREE(6, 6, 99)};
  good[1].offset = 8;
  good[1].align = 8;
  assert_ok(wk_plan_check(good, 4, 16));
  static const struct { size_t item; int64_t offset, capacity; const char *part; } cases[] = {
    {1, 0, 0, "items 0 and 1 overlap"}, {2, 1, 0, "items 1 and 2 overlap"},
    {2, 15, 0, "items 1 and 2 overlap"}, {1, 12, 0, "item 1 is misaligned"},
    {0, -8, 0, "item 0 has offset -8"}, {2, INT64_MAX - 3, 0, "item 2 has offset"},
    {2, 0, 15, "item 1 ends at 16, beyond the capacity 15"},
  };
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    wk_plan_item bad[4];
    memcpy(bad, good, sizeof bad);
    bad[cases[k].item].offset = cases[k].offset;
    assert_error(wk_plan_check(bad, 4, cases[k].capacity), WK_INTERNAL, cases[k].part);
  }
  const wk_plan_item malformed[] = {FREE(0, 4, -8), FREE(5, 4, 8),
                                    {.size = 8, .upper = 4, .fixed = -1}};
  for (size_t k = 0; k < WK_COUNTOF(malformed); k++)
    assert_error(wk_plan_check(&malformed[k], 1, 0), WK_INTERNAL, "item 0 is malformed");
  good[0].fixed = 8;
  assert_error(wk_plan_check(good, 4, 0), WK_INTERNAL,
               ": item 0 was moved from its fixed offset 8 to 0");
}

/* Mutants of valid placements: the checker agrees with the quadratic definition. */
static void checker_catches_mutants(void **state) {
  (void)state;
  wk_rng rng = {31};
  int caught = 0;
  for (int round = 0; round < 3000; round++) {
    wk_plan_item items[40];
    plan_draw_cuts(&rng, items, 40, 50, 4096);
    wk_plan_options greedy = {0, 0};
    wk_plan_result r;
    assert_ok(wk_plan(items, 40, &greedy, &r));
    items[wk_rng_range(&rng, 0, 39)].offset += wk_rng_range(&rng, 0, 1) ? 1 : 200;
    bool bad = false;
    for (size_t i = 0; i < 40; i++)
      for (size_t k = 0; k < i; k++) bad |= clash(&items[i], &items[k]);
    if (bad) assert_error(wk_plan_check(items, 40, 0), WK_INTERNAL, "overlap");
    else assert_ok(wk_plan_check(items, 40, 0));
    caught += bad;
  }
  assert_true(caught > 500);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

static wk_status parse(const char *text, wk_plan_table *t) {
  return wk_plan_table_parse("t.csv", text, strlen(text), t);
}

static void csv_round_trip(void **state) {
  (void)state;
  wk_plan_table t, again;
  assert_ok(parse("\xEF\xBB\xBFsize , id,upper,lower,note\r\n 4,b1,3,-2,x\r\n\r\n8,b 2,9,3,", &t));
  assert_int_equal(t.n, 2);
  assert_string_equal(t.ids[1], "b 2");
  assert_int_equal(t.items[0].lower, -2);
  assert_int_equal(t.items[0].size, 4);
  assert_int_equal(t.items[1].upper, 9);
  assert_int_equal(t.items[1].fixed, -1);
  assert_false(t.has_offset);
  t.items[1].offset = 16;
  wk_str text = {0}, second = {0};
  wk_plan_table_format(&t, &text);
  assert_string_equal(text.s, "id,lower,upper,size,offset\nb1,-2,3,4,0\nb 2,3,9,8,16\n");
  assert_ok(parse(text.s, &again));
  assert_true(again.has_offset);
  assert_memory_equal(again.items, t.items, 2 * sizeof *t.items);
  wk_plan_table_format(&again, &second);
  assert_string_equal(text.s, second.s);
  wk_str_free(&text);
  wk_str_free(&second);
  wk_plan_table_free(&t);
  wk_plan_table_free(&again);
}

static void csv_alignment_is_kept(void **state) {
  (void)state;
  wk_plan_table t;
  wk_str text = {0};
  assert_ok(parse("id,lower,upper,size,alignment\na,0,2,5,4\n", &t));
  assert_int_equal(t.items[0].align, 4);
  wk_plan_table_format(&t, &text);
  assert_string_equal(text.s, "id,lower,upper,size,alignment,offset\na,0,2,5,4,0\n");
  wk_str_free(&text);
  wk_plan_table_free(&t);
}

#define HEAD "id,lower,upper,size\n"
static void malformed_csv_is_refused_by_line(void **state) {
  (void)state;
  static const struct { const char *text, *part; } cases[] = {
    {"", "t.csv:1: no header"},
    {"\n\n", "no header"},
    {"\xEF\xBB\xBF", "t.csv:1: no header"}, /* a byte-order mark alone is nothing */
    {"\xEF\xBB\xBF\n", "no header"},
    {"\xEF\xBB", "t.csv:1: no column 'id'"},
    {"id,lower,size\n", "t.csv:1: no column 'upper'"},
    {"id,lower,upper,size,lower\n", "t.csv:1: column 'lower' is named twice"},
    {HEAD "a,0,1\n", "t.csv:2: 3 fields, the header has 4"},
    {HEAD "a,0,1,2,3\n", "t.csv:2: 5 fields"},
    {HEAD "a,0,1,2\n\nb,0,x,2\n", "t.csv:4: upper 'x' is not a whole number"},
    {HEAD "a,0,1,\n", "t.csv:2: size '' is not"},
    {HEAD "a,0,1,-\n", "t.csv:2: size '-' is not"},
    {HEAD "a,0,1,2.5\n", "size '2.5'"},
    {HEAD "a,0,1,-2\n", "t.csv:2: size -2 is below 0"},
    {HEAD "a,0,1,9223372036854775808\n", "t.csv:2: size '9223372036854775808' is too large"},
    {HEAD "a,-9223372036854775809,1,1\n", "is too large"},
    {HEAD "a,5,4,1\n", "t.csv:2: upper 4 is below lower 5"},
    {HEAD ",0,1,1\n", "t.csv:2: the id is empty"},
    {"id,lower,upper,size,alignment\na,0,1,2,0\n", "t.csv:2: alignment 0 is below 1"},
    {HEAD "a,0,1,00000000000000000000000000000000000000x\n", "size '00000"},
  };
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    wk_plan_table t;
    assert_error(parse(cases[k].text, &t), WK_INPUT, cases[k].part);
    assert_null(t.items);
  }
  wk_plan_table t;
  assert_ok(parse(HEAD "a,-9223372036854775808,9223372036854775807,9223372036854775807", &t));
  wk_plan_table_free(&t);
}

/* Random damage to a valid file: accepted or refused, never a crash, and what is accepted plans. */
static void damaged_csv_never_crashes(void **state) {
  (void)state;
  static const char text[] = "id,lower,upper,size,alignment\na,0,3,40,4\nb,1,5,24,8\nc,2,9,12,1\n";
  static const char spice[] = "0123456789,-\n\r x\0\xEF";
  wk_rng rng = {1};
  for (int round = 0; round < 4000; round++) {
    char bad[sizeof text];
    memcpy(bad, text, sizeof text);
    for (int k = 0; k < 1 + round % 4; k++)
      bad[wk_rng_range(&rng, 0, sizeof text - 2)] = spice[wk_rng_range(&rng, 0, sizeof spice - 2)];
    wk_plan_table t;
    wk_status st = wk_plan_table_parse("t", bad, sizeof text - 1, &t);
    wk_plan_result r;
    if (!st) st = wk_plan(t.items, t.n, NULL, &r);
    if (!st) assert_ok(wk_plan_check(t.items, t.n, 0));
    if (st) wk_status_free(st);
    wk_plan_table_free(&t);
  }
}

/* ---- files ---------------------------------------------------------------------------------- */

static void plan_file_writes_a_checked_table(void **state) {
  (void)state;
  char folder[] = "/tmp/wick-plan-XXXXXX", in[64], out[64];
  assert_non_null(mkdtemp(folder));
  snprintf(in, sizeof in, "%s/in.csv", folder);
  snprintf(out, sizeof out, "%s/out.csv", folder);
  static const char text[] = HEAD "a,0,3,4\nb,3,9,4\nc,0,9,4\nd,9,21,4\ne,0,21,4\n";
  assert_ok(wk_write_file(in, text, sizeof text - 1));
  wk_str summary = {0};
  assert_ok(wk_plan_file(in, 0, &summary, out));
  assert_non_null(strstr(summary.s, "buffers   5\n"));
  assert_non_null(strstr(summary.s, "ratio     1.0000\n"));
  assert_non_null(strstr(summary.s, "optimal   yes\n"));
  wk_plan_table t;
  assert_ok(wk_plan_table_read(out, &t));
  assert_true(t.has_offset);
  assert_ok(wk_plan_check(t.items, t.n, 12));
  wk_plan_table_free(&t);
  unlink(out);
  assert_error(wk_plan_file(in, 11, &summary, out), WK_FAILED, "in.csv: the buffers do not fit");
  assert_int_not_equal(access(out, F_OK), 0);
  assert_error(wk_plan_file(out, 0, &summary, NULL), WK_IO, "out.csv");
  wk_str_free(&summary);
  unlink(in);
  rmdir(folder);
}

/* False when there is no such file. */
static bool plan_instance(const char *folder, const char *name) {
  char *path;
  assert_true(asprintf(&path, "%s/%s.1048576.csv", folder, name) >= 0);
  bool found = !access(path, R_OK);
  if (found) {
    wk_plan_table t;
    assert_ok(wk_plan_table_read(path, &t));
    wk_plan_result r = plan(t.items, t.n, 1048576, 100000);
    print_message("%s: %zu buffers, bound %lld, peak %lld, %lld nodes\n", name, t.n,
                  (long long)r.bound, (long long)r.peak, (long long)r.nodes);
    wk_plan_table_free(&t);
  }
  free(path);
  return found;
}

/* A rectangle cut at random into 96, and public allocator instances at their published capacity
 * when they are there (WICK_SHARED, else beside the source tree). */
static void stored_instances(void **state) {
  (void)state;
  static const char self[] = "tests/unit/test_plan.c";
  static const char *const names[] = {"A", "B", "C", "D", "E"};
  size_t length = strlen(__FILE__);
  int root = length > strlen(self) ? (int)(length - strlen(self)) : 0, found = 0;
  char own[4096], published[4096];
  snprintf(own, sizeof own, "%.*stests/plans", root, __FILE__);
  assert_true(plan_instance(own, "cuts"));
  const char *shared = getenv("WICK_SHARED");
  if (shared) snprintf(published, sizeof published, "%s/data/minimalloc", shared);
  else snprintf(published, sizeof published, "%.*s../shared/data/minimalloc", root, __FILE__);
  for (size_t i = 0; i < WK_COUNTOF(names); i++) found += plan_instance(published, names[i]);
  if (!found) print_message("%s is not here: only the instance of tests/plans\n", published);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(empty_and_trivial),
    cmocka_unit_test(half_open_lifetimes_share),
    cmocka_unit_test(published_example),
    cmocka_unit_test(bound_not_reachable),
    cmocka_unit_test(too_many_live),
    cmocka_unit_test(rows_have_a_limit),
    cmocka_unit_test(alignment_pads),
    cmocka_unit_test(fixed_items_stay),
    cmocka_unit_test(colliding_fixed_items_are_refused),
    cmocka_unit_test(malformed_items_are_refused),
    cmocka_unit_test(capacity_is_a_promise),
    cmocka_unit_test(sums_have_a_limit),
    cmocka_unit_test(matches_brute_force),
    cmocka_unit_test(capacity_matches_brute_force),
    cmocka_unit_test(perfect_packings_are_found),
    cmocka_unit_test(network_like_instances),
    cmocka_unit_test(checker_names_the_culprits),
    cmocka_unit_test(checker_catches_mutants),
    cmocka_unit_test(csv_round_trip),
    cmocka_unit_test(csv_alignment_is_kept),
    cmocka_unit_test(malformed_csv_is_refused_by_line),
    cmocka_unit_test(damaged_csv_never_crashes),
    cmocka_unit_test(plan_file_writes_a_checked_table),
    cmocka_unit_test(stored_instances),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
