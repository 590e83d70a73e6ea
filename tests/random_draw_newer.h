/* SPDX-License-Identifier: Apache-2.0
 * Private to the random graphs: patterns that the newer operators of ONNX become. */
#ifndef WICK_TESTS_RANDOM_DRAW_NEWER_H
#define WICK_TESTS_RANDOM_DRAW_NEWER_H

#include "tests/random_draw.h"

void draw_newer_motif(draw *d);

#endif
