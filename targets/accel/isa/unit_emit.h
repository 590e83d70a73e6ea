/* SPDX-License-Identifier: Apache-2.0
 * unit_emit: `--emit stream`, a part as files that `wick sim`, `check` and `disasm` take and that
 * load into anybody's RTL or board (docs/streams.md):
 *
 *   STEM.wcs  the stream, checksummed
 *   STEM.bin  what memory must hold from the address of the first constant on: constants, commands
 *   STEM.map  text: where the image goes, what the registers are set to, where each tensor lies,
 *             and what it is in the model
 *
 * Of several parts STEM.0.wcs and so on, and STEM.index: text, which parts there are, in the order
 * in which they run, and which tensors go in and out of each. */
#ifndef WICK_ACCEL_UNIT_EMIT_H
#define WICK_ACCEL_UNIT_EMIT_H

#include "compiler/target/target.h"
#include "targets/accel/isa/stream.h"

/* For wk_target_output.files, of one part and of several. WK_USAGE: standard output, or a path that
 * is no regular file. */
wk_status wk_accel_emit_files(const char *path, wk_arena *a, wk_emit_files *out) WK_MUST_CHECK;

/* A stream and the regions of its tensors, from wk_accel_part_stream. */
typedef struct {
  wk_stream *stream;
  uint32_t *regions;          /* by inputs, then outputs, of the part */
  const wk_target_part *part; /* whose `tensors` the map describes; NULL: nothing is known */
} wk_accel_emission;

/* For wk_target_output.write, of n parts. All files are written, or none is. *out: which; names in
 * the arena. WK_USAGE: too many parts. */
wk_status wk_accel_emit_streams(const wk_accel_emission *e, size_t n, const char *path, wk_arena *a,
                                wk_emit_files *out) WK_MUST_CHECK;

#endif
