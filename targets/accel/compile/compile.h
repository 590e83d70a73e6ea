/* SPDX-License-Identifier: Apache-2.0
 * compile: the compiler of target "accel" (docs/architecture.md, "The accelerator's compiler"). */
#ifndef WICK_ACCEL_COMPILE_H
#define WICK_ACCEL_COMPILE_H

#include "compiler/target/target.h"
#include "targets/accel/compile/stream.h"

extern const wk_target wk_target_accel;

/* wk_target.admits */
bool wk_accel_admits(const wk_machine *m, const wk_sched_options *o, const wk_graph *g, wk_arena *a,
                     wk_node_id *node, const char **reason);
/* What can be told of a part before it is compiled: commands before END, 0: it cannot be; where it
 * is asked for (times), cycles by the schedule model, INT64_MAX: it does not fit. */
typedef struct {
  int64_t commands, cycles;
} wk_accel_outlook;
wk_accel_outlook wk_accel_foresee(const wk_machine *m, const wk_sched_options *o,
                                  const wk_graph *g, bool times);

#endif
