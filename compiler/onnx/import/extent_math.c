/* SPDX-License-Identifier: Apache-2.0
 * Rules of operators that compute: element by element, or along axes that are filled with what
 * changes nothing. */
#include <string.h>

#include "compiler/onnx/import/extent.h"

static bool is(const wk_onnx_node *c, const char *name) { return !strcmp(c->row->name, name); }

/* ---- element by element ---------------------------------------------------------------------- */

/* The size that a comparison of sizes is, 0 or 1; NULL: it is not decided. */
static const wk_size *compared(wk_onnx_node *c, const wk_size *a, const wk_size *b) {
  const wk_size *gap = wk_size_sub(c, a, b);
  int64_t least = wk_size_least(c, gap), most = wk_size_most(c, gap);
  int holds = is(c, "Equal")     ? least == 0 && most == 0 ? 1 : least > 0 || most < 0 ? 0 : -1
              : is(c, "Less")    ? most < 0 ? 1 : least >= 0 ? 0 : -1
              : is(c, "Greater") ? least > 0 ? 1 : most <= 0 ? 0 : -1
                                 : -1;
  return holds < 0 ? NULL : wk_size_const(c, holds);
}

static const wk_size *quotient(wk_onnx_node *c, const wk_size *a, const wk_size *b) {
  bool is_whole = wk_dtype_is_int(wk_onnx_type(c, c->in[0])->dtype);
  int64_t x, y;
  if (wk_size_least(c, b) < 1) return NULL;
  if (is_whole) return wk_size_least(c, a) >= 0 ? wk_size_div(c, a, b) : NULL;
  bool known = wk_size_is_const(a, &x) && wk_size_is_const(b, &y) && x % y == 0;
  return known ? wk_size_const(c, x / y) : NULL;
}

static const wk_size *remainder_of(wk_onnx_node *c, const wk_size *a, const wk_size *b) {
  const wk_size *q = quotient(c, a, b);
  return q ? wk_size_sub(c, a, wk_size_mul(c, b, q)) : NULL;
}

static const wk_size *chosen(const wk_size *condition, const wk_size *a, const wk_size *b) {
  int64_t known;
  return wk_size_is_const(condition, &known) ? known ? a : b : NULL;
}

/* The type has all that the size can be. */
static bool holds(wk_onnx_node *c, wk_dtype t, const wk_size *s) {
  int bits = wk_dtype_bits(t);
  int whole = t == WK_BOOL ? 0 : t == WK_F16 ? 11 : t == WK_BF16 ? 8 : t == WK_F32 ? 24
              : t == WK_F64 ? 53 : wk_dtype_is_signed(t) ? bits - 1 : bits;
  int64_t most = whole > 60 ? INT64_MAX : (int64_t)1 << whole;
  bool has_sign = wk_dtype_is_float(t) || wk_dtype_is_signed(t);
  return wk_size_most(c, s) < most && wk_size_least(c, s) > (has_sign ? -most : -1);
}

/* One element of the result; NULL: it is no size that is known. */
static const wk_size *element(wk_onnx_node *c, const wk_size *const *x) {
  if (is(c, "Cast"))
    return holds(c, wk_onnx_dtype(c, "to", WK_I64), x[0]) ? x[0] : NULL;
  if (is(c, "Identity") || is(c, "Floor") || is(c, "Ceil") || is(c, "Round")) return x[0];
  if (is(c, "Neg")) return wk_size_sub(c, wk_size_const(c, 0), x[0]);
  if (is(c, "Where") && c->n_in == 3) return chosen(x[0], x[1], x[2]);
  if (c->n_in != 2) return NULL;
  if (is(c, "Add")) return wk_size_add(c, x[0], x[1]);
  if (is(c, "Sub")) return wk_size_sub(c, x[0], x[1]);
  if (is(c, "Mul")) return wk_size_mul(c, x[0], x[1]);
  if (is(c, "Min")) return wk_size_min(c, x[0], x[1]);
  if (is(c, "Max")) return wk_size_max(c, x[0], x[1]);
  if (is(c, "Div")) return quotient(c, x[0], x[1]);
  if (is(c, "Mod")) return remainder_of(c, x[0], x[1]);
  return compared(c, x[0], x[1]);
}

/* Lists of sizes; NULL: some operand is none, or the result is. */
static const wk_size *const *compute(wk_onnx_node *c, int64_t *n) {
  const wk_size *const *list[3], *x[3];
  int64_t count[3];
  const wk_type *whole = NULL;
  *n = 1;
  if (c->n_in > 3) return NULL;
  for (int i = 0; i < c->n_in; i++) {
    list[i] = wk_extent_elements(c, c->in[i], &count[i]);
    if (!list[i]) return NULL;
    if (count[i] == 1) continue;
    if (whole && !wk_shape_equal(whole, wk_onnx_type(c, c->in[i]))) return NULL;
    whole = wk_onnx_type(c, c->in[i]);
    *n = count[i];
  }
  const wk_size **out = wk_arena_alloc(c->im->arena, (size_t)*n * sizeof *out);
  for (int64_t k = 0; k < *n; k++) {
    for (int i = 0; i < c->n_in; i++) x[i] = list[i][count[i] == 1 ? 0 : k];
    out[k] = element(c, x);
    if (!out[k]) return NULL;
  }
  return out;
}

/* Operands that have the same size of an axis of the result have room for the same number. */
static void even_out(wk_onnx_node *c, int rank) {
  for (int a = 0; a < rank; a++)
    for (int round = 0; round < 2; round++) /* the first takes the least room, the others that */
      for (int i = 0, first = -1, of = 0; i < c->n_in && wk_onnx_ok(c); i++) {
        int axis = c->in[i] == WK_NONE ? -1 : a - (rank - wk_onnx_type(c, c->in[i])->rank);
        if (axis < 0 || !wk_extent_is_open(c, c->in[i], axis)) continue;
        if (first >= 0) wk_extent_even(c, first, of, i, axis);
        else first = i, of = axis;
      }
}

/* Open sizes that meet in an axis of the result are the same, or the run fails. */
static void meet(wk_onnx_node *c, int rank) {
  for (int a = 0; a < rank; a++) {
    const wk_size *first = NULL;
    for (int i = 0; i < c->n_in && wk_onnx_ok(c); i++) {
      int axis = c->in[i] == WK_NONE ? -1 : a - (rank - wk_onnx_type(c, c->in[i])->rank);
      if (axis < 0 || !wk_extent_is_open(c, c->in[i], axis)) continue;
      if (first) wk_extent_meet(c, &c->in[i], axis, first);
      else first = wk_extent_dim(c, c->in[i], axis);
    }
  }
}

static int widest(const wk_onnx_node *c) {
  int rank = 0;
  for (int i = 0; i < c->n_in; i++)
    if (c->in[i] != WK_NONE && wk_onnx_type(c, c->in[i])->rank > rank)
      rank = wk_onnx_type(c, c->in[i])->rank;
  return rank;
}

wk_status wk_extent_elementwise(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK];
  int64_t n;
  const wk_size *const *elements = compute(c, &n);
  meet(c, widest(c));
  int rank = wk_extent_broadcast(c, c->in, c->n_in, dims);
  if (wk_onnx_ok(c)) even_out(c, rank);
  const wk_real *reals = elements ? NULL : wk_extent_reals(c, &n);
  if (!wk_extent_plain(c)) return c->status;
  wk_extent_result(c, 0, dims);
  if (elements) wk_extent_set_elements(c, c->out[0].value, elements, n);
  if (reals) wk_extent_set_reals(c, c->out[0].value, reals, n);
  return c->status;
}

/* ---- results like the first operand ---------------------------------------------------------- */

static wk_status keep_dims(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK];
  int rank = wk_onnx_type(c, c->in[0])->rank;
  wk_extent_dims(c, c->in[0], dims);
  if (!wk_extent_plain(c)) return c->status;
  for (int i = 0; i < c->n_out; i++)
    if (c->out[i].value != WK_NONE && wk_onnx_type(c, c->out[i].value)->rank == rank)
      wk_extent_result(c, i, dims);
  return c->status;
}

/* Axes from `from` on have known sizes. */
static bool needs_known(wk_onnx_node *c, int from, const char *why) {
  for (int i = from; i < wk_onnx_type(c, c->in[0])->rank; i++)
    if (!wk_onnx_need(c, !wk_extent_is_open(c, c->in[0], i),
                      "%s: the size of axis %d, %s, is only known at run time", why, i,
                      wk_size_text(c, wk_extent_dim(c, c->in[0], i)))) return false;
  return true;
}

wk_status wk_extent_alike(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK];
  int rank = wk_onnx_type(c, c->in[0])->rank;
  wk_extent_dims(c, c->in[0], dims);
  for (int i = 1; i < c->n_in; i++)
    wk_onnx_need(c, !wk_extent_has_open(c->im, c->g, c->in[i]),
                 "operand %d has a size that is only known at run time", i);
  if (!wk_extent_plain(c)) return c->status;
  wk_extent_result(c, 0, dims);
  if (is(c, "Dropout") && c->n_out > 1 && c->out[1].value != WK_NONE &&
      wk_onnx_type(c, c->out[1].value)->rank == rank)
    wk_extent_result(c, 1, dims);
  return c->status;
}

wk_status wk_extent_batch_norm(wk_onnx_node *c) {
  wk_onnx_need(c, c->opset < 14 || !wk_onnx_int(c, "training_mode", 0),
               "the mean of a batch whose size is only known at run time");
  return wk_onnx_ok(c) ? wk_extent_alike(c) : c->status;
}

wk_status wk_extent_image_norm(wk_onnx_node *c) {
  return needs_known(c, 1, "it folds each image") ? keep_dims(c) : c->status;
}

wk_status wk_extent_layer_norm(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  int axis = (int)wk_onnx_axis(c, wk_onnx_int(c, "axis", -1), rank);
  const wk_size *dims[WK_MAX_RANK];
  if (!wk_onnx_ok(c) || !needs_known(c, axis, "it folds each row")) return c->status;
  wk_extent_dims(c, c->in[0], dims);
  for (int i = 1; i < c->n_in; i++) { /* skips */
    if (!wk_extent_has_open(c->im, c->g, c->in[i])) continue;
    int off = rank - wk_onnx_type(c, c->in[i])->rank;
    for (int a = 0; a + off < rank && off >= 0 && wk_onnx_ok(c); a++)
      if (wk_extent_same(c, dims[a + off], wk_extent_dim(c, c->in[i], a)))
        wk_extent_even(c, 0, a + off, i, a);
  }
  if (!wk_onnx_ok(c)) return c->status;
  if (!wk_extent_plain(c)) return c->status;
  for (int i = 0; i < c->n_out; i++) {
    if (c->out[i].value == WK_NONE) continue;
    const wk_size *own[WK_MAX_RANK];
    const wk_type t = *wk_onnx_type(c, c->out[i].value);
    for (int k = 0; k < t.rank; k++)
      own[k] = k < axis ? dims[k] : wk_size_const(c, t.dims[k]);
    if (t.rank == rank) wk_extent_result(c, i, own);
  }
  return c->status;
}

/* Words that are none are word 0, which the mask does not show. */
wk_status wk_extent_embed(wk_onnx_node *c) {
  enum { IDS, SEGMENTS, MASK = 7, POSITIONS };
  static const int by_word[] = {IDS, SEGMENTS, MASK, POSITIONS};
  for (int i = 0; i < c->n_in; i++) {
    bool has_words = i == IDS || i == SEGMENTS || i == MASK || i == POSITIONS;
    wk_extent_allow(c, i, has_words ? 3u : 0);
  }
  for (size_t i = 1; i < WK_COUNTOF(by_word); i++) {
    bool is_one = by_word[i] == POSITIONS && wk_onnx_has(c, POSITIONS) &&
                  wk_onnx_type(c, c->in[POSITIONS])->dims[0] == 1;
    if (!is_one) wk_extent_match(c, IDS, 0, by_word[i], 0);
    wk_extent_match(c, IDS, 1, by_word[i], 1);
  }
  for (size_t i = 0; i < WK_COUNTOF(by_word); i++)
    wk_extent_fill(c, by_word[i], 3u, WK_FILL_ZERO);
  if (!wk_onnx_ok(c)) return c->status;
  const wk_size *dims[WK_MAX_RANK] = {wk_extent_dim(c, c->in[IDS], 0),
                                      wk_extent_dim(c, c->in[IDS], 1)};
  if (!wk_extent_plain(c)) return c->status;
  dims[2] = wk_size_const(c, wk_onnx_type(c, c->out[0].value)->dims[2]);
  for (int i = 0; i < c->n_out; i++) wk_extent_result(c, i, dims);
  return c->status;
}

static int axis_of(wk_onnx_node *c, int64_t otherwise) {
  return (int)wk_onnx_axis(c, wk_onnx_int(c, "axis", otherwise),
                           wk_onnx_type(c, c->in[0])->rank);
}

wk_status wk_extent_axis_zeros(wk_onnx_node *c) {
  wk_extent_fill(c, 0, 1u << axis_of(c, -1), WK_FILL_ZERO);
  return keep_dims(c);
}

/* Before opset 13 all axes from `axis` on were one. */
wk_status wk_extent_softmax(wk_onnx_node *c) {
  int axis = axis_of(c, c->opset >= 13 ? -1 : 1), rank = wk_onnx_type(c, c->in[0])->rank;
  if (c->opset < 13 && axis + 1 < rank && !needs_known(c, axis, "all of its axes are one"))
    return c->status;
  wk_extent_fill(c, 0, 1u << axis, WK_FILL_LEAST);
  return keep_dims(c);
}

wk_status wk_extent_cum_sum(wk_onnx_node *c) {
  int64_t axis = wk_onnx_has(c, 1) ? wk_onnx_const_int(c, c->in[1], "the axis") : 0;
  axis = wk_onnx_axis(c, axis, wk_onnx_type(c, c->in[0])->rank);
  if (wk_onnx_ok(c)) wk_extent_fill(c, 0, 1u << axis, WK_FILL_ZERO);
  return keep_dims(c);
}

/* The range always has 0 in it. */
wk_status wk_extent_dynamic_quantize(wk_onnx_node *c) {
  wk_extent_fill(c, 0, UINT32_MAX, WK_FILL_ZERO);
  return keep_dims(c);
}

/* ---- folding --------------------------------------------------------------------------------- */

/* Bits of the axes that a reduction folds; all where none are given, unless that says: nothing. */
static uint32_t folded_axes(wk_onnx_node *c) {
  bool is_sum = is(c, "ReduceSum");
  wk_ints axes = wk_onnx_ints_input(c, is_sum ? 13 : 18, 1, "axes");
  int rank = wk_onnx_type(c, c->in[0])->rank;
  uint32_t all = (1u << rank) - 1, bits = 0;
  if (axes.n <= 0) return wk_onnx_int(c, "noop_with_empty_axes", 0) ? 0 : all;
  for (int64_t i = 0; i < axes.n && wk_onnx_ok(c); i++)
    bits |= 1u << wk_onnx_axis(c, axes.v[i], rank);
  return bits;
}

/* Of a result that folds these axes. */
static void set_folded(wk_onnx_node *c, uint32_t axes, const wk_size *const *x, int rank,
                       bool keeps) {
  const wk_size *dims[WK_MAX_RANK];
  int n = 0;
  for (int i = 0; i < rank; i++) {
    if (!(axes >> i & 1)) dims[n++] = x[i];
    else if (keeps) dims[n++] = wk_size_const(c, 1);
  }
  wk_extent_result(c, 0, dims);
}

/* The product, sum, least or largest of a list of sizes. */
static bool fold_elements(wk_onnx_node *c) {
  int64_t n;
  const wk_size *const *list = wk_extent_elements(c, c->in[0], &n);
  const wk_size *(*join)(wk_onnx_node *, const wk_size *, const wk_size *) =
      is(c, "ReduceProd") ? wk_size_mul : is(c, "ReduceSum") ? wk_size_add
      : is(c, "ReduceMin") ? wk_size_min : is(c, "ReduceMax") ? wk_size_max : NULL;
  if (!list || !join || n == 0 || wk_onnx_type(c, c->in[0])->rank != 1 || folded_axes(c) != 1)
    return false;
  const wk_size **all = wk_arena_alloc(c->im->arena, sizeof *all);
  *all = list[0];
  for (int64_t i = 1; i < n; i++) *all = join(c, *all, list[i]);
  if (wk_extent_plain(c)) wk_extent_set_elements(c, c->out[0].value, all, 1);
  return true;
}

static wk_status fold(wk_onnx_node *c, wk_fill fill) {
  const wk_size *x[WK_MAX_RANK];
  int rank = wk_onnx_type(c, c->in[0])->rank;
  uint32_t axes = folded_axes(c);
  if (!wk_onnx_ok(c)) return c->status;
  wk_extent_dims(c, c->in[0], x);
  wk_extent_fill(c, 0, axes, fill);
  if (wk_extent_plain(c)) set_folded(c, axes, x, rank, wk_onnx_int(c, "keepdims", 1));
  return c->status;
}

wk_status wk_extent_reduce(wk_onnx_node *c) {
  if (fold_elements(c)) return c->status;
  return fold(c, is(c, "ReduceProd")                               ? WK_FILL_ONE
                 : is(c, "ReduceMax") || is(c, "ReduceLogSumExp") ? WK_FILL_LEAST
                 : is(c, "ReduceMin")                              ? WK_FILL_MOST
                                                                   : WK_FILL_ZERO);
}

/* The sum over these axes by the number of elements that there are. */
static wk_value_id mean(wk_onnx_node *c, uint32_t axes, bool keeps) {
  const wk_size *count = wk_size_const(c, 1);
  int64_t list[WK_MAX_RANK], n = 0;
  wk_dtype t = wk_onnx_type(c, c->in[0])->dtype;
  for (int i = 0; i < wk_onnx_type(c, c->in[0])->rank; i++) {
    if (!(axes >> i & 1)) continue;
    count = wk_size_mul(c, count, wk_extent_dim(c, c->in[0], i));
    list[n++] = i;
  }
  wk_extent_fill(c, 0, axes, WK_FILL_ZERO);
  wk_ints over = wk_ints_dup(c->im->m->arena, list, n);
  wk_dtype wide = wk_compute_dtype(t);
  wk_value_id x = wk_make_cast(c, c->in[0], wide);
  wk_value_id sum = wk_make_reduce(c, WK_OP_REDUCE_SUM, x, over, keeps);
  wk_value_id by = wk_make_cast(c, wk_size_value(c, count), wide);
  return wk_make_cast(c, wk_make_2(c, WK_OP_DIV, sum, by), t);
}

static uint32_t open_axes(const wk_onnx_node *c, wk_value_id v) {
  uint32_t bits = 0;
  for (int i = 0; i < wk_onnx_type(c, v)->rank; i++)
    if (wk_extent_is_open(c, v, i)) bits |= 1u << i;
  return bits;
}

static wk_status fold_mean(wk_onnx_node *c, uint32_t axes, bool keeps) {
  const wk_size *x[WK_MAX_RANK];
  int rank = wk_onnx_type(c, c->in[0])->rank;
  if (!wk_onnx_ok(c)) return c->status;
  wk_extent_dims(c, c->in[0], x);
  if (!(axes & open_axes(c, c->in[0]))) {
    if (!wk_extent_plain(c)) return c->status;
  } else {
    wk_onnx_result(c, 0, mean(c, axes, keeps));
  }
  set_folded(c, axes, x, rank, keeps);
  return c->status;
}

wk_status wk_extent_reduce_mean(wk_onnx_node *c) {
  return fold_mean(c, folded_axes(c), wk_onnx_int(c, "keepdims", 1) != 0);
}

static uint32_t image_axes(const wk_onnx_node *c) {
  return ((1u << wk_onnx_type(c, c->in[0])->rank) - 1) & ~3u;
}

wk_status wk_extent_global_mean(wk_onnx_node *c) { return fold_mean(c, image_axes(c), true); }

wk_status wk_extent_global_max(wk_onnx_node *c) {
  const wk_size *x[WK_MAX_RANK];
  wk_extent_dims(c, c->in[0], x);
  wk_extent_fill(c, 0, image_axes(c), WK_FILL_LEAST);
  if (wk_extent_plain(c))
    set_folded(c, image_axes(c), x, wk_onnx_type(c, c->in[0])->rank, true);
  return c->status;
}

/* Of equal elements the last one is asked for: what is filled must not be equal. */
wk_status wk_extent_arg_reduce(wk_onnx_node *c) {
  const wk_size *x[WK_MAX_RANK];
  int axis = axis_of(c, 0), rank = wk_onnx_type(c, c->in[0])->rank;
  if (!wk_onnx_ok(c)) return c->status;
  bool may_pass = wk_extent_is_open(c, c->in[0], axis) && wk_onnx_int(c, "select_last_index", 0);
  wk_extent_dims(c, c->in[0], x);
  wk_extent_fill(c, 0, 1u << axis, is(c, "ArgMax") ? WK_FILL_LEAST : WK_FILL_MOST);
  if (!wk_extent_plain(c)) return c->status;
  if (may_pass) /* all are as what is beyond them */
    wk_onnx_result(c, 0, wk_extent_within(c, c->out[0].value, x[axis]));
  set_folded(c, 1u << axis, x, rank, wk_onnx_int(c, "keepdims", 1));
  return c->status;
}
