/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WICK_TESTS_GOLDEN_QUANTISE_H
#define WICK_TESTS_GOLDEN_QUANTISE_H

#include "compiler/ir/ir.h"

/* The step `quantize: WORD…` of a golden case: the quantised form of m, with ranges of what m
 * computes on two samples. Words: int8, symmetric, per-channel, bias-correction, percentile, mse,
 * entropy, equalise, split-attention, spare, isolated, simulated, keep=NAME, least=DB (the least
 * ratio of signal to noise at the outputs, 25 by default). *out shares constants of m, which it may
 * change. An error when the module is further from m than that, and when what is written and what
 * is simulated differ in a bit. */
wk_status golden_quantise(wk_module *m, const char *words, wk_module **out) WK_MUST_CHECK;

#endif
