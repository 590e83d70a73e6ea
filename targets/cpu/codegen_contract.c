/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "targets/cpu/codegen.h"
#include "targets/cpu/contract.h"
#include "targets/cpu/expr_emit.h"

/* Multiply-accumulates that one thread does in a nanosecond, roughly. */
static double macs_per_ns(const wk_cpu_isa *isa) { return 2.5 * isa->lanes; }

wk_status wk_codegen_contract(wk_codegen *c, const wk_inst *i) {
  wk_contract k = wk_contract_of(c->p, i);
  if (k.kind == WK_CONTRACT_GENERIC) return wk_codegen_rare(c, i);
  if (k.fix)
    return wk_error_at(WK_INTERNAL, i->name, "%s was not prepared", wk_op_get(i->op)->name);
  wk_cpu_epilogue epi;
  memset(&epi, 0, sizeof epi);
  const wk_expr *e = wk_contract_epilogue(i, c->arena);
  if (e) WK_TRY(wk_expr_epilogue(e, k.place, k.n_operands, &epi));
  wk_cpu_kernel kernel;
  memset(&kernel, 0, sizeof kernel);
  WK_TRY(k.kind == WK_CONTRACT_CONV ? wk_cpu_conv_emit(&c->e, &k.conv, &epi, &kernel)
                                    : wk_cpu_matmul_emit(&c->e, &k.matmul, &epi, &kernel));
  if (k.is_packed && kernel.packed_bytes > c->p->buffers.data[i->operands[k.b].buffer].size)
    return wk_error_at(WK_INTERNAL, i->name, "packed weights have another size");
  wk_ssa args[3 + WK_CPU_MAX_OPERANDS];
  args[0] = wk_codegen_address(c, &i->operands[WK_CONTRACT_Y]);
  args[1] = wk_codegen_address(c, &i->operands[k.a]);
  args[2] = wk_codegen_address(c, &i->operands[k.b]);
  for (int o = 0; o < k.n_operands; o++)
    args[3 + o] = wk_codegen_address(c, &i->operands[k.operand[o]]);
  double ns = (double)wk_codegen_macs(i) / macs_per_ns(c->e.isa);
  if (k.is_packed) ns += (double)kernel.packed_bytes / 10;
  wk_codegen_run(c, &kernel, args, 3 + (uint32_t)k.n_operands, ns);
  return NULL;
}
