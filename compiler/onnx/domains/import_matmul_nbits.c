/* SPDX-License-Identifier: Apache-2.0
 * com.microsoft MatMulNBits: a product with weights of 2, 4 or 8 bits in blocks along k, each block
 * with a scale and a zero point. Along k the values of one byte lie side by side, and so do those
 * of a word. */
#include <string.h>

#include "compiler/lower/blocks.h"
#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

typedef struct {
  wk_blocks w;
  int64_t blocks, bytes; /* bytes of one block */
  int64_t rows;          /* of the operand, all leading axes together */
  int per;               /* values in a byte */
} packed;

static wk_value_id map(wk_onnx_node *c, wk_dtype out, const char *text, const char *names,
                       const wk_value_id *in, int n) {
  wk_dtype dtypes[4];
  wk_expr *e = NULL;
  wk_value_id y = WK_NONE;
  wk_arena *a = c->im->m->arena;
  for (int i = 0; i < n; i++) dtypes[i] = wk_onnx_type(c, in[i])->dtype;
  if (c->status) return WK_NONE;
  wk_onnx_latch(c, wk_expr_template(a, text, names, dtypes, n, out, NULL, NULL, &e));
  if (c->status) return WK_NONE;
  WK_MAKE_ATTRS(c, m, MAP, map);
  m->body = e;
  wk_make_n(c, WK_OP_MAP, m, in, n, &y, 1);
  return y;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Weights are constants, as a rule, and the time to move them is now. */
static wk_value_id tiled_constant(wk_onnx_node *c, const packed *p, wk_value_id x, wk_dtype t,
                                  int64_t words) {
  const int64_t dims[] = {wk_block_tiles(&p->w), p->blocks, words, p->w.columns};
  int64_t run = p->blocks * words;
  size_t size = (size_t)wk_dtype_size(t);
  const uint8_t *from = wk_val(c->g, x)->data;
  const wk_type type = wk_type_make(t, 4, dims);
  void *data;
  wk_value_id y = wk_make_constant(c, &type, &data);
  for (int64_t n = 0; data && n < p->w.n; n++) {
    int64_t at = n / p->w.columns * run * p->w.columns + n % p->w.columns;
    uint8_t *to = (uint8_t *)data + (size_t)at * size;
    for (int64_t i = 0; i < run; i++, from += size, to += size * p->w.columns)
      memcpy(to, from, size);
  }
  return y;
}

/* x of n * blocks * words elements as blocks.h has it. */
static wk_value_id tiled(wk_onnx_node *c, const packed *p, wk_value_id x, int64_t words) {
  static const int64_t columns_last[] = {0, 2, 3, 1};
  const int64_t flat[] = {p->w.n, p->blocks * words};
  int64_t tiles = wk_block_tiles(&p->w), missing = tiles * p->w.columns - p->w.n;
  const int64_t apart[] = {tiles, p->w.columns, p->blocks, words};
  if (wk_onnx_ok(c) && wk_is_const(c->g, x))
    return tiled_constant(c, p, x, wk_onnx_type(c, x)->dtype, words);
  x = wk_make_reshape(c, x, 2, flat);
  if (missing && wk_onnx_ok(c)) {
    WK_MAKE_ATTRS(c, a, PAD, pad);
    a->before = wk_ints_fill(c->im->m->arena, 2, 0);
    a->after = wk_ints_dup(c->im->m->arena, (const int64_t[]){missing, 0}, 2);
    x = wk_make(c, WK_OP_PAD, a, 1, x);
  }
  return wk_make_transpose(c, wk_make_reshape(c, x, 4, apart), columns_last);
}

/* x, given with any axes. */
static wk_value_id per_block(wk_onnx_node *c, const packed *p, wk_value_id x, const char *what) {
  if (!wk_onnx_valid(c, wk_type_count(wk_onnx_type(c, x)) == p->w.n * p->blocks,
                     "%s have not one entry for each of %lld x %lld blocks", what,
                     (long long)p->w.n, (long long)p->blocks))
    return WK_NONE;
  return tiled(c, p, x, 1);
}

/* Zero points packed like the weights: taken apart at once, they are few. */
static wk_value_id unpacked_zeros(wk_onnx_node *c, const packed *p, wk_value_id x) {
  int64_t bytes = wk_ceil_div(p->blocks, p->per);
  const int64_t columns[] = {p->w.n, bytes, 1}, all[] = {p->w.n, bytes * p->per};
  if (!wk_onnx_valid(c, wk_type_count(wk_onnx_type(c, x)) == p->w.n * bytes,
                     "the zero points are not [%lld,%lld]", (long long)p->w.n, (long long)bytes))
    return WK_NONE;
  void *shifts;
  const int64_t per = p->per;
  const wk_type t = wk_type_make(WK_U8, 1, &per);
  wk_value_id in[] = {wk_make_reshape(c, x, 3, columns), wk_make_constant(c, &t, &shifts)};
  for (int i = 0; shifts && i < p->per; i++) ((uint8_t *)shifts)[i] = (uint8_t)(i * p->w.bits);
  char text[64];
  snprintf(text, sizeof text, "and(shr(a, b), %lld)", (1ll << p->w.bits) - 1);
  x = map(c, WK_U8, text, "a b", in, 2);
  if (wk_onnx_ok(c) && !wk_is_const(c->g, x))
    wk_make_fold(c, (wk_node_id)(c->g->nodes.n - 1), INT64_MAX);
  return tiled(c, p, wk_make_slice(c, wk_make_reshape(c, x, 2, all), 1, 0, p->blocks, 1), 1);
}

/* Words are bytes one behind the other, the first one lowest, as machines have them. */
static wk_value_id words_of(wk_onnx_node *c, const packed *p) {
  static const char *const two = "or(u16(a), shl(u16(b), 8))";
  static const char *const four =
      "or(or(u32(a), shl(u32(b), 8)), or(shl(u32(c), 16), shl(u32(d), 24)))";
  wk_dtype word = wk_block_word(p->w.bits);
  int size = wk_dtype_size(word);
  const int64_t words = p->bytes / size, dims[] = {p->w.n, p->blocks * words, size};
  if (wk_is_const(c->g, c->in[1])) return tiled_constant(c, p, c->in[1], word, words);
  wk_value_id x = wk_make_reshape(c, c->in[1], 3, dims), in[4];
  for (int i = 0; i < size; i++) in[i] = wk_make_slice(c, x, 2, i, 1, 1);
  x = map(c, word, size == 2 ? two : four, size == 2 ? "a b" : "a b c d", in, size);
  return tiled(c, p, x, words);
}

static void read_weights(wk_onnx_node *c, packed *p) {
  const wk_type *b = wk_onnx_type(c, c->in[1]);
  wk_onnx_valid(c, b->dtype == WK_U8 && wk_type_count(b) == p->w.n * p->blocks * p->bytes,
                "the weights are not u8 [%lld,%lld,%lld]", (long long)p->w.n, (long long)p->blocks,
                (long long)p->bytes);
  if (c->status) return;
  p->w.words = words_of(c, p);
  p->w.scales = per_block(c, p, c->in[2], "the scales");
  if (!wk_onnx_has(c, 3)) return;
  bool is_packed = wk_onnx_type(c, c->in[3])->dtype == WK_U8;
  p->w.zeros = is_packed ? unpacked_zeros(c, p, c->in[3])
                         : per_block(c, p, c->in[3], "the zero points");
}

static wk_value_id multiplied(wk_onnx_node *c, const packed *p) {
  const int64_t flat[] = {p->rows, p->w.k};
  wk_value_id x = wk_make_cast(c, wk_make_reshape(c, c->in[0], 2, flat), WK_F32);
  if (c->status) return WK_NONE;
  wk_low l = {.g = c->g, .arena = c->im->m->arena, .name = c->name};
  x = wk_low_block_product(&l, x, &p->w);
  wk_onnx_latch(c, l.status);
  return c->status ? WK_NONE : x;
}

/* ---- the operator ---------------------------------------------------------------------------- */

static void measure(wk_onnx_node *c, packed *p) {
  const wk_type *x = wk_onnx_type(c, c->in[0]);
  int64_t bits = wk_onnx_int(c, "bits", 4);
  p->w.n = wk_onnx_int(c, "N", 0);
  p->w.k = wk_onnx_int(c, "K", 0);
  p->w.block = wk_onnx_int(c, "block_size", 0);
  wk_onnx_need(c, bits == 2 || bits == 4 || bits == 8, "weights of %lld bits are not supported",
               (long long)bits);
  wk_onnx_valid(c, p->w.block >= 16 && (p->w.block & (p->w.block - 1)) == 0 &&
                       p->w.block <= INT32_MAX,
                "block_size %lld is no power of two from 16 on", (long long)p->w.block);
  wk_onnx_valid(c, p->w.n > 0 && p->w.k > 0 && p->w.n <= INT32_MAX && p->w.k <= INT32_MAX,
                "N is %lld and K is %lld", (long long)p->w.n, (long long)p->w.k);
  wk_onnx_valid(c, x->rank > 0 && x->dims[x->rank - 1] == p->w.k, "the operand has not K columns");
  wk_onnx_need(c, wk_onnx_int(c, "weight_prepacked", 0) == 0,
               "weights packed for one machine are not supported");
  wk_onnx_need(c, !wk_onnx_has(c, 4), "an order of the columns (g_idx) is not supported");
  if (c->status) return;
  p->w.bits = (int)bits;
  p->per = 8 / p->w.bits;
  p->blocks = wk_block_count(&p->w);
  p->bytes = p->w.block / p->per;
  p->rows = wk_type_count(x) / p->w.k;
}

wk_status wk_onnx_matmul_nbits(wk_onnx_node *c) {
  wk_type t = *wk_onnx_type(c, c->in[0]);
  packed p = {.w = {.columns = WK_BLOCK_COLUMNS, .zeros = WK_NONE}};
  measure(c, &p);
  if (c->status) return c->status;
  t.dims[t.rank - 1] = p.w.n;
  wk_value_id y;
  if (wk_type_count(wk_onnx_type(c, c->in[1])) == 0) { /* left out: nothing is added up */
    y = wk_make_expand(c, wk_make_scalar(c, WK_F32, 0), t.rank, t.dims);
  } else {
    read_weights(c, &p);
    y = multiplied(c, &p);
    y = wk_make_reshape(c, y, t.rank, t.dims);
  }
  if (wk_onnx_has(c, 5)) y = wk_make_2(c, WK_OP_ADD, y, wk_make_cast(c, c->in[5], WK_F32));
  return wk_onnx_return(c, wk_make_cast(c, y, t.dtype));
}
