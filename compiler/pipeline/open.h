/* SPDX-License-Identifier: Apache-2.0
 * Runs of a module in the evaluator where sizes are open (wk_open_axis): tensors of the caller have
 * the sizes of the run, those of the graph have room for the most. What lies beyond a size is
 * filled with NaN, or bytes 0xAA, so that whoever reads it shows. */
#ifndef WICK_PIPELINE_OPEN_H
#define WICK_PIPELINE_OPEN_H

#include "compiler/ir/graph.h"

/* Fills given[0 .. plain inputs): with `in` itself, or with what wk_open_free frees. WK_INPUT: two
 * sizes that are the same differ. */
wk_status wk_open_inputs(const wk_module *m, const wk_tensor *in, wk_tensor *given) WK_MUST_CHECK;
/* Results that callers see lose what lies beyond their sizes. WK_INPUT: a size that there is no
 * room for. */
wk_status wk_open_outputs(const wk_module *m, const wk_tensor *given,
                          wk_tensor *results) WK_MUST_CHECK;
/* What the two have made and the caller does not see. */
void wk_open_free(const wk_module *m, const wk_tensor *in, wk_tensor *given, wk_tensor *results);

#endif
