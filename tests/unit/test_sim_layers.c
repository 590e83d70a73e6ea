/* SPDX-License-Identifier: Apache-2.0
 * Whose cycles are whose, on timelines drawn by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/study/sim.h"

enum { LAYERS = 3, SPANS_MAX = 8 };

typedef struct {
  int opcode, queue;
  uint64_t start, retire;
  uint16_t operator;
  uint64_t array;
} drawn;

typedef struct {
  const char *what;
  drawn spans[SPANS_MAX]; /* ends with opcode 0 */
  uint64_t cycles, charged[LAYERS + 1], overlapped[LAYERS + 1], exposed[LAYERS + 1];
} timeline;

#define EX_OF(start, retire, op, array) {WK_CMD_CONV, WK_QUEUE_ex, start, retire, op, array}
#define EX(start, retire, op) EX_OF(start, retire, op, 0)
#define VE(start, retire, op) {WK_CMD_MAP, WK_QUEUE_ve, start, retire, op, 0}
#define LD(start, retire, op) {WK_CMD_LD, WK_QUEUE_ld0, start, retire, op, 0}
#define ST(start, retire, op) {WK_CMD_ST, WK_QUEUE_st, start, retire, op, 0}
#define MARK(start, retire) {WK_CMD_MARK, WK_QUEUE_ex, start, retire, 0, 0}

static const timeline timelines[] = {
    {"a load, what it is for, a store", {LD(5, 20, 1), EX(20, 50, 1), ST(52, 80, 1)}, 82,
     {0, 82, 0, 0}, {0}, {0, 15 + 28, 0, 0}},
    {"cycles without a command wait for the next", {EX(0, 10, 1), EX(40, 50, 2)}, 50,
     {0, 10, 40, 0}, {0}, {0}},
    {"the oldest of ex while two overlap", {EX(0, 30, 1), EX(20, 60, 2)}, 60, {0, 30, 30, 0}, {0},
     {0}},
    {"the array works for the next while one drains", {EX_OF(0, 50, 1, 20), EX_OF(20, 60, 2, 30)},
     60, {0, 30, 30, 0}, {0}, {0}},
    {"and for the one behind that",
     {EX_OF(0, 40, 1, 10), EX_OF(10, 44, 2, 15), EX_OF(12, 50, 3, 20)}, 50, {0, 15, 15, 20}, {0},
     {0}},
    {"no command has cycles before it starts", {EX_OF(0, 30, 1, 5), EX_OF(20, 40, 2, 35)}, 40,
     {0, 20, 20, 0}, {0}, {0}},
    {"a MARK needs no array", {EX_OF(0, 30, 1, 9), MARK(18, 20), EX_OF(20, 40, 2, 12)}, 40,
     {0, 28, 12, 0}, {0}, {0}},
    {"what is computed twice at a time is transferred behind once",
     {LD(5, 25, 2), EX_OF(0, 40, 1, 5), EX_OF(10, 44, 2, 30)}, 44, {0, 14, 30, 0}, {0, 9, 11, 0},
     {0}},
    {"ex before ve", {EX(10, 20, 1), VE(0, 40, 2)}, 40, {0, 10, 30, 0}, {0}, {0}},
    {"what starts first is waited for", {EX(30, 40, 1), VE(20, 25, 2)}, 40, {0, 15, 25, 0}, {0},
     {0}},
    {"a prefetch is hidden behind another layer",
     {LD(0, 10, 1), EX(10, 40, 1), LD(12, 45, 2), EX(50, 60, 2)}, 60, {0, 40, 20, 0},
     {0, 28, 0, 0}, {0, 10, 5, 0}},
    {"a MARK is nobody's", {EX(0, 10, 1), MARK(10, 12), EX(14, 20, 2)}, 20, {0, 10, 10, 0}, {0},
     {0}},
    {"copies alone", {LD(5, 20, 2), ST(25, 40, 3)}, 44, {0, 0, 20, 24}, {0}, {0, 0, 15, 15}},
    {"of no layer", {EX(0, 10, 0), EX(10, 30, 3)}, 30, {10, 0, 0, 20}, {0}, {0}},
    {"what never ran", {EX(0, 10, 1), EX(WK_SCHED_NOT_RUN, WK_SCHED_NOT_RUN, 2)}, 20,
     {0, 20, 0, 0}, {0}, {0}},
};

static void check_timeline(const timeline *t, const wk_stream *s) {
  wk_accel_layer layers[LAYERS] = {{0}};
  const wk_accel_part row = {.layers = LAYERS};
  const wk_accel_unit unit = {.machine = s->machine, .layers = layers};
  const wk_sim_part part = {"part", 0, &unit, &row};
  wk_sched_span spans[SPANS_MAX];
  wk_sim_run run = {.result.cycles = t->cycles, .spans = spans};
  for (const drawn *d = t->spans; d->opcode; d++)
    spans[run.n++] = (wk_sched_span){.start = d->start, .retire = d->retire,
                                     .queue = (uint8_t)d->queue, .opcode = (uint8_t)d->opcode,
                                     .kind = (uint8_t)wk_isa_kind_of((uint32_t)d->opcode),
                                     .operator = d->operator, .array = d->array};
  const wk_sim_shown x = {s, &s->machine, &run, &wk_sim_timing, &part, NULL};
  wk_sim_layers l = wk_sim_layers_of(&x);
  for (int i = 0; i <= LAYERS; i++) {
    const wk_sim_layer *got = &l.list[i];
    if (got->cycles != t->charged[i] || got->overlapped != t->overlapped[i] ||
        got->exposed != t->exposed[i])
      fail_msg("%s: layer %d: %llu cycles, %llu overlapped, %llu exposed", t->what, i,
               (unsigned long long)got->cycles, (unsigned long long)got->overlapped,
               (unsigned long long)got->exposed);
  }
  assert_int_equal(l.total.cycles, t->cycles);
  free(l.list);
}

static wk_stream *empty_stream(void) {
  wk_machine m;
  assert_null(wk_machine_read("tiny", &m));
  return wk_stream_new(&m, "");
}

static void cycles_have_owners(void **state) {
  (void)state;
  wk_stream *s = empty_stream();
  for (size_t i = 0; i < WK_COUNTOF(timelines); i++) check_timeline(&timelines[i], s);
  wk_stream_free(s);
}

/* What layer 4 of three moves, no layer does; a stream of another model may name it. */
static void bytes_of_layers_that_are_not_there(void **state) {
  (void)state;
  wk_stream *s = empty_stream();
  for (uint16_t operator = 1; operator <= LAYERS + 1; operator++) {
    wk_isa_command c = wk_isa_command_default(&s->machine, WK_CMD_LD);
    c.operator = operator;
    c.v[WK_LD_n0] = c.v[WK_LD_c0] = 10 * operator;
    assert_null(wk_stream_add(s, &c, 0));
  }
  wk_accel_layer layers[LAYERS] = {{0}};
  const wk_accel_part row = {.layers = LAYERS};
  const wk_accel_unit unit = {.machine = s->machine, .layers = layers};
  const wk_sim_part part = {"part", 0, &unit, &row};
  wk_sim_run run = {.result.cycles = 1};
  const wk_sim_shown x = {s, &s->machine, &run, &wk_sim_timing, &part, NULL};
  wk_sim_layers l = wk_sim_layers_of(&x);
  assert_int_equal(l.list[0].read, 40);
  for (int i = 1; i <= LAYERS; i++) assert_int_equal(l.list[i].read, 10 * i);
  free(l.list);
  wk_stream_free(s);
}

/* Of the whole it is the largest of the sums, of a layer the largest of its own. */
static void bounds_are_of_what_is_scarce(void **state) {
  (void)state;
  wk_stream *s = empty_stream();
  wk_isa_command c = wk_isa_command_default(&s->machine, WK_CMD_LD);
  c.operator = 2;
  c.v[WK_LD_n0] = 100;
  c.v[WK_LD_n1] = 3;
  c.v[WK_LD_c0] = 100;
  assert_null(wk_stream_add(s, &c, 0));
  wk_accel_layer layers[LAYERS] = {{.ex = 60, .drain = 10, .macs = 60 * 32},
                                   {.ve = 70},
                                   {.drain = 30}};
  const wk_accel_least least[LAYERS] = {{.ex = 50, .drain = 10},
                                        {.ve = 70, .weights = 100, .in = 200, .out = 100},
                                        {.drain = 30}};
  const wk_accel_part row = {.layers = LAYERS};
  const wk_accel_unit unit = {.machine = s->machine, .layers = layers, .least = least};
  const wk_sim_part part = {"part", 0, &unit, &row};
  wk_sched_span span = {.start = 0, .retire = 200, .queue = WK_QUEUE_ex, .opcode = WK_CMD_CONV,
                        .operator = 1};
  wk_sim_run run = {.result.cycles = 200, .spans = &span, .n = 1};
  const wk_sim_shown x = {s, &s->machine, &run, &wk_sim_timing, &part, NULL};
  wk_sim_layers l = wk_sim_layers_of(&x);
  assert_int_equal(l.list[1].bound, 60);
  assert_int_equal(l.list[2].bound, 75); /* 300 bytes at 4 a cycle */
  assert_true(l.list[1].least == 50 && !strcmp(l.list[1].binds, "array"));
  assert_true(l.list[2].least == 100 && !strcmp(l.list[2].binds, "memory"));
  assert_int_equal(l.list[3].bound, 30);
  assert_int_equal(l.total.bound, 75);
  assert_true(l.total.least == 100 && !strcmp(l.total.binds, "memory"));
  assert_true(!l.list[1].hidden && l.list[2].hidden == 75 && l.list[3].hidden == 30);
  assert_int_equal(l.total.hidden, 0);
  wk_sim_ratios r = wk_sim_ratios_of(&s->machine, &l.list[1], 200);
  assert_true(r.mapping == 0.5 && r.activity == 0.3 && r.efficiency == 0.3 && r.share == 1);
  assert_true(r.utilisation == 0.15 && r.overlap < 0 && r.of_least == 0.25);
  r = wk_sim_ratios_of(&s->machine, &l.list[2], 200); /* all of it in the time of layer 1 */
  assert_true(r.of_least == 1);
  assert_true(r.efficiency == 1 && r.share == 0 && r.utilisation < 0 && r.activity < 0);
  free(l.list);
  wk_stream_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cycles_have_owners),
      cmocka_unit_test(bytes_of_layers_that_are_not_there),
      cmocka_unit_test(bounds_are_of_what_is_scarce),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
