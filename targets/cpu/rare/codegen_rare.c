/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the C code in rare/. One row per instruction says which file has it and who fills in its
 * description; the task that is run hands the description to the function as one more argument. */
#include "targets/cpu/rare/rare_call.h"
#include "targets/cpu/rare/rare_link.h"

typedef enum { ANY, FLOATS } element_types;

static const struct {
  wk_op op;
  wk_rare_file file;
  element_types types;
  void (*describe)(wk_rare_call *r);
} rows[] = {
#define X(op, file, types, describe) {WK_OP_##op, WK_RARE_##file, types, wk_describe_##describe},
    WK_RARE_ROWS(X)
#undef X
};

static bool is_window(wk_op op) {
  return op == WK_OP_CONV || op == WK_OP_CONV_TRANSPOSE || wk_op_get(op)->cls == WK_CLASS_POOL;
}

const char *wk_codegen_rare_refusal(wk_op op, wk_dtype t, int rank) {
  for (size_t k = 0; k < WK_COUNTOF(rows); k++) {
    if (rows[k].op != op) continue;
    if (is_window(op) && rank > 2 + WK_RARE_SPATIAL) return "more than three spatial axes";
    if (rows[k].types == FLOATS && !wk_dtype_is_float(t)) return "integers are not supported";
    return NULL;
  }
  return "no code for this operator";
}

/* A task that calls r->function with the description behind its arguments. */
static wk_ssa emit_task(wk_codegen *c, const wk_rare_call *r) {
  wk_llvm *e = &c->e;
  int64_t words[WK_RARE_ATTRS + WK_RARE_MAX_VIEWS * sizeof(wk_rare_view) / 8];
  size_t n = WK_RARE_ATTRS + r->n_views * sizeof(wk_rare_view) / 8;
  memcpy(words, r->attr, sizeof r->attr);
  memcpy(words + WK_RARE_ATTRS, r->view, r->n_views * sizeof(wk_rare_view));
  wk_ssa table = wk_codegen_table(c, words, n);
  const char *name = wk_arena_printf(c->arena, "wk.%s.%s", r->function + sizeof "wk_rare_" - 1,
                                     LLVMGetValueName(table) + sizeof "wk.table." - 1);
  wk_ssa task = LLVMGetNamedFunction(e->mod, name);
  if (task) return task;
  LLVMTypeRef params[] = {e->ptr, e->ptr, e->i64, e->i64, e->ptr};
  wk_ssa function = LLVMGetNamedFunction(e->mod, r->function);
  if (!function)
    function = LLVMAddFunction(e->mod, r->function, LLVMFunctionType(e->void_t, params, 5, 0));
  wk_llvm_place place = wk_llvm_save(e);
  task = wk_llvm_function(e, name, params, 4);
  wk_ssa args[5];
  for (unsigned k = 0; k < 4; k++) args[k] = LLVMGetParam(task, k);
  args[4] = table;
  wk_llvm_call(e, function, args, 5);
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return task;
}

/* Arguments by view: pools have their indices in view 1 even when the instruction has none. */
static uint32_t arguments(const wk_rare_call *r, wk_ssa *args) {
  wk_codegen *c = r->c;
  bool is_pool = wk_op_get(r->i->op)->cls == WK_CLASS_POOL && r->i->op != WK_OP_UNPOOL;
  for (uint32_t k = 0; k < r->n_views; k++) {
    uint32_t from = is_pool && k == 2 ? r->i->n_out : k;
    const wk_view *v = wk_rare_operand(r, from);
    bool absent = (is_pool && k == 1 && r->i->n_out < 2) || v->buffer == WK_NONE;
    args[k] = absent ? LLVMConstNull(c->e.ptr) : wk_codegen_address(c, v);
  }
  args[r->n_views] = wk_llvm_off(&c->e, c->exec, offsetof(wick_exec, error));
  return r->n_views + 1;
}

/* Scatters write into a copy of their data, unless that is where the result is. */
static wk_status copy_data(wk_codegen *c, const wk_inst *i) {
  if (wk_view_same(&i->operands[0], &i->operands[1])) return NULL;
  wk_view operands[] = {i->operands[0], i->operands[1]};
  wk_inst copy = {.op = WK_OP_COPY, .name = i->name, .attrs = (void *)i->attrs, .n_out = 1,
                  .n_operands = 2, .operands = operands};
  return wk_codegen_inst(c, &copy);
}

/* Tasks below the limit of the axis that they begin with; NULL: it has none. */
static wk_ssa live_tasks(const wk_rare_call *r) {
  wk_llvm *e = &r->c->e;
  for (uint32_t k = 0; k < r->i->n_limits && r->outer >= 0; k++) {
    const wk_limit *l = &r->i->limits[k];
    if (l->axis != r->outer || wk_limit_has_rows(l)) continue;
    int64_t dim = r->i->operands[0].dims[l->axis];
    wk_ssa size = wk_llvm_load(e, e->i64, wk_codegen_address(r->c, &l->size));
    wk_ssa none = wk_llvm_int(e, 0), is_none = wk_llvm_lt(e, size, none);
    size = wk_llvm_min(e, wk_llvm_select(e, is_none, none, size), wk_llvm_int(e, dim));
    return wk_llvm_mul(e, size, r->n_tasks / dim);
  }
  return NULL;
}

wk_status wk_codegen_rare(wk_codegen *c, const wk_inst *i) {
  const wk_view *x = &i->operands[i->n_operands > i->n_out ? i->n_out : 0];
  const char *refusal = wk_codegen_rare_refusal(i->op, x->dtype, x->rank);
  if (refusal)
    return wk_error_at(WK_UNSUPPORTED, i->name, "%s: %s", wk_op_get(i->op)->name, refusal);
  if (i->op == WK_OP_SCATTER_ELEMENTS || i->op == WK_OP_SCATTER_ND) WK_TRY(copy_data(c, i));
  size_t row = 0;
  while (rows[row].op != i->op) row++;
  wk_rare_call r = {.c = c, .i = i, .file = rows[row].file, .outer = -1};
  rows[row].describe(&r);
  if (r.n_tasks == 0) return NULL;
  c->rare |= UINT32_C(1) << r.file;
  wk_ssa args[WK_RARE_MAX_VIEWS + 1];
  uint32_t n = arguments(&r, args);
  wk_cpu_kernel kernel = {.task = emit_task(c, &r),
                          .n_tasks = r.n_tasks,
                          .live_tasks = live_tasks(&r),
                          .scratch_bytes = r.scratch_bytes};
  wk_codegen_run(c, &kernel, args, n, r.ns);
  return NULL;
}
