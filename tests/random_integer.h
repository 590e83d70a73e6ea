/* SPDX-License-Identifier: Apache-2.0
 * Random quantised graphs from a seed: real operators between dequantisation and quantisation, with
 * 8-bit inputs and outputs, all of which wk_integer_convert turns into integers. */
#ifndef WICK_TESTS_RANDOM_INTEGER_H
#define WICK_TESTS_RANDOM_INTEGER_H

#include "compiler/eval/eval.h"

/* About `layers` quantised operators. */
wk_module *random_integer_graph(uint64_t seed, int layers);
/* Every value of the inputs' types may come. */
wk_tensor *random_integer_inputs(const wk_graph *g, uint64_t seed);

#endif
