/* SPDX-License-Identifier: Apache-2.0
 *
 * Branches and loops inside a step. Bodies nest as deep as the model says, so the blocks that are
 * open stand in a list of frames instead of on the C stack. */
#include <stdlib.h>

#include "targets/cpu/codegen.h"

typedef struct {
  const wk_inst *owner; /* IF or LOOP; NULL for the outermost block */
  const wk_block *block;
  size_t next;
  uint32_t body;
  wk_llvm_branch branch;        /* IF */
  LLVMBasicBlockRef head, exit; /* LOOP */
  wk_ssa outer_iteration;
} frame;

typedef WK_VEC(frame) frames;

static LLVMBasicBlockRef new_block(wk_llvm *e) {
  return LLVMAppendBasicBlockInContext(e->ctx, e->fn, "");
}

static wk_ssa is_true(wk_llvm *e, wk_ssa address) {
  wk_ssa byte = wk_llvm_load(e, e->i8, address);
  return LLVMBuildICmp(e->b, LLVMIntNE, byte, LLVMConstInt(e->i8, 0, 0), "");
}

static void open_if(wk_codegen *c, frames *open, const wk_inst *i) {
  frame f = {.owner = i, .block = &i->bodies[0], .outer_iteration = c->iteration};
  wk_llvm_if(&c->e, &f.branch, is_true(&c->e, wk_codegen_address(c, &i->operands[0])));
  if (i->n_bodies > 1) wk_codegen_leave_out(c, &i->bodies[1], NULL);
  wk_vec_push(open, f);
}

/* head: i < trip and the condition holds, else exit; then the body. */
static void open_loop(wk_codegen *c, frames *open, const wk_inst *i) {
  wk_llvm *e = &c->e;
  const wk_view *cond = &i->operands[0], *counter = &i->operands[1];
  frame f = {.owner = i, .block = &i->bodies[0], .outer_iteration = c->iteration,
             .head = new_block(e), .exit = new_block(e)};
  wk_ssa cond_at = cond->buffer == WK_NONE ? NULL : wk_codegen_address(c, cond);
  wk_ssa counter_at = counter->buffer == WK_NONE ? NULL : wk_codegen_address(c, counter);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), body = new_block(e);
  wk_ssa zero = wk_llvm_int(e, 0);
  LLVMBuildBr(e->b, f.head);
  LLVMPositionBuilderAtEnd(e->b, f.head);
  c->iteration = LLVMBuildPhi(e->b, e->i64, "");
  LLVMAddIncoming(c->iteration, &zero, &before, 1);
  int64_t trip = ((const wk_attr_loop *)i->attrs)->trip;
  wk_ssa more = wk_llvm_lt(e, c->iteration, wk_llvm_int(e, trip));
  if (cond_at) {
    LLVMBasicBlockRef test = new_block(e);
    LLVMBuildCondBr(e->b, more, test, f.exit);
    LLVMPositionBuilderAtEnd(e->b, test);
    more = is_true(e, cond_at);
  }
  LLVMBuildCondBr(e->b, more, body, f.exit);
  LLVMPositionBuilderAtEnd(e->b, body);
  if (counter_at) wk_llvm_store(e, c->iteration, counter_at);
  wk_vec_push(open, f);
}

static void close_loop(wk_codegen *c, const frame *f) {
  wk_llvm *e = &c->e;
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b);
  wk_ssa next = wk_llvm_add(e, c->iteration, wk_llvm_int(e, 1));
  LLVMBuildBr(e->b, f->head);
  LLVMAddIncoming(c->iteration, &next, &latch, 1);
  LLVMPositionBuilderAtEnd(e->b, f->exit);
  int64_t trip = ((const wk_attr_loop *)f->owner->attrs)->trip;
  if (f->owner->operands[0].buffer != WK_NONE)
    wk_codegen_leave_out(c, f->block, LLVMBuildSub(e->b, wk_llvm_int(e, trip), c->iteration, ""));
  c->iteration = f->outer_iteration;
}

/* The frame on top has no instruction left: on to the other branch, or out of it. */
static void close_block(wk_codegen *c, frames *open) {
  frame *f = &open->data[open->n - 1];
  if (f->owner && f->owner->op == WK_OP_IF) {
    if (f->body + 1 < f->owner->n_bodies) {
      wk_llvm_else(&c->e, &f->branch);
      wk_codegen_leave_out(c, f->block, NULL);
      f->block = &f->owner->bodies[++f->body];
      f->next = 0;
      return;
    }
    wk_llvm_endif(&c->e, &f->branch);
  } else if (f->owner) {
    close_loop(c, f);
  }
  open->n--;
}

wk_status wk_codegen_block(wk_codegen *c, const wk_block *b) {
  frames open = {0};
  frame outermost = {.block = b, .outer_iteration = c->iteration};
  wk_status s = NULL;
  wk_vec_push(&open, outermost);
  while (open.n > 0 && !s) {
    frame *f = &open.data[open.n - 1];
    if (f->next == f->block->insts.n) {
      close_block(c, &open);
      continue;
    }
    const wk_inst *i = f->block->insts.data[f->next++];
    if (i->op == WK_OP_IF) open_if(c, &open, i);
    else if (i->op == WK_OP_LOOP) open_loop(c, &open, i);
    else s = wk_codegen_inst(c, i);
  }
  wk_vec_free(&open);
  return s;
}
