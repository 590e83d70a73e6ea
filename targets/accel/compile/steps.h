/* SPDX-License-Identifier: Apache-2.0
 * steps: the commands of a part before they have a time and a place. A step names the buffers of
 * the scratchpad that it uses; loads stand right before the first step that needs them. Each queue
 * runs its steps in this order; when they start, and how far loads run ahead, is the schedule's. */
#ifndef WICK_ACCEL_STEPS_H
#define WICK_ACCEL_STEPS_H

#include "targets/accel/compile/net.h"

/* Rows [row, row + rows) of planes [plane, plane + planes) of a tensor in the scratchpad. */
typedef struct {
  int buffer;
  int64_t offset, row, rows, plane, planes;
  int64_t pitch, lead; /* bytes from row to row; of a row before its first pixel */
} wk_accel_place;

/* Where commands leave what they compute of a tensor. */
typedef struct {
  int tensor;
  wk_accel_place place; /* without lead */
} wk_accel_computed;

/* The command's field `field` (-1: none) is the address `at` of the buffer; what is used are
 * n1 * n0 runs of `run` bytes, s1 and s0 apart, from `from` on. */
typedef struct {
  int buffer, field;
  bool writes;
  int64_t at, from, run, s0, s1;
  int64_t n0, n1;
} wk_accel_access;

enum { WK_ACCEL_ACCESSES = 5 };

typedef struct {
  wk_isa_command c;
  wk_accel_access access[WK_ACCEL_ACCESSES];
  int n_access;
  int tensor;          /* LD, ST: `dram` counts from its start; -1: none */
  int64_t mem_rows[2]; /* rows of the tensor that are read or written: [0], [1) */
  int half;            /* ex: of the accumulators */
  int group;           /* of the plan */
  int result;          /* what of the results it computes; -1: none */
  uint32_t ordinal;    /* in its queue */
  uint32_t needs[WK_QUEUE_COUNT]; /* commands of each queue that must have retired */
  int64_t bytes;       /* LD, ST */
} wk_accel_step;

typedef struct {
  int64_t bytes, cell; /* cell: what hazards are told apart by */
  int first, last;     /* steps that use it */
  int64_t at;          /* in the scratchpad */
} wk_accel_buffer;

typedef struct {
  WK_VEC(wk_accel_step) list;
  WK_VEC(wk_accel_buffer) buffers;
  uint32_t issued[WK_QUEUE_COUNT];
  WK_VEC(wk_accel_computed) results;
  bool is_begin;     /* the part's: the first commands are yet to be fetched */
  int lasting;       /* as the plan has it */
  WK_VEC(bool) alone; /* of each group: as the plan has it */
  int group, groups; /* that steps are added for; one more than the last */
  int result;        /* that steps are added for */
  int64_t loaded, stored;
} wk_accel_steps;

void wk_accel_steps_free(wk_accel_steps *s);
void wk_accel_steps_clear(wk_accel_steps *s); /* its room stays, for steps of another plan */
/* Steps that are added from now on compute rows of the tensor there; tensor -1: none. */
void wk_accel_steps_compute(wk_accel_steps *s, int tensor, const wk_accel_place *place);
int wk_accel_buffer_add(wk_accel_steps *s, int64_t bytes, int64_t cell);
wk_accel_step *wk_accel_step_add(wk_accel_steps *s, const wk_isa_command *c);
/* It moves data to or from memory; other steps compute. */
bool wk_accel_is_transfer(const wk_accel_step *s);
/* The step waits for that many commands of each queue, if not for more. */
typedef uint32_t wk_accel_counts[WK_QUEUE_COUNT];
void wk_accel_wait_for(wk_accel_step *s, const wk_accel_counts c);

/* Strides of a view in such a place, and the offset in its buffer of pixel (o 0, row 0). */
typedef struct {
  int buffer;
  int64_t offset, so, sb, sy, sx;
} wk_accel_spot;
wk_accel_spot wk_accel_spot_of(const wk_accel_net *net, const wk_accel_view *x,
                               const wk_accel_place *p);
/* Rows of the tensor that rows [y0, y1) of the view lie in; its planes. Of a view that is no
 * picture of rows all of them. */
void wk_accel_rows_of(const wk_accel_net *net, const wk_accel_view *x, int64_t y0, int64_t y1,
                      int64_t rows[2]);
/* Rows [y0, y1) of the operator's result that lie below row `end` of its tensor: how many. */
int64_t wk_accel_rows_below(const wk_accel_net *net, const wk_accel_view *x, int64_t end);
void wk_accel_planes_of(const wk_accel_net *net, const wk_accel_view *x, int64_t planes[2]);
/* Rows of a and b that rows [y0, y1) of the result need; all of them where that is not said. */
void wk_accel_needed_rows(const wk_accel_net *net, const wk_accel_op *op, int operand, int64_t y0,
                          int64_t y1, int64_t rows[2]);

/* Where an operator's constants and operands are while rows [y0, y1) are computed. */
typedef struct {
  const wk_accel_net *net;
  wk_accel_steps *steps;
  const wk_accel_op *op;
  int64_t y0, y1;
  wk_accel_place out, a, b;
  int *half; /* of the accumulators, that the next sums go to */
  int *table; /* that the next table goes to */
} wk_accel_work;

/* A piece's constants: of CONV blocks [k0, k1) of the sum; record: where it is. */
typedef struct {
  int weights, record; /* buffers */
  int64_t weights_at, record_at;
  int64_t k0, k1;
} wk_accel_consts;

/* Commands for piece i. Sums of a CONV begin with k0 == 0 and are drained with k1 == kc;
 * part: of the rows, those of chunks [chunk0, chunk1) (wk_accel_chunks). */
void wk_accel_emit_sums(const wk_accel_work *w, size_t piece, const wk_accel_consts *c,
                        int64_t chunk0, int64_t chunk1);
int64_t wk_accel_chunks(const wk_accel_work *w);
/* All pieces of what the vector unit does. */
void wk_accel_emit_vector(const wk_accel_work *w, const wk_accel_consts *c);

#endif
