/* SPDX-License-Identifier: Apache-2.0
 * Seeded mutations of files. Every function replaces the contents of *b, takes all its choices from
 * rng and leaves at most WK_MUTANT_MAX bytes. `note` receives the names of what was done. */
#ifndef WICK_TEST_MUTATE_H
#define WICK_TEST_MUTATE_H

#include "compiler/support/support.h"

#define WK_MUTANT_MAX (64 << 10)

/* Any file: bits, bytes, blocks, lengths. `other` is a second seed to splice with. */
void mutate_bytes(wk_rng *rng, wk_str *b, const wk_str *other, wk_str *note);
/* Text: numbers, words, lines, brackets; and now and then bytes. */
void mutate_text(wk_rng *rng, wk_str *b, const wk_str *other, wk_str *note);
/* An ONNX model: fields of its messages, so that the file stays well formed around the change.
 * Bytes when it cannot be read. */
void mutate_onnx(wk_rng *rng, wk_str *b, const wk_str *other, wk_str *note);
/* The same of a Caffe2 net. */
void mutate_net(wk_rng *rng, wk_str *b, const wk_str *other, wk_str *note);

#endif
