/* SPDX-License-Identifier: Apache-2.0
 * Rules of operators that join, cut, pad and resize. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/attention.h"
#include "compiler/onnx/import/extent.h"

static const wk_size *zero_at_least(wk_onnx_node *c, const wk_size *s) {
  return wk_size_max(c, s, wk_size_const(c, 0));
}

/* ---- Concat ---------------------------------------------------------------------------------- */

static bool join_elements(wk_onnx_node *c) {
  WK_VEC(const wk_size *) all = {0};
  bool known = wk_onnx_type(c, c->in[0])->rank == 1;
  for (int i = 0; i < c->n_in && known; i++) {
    int64_t n;
    const wk_size *const *list = wk_extent_elements(c, c->in[i], &n);
    known = list != NULL;
    for (int64_t k = 0; known && k < n; k++) wk_vec_push(&all, list[k]);
  }
  if (known && wk_extent_plain(c)) {
    const wk_size **list = wk_arena_alloc(c->im->arena, all.n * sizeof *list);
    if (all.n) memcpy(list, all.data, all.n * sizeof *list);
    wk_extent_set_elements(c, c->out[0].value, list, (int64_t)all.n);
  }
  wk_vec_free(&all);
  return known;
}

/* Pieces lie in their whole rooms: position p of the result is at p, and behind each piece that
 * ends before p so much further as its room is larger than its size. */
static wk_value_id close_gaps(wk_onnx_node *c, wk_value_id y, const wk_value_id *xs, int n,
                              int axis, const wk_size *all) {
  wk_value_id p = wk_make_iota(c, wk_size_most(c, all)), at = p;
  const wk_size *end = wk_size_const(c, 0);
  for (int i = 0; i + 1 < n; i++) {
    const wk_size *size = wk_extent_dim(c, xs[i], axis);
    int64_t room = wk_onnx_type(c, xs[i])->dims[axis];
    end = wk_size_add(c, end, size);
    if (!wk_extent_is_open(c, xs[i], axis)) continue;
    wk_value_id gap = wk_size_value(c, wk_size_sub(c, wk_size_const(c, room), size));
    wk_value_id behind = wk_make_2(c, WK_OP_GREATER_EQUAL, p, wk_size_value(c, end));
    at = wk_make_2(c, WK_OP_ADD, at, wk_make_where(c, behind, gap, wk_extent_number(c, 0)));
  }
  if (at == p) return y;
  int64_t room = wk_onnx_type(c, y)->dims[axis];
  return wk_make_gather(c, y, wk_extent_clamped(c, at, room), axis);
}

/* Positions behind what there is: those of rows that are none are of the last one, again. */
static wk_value_id appended_positions(wk_onnx_node *c, wk_value_id grows, int axis,
                                      const wk_size *from, wk_value_id row) {
  const wk_type t = *wk_onnx_type(c, grows);
  int64_t dims[WK_MAX_RANK];
  for (int i = 0; i <= axis + 1; i++) dims[i] = 1;
  dims[0] = t.dims[0];
  wk_value_id at = wk_make_2(c, WK_OP_ADD, wk_size_value(c, from), row);
  dims[axis] = wk_onnx_type(c, row)->dims[0];
  return wk_make_expand(c, wk_make_along(c, at, axis, axis + 2), axis + 2, dims);
}

/* What grows from run to run has room for all that it may have: the pieces behind it are written
 * there, in a run that fails when there is no more room. */
static wk_value_id append(wk_onnx_node *c, const wk_value_id xs[2], int axis,
                          const wk_size **dims) {
  const wk_size *from = wk_extent_dim(c, xs[0], axis), *n = wk_extent_dim(c, xs[1], axis);
  int64_t room = wk_onnx_type(c, xs[0])->dims[axis], rows = wk_onnx_type(c, xs[1])->dims[axis];
  wk_value_id row = wk_make_iota(c, rows), x = xs[1], all = wk_size_value(c, dims[axis]);
  if (rows > 1 && wk_extent_is_open(c, x, axis)) {
    row = wk_make_2(c, WK_OP_MIN, row, wk_size_value(c, wk_size_plus(c, n, -1)));
    x = wk_make_gather(c, x, row, axis);
  }
  wk_value_id fits = wk_make_2(c, WK_OP_LESS_EQUAL, all, wk_extent_number(c, room));
  wk_value_id is_size = wk_make_2(c, WK_OP_GREATER_EQUAL, wk_size_value(c, from),
                                  wk_extent_number(c, 0)); /* a file may say another */
  fits = wk_make_2(c, WK_OP_AND, fits, is_size);
  const char *reason = wk_arena_printf(c->im->m->arena, "%s along axis %d of %s is more than %lld",
                                       wk_size_text(c, dims[axis]), axis,
                                       wk_val(c->g, xs[0])->name, (long long)room);
  row = wk_extent_gated(c, row, fits, reason);
  wk_value_id at = appended_positions(c, xs[0], axis, from, row);
  wk_value_id y = wk_cache_write_at(c, xs[0], x, at, axis);
  wk_size_bound(c, dims[axis], room);
  return wk_extent_set(c, y, dims);
}

static bool appends(wk_onnx_node *c, const wk_value_id *xs, int n, int axis) {
  return n == 2 && axis > 0 && c->g == c->im->m->main &&
         wk_extents_growing(c->im, xs[0]) == axis &&
         wk_onnx_type(c, xs[0])->rank < WK_MAX_RANK &&
         wk_size_least(c, wk_extent_dim(c, xs[1], axis)) >= 1;
}

wk_value_id wk_extent_join(wk_onnx_node *c, const wk_value_id *xs, int n, int axis) {
  const wk_size *dims[WK_MAX_RANK], *all = wk_size_const(c, 0);
  bool is_open = false;
  int rank = c->status ? 0 : wk_onnx_type(c, xs[0])->rank;
  for (int i = 0; i < n; i++) is_open = is_open || wk_extent_has_open(c->im, c->g, xs[i]);
  if (c->status || !is_open) return c->status ? WK_NONE : wk_make_concat(c, xs, n, axis);
  wk_extent_dims(c, xs[0], dims);
  for (int i = 0; i < n && wk_onnx_ok(c); i++) {
    if (!wk_onnx_valid(c, wk_onnx_type(c, xs[i])->rank == rank, "input %d does not fit", i)) break;
    all = wk_size_add(c, all, wk_extent_dim(c, xs[i], axis));
    for (int a = 0; a < rank; a++)
      if (a != axis) wk_extent_same(c, dims[a], wk_extent_dim(c, xs[i], a));
  }
  dims[axis] = all;
  if (wk_onnx_ok(c) && appends(c, xs, n, axis)) return append(c, xs, axis, dims);
  wk_value_id y = c->status ? WK_NONE : wk_make_concat(c, xs, n, axis);
  return c->status ? WK_NONE : wk_extent_set(c, close_gaps(c, y, xs, n, axis, all), dims);
}

wk_status wk_extent_concat(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  int axis = (int)wk_onnx_axis(c, wk_onnx_int(c, "axis", 1), rank);
  if (!wk_onnx_ok(c) || join_elements(c)) return c->status;
  for (int i = 0; i < c->n_in; i++)
    if (!wk_onnx_valid(c, wk_onnx_has(c, i), "input %d does not fit", i)) return c->status;
  wk_value_id y = wk_extent_join(c, c->in, c->n_in, axis);
  return wk_onnx_return(c, y == c->in[0] ? wk_extent_copy(c, y) : y);
}

/* ---- Slice and Split ------------------------------------------------------------------------- */

/* A position as Slice counts it, from the end where it is negative, within [low, high]. */
static const wk_size *bounded(wk_onnx_node *c, const wk_size *at, const wk_size *size,
                              const wk_size *low, const wk_size *high) {
  int64_t known, least = wk_size_least(c, at), most = wk_size_most(c, at);
  bool is_known = wk_size_is_const(at, &known);
  if (is_known && known > (int64_t)1 << 40) return high;
  if (is_known && known < -((int64_t)1 << 40)) return low;
  if (!wk_onnx_need(c, least >= 0 || most < 0,
                    "whether the position %s is counted from the end is only known at run time",
                    wk_size_text(c, at))) return low;
  if (most < 0) at = wk_size_add(c, at, size);
  return wk_size_max(c, wk_size_min(c, at, high), low);
}

typedef struct { const wk_size *start, *size; } cut;

static cut cut_axis(wk_onnx_node *c, const wk_size *size, const wk_size *start, const wk_size *end,
                    int64_t step) {
  const wk_size *low = wk_size_const(c, step > 0 ? 0 : -1);
  const wk_size *high = step > 0 ? size : wk_size_plus(c, size, -1);
  int64_t by = step > 0 ? step : -step;
  start = bounded(c, start, size, low, high);
  end = bounded(c, end, size, low, high);
  const wk_size *span = step > 0 ? wk_size_sub(c, end, start) : wk_size_sub(c, start, end);
  span = wk_size_div(c, wk_size_plus(c, span, by - 1), wk_size_const(c, by));
  return (cut){start, zero_at_least(c, span)};
}

/* Operand i, or the attribute before opset 10; NULL: it is absent. */
static const wk_size *const *slice_list(wk_onnx_node *c, int i, const char *name, int64_t *n) {
  *n = -1;
  if (c->opset >= 10) return wk_onnx_has(c, i) ? wk_extent_list(c, i, name, n) : NULL;
  wk_ints v = wk_onnx_ints(c, name);
  if (v.n < 0) return NULL;
  const wk_size **list = wk_arena_alloc(c->im->arena, (size_t)v.n * sizeof *list);
  for (int64_t k = 0; k < v.n; k++) list[k] = wk_size_const(c, v.v[k]);
  *n = v.n;
  return list;
}

static bool is_constant_list(const wk_size *const *list, int64_t n) {
  int64_t ignored;
  for (int64_t i = 0; list && i < n; i++)
    if (!wk_size_is_const(list[i], &ignored)) return false;
  return true;
}

/* A list of known sizes, cut at known places. */
static bool slice_elements(wk_onnx_node *c, const cut *at, int64_t step) {
  int64_t n, first, size;
  const wk_size *const *list = wk_extent_elements(c, c->in[0], &n);
  if (!list || !wk_size_is_const(at->start, &first) || !wk_size_is_const(at->size, &size))
    return false;
  wk_value_id y = wk_make_slice(c, c->in[0], 0, size ? first : 0, size, size > 1 ? step : 1);
  const wk_size **some = wk_arena_alloc(c->im->arena, (size_t)size * sizeof *some);
  for (int64_t i = 0; i < size; i++) some[i] = list[first + i * step];
  wk_extent_set_elements(c, y, some, size);
  wk_onnx_result(c, 0, y);
  return true;
}

wk_status wk_extent_slice(wk_onnx_node *c) {
  int64_t n, n_end, n_axes, n_step = -1;
  const wk_size *const *starts = slice_list(c, 1, "starts", &n);
  const wk_size *const *ends = slice_list(c, 2, "ends", &n_end);
  const wk_size *const *axes = slice_list(c, 3, "axes", &n_axes);
  const wk_size *const *steps = c->opset >= 10 ? slice_list(c, 4, "steps", &n_step) : NULL;
  wk_value_id x = c->in[0];
  int rank = wk_onnx_type(c, x)->rank;
  bool fits = starts && ends && n == n_end && n <= rank && (!axes || n_axes == n) &&
              (!steps || n_step == n);
  if (!wk_onnx_ok(c) || !wk_onnx_valid(c, fits, "starts, ends, axes and steps disagree") ||
      !wk_onnx_need(c, is_constant_list(axes, n_axes) && is_constant_list(steps, n_step),
                    "axes and steps must be known at compile time")) return c->status;
  for (int64_t i = 0; i < n && wk_onnx_ok(c); i++) {
    int64_t axis = i, step = 1;
    if (axes) wk_size_is_const(axes[i], &axis);
    if (steps) wk_size_is_const(steps[i], &step);
    axis = wk_onnx_axis(c, axis, rank);
    if (!wk_onnx_valid(c, step != 0 && step > INT64_MIN, "the step is %lld", (long long)step))
      break;
    cut at = cut_axis(c, wk_extent_dim(c, x, (int)axis), starts[i], ends[i], step);
    if (rank == 1 && wk_onnx_ok(c) && slice_elements(c, &at, step)) return c->status;
    x = wk_extent_window(c, x, (int)axis, at.start, step, at.size);
  }
  return wk_onnx_return(c, x == c->in[0] ? wk_extent_copy(c, x) : x);
}

/* The sizes of pieces, as they are given or all the same but the last one, which is less. */
static const wk_size *const *piece_sizes(wk_onnx_node *c, const wk_size *whole, int64_t *n) {
  int at = c->opset >= 13 || c->opset == 1 ? 1 : c->n_in;
  wk_ints listed = c->opset < 13 ? wk_onnx_ints(c, "split") : (wk_ints){.n = -1};
  const wk_size **sizes = wk_arena_alloc(c->im->arena, (size_t)c->n_out * sizeof *sizes);
  const wk_size *count = wk_size_const(c, c->n_out), *left = whole;
  *n = c->n_out;
  if (at < c->n_in && wk_onnx_has(c, at)) return wk_extent_list(c, at, "split", n);
  if (listed.n >= 0 && !wk_onnx_valid(c, listed.n == c->n_out, "%d outputs for %lld pieces",
                                      c->n_out, (long long)listed.n)) return NULL;
  const wk_size *each = wk_size_div(c, wk_size_plus(c, whole, c->n_out - 1), count);
  for (int i = 0; i < c->n_out; i++) {
    sizes[i] = listed.n >= 0 ? wk_size_const(c, listed.v[i])
                             : wk_size_min(c, each, zero_at_least(c, left));
    left = wk_size_sub(c, left, sizes[i]);
  }
  return sizes;
}

wk_status wk_extent_split(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK], *at = wk_size_const(c, 0), *sum = at;
  int64_t n;
  int axis = (int)wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), wk_onnx_type(c, c->in[0])->rank);
  if (!wk_onnx_ok(c)) return c->status;
  wk_extent_dims(c, c->in[0], dims);
  const wk_size *const *sizes = piece_sizes(c, dims[axis], &n);
  if (!sizes || !wk_onnx_valid(c, n >= c->n_out, "%d outputs for %lld pieces", c->n_out,
                               (long long)n)) return c->status;
  bool is_given = wk_onnx_ints(c, "split").n >= 0 || wk_onnx_has(c, 1);
  for (int64_t i = 0; i < n; i++) sum = wk_size_add(c, sum, sizes[i]);
  wk_value_id x = is_given ? wk_extent_checked(c, c->in[0], sum, dims[axis]) : c->in[0];
  for (int i = 0; i < c->n_out && wk_onnx_ok(c); i++) {
    wk_value_id piece = wk_extent_window(c, x, axis, at, 1, sizes[i]);
    wk_onnx_result(c, i, piece == c->in[0] ? wk_extent_copy(c, piece) : piece);
    at = wk_size_add(c, at, sizes[i]);
  }
  return c->status;
}

/* ---- Pad ------------------------------------------------------------------------------------- */

/* Position p of a padded axis, mirrored at both ends, or held there. */
static wk_value_id outside(wk_onnx_node *c, wk_value_id p, const wk_size *size, bool mirrors) {
  if (!mirrors) return wk_extent_within(c, p, size);
  wk_value_id last = wk_size_value(c, wk_size_plus(c, size, -1));
  p = wk_make_1(c, WK_OP_ABS, p);
  wk_value_id beyond = wk_make_1(c, WK_OP_ABS, wk_make_2(c, WK_OP_SUB, last, p));
  return wk_make_2(c, WK_OP_SUB, last, beyond);
}

/* One axis, by positions; constant: `fill` is where nothing of x is. */
static wk_value_id pad_axis(wk_onnx_node *c, wk_value_id x, int axis, const wk_size *before,
                            const wk_size *after, const char *mode, wk_value_id fill) {
  const wk_size *dims[WK_MAX_RANK], *size = wk_extent_dim(c, x, axis);
  int64_t room = wk_onnx_type(c, x)->dims[axis];
  int rank = wk_onnx_type(c, x)->rank;
  wk_extent_dims(c, x, dims);
  dims[axis] = zero_at_least(c, wk_size_add(c, size, wk_size_add(c, before, after)));
  int64_t n = wk_size_most(c, dims[axis]);
  wk_value_id p = wk_make_2(c, WK_OP_SUB, wk_make_iota(c, n), wk_size_value(c, before));
  bool is_constant = !strcmp(mode, "constant");
  if (!wk_onnx_need(c, room > 0, "nothing is there to take from")) return x;
  wk_value_id at = is_constant ? p : outside(c, p, size, !strcmp(mode, "reflect"));
  wk_value_id y = wk_make_gather(c, x, wk_extent_clamped(c, at, room), axis);
  if (is_constant) {
    wk_value_id inside = wk_make_2(c, WK_OP_AND,
                                   wk_make_2(c, WK_OP_GREATER_EQUAL, p, wk_extent_number(c, 0)),
                                   wk_make_2(c, WK_OP_LESS, p, wk_size_value(c, size)));
    y = wk_make_where(c, wk_make_along(c, inside, axis, rank), y, fill);
  }
  return wk_extent_set(c, y, dims);
}

wk_status wk_extent_pad(wk_onnx_node *c) {
  int64_t n, n_axes = -1, known;
  wk_value_id x = c->in[0];
  int rank = wk_onnx_type(c, x)->rank;
  if (!wk_onnx_need(c, c->opset >= 11, "sizes at run time are for opset 11 and later"))
    return c->status;
  const wk_size *const *pads = wk_extent_list(c, 1, "the pads", &n);
  const wk_size *const *axes = wk_onnx_has(c, 3) ? wk_extent_list(c, 3, "the axes", &n_axes) : NULL;
  const char *mode = wk_onnx_text(c, "mode", "constant");
  int64_t each = axes ? n_axes : rank;
  if (!pads || !wk_onnx_valid(c, n == 2 * each && is_constant_list(axes, n_axes),
                              "the pads do not fit the axes") ||
      !wk_onnx_need(c, strcmp(mode, "wrap") != 0, "mode wrap is not supported where sizes are only "
                    "known at run time")) return c->status;
  wk_dtype t = wk_onnx_type(c, x)->dtype;
  wk_value_id fill = wk_onnx_has(c, 2) ? wk_make_reshape(c, c->in[2], 0, NULL)
                                       : wk_extent_scalar(c, t, WK_FILL_ZERO);
  for (int64_t i = 0; i < each && wk_onnx_ok(c); i++) {
    int64_t axis = i, other;
    if (axes) wk_size_is_const(axes[i], &axis);
    axis = wk_onnx_axis(c, axis, rank);
    bool is_none = wk_size_is_const(pads[i], &known) && known == 0 &&
                   wk_size_is_const(pads[each + i], &other) && other == 0;
    if (!is_none) x = pad_axis(c, x, (int)axis, pads[i], pads[each + i], mode, fill);
  }
  return wk_onnx_return(c, x == c->in[0] ? wk_extent_copy(c, x) : x);
}

/* What is above or below the diagonal does not depend on sizes. */
wk_status wk_extent_trilu(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK];
  wk_extent_dims(c, c->in[0], dims);
  if (wk_extent_plain(c)) wk_extent_result(c, 0, dims);
  return c->status;
}
