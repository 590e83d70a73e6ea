/* SPDX-License-Identifier: Apache-2.0
 * loops: MAP, COPY, FILL, REDUCE and NEST instructions as vector loops over constant shapes,
 * emitted as task functions with the contract of kernels.h:
 *
 *     void task(void *const *args, void *scratch, int64_t begin, int64_t end);
 *
 * args[k] is the address of element 0 of operand k (outputs first, as in the program). For NEST
 * these are the operands of the body's instructions one after the other; those in region SCRATCH
 * are found at scratch + buffer offset + view offset and their args are not read. Operands left out
 * have an entry that is not read. Behind them come the addresses of the limits that
 * wk_cpu_loop_limits gives, then those of the rows of those that have rows. Equal instructions
 * share one function; packed_bytes is 0.
 *
 * A reduction is never split between tasks and is summed in a fixed order: f32, f16 and bf16 in f32
 * when a lane sums at most 1024 values, or 16 where axis 0 is summed as well, which samples lie
 * along, else in f64; f64 in f64; integers wrap. */
#ifndef WICK_CPU_LOOPS_H
#define WICK_CPU_LOOPS_H

#include "compiler/ir/program.h"
#include "targets/cpu/kernels/kernels.h"

/* Limits of the instruction, of a nest those that all of its body has along its outer dims; how
 * many. */
uint32_t wk_cpu_loop_limits(const wk_inst *i, wk_limit out[WK_MAX_LIMITS]);

/* MAP, COPY, FILL. WK_UNSUPPORTED when the instruction is none of these. */
wk_status wk_cpu_map_codegen(wk_llvm *e, const wk_program *p, const wk_inst *i,
                             wk_cpu_kernel *out) WK_MUST_CHECK;
wk_status wk_cpu_reduce_codegen(wk_llvm *e, const wk_program *p, const wk_inst *i,
                                wk_cpu_kernel *out) WK_MUST_CHECK;
/* Bodies of MAP, COPY, FILL and REDUCE; WK_UNSUPPORTED for others. Scratch buffers must be placed.
 */
wk_status wk_cpu_nest_codegen(wk_llvm *e, const wk_program *p, const wk_inst *i,
                              wk_cpu_kernel *out) WK_MUST_CHECK;

#endif
