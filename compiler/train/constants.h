/* SPDX-License-Identifier: Apache-2.0
 * Private to train/: what is not trained by itself. */
#ifndef WICK_TRAIN_CONSTANTS_H
#define WICK_TRAIN_CONSTANTS_H

#include "compiler/onnx/onnx.h"

/* Sets `constant` of those of the report's weights, constants of g, that are constants by what they
 * hold or by what is made of them: what is not finite, masks, distances, tables of sines and their
 * frequencies, statistics, scales, weights of classes, and what an input's samples are normalised
 * with. */
void wk_find_constants(const wk_graph *g, wk_import_report *report);

#endif
