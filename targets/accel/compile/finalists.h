/* SPDX-License-Identifier: Apache-2.0
 * finalists: schedules of a part that are run before one of them is taken. The search goes by the
 * schedule model, which is near the machine and not it, and an idea that helps nearly always may
 * lead a search astray; so what comes out without one of them, or in a plainer mode, is compared
 * with the rest on the timing model. */
#ifndef WICK_ACCEL_FINALISTS_H
#define WICK_ACCEL_FINALISTS_H

#include "compiler/stream/search.h"

/* Compiles a part with some options. *cycles: of the timing model; UINT64_MAX: the part has more
 * than `most` commands. WK_RESOURCE, WK_INPUT: it does not fit that way. */
typedef wk_status wk_accel_time(void *ctx, const wk_sched_options *o, uint32_t most,
                                uint64_t *cycles);

/* Options of the schedule to take, with those of `o` that have nothing to do with it. Where they
 * leave nothing out in mode AUTO, at an effort above 0, they become the ones that take least,
 * unless the part has so many commands that it takes long to compile all; a higher effort allows
 * more. SERIAL takes the plan of AUTO without that of another mode. What `time` says of `o` itself
 * is passed on where nothing fits, and any other failure at once. */
wk_status wk_accel_choose(const wk_sched_options *o, wk_accel_time *time, void *ctx,
                          wk_sched_options *out) WK_MUST_CHECK;

#endif
