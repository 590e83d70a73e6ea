/* SPDX-License-Identifier: Apache-2.0
 * Random weights for models whose weights are constants, so that the values of
 * their results say something. */
#ifndef WICK_PIPELINE_WEIGHTS_H
#define WICK_PIPELINE_WEIGHTS_H

#include "compiler/ir/ir.h"

/* Gives every floating-point constant of two or more elements that are all equal random contents on
 * the scale of its use: a convolution's or product's weights sqrt(2 / fan-in), variances positive.
 * The same module and seed give the same contents. */
wk_status wk_weights_randomise(wk_module *m, uint64_t seed, int64_t *replaced) WK_MUST_CHECK;

#endif
