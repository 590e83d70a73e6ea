/* SPDX-License-Identifier: Apache-2.0
 * The models in C behind sim/model.h, called by hand: how runs end, what is said of records, which
 * events there are, and the edges of memory, which here ends where the process may not go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "sim/sim.h"
#include "targets/accel/isa/stream.h"

enum { SIZE = 0x4000 };
static wk_machine tiny;
static uint8_t *memory; /* SIZE bytes; what comes behind is no memory */

static int setup(void **state) {
  (void)state;
  wk_status s = wk_machine_read("tiny", &tiny);
  tiny.dram_size = SIZE;
  memory = mmap(NULL, SIZE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return s || memory == MAP_FAILED || mprotect(memory + SIZE, 4096, PROT_NONE) != 0;
}

static int teardown(void **state) {
  (void)state;
  return munmap(memory, SIZE + 4096);
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct {
  uint64_t cycle;
  int queue;
  uint32_t ordinal;
  bool retired;
} event;

static struct {
  event list[64];
  size_t n;
} events;

static void note(void *context, uint64_t cycle, int queue, uint32_t ordinal, bool retired) {
  assert_ptr_equal(context, &events);
  assert_true(events.n < WK_COUNTOF(events.list));
  events.list[events.n++] = (event){cycle, queue, ordinal, retired};
}

static wk_stream *assemble(const char *text) {
  wk_stream *s;
  char all[2000];
  snprintf(all, sizeof all, ".machine tiny\n%s\n", text);
  wk_status status = wk_asm(all, strlen(all), "test.s", NULL, &(wk_asm_options){.unchecked = true},
                            &s);
  if (status) fail_msg("%s: %s", status->place, status->message);
  return s;
}

/* The stream's bytes and regions are put where it says. */
static void place(const wk_stream *s, uint64_t address) {
  memset(memory, 0, SIZE);
  for (size_t i = 0; i < s->regions.n; i++)
    if (s->regions.data[i].data)
      memcpy(memory + s->regions.data[i].address, s->regions.data[i].data,
             (size_t)s->regions.data[i].size);
  size_t n = s->bytes.n < SIZE - address ? s->bytes.n : (size_t)(SIZE - address);
  memcpy(memory + address, s->bytes.data, n);
}

static void run(const wk_sim_model *model, const wk_sim_job *job, bool tells, wk_sim_result *r) {
  const wk_sim_options o = {.machine = &tiny, .dram = wk_dram_params_of(&tiny), .memory = memory,
                            .event = tells ? note : NULL, .context = tells ? &events : NULL};
  events.n = 0;
  memset(r, 0x55, sizeof *r);
  void *state = model->open(&o);
  model->run(state, job, r);
  model->close(state);
}

static const wk_sim_model *const both[] = {&wk_sim_functional, &wk_sim_timing};

/* ---- how runs end ---------------------------------------------------------------------------- */

#define MAPPED                                                                                \
  ".memory x 0x1000 64\n.random x 1 20 100\n"                                                  \
  "ld.ld0 dram=x n0=64 spm=0 c0=64\nld.ld1 dram=p n0=64 spm=0x400 c0=64\n"
#define MAP(par) "map fn=add a=0 b=8 out=0x800 par=" par " wait ld0:1 ld1:1\n"
#define RECORD(at, more) ".record p " at " ma=64 mb=64 shift=6" more "\n"
#define SOFTMAX "row fn=softmax in=0 in_y=8 ny=1 kc=1 out=0x800 out_y=8 par=0x400 table=0 " \
  "wait ld0:1 ld1:1\n"

typedef struct {
  const char *what, *text;
  uint32_t status, error;
  const char *undefined; /* NULL: nothing is */
  uint32_t undefined_at;
  uint32_t done[WK_QUEUE_COUNT];
} ending;

static const ending endings[] = {
    {"all is well", "fill.ld0 spm=0 c0=64\nfill.ld1 spm=64 c0=64\nfill.ld0 spm=0 c0=8\nend", 2, 0,
     NULL, 0, {[WK_QUEUE_ld0] = 2, [WK_QUEUE_ld1] = 1}},
    {"END alone", "end", 2, 0, NULL, 0, {0}},
    {"what is behind END", "fill.ld0 spm=0 c0=64\nend\nfill.ld0 spm=0 c0=64\nend", 2, 0, NULL, 0,
     {[WK_QUEUE_ld0] = 1}},
    {"no END", "fill.ld0 spm=0 c0=64\nfill.ld0 spm=0 c0=64", 4, 2 << 8 | WK_ERROR_fetch, NULL, 0,
     {[WK_QUEUE_ld0] = 2}},
    {"an unknown command", "fill.ld0 spm=0 c0=64\n.raw 31 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\nend", 4,
     1 << 8 | WK_ERROR_opcode, NULL, 0, {[WK_QUEUE_ld0] = 1}},
    {"a load from nowhere", "fill.ld0 spm=0 c0=64\nfill.ld1 spm=0 c0=64\n"
     "ld.ld0 dram=0x3fc1 n0=64 spm=0 c0=64\nend", 4, 2 << 8 | WK_ERROR_read, NULL, 0,
     {[WK_QUEUE_ld0] = 1, [WK_QUEUE_ld1] = 1}},
    {"a store to nowhere", "fill.ld0 spm=0 c0=64\nst dram=0x3fc1 n0=64 spm=0 c0=64\nend", 4,
     1 << 8 | WK_ERROR_write, NULL, 0, {[WK_QUEUE_ld0] = 1}},
    {"the last bytes", "ld.ld0 dram=0x3fc0 n0=64 spm=0 c0=64\n"
     "st dram=0x3fc0 n0=64 spm=0 c0=64 wait ld0:1\nend", 2, 0, NULL, 0,
     {[WK_QUEUE_ld0] = 1, [WK_QUEUE_st] = 1}},
    {"a good record", ".memory p 0x2000 64\n" RECORD("0", " lo2=-50 hi2=40") MAPPED MAP("0x400")
     "end", 2, 0, NULL, 0, {[WK_QUEUE_ve] = 1, [WK_QUEUE_ld0] = 1, [WK_QUEUE_ld1] = 1}},
    {"a bad record", ".memory p 0x2000 64\n" RECORD("0", " lo2=50 hi2=40") MAPPED MAP("0x400")
     MAP("0x400") "end", 2, 0, "the record at 0x400: lo2 is 50, above hi2, which is 40", 2,
     {[WK_QUEUE_ve] = 2, [WK_QUEUE_ld0] = 1, [WK_QUEUE_ld1] = 1}},
    {"two of them, of which the first is named", ".memory p 0x2000 64\n" RECORD("0", "")
     RECORD("32", " lo2=60 hi2=41") MAPPED MAP("0x400") MAP("0x420")
     "fill.ld1 value=90 spm=0x418 c0=1\n" MAP("0x400") "end", 2, 0,
     "the record at 0x420: lo2 is 60, above hi2, which is 41", 3,
     {[WK_QUEUE_ve] = 3, [WK_QUEUE_ld0] = 1, [WK_QUEUE_ld1] = 2}},
    {"what the machine does not look at", "ld.ld0 dram=0x1000 n0=64 spm=0 c0=32 c1=2 p1=16\nend", 2,
     0, NULL, 0, {[WK_QUEUE_ld0] = 1}},
    {"a record that the machine refuses", ".memory p 0x2000 64\n" RECORD("0", "") MAPPED
     SOFTMAX "end", 4, 2 << 8 | WK_ERROR_field, NULL, 0,
     {[WK_QUEUE_ld0] = 1, [WK_QUEUE_ld1] = 1}},
};

static void runs_end(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(endings); i++) {
    const ending *e = &endings[i];
    wk_stream *s = assemble(e->text);
    for (int k = 0; k < 4; k++) {
      wk_sim_result r;
      place(s, 0x3000);
      run(both[k / 2], &(wk_sim_job){.base = 0x3000, .count = s->n, .mark_base = 0x2400}, k % 2,
          &r);
      if (r.status != e->status || r.error != e->error)
        fail_msg("%s: status %u, error %x", e->what, r.status, r.error);
      assert_int_equal(r.config, wk_machine_hash(&tiny));
      assert_string_equal(r.undefined, e->undefined ? e->undefined : "");
      assert_int_equal(r.undefined_at, e->undefined_at);
      assert_memory_equal(r.done, e->done, sizeof r.done);
      assert_string_equal(r.violation, "");
      assert_false(r.gave_up);
      bool has_time = k / 2 && e->status == 2;
      assert_int_equal(r.cycles > 0, has_time);
      assert_int_equal(r.counters[WK_COUNTER_cycles], r.cycles);
      for (int q = 0; q < WK_QUEUE_COUNT && k % 2 && has_time; q++) {
        size_t n = 0; /* each starts and retires once */
        for (size_t j = 0; j < events.n; j++) n += events.list[j].queue == q;
        assert_int_equal(n, 2 * e->done[q]);
      }
      if (k / 2 && !has_time) assert_int_equal(events.n, 0);
    }
    wk_stream_free(s);
  }
}

/* Of the functional model the time is the order: a command has ended before the next begins. */
static void order_is_the_time(void **state) {
  (void)state;
  static const event want[] = {{0, WK_QUEUE_ld0, 0, false}, {0, WK_QUEUE_ld0, 0, true},
                               {1, WK_QUEUE_ld1, 0, false}, {1, WK_QUEUE_ld1, 0, true},
                               {2, WK_QUEUE_ld0, 1, false}, {2, WK_QUEUE_ld0, 1, true}};
  wk_sim_result r;
  wk_stream *s = assemble(endings[0].text);
  place(s, 0x3000);
  run(&wk_sim_functional, &(wk_sim_job){.base = 0x3000, .count = s->n}, true, &r);
  assert_int_equal(events.n, WK_COUNTOF(want));
  for (size_t i = 0; i < events.n; i++) {
    assert_int_equal(events.list[i].cycle, want[i].cycle);
    assert_int_equal(events.list[i].queue, want[i].queue);
    assert_int_equal(events.list[i].ordinal, want[i].ordinal);
    assert_int_equal(events.list[i].retired, want[i].retired);
  }
  wk_stream_free(s);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Three commands at the end of memory, of which the last ones may be missing. */
static void streams_may_reach_to_the_end(void **state) {
  (void)state;
  wk_stream *s = assemble("fill.ld0 spm=0 c0=64\nfill.ld1 spm=0 c0=64\nend");
  for (int k = 0; k < 2; k++) {
    wk_sim_result r;
    uint64_t cycles = 0;
    for (int room = 3 * 64; room >= 32; room -= 32)
      for (uint32_t count = 0; count <= 5; count++) {
        uint32_t at = SIZE - (uint32_t)room, whole = (uint32_t)room / 64;
        uint32_t fetched = count < whole ? count : whole;
        place(s, at);
        run(both[k], &(wk_sim_job){.base = at, .count = count}, false, &r);
        assert_int_equal(r.status, fetched == 3 ? 2 : 4);
        assert_int_equal(r.error, fetched == 3 ? 0 : fetched << 8 | WK_ERROR_fetch);
        if (!k || fetched < 3) assert_int_equal(r.cycles, 0);
        else if (count == 3) cycles = r.cycles;
        else assert_int_equal(r.cycles, cycles);
      }
    assert_int_equal(cycles > 0, k);
  }
  wk_stream_free(s);
}

/* Every cycle is one of each queue's; the machine lacks the last. */
static void check_row(const uint64_t *row) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    uint64_t sum = 0;
    for (int i = 0; i < WK_QUEUE_COUNTERS; i++) sum += row[wk_isa_counter(q, 0, 0) + i];
    assert_int_equal(sum, q < WK_QUEUE_ld2 ? row[WK_COUNTER_cycles] : 0);
  }
}

/* Rows 0 and 2 of mark areas here and there: those that memory has room for are written. */
static void marks_may_reach_to_the_end(void **state) {
  (void)state;
  static const struct {
    uint32_t base;
    bool first, second;
  } cases[] = {{0x2000, true, true},   {0x3400, true, true}, {0x3800, true, false},
               {0x3c00, true, false},  {0x3c08, false, false}, {0x4000, false, false},
               {0x3000, true, true}};
  wk_stream *s = assemble("fill.ld0 spm=0 c0=64\nmark row=0 wait ld0:1\n"
                          "fill.ld0 spm=0 c0=64 wait ex:1\nmark row=2 wait ld0:2\nend");
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_sim_result r;
    uint64_t row[2][WK_COUNTER_COUNT] = {{0}};
    place(s, 0x1000);
    run(&wk_sim_timing, &(wk_sim_job){.base = 0x1000, .count = s->n, .mark_base = cases[i].base},
        false, &r);
    assert_int_equal(r.status, 2);
    if (cases[i].first) memcpy(row[0], memory + cases[i].base, sizeof row[0]);
    if (cases[i].second) memcpy(row[1], memory + cases[i].base + 2048, sizeof row[1]);
    check_row(row[0]);
    check_row(row[1]);
    if (cases[i].first) assert_true(row[0][WK_COUNTER_cycles] > 0);
    if (cases[i].second) assert_true(row[1][WK_COUNTER_cycles] > row[0][WK_COUNTER_cycles]);
    for (uint32_t at = 0; at < SIZE; at++) { /* and nothing else is */
      bool is_first = cases[i].first && at >= cases[i].base && at < cases[i].base + sizeof row[0];
      bool is_second = cases[i].second && at >= cases[i].base + 2048 &&
                       at < cases[i].base + 2048 + sizeof row[1];
      if ((at < 0x1000 || at >= 0x1000 + s->bytes.n) && !is_first && !is_second && memory[at])
        fail_msg("marks at 0x%x: byte 0x%x", cases[i].base, at);
    }
  }
  wk_stream_free(s);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void runs_may_be_given_up(void **state) {
  (void)state;
  wk_sim_result all, r;
  wk_stream *s = assemble(endings[0].text);
  place(s, 0x3000);
  run(&wk_sim_timing, &(wk_sim_job){.base = 0x3000, .count = s->n}, false, &all);
  run(&wk_sim_timing, &(wk_sim_job){.base = 0x3000, .count = s->n, .max_cycles = 1}, false, &r);
  assert_true(r.gave_up && !all.gave_up);
  assert_true(r.cycles < all.cycles);
  assert_int_equal(r.done[WK_QUEUE_ld0], 0);
  run(&wk_sim_timing, &(wk_sim_job){.base = 0x3000, .count = s->n, .max_cycles = all.cycles + 9},
      false, &r);
  assert_memory_equal(&r, &all, sizeof r);
  wk_stream_free(s);
}

/* On-chip memories keep what they hold from one run to the next. */
static void models_run_again(void **state) {
  (void)state;
  wk_stream *s[] = {assemble("fill.ld0 value=77 spm=0 c0=64\nend"),
                    assemble("st dram=0x1000 n0=64 spm=0 c0=64\nend")};
  for (int k = 0; k < 2; k++) {
    const wk_sim_options o = {.machine = &tiny, .dram = wk_dram_params_of(&tiny),
                              .memory = memory};
    wk_sim_result r;
    void *model = both[k]->open(&o);
    for (int i = 0; i < 2; i++) {
      place(s[i], 0x3000);
      both[k]->run(model, &(wk_sim_job){.base = 0x3000, .count = s[i]->n}, &r);
      assert_int_equal(r.status, 2);
    }
    for (int i = 0; i < 65; i++) assert_int_equal(memory[0x1000 + i], i < 64 ? 77 : 0);
    both[k]->close(model);
  }
  for (int i = 0; i < 2; i++) wk_stream_free(s[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_end),
      cmocka_unit_test(order_is_the_time),
      cmocka_unit_test(streams_may_reach_to_the_end),
      cmocka_unit_test(marks_may_reach_to_the_end),
      cmocka_unit_test(runs_may_be_given_up),
      cmocka_unit_test(models_run_again),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
