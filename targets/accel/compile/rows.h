/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WICK_ACCEL_ROWS_H
#define WICK_ACCEL_ROWS_H

#include "targets/accel/compile/views.h"

/* Rows of all tensors, as the operators' views go through them: those of edges are those of the
 * pictures that they are read or written as; where some see pixels of an image one by one, each is
 * a row; what is not written by rows has one. */
void wk_accel_learn_rows(wk_accel_net *net);

#endif
