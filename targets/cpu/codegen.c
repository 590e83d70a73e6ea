/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/codegen.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/abi.h"

enum { SMALL_NS = 20000, PIECE_NS = 10000 };

void wk_codegen_begin(wk_codegen *c, LLVMContextRef ctx, LLVMModuleRef mod, const wk_simd *simd) {
  memset(c, 0, sizeof *c);
  wk_llvm_init(&c->e, ctx, mod, simd);
  c->arena = wk_arena_new();
}

void wk_codegen_end(wk_codegen *c) {
  wk_llvm_free(&c->e);
  wk_vec_free(&c->routines);
  wk_vec_free(&c->linked);
  wk_arena_free(c->arena);
  c->arena = NULL;
}

char *wk_symbol_text(wk_arena *a, const char *s, size_t most) {
  size_t n = strlen(s);
  char *out = wk_arena_strndup(a, s, n < most ? n : most);
  for (char *p = out; *p; p++)
    if (!isalnum((unsigned char)*p)) *p = '_';
  return out;
}

/* ---- addresses ------------------------------------------------------------------------------ */

static wk_ssa field(wk_codegen *c, size_t offset, LLVMTypeRef type) {
  return wk_llvm_load(&c->e, type, wk_llvm_off(&c->e, c->exec, (int64_t)offset));
}

static wk_ssa io_pointer(wk_codegen *c, uint32_t k) {
  return wk_llvm_load(&c->e, c->e.ptr, wk_llvm_off(&c->e, c->io, (int64_t)k * 8));
}

wk_ssa wk_codegen_address(wk_codegen *c, const wk_view *v) {
  const wk_buffer *b = &c->p->buffers.data[v->buffer];
  wk_ssa base = NULL;
  int64_t offset = v->offset;
  switch (b->region) {
    case WK_REGION_CONST:
      base = c->consts;
      offset += (int64_t)c->const_at[v->buffer];
      break;
    case WK_REGION_INPUT: base = io_pointer(c, b->io); break;
    case WK_REGION_OUTPUT: base = io_pointer(c, (uint32_t)c->p->inputs.n + b->io); break;
    case WK_REGION_ACT:
      base = c->memory;
      offset += b->offset;
      break;
    case WK_REGION_STATE:
      base = field(c, offsetof(wick_exec, state), c->e.ptr);
      offset += b->offset;
      break;
    default: return LLVMConstNull(c->e.ptr);
  }
  base = wk_llvm_off(&c->e, base, offset);
  if (v->step == 0 || !c->iteration) return base;
  return wk_llvm_at(&c->e, base, wk_llvm_mul(&c->e, c->iteration, v->step));
}

wk_ssa wk_codegen_table(wk_codegen *c, const int64_t *words, size_t n) {
  wk_llvm *e = &c->e;
  uint64_t hash = wk_hash64(words, n * sizeof *words, n);
  const char *name = wk_arena_printf(c->arena, "wk.table.%016llx", (unsigned long long)hash);
  wk_ssa found = LLVMGetNamedGlobal(e->mod, name);
  if (found) return found;
  wk_ssa *values = wk_arena_alloc(c->arena, n * sizeof *values);
  for (size_t i = 0; i < n; i++) values[i] = wk_llvm_int(e, words[i]);
  wk_ssa data = LLVMConstArray2(e->i64, values, n);
  wk_ssa global = LLVMAddGlobal(e->mod, LLVMTypeOf(data), name);
  LLVMSetInitializer(global, data);
  LLVMSetLinkage(global, LLVMInternalLinkage);
  LLVMSetGlobalConstant(global, 1);
  LLVMSetAlignment(global, 16);
  return global;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* wick_task_fn around a kernel's task. */
static wk_ssa thunk(wk_codegen *c, wk_ssa task) {
  wk_llvm *e = &c->e;
  const char *name = wk_arena_printf(c->arena, "%s.piece", LLVMGetValueName(task));
  wk_ssa fn = LLVMGetNamedFunction(e->mod, name);
  if (fn) return fn;
  wk_llvm_place place = wk_llvm_save(e);
  LLVMTypeRef params[] = {e->ptr, e->i64, e->i64, e->ptr};
  fn = wk_llvm_function(e, name, params, 4);
  wk_ssa args[] = {LLVMGetParam(fn, 0), LLVMGetParam(fn, 3), LLVMGetParam(fn, 1),
                   LLVMGetParam(fn, 2)};
  wk_llvm_call(e, task, args, 4);
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return fn;
}

/* void wk.parallel(exec, fn, ctx, n, grain): by the caller's parallel_for when there is one. */
static wk_ssa parallel(wk_codegen *c) {
  wk_llvm *e = &c->e;
  wk_ssa fn = LLVMGetNamedFunction(e->mod, "wk.parallel");
  if (fn) return fn;
  wk_llvm_place place = wk_llvm_save(e);
  LLVMTypeRef params[] = {e->ptr, e->ptr, e->ptr, e->i64, e->i64};
  fn = wk_llvm_function(e, "wk.parallel", params, 5);
  wk_ssa args[5];
  for (unsigned k = 0; k < 5; k++) args[k] = LLVMGetParam(fn, k);
  LLVMTypeRef task_params[] = {e->ptr, e->i64, e->i64, e->ptr};
  LLVMTypeRef task = LLVMFunctionType(e->void_t, task_params, 4, 0);
  wk_ssa given =
      wk_llvm_load(e, e->ptr, wk_llvm_off(e, args[0], (int64_t)offsetof(wick_exec, parallel_for)));
  wk_llvm_branch branch;
  wk_llvm_if(e, &branch, LLVMBuildIsNull(e->b, given, ""));
  wk_ssa scratch =
      wk_llvm_load(e, e->ptr, wk_llvm_off(e, args[0], (int64_t)offsetof(wick_exec, scratch)));
  wk_ssa direct[] = {args[2], wk_llvm_int(e, 0), args[3], scratch};
  LLVMBuildCall2(e->b, task, args[1], direct, 4, "");
  wk_llvm_else(e, &branch);
  LLVMBuildCall2(e->b, LLVMGlobalGetValueType(fn), given, args, 5, "");
  wk_llvm_endif(e, &branch);
  wk_llvm_return(e);
  wk_llvm_restore(e, place);
  return fn;
}

static void run_tasks(wk_codegen *c, const wk_cpu_kernel *k, wk_ssa tasks, double nanoseconds) {
  wk_llvm *e = &c->e;
  if (k->n_tasks == 1 || nanoseconds < SMALL_NS) {
    wk_ssa scratch = field(c, offsetof(wick_exec, scratch), e->ptr);
    wk_ssa direct[] = {c->args, scratch, wk_llvm_int(e, 0), tasks};
    wk_llvm_call(e, k->task, direct, 4);
    return;
  }
  double grain = (double)k->n_tasks * PIECE_NS / nanoseconds;
  wk_ssa run[] = {c->exec, thunk(c, k->task), c->args, tasks,
                  wk_llvm_int(e, grain < 1 ? 1 : (int64_t)grain)};
  wk_llvm_call(e, parallel(c), run, 5);
}

void wk_codegen_run(wk_codegen *c, const wk_cpu_kernel *k, const wk_ssa *args, uint32_t n,
                    double nanoseconds) {
  wk_llvm *e = &c->e;
  wk_llvm_branch some;
  if (k->n_tasks == 0) return;
  if (k->scratch_bytes > c->scratch_bytes) c->scratch_bytes = k->scratch_bytes;
  for (uint32_t a = 0; a < n; a++)
    wk_llvm_store(e, args[a], wk_llvm_off(e, c->args, (int64_t)a * 8));
  if (!k->live_tasks) {
    run_tasks(c, k, wk_llvm_int(e, k->n_tasks), nanoseconds);
    return;
  }
  wk_llvm_if(e, &some, wk_llvm_lt(e, wk_llvm_int(e, 0), k->live_tasks));
  run_tasks(c, k, k->live_tasks, nanoseconds);
  wk_llvm_endif(e, &some);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static uint32_t most_operands(const wk_program *p, wk_arena *scratch) {
  wk_inst_pos *all;
  size_t n = wk_program_flatten(p, scratch, &all);
  uint32_t most = 0, nested = 0;
  for (size_t i = 0; i < n; i++) {
    const wk_inst *x = all[i].inst;
    nested = x->op == WK_OP_NEST ? 0 : nested + x->n_operands; /* a nest's arguments follow it */
    if (x->n_operands > most) most = x->n_operands;
    if (nested > most) most = nested;
  }
  return most;
}

static wk_status emit_step(wk_codegen *c, const wk_inst *i, const char *name, uint32_t room) {
  wk_llvm *e = &c->e;
  LLVMTypeRef params[] = {e->ptr, e->ptr, e->ptr, e->ptr};
  wk_ssa fn = wk_llvm_function(e, name, params, 4);
  c->exec = LLVMGetParam(fn, 0);
  c->consts = LLVMGetParam(fn, 1);
  c->io = LLVMGetParam(fn, 2);
  c->memory = LLVMGetParam(fn, 3);
  c->iteration = NULL;
  /* absent operands are passed as well, limits, and the error field */
  c->args = LLVMBuildAlloca(e->b, LLVMArrayType2(e->ptr, room + 6 + WK_MAX_LIMITS), "");
  wk_inst *one[] = {(wk_inst *)i};
  wk_block block = {.insts = {one, 1, 1}};
  WK_TRY(wk_codegen_block(c, &block));
  wk_llvm_return(e);
  return NULL;
}

/* exec of a caller that gave none: scratch lies behind the arena, there is no state. */
static wk_ssa own_exec(wk_codegen *c, wk_ssa memory) {
  enum { OWN_BYTES = offsetof(wick_exec, state) };
  wk_llvm *e = &c->e;
  wk_ssa exec = LLVMBuildAlloca(e->b, LLVMArrayType2(e->i64, OWN_BYTES / 8), "");
  int64_t behind = (int64_t)wk_align_up((uint64_t)c->p->region_size[WK_REGION_ACT], WICK_ALIGN);
  for (size_t at = 0; at < OWN_BYTES; at += 8) {
    wk_ssa v = LLVMConstNull(e->ptr);
    if (at == offsetof(wick_exec, scratch)) v = wk_llvm_off(e, memory, behind);
    if (at == offsetof(wick_exec, threads)) v = wk_llvm_int(e, 1);
    wk_llvm_store(e, v, wk_llvm_off(e, exec, (int64_t)at));
  }
  return exec;
}

static void emit_entry(wk_codegen *c, const wk_codegen_entry *entry) {
  wk_llvm *e = &c->e;
  LLVMTypeRef params[] = {e->ptr, e->ptr, e->ptr, e->ptr};
  wk_ssa fn = LLVMAddFunction(e->mod, entry->entry, LLVMFunctionType(e->i32, params, 4, 0));
  wk_llvm_attributes(e, fn);
  e->fn = fn;
  LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->ctx, fn, ""));
  wk_ssa memory = LLVMGetParam(fn, 3), own = own_exec(c, memory), given = LLVMGetParam(fn, 0);
  wk_ssa exec = wk_llvm_select(e, LLVMBuildIsNull(e->b, given, ""), own, given);
  wk_ssa args[] = {exec, LLVMGetParam(fn, 1), LLVMGetParam(fn, 2), memory};
  for (size_t i = 0; i < entry->n_steps; i++)
    wk_llvm_call(e, LLVMGetNamedFunction(e->mod, entry->steps[i]), args, 4);
  wk_ssa error = wk_llvm_load(e, e->i64, wk_llvm_off(e, exec, offsetof(wick_exec, error)));
  LLVMBuildRet(e->b, LLVMBuildTrunc(e->b, error, e->i32, ""));
}

wk_status wk_codegen_program(wk_codegen *c, const wk_program *p, const uint64_t *const_at,
                             const char *prefix, wk_codegen_entry *out) {
  enum { NAME_ROOM = 80 };
  c->p = p;
  c->const_at = const_at;
  *out = (wk_codegen_entry){.entry = wk_arena_printf(c->arena, "%s.run", prefix),
                            .n_steps = p->body.insts.n};
  out->steps = wk_arena_alloc(c->arena, out->n_steps * sizeof *out->steps);
  wk_arena *scratch = wk_arena_new();
  uint32_t room = most_operands(p, scratch);
  wk_arena_free(scratch);
  for (size_t i = 0; i < out->n_steps; i++) {
    const wk_inst *inst = p->body.insts.data[i];
    const char *node = wk_symbol_text(c->arena, inst->name ? inst->name : "", NAME_ROOM);
    out->steps[i] = wk_arena_printf(c->arena, "%s.step%zu.%s%s%s", prefix, i,
                                    wk_op_get(inst->op)->name, *node ? "." : "", node);
    wk_status s = emit_step(c, inst, out->steps[i], room);
    if (s) return wk_status_note(s, "while emitting step %zu of %s", i, prefix);
  }
  emit_entry(c, out);
  return NULL;
}
