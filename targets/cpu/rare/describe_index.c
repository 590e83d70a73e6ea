/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/rare/rare_call.h"

#include <string.h>

static double move_ns(const wk_rare_call *r) { return (double)wk_inst_bytes(r->i) / 4; }

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static void append(wk_rare_view *v, int64_t dim, int64_t stride) {
  v->dims[v->rank] = dim;
  v->strides[v->rank++] = stride;
}

static void append_axis(wk_rare_view *v, const wk_view *from, int axis) {
  append(v, from->dims[axis], from->strides[axis]);
}

/* Axes of data but the gathered one, by their distance in y, the longest first; *inner of them,
 * at the end, lie closer together than the indices' results. */
static int sort_axes(const wk_view *y, const wk_view *data, int axis, int index_rank, int *order,
                     int *inner) {
  int n = 0;
  int64_t nearest = INT64_MAX;
  for (int k = 0; k < index_rank; k++)
    if (y->dims[axis + k] > 1 && magnitude(y->strides[axis + k]) < nearest)
      nearest = magnitude(y->strides[axis + k]);
  *inner = 0;
  for (int k = 0; k < data->rank; k++) {
    if (k == axis || data->dims[k] == 1) continue;
    int in_y = k < axis ? k : k + index_rank - 1, at = n++;
    int64_t stride = magnitude(y->strides[in_y]);
    *inner += stride < nearest;
    for (; at > 0; at--) {
      int other = order[at - 1], other_y = other < axis ? other : other + index_rank - 1;
      if (magnitude(y->strides[other_y]) >= stride) break;
      order[at] = other;
    }
    order[at] = k;
  }
  return n;
}

/* Views of the same dims: axes of more than one element by falling distance in the first, merged
 * where all of them go on. One axis is left at least. */
static void set_runs(wk_rare_view *const *to, const wk_rare_view *from, int n) {
  int order[WK_MAX_RANK], axes = 0;
  for (int k = 0; k < from->rank; k++) {
    if (from->dims[k] == 1) continue;
    int at = axes++;
    for (; at > 0; at--) {
      if (magnitude(from->strides[order[at - 1]]) >= magnitude(from->strides[k])) break;
      order[at] = order[at - 1];
    }
    order[at] = k;
  }
  for (int k = 0; k < axes; k++) {
    int axis = order[k], last = to[0]->rank - 1;
    bool joins = last >= 0;
    for (int i = 0; i < n && joins; i++)
      joins = to[i]->strides[last] == from[i].strides[axis] * from->dims[axis];
    for (int i = 0; i < n; i++) {
      if (!joins) append(to[i], from->dims[axis], from[i].strides[axis]);
      else to[i]->dims[last] *= from->dims[axis], to[i]->strides[last] = from[i].strides[axis];
    }
  }
  for (int i = 0; i < n && axes == 0; i++) append(to[i], 1, 1);
}

/* A function of a byte as a table of 256 entries: no index is out of range, and -1 is 255. */
static bool describe_table(wk_rare_call *r) {
  const wk_view *y = wk_rare_operand(r, 0), *data = wk_rare_operand(r, 1);
  const wk_view *at = wk_rare_operand(r, 2);
  wk_rare_view *to = &r->view[0], *from = &r->view[2];
  if (data->rank != 1 || data->dims[0] != 256 || data->strides[0] != 1) return false;
  if (at->dtype != WK_U8 && at->dtype != WK_I8) return false;
  r->n_views = 3;
  for (uint32_t k = 0; k < 3; k++) r->view[k].dtype = wk_rare_operand(r, k)->dtype;
  append_axis(&r->view[1], data, 0);
  const wk_rare_view views[] = {wk_rare_plain_view(y), wk_rare_plain_view(at)};
  set_runs((wk_rare_view *[]){to, from}, views, 2);
  int last = to->rank - 1;
  if (to->strides[last] != 1 || from->strides[last] != 1) {
    memset(r->view, 0, 3 * sizeof r->view[0]);
    return false;
  }
  int64_t pieces = wk_ceil_div(to->dims[last], RARE_TABLE_RUN);
  r->function = "wk_rare_table";
  r->n_tasks = wk_rare_product(to->dims, 0, last) * pieces;
  r->ns = (double)wk_view_count(y) / 2;
  return true;
}

/* The first of the axes whose positions lie farthest apart; -1: there is one element. */
static int outermost(const wk_view *y) {
  int best = -1;
  for (int k = 0; k < y->rank; k++) {
    if (y->dims[k] == 1) continue;
    if (best < 0 || magnitude(y->strides[k]) > magnitude(y->strides[best])) best = k;
  }
  return best;
}

/* Views of y's dims: of y, of data where index 0 leads, of the indices. */
static void describe_pick(wk_rare_call *r, const wk_rare_view *views, int axis) {
  const wk_view *data = wk_rare_operand(r, 1);
  r->n_views = 3;
  for (uint32_t k = 0; k < 3; k++) r->view[k].dtype = wk_rare_operand(r, k)->dtype;
  set_runs((wk_rare_view *[]){&r->view[0], &r->view[1], &r->view[2]}, views, 3);
  r->attr[RARE_AXIS_SIZE] = data->dims[axis];
  r->attr[RARE_AXIS_STRIDE] = data->strides[axis];
  r->outer = outermost(wk_rare_operand(r, 0));
  r->function = "wk_rare_pick";
  r->n_tasks = wk_rare_product(views->dims, 0, (int)views->rank);
  r->ns = 2 * (double)r->n_tasks;
}

/* A gather whose indices name single elements. */
static void gather_single(wk_rare_call *r, int axis) {
  const wk_view *data = wk_rare_operand(r, 1), *at = wk_rare_operand(r, 2);
  wk_rare_view views[] = {wk_rare_plain_view(wk_rare_operand(r, 0)), {.rank = 0}, {.rank = 0}};
  for (int k = 0; k < axis; k++) append_axis(&views[1], data, k);
  for (int k = 0; k < at->rank; k++) append(&views[1], at->dims[k], 0);
  for (int k = axis + 1; k < data->rank; k++) append_axis(&views[1], data, k);
  for (int k = 0; k < axis; k++) append(&views[2], data->dims[k], 0);
  for (int k = 0; k < at->rank; k++) append_axis(&views[2], at, k);
  for (int k = axis + 1; k < data->rank; k++) append(&views[2], data->dims[k], 0);
  describe_pick(r, views, axis);
}

void wk_describe_gather(wk_rare_call *r) {
  const wk_view *y = wk_rare_operand(r, 0), *data = wk_rare_operand(r, 1);
  const wk_view *at = wk_rare_operand(r, 2);
  if (describe_table(r)) return;
  int axis = (int)((const wk_attr_gather *)r->i->attrs)->axis, order[WK_MAX_RANK], inner;
  int n = sort_axes(y, data, axis, at->rank, order, &inner);
  if (inner == 0) {
    gather_single(r, axis);
    return;
  }
  r->n_views = 3;
  for (uint32_t k = 0; k < 3; k++) r->view[k].dtype = wk_rare_operand(r, k)->dtype;
  for (int k = 0; k <= n; k++) {
    if (k == n - inner) {
      r->attr[RARE_AXIS] = k;
      append_axis(&r->view[1], data, axis);
      for (int i = 0; i < at->rank; i++) append_axis(&r->view[0], y, axis + i);
      for (int i = 0; i < at->rank; i++) append_axis(&r->view[2], at, i);
    }
    if (k == n) break;
    append_axis(&r->view[1], data, order[k]);
    append_axis(&r->view[0], y, order[k] < axis ? order[k] : order[k] + at->rank - 1);
  }
  for (int k = 0; k < at->rank && n == inner && r->outer < 0; k++)
    if (at->dims[k] > 1) r->outer = axis + k;
  r->function = "wk_rare_gather";
  r->n_tasks = wk_rare_product(r->view[1].dims, 0, n - inner) * wk_view_count(at);
  r->ns = move_ns(r) + 5 * (double)r->n_tasks;
}

void wk_describe_gather_elements(wk_rare_call *r) {
  int axis = (int)((const wk_attr_gather_elements *)r->i->attrs)->axis;
  wk_rare_view views[3];
  for (uint32_t k = 0; k < 3; k++) views[k] = wk_rare_plain_view(wk_rare_operand(r, k));
  views[1].strides[axis] = 0;
  describe_pick(r, views, axis);
}

void wk_describe_gather_nd(wk_rare_call *r) {
  const wk_view *indices = wk_rare_operand(r, 2);
  wk_rare_plain_views(r);
  r->attr[RARE_BATCH_DIMS] = ((const wk_attr_gather_nd *)r->i->attrs)->batch_dims;
  r->function = "wk_rare_gather_nd";
  r->n_tasks = wk_rare_product(indices->dims, 0, indices->rank - 1);
  r->ns = move_ns(r) + 10 * (double)wk_view_count(indices);
}

static void set_scatter(wk_rare_call *r, const char *function, const char *reduction) {
  static const char *const names[] = {[RARE_SET] = "none",
                                      [RARE_ADD] = "add",
                                      [RARE_MUL] = "mul",
                                      [RARE_MIN] = "min",
                                      [RARE_MAX] = "max"};
  wk_rare_plain_views(r);
  for (size_t k = 0; k < WK_COUNTOF(names); k++)
    if (strcmp(reduction, names[k]) == 0) r->attr[RARE_COMBINE] = (int64_t)k;
  r->function = function;
}

/* Lines along an axis of x. */
static int64_t lines(const wk_view *x, int64_t axis) {
  return wk_rare_product(x->dims, 0, (int)axis) * wk_rare_product(x->dims, (int)axis + 1, x->rank);
}

void wk_describe_scatter_elements(wk_rare_call *r) {
  const wk_attr_scatter_elements *a = r->i->attrs;
  const wk_view *indices = wk_rare_operand(r, 2);
  set_scatter(r, "wk_rare_scatter_elements", a->reduction);
  r->attr[RARE_AXIS] = a->axis;
  r->n_tasks = lines(indices, a->axis);
  r->ns = 4 * (double)wk_view_count(indices);
}

void wk_describe_scatter_nd(wk_rare_call *r) {
  const wk_view *y = wk_rare_operand(r, 0), *indices = wk_rare_operand(r, 2);
  int last = indices->rank - 1, depth = (int)indices->dims[last];
  int64_t rows = wk_rare_product(indices->dims, 0, last);
  set_scatter(r, "wk_rare_scatter_nd", ((const wk_attr_scatter_nd *)r->i->attrs)->reduction);
  r->n_tasks = 1;
  if (depth < y->rank)
    r->n_tasks = wk_rare_product(y->dims, depth, y->rank - 1) *
                 wk_ceil_div(y->dims[y->rank - 1], RARE_PIECE);
  r->ns = (double)wk_view_count(wk_rare_operand(r, 3)) +
          5 * (double)rows * (double)r->n_tasks * (double)depth;
}

void wk_describe_cum_sum(wk_rare_call *r) {
  const wk_attr_cum_sum *a = r->i->attrs;
  wk_rare_plain_views(r);
  r->attr[RARE_AXIS] = a->axis;
  r->attr[RARE_EXCLUSIVE] = a->exclusive;
  r->attr[RARE_REVERSE] = a->reverse;
  r->function = "wk_rare_cum_sum";
  r->n_tasks = lines(wk_rare_operand(r, 1), a->axis);
  r->ns = 4 * (double)wk_view_count(wk_rare_operand(r, 1));
}

void wk_describe_top_k(wk_rare_call *r) {
  const wk_attr_top_k *a = r->i->attrs;
  const wk_view *x = wk_rare_operand(r, 2);
  wk_rare_plain_views(r);
  r->attr[RARE_AXIS] = a->axis;
  r->attr[RARE_K] = a->k;
  r->attr[RARE_LARGEST] = a->largest;
  r->function = "wk_rare_top_k";
  r->n_tasks = lines(x, a->axis);
  r->scratch_bytes = 24 * a->k;
  r->ns = 10 * (double)wk_view_count(x);
}
