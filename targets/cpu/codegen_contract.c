/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "targets/cpu/codegen.h"
#include "targets/cpu/kernels/contract.h"
#include "targets/cpu/kernels/window.h"
#include "targets/cpu/expr/expr_codegen.h"

/* Multiply-accumulates that one thread does in a nanosecond, roughly. */
static double macs_per_ns(const wk_simd *simd, const wk_inst *i) {
  bool is_int = !wk_dtype_is_float(i->operands[WK_CONTRACT_A].dtype);
  return 2.5 * simd->lanes * (is_int && simd->intrinsic[WK_SIMD_QUADS] ? 4 : 1);
}

enum { MANY = 1 << 16, MANY_SETS = 4096 };

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

/* What column c of a small constant is, where it is the same for all else. */
static bool column_fact(const wk_program *p, const wk_contract *k, int o, const wk_view *v,
                        int64_t c, wk_fact *out) {
  const wk_buffer *b = &p->buffers.data[v->buffer];
  const wk_cpu_operand *place = &k->place[o];
  bool varies = place->stride[0] || place->stride[1] || place->stride[2];
  if (b->region != WK_REGION_CONST || !b->data || !wk_dtype_is_int(v->dtype)) return false;
  if (v->dtype == WK_U64 || v->step != 0 || varies || !place->per_column) return false;
  *out = wk_fact_value(wk_load_i64(b->data, v->dtype, v->offset / wk_dtype_size(v->dtype) + c));
  return true;
}

/* Bounds of the sums of each column. */
static void sum_facts(const wk_codegen *c, const wk_inst *i, const wk_contract *k, int64_t n,
                      wk_facts *f, wk_fact *of) {
  bool is_conv = k->kind == WK_CONTRACT_CONV;
  const wk_cpu_types *t = is_conv ? &k->conv.types : &k->matmul.types;
  const void *packed = c->p->buffers.data[i->operands[k->b].buffer].data;
  int64_t(*reach)[2] = wk_xcalloc((size_t)n, sizeof *reach);
  wk_fact x = wk_fact_any(t->a), any = wk_fact_any(WK_I32);
  bool known = !wk_cpu_is_float(t) && k->is_packed && packed;
  if (known && is_conv) wk_cpu_conv_reach(c->e.simd, &k->conv, packed, reach);
  if (known && !is_conv) wk_cpu_matmul_reach(c->e.simd, &k->matmul, packed, reach);
  for (int64_t j = 0; j < n; j++) {
    wk_fact sum = wk_fact_range(x.lo * reach[j][0] + x.hi * reach[j][1],
                                x.hi * reach[j][0] + x.lo * reach[j][1]);
    bool fits = known && sum.lo >= any.lo && sum.hi <= any.hi;
    of[j * f->n_inputs] = fits ? sum : any;
  }
  free(reach);
}

/* A set for each column. */
static wk_facts facts_of(wk_codegen *c, const wk_inst *i, const wk_contract *k) {
  int64_t n = k->kind == WK_CONTRACT_CONV ? k->conv.cout : k->matmul.n;
  wk_facts f = {.n_inputs = 1 + k->n_operands, .n_sets = (int)n};
  wk_fact *of = wk_arena_alloc(c->arena, (size_t)(n * f.n_inputs) * sizeof *of);
  sum_facts(c, i, k, n, &f, of);
  for (int o = 0; o < k->n_operands; o++) {
    const wk_view *v = &i->operands[k->operand[o]];
    wk_fact all = operand_fact(c->p, v);
    for (int64_t j = 0; j < n; j++) {
      wk_fact *to = &of[j * f.n_inputs + 1 + o];
      if (!column_fact(c->p, k, o, v, j, to)) *to = all;
    }
  }
  for (int64_t j = 1; n > MANY_SETS && j < n; j++)
    for (int o = 0; o < f.n_inputs; o++) of[o] = wk_fact_union(of[o], of[j * f.n_inputs + o]);
  if (n > MANY_SETS) f.n_sets = 1;
  f.of = of;
  return f;
}

static wk_status epilogue(wk_codegen *c, const wk_inst *i, const wk_contract *k,
                          wk_cpu_epilogue *out) {
  const wk_expr *e = wk_contract_epilogue(i, c->arena);
  memset(out, 0, sizeof *out);
  if (!e) return NULL;
  bool is_int = !wk_dtype_is_float(i->operands[k->a].dtype);
  wk_facts facts = {0};
  if (is_int) facts = facts_of(c, i, k);
  return wk_expr_epilogue(c->arena, e, is_int ? &facts : NULL, k->place, k->n_operands, out);
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
  if (k.kind == WK_CONTRACT_CONV) WK_TRY(wk_cpu_conv_codegen(&c->e, &k.conv, &epi, &kernel));
  else if (k.kind == WK_CONTRACT_MATMUL)
    WK_TRY(wk_cpu_matmul_codegen(&c->e, &k.matmul, &epi, &kernel));
  else WK_TRY(wk_cpu_window_codegen(&c->e, &k.conv, k.w_step, &epi, &kernel));
  if (k.is_packed && kernel.packed_bytes > c->p->buffers.data[i->operands[k.b].buffer].size)
    return wk_error_at(WK_INTERNAL, i->name, "packed weights have another size");
  wk_ssa args[3 + WK_CPU_MAX_OPERANDS + WK_MAX_LIMITS + 1];
  uint32_t n_args = 3 + (uint32_t)k.n_operands;
  args[0] = wk_codegen_address(c, &i->operands[WK_CONTRACT_Y]);
  args[1] = wk_codegen_address(c, &i->operands[k.a]);
  args[2] = wk_codegen_address(c, &i->operands[k.b]);
  for (int o = 0; o < k.n_operands; o++)
    args[3 + o] = wk_codegen_address(c, &i->operands[k.operand[o]]);
  double ns = (double)wk_inst_macs(i) / macs_per_ns(c->e.simd, i);
  if (k.is_packed) ns += (double)kernel.packed_bytes / 10;
  for (int l = 0; l < kernel.n_limits; l++)
    args[n_args++] = wk_codegen_address(c, &i->limits[kernel.limits[l] - 1].size);
  wk_codegen_count_limits(c, i, &kernel);
  if (kernel.list) args[n_args++] = wk_codegen_address(c, &i->limits[kernel.list - 1].rows);
  wk_codegen_run(c, &kernel, args, n_args, ns);
  return NULL;
}
