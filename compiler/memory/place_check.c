/* SPDX-License-Identifier: Apache-2.0
 * The independent checker of a placed program. It does not ask wk_liveness: it walks the
 * instructions as they run and keeps, for every piece of the arena, which buffer wrote it last.
 * Pieces lie between the places where some buffer begins or ends.
 *
 *   read     all that the view spans must have been written by its buffer last;
 *   write    of a whole buffer: takes the pieces over;  of a part: the rest must still be the
 *            buffer's own, for other parts of the same tensor may lie there;
 *   nest     interleaves its instructions, so all that it touches must lie apart.
 *
 * A write marks the whole buffer: which bytes of it are meant is the program verifier's business.
 * The body of a loop is walked twice, so that what is carried around the loop is checked too. */
#include <stdlib.h>
#include <string.h>

#include "compiler/memory/memory.h"

/* Piece k is [edge[k], edge[k + 1]), which may be empty. */
typedef struct {
  int64_t *edge;
  size_t n;        /* edges */
  uint32_t *owner; /* per piece: buffer + 1, 0: never written; NULL: the region is not walked */
} pieces;

typedef struct {
  const wk_program *p;
  pieces region[WK_REGION_COUNT];
  bool *begun; /* per buffer: has been written */
} walker;

static bool is_placed(wk_region r) { return r == WK_REGION_ACT || r == WK_REGION_SCRATCH; }

static wk_status check_bounds(const wk_program *p, const wk_inst *i, const wk_view *v,
                              int64_t trip) {
  const wk_buffer *b = &p->buffers.data[v->buffer];
  int64_t lo, hi, end;
  wk_view_extent(v, trip, &lo, &hi);
  if (wk_view_count(v) > 0 && trip > 0 && (lo < 0 || hi > b->size))
    return wk_error_at(WK_INTERNAL, i->name, "view [%lld, %lld) leaves buffer %s of %lld bytes",
                       (long long)lo, (long long)hi, b->name, (long long)b->size);
  if (b->region == WK_REGION_INPUT || b->region == WK_REGION_OUTPUT) return NULL;
  if (b->offset < 0 || b->offset % b->align)
    return wk_error_at(WK_INTERNAL, i->name, "buffer %s lies at %lld, needs a multiple of %lld",
                       b->name, (long long)b->offset, (long long)b->align);
  if (!wk_add_ok(b->offset, b->size, &end) || end > p->region_size[b->region])
    return wk_error_at(WK_INTERNAL, i->name, "buffer %s lies at %lld, past the end of its region",
                       b->name, (long long)b->offset);
  return NULL;
}

/* The piece that holds byte `at` of a buffer, behind which is the end of the buffer. */
static size_t piece_at(const pieces *s, int64_t at) {
  size_t lo = 0, hi = s->n;
  while (hi - lo > 1) {
    size_t mid = lo + (hi - lo) / 2;
    if (s->edge[mid] <= at) lo = mid;
    else hi = mid;
  }
  return lo;
}

static wk_status check_read(const walker *w, const wk_inst *i, const wk_view *v, int64_t trip) {
  const wk_buffer *b = &w->p->buffers.data[v->buffer];
  const pieces *s = &w->region[b->region];
  const uint32_t *owner = s->owner;
  int64_t lo, hi;
  if (!owner || wk_view_count(v) == 0 || trip == 0) return NULL;
  wk_view_extent(v, trip, &lo, &hi);
  for (size_t g = piece_at(s, b->offset + lo); s->edge[g] < b->offset + hi; g++) {
    if (owner[g] == v->buffer + 1) continue;
    if (!owner[g])
      return wk_error_at(WK_INTERNAL, i->name, "reads %s before it is written", b->name);
    return wk_error_at(WK_INTERNAL, i->name, "reads %s where %s has been written over it", b->name,
                       w->p->buffers.data[owner[g] - 1].name);
  }
  return NULL;
}

/* A reduction's output counts each element once. */
static bool is_whole(const wk_buffer *b, const wk_view *v) {
  int64_t count = 1;
  for (int d = 0; d < v->rank; d++)
    if (v->strides[d] != 0) count *= v->dims[d];
  return v->step == 0 && count * wk_dtype_size(v->dtype) == b->size;
}

static wk_status check_write(walker *w, const wk_inst *i, const wk_view *v) {
  const wk_buffer *b = &w->p->buffers.data[v->buffer];
  const pieces *s = &w->region[b->region];
  uint32_t *owner = s->owner;
  if (!owner || wk_view_count(v) == 0) return NULL;
  bool part = w->begun[v->buffer] && !is_whole(b, v);
  w->begun[v->buffer] = true;
  for (size_t g = piece_at(s, b->offset); s->edge[g] < b->offset + b->size; g++) {
    if (part && owner[g] != v->buffer + 1)
      return wk_error_at(WK_INTERNAL, i->name, "writes a part of %s after %s was written over it",
                         b->name, w->p->buffers.data[owner[g] - 1].name);
    owner[g] = v->buffer + 1;
  }
  return NULL;
}

/* A written operand and another buffer's may not share memory. */
static wk_status check_apart(const wk_program *p, const wk_inst *i, const wk_view *x,
                             const wk_view *y) {
  if (x->buffer == WK_NONE || y->buffer == WK_NONE || y->buffer == x->buffer ||
      x->role == WK_ROLE_IN)
    return NULL;
  const wk_buffer *a = &p->buffers.data[x->buffer], *b = &p->buffers.data[y->buffer];
  if (a->region == b->region && is_placed(a->region) && a->offset < b->offset + b->size &&
      b->offset < a->offset + a->size)
    return wk_error_at(WK_INTERNAL, i->name, "operands %s and %s overlap", a->name, b->name);
  return NULL;
}

static wk_status check_operands_apart(const wk_program *p, const wk_inst *i, const wk_inst *j) {
  for (uint32_t a = 0; a < i->n_operands; a++)
    for (uint32_t b = 0; b < j->n_operands; b++)
      WK_TRY(check_apart(p, i, &i->operands[a], &j->operands[b]));
  return NULL;
}

static wk_status check_nest(const wk_program *p, const wk_block *body) {
  for (size_t i = 0; i < body->insts.n; i++)
    for (size_t j = 0; j < body->insts.n; j++)
      WK_TRY(check_operands_apart(p, body->insts.data[i], body->insts.data[j]));
  return NULL;
}

static wk_status check_inst(walker *w, const wk_inst_pos *at) {
  const wk_inst *i = at->inst;
  for (uint32_t k = 0; k < wk_inst_views(at->inst); k++) {
    const wk_view *v = wk_inst_view(at->inst, k);
    if (v->buffer == WK_NONE) continue;
    WK_TRY(check_bounds(w->p, i, v, at->trip));
    if (v->role != WK_ROLE_OUT) WK_TRY(check_read(w, i, v, at->trip));
  }
  WK_TRY(check_operands_apart(w->p, i, i));
  if (i->op == WK_OP_NEST) WK_TRY(check_nest(w->p, &i->bodies[0]));
  for (uint32_t k = 0; k < i->n_operands; k++)
    if (i->operands[k].buffer != WK_NONE && i->operands[k].role != WK_ROLE_IN)
      WK_TRY(check_write(w, i, &i->operands[k]));
  return NULL;
}

/* Flat positions in order; a loop and its body come once more before that. */
static wk_status walk(walker *w, const wk_inst_pos *flat, size_t n) {
  for (size_t i = 0; i < n; i++) {
    WK_TRY(check_inst(w, &flat[i]));
    if (flat[i].inst->op != WK_OP_LOOP) continue;
    for (size_t k = i + 1; k < n && flat[k].depth > flat[i].depth; k++)
      WK_TRY(check_inst(w, &flat[k]));
    WK_TRY(check_inst(w, &flat[i]));
  }
  return NULL;
}

/* Constants are never written, and states never end: they must lie apart for good. */
static wk_status check_lasting(const wk_program *p, wk_region region, const wk_inst_pos *flat,
                               size_t n, wk_arena *scratch) {
  wk_plan_item *items = wk_arena_alloc(scratch, p->buffers.n * sizeof *items);
  for (size_t b = 0; b < p->buffers.n; b++) items[b] = (wk_plan_item){.align = 1, .fixed = -1};
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < wk_inst_views(flat[i].inst); k++) {
      uint32_t b = wk_inst_view(flat[i].inst, k)->buffer;
      const wk_buffer *x = b == WK_NONE ? NULL : &p->buffers.data[b];
      if (x && x->region == region)
        items[b] = (wk_plan_item){.size = x->size, .align = x->align, .upper = 1,
                                  .offset = x->offset, .fixed = -1};
    }
  return wk_plan_check(items, p->buffers.n, p->region_size[region]);
}

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void find_pieces(pieces *s, const wk_program *p, wk_region region, wk_arena *scratch) {
  int64_t *edge = wk_arena_alloc(scratch, (2 * p->buffers.n + 1) * sizeof *edge);
  size_t n = 1; /* the first edge is 0 */
  for (size_t b = 0; b < p->buffers.n; b++) {
    const wk_buffer *x = &p->buffers.data[b];
    int64_t end;
    if (x->region != region || x->offset < 0 || !wk_add_ok(x->offset, x->size, &end)) continue;
    edge[n++] = x->offset;
    edge[n++] = end;
  }
  qsort(edge, n, sizeof *edge, ascending);
  *s = (pieces){.edge = edge, .n = n, .owner = wk_arena_alloc(scratch, n * sizeof *s->owner)};
}

static void walker_init(walker *w, const wk_program *p, wk_arena *scratch) {
  *w = (walker){.p = p, .begun = wk_arena_alloc(scratch, p->buffers.n)};
  find_pieces(&w->region[WK_REGION_ACT], p, WK_REGION_ACT, scratch);
  find_pieces(&w->region[WK_REGION_SCRATCH], p, WK_REGION_SCRATCH, scratch);
}

wk_status wk_place_check(const wk_program *p) {
  walker w;
  wk_inst_pos *flat;
  wk_arena *scratch = wk_arena_new();
  walker_init(&w, p, scratch);
  size_t n = wk_program_flatten(p, scratch, &flat);
  wk_status s = walk(&w, flat, n);
  if (!s) s = check_lasting(p, WK_REGION_CONST, flat, n, scratch);
  if (!s) s = check_lasting(p, WK_REGION_STATE, flat, n, scratch);
  wk_arena_free(scratch);
  return wk_status_note(s, "the placement of %s is wrong; this is a bug of the compiler", p->name);
}
