/* SPDX-License-Identifier: Apache-2.0
 * program: what a package says of a part that is a placed program (rank 3). */
#ifndef WICK_PACKAGE_PROGRAM_H
#define WICK_PACKAGE_PROGRAM_H

#include "compiler/ir/ir.h"
#include "compiler/package/package.h"

/* Name, unit, inputs and outputs, and the memory that the program needs; no steps, code 0. Texts
 * and dims are the program's; the rest is in the arena. */
wk_package_part wk_package_part_of(const wk_program *p, const char *name, uint32_t unit,
                                   wk_arena *a);

/* What the memory of its activations must be aligned to: WICK_ALIGN at least. */
uint32_t wk_program_arena_align(const wk_program *p);

#endif
