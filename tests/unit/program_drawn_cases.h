/* SPDX-License-Identifier: Apache-2.0
 * Products, of constants mostly, loops and rows of loops, of random types and shapes whose operands
 * lie anyhow: axes in any order, with room between rows, backwards, broadcast. What targets prepare
 * and which code they choose goes by such things; test_cpu_program.c has the results, made.c what
 * is chosen. */
#ifndef WICK_TESTS_PROGRAM_DRAWN_CASES_H
#define WICK_TESTS_PROGRAM_DRAWN_CASES_H

#include "tests/random_window.h"
#include "tests/unit/program_build.h"
#include "tests/unit/program_requant.h"

/* ---- how operands lie ------------------------------------------------------------------------ */

typedef struct {
  int rank;
  int64_t dims[WK_MAX_RANK];
} drawn_dims;

static bool drawn_one_in(wk_rng *r, int n) { return wk_rng_range(r, 1, n) == 1; }

static int64_t drawn_of(wk_rng *r, const int64_t *list, size_t n) {
  return list[wk_rng_range(r, 0, (int64_t)n - 1)];
}
#define DRAWN_OF(r, list) drawn_of(r, list, WK_COUNTOF(list))

/* Axes from slowest to fastest: row-major, the second one last, any order. */
static void drawn_order(wk_rng *r, int rank, int *order) {
  int64_t kind = wk_rng_range(r, 0, 6);
  for (int k = 0; k < rank; k++) order[k] = k;
  for (int k = 1; k + 1 < rank && kind >= 2 && kind < 5; k++) order[k] = k + 1, order[k + 1] = 1;
  for (int k = rank - 1; k > 0 && kind >= 5; k--) {
    int other = (int)wk_rng_range(r, 0, k), axis = order[k];
    order[k] = order[other];
    order[other] = axis;
  }
}

/* Of each axis whether it may stand still: bit d of `still`. */
static wk_view drawn_operand(wk_program *p, wk_rng *r, wk_region region, wk_dtype t,
                             const drawn_dims *s, uint32_t still) {
  int order[WK_MAX_RANK], rank = s->rank, backwards = -1;
  int64_t shape[1 + WK_MAX_RANK] = {t}, real[WK_MAX_RANK];
  drawn_order(r, rank, order);
  if (!drawn_one_in(r, 3)) still = 0;
  for (int k = 0; k < rank; k++) {
    bool stands = still >> order[k] & 1 && drawn_one_in(r, 2);
    shape[1 + k] = real[k] = stands ? 1 : s->dims[order[k]];
  }
  int wide = rank && drawn_one_in(r, 4) ? (int)wk_rng_range(r, 0, rank - 1) : -1;
  if (wide >= 0 && drawn_one_in(r, 2)) wide = rank - 1;
  int64_t more = wide >= 0 ? wk_rng_range(r, 1, 9) : 0, first = more ? wk_rng_range(r, 0, more) : 0;
  if (wide >= 0) shape[1 + wide] += more;
  if (rank && region != WK_REGION_OUTPUT && drawn_one_in(r, 8))
    backwards = (int)wk_rng_range(r, 0, rank - 1);
  const wk_shape_text text = {1 + rank, shape};
  wk_view v = region == WK_REGION_CONST ? constant(p, text) : bound(p, region, text), w = v;
  const int64_t size = wk_dtype_size(t);
  if (wide >= 0) w.offset += first * v.strides[wide] * size;
  for (int k = 0; k < rank; k++) {
    int64_t stride = v.strides[k];
    if (k == backwards) w.offset += (real[k] - 1) * stride * size, stride = -stride;
    w.dims[order[k]] = s->dims[order[k]];
    w.strides[order[k]] = real[k] == s->dims[order[k]] ? stride : 0;
  }
  return w;
}
#define DRAWN(p, r, region, t, s) drawn_operand(p, r, WK_REGION_##region, t, s, 0)

/* ---- convolutions of constants --------------------------------------------------------------- */

typedef struct {
  wk_dtype x, w, y;
} drawn_types;

static drawn_types drawn_product_types(wk_rng *r, bool is_half) {
  static const drawn_types halves[] = {{WK_F16, WK_F16, WK_F16}, {WK_BF16, WK_BF16, WK_BF16}};
  static const drawn_types others[] = {
      {WK_U8, WK_I8, WK_I32}, {WK_I8, WK_I8, WK_I32}, {WK_U8, WK_U8, WK_I32},
      {WK_I8, WK_U8, WK_I32}, {WK_F64, WK_F64, WK_F64}};
  if (is_half) return halves[wk_rng_range(r, 0, 1)];
  if (wk_rng_range(r, 0, 2)) return (drawn_types){WK_F32, WK_F32, WK_F32};
  return others[wk_rng_range(r, 0, 4)];
}

typedef struct {
  drawn_types t;
  int64_t group, pad_value;
  drawn_dims x, y, w;
  random_window window;
} drawn_layer;

static drawn_layer draw_product_layer(wk_rng *r, bool is_half, bool is_transposed) {
  static const int64_t channels[] = {1, 2, 3, 4, 5, 8, 9, 12, 16, 20, 32, 33, 48, 64};
  drawn_layer d = {.t = drawn_product_types(r, is_half)};
  static const int axes[] = {1, 2, 2, 2, 2, 3};
  int n = axes[wk_rng_range(r, 0, 5)];
  int64_t kind = wk_rng_range(r, 0, 5), from = DRAWN_OF(r, channels), to = DRAWN_OF(r, channels);
  d.group = 1;
  if (kind < 2) d.group = from, to = kind ? from : from * wk_rng_range(r, 1, 2);
  if (kind == 2 && from % 2 == 0) d.group = from % 4 ? 2 : 4, to = to * d.group;
  if (drawn_one_in(r, 2) && d.t.y == WK_I32) d.pad_value = d.t.x == WK_U8 ? 119 : -7;
  d.x = (drawn_dims){2 + n, {wk_rng_range(r, 1, 3), from}};
  d.y = (drawn_dims){2 + n, {d.x.dims[0], to}};
  d.w = (drawn_dims){2 + n, {to, from / d.group}};
  if (is_transposed) d.w.dims[0] = from, d.w.dims[1] = to / d.group;
  int64_t *size = d.x.dims + 2, most = n == 3 ? 5 : n == 1 ? 30 : 11;
  for (int k = 0; k < n; k++) size[k] = wk_rng_range(r, 1, most);
  d.window = is_transposed ? random_window_transposed(r, n, size, 4)
                           : random_window_draw(r, n, size, 4, false);
  const random_window *w = &d.window;
  for (int k = 0; k < n; k++) {
    int64_t reach = (w->kernel[k] - 1) * w->dilations[k] + 1, pads = w->pads[k] + w->pads[n + k];
    d.w.dims[2 + k] = w->kernel[k];
    d.y.dims[2 + k] = is_transposed ? (size[k] - 1) * w->strides[k] + reach - pads
                                    : (size[k] + pads - reach) / w->strides[k] + 1;
  }
  return d;
}

/* What is done to the sums: nothing, a limit, more operands, another type. */
static wk_inst *drawn_product(wk_program *p, wk_rng *r, wk_op op, const drawn_layer *d, wk_view x,
                              wk_view w, int column, const wk_expr **epilogue) {
  const drawn_dims *s = &d->y;
  wk_view bias = wk_view_none();
  int64_t kind = wk_rng_range(r, 0, 4);
  if ((d->t.y == WK_F32 || d->t.y == WK_I32) && drawn_one_in(r, 2))
    bias = DRAWN(p, r, CONST, d->t.y, (&(drawn_dims){1, {s->dims[column]}}));
  *epilogue = NULL;
  if (d->t.y == WK_I32 && kind < 2) {
    wk_view y = DRAWN(p, r, OUTPUT, WK_U8, s);
    *epilogue = expression(p, PER_CHANNEL, 3, per_channel_types);
    return append(p, op, 1, 6, y, x, w, bias, multipliers(p, &y, column),
                  shifts(p, &y, column, 33, 37));
  }
  wk_view y = DRAWN(p, r, OUTPUT, d->t.y, s);
  if (d->t.y != WK_F32 || kind == 0) return append(p, op, 1, 4, y, x, w, bias);
  if (kind == 1) {
    *epilogue = EXPR_F32(p, "min(max(%0, 0.0f32), 6.0f32)", 1);
    return append(p, op, 1, 4, y, x, w, bias);
  }
  wk_view more = kind == 2 ? drawn_operand(p, r, WK_REGION_INPUT, WK_F32, s, 0)
                           : drawn_operand(p, r, WK_REGION_INPUT, WK_F32, s, ~0u);
  *epilogue = EXPR_F32(p, "max(add(%0, %1), 0.0f32)", 2);
  return append(p, op, 1, 5, y, x, w, bias, more);
}

static wk_region drawn_right(wk_rng *r) {
  return drawn_one_in(r, 5) ? WK_REGION_INPUT : WK_REGION_CONST;
}

static void draw_conv(wk_program *p, wk_rng *r, bool is_half) {
  drawn_layer d = draw_product_layer(r, is_half, false);
  int n = d.x.rank - 2;
  const wk_expr *epilogue;
  wk_view x = drawn_operand(p, r, WK_REGION_INPUT, d.t.x, &d.x, 1);
  wk_view w = drawn_operand(p, r, drawn_right(r), d.t.w, &d.w, 1);
  wk_inst *i = drawn_product(p, r, WK_OP_CONV, &d, x, w, 1, &epilogue);
  wk_attr_conv *a = i->attrs;
  a->strides = wk_ints_dup(p->arena, d.window.strides, n);
  a->dilations = wk_ints_dup(p->arena, d.window.dilations, n);
  a->pads = wk_ints_dup(p->arena, d.window.pads, 2 * n);
  a->group = d.group;
  a->pad_value = d.pad_value;
  a->epilogue = epilogue;
}

static void draw_transposed(wk_program *p, wk_rng *r, bool is_half) {
  drawn_layer d = draw_product_layer(r, is_half, true);
  int n = d.x.rank - 2;
  const wk_expr *epilogue;
  wk_view x = drawn_operand(p, r, WK_REGION_INPUT, d.t.x, &d.x, 1);
  wk_view w = drawn_operand(p, r, drawn_right(r), d.t.w, &d.w, 1);
  int64_t rest[RANDOM_WINDOW_AXES] = {0};
  for (int k = 0; k < n && drawn_one_in(r, 3); k++)
    d.y.dims[2 + k] += rest[k] = d.window.strides[k] - 1;
  wk_inst *i = drawn_product(p, r, WK_OP_CONV_TRANSPOSE, &d, x, w, 1, &epilogue);
  wk_attr_conv_transpose *a = i->attrs;
  a->strides = wk_ints_dup(p->arena, d.window.strides, n);
  a->dilations = wk_ints_dup(p->arena, d.window.dilations, n);
  a->pads = wk_ints_dup(p->arena, d.window.pads, 2 * n);
  a->output_padding = wk_ints_dup(p->arena, rest, n);
  a->group = d.group;
  a->epilogue = epilogue;
}

/* ---- products of matrices -------------------------------------------------------------------- */

static void draw_matmul(wk_program *p, wk_rng *r, bool is_half) {
  static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 15, 16, 17, 30, 32, 33, 48, 64, 70, 100};
  drawn_layer d = {.t = drawn_product_types(r, is_half)};
  int rank = (int)wk_rng_range(r, 2, 4);
  int64_t k = DRAWN_OF(r, sizes), m = DRAWN_OF(r, sizes), n = DRAWN_OF(r, sizes);
  drawn_dims a = {.rank = rank}, b = a;
  uint32_t batch = (1u << (rank - 2)) - 1;
  d.y.rank = rank;
  for (int z = 0; z < rank - 2; z++)
    d.y.dims[z] = a.dims[z] = b.dims[z] = wk_rng_range(r, 0, 2) ? wk_rng_range(r, 2, 4) : 1;
  a.dims[rank - 2] = d.y.dims[rank - 2] = m;
  a.dims[rank - 1] = b.dims[rank - 2] = k;
  b.dims[rank - 1] = d.y.dims[rank - 1] = n;
  wk_region right = drawn_one_in(r, 2) ? WK_REGION_INPUT : WK_REGION_CONST;
  wk_view left = drawn_operand(p, r, WK_REGION_INPUT, d.t.x, &a, batch);
  wk_view other = drawn_operand(p, r, right, d.t.w, &b, batch);
  const wk_expr *epilogue;
  wk_inst *i = drawn_product(p, r, WK_OP_MATMUL, &d, left, other, rank - 1, &epilogue);
  ((wk_attr_matmul *)i->attrs)->epilogue = epilogue;
}

/* ---- loops ----------------------------------------------------------------------------------- */

static drawn_dims draw_dims(wk_rng *r, int64_t most) {
  static const int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 16, 17, 31, 32, 33, 64, 70, 127, 128, 200};
  drawn_dims s = {.rank = (int)wk_rng_range(r, 1, 5)};
  for (int k = 0; k < s.rank; k++) {
    s.dims[k] = DRAWN_OF(r, sizes);
    if (s.dims[k] > most) s.dims[k] = 1;
    most /= s.dims[k];
  }
  return s;
}

static void draw_map(wk_program *p, wk_rng *r, bool is_half) {
  static const char *const bodies[] = {
      "mul(sub(%0, %1), 2.0f32)", "max(%0, f32(index<0>()))", "select(lt(%0, %1), %1, 0.5f32)",
      "tanh(add(%0, mul(%1, %2)))",
      "add(exp(min(%0, 2.0f32)), mul(%1, f32(add(index<0>(), 1i64))))"};
  static const int reads[] = {2, 1, 2, 3, 2};
  const drawn_dims s = draw_dims(r, 40000);
  int64_t kind = wk_rng_range(r, 0, 6);
  wk_view in[3];
  if (kind == 5 || is_half) {
    static const wk_dtype types[] = {WK_F16, WK_I8, WK_F32, WK_I64};
    wk_dtype t = types[wk_rng_range(r, 0, 3)];
    wk_view x = drawn_operand(p, r, WK_REGION_INPUT, t, &s, ~0u);
    append(p, WK_OP_COPY, 1, 2, DRAWN(p, r, OUTPUT, t, &s), x);
    return;
  }
  if (kind == 6) {
    wk_inst *fill = append(p, WK_OP_FILL, 1, 1, DRAWN(p, r, OUTPUT, WK_F32, &s));
    ((wk_attr_fill *)fill->attrs)->value = 1.5;
    return;
  }
  wk_view y = DRAWN(p, r, OUTPUT, WK_F32, &s);
  for (int k = 0; k < 3; k++)
    in[k] = k < reads[kind] ? drawn_operand(p, r, WK_REGION_INPUT, WK_F32, &s, ~0u) : in[0];
  wk_inst *i = append(p, WK_OP_MAP, 1, 1 + (uint32_t)reads[kind], y, in[0], in[1], in[2]);
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, bodies[kind], reads[kind]);
}

/* The view with the axes that are folded standing still. */
static wk_view drawn_folded(wk_program *p, wk_rng *r, wk_region region, wk_dtype t,
                            const drawn_dims *s, uint32_t folded) {
  drawn_dims small = *s;
  for (int k = 0; k < s->rank; k++)
    if (folded >> k & 1) small.dims[k] = 1;
  wk_view v = region == WK_REGION_ACT
                  ? activation(p, (wk_shape_text){1 + s->rank, (int64_t[]){t, small.dims[0],
                                  small.dims[1], small.dims[2], small.dims[3], small.dims[4]}})
                  : drawn_operand(p, r, region, t, &small, 0);
  for (int k = 0; k < s->rank; k++) {
    v.dims[k] = s->dims[k];
    if (small.dims[k] != s->dims[k]) v.strides[k] = 0;
  }
  return v;
}

static wk_inst *drawn_fold(wk_program *p, const char *kind, uint32_t folded, wk_view y, wk_view x) {
  wk_inst *i = append(p, WK_OP_REDUCE, 1, 2, y, x);
  wk_attr_reduce *a = i->attrs;
  int64_t axes[WK_MAX_RANK], n = 0;
  for (int k = 0; k < x.rank; k++)
    if (folded >> k & 1) axes[n++] = k;
  a->kind = kind;
  a->axes = wk_ints_dup(p->arena, axes, n);
  return i;
}

static void draw_reduce(wk_program *p, wk_rng *r, bool is_half) {
  static const char *const kinds[] = {"sum", "max", "min", "sum", "argmax", "argmin"};
  static const wk_dtype types[] = {WK_F32, WK_F32, WK_F32, WK_I32, WK_F64};
  const drawn_dims s = draw_dims(r, 60000);
  const char *kind = kinds[wk_rng_range(r, 0, 5)];
  bool is_place = kind[0] == 'a';
  uint32_t folded = is_place ? 1u << wk_rng_range(r, 0, s.rank - 1)
                             : (uint32_t)wk_rng_range(r, 1, (1 << s.rank) - 1);
  wk_dtype t = is_half ? WK_F16 : types[wk_rng_range(r, 0, 4)];
  wk_view y = drawn_folded(p, r, WK_REGION_OUTPUT, is_place ? WK_I64 : t, &s, folded);
  wk_view x = drawn_operand(p, r, WK_REGION_INPUT, t, &s, 0);
  wk_inst *i = drawn_fold(p, kind, folded, y, x);
  if (is_place || t != WK_F32 || drawn_one_in(r, 2)) return;
  ((wk_attr_reduce *)i->attrs)->pre = EXPR_F32(p, "mul(%0, %0)", 1);
  if (drawn_one_in(r, 2)) ((wk_attr_reduce *)i->attrs)->post = EXPR_F32(p, "sqrt(%0)", 1);
}

/* Rows: what is computed of a row is subtracted from it, then that of the differences divides. */
static void draw_rows(wk_program *p, wk_rng *r, bool is_half) {
  (void)is_half;
  drawn_dims s = draw_dims(r, 60000);
  uint32_t folded = 1u << (s.rank - 1);
  if (s.rank > 2 && drawn_one_in(r, 3)) folded |= 1u << (s.rank - 2);
  wk_view x = DRAWN(p, r, INPUT, WK_F32, &s), y = DRAWN(p, r, OUTPUT, WK_F32, &s);
  wk_view most = drawn_folded(p, r, WK_REGION_ACT, WK_F32, &s, folded);
  wk_view sum = drawn_folded(p, r, WK_REGION_ACT, WK_F32, &s, folded);
  wk_view between = drawn_folded(p, r, WK_REGION_ACT, WK_F32, &s, 0);
  drawn_fold(p, "max", folded, most, x);
  wk_inst *i = append(p, WK_OP_MAP, 1, 3, between, x, most);
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "exp(sub(%0, %1))", 2);
  drawn_fold(p, "sum", folded, sum, between);
  i = append(p, WK_OP_MAP, 1, 4, y, between, sum,
             drawn_operand(p, r, WK_REGION_INPUT, WK_F32, &s, ~0u));
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "add(div(%0, %1), %2)", 3);
}

/* ---- all ------------------------------------------------------------------------------------- */

enum { DRAWN_EACH = 4 };

/* Seeds beyond 100: of halves, which round. */
static void drawn_program(wk_program *p, uint64_t seed) {
  static void (*const draws[])(wk_program *, wk_rng *, bool) = {
      draw_conv, draw_conv, draw_transposed, draw_matmul, draw_map, draw_reduce, draw_rows};
  wk_rng r = {seed + 500};
  for (int k = 0; k < DRAWN_EACH; k++)
    draws[seed % WK_COUNTOF(draws)](p, &r, seed > 100);
  if (seed % 2) fuse_rows(p);
}

#endif
