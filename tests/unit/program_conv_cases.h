/* SPDX-License-Identifier: Apache-2.0
 * Convolutions whose weights come at run time, and the two gradients of convolutions, of random
 * shapes and layouts, for test_cpu_program.c. */
#ifndef WICK_TESTS_PROGRAM_CONV_CASES_H
#define WICK_TESTS_PROGRAM_CONV_CASES_H

#include "tests/random_window.h"
#include "tests/unit/program_build.h"

/* What training asks of one convolution; axes of x, y, w and their gradients alike. */
typedef struct {
  wk_dtype type;
  int spatial;
  int64_t n, cin, cout, group, x[RANDOM_WINDOW_AXES], y[RANDOM_WINDOW_AXES];
  random_window w;
} layer_draw;

static layer_draw draw_layer(wk_rng *r, bool is_half) {
  static const wk_dtype halves[] = {WK_F16, WK_BF16};
  static const int64_t channels[] = {1, 2, 3, 4, 7, 16, 17, 33, 64, 70};
  int64_t kind = wk_rng_range(r, 0, 5), some = wk_rng_range(r, 0, 4) ? 5 : 9;
  layer_draw d = {.type = wk_rng_range(r, 0, 7) ? WK_F32 : WK_F64};
  d.spatial = (int)wk_rng_range(r, 1, 9);
  if (is_half) d.type = halves[wk_rng_range(r, 0, 1)];
  d.spatial = d.spatial == 1 ? 1 : d.spatial == 9 ? 3 : 2;
  d.n = wk_rng_range(r, 1, 4);
  d.cin = channels[wk_rng_range(r, 0, some)];
  d.group = kind == 0 ? d.cin : kind == 1 && d.cin % 2 == 0 ? 2 : 1;
  d.cout = d.group * (kind == 0 ? wk_rng_range(r, 1, 2) : channels[wk_rng_range(r, 0, some)]);
  for (int k = 0; k < d.spatial; k++) d.x[k] = wk_rng_range(r, 1, d.spatial == 3 ? 5 : 9);
  d.w = random_window_draw(r, d.spatial, d.x, 5, false);
  for (int k = 0; k < d.spatial; k++) {
    int64_t reach = (d.w.kernel[k] - 1) * d.w.dilations[k] + 1;
    d.y[k] = (d.x[k] + d.w.pads[k] + d.w.pads[d.spatial + k] - reach) / d.w.strides[k] + 1;
  }
  return d;
}

/* A tensor [a, b, space…] whose memory order is drawn: row-major, channels last, or a fastest. */
static wk_view drawn_view(wk_program *p, wk_rng *r, wk_region region, wk_dtype t, int64_t a,
                          int64_t b, const int64_t *space, int n) {
  int64_t shape[2 + RANDOM_WINDOW_AXES + 1] = {t}, how = wk_rng_range(r, 0, 3);
  int perm[2 + RANDOM_WINDOW_AXES], at = 1;
  bool is_last = how == 1 || how == 2;
  if (how != 3) perm[0] = at++ - 1, shape[perm[0] + 1] = a;
  if (!is_last) perm[1] = at++ - 1, shape[perm[1] + 1] = b;
  for (int k = 0; k < n; k++) perm[2 + k] = at++ - 1, shape[perm[2 + k] + 1] = space[k];
  if (is_last) perm[1] = at++ - 1, shape[perm[1] + 1] = b;
  if (how == 3) perm[0] = at++ - 1, shape[perm[0] + 1] = a;
  return permuted(bound(p, region, (wk_shape_text){at, shape}), perm);
}

static const wk_expr *drawn_epilogue(wk_program *p, wk_rng *r, wk_dtype t) {
  if (t != WK_F32 || wk_rng_range(r, 0, 2)) return NULL;
  return EXPR_F32(p, "max(%0, 0.0f32)", 1);
}

static wk_view drawn_bias(wk_program *p, wk_rng *r, const layer_draw *d, int64_t channels) {
  if (d->type != WK_F32 || wk_rng_range(r, 0, 2)) return wk_view_none();
  return CONST(p, d->type, channels);
}

static void draw_forward(wk_program *p, wk_rng *r, const layer_draw *d) {
  wk_view y = drawn_view(p, r, WK_REGION_OUTPUT, d->type, d->n, d->cout, d->y, d->spatial);
  wk_view x = drawn_view(p, r, WK_REGION_INPUT, d->type, d->n, d->cin, d->x, d->spatial);
  wk_view w = drawn_view(p, r, WK_REGION_INPUT, d->type, d->cout, d->cin / d->group, d->w.kernel,
                         d->spatial);
  wk_inst *i = append(p, WK_OP_CONV, 1, 4, y, x, w, drawn_bias(p, r, d, d->cout));
  wk_attr_conv *a = i->attrs;
  a->strides = wk_ints_dup(p->arena, d->w.strides, d->spatial);
  a->dilations = wk_ints_dup(p->arena, d->w.dilations, d->spatial);
  a->pads = wk_ints_dup(p->arena, d->w.pads, 2 * d->spatial);
  a->group = d->group;
  a->epilogue = drawn_epilogue(p, r, d->type);
}

/* dx of dy. */
static void draw_data_gradient(wk_program *p, wk_rng *r, const layer_draw *d) {
  int64_t rest[RANDOM_WINDOW_AXES];
  wk_view dx = drawn_view(p, r, WK_REGION_OUTPUT, d->type, d->n, d->cin, d->x, d->spatial);
  wk_view dy = drawn_view(p, r, WK_REGION_INPUT, d->type, d->n, d->cout, d->y, d->spatial);
  wk_view w = drawn_view(p, r, WK_REGION_INPUT, d->type, d->cout, d->cin / d->group, d->w.kernel,
                         d->spatial);
  wk_inst *i = append(p, WK_OP_CONV_TRANSPOSE, 1, 4, dx, dy, w, drawn_bias(p, r, d, d->cin));
  wk_attr_conv_transpose *a = i->attrs;
  for (int k = 0; k < d->spatial; k++)
    rest[k] = d->x[k] + d->w.pads[k] + d->w.pads[d->spatial + k] -
              (d->y[k] - 1) * d->w.strides[k] - (d->w.kernel[k] - 1) * d->w.dilations[k] - 1;
  a->strides = wk_ints_dup(p->arena, d->w.strides, d->spatial);
  a->dilations = wk_ints_dup(p->arena, d->w.dilations, d->spatial);
  a->pads = wk_ints_dup(p->arena, d->w.pads, 2 * d->spatial);
  a->output_padding = wk_ints_dup(p->arena, rest, d->spatial);
  a->group = d->group;
  a->epilogue = drawn_epilogue(p, r, d->type);
}

/* dw of x and dy, [cin/group, cout, k…]: samples and channels change places, strides and dilations
 * too; what no window reaches is cut off x. */
static void draw_weight_gradient(wk_program *p, wk_rng *r, const layer_draw *d) {
  int64_t pads[2 * RANDOM_WINDOW_AXES];
  int n = d->spatial;
  int64_t cin = d->cin / d->group;
  wk_view dw = drawn_view(p, r, WK_REGION_OUTPUT, d->type, cin, d->cout, d->w.kernel, n);
  wk_view x = drawn_view(p, r, WK_REGION_INPUT, d->type, cin, d->group * d->n, d->x, n);
  wk_view dy = drawn_view(p, r, WK_REGION_INPUT, d->type, d->cout, d->n, d->y, n);
  for (int k = 0; k < n; k++) {
    int64_t reach = d->w.dilations[k] * (d->w.kernel[k] - 1) + d->w.strides[k] * (d->y[k] - 1) + 1;
    pads[k] = d->w.pads[k];
    pads[n + k] = reach - d->x[k] - pads[k];
    x.dims[2 + k] += pads[n + k] < 0 ? pads[n + k] : 0;
    if (pads[n + k] < 0) pads[n + k] = 0;
    if (x.dims[2 + k] < 1) x.dims[2 + k] = 1, pads[k] = reach - 1; /* sees nothing of x */
  }
  wk_inst *i = append(p, WK_OP_CONV, 1, 4, dw, x, dy, drawn_bias(p, r, d, d->cout));
  wk_attr_conv *a = i->attrs;
  a->strides = wk_ints_dup(p->arena, d->w.dilations, n);
  a->dilations = wk_ints_dup(p->arena, d->w.strides, n);
  a->pads = wk_ints_dup(p->arena, pads, 2 * n);
  a->group = d->group;
  a->epilogue = drawn_epilogue(p, r, d->type);
}

enum { DRAWN_LAYERS = 7 };

static void drawn_convs(wk_program *p, uint64_t seed, bool is_half) {
  static void (*const draws[])(wk_program *, wk_rng *, const layer_draw *) = {
      draw_forward, draw_data_gradient, draw_weight_gradient};
  wk_rng r = {seed};
  for (int k = 0; k < DRAWN_LAYERS; k++) {
    layer_draw d = draw_layer(&r, is_half);
    draws[wk_rng_range(&r, 0, 2)](p, &r, &d);
  }
}

/* Seeds of floats of 32 or 64 bits, and of 16, which round. */
#define DRAWN_CONVS(X, Y) X(1) X(2) X(3) X(4) X(5) X(6) Y(101) Y(102)
#define X(seed) \
  static void drawn_convs_case_##seed(wk_program *p) { drawn_convs(p, seed, seed > 100); }
DRAWN_CONVS(X, X)
#undef X

/* Two short axes that follow each other on one side alone: whole tiles and not, pieces, two bytes,
 * a sum of both orders. */
static void copy_run_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 5, 37, 70), x = IN(p, WK_F32, 70, 37, 5);
  append(p, WK_OP_COPY, 1, 2, y, PERM(x, 2, 1, 0));
  y = OUT(p, WK_F32, 9, 300, 64), x = IN(p, WK_F32, 64, 300, 9);
  append(p, WK_OP_COPY, 1, 2, y, PERM(x, 2, 1, 0));
  y = OUT(p, WK_F16, 2, 3, 32, 48), x = IN(p, WK_F16, 48, 32, 3, 2);
  append(p, WK_OP_COPY, 1, 2, y, PERM(x, 3, 2, 1, 0));
  y = OUT(p, WK_F32, 7, 50, 33), x = IN(p, WK_F32, 33, 50, 7);
  wk_inst *i = append(p, WK_OP_MAP, 1, 3, y, PERM(x, 2, 1, 0), IN(p, WK_F32, 7, 50, 33));
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "add(%0, mul(%1, 2.0f32))", 2);
}

/* ---- three dimensions ----------------------------------------------------------------------- */

static wk_view channels_last_3d(wk_view v) { return PERM(v, 0, 4, 1, 2, 3); }

/* Few images and few planes; taps none of which reaches all outputs; integers; a constant with an
 * extra operand. */
static void conv_volume_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 1, 6, 5, 7, 20), x = IN(p, WK_F32, 1, 6, 5, 7, 12);
  wk_view r = IN(p, WK_F32, 1, 6, 5, 7, 20);
  wk_inst *i = append(p, WK_OP_CONV, 1, 5, channels_last_3d(y), channels_last_3d(x),
                      CONST(p, WK_F32, 20, 6, 3, 3, 3), CONST(p, WK_F32, 20), channels_last_3d(r));
  set_conv(p, i, (conv_shape){1, 1, 1, 2}, "max(add(%0, %1), 0.0f32)", 2);
  y = OUT(p, WK_F32, 5, 8, 3, 4, 4), x = IN(p, WK_F32, 5, 3, 1, 4, 4);
  i = append(p, WK_OP_CONV, 1, 3, y, x, IN(p, WK_F32, 8, 3, 3, 3, 3));
  set_conv(p, i, (conv_shape){1, 1, 1, 1}, NULL, 0);
  ((wk_attr_conv *)i->attrs)->pads = wk_ints_dup(p->arena, (int64_t[]){2, 1, 1, 2, 1, 1}, 6);
  y = OUT(p, WK_I32, 1, 9, 4, 5, 5), x = IN(p, WK_U8, 1, 4, 4, 5, 5);
  i = append(p, WK_OP_CONV, 1, 4, y, x, CONST(p, WK_I8, 9, 4, 3, 3, 3), CONST(p, WK_I32, 9));
  set_conv(p, i, (conv_shape){1, 1, 1, 1}, NULL, 0);
}

/* A constant of groups; phases along every axis. */
static void transpose_volume_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 2, 7, 9, 5, 6), x = IN(p, WK_F32, 2, 4, 5, 3, 4);
  wk_inst *i = append(p, WK_OP_CONV_TRANSPOSE, 1, 4, channels_last_3d(y), channels_last_3d(x),
                      CONST(p, WK_F32, 4, 3, 3, 3, 3), CONST(p, WK_F32, 6));
  wk_attr_conv_transpose *a = i->attrs;
  a->strides = wk_ints_fill(p->arena, 3, 2);
  a->dilations = wk_ints_fill(p->arena, 3, 1);
  a->pads = wk_ints_fill(p->arena, 6, 1);
  a->output_padding = wk_ints_fill(p->arena, 3, 0);
  a->group = 2;
}

/* ---- shapes that large windows meet ---------------------------------------------------------- */

/* Layouts that need no copies: blocks of k with sums that wait, several panels, a ragged one; then
 * an epilogue with what varies along every axis. */
static void conv_window_case(wk_program *p) {
  wk_view dw = OUT(p, WK_F32, 70, 3, 3, 150), x = IN(p, WK_F32, 2, 17, 18, 70);
  wk_view dy = IN(p, WK_F32, 2, 17, 18, 150);
  wk_inst *i = append(p, WK_OP_CONV, 1, 3, NHWC(dw), PERM(x, 3, 0, 1, 2), PERM(dy, 3, 0, 1, 2));
  set_conv(p, i, (conv_shape){1, 1, 1, 1}, NULL, 0);
  wk_view y = OUT(p, WK_F32, 19, 2, 2, 20), r = IN(p, WK_F32, 19, 2, 2, 20);
  x = IN(p, WK_F32, 3, 20, 20, 19), dy = IN(p, WK_F32, 3, 19, 19, 20);
  i = append(p, WK_OP_CONV, 1, 5, NHWC(y), PERM(x, 3, 0, 1, 2), PERM(dy, 3, 0, 1, 2),
             CONST(p, WK_F32, 20), NHWC(r));
  set_conv(p, i, (conv_shape){1, 0, 1, 1}, "max(add(%0, %1), 0.0f32)", 2);
}

/* Few images, whose columns become images: the gradients of first layers, with padding of each side
 * and without, and of two groups. */
static void conv_columns_case(wk_program *p) {
  wk_view dw = OUT(p, WK_F32, 3, 5, 7, 40), x = IN(p, WK_F32, 4, 3, 30, 31);
  wk_view dy = IN(p, WK_F32, 4, 15, 14, 40);
  wk_inst *i = append(p, WK_OP_CONV, 1, 3, NHWC(dw), PERM(x, 1, 0, 2, 3), PERM(dy, 3, 0, 1, 2));
  set_conv(p, i, (conv_shape){1, 0, 2, 1}, NULL, 0);
  ((wk_attr_conv *)i->attrs)->pads = wk_ints_dup(p->arena, (int64_t[]){2, 1, 1, 1}, 4);
  wk_view y = OUT(p, WK_F32, 1, 3, 3, 24), z = IN(p, WK_F32, 10, 12, 13, 1);
  i = append(p, WK_OP_CONV, 1, 3, NHWC(y), PERM(z, 3, 0, 1, 2), IN(p, WK_F32, 24, 5, 10, 11));
  set_conv(p, i, (conv_shape){1, 0, 1, 2}, NULL, 0);
}

/* Weights and x that are broadcast along some axes. */
static void conv_broadcast_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 9, 3, 3, 8), x = IN(p, WK_F32, 4, 9, 9, 9);
  wk_view w = IN(p, WK_F32, 8, 4, 9, 9), one = IN(p, WK_F32, 8, 1, 1, 1);
  wk_inst *i = append(p, WK_OP_CONV, 1, 3, NHWC(y), PERM(x, 3, 0, 1, 2), broadcast(one, &w));
  set_conv(p, i, (conv_shape){1, 1, 1, 1}, NULL, 0);
  wk_view v = IN(p, WK_F32, 4, 1, 1, 9);
  y = OUT(p, WK_F32, 9, 3, 3, 8);
  i = append(p, WK_OP_CONV, 1, 3, NHWC(y), PERM(broadcast(v, &x), 3, 0, 1, 2), w);
  set_conv(p, i, (conv_shape){1, 1, 1, 1}, NULL, 0);
}

/* Phases that no tap of the window belongs to, with a bias and with none. */
static void transpose_gaps_case(wk_program *p) {
  wk_view y = OUT(p, WK_F32, 2, 14, 14, 20), x = IN(p, WK_F32, 2, 7, 7, 18);
  wk_inst *i = append(p, WK_OP_CONV_TRANSPOSE, 1, 3, NHWC(y), NHWC(x), IN(p, WK_F32, 18, 20, 1, 1));
  wk_attr_conv_transpose *a = i->attrs;
  a->strides = wk_ints_fill(p->arena, 2, 2);
  a->dilations = wk_ints_fill(p->arena, 2, 1);
  a->pads = wk_ints_fill(p->arena, 4, 0);
  a->output_padding = wk_ints_fill(p->arena, 2, 1);
  a->group = 1;
  y = OUT(p, WK_F32, 2, 14, 14, 20);
  wk_view r = IN(p, WK_F32, 2, 14, 14, 20);
  wk_inst *j = append(p, WK_OP_CONV_TRANSPOSE, 1, 5, NHWC(y), NHWC(x), IN(p, WK_F32, 18, 20, 1, 1),
                      CONST(p, WK_F32, 20), NHWC(r));
  *(wk_attr_conv_transpose *)j->attrs = *a;
  ((wk_attr_conv_transpose *)j->attrs)->epilogue = EXPR_F32(p, "max(mul(%0, %1), 0.0f32)", 2);
}

#define X(seed) {"drawn_convs_" #seed, drawn_convs_case_##seed, 0, NULL},
#define Y(seed) {"drawn_convs_" #seed, drawn_convs_case_##seed, 0.01, NULL},
static const program_case conv_cases[] = {{"copy_run", copy_run_case, 0, NULL},
                                          {"conv_volume", conv_volume_case, 0, NULL},
                                          {"transpose_volume", transpose_volume_case, 0, NULL},
                                          {"conv_window", conv_window_case, 0, NULL},
                                          {"conv_columns", conv_columns_case, 0, NULL},
                                          {"conv_broadcast", conv_broadcast_case, 0, NULL},
                                          {"transpose_gaps", transpose_gaps_case, 0, NULL},
                                          DRAWN_CONVS(X, Y) {0}};
#undef X
#undef Y

#endif
