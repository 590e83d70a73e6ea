/* SPDX-License-Identifier: Apache-2.0
 * The timing model and the formulas of docs/isa.md against the RTL. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "targets/accel/isa/duration.h"
#include "tests/random_stream.h"

enum { STREAMS = 100, FEW = 10, ALONE = 100, FETCHED = 1200, MARKED = 4000 };

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

/* Latency and bandwidth change from stream to stream. */
static wk_machine memory_of(const wk_machine *base, uint64_t seed) {
  static const int64_t latencies[] = {20, 100, 500, 1000}, rates[] = {2, 4, 8, 16};
  wk_machine m = *base;
  m.dram_latency = latencies[seed % 4];
  m.dram_write_latency = latencies[seed / 4 % 4];
  m.dram_bytes = (wk_fraction){rates[seed / 16 % 4], 1};
  return m;
}

static struct { int streams, exact; } tally;

/* Those of the RTL are looked at by test_sim. */
static void check_counters(const wk_stream *s, const wk_sim_run *r, uint64_t seed) {
  wk_str text = {0};
  if (!random_stream_counters_are_right(s, r, &text)) fail_msg("seed %d: %s", (int)seed, text.s);
  wk_str_free(&text);
}

/* All counters are those of the RTL. */
static void check_same(const wk_sim_run *want, const wk_sim_run *got, const char *name,
                       uint64_t seed) {
  for (int i = 0; i < WK_COUNTER_COUNT; i++)
    if (want->result.counters[i] != got->result.counters[i])
      fail_msg("%s, seed %d: counter %s is %" PRIu64 ", not %" PRIu64, name, (int)seed,
               wk_isa_counter_name(i).s, got->result.counters[i], want->result.counters[i]);
}

static void compare(const wk_stream *s, const wk_machine *m, const wk_sim_model *hardware,
                    uint64_t seed) {
  wk_sim_run want = run(s, hardware, m), got = run(s, &wk_sim_timing, m);
  uint64_t a = want.result.cycles, b = got.result.cycles;
  check_counters(s, &got, seed);
  tally.streams++;
  tally.exact += a == b;
  if (a == b) check_same(&want, &got, m->name, seed);
  else
    print_message("%s, seed %d: %" PRIu64 " cycles, not %" PRIu64 "\n", m->name, (int)seed, b, a);
  wk_sim_run_free(&want);
  wk_sim_run_free(&got);
}

/* Large streams, and small ones with every kind of memory: jitter, refresh, traffic ... */
static void try_streams(const wk_machine *base, const wk_sim_model *hardware, uint64_t count) {
  const random_stream_options large = {.commands = 80, .work = 3000};
  for (uint64_t seed = 1; seed <= count; seed++) {
    bool is_large = seed % 2 == 0;
    wk_machine m = is_large ? memory_of(base, seed / 2)
                            : random_stream_draw_setting(hardware, base, seed).machine;
    wk_stream *s = random_stream(&m, seed, is_large ? &large : NULL);
    compare(s, &m, hardware, seed);
    wk_stream_free(s);
  }
}

static void test_streams(void **state) {
  static const char *const others[] = {"base", "wide"};
  (void)state;
  try_streams(&machine, rtl, STREAMS);
  for (size_t i = 0; i < WK_COUNTOF(others); i++) {
    wk_machine m;
    const wk_sim_model *hardware;
    assert_null(wk_machine_read(others[i], &m));
    assert_null(wk_sim_model_of(WK_SIM_RTL, &(wk_sim_build_options){.machine = &m}, &hardware));
    m.dram_size = RANDOM_STREAM_MEMORY;
    try_streams(&m, hardware, FEW);
  }
  print_message("%d streams, %d of them to the cycle\n", tally.streams, tally.exact);
  assert_int_equal(tally.exact, tally.streams);
}

/* ---- commands and nothing else --------------------------------------------------------------- */

/* What a compiler asks: no memory, no result, the cycles of the RTL all the same. */
static void test_commands_alone(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= FEW; seed++) {
    wk_machine m = memory_of(&machine, seed);
    wk_stream *s = random_stream(&m, seed, NULL);
    wk_isa_command *commands = wk_xcalloc(s->n, sizeof *commands);
    for (uint32_t i = 0; i < s->n; i++) assert_true(wk_stream_get(s, i, &commands[i]));
    const wk_timing_job job = {.machine = &m, .dram = wk_dram_params_of(&m), .commands = commands,
                               .n = s->n, .address = (uint32_t)s->address};
    wk_timing_result got;
    wk_timing_run(&job, &got);
    wk_sim_run want = run(s, rtl, &m);
    assert_false(got.gave_up);
    assert_memory_equal(got.counters, want.result.counters, sizeof got.counters);
    assert_memory_equal(got.done, want.result.done, sizeof got.done);
    wk_sim_run_free(&want);
    free(commands);
    wk_stream_free(s);
  }
}

/* ---- addresses that wrap --------------------------------------------------------------------- */

/* Behind 2^32 addresses go on at 0, here in runs that go backwards. */
static const char *const wrapped[] = {
    "x: ld.ld0 dram=x+48 n0=16 n1=4 s1=0xfffffff0 spm=0 c0=64\n"
    "y: st dram=y+56 n0=8 n1=8 s1=0xfffffff8 spm=0 c0=64 wait x\nend\n",
    "x: ld.ld0 dram=x n0=16 n1=1 n2=2 n3=2 s2=16 s3=0xfffffff0 spm=0 c0=64\n"
    "y: st dram=y n0=64 spm=0 c0=64 wait x\nend\n"};

static void test_wrapped(void **state) {
  const wk_asm_options unchecked = {.unchecked = true};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(wrapped); i++) {
    wk_str text = {0};
    wk_stream *s;
    wk_str_printf(&text, ".machine tiny\n.memory x 0x1000 64\n.random x 1\n.memory y 0x2000 64\n"
                  ".output y\n%s", wrapped[i]);
    assert_null(wk_asm(text.s, text.n, "wrapped", NULL, &unchecked, &s));
    wk_sim_run want = run(s, rtl, &machine), got = run(s, &wk_sim_timing, &machine);
    assert_int_equal(got.result.cycles, want.result.cycles);
    check_same(&want, &got, wrapped[i], 0);
    wk_sim_run_free(&want);
    wk_sim_run_free(&got);
    wk_stream_free(s);
    wk_str_free(&text);
  }
}

/* ---- commands alone -------------------------------------------------------------------------- */

/* The ports of ex may meet at a bank: its commands can take longer than their formulas (that they
 * take no more without is the bench of the engine's business, sim/verilated/unit/exec_test), but
 * then the timing model says so too. */
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
    wk_machine m = memory_of(&machine, 4 * seed);
    m.dram_outstanding = 4096;
    wk_stream *s = random_stream(&m, seed, &small);
    random_stream_serialise(s);
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
                                     cmocka_unit_test(test_commands_alone),
                                     cmocka_unit_test(test_wrapped),
                                     cmocka_unit_test(test_durations)};
  return cmocka_run_group_tests(tests, setup, NULL);
}
