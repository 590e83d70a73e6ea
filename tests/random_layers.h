/* SPDX-License-Identifier: Apache-2.0
 * Random quantised networks as they are trained: convolutions of all kinds over images of up to a
 * hundred rows, residuals, squeeze and excite, attention, shuffles, movement between them, and now
 * and then any operator of random_integer.h. Inputs: random_integer_inputs. */
#ifndef WICK_TESTS_RANDOM_LAYERS_H
#define WICK_TESTS_RANDOM_LAYERS_H

#include "compiler/eval/eval.h"

/* About `layers` operators, each of some million multiplications at most. */
wk_module *random_layers_graph(uint64_t seed, int layers);

#endif
