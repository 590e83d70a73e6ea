/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WICK_TESTS_GOLDEN_STEP_H
#define WICK_TESTS_GOLDEN_STEP_H

#include "compiler/ir/ir.h"

/* The step `step: WORD…` of a golden case: m becomes a training step of its constants of floats
 * that have axes, but those NAME of which there is an output next_NAME: they are statistics that
 * move. Words: names of a loss and of an optimiser, output=NAME (y), is-loss, norm, clip=LIMIT,
 * accumulate=N and HYPERPARAMETER=VALUE; evaluation, inference: m becomes that of the step. */
wk_status golden_step(wk_module *m, const char *words) WK_MUST_CHECK;

#endif
