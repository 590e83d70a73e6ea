/* SPDX-License-Identifier: Apache-2.0
 * Sinking copies: `P writes N; …; copy S <- N` becomes `P writes S; …` when between P and the copy
 * nothing else touches S, P itself reads S at most element by element at the positions it writes,
 * and N is mentioned nowhere else but in between, always with the same view, or with any view where
 * N lies as S does. This is what makes the state of a loop a single buffer, and the update of a
 * variable one in place. */
#include "compiler/lower/inst.h"

#include <string.h>

static bool mentions(const wk_inst *i, uint32_t buffer) {
  for (uint32_t k = 0; k < i->n_operands; k++)
    if (i->operands[k].buffer == buffer) return true;
  return false;
}

/* Mentions of one buffer in program order. */
typedef struct {
  wk_access *data;
  uint32_t n;
} mentions_of;

/* The mentions are those of the beginning, kept up to date as copies go; positions stay. */
typedef struct {
  wk_program *p;
  wk_arena *scratch;
  const wk_inst_pos *flat;
  const wk_block **block; /* per position: the one that holds the instruction */
  mentions_of *of;        /* per buffer */
} sinking;

/* ---- what is mentioned where ----------------------------------------------------------------- */

/* Index of the buffer's first mention behind a position. */
static uint32_t first_behind(const mentions_of *m, uint32_t position) {
  uint32_t low = 0, high = m->n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (m->data[middle].position > position) high = middle;
    else low = middle + 1;
  }
  return low;
}

/* Bodies included; the flat list holds them right behind their owner. */
static bool touched_between(const sinking *s, uint32_t buffer, uint32_t after, uint32_t before) {
  const mentions_of *m = &s->of[buffer];
  uint32_t i = first_behind(m, after);
  return i < m->n && m->data[i].position < before;
}

static bool is_before(const wk_access *a, const wk_access *b) {
  return a->position != b->position ? a->position < b->position : a->operand < b->operand;
}

/* The mentions of src become mentions of dst, but for those of the copy itself. Only the producer
 * may mention dst where src is mentioned, so that what src had goes where the copy's mention of dst
 * was, and at most past some operands of the producer. */
static void hand_over(sinking *s, uint32_t src, uint32_t dst, uint32_t copy) {
  mentions_of *from = &s->of[src], *to = &s->of[dst];
  uint32_t at = first_behind(to, copy) - 1, more = from->n - 1; /* the copy reads src last */
  if (more > 1) {
    wk_access *longer = wk_arena_alloc(s->scratch, (to->n + more) * sizeof *longer);
    memcpy(longer, to->data, at * sizeof *longer);
    memcpy(longer + at + more, to->data + at + 1, (to->n - at - 1) * sizeof *longer);
    to->data = longer;
    to->n += more - 1;
  }
  memcpy(to->data + at, from->data, more * sizeof *from->data);
  for (uint32_t i = at; i < at + more; i++)
    for (uint32_t k = i; k > 0 && is_before(&to->data[k], &to->data[k - 1]); k--) {
      wk_access later = to->data[k - 1];
      to->data[k - 1] = to->data[k];
      to->data[k] = later;
    }
  from->n = 0;
}

/* ---- one copy -------------------------------------------------------------------------------- */

static bool reads_in_step(const wk_inst *producer, uint32_t buffer, const wk_view *dst) {
  for (uint32_t k = 0; k < producer->n_operands; k++) {
    const wk_view *v = &producer->operands[k];
    if (v->buffer != buffer) continue;
    if (!wk_inst_is_elementwise(producer, k) || v->role != WK_ROLE_IN ||
        !wk_view_same_shape(v, dst))
      return false;
  }
  return true;
}

/* The copy repeats elements: its source is no place for all of its destination. */
static bool is_broadcast(const wk_view *v) {
  for (int d = 0; d < v->rank; d++)
    if (v->dims[d] > 1 && v->strides[d] == 0) return true;
  return false;
}

/* The copy is from all of a buffer, which lies there as it does where it goes to: whatever view of
 * the one is the same view of the other. */
static bool is_whole(const sinking *s, const wk_view *dst, const wk_view *src) {
  return wk_view_same_shape(dst, src) && wk_view_covers(s->p, src);
}

/* Whether one instruction of the same block writes `src`, and the rewrite is legal. A view that
 * steps with the loop means something else inside an inner one. */
static bool has_producer(const sinking *s, uint32_t position) {
  const wk_inst *copy = s->flat[position].inst;
  const wk_view *dst = &copy->operands[0], *src = &copy->operands[1];
  const mentions_of *m = &s->of[src->buffer];
  int depth = s->flat[position].depth;
  const wk_access *write = NULL;
  const bool whole = is_whole(s, dst, src);
  if (is_broadcast(src)) return false;
  for (uint32_t i = 0; i < m->n; i++) {
    const wk_access *a = &m->data[i];
    if (a->position > position || (!whole && !wk_view_same_shape(a->view, src))) return false;
    if (dst->step != 0 && s->flat[a->position].depth != depth) return false;
    if (a->view->role == WK_ROLE_INOUT || (a->view->role == WK_ROLE_OUT && write)) return false;
    if (a->view->role == WK_ROLE_OUT) write = a;
    else if (!write) return false;
  }
  if (!write || write->inst->n_bodies || s->block[write->position] != s->block[position] ||
      touched_between(s, dst->buffer, write->position, position))
    return false;
  if (whole && !wk_view_covers(s->p, write->view)) return false;
  return !mentions(write->inst, dst->buffer) ||
         reads_in_step(write->inst, dst->buffer, whole ? write->view : dst);
}

static bool sink_one(sinking *s, uint32_t position) {
  wk_inst *inst = s->flat[position].inst;
  wk_view dst = inst->operands[0], src = inst->operands[1];
  if (s->p->buffers.data[src.buffer].region != WK_REGION_ACT || src.buffer == dst.buffer ||
      !has_producer(s, position))
    return false;
  const mentions_of *m = &s->of[src.buffer];
  const bool whole = is_whole(s, &dst, &src);
  for (uint32_t i = 0; i < m->n; i++) {
    wk_view *v = m->data[i].view, as = whole ? *v : dst;
    as.buffer = dst.buffer;
    as.role = v->role;
    *v = as;
  }
  hand_over(s, src.buffer, dst.buffer, position);
  wk_inst_drop(s->p, inst);
  s->p->buffers.data[src.buffer].size = 0;
  return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* position: where the flat list may hold the block's first instruction, or one before it. */
static void sink_in_block(sinking *s, wk_block *b, uint32_t position, int64_t *changes) {
  size_t kept = 0;
  uint32_t first = position;
  for (size_t i = 0; i < b->insts.n; i++) {
    while (s->flat[position].inst != b->insts.data[i]) position++; /* past bodies */
    s->block[position] = b;
  }
  position = first;
  for (size_t i = 0; i < b->insts.n; i++) {
    wk_inst *inst = b->insts.data[i];
    while (s->flat[position].inst != inst) position++;
    bool sunk = inst->op == WK_OP_COPY && sink_one(s, position);
    if (!sunk) b->insts.data[kept++] = inst;
    *changes += sunk;
  }
  b->insts.n = kept;
}

wk_status wk_inst_sink_copies(wk_program *p, wk_arena *scratch, int64_t *changes) {
  wk_accesses acc = wk_program_accesses(p, scratch);
  sinking s = {.p = p, .scratch = scratch, .flat = acc.flat};
  s.block = wk_arena_alloc(scratch, acc.n * sizeof *s.block);
  s.of = wk_arena_alloc(scratch, p->buffers.n * sizeof *s.of);
  for (size_t b = 0; b < p->buffers.n; b++)
    s.of[b] = (mentions_of){acc.accesses + acc.first[b], acc.first[b + 1] - acc.first[b]};
  for (uint32_t i = 0; i < acc.n; i++)
    for (uint32_t b = 0; b < acc.flat[i].inst->n_bodies; b++)
      sink_in_block(&s, &acc.flat[i].inst->bodies[b], i + 1, changes);
  sink_in_block(&s, &p->body, 0, changes);
  return NULL;
}
