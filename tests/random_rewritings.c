/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/random_rewritings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/random_rewritings_net.h"

/* ---- products -------------------------------------------------------------------------------- */

/* Rows of pixels through two layers: as rows, as a batch of rows, as an image. */
static const char *const product_forms[] = {
    "Gemm", "MatMul", "1x1 Conv", "Conv from rows", "Conv of a column", "Conv of a line", NULL};
static void product(net *n, int form) {
  enum { GEMM, MATMUL, CONV, CONV_OF_ROWS, COLUMN, LINE };
  int64_t h = pick(n, 4, 16), w = pick(n, 4, 16), c = channels(n), d = channels(n),
          e = channels(n), rows = h * w;
  wk_value_id x = form == GEMM || form == CONV_OF_ROWS ? input(n, SHAPE(rows, c))
                  : form == MATMUL                     ? input(n, SHAPE(1, rows, c))
                  : form == CONV                       ? input(n, SHAPE(1, c, h, w))
                  : form == COLUMN                     ? input(n, SHAPE(1, c, rows, 1))
                                                       : input(n, SHAPE(1, c, 1, rows));
  if (form == CONV_OF_ROWS)
    x = transposed(n, reshaped(n, x, SHAPE(1, h, w, c)), SHAPE(0, 3, 1, 2));
  if (form <= MATMUL) {
    x = rounded(n, relu(n, linear(n, x, d)));
    x = rounded(n, linear(n, x, e));
  } else {
    x = rounded(n, relu(n, conv(n, x, d, 1, 1, 1)));
    x = rounded(n, conv(n, x, e, 1, 1, 1));
  }
  if (form == CONV_OF_ROWS)
    x = reshaped(n, transposed(n, x, SHAPE(0, 2, 3, 1)), SHAPE(rows, e));
  output(n, x);
}

static const char *const rank_forms[] = {"2-D", "3-D", "4-D", "3-D of several", "in and out",
                                         NULL};
static void ranks(net *n, int form) {
  enum { TWO, THREE, FOUR, SEVERAL, IN_AND_OUT };
  int64_t a = pick(n, 2, 8), b = pick(n, 8, 24), c = channels(n), d = channels(n);
  wk_value_id x = form == THREE     ? input(n, SHAPE(1, a * b, c))
                  : form == FOUR    ? input(n, SHAPE(1, a, b, c))
                  : form == SEVERAL ? input(n, SHAPE(a, b, c))
                                    : input(n, SHAPE(a * b, c));
  for (int i = 0; i < 3; i++) {
    int64_t out = i == 1 ? c : d;
    if (form == IN_AND_OUT) x = reshaped(n, x, SHAPE(1, a, b, i == 1 ? d : c));
    x = rounded(n, relu(n, linear(n, x, out)));
    if (form == IN_AND_OUT) x = reshaped(n, x, SHAPE(a * b, out));
  }
  output(n, x);
}

/* ---- layouts --------------------------------------------------------------------------------- */

static wk_value_id turned(net *n, wk_value_id x, bool is_turned, bool is_back) {
  if (!is_turned) return x;
  return is_back ? transposed(n, x, SHAPE(0, 2, 3, 1)) : transposed(n, x, SHAPE(0, 3, 1, 2));
}

static const char *const layout_forms[] = {"NCHW", "NHWC", "NHWC around each", NULL};
static void layout(net *n, int form) {
  enum { NCHW, NHWC, EACH };
  int64_t h = pick(n, 8, 24), w = pick(n, 8, 24), c = pick(n, 0, 3) ? channels(n) : 3;
  int64_t d = channels(n);
  bool each = form == EACH;
  wk_value_id x = form == NCHW ? input(n, SHAPE(1, c, h, w)) : input(n, SHAPE(1, h, w, c));
  if (form == NHWC) x = turned(n, x, true, false);
  x = turned(n, conv(n, turned(n, x, each, false), d, 3, 1, 1), each, true);
  wk_value_id y = x = rounded(n, relu(n, x));
  y = turned(n, conv(n, turned(n, y, each, false), d, 3, 1, pick(n, 0, 1) ? 1 : d), each,
             true);
  y = rounded(n, y);
  x = rounded(n, relu(n, two(n, WK_OP_ADD, y, x)));
  x = turned(n, max_pool(n, turned(n, x, each, false)), each, true);
  x = turned(n, conv(n, turned(n, x, each, false), c, 1, 1, 1), each, true);
  x = rounded(n, x);
  if (form == NHWC) x = turned(n, x, true, true);
  output(n, x);
}

static const char *const line_forms[] = {"Conv1d", "Conv2d of height 1", "Conv2d of width 1", NULL};
static void line(net *n, int form) {
  int64_t w = pick(n, 20, 200), c = channels(n), d = channels(n), k = 1 + 2 * pick(n, 0, 3);
  wk_value_id x = form == 0   ? input(n, SHAPE(1, c, w))
                  : form == 1 ? input(n, SHAPE(1, c, 1, w))
                              : input(n, SHAPE(1, c, w, 1));
  for (int i = 0; i < 2; i++) {
    x = form == 0 ? conv_line(n, x, i ? c : d, k)
                  : conv_window(n, x, i ? c : d, form == 1 ? 1 : k, form == 1 ? k : 1);
    x = rounded(n, relu(n, x));
  }
  output(n, x);
}

/* ---- attention ------------------------------------------------------------------------------- */

typedef struct {
  int64_t rows, width, heads;
} attention_size;

static wk_value_id head_of(net *n, wk_value_id x, const attention_size *s, int64_t from) {
  return sliced(n, x, 1, from, s->width / s->heads);
}

static wk_value_id scores_of(net *n, wk_value_id q, wk_value_id k, wk_value_id v) {
  wk_value_id p = rounded(n, two(n, WK_OP_MATMUL, q, k));
  p = rounded_as(n, softmax(n, p), 1.0 / 256, 0);
  return rounded(n, two(n, WK_OP_MATMUL, p, v));
}

static const char *const head_forms[] = {"4-D", "3-D", "joined projection", "joined, 5-D",
                                         "head by head", NULL};
static void heads(net *n, int form) {
  enum { RANK_4, RANK_3, JOINED, JOINED_5, EACH };
  static const int64_t counts[] = {1, 2, 4};
  attention_size s = {.rows = 8 * pick(n, 2, 8), .heads = counts[pick(n, 0, 2)]};
  int64_t d = 16 * pick(n, 1, 3), r = s.rows, h = s.heads, width = s.width = h * d;
  bool is_flat = form == EACH || form == RANK_3;
  wk_value_id x = is_flat ? input(n, SHAPE(r, width)) : input(n, SHAPE(1, r, width));
  bool is_joined = form == JOINED || form == JOINED_5;
  wk_value_id y[3], joined = is_joined ? rounded(n, linear(n, x, 3 * width)) : WK_NONE, out;
  if (form == JOINED_5)
    joined = transposed(n, reshaped(n, joined, SHAPE(1, r, 3, h, d)), SHAPE(2, 0, 3, 1, 4));
  for (int i = 0; i < 3; i++)
    y[i] = form == JOINED_5 ? reshaped(n, sliced(n, joined, 0, i, 1), SHAPE(1, h, r, d))
           : is_joined      ? sliced(n, joined, 2, i * width, width)
                            : rounded(n, linear(n, x, width));
  if (form == EACH) {
    wk_value_id all[4];
    for (int64_t k = 0; k < h; k++)
      all[k] = scores_of(n, head_of(n, y[0], &s, k * d),
                         transposed(n, head_of(n, y[1], &s, k * d), SHAPE(1, 0)),
                         head_of(n, y[2], &s, k * d));
    out = concat(n, 1, (int)h, all);
  } else if (form == RANK_3) {
    for (int i = 0; i < 3; i++)
      y[i] = i == 1 ? transposed(n, reshaped(n, y[i], SHAPE(r, h, d)), SHAPE(1, 2, 0))
                    : transposed(n, reshaped(n, y[i], SHAPE(r, h, d)), SHAPE(1, 0, 2));
    out = reshaped(n, transposed(n, scores_of(n, y[0], y[1], y[2]), SHAPE(1, 0, 2)),
                   SHAPE(r, width));
  } else {
    for (int i = 0; i < 3 && form != JOINED_5; i++)
      y[i] = transposed(n, reshaped(n, y[i], SHAPE(1, r, h, d)), SHAPE(0, 2, 1, 3));
    y[1] = transposed(n, y[1], SHAPE(0, 1, 3, 2));
    out = reshaped(n, transposed(n, scores_of(n, y[0], y[1], y[2]), SHAPE(0, 2, 1, 3)),
                   SHAPE(1, r, width));
  }
  output(n, rounded(n, linear(n, out, width)));
}

/* ---- fused and unfused ----------------------------------------------------------------------- */

static const char *const softmax_forms[] = {"Softmax", "written out", "less its maximum", NULL};
static void softmax_forms_of(net *n, int form) {
  int64_t rows = pick(n, 16, 100), c = channels(n), d = channels(n);
  wk_value_id x = rounded(n, linear(n, input(n, SHAPE(rows, c)), d));
  if (form == 0) x = softmax(n, x);
  else {
    if (form == 2) x = two(n, WK_OP_SUB, x, folded(n, WK_OP_REDUCE_MAX, x));
    x = one(n, WK_OP_EXP, x);
    x = two(n, WK_OP_DIV, x, folded(n, WK_OP_REDUCE_SUM, x));
  }
  x = rounded_as(n, x, 1.0 / 256, 0);
  output(n, rounded(n, linear(n, x, c)));
}

static const char *const norm_forms[] = {"LayerNormalization", "written out", "by Pow and Sqrt",
                                         "by two means", NULL};
static void norm(net *n, int form) {
  enum { WHOLE, MUL, POW, TWICE };
  int64_t rows = pick(n, 16, 100), c = channels(n), d = channels(n);
  wk_value_id x = rounded(n, linear(n, input(n, SHAPE(1, rows, c)), d));
  wk_value_id gain = numbers(n, SHAPE(d), 0.5, 1.5), bias = numbers(n, SHAPE(d), -1, 1);
  if (form == WHOLE) x = layer_norm(n, x, gain, bias);
  else {
    wk_value_id y = two(n, WK_OP_SUB, x, folded(n, WK_OP_REDUCE_MEAN, x));
    wk_value_id z = form != TWICE ? y : two(n, WK_OP_SUB, x, folded(n, WK_OP_REDUCE_MEAN, x));
    wk_value_id square = form == MUL ? two(n, WK_OP_MUL, y, y)
                                     : two(n, WK_OP_POW, z, number(n, 2));
    wk_value_id v = two(n, WK_OP_ADD, folded(n, WK_OP_REDUCE_MEAN, square), number(n, 1e-5));
    y = two(n, WK_OP_DIV, y, one(n, WK_OP_SQRT, v));
    x = two(n, WK_OP_ADD, two(n, WK_OP_MUL, y, gain), bias);
  }
  output(n, rounded(n, linear(n, rounded(n, x), c)));
}

static wk_value_id hard_swish(net *n, wk_value_id x, bool is_rounded) {
  wk_value_id y = two(n, WK_OP_ADD, x, number(n, 3));
  y = clipped(n, y, 0, 6);
  if (is_rounded) y = rounded_as(n, y, 6.0 / 255, 0);
  return two(n, WK_OP_DIV, two(n, WK_OP_MUL, x, y), number(n, 6));
}

static wk_value_id gelu(net *n, wk_value_id x, bool is_rounded) {
  wk_value_id y = one(n, WK_OP_ERF, two(n, WK_OP_DIV, x, number(n, 1.41421356237)));
  if (is_rounded) y = rounded_as(n, y, 1.0 / 128, 128);
  y = two(n, WK_OP_ADD, y, number(n, 1));
  return two(n, WK_OP_MUL, two(n, WK_OP_MUL, x, y), number(n, 0.5));
}

static wk_value_id silu(net *n, wk_value_id x, bool is_rounded) {
  wk_value_id y = one(n, WK_OP_SIGMOID, x);
  if (is_rounded) y = rounded_as(n, y, 1.0 / 256, 0);
  return two(n, WK_OP_MUL, y, x);
}

static const char *const activation_forms[] = {"operator", "written out", "rounded between", NULL};
static void activation(net *n, int form) {
  static const wk_op ops[] = {WK_OP_HARD_SWISH, WK_OP_GELU, WK_OP_SILU};
  static wk_value_id (*const written[])(net *, wk_value_id, bool) = {hard_swish, gelu, silu};
  int kind = (int)pick(n, 0, 2);
  int64_t h = pick(n, 8, 24), c = channels(n), d = channels(n);
  wk_value_id x = input(n, SHAPE(1, c, h, h));
  for (int i = 0; i < 2; i++) {
    x = rounded(n, conv(n, x, d, i ? 3 : 1, 1, i ? d : 1));
    x = form == 0 ? one(n, ops[kind], x) : written[kind](n, x, form == 2);
    x = rounded(n, x);
  }
  output(n, rounded(n, conv(n, x, c, 1, 1, 1)));
}

static const char *const batch_norm_forms[] = {"folded", "BatchNormalization", "Mul and Add", NULL};
static void batch_norm(net *n, int form) {
  int64_t h = pick(n, 8, 24), c = channels(n), d = channels(n);
  wk_value_id x = input(n, SHAPE(1, c, h, h));
  for (int i = 0; i < 2; i++) {
    x = conv(n, x, d, i ? 3 : 1, 1, i ? d : 1);
    if (form == 1) x = normed(n, x, d);
    if (form == 2) {
      x = two(n, WK_OP_MUL, x, numbers(n, SHAPE(1, d, 1, 1), 0.5, 1.5));
      x = two(n, WK_OP_ADD, x, numbers(n, SHAPE(1, d, 1, 1), -1, 1));
    }
    x = rounded(n, relu(n, x));
  }
  output(n, rounded(n, conv(n, x, c, 1, 1, 1)));
}

static const char *const pad_forms[] = {"pads", "Pad before", "Pad of integers before", NULL};
static void pads(net *n, int form) {
  int64_t h = pick(n, 8, 24), c = channels(n), d = channels(n), stride = pick(n, 1, 2);
  int64_t of[] = {pick(n, 0, 1), pick(n, 0, 1), pick(n, 1, 2), pick(n, 1, 2)};
  wk_value_id x = input(n, SHAPE(1, c, h, h));
  x = rounded(n, relu(n, conv(n, x, d, 1, 1, 1)));
  if (form == 1) x = padded(n, x, of);
  if (form == 2) x = padded_integers(n, x, of);
  x = form ? conv_padded(n, x, d, 3, stride, (int64_t[4]){0}) : conv_padded(n, x, d, 3, stride, of);
  output(n, rounded(n, relu(n, x)));
}

/* ---- orders ---------------------------------------------------------------------------------- */

static const char *const order_forms[] = {"first to last", "last to first", "side by side", NULL};
static void orders(net *n, int form) {
  int64_t h = pick(n, 8, 20), c = channels(n), d[3] = {channels(n), channels(n), channels(n)};
  wk_value_id x = input(n, SHAPE(1, c, h, h)), y[3], w[3][2], b[3][2];
  x = rounded(n, relu(n, conv(n, x, c, 1, 1, 1)));
  for (int i = 0; i < 3; i++) {
    y[i] = x;
    for (int k = 0; k < 2; k++) {
      int64_t size = k && i ? 3 : 1;
      w[i][k] = weights(n, SHAPE(d[i], k ? d[i] : c, size, size));
      b[i][k] = bias(n, d[i]);
    }
  }
  for (int at = 0; at < 6; at++) {
    int i = form == 0 ? at / 2 : form == 1 ? 2 - at / 2 : at % 3, k = form == 2 ? at / 3 : at % 2;
    y[i] = rounded(n, relu(n, conv_by(n, y[i], w[i][k], b[i][k], k && i ? 1 : 0)));
  }
  x = concat(n, 1, 3, y);
  output(n, rounded(n, conv(n, x, c, 1, 1, 1)));
}

static const char *const operand_forms[] = {"y + x", "x + y", "Clip for Relu", "Max for Relu",
                                            NULL};
static void operands(net *n, int form) {
  int64_t h = pick(n, 8, 24), c = channels(n), d = channels(n);
  wk_value_id x = input(n, SHAPE(1, c, h, h));
  for (int i = 0; i < 2; i++) {
    wk_value_id y = rounded(n, relu(n, conv(n, x, d, 1, 1, 1)));
    y = rounded(n, conv(n, y, c, 3, 1, 1));
    y = form == 1 ? two(n, WK_OP_ADD, x, y) : two(n, WK_OP_ADD, y, x);
    y = form == 2   ? clipped(n, y, 0, INFINITY)
        : form == 3 ? two(n, WK_OP_MAX, y, number(n, 0))
                    : relu(n, y);
    x = rounded(n, y);
  }
  output(n, x);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static const char *const group_forms[] = {"groups", "slices and Concat", "Split and Concat", NULL};
static void groups(net *n, int form) {
  int64_t h = pick(n, 8, 20), g = pick(n, 2, 3), c = 16 * pick(n, 1, 2), d = 16 * pick(n, 1, 2);
  wk_value_id x = input(n, SHAPE(1, g * c, h, h)), y[3], parts[3];
  x = rounded(n, relu(n, conv(n, x, g * c, 1, 1, 1)));
  if (form == 0) x = rounded(n, relu(n, conv(n, x, g * d, 3, 1, g)));
  else {
    if (form == 2) split(n, x, 1, g, parts);
    for (int64_t i = 0; i < g; i++) {
      y[i] = form == 2 ? parts[i] : sliced(n, x, 1, i * c, c);
      y[i] = rounded(n, relu(n, conv(n, y[i], d, 3, 1, 1)));
    }
    x = concat(n, 1, (int)g, y);
  }
  output(n, rounded(n, conv(n, x, c, 1, 1, 1)));
}

static const char *const classifier_forms[] = {"Flatten and Gemm", "Reshape and MatMul",
                                               "Conv of all", NULL};
static void classifier(net *n, int form) {
  int64_t h = pick(n, 2, 6), c = channels(n), d = channels(n);
  wk_value_id x = input(n, SHAPE(1, c, h, h));
  x = rounded(n, relu(n, conv(n, x, d, 3, 1, 1)));
  if (form == 2) x = conv_padded(n, x, 32, h, 1, (int64_t[4]){0});
  else {
    x = form == 0 ? reshaped(n, x, SHAPE(1, d * h * h)) : reshaped(n, x, SHAPE(1, 1, d * h * h));
    x = linear(n, x, 32);
  }
  output(n, rounded(n, x));
}

static const char *const patch_forms[] = {"Conv of patches", "MatMul of patches", NULL};
static void patches(net *n, int form) {
  int64_t k = 4 * pick(n, 1, 3), h = pick(n, 3, 8), w = pick(n, 3, 8), d = channels(n);
  wk_value_id x = input(n, SHAPE(1, 3, h * k, w * k));
  if (form == 0) {
    x = conv_padded(n, x, d, k, k, (int64_t[4]){0});
    x = transposed(n, reshaped(n, rounded(n, x), SHAPE(1, d, h * w)), SHAPE(0, 2, 1));
  } else {
    x = transposed(n, reshaped(n, x, SHAPE(1, 3, h, k, w, k)), SHAPE(0, 2, 4, 1, 3, 5));
    x = rounded(n, linear(n, reshaped(n, x, SHAPE(1, h * w, 3 * k * k)), d));
  }
  output(n, rounded(n, linear(n, x, d)));
}

static const char *const concat_forms[] = {"at once", "one by one", NULL};
static void concats(net *n, int form) {
  int64_t h = pick(n, 8, 20), c = 16 * pick(n, 1, 3);
  wk_value_id x = input(n, SHAPE(1, c, h, h)), y[3];
  for (int i = 0; i < 3; i++) y[i] = rounded(n, relu(n, conv(n, x, c, i ? 3 : 1, 1, 1)));
  if (form == 0) x = concat(n, 1, 3, y);
  else x = concat(n, 1, 2, (wk_value_id[]){concat(n, 1, 2, y), y[2]});
  output(n, rounded(n, conv(n, x, c, 1, 1, 1)));
}

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
  random_rewriting of;
  void (*build)(net *n, int form);
} all[] = {
    {{"products", product_forms, 0.01, NULL}, product},
    {{"ranks", rank_forms, 0.01, NULL}, ranks},
    {{"layouts", layout_forms, 0.01, NULL}, layout},
    {{"lines", line_forms, 0.01, NULL}, line},
    {{"heads", head_forms, 0.01, NULL}, heads},
    {{"softmax", softmax_forms, 0.01, NULL}, softmax_forms_of},
    {{"layer norm", norm_forms, 0.01, NULL}, norm},
    {{"activations", activation_forms, 0.01, NULL}, activation},
    {{"batch norm", batch_norm_forms, 0.01, NULL}, batch_norm},
    {{"pads", pad_forms, 0.01, NULL}, pads},
    {{"order of branches", order_forms, 0.01, NULL}, orders},
    {{"operands", operand_forms, 0.01, NULL}, operands},
    {{"groups", group_forms, 0.01, NULL}, groups},
    {{"classifiers", classifier_forms, 0.01, NULL}, classifier},
    {{"patches", patch_forms, 0.01, NULL}, patches},
    {{"concatenations", concat_forms, 0.01, NULL}, concats},
};

const random_rewriting *random_rewriting_at(size_t i) {
  return i < sizeof all / sizeof *all ? &all[i].of : NULL;
}

wk_module *random_rewritten(size_t i, int form, uint64_t seed) {
  net n = {.m = wk_module_new("rewritten"), .r = {seed}};
  n.g = wk_graph_new(n.m, "main");
  n.m->main = n.g;
  all[i].build(&n, form);
  return n.m;
}
