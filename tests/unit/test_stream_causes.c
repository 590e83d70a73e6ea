/* SPDX-License-Identifier: Apache-2.0
 * Charges, causes and what-ifs of a machine that is made up: one queue that loads, one that stores,
 * two engines. Timelines drawn by hand, whose causes are plain; and drawn schedules, of which every
 * cycle is charged once. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/stream/what_if.h"

enum { IN, CORE, OUT, SIDE, QUEUES, READ = 100, WRITE = 40 };

static const char *const names[] = {"in", "core", "out", "side"};
static const wk_sched_queues queues = {.n = QUEUES, .names = names, .stores = 1 << OUT,
                                       .computes = 1 << CORE | 1 << SIDE, .serial = 1 << SIDE};

static wk_sched_run run_of(const wk_sched_span *spans, uint32_t n, uint64_t cycles) {
  return (wk_sched_run){.queues = &queues, .spans = spans, .n = n, .cycles = cycles,
                        .read_latency = READ, .write_latency = WRITE};
}

/* ---- timelines drawn by hand ----------------------------------------------------------------- */

enum { MOST = 8 };
#define NOBODY WK_SCHED_NOBODY
#define SPAN(queue, start, retire, by) {start, retire, by, 1, queue, 0, 0, 0, 0, 0}

typedef struct {
  const char *what;
  uint32_t n;
  wk_sched_span spans[MOST];
  bool reads_back; /* whatever is loaded was stored before */
  uint64_t cycles, want[WK_CAUSE_COUNT];
} timeline;

static const timeline timelines[] = {
    {"bytes come more slowly than they are used: after the first latency that is bandwidth", 4,
     {SPAN(IN, 0, 500, NOBODY), SPAN(IN, 0, 900, NOBODY), SPAN(CORE, 500, 600, 0),
      SPAN(CORE, 900, 1000, 1)}, false,
     1000, {[WK_CAUSE_latency] = 100, [WK_CAUSE_bandwidth] = 700, [WK_CAUSE_compute] = 200}},
    {"each load is asked for when the one before has been used, for its place", 4,
     {SPAN(IN, 0, 200, NOBODY), SPAN(CORE, 200, 300, 0), SPAN(IN, 300, 500, 1),
      SPAN(CORE, 500, 600, 2)}, false,
     600, {[WK_CAUSE_latency] = 100, [WK_CAUSE_space] = 200, [WK_CAUSE_bandwidth] = 100,
           [WK_CAUSE_compute] = 200}},
    {"the latency of a small load is exposed", 2,
     {SPAN(IN, 0, 101, NOBODY), SPAN(CORE, 101, 200, 0)}, false,
     200, {[WK_CAUSE_latency] = 100, [WK_CAUSE_bandwidth] = 1, [WK_CAUSE_compute] = 99}},
    {"a load behind the store that it reads; memory had nothing to do before that", 4,
     {SPAN(CORE, 0, 300, NOBODY), SPAN(OUT, 300, 440, 0), SPAN(IN, 440, 640, 1),
      SPAN(CORE, 640, 700, 2)}, true,
     700, {[WK_CAUSE_order] = 240, [WK_CAUSE_latency] = 100, [WK_CAUSE_compute] = 360}},
    {"the same, when it reads something else: its place was not stored yet", 4,
     {SPAN(CORE, 0, 300, NOBODY), SPAN(OUT, 300, 440, 0), SPAN(IN, 440, 640, 1),
      SPAN(CORE, 640, 700, 2)}, false,
     700, {[WK_CAUSE_space] = 340, [WK_CAUSE_compute] = 360}},
    {"the last store", 2,
     {SPAN(CORE, 0, 100, NOBODY), SPAN(OUT, 100, 200, 0)}, false,
     200, {[WK_CAUSE_compute] = 100, [WK_CAUSE_bandwidth] = 60, [WK_CAUSE_latency] = WRITE}},
    {"transfers behind compute cost nothing; of two engines the first one counts", 4,
     {SPAN(IN, 0, 300, NOBODY), SPAN(CORE, 0, 200, NOBODY), SPAN(SIDE, 100, 250, NOBODY),
      SPAN(CORE, 250, 300, 2)}, false,
     300, {[WK_CAUSE_compute] = 250, [WK_CAUSE_vector] = 50}},
    {"nothing to wait for", 1, {SPAN(CORE, 30, 100, NOBODY)}, false,
     100, {[WK_CAUSE_dispatch] = 30, [WK_CAUSE_compute] = 70}},
};

static bool always(const void *context, uint32_t load, uint32_t store) {
  (void)context, (void)load, (void)store;
  return true;
}

static void drawn_timelines(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(timelines); i++) {
    const timeline *t = &timelines[i];
    wk_sched_run run = run_of(t->spans, t->n, t->cycles);
    wk_sched_causes c;
    if (t->reads_back) run.reads_back = always;
    wk_sched_causes_of(&run, &c);
    for (int k = 0; k < WK_CAUSE_COUNT; k++)
      if (c.cycles[k] != t->want[k])
        fail_msg("%s: %s is %" PRIu64 ", not %" PRIu64, t->what, wk_sched_cause_infos[k].name,
                 c.cycles[k], t->want[k]);
    wk_sched_causes_free(&c);
  }
}

/* Two commands of the core overlap; what it needs for them and what its results take are known. */
static void engines_are_split(void **state) {
  (void)state;
  static const wk_sched_span spans[] = {
      {0, 100, NOBODY, 1, CORE, 0, WK_SCHED_WORKS, 0, 40, 60},
      {60, 200, NOBODY, 2, CORE, 0, WK_SCHED_WORKS, 0, 110, 20},
      {120, 130, NOBODY, 0, CORE, 0, WK_SCHED_MARKS, 0, 0, 0},
      {WK_SCHED_NOT_RUN, WK_SCHED_NOT_RUN, NOBODY, 0, CORE, 0, WK_SCHED_WORKS, 0, 0, 0}};
  wk_sched_run run = run_of(spans, WK_COUNTOF(spans), 200);
  wk_sched_charge charges[3] = {{0}};
  wk_sched_causes c;
  assert_null(wk_sched_charge_cycles(&queues, spans, run.n, 200, 2, charges));
  assert_int_equal(charges[1].cycles, 90); /* the second needs 110 of them */
  assert_int_equal(charges[2].cycles, 110);
  assert_int_equal(charges[0].cycles, 0);
  wk_sched_causes_of(&run, &c);
  assert_int_equal(c.cycles[WK_CAUSE_compute], 40 + 110);
  assert_int_equal(c.cycles[WK_CAUSE_drain], 20);
  assert_int_equal(c.cycles[WK_CAUSE_conflicts], 30);
  assert_int_equal(c.exposed, 0);
  wk_sched_causes_free(&c);
}

static void texts(void **state) {
  (void)state;
  static const char *const layers[] = {"conv1"};
  static const wk_sched_span spans[] = {
      {0, 300, NOBODY, 1, IN, 0, WK_SCHED_WORKS, WK_MOVED_WEIGHTS, 0, 0},
      {300, 400, 0, 1, CORE, 0, WK_SCHED_WORKS, 0, 0, 0},
      {400, 600, 1, 2, OUT, 0, WK_SCHED_WORKS, 0, 0, 0}};
  wk_sched_run run = run_of(spans, WK_COUNTOF(spans), 600);
  wk_sched_causes c;
  wk_str b = {0};
  wk_sched_causes_of(&run, &c);
  wk_sched_causes_print(&b, &c, layers, 1);
  assert_string_equal(
      b.s, "compute             100   16.7 %  the first engine works\n"
           "bandwidth           360   60.0 %  memory moves data as fast as it can\n"
           "latency             140   23.3 %  memory has not answered yet, and no transfer is "
           "under way behind which to hide\n"
           "of 500 exposed cycles\n"
           "           200   40.0 %  weights of conv1 wait for memory bandwidth\n"
           "           160   32.0 %  results of operator 2 wait for memory bandwidth\n"
           "           100   20.0 %  weights of conv1 wait for the memory's latency\n"
           "            40    8.0 %  results of operator 2 wait for the memory's latency\n");
  wk_str_free(&b);
  wk_sched_causes_free(&c);
}

/* ---- drawn schedules ------------------------------------------------------------------------- */

/* Times follow from waits, by a model of the test's own: a command starts when its queue is free
 * and those it waits for have retired. */
typedef struct {
  wk_sched_span *spans;
  wk_sched_counts *waits;
  uint32_t n;
  uint64_t cycles;
} schedule;

static uint64_t upto(wk_rng *r, uint64_t n) { return (uint64_t)wk_rng_range(r, 0, (int64_t)n); }

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }


static schedule draw(wk_rng *r) {
  schedule s = {.n = 1 + (uint32_t)upto(r, 60)};
  uint64_t free_at[QUEUES] = {0}, *retired[QUEUES];
  wk_sched_counts count = {0};
  s.spans = wk_xcalloc(s.n, sizeof *s.spans);
  s.waits = wk_xcalloc(s.n, sizeof *s.waits);
  for (int q = 0; q < QUEUES; q++) retired[q] = wk_xcalloc(s.n + 1, sizeof **retired);
  for (uint32_t i = 0; i < s.n; i++) {
    int queue = (int)upto(r, QUEUES - 1);
    uint64_t start = free_at[queue];
    for (int q = 0; q < QUEUES; q++) {
      if (q == queue || !count[q] || upto(r, 2)) continue;
      s.waits[i][q] = 1 + (uint32_t)upto(r, count[q] - 1);
      start = most(start, retired[q][s.waits[i][q]]);
    }
    bool fills = queue == IN && !upto(r, 9);
    uint64_t retire = start + 1 + upto(r, 300), array = upto(r, retire - start);
    retire = most(retire, retired[queue][count[queue]]);
    if (queue == CORE) free_at[queue] = start + upto(r, retire - start); /* they overlap */
    else free_at[queue] = retire;
    s.spans[i] = (wk_sched_span){.start = start, .retire = retire,
                                 .operator = (uint32_t)upto(r, 4), .queue = (uint8_t)queue,
                                 .kind = fills ? WK_SCHED_FILLS : WK_SCHED_WORKS,
                                 .array = queue == CORE ? array : 0,
                                 .drain = queue == CORE ? upto(r, 100) : 0};
    retired[queue][++count[queue]] = retire;
    s.cycles = most(s.cycles, retire);
  }
  for (int q = 0; q < QUEUES; q++) free(retired[q]);
  s.cycles += upto(r, 10);
  return s;
}

static void check_releases(const schedule *s, uint64_t seed) {
  for (uint32_t i = 0; i < s->n; i++) {
    uint32_t by = s->spans[i].released_by;
    if (by == NOBODY) continue;
    if (s->spans[by].retire > s->spans[i].start)
      fail_msg("seed %" PRIu64 ": command %u starts before %u has retired", seed, i, by);
  }
}

static void check_sums(const schedule *s, uint64_t seed) {
  wk_sched_run run = run_of(s->spans, s->n, s->cycles);
  wk_sched_charge charges[5] = {{0}};
  wk_sched_causes c;
  uint64_t charged = 0, sum = 0, rows = 0, exposed = 0;
  assert_null(wk_sched_charge_cycles(&queues, s->spans, s->n, s->cycles, 4, charges));
  for (int k = 0; k < 5; k++) charged += charges[k].cycles;
  wk_sched_causes_of(&run, &c);
  for (int k = 0; k < WK_CAUSE_COUNT; k++) sum += c.cycles[k];
  for (int k = WK_CAUSE_bandwidth; k < WK_CAUSE_COUNT; k++) exposed += c.cycles[k];
  for (size_t k = 0; k < c.rows.n; k++) rows += c.rows.data[k].cycles;
  if (charged != s->cycles || sum != s->cycles || rows != s->cycles || exposed != c.exposed)
    fail_msg("seed %" PRIu64 ": of %" PRIu64 " cycles %" PRIu64 " are charged, causes have %" PRIu64
             ", rows %" PRIu64, seed, s->cycles, charged, sum, rows);
  wk_sched_causes_free(&c);
}

static void free_schedule(schedule *s) {
  free(s->spans);
  free(s->waits);
}

static void cycles_are_charged_once(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 500; seed++) {
    wk_rng r = {seed};
    schedule s = draw(&r);
    wk_sched_find_releases(s.spans, s.n, s.waits);
    check_releases(&s, seed);
    check_sums(&s, seed);
    free_schedule(&s);
  }
}

/* ---- what if --------------------------------------------------------------------------------- */

/* Load, compute, in one place: each load waits until the one before has been used. */
static const wk_sched_span in_turns[] = {
    SPAN(IN, 0, 200, NOBODY),   SPAN(CORE, 200, 250, 0),  SPAN(IN, 250, 450, 1),
    SPAN(CORE, 450, 500, 2),    SPAN(IN, 500, 700, 3),    SPAN(CORE, 700, 750, 4)};
static const wk_sched_need in_turns_needs[] = {
    {1, 0, WK_SCHED_NEEDS_DATA},  {2, 1, WK_SCHED_NEEDS_PLACE}, {3, 2, WK_SCHED_NEEDS_DATA},
    {4, 3, WK_SCHED_NEEDS_PLACE}, {5, 4, WK_SCHED_NEEDS_DATA}};

static void check_what_ifs(const char *what, const wk_sched_what_if_job *job, uint64_t now,
                           const uint64_t want[WK_SCHED_WHAT_IFS]) {
  wk_sched_what_if list[WK_SCHED_WHAT_IFS];
  uint64_t got = wk_sched_what_ifs(job, list);
  if (got != now) fail_msg("%s: %" PRIu64 " cycles, not %" PRIu64, what, got, now);
  for (int i = 0; i < WK_SCHED_WHAT_IFS; i++)
    if (list[i].cycles != want[i])
      fail_msg("%s: %s: %" PRIu64 " cycles, not %" PRIu64, what, list[i].name, list[i].cycles,
               want[i]);
}

static wk_sched_time twice(const void *context, uint32_t command, int assumed) {
  wk_sched_time t = wk_sched_time_of(context, command, assumed);
  return (wk_sched_time){2 * t.busy, 2 * t.delay};
}

static void loads_in_turns(void **state) {
  (void)state;
  static const uint32_t instead[] = {NOBODY, NOBODY, 0, NOBODY, 0, NOBODY};
  const wk_sched_run run = run_of(in_turns, WK_COUNTOF(in_turns), 750);
  wk_sched_what_if_job job = {.run = &run, .needs = in_turns_needs,
                              .n_needs = WK_COUNTOF(in_turns_needs)};
  /* a load's bytes take 100 cycles, as its latency; with room they follow each other */
  check_what_ifs("in turns", &job, 750, (uint64_t[]){450, 450, 450, 750, 150});
  job.instead = instead; /* all bring the same */
  check_what_ifs("the same", &job, 750, (uint64_t[]){450, 450, 350, 750, 150});
  job.instead = NULL, job.time = twice, job.context = &run;
  check_what_ifs("twice as slow", &job, 1500, (uint64_t[]){900, 900, 900, 1500, 300});
}

/* The first load waits for a result; the second one, behind it, for nothing. */
static void loads_in_order(void **state) {
  (void)state;
  static const wk_sched_span spans[] = {
      SPAN(SIDE, 0, 300, NOBODY), SPAN(IN, 300, 450, 0), SPAN(IN, 350, 500, NOBODY),
      SPAN(CORE, 500, 600, 2), SPAN(CORE, 600, 700, 1)};
  static const wk_sched_need needs[] = {{4, 1, WK_SCHED_NEEDS_DATA}, {3, 2, WK_SCHED_NEEDS_DATA},
                                        {1, 0, WK_SCHED_NEEDS_DATA}};
  const wk_sched_run run = run_of(spans, WK_COUNTOF(spans), 700);
  const wk_sched_what_if_job job = {.run = &run, .needs = needs, .n_needs = 3};
  check_what_ifs("order", &job, 700, (uint64_t[]){600, 600, 700, 550, 400});
}

/* With other numbers nobody is better off who has less. */
static void drawn_what_ifs(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    wk_rng r = {seed};
    schedule s = draw(&r);
    wk_sched_needs needs = {0};
    wk_sched_numbers numbers;
    wk_sched_what_if list[WK_SCHED_WHAT_IFS];
    const wk_sched_run run = run_of(s.spans, s.n, s.cycles);
    wk_sched_numbers_of(s.spans, s.n, &numbers);
    for (uint32_t i = 0; i < s.n; i++)
      wk_sched_needs_add(&needs, &numbers, i, s.waits[i], (wk_sched_why)upto(&r, 2));
    uint64_t now = wk_sched_what_ifs(&(wk_sched_what_if_job){.run = &run, .needs = needs.data,
                                                             .n_needs = needs.n}, list);
    for (int k = 0; k < WK_SCHED_WHAT_IFS; k++)
      if (list[k].cycles > now || list[k].cycles < list[WK_SCHED_WHAT_IFS - 1].cycles)
        fail_msg("seed %" PRIu64 ": %s: %" PRIu64 " of %" PRIu64 " cycles", seed, list[k].name,
                 list[k].cycles, now);
    wk_sched_numbers_free(&numbers);
    wk_vec_free(&needs);
    free_schedule(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(drawn_timelines), cmocka_unit_test(engines_are_split),
      cmocka_unit_test(texts),           cmocka_unit_test(cycles_are_charged_once),
      cmocka_unit_test(loads_in_turns),  cmocka_unit_test(loads_in_order),
      cmocka_unit_test(drawn_what_ifs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
