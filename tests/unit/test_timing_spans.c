/* SPDX-License-Identifier: Apache-2.0
 * The timing model against the RTL, command by command, on memories slower than the bus: commands
 * start and retire in the same cycle on both, and queues are as long in the same states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/random_stream.h"

enum { WORK = 1500 };

static wk_machine machine;
static const wk_sim_model *rtl;

static void open_machine(const char *name) {
  const wk_sim_build_options o = {.machine = &machine};
  wk_status s = wk_machine_read(name, &machine);
  if (!s) s = wk_sim_model_of(WK_SIM_RTL, &o, &rtl);
  if (s) wk_status_print(stderr, s);
  assert_null(s);
  machine.dram_size = RANDOM_STREAM_MEMORY;
}

static wk_machine memory_of(uint64_t seed) {
  static const int64_t latencies[] = {20, 60, 200, 1000}, rates[] = {1, 2, 4};
  wk_machine m = machine;
  m.dram_latency = latencies[seed % 4];
  m.dram_write_latency = latencies[seed / 4 % 4];
  m.dram_bytes = (wk_fraction){rates[seed % 3], 1};
  return m;
}

typedef struct {
  int streams, different; /* a command in another cycle */
  int states, same; /* counters of queues, in all streams */
} tally;

static bool is_same(const wk_sched_span *x, const wk_sched_span *y) {
  return x->start == y->start && x->retire == y->retire && x->released_by == y->released_by;
}

static void compare(tally *t, const wk_sim_run *want, const wk_sim_run *got) {
  assert_int_equal(want->n, got->n);
  uint32_t i = 0;
  while (i < want->n && is_same(&want->spans[i], &got->spans[i])) i++;
  if (i < want->n) {
    const wk_sched_span *x = &want->spans[i], *y = &got->spans[i];
    print_message("command %u: %llu to %llu, the model says %llu to %llu\n", i,
                  (unsigned long long)x->start, (unsigned long long)x->retire,
                  (unsigned long long)y->start, (unsigned long long)y->retire);
    t->different++;
  }
  t->streams++;
  for (i = WK_COUNTER_QUEUES; i < WK_COUNTER_COUNT; i++) {
    t->states++;
    t->same += want->result.counters[i] == got->result.counters[i];
  }
}

/* A queue stood still because of the last of the waits when that was over no earlier than the
 * command before had started. */
static void check_releases(const wk_stream *s, const wk_sim_run *r) {
  uint32_t n[WK_QUEUE_COUNT] = {0}, *of[WK_QUEUE_COUNT];
  for (int q = 0; q < WK_QUEUE_COUNT; q++) of[q] = wk_xcalloc(s->n + 1, sizeof *of[q]);
  for (uint32_t i = 0; i < s->n; i++) {
    wk_isa_command c;
    const wk_sched_span *span = &r->spans[i];
    assert_true(wk_stream_get(s, i, &c));
    if (c.opcode == WK_CMD_END) continue;
    uint64_t free_at = n[c.queue] ? r->spans[of[c.queue][n[c.queue] - 1]].start : 0, latest = 0;
    for (int q = 0; q < WK_QUEUE_COUNT; q++) {
      if (!c.threshold[q]) continue;
      uint64_t retire = r->spans[of[q][c.threshold[q] - 1]].retire;
      latest = retire > latest ? retire : latest;
    }
    if (latest == 0 || latest < free_at) assert_int_equal(span->released_by, WK_SCHED_NOBODY);
    else assert_true(r->spans[span->released_by].retire == latest);
    of[c.queue][n[c.queue]++] = i;
  }
  for (int q = 0; q < WK_QUEUE_COUNT; q++) free(of[q]);
}

static wk_sim_run run(const wk_stream *s, const wk_sim_model *model, const wk_machine *m) {
  const wk_sim_run_options o = {.machine = m, .max_cycles = 2000000};
  wk_sim_run r;
  assert_null(wk_sim_run_stream(s, model, &o, &r));
  assert_null(wk_sim_verdict(s, m, &r));
  return r;
}

static void check_machine(const char *name, int streams) {
  tally t = {0};
  open_machine(name);
  for (uint64_t seed = 1; seed <= (uint64_t)streams; seed++) {
    const random_stream_options large = {.commands = 40, .work = WORK};
    wk_machine m = memory_of(seed);
    wk_stream *s = random_stream(&m, 1000 + seed, seed % 3 ? NULL : &large);
    wk_sim_run want = run(s, rtl, &m), got = run(s, &wk_sim_timing, &m);
    compare(&t, &want, &got);
    check_releases(s, &got);
    wk_sim_run_free(&want);
    wk_sim_run_free(&got);
    wk_stream_free(s);
  }
  print_message("%s: %d of %d streams differ, %d of %d counters of queues are the same\n",
                name, t.different, t.streams, t.same, t.states);
  assert_int_equal(t.different, 0);
  assert_int_equal(t.same, t.states);
}

static void test_tiny(void **state) {
  (void)state;
  check_machine("tiny", 120);
}

static void test_base(void **state) {
  (void)state;
  check_machine("base", 120);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiny), cmocka_unit_test(test_base)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
