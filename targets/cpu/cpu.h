/* SPDX-License-Identifier: Apache-2.0
 * cpu: the CPU target (rank 4). Native code through LLVM: packages, bundles, objects, assembly and
 * LLVM IR for the instruction sets of simd.h (`--cpu`). prepare must run once on each program
 * before it is placed, emit takes placed programs that were prepared for the same cpu. */
#ifndef WICK_CPU_H
#define WICK_CPU_H

#include "compiler/target/target.h"

extern const wk_target wk_target_cpu;

#endif
