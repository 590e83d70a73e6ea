/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/unit_read.h"

#include <inttypes.h>
#include <string.h>

#include "targets/accel/isa/parts.h"

_Static_assert(sizeof(wk_accel_part) == 48 && sizeof(wk_accel_layer) == 88 &&
                   sizeof(wk_accel_least) == 48 && sizeof(wk_accel_cuts) == 24 &&
                   sizeof(wk_accel_window) == 32 && sizeof(wk_accel_value) == 80,
               "rows are as packages hold them");

/* ---- sections -------------------------------------------------------------------------------- */

static const wk_accel_section *find(const wk_accel_section *s, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(s[i].name, name)) return &s[i];
  return NULL;
}

/* `rows`: rows of so many bytes each. */
static wk_status take(const wk_accel_section *s, size_t n, const char *name, size_t row,
                      const void **data, uint32_t *rows) {
  const wk_accel_section *found = find(s, n, name);
  if (!found) return wk_error(WK_INPUT, "section %s is missing", name);
  if (found->size % row || found->size / row > UINT32_MAX)
    return wk_error(WK_INPUT, "section %s: %zu bytes are no rows of %zu", name, found->size, row);
  *data = found->data;
  *rows = (uint32_t)(found->size / row);
  return NULL;
}

static wk_status read_machine(const wk_accel_section *s, size_t n, const char *name,
                              wk_machine *m) {
  const void *text;
  uint32_t size;
  WK_TRY(take(s, n, WK_ACCEL_MACHINE, 1, &text, &size));
  WK_TRY(wk_machine_read_rows(text, size, "section " WK_ACCEL_MACHINE, m));
  snprintf(m->name, sizeof m->name, "%s", name && *name ? name : "?");
  wk_text_clean(m->name);
  return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_range(uint64_t first, uint64_t count, uint64_t total) {
  return first <= total && count <= total - first;
}

enum { MOST_BYTES_LOG2 = 40 };

static wk_status check_part_row(const wk_accel_unit *u, uint32_t i, uint64_t *command) {
  const wk_accel_part *p = &u->parts[i];
  const char *what = p->first_command != *command ||
                             !is_range(p->first_command, p->commands, u->n_commands)
                         ? "its commands are not all there, behind those of the part before"
                     : !p->commands ? "it has no commands"
                     : !is_range(p->first_layer, p->layers, u->n_layers)
                         ? "its layers are not all there"
                     : p->reserved ? "what is reserved is not zero"
                     : (p->work_bytes | p->tensor_bytes) >> MOST_BYTES_LOG2
                         ? "it wants more memory than there is"
                                   : NULL;
  if (what) return wk_error(WK_INPUT, "section %s: part %u: %s", WK_ACCEL_PARTS, i, what);
  *command += p->commands;
  uint64_t predicted = p->predicted;
  for (uint32_t k = 0; k < p->layers; k++) {
    const wk_accel_layer *l = &u->layers[p->first_layer + k];
    if (l->predicted > predicted)
      return wk_error(WK_INPUT, "section %s: layer %u: more cycles than are left of the part's",
                      WK_ACCEL_LAYERS, p->first_layer + k);
    predicted -= l->predicted;
    if (l->mark != UINT32_MAX && l->mark >= p->marks)
      return wk_error(WK_INPUT, "section %s: layer %u: its mark is row %u of %u", WK_ACCEL_LAYERS,
                      p->first_layer + k, l->mark, p->marks);
  }
  return NULL;
}

static wk_status check_layer_row(const wk_accel_unit *u, uint32_t i, uint32_t text_bytes) {
  const wk_accel_layer *l = &u->layers[i];
  if (l->name >= text_bytes || l->op >= text_bytes)
    return wk_error(WK_INPUT, "section %s: layer %u: a text lies outside of section %s",
                    WK_ACCEL_LAYERS, i, WK_ACCEL_TEXTS);
  if (!is_range(l->first_value, l->values, u->n_values))
    return wk_error(WK_INPUT, "section %s: layer %u: its values are not all there",
                    WK_ACCEL_LAYERS, i);
  return NULL;
}

static wk_status check_value_row(const wk_accel_unit *u, uint32_t i) {
  const wk_accel_value *v = &u->values[i];
  bool is_fine = (v->lane < 8 || v->lane == WK_ACCEL_NO_LANE) &&
                 v->first < (uint64_t)u->machine.array;
  for (int k = 0; k < 8; k++) is_fine = is_fine && v->strides[k] >= 0;
  return is_fine ? NULL
                 : wk_error(WK_INPUT, "section %s: row %u: no strides of a tensor", WK_ACCEL_VALUES,
                            i);
}

static wk_status check_rows(const wk_accel_unit *u, uint32_t text_bytes) {
  uint64_t command = 0;
  if (text_bytes && u->texts[text_bytes - 1])
    return wk_error(WK_INPUT, "section %s: the last text has no end", WK_ACCEL_TEXTS);
  for (uint32_t i = 0; i < u->n_layers; i++) WK_TRY(check_layer_row(u, i, text_bytes));
  for (uint32_t i = 0; i < u->n_values; i++) WK_TRY(check_value_row(u, i));
  for (uint32_t i = 0; i < u->n_parts; i++) WK_TRY(check_part_row(u, i, &command));
  if (command != u->n_commands)
    return wk_error(WK_INPUT, "section %s: %" PRIu64 " commands belong to no part",
                    WK_ACCEL_COMMANDS, u->n_commands - command);
  return NULL;
}

/* A row for each of so many layers, or places; packages of before have none. */
static wk_status read_rows(const wk_accel_section *s, size_t n, const char *section, size_t size,
                           uint32_t of, const char *what, const void **rows) {
  uint32_t count;
  *rows = NULL;
  if (!find(s, n, section)) return NULL;
  WK_TRY(take(s, n, section, size, rows, &count));
  if (count != of)
    return wk_error(WK_INPUT, "section %s: %u rows for %u %s", section, count, of, what);
  return NULL;
}

static wk_status check_cuts(const wk_accel_unit *u) {
  for (uint32_t i = 0; i < u->n_layers; i++) {
    const wk_accel_cuts *c = &u->cuts[i];
    bool has_end = c->before != WK_ACCEL_NO_CUT;
    if (c->after > u->n_layers || (has_end && c->before > u->n_layers) || c->after >= c->before ||
        c->late < c->after || c->late > u->n_layers)
      return wk_error(WK_INPUT, "section %s: row %u: cuts %u, %u and %u", WK_ACCEL_CUTS, i,
                      c->after, c->late, c->before);
  }
  return NULL;
}

wk_status wk_accel_unit_read(const wk_accel_section *sections, size_t n, const char *name,
                             wk_accel_unit *out) {
  wk_accel_unit u = {0};
  const wk_accel_section *constants = find(sections, n, WK_ACCEL_CONST);
  const void *parts, *layers, *texts, *commands, *segments, *results, *places, *values,
      *least, *cuts, *pitches;
  uint32_t text_bytes, segment_bytes, n_results;
  WK_TRY(read_machine(sections, n, name, &u.machine));
  WK_TRY(take(sections, n, WK_ACCEL_COMMANDS, WK_COMMAND_BYTES, &commands, &u.n_commands));
  WK_TRY(take(sections, n, WK_ACCEL_SEGMENTS, 1, &segments, &segment_bytes));
  WK_TRY(take(sections, n, WK_ACCEL_PARTS, sizeof *u.parts, &parts, &u.n_parts));
  WK_TRY(take(sections, n, WK_ACCEL_LAYERS, sizeof *u.layers, &layers, &u.n_layers));
  WK_TRY(take(sections, n, WK_ACCEL_TEXTS, 1, &texts, &text_bytes));
  WK_TRY(take(sections, n, WK_ACCEL_RESULTS, sizeof *u.results, &results, &n_results));
  WK_TRY(take(sections, n, WK_ACCEL_PLACES, sizeof *u.places, &places, &u.n_places));
  WK_TRY(take(sections, n, WK_ACCEL_VALUES, sizeof *u.values, &values, &u.n_values));
  if (segment_bytes != u.n_commands)
    return wk_error(WK_INPUT, "section %s: %u bytes for %u commands", WK_ACCEL_SEGMENTS,
                    segment_bytes, u.n_commands);
  if (n_results != u.n_commands)
    return wk_error(WK_INPUT, "section %s: %u rows for %u commands", WK_ACCEL_RESULTS, n_results,
                    u.n_commands);
  u.constants = constants ? constants->data : NULL;
  u.const_bytes = constants ? constants->size : 0;
  u.commands = commands;
  u.segments = segments;
  u.parts = parts;
  u.layers = layers;
  u.texts = texts;
  u.results = results;
  u.places = places;
  u.values = values;
  WK_TRY(read_rows(sections, n, WK_ACCEL_LEAST, sizeof *u.least, u.n_layers, "layers", &least));
  WK_TRY(read_rows(sections, n, WK_ACCEL_CUTS, sizeof *u.cuts, u.n_layers, "layers", &cuts));
  WK_TRY(read_rows(sections, n, WK_ACCEL_PITCHES, sizeof *u.pitches, u.n_places, "places",
                   &pitches));
  u.least = least;
  u.cuts = cuts;
  u.pitches = pitches;
  if (cuts) WK_TRY(check_cuts(&u));
  WK_TRY(check_rows(&u, text_bytes));
  *out = u;
  return NULL;
}

/* ---- commands -------------------------------------------------------------------------------- */

typedef struct {
  const wk_accel_unit *u;
  const wk_accel_part *p;
  const wk_accel_io *io;
  size_t n_io;
  wk_machine machine; /* with all the memory that addresses reach: sizes are the segments' */
  uint32_t before[WK_QUEUE_COUNT];
} check;

#define PLACE "section " WK_ACCEL_COMMANDS

static wk_status refuse(uint32_t index, const wk_isa_command *c, const char *what) {
  return wk_error_at(WK_INPUT, PLACE, "command %u (%s): %s", index,
                     wk_isa_command_of((int)c->opcode)->name, what);
}

static wk_status segment_error(uint32_t index, const char *what) {
  return wk_error(WK_INPUT, "section %s: of command %u: %s", WK_ACCEL_SEGMENTS, index, what);
}

static uint64_t segment_bytes(const check *k, uint8_t segment) {
  if (segment == WK_SEGMENT_CONST) return k->u->const_bytes;
  return segment == WK_SEGMENT_WORK ? k->p->work_bytes : k->io[segment - WK_SEGMENT_IO].bytes;
}

static bool is_read_only(const check *k, uint8_t segment) {
  return segment == WK_SEGMENT_CONST ||
         (segment >= WK_SEGMENT_IO && !k->io[segment - WK_SEGMENT_IO].is_output);
}

static wk_status check_segment(const check *k, const wk_isa_command *c, uint32_t index) {
  uint8_t segment = k->u->segments[k->p->first_command + index];
  bool moves = c->opcode == WK_CMD_LD || c->opcode == WK_CMD_ST;
  if (moves != (segment != WK_SEGMENT_NONE))
    return segment_error(index, moves ? "it moves data and has none" : "it does not use memory");
  if (!moves) return NULL;
  if (segment >= WK_SEGMENT_IO + k->n_io)
    return segment_error(index, "the part has fewer inputs and outputs");
  if (c->opcode == WK_CMD_ST && is_read_only(k, segment))
    return segment_error(index, "it is only read");
  uint64_t size = segment_bytes(k, segment);
  if (wk_transfer_end(c) <= size) return NULL;
  return wk_error_at(WK_INPUT, PLACE,
                     "command %u (%s): field 'dram': bytes up to %" PRIu64
                     " of a segment of %" PRIu64, index, wk_isa_command_of((int)c->opcode)->name,
                     wk_transfer_end(c), size);
}

/* Windows are of the scratchpad and of the part's tensors. */
static bool is_window(const check *k, const wk_accel_window *w, uint32_t pitch) {
  uint64_t plane = (uint64_t)w->rows * w->row, end;
  if (!plane || !w->planes || plane > (uint64_t)k->machine.scratchpad) return false;
  uint64_t reach = (w->rows - 1) * (uint64_t)pitch + w->row;
  return is_range(w->scratchpad, w->planes * plane, (uint64_t)k->machine.scratchpad) &&
         !__builtin_mul_overflow((uint64_t)w->planes - 1, w->plane, &end) &&
         !__builtin_add_overflow(end, reach, &end) && is_range(w->at, end, k->p->tensor_bytes);
}

static wk_status check_result(const check *k, const wk_isa_command *c, uint32_t index) {
  uint32_t row = k->u->results[k->p->first_command + index];
  if (!row) return NULL;
  if (row > k->u->n_places)
    return wk_error(WK_INPUT, "section %s: of command %u: there is no place %u", WK_ACCEL_RESULTS,
                    index, row - 1);
  if (c->opcode == WK_CMD_LD || c->opcode == WK_CMD_ST)
    return wk_error(WK_INPUT, "section %s: of command %u: it computes nothing", WK_ACCEL_RESULTS,
                    index);
  if (is_window(k, &k->u->places[row - 1], wk_accel_pitch(k->u, row - 1))) return NULL;
  return wk_error(WK_INPUT, "section %s: row %u: it lies outside of the scratchpad or of the "
                  "part's tensors", WK_ACCEL_PLACES, row - 1);
}

static wk_status check_command(check *k, uint32_t index) {
  wk_isa_command c;
  bool is_last = index + 1 == k->p->commands;
  (void)wk_isa_decode(wk_accel_command(k->u, k->p, index), &c);
  WK_TRY(wk_isa_validate(&k->machine, &c, k->before, index, PLACE));
  if (c.opcode == WK_CMD_END && !is_last) return refuse(index, &c, "commands follow it");
  if (c.opcode != WK_CMD_END && is_last) return refuse(index, &c, "the part ends without END");
  if (c.operator > k->p->layers) return refuse(index, &c, "there is no layer for its operator");
  if (c.opcode == WK_CMD_MARK && WK_V(&c, MARK, row) >= k->p->marks)
    return refuse(index, &c, "its row is none of the part's");
  if (c.opcode != WK_CMD_END) k->before[c.queue]++;
  WK_TRY(check_result(k, &c, index));
  return check_segment(k, &c, index);
}

wk_status wk_accel_part_check(const wk_accel_unit *u, uint32_t part, const wk_accel_io *io,
                              size_t n_io) {
  if (part >= u->n_parts)
    return wk_error(WK_INPUT, "section %s: there is no part %u", WK_ACCEL_PARTS, part);
  check k = {.u = u, .p = &u->parts[part], .io = io, .n_io = n_io, .machine = u->machine};
  k.machine.dram_size = INT32_MAX;
  for (uint32_t i = 0; i < k.p->commands; i++) WK_TRY(check_command(&k, i));
  return NULL;
}
