/* SPDX-License-Identifier: Apache-2.0
 * What commands need of each other: of a stream by hand; of random ones, whose commands, handed out
 * anew with waits for nothing else, must still be legal and give the same memory.
 *   test_flow [SEED [COUNT]] */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/study/what_if.h"
#include "tests/random_stream.h"

static struct { uint64_t first, count; } range = {1, 300};

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

/* ---- by hand --------------------------------------------------------------------------------- */

static const char text[] =
    ".machine base\n"
    ".memory a 0x100000 256\n.random a 1\n"
    ".memory t 0x110000 256\n"
    ".memory y 0x120000 256\n.output y\n"
    "l0: ld.ld0 dram=a spm=0 n0=64 c0=64\n"                       /* 0 */
    "l1: ld.ld1 dram=a+64 spm=64 n0=64 c0=64\n"                   /* 1 */
    "s2: st dram=t spm=0 n0=128 c0=128 wait l0 l1\n"              /* 2 */
    "l3: ld.ld0 dram=t+32 spm=256 n0=64 c0=64 wait s2\n"          /* 3: reads back */
    "l4: ld.ld1 dram=a spm=64 n0=64 c0=64 wait s2\n"              /* 4: as 0, where 1 was */
    "s5: st dram=y spm=256 n0=64 c0=64 wait l3 l4\n"              /* 5 */
    "s6: st dram=t spm=64 n0=64 c0=64 wait l3 l4\n"               /* 6: where 3 has read */
    "end\n";

static const wk_flow_edge by_hand[] = {
    {0, WK_SPACE_SCRATCHPAD, true, "2"},  {1, WK_SPACE_SCRATCHPAD, true, "2"},
    {2, WK_SPACE_MEMORY, true, "3"},      {1, WK_SPACE_SCRATCHPAD, false, "4"},
    {2, WK_SPACE_SCRATCHPAD, false, "4"}, {3, WK_SPACE_SCRATCHPAD, true, "5"},
    {4, WK_SPACE_SCRATCHPAD, true, "6"},  {2, WK_SPACE_MEMORY, false, "6"},
    {3, WK_SPACE_MEMORY, false, "6"}};

static bool has_edge(const wk_flow *f, uint32_t i, const wk_flow_edge *want) {
  for (uint32_t k = f->first[i]; k < f->first[i + 1]; k++) {
    const wk_flow_edge *e = &f->edges.data[k];
    if (e->from == want->from && e->space == want->space && e->is_data == want->is_data)
      return true;
  }
  return false;
}

static void edges_by_hand(void **state) {
  (void)state;
  wk_stream *s;
  wk_status status = wk_asm(text, sizeof text - 1, "by hand", NULL, NULL, &s);
  if (status) fail_msg("%s: %s", status->place, status->message);
  assert_null(wk_check(s, &s->machine, NULL));
  subject x = open_subject(s);
  for (size_t i = 0; i < WK_COUNTOF(by_hand); i++)
    if (!has_edge(&x.flow, (uint32_t)atoi(by_hand[i].field), &by_hand[i]))
      fail_msg("edge %zu is missing", i);
  assert_int_equal(x.flow.edges.n, WK_COUNTOF(by_hand));
  /* With room, 2, 3 and 6 need not be, 4 neither; 5 needs what 2 has stored. */
  const wk_sim_shown shown = {.stream = s, .machine = &s->machine};
  wk_if_commands live;
  wk_if_commands_of(&shown, x.c, &x.flow, WK_IF_ROOM, &live);
  static const bool gone[] = {false, false, true, true, true, false, false};
  for (uint32_t i = 0; i < x.n; i++)
    if (live.is_gone[i] != gone[i]) fail_msg("command %u is %s", i, gone[i] ? "there" : "gone");
  assert_int_equal(live.first[6] - live.first[5], 2);
  wk_if_commands_free(&live);
  close_subject(&x);
  wk_stream_free(s);
}

/* ---- by chance ------------------------------------------------------------------------------- */

static uint8_t *memory_after(const wk_stream *s) {
  uint32_t *order = wk_xcalloc(s->n, sizeof *order);
  uint8_t *memory = random_stream_memory(s);
  for (uint32_t i = 0; i < s->n; i++) order[i] = i;
  random_stream_execute(s, order, memory);
  memset(memory + s->address, 0, s->bytes.n);
  free(order);
  return memory;
}

static void try_channels(const wk_stream *s, const subject *x, int64_t channels, uint64_t seed) {
  wk_stream *t = random_stream_copy(s);
  wk_isa_command *made = wk_xcalloc(s->n, sizeof *made);
  wk_if_commands live;
  wk_str why = {0};
  t->machine.load_channels = channels;
  wk_if_commands_of(&(wk_sim_shown){.stream = s, .machine = &t->machine}, x->c, &x->flow,
                    WK_IF_ANY_ORDER, &live);
  assert_int_equal(wk_if_order(&live, WK_IF_ANY_ORDER, made), x->n);
  for (uint32_t i = 0; i < x->n; i++) random_stream_put(t, i, &made[i]);
  wk_status status = wk_check(t, &t->machine, NULL);
  if (status)
    fail_msg("seed %" PRIu64 ", %" PRId64 " channels: %s", seed, channels, status->message);
  uint8_t *want = memory_after(s), *got = memory_after(t);
  if (!random_stream_same_memory(s, got, want, &why)) fail_msg("seed %" PRIu64 ": %s", seed, why.s);
  free(want);
  free(got);
  wk_str_free(&why);
  wk_if_commands_free(&live);
  free(made);
  wk_stream_free(t);
}

static void streams_by_chance(void **state) {
  (void)state;
  wk_machine m;
  assert_null(wk_machine_read("tiny", &m));
  for (uint64_t seed = range.first; seed < range.first + range.count; seed++) {
    wk_stream *s = random_stream(&m, seed, NULL);
    subject x = open_subject(s);
    for (int64_t channels = 1; channels <= 3; channels++) try_channels(s, &x, channels, seed);
    close_subject(&x);
    wk_stream_free(s);
  }
}

int main(int argc, char **argv) {
  if (argc > 1) range.first = strtoull(argv[1], NULL, 10), range.count = 1;
  if (argc > 2) range.count = strtoull(argv[2], NULL, 10);
  const struct CMUnitTest tests[] = {cmocka_unit_test(edges_by_hand),
                                     cmocka_unit_test(streams_by_chance)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
