/* SPDX-License-Identifier: Apache-2.0 */
/* Requantisation with floats. With P = x * m / 2^(s + 16), the definition rounds P to 16 binary
 * places and that to an integer, ties to even. Here
 *   i = trunc(float(x) * scale + (zero + 1/2) * 2^15 + 1),  scale = m * 2^(-1 - s), exact,
 * and the result is i >> 15, unless the lower 15 bits of i are 0 or 1.
 *
 * Of results that do not saturate, |x| < 2^24 is exact (expr_plan.c sees to that), product and sum
 * are below 2^23, where floats lie at most 1/2 apart: each of at most two roundings is off by 1/4
 * at most. The definition's first rounding moves P by 2^-17, 1/4 of a unit of i, or less. So a
 * value whose results differ lies less than 1 from a tie, which is where the lower bits are 0 or 1.
 * What saturates does so here as well: no step above decreases in x. Results are kept positive,
 * since trunc rounds negative numbers up. */
#include "compiler/expr/quant.h"
#include "targets/cpu/expr/expr_ops.h"

enum { FRACTION = 15 };

/* One for all vectors whose multiplier and shift are the same. */
static wk_ssa scale_of(const wk_expr_at *at, const wk_lanes *v, wk_ssa m, wk_ssa s, wk_quick *q) {
  LLVMBuilderRef b = at->e->b;
  for (int i = 0; i < q->n; i++)
    if (q->known[i].m == m && q->known[i].s == s) return q->known[i].scale;
  wk_ssa bias = wk_lanes_word(v, (uint64_t)(127 + FRACTION - WK_RESCALE_FRACTION));
  wk_ssa power = LLVMBuildShl(b, LLVMBuildSub(b, bias, s, ""), wk_lanes_word(v, 23), "");
  power = LLVMBuildBitCast(b, power, v->real, "");
  wk_ssa scale = LLVMBuildFMul(b, LLVMBuildSIToFP(b, m, v->real, ""), power, "");
  if (q->n < WK_QUICK_KNOWN) {
    q->known[q->n].m = m;
    q->known[q->n].s = s;
    q->known[q->n++].scale = scale;
  }
  return scale;
}

wk_ssa wk_expr_quick_codegen(const wk_expr_at *at, wk_ssa x, wk_ssa m, wk_ssa s, wk_quick *q) {
  LLVMBuilderRef b = at->e->b;
  wk_lanes v = wk_lanes_make(at->e, at->lanes, 32);
  int least = wk_dtype_is_signed(at->node->dtype) ? -128 : 0;
  double add = (at->how.zero - least + 0.5) * (1 << FRACTION) + 1;
  wk_ssa scale = scale_of(at, &v, m, s, q);
  wk_ssa y = wk_lanes_fma(&v, LLVMBuildSIToFP(b, x, v.real, ""), scale, wk_lanes_real(&v, add));
  y = LLVMBuildFPToSI(b, y, v.word, "");
  wk_ssa rest = LLVMBuildAnd(b, y, wk_lanes_word(&v, (1 << FRACTION) - 2), "");
  wk_ssa sure = LLVMBuildICmp(b, LLVMIntNE, rest, LLVMConstNull(v.word), "");
  q->sure = q->sure ? LLVMBuildAnd(b, q->sure, sure, "") : sure;
  y = LLVMBuildAShr(b, y, wk_lanes_word(&v, FRACTION), "");
  return least ? LLVMBuildAdd(b, y, wk_lanes_word(&v, (uint64_t)(int64_t)least), "") : y;
}
