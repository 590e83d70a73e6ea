/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WICK_ACCEL_FLATTEN_H
#define WICK_ACCEL_FLATTEN_H

#include "targets/accel/compile/net.h"

/* Views of tensors that no operator sees as an image become rows, [h, w] pixels as h * w rows; the
 * same bytes. Before rows of tensors at edges are learnt. */
void wk_accel_flatten(wk_accel_net *net);

#endif
