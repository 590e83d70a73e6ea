/* SPDX-License-Identifier: Apache-2.0
 * unit_read: what unit.h describes, read and verified, for devices and tools. Every error is
 * WK_INPUT and one line that names the section, unless said otherwise. */
#ifndef WICK_ACCEL_UNIT_READ_H
#define WICK_ACCEL_UNIT_READ_H

#include "targets/accel/isa/stream.h"
#include "targets/accel/isa/unit.h"

/* What wk_accel_unit_read finds CONST by; a unit may have none. */
#define WK_ACCEL_CONST "CONST"

typedef struct {
  const char *name;
  const void *data; /* 8-byte aligned */
  size_t size;
} wk_accel_section;

/* Points into the sections. Offsets and counts of rows are sound. */
typedef struct {
  wk_machine machine;
  const uint8_t *constants; /* NULL: there are none */
  uint64_t const_bytes;
  const uint8_t *commands, *segments; /* n_commands */
  const wk_accel_part *parts;
  const wk_accel_layer *layers;
  const wk_accel_least *least; /* n_layers; NULL: the package does not say */
  const wk_accel_cuts *cuts;   /* n_layers, or NULL; after < before, after <= late */
  const char *texts;
  const uint32_t *results; /* n_commands */
  const wk_accel_window *places;
  const uint32_t *pitches; /* n_places, or NULL */
  const wk_accel_value *values;
  uint32_t n_commands, n_parts, n_layers, n_places, n_values;
} wk_accel_unit;

/* A tensor that a part reads or leaves: its segment. */
typedef struct {
  const char *name;
  uint64_t bytes;
  bool is_output;
} wk_accel_io;

/* name: of the machine, for messages ("base"). Sections of other names are left alone. Commands are
 * not looked at: wk_accel_part_check does. */
wk_status wk_accel_unit_read(const wk_accel_section *sections, size_t n, const char *name,
                             wk_accel_unit *out) WK_MUST_CHECK;

/* Every command of the part is one of the machine's and waits for earlier ones only; the last one,
 * and no other, is END; LD and ST, and no others, use a segment, of these sizes, and stay within
 * it; no ST writes constants or inputs; operators, marks and results have their rows. */
wk_status wk_accel_part_check(const wk_accel_unit *u, uint32_t part, const wk_accel_io *io,
                              size_t n_io) WK_MUST_CHECK;

static inline const char *wk_accel_text(const wk_accel_unit *u, uint32_t offset) {
  return u->texts + offset;
}
/* Bytes from one row of a place to the next, in its tensor. */
static inline uint32_t wk_accel_pitch(const wk_accel_unit *u, uint32_t place) {
  return u->pitches ? u->pitches[place] : u->places[place].row;
}
static inline const uint8_t *wk_accel_command(const wk_accel_unit *u, const wk_accel_part *p,
                                              uint32_t i) {
  return u->commands + (size_t)(p->first_command + i) * WK_COMMAND_BYTES;
}

/* ---- a part as a stream ---------------------------------------------------------------------- */

typedef struct {
  const char *source;        /* for messages */
  const wk_machine *machine; /* the unit's hardware with another memory; NULL: the unit's */
  uint64_t address;          /* of the first segment: a multiple of WK_ACCEL_SEGMENT_ALIGN */
  bool borrows;              /* constants are read where the unit has them: it lives longer */
} wk_accel_placement;

#define WK_ACCEL_CONST_REGION "constants"
#define WK_ACCEL_WORK_REGION "work"

/* A part that has been checked, with segments as regions: "constants" (with their bytes), commands
 * behind them, "work", then every tensor under its name, made fit for a stream's text and unique;
 * then the mark area. Outputs are regions marked so. *regions, unless NULL: n_io numbers
 * of the tensors' regions, WK_ACCEL_NO_REGION for those without bytes; free() it. WK_INPUT: the
 * machine's memory is too small, which is said with what there is and what is needed. */
#define WK_ACCEL_NO_REGION UINT32_MAX
wk_status wk_accel_part_stream(const wk_accel_unit *u, uint32_t part, const wk_accel_io *io,
                               size_t n_io, const wk_accel_placement *at, wk_stream **out,
                               uint32_t **regions) WK_MUST_CHECK;

#endif
