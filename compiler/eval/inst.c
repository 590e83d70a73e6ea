/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions. MAP, REDUCE, FILL and COPY work on the views as they are. Every other instruction
 * gathers operands that are not dense into temporaries, runs the handler of the node of the same
 * name, and scatters the results: one definition serves both IRs. */
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/inst.h"

static const char *place_of(const wk_inst *inst) {
  return inst->name && *inst->name ? inst->name : wk_op_get(inst->op)->name;
}

static int fixed_axes(const wk_frame *f, const wk_view *v) {
  return f->outer < v->rank ? f->outer : v->rank;
}

/* Where a view lies in this iteration and at this position of the enclosing nest; *t gets its
 * type, in which the axes of the nest have one position. */
static wk_operand locate(const wk_frame *f, const wk_view *v, wk_type *t) {
  wk_operand o = {.dtype = v->dtype};
  *t = wk_type_make(v->dtype, v->rank, v->dims);
  if (v->buffer == WK_NONE) return o;
  memcpy(o.strides, v->strides, sizeof o.strides);
  int64_t elements = 0;
  for (int i = 0; i < fixed_axes(f, v); i++) {
    elements += f->pos[i] * v->strides[i];
    t->dims[i] = 1;
  }
  o.base = (char *)f->bases[v->buffer] + v->offset + v->step * f->iteration +
           elements * wk_dtype_size(v->dtype);
  return o;
}

/* ---- through the node's handler -------------------------------------------------------------- */

/* Axes along which numpy broadcasting says the same as a stride of 0, so that nothing need be
 * repeated in memory: batch axes of a product, every axis of an epilogue's extra operand. */
static bool may_shrink(const wk_inst *inst, uint32_t k, const wk_view *v, int axis) {
  if (k < inst->n_out || v->strides[axis] != 0) return false;
  uint32_t in = k - inst->n_out;
  bool product = inst->op == WK_OP_MATMUL;
  bool contraction = product || inst->op == WK_OP_CONV || inst->op == WK_OP_CONV_TRANSPOSE;
  return (product && in < 2 && axis < v->rank - 2) || (contraction && in > 2);
}

static bool is_dense(const wk_operand *o, const wk_type *t) {
  int64_t dense[WK_MAX_RANK];
  wk_type_strides(t, dense);
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] != 1 && o->strides[i] != dense[i]) return false;
  return true;
}

/* Operand k as a dense tensor: its own memory, or a temporary (`own`), filled for an input. */
static wk_status to_dense(const wk_frame *f, const wk_inst *inst, uint32_t k, wk_operand *view,
                          wk_tensor *t, bool *own) {
  const wk_view *v = &inst->operands[k];
  wk_type type;
  *own = false;
  *view = locate(f, v, &type);
  for (int i = 0; i < type.rank; i++)
    if (may_shrink(inst, k, v, i)) type.dims[i] = 1;
  *t = (wk_tensor){type, view->base};
  if (!view->base || is_dense(view, &type)) return NULL;
  WK_TRY(wk_tensor_alloc(&type, t));
  *own = true;
  wk_operand dense = wk_operand_dense(t);
  if (k >= inst->n_out) wk_operand_copy(type.rank, type.dims, &dense, view);
  return NULL;
}

static wk_status run_handler(const wk_frame *f, const wk_inst *inst) {
  uint32_t n = inst->n_operands, prepared = 0;
  wk_tensor *tensors = wk_xcalloc(n, sizeof *tensors);
  wk_operand *views = wk_xcalloc(n, sizeof *views);
  bool *own = wk_xcalloc(n, sizeof *own);
  wk_node node = {.op = inst->op, .name = inst->name, .attrs = inst->attrs,
                  .n_in = n - inst->n_out, .n_out = inst->n_out};
  wk_eval_call c = {.a = {&node, NULL, tensors + inst->n_out, tensors}, .n_in = node.n_in,
                    .n_out = node.n_out};
  wk_status s = NULL;
  for (; prepared < n && !s; prepared++)
    s = to_dense(f, inst, prepared, &views[prepared], &tensors[prepared], &own[prepared]);
  if (!s) s = wk_eval_call_run(&c);
  for (uint32_t k = 0; k < prepared; k++) {
    if (!own[k]) continue;
    wk_operand dense = wk_operand_dense(&tensors[k]);
    if (!s && k < inst->n_out)
      wk_operand_copy(tensors[k].type.rank, tensors[k].type.dims, &views[k], &dense);
    wk_tensor_free(&tensors[k]);
  }
  free(tensors);
  free(views);
  free(own);
  return s;
}

/* ---- on views -------------------------------------------------------------------------------- */

static wk_operand *locate_all(const wk_frame *f, const wk_inst *inst, wk_type *space) {
  wk_operand *o = wk_xcalloc(inst->n_operands, sizeof *o);
  for (uint32_t k = inst->n_operands; k-- > 0;) {
    wk_type t;
    o[k] = locate(f, &inst->operands[k], &t);
    if (inst->operands[k].buffer != WK_NONE) *space = t;
  }
  return o;
}

/* Position of the nest, which index<k>() counts from. */
static void origin_of(const wk_frame *f, int64_t origin[WK_MAX_RANK]) {
  memset(origin, 0, WK_MAX_RANK * sizeof *origin);
  memcpy(origin, f->pos, (size_t)f->outer * sizeof *origin);
}

static wk_status run_map(const wk_frame *f, const wk_inst *inst) {
  const wk_attr_map *a = inst->attrs;
  wk_type space = {0};
  int64_t origin[WK_MAX_RANK];
  wk_operand *o = locate_all(f, inst, &space);
  origin_of(f, origin);
  wk_operands_map(a->body, space.rank, space.dims, origin, o + inst->n_out,
                  inst->n_operands - inst->n_out, o);
  free(o);
  return NULL;
}

static wk_status run_reduce(const wk_frame *f, const wk_inst *inst) {
  wk_type space = {0};
  int64_t origin[WK_MAX_RANK];
  wk_operand *o = locate_all(f, inst, &space);
  origin_of(f, origin);
  wk_status s = wk_operands_reduce(inst->attrs, space.rank, space.dims, origin, o + inst->n_out,
                                   inst->n_operands - inst->n_out, o);
  free(o);
  return s;
}

static wk_status run_fill(const wk_frame *f, const wk_inst *inst) {
  wk_type t;
  char value[8];
  wk_operand y = locate(f, &inst->operands[0], &t), x = {.base = value, .dtype = y.dtype};
  wk_store_f64(value, y.dtype, 0, ((const wk_attr_fill *)inst->attrs)->value);
  wk_operand_copy(t.rank, t.dims, &y, &x);
  return NULL;
}

static wk_status run_copy(const wk_frame *f, const wk_inst *inst) {
  wk_type t;
  wk_operand x = locate(f, &inst->operands[1], &t), y = locate(f, &inst->operands[0], &t);
  wk_operand_copy(t.rank, t.dims, &y, &x);
  return NULL;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static wk_status run_if(const wk_frame *f, const wk_inst *inst) {
  wk_type t;
  wk_operand cond = locate(f, &inst->operands[0], &t);
  wk_frame inner = *f;
  inner.depth++;
  return wk_frame_run(&inner, &inst->bodies[*(const uint8_t *)cond.base ? 0 : 1]);
}

static wk_status run_loop(const wk_frame *f, const wk_inst *inst) {
  wk_type t;
  wk_operand cond = locate(f, &inst->operands[0], &t), count = locate(f, &inst->operands[1], &t);
  int64_t trip = ((const wk_attr_loop *)inst->attrs)->trip;
  wk_frame inner = *f;
  inner.depth++;
  inner.hook = NULL; /* whoever looks at memory could not tell the iterations apart */
  for (int64_t i = 0; i < trip; i++) {
    if (cond.base && !*(const uint8_t *)cond.base) break;
    if (count.base) wk_store_i64(count.base, count.dtype, 0, i);
    inner.iteration = i;
    WK_TRY(wk_frame_run(&inner, &inst->bodies[0]));
  }
  return NULL;
}

/* The outer dims that the operands of the body share. */
static bool nest_dims(const wk_frame *f, const wk_inst *inst, int outer,
                      int64_t dims[WK_MAX_RANK]) {
  const wk_block *b = &inst->bodies[0];
  for (size_t i = 0; i < b->insts.n; i++) {
    for (uint32_t k = 0; k < b->insts.data[i]->n_operands; k++) {
      const wk_view *v = &b->insts.data[i]->operands[k];
      if (v->buffer == WK_NONE || v->rank < outer) continue;
      for (int d = 0; d < outer; d++) dims[d] = d < f->outer ? 1 : v->dims[d];
      return true;
    }
  }
  return false;
}

static wk_status run_nest(const wk_frame *f, const wk_inst *inst) {
  int outer = (int)((const wk_attr_nest *)inst->attrs)->outer;
  int64_t dims[WK_MAX_RANK] = {0}, pos[WK_MAX_RANK] = {0};
  wk_frame inner = *f;
  if (!nest_dims(f, inst, outer, dims) || wk_dims_count(dims, 0, outer) == 0) return NULL;
  inner.depth++;
  inner.hook = NULL; /* scratch holds one position only */
  inner.outer = outer > f->outer ? outer : f->outer;
  do {
    for (int d = f->outer; d < outer; d++) inner.pos[d] = pos[d];
    WK_TRY(wk_frame_run(&inner, &inst->bodies[0]));
  } while (wk_walk_next(outer, dims, pos));
  return NULL;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static wk_status step(const wk_frame *f, const wk_inst *inst) {
  static const struct {
    wk_op op;
    wk_status (*run)(const wk_frame *f, const wk_inst *inst);
  } rows[] = {{WK_OP_MAP, run_map},   {WK_OP_REDUCE, run_reduce}, {WK_OP_FILL, run_fill},
              {WK_OP_COPY, run_copy}, {WK_OP_IF, run_if},         {WK_OP_LOOP, run_loop},
              {WK_OP_NEST, run_nest}};
  if (f->depth > WK_EVAL_MAX_DEPTH)
    return wk_error(WK_RESOURCE, "bodies are nested more than %d deep", WK_EVAL_MAX_DEPTH);
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    if (rows[i].op == inst->op) return rows[i].run(f, inst);
  return run_handler(f, inst);
}

wk_status wk_frame_run(const wk_frame *f, const wk_block *b) {
  for (size_t i = 0; i < b->insts.n; i++) {
    const wk_inst *inst = b->insts.data[i];
    WK_TRY(wk_status_place(step(f, inst), place_of(inst)));
    if (f->poisons) wk_frame_poison(f, inst);
    if (f->hook) WK_TRY(f->hook(f->ctx, f->p, inst, f->bases));
  }
  return NULL;
}

wk_status wk_eval_inst(const wk_program *p, const wk_inst *inst, void *const *bases,
                       int64_t iteration) {
  wk_frame f = {.p = p, .bases = bases, .iteration = iteration};
  return wk_status_place(step(&f, inst), place_of(inst));
}
