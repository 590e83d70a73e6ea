/* SPDX-License-Identifier: Apache-2.0
 * The accelerator's parts of a package, as streams. */
#ifndef WICK_CLI_ACCEL_PARTS_H
#define WICK_CLI_ACCEL_PARTS_H

#include "runtime/wick.h"
#include "targets/accel/isa/unit_read.h"

#define WK_ACCEL_TARGET "accel"
#define WK_NO_ACCEL_PART                                                                           \
  "no part of the package is for the accelerator; a float model needs 'wick quantize' first"

typedef struct {
  const wick_part_info *info;
  const wk_accel_unit *unit;
  const wk_accel_part *row; /* of the unit */
  wk_accel_io *io;          /* inputs, outputs */
} wk_accel_package_part;

/* Points into file and model. */
typedef struct {
  wk_arena *arena;
  wk_accel_unit *units; /* per unit of the model; zeros of those of other targets */
  wk_accel_package_part *parts; /* in the order in which entries use them, each once: its number */
  size_t n_parts;
} wk_accel_parts;

/* The model was loaded from the file, perhaps only to be described. Units and parts are verified;
 * n_parts is 0 when there is nothing for the accelerator. Free also after an error. */
wk_status wk_accel_parts_read(const wick_model *model, const wk_file *f,
                              wk_accel_parts *out) WK_MUST_CHECK;
void wk_accel_parts_free(wk_accel_parts *p);

/* Streams from a file: the one that it is, or the parts of a package. */
typedef struct {
  wk_stream **list;
  size_t n;
} wk_accel_streams;
#define WK_ACCEL_ALL_PARTS (-1)
/* part: its number; o: as wk_stream_load takes it. WK_USAGE: the package has no such part, or the
 * file is a stream and a part was asked for. Free also after an error. */
wk_status wk_accel_streams_load(const char *path, int64_t part, const wk_asm_options *o,
                                wk_accel_streams *out) WK_MUST_CHECK;
void wk_accel_streams_free(wk_accel_streams *s);

/* Row of an option table; its default is WK_ACCEL_ALL_PARTS. */
#define WK_PART_OPTION(type, member, what)                                                         \
  {"part", 0, "N", what " (wick inspect numbers them)", .kind = WK_OPTION_INT,                     \
   .offset = offsetof(type, member), .min = 0, .max = UINT32_MAX}

#endif
