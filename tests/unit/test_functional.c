/* SPDX-License-Identifier: Apache-2.0
 * What the checker says that a command reads and writes, against the functional model, command by
 * command: it says of all bytes that it writes that it does, changes no others, and computes the
 * same whatever is in those that the checker does not name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/check/footprint.h"
#include "targets/accel/model/model.h"
#include "tests/random_machine.h"
#include "tests/random_stream.h"

enum { STREAMS = 60 };
enum { READ = 1, WRITTEN = 2, TOLD = 4 };

/* A memory of the machine: in elements of some bytes, with what the command does to each. */
typedef struct {
  uint8_t *is, *other; /* of the model, of another one that differs in what is not read */
  size_t n, bytes;     /* elements, of each */
  uint8_t *uses, *before;
  size_t from, to; /* elements that are looked at one by one: all that the command uses */
} space;

typedef struct {
  const wk_stream *s;
  wk_functional f, g;
  wk_isa_command c;
  space spaces[WK_SPACE_COUNT];
  int commands[32], told[32], runs[32]; /* by opcode; runs: of the footprint */
  uint32_t number;
} subject;

static void complain(const subject *x, const char *what, int number, size_t at) {
  static const char *const names[] = {"scratchpad", "accumulators", "tables", "memory"};
  wk_str b = {0};
  wk_disasm_command(&b, &x->s->machine, &x->c);
  fail_msg("command %u, %s: %s, 0x%zx of the %s", x->number, b.s, what, at, names[number]);
}

static void note(void *context, wk_space number, wk_access access, const char *field,
                 uint64_t from, uint64_t length) {
  space *x = &((subject *)context)->spaces[number];
  (void)field;
  ((subject *)context)->runs[((subject *)context)->c.opcode]++;
  if (from < x->from) x->from = from;
  if (from + length > x->to) x->to = from + length;
  for (uint64_t i = from; i < from + length; i++)
    x->uses[i] |= access == WK_ACCESS_READ ? READ : WRITTEN;
}

static void tell(void *context, uint64_t at, uint64_t n) {
  subject *x = context;
  for (uint64_t i = at; i < at + n; i++) x->spaces[WK_SPACE_SCRATCHPAD].uses[i] |= TOLD;
  x->told[x->c.opcode]++;
}

/* ---- before and after a command -------------------------------------------------------------- */

/* The other model's differs in every byte that is not read. */
static void spread(space *x) {
  memcpy(x->before, x->is, x->n * x->bytes);
  for (size_t i = x->from; i < x->to; i++)
    for (size_t k = i * x->bytes; k < (i + 1) * x->bytes; k++)
      x->other[k] = x->uses[i] & READ ? x->is[k] : (uint8_t)~x->is[k];
}

/* What a command writes of the accumulators is all of an entry but for the channels that it lacks:
 * these are as they were. */
static void compare(const subject *x, int number) {
  const space *y = &x->spaces[number];
  bool tells = number == WK_SPACE_SCRATCHPAD && x->c.opcode != WK_CMD_LD;
  size_t head = y->from * y->bytes, tail = y->to * y->bytes, end = y->n * y->bytes;
  if (memcmp(y->is, y->before, head) != 0 ||
      memcmp(y->is + tail, y->before + tail, end - tail) != 0)
    complain(x, "written and far from the footprint", number, 0);
  for (size_t i = y->from; i < y->to; i++) {
    bool is_written = y->uses[i] & WRITTEN;
    if (tells && !(y->uses[i] & TOLD) != !is_written)
      complain(x, is_written ? "written and not told" : "told and not in the footprint", number, i);
    for (size_t k = i * y->bytes; k < (i + 1) * y->bytes; k++) {
      bool is_kept = y->is[k] == y->before[k];
      if (!is_written && !is_kept) complain(x, "written and not in the footprint", number, i);
      if (!is_written || y->is[k] == y->other[k]) continue;
      if (number != WK_SPACE_ACCUMULATOR || !is_kept)
        complain(x, "made of what is not in the footprint", number, i);
    }
  }
}

static void look_at_command(subject *x) {
  bool has_memory = x->c.opcode == WK_CMD_LD || x->c.opcode == WK_CMD_ST;
  int spaces = has_memory ? WK_SPACE_COUNT : WK_SPACE_MEMORY;
  for (int i = 0; i < spaces; i++) {
    space *y = &x->spaces[i];
    memset(y->uses, 0, y->n);
    y->from = i == WK_SPACE_MEMORY ? y->n : 0;
    y->to = i == WK_SPACE_MEMORY ? 0 : y->n;
  }
  wk_footprint(&x->s->machine, &x->c, note, x);
  for (int i = 0; i < spaces; i++) spread(&x->spaces[i]);
  x->commands[x->c.opcode]++;
  assert_true(wk_functional_execute(&x->f, &x->c));
  assert_true(wk_functional_execute(&x->g, &x->c));
  for (int i = 0; i < spaces; i++) compare(x, i);
}

/* ---- streams --------------------------------------------------------------------------------- */

static space space_of(void *is, void *other, int64_t n, size_t bytes) {
  return (space){.is = is, .other = other, .n = (size_t)n, .bytes = bytes,
                 .uses = wk_xcalloc((size_t)n, 1), .before = wk_xcalloc((size_t)n, bytes)};
}

static void look_at_stream(subject *x, const wk_stream *s) {
  const wk_machine *m = &s->machine;
  uint8_t *memory = random_stream_memory(s), *other = wk_xcalloc(RANDOM_STREAM_MEMORY, 1);
  x->s = s;
  wk_functional_init(&x->f, m, memory, RANDOM_STREAM_MEMORY);
  wk_functional_init(&x->g, m, other, RANDOM_STREAM_MEMORY);
  x->f.written = tell, x->f.context = x;
  x->spaces[WK_SPACE_SCRATCHPAD] = space_of(x->f.scratchpad, x->g.scratchpad, m->scratchpad, 1);
  x->spaces[WK_SPACE_ACCUMULATOR] =
      space_of(x->f.accumulators, x->g.accumulators, wk_machine_entries(m),
               (size_t)m->array * sizeof *x->f.accumulators);
  x->spaces[WK_SPACE_TABLE] = space_of(x->f.tables, x->g.tables, m->tables, 256);
  x->spaces[WK_SPACE_MEMORY] = space_of(memory, other, RANDOM_STREAM_MEMORY, 1);
  for (x->number = 0; x->number + 1 < s->n; x->number++) {
    wk_stream_get(s, x->number, &x->c);
    look_at_command(x);
  }
  for (int i = 0; i < WK_SPACE_COUNT; i++) {
    free(x->spaces[i].uses);
    free(x->spaces[i].before);
  }
  wk_functional_free(&x->f);
  wk_functional_free(&x->g);
  free(memory);
  free(other);
}

/* Whoever asks for a footprint takes time for every run of it: of boxes that touch there is one. */
static const struct {
  int opcode, runs;
} runs[] = {
    {WK_CMD_LD, 3204},  {WK_CMD_ST, 2342},  {WK_CMD_FILL, 271},  {WK_CMD_CONV, 5152},
    {WK_CMD_DWC, 2640}, {WK_CMD_MM, 6162},  {WK_CMD_MAP, 3119},  {WK_CMD_POOL, 1719},
    {WK_CMD_ROW, 483},  {WK_CMD_TRN, 1519}, {WK_CMD_TAB, 134},
};

static void commands_keep_to_their_footprints(void **state) {
  subject x = {0};
  (void)state;
  for (uint64_t seed = 1; seed <= STREAMS; seed++) {
    wk_machine m;
    if (seed % 3) random_machine(seed, &m);
    else assert_null(wk_machine_read("tiny", &m));
    if (m.scratchpad > 1 << 16) m.scratchpad = 1 << 16;
    m.dram_size = RANDOM_STREAM_MEMORY;
    wk_stream *s = random_stream(&m, seed, &(random_stream_options){.commands = 16});
    look_at_stream(&x, s);
    wk_stream_free(s);
  }
  for (size_t i = 0; i < wk_isa_commands_count; i++) {
    int opcode = wk_isa_commands[i].opcode;
    bool tells = opcode != WK_CMD_LD && opcode != WK_CMD_ST && opcode != WK_CMD_TAB &&
                 opcode != WK_CMD_MARK && opcode != WK_CMD_END;
    if ((opcode != WK_CMD_END && !x.commands[opcode]) || tells != (x.told[opcode] > 0))
      fail_msg("%s: %d, %d told", wk_isa_commands[i].name, x.commands[opcode], x.told[opcode]);
  }
  for (size_t i = 0; i < WK_COUNTOF(runs); i++)
    if (x.runs[runs[i].opcode] != runs[i].runs) /* fewer is better: take it over */
      fail_msg("%s: %d runs", wk_isa_command_of(runs[i].opcode)->name, x.runs[runs[i].opcode]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(commands_keep_to_their_footprints)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
