/* SPDX-License-Identifier: Apache-2.0
 * Rules of operators that ask for sizes, or change shapes. */
#include <string.h>

#include "compiler/onnx/import/extent.h"

/* ---- asking ---------------------------------------------------------------------------------- */

wk_status wk_extent_shape(wk_onnx_node *c) {
  int64_t rank = wk_onnx_type(c, c->in[0])->rank;
  int64_t start = wk_onnx_int(c, "start", 0), end = wk_onnx_int(c, "end", rank);
  start = start < -rank ? 0 : start < 0 ? start + rank : start > rank ? rank : start;
  end = end < -rank ? 0 : end < 0 ? end + rank : end > rank ? rank : end;
  const wk_size **dims = wk_arena_alloc(c->im->arena, WK_MAX_RANK * sizeof *dims);
  wk_extent_dims(c, c->in[0], dims);
  return wk_onnx_return(c, wk_extent_list_of(c, dims + start, end > start ? end - start : 0));
}

wk_status wk_extent_size(wk_onnx_node *c) {
  const wk_size **n = wk_arena_alloc(c->im->arena, sizeof *n);
  *n = wk_size_const(c, 1);
  for (int i = 0; i < wk_onnx_type(c, c->in[0])->rank; i++)
    *n = wk_size_mul(c, *n, wk_extent_dim(c, c->in[0], i));
  wk_value_id v = wk_make_1(c, WK_OP_IDENTITY, wk_size_value(c, *n));
  wk_extent_set_elements(c, v, n, 1);
  return wk_onnx_return(c, v);
}

/* ---- reshaping ------------------------------------------------------------------------------- */

/* Axes [from, to) of both shapes that hold the same elements. */
typedef struct { int x_from, x_to, y_from, y_to; } group;

static const wk_size *product(wk_onnx_node *c, const wk_size *const *dims, int from, int to) {
  const wk_size *p = wk_size_const(c, 1);
  for (int i = from; i < to; i++) p = wk_size_mul(c, p, dims[i]);
  return p;
}

static int64_t count(const int64_t *dims, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; i++) n *= dims[i];
  return n;
}

/* Nothing has to move: of each side only the slowest axis that has more than one element may have
 * an open size, and there is room for the same number. */
static bool stays(const wk_size *const *dims, int from, int to) {
  int64_t known;
  bool is_first = true;
  for (int i = from; i < to; i++) {
    bool is_known = wk_size_is_const(dims[i], &known);
    if (!is_known && !is_first) return false;
    if (!is_known || known != 1) is_first = false;
  }
  return true;
}

static wk_value_id times(wk_onnx_node *c, wk_value_id a, wk_value_id b) {
  return a == WK_NONE ? b : wk_make_2(c, WK_OP_MUL, a, b);
}

static wk_value_id plus(wk_onnx_node *c, wk_value_id a, wk_value_id b) {
  return a == WK_NONE ? b : wk_make_2(c, WK_OP_ADD, a, b);
}

/* For each position in the room of y's group its element's number among those that there are. */
static wk_value_id element_numbers(wk_onnx_node *c, const group *g, const wk_size *const *y,
                                   const int64_t *room) {
  int rank = g->y_to - g->y_from;
  wk_value_id sum = WK_NONE, below = WK_NONE;
  for (int i = rank - 1; i >= 0; i--) {
    wk_value_id at = wk_make_along(c, wk_make_iota(c, room[g->y_from + i]), i, rank);
    sum = plus(c, sum, below == WK_NONE ? at : wk_make_2(c, WK_OP_MUL, at, below));
    if (i > 0) below = times(c, below, wk_size_value(c, y[g->y_from + i]));
  }
  return rank ? sum : wk_extent_number(c, 0);
}

/* Where element number `at` of x's group lies in its room. */
static wk_value_id positions(wk_onnx_node *c, const group *g, const wk_size *const *x,
                             const int64_t *room, wk_value_id at) {
  wk_value_id sum = WK_NONE;
  for (int i = g->x_to - 1; i >= g->x_from; i--) {
    wk_value_id own = at;
    if (i > g->x_from) {
      wk_value_id size = wk_size_value(c, wk_size_max(c, x[i], wk_size_const(c, 1)));
      own = wk_make_2(c, WK_OP_MOD, at, size);
      at = wk_make_2(c, WK_OP_DIV, at, size);
    }
    int64_t stride = count(room, i + 1, g->x_to);
    if (stride != 1) own = wk_make_2(c, WK_OP_MUL, own, wk_extent_number(c, stride));
    sum = plus(c, sum, own);
  }
  return sum == WK_NONE ? at : sum;
}

/* The elements of one group in y's room; the axes around stay. */
static wk_value_id move_group(wk_onnx_node *c, wk_value_id v, const group *g,
                              const wk_size *const *x, const wk_size *const *y,
                              const int64_t *y_room, int *shift) {
  const wk_type t = *wk_onnx_type(c, v);
  int64_t dims[WK_MAX_RANK];
  int at = g->x_from + *shift, end = g->x_to + *shift, rank = 0;
  int64_t x_room[WK_MAX_RANK] = {0}, n = count(t.dims, at, end);
  int64_t m = count(y_room, g->y_from, g->y_to);
  for (int i = g->x_from; i < g->x_to; i++) x_room[i] = t.dims[i + *shift];
  bool moves = n != m || !stays(x, g->x_from, g->x_to) || !stays(y, g->y_from, g->y_to);
  if (moves) {
    for (int i = 0; i < at; i++) dims[rank++] = t.dims[i];
    dims[rank++] = n;
    for (int i = end; i < t.rank; i++) dims[rank++] = t.dims[i];
    wk_value_id from = positions(c, g, x, x_room, element_numbers(c, g, y, y_room));
    from = wk_make_reshape(c, wk_extent_clamped(c, from, n), 1, &m);
    if (!wk_onnx_need(c, n > 0 || m == 0, "nothing is there to take from")) return v;
    v = wk_make_gather(c, wk_make_reshape(c, v, rank, dims), from, at);
  }
  rank = 0;
  for (int i = 0; i < at; i++) dims[rank++] = t.dims[i];
  for (int i = g->y_from; i < g->y_to; i++) dims[rank++] = y_room[i];
  for (int i = end; i < t.rank; i++) dims[rank++] = t.dims[i];
  *shift += (g->y_to - g->y_from) - (g->x_to - g->x_from);
  return wk_make_reshape(c, v, rank, dims);
}

/* The next axes that hold the same elements; to the end of both where no earlier axes do. */
static group next_group(wk_onnx_node *c, const wk_size *const *x, int x_rank,
                        const wk_size *const *y, int y_rank, int i, int k) {
  for (int a = i; a <= x_rank; a++)
    for (int b = k; b <= y_rank; b++) {
      if (a == i && b == k) continue;
      if (wk_size_equal(product(c, x, i, a), product(c, y, k, b)) &&
          wk_size_equal(product(c, x, a, x_rank), product(c, y, b, y_rank)))
        return (group){i, a, k, b};
    }
  return (group){i, x_rank, k, y_rank};
}

wk_value_id wk_extent_reshape(wk_onnx_node *c, wk_value_id v, int rank,
                              const wk_size *const *dims) {
  const wk_size *x[WK_MAX_RANK];
  int x_rank = wk_onnx_type(c, v)->rank, shift = 0;
  int64_t room[WK_MAX_RANK];
  wk_extent_dims(c, v, x);
  for (int i = 0; i < rank; i++) room[i] = wk_size_most(c, dims[i]);
  for (int i = 0, k = 0; !c->status && (i < x_rank || k < rank);) {
    group g = next_group(c, x, x_rank, dims, rank, i, k);
    v = move_group(c, v, &g, x, dims, room, &shift);
    i = g.x_to;
    k = g.y_to;
  }
  return wk_extent_set(c, v, dims);
}

wk_status wk_extent_reshape_to(wk_onnx_node *c) {
  int64_t n, known;
  const wk_size *const *want = wk_extent_list(c, 1, "the shape", &n);
  const wk_size *dims[WK_MAX_RANK], *all = wk_size_const(c, 1), *rest = all;
  int hole = -1, rank = wk_onnx_type(c, c->in[0])->rank;
  bool keeps = !wk_onnx_int(c, "allowzero", 0);
  if (!want || !wk_onnx_need(c, n <= WK_MAX_RANK, "rank %lld exceeds %d", (long long)n,
                             WK_MAX_RANK)) return c->status;
  for (int i = 0; i < n && wk_onnx_ok(c); i++) {
    bool is_known = wk_size_is_const(want[i], &known);
    dims[i] = want[i];
    if (is_known && known == 0 && keeps && wk_onnx_valid(c, i < rank, "size 0 copies axis %d", i))
      dims[i] = wk_extent_dim(c, c->in[0], i);
    bool is_same = i < rank && wk_size_equal(want[i], wk_extent_dim(c, c->in[0], i));
    wk_onnx_need(c, is_known || is_same || wk_size_least(c, want[i]) >= !!keeps,
                 "size %s may be 0 or less, which says something else", wk_size_text(c, want[i]));
    if (is_known && known == -1) {
      wk_onnx_valid(c, hole < 0, "two sizes are -1");
      hole = i;
    } else rest = wk_size_mul(c, rest, dims[i]);
  }
  for (int i = 0; i < rank; i++) all = wk_size_mul(c, all, wk_extent_dim(c, c->in[0], i));
  if (hole >= 0) dims[hole] = wk_size_div(c, all, rest);
  if (hole >= 0) rest = wk_size_mul(c, rest, dims[hole]);
  if (!wk_onnx_ok(c)) return c->status;
  wk_value_id y = wk_extent_checked(c, c->in[0], all, rest);
  y = wk_extent_reshape(c, y, (int)n, dims);
  if (y == c->in[0]) y = wk_extent_copy(c, y);
  int64_t m;
  const wk_size *const *elements = wk_extent_elements(c, c->in[0], &m);
  if (elements && !wk_is_const(c->g, y)) wk_extent_set_elements(c, y, elements, m);
  return wk_onnx_return(c, y);
}

wk_status wk_extent_flatten(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  int64_t axis = wk_onnx_int(c, "axis", 1);
  const wk_size *x[WK_MAX_RANK], *dims[2];
  if (axis != rank) axis = wk_onnx_axis(c, axis, rank);
  wk_extent_dims(c, c->in[0], x);
  dims[0] = product(c, x, 0, (int)axis);
  dims[1] = product(c, x, (int)axis, rank);
  return wk_onnx_return(c, wk_extent_reshape(c, c->in[0], 2, dims));
}

/* The result has these sizes, and the elements of the operand. */
static wk_status renamed(wk_onnx_node *c, wk_value_id y, const wk_size *const *dims) {
  int64_t n;
  const wk_size *const *elements = wk_extent_elements(c, c->in[0], &n);
  if (y == c->in[0]) y = wk_extent_copy(c, y);
  y = wk_extent_set(c, y, dims);
  if (elements) wk_extent_set_elements(c, y, elements, n);
  return wk_onnx_return(c, y);
}

/* Axes to squeeze whose size is only known at run time have one element. */
wk_status wk_extent_squeeze(wk_onnx_node *c) {
  const wk_size *x[WK_MAX_RANK], *dims[WK_MAX_RANK];
  wk_ints axes = wk_onnx_ints_input(c, 13, 1, "axes");
  int rank = wk_onnx_type(c, c->in[0])->rank, n = 0;
  int64_t known, all[WK_MAX_RANK], n_all = 0;
  wk_extent_dims(c, c->in[0], x);
  for (int i = 0; i < rank && axes.n < 0; i++) { /* all that have one */
    bool is_known = wk_size_is_const(x[i], &known);
    wk_onnx_need(c, is_known || wk_size_least(c, x[i]) > 1,
                 "whether axis %d has one element is only known at run time", i);
    if (is_known && known == 1) all[n_all++] = i;
  }
  axes = axes.n < 0 ? wk_ints_dup(c->im->m->arena, all, n_all) : wk_onnx_axes(c, axes, rank);
  for (int i = 0, k = 0; i < rank && wk_onnx_ok(c); i++) {
    bool is_gone = k < axes.n && axes.v[k] == i;
    k += is_gone;
    if (!is_gone) dims[n++] = x[i];
    else if (wk_extent_is_open(c, c->in[0], i)) {
      c->in[0] = wk_extent_checked(c, c->in[0], x[i], wk_size_const(c, 1));
      x[i] = wk_size_const(c, 1);
      c->in[0] = wk_extent_set(c, c->in[0], x);
    }
  }
  return wk_onnx_ok(c) ? renamed(c, wk_make_squeeze(c, c->in[0], axes), dims) : c->status;
}

wk_status wk_extent_unsqueeze(wk_onnx_node *c) {
  const wk_size *x[WK_MAX_RANK], *dims[WK_MAX_RANK];
  wk_ints axes = wk_onnx_ints_input(c, 13, 1, "axes");
  int64_t rank = wk_onnx_type(c, c->in[0])->rank + (axes.n < 0 ? 0 : axes.n);
  wk_extent_dims(c, c->in[0], x);
  axes = wk_onnx_axes(c, axes, (int)rank);
  for (int i = 0, k = 0, from = 0; i < rank && wk_onnx_ok(c); i++) {
    bool is_new = k < axes.n && axes.v[k] == i;
    k += is_new;
    dims[i] = is_new ? wk_size_const(c, 1) : x[from++];
  }
  return wk_onnx_ok(c) ? renamed(c, wk_make_unsqueeze(c, c->in[0], axes), dims) : c->status;
}

/* Those of x, in the order in which its result has them. */
static const wk_size *const *transposed_elements(wk_onnx_node *c, bool turns, int64_t *n) {
  const wk_type t = *wk_onnx_type(c, c->in[0]);
  const wk_size *const *list = wk_extent_elements(c, c->in[0], n);
  if (!list || !turns) return list;
  const wk_size **turned = wk_arena_alloc(c->im->arena, (size_t)*n * sizeof *turned);
  for (int64_t i = 0; i < t.dims[0]; i++)
    for (int64_t k = 0; k < t.dims[1]; k++) turned[k * t.dims[0] + i] = list[i * t.dims[1] + k];
  return turned;
}

wk_status wk_extent_transpose(wk_onnx_node *c) {
  const wk_size *x[WK_MAX_RANK], *dims[WK_MAX_RANK];
  int rank = wk_onnx_type(c, c->in[0])->rank, from[WK_MAX_RANK];
  int64_t n;
  wk_ints perm = wk_onnx_ints(c, "perm");
  wk_extent_dims(c, c->in[0], x);
  if (!wk_onnx_valid(c, perm.n < 0 || perm.n == rank, "perm does not fit")) return c->status;
  for (int i = 0; i < rank && wk_onnx_ok(c); i++) {
    from[i] = perm.n < 0 ? rank - 1 - i : (int)wk_onnx_axis(c, perm.v[i], rank);
    dims[i] = x[from[i]];
  }
  const wk_size *const *elements =
      wk_onnx_ok(c) ? transposed_elements(c, rank == 2 && from[0] == 1, &n) : NULL;
  if (!wk_extent_plain(c)) return c->status;
  wk_extent_result(c, 0, dims);
  if (elements) wk_extent_set_elements(c, c->out[0].value, elements, n);
  return c->status;
}

/* ---- repeating ------------------------------------------------------------------------------- */

/* x broadcast to these sizes, of its rank. */
static wk_value_id expanded(wk_onnx_node *c, wk_value_id x, int rank, const wk_size *const *dims) {
  int64_t room[WK_MAX_RANK], known;
  int before = rank - wk_onnx_type(c, x)->rank;
  for (int i = 0; i < rank; i++) {
    bool grows = i < before || (wk_size_is_const(wk_extent_dim(c, x, i - before), &known) &&
                                known == 1);
    room[i] = grows ? wk_size_most(c, dims[i]) : wk_onnx_type(c, x)->dims[i - before];
    if (!grows) wk_extent_same(c, dims[i], wk_extent_dim(c, x, i - before));
  }
  return wk_extent_set(c, wk_make_expand(c, x, rank, room), dims);
}

wk_status wk_extent_expand(wk_onnx_node *c) {
  int64_t n, known;
  const wk_size *const *want = wk_extent_list(c, 1, "the shape", &n);
  const wk_size *dims[WK_MAX_RANK];
  int own = wk_onnx_type(c, c->in[0])->rank, rank = n > own ? (int)n : own;
  if (!want || !wk_onnx_need(c, rank <= WK_MAX_RANK, "rank %d exceeds %d", rank, WK_MAX_RANK))
    return c->status;
  for (int i = 0; i < rank; i++) {
    const wk_size *to = i < rank - n ? wk_size_const(c, 1) : want[i - (rank - n)];
    const wk_size *is = i < rank - own ? wk_size_const(c, 1)
                                       : wk_extent_dim(c, c->in[0], i - (rank - own));
    bool keeps = wk_size_is_const(to, &known) && known == 1;
    dims[i] = keeps ? is : to;
  }
  return wk_onnx_return(c, expanded(c, c->in[0], rank, dims));
}

wk_status wk_extent_tile(wk_onnx_node *c) {
  int64_t n, known, once;
  const wk_size *const *repeats = wk_extent_list(c, 1, "the repeats", &n);
  wk_value_id x = c->in[0];
  int rank = wk_onnx_type(c, x)->rank;
  if (!repeats || !wk_onnx_valid(c, n == rank, "repeats has %lld entries", (long long)n))
    return c->status;
  for (int i = 0; i < rank && !c->status; i++) {
    const wk_size *dims[WK_MAX_RANK], *size = wk_extent_dim(c, x, i);
    if (wk_size_is_const(repeats[i], &known) && known == 1) continue;
    wk_extent_dims(c, x, dims);
    dims[i] = wk_size_mul(c, size, repeats[i]);
    bool is_one = wk_size_is_const(size, &once) && once == 1;
    int64_t room = wk_size_most(c, dims[i]);
    wk_value_id at = wk_make_iota(c, room);
    wk_value_id turn = wk_size_value(c, wk_size_max(c, size, wk_size_const(c, 1)));
    if (!is_one)
      x = wk_extent_set(c, wk_make_gather(c, x, wk_make_2(c, WK_OP_MOD, at, turn), i), dims);
    else x = expanded(c, x, rank, dims);
  }
  return wk_onnx_return(c, x);
}

wk_status wk_extent_constant_of_shape(wk_onnx_node *c) {
  int64_t n, known;
  const wk_size *const *dims = wk_extent_list(c, 0, "the shape", &n);
  int64_t room[WK_MAX_RANK];
  bool is_open = false;
  if (!dims || !wk_onnx_need(c, n <= WK_MAX_RANK, "rank %lld exceeds %d", (long long)n,
                             WK_MAX_RANK)) return c->status;
  for (int i = 0; i < n; i++) {
    room[i] = wk_size_most(c, dims[i]);
    is_open = is_open || !wk_size_is_const(dims[i], &known);
  }
  const wk_value_id shape = c->in[0];
  c->in[0] = wk_make_i64s(c, room, n);
  bool is_made = wk_extent_plain(c);
  c->in[0] = shape;
  if (!is_made || !is_open) return c->status;
  wk_value_id v = wk_make_1(c, WK_OP_IDENTITY, c->out[0].value); /* a constant may be shared */
  wk_onnx_result(c, 0, v);
  wk_extent_result(c, 0, dims);
  return c->status;
}

/* ---- counting -------------------------------------------------------------------------------- */

wk_status wk_extent_range(wk_onnx_node *c) {
  int64_t n, step;
  const wk_size *of[3];
  wk_dtype t = wk_onnx_type(c, c->in[0])->dtype;
  for (int i = 0; i < 3; i++) {
    const wk_size *const *list = wk_extent_list(c, i, "the range", &n);
    if (!list || !wk_onnx_valid(c, n == 1, "an end of the range is no scalar")) return c->status;
    of[i] = list[0];
  }
  if (!wk_onnx_need(c, wk_size_is_const(of[2], &step) && step != 0,
                    "the step is only known at run time")) return c->status;
  const wk_size *gap = step > 0 ? wk_size_sub(c, of[1], of[0]) : wk_size_sub(c, of[0], of[1]);
  int64_t by = step > 0 ? step : -step;
  const wk_size *size = wk_size_div(c, wk_size_plus(c, gap, by - 1), wk_size_const(c, by));
  size = wk_size_max(c, size, wk_size_const(c, 0));
  wk_value_id at = wk_make_iota(c, wk_size_most(c, size));
  if (step != 1) at = wk_make_2(c, WK_OP_MUL, at, wk_extent_number(c, step));
  int64_t first;
  if (!wk_size_is_const(of[0], &first) || first != 0)
    at = wk_make_2(c, WK_OP_ADD, at, wk_size_value(c, of[0]));
  else if (step == 1) at = wk_make_1(c, WK_OP_IDENTITY, at);
  return wk_onnx_return(c, wk_extent_set(c, wk_make_cast(c, at, t), &size));
}
