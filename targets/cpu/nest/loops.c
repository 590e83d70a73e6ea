/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/nest/loops.h"

#include <stdlib.h>
#include <string.h>

#include "targets/cpu/nest/nest.h"

/* ---- identity -------------------------------------------------------------------------------- */

/* Everything that decides the code, as text. */
static void describe_statement(wk_str *b, const wk_nest_statement *s) {
  wk_str_printf(b, "; %d %d %d %d %d %d %d %lld;", (int)s->fold, s->select_last, (int)s->folded,
                s->rank, s->kept, s->lanes, s->clip, (long long)s->clip_of);
  for (int d = 0; d < s->rank; d++)
    wk_str_printf(b, " %lld/%d/%lld/%d", (long long)s->dim[d].n, s->dim[d].axis,
                  (long long)s->dim[d].scale, s->dim[d].limit);
  for (int d = 0; d < s->rank; d++)
    if (s->dim[d].listed) wk_str_printf(b, " listed %d", d);
  for (uint32_t k = 0; k < s->n_operands; k++) {
    const wk_nest_operand *o = &s->operands[k];
    wk_str_printf(b, "; %d %d %lld", (int)o->dtype, o->is_scratch,
                  o->is_scratch ? (long long)o->at : (long long)o->arg);
    for (int d = 0; d < s->rank; d++) wk_str_printf(b, " %lld", (long long)o->stride[d]);
  }
  wk_str_printf(b, "; %u %d %d%s %016llx", s->n_out, s->vector, s->tile, s->is_run ? "r" : "",
                (unsigned long long)wk_expr_hash(s->body, 0));
  if (s->post) wk_str_printf(b, " %016llx", (unsigned long long)wk_expr_hash(s->post, 1));
}

static void name_of(const wk_nest *n, char name[40]) {
  wk_str b = {0};
  wk_str_printf(&b, "%d %lld %u", n->outer, (long long)n->group, n->n_args);
  for (uint32_t k = 0; k < n->n; k++) describe_statement(&b, &n->statements[k]);
  const char *kind = n->n > 1 ? "nest" : n->statements[0].fold ? "reduce" : "map";
  snprintf(name, 40, "wk.%s.%016llx", kind, (unsigned long long)wk_hash64(b.s, b.n, 0));
  wk_str_free(&b);
}

/* ---- the task function ----------------------------------------------------------------------- */

static void place_operands(wk_llvm *e, const wk_nest_statement *s, wk_ssa *base) {
  wk_ssa args = LLVMGetParam(e->fn, 0), scratch = LLVMGetParam(e->fn, 1);
  for (uint32_t k = 0; k < s->n_operands; k++) {
    const wk_nest_operand *o = &s->operands[k];
    if (o->dtype == WK_DTYPE_NONE) continue;
    base[k] = o->is_scratch ? wk_llvm_off(e, scratch, o->at)
                            : wk_llvm_load(e, e->ptr, wk_llvm_off(e, args, 8 * (int64_t)o->arg));
  }
}

/* Coordinates of a position in the outer dims, slowest first. */
static void split_position(wk_llvm *e, const wk_nest *n, wk_ssa position, wk_ssa *coordinates) {
  const wk_nest_statement *s = &n->statements[0];
  for (int d = n->outer - 1; d >= 0; d--) {
    coordinates[d] = d == 0 ? position : wk_llvm_mod(e, position, s->dim[d].n);
    if (d > 0) position = wk_llvm_div(e, position, s->dim[d].n);
  }
}

/* True where all coordinates are below the limits of their dims; NULL: there are none. */
static wk_ssa counts(wk_llvm *e, const wk_nest *n, const wk_ssa *limits, const wk_ssa *at) {
  wk_ssa all = NULL;
  for (int d = 0; d < n->outer; d++) {
    const wk_nest_dim *dim = &n->statements[0].dim[d];
    if (!dim->limit) continue;
    wk_ssa one = wk_llvm_lt(e, wk_llvm_mul(e, at[d], dim->scale), limits[dim->limit - 1]);
    all = all ? LLVMBuildAnd(e->b, all, one, "") : one;
  }
  return all;
}

static void emit_position(wk_llvm *e, const wk_nest *n, wk_nest_at *starts, wk_ssa position) {
  wk_ssa coordinates[WK_NEST_RANK];
  wk_llvm_branch some;
  split_position(e, n, position, coordinates);
  wk_ssa counted = counts(e, n, starts[0].limits, coordinates);
  if (counted) wk_llvm_if(e, &some, counted);
  for (uint32_t k = 0; k < n->n; k++) {
    wk_nest_at at = starts[k];
    for (int d = 0; d < n->outer; d++) wk_nest_step(&at, d, coordinates[d]);
    if (at.s->fold == WK_FOLD_NONE) wk_nest_map_codegen(&at, n->outer);
    else wk_nest_reduce_codegen(&at, n->outer);
  }
  if (counted) wk_llvm_endif(e, &some);
}

/* Those that some dim has. */
static const wk_ssa *load_limits(wk_llvm *e, const wk_nest *n) {
  wk_ssa *limits = wk_arena_alloc(n->arena, WK_MAX_LIMITS * sizeof *limits);
  for (uint32_t k = 0; k < n->n; k++)
    for (int d = 0; d < n->statements[k].rank; d++) {
      int limit = n->statements[k].dim[d].limit;
      if (!limit || limits[limit - 1]) continue;
      int64_t arg = (int64_t)n->n_args + limit - 1;
      wk_ssa at = wk_llvm_load(e, e->ptr, wk_llvm_off(e, LLVMGetParam(e->fn, 0), 8 * arg));
      wk_ssa zero = wk_llvm_int(e, 0), given = wk_llvm_load(e, e->i64, at);
      limits[limit - 1] = wk_llvm_select(e, wk_llvm_lt(e, given, zero), zero, given);
    }
  return limits;
}

static const wk_ssa *load_rows(wk_llvm *e, const wk_nest *n) {
  wk_ssa *rows = wk_arena_alloc(n->arena, WK_MAX_LIMITS * sizeof *rows);
  int64_t arg = (int64_t)n->n_args + n->n_limits;
  for (int k = 0; k < n->n_limits; k++)
    if (n->has_rows[k])
      rows[k] = wk_llvm_load(e, e->ptr, wk_llvm_off(e, LLVMGetParam(e->fn, 0), 8 * arg++));
  return rows;
}

static void emit_task(wk_llvm *e, const wk_nest *n) {
  wk_ssa begin = LLVMGetParam(e->fn, 2), end = LLVMGetParam(e->fn, 3);
  wk_nest_at *starts = wk_arena_alloc(n->arena, n->n * sizeof *starts);
  const wk_ssa *limits = load_limits(e, n), *rows = load_rows(e, n);
  for (uint32_t k = 0; k < n->n; k++) {
    const wk_nest_statement *s = &n->statements[k];
    starts[k] = (wk_nest_at){.e = e, .arena = n->arena, .s = s, .limits = limits,
                            .rows = rows};
    starts[k].base = wk_arena_alloc(n->arena, s->n_operands * sizeof(wk_ssa));
    place_operands(e, s, starts[k].base);
    for (int a = 0; a < WK_MAX_RANK; a++) starts[k].pos[a] = wk_llvm_int(e, 0);
  }
  wk_ssa first = wk_llvm_mul(e, begin, n->group);
  wk_ssa last = wk_llvm_min(e, wk_llvm_mul(e, end, n->group), wk_llvm_int(e, n->positions));
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, first, last, 1, NULL, 0);
  emit_position(e, n, starts, l.i);
  wk_llvm_end(e, &l, NULL);
  wk_llvm_return(e);
}

static wk_status emit_nest(wk_llvm *e, const wk_program *p, const wk_inst *i, wk_cpu_kernel *out) {
  wk_arena *arena = wk_arena_new();
  wk_nest n;
  wk_status s = wk_nest_build(arena, p, i, &n);
  if (!s) {
    wk_nest_plan(e->simd, &n);
    char name[40];
    name_of(&n, name);
    *out = (wk_cpu_kernel){.task = LLVMGetNamedFunction(e->mod, name),
                           .n_tasks = wk_ceil_div(n.positions, n.group),
                           .scratch_bytes = n.scratch_bytes};
    if (!out->task) {
      LLVMTypeRef params[] = {e->ptr, e->ptr, e->i64, e->i64};
      wk_llvm_place place = wk_llvm_save(e);
      out->task = wk_llvm_function(e, name, params, 4);
      emit_task(e, &n);
      wk_llvm_restore(e, place);
    }
  }
  wk_arena_free(arena);
  return s;
}

static wk_status wrong(const wk_inst *i, const char *want) {
  return wk_error(WK_UNSUPPORTED, "%s where %s is expected", wk_op_get(i->op)->name, want);
}

wk_status wk_cpu_map_codegen(wk_llvm *e, const wk_program *p, const wk_inst *i,
                             wk_cpu_kernel *out) {
  if (i->op != WK_OP_MAP && i->op != WK_OP_COPY && i->op != WK_OP_FILL) return wrong(i, "a map");
  return emit_nest(e, p, i, out);
}

wk_status wk_cpu_reduce_codegen(wk_llvm *e, const wk_program *p, const wk_inst *i,
                                wk_cpu_kernel *out) {
  if (i->op != WK_OP_REDUCE) return wrong(i, "a reduce");
  return emit_nest(e, p, i, out);
}

wk_status wk_cpu_nest_codegen(wk_llvm *e, const wk_program *p, const wk_inst *i,
                              wk_cpu_kernel *out) {
  if (i->op != WK_OP_NEST) return wrong(i, "a nest");
  return emit_nest(e, p, i, out);
}
