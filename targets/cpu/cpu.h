/* SPDX-License-Identifier: Apache-2.0
 * cpu: the CPU target (rank 4). Native code through LLVM: packages, bundles, objects, assembly and
 * LLVM IR for the instruction sets of simd.h (`--cpu`). Its passes must run once on each program
 * before it is placed; code is made of placed programs that went through the same instance. */
#ifndef WICK_CPU_H
#define WICK_CPU_H

#include "compiler/target/target.h"

extern const wk_target wk_target_cpu;

#endif
