/* SPDX-License-Identifier: Apache-2.0
 * Results in the place of operands: reads of the vector unit run ahead of its writes. */
#ifndef WICK_ACCEL_OVERLAP_H
#define WICK_ACCEL_OVERLAP_H

#include "targets/accel/isa/isa.h"

/* MAP, ROW, TRN, whose footprint lies within the scratchpad: a word (row, tile) of the result
 * lies where a later one of an operand is read, or a row's where the record lies; of functions
 * that give whole rows, also where its own row is read, unless every element is replaced by its
 * result. False for all other commands. */
bool wk_overlaps_later(const wk_machine *m, const wk_isa_command *c);

#endif
