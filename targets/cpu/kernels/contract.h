/* SPDX-License-Identifier: Apache-2.0
 * contract: how a convolution or matrix product runs. The answer depends on the instruction alone,
 * so that prepare (which packs weights) and code generation agree without a side table: after
 * prepare the weights of a fitting convolution are packed, constant or not, and of a fitting
 * product a constant operand. Private to this folder. */
#ifndef WICK_CPU_CONTRACT_H
#define WICK_CPU_CONTRACT_H

#include "compiler/ir/ir.h"
#include "targets/cpu/kernels/kernels.h"

typedef enum {
  WK_CONTRACT_GENERIC,
  WK_CONTRACT_CONV,
  WK_CONTRACT_WINDOW, /* a convolution whose rows are images (window.h) */
  WK_CONTRACT_MATMUL
} wk_contract_kind;

/* What prepare has to change before the instruction fits the kernels. */
enum {
  WK_FIX_Y = 1,        /* not contiguous along columns */
  WK_FIX_A = 2,        /* not contiguous along k, or along images */
  WK_FIX_B = 4,        /* contiguous in neither direction, or not as window.h wants it */
  WK_FIX_EPILOGUE = 8, /* bias or epilogue is nothing for registers: a map of its own */
  WK_FIX_WIDE = 16,    /* A has to be f32 */
};

typedef struct {
  wk_contract_kind kind; /* GENERIC: the kernels don't do it, whatever is changed */
  unsigned fix;          /* WK_FIX_…; 0: conv or matmul describes it completely */
  wk_cpu_conv_desc conv;
  int64_t w_step; /* WINDOW: window.h */
  wk_cpu_matmul_desc matmul;
  uint32_t a, b;  /* the instruction's operands that are args[1] and args[2] of the kernel */
  bool is_packed; /* operand b lies in panels after prepare */
  int n_operands; /* of the epilogue */
  uint32_t operand[WK_CPU_MAX_OPERANDS]; /* the instruction's operands */
  wk_cpu_operand place[WK_CPU_MAX_OPERANDS];
} wk_contract;

wk_contract wk_contract_of(const wk_program *p, const wk_inst *i);
/* A convolution of every channel by itself whose window, of run time, is larger than the result:
 * the gradient of depthwise weights. GENERIC, and quick in rare/bitcode/correlate.c. */
bool wk_contract_is_correlation(const wk_program *p, const wk_inst *i);
/* The whole epilogue as one expression: input 0 is the accumulator, input 1 the bias when there is
 * one, then the extras. NULL when it changes nothing. */
const wk_expr *wk_contract_epilogue(const wk_inst *i, wk_arena *a);
/* The epilogue attribute of CONV, CONV_TRANSPOSE and MATMUL. */
const wk_expr **wk_contract_attr(const wk_inst *i);

enum { WK_CONTRACT_Y, WK_CONTRACT_A, WK_CONTRACT_B, WK_CONTRACT_BIAS, WK_CONTRACT_EXTRA };
static inline bool wk_contract_has_bias(const wk_inst *i) {
  return i->n_operands > WK_CONTRACT_BIAS && i->operands[WK_CONTRACT_BIAS].buffer != WK_NONE;
}
/* Axis of y that the bias runs along. */
static inline int wk_contract_bias_axis(const wk_inst *i) {
  return i->op == WK_OP_MATMUL ? i->operands[WK_CONTRACT_Y].rank - 1 : 1;
}

#endif
