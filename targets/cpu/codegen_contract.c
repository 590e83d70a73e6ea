/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "targets/cpu/codegen.h"
#include "targets/cpu/contract.h"
#include "targets/cpu/expr_emit.h"

/* Multiply-accumulates that one thread does in a nanosecond, roughly. */
static double macs_per_ns(const wk_cpu_isa *isa, const wk_inst *i) {
  bool is_int = i->operands[WK_CONTRACT_A].dtype != WK_F32;
  return 2.5 * isa->lanes * (is_int && isa->has_vnni ? 4 : 1);
}

enum { MANY = 1 << 16 };

/* What is known of an operand: of a small constant the values. */
static wk_fact operand_fact(const wk_program *p, const wk_view *v) {
  const wk_buffer *b = &p->buffers.data[v->buffer];
  wk_fact f = wk_fact_any(v->dtype);
  if (b->region != WK_REGION_CONST || !b->data || !wk_dtype_is_int(v->dtype)) return f;
  int64_t at[WK_MAX_RANK] = {0}, count = 1, index = v->offset / wk_dtype_size(v->dtype);
  for (int k = 0; k < v->rank; k++)
    if (v->strides[k] != 0 && !wk_mul_ok(count, v->dims[k], &count)) return f;
  if (count > MANY || v->dtype == WK_U64 || v->step != 0) return f;
  for (int64_t n = 0; n < count; n++) {
    wk_fact one = wk_fact_value(wk_load_i64(b->data, v->dtype, index));
    f = n == 0 ? one : wk_fact_union(f, one);
    for (int k = v->rank - 1; k >= 0; k--) { /* the next one */
      if (v->strides[k] == 0 || v->dims[k] == 1) continue;
      index += v->strides[k];
      if (++at[k] < v->dims[k]) break;
      index -= v->strides[k] * at[k];
      at[k] = 0;
    }
  }
  return f;
}

/* Sums of as many products of 8 bits. */
static wk_fact sum_fact(const wk_contract *k) {
  const wk_cpu_conv_desc *d = &k->conv;
  bool is_conv = k->kind == WK_CONTRACT_CONV;
  const wk_cpu_types *t = is_conv ? &d->types : &k->matmul.types;
  int64_t depth = is_conv ? d->kh * d->kw * (d->cin / d->group) : k->matmul.k;
  int64_t most = (t->a == WK_U8 ? 255 : 128) * (t->b == WK_U8 ? 255 : 128);
  if (t->a == WK_F32 || depth > INT32_MAX / most) return wk_fact_any(WK_I32);
  return wk_fact_range(-depth * most, depth * most);
}

static wk_status epilogue(wk_codegen *c, const wk_inst *i, const wk_contract *k,
                          wk_cpu_epilogue *out) {
  wk_fact facts[1 + WK_CPU_MAX_OPERANDS] = {sum_fact(k)};
  const wk_expr *e = wk_contract_epilogue(i, c->arena);
  memset(out, 0, sizeof *out);
  for (int o = 0; o < k->n_operands; o++)
    facts[1 + o] = operand_fact(c->p, &i->operands[k->operand[o]]);
  return e ? wk_expr_epilogue(c->arena, e, facts, k->place, k->n_operands, out) : NULL;
}

wk_status wk_codegen_contract(wk_codegen *c, const wk_inst *i) {
  wk_contract k = wk_contract_of(c->p, i);
  if (k.kind == WK_CONTRACT_GENERIC) return wk_codegen_rare(c, i);
  if (k.fix)
    return wk_error_at(WK_INTERNAL, i->name, "%s was not prepared", wk_op_get(i->op)->name);
  wk_cpu_epilogue epi;
  WK_TRY(epilogue(c, i, &k, &epi));
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
  double ns = (double)wk_codegen_macs(i) / macs_per_ns(c->e.isa, i);
  if (k.is_packed) ns += (double)kernel.packed_bytes / 10;
  wk_codegen_run(c, &kernel, args, 3 + (uint32_t)k.n_operands, ns);
  return NULL;
}
