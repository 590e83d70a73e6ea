/* SPDX-License-Identifier: Apache-2.0
 * What a run left out of a step, counted where the caller asks for it (wick_exec.work): rows and
 * multiplications above limits, iterations that were not made, branches that were not taken. */
#include <stddef.h>

#include "runtime/abi.h"
#include "targets/cpu/codegen.h"

enum { WORK_ROWS, WORK_ALL_ROWS, WORK_LEFT_OUT };

/* What follows runs only where work is counted, until wk_llvm_endif. */
static wk_ssa begin_counting(wk_codegen *c, wk_llvm_branch *branch) {
  wk_llvm *e = &c->e;
  wk_ssa at = wk_llvm_off(e, c->exec, (int64_t)offsetof(wick_exec, work));
  wk_ssa work = wk_llvm_load(e, e->ptr, at);
  wk_llvm_if(e, branch, LLVMBuildIsNotNull(e->b, work, ""));
  return work;
}

static void count(wk_llvm *e, wk_ssa work, int which, wk_ssa n) {
  wk_ssa at = wk_llvm_off(e, work, 8 * which);
  wk_llvm_store(e, wk_llvm_add(e, wk_llvm_load(e, e->i64, at), n), at);
}

static int64_t positions_of(const wk_inst *i, const wk_limit *l) {
  const wk_view *y = &i->operands[0], *x = &i->operands[1];
  if (wk_limit_has_rows(l)) return l->rows.dims[0];
  return l->axis < y->rank ? y->dims[l->axis] : x->dims[x->rank - 1];
}

/* Of so many positions those below the size. */
static wk_ssa computed(wk_codegen *c, const wk_limit *l, int64_t positions) {
  wk_llvm *e = &c->e;
  wk_ssa size = wk_llvm_load(e, e->i64, wk_codegen_address(c, &l->size)), zero = wk_llvm_int(e, 0);
  size = wk_llvm_select(e, wk_llvm_lt(e, size, zero), zero, size);
  return wk_llvm_min(e, size, wk_llvm_int(e, positions));
}

void wk_codegen_count_limits(wk_codegen *c, const wk_inst *i, const wk_cpu_kernel *k) {
  const wk_view *y = &i->operands[0];
  int64_t rows = 1, macs = wk_inst_macs(i);
  if (k->n_limits == 0 || macs == 0) return;
  wk_llvm *e = &c->e;
  wk_llvm_branch branch;
  wk_ssa work = begin_counting(c, &branch);
  for (int axis = 0; axis + 1 < y->rank; axis++) rows *= y->dims[axis];
  count(e, work, WORK_ALL_ROWS, wk_llvm_int(e, rows));
  wk_ssa left_rows = wk_llvm_int(e, 1), left_macs = left_rows;
  int64_t a_row = rows, a_mac = macs; /* of one position of each limit */
  for (int n = 0; n < k->n_limits; n++) {
    const wk_limit *l = &i->limits[k->limits[n] - 1];
    int64_t positions = positions_of(i, l);
    wk_ssa below = computed(c, l, positions);
    left_macs = LLVMBuildMul(e->b, left_macs, below, "");
    a_mac /= positions;
    if (l->axis + 1 >= y->rank) continue;
    left_rows = LLVMBuildMul(e->b, left_rows, below, "");
    a_row /= positions;
  }
  count(e, work, WORK_ROWS, wk_llvm_mul(e, left_rows, a_row));
  wk_ssa done = wk_llvm_mul(e, left_macs, a_mac);
  count(e, work, WORK_LEFT_OUT, LLVMBuildSub(e->b, wk_llvm_int(e, macs), done, ""));
  wk_llvm_endif(e, &branch);
}

void wk_codegen_leave_out(wk_codegen *c, const wk_block *b, wk_ssa times) {
  wk_llvm *e = &c->e;
  int64_t macs = 0, bytes = 0;
  for (size_t k = 0; k < b->insts.n; k++) wk_inst_work(b->insts.data[k], &macs, &bytes);
  if (macs == 0) return;
  wk_llvm_branch branch;
  wk_ssa work = begin_counting(c, &branch);
  count(e, work, WORK_LEFT_OUT, times ? wk_llvm_mul(e, times, macs) : wk_llvm_int(e, macs));
  wk_llvm_endif(e, &branch);
}
