/* SPDX-License-Identifier: Apache-2.0
 * ir: the two intermediate representations (rank 1). types.h, expr.h (scalar expressions), ops.h
 * (the operator table), graph.h (graph IR), program.h (instruction IR). */
#ifndef WICK_IR_H
#define WICK_IR_H

#include "compiler/ir/graph.h"
#include "compiler/ir/program.h"

#endif
