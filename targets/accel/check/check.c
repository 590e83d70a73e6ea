/* SPDX-License-Identifier: Apache-2.0
 * One pass in stream order. before[i][q] is the number of commands of queue q that have retired
 * for certain when command i starts: what its waits say, what held for the commands it waits for
 * when they started, and what held for the command before it in its queue, which started earlier.
 * An access that conflicts with one of an earlier command e of queue q is ordered when
 * before[i][q] exceeds e's ordinal in q.
 *
 * Per cell it is enough to remember the last writer and, per queue, the last reader since:
 * whoever came before them conflicts with them, or is of the same queue and retires before. */
#include "targets/accel/check/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "targets/accel/check/constants.h"
#include "targets/accel/check/footprint.h"
#include "targets/accel/check/overlap.h"
#include "targets/accel/check/shadow.h"

typedef struct {
  uint32_t retired[WK_QUEUE_COUNT];
} clock;

typedef struct {
  wk_isa_command c;
  uint32_t ordinal; /* in its queue */
  clock before;
} command;

typedef struct {
  const wk_stream *s;
  const wk_machine *m;
  uint64_t waits; /* bits set in all headers */
  command *commands;
  uint32_t *of_queue[WK_QUEUE_COUNT]; /* ordinal -> index */
  uint32_t issued[WK_QUEUE_COUNT];
  WK_VEC(wk_run) runs; /* of the command looked at */
  wk_shadow shadows[WK_SPACE_COUNT];
  uint64_t mark_bytes; /* of the mark area */
  wk_constants constants;
  uint32_t now;        /* the command looked at */
  bool marks;          /* its accesses are noted; before, all of them were looked at */
  wk_status status;
} checker;

/* ---- messages -------------------------------------------------------------------------------- */

static const char *const space_names[] = {"scratchpad bytes", "accumulator entries", "tables",
                                          "memory bytes"};

static wk_stream_place place_of(const checker *k, uint32_t i) {
  wk_stream_place p = wk_stream_place_of(k->s, i);
  if (!*p.s) snprintf(p.s, sizeof p.s, "%.480s", k->s->source);
  return p;
}

static void describe(const checker *k, uint32_t i, wk_str *b) {
  const wk_isa_command *c = &k->commands[i].c;
  wk_str_printf(b, "command %" PRIu32 " (%s on %s", i, wk_isa_command_of(c->opcode)->name,
                wk_isa_queue_name((int)c->queue));
  if (k->s->lines.data[i]) wk_str_printf(b, ", line %" PRIu32, k->s->lines.data[i]);
  wk_str_add(b, ")");
}

static void refuse(checker *k, const char *field, const char *fmt, ...) WK_PRINTF(3, 4);
static void refuse(checker *k, const char *field, const char *fmt, ...) {
  wk_str text = {0};
  va_list ap;
  if (k->status) return;
  const wk_isa_command *c = &k->commands[k->now].c;
  wk_str_printf(&text, "command %" PRIu32 " (%s): field '%s': ", k->now,
                wk_isa_command_of(c->opcode)->name, field);
  va_start(ap, fmt);
  wk_str_vprintf(&text, fmt, ap);
  va_end(ap);
  k->status = wk_error_at(WK_INPUT, place_of(k, k->now).s, "%s", text.s);
  wk_str_free(&text);
}

static void refuse_hazard(checker *k, wk_space space, wk_access access, const char *field,
                          uint64_t from, uint64_t length, uint32_t other, bool other_writes) {
  const command *o = &k->commands[other];
  wk_str who = {0};
  describe(k, other, &who);
  refuse(k, field,
         "%s %s 0x%" PRIx64 " to 0x%" PRIx64
         ", which %s %s and which may not have retired: a wait "
         "for %s:%" PRIu32 " is missing",
         access == WK_ACCESS_READ ? "reads" : "writes", space_names[space], from, from + length - 1,
         who.s, other_writes ? "writes" : "reads", wk_isa_queue_name((int)o->c.queue),
         o->ordinal + 1);
  wk_str_free(&who);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void join(clock *into, const clock *from) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (from->retired[q] > into->retired[q]) into->retired[q] = from->retired[q];
}

static void retired(checker *k, clock *into, int q, uint32_t count) {
  if (count > into->retired[q]) into->retired[q] = count;
  if (count) join(into, &k->commands[k->of_queue[q][count - 1]].before);
}

static void order(checker *k, command *x) {
  int own = (int)x->c.queue;
  if (x->ordinal) join(&x->before, &k->commands[k->of_queue[own][x->ordinal - 1]].before);
  if (own == WK_QUEUE_ve) retired(k, &x->before, own, x->ordinal);
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    if (!(x->c.wait >> q & 1)) continue;
    k->waits++;
    retired(k, &x->before, q, x->c.threshold[q]);
  }
}

/* Whether an earlier command has retired when the present one starts. */
static bool is_over(checker *k, uint32_t other) {
  const command *o = &k->commands[other];
  if (other == k->now) return true;
  return k->commands[k->now].before.retired[o->c.queue] > o->ordinal;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static int64_t channels(const wk_isa_command *c) {
  switch (c->opcode) {
    case WK_CMD_CONV: return WK_SV(c, CONV, n);
    case WK_CMD_DWC: return WK_SV(c, DWC, n);
    default: return WK_SV(c, MM, n);
  }
}

static void write_cells(const checker *k, wk_shadow *s, uint64_t from, uint64_t length) {
  uint64_t end;
  for (uint64_t a = from; a < from + length; a = end) {
    end = from + length;
    wk_cell *cell = wk_shadow_join(s, a, &end);
    if (cell) cell->writer = k->now;
  }
}

/* The sums of ex are added in stream order; only a drain has to be waited for, and ends them. */
static void use_sums(checker *k, wk_access access, uint64_t from, uint64_t length) {
  wk_shadow *s = &k->shadows[WK_SPACE_ACCUMULATOR];
  int64_t wanted = channels(&k->commands[k->now].c);
  uint64_t end;
  for (uint64_t a = from; a < from + length && !k->status; a = end) {
    end = from + length;
    uint32_t other = wk_shadow_find(s, a, &end)->writer;
    bool drained = other != WK_NOBODY && other != k->now && wk_drains(&k->commands[other].c);
    if (access == WK_ACCESS_READ && (other == WK_NOBODY || drained))
      refuse(k, "accumulate", "adds to accumulator entry %" PRIu64 ", which holds no sum", a);
    else if (access == WK_ACCESS_READ && channels(&k->commands[other].c) < wanted)
      refuse(k, "n", "adds to %" PRId64 " channels of accumulator entry %" PRIu64
             ", which holds sums of %" PRId64, wanted, a, channels(&k->commands[other].c));
    else if (drained && !is_over(k, other))
      refuse_hazard(k, WK_SPACE_ACCUMULATOR, access, "acc", from, length, other, true);
  }
  if (k->marks && access == WK_ACCESS_WRITE) write_cells(k, s, from, length);
}

/* The conflict of an access with whoever used a cell before; WK_NOBODY: there is none. */
static uint32_t conflict(checker *k, const wk_cell *cell, wk_access access, bool *writes) {
  *writes = true;
  if (cell->writer != WK_NOBODY && !is_over(k, cell->writer)) return cell->writer;
  *writes = false;
  for (int q = 0; access == WK_ACCESS_WRITE && q < WK_QUEUE_COUNT; q++)
    if (cell->reader[q] != WK_NOBODY && !is_over(k, cell->reader[q])) return cell->reader[q];
  return WK_NOBODY;
}

/* False: refused. */
static bool look_at(checker *k, wk_space space, wk_access access, const char *field, uint64_t from,
                    uint64_t length, uint64_t address, const wk_cell *cell) {
  bool writes;
  uint32_t other = conflict(k, cell, access, &writes);
  if (other != WK_NOBODY) {
    refuse_hazard(k, space, access, field, from, length, other, writes);
  } else if (access == WK_ACCESS_READ && cell->writer == WK_NOBODY && space != WK_SPACE_MEMORY) {
    refuse(k, field,
           "reads %s 0x%" PRIx64 " to 0x%" PRIx64 "; 0x%" PRIx64
           " is one that no command has written",
           space_names[space], from, from + length - 1, address);
  }
  return !k->status;
}

/* The output of ex and POOL must not lie where they read; one in the place of the residual was not
 * noted as read. */
static bool is_own_input(const checker *k, const wk_cell *cell) {
  const wk_isa_command *c = &k->commands[k->now].c;
  return (c->queue == WK_QUEUE_ex || c->opcode == WK_CMD_POOL) && cell->reader[c->queue] == k->now;
}

/* False: refused. */
static bool note(checker *k, wk_space space, wk_access access, const char *field, uint64_t from,
                 uint64_t length, wk_cell *cell) {
  int queue = (int)k->commands[k->now].c.queue;
  if (access == WK_ACCESS_READ) {
    cell->reader[queue] = k->now;
  } else if (is_own_input(k, cell)) {
    refuse(k, field, "writes %s 0x%" PRIx64 " to 0x%" PRIx64 ", which the command also reads",
           space_names[space], from, from + length - 1);
  }
  return !k->status;
}

/* Memory that no command writes has no cells. */
static void use_bytes(checker *k, wk_space space, wk_access access, const char *field,
                      uint64_t from, uint64_t length) {
  wk_shadow *s = &k->shadows[space];
  bool cuts = k->marks && access == WK_ACCESS_READ;
  uint64_t end;
  for (uint64_t a = from; a < from + length; a = end) {
    end = from + length;
    wk_cell *cell = (cuts ? wk_shadow_cut : wk_shadow_find)(s, a, &end);
    if (!cell) continue;
    if (k->marks ? !note(k, space, access, field, from, length, cell)
                 : !look_at(k, space, access, field, from, length, a, cell))
      return;
  }
  if (k->marks && access == WK_ACCESS_WRITE) write_cells(k, s, from, length);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static bool is_within(checker *k, wk_space space, const char *field, uint64_t from,
                      uint64_t length) {
  uint64_t size = k->shadows[space].size;
  if (from < size && length <= size - from) return true;
  refuse(k, field, "uses %s 0x%" PRIx64 " to 0x%" PRIx64 "; there are 0x%" PRIx64,
         space_names[space], from, from + length - 1, size);
  return false;
}

static bool overlaps(uint64_t a, uint64_t a_length, uint64_t b, uint64_t b_length) {
  return a < b + b_length && b < a + a_length;
}

/* The stream itself is only read; rows of the mark area belong to MARK. */
static void check_memory(checker *k, wk_access access, const char *field, uint64_t from,
                         uint64_t length) {
  uint64_t stream = (uint64_t)k->s->n * WK_COMMAND_BYTES;
  if (access == WK_ACCESS_WRITE && overlaps(from, length, k->s->address, stream))
    refuse(k, field, "writes memory bytes 0x%" PRIx64 " to 0x%" PRIx64
           ", where the commands of the stream lie", from, from + length - 1);
  else if (overlaps(from, length, k->s->marks, k->mark_bytes))
    refuse(k, field, "uses memory bytes 0x%" PRIx64 " to 0x%" PRIx64 ", where MARK writes", from,
           from + length - 1);
}

/* Is no byte of rows x columns pieces of n bytes in two of them? One dx columns to the right of
 * another may lie some rows above it; the rows that come nearest are the two around dx * step. */
static bool are_apart(int64_t rows, int64_t row_step, int64_t columns, int64_t step, int64_t n) {
  if (rows > 1 && row_step < n) return false;
  for (int64_t dx = 1; dx < columns; dx++) {
    int64_t at = dx * step;
    if (at < n) return false;
    if (rows == 1) continue;
    int64_t near = at / row_step, dy = near < rows - 1 ? near : rows - 1;
    if (at - dy * row_step < n || (near + 1 < rows && (near + 1) * row_step - at < n)) return false;
  }
  return true;
}

/* The output takes the place of the residual, byte by byte. Residuals are read some pixels
 * ahead. */
static bool is_replaced_residual(const checker *k, const char *field) {
  const wk_isa_command *c = &k->commands[k->now].c;
#define IS_REPLACED(C, rows, columns, step)                                                      \
  (WK_SV(c, C, res) == WK_SV(c, C, out) &&                                                       \
   are_apart(rows, WK_SV(c, C, out_y), columns, step, WK_SV(c, C, n)))
  if (strcmp(field, "res") != 0) return false;
  switch (c->opcode) {
    case WK_CMD_CONV:
      return IS_REPLACED(CONV, WK_SV(c, CONV, ny), WK_SV(c, CONV, nx), WK_SV(c, CONV, out_x));
    case WK_CMD_DWC:
      return IS_REPLACED(DWC, WK_SV(c, DWC, ny), WK_SV(c, DWC, nx), WK_SV(c, DWC, out_x));
    default: return IS_REPLACED(MM, WK_SV(c, MM, ny), 1, 0);
  }
#undef IS_REPLACED
}

static void use_run(checker *k, wk_space space, wk_access access, const char *field,
                    uint64_t from, uint64_t length) {
  if (k->status || !length || !is_within(k, space, field, from, length)) return;
  if (space == WK_SPACE_MEMORY) check_memory(k, access, field, from, length);
  if (k->status || (k->marks && is_replaced_residual(k, field))) return;
  if (k->marks && space == WK_SPACE_SCRATCHPAD && access == WK_ACCESS_WRITE)
    wk_constants_forget(&k->constants, from, length);
  if (space == WK_SPACE_ACCUMULATOR) use_sums(k, access, from, length);
  else use_bytes(k, space, access, field, from, length);
}

static void keep_run(void *context, wk_space space, wk_access access, const char *field,
                     uint64_t from, uint64_t length) {
  checker *k = context;
  const wk_run r = {space, access, field, from, length};
  wk_vec_push(&k->runs, r);
}

/* What a command reads itself must not hide earlier readers, so it is noted when all has been
 * looked at. */
static void use_runs(checker *k, bool marks) {
  k->marks = marks;
  for (size_t i = 0; i < k->runs.n; i++) {
    const wk_run *r = &k->runs.data[i];
    use_run(k, r->space, r->access, r->field, r->from, r->length);
  }
}

/* ---- commands -------------------------------------------------------------------------------- */

static wk_status decode(checker *k) {
  for (uint32_t i = 0; i < k->s->n; i++) {
    command *x = &k->commands[i];
    wk_stream_place place = place_of(k, i);
    (void)wk_stream_get(k->s, i, &x->c);
    WK_TRY(wk_isa_validate(k->m, &x->c, k->issued, i, place.s));
    if ((x->c.opcode == WK_CMD_END) != (i + 1 == k->s->n))
      return wk_error_at(WK_INPUT, place.s, "command %" PRIu32 ": %s", i,
                         x->c.opcode == WK_CMD_END ? "END is not the last command"
                                                   : "the last command is not END");
    if (x->c.opcode == WK_CMD_END) continue;
    x->ordinal = k->issued[x->c.queue]++;
    k->of_queue[x->c.queue][x->ordinal] = i;
  }
  return NULL;
}

/* What the record of a command holds, as far as it is known before the stream runs. */
static void check_record(checker *k) {
  wk_isa_fault fault;
  const wk_isa_command *c = &k->commands[k->now].c;
  if (!k->status && wk_isa_find_record_fault(k->m, c, wk_constants_read, &k->constants, &fault))
    refuse(k, fault.field, "%s", fault.text);
}

static wk_status check_hazards(checker *k) {
  for (k->now = 0; k->now + 1 < k->s->n && !k->status; k->now++) {
    order(k, &k->commands[k->now]);
    k->runs.n = 0;
    wk_footprint(k->m, &k->commands[k->now].c, keep_run, k);
    use_runs(k, false);
    check_record(k);
    use_runs(k, true);
    if (k->commands[k->now].c.opcode == WK_CMD_LD)
      wk_constants_load(&k->constants, &k->commands[k->now].c);
    if (!k->status && wk_overlaps_later(k->m, &k->commands[k->now].c))
      refuse(k, "out", "the result lies where an operand is still read");
  }
  return k->status;
}

wk_status wk_check(const wk_stream *s, const wk_machine *m, uint64_t *waits) {
  checker k = {.s = s, .m = m, .mark_bytes = wk_stream_mark_bytes(s)};
  if (s->n == 0) return wk_error_at(WK_INPUT, s->source, "the stream has no commands");
  k.commands = wk_xcalloc(s->n, sizeof *k.commands);
  for (int q = 0; q < WK_QUEUE_COUNT; q++) k.of_queue[q] = wk_xcalloc(s->n, sizeof(uint32_t));
  wk_status status = decode(&k);
  if (!status) {
    wk_shadows_prepare(k.shadows, m, &k.commands->c, sizeof *k.commands, s->n);
    k.constants = wk_constants_new(s, m, &k.shadows[WK_SPACE_MEMORY]);
    status = check_hazards(&k);
  }
  wk_vec_free(&k.runs);
  wk_constants_free(&k.constants);
  for (int i = 0; i < WK_SPACE_COUNT; i++) wk_shadow_free(&k.shadows[i]);
  for (int q = 0; q < WK_QUEUE_COUNT; q++) free(k.of_queue[q]);
  free(k.commands);
  if (waits) *waits = k.waits;
  return status;
}
