/* SPDX-License-Identifier: Apache-2.0
 * commands: the commands of operators, as steps of a schedule. */
#ifndef WICK_ACCEL_COMMANDS_H
#define WICK_ACCEL_COMMANDS_H

#include "targets/accel/compile/views.h"

/* Where an operator's operands are while rows [y0, y1) are computed. */
typedef struct {
  const wk_accel_net *net;
  wk_sched_steps *steps;
  const wk_accel_op *op;
  int64_t y0, y1;
  wk_sched_place out, a, b;
  int64_t entries; /* of the accumulators, for a piece's sums of a chunk; 0: half of them */
  int *half; /* of the accumulators, that the next sums go to */
  int *tables; /* which the next one is; behind it of each the buffer that it came from, plus 1 */
} wk_accel_work;

/* A piece's constants: of CONV blocks [k0, k1) of the sum; record: where it is. */
typedef struct {
  int weights, record; /* buffers */
  int64_t weights_at, record_at;
  int64_t k0, k1;
  int64_t entry;   /* of the half, for the first of its sums */
  bool is_other;   /* in the half that is not the next one */
  bool goes_on;    /* other pieces' sums stand in that half, too, and are drained later */
} wk_accel_consts;

static inline const wk_isa_command *wk_accel_step_command(const wk_sched_steps *s, size_t i) {
  return wk_sched_command(s, i);
}
/* A command as a step. */
wk_sched_step *wk_accel_add_command(wk_sched_steps *s, const wk_isa_command *c);

/* Commands for piece i. Sums of a CONV begin with k0 == 0 and are drained with k1 == kc;
 * part: of the rows, those of chunks [chunk0, chunk1) (wk_accel_chunks). */
void wk_accel_emit_sums(const wk_accel_work *w, size_t piece, const wk_accel_consts *c,
                        int64_t chunk0, int64_t chunk1);
int64_t wk_accel_chunks(const wk_accel_work *w);
/* Of a row of the result, that one command can compute. */
int64_t wk_accel_most_columns(const wk_accel_op *op);
/* Rows of the result that a chunk of one stack has. */
void wk_accel_chunk_rows(const wk_accel_work *w, int64_t chunk, int64_t rows[2]);
/* What the vector unit does: pieces [piece, end) of MAP and POOL, all of ROW. */
void wk_accel_emit_vector(const wk_accel_work *w, size_t piece, size_t end,
                          const wk_accel_consts *c);

/* Of TURN. */
void wk_accel_emit_turn(const wk_accel_work *w);

#endif
