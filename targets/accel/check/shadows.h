/* SPDX-License-Identifier: Apache-2.0
 * The shadows of all spaces of a machine. */
#ifndef WICK_ACCEL_SHADOWS_H
#define WICK_ACCEL_SHADOWS_H

#include "compiler/stream/shadow.h"
#include "targets/accel/check/footprint.h"

/* For n commands: of memory there are cells of what they store. */
void wk_shadows_prepare(wk_sched_shadow shadows[WK_SPACE_COUNT], const wk_machine *m,
                        const wk_isa_command *c, uint32_t n);
void wk_shadows_free(wk_sched_shadow shadows[WK_SPACE_COUNT]);

#endif
