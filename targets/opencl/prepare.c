/* SPDX-License-Identifier: Apache-2.0
 * Rewrites of programs, all of them into programs that mean the same to everybody. */
#include <stdlib.h>
#include <string.h>

#include "targets/opencl/nest.h"
#include "targets/opencl/prepare.h"
#include "targets/opencl/tile.h"

typedef struct {
  const wk_opencl *d;
  wk_program *p;
  wk_block *out;
  int64_t changes;
} preparing;

static wk_view temporary(preparing *r, const wk_inst *of, wk_dtype t, int rank, const int64_t *dims,
                         const int64_t *strides, int64_t elements) {
  wk_buffer b = {.name = wk_arena_printf(r->p->arena, "%s.copy", of->name ? of->name : ""),
                 .region = WK_REGION_ACT, .size = elements * wk_dtype_size(t),
                 .align = wk_cl_align(r->d), .offset = -1};
  wk_view v = {.buffer = wk_program_buffer(r->p, &b), .role = WK_ROLE_OUT, .dtype = t,
               .rank = rank};
  memcpy(v.dims, dims, (size_t)rank * sizeof *dims);
  memcpy(v.strides, strides, (size_t)rank * sizeof *strides);
  return v;
}

static void append(preparing *r, wk_op op, const wk_inst *of, const wk_view *to,
                   const wk_view *from, double value) {
  wk_inst *i = wk_inst_new(r->p, op, of->name, 1, from ? 2 : 1);
  i->operands[0] = *to;
  i->operands[0].role = WK_ROLE_OUT;
  if (from) i->operands[1] = *from;
  else ((wk_attr_fill *)i->attrs)->value = value;
  wk_block_append(r->out, i);
  r->changes++;
}

/* ---- images of few channels ------------------------------------------------------------------ */

/* Positions along spatial axis d that windows of a convolution reach, from the first of them. */
static int64_t reach(const wk_inst *i, int d) {
  const wk_attr_conv *c = i->attrs;
  return (i->operands[0].dims[d + 2] - 1) * c->strides.v[d] +
         (i->operands[2].dims[d + 2] - 1) * c->dilations.v[d] + 1;
}

bool wk_cl_clips(const wk_inst *i, int d) {
  int64_t before = ((const wk_attr_conv *)i->attrs)->pads.v[d];
  return before > 0 || reach(i, d) - before > i->operands[1].dims[d + 2];
}

static bool wants_image(const wk_inst *i) {
  const wk_view *x = &i->operands[1];
  const wk_attr_conv *c = i->attrs;
  bool pads = false;
  for (int d = 0; d < x->rank - 2; d++)
    pads = pads || wk_cl_clips(i, d);
  return c->group == 1 && x->rank > 2 && x->dims[1] <= WK_CL_FEW_CHANNELS &&
         (pads || x->strides[1] != 1 || x->strides[x->rank - 1] != x->dims[1]);
}

/* x with its padding, channels last. */
static void pad_image(preparing *r, wk_inst *i) {
  wk_view *x = &i->operands[1];
  wk_attr_conv *c = wk_arena_alloc(r->p->arena, sizeof *c);
  *c = *(const wk_attr_conv *)i->attrs;
  int n = x->rank - 2;
  int64_t dims[WK_MAX_RANK], strides[WK_MAX_RANK], run = x->dims[1], first = 0;
  bool pads = false;
  memcpy(dims, x->dims, sizeof dims);
  strides[1] = 1;
  for (int d = n - 1; d >= 0; d--) {
    dims[d + 2] += c->pads.v[d];
    if (reach(i, d) > dims[d + 2]) dims[d + 2] = reach(i, d);
    pads = pads || dims[d + 2] != x->dims[d + 2];
    strides[d + 2] = run;
    first += c->pads.v[d] * run;
    run *= dims[d + 2];
  }
  strides[0] = run;
  wk_view whole = temporary(r, i, x->dtype, x->rank, dims, strides, run * dims[0]), inside = whole;
  if (pads) append(r, WK_OP_FILL, i, &whole, NULL, (double)c->pad_value);
  memcpy(inside.dims, x->dims, sizeof inside.dims);
  inside.offset = first * wk_dtype_size(x->dtype);
  append(r, WK_OP_COPY, i, &inside, x, 0);
  c->pads = (wk_ints){.n = 2 * n, .v = wk_arena_alloc(r->p->arena, (size_t)(2 * n) * 8)};
  whole.role = WK_ROLE_IN;
  *x = whole;
  i->attrs = c;
}

/* ---- matrices -------------------------------------------------------------------------------- */

static bool is_computed(const preparing *r, const wk_view *v) {
  return r->p->buffers.data[v->buffer].region != WK_REGION_CONST || v->step;
}

/* Columns of whole tiles. */
static int64_t padded(const preparing *r, int64_t columns) {
  int64_t width = wk_cl_lanes(r->d);
  if (columns > width) width *= 2;
  return wk_ceil_div(columns, width) * width;
}

/* b in rows of whole vectors, zero behind its columns; batch axes that repeat it stay such. */
static void copy_matrix(preparing *r, wk_inst *i) {
  wk_view *b = &i->operands[2];
  int64_t dims[WK_MAX_RANK], strides[WK_MAX_RANK], n = b->dims[b->rank - 1];
  int64_t row = padded(r, n), run = row;
  memcpy(dims, b->dims, sizeof dims);
  for (int d = b->rank - 1; d >= 0; d--) {
    bool repeats = b->strides[d] == 0 && b->dims[d] > 1 && d < b->rank - 2;
    strides[d] = d == b->rank - 1 ? 1 : repeats ? 0 : run;
    if (repeats) dims[d] = 1;
    else if (d < b->rank - 1) run *= dims[d];
  }
  wk_view copy = temporary(r, i, b->dtype, b->rank, dims, strides, run), from = *b, rest = copy;
  rest.dims[b->rank - 1] = row - n;
  rest.offset = n * wk_dtype_size(b->dtype);
  if (row > n) append(r, WK_OP_FILL, i, &rest, NULL, 0);
  memcpy(from.dims, dims, sizeof from.dims);
  append(r, WK_OP_COPY, i, &copy, &from, 0);
  memcpy(copy.dims, b->dims, sizeof copy.dims);
  copy.role = WK_ROLE_IN;
  *b = copy;
}

static bool wants_matrix(const preparing *r, const wk_inst *i) {
  const wk_view *a = &i->operands[1], *b = &i->operands[2];
  int64_t columns = b->dims[b->rank - 1], lanes = wk_cl_lanes(r->d);
  bool is_read = b->strides[b->rank - 1] == 1 &&
                 wk_ceil_div(columns, lanes) * lanes <= wk_cl_readable(r->p, b);
  return is_computed(r, b) && !is_read && columns > 1 && wk_view_count(b) > 0 &&
         a->dims[a->rank - 2] > 1 && wk_cl_tile_types(a->dtype, b->dtype);
}

/* ---- nests ----------------------------------------------------------------------------------- */

static bool is_scratch(const preparing *r, const wk_view *v) {
  return v->buffer != WK_NONE && r->p->buffers.data[v->buffer].region == WK_REGION_SCRATCH;
}

/* A view of the scratch of one position becomes one of memory for all positions. */
static void spread(preparing *r, wk_view *v, int outer) {
  int64_t run = r->p->buffers.data[v->buffer].size / wk_dtype_size(v->dtype);
  for (int d = outer - 1; d >= 0; d--) {
    v->strides[d] = run;
    run *= v->dims[d];
  }
}

/* Bodies become instructions of their own. */
static void dissolve(preparing *r, wk_inst *nest) {
  int outer = (int)((const wk_attr_nest *)nest->attrs)->outer;
  const wk_view *first = &nest->bodies[0].insts.data[0]->operands[0];
  int64_t rows = 1;
  for (int d = 0; d < outer; d++) rows *= first->dims[d];
  for (size_t k = 0; k < nest->bodies[0].insts.n; k++) {
    wk_inst *i = nest->bodies[0].insts.data[k];
    for (uint32_t o = 0; o < i->n_operands; o++)
      if (is_scratch(r, &i->operands[o])) spread(r, &i->operands[o], outer);
    wk_block_append(r->out, i);
  }
  for (size_t k = 0; k < nest->bodies[0].insts.n; k++) {
    const wk_inst *i = nest->bodies[0].insts.data[k];
    for (uint32_t o = 0; o < i->n_operands; o++) {
      if (!is_scratch(r, &i->operands[o])) continue;
      wk_buffer *b = &r->p->buffers.data[i->operands[o].buffer];
      b->region = WK_REGION_ACT;
      b->size *= rows;
    }
  }
  r->changes++;
  wk_vec_free(&nest->bodies[0].insts);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void prepare_block(preparing *r, wk_block *b) {
  wk_block *outside = r->out, old = *b;
  *b = (wk_block){0};
  r->out = b;
  for (size_t k = 0; k < old.insts.n; k++) {
    wk_inst *i = old.insts.data[k];
    if (i->op == WK_OP_IF || i->op == WK_OP_LOOP)
      for (uint32_t n = 0; n < i->n_bodies; n++) prepare_block(r, &i->bodies[n]);
    if (i->op == WK_OP_NEST && !wk_cl_nest_fits(r->d, r->p, i)) {
      dissolve(r, i);
      continue;
    }
    if (wk_cl_wants_phases(r->p, i)) {
      wk_cl_add_phases(r->p, b, i);
      r->changes++;
      continue;
    }
    if (wk_cl_wants_stages(r->d, i)) {
      wk_cl_add_stages(r->d, r->p, b, i);
      r->changes++;
      continue;
    }
    if (i->op == WK_OP_CONV && r->d->family == WK_CL_CPU && wants_image(i)) pad_image(r, i);
    if (i->op == WK_OP_MATMUL && r->d->family == WK_CL_CPU && wants_matrix(r, i)) copy_matrix(r, i);
    wk_block_append(b, i);
  }
  wk_vec_free(&old.insts);
  r->out = outside;
}

wk_status wk_cl_prepare(const wk_opencl *d, wk_program *p, wk_arena *scratch, int64_t *changes) {
  (void)scratch;
  preparing r = {.d = d, .p = p};
  prepare_block(&r, &p->body);
  *changes += r.changes;
  return NULL;
}
