/* SPDX-License-Identifier: Apache-2.0
 * least: what no stream of the machine can be below that computes a net's operators: their
 * multiplications as they are, those with padding included, in whatever pieces, the tiles of a
 * layer one after the other. What a plan decides, and how operators were cut to fit, has no part in
 * it.
 *
 *   array   tiles of weights, each for as many pixels as there are accumulators at most: the longer
 *           of its words and of its lines; with three taps or one, along rows or columns
 *   drain   pixels of the result, those with a residual twice
 *   ve      MAP, POOL, ROW; neither moves nor tables, which another placement may not need
 *   bytes   what is read of every weight and input of the part, and every output, once */
#ifndef WICK_ACCEL_COMPILE_LEAST_H
#define WICK_ACCEL_COMPILE_LEAST_H

#include "targets/accel/compile/net.h"

/* out, cuts (cuts.h): of each of the net's layers. A weight or input that several read is the first
 * one's. */
void wk_accel_least_of(const wk_accel_net *net, wk_accel_least *out, wk_accel_cuts *cuts);

#endif
