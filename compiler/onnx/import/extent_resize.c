/* SPDX-License-Identifier: Apache-2.0
 * Resize and Upsample along axes whose sizes are only known at run time. A whole factor needs no
 * more than what lies beyond the end; along other axes one or two positions of x are computed for
 * each of the result, in f64 as the operator has them. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/extent.h"

/* What a Resize says, by axis of x. */
typedef struct {
  const wk_size *const *sizes; /* NULL: factors */
  wk_floats factors;
  const char *mode, *coordinates, *nearest;
} resizing;

static bool read_resizing(wk_onnx_node *c, resizing *r) {
  int rank = wk_onnx_type(c, c->in[0])->rank, at = c->opset >= 11 ? 2 : 1;
  int64_t n = rank;
  bool is_upsample = !strcmp(c->row->name, "Upsample"), is_old = is_upsample || c->opset < 11;
  bool has_region = !is_old && wk_onnx_has(c, 1) && wk_type_count(wk_onnx_type(c, c->in[1])) > 0;
  bool is_plain = !has_region && !wk_onnx_int(c, "exclude_outside", 0) &&
                  !wk_onnx_attr(c, "axes") &&
                  wk_onnx_text_is(c, "keep_aspect_ratio_policy", "stretch", "stretch");
  *r = (resizing){.mode = wk_onnx_text(c, "mode", "nearest"), .nearest = "floor",
                  .coordinates = "asymmetric"};
  if (!is_old) {
    r->coordinates = wk_onnx_text(c, "coordinate_transformation_mode", "half_pixel");
    r->nearest = wk_onnx_text(c, "nearest_mode", "round_prefer_floor");
  }
  if (is_upsample && c->opset < 9) r->factors = wk_onnx_floats(c, "scales");
  else if (wk_onnx_has(c, 3)) r->sizes = wk_extent_list(c, 3, "the sizes", &n);
  else if (wk_onnx_has(c, at)) r->factors = wk_onnx_const_floats(c, c->in[at], "the scales");
  return wk_onnx_ok(c) && wk_onnx_need(c, is_plain && (r->sizes ? n : r->factors.n) == rank,
                                       "axes, a region or exclude_outside, where a size is only "
                                       "known at run time");
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* floor(size * factor) of 32-bit numbers, as the operator rounds. */
static const wk_size *scaled_size(wk_onnx_node *c, const wk_size *size, double factor) {
  for (int64_t q = 1; q <= 64; q *= 2)
    if (factor * (double)q == (double)(int64_t)(factor * (double)q)) {
      const wk_size *p = wk_size_const(c, (int64_t)(factor * (double)q));
      return wk_size_div(c, wk_size_mul(c, size, p), wk_size_const(c, q));
    }
  wk_value_id v = wk_make_cast(c, wk_size_value(c, size), WK_F32);
  v = wk_make_2(c, WK_OP_MUL, v, wk_make_scalar(c, WK_F32, factor));
  wk_unknown u = {.g = c->g, .value = wk_make_cast(c, wk_make_1(c, WK_OP_FLOOR, v), WK_I64),
                  .text = wk_arena_printf(c->im->arena, "floor(%g*(%s))", (double)(float)factor,
                                          wk_size_text(c, size)),
                  .least = (int64_t)floorf((float)wk_size_least(c, size) * (float)factor),
                  .most = (int64_t)floorf((float)wk_size_most(c, size) * (float)factor)};
  return wk_size_unknown(c, &u);
}

static const wk_size *size_of(wk_onnx_node *c, const resizing *r, int axis) {
  const wk_size *in = wk_extent_dim(c, c->in[0], axis);
  if (r->sizes) return r->sizes[axis];
  int64_t known;
  if (r->factors.v[axis] == 1) return in;
  wk_onnx_valid(c, r->factors.v[axis] > 0 && r->factors.v[axis] < 1e6, "scale %g is not valid",
                r->factors.v[axis]);
  if (!wk_onnx_ok(c)) return in;
  if (wk_size_is_const(in, &known))
    return wk_size_const(c, (int64_t)floorf((float)known * (float)r->factors.v[axis]));
  return scaled_size(c, in, r->factors.v[axis]);
}

/* ---- positions ------------------------------------------------------------------------------- */

typedef struct {
  const resizing *r;
  const wk_size *in, *out;
  wk_value_id n, length, scale; /* of in, of the result before it is rounded, one by the other */
} line;

static wk_value_id real(wk_onnx_node *c, const wk_size *size) {
  return wk_make_cast(c, wk_size_value(c, size), WK_F64);
}

static line line_of(wk_onnx_node *c, const resizing *r, int axis, const wk_size *out) {
  line l = {.r = r, .in = wk_extent_dim(c, c->in[0], axis), .out = out};
  l.n = real(c, l.in);
  if (r->sizes) {
    l.length = real(c, out);
    l.scale = wk_make_2(c, WK_OP_DIV, l.length, l.n);
  } else {
    l.scale = wk_make_scalar(c, WK_F64, r->factors.v[axis]);
    l.length = wk_make_2(c, WK_OP_MUL, l.scale, l.n);
  }
  return l;
}

static wk_value_id half_pixel(wk_onnx_node *c, const line *l, wk_value_id at) {
  at = wk_make_2(c, WK_OP_DIV, wk_make_add_f(c, at, 0.5), l->scale);
  return wk_make_add_f(c, at, -0.5);
}

/* Of one element alone the position is 0, whatever there is to divide by. */
static wk_value_id between_corners(wk_onnx_node *c, const line *l, wk_value_id at) {
  wk_value_id gaps = wk_make_add_f(c, l->length, -1), none = wk_make_scalar(c, WK_F64, 0);
  wk_value_id is_none = wk_make_2(c, WK_OP_EQUAL, gaps, none);
  wk_value_id x = wk_make_2(c, WK_OP_MUL, at, wk_make_add_f(c, l->n, -1));
  gaps = wk_make_where(c, is_none, wk_make_scalar(c, WK_F64, 1), gaps);
  return wk_make_where(c, is_none, none, wk_make_2(c, WK_OP_DIV, x, gaps));
}

/* Where elements of the result lie in x: f64[room]. */
static wk_value_id coordinates(wk_onnx_node *c, const line *l) {
  const char *mode = l->r->coordinates;
  wk_value_id at = wk_make_cast(c, wk_make_iota(c, wk_size_most(c, l->out)), WK_F64), x = at;
  wk_value_id none = wk_make_scalar(c, WK_F64, 0), out = real(c, l->out);
  if (!strcmp(mode, "asymmetric")) x = wk_make_2(c, WK_OP_DIV, at, l->scale);
  else if (!strcmp(mode, "align_corners")) x = between_corners(c, l, at);
  else if (!strcmp(mode, "half_pixel")) x = half_pixel(c, l, at);
  else if (!strcmp(mode, "tf_half_pixel_for_nn")) {
    x = wk_make_2(c, WK_OP_DIV, wk_make_add_f(c, at, 0.5), l->scale);
  } else if (!strcmp(mode, "pytorch_half_pixel")) {
    wk_value_id has_more = wk_make_2(c, WK_OP_GREATER, out, wk_make_scalar(c, WK_F64, 1));
    x = wk_make_where(c, has_more, half_pixel(c, l, at), none);
  } else if (!strcmp(mode, "half_pixel_symmetric")) {
    wk_value_id kept = wk_make_2(c, WK_OP_DIV, out, l->length);
    wk_value_id lost = wk_make_2(c, WK_OP_SUB, wk_make_scalar(c, WK_F64, 1), kept);
    lost = wk_make_2(c, WK_OP_MUL, wk_make_mul_f(c, l->n, 0.5), lost);
    x = wk_make_2(c, WK_OP_ADD, lost, half_pixel(c, l, at));
  } else {
    wk_onnx_need(c, false, "positions by '%s', where a size is only known at run time", mode);
  }
  if (!l->r->sizes || c->status) return x;
  return wk_make_where(c, wk_make_2(c, WK_OP_EQUAL, out, l->n), at, x); /* not resized */
}

static wk_value_id rounded(wk_onnx_node *c, const char *how, wk_value_id x) {
  if (!strcmp(how, "floor")) return wk_make_1(c, WK_OP_FLOOR, x);
  if (!strcmp(how, "ceil")) return wk_make_1(c, WK_OP_CEIL, x);
  bool rises = !strcmp(how, "round_prefer_ceil");
  return wk_make_1(c, rises ? WK_OP_FLOOR : WK_OP_CEIL, wk_make_add_f(c, x, rises ? 0.5 : -0.5));
}

static wk_value_id taken(wk_onnx_node *c, const line *l, wk_value_id x, wk_value_id at, int axis) {
  at = wk_extent_within(c, wk_make_cast(c, at, WK_I64), l->in);
  return wk_make_gather(c, x, at, axis);
}

/* x resized along the axis alone. */
static wk_value_id resized(wk_onnx_node *c, const line *l, wk_value_id x, int axis) {
  const wk_type t = *wk_onnx_type(c, x);
  wk_value_id at = coordinates(c, l);
  if (c->status) return x;
  if (!strcmp(l->r->mode, "nearest"))
    return taken(c, l, x, rounded(c, l->r->nearest, at), axis);
  wk_dtype inner = wk_compute_dtype(t.dtype);
  wk_value_id first = wk_make_1(c, WK_OP_FLOOR, at);
  wk_value_id part = wk_make_cast(c, wk_make_2(c, WK_OP_SUB, at, first), inner);
  part = wk_make_along(c, part, axis, t.rank);
  wk_value_id rest = wk_make_2(c, WK_OP_SUB, wk_make_scalar(c, inner, 1), part);
  wk_value_id a = wk_make_cast(c, taken(c, l, x, first, axis), inner);
  wk_value_id b = wk_make_cast(c, taken(c, l, x, wk_make_add_f(c, first, 1), axis), inner);
  a = wk_make_2(c, WK_OP_MUL, a, rest);
  return wk_make_cast(c, wk_make_2(c, WK_OP_ADD, a, wk_make_2(c, WK_OP_MUL, b, part)), t.dtype);
}

/* Along an axis with a size that is not known, or to one. */
static bool resize_axis(wk_onnx_node *c, const resizing *r, int axis, const wk_size *out) {
  const wk_size *dims[WK_MAX_RANK];
  bool is_linear = !strcmp(r->mode, "linear") || !strcmp(r->mode, "bilinear");
  if (!wk_onnx_need(c, is_linear || !strcmp(r->mode, "nearest"), "mode '%s' from %s to %s elements",
                    r->mode, wk_size_text(c, wk_extent_dim(c, c->in[0], axis)),
                    wk_size_text(c, out)) ||
      !wk_onnx_need(c, !is_linear || !wk_onnx_int(c, "antialias", 0),
                    "antialiasing, where a size is only known at run time") ||
      !wk_onnx_need(c, !is_linear || wk_dtype_is_float(wk_onnx_type(c, c->in[0])->dtype),
                    "integers in between, where a size is only known at run time"))
    return false;
  const line l = line_of(c, r, axis, out);
  wk_extent_dims(c, c->in[0], dims);
  dims[axis] = out;
  wk_value_id y = resized(c, &l, c->in[0], axis);
  if (!c->status) c->in[0] = wk_extent_set(c, y, dims);
  return wk_onnx_ok(c);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* A whole factor: x goes on behind its end as its last element, which is what lies beyond it. */
static bool is_whole(const resizing *r, int axis) {
  double factor = r->sizes ? 0 : r->factors.v[axis];
  return factor > 1 && factor == (double)(int64_t)factor &&
         strncmp(r->coordinates, "align_corners", 13) != 0;
}

static void go_on(wk_onnx_node *c, int axis) {
  const wk_size *dims[WK_MAX_RANK];
  wk_extent_dims(c, c->in[0], dims);
  wk_value_id at = wk_make_iota(c, wk_onnx_type(c, c->in[0])->dims[axis]);
  at = wk_extent_within(c, at, dims[axis]);
  c->in[0] = wk_extent_set(c, wk_make_gather(c, c->in[0], at, axis), dims);
}

/* The handler resizes the other axes, by factors or in their rooms. */
static void resize_rest(wk_onnx_node *c, const resizing *r, const wk_size *const *dims,
                        const bool *is_done) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  int64_t room[WK_MAX_RANK];
  double factors[WK_MAX_RANK];
  bool is_all = true;
  for (int i = 0; i < rank; i++) {
    bool stays = is_done[i] || wk_size_equal(dims[i], wk_extent_dim(c, c->in[0], i));
    room[i] = stays ? wk_onnx_type(c, c->in[0])->dims[i] : wk_size_most(c, dims[i]);
    factors[i] = stays || r->sizes ? 1 : r->factors.v[i];
    is_all = is_all && stays;
  }
  if (is_all) {
    wk_onnx_result(c, 0, wk_extent_copy(c, c->in[0]));
    return;
  }
  if (r->sizes) c->in[3] = wk_make_i64s(c, room, rank);
  else if (c->n_in > 1) c->in[c->opset >= 11 ? 2 : 1] =
      wk_make_f64s(c, WK_F32, factors, 1, (const int64_t[]){rank});
  else for (int i = 0; i < rank; i++)
    wk_onnx_need(c, !is_done[i], "scales in an attribute, where a size is only known at run time");
  if (wk_extent_plain(c)) wk_extent_result(c, 0, dims);
}

wk_status wk_extent_resize(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK];
  bool is_done[WK_MAX_RANK] = {false};
  int rank = wk_onnx_type(c, c->in[0])->rank;
  int64_t known;
  resizing r;
  if (!read_resizing(c, &r)) return c->status;
  for (int i = 0; i < rank && wk_onnx_ok(c); i++) {
    const wk_size *in = wk_extent_dim(c, c->in[0], i);
    dims[i] = size_of(c, &r, i);
    bool is_known = wk_size_is_const(in, &known) && wk_size_is_const(dims[i], &known);
    if (is_known || wk_size_equal(in, dims[i]) || !wk_onnx_ok(c)) continue;
    if (is_whole(&r, i)) go_on(c, i);
    else is_done[i] = resize_axis(c, &r, i, dims[i]);
  }
  if (wk_onnx_ok(c)) resize_rest(c, &r, dims, is_done);
  return c->status;
}
