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

/* Adds the program's constants to the unit (wk_package_add_const); returns for each buffer where it
 * is in the unit's CONST, 0 for those that are none. What is borrowed is the program's. */
uint64_t *wk_package_add_consts(wk_package *pkg, uint32_t unit, const wk_program *p, wk_arena *a);

/* A step for each top-level instruction of a placed program, in order: its node and text, what it
 * computes and moves, bodies included, and the tensors that it leaves in activations and outputs.
 * `code` is its number, 0 and up; a target whose device tells steps apart by something else sets
 * that instead. For part.steps of a target whose device runs them one by one
 * (wick_device_run_steps); *n is how many there are. Names, dims and strides may be the program's;
 * the rest is in the arena. */
wk_package_step *wk_package_steps_of(const wk_program *p, wk_arena *a, size_t *n);

/* What the memory of its activations must be aligned to: WICK_ALIGN at least. */
uint32_t wk_program_arena_align(const wk_program *p);

#endif
