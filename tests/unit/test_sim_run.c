/* SPDX-License-Identifier: Apache-2.0
 * What sim/run.h makes of a stream and a model: the memory that it fills, what it hands over, which
 * commands released which, and what it says of a run's end. The model here does as it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "sim/run.h"

#define NEVER WK_SCHED_NOT_RUN

static wk_machine tiny;

static int setup(void **state) {
  (void)state;
  wk_status s = wk_machine_read("tiny", &tiny);
  tiny.dram_size = 0x10000;
  return s != NULL;
}

/* ---- a model that does as it is told --------------------------------------------------------- */

typedef struct {
  int queue;
  uint32_t ordinal;
  uint64_t start, retire;
} event;

static struct {
  const event *events;
  size_t n;
  wk_sim_result result; /* what it says */
  double burn;          /* seconds of a processor, at least */
  double burnt;
  wk_sim_options options; /* what it was given */
  wk_sim_job job;
  uint8_t memory[0x10000]; /* as it found it */
  int opened, ran, closed;
} told;

static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double burn(double seconds) {
  double start = processor_time(), took = 0;
  while (took < seconds) took = processor_time() - start;
  return took;
}

static void *open_told(const wk_sim_options *o) {
  told.options = *o;
  told.opened++;
  return &told;
}

static void run_told(void *state, const wk_sim_job *job, wk_sim_result *r) {
  assert_ptr_equal(state, &told);
  assert_true(told.opened == told.closed + 1);
  told.job = *job;
  told.ran++;
  if (told.options.dram.size == sizeof told.memory)
    memcpy(told.memory, told.options.memory, sizeof told.memory);
  for (size_t i = 0; i < told.n; i++) {
    const event *e = &told.events[i];
    if (e->start != NEVER)
      told.options.event(told.options.context, e->start, e->queue, e->ordinal, false);
    if (e->retire != NEVER)
      told.options.event(told.options.context, e->retire, e->queue, e->ordinal, true);
  }
  told.burnt = burn(told.burn);
  *r = told.result;
}

static void close_told(void *state) {
  assert_ptr_equal(state, &told);
  told.closed++;
}

static const wk_sim_model obedient = {WK_SIM_ABI, "obedient", NULL, open_told, run_told, close_told,
                                      NULL};

static void must(wk_status s) {
  if (s) fail_msg("%s", s->message);
}

static void expect(wk_status s, wk_code code, const char *place, const char *message) {
  assert_non_null(s);
  assert_string_equal(s->message, message);
  assert_int_equal(s->code, code);
  assert_string_equal(s->place ? s->place : "", place);
  wk_status_free(s);
}

static void run_it(const wk_stream *s, wk_sim_run *r) {
  const wk_sim_run_options o = {.machine = &tiny};
  must(wk_sim_run_stream(s, &obedient, &o, r));
}

/* ---- spans ----------------------------------------------------------------------------------- */

/* Nine commands in order of the stream: queue, the queues that it waits for, each with how many of
 * its commands. Number 3 is none that there is, number 6 is of no queue. */
enum { NONE = 1000 }; /* a wait for no command */
enum { EX = WK_QUEUE_ex, VE = WK_QUEUE_ve, ST = WK_QUEUE_st, LD0 = WK_QUEUE_ld0,
       LD1 = WK_QUEUE_ld1, LD2 = WK_QUEUE_ld2 };

static void add(wk_stream *s, int opcode, int queue, int operator, const uint32_t *waits) {
  wk_isa_command c = {.opcode = (uint32_t)opcode, .queue = (uint32_t)queue,
                      .operator = (uint32_t)operator};
  for (int q = 0; waits && q < WK_QUEUE_COUNT; q++)
    if (waits[q]) wk_isa_wait(&c, q, waits[q] == NONE ? 0 : waits[q]);
  must(wk_stream_add(s, &c, 0));
}

static void spans_are_those_of_the_stream(void **state) {
  (void)state;
  static const struct {
    int opcode, queue;
  } commands[] = {{WK_CMD_LD, LD0},   {WK_CMD_CONV, EX}, {WK_CMD_LD, LD2}, {30, EX},
                  {WK_CMD_CONV, EX},  {WK_CMD_ST, ST},   {WK_CMD_LD, 6},   {WK_CMD_LD, 7},
                  {WK_CMD_LD, LD0},   {WK_CMD_MAP, VE},  {WK_CMD_END, EX}};
  /* the last of each queue is one that the stream does not have */
  static const event events[] = {{LD0, 0, 5, 9},    {LD0, 1, 20, 31},  {LD0, 2, 100, 101},
                                 {EX, 0, 7, 8},     {EX, 1, 12, NEVER}, {EX, 2, 102, 103},
                                 {LD2, 0, 1, 77},   {LD2, 1, 104, 105}, {VE, 0, 3, 4},
                                 {VE, 1, 106, 107}, {ST, 1, 108, 109}, {LD1, 0, 110, 111}};
  static const uint64_t start[] = {5, 7, 1, NEVER, 12, NEVER, NEVER, NEVER, 20, 3, NEVER},
                        retire[] = {9, 8, 77, NEVER, NEVER, NEVER, NEVER, NEVER, 31, 4, NEVER};
  wk_stream *s = wk_stream_new(&tiny, "");
  wk_sim_run r;
  enum { N = WK_COUNTOF(commands) };
  for (int i = 0; i < N; i++) add(s, commands[i].opcode, commands[i].queue, i * 7, NULL);
  told.events = events, told.n = WK_COUNTOF(events);
  run_it(s, &r);
  assert_int_equal(r.n, N);
  for (int i = 0; i < N; i++) {
    if (r.spans[i].start != start[i] || r.spans[i].retire != retire[i])
      fail_msg("command %d: %lld to %lld", i, (long long)r.spans[i].start,
               (long long)r.spans[i].retire);
    assert_int_equal(r.spans[i].queue, commands[i].queue);
    assert_int_equal(r.spans[i].opcode, commands[i].opcode);
    assert_int_equal(r.spans[i].operator, i * 7);
    assert_int_equal(r.spans[i].released_by, WK_SCHED_NOBODY);
  }
  for (int i = 0; i < N; i++)
    assert_int_equal(wk_sched_has_run(&r.spans[i]),
                     start[i] != NEVER && retire[i] != NEVER);
  told.n = 0;
  wk_sim_run_free(&r);
  assert_null(r.spans);
  assert_int_equal(r.n, 0);
  wk_stream_free(s);
}

/* ---- who released whom ----------------------------------------------------------------------- */

/* Commands 0 .. 1 of ld0, 2 .. 3 of ve, 4 of st, then two of ex; the second is looked at. */
typedef struct {
  const char *what;
  uint32_t waits[WK_QUEUE_COUNT];
  uint64_t before, start;                /* when the first and the second of ex start */
  uint64_t ld0[2], ve[2], st;            /* when those retire */
  uint32_t released_by;
} release;

static const release releases[] = {
    {"no wait", {0}, 5, 50, {10, 20}, {30, 40}, 45, WK_SCHED_NOBODY},
    {"the first of a queue", {[LD0] = 1}, 5, 50, {10, 20}, {30, 40}, 45, 0},
    {"the second of a queue", {[LD0] = 2}, 5, 50, {10, 20}, {30, 40}, 45, 1},
    {"of another", {[VE] = 2}, 5, 50, {10, 20}, {30, 40}, 45, 3},
    {"one too far", {[LD0] = 3}, 5, 50, {10, 20}, {30, 40}, 45, WK_SCHED_NOBODY},
    {"of a queue without commands", {[LD1] = 1}, 5, 50, {10, 20}, {30, 40}, 45, WK_SCHED_NOBODY},
    {"the later of two, which is the higher queue", {[LD0] = 2, [VE] = 1}, 5, 50, {10, 35},
     {30, 40}, 45, 1},
    {"the later of two, which is the lower queue", {[LD0] = 2, [VE] = 1}, 5, 50, {10, 20}, {30, 40},
     45, 2},
    {"the latest of three", {[LD0] = 2, [VE] = 1, [ST] = 1}, 5, 50, {10, 20}, {30, 40}, 45, 4},
    {"both at once", {[LD0] = 2, [VE] = 1}, 5, 50, {10, 30}, {30, 40}, 45, 1},
    {"when the queue was free", {[VE] = 1}, 31, 50, {10, 20}, {30, 40}, 45, WK_SCHED_NOBODY},
    {"just when it was", {[VE] = 1}, 30, 50, {10, 20}, {30, 40}, 45, 2},
    {"one before, one behind", {[LD0] = 1, [VE] = 1}, 25, 50, {10, 20}, {30, 40}, 45, 2},
    {"it never ended", {[VE] = 1, [ST] = 1}, 5, 50, {10, 20}, {25, 40}, NEVER, 2},
    {"it never ended, and no other", {[ST] = 1}, 5, 50, {10, 20}, {25, 40}, NEVER, WK_SCHED_NOBODY},
    {"it never started", {[VE] = 1}, 5, NEVER, {10, 20}, {30, 40}, 45, WK_SCHED_NOBODY},
    {"at the start of all", {[VE] = 1}, 0, 50, {10, 20}, {0, 40}, 45, 2},
    {"none of a queue, which is no wait", {[VE] = 1, [LD0] = NONE}, 5, 50, {10, 20}, {30, 40}, 45,
     2},
};

static void commands_are_released_by_the_last_wait(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(releases); i++) {
    const release *c = &releases[i];
    const event events[] = {{LD0, 0, 0, c->ld0[0]}, {LD0, 1, 0, c->ld0[1]}, {VE, 0, 0, c->ve[0]},
                            {VE, 1, 0, c->ve[1]},   {ST, 0, 0, c->st},
                            {EX, 0, c->before, 60}, {EX, 1, c->start, 70}};
    wk_stream *s = wk_stream_new(&tiny, "");
    wk_sim_run r;
    for (int k = 0; k < 2; k++) add(s, WK_CMD_LD, LD0, 0, NULL);
    for (int k = 0; k < 2; k++) add(s, WK_CMD_MAP, VE, 0, NULL);
    add(s, WK_CMD_ST, ST, 0, NULL);
    add(s, WK_CMD_CONV, EX, 0, NULL);
    add(s, WK_CMD_CONV, EX, 0, c->waits);
    add(s, WK_CMD_END, EX, 0, NULL);
    told.events = events, told.n = WK_COUNTOF(events);
    run_it(s, &r);
    for (uint32_t k = 0; k < r.n; k++) {
      uint32_t want = k == 6 ? c->released_by : WK_SCHED_NOBODY;
      if (r.spans[k].released_by != want)
        fail_msg("%s: command %u by %d, not %d", c->what, k, (int)r.spans[k].released_by,
                 (int)want);
    }
    wk_sim_run_free(&r);
    wk_stream_free(s);
  }
  told.n = 0;
}

/* Of the first and the last queue as well, whose first command waits. */
static void commands_of_every_queue_are_released(void **state) {
  (void)state;
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    int other = (q + 1) % WK_QUEUE_COUNT;
    const event events[] = {{other, 0, 0, 0}, {q, 0, 10, 20}};
    uint32_t waits[WK_QUEUE_COUNT] = {0};
    wk_stream *s = wk_stream_new(&tiny, "");
    wk_sim_run r;
    waits[other] = 1;
    add(s, WK_CMD_LD, other, 0, NULL);
    add(s, WK_CMD_LD, q, 0, waits);
    told.events = events, told.n = WK_COUNTOF(events);
    run_it(s, &r);
    assert_int_equal(r.spans[0].released_by, WK_SCHED_NOBODY);
    assert_int_equal(r.spans[1].released_by, 0);
    wk_sim_run_free(&r);
    wk_stream_free(s);
  }
  told.n = 0;
}

/* What lies behind the last command is none. */
static void commands_end_with_the_stream(void **state) {
  (void)state;
  static const uint32_t none[WK_QUEUE_COUNT], third[WK_QUEUE_COUNT] = {[LD0] = 3},
                        second[WK_QUEUE_COUNT] = {[LD0] = 2};
  static const event events[] = {{LD0, 0, 1, 5}, {LD0, 1, 6, 10}, {LD0, 2, 11, 12}};
  wk_stream *s = wk_stream_new(&tiny, "");
  wk_sim_run r;
  add(s, WK_CMD_LD, LD0, 1, none);
  add(s, WK_CMD_LD, LD0, 1, second);
  add(s, WK_CMD_LD, LD0, 1, third);
  s->n--;
  told.events = events, told.n = WK_COUNTOF(events);
  run_it(s, &r);
  assert_int_equal(r.n, 2);
  assert_int_equal(r.spans[0].start, 1);
  assert_int_equal(r.spans[1].retire, 10);
  assert_int_equal(r.spans[0].released_by, WK_SCHED_NOBODY);
  assert_int_equal(r.spans[1].released_by, 1); /* of itself, which no stream may wait for */
  wk_sim_run_free(&r);
  s->bytes.n = 0, s->n = 0;
  add(s, WK_CMD_LD, LD0, 1, third);
  add(s, WK_CMD_LD, LD0, 1, none);
  add(s, WK_CMD_LD, LD0, 1, none);
  s->n--;
  run_it(s, &r);
  assert_int_equal(r.spans[0].released_by, WK_SCHED_NOBODY);
  /* all have run, and every cycle is of one of two layers */
  wk_sched_charge charges[2] = {{.cycles = 100}, {.cycles = 1000}};
  r.result.cycles = 30;
  assert_null(wk_sim_charge(&r, 1, charges));
  assert_int_equal(charges[0].cycles, 100);
  assert_int_equal(charges[1].cycles, 1030);
  assert_int_equal(charges[1].transfers, 8);
  told.n = 0;
  wk_sim_run_free(&r);
  wk_stream_free(s);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static wk_stream *with_regions(uint64_t marks) {
  wk_stream *s = wk_stream_new(&tiny, "regions.s");
  wk_machine large = tiny;
  wk_image *at;
  uint8_t *data;
  large.dram_size = 0x20000; /* for regions of which a smaller one has no room */
  s->machine = large;
  must(wk_stream_region(s, "a", 0, 3, &at));
  must(wk_region_fill(at, &data));
  memcpy(data, "abc", 3);
  must(wk_stream_region(s, "b", 0x100, 0x80, &at));
  must(wk_stream_region(s, "c", 0xfffc, 4, &at));
  must(wk_region_fill(at, &data));
  memcpy(data, "defg", 4);
  wk_isa_command mark = wk_isa_command_default(&tiny, WK_CMD_MARK);
  mark.v[WK_MARK_row] = 1;
  must(wk_stream_add(s, &mark, 4));
  add(s, WK_CMD_END, EX, 0, NULL);
  s->is_marks_given = s->is_address_given = true;
  s->marks = marks;
  s->address = 0x8000;
  must(wk_stream_finish(s));
  return s;
}

static void memory_is_filled_and_handed_over(void **state) {
  (void)state;
  uint8_t want[sizeof told.memory] = {'a', 'b', 'c'};
  wk_stream *s = with_regions(0xf400);
  wk_machine m = tiny;
  wk_sim_run r;
  m.dram_latency = 33;
  memcpy(want + 0xfffc, "defg", 4);
  memcpy(want + 0x8000, s->bytes.data, 2 * WK_COMMAND_BYTES);
  const wk_sim_run_options o = {.machine = &m, .max_cycles = 5, .timeout = 6,
                                .reset = WK_SIM_RESET_ONES, .seed = 7, .stalls = true,
                                .wave = "w.fst", .wave_from = 8, .wave_to = 9};
  told.opened = told.ran = told.closed = 0;
  told.result = (wk_sim_result){.config = 99, .cycles = 1234};
  must(wk_sim_run_stream(s, &obedient, &o, &r));
  assert_true(told.opened == 1 && told.ran == 1 && told.closed == 1);
  assert_memory_equal(told.memory, want, sizeof want);
  assert_int_equal(r.memory_size, sizeof want);
  assert_ptr_equal(r.memory, told.options.memory);
  assert_ptr_equal(r.accesses, told.options.accesses);
  assert_int_equal(r.result.cycles, 1234);
  assert_ptr_equal(told.options.machine, &m);
  assert_int_equal(told.options.dram.latency, 33);
  assert_ptr_equal(told.options.dram_api, &wk_sim_dram_api);
  assert_true(told.options.reset == WK_SIM_RESET_ONES && told.options.seed == 7);
  assert_true(told.options.stalls && !strcmp(told.options.wave, "w.fst"));
  assert_true(told.options.wave_from == 8 && told.options.wave_to == 9);
  assert_true(told.job.base == 0x8000 && told.job.count == 2 && told.job.mark_base == 0xf400);
  assert_true(told.job.timeout == 6 && told.job.max_cycles == 5);
  for (int i = 0; i < WK_TIMING_OPERATORS; i++) assert_int_equal(r.accesses[i].words, 0);
  wk_sim_run_free(&r);
  assert_true(!r.memory && !r.spans && !r.accesses && r.memory_size == 0);
  assert_true(r.result.config == 0 && r.result.cycles == 0);
  wk_stream_free(s);
}

/* What has no room, by name; what is the last of memory has. */
static void what_does_not_fit_is_named(void **state) {
  (void)state;
  static const struct {
    int64_t size;
    uint64_t marks;
    const char *want; /* NULL: it fits */
  } cases[] = {
      {0x10000, 0xf400, NULL},
      {0xffff, 0xf400, "c lies at 0xfffc to 0x10000; memory has 0xffff bytes (dram_size)"},
      {0xfffb, 0xf400, "c lies at 0xfffc to 0x10000; memory has 0xfffb bytes (dram_size)"},
      {0x100, 0xf400, "b lies at 0x100 to 0x180; memory has 0x100 bytes (dram_size)"},
      {2, 0xf400, "a lies at 0x0 to 0x3; memory has 0x2 bytes (dram_size)"},
      {0x10400, 0x10000,
       "the mark area lies at 0x10000 to 0x10800; memory has 0x10400 bytes (dram_size)"},
      {0x10800, 0x10000, NULL},
      {INT64_C(1) << 62, 0xf400, "no room for a memory of 4611686018427387904 bytes"},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_stream *s = with_regions(cases[i].marks);
    wk_machine m = tiny;
    m.dram_size = cases[i].size;
    const wk_sim_run_options o = {.machine = &m};
    wk_sim_run r;
    memset(&r, 1, sizeof r);
    wk_status status = wk_sim_run_stream(s, &obedient, &o, &r);
    if (!cases[i].want) must(status);
    else
      expect(status, strncmp(cases[i].want, "no room", 7) ? WK_INPUT : WK_RESOURCE, "",
             cases[i].want);
    assert_true((r.memory != NULL) == !cases[i].want);
    assert_true((r.spans != NULL) == !cases[i].want);
    wk_sim_run_free(&r);
    wk_stream_free(s);
  }
  wk_stream *s = with_regions(0xf400);
  size_t n = s->regions.n;
  s->regions.n = 1; /* the stream itself is the last then */
  wk_machine m = tiny;
  wk_sim_run r;
  m.dram_size = 0xfc00;
  s->address = 0xfbc0;
  const wk_sim_run_options o = {.machine = &m};
  expect(wk_sim_run_stream(s, &obedient, &o, &r), WK_INPUT, "",
         "the stream lies at 0xfbc0 to 0xfc40; memory has 0xfc00 bytes (dram_size)");
  s->address = 0xfb80;
  must(wk_sim_run_stream(s, &obedient, &o, &r));
  wk_sim_run_free(&r);
  s->marks = 0xfc00, s->n = 0; /* a mark area of no bytes lies nowhere else */
  must(wk_sim_run_stream(s, &obedient, &o, &r));
  wk_sim_run_free(&r);
  m.array = 16;
  wk_status other = wk_sim_run_stream(s, &obedient, &o, &r);
  assert_non_null(other);
  wk_status_free(other);
  s->regions.n = n;
  wk_stream_free(s);
}

static long pages_of_address_space(void) {
  long n = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  assert_non_null(f);
  assert_int_equal(fscanf(f, "%ld", &n), 1);
  fclose(f);
  return n;
}

/* However large it is, and whether the run came about or not. */
static void memory_is_given_back(void **state) {
  (void)state;
  wk_stream *s = with_regions(0xf400);
  wk_machine m = tiny;
  long before = 0;
  for (int i = 0; i < 20; i++) {
    const wk_sim_run_options o = {.machine = &m};
    wk_sim_run r;
    if (i == 4) before = pages_of_address_space();
    m.dram_size = INT64_C(1) << 30;
    s->address = 0x8000;
    must(wk_sim_run_stream(s, &obedient, &o, &r));
    wk_sim_run_free(&r);
    s->address = UINT64_C(1) << 30;
    wk_status_free(wk_sim_run_stream(s, &obedient, &o, &r));
  }
  assert_true(pages_of_address_space() - before < (1 << 30) / 4096);
  wk_stream_free(s);
}

static void seconds_are_the_processors(void **state) {
  (void)state;
  wk_stream *s = with_regions(0xf400);
  wk_sim_run r;
  burn(0.02); /* so that the time before counts */
  told.burn = 0.003;
  double before = processor_time();
  run_it(s, &r);
  double after = processor_time();
  told.burn = 0;
  assert_true(r.seconds >= told.burnt && r.seconds <= after - before);
  wk_sim_run_free(&r);
  wk_stream_free(s);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

typedef struct {
  wk_sim_result r; /* config: of the machine unless it is given */
  wk_code code;
  const char *place, *message; /* NULL: all is well */
} verdict;

static const verdict verdicts[] = {
    {{.status = 2}, 0, "", NULL},
    {{.status = 3}, 0, "", NULL},
    {{.status = 10}, 0, "", NULL},
    {{.status = 0}, WK_INTERNAL, "", "status register 00000000"},
    {{.status = 1}, WK_INTERNAL, "", "status register 00000001"},
    {{.status = 9}, WK_INTERNAL, "", "status register 00000009"},
    {{.status = 2, .violation = "!"}, WK_FAILED, "", "bus protocol: !"},
    {{.status = 4, .gave_up = true, .violation = "late"}, WK_FAILED, "", "bus protocol: late"},
    {{.status = 6, .gave_up = true, .undefined = "x"}, WK_FAILED, "",
     "no end after the limit of cycles (--max-cycles)"},
    {{.status = 4, .error = 0x001, .undefined = "x"}, WK_FAILED, "regions.s:4",
     "command 0 (MARK): unknown opcode, or a queue that cannot run it"},
    {{.status = 6, .error = 0x006}, WK_FAILED, "regions.s:4",
     "command 0 (MARK): memory answered a write with an error"},
    {{.status = 4, .error = 0x103}, WK_FAILED, "regions.s",
     "command 1 (END): a wait on a later command or on a queue that the machine lacks"},
    {{.status = 4, .error = 0x007}, WK_FAILED, "regions.s:4",
     "command 0 (MARK): memory answered the fetch of the command with an error"},
    {{.status = 4, .error = 0x107}, WK_FAILED, "regions.s",
     "command 1 (END): memory answered the fetch of the command with an error"},
    {{.status = 4, .error = 0x207}, WK_FAILED, "regions.s",
     "command 2: the stream ends without END"},
    {{.status = 4, .error = 0x205}, WK_FAILED, "regions.s",
     "command 2: memory answered a read with an error"},
    {{.status = 4, .error = 0x1000008}, WK_FAILED, "regions.s",
     "command 65536: no progress for TIMEOUT cycles; the index is that of the next command to "
     "dispatch; see `stuck` in STATUS"},
    {{.status = 4, .error = 0x0c8}, WK_FAILED, "regions.s:4", "command 0 (MARK): an unknown error"},
    {{.status = 4, .error = 0x009}, WK_FAILED, "regions.s:4", "command 0 (MARK): an unknown error"},
    {{.status = 4, .error = 0x000}, WK_FAILED, "regions.s:4", "command 0 (MARK): no error"},
    {{.status = 2, .undefined = "?"}, WK_INPUT, "regions.s:4",
     "command 0 (MARK): ?: its results are undefined"},
    {{.status = 2, .undefined = "odd", .undefined_at = 1}, WK_INPUT, "regions.s",
     "command 1 (END): odd: its results are undefined"},
};

static void verdicts_say_what_happened(void **state) {
  (void)state;
  wk_stream *s = with_regions(0xf400);
  add(s, WK_CMD_MARK, EX, 0, NULL); /* behind the end: it is none of the stream's */
  s->n--;
  for (size_t i = 0; i < WK_COUNTOF(verdicts); i++) {
    const verdict *v = &verdicts[i];
    wk_sim_run r = {.result = v->r};
    r.result.config = wk_machine_hash(&tiny);
    wk_status status = wk_sim_verdict(s, &tiny, &r);
    if (v->message) expect(status, v->code, v->place, v->message);
    else must(status);
  }
  char want[200];
  wk_sim_run r = {.result = {.config = 0xabc, .status = 4, .violation = "late"}};
  snprintf(want, sizeof want, "the model is of another machine or other commands: its hash is "
           "0000000000000abc, that of machine tiny is %016llx",
           (unsigned long long)wk_machine_hash(&tiny));
  expect(wk_sim_verdict(s, &tiny, &r), WK_INPUT, "", want);
  /* a command that cannot be decoded */
  s->bytes.n -= WK_COMMAND_BYTES;
  s->lines.n--;
  add(s, 30, EX, 0, NULL);
  r.result = (wk_sim_result){.config = wk_machine_hash(&tiny), .status = 4, .error = 0x201};
  expect(wk_sim_verdict(s, &tiny, &r), WK_FAILED, "regions.s",
         "command 2: unknown opcode, or a queue that cannot run it");
  wk_stream_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spans_are_those_of_the_stream),
      cmocka_unit_test(commands_are_released_by_the_last_wait),
      cmocka_unit_test(commands_of_every_queue_are_released),
      cmocka_unit_test(commands_end_with_the_stream),
      cmocka_unit_test(memory_is_filled_and_handed_over),
      cmocka_unit_test(what_does_not_fit_is_named),
      cmocka_unit_test(memory_is_given_back),
      cmocka_unit_test(seconds_are_the_processors),
      cmocka_unit_test(verdicts_say_what_happened),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
