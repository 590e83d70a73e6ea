/* SPDX-License-Identifier: Apache-2.0
 * com.microsoft: tables and weights of few bits that are taken apart where they are used:
 * GatherBlockQuantized, whose rows are taken before they are made real, and MatMulBnb4. */
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/narrow.h"
#include "compiler/onnx/import/quant.h"

/* ---- GatherBlockQuantized -------------------------------------------------------------------- */

typedef struct {
  int axis, quantized; /* gathered, and along which blocks lie */
  int64_t block, size; /* entries along `quantized` */
  int bits, per;       /* per: values in an element of the data */
  int rank;            /* of the indices */
  wk_value_id index, is_valid; /* is_valid: WK_NONE where all are */
} lookup;

/* Packed values along the last axis, as entries of their own. */
static wk_value_id unpacked(wk_onnx_node *c, wk_value_id x, int per) {
  if (per == 1 || c->status) return x;
  wk_type t = *wk_onnx_type(c, x);
  t.dims[t.rank - 1] *= per;
  return wk_make_reshape(c, wk_narrow_apart(c, x, per, false), t.rank, t.dims);
}

static wk_value_id rows_of(wk_onnx_node *c, const lookup *l, wk_value_id x) {
  return c->status ? x : wk_make_gather(c, x, l->index, l->axis);
}

/* Entries of x along axis i, of which elements hold `per` along the last one. */
static int64_t entries(const wk_type *x, int i, int per) {
  return x->dims[i] * (i == x->rank - 1 ? per : 1);
}

/* The scales have the shape of the data but for the axis of the blocks. */
static bool scales_fit(const lookup *l, const wk_type *s, const wk_type *x) {
  bool fits = s->rank == x->rank && s->dims[l->quantized] == wk_ceil_div(l->size, l->block);
  for (int i = 0; fits && i < x->rank; i++)
    fits = i == l->quantized || s->dims[i] == entries(x, i, l->per);
  return fits;
}

/* The zero points that of the scales, packed like the data. */
static bool zeros_fit(const lookup *l, const wk_type *z, const wk_type *s) {
  bool fits = z->rank == s->rank;
  for (int i = 0; fits && i < s->rank; i++)
    fits = z->dims[i] == (i == s->rank - 1 ? wk_ceil_div(s->dims[i], l->per) : s->dims[i]);
  return fits;
}

static bool measure(wk_onnx_node *c, lookup *l) {
  const wk_type *x = wk_onnx_type(c, c->in[0]), *s = wk_onnx_type(c, c->in[2]);
  int64_t bits = wk_onnx_int(c, "bits", 4);
  l->axis = (int)wk_onnx_axis(c, wk_onnx_int(c, "gather_axis", 0), x->rank);
  l->quantized = (int)wk_onnx_axis(c, wk_onnx_int(c, "quantize_axis", 1), x->rank);
  l->block = wk_onnx_int(c, "block_size", 128);
  l->rank = wk_onnx_type(c, c->in[1])->rank;
  bool is_byte = x->dtype == WK_U8;
  wk_onnx_valid(c, !is_byte || bits == 2 || bits == 4 || bits == 8, "bits is %lld",
                (long long)bits);
  if (c->status) return false;
  l->bits = is_byte ? (int)bits : wk_dtype_bits(x->dtype);
  l->per = is_byte ? 8 / l->bits : 1;
  l->size = x->dims[l->quantized] * (l->quantized == x->rank - 1 ? l->per : 1);
  if (l->block == 0) l->block = l->size;
  wk_onnx_need(c, l->axis != l->quantized && (!is_byte || l->axis == 0),
               "gathering along the axis of the blocks is not supported");
  bool fits = l->block > 0 && l->block < (int64_t)1 << 31 && scales_fit(l, s, x);
  wk_onnx_valid(c, fits, "the scales are not one for each block of %lld", (long long)l->block);
  if (c->status || !wk_onnx_has(c, 3)) return wk_onnx_ok(c);
  return wk_onnx_valid(c, zeros_fit(l, wk_onnx_type(c, c->in[3]), s),
                       "the zero points are not one for each scale");
}

/* Indices that are out of range stand for zeros. */
static void check_indices(wk_onnx_node *c, lookup *l) {
  double n = (double)wk_onnx_type(c, c->in[0])->dims[l->axis];
  wk_value_id i = wk_make_cast(c, c->in[1], WK_I64);
  wk_value_id low = wk_make_2(c, WK_OP_GREATER_EQUAL, i, wk_make_scalar(c, WK_I64, -n));
  wk_value_id high = wk_make_2(c, WK_OP_LESS, i, wk_make_scalar(c, WK_I64, n));
  l->is_valid = wk_make_2(c, WK_OP_AND, low, high);
  l->index = wk_make_where(c, l->is_valid, i, wk_make_scalar(c, WK_I64, 0));
}

/* y with zeros where the index was out of range. */
static wk_value_id only_valid(wk_onnx_node *c, const lookup *l, wk_value_id y) {
  if (c->status) return WK_NONE;
  const wk_type t = *wk_onnx_type(c, l->is_valid);
  int64_t dims[WK_MAX_RANK];
  int rank = wk_onnx_type(c, y)->rank;
  for (int i = 0; i < rank; i++)
    dims[i] = i >= l->axis && i < l->axis + t.rank ? t.dims[i - l->axis] : 1;
  wk_value_id ok = wk_make_reshape(c, l->is_valid, rank, dims);
  return wk_make_where(c, ok, y, wk_make_scalar(c, wk_onnx_type(c, y)->dtype, 0));
}

wk_status wk_onnx_gather_block_quantized(wk_onnx_node *c) {
  const wk_type t = *wk_onnx_type(c, c->in[0]);
  wk_dtype real = wk_onnx_type(c, c->in[2])->dtype;
  lookup l;
  if (!measure(c, &l)) return c->status;
  check_indices(c, &l);
  int at = l.quantized > l.axis ? l.quantized + l.rank - 1 : l.quantized;
  bool is_float = wk_dtype_is_float(t.dtype);
  wk_value_id x = unpacked(c, rows_of(c, &l, c->in[0]), l.per), zero = WK_NONE;
  wk_value_id scale = wk_make_cast(c, rows_of(c, &l, c->in[2]), WK_F32);
  x = wk_make_cast(c, x, is_float ? WK_F32 : WK_I32);
  if (wk_onnx_has(c, 3)) {
    zero = unpacked(c, rows_of(c, &l, c->in[3]), l.per);
    if (wk_onnx_ok(c) && l.quantized == t.rank - 1)
      zero = wk_make_slice(c, zero, at, 0, wk_onnx_type(c, scale)->dims[at], 1);
    zero = wk_quant_spread(c, wk_make_cast(c, zero, WK_I32), at, l.block, l.size);
  } else if (t.dtype == WK_U8) {
    zero = wk_make_scalar(c, WK_I32, 1 << (l.bits - 1));
  }
  if (zero != WK_NONE) x = wk_make_2(c, WK_OP_SUB, x, zero);
  scale = wk_quant_spread(c, scale, at, l.block, l.size);
  wk_value_id y = wk_make_2(c, WK_OP_MUL, wk_make_cast(c, x, WK_F32), scale);
  return wk_onnx_return(c, wk_make_cast(c, only_valid(c, &l, y), real));
}

/* ---- MatMulBnb4 ------------------------------------------------------------------------------ */

/* What the 16 patterns stand for: floats of 4 bits over their largest value, and quantiles of the
 * normal distribution (arXiv:2305.14314, appendix E). */
static const double four_bits[2][16] = {
    {0, 1.0 / 192, 2.0 / 3, 1, 1.0 / 3, 1.0 / 2, 1.0 / 6, 1.0 / 4, 0, -1.0 / 192, -2.0 / 3, -1,
     -1.0 / 3, -1.0 / 2, -1.0 / 6, -1.0 / 4},
    {-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
     -0.18477343022823334, -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725,
     0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
     0.7229568362236023, 1}};

/* The weights [n, k], f32: values of the flat matrix in blocks, two to a byte, the first one in the
 * high bits. */
static wk_value_id bnb4_weights(wk_onnx_node *c, int64_t n, int64_t k, int64_t block, int table) {
  int64_t count = 0, bytes = wk_type_count(wk_onnx_type(c, c->in[1]));
  int64_t blocks = wk_type_count(wk_onnx_type(c, c->in[2]));
  bool fits = n > 0 && k > 0 && block > 0 && block < (int64_t)1 << 31 && wk_mul_ok(n, k, &count) &&
              count < (int64_t)1 << 40;
  if (!wk_onnx_valid(c, fits, "N %lld, K %lld or block_size %lld is not valid", (long long)n,
                     (long long)k, (long long)block))
    return WK_NONE;
  fits = bytes == (count + 1) / 2 && blocks == wk_ceil_div(count, block);
  if (!wk_onnx_valid(c, fits, "%lld bytes and %lld scales are not %lld x %lld weights in blocks of "
                     "%lld", (long long)bytes, (long long)blocks, (long long)n, (long long)k,
                     (long long)block))
    return WK_NONE;
  const int64_t dims[] = {n, k}, flat[] = {2 * bytes}, sixteen = 16;
  wk_value_id codes = wk_narrow_apart(c, wk_make_reshape(c, c->in[1], 1, &bytes), 2, true);
  codes = wk_make_slice(c, wk_make_reshape(c, codes, 1, flat), 0, 0, count, 1);
  wk_value_id values = wk_make_f64s(c, WK_F32, four_bits[table], 1, &sixteen);
  wk_value_id scale = wk_make_cast(c, wk_make_reshape(c, c->in[2], 1, &blocks), WK_F32);
  scale = wk_quant_spread(c, scale, 0, block, count);
  wk_value_id w = wk_make_2(c, WK_OP_MUL, wk_make_gather(c, values, codes, 0), scale);
  return wk_make_reshape(c, w, 2, dims);
}

wk_status wk_onnx_matmul_bnb4(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int64_t n = wk_onnx_int(c, "N", 0), k = wk_onnx_int(c, "K", 0);
  int64_t type = wk_onnx_int(c, "quant_type", 1);
  bool turns = wk_onnx_int(c, "transB", 1) != 0;
  wk_onnx_valid(c, type == 0 || type == 1, "quant_type is %lld, not 0 or 1", (long long)type);
  wk_onnx_valid(c, x.rank >= 2 && x.dims[x.rank - 1] == (turns ? k : n),
                "the operand has not %lld columns", (long long)(turns ? k : n));
  if (c->status) return c->status;
  wk_value_id w = bnb4_weights(c, n, k, wk_onnx_int(c, "block_size", 0), (int)type);
  if (turns) w = wk_make_move_axis(c, w, 1, 0);
  wk_value_id y = wk_make_2(c, WK_OP_MATMUL, wk_make_cast(c, c->in[0], WK_F32), w);
  return wk_onnx_return(c, wk_make_cast(c, y, x.dtype));
}
