/* SPDX-License-Identifier: Apache-2.0
 * The timing model and the formulas of docs/isa.md against the RTL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "targets/accel/isa/duration.h"
#include "tests/random_stream.h"

enum { STREAMS = 60, LONG = 20000, SHORT_CYCLES = 20, ALONE = 100, FETCHED = 1200, MARKED = 4000 };

static wk_machine machine;
static const wk_sim_model *rtl;

static int setup(void **state) {
  (void)state;
  const wk_sim_build_options o = {.machine = &machine};
  wk_status s = wk_machine_read("tiny", &machine);
  if (!s) s = wk_sim_model_of(WK_SIM_RTL, &o, &rtl);
  if (s) wk_status_print(stderr, s);
  machine.dram_size = RANDOM_STREAM_MEMORY;
  return s ? -1 : 0;
}

static wk_sim_run run(const wk_stream *s, const wk_sim_model *model, const wk_machine *m) {
  const wk_sim_run_options o = {.machine = m, .max_cycles = 2000000};
  wk_sim_run r;
  assert_null(wk_sim_run_stream(s, model, &o, &r));
  assert_null(wk_sim_verdict(s, m, &r));
  return r;
}

/* ---- whole streams --------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Latency and bandwidth change from stream to stream; jitter, refresh and traffic stay off. */
static wk_machine memory_of(uint64_t seed) {
  static const int64_t latencies[] = {20, 100, 500, 1000}, rates[] = {2, 4, 8, 16};
  wk_machine m = machine;
  m.dram_latency = latencies[seed % 4];
  m.dram_write_latency = latencies[seed / 4 % 4];
  m.dram_bytes = (wk_fraction){rates[seed / 16 % 4], 1};
  return m;
}

/* Those of the RTL are looked at by test_sim. */
static void check_counters(const wk_stream *s, const wk_sim_run *r, uint64_t seed) {
  wk_str text = {0};
  if (!random_stream_counters_are_right(s, r, &text)) fail_msg("seed %d: %s", (int)seed, text.s);
  wk_str_free(&text);
}

static void test_streams(void **state) {
  double errors[STREAMS];
  int n = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= STREAMS; seed++) {
    wk_machine m = memory_of(seed);
    const random_stream_options large = {.commands = 80, .work = 3000};
    wk_stream *s = random_stream(&m, seed, seed % 2 ? NULL : &large);
    wk_sim_run want = run(s, rtl, &m), got = run(s, &wk_sim_timing, &m);
    check_counters(s, &got, seed);
    double cycles = (double)want.result.cycles, off = (double)got.result.cycles - cycles;
    if (off < 0) off = -off;
    if (cycles >= LONG) errors[n++] = off / cycles;
    else if (off > SHORT_CYCLES && off > 0.03 * cycles) {
      random_stream_print(s, "");
      fail_msg("seed %d: %.0f cycles, off by %.0f", (int)seed, cycles, off);
    }
    wk_sim_run_free(&want);
    wk_sim_run_free(&got);
    wk_stream_free(s);
  }
  if (!n) return;
  qsort(errors, (size_t)n, sizeof *errors, by_value);
  print_message("%d streams of %d cycles or more: median error %.4f %%, 95 %% within %.4f %%, worst "
                "%.4f %%\n", n, LONG, 100 * errors[n / 2], 100 * errors[n * 95 / 100],
                100 * errors[n - 1]);
  assert_true(errors[n / 2] <= 0.005);
  assert_true(errors[n * 95 / 100] <= 0.03);
}

/* ---- commands alone -------------------------------------------------------------------------- */

/* Every command waits for the one before it. The ports of ex may meet at a bank: its commands can
 * take longer than their formulas (that they take no more without is the bench of the engine's
 * business, sim/verilated/unit/exec_test), but then the timing model says so too. */
static void serialise(wk_stream *s) {
  uint32_t issued[WK_QUEUE_COUNT] = {0};
  wk_isa_command c;
  for (uint32_t i = 0, before = 0; i < s->n; i++) {
    assert_true(wk_stream_get(s, i, &c));
    if (c.opcode == WK_CMD_END) continue;
    if (i) wk_isa_wait(&c, (int)before, issued[before]);
    random_stream_put(s, i, &c);
    before = c.queue;
    issued[before]++;
  }
}

static uint64_t duration_of(const wk_sim_run *r, uint32_t i) {
  return r->spans[i].retire - r->spans[i].start;
}

static void check_durations(const wk_stream *s, const wk_machine *m, const wk_sim_run *r,
                            const wk_sim_run *timing, int *checked) {
  uint64_t quiet = FETCHED; /* from here on neither commands come nor counters go to memory */
  for (uint32_t i = 0; i + 1 < r->n; i++) {
    wk_isa_command c;
    assert_true(wk_stream_get(s, i, &c));
    uint64_t took = duration_of(r, i), want = wk_isa_duration(m, &c);
    if (c.opcode == WK_CMD_MARK) quiet = r->spans[i].retire + MARKED;
    if (r->spans[i].start < quiet && c.queue >= WK_QUEUE_st) continue;
    ++*checked;
    if (took == want) continue;
    if (c.queue == WK_QUEUE_ex && took > want && took == duration_of(timing, i)) continue;
    wk_str text = {0};
    wk_disasm_command(&text, m, &c);
    fail_msg("command %u took %llu cycles, the formula says %llu: %s", i,
             (unsigned long long)took, (unsigned long long)want, text.s);
  }
}

static void test_durations(void **state) {
  const random_stream_options small = {.commands = 8};
  int checked = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= ALONE; seed++) {
    wk_machine m = memory_of(4 * seed);
    m.dram_outstanding = 4096;
    wk_stream *s = random_stream(&m, seed, &small);
    serialise(s);
    wk_sim_run r = run(s, rtl, &m), timing = run(s, &wk_sim_timing, &m);
    if (s->n <= 32) check_durations(s, &m, &r, &timing, &checked);
    wk_sim_run_free(&r);
    wk_sim_run_free(&timing);
    wk_stream_free(s);
  }
  print_message("%d commands alone take what their formulas say\n", checked);
  assert_true(checked > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_streams),
                                     cmocka_unit_test(test_durations)};
  return cmocka_run_group_tests(tests, setup, NULL);
}
