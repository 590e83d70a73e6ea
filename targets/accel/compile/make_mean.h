/* SPDX-License-Identifier: Apache-2.0
 * make_mean: means of images whose rows are added up as they are made, so that nobody needs all of
 * an image at once. */
#ifndef WICK_ACCEL_MAKE_MEAN_H
#define WICK_ACCEL_MAKE_MEAN_H

#include "targets/accel/compile/net.h"

/* Adds the operators of a mean over all pixels of op->a, requantised by q from their sum; op: its
 * views `a` and `out` and its types. False, and nothing is added: it cannot be made so. */
bool wk_accel_add_mean_in_pieces(wk_accel_making *k, const wk_accel_op *op, const wk_requant *q);

#endif
