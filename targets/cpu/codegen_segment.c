/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "runtime/abi.h"
#include "targets/cpu/codegen.h"

enum { Y, DATA, OFFSETS, INDICES, WEIGHTS, SCALE, BIAS, OPERANDS };

/* Operand k; NULL: there is none. */
static const wk_view *operand(const wk_inst *i, uint32_t k) {
  return k < i->n_operands && i->operands[k].buffer != WK_NONE ? &i->operands[k] : NULL;
}

static int64_t step(const wk_inst *i, uint32_t k) {
  const wk_view *v = operand(i, k);
  return v ? v->strides[0] * wk_dtype_size(v->dtype) : 0;
}

static wk_cpu_segment_desc describe(const wk_inst *i) {
  const wk_attr_segment_reduce *a = i->attrs;
  const wk_view *data = operand(i, DATA), *indices = operand(i, INDICES);
  wk_cpu_segment_desc d;
  memset(&d, 0, sizeof d);
  d.data = data->dtype;
  d.offset = operand(i, OFFSETS)->dtype;
  if (indices) d.index = indices->dtype;
  d.to = a->to;
  d.rows = wk_segment_rows_of(a->rows);
  d.segments = operand(i, Y)->dims[0];
  d.n = (indices ? indices : data)->dims[0];
  d.n_rows = data->dims[0];
  d.columns = data->dims[1];
  d.padding = a->padding;
  d.is_mean = !strcmp(a->kind, "mean");
  d.is_max = !strcmp(a->kind, "max");
  d.has_weights = operand(i, WEIGHTS) != NULL;
  d.has_scale = operand(i, SCALE) != NULL;
  d.has_bias = operand(i, BIAS) != NULL;
  d.empty = a->empty;
  d.y_row = step(i, Y);
  d.data_row = step(i, DATA);
  d.offset_step = step(i, OFFSETS);
  d.index_step = step(i, INDICES);
  d.weight_step = step(i, WEIGHTS);
  d.scale_step = step(i, SCALE);
  d.bias_step = step(i, BIAS);
  return d;
}

wk_status wk_codegen_segment(wk_codegen *c, const wk_inst *i) {
  const wk_view *rows[] = {operand(i, Y), operand(i, DATA)};
  for (size_t k = 0; k < WK_COUNTOF(rows); k++)
    if (rows[k]->strides[1] != 1 && rows[k]->dims[1] > 1)
      return wk_error_at(WK_INTERNAL, i->name, "%s was not prepared", wk_op_get(i->op)->name);
  wk_cpu_segment_desc d = describe(i);
  wk_ssa args[OPERANDS + 1];
  for (uint32_t k = 0; k < OPERANDS; k++)
    args[k] = operand(i, k) ? wk_codegen_address(c, operand(i, k)) : LLVMConstNull(c->e.ptr);
  args[OPERANDS] = wk_llvm_off(&c->e, c->exec, offsetof(wick_exec, error));
  wk_cpu_kernel kernel;
  wk_cpu_segment_codegen(&c->e, &d, &kernel);
  double row = (double)(d.columns * wk_dtype_size(d.data));
  wk_codegen_run(c, &kernel, args, OPERANDS + 1,
                 (double)d.n * (10 + row / 8) + (double)wk_view_count(operand(i, Y)) / 2);
  return NULL;
}
