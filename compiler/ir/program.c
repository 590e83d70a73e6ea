/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/ir/program.h"

#include <stdlib.h>
#include <string.h>

const char *wk_region_name(wk_region r) {
  static const char *const names[] = {"const", "input", "output", "act", "scratch", "state"};
  return (unsigned)r < WK_REGION_COUNT ? names[r] : "?";
}

wk_program *wk_program_new(const char *name) {
  wk_program *p = wk_xcalloc(1, sizeof *p);
  p->arena = wk_arena_new();
  p->name = wk_arena_strdup(p->arena, name ? name : "");
  p->names = wk_map_new();
  return p;
}

/* Blocks are the only parts outside the arena: they grow. */
static void free_blocks(wk_program *p) {
  WK_VEC(wk_block *) todo = {0};
  wk_vec_push(&todo, &p->body);
  while (todo.n) {
    wk_block *b = todo.data[--todo.n];
    for (size_t i = 0; i < b->insts.n; i++)
      for (uint32_t k = 0; k < b->insts.data[i]->n_bodies; k++)
        wk_vec_push(&todo, &b->insts.data[i]->bodies[k]);
    wk_vec_free(&b->insts);
  }
  wk_vec_free(&todo);
}

void wk_program_free(wk_program *p) {
  if (!p) return;
  free_blocks(p);
  wk_vec_free(&p->buffers);
  wk_map_free(p->names);
  wk_vec_free(&p->inputs);
  wk_vec_free(&p->outputs);
  wk_vec_free(&p->states);
  for (size_t i = 0; i < p->blobs.n; i++) free(p->blobs.data[i]);
  wk_vec_free(&p->blobs);
  wk_arena_free(p->arena);
  free(p);
}

uint32_t wk_program_buffer(wk_program *p, const wk_buffer *b) {
  wk_buffer copy = *b;
  const char *base = b->name && *b->name ? b->name : "t";
  uint32_t other;
  copy.name = wk_arena_strdup(p->arena, base);
  for (size_t k = p->buffers.n; wk_map_get(p->names, copy.name, &other); k++)
    copy.name = wk_arena_printf(p->arena, "%s.%zu", base, k);
  wk_map_put(p->names, copy.name, (uint32_t)p->buffers.n);
  wk_vec_push(&p->buffers, copy);
  return (uint32_t)p->buffers.n - 1;
}

wk_program_ios *wk_program_bound(const wk_program *p, wk_region r) {
  wk_program *x = (wk_program *)p;
  switch (r) {
  case WK_REGION_INPUT: return &x->inputs;
  case WK_REGION_OUTPUT: return &x->outputs;
  case WK_REGION_STATE: return &x->states;
  default: return NULL;
  }
}

bool wk_program_touches(const wk_program *p, wk_region r, bool writes) {
  wk_arena *scratch = wk_arena_new();
  wk_inst_pos *all;
  size_t n = wk_program_flatten(p, scratch, &all);
  bool found = false;
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < wk_inst_views(all[i].inst); k++) {
      const wk_view *v = wk_inst_view(all[i].inst, k);
      if (v->buffer == WK_NONE || p->buffers.data[v->buffer].region != r) continue;
      found |= !writes || v->role != WK_ROLE_IN;
    }
  wk_arena_free(scratch);
  return found;
}

wk_inst *wk_inst_new(wk_program *p, wk_op op, const char *name, uint32_t n_out,
                     uint32_t n_operands) {
  wk_inst *i = wk_arena_alloc(p->arena, sizeof *i);
  i->op = op;
  i->name = wk_arena_strdup(p->arena, name ? name : "");
  i->attrs = wk_attrs_new(p->arena, op);
  i->n_out = n_out;
  i->n_operands = n_operands;
  i->operands = wk_arena_alloc(p->arena, n_operands * sizeof *i->operands);
  for (uint32_t k = 0; k < n_operands; k++) {
    i->operands[k] = wk_view_none();
    i->operands[k].role = k < n_out ? WK_ROLE_OUT : WK_ROLE_IN;
  }
  return i;
}

void wk_block_append(wk_block *b, wk_inst *i) { wk_vec_push(&b->insts, i); }

wk_view wk_view_none(void) { return (wk_view){.buffer = WK_NONE}; }

int wk_limit_last_axis(const wk_inst *i, const wk_limit *l) {
  const wk_view *space = &i->operands[i->op == WK_OP_REDUCE ? i->n_out : 0];
  int64_t count = 1;
  if (!wk_limit_has_rows(l)) return l->axis;
  for (int axis = l->axis; axis < space->rank; axis++) {
    bool fits = wk_mul_ok(count, space->dims[axis], &count);
    if (!fits || count > l->rows.dims[0]) return -1;
    if (count == l->rows.dims[0]) return axis;
  }
  return -1;
}

wk_view wk_view_dense(uint32_t buffer, const wk_type *t, wk_role role) {
  wk_view v = {
      .buffer = buffer, .role = role, .dtype = wk_dtype_storage(t->dtype), .rank = t->rank};
  memcpy(v.dims, t->dims, sizeof v.dims);
  wk_type_strides(t, v.strides);
  return v;
}

int64_t wk_view_count(const wk_view *v) {
  int64_t n = 0;
  bool ok = wk_dims_product(v->dims, v->rank, &n);
  wk_assert(ok);
  return ok ? n : 0;
}

/* Where a dim is 0 the product of the others may be any, as in wk_type_strides. */
bool wk_view_is_dense(const wk_view *v) {
  uint64_t stride = 1;
  for (int i = v->rank - 1; i >= 0; i--) {
    if (v->dims[i] != 1 && v->strides[i] != (int64_t)stride) return false;
    stride *= (uint64_t)v->dims[i];
  }
  return true;
}

/* Saturates, so that views out of a hostile text are seen to lie outside every buffer. */
static int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return wk_add_ok(a, b, &sum) ? sum : b < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return wk_mul_ok(a, b, &product) ? product : (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

static void widen(int64_t reach, int64_t *lo, int64_t *hi) {
  if (reach < 0) *lo = plus(*lo, reach);
  else *hi = plus(*hi, reach);
}

void wk_view_extent(const wk_view *v, int64_t iterations, int64_t *lo, int64_t *hi) {
  int64_t size = wk_dtype_size(v->dtype);
  *lo = *hi = v->offset;
  if (iterations < 1) return;
  for (int i = 0; i < v->rank; i++)
    if (v->dims[i] < 1) return;
  *hi = plus(*hi, size);
  for (int i = 0; i < v->rank; i++)
    widen(times(times(v->dims[i] - 1, v->strides[i]), size), lo, hi);
  widen(times(iterations - 1, v->step), lo, hi);
}

static void set_dims(wk_view *v, int rank, const int64_t *dims) {
  memset(v->dims, 0, sizeof v->dims);
  memset(v->strides, 0, sizeof v->strides);
  v->rank = rank;
  for (int i = 0; i < rank; i++) v->dims[i] = dims[i];
}

/* Axes of both shapes are taken in groups of equal products; within a group the source axes must
 * form one run of constant stride, which the new axes then cut. Axes of size 1 take no part. */
bool wk_view_reshape(const wk_view *v, int rank, const int64_t *dims, wk_view *out) {
  int64_t old_dims[WK_MAX_RANK], old_strides[WK_MAX_RANK], count, want;
  int n_old = 0;
  if (rank < 0 || rank > WK_MAX_RANK || !wk_dims_product(v->dims, v->rank, &count) ||
      !wk_dims_product(dims, rank, &want) || count != want)
    return false;
  wk_view w = *v;
  set_dims(&w, rank, dims);
  for (int i = 0; i < v->rank; i++) {
    if (v->dims[i] == 1) continue;
    old_dims[n_old] = v->dims[i];
    old_strides[n_old++] = v->strides[i];
  }
  if (count == 0) { /* nothing to reach: as if dense */
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; stride = times(stride, dims[i--])) w.strides[i] = stride;
    *out = w;
    return true;
  }
  for (int o = 0, k = 0; o < n_old;) {
    int o0 = o, k0 = k;
    int64_t a = old_dims[o++], b = dims[k++];
    while (a != b) {
      if (a < b) a *= old_dims[o++];
      else b *= dims[k++];
    }
    for (int i = o0; i + 1 < o; i++)
      if (old_strides[i] != times(old_strides[i + 1], old_dims[i + 1])) return false;
    int64_t stride = old_strides[o - 1];
    for (int i = k - 1; i >= k0; i--) {
      if (dims[i] != 1) w.strides[i] = stride;
      stride = times(stride, dims[i]);
    }
  }
  *out = w;
  return true;
}

bool wk_view_same(const wk_view *a, const wk_view *b) {
  if (a->buffer != b->buffer || a->rank != b->rank || a->offset != b->offset ||
      a->step != b->step || a->dtype != b->dtype)
    return false;
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i] != b->dims[i]) return false;
    if (a->dims[i] != 1 && a->strides[i] != b->strides[i]) return false;
  }
  return true;
}

/* ---- traversal ----------------------------------------------------------------------------- */

typedef struct {
  const wk_block *block;
  size_t next;   /* instruction of the block */
  uint32_t body; /* body of that instruction to enter next */
  int64_t trip;
} frame;

size_t wk_program_flatten(const wk_program *p, wk_arena *scratch, wk_inst_pos **out) {
  WK_VEC(wk_inst_pos) all = {0};
  WK_VEC(frame) stack = {0};
  wk_vec_push(&stack, ((frame){.block = &p->body, .trip = 1}));
  while (stack.n) {
    frame *f = &stack.data[stack.n - 1];
    if (f->next == f->block->insts.n) {
      stack.n--;
      continue;
    }
    wk_inst *i = f->block->insts.data[f->next];
    if (f->body == 0) /* first visit: before any of its bodies */
      wk_vec_push(&all, ((wk_inst_pos){.inst = i, .depth = (int)stack.n - 1, .trip = f->trip}));
    if (f->body == i->n_bodies) {
      f->next++;
      f->body = 0;
      continue;
    }
    frame inner = {.block = &i->bodies[f->body++],
                   .trip = i->op == WK_OP_LOOP ? ((wk_attr_loop *)i->attrs)->trip : f->trip};
    wk_vec_push(&stack, inner);
  }
  *out = wk_arena_memdup(scratch, all.data, all.n * sizeof *all.data);
  size_t n = all.n;
  wk_vec_free(&all);
  wk_vec_free(&stack);
  return n;
}
