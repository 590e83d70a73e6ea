/* SPDX-License-Identifier: Apache-2.0
 * Every draw adds a node or a few to the graph; what inference refuses is forgotten. Bodies are
 * drawn like graphs, from values that they capture; where an output must have a given type and no
 * value has it, one is made. */
#include "tests/random_middle.h"
#include "tests/random_window.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ELEMENTS 240 /* of an operand that an operator enlarges */
#define MAX_DEPTH 3

typedef struct {
  wk_graph *g;
  wk_arena *a;
  wk_rng *rng;
  wk_dtype real;
  int depth;
  WK_VEC(wk_value_id) v; /* what may be drawn */
} maker;

/* ---- numbers and values ---------------------------------------------------------------------- */

static int64_t pick(maker *k, int64_t lo, int64_t hi) { return wk_rng_range(k->rng, lo, hi); }
static bool chance(maker *k, int percent) { return pick(k, 1, 100) <= percent; }
static const wk_type *type_of(const maker *k, wk_value_id v) { return &wk_val(k->g, v)->type; }

static int64_t a_dim(maker *k) {
  static const int64_t dims[] = {1, 1, 2, 2, 3, 3, 4, 5};
  return chance(k, 2) ? 0 : dims[pick(k, 0, 7)];
}

static wk_type a_type(maker *k, wk_dtype t, int least, int most) {
  wk_type y = {.dtype = t, .rank = (int)pick(k, least, most)};
  for (int i = 0; i < y.rank; i++) y.dims[i] = a_dim(k);
  while (wk_type_count(&y) > MAX_ELEMENTS) y.dims[pick(k, 0, y.rank - 1)] = 1;
  return y;
}

static void fill(wk_rng *rng, wk_tensor *t, int64_t lo, int64_t hi) {
  for (int64_t i = 0; i < wk_type_count(&t->type); i++) {
    if (wk_dtype_is_float(t->type.dtype))
      wk_store_f64(t->data, t->type.dtype, i, 3 * wk_rng_unit(rng) - 1.5);
    else wk_store_i64(t->data, t->type.dtype, i, wk_rng_range(rng, lo, hi));
  }
}

static wk_value_id keep(maker *k, wk_value_id v) {
  if (v != WK_NONE) wk_vec_push(&k->v, v);
  return v;
}

static wk_value_id constant(maker *k, const wk_type *t, int64_t lo, int64_t hi) {
  wk_value_id v;
  wk_tensor x = {*t, NULL};
  if (wk_graph_constant_alloc(k->g, NULL, t, &v, &x.data)) abort();
  fill(k->rng, &x, lo, hi);
  return v;
}

/* An input of the main graph; bodies have none of their own but what they capture. */
static wk_value_id fresh(maker *k, const wk_type *t) {
  if (k->depth == 0 && chance(k, 60)) return keep(k, wk_graph_input(k->g, NULL, t));
  return keep(k, constant(k, t, 0, 3));
}

/* A drawn value that suits, the later the likelier; WK_NONE when there is none. */
static wk_value_id some(maker *k, wk_dtype t, int least, int most, int64_t max_count) {
  for (int tries = 0; tries < 24 && k->v.n; tries++) {
    size_t back = (size_t)pick(k, 0, chance(k, 50) ? 5 : (int64_t)k->v.n - 1);
    wk_value_id v = k->v.data[k->v.n - 1 - (back < k->v.n ? back : 0)];
    const wk_type *y = type_of(k, v);
    if (y->dtype == t && y->rank >= least && y->rank <= most && wk_type_count(y) <= max_count)
      return v;
  }
  return WK_NONE;
}

static wk_value_id real(maker *k, int least, int most) {
  wk_value_id v = some(k, k->real, least, most, MAX_ELEMENTS);
  if (v != WK_NONE && chance(k, 95)) return v;
  wk_type t = a_type(k, k->real, least, most);
  return fresh(k, &t);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

#define NEW(op, OP) wk_attr_##op *a = wk_attrs_new(k->a, WK_OP_##OP)

static bool node(maker *k, wk_op op, void *attrs, const wk_value_id *in, uint32_t n_in,
                 uint32_t n_out, wk_value_id *out) {
  wk_value_id local[8];
  static const char *const unwanted[] = {"", NULL, "", NULL};
  for (uint32_t i = 0; i < n_in; i++)
    if (in[i] == WK_NONE && op != WK_OP_LOOP && op != WK_OP_CONV && op != WK_OP_MATMUL)
      return false;
  if (!out) out = local;
  wk_node_desc d = {.op = op, .name = wk_op_get(op)->name, .attrs = attrs, .in = in, .n_in = n_in,
                    .n_out = n_out};
  if (op == WK_OP_SPLIT && n_out <= 3 && n_out > 1 && chance(k, 10))
    d.out_names = unwanted + pick(k, 0, 1);
  wk_status s = wk_graph_add(k->g, &d, out);
  if (s) {
    wk_status_free(s);
    return false;
  }
  const wk_node *n = wk_nod(k->g, (wk_node_id)k->g->nodes.n - 1);
  for (uint32_t i = 0; i < n->n_out; i++) keep(k, n->out[i]);
  return true;
}

static wk_value_id unary(maker *k, wk_op op, wk_value_id x) {
  wk_value_id y;
  return node(k, op, NULL, &x, 1, 1, &y) ? y : WK_NONE;
}

static wk_value_id binary(maker *k, wk_op op, wk_value_id x, wk_value_id z) {
  wk_value_id in[] = {x, z}, y;
  return node(k, op, NULL, in, 2, 1, &y) ? y : WK_NONE;
}

static const int64_t *list(maker *k, int n, int64_t lo, int64_t hi) {
  int64_t *v = wk_arena_alloc(k->a, (size_t)(n + 1) * sizeof *v);
  for (int i = 0; i < n; i++) v[i] = pick(k, lo, hi);
  return v;
}

static wk_ints ints(maker *k, int n, int64_t lo, int64_t hi) {
  return (wk_ints){n, list(k, n, lo, hi)};
}

/* Something that broadcasts against x: some axes 1, leading ones missing. */
static wk_value_id beside(maker *k, wk_value_id x) {
  if (chance(k, 40)) {
    wk_value_id v = some(k, type_of(k, x)->dtype, 0, 8, MAX_ELEMENTS);
    if (v != WK_NONE) return v;
  }
  wk_type t = *type_of(k, x);
  int skip = (int)pick(k, 0, t.rank);
  if (chance(k, 50)) skip = 0;
  wk_type y = wk_type_make(t.dtype, t.rank - skip, t.dims + skip);
  for (int i = 0; i < y.rank; i++)
    if (chance(k, 25)) y.dims[i] = 1;
  return fresh(k, &y);
}

static void draw_elementwise(maker *k) {
  static const wk_op one[] = {WK_OP_RELU, WK_OP_TANH, WK_OP_NEG, WK_OP_ABS, WK_OP_SIGMOID,
                              WK_OP_IDENTITY};
  static const wk_op two[] = {WK_OP_ADD, WK_OP_SUB, WK_OP_MUL, WK_OP_MAX, WK_OP_MIN};
  wk_value_id x = real(k, 0, 8), y = WK_NONE;
  if (chance(k, 40)) unary(k, one[pick(k, 0, 5)], x);
  else y = binary(k, two[pick(k, 0, 4)], x, beside(k, x));
  if (y != WK_NONE && chance(k, 30)) unary(k, WK_OP_TANH, y);
}

static void draw_where(maker *k) {
  wk_value_id x = real(k, 0, 5);
  wk_type t = *type_of(k, x);
  t.dtype = WK_BOOL;
  for (int i = 0; i < t.rank; i++)
    if (chance(k, 30)) t.dims[i] = 1;
  wk_value_id in[] = {constant(k, &t, 0, 1), x, beside(k, x)};
  node(k, WK_OP_WHERE, NULL, in, 3, 1, NULL);
}

/* ---- movement -------------------------------------------------------------------------------- */

static void draw_reshape(maker *k) {
  wk_value_id x = real(k, 0, 8);
  int64_t left = wk_type_count(type_of(k, x)), dims[WK_MAX_RANK];
  int n = 0;
  for (int64_t d = 2; left > 1 && n < 7; d++)
    while (left % d == 0 && n < 7) {
      if (n && chance(k, 40)) dims[n - 1] *= d;
      else dims[n++] = d;
      left /= d;
    }
  if (left != 1) dims[n++] = left;
  while (n < 7 && chance(k, 25)) dims[n++] = 1;
  for (int i = n - 1; i > 0; i--) { /* shuffle */
    int64_t at = pick(k, 0, i), d = dims[i];
    dims[i] = dims[at];
    dims[at] = d;
  }
  NEW(reshape, RESHAPE);
  a->shape = wk_ints_dup(k->a, dims, n);
  node(k, WK_OP_RESHAPE, a, &x, 1, 1, NULL);
}

static wk_value_id draw_transpose(maker *k) {
  wk_value_id x = real(k, 1, 8), y;
  int rank = type_of(k, x)->rank;
  int64_t perm[WK_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    int64_t at = pick(k, 0, i);
    perm[i] = perm[at];
    perm[at] = i;
  }
  NEW(transpose, TRANSPOSE);
  a->perm = wk_ints_dup(k->a, perm, rank);
  return node(k, WK_OP_TRANSPOSE, a, &x, 1, 1, &y) ? y : WK_NONE;
}

static void draw_slice(maker *k) {
  wk_value_id x = real(k, 1, 8);
  wk_type t = *type_of(k, x);
  int64_t starts[WK_MAX_RANK], sizes[WK_MAX_RANK], steps[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) {
    starts[i] = 0, sizes[i] = t.dims[i], steps[i] = 1;
    if (t.dims[i] == 0 || chance(k, 40)) continue;
    steps[i] = chance(k, 70) ? 1 : chance(k, 60) ? -1 : chance(k, 50) ? 2 : -2;
    starts[i] = pick(k, 0, t.dims[i] - 1);
    int64_t most = steps[i] > 0 ? (t.dims[i] - 1 - starts[i]) / steps[i] : starts[i] / -steps[i];
    sizes[i] = pick(k, chance(k, 5) ? 0 : 1, most + 1);
  }
  NEW(slice, SLICE);
  a->starts = wk_ints_dup(k->a, starts, t.rank);
  a->sizes = wk_ints_dup(k->a, sizes, t.rank);
  a->steps = wk_ints_dup(k->a, steps, t.rank);
  node(k, WK_OP_SLICE, a, &x, 1, 1, NULL);
}

static void draw_split(maker *k) {
  wk_value_id x = real(k, 1, 8);
  wk_type t = *type_of(k, x);
  int64_t sizes[4], axis = pick(k, 0, t.rank - 1), left = t.dims[axis];
  int n = (int)pick(k, 1, 4);
  for (int i = 0; i < n; i++) {
    sizes[i] = i == n - 1 ? left : pick(k, 0, left);
    left -= sizes[i];
  }
  NEW(split, SPLIT);
  a->axis = axis;
  a->sizes = wk_ints_dup(k->a, sizes, n);
  node(k, WK_OP_SPLIT, a, &x, 1, (uint32_t)n, NULL);
}

/* Pieces that agree with x except along the axis: x again, a slice of it, other values, new ones.
 */
static wk_value_id piece_like(maker *k, wk_value_id x, int64_t axis) {
  const wk_type t = *type_of(k, x);
  if (chance(k, 25)) return x;
  for (size_t i = k->v.n; i-- > 0 && chance(k, 85);) {
    const wk_type *y = type_of(k, k->v.data[i]);
    bool fits = y->dtype == t.dtype && y->rank == t.rank && wk_type_count(y) <= MAX_ELEMENTS;
    for (int d = 0; fits && d < t.rank; d++) fits = d == axis || y->dims[d] == t.dims[d];
    if (fits && chance(k, 70)) return k->v.data[i];
  }
  wk_type y = t;
  y.dims[axis] = a_dim(k);
  wk_value_id v = fresh(k, &y);
  return chance(k, 50) ? unary(k, WK_OP_TANH, v) : v;
}

static void draw_concat(maker *k) {
  wk_value_id in[4];
  uint32_t n = (uint32_t)pick(k, 1, 4);
  in[0] = real(k, 1, 8);
  NEW(concat, CONCAT);
  a->axis = pick(k, 0, type_of(k, in[0])->rank - 1);
  for (uint32_t i = 1; i < n; i++) in[i] = piece_like(k, in[0], a->axis);
  node(k, WK_OP_CONCAT, a, in, n, 1, NULL);
}

static void draw_expand(maker *k) {
  wk_value_id x = some(k, k->real, 0, 7, 40);
  if (x == WK_NONE) return;
  wk_type t = *type_of(k, x);
  int64_t shape[WK_MAX_RANK];
  int lead = (int)pick(k, 0, t.rank > 6 ? 0 : 2);
  for (int i = 0; i < lead; i++) shape[i] = pick(k, 1, 3);
  for (int i = 0; i < t.rank; i++) shape[lead + i] = t.dims[i] == 1 ? pick(k, 1, 3) : t.dims[i];
  NEW(expand, EXPAND);
  a->shape = wk_ints_dup(k->a, shape, lead + t.rank);
  node(k, WK_OP_EXPAND, a, &x, 1, 1, NULL);
}

static void draw_tile(maker *k) {
  wk_value_id x = some(k, k->real, 0, 8, 40);
  if (x == WK_NONE) return;
  NEW(tile, TILE);
  a->repeats = ints(k, type_of(k, x)->rank, 1, 2);
  node(k, WK_OP_TILE, a, &x, 1, 1, NULL);
}

static void draw_pad(maker *k) {
  static const char *const modes[] = {
      "constant", "constant", "constant", "reflect", "edge", "wrap"};
  wk_value_id in[2] = {some(k, k->real, 0, 5, 100), WK_NONE};
  if (in[0] == WK_NONE) return;
  int rank = type_of(k, in[0])->rank;
  wk_type scalar = {.dtype = k->real};
  int64_t least = chance(k, 25) ? -2 : 0;
  NEW(pad, PAD);
  a->mode = modes[pick(k, 0, 5)];
  a->before = ints(k, rank, least, 2);
  a->after = ints(k, rank, least, 2);
  bool with_fill = chance(k, 40);
  if (with_fill) {
    in[1] = some(k, k->real, 0, 0, 1);
    if (in[1] == WK_NONE) in[1] = fresh(k, &scalar);
  }
  node(k, WK_OP_PAD, a, in, with_fill ? 2 : 1, 1, NULL);
}

/* ---- computing ------------------------------------------------------------------------------- */

/* Epilogue max(acc + bias + extra, 0) or without the extra. */
static const wk_expr *epilogue(maker *k, bool extra) {
  wk_expr_builder *b = wk_expr_begin(k->a);
  uint16_t x = wk_expr_input(b, 0, k->real);
  if (extra) x = wk_expr_2(b, WK_EX_ADD, x, wk_expr_input(b, 1, k->real));
  x = wk_expr_1(b, WK_EX_TANH, x);
  return wk_expr_finish(b, &x, 1);
}

/* The operands from 2 on: bias, and a residual of y's type in the epilogue. */
static uint32_t finish_contraction(maker *k, wk_value_id *in, int64_t channels, const wk_type *y,
                                   const wk_expr **e) {
  wk_type bias = wk_type_make(k->real, 1, &channels);
  in[2] = chance(k, 50) ? constant(k, &bias, 0, 0) : WK_NONE;
  if (chance(k, 40)) {
    *e = epilogue(k, false);
    return in[2] == WK_NONE ? 2 : 3;
  }
  for (size_t i = k->v.n; i-- > 0;) {
    const wk_type *t = type_of(k, k->v.data[i]);
    if (t->dtype != y->dtype || !wk_shape_equal(t, y)) continue;
    in[3] = k->v.data[i];
    *e = epilogue(k, true);
    return 4;
  }
  return in[2] == WK_NONE ? 2 : 3;
}

static void draw_conv(maker *k) {
  wk_value_id in[4] = {real(k, 3, 5)};
  wk_type x = *type_of(k, in[0]), w = x, y;
  int sp = x.rank - 2;
  NEW(conv, CONV);
  a->group = chance(k, 20) ? x.dims[1] : 1;
  if (wk_type_count(&x) == 0) return;
  random_window win = random_window_draw(k->rng, sp, x.dims + 2, 3, false);
  w.dims[0] = a->group * pick(k, 1, 3);
  w.dims[1] = x.dims[1] / a->group;
  for (int i = 0; i < sp; i++) w.dims[2 + i] = win.kernel[i];
  in[1] = constant(k, &w, 0, 0);
  a->strides = wk_ints_dup(k->a, win.strides, sp);
  a->dilations = wk_ints_dup(k->a, win.dilations, sp);
  a->pads = wk_ints_dup(k->a, win.pads, 2 * sp);
  const wk_type *types[] = {&x, &w};
  wk_infer q = {.graph = k->g, .op = WK_OP_CONV, .attrs = a, .in = types, .n_in = 2, .n_out = 1,
                .out = &y};
  wk_status s = wk_infer_node(&q);
  if (s) {
    wk_status_free(s);
    return;
  }
  uint32_t n = finish_contraction(k, in, w.dims[0], &y, &a->epilogue);
  node(k, WK_OP_CONV, a, in, n, 1, NULL);
}

static void draw_matmul(maker *k) {
  wk_value_id in[4] = {real(k, 2, 5)};
  wk_type x = *type_of(k, in[0]), w = x;
  int batch = chance(k, 50) ? 0 : x.rank - 2;
  w.rank = batch + 2;
  for (int i = 0; i < batch; i++) w.dims[i] = chance(k, 30) ? 1 : x.dims[i];
  w.dims[batch] = x.dims[x.rank - 1];
  w.dims[batch + 1] = a_dim(k);
  for (int i = w.rank; i < WK_MAX_RANK; i++) w.dims[i] = 0;
  in[1] = fresh(k, &w);
  wk_type y = x;
  y.dims[y.rank - 1] = w.dims[batch + 1];
  NEW(matmul, MATMUL);
  uint32_t n = finish_contraction(k, in, w.dims[batch + 1], &y, &a->epilogue);
  node(k, WK_OP_MATMUL, a, in, n, 1, NULL);
}

static void draw_pool(maker *k) {
  wk_value_id x = real(k, 3, 5);
  int sp = type_of(k, x)->rank - 2;
  if (wk_type_count(type_of(k, x)) == 0) return;
  random_window win = random_window_draw(k->rng, sp, type_of(k, x)->dims + 2, 3, true);
  if (chance(k, 50)) {
    NEW(avg_pool, AVG_POOL);
    a->kernel = wk_ints_dup(k->a, win.kernel, sp);
    a->strides = wk_ints_dup(k->a, win.strides, sp);
    a->pads = wk_ints_dup(k->a, win.pads, 2 * sp);
    a->real_pads = chance(k, 50) ? a->pads : wk_ints_fill(k->a, 2 * sp, 0);
    a->dilations = wk_ints_dup(k->a, win.dilations, sp);
    node(k, WK_OP_AVG_POOL, a, &x, 1, 1, NULL);
    return;
  }
  NEW(max_pool, MAX_POOL);
  a->kernel = wk_ints_dup(k->a, win.kernel, sp);
  a->strides = wk_ints_dup(k->a, win.strides, sp);
  a->pads = wk_ints_dup(k->a, win.pads, 2 * sp);
  a->dilations = wk_ints_dup(k->a, win.dilations, sp);
  node(k, WK_OP_MAX_POOL, a, &x, 1, 1, NULL);
}

static wk_ints some_axes(maker *k, int rank) {
  int64_t axes[WK_MAX_RANK];
  int n = 0;
  for (int i = 0; i < rank; i++)
    if (chance(k, 40)) axes[n++] = i;
  return wk_ints_dup(k->a, axes, n);
}

static void draw_reduce(maker *k) {
  static const wk_op ops[] = {WK_OP_REDUCE_MEAN, WK_OP_REDUCE_MAX, WK_OP_REDUCE_MIN,
                              WK_OP_REDUCE_L2};
  wk_value_id x = real(k, 0, 8);
  wk_op op = ops[pick(k, 0, 3)];
  wk_attr_reduce_mean *a = wk_attrs_new(k->a, op); /* the same fields in all of them */
  a->axes = some_axes(k, type_of(k, x)->rank);
  a->keepdims = pick(k, 0, 1);
  for (int64_t i = 0; i < a->axes.n; i++) /* the mean of nothing is no number */
    if (type_of(k, x)->dims[a->axes.v[i]] == 0) return;
  node(k, op, a, &x, 1, 1, NULL);
}

static void draw_normalise(maker *k) {
  wk_value_id x = real(k, 1, 5);
  wk_type t = *type_of(k, x);
  if (chance(k, 50)) {
    NEW(softmax, SOFTMAX);
    a->axis = pick(k, 0, t.rank - 1);
    node(k, WK_OP_SOFTMAX, a, &x, 1, 1, NULL);
    return;
  }
  NEW(layer_norm, LAYER_NORM);
  a->axis = pick(k, 0, t.rank - 1);
  a->epsilon = 0.01;
  wk_type s = wk_type_make(t.dtype, t.rank - (int)a->axis, t.dims + a->axis);
  wk_value_id in[] = {x, constant(k, &s, 0, 0), constant(k, &s, 0, 0)};
  if (wk_type_count(&t)) node(k, WK_OP_LAYER_NORM, a, in, 3, (uint32_t)pick(k, 1, 3), NULL);
}

static void draw_gather(maker *k) {
  wk_value_id x = real(k, 1, 6);
  NEW(gather, GATHER);
  a->axis = pick(k, 0, type_of(k, x)->rank - 1);
  int64_t d = type_of(k, x)->dims[a->axis];
  wk_type t = a_type(k, WK_I64, 0, 2);
  if (d == 0) return;
  wk_value_id in[] = {x, constant(k, &t, -d, d - 1)};
  node(k, WK_OP_GATHER, a, in, 2, 1, NULL);
}

static void draw_cum_sum(maker *k) {
  wk_value_id x = real(k, 1, 4);
  NEW(cum_sum, CUM_SUM);
  a->axis = pick(k, 0, type_of(k, x)->rank - 1);
  a->reverse = pick(k, 0, 1);
  node(k, WK_OP_CUM_SUM, a, &x, 1, 1, NULL);
}

static void draw_lstm(maker *k) {
  wk_value_id x = some(k, k->real, 3, 3, MAX_ELEMENTS);
  if (x == WK_NONE) return;
  wk_type t = *type_of(k, x);
  int64_t h = pick(k, 1, 3), d = pick(k, 1, 2);
  wk_type w = wk_type_make(k->real, 3, (int64_t[]){d, 4 * h, t.dims[2]});
  wk_type r = wk_type_make(k->real, 3, (int64_t[]){d, 4 * h, h});
  wk_value_id in[] = {x, constant(k, &w, 0, 0), constant(k, &r, 0, 0)};
  NEW(lstm, LSTM);
  a->direction = d == 2 ? "bidirectional" : chance(k, 50) ? "reverse" : "forward";
  node(k, WK_OP_LSTM, a, in, 3, (uint32_t)pick(k, 1, 3), NULL);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void draw_any(maker *k);

/* A value of this type: one that there is, or one made from a constant and what there is. */
static wk_value_id of_type(maker *k, const wk_type *t) {
  for (int tries = 0; tries < 3 && k->v.n; tries++)
    for (size_t i = k->v.n; i-- > 0;)
      if (wk_type_equal(type_of(k, k->v.data[i]), t) && chance(k, 60)) return k->v.data[i];
  wk_value_id c = constant(k, t, 0, 3), x = some(k, k->real, 0, 8, 1000);
  if (t->dtype != k->real || x == WK_NONE || wk_type_count(type_of(k, x)) == 0) return c;
  wk_attr_reduce_max *a = wk_attrs_new(k->a, WK_OP_REDUCE_MAX);
  int64_t axes[WK_MAX_RANK];
  for (int i = 0; i < WK_MAX_RANK; i++) axes[i] = i;
  a->axes = wk_ints_dup(k->a, axes, type_of(k, x)->rank);
  a->keepdims = 0;
  wk_value_id s;
  if (!node(k, WK_OP_REDUCE_MAX, a, &x, 1, 1, &s)) return c;
  return unary(k, WK_OP_TANH, binary(k, WK_OP_ADD, c, s));
}

static maker inner(maker *k, const char *name) {
  maker b = {.a = k->a, .rng = k->rng, .real = k->real, .depth = k->depth + 1};
  b.g = wk_graph_new(k->g->module, name);
  return b;
}

static void draw_body(maker *b) {
  for (int64_t n = pick(b, 0, 6); n > 0; n--) draw_any(b);
}

static uint32_t draw_captures(maker *k, wk_value_id *in, uint32_t most) {
  uint32_t n = 0;
  for (uint32_t i = (uint32_t)pick(k, 0, most); i > 0; i--) in[n++] = real(k, 0, 5);
  return n;
}

static void add_control(maker *k, wk_op op, void *attrs, const wk_value_id *in, uint32_t n_in,
                        wk_graph *const *bodies, uint32_t n_bodies) {
  wk_node_desc d = {.op = op, .name = wk_op_get(op)->name, .attrs = attrs, .in = in, .n_in = n_in,
                    .bodies = bodies, .n_bodies = n_bodies};
  wk_status s = wk_graph_add(k->g, &d, NULL);
  if (s) {
    wk_status_print(stderr, s);
    abort(); /* bodies are made to fit */
  }
  const wk_node *n = wk_nod(k->g, (wk_node_id)k->g->nodes.n - 1);
  for (uint32_t i = 0; i < n->n_out; i++) keep(k, n->out[i]);
}

static wk_value_id condition(maker *k) {
  wk_type t = {.dtype = WK_BOOL};
  wk_value_id v = some(k, WK_BOOL, 0, 0, 1);
  return v != WK_NONE && chance(k, 50) ? v : fresh(k, &t);
}

static void draw_if(maker *k) {
  wk_value_id in[5] = {condition(k)};
  uint32_t n_in = 1 + draw_captures(k, in + 1, 4), n_out = (uint32_t)pick(k, 1, 3);
  wk_type types[3];
  wk_graph *bodies[2];
  for (int side = 0; side < 2; side++) {
    maker b = inner(k, side ? "else" : "then");
    bodies[side] = b.g;
    for (uint32_t i = 1; i < n_in; i++) keep(&b, wk_graph_input(b.g, NULL, type_of(k, in[i])));
    draw_body(&b);
    for (uint32_t i = 0; i < n_out; i++) {
      wk_value_id y = side ? of_type(&b, &types[i]) : real(&b, 0, 6);
      types[i] = *type_of(&b, y);
      wk_graph_output(b.g, NULL, y);
    }
    wk_vec_free(&b.v);
  }
  add_control(k, WK_OP_IF, NULL, in, n_in, bodies, 2);
}

/* Goes on while a counter is below a bound; with slices there is no condition. */
static void loop_condition(maker *b, wk_value_id iteration) {
  wk_value_id c =
      binary(b, WK_OP_LESS, iteration, wk_graph_scalar(b->g, WK_I64, (double)pick(b, 0, 3)));
  wk_graph_output(b->g, NULL, c);
}

typedef struct {
  wk_value_id in[16];
  uint32_t n_in, n_state, n_scan;
  wk_attr_loop *a;
} loop_draw;

static void draw_operands(maker *k, loop_draw *l) {
  l->in[0] = l->a->has_cond && chance(k, 50) ? condition(k) : WK_NONE;
  l->n_in = 1;
  l->n_state = (uint32_t)pick(k, l->a->has_cond ? 1 : 0, 3);
  for (uint32_t i = 0; i < l->n_state; i++) l->in[l->n_in++] = real(k, 0, 4);
  int64_t axes[2], reverse[2];
  for (int tries = 0; tries < 4 && l->n_scan < 2; tries++) {
    wk_value_id x = some(k, k->real, 1, 5, MAX_ELEMENTS);
    if (x == WK_NONE) break;
    int64_t axis = pick(k, 0, type_of(k, x)->rank - 1), d = type_of(k, x)->dims[axis];
    if (l->n_scan ? d != l->a->trip : d > 4) continue;
    l->a->trip = d;
    axes[l->n_scan] = axis;
    reverse[l->n_scan++] = pick(k, 0, 1);
    l->in[l->n_in++] = x;
  }
  l->a->n_state = l->n_state;
  l->a->n_scan = l->n_scan;
  l->a->scan_axes = wk_ints_dup(k->a, axes, l->n_scan);
  l->a->scan_reverse = wk_ints_dup(k->a, reverse, l->n_scan);
  l->n_in += draw_captures(k, l->in + l->n_in, 3);
}

static wk_type slice_type(const maker *k, wk_value_id x, int64_t axis) {
  wk_type t = *type_of(k, x), y = {.dtype = t.dtype};
  for (int i = 0; i < t.rank; i++)
    if (i != axis) y.dims[y.rank++] = t.dims[i];
  return y;
}

static void draw_loop(maker *k) {
  static const wk_type i64_scalar = {.dtype = WK_I64};
  loop_draw l = {.a = wk_attrs_new(k->a, WK_OP_LOOP)};
  l.a->trip = pick(k, 0, 3);
  l.a->has_cond = chance(k, 25);
  draw_operands(k, &l);
  maker b = inner(k, "body");
  wk_value_id iteration = wk_graph_input(b.g, "iteration", &i64_scalar);
  for (uint32_t i = 1; i < l.n_in; i++) {
    int64_t scan = (int64_t)i - 1 - l.n_state;
    bool is_slice = scan >= 0 && scan < l.n_scan;
    wk_type t = is_slice ? slice_type(k, l.in[i], l.a->scan_axes.v[scan]) : *type_of(k, l.in[i]);
    keep(&b, wk_graph_input(b.g, NULL, &t));
  }
  if (chance(k, 30)) {
    wk_attr_cast *c = wk_attrs_new(k->a, WK_OP_CAST);
    c->to = k->real;
    node(&b, WK_OP_CAST, c, &iteration, 1, 1, NULL);
  }
  draw_body(&b);
  if (l.a->has_cond) loop_condition(&b, iteration);
  for (uint32_t i = 0; i < l.n_state; i++)
    wk_graph_output(b.g, NULL, of_type(&b, type_of(k, l.in[1 + i])));
  uint32_t collected = l.a->has_cond ? 0 : (uint32_t)pick(k, l.n_state ? 0 : 1, 2);
  int64_t axes[2], reverse[2];
  for (uint32_t i = 0; i < collected; i++) {
    wk_value_id y = real(&b, 0, 5);
    wk_graph_output(b.g, NULL, y);
    axes[i] = pick(k, 0, type_of(&b, y)->rank);
    reverse[i] = pick(k, 0, 1);
  }
  l.a->out_axes = wk_ints_dup(k->a, axes, collected);
  l.a->out_reverse = wk_ints_dup(k->a, reverse, collected);
  wk_vec_free(&b.v);
  add_control(k, WK_OP_LOOP, l.a, l.in, l.n_in, &b.g, 1);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void draw_moved(maker *k) { draw_transpose(k); }

static void draw_any(maker *k) {
  static const struct { void (*draw)(maker *k); int weight; } rows[] = {
      {draw_elementwise, 22}, {draw_where, 2},     {draw_reshape, 9},   {draw_moved, 7},
      {draw_slice, 7},        {draw_split, 5},     {draw_concat, 10},   {draw_expand, 4},
      {draw_tile, 2},         {draw_pad, 7},       {draw_conv, 6},      {draw_matmul, 7},
      {draw_pool, 3},         {draw_reduce, 6},    {draw_normalise, 5}, {draw_gather, 3},
      {draw_cum_sum, 1},      {draw_lstm, 1},      {draw_if, 5},        {draw_loop, 8},
  };
  int total = 0;
  size_t n = WK_COUNTOF(rows) - (k->depth >= MAX_DEPTH ? 2 : 0), i = 0;
  for (size_t r = 0; r < n; r++) total += rows[r].weight;
  for (int64_t at = pick(k, 0, total - 1); at >= rows[i].weight; i++) at -= rows[i].weight;
  rows[i].draw(k);
}

wk_module *random_middle_graph(uint64_t seed, int nodes) {
  wk_rng rng = {seed};
  wk_module *m = wk_module_new("random");
  maker k = {.a = m->arena, .rng = &rng, .real = seed % 4 ? WK_F64 : WK_F32};
  k.g = wk_graph_new(m, "main");
  for (int i = 0; i < 2; i++) {
    wk_type t = a_type(&k, k.real, 1, 4);
    keep(&k, wk_graph_input(k.g, NULL, &t));
  }
  for (int i = 0; i < nodes; i++) draw_any(&k);
  for (int64_t n = pick(&k, 1, 4); n > 0; n--) wk_graph_output(k.g, NULL, real(&k, 0, 8));
  if (chance(&k, 20)) wk_graph_output(k.g, NULL, k.g->outputs.data[0]);
  wk_vec_free(&k.v);
  return m;
}

wk_tensor *random_middle_inputs(const wk_graph *g, uint64_t seed) {
  wk_rng rng = {seed ^ 0x5eed};
  wk_tensor *in = wk_xcalloc(g->inputs.n + 1, sizeof *in);
  for (size_t i = 0; i < g->inputs.n; i++) {
    if (wk_tensor_alloc(&wk_val(g, g->inputs.data[i])->type, &in[i])) abort();
    fill(&rng, &in[i], 0, 1);
  }
  return in;
}
