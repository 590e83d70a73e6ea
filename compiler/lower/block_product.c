/* SPDX-License-Identifier: Apache-2.0
 * Products with weights in blocks (blocks.h). Of few rows, a fold takes the words apart as it reads
 * them: every word once, one behind the other. Of more rows, the weights become floats, some
 * columns at a time, so that these need little memory and stay in caches. */
#include <math.h>

#include "compiler/lower/blocks.h"

#define FEW_ROWS 16           /* up to here one pass over the words for each row is less work */
#define MOST_FLOATS (1 << 20) /* weights that are floats at a time */
#define MAX_PER 8

wk_dtype wk_block_word(int bits) { return bits == 2 ? WK_U16 : WK_U32; }

int wk_block_per(int bits) { return 8 * wk_dtype_size(wk_block_word(bits)) / bits; }

wk_type wk_block_words_type(const wk_blocks *w) {
  const int64_t dims[] = {wk_block_tiles(w), wk_block_count(w), w->block / wk_block_per(w->bits),
                          w->columns};
  return wk_type_make(wk_block_word(w->bits), 4, dims);
}

wk_type wk_block_scales_type(const wk_blocks *w, wk_dtype t) {
  const int64_t dims[] = {wk_block_tiles(w), wk_block_count(w), 1, w->columns};
  return wk_type_make(t, 4, dims);
}

/* ---- few rows -------------------------------------------------------------------------------- */

typedef struct {
  wk_low *l;
  const wk_blocks *w;
  int per;            /* elements of a word */
  int64_t rows, words; /* words of a block */
} product;

/* x with zeros up to whole blocks. */
static wk_value_id whole_blocks(const product *p, wk_value_id x) {
  int64_t missing = wk_block_count(p->w) * p->w->block - p->w->k;
  if (missing == 0 || p->l->status) return x;
  wk_attr_pad *a = wk_attrs_new(p->l->arena, WK_OP_PAD);
  a->before = wk_ints_dup(p->l->arena, (const int64_t[]){0, 0}, 2);
  a->after = wk_ints_dup(p->l->arena, (const int64_t[]){0, missing}, 2);
  return wk_low_add(p->l, WK_OP_PAD, a, &x, 1, 1, NULL);
}

/* x [rows, blocks, words, per], element i divided by the value of the lowest bit that it meets, so
 * that masked words need no shift. The last one is shifted: no word is negative then. */
static wk_value_id divided(const product *p, wk_value_id x) {
  double by[MAX_PER];
  const int64_t dims[] = {p->per};
  for (int i = 0; i < p->per; i++) by[i] = i + 1 < p->per ? ldexp(1, -i * p->w->bits) : 1;
  return wk_low_map(p->l, WK_F32, "mul(a, b)", 2, x,
                    wk_low_const_real(p->l, WK_F32, 1, dims, by));
}

/* What the zero point is multiplied by: minus the sum of the elements that meet a word. */
static wk_value_id sums(const product *p, wk_value_id x) {
  static const int64_t last = 3;
  const char *post = p->w->zeros != WK_NONE ? "neg(a)"
                     : wk_arena_printf(p->l->arena, "mul(a, %d)", -(1 << (p->w->bits - 1)));
  return wk_low_reduce(p->l, WK_F32, "sum", x, &last, 1, true, NULL, post);
}

static const char *fold_text(const product *p, wk_arena *a) {
  const char *text = p->w->zeros != WK_NONE ? "mul(f32(z), u)" : "u";
  for (int i = 0; i < p->per; i++) {
    int at = i * p->w->bits;
    long long mask = ((1ll << p->w->bits) - 1) << at;
    const char *element = i + 1 < p->per ? wk_arena_printf(a, "and(b, %lld)", mask)
                                         : wk_arena_printf(a, "shr(b, %d)", at);
    text = wk_arena_printf(a, "add(%s, mul(f32(%s), x%d))", text, element, i);
  }
  return wk_arena_printf(a, "mul(f32(s), %s)", text);
}

static wk_value_id folded(const product *p, wk_value_id x) {
  wk_low *l = p->l;
  const wk_blocks *w = p->w;
  const int64_t blocks = wk_block_count(w), wide[] = {p->rows, 1, blocks, p->words, 1};
  const int64_t apart[] = {p->rows, blocks, p->words, p->per};
  wk_value_id in[MAX_PER + 4] = {w->words, w->scales};
  wk_dtype dtypes[MAX_PER + 4];
  int n = 2;
  x = wk_low_reshape(l, x, 4, apart);
  in[n++] = wk_low_reshape(l, sums(p, x), 5, wide);
  x = divided(p, x);
  for (int i = 0; i < p->per; i++)
    in[n++] = wk_low_reshape(l, wk_low_slice(l, x, 3, i, 1, 1), 5, wide);
  if (w->zeros != WK_NONE) in[n++] = w->zeros;
  if (l->status) return 0;
  const char *names = "b s u";
  for (int i = 0; i < p->per; i++) names = wk_arena_printf(l->arena, "%s x%d", names, i);
  if (w->zeros != WK_NONE) names = wk_arena_printf(l->arena, "%s z", names);
  for (int i = 0; i < n; i++) dtypes[i] = wk_low_type(l, in[i])->dtype;
  wk_expr *e = NULL;
  wk_attr_reduce *a = wk_attrs_new(l->arena, WK_OP_REDUCE);
  l->status = wk_expr_template(l->arena, fold_text(p, l->arena), names, dtypes, n, WK_F32, NULL,
                               NULL, &e);
  a->pre = e;
  a->axes = wk_ints_dup(l->arena, (const int64_t[]){2, 3}, 2);
  a->keepdims = 0;
  return wk_low_add(l, WK_OP_REDUCE, a, in, (uint32_t)n, 1, NULL);
}

/* ---- taken apart ----------------------------------------------------------------------------- */

/* [1, per, 1, ..]: where the elements of a word are; `after` axes of size 1 behind. */
static wk_value_id places(wk_low *l, const wk_blocks *w, int after) {
  double at[MAX_PER];
  const int64_t dims[] = {wk_block_per(w->bits), 1};
  for (int i = 0; i < dims[0]; i++) at[i] = i * w->bits;
  wk_value_id x = wk_low_const_real(l, WK_F32, 1 + after, dims, at);
  return wk_low_map(l, wk_block_word(w->bits), "out(a)", 1, x);
}

/* What elements stand for; words, scales and zeros have an axis more than they, for those of a
 * word. */
static wk_value_id real(wk_low *l, const wk_blocks *w, wk_value_id words, wk_value_id scales,
                        wk_value_id zeros, int after) {
  wk_value_id at = places(l, w, after);
  const char *element = wk_arena_printf(l->arena, "f32(and(shr(a, b), %d))", (1 << w->bits) - 1);
  if (zeros == WK_NONE)
    return wk_low_map(l, WK_F32,
                      wk_arena_printf(l->arena, "mul(f32(c), sub(%s, %d))", element,
                                      1 << (w->bits - 1)), 3, words, at, scales);
  return wk_low_map(l, WK_F32, wk_arena_printf(l->arena, "mul(f32(c), sub(%s, f32(d)))", element),
                    4, words, at, scales, zeros);
}

/* Rows of v, which has one for each row of the table: [rows, blocks, of a block, 1]. */
static wk_value_id rows_of(wk_low *l, wk_value_id v, wk_value_id indices) {
  if (v == WK_NONE || l->status) return v;
  const wk_type t = *wk_low_type(l, v);
  wk_value_id y = wk_low_gather(l, wk_low_reshape(l, v, 3, t.dims), indices, 0);
  if (l->status) return 0;
  const int64_t dims[] = {wk_low_type(l, y)->dims[0], t.dims[1], t.dims[2], 1};
  return wk_low_reshape(l, y, 4, dims);
}

wk_value_id wk_low_block_rows(wk_low *l, const wk_blocks *w, wk_value_id indices) {
  if (l->status) return 0;
  wk_type t = *wk_low_type(l, indices);
  const int64_t n = wk_type_count(&t), whole[] = {n, wk_block_count(w) * w->block};
  wk_value_id flat = wk_low_reshape(l, indices, 1, &n);
  wk_value_id y = real(l, w, rows_of(l, w->words, flat), rows_of(l, w->scales, flat),
                       rows_of(l, w->zeros, flat), 0);
  y = wk_low_reshape(l, y, 2, whole);
  if (whole[1] != w->k) y = wk_low_slice(l, y, 1, 0, w->k, 1);
  t.dims[t.rank] = w->k;
  return wk_low_reshape(l, y, t.rank + 1, t.dims);
}

/* ---- many rows ------------------------------------------------------------------------------- */

/* A piece of the tiles, with an axis of size `per` more behind the words: [.., 1, columns]. */
static wk_value_id tiles_of(const product *p, wk_value_id v, int64_t from, int64_t n) {
  if (v == WK_NONE || p->l->status) return v;
  wk_value_id y = wk_low_slice(p->l, v, 0, from, n, 1);
  if (p->l->status) return 0;
  const int64_t *d = wk_low_type(p->l, y)->dims, dims[] = {n, d[1], d[2], 1, d[3]};
  return wk_low_reshape(p->l, y, 5, dims);
}

/* f32 [whole k, n * columns] of n tiles. */
static wk_value_id floats_of(const product *p, int64_t from, int64_t n) {
  static const int64_t order[] = {1, 0, 2};
  wk_low *l = p->l;
  const wk_blocks *w = p->w;
  const int64_t k = wk_block_count(w) * w->block;
  const int64_t flat[] = {n, k, w->columns}, whole[] = {k, n * w->columns};
  wk_value_id y = real(l, w, tiles_of(p, w->words, from, n), tiles_of(p, w->scales, from, n),
                       tiles_of(p, w->zeros, from, n), 1);
  y = wk_low_transpose(l, wk_low_reshape(l, y, 3, flat), order);
  return wk_low_reshape(l, y, 2, whole);
}

static wk_value_id multiplied(const product *p, wk_value_id x) {
  wk_low *l = p->l;
  int64_t tiles = wk_block_tiles(p->w), k = wk_block_count(p->w) * p->w->block;
  int64_t most = MOST_FLOATS / k / p->w->columns;
  int64_t each = wk_ceil_div(tiles, wk_ceil_div(tiles, most > 0 ? most : 1));
  wk_value_id *y = wk_arena_alloc(l->arena, (size_t)wk_ceil_div(tiles, each) * sizeof *y);
  uint32_t n = 0;
  for (int64_t at = 0; at < tiles; at += each) {
    int64_t size = at + each < tiles ? each : tiles - at;
    y[n++] = wk_low_matmul(l, WK_F32, x, floats_of(p, at, size), WK_NONE);
  }
  return wk_low_concat(l, y, n, 1);
}

wk_value_id wk_low_block_product(wk_low *l, wk_value_id x, const wk_blocks *w) {
  if (l->status) return 0;
  product p = {l, w, wk_block_per(w->bits), wk_low_type(l, x)->dims[0], 0};
  p.words = w->block / p.per;
  int64_t columns[] = {p.rows, wk_block_tiles(w) * w->columns};
  x = whole_blocks(&p, x);
  wk_value_id y = p.rows <= FEW_ROWS ? folded(&p, x) : multiplied(&p, x);
  y = wk_low_reshape(l, y, 2, columns);
  return columns[1] == w->n ? y : wk_low_slice(l, y, 1, 0, w->n, 1);
}
