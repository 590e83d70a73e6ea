/* SPDX-License-Identifier: Apache-2.0
 * cuts: moments that every stream of a net has, by which some layers are done and others have not
 * begun: each element that the latter read depends on every element that the former leave. It is
 * so behind a mean of whole images, and where windows have grown as large as the image. */
#ifndef WICK_ACCEL_COMPILE_CUTS_H
#define WICK_ACCEL_COMPILE_CUTS_H

#include "targets/accel/compile/net.h"

/* out: of each of the net's layers. is_first: of each of the whole operators: its constants count;
 * those of others are there before. */
void wk_accel_cuts_of(const wk_accel_net *net, const bool *is_first, wk_accel_cuts *out);

#endif
