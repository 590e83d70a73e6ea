/* SPDX-License-Identifier: Apache-2.0
 * Random branches and loops within each other, of f32 matrices, which no operator makes jump: for
 * derivatives. */
#ifndef WICK_TESTS_RANDOM_CONTROL_H
#define WICK_TESTS_RANDOM_CONTROL_H

#include "compiler/ir/ir.h"

/* The same seed gives the same graph, which is normalised. */
wk_module *random_control(uint64_t seed);
/* One tensor per input of g, of small numbers (wk_tensor_free each, free the array). */
wk_tensor *random_control_inputs(const wk_graph *g, uint64_t seed);

#endif
