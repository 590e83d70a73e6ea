/* SPDX-License-Identifier: Apache-2.0
 * What `wick sim` draws and sums up, by rules: blocks of the scratchpad against one block at a
 * time, tracks of commands that overlap, what bounds a layer, and energies with their units. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/study/report.h"
#include "cli/study/sim_json.h"

static wk_stream *tiny_stream(void) {
  wk_machine m;
  assert_null(wk_machine_read("tiny", &m));
  return wk_stream_new(&m, "run");
}

static void add_transfer(wk_stream *s, int opcode, int64_t from, int64_t bytes, uint16_t operator) {
  wk_isa_command c = wk_isa_command_default(&s->machine, opcode);
  c.operator = operator;
  c.v[opcode == WK_CMD_LD ? WK_LD_n0 : WK_ST_n0] = bytes;
  c.v[opcode == WK_CMD_LD ? WK_LD_c0 : WK_ST_c0] = bytes;
  c.v[opcode == WK_CMD_LD ? WK_LD_spm : WK_ST_spm] = from;
  assert_null(wk_stream_add(s, &c, 0));
}

/* ---- the scratchpad -------------------------------------------------------------------------- */

enum { BLOCKS = 256, BLOCK = 65536 / BLOCKS, SPANS = 40 };

typedef struct { int64_t block, from, to, operator; } piece;
typedef struct { piece list[BLOCKS * SPANS]; size_t n; } pieces;

typedef struct {
  int opcode;
  int64_t from, bytes;
} moved;

static int by_all(const void *a, const void *b) {
  const piece *x = a, *y = b;
  if (x->block != y->block) return x->block < y->block ? -1 : 1;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  return (x->operator > y->operator) - (x->operator < y->operator);
}

/* The command that starts next behind `last`, of those with the same start the first. */
static int next_of(const wk_sim_run *r, int last) {
  int best = -1;
  for (int i = 0; i < (int)r->n; i++) {
    const wk_sched_span *x = &r->spans[i];
    if (!wk_sched_has_run(x)) continue;
    if (last >= 0 && (x->start < r->spans[last].start ||
                      (x->start == r->spans[last].start && i <= last)))
      continue;
    if (best < 0 || x->start < r->spans[best].start) best = i;
  }
  return best;
}

/* Written, until it is last read; writes of one layer that nobody has read between are one. */
static void pieces_of_block(const wk_sim_run *r, const moved *m, int64_t block, pieces *out) {
  piece now = {-1, 0, 0, 0};
  bool was_read = false;
  for (int i = next_of(r, -1); i >= 0; i = next_of(r, i)) {
    const wk_sched_span *x = &r->spans[i];
    if (m[i].from >= (block + 1) * BLOCK || m[i].from + m[i].bytes <= block * BLOCK) continue;
    bool is_write = m[i].opcode == WK_CMD_LD;
    if (!is_write && now.block < 0) continue;
    if (is_write && (now.block < 0 || was_read || now.operator != x->operator)) {
      if (now.block >= 0) out->list[out->n++] = now;
      now = (piece){block, (int64_t)x->start, (int64_t)x->retire, x->operator};
      was_read = false;
      continue;
    }
    was_read = was_read || !is_write;
    if ((int64_t)x->retire > now.to) now.to = (int64_t)x->retire;
  }
  if (now.block >= 0) out->list[out->n++] = now;
}

/* Rectangles as they are written, block by block; they are in the order of time. */
static void pieces_of_text(const char *text, pieces *out) {
  int64_t before = 0, block_before = -1;
  for (char *end; *text; text = end) {
    int64_t v[5];
    for (int i = 0; i < 5; i++) {
      v[i] = strtoll(text, &end, 10);
      assert_true(end > text && *end == ' ');
      text = end++;
    }
    assert_true(v[2] > 0 || (v[2] == 0 && v[0] >= block_before));
    before += v[2];
    block_before = v[0];
    for (int64_t b = 0; b < v[1]; b++)
      out->list[out->n++] = (piece){v[0] + b, before, before + v[3], v[4]};
  }
}

static void blocks_in_time(void **state) {
  (void)state;
  static pieces got, want;
  wk_rng rng = {7};
  for (int round = 0; round < 60; round++) {
    wk_stream *s = tiny_stream();
    wk_sched_span spans[SPANS];
    moved m[SPANS];
    wk_sim_run run = {.spans = spans, .n = SPANS};
    for (int i = 0; i < SPANS; i++) {
      m[i].opcode = wk_rng_range(&rng, 0, 2) ? WK_CMD_LD : WK_CMD_ST;
      m[i].from = wk_rng_range(&rng, 0, 9) ? wk_rng_range(&rng, 0, 12 * BLOCK)
                                           : 65536 - wk_rng_range(&rng, 1, 2 * BLOCK);
      m[i].bytes = wk_rng_range(&rng, 0, 3) ? wk_rng_range(&rng, 1, 3 * BLOCK) : BLOCK;
      if (!wk_rng_range(&rng, 0, 2)) m[i].from -= m[i].from % BLOCK;
      if (m[i].from + m[i].bytes > 65536) m[i].bytes = 65536 - m[i].from;
      uint64_t start = (uint64_t)wk_rng_range(&rng, 0, 60);
      spans[i] = (wk_sched_span){.start = start,
                                 .retire = start + (uint64_t)wk_rng_range(&rng, 0, 40),
                                 .opcode = (uint8_t)m[i].opcode,
                                 .operator = (uint16_t)wk_rng_range(&rng, 0, 2)};
      if (i % 13 == 5) spans[i].retire = WK_SCHED_NOT_RUN;
      if (i % 26 == 5) spans[i].start = WK_SCHED_NOT_RUN;
      add_transfer(s, m[i].opcode, m[i].from, m[i].bytes, spans[i].operator);
    }
    const wk_sim_shown x = {s, &s->machine, &run, &wk_sim_timing, NULL, NULL};
    json_t *o = wk_report_space(&x);
    assert_int_equal(json_integer_value(json_object_get(o, "block")), BLOCK);
    got.n = want.n = 0;
    pieces_of_text(json_string_value(json_object_get(o, "rectangles")), &got);
    for (int64_t b = 0; b < BLOCKS; b++) pieces_of_block(&run, m, b, &want);
    qsort(got.list, got.n, sizeof *got.list, by_all);
    qsort(want.list, want.n, sizeof *want.list, by_all);
    assert_int_equal(got.n, want.n);
    for (size_t i = 0; i < got.n; i++)
      if (by_all(&got.list[i], &want.list[i]))
        fail_msg("round %d: block %d", round, (int)want.list[i].block);
    json_decref(o);
    wk_stream_free(s);
  }
}

/* ---- tracks ---------------------------------------------------------------------------------- */

/* Commands of a queue that overlap have tracks of their own, of which there are 32. */
static void tracks_have_an_end(void **state) {
  (void)state;
  enum { LOADS = 36, LANES = 32 };
  wk_stream *s = tiny_stream();
  wk_sched_span spans[LOADS + 2];
  wk_sim_run run = {.spans = spans, .n = LOADS + 2};
  for (int i = 0; i < LOADS + 2; i++) {
    add_transfer(s, WK_CMD_LD, 0, 64, 0);
    spans[i] = (wk_sched_span){.start = (uint64_t)i, .retire = 100 + (uint64_t)i,
                               .queue = WK_QUEUE_ld0, .opcode = WK_CMD_LD,
                               .released_by = WK_SCHED_NOBODY};
  }
  spans[LOADS].start = 101; /* the first two tracks are free, not yet the third */
  spans[LOADS + 1].start = 101;
  const wk_sim_shown x = {s, &s->machine, &run, &wk_sim_timing, NULL, NULL};
  const wk_sim_trace t = {{json_array(), 1}, 0};
  wk_sim_trace_add(&t, &x);
  int64_t first = WK_QUEUE_ld0 * LANES + 1, named = 0, at = 0;
  for (size_t i = 0; i < json_array_size(t.to.events); i++) {
    const json_t *e = json_array_get(t.to.events, i);
    int64_t track = json_integer_value(json_object_get(e, "tid")) - first;
    const char *phase = json_string_value(json_object_get(e, "ph"));
    named += track >= 0 && track < LANES && *phase == 'M';
    if (*phase != 'X') continue;
    int64_t want = at < LOADS ? at : at - LOADS;
    assert_int_equal(track, want < LANES ? want : LANES - 1);
    at++;
  }
  assert_int_equal(at, LOADS + 2);
  assert_int_equal(named, 2 * LANES);
  json_decref(t.to.events);
  wk_stream_free(s);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Bytes take 2 / 5 of a cycle each. */
static const struct {
  uint64_t ex, drain, ve, read, in, bound, least; /* whose engines need what the commands do */
  const char *limit;
  bool is_memory_bound;
} bounds[] = {{40, 0, 0, 0, 0, 40, 40, "array", false},
              {40, 30, 20, 100, 101, 40, 41, "array", true}, /* as long as memory */
              {40, 40, 40, 0, 0, 40, 40, "array", false},
              {30, 40, 40, 0, 100, 40, 40, "vector", false},
              {0, 0, 1, 0, 3, 1, 2, "vector", true},
              {30, 41, 40, 0, 0, 41, 41, "drain", false},
              {0, 1, 0, 2, 2, 1, 1, "drain", false},
              {40, 30, 20, 101, 99, 41, 40, "memory", false},
              {0, 0, 0, 1, 0, 1, 0, "memory", false},
              {0, 0, 0, 7, 8, 3, 4, "memory", true},
              {0, 0, 0, 0, 1, 0, 1, "", true},
              {0, 0, 0, 0, 0, 0, 0, "", false}};

static void what_bounds_a_layer(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(bounds); i++) {
    wk_stream *s = tiny_stream();
    s->machine.dram_bytes = (wk_fraction){5, 2};
    if (bounds[i].read) add_transfer(s, WK_CMD_LD, 0, (int64_t)bounds[i].read, 1);
    const wk_accel_layer layer = {.ex = bounds[i].ex, .drain = bounds[i].drain,
                                  .ve = bounds[i].ve};
    const wk_accel_least least = {.ex = bounds[i].ex, .drain = bounds[i].drain,
                                  .ve = bounds[i].ve, .in = bounds[i].in};
    const wk_accel_part row = {.layers = 1};
    const wk_accel_unit unit = {.machine = s->machine, .layers = &layer, .least = &least};
    const wk_sim_part part = {"part", 0, &unit, &row};
    wk_sim_run run = {.result.cycles = 1};
    const wk_sim_shown x = {s, &s->machine, &run, &wk_sim_timing, &part, NULL};
    wk_sim_layers l = wk_sim_layers_of(&x);
    if (l.list[1].bound != bounds[i].bound || strcmp(l.list[1].limit, bounds[i].limit) != 0 ||
        l.list[1].least != bounds[i].least ||
        !strcmp(l.list[1].binds, "memory") != bounds[i].is_memory_bound)
      fail_msg("%zu: %llu by %s, %llu", i, (unsigned long long)l.list[1].bound, l.list[1].limit,
               (unsigned long long)l.list[1].least);
    free(l.list);
    wk_stream_free(s);
  }
}

static char *layers_text(const wk_sim_shown *x, wk_sim_layer *list, wk_sim_layer total) {
  static char *out;
  static size_t n;
  FILE *f = open_memstream(&out, &n);
  const wk_sim_layers l = {.list = list, .n = 2, .total = total};
  wk_sim_print_layers(f, x, &l);
  fclose(f);
  return out;
}

/* What belongs to none has a row when it has anything; layers that wait for memory are counted when
 * some of that is exposed. */
static void rows_of_layers(void **state) {
  (void)state;
  static const char names[] = "\0a\0b\0op";
  static const wk_accel_layer layers[] = {{.name = 1, .op = 5}, {.name = 3, .op = 5}};
  static const struct {
    wk_sim_layer other, a, b;
    bool has_other;
    const char *bound; /* behind "Memory-bound: ", NULL: it does not stand there */
  } cases[] = {
      {.has_other = false},
      {.other = {.cycles = 1}, .has_other = true},
      {.other = {.read = 1}, .has_other = true},
      {.other = {.written = 1}, .has_other = true},
      {.a = {.cycles = 7, .least = 5, .binds = "memory"}},
      {.a = {.cycles = 7, .least = 4, .binds = "array", .exposed = 2}},
      {.a = {.cycles = 7, .least = 5, .binds = "memory", .exposed = 2, .need = {.in = 18}},
       .bound = "1 layer, 7 cycles, 35.0 %, 2 of them exposed. Weights and the part's\n"
                "inputs and outputs take 5 cycles to move, longer than the work on them; prefetch "
                "hides\nthat only behind other layers.\n"},
      {.b = {.cycles = 9, .least = 6, .binds = "memory", .exposed = 1, .need = {.out = 4}},
       .other = {.cycles = 5, .least = 6, .binds = "memory", .exposed = 1}, .has_other = true,
       .bound = "1 layer, 9 cycles, 45.0 %, 1 of them exposed. Weights and the part's\n"
                "inputs and outputs take 1 cycles"},
      {.a = {.cycles = 4, .least = 6, .binds = "memory", .exposed = 1, .need = {.in = 4}},
       .b = {.cycles = 6, .least = 6, .binds = "memory", .need = {.in = 4}},
       .bound = "2 layers, 10 cycles, 50.0 %, 1 of them exposed. Weights and the part's\n"
                "inputs and outputs take 2 cycles"},
      {.a = {.cycles = 9, .least = 10, .binds = "memory", .exposed = 1,
             .need = {.weights = 36, .in = 4, .ve = 3}},
       .bound = "1 layer, 9 cycles, 45.0 %, 1 of them exposed. Weights and the part's\n"
                "inputs and outputs take 10 cycles to move, longer than the work on them; prefetch "
                "hides\nthat only behind other layers. Several images in one run (--bind, "
                "--shape) share\nthe weights: each but the first may take up to 7 cycles less.\n"},
      {.a = {.cycles = 9, .least = 10, .binds = "memory", .exposed = 1,
             .need = {.weights = 20, .in = 20}},
       .bound = "1 layer, 9 cycles, 45.0 %, 1 of them exposed. Weights and the part's\n"
                "inputs and outputs take 10 cycles to move, longer than the work on them; prefetch "
                "hides\nthat only behind other layers.\n"},
  };
  wk_stream *s = tiny_stream();
  const wk_accel_part row = {.layers = 2};
  const wk_accel_unit unit = {.machine = s->machine, .layers = layers, .texts = names};
  const wk_sim_part part = {"part", 0, &unit, &row};
  wk_sim_run run = {.result.cycles = 20};
  const wk_sim_shown x = {s, &s->machine, &run, &wk_sim_timing, &part, NULL};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_sim_layer list[] = {cases[i].other, cases[i].a, cases[i].b}, total = {.cycles = 20};
    for (int k = 0; k < 3; k++) {
      list[k].limit = "";
      if (!list[k].binds) list[k].binds = "";
    }
    total.limit = total.binds = "";
    char *text = layers_text(&x, list, total), *bound = strstr(text, "Memory-bound: ");
    assert_int_equal(strstr(text, "\nother") != NULL, cases[i].has_other);
    assert_non_null(strstr(text, "\na      op"));
    assert_non_null(strstr(text, "\nb      op"));
    assert_int_equal(bound != NULL, cases[i].bound != NULL);
    if (bound && strncmp(bound + 14, cases[i].bound, strlen(cases[i].bound)) != 0)
      fail_msg("%zu: %s", i, bound);
    free(text);
  }
  wk_stream_free(s);
}

/* ---- energy ---------------------------------------------------------------------------------- */

static void energies_have_units(void **state) {
  (void)state;
  static const struct {
    uint64_t macs, bytes, cycles;
    const char *text;
  } cases[] = {{0, 0, 5, "about 0 pJ\n"},
               {999, 0, 5, "about 999 pJ: multiplications 100.0 %\n"},
               {1000, 0, 5, "about 1 nJ: multiplications 100.0 %\n"},
               {1, 3, 5, "about 4 pJ: multiplications 25.0 %, memory 75.0 %\n"},
               {0, 1500000, 5, "about 1.5 uJ: memory 100.0 %\n"},
               {3000000000, 0, 5, "about 3 mJ: multiplications 100.0 %\n"},
               {999000000000, 0, 5, "about 999 mJ: multiplications 100.0 %\n"},
               {2000000000000, 0, 5, "about 2 J: multiplications 100.0 %\n"},
               {7000000000000000, 0, 5, "about 7e+03 J: multiplications 100.0 %\n"}};
  wk_stream *s = tiny_stream();
  s->machine.energy_mac = s->machine.energy_dram = (wk_fraction){1, 1};
  s->machine.energy_scratchpad = s->machine.energy_accumulators = s->machine.energy_idle =
      (wk_fraction){0, 1};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    char *out = NULL;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    wk_sim_run run = {.result.cycles = cases[i].cycles};
    run.result.counters[WK_COUNTER_cycles] = cases[i].cycles;
    run.result.counters[WK_COUNTER_macs] = cases[i].macs;
    run.result.counters[WK_COUNTER_bytes_fetch] = cases[i].bytes;
    const wk_sim_shown x = {s, &s->machine, &run, &wk_sim_timing, NULL, NULL};
    wk_sim_print(f, &x);
    fclose(f);
    const char *row = strstr(out, "\nenergy"), *about = row ? strstr(row, "about") : NULL;
    assert_non_null(about);
    if (strncmp(about, cases[i].text, strlen(cases[i].text)) != 0) fail_msg("%zu: %s", i, about);
    free(out);
  }
  wk_stream_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_in_time),   cmocka_unit_test(tracks_have_an_end),
      cmocka_unit_test(what_bounds_a_layer), cmocka_unit_test(rows_of_layers),
      cmocka_unit_test(energies_have_units),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
