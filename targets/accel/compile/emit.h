/* SPDX-License-Identifier: Apache-2.0
 * emit: the accelerator as the scheduler's machine (compiler/stream/machine.h). */
#ifndef WICK_ACCEL_EMIT_H
#define WICK_ACCEL_EMIT_H

#include "compiler/stream/search.h"
#include "targets/accel/compile/commands.h"

enum { WK_ACCEL_CONSTS = WK_TRANSFER_BYTES / 2 }; /* bytes of constants in one transfer */
enum { WK_ACCEL_PART_CHUNKS = 4 }; /* the plan's, in what is loaded in parts */

/* Lanes behind the last channel of a result hold something, where the pieces are the last. */
void wk_accel_fill_lanes(const wk_sched_work *w);
/* Constants too large to be in the scratchpad twice, or for a command: sums go part by part. */
bool wk_accel_is_split(const wk_accel_net *net, const wk_accel_op *op);
/* Bytes of a CONV's weights for one block of the sum. */
static inline int64_t wk_accel_block_bytes(const wk_accel_net *net, const wk_accel_op *op) {
  return op->ky * op->kx * net->n * net->n;
}

/* The accelerator as a machine; out->model and functions are set. */
void wk_accel_sched_machine(const wk_machine *m, wk_sched_machine *out);
/* The net for the scheduler. Everything is in the arena but what it has of net, which must stay as
 * and where it is. */
void wk_accel_sched_net(const wk_accel_net *net, wk_arena *a, wk_sched_net *out);
static inline const wk_accel_net *wk_accel_net_of(const wk_sched_net *net) { return net->context; }

/* How long its commands take (units.c). */
extern const wk_sched_model wk_accel_model;

#endif
