/* SPDX-License-Identifier: Apache-2.0
 * Rotary position embeddings: pairs of a head's elements turned by an angle that grows with the
 * position. */
#include "compiler/onnx/import/attention.h"
#include "compiler/onnx/import/handlers.h"

/* Elements of the pairs: neighbours, or the two halves of the first `dim`. */
static wk_value_id half_of(wk_onnx_node *c, wk_value_id x, int64_t dim, bool interleaved, int k) {
  return interleaved ? wk_make_slice(c, x, 3, k, dim / 2, 2)
                     : wk_make_slice(c, x, 3, k * (dim / 2), dim / 2, 1);
}

static wk_value_id interleave(wk_onnx_node *c, wk_value_id a, wk_value_id b) {
  if (c->status) return WK_NONE;
  wk_type t = *wk_onnx_type(c, a);
  const wk_ints last = {1, (const int64_t[]){4}};
  const wk_value_id pair[] = {wk_make_unsqueeze(c, a, last), wk_make_unsqueeze(c, b, last)};
  t.dims[3] *= 2;
  return wk_make_reshape(c, wk_make_concat(c, pair, 2, 4), 4, t.dims);
}

wk_value_id wk_rotate(wk_onnx_node *c, wk_value_id x, const wk_rotation *r) {
  if (c->status) return WK_NONE;
  const wk_type t = *wk_onnx_type(c, x);
  int64_t pairs = wk_onnx_type(c, r->cos)->dims[3], dim = 2 * pairs;
  if (!wk_onnx_valid(c, dim <= t.dims[3], "%lld pairs do not fit heads of %lld elements",
                     (long long)pairs, (long long)t.dims[3]))
    return WK_NONE;
  wk_dtype inner = wk_compute_dtype(t.dtype);
  wk_value_id a = wk_make_cast(c, half_of(c, x, dim, r->interleaved, 0), inner);
  wk_value_id b = wk_make_cast(c, half_of(c, x, dim, r->interleaved, 1), inner);
  wk_value_id cosine = wk_make_cast(c, r->cos, inner), sine = wk_make_cast(c, r->sin, inner);
  wk_value_id parts[3];
  parts[0] = wk_make_2(c, WK_OP_SUB, wk_make_2(c, WK_OP_MUL, cosine, a),
                       wk_make_2(c, WK_OP_MUL, sine, b));
  parts[1] = wk_make_2(c, WK_OP_ADD, wk_make_2(c, WK_OP_MUL, sine, a),
                       wk_make_2(c, WK_OP_MUL, cosine, b));
  for (int i = 0; i < 2; i++) parts[i] = wk_make_cast(c, parts[i], t.dtype);
  if (r->interleaved) {
    parts[0] = interleave(c, parts[0], parts[1]);
    parts[1] = parts[2];
  }
  int n = r->interleaved ? 1 : 2;
  if (dim < t.dims[3]) parts[n++] = wk_make_slice(c, x, 3, dim, t.dims[3] - dim, 1);
  return wk_extent_like(c, wk_make_concat(c, parts, n, 3), x);
}

wk_value_id wk_rotation_rows(wk_onnx_node *c, wk_value_id cache, wk_value_id positions,
                             bool heads_first) {
  if (c->status) return WK_NONE;
  if (positions != WK_NONE) {
    bool fits = wk_onnx_type(c, cache)->rank == 2 && wk_onnx_type(c, positions)->rank == 2;
    if (!wk_onnx_valid(c, fits, "with positions [batch, length] the tables have rank 2"))
      return WK_NONE;
    cache = wk_make_gather(c, cache, positions, 0);
  }
  if (!wk_onnx_valid(c, wk_onnx_type(c, cache)->rank == 3,
                     "without positions the tables have rank 3"))
    return WK_NONE;
  return wk_make_unsqueeze(c, cache, (wk_ints){1, (const int64_t[]){heads_first ? 1 : 2}});
}

/* [batch, heads, length, d], or [batch, length, heads, d] for an operand of rank 3. */
static wk_value_id rotate_operand(wk_onnx_node *c, wk_value_id x, int64_t heads, int64_t dim,
                                  const wk_rotation *r) {
  const wk_type t = *wk_onnx_type(c, x);
  if (t.rank == 3) {
    const int64_t dims[] = {t.dims[0], t.dims[1], heads, heads > 0 ? t.dims[2] / heads : 0};
    if (!wk_onnx_valid(c, heads > 0 && t.dims[2] % heads == 0,
                       "num_heads %lld does not divide a hidden size of %lld", (long long)heads,
                       (long long)t.dims[2]))
      return WK_NONE;
    x = wk_make_reshape(c, x, 4, dims);
  }
  if (c->status) return WK_NONE;
  const wk_type *cosine = wk_onnx_type(c, r->cos), *sine = wk_onnx_type(c, r->sin);
  if (dim == 0) dim = wk_onnx_type(c, x)->dims[3];
  wk_onnx_valid(c, 2 * cosine->dims[3] == dim && 2 * sine->dims[3] == dim,
                "the tables have %lld and %lld columns, not half of %lld",
                (long long)cosine->dims[3], (long long)sine->dims[3], (long long)dim);
  return wk_make_reshape(c, wk_rotate(c, x, r), t.rank, t.dims);
}

/* Positions and tables have the batches and lengths of operand `x`, which may have sizes that are
 * only known at run time. */
static bool check_sizes(wk_onnx_node *c, int cos, int sin, int positions) {
  int length = wk_onnx_type(c, c->in[0])->rank == 4 ? 2 : 1;
  wk_extent_allow(c, 0, 1u | 1u << length);
  const int others[] = {cos, sin, positions};
  for (int i = 0; i < 3; i++) {
    bool is_row = i == 2 || !wk_onnx_has(c, positions);
    wk_extent_allow(c, others[i], is_row ? 3u : 0);
    for (int a = 0; a < 2 && is_row && wk_onnx_has(c, others[i]); a++) {
      const wk_type *t = wk_onnx_type(c, c->in[others[i]]);
      bool is_one = t->rank < 2 || (t->dims[a] == 1 && !wk_extent_is_open(c, c->in[others[i]], a));
      if (!is_one) wk_extent_match(c, 0, a ? length : 0, others[i], a);
    }
  }
  wk_extent_fill(c, positions, 3u, WK_FILL_ZERO);
  return wk_onnx_ok(c);
}

wk_status wk_onnx_rotary_embedding(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  if (!wk_onnx_valid(c, rank == 3 || rank == 4, "the operand has rank %d, not 3 or 4", rank))
    return c->status;
  if (!check_sizes(c, 1, 2, 3)) return c->status;
  wk_rotation r = {.cos = wk_rotation_rows(c, c->in[1], c->in[3], rank == 4),
                   .sin = wk_rotation_rows(c, c->in[2], c->in[3], rank == 4),
                   .interleaved = wk_onnx_int(c, "interleaved", 0) != 0};
  if (c->status) return c->status;
  wk_value_id y = rotate_operand(c, c->in[0], wk_onnx_int(c, "num_heads", 0),
                                 wk_onnx_int(c, "rotary_embedding_dim", 0), &r);
  return wk_onnx_return(c, wk_extent_like(c, y, c->in[0]));
}

/* Position ids [batch, length], or one from which those along the operand's axis go on. */
static wk_value_id positions(wk_onnx_node *c, wk_value_id ids, int axis) {
  if (c->status || wk_onnx_type(c, ids)->rank == 2) return ids;
  const int64_t one[] = {1, 1};
  if (!wk_onnx_valid(c, wk_type_count(wk_onnx_type(c, ids)) == 1,
                     "position_ids are neither [batch,length] nor one number"))
    return WK_NONE;
  wk_value_id steps = wk_extent_count(c, wk_onnx_type(c, c->in[0])->dims[axis],
                                      wk_extent_dim(c, c->in[0], axis));
  return wk_make_2(c, WK_OP_ADD, steps, wk_make_reshape(c, ids, 2, one));
}

/* com.microsoft: tables in two axes, positions before them. The tables tell the size of the heads
 * that num_heads does not. */
wk_status wk_onnx_rotary_embedding_ms(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]), table = *wk_onnx_type(c, c->in[2]);
  int64_t heads = wk_onnx_int(c, "num_heads", 0), dim = wk_onnx_int(c, "rotary_embedding_dim", 0);
  wk_onnx_valid(c, x.rank == 3 || x.rank == 4, "the operand has rank %d, not 3 or 4", x.rank);
  wk_onnx_valid(c, table.rank == 2 && table.dims[1] > 0, "the tables have not rank 2");
  wk_onnx_need(c, wk_onnx_int(c, "is_packed_batching", 0) == 0, "packed batches are not supported");
  wk_onnx_need(c, wk_onnx_float(c, "scale", 1) == 1, "a scale is not supported");
  if (c->status || !check_sizes(c, 2, 3, 1)) return c->status;
  if (x.rank == 3 && (dim == 0 || heads == 0)) heads = x.dims[2] / (2 * table.dims[1]);
  wk_value_id at = positions(c, c->in[1], x.rank == 4 ? 2 : 1);
  wk_rotation r = {.cos = wk_rotation_rows(c, c->in[2], at, x.rank == 4),
                   .sin = wk_rotation_rows(c, c->in[3], at, x.rank == 4),
                   .interleaved = wk_onnx_int(c, "interleaved", 0) != 0};
  wk_value_id y = c->status ? WK_NONE : rotate_operand(c, c->in[0], heads, dim, &r);
  return wk_onnx_return(c, wk_extent_like(c, y, c->in[0]));
}
