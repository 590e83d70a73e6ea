/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "compiler/package/program.h"

static const char *step_text(const wk_program *p, const wk_inst *i, wk_arena *a) {
  wk_str t = {0};
  wk_inst_print(&t, p, i);
  const char *out = wk_arena_strdup(a, t.s);
  wk_str_free(&t);
  return out;
}

/* Per buffer: instructions that write it. */
static uint32_t *count_writers(const wk_program *p, wk_arena *a) {
  wk_inst_pos *all;
  size_t n = wk_program_flatten(p, a, &all);
  uint32_t *writers = wk_arena_alloc(a, p->buffers.n * sizeof *writers);
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < all[i].inst->n_operands; k++) {
      const wk_view *v = &all[i].inst->operands[k];
      if (v->buffer != WK_NONE && v->role != WK_ROLE_IN) writers[v->buffer]++;
    }
  return writers;
}

typedef WK_VEC(wk_package_tensor) step_tensors;

/* Axes of stride 0 are there once. */
static const int64_t *shown_dims(const wk_view *v, wk_arena *a, int64_t *count) {
  int64_t *dims = wk_arena_memdup(a, v->dims, sizeof v->dims);
  *count = 1;
  for (int k = 0; k < v->rank; k++) {
    if (v->strides[k] == 0 && dims[k] > 1) dims[k] = 1;
    *count *= dims[k];
  }
  return dims;
}

/* A buffer that several instructions wrote consists of pieces, which have no names. An output that
 * one wrote is there as it is bound: the writer may see it transposed. */
static void add_written(const wk_program *p, const wk_view *v, const uint32_t *writers,
                        wk_arena *a, step_tensors *out) {
  const wk_buffer *b = v->buffer == WK_NONE ? NULL : &p->buffers.data[v->buffer];
  if (!b || v->role == WK_ROLE_IN) return;
  if (b->region != WK_REGION_ACT && b->region != WK_REGION_OUTPUT &&
      b->region != WK_REGION_STATE)
    return;
  bool is_output = b->region == WK_REGION_OUTPUT, is_state = b->region == WK_REGION_STATE;
  int64_t count;
  const int64_t *dims = shown_dims(v, a, &count);
  bool is_whole = count * wk_dtype_size(v->dtype) == b->size && writers[v->buffer] == 1;
  wk_package_tensor t = {.name = is_whole ? b->name : "", .dtype = (uint32_t)v->dtype,
                         .rank = v->rank, .dims = dims, .strides = v->strides, .align = 1,
                         .place = is_output  ? WICK_PLACE_OUTPUT
                                  : is_state ? WICK_PLACE_STATE
                                             : WICK_PLACE_ARENA,
                         .index = is_output ? b->io : 0,
                         .offset = v->offset + (is_output ? 0 : b->offset)};
  if (is_whole && is_output) {
    const wk_type *type = &p->outputs.data[b->io].type;
    t.dtype = (uint32_t)type->dtype;
    t.rank = type->rank;
    t.dims = type->dims;
    t.strides = NULL;
    t.offset = 0;
  }
  wk_vec_push(out, t);
}

/* Bodies of nests have run as a part of their owner's step, and left what their views show. Bodies
 * of loops leave the last iteration behind, which no tensor of the model is. */
static void list_written(const wk_program *p, const wk_inst *step, const uint32_t *writers,
                         wk_arena *a, step_tensors *out) {
  WK_VEC(const wk_inst *) todo = {0};
  wk_vec_push(&todo, step);
  for (size_t at = 0; at < todo.n; at++) {
    const wk_inst *i = todo.data[at];
    for (uint32_t k = 0; k < i->n_operands; k++) add_written(p, &i->operands[k], writers, a, out);
    for (uint32_t b = 0; b < i->n_bodies && i->op == WK_OP_NEST; b++)
      for (size_t k = 0; k < i->bodies[b].insts.n; k++)
        wk_vec_push(&todo, i->bodies[b].insts.data[k]);
  }
  wk_vec_free(&todo);
}

wk_package_step *wk_package_steps_of(const wk_program *p, wk_arena *a, size_t *n) {
  wk_package_step *steps = wk_arena_alloc(a, p->body.insts.n * sizeof *steps);
  const uint32_t *writers = count_writers(p, a);
  *n = p->body.insts.n;
  for (size_t i = 0; i < *n; i++) {
    const wk_inst *inst = p->body.insts.data[i];
    step_tensors left = {0};
    list_written(p, inst, writers, a, &left);
    steps[i] = (wk_package_step){.node = inst->name, .op = wk_op_get(inst->op)->name,
                                 .text = step_text(p, inst, a), .code = i,
                                 .tensors = wk_arena_memdup(a, left.data,
                                                            left.n * sizeof *left.data),
                                 .n_tensors = left.n};
    int64_t macs = 0, bytes = 0;
    wk_inst_work(inst, &macs, &bytes);
    steps[i].macs = (uint64_t)macs;
    steps[i].bytes = (uint64_t)bytes;
    wk_vec_free(&left);
  }
  return steps;
}
