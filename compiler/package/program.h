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

/* A step for each top-level instruction of a placed program, in order: its node and text, what it
 * computes and moves, bodies included, and the tensors that it leaves in activations and outputs.
 * `code` is its number, 0 and up; a target whose device tells steps apart by something else sets
 * that instead. For part.steps of a target whose device runs them one by one
 * (wick_device_run_steps); *n is how many there are. Memory is in the arena; texts of nodes and
 * strides are the program's. */
wk_package_step *wk_package_steps_of(const wk_program *p, wk_arena *a, size_t *n);

/* What the memory of its activations must be aligned to: WICK_ALIGN at least. */
uint32_t wk_program_arena_align(const wk_program *p);

#endif
