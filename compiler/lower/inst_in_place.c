/* SPDX-License-Identifier: Apache-2.0
 * In place: when a map, the epilogue of a convolution or product, or a scatter, which changes some
 * of its data, reads a buffer for the last time element by element at the very positions it writes,
 * its result takes over that buffer.
 *
 * "For the last time" also means that no later iteration of a loop around reads it again: the
 * buffer must begin its life within the innermost loop. */
#include "compiler/lower/inst.h"

typedef struct {
  wk_program *p;
  wk_accesses acc;
  wk_live *live;
  int64_t *loop; /* per position: that of the innermost loop around, -1 outside */
  uint32_t *next, *last; /* per buffer: the chain of those whose mentions are its own by now */
} in_place;

/* Every mention of `buffer` in the instruction is an elementwise read with the geometry of
 * `out`. */
static bool only_elementwise(const wk_inst *i, uint32_t buffer, const wk_view *out) {
  for (uint32_t k = 0; k < i->n_limits; k++)
    if (i->limits[k].size.buffer == buffer || i->limits[k].rows.buffer == buffer) return false;
  for (uint32_t k = 0; k < i->n_operands; k++) {
    if (i->operands[k].buffer != buffer) continue;
    if (!wk_inst_is_elementwise(i, k) || !wk_view_same_shape(&i->operands[k], out)) return false;
  }
  return true;
}

static bool may_take(const in_place *s, int64_t position, const wk_view *out, const wk_view *in) {
  const wk_buffer *from = &s->p->buffers.data[in->buffer], *to = &s->p->buffers.data[out->buffer];
  const wk_live *dies = &s->live[in->buffer], *begins = &s->live[out->buffer];
  return in->buffer != out->buffer && from->region == WK_REGION_ACT &&
         to->region == WK_REGION_ACT && from->size == to->size && dies->last == position &&
         dies->first > s->loop[position] && begins->first == position &&
         wk_view_same_shape(in, out) && wk_view_covers(s->p, out) &&
         only_elementwise(s->acc.flat[position].inst, in->buffer, out);
}

static void rename_buffer(in_place *s, uint32_t from, uint32_t to) {
  for (uint32_t b = from; b != WK_NONE; b = s->next[b])
    for (uint32_t i = s->acc.first[b]; i < s->acc.first[b + 1]; i++)
      s->acc.accesses[i].view->buffer = to;
  s->next[s->last[to]] = from;
  s->last[to] = s->last[from];
  s->live[to].last = s->live[from].last;
  s->live[from] = (wk_live){.first = 1, .last = 0};
  s->p->buffers.data[from].size = 0; /* left without uses */
}

static bool take_operand(in_place *s, int64_t position, uint32_t o) {
  const wk_inst *inst = s->acc.flat[position].inst;
  const wk_view *out = &inst->operands[o];
  if (out->buffer == WK_NONE) return false;
  for (uint32_t k = inst->n_out; k < inst->n_operands; k++) {
    const wk_view *in = &inst->operands[k];
    if (in->buffer == WK_NONE || !wk_inst_is_elementwise(inst, k) ||
        !may_take(s, position, out, in))
      continue;
    rename_buffer(s, out->buffer, in->buffer);
    return true;
  }
  return false;
}

static int64_t *loops_around(const wk_accesses *acc, wk_arena *scratch) {
  int64_t *loop = wk_arena_alloc(scratch, acc->n * sizeof *loop);
  for (size_t i = 0; i < acc->n; i++) loop[i] = -1;
  for (size_t i = 0; i < acc->n; i++) /* inner loops come later and overwrite */
    if (acc->flat[i].inst->op == WK_OP_LOOP)
      for (size_t k = i + 1; k < acc->n && acc->flat[k].depth > acc->flat[i].depth; k++)
        loop[k] = (int64_t)i;
  return loop;
}

wk_status wk_inst_in_place(wk_program *p, wk_arena *scratch, int64_t *changes) {
  in_place s = {.p = p, .acc = wk_program_accesses(p, scratch), .live = wk_liveness(p, scratch)};
  s.loop = loops_around(&s.acc, scratch);
  s.next = wk_arena_alloc(scratch, p->buffers.n * sizeof *s.next);
  s.last = wk_arena_alloc(scratch, p->buffers.n * sizeof *s.last);
  for (uint32_t b = 0; b < p->buffers.n; b++) {
    s.next[b] = WK_NONE;
    s.last[b] = b;
  }
  for (size_t i = 0; i < s.acc.n; i++) {
    const wk_inst *inst = s.acc.flat[i].inst;
    for (uint32_t o = 0; o < inst->n_out; o++) *changes += take_operand(&s, (int64_t)i, o);
  }
  return NULL;
}
