/* SPDX-License-Identifier: Apache-2.0
 * ConvNeXt-T (arXiv 2201.03545) and Swin-T (arXiv 2103.14030): four stages of images whose channels
 * lie last between convolutions. */
#include "compiler/zoo/nets.h"

#include <stdlib.h>

enum { STAGES = 4, WIDTH = 96 };

static void block_scope(wick_builder *b, int stage, int i) {
  char scope[32];
  snprintf(scope, sizeof scope, "stage%d.%d", stage, i);
  wick_scope(b, scope);
}

static wick_value channels_last(wick_builder *b, wick_value x) {
  return wick_transpose(b, x, (const int64_t[]){0, 2, 3, 1});
}

static wick_value channels_first(wick_builder *b, wick_value x) {
  return wick_transpose(b, x, (const int64_t[]){0, 3, 1, 2});
}

/* Windows side by side. */
static wick_value patches(wick_builder *b, wick_value x, int64_t out, int64_t side) {
  return wick_conv(b, x,
                   &(wick_conv_opts){.out = out, .kernel = side, .stride = side, .bias = true});
}

static wick_value feed_forward(wick_builder *b, wick_value x) {
  const wk_type t = wick_type_of(b, x);
  int64_t width = t.dims[t.rank - 1];
  x = wick_linear(b, x, 4 * width);
  return wick_linear(b, wick_unary(b, WK_OP_GELU, x), width);
}

/* ---- ConvNeXt -------------------------------------------------------------------------------- */

static wick_value norm_of_image(wick_builder *b, wick_value x) {
  return channels_first(b, wick_layer_norm(b, channels_last(b, x)));
}

static wick_value convnext_block(wick_builder *b, wick_value x) {
  int64_t c = wick_type_of(b, x).dims[1];
  wick_value y = wick_conv(
      b, x, &(wick_conv_opts){.out = c, .kernel = 7, .pad = 3, .group = c, .bias = true});
  y = feed_forward(b, wick_layer_norm(b, channels_last(b, y)));
  y = wick_mul(b, y, wick_parameter(b, 1, &c, 0.3f));
  return wick_add(b, x, channels_first(b, y));
}

void wk_zoo_convnext_tiny(wick_builder *b) {
  static const int depths[STAGES] = {3, 3, 9, 3};
  wick_scope(b, "stem");
  wick_value x = norm_of_image(b, patches(b, wk_zoo_image(b, 224), WIDTH, 4));
  for (int s = 0; s < STAGES; s++) {
    wick_scope(b, "downsample");
    if (s) x = patches(b, norm_of_image(b, x), WIDTH << s, 2);
    for (int i = 0; i < depths[s]; i++) {
      block_scope(b, s, i);
      x = convnext_block(b, x);
    }
  }
  wick_scope(b, "classifier");
  x = norm_of_image(b, wick_global_avg_pool(b, x));
  wick_output(b, "output", wick_linear(b, wick_flatten(b, x), 1000));
}

/* ---- Swin ------------------------------------------------------------------------------------ */

enum { SIDE = 7, CELLS = SIDE * SIDE, SHIFT = SIDE / 2 }; /* of windows */

/* Images whose rows and columns begin with those at `from`. */
static wick_value rolled(wick_builder *b, wick_value x, int64_t from) {
  for (int axis = 1; axis <= 2; axis++) {
    int64_t n = wick_type_of(b, x).dims[axis];
    wick_value parts[2] = {wick_slice(b, x, axis, from, n - from), wick_slice(b, x, axis, 0, from)};
    x = wick_concat(b, parts, 2, axis);
  }
  return x;
}

/* [n, h, w, c] as [n * windows, cells, c], and back. */
static wick_value as_windows(wick_builder *b, wick_value x) {
  const wk_type t = wick_type_of(b, x);
  const int64_t *d = t.dims, h = d[1] / SIDE, w = d[2] / SIDE;
  x = wick_reshape(b, x, 6, (const int64_t[]){d[0], h, SIDE, w, SIDE, d[3]});
  x = wick_transpose(b, x, (const int64_t[]){0, 1, 3, 2, 4, 5});
  return wick_reshape(b, x, 3, (const int64_t[]){d[0] * h * w, CELLS, d[3]});
}

static wick_value as_image(wick_builder *b, wick_value x, const wk_type *t) {
  const int64_t *d = t->dims, h = d[1] / SIDE, w = d[2] / SIDE;
  x = wick_reshape(b, x, 6, (const int64_t[]){d[0], h, w, SIDE, SIDE, d[3]});
  x = wick_transpose(b, x, (const int64_t[]){0, 1, 3, 2, 4, 5});
  return wick_reshape(b, x, 4, d);
}

/* A number for each head and distance between two cells, looked up: [1, heads, cells, cells]. */
static wick_value position_bias(wick_builder *b, int64_t heads) {
  enum { REACH = 2 * SIDE - 1 };
  int64_t at[CELLS * CELLS];
  for (int64_t i = 0; i < CELLS; i++)
    for (int64_t k = 0; k < CELLS; k++)
      at[i * CELLS + k] = (i / SIDE - k / SIDE + SIDE - 1) * REACH + i % SIDE - k % SIDE + SIDE - 1;
  wick_value x = wick_parameter(b, 2, (const int64_t[]){REACH * REACH, heads}, 0.5f);
  x = wick_select(b, x, 0, at, CELLS * CELLS);
  x = wick_reshape(b, x, 3, (const int64_t[]){CELLS, CELLS, heads});
  x = wick_transpose(b, x, (const int64_t[]){2, 0, 1});
  return wick_reshape(b, x, 4, (const int64_t[]){1, heads, CELLS, CELLS});
}

/* Which part of a shifted image of `size` rows a row was in: 0, 1 or 2. */
static int region(int64_t size, int64_t row) {
  return row < size - SIDE ? 0 : row < size - SHIFT ? 1 : 2;
}

/* [1, windows, 1, cells, cells]: -100 between cells that a shift alone has brought together. */
static wick_value shift_mask(wick_builder *b, int64_t size) {
  int64_t side = size / SIDE, windows = side * side;
  float *x = wk_xcalloc((size_t)(windows * CELLS * CELLS), sizeof *x);
  for (int64_t w = 0; w < windows; w++)
    for (int64_t i = 0; i < CELLS * CELLS; i++) {
      int of[2];
      for (int k = 0; k < 2; k++) {
        int64_t cell = k ? i % CELLS : i / CELLS;
        of[k] = 3 * region(size, w / side * SIDE + cell / SIDE) +
                region(size, w % side * SIDE + cell % SIDE);
      }
      x[w * CELLS * CELLS + i] = of[0] == of[1] ? 0 : -100;
    }
  wick_value v = wick_constant(b, 5, (const int64_t[]){1, windows, 1, CELLS, CELLS}, x);
  free(x);
  return v;
}

static wick_value window_attention(wick_builder *b, wick_value x, int64_t heads, wick_value mask) {
  const wk_type t = wick_type_of(b, x);
  int64_t width = t.dims[2], windows = t.dims[0];
  wick_value q = wk_zoo_heads(b, wick_linear(b, x, width), heads);
  wick_value k = wk_zoo_heads(b, wick_linear(b, x, width), heads);
  wick_value v = wk_zoo_heads(b, wick_linear(b, x, width), heads);
  wick_value s = wick_add(b, wk_zoo_scores(b, q, k), position_bias(b, heads));
  if (mask != WICK_NO_VALUE) {
    int64_t each = wick_type_of(b, mask).dims[1];
    s = wick_reshape(b, s, 5, (const int64_t[]){windows / each, each, heads, CELLS, CELLS});
    s = wick_reshape(b, wick_add(b, s, mask), 4, (const int64_t[]){windows, heads, CELLS, CELLS});
  }
  return wick_linear(b, wk_zoo_mix(b, s, v), width);
}

static wick_value swin_block(wick_builder *b, wick_value x, int64_t heads, bool shifted) {
  const wk_type t = wick_type_of(b, x);
  wick_value y = wick_layer_norm(b, x), mask = WICK_NO_VALUE;
  if (shifted) {
    mask = shift_mask(b, t.dims[1]);
    y = rolled(b, y, SHIFT);
  }
  y = as_image(b, window_attention(b, as_windows(b, y), heads, mask), &t);
  if (shifted) y = rolled(b, y, t.dims[1] - SHIFT);
  x = wick_add(b, x, y);
  return wick_add(b, x, feed_forward(b, wick_layer_norm(b, x)));
}

/* Every other row or column, from `first` on. */
static wick_value every_other(wick_builder *b, wick_value x, int axis, int64_t first) {
  return wick_slice_steps(b, x, axis, first, wick_type_of(b, x).dims[axis] / 2, 2);
}

static wick_value merged(wick_builder *b, wick_value x) {
  wick_value parts[4];
  for (int k = 0; k < 4; k++)
    parts[k] = every_other(b, every_other(b, x, 1, k % 2), 2, k / 2);
  x = wick_layer_norm(b, wick_concat(b, parts, 4, 3));
  return wick_project(b, x, wick_type_of(b, x).dims[3] / 2);
}

void wk_zoo_swin_tiny(wick_builder *b) {
  static const int depths[STAGES] = {2, 2, 6, 2};
  wick_scope(b, "stem");
  wick_value x = channels_last(b, patches(b, wk_zoo_image(b, 224), WIDTH, 4));
  x = wick_layer_norm(b, x);
  for (int s = 0; s < STAGES; s++) {
    wick_scope(b, "merge");
    if (s) x = merged(b, x);
    for (int i = 0; i < depths[s]; i++) {
      block_scope(b, s, i);
      x = swin_block(b, x, 3 << s, i % 2 && wick_type_of(b, x).dims[1] > SIDE);
    }
  }
  wick_scope(b, "classifier");
  const wk_type t = wick_type_of(b, x);
  x = wick_reshape(b, wick_layer_norm(b, x), 3, (const int64_t[]){t.dims[0], CELLS, t.dims[3]});
  wick_output(b, "output", wick_linear(b, wick_mean(b, x, 1, false), 1000));
}
