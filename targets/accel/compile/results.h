/* SPDX-License-Identifier: Apache-2.0
 * results: what a package says of a part's tensors (unit.h: places, values; steps): from what its
 * commands leave in the scratchpad, strip after strip, a device puts whole tensors together. */
#ifndef WICK_ACCEL_RESULTS_H
#define WICK_ACCEL_RESULTS_H

#include "compiler/package/package.h"
#include "targets/accel/compile/commands.h"

/* Of each tensor: the byte of the part's tensors at which it begins; -1: nothing computes it.
 * *bytes: of all. */
int64_t *wk_accel_tensor_starts(const wk_accel_net *net, const wk_sched_use *uses, wk_arena *a,
                                int64_t *bytes);
/* A wk_accel_window for each of the steps' results, whose buffers have been placed, and the pitch
 * of its rows. */
void wk_accel_add_windows(const wk_accel_net *net, const wk_sched_steps *s, const int64_t *starts,
                          wk_str *windows, wk_str *pitches);
/* Some of the results are parts of rows. */
bool wk_accel_have_pitches(const wk_accel_net *net, const wk_sched_steps *s);
/* A wk_accel_value for each tensor that a layer leaves; the layers get their rows, `first` on. */
void wk_accel_add_values(const wk_accel_net *net, const int64_t *starts, uint32_t first,
                         wk_accel_layer *layers, wk_str *out);
/* A step for each layer. Everything is in the arena. */
void wk_accel_add_steps(const wk_accel_net *net, const wk_graph *g, const wk_accel_layer *layers,
                        const char *const *ops, wk_arena *a, wk_package_part *out);

#endif
