/* SPDX-License-Identifier: Apache-2.0
 * Why cycles were waited for, on drawn timelines: whatever they are, every cycle is charged once,
 * and to what it was charged to before. `rows` prints the table anew: read what differs first. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/study/causes.h"

enum { TIMELINES = 60, MOST = 120 };

/* The cycles of each cause, and a checksum of the rows. */
typedef struct {
  uint64_t cycles[WK_CAUSE_COUNT];
  uint32_t rows;
} result;
static const result expected[] = {
#include "tests/unit/causes.def"
};

typedef struct {
  wk_stream *stream;
  wk_sched_span spans[MOST];
  uint32_t n;
  uint64_t cycles;
} timeline;

static uint64_t upto(wk_rng *r, uint64_t n) { return (uint64_t)wk_rng_range(r, 0, (int64_t)n); }

/* One of the earlier commands that had retired by then, rather the last of them. */
static uint32_t released_by(wk_rng *r, const timeline *t, uint64_t start) {
  for (uint32_t k = t->n; k-- > 0;)
    if (wk_sched_has_run(&t->spans[k]) && t->spans[k].retire <= start && !upto(r, 2)) return k;
  return WK_SCHED_NOBODY;
}

/* Begins right behind what releases it, or later; times are such that many fall together. */
static void draw_span(wk_rng *r, timeline *t, uint64_t free_at[WK_QUEUE_COUNT]) {
  static const struct {
    uint8_t queue, opcode;
  } kinds[] = {{WK_QUEUE_ld0, WK_CMD_LD}, {WK_QUEUE_ld0, WK_CMD_LD},  {WK_QUEUE_ld1, WK_CMD_LD},
               {WK_QUEUE_st, WK_CMD_ST},  {WK_QUEUE_ex, WK_CMD_CONV}, {WK_QUEUE_ve, WK_CMD_MAP},
               {WK_QUEUE_ld0, WK_CMD_FILL}};
  static const uint64_t pauses[] = {0, 0, 0, 2, 16, 17, 50};
  static const uint64_t times[] = {1, 20, 50, 99, 100, 101, 300};
  size_t kind = upto(r, WK_COUNTOF(kinds) - 1);
  wk_sched_span s = {.queue = kinds[kind].queue, .opcode = kinds[kind].opcode,
                     .operator = (uint32_t)upto(r, 4)};
  wk_isa_command c = wk_isa_command_default(&t->stream->machine, s.opcode);
  c.queue = s.queue;
  if (s.opcode == WK_CMD_LD || s.opcode == WK_CMD_ST) {
    c.v[WK_LD_n0] = c.v[WK_LD_c0] = 16;
    c.v[WK_LD_dram] = (int64_t)upto(r, 3) * 8;
  }
  if (s.opcode == WK_CMD_CONV) {
    c.v[WK_CONV_nx] = 1 + (int64_t)upto(r, 40);
    c.v[WK_CONV_drain] = (int64_t)upto(r, 1);
  }
  assert_null(wk_stream_add(t->stream, &c, 0));
  s.start = free_at[s.queue] + pauses[upto(r, WK_COUNTOF(pauses) - 1)];
  if (t->n && upto(r, 1)) { /* behind the command before, whatever its queue */
    uint64_t end = t->spans[t->n - 1].retire;
    if (end != WK_SCHED_NOT_RUN && end > s.start) s.start = end + upto(r, 2);
  }
  s.retire = s.start + times[upto(r, WK_COUNTOF(times) - 1)];
  s.released_by = released_by(r, t, s.start);
  if (upto(r, 30)) free_at[s.queue] = s.retire;
  else s.start = s.retire = WK_SCHED_NOT_RUN; /* it has never run */
  if (s.retire != WK_SCHED_NOT_RUN && s.retire > t->cycles) t->cycles = s.retire;
  t->spans[t->n++] = s;
}

static void draw(uint64_t seed, timeline *t) {
  wk_rng r = {seed};
  wk_machine m;
  uint64_t free_at[WK_QUEUE_COUNT] = {0};
  assert_null(wk_machine_read("base", &m));
  *t = (timeline){.stream = wk_stream_new(&m, "drawn")};
  uint32_t n = (uint32_t)(seed % 4 == 0 ? MOST : 2 + upto(&r, 30));
  while (t->n < n) draw_span(&r, t, free_at);
  t->cycles += upto(&r, 1) * 7;
}

static result result_of(const timeline *t) {
  wk_sim_run run = {.n = t->n, .spans = (wk_sched_span *)(uintptr_t)t->spans};
  wk_sched_causes c;
  wk_str rows = {0};
  uint64_t sum = 0, all = 0;
  result out = {.rows = 0};
  run.result.cycles = t->cycles;
  wk_causes_of(&(wk_sim_shown){.stream = t->stream, .machine = &t->stream->machine, .run = &run},
               &c);
  memcpy(out.cycles, c.cycles, sizeof out.cycles);
  for (int k = 0; k < WK_CAUSE_COUNT; k++) sum += c.cycles[k];
  for (size_t i = 0; i < c.rows.n; i++) {
    const wk_sched_cause_row *x = &c.rows.data[i];
    all += x->cycles;
    if (i && x->cycles > x[-1].cycles) fail_msg("row %zu is larger than the one before", i);
    wk_str_printf(&rows, "%d %d %u %" PRIu64 "\n", (int)x->cause, (int)x->moved, x->operator,
                  x->cycles);
  }
  assert_int_equal(sum, t->cycles);
  assert_int_equal(all, t->cycles);
  out.rows = (uint32_t)wk_hash64(rows.s, rows.n, 0);
  wk_str_free(&rows);
  wk_sched_causes_free(&c);
  return out;
}

static void cycles_are_charged_as_they_were(void **state) {
  (void)state;
  assert_int_equal(WK_COUNTOF(expected), TIMELINES);
  for (uint64_t seed = 0; seed < WK_COUNTOF(expected); seed++) {
    timeline t;
    draw(seed, &t);
    result got = result_of(&t);
    wk_stream_free(t.stream);
    for (int k = 0; k < WK_CAUSE_COUNT; k++)
      if (got.cycles[k] != expected[seed].cycles[k])
        fail_msg("timeline %" PRIu64 ": %s is %" PRIu64 ", not %" PRIu64, seed,
                 wk_cause_infos[k].name, got.cycles[k], expected[seed].cycles[k]);
    if (got.rows != expected[seed].rows) fail_msg("timeline %" PRIu64 ": other rows", seed);
  }
}

static int print_rows(void) {
  puts("/* SPDX-License-Identifier: Apache-2.0\n"
       " * What test_causes_drawn.c finds: cycles of each cause, checksum of the rows. */");
  for (uint64_t seed = 0; seed < TIMELINES; seed++) {
    timeline t;
    draw(seed, &t);
    result got = result_of(&t);
    wk_stream_free(t.stream);
    printf("{{");
    for (int k = 0; k < WK_CAUSE_COUNT; k++) printf("%s%" PRIu64, k ? ", " : "", got.cycles[k]);
    printf("}, 0x%08x},\n", got.rows);
  }
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cycles_are_charged_as_they_were)};
  if (argc > 1 && !strcmp(argv[1], "rows")) return print_rows();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
