/* SPDX-License-Identifier: Apache-2.0
 * com.microsoft MatMulNBits: a product with weights of 2, 4 or 8 bits in blocks along k, each block
 * with a scale and a zero point. The weights stay packed in the model: what takes them apart runs
 * where the product does. Along k the values of one byte lie side by side, so the product is a sum
 * over positions within the bytes, of which each pairs every so manieth column of the operand with
 * a contiguous run of bytes. */
#include <math.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

#define MAX_PER 4   /* values in a byte */
#define FEW_ROWS 4  /* up to here one pass over the bytes makes all rows */

typedef struct {
  int64_t n, k, bits, block, blocks, bytes; /* bytes of one block */
  int64_t rows;                             /* of the operand, all leading axes together */
  int per;                                  /* values in a byte */
  wk_value_id b, scales, zeros;             /* [n, blocks, bytes], [n, blocks, 1]; zeros WK_NONE */
} packed;

static wk_value_id map(wk_onnx_node *c, const char *text, const char *names, const wk_value_id *in,
                       int n, bool is_sum, wk_ints axes) {
  wk_dtype dtypes[MAX_PER + 3];
  wk_expr *e = NULL;
  wk_value_id y = WK_NONE;
  wk_arena *a = c->im->m->arena;
  for (int i = 0; i < n; i++) dtypes[i] = wk_onnx_type(c, in[i])->dtype;
  if (c->status) return WK_NONE;
  wk_onnx_latch(c, wk_expr_template(a, text, names, dtypes, n, WK_F32, NULL, NULL, &e));
  if (c->status) return WK_NONE;
  WK_MAKE_ATTRS(c, m, MAP, map);
  WK_MAKE_ATTRS(c, r, REDUCE, reduce);
  m->body = e;
  r->pre = e;
  r->axes = axes;
  r->keepdims = 0;
  wk_make_n(c, is_sum ? WK_OP_REDUCE : WK_OP_MAP, is_sum ? (void *)r : m, in, n, &y, 1);
  return y;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* x as [n, blocks, 1], given with any axes. */
static wk_value_id per_block(wk_onnx_node *c, const packed *p, wk_value_id x, const char *what) {
  const int64_t dims[] = {p->n, p->blocks, 1};
  if (!wk_onnx_valid(c, wk_type_count(wk_onnx_type(c, x)) == p->n * p->blocks,
                     "%s have not one entry for each of %lld x %lld blocks", what,
                     (long long)p->n, (long long)p->blocks))
    return WK_NONE;
  return wk_make_reshape(c, x, 3, dims);
}

/* Zero points packed like the weights: taken apart at once, they are few. */
static wk_value_id unpacked_zeros(wk_onnx_node *c, const packed *p, wk_value_id x) {
  int64_t bytes = wk_ceil_div(p->blocks, p->per);
  const int64_t columns[] = {p->n, bytes, 1}, all[] = {p->n, bytes * p->per, 1};
  if (!wk_onnx_valid(c, wk_type_count(wk_onnx_type(c, x)) == p->n * bytes,
                     "the zero points are not [%lld,%lld]", (long long)p->n, (long long)bytes))
    return WK_NONE;
  void *shifts;
  const int64_t per = p->per;
  const wk_type t = wk_type_make(WK_U8, 1, &per);
  wk_value_id in[] = {wk_make_reshape(c, x, 3, columns), wk_make_constant(c, &t, &shifts)};
  for (int i = 0; shifts && i < p->per; i++) ((uint8_t *)shifts)[i] = (uint8_t)(i * p->bits);
  char text[64];
  snprintf(text, sizeof text, "and(shr(a, b), %lld)", (1ll << p->bits) - 1);
  x = map(c, text, "a b", in, 2, false, (wk_ints){0});
  if (wk_onnx_ok(c) && !wk_is_const(c->g, x))
    wk_make_fold(c, (wk_node_id)(c->g->nodes.n - 1), INT64_MAX);
  return wk_make_slice(c, wk_make_reshape(c, x, 3, all), 1, 0, p->blocks, 1);
}

static void read_weights(wk_onnx_node *c, packed *p) {
  const wk_type *b = wk_onnx_type(c, c->in[1]);
  const int64_t dims[] = {p->n, p->blocks, p->bytes};
  wk_onnx_valid(c, b->dtype == WK_U8 && wk_type_count(b) == p->n * p->blocks * p->bytes,
                "the weights are not u8 [%lld,%lld,%lld]", (long long)p->n, (long long)p->blocks,
                (long long)p->bytes);
  if (c->status) return;
  p->b = wk_make_reshape(c, c->in[1], 3, dims);
  p->scales = per_block(c, p, c->in[2], "the scales");
  if (!wk_onnx_has(c, 3)) return;
  bool is_packed = wk_onnx_type(c, c->in[3])->dtype == WK_U8;
  p->zeros = is_packed ? unpacked_zeros(c, p, c->in[3])
                       : per_block(c, p, c->in[3], "the zero points");
}

/* The operand as f32 [rows, run * per], zero behind its last column. */
static wk_value_id columns_of(wk_onnx_node *c, const packed *p) {
  int64_t missing = p->blocks * p->block - p->k;
  const int64_t flat[] = {p->rows, p->k};
  wk_value_id x = wk_make_cast(c, wk_make_reshape(c, c->in[0], 2, flat), WK_F32);
  if (missing == 0) return x;
  WK_MAKE_ATTRS(c, a, PAD, pad);
  a->before = wk_ints_fill(c->im->m->arena, 2, 0);
  a->after = wk_ints_dup(c->im->m->arena, (const int64_t[]){0, missing}, 2);
  return wk_make(c, WK_OP_PAD, a, 1, x);
}

/* [rows, per, run]: columns that meet the same position lie together, since folds read runs many
 * times faster than every so manieth element. What meets the higher bits of a byte is divided by
 * their value, so that these need not be shifted. */
static wk_value_id ordered_columns(wk_onnx_node *c, const packed *p) {
  void *data;
  double value[MAX_PER];
  const int64_t run = p->blocks * p->bytes, dims[] = {p->per, run}, first[] = {p->per, 1};
  const wk_type t = wk_type_make(WK_I64, 2, dims);
  wk_value_id order = wk_make_constant(c, &t, &data);
  for (int64_t i = 0; data && i < p->per * run; i++)
    ((int64_t *)data)[i] = i % run * p->per + i / run;
  for (int i = 0; i < p->per; i++) value[i] = ldexp(1, -(int)(i * p->bits));
  wk_value_id x = wk_make_gather(c, columns_of(c, p), order, 1);
  return wk_make_2(c, WK_OP_MUL, x, wk_make_f64s(c, WK_F32, value, 2, first));
}

/* ---- products -------------------------------------------------------------------------------- */

/* "(value - zero point)" of position i, times the value of its lowest bit. */
static void print_term(wk_str *text, const packed *p, int i) {
  long long unit = 1ll << (i * p->bits), mask = ((1ll << p->bits) - 1) * unit;
  wk_str_printf(text, "sub(f32(and(b, %lld)), ", mask);
  if (p->zeros != WK_NONE) wk_str_printf(text, "mul(f32(z), %lld))", unit);
  else wk_str_printf(text, "%lld)", unit << (p->bits - 1));
}

/* All in one fold over [rows, n, blocks, bytes]. */
static wk_value_id folded(wk_onnx_node *c, const packed *p) {
  static const char *const names[] = {"b s t", "b s t u", "", "b s t u v w"};
  wk_str text = {0};
  wk_value_id x = ordered_columns(c, p), in[MAX_PER + 3] = {p->b, p->scales};
  const int64_t wide[] = {p->rows, 1, p->blocks, p->bytes};
  wk_str_add(&text, "mul(f32(s), ");
  for (int i = 0; i < p->per; i++) {
    in[2 + i] = wk_make_reshape(c, wk_make_slice(c, x, 1, i, 1, 1), 4, wide);
    wk_str_add(&text, i + 1 < p->per ? "add(mul(" : "mul(");
    print_term(&text, p, i);
    wk_str_printf(&text, i + 1 < p->per ? ", %c), " : ", %c)", 't' + i);
  }
  for (int i = 0; i < p->per; i++) wk_str_add(&text, ")");
  in[2 + p->per] = p->zeros;
  const char *list = names[p->per - 1];
  if (p->zeros != WK_NONE) list = wk_arena_printf(c->im->arena, "%s z", list);
  int n = 2 + p->per + (p->zeros != WK_NONE);
  wk_value_id y = map(c, text.s, list, in, n, true, wk_make_axes(c, 2, 4));
  wk_str_free(&text);
  return y;
}

/* A product for each position within the bytes. */
static wk_value_id multiplied(wk_onnx_node *c, const packed *p) {
  const int64_t run = p->blocks * p->bytes, right[] = {p->n, run};
  wk_value_id in[] = {p->b, p->scales, p->zeros}, x = columns_of(c, p), y = WK_NONE;
  for (int i = 0; i < p->per; i++) {
    wk_str text = {0};
    wk_str_printf(&text, "mul(mul(f32(s), %.17g), ", ldexp(1, -(int)(i * p->bits)));
    print_term(&text, p, i);
    wk_str_add(&text, ")");
    wk_value_id w = map(c, text.s, "b s z", in, p->zeros == WK_NONE ? 2 : 3, false, (wk_ints){0});
    wk_str_free(&text);
    w = wk_make_move_axis(c, wk_make_reshape(c, w, 2, right), 1, 0);
    w = wk_make_2(c, WK_OP_MATMUL, wk_make_slice(c, x, 1, i, run, p->per), w);
    y = i ? wk_make_2(c, WK_OP_ADD, y, w) : w;
  }
  return y;
}

/* ---- the operator ---------------------------------------------------------------------------- */

static void measure(wk_onnx_node *c, packed *p) {
  const wk_type *x = wk_onnx_type(c, c->in[0]);
  p->n = wk_onnx_int(c, "N", 0);
  p->k = wk_onnx_int(c, "K", 0);
  p->bits = wk_onnx_int(c, "bits", 4);
  p->block = wk_onnx_int(c, "block_size", 0);
  wk_onnx_need(c, p->bits == 2 || p->bits == 4 || p->bits == 8,
               "weights of %lld bits are not supported", (long long)p->bits);
  wk_onnx_valid(c, p->block >= 16 && (p->block & (p->block - 1)) == 0 && p->block <= INT32_MAX,
                "block_size %lld is no power of two from 16 on", (long long)p->block);
  wk_onnx_valid(c, p->n > 0 && p->k > 0 && p->n <= INT32_MAX && p->k <= INT32_MAX,
                "N is %lld and K is %lld", (long long)p->n, (long long)p->k);
  wk_onnx_valid(c, x->rank > 0 && x->dims[x->rank - 1] == p->k, "the operand has not K columns");
  wk_onnx_need(c, wk_onnx_int(c, "weight_prepacked", 0) == 0,
               "weights packed for one machine are not supported");
  wk_onnx_need(c, !wk_onnx_has(c, 4), "an order of the columns (g_idx) is not supported");
  if (c->status) return;
  p->per = (int)(8 / p->bits);
  p->blocks = wk_ceil_div(p->k, p->block);
  p->bytes = p->block / p->per;
  p->rows = wk_type_count(x) / p->k;
}

wk_status wk_onnx_matmul_nbits(wk_onnx_node *c) {
  wk_type t = *wk_onnx_type(c, c->in[0]);
  packed p = {.zeros = WK_NONE};
  measure(c, &p);
  if (c->status) return c->status;
  t.dims[t.rank - 1] = p.n;
  wk_value_id y;
  if (wk_type_count(wk_onnx_type(c, c->in[1])) == 0) { /* left out: nothing is added up */
    y = wk_make_expand(c, wk_make_scalar(c, WK_F32, 0), t.rank, t.dims);
  } else {
    read_weights(c, &p);
    y = p.rows <= FEW_ROWS ? folded(c, &p) : multiplied(c, &p);
    y = wk_make_reshape(c, y, t.rank, t.dims);
  }
  if (wk_onnx_has(c, 5)) y = wk_make_2(c, WK_OP_ADD, y, wk_make_cast(c, c->in[5], WK_F32));
  return wk_onnx_return(c, wk_make_cast(c, y, t.dtype));
}
