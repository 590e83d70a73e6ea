/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/onnx/import/extent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LIST = 64 };

/* ---- the table ------------------------------------------------------------------------------- */

wk_extents *wk_extents_new(void) {
  wk_extents *e = wk_xcalloc(1, sizeof *e);
  e->values = wk_map_new();
  return e;
}

void wk_extents_free(wk_extents *e) {
  wk_vec_free(&e->unknowns);
  for (size_t i = 0; i < e->graphs.n; i++) wk_vec_free(&e->graphs.data[i].of);
  wk_vec_free(&e->graphs);
  wk_vec_free(&e->inputs);
  wk_vec_free(&e->bounds);
  wk_vec_free(&e->symbols);
  wk_map_free(e->values);
  free(e);
}

void wk_extents_enter(wk_importer *im, const wk_graph *g) {
  wk_vec_push(&im->extents->graphs, ((wk_sized_graph){.g = g}));
}

static wk_sized_graph *entered(const wk_importer *im, const wk_graph *g) {
  wk_extents *e = im->extents;
  for (size_t i = e->graphs.n; i-- > 0;)
    if (e->graphs.data[i].g == g) return &e->graphs.data[i];
  return NULL;
}

void wk_extents_leave(wk_importer *im, const wk_graph *g) {
  wk_extents *e = im->extents;
  wk_sized_graph *at = entered(im, g), *end = e->graphs.data + e->graphs.n;
  if (!at) return;
  wk_vec_free(&at->of);
  memmove(at, at + 1, (size_t)(end - at - 1) * sizeof *at);
  e->graphs.n--;
}

const wk_sized *wk_extent_find(const wk_importer *im, const wk_graph *g, wk_value_id v) {
  const wk_sized_graph *at = entered(im, g);
  return !at || v == WK_NONE || v >= at->of.n ? NULL : at->of.data[v];
}

static void put(wk_importer *im, const wk_graph *g, wk_value_id v, const wk_sized *s) {
  wk_sized_graph *at = entered(im, g);
  if (!at) return;
  while (at->of.n <= v) wk_vec_push(&at->of, NULL);
  at->of.data[v] = s;
}

void wk_extents_carry(wk_importer *im, const wk_graph *from, wk_value_id v, const wk_graph *to,
                      wk_value_id inner) {
  const wk_sized *s = wk_extent_find(im, from, v);
  if (s) put(im, to, inner, s);
}

bool wk_extent_has_open(const wk_importer *im, const wk_graph *g, wk_value_id v) {
  const wk_sized *s = wk_extent_find(im, g, v);
  for (int i = 0; s && i < WK_MAX_RANK; i++)
    if (s->dims[i]) return true;
  return false;
}

bool wk_extent_is_open(const wk_onnx_node *c, wk_value_id v, int axis) {
  const wk_sized *s = wk_extent_find(c->im, c->g, v);
  return s && s->dims[axis];
}

static wk_sized *record(wk_onnx_node *c, wk_value_id v) {
  const wk_sized *old = wk_extent_find(c->im, c->g, v);
  wk_sized *s = wk_arena_alloc(c->im->arena, sizeof *s);
  *s = old ? *old : (wk_sized){0};
  put(c->im, c->g, v, s);
  return s;
}

const wk_size *wk_extent_dim(wk_onnx_node *c, wk_value_id v, int axis) {
  const wk_sized *s = wk_extent_find(c->im, c->g, v);
  if (s && s->dims[axis]) return s->dims[axis];
  return wk_size_const(c, wk_onnx_type(c, v)->dims[axis]);
}

void wk_extent_dims(wk_onnx_node *c, wk_value_id v, const wk_size **dims) {
  for (int i = 0; i < wk_onnx_type(c, v)->rank; i++) dims[i] = wk_extent_dim(c, v, i);
}

void wk_extent_declare(wk_onnx_node *c, wk_value_id v, const wk_size *const *dims) {
  int64_t known;
  bool is_open = wk_extent_find(c->im, c->g, v) != NULL;
  for (int i = 0; i < wk_onnx_type(c, v)->rank; i++)
    is_open = is_open || !wk_size_is_const(dims[i], &known);
  if (!is_open) return;
  wk_sized *s = record(c, v);
  for (int i = 0; i < WK_MAX_RANK; i++)
    s->dims[i] = i < wk_onnx_type(c, v)->rank && !wk_size_is_const(dims[i], &known) ? dims[i]
                                                                                    : NULL;
}

static bool has_dims(wk_onnx_node *c, wk_value_id v, const wk_size *const *dims) {
  for (int i = 0; i < wk_onnx_type(c, v)->rank; i++)
    if (!wk_size_equal(wk_extent_dim(c, v, i), dims[i])) return false;
  return true;
}

wk_value_id wk_extent_set(wk_onnx_node *c, wk_value_id v, const wk_size *const *dims) {
  int64_t known;
  for (int i = 0; !c->status && i < wk_onnx_type(c, v)->rank; i++) {
    int64_t most = wk_size_most(c, dims[i]), room = wk_onnx_type(c, v)->dims[i];
    if (wk_size_is_const(dims[i], &known) && known > room)
      wk_onnx_fail(c, WK_INTERNAL, "axis %d has room for %lld elements, not for %lld", i,
                   (long long)room, (long long)known);
    if (most < room) v = wk_make_slice(c, v, i, 0, most < 0 ? 0 : most, 1);
  }
  if (c->status || has_dims(c, v, dims)) return v;
  if (v < c->im->extents->first_new) v = wk_make_1(c, WK_OP_IDENTITY, v); /* others have its own */
  if (!c->status) wk_extent_declare(c, v, dims);
  return v;
}

wk_value_id wk_extent_like(wk_onnx_node *c, wk_value_id v, wk_value_id of) {
  const wk_size *dims[WK_MAX_RANK];
  if (c->status || !wk_extent_has_open(c->im, c->g, of)) return v;
  int rank = wk_onnx_type(c, of)->rank;
  wk_extent_dims(c, v, dims);
  for (int i = 0; i < rank; i++)
    if (wk_extent_is_open(c, of, i)) dims[i] = wk_extent_dim(c, of, i);
  return wk_extent_set(c, v, dims);
}

wk_value_id wk_extent_unsqueezed(wk_onnx_node *c, wk_value_id v, int axis) {
  const wk_size *dims[WK_MAX_RANK];
  const int64_t at = axis;
  wk_value_id y = wk_make_unsqueeze(c, v, (wk_ints){1, &at});
  for (int i = 0; !c->status && i < wk_onnx_type(c, y)->rank; i++)
    dims[i] = i == axis ? wk_size_const(c, 1) : wk_extent_dim(c, v, i < axis ? i : i - 1);
  return c->status ? WK_NONE : wk_extent_set(c, y, dims);
}

wk_value_id wk_extent_squeezed(wk_onnx_node *c, wk_value_id v, int axis) {
  const wk_size *dims[WK_MAX_RANK];
  const int64_t at = axis;
  wk_value_id y = wk_make_squeeze(c, v, (wk_ints){1, &at});
  for (int i = 0; !c->status && i < wk_onnx_type(c, y)->rank; i++)
    dims[i] = wk_extent_dim(c, v, i < axis ? i : i + 1);
  return c->status ? WK_NONE : wk_extent_set(c, y, dims);
}

wk_value_id wk_extent_copy(wk_onnx_node *c, wk_value_id v) {
  const wk_sized *s = wk_extent_find(c->im, c->g, v);
  wk_value_id copy = c->status ? WK_NONE : wk_make_1(c, WK_OP_IDENTITY, v);
  if (s && !c->status) *record(c, copy) = *s;
  return copy;
}

void wk_extent_result(wk_onnx_node *c, int i, const wk_size *const *dims) {
  if (c->out[i].kind == WK_BOUND_TENSOR && c->out[i].value != WK_NONE)
    wk_onnx_result(c, i, wk_extent_set(c, c->out[i].value, dims));
}

/* ---- elements -------------------------------------------------------------------------------- */

static bool is_list(const wk_type *t) {
  return t->rank <= 1 && wk_type_count(t) <= LONGEST_LIST;
}

/* Floats are sizes where they are whole numbers that every type of floats holds. */
static bool is_whole(const void *data, wk_dtype t, int64_t i) {
  if (!wk_dtype_is_float(t)) return true;
  double v = wk_load_f64(data, t, i);
  return v >= -2048 && v <= 2048 && v == (double)(int64_t)v;
}

const wk_size *const *wk_extent_elements(wk_onnx_node *c, wk_value_id v, int64_t *n) {
  const wk_sized *s = wk_extent_find(c->im, c->g, v);
  const wk_type *t = wk_onnx_type(c, v);
  *n = v == WK_NONE ? 0 : wk_type_count(t);
  if (v == WK_NONE || c->status) return NULL;
  if (s && s->elements) return s->elements;
  if (!is_list(t) || !wk_is_const(c->g, v) || wk_extent_has_open(c->im, c->g, v)) return NULL;
  const void *data = wk_val(c->g, v)->data;
  const wk_size **list = wk_arena_alloc(c->im->arena, (size_t)*n * sizeof *list);
  for (int64_t i = 0; i < *n; i++) {
    if (!is_whole(data, t->dtype, i)) return NULL;
    bool is_float = wk_dtype_is_float(t->dtype);
    list[i] = wk_size_const(c, is_float ? (int64_t)wk_load_f64(data, t->dtype, i)
                                        : wk_load_i64(data, t->dtype, i));
  }
  return list;
}

void wk_extent_set_elements(wk_onnx_node *c, wk_value_id v, const wk_size *const *elements,
                            int64_t n) {
  if (c->status || v == WK_NONE || wk_is_const(c->g, v) || !is_list(wk_onnx_type(c, v))) return;
  wk_sized *s = record(c, v);
  s->elements = elements;
  s->n = n;
}

const wk_size *const *wk_extent_list(wk_onnx_node *c, int i, const char *what, int64_t *n) {
  *n = 0;
  if (!wk_onnx_valid(c, wk_onnx_has(c, i), "%s is missing", what)) return NULL;
  if (!wk_is_const(c->g, c->in[i])) {
    const wk_size *const *list = wk_extent_elements(c, c->in[i], n);
    if (list) return list;
  }
  if (!wk_onnx_const(c, c->in[i], what)) return NULL; /* computes what only needs constants */
  return wk_extent_elements(c, c->in[i], n);
}

/* ---- filling --------------------------------------------------------------------------------- */

wk_value_id wk_extent_scalar(wk_onnx_node *c, wk_dtype t, wk_fill fill) {
  if (fill == WK_FILL_ZERO || fill == WK_FILL_ONE)
    return wk_make_scalar(c, t, fill == WK_FILL_ONE);
  bool is_least = fill == WK_FILL_LEAST;
  if (wk_dtype_is_float(t)) return wk_make_scalar(c, t, is_least ? -INFINITY : INFINITY);
  void *data;
  const wk_type type = wk_type_make(t, 0, NULL);
  wk_value_id v = wk_make_constant(c, &type, &data);
  bool is_signed = wk_dtype_is_signed(t);
  if (!data) return v;
  memset(data, is_least ? 0 : 0xff, (size_t)wk_dtype_size(t));
  if (t == WK_BOOL) *(uint8_t *)data = !is_least;
  else if (is_signed) ((uint8_t *)data)[wk_dtype_size(t) - 1] = is_least ? 0x80 : 0x7f;
  return v;
}

wk_value_id wk_extent_number(wk_onnx_node *c, int64_t v) {
  return wk_make_scalar(c, WK_I64, (double)v);
}

wk_value_id wk_extent_plus(wk_onnx_node *c, wk_value_id v, const wk_size *size) {
  int64_t known;
  if (wk_size_is_const(size, &known)) return wk_make_add_f(c, v, (double)known);
  return wk_extent_like(c, wk_make_2(c, WK_OP_ADD, v, wk_size_value(c, size)), v);
}

wk_value_id wk_extent_list_of(wk_onnx_node *c, const wk_size *const *sizes, int64_t n) {
  const int64_t one = 1;
  wk_value_id *v = wk_arena_alloc(c->im->arena, (size_t)(n + 1) * sizeof *v);
  for (int64_t i = 0; i < n; i++)
    v[i] = wk_make_reshape(c, wk_size_value(c, sizes[i]), 1, &one);
  wk_value_id list = n ? wk_make_concat(c, v, (int)n, 0) : wk_make_i64s(c, NULL, 0);
  if (n == 1 && !c->status) list = wk_make_1(c, WK_OP_IDENTITY, list);
  wk_extent_set_elements(c, list, sizes, n);
  return list;
}

/* Element 0 or, where they differ, element 1 of an axis of one element. */
wk_value_id wk_extent_gated(wk_onnx_node *c, wk_value_id v, wk_value_id holds, const char *reason) {
  if (c->status) return v;
  const wk_size *dims[WK_MAX_RANK];
  const wk_type t = *wk_onnx_type(c, v);
  const char *name = c->name;
  int64_t with_one[WK_MAX_RANK] = {1};
  if (!wk_onnx_need(c, t.rank < WK_MAX_RANK, "rank %d has no room for a check of sizes", t.rank))
    return v;
  c->name = reason;
  wk_extent_dims(c, v, dims);
  for (int i = 0; i < t.rank; i++) with_one[i + 1] = t.dims[i];
  wk_value_id at = wk_make_where(c, holds, wk_extent_number(c, 0), wk_extent_number(c, 1));
  v = wk_make_gather(c, wk_make_reshape(c, v, t.rank + 1, with_one), at, 0);
  v = wk_extent_set(c, v, dims);
  c->name = name;
  return v;
}

wk_value_id wk_extent_checked(wk_onnx_node *c, wk_value_id v, const wk_size *a, const wk_size *b) {
  if (wk_size_equal(a, b) || c->status) return v;
  if (!wk_onnx_valid(c, wk_size_least(c, wk_size_sub(c, a, b)) <= 0 &&
                     wk_size_most(c, wk_size_sub(c, a, b)) >= 0, "sizes %s and %s differ",
                     wk_size_text(c, a), wk_size_text(c, b))) return v;
  wk_value_id same = wk_make_2(c, WK_OP_EQUAL, wk_size_value(c, a), wk_size_value(c, b));
  return wk_extent_gated(c, v, same, c->name);
}

void wk_extent_even(wk_onnx_node *c, int a, int a_axis, int b, int b_axis) {
  int64_t rooms[] = {wk_onnx_type(c, c->in[a])->dims[a_axis],
                     wk_onnx_type(c, c->in[b])->dims[b_axis]};
  int64_t room = rooms[0] < rooms[1] ? rooms[0] : rooms[1];
  for (int i = 0; i < 2 && wk_onnx_ok(c); i++) {
    const wk_size *dims[WK_MAX_RANK];
    wk_value_id *v = &c->in[i ? b : a];
    if (rooms[i] == room) continue;
    wk_extent_dims(c, *v, dims);
    *v = wk_extent_set(c, wk_make_slice(c, *v, i ? b_axis : a_axis, 0, room, 1), dims);
  }
}

bool wk_extent_match(wk_onnx_node *c, int a, int a_axis, int b, int b_axis) {
  if (!wk_onnx_has(c, a) || !wk_onnx_has(c, b)) return wk_onnx_ok(c);
  if (a_axis >= wk_onnx_type(c, c->in[a])->rank || b_axis >= wk_onnx_type(c, c->in[b])->rank)
    return wk_onnx_ok(c); /* the handler says what is wrong */
  bool is_open = wk_extent_is_open(c, c->in[a], a_axis) || wk_extent_is_open(c, c->in[b], b_axis);
  if (!is_open || !wk_extent_same(c, wk_extent_dim(c, c->in[a], a_axis),
                                  wk_extent_dim(c, c->in[b], b_axis))) return wk_onnx_ok(c);
  wk_extent_even(c, a, a_axis, b, b_axis);
  return wk_onnx_ok(c);
}

bool wk_extent_allow(wk_onnx_node *c, int i, uint32_t axes) {
  for (int k = 0; wk_onnx_has(c, i) && k < wk_onnx_type(c, c->in[i])->rank; k++)
    wk_onnx_need(c, (axes >> k & 1) || !wk_extent_is_open(c, c->in[i], k),
                 "the size of axis %d of %s, %s, is only known at run time", k,
                 wk_val(c->g, c->in[i])->name, wk_size_text(c, wk_extent_dim(c, c->in[i], k)));
  return wk_onnx_ok(c);
}

wk_value_id wk_extent_room(wk_onnx_node *c, wk_value_id v, int axis, int64_t n) {
  const wk_size *dims[WK_MAX_RANK];
  const wk_type t = *wk_onnx_type(c, v);
  if (c->status || t.dims[axis] == n) return v;
  wk_extent_dims(c, v, dims);
  wk_value_id y = v;
  if (t.dims[axis] > n) y = wk_make_slice(c, v, axis, 0, n, 1);
  else {
    int64_t more[WK_MAX_RANK];
    memcpy(more, t.dims, sizeof more);
    more[axis] = n - t.dims[axis];
    wk_value_id zero = wk_extent_scalar(c, t.dtype, WK_FILL_ZERO);
    const wk_value_id parts[] = {v, wk_make_expand(c, zero, t.rank, more)};
    y = wk_make_concat(c, parts, 2, axis);
  }
  if (!wk_extent_is_open(c, v, axis)) dims[axis] = wk_size_const(c, n);
  if (!c->status && wk_extent_has_open(c->im, c->g, v)) wk_extent_declare(c, y, dims);
  return y;
}

wk_value_id wk_extent_below(wk_onnx_node *c, int64_t n, const wk_size *size) {
  return wk_make_2(c, WK_OP_LESS, wk_make_iota(c, n), wk_size_value(c, size));
}

wk_value_id wk_extent_filled(wk_onnx_node *c, wk_value_id x, int axis, wk_value_id fill) {
  if (c->status || !wk_extent_is_open(c, x, axis)) return x;
  const wk_type t = *wk_onnx_type(c, x);
  const wk_size *dims[WK_MAX_RANK];
  wk_extent_dims(c, x, dims);
  wk_value_id below = wk_extent_below(c, t.dims[axis], dims[axis]);
  wk_value_id y = wk_make_where(c, wk_make_along(c, below, axis, t.rank), x, fill);
  return wk_extent_set(c, y, dims);
}

void wk_extent_fill(wk_onnx_node *c, int i, uint32_t axes, wk_fill fill) {
  if (!wk_onnx_has(c, i)) return;
  for (int k = 0; k < wk_onnx_type(c, c->in[i])->rank; k++) {
    if (!(axes >> k & 1) || !wk_extent_is_open(c, c->in[i], k)) continue;
    wk_value_id v = wk_extent_scalar(c, wk_onnx_type(c, c->in[i])->dtype, fill);
    c->in[i] = wk_extent_filled(c, c->in[i], k, v);
    c->bound[i] = wk_bound_tensor(c->in[i]);
  }
}

/* ---- positions ------------------------------------------------------------------------------- */

wk_value_id wk_extent_clamped(wk_onnx_node *c, wk_value_id positions, int64_t n) {
  wk_value_id last = wk_make_scalar(c, WK_I64, (double)(n > 0 ? n - 1 : 0));
  wk_value_id below = wk_make_2(c, WK_OP_MIN, positions, last);
  return wk_make_2(c, WK_OP_MAX, below, wk_make_scalar(c, WK_I64, 0));
}

wk_value_id wk_extent_within(wk_onnx_node *c, wk_value_id positions, const wk_size *size) {
  wk_value_id last = wk_size_value(c, wk_size_plus(c, size, -1));
  wk_value_id below = wk_make_2(c, WK_OP_MIN, positions, last);
  return wk_make_2(c, WK_OP_MAX, below, wk_extent_number(c, 0));
}

wk_value_id wk_extent_count(wk_onnx_node *c, int64_t n, const wk_size *size) {
  int64_t known;
  wk_value_id all = wk_make_iota(c, n);
  return wk_size_is_const(size, &known) ? all : wk_extent_within(c, all, size);
}

static int64_t room(wk_onnx_node *c, const wk_size *size) {
  int64_t most = wk_size_most(c, size);
  return most < 0 ? 0 : most;
}

wk_value_id wk_extent_window(wk_onnx_node *c, wk_value_id x, int axis, const wk_size *start,
                             int64_t step, const wk_size *size) {
  const wk_size *dims[WK_MAX_RANK];
  int64_t first, n = room(c, size), there = wk_onnx_type(c, x)->dims[axis];
  if (c->status) return x;
  wk_extent_dims(c, x, dims);
  dims[axis] = size;
  if (n == 0) return wk_extent_set(c, wk_make_slice(c, x, axis, 0, 0, 1), dims);
  bool is_known = wk_size_is_const(start, &first) && first >= 0 && first < there &&
                  first + (n - 1) * step >= 0 && first + (n - 1) * step < there;
  if (is_known)
    return wk_extent_set(c, wk_make_slice(c, x, axis, first, n, n > 1 ? step : 1), dims);
  if (!wk_onnx_need(c, there > 0, "nothing is there to take from")) return x;
  wk_value_id at = wk_make_2(c, WK_OP_MUL, wk_make_iota(c, n),
                             wk_make_scalar(c, WK_I64, (double)step));
  at = wk_make_2(c, WK_OP_ADD, at, wk_size_value(c, start));
  return wk_extent_set(c, wk_make_gather(c, x, wk_extent_clamped(c, at, there), axis), dims);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

typedef struct {
  const char *domain, *name;
  wk_onnx_handler rule;
} rule_row;

static const rule_row rules[] = {
#define EXTENT(domain, name, rule) {domain, name, wk_extent_##rule},
#include "compiler/onnx/import/extents.def"
#undef EXTENT
};

static wk_onnx_handler rule_of(const wk_onnx_node *c) {
  for (size_t i = 0; i < WK_COUNTOF(rules); i++)
    if (!strcmp(rules[i].domain, c->row->domain) && !strcmp(rules[i].name, c->row->name))
      return rules[i].rule;
  return NULL;
}

/* An operator whose results have sizes that depend on values. */
static bool is_source(const wk_onnx_node *c) {
  static const struct { const char *domain, *name; } sources[] = {
#define EXTENT(domain, name, rule)
#define EXTENT_SOURCE(domain, name, rule) {domain, name},
#include "compiler/onnx/import/extents.def"
#undef EXTENT
  };
  for (size_t i = 0; i < WK_COUNTOF(sources); i++)
    if (!strcmp(c->row->domain, sources[i].domain) && !strcmp(c->row->name, sources[i].name))
      return true;
  return false;
}

bool wk_extent_concerns(const wk_onnx_node *c) {
  if (c->im->opt->purpose != WK_FOR_INFERENCE) return false;
  if (is_source(c)) return true;
  for (int i = 0; i < c->n_in; i++) {
    if (wk_extent_find(c->im, c->g, c->in[i])) return true;
    for (uint32_t k = 0; c->bound[i].kind == WK_BOUND_SEQUENCE && k < c->bound[i].n; k++)
      if (wk_extent_find(c->im, c->g, c->bound[i].items[k])) return true;
  }
  return false;
}

/* An operand, as text, with a size that is only known at run time; NULL: none has one. */
static const char *open_operand(wk_onnx_node *c) {
  for (int i = 0; i < c->n_in; i++) {
    bool is_list = c->bound[i].kind == WK_BOUND_SEQUENCE;
    for (uint32_t k = 0; k < (is_list ? c->bound[i].n : 1); k++) {
      wk_value_id v = is_list ? c->bound[i].items[k] : c->in[i];
      for (int a = 0; v != WK_NONE && a < wk_onnx_type(c, v)->rank; a++)
        if (wk_extent_is_open(c, v, a))
          return wk_arena_printf(c->im->arena, "axis %d of %s (%s, at most %lld)", a,
                                 wk_val(c->g, v)->name, wk_size_text(c, wk_extent_dim(c, v, a)),
                                 (long long)wk_onnx_type(c, v)->dims[a]);
    }
  }
  return NULL;
}

/* What decides the sizes of an operand beside what a run says: with the values of these inputs they
 * are known. */
static void note_deciding(wk_onnx_node *c, wk_value_id v) {
  const wk_sized *s = wk_extent_find(c->im, c->g, v);
  for (int a = 0; s && a < WK_MAX_RANK; a++)
    for (int i = 0; s->dims[a] && i < s->dims[a]->n; i++)
      for (int k = 0; k < s->dims[a]->terms[i].n; k++) {
        const wk_unknown *u = &c->im->extents->unknowns.data[s->dims[a]->terms[i].unknowns[k]];
        if (!u->is_given && u->g == c->g) wk_onnx_note_deciding(c, u->value);
      }
}

/* Lists that are known after all become constants. */
static void settle_list(wk_onnx_node *c, int i) {
  const wk_sized *s = wk_extent_find(c->im, c->g, c->in[i]);
  int64_t v[LONGEST_LIST];
  if (!s || !s->elements) return;
  for (int64_t k = 0; k < s->n; k++)
    if (!wk_size_is_const(s->elements[k], &v[k])) return;
  const wk_type t = *wk_onnx_type(c, c->in[i]);
  c->in[i] = wk_make_cast(c, wk_make_i64s(c, v, s->n), t.dtype);
  if (t.rank == 0) c->in[i] = wk_make_reshape(c, c->in[i], 0, NULL);
  c->bound[i] = wk_bound_tensor(c->in[i]);
}

static wk_status follow(wk_onnx_node *c) {
  wk_onnx_handler rule = rule_of(c);
  for (int i = 0; i < c->n_in; i++) settle_list(c, i);
  if (rule) return rule(c);
  const char *open = open_operand(c);
  if (!open) return c->row->handler(c);
  wk_onnx_need(c, false, "sizes that are only known at run time are not followed through %s: %s",
               c->row->name, open);
  return c->status;
}

wk_status wk_extent_node(wk_onnx_node *c) {
  wk_value_id around = c->im->extents->first_new;
  c->im->extents->first_new = (wk_value_id)c->g->values.n;
  wk_status s = follow(c);
  c->im->extents->first_new = around;
  if (s != c->status) wk_onnx_latch(c, s);
  if (c->status && c->status->code == WK_INPUT && open_operand(c)) /* rooms do not fit, sizes may */
    c->status = wk_status_as(c->status, WK_UNSUPPORTED);
  bool is_refused = c->status && c->status->code == WK_UNSUPPORTED;
  for (int i = 0; is_refused && i < c->n_in; i++) note_deciding(c, c->in[i]);
  return c->status;
}

bool wk_extent_plain(wk_onnx_node *c) {
  if (!wk_onnx_ok(c)) return false;
  wk_status s = c->row->handler(c);
  if (s != c->status) wk_onnx_latch(c, s);
  return wk_onnx_ok(c);
}

wk_status wk_extent_handled(wk_onnx_node *c) { return c->row->handler(c); }

bool wk_extent_same(wk_onnx_node *c, const wk_size *a, const wk_size *b) {
  return wk_size_equal(a, b) ||
         wk_onnx_need(c, false, "sizes %s and %s may differ at run time", wk_size_text(c, a),
                      wk_size_text(c, b));
}

int wk_extent_broadcast(wk_onnx_node *c, const wk_value_id *v, int n, const wk_size **dims) {
  int rank = 0;
  int64_t known;
  for (int i = 0; i < n; i++)
    if (v[i] != WK_NONE && wk_onnx_type(c, v[i])->rank > rank) rank = wk_onnx_type(c, v[i])->rank;
  for (int a = 0; a < rank; a++) {
    dims[a] = wk_size_const(c, 1);
    for (int i = 0; i < n && !c->status; i++) {
      int axis = v[i] == WK_NONE ? -1 : a - (rank - wk_onnx_type(c, v[i])->rank);
      if (axis < 0) continue;
      const wk_size *d = wk_extent_dim(c, v[i], axis);
      if (wk_size_is_const(d, &known) && known == 1) continue;
      if (wk_size_is_const(dims[a], &known) && known == 1) dims[a] = d;
      else wk_extent_same(c, dims[a], d);
    }
  }
  return rank;
}
