/* SPDX-License-Identifier: Apache-2.0
 * A recommendation model of the form of DLRM (arXiv 1906.00091): numbers through a small net, each
 * categorical feature a bag of rows of its table, all their dot products, and a net on top. */
#include "compiler/zoo/nets.h"

enum { BATCH = 16, NUMBERS = 13, WIDTH = 64, ROWS = 4096, TABLES = 8, VECTORS = TABLES + 1,
       PAIRS = VECTORS * (VECTORS - 1) / 2 };

static wick_value layers(wick_builder *b, wick_value x, const int64_t *widths, int n) {
  for (int i = 0; i < n; i++) x = wick_relu(b, wick_linear(b, x, widths[i]));
  return x;
}

/* Every second table has rows of 8-bit numbers. */
static wick_value feature(wick_builder *b, int k) {
  static const int64_t sizes[TABLES] = {1, 2, 3, 5, 8, 12, 20, 40};
  char name[16];
  snprintf(name, sizeof name, "feature%d", k);
  wick_value ids = wick_input(b, name, WK_I64, 2, (const int64_t[]){BATCH, sizes[k]});
  return wick_bag(b, ids, ROWS, WIDTH, k % 2 == 1);
}

/* The dot products of each vector with those before it. */
static wick_value interact(wick_builder *b, const wick_value *vectors) {
  int64_t pairs[PAIRS], n = 0;
  wick_value rows[VECTORS];
  for (int i = 0; i < VECTORS; i++)
    rows[i] = wick_reshape(b, vectors[i], 3, (const int64_t[]){BATCH, 1, WIDTH});
  wick_value x = wick_concat(b, rows, VECTORS, 1);
  wick_value y = wick_matmul(b, x, wick_transpose(b, x, (const int64_t[]){0, 2, 1}));
  for (int i = 1; i < VECTORS; i++)
    for (int k = 0; k < i; k++) pairs[n++] = i * VECTORS + k;
  return wick_select(b, wick_flatten(b, y), 1, pairs, n);
}

void wk_zoo_dlrm(wick_builder *b) {
  wick_value vectors[VECTORS];
  wick_value x = wick_input(b, "numbers", WK_F32, 2, (const int64_t[]){BATCH, NUMBERS});
  wick_scope(b, "bottom");
  vectors[0] = layers(b, x, (const int64_t[]){512, 256, WIDTH}, 3);
  wick_scope(b, "tables");
  for (int k = 0; k < TABLES; k++) vectors[1 + k] = feature(b, k);
  wick_scope(b, "interaction");
  wick_value both[] = {vectors[0], interact(b, vectors)};
  wick_scope(b, "top");
  x = layers(b, wick_concat(b, both, 2, 1), (const int64_t[]){512, 256}, 2);
  wick_output(b, "click", wick_unary(b, WK_OP_SIGMOID, wick_linear(b, x, 1)));
}
