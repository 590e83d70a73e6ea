/* SPDX-License-Identifier: Apache-2.0
 * Poison: what limits of an instruction leave out of its results, so that it shows who uses it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/inst.h"

/* The positions that one limit lets through. */
typedef struct {
  int axis, last;
  bool *in;      /* per position of the axes together */
  int64_t count;
} passage;

static int64_t number_at(const wk_frame *f, const wk_view *v, int64_t i) {
  const char *base = (const char *)f->bases[v->buffer] + v->offset + v->step * f->iteration;
  return wk_load_i64(base, v->dtype, i);
}

static passage passage_of(const wk_frame *f, const wk_inst *inst, const wk_limit *l,
                          const wk_view *space) {
  passage p = {.axis = l->axis, .last = wk_limit_last_axis(inst, l), .count = 1};
  int64_t size = number_at(f, &l->size, 0);
  for (int d = p.axis; d <= p.last; d++) p.count *= space->dims[d];
  p.in = wk_xcalloc((size_t)p.count + 1, sizeof *p.in);
  for (int64_t i = 0; i < size && i < p.count; i++) {
    int64_t at = wk_limit_has_rows(l) ? number_at(f, &l->rows, i) : i;
    if (at >= 0 && at < p.count) p.in[at] = true;
  }
  return p;
}

static bool lets_through(const passage *p, const wk_view *space, const int64_t *pos) {
  int64_t at = 0;
  for (int d = p->axis; d <= p->last; d++) at = at * space->dims[d] + pos[d];
  return p->in[at];
}

static void spoil(void *at, wk_dtype t) {
  if (wk_dtype_is_float(t)) wk_store_f64(at, t, 0, (double)NAN);
  else memset(at, t == WK_BOOL ? 1 : 0xAA, (size_t)wk_dtype_size(t));
}

static void spoil_result(const wk_frame *f, const wk_view *v, const passage *p, uint32_t n) {
  int64_t pos[WK_MAX_RANK] = {0}, dims[WK_MAX_RANK];
  memcpy(dims, v->dims, sizeof dims);
  for (int d = 0; d < v->rank; d++)
    if (v->strides[d] == 0 || d < f->outer) dims[d] = dims[d] > 0; /* folded, or of a nest */
  if (wk_dims_count(dims, 0, v->rank) == 0) return;
  do {
    int64_t whole[WK_MAX_RANK], elements = 0;
    bool is_in = true;
    for (int d = 0; d < v->rank; d++) {
      whole[d] = d < f->outer ? f->pos[d] : pos[d];
      elements += whole[d] * v->strides[d];
    }
    for (uint32_t k = 0; k < n; k++) is_in = is_in && lets_through(&p[k], v, whole);
    char *base = (char *)f->bases[v->buffer] + v->offset + v->step * f->iteration;
    if (!is_in) spoil(base + elements * wk_dtype_size(v->dtype), v->dtype);
  } while (wk_walk_next(v->rank, dims, pos));
}

/* Of a reduce those along axes that stay. */
static bool is_of_results(const wk_inst *inst, const wk_limit *l) {
  const wk_view *y = &inst->operands[0];
  return l->axis < y->rank && (y->strides[l->axis] != 0 || inst->op != WK_OP_REDUCE);
}

void wk_frame_poison(const wk_frame *f, const wk_inst *inst) {
  passage p[WK_MAX_LIMITS];
  uint32_t n = 0;
  for (uint32_t k = 0; k < inst->n_limits; k++)
    if (is_of_results(inst, &inst->limits[k]))
      p[n++] = passage_of(f, inst, &inst->limits[k], &inst->operands[0]);
  for (uint32_t o = 0; o < inst->n_out && n; o++)
    if (inst->operands[o].buffer != WK_NONE) spoil_result(f, &inst->operands[o], p, n);
  for (uint32_t k = 0; k < n; k++) free(p[k].in);
}
