/* SPDX-License-Identifier: Apache-2.0
 * views: a net's pictures of tensors, as the scheduler sees them and as they lie in the
 * scratchpad. */
#ifndef WICK_ACCEL_VIEWS_H
#define WICK_ACCEL_VIEWS_H

#include "compiler/stream/steps.h"
#include "targets/accel/compile/net.h"

/* Strides of a view in a place, and the offset in its buffer of pixel (o 0, row 0). */
typedef struct {
  int buffer;
  int64_t offset, so, sb, sy, sx;
} wk_accel_spot;
wk_accel_spot wk_accel_spot_of(const wk_accel_net *net, const wk_accel_view *x,
                               const wk_sched_place *p);
/* Its tensor's planes that it lies in; of a view that is no picture of rows all of them. */
void wk_accel_planes_of(const wk_accel_net *net, const wk_accel_view *x, int64_t planes[2]);
/* What an operator has of its result (-1), of operand 0 or 1. */
wk_sched_view wk_accel_sched_view(const wk_accel_net *net, const wk_accel_op *op, int operand);
/* Bytes of a plane. */
int64_t wk_accel_plane_of(const wk_accel_tensor *t);
/* The view's stacks lie in the same planes, beside or below one another. */
bool wk_accel_are_stacks_within(const wk_accel_tensor *t, const wk_accel_view *x);
/* Planes from one stack of a view to the next; 0: it has one for all, or all in the same planes;
 * -1: they do not lie one behind the other. */
int64_t wk_accel_stack_planes(const wk_accel_net *net, const wk_accel_view *x);
/* Stacks of an operator that can be computed one after the other: as many as its result has, or
 * 1. */
int64_t wk_accel_stacks(const wk_accel_net *net, const wk_accel_op *op);
/* Stacks [o, end) of an operator as one of its own; its pieces and constants stay those. */
wk_accel_op wk_accel_some_stacks(const wk_accel_op *op, int64_t o, int64_t end);
wk_sched_tensor wk_accel_sched_tensor(const wk_accel_tensor *t);

#endif
