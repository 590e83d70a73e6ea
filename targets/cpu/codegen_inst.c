/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "targets/cpu/codegen.h"
#include "targets/cpu/nest/loops.h"

/* ---- estimates ------------------------------------------------------------------------------ */

static double expr_ns(const wk_simd *simd, const wk_expr *e, int64_t elements) {
  return e ? (double)elements * e->n * 0.5 / simd->lanes : 0;
}

static double estimate(const wk_simd *simd, const wk_inst *i) {
  double ns = (double)wk_inst_bytes(i) / 8;
  if (i->op == WK_OP_MAP)
    ns += expr_ns(simd, ((const wk_attr_map *)i->attrs)->body, wk_view_count(&i->operands[0]));
  if (i->op == WK_OP_REDUCE)
    ns += expr_ns(simd, ((const wk_attr_reduce *)i->attrs)->pre, wk_view_count(&i->operands[1]));
  for (uint32_t b = 0; b < i->n_bodies; b++)
    for (size_t k = 0; k < i->bodies[b].insts.n; k++) {
      const wk_inst *x = i->bodies[b].insts.data[k];
      ns += (double)wk_inst_bytes(x) / 16;
      if (x->op == WK_OP_MAP)
        ns += expr_ns(simd, ((const wk_attr_map *)x->attrs)->body, wk_view_count(&x->operands[0]));
    }
  return ns;
}

/* ---- instructions --------------------------------------------------------------------------- */

static bool is_empty(const wk_inst *i) {
  if (i->op == WK_OP_NEST) return false;
  for (uint32_t k = 0; k < i->n_out; k++)
    if (i->operands[k].buffer != WK_NONE && wk_view_count(&i->operands[k]) > 0) return false;
  return true;
}

static uint32_t add_addresses(wk_codegen *c, const wk_inst *i, wk_ssa *args, uint32_t n) {
  for (uint32_t k = 0; k < i->n_operands; k++)
    args[n++] = i->operands[k].buffer == WK_NONE ? LLVMConstNull(c->e.ptr)
                                                 : wk_codegen_address(c, &i->operands[k]);
  return n;
}

/* Operands of the instruction or, for a nest, of all that is in it, in order. */
static wk_ssa *addresses(wk_codegen *c, const wk_inst *i, uint32_t *n) {
  size_t most = i->n_operands + 2 * WK_MAX_LIMITS;
  for (uint32_t b = 0; b < i->n_bodies; b++)
    for (size_t k = 0; k < i->bodies[b].insts.n; k++)
      most += i->bodies[b].insts.data[k]->n_operands;
  wk_ssa *args = wk_arena_alloc(c->arena, most * sizeof *args);
  *n = add_addresses(c, i, args, 0);
  for (uint32_t b = 0; b < i->n_bodies; b++)
    for (size_t k = 0; k < i->bodies[b].insts.n; k++)
      *n = add_addresses(c, i->bodies[b].insts.data[k], args, *n);
  return args;
}

static wk_status emit_loops(wk_codegen *c, const wk_inst *i) {
  wk_cpu_kernel kernel;
  memset(&kernel, 0, sizeof kernel);
  if (i->op == WK_OP_NEST) WK_TRY(wk_cpu_nest_codegen(&c->e, c->p, i, &kernel));
  else if (i->op == WK_OP_REDUCE) WK_TRY(wk_cpu_reduce_codegen(&c->e, c->p, i, &kernel));
  else WK_TRY(wk_cpu_map_codegen(&c->e, c->p, i, &kernel));
  uint32_t n;
  wk_ssa *args = addresses(c, i, &n);
  wk_limit limits[WK_MAX_LIMITS];
  uint32_t n_limits = wk_cpu_loop_limits(i, limits);
  for (uint32_t k = 0; k < n_limits; k++) args[n++] = wk_codegen_address(c, &limits[k].size);
  for (uint32_t k = 0; k < n_limits; k++)
    if (wk_limit_has_rows(&limits[k])) args[n++] = wk_codegen_address(c, &limits[k].rows);
  wk_codegen_run(c, &kernel, args, n, estimate(c->e.simd, i));
  return NULL;
}

wk_status wk_codegen_inst(wk_codegen *c, const wk_inst *i) {
  if (is_empty(i)) return NULL;
  switch (i->op) {
    case WK_OP_MAP:
    case WK_OP_REDUCE:
    case WK_OP_NEST:
    case WK_OP_COPY:
    case WK_OP_FILL: return emit_loops(c, i);
    case WK_OP_CONV:
    case WK_OP_MATMUL: return wk_codegen_contract(c, i);
    case WK_OP_SEGMENT_REDUCE: return wk_codegen_segment(c, i);
    case WK_OP_CUSTOM: return wk_codegen_custom(c, i);
    default: return wk_codegen_rare(c, i);
  }
}
