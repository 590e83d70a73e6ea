/* SPDX-License-Identifier: Apache-2.0
 * building: what is known while steps are made of a plan. Private to build.c and strips.c. */
#ifndef WICK_STREAM_BUILDING_H
#define WICK_STREAM_BUILDING_H

#include "compiler/stream/machine.h"

/* Of a tensor, in a strip. */
typedef struct {
  wk_sched_place place;  /* of this strip; buffer -1: none */
  wk_sched_place before; /* where the strip before had it, once that one is dropped */
  bool continues;        /* the strip before is about the same planes */
  int64_t end, done;     /* rows made after this strip, after the one before */
  int64_t low, high;     /* rows that readers need in this strip */
  int64_t keep;          /* the first row that a reader may still need */
  int64_t planes[2];     /* that readers of the group need */
  int64_t read[2];       /* those that do so in the strip */
  int64_t made[2];       /* that the group writes */
  int64_t columns[2];    /* that operators of the group have of its rows */
  bool is_stored;        /* the rows of this strip are */
} wk_sched_tensor_state;

/* Rows of an operator's result. */
typedef struct {
  int64_t done, end;
} wk_sched_op_rows;

/* A strip of a round. Those whose later stages come behind the first ones of others are there at
 * once. */
typedef struct {
  int round, strip;
  wk_sched_tensor_state *tensors;
  wk_sched_op_rows *ops;
} wk_sched_strip;

/* A tensor that is resident. */
typedef struct {
  wk_sched_place place; /* buffer -1: not yet */
  int64_t planes[2];    /* that are, of this round */
} wk_sched_resident_state;

/* Stages of a group run at most so many strips apart, less one. */
enum { WK_SCHED_STAGES = 6 };

typedef struct {
  wk_sched_building base;
  const wk_sched_plan *plan;
  const wk_sched_use *uses;
  wk_arena *arena;
  wk_sched_strip strips[WK_SCHED_STAGES + 1];
  int n_strips;          /* of the group in hand: one more than its stages */
  WK_VEC(int) tensors;   /* that its operators have, each once */
  int64_t number;        /* of the strip in hand, over all rounds */
  wk_sched_strip *strip; /* in hand */
  int **consts;          /* of operators: buffers of chunks, where they stay; -1: not loaded */
  wk_sched_resident_state *resident; /* of each tensor that is */
  int first, last;       /* operators of the groups that go together */
  int64_t scratchpad;    /* that steps have to fit; INT64_MAX: that is not looked at */
  bool is_alone;         /* of one group: so that is looked at early */
  bool is_too_large;     /* they do not fit */
} wk_sched_builder;

static inline const wk_sched_tensor *wk_sched_tensor_of(const wk_sched_builder *b, int t) {
  return &b->base.net->tensors[t];
}
static inline const wk_sched_op *wk_sched_op_of(const wk_sched_builder *b, int i) {
  return &b->base.net->ops[i];
}
bool wk_sched_is_made_here(const wk_sched_builder *b, int tensor);
bool wk_sched_is_read_here(const wk_sched_builder *b, int tensor);
/* The operator needs all rows of a tensor, more than one, for its last one. */
bool wk_sched_needs_all(const wk_sched_builder *b, int op, int tensor);
/* Rows of the operand's tensor that rows [y0, y1) need in the round in hand. */
void wk_sched_round_rows(const wk_sched_builder *b, const wk_sched_op *op, const wk_sched_view *x,
                         int64_t y0, int64_t y1, int64_t rows[2]);
/* Planes of the round in hand that an operator has in a view. */
void wk_sched_round_planes(const wk_sched_builder *b, const wk_sched_op *op,
                           const wk_sched_view *x, int64_t planes[2]);
/* Where a tensor was in the strips before: buffer -1, nowhere. */
wk_sched_place wk_sched_place_before(const wk_sched_builder *b, int tensor);
/* Steps of an operator's rows in the strip in hand, and of the next ones' that ride on it, one on
 * the other, and stand before `end`; the operator behind those. */
int wk_sched_compute(wk_sched_builder *b, int op, int end);

#endif
