/* SPDX-License-Identifier: Apache-2.0
 * Streams as they would be if a machine had more, of examples and of drawn streams: which commands
 * are left, that each waits for what it needs and for nothing that is gone, and what that comes to.
 * The figures are what comes out; one that differs is a decision that was changed.
 *   test_what_if print     the tables as they would stand here */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/study/what_if.h"
#include "tests/random_stream.h"

enum { STREAMS = 200, TIMED = 60 };
static bool prints; /* tables, instead of comparing them */

typedef struct {
  wk_isa_command *c;
  uint32_t n;
  wk_flow flow;
} subject;

static subject open_subject(const wk_stream *s) {
  subject x = {.c = wk_xcalloc(s->n, sizeof *x.c), .n = s->n - 1};
  for (uint32_t i = 0; i < s->n; i++) assert_true(wk_stream_get(s, i, &x.c[i]));
  wk_flow_of(&s->machine, x.c, x.n, &x.flow);
  return x;
}

static void close_subject(subject *x) {
  wk_flow_free(&x->flow);
  free(x->c);
}

/* ---- which commands are left --------------------------------------------------------------- */

static bool same_source(const wk_isa_command *a, const wk_isa_command *b) {
  static const int fields[] = {WK_LD_dram, WK_LD_n0, WK_LD_n1, WK_LD_n2, WK_LD_n3,
                               WK_LD_s1,   WK_LD_s2, WK_LD_s3};
  for (size_t f = 0; f < WK_COUNTOF(fields); f++)
    if (a->v[fields[f]] != b->v[fields[f]]) return false;
  return true;
}

static bool is_output(const wk_stream *s, uint64_t at) {
  for (size_t i = 0; i < s->regions.n; i++)
    if (at - s->regions.data[i].address < s->regions.data[i].size)
      return s->regions.data[i].is_output;
  return false;
}

/* With room: loads of what this stream has stored, the stores that fed only them, and loads of
 * what an earlier load, which is needed, has brought. */
static bool *gone_with_room(const wk_stream *s, const subject *x) {
  bool *gone = wk_xcalloc(x->n, 1);
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = x->flow.first[i]; k < x->flow.first[i + 1]; k++) {
      const wk_flow_edge *e = &x->flow.edges.data[k];
      if (x->c[i].opcode != WK_CMD_LD || e->space != WK_SPACE_MEMORY || !e->is_data) continue;
      gone[i] = true;
      if (!is_output(s, (uint64_t)x->c[e->from].v[WK_ST_dram])) gone[e->from] = true;
    }
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = 0; k < i && x->c[i].opcode == WK_CMD_LD && !gone[i]; k++)
      gone[i] = x->c[k].opcode == WK_CMD_LD && !gone[k] && same_source(&x->c[i], &x->c[k]);
  return gone;
}

static void check_needs(const wk_if_commands *live, uint64_t seed) {
  bool *named = wk_xcalloc(live->n, 1);
  for (uint32_t i = 0; i < live->n; i++) {
    for (uint32_t k = live->first[i]; k < live->first[i + 1]; k++) {
      uint32_t of = live->needs[k];
      if (of >= i || live->is_gone[of] || named[of])
        fail_msg("seed %" PRIu64 ": command %u needs %u", seed, i, of);
      named[of] = true;
    }
    for (uint32_t k = live->first[i]; k < live->first[i + 1]; k++) named[live->needs[k]] = false;
  }
  free(named);
}

/* Of command i, one row of x->n: who must have retired. `rows` has those of all before it. */
static void oracle_needs(const subject *x, const bool *gone, int assumed, uint32_t i, bool *rows) {
  bool has_room = assumed & WK_IF_ROOM, *row = rows + (size_t)i * x->n;
  for (uint32_t k = 0; k < i && has_room && x->c[i].opcode == WK_CMD_LD; k++)
    if (x->c[k].opcode == WK_CMD_LD && !gone[k] && same_source(&x->c[i], &x->c[k]) && gone[i]) {
      bool reads_back = false; /* then there is nothing to compare it with */
      for (uint32_t e = x->flow.first[i]; e < x->flow.first[i + 1]; e++)
        reads_back = reads_back || (x->flow.edges.data[e].space == WK_SPACE_MEMORY &&
                                    x->flow.edges.data[e].is_data);
      if (reads_back) continue;
      row[k] = true;
      return;
    }
  for (uint32_t k = x->flow.first[i]; k < x->flow.first[i + 1]; k++) {
    const wk_flow_edge *e = &x->flow.edges.data[k];
    bool in_memory = e->space == WK_SPACE_MEMORY;
    if (has_room && !e->is_data && (in_memory || e->space == WK_SPACE_SCRATCHPAD)) continue;
    if (!gone[e->from] && !(has_room && in_memory)) row[e->from] = true;
    else
      for (uint32_t p = 0; p < x->n; p++) row[p] = row[p] || rows[(size_t)e->from * x->n + p];
  }
}

static void check_live(const wk_stream *s, const subject *x, const wk_if_commands *live,
                       int assumed, uint64_t seed) {
  bool *gone = assumed & WK_IF_ROOM ? gone_with_room(s, x) : wk_xcalloc(x->n, 1);
  bool *rows = wk_xcalloc((size_t)x->n * x->n, 1);
  check_needs(live, seed);
  for (uint32_t i = 0; i < x->n; i++) {
    uint32_t n = 0;
    if (live->is_gone[i] != gone[i])
      fail_msg("seed %" PRIu64 ": command %u is %s", seed, i, gone[i] ? "there" : "gone");
    oracle_needs(x, gone, assumed, i, rows);
    for (uint32_t k = 0; k < x->n; k++) n += rows[(size_t)i * x->n + k];
    for (uint32_t k = live->first[i]; k < live->first[i + 1]; k++)
      if (!rows[(size_t)i * x->n + live->needs[k]])
        fail_msg("seed %" PRIu64 ": command %u does not need %u", seed, i, live->needs[k]);
    if (live->first[i + 1] - live->first[i] != n)
      fail_msg("seed %" PRIu64 ": command %u needs %u others", seed, i, n);
  }
  free(rows);
  free(gone);
}

/* ---- streams ------------------------------------------------------------------------------- */

enum { SLOTS = 8, PLACES = 4, STEPS = 30 };

/* Transfers and moves between few places, one after the other, so that loads repeat each other and
 * read back what was stored, which drawn streams of all kinds of commands hardly do. */
static wk_stream *transfers(uint64_t seed) {
  static const char *const regions = "aty"; /* read; written and read; results, read as well */
  wk_rng r = {.s = seed};
  wk_str b = {0};
  wk_stream *s;
  wk_str_add(&b, ".machine tiny\n.memory a 0x10000 256\n.random a 1\n.memory t 0x20000 256\n"
             ".random t 2\n.memory y 0x20100 256\n.output y\n");
  for (int i = 0; i < SLOTS + STEPS; i++) {
    int kind = i < SLOTS ? 0 : (int)wk_rng_range(&r, 0, 3), more = (int)wk_rng_range(&r, 0, 1);
    long long to = i < SLOTS ? i : wk_rng_range(&r, 0, SLOTS - 1);
    long long from = wk_rng_range(&r, 0, SLOTS - 1), place = wk_rng_range(&r, 0, PLACES - 1);
    wk_str_printf(&b, "c%d: ", i);
    if (kind < 2)
      wk_str_printf(&b, "ld.ld%d dram=%c+%lld spm=%lld n0=%d c0=%d", more,
                    regions[wk_rng_range(&r, 0, 2)], 64 * place, 64 * to, more ? 64 : 32,
                    more ? 64 : 32);
    else if (kind == 2)
      wk_str_printf(&b, "st dram=%c+%lld spm=%lld n0=64 c0=64", regions[wk_rng_range(&r, 1, 2)],
                    64 * place, 64 * from);
    else
      wk_str_printf(&b, "map fn=move a=%lld out=%lld n0=8", 64 * from, 64 * to);
    if (i) wk_str_printf(&b, " wait c%d", i - 1);
    wk_str_add(&b, "\n");
  }
  wk_str_add(&b, "end\n");
  wk_status status = wk_asm(b.s, b.n, "transfers", NULL, NULL, &s);
  if (status) fail_msg("%s: %s", status->place, status->message);
  wk_str_free(&b);
  return s;
}

static wk_stream *stream_of(const wk_machine *m, uint64_t seed) {
  return seed % 2 ? random_stream(m, seed, NULL) : transfers(seed);
}

/* ---- how they are handed out --------------------------------------------------------------- */

typedef struct {
  const char *what;
  int assumed;
  int64_t channels;
  uint64_t commands, loads, waits;
  uint32_t sum; /* of the commands */
} handed_out;

static void hand_out(const wk_machine *m, uint64_t seed, handed_out *row) {
  wk_stream *s = stream_of(m, seed);
  subject x = open_subject(s);
  wk_isa_command *made = wk_xcalloc(x.n, sizeof *made);
  wk_machine other = s->machine;
  wk_if_commands live;
  wk_if_commands_of(&(wk_sim_shown){.stream = s, .machine = &other}, x.c, &x.flow, row->assumed,
                    &live);
  check_live(s, &x, &live, row->assumed, seed);
  other.load_channels = row->channels;
  uint32_t n = wk_if_order(&live, row->assumed, made);
  for (uint32_t i = 0; i < n; i++) {
    uint8_t bytes[WK_COMMAND_BYTES];
    wk_isa_encode(&made[i], bytes);
    row->sum = wk_crc32c(row->sum, bytes, sizeof bytes);
    row->loads += made[i].opcode == WK_CMD_LD;
    for (int q = 0; q < WK_QUEUE_COUNT; q++) row->waits += made[i].wait >> q & 1;
  }
  row->commands += n;
  wk_if_commands_free(&live);
  free(made);
  close_subject(&x);
  wk_stream_free(s);
}

static const handed_out orders[] = {
#define ORDER(assumed, ...) {#assumed, assumed, __VA_ARGS__},
    ORDER(WK_IF_ANY_ORDER, 1, 8562, 4020, 11557, 0xed0ff5da)
    ORDER(WK_IF_ANY_ORDER, 3, 8562, 4020, 15445, 0x25ee4327)
    ORDER(WK_IF_ANY_ORDER | WK_IF_FAST, 2, 8562, 4020, 13961, 0x05c3452b)
    ORDER(WK_IF_ANY_ORDER | WK_IF_AT_ONCE, 2, 8562, 4020, 13981, 0x689f83f0)
    ORDER(WK_IF_ROOM, 1, 7374, 2951, 5747, 0xf67be22f)
    ORDER(WK_IF_ROOM, 2, 7374, 2951, 7264, 0x88be06c5)
    ORDER(WK_IF_ROOM | WK_IF_FAST | WK_IF_AT_ONCE, 3, 7374, 2951, 8175, 0x82a7af93)
};

static void orders_are_as_they_were(void **state) {
  (void)state;
  wk_machine m;
  int differ = 0;
  assert_null(wk_machine_read("tiny", &m));
  for (size_t i = 0; i < WK_COUNTOF(orders); i++) {
    const handed_out *want = &orders[i];
    handed_out got = {want->what, want->assumed, want->channels, 0, 0, 0, 0};
    for (uint64_t seed = 1; seed <= STREAMS; seed++) hand_out(&m, seed, &got);
    if (!prints && got.commands == want->commands && got.loads == want->loads &&
        got.waits == want->waits && got.sum == want->sum)
      continue;
    printf("    ORDER(%s, %" PRId64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", 0x%08" PRIx32 ")\n",
           got.what, got.channels, got.commands, got.loads, got.waits, got.sum);
    differ++;
  }
  if (differ && !prints) fail_msg("%d rows differ; they would be as above", differ);
}

/* ---- what is won --------------------------------------------------------------------------- */

typedef struct {
  const char *memory; /* as --dram has it */
  uint64_t cycles, of[WK_WHAT_IFS];
} gains;

static const gains won[] = {
    {"latency=100,bytes=8", 233104, {218877, 131287, 111680, 148764, 229534, 79599}},
    {"latency=7,write_latency=300,bytes=0.5,overhead=5", 1329672,
     {202098, 1249153, 1130481, 1255973, 1328875, 79599}},
    {"jitter=20,traffic=0.25,refresh_interval=400,refresh_cycles=90", 356687,
     {231080, 244259, 207633, 259862, 354853, 79599}},
};

static void time_stream(const wk_machine *m, uint64_t seed, const char *memory, gains *row) {
  wk_stream *s = stream_of(m, seed);
  wk_sim_run run;
  wk_machine timed = s->machine;
  wk_sched_what_if list[WK_WHAT_IFS];
  assert_null(wk_machine_override(&timed, memory));
  const wk_sim_run_options o = {.machine = &timed};
  assert_null(wk_sim_run_stream(s, &wk_sim_timing, &o, &run));
  wk_what_ifs_of(&(wk_sim_shown){.stream = s, .machine = &timed, .run = &run}, list);
  row->cycles += run.result.cycles;
  for (int k = 0; k < WK_WHAT_IFS; k++) {
    assert_string_equal(list[k].name, wk_what_if_infos[k].name);
    if (list[k].cycles > run.result.cycles)
      fail_msg("seed %" PRIu64 ": %s costs", seed, list[k].name);
    row->of[k] += list[k].cycles;
  }
  wk_sim_run_free(&run);
  wk_stream_free(s);
}

static void gains_are_as_they_were(void **state) {
  (void)state;
  wk_machine m;
  int differ = 0;
  assert_null(wk_machine_read("tiny", &m));
  for (size_t i = 0; i < WK_COUNTOF(won); i++) {
    gains got = {.memory = won[i].memory};
    for (uint64_t seed = 1; seed <= TIMED; seed++) time_stream(&m, seed, got.memory, &got);
    if (!prints && got.cycles == won[i].cycles && !memcmp(got.of, won[i].of, sizeof got.of))
      continue;
    printf("    {\"%s\", %" PRIu64 ", {", got.memory, got.cycles);
    for (int k = 0; k < WK_WHAT_IFS; k++) printf("%s%" PRIu64, k ? ", " : "", got.of[k]);
    printf("}},\n");
    differ++;
  }
  if (differ && !prints) fail_msg("%d rows differ; they would be as above", differ);
}

int main(int argc, char **argv) {
  prints = argc > 1 && !strcmp(argv[1], "print");
  const struct CMUnitTest tests[] = {cmocka_unit_test(orders_are_as_they_were),
                                     cmocka_unit_test(gains_are_as_they_were)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
