/* SPDX-License-Identifier: Apache-2.0
 * The proof of compiler/stream on what commands use (footprint.h), with rules of the accelerator:
 * sums in the accumulators, results in the place of operands, records, what the stream itself has
 * of memory. */
#include "targets/accel/check/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/proof.h"
#include "targets/accel/check/constants.h"
#include "targets/accel/check/footprint.h"
#include "targets/accel/check/overlap.h"
#include "targets/accel/check/shadows.h"

typedef struct {
  const wk_stream *s;
  const wk_machine *m;
  uint64_t waits; /* bits set in all headers */
  wk_isa_command *commands;
  const char *queue_names[WK_QUEUE_COUNT];
  wk_sched_space spaces[WK_SPACE_COUNT];
  wk_sched_hardware hardware;
  wk_sched_shadow shadows[WK_SPACE_COUNT];
  wk_sched_proof proof;
  WK_VEC(wk_sched_bytes) runs; /* of the command looked at */
  uint64_t mark_bytes;       /* of the mark area */
  wk_constants constants;
  uint32_t now;              /* the command looked at */
  wk_status status;
} checker;

/* ---- messages -------------------------------------------------------------------------------- */

static wk_stream_place place_of(const checker *k, uint32_t i) {
  wk_stream_place p = wk_stream_place_of(k->s, i);
  if (!*p.s) snprintf(p.s, sizeof p.s, "%.480s", k->s->source);
  return p;
}

static void describe(const void *context, uint32_t i, wk_str *b) {
  const checker *k = context;
  const wk_isa_command *c = &k->commands[i];
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
  const wk_isa_command *c = &k->commands[k->now];
  wk_str_printf(&text, "command %" PRIu32 " (%s): field '%s': ", k->now,
                wk_isa_command_of(c->opcode)->name, field);
  va_start(ap, fmt);
  wk_str_vprintf(&text, fmt, ap);
  va_end(ap);
  k->status = wk_error_at(WK_INPUT, place_of(k, k->now).s, "%s", text.s);
  wk_str_free(&text);
}

/* For what the proof says. */
static void refuse_run(checker *k) {
  const wk_sched_fault *f = &k->proof.fault;
  wk_str says = {0};
  wk_sched_fault_says(f, &k->hardware, describe, k, &says);
  refuse(k, f->run.field, "%s", says.s);
  wk_str_free(&says);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int64_t channels(const wk_isa_command *c) {
  switch (c->opcode) {
    case WK_CMD_CONV: return WK_SV(c, CONV, n);
    case WK_CMD_DWC: return WK_SV(c, DWC, n);
    default: return WK_SV(c, MM, n);
  }
}

/* The sums of ex are added in stream order; only a drain has to be waited for, and ends them. */
static void look_at_sums(checker *k, const wk_sched_bytes *r) {
  int64_t wanted = channels(&k->commands[k->now]);
  uint64_t end;
  for (uint64_t a = r->from; a < r->from + r->length && !k->status; a = end) {
    end = r->from + r->length;
    uint32_t other = wk_sched_shadow_find(&k->shadows[r->space], a, &end)->writer;
    bool drained = other != WK_SCHED_NOBODY && wk_drains(&k->commands[other]);
    if (!r->writes && (other == WK_SCHED_NOBODY || drained)) {
      refuse(k, "accumulate", "adds to accumulator entry %" PRIu64 ", which holds no sum", a);
    } else if (!r->writes && channels(&k->commands[other]) < wanted) {
      refuse(k, "n", "adds to %" PRId64 " channels of accumulator entry %" PRIu64
             ", which holds sums of %" PRId64, wanted, a, channels(&k->commands[other]));
    } else if (drained && !wk_sched_proof_is_over(&k->proof, other)) {
      wk_sched_proof_race(&k->proof, r, other, true);
      refuse_run(k);
    }
  }
}

/* ---- runs ------------------------------------------------------------------------------------ */

static bool overlaps(uint64_t a, uint64_t a_length, uint64_t b, uint64_t b_length) {
  return a < b + b_length && b < a + a_length;
}

/* The stream itself is only read; rows of the mark area belong to MARK. */
static void check_memory(checker *k, const wk_sched_bytes *r) {
  uint64_t stream = (uint64_t)k->s->n * WK_COMMAND_BYTES, last = r->from + r->length - 1;
  if (r->writes && overlaps(r->from, r->length, k->s->address, stream))
    refuse(k, r->field, "writes memory bytes 0x%" PRIx64 " to 0x%" PRIx64
           ", where the commands of the stream lie", r->from, last);
  else if (overlaps(r->from, r->length, k->s->marks, k->mark_bytes))
    refuse(k, r->field, "uses memory bytes 0x%" PRIx64 " to 0x%" PRIx64 ", where MARK writes",
           r->from, last);
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
  const wk_isa_command *c = &k->commands[k->now];
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

static void look_at(checker *k, const wk_sched_bytes *r) {
  bool fits = wk_sched_proof_fits(&k->proof, r);
  if (fits && r->space == WK_SPACE_MEMORY) check_memory(k, r);
  if (k->status) return;
  if (fits && r->space == WK_SPACE_ACCUMULATOR) look_at_sums(k, r);
  else if (!fits || !wk_sched_proof_look(&k->proof, r)) refuse_run(k);
}

/* Who adds to sums does not read them: the queue keeps their order. */
static void note(checker *k, const wk_sched_bytes *r) {
  if (is_replaced_residual(k, r->field) || (r->space == WK_SPACE_ACCUMULATOR && !r->writes)) return;
  if (r->space == WK_SPACE_SCRATCHPAD && r->writes)
    wk_constants_forget(&k->constants, r->from, r->length);
  if (!wk_sched_proof_note(&k->proof, r)) refuse_run(k);
}

/* The output of ex and POOL must not lie where they read; a residual in its place will not be noted
 * as read. */
static void keep_run(void *context, wk_space space, wk_access access, const char *field,
                     uint64_t from, uint64_t length) {
  checker *k = context;
  const wk_isa_command *c = &k->commands[k->now];
  bool writes = access == WK_ACCESS_WRITE;
  bool apart = writes && (c->queue == WK_QUEUE_ex || c->opcode == WK_CMD_POOL);
  const wk_sched_bytes r = {(int)space, writes, apart, field, from, length};
  if (length) wk_vec_push(&k->runs, r);
}

/* ---- commands -------------------------------------------------------------------------------- */

static wk_status decode(checker *k) {
  uint32_t issued[WK_QUEUE_COUNT] = {0};
  for (uint32_t i = 0; i < k->s->n; i++) {
    wk_isa_command *c = &k->commands[i];
    wk_stream_place place = place_of(k, i);
    (void)wk_stream_get(k->s, i, c);
    WK_TRY(wk_isa_validate(k->m, c, issued, i, place.s));
    if ((c->opcode == WK_CMD_END) != (i + 1 == k->s->n))
      return wk_error_at(WK_INPUT, place.s, "command %" PRIu32 ": %s", i,
                         c->opcode == WK_CMD_END ? "END is not the last command"
                                                 : "the last command is not END");
    if (c->opcode != WK_CMD_END) issued[c->queue]++;
  }
  return NULL;
}

/* What the record of a command holds, as far as it is known before the stream runs. */
static void check_record(checker *k) {
  wk_isa_fault fault;
  const wk_isa_command *c = &k->commands[k->now];
  if (!k->status && wk_isa_find_record_fault(k->m, c, wk_constants_read, &k->constants, &fault))
    refuse(k, fault.field, "%s", fault.text);
}

/* The present command's waits are valid. */
static void start(checker *k) {
  const wk_isa_command *c = &k->commands[k->now];
  wk_sched_counts waits = {0};
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    if (!(c->wait >> q & 1)) continue;
    k->waits++;
    waits[q] = c->threshold[q];
  }
  bool valid = wk_sched_proof_next(&k->proof, (int)c->queue, waits);
  wk_assert(valid);
}

static wk_status check_hazards(checker *k) {
  for (k->now = 0; k->now + 1 < k->s->n && !k->status; k->now++) {
    const wk_isa_command *c = &k->commands[k->now];
    start(k);
    k->runs.n = 0;
    wk_footprint(k->m, c, keep_run, k);
    for (size_t i = 0; i < k->runs.n && !k->status; i++) look_at(k, &k->runs.data[i]);
    check_record(k);
    for (size_t i = 0; i < k->runs.n && !k->status; i++) note(k, &k->runs.data[i]);
    if (c->opcode == WK_CMD_LD) wk_constants_load(&k->constants, c);
    if (!k->status && wk_overlaps_later(k->m, c))
      refuse(k, "out", "the result lies where an operand is still read");
  }
  return k->status;
}

_Static_assert(WK_QUEUE_COUNT <= (int)WK_SCHED_QUEUES, "the proof has room for all queues");

static void describe_hardware(checker *k) {
  static const char *const names[] = {"scratchpad bytes", "accumulator entries", "tables",
                                      "memory bytes"};
  for (int q = 0; q < WK_QUEUE_COUNT; q++) k->queue_names[q] = wk_isa_queue_name(q);
  for (int i = 0; i < WK_SPACE_COUNT; i++)
    k->spaces[i] = (wk_sched_space){names[i], k->shadows[i].size, i == WK_SPACE_MEMORY};
  k->hardware.queues = (wk_sched_queues){.n = WK_QUEUE_COUNT, .names = k->queue_names,
                                         .serial = 1 << WK_QUEUE_ve};
  k->hardware.spaces = k->spaces;
  k->hardware.n_spaces = WK_SPACE_COUNT;
}

wk_status wk_check(const wk_stream *s, const wk_machine *m, uint64_t *waits) {
  checker k = {.s = s, .m = m, .mark_bytes = wk_stream_mark_bytes(s)};
  if (s->n == 0) return wk_error_at(WK_INPUT, s->source, "the stream has no commands");
  k.commands = wk_xcalloc(s->n, sizeof *k.commands);
  wk_status status = decode(&k);
  if (!status) {
    wk_shadows_prepare(k.shadows, m, k.commands, s->n);
    describe_hardware(&k);
    wk_sched_proof_init(&k.proof, &k.hardware, k.shadows);
    k.constants = wk_constants_new(s, m, &k.shadows[WK_SPACE_MEMORY]);
    status = check_hazards(&k);
  }
  wk_vec_free(&k.runs);
  wk_constants_free(&k.constants);
  wk_sched_proof_free(&k.proof);
  wk_shadows_free(k.shadows);
  free(k.commands);
  if (waits) *waits = k.waits;
  return status;
}
