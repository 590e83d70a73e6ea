/* SPDX-License-Identifier: Apache-2.0
 * Operators that change or ask for shapes. */
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

wk_status wk_onnx_reshape(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_ints want = wk_onnx_ints_input(c, 5, 1, "shape");
  bool allow_zero = wk_onnx_int(c, "allowzero", 0) != 0;
  int64_t dims[WK_MAX_RANK], known = 1, count = wk_type_count(&x), hole = -1;
  if (!wk_onnx_ok(c)) return c->status;
  wk_onnx_valid(c, want.n >= 0, "the shape is missing");
  wk_onnx_need(c, want.n <= WK_MAX_RANK, "rank %lld exceeds %d", (long long)want.n, WK_MAX_RANK);
  for (int64_t i = 0; i < want.n && wk_onnx_ok(c); i++) {
    dims[i] = want.v[i];
    if (dims[i] == 0 && !allow_zero) {
      wk_onnx_valid(c, i < x.rank, "size 0 copies axis %lld, which the input lacks", (long long)i);
      dims[i] = i < x.rank ? x.dims[i] : 1;
    }
    if (dims[i] == -1) {
      wk_onnx_valid(c, hole < 0, "two sizes are -1");
      hole = i;
    } else {
      wk_onnx_valid(c, dims[i] >= 0 && wk_mul_ok(known, dims[i], &known), "size %lld is not valid",
                    (long long)dims[i]);
    }
  }
  if (!wk_onnx_ok(c)) return c->status;
  if (hole >= 0) {
    if (!wk_onnx_valid(c, known > 0 && count % known == 0, "%lld elements do not fill the shape",
                       (long long)count)) return c->status;
    dims[hole] = count / known;
  }
  return wk_onnx_return(c, wk_make_reshape(c, c->in[0], (int)want.n, dims));
}

wk_status wk_onnx_flatten(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int64_t axis = wk_onnx_int(c, "axis", 1), dims[2] = {1, 1};
  if (axis != x.rank) axis = wk_onnx_axis(c, axis, x.rank);
  for (int i = 0; i < x.rank; i++) dims[i >= axis] *= x.dims[i];
  return wk_onnx_return(c, wk_make_reshape(c, c->in[0], 2, dims));
}

wk_status wk_onnx_squeeze(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_ints axes = wk_onnx_ints_input(c, 13, 1, "axes");
  if (!wk_onnx_ok(c)) return c->status;
  if (axes.n < 0) { /* every axis of size 1 */
    int64_t v[WK_MAX_RANK], n = 0;
    for (int i = 0; i < x.rank; i++) {
      if (x.dims[i] == 1) v[n++] = i;
    }
    axes = wk_ints_dup(c->im->m->arena, v, n);
  }
  axes = wk_onnx_axes(c, axes, x.rank);
  return wk_onnx_return(c, wk_make_squeeze(c, c->in[0], axes));
}

wk_status wk_onnx_unsqueeze(wk_onnx_node *c) {
  wk_ints axes = wk_onnx_ints_input(c, 13, 1, "axes");
  if (!wk_onnx_ok(c)) return c->status;
  if (!wk_onnx_valid(c, axes.n >= 0, "the axes are missing")) return c->status;
  int64_t rank = wk_onnx_type(c, c->in[0])->rank + axes.n;
  if (!wk_onnx_need(c, rank <= WK_MAX_RANK, "rank %lld exceeds %d", (long long)rank, WK_MAX_RANK)) {
    return c->status;
  }
  axes = wk_onnx_axes(c, axes, (int)rank);
  return wk_onnx_return(c, wk_make_unsqueeze(c, c->in[0], axes));
}

wk_status wk_onnx_transpose(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  wk_ints perm = wk_onnx_ints(c, "perm");
  int64_t v[WK_MAX_RANK];
  bool seen[WK_MAX_RANK] = {0};
  wk_onnx_valid(c, perm.n < 0 || perm.n == rank, "perm has %lld entries, not one for each axis",
                (long long)perm.n);
  for (int i = 0; i < rank && wk_onnx_ok(c); i++) {
    v[i] = perm.n < 0 ? rank - 1 - i : wk_onnx_axis(c, perm.v[i], rank);
    wk_onnx_valid(c, !seen[v[i]], "perm names axis %lld twice", (long long)v[i]);
    seen[v[i]] = true;
  }
  return wk_onnx_ok(c) ? wk_onnx_return(c, wk_make_transpose(c, c->in[0], v)) : c->status;
}

wk_status wk_onnx_expand(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_ints want = wk_onnx_const_ints(c, c->in[1], "the shape");
  if (!wk_onnx_ok(c)) return c->status;
  if (!wk_onnx_need(c, want.n <= WK_MAX_RANK, "rank %lld exceeds %d", (long long)want.n,
                    WK_MAX_RANK)) {
    return c->status;
  }
  wk_type shape = wk_type_make(x.dtype, (int)want.n, want.v), y;
  wk_onnx_latch(c, wk_type_check(&shape));
  if (wk_onnx_ok(c)) wk_onnx_latch(c, wk_type_broadcast(&x, &shape, &y));
  return wk_onnx_ok(c) ? wk_onnx_return(c, wk_make_expand(c, c->in[0], y.rank, y.dims)) : c->status;
}

wk_status wk_onnx_shape(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int64_t start = wk_onnx_int(c, "start", 0), end = wk_onnx_int(c, "end", x.rank);
  if (start < 0) start += x.rank;
  if (end < 0) end += x.rank;
  start = start < 0 ? 0 : start > x.rank ? x.rank : start;
  end = end < start ? start : end > x.rank ? x.rank : end;
  return wk_onnx_return(c, wk_make_i64s(c, x.dims + start, end - start));
}

wk_status wk_onnx_size(wk_onnx_node *c) {
  int64_t n = wk_type_count(wk_onnx_type(c, c->in[0]));
  return wk_onnx_return(c, wk_make_reshape(c, wk_make_i64s(c, &n, 1), 0, NULL));
}

/* ---- joining and cutting ------------------------------------------------------------------- */

wk_status wk_onnx_concat(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  for (int i = 0; i < c->n_in; i++) wk_onnx_valid(c, wk_onnx_has(c, i), "input %d is missing", i);
  int64_t axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", 1), rank);
  return wk_onnx_ok(c) ? wk_onnx_return(c, wk_make_concat(c, c->in, c->n_in, axis)) : c->status;
}

/* Sizes of the pieces when they are not given: equal, the last one smaller (opset 18). */
static wk_ints equal_pieces(wk_onnx_node *c, int64_t size) {
  int64_t n = c->opset >= 18 ? wk_onnx_int(c, "num_outputs", c->n_out) : c->n_out;
  if (!wk_onnx_valid(c, n == c->n_out && n > 0,
                     "num_outputs is %lld, which does not fit the outputs", (long long)n))
    return (wk_ints){0};
  if (!wk_onnx_valid(c, c->opset >= 18 || size % n == 0,
                     "an axis of size %lld cannot be split into %lld equal pieces",
                     (long long)size, (long long)n)) return (wk_ints){0};
  int64_t piece = wk_ceil_div(size, n), *v = wk_arena_alloc(c->im->arena, (size_t)n * sizeof *v);
  for (int64_t i = 0; i < n; i++) {
    int64_t left = size - i * piece;
    v[i] = left < 0 ? 0 : left < piece ? left : piece;
  }
  return (wk_ints){.n = n, .v = v};
}

wk_status wk_onnx_split(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int64_t axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), x.rank);
  wk_ints sizes = c->opset == 1 && wk_onnx_has(c, 1) ? wk_onnx_const_ints(c, c->in[1], "split")
                                                     : wk_onnx_ints_input(c, 13, 1, "split");
  if (!wk_onnx_ok(c)) return c->status;
  if (sizes.n < 0) sizes = equal_pieces(c, x.dims[axis]);
  if (!wk_onnx_valid(c, sizes.n >= c->n_out, "%d outputs for %lld pieces", c->n_out,
                     (long long)sizes.n)) {
    return c->status;
  }
  WK_MAKE_ATTRS(c, a, SPLIT, split);
  a->axis = axis;
  a->sizes = wk_ints_dup(c->im->m->arena, sizes.v, sizes.n);
  wk_value_id *out = wk_arena_alloc(c->im->arena, (size_t)sizes.n * sizeof *out);
  wk_make_n(c, WK_OP_SPLIT, a, c->in, 1, out, (int)sizes.n);
  for (int i = 0; i < c->n_out; i++) wk_onnx_result(c, i, out[i]);
  return c->status;
}

/* One axis of a numpy slice: first index and number of elements. */
static void clamp_slice(int64_t size, int64_t start, int64_t end, int64_t step, int64_t *first,
                        int64_t *n) {
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = start < low ? low : start > high ? high : start;
  end = end < low ? low : end > high ? high : end;
  int64_t span = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
  *n = span > 0 ? (span - 1) / stride + 1 : 0;
  *first = *n > 0 ? start : 0;
}

/* The lists of Slice from inputs (opset 10) or attributes; n is -1 where a list is absent. */
static wk_ints slice_list(wk_onnx_node *c, int i, const char *name) {
  return wk_onnx_ints_input(c, 10, i, name);
}

wk_status wk_onnx_slice(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_ints starts = slice_list(c, 1, "starts"), ends = slice_list(c, 2, "ends");
  wk_ints axes = slice_list(c, 3, "axes"), steps = {.n = -1};
  if (c->opset >= 10) steps = slice_list(c, 4, "steps");
  if (!wk_onnx_ok(c)) return c->status;
  int64_t n = starts.n, first[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK], strides[WK_MAX_RANK];
  bool fits = n >= 0 && ends.n == n && n <= x.rank && (axes.n < 0 || axes.n == n);
  if (!wk_onnx_valid(c, fits && (steps.n < 0 || steps.n == n),
                     "starts, ends, axes and steps disagree")) {
    return c->status;
  }
  for (int i = 0; i < x.rank; i++) {
    sizes[i] = x.dims[i];
    strides[i] = 1;
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t axis = wk_onnx_axis(c, axes.n < 0 ? i : axes.v[i], x.rank),
            step = steps.n < 0 ? 1 : steps.v[i];
    if (!wk_onnx_valid(c, step != 0 && step > INT64_MIN, "the step is %lld", (long long)step) ||
        !wk_onnx_ok(c))
      return c->status;
    strides[axis] = step;
    clamp_slice(x.dims[axis], starts.v[i], ends.v[i], step, &first[axis], &sizes[axis]);
  }
  for (int i = 0; i < x.rank; i++) { /* a step past the end never counts, but must stay in range */
    if (sizes[i] <= 1) strides[i] = 1;
  }
  wk_arena *m = c->im->m->arena;
  WK_MAKE_ATTRS(c, a, SLICE, slice);
  a->starts = wk_ints_dup(m, first, x.rank);
  a->sizes = wk_ints_dup(m, sizes, x.rank);
  a->steps = wk_ints_dup(m, strides, x.rank);
  return wk_onnx_return(c, wk_make(c, WK_OP_SLICE, a, 1, c->in[0]));
}

wk_status wk_onnx_tile(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_ints repeats = wk_onnx_const_ints(c, c->in[1], "the repeats");
  if (c->opset < 6 && wk_onnx_ok(c)) { /* tiles and axis, each a scalar */
    int64_t axis = wk_onnx_axis(c, wk_onnx_const_int(c, c->in[2], "the axis"), x.rank);
    int64_t v[WK_MAX_RANK];
    for (int i = 0; i < x.rank; i++) v[i] = i == axis && repeats.n > 0 ? repeats.v[0] : 1;
    repeats = wk_ints_dup(c->im->m->arena, v, x.rank);
  }
  wk_onnx_valid(c, repeats.n == x.rank, "repeats has %lld entries, not one for each axis",
                (long long)repeats.n);
  WK_MAKE_ATTRS(c, a, TILE, tile);
  a->repeats = repeats;
  return wk_onnx_return(c, wk_make(c, WK_OP_TILE, a, 1, c->in[0]));
}
