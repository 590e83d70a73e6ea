/* SPDX-License-Identifier: Apache-2.0
 * parts: convolutions and products whose operand and constants come in parts, block of the sum by
 * block of the sum, while the sums of many pieces stand in the accumulators. */
#ifndef WICK_ACCEL_PARTS_H
#define WICK_ACCEL_PARTS_H

#include "targets/accel/compile/emit.h"

/* As wk_sched_op.takes_parts: each block of the sum is a plane of operand 0. */
bool wk_accel_takes_parts(const wk_accel_net *net, const wk_accel_op *op);
/* Bytes of the scratchpad for a row of one piece at a time, block by block of the sum. */
int64_t wk_accel_parts_room(const wk_accel_net *net, const wk_accel_op *op);
/* All pieces of the work, whose operand 0 has no place. */
void wk_accel_emit_parts(const wk_sched_work *w, wk_accel_work *x);

#endif
