/* SPDX-License-Identifier: Apache-2.0
 * The proof of streams on a made-up machine of three queues and one memory: by hand, and against
 * all orders in which commands of small random streams can start and retire.
 *   test_stream_proof [SEED [COUNT]] */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/stream/proof.h"

enum { LOAD, WORK, SAVE, QUEUES };
enum { MOST = 6, RUNS = 4, BYTES = 8 };

static const char *const names[] = {"load", "work", "save"};
static struct { uint64_t first, count; } range = {1, 30000};

typedef struct {
  wk_sched_space space;
  wk_sched_hardware on;
  wk_sched_proof_command c[MOST];
  wk_sched_bytes runs[MOST][RUNS];
  uint32_t n;
} stream;

static void begin(stream *s) {
  memset(s, 0, sizeof *s);
  s->space = (wk_sched_space){.name = "bytes", .size = BYTES};
  s->on = (wk_sched_hardware){{.n = QUEUES, .names = names}, &s->space, 1};
}

static void add(stream *s, int queue, uint32_t load, uint32_t work, uint32_t save) {
  s->c[s->n] = (wk_sched_proof_command){queue, {load, work, save}, s->runs[s->n], 0};
  s->n++;
}

static wk_sched_bytes *use(stream *s, bool writes, const char *field, uint64_t from,
                         uint64_t length) {
  wk_sched_proof_command *c = &s->c[s->n - 1];
  wk_sched_bytes *r = &s->runs[s->n - 1][c->n_runs++];
  *r = (wk_sched_bytes){.writes = writes, .field = field, .from = from, .length = length};
  return r;
}

static void reads(stream *s, uint64_t from, uint64_t length) { use(s, false, "in", from, length); }

static void writes(stream *s, uint64_t from, uint64_t length) {
  use(s, true, "out", from, length);
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* NULL: it is good. */
static void expect(const stream *s, const char *says) {
  wk_sched_fault f;
  wk_str text = {0};
  bool good = wk_sched_prove(&s->on, s->c, s->n, &f);
  assert_int_equal(good, !says);
  assert_int_equal(good, f.kind == WK_SCHED_GOOD);
  wk_sched_fault_text(&f, &s->on, NULL, NULL, &text);
  if (says) assert_string_equal(text.s, says);
  wk_str_free(&text);
}

/* A load, work on it, and a save; each waits for so many of the others. */
static void pipeline(stream *s, uint32_t work_waits, uint32_t save_waits) {
  begin(s);
  add(s, LOAD, 0, 0, 0), writes(s, 0, 4);
  add(s, WORK, work_waits, 0, 0), reads(s, 0, 4), writes(s, 4, 4);
  add(s, SAVE, 0, save_waits, 0), reads(s, 4, 4);
}

static void test_read_after_write(void **state) {
  stream s;
  (void)state;
  pipeline(&s, 1, 1);
  expect(&s, NULL);
  pipeline(&s, 0, 1);
  expect(&s, "command 1 (on work): field 'in': reads bytes 0x0 to 0x3, which command 0 (on load) "
             "writes and which may not have retired: a wait for load:1 is missing");
  pipeline(&s, 1, 0);
  expect(&s, "command 2 (on save): field 'in': reads bytes 0x4 to 0x7, which command 1 (on work) "
             "writes and which may not have retired: a wait for work:1 is missing");
}

static void test_write_after_read(void **state) {
  stream s;
  (void)state;
  pipeline(&s, 1, 1);
  add(&s, LOAD, 0, 0, 0), writes(&s, 3, 1);
  expect(&s, "command 3 (on load): field 'out': writes bytes 0x3 to 0x3, which command 0 (on load) "
             "writes and which may not have retired: a wait for load:1 is missing");
  s.c[3].waits[LOAD] = 1;
  expect(&s, "command 3 (on load): field 'out': writes bytes 0x3 to 0x3, which command 1 (on work) "
             "reads and which may not have retired: a wait for work:1 is missing");
  s.c[3].waits[WORK] = 1; /* which has waited for the load */
  s.c[3].waits[LOAD] = 0;
  expect(&s, NULL);
}

static void test_write_after_write(void **state) {
  stream s;
  (void)state;
  begin(&s);
  add(&s, LOAD, 0, 0, 0), writes(&s, 0, 2);
  add(&s, WORK, 0, 0, 0), writes(&s, 2, 2);
  expect(&s, NULL);
  add(&s, SAVE, 1, 0, 0), writes(&s, 1, 2);
  expect(&s, "command 2 (on save): field 'out': writes bytes 0x1 to 0x2, which command 1 (on work) "
             "writes and which may not have retired: a wait for work:1 is missing");
  s.c[2].waits[WORK] = 1;
  expect(&s, NULL);
}

/* What those that a command waits for have waited for, and those before it in its queue. */
static void test_indirect_waits(void **state) {
  stream s;
  (void)state;
  pipeline(&s, 1, 1);
  add(&s, LOAD, 0, 0, 1), writes(&s, 0, 8);
  expect(&s, NULL);
  add(&s, LOAD, 1, 0, 0), reads(&s, 8, 0);
  add(&s, WORK, 2, 0, 0), reads(&s, 0, 8);
  expect(&s, NULL);
  s.c[5].waits[LOAD] = 1;
  expect(&s, "command 5 (on work): field 'in': reads bytes 0x0 to 0x7, which command 3 (on load) "
             "writes and which may not have retired: a wait for load:2 is missing");
}

static void test_serial(void **state) {
  stream s;
  (void)state;
  begin(&s);
  add(&s, WORK, 0, 0, 0), writes(&s, 0, 4);
  add(&s, WORK, 0, 0, 0), reads(&s, 0, 4);
  expect(&s, "command 1 (on work): field 'in': reads bytes 0x0 to 0x3, which command 0 (on work) "
             "writes and which may not have retired: a wait for work:1 is missing");
  s.on.queues.serial = 1 << WORK;
  expect(&s, NULL);
}

static void test_later_commands(void **state) {
  stream s;
  (void)state;
  pipeline(&s, 2, 1);
  expect(&s, "command 1 (on work): waits for load:2, which is no earlier command");
  pipeline(&s, 1, 1);
  s.c[0].waits[LOAD] = 1; /* itself */
  expect(&s, "command 0 (on load): waits for load:1, which is no earlier command");
}

static void test_unwritten(void **state) {
  stream s;
  (void)state;
  begin(&s);
  add(&s, LOAD, 0, 0, 0), writes(&s, 0, 3);
  add(&s, WORK, 1, 0, 0), reads(&s, 1, 4);
  expect(&s, "command 1 (on work): field 'in': reads bytes 0x1 to 0x4; 0x3 is one that no command "
             "has written");
  add(&s, SAVE, 1, 1, 0), writes(&s, 0, 8); /* too late */
  expect(&s, "command 1 (on work): field 'in': reads bytes 0x1 to 0x4; 0x3 is one that no command "
             "has written");
  s.space.has_content = true;
  expect(&s, NULL);
}

static void test_outside(void **state) {
  stream s;
  (void)state;
  begin(&s);
  add(&s, LOAD, 0, 0, 0), writes(&s, 7, 1);
  expect(&s, NULL);
  s.runs[0][0].length = 2;
  s.runs[0][0].field = NULL;
  expect(&s, "command 0 (on load): uses bytes 0x7 to 0x8; there are 0x8");
  s.runs[0][0] = (wk_sched_bytes){.writes = true, .from = 1, .length = UINT64_MAX};
  expect(&s, "command 0 (on load): uses bytes 0x1 to 0xffffffffffffffff; there are 0x8");
}

static void test_own_input(void **state) {
  stream s;
  (void)state;
  begin(&s);
  add(&s, LOAD, 0, 0, 0), writes(&s, 0, 4);
  add(&s, WORK, 1, 0, 0), writes(&s, 3, 2), reads(&s, 0, 4);
  expect(&s, NULL);
  s.runs[1][0].apart = true;
  expect(&s, "command 1 (on work): field 'out': writes bytes 0x3 to 0x4, which the command also "
             "reads");
  s.runs[1][0].from = 4;
  expect(&s, NULL);
}

static void describe(const void *context, uint32_t command, wk_str *out) {
  wk_str_printf(out, "%s %" PRIu32, (const char *)context, command);
}

static void test_names(void **state) {
  stream s;
  wk_sched_fault f;
  wk_str text = {0};
  (void)state;
  pipeline(&s, 0, 1);
  assert_false(wk_sched_prove(&s.on, s.c, s.n, &f));
  wk_sched_fault_text(&f, &s.on, describe, "step", &text);
  assert_string_equal(text.s, "step 1: field 'in': reads bytes 0x0 to 0x3, which step 0 writes and "
                              "which may not have retired: a wait for load:1 is missing");
  wk_str_free(&text);
}

/* ---- all orders ------------------------------------------------------------------------------ */

/* How many commands of each queue have started and retired. */
typedef struct {
  uint32_t started[QUEUES], retired[QUEUES];
} moment;

enum { MOMENTS = 117649 }; /* (MOST + 1) to the power of 2 * QUEUES */

typedef struct {
  const stream *s;
  uint32_t ordinal[MOST];            /* in its queue */
  uint32_t of_queue[QUEUES][MOST], issued[QUEUES];
  bool conflicts[MOST][MOST], races[MOST][MOST]; /* of a command with an earlier one */
  bool is_stuck;
  bool seen[MOMENTS];
} oracle;

static bool meet(const wk_sched_bytes *a, const wk_sched_bytes *b) {
  uint64_t from = a->from > b->from ? a->from : b->from;
  return from < a->from + a->length && from < b->from + b->length;
}

static bool are_in_conflict(const wk_sched_proof_command *a, const wk_sched_proof_command *b) {
  for (size_t i = 0; i < a->n_runs; i++)
    for (size_t k = 0; k < b->n_runs; k++)
      if ((a->runs[i].writes || b->runs[k].writes) && meet(&a->runs[i], &b->runs[k])) return true;
  return false;
}

static bool may_start(const oracle *o, const moment *m, int q) {
  if (m->started[q] == o->issued[q]) return false;
  if (wk_sched_in(o->s->on.queues.serial, q) && m->retired[q] < m->started[q]) return false;
  const wk_sched_proof_command *c = &o->s->c[o->of_queue[q][m->started[q]]];
  for (int k = 0; k < QUEUES; k++)
    if (m->retired[k] < c->waits[k]) return false;
  return true;
}

static void note_races(oracle *o, const moment *m, uint32_t now) {
  for (uint32_t i = 0; i < now; i++)
    if (o->conflicts[now][i] && m->retired[o->s->c[i].queue] <= o->ordinal[i])
      o->races[now][i] = true;
}

static void explore(oracle *o, moment m) {
  size_t number = 0;
  bool goes_on = false;
  for (int q = 0; q < QUEUES; q++)
    number = (number * (MOST + 1) + m.started[q]) * (MOST + 1) + m.retired[q];
  if (o->seen[number]) return;
  o->seen[number] = true;
  for (int q = 0; q < QUEUES; q++) {
    moment next = m;
    if (may_start(o, &m, q)) {
      note_races(o, &m, o->of_queue[q][m.started[q]]);
      next.started[q]++;
      explore(o, next);
      goes_on = true;
    }
    next = m;
    if (m.retired[q] == m.started[q]) continue;
    next.retired[q]++;
    explore(o, next);
    goes_on = true;
  }
  uint32_t over = m.retired[LOAD] + m.retired[WORK] + m.retired[SAVE];
  if (!goes_on && over < o->s->n) o->is_stuck = true;
}

static void ask(oracle *o, const stream *s) {
  const moment at_first = {{0}, {0}};
  memset(o, 0, sizeof *o);
  o->s = s;
  for (uint32_t i = 0; i < s->n; i++) {
    int q = s->c[i].queue;
    o->ordinal[i] = o->issued[q]++;
    o->of_queue[q][o->ordinal[i]] = i;
    for (uint32_t k = 0; k < i; k++) o->conflicts[i][k] = are_in_conflict(&s->c[i], &s->c[k]);
  }
  explore(o, at_first);
}

/* ---- faults of a command, one kind at a time ------------------------------------------------- */

static uint32_t issued_before(const stream *s, uint32_t i, int queue) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < i; k++) n += s->c[k].queue == queue;
  return n;
}

static bool is_ahead(const stream *s, uint32_t i) {
  for (int q = 0; q < QUEUES; q++)
    if (s->c[i].waits[q] > issued_before(s, i, q)) return true;
  return false;
}

static bool is_written_before(const stream *s, uint32_t i, uint64_t address) {
  const wk_sched_bytes byte = {.from = address, .length = 1};
  for (uint32_t k = 0; k < i; k++)
    for (size_t r = 0; r < s->c[k].n_runs; r++)
      if (s->c[k].runs[r].writes && meet(&s->c[k].runs[r], &byte)) return true;
  return false;
}

static bool is_outside(const wk_sched_bytes *r) { return r->length && r->from + r->length > BYTES; }

static bool reads_unwritten(const stream *s, uint32_t i, const wk_sched_bytes *r) {
  for (uint64_t a = r->from; a < r->from + r->length; a++)
    if (!s->space.has_content && !r->writes && !is_written_before(s, i, a)) return true;
  return false;
}

static bool is_own_input(const wk_sched_proof_command *c, const wk_sched_bytes *r) {
  for (size_t k = 0; k < c->n_runs; k++)
    if (r->apart && !c->runs[k].writes && meet(r, &c->runs[k])) return true;
  return false;
}

static bool is_faulty(const oracle *o, uint32_t i) {
  const wk_sched_proof_command *c = &o->s->c[i];
  for (uint32_t k = 0; k < i; k++)
    if (o->races[i][k]) return true;
  for (size_t k = 0; k < c->n_runs; k++) {
    const wk_sched_bytes *r = &c->runs[k];
    if (is_outside(r) || reads_unwritten(o->s, i, r) || is_own_input(c, r)) return true;
  }
  return is_ahead(o->s, i);
}

static bool does(const wk_sched_proof_command *c, const wk_sched_bytes *run, bool writes) {
  for (size_t k = 0; k < c->n_runs; k++)
    if (c->runs[k].writes == writes && meet(run, &c->runs[k])) return true;
  return false;
}

/* What the proof says of the first faulty command is so. */
static bool is_true(const oracle *o, const wk_sched_fault *f) {
  const stream *s = o->s;
  const wk_sched_proof_command *c = &s->c[f->command];
  switch (f->kind) {
    case WK_SCHED_AHEAD:
      return c->waits[f->wait_queue] == f->wait_count &&
             f->wait_count > issued_before(s, f->command, f->wait_queue);
    case WK_SCHED_OUTSIDE: return is_outside(&f->run);
    case WK_SCHED_RACE:
      return o->races[f->command][f->other] && (f->run.writes || f->other_writes) &&
             does(&s->c[f->other], &f->run, f->other_writes) &&
             s->c[f->other].queue == f->wait_queue && o->ordinal[f->other] + 1 == f->wait_count;
    case WK_SCHED_UNWRITTEN:
      return !f->run.writes && f->address - f->run.from < f->run.length &&
             !is_written_before(s, f->command, f->address);
    case WK_SCHED_OWN: return is_own_input(c, &f->run);
    case WK_SCHED_GOOD: break;
  }
  return false;
}

/* ---- random streams -------------------------------------------------------------------------- */

static uint32_t draw(wk_rng *r, int64_t low, int64_t high) {
  return (uint32_t)wk_rng_range(r, low, high);
}

static void draw_command(stream *s, wk_rng *r) {
  uint32_t waits[QUEUES], i = s->n;
  for (int q = 0; q < QUEUES; q++) {
    uint32_t before = issued_before(s, i, q);
    waits[q] = draw(r, 0, 2) ? draw(r, 0, before) : 0;
    if (!draw(r, 0, 60)) waits[q] = before + draw(r, 1, 2);
  }
  add(s, (int)draw(r, 0, QUEUES - 1), waits[LOAD], waits[WORK], waits[SAVE]);
  for (uint32_t runs = draw(r, 0, RUNS); runs; runs--) {
    uint64_t length = draw(r, 0, 3), from = draw(r, 0, (int64_t)(BYTES - length));
    wk_sched_bytes *x = use(s, i < 2 || draw(r, 0, 1), NULL, from + !draw(r, 0, 60), length);
    x->apart = x->writes && !draw(r, 0, 5);
  }
}

static void draw_stream(stream *s, wk_rng *r) {
  begin(s);
  s->space.has_content = draw(r, 0, 1);
  s->on.queues.serial = draw(r, 0, 1) ? 1u << draw(r, 0, QUEUES - 1) : 0;
  for (uint32_t n = draw(r, 1, MOST); n; n--) draw_command(s, r);
}

static uint32_t first_faulty(const oracle *o) {
  uint32_t i = 0;
  while (i < o->s->n && !is_faulty(o, i)) i++;
  return i;
}

static wk_sched_fault_kind compare(oracle *o, const stream *s, uint64_t seed) {
  wk_sched_fault f;
  ask(o, s);
  bool good = wk_sched_prove(&s->on, s->c, s->n, &f);
  uint32_t first = first_faulty(o);
  if (good != (first == s->n) || (!good && (f.command != first || !is_true(o, &f))))
    fail_msg("test_stream_proof %" PRIu64 " 1: command %" PRIu32 " is at fault, not %" PRIu32
             ", or not kind %d", seed, first, f.command, (int)f.kind);
  if (good && o->is_stuck) fail_msg("test_stream_proof %" PRIu64 " 1: a deadlock", seed);
  return f.kind;
}

/* Adds the waits that are said to be missing until none is. */
static void test_all_orders(void **state) {
  static oracle o;
  int kinds[WK_SCHED_OWN + 1] = {0}, repaired = 0;
  (void)state;
  for (uint64_t seed = range.first; seed < range.first + range.count; seed++) {
    stream s;
    wk_rng r = {seed};
    draw_stream(&s, &r);
    wk_sched_fault_kind kind = compare(&o, &s, seed);
    kinds[kind]++;
    for (int i = 0; kind == WK_SCHED_RACE; i++) {
      wk_sched_fault f;
      assert_true(i < MOST * MOST);
      assert_false(wk_sched_prove(&s.on, s.c, s.n, &f));
      s.c[f.command].waits[f.wait_queue] = f.wait_count;
      kind = compare(&o, &s, seed);
      repaired += kind == WK_SCHED_GOOD;
    }
  }
  print_message("%d good, %d ahead, %d outside, %d races, %d unwritten, %d own; %d repaired\n",
                kinds[WK_SCHED_GOOD], kinds[WK_SCHED_AHEAD], kinds[WK_SCHED_OUTSIDE],
                kinds[WK_SCHED_RACE], kinds[WK_SCHED_UNWRITTEN], kinds[WK_SCHED_OWN], repaired);
  for (int i = 0; range.count > 1000 && i <= WK_SCHED_OWN; i++) assert_true(kinds[i] > 20);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_read_after_write), cmocka_unit_test(test_write_after_read),
      cmocka_unit_test(test_write_after_write), cmocka_unit_test(test_indirect_waits),
      cmocka_unit_test(test_serial), cmocka_unit_test(test_later_commands),
      cmocka_unit_test(test_unwritten), cmocka_unit_test(test_outside),
      cmocka_unit_test(test_own_input), cmocka_unit_test(test_names),
      cmocka_unit_test(test_all_orders)};
  if (argc > 1) {
    range.first = strtoull(argv[1], NULL, 10);
    range.count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
