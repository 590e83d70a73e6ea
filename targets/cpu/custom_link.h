/* SPDX-License-Identifier: Apache-2.0
 * custom_link: the bitcode that plugins bring for their custom operators (ir/custom.h), into a
 * module. Private to this folder. */
#ifndef WICK_CPU_CUSTOM_LINK_H
#define WICK_CPU_CUSTOM_LINK_H

#include "compiler/ir/custom.h"
#include "targets/cpu/llvm/builder.h"

/* Links the operator's bitcode and makes all that it defines internal. `complete`: nobody else
 * links, so that it may call nothing but memcpy, memmove and memset, and those functions of C's
 * <math.h> that Wick has code for, which are added. WK_INPUT: it is no bitcode of this processor,
 * lacks the routine, or calls something else. */
wk_status wk_custom_link(wk_llvm *e, const wk_custom_op *op, bool complete) WK_MUST_CHECK;

#endif
