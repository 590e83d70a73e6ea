/* SPDX-License-Identifier: Apache-2.0
 * What moves, cuts, joins and looks up, in random ONNX models. */
#include <stdio.h>

#include "tests/unit/random_onnx.h"

static int pick_any(onnx_draw *d, int least, int most) {
  int x = onnx_pick(d, onnx_chance(d, 85) ? WK_F32 : WK_I64, least, most);
  return x >= 0 ? x : onnx_pick(d, WK_F32, least, most);
}

/* Some size of some value, as a list of it. */
static int any_size(onnx_draw *d, onnx_dim *size) {
  int x = onnx_pick(d, WK_F32, 1, 5);
  if (x < 0) return -1;
  int axis = (int)onnx_int(d, 0, d->v[x].rank - 1);
  *size = d->v[x].dims[axis];
  if (size->data || onnx_is_fixed(d, size)) return -1;
  return onnx_shape_of(d, x, axis, axis + 1);
}

static int list_1(onnx_draw *d, int64_t v) { return onnx_list(d, 1, &v); }

/* a is at most b in every run. */
static bool is_within(const onnx_draw *d, const onnx_dim *a, const onnx_dim *b) {
  if (a->data || b->data) return a->data == b->data;
  for (int i = 0; i < d->runs; i++)
    if (a->n[i] > b->n[i]) return false;
  return true;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool draw_transpose(onnx_draw *d) {
  int x = pick_any(d, 2, 5);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int64_t perm[WK_MAX_RANK];
  for (int i = 0; i < r.rank; i++) {
    int64_t k = onnx_int(d, 0, i);
    perm[i] = perm[k], perm[k] = i;
  }
  for (int i = 0; i < r.rank; i++) r.dims[i] = d->v[x].dims[perm[i]];
  onnx_op(d, "Transpose", ONNX_IN(x), &r);
  set_ints(&d->b, d->node, "perm", (size_t)r.rank, perm);
  return true;
}

/* A shape to be: sizes, how each is said: a number, or a list. */
typedef struct {
  int n, x, lists[WK_MAX_RANK + 2];
  onnx_dim dims[WK_MAX_RANK + 2];
} target;

static void say(target *t, const onnx_dim *a, int list) {
  t->dims[t->n] = *a;
  t->lists[t->n++] = list;
}

/* Axis i as two: one of a factor, and the rest. */
static bool split_axis(onnx_draw *d, target *t, int i) {
  const onnx_dim a = d->v[t->x].dims[i];
  onnx_dim f = onnx_fixed(onnx_int(d, 2, 4)), rest = a;
  int list = list_1(d, f.n[0]);
  if (onnx_chance(d, 50)) list = any_size(d, &f);
  if (list < 0 || a.data) return false;
  for (int k = 0; k < d->runs; k++) {
    if (a.n[k] % f.n[k]) return false;
    rest.n[k] = a.n[k] / f.n[k];
  }
  int whole = onnx_shape_of(d, t->x, i, i + 1), way = (int)onnx_int(d, 0, 1);
  int quotient = onnx_is_fixed(d, &rest) ? list_1(d, rest.n[0])
                                         : onnx_binary_list(d, "Div", whole, list);
  say(t, way ? &f : &rest, way ? list : quotient);
  say(t, way ? &rest : &f, way ? quotient : list);
  return true;
}

/* Axes from i on as one: how many. */
static int merge_axes(onnx_draw *d, target *t, int i) {
  const onnx_value *v = &d->v[t->x];
  int n = onnx_chance(d, 70) ? 2 : 3, list;
  if (i + n > v->rank) n = v->rank - i;
  onnx_dim all = v->dims[i];
  for (int k = 1; k < n; k++) all = onnx_times(d, &all, &v->dims[i + k]);
  if (onnx_chance(d, 30)) {
    int part = onnx_shape_of(d, t->x, i, i + n);
    list = onnx_hide(d, onnx_reduce(d, "ReduceProd", part, 1, true, 0));
  } else {
    list = onnx_shape_of(d, t->x, i, i + 1);
    for (int k = 1; k < n; k++)
      list = onnx_binary_list(d, "Mul", list, onnx_shape_of(d, t->x, i + k, i + k + 1));
  }
  say(t, &all, list);
  return n;
}

static void keep_axis(onnx_draw *d, target *t, int i) {
  const onnx_dim *a = &d->v[t->x].dims[i];
  if (t->n == i && onnx_chance(d, 50)) say(t, a, list_1(d, 0));
  else if (onnx_chance(d, 50)) say(t, a, onnx_size_list(d, a));
  else say(t, a, onnx_shape_of(d, t->x, i, i + 1));
}

/* All of it is constant where no list is computed. */
static int shape_list(onnx_draw *d, const target *t) {
  int64_t v[WK_MAX_RANK];
  bool is_constant = true;
  for (int i = 0; i < t->n; i++) is_constant = is_constant && d->v[t->lists[i]].is_constant;
  if (!is_constant) return onnx_concat_lists(d, t->n, t->lists);
  for (int i = 0; i < t->n; i++) {
    const Onnx__GraphProto *g = d->b.g;
    for (size_t k = 0; k < g->n_initializer; k++)
      if (!strcmp(g->initializer[k]->name, d->v[t->lists[i]].name))
        memcpy(&v[i], g->initializer[k]->raw_data.data, sizeof v[i]);
  }
  return onnx_list(d, t->n, v);
}

static bool draw_reshape(onnx_draw *d) {
  int x = pick_any(d, 1, 5);
  if (x < 0) return false;
  target t = {.x = x};
  onnx_value r = d->v[x];
  for (int i = 0; i < r.rank;) {
    int64_t way = onnx_int(d, 0, 9);
    if (way < 4 && i + 1 < r.rank) {
      i += merge_axes(d, &t, i);
    } else {
      if (way < 7 && t.n + 2 < WK_MAX_RANK && split_axis(d, &t, i)) { i++; continue; }
      keep_axis(d, &t, i++);
    }
  }
  if (onnx_chance(d, 40)) { /* the others are not 0 then */
    int i = (int)onnx_int(d, 0, t.n - 1);
    t.lists[i] = list_1(d, -1);
    for (int k = 0; k < t.n; k++)
      if (t.dims[k].data && k != i) return false;
  }
  r.rank = t.n;
  if (t.n > 5) return false;
  for (int i = 0; i < t.n; i++) r.dims[i] = t.dims[i];
  onnx_op(d, "Reshape", ONNX_IN(x, shape_list(d, &t)), &r);
  return true;
}

static bool draw_flatten(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 5);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int axis = (int)onnx_int(d, 0, r.rank);
  r.dims[0] = r.dims[1] = onnx_fixed(1), r.rank = 2;
  for (int i = 0; i < d->v[x].rank; i++)
    r.dims[i >= axis] = onnx_times(d, &r.dims[i >= axis], &d->v[x].dims[i]);
  onnx_op(d, "Flatten", ONNX_IN(x), &r);
  set_int(&d->b, d->node, "axis", axis);
  return true;
}

static bool draw_unsqueeze(onnx_draw *d) {
  int x = pick_any(d, 0, 4);
  if (x >= 0) onnx_unsqueeze(d, x, (int)onnx_int(d, 0, d->v[x].rank));
  return x >= 0;
}

static bool draw_squeeze(onnx_draw *d) {
  int x = pick_any(d, 1, 5), ones = 0;
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int64_t axes[WK_MAX_RANK];
  r.rank = 0;
  for (int i = 0; i < d->v[x].rank; i++) {
    const onnx_dim a = d->v[x].dims[i];
    if (onnx_is_one(d, &a) && onnx_chance(d, 70))
      axes[ones++] = onnx_chance(d, 70) ? i : i - d->v[x].rank;
    else r.dims[r.rank++] = a;
  }
  if (!ones) return false;
  onnx_op(d, "Squeeze", ONNX_IN(x, onnx_list(d, ones, axes)), &r);
  return true;
}

static bool draw_expand(onnx_draw *d) {
  int y = onnx_pick(d, WK_F32, 1, 5), x = -1;
  if (y < 0) return false;
  onnx_value r = d->v[y];
  if (onnx_chance(d, 50)) x = onnx_pick_for(d, &r, onnx_fits_into);
  if (x < 0) {
    uint32_t axes = (uint32_t)onnx_int(d, 1, (1 << r.rank) - 1);
    x = onnx_reduce(d, "ReduceMax", y, axes, true, r.most);
  }
  int lists[WK_MAX_RANK], shape;
  for (int i = 0; i < r.rank; i++) {
    int k = i - (r.rank - d->v[x].rank);
    bool same = k >= 0 && onnx_same(d, &d->v[x].dims[k], &r.dims[i]);
    lists[i] = same && onnx_chance(d, 50) ? list_1(d, 1) : onnx_shape_of(d, y, i, i + 1);
  }
  shape = onnx_chance(d, 50) ? onnx_shape_of(d, y, 0, r.rank) : onnx_concat_lists(d, r.rank, lists);
  r.most = d->v[x].most;
  onnx_op(d, "Expand", ONNX_IN(x, shape), &r);
  return true;
}

static bool draw_tile(onnx_draw *d) {
  int x = pick_any(d, 1, 4), lists[WK_MAX_RANK];
  if (x < 0) return false;
  onnx_value r = d->v[x];
  for (int i = 0; i < r.rank; i++) {
    onnx_dim n = onnx_fixed(onnx_chance(d, 50) ? 1 : onnx_int(d, 1, 3));
    lists[i] = onnx_chance(d, 20) ? any_size(d, &n) : list_1(d, n.n[0]);
    if (lists[i] < 0) return false;
    r.dims[i] = onnx_times(d, &r.dims[i], &n);
  }
  const target t = {.n = r.rank, .x = x};
  target said = t;
  memcpy(said.lists, lists, sizeof lists);
  onnx_op(d, "Tile", ONNX_IN(x, shape_list(d, &said)), &r);
  return true;
}

/* ---- joining and cutting --------------------------------------------------------------------- */

static int odd_axis(const onnx_draw *d, const onnx_value *y, const onnx_value *x) {
  int axis = -1;
  for (int i = 0; i < x->rank; i++)
    if (!onnx_same(d, &y->dims[i], &x->dims[i])) axis = axis < 0 ? i : WK_MAX_RANK;
  return axis;
}

static bool fits_beside(const onnx_draw *d, const onnx_value *y, const onnx_value *x) {
  return y->type == x->type && y->rank == x->rank && odd_axis(d, y, x) < WK_MAX_RANK;
}

static bool draw_concat(onnx_draw *d) {
  int x = pick_any(d, 1, 4), n = onnx_chance(d, 70) ? 2 : 3, in[4] = {0};
  if (x < 0) return false;
  int y = onnx_pick_for(d, &d->v[x], fits_beside), axis = odd_axis(d, &d->v[y], &d->v[x]);
  if (axis < 0) axis = (int)onnx_int(d, 0, d->v[x].rank - 1);
  onnx_value r = d->v[x];
  for (int i = 0; i < n; i++) {
    in[i] = i == 1 || (i && onnx_chance(d, 50)) ? y : x;
    if (i) r.dims[axis] = onnx_plus(d, &r.dims[axis], &d->v[in[i]].dims[axis]);
  }
  in[n] = -1;
  r.most += d->v[y].most;
  r.is_index = false;
  onnx_op(d, "Concat", in, &r);
  set_int(&d->b, d->node, "axis", onnx_chance(d, 30) ? axis - r.rank : axis);
  return true;
}

/* A position: what it is in each run, and a list of it. */
typedef struct { int64_t n[ONNX_RUNS]; int list; } position;

static position draw_position(onnx_draw *d, int64_t far) {
  static const int64_t constants[] = {0, 0, 1, 2, 3, -1, -2, -3};
  position p;
  onnx_dim a;
  int size = onnx_chance(d, 35) ? any_size(d, &a) : -1, way = (int)onnx_int(d, 0, 3);
  if (size < 0) {
    a = onnx_fixed(constants[onnx_int(d, 0, WK_COUNTOF(constants) - 1)]);
    if (onnx_chance(d, 40)) a = onnx_fixed(far);
    size = list_1(d, a.n[0]);
  } else if (way == 0) {
    for (int i = 0; i < d->runs; i++) a.n[i] = -a.n[i];
    size = onnx_binary_list(d, "Sub", list_1(d, 0), size);
  } else if (way == 1 && onnx_least(d, &a) > 0) {
    for (int i = 0; i < d->runs; i++) a.n[i]--;
    size = onnx_binary_list(d, "Sub", size, list_1(d, 1));
  } else if (way == 2) {
    for (int i = 0; i < d->runs; i++) a.n[i] /= 2;
    size = onnx_binary_list(d, "Div", size, list_1(d, 2));
  }
  memcpy(p.n, a.n, sizeof p.n);
  p.list = size;
  return p;
}

static int64_t clamp(int64_t v, int64_t n, int64_t low, int64_t high) {
  if (v < 0 && v > -1000) v += n;
  return v < low ? low : v > high ? high : v;
}

static int64_t cut_size(int64_t n, int64_t start, int64_t end, int64_t step) {
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1, by = step > 0 ? step : -step;
  start = clamp(start, n, low, high);
  end = clamp(end, n, low, high);
  int64_t span = step > 0 ? end - start : start - end;
  return span <= 0 ? 0 : (span + by - 1) / by;
}

static bool draw_slice(onnx_draw *d) {
  static const int64_t steps[] = {1, 1, 1, 1, 2, -1, -1, -2};
  int x = pick_any(d, 1, 5);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int n = r.rank > 1 && onnx_chance(d, 30) ? 2 : 1, starts[2], ends[2];
  int64_t axes[2] = {onnx_int(d, 0, r.rank - 1)}, by[2];
  axes[1] = (axes[0] + 1) % r.rank;
  for (int i = 0; i < n; i++) {
    by[i] = steps[onnx_int(d, 0, WK_COUNTOF(steps) - 1)];
    position from = draw_position(d, by[i] > 0 ? 0 : INT64_MAX);
    position to = draw_position(d, by[i] > 0 ? INT64_MAX : INT64_MIN);
    onnx_dim *a = &r.dims[axes[i]];
    starts[i] = from.list, ends[i] = to.list;
    if (a->data) *a = onnx_by_data(d, a);
    else
      for (int k = 0; k < d->runs; k++) a->n[k] = cut_size(a->n[k], from.n[k], to.n[k], by[i]);
    if (onnx_chance(d, 30)) axes[i] -= r.rank;
  }
  target s = {.n = n, .lists = {starts[0], starts[1]}}, e = {.n = n, .lists = {ends[0], ends[1]}};
  int from = shape_list(d, &s), to = shape_list(d, &e);
  onnx_op(d, "Slice", ONNX_IN(x, from, to, onnx_list(d, n, axes), onnx_list(d, n, by)), &r);
  return true;
}

/* In two: a number of elements, or as many as some size, and the others. */
static bool split_in_two(onnx_draw *d, int x, int axis) {
  onnx_value r = d->v[x];
  const onnx_dim all = r.dims[axis];
  onnx_dim a = onnx_fixed(onnx_int(d, 1, 2)), rest = all;
  int first = onnx_chance(d, 50) ? any_size(d, &a) : list_1(d, a.n[0]);
  if (first < 0 || !is_within(d, &a, &all)) return false;
  for (int i = 0; i < d->runs; i++) rest.n[i] -= a.n[i];
  int second = onnx_binary_list(d, "Sub", onnx_shape_of(d, x, axis, axis + 1), first);
  int sizes = onnx_concat_lists(d, 2, (const int[]){first, second});
  r.dims[axis] = a;
  onnx_op(d, "Split", ONNX_IN(x, sizes), &r);
  r.dims[axis] = rest;
  onnx_more(d, &r);
  set_int(&d->b, d->node, "axis", axis);
  return true;
}

static bool draw_split(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 4), n = (int)onnx_int(d, 2, 3);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int axis = (int)onnx_int(d, 0, r.rank - 1);
  onnx_dim all = r.dims[axis], each = all;
  if (all.data) return false;
  if (onnx_chance(d, 50)) return split_in_two(d, x, axis);
  for (int i = 0; i < d->runs; i++) {
    each.n[i] = (all.n[i] + n - 1) / n;
    all.n[i] -= each.n[i] * (n - 1);
    if (d->opset < 18 && all.n[i] != each.n[i]) return false;
  }
  r.dims[axis] = each;
  onnx_op(d, "Split", ONNX_IN(x), &r);
  for (int i = 1; i < n; i++) {
    r.dims[axis] = i + 1 < n ? each : all;
    onnx_more(d, &r);
  }
  if (d->opset >= 18) set_int(&d->b, d->node, "num_outputs", n);
  set_int(&d->b, d->node, "axis", axis - r.rank);
  return true;
}

/* Up to the size of something. */
static bool pad_to_size(onnx_draw *d, int x) {
  onnx_value r = d->v[x];
  onnx_dim a;
  int axis = (int)onnx_int(d, 0, r.rank - 1), size = any_size(d, &a), lists[2 * WK_MAX_RANK];
  if (size < 0 || r.dims[axis].data || !is_within(d, &r.dims[axis], &a)) return false;
  for (int i = 0; i < 2 * r.rank; i++) lists[i] = list_1(d, 0);
  int whole = onnx_shape_of(d, x, axis, axis + 1);
  lists[axis + r.rank * onnx_chance(d, 50)] = onnx_binary_list(d, "Sub", size, whole);
  int all = onnx_concat_lists(d, r.rank, lists);
  int more = onnx_concat_lists(d, r.rank, lists + r.rank);
  r.dims[axis] = a;
  onnx_op(d, "Pad", ONNX_IN(x, onnx_concat_lists(d, 2, (const int[]){all, more})), &r);
  return true;
}

static bool draw_pad(onnx_draw *d) {
  static const char *const modes[] = {"constant", "edge", "reflect"};
  int x = onnx_pick(d, WK_F32, 1, 5), way = (int)onnx_int(d, 0, 3);
  if (x < 0) return false;
  if (way == 3) return pad_to_size(d, x);
  onnx_value r = d->v[x];
  int64_t pads[2 * WK_MAX_RANK] = {0};
  for (int i = 0; i < r.rank; i++) {
    onnx_dim *a = &r.dims[i];
    int64_t most = way == 2 ? onnx_least(d, a) - 1 : 2;
    if (onnx_chance(d, 50) || a->data) continue;
    pads[i] = onnx_int(d, way ? 0 : -1, most > 2 ? 2 : most);
    pads[i + r.rank] = onnx_int(d, way ? 0 : -1, most > 2 ? 2 : most);
    for (int k = 0; k < d->runs; k++) a->n[k] += pads[i] + pads[i + r.rank];
  }
  bool says = way == 0 && onnx_chance(d, 50);
  int list = onnx_list(d, 2 * r.rank, pads);
  onnx_op(d, "Pad", ONNX_IN(x, list, says ? onnx_number(d, 1.5) : -1), &r);
  set_text(&d->b, d->node, "mode", modes[way]);
  return true;
}

static bool draw_trilu(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 2, 5);
  if (x < 0 || d->opset < 14) return false;
  onnx_value r = d->v[x];
  int k = onnx_chance(d, 60) ? onnx_scalar(d, onnx_int(d, -2, 2)) : -1;
  onnx_op(d, "Trilu", ONNX_IN(x, k), &r);
  set_int(&d->b, d->node, "upper", onnx_int(d, 0, 1));
  return true;
}

static bool draw_resize(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 3, 4);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  const int64_t n = r.rank;
  float scales[4];
  for (int i = 0; i < r.rank; i++) {
    scales[i] = i < 2 ? 1 : (float)onnx_int(d, 1, 3);
    const onnx_dim f = onnx_fixed((int64_t)scales[i]);
    r.dims[i] = onnx_times(d, &r.dims[i], &f);
  }
  int list = onnx_floats(d, 1, &n, 0, 0);
  Onnx__TensorProto *t = d->b.g->initializer[d->b.g->n_initializer - 1];
  memcpy(t->raw_data.data, scales, (size_t)n * sizeof *scales);
  bool is_linear = onnx_chance(d, 40), is_simple = onnx_chance(d, 50);
  onnx_op(d, "Resize", ONNX_IN(x, ONNX_NONE, list), &r);
  set_text(&d->b, d->node, "mode", is_linear ? "linear" : "nearest");
  set_text(&d->b, d->node, "coordinate_transformation_mode",
           is_simple ? "asymmetric" : "half_pixel");
  if (!is_linear)
    set_text(&d->b, d->node, "nearest_mode", is_simple ? "floor" : "round_prefer_floor");
  return true;
}

/* ---- looking up ------------------------------------------------------------------------------ */

/* Indices that lead into this axis. */
static int index_into(onnx_draw *d, const onnx_dim *a, int least, int most) {
  int list[ONNX_VALUES], n = 0;
  for (int i = 0; i < d->values; i++) {
    const onnx_value *v = &d->v[i];
    if (!v->is_hidden && v->is_index && v->rank >= least && v->rank <= most &&
        is_within(d, &v->below, a)) list[n++] = i;
  }
  return n ? list[onnx_int(d, 0, n - 1)] : -1;
}

static bool draw_gather(onnx_draw *d) {
  int x = pick_any(d, 1, 4), at = -1;
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int axis = (int)onnx_int(d, 0, r.rank - 1), rank = r.rank;
  const onnx_dim a = r.dims[axis];
  if (onnx_chance(d, 60)) at = index_into(d, &a, 0, 2);
  if (at < 0) {
    int64_t least = onnx_least(d, &a), list[3];
    if (least < 1) return false;
    for (int i = 0; i < 3; i++) list[i] = onnx_int(d, -least, least - 1);
    at = onnx_chance(d, 40) ? onnx_scalar(d, list[0]) : onnx_list(d, (int)onnx_int(d, 1, 3), list);
  }
  const onnx_value *i = &d->v[at];
  r.rank = rank - 1 + i->rank;
  for (int k = 0; k < i->rank; k++) r.dims[axis + k] = i->dims[k];
  for (int k = axis + 1; k < rank; k++) r.dims[k - 1 + i->rank] = d->v[x].dims[k];
  onnx_op(d, "Gather", ONNX_IN(x, at), &r);
  set_int(&d->b, d->node, "axis", onnx_chance(d, 30) ? axis - rank : axis);
  return true;
}

/* Indices of the same rank that are no longer along other axes; *axis: into which. */
static int index_for_elements(onnx_draw *d, int x, int *axis, bool within_all) {
  const onnx_value *v = &d->v[x];
  *axis = (int)onnx_int(d, 0, v->rank - 1);
  int at = index_into(d, &v->dims[*axis], v->rank, v->rank);
  for (int i = 0; at >= 0 && i < v->rank; i++)
    if ((i != *axis || within_all) && !is_within(d, &d->v[at].dims[i], &v->dims[i])) return -1;
  return at;
}

static bool draw_gather_elements(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 4), axis;
  if (x < 0) return false;
  int at = index_for_elements(d, x, &axis, false);
  if (at < 0) return false;
  onnx_value r = d->v[at];
  r.type = WK_F32;
  r.most = d->v[x].most;
  onnx_op(d, "GatherElements", ONNX_IN(x, at), &r);
  set_int(&d->b, d->node, "axis", axis);
  return true;
}

/* Adds, as positions may be there twice. */
static bool draw_scatter_add(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 4), axis;
  if (x < 0 || d->opset < 16) return false;
  int at = index_for_elements(d, x, &axis, true);
  if (at < 0) return false;
  onnx_value r = d->v[at];
  r.type = WK_F32;
  int u = onnx_hide(d, onnx_op(d, "Cast", ONNX_IN(at), &r));
  set_int(&d->b, d->node, "to", ELEM_F32);
  u = onnx_hide(d, onnx_op(d, "Sin", ONNX_IN(u), &r));
  r = d->v[x];
  r.most += 20;
  onnx_op(d, "ScatterElements", ONNX_IN(x, at, u), &r);
  set_int(&d->b, d->node, "axis", axis);
  set_text(&d->b, d->node, "reduction", "add");
  return true;
}

/* To places that TopK gives, each once. */
static bool scatter_sorted(onnx_draw *d, int x, int values, int at, int axis) {
  onnx_value r = d->v[x];
  r.most += d->v[values].most;
  onnx_op(d, "ScatterElements", ONNX_IN(x, at, values), &r);
  set_int(&d->b, d->node, "axis", axis);
  return true;
}

static bool draw_top_k(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 4), k = -1;
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int axis = (int)onnx_int(d, 0, r.rank - 1);
  onnx_dim n = r.dims[axis];
  if (n.data) return false;
  if (onnx_chance(d, 40)) k = any_size(d, &n);
  else if (onnx_chance(d, 40)) k = onnx_shape_of(d, x, axis, axis + 1);
  if (k < 0) n = onnx_fixed(onnx_int(d, 1, onnx_least(d, &r.dims[axis]))), k = list_1(d, n.n[0]);
  if (!is_within(d, &n, &r.dims[axis])) return false;
  onnx_value at = r;
  at.type = WK_I64, at.is_index = true, at.is_signed = false, at.below = r.dims[axis];
  r.dims[axis] = at.dims[axis] = n;
  int from = onnx_untied(d, x, axis);
  int values = onnx_op(d, "TopK", ONNX_IN(from, k), &r), places = onnx_more(d, &at);
  set_int(&d->b, d->node, "axis", axis);
  if (onnx_chance(d, 40)) set_int(&d->b, d->node, "largest", 0);
  return !onnx_chance(d, 40) || scatter_sorted(d, x, values, places, axis);
}

static bool draw_one_hot(onnx_draw *d) {
  int x = -1, list[ONNX_VALUES], n = 0;
  for (int i = 0; i < d->values; i++)
    if (!d->v[i].is_hidden && d->v[i].is_index && d->v[i].rank < 4) list[n++] = i;
  if (n) x = list[onnx_int(d, 0, n - 1)];
  if (x < 0) return false;
  onnx_value r = d->v[x];
  onnx_dim depth = r.below;
  int size = onnx_chance(d, 60) ? onnx_size_list(d, &depth) : -1;
  if (size < 0) depth = onnx_fixed(onnx_most(d, &depth)), size = list_1(d, depth.n[0]);
  int axis = (int)onnx_int(d, 0, r.rank);
  const int64_t two = 2;
  for (int i = r.rank++; i > axis; i--) r.dims[i] = r.dims[i - 1];
  r.dims[axis] = depth;
  r.type = WK_F32, r.most = 2;
  onnx_op(d, "OneHot", ONNX_IN(x, size, onnx_floats(d, 1, &two, -2, 2)), &r);
  set_int(&d->b, d->node, "axis", axis == r.rank - 1 ? -1 : axis);
  return true;
}

/* ---- from sizes ------------------------------------------------------------------------------ */

static bool draw_range(onnx_draw *d) {
  onnx_dim a;
  int size = any_size(d, &a);
  if (size < 0) return false;
  onnx_value r = {.type = WK_I64, .rank = 1, .is_index = true, .below = a};
  int64_t start = onnx_int(d, 0, 1), step = onnx_int(d, 1, 2);
  bool is_down = onnx_chance(d, 20);
  r.dims[0] = a;
  for (int i = 0; i < d->runs && !is_down; i++)
    r.dims[0].n[i] = (a.n[i] - start + step - 1) / step;
  int n = onnx_to_scalar(d, size), from = onnx_scalar(d, start), by = onnx_scalar(d, step);
  if (is_down) { /* from n - 1 to 0 */
    const onnx_value scalar = {.type = WK_I64};
    n = onnx_hide(d, onnx_op(d, "Sub", ONNX_IN(n, onnx_scalar(d, 1)), &scalar));
    onnx_op(d, "Range", ONNX_IN(n, onnx_scalar(d, -1), onnx_scalar(d, -1)), &r);
  } else {
    onnx_op(d, "Range", ONNX_IN(from, n, by), &r);
  }
  return true;
}

static bool draw_constant_of_shape(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 4);
  if (x < 0) return false;
  int from = (int)onnx_int(d, 0, d->v[x].rank - 1), shape = onnx_shape_of(d, x, from, d->v[x].rank);
  onnx_value r = onnx_like(WK_F32, d->v[x].rank - from, &d->v[x].dims[from]);
  const float v = 1.25f;
  const int64_t one = 1;
  onnx_op(d, "ConstantOfShape", ONNX_IN(shape), &r);
  attribute(&d->b, d->node, "value")->t = raw_tensor(&d->b, "", ELEM_F32, 1, &one, &v, sizeof v);
  return true;
}

/* ---- sizes that values decide ---------------------------------------------------------------- */

static int above(onnx_draw *d, int x, double v) {
  onnx_value r = d->v[x];
  r.type = WK_BOOL;
  return onnx_hide(d, onnx_op(d, "Greater", ONNX_IN(x, onnx_number(d, v)), &r));
}

static bool draw_non_zero(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 3);
  if (x < 0) return false;
  const onnx_value v = d->v[x];
  onnx_dim all = v.dims[0];
  for (int i = 1; i < v.rank; i++) all = onnx_times(d, &all, &v.dims[i]);
  const onnx_dim sizes[] = {onnx_fixed(v.rank), onnx_by_data(d, &all)};
  const onnx_dim turned[] = {sizes[1], sizes[0]};
  onnx_value r = onnx_like(WK_I64, 2, sizes), t = onnx_like(WK_I64, 2, turned), row = r;
  int at = onnx_op(d, "NonZero", ONNX_IN(above(d, x, 0.2)), &r), way = (int)onnx_int(d, 0, 3);
  int axis = (int)onnx_int(d, 0, v.rank - 1);
  row.rank = 1, row.dims[0] = sizes[1];
  row.is_index = true, row.below = v.dims[axis];
  if (way == 0) onnx_op(d, "Gather", ONNX_IN(at, onnx_scalar(d, axis)), &row);
  if (way < 2) return true;
  at = onnx_op(d, "Transpose", ONNX_IN(at), &t);
  onnx_value picked = onnx_like(WK_F32, 1, turned);
  picked.most = v.most;
  int y = onnx_op(d, "GatherND", ONNX_IN(x, at), &picked);
  if (way == 2) return true;
  y = onnx_op(d, "Neg", ONNX_IN(y), &picked);
  onnx_op(d, "ScatterND", ONNX_IN(x, at, y), &v);
  return true;
}

static bool draw_compress(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 3);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int axis = (int)onnx_int(d, 0, r.rank - 1), sum = x;
  uint32_t others = ((1u << r.rank) - 1) & ~(1u << axis);
  if (others) sum = onnx_hide(d, onnx_reduce(d, "ReduceMax", x, others, false, r.most));
  r.dims[axis] = onnx_by_data(d, &r.dims[axis]);
  onnx_op(d, "Compress", ONNX_IN(x, above(d, sum, 0.3)), &r);
  set_int(&d->b, d->node, "axis", axis);
  return true;
}

const onnx_step onnx_move_steps[] = {{"Transpose", draw_transpose, 5},
                                     {"Reshape", draw_reshape, 10},
                                     {"Flatten", draw_flatten, 3},
                                     {"Unsqueeze", draw_unsqueeze, 3},
                                     {"Squeeze", draw_squeeze, 3},
                                     {"Expand", draw_expand, 5},
                                     {"Tile", draw_tile, 4},
                                     {"Concat", draw_concat, 7},
                                     {"Slice", draw_slice, 8},
                                     {"Split", draw_split, 5},
                                     {"Pad", draw_pad, 6},
                                     {"Trilu", draw_trilu, 3},
                                     {"Resize", draw_resize, 4},
                                     {"Gather", draw_gather, 7},
                                     {"GatherElements", draw_gather_elements, 6},
                                     {"ScatterElements", draw_scatter_add, 6},
                                     {"TopK", draw_top_k, 5},
                                     {"OneHot", draw_one_hot, 5},
                                     {"Range", draw_range, 3},
                                     {"ConstantOfShape", draw_constant_of_shape, 2},
                                     {"NonZero", draw_non_zero, 4},
                                     {"Compress", draw_compress, 3},
                                     {NULL, NULL, 0}};
