/* SPDX-License-Identifier: Apache-2.0
 * Adjoints of movement: what went to several places is summed, what was left out is 0. */
#include <stdlib.h>
#include <string.h>

#include "compiler/grad/adjoint.h"

static const wk_type *input_type(const wk_adjoint *a, uint32_t k) {
  return wk_low_type(&a->l, a->n->in[k]);
}

/* y with so many zeros before and after along each axis; negative: cut off. */
static wk_value_id padded(wk_low *l, wk_value_id y, const int64_t *before, const int64_t *after) {
  if (l->status) return 0;
  int rank = wk_low_type(l, y)->rank;
  bool any = false;
  for (int i = 0; i < rank; i++) any = any || before[i] || after[i];
  if (!any) return y;
  wk_attr_pad *p = wk_attrs_new(l->arena, WK_OP_PAD);
  p->before = wk_ints_dup(l->arena, before, rank);
  p->after = wk_ints_dup(l->arena, after, rank);
  return wk_low_add(l, WK_OP_PAD, p, &y, 1, 1, NULL);
}

void wk_adjoint_reshape(wk_adjoint *a) {
  const wk_type x = *input_type(a, 0);
  a->dx[0] = wk_low_reshape(&a->l, a->dy[0], x.rank, x.dims);
}

void wk_adjoint_transpose(wk_adjoint *a) {
  const wk_attr_transpose *t = WK_ATTR(a->n, transpose);
  int64_t back[WK_MAX_RANK];
  for (int64_t i = 0; i < t->perm.n; i++) back[t->perm.v[i]] = i;
  a->dx[0] = wk_low_transpose(&a->l, a->dy[0], back);
}

void wk_adjoint_expand(wk_adjoint *a) {
  const wk_type x = *input_type(a, 0);
  a->dx[0] = wk_adjoint_sum_to(&a->l, a->dy[0], &x);
}

/* Elements of y, a distance of `step` apart along axis: n elements become n * step, the first of
 * each `step` being theirs. */
static wk_value_id spread(wk_low *l, wk_value_id y, int axis, int64_t step) {
  if (l->status || step == 1) return y;
  const wk_type t = *wk_low_type(l, y);
  int64_t dims[WK_MAX_RANK + 1], before[WK_MAX_RANK + 1] = {0}, after[WK_MAX_RANK + 1] = {0};
  /* [.., n, ..] as [.., n, 1, rest] with what is behind the axis in one */
  int64_t lead = 1, rest = 1;
  for (int i = 0; i < axis; i++) lead *= t.dims[i];
  for (int i = axis + 1; i < t.rank; i++) rest *= t.dims[i];
  int64_t four[] = {lead, t.dims[axis], 1, rest};
  after[2] = step - 1;
  y = padded(l, wk_low_reshape(l, y, 4, four), before, after);
  memcpy(dims, t.dims, (size_t)t.rank * sizeof *dims);
  dims[axis] *= step;
  return wk_low_reshape(l, y, t.rank, dims);
}

static wk_value_id flip(wk_low *l, wk_value_id y, int axis) {
  if (l->status) return 0;
  int64_t n = wk_low_type(l, y)->dims[axis];
  return n > 1 ? wk_low_slice(l, y, axis, n - 1, n, -1) : y;
}

void wk_adjoint_slice(wk_adjoint *a) {
  const wk_attr_slice *s = WK_ATTR(a->n, slice);
  const wk_type x = *input_type(a, 0);
  int64_t before[WK_MAX_RANK] = {0}, after[WK_MAX_RANK] = {0};
  wk_value_id y = a->dy[0];
  for (int i = 0; i < x.rank; i++) {
    int64_t step = s->steps.v[i], n = s->sizes.v[i], first = s->starts.v[i];
    if (n == 0) {
      a->dx[0] = wk_adjoint_zeros(&a->l, &x);
      return;
    }
    if (step < 0) {
      y = flip(&a->l, y, i);
      first += (n - 1) * step;
      step = -step;
    }
    if (n > 1) y = spread(&a->l, y, i, step);
    before[i] = first;
    after[i] = x.dims[i] - first - (n > 1 ? n * step : 1);
  }
  a->dx[0] = padded(&a->l, y, before, after);
}

void wk_adjoint_concat(wk_adjoint *a) {
  int axis = (int)WK_ATTR(a->n, concat)->axis;
  int64_t first = 0;
  for (uint32_t k = 0; k < a->n->n_in && !a->l.status; k++) {
    int64_t n = input_type(a, k)->dims[axis];
    if (a->wants[k]) a->dx[k] = wk_low_slice(&a->l, a->dy[0], axis, first, n, 1);
    first += n;
  }
}

void wk_adjoint_split(wk_adjoint *a) {
  const wk_node *n = a->n;
  const wk_attr_split *s = WK_ATTR(n, split);
  wk_value_id *parts = wk_arena_alloc(a->l.arena, n->n_out * sizeof *parts);
  for (uint32_t i = 0; i < n->n_out && !a->l.status; i++) {
    wk_type t = *input_type(a, 0);
    t.dims[s->axis] = s->sizes.v[i];
    parts[i] = a->dy[i] == WK_NONE ? wk_adjoint_zeros(&a->l, &t) : a->dy[i];
  }
  a->dx[0] = wk_low_concat(&a->l, parts, n->n_out, s->axis);
}

/* Only mode constant moves each element to one place. */
void wk_adjoint_pad(wk_adjoint *a) {
  const wk_attr_pad *p = WK_ATTR(a->n, pad);
  a->lower = strcmp(p->mode, "constant") != 0;
  if (a->lower) return;
  int64_t before[WK_MAX_RANK], after[WK_MAX_RANK];
  int rank = wk_low_type(&a->l, a->dy[0])->rank;
  for (int i = 0; i < rank; i++) {
    before[i] = -p->before.v[i];
    after[i] = -p->after.v[i];
  }
  wk_value_id inner = padded(&a->l, a->dy[0], before, after);
  if (a->wants[0]) a->dx[0] = inner;
  if (!wk_adjoint_wants(a, 1)) return;
  /* what the fill gets is all but what the rest gets */
  const wk_type fill = *input_type(a, 1);
  const wk_type whole = *wk_low_type(&a->l, a->dy[0]);
  wk_value_id kept = padded(&a->l, inner, p->before.v, p->after.v);
  const wk_type scalar = wk_type_make(whole.dtype, 0, NULL);
  wk_value_id rest = wk_low_map(&a->l, whole.dtype, "sub(a, b)", 2, a->dy[0], kept);
  wk_value_id sum = wk_adjoint_sum_to(&a->l, rest, &scalar);
  a->dx[1] = wk_low_reshape(&a->l, wk_adjoint_cast(&a->l, sum, fill.dtype), fill.rank, fill.dims);
}
