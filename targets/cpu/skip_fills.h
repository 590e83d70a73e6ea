/* SPDX-License-Identifier: Apache-2.0
 * Private to the CPU target. A product sums no further than its limit says, so that it can read an
 * operand as it was before a mask put zeros behind it:
 *
 *   map(@out %t; @in %mask, @in %x) {body="select(%0, %1, 0.0f32)"}  %mask: lt(positions, %n)
 *   matmul(…, @in %t) below (sums) %n         ->  matmul(…, @in %x) below (sums) %n
 *
 * The map goes where nobody else reads it; any other map that products alone read ends where these
 * do. What the limit allows is what the program needs from
 * then on: no evaluator takes it. */
#ifndef WICK_CPU_SKIP_FILLS_H
#define WICK_CPU_SKIP_FILLS_H

#include "compiler/ir/ir.h"

wk_status wk_cpu_skip_fills(wk_program *p, wk_arena *scratch, int64_t *changes) WK_MUST_CHECK;

#endif
