/* SPDX-License-Identifier: Apache-2.0
 * Random graphs that are hard on storage: movement of movement, values joined twice, outputs that
 * are inputs, constants or repeated, empty tensors, rank 0 to 8, bodies within bodies, loops that
 * exchange, keep and collect their states. Numbers stay tame and no operator jumps: a right program
 * gives the same results but for rounding. */
#ifndef WICK_TESTS_RANDOM_MIDDLE_H
#define WICK_TESTS_RANDOM_MIDDLE_H

#include "compiler/eval/eval.h"

/* The same seed gives the same graph. Floats are f64 unless the seed is divisible by 4: then f32,
 * too coarse for comparing what rounds differently. */
wk_module *random_middle_graph(uint64_t seed, int nodes);
static inline bool random_middle_is_coarse(uint64_t seed) { return seed % 4 == 0; }
/* One tensor per input of g (wk_tensor_free each, free the array). */
wk_tensor *random_middle_inputs(const wk_graph *g, uint64_t seed);

#endif
