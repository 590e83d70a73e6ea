/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/random_layers.h"

#include "tests/random_integer_draw.h"

enum { MOST_MACS = 3000000, MOST_ELEMENTS = 60000 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t count(const maker *k, wk_value_id v) { return wk_type_count(type_of(k, v)); }

/* Channels: few, about a block of the array, several blocks. */
static int64_t channels(maker *k, int64_t most) {
  static const int64_t usual[] = {8, 16, 24, 32, 48, 64};
  int64_t c = chance(k, 30)   ? pick(k, 1, 7)
              : chance(k, 60) ? usual[pick(k, 0, WK_COUNTOF(usual) - 1)]
                              : pick(k, 8, 80);
  return most < 1 ? 1 : least(c, most);
}

static void fresh_image(maker *k) {
  int64_t h = chance(k, 40) ? pick(k, 1, 12) : pick(k, 13, 96);
  int64_t w = chance(k, 70) ? h : pick(k, 1, 60);
  int64_t dims[] = {chance(k, 75) ? 1 : pick(k, 2, 3), 0, h, w};
  dims[1] = chance(k, 25) ? pick(k, 1, 4) : channels(k, MOST_ELEMENTS / (dims[0] * h * w));
  add_input(k, 4, dims);
}

static tensor picture(maker *k) {
  for (int i = 0; i < 6 && k->n; i++) {
    tensor *t = any(k);
    if (type_of(k, t->q)->rank == 4) return *t;
  }
  fresh_image(k);
  return k->t[k->n - 1];
}

/* Rows [.., t, d]. */
static tensor sequence(maker *k) {
  for (int i = 0; i < 6 && k->n; i++) {
    tensor *t = any(k);
    const wk_type *y = type_of(k, t->q);
    if (y->rank >= 2 && y->rank <= 3 && y->dims[y->rank - 1] <= 512) return *t;
  }
  int64_t dims[] = {pick(k, 1, 3), pick(k, 1, 40), channels(k, 80)};
  int skip = chance(k, 30);
  add_input(k, 3 - skip, dims + skip);
  return k->t[k->n - 1];
}

/* ---- convolutions ---------------------------------------------------------------------------- */

static void draw_axis(maker *k, random_window *win, int axes, int i, int64_t size) {
  static const int64_t kernels[] = {1, 1, 3, 3, 3, 5, 7, 2};
  int64_t kernel = kernels[pick(k, 0, 7)], dilation = chance(k, 15) ? pick(k, 2, 3) : 1;
  int64_t reach = (kernel - 1) * dilation;
  win->kernel[i] = kernel;
  win->dilations[i] = dilation;
  win->strides[i] = chance(k, 60) ? 1 : pick(k, 2, 3);
  win->pads[i] = chance(k, 70) ? reach / 2 : pick(k, 0, reach);
  win->pads[axes + i] = chance(k, 70) ? reach / 2 : pick(k, 0, reach);
  int64_t room = size + win->pads[i] + win->pads[axes + i];
  if (room < reach + 1) win->pads[axes + i] += reach + 1 - room;
}

static random_window draw_window(maker *k, int axes, const int64_t *size) {
  random_window win = {{0}, {0}, {0}, {0}};
  for (int i = 0; i < axes; i++) draw_axis(k, &win, axes, i, size[i]);
  if (axes == 2 && chance(k, 80)) { /* square */
    win.kernel[1] = win.kernel[0], win.dilations[1] = win.dilations[0];
    win.strides[1] = win.strides[0], win.pads[1] = win.pads[0], win.pads[3] = win.pads[2];
    int64_t reach = (win.kernel[1] - 1) * win.dilations[1];
    int64_t room = size[1] + win.pads[1] + win.pads[3];
    if (room < reach + 1) win.pads[3] += reach + 1 - room;
  }
  return win;
}

/* Groups of a convolution over `in` channels. */
static int64_t draw_groups(maker *k, int64_t in) {
  if (chance(k, 25)) return in;
  if (chance(k, 75)) return 1;
  int64_t g = pick(k, 1, least(in, 8));
  while (in % g) g--;
  return g;
}

/* The real result; WK_NONE: too much work. */
static wk_value_id convolved(maker *k, const tensor *x, int64_t out, double *size) {
  const wk_type t = *type_of(k, x->q);
  int axes = t.rank - 2;
  random_window win = draw_window(k, axes, t.dims + 2);
  int64_t group = out ? 1 : draw_groups(k, t.dims[1]);
  int64_t per = group == 1 ? 1 : group == t.dims[1] && chance(k, 80) ? 1 : pick(k, 1, 12);
  int64_t wide = out ? out : group == 1 ? channels(k, 80) : group * per;
  int64_t dims[] = {wide, t.dims[1] / group, 0, 0};
  int64_t taps = 1, pixels = t.dims[0];
  for (int i = 0; i < axes; i++) {
    if (out) win.strides[i] = 1;
    dims[2 + i] = win.kernel[i];
    taps *= win.kernel[i];
    pixels *= t.dims[2 + i] / win.strides[i] + 1;
  }
  if (pixels * taps * dims[0] * dims[1] > MOST_MACS || pixels * dims[0] > MOST_ELEMENTS)
    return WK_NONE;
  wk_attr_conv *a = wk_attrs_new(k->m->arena, WK_OP_CONV);
  a->strides = list(k, win.strides, axes);
  a->dilations = list(k, win.dilations, axes);
  a->pads = list(k, win.pads, 2 * axes);
  a->group = group;
  double sw;
  wk_value_id scales, w = weights(k, t.rank, dims, 0, &sw, &scales);
  *size = x->scale * sw * 5000 * sqrt((double)(dims[1] * taps));
  if (chance(k, 30)) return wk_build(k->g, WK_OP_CONV, a, 2, real(k, x), w);
  return wk_build(k->g, WK_OP_CONV, a, 3, real(k, x), w, bias(k, x->scale, scales, dims[0], *size));
}

static void conv(maker *k) {
  tensor x = picture(k);
  double size;
  wk_value_id y = convolved(k, &x, 0, &size);
  if (y != WK_NONE) quantise(k, y, size);
}

/* Of rank 3. */
static void conv_line(maker *k) {
  int64_t dims[] = {pick(k, 1, 2), channels(k, 80), pick(k, 4, 400)};
  double size;
  add_input(k, 3, dims);
  for (int i = 0; i < 2; i++) {
    tensor x = k->t[k->n - 1];
    wk_value_id y = convolved(k, &x, 0, &size);
    if (y != WK_NONE) quantise(k, y, size);
  }
}

/* x + f(x), f of one or two convolutions, sometimes without a rounding before the sum. */
static void residual(maker *k) {
  tensor x = picture(k), y = x;
  const wk_type t = *type_of(k, x.q);
  double size = 0;
  wk_value_id v = WK_NONE;
  for (int i = 0; i < 2; i++) {
    v = convolved(k, &y, i ? t.dims[1] : channels(k, 48), &size);
    if (v == WK_NONE) return;
    if (i && chance(k, 20)) break;
    quantise(k, v, size);
    y = k->t[k->n - 1];
    if (!wk_shape_equal(&t, type_of(k, y.q)) && i) return;
    v = real(k, &y);
  }
  if (!wk_shape_equal(&t, type_of(k, v))) return;
  bool is_first = chance(k, 50);
  wk_value_id skip = real(k, &x);
  quantise(k, wk_build(k->g, WK_OP_ADD, NULL, 2, is_first ? skip : v, is_first ? v : skip),
           size + size_of(k, &x));
}

/* Upwards by a stride; where the zero point is 0, without sums that depend on the place. */
static void conv_transpose(maker *k) {
  tensor x = picture(k);
  if (chance(k, 60)) x.zero = 0;
  const wk_type t = *type_of(k, x.q);
  int64_t stride = pick(k, 1, 3), kernel = chance(k, 50) ? stride : pick(k, 1, 5);
  int64_t dims[] = {t.dims[1], channels(k, 40), kernel, chance(k, 80) ? kernel : pick(k, 1, 4)};
  int64_t pad[4] = {0}, pixels = t.dims[0] * t.dims[2] * t.dims[3];
  for (int i = 0; i < 4; i++)
    pad[i] = chance(k, 50) && t.dims[2 + i % 2] > 4 ? pick(k, 0, dims[2 + i % 2] / 2) : 0;
  if (pixels * dims[0] * dims[1] * dims[2] * dims[3] > MOST_MACS ||
      pixels * stride * stride * dims[1] > MOST_ELEMENTS)
    return;
  wk_attr_conv_transpose *a = wk_attrs_new(k->m->arena, WK_OP_CONV_TRANSPOSE);
  a->strides = list(k, (int64_t[]){stride, stride}, 2);
  a->pads = list(k, pad, 4);
  a->dilations = list(k, (int64_t[]){1, 1}, 2);
  a->output_padding = ints(k, 2, 0, stride - 1);
  a->group = 1;
  double sw;
  wk_value_id scales, w = weights(k, 4, dims, 1, &sw, &scales);
  double size = x.scale * sw * 5000 * sqrt((double)(t.dims[1] * 2));
  wk_value_id y = chance(k, 50) ? wk_build(k->g, WK_OP_CONV_TRANSPOSE, a, 2, real(k, &x), w)
                                : wk_build(k->g, WK_OP_CONV_TRANSPOSE, a, 3, real(k, &x), w,
                                           bias(k, x.scale, scales, dims[1], size));
  quantise(k, y, size);
}

/* ---- movement: the same bytes elsewhere ------------------------------------------------------ */

static wk_value_id reshaped(maker *k, wk_value_id x, int rank, const int64_t *dims) {
  wk_attr_reshape *a = wk_attrs_new(k->m->arena, WK_OP_RESHAPE);
  a->shape = list(k, dims, rank);
  return wk_build(k->g, WK_OP_RESHAPE, a, 1, x);
}

static wk_value_id transposed(maker *k, wk_value_id x, int rank, const int64_t *perm) {
  wk_attr_transpose *a = wk_attrs_new(k->m->arena, WK_OP_TRANSPOSE);
  a->perm = list(k, perm, rank);
  return wk_build(k->g, WK_OP_TRANSPOSE, a, 1, x);
}

static wk_value_id sliced(maker *k, wk_value_id x, int axis, int64_t from, int64_t size,
                          int64_t step) {
  const wk_type t = *type_of(k, x);
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK], steps[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) sizes[i] = t.dims[i], steps[i] = 1;
  starts[axis] = from, sizes[axis] = size, steps[axis] = step;
  wk_attr_slice *a = wk_attrs_new(k->m->arena, WK_OP_SLICE);
  a->starts = list(k, starts, t.rank);
  a->sizes = list(k, sizes, t.rank);
  a->steps = list(k, steps, t.rank);
  return wk_build(k->g, WK_OP_SLICE, a, 1, x);
}

static void slice(maker *k) {
  tensor x = *any(k);
  const wk_type t = *type_of(k, x.q);
  int axis = chance(k, 50) && t.rank > 1 ? 1 : (int)pick(k, 0, t.rank - 1);
  int64_t step = chance(k, 20) ? 2 : 1, n = t.dims[axis];
  int64_t from = chance(k, 30) ? 0 : chance(k, 40) ? n / 2 : pick(k, 0, n - 1);
  int64_t most = (n - from - 1) / step + 1;
  int64_t size = chance(k, 50) ? most : pick(k, 1, most);
  keep(k, sliced(k, x.q, axis, from, size, step), x.scale, x.zero);
}

static void split(maker *k) {
  tensor x = *any(k);
  const wk_type t = *type_of(k, x.q);
  int axis = t.rank > 1 ? 1 : 0;
  int64_t n = t.dims[axis], at = chance(k, 50) ? n / 2 : pick(k, 1, n);
  if (at < 1 || at >= n) return;
  wk_attr_split *a = wk_attrs_new(k->m->arena, WK_OP_SPLIT);
  a->axis = axis;
  a->sizes = list(k, (int64_t[]){at, n - at}, 2);
  wk_value_id out[2];
  wk_status_free(wk_graph_add(k->g, &(wk_node_desc){.op = WK_OP_SPLIT, .attrs = a, .in = &x.q,
                                                    .n_in = 1, .n_out = 2}, out));
  for (int i = 0; i < 2; i++) keep(k, out[i], x.scale, x.zero);
}

/* Two or three tensors of the same scale: with one, or parts of one, again. */
static void concat(maker *k) {
  tensor x = picture(k);
  const wk_type t = *type_of(k, x.q);
  wk_value_id in[3] = {x.q};
  int n = 1, axis = chance(k, 70) ? 1 : (int)pick(k, 0, 3);
  if (count(k, x.q) > MOST_ELEMENTS / 3) return;
  for (int i = 1; i < (chance(k, 30) ? 3 : 2); i++) {
    double size;
    tensor y = *any(k);
    const wk_type u = *type_of(k, y.q);
    bool fits = u.rank == 4 && u.dtype == t.dtype;
    for (int j = 0; j < 4 && fits; j++) fits = j == axis || u.dims[j] == t.dims[j];
    if (!fits && axis == 1 && (in[n] = convolved(k, &x, channels(k, 40), &size)) != WK_NONE) {
      quantise(k, in[n], size);
      y = k->t[k->n - 1];
      const wk_type v = *type_of(k, y.q);
      fits = v.dtype == t.dtype && v.rank == 4 && v.dims[2] == t.dims[2] && v.dims[3] == t.dims[3];
    }
    in[n++] = fits ? y.q : x.q;
  }
  wk_attr_concat *c = wk_attrs_new(k->m->arena, WK_OP_CONCAT);
  c->axis = axis;
  wk_value_id y = n == 2 ? wk_build(k->g, WK_OP_CONCAT, c, 2, in[0], in[1])
                         : wk_build(k->g, WK_OP_CONCAT, c, 3, in[0], in[1], in[2]);
  keep(k, y, x.scale, x.zero);
}

static void pad(maker *k) {
  tensor x = picture(k);
  int64_t before[4] = {0}, after[4] = {0};
  for (int i = chance(k, 30) ? 1 : 2; i < 4; i++) {
    before[i] = pick(k, 0, 2);
    after[i] = pick(k, 0, 2);
  }
  wk_attr_pad *a = wk_attrs_new(k->m->arena, WK_OP_PAD);
  a->mode = "constant";
  a->before = list(k, before, 4);
  a->after = list(k, after, 4);
  wk_value_id fill = wk_graph_scalar(k->g, type_of(k, x.q)->dtype, (double)x.zero);
  keep(k, wk_build(k->g, WK_OP_PAD, a, 2, x.q, fill), x.scale, x.zero);
}

static void transpose(maker *k) {
  tensor x = *any(k);
  const int rank = type_of(k, x.q)->rank;
  int64_t perm[WK_MAX_RANK];
  if (rank < 2) return;
  for (int i = 0; i < rank; i++) perm[i] = i;
  for (int i = 0; i < 1 + chance(k, 30); i++) {
    int64_t a = pick(k, 0, rank - 1), b = pick(k, 0, rank - 1), t = perm[a];
    perm[a] = perm[b], perm[b] = t;
  }
  keep(k, transposed(k, x.q, rank, perm), x.scale, x.zero);
}

/* [n, g * c, h, w]: channels of the groups in turns. */
static void shuffle(maker *k) {
  tensor x = picture(k);
  const wk_type t = *type_of(k, x.q);
  int64_t g = pick(k, 2, 4);
  if (t.dims[1] % g) return;
  const int64_t dims[] = {t.dims[0], g, t.dims[1] / g, t.dims[2], t.dims[3]};
  wk_value_id y = reshaped(k, x.q, 5, dims);
  y = transposed(k, y, 5, (int64_t[]){0, 2, 1, 3, 4});
  keep(k, reshaped(k, y, 4, t.dims), x.scale, x.zero);
}

/* Channels to blocks of b by b pixels, or back; a block's pixels or its channels outermost. */
static void depth_to_space(maker *k) {
  static const int64_t forth[2][6] = {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}};
  static const int64_t back[2][6] = {{0, 3, 5, 1, 2, 4}, {0, 1, 3, 5, 2, 4}};
  tensor x = picture(k);
  const wk_type t = *type_of(k, x.q);
  int64_t n = t.dims[0], c = t.dims[1], h = t.dims[2], w = t.dims[3], b = chance(k, 70) ? 2 : 3;
  const int64_t deep[2][6] = {{n, b, b, c / b / b, h, w}, {n, c / b / b, b, b, h, w}};
  int inner = chance(k, 50);
  if (c % (b * b) == 0 && chance(k, 50)) {
    wk_value_id y = transposed(k, reshaped(k, x.q, 6, deep[inner]), 6, forth[inner]);
    keep(k, reshaped(k, y, 4, (int64_t[]){n, c / b / b, b * h, b * w}), x.scale, x.zero);
  } else if (h % b == 0 && w % b == 0) {
    wk_value_id y = reshaped(k, x.q, 6, (int64_t[]){n, c, h / b, b, w / b, b});
    y = transposed(k, y, 6, back[inner]);
    keep(k, reshaped(k, y, 4, (int64_t[]){n, b * b * c, h / b, w / b}), x.scale, x.zero);
  }
}

/* The same of an image whose channels are last, to or from rows. */
static void merge_pixels(maker *k) {
  static const int64_t last[4] = {0, 2, 3, 1};
  static const int64_t back[2][6] = {{0, 1, 3, 2, 4, 5}, {0, 1, 3, 4, 2, 5}};
  tensor x = picture(k);
  const wk_type t = *type_of(k, x.q);
  int64_t n = t.dims[0], c = t.dims[1], h = t.dims[2], w = t.dims[3];
  if (h % 2 || w % 2) return;
  wk_value_id y = transposed(k, x.q, 4, last);
  y = reshaped(k, y, 6, (int64_t[]){n, h / 2, 2, w / 2, 2, c});
  y = transposed(k, y, 6, back[chance(k, 50)]);
  keep(k, chance(k, 50) ? reshaped(k, y, 4, (int64_t[]){n, h / 2, w / 2, 4 * c})
                        : reshaped(k, y, 3, (int64_t[]){n, h * w / 4, 4 * c}), x.scale, x.zero);
}

/* Images as rows, rows of pixels, or an axis cut or joined. */
static void reshape(maker *k) {
  tensor x = *any(k);
  const wk_type t = *type_of(k, x.q);
  if (t.rank == 4) {
    int64_t n = t.dims[0], c = t.dims[1], hw = t.dims[2] * t.dims[3];
    wk_value_id y = chance(k, 50) ? reshaped(k, x.q, 2, (int64_t[]){n, c * hw})
                                  : reshaped(k, x.q, 3, (int64_t[]){n, c, hw});
    if (type_of(k, y)->rank == 3 && chance(k, 60)) y = transposed(k, y, 3, (int64_t[]){0, 2, 1});
    keep(k, y, x.scale, x.zero);
  } else if (t.rank == 3) {
    int64_t d = t.dims[2], g = d % 8 == 0 ? d / 8 : d % 2 ? 1 : 2;
    keep(k, chance(k, 50) ? reshaped(k, x.q, 4, (int64_t[]){t.dims[0], t.dims[1], g, d / g})
                          : reshaped(k, x.q, 2, (int64_t[]){t.dims[0] * t.dims[1], d}),
         x.scale, x.zero);
  }
}

/* ---- products -------------------------------------------------------------------------------- */

static wk_value_id projected(maker *k, const tensor *x, int64_t out, double *size) {
  const wk_type t = *type_of(k, x->q);
  int64_t depth = t.dims[t.rank - 1], dims[] = {depth, out};
  double sw;
  wk_value_id scales, w = weights(k, 2, dims, 1, &sw, &scales);
  *size = x->scale * sw * 5000 * sqrt((double)depth);
  wk_value_id y = wk_build(k->g, WK_OP_MATMUL, NULL, 2, real(k, x), w);
  if (chance(k, 60))
    y = wk_build(k->g, WK_OP_ADD, NULL, 2, y, bias(k, x->scale, scales, out, *size));
  return y;
}

static bool is_small(const maker *k, const tensor *x, int64_t out) {
  const wk_type *t = type_of(k, x->q);
  return t->dims[t->rank - 1] <= 4096 && wk_type_count(t) * out <= MOST_MACS;
}

static void project(maker *k) {
  tensor x = sequence(k);
  double size;
  int64_t out = channels(k, 100);
  if (!is_small(k, &x, out)) return;
  wk_value_id y = projected(k, &x, out, &size);
  quantise(k, y, size);
}

/* Flattened images times a matrix. */
static void classify(maker *k) {
  tensor x = picture(k);
  const wk_type t = *type_of(k, x.q);
  double size;
  int64_t out = channels(k, 40);
  tensor flat = {0, x.scale, x.zero};
  if (t.dims[1] * t.dims[2] * t.dims[3] > 8192 || !is_small(k, &x, out)) return;
  flat.q = reshaped(k, x.q, 2, (int64_t[]){t.dims[0], t.dims[1] * t.dims[2] * t.dims[3]});
  wk_value_id y = projected(k, &flat, out, &size);
  quantise(k, y, size);
}

static tensor heads_of(maker *k, const tensor *x, int64_t heads, bool is_turned) {
  const wk_type t = *type_of(k, x->q);
  double size;
  wk_value_id v = projected(k, x, t.dims[2], &size);
  quantise(k, v, size);
  tensor y = k->t[k->n - 1];
  if (!wk_shape_equal(&t, type_of(k, y.q))) return (tensor){WK_NONE, 0, 0};
  y.q = reshaped(k, y.q, 4, (int64_t[]){t.dims[0], t.dims[1], heads, t.dims[2] / heads});
  y.q = is_turned ? transposed(k, y.q, 4, (int64_t[]){0, 2, 3, 1})
                  : transposed(k, y.q, 4, (int64_t[]){0, 2, 1, 3});
  return y;
}

static void attention(maker *k) {
  tensor x = sequence(k), y[3];
  const wk_type t = *type_of(k, x.q);
  static const int64_t some[] = {1, 2, 4};
  int64_t heads = some[pick(k, 0, 2)];
  if (t.rank != 3 || t.dims[2] % heads || !is_small(k, &x, t.dims[2])) return;
  for (int i = 0; i < 3; i++) {
    y[i] = heads_of(k, &x, heads, i == 1);
    if (y[i].q == WK_NONE) return;
  }
  quantise(k, wk_build(k->g, WK_OP_MATMUL, NULL, 2, real(k, &y[0]), real(k, &y[1])),
           size_of(k, &y[0]) * size_of(k, &y[1]) * sqrt((double)(t.dims[2] / heads)));
  tensor scores = k->t[k->n - 1];
  if (type_of(k, scores.q)->dims[3] != t.dims[1]) return;
  wk_attr_softmax *a = wk_attrs_new(k->m->arena, WK_OP_SOFTMAX);
  a->axis = 3;
  quantise(k, wk_build(k->g, WK_OP_SOFTMAX, a, 1, real(k, &scores)), 0.3);
  tensor p = k->t[k->n - 1];
  if (!wk_shape_equal(type_of(k, p.q), type_of(k, scores.q))) return;
  wk_value_id v = wk_build(k->g, WK_OP_MATMUL, NULL, 2, real(k, &p), real(k, &y[2]));
  quantise(k, v, size_of(k, &y[2]) * 0.5);
  tensor z = k->t[k->n - 1];
  if (type_of(k, z.q)->dims[3] != t.dims[2] / heads || type_of(k, z.q)->dims[1] != heads) return;
  z.q = transposed(k, z.q, 4, (int64_t[]){0, 2, 1, 3});
  keep(k, reshaped(k, z.q, 3, t.dims), z.scale, z.zero);
}

/* ---- elementwise ----------------------------------------------------------------------------- */

/* Channels times what their means say. */
static void squeeze_excite(maker *k) {
  tensor x = picture(k);
  const wk_type t = *type_of(k, x.q);
  double size;
  wk_attr_reduce_mean *a = wk_attrs_new(k->m->arena, WK_OP_REDUCE_MEAN);
  a->axes = list(k, (int64_t[]){2, 3}, 2);
  a->keepdims = 1;
  quantise(k, wk_build(k->g, WK_OP_REDUCE_MEAN, a, 1, real(k, &x)), size_of(k, &x) / 3);
  for (int i = 0; i < 2; i++) {
    tensor y = k->t[k->n - 1];
    if (type_of(k, y.q)->rank != 4 || type_of(k, y.q)->dims[0] != t.dims[0]) return;
    wk_value_id v = convolved(k, &y, i ? t.dims[1] : channels(k, 32), &size);
    if (v == WK_NONE) return;
    quantise(k, v, size);
  }
  tensor y = k->t[k->n - 1];
  const wk_type s = *type_of(k, y.q);
  if (s.rank != 4 || s.dims[1] != t.dims[1] || s.dims[2] != 1 || s.dims[3] != 1) return;
  wk_op f = chance(k, 50) ? WK_OP_SIGMOID : WK_OP_HARD_SWISH;
  quantise(k, wk_build(k->g, f, NULL, 1, real(k, &y)), 1);
  tensor z = k->t[k->n - 1];
  if (!wk_shape_equal(&s, type_of(k, z.q))) return;
  quantise(k, wk_build(k->g, WK_OP_MUL, NULL, 2, real(k, &x), real(k, &z)), size_of(k, &x));
}

/* With one number, one for each channel, for each row or pixel; a constant or an input. */
static void broadcast(maker *k) {
  static const wk_op ops[] = {WK_OP_ADD, WK_OP_SUB, WK_OP_MUL, WK_OP_MUL};
  tensor x = *any(k), y;
  const wk_type t = *type_of(k, x.q);
  int64_t dims[WK_MAX_RANK], kind = pick(k, 0, 4);
  for (int i = 0; i < t.rank; i++)
    dims[i] = kind == 0 || (kind == 1 && i != (t.rank == 4 ? 1 : t.rank - 1)) ||
                      (kind == 2 && chance(k, 50)) || (kind == 3 && i == 1)
                  ? 1
                  : t.dims[i];
  wk_type u = wk_type_make(chance(k, 50) ? WK_U8 : WK_I8, t.rank, dims);
  y = (tensor){WK_NONE, 0.02, u.dtype == WK_U8 ? 128 : 0};
  if (chance(k, 60)) {
    void *data;
    wk_status_free(wk_graph_constant_alloc(k->g, NULL, &u, &y.q, &data));
    for (int64_t i = 0; i < wk_type_count(&u); i++) ((uint8_t *)data)[i] = (uint8_t)pick(k, 0, 255);
  } else {
    add_input(k, t.rank, dims);
    y = k->t[k->n - 1];
  }
  wk_op op = ops[pick(k, 0, 3)];
  wk_value_id a = real(k, &x), b = real(k, &y);
  bool is_first = chance(k, 70);
  quantise(k, wk_build(k->g, op, NULL, 2, is_first ? a : b, is_first ? b : a),
           op == WK_OP_MUL ? size_of(k, &x) * size_of(k, &y) : size_of(k, &x) + size_of(k, &y));
}

/* Along the last axis, as attention has it. */
static void rows(maker *k) {
  tensor x = sequence(k);
  const wk_type t = *type_of(k, x.q);
  int64_t d = t.dims[t.rank - 1];
  if (chance(k, 40)) {
    wk_attr_softmax *a = wk_attrs_new(k->m->arena, WK_OP_SOFTMAX);
    a->axis = t.rank - 1;
    quantise(k, wk_build(k->g, WK_OP_SOFTMAX, a, 1, real(k, &x)), 0.5);
    return;
  }
  wk_type s = wk_type_make(WK_F32, 1, &d);
  wk_value_id gain, offset;
  void *data[2];
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &s, &gain, &data[0]));
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &s, &offset, &data[1]));
  for (int64_t i = 0; i < d; i++) {
    ((float *)data[0])[i] = (float)(0.5 + wk_rng_unit(&k->r));
    ((float *)data[1])[i] = (float)(wk_rng_unit(&k->r) - 0.5);
  }
  wk_attr_layer_norm *a = wk_attrs_new(k->m->arena, WK_OP_LAYER_NORM);
  a->axis = t.rank - 1;
  a->epsilon = 1e-5;
  quantise(k, wk_build(k->g, WK_OP_LAYER_NORM, a, 3, real(k, &x), gain, offset), 3);
}

/* A pool that every window of which touches the image. */
static void pool(maker *k) {
  tensor x = picture(k);
  const wk_type t = *type_of(k, x.q);
  random_window win = random_window_draw(&k->r, 2, t.dims + 2, 4, true);
  wk_attr_max_pool *m = wk_attrs_new(k->m->arena, WK_OP_MAX_POOL);
  m->kernel = list(k, win.kernel, 2);
  m->strides = list(k, win.strides, 2);
  m->pads = list(k, win.pads, 4);
  m->dilations = list(k, win.dilations, 2);
  keep(k, wk_build(k->g, WK_OP_MAX_POOL, m, 1, x.q), x.scale, x.zero);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void anything(maker *k) {
  for (int i = 0; i < k->n && i < 4; i++)
    if (count(k, k->t[k->n - 1 - i].q) > 4000) return;
  random_integer_any(k);
}

static void (*const draws[])(maker *) = {
    conv,   conv,  conv,   conv,      conv,    residual, residual, conv_line,      conv_transpose,
    slice,  split, concat, concat,    pad,     shuffle,  reshape,  depth_to_space, transpose,
    depth_to_space, merge_pixels, random_integer_resize, random_integer_resize,
    rows,   rows,  pool,   pool,      project, classify, attention, squeeze_excite, broadcast,
    broadcast, anything, anything, anything, anything};

wk_module *random_layers_graph(uint64_t seed, int layers) {
  maker k = {.m = wk_module_new("layers"), .r = {seed * 104729 + 1}, .largest = 24};
  k.g = wk_graph_new(k.m, "main");
  if (chance(&k, 80)) fresh_image(&k);
  else sequence(&k);
  for (int tries = 0; k.n < layers + 1 && tries < 10 * layers; tries++)
    draws[pick(&k, 0, WK_COUNTOF(draws) - 1)](&k);
  finish(&k);
  return k.m;
}
