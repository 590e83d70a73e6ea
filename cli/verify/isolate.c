/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/verify/compare.h"

typedef struct {
  const wk_program *from;
  wk_isolated *x;
  bool *read, *written; /* per buffer of `from` */
  uint32_t *id;         /* per buffer of `from`: its id in the new program */
} isolation;

/* ---- buffers --------------------------------------------------------------------------------- */

static void mark(isolation *s, const wk_inst *top) {
  WK_VEC(const wk_inst *) todo = {0};
  wk_vec_push(&todo, top);
  while (todo.n) {
    const wk_inst *i = todo.data[--todo.n];
    for (uint32_t k = 0; k < i->n_operands; k++) {
      const wk_view *v = &i->operands[k];
      if (v->buffer == WK_NONE) continue;
      s->read[v->buffer] |= v->role != WK_ROLE_OUT;
      s->written[v->buffer] |= v->role != WK_ROLE_IN;
    }
    for (uint32_t b = 0; b < i->n_bodies; b++)
      for (size_t k = 0; k < i->bodies[b].insts.n; k++)
        wk_vec_push(&todo, i->bodies[b].insts.data[k]);
  }
  wk_vec_free(&todo);
}

static wk_type bytes_type(int64_t size) { return wk_type_make(WK_U8, 1, &size); }

static uint32_t add_input(isolation *s, uint32_t buffer, bool before) {
  wk_program *p = s->x->program;
  wk_buffer b = s->from->buffers.data[buffer];
  b.region = WK_REGION_INPUT;
  b.io = (uint32_t)p->inputs.n;
  b.offset = 0;
  if (before) b.name = wk_arena_printf(p->arena, "%s.before", b.name);
  wk_program_io binding = {.type = bytes_type(b.size), .buffer = wk_program_buffer(p, &b)};
  binding.name = p->buffers.data[binding.buffer].name;
  wk_isolated_input in = {.buffer = buffer, .before = before};
  wk_vec_push(&p->inputs, binding);
  wk_vec_push(&s->x->inputs, in);
  return binding.buffer;
}

static uint32_t add_output(isolation *s, uint32_t buffer) {
  wk_program *p = s->x->program;
  wk_buffer b = s->from->buffers.data[buffer];
  b.region = WK_REGION_OUTPUT;
  b.io = (uint32_t)p->outputs.n;
  b.offset = 0;
  wk_program_io binding = {.type = bytes_type(b.size), .buffer = wk_program_buffer(p, &b)};
  binding.name = p->buffers.data[binding.buffer].name;
  wk_vec_push(&p->outputs, binding);
  wk_vec_push(&s->x->outputs, buffer);
  uint32_t before = add_input(s, buffer, true);
  if (b.size == 0) return binding.buffer;
  wk_inst *copy = wk_inst_new(p, WK_OP_COPY, "before", 1, 2);
  copy->operands[0] = wk_view_dense(binding.buffer, &binding.type, WK_ROLE_OUT);
  copy->operands[1] = wk_view_dense(before, &binding.type, WK_ROLE_IN);
  wk_block_append(&p->body, copy);
  return binding.buffer;
}

static void add_buffer(isolation *s, uint32_t buffer) {
  wk_buffer b = s->from->buffers.data[buffer];
  bool stays = b.region == WK_REGION_CONST || b.region == WK_REGION_SCRATCH;
  b.offset = -1;
  if (stays) s->id[buffer] = wk_program_buffer(s->x->program, &b);
  else if (s->written[buffer]) s->id[buffer] = add_output(s, buffer);
  else s->id[buffer] = add_input(s, buffer, false);
}

/* ---- the instruction ------------------------------------------------------------------------- */

static wk_inst *copy_inst(const isolation *s, const wk_inst *i) {
  wk_program *p = s->x->program;
  wk_inst *c = wk_inst_new(p, i->op, i->name, i->n_out, i->n_operands);
  c->attrs = wk_attrs_clone(p->arena, i->op, i->attrs);
  c->n_bodies = i->n_bodies;
  if (i->n_bodies) c->bodies = wk_arena_alloc(p->arena, i->n_bodies * sizeof *c->bodies);
  for (uint32_t k = 0; k < i->n_operands; k++) {
    c->operands[k] = i->operands[k];
    if (c->operands[k].buffer != WK_NONE) c->operands[k].buffer = s->id[c->operands[k].buffer];
  }
  return c;
}

/* Bodies by work list: pairs of an instruction and its copy. */
static void copy_tree(const isolation *s, const wk_inst *top) {
  typedef struct {
    const wk_inst *from;
    wk_inst *to;
  } pair;
  WK_VEC(pair) todo = {0};
  pair first = {top, copy_inst(s, top)};
  wk_block_append(&s->x->program->body, first.to);
  wk_vec_push(&todo, first);
  while (todo.n) {
    pair at = todo.data[--todo.n];
    for (uint32_t b = 0; b < at.from->n_bodies; b++)
      for (size_t k = 0; k < at.from->bodies[b].insts.n; k++) {
        const wk_inst *inner = at.from->bodies[b].insts.data[k];
        pair next = {inner, copy_inst(s, inner)};
        wk_block_append(&at.to->bodies[b], next.to);
        wk_vec_push(&todo, next);
      }
  }
  wk_vec_free(&todo);
}

wk_status wk_isolate(const wk_program *p, const wk_inst *inst, wk_isolated *out) {
  size_t n = p->buffers.n + 1;
  *out = (wk_isolated){.program = wk_program_new(inst->name)};
  isolation s = {.from = p, .x = out, .read = wk_xcalloc(n, 1), .written = wk_xcalloc(n, 1),
                 .id = wk_xcalloc(n, sizeof *s.id)};
  mark(&s, inst);
  for (size_t b = 0; b < p->buffers.n; b++)
    if (s.read[b] || s.written[b]) add_buffer(&s, (uint32_t)b);
  copy_tree(&s, inst);
  free(s.read);
  free(s.written);
  free(s.id);
  wk_status st = wk_program_verify(out->program);
  if (st) wk_isolated_free(out);
  return wk_status_note(st, "while isolating %s", inst->name);
}

void wk_isolated_free(wk_isolated *x) {
  wk_program_free(x->program);
  wk_vec_free(&x->inputs);
  wk_vec_free(&x->outputs);
  *x = (wk_isolated){0};
}
