/* SPDX-License-Identifier: Apache-2.0
 * Calls of routines, by custom operators. Those of the program are found in exec in a package, in
 * the order of the names that the unit has; elsewhere they are symbols, for the linker to find.
 * Those whose bitcode the plugin has become functions of the module. */
#include <stddef.h>
#include <string.h>

#include "compiler/ir/custom.h"
#include "runtime/abi.h"
#include "targets/cpu/codegen.h"

static void put(wk_codegen *c, wk_ssa at, size_t offset, wk_ssa v) {
  wk_llvm_store(&c->e, v, wk_llvm_off(&c->e, at, (int64_t)offset));
}

static wk_ssa pair(wk_codegen *c, uint32_t low, uint32_t high) {
  return wk_llvm_int(&c->e, (int64_t)((uint64_t)high << 32 | low));
}

static wk_ssa room(wk_codegen *c, size_t bytes) {
  return wk_llvm_local(&c->e, LLVMArrayType2(c->e.i64, bytes / 8 + 1));
}

static wk_ssa emit_tensors(wk_codegen *c, const wk_view *views, uint32_t n) {
  wk_ssa list = room(c, n * sizeof(wick_call_tensor));
  for (uint32_t k = 0; k < n; k++) {
    const wk_view *v = &views[k];
    bool is_there = v->buffer != WK_NONE;
    size_t at = k * sizeof(wick_call_tensor);
    put(c, list, at + offsetof(wick_call_tensor, data),
        is_there ? wk_codegen_address(c, v) : LLVMConstNull(c->e.ptr));
    put(c, list, at + offsetof(wick_call_tensor, dims), wk_codegen_table(c, v->dims, WK_MAX_RANK));
    put(c, list, at + offsetof(wick_call_tensor, dtype),
        pair(c, (uint32_t)v->dtype, (uint32_t)v->rank));
  }
  return list;
}

static wk_ssa emit_attributes(wk_codegen *c, const wk_attr_custom *a) {
  wk_ssa list = room(c, (size_t)a->counts.n * sizeof(wick_call_attribute));
  int64_t *words = wk_arena_memdup(c->arena, a->values.v, (size_t)a->values.n * sizeof(double));
  wk_ssa table = a->values.n ? wk_codegen_table(c, words, (size_t)a->values.n)
                             : LLVMConstNull(c->e.ptr);
  int64_t first = 0;
  for (int64_t k = 0; k < a->counts.n; first += a->counts.v[k++]) {
    size_t at = (size_t)k * sizeof(wick_call_attribute);
    put(c, list, at + offsetof(wick_call_attribute, values), wk_llvm_off(&c->e, table, first * 8));
    put(c, list, at + offsetof(wick_call_attribute, count), wk_llvm_int(&c->e, a->counts.v[k]));
  }
  return list;
}

static size_t routine_number(wk_codegen *c, const char *name) {
  for (size_t k = 0; k < c->routines.n; k++)
    if (strcmp(c->routines.data[k], name) == 0) return k;
  wk_vec_push(&c->routines, wk_arena_strdup(c->arena, name));
  return c->routines.n - 1;
}

static wk_ssa function_named(wk_codegen *c, const char *name, LLVMTypeRef type) {
  wk_ssa fn = LLVMGetNamedFunction(c->e.mod, name);
  return fn ? fn : LLVMAddFunction(c->e.mod, name, type);
}

static void link_later(wk_codegen *c, const wk_custom_op *op) {
  for (size_t k = 0; k < c->linked.n; k++)
    if (c->linked.data[k] == op) return;
  wk_vec_push(&c->linked, op);
}

static wk_ssa emit_routine(wk_codegen *c, const wk_custom_op *op, LLVMTypeRef type) {
  wk_llvm *e = &c->e;
  if (op->bitcode) {
    link_later(c, op);
    return function_named(c, op->routine, type);
  }
  size_t k = routine_number(c, op->routine);
  if (c->has_names) return function_named(c, op->routine, type);
  wk_ssa table = wk_llvm_load(e, e->ptr, wk_llvm_off(e, c->exec, offsetof(wick_exec, routines)));
  return wk_llvm_load(e, e->ptr, wk_llvm_off(e, table, (int64_t)(k * sizeof(void *))));
}

/* What it returns, if that is not 0, becomes the error of the run. */
static void keep_error(wk_codegen *c, wk_ssa returned) {
  wk_llvm *e = &c->e;
  wk_ssa at = wk_llvm_off(e, c->exec, offsetof(wick_exec, error));
  wk_ssa wide = LLVMBuildZExt(e->b, returned, e->i64, "");
  wk_ssa error = LLVMBuildOr(e->b, wk_llvm_mul(e, wide, INT64_C(1) << 32),
                             wk_llvm_int(e, WICK_ERROR_ROUTINE), "");
  wk_ssa is_done = LLVMBuildIsNull(e->b, returned, "");
  wk_llvm_store(e, wk_llvm_select(e, is_done, wk_llvm_load(e, e->i64, at), error), at);
}

wk_status wk_codegen_custom(wk_codegen *c, const wk_inst *i) {
  wk_llvm *e = &c->e;
  const wk_attr_custom *a = i->attrs;
  const wk_custom_op *op = wk_custom_find(a->domain, a->op);
  uint32_t n_in = i->n_operands - i->n_out;
  if (!op) return wk_error_at(WK_INTERNAL, i->name, "no plugin has %s.%s", a->domain, a->op);
  for (uint32_t k = 0; k < i->n_operands; k++)
    if (i->operands[k].buffer != WK_NONE && !wk_view_is_dense(&i->operands[k]))
      return wk_error_at(WK_INTERNAL, i->name, "%s was not prepared", wk_op_get(i->op)->name);
  wk_ssa call = room(c, sizeof(wick_call));
  put(c, call, offsetof(wick_call, inputs), emit_tensors(c, i->operands + i->n_out, n_in));
  put(c, call, offsetof(wick_call, outputs), emit_tensors(c, i->operands, i->n_out));
  put(c, call, offsetof(wick_call, attributes), emit_attributes(c, a));
  put(c, call, offsetof(wick_call, input_count), pair(c, n_in, i->n_out));
  put(c, call, offsetof(wick_call, attribute_count), pair(c, (uint32_t)a->counts.n, 0));
  put(c, call, offsetof(wick_call, exec), c->exec);
  LLVMTypeRef type = LLVMFunctionType(e->i32, &e->ptr, 1, 0);
  keep_error(c, LLVMBuildCall2(e->b, type, emit_routine(c, op, type), &call, 1, ""));
  return NULL;
}
