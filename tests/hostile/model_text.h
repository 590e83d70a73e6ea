/* SPDX-License-Identifier: Apache-2.0
 * ONNX models written as text, for tests: whatever the text says is written, however wrong. Only
 * the text itself must be well formed.
 *
 *   opset 17; in x f32[1,1,N,4]; init w f32[1,1,3,3]={1,2}; Conv x,w -> y {strides=[0,0]}; out y
 *
 *   opset N
 *   import DOMAIN N  ai.onnx.ml is 5 without; ai.onnx.preview is not imported without
 *   in NAME TYPE, out NAME [TYPE]
 *                    TYPE: f32[2,N], bool[], i4[_] (a size that has no name), f16 (of any shape),
 *                    sequence TYPE, optional TYPE
 *   init NAME TYPE [={values} | =raw BYTES | =external "path" [OFFSET LENGTH]]; without: zeros;
 *                    the last value is repeated
 *   OP[.in DOMAIN]   "local.F x -> y" is operator F of domain "local"; an empty input is "_"
 *   {name=value}     1, 1.5, nan, inf, -inf, [1,2], [1.5,nan], [7*256] (7 so many times), "text",
 *                    ["text"], floats [], strings [], (statements of a subgraph), tensor NAME
 *                    TYPE …, as of init; lists of these two: [(…), (…)], [tensor …, tensor …]
 *   fun F a,b -> c (statements)   a function of the domain "local" */
#ifndef WICK_TEST_MODEL_TEXT_H
#define WICK_TEST_MODEL_TEXT_H

#include "compiler/support/support.h"

/* The serialised model is appended to out (bytes, also zeros). Aborts with a message when the text
 * is not well formed: it is part of the test. */
void model_text(const char *text, wk_str *out);

#endif
