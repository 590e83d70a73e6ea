/* SPDX-License-Identifier: Apache-2.0
 * prelude: what stands at the head of every program. Private to this folder. */
#ifndef WICK_OPENCL_PRELUDE_H
#define WICK_OPENCL_PRELUDE_H

#include "targets/opencl/opencl.h"

/* Types and functions of expressions (expr_c.h), WK_VECTOR before loops that may be vectors, and
 * for CPUs exp, erf and tanh without branches, which compilers turn into vectors (4 ulp). */
void wk_cl_prelude(wk_str *b, const wk_opencl *d);

#endif
