/* SPDX-License-Identifier: Apache-2.0
 * Causes and what-ifs of schedules, without anything that runs them: of a machine of a few numbers,
 * whose steps are written by hand. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compiler/stream/spans.h"

enum { IN, CORE, OUT, QUEUES, TILE = 1024, CYCLES = 50 };

static int64_t cycles_of(const wk_sched_net *net, const void *command) {
  (void)net;
  return *(const int64_t *)command;
}

static const char *const names[] = {"in", "core", "out"};

/* Memory moves 4 bytes in a cycle. */
static wk_sched_machine machine_of(int64_t tiles) {
  return (wk_sched_machine){
      .name = "made up",
      .queues = {.n = QUEUES, .names = names, .computes = 1 << CORE, .stores = 1 << OUT,
                 .serial = 1 << CORE},
      .load_queue = IN, .const_queue = IN, .store_queue = OUT,
      .scratchpad = tiles * TILE, .most_scratchpad = 1 << 20, .align = 64, .memory_align = 64,
      .bytes_num = 4, .bytes_den = 1, .most_commands = 1000, .command_bytes = sizeof(int64_t),
      .model = &wk_sched_rates, .latency = 100, .write_latency = 40, .cycles = cycles_of};
}

static void add_step(wk_sched_steps *s, int queue, int tensor, int buffer, bool writes,
                     int64_t cycles) {
  wk_sched_step *x = wk_sched_step_add(s, queue, 1, &cycles);
  x->tensor = tensor;
  if (tensor >= 0) x->bytes = TILE, x->mem_rows[0] = 0, x->mem_rows[1] = 1;
  wk_sched_touch(x, &(wk_sched_access){.buffer = buffer, .field = -1, .writes = writes,
                                       .run = TILE, .n0 = 1, .n1 = 1});
}

typedef struct {
  wk_sched_machine machine;
  wk_sched_tensor tensors[2]; /* weights; what goes out to memory and comes back */
  const char *layers[1];
  wk_sched_net net;
  wk_sched_steps steps;
  wk_sched_schedule at;
  wk_arena *arena;
  wk_sched_run run;
} subject;

static void open_subject(subject *x, int64_t tiles) {
  *x = (subject){.machine = machine_of(tiles), .layers = {"conv1"}, .arena = wk_arena_new()};
  for (int t = 0; t < 2; t++)
    x->tensors[t] = (wk_sched_tensor){.bytes = TILE, .planes = 1, .rows = 1, .row = TILE,
                                      .home = t ? WK_SCHED_WORK : WK_SCHED_CONST};
  x->net = (wk_sched_net){.machine = &x->machine, .arena = x->arena, .tensors = x->tensors,
                          .n_tensors = 2, .layers = x->layers, .n_layers = 1};
  wk_sched_steps_clear(&x->steps, &x->net);
}

static void schedule(subject *x) {
  wk_sched_depend(&x->net, WK_PREFETCH_AUTO, 0, &x->steps);
  wk_status s = wk_sched_schedule_steps(&x->net, &x->steps, WK_PREFETCH_AUTO, x->arena, &x->at);
  if (s) fail_msg("%s", s->message);
  wk_sched_span *spans = wk_sched_spans_of(&x->net, &x->steps, &x->at, x->arena);
  x->run = wk_sched_run_of(&x->net, &x->steps, &x->at, spans, x->arena);
}

static void close_subject(subject *x) {
  wk_sched_steps_free(&x->steps);
  wk_arena_free(x->arena);
}

static wk_sched_causes causes_of(const subject *x) {
  wk_sched_causes c;
  uint64_t sum = 0;
  wk_sched_causes_of(&x->run, &c);
  for (int k = 0; k < WK_CAUSE_COUNT; k++) sum += c.cycles[k];
  assert_int_equal(sum, x->at.times.cycles);
  return c;
}

static uint64_t what_ifs_of(const subject *x, wk_sched_what_if list[WK_SCHED_WHAT_IFS]) {
  wk_sched_needs needs = {0};
  wk_sched_needs_of(&x->run, &x->steps, &x->at, &needs);
  uint64_t now = wk_sched_what_ifs(&(wk_sched_what_if_job){.run = &x->run, .needs = needs.data,
                                                           .n_needs = needs.n}, list);
  wk_vec_free(&needs);
  return now;
}

/* Weights of six tiles, each used once, with room for so many of them. */
static void tiles(subject *x, int64_t room) {
  open_subject(x, room);
  for (int i = 0; i < 6; i++) {
    int buffer = wk_sched_buffer_add(&x->steps, TILE, 0);
    add_step(&x->steps, IN, 0, buffer, true, 0);
    add_step(&x->steps, CORE, -1, buffer, false, CYCLES);
  }
  schedule(x);
}

static void room_for_all(void **state) {
  (void)state;
  subject x;
  wk_sched_what_if list[WK_SCHED_WHAT_IFS];
  tiles(&x, 6);
  assert_int_equal(x.at.times.cycles, 100 + 6 * 256 + CYCLES);
  wk_sched_causes c = causes_of(&x);
  assert_int_equal(c.cycles[WK_CAUSE_compute], 6 * CYCLES);
  assert_int_equal(c.cycles[WK_CAUSE_latency], 100);
  assert_int_equal(c.cycles[WK_CAUSE_bandwidth], 6 * 256 - 5 * CYCLES);
  for (size_t k = 0; k < c.rows.n; k++)
    assert_int_equal(c.rows.data[k].moved,
                     c.rows.data[k].cause == WK_CAUSE_compute ? WK_MOVED_NOTHING
                                                              : WK_MOVED_WEIGHTS);
  wk_sched_causes_free(&c);
  assert_int_equal(what_ifs_of(&x, list), x.at.times.cycles);
  assert_int_equal(list[0].cycles, 100 + 6 * CYCLES);      /* bandwidth */
  assert_int_equal(list[1].cycles, 6 * 256 + CYCLES);      /* latency */
  assert_int_equal(list[2].cycles, x.at.times.cycles);     /* space */
  assert_int_equal(list[4].cycles, 6 * CYCLES);            /* all */
  close_subject(&x);
}

static void room_for_one(void **state) {
  (void)state;
  subject x;
  wk_sched_what_if list[WK_SCHED_WHAT_IFS];
  tiles(&x, 1);
  assert_int_equal(x.at.times.cycles, 6 * (100 + 256 + CYCLES));
  wk_sched_causes c = causes_of(&x);
  assert_int_equal(c.cycles[WK_CAUSE_compute], 6 * CYCLES);
  assert_true(c.cycles[WK_CAUSE_space] > 0);
  assert_int_equal(c.cycles[WK_CAUSE_order], 0);
  wk_sched_causes_free(&c);
  assert_int_equal(what_ifs_of(&x, list), x.at.times.cycles);
  assert_int_equal(list[2].cycles, 100 + 6 * 256 + CYCLES);
  close_subject(&x);
}

/* What has been computed goes to memory and comes back. */
static void through_memory(void **state) {
  (void)state;
  subject x;
  wk_sched_what_if list[WK_SCHED_WHAT_IFS];
  open_subject(&x, 2);
  int first = wk_sched_buffer_add(&x.steps, TILE, 0);
  int second = wk_sched_buffer_add(&x.steps, TILE, 0);
  add_step(&x.steps, CORE, -1, first, true, CYCLES);
  add_step(&x.steps, OUT, 1, first, false, 0);
  add_step(&x.steps, IN, 1, second, true, 0);
  add_step(&x.steps, CORE, -1, second, false, CYCLES);
  schedule(&x);
  assert_int_equal(x.at.times.cycles, CYCLES + 256 + 40 + 100 + 256 + CYCLES);
  assert_int_equal(x.run.spans[2].released_by, 1);
  wk_sched_causes c = causes_of(&x);
  assert_int_equal(c.cycles[WK_CAUSE_compute], 2 * CYCLES);
  assert_int_equal(c.cycles[WK_CAUSE_space], 0);
  assert_true(c.cycles[WK_CAUSE_order] > 0);
  wk_sched_causes_free(&c);
  assert_int_equal(what_ifs_of(&x, list), x.at.times.cycles);
  assert_int_equal(list[2].cycles, x.at.times.cycles);
  close_subject(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(room_for_all),
                                     cmocka_unit_test(room_for_one),
                                     cmocka_unit_test(through_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
