/* SPDX-License-Identifier: Apache-2.0
 * Why cycles were waited for, on timelines drawn by hand, and on the streams of examples: all
 * cycles are charged, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/study/causes.h"

enum { SPANS_MAX = 8, LATENCY = 100 };

typedef struct {
  const char *what;
  wk_sched_span spans[SPANS_MAX];
  uint64_t cycles, want[WK_CAUSE_COUNT];
} timeline;

#define NOBODY WK_SCHED_NOBODY
#define SPAN(queue, opcode, start, retire, by) \
  {start, retire, by, 1, WK_QUEUE_##queue, WK_CMD_##opcode, 0, 0, 0, 0}

static const timeline timelines[] = {
    {"a load from the beginning: its latency, then bytes",
     {SPAN(ld0, LD, 0, 300, NOBODY), SPAN(ve, MAP, 305, 400, 0)},
     400,
     {[WK_CAUSE_latency] = 100, [WK_CAUSE_bandwidth] = 200,
      [WK_CAUSE_dispatch] = 5, [WK_CAUSE_vector] = 95}},
    {"behind compute nothing is charged",
     {SPAN(ve, MAP, 0, 400, NOBODY), SPAN(ld0, LD, 0, 300, NOBODY), SPAN(ve, MAP, 400, 500, 1)},
     500,
     {[WK_CAUSE_vector] = 500}},
    {"a load that waited for what stood in its place",
     {SPAN(ld0, LD, 0, 100, NOBODY), SPAN(ve, MAP, 100, 400, 0), SPAN(ld0, LD, 402, 700, 1),
      SPAN(ve, MAP, 702, 800, 2)},
     800,
     {[WK_CAUSE_latency] = 100, [WK_CAUSE_space] = 300, [WK_CAUSE_dispatch] = 2,
      [WK_CAUSE_vector] = 398}},
    {"the place was in use until a store began: its bytes are no wait of the load",
     {SPAN(ve, MAP, 0, 400, NOBODY), SPAN(st, ST, 400, 700, 0), SPAN(ld0, LD, 402, 800, 0),
      SPAN(ve, MAP, 802, 900, 2)},
     900,
     {[WK_CAUSE_space] = 400, [WK_CAUSE_dispatch] = 2, [WK_CAUSE_vector] = 498}},
    {"a store: its bytes, then the answer",
     {SPAN(ve, MAP, 0, 100, NOBODY), SPAN(st, ST, 100, 300, 0), SPAN(ve, MAP, 302, 400, 1)},
     400,
     {[WK_CAUSE_latency] = 100, [WK_CAUSE_bandwidth] = 100, [WK_CAUSE_dispatch] = 2,
      [WK_CAUSE_vector] = 198}},
    {"nothing to wait for", {SPAN(ve, MAP, 50, 100, NOBODY)}, 100,
     {[WK_CAUSE_dispatch] = 50, [WK_CAUSE_vector] = 50}},
};

static wk_stream *stream_of(const timeline *t, uint32_t *n) {
  wk_machine m;
  assert_null(wk_machine_read("base", &m));
  assert_int_equal(m.dram_latency, LATENCY);
  assert_int_equal(m.dram_write_latency, LATENCY);
  wk_stream *s = wk_stream_new(&m, "drawn");
  for (*n = 0; *n < SPANS_MAX && t->spans[*n].opcode; ++*n) {
    wk_isa_command c = wk_isa_command_default(&m, t->spans[*n].opcode);
    c.queue = t->spans[*n].queue;
    if (c.opcode == WK_CMD_LD || c.opcode == WK_CMD_ST) c.v[WK_LD_n0] = c.v[WK_LD_c0] = 16;
    assert_null(wk_stream_add(s, &c, 0));
  }
  return s;
}

static void drawn_timelines(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof timelines / sizeof *timelines; i++) {
    const timeline *t = &timelines[i];
    uint32_t n;
    wk_stream *s = stream_of(t, &n);
    wk_sim_run run = {.n = n, .spans = (wk_sched_span *)(uintptr_t)t->spans};
    run.result.cycles = t->cycles;
    wk_sched_causes c;
    wk_causes_of(&(wk_sim_shown){.stream = s, .machine = &s->machine, .run = &run}, &c);
    for (int k = 0; k < WK_CAUSE_COUNT; k++)
      if (c.cycles[k] != t->want[k])
        fail_msg("%s: %s is %llu, not %llu", t->what, wk_cause_infos[k].name,
                 (unsigned long long)c.cycles[k], (unsigned long long)t->want[k]);
    wk_sched_causes_free(&c);
    wk_stream_free(s);
  }
}

/* On both models alike, since their times are the same. */
static void examples(void **state) {
  static const char *const names[] = {"1-serial", "2-double-buffer", "3-deep-prefetch",
                                      "4-weights", "5-depthwise"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[200];
    wk_stream *s;
    wk_sim_run run;
    snprintf(path, sizeof path, "%s/%s.s", WICK_TEST_EXAMPLES, names[i]);
    assert_null(wk_stream_load(path, &(wk_asm_options){0}, &s));
    const wk_sim_run_options o = {.machine = &s->machine};
    assert_null(wk_sim_run_stream(s, &wk_sim_timing, &o, &run));
    const wk_sim_shown x = {.stream = s, .machine = &s->machine, .run = &run};
    wk_sim_why why;
    uint64_t sum = 0, rows = 0;
    wk_sim_why_of(&x, true, &why);
    for (int k = 0; k < WK_CAUSE_COUNT; k++) sum += why.causes.cycles[k];
    for (size_t k = 0; k < why.causes.rows.n; k++) rows += why.causes.rows.data[k].cycles;
    assert_int_equal(sum, run.result.cycles);
    assert_int_equal(rows, sum);
    uint64_t best = why.what_if[WK_WHAT_IFS - 1].cycles;
    for (int k = 0; k < WK_WHAT_IFS; k++) {
      if (why.what_if[k].cycles > run.result.cycles || best > why.what_if[k].cycles)
        fail_msg("%s: %s: %llu of %llu cycles, all %llu", names[i], why.what_if[k].name,
                 (unsigned long long)why.what_if[k].cycles,
                 (unsigned long long)run.result.cycles, (unsigned long long)best);
    }
    wk_sim_why_free(&why);
    wk_sim_run_free(&run);
    wk_stream_free(s);
  }
}

/* Nobody says which memory holds weights: that of a stream that a person has written is called as
 * he likes. */
static void weights_of_streams(void **state) {
  static const char text[] =
      ".machine base\n.memory a 0x100000 4096\n.random a 1\n.memory k 0x110000 4096\n.random k 2\n"
      "x: ld.ld0 dram=a n0=256 spm=0 c0=256\n"
      "w: ld.ld0 dram=k n0=256 spm=0x400 c0=256\n"
      "p: ld.ld1 dram=k+1024 n0=160 spm=0x800 c0=160\n"
      "c: conv in=0 in_x=N nx=16 kc=1 k_c=N wt=0x400 acc=0 drain out=0x1000 out_x=N par=0x800 "
      "wait x w p\n"
      "end\n";
  (void)state;
  wk_stream *s;
  wk_status status = wk_asm(text, sizeof text - 1, "by hand", NULL, NULL, &s);
  if (status) fail_msg("%s: %s", status->place, status->message);
  bool *got = wk_weights_of(&(wk_sim_shown){.stream = s, .machine = &s->machine});
  static const bool want[] = {false, true, true, false};
  for (size_t i = 0; i < WK_COUNTOF(want); i++) assert_int_equal(got[i], want[i]);
  free(got);
  wk_stream_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_timelines),
                                     cmocka_unit_test(weights_of_streams),
                                     cmocka_unit_test(examples)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
