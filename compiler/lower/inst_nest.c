/* SPDX-License-Identifier: Apache-2.0
 * Loop-nest fusion: neighbouring `reduce` and `map` instructions over the same iteration space
 * become one `nest` that runs all of them for one position of the outer axes before the next
 * position (softmax, layer norm). Outer axes are those that no reduce of the group reduces,
 * moved to the front.
 *
 * Legal when every buffer that the group writes is mentioned in it by one view only, so that a
 * position touches its own slice alone, and that slice is another one at every outer position. A
 * buffer that lives within the group becomes scratch of one position. */
#include <string.h>

#include "compiler/lower/generate.h"
#include "compiler/lower/inst.h"

#define MAX_GROUP 16

typedef struct {
  const wk_program *p;
  wk_block *block;
  size_t begin, end;           /* instructions [begin, end) of the block */
  int rank;
  int64_t dims[WK_MAX_RANK];
  bool reduced[WK_MAX_RANK];
  bool has_reduce, uses_index;
} group;

static bool uses_index(const wk_expr *e) {
  for (uint32_t i = 0; e && i < e->n; i++)
    if (e->nodes[i].op == WK_EX_INDEX) return true;
  return false;
}

static bool is_member(const wk_inst *i) {
  if (i->op == WK_OP_REDUCE) return !wk_fold_is_arg(((wk_attr_reduce *)i->attrs)->kind);
  return i->op == WK_OP_MAP;
}

static bool inst_uses_index(const wk_inst *i) {
  if (i->op == WK_OP_MAP) return uses_index(((wk_attr_map *)i->attrs)->body);
  const wk_attr_reduce *a = i->attrs;
  return uses_index(a->pre) || uses_index(a->post);
}

static void note_reduced(group *g, const wk_inst *i) {
  if (i->op != WK_OP_REDUCE) return;
  const wk_attr_reduce *a = i->attrs;
  g->has_reduce = true;
  for (int64_t k = 0; k < a->axes.n; k++) g->reduced[a->axes.v[k]] = true;
}

static bool written_in(const group *g, uint32_t buffer) {
  for (size_t i = g->begin; i < g->end; i++)
    for (uint32_t k = 0; k < g->block->insts.data[i]->n_out; k++)
      if (g->block->insts.data[i]->operands[k].buffer == buffer) return true;
  return false;
}

static const wk_view *first_mention(const group *g, uint32_t buffer) {
  for (size_t i = g->begin; i < g->end; i++)
    for (uint32_t k = 0; k < g->block->insts.data[i]->n_operands; k++)
      if (g->block->insts.data[i]->operands[k].buffer == buffer)
        return &g->block->insts.data[i]->operands[k];
  return NULL;
}

/* The written view moves with every outer axis, and one view serves all mentions. */
static bool views_allow(const group *g) {
  for (size_t i = g->begin; i < g->end; i++) {
    const wk_inst *inst = g->block->insts.data[i];
    for (uint32_t k = 0; k < inst->n_operands; k++) {
      const wk_view *v = &inst->operands[k];
      if (v->buffer == WK_NONE || !written_in(g, v->buffer)) continue;
      if (!wk_view_same_shape(v, first_mention(g, v->buffer))) return false;
      for (int d = 0; d < v->rank; d++)
        if (!g->reduced[d] && v->dims[d] != 1 && v->strides[d] == 0) return false;
    }
  }
  return true;
}

static bool fits(const group *g, const wk_inst *i) {
  return is_member(i) && i->operands[0].rank == g->rank &&
         !memcmp(i->operands[0].dims, g->dims, (size_t)g->rank * sizeof *g->dims);
}

static int64_t outer_positions(const group *g) {
  int64_t n = 1;
  for (int d = 0; d < g->rank; d++)
    if (!g->reduced[d]) n *= g->dims[d];
  return n;
}

/* Adds the instruction at g->end when the group stays legal. */
static bool extend(group *g) {
  group longer = *g;
  const wk_inst *i = g->block->insts.data[g->end];
  if (!fits(g, i) || g->end - g->begin == MAX_GROUP) return false;
  longer.end++;
  longer.uses_index |= inst_uses_index(i);
  note_reduced(&longer, i);
  if (!views_allow(&longer)) return false;
  *g = longer;
  return true;
}

/* Two instructions belong together only when one hands data to the other. */
static bool connected(const group *g) {
  for (size_t i = g->begin + 1; i < g->end; i++) {
    bool linked = false;
    for (uint32_t k = g->block->insts.data[i]->n_out; k < g->block->insts.data[i]->n_operands;
         k++) {
      group before = *g;
      before.end = i;
      uint32_t b = g->block->insts.data[i]->operands[k].buffer;
      linked |= b != WK_NONE && written_in(&before, b);
    }
    if (!linked) return false;
  }
  return true;
}

static bool permutation(const group *g, int64_t perm[WK_MAX_RANK], int *outer) {
  int n = 0;
  for (int d = 0; d < g->rank; d++)
    if (!g->reduced[d]) perm[n++] = d;
  *outer = n;
  for (int d = 0; d < g->rank; d++)
    if (g->reduced[d]) perm[n++] = d;
  for (int d = 0; d < g->rank; d++)
    if (perm[d] != d) return g->uses_index == false;
  return true;
}

static void permute(wk_program *p, wk_inst *i, const int64_t *perm) {
  int64_t where[WK_MAX_RANK];
  for (uint32_t k = 0; k < i->n_operands; k++) {
    wk_view *v = &i->operands[k];
    if (v->buffer != WK_NONE) *v = wk_view_permuted(v, perm);
  }
  for (int d = 0; d < i->operands[0].rank; d++) where[perm[d]] = d;
  for (uint32_t k = 0; k < i->n_limits; k++) i->limits[k].axis = (int)where[i->limits[k].axis];
  if (i->op != WK_OP_REDUCE) return;
  wk_attr_reduce *a = i->attrs;
  int64_t axes[WK_MAX_RANK]; /* ascending: folded axes keep their order */
  for (int64_t k = 0; k < a->axes.n; k++) axes[k] = where[a->axes.v[k]];
  a->axes = wk_ints_dup(p->arena, axes, a->axes.n);
}

/* A dense slice of one position in place of the whole tensor. */
static wk_view scratch_view(const wk_view *v, uint32_t buffer, int outer, int64_t *bytes) {
  wk_view w = *v;
  int64_t stride = 1;
  w.buffer = buffer;
  w.offset = 0;
  for (int d = v->rank - 1; d >= 0; d--) {
    if (d < outer || v->strides[d] == 0) w.strides[d] = 0;
    else {
      w.strides[d] = stride;
      stride *= v->dims[d];
    }
  }
  *bytes = stride * wk_dtype_size(v->dtype);
  return w;
}

static void to_scratch(wk_program *p, const wk_block *body, uint32_t buffer, int outer) {
  wk_buffer b = {.name = p->buffers.data[buffer].name, .region = WK_REGION_SCRATCH, .align = 64,
                 .offset = -1};
  uint32_t id = WK_NONE;
  for (size_t i = 0; i < body->insts.n; i++) {
    wk_inst *inst = body->insts.data[i];
    for (uint32_t k = 0; k < inst->n_operands; k++) {
      wk_view *v = &inst->operands[k];
      if (v->buffer != buffer) continue;
      if (id == WK_NONE) id = wk_program_buffer(p, &b);
      wk_role role = v->role;
      *v = scratch_view(v, id, outer, &p->buffers.data[id].size);
      v->role = role;
    }
  }
  p->buffers.data[buffer].size = 0;
}

/* first: the position of the body's first instruction; members have no bodies of their own. */
static void make_scratch(wk_program *p, const wk_live *live, const wk_block *body, int64_t first,
                         int outer) {
  int64_t last = first + (int64_t)body->insts.n - 1;
  for (size_t i = 0; i < body->insts.n; i++) {
    wk_inst *inst = body->insts.data[i];
    for (uint32_t k = 0; k < inst->n_out; k++) {
      uint32_t b = inst->operands[k].buffer;
      if (b == WK_NONE || p->buffers.data[b].region != WK_REGION_ACT) continue;
      if (live[b].first >= first && live[b].last <= last) to_scratch(p, body, b, outer);
    }
  }
}

static char *joined_names(wk_program *p, const wk_block *body) {
  wk_str s = {0};
  const char *last = "";
  for (size_t i = 0; i < body->insts.n; i++) {
    const char *name = body->insts.data[i]->name;
    if (!name || !strcmp(name, last)) continue;
    if (s.n) wk_str_add(&s, "+");
    wk_str_add(&s, name);
    last = name;
  }
  char *out = wk_arena_strdup(p->arena, s.n ? s.s : "");
  wk_str_free(&s);
  return out;
}

/* The nest that takes the group's place; NULL when that is not possible. */
static wk_inst *fuse(wk_program *p, const wk_live *live, const group *g, int64_t first) {
  int64_t perm[WK_MAX_RANK];
  int outer;
  if (!permutation(g, perm, &outer)) return NULL;
  wk_inst *nest = wk_inst_new(p, WK_OP_NEST, NULL, 0, 0);
  ((wk_attr_nest *)nest->attrs)->outer = outer;
  nest->n_bodies = 1;
  nest->bodies = wk_arena_alloc(p->arena, sizeof *nest->bodies);
  for (size_t i = g->begin; i < g->end; i++) {
    permute(p, g->block->insts.data[i], perm);
    wk_block_append(&nest->bodies[0], g->block->insts.data[i]);
  }
  nest->name = joined_names(p, &nest->bodies[0]);
  make_scratch(p, live, &nest->bodies[0], first, outer);
  return nest;
}

/* Least distance between elements along the axes that are reduced, or along the others. */
static int64_t least_stride(const group *g, const wk_view *v, bool reduced) {
  int64_t least = INT64_MAX;
  for (int d = 0; d < g->rank; d++) {
    int64_t stride = v->strides[d] < 0 ? -v->strides[d] : v->strides[d];
    if (g->reduced[d] == reduced && v->dims[d] > 1 && stride && stride < least) least = stride;
  }
  return least;
}

/* What the group reads lies row by row. A position of, say, one channel of tensors with channels
 * last would go through all of memory, as would the next one. */
static bool rows_lie_together(const group *g) {
  for (size_t i = g->begin; i < g->end; i++) {
    const wk_inst *inst = g->block->insts.data[i];
    for (uint32_t k = inst->n_out; k < inst->n_operands; k++) {
      const wk_view *v = &inst->operands[k];
      if (v->buffer == WK_NONE) continue;
      int64_t row = least_stride(g, v, true);
      if (row != INT64_MAX && row > least_stride(g, v, false)) return false;
    }
  }
  return true;
}

/* The longest group that begins at i and is worth a nest. */
static bool find_group(const wk_program *p, wk_block *b, size_t i, group *g) {
  *g = (group){.p = p, .block = b, .begin = i, .end = i};
  if (!is_member(b->insts.data[i])) return false;
  g->rank = b->insts.data[i]->operands[0].rank;
  memcpy(g->dims, b->insts.data[i]->operands[0].dims, sizeof g->dims);
  while (g->end < b->insts.n && extend(g)) {}
  while (g->end - g->begin > 1 && !connected(g)) g->end--;
  memset(g->reduced, 0, sizeof g->reduced);
  g->has_reduce = g->uses_index = false;
  for (size_t k = g->begin; k < g->end; k++) {
    note_reduced(g, b->insts.data[k]);
    g->uses_index |= inst_uses_index(b->insts.data[k]);
  }
  return g->end - g->begin >= 2 && g->has_reduce && outer_positions(g) >= 2 && views_allow(g) &&
         rows_lie_together(g);
}

/* position: of the block's first instruction in the flat list. */
static void fuse_block(wk_program *p, wk_block *b, const wk_accesses *acc, size_t position,
                       const wk_live *live, int64_t *changes) {
  size_t kept = 0;
  for (size_t i = 0; i < b->insts.n;) {
    group g;
    wk_inst *inst = b->insts.data[i], *nest = NULL;
    while (acc->flat[position].inst != inst) position++; /* past the bodies before it */
    if (find_group(p, b, i, &g)) {
      nest = fuse(p, live, &g, (int64_t)position);
      *changes += nest != NULL;
    }
    i += nest ? g.end - g.begin : 1;
    b->insts.data[kept++] = nest ? nest : inst;
  }
  b->insts.n = kept;
}

wk_status wk_inst_fuse_nests(wk_program *p, wk_arena *scratch, int64_t *changes) {
  wk_accesses acc = wk_program_accesses(p, scratch);
  wk_live *live = wk_liveness(p, scratch);
  for (size_t i = 0; i < acc.n; i++)
    for (uint32_t b = 0; b < acc.flat[i].inst->n_bodies; b++)
      if (acc.flat[i].inst->op != WK_OP_NEST)
        fuse_block(p, &acc.flat[i].inst->bodies[b], &acc, i + 1, live, changes);
  fuse_block(p, &p->body, &acc, 0, live, changes);
  return NULL;
}
